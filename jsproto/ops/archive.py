"""Inspect the archive of a snapshot while it is transferred: errors, a missing end, lost messages.

Theory. A server may report a good end although the archive is incomplete. Servers before 2.10.20
write an error into a file ``errors.txt`` in the archive and end the transfer as usual. 2.15 leaves
out what it cannot read. Therefore the client inspects the archive, as far as that is cheap.

An archive is compressed with S2 in frames that can be read independently. Inside is a tar (before
2.15) or the format ``NATSARC1``. The latter has entries with a head of five numbers. An entry with
a sequence is a message, and an empty entry is the end. The data between two heads is skipped, and a
frame is decompressed only as far as necessary.

An archive of an unknown format is not judged; `Contents.form` is empty then. No input makes this
module raise an error.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Final, TypeAlias, cast, final

from attrs import field, frozen

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.enums import RetentionPolicy
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.stored.snapshot import Origin

_MAGICS: Final = (b"\xff\x06\x00\x00S2sTwO", b"\xff\x06\x00\x00sNaPpY")
_ARC: Final = b"NATSARC1"
_HEAD: Final = 512
_ERRORS: Final = b"errors.txt"
_META: Final = b"meta.inf"
_STATE: Final = b"state.json"
#: Most bytes of a small file that are parsed, and most decompressed bytes of a frame.
_SMALL: Final = 1024 * 1024
_FRAME: Final = 4 * 1024 * 1024
_NUMBERS: Final = 5

#: Bytes to skip, and bytes to read after them.
Wanted: TypeAlias = tuple[int, int]


class _Unknown(Exception):
    """The archive has a format that is not known here."""


@final
@frozen(kw_only=True)
class Contents:
    """The findings in an archive.

    Attributes:
        form: ``tar`` or ``arc``; empty for an unknown format, then nothing else was found.
        complete: the archive has an end.
        messages: number of messages in it; ``None`` if they were not counted.
        error: text that the server wrote into it about its own failure.
        about: the archive's description of the stream: its configuration (``tar``), or its state
            (``arc``).
    """

    form: str = ""
    complete: bool = True
    messages: int | None = None
    error: str = ""
    about: Mapping[str, object] = field(factory=dict[str, object])


@final
class ArchiveLook:
    """Inspects an archive that arrives in pieces."""

    __slots__ = (
        "_about",
        "_ended",
        "_error",
        "_form",
        "_have",
        "_known",
        "_messages",
        "_need",
        "_rest",
        "_skip",
        "_steps",
    )

    def __init__(self) -> None:
        self._rest = bytearray()
        self._form = ""
        self._error = ""
        self._about: Mapping[str, object] = {}
        self._messages = 0
        self._ended = False
        #: ``None`` until the first bytes of the format arrived.
        self._known: bool | None = None
        self._have = b""
        self._steps = self._walk()
        self._skip, self._need = next(self._steps)

    def feed(self, data: bytes) -> None:
        """Inspect the next bytes."""
        if self._known is False:
            return
        self._rest += data
        try:
            self._frames()
        except (_Unknown, IndexError):
            self._known = False
            self._rest.clear()

    def done(self) -> Contents:
        """Return the findings after the last bytes."""
        if not self._known or not self._form:
            # The first frame never arrived whole, so nothing is known.
            return Contents(complete=not (self._known and self._rest))
        return Contents(
            form=self._form,
            complete=self._ended and not self._rest,
            messages=self._messages if self._form == "arc" else None,
            error=self._error,
            about=self._about,
        )

    # ------------------------------------------------------------------ frames

    def _frames(self) -> None:
        rest = self._rest
        if self._known is None:
            if len(rest) < len(_MAGICS[0]):
                return
            if not rest.startswith(_MAGICS):
                raise _Unknown
            self._known = True
        at = 0
        while len(rest) >= at + 4:
            end = at + 4 + int.from_bytes(rest[at + 1 : at + 4], "little")
            if len(rest) < end:
                break
            kind = rest[at]
            if kind < 0x02:  # the two kinds with data, after a checksum of four bytes
                if not self._ended:
                    self._pass(_Block(bytes(rest[at + 8 : end]), packed=kind == 0))
            elif kind < 0x80:  # an unknown kind that must not be skipped
                raise _Unknown
            at = end
        del rest[:at]

    def _pass(self, block: _Block) -> None:
        """Pass the bytes of a frame that the walk needs."""
        at = 0
        while not self._ended:
            if self._skip and self._skip >= block.size - at:
                self._skip -= block.size - at
                return
            at += self._skip
            self._skip = 0
            part = block.part(at, at + self._need - len(self._have))
            at += len(part)
            self._have += part
            if len(self._have) < self._need:
                return
            have, self._have = self._have, b""
            try:
                self._skip, self._need = self._steps.send(have)
            except StopIteration:
                self._ended = True

    # ------------------------------------------------------------------ entries

    def _walk(self) -> Generator[Wanted, bytes, None]:
        first = yield 0, len(_ARC)
        if first == _ARC:
            self._form = "arc"
            yield from self._arc()
        else:
            yield from self._tar(first + (yield 0, _HEAD - len(first)))

    def _tar(self, head: bytes) -> Generator[Wanted, bytes, None]:
        while any(head):
            size = _tar_size(head)
            self._form = "tar"
            name = head[:100].rstrip(b"\0")
            seen = min(size, _SMALL) if name in {_ERRORS, _META} else 0
            content = (yield 0, seen) if seen else b""
            if name == _ERRORS:
                self._error = content.decode(errors="replace") or "an error without a text"
            elif name == _META:
                self._about = _members(content)
            head = yield -(-size // _HEAD) * _HEAD - seen, _HEAD

    def _arc(self) -> Generator[Wanted, bytes, None]:
        skip = 0
        while True:
            head = yield skip, _NUMBERS
            # Every number ends with a byte below 0x80.
            while (missing := _NUMBERS - sum(each < 0x80 for each in head)) > 0:
                head += yield 0, missing
            length, when, sequence, headers, payload = _numbers(head)
            if sequence:
                self._messages += 1
                skip = length + headers + payload
                continue
            if not (length or when or headers or payload):
                return
            if length > _SMALL:
                raise _Unknown
            name = (yield 0, length) if length else b""
            skip = headers + payload
            if name == _STATE and skip <= _SMALL:
                self._about = _members((yield 0, skip))
                skip = 0


def _numbers(head: bytes) -> list[int]:
    """Decode numbers with seven bits in each byte, the lowest first."""
    numbers: list[int] = []
    number = shift = 0
    for byte in head:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # the last byte of a number
            numbers.append(number)
            number = shift = 0
    return numbers


def _tar_size(head: bytes) -> int:
    """Return the size of the file after a tar head, whose checksum must be right."""
    try:
        told = int(head[148:156].strip(b" \0"), 8)
        size = head[124:136]
        number = (
            int.from_bytes(size[1:], "big")
            if size[0] & 0x80
            else int(size.strip(b" \0") or b"0", 8)
        )
    except ValueError:
        raise _Unknown from None
    if told != sum(head[:148]) + sum(head[156:]) + 8 * ord(" "):
        raise _Unknown
    return number


def _members(content: bytes) -> Mapping[str, object]:
    try:
        members: object = json.loads(content)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", members) if isinstance(members, dict) else {}


@final
class _Block:
    """One frame, decompressed from its beginning as far as necessary.

    Attributes:
        size: number of decompressed bytes.
    """

    __slots__ = ("_at", "_offset", "_out", "_packed", "size")

    def __init__(self, data: bytes, *, packed: bool) -> None:
        self._out = bytearray() if packed else bytearray(data)
        self._packed = data
        self._at = 0
        self._offset = 0
        self.size = len(data)
        if packed:
            self.size = shift = 0
            while (byte := data[self._at]) & 0x80:
                self.size |= (byte & 0x7F) << shift
                shift += 7
                self._at += 1
            self.size |= byte << shift
            self._at += 1
        if self.size > _FRAME:
            raise _Unknown

    def part(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop``, or to the end."""
        stop = min(stop, self.size)
        if len(self._out) < stop:
            self._unpack(stop)
        return bytes(self._out[start:stop])

    def _unpack(self, stop: int) -> None:
        """Decompress literals and copies.

        It is one loop without calls, because it takes nearly all of the time of an inspection.
        """
        data, at, out, size, last = self._packed, self._at, self._out, self.size, self._offset
        done = len(out)
        while done < stop:
            tag = data[at]
            length = tag >> 2
            kind = tag & 3
            at += 1
            if kind == 0:
                if length >= 60:  # the length follows in one to four bytes
                    wide = length - 59
                    length = int.from_bytes(data[at : at + wide], "little")
                    at += wide
                length += 1
                end = at + length
                if end > len(data):
                    raise _Unknown
                out += data[at:end]
                at = end
                done += length
                continue
            if kind == 1:
                last = (tag & 0xE0) << 3 | data[at] or last  # no offset: use the previous one
                repeated = not (tag & 0xE0 or data[at])
                at += 1
                length &= 7
                if repeated and length > 4:  # the length follows in one to three bytes
                    wide = length - 4
                    length = (
                        int.from_bytes(data[at : at + wide], "little") + (4, 256, 65536)[wide - 1]
                    )
                    at += wide
                length += 4
            elif kind == 2:  # an offset of two bytes
                last = data[at] | data[at + 1] << 8
                at += 2
                length += 1
            else:
                last = int.from_bytes(data[at : at + 4], "little")
                at += 4
                length += 1
            if not 0 < last <= done or done + length > size:
                raise _Unknown
            begin = done - last
            if last >= length:
                out += out[begin : begin + length]
            else:
                out += (out[begin:] * -(-length // last))[:length]
            done += length
        self._at, self._offset = at, last


# ------------------------------------------------------------------------------------ results


def fault_of(contents: Contents, origin: Origin) -> str:
    """Return why an archive is useless, compared with the server's answer; empty if it is sound."""
    about, state = contents.about, origin.state
    if contents.error:
        return f"the server wrote into the archive that it failed: {shorten(contents.error)}"
    if not contents.complete:
        return "the end of the archive is missing"
    if contents.form == "tar" and about.get("name", origin.config.name) != origin.config.name:
        return f"the archive is of the stream {shorten(about['name'])}"
    told = (about.get("messages", state.messages), about.get("last_seq", state.last_seq))
    if contents.form == "arc" and told != (state.messages, state.last_seq):
        return f"the archive is of a stream with {told[0]} messages up to sequence {told[1]}"
    return ""


def missing_in(contents: Contents, origin: Origin) -> str:
    """Return a sentence about messages that are missing in the archive; empty if none are known."""
    messages = origin.state.messages
    if contents.messages is None or contents.messages >= messages:
        return ""
    return (
        f"the archive holds {contents.messages} of the {messages} messages"
        " that the server counted when it began"
    )


def may_shrink(config: StreamConfig) -> bool:
    """Tell whether the server removes messages of a stream by itself, also during a backup."""
    limits = (config.max_msgs, config.max_bytes, config.max_msgs_per_subject)
    return (
        bool(config.max_age)
        or any(each is not None and each > 0 for each in limits)
        or config.retention in {RetentionPolicy.INTEREST, RetentionPolicy.WORKQUEUE}
        or bool(config.allow_msg_ttl or config.allow_rollup_hdrs)
    )
