"""What a server does behind an update or a purge, its mistakes included: each of these was found by
a random script.
"""

import pytest

from tests.testing.simserver.consumers.test_consumers import acks, info, numbers, take


def update(client, **config):
    about = {"durable_name": "C", "ack_policy": "explicit", **config}
    return client.server.request(
        "CONSUMER.CREATE.S.C", {"stream_name": "S", "config": about}, client.now
    )


def publish(client, subject="s.a", payload=b"x"):
    client.server.publish(subject, payload, client.now)


def terminated(client):
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.> 7\r\n")
    return lambda: client.hear().count("Unacknowledged message was deleted")


@pytest.mark.parametrize(("version", "pending"), [("2.9.10", 1), ("2.10.26", 0), ("2.15.1", 0)])
def test_whose_last_filter_is_taken_away_hears_of_nothing_new(make, version, pending):
    client = make(version=version, consumer={"filter_subject": "s.a"})
    update(client)
    publish(client)

    assert info(client)["num_pending"] == pending
    assert numbers(take(client)) == [(1, 1, 1, 0)]
    update(client, filter_subject="s.a")
    publish(client)
    assert info(client)["num_pending"] == 1


def test_the_deaf_do_not_hear_what_leaves(make):
    client = make(stream={"max_msgs": 1}, consumer={"filter_subject": "s.a"}, publish=1)
    told = terminated(client)
    take(client)
    update(client)
    publish(client)

    assert told() == 0
    assert info(client)["num_ack_pending"] == 1


def test_an_update_leaves_the_pause_as_it_is(make):
    client = make(consumer={})
    client.server.request("CONSUMER.PAUSE.S.C", {"pause_until": "2999-01-01T00:00:00Z"}, 0.0)

    assert update(client, description="d")["config"]["pause_until"] == "2999-01-01T00:00:00Z"


def test_a_pause_that_was_over_before_does_not_end_again(make):
    client = make(consumer={"filter_subject": "s.a"})
    assert take(client) == ""
    client.server.request("CONSUMER.PAUSE.S.C", {"pause_until": "2001-01-01T00:00:00Z"}, 0.0)
    publish(client, "s.b")
    update(client)

    assert client.server.next_deadline() != client.now
    assert client.wait(0.1).hear() == ""


def test_who_resumes_wakes_nobody_but_the_next_message_does(make):
    client = make(consumer={}, publish=1)
    client.server.request("CONSUMER.PAUSE.S.C", {"pause_until": "2999-01-01T00:00:00Z"}, 0.0)
    assert take(client, 2) == ""
    client.server.request("CONSUMER.PAUSE.S.C", {}, 0.0)
    assert client.wait(0.1).hear() == ""
    publish(client)

    assert len(acks(client.hear())) == 2


def test_only_another_max_ack_pending_makes_an_update_look_for_messages(make):
    client = make(consumer={"max_ack_pending": 1}, publish=3)
    assert len(acks(take(client, 3))) == 1
    update(client, max_ack_pending=1, description="d")
    assert client.hear() == ""
    update(client, max_ack_pending=2)

    assert len(acks(client.hear())) == 1


def test_another_filter_lets_go_what_nobody_needs_any_more(make):
    client = make(stream={"retention": "interest"}, consumer={})
    publish(client, "s.a")
    publish(client, "s.b")
    update(client, filter_subject="s.b")

    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["messages"] == 1


def test_an_update_of_a_work_queues_consumer_must_not_overlap(make):
    client = make(stream={"retention": "workqueue"}, consumer={"filter_subject": "s.a"})
    other = {"durable_name": "D", "ack_policy": "explicit", "filter_subject": "s.b"}
    client.server.request("CONSUMER.CREATE.S.D", {"stream_name": "S", "config": other}, 0.0)

    assert update(client, filter_subject="s.*")["error"]["err_code"] == 10100
    assert "error" not in update(client, filter_subject="s.c")


def test_a_frequency_stays_until_there_is_another(make):
    client = make(consumer={"sample_freq": "100"}, publish=2)
    update(client)
    client.say("SUB $JS.EVENT.METRIC.> 2\r\n")
    first, second = acks(take(client, 2))
    client.pub(first, "+ACK")
    assert '"deliveries":1}' in client.hear()
    update(client, sample_freq="0")
    client.pub(second, "+ACK")

    assert client.hear() == ""


def test_another_deliver_group_alone_is_not_noticed(make):
    client = make(consumer={"deliver_subject": "d.c", "deliver_group": "g"})
    client.say("SUB d.c g 2\r\n")
    assert update(client, deliver_subject="d.c")["push_bound"] is True
    client.say("UNSUB 2\r\n")

    assert "push_bound" not in info(client)


def test_who_asks_for_more_with_an_ack_comes_before_whoever_waits_for_room(make):
    client = make(consumer={"max_ack_pending": 1}, publish=2)
    (ack,) = acks(take(client, 5))
    client.pub(ack, '+NXT {"batch":1,"no_wait":true}', "in.next")
    heard = client.hear()

    assert heard.startswith("HMSG in.next")
    assert "408 Requests Pending" in heard
    assert numbers(heard) == [(1, 2, 2, 0)]


def test_a_newest_message_that_has_left_costs_one_look(make):
    client = make(stream={"max_msgs_per_subject": 2}, publish=1)
    publish(client, "s.b")
    update(client, deliver_policy="last_per_subject", filter_subject="s.>")
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 1}, 0.0)
    client.pull(batch=1, no_wait=True)
    assert "404" in client.hear()

    assert numbers(take(client)) == [(1, 2, 1, 0)]


def test_the_place_of_one_that_a_limit_takes_away_is_taken_when_the_new_one_counts(make):
    client = make(stream={"max_msgs": 3}, consumer={"max_ack_pending": 1}, publish=3)
    assert numbers(take(client, 9)) == [(1, 1, 1, 2)]
    publish(client)

    assert numbers(client.hear())[-1] == (1, 2, 2, 2)


def test_a_store_in_files_misses_0_as_long_as_it_was_never_used(make):
    asked = {"deleted_details": True}
    for storage, missing in (("file", [0]), ("memory", None)):
        client = make(stream={"storage": storage})
        state = client.server.request("STREAM.INFO.S", asked, 0.0)["state"]
        assert state.get("deleted") == missing


@pytest.mark.parametrize(
    ("storage", "pattern", "filters", "told"),
    [
        ("memory", "s.a", None, 1),
        ("file", "s.a", None, 1),
        ("file", "s.*", "s.a", 0),
        ("file", "", None, 0),
    ],
)
def test_a_purge_of_one_message_tells_who_holds_it(make, storage, pattern, filters, told):
    consumer = {"filter_subject": filters} if filters else {}
    client = make(stream={"storage": storage}, consumer=consumer, publish=1)
    heard = terminated(client)
    take(client)
    publish(client, "t.none")
    client.server.request("STREAM.PURGE.S", {"filter": pattern} if pattern else None, 0.0)

    assert heard() == told


def test_an_old_store_in_memory_tells_of_each_that_a_purge_by_subject_takes(make):
    client = make(
        version="2.12.8", stream={"storage": "memory"}, consumer={"max_ack_pending": 2}, publish=3
    )
    heard = terminated(client)
    take(client, 5)
    client.server.request("STREAM.PURGE.S", {"filter": "s.a", "keep": 1}, 0.0)

    assert (heard(), info(client)["num_ack_pending"]) == (2, 0)


@pytest.mark.parametrize(("version", "left"), [("2.12.8", 1), ("2.15.1", 2)])
def test_max_bytes_may_be_reached_exactly_from_2_15_on(make, version, left):
    limits = {"storage": "memory", "max_bytes": 40, "discard": "new"}
    client = make(version=version, stream=limits, publish=2)

    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["messages"] == left


@pytest.mark.parametrize(("version", "left"), [("2.12.8", 1), ("2.15.1", 2)])
def test_what_a_purge_keeps_in_memory_was_counted_by_sequence(make, version, left):
    client = make(version=version, stream={"storage": "memory"}, publish=4)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 3}, 0.0)
    client.server.request("STREAM.PURGE.S", {"keep": 2}, 0.0)

    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["messages"] == left


@pytest.mark.parametrize(("version", "acknowledges"), [("2.12.8", False), ("2.15.1", True)])
def test_a_purge_counts_as_acknowledging_from_2_15_on(make, version, acknowledges):
    client = make(version=version, consumer={}, publish=3)
    take(client, 2)
    client.server.request("STREAM.PURGE.S", None, 0.0)

    assert ("last_active" in info(client)["ack_floor"]) is acknowledges


@pytest.mark.parametrize(("version", "floor"), [("2.12.8", 1), ("2.15.1", 0)])
def test_a_purge_of_one_filter_of_several_moves_no_one_along_from_2_15_on(make, version, floor):
    client = make(version=version, consumer={"filter_subjects": ["s.a", "s.b"]})
    publish(client, "s.c")
    client.server.request("STREAM.PURGE.S", {"filter": "s.a"}, 0.0)

    assert info(client)["ack_floor"]["stream_seq"] == floor


def test_how_often_a_message_came_again_is_not_counted_where_it_must_not(make):
    client = make(consumer={"max_deliver": 1}, publish=1)
    (ack,) = acks(take(client))
    client.pub(ack, "-NAK")
    take(client)

    assert info(client)["num_redelivered"] == 0


def test_a_consumer_with_its_start_ahead_keeps_what_comes_before(make):
    client = make(
        stream={"retention": "interest"},
        consumer={"deliver_policy": "by_start_sequence", "opt_start_seq": 3},
    )
    publish(client)

    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["messages"] == 1


def test_without_interest_a_rollup_still_rolls_up(make):
    client = make(
        stream={"retention": "interest", "allow_rollup_hdrs": True},
        consumer={"filter_subject": "s.b"},
    )
    publish(client, "s.b")
    publish(client, "s.b")
    client.pub("s.a", "x", headers="Nats-Rollup: all")

    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["messages"] == 1


def test_a_delete_request_with_a_body_that_is_no_json_says_something(make):
    client = make()

    assert client.request("STREAM.DELETE.S", "{")["error"]["err_code"] == 10038
    assert client.request("STREAM.DELETE.S", "{}")["success"] is True


@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_a_purge_that_leaves_owed_what_it_took_makes_room_by_its_termination(make, version):
    client = make(version=version, consumer={"max_ack_pending": 1}, publish=2)
    publish(client, "s.other")
    publish(client)
    told = terminated(client)
    first, second = acks(take(client, 4)), []
    for _ in range(2):
        client.pub((first or second)[-1], "+ACK")
        first, second = [], acks(client.hear())
    assert second[0].split(".")[5] == "3"
    client.server.request("STREAM.PURGE.S", {"filter": "s.other"}, client.now)
    heard = client.hear()

    assert numbers(heard) == [(1, 4, 4, 0)]
    assert heard.count("Unacknowledged message was deleted") == 1
    assert told() == 0
    assert info(client)["num_ack_pending"] == 1


def test_what_a_purge_has_settled_is_told_as_terminated_all_the_same(make):
    client = make(consumer={"max_ack_pending": 1, "filter_subject": "s.a"}, publish=1)
    take(client, 2)
    told = terminated(client)
    client.server.request("STREAM.PURGE.S", {"filter": "s.a"}, client.now)

    assert told() == 1
    assert info(client)["num_ack_pending"] == 0


@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_what_a_purge_has_terminated_counts_as_an_acknowledgement(make, version):
    client = make(version=version, consumer={}, publish=1)
    take(client)
    assert "last_active" not in info(client)["ack_floor"]
    client.server.request("STREAM.PURGE.S", {"filter": "s.a"}, client.now)

    assert "last_active" in info(client)["ack_floor"]


@pytest.mark.parametrize(("version", "again"), [("2.12.8", 1), ("2.14.0", 1), ("2.15.1", 0)])
@pytest.mark.parametrize("asked", ["pull", "next"])
def test_a_redelivery_that_nobody_could_take_counts_until_2_15(make, version, again, asked):
    client = make(version=version, consumer={}, publish=2)
    first, second = acks(take(client, 2))
    client.pub(first, "-NAK")
    if asked == "pull":
        assert "408 Request Timeout" in take(client, expires=-1)
    else:
        client.pub(second, "+NXT 2")  # nobody is named who would be given it

    assert info(client)["num_redelivered"] == again
    assert info(client)["num_waiting"] == 0
    assert numbers(take(client)) == [(2, 1, 3, 0)]


def test_what_is_told_of_the_floor_is_what_was_written_down_not_how_far_the_cursor_is(make):
    client = make(consumer={}, publish=1)
    (ack,) = acks(take(client))
    update(client, filter_subjects=["s.a", "s.b"])
    publish(client, "s.other")
    assert take(client) == ""
    client.pub(ack, "+ACK")
    publish(client)

    assert numbers(client.hear()) == [(1, 3, 2, 0)]
    assert info(client)["ack_floor"]["stream_seq"] == 1
    client.pub("$JS.ACK.S.C.1.3.2.0.0", "+ACK")
    assert info(client)["ack_floor"]["stream_seq"] == 3


def test_the_floor_that_a_purge_has_written_does_not_go_back(make):
    """The purge sets its own floor to where the stream begins; what it had acknowledged before
    stays written.
    """
    client = make(consumer={"filter_subject": "s.a"})
    for subject in ("s.other", "s.a", "s.a"):
        publish(client, subject)
    client.pub(acks(take(client, 2))[1], "+ACK")
    update(client)
    publish(client, "s.other")
    assert numbers(take(client)) == [(1, 4, 3, 0)]
    client.server.request("STREAM.PURGE.S", {"filter": "s.a"}, client.now)

    floor = info(client)["ack_floor"]
    assert (floor["consumer_seq"], floor["stream_seq"]) == (2, 3)
    assert info(client)["num_ack_pending"] == 1


@pytest.mark.parametrize(
    ("version", "storage", "dated"),
    [
        ("2.9", "memory", False),
        ("2.9", "file", True),
        ("2.10", "memory", True),
        ("2.10", "file", True),
        ("2.11", "memory", False),
        ("2.11", "file", False),
    ],
)
def test_what_nobody_is_interested_in_says_when_an_empty_stream_begins_until_2_10(
    make, version, storage, dated
):
    client = make(version=version, stream={"retention": "interest", "storage": storage}, publish=1)
    began = client.server.request("STREAM.INFO.S", None, 0.0)["state"]["first_ts"]
    client.server.request("STREAM.PURGE.S", None, 0.0)

    assert began.startswith("2027" if dated else "0001")
    assert client.server.request("STREAM.INFO.S", None, 0.0)["state"]["first_ts"].startswith("0001")


@pytest.mark.parametrize(
    ("version", "storage", "filters", "pending"),
    [
        ("2.10", "file", "s.a", 1),
        ("2.11", "memory", "s.a", 1),
        ("2.11", "file", "", 1),
        ("2.11", "file", "s.a", 2),
        ("2.12", "file", "s.a", 1),
    ],
)
def test_who_filters_does_not_hear_of_what_is_deleted_from_files_on_2_11(
    make, version, storage, filters, pending
):
    client = make(
        version=version,
        stream={"storage": storage},
        consumer={"filter_subject": filters},
        publish=3,
    )
    client.pull(batch=1)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 2}, 0.0)

    assert client.server.request("CONSUMER.INFO.S.C", None, 0.0)["num_pending"] == pending


@pytest.mark.parametrize(("version", "last", "ident"), [("2.11", 3, "late"), ("2.12", 2, "early")])
def test_a_message_whose_time_to_live_is_refused_counts_as_the_last_on_2_11(
    make, version, last, ident
):
    client = make(version=version, stream={"allow_msg_ttl": True}, publish=1)
    client.pub("s.a", "x", "in.p", "Nats-Msg-Id: early")
    client.pub("s.a", "x", "in.p", "Nats-Msg-Id: late\r\nNats-TTL: junk")
    client.hear()
    client.pub("s.a", "x", "in.p", "Nats-Expected-Last-Sequence: 1")
    client.pub("s.a", "x", "in.p", "Nats-Expected-Last-Msg-Id: other")
    heard = client.hear()

    assert f"wrong last sequence: {last}" in heard
    assert f"wrong last msg ID: {ident}" in heard


@pytest.mark.parametrize(
    ("version", "config", "err_code"),
    [
        ("2.9", {}, 10116),
        ("2.9", {"max_deliver": 2}, 10116),
        ("2.9", {"max_deliver": 3}, None),
        ("2.10", {}, None),
        ("2.10", {"max_deliver": 2}, None),
        ("2.10", {"max_deliver": 1}, 10116),
    ],
)
def test_backoff_wants_more_deliveries_than_it_has_steps_on_2_9(make, version, config, err_code):
    client = make(version=version)
    body = {"durable_name": "C", "ack_policy": "explicit", "backoff": [10**9, 2 * 10**9], **config}
    answer = client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": body}, 0.0
    )

    assert answer.get("error", {}).get("err_code") == err_code


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.9", "max waiting can not be updated"),
        ("2.10", "can not update pull consumer to push based"),
    ],
)
def test_of_two_things_that_cannot_be_updated_versions_name_one_or_the_other(make, version, words):
    client = make(version=version, consumer={})
    body = {"durable_name": "C", "ack_policy": "explicit", "deliver_subject": "d"}
    answer = client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": body}, 0.0
    )

    assert answer["error"]["description"] == words


def test_on_2_9_a_filter_that_is_none_of_the_streams_comes_before_a_start_that_is_wrong(make):
    client = make(version="2.9")
    body = {
        "durable_name": "C",
        "ack_policy": "explicit",
        "filter_subject": "other",
        "opt_start_seq": 3,
    }
    answer = client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": body}, 0.0
    )

    assert answer["error"]["err_code"] == 10093


def test_a_batch_that_nobody_is_interested_in_has_its_sequences_and_is_gone(make):
    client = make(stream={"retention": "interest", "allow_atomic": True})
    batch = "Nats-Batch-Id: b\r\nNats-Batch-Sequence: {}"
    client.pub("s.a", "x", "in.p", batch.format(1))
    client.pub("s.b", "y", "in.p", batch.format(2) + "\r\nNats-Batch-Commit: 1")

    assert '"seq":2' in client.hear()
    state = client.server.request("STREAM.INFO.S", None, 0.0)["state"]
    assert (state["messages"], state["last_seq"]) == (0, 2)


@pytest.mark.parametrize(("version", "owed"), [("2.11", 3), ("2.12", 2)])
def test_a_redelivery_whose_message_has_left_is_terminated_from_2_12_on(make, version, owed):
    client = make(version=version, stream={"retention": "interest"}, consumer={}, publish=3)
    heard = terminated(client)
    last = acks(take(client, 3))[-1]
    client.pub(last, "-NAK")
    update(client, filter_subject="s.b")
    client.pull(batch=1, no_wait=True)

    assert heard() == 3 - owed
    assert info(client)["num_ack_pending"] == owed
