"""What the Observer keeps books of: links, subscriptions, pulls, deliveries, consumers, requests.

Theory. These are records, not machines: each says what was seen of one thing, with the time and the
line at which it was seen.

All tables are bounded, so a trace of any length takes the same memory. A table that is full forgets
its older half; links share what room there is for tables of their own. What was forgotten is never
judged: a fact that something was *not* there is only told, or only judged, where the table that
would know it has forgotten nothing (`SeenLink.forgot`).
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

#: Nanoseconds of a second. The books count whole nanoseconds: sums of seconds as floats are
#: rounded, and then a time can be due for ever.
SECOND: Final = 1_000_000_000
#: The latest time that is counted, in seconds; whatever is later counts as this.
MOST_SECONDS: Final = 1e15
#: Entries that one table keeps, the newest.
MOST: Final = 32_768
#: Entries that the tables of one kind have together, of all links that are known.
ROOM: Final = 4 * MOST
#: Entries that the tables of a link keep when it has ended.
MOST_PAST: Final = 256
#: Bytes of a request that are kept behind the moment in which it was judged.
MOST_BODY: Final = 1024

#: Tables of a link of which it is told that something is not in them.
Table: TypeAlias = Literal["interests", "sids", "marks", "pings"]
#: Refusals of one subscription that are counted: more are no more of a storm.
MOST_REFUSALS: Final = 64
#: Pulls that are over and are kept, of one reader: a late status may speak of them.
MOST_OVER: Final = 8
#: A link on which the server says nothing for so long has a gap; the newest are kept.
GAP: Final = SECOND
MOST_GAPS: Final = 4
#: Times at which the client asked about one consumer that are kept, the newest.
MOST_INQUIRIES: Final = 256
#: Words of a subject that the table of wildcards is ordered by.
_WORDS: Final = 4

Json: TypeAlias = Mapping[str, object]
ConsumerKey: TypeAlias = tuple[str, str]

_K = TypeVar("_K")
_V = TypeVar("_V")


def nanoseconds(seconds: float) -> int:
    """A time of a record as the books count it; never below 0."""
    whole, part = divmod(min(max(seconds, 0.0), MOST_SECONDS), 1)
    return int(whole) * SECOND + round(part * SECOND)


def seconds(count: int) -> float:
    """Nanoseconds of the books as seconds, for words and for whoever shows them."""
    return count / SECOND


@define(eq=False, kw_only=True)
class SeenPull:
    """One pull request and what became of it."""

    consumer: ConsumerKey
    token: str
    body: bytes
    #: Nanoseconds, as all times here.
    at: int
    line: int
    batch: int = 1
    max_bytes: int = 0
    #: 0 if it waits for ever.
    expires: int = 0
    heartbeat: int = 0
    no_wait: bool = False
    group: str = ""
    pin: str = ""
    #: Members that the body had; ``None`` if it is no JSON object.
    members: frozenset[str] | None = None
    #: The server answers it at once and sends nothing for it: its body cannot be read, or its
    #: expiry is below 0.
    void: bool = False
    #: Its batch is below 1, and counts as 1.
    vague: bool = False
    got: int = 0
    size: int = 0
    end: EndReason | None = None
    status: str = ""
    #: Where it was sent, and the books of its inbox; ``None`` where it was only read.
    link: SeenLink | None = None
    lane: Tally | None = None
    #: Whether it is in the sums of its reader: it has not ended, and its time is not up by the
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
        """Whether it has ended, or its time is up by the client's clock."""
        return self.end is not None or (self.expires > 0 and now > self.at + self.expires)

    def over(self, now: int) -> bool:
        """Whether it has ended, or must have: a server that says nothing may not have read it yet,
        so its clock did not begin.
        """
        if not self.lapsed(now):
            return False
        begun = self.at if self.link is None or self.end is not None else self.link.read_by(self)
        return self.end is not None or (begun is not None and now > begun + self.expires)


@define(eq=False)
class Tally:
    """Pulls that are under way, oldest first, and what they owe by the client's clock.

    Those that have ended are taken out when they come to the front.
    """

    queue: deque[SeenPull] = Factory(deque[SeenPull])
    owed: int = 0
    owed_bytes: int = 0
    last: SeenPull | None = None
    #: What is asked for where nothing is owed.
    most: int = 0
    most_bytes: int = 0

    def first(self) -> SeenPull | None:
        """The oldest that has not ended."""
        while self.queue and self.queue[0].end is not None:
            self.queue.popleft()
        return self.queue[0] if self.queue else None


@define(eq=False, kw_only=True)
class SeenReader:
    """What one subscription asks of one consumer."""

    consumer: ConsumerKey
    interest: SeenSubscription
    number: int
    tally: Tally = Factory(Tally)
    #: By inbox: behind a wildcard there can be many.
    lanes: dict[str, Tally] = Factory(dict[str, "Tally"])
    #: When pulls are over by the client's clock.
    due: list[tuple[int, int, SeenPull]] = Factory(list[tuple[int, int, "SeenPull"]])
    #: Pulls that are over, the last ones.
    past: deque[SeenPull] = Factory(deque[SeenPull])
    #: Pulls of links before that may still be alive in its inboxes.
    survivors: list[SeenPull] = Factory(list[SeenPull])
    pulls: int = 0
    #: A pull went out while another was not yet filled: somebody reads on and on.
    loop: bool = False
    #: How often that was so with another reply subject, which several readers beside each other do
    #: too.
    overlaps: int = 0
    #: An inbox was asked for more than once, so an inbox is a reader and not a pull.
    repeated: bool = False
    #: A batch was below 1, or could not be read: nobody knows how much it wants.
    unsure: bool = False
    #: Something came for it: a message, or the end of a pull.
    served: bool = False
    #: Pulls that asked for less than the most although nothing was owed and nothing could wait to
    #: be taken, one behind the other.
    shrunk: int = 0

    @property
    def last(self) -> SeenPull | None:
        """The newest pull."""
        return self.tally.last


@define(eq=False, kw_only=True)
class SeenSubscription:
    """One subscription of a link."""

    sid: str
    subject: str
    queue: str
    line: int
    #: UNSUB with a maximum, 0 for none.
    limit: int = 0
    got: int = 0
    #: When a frame came last, or the last pull went out.
    sign: int = 0
    since: int = 0
    #: The place among the subscriptions of its link.
    number: int = 0
    active: bool = True
    #: Answers of the API come here too: readers behind it are told apart by their inboxes only.
    shared: bool = False
    #: Deliveries so far, how many of them are not settled, and which the user has taken, by number.
    delivered: int = 0
    unsettled: int = 0
    taken: int = 0
    readers: dict[ConsumerKey, SeenReader] = Factory(dict[ConsumerKey, "SeenReader"])
    #: When its pulls were refused.
    refusals: deque[int] = Factory(lambda: deque[int](maxlen=MOST_REFUSALS))

    @property
    def wild(self) -> bool:
        """Whether it takes more than one subject."""
        return "*" in self.subject or ">" in self.subject

    @property
    def pulls(self) -> list[SeenPull]:
        """Its pulls that are known, those that have ended first."""
        known = [
            each
            for reader in self.readers.values()
            for each in (*reader.past, *(pull for pull in reader.tally.queue if pull.end is None))
        ]
        return sorted(dict.fromkeys(known), key=lambda pull: pull.line)


@define(eq=False, kw_only=True)
class SeenConsumer:
    """A consumer whose configuration was seen: in a request that was answered, or in an answer."""

    key: ConsumerKey
    config: Json
    at: int
    line: int
    deleted: bool = False
    #: The link that made it without listening on its deliver subject.
    unheard_by: SeenLink | None = None
    #: The link on which it was made, if that was seen.
    made_by: SeenLink | None = None
    #: The consumer sequence that comes next; 0 while none has come. ``gap`` is when another one
    #: came.
    expected: int = 0
    gap: int | None = None

    @property
    def ordered(self) -> bool:
        """Whether it is one incarnation of an ordered consumer: acks none, one delivery, in memory."""
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
    #: Not so where a push consumer is asked for whose deliver subject has no subscription on this
    #: link.
    heard: bool = True


@define(eq=False)
class SeenDelivery:
    """One delivery of a consumer, and what was said to it."""

    consumer: ConsumerKey
    line: int
    #: How often it came with this very reply subject and was not settled: a server that was killed
    #: may count again.
    left: int = 1
    #: The terminal ack: its body and whether its answer was asked for; ``None`` while open.
    settled: bytes | None = None
    asked: bool = False
    #: The answer came.
    confirmed: bool = False
    link: object = None
    #: The subscription that it came through, and its number there, from 1.
    interest: SeenSubscription | None = None
    number: int = 0


@define(eq=False)
class SeenMark:
    """A question of flow control."""

    subject: str
    at: int
    line: int
    answers: int = 0
    #: Heartbeats since the last answer, or since the question, that missed one.
    missed: int = 0
    #: Deliveries that came before the question, through the same subscription.
    interest: SeenSubscription | None = None
    behind: int = 0


@define(eq=False)
class SeenPublish:
    """A message to a stream (or to anybody), for comparing it with others."""

    subject: str
    msg_id: str
    #: The payload, or a digest of it where that is shorter.
    digest: bytes
    link: SeenLink
    line: int
    answered: bool = False
    at: int = 0
    #: How often the same was published.
    times: int = 1


@define(eq=False, kw_only=True)
class SeenLink:
    """One connection of one client to one server, from its first byte to its last."""

    conn: str
    at: int
    number: int
    info: Info | None = None
    #: What CONNECT said, and whether it turned headers on.
    connect: Json | None = None
    headers: bool | None = None
    up: bool = True
    #: It ended, and not because the client wanted it.
    lost: bool = False
    ended: int = 0
    #: Another link is known to be its next.
    followed: bool = False
    #: The first PONG came.
    ready: bool = False
    #: By sid; only `add` and `drop` change it.
    interests: dict[str, SeenSubscription] = Factory(dict[str, SeenSubscription])
    #: The same by subject, those with wildcards by the words before the first of them.
    exact: dict[str, dict[str, SeenSubscription]] = Factory(dict[str, dict[str, SeenSubscription]])
    wild: dict[str, dict[str, SeenSubscription]] = Factory(dict[str, dict[str, SeenSubscription]])
    #: Subscriptions that were made.
    made: int = 0
    #: Who reads which consumer, and the line of the last pull of each.
    readers: dict[ConsumerKey, dict[int, SeenReader]] = Factory(
        dict[ConsumerKey, dict[int, "SeenReader"]]
    )
    asked: dict[ConsumerKey, int] = Factory(dict[ConsumerKey, int])
    #: When the client asked the API about each consumer, the newest times.
    inquiries: dict[ConsumerKey, deque[int]] = Factory(dict[ConsumerKey, "deque[int]"])
    #: When the server said something last, and the newest times in which it said nothing.
    heard: int = 0
    gaps: deque[tuple[int, int]] = Factory(lambda: deque[tuple[int, int]](maxlen=MOST_GAPS))
    #: Every sid that was given out.
    sids: dict[str, None] = Factory(dict[str, None])
    requests: dict[str, SeenRequest] = Factory(dict[str, SeenRequest])
    #: Requests for push consumers to whose deliver subject nobody listens, by that subject.
    unheard: dict[str, SeenRequest] = Factory(dict[str, SeenRequest])
    #: Acks of which an answer was asked for, by the subject of the answer.
    confirming: dict[str, SeenDelivery] = Factory(dict[str, "SeenDelivery"])
    publishes: dict[str, SeenPublish] = Factory(dict[str, SeenPublish])
    marks: dict[str, SeenMark] = Factory(dict[str, SeenMark])
    #: Line and time of PINGs of the server that were not answered.
    pings: deque[tuple[int, int]] = Factory(deque[tuple[int, int]])
    #: Behind its end the user left something: a subscription need not be made again.
    left: bool = False
    #: The link that this one came after, if it is known to be of the same client.
    before: SeenLink | None = None
    creates: int = 0
    #: The client tells what its user takes: a recording of ours.
    tells: bool = False
    #: Tables of this link that have forgotten something.
    forgot: set[Table] = Factory(set[Table])

    def keep(self, most: int) -> None:
        """Each table keeps so many entries at most, the newest half of them if it had more."""
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
        """What CONNECT said about something; ``None`` if it did not."""
        return None if self.connect is None else self.connect.get(name)

    @property
    def version(self) -> tuple[int, int] | None:
        """Major and minor version of the server."""
        return None if self.info is None else release_of(self.info.version)

    def add(self, interest: SeenSubscription) -> None:
        """A subscription is made."""
        self.made += 1
        interest.number = self.made
        self.interests[interest.sid] = interest
        self._place(interest).setdefault(_ordered_by(interest), {})[interest.sid] = interest

    def drop(self, interest: SeenSubscription) -> None:
        """A subscription ends."""
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
        """Nobody looks for this reader by its consumer any more."""
        known = self.readers[reader.consumer]
        del known[reader.number]
        if not known:
            del self.readers[reader.consumer]

    def _place(self, interest: SeenSubscription) -> dict[str, dict[str, SeenSubscription]]:
        return self.wild if interest.wild else self.exact

    def interest_in(self, subject: str) -> list[SeenSubscription]:
        """Subscriptions that a message on this subject would reach, in the order in which they were
        made.
        """
        found = list(self.exact.get(subject, {}).values())
        if self.wild:
            words = subject.split(".", _WORDS)[:_WORDS]
            for count in range(len(words) + 1):
                for each in self.wild.get(".".join(words[:count]), {}).values():
                    if subject_matches(each.subject, subject):
                        found.append(each)  # noqa: PERF401 - three levels in one expression are hard to read
        return sorted(found, key=lambda each: each.number) if len(found) > 1 else found

    def hear(self, now: int) -> None:
        """The server says something."""
        if now - self.heard >= GAP:
            self.gaps.append((self.heard, now))
        self.heard = now

    def consumer_info_seen(self, key: ConsumerKey, since: int) -> int:
        """When the client asked about this consumer for the first time behind a moment; the moment
        if it did not.
        """
        return next((each for each in self.inquiries.get(key, ()) if each > since), since)

    def read_by(self, pull: SeenPull) -> int | None:
        """When the server has read a pull whose time is up by the client's clock, at the latest;
        ``None`` if it said nothing since.

        That is at once, unless it said nothing from the pull to its end: then, when it was heard
        again.
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
    """Where a subscription stands in the table: its subject, or what is before the first wildcard,
    up to a few words.
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
    """The older half of a table that has more than so many entries, to be forgotten."""
    return () if len(table) <= most else list(islice(table.values(), len(table) - most // 2))


def bound(table: dict[_K, _V], most: int | None = None) -> Sequence[tuple[_K, _V]]:
    """Forgets the older half of a table that has more than so many entries (`MOST`), and gives what
    was forgotten.

    All at once: a dict that loses its first entry again and again looks for the next one through
    all that went before.
    """
    if most is None:
        most = MOST
    if len(table) <= most:
        return ()
    forgotten = list(islice(table.items(), len(table) - most // 2))
    for key, _ in forgotten:
        del table[key]
    return forgotten
