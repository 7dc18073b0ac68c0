"""A WebSocket as a filter between bytes and bytes, over the sans-I/O layer of the library
``websockets``.

Theory. The library judges the handshake and the order of frames, masks what goes out, and answers a
close; here it is decided what that means for NATS. What is said goes out as binary messages, one
for each write. What comes is one stream of bytes, however it is cut into messages and fragments. No
compression and no subprotocol are offered, so none may be answered.

A server may write all that waits for a client as one frame of many megabytes. The library would
gather such a frame before it gives any of it. So the payload of a frame passes by the library: it
is handed on as it comes, and the library is shown the frame without it. Never more than a header,
or one frame of control (at most 125 bytes), is held here. A frame that announces too much is
refused at its header.

Of several pings only the last is answered, as RFC 6455 (5.5.3) allows: a peer that sends many and
reads nothing piles up no answers.

A fault of the peer is an end with a reason: what came before it, in the same bytes or not, is still
given.

The library would log the text of frames, and so of CONNECT, where logging is set to DEBUG. It is
given a logger that is silent.
"""

from __future__ import annotations

import logging
from typing import Final, final

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidMessage
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State
from websockets.uri import WebSocketURI

from jsproto.core.connection.server_pool import Server
from jsproto.errors import LocalProtocolError, WebSocketFailed
from jsproto.errors.tree import shorten
from jsproto_io._layers.websocket_options import WebSocket

#: Most bytes of the payload of a frame of control.
_CONTROL: Final = 125
#: The first byte of a whole ping.
_PING: Final = 0x80 | Opcode.PING
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
        close_reason: why the peer ended the WebSocket.
    """

    __slots__ = (
        "_answer",
        "_control",
        "_given",
        "_head",
        "_left",
        "_pong",
        "_protocol",
        "_server",
        "close_reason",
        "ended",
        "stands",
    )

    def __init__(self, given: WebSocket, server: Server) -> None:
        self._given = given
        self._server = server
        self._answer: bytes | None = b""
        #: The header of the next frame, as far as it has come.
        self._head = bytearray()
        #: Bytes of payload that the present frame still owes.
        self._left = 0
        #: The present frame, if it is one of control: its first byte, and its payload so far.
        self._control: tuple[int, bytearray] | None = None
        #: What the last ping said, until it is answered.
        self._pong: bytes | None = None
        # Positional, since these names have changed.
        path = given.path or server.path or "/"
        uri = WebSocketURI(server.tls, server.name, server.port, path, "")
        self._protocol = ClientProtocol(uri, max_size=None, logger=SILENT)
        self.stands = False
        self.ended = False
        self.close_reason: Exception | None = None

    # ------------------------------------------------------------------ what comes

    def received(self, data: bytes) -> bytes:
        """What the bytes of the stream say, perhaps nothing yet. Once it has ended they say
        nothing.
        """
        if not self.stands:
            if self.ended or not self._answered(data):
                return b""
            data = self._shaken(data)
        said: list[bytes] = []
        pos = 0
        while pos < len(data) and not self.ended:
            if not self._left:
                pos = self._begun(data, pos)
                continue
            piece = data[pos : pos + self._left]
            pos += len(piece)
            self._left -= len(piece)
            if self._control is None:
                said.append(piece)
            else:
                self._controlled(*self._control, piece)
        return b"".join(said)

    def _shaken(self, data: bytes) -> bytes:
        """Give the library the answer to the request, line by line; what is left stands behind it."""
        while data and not self.stands and not self.ended:
            line, end, data = data.partition(b"\n")
            self._shown(line + end)
        return data

    def _begun(self, data: bytes, pos: int) -> int:
        """Read on in the header of a frame, and judge it when it is whole; the position behind what
        was read.
        """
        head = self._head
        while (missing := _length(head) - len(head)) and pos < len(data):
            head += data[pos : pos + missing]
            pos = min(pos + missing, len(data))
        if missing:
            return pos
        first, second = head[0], head[1]
        length = int.from_bytes(head[2:]) if len(head) > 2 else second & 0x7F
        head.clear()
        control = first & 0x08
        if second & 0x80:
            self._shown(bytes((first, second)))  # the library says what is wrong with it
        elif control and length > _CONTROL:
            self._refuse(
                CloseCode.PROTOCOL_ERROR, "the frames of a WebSocket", "control frame too long"
            )
        elif control:
            self._left = length
            self._controlled(first, bytearray(), b"")
        elif length > self._given.max_frame:
            self._refuse(
                CloseCode.MESSAGE_TOO_BIG,
                f"frames of at most {self._given.max_frame} bytes",
                f"{length} bytes",
            )
        else:
            self._left = length
            self._control = None
            self._shown(bytes((first, 0)))
        return pos

    def _controlled(self, first: int, payload: bytearray, piece: bytes) -> None:
        """A piece of a frame of control. One that is whole is for the library, but for pings."""
        payload += piece
        self._control = (first, payload)
        if self._left:
            return
        if first == _PING:
            self._pong = bytes(payload)
        else:
            self._shown(bytes((first, len(payload))) + payload)

    def _shown(self, data: bytes) -> None:
        """Show the library a piece of the handshake, a frame of control, or a frame without its
        payload.
        """
        protocol = self._protocol
        protocol.receive_data(data)
        for event in protocol.events_received():
            if isinstance(event, Frame):
                self._heard(event)
            else:
                self.stands = protocol.handshake_exc is None
        fault = protocol.handshake_exc
        if fault is not None:
            self._fail(
                "a WebSocket", fault.__cause__ if isinstance(fault, InvalidMessage) else fault
            )
        elif protocol.parser_exc is not None:
            self._fail("the frames of a WebSocket", protocol.parser_exc)

    def _answered(self, data: bytes) -> bool:
        """Whether the answer may be a WebSocket's. One that is none is an error page, which may
        never end.
        """
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

    def _heard(self, frame: Frame) -> None:
        """One frame that the library has judged."""
        if frame.opcode is Opcode.TEXT:
            self._refuse(CloseCode.UNSUPPORTED_DATA, "binary messages", "one of text")
        elif frame.opcode is Opcode.CLOSE:
            self.ended = True
            close = self._protocol.close_rcvd
            if close is not None and close.code not in _WELL:
                text = f"the WebSocket was closed with {close.code}"
                self.close_reason = ConnectionResetError(
                    f"{text}: {shorten(close.reason, 200)}" if close.reason else text
                )

    def _fail(self, expected: str, seen: object) -> None:
        """The first fault is the reason."""
        if not self.ended:
            self.ended = True
            self.close_reason = WebSocketFailed(
                f"expected {expected} from {self._server}, got {shorten(str(seen), 200)}"
            )

    def _refuse(self, code: CloseCode, expected: str, seen: str) -> None:
        """A fault that the library does not see: the server is told by a close frame."""
        self._fail(expected, seen)
        self._protocol.fail(code)

    def cut(self) -> Exception:
        """What it means that the stream ends here."""
        if self.stands:
            return ConnectionResetError("the WebSocket was cut off without a close frame")
        return WebSocketFailed(
            f"expected a WebSocket from {self._server}, the stream ended in mid-handshake"
        )

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
        """The request, the answer to the last ping, and the close frame."""
        pong, self._pong = self._pong, None
        if pong is not None and self._protocol.state is State.OPEN:
            self._protocol.send_pong(pong)
        return b"".join(self._protocol.data_to_send())

    def close_frame(self) -> bytes:
        """A close frame, if there was none; the server's is not waited for."""
        if self.stands and self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        return self.outgoing()


def _length(head: bytearray) -> int:
    """Bytes of a header that begins so, as far as that can be told."""
    return 2 if len(head) < 2 else 2 + {126: 2, 127: 8}.get(head[1] & 0x7F, 0)
