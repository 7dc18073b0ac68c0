"""Hypothesis strategies for what travels on the wire.

Imported on demand only: Hypothesis is a dependency of tests (extra ``test``), and nothing else in
the library needs it. What a strategy draws is valid; to test refusals, spoil it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from hypothesis import strategies as st

from jsproto.testing.simserver.consumers.acks import ack_subject
from jsproto.wire.frames import Delivery

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
#: Printable ASCII without the colon: what a header name may hold (ADR-4).
_NAME: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != ":")

#: Statuses of pulls: code, description, and whether they carry the pending headers (ADR-37 "Status
#: handling").
STATUSES: Final[tuple[tuple[int, str, bool], ...]] = (
    (404, "No Messages", False),
    (408, "Request Timeout", True),
    (408, "Requests Pending", False),
    (409, "Message Size Exceeds MaxBytes", True),
    (409, "Batch Completed", True),
    (409, "Exceeded MaxRequestBatch of 5", False),
    (409, "Exceeded MaxRequestExpires of 5s", False),
    (409, "Exceeded MaxRequestMaxBytes of 1000", False),
    (409, "Exceeded MaxWaiting", False),
    (409, "Consumer is push based", False),
    (409, "Consumer Deleted", False),
    (409, "Leadership Change", False),
    (409, "Server Shutdown", True),
    (400, "Bad Request - heartbeat value too large", False),
    (412, "Required Api Level", False),
    (423, "Nats-Pin-Id mismatch", False),
    (423, "Nats-Wrong-Pin-Id", True),
    (503, "", False),
)


class StatusLine(NamedTuple):
    """One status: its code, its description, and its header block as bytes."""

    code: int
    description: str
    block: bytes


def tokens() -> st.SearchStrategy[str]:
    """One token of a subject, without wildcards; now and then with letters beyond ASCII."""
    return st.text(_LETTERS + "äß語", min_size=1, max_size=8)


def subjects(max_tokens: int = 4) -> st.SearchStrategy[str]:
    """Literal subjects."""
    return st.lists(tokens(), min_size=1, max_size=max_tokens).map(".".join)


def patterns(max_tokens: int = 4) -> st.SearchStrategy[str]:
    """Subjects that may hold wildcards, ``>`` at the end only."""
    each = tokens() | st.just("*")
    return st.builds(_pattern, st.lists(each, min_size=1, max_size=max_tokens), st.booleans())


def sids() -> st.SearchStrategy[str]:
    """Subscription ids as a client numbers them."""
    return st.integers(1, 10_000).map(str)


def payloads(max_size: int = 64) -> st.SearchStrategy[bytes]:
    """Any bytes, often with line ends and protocol words in them."""
    traps = st.sampled_from(
        [b"", b"\r\n", b"PING\r\n", b"MSG a 1 5\r\nhello\r\n", b"\x00", b"NATS/1.0 503\r\n\r\n"]
    )
    return st.binary(max_size=max_size) | traps


def headers(max_count: int = 4) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Names with values, in order, repetitions allowed; values without blanks at their ends."""
    value = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=12).map(
        str.strip
    )
    return st.lists(st.tuples(st.text(_NAME, min_size=1, max_size=10), value), max_size=max_count)


def blocks() -> st.SearchStrategy[bytes]:
    """Whole header blocks."""
    return headers().map(block_of)


def statuses() -> st.SearchStrategy[StatusLine]:
    """Statuses that the server sends to a pull, with the headers that they carry."""
    return st.builds(
        _status, st.sampled_from(STATUSES), st.integers(0, 1000), st.integers(0, 100_000)
    )


def deliveries() -> st.SearchStrategy[Delivery]:
    """Messages of a consumer, as the parser would give them."""
    reply = st.builds(
        _reply, st.integers(1, 5), st.integers(1, 2**40), st.integers(0, 1000), st.booleans()
    )
    return st.tuples(sids(), subjects(), reply, st.none() | blocks(), payloads())


def chunkings(data: bytes, max_cuts: int = 8) -> st.SearchStrategy[list[bytes]]:
    """The same bytes in pieces, none of them empty."""
    cuts = st.sets(st.integers(1, max(len(data) - 1, 1)), max_size=max_cuts).map(sorted)
    return cuts.map(_cutter(data))


def frame_of(delivery: Delivery) -> bytes:
    """The bytes of a delivery on the wire."""
    sid, subject, reply, block, payload = delivery
    words = " ".join(word for word in (subject, sid, reply) if word).encode()
    if block is None:
        return b"MSG %b %d\r\n%b\r\n" % (words, len(payload), payload)
    return b"HMSG %b %d %d\r\n%b%b\r\n" % (
        words,
        len(block),
        len(block) + len(payload),
        block,
        payload,
    )


def block_of(pairs: list[tuple[str, str]], first_line: str = "NATS/1.0") -> bytes:
    """A header block with these names and values."""
    lines = [first_line, *(f"{name}: {value}" for name, value in pairs)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _pattern(front: list[str], rest: bool) -> str:
    return ".".join([*front, ">"] if rest else front)


def _reply(deliveries: int, seq: int, ahead: int, v2: bool) -> str:
    return ack_subject("S", "C", (deliveries, seq, seq, 1_800_000_000_000_000_000, ahead), v2=v2)


def _status(row: tuple[int, str, bool], messages: int, size: int) -> StatusLine:
    code, description, pending = row
    pairs = (
        [("Nats-Pending-Messages", str(messages)), ("Nats-Pending-Bytes", str(size))]
        if pending
        else []
    )
    return StatusLine(code, description, block_of(pairs, f"NATS/1.0 {code} {description}".rstrip()))


def _cutter(data: bytes) -> Callable[[list[int]], list[bytes]]:
    def cut(places: list[int]) -> list[bytes]:
        edges = [0, *(place for place in places if place < len(data)), len(data)]
        return [data[start:end] for start, end in pairwise(edges) if start < end]

    return cut
