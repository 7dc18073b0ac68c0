"""A whole adapter on the parts of jsproto_io: any number of clients in one loop of one thread. To
read, and to copy from.

All that is new in it is how it waits: one selector sleeps for all clients. So while one of them
waits for an answer the others are alive: they read, answer pings, say that messages are being
worked on, and reconnect.
"""

# ruff: noqa: SLF001 - loop and client are one thing in two classes

import selectors
from time import monotonic

from jsproto_io.kit import SelectorClient, SelectorTransport


class Loop:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.clients = set()

    def sleep(self, patience=None):
        """Until something comes for a client or is due, at most so long; gives those whose turn it
        is.
        """
        due = [client._deadline for client in self.clients if client._deadline is not None]
        if due:
            left = max(0.0, min(due) - monotonic())
            patience = left if patience is None else min(left, patience)
        came = {key.data for key, _ in self.selector.select(patience)}
        now = monotonic()
        return [each for each in self.clients if each in came or (each._deadline or now + 1) <= now]

    def turn(self, patience=None):
        """Whoever waits for nothing in particular keeps all clients alive with this."""
        for client in self.sleep(patience):
            client._turn(0.0)  # bytes first, time second, then what is to be said


class Client(SelectorClient):
    """One connection to one NATS system, in a loop with others."""

    __slots__ = ("_loop",)

    def __init__(self, loop, servers, credentials, options):
        super().__init__(servers, credentials, options)
        self._loop = loop

    def _plugged(self):
        plug = SelectorTransport()
        self._loop.selector.register(plug, selectors.EVENT_READ, self)
        self._loop.clients.add(self)
        return plug

    def _drive(self):
        self._plug.asleep = True  # an interrupt now leaves everything as it is
        awake = self._loop.sleep()
        self._plug.asleep = False
        for client in awake:
            client._turn(0.0)

    def close(self):
        try:
            super().close()
        finally:
            if self in self._loop.clients:
                self._loop.clients.remove(self)
                self._loop.selector.unregister(self._plug)

    def _probe(self, server, options):
        return type(self)(self._loop, server, None, options)


def connect(servers="nats://127.0.0.1:4222", *, loop, credentials=None, **options):
    """A client of this loop, to be entered with ``with``; everything else is as in
    `jsproto_io.blocking`.
    """
    return Client(loop, servers, credentials, options)
