from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig
from jsproto.jetstream.heartbeat import HeartbeatAlarm, HeartbeatMonitor, liveness_of


def test_b014_the_alarm_comes_at_two_heartbeats_and_once():
    watch = HeartbeatMonitor(5.0)
    watch.watch(0.0)

    assert watch.judge(9.99) is None
    assert watch.judge(10.0) is HeartbeatAlarm.EDGE
    assert watch.judge(10.0) is None


def test_b013_every_frame_starts_the_window_anew():
    watch = HeartbeatMonitor(5.0)
    watch.watch(0.0)
    for now in (5.0, 10.0, 15.0, 20.0, 25.0):
        watch.seen(now)

    assert watch.judge(29.0) is None
    assert watch.deadline == 35.0


def test_b017_one_edge_for_each_silence_and_a_period_in_between():
    watch = HeartbeatMonitor(1.0)
    watch.watch(0.0)
    alarms = [watch.judge(now) for now in (2.0, 4.0, 6.0, 8.0)]

    assert alarms == [
        HeartbeatAlarm.EDGE,
        HeartbeatAlarm.PERIOD,
        HeartbeatAlarm.PERIOD,
        HeartbeatAlarm.PERIOD,
    ]
    assert watch.seen(9.0) is True
    assert watch.silent is False
    assert watch.seen(9.0) is False
    assert watch.judge(11.0) is HeartbeatAlarm.EDGE


def test_a_request_starts_the_window_but_ends_no_silence():
    watch = HeartbeatMonitor(1.0)
    watch.watch(0.0)
    watch.judge(2.0)
    watch.watch(2.0)

    assert watch.judge(4.0) is HeartbeatAlarm.PERIOD


def test_b058_without_heartbeats_there_is_no_alarm():
    watch = HeartbeatMonitor(0.0)
    watch.watch(0.0)

    assert watch.deadline is None
    assert watch.judge(1e9) is None


def test_b040_it_rests_while_nobody_has_promised_anything():
    watch = HeartbeatMonitor(1.0)
    watch.watch(0.0)
    watch.rest()

    assert watch.watching is False
    assert watch.deadline is None
    assert watch.judge(100.0) is None
    watch.watch(7.0)
    assert watch.judge(8.9) is None
    assert watch.judge(9.0) is HeartbeatAlarm.EDGE


def test_the_factor_can_be_that_of_adr_15():
    watch = HeartbeatMonitor(2.0, 3.0)
    watch.watch(0.0)

    assert watch.deadline == 6.0


def test_another_interval_counts_from_the_next_request_on():
    watch = HeartbeatMonitor(5.0, 3.0)
    watch.promised(1.0)
    watch.watch(0.0)

    assert (watch.heartbeat, watch.deadline) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("heartbeat", "factor", "text"),
    [
        (-1.0, 2.0, "expected a heartbeat of 0 or more seconds, got -1.0"),
        (float("inf"), 2.0, "expected a heartbeat of 0 or more seconds, got inf"),
        (1.0, 0.5, "expected a heartbeat_factor of at least 1, a number, got 0.5"),
        (1.0, float("nan"), "expected a heartbeat_factor of at least 1, a number, got nan"),
    ],
)
def test_what_can_not_be_watched_is_refused(heartbeat, factor, text):
    with pytest.raises(InvalidConfig, match=f"^{text}$"):
        HeartbeatMonitor(heartbeat, factor)


def test_before_the_first_request_it_is_at_rest_and_has_seen_nothing():
    watch = HeartbeatMonitor(1.0)

    assert (watch.since, watch.deadline) == (0.0, None)
    assert watch.watching is False
    assert watch.silent is False


def test_the_shortest_promise_is_watched_too():
    watch = HeartbeatMonitor(0.5, 1.0)
    watch.watch(3.0)

    assert watch.deadline == 3.5


EVENTS = st.lists(
    st.tuples(st.sampled_from(["seen", "watch", "rest", "tick"]), st.floats(0, 3)), max_size=40
)


@given(st.floats(-1e9, 1e9), EVENTS)
def test_an_alarm_is_given_if_and_only_if_the_promise_was_broken(start, events):
    watch = HeartbeatMonitor(1.0)
    now = start
    since: float | None = None
    silent = False
    for verb, step in events:
        now += step
        if verb == "seen":
            assert watch.seen(now) is silent
            silent = False
            since = now if since is not None else None
        elif verb == "watch":
            watch.watch(now)
            since = now
        elif verb == "rest":
            watch.rest()
            since = None
        else:
            due = since is not None and now >= since + 2.0
            expected = (HeartbeatAlarm.PERIOD if silent else HeartbeatAlarm.EDGE) if due else None
            assert watch.judge(now) is expected
            if due:
                since = now
                silent = True


@given(EVENTS)
def test_a_snapshot_put_back_judges_alike(events):
    watch = HeartbeatMonitor(1.0)
    now = 0.0
    for verb, step in events:
        now += step
        if verb == "tick":
            watch.judge(now)
        elif verb == "rest":
            watch.rest()
        else:
            getattr(watch, verb)(now)
    other = HeartbeatMonitor(1.0)
    other.restore(watch.snapshot())

    assert (other.judge(now + 2), other.deadline) == (watch.judge(now + 2), watch.deadline)


def test_a_request_beside_others_postpones_nothing():
    """Found by the simulator: whoever asked again and again into silence never heard of it."""
    watch = HeartbeatMonitor(1.0)
    watch.asked(0.0)
    watch.asked(1.5)
    assert watch.deadline == 2.0
    watch.rest()
    watch.asked(1.5)

    assert watch.deadline == 3.5


def test_where_no_heartbeat_is_asked_for_nothing_changes_and_nothing_is_missed():
    watch = liveness_of(0.0, 2.0)
    before = watch.snapshot()

    watch.promised(5.0)
    watch.watch(1.0)

    assert watch.seen(2.0) is False
    assert watch.deadline is None
    assert watch.judge(1_000.0) is None
    watch.rest()
    assert watch.snapshot() == before
    assert liveness_of(0.0, 2.0) is watch


def test_whoever_asks_for_heartbeats_has_a_watch_of_their_own():
    watch = liveness_of(5.0, 3.0)
    watch.watch(1.0)

    assert watch.deadline == 16.0
    assert liveness_of(5.0, 3.0) is not watch
    assert watch.seen(2.0) is False


def test_a_factor_is_checked_even_without_heartbeats():
    with pytest.raises(InvalidConfig, match="factor"):
        liveness_of(0.0, 0.5)
    assert liveness_of(0.0, 3.0).deadline is None


def test_what_is_not_watched_does_not_go_on():
    idle = HeartbeatMonitor(5.0)
    idle.goes_on(3.0)
    watched = HeartbeatMonitor(5.0)
    watched.watch(1.0)
    watched.goes_on(3.0)

    assert (idle.since, watched.since) == (0.0, 3.0)
