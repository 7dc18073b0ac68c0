from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto.jetstream.credit import Credit

AMOUNTS = st.integers(0, 60)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "received", "taken", "settled", "reset", "unsolicited", "narrow"]),
        AMOUNTS,
    ),
    max_size=40,
)


def played(credit: Credit, steps: list[tuple[str, int]]) -> int:
    """Play steps as a consume would: ask for all the room when it wants, take only what is there.
    Gives the surplus.
    """
    extra = 0
    for verb, amount in steps:
        if verb == "ask":
            if credit.wanting and credit.room:
                credit.ask(credit.room)
        elif verb == "taken":
            taken = min(amount, credit.buffered)
            credit.taken(taken)
            extra = max(0, extra - taken)
        elif verb == "received":
            extra += max(0, amount - credit.asked)
            credit.received(amount)
        elif verb == "unsolicited":
            extra += amount
            credit.unsolicited(amount)
        elif verb == "narrow":
            before = credit.limit
            credit.narrow(amount)
            extra += before - credit.limit
        elif verb == "settled":
            credit.settled(amount)
        else:
            credit.reset()
    return extra


@given(st.integers(1, 50), STEPS)
def test_it_is_never_negative(limit, steps):
    credit = Credit(limit)
    played(credit, steps)

    assert credit.asked >= 0
    assert credit.buffered >= 0
    assert credit.room >= 0


@given(st.integers(1, 50), STEPS)
def test_it_is_never_above_the_limit_by_what_was_asked_for(limit, steps):
    credit = Credit(limit)
    unasked = played(credit, steps)

    assert credit.level <= credit.limit + unasked


@given(st.integers(1, 50), STEPS)
def test_it_refills_to_full(limit, steps):
    credit = Credit(limit)
    played(credit, steps)
    credit.reset()
    credit.taken(credit.buffered)

    assert credit.wanting
    credit.ask(credit.room)
    assert (credit.level, credit.asked) == (credit.limit, credit.limit)


@given(st.integers(1, 300), st.integers(0, 300))
def test_every_size_and_threshold_goes_on_for_ever(limit, low):
    credit = Credit(limit, min(low, limit))
    for _ in range(3 * limit):
        if credit.wanting:
            credit.ask(credit.room)
        assert credit.level > 0, "nothing asked and nothing buffered: a stall"
        if not credit.buffered:
            credit.received(1)
        credit.taken(1)


def test_b001_a_limit_of_one_wants_again_as_soon_as_nothing_is_left():
    credit = Credit(1)
    for _ in range(5):
        assert credit.wanting
        credit.ask(1)
        assert not credit.wanting
        credit.received(1)
        assert not credit.wanting
        credit.taken(1)


def test_arrival_changes_what_is_asked_and_not_the_level():
    credit = Credit(10)
    credit.ask(10)
    credit.received(4)

    assert (credit.asked, credit.buffered, credit.level) == (6, 4, 10)


def test_more_than_was_asked_is_buffered_all_the_same():
    credit = Credit(4)
    credit.ask(4)
    credit.received(6)

    assert (credit.asked, credit.buffered, credit.room) == (0, 6, 0)


def test_more_can_not_be_settled_than_is_owed():
    credit = Credit(4)
    credit.ask(4)
    credit.received(3)
    credit.settled(5)

    assert (credit.asked, credit.buffered) == (0, 3)


def test_a_narrower_limit_lowers_the_threshold_and_is_never_widened():
    credit = Credit(100)
    credit.narrow(10)
    credit.narrow(50)
    credit.narrow(0)

    assert (credit.limit, credit.low) == (10, 5)


def test_a_limit_can_be_narrowed_to_one_and_the_threshold_stays_whole():
    credit = Credit(100)
    credit.narrow(5)
    assert (credit.limit, credit.low, type(credit.low)) == (5, 2, int)
    credit.narrow(1)

    assert (credit.limit, credit.low) == (1, 0)


def test_the_same_limit_again_changes_nothing():
    credit = Credit(10, 8)
    credit.narrow(10)

    assert (credit.limit, credit.low) == (10, 8)


def test_a_threshold_at_the_limit_means_always_full():
    credit = Credit(10, 10)
    credit.ask(10)
    credit.received(1)
    credit.taken(1)

    assert (credit.wanting, credit.room) == (True, 1)


@pytest.mark.parametrize("amount", [0, -1, 5])
def test_asking_for_nothing_or_beyond_the_limit_is_refused(amount):
    credit = Credit(4)

    with pytest.raises(LocalProtocolError, match="expected to ask for 1 to 4"):
        credit.ask(amount)
    assert credit.level == 0


@pytest.mark.parametrize(
    ("limit", "low", "text"),
    [
        (0, None, "expected a limit of at least 1, got 0"),
        (-3, None, "expected a limit of at least 1, got -3"),
        (5, -1, "expected a threshold from 0 to the limit 5, got -1"),
        (5, 6, "expected a threshold from 0 to the limit 5, got 6"),
    ],
)
def test_limits_that_can_not_work_are_refused(limit, low, text):
    with pytest.raises(InvalidConfig, match=f"^{text}$"):
        Credit(limit, low)


@pytest.mark.parametrize(("limit", "low"), [(1, 0), (2, 1), (5, 2), (6, 3), (500, 250)])
def test_the_threshold_is_half_of_the_limit_if_nothing_else_is_said(limit, low):
    credit = Credit(limit)

    assert (low, int) == (credit.low, type(credit.low))


def test_a_threshold_at_the_limit_is_taken_for_one_below_it():
    assert Credit(10, 10).low == 9


def test_what_was_asked_before_leaves_less_to_ask_for_and_adds_up():
    credit = Credit(10)
    credit.ask(7)

    with pytest.raises(LocalProtocolError, match="expected to ask for 1 to 3, got 4"):
        credit.ask(4)
    credit.ask(3)
    assert (credit.asked, credit.level) == (10, 10)


def test_what_nobody_asked_for_comes_on_top_of_what_is_there():
    credit = Credit(10)
    credit.ask(10)
    credit.unsolicited(2)

    assert (credit.asked, credit.buffered, credit.level, credit.room) == (10, 2, 12, 0)


def test_after_a_reset_only_what_has_come_counts():
    credit = Credit(10)
    credit.ask(10)
    credit.received(4)
    credit.reset()

    assert (credit.asked, credit.level, credit.room) == (0, 4, 6)


@given(st.integers(1, 50), STEPS)
def test_a_snapshot_put_back_is_the_same_credit(limit, steps):
    credit = Credit(limit)
    played(credit, steps)
    other = Credit(7)
    other.restore(credit.snapshot())

    assert other.snapshot() == credit.snapshot()
