"""Lists of the API, read page by page to their end.

Theory. A page says ``total``, ``offset`` and ``limit`` and carries part of a list that is sorted by
name; the next page begins behind what was named so far. Three things can spoil that, and each
shows:

- *The list grows*: what came twice is kept once, by its name.
- *The list shrinks*: what moved up was skipped, so reading begins anew, a few times; a list that
  shrinks all the time is given as it was seen last.
- *A cluster cannot say*: of some streams and consumers it knows the name only. These are in
  ``missing``, or in ``offline`` with the reason, so that a list with holes never looks complete.

A page always says ``total``; what does not is no page. ``null``, an absent list and an empty one
say the same.

One deadline bounds all pages together, since a server that always has another page would keep the
caller for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, TypeVar, cast, final

from jsproto.core.conversation.procedure import Steps, the_time
from jsproto.errors.tree import InvalidResponse, InvalidSubject, RequestTimeout
from jsproto.jetstream.api.errors import RequestContext, described
from jsproto.wire.subjects import stream_name

T = TypeVar("T")
#: Sends the request for one page with this body and answers its members, within so many seconds.
AskPage: TypeAlias = Callable[[Mapping[str, object] | None, float], Steps[dict[str, object]]]

#: How often something is begun anew because somebody else changed it meanwhile.
RACES: Final = 3


@final
class Listing(tuple[T, ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """Everything that a list of the API has, in the order of names.

    Attributes:
        total: how many there are, as the server says.
        missing: names of what is there, but whose servers did not say more in time.
        offline: names of what cannot run now, each with the reason (2.12).
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
        """The items, and the names that have none."""
        made = super().__new__(cls, items)
        made.total = len(made) if total is None else total
        made.missing = tuple(missing)
        made.offline = dict(offline or {})
        return made

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing and not self.offline and len(self) >= self.total


class _Shrunk(Exception):
    """The total went down between two pages."""


@final
class _PageReading:
    """What was read of one list so far.

    Attributes:
        place: how many entries of the server's list the pages so far stood for: where the next page
            begins.
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
        """One page more; whether it was the last."""
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
    """All pages of a list.

    Args:
        ask: asks for one page.
        about: what is asked, for errors.
        member: the member of the answer that is the list.
        read: an entry's name and what becomes of it.
        body: members of the request beside the offset.
        timeout: seconds for all pages together.

    Raises:
        InvalidResponse: a page without its ``total``, or without a list where one belongs.
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
    """Seconds that are left for further pages of which ``came`` entries are here.

    Raises:
        RequestTimeout: none are left.
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
    """The name of a stream that the server has said, for another question about it.

    Raises:
        InvalidResponse: no stream can be called so.
    """
    try:
        return stream_name(name)
    except InvalidSubject as error:
        raise InvalidResponse(f"{about}: {error}") from None


def name_of(entry: object, about: RequestContext) -> tuple[str, str]:
    """An entry that is a name."""
    if not isinstance(entry, str):
        raise InvalidResponse(f"{about}: expected a name, got {described(entry)}")
    return entry, entry
