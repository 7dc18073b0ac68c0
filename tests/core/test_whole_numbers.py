"""A count that a user gives is a whole number: a flag, a fraction, text and what is too small are
refused by its name.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from math import nan

import pytest

from jsproto import (
    ConsumeOptions,
    FetchOptions,
    InvalidConfig,
    JetStream,
    Options,
    OrderedOptions,
    PushOptions,
    RequestMany,
    Subscription,
)
from jsproto.jetstream import RangeOptions
from jsproto.jetstream.delivery.ack import Next
from jsproto.jetstream.publish.batch import BatchPublish
from jsproto.jetstream.publish.fast_ingest import FastIngest
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.range_read.plan import plan_of
from jsproto.jetstream.stored.direct_batch import BatchOptions
from jsproto_io._backup.folder import check_replicas
from jsproto_io._testing.nats_server import NatsServer

JS = JetStream()
STREAM = JS.stream("S")
CONSUMER = STREAM.consumer("C")
#: What is called, with what it needs beside the number.
CALLS = {
    "Options": (Options, {}),
    "RequestMany": (RequestMany, {"subject": "a"}),
    "Subscription": (Subscription, {"subject": "a"}),
    "ConsumeOptions": (ConsumeOptions, {}),
    "FetchOptions": (FetchOptions, {"max_messages": 1}),
    "PushOptions": (PushOptions, {}),
    "OrderedOptions": (OrderedOptions, {}),
    "RangeOptions": (RangeOptions, {"lo": 1, "hi": 2}),
    "BatchOptions": (BatchOptions, {}),
    "Next": (Next, {}),
    "PublishWindow": (PublishWindow, {}),
    "BatchPublish": (BatchPublish, {}),
    "FastIngest": (FastIngest, {}),
    "plan_of": (plan_of, {"facts": None}),
    "js.publish_window": (JS.publish_window, {}),
    "js.ordered_consumer": (JS.ordered_consumer, {"stream": "S"}),
    "js.system.connz": (JS.system.connz, {}),
    "js.system.varz": (JS.system.varz, {}),
    "stream.snapshot": (STREAM.snapshot, {}),
    "stream.read": (STREAM.read, {}),
    "stream.messages.batch": (STREAM.messages.batch, {}),
    "consumer.fetch": (CONSUMER.fetch, {"max_messages": 1}),
    "consumer.next": (CONSUMER.next, {}),
    "consumer.consume": (CONSUMER.consume, {}),
    "consumer.ack_next": (CONSUMER.ack_next, {}),
    "consumer.subscribe": (CONSUMER.subscribe, {}),
    "check_replicas": (check_replicas, {}),
    "NatsServer": (NatsServer, {"binary": sys.executable}),
}
WRONG = [True, 1.5, nan, -2, "3", [1], b"1"]


def counts():
    """Every parameter that takes a whole number."""
    for place, (call, _) in CALLS.items():
        for name, parameter in inspect.signature(call).parameters.items():
            if re.search(r"\bint\b", str(parameter.annotation)):
                yield place, name


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [(*each, wrong) for each, wrong in itertools.product(counts(), WRONG)],
    ids=lambda each: str(each)[:25],
)
def test_what_is_no_count_is_refused_by_its_name(place, name, wrong):
    call, needed = CALLS[place]

    with pytest.raises(InvalidConfig, match=rf"expected .*({name}|batch).*(got|seen)"):
        call(**{**needed, name: wrong})


@pytest.mark.parametrize("place", ["ConsumeOptions", "PushOptions"])
@pytest.mark.parametrize("wrong", [True, "3", nan, 0.5, [], float("inf")])
def test_a_factor_is_a_number_of_at_least_one(place, wrong):
    call, needed = CALLS[place]

    with pytest.raises(
        InvalidConfig, match=r"expected a heartbeat_factor of at least 1, a number, got"
    ):
        call(**needed, heartbeat_factor=wrong)
