"""Named deadlines: earliest first, each handed out once."""

from __future__ import annotations

from enum import Enum

from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.timers import Timers


class Name(Enum):
    A = "A"
    B = "B"
    C = "C"


def test_the_earliest_comes_first_and_ties_go_by_name():
    timers = Timers(Name)
    timers.set(Name.C, 1.0)
    timers.set(Name.B, 2.0)
    timers.set(Name.A, 2.0)

    assert 1.0 == timers.next()
    assert [Name.C, Name.A, Name.B] == list(timers.expired(2.0))
    assert timers.next() is None


def test_what_is_armed_while_handing_out_is_handed_out_too():
    timers = Timers(Name)
    timers.set(Name.A, 1.0)
    seen = []
    for name in timers.expired(5.0):
        seen.append(name)
        if name is Name.A:
            timers.set(Name.B, 2.0)

    assert [Name.A, Name.B] == seen


def test_stopped_and_cleared_timers_do_not_fire():
    timers = Timers(Name)
    timers.set(Name.A, 1.0)
    timers.set(Name.B, 1.0)
    timers.stop(Name.A)
    timers.stop(Name.C)

    assert timers.at(Name.A) is None
    assert 1.0 == timers.at(Name.B)

    timers.clear()

    assert [] == list(timers.expired(9.0))


@given(st.dictionaries(st.sampled_from(Name), st.floats(0, 100)), st.floats(0, 100))
def test_a_snapshot_gives_the_same_timers(armed, now):
    timers, twin = Timers(Name), Timers(Name)
    for name, at in armed.items():
        timers.set(name, at)
    twin.restore(timers.snapshot())

    assert timers.next() == twin.next()
    due = list(timers.expired(now))
    assert due == list(twin.expired(now))
    assert sorted(due, key=lambda name: armed[name]) == sorted(due, key=lambda name: armed[name])
    assert {name for name, at in armed.items() if at <= now} == set(due)
