"""Where a consumer stands in its stream, and what it then counts: the model server beside real
ones.

A start beyond the end of the stream, and a purge of some subjects, are where versions differ most:
until 2.10 a consumer does not wait for its start, 2.11 counts what comes before it as pending and
does not count down what is deleted from files, and on 2.9 a purge of one subject takes the messages
of all others from a consumer that wants them too. Compared is what is delivered, and how much the
deliveries say to be pending; floors are not, since a server settles what a purge took beside
whatever comes next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, product
from typing import TypeAlias

import pytest

from jsproto import FetchMode
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.testing import SimServer
from jsproto_io.blocking import Client, SyncConsumer, connect
from jsproto_io.testing import ModelServer

VERSIONS = ("2.9.10", "2.10.26", "2.11.11", "2.12.8", "2.14.0", "2.15.1")
STARTS = tuple(product(("memory", "file"), (0, 10, 18), ("", "x")))
#: What is purged, and what the consumer wants. On 2.9 a store in files miscounts what is left under
#: a wildcard.
PURGES = tuple(
    product(
        ("memory", "file"),
        (
            {},
            {"seq": 5},
            {"keep": 3},
            {"filter": "y"},
            {"filter": "x"},
            {"filter": "y", "seq": 5},
            {"filter": "*", "seq": 5},
        ),
        ("", "x", "y"),
    )
)
#: What is deleted while a consumer has one message of four.
DELETIONS = tuple(product(("memory", "file"), ((1,), (2,), (1, 3), (4, 2)), ("", "x")))
TRIES = 5
Case: TypeAlias = tuple[object, ...]
Play: TypeAlias = Callable[..., object]

_NAMES = count(1)


@contextmanager
def _modelled(version: str) -> Iterator[Client]:
    with ModelServer(SimServer(version=version)) as model, connect(model.url) as client:
        yield client


def _fill(client: Client, name: str, messages: int) -> None:
    for number in range(messages):
        client.jetstream().publish(f"{name}.{'yx'[number % 2]}", b"%d" % number)


def _made(
    client: Client, storage: str, wanted: str, filled: int, **config: object
) -> tuple[str, SyncConsumer]:
    name = f"PLACE{next(_NAMES)}"
    stream = client.jetstream().create_stream(name=name, subjects=[f"{name}.*"], storage=storage)
    _fill(client, name, filled)
    if wanted:
        config["filter_subject"] = f"{name}.{wanted}"
    return name, stream.create_consumer(durable_name="C", ack_policy="explicit", **config)


def _taken(consumer: SyncConsumer, most: int) -> list[tuple[int, int]]:
    """Sequence in the stream of what is there, and how much is said to be behind it."""

    def place(message: JsMessage) -> tuple[int, int]:
        return message.metadata.stream_sequence, message.metadata.num_pending

    with consumer.fetch(most, mode=FetchMode.NO_WAIT) as messages:
        return [place(each) for each in messages]


def _started(client: Client, storage: str, filled: int, wanted: str) -> object:
    start = {"deliver_policy": "by_start_sequence", "opt_start_seq": 15}
    name, consumer = _made(client, storage, wanted, filled, **start)
    begun = consumer.info()
    _fill(client, name, 20)
    said = consumer.info()
    return begun.delivered.stream_seq, begun.num_pending, said.num_pending, _taken(consumer, 3)


def _purged(client: Client, storage: str, purge: dict[str, object], wanted: str) -> object:
    name, consumer = _made(client, storage, wanted, 10)
    before = _taken(consumer, 2)
    body = dict(purge)
    if "filter" in body:
        body["filter"] = f"{name}.{body['filter']}"
    client.request(f"$JS.API.STREAM.PURGE.{name}", json.dumps(body).encode())
    left = consumer.info().num_pending
    behind = _taken(consumer, 2)
    _fill(client, name, 4)
    return before, left, behind, _taken(consumer, 20), consumer.info().delivered.stream_seq


def _deleted(client: Client, storage: str, sequences: tuple[int, ...], wanted: str) -> object:
    name, consumer = _made(client, storage, wanted, 0)
    for number in range(4):
        client.jetstream().publish(f"{name}.x", b"%d" % number)
    before = _taken(consumer, 1)
    pending = []
    for each in sequences:
        client.request(f"$JS.API.STREAM.MSG.DELETE.{name}", json.dumps({"seq": each}).encode())
        pending.append(consumer.info().num_pending)
    return before, pending, _taken(consumer, 5)


def _beside(real: Client, modelled: Client, play: Play, case: Case) -> None:
    """Both do the same. A server counts what is stored beside whatever comes next, so one that
    differs is asked again.
    """
    expected = play(modelled, *case)
    seen = [play(real, *case)]
    while seen[-1] != expected and len(seen) < TRIES:
        seen.append(play(real, *case))
    assert seen[-1] == expected, (case, seen)


@pytest.mark.parametrize(
    ("play", "cases"), [(_started, STARTS), (_purged, PURGES), (_deleted, DELETIONS)]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_model_stands_where_the_server_stands(start_server, version, play, cases):
    server = start_server(version)
    with connect(f"nats://127.0.0.1:{server.port}") as real, _modelled(version) as modelled:
        for case in cases:
            _beside(real, modelled, play, case)
