"""Reads lists of the API page by page to the end.

Theory. A page has ``total``, ``offset`` and ``limit``, and a part of a list that is sorted by name.
The next page begins after the names read so far. Three cases need care:

- *The list grows*: an entry that comes twice is kept once, by its name.
- *The list shrinks*: entries moved up and were skipped. So reading restarts, a few times. If the
  list keeps shrinking, the last reading counts.
- *The cluster knows only the names* of some streams and consumers. These names are in ``missing``,
  or in ``offline`` with the reason, so that an incomplete list never looks complete.

Every page must have ``total``. A list that is ``null``, absent or empty is an empty list.

One deadline covers all pages, because a server could send further pages forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, TypeVar, cast, final

from jsproto.core.conversation.procedure import Steps, the_time
from jsproto.errors.tree import InvalidResponse, InvalidSubject, RequestTimeout
from jsproto.jetstream.api.errors import RequestContext, described
from jsproto.wire.subjects import stream_name

T = TypeVar("T")
#: Sends the request for one page with this body and timeout, and returns the answer's members.
AskPage: TypeAlias = Callable[[Mapping[str, object] | None, float], Steps[dict[str, object]]]

#: The most attempts if other clients change something meanwhile.
RACES: Final = 3


@final
class Listing(tuple[T, ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """All entries of a list of the API, ordered by name.

    Attributes:
        total: number of entries, according to the server.
        missing: names of entries whose servers did not answer in time.
        offline: names of entries that cannot run now, with the reason (2.12).
    """

    total: int
    missing: tuple[str, ...]
    offline: Mapping[str, str]

    def __new__(
        cls,
        items: Iterable[T] = (),
        *,
        total: int | None = None,
        missing: Iterable[str] = (),
        offline: Mapping[str, str] | None = None,
    ) -> Listing[T]:
        """A listing of the items, and the names without an item."""
        made = super().__new__(cls, items)
        made.total = len(made) if total is None else total
        made.missing = tuple(missing)
        made.offline = dict(offline or {})
        return made

    @property
    def complete(self) -> bool:
        """Whether no entry is missing."""
        return not self.missing and not self.offline and len(self) >= self.total


class _Shrunk(Exception):
    """The total decreased between two pages."""


@final
class _PageReading:
    """The pages of one list that were read so far.

    Attributes:
        place: number of entries of the server's list that were read; the offset of the next page.
    """

    __slots__ = ("found", "missing", "offline", "place", "total")

    def __init__(self) -> None:
        self.place = 0
        self.total: int | None = None
        self.found: dict[str, object] = {}
        self.missing: dict[str, None] = {}
        self.offline: dict[str, str] = {}

    def page(
        self, named: dict[str, object], members: Mapping[str, object], about: RequestContext
    ) -> bool:
        """Add one page. True if it was the last."""
        missing = [name for name in _list(members, "missing") if isinstance(name, str)]
        said = members.get("offline")
        offline = (
            {name: str(why) for name, why in cast("dict[str, object]", said).items()}
            if isinstance(said, dict)
            else {}
        )
        total = members.get("total")
        if not isinstance(total, int) or isinstance(total, bool) or total < 0:
            raise InvalidResponse(f"{about}: expected a number as total, got {described(total)}")
        if self.total is not None and total < self.total:
            raise _Shrunk
        self.total = total
        came = len(named.keys() | set(missing) | offline.keys())
        self.found.update(named)
        self.missing.update(dict.fromkeys(missing))
        self.offline.update(offline)
        self.place += came
        return not came or self.place >= total


def pages(
    ask: AskPage,
    about: RequestContext,
    member: str,
    read: Callable[[object, RequestContext], tuple[str, T]],
    body: Mapping[str, object] | None = None,
    *,
    timeout: float,
) -> Steps[Listing[T]]:
    """Read all pages of a list.

    Args:
        ask: requests one page.
        about: the request in words, for errors.
        member: the member of the answer that holds the list.
        read: returns the name and the value of an entry.
        body: members of the request besides the offset.
        timeout: seconds for all pages together.

    Raises:
        InvalidResponse: a page without ``total``, or with something else than a list.
        RequestTimeout: the list did not end in time.
    """
    until = (yield from the_time()) + timeout
    reading = _PageReading()
    for _ in range(RACES):
        reading = _PageReading()
        try:
            while True:
                left = yield from time_left(until, about, reading.place, reading.total)
                asked = {**(body or {}), "offset": reading.place} if reading.place else body
                members = yield from ask(asked, left)
                entries = _list(members, member, about)
                if reading.page(dict(read(entry, about) for entry in entries), members, about):
                    break
        except _Shrunk:
            continue
        break
    found = cast("dict[str, T]", reading.found)
    return Listing(
        found.values(), total=reading.total, missing=reading.missing, offline=reading.offline
    )


def time_left(until: float, about: RequestContext, came: int, total: int | None) -> Steps[float]:
    """The seconds that are left for further pages, after ``came`` entries.

    Raises:
        RequestTimeout: no time is left.
    """
    left = until - (yield from the_time())
    if left <= 0:
        raise RequestTimeout(
            f"{about}: expected the whole list in time, got {came} of {total} entries"
        )
    return left


def _list(members: Mapping[str, object], member: str, about: object = "") -> list[object]:
    page = members.get(member)
    if page is not None and not isinstance(page, list):
        raise InvalidResponse(f"{about}: expected a list as {member}, got {described(page)}")
    return cast("list[object]", page or [])


def said_name(name: str, about: RequestContext) -> str:
    """Check a stream name from the server, before it is used in another request.

    Raises:
        InvalidResponse: no stream can have this name.
    """
    try:
        return stream_name(name)
    except InvalidSubject as error:
        raise InvalidResponse(f"{about}: {error}") from None


def name_of(entry: object, about: RequestContext) -> tuple[str, str]:
    """Read an entry that is a name."""
    if not isinstance(entry, str):
        raise InvalidResponse(f"{about}: expected a name, got {described(entry)}")
    return entry, entry
