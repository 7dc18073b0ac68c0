"""Raw recordings of a real server (schema ``jsproto-trace/1``): text lines in, records out.

Theory. A recording holds all bytes between one client and one server, with the time of each read
and write. Each line is a JSON object. The first describes the scenario and what the recorder
counted. Every other line is one of four records: bytes to the server, bytes from it, a wait without
bytes, or an outside event. A connection name stands for one link. This module opens no file; the
caller passes the text.

`parse_recording` reads a whole recording. `raw_first` and `raw_record` read it line by line, for
`jsproto.trace.formats.reading`.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Mapping
from math import isfinite
from typing import Final, TypeAlias, TypeVar, cast, final

from attrs import frozen

from jsproto.errors.tree import LocalProtocolError, shorten

SCHEMA: Final = "jsproto-trace/1"
#: Highest size of the bytes in one record, so that no packed line needs more memory.
MOST_BYTES: Final = 67_108_864

_T = TypeVar("_T")


@final
@frozen(kw_only=True)
class Sent:
    """Bytes of one write to the server, ``at`` seconds after the start."""

    at: float
    conn: str
    data: bytes
    note: str = ""


@final
@frozen(kw_only=True)
class Received:
    """Bytes of one read from the server."""

    at: float
    conn: str
    data: bytes


@final
@frozen(kw_only=True)
class Waited:
    """The client waited and nothing came; a replay can advance its clock to this time."""

    at: float
    conn: str


@final
@frozen(kw_only=True)
class Happened:
    """An event outside of the bytes, such as ``connected``, ``eof`` or ``server_signal``.

    ``detail`` holds the other members of its line.
    """

    at: float
    name: str
    conn: str
    detail: Mapping[str, object]


@final
@frozen(kw_only=True)
class Wished:
    """A verb of the user, such as ``fetch``, ``consume`` or ``ack``, with its arguments.

    Raw recordings have none.
    """

    at: float
    name: str
    conn: str
    detail: Mapping[str, object]


Record: TypeAlias = Sent | Received | Waited | Happened | Wished

#: Events that only a rerun needs (`jsproto.trace.replay.rerun`): the start of a connection, its
#: entropy, its steps and its ticks. Other readers skip them.
INNER: Final = frozenset({"begin", "entropy", "step", "tick", "read", "refused", "ended"})


@final
@frozen(kw_only=True)
class SeenStatus:
    """A status frame as the recorder read it, with its description untrimmed."""

    conn: str
    code: int
    description: str
    headers: Mapping[str, object]


@final
@frozen(kw_only=True)
class Observed:
    """Counts of the recorder over the recorded bytes.

    They are frames by operation, statuses (at most 60), ``-ERR`` lines and EOFs.
    """

    operations: Mapping[str, int]
    statuses: tuple[SeenStatus, ...]
    errors: tuple[str, ...]
    eof_seen_on: tuple[str, ...]


@final
@frozen(kw_only=True)
class Recording:
    """A whole recording: its first line, and the records after it in order."""

    scenario: str
    server_version: str
    description: str
    expected: tuple[str, ...]
    #: Notes of the recorder about its server, such as the configuration of a server that it started
    #: for this scenario.
    notes: tuple[str, ...]
    observed: Observed
    connections: tuple[str, ...]
    records: tuple[Record, ...]

    def received(self, conn: str) -> tuple[bytes, ...]:
        """The server's bytes on one connection, read by read."""
        return tuple(r.data for r in self.records if isinstance(r, Received) and r.conn == conn)

    def sent(self, conn: str) -> tuple[bytes, ...]:
        """The client's bytes on one connection, write by write."""
        return tuple(r.data for r in self.records if isinstance(r, Sent) and r.conn == conn)


def parse_recording(text: str | bytes) -> Recording:
    """Read a recording from its text.

    Raises:
        LocalProtocolError: the schema is another one, or a line cannot be read; the message names
            the line.
    """
    lines = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text).splitlines()
    number = 0
    try:
        meta = raw_first(lines[0] if lines else "{}")
        observed = _observed(_object(meta.get("observed"), "observed"))
        records: list[Record] = []
        for number, line in enumerate(lines[1:], start=1):  # noqa: B007 - names the bad line
            records.append(raw_record(line))
        return Recording(
            scenario=_member(meta, "scenario", str),
            server_version=_member(meta, "server_version", str),
            description=_member(meta, "description", str),
            expected=_texts(meta, "expected"),
            notes=_texts(meta, "notes") if meta.get("notes") else (),
            observed=observed,
            connections=_texts(meta, "connections"),
            records=tuple(records),
        )
    except (LocalProtocolError, ValueError, RecursionError, zlib.error) as error:
        raise LocalProtocolError(f"line {number + 1} of a recording: {error}") from None


def raw_first(line: str | bytes) -> dict[str, object]:
    """Read the members of the first line.

    Raises:
        LocalProtocolError: the schema is another one, or the line is not an object.
        ValueError: the line is not JSON.
    """
    meta = _object(json.loads(line), "line")
    if meta.get("schema") != SCHEMA:
        raise LocalProtocolError(f"expected schema {SCHEMA}, got {shorten(meta.get('schema'))}")
    return meta


def raw_record(text: str | bytes) -> Record:
    """Read the record of any other line.

    Raises:
        LocalProtocolError: a member is missing or has a wrong type.
        ValueError: the line is not JSON, or its bytes are not base64.
        RecursionError: the JSON is nested too deeply.
        zlib.error: the packed bytes cannot be unpacked.
    """
    line = _object(json.loads(text), "line")
    at = _member(line, "t", float)
    if not isfinite(at):
        raise LocalProtocolError(f"expected seconds as t, got {at}")
    kind = _member(line, "dir", str)
    conn = _member(line, "conn", str, "")
    match kind:
        case "s2c":
            return Received(at=at, conn=conn, data=_data(line))
        case "c2s":
            return Sent(at=at, conn=conn, data=_data(line), note=_member(line, "note", str, ""))
        case "tick":
            return Waited(at=at, conn=conn)
        case "event":
            detail = {
                name: value
                for name, value in line.items()
                if name not in {"t", "dir", "name", "conn"}
            }
            return Happened(at=at, name=_member(line, "name", str), conn=conn, detail=detail)
        case _:
            raise LocalProtocolError(f"expected dir s2c, c2s, tick or event, got {shorten(kind)}")


def _data(line: dict[str, object]) -> bytes:
    if "z64" not in line:
        return b64decode(_member(line, "b64", str), validate=True)
    size = _member(line, "len", int)
    if not 0 <= size <= MOST_BYTES:
        raise LocalProtocolError(f"expected a len from 0 to {MOST_BYTES}, got {shorten(size)}")
    data = zlib.decompressobj().decompress(
        b64decode(_member(line, "z64", str), validate=True), size + 1
    )
    if len(data) != size:
        raise LocalProtocolError(f"expected z64 of {size} bytes, got another size")
    return data


def _observed(line: dict[str, object]) -> Observed:
    operations = _object(line.get("s2c_ops"), "s2c_ops")
    return Observed(
        operations={name: _member(operations, name, int) for name in operations},
        statuses=tuple(_status(_object(status, "status")) for status in _list(line, "statuses")),
        errors=_texts(line, "errors"),
        eof_seen_on=_texts(line, "eof_seen_on"),
    )


def _status(line: dict[str, object]) -> SeenStatus:
    return SeenStatus(
        conn=_member(line, "conn", str),
        code=_member(line, "code", int),
        description=_member(line, "desc", str),
        headers=_object(line.get("headers"), "headers"),
    )


def _object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise LocalProtocolError(f"expected an object as {name}, got {shorten(value)}")
    return cast("dict[str, object]", value)


def _list(line: dict[str, object], name: str) -> list[object]:
    value = line.get(name)
    if not isinstance(value, list):
        raise LocalProtocolError(f"expected a list as {name}, got {shorten(value)}")
    return cast("list[object]", value)


def _texts(line: dict[str, object], name: str) -> tuple[str, ...]:
    return tuple(_member({name: value}, name, str) for value in _list(line, name))


def _member(line: dict[str, object], name: str, kind: type[_T], default: _T | None = None) -> _T:
    value = line.get(name, default)
    if not isinstance(value, kind):
        raise LocalProtocolError(f"expected {kind.__name__} as {name}, got {shorten(value)}")
    return value
