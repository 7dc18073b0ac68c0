"""A complete adapter built from the parts of jsproto_io, to read and to copy from.

One loop in one thread drives any number of clients. Only its way of waiting is new: one selector
sleeps for all clients. While one client waits for an answer, the others stay alive: they read,
answer PINGs, report progress on messages, and reconnect.
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
        """Wait for data or the next deadline, at most ``patience`` seconds; return the clients to
        turn.
        """
        due = [client._deadline for client in self.clients if client._deadline is not None]
        if due:
            left = max(0.0, min(due) - monotonic())
            patience = left if patience is None else min(left, patience)
        came = {key.data for key, _ in self.selector.select(patience)}
        now = monotonic()
        return [each for each in self.clients if each in came or (each._deadline or now + 1) <= now]

    def turn(self, patience=None):
        """Keep all clients alive while the caller waits for nothing in particular."""
        for client in self.sleep(patience):
            client._turn(0.0)  # bytes first, time second, then the output


class Client(SelectorClient):
    """A connection to one NATS system, in a loop with others."""

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
        self._plug.asleep = True  # an interrupt during the wait changes nothing
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
    """Create a client of this loop, to be entered with ``with``.

    Everything else is as in `jsproto_io.blocking`.
    """
    return Client(loop, servers, credentials, options)
