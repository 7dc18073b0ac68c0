"""A duration is a number of seconds or a timedelta, wherever one is given; what is neither is
refused by its name.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from datetime import timedelta
from math import nan

import pytest

from jsproto import (
    AckOptions,
    ConsumeOptions,
    InvalidConfig,
    JetStream,
    JsMessage,
    Options,
    OrderedOptions,
    RequestMany,
    RetryPolicy,
)
from jsproto.core.numbers import count, in_seconds, seconds, seconds_or_none
from jsproto.core.pubsub.request import Flush, request
from jsproto.jetstream.api.requests.publish import publish
from jsproto.jetstream.delivery.message import confirmed
from jsproto.jetstream.stored.direct_batch import BatchOptions
from jsproto.jetstream.stored.snapshot import Origin
from jsproto_io import asyncio as on_asyncio
from jsproto_io import blocking
from jsproto_io._client.conversations import alarm
from jsproto_io._testing.nats_server import NatsServer

JS = JetStream()
STREAM = JS.stream("S")
CONSUMER = STREAM.consumer("C")
ORIGIN = Origin({"config": {"name": "S"}, "state": {}})
WRONG = ["5", True, nan, -1, b"5", [], timedelta(seconds=-1), 10**400]


def steps(procedure):
    """Ask a description for its first step, which checks what it was given."""
    machine = getattr(procedure, "steps", procedure)
    return next(machine() if callable(machine) else machine)


#: A call with one duration, by the name of the parameter.
PLACES = {
    **{
        f"Options.{name}": (name, lambda given, name=name: Options(**{name: given}))
        for name in (
            "connect_timeout",
            "reconnect_wait",
            "reconnect_wait_max",
            "reconnect_jitter",
            "reconnect_jitter_tls",
            "ping_interval",
            "drain_timeout",
            "close_timeout",
        )
    },
    "Options.reconnect_waits": ("reconnect_waits", lambda given: Options(reconnect_waits=(given,))),
    "request": ("timeout", lambda given: request("a", timeout=given)),
    "Flush": ("timeout", Flush),
    "alarm": ("timeout", alarm),
    "RequestMany.timeout": ("timeout", lambda given: RequestMany("a", timeout=given)),
    "RequestMany.stall": ("stall", lambda given: RequestMany("a", stall=given)),
    "JetStream": ("timeout", lambda given: JetStream(timeout=given)),
    "publish.timeout": ("timeout", lambda given: publish("a", timeout=given)),
    "publish.retry_wait": ("retry_wait", lambda given: publish("a", retry_wait=given)),
    "window.ack_timeout": ("ack_timeout", lambda given: JS.publish_window(ack_timeout=given)),
    "window.retry_wait": ("retry_wait", lambda given: JS.publish_window(retry_wait=given)),
    "window.stall_wait": ("stall_wait", lambda given: JS.publish_window(stall_wait=given)),
    "batch.idle": ("idle", lambda given: JS.batch(idle=given)),
    "batch.retry_wait": ("retry_wait", lambda given: JS.batch(retry_wait=given)),
    "ingest.quiet": ("quiet", lambda given: STREAM.ingest(quiet=given)),
    "fetch.expires": ("expires", lambda given: CONSUMER.fetch(1, expires=given)),
    "fetch.timeout": ("timeout", lambda given: CONSUMER.fetch(1, timeout=given)),
    "fetch.idle_heartbeat": (
        "idle_heartbeat",
        lambda given: CONSUMER.fetch(1, idle_heartbeat=given),
    ),
    "next.timeout": ("timeout", lambda given: CONSUMER.next(timeout=given)),
    "consume.expires": ("expires", lambda given: CONSUMER.consume(expires=given)),
    "consume.idle_heartbeat": (
        "idle_heartbeat",
        lambda given: CONSUMER.consume(idle_heartbeat=given),
    ),
    "ack_next.expires": ("expires", lambda given: CONSUMER.ack_next(expires=given)),
    "ordered.expires": ("expires", lambda given: JS.ordered_consumer("S", expires=given)),
    "read.expires": ("expires", lambda given: STREAM.read(expires=given)),
    "read_range.patience": ("patience", lambda given: STREAM.read_range(1, 2, patience=given)),
    "snapshot.patience": ("patience", lambda given: STREAM.snapshot(patience=given)),
    "restore.patience": ("patience", lambda given: JS.restore(ORIGIN, patience=given)),
    "RetryPolicy.within": ("within", lambda given: RetryPolicy(within=given)),
    "RetryPolicy.attempt": ("attempt", lambda given: RetryPolicy(attempt=given)),
    "RetryPolicy.wait": ("wait", lambda given: RetryPolicy(wait=given)),
    "RetryPolicy.duplicate_window": (
        "duplicate_window",
        lambda given: RetryPolicy(duplicate_window=given, within=0.1),
    ),
    "AckOptions.wait": ("wait", lambda given: AckOptions(wait=given)),
    "ConsumeOptions.retry_wait": ("retry_wait", lambda given: ConsumeOptions(retry_wait=given)),
    "ConsumeOptions.retry_wait_max": (
        "retry_wait_max",
        lambda given: ConsumeOptions(retry_wait_max=given),
    ),
    "BatchOptions.timeout": ("timeout", lambda given: BatchOptions(timeout=given)),
    "OrderedOptions.create_timeout": (
        "create_timeout",
        lambda given: OrderedOptions(create_timeout=given),
    ),
    "ConsumeOptions.inactive_threshold": (
        "inactive_threshold",
        lambda given: ConsumeOptions(inactive_threshold=given),
    ),
    "connect.linger": ("linger", lambda given: blocking.connect(linger=given)),
    "NatsServer.patience": ("patience", lambda given: NatsServer(sys.executable, patience=given)),
    "confirmed": (
        "timeout",
        lambda given: next(
            confirmed(JsMessage((1, "a", "$JS.ACK.S.C.1.1.1.0.0", None, b"")), timeout=given)
        ),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_timedelta_is_taken_like_a_number(place):
    _, call = PLACES[place]

    call(timedelta(seconds=2))
    call(2)
    call(2.0)


@pytest.mark.parametrize(
    ("place", "wrong"), [*itertools.product(PLACES, WRONG)], ids=lambda each: str(each)[:20]
)
def test_what_is_no_duration_is_refused_by_its_name(place, wrong):
    name, call = PLACES[place]

    with pytest.raises(InvalidConfig, match=rf"expected .*\b{name}\b"):
        call(wrong)


def durations(handle: type) -> set[str]:
    """The methods of a class of the facade that take a duration, each with the parameter."""
    word = re.compile(
        r"(?:^|_)(timeout|wait|expires|heartbeat|patience|interval|stall|idle|quiet)$"
    )
    return {
        f"{name}.{each.name}: {each.annotation}"
        for name, method in inspect.getmembers(handle, inspect.isfunction)
        if not name.startswith("_")
        for each in inspect.signature(method).parameters.values()
        if word.search(each.name) and each.annotation != "bool"  # whether to wait is no duration
    }


@pytest.mark.parametrize(
    "handle",
    [
        on_asyncio.AsyncJetStream,
        on_asyncio.AsyncStream,
        on_asyncio.AsyncConsumer,
        blocking.SyncJetStream,
        blocking.SyncStream,
        blocking.SyncConsumer,
        on_asyncio.Client,
        blocking.Client,
        on_asyncio.Feed,
        blocking.Feed,
        on_asyncio.AsyncMessage,
        blocking.SyncMessage,
    ],
)
def test_every_duration_of_a_method_may_be_a_timedelta(handle):
    given = durations(handle)

    assert {
        each for each in given if "timedelta" not in each and "RetryPolicy" not in each
    } == set()
    assert given


def test_each_duration_is_seconds_inside():
    assert 1.5 == in_seconds(timedelta(milliseconds=1500)) == in_seconds(1.5)
    assert in_seconds(None) is None
    assert seconds_or_none("x", None) is None
    assert 2.0 == Options(connect_timeout=timedelta(seconds=2)).connect_timeout
    assert (1.0, 2) == Options(reconnect_waits=[timedelta(seconds=1), 2]).reconnect_waits
    assert 3.0 == CONSUMER.consume(expires=timedelta(seconds=3)).options.expires
    assert 3.0 == JS.stream("S").js.timeout - 2


def test_a_duration_that_has_to_end_is_finite():
    assert float("inf") == seconds("x", float("inf"))
    with pytest.raises(InvalidConfig, match="a finite x > 0, a number"):
        seconds("x", float("inf"), finite=True)


@pytest.mark.parametrize("wrong", ["2", True, 1.0, -1, None])
def test_counts_are_whole_numbers(wrong):
    with pytest.raises(InvalidConfig, match="expected retries >= 0, a whole number"):
        publish("a", retries=wrong)
    assert 3 == count("retries", 3)
