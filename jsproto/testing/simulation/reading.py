"""Workers that read from a durable consumer: what they share, and the one that reads in an endless
feed.
"""

from __future__ import annotations

import math
from typing import Final, cast

from attrs import evolve

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.errors.tree import JsprotoError, OutboundFull
from jsproto.jetstream.api.errors import ConsumerNotFound, StreamNotFound
from jsproto.jetstream.delivery.ack import IN_PROGRESS, NAK, TERM, Nak
from jsproto.jetstream.delivery.message import AckBatch, JsMessage, Settlement
from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions, ConsumeState, OnDeleted
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing.chance import Chance
from jsproto.testing.simserver.values.documents import Table, integer
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World

#: Faults after which a consumer is not there for a while.
_GONE: Final = ("delete_consumer", "delete_stream", "power")


class Reader(Worker):
    """What readers share: the consumer, how messages are settled, and what must hold in a calm."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.next = f"$JS.API.CONSUMER.MSG.NEXT.{world.truth.stream_name}.{name}"
        self.bound = chance.choice((0, 0, 0, 5, 50))
        config: Table = {
            "durable_name": name,
            "ack_policy": "explicit",
            "ack_wait": round(chance.choice((2.0, 5.0, 12.0)) * 1e9),
        }
        if self.bound:
            config["max_ack_pending"] = self.bound
        if chance.fork("replay").often(0.2):
            config["replay_policy"] = "original"
        config.update(self.wished())
        self.plain = chance.often(0.5)
        world.provide(name, config)
        self.bereaved = False
        self.at = chance.between(0.0, 3.0)

    def wished(self) -> Table:
        """What else its consumer shall have."""
        return {}

    def bereft(self) -> None:
        """It may be deleted under us."""
        self.bereaved = True

    def settle(self, items: list[JsMessage], now: float) -> None:
        """Mostly acknowledge; outside of a calm now and then do something else."""
        settle = self.connection.settle
        try:
            if self.plain or self.world.calm or self.chance.often(0.8):
                if len(items) > 1 and self.chance.often(0.3):
                    settle(AckBatch(items), now)
                else:
                    for each in items:
                        settle(each, now)
                return
            for each in items:
                self._somehow(each, now)
        except OutboundFull:
            pass  # what is not settled comes again

    def _somehow(self, item: JsMessage, now: float) -> None:
        way = self.chance.below(10)
        settle = self.connection.settle
        if way < 4:
            settle(item, now)
        elif way < 6:
            settle(Settlement(item, NAK), now)
        elif way == 6:
            settle(Settlement(item, Nak(self.chance.between(0.01, 4.0))), now)
        elif way == 7:
            settle(Settlement(item, IN_PROGRESS), now)
            settle(item, now)
        elif way == 8:
            settle(Settlement(item, TERM), now)
        # else: forgotten, and delivered again after ack_wait

    def judge(self) -> None:
        """Everything is delivered and settled, and what is asked for is what the server owes."""
        truth = self.world.truth
        consumer = truth.consumer(self.name)
        if consumer is None:
            raise RuleBroken(
                "progress", f"expected consumer {self.name} in a calm, it is not there"
            )
        # The info also makes the server look over its waiting pulls. Second 0 is any time: it never
        # runs backwards.
        answer = truth.server.request(f"CONSUMER.INFO.{truth.stream_name}.{self.name}", None, 0.0)
        left = (integer(answer, "num_pending"), integer(answer, "num_ack_pending"))
        if left != (0, 0) and not consumer.paced:
            raise RuleBroken(
                "progress",
                f"{self.name} has {left[0]} to deliver and {left[1]} to settle after a calm: {self.shown()}",
            )
        asked = self.asked()
        if asked is not None:
            truth.judge_asked(self.name, consumer, asked, self.shown)
        for each in self.left():
            self.weigh(each)
            waits = self.connection.connected and not each.ended and not each.readable
            if waits and each.deadline is None:
                raise RuleBroken(
                    "progress", f"{self.name} waits and has no deadline: {self.shown()}"
                )

    def asked(self) -> int | None:
        """Messages that it believes to be owed; ``None`` if it counts otherwise."""
        raise NotImplementedError


class Consumes(Reader):
    """Reads in an endless feed; leaves it now and then, and comes back."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.feed: Consume[JsMessage] | None = None
        self.leaving = False
        expires = chance.choice((1.0, 5.0, 30.0))
        heartbeat = chance.choice((0.5, min(expires / 2, 5.0)))
        how = chance.below(4)
        bound = chance.choice((1, 2, 10, 100, 500))
        deleted = chance.choice((OnDeleted.END, OnDeleted.RETRY))
        if how < 3:
            self.options = ConsumeOptions(
                max_messages=bound, expires=expires, idle_heartbeat=heartbeat, on_deleted=deleted
            )
        else:
            self.options = ConsumeOptions(
                max_bytes=2_000 * bound,
                expires=expires,
                idle_heartbeat=heartbeat,
                on_deleted=deleted,
            )
        #: Seconds that each message takes, outside of a calm.
        self.pause = chance.choice((0.0, 0.0, 0.0, 0.01, 1.0))
        self.fickle = chance.often(0.3)

    def linked(self, now: float) -> None:
        """Whoever has nothing at hand asks at once on a new link (invariant 28)."""
        feed = self.feed
        if feed is None or feed.ended or feed.readable or feed.state is not ConsumeState.PULLING:
            return
        if not feed.port.up:  # it is gone again already
            return
        if max((each.issued for each in feed.ledger.open.values()), default=-math.inf) < now:
            raise RuleBroken(
                "progress", f"{self.name} asks for nothing on a new link: {self.shown()}"
            )

    def turn(self, now: float) -> None:
        """Take and settle what is there; one by one, if each takes its time."""
        self.at = math.inf
        self.woken = False
        feed = self.feed
        if feed is None:
            feed = self.feed = Consume(self.next, self.options)
            self.leaving = False
            self.open(cast("Conversation[object]", feed), now)
            self.woken = False
        slow = self.pause and not self.world.calm
        try:
            while True:
                items = self._one(feed, now) if slow else self.connection.take_all(feed, now)
                if items is NEED_DATA:
                    break
                if items is ENDED:
                    self._ended(None, now)
                    return
                messages = cast("list[JsMessage]", items)
                self.handed += len(messages)
                self.world.books(self.name).handed(messages)
                self.settle(messages, now)
                if slow:
                    self.at = now + self.pause
                    return
        except RuleBroken:
            raise
        except JsprotoError as error:
            self._ended(error, now)
            return
        if self.fickle and not self.leaving and not self.world.calm and self.chance.often(0.02):
            self._leave(feed, now)

    def _one(self, feed: Consume[JsMessage], now: float) -> object:
        item = self.connection.take(feed, now)
        return [item] if isinstance(item, JsMessage) else item

    def _leave(self, feed: Consume[JsMessage], now: float) -> None:
        self.leaving = True
        how = self.chance.below(3)
        if how == 0:
            self.connection.close(cast("Conversation[object]", feed), now)
        else:
            self.connection.tell(
                cast("Conversation[object]", feed),
                StopMode.DRAIN if how == 1 else StopMode.STOP,
                now,
            )
        self.woken = True

    def _ended(self, error: JsprotoError | None, now: float) -> None:
        if error is None:
            well = self.leaving
        elif isinstance(error, (ConsumerNotFound, StreamNotFound)):
            # Who pulls while it is not there, and was not told to wait for it, is told so.
            well = self.options.on_deleted is OnDeleted.END and self.world.troubled(*_GONE)
        else:
            well = isinstance(error, ConsumerDeleted) and self.bereaved
        if not well:
            raise RuleBroken(
                "end", f"{self.name} ended though nobody wanted it: {error!r}: {self.shown()}"
            )
        self.missed = self.vain
        self.feed = None
        self.bereaved = False
        self.at = now + self.chance.between(0.0, 2.0)

    @property
    def vain(self) -> int:
        """Missed heartbeats, and pulls whose end never came."""
        return self.missed + (
            0 if self.feed is None else self.feed.ledger.counts.get(EndReason.DEADLINE, 0)
        )

    def asked(self) -> int | None:
        """What the open pulls owe."""
        if self.feed is None:
            return 0
        return None if self.options.max_bytes is not None else self.feed.asked

    def left(self) -> tuple[Conversation[object], ...]:
        """The feed."""
        return () if self.feed is None else (cast("Conversation[object]", self.feed),)


class Shares(Consumes):
    """Reads from a consumer with a priority group, which servers before 2.11 do not know."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        profile = world.truth.server.profile
        policies = ("overflow", "pinned_client", *(["prioritized"] if profile.prioritized else []))
        self._policy = chance.fork("policy").choice(policies) if profile.number >= (2, 11) else ""
        super().__init__(name, connection, world, chance)
        if self._policy:
            self.options = evolve(
                self.options,
                group="G",
                min_pending=1 if self._policy == "overflow" else 0,
                priority=3 if self._policy == "prioritized" else None,
            )

    def wished(self) -> Table:
        """A group with its policy; a client that is pinned is so for a short time."""
        if not self._policy:
            return {}
        timeout = {"priority_timeout": 10_000_000_000} if self._policy == "pinned_client" else {}
        return {"priority_groups": ["G"], "priority_policy": self._policy, **timeout}


class Steady(Consumes):
    """Reads with the options that there are by default, takes all there is, and acknowledges it:
    what speed is measured with.
    """

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.options = ConsumeOptions(on_deleted=OnDeleted.RETRY)
        self.plain = True
        self.pause = 0.0
        self.fickle = False
