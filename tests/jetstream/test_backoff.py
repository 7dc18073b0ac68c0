from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.backoff import Backoff, ShortLinks


def test_the_delay_doubles_up_to_its_cap():
    pace = Backoff(0.25, 2.0)
    waits = [pace.failed(10.0) - 10.0 for _ in range(6)]

    assert waits == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]


def test_nothing_may_be_asked_before_the_delay_is_over():
    pace = Backoff(0.25, 2.0)
    assert pace.opened(0.0)
    pace.failed(0.0)

    assert not pace.opened(0.2)
    assert pace.opened(0.25)


def test_data_makes_the_delay_short_again_but_does_not_end_the_one_that_runs():
    pace = Backoff(1.0, 8.0)
    pace.failed(0.0)
    pace.failed(0.0)
    pace.reset_delay()

    assert not pace.opened(1.9)
    assert pace.failed(5.0) == 6.0


def test_a_new_link_forgets_everything():
    pace = Backoff(1.0, 8.0)
    pace.failed(0.0)
    pace.restart()

    assert pace.opened(0.0)
    assert pace.failed(0.0) == 1.0


def test_a_pull_that_lived_longer_than_the_delay_costs_nothing():
    pace = Backoff(0.25, 8.0)

    assert pace.record_empty(0.0, 30.0) is None
    assert pace.opened(30.0)


def test_a_pull_that_ended_quickly_with_nothing_is_paced_from_its_start():
    pace = Backoff(0.25, 8.0)

    assert pace.record_empty(10.0, 10.1) == 10.25
    assert pace.record_empty(10.25, 10.3) == 10.75


def test_a_failure_can_ask_for_a_longer_delay():
    assert Backoff(0.25, 8.0).failed(0.0, 1.0) == 1.0


@given(
    st.lists(st.sampled_from(["failed", "record_empty", "reset_delay"]), min_size=1, max_size=200)
)
def test_between_two_fruitless_requests_at_least_the_first_delay_passes(kinds):
    pace = Backoff(0.25, 4.0)
    now = 0.0
    for kind in kinds:
        assert pace.opened(now)
        issued = now
        if kind == "failed":
            pace.failed(now)
        elif kind == "record_empty":
            pace.record_empty(issued, now)
        else:
            pace.reset_delay()
            continue
        assert not pace.opened(issued + 0.2)
        now = pace.not_before or 0.0


def test_a_thousand_failures_are_no_overflow():
    pace = Backoff(0.25, 8.0)
    for _ in range(2000):
        pace.failed(0.0)

    assert pace.delay == 8.0


@given(st.integers(0, 9))
def test_a_snapshot_put_back_paces_alike(failures):
    pace = Backoff(0.25, 8.0)
    for _ in range(failures):
        pace.failed(1.0)
    other = Backoff(0.25, 8.0)
    other.restore(pace.snapshot())

    assert other.failed(1.0) == pace.failed(1.0)


def test_a_request_that_lived_exactly_as_long_as_the_delay_costs_nothing_and_the_next_failure_is_the_first():
    pace = Backoff(1.0, 8.0)
    pace.failed(0.0)
    assert pace.record_empty(1.0, 3.0) is None
    assert pace.failures == 0
    assert pace.delay == 1.0


def test_a_shorter_wait_does_not_end_a_longer_one():
    pace = Backoff(1.0, 8.0)
    assert pace.failed(0.0, at_least=5.0) == 5.0
    assert pace.failed(0.5) == 5.0
    assert not pace.opened(4.9)


def test_behind_the_third_short_link_one_waits_and_behind_each_further_one_twice_as_long():
    links, waits = ShortLinks(0.25, 8.0), []
    for _ in range(12):
        waits.append(links.wait(100.0, 100.0))
        links.lost(100.0, 100.0)

    assert waits == [None, None, None, *(100.0 + each for each in (0.25, 0.5, 1, 2, 4, 8, 8, 8, 8))]
    assert links.wait(91.0, 100.0) is None


def test_a_link_that_lasts_makes_the_next_ones_free_again():
    links = ShortLinks(0.25, 8.0)
    for _ in range(5):
        links.lost(10.0, 11.0)
    again = ShortLinks(0.25, 8.0)
    again.restore(links.snapshot())
    assert again.wait(11.0, 11.0) == 12.0
    again.lost(11.0, 19.0)

    assert (again.count, again.wait(19.0, 19.0)) == (0, None)
