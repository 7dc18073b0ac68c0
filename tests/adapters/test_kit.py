"""What the kit says of itself is what its parts ask for."""

from __future__ import annotations

import inspect
import re

from jsproto_io import kit


def missing_in(kind):
    """The methods that whoever derives from a client must add."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name
        for name, each in found
        if getattr(each, "__isabstractmethod__", False)
        or "raise NotImplementedError" in inspect.getsource(each)
    }


def test_its_table_names_what_is_missing_and_nothing_else():
    blocking, coroutines = (
        set(re.findall(r"`(_\w+|close)`", row.split("|")[3]))
        for row in kit.__doc__.splitlines()
        if re.match(r"\| (calls|coroutines)", row)
    )

    assert missing_in(kit.SelectorClient) == set()
    assert {"_drive", "_deadline"} == blocking
    assert all(hasattr(kit.SelectorClient, name) for name in blocking)
    assert missing_in(kit.AsyncClient) == coroutines
