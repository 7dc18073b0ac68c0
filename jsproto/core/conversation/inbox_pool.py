"""Inboxes that were left clean: whoever asks the same next needs no SUB.

Theory. A request for one answer needs an inbox, and making and ending one costs the server more
than the answer itself. When the one answer has come nothing else can come, so the inbox is as good
as new and only has to be kept for the next. It is kept by what was asked (the subject of the
request): should a server send more than it was asked for, it reaches somebody who asked the same.
What ended in any other way leaves nothing: its inbox goes with an UNSUB.

An inbox is kept with the count of its tokens, so no token is ever given twice. None outlives its
link, since a server may serve an old inbox again. At most `MOST` are kept; the one that has waited
longest gives way.
"""

from __future__ import annotations

from typing import Final, TypeAlias

#: More consumers than this are hardly read one by one through one connection.
MOST: Final = 64

#: ``(sid, stem, count)``: the subscription, what its tokens begin with, and how many were given.
Inbox: TypeAlias = tuple[str, str, int]


class InboxPool:
    """Clean inboxes by what was asked through them, one for each."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, Inbox] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, asked: str, inbox: Inbox) -> str:
        """Keep an inbox; the sid that must go for it, ``""`` if none."""
        before = self._kept.pop(asked, None)
        self._kept[asked] = inbox
        if before is None and len(self._kept) > MOST:
            before = self._kept.pop(next(iter(self._kept)))
        return "" if before is None else before[0]

    def take(self, asked: str) -> Inbox | None:
        """The inbox that is kept for this, ``None`` if none is."""
        return self._kept.pop(asked, None)

    def clear(self) -> None:
        """The link is gone, and all inboxes with it."""
        self._kept.clear()
