"""Messages in the user's hands, on real servers: kept in progress, acked for all before, one at a
time, and with few rights.
"""

from __future__ import annotations

from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import NoticeKind
from jsproto.errors import PermissionViolation, RequestTimeout
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.errors import AlreadySettled, BadRequestStatus
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

SOON = timedelta(seconds=0.9)
LONG = timedelta(seconds=30)
KEEP = AckOptions(in_progress=True)


def sequences(messages):
    return [each.metadata.stream_sequence for each in messages]


def deliveries(orders):
    return orders.consumer.info().delivered.consumer_seq


# ------------------------------------------------------------------ in progress


def test_what_is_held_and_what_waits_is_kept_here_until_it_is_acknowledged(work, books, nc, until):
    orders = work(ack_wait=SOON)
    orders.publish(4)
    kept = books(orders)
    with orders.consumer.consume(acking=KEEP) as messages:
        held = kept.take(messages, 2, ack=False)
        begun = monotonic()
        until(lambda: monotonic() - begun > 3 * SOON.total_seconds(), nc)

        assert deliveries(orders) == 4
        assert messages.feed.prolonged >= 4 * 6
        for message in held:
            message.ack()
        kept.take(messages, 2)
        until(lambda: orders.left() == (0, 0), nc)
    assert deliveries(orders) == 4


def test_without_that_wish_it_comes_again(work, books, nc):
    orders = work(ack_wait=SOON)
    orders.publish(1)
    with orders.consumer.consume() as messages:
        first, again = books(orders).take(messages, 2, ack=False)

    assert (first.metadata.num_delivered, again.metadata.num_delivered) == (1, 2)


def test_a_message_outlives_its_fetch_and_even_its_next(work, nc, until):
    orders = work(ack_wait=SOON)
    orders.publish(2)
    one = orders.consumer.next(acking=KEEP)
    with orders.consumer.fetch(1, acking=KEEP) as messages:
        two = next(messages)
    begun = monotonic()
    until(lambda: monotonic() - begun > 2 * SOON.total_seconds(), nc)

    assert deliveries(orders) == 2
    assert nc._connection.conversations == 2
    assert (one.ack(), two.ack()) == (True, True)
    until(lambda: nc._connection.conversations == 0, nc)
    assert orders.left() == (0, 0)


def test_closing_can_give_back_what_is_held(work, books, nc, since):
    orders = work(ack_wait=LONG)
    orders.publish(2)
    with orders.consumer.consume(acking=AckOptions(in_progress=True, nak_held=True)) as messages:
        first, second = books(orders).take(messages, 2, ack=False)
        first.ack()

    assert not second.ack()
    again = orders.consumer.next().metadata
    assert again.stream_sequence == second.metadata.stream_sequence
    # 2.9.10 takes back a delivery to the pull that is gone, and with it the count of the one
    # before.
    assert again.num_delivered == 2 or not since(2, 10)


def test_what_waits_too_long_is_told_and_less_is_asked_for(work, books, nc):
    orders = work(ack_wait=SOON)
    orders.publish(8)
    kept = books(orders)
    with orders.consumer.consume(8) as messages:
        notice = kept.until(PullNotice.AGEING)

        assert 1 <= notice.detail <= 8
        assert messages.feed.engine.credit.messages.limit == 4


# ------------------------------------------------------------------ policies and strictness


def test_the_floor_here_is_the_floor_there(work, books, nc, until):
    orders = work(ack_policy="all", ack_wait=LONG)
    orders.publish(10)
    with orders.consumer.consume() as messages:
        taken = books(orders).take(messages, 10, ack=False)
        assert taken[0].state is AckState.CUMULATIVE
        assert taken[5].ack_confirmed()
        info = orders.consumer.info()
        floor = messages.feed.floor

        assert (info.ack_floor.stream_seq, info.num_ack_pending) == (6, 4)
        assert (floor.stream_sequence, floor.consumer_sequence) == (6, 6)
        assert sequences(floor.pending) == [7, 8, 9, 10]
        assert [each.ack() for each in taken[:6]] == [False] * 6
        assert taken[7].nak()
        assert next(messages).metadata.num_delivered == 2
        assert taken[9].ack()
        until(lambda: orders.left() == (0, 0), nc)


def test_nothing_is_said_to_a_consumer_that_wants_no_acks(work, nc):
    orders = work(ack_policy="none")
    orders.publish(2)
    message = orders.consumer.next()

    assert message.state is AckState.MUTE
    assert (message.ack(), message.nak(), message.ack_confirmed()) == (False, False, False)


def test_a_second_settlement_is_told_or_raised(work, books, nc):
    orders = work(ack_wait=LONG)
    orders.publish(2)
    kept = books(orders)
    message = orders.consumer.next()

    assert (message.ack(), message.ack()) == (True, False)
    assert kept.until(NoticeKind.REPEATED).detail is message

    message = orders.consumer.next(acking=AckOptions(strict=True))
    message.ack()
    with pytest.raises(AlreadySettled):
        message.nak()


# ------------------------------------------------------------------ so many, and one at a time


def test_after_so_many_the_rest_is_left_for_others(work, books, nc):
    orders = work(ack_wait=LONG)
    orders.publish(10)
    with orders.consumer.consume(4, stop_after=6) as messages:
        assert sequences(message for message in messages if message.ack()) == [1, 2, 3, 4, 5, 6]

    assert messages.feed.reason is EndReason.FILLED
    assert deliveries(orders) == 6
    assert orders.consumer.next().metadata.stream_sequence == 7


def test_the_open_requests_can_be_looked_at(work, nc, until):
    orders = work(ack_wait=LONG)
    orders.publish(3)
    with orders.consumer.consume(10, expires=5.0) as messages:
        until(lambda: messages.feed.readable == 3, nc)
        (pull,) = messages.pulls()

        assert (pull.asked, pull.got, pull.owed, pull.max_bytes) == (10, 3, 7, 0)
        assert 0.0 < pull.age < 5.0 < pull.age + pull.left
        assert pull.token.startswith("_INBOX.")
    assert messages.pulls() == ()
    with nc.subscribe("nothing") as others:
        assert others.pulls() == ()


def test_a_handle_that_was_bound_by_name_can_learn_the_limits(work, books, nc):
    orders = work(max_batch=5)
    orders.publish(12)
    kept = books(orders)
    handle = orders.stream.consumer("C")
    assert handle.cached is None
    with handle.refresh().consume(20, stop_after=12) as messages:
        kept.take(messages, 12)

    assert kept.notices == []


def test_each_ack_asks_for_the_next(work, books, nc, within, until):
    orders = work(ack_wait=LONG)
    orders.publish(5)
    seen = []
    with within(10.0), orders.consumer.ack_next(stop_after=5, expires=5.0) as messages:
        for message in messages:
            seen.append(message.metadata.stream_sequence)
            assert orders.consumer.info().num_waiting == 0  # nobody asks while it is worked on
            if len(seen) == 5:
                message.ack()
            else:
                messages.put(message)

    assert seen == [1, 2, 3, 4, 5]
    assert messages.feed.ledger.counts == {EndReason.FILLED: 5}
    until(lambda: orders.left() == (0, 0), nc)
    assert deliveries(orders) == 5


def test_a_pull_by_ack_waits_is_told_of_heartbeats_and_is_asked_for_again(
    work, nc, within, until, tap
):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    with within(15.0), orders.consumer.ack_next(expires=1.0, idle_heartbeat=0.5) as messages:
        messages.put(next(messages))
        until(lambda: messages.feed.ledger.counts.get(EndReason.EXPIRED, 0) >= 1, nc)
        assert not messages.feed.liveness.silent
        orders.publish(1)
        messages.put(next(messages))
        tap.cut()
        orders.publish(1)

        assert next(messages).metadata.stream_sequence == 3


def test_a_pull_by_ack_that_can_not_be_read_is_refused_like_any_other(work, nc, within):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    with within(10.0), orders.consumer.ack_next() as messages:
        message = next(messages)
        messages.feed.engine._template = type(
            "Broken", (), {"body": lambda *_: b'{"batch":', "idle_heartbeat": 0.0}
        )()
        messages.put(message)

        with pytest.raises(BadRequestStatus):
            next(messages)


# ------------------------------------------------------------------ few rights

RIGHTS = """
authorization {
  users = [
    { user: boss, password: b }
    { user: worker, password: w, permissions: {
        publish: ["$JS.API.CONSUMER.MSG.NEXT.S.C", "$JS.ACK.S.C.>"], subscribe: ["_INBOX.>"] } }
  ]
}
"""


@pytest.mark.parametrize("version", ["2.9.10", "2.15.1"])
def test_pulling_and_acking_needs_no_other_right(start_server, version, within, eventually):
    server = start_server(version, config=RIGHTS)
    place = server.url.removeprefix("nats://")
    with (
        within(20.0),
        connect(f"nats://boss:b@{place}") as boss,
        connect(f"nats://worker:w@{place}") as worker,
    ):
        js = boss.jetstream()
        js.create_stream(name="S", subjects=["s.*"], storage="memory")
        js.stream("S").create_consumer(durable_name="C")
        for number in range(10):
            js.publish("s.a", str(number).encode())
        consumer = worker.jetstream().stream("S").consumer("C")
        got = [consumer.next(timeout=2.0)]
        with consumer.fetch(2) as messages:
            got += messages
        with consumer.consume(2, stop_after=4) as messages:
            got += messages
        with consumer.ack_next(stop_after=3) as messages:
            for message in messages:
                got.append(message)
                if len(got) < 10:
                    messages.put(message)

        assert [message.payload for message in got] == [b"%d" % number for number in range(10)]
        assert sum(message.ack() for message in got) == 8
        assert got[0].ack() is False
        assert (
            worker.flush() > 0
        )  # the server has read the acks, and works them off when it comes to it
        assert eventually(lambda: js.stream("S").consumer("C").info().ack_floor.stream_seq == 10)
        assert js.stream("S").consumer("C").info().num_ack_pending == 0
        with pytest.raises((PermissionViolation, RequestTimeout)):
            consumer.info(timeout=1.0)
