"""The table of the link is total: every state and input leads where it says or is refused."""

from __future__ import annotations

import itertools

import pytest

from jsproto.core.link import ATTEMPTING, OPEN, TRANSITIONS, Link, LinkInput, LinkState, LinkTimer
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
