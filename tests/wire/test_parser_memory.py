"""A peer cannot make the parser hold more than twice the largest payload and 256 KiB, whatever it
sends.
"""

import tracemalloc
from itertools import chain, repeat

import pytest

from jsproto.wire.parser import Parser

MIB = 1_048_576
SLACK = 256 * 1024


def peak(chunks, **options) -> tuple[int, Parser, list]:
    """The most bytes that feeding took beyond the chunk at hand."""
    parser = Parser(max_payload=MIB, **options)
    frames = []
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for chunk in chunks:
            frames += parser.feed(chunk)
            if parser.failure is not None:
                break
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most - before, parser, frames


@pytest.mark.parametrize(
    "line",
    [b"MSG a 1 2147483648\r\n", b"HMSG a 1 2147483648 2147483648\r\n", b"MSG a 1 r 1048577\r\n"],
)
def test_two_gigabytes_announced_fail_at_the_announcement(line):
    used, parser, _ = peak([line, *repeat(bytes(65_536), 100)])

    assert "announced" in str(parser.failure)
    assert used < SLACK


@pytest.mark.parametrize("head", [b"", b"MSG a 1", b"INFO {", b"-ERR '"])
def test_200_megabytes_without_a_line_end_fail_at_the_bound(head):
    used, parser, _ = peak([head, *repeat(b"x" * 65_536, 3200)])

    assert "expected a line of at most" in str(parser.failure)
    assert used < SLACK


def test_200_megabytes_in_one_read_are_not_copied():
    chunk = b"x" * 200_000_000
    used, parser, _ = peak([chunk])
    used_with_end, other, _ = peak([chunk + b"\r\n"])

    assert parser.failure is not None
    assert other.failure is not None
    assert max(used, used_with_end) < SLACK


@pytest.mark.parametrize(
    "text", [b"[" * 50_000, b'{"a":' * 13_000, b'{"a":' + b"[" * 50_000 + b"]" * 10_000]
)
def test_json_nested_deep_fails(text):
    used, parser, _ = peak([b"INFO " + text + b"\r\n"])

    assert "expected INFO with a JSON object" in str(parser.failure)
    assert used < 2 * MIB + SLACK


@pytest.mark.parametrize("piece", [31, 1448, 16_383, 65_536])
@pytest.mark.parametrize("line", [b"MSG a 1 1048576\r\n", b"HMSG a 1 500000 1048576\r\n"])
def test_the_largest_payload_in_pieces_of_any_size_takes_at_most_two_copies(piece, line):
    data = memoryview(line + bytes(MIB) + b"\r\n")
    for last in (1, 2, 100):
        body = data[:-last]
        pieces = (bytes(body[at : at + piece]) for at in range(0, len(body), piece))
        used, parser, frames = peak(chain(pieces, [bytes(data[-last:])]))

        assert parser.failure is None
        assert len(frames) == 1
        assert used < 2 * MIB + SLACK


def test_a_payload_in_one_read_is_copied_once_beside_it():
    used, _, frames = peak([b"MSG a 1 1048576\r\n" + bytes(MIB) + b"\r\n"])

    assert len(frames) == 1
    assert used < MIB + SLACK


def test_blanks_without_end_cost_no_list_of_words():
    used, parser, _ = peak([b"MSG" + b" " * 50_000_000 + b"\r\n"])

    assert parser.failure is not None
    assert used < SLACK
