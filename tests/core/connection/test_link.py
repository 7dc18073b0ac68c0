"""The table of the link is total: every state and input leads where it says or is refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.link import (
    ATTEMPTING,
    OPEN,
    TRANSITIONS,
    Link,
    LinkInput,
    LinkState,
    LinkTimer,
)
from jsproto.errors import LocalProtocolError


@pytest.mark.parametrize(("state", "what"), list(itertools.product(LinkState, LinkInput)))
def test_every_state_and_input(state, what):
    link = Link(ping_interval=10.0, max_pings_out=2)
    link.state = state
    if what in TRANSITIONS[state]:
        link.move(what)

        assert TRANSITIONS[state][what] is link.state
    else:
        with pytest.raises(
            LocalProtocolError, match=f"expected no {what.name} while the link is {state.name}"
        ):
            link.move(what)
        assert state is link.state


def test_every_state_can_be_cut_and_every_open_one_can_be_lost():
    for state in LinkState:
        assert (LinkInput.CUT in TRANSITIONS[state]) is (state is not LinkState.CLOSED)
    for state in OPEN | ATTEMPTING:
        assert LinkInput.LOST in TRANSITIONS[state]


def test_every_state_is_reached():
    reached = {LinkState.WAITING} | {to for row in TRANSITIONS.values() for to in row.values()}

    assert set(LinkState) == reached


def test_a_snapshot_keeps_state_timers_and_keepalive():
    link, twin = (Link(ping_interval=10.0, max_pings_out=2) for _ in range(2))
    link.move(LinkInput.DIAL)
    link.watch(3.0)
    link.quiet(13.0)
    twin.restore(link.snapshot())

    assert (LinkState.DIALING, 1, 3.0) == (twin.state, twin.pings_out, twin.last_input)
    assert 23.0 == twin.timers.at(LinkTimer.PING)


@given(st.lists(st.integers(1, 40), max_size=12), st.integers(0, 3))
def test_a_link_is_stale_so_many_intervals_behind_its_last_input_and_not_before_26(steps, most):
    interval, last, now = 8.0, 0.0, 0.0
    link = Link(ping_interval=interval, max_pings_out=most)
    link.watch(0.0)
    inputs = [sum(steps[: at + 1]) * 0.5 for at in range(len(steps))]
    while True:
        due = link.timers.at(LinkTimer.PING)
        if inputs and inputs[0] <= due:
            last = now = inputs.pop(0)
            link.alive(now)
            assert 0 == link.pings_out
            continue
        now = due
        said = link.quiet(now)
        assert 0 <= link.pings_out <= most
        assert (said is None) is (now - last == interval * (most + 1))
        if said is None:
            return
