"""Whose deadline is next, against the plain table that it stands for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.connection.deadlines import DeadlineHeap


def test_deadlines_come_earliest_first_and_ties_by_key():
    agenda = DeadlineHeap()
    for key, at in [(3, 1.0), (1, 2.0), (2, 1.0)]:
        agenda.put(key, at)

    assert 3 == len(agenda)
    assert 1.0 == agenda.next()
    assert [2, 3, None] == [agenda.due(1.5), agenda.due(1.5), agenda.due(1.5)]
    assert 1 == agenda.due(2.0)
    assert agenda.next() is None


def test_moving_a_deadline_for_every_message_does_not_grow_the_heap():
    agenda = DeadlineHeap()
    for step in range(10_000):
        agenda.put(1, float(step))
        agenda.put(2, 5.0)

    assert len(agenda.snapshot()["_heap"]) < 200
    assert 5.0 == agenda.next()


steps = st.lists(
    st.tuples(st.integers(1, 5), st.none() | st.integers(0, 9).map(float)), max_size=60
)


@given(steps, st.integers(0, 9).map(float))
def test_it_agrees_with_a_plain_table(moves, now):
    agenda, table = DeadlineHeap(), {}
    for key, at in moves:
        agenda.put(key, at)
        table.pop(key, None) if at is None else table.update({key: at})

    twin = DeadlineHeap()
    twin.restore(agenda.snapshot())
    assert min(table.values(), default=None) == agenda.next() == twin.next()
    due = []
    while (key := agenda.due(now)) is not None:
        due.append(key)
        assert key == twin.due(now)
    assert [key for at, key in sorted((at, key) for key, at in table.items()) if at <= now] == due
