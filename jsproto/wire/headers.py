"""The header block of a message: an ordered multimap that loses nothing and never raises while
reading (ADR-4).

Theory. On the wire a block is ``NATS/1.0[ <status>[ <description>]]`` and lines ``Name: value``,
each ended by CR LF, closed by an empty line. The server passes a publisher's block on as it came,
so whatever anybody wrote can arrive here: repeated names, odd case, no blank behind the colon,
lines without a colon, LF alone, no version line at all. Reading is therefore total: damage is local
to its line and listed in :attr:`Headers.defects`, every other header is there.

Writing is strict: what this class builds can neither end its line nor its block early, nor be read
as another name.

What is decided here:

- Names keep their case; two spellings are two names (server: look-ups are byte-exact, client.go
  ``sliceHeader``).
- Values are UTF-8; bytes that are none survive as surrogate escapes and are written back as the
  same bytes.
- Blanks and tabs around a value are no part of it. Reading strips them; building *refuses* them,
  since the server keeps trailing ones (``Nats-Msg-Id: 1`` and ``Nats-Msg-Id: 1<blank>`` are two ids
  to it) and no reader would give them back.
- A line that starts with a blank is not joined to the one before: folding is obsolete and a way to
  hide a header.

Three functions serve whoever needs less of a block than its headers: :func:`status_of` and
:func:`header_value` one fact, :func:`pairs_of` the pairs alone, for readers of many messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Final, NamedTuple, TypeAlias, TypeGuard, cast, final

from attrs import frozen

from jsproto.errors.tree import InvalidHeader, shorten

#: Names and values in order.
Pairs: TypeAlias = tuple[tuple[str, str], ...]
#: What :class:`Headers` is built from: a mapping to one value or several, or pairs in order.
HeaderItems: TypeAlias = "Headers | Mapping[str, str | Sequence[str]] | Iterable[tuple[str, str]]"

#: The block that says nothing: a publisher need not send it.
EMPTY_BLOCK: Final = b"NATS/1.0\r\n\r\n"

_VERSION: Final = "NATS/1.0"
_BLANKS: Final = " \t"
#: ADR-4: printable ASCII without the colon.
_NAME: Final = re.compile(r"[!-9;-~]+").fullmatch
#: Exactly three digits behind the version and blanks (B118, B119); the description is trimmed by
#: the caller.
_STATUS: Final = re.compile(rb"NATS/1\.0[ \t]+([0-9]{3})(?![^ \t\r\n])[ \t]*([^\r\n]*)").match
#: So many lines of a block are read. Each becomes some Python objects, so a block of tiny lines
#: would take 25 times its size.
MOST_LINES: Final = 10_000
#: A block may be damage from end to end: so many lines are listed, the rest is counted.
_LISTED_DEFECTS: Final = 64


class Status(NamedTuple):
    """Inline status of a block: three digits and a description, which may be empty."""

    code: int
    description: str


@final
@frozen
class HeaderDefect:
    """One line that breaks ADR-4: the line as it came, without its line end, and what is wrong with
    it.
    """

    line: bytes
    reason: str


def status_of(block: bytes) -> tuple[int, str] | None:
    """Status code and description of a block, or ``None`` if its first line has none; reads nothing
    else.
    """
    found = _STATUS(block)
    if found is None:
        return None
    code, description = found.groups()
    return int(code), description.rstrip(b" \t").decode("utf-8", "surrogateescape")


def header_value(block: bytes, name: bytes) -> str | None:
    """Last value of one exactly spelt name, or ``None``; equals ``Headers.parse(block).last(name)``
    on a sound block.

    The last, because the server writes its own headers behind the stored ones.
    """
    start = block.rfind(b"\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 2
    end = block.find(b"\n", start)
    value = block[start:] if end < 0 else block[start:end]
    return value.strip(b" \t\r").decode("utf-8", "surrogateescape")


def pairs_of(block: bytes) -> Pairs:
    """Names and values in order, without those of damaged lines: ``Headers.parse(block).items()``,
    without the object.

    `jsproto.wire.header_blocks` does it for many blocks at once.
    """
    return _HeaderPass(block.decode("utf-8", "surrogateescape")).result()[0]


def is_name(text: str) -> bool:
    """Whether a header can have this name (ADR-4)."""
    return _NAME(text) is not None


@final
class Headers:
    """Ordered, case-preserving multimap of one message; immutable.

    Iteration, ``len`` and ``in`` see distinct names in the order of their first appearance;
    ``headers[name]`` is the first value (``KeyError`` if there is none); :meth:`items` gives every
    pair.

    Args:
        items: a mapping to one value or a sequence of values, or pairs in order.

    Raises:
        InvalidHeader: a name that is no token of printable ASCII without a colon; a value with CR,
            LF or NUL, or with a blank at either end, or that cannot be written as UTF-8.
    """

    __slots__ = ("_block", "_defects", "_pairs", "_status")

    _block: bytes
    _defects: tuple[HeaderDefect, ...]
    _pairs: tuple[tuple[str, str], ...]
    _status: Status | None

    def __init__(self, items: HeaderItems = ()) -> None:
        self._pairs = tuple(starmap(_checked, _pairs_of(items)))
        self._status = None
        self._defects = ()
        self._block = _written(self._pairs, None)

    @classmethod
    def _of(cls, pairs: tuple[tuple[str, str], ...]) -> Headers:
        self = cls.__new__(cls)
        self._pairs = pairs
        self._status = None
        self._defects = ()
        self._block = _written(pairs, None)
        return self

    @classmethod
    def parse(cls, block: bytes) -> Headers:
        """Read any bytes as a header block. Never raises: see :attr:`defects`."""
        self = cls.__new__(cls)
        status = status_of(block)
        self._status = None if status is None else Status(*status)
        self._pairs, self._defects = _HeaderPass(block.decode("utf-8", "surrogateescape")).result()
        self._block = _written(self._pairs, self._status) if self._defects else block
        return self

    # ------------------------------------------------------------------------------------------ reading

    @property
    def status(self) -> Status | None:
        """The inline status, or ``None``: exactly three digits behind the version make one (B118,
        B119).

        A publisher can forge it; whether it counts is for the reader of the subject to judge.
        """
        return self._status

    @property
    def defects(self) -> tuple[HeaderDefect, ...]:
        """What was wrong with the block that was read, in order; empty if it was sound or built
        here.
        """
        return self._defects

    def first(self, name: str, default: str | None = None) -> str | None:
        """First value of exactly this name."""
        for known, value in self._pairs:
            if known == name:
                return value
        return default

    def get(self, name: str, default: str | None = None) -> str | None:
        """As `first`, under the name that mappings have for it."""
        return self.first(name, default)

    def last(self, name: str) -> str | None:
        """Last value of exactly this name: where the server added a header to stored ones, its own."""
        for known, value in reversed(self._pairs):
            if known == name:
                return value
        return None

    def all(self, name: str) -> list[str]:
        """Every value of exactly this name, in order."""
        return [value for known, value in self._pairs if known == name]

    def folded(self, name: str) -> list[str]:
        """Every value of this name in whatever case it was written, in order."""
        wanted = name.casefold()
        return [value for known, value in self._pairs if known.casefold() == wanted]

    def items(self) -> tuple[tuple[str, str], ...]:
        """All pairs in order, repeated names included."""
        return self._pairs

    def keys(self) -> Sequence[str]:
        """Distinct names in the order of their first appearance."""
        return tuple(dict.fromkeys(name for name, _ in self._pairs))

    def __getitem__(self, name: str) -> str:
        value = self.first(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return any(known == name for known, _ in self._pairs)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Headers):
            return NotImplemented
        return self._pairs == other._pairs and self._status == other._status

    def __hash__(self) -> int:
        return hash((self._pairs, self._status))

    def __repr__(self) -> str:
        status = "" if self._status is None else f" status={tuple(self._status)!r}"
        damage = f" defects={len(self._defects)}" if self._defects else ""
        return f"<Headers {list(self._pairs)!r}{status}{damage}>"

    # ------------------------------------------------------------------------------------------ writing

    def with_added(self, name: str, value: str) -> Headers:
        """These pairs and one more behind them; a status or defects of a block that was read are
        not taken along.
        """
        return Headers._of((*self._pairs, _checked(name, value)))

    def merged(self, items: HeaderItems) -> Headers:
        """These pairs, with every name that ``items`` holds replaced by its values there (at the
        end).
        """
        added = Headers(items).items()
        replaced = {name for name, _ in added}
        return Headers._of((*(pair for pair in self._pairs if pair[0] not in replaced), *added))

    def encode(self) -> bytes:
        """The block with its empty line: the very bytes that were read if they were sound, else
        written anew.
        """
        return self._block


def _pairs_of(items: object) -> Iterator[tuple[object, object]]:
    """Pairs of whatever a caller gave; what is none of :data:`HeaderItems` is refused here or by
    :func:`_checked`.

    The usual forms are asked for by their own types first: asking whether something is a Mapping or
    a Sequence costs more than the rest.
    """
    if isinstance(items, Headers):
        yield from items.items()
    elif isinstance(items, (list, tuple)):
        for pair in cast("list[object]", items):
            yield pair if _is_pair(pair) else _two_of(pair)
    elif isinstance(items, (dict, Mapping)):
        for name, values in cast("Mapping[object, object]", items).items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
                yield name, values
            else:
                for value in cast("Sequence[object]", values):
                    yield name, value
    elif isinstance(items, Iterable) and not isinstance(items, (str, bytes)):
        for pair in cast("Iterable[object]", items):
            yield _two_of(pair)
    else:
        raise InvalidHeader(f"expected a mapping or pairs (name, value), got {shorten(items)}")


def _is_pair(pair: object) -> TypeGuard[tuple[object, object]]:
    return type(pair) is tuple and len(cast("tuple[object, ...]", pair)) == 2


def _two_of(pair: object) -> tuple[object, object]:
    if not isinstance(pair, Sequence) or isinstance(pair, (str, bytes)):
        raise InvalidHeader(f"expected pairs (name, value), got {shorten(pair)}")
    both = cast("Sequence[object]", pair)
    if len(both) != 2:
        raise InvalidHeader(f"expected pairs (name, value), got {shorten(both)}")
    return both[0], both[1]


def _checked(name: object, value: object) -> tuple[str, str]:
    if not isinstance(name, str) or _NAME(name) is None:
        raise InvalidHeader(
            f"expected a header name of printable ASCII without blank and colon (ADR-4), got {shorten(name)}"
        )
    if not isinstance(value, str):
        raise InvalidHeader(
            f"expected a str as value of header {shorten(name)}, got {type(value).__name__}"
        )
    if "\r" in value or "\n" in value or "\0" in value:
        raise InvalidHeader(
            f"expected no CR, LF or NUL in the value of header {name}, got {shorten(value)}"
        )
    if value != value.strip(_BLANKS):
        raise InvalidHeader(
            f"expected no blank around the value of header {name} (readers strip it), got {shorten(value)}"
        )
    if value.isascii():
        return name, value
    try:
        # Escapes that together spell UTF-8 become that character, as every reader will see it.
        return name, value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidHeader(
            f"expected text that UTF-8 can carry in header {name}, got {shorten(value)}"
        ) from None


def _written(pairs: Iterable[tuple[str, str]], status: Status | None) -> bytes:
    first = (
        _VERSION
        if status is None
        else f"{_VERSION} {status.code:03d} {status.description}".rstrip(_BLANKS)
    )
    lines = [f"{name}: {value}" if value else f"{name}:" for name, value in pairs]
    return "\r\n".join((first, *lines, "\r\n")).encode("utf-8", "surrogateescape")


class _HeaderPass:
    """One pass over a block; every line is taken, or named as damage, or both."""

    __slots__ = ("damage", "left", "pairs", "unlisted")

    def __init__(self, text: str) -> None:
        self.left = MOST_LINES
        self.pairs: list[tuple[str, str]] = []
        self.damage: list[HeaderDefect] = []
        self.unlisted = 0
        self._block(text)

    def result(self) -> tuple[tuple[tuple[str, str], ...], tuple[HeaderDefect, ...]]:
        if self.unlisted:
            self.damage.append(HeaderDefect(b"", f"{self.unlisted} more damaged lines"))
        return tuple(self.pairs), tuple(self.damage)

    def _defect(self, line: str, reason: str) -> None:
        if len(self.damage) < _LISTED_DEFECTS:
            self.damage.append(HeaderDefect(line.encode("utf-8", "surrogateescape"), reason))
        else:
            self.unlisted += 1

    def _block(self, text: str) -> None:
        at = 0
        seen_version = False
        while (end := text.find("\n", at)) >= 0:
            if text[end - 1 : end] == "\r" and end > at:
                line = text[at : end - 1]
            else:
                line = text[at:end]
                self._defect(line, "ends with LF alone")
            if not self.left:
                self._unread(len(text) - at)
                return
            at = end + 1
            if not seen_version:
                seen_version = True
                self._first(line)
            elif line:
                self.left -= 1
                self._line(line)
            else:
                break
        else:
            self._defect(text[at:], "block not closed by an empty line")
            return
        if at < len(text):
            self._defect(text[at:], "bytes behind the empty line")

    def _unread(self, size: int) -> None:
        if size > len("\r\n"):
            self.damage.append(
                HeaderDefect(
                    b"", f"expected at most {MOST_LINES} headers, {size} bytes were not read"
                )
            )

    def _first(self, line: str) -> None:
        rest = line.removeprefix(_VERSION)
        if rest == line or rest[:1] not in {"", " ", "\t"}:
            self._defect(line, f"expected {_VERSION} first")
            if ":" in line:
                self._line(line)
        elif "\r" in rest:
            self._defect(line, "CR inside a line")
        elif rest.strip(_BLANKS) and status_of(line.encode("utf-8", "surrogateescape")) is None:
            self._defect(line, "status is not three digits")

    def _line(self, line: str) -> None:
        name, colon, value = line.partition(":")
        lost = (
            "starts with a blank" if line.startswith((" ", "\t"))
            else "no colon" if not colon
            else "no name before the colon" if not name
            else "CR inside a line" if "\r" in line
            else ""
        )  # fmt: skip
        if lost:
            self._defect(line, lost)
            return
        if _NAME(name) is None:
            self._defect(line, "name is not printable ASCII without blanks")
        elif "\0" in value:
            self._defect(line, "NUL in the value")
        self.pairs.append((name, value.strip(_BLANKS)))
