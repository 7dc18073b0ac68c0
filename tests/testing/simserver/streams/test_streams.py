import base64
import json

import pytest


def published(client, subject="s.a", payload="x", headers=""):
    client.pub(subject, payload, "in.ack", headers)
    return json.loads(client.hear().split("~")[-2])


def error(client, **how):
    return published(client, **how)["error"]


def state(client):
    return client.server.request("STREAM.INFO.S", None, client.now)["state"]


def seqs(client):
    state = client.server.request("STREAM.INFO.S", {"deleted_details": True}, client.now)["state"]
    return [
        seq
        for seq in range(state["first_seq"], state["last_seq"] + 1)
        if seq not in state.get("deleted", [])
    ]


def test_publishes_are_stored_in_order(make):
    client = make()

    assert published(client) == {"stream": "S", "seq": 1}
    assert published(client, headers="K: v") == {"stream": "S", "seq": 2}
    assert state(client)["messages"] == 2


def test_a_no_ack_stream_stores_and_is_silent(make):
    client = make(stream={"no_ack": True})
    client.pub("s.a", "x", "in.1")

    assert client.hear() == ""
    assert state(client)["messages"] == 1


def test_a_message_id_is_stored_once_within_the_window(make):
    client = make(stream={"duplicate_window": 2 * 10**9})
    published(client, headers="Nats-Msg-Id: one")
    again = published(client, headers="Nats-Msg-Id:   one")
    client.wait(2.0)
    later = published(client, headers="Nats-Msg-Id: one")

    assert again == {"stream": "S", "seq": 1, "duplicate": True}
    assert later == {"stream": "S", "seq": 2}


@pytest.mark.parametrize("headers", ["nats-msg-id: one", "Nats-Msg-Id: ", "Nats-Msg-Id : one"])
def test_what_is_no_message_id(make, headers):
    client = make()
    published(client, headers=headers)

    assert "duplicate" not in published(client, headers=headers)


@pytest.mark.parametrize(
    ("headers", "err_code"),
    [
        ("Nats-Expected-Stream: T", 10060),
        ("Nats-Expected-Last-Sequence: 7", 10071),
        ("Nats-Expected-Last-Sequence: abc", 10071),
        ("Nats-Expected-Last-Subject-Sequence: 7", 10071),
        ("Nats-Expected-Last-Msg-Id: zzz", 10070),
        ("Nats-Expected-Last-Subject-Sequence-Subject: s.a", 10193),
        ("Nats-Rollup: sub", 10111),
    ],
)
def test_expectations_that_fail(make, headers, err_code):
    client = make()
    published(client)

    assert error(client, headers=headers)["err_code"] == err_code
    assert state(client)["messages"] == 1


def test_expectations_that_hold(make):
    client = make()
    published(client, headers="Nats-Msg-Id: a")
    published(
        client,
        "s.b",
        headers="Nats-Expected-Stream: S\r\nNats-Expected-Last-Sequence: 1\r\nNats-Expected-Last-Msg-Id: a",
    )
    published(client, "s.b", headers="Nats-Expected-Last-Subject-Sequence: 2")
    about_a = (
        "Nats-Expected-Last-Subject-Sequence: 1\r\nNats-Expected-Last-Subject-Sequence-Subject: s.a"
    )

    assert published(client, "s.b", headers=about_a) == {"stream": "S", "seq": 4}


def test_before_2_11_the_expected_subject_is_ignored(make):
    client = make(version="2.10")
    published(client, "s.a")
    about_a = (
        "Nats-Expected-Last-Subject-Sequence: 1\r\nNats-Expected-Last-Subject-Sequence-Subject: s.a"
    )

    assert error(client, subject="s.b", headers=about_a)["description"] == "wrong last sequence: 0"


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ({"max_msgs": 1}, "maximum messages exceeded"),
        ({"max_bytes": 40}, "maximum bytes exceeded"),
        (
            {"max_msgs_per_subject": 1, "discard_new_per_subject": True},
            "maximum messages per subject exceeded",
        ),
    ],
)
def test_a_full_stream_that_discards_new_refuses(make, stream, text):
    client = make(stream={"discard": "new", **stream})
    published(client)

    assert error(client) == {"code": 503, "err_code": 10077, "description": text}


@pytest.mark.parametrize(
    ("stream", "left"),
    [({"max_msgs": 2}, [3, 4]), ({"max_bytes": 70}, [3, 4]), ({"max_msgs_per_subject": 1}, [3, 4])],
)
def test_a_full_stream_that_discards_old_forgets(make, stream, left):
    client = make(stream=stream)
    for subject in ("s.a", "s.b", "s.a", "s.b"):
        published(client, subject)

    assert seqs(client) == left


def test_old_messages_leave_at_their_age(make):
    client = make(stream={"max_age": 10**9})
    published(client)
    client.wait(0.5)
    published(client)
    client.wait(0.501)

    assert seqs(client) == [2]
    client.wait(1.0)
    assert state(client)["messages"] == 0


def test_sizes_are_bounded(make):
    client = make(stream={"max_msg_size": 5})

    assert error(client, payload="123456")["err_code"] == 10054
    assert error(make(), headers="K: " + "v" * 70_000)["err_code"] == 10097


def test_a_rollup_takes_the_place_of_what_was_before(make):
    client = make(stream={"allow_rollup_hdrs": True})
    for subject in ("s.a", "s.b", "s.a"):
        published(client, subject)
    published(client, headers="Nats-Rollup: sub")
    assert seqs(client) == [2, 4]
    published(client, headers="Nats-Rollup: ALL")

    assert seqs(client) == [5]
    assert error(client, headers="Nats-Rollup: junk")["err_code"] == 10111


def test_a_bad_rollup_meets_silence_before_2_11(make):
    client = make(version="2.10", stream={"allow_rollup_hdrs": True})
    client.pub("s.a", "x", "in.1", "Nats-Rollup: junk")

    assert client.hear() == ""
    assert state(client)["messages"] == 0


def test_headers_beyond_the_model_are_refused(make):
    client = make()

    assert error(client, headers="Nats-Schedule: @every 1s")["code"] == 501
    assert len(client.server.not_modelled) == 1


def heard_markers(client):
    return client.hear().count("Nats-Marker-Reason: MaxAge~Nats-TTL: 5s~Nats-Rollup: sub~~~")


def test_messages_have_a_time_to_live_of_their_own(make):
    client = make(stream={"allow_msg_ttl": True, "max_age": 3 * 10**9})
    for ttl in ("1", "2s", "never"):
        client.pub("s.a", "x", headers=f"Nats-TTL: {ttl}")
    client.wait(1.01)
    assert seqs(client) == [2, 3]
    client.wait(1.0)
    assert seqs(client) == [3]
    client.wait(9.0)
    assert seqs(client) == [3]


def test_a_marker_stands_where_the_last_message_of_a_subject_was(make):
    stream = {
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 5 * 10**9,
        "allow_rollup_hdrs": True,
    }
    client = make(stream={**stream, "max_msgs_per_subject": 1}, consumer={})
    client.pub("s.a", "x", headers="Nats-TTL: 5").pub("s.b", "x", headers="Nats-TTL: 6")
    client.pull(batch=9)
    client.hear()
    assert heard_markers(client.wait(6.01)) == 2
    assert state(client)["messages"] == 2
    assert heard_markers(client.wait(5.01)) == 0
    assert state(client)["messages"] == 0


def test_a_time_to_live_stays_as_it_is_where_each_subject_has_one_message(make):
    stream = {
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 5 * 10**9,
        "allow_rollup_hdrs": True,
    }
    client = make(stream={**stream, "max_msgs_per_subject": 1}, consumer={})
    client.pub("s.a", "x", headers="Nats-TTL: 2")
    client.pull(batch=9)

    assert "Nats-TTL: 2~" in client.hear()
    assert heard_markers(client.wait(2.01)) == 1


@pytest.mark.parametrize(
    "batch", ["", "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: 1\r\n"]
)
def test_a_time_to_live_below_that_of_the_markers_becomes_as_long(make, batch):
    stream = {
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 30 * 10**9,
        "allow_rollup_hdrs": True,
    }
    client = make(stream={**stream, "allow_atomic": True}, consumer={})
    client.pub("s.a", "x", "in.p", f"{batch}A: 1\r\nNats-TTL: 1\r\nB: 2")
    client.hear()
    heard = client.pull(batch=1).hear()

    assert "A: 1~B: 2~Nats-TTL: 30~" in heard
    client.wait(29.0)
    assert state(client)["messages"] == 1


@pytest.mark.parametrize(
    ("version", "stream", "ttl", "err_code"),
    [
        ("2.15.1", {}, "5", 10166),
        ("2.15.1", {}, "junk", 10165),
        ("2.15.1", {"allow_msg_ttl": True}, "500ms", 10165),
        ("2.15.1", {"allow_msg_ttl": True}, "-1", 10165),
        ("2.10.26", {}, "junk", None),
    ],
)
def test_a_time_to_live_must_be_one_and_be_allowed(make, version, stream, ttl, err_code):
    client = make(version=version, stream=stream)
    client.pub("s.a", "x", "in.1", f"Nats-TTL: {ttl}")
    heard = client.hear()

    assert (f'"err_code":{err_code}' in heard) is (err_code is not None)


def test_subjects_are_moved_before_they_are_stored(make):
    client = make(stream={"subject_transform": {"src": "s.*.x", "dest": "s.$1.y"}})
    client.pub("s.a.x", "1").pub("s.b", "2")

    assert [each["subject"] for each in messages(client)] == ["s.a.y", "s.b"]


@pytest.mark.parametrize(("headers_only", "end"), [(False, "~x~"), (True, "~Nats-Msg-Size: 1~~~")])
def test_what_is_stored_is_told_on(make, headers_only, end):
    client = make(
        stream={"republish": {"src": "s.a", "dest": "in.told", "headers_only": headers_only}}
    )
    client.pub("s.b", "x").pub("s.a", "x")
    client.hear()
    client.pub("s.a", "x", headers="K: v")
    heard = client.hear()

    assert "K: v~Nats-Stream: S~Nats-Subject: s.a~Nats-Sequence: 3~Nats-Time-Stamp: " in heard
    assert "~Nats-Last-Sequence: 2~" in heard
    assert heard.endswith(end)


def test_what_is_told_on_may_be_stored_elsewhere(make):
    client = make(stream={"republish": {"src": "s.>", "dest": "other.>"}})
    client.server.request("STREAM.CREATE.T", {"name": "T", "subjects": ["other.>"]}, 0.0)
    client.pub("s.a", "x")

    assert client.server.request("STREAM.INFO.T", None, 0.0)["state"]["messages"] == 1


def messages(client):
    found = []
    for seq in range(1, state(client)["last_seq"] + 1):
        answer = client.server.request("STREAM.MSG.GET.S", {"seq": seq}, client.now)
        found.append(answer["message"])
    return found


@pytest.mark.parametrize(
    ("version", "status", "stored"),
    [
        ("2.12", b"NATS/1.0 404 No Messages\r\n\r\n", None),
        ("2.12", b"NATS/1.0 404 No Messages\r\nK: v\r\n\r\n", b"NATS/1.0\r\nK: v\r\n\r\n"),
        ("2.11", b"NATS/1.0 404 No Messages\r\n\r\n", b"NATS/1.0 404 No Messages\r\n\r\n"),
    ],
)
def test_a_forged_status_line_is_stripped_from_2_12_on(make, version, status, stored):
    client = make(version=version)
    client.server.publish("s.a", b"x", 0.0, block=status)
    message = client.server.request("STREAM.MSG.GET.S", {"seq": 1}, 0.0)["message"]

    assert message.get("hdrs") == (base64.b64encode(stored).decode() if stored else None)


def test_messages_are_deleted_and_purged(make):
    client = make(publish=6)
    for subject in ("s.b", "s.b"):
        published(client, subject)
    ask = client.server.request
    assert ask("STREAM.MSG.DELETE.S", {"seq": 2}, 0.0)["success"] is True
    assert ask("STREAM.MSG.DELETE.S", {"seq": 2}, 0.0)["error"]["err_code"] == 10043
    assert ask("STREAM.MSG.DELETE.S", {}, 0.0)["error"]["err_code"] == 10003
    assert ask("STREAM.PURGE.S", {"seq": 4}, 0.0)["purged"] == 2
    assert ask("STREAM.PURGE.S", {"filter": "s.b"}, 0.0)["purged"] == 2
    assert ask("STREAM.PURGE.S", {"keep": 1}, 0.0)["purged"] == 2
    assert ask("STREAM.PURGE.S", {"keep": 1, "seq": 1}, 0.0)["error"]["err_code"] == 10003
    assert seqs(client) == [6]
    assert ask("STREAM.PURGE.S", None, 0.0)["purged"] == 1
    assert state(client)["first_seq"] == 9


def emptied(make, version, **purge):
    """Three messages in memory, the last one deleted, and a purge that leaves nothing behind it."""
    client = make(version=version, stream={"storage": "memory"}, publish=3)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 3}, 0.0)
    return client, client.server.request("STREAM.PURGE.S", purge, 0.0)


@pytest.mark.parametrize("purge", [{"seq": 3}, {"keep": 1}])
@pytest.mark.parametrize("version", ["2.10", "2.12", "2.14"])
def test_a_store_in_memory_that_a_purge_empties_keeps_its_first_sequence(make, version, purge):
    """Found by ``differential.py --scripts 1 --seed 63 --server 2.12.8``."""
    client, answer = emptied(make, version, **purge)
    assert answer["purged"] == 2
    seen = state(client)
    assert [seen[each] for each in ("messages", "first_seq", "last_seq")] == [0, 1, 3]
    assert seen["num_deleted"] == 3
    assert not seen["first_ts"].startswith("0001")
    asked = {"deleted_details": True}
    assert "num_deleted" not in client.server.request("STREAM.INFO.S", asked, 0.0)["state"]
    published(client)

    assert state(client)["first_seq"] == 4


def test_a_store_in_memory_of_2_15_begins_behind_what_a_purge_took(make):
    client, answer = emptied(make, "2.15", seq=3)

    assert answer["purged"] == 2
    assert state(client)["first_seq"] == 4


@pytest.mark.parametrize("purge", [{"seq": 3}, {"keep": 1}])
def test_a_purge_of_2_9_in_memory_needs_a_message_that_is_there(make, purge):
    client, answer = emptied(make, "2.9", **purge)

    assert answer["error"]["err_code"] == 10051
    assert seqs(client)[:2] == [1, 2]
    assert client.server.request("STREAM.PURGE.S", {"seq": 2}, 0.0)["purged"] == 1


@pytest.mark.parametrize(
    ("version", "storage", "purged"),
    [("2.9", "memory", 3), ("2.10", "memory", 0), ("2.14", "file", 3), ("2.15", "file", 0)],
)
def test_a_purge_below_the_first_sequence_takes_everything_on_some_servers(
    make, version, storage, purged
):
    client = make(version=version, stream={"storage": storage}, publish=3)

    assert client.server.request("STREAM.PURGE.S", {"seq": 1}, 0.0)["purged"] == purged


def test_what_a_stream_denies(make):
    client = make(stream={"deny_delete": True, "deny_purge": True}, publish=1)

    assert (
        client.server.request("STREAM.MSG.DELETE.S", {"seq": 1}, 0.0)["error"]["err_code"] == 10057
    )
    assert client.server.request("STREAM.PURGE.S", None, 0.0)["error"]["err_code"] == 10110


def test_a_stream_can_begin_at_a_sequence(make):
    client = make(stream={"first_seq": 100})

    assert published(client)["seq"] == 100


def test_interest_retention_keeps_what_somebody_waits_for(make):
    client = make(stream={"retention": "interest"})
    published(client)
    assert state(client)["messages"] == 0
    for name in ("A", "B"):
        config = {
            "durable_name": name,
            "ack_policy": "explicit",
            "filter_subject": "s.a" if name == "A" else "s.>",
        }
        client.server.request(
            f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": config}, 0.0
        )
    published(client)
    published(client, "s.b")
    for name in ("A", "B"):
        client.pull(consumer=name, batch=2, expires=10**9)
        heard = client.hear().split("~")
        assert heard[0].startswith("MSG s.a 1 $JS.ACK")
        client.pub(heard[0].split()[3], "+ACK")

    assert seqs(client) == [3]
    client.server.request("CONSUMER.DELETE.S.B", None, 0.0)
    assert state(client)["messages"] == 0


def test_interest_retention_without_acks_lets_go_at_delivery(make):
    client = make(stream={"retention": "interest"}, consumer={"ack_policy": "none"}, publish=2)
    client.pull(batch=1)

    assert seqs(client) == [2]


def test_a_tightened_limit_holds_at_once(make):
    client = make(publish=5)
    client.server.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "max_msgs": 2}, 0.0)

    assert seqs(client) == [4, 5]


def test_a_consumer_without_acknowledgements_takes_a_message_off_an_interest_stream_as_it_is_stored(
    make,
):
    """Found by the simulator: the model lost its way."""
    client = make(stream={"retention": "interest"}, consumer={"ack_policy": "none"})
    client.pull(batch=1)
    client.pub("s.a", b"x", "in.ack")

    assert '"seq":1' in client.hear()
    assert client.server.jetstream.streams["S"].state()["messages"] == 0
