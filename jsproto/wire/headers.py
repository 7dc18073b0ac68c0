"""Header blocks of messages: an ordered multimap that keeps every header (ADR-4).

Theory. On the wire a block is ``NATS/1.0[ <status>[ <description>]]`` and lines ``Name: value``.
CR LF ends each line, and an empty line ends the block. The server passes the block of a publisher
on without a change. So a block may have repeated names, unusual case, no blank after the colon,
lines without a colon, LF alone, or no version line. Parsing never raises: a damaged line affects
that line only and is listed in :attr:`Headers.defects`. Every other header is kept.

Building is strict. A name or value that this class accepts can neither end its line or block early
nor be parsed as another header.

Rules:

- Names keep their case; two spellings are two names (server: look-ups are byte-exact, client.go
  ``sliceHeader``).
- Values are UTF-8. Other bytes become surrogate escapes and are written back as the same bytes.
- Blanks and tabs around a value do not belong to it. Parsing strips them. Building *refuses* them:
  the server keeps trailing blanks (``Nats-Msg-Id: 1`` and ``Nats-Msg-Id: 1<blank>`` are two ids for
  it), but readers strip them.
- A line that starts with a blank does not continue the line before. Folding is obsolete, and an
  attacker can hide a header with it.

Three functions serve code that needs less than :class:`Headers`. :func:`status_of` and
:func:`header_value` read one fact. :func:`pairs_of` reads the pairs only and is cheaper for many
messages.
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
#: Accepted by :class:`Headers`: a mapping to one value or several, or pairs in order.
HeaderItems: TypeAlias = "Headers | Mapping[str, str | Sequence[str]] | Iterable[tuple[str, str]]"

#: An empty block. A publisher need not send it.
EMPTY_BLOCK: Final = b"NATS/1.0\r\n\r\n"

_VERSION: Final = "NATS/1.0"
_BLANKS: Final = " \t"
#: ADR-4: printable ASCII without the colon.
_NAME: Final = re.compile(r"[!-9;-~]+").fullmatch
#: Exactly three digits after the version and blanks make a status. The caller trims the
#: description.
_STATUS: Final = re.compile(rb"NATS/1\.0[ \t]+([0-9]{3})(?![^ \t\r\n])[ \t]*([^\r\n]*)").match
#: Most lines of a block that are parsed. Each line becomes several Python objects, so a block of
#: tiny lines would take 25 times its size.
MOST_LINES: Final = 10_000
#: Most defects that are listed for one block. The rest is counted.
_LISTED_DEFECTS: Final = 64


class Status(NamedTuple):
    """Status of a block: a three-digit code and a description, which may be empty."""

    code: int
    description: str


@final
@frozen
class HeaderDefect:
    """One line that violates ADR-4: its bytes without the line end, and what is wrong with it."""

    line: bytes
    reason: str


def status_of(block: bytes) -> tuple[int, str] | None:
    """Return status code and description of a block, or ``None`` if its first line has no status.

    It reads the first line only.
    """
    found = _STATUS(block)
    if found is None:
        return None
    code, description = found.groups()
    return int(code), description.rstrip(b" \t").decode("utf-8", "surrogateescape")


def header_value(block: bytes, name: bytes) -> str | None:
    """Return the last value of one name, compared byte by byte, or ``None``.

    On a block without damage the result equals ``Headers.parse(block).last(name)``. It is the last
    value, because the server writes its own headers after those of the publisher.
    """
    start = block.rfind(b"\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 2
    end = block.find(b"\n", start)
    value = block[start:] if end < 0 else block[start:end]
    return value.strip(b" \t\r").decode("utf-8", "surrogateescape")


def pairs_of(block: bytes) -> Pairs:
    """Return names and values in order; lines that are no pair are left out.

    The result equals ``Headers.parse(block).items()``, without building the object.
    `jsproto.wire.header_blocks` does the same for many blocks at once.
    """
    return _HeaderPass(block.decode("utf-8", "surrogateescape")).result()[0]


def is_name(text: str) -> bool:
    """Tell whether a header can have this name (ADR-4)."""
    return _NAME(text) is not None


@final
class Headers:
    """Headers of one message: an immutable, ordered multimap that keeps the case of names.

    Iteration, ``len`` and ``in`` see distinct names in the order of their first appearance.
    ``headers[name]`` is the first value and raises ``KeyError`` if there is none. :meth:`items`
    returns every pair.

    Args:
        items: a mapping to one value or a sequence of values, or pairs in order.

    Raises:
        InvalidHeader: a name is not a token of printable ASCII without a colon; or a value holds
            CR, LF or NUL, has a blank at either end, or cannot be encoded as UTF-8.
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
        """Parse any bytes as a header block. It never raises; see :attr:`defects`."""
        self = cls.__new__(cls)
        status = status_of(block)
        self._status = None if status is None else Status(*status)
        self._pairs, self._defects = _HeaderPass(block.decode("utf-8", "surrogateescape")).result()
        self._block = _written(self._pairs, self._status) if self._defects else block
        return self

    # ------------------------------------------------------------------------------------ reading

    @property
    def status(self) -> Status | None:
        """The status of the block, or ``None``. It has exactly three digits after the version.

        A publisher can forge a status. The code that reads the subject decides whether it counts.
        """
        return self._status

    @property
    def defects(self) -> tuple[HeaderDefect, ...]:
        """The defects of the parsed block, in order; empty if it had none or was built here."""
        return self._defects

    def first(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of exactly this name, or ``default``."""
        for known, value in self._pairs:
            if known == name:
                return value
        return default

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of exactly this name, as `first`: the name that mappings use."""
        return self.first(name, default)

    def last(self, name: str) -> str | None:
        """Return the last value of exactly this name: the server adds its headers last."""
        for known, value in reversed(self._pairs):
            if known == name:
                return value
        return None

    def all(self, name: str) -> list[str]:
        """Return every value of exactly this name, in order."""
        return [value for known, value in self._pairs if known == name]

    def folded(self, name: str) -> list[str]:
        """Return every value of this name in any case, in order."""
        wanted = name.casefold()
        return [value for known, value in self._pairs if known.casefold() == wanted]

    def items(self) -> tuple[tuple[str, str], ...]:
        """Return all pairs in order, repeated names included."""
        return self._pairs

    def keys(self) -> Sequence[str]:
        """Return the distinct names in the order of their first appearance."""
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

    # ------------------------------------------------------------------------------------ writing

    def with_added(self, name: str, value: str) -> Headers:
        """Return headers with one more pair at the end.

        The result has no status and no defects, also if these headers were parsed.
        """
        return Headers._of((*self._pairs, _checked(name, value)))

    def merged(self, items: HeaderItems) -> Headers:
        """Return these headers with the names of ``items`` replaced; the new pairs come last."""
        added = Headers(items).items()
        replaced = {name for name, _ in added}
        return Headers._of((*(pair for pair in self._pairs if pair[0] not in replaced), *added))

    def encode(self) -> bytes:
        """Return the block with its empty line.

        For a parsed block without defects these are the bytes that arrived.
        """
        return self._block


def _pairs_of(items: object) -> Iterator[tuple[object, object]]:
    """Yield the pairs of ``items``; this or :func:`_checked` refuses what is no HeaderItems.

    The concrete types are tested first, because ``isinstance`` with Mapping or Sequence costs more
    than the rest of this function.
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
            "expected a header name of printable ASCII without blank and colon (ADR-4),"
            f" got {shorten(name)}"
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
            f"expected no blank around the value of header {name} (readers strip it),"
            f" got {shorten(value)}"
        )
    if value.isascii():
        return name, value
    try:
        # Escapes that together spell UTF-8 become that character, as every reader decodes it.
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
    """One pass over a block; each line becomes a pair, a defect, or both."""

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
            self._defect(text[at:], "bytes after the empty line")

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
