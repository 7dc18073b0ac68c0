"""A worker that reads what is there until it is told that this was all, while somebody writes all
the time.

Theory. Who asks for what is there gets an end, however fast others write: what comes later is not
what was asked for. So this worker reads from near the end of the stream, or the last of each
subject, and for every message that it takes somebody stores more than one. Its consumer always has
something left, and nothing but what was there at the beginning may decide when the end is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import DeliverPolicy
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import OrderedOptions, SourceKind
from jsproto.jetstream.ordered.view import Messages, View
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import ENDED
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World

#: It begins so many sequences before the end.
_BEFORE: Final = 40
#: So many subjects are written to.
_SUBJECTS: Final = 20
#: So many messages are written for one reading.
_WRITTEN: Final = 500
#: When all that was there has come, so many more messages may come before that is told, beside
#: those that are stored already: a burst from the side, and what a question takes.
_SLACK: Final = 100
#: Bits a second that a consumer may push, so that it stays behind those who write.
_RATE: Final = 160_000


class _Marked(View[object]):
    """The messages, and one word when they were all."""

    __slots__ = ()

    def see(self, msg: JsMessage) -> Iterable[object]:
        """The message."""
        return (msg,)

    def caught_up(self) -> Iterable[object]:
        """The word."""
        return (ENDED,)


class Catches(Worker):
    """Reads what is there, again and again."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.feed: OrderedConsumer[object] | None = None
        self.last = 0
        self.leaving = False
        self.at = chance.between(0.0, 3.0)
        #: Where it began; the last sequence then, and when the present incarnation was seen first.
        self.start = self.least = 0
        self._goal: tuple[str, int] = ("", 0)
        #: Behind this sequence it must have been told; unknown before what was there has come.
        self._most = math.inf
        self._left_to_write = 0

    def bereft(self) -> None:
        """Sequences begin anew: so does the reader."""
        self.leaving = True
        self.woken = True

    def turn(self, now: float) -> None:
        """Take what is there, and let somebody write."""
        self.at = math.inf
        self.woken = False
        if self.leaving or self.feed is None:
            if self.feed is not None:
                self.connection.close(cast("Conversation[object]", self.feed), now)
                self._over(now)
                return
            self.leaving = False
            self._open(now)
        feed = cast("OrderedConsumer[object]", self.feed)
        try:
            while isinstance(items := self.connection.take_all(feed, now), list):
                if self._took(items):
                    self._told()
                    self.connection.close(cast("Conversation[object]", feed), now)
                    self._over(now)
                    return
        except RuleBroken:
            raise
        except JsprotoError as error:
            # The first creation may fail for good when nobody answers; later ones must not.
            if self.last or self.world.quiet:
                raise RuleBroken("end", f"{self.name} ended: {error!r}: {self.shown()}") from None
            self._over(now)
        else:
            if items is ENDED:
                self._told()
                self._over(now)

    def _open(self, now: float) -> None:
        chance, stream = self.chance, self.world.truth.stream
        self.last = 0
        self.least = 0 if stream is None else stream.last
        self._goal, self._most = ("", 0), math.inf
        form = chance.choice((SourceKind.PULL, SourceKind.PUSH))
        latest, whole = chance.often(0.5), chance.often(0.5)
        self.start = 0 if latest else max(1, self.least - _BEFORE)
        config = (
            ConsumerConfig(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT, filter_subject="s.*")
            if latest
            else ConsumerConfig(
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=self.start
            )
        )
        if form is SourceKind.PUSH:
            config = config.evolve(rate_limit_bps=_RATE)
        pulls = ConsumeOptions(
            max_messages=chance.choice((1, 2, 10, 100)),
            expires=5.0,
            idle_heartbeat=chance.choice((0.5, 2.0)),
        )
        options = OrderedOptions(
            form=form,
            config=config,
            pulls=pulls,
            create_timeout=2.0,
            until_caught_up=whole,
            name_prefix=f"{self.name}-",
        )
        view = cast("View[object]", Messages()) if whole else _Marked()
        self._left_to_write = _WRITTEN if chance.often(0.7) else 0
        self.feed = OrderedConsumer(ApiSubjects(), self.world.truth.stream_name, view, options)
        self.open(cast("Conversation[object]", self.feed), now)
        self.woken = False

    def _took(self, items: list[object]) -> bool:
        """Judge what was handed out, and write; whether it was told that this was all."""
        messages = [each for each in items if isinstance(each, JsMessage)]
        told = len(messages) < len(items)
        self.handed += len(messages)
        for each in messages:
            seq = each.metadata.stream_sequence
            if seq <= self.last:
                raise RuleBroken(
                    "order", f"{self.name} handed out {seq} behind {self.last}: {self.shown()}"
                )
            self.last = seq
        if not told:
            self._judge_goal()
            self._write(len(messages))
        return told

    def _judge_goal(self) -> None:
        """All that was there when the present incarnation was seen first has come: soon that must
        be told.
        """
        feed, stream = self.feed, self.world.truth.stream
        if feed is None or stream is None:
            return
        name, goal = self._goal
        if name != feed.incarnation.name:
            self._goal, self._most = (feed.incarnation.name, stream.last), math.inf
        elif self._most == math.inf:
            if self.last >= goal:
                self._most = stream.last + _SLACK
        elif self.last > self._most:
            raise RuleBroken(
                "caught up",
                f"{self.name} is at {self.last} and was not told that all up to {goal} was there: {self.shown()}",
            )

    def _write(self, taken: int) -> None:
        """Somebody stores more than was taken."""
        count = min(taken + 1, self._left_to_write)
        if count and not self.world.quiet:
            self._left_to_write -= count
            self.world.publish(f"s.k{self.chance.below(_SUBJECTS)}", count)

    def _told(self) -> None:
        """This was all: what was there at the beginning, and is still, has come."""
        stream = self.world.truth.stream
        left = () if stream is None else stream.after(max(self.last + 1, self.start))
        missing = next((each.seq for each in left if each.seq <= self.least), 0)
        if missing and not self.leaving:
            raise RuleBroken(
                "caught up",
                f"{self.name} is at {self.last} and was told that this was all: {missing} is there",
            )

    def _over(self, now: float) -> None:
        self.feed = None
        self.leaving = False
        self.at = now + self.chance.between(1.0, 20.0)

    @property
    def consumer(self) -> str:
        """That of the present incarnation."""
        return "" if self.feed is None else self.feed.incarnation.name

    def judge(self) -> None:
        """What was asked for has an end, unless it was asked for just now."""
        feed = self.feed
        if feed is not None:
            for each in self.left():
                if self.connection.connected and not each.readable and each.deadline is None:
                    raise RuleBroken(
                        "progress", f"{self.name} waits and has no deadline: {self.shown()}"
                    )
                self.weigh(each)

    def left(self) -> tuple[Conversation[object], ...]:
        """The feed."""
        return () if self.feed is None else (cast("Conversation[object]", self.feed),)
