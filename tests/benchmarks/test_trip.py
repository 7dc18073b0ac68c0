"""The simplest call takes no longer trip through the files than it did."""

from __future__ import annotations

from tests.benchmarks.trip import measured

#: What it was when this was written; less is better, and then the bound follows.
FILES, MOVES, CALLS = 26, 96, 143


def test_a_publish_goes_through_no_more_files_than_before():
    trip = measured()

    assert len(trip.entered) <= FILES, sorted(trip.entered)
    assert trip.moves <= MOVES, trip.entered.most_common()
    assert trip.calls <= CALLS
