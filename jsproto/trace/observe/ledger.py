"""The Observer's records: links, subscriptions, pulls, deliveries, consumers and requests.

Theory. These are records, not machines. Each holds what was seen of one thing, with its time and
line.

All tables are bounded, so a trace of any length needs the same memory. A full table forgets its
older half, and all links share `ROOM` for their tables. The judge never judges forgotten entries:
where a fact says that something was *not* seen, the table must not have forgotten anything
(`SeenLink.forgot`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, Literal, TypeAlias, TypeVar

from attrs import Factory, define

from jsproto.jetstream.status import EndReason
from jsproto.wire.frames import Info
from jsproto.wire.info import release_of
from jsproto.wire.subjects import subject_matches

#: Nanoseconds in a second. Records hold whole nanoseconds. Sums of seconds as floats are rounded,
#: and a check could then be due again and again.
SECOND: Final = 1_000_000_000
#: The latest time that the records hold, in seconds; a later time counts as this one.
MOST_SECONDS: Final = 1e15
#: Highest number of entries in one table; the newest stay.
MOST: Final = 32_768
#: Highest number of entries in the tables of one kind, over all links.
ROOM: Final = 4 * MOST
#: Highest number of entries in a table of a link that has ended.
MOST_PAST: Final = 256
#: Bytes of a request that stay after the request was judged.
MOST_BODY: Final = 1024

#: Tables of a link for which a fact may say that an entry is missing.
Table: TypeAlias = Literal["interests", "sids", "marks", "pings"]
#: Refusals of one subscription that are counted; more would not change the finding.
MOST_REFUSALS: Final = 64
#: Ended pulls of one reader that stay, because a late status may belong to them.
MOST_OVER: Final = 8
#: Silence of the server on a link that counts as a gap, and how many gaps stay (the newest).
GAP: Final = SECOND
MOST_GAPS: Final = 4
#: Times that stay (the newest) at which the client requested information about one consumer.
MOST_INQUIRIES: Final = 256
#: Leading tokens of a subject by which wildcard subscriptions are indexed.
_WORDS: Final = 4

Json: TypeAlias = Mapping[str, object]
ConsumerKey: TypeAlias = tuple[str, str]

_K = TypeVar("_K")
_V = TypeVar("_V")


def nanoseconds(seconds: float) -> int:
    """Convert a time of a recording into nanoseconds, never below 0."""
    whole, part = divmod(min(max(seconds, 0.0), MOST_SECONDS), 1)
    return int(whole) * SECOND + round(part * SECOND)


def seconds(count: int) -> float:
    """Convert nanoseconds into seconds, for output."""
    return count / SECOND


@define(eq=False, kw_only=True)
class SeenPull:
    """A pull request and what came for it."""

    consumer: ConsumerKey
    token: str
    body: bytes
    #: Nanoseconds, as all times in these records.
    at: int
    line: int
    batch: int = 1
    max_bytes: int = 0
    #: 0 if it has no expiry.
    expires: int = 0
    heartbeat: int = 0
    no_wait: bool = False
    group: str = ""
    pin: str = ""
    #: Names of the members in the body; ``None`` if the body is not a JSON object.
    members: frozenset[str] | None = None
    #: Whether the server answers at once without messages: it cannot read the body, or the expiry
    #: is negative.
    void: bool = False
    #: Whether its batch is below 1, which counts as 1.
    vague: bool = False
    got: int = 0
    size: int = 0
    end: EndReason | None = None
    status: str = ""
    #: The link that carried it, and the tally of its inbox; ``None`` if it was only parsed.
    link: SeenLink | None = None
    lane: Tally | None = None
    #: Whether the tallies of its reader include it: it has not ended and has not expired by the
    #: client's clock.
    counted: bool = False

    @property
    def left(self) -> int:
        """Messages that have not come."""
        return 0 if self.void else max(0, self.batch - self.got)

    @property
    def left_bytes(self) -> int:
        """Bytes that have not come."""
        return 0 if self.void else max(0, self.max_bytes - self.size)

    def lapsed(self, now: int) -> bool:
        """Whether it has ended, or has expired by the client's clock."""
        return self.end is not None or (self.expires > 0 and now > self.at + self.expires)

    def over(self, now: int) -> bool:
        """Whether it has ended, or must have expired on the server.

        A server that was silent may not have read the pull yet, so its expiry had not begun.
        """
        if not self.lapsed(now):
            return False
        begun = self.at if self.link is None or self.end is not None else self.link.read_by(self)
        return self.end is not None or (begun is not None and now > begun + self.expires)


@define(eq=False)
class Tally:
    """Open pulls, oldest first, and what they may still bring by the client's clock.

    An ended pull leaves the queue when it comes to the front.
    """

    queue: deque[SeenPull] = Factory(deque[SeenPull])
    owed: int = 0
    owed_bytes: int = 0
    last: SeenPull | None = None
    #: Messages and bytes that the client requests when no pull is open.
    most: int = 0
    most_bytes: int = 0

    def first(self) -> SeenPull | None:
        """The oldest pull that has not ended."""
        while self.queue and self.queue[0].end is not None:
            self.queue.popleft()
        return self.queue[0] if self.queue else None


@define(eq=False, kw_only=True)
class SeenReader:
    """The pulls of one subscription for one consumer."""

    consumer: ConsumerKey
    interest: SeenSubscription
    number: int
    tally: Tally = Factory(Tally)
    #: Tallies by inbox. A wildcard subscription can have many inboxes.
    lanes: dict[str, Tally] = Factory(dict[str, "Tally"])
    #: Heap of the times at which pulls expire by the client's clock.
    due: list[tuple[int, int, SeenPull]] = Factory(list[tuple[int, int, "SeenPull"]])
    #: The last pulls that are over.
    past: deque[SeenPull] = Factory(deque[SeenPull])
    #: Pulls of earlier links that the server may still serve into these inboxes.
    survivors: list[SeenPull] = Factory(list[SeenPull])
    pulls: int = 0
    #: Whether this reader is continuous: it sent a pull before the earlier one was filled.
    loop: bool = False
    #: How often a pull overlapped with one of another reply subject. Several readers at once do so
    #: too.
    overlaps: int = 0
    #: Whether one inbox served several pulls. Then an inbox belongs to a reader, not to a pull.
    repeated: bool = False
    #: Whether a batch was below 1 or unreadable, so that the intended number is unknown.
    unsure: bool = False
    #: Whether anything came for it: a message, or the status that ended a pull.
    served: bool = False
    #: How many pulls in a row asked for less than the most, with no earlier pull open and no
    #: message unsettled.
    shrunk: int = 0

    @property
    def last(self) -> SeenPull | None:
        """The newest pull."""
        return self.tally.last


@define(eq=False, kw_only=True)
class SeenSubscription:
    """A subscription of a link."""

    sid: str
    subject: str
    queue: str
    line: int
    #: Maximum of an UNSUB; 0 for none.
    limit: int = 0
    got: int = 0
    #: Time of the last frame that came, or of the last pull that went out.
    sign: int = 0
    since: int = 0
    #: Number among the subscriptions of its link, in the order in which they were made.
    number: int = 0
    active: bool = True
    #: Whether API answers come here too. Then only the inboxes distinguish its readers.
    shared: bool = False
    #: Deliveries, those of them that are not settled, and the number of the last one the user took.
    delivered: int = 0
    unsettled: int = 0
    taken: int = 0
    readers: dict[ConsumerKey, SeenReader] = Factory(dict[ConsumerKey, "SeenReader"])
    #: Times at which its pulls were refused.
    refusals: deque[int] = Factory(lambda: deque[int](maxlen=MOST_REFUSALS))

    @property
    def wild(self) -> bool:
        """Whether its subject has a wildcard."""
        return "*" in self.subject or ">" in self.subject

    @property
    def pulls(self) -> list[SeenPull]:
        """Its known pulls, in the order in which they were sent."""
        known = [
            each
            for reader in self.readers.values()
            for each in (*reader.past, *(pull for pull in reader.tally.queue if pull.end is None))
        ]
        return sorted(dict.fromkeys(known), key=lambda pull: pull.line)


@define(eq=False, kw_only=True)
class SeenConsumer:
    """A consumer whose configuration was seen in a request or an answer."""

    key: ConsumerKey
    config: Json
    at: int
    line: int
    deleted: bool = False
    #: The link that created it without a subscription on its deliver subject.
    unheard_by: SeenLink | None = None
    #: The link on which it was created, if that was seen.
    made_by: SeenLink | None = None
    #: The consumer sequence that must come next; 0 if it is not known. ``gap`` is the time at which
    #: another one came.
    expected: int = 0
    gap: int | None = None

    @property
    def ordered(self) -> bool:
        """Whether it is of an ordered consumer: no acks, one delivery, memory storage."""
        config = self.config
        return (
            config.get("ack_policy") == "none"
            and config.get("max_deliver") == 1
            and config.get("mem_storage") is True
        )


@define(eq=False, kw_only=True)
class SeenRequest:
    """A request to the JetStream API."""

    subject: str
    verb: str
    names: tuple[str, ...]
    reply: str
    payload: bytes
    body: Json | None
    at: int
    line: int
    #: Whether the client can hear the consumer: false if it creates a push consumer without a
    #: subscription on the deliver subject.
    heard: bool = True


@define(eq=False)
class SeenDelivery:
    """A delivery of a consumer, and its acks."""

    consumer: ConsumerKey
    line: int
    #: How many deliveries with this same reply subject are unsettled. A server that was killed may
    #: reuse a reply subject.
    left: int = 1
    #: Body of the terminal ack, and whether it asked for an answer; ``None`` while open.
    settled: bytes | None = None
    asked: bool = False
    #: Whether the answer to the ack came.
    confirmed: bool = False
    link: object = None
    #: The subscription that received it, and its number there, from 1.
    interest: SeenSubscription | None = None
    number: int = 0


@define(eq=False)
class SeenMark:
    """A flow control request of the server."""

    subject: str
    at: int
    line: int
    answers: int = 0
    #: Heartbeats since the request or the last answer that reported a missing answer.
    missed: int = 0
    #: The subscription that received the request, and its deliveries before the request.
    interest: SeenSubscription | None = None
    behind: int = 0


@define(eq=False)
class SeenPublish:
    """A published message, kept so that later ones can be compared with it."""

    subject: str
    msg_id: str
    #: The payload, or a digest if the payload is longer.
    digest: bytes
    link: SeenLink
    line: int
    answered: bool = False
    at: int = 0
    #: How often the same message was published.
    times: int = 1


@define(eq=False, kw_only=True)
class SeenLink:
    """A connection of one client to one server, from its first byte to its last."""

    conn: str
    at: int
    number: int
    info: Info | None = None
    #: Body of CONNECT, and whether it turned headers on.
    connect: Json | None = None
    headers: bool | None = None
    up: bool = True
    #: Whether it ended without the client's intention.
    lost: bool = False
    ended: int = 0
    #: Whether another link is known to continue it.
    followed: bool = False
    #: Whether the first PONG came.
    ready: bool = False
    #: Subscriptions by sid; only `add` and `drop` change the table.
    interests: dict[str, SeenSubscription] = Factory(dict[str, SeenSubscription])
    #: Subscriptions by subject; wildcard ones by the tokens before the first wildcard.
    exact: dict[str, dict[str, SeenSubscription]] = Factory(dict[str, dict[str, SeenSubscription]])
    wild: dict[str, dict[str, SeenSubscription]] = Factory(dict[str, dict[str, SeenSubscription]])
    #: Number of subscriptions so far.
    made: int = 0
    #: Readers of each consumer, and the line of the last pull for each consumer.
    readers: dict[ConsumerKey, dict[int, SeenReader]] = Factory(
        dict[ConsumerKey, dict[int, "SeenReader"]]
    )
    asked: dict[ConsumerKey, int] = Factory(dict[ConsumerKey, int])
    #: Times at which the client requested information about each consumer (the newest).
    inquiries: dict[ConsumerKey, deque[int]] = Factory(dict[ConsumerKey, "deque[int]"])
    #: Time at which the server sent something last, and its newest silences.
    heard: int = 0
    gaps: deque[tuple[int, int]] = Factory(lambda: deque[tuple[int, int]](maxlen=MOST_GAPS))
    #: Every sid that the client used.
    sids: dict[str, None] = Factory(dict[str, None])
    requests: dict[str, SeenRequest] = Factory(dict[str, SeenRequest])
    #: Requests to create push consumers without a subscription, by deliver subject.
    unheard: dict[str, SeenRequest] = Factory(dict[str, SeenRequest])
    #: Deliveries whose ack asked for an answer, by the reply subject of the ack.
    confirming: dict[str, SeenDelivery] = Factory(dict[str, "SeenDelivery"])
    publishes: dict[str, SeenPublish] = Factory(dict[str, SeenPublish])
    marks: dict[str, SeenMark] = Factory(dict[str, SeenMark])
    #: Line and time of the server's PINGs that are not answered yet.
    pings: deque[tuple[int, int]] = Factory(deque[tuple[int, int]])
    #: Whether the user closed something after this link ended. Then the client need not restore
    #: subscriptions.
    left: bool = False
    #: The link of the same client before this one, if known.
    before: SeenLink | None = None
    creates: int = 0
    #: Whether the recording says what the user takes, as those of jsproto do.
    tells: bool = False
    #: Tables of this link that have forgotten an entry.
    forgot: set[Table] = Factory(set[Table])

    def keep(self, most: int) -> None:
        """Limit each table to ``most`` entries; a larger one keeps its newest half of that."""
        for interest in excess(self.interests, most):
            self.drop(interest)
            self.forgot.add("interests")
        if bound(self.asked, most):
            self.forgot.add("interests")
        bound(self.publishes, most)
        if bound(self.sids, most):
            self.forgot.add("sids")
        if bound(self.marks, most):
            self.forgot.add("marks")
        bound(self.requests, most)
        bound(self.inquiries, most)
        bound(self.unheard, most)
        bound(self.confirming, most)

    def option(self, name: str) -> object:
        """Option of CONNECT by its name; ``None`` if it is missing."""
        return None if self.connect is None else self.connect.get(name)

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor version of the server."""
        return None if self.info is None else release_of(self.info.version)

    def add(self, interest: SeenSubscription) -> None:
        """Add a subscription that begins."""
        self.made += 1
        interest.number = self.made
        self.interests[interest.sid] = interest
        self._place(interest).setdefault(_ordered_by(interest), {})[interest.sid] = interest

    def drop(self, interest: SeenSubscription) -> None:
        """Remove a subscription that ends."""
        interest.active = False
        if self.interests.get(interest.sid) is not interest:
            return
        del self.interests[interest.sid]
        place, key = self._place(interest), _ordered_by(interest)
        del place[key][interest.sid]
        if not place[key]:
            del place[key]
        for reader in interest.readers.values():
            self.forget(reader)

    def forget(self, reader: SeenReader) -> None:
        """Remove this reader from the index by consumer."""
        known = self.readers[reader.consumer]
        del known[reader.number]
        if not known:
            del self.readers[reader.consumer]

    def _place(self, interest: SeenSubscription) -> dict[str, dict[str, SeenSubscription]]:
        return self.wild if interest.wild else self.exact

    def interest_in(self, subject: str) -> list[SeenSubscription]:
        """Find the subscriptions that match this subject, in the order in which they were made."""
        found = list(self.exact.get(subject, {}).values())
        if self.wild:
            words = subject.split(".", _WORDS)[:_WORDS]
            for count in range(len(words) + 1):
                for each in self.wild.get(".".join(words[:count]), {}).values():
                    if subject_matches(each.subject, subject):
                        found.append(each)  # noqa: PERF401 - a nested expression is hard to read
        return sorted(found, key=lambda each: each.number) if len(found) > 1 else found

    def hear(self, now: int) -> None:
        """Note that the server sent something."""
        if now - self.heard >= GAP:
            self.gaps.append((self.heard, now))
        self.heard = now

    def consumer_info_seen(self, key: ConsumerKey, since: int) -> int:
        """Find the first time after ``since`` when the client asked for information on a consumer.

        The result is ``since`` if the client did not ask.
        """
        return next((each for each in self.inquiries.get(key, ()) if each > since), since)

    def read_by(self, pull: SeenPull) -> int | None:
        """Give the latest time at which the server can have read a pull that has expired.

        The expiry is that of the client's clock. A server that speaks has read the pull at once. If
        it was silent from the pull until after the expiry, it may have read it when it spoke again.
        ``None`` means that it has sent nothing since the pull.
        """
        if not self.up:
            return pull.at
        if self.heard <= pull.at:
            return None
        for start, end in self.gaps:
            if start <= pull.at and end > pull.at + pull.expires:
                return end
        return pull.at


def _ordered_by(interest: SeenSubscription) -> str:
    """Key of a subscription in the index.

    The key is the whole subject, or the tokens before the first wildcard, at most `_WORDS`.
    """
    if not interest.wild:
        return interest.subject
    words: list[str] = []
    for word in interest.subject.split(".", _WORDS)[:_WORDS]:
        if word in {"*", ">"}:
            break
        words.append(word)
    return ".".join(words)


def excess(table: dict[_K, _V], most: int) -> Sequence[_V]:
    """List the entries to forget if a table has more than ``most``; the newest half stays."""
    return () if len(table) <= most else list(islice(table.values(), len(table) - most // 2))


def bound(table: dict[_K, _V], most: int | None = None) -> Sequence[tuple[_K, _V]]:
    """Forget the older entries of a table that has more than ``most`` (default `MOST`).

    The newest half of ``most`` stays; the result is what was forgotten. All go at once, because a
    dict that loses its first entry again and again must search past the removed ones each time.
    """
    if most is None:
        most = MOST
    if len(table) <= most:
        return ()
    forgotten = list(islice(table.items(), len(table) - most // 2))
    for key, _ in forgotten:
        del table[key]
    return forgotten
