"""Who a message is for: by sid, and for answers by their address.

Theory. The table maps a sid to the conversation that subscribed with it; the subject of the frame
is never looked at, except on the mux. All calls share one subscription with sid 1, and the reply
subject of a call is ``<mux root>.<number>.<n>``: the last two tokens name the port and the call, so
there is no table of tokens to fill, leak or collide in. Mux and inboxes have disjoint roots: two
subscriptions of one connection that match the same subject would both be served.

A sid that was given up stays in the table until the PONG behind its UNSUB: what came before is
still delivered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jsproto.core.conversation.conversation import Conversation
from jsproto.wire.frames import SUBJECT, Delivery

MUX_SID: Final = "1"
MAX_DIGITS: Final = 15


class Router:
    """Tables of the connection: conversations by number and by sid.

    Attributes:
        conversations: every conversation that is not finished, by the number of its port.
        routes: the conversation behind each sid.
        unknown: frames that came for a sid that nobody has.
    """

    __slots__ = ("_sids", "conversations", "inbox_root", "mux_root", "routes", "unknown")

    def __init__(self, prefix: str, nuid: str) -> None:
        self.mux_root = f"{prefix}.R.{nuid}"
        self.inbox_root = f"{prefix}.P.{nuid}"
        self.conversations: dict[int, Conversation[object]] = {}
        self.routes: dict[str, Conversation[object]] = {}
        self._sids: dict[int, list[str]] = {}
        self.unknown = 0

    @property
    def mux_subject(self) -> str:
        """What the mux subscribes to."""
        return f"{self.mux_root}.*.*"

    def answers(
        self, frames: list[Delivery]
    ) -> Iterator[tuple[Conversation[object], int, Delivery]]:
        """Split what came on the mux by address; an answer that nobody waits for is counted and
        dropped.
        """
        for frame in frames:
            rest, _, token = frame[SUBJECT].rpartition(".")
            found = self.conversations.get(number_of(rest.rpartition(".")[2]))
            call = number_of(token)
            if found is None or call < 0:
                self.unknown += 1
            else:
                yield found, call, frame

    def add(self, conversation: Conversation[object]) -> None:
        """A conversation begins."""
        self.conversations[conversation.port.number] = conversation

    def route(self, sid: str, conversation: Conversation[object]) -> None:
        """A conversation subscribes with ``sid``."""
        self.routes[sid] = conversation
        self._sids.setdefault(conversation.port.number, []).append(sid)

    def unroute(self, sid: str) -> None:
        """Nothing comes for ``sid`` any more; harmless if nobody had it."""
        conversation = self.routes.pop(sid, None)
        if conversation is not None:
            self._sids[conversation.port.number].remove(sid)

    def forget(self, conversation: Conversation[object]) -> None:
        """A conversation is over: nothing leads to it any more."""
        number = conversation.port.number
        self.conversations.pop(number, None)
        for sid in self._sids.pop(number, ()):
            del self.routes[sid]

    def link_lost(self) -> None:
        """Sids that were given up die with the link; the present ones stay, their owners are
        restored.
        """
        self.clear_routes()
        for each in self.conversations.values():
            if each.port.subject:
                self.route(each.port.sid, each)

    def clear_routes(self) -> None:
        """No sid leads anywhere."""
        self.routes.clear()
        self._sids.clear()


def number_of(text: str) -> int:
    """A number that we may have written, or -1: what stands in a subject is input from outside, and
    we write no zero in front.
    """
    sound = text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= MAX_DIGITS
    return int(text) if sound else -1
