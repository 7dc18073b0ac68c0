"""Reading by columns gives what the loop of the parser gives, or nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jsproto.wire import batch_parser
from jsproto.wire.parser import Parser


def by_columns(data, **bounds):
    return batch_parser.read(
        data,
        0,
        **{"max_line": 8192, "max_payload": 1 << 20, "is_sid": str.isdecimal, **bounds},
    )


def outcome(data, step, **bounds):
    """Frames, and bytes held or what was expected in vain, of a parser that is fed so many bytes at
    once.
    """
    parser = Parser(**bounds)
    frames = [
        frame
        for start in range(0, len(data), step)
        for frame in parser.feed(data[start : start + step])
    ]
    return frames, parser.held if parser.failure is None else str(parser.failure).partition(
        ", got"
    )[0]


def stream(lines):
    return b"".join(lines)


def usual(count, reply=b" $JS.ACK.S.C.1.%d.1.1.0", payload=b"x" * 30):
    return [
        b"MSG s.%d 7%b %d\r\n%b\r\n" % (n, reply % n if reply else b"", len(payload), payload)
        for n in range(count)
    ]


@pytest.mark.parametrize("reply", [b" r.%d", b""])
@pytest.mark.parametrize(
    "tail", [b"", b"M", b"MSG a 1 r 30\r\n", b"MSG a 1 r 30\r\nxx", b"MSG a 1 r 2\r\nxx\r"]
)
def test_a_segment_of_one_form_is_read_up_to_the_message_that_is_not_all_there(reply, tail):
    data = stream(usual(5, reply))
    expected = [("7", f"s.{n}", f"r.{n}" if reply else "", None, b"x" * 30) for n in range(5)]

    assert by_columns(data + tail) == (expected, len(data))


#: What makes a message another one, or none at all.
ODD = (
    b"HMSG a 1 12 14\r\nNATS/1.0\r\n\r\nxy\r\n",
    b"PING\r\n",
    b"MSG a 1 r 6\r\nab\r\ncd\r\n",
    b"MSG a 1 r 2\r\n\r\n\r\n",
    b"MSG a 1  2\r\nxy\r\n",
    b"MSG  a 1 r 2\r\nxy\r\n",
    b"MSG a  r 2\r\nxy\r\n",
    b"MSG\ta\t1\tr\t2\r\nxy\r\n",
    b"MSG a\tb 1 r 2\r\nxy\r\n",
    b"msg a 1 r 2\r\nxy\r\n",
    b"MSG a 1 r 2\nxy\r\n",
    b"MSG a 1 r\n 2\r\nxy\r\n",
    b"MSG a\rb 1 r 2\r\nxy\r\n",
    b"MSG a 1 r 2\rMSG b 1 r 2\r\nxy\r\n",
    b"MSG a 1 r 02\r\nxy\r\n",
    b"MSG a 1 r -2\r\nxy\r\n",
    b"MSG a 1 r 3\r\nxy\r\n",
    b"MSG a 1 r 1\r\nxy\r\n",
    b"MSG a x r 2\r\nxy\r\n",
    b"MSG a 1 r 2 MSG\r\nxy\r\n",
    b"MSG 1 r 2\r\nxy\r\n",
    b"MSG a\xff 1 r 2\r\nxy\r\n",
    b"MSG \xc3\xa9 1 r 2\r\nxy\r\n",
    b"MSG a 1 r 2049\r\n" + b"y" * 2049 + b"\r\n",
    b"MSG a 1 r 2048\r\n" + b"y" * 2048 + b"\r\n",
    b"MSG a 1 r 0\r\n\r\n",
    b"MSG " + b"a" * 400 + b" 1 r 2\r\nxy\r\n",
    b"\r\n",
    b"\r\n" * 20,
)


@pytest.mark.parametrize("reply", [b" r.%d", b""])
@pytest.mark.parametrize("at", [0, 1, 40, 79, 80])
@pytest.mark.parametrize("odd", ODD)
def test_what_is_odd_is_read_as_the_loop_reads_it(odd, at, reply):
    lines = usual(80, reply)
    data = stream([*lines[:at], odd, *lines[at:]])

    for bounds in ({}, {"max_control_line": 300, "max_payload": 40}):
        assert outcome(data, len(data), **bounds) == outcome(data, 200, **bounds)


@given(
    st.lists(st.sampled_from([None, *ODD]), min_size=1, max_size=6),
    st.integers(0, 2**32),
    st.booleans(),
)
@example([b"MSG a 1 r 2 MSG\r\nxy\r\n", b"MSG 1 r 2\r\nxy\r\n"], 0, True)
def test_damage_anywhere_is_the_same_damage(parts, seed, acked):
    chance = random.Random(seed)
    lines = usual(70, b" r.%d" if acked else b"")
    for part in parts:
        if part is not None:
            lines.insert(chance.randrange(len(lines)), part)
    data = bytearray(stream(lines))
    for _ in range(chance.randrange(3)):
        data[chance.randrange(len(data))] = chance.choice(b" \r\n\tM1x\xc3")

    assert outcome(bytes(data), len(data)) == outcome(bytes(data), 97)


def test_lines_and_payloads_have_their_bounds():
    data = stream(usual(5, b" r.%d"))
    longest = len(b"MSG s.0 7 r.0 30\r")

    assert by_columns(data, max_line=longest) is not None
    assert by_columns(data, max_line=longest - 1) is None
    assert by_columns(data, max_payload=30) is not None
    assert by_columns(data, max_payload=29) is None


def test_nothing_but_line_ends_is_cut_into_a_bounded_number_of_pieces():
    data = stream(usual(batch_parser.MOST, b"", b""))
    frames, read = by_columns(data)

    assert (len(frames), read) == (
        batch_parser.MOST // 2,
        len(stream(usual(batch_parser.MOST // 2, b"", b""))),
    )
    assert by_columns(b"\r\n" * 100_000) is None


def test_what_was_tried_in_vain_is_tried_again_later_and_later(monkeypatch):
    tries = []
    read = batch_parser.read
    monkeypatch.setattr(
        batch_parser, "read", lambda *given, **bounds: tries.append(given) or read(*given, **bounds)
    )
    parser = Parser()
    odd = stream([b"PING\r\n", *usual(80)])
    counts = []
    for _ in range(40):
        parser.feed(odd)
        counts.append(len(tries))

    assert [n for n, (a, b) in enumerate(zip([0, *counts], counts, strict=False)) if b > a] == [
        0,
        2,
        6,
        14,
        30,
    ]
    for _ in range(200):
        parser.feed(odd)
    tries.clear()
    for _ in range(128):
        parser.feed(odd)
    assert len(tries) == 2

    sound = stream(usual(80))
    for _ in range(64):
        parser.feed(sound)
    tries.clear()
    parser.feed(sound)
    parser.feed(sound)
    assert len(tries) == 2


def test_what_is_left_of_a_cut_message_comes_first():
    data = stream(usual(200))
    cut = len(data) // 2 + 5
    parser = Parser()
    frames = parser.feed(data[:cut])
    frames += parser.feed(data[cut:])

    assert frames == outcome(data, 64)[0]
    assert len(frames) == 200
