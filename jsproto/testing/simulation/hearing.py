"""A worker that reads what a consumer pushes."""

from __future__ import annotations

import math
from typing import cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation, Stage
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.signals import ENDED
from jsproto.testing.chance import Chance
from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.reading import Reader
from jsproto.testing.simulation.worker import World


class Hears(Reader):
    """Reads what a consumer pushes."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.feed: PushSubscription[JsMessage] | None = None
        self.leaving = False
        #: How many heartbeats it had missed when its consumer was deleted, if it was listening
        #: then.
        self._robbed_at: int | None = None

    def wished(self) -> Table:
        """A subject, heartbeats, and mostly flow control."""
        return {
            "deliver_subject": f"deliver.{self.name}",
            "idle_heartbeat": round(self.chance.choice((0.5, 2.0, 5.0)) * 1e9),
            "flow_control": self.chance.often(0.8),
        }

    def bereft(self) -> None:
        """Nobody tells who listens that a push consumer was deleted: begin anew."""
        self.leaving = True
        self.woken = True

    def robbed(self) -> None:
        """The consumer is gone. Only silence says so, or in a replay the answer to a question."""
        feed = self.feed
        self._robbed_at = None
        if feed is not None and feed.stage is Stage.GOING and not self.leaving:
            self._robbed_at = self.missed

    def noticed(self) -> None:
        """It has been gone for long enough.

        Raises:
            RuleBroken: the listener has not noticed.
        """
        silent = (
            self.feed is not None and self.feed.liveness.silent
        )  # told before, and nothing has come since
        if self._robbed_at is not None and self.missed == self._robbed_at and not silent:
            raise RuleBroken(
                "silence", f"{self.name} listens to nobody and has not noticed: {self.shown()}"
            )

    def turn(self, now: float) -> None:
        """Take and settle what is there."""
        self.woken = False
        if self.feed is not None and self.leaving:
            self.connection.close(cast("Conversation[object]", self.feed), now)
            self._left(now)
        if self.feed is None:
            if now < self.at:
                return
            asked = Subscribe(stream=self.world.truth.stream_name, consumer=self.name)
            self.feed = PushSubscription(ApiSubjects(), asked, timeout=2.0)
            self.open(cast("Conversation[object]", self.feed), now)
        self.at = math.inf
        self.woken = False
        try:
            while isinstance(items := self.connection.take_all(self.feed, now), list):
                self.handed += len(items)
                self.world.books(self.name).handed(items)
                self.settle(items, now)
        except RuleBroken:
            raise
        except JsprotoError as error:
            # Its questions need an answer at the beginning; later nothing may end it.
            if self.feed.stage is Stage.GOING or self.world.quiet or self.feed.info is not None:
                raise RuleBroken("end", f"{self.name} ended: {error!r}: {self.shown()}") from None
            self._left(now)
        else:
            if items is ENDED:
                raise RuleBroken(
                    "end", f"{self.name} ended though nobody wanted it: {self.shown()}"
                )

    def _left(self, now: float) -> None:
        self.feed = None
        self._robbed_at = None
        self.leaving = False
        self.at = now + self.chance.between(0.1, 2.0)

    def asked(self) -> None:
        """Nothing is asked for."""

    def left(self) -> tuple[Conversation[object], ...]:
        """The feed."""
        return () if self.feed is None else (cast("Conversation[object]", self.feed),)
