"""A run of stored messages as columns: nothing is read before somebody asks, and then for all of
the run at once.

Theory. A reader of millions of messages wants a list of sequences, a list of payloads, not a
million objects. So the item of a range is `Rows`: some messages in the order of the stream, with
one list for each thing that can be known of them. Payloads are the very objects that the parser
made, and by consumer so are subjects and header blocks. Where a message stands (sequence, time) is
read from the reply subjects for the whole run in a few steps; in direct reading that, and the
subject, is read from the headers that the answer adds, message by message. Headers are parsed only
if asked for. What nobody asks for costs nothing; `Rows.parsed` says what was.

The quick reading proves itself, as in `jsproto.wire.batch_parser`: if the tokens of all reply
subjects together are as many as they must be, and every column holds what it must, then each reply
subject does. Else they are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, cast, final

from jsproto.errors.tree import InvalidResponse, shorten
from jsproto.jetstream.api.requests.messages import number
from jsproto.jetstream.api.timestamps import UINT64_MAX, Timestamp
from jsproto.jetstream.delivery.ack import AckSubject
from jsproto.jetstream.server_headers import bare_block
from jsproto.wire.frames import BLOCK, PAYLOAD, REPLY, SUBJECT, Delivery
from jsproto.wire.header_blocks import pairs_of_all
from jsproto.wire.headers import Pairs, header_value

_SUBJECT: Final = itemgetter(SUBJECT)
_REPLY: Final = itemgetter(REPLY)
_BLOCK: Final = itemgetter(BLOCK)
_PAYLOAD: Final = itemgetter(PAYLOAD)
#: Dots of a reply subject of the short form, and the numbers of both forms.
_SHORT: Final = 8
_NUMBERS: Final = 5
#: So many digits has the largest uint64.
_DIGITS: Final = 20


class Row(NamedTuple):
    """One message.

    Attributes:
        sequence: in the stream.
        timestamp: when the stream stored it, nanoseconds since 1970.
        subject: what it is stored under.
        headers: names and values in order.
        payload: its bytes.
    """

    sequence: int
    timestamp: int
    subject: str
    headers: Pairs
    payload: bytes


class Rows:
    """Some messages of a stream in order, at least one; base of both ways of reading.

    Attributes:
        stream: the stream that was asked for.
        frames: what came, one for each message.
    """

    __slots__ = ("_headers", "_sequences", "_timestamps", "frames", "stream")

    def __init__(self, stream: str, frames: Sequence[Delivery]) -> None:
        self.stream = stream
        self.frames = frames
        self._headers: list[Pairs] | None = None
        self._sequences: list[int] | None = None
        self._timestamps: list[int] | None = None

    # ------------------------------------------------------------------ columns

    @property
    def sequences(self) -> list[int]:
        """Their sequences in the stream, rising.

        Raises:
            InvalidResponse: a message that does not say where it stands.
        """
        if self._sequences is None:
            self._sequences = self._read_sequences()
        return self._sequences

    @property
    def timestamps(self) -> list[int]:
        """When the stream stored them, nanoseconds since 1970.

        Raises:
            InvalidResponse: a message that does not say where it stands.
        """
        if self._timestamps is None:
            self._timestamps = self._read_timestamps()
        return self._timestamps

    @property
    def subjects(self) -> list[str]:
        """What they are stored under."""
        return list(map(_SUBJECT, self.frames))

    @property
    def payloads(self) -> list[bytes]:
        """Their bytes."""
        return list(map(_PAYLOAD, self.frames))

    @property
    def blocks(self) -> list[bytes | None]:
        """Their header blocks as they are stored, ``None`` where a message has none."""
        return list(map(_BLOCK, self.frames))

    @property
    def headers(self) -> list[Pairs]:
        """Names and values of their headers in order; damaged lines are left out."""
        if self._headers is None:
            self._headers = pairs_of_all(self.blocks)
        return self._headers

    # ------------------------------------------------------------------ what only a consumer says

    @property
    def replies(self) -> list[str] | None:
        """The reply subjects; ``None`` in direct reading."""
        return None

    @property
    def consumer_sequences(self) -> list[int] | None:
        """The numbers of the deliveries; ``None`` in direct reading."""
        return None

    @property
    def deliveries(self) -> list[int] | None:
        """How often each was delivered; ``None`` in direct reading."""
        return None

    @property
    def pending(self) -> list[int] | None:
        """How many messages the consumer had left behind each; ``None`` in direct reading."""
        return None

    @property
    def consumer(self) -> str | None:
        """The consumer that they came from; ``None`` in direct reading."""
        return None

    @property
    def domain(self) -> str:
        """The JetStream domain, ``""`` if nobody says it."""
        return ""

    # ------------------------------------------------------------------ the run

    @property
    def first(self) -> int:
        """The first sequence."""
        return self.sequences[0]

    @property
    def last(self) -> int:
        """The last sequence."""
        return self.sequences[-1]

    @property
    def parsed(self) -> frozenset[str]:
        """What was read so far beyond what the parser gave: ``places`` (sequences, times),
        ``headers``.
        """
        places = self._sequences is not None or self._timestamps is not None
        said = (("places", places), ("headers", self._headers is not None))
        return frozenset(name for name, was in said if was)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Row]:
        return map(Row, self.sequences, self.timestamps, self.subjects, self.headers, self.payloads)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.stream}: {len(self)} messages>"

    def _read_sequences(self) -> list[int]:
        raise NotImplementedError

    def _read_timestamps(self) -> list[int]:
        raise NotImplementedError


# ------------------------------------------------------------------------------------------------ by consumer


@final
class DeliveredRows(Rows):
    """What a consumer delivered; all but the payloads, blocks and subjects is read from the reply
    subjects.

    Raises:
        InvalidResponse: when such a thing is read: a reply subject that says no place.
    """

    __slots__ = ("_tokens", "_width")

    def __init__(self, stream: str, frames: Sequence[Delivery]) -> None:
        super().__init__(stream, frames)
        self._tokens: Sequence[str] = ()
        self._width = 0

    @property
    def replies(self) -> list[str]:
        """The reply subjects."""
        return list(map(_REPLY, self.frames))

    @property
    def consumer_sequences(self) -> list[int]:
        """The numbers of the deliveries."""
        return self._column(2)

    @property
    def deliveries(self) -> list[int]:
        """How often each was delivered: 1, since nothing is acknowledged and so nothing comes
        again.
        """
        return self._column(0)

    @property
    def pending(self) -> list[int]:
        """How many messages the consumer had left behind each."""
        return self._column(4)

    @property
    def consumer(self) -> str:
        """The consumer that they came from."""
        return AckSubject.parse(self.frames[0][REPLY]).consumer

    @property
    def domain(self) -> str:
        """The JetStream domain, ``""`` if the reply subjects do not name one."""
        return AckSubject.parse(self.frames[0][REPLY]).domain

    def _read_sequences(self) -> list[int]:
        return self._column(1)

    def _read_timestamps(self) -> list[int]:
        return self._column(3)

    def _column(self, at: int) -> list[int]:
        """One of the five numbers behind the consumer's name."""
        if not self._width:
            self._split()
        numbers = self._read(at) if self._tokens else None
        if numbers is None:
            return [
                cast("int", AckSubject.parse(reply)[at + 4]) for reply in map(_REPLY, self.frames)
            ]
        return numbers

    def _split(self) -> None:
        """Cut all reply subjects at once, if they differ in nothing but their numbers.

        The last token of one and the first number of the next stay together, with a line end
        between them: if each such place holds one, and there are no others, then each reply subject
        has as many tokens as the first.
        """
        first = self.frames[0][REPLY]
        names = ".".join(first.split(".")[: 4 if first.count(".") == _SHORT else 6])
        # Behind the five numbers there may be tokens that are none of our business.
        width = first.count(".") - names.count(".")
        text = "\n" + "\n".join(map(_REPLY, self.frames))
        tokens: Sequence[str] = text.replace(f"\n{names}.", "\n").split(".")
        count = len(self.frames)
        self._width = width - 1 or 1
        seams = tokens[0 :: self._width]
        sound = (
            width >= _NUMBERS
            and names.startswith("$JS.ACK.")
            and len(tokens) == self._width * count + 1
            and sum(["\n" in seam for seam in seams]) == count
            and "\n" not in seams[-1]
        )
        self._tokens = tokens if sound else ()

    def _read(self, at: int) -> list[int] | None:
        """A column of the tokens, if it holds nothing but numbers."""
        width = self._width
        if at == 0:
            column: Sequence[str] = [seam.rpartition("\n")[2] for seam in self._tokens[0:-1:width]]
        elif at == width:
            column = [seam.partition("\n")[0] for seam in self._tokens[width::width]]
        else:
            column = self._tokens[at::width]
        digits = "".join(column)
        if (
            all(column)
            and digits.isascii()
            and digits.isdecimal()
            and max(map(len, column)) <= _DIGITS
        ):
            numbers = list(map(int, column))
            if max(numbers) <= UINT64_MAX:
                return numbers
        return None


# ------------------------------------------------------------------------------------------------ directly


@final
class StoredRows(Rows):
    """What direct gets answered: each message says its place, its subject too, in headers behind
    its own.

    Raises:
        InvalidResponse: when such a thing is read: a message without it.
    """

    __slots__ = ()

    @property
    def subjects(self) -> list[str]:
        """What they are stored under."""
        return [place_of(block, b"Nats-Subject") for block in map(_BLOCK, self.frames)]

    @property
    def blocks(self) -> list[bytes | None]:
        """Their header blocks as they are stored, without what the answer adds."""
        return [bare_block(block or b"") for block in map(_BLOCK, self.frames)]

    def _read_sequences(self) -> list[int]:
        return [number(place_of(block, b"Nats-Sequence")) for block in map(_BLOCK, self.frames)]

    def _read_timestamps(self) -> list[int]:
        return [instant(place_of(block, b"Nats-Time-Stamp")) for block in map(_BLOCK, self.frames)]


def place_of(block: bytes | None, name: bytes) -> str:
    """What a message that was got directly says of its place.

    Raises:
        InvalidResponse: nothing.
    """
    said = None if block is None else header_value(block, name)
    if not said:
        raise InvalidResponse(f"expected {name.decode()} of a stored message, got {shorten(block)}")
    return said


def instant(text: str) -> int:
    """A time as a header says it, in nanoseconds since 1970.

    Raises:
        InvalidResponse: it is none.
    """
    moment = Timestamp.parse(text)
    if moment is None:
        raise InvalidResponse(f"expected the time of a stored message, got {shorten(text)}")
    return moment.ns
