"""A worker that reads a stream with an ordered consumer."""

from __future__ import annotations

import math
from typing import cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import ReplayPolicy
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer, OrderedState
from jsproto.jetstream.ordered.options import OrderedOptions, SourceKind
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import ENDED
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World


class Orders(Worker):
    """Reads everything in order, from the beginning."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.feed: OrderedConsumer[JsMessage] | None = None
        self.last = 0
        self.leaving = False
        expires = chance.choice((1.0, 5.0, 30.0))
        apart = chance.fork("form")
        self.options = OrderedOptions(
            form=apart.choice((SourceKind.PULL, SourceKind.PULL, SourceKind.PUSH)),
            config=ConsumerConfig(
                replay_policy=ReplayPolicy.ORIGINAL if apart.often(0.3) else None
            ),
            pulls=ConsumeOptions(
                max_messages=chance.choice((1, 10, 500)),
                expires=expires,
                idle_heartbeat=chance.choice((0.5, min(expires / 2, 5.0))),
            ),
            create_timeout=chance.choice((1.0, 5.0)),
            name_prefix=f"{name}-",
        )
        self.at = chance.between(0.0, 3.0)

    def bereft(self) -> None:
        """Sequences begin anew: so does the reader."""
        self.leaving = True
        self.woken = True

    def turn(self, now: float) -> None:
        """Take what is there."""
        self.at = math.inf
        self.woken = False
        if self.leaving and self.feed is not None:
            self.connection.close(cast("Conversation[object]", self.feed), now)
            self._left(now)
            return
        self.leaving = False
        feed = self.feed
        if feed is None:
            self.last = 0
            feed = self.feed = OrderedConsumer(
                ApiSubjects(), self.world.truth.stream_name, Messages(), self.options
            )
            self.open(cast("Conversation[object]", feed), now)
            self.woken = False
        try:
            while isinstance(items := self.connection.take_all(feed, now), list):
                self.handed += len(items)
                self._check(items)
        except RuleBroken:
            raise
        except JsprotoError as error:
            # The first creation may fail for good when nobody answers; later ones must not.
            if self.last or self.world.quiet:
                raise RuleBroken("end", f"{self.name} ended: {error!r}: {self.shown()}") from None
            self._left(now)
        else:
            if items is ENDED:
                raise RuleBroken(
                    "end", f"{self.name} ended though nobody wanted it: {self.shown()}"
                )

    def _left(self, now: float) -> None:
        self.missed = self.vain
        self.feed = None
        self.leaving = False
        self.at = now + self.chance.between(0.1, 2.0)

    def _check(self, items: list[JsMessage]) -> None:
        for each in items:
            seq = each.metadata.stream_sequence
            if seq != self.last + 1:
                stream = self.world.truth.stream
                left = () if stream is None else stream.after(self.last + 1)
                if seq <= self.last or next((kept.seq for kept in left), seq) < seq:
                    raise RuleBroken(
                        "order", f"{self.name} handed out {seq} behind {self.last}: {self.shown()}"
                    )
            self.last = seq

    @property
    def vain(self) -> int:
        """Missed heartbeats, and consumers that were given up."""
        return self.missed + (0 if self.feed is None else self.feed.resets)

    def replays(self) -> bool:
        """A server that replays answers no pull before the next message is due, so a new consumer
        may be under way as well.
        """
        feed = self.feed
        if feed is None or not feed.options.paced:
            return False
        return super().replays() or feed.state is not OrderedState.READING

    @property
    def consumer(self) -> str:
        """That of the present incarnation."""
        return "" if self.feed is None else self.feed.incarnation.name

    def judge(self) -> None:
        """Everything has come, and the reader waits with a deadline."""
        stream = self.world.truth.stream
        newest = (
            0
            if stream is None
            else max((each.seq for each in stream.after(self.last + 1)), default=0)
        )
        feed = self.feed
        consumer = None if feed is None else self.world.truth.consumer(feed.incarnation.name)
        paced = self.replays()
        if newest > self.last and not paced:
            raise RuleBroken(
                "lost", f"{self.name} is at {self.last} of {newest} in a calm: {self.shown()}"
            )
        if feed is None:
            return
        if consumer is not None:
            self.world.truth.judge_asked(self.name, consumer, feed.intake.lead.asked, self.shown)
        for each in self.left():
            # A replay is silent for as long as it was silent at first.
            if (
                self.connection.connected
                and not each.readable
                and each.deadline is None
                and not paced
            ):
                raise RuleBroken(
                    "progress", f"{self.name} waits and has no deadline: {self.shown()}"
                )
            self.weigh(each)

    def left(self) -> tuple[Conversation[object], ...]:
        """The feed."""
        return () if self.feed is None else (cast("Conversation[object]", self.feed),)
