"""Follows pulls: what the client asked for, what came, how each ended, and which pull must follow.

Theory. A message names its consumer, but not its pull. The Observer assigns it to the oldest open
pull of its subscription and consumer. A status may say how much of a pull is left. Then the
Observer moves wrongly assigned messages to other pulls, so its sums match the server's.

There are two clocks. The client counts a pull as over when its expiry has passed since it sent the
pull; the judge uses this clock. A server that was stopped, or that a stalled link kept waiting,
starts the expiry later. Until then the pull is alive, and messages are assigned to it.

Open messages are counted by consumer and subscription. A wildcard subscription can serve several
readers at once, which only their inboxes distinguish. A client that uses a new inbox for each pull,
and whose pulls overlap repeatedly, counts as one reader.

A client with unsettled messages need not pull again. The Observer expects a pull only if every
delivered message was settled.
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

#: Heartbeats of silence after which a client must have acted; ADR-37 asks it to after two.
SILENT_BEATS: Final = 4
#: Time in which a continuous reader must send its next pull.
PULL_PATIENCE: Final = 30 * SECOND
#: Overlapping pulls through one wildcard after which they count as one reader. Fewer may come from
#: several readers by chance.
OVERLAPS: Final = 3
#: Period over which refusals are counted.
REFUSALS_OVER: Final = 3 * SECOND
#: Readers of earlier links that are searched for pulls that may be alive; and pulls of an inbox
#: that are searched for the one that a status ends.
MOST_LOOKED: Final = 1024
MOST_MEANT: Final = 64
#: An equal pull within this time counts as a duplicate: the client buffered one while it had no
#: link, and sent both at once.
AT_ONCE: Final = SECOND // 10

_REFUSING: Final = frozenset({
    StatusAction.GONE_FOR_NOW, StatusAction.PULL_REFUSED, StatusAction.DOES_NOT_FIT,
    StatusAction.FATAL, StatusAction.DELETED,
})  # fmt: skip


class _Pull(NamedTuple):
    """Check that the client sends a pull after one that a status ended."""

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
    """Check that the client pulls again from a consumer on a new link."""

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
    """Check that a silent server makes the client act within some heartbeats.

    The expiry of the pull does not end the check.
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
    """The options that one reader sends in all its pulls."""
    return pull.expires, pull.heartbeat, pull.no_wait


@final
class Pulls:
    """Follows the pulls of all links."""

    __slots__ = ("_books", "_numbers")

    def __init__(self, books: TraceContext) -> None:
        self._books = books
        self._numbers = 0

    def pull(self, link: SeenLink, key: ConsumerKey, token: str, body: bytes) -> None:
        """Read a pull of the client for this consumer, with ``token`` as its reply subject."""
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
        """Forget this reader, because its subscription has too many."""
        del reader.interest.readers[reader.consumer]
        link.forget(reader)

    @staticmethod
    def _is_one(reader: SeenReader) -> bool:
        """Whether all inboxes belong to one continuous reader."""
        interest = reader.interest
        if not interest.wild:
            return True
        return reader.loop and not reader.repeated and not interest.shared

    def _enter(self, link: SeenLink, reader: SeenReader, lane: Tally, pull: SeenPull) -> None:
        """Add the pull to the tallies."""
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
        """Forget the older half of too many open pulls."""
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

    # ----------------------------------------------------------------------------------------- sums

    def _lapse(self, reader: SeenReader) -> None:
        """Remove pulls from the tallies that have expired by the client's clock."""
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
        """Keep a pull that is over, and forget the oldest such pull if there are too many.

        An inbox whose last pull is forgotten is forgotten too.
        """
        reader.past.append(pull)
        if len(reader.past) > MOST_OVER:
            old = reader.past.popleft()
            lane = reader.lanes.get(old.token)
            if lane is not None and lane.last is old:
                del reader.lanes[old.token]

    def _put_down(self, reader: SeenReader, pull: SeenPull, got: int, size: int) -> None:
        """Add to what came for a pull, or subtract if the numbers are negative."""
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
        """Open a pull again that only seemed filled."""
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

    # ---------------------------------------------------------------------------- what a pull tells

    def _look_for_loop(self, reader: SeenReader, lane: Tally, pull: SeenPull) -> None:
        """Note whether the reader is continuous.

        It is if it pulls from one inbox before the earlier pull is filled. Pulls of different
        inboxes must overlap `OVERLAPS` times.
        """
        if lane.owed > 0 and not pull.no_wait:
            reader.loop = True
        elif pull.heartbeat and reader.tally.owed > 0:
            reader.overlaps += 1
            reader.loop = reader.loop or reader.overlaps >= OVERLAPS

    @staticmethod
    def _most(reader: SeenReader, tally: Tally, pull: SeenPull) -> None:
        """Note how much the client requests when no pull is open.

        If no delivered message is unsettled, a pull with other options begins a new count.
        """
        last = tally.last
        same = last is not None and _kind(last) == _kind(pull)
        if not tally.owed and not same and not reader.interest.unsettled:
            tally.most, tally.most_bytes = pull.batch, pull.max_bytes
        elif not tally.owed:
            tally.most = max(tally.most, pull.batch)
            tally.most_bytes = max(tally.most_bytes, pull.max_bytes)
        elif tally is reader.tally and reader.interest.wild and not reader.served:
            # Several readers can start at once, before a message comes for any of them.
            tally.most = tally.owed + pull.batch
            tally.most_bytes = tally.owed_bytes + pull.max_bytes

    def _survivors(self, link: SeenLink, reader: SeenReader) -> Iterator[SeenPull]:
        """Find open pulls of earlier links whose inboxes this client listens to again.

        Only pulls count that the server of this link may still hold: it is the same server or one
        of the same cluster.
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
        """Count how many pulls in a row of a continuous reader ask for less than it could.

        Each of them but the first counts only if the one before it was filled.
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
        """Find an equal pull that was sent a moment before on a reconnected link.

        It counts only if both together ask for more than was ever open on the link before.
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
        """Report the last open pull of each reader as abandoned: the client stopped waiting."""
        now = self._books.now
        for readers in link.readers.values():
            for reader in readers.values():
                last = reader.last
                if last is not None and last.expires and not last.lapsed(now):
                    self._books.tell(
                        PullAbandoned(link, last, seconds(last.at + last.expires - now))
                    )

    def delivered(self, interest: SeenSubscription, key: ConsumerKey, frame: Delivery) -> None:
        """Assign a message of this consumer to a pull of this subscription."""
        reader = interest.readers.get(key)
        if reader is None:
            return
        reader.served = True
        pull = self._oldest(reader)
        if pull is not None:
            self._put_down(reader, pull, 1, pinned_size(frame) if pull.max_bytes else 0)

    def _oldest(self, reader: SeenReader) -> SeenPull | None:
        """Find the pull to which the next message belongs."""
        self._lapse(reader)
        now, tally = self._books.now, reader.tally
        while (pull := tally.first()) is not None and (pull.void or pull.over(now)):
            tally.queue.popleft()
        if pull is None:  # the server still serves a pull whose end it has not reported
            pull = next((each for each in reader.past if each.end is None and not each.void), None)
        return pull

    # ------------------------------------------------------------------------------------- statuses

    def status(
        self,
        link: SeenLink,
        interest: SeenSubscription,
        token: str,
        status: tuple[int, str],
        block: bytes,
    ) -> None:
        """Read a status that came for the pulls with this reply subject."""
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
        """Find the pull that a status ends.

        The status names the inbox, and sometimes how much is left, but neither pull nor consumer.
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
        """List the oldest pulls that have not ended, or the newest."""
        if lane.first() is None:
            return []
        queue = reversed(lane.queue) if newest else lane.queue
        return [each for each in islice(queue, MOST_MEANT) if each.end is None]

    @staticmethod
    def _fits(pull: SeenPull, pending: tuple[int, int]) -> bool:
        """Whether this much can be left of the pull."""
        return pending[0] <= pull.batch and pending[1] <= max(pull.max_bytes, 0)

    def _settle(self, reader: SeenReader, pull: SeenPull, left: int, left_bytes: int) -> None:
        """Correct the sums of a pull by what the server says is left of it.

        Messages that were assigned in excess move to other pulls. Missing ones come from them.
        """
        got = max(0, pull.batch - left)
        size = max(0, pull.max_bytes - left_bytes) if pull.max_bytes else 0
        more, more_bytes = pull.got - got, pull.size - size
        self._uncount(reader, pull)
        pull.got, pull.size = got, size
        others = [*islice(reader.tally.queue, MOST_LOOKED)]
        if more < 0:  # messages may also come from pulls that only seemed filled
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
        """Count the refusals of one subscription.

        Other subscriptions may read the same consumer, so theirs are counted apart. If the status
        says how much is left, that number decides whether anything came.
        """
        nothing = pull.got == 0 if pending is None else pending[0] >= pull.batch
        if not nothing or row.verdict not in _REFUSING:
            return 0
        times = interest.refusals
        times.append(self._books.now)
        while times[0] < self._books.now - REFUSALS_OVER:
            times.popleft()
        return len(times)

    # ----------------------------------------------------------------------------- what must follow

    def _expect_pull(self, link: SeenLink, reader: SeenReader, lost: SeenPull) -> None:
        self._books.watch(
            self._books.now + PULL_PATIENCE, _Pull(link, reader, lost, self._books.line)
        )

    def expect_consumer(self, link: SeenLink, before: SeenSubscription) -> None:
        """Expect pulls on the new link for the consumers whose pulls ended with the old one."""
        for reader in before.readers.values():
            if reader.loop and reader.last is not None and not reader.last.no_wait:
                self._books.watch(
                    self._books.now + PULL_PATIENCE, _PullAnew(link, reader, reader.last)
                )

    def _expect_life(self, link: SeenLink, reader: SeenReader, pull: SeenPull) -> None:
        self._books.watch(
            self._books.now + SILENT_BEATS * pull.heartbeat, _Life(link, reader, pull)
        )
