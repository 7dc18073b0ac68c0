"""A range of a stream, from one sequence to another, in runs: everything that is there once and in
order, and a proven end.

Theory. Whoever splits a stream into parts and reads them elsewhere, now and again later, needs
three things that no ordinary consumer gives: an end that is sure, a word when something is missing
that was there, and nothing left behind. So around the reading of messages, which is the business of
a *way* (`ConsumerSource`, `DirectGetSource`), this machine asks the stream's leader:

    LOOKING   before it reads, and again after a lost link: is it the stream that is meant, and
        where does it begin now?
    READING   messages come; if some are missing, the leader is asked on the way where the stream
    begins (`RangeProgress`)
    PROVING   the last sequence came, or who is read from has no more: does the leader have more in
        the range?

"No more pending" is no proof: a replica may lag behind the leader, who had reported the very end of
the range. The end is proven if a message at or behind the last sequence came, or the leader has
nothing more before it (SPARK 5.4). If it has, who is read from gets time to catch up, and after
`PATIENCE_WITH_LAG` another one is read from.

Whatever fails on the way (a link, a consumer, an answer) leads back to LOOKING, now or after a
delay, and reading goes on behind the last message that came. What cannot get better ends it at
once, and so does a time without any progress, ``patience``. Runs that came stay at hand and are
handed out before an error is raised.

At its end the machine stays until its consumers are deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import Conversation, Stage, StopMode
from jsproto.core.conversation.procedure import Script
from jsproto.core.state import PART, PLAIN, Codecs, Snapshot
from jsproto.core.timers import Timers
from jsproto.errors.tree import JsprotoError, LinkError, PermissionViolation
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.backoff import Backoff, ShortLinks
from jsproto.jetstream.errors import DataLost, DirectUnavailable, ReadStalled, StreamRecreated
from jsproto.jetstream.range_read.consumer_source import ConsumerSource
from jsproto.jetstream.range_read.direct_source import DirectGetSource
from jsproto.jetstream.range_read.leader_check import LeaderCheck, look
from jsproto.jetstream.range_read.options import RangeOptions, ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts
from jsproto.jetstream.range_read.progress import LostRange, RangeProgress
from jsproto.jetstream.range_read.rows import Rows
from jsproto.jetstream.range_read.source import RangeSource, SourceEvent
from jsproto.jetstream.range_read.states import (
    FATAL,
    FATAL_AT_FIRST,
    FIRST_ATTEMPTS,
    TRANSITIONS,
    RangeInput,
    RangeNotice,
    RangeState,
    RangeTimer,
)
from jsproto.jetstream.status import EndReason
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.subjects import stream_name

__all__ = [
    "TRANSITIONS",
    "LostRange",
    "RangeInput",
    "RangeNotice",
    "RangeReader",
    "RangeState",
    "RangeTimer",
]

#: Seconds between two attempts after the first failure, and at most.
RETRY_WAIT: Final = 0.25
RETRY_WAIT_MAX: Final = 8.0
#: Seconds before one that lags is looked at again, and at most.
AGAIN: Final = 0.05
AGAIN_MAX: Final = 1.0
#: So long one that lags is waited for before another one is read from.
PATIENCE_WITH_LAG: Final = 10.0
#: Seconds between two looks at the stream's beginning while messages come with gaps.
WATCH: Final = 0.5


class RangeReader(Conversation[Rows]):
    """A feed of the runs of a range.

    Args:
        api: where the API is.
        stream: the stream.
        options: what to read and how.

    Raises:
        InvalidSubject: no stream can have this name.

    Attributes:
        state: where in its life it is.
        reason: how it ended, ``None`` before; `EndReason.FILLED` if all of the range was read.
        resets: how often what was read from was lost.
        track: how far it is; to look at.
        way: how it reads, `ReadMode.AUTO` before that is decided.
    """

    __slots__ = (
        "_again",
        "_api",
        "_attempts",
        "_backlog",
        "_begun",
        "_by_consumer",
        "_by_direct",
        "_direct",
        "_lagging",
        "_look",
        "_looked",
        "_pace",
        "_question",
        "_short_links",
        "_timers",
        "_watched",
        "options",
        "reason",
        "resets",
        "state",
        "stream",
        "track",
        "way",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_again": PART,
        "_attempts": PLAIN,
        "_backlog": PLAIN,
        "_begun": PLAIN,
        "_by_consumer": PART,
        "_by_direct": PART,
        "_direct": PLAIN,
        "_lagging": PLAIN,
        "_looked": PLAIN,
        "_pace": PART,
        "_question": PLAIN,
        "_short_links": PART,
        "_timers": PART,
        "_watched": PLAIN,
        "reason": EndReason,
        "resets": PLAIN,
        "state": RangeState,
        "track": PART,
        "way": ReadMode,
    }

    def __init__(self, api: ApiSubjects, stream: str, options: RangeOptions) -> None:
        super().__init__()
        self.options = options
        self.stream = stream_name(stream)
        self.state = RangeState.NEW
        self.reason: EndReason | None = None
        self.resets = 0
        self.way = options.way
        self.track = RangeProgress(options.lo, options.hi)
        self._api = api
        self._by_consumer = ConsumerSource(api, self.stream, options, self.track)
        self._by_direct = DirectGetSource(api, self.stream, options, self.track)
        self._backlog: deque[list[Delivery]] = deque()
        self._look: Script[LeaderCheck] | None = None
        # From where to where the leader is asked for messages.
        self._question: tuple[int, int] = (0, 0)
        self._looked = False
        # Whether direct gets are allowed, as the leader said.
        self._direct = False
        self._attempts = 0
        self._pace = Backoff(RETRY_WAIT, RETRY_WAIT_MAX)
        self._short_links = ShortLinks(RETRY_WAIT, RETRY_WAIT_MAX)
        # When it began last.
        self._begun = 0.0
        self._again = Backoff(AGAIN, AGAIN_MAX)
        # Since when who is read from is known to lag, and when gaps were looked at last.
        self._lagging: float | None = None
        self._watched: float | None = None
        self._timers = Timers(RangeTimer)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> Rows | NeedData | Ended:
        """The next run. May ask for more."""
        if not self._backlog:
            return self.nothing()
        frames = self._backlog.popleft()
        reading = self._reading
        if not self.ended:
            reading.taken(frames, self.port, now)
            self._follow(now)
        return reading.rows(self.stream, frames)

    @property
    def readable(self) -> int:
        """How many runs are at hand."""
        return len(self._backlog)

    @property
    def last(self) -> int:
        """The last sequence that came, or is known to be gone."""
        return self.track.last

    @property
    def lost(self) -> list[LostRange]:
        """What was lost, in order."""
        return self.track.losses

    @property
    def _reading(self) -> RangeSource:
        return self._by_direct if self.way is ReadMode.DIRECT else self._by_consumer

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Ask the leader, if the link is up and there is a range."""
        self._move(RangeInput.OPENED)
        if self.track.complete:
            self._finish(EndReason.FILLED, None, now)
            return
        self._progress(now)
        if self.port.up:
            self._attempt(now)

    def delivered(self, run: Sequence[Delivery], now: float) -> None:
        """Frames of one sid, in order."""
        live = self.state in {RangeState.READING, RangeState.PROVING}
        self._reading.delivered(run, self.port, now, closed=not live)
        self._follow(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """An answer of the leader, or to a question of the way."""
        script = self._look
        if script is not None:
            before = script.waiting
            script.replied(self.port, token, frame, now)
            if script.waiting is not before:
                self._answered(now)
                return
        self._reading.replied(token, frame, self.port, now)
        self._follow(now)

    def ticked(self, now: float) -> None:
        """Answers that did not come, delays that are over, and no progress for too long."""
        if self._look is not None:
            self._look.ticked(self.port, now)
            self._answered(now)
        self._reading.ticked(self.port, now, at_hand=bool(self._backlog))
        self._follow(now)
        for timer in self._timers.expired(now):
            if timer is RangeTimer.ATTEMPT:
                self._attempt(now)
            elif timer is RangeTimer.AGAIN:
                self._reading.again(self.port, now)
                self._follow(now)
            else:
                self._stalled(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost, and with it what was asked on it."""
        self._drop()
        self._reading.link_down(self.port, now)
        if not self.ended and self.state is not RangeState.WAITING:
            self._short_links.lost(self._begun, now)
            self._move(RangeInput.LOST)
        self._timers.stop(RangeTimer.ATTEMPT)
        self._timers.stop(RangeTimer.AGAIN)

    def link_up(self, now: float) -> None:
        """Go on behind what came, at once unless the links before were short."""
        self._pace.restart()
        self._reading.link_up(self.port, now)
        if self.state is RangeState.WAITING:
            at = self._short_links.wait(self._begun, now)
            if at is None:
                self._attempt(now)
            else:
                self._timers.set(RangeTimer.ATTEMPT, at)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let something of ours through."""
        if self._look is not None:
            self._look.refused(self.port, subject, error, now)
            self._answered(now)
        self._reading.refused(subject, error, self.port, now)
        self._follow(now)

    def told(self, wish: StopMode, now: float) -> None:
        """Stop or drain: what is at hand is handed out, then it ends."""
        if not self.ended:
            self._finish(EndReason.CLOSED, None, now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user leaves, and what is at hand with him; or the connection is closed (B089)."""
        if not self.ended:
            self._finish(
                EndReason.DISCONNECTED if isinstance(error, LinkError) else EndReason.CLOSED,
                error,
                now,
            )
        if error is None:
            self._backlog.clear()
        elif self.state is not RangeState.OVER:
            self._reading.flush(self.port, now)
            self._rest()

    # ------------------------------------------------------------------ what it shows

    @property
    def deadline(self) -> float | None:
        """When an answer, silence, a delay or its patience call for action."""
        asked = None if self._look is None else self._look.deadline
        moments = (self._timers.next(), asked, self._reading.deadline)
        return min((at for at in moments if at is not None), default=None)

    @property
    def stage(self) -> Stage:
        """It goes on as soon as the leader has said what the stream is."""
        if self.ended:
            return Stage.ENDED
        return Stage.GOING if self._looked else Stage.BEGINNING

    @property
    def finished(self) -> bool:
        """Nothing is left to be done on the server; runs at hand can still be taken."""
        return self.state is RangeState.OVER

    # ------------------------------------------------------------------ asking the leader

    def _attempt(self, now: float) -> None:
        """From the beginning: what is the stream now?"""
        self._begun = now
        self._move(RangeInput.ASKED)
        self._ask(now, prove=False)

    def _ask(self, now: float, *, prove: bool) -> None:
        """Ask where the stream begins, and if it is to be proven, for more of the range."""
        self._drop()
        self.track.asked()
        self._question = (self.track.next, self.track.hi if prove else self.track.next)
        self._look = self._looking()
        self._look.opened(self.port, now)
        self._answered(now)

    def _looking(self) -> Script[LeaderCheck]:
        start, end = self._question
        options = self.options
        return Script(
            lambda: look(
                self._api,
                self.stream,
                start,
                end,
                subjects=options.subjects,
                timeout=options.create_timeout,
            )
        )

    def _drop(self) -> None:
        """An answer of the leader is of no use, or will not come."""
        if self._look is not None:
            self._look = None
            self.track.unasked()

    def _answered(self, now: float) -> None:
        """Whether the leader has said all that it was asked."""
        script = self._look
        if script is None or not script.done:
            return
        self._look = None
        if script.error is not None:
            self.track.unasked()
            self._not_seen(script.error, now)
            return
        facts, more = script.result
        self._looked = True
        self._direct = facts.allow_direct
        if self._other(facts.created, now):
            return
        resting = self.state is not RangeState.READING
        lost = self.track.judge(facts.first_seq, resting=resting)
        if lost is not None and self._lost(lost, now):
            return
        if self.state is RangeState.LOOKING:
            self._found(facts, now)
        elif self.state is RangeState.PROVING:
            self._proven(more, now)

    def _not_seen(self, error: JsprotoError, now: float) -> None:
        """The leader did not answer, or says no."""
        if isinstance(error, FATAL):
            self._refuse(error, now)
            return
        self._attempts += 1
        if (
            not self._looked
            and isinstance(error, FATAL_AT_FIRST)
            and self._attempts >= FIRST_ATTEMPTS
        ):
            self._refuse(error, now)
        elif self.state is not RangeState.READING:
            self._reset(error, now)

    def _other(self, created: Timestamp | None, now: float) -> bool:
        """Whether it is another stream than was meant."""
        meant = self.options.created
        if meant is None or created == meant:
            return False
        text = f"expected stream {self.stream} of {meant}, got one of {created}: it was deleted and made again"
        self._refuse(StreamRecreated(text, self.stream, str(meant), str(created)), now)
        return True

    def _lost(self, lost: LostRange, now: float) -> bool:
        """Messages are lost; whether that ends it."""
        self.port.notify(RangeNotice.LOST, lost)
        if not self.options.fail_on_loss:
            return False
        text = (
            f"expected the messages of stream {self.stream} from {lost.first} on, it begins before "
            f"{lost.until} no more: they were removed before they were read"
        )
        self._refuse(DataLost(text, self.stream, *lost), now)
        return True

    def _found(self, facts: RangeFacts, now: float) -> None:
        """It is the stream that is meant."""
        if self.track.complete:
            self._finish(EndReason.FILLED, None, now)
            return
        if self.way is ReadMode.AUTO:
            self.way = ReadMode.DIRECT if facts.workqueue else ReadMode.CONSUMER
        if self.way is ReadMode.DIRECT and not facts.allow_direct:
            text = f"expected stream {self.stream} to allow direct gets (allow_direct), it does not"
            self._refuse(DirectUnavailable(text), now)
            return
        self._move(RangeInput.FOUND)
        self._lagging = None
        self._reading.begin(self.port, now)
        self._follow(now)

    def _proven(self, more: int, now: float) -> None:
        """The leader has said whether there is more, and which."""
        if self.track.gap:
            self._ask(now, prove=not self.track.complete)
        elif self.track.complete or not more:
            self._finish(EndReason.FILLED, None, now)
        else:
            self._behind(more, now)

    def _behind(self, more: int, now: float) -> None:
        """Who is read from lags behind the leader: wait, but not for ever."""
        self._move(RangeInput.BEHIND)
        if self.track.next > more:
            self._again.reset_delay()
        self.port.notify(RangeNotice.BEHIND, more)
        if self._lagging is None:
            self._lagging = now
        if now - self._lagging >= PATIENCE_WITH_LAG:
            self._reset(None, now)
            return
        self._timers.set(RangeTimer.AGAIN, self._again.failed(now))

    # ------------------------------------------------------------------ what the way tells

    def _follow(self, now: float) -> None:
        """Work off what happened, in order."""
        while happened := self._reading.happened:
            kind, detail = happened.pop(0)
            if kind is SourceEvent.ROWS:
                if detail:
                    self._backlog.append(cast("list[Delivery]", detail))
                self._lagging = None
                self._again.reset_delay()
                self._timers.stop(RangeTimer.AGAIN)
                self._progress(now)
            elif kind is SourceEvent.QUIET:
                self._quiet(now)
            elif kind is SourceEvent.FATAL:
                self._unfit(cast("JsprotoError", detail), now)
            elif not self.track.complete and self.state in {RangeState.READING, RangeState.PROVING}:
                self._reset(
                    cast("JsprotoError | None", detail), now, at_once=kind is SourceEvent.GONE
                )
        if self.state is RangeState.READING:
            if self.track.complete:
                self._quiet(now)
            elif self.track.gap and self._look is None:
                self._watch(now)
        self._rest()

    def _quiet(self, now: float) -> None:
        """Nothing more seems to come: is that so?"""
        if self.state is RangeState.READING and self._timers.at(RangeTimer.AGAIN) is None:
            self._move(RangeInput.QUIET)
            self._ask(now, prove=not self.track.complete)

    def _watch(self, now: float) -> None:
        """Messages are missing: has the beginning of the stream come so far?"""
        if self._watched is None or now - self._watched >= WATCH:
            self._watched = now
            self._ask(now, prove=False)

    def _unfit(self, error: JsprotoError, now: float) -> None:
        """This way cannot read. Who may make no consumers may still be allowed to read directly."""
        denied = isinstance(error, PermissionViolation) and error.operation != "subscription"
        if (
            denied
            and self.options.way is ReadMode.AUTO
            and self._direct
            and self._by_consumer.never
        ):
            self.port.notify(RangeNotice.FAILED, error)
            self.way = ReadMode.DIRECT
            self._by_direct.begin(self.port, now)
        else:
            self._refuse(error, now)

    # ------------------------------------------------------------------ failures and ends

    def _reset(self, error: JsprotoError | None, now: float, *, at_once: bool = False) -> None:
        """What was read from, or what was asked, is worth nothing: begin again behind what came."""
        self._drop()
        self._reading.leave(self.port, now)
        self.port.unsubscribe()
        self.resets += 1
        self.port.notify(
            RangeNotice.RESET if error is None else RangeNotice.FAILED, error or self.last
        )
        self._timers.stop(RangeTimer.AGAIN)
        self._move(RangeInput.LOST)
        if at_once and self._pace.opened(now) and not self._pace.failures:
            self._pace.failed(now)
            self._attempt(now)
        else:
            self._timers.set(RangeTimer.ATTEMPT, self._pace.failed(now))

    def _progress(self, now: float) -> None:
        """Something came."""
        self._attempts = 0
        self._pace.reset_delay()
        self._timers.set(RangeTimer.STALLED, now + self.options.patience)

    def _stalled(self, now: float) -> None:
        """Nothing came for longer than it may take; unless it is the reader who does not take."""
        if self._backlog:
            self._progress(now)
            return
        patience = self.options.patience
        text = (
            f"expected more of stream {self.stream} behind {self.last} within {patience:g} s, none came "
            f"({self.state.name})"
        )
        self._refuse(ReadStalled(text, self.stream, self.last), now)

    def _refuse(self, error: JsprotoError, now: float) -> None:
        self._finish(EndReason.FATAL, error, now)

    def _finish(self, reason: EndReason, error: JsprotoError | None, now: float) -> None:
        """It is over for the user; what is left on the server is deleted."""
        self.reason = reason
        self._drop()
        self._timers.clear()
        self._reading.happened.clear()
        self.end(error)
        self._reading.leave(self.port, now)
        if self._reading.resting:
            self._over()
        else:
            self._move(RangeInput.LEFT)

    def _rest(self) -> None:
        """Once nothing is left on the server it is over."""
        if self.state is RangeState.CLOSING and self._reading.resting:
            self._over()

    def _over(self) -> None:
        self._move(RangeInput.ENDED)
        if self._reading.given_up:
            self.port.notify(RangeNotice.LEFT_BEHIND, tuple(self._reading.given_up))

    def _move(self, fact: RangeInput) -> None:
        self.state = TRANSITIONS[self.state][fact]

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """Everything but the options, and how far the question to the leader is."""
        return {**super().snapshot(), "look": None if self._look is None else self._look.snapshot()}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._look = None
        if data["look"] is not None:
            self._look = self._looking()
            self._look.restore(cast("Mapping[str, object]", data["look"]))
