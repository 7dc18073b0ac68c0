"""The users of a simulated client: workers that share one connection, and the household that they
form.

A worker does what application code would: it opens conversations, takes what is there, waits to be
woken, gives up. It takes nothing unless somebody told it to look again (`Ready`), so a wake-up that
never comes is a message that never arrives. Its time is that of its connection: it stands still
while a clock that leapt back has not caught up.
"""

from __future__ import annotations

import math
from typing import Final, Protocol, final

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Connected, Event, Notice, Ready
from jsproto.core.conversation.conversation import Conversation
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.push.base import PushNotice
from jsproto.testing.chance import Chance
from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simulation.oracle import DeliveryRecord, RuleBroken, Truth

#: Notices of heartbeats that did not come.
_MISSED: Final = frozenset({PullNotice.HEARTBEAT_MISSED, PushNotice.HEARTBEAT_MISSED})
#: Most that the state of a conversation takes in a calm, in characters.
_MOST_STATE: Final = 60_000


class World(Protocol):
    """What workers see of the world around them."""

    truth: Truth
    consumers: dict[str, Table]

    @property
    def now(self) -> float:
        """The time of the network, which no clock of a client knows."""
        ...

    @property
    def calm(self) -> bool:
        """Nothing goes wrong now, and everybody shall do what there is to do."""
        ...

    @property
    def quiet(self) -> bool:
        """It has been calm for so long that nothing of a storm is left."""
        ...

    @property
    def hushed(self) -> bool:
        """The calm is nearly over, and nobody shall begin anything new."""
        ...

    def troubled(self, *kinds: str) -> bool:
        """Whether one of these faults has happened since the last calm."""
        ...

    def starving(self, worker: Worker) -> bool:
        """Whether nobody ticks at present where it lives: then nothing can be in time."""
        ...

    def books(self, consumer: str) -> DeliveryRecord:
        """What a consumer has handed out."""
        ...

    def publish(self, subject: str, count: int) -> None:
        """Store so many messages from the side."""
        ...

    def provide(self, consumer: str, config: Table) -> None:
        """The stream shall have this consumer, whenever it is made anew."""


class Worker:
    """One workload on one connection.

    Args:
        name: what it is called; consumers and subjects are named after it.
        connection: shared with others.
        world: what is around it.
        chance: where it draws from.

    Attributes:
        at: when it has something to do by itself, in its connection's time.
        woken: somebody told it to look again.
        operations: conversations that it opened, and messages that it sent.
        handed: messages that it was handed.
        missed: heartbeats that it was told to have missed, and what else of `vain` belongs to
            conversations that are over.
    """

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        self.name = name
        self.connection = connection
        self.world = world
        self.chance = chance
        self.at = math.inf
        self.woken = False
        self.operations = 0
        self.handed = 0
        self.missed = 0

    def turn(self, now: float) -> None:
        """Do what there is to do."""
        raise NotImplementedError

    def linked(self, now: float) -> None:
        """A link is up."""

    def bereft(self) -> None:
        """The stream or the consumer is not what it was: something was deleted, or lost by the
        disk.
        """

    @property
    def vain(self) -> int:
        """How often it has waited in vain so far: for a heartbeat, for the end of a pull, for
        whatever else a healthy server always gives.
        """
        return self.missed

    def replays(self) -> bool:
        """Whether its consumer replays now, so that the server is silent by right."""
        consumer = self.world.truth.consumer(self.consumer)
        return consumer is not None and consumer.paced

    @property
    def consumer(self) -> str:
        """The name of the consumer that it reads from, if it does."""
        return self.name

    def judge(self) -> None:
        """It has been quiet: everything must be done.

        Raises:
            RuleBroken: it is not.
        """
        raise NotImplementedError

    def left(self) -> tuple[Conversation[object], ...]:
        """The conversations that are still open."""
        raise NotImplementedError

    def shown(self) -> str:
        """Its conversations, for whoever has to find out."""
        return "; ".join(f"{type(each).__name__} {each.snapshot()}"[:1500] for each in self.left())

    def weigh(self, conversation: Conversation[object]) -> None:
        """In a calm a conversation holds little.

        Raises:
            RuleBroken: its state is large.
        """
        size = len(repr(conversation.snapshot()))
        if size > _MOST_STATE:
            raise RuleBroken("memory", f"{self.name} holds a state of {size} characters in a calm")

    def open(self, conversation: Conversation[object], now: float) -> None:
        """Open a conversation whose wake-ups are for this worker."""
        conversation.context = self
        self.woken = True
        self.operations += 1
        self.connection.open(conversation, now)


@final
class Household:
    """The workers of one connection: a user, as a host wants one.

    Attributes:
        connection: what they share.
        workers: who lives here.
        time: that of the connection, for which an earlier one counts as the last one.
        lazy_until: nobody takes anything before, by the client's clock.
        starving: whether nobody ticks at present: then nothing can be in time.
    """

    __slots__ = ("connection", "lazy_until", "starving", "time", "workers")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.workers: list[Worker] = []
        self.time = -math.inf
        self.lazy_until = -math.inf
        self.starving = False

    def happened(self, event: Event, now: float) -> None:
        """Wake who waits."""
        if isinstance(event, Connected):
            self.time = max(self.time, now)
            for each in self.workers:
                each.linked(self.time)
        elif isinstance(event, Ready):
            if event.conversation is None:
                for each in self.workers:
                    each.woken = True
            elif isinstance(event.conversation.context, Worker):
                event.conversation.context.woken = True
        elif isinstance(event, Notice) and event.kind in _MISSED and event.conversation is not None:
            worker = event.conversation.context
            if isinstance(worker, Worker):
                worker.missed += 1

    def turn(self, now: float) -> None:
        """Everybody who was woken, or whose time has come."""
        self.time = max(self.time, now)
        if now < self.lazy_until:
            return
        now = self.time
        for each in self.workers:
            if each.woken or each.at <= now:
                each.turn(now)

    def due(self) -> float | None:
        """When the first of them has something to do."""
        at = math.inf
        for each in self.workers:
            if each.woken:
                at = -math.inf
            elif each.at < at:
                at = each.at
        if at == math.inf:
            return None
        return max(self.lazy_until, at)
