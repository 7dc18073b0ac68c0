"""The server's side of a session in a few words, and a fixed entropy: tests of the core read like a
conversation.
"""

from __future__ import annotations

import json

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Ready
from jsproto.core.connection.link import LinkState
from jsproto.core.connection.options import Options


def fixed_entropy(count: int) -> bytes:
    """Always the same bytes: jitter 0, no shuffling surprises."""
    return bytes(count)


def info_line(**members: object) -> bytes:
    """An INFO as a 2.15 server sends it."""
    told = {
        "server_id": "NA",
        "version": "2.15.1",
        "proto": 1,
        "headers": True,
        "max_payload": 1_048_576,
    }
    return b"INFO " + json.dumps({**told, **members}).encode() + b" \r\n"


class Wire:
    """One `Connection` and the hand that plays its transport, server and clock.

    `sent` and `events` hold what has come out since they were last emptied by `out` and `told`.
    """

    def __init__(
        self, *servers: str, now: float = 0.0, entropy=fixed_entropy, **options: object
    ) -> None:
        options.setdefault("randomize", False)
        options.setdefault("reconnect_jitter", 0.0)
        self.now = now
        self.connection = Connection(
            Options(servers=servers or ("nats://a:4222",), **options), entropy=entropy, now=now
        )

    # ------------------------------------------------------------------ time and transport

    def at(self, now: float) -> Wire:
        """Let the clock reach ``now``, ticking whenever the connection wants to be ticked."""
        while (due := self.connection.next_deadline()) is not None and due <= now:
            self.now = max(self.now, due)
            self.connection.handle_tick(self.now)
        self.now = now
        return self

    def feed(self, data: bytes) -> Wire:
        self.connection.receive_data(data, self.now)
        return self

    def down(self, error: Exception | None = None) -> Wire:
        self.connection.transport_down(error, self.now)
        return self

    def up(self, **info: object) -> Wire:
        """Dial succeeds, INFO, PONG: the link is up. What was sent for that is dropped from `out`."""
        self.greet(**info)
        return self.feed(b"PONG\r\n")

    def greet(self, **info: object) -> Wire:
        """Dial succeeds, INFO; CONNECT and PING are read."""
        self.connection.transport_up(self.now)
        self.feed(info_line(**info))
        self.out()
        return self

    def redial(self) -> Wire:
        """Let the clock go on until the connection asks to dial."""
        while self.connection.state is not LinkState.DIALING:
            self.at(self.connection.next_deadline())
        return self

    # ------------------------------------------------------------------ what came out

    def out(self) -> bytes:
        return self.connection.data_to_send()

    def lines(self) -> list[str]:
        return [line.decode() for line in self.out().split(b"\r\n") if line]

    def told(self) -> list[object]:
        """All events but `Ready`."""
        return [event for event in self.all_told() if not isinstance(event, Ready)]

    def all_told(self) -> list[object]:
        events = []
        while (event := self.connection.next_event()) is not None:
            events.append(event)
        return events

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.told()]

    # ------------------------------------------------------------------ the user

    def open(self, conversation):
        return self.connection.open(conversation, self.now)

    def take(self, conversation):
        return self.connection.take(conversation, self.now)

    def take_all(self, conversation):
        return self.connection.take_all(conversation, self.now)

    def send(self, publish) -> bool:
        return self.connection.send(publish, self.now)

    def tell(self, conversation, wish) -> Wire:
        self.connection.tell(conversation, wish, self.now)
        return self

    def close(self, conversation=None) -> Wire:
        self.connection.close(conversation, self.now)
        return self


@pytest.fixture
def wire() -> type[Wire]:
    return Wire


@pytest.fixture
def info():
    return info_line
