"""Inboxes for reuse: an equal request needs no new SUB.

Theory. A request for one answer needs an inbox. A SUB and an UNSUB cost the server more than the
answer itself. When the one answer has arrived, no other message can arrive, so the inbox can serve
the next request. It is stored by the subject of the request. If a server sends too many messages,
they reach a caller that sent the same request. A request that ended in any other way leaves no
inbox; its inbox is unsubscribed.

The count of its tokens is stored with an inbox, so no token is used twice. All inboxes end with
their link, because a server may serve an old inbox again. At most `MOST` are kept; the one that was
unused for the longest time is dropped first.
"""

from __future__ import annotations

from typing import Final, TypeAlias

#: More consumers than this are seldom read one by one through one connection.
MOST: Final = 64

#: ``(sid, stem, count)``: the subscription, the beginning of its tokens, and their number.
Inbox: TypeAlias = tuple[str, str, int]


class InboxPool:
    """Reusable inboxes by the subject of the request, one for each."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, Inbox] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, asked: str, inbox: Inbox) -> str:
        """Keep an inbox; return the sid that must be unsubscribed instead, ``""`` if none."""
        before = self._kept.pop(asked, None)
        self._kept[asked] = inbox
        if before is None and len(self._kept) > MOST:
            before = self._kept.pop(next(iter(self._kept)))
        return "" if before is None else before[0]

    def take(self, asked: str) -> Inbox | None:
        """Return and remove the inbox for this request subject, ``None`` if there is none."""
        return self._kept.pop(asked, None)

    def clear(self) -> None:
        """Drop all inboxes, because the link is lost."""
        self._kept.clear()
