"""Several subjects read through one consumer while messages of one of them are removed: nothing is
passed over.
"""

from __future__ import annotations

import itertools

import pytest

from jsproto import SourceKind
from jsproto.jetstream import EndReason, ReadMode
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

NAMES = itertools.count(1)
#: The first two move a consumer with several filters over messages that it has not delivered.
VERSIONS = ("2.10.26", "2.14.3", "2.15.1")


@pytest.fixture(scope="module", params=VERSIONS)
def server(request, server_binary_of):
    with NatsServer(server_binary_of(request.param)) as started:
        yield started


@pytest.fixture
def nc(server):
    with connect(server.url) as client:
        yield client


def filled(nc):
    """Five messages of a host, one of a timer, and one of somebody else."""
    name = f"F{next(NAMES)}"
    js = nc.jetstream()
    stream = js.create_stream(name=name, subjects=[f"{name}.>"], allow_rollup_hdrs=True)
    for subject, payload in (
        *(("host", b"h%d" % number) for number in range(5)),
        ("timer", b"t"),
        ("else", b"e"),
    ):
        js.publish(f"{name}.{subject}", payload)
    return stream


def roll_up(js, stream):
    js.publish(f"{stream.name}.timer", b"rolled", headers={"Nats-Rollup": "sub"})


def roll_up_among_others(js, stream):
    roll_up(js, stream)
    for number in range(20):
        js.publish(f"{stream.name}.timer", b"later%d" % number)


def purge(js, stream):
    stream.purge(filter_subject=f"{stream.name}.timer")


def purge_but_one(js, stream):
    stream.purge(filter_subject=f"{stream.name}.timer", keep=1)


REMOVALS = pytest.mark.parametrize("remove", [roll_up, roll_up_among_others, purge, purge_but_one])


def both(stream) -> list[str]:
    return [f"{stream.name}.host", f"{stream.name}.timer"]


@REMOVALS
def test_a_range_of_several_subjects_is_complete_n088(nc, remove, within):
    stream, got = filled(nc), []
    js = nc.jetstream()
    with within(30.0):
        feed = stream.read_range(1, 9, subjects=both(stream), way=ReadMode.CONSUMER, max_messages=1)
        with feed as runs:
            for rows in runs:
                got += rows.payloads
                if len(got) == 1:
                    remove(js, stream)

    assert [each for each in got if each.startswith(b"h")] == [
        b"h%d" % number for number in range(5)
    ]
    assert b"e" not in got
    assert feed.feed.reason is EndReason.FILLED


@REMOVALS
@pytest.mark.parametrize("policy", ["all", "last_per_subject", "by_start_sequence"])
@pytest.mark.parametrize("form", list(SourceKind))
def test_an_ordered_read_of_several_subjects_misses_nothing_n088(nc, form, policy, remove, within):
    stream, js, got = filled(nc), nc.jetstream(), []
    start = {"opt_start_seq": 2} if policy == "by_start_sequence" else {}
    bound = 1 if form is SourceKind.PULL else None
    with within(30.0):
        feed = stream.read(
            filter_subjects=both(stream),
            deliver_policy=policy,
            form=form,
            max_messages=bound,
            idle_heartbeat=0.5,
            **start,
        )
        with feed as messages:
            for msg in messages:
                got.append(msg.payload)
                if len(got) == 1:
                    remove(js, stream)

    hosts = {"all": range(5), "last_per_subject": [4], "by_start_sequence": range(1, 5)}[policy]
    assert [each for each in got if each.startswith(b"h")] == [b"h%d" % number for number in hosts]
    assert b"e" not in got


def test_the_last_message_of_several_subjects_is_where_a_reader_begins(nc, within):
    stream, js = filled(nc), nc.jetstream()
    with within(30.0):
        feed = stream.ordered(filter_subjects=both(stream), deliver_policy="last")
        with feed as messages:
            got = [next(messages).payload]
            roll_up(js, stream)
            js.publish(f"{stream.name}.else", b"e2")
            js.publish(f"{stream.name}.host", b"h5")
            got += [next(messages).payload, next(messages).payload]

    assert got == [b"t", b"rolled", b"h5"]


def test_a_server_before_2_15_passes_over_a_message_of_another_filter_n088(nc, server, within):
    """The fault of the server itself, with which nobody but its own consumer can help."""
    stream, js = filled(nc), nc.jetstream()
    with within(30.0):
        consumer = stream.create_consumer(
            durable_name="C", filter_subjects=both(stream), max_ack_pending=1, ack_policy="explicit"
        )
        first = consumer.next()
        js.publish(f"{stream.name}.timer", b"P", headers={"Nats-Rollup": "sub"})
        first.ack()
        second = consumer.next()

    passed_over = not server.version.startswith("2.15")
    assert (first.payload, second.payload) == (b"h0", b"P" if passed_over else b"h1")
