"""What stands between the byte stream and the connection: TLS, a WebSocket, the way through a
proxy, or one over the other.

Theory. A layer is a filter between bytes and bytes, the same for every adapter. It takes what came
and gives what that says, takes what is to be said and gives what must be written. What it has to
write of its own accord is ``outgoing``. Nothing here waits, and there is no socket in it, so a
handshake is bounded by the deadline of the attempt like everything else.

`StackedFilter` puts one layer over another and is a layer itself, so a client knows one at most.
"""

from __future__ import annotations

from typing import Protocol, final


class ByteFilter(Protocol):
    """One filter of one stream, from the first word of its handshake."""

    @property
    def stands(self) -> bool:
        """The handshake is over and the server is who it should be."""
        ...

    @property
    def ended(self) -> bool:
        """Nothing follows: the server has said so, or what it said is nothing that can be read on."""
        ...

    @property
    def close_reason(self) -> Exception | None:
        """Why it has ended; ``None`` is a good end."""
        ...

    def begin(self) -> None:
        """The first word of the handshake is then `outgoing`."""
        ...

    def received(self, data: bytes) -> bytes:
        """What the bytes of the stream say, perhaps nothing yet.

        Raises:
            LinkError: it ends here, and what came before in the same bytes is lost with it.
        """
        ...

    def sent(self, data: bytes) -> bytes:
        """What must be written so that this is said.

        Raises:
            LocalProtocolError: the layer does not stand, so nothing may be said.
        """
        ...

    def outgoing(self) -> bytes:
        """What the layer itself has to write."""
        ...

    def close_frame(self) -> bytes:
        """What must be written when nothing follows from us."""
        ...

    def cut(self) -> Exception | None:
        """What it means that the stream ends here, where no end was announced."""
        ...


@final
class StackedFilter:
    """The upper layer over the lower one. The upper begins when the lower stands."""

    __slots__ = ("_begun", "_lower", "_upper")

    def __init__(self, upper: ByteFilter, lower: ByteFilter) -> None:
        self._upper = upper
        self._lower = lower
        self._begun = False

    @property
    def stands(self) -> bool:
        """Both do."""
        return self._upper.stands

    @property
    def ended(self) -> bool:
        """One of them has."""
        return self._upper.ended or self._lower.ended

    @property
    def close_reason(self) -> Exception | None:
        """Why; a lower layer that ends well under an upper one that does not has cut it off."""
        if self._upper.ended:
            return self._upper.close_reason
        return self._lower.close_reason or self._upper.cut()

    def begin(self) -> None:
        """Begin with the lower."""
        self._lower.begin()

    def received(self, data: bytes) -> bytes:
        """What the upper reads in what the lower says."""
        words = self._lower.received(data)
        if self._lower.stands and not self._begun:
            self._begun = True
            self._upper.begin()
        return self._upper.received(words) if words else b""

    def sent(self, data: bytes) -> bytes:
        """Through both, downwards."""
        return self._lower.sent(self._upper.sent(data))

    def outgoing(self) -> bytes:
        """Of both; what the upper says goes through the lower."""
        words = self._upper.outgoing()
        return self._lower.sent(words) if words else self._lower.outgoing()

    def close_frame(self) -> bytes:
        """Of the upper, then of the lower."""
        words = self._upper.close_frame()
        return (self._lower.sent(words) if words else b"") + self._lower.close_frame()

    def cut(self) -> Exception | None:
        """As the lower sees it, which is the first to feel it; or the upper, if that is nothing to
        the lower.
        """
        return self._lower.cut() or self._upper.cut()
