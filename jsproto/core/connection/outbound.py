"""Bytes on their way out, and those that wait for a link.

Theory. Two kinds of bytes share one stream. What belongs to a link (CONNECT, SUB, pulls, calls,
PING) must never reach another link: a request repeated on a new link is a duplicate, an old UNSUB
kills a new subscription. What the user published or acked belongs to the user: if it was not handed
to the transport when the link was lost, it is known to be unsent and goes out on the next link,
behind the restored subscriptions, in order and once. What was handed over is gone, whatever became
of it.

Everything is appended as encoded bytes and joined once. The positions of link-bound pieces are kept
in a set, because they are the rare ones. Bytes are counted when somebody asks how many they are,
and messages as the pieces that are none of the rare commands: an ack is too common to be counted
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from jsproto.core.state import PLAIN, Codecs, Snapshottable


class Outbound(Snapshottable):
    """The outgoing bytes of one connection.

    Attributes:
        append: add a publish or an ack of the user.
        messages: messages that were handed over so far.
        pieces: the encoded commands that wait for `take`, oldest first, to be read only; until a
            `restore` it is always the same list.
        kept: publishes that wait for a link; ``kept_size`` are their bytes.
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
        """Bytes that wait for `take`."""
        pieces = self.pieces
        if self._counted < len(pieces):
            self._size += sum(map(len, pieces[self._counted :]))
            self._counted = len(pieces)
        return self._size

    def append_bound(self, data: bytes) -> None:
        """Add a message that belongs to the present link only."""
        self._bound.add(len(self.pieces))
        self.pieces.append(data)

    def append_control(self, data: bytes) -> None:
        """Add what is no message: commands that belong to the present link only."""
        self._controls += 1
        self.append_bound(data)

    def keep(self, data: bytes) -> None:
        """Add a publish or an ack while there is no link."""
        self.kept.append(data)
        self.kept_size += len(data)

    def take(self) -> bytes:
        """Everything that must go to the transport now; it is handed over."""
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
        """The link is gone: keep what is the user's and was not handed over, forget the rest."""
        saved = [data for at, data in enumerate(self.pieces) if at not in self._bound]
        self.kept[:0] = saved
        self.kept_size += sum(map(len, saved))
        self._emptied()

    def resume(self, max_payload: int = 0) -> int:
        """A link is up and the subscriptions are restored: what was kept follows.

        What this server would not take (``max_payload`` > 0) is left out, since it would end the
        link and lose all that stands behind it. Answers how many bytes those are.
        """
        fit = [data for data in self.kept if not max_payload or announced(data) <= max_payload]
        left_out = self.kept_size - sum(map(len, fit))
        self.pieces.extend(fit)
        self.kept.clear()
        self.kept_size = 0
        return left_out

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._size = self._counted = 0
        self.append = self.pieces.append

    def _emptied(self) -> None:
        self.pieces.clear()
        self._bound.clear()
        self._size = self._counted = self._controls = 0


def announced(frame: bytes) -> int:
    """Bytes of headers and payload that an encoded PUB or HPUB announces; 0 for any other command."""
    if frame[:4] not in {b"PUB ", b"HPUB"}:
        return 0
    return int(frame[: frame.index(b"\r\n")].rpartition(b" ")[2])
