"""JSON as the server reads it: Go's syntax errors, Go's types, and which of the two ways of reading
a version uses.

A request is read into a Go struct (`encoding/json`). Servers before 2.11 read the body as one
document. Later ones read one document behind the other until the body ends; 2.11 falls back to the
first way where that fails, and from 2.12 on a member that the struct does not have is an error. Go
1.27 (2.15) words some errors differently and names the place of a wrong value by its whole path.

`StructReader` reads one body for one version; the structs stand in
`jsproto.testing.simserver.requests.requests`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias, cast

from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.gotime import time_error
from jsproto.testing.simserver.values.profile import Profile

_BLANK: Final = " \t\r\n"
_LITERALS: Final[Mapping[str, object]] = {"true": True, "false": False, "null": None}
_ESCAPES: Final = frozenset('"\\/bfnrt')
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")
#: Brackets, and strings, in which none counts.
_NESTING: Final = re.compile(rb'[][{}]|"(?:[^"\\]|\\.)*"?', re.DOTALL)
_DEEPEST: Final = 10_000
_LONE: Final = re.compile("[\ud800-\udfff]")
_NAMED: Final[Mapping[str, str]] = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", "'": "\\'",
}  # fmt: skip
#: Whole numbers of Go: the least and the largest.
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "time.Duration": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


class GoJsonError(Exception):
    """The server cannot read a body; the text is what Go says."""


# ---------------------------------------------------------------------------------------------------- types


class Scalar(NamedTuple):
    """``string``, ``bool``, or one of Go's whole numbers."""

    name: str


class Choice(NamedTuple):
    """A word out of several, read by the server itself: ``{quoted}`` and ``{raw}`` in its words are
    the value as it stands.
    """

    values: frozenset[str]
    words: str = "can not unmarshal {quoted}"
    #: The value is read as a string first, so another value is an error of Go.
    text: bool = False


class Moment(NamedTuple):
    """A time in RFC 3339."""

    name: str = "time.Time"


class Mapped(NamedTuple):
    """Texts by name."""

    name: str = "map[string]string"


class GoList(NamedTuple):
    """A list; ``name`` is what Go calls it."""

    name: str
    of: Scalar | Struct


class Struct(NamedTuple):
    """An object with known members: its Go name without the package, and the members by name."""

    short: str
    members: Mapping[str, Type]
    #: Members that stand in an embedded struct, which Go before 1.27 names too.
    embedded: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """Its Go name."""
        return f"server.{self.short}"


Type: TypeAlias = Scalar | Choice | Moment | Mapped | GoList | Struct

_TEXT: Final = Scalar("string")


class _Value(NamedTuple):
    """A value as it stands: what kind, what it is (members are pairs in order), and its text."""

    kind: str
    content: object
    raw: str


# ---------------------------------------------------------------------------------------------------- syntax


class _SyntaxError(Exception):
    """Something is wrong at a place; a place behind the end means that the body ends too early."""

    def __init__(self, words: str, end: int, *, early: bool) -> None:
        super().__init__(words)
        self.words = words
        #: Bytes read up to and with what is wrong.
        self.end = end
        self.early = early


class _Scanner:
    """Reads values; every byte is one letter here, and a blank follows the last (as Go's scanner is
    told of the end).
    """

    __slots__ = ("_new", "_size", "_text")

    def __init__(self, body: bytes, *, new: bool) -> None:
        self._text = body.decode("latin-1") + " "
        self._size = len(body)
        self._new = new

    def skip(self, at: int) -> int:
        """The next place that is not blank."""
        while at <= self._size and self._text[at] in _BLANK:
            at += 1
        return at

    def ended(self, at: int) -> bool:
        return at >= self._size

    def bad(self, at: int, context: str) -> _SyntaxError:
        """The letter at this place is wrong."""
        if at > self._size:
            return _SyntaxError("unexpected end of JSON input", self._size, early=True)
        letter, end = self._text[at], at + 1
        if self._new and letter >= "\x80":
            rest = self._text[at : at + 4].encode("latin-1")
            letter = rest.decode("utf-8", "replace")[0]
            end = at + len(letter.encode()) if letter != "\ufffd" else end
        return _SyntaxError(
            f"invalid character {_quoted(letter)} {context}", end, early=at == self._size
        )

    def value(self, at: int) -> tuple[_Value, int]:
        """The value that begins behind blanks, and where it ends."""
        at = start = self.skip(at)
        letter = self._text[at : at + 1]
        content: object
        if letter == "{":
            kind, (content, at) = "object", self._object(at + 1)
        elif letter == "[":
            kind, (content, at) = "array", self._array(at + 1)
        elif letter == '"':
            kind, (content, at) = "string", self._string(at + 1)
        elif letter == "-" or letter in _DIGITS:
            kind, at = "number", self._number(at)
            content = self._text[start:at]
        else:
            word = next((each for each in _LITERALS if letter and each[0] == letter), "")
            if not word:
                raise self.bad(at, "looking for beginning of value")
            kind, at = ("null" if word == "null" else "bool"), self._literal(word, at)
            content = _LITERALS[word]
        return _Value(kind, content, _unicode(self._text[start:at])), at

    def _object(self, at: int) -> tuple[list[tuple[str, _Value]], int]:
        members: list[tuple[str, _Value]] = []
        at = self.skip(at)
        if self._text[at : at + 1] == "}":
            return members, at + 1
        while True:
            at = self.skip(at)
            if self._text[at : at + 1] != '"':
                raise self.bad(at, "looking for beginning of object key string")
            name, at = self._string(at + 1)
            at = self._follows(at, ":", "after object key")
            value, at = self.value(at)
            members.append((name, value))
            at = self._follows(at, ",}", "after object key:value pair")
            if self._text[at - 1] == "}":
                return members, at

    def _array(self, at: int) -> tuple[list[_Value], int]:
        items: list[_Value] = []
        at = self.skip(at)
        if self._text[at : at + 1] == "]":
            return items, at + 1
        while True:
            value, at = self.value(at)
            items.append(value)
            at = self._follows(at, ",]", "after array element")
            if self._text[at - 1] == "]":
                return items, at

    def _follows(self, at: int, letters: str, context: str) -> int:
        at = self.skip(at)
        letter = self._text[at : at + 1]
        if not letter or letter not in letters:
            raise self.bad(at, context)
        return at + 1

    def _literal(self, word: str, at: int) -> int:
        for place, letter in enumerate(word):
            if self._text[at + place : at + place + 1] != letter:
                raise self.bad(at + place, f"in literal {word} (expecting {letter!r})")
        return at + len(word)

    def _string(self, at: int) -> tuple[str, int]:
        start = at - 1
        while True:
            letter = self._text[at : at + 1]
            if at >= self._size:
                raise self.bad(self._size + 1, "")
            if letter == '"':
                found = cast("str", json.loads(_unicode(self._text[start : at + 1])))
                return _LONE.sub("\ufffd", found), at + 1
            if letter < " ":
                raise self.bad(at, "in string" if self._new else "in string literal")
            at = self._escape(at + 1) if letter == "\\" else at + 1

    def _escape(self, at: int) -> int:
        """What follows a backslash."""
        letter = self._text[at]
        wrong = at
        context = "in string escape code"
        length = 1
        if letter in _ESCAPES:
            return at + 1
        if letter == "u":
            digits = self._text[at + 1 : at + 5]
            if len(digits) == 4 and set(digits) <= _HEX:
                return at + 5
            good = next(
                (place for place, each in enumerate(digits) if each not in _HEX), len(digits)
            )
            wrong, context, length = at + 1 + good, "in \\u hexadecimal character escape", 5
        if wrong < self._size and self._new:
            end = min(at + length, self._size)
            raise _SyntaxError(
                f"invalid escape sequence `{self._text[at - 1 : end]}` in string", end, early=False
            )
        raise self.bad(wrong, context)

    def _number(self, at: int) -> int:
        text = self._text
        at += text[at] == "-"
        if text[at : at + 1] == "0":
            at += 1
        else:
            at = self._digits(at, "in numeric literal")
        if text[at : at + 1] == ".":
            at = self._digits(at + 1, "after decimal point in numeric literal")
        if text[at : at + 1] in {"e", "E"}:
            at += 1
            at += text[at : at + 1] in {"+", "-"}
            at = self._digits(at, "in exponent of numeric literal")
        return at

    def _digits(self, at: int, context: str) -> int:
        if self._text[at : at + 1] not in _DIGITS:
            raise self.bad(at, "in numeric literal" if self._new else context)
        while self._text[at : at + 1] in _DIGITS:
            at += 1
        return at


def _too_deep(body: bytes, *, new: bool) -> tuple[str, int]:
    """What is said of more than 10,000 values within each other, and the bytes up to there; what
    Python cannot read is as deep.
    """
    depth = 0
    for found in _NESTING.finditer(body):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(found[0], 0)
        if depth > _DEEPEST:
            letter = _quoted(found[0].decode())
            return (
                "" if new else f"invalid character {letter} "
            ) + "exceeded max depth", found.end()
    return "exceeded max depth", len(body)


def _unicode(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def _quoted(letter: str) -> str:
    """A letter as Go writes it in an error."""
    named = _NAMED.get(letter)
    if named is None and (letter < " " or "\x7f" <= letter < "\xa0"):
        named = f"\\x{ord(letter):02x}" if letter < "\x80" else f"\\u{ord(letter):04x}"
    return f"'{named or letter}'"


# ---------------------------------------------------------------------------------------------------- reading


class StructReader:
    """Reads one body into one struct, as one version does.

    Args:
        struct: what the server reads it into.
        profile: the version.
        strictly: members that the struct does not have are an error.
    """

    __slots__ = ("_new", "_saved", "_strictly", "_struct")

    def __init__(self, struct: Struct, profile: Profile, *, strictly: bool = False) -> None:
        self._struct = struct
        self._new = profile.json_v2
        self._strictly = strictly
        #: The first error that does not end the reading.
        self._saved = ""

    def document(self, body: bytes) -> Table:
        """The body is one document.

        Raises:
            GoJsonError: it is none, or a value does not fit.
        """
        scanner = _Scanner(body, new=self._new)
        try:
            value, at = scanner.value(0)
            at = scanner.skip(at)
            if not scanner.ended(at):
                raise scanner.bad(at, "after top-level value")
        except _SyntaxError as error:
            words = "unexpected end of JSON input" if self._new and error.early else error.words
            raise GoJsonError(words) from error
        except RecursionError:
            raise GoJsonError(_too_deep(body, new=self._new)[0]) from None
        return self._filled(value, {})

    def documents(self, body: bytes) -> Table:
        """The body is any number of documents, each of which is read over what the ones before it
        said.

        Raises:
            GoJsonError: one is none, or a value does not fit.
        """
        scanner = _Scanner(body, new=self._new)
        found: Table = {}
        at = scanner.skip(0)
        while not scanner.ended(at):
            try:
                value, at = scanner.value(at)
            except _SyntaxError as error:
                words = "unexpected EOF" if error.early else f"{error.words} at offset {error.end}"
                raise GoJsonError(words) from error
            except RecursionError:
                words, end = _too_deep(body, new=self._new)
                raise GoJsonError(f"{words} at offset {end}") from None
            found = self._filled(value, found)
            at = scanner.skip(at)
        return found

    def _filled(self, value: _Value, known: Table) -> Table:
        if value.kind == "null":
            return known
        found = self._value(value, self._struct, [], self._struct.short)
        if self._saved:
            raise GoJsonError(self._saved)
        return {**known, **cast("Table", found)}

    def _value(self, value: _Value, kind: Type, path: list[str], owner: str) -> object:
        """The value as plain data, ``None`` where nothing is said; a wrong one is noted and counts
        as not said.
        """
        if isinstance(kind, Choice):
            return self._chosen(value, kind, path, owner)
        if value.kind == "null":
            return None
        if isinstance(kind, Struct):
            return self._members(value, kind, path, owner)
        if isinstance(kind, GoList):
            if value.kind != "array":
                return self._wrong(value, kind.name, path, owner)
            items = cast("list[_Value]", value.content)
            return [
                self._value(each, kind.of, [*path, str(at)] if self._new else path, owner)
                for at, each in enumerate(items)
            ]
        if isinstance(kind, Mapped):
            if value.kind != "object":
                return self._wrong(value, kind.name, path, owner)
            pairs = cast("list[tuple[str, _Value]]", value.content)
            return {
                name: self._value(each, _TEXT, [*path, name] if self._new else path, owner)
                for name, each in pairs
            }
        if isinstance(kind, Moment):
            return self._moment(value, kind, path, owner)
        return self._scalar(value, kind.name, path, owner)

    def _members(self, value: _Value, struct: Struct, path: list[str], owner: str) -> Table | None:
        if value.kind != "object":
            self._wrong(value, struct.name, path, owner)
            return None
        found: Table = {}
        folded = {name.casefold(): name for name in struct.members}
        for said, each in cast("list[tuple[str, _Value]]", value.content):
            name = said if said in struct.members else folded.get(said.casefold(), "")
            if not name:
                if self._strictly:
                    self._note(f"json: unknown field {json.dumps(said, ensure_ascii=False)}")
                continue
            within = struct.embedded.get(name, "")
            place = [*path, within, name] if within and not self._new else [*path, name]
            read = self._value(each, struct.members[name], place, struct.short)
            if read is not None:
                found[name] = read
        return found

    def _scalar(self, value: _Value, name: str, path: list[str], owner: str) -> object:
        if name in _RANGES:
            least, most = _RANGES[name]
            whole = value.kind == "number" and not set(value.raw) & set(".eE")
            if whole and len(value.raw) < 30 and least <= int(value.raw) <= most:
                return int(value.raw)
        elif value.kind == name:
            return value.content
        return self._wrong(value, name, path, owner)

    def _chosen(self, value: _Value, kind: Choice, path: list[str], owner: str) -> object:
        if kind.text and value.kind not in {"string", "null"}:
            self._wrong(value, "string", [] if self._new else path, owner)
            return self._refuse(self._saved)
        if value.kind != "string" or value.content not in kind.values:
            quoted = json.dumps(value.raw, ensure_ascii=False)
            return self._refuse(kind.words.format(quoted=quoted, raw=value.raw))
        return value.content

    def _moment(self, value: _Value, kind: Moment, path: list[str], owner: str) -> object:
        if value.kind != "string":
            if self._new:
                return self._wrong(value, kind.name, path, owner)
            return self._refuse("Time.UnmarshalJSON: input is not a JSON string")
        wrong = time_error(str(value.content))
        return self._refuse(wrong) if wrong else value.content

    def _refuse(self, words: str) -> object:
        """The server's own reader of a value has failed: before Go 1.27 that is told before
        whatever else is wrong.
        """
        if not self._new:
            raise GoJsonError(words)
        self._note(words)
        return None

    def _note(self, words: str) -> None:
        self._saved = self._saved or words

    def _wrong(self, value: _Value, wanted: str, path: list[str], owner: str) -> object:
        number = value.kind == "number" and wanted in _RANGES
        what = f"number {value.raw}" if number else value.kind
        if not path:
            place = "Go value"
        elif not self._new:
            place = f"Go struct field {owner}.{'.'.join(path)}"
        else:
            place = f"{self._struct.short}.{'.'.join(path)}"
            place = place if path[-1].isdigit() else f"Go struct field {place}"
        self._note(f"json: cannot unmarshal {what} into {place} of type {wanted}")
        return None
