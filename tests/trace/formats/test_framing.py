from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.trace.formats.framing import Framer, Piece
from tests.pieces import copied

INFO = b'INFO {"server_id":"N"} \r\n'
PUB = (b"PUB a\t5 \r\n", b"1\r\n\r\n\r\n")
HPUB = (b"hpub $JS.API.x r 12 14\r\n", b"NATS/1.0\r\n\r\nab\r\n")
FRAMES = [INFO, b"PING\r\n", b"".join(PUB), b"+OK\n", b"".join(HPUB), b"-ERR 'no'\r\n"]
PIECES = [Piece(INFO, b""), Piece(b"PING\r\n", b""), Piece(*PUB), Piece(b"+OK\n", b""), Piece(*HPUB), Piece(b"-ERR 'no'\r\n", b"")]  # fmt: skip


def framed(*parts):
    framer = Framer()
    return [piece for part in parts for piece in framer.feed(part)]


def test_frames_come_out_with_every_byte_they_were_sent_with():
    assert framed(b"".join(FRAMES)) == PIECES


@given(st.lists(st.integers(0, len(b"".join(FRAMES)))))
def test_it_does_not_matter_where_the_bytes_are_cut(cuts):
    whole = b"".join(FRAMES)
    marks = [0, *sorted(cuts), len(whole)]

    assert framed(*(whole[a:b] for a, b in pairwise(marks))) == PIECES


@pytest.mark.parametrize(
    "bad",
    [
        b"WHAT\r\n",
        b"PUB 5\r\n",
        b"PUB a x\r\n",
        b"MSG a 1 9999999999\r\n",
        b"MSG a 1 99999999\r\n",
        b"PUB a 2\r\nabc\r\n",
        b"x" * 1_048_577,
    ],
)
def test_from_the_first_senseless_byte_on_everything_is_one_piece(bad):
    framer = Framer()

    assert framer.feed(INFO + bad) == [Piece(INFO, b""), Piece(b"", bad)]
    assert framer.feed(INFO) == [Piece(b"", INFO)]
    assert framer.feed(b"") == []
    assert framer.rest() == 0


def test_a_frame_that_is_not_whole_is_the_rest():
    framer = Framer()

    assert framer.feed(b"PUB a 5\r\n123") == []
    assert framer.rest() == 12
    assert framer.rest() == 0
    assert framer.feed(INFO) == [Piece(INFO, b"")]


@pytest.mark.parametrize("piece", [1448, 65_536])
def test_a_large_frame_in_small_pieces_is_copied_a_few_times_and_not_once_for_each(piece):
    size = 4 << 20
    line, body = b"PUB a %d\r\n" % size, bytes(size) + b"\r\n"
    taken, found = copied(Framer().feed, line + body, piece)

    assert found == [Piece(line, body)]
    assert taken < 4 * size
