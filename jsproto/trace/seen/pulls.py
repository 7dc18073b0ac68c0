"""Pulls: what was asked of consumers, what came, how each ended, and who should have asked again.

Theory. A message names its consumer, not its pull. It is put down to the oldest open pull of its subscription; a status that names how
much of a pull is left moves what was put down wrongly to the pulls behind it, so the sum over a subscription is right at every status.

Nobody has to ask again who may have enough at hand: only if everything that came was settled is it known that nothing waits.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from jsproto.jetstream.pull import pinned_size
from jsproto.jetstream.status import End, Place, Rest, Row, Verdict, judge, pending_of
from jsproto.trace.client import pull_of
from jsproto.trace.facts import GivenUp, NoPull, Pulled, PullOver, Silence
from jsproto.trace.ledger import MOST_BODY, SECOND, ConsumerKey, Interest, Link, SeenPull, seconds
from jsproto.trace.seen.books import Books
from jsproto.wire.frames import Delivery

#: Heartbeats of silence after which a client must have acted; it should after two (ADR-37).
SILENT_BEATS: Final = 4
#: Time within which somebody who reads on and on asks again.
PULL_PATIENCE: Final = 30 * SECOND
#: So many pulls that overlap behind one wildcard are one reader, and not several that were there by chance.
OVERLAPS: Final = 3
#: Refusals are counted over so much time.
REFUSALS_OVER: Final = 3 * SECOND
#: Pulls that are over and are kept, of one subscription: a late status may speak of them.
MOST_OVER: Final = 8
#: The same pull within so much time is one that was kept while there was no link, and sent with its twin.
AT_ONCE: Final = SECOND // 10

_REFUSING: Final = frozenset({
    Verdict.GONE_FOR_NOW, Verdict.PULL_REFUSED, Verdict.DOES_NOT_FIT, Verdict.FATAL, Verdict.DELETED,
})  # fmt: skip


class _Pull(NamedTuple):
    """A pull is to follow one that a status ended."""

    link: Link
    interest: Interest
    lost: SeenPull
    told: int

    def look(self, books: Books, now: int) -> None:
        asked = any(pull.line > self.told for pull in self.interest.pulls)
        if self.link.up and self.interest.active and not asked and not self.interest.unsettled:
            books.tell(NoPull(self.link, self.lost, "status"))


class _PullAnew(NamedTuple):
    """A consumer is to be asked again on a new link."""

    link: Link
    before: Interest
    lost: SeenPull

    def look(self, books: Books, now: int) -> None:
        link, before, lost = self
        asked = any(pull.consumer == lost.consumer for each in link.interests.values() for pull in each.pulls)
        if link.up and not asked and not before.unsettled and "interests" not in link.forgot:
            books.tell(NoPull(link, lost, "reconnect"))


class _Life(NamedTuple):
    """The server is to be heard within some heartbeats, or asked again."""

    link: Link
    interest: Interest
    pull: SeenPull

    def look(self, books: Books, now: int) -> None:
        link, interest, pull = self
        if not (link.up and interest.active and interest.loop) or pull.over(books.now):
            return
        if interest.pulls[-1] is not pull:
            return
        patience = SILENT_BEATS * pull.heartbeat
        since = max(interest.sign, pull.at, interest.inquired)
        if books.now - since < patience:
            books.watch(since + patience, self)
        elif not interest.unsettled:
            books.tell(Silence(link, pull, seconds(now - since)))


@final
class Pulls:
    """The pulls of all links."""

    __slots__ = ("_books",)

    def __init__(self, books: Books) -> None:
        self._books = books

    def pull(self, link: Link, key: ConsumerKey, token: str, body: bytes) -> None:
        """The client asks this consumer for messages, to be sent to ``token``."""
        pull = pull_of(key, token, body, self._books.now, self._books.line)
        interests = link.interest_in(token) if token else []
        interest = interests[0] if interests else None
        owed = owed_bytes = shrunk = 0
        pin = ""
        twin = None
        if interest is not None:
            # Behind one wildcard any number of readers can pull beside each other: only their inboxes tell them apart.
            mine = [each for each in interest.pulls if each.token == pull.token]
            owed = sum(each.owed(self._books.now) for each in mine)
            owed_bytes = sum(each.owed_bytes(self._books.now) for each in mine)
            shrunk = self._shrunk(interest, pull, owed)
            twin = self._twin(link, interest, pull, owed) if owed else None
            pins = [each for each in interest.pulls if each.end is End.PIN_LOST]
            pin = pins[-1].pin if pins else ""
        self._books.tell(
            Pulled(
                link,
                pull,
                interests,
                self._books.consumers.get(key),
                owed,
                owed_bytes,
                pin,
                self._survivor(link, pull),
                twin,
                shrunk,
            )
        )
        if interest is None:
            return
        self._look_for_loop(interest, pull, owed)
        interest.most = max(interest.most, pull.batch)
        interest.most_bytes = max(interest.most_bytes, pull.max_bytes)
        interest.sign = self._books.now
        pull.body = pull.body[:MOST_BODY]
        interest.pulls.append(pull)
        self._tidy(interest)
        most = max(MOST_OVER, self._books.most // len(link.interests))
        if len(interest.pulls) > most:
            del interest.pulls[: -(most // 2)]
        if pull.heartbeat and interest.loop:
            self._expect_life(link, interest, pull)

    def _look_for_loop(self, interest: Interest, pull: SeenPull, owed: int) -> None:
        """Whether somebody reads on and on: a pull goes out before the one before it is filled, and not only by chance."""
        if owed > 0 and not pull.no_wait:
            interest.loop = True
        elif pull.heartbeat and any(
            each.consumer == pull.consumer and each.owed(self._books.now) for each in interest.pulls
        ):
            interest.overlaps += 1
            interest.loop = interest.loop or interest.overlaps >= OVERLAPS

    def _survivor(self, link: Link, pull: SeenPull) -> SeenPull | None:
        """A pull of an earlier link, not ended, whose inbox is listened to again, on a server that may still hold it."""
        for other in reversed(self._books.links):
            if other is link or other.up or other.info is None or link.info is None:
                continue
            same = other.info.server_id == link.info.server_id or (
                link.info.cluster != "" and other.info.cluster == link.info.cluster
            )
            for interest in other.interests.values() if same else ():
                for old in interest.pulls:
                    if (
                        old.consumer == pull.consumer
                        and old.token == pull.token
                        and not old.over(self._books.now)
                    ):
                        return old
        return None

    @staticmethod
    def _shrunk(interest: Interest, pull: SeenPull, owed: int) -> int:
        """How often in a row somebody who reads on and on, and could ask for the most, has asked for less, and got all of it."""
        free = interest.loop and not owed and not interest.unsettled and interest.delivered > 0
        bounded = pull.max_bytes or interest.most_bytes or pull.no_wait
        less = free and not bounded and pull.batch < interest.most
        filled = bool(interest.pulls) and interest.pulls[-1].end is End.FILLED
        if not less:
            interest.shrunk = 0
        elif filled or not interest.shrunk:
            interest.shrunk += 1
        return interest.shrunk

    def _twin(self, link: Link, interest: Interest, pull: SeenPull, owed: int) -> SeenPull | None:
        """The same pull, at most a moment older, on a link that follows another one, if both ask for more than was ever owed there."""
        last = interest.pulls[-1]
        if link.before is None or interest.got or self._books.now - last.at > AT_ONCE or pull.no_wait:
            return None
        if (last.body, last.token, last.consumer) != (pull.body, pull.token, pull.consumer):
            return None
        before = [
            each.most
            for each in link.before.interests.values()
            if any(old.consumer == pull.consumer for old in each.pulls)
        ]
        return last if before and owed + pull.batch > max(before) else None

    def inquired(self, link: Link, key: ConsumerKey) -> None:
        """The client asks about this consumer: who misses heartbeats and looks what has become of it has acted."""
        for interest in link.interests.values():
            if interest.pulls and interest.pulls[-1].consumer == key and interest.inquired <= interest.sign:
                interest.inquired = self._books.now

    def given_up(self, link: Link) -> None:
        """The client says that it waits no longer: for the last pull of each subscription that is still open."""
        now = self._books.now
        for interest in link.interests.values():
            last = interest.pulls[-1] if interest.pulls else None
            if last is not None and last.expires and not last.over(now):
                self._books.tell(GivenUp(link, last, seconds(last.at + last.expires - now)))

    def delivered(self, interest: Interest, key: ConsumerKey, frame: Delivery) -> None:
        """A message of this consumer came to this subscription."""
        now = self._books.now
        for pull in interest.pulls:
            if pull.end is None and pull.consumer == key and not pull.over(now):
                pull.got += 1
                if pull.max_bytes:
                    pull.size += pinned_size(frame)
                if pull.got >= pull.batch:
                    pull.end = End.FILLED
                elif pull.max_bytes and pull.size >= pull.max_bytes:
                    pull.end = End.BYTES_SPENT
                if pull.end is not None:
                    self._tidy(interest)
                return

    def _tidy(self, interest: Interest) -> None:
        """Pulls that are over are kept only as far as a late status may speak of them."""
        over = [pull for pull in interest.pulls if pull.over(self._books.now)]
        if len(over) > MOST_OVER:
            dropped = set(map(id, over[:-MOST_OVER]))
            interest.pulls = [pull for pull in interest.pulls if id(pull) not in dropped]

    def status(
        self, link: Link, interest: Interest, token: str, status: tuple[int, str], block: bytes
    ) -> None:
        """A status came for the pulls that asked with this token."""
        named = [pull for pull in interest.pulls if pull.token == token]
        if not named:
            return
        pull = next((each for each in named if each.end is None), named[-1])
        row = judge(*status, Place.PULL)
        if row.end is None:
            return
        pending = pending_of(block)
        if pending is not None and row.rest is not Rest.ALL:
            self._settle(interest, pull, pending)
        ended = [each for each in interest.pulls if each.token == token] if row.rest is Rest.ALL else [pull]
        for each in ended:
            if each.end is None or each is pull:
                each.end = row.end
                each.status = f"{status[0]} {status[1]}".rstrip()
        refusals = self._refused(interest, pull, row)
        self._books.tell(PullOver(link, pull, row, refusals))
        if row.verdict is Verdict.RESET and interest.loop:
            self._expect_pull(link, interest, pull)

    def _settle(self, interest: Interest, pull: SeenPull, pending: tuple[int, int]) -> None:
        """The server says how much of a pull is left: what was put down to it in excess belongs to those behind it."""
        excess = pull.got - max(0, pull.batch - pending[0])
        pull.got = min(pull.got, max(0, pull.batch - pending[0]))
        for other in interest.pulls:
            if excess <= 0:
                break
            if other is not pull and other.end is None:
                moved = min(excess, other.batch - other.got)
                other.got += moved
                excess -= moved

    def _refused(self, interest: Interest, pull: SeenPull, row: Row) -> int:
        """Many may read one consumer, so only those of one subscription are counted together."""
        if pull.got or row.verdict not in _REFUSING:
            return 0
        times = interest.refusals
        times.append(self._books.now)
        while times[0] < self._books.now - REFUSALS_OVER:
            times.popleft()
        return len(times)

    # ------------------------------------------------------------------------------------------ what must follow

    def _expect_pull(self, link: Link, interest: Interest, lost: SeenPull) -> None:
        self._books.watch(self._books.now + PULL_PATIENCE, _Pull(link, interest, lost, self._books.line))

    def expect_consumer(self, link: Link, before: Interest, lost: SeenPull) -> None:
        """The consumer of a pull that was lost with its link is asked again on the new one."""
        self._books.watch(self._books.now + PULL_PATIENCE, _PullAnew(link, before, lost))

    def _expect_life(self, link: Link, interest: Interest, pull: SeenPull) -> None:
        self._books.watch(self._books.now + SILENT_BEATS * pull.heartbeat, _Life(link, interest, pull))
