"""Sizes of stored messages by the README's formula; a live test compares them with the state of a
stream.
"""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidHeader
from jsproto.ops.sizes import stored_size


def test_the_example_of_the_readme_takes_39_bytes() -> None:
    assert stored_size("test", b"hello") == 39
    assert stored_size("test", 5, storage=None) == 39


def test_headers_count_with_their_length() -> None:
    block = len(b"NATS/1.0\r\nK: v\r\n\r\n")

    assert stored_size("test", b"hello", {"K": "v"}) == 39 + 4 + block
    assert stored_size("test", b"hello", {"K": "v"}, storage="memory") == 4 + 5 + 16 + block
    assert stored_size("\u00e9", b"", storage="memory") == 2 + 16
    with pytest.raises(InvalidHeader):
        stored_size("a", 1, {"K:": "v"})
