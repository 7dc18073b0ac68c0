"""The other end of a WebSocket: the layer of a server, for the model server of the contract and for
tests of the client's layer.
"""

from __future__ import annotations

from typing import final

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from jsproto_io._layers.websocket import SILENT


@final
class Answerer:
    """One accepted stream, from the server's side.

    Attributes:
        stands: the client has asked for a WebSocket and been given it.
        ended: the client has closed it.
        asked: what it asked for.
    """

    __slots__ = ("_protocol", "asked", "close_reason", "ended", "stands")

    def __init__(self) -> None:
        self._protocol = ServerProtocol(max_size=None, logger=SILENT)
        self.stands = False
        self.ended = False
        self.close_reason: Exception | None = None
        self.asked: Request | None = None

    def begin(self) -> None:
        """The client has the first word."""

    def received(self, data: bytes) -> bytes:
        """What the client says; it must mask it, and in messages of bytes."""
        protocol = self._protocol
        protocol.receive_data(data)
        said: list[bytes] = []
        for event in protocol.events_received():
            if isinstance(event, Request):
                self.asked = event
                protocol.send_response(protocol.accept(event))
                self.stands = protocol.state is State.OPEN
            elif isinstance(event, Frame) and event.opcode in {Opcode.BINARY, Opcode.CONT}:
                said.append(bytes(event.data))
        self.ended = protocol.state is not State.OPEN and protocol.state is not State.CONNECTING
        return b"".join(said)

    def sent(self, data: bytes) -> bytes:
        """One message."""
        self._protocol.send_binary(data)
        return self.outgoing()

    def outgoing(self) -> bytes:
        """The answer, pongs, and the close frame."""
        return b"".join(self._protocol.data_to_send())

    def close_frame(self) -> bytes:
        """A close frame, if there was none."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(CloseCode.GOING_AWAY)
        return self.outgoing()

    def cut(self) -> None:
        """A client may go as it likes."""
