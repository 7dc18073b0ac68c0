"""Several subjects read through one consumer while messages of one are removed, against the model
server of each version.
"""

from __future__ import annotations

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered import ephemeral
from jsproto.jetstream.ordered.consumer import OrderedConsumer, OrderedOptions
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.range_read.options import RangeOptions, ReadMode
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing import Pair, SimServer
from jsproto.testing.simserver import PROFILES
from tests.models.test_ordered_stateful import entropy

BOTH = ["s.host", "s.timer"]
ROLLUP = b"NATS/1.0\r\nNats-Rollup: sub\r\n\r\n"
AFFECTED = sorted(each for each in PROFILES if each in {"2.10", "2.11", "2.12", "2.14"})
SEVERAL = sorted(set(PROFILES) - {"2.9"})


def ordered():
    options = OrderedOptions(
        config=ConsumerConfig(filter_subjects=BOTH),
        pulls=ConsumeOptions(max_messages=1, idle_heartbeat=5.0),
        until_caught_up=True,
    )
    return OrderedConsumer(ApiSubjects(), "S", Messages(), options)


def ranged():
    options = RangeOptions(lo=1, hi=8, subjects=BOTH, way=ReadMode.CONSUMER, max_messages=1)
    return RangeReader(ApiSubjects(), "S", options)


def read(version: str, reader, remove: str) -> list[bytes]:
    """What the reader is given of the host's messages, when the timer's are removed behind the
    first.
    """
    server = SimServer(version=version)
    server.request(
        "STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"], "allow_rollup_hdrs": True}, 0.0
    )
    for subject in (*["s.host"] * 5, "s.timer", "s.else"):
        server.publish(subject, subject.encode(), 0.0)
    pair = Pair(Connection(Options(servers="nats://sim"), entropy=entropy(), now=0.0), server)
    pair.step()
    pair.machine.open(reader, pair.now)
    got: list[bytes] = []
    for _ in range(200):
        pair.step()
        item = pair.machine.take(reader, pair.now)
        if item is ENDED:
            break
        if item is NEED_DATA:
            pair.advance(1.0)
            continue
        if not got and remove == "rollup":
            server.publish("s.timer", b"s.timer", pair.now, block=ROLLUP)
        elif not got and remove == "purge":
            server.request("STREAM.PURGE.S", {"filter": "s.timer"}, pair.now)
        got += item.payloads if hasattr(item, "payloads") else [item.payload]
    else:
        pytest.fail("it does not end")
    assert b"s.else" not in got
    assert not server.not_modelled
    return [each for each in got if each == b"s.host"]


@pytest.mark.parametrize("remove", ["rollup", "purge"])
@pytest.mark.parametrize("make", [ordered, ranged])
@pytest.mark.parametrize("version", SEVERAL)
def test_nothing_is_passed_over_n088(version, make, remove):
    assert len(read(version, make(), remove)) == 5


@pytest.mark.parametrize("make", [ordered, ranged])
@pytest.mark.parametrize("version", SEVERAL)
def test_the_model_server_passes_over_messages_as_the_real_one_does_n088(
    version, make, monkeypatch
):
    monkeypatch.setattr(ephemeral, "passes_over", lambda info: False)

    assert (len(read(version, make(), "rollup")) < 5) == (version in AFFECTED)


def test_a_server_that_does_not_know_several_filters_gives_no_more_than_is_wanted():
    assert len(read("2.9", ordered(), "none")) == 5
