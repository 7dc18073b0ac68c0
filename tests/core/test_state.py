"""Snapshots are plain, independent and put back what was there."""

from __future__ import annotations

import json
from collections import deque
from enum import Enum
from typing import ClassVar

import pytest

from jsproto.core.state import (
    ERROR,
    PART,
    PLAIN,
    Codecs,
    Snapshottable,
    copied,
    error_read,
    error_written,
)
from jsproto.errors import ApiError, LocalProtocolError, NoResponders


class Mood(Enum):
    GOOD = "GOOD"
    BAD = "BAD"


class Inner(Snapshottable):
    STATE: ClassVar[Codecs] = {"items": PLAIN}

    def __init__(self):
        self.items = deque([("a", b"1")])


class Outer(Snapshottable):
    STATE: ClassVar[Codecs] = {
        "mood": Mood,
        "inner": PART,
        "error": ERROR,
        "table": PLAIN,
        "none": Mood,
    }

    def __init__(self):
        self.mood = Mood.GOOD
        self.none: Mood | None = None
        self.inner = Inner()
        self.error = None
        self.table = {1: [2, {3}], "k": (None, 1.5, True)}


def test_a_snapshot_puts_everything_back_in_place():
    old = Outer()
    old.error = ApiError(404, 10059, "stream not found", "stream 'S'")
    data = old.snapshot()
    new = Outer()
    inner = new.inner
    new.mood, new.none, new.table = Mood.BAD, Mood.BAD, {}
    inner.items.clear()
    new.restore(data)

    assert inner is new.inner
    assert old.snapshot() == new.snapshot() == data
    assert (Mood.GOOD, None) == (new.mood, new.none)
    assert (ApiError, 10059, str(old.error)) == (
        type(new.error),
        new.error.err_code,
        str(new.error),
    )


def test_a_snapshot_is_independent_of_the_object():
    old = Outer()
    data = old.snapshot()
    old.table[1].append(9)
    old.inner.items.append(("b", b"2"))

    assert {1: [2, {3}], "k": (None, 1.5, True)} == data["table"]
    assert deque([("a", b"1")]) == data["inner"]["items"]


def test_another_version_is_refused():
    with pytest.raises(LocalProtocolError, match="version 1, got 99"):
        Outer().restore({"v": 99})


def test_a_missing_attribute_is_named():
    with pytest.raises(LocalProtocolError, match="'mood' in a snapshot of Outer"):
        Outer().restore({"v": 1})


def test_errors_are_written_as_plain_data_and_read_back():
    written = error_written(NoResponders("nobody", "svc"))

    assert json.dumps(written)
    assert "svc" == error_read(written).subject
    assert error_written(None) is None
    assert error_read(None) is None


def test_a_foreign_error_name_is_refused():
    with pytest.raises(LocalProtocolError, match="error of ours"):
        error_read(("SystemExit", (), {}))


def test_copies_are_deep_and_keep_the_kind_of_container():
    value = [1, (2, [3]), deque([4]), {5: {6}}]
    copy = copied(value)

    assert value == copy
    assert copy[1][1] is not value[1][1]
    assert isinstance(copy[2], deque)
    assert copy[3][5] is not value[3][5]
