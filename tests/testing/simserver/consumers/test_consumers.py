import re

import pytest

SEQUENCES = ("consumer_seq", "stream_seq")


def info(client):
    return client.server.request("CONSUMER.INFO.S.C", None, client.now)


def acks(heard):
    """Acknowledgement subjects of what was heard."""
    return re.findall(r"\$JS\.ACK\.[^ ~]+", heard)


def numbers(heard):
    """``(deliveries, stream seq, consumer seq, pending)`` of each delivery."""
    return [tuple(int(ack.split(".")[at]) for at in (4, 5, 6, 8)) for ack in acks(heard)]


def take(client, count=1, **request):
    client.pull(**{"batch": count, "expires": 60 * 10**9, **request})
    return client.hear()


def test_a_pull_gets_what_is_there_and_waits_for_the_rest(make):
    client = make(consumer={}, publish=2)
    heard = take(client, 3)
    assert numbers(heard) == [(1, 1, 1, 1), (1, 2, 2, 0)]
    client.server.publish("s.b", b"x", 0.0)

    assert numbers(client.hear()) == [(1, 3, 3, 0)]


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        ({"deliver_policy": "all"}, [1, 2, 3, 4]),
        ({"deliver_policy": "last"}, [4]),
        ({"deliver_policy": "last", "filter_subject": "s.none"}, []),
        ({"deliver_policy": "new"}, []),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 3}, [3, 4]),
        ({"deliver_policy": "by_start_time", "opt_start_time": "2027-01-15T08:00:02Z"}, [3, 4]),
        ({"deliver_policy": "last_per_subject", "filter_subject": ">"}, [3, 4]),
        ({"filter_subject": "s.b"}, [2, 4]),
        ({"filter_subjects": ["s.a", "s.c"]}, [1, 3]),
    ],
)
def test_where_a_consumer_begins(make, policy, first):
    client = make()
    for number, subject in enumerate(("s.a", "s.b", "s.a", "s.b")):
        client.now = float(number)
        client.pub(subject, "x")
    config = {"durable_name": "C", "ack_policy": "explicit", **policy}
    created = client.server.request(
        "CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 3.0
    )

    assert created["num_pending"] == len(first)
    assert [each[1] for each in numbers(take(client, 10))] == first


@pytest.mark.parametrize(
    ("version", "stored", "first", "ahead"),
    [
        ("2.9", 0, 1, 20),
        ("2.9", 10, 11, 20),
        ("2.10", 0, 1, 20),
        ("2.10", 10, 11, 20),
        ("2.11", 0, 15, 20),
        ("2.11", 10, 15, 20),
        ("2.12", 0, 15, 6),
        ("2.15", 10, 15, 16),
    ],
)
def test_a_start_beyond_the_end(make, version, stored, first, ahead):
    start = {"deliver_policy": "by_start_sequence", "opt_start_seq": 15}
    client = make(version=version, publish=stored)
    config = {"durable_name": "C", "ack_policy": "explicit", **start}
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
    )
    for _ in range(20):
        client.server.publish("s.a", b"", 0.0)

    assert info(client)["num_pending"] == ahead
    assert [each[1] for each in numbers(take(client, 2))] == [first, first + 1]


def test_more_than_there_is_at_all_is_counted_anew_on_2_11(make):
    start = {"deliver_policy": "by_start_sequence", "opt_start_seq": 15, "filter_subject": "s.a"}
    client = make(version="2.11", stream={"max_msgs": 5}, consumer=start)
    for number in range(20):
        client.server.publish(f"s.{'ab'[number % 2]}", b"", 0.0)

    assert info(client)["num_pending"] == 2


@pytest.mark.parametrize(("version", "reached"), [("2.9", 4), ("2.10", 4), ("2.11", 3)])
def test_a_consumer_tells_where_it_is_until_2_10_and_what_it_has_delivered_from_2_11_on(
    make, version, reached
):
    client = make(version=version, consumer={"filter_subject": "s.a"}, publish=3)
    client.server.publish("s.b", b"", 0.0)
    take(client, 5)

    assert info(client)["delivered"]["stream_seq"] == reached


def test_single_messages_that_leave_are_not_given(make):
    client = make()
    for subject in ("s.a", "s.b"):
        client.pub(subject, "x")
    single = {"deliver_policy": "last_per_subject", "filter_subject": ">"}
    config = {"durable_name": "C", "ack_policy": "explicit", **single}
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 1}, 0.0)

    assert info(client)["num_pending"] == 1
    client.pull("nobody", batch=1)
    assert [each[1] for each in numbers(take(client, 10))] == [2]


def test_an_unacknowledged_message_comes_again(make):
    client = make(consumer={"ack_wait": 10**9}, publish=1)
    take(client, 9)
    client.wait(1.1)

    assert numbers(client.hear()) == [(2, 1, 2, 0)]
    assert info(client)["num_redelivered"] == 1


def test_progress_puts_off_the_redelivery(make):
    client = make(consumer={"ack_wait": 10**9}, publish=1)
    (ack,) = acks(take(client, 9))
    client.wait(0.8)
    client.pub(ack, "+WPI").wait(0.8)
    assert client.hear() == ""
    client.wait(0.3)

    assert numbers(client.hear()) == [(2, 1, 2, 0)]


def test_a_nak_with_delay_comes_back_after_it(make):
    client = make(consumer={}, publish=1)
    (ack,) = acks(take(client, 9))
    client.pub(ack, '-NAK {"delay":2000000000}').wait(1.9)
    assert client.hear() == ""
    client.wait(0.2)

    assert numbers(client.hear()) == [(2, 1, 2, 0)]


def test_a_nak_of_what_is_done_is_nothing(make):
    client = make(consumer={}, publish=1)
    (ack,) = acks(take(client, 9))
    client.pub(ack, "+ACK").pub(ack, "-NAK")

    assert client.hear() == ""


def test_backoff_lists_say_when(make):
    client = make(consumer={"backoff": [10**9, 3 * 10**9], "max_deliver": 3}, publish=1)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C 2\r\n")
    take(client, 9)
    moments = []
    for _ in range(100):
        client.wait(0.1)
        if "MSG" in client.hear():
            moments.append(round(client.now, 1))

    assert moments == [1.1, 4.1, 7.1]
    assert info(client)["num_ack_pending"] == 0


def test_max_deliver_is_an_end_for_naks_too(make):
    client = make(consumer={"max_deliver": 2, "max_ack_pending": 1}, publish=2)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.C 2\r\n")
    (ack,) = acks(take(client, 9))
    client.pub(ack, "-NAK")
    (again,) = acks(client.hear())
    client.pub(again, "-NAK")
    heard = client.hear()

    assert '"deliveries":2}' in heard
    assert numbers(heard) == [(1, 2, 3, 0)]


def test_a_reached_ack_limit_stops_deliveries_until_there_is_room(make):
    client = make(consumer={"max_ack_pending": 2}, publish=4)
    first, _ = acks(take(client, 9))
    client.pub(first, "+ACK")

    assert numbers(client.hear()) == [(1, 3, 3, 1)]


def test_room_comes_back_when_max_deliver_is_reached(make):
    client = make(consumer={"max_ack_pending": 1, "max_deliver": 1, "ack_wait": 10**9}, publish=2)
    take(client, 9)
    client.wait(1.1)

    assert numbers(client.hear()) == [(1, 2, 2, 0)]


def test_acks_raise_the_floor_as_far_as_they_are_whole(make):
    client = make(consumer={}, publish=5)
    ones = acks(take(client, 5))
    floors = []
    for at in (1, 0, 3, 2, 4):
        client.pub(ones[at], "+ACK")
        floors.append(info(client)["ack_floor"]["stream_seq"])

    assert floors == [0, 2, 2, 4, 5]


def test_policy_all_acknowledges_everything_before(make):
    client = make(consumer={"ack_policy": "all"}, publish=5)
    ones = acks(take(client, 5))
    client.pub(ones[3], "+ACK").pub(ones[1], "+ACK")

    assert info(client)["num_ack_pending"] == 1
    assert info(client)["ack_floor"]["consumer_seq"] == 4


@pytest.mark.parametrize(("version", "answered"), [("2.9", True), ("2.10", False)])
def test_an_ack_of_what_was_never_delivered(make, version, answered):
    client = make(version=version, consumer={}, publish=1)
    client.pub("$JS.ACK.S.C.1.9.9.1.0", "+ACK", "in.x")

    assert bool(client.hear()) is answered


def test_an_ack_without_numbers_is_not_answered(make):
    client = make(consumer={}, publish=1)
    client.pub("$JS.ACK.S.C.a.b.c.d.e", "+ACK", "in.x")

    assert client.hear() == ""


def test_next_acknowledges_and_pulls(make):
    client = make(consumer={}, publish=3)
    (ack,) = acks(take(client, 1))
    client.pub(ack, '+NXT {"batch":5,"no_wait":true}', "in.n")
    heard = client.hear()

    assert numbers(heard) == [(1, 2, 2, 1), (1, 3, 3, 0)]
    assert heard.endswith("NATS/1.0 404 No Messages~~~")
    assert info(client)["ack_floor"]["stream_seq"] == 1


def test_requests_beyond_the_limits_of_the_consumer(make):
    client = make(consumer={"max_batch": 2, "max_expires": 10**9, "max_bytes": 10})
    client.pull(batch=3).pull(batch=1, expires=2 * 10**9).pull(batch=1, max_bytes=11).pull(
        "", batch=1
    )
    heard = client.hear()

    assert "409 Exceeded MaxRequestBatch of 2~" in heard
    assert "409 Exceeded MaxRequestExpires of 1s~" in heard
    assert "409 Exceeded MaxRequestMaxBytes of 10~" in heard
    assert info(client)["num_waiting"] == 0


@pytest.mark.parametrize(("version", "silent"), [("2.10", False), ("2.11", True)])
def test_a_full_queue_refuses_and_is_silent_about_heartbeats_from_2_11_on(make, version, silent):
    client = make(version=version, consumer={"max_waiting": 1})
    client.pull(batch=1)
    client.pull(batch=1)
    assert "409 Exceeded MaxWaiting" in client.hear()
    client.pull(batch=1, expires=10**9, idle_heartbeat=10**8)

    assert (client.hear() == "") is silent


def test_no_wait_is_answered_at_once_unless_it_may_wait(make):
    client = make(consumer={})
    client.pull("in.1", batch=1, no_wait=True)
    assert "in.1 1 28 28~NATS/1.0 404 No Messages" in client.hear()
    client.pull("in.2", batch=1, no_wait=True, expires=10**9)
    assert client.hear() == ""
    client.pull("in.3", batch=4)
    client.server.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"]}, 0.0)
    client.wait(1.0)
    assert "in.2 1 81 81~NATS/1.0 408 Request Timeout" in client.hear()


def test_older_pulls_come_first(make):
    client = make(consumer={"max_ack_pending": 1}, publish=3)
    client.pull("in.1", batch=3).hear()
    client.pull("in.2", batch=1, no_wait=True)
    assert client.hear() == ""
    client.pull("in.3", batch=1, no_wait=True)

    assert client.hear() == "HMSG in.3 1 33 33~NATS/1.0 408 Requests Pending~~~"


def test_bytes_are_counted_as_the_server_counts_them(make):
    client = make(consumer={}, publish=2)
    client.pull(batch=1, max_bytes=1000)
    heard = client.hear()
    size = len("s.a") + len(acks(heard)[0]) + len("0")

    assert (
        f"409 Batch Completed~Nats-Pending-Messages: 0~Nats-Pending-Bytes: {1000 - size}~" in heard
    )


def test_a_message_that_nobody_can_take_stays_where_it_was(make):
    client = make(consumer={"ack_wait": 10**9}, publish=1)
    client.pull(batch=1, max_bytes=5)
    assert "409 Message Size Exceeds MaxBytes" in client.hear()
    assert info(client)["num_pending"] == 1
    take(client, 1)
    client.pull(batch=1, max_bytes=5)
    client.wait(1.5)
    assert "409 Message Size Exceeds MaxBytes" in client.hear()

    assert numbers(take(client, 1)) == [(2, 1, 2, 0)]


def test_headers_only_says_the_size_instead_of_the_payload(make):
    client = make(consumer={"headers_only": True})
    client.pub("s.a", "hello").pub("s.a", "hi", headers="K: v").pub(
        "s.a", "x", headers="Nats-Msg-Size: 9"
    )
    heard = take(client, 3)

    assert "~NATS/1.0~Nats-Msg-Size: 5~~~" in heard
    assert "~NATS/1.0~K: v~Nats-Msg-Size: 2~~~" in heard
    assert "~NATS/1.0~Nats-Msg-Size: 9~~~" in heard


def test_a_paused_consumer_lets_pulls_wait(make):
    client = make(consumer={}, publish=1)
    client.server.request("CONSUMER.PAUSE.S.C", {"pause_until": "2027-01-15T08:00:02Z"}, 0.0)
    assert take(client, 1) == ""
    assert info(client)["paused"] is True
    client.wait(2.0)

    assert numbers(client.hear()) == [(1, 1, 1, 0)]
    assert "paused" not in info(client)


def test_a_purge_takes_what_is_owed(make):
    client = make(consumer={}, publish=3)
    take(client, 2)
    client.server.request("STREAM.PURGE.S", {"seq": 2}, 0.0)
    assert (info(client)["num_ack_pending"], info(client)["num_pending"]) == (1, 1)
    client.server.request("STREAM.PURGE.S", None, 0.0)

    assert (info(client)["num_ack_pending"], info(client)["num_pending"]) == (0, 0)
    assert info(client)["ack_floor"]["stream_seq"] == 3


@pytest.mark.parametrize(
    ("version", "wanted", "purge", "behind"),
    [
        ("2.9", "s.*", {"filter": "s.b"}, []),
        ("2.9", "s.*", {"filter": "s.b", "keep": 1}, [6]),
        ("2.9", "s.a", {"filter": "s.b"}, [1, 3, 5]),
        ("2.9", "s.a", {"filter": "s.*", "seq": 4}, [5]),
        ("2.9", "s.a", {"seq": 4}, [5]),
        ("2.9", "s.a", {}, []),
        ("2.10", "s.*", {"filter": "s.b"}, [1, 3, 5]),
        ("2.15", "s.*", {"filter": "s.b"}, [1, 3, 5]),
    ],
)
def test_on_2_9_a_purge_of_some_subjects_takes_the_others_from_who_wants_them_too(
    make, version, wanted, purge, behind
):
    client = make(version=version, consumer={"filter_subject": wanted})
    for number in range(6):
        client.server.publish(f"s.{'ab'[number % 2]}", b"", 0.0)
    client.server.request("STREAM.PURGE.S", purge, 0.0)

    assert info(client)["num_pending"] == len(behind)
    assert [each[1] for each in numbers(take(client, 10))] == behind


@pytest.mark.parametrize(
    ("word", "settles"), [("+ACK", True), ("+TERM", True), ("-NAK", False), ("+WPI", False)]
)
def test_an_ack_of_another_message_settles_what_bears_its_sequence_now(make, word, settles):
    client = make(consumer={}, publish=2)
    [_, early] = acks(take(client, 2))
    client.server.request("STREAM.DELETE.S", None, 1.0)
    client.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]}, 1.0)
    config = {"durable_name": "C", "ack_policy": "explicit"}
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 1.0
    )
    for number in range(2):
        client.server.publish("s.a", b"new %d" % number, 1.0)
    client.now = 1.0
    client.hear()
    client.pub(early, word)
    assert client.server.mistaken == ()  # it is not delivered yet
    take(client, 2)
    client.pub(early, word)

    assert info(client)["num_ack_pending"] == 2 - settles
    assert [(each.stream_seq, each.payload) for each in client.server.mistaken] == [
        (2, b"new 1")
    ] * settles


def test_an_ack_of_the_message_itself_is_no_mistake(make):
    client = make(consumer={}, publish=1)
    client.pub(acks(take(client))[0], "+ACK")

    assert (info(client)["num_ack_pending"], client.server.mistaken) == (0, ())


def test_a_deleted_message_is_not_delivered_again(make):
    client = make(stream={"max_msgs": 1}, consumer={"ack_wait": 10**9}, publish=1)
    take(client, 9)
    client.server.publish("s.a", b"new", 0.0)
    assert numbers(client.hear()) == [(1, 2, 2, 0)]
    client.wait(1.1)

    assert [each[1] for each in numbers(client.hear())] == [2]


def test_a_deleted_message_that_is_owed_counts_as_terminated(make):
    client = make(consumer={}, publish=2)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C 2\r\n")
    take(client, 1)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 1}, 0.0)
    client.server.request("STREAM.MSG.DELETE.S", {"seq": 2}, 0.0)

    assert client.hear().count("Unacknowledged message was deleted") == 1
    assert info(client)["num_pending"] == 0


def test_a_sampled_ack_is_a_metric(make):
    client = make(consumer={"sample_freq": "100"}, publish=1)
    client.say("SUB $JS.EVENT.METRIC.> 2\r\n")
    (ack,) = acks(take(client, 1))
    client.wait(1.0)
    client.pub(ack, "+ACK")

    assert '"ack_time":1000000000,"deliveries":1}' in client.hear()
    client.pub(ack, "+ACK")
    assert client.hear() == ""


def test_the_ack_of_a_message_that_left_is_no_metric(make):
    client = make(consumer={"sample_freq": "100"}, stream={"max_msgs": 1}, publish=1)
    client.say("SUB $JS.EVENT.METRIC.> 2\r\n")
    (ack,) = acks(take(client, 1))
    client.server.publish("s.a", b"x", 1.0)
    client.pub(ack, "+ACK")

    assert client.hear() == ""


def test_a_new_filter_changes_what_is_pending(make):
    client = make(consumer={}, publish=3)
    config = {"durable_name": "C", "ack_policy": "explicit", "filter_subject": "s.b"}
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0)

    assert info(client)["num_pending"] == 0


def test_an_idle_consumer_is_removed(make):
    client = make(consumer={"inactive_threshold": 10**9})
    client.pull(batch=1, expires=2 * 10**9)
    client.wait(2.5)
    assert "408" in client.hear()
    client.wait(1.0)
    client.pull(batch=1)

    assert "503" in client.hear()


def test_deleting_a_consumer_ends_each_of_its_pulls(make):
    client = make(consumer={})
    client.pull(batch=1).pull(batch=1)
    client.server.request("CONSUMER.DELETE.S.C", None, 0.0)

    assert client.hear().count("409 Consumer Deleted") == 2


@pytest.mark.parametrize(
    ("level", "status"),
    [("5", ""), ("6", "412 Required Api Level"), ("x", "412 Required Api Level")],
)
def test_a_pull_may_require_an_api_level(make, level, status):
    client = make(consumer={})
    client.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "1", "in.1", f"Nats-Required-Api-Level: {level}")
    client.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "1", "in.1", "K: v")

    assert (status in client.hear()) is True


def test_acks_of_the_second_form(make):
    client = make(consumer={}, publish=1, ack_v2=True)
    heard = take(client, 1)
    (ack,) = acks(heard)
    assert ack.startswith("$JS.ACK._.szMpdrwD.S.C.1.1.1.")
    client.pub(ack, "+ACK", "in.a")

    assert client.hear() == "MSG in.a 1 0~~"


def test_what_grew_too_old_is_owed_no_more_once_the_server_looks(make):
    """Found by the simulator; seen on 2.9.10 and 2.15.1."""
    client = make(stream={"max_age": 2 * 10**9}, consumer={"ack_wait": 10**9}, publish=3)
    client.pull(batch=2)

    def owed():
        info = client.server.request("CONSUMER.INFO.S.C", None, client.now)
        return info["num_ack_pending"], info["num_pending"], info["ack_floor"]["stream_seq"]

    assert owed() == (2, 1, 0)
    client.wait(4.0)
    assert owed() == (0, 0, 2)


@pytest.mark.parametrize(
    ("policy", "floor", "floor_after"),
    [("explicit", (1, 3), (1, 1)), ("all", (1, 1), (1, 1)), ("none", (1, 1), (1, 1))],
)
@pytest.mark.parametrize("version", ["2.9.10", "2.10.26"])
def test_a_restart_forgets_what_a_consumer_has_passed_without_a_delivery(
    make, version, policy, floor, floor_after
):
    """Seen on 2.9.10 and 2.10.26."""
    client = make(version=version, consumer={"ack_policy": policy, "filter_subject": "s.a"})
    for subject in ("s.a", "s.b", "s.b"):
        client.server.publish(subject, b"x", 0.0)
    [first] = acks(take(client, 2))
    client.pub(first, "+ACK")

    def places():
        told = info(client)
        return [tuple(told[each][of] for of in SEQUENCES) for each in ("delivered", "ack_floor")]

    assert places() == [(1, 3), floor]
    client.server.kill_and_restart(1.0)
    assert places() == [(1, 1), floor_after]


@pytest.mark.parametrize("version", ["2.9.10", "2.10.26", "2.15.1"])
def test_a_restart_puts_back_what_a_replay_holds(make, version):
    """Seen on 2.9.10, 2.10.26 and 2.14.0: the floor had been behind it before 2.11."""
    client = make(version=version)
    for moment in (0.0, 50.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 60.0
    config = {"durable_name": "C", "ack_policy": "explicit", "replay_policy": "original"}
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, client.now
    )
    [first] = acks(take(client, 2))
    client.pub(first, "+ACK")
    client.server.kill_and_restart(client.now)

    told = info(client)
    assert [told[each]["stream_seq"] for each in ("delivered", "ack_floor")] == [1, 1]
    assert (told["num_pending"], client.server.jetstream.consumers["S"]["C"].settled_to) == (1, 1)


@pytest.mark.parametrize("version", ["2.9.10", "2.15.1"])
def test_who_holds_a_message_back_heeds_no_pull_and_no_new_message_but_an_info(make, version):
    """Seen on 2.9.10, 2.10.26 and 2.14.0."""
    client = make(version=version)
    for moment in (0.0, 8.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 10.0
    config = {"durable_name": "C", "ack_policy": "none", "replay_policy": "original"}
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, client.now
    )
    client.pull(batch=9, expires=60 * 10**9, idle_heartbeat=5 * 10**8)
    assert [each[1] for each in numbers(client.hear())] == [1]
    client.wait(1.0).server.publish("s.a", b"x", client.now)
    client.pull("in.q", batch=1, expires=3 * 10**8)
    assert client.wait(1.0).hear() == ""
    info(client)

    heard = client.hear()
    assert heard.count("Idle Heartbeat~Nats-Last-Consumer: 1~Nats-Last-Stream: 2~") == 1
    assert heard.count("408 Request Timeout") == 1
    assert [each[1] for each in numbers(client.wait(6.0).hear())] == [2]


@pytest.mark.parametrize(("taken", "behind"), [(0, [2, 3, 4, 5, 6]), (2, [4, 5, 6])])
def test_a_restart_forgets_which_messages_were_the_last_per_subject(make, client_of, taken, behind):
    """Seen on 2.9.10, 2.10.26 and 2.14.0."""
    client = make()
    for letter in "bbaccd":
        client.server.publish(f"s.{letter}", b"x", 0.0)
    config = {"durable_name": "C", "ack_policy": "explicit", "deliver_policy": "last_per_subject"}
    config["filter_subject"] = "s.>"
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
    )
    if taken:
        assert [each[1] for each in numbers(take(client, taken))] == [2, 3]
    client.server.kill_and_restart(1.0)
    back = client_of(client.server, now=1.0)
    back.say("SUB in.> 1\r\n")

    assert info(back)["num_pending"] == 4 - taken
    assert [each[1] for each in numbers(take(back, 9))] == behind


# ------------------------------------------------------------------------------------------------ what worlds ask it


@pytest.mark.parametrize(
    ("version", "told"), [("2.9.10", 2), ("2.10.26", 2), ("2.11.11", 1), ("2.15.1", 1)]
)
def test_a_message_that_a_replay_holds_back_is_not_settled_though_an_old_server_counts_it(
    make, version, told
):
    client = make(version=version)
    for moment in (0.0, 50.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 60.0
    config = {"durable_name": "C", "ack_policy": "explicit", "replay_policy": "original"}
    client.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, client.now
    )
    consumer = client.server.jetstream.consumers["S"]["C"]
    [first] = acks(take(client, 2))
    assert consumer.settled_to == 0
    client.pub(first, "+ACK")

    assert info(client)["ack_floor"]["stream_seq"] == told
    assert consumer.settled_to == 1
    [second] = acks(client.wait(51.0).hear())
    assert info(client)["ack_floor"]["stream_seq"] == told
    assert consumer.settled_to == 1  # it is out, and waits for its acknowledgement
    client.pub(second, "+ACK")
    assert consumer.settled_to == 2


@pytest.mark.parametrize("word", ['-NAK {"delay":9000000000}', "+WPI"])
def test_what_went_out_before_a_moment_is_not_kept_since_then_whatever_was_said_of_it(make, word):
    client = make(consumer={"ack_wait": 2 * 10**9}, publish=1)
    [reply] = acks(take(client))
    client.wait(1.0).pub(reply, word)
    consumer = client.server.jetstream.consumers["S"]["C"]

    assert consumer.kept_since(0.0) == [1]
    assert consumer.kept_since(0.5) == []
    assert numbers(client.wait(9.5).hear()) == []
    assert numbers(take(client)) == [(2, 1, 2, 0)]
    assert consumer.kept_since(10.0) == [1]
