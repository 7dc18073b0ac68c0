"""The bytes to send, and the bytes that wait for a link.

Theory. Two kinds of bytes share one stream. Commands of a link (CONNECT, SUB, pulls, requests,
PING) must never be sent on another link: a repeated request is a duplicate, and an old UNSUB ends a
new subscription. Publishes and acks belong to the user. If they were not handed to the transport
when the link was lost, they are known to be unsent. They are sent on the next link, after the
restored subscriptions, in order and once. Bytes that were handed to the transport are not sent
again.

Everything is appended as encoded bytes and joined once. A set holds the positions of pieces that
belong to a link, because they are rare. Bytes are counted only on request. Messages are counted as
the pieces that are no such commands, because counting each ack would cost too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable


class Outbound(Snapshottable):
    """The outgoing bytes of one connection.

    Attributes:
        append: add a publish or an ack of the user.
        messages: number of messages that were handed over.
        pieces: the encoded commands that wait for `take`, oldest first. Only read it; until a
            `restore` it is always the same list.
        kept: publishes that wait for a link; ``kept_size`` is their size in bytes.
    """

    __slots__ = (
        "_bound",
        "_controls",
        "_counted",
        "_size",
        "append",
        "kept",
        "kept_size",
        "messages",
        "pieces",
    )

    STATE: ClassVar[Codecs] = {
        "_bound": PLAIN,
        "_controls": PLAIN,
        "kept": PLAIN,
        "kept_size": PLAIN,
        "messages": PLAIN,
        "pieces": PLAIN,
    }

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._bound: set[int] = set()
        self._controls = 0
        self._size = 0
        self._counted = 0
        self.append: Callable[[bytes], None] = self.pieces.append
        self.kept: list[bytes] = []
        self.kept_size = 0
        self.messages = 0

    @property
    def size(self) -> int:
        """Number of bytes that wait for `take`."""
        pieces = self.pieces
        if self._counted < len(pieces):
            self._size += sum(map(len, pieces[self._counted :]))
            self._counted = len(pieces)
        return self._size

    def append_bound(self, data: bytes) -> None:
        """Add a message that belongs to the current link only."""
        self._bound.add(len(self.pieces))
        self.pieces.append(data)

    def append_control(self, data: bytes) -> None:
        """Add a command that is no message and belongs to the current link only."""
        self._controls += 1
        self.append_bound(data)

    def keep(self, data: bytes) -> None:
        """Add a publish or an ack while there is no link."""
        self.kept.append(data)
        self.kept_size += len(data)

    def take(self) -> bytes:
        """Return and remove all bytes that must go to the transport now."""
        pieces = self.pieces
        if not pieces:
            return b""
        self.messages += len(pieces) - self._controls
        data = b"".join(pieces)
        pieces.clear()
        if self._bound:
            self._bound.clear()
        self._size = self._counted = self._controls = 0
        return data

    def lost(self) -> None:
        """The link is lost: keep the user's bytes that were not handed over, drop the rest."""
        saved = [data for at, data in enumerate(self.pieces) if at not in self._bound]
        self.kept[:0] = saved
        self.kept_size += sum(map(len, saved))
        self._emptied()

    def resume(self, max_payload: int = 0) -> int:
        """Append the kept bytes after the restored subscriptions; return the bytes left out.

        With ``max_payload`` > 0, larger publishes are left out. The server would close the
        connection because of them, and everything after them would be lost.
        """
        fit = [data for data in self.kept if not max_payload or announced(data) <= max_payload]
        left_out = self.kept_size - sum(map(len, fit))
        self.pieces.extend(fit)
        self.kept.clear()
        self.kept_size = 0
        return left_out

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        self._size = self._counted = 0
        self.append = self.pieces.append

    def _emptied(self) -> None:
        self.pieces.clear()
        self._bound.clear()
        self._size = self._counted = self._controls = 0


def announced(frame: bytes) -> int:
    """Return the header and payload bytes that a PUB or HPUB announces; 0 for other commands."""
    if frame[:4] not in {b"PUB ", b"HPUB"}:
        return 0
    return int(frame[: frame.index(b"\r\n")].rpartition(b" ")[2])
