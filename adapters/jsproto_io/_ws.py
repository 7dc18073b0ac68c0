"""A WebSocket as a filter between bytes and bytes, over the sans-I/O layer of the library ``websockets``.

Theory. The library judges the handshake, masks what goes out, answers pings and closes; here it is decided what that means for NATS. What
is said goes out as binary messages, one for each write. What comes is one stream of bytes, however it is cut into messages
and fragments. No compression and no subprotocol are offered, so none may be answered.

A fault of the peer is an end with a reason: what came before it, in the same bytes or not, is still given.

The library would log the text of frames, and so of CONNECT, where logging is set to DEBUG. It is given a logger that is silent.
"""

from __future__ import annotations

import logging
from typing import Final, final

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidMessage
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State
from websockets.uri import WebSocketURI

from jsproto.core.servers import Server
from jsproto.errors import LocalProtocolError, WebSocketFailed, shorten
from jsproto_io._web import WebSocket

#: Most bytes of one message. A server writes in one what waits for us, by default at most 64 MiB (``max_pending``).
MOST: Final = 128 * 1024 * 1024
#: So much is looked at to find the first line of the answer.
_LINE: Final = 8192
#: Ends that need no explanation.
_WELL: Final = frozenset({CloseCode.NORMAL_CLOSURE, CloseCode.GOING_AWAY, CloseCode.NO_STATUS_RCVD})

SILENT: Final = logging.Logger("jsproto_io.ws", logging.CRITICAL + 1)  # noqa: LOG001 - nobody can turn it up


@final
class Filter:
    """The WebSocket of one stream.

    Attributes:
        stands: the server has agreed to speak it.
        ended: it has closed it, or broken its rules.
        parting: why.
    """

    __slots__ = ("_answer", "_given", "_protocol", "_server", "ended", "parting", "stands")

    def __init__(self, given: WebSocket, server: Server) -> None:
        self._given = given
        self._server = server
        self._answer: bytes | None = b""
        # Positional, since these names have changed.
        path = given.path or server.path or "/"
        uri = WebSocketURI(server.tls, server.name, server.port, path, "")
        self._protocol = ClientProtocol(uri, max_size=MOST, logger=SILENT)
        self.stands = False
        self.ended = False
        self.parting: Exception | None = None

    # ------------------------------------------------------------------ what comes

    def received(self, data: bytes) -> bytes:
        """What the bytes of the stream say, perhaps nothing yet. Once it has ended they say nothing."""
        if self.ended or not (self.stands or self._answered(data)):
            return b""
        protocol = self._protocol
        protocol.receive_data(data)
        said: list[bytes] = []
        for event in protocol.events_received():
            if isinstance(event, Frame):
                self._heard(event, said)
            else:
                self.stands = protocol.handshake_exc is None
        fault = protocol.handshake_exc
        if fault is not None:
            self._fail("a WebSocket", fault.__cause__ if isinstance(fault, InvalidMessage) else fault)
        elif protocol.parser_exc is not None:
            self._fail("the frames of a WebSocket", protocol.parser_exc)
        return b"".join(said)

    def _answered(self, data: bytes) -> bool:
        """Whether the answer may be a WebSocket's. One that is none is an error page, which may never end."""
        if self._answer is None:
            return True
        line, found, _ = (self._answer + data[:_LINE]).partition(b"\n")
        if not found:
            self._answer = line
            return True
        if line.split(b" ", 2)[1:2] == [b"101"]:
            self._answer = None
            return True
        self._fail("a WebSocket", line.rstrip(b"\r").decode("latin-1"))
        return False

    def _heard(self, frame: Frame, said: list[bytes]) -> None:
        """One frame. Pings have their answer already; what stands behind an end is nothing."""
        if self.ended:
            return
        if frame.opcode is Opcode.BINARY or frame.opcode is Opcode.CONT:
            said.append(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT:
            self._fail("binary messages", "one of text")
            self._protocol.fail(CloseCode.UNSUPPORTED_DATA)
        elif frame.opcode is Opcode.CLOSE:
            self.ended = True
            close = self._protocol.close_rcvd
            if close is not None and close.code not in _WELL:
                text = f"the WebSocket was closed with {close.code}"
                self.parting = ConnectionResetError(
                    f"{text}: {shorten(close.reason, 200)}" if close.reason else text
                )

    def _fail(self, expected: str, seen: object) -> None:
        """The first fault is the reason."""
        if not self.ended:
            self.ended = True
            self.parting = WebSocketFailed(
                f"expected {expected} from {self._server}, got {shorten(str(seen), 200)}"
            )

    def cut(self) -> Exception:
        """What it means that the stream ends here."""
        if self.stands:
            return ConnectionResetError("the WebSocket was cut off without a close frame")
        return WebSocketFailed(f"expected a WebSocket from {self._server}, the stream ended in mid-handshake")

    # ------------------------------------------------------------------ what goes

    def begin(self) -> None:
        """Ask for it."""
        request = self._protocol.connect()
        for name, value in self._given.headers or ():
            request.headers[name] = value
        self._protocol.send_request(request)

    def sent(self, data: bytes) -> bytes:
        """One binary message.

        Raises:
            LocalProtocolError: it does not stand.
        """
        if not self.stands or self.ended:
            raise LocalProtocolError("expected that the WebSocket stands before anything is said")
        self._protocol.send_binary(data)
        return self.outgoing()

    def outgoing(self) -> bytes:
        """The request, answers to pings, and the close frame."""
        return b"".join(self._protocol.data_to_send())

    def goodbye(self) -> bytes:
        """A close frame, if there was none; the server's is not waited for."""
        if self.stands and self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        return self.outgoing()
