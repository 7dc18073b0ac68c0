"""A worker that reads in batches, or one message at a time."""

from __future__ import annotations

from typing import Final, cast

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.fetch import Fetch, FetchMode, FetchOne, FetchOptions
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.reading import Reader
from jsproto.testing.simulation.worker import World

#: How a fetch may end when nothing is wrong.
_WELL: Final = frozenset(
    {
        EndReason.FILLED,
        EndReason.NO_MESSAGES,
        EndReason.EXPIRED,
        EndReason.BYTES_SPENT,
        EndReason.REQUESTS_PENDING,
        EndReason.TOO_LARGE,
    }
)
#: What is given up goes back within so many seconds: less than any consumer here waits for an
#: acknowledgement.
_RETURNED: Final = 0.5
#: So often is one given up in a calm, where there is much to be done.
_MOST_GIVEN_UP: Final = 4
#: How a fetch never ends: there is nothing in this world that could be the reason.
_NEVER: Final = frozenset({EndReason.FATAL, EndReason.UNKNOWN, EndReason.PIN_LOST})


class Fetches(Reader):
    """Reads in batches, one after the other; ``single`` reads one message at a time."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        world: World,
        chance: Chance,
        *,
        single: bool = False,
    ) -> None:
        super().__init__(name, connection, world, chance)
        self.single = single
        self.fetch: Fetch[JsMessage] | None = None
        self.opened = self.opened_at = 0.0
        self.opened_calm = False
        self.opened_quiet = False
        self.owed = 0
        self.got = 0
        apart = chance.fork("hasty")
        self.hasty = apart.choice((0.0, 0.0, 0.05, 0.5))
        self._apart = apart
        self._given_up = 0
        #: When the fetch that was given up in a calm had begun, and from when on nothing of it may
        #: be owed.
        self._left_behind: tuple[float, float] | None = None

    def turn(self, now: float) -> None:
        """Take what is there; at the end begin anew."""
        self.woken = False
        fetch = self.fetch
        if fetch is None:
            if now < self.at:
                return
            self._judge_left_behind()
            fetch = self._open(now)
        if not self.world.calm:
            self._given_up = 0
        if self.hasty and self._given_up < _MOST_GIVEN_UP and self._apart.often(self.hasty):
            self._give_up(fetch, now)
            return
        try:
            while (items := self.connection.take_all(fetch, now)) is not NEED_DATA:
                if items is ENDED:
                    self._ended(fetch, None, now)
                    return
                self.got += len(items)
                self.handed += len(items)
                self.world.books(self.name).handed(items)
                self.settle(items, now)
        except RuleBroken:
            raise
        except JsprotoError as error:
            self._ended(fetch, error, now)
            return
        late = now - self.opened - fetch.options.wait
        if late > 1.0 and not self.world.starving(self):
            raise RuleBroken(
                "outcome", f"{self.name} is {late:.3f} s beyond its time: {self.shown()}"
            )
        self.at = max(now + 1.0, self.opened + fetch.options.wait + 1.1)

    def _give_up(self, fetch: Fetch[JsMessage], now: float) -> None:
        """Leave it as who is cancelled does, at any moment: what is at hand, or on its way, goes
        back at once.
        """
        network_now = self.world.now
        # What a replay holds goes to the inbox that it was held for.
        consumer = self.world.truth.consumer(self.name)
        paced = consumer is not None and consumer.paced
        calm = self.world.calm and self.opened_calm and self.connection.connected and not paced
        self._given_up += calm
        self._left_behind = (self.opened_at, network_now + _RETURNED) if calm else None
        self.connection.close(cast("Conversation[object]", fetch), now)
        self.fetch = None
        self.at = now + 2 * _RETURNED

    def _judge_left_behind(self) -> None:
        """What had come, or was coming, when it gave up is due again, long before the server would
        miss an acknowledgement.
        """
        left, self._left_behind = self._left_behind, None
        consumer = self.world.truth.consumer(self.name)
        if left is None or consumer is None:
            return
        if not self.world.calm or self.world.now < left[1]:
            return
        kept = consumer.kept_since(left[0])
        if kept:
            raise RuleBroken(
                "lost", f"{self.name} gave up, and messages {kept} did not go back: {self.shown()}"
            )

    def _open(self, now: float) -> Fetch[JsMessage]:
        options = self._options()
        fetch: Fetch[JsMessage] = (
            FetchOne(self.next, options) if self.single else Fetch(self.next, options)
        )
        self.fetch = fetch
        self.opened = now
        self.opened_at, self.opened_calm = self.world.now, self.world.calm
        consumer = self.world.truth.consumer(self.name)
        # While a replay holds a message for a pull, the server is silent.
        paced = consumer is not None and consumer.paced
        self.opened_quiet = self.world.quiet and self.connection.connected and not paced
        self.owed = 0 if consumer is None or self.bound else consumer.ahead
        self.got = 0
        self.open(cast("Conversation[object]", fetch), now)
        self.woken = False
        return fetch

    def _options(self) -> FetchOptions:
        chance = self.chance
        mode = chance.choice(
            (FetchMode.WAIT, FetchMode.WAIT, FetchMode.NO_WAIT, FetchMode.DRAIN_THEN_WAIT)
        )
        expires = chance.choice((0.3, 2.0, 5.0, 20.0))
        most = 1 if self.single else chance.choice((1, 3, 20, 200))
        size = chance.choice((None, None, None, 5_000)) if not self.single else None
        heartbeat = expires / 2 if chance.often(0.3) and mode is not FetchMode.NO_WAIT else None
        return FetchOptions(
            max_messages=most, max_bytes=size, mode=mode, expires=expires, idle_heartbeat=heartbeat
        )

    def _ended(self, fetch: Fetch[JsMessage], error: JsprotoError | None, now: float) -> None:
        reason = fetch.reason
        most = fetch.options.max_messages
        if self.got != fetch.got or (most is not None and self.got > most):
            raise RuleBroken(
                "counters",
                f"{self.name} handed out {self.got} of {fetch.got}, asked for {most}: {self.shown()}",
            )
        quiet = self.opened_quiet and self.world.quiet
        if reason is None or reason in _NEVER or (quiet and reason not in _WELL):
            raise RuleBroken(
                "outcome", f"{self.name} ended with {reason} and {error!r}: {self.shown()}"
            )
        if quiet and self.owed and not self.got:
            raise RuleBroken(
                "outcome",
                f"{self.name} ended with {reason} and nothing, though {self.owed} were there: {self.shown()}",
            )
        self.fetch = None
        self.bereaved = False
        rest = self.chance.between(0.05, 3.0)
        if self.world.calm:
            rest = 0.001 if self.got else 1.0
        self.at = now + rest

    def asked(self) -> int | None:
        """What the fetch still wants, if it has asked."""
        fetch = self.fetch
        if fetch is None or fetch.pull is None:
            return 0
        return None if fetch.options.max_bytes is not None or fetch.ended else fetch.pull.owed

    def left(self) -> tuple[Conversation[object], ...]:
        """The fetch."""
        return () if self.fetch is None else (cast("Conversation[object]", self.fetch),)
