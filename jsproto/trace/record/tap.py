"""Passes bytes through a tap, and hides from the client what would lead it around the tap.

Theory. A tap stands between a client and its server, and records both directions. Two parts of the
server's INFO must not reach the client. One is the addresses of other servers, because the client
would reconnect to them directly. The other is the demand for TLS, if the tap does TLS itself. So
the tap rewrites every INFO line without them, and the trace holds what the client received. All
other bytes pass as they come. An unfinished line waits for its end.
"""

from __future__ import annotations

import json
from typing import Final, final

from jsproto.trace.formats.framing import size_behind
from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto.trace.observe.client import json_object
from jsproto.trace.record.tape import Tape

_ELSEWHERE: Final = ("connect_urls", "ws_connect_urls")
_TLS: Final = ("tls_required", "tls_verify", "tls_available")
#: Highest length of a line; a longer one passes unchanged, and so do all bytes after it.
_MOST_LINE: Final = 1_048_576


@final
class InfoFilter:
    """Filters the server's bytes on their way to the client.

    Args:
        gossip: pass on the addresses of other servers.
        ends_tls: TLS is between tap and server only.
    """

    __slots__ = ("_dropped", "_line", "_lost", "_skip")

    def __init__(self, *, gossip: bool = False, ends_tls: bool = False) -> None:
        self._dropped = (() if gossip else _ELSEWHERE) + (_TLS if ends_tls else ())
        self._line = b""
        self._skip = 0
        self._lost = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes for the client; an unfinished line is held back."""
        given: list[bytes] = []
        at = 0
        while at < len(data):
            if self._lost or self._skip:
                end = len(data) if self._lost else min(len(data), at + self._skip)
                self._skip = max(0, self._skip - (end - at))
                given.append(data[at:end])
                at = end
                continue
            end = data.find(b"\n", at) + 1
            self._line += data[at : end or len(data)]
            at = end or len(data)
            if end or len(self._line) > _MOST_LINE:
                line, self._line = self._line, b""
                self._skip = size_behind(line) if end else -1
                self._lost = self._skip < 0
                given.append(self._given(line))
        return b"".join(given)

    def rest(self) -> bytes:
        """Return the bytes that were held back, at the end."""
        left, self._line = self._line, b""
        return left

    def _given(self, line: bytes) -> bytes:
        if line[:4].upper() != b"INFO":
            return line
        told = json_object(line[4:])
        if told is None or not set(self._dropped) & set(told):
            return line
        members = {name: value for name, value in told.items() if name not in self._dropped}
        return b"INFO " + json.dumps(members, separators=(",", ":")).encode() + b"\r\n"


@final
class Tapped:
    """Records one connection through a tap.

    Args:
        tape: the destination of the records; several connections may share one.
        conn: name of the connection on the tape.

    Attributes:
        bytes: number of bytes in both directions.
    """

    __slots__ = ("_conn", "_filter", "_tape", "bytes")

    def __init__(self, tape: Tape, conn: str, at: float, *, gossip: bool, ends_tls: bool) -> None:
        self._tape = tape
        self._conn = conn
        self._filter = InfoFilter(gossip=gossip, ends_tls=ends_tls)
        self.bytes = 0
        self._happened("connected", at)

    def from_client(self, data: bytes, at: float) -> bytes:
        """Record bytes of the client, and return the bytes for the server."""
        self.bytes += len(data)
        self._tape.record(Sent(at=at, conn=self._conn, data=data))
        return data

    def from_server(self, data: bytes, at: float) -> bytes:
        """Record bytes of the server, and return the bytes for the client."""
        self.bytes += len(data)
        return self._received(self._filter.feed(data), at)

    def ended(self, name: str, at: float) -> bytes:
        """Record the end, and return the rest for the client.

        ``name`` says which party ended it: the client (``client_close``), the server (``eof``) or
        the tap (``closed``).
        """
        left = self._received(self._filter.rest(), at)
        self._happened(name, at)
        return left

    def _received(self, data: bytes, at: float) -> bytes:
        if data:
            self._tape.record(Received(at=at, conn=self._conn, data=data))
        return data

    def _happened(self, name: str, at: float) -> None:
        self._tape.record(Happened(at=at, name=name, conn=self._conn, detail={}))
