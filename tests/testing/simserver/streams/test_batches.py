import json

import pytest


def member(
    client, seq, *, ident="b", headers="", commit="", reply="in.1", subject="s.a", payload="x"
):
    """What is heard after one member of a batch: an acknowledgement, ``""`` for an empty one,
    ``None`` for none.
    """
    lines = [f"Nats-Batch-Id: {ident}", *([f"Nats-Batch-Sequence: {seq}"] if seq else [])]
    lines += [f"Nats-Batch-Commit: {commit}"] if commit else []
    client.pub(subject, payload, reply, "\r\n".join([*lines, *([headers] if headers else [])]))
    heard = client.hear()
    if not heard:
        return None
    body = heard.split("~")[1]
    return json.loads(body) if body else ""


def err_code(answer):
    return answer["error"]["err_code"]


@pytest.fixture
def batching(make):
    def build(version="2.15.1", **stream):
        return make(version=version, stream={"allow_atomic": True, **stream})

    return build


def count(client):
    return client.server.request("STREAM.INFO.S", None, client.now)["state"]["messages"]


def test_a_batch_is_stored_when_it_commits(batching):
    client = batching()
    assert member(client, 1) == ""
    assert member(client, 2, reply="") is None
    assert count(client) == 0
    assert member(client, 3, commit="1") == {"stream": "S", "seq": 3, "batch": "b", "count": 3}
    assert count(client) == 3


def test_a_batch_is_ended_without_another_message(batching):
    client = batching()
    member(client, 1)

    assert member(client, 2, commit="eob", payload="") == {
        "stream": "S",
        "seq": 1,
        "batch": "b",
        "count": 1,
    }


def test_servers_before_2_14_know_no_end_without_a_message(batching):
    client = batching("2.12.8")
    member(client, 1)

    assert err_code(member(client, 2, commit="eob")) == 10200


def test_a_stream_without_acknowledgements_says_nothing(batching):
    client = batching(no_ack=True)

    assert member(client, 1) is None
    assert member(client, 2, commit="1") is None
    assert count(client) == 2


@pytest.mark.parametrize(
    ("seq", "options", "code"),
    [
        (2, {}, 10176),
        (2000, {}, 10199),
        (0, {}, 10175),
        (1, {"ident": "i" * 65}, 10179),
        (1, {"commit": "yes"}, 10200),
        (1, {"commit": "eob"}, 10176),
    ],
)
def test_members_that_do_not_fit_are_refused(batching, seq, options, code):
    assert err_code(member(batching(), seq, **options)) == code


def test_streams_must_allow_batches_and_be_open(make, batching):
    assert err_code(member(make(), 1)) == 10174
    client = batching()
    config = client.server.request("STREAM.INFO.S", None, 0.0)["config"]
    client.server.request("STREAM.UPDATE.S", {**config, "sealed": True}, 0.0)
    assert err_code(member(client, 1)) == 10109


def test_a_gap_abandons_the_batch_and_an_advisory_tells(batching):
    client = batching()
    client.say("SUB $JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.S 7\r\n")
    member(client, 1)
    client.pub("s.a", "", "in.1", "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 3")
    heard = client.hear()

    assert '"err_code":10176' in heard
    assert '"stream":"S","batch":"b","reason":"incomplete"' in heard
    assert "BATCH_ABANDONED.S 7  " in heard


def test_silence_abandons_a_batch(batching):
    client = batching()
    client.say("SUB $JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.S 7\r\n")
    member(client, 1)
    client.wait(9.0)
    member(client, 2)
    assert client.wait(9.9).hear() == ""
    assert '"batch":"b","reason":"timeout"' in client.wait(0.2).hear()
    assert err_code(member(client, 3)) == 10176


@pytest.mark.parametrize(("version", "taken"), [("2.14.0", False), ("2.15.1", True)])
def test_the_end_of_a_batch_counts_as_a_message_on_2_14_0_n070(batching, version, taken):
    client = batching(version=version)
    for seq in range(1, 1001):
        member(client, seq, reply="")
    answer = member(client, 1001, commit="eob", payload="")

    assert (answer["count"] == 1000) if taken else (err_code(answer) == 10199)


def test_a_batch_has_at_most_1000_messages(batching):
    client = batching()
    for seq in range(1, 1001):
        member(client, seq, reply="")

    assert err_code(member(client, 1001)) == 10199


def test_at_most_50_batches_are_open(batching):
    client = batching()
    for number in range(50):
        member(client, 1, ident=f"b{number}")

    assert err_code(member(client, 1, ident="one more")) == 10210


@pytest.mark.parametrize(
    ("first", "last", "code"),
    [
        ("Nats-Expected-Last-Sequence: 9", "", 10071),
        ("", "Nats-Expected-Last-Sequence: 2", 10164),
        ("", "Nats-Expected-Last-Subject-Sequence: 0", 10164),
        ("Nats-Expected-Last-Subject-Sequence: 5", "", 10071),
        ("Nats-Expected-Last-Subject-Sequence-Subject: s.b", "", 10193),
        ("Nats-Expected-Last-Msg-Id: a", "", 10177),
        ("Nats-Msg-Id: a", "Nats-Msg-Id: a", 10201),
        ("Nats-Msg-Id: known", "", 10201),
        ("Nats-TTL: junk", "", 10166),
    ],
)
def test_one_that_is_refused_refuses_all(batching, first, last, code):
    client = batching()
    client.pub("s.z", "x", headers="Nats-Msg-Id: known")
    member(client, 1, headers=first)

    assert err_code(member(client, 2, headers=last, commit="1")) == code
    assert count(client) == 1


def test_expectations_that_hold_let_a_batch_pass(batching):
    client = batching(allow_msg_ttl=True)
    about = (
        "Nats-Expected-Last-Subject-Sequence: 0\r\nNats-Expected-Last-Subject-Sequence-Subject: s.b"
    )
    member(client, 1, headers="Nats-Expected-Last-Sequence: 0\r\nNats-TTL: 5")

    assert member(client, 2, headers=about, commit="1")["count"] == 2


def test_counters_of_a_batch_add_up(batching):
    client = batching(allow_msg_counter=True)
    member(client, 1, headers="Nats-Incr: 1", payload="")

    assert member(client, 2, headers="Nats-Incr: 2", payload="", commit="1") == {
        "stream": "S",
        "seq": 2,
        "val": "3",
        "batch": "b",
        "count": 2,
    }


def test_subjects_of_a_batch_are_moved(batching):
    client = batching(subject_transform={"src": "s.a", "dest": "s.moved"})
    member(client, 1, commit="1")

    assert (
        client.server.request("STREAM.MSG.GET.S", {"seq": 1}, 0.0)["message"]["subject"]
        == "s.moved"
    )


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"max_bytes": 400}, "maximum bytes exceeded"),
        ({"max_msgs": 2}, "maximum messages exceeded"),
    ],
)
def test_with_discard_new_a_batch_has_to_fit_as_a_whole(batching, limit, text):
    client = batching(discard="new", **limit)
    member(client, 1, payload="x" * 50)
    member(client, 2, payload="x" * 50)
    refused = member(client, 3, payload="x" * 50, commit="1")

    assert refused["error"] == {"code": 503, "err_code": 10077, "description": text}
    assert count(client) == 0
    member(client, 1, ident="c")
    assert member(client, 2, ident="c", commit="1")["count"] == 2


@pytest.mark.parametrize(
    ("version", "fits"), [("2.12.8", False), ("2.14.0", True), ("2.15.1", True)]
)
def test_a_full_subject_takes_nothing_from_a_batch_but_a_roll_up_since_2_14(
    batching, version, fits
):
    full = {"discard_new_per_subject": True, "max_msgs_per_subject": 1, "allow_rollup_hdrs": True}
    client = batching(version, discard="new", **full)
    client.pub("s.a", "x")
    refused = member(client, 1, commit="1")
    rolled = member(client, 1, commit="1", headers="Nats-Rollup: sub")

    assert refused["error"]["description"] == "maximum messages per subject exceeded"
    assert ("seq" in rolled and "error" not in rolled) is fits
    assert member(client, 1, commit="1", subject="s.b")["count"] == 1
