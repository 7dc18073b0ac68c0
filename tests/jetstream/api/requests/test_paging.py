"""Lists are read to their end, and one with holes never looks complete."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import CurrentTime, Steps
from jsproto.errors import InvalidResponse, RequestTimeout
from jsproto.jetstream.api.requests import manage as api
from jsproto.jetstream.api.requests.paging import RACES, Listing
from jsproto.jetstream.api.subjects import ApiSubjects
from tests.jetstream.api.asking import message, run

API = ApiSubjects()


def names(*found: str, total: int | None = None, **more: object) -> dict[str, object]:
    return {"streams": list(found), **({} if total is None else {"total": total}), **more}


def offsets(asked: list[tuple[str, object]]) -> list[object]:
    return [None if body is None else body["offset"] for _, body in asked]


def test_a_list_that_grows_between_pages_names_everybody_once() -> None:
    listed, asked = run(api.stream_names(API), names("b", "c", total=3), names("c", "d", total=4))

    assert listed == ("b", "c", "d")
    assert offsets(asked) == [None, 2]


def test_a_list_that_shrinks_between_pages_is_read_anew() -> None:
    listed, asked = run(
        api.stream_names(API),
        names("a", "b", total=4),
        names("d", total=3),
        names("b", "c", "d", total=3),
    )

    assert listed == ("b", "c", "d")
    assert listed.complete
    assert offsets(asked) == [None, 2, None]


def test_a_list_that_shrinks_all_the_time_is_given_as_it_was_seen_last() -> None:
    answers = [
        page
        for left in range(RACES, 0, -1)
        for page in (names("a", total=left + 3), names("b", total=left + 2))
    ]
    listed, _ = run(api.stream_names(API), *answers)

    assert listed == ("a",)
    assert (listed.complete, listed.total) == (False, 4)


def test_what_a_cluster_cannot_say_is_named_and_stands_for_its_place_in_the_pages() -> None:
    config = {"config": {"name": "A"}, "created": "2024-01-01T00:00:00Z"}
    offline = {"config": {"name": "C"}, "created": "2024-01-01T00:00:00Z"}
    listed, asked = run(
        api.streams(API),
        {
            "total": 5,
            "streams": [config, offline],
            "missing": ["B", "C"],
            "offline": {"D": "unsupported"},
        },
        {"total": 5, "streams": None, "missing": ["E"]},
    )

    assert [info.config.name for info in listed] == ["A", "C"]
    assert listed.missing == ("B", "C", "E")
    assert listed.offline == {"D": "unsupported"}
    assert not listed.complete
    assert offsets(asked) == [None, 4]


def test_an_end_before_the_total_is_seen_in_the_list() -> None:
    listed, _ = run(api.stream_names(API), names("a", total=9), names(total=9))

    assert (listed, listed.total, listed.complete) == (("a",), 9, False)


def test_a_list_can_be_copied_and_pickled_with_all_it_knows() -> None:
    listed = Listing(["a"], total=3, missing=["b"], offline={"c": "why"})
    for twin in (copy.copy(listed), copy.deepcopy(listed), pickle.loads(pickle.dumps(listed))):
        assert (twin, twin.total, twin.missing, twin.offline) == (("a",), 3, ("b",), {"c": "why"})


@pytest.mark.parametrize("total", [None, "3", True, -1, 1.5])
def test_a_page_without_a_number_as_total_is_no_page(total: object) -> None:
    with pytest.raises(InvalidResponse, match="total"):
        run(api.stream_names(API), {"streams": ["a"], "total": total})


def play_on(steps: Steps[object], page: Callable[[int], dict[str, object]], *, each: float) -> None:
    """Answer every question with another page, ``each`` seconds later; no question waits beyond the
    end of the first.
    """
    now, asked, end = 0.0, 0, None
    step = next(steps)
    while True:
        if isinstance(step, CurrentTime):
            step = steps.send(now)
            continue
        assert isinstance(step, Call)
        end = now + step.timeout if end is None else end
        assert now + step.timeout == pytest.approx(end)
        now += each
        asked += 1
        assert asked < 100, "it asks without end"
        step = steps.send(message(json.dumps(page(asked)).encode()))


def test_a_list_that_never_ends_ends_with_its_time() -> None:
    """A server that always has another page keeps the caller for the whole timeout and no longer."""
    with pytest.raises(
        RequestTimeout, match=r"stream names: expected the whole list in time, got 8 of 10 "
    ):
        play_on(
            api.stream_names(API, timeout=2.0), lambda n: names(f"S{n}", total=n + 2), each=0.25
        )


def test_pages_of_subjects_share_one_time_too() -> None:
    def page(number: int) -> dict[str, object]:
        state = {"subjects": {f"s.{number}": 1}}
        return {"config": {"name": "S"}, "total": 100, "offset": number - 1, "state": state}

    with pytest.raises(
        RequestTimeout, match="stream info, stream S: expected the whole list in time"
    ):
        play_on(api.stream_info(API, "S", subjects_filter=">", timeout=1.0), page, each=0.3)


def test_missing_that_is_no_list_is_an_invalid_response() -> None:
    with pytest.raises(InvalidResponse, match="missing"):
        run(api.stream_names(API), names("a", total=1, missing="a"))


PAGE = st.fixed_dictionaries(
    {
        "streams": st.one_of(st.none(), st.lists(st.sampled_from("abcdef"), max_size=3)),
        "total": st.integers(0, 9),
    },
    optional={"missing": st.lists(st.sampled_from("xyz"), max_size=2)},
)


@given(st.lists(PAGE, max_size=12))
def test_any_sequence_of_pages_comes_to_an_end_53(script) -> None:
    left = list(script)
    offsets: list[int] = []
    steps = api.stream_names(API)
    step = next(steps)
    try:
        while True:
            if isinstance(step, CurrentTime):
                step = steps.send(0.0)
                continue
            offsets.append(json.loads(step.payload or b"{}").get("offset", 0))
            page = left.pop(0) if left else {"streams": [], "total": 9}
            step = steps.send(message(json.dumps(page).encode()))
    except StopIteration as stop:
        listed = stop.value

    assert len(offsets) <= len(script) + RACES
    assert len(set(listed)) == len(listed)
    for before, after in pairwise(offsets):
        assert after > before or after == 0  # it goes on, or is read anew
    assert offsets.count(0) <= RACES


def test_an_entry_of_names_is_a_name() -> None:
    with pytest.raises(InvalidResponse, match="stream names: expected a name"):
        run(api.stream_names(API), {"streams": [5], "total": 1})
