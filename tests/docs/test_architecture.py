"""The page on the architecture shows the rooms that there are, and names only files that there are."""

from __future__ import annotations

import re

import pytest

from tests.docs.rooms import PAGE, REPOSITORY, page, reduced

TEXT = PAGE.read_text(encoding="utf-8")
FILES = sorted(set(re.findall(r"`((?:jsproto|adapters|tests|spec|docs)/[\w./]+)`", TEXT)))


def test_the_table_of_rooms_is_what_the_imports_say():
    assert page(TEXT) == TEXT, "run python tests/docs/rooms.py"


def test_an_arrow_that_a_longer_way_says_already_is_left_out():
    assert reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {
        "a": {"b"},
        "b": {"c"},
        "c": set(),
    }


@pytest.mark.parametrize("name", FILES)
def test_each_file_that_the_page_names_is_there(name):
    assert (REPOSITORY / name).exists()
