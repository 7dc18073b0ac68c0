"""Pulls: what was asked of consumers, what came, how each ended, and who should have asked again.

Theory. A message names its consumer, not its pull. It is put down to the oldest pull of its
subscription and consumer that has not ended; a status that names how much of a pull is left moves
what was put down wrongly, so the sums are the server's at every status.

There are two clocks. The client counts a pull as over when its expiry has passed since it was sent;
by that it is judged. A server that was stopped, or a link that stood still, begins to count when it
goes on; until then the pull is alive, and what comes is put down to it.

What is owed is counted by consumer and subscription. Behind a wildcard, any number of readers can
pull beside each other, and then only their inboxes tell them apart. Who takes a new inbox for each
pull, with pulls that overlap again and again, is one reader.

Nobody has to ask again who may have enough at hand: only if everything that came was settled is it
known that nothing waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple, final

from jsproto.jetstream.pull.request import pinned_size
from jsproto.jetstream.status import (
    EndReason,
    Remainder,
    StatusAction,
    StatusContext,
    StatusRow,
    judge,
    pending_of,
)
from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.client import pull_of
from jsproto.trace.observe.facts import NoPull, PullAbandoned, PullEnded, PullIssued, Silence
from jsproto.trace.observe.ledger import (
    MOST_BODY,
    MOST_OVER,
    SECOND,
    ConsumerKey,
    SeenLink,
    SeenPull,
    SeenReader,
    SeenSubscription,
    Tally,
    bound,
    excess,
    seconds,
)
from jsproto.wire.frames import Delivery
from jsproto.wire.subjects import subject_matches

#: Heartbeats of silence after which a client must have acted; it should after two (ADR-37).
SILENT_BEATS: Final = 4
#: Time within which somebody who reads on and on asks again.
PULL_PATIENCE: Final = 30 * SECOND
#: So many pulls that overlap behind one wildcard are one reader, and not several that were there by
#: chance.
OVERLAPS: Final = 3
#: Refusals are counted over so much time.
REFUSALS_OVER: Final = 3 * SECOND
#: Readers of links before that are looked through for pulls that may be alive, and pulls of an
#: inbox for the one that a status means.
MOST_LOOKED: Final = 1024
MOST_MEANT: Final = 64
#: The same pull within so much time is one that was kept while there was no link, and sent with its
#: twin.
AT_ONCE: Final = SECOND // 10

_REFUSING: Final = frozenset({
    StatusAction.GONE_FOR_NOW, StatusAction.PULL_REFUSED, StatusAction.DOES_NOT_FIT, StatusAction.FATAL, StatusAction.DELETED,
})  # fmt: skip


class _Pull(NamedTuple):
    """A pull is to follow one that a status ended."""

    link: SeenLink
    reader: SeenReader
    lost: SeenPull
    told: int

    @property
    def fact(self) -> str:
        return NoPull.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, reader, lost, told = self
        asked = link.asked.get(reader.consumer, 0) > told
        if link.up and reader.interest.active and not asked and not reader.interest.unsettled:
            books.tell(NoPull(link, lost, "status"))


class _PullAnew(NamedTuple):
    """A consumer is to be asked again on a new link."""

    link: SeenLink
    before: SeenReader
    lost: SeenPull

    @property
    def fact(self) -> str:
        return NoPull.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, before, lost = self
        asked = lost.consumer in link.asked
        if (
            link.up
            and not asked
            and not before.interest.unsettled
            and "interests" not in link.forgot
        ):
            books.tell(NoPull(link, lost, "reconnect"))


class _Life(NamedTuple):
    """The server is to be heard within some heartbeats, or asked again. That a pull has expired
    meanwhile ends no patience.
    """

    link: SeenLink
    reader: SeenReader
    pull: SeenPull

    @property
    def fact(self) -> str:
        return Silence.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, reader, pull = self
        interest = reader.interest
        if not (link.up and interest.active and reader.loop) or pull.end is not None:
            return
        if reader.last is not pull:
            return
        patience = SILENT_BEATS * pull.heartbeat
        since = link.consumer_info_seen(reader.consumer, max(interest.sign, pull.at))
        if books.now - since < patience:
            books.watch(since + patience, self)
        elif not interest.unsettled:
            books.tell(Silence(link, pull, seconds(now - since)))


def _kind(pull: SeenPull) -> tuple[int, int, bool]:
    """What one reader says alike in all its pulls."""
    return pull.expires, pull.heartbeat, pull.no_wait


@final
class Pulls:
    """The pulls of all links."""

    __slots__ = ("_books", "_numbers")

    def __init__(self, books: TraceContext) -> None:
        self._books = books
        self._numbers = 0

    def pull(self, link: SeenLink, key: ConsumerKey, token: str, body: bytes) -> None:
        """The client asks this consumer for messages, to be sent to ``token``."""
        pull = pull_of(key, token, body, self._books.now, self._books.line)
        pull.link = link
        interests = link.interest_in(token) if token else []
        consumer = self._books.consumers.get(key)
        if not interests:
            self._books.tell(
                PullIssued(link=link, pull=pull, interests=interests, consumer=consumer)
            )
            return
        interest = interests[0]
        reader = self._reader(link, interest, key)
        self._lapse(reader)
        lane = reader.lanes.get(token) or Tally()
        owing = reader.tally if self._is_one(reader) else lane
        pins = [each for each in reader.past if each.end is EndReason.PIN_LOST]
        shrunk = self._shrunk(reader, pull, owing.owed)
        survivors = [each for each in reader.survivors if not each.over(self._books.now)]
        mine = [each for each in survivors if owing is reader.tally or each.token == token]
        self._books.tell(
            PullIssued(
                link=link,
                pull=pull,
                interests=interests,
                consumer=consumer,
                owed=owing.owed,
                owed_bytes=owing.owed_bytes,
                most=0 if reader.unsure else owing.most,
                most_bytes=owing.most_bytes,
                refused_pin=pins[-1].pin if pins else "",
                survivors=mine,
                twin=self._duplicate_pull(reader, pull, owing.owed) if owing.owed else None,
                shrunk=shrunk,
            )
        )
        self._look_for_loop(reader, lane, pull)
        self._most(reader, lane, pull)
        self._most(reader, reader.tally, pull)
        interest.sign = self._books.now
        pull.body = pull.body[:MOST_BODY]
        self._enter(link, reader, lane, pull)
        if pull.heartbeat and reader.loop:
            self._expect_life(link, reader, pull)

    def _reader(self, link: SeenLink, interest: SeenSubscription, key: ConsumerKey) -> SeenReader:
        reader = interest.readers.get(key)
        if reader is None:
            self._numbers += 1
            reader = interest.readers[key] = SeenReader(
                consumer=key, interest=interest, number=self._numbers
            )
            link.readers.setdefault(key, {})[reader.number] = reader
            reader.survivors += self._survivors(link, reader)
            for other in excess(interest.readers, self._books.most):
                self._drop(link, other)
        return reader

    @staticmethod
    def _drop(link: SeenLink, reader: SeenReader) -> None:
        """There are too many readers of one subscription: this one is forgotten."""
        del reader.interest.readers[reader.consumer]
        link.forget(reader)

    @staticmethod
    def _is_one(reader: SeenReader) -> bool:
        """Whether all inboxes are those of one who reads on and on, with a new one for each pull."""
        interest = reader.interest
        if not interest.wild:
            return True
        return reader.loop and not reader.repeated and not interest.shared

    def _enter(self, link: SeenLink, reader: SeenReader, lane: Tally, pull: SeenPull) -> None:
        """The pull goes into the books."""
        reader.repeated = reader.repeated or lane.last is not None
        reader.pulls += 1
        reader.unsure = reader.unsure or pull.void or pull.vague
        link.asked[pull.consumer] = pull.line
        if bound(link.asked, self._books.most):
            link.forgot.add("interests")
        reader.lanes[pull.token] = pull.lane = lane
        pull.counted = True
        for tally in (reader.tally, lane):
            tally.queue.append(pull)
            tally.last = pull
            tally.owed += pull.left
            tally.owed_bytes += pull.left_bytes
        if pull.expires:
            heappush(reader.due, (pull.at + pull.expires, reader.pulls, pull))
        most = max(MOST_OVER, self._books.most // len(link.interests))
        if len(reader.tally.queue) > 2 * most:
            self._thin(reader, most)

    def _thin(self, reader: SeenReader, most: int) -> None:
        """So many pulls are under way that the older half is forgotten."""
        queue = reader.tally.queue
        live = [pull for pull in queue if pull.end is None]
        forgotten = live[: -(most // 2)] if len(live) > most else []
        gone = set(map(id, forgotten))
        for pull in forgotten:
            self._uncount(reader, pull)
        queue.clear()
        queue.extend(live[len(forgotten) :])
        reader.due = sorted(each for each in reader.due if each[2].counted)
        lanes = {pull.token for pull in (*queue, *reader.past)}
        reader.lanes = {token: lane for token, lane in reader.lanes.items() if token in lanes}
        for lane in reader.lanes.values():
            kept = [pull for pull in lane.queue if pull.end is None and id(pull) not in gone]
            lane.queue.clear()
            lane.queue.extend(kept)

    # ------------------------------------------------------------------------------------------ sums

    def _lapse(self, reader: SeenReader) -> None:
        """Pulls whose time is up by the client's clock count no more."""
        now, due = self._books.now, reader.due
        while due and (due[0][2].end is not None or due[0][0] < now):
            pull = heappop(due)[2]
            if pull.end is None:
                self._uncount(reader, pull)
                self._keep(reader, pull)

    @staticmethod
    def _uncount(reader: SeenReader, pull: SeenPull) -> None:
        if pull.counted and pull.lane is not None:
            pull.counted = False
            for tally in (reader.tally, pull.lane):
                tally.owed -= pull.left
                tally.owed_bytes -= pull.left_bytes

    @staticmethod
    def _keep(reader: SeenReader, pull: SeenPull) -> None:
        """A pull that is over is kept for a while, and with the last of an inbox the inbox is
        forgotten.
        """
        reader.past.append(pull)
        if len(reader.past) > MOST_OVER:
            old = reader.past.popleft()
            lane = reader.lanes.get(old.token)
            if lane is not None and lane.last is old:
                del reader.lanes[old.token]

    def _put_down(self, reader: SeenReader, pull: SeenPull, got: int, size: int) -> None:
        """So much has come for a pull, or has not after all, which may fill it."""
        counted = pull.counted or pull.end is not None
        self._uncount(reader, pull)
        pull.got, pull.size = pull.got + got, pull.size + size
        self._books.change(pull)
        if pull.got >= pull.batch:
            self._ended(reader, pull, EndReason.FILLED)
        elif pull.max_bytes and pull.size >= pull.max_bytes:
            self._ended(reader, pull, EndReason.BYTES_SPENT)
        elif counted and pull.lane is not None:
            self._open_again(reader, pull)
            pull.counted = not pull.lapsed(self._books.now)
            for tally in (reader.tally, pull.lane) if pull.counted else ():
                tally.owed += pull.left
                tally.owed_bytes += pull.left_bytes

    @staticmethod
    def _open_again(reader: SeenReader, pull: SeenPull) -> None:
        """A pull that was taken for filled is not."""
        if pull.end is None or pull.lane is None:
            return
        pull.end = None
        with contextlib.suppress(ValueError):
            reader.past.remove(pull)
        reader.lanes[pull.token] = pull.lane
        for tally in (reader.tally, pull.lane):
            if pull not in tally.queue:
                tally.queue.appendleft(pull)

    def _ended(self, reader: SeenReader, pull: SeenPull, end: EndReason) -> None:
        self._uncount(reader, pull)
        pull.end = end
        self._books.change(pull)
        if pull not in reader.past:
            self._keep(reader, pull)

    # ------------------------------------------------------------------------------------------ what a pull tells

    def _look_for_loop(self, reader: SeenReader, lane: Tally, pull: SeenPull) -> None:
        """Whether somebody reads on and on: a pull goes out before the one before it is filled, and
        not only by chance.
        """
        if lane.owed > 0 and not pull.no_wait:
            reader.loop = True
        elif pull.heartbeat and reader.tally.owed > 0:
            reader.overlaps += 1
            reader.loop = reader.loop or reader.overlaps >= OVERLAPS

    @staticmethod
    def _most(reader: SeenReader, tally: Tally, pull: SeenPull) -> None:
        """What is asked for where nothing is owed; with pulls of another kind, and nothing at hand,
        another reading begins.
        """
        last = tally.last
        same = last is not None and _kind(last) == _kind(pull)
        if not tally.owed and not same and not reader.interest.unsettled:
            tally.most, tally.most_bytes = pull.batch, pull.max_bytes
        elif not tally.owed:
            tally.most = max(tally.most, pull.batch)
            tally.most_bytes = max(tally.most_bytes, pull.max_bytes)
        elif tally is reader.tally and reader.interest.wild and not reader.served:
            # Several readers can begin beside each other, before anything comes for one of them.
            tally.most = tally.owed + pull.batch
            tally.most_bytes = tally.owed_bytes + pull.max_bytes

    def _survivors(self, link: SeenLink, reader: SeenReader) -> Iterator[SeenPull]:
        """Pulls of earlier links, not ended, in inboxes that are listened to again, on a server
        that may still hold them.
        """
        subject, looked = reader.interest.subject, 0
        for other in reversed(self._books.links):
            if other is link or other.up or other.info is None or link.info is None:
                continue
            same = other.info.server_id == link.info.server_id or (
                link.info.cluster != "" and other.info.cluster == link.info.cluster
            )
            known = other.readers.get(reader.consumer, {}) if same else {}
            looked += len(known)
            if looked > MOST_LOOKED:
                return
            for before in known.values():
                for old in before.tally.queue:
                    if not old.over(self._books.now) and (
                        old.token == subject
                        or (reader.interest.wild and subject_matches(subject, old.token))
                    ):
                        yield old

    @staticmethod
    def _shrunk(reader: SeenReader, pull: SeenPull, owed: int) -> int:
        """How often in a row somebody who reads on and on, and could ask for the most, has asked
        for less, and got all of it.
        """
        interest = reader.interest
        free = reader.loop and not owed and not interest.unsettled and interest.delivered > 0
        bounded = pull.max_bytes or reader.tally.most_bytes or pull.no_wait
        less = free and not bounded and pull.batch < reader.tally.most
        filled = reader.last is not None and reader.last.end is EndReason.FILLED
        if not less:
            reader.shrunk = 0
        elif filled or not reader.shrunk:
            reader.shrunk += 1
        return reader.shrunk

    def _duplicate_pull(self, reader: SeenReader, pull: SeenPull, owed: int) -> SeenPull | None:
        """The same pull, at most a moment older, on a link that follows another one, if both ask
        for more than was ever owed there.
        """
        last, before = reader.last, None if pull.link is None else pull.link.before
        if before is None or last is None or reader.interest.got or pull.no_wait:
            return None
        if self._books.now - last.at > AT_ONCE or (last.body, last.token) != (
            pull.body,
            pull.token,
        ):
            return None
        most = [each.tally.most for each in before.readers.get(pull.consumer, {}).values()]
        return last if most and owed + pull.batch > max(most) else None

    def given_up(self, link: SeenLink) -> None:
        """The client says that it waits no longer: for the last pull of each reader that is still
        open.
        """
        now = self._books.now
        for readers in link.readers.values():
            for reader in readers.values():
                last = reader.last
                if last is not None and last.expires and not last.lapsed(now):
                    self._books.tell(
                        PullAbandoned(link, last, seconds(last.at + last.expires - now))
                    )

    def delivered(self, interest: SeenSubscription, key: ConsumerKey, frame: Delivery) -> None:
        """A message of this consumer came to this subscription."""
        reader = interest.readers.get(key)
        if reader is None:
            return
        reader.served = True
        pull = self._oldest(reader)
        if pull is not None:
            self._put_down(reader, pull, 1, pinned_size(frame) if pull.max_bytes else 0)

    def _oldest(self, reader: SeenReader) -> SeenPull | None:
        """Whose message it is that comes next."""
        self._lapse(reader)
        now, tally = self._books.now, reader.tally
        while (pull := tally.first()) is not None and (pull.void or pull.over(now)):
            tally.queue.popleft()
        if pull is None:  # the server still serves somebody: one whose end it never told
            pull = next((each for each in reader.past if each.end is None and not each.void), None)
        return pull

    # ------------------------------------------------------------------------------------------ statuses

    def status(
        self,
        link: SeenLink,
        interest: SeenSubscription,
        token: str,
        status: tuple[int, str],
        block: bytes,
    ) -> None:
        """A status came for the pulls that asked with this token."""
        row = judge(*status, StatusContext.PULL)
        if row.end is None:
            return
        pending = pending_of(block)
        found = self._meant(interest, token, row, pending)
        if found is None:
            return
        reader, lane, pull = found
        reader.served = True
        self._lapse(reader)
        if row.rest is Remainder.WHOLE:
            self._settle(reader, pull, pull.batch, pull.max_bytes)
        elif pending is not None and (row.rest is not Remainder.ALL or lane.first() is lane.last):
            self._settle(reader, pull, *pending)
        ended = [pull, *(lane.queue if row.rest is Remainder.ALL else ())]
        for each in [each for each in ended if each.end is None or each is pull]:
            self._ended(reader, each, row.end)
            each.status = f"{status[0]} {status[1]}".rstrip()
        refusals = self._refused(interest, pull, row, pending)
        self._books.tell(PullEnded(link, pull, row, refusals))
        if row.verdict is StatusAction.RESET and reader.loop:
            self._expect_pull(link, reader, pull)

    def _meant(
        self,
        interest: SeenSubscription,
        token: str,
        row: StatusRow,
        pending: tuple[int, int] | None,
    ) -> tuple[SeenReader, Tally, SeenPull] | None:
        """The pull that a status ends: it names the inbox, and sometimes how much is left, but
        neither pull nor consumer.
        """
        lanes = [
            (reader, reader.lanes[token])
            for reader in interest.readers.values()
            if token in reader.lanes
        ]
        if not lanes:
            return None
        open_ = [
            (reader, lane, pull)
            for reader, lane in lanes
            for pull in self._open(lane, newest=row.rest is Remainder.WHOLE)
            if pending is None or self._fits(pull, pending)
        ]
        open_.sort(key=lambda each: each[2].line)
        void = [each for each in open_ if each[2].void]
        if void:
            return void[0]
        if row.rest is Remainder.WHOLE and (new := [each for each in open_ if not each[2].got]):
            return new[-1]
        if open_:
            now = self._books.now
            lapsed = (
                each for each in open_ if row.end is EndReason.EXPIRED and each[2].lapsed(now)
            )
            return next(lapsed, open_[0])
        last = [(reader, lane, lane.last) for reader, lane in lanes if lane.last is not None]
        return max(last, key=lambda each: each[2].line)

    @staticmethod
    def _open(lane: Tally, *, newest: bool) -> list[SeenPull]:
        """The oldest pulls that have not ended, or the newest."""
        if lane.first() is None:
            return []
        queue = reversed(lane.queue) if newest else lane.queue
        return [each for each in islice(queue, MOST_MEANT) if each.end is None]

    @staticmethod
    def _fits(pull: SeenPull, pending: tuple[int, int]) -> bool:
        """Whether so much can be left of it."""
        return pending[0] <= pull.batch and pending[1] <= max(pull.max_bytes, 0)

    def _settle(self, reader: SeenReader, pull: SeenPull, left: int, left_bytes: int) -> None:
        """The server says how much of a pull is left: what was put down to it in excess belongs to
        others, and what it lacks was theirs.
        """
        got = max(0, pull.batch - left)
        size = max(0, pull.max_bytes - left_bytes) if pull.max_bytes else 0
        more, more_bytes = pull.got - got, pull.size - size
        self._uncount(reader, pull)
        pull.got, pull.size = got, size
        others = [*islice(reader.tally.queue, MOST_LOOKED)]
        if more < 0:  # and pulls that were not filled after all
            others += [
                each
                for each in reversed(reader.past)
                if each.end is EndReason.FILLED and not each.status
            ]
        for other in others:
            if not more and not more_bytes:
                break
            if other is pull or (other.end is not None and other.end is not EndReason.FILLED):
                continue
            moved = max(-other.got, min(more, other.batch - other.got))
            moved_bytes = 0
            if other.max_bytes:
                moved_bytes = max(-other.size, min(more_bytes, other.max_bytes - other.size))
            if moved or moved_bytes:
                more, more_bytes = more - moved, more_bytes - moved_bytes
                self._put_down(reader, other, moved, moved_bytes)

    def _refused(
        self,
        interest: SeenSubscription,
        pull: SeenPull,
        row: StatusRow,
        pending: tuple[int, int] | None,
    ) -> int:
        """Many may read one consumer, so only those of one subscription are counted together. What
        came is the server's number, if it says it.
        """
        nothing = pull.got == 0 if pending is None else pending[0] >= pull.batch
        if not nothing or row.verdict not in _REFUSING:
            return 0
        times = interest.refusals
        times.append(self._books.now)
        while times[0] < self._books.now - REFUSALS_OVER:
            times.popleft()
        return len(times)

    # ------------------------------------------------------------------------------------------ what must follow

    def _expect_pull(self, link: SeenLink, reader: SeenReader, lost: SeenPull) -> None:
        self._books.watch(
            self._books.now + PULL_PATIENCE, _Pull(link, reader, lost, self._books.line)
        )

    def expect_consumer(self, link: SeenLink, before: SeenSubscription) -> None:
        """The consumers of pulls that were lost with their link are asked again on the new one."""
        for reader in before.readers.values():
            if reader.loop and reader.last is not None and not reader.last.no_wait:
                self._books.watch(
                    self._books.now + PULL_PATIENCE, _PullAnew(link, reader, reader.last)
                )

    def _expect_life(self, link: SeenLink, reader: SeenReader, pull: SeenPull) -> None:
        self._books.watch(
            self._books.now + SILENT_BEATS * pull.heartbeat, _Life(link, reader, pull)
        )
