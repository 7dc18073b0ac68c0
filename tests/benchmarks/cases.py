"""What is measured, of whom: two tables, and no code that measures.

A case names the verb that a peer is asked for (see ``peers/raw.py`` for all of them), how many
items one run has, and the figure that the report compares. A peer's row says what it is called on
PyPI, what its users import, the oldest Python that has it, and, for a slow peer, the cases that it
runs with fewer items.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from attrs import field, frozen

#: Bytes of a message's payload.
SIZE = 128
#: Messages asked for by one pull, or held by a continuous one.
BATCH = 500
#: Messages held by an ordered consumer that pulls; one that is pushed to is held back by the
#: server's window only, 2 MiB or more.
ORDERED = 5000
#: Publishes in flight.
WINDOW = 1000
#: Items of the untimed round before a timed one, for verbs that can be asked twice.
WARM = 50


@frozen(kw_only=True)
class Figure:
    """The number that a case is judged by: a key of a run's result, and its unit."""

    key: str
    unit: str
    more_is_better: bool


RATE = Figure(key="per_s", unit="items/s", more_is_better=True)
LATENCY = Figure(key="p50_us", unit="us, p50", more_is_better=False)
IMPORT_TIME = Figure(key="import_ms", unit="ms", more_is_better=False)
MEMORY = Figure(key="bytes_each", unit="bytes each", more_is_better=False)


@frozen(kw_only=True)
class Case:
    """One thing to measure. ``ack`` is the ack policy of the consumer that the harness makes for
    it.

    What ``waits`` has one thing under way, so that client and server never have work at the same
    time. A case that is ``filled`` has the stream and its messages (with headers if ``frames`` is
    ``hmsg``) without a consumer: the peer makes its own.
    """

    title: str
    verb: str
    items: int
    figure: Figure = RATE
    frames: str = ""
    ack: str = ""
    filled: bool = False
    waits: bool = False
    needs_server: bool = True


CASES = {
    "parse-msg": Case(
        title="parser, MSG of 128 B", verb="parser", items=200_000, frames="msg", needs_server=False
    ),
    "parse-hmsg": Case(
        title="parser, HMSG of 128 B, 2 headers",
        verb="parser",
        items=200_000,
        frames="hmsg",
        needs_server=False,
    ),
    "core-publish": Case(title="core publish", verb="core_publish", items=200_000),
    "core-subscribe": Case(title="core subscribe", verb="core_subscribe", items=200_000),
    "publish": Case(
        title="JetStream publish, each awaited", verb="publish", items=3_000, waits=True
    ),
    "publish-window": Case(
        title=f"JetStream publish, window {WINDOW}", verb="publish_window", items=200_000
    ),
    "consume": Case(title="consume, no ack", verb="consume", items=200_000, ack="none"),
    "consume-ack": Case(title="consume, ack each", verb="consume", items=200_000, ack="explicit"),
    "consume-batches": Case(
        title="consume in runs, ack each", verb="consume_batches", items=200_000, ack="explicit"
    ),
    "push": Case(title="push, flow control, no ack", verb="push", items=200_000, filled=True),
    "ordered": Case(title="ordered consumer", verb="ordered", items=200_000, filled=True),
    "ordered-push": Case(
        title="ordered consumer, push form", verb="ordered_push", items=200_000, filled=True
    ),
    "range": Case(
        title="a whole stream, 2 headers, all parsed",
        verb="read_range",
        items=200_000,
        frames="hmsg",
        filled=True,
    ),
    "range-callback": Case(
        title="the same, for callbacks where there are some",
        verb="read_range_by_callback",
        items=200_000,
        frames="hmsg",
        filled=True,
    ),
    "fetch": Case(title=f"fetch({BATCH}), no ack", verb="fetch", items=200_000, ack="none"),
    "next": Case(
        title="next, one by one",
        verb="next",
        items=2_000,
        ack="explicit",
        figure=LATENCY,
        waits=True,
    ),
    "request": Case(
        title="request and reply", verb="request", items=3_000, figure=LATENCY, waits=True
    ),
    "import": Case(
        title="import, above a bare interpreter",
        verb="import",
        items=9,
        figure=IMPORT_TIME,
        needs_server=False,
    ),
    "memory": Case(
        title="memory per subscription", verb="subscriptions", items=10_000, figure=MEMORY
    ),
}


@frozen(kw_only=True)
class Contender:
    """Who is measured. ``distribution`` is empty for this tree and for what is no package."""

    distribution: str
    imports: str
    python: tuple[int, int] = (3, 11)
    items: dict[str, int] = field(factory=dict)

    def absence(self) -> str:
        """Why this peer cannot run here, or nothing."""
        if sys.version_info < self.python:
            need, have = ".".join(map(str, self.python)), ".".join(map(str, sys.version_info[:2]))
            return f"not available on this Python (needs {need}, this is {have})"
        if self.distribution and not self.version():
            return f"{self.distribution} is not installed"
        missing = [name for name in self.imports.split(", ") if not _found(name)]
        return f"there is no {missing[0]} yet" if missing and not self.distribution else ""

    def version(self) -> str:
        """The installed version, or nothing."""
        try:
            return version(self.distribution) if self.distribution else ""
        except PackageNotFoundError:
            return ""


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


_SLOW = {
    "consume": 50_000,
    "consume-ack": 50_000,
    "push": 50_000,
    "ordered": 50_000,
    "ordered-push": 50_000,
    "range": 50_000,
    "range-callback": 50_000,
}

PEERS = {
    "jsproto_asyncio": Contender(distribution="", imports="jsproto_io.asyncio"),
    "jsproto_blocking": Contender(distribution="", imports="jsproto_io.blocking"),
    "jsproto_lingering": Contender(distribution="", imports="jsproto_io.blocking"),
    "jsproto_trio": Contender(distribution="", imports="jsproto_io.trio, trio"),
    "jsproto_anyio": Contender(distribution="", imports="jsproto_io.anyio, anyio"),
    "natspy": Contender(
        distribution="nats-py",
        imports="nats, nats.js",
        items={**_SLOW, "fetch": 50_000, "publish-window": 50_000},
    ),
    "natsrpy": Contender(
        distribution="natsrpy",
        imports="natsrpy",
        # Its core subscription loses what a burst of more than 65,536 messages brings.
        items={**_SLOW, "core-publish": 50_000, "core-subscribe": 50_000, "publish-window": 20_000},
    ),
    "natsio": Contender(distribution="natsio", imports="natsio, natsio.jetstream", python=(3, 13)),
    "raw": Contender(distribution="", imports="socket"),
}
