"""A worker that reads in batches, or one message at a time."""

from __future__ import annotations

from typing import Final, cast

from jsproto.core.connection import Connection
from jsproto.core.conversation import Conversation
from jsproto.errors import JsprotoError
from jsproto.jetstream.fetch import Fetch, FetchMode, FetchOptions, Next
from jsproto.jetstream.message import JsMessage
from jsproto.jetstream.status import End
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing.chance import Chance
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.reading import Reader
from jsproto.testing.simulation.worker import World

#: How a fetch may end when nothing is wrong.
_WELL: Final = frozenset(
    {End.FILLED, End.NO_MESSAGES, End.EXPIRED, End.BYTES_SPENT, End.REQUESTS_PENDING, End.TOO_LARGE}
)
#: How a fetch never ends: there is nothing in this world that could be the reason.
_NEVER: Final = frozenset({End.FATAL, End.UNKNOWN, End.PIN_LOST})


class Fetches(Reader):
    """Reads in batches, one after the other; ``single`` reads one message at a time."""

    def __init__(
        self, name: str, connection: Connection, world: World, chance: Chance, *, single: bool = False
    ) -> None:
        super().__init__(name, connection, world, chance)
        self.single = single
        self.fetch: Fetch[JsMessage] | None = None
        self.opened = 0.0
        self.opened_quiet = False
        self.owed = 0
        self.got = 0

    def turn(self, now: float) -> None:
        """Take what is there; at the end begin anew."""
        self.woken = False
        fetch = self.fetch
        if fetch is None:
            if now < self.at:
                return
            fetch = self._open(now)
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
            raise RuleBroken("outcome", f"{self.name} is {late:.3f} s beyond its time: {self.shown()}")
        self.at = max(now + 1.0, self.opened + fetch.options.wait + 1.1)

    def _open(self, now: float) -> Fetch[JsMessage]:
        options = self._options()
        fetch: Fetch[JsMessage] = Next(self.next, options) if self.single else Fetch(self.next, options)
        self.fetch = fetch
        self.opened = now
        self.opened_quiet = self.world.quiet and self.connection.connected
        consumer = self.world.truth.consumer(self.name)
        self.owed = 0 if consumer is None or self.bound else consumer.ahead
        self.got = 0
        self.open(cast("Conversation[object]", fetch), now)
        self.woken = False
        return fetch

    def _options(self) -> FetchOptions:
        chance = self.chance
        mode = chance.choice((FetchMode.WAIT, FetchMode.WAIT, FetchMode.NO_WAIT, FetchMode.DRAIN_THEN_WAIT))
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
            raise RuleBroken("outcome", f"{self.name} ended with {reason} and {error!r}: {self.shown()}")
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
