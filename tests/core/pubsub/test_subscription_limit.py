"""A server that takes no more subscriptions does not say which it refused; none may look alive in
silence.
"""

from __future__ import annotations

import pytest

from jsproto.core.pubsub.request import request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import SubscriptionLimit
from jsproto.jetstream.context import JetStream

FULL = b"-ERR 'maximum subscriptions exceeded'\r\n"


def confirmed(w):
    """All that was subscribed so far stands."""
    w.connection._exchange.ping()
    w.feed(b"PONG\r\n")
    return w


def test_what_was_confirmed_stays_and_the_newest_is_refused(wire):
    w = wire().up()
    old = w.open(Subscription("old"))
    confirmed(w)
    young, new = w.open(Subscription("young")), w.open(Subscription("new"))
    w.feed(FULL)

    assert (False, False, True) == (old.ended, young.ended, new.ended)
    with pytest.raises(SubscriptionLimit, match="maximum subscriptions exceeded") as caught:
        w.take(new)
    assert ("new", "subscription") == (caught.value.subject, caught.value.operation)

    w.feed(FULL)

    assert (False, True) == (old.ended, young.ended)
    assert not w.feed(FULL).connection.closed
    assert not old.ended


def test_a_refusal_and_the_pong_after_it_may_come_in_one_segment(wire):
    w = wire().up()
    old = w.open(Subscription("old"))
    confirmed(w)
    new = w.open(Subscription("new"))
    w.connection._exchange.ping()
    w.feed(FULL + b"PONG\r\n")

    assert isinstance(new.error, SubscriptionLimit)
    assert not old.ended


def test_what_has_heard_something_was_not_refused(wire):
    w = wire().up()
    first, second = w.open(Subscription("a")), w.open(Subscription("b"))
    w.feed(b"MSG b 3 0\r\n\r\n" + FULL)

    assert (True, False) == (first.ended, second.ended)


def test_behind_an_unsubscribe_all_that_is_unproven_counts_as_refused(wire):
    w = wire().up()
    gone, first, second = (w.open(Subscription(subject)) for subject in "abc")
    w.close(gone)
    w.feed(FULL)

    assert first.ended
    assert second.ended


def test_a_pong_proves_only_what_went_before_its_ping(wire):
    w = wire().up()
    w.connection._exchange.ping()
    late = w.open(Subscription("a"))
    w.feed(b"PONG\r\n" + FULL)

    assert late.ended


def test_a_request_fails_at_once_and_the_next_one_subscribes_again(wire):
    w = wire().up()
    asked = w.open(request("q", b"", timeout=60.0))
    assert [line for line in w.lines() if line.startswith("SUB")]
    w.feed(FULL)
    with pytest.raises(SubscriptionLimit):
        w.take(asked)

    again = w.open(request("q", b"", timeout=60.0))
    sub, pub = w.lines()[:2]
    reply = pub.split()[2]

    assert "SUB" == sub.split()[0]
    w.feed(f"MSG {reply} 1 2\r\nok\r\n".encode())
    assert b"ok" == w.take(again).payload


def test_the_subscription_of_requests_is_proven_by_an_answer(wire):
    w = wire().up()
    plain = w.open(Subscription("a"))
    asked = w.open(request("q", b"", timeout=60.0))
    reply = w.lines()[-1].split()[2]
    w.feed(f"MSG {reply} 1 2\r\nok\r\n".encode() + FULL)

    assert b"ok" == w.take(asked).payload
    assert plain.ended


def test_a_consume_ends_and_says_why(wire):
    w = wire().up()
    feed = w.open(JetStream().stream("S").consumer("C").consume())
    w.feed(FULL)

    assert feed.ended
    assert isinstance(feed.error, SubscriptionLimit)


def test_on_a_new_link_everything_is_unproven_again(wire):
    w = wire().up()
    first, second = w.open(Subscription("a")), w.open(Subscription("b"))
    confirmed(w).down()
    w.redial().up()
    w.feed(FULL)

    assert (False, True) == (first.ended, second.ended)
