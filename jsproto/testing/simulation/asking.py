"""A worker that asks itself questions: core requests to a subscription on the same connection."""

from __future__ import annotations

import math
from typing import cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Procedure
from jsproto.core.pubsub.request import request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors.tree import ConnectionLost, JsprotoError, NoResponders, RequestTimeout
from jsproto.signals import NEED_DATA
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World
from jsproto.wire.commands import Publish


class Asks(Worker):
    """Asks, sometimes several things at once, and answers."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.subscription: Subscription | None = None
        self.open_requests: dict[int, tuple[Procedure[Message], float, float, bool]] = {}
        self.asked = 0
        self.pause = chance.choice((0.3, 2.0, 10.0))
        self.most = chance.choice((1, 5))
        self.at = chance.between(0.0, 3.0)
        self.next_at = self.at

    def turn(self, now: float) -> None:
        """Answer, look for answers, ask."""
        self.woken = False
        subscription = self.subscription
        if subscription is None:
            subscription = self.subscription = Subscription(f"rq.{self.name}")
            self.open(cast("Conversation[object]", subscription), now)
            self.woken = False
        while (item := self.connection.take(subscription, now)) is not NEED_DATA:
            message = cast("Message", item)
            self.connection.send(Publish(message.reply, message.payload), now)
            self.operations += 1
        for number in list(self.open_requests):
            self._look(number, now)
        if now >= self.next_at and len(self.open_requests) < self.most:
            self._ask(now)
        ends = [opened + timeout + 1.1 for _, opened, timeout, _ in self.open_requests.values()]
        self.at = min([*ends, self.next_at if len(self.open_requests) < self.most else math.inf])
        self.at = max(self.at, now + 0.001)

    def _ask(self, now: float) -> None:
        self.asked += 1
        timeout = self.chance.choice((0.5, 2.0, 10.0))
        procedure = request(f"rq.{self.name}", b"%d" % self.asked, timeout=timeout)
        quiet = self.world.quiet and self.connection.connected
        self.open_requests[self.asked] = (procedure, now, timeout, quiet)
        self.open(cast("Conversation[object]", procedure), now)
        self.next_at = now + self.pause * (0.5 + self.chance.fraction())

    def _look(self, number: int, now: float) -> None:
        procedure, opened, timeout, quiet = self.open_requests[number]
        try:
            answer = self.connection.take(procedure, now)
        except (ConnectionLost, NoResponders, RequestTimeout) as error:
            if quiet and self.world.quiet:
                raise RuleBroken(
                    "outcome", f"{self.name}: question {number} has no answer: {error!r}"
                ) from None
        except JsprotoError as error:
            raise RuleBroken(
                "outcome", f"{self.name}: question {number} ended oddly: {error!r}"
            ) from None
        else:
            if answer is NEED_DATA:
                if now > opened + timeout + 1.0 and not self.world.starving(self):
                    raise RuleBroken(
                        "outcome", f"{self.name}: question {number} is beyond its time"
                    )
                return
            if cast("Message", answer).payload != b"%d" % number:
                raise RuleBroken(
                    "outcome", f"{self.name}: question {number} has the answer of another: {answer}"
                )
        del self.open_requests[number]

    def judge(self) -> None:
        """No question is older than its time."""

    def left(self) -> tuple[Conversation[object], ...]:
        """The subscription and the questions."""
        found = (
            [] if self.subscription is None else [cast("Conversation[object]", self.subscription)]
        )
        return (
            *found,
            *(cast("Conversation[object]", each[0]) for each in self.open_requests.values()),
        )
