"""A consume on a real connection against the model server: whatever happens, nothing stalls and
nothing is lost.

What happens: links are lost, servers restart and stop, leaders move, statuses come late, what a
consumer says comes in another order than it was said, and the client's clock leaps.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from jsproto.core.connection.events import Closed
from jsproto.core.conversation.conversation import StopMode
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing.simserver import PROFILES
from tests.models.bad_road import NEXT, BadRoad

BOUNDS = st.one_of(
    st.builds(lambda most: {"max_messages": most}, st.integers(1, 12)),
    st.builds(
        lambda most, low: {"max_messages": most, "threshold_messages": min(low, most)},
        st.integers(1, 12),
        st.integers(0, 12),
    ),
    st.builds(lambda most: {"max_bytes": most}, st.integers(150, 2000)),
    st.builds(
        lambda most, size: {"max_messages": most, "within_bytes": size},
        st.integers(1, 12),
        st.integers(150, 2000),
    ),
)


class ConsumeModel(BadRoad):
    """The truth is the server's: what it has stored must be acknowledged in the end, each message
    at least once.
    """

    @initialize(
        bounds=BOUNDS,
        version=st.sampled_from(sorted(PROFILES)),
        expires=st.sampled_from([1.0, 5.0, 30.0]),
        seed=st.integers(0, 99),
    )
    def begin(self, bounds, version, expires, seed):
        self.set_out(version, seed)
        self.bounds = bounds
        self.consume = self.open(expires)
        self.held: list[JsMessage] = []

    def open(self, expires: float) -> Consume[JsMessage]:
        options = ConsumeOptions(expires=expires, **self.bounds)
        consume: Consume[JsMessage] = self.connection.open(Consume(NEXT, options), self.now)
        self.pair.step()
        return consume

    # ------------------------------------------------------------------ what happens

    @rule(count=st.integers(1, 15))
    def take_and_ack(self, count):
        for _ in range(count):
            item = self.connection.take(self.consume, self.now)
            if item is NEED_DATA or item is ENDED:
                break
            self.ack(item)
        self.pair.step()

    @rule()
    def take_all_and_ack(self):
        items = self.connection.take_all(self.consume, self.now)
        if isinstance(items, list):
            for item in items:
                self.ack(item)
        self.pair.step()

    @rule()
    def take_and_hold(self):
        item = self.connection.take(self.consume, self.now)
        if isinstance(item, JsMessage):
            self.held.append(item)
        self.pair.step()

    @rule(seconds=st.sampled_from([0.1, 0.6, 3.0, 7.0, 40.0]))
    def wait(self, seconds):
        self.pair.advance(seconds)

    @rule()
    def lose_the_link_once(self):
        self.pair.drop()
        self.pair.step()

    @rule(seconds=st.sampled_from([0.3, 4.0]))
    def lose_the_link_for_a_while(self, seconds):
        self.pair.cut()
        self.pair.advance(seconds)
        self.pair.restore()
        self.pair.step()

    @rule()
    def stop_the_server_gracefully(self):
        self.server.shutdown(self.pair.now)
        self.pair.advance(0.1)
        self.server.start(self.pair.now)
        self.pair.step()

    @precondition(lambda self: self.pair.cid is not None)
    @rule()
    def move_the_consumer(self):
        self.server.step_down("S", "C", self.pair.now)
        self.pair.step()

    @rule(most=st.sampled_from([0.0, 0.4, 2.5, 9.0]))
    def statuses_come_late(self, most):
        self.line.late = most

    @rule(mixed=st.booleans())
    def what_comes_changes_places(self, mixed):
        self.line.mixed = mixed

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def what_pulls_owe_is_what_was_asked(self):
        if hasattr(self, "consume") and "within_bytes" not in self.bounds:
            by_bytes = "max_bytes" in self.bounds
            owed = [
                pull.owed_bytes if by_bytes else pull.owed
                for pull in self.consume.ledger.open.values()
            ]
            assert sum(owed) == self.consume.asked

    @invariant()
    def no_state_without_a_future(self):
        if hasattr(self, "consume") and self.consume.port.up:
            future = bool(self.consume.ledger.open) or self.consume.deadline is not None
            assert future or self.consume.readable
            assert future or self.consume.engine.credit.request() is None

    @invariant()
    def it_goes_on(self):
        if hasattr(self, "consume"):
            assert not self.consume.ended

    # ------------------------------------------------------------------ the end

    def teardown(self):
        if not hasattr(self, "consume"):
            return
        self.line.calm()
        self.pair.advance(self.frozen)
        info: dict[str, object] = {}
        for _ in range(60):
            while self.consume.readable:
                self.take_all_and_ack()
            self.pair.advance(1.0)
            info = self.server.request("CONSUMER.INFO.S.C", None, self.pair.now)
            # An ack can be lost with its link: what it acknowledged comes again.
            if not (info["num_pending"] or info["num_ack_pending"] or self.consume.readable):
                break
        assert (info["num_pending"], info["num_ack_pending"]) == (0, 0), "stalled"
        assert self.acked == set(range(1, self.stored + 1)), "lost"
        before = len(self.pair.events)
        self.connection.tell(None, StopMode.DRAIN, self.now)
        self.pair.advance(1.0)
        assert self.connection.take(self.consume, self.now) is ENDED
        self.pair.advance(10.0)
        assert [event for event in self.pair.events[before:] if isinstance(event, Closed)] == [
            Closed(None)
        ]
        assert self.connection.next_deadline() is None


TestConsume = ConsumeModel.TestCase
TestConsume.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
