"""Every way to publish, on servers of every version: what is stored, what is refused with which
number, and what is not known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from jsproto import (
    ConnectionLost,
    InvalidConfig,
    JetStreamError,
    MessageNotFound,
    NoResponders,
    Outcome,
    PublishOptions,
    RequestTimeout,
    RetryPolicy,
    WrongLastSequence,
)
from jsproto.api import Counter, Schedule, check_level, check_publish, compose
from jsproto.errors import (
    BatchAbandoned,
    BatchUnsupported,
    ConversationClosed,
    ExpectationFailed,
    InvalidBatch,
    InvalidMessage,
    MessagesLost,
    StreamFull,
    WrongLastMessageId,
    WrongStream,
)
from jsproto.jetstream.api.validation.publish_rules import check_batching
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers
from jsproto_io.blocking import connect
from tests.live.conftest import QUICK, turn

pytestmark = pytest.mark.live

SOON = RetryPolicy(within=8.0, attempt=0.5, wait=0.1)


@pytest.fixture
def js(nc):
    return nc.jetstream(timeout=2.0)


@pytest.fixture
def make(js, request):
    """``make(setting=...)``: a stream on ``p.>`` that is gone with the test."""
    made = []

    def stream(**settings: object):
        made.append(
            js.create_stream(name="PUB", subjects=["p.>"], **{"storage": "memory", **settings})
        )
        return made[-1]

    yield stream
    for each in made:
        each.delete()


def stored(stream) -> list[tuple[str, bytes]]:
    with stream.read() as messages:
        return [(each.subject, each.payload) for each in messages]


# ------------------------------------------------------------------------------------------------ one message


def test_expectations_hold_or_are_typed_refusals(js, make, since):
    stream = make()
    assert (
        js.publish("p.a", b"1", msg_id="1", expected_stream="PUB", expected_last_sequence=0).seq
        == 1
    )
    assert js.publish("p.a", b"1", msg_id="1").duplicate
    assert js.publish("p.a", b"2", expected_last_msg_id="1", msg_id="2").seq == 2
    assert js.publish("p.b", b"3", expected_last_subject_sequence=0).seq == 3

    with pytest.raises(WrongLastSequence) as caught:
        js.publish("p.a", expected_last_sequence=1)
    assert caught.value.sequence == 3
    with pytest.raises(WrongLastSequence) as caught:
        js.publish("p.a", expected_last_subject_sequence=1)
    assert caught.value.sequence == 2
    with pytest.raises(WrongLastMessageId) as missed:
        js.publish("p.a", expected_last_msg_id="1")
    assert missed.value.message_id in {"", "2"}
    with pytest.raises(WrongStream):
        js.publish("p.a", expected_stream="OTHER")
    with pytest.raises(NoResponders):
        js.publish("q.a", retries=0)
    if since(2, 11):
        filtered = PublishOptions(
            expected_last_subject_sequence=3, expected_last_subject_sequence_subject="p.b"
        )
        assert js.publish("p.c", b"4", options=filtered).seq == 4
    assert [payload for _, payload in stored(stream)][:3] == [b"1", b"2", b"3"]


def test_a_stream_that_acknowledges_nothing_is_refused_by_its_handle_and_unknown_without(js, make):
    stream = make(no_ack=True)
    with pytest.raises(InvalidConfig, match="no_ack"):
        stream.publish("p.a", b"1")
    with pytest.raises(InvalidConfig, match="no_ack"):
        stream.publish_window()
    with pytest.raises(RequestTimeout, match="no_ack streams never answer"):
        js.publish("p.a", b"2", timeout=0.2)

    assert stored(stream) == [("p.a", b"2")]


def test_rollups_replace_what_is_older(js, make):
    stream = make(allow_rollup_hdrs=True)
    for number in range(4):
        js.publish(f"p.{number % 2}", b"%d" % number)
    js.publish("p.0", b"4", rollup="sub")
    assert stored(stream) == [("p.1", b"1"), ("p.1", b"3"), ("p.0", b"4")]
    js.publish("p.0", b"5", rollup="all")

    assert stored(stream) == [("p.0", b"5")]


#: What a stream that has switched nothing on says to a message, from which version on.
REFUSALS = [
    (PublishOptions(rollup="sub"), (2, 9), 10111),
    (PublishOptions(ttl="never"), (2, 11), 10166),
    (PublishOptions(incr=1), (2, 12), 10168),
    (
        PublishOptions(schedule=Schedule.at(datetime(2040, 1, 1, tzinfo=UTC), "p.out")),
        (2, 12),
        10188,
    ),
    (PublishOptions(cancel_schedule="p.x"), (2, 12), 10188),
]


@pytest.mark.parametrize("row", REFUSALS, ids=[str(row[2]) for row in REFUSALS])
def test_what_is_not_switched_on_is_refused_offline_and_by_the_server_with_the_same_number(
    js, make, since, row
):
    options, version, number = row
    stream = make()
    found = check_publish(stream.cached.config, "p.a", b"", options)
    assert [each.err_code for each in found] == [number]
    with pytest.raises(InvalidConfig, match=str(number)):
        stream.publish("p.a", options=options)
    if since(*version):
        with pytest.raises(JetStreamError) as caught:
            js.publish("p.a", options=options)
        assert caught.value.err_code == number
    else:  # stored as if nothing had been asked: the level tells
        with pytest.raises(InvalidConfig, match="API level"):
            check_level(options, js.account_info().api.level or 0)


def test_a_message_with_a_time_to_live_goes(js, make, since, until, nc):
    if not since(2, 11):
        pytest.skip("2.11")
    stream = make(allow_msg_ttl=True)
    js.publish("p.a", b"short", ttl=timedelta(seconds=1))
    js.publish("p.a", b"long", ttl="never")

    until(lambda: stored(stream) == [("p.a", b"long")], nc)


@pytest.mark.parametrize("way", ["single", "batch"])
def test_a_time_to_live_below_that_of_the_markers_is_refused_where_the_server_would_make_it_longer(
    js, make, since, way
):
    if not since(2, 11) or (way == "batch" and not since(2, 12)):
        pytest.skip("2.11")
    markers = {"subject_delete_marker_ttl": timedelta(seconds=30), "allow_rollup_hdrs": True}
    stream = make(
        allow_msg_ttl=True, **markers, **({"allow_atomic": True} if way == "batch" else {})
    )
    with pytest.raises(InvalidConfig, match="subject_delete_marker_ttl"):
        stream.publish("p.a", ttl=timedelta(seconds=29))
    stream.publish("p.a", ttl=timedelta(seconds=30))
    given = [("A", "1"), ("Nats-TTL", "1"), ("B", "2")]
    if way == "single":
        js.publish("p.b", headers=given)
    else:
        stream.publish_batch([Publish("p.b", b"", "", Headers(given))])

    assert stream.messages.last("p.a").headers["Nats-TTL"] == "30"
    kept = [pair for pair in stream.messages.last("p.b").headers.items() if "Batch" not in pair[0]]
    assert kept == [("A", "1"), ("B", "2"), ("Nats-TTL", "30")]


def test_a_stream_with_one_message_for_each_subject_takes_any_time_to_live(js, make, since):
    """Servers lengthen no time to live there, so nothing is refused either."""
    if not since(2, 11):
        pytest.skip("2.11")
    markers = {"subject_delete_marker_ttl": timedelta(seconds=30), "allow_rollup_hdrs": True}
    stream = make(allow_msg_ttl=True, max_msgs_per_subject=1, **markers)
    stream.publish("p.a", ttl=timedelta(seconds=20))

    assert stream.messages.last("p.a").headers["Nats-TTL"] == "20"


def test_counters_count_exactly(js, make, since):
    if not since(2, 12):
        pytest.skip("2.12")
    stream = make(allow_msg_counter=True, allow_direct=True)
    assert [js.publish("p.hits", incr=step).val for step in (1, 41, -2, 0)] == [1, 42, 40, 40]
    assert stream.publish("p.hits", incr=10**30).val == 10**30 + 40
    with pytest.raises(InvalidMessage) as caught:
        js.publish("p.hits", b"")
    assert caught.value.err_code == 10169
    last = stream.messages.last("p.hits")

    assert Counter.read(last.payload, last.headers) == Counter(value=10**30 + 40, incr=10**30)


# ------------------------------------------------------------------------------------------------ schedules


def test_a_schedule_fires_when_its_preview_says(js, make, since, until, nc):
    if not since(2, 14):
        pytest.skip("2.14")
    stream = make(allow_msg_schedules=True, allow_msg_ttl=True, allow_rollup_hdrs=True)
    schedules = {
        "p.every": Schedule.every(timedelta(seconds=1), "p.out.every"),
        "p.cron": Schedule.cron("* * * * * *", "p.out.cron"),
    }
    for subject, schedule in schedules.items():
        js.publish(subject, b"tick", schedule=schedule)
    times = {each.subject: each.time.datetime for each in map(stream.messages.last, schedules)}

    def fired(subject):
        with stream.read(filter_subject=f"p.out.{subject.removeprefix('p.')}") as messages:
            return [each.headers["Nats-Schedule-Next"] for each in messages]

    until(lambda: all(len(fired(subject)) >= 2 for subject in schedules), nc)
    for subject, schedule in schedules.items():
        said = [datetime.fromisoformat(each) for each in fired(subject)[:2]]
        # The server says on each message when the next is due; the first of them is the second run.
        assert said == list(islice(schedule.runs(times[subject]), 3))[1:]
        assert all(later - sooner == timedelta(seconds=1) for sooner, later in pairwise(said))
    kept = stream.messages.last("p.every")
    assert Schedule.read(kept.headers) == schedules["p.every"]


def test_a_schedule_for_a_moment_fires_once_with_what_was_asked_for(js, make, since, until, nc):
    if not since(2, 14):
        pytest.skip("2.14")
    stream = make(allow_msg_schedules=True, allow_msg_ttl=True, allow_rollup_hdrs=True)
    js.publish("p.src", b"newest")
    soon = Schedule.at(
        datetime.now(UTC) + timedelta(seconds=0.5),
        "p.out",
        source="p.src",
        ttl=timedelta(minutes=1),
        rollup=True,
    )
    js.publish("p.at", b"own", schedule=soon)
    until(lambda: ("p.out", b"newest") in stored(stream), nc)

    out = stream.messages.last("p.out")
    assert (out.headers["Nats-Scheduler"], out.headers["Nats-TTL"], out.headers["Nats-Rollup"]) == (
        "p.at",
        "60",
        "sub",
    )
    with pytest.raises(MessageNotFound):
        stream.messages.last("p.at")


def test_a_schedule_is_cancelled_by_the_message_that_says_so(js, make, since):
    if not since(2, 12):
        pytest.skip("2.12")
    stream = make(allow_msg_schedules=True, allow_rollup_hdrs=True)
    js.publish("p.at", schedule=Schedule.at(datetime(2040, 1, 1, tzinfo=UTC), "p.out"))
    js.publish("p.note", b"over", cancel_schedule="p.at")

    assert stored(stream) == [("p.note", b"over")]


# ------------------------------------------------------------------------------------------------ once


def test_published_once_over_a_server_that_is_restarted(js, make, server, nc):
    stream = make(storage="file")
    server.kill()
    server.start()

    ack = js.publish_once("p.a", b"x", patience=SOON)
    assert js.publish_once("p.a", b"y", msg_id="7", patience=SOON).seq == ack.seq + 1
    assert js.publish_once("p.a", b"y", msg_id="7", patience=SOON).duplicate
    assert stored(stream) == [("p.a", b"x"), ("p.a", b"y")]


def test_an_id_does_not_save_an_expectation_on_newer_servers(js, make, since):
    make()
    js.publish("p.a", msg_id="1", expected_last_sequence=0)

    # The second attempt of the same: a duplicate to whoever looks at ids first.
    if since(2, 14):
        with pytest.raises(ExpectationFailed):
            js.publish("p.a", msg_id="1", expected_last_sequence=0)
    else:
        assert js.publish("p.a", msg_id="1", expected_last_sequence=0).duplicate


def test_the_server_reads_the_id_letter_by_letter_and_takes_the_first(js, make):
    make()
    ids = (
        {"nats-msg-id": "1"},
        {"nats-msg-id": "1"},
        [("Nats-Msg-Id", "2"), ("Nats-Msg-Id", "3")],
        {"Nats-Msg-Id": "3"},
        {"Nats-Msg-Id": "2"},
        [("Nats-Msg-Id", ""), ("Nats-Msg-Id", "4")],
        {"Nats-Msg-Id": "4"},
    )
    duplicates = [js.publish("p.a", headers=each).duplicate for each in ids]

    assert duplicates == [False, False, False, False, True, False, False]


def test_relayed_twice_is_stored_once_and_settled(js, make):
    stream = make()
    consumer = stream.create_consumer(
        durable_name="C", filter_subject="p.in", ack_wait=timedelta(seconds=1)
    )
    js.publish("p.in", b"order")
    first = consumer.next(timeout=2.0)
    again = consumer.next(timeout=5.0)
    assert (first.metadata.stream_sequence, again.metadata.num_delivered) == (1, 2)

    one = js.relay(first, "p.out", patience=SOON)
    other = js.relay(again, "p.out", patience=SOON)
    assert (one.seq, one.duplicate, other.seq, other.duplicate) == (2, False, 2, True)
    assert stored(stream) == [("p.in", b"order"), ("p.out", b"order")]
    assert consumer.info().num_ack_pending == 0


@pytest.mark.parametrize("version", ["2.11.11", "2.15.1"])
def test_a_window_over_servers_that_are_killed_stores_each_id_once(start_server, within, version):
    server = start_server(version, config="jetstream { sync_interval: always }")
    amount, kills = 2_000, {400, 900, 1_500}
    with within(60.0), connect(server.url, **QUICK) as nc:
        js = nc.jetstream()
        stream = js.create_stream(name="PUB", subjects=["p.>"])
        with js.publish_window(resend=True, ack_timeout=30.0, retries=100) as window:
            for number in range(amount):
                if number in kills:
                    server.kill()
                    server.start()
                window.put(compose("p.a", b"x", msg_id=str(number)))
            window.drain()
            results = list(window.results())
        with stream.read() as messages:
            ids = [each.headers["Nats-Msg-Id"] for each in messages]

    assert {each.outcome for each in results} == {Outcome.ACKED}
    assert len(results) == amount
    assert sorted(map(int, ids)) == list(range(amount))


# ------------------------------------------------------------------------------------------------ atomic batches


def gather(sink, amount: int, then: Callable[[], object] = lambda: None) -> None:
    """Put so many messages into a sink, do something, and leave it."""
    with sink as opened:
        for number in range(amount):
            opened.put(("p.a", b"%d" % number))
        then()


@pytest.fixture
def batches(make, since):
    if not since(2, 12):
        pytest.skip("2.12")
    return make(allow_atomic=True)


@pytest.mark.parametrize("amount", [1, 2, 250, 1000])
def test_a_batch_is_stored_as_a_whole(js, batches, amount):
    ack = js.publish_batch([("p.a", b"%d" % number) for number in range(amount)])

    assert (ack.seq, ack.count) == (amount, amount)
    assert [payload for _, payload in stored(batches)] == [
        b"%d" % number for number in range(amount)
    ]


@pytest.mark.parametrize("eob", [False, True])
def test_a_sink_commits_when_it_is_left_well_and_drops_what_is_left_by_an_error(
    batches, since, eob
):
    if eob and not since(2, 14):
        pytest.skip("2.14")
    with batches.batch(eob=eob) as batch:
        for number in range(5):
            batch.put(("p.a", b"%d" % number))
        assert batches.info().state.messages == 0
        batch.drain()
        (ack,) = batch.results()
    with pytest.raises(ZeroDivisionError):
        gather(batches.batch(eob=eob), 5, lambda: 1 // 0)

    assert ack.count == 5
    assert len(stored(batches)) == 5


#: Batches that the server refuses as a whole; those marked are refused here, so they are sent
#: without our rules.
SUNK = [
    ([compose("p.a", expected_last_sequence=7), compose("p.a")], 10071),
    ([compose("p.a"), compose("p.b", expected_last_subject_sequence=7)], 10071),
    ([compose("p.a"), compose("p.a", ttl="never")], 10166),
    ([compose("p.a"), compose("p.a", incr=1)], 10168),
]


@pytest.mark.parametrize(
    ("messages", "number"), SUNK, ids=[str(row[1]) + row[0][1].subject for row in SUNK]
)
def test_one_mistake_sinks_the_whole(js, batches, messages, number):
    with pytest.raises(JetStreamError) as caught:
        js.publish_batch(messages)

    assert caught.value.err_code == number
    assert stored(batches) == []


RULES = [
    ([{}, {"expected_last_sequence": 0}], {10071, 10164}),
    ([{}, {"expected_last_subject_sequence": 0}], {10164}),
    ([{"msg_id": "1"}, {"msg_id": "1"}], {10201}),
    ([{}, {"expected_last_msg_id": "1"}], {10177}),
    ([{}, {"rollup": "sub"}], {10111}),
    ([{}, {"rollup": "all"}], {10111}),
]


@pytest.mark.parametrize("row", RULES, ids=[str(row[0][1]) for row in RULES])
def test_the_rules_of_batches_are_the_servers(js, make, since, monkeypatch, row):
    asked, numbers = row
    if not since(2, 12):
        pytest.skip("2.12")
    stream = make(allow_atomic=True, allow_rollup_hdrs=True)
    messages = [compose("p.a", **each) for each in asked]
    with pytest.raises(InvalidConfig) as here:
        js.publish_batch(messages)
    monkeypatch.setattr(
        "jsproto.jetstream.publish.batch_rules.BatchRules.take", lambda self, *_: _count(self)
    )
    with pytest.raises(JetStreamError) as there:
        js.publish_batch(messages)

    assert there.value.err_code in numbers
    assert any(str(number) in str(here.value) for number in numbers)
    assert stored(stream) == []


def _count(rules) -> None:
    rules.size += 1


def test_a_batch_of_the_largest_size_is_stored_unless_the_server_counts_its_end_too_n070(
    js, batches, since, server
):
    gather(js.batch(), 1000)
    if not since(2, 14):
        return
    if server.version == "2.14.0":
        with pytest.raises(
            InvalidBatch, match=r"of 1000 messages and an end marker, .* count as one more"
        ):
            gather(js.batch(eob=True), 1000)
        assert batches.info().state.messages == 1000
    else:
        gather(js.batch(eob=True), 1000)
        assert batches.info().state.messages == 2000


def test_one_id_that_is_stored_already_sinks_a_batch_and_tells_that_the_first_attempt_was_stored_n071(
    js, batches
):
    again = [compose("p.a", b"x", msg_id=name) for name in ("m4", "m5")]
    js.publish("p.a", msg_id="m2")
    with pytest.raises(InvalidBatch) as caught:
        js.publish_batch([compose("p.a", b"x", msg_id=name) for name in ("m1", "m2", "m3")])
    assert caught.value.err_code == 10201
    assert batches.info().state.messages == 1
    assert js.publish_batch(again).count == 2
    with pytest.raises(InvalidBatch) as caught:
        js.publish_batch(again)

    assert caught.value.err_code == 10201
    assert batches.info().state.messages == 3


def test_messages_of_one_id_are_stored_once_and_shown_as_duplicates_n082(js, make):
    make()
    acks = [js.publish("p.a", payload, msg_id="7") for payload in (b"1", b"2")]
    with js.publish_window() as window:
        window.put(compose("p.a", b"3", msg_id="7"))
        window.drain()
        [result] = window.results()

    assert [(each.seq, each.duplicate) for each in [*acks, result.ack]] == [
        (1, False),
        (1, True),
        (1, True),
    ]
    assert window.window.duplicates == 1


def test_a_batch_that_the_server_has_let_go_of_is_told(js, batches, nc):
    with pytest.raises(BatchAbandoned, match="nothing of it is stored"):
        gather(js.batch(idle=0.3), 3, lambda: turn(nc, 0.5))

    assert stored(batches) == []


def test_a_lost_link_in_the_middle_stores_nothing(js, batches, tap, nc):
    def cut() -> None:
        tap.cut()
        turn(nc, 0.3)

    with pytest.raises(ConnectionLost, match="nothing of it is stored"):
        gather(js.batch(), 3, cut)

    assert stored(batches) == []


def test_a_stream_without_batches_refuses_them_here_and_there(js, make, since):
    stream = make()
    for fast in (False, True):
        (finding,) = check_batching(stream.cached.config, fast=fast)
        assert finding.err_code == (10205 if fast else 10174)
    with pytest.raises(InvalidConfig, match="10174"):
        stream.publish_batch([("p.a", b"")])
    unknown = js.stream("PUB")
    expected = InvalidBatch if since(2, 12) else BatchUnsupported
    with pytest.raises(expected):
        unknown.publish_batch([("p.a", b"1"), ("p.a", b"2")])

    assert stored(stream) == ([] if since(2, 12) else [("p.a", b"1")])


# ------------------------------------------------------------------------------------------------ fast ingest


@pytest.fixture
def fast(make, since):
    if not since(2, 14):
        pytest.skip("2.14")
    return make(allow_batched=True)


@pytest.mark.parametrize("amount", [1, 2, 3000])
def test_an_ingest_stores_all_in_order(fast, amount):
    with fast.ingest(flow=100) as ingest:
        for number in range(amount):
            ingest.put(("p.a", b"%d" % number))
        ingest.drain()
        (ack,) = ingest.results()

    assert (ack.seq, ack.count) == (amount, amount)
    assert [payload for _, payload in stored(fast)] == [b"%d" % number for number in range(amount)]


@pytest.mark.parametrize(("gaps", "left"), [("ok", 9), ("fail", 5)])
def test_a_refused_message_is_told_and_the_mode_says_what_becomes_of_the_rest(fast, gaps, left):
    with fast.ingest(gaps=gaps) as ingest:
        for number in range(10):
            asked = {"expected_last_sequence": 77} if number == 5 else {}
            ingest.put(compose("p.a", b"%d" % number, **asked))
        ingest.drain()
        *faults, ack = ingest.results()

    assert isinstance(faults[0].error, WrongLastSequence)
    assert faults[0].numbers == range(6, 7)
    assert [each.numbers for each in faults[1:]] == ([] if gaps == "ok" else [range(7, 11)])
    assert all(isinstance(each.error, MessagesLost) for each in faults[1:])
    assert len(stored(fast)) == left
    assert ack.seq == left


def test_an_ingest_into_a_full_stream_goes_on_and_tells_each_refused_message(make, since, within):
    if not since(2, 14):
        pytest.skip("2.14")
    full = make(allow_batched=True, max_msgs=7, discard="new")
    with within(5.0), full.ingest(gaps="ok", flow=4) as ingest:
        for number in range(60):
            ingest.put(("p.a", b"%d" % number))
        ingest.drain()
        *faults, ack = ingest.results()

    assert [each.first for each in faults] == list(range(8, 61))
    assert all(isinstance(each.error, StreamFull) for each in faults)
    assert (ack.count, len(stored(full))) == (60, 7)


def test_an_ingest_that_the_stream_ends_says_why_to_whoever_puts_more(make, since, within):
    if not since(2, 14):
        pytest.skip("2.14")
    full = make(allow_batched=True, max_msgs=7, discard="new")
    messages = (("p.a", b"%d" % number) for number in range(60))
    with within(5.0), full.ingest(gaps="fail", flow=4) as ingest:
        with pytest.raises(ConversationClosed, match="maximum messages exceeded") as caught:
            any(map(ingest.put, messages))
        *faults, ack = ingest.results()

    assert isinstance(caught.value.__cause__, StreamFull)
    assert faults[0].first == 8
    assert (ack.count, len(stored(full))) == (7, 7)


def test_an_ingest_whose_expectations_all_fail_goes_on(fast, within):
    with within(5.0), fast.ingest(gaps="ok", flow=3) as ingest:
        for number in range(40):
            ingest.put(compose("p.a", b"%d" % number, expected_last_sequence=77))
        ingest.drain()
        *faults, ack = ingest.results()

    assert [each.first for each in faults] == list(range(1, 41))
    assert (ack.count, stored(fast)) == (40, [])


def test_a_gap_is_from_the_number_that_was_expected_to_the_one_before_what_came(fast, nc):
    """The fields are called ``last_seq`` and ``seq``: on the wire both are numbers of messages that
    the stream has not stored before.
    """
    told = []
    with nc.subscribe("gaps.b.>") as answers:
        for number, operation in ((1, 0), (2, 1), (5, 1)):
            nc.publish("p.a", b"%d" % number, reply=f"gaps.b.10.ok.{number}.{operation}.$FI")
        while not told:
            answer = answers.next(timeout=5.0)
            told += [answer.payload] if b"gap" in answer.payload else []

    assert json.loads(told[0]) == {"type": "gap", "last_seq": 3, "seq": 5}


def test_a_pause_is_bridged_by_pings(fast, nc):
    with fast.ingest(quiet=0.1) as ingest:
        ingest.put(("p.a", b"1"))
        turn(nc, 0.5)
        ingest.put(("p.a", b"2"))
        ingest.drain()
        (ack,) = ingest.results()

    assert ack.count == 2


@pytest.mark.parametrize("gaps", ["ok", "fail"])
def test_a_lost_link_is_bridged_and_every_message_is_stored_or_told(fast, tap, nc, until, gaps):
    with fast.ingest(gaps=gaps, flow=50) as ingest:
        for number in range(400):
            if number == 200:
                tap.cut()
            try:
                ingest.put(("p.a", b"%d" % number))
            except ConversationClosed:
                assert gaps == "fail"
                break
        ingest.drain()
        *faults, ack = ingest.results()
    lost = {number for each in faults for number in each.numbers}
    kept = [payload for _, payload in stored(fast)]

    assert kept == [
        b"%d" % (number - 1) for number in range(1, ingest.window.sent + 1) if number not in lost
    ]
    assert ack.seq == len(kept)


def test_a_server_without_fast_batches_stores_one_message_and_it_is_told(js, make, since):
    if since(2, 14):
        pytest.skip("knows them")
    stream = make()
    with pytest.raises(BatchUnsupported):
        gather(js.ingest(), 3)

    assert stored(stream) == [("p.a", b"0")]
