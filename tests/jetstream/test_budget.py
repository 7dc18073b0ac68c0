from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.budget import Budget
from jsproto.jetstream.credit import Credit


def test_by_messages_the_bytes_are_not_bounded():
    budget = Budget(Credit(10), None)

    assert budget.request() == (10, 0)
    budget.ask(10, 0)
    assert budget.request() is None


def test_by_bytes_the_batch_is_as_large_as_can_be():
    budget = Budget(None, Credit(100))

    assert budget.request() == (1_000_000, 100)


def test_where_both_are_bounded_the_bytes_lead_and_the_messages_cap():
    budget = Budget(Credit(4), Credit(100))
    budget.ask(4, 100)
    budget.received(1, 60)
    budget.taken(1, 60)

    assert budget.request() == (1, 60)
    budget.ask(1, 60)
    budget.settled(0, 100)
    assert budget.lead.wanting
    assert budget.request() is None, "all four messages are asked for"


def test_after_a_part_was_too_small_only_the_whole_is_asked_for():
    budget = Budget(None, Credit(100))
    budget.ask(1, 100)
    budget.received(1, 60)
    budget.settled(0, 40)

    assert budget.did_not_fit(40) is False
    assert budget.request() is None
    budget.taken(1, 60)
    assert budget.request() == (1_000_000, 100)
    assert budget.did_not_fit(100) is True


def test_a_message_takes_the_worry_away():
    budget = Budget(None, Credit(100))
    budget.did_not_fit(40)
    budget.ask(1, 100)
    budget.received(1, 60)

    assert budget.whole is False


def test_without_a_byte_bound_nothing_can_be_too_small():
    assert Budget(Credit(1), None).did_not_fit(5) is True


KINDS = st.sampled_from([(5, None), (None, 50), (5, 50)])


@given(
    KINDS, st.lists(st.sampled_from(["ask", "received", "surplus", "taken", "settled", "reset"]), max_size=20)
)
def test_both_credits_see_the_same_facts_and_can_be_put_back(kind, verbs):
    def made() -> Budget:
        return Budget(*(None if limit is None else Credit(limit) for limit in kind))

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
