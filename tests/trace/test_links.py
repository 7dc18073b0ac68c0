"""What a link of a trace knows of its subscriptions."""

from __future__ import annotations

from jsproto.trace.observe.ledger import SeenLink, SeenSubscription


def interest(subject: str, line: int) -> SeenSubscription:
    return SeenSubscription(sid="1", subject=subject, queue="", line=line)


def test_a_subscription_that_was_replaced_ends_without_the_one_that_took_its_number():
    link = SeenLink(conn="a", at=0, number=1)
    first, second = interest("a.b", 1), interest("a.c", 2)
    link.add(first)
    link.drop(first)
    link.add(second)
    link.drop(first)

    assert link.interests == {"1": second}
    assert (first.active, second.active) == (False, True)
