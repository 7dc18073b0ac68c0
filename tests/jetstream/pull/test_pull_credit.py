from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.credit import Credit
from jsproto.jetstream.pull.pull_credit import PullCredit


def test_by_messages_the_bytes_are_not_bounded():
    budget = PullCredit(Credit(10), None)

    assert budget.request() == (10, 0)
    budget.ask(10, 0)
    assert budget.request() is None


def test_by_bytes_the_batch_is_as_large_as_can_be():
    budget = PullCredit(None, Credit(100))

    assert budget.request() == (1_000_000, 100)


def test_where_both_are_bounded_the_bytes_lead_and_the_messages_cap():
    budget = PullCredit(Credit(4), Credit(100))
    budget.ask(4, 100)
    budget.received(1, 60)
    budget.taken(1, 60)

    assert budget.request() == (1, 60)
    budget.ask(1, 60)
    budget.settled(0, 100)
    assert budget.lead.wanting
    assert budget.request() is None, "all four messages are asked for"


def test_after_a_part_was_too_small_only_the_whole_is_asked_for():
    budget = PullCredit(None, Credit(100))
    budget.ask(1, 100)
    budget.received(1, 60)
    budget.settled(0, 40)

    assert budget.did_not_fit(40) is False
    assert budget.request() is None
    budget.taken(1, 60)
    assert budget.request() == (1_000_000, 100)
    assert budget.did_not_fit(100) is True


def test_a_message_takes_the_worry_away():
    budget = PullCredit(None, Credit(100))
    budget.did_not_fit(40)
    budget.ask(1, 100)
    budget.received(1, 60)

    assert budget.whole is False


def test_without_a_byte_bound_nothing_can_be_too_small():
    assert PullCredit(Credit(1), None).did_not_fit(5) is True


def test_at_first_a_part_may_be_asked_for():
    budget = PullCredit(None, Credit(100))
    budget.ask(1, 100)
    budget.received(1, 30)
    budget.settled(0, 70)

    assert budget.whole is False
    assert budget.request() == (1_000_000, 70)


def test_what_will_never_come_may_be_asked_for_again_in_part_from_the_start_on():
    budget = PullCredit(None, Credit(100))
    budget.ask(1, 100)
    budget.settled(0, 60)

    assert budget.request() == (1_000_000, 60)


def both() -> PullCredit:
    """A budget with 10 messages and 1000 bytes asked for."""
    budget = PullCredit(Credit(10), Credit(1000))
    budget.ask(10, 1000)
    return budget


def numbers(budget: PullCredit) -> tuple[int, ...]:
    """Asked and level of the messages, then of the bytes."""
    return budget.messages.asked, budget.messages.level, budget.size.asked, budget.size.level


def test_what_comes_counts_in_messages_and_in_bytes():
    budget = both()
    budget.received(3, 400)

    assert numbers(budget) == (7, 10, 600, 1000)


def test_what_nobody_asked_for_counts_in_messages_and_in_bytes():
    budget = both()
    budget.unsolicited(3, 400)

    assert numbers(budget) == (10, 13, 1000, 1400)


def test_what_is_taken_is_given_back_to_both():
    budget = both()
    budget.received(3, 400)
    budget.taken(2, 300)

    assert numbers(budget) == (7, 8, 600, 700)


def test_what_will_never_come_is_given_back_to_both():
    budget = both()
    budget.settled(4, 500)

    assert numbers(budget) == (6, 6, 500, 500)


def test_a_reset_gives_everything_that_was_asked_back_to_both():
    budget = both()
    budget.received(3, 400)
    budget.reset()

    assert numbers(budget) == (0, 3, 0, 400)


def test_whether_only_the_whole_may_be_asked_for_is_put_back_too():
    budget = PullCredit(None, Credit(100))
    budget.did_not_fit(40)
    other = PullCredit(None, Credit(100))
    other.restore(budget.snapshot())

    assert budget.whole is True
    assert other.whole is True


KINDS = st.sampled_from([(5, None), (None, 50), (5, 50)])


@given(
    KINDS,
    st.lists(
        st.sampled_from(["ask", "received", "unsolicited", "taken", "settled", "reset"]),
        max_size=20,
    ),
)
def test_both_credits_see_the_same_facts_and_can_be_put_back(kind, verbs):
    def made() -> PullCredit:
        return PullCredit(*(None if limit is None else Credit(limit) for limit in kind))

    budget = made()
    for verb in verbs:
        if verb == "ask":
            request = budget.request()
            if request is not None:
                budget.ask(*request)
        elif verb == "reset":
            budget.reset()
        elif verb == "taken":
            if budget.lead.buffered >= (10 if budget.size is not None else 1):
                budget.taken(1, 10)
        else:
            getattr(budget, verb)(1, 10)
        for credit in (budget.messages, budget.size):
            assert credit is None or credit.asked >= 0
    other = made()
    other.restore(budget.snapshot())

    assert other.snapshot() == budget.snapshot()


@pytest.mark.parametrize(("left", "batch"), [(None, 5), (100, 5), (3, 3), (1, 1)])
def test_never_more_is_asked_for_than_can_still_come(left, batch):
    budget = PullCredit(Credit(5), None)
    budget.left = left

    assert budget.request() == (batch, 0)


def test_what_is_asked_for_already_counts():
    budget = PullCredit(Credit(10), None)
    budget.left = 6
    budget.ask(4, 0)
    assert budget.request() == (2, 0)
    budget.ask(2, 0)

    assert budget.request() is None


def test_bytes_alone_know_of_no_messages():
    budget = PullCredit(None, Credit(50))
    budget.left = 3

    assert budget.request() == (1_000_000, 50)
