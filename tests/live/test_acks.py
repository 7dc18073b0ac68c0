"""Every verb of an acknowledgement, on real servers: what the consumer makes of it."""

from __future__ import annotations

import json
from datetime import timedelta
from time import monotonic

import pytest

from jsproto.core.connection.events import Connected
from jsproto.errors import LocalProtocolError, NoResponders, RequestTimeout
from jsproto.jetstream.delivery.ack import ACK, IN_PROGRESS, NAK, TERM, AckState, Nak, Next, Term
from jsproto.jetstream.delivery.ack_options import AckOptions

pytestmark = pytest.mark.live

SOON = timedelta(seconds=0.6)
LONG = timedelta(seconds=30)


def nothing_comes(consumer, seconds):
    with pytest.raises(RequestTimeout):
        consumer.next(timeout=seconds)
    return True


def settled(orders, eventually):
    """Acks are worked off behind the scenes: wait until all are."""
    return eventually(lambda: orders.left() == (0, 0))


def test_ack_is_said_once(work, nc, eventually):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    message = orders.consumer.next()

    assert (message.ack(), message.ack(), message.nak(), message.term()) == (
        True,
        False,
        False,
        False,
    )
    assert settled(orders, eventually)


def test_nak_brings_it_back_at_once(work, nc):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    orders.consumer.next().nak()

    assert orders.consumer.next(timeout=2.0).metadata.num_delivered == 2


@pytest.mark.parametrize("delay", [0.3, timedelta(seconds=0.3)])
def test_nak_with_a_delay_brings_it_back_behind_the_delay(work, nc, delay):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    message = orders.consumer.next()
    said = monotonic()
    message.nak(delay)
    again = orders.consumer.next(timeout=3.0)

    assert monotonic() - said >= 0.29
    assert again.metadata.num_delivered == 2


def test_in_progress_keeps_it_here(work, nc, eventually):
    orders = work(ack_wait=timedelta(seconds=1))
    orders.publish(1)
    message = orders.consumer.next()
    until = monotonic() + 1.5
    while monotonic() < until:
        assert message.in_progress()
        nothing_comes(orders.consumer, 0.2)
    message.ack()

    assert settled(orders, eventually)
    assert orders.consumer.info().delivered.consumer_seq == 1


def test_without_an_ack_it_comes_again(work, nc):
    orders = work(ack_wait=SOON)
    orders.publish(1)
    first = orders.consumer.next()
    again = orders.consumer.next(timeout=3.0)

    assert (again.metadata.stream_sequence, again.metadata.num_delivered) == (1, 2)
    assert first.ack_confirmed()  # the subject of the older delivery is as good
    assert orders.left() == (0, 0)


def test_term_ends_it(work, nc, eventually):
    orders = work(ack_wait=SOON)
    orders.publish(1)
    orders.consumer.next().term()

    assert settled(orders, eventually)
    assert nothing_comes(orders.consumer, 1.0)


def test_term_with_a_reason_ends_it_and_the_reason_is_told_from_2_10_on(
    work, nc, since, within, eventually
):
    orders = work(ack_wait=SOON)
    orders.publish(1)
    subject = f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{orders.name}.C"
    with nc.subscribe(subject) as advisories:
        orders.consumer.next().term("cannot be read")
        with within(3.0):
            told = json.loads(next(advisories).payload)
    # 2.9 would not understand a term with a reason, so it is left out there.
    assert (told.get("reason", ""), told["stream_seq"]) == (
        "cannot be read" if since(2, 10) else "",
        1,
    )
    assert settled(orders, eventually)
    assert nothing_comes(orders.consumer, 1.0)


@pytest.mark.parametrize("verb", [ACK, NAK, Nak(20.0), TERM, Term("why")], ids=repr)
def test_every_verb_that_settles_can_be_confirmed(work, verb):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    message = orders.consumer.next()

    assert message.ack_confirmed(verb) is True
    assert message.ack() is False
    # 2.9 would ignore a term with a reason, so it is left out there.
    assert orders.consumer.info().num_ack_pending == (1 if isinstance(verb, Nak) else 0)


def test_in_progress_can_be_confirmed_and_settles_nothing(work, nc):
    orders = work(ack_wait=timedelta(seconds=1))
    orders.publish(1)
    message = orders.consumer.next()
    until = monotonic() + 1.5
    while monotonic() < until:
        assert message.ack_confirmed(IN_PROGRESS) is True
        nothing_comes(orders.consumer, 0.2)

    assert orders.left() == (0, 1)
    assert message.ack_confirmed() is True
    assert message.ack_confirmed(IN_PROGRESS) is False
    assert orders.left() == (0, 0)


def test_an_ack_that_is_a_pull_has_no_empty_answer(work, nc):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    message = orders.consumer.next()
    with pytest.raises(LocalProtocolError):
        message.ack_confirmed(Next())

    assert message.ack_confirmed() is True


def test_a_confirmed_ack_has_been_seen_when_it_returns(work, nc):
    orders = work(ack_wait=LONG)
    orders.publish(20)
    for number in range(20):
        assert orders.consumer.next().ack_confirmed()
        assert orders.left() == (19 - number, 0)


def test_a_confirmation_that_nobody_gives(work, nc):
    orders = work(ack_wait=LONG)
    orders.publish(1)
    message = orders.consumer.next()
    orders.consumer.delete()

    with pytest.raises(NoResponders):
        message.ack_confirmed(timeout=2.0)
    with pytest.raises(NoResponders):  # it is open again, and asking again is allowed
        message.ack_confirmed(timeout=2.0)


def test_a_consumer_that_wants_no_acks_answers_none_from_2_10_on(work, nc, since):
    orders = work(ack_policy="none")
    orders.publish(1)
    message = orders.stream.consumer("C").next()  # bound by name: nothing is known of its acks

    if since(2, 10):
        with pytest.raises(NoResponders):
            message.ack_confirmed(timeout=2.0)
    else:
        assert message.ack_confirmed(timeout=2.0) is True


def test_a_consumer_bound_by_name_is_taken_for_one_that_wants_acks(work, nc):
    """Nothing on the wire tells it from one that does; only its configuration, or the answer to a
    confirmed ack.
    """
    orders = work(ack_policy="none")
    orders.publish(3)
    by_name = orders.stream.consumer("C").next()
    told = orders.stream.consumer("C").next(acking=AckOptions(policy="none"))
    refreshed = orders.stream.consumer("C").refresh().next()

    assert (by_name.ack(), told.ack(), refreshed.ack()) == (True, False, False)
    assert [each.state for each in (by_name, told, refreshed)] == [
        AckState.SETTLED,
        AckState.MUTE,
        AckState.MUTE,
    ]


def test_with_ack_policy_all_one_ack_is_enough(work, nc):
    orders = work(ack_policy="all", ack_wait=LONG)
    orders.publish(10)
    messages = [orders.consumer.next() for _ in range(10)]
    messages[6].ack_confirmed()

    assert orders.consumer.info().num_ack_pending == 3
    assert orders.consumer.info().ack_floor.stream_seq == 7


@pytest.mark.parametrize(
    "verb", [Next(), Next(batch=2), Next(batch=2, expires=5)], ids=["one", "number", "json"]
)
def test_next_is_an_ack_and_a_pull(work, nc, within, verb, eventually):
    orders = work(ack_wait=LONG)
    orders.publish(3)
    with nc.subscribe(f"in.{orders.name}") as inbox:
        first = orders.consumer.next()
        nc.publish(first.reply, verb.payload(), reply=f"in.{orders.name}")
        with within(3.0):
            came = [next(inbox) for _ in range(verb.batch)]

    assert [message.subject for message in came] == [orders.subject] * verb.batch
    assert eventually(lambda: orders.consumer.info().ack_floor.stream_seq == 1)


def test_what_came_over_a_lost_link_can_be_acknowledged_over_the_next(
    work, books, nc, tap, eventually
):
    orders = work(ack_wait=LONG)
    orders.publish(2)
    kept = books(orders)
    early, late = orders.consumer.next(), orders.consumer.next()
    tap.cut()
    early.ack()  # said while nobody listens, or while nobody knows yet that nobody does
    kept.until(Connected)
    late.ack_confirmed()

    assert orders.consumer.info().num_ack_pending in {0, 1}
    again = orders.consumer.info().num_ack_pending
    if again:  # a plain ack can be lost with its link; a confirmed one is known
        assert early.ack() is False


def test_an_ack_that_comes_late_settles_what_bears_its_sequence_by_then(work, nc, eventually):
    """A server looks the sequence up, and nothing else: a stream that is made anew numbers its
    messages as the old one did.
    """
    orders = work(ack_wait=LONG)
    orders.publish(2)
    old = [orders.consumer.next() for _ in range(2)]
    orders.js.delete_stream(orders.name)
    orders.js.create_stream(name=orders.name, subjects=[orders.subject], storage="memory")
    orders.stream.create_consumer(durable_name="C", ack_wait=LONG)
    orders.publish(2, b"new")
    new = [orders.consumer.next() for _ in range(2)]
    old[1].ack()

    assert [each.payload for each in new] == [b"new", b"new"]
    assert eventually(lambda: orders.left() == (0, 1))
