"""An ordered consumer on a real connection against the model server: the reader sees each stored
message once, in order.
"""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import (
    OrderedConsumer,
    OrderedOptions,
    OrderedState,
    SourceKind,
)
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing import Cutter, Pair, SimServer
from jsproto.testing.simserver import PROFILES

_DELIVERY = re.compile(rb"H?MSG [^\r\n]* \$JS\.ACK\.[^\r\n]* (\d+)\r\n")


def entropy():
    count = 0

    def give(size):
        nonlocal count
        count += 1
        return bytes((count * 7 + at * 13) % 256 for at in range(size))

    return give


class Lossy:
    """The model server behind a road that swallows the next delivery when it is told to."""

    def __init__(self, server: SimServer) -> None:
        self.server = server
        self.swallow = 0

    def __getattr__(self, name):
        return getattr(self.server, name)

    def data_to_send(self, cid):
        data = self.server.data_to_send(cid)
        while self.swallow and (found := _DELIVERY.search(data)):
            self.swallow -= 1
            data = data[: found.start()] + data[found.end() + int(found[1]) + 2 :]
        return data


STARTS = st.sampled_from(
    [
        ({}, 1),
        ({"deliver_policy": "new"}, 6),
        ({"deliver_policy": "last"}, 5),
        ({"deliver_policy": "by_start_sequence", "opt_start_seq": 4}, 4),
    ]
)
BOUNDS = st.one_of(
    st.builds(lambda most: {"max_messages": most}, st.integers(1, 12)),
    st.builds(lambda most: {"max_bytes": most}, st.integers(300, 2000)),
)


class OrderedModel(RuleBasedStateMachine):
    """The truth is what the stream holds from the first sequence on."""

    @initialize(
        start=STARTS,
        bounds=BOUNDS,
        version=st.sampled_from(sorted(PROFILES)),
        seed=st.integers(0, 99),
    )
    def begin(self, start, bounds, version, seed):
        config, self.first = start
        self.server = Lossy(SimServer(version=version, seed=seed))
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        self.stored = 0
        self.removed: set[int] = set()
        self.links = 1
        self.taken: list[int] = []
        self.pair = Pair(
            Connection(Options(servers="nats://sim"), entropy=entropy(), now=0.0),
            self.server,
            cutter=Cutter(seed, longest=300),
        )
        self.pair.step()
        for _ in range(5):
            self.store()
        options = OrderedOptions(
            config=ConsumerConfig(**config), pulls=ConsumeOptions(idle_heartbeat=5.0, **bounds)
        )
        self.ordered: OrderedConsumer[JsMessage] = self.connection.open(
            OrderedConsumer(ApiSubjects(), "S", Messages(), options), self.pair.now
        )
        self.pair.step()

    @property
    def connection(self) -> Connection:
        return self.pair.machine

    def store(self):
        self.stored += 1
        self.server.publish("s.a", b"x" * (self.stored % 50), self.pair.now)

    def consumers(self) -> list[str]:
        return list(self.server.request("CONSUMER.NAMES.S", None, self.pair.now)["consumers"] or [])

    # ------------------------------------------------------------------ what happens

    @rule(count=st.integers(1, 20))
    def publish(self, count):
        for _ in range(count):
            self.store()
        self.pair.step()

    @rule(count=st.integers(1, 15))
    def take(self, count):
        for _ in range(count):
            item = self.connection.take(self.ordered, self.pair.now)
            if not isinstance(item, JsMessage):
                break
            self.taken.append(item.metadata.stream_sequence)
        self.pair.step()

    @rule()
    def take_all(self):
        items = self.connection.take_all(self.ordered, self.pair.now)
        if isinstance(items, list):
            self.taken += [item.metadata.stream_sequence for item in items]
        self.pair.step()

    @rule(seconds=st.sampled_from([0.1, 0.6, 3.0, 7.0, 40.0]))
    def wait(self, seconds):
        self.pair.advance(seconds)

    @rule()
    def lose_the_link(self):
        self.links += 1
        self.pair.drop()
        self.pair.step()

    @rule(seconds=st.sampled_from([0.5, 3.0, 40.0]))
    def lose_the_link_for_a_while(self, seconds):
        self.links += 1
        self.pair.cut()
        self.pair.advance(seconds)
        self.pair.restore()
        self.pair.step()

    @rule()
    def kill_the_server(self):
        self.links += 1
        self.server.kill_and_restart(self.pair.now)
        self.pair.step()

    @rule(seconds=st.sampled_from([0.5, 12.0]))
    def kill_the_server_for_a_while(self, seconds):
        self.links += 1
        self.server.kill(self.pair.now)
        self.pair.advance(seconds)
        self.server.start(self.pair.now)
        self.pair.step()

    @rule()
    def delete_its_consumers(self):
        for name in self.consumers():
            self.server.request(f"CONSUMER.DELETE.S.{name}", None, self.pair.now)
        self.pair.step()

    @rule()
    def move_its_consumers(self):
        for name in self.consumers():
            self.server.step_down("S", name, self.pair.now)
        self.pair.step()

    @rule(count=st.integers(1, 3))
    def swallow_deliveries(self, count):
        self.server.swallow += count

    @precondition(lambda self: self.ordered.state is OrderedState.READING)
    @rule(count=st.integers(1, 30))
    def delete_whatever_it_creates(self, count):
        """Many deletions in a row: what is created must not be created at line rate."""
        for _ in range(count):
            self.delete_its_consumers()

    # ------------------------------------------------------------------ what holds

    @invariant()
    def it_never_ends(self):
        assert not self.ordered.ended

    @invariant()
    def what_was_taken_is_every_stored_message_from_the_first_on(self):
        assert self.taken == list(range(self.first, self.first + len(self.taken)))

    @invariant()
    def creations_are_bounded_in_time(self):
        assert self.ordered.incarnation.count <= 2 * self.links + 1 + self.pair.now / 0.25

    @invariant()
    def the_model_knows_all_that_is_asked(self):
        assert not self.server.not_modelled

    def teardown(self):
        if not hasattr(self, "ordered"):
            return
        self.server.swallow = 0
        for _ in range(60):
            while self.ordered.readable:
                self.take_all()
            self.pair.advance(5.0)
        assert self.taken == list(range(self.first, self.stored + 1))
        assert self.consumers() == [self.ordered.incarnation.name]
        self.connection.close(self.ordered, self.pair.now)
        self.pair.step()
        assert self.connection.take(self.ordered, self.pair.now) is ENDED
        assert self.consumers() == []
        assert self.ordered.finished
        assert self.connection.conversations == 0


TestOrdered = pytest.mark.slow(OrderedModel.TestCase)
TestOrdered.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_a_finite_read_through_kills_and_losses_gives_everything_once():
    server = Lossy(SimServer())
    server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
    pair = Pair(Connection(Options(servers="nats://sim"), entropy=entropy(), now=0.0), server)
    pair.step()
    for number in range(300):
        server.publish("s.a", str(number).encode(), 0.0)
    options = OrderedOptions(
        until_caught_up=True, pulls=ConsumeOptions(max_messages=20, idle_heartbeat=5.0)
    )
    ordered = pair.machine.open(OrderedConsumer(ApiSubjects(), "S", Messages(), options), 0.0)
    got = []
    for turn in range(1000):
        pair.step()
        item = pair.machine.take(ordered, pair.now)
        if item is ENDED:
            break
        if item is NEED_DATA:
            pair.advance(1.0)
        else:
            got.append(int(item.payload))
            if turn % 40 == 0:
                server.kill_and_restart(pair.now)
            if turn % 25 == 0:
                server.swallow += 1

    assert got == list(range(300))
    pair.step()
    assert server.request("CONSUMER.NAMES.S", None, pair.now)["consumers"] in (None, [])


@pytest.mark.parametrize("history", [1, 3, -1])
@pytest.mark.parametrize("form", list(SourceKind))
@pytest.mark.parametrize("version", sorted(PROFILES))
def test_a_listing_beside_a_writer_that_never_pauses_ends_and_misses_no_subject_n001(
    version, form, history
):
    server = SimServer(version=version)
    server.request(
        "STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"], "max_msgs_per_subject": history}, 0.0
    )
    pair = Pair(Connection(Options(servers="nats://sim"), entropy=entropy(), now=0.0), server)
    pair.step()
    subjects = [f"s.{number}" for number in range(40)]
    for subject in subjects:
        server.publish(subject, b"first", 0.0)
    options = OrderedOptions(
        config=ConsumerConfig(deliver_policy="last_per_subject"),
        form=form,
        until_caught_up=True,
        pulls=ConsumeOptions(max_messages=6, idle_heartbeat=5.0),
    )
    ordered = pair.machine.open(OrderedConsumer(ApiSubjects(), "S", Messages(), options), 0.0)
    chance = random.Random(7)
    seen: dict[str, int] = {}
    for _ in range(2000):
        for subject in chance.sample(subjects, k=7):
            server.publish(subject, b"again", pair.now)
        pair.step()
        item = pair.machine.take(ordered, pair.now)
        if item is ENDED:
            break
        if item is not NEED_DATA:
            seen[item.subject] = item.metadata.stream_sequence
        pair.advance(0.01)
    else:
        pytest.fail("it does not end")

    assert sorted(seen) == sorted(subjects)
    assert not server.not_modelled
