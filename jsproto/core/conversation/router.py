"""Find the conversation for a message: by sid, or for answers by their subject.

Theory. A table maps each sid to the conversation that subscribed with it. The subject of a frame is
read only on the mux. All calls share one subscription with sid 1. The reply subject of a call is
``<mux root>.<number>.<n>``: the last two tokens name the port and the call. So there is no table of
tokens that could fill, leak or collide. Mux and inboxes have disjoint roots, because the server
would deliver to both of two matching subscriptions of a connection.

After an UNSUB the sid stays in the table until the PONG after it, so earlier messages are still
delivered.
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
        conversations: every unfinished conversation, by the number of its port.
        routes: the conversation of each sid.
        unknown: number of frames that arrived for an unknown sid.
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
        """The subject of the mux subscription."""
        return f"{self.mux_root}.*.*"

    def answers(
        self, frames: list[Delivery]
    ) -> Iterator[tuple[Conversation[object], int, Delivery]]:
        """Yield conversation, token and frame of each answer on the mux.

        Answers without a conversation are counted and dropped.
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
        """Add a conversation."""
        self.conversations[conversation.port.number] = conversation

    def route(self, sid: str, conversation: Conversation[object]) -> None:
        """Route ``sid`` to a conversation."""
        self.routes[sid] = conversation
        self._sids.setdefault(conversation.port.number, []).append(sid)

    def unroute(self, sid: str) -> None:
        """Stop routing ``sid``; harmless if it is unknown."""
        conversation = self.routes.pop(sid, None)
        if conversation is not None:
            self._sids[conversation.port.number].remove(sid)

    def forget(self, conversation: Conversation[object]) -> None:
        """Remove a conversation and its sids."""
        number = conversation.port.number
        self.conversations.pop(number, None)
        for sid in self._sids.pop(number, ()):
            del self.routes[sid]

    def link_lost(self) -> None:
        """Drop the sids of ended subscriptions; the current sids stay and are restored."""
        self.clear_routes()
        for each in self.conversations.values():
            if each.port.subject:
                self.route(each.port.sid, each)

    def clear_routes(self) -> None:
        """Drop all sids."""
        self.routes.clear()
        self._sids.clear()


def number_of(text: str) -> int:
    """Parse a number that this client may have written, or return -1.

    Subjects are input from outside. This client never writes a leading zero.
    """
    sound = text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= MAX_DIGITS
    return int(text) if sound else -1
