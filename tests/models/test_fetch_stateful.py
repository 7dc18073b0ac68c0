"""Fetches on a real connection against the model server, in every mode, over a bad road: each ends
once, in time, and nothing is lost.

Links are lost, servers restart, leaders move, statuses come late, what a consumer says changes
places, and the client's clock leaps. The truth is the server's: what it has stored must be
acknowledged in the end.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from jsproto.core.conversation.conversation import StopMode
from jsproto.errors import JsprotoError
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.fetch import Fetch, FetchMode, FetchOptions
from jsproto.signals import ENDED, NEED_DATA
from jsproto.testing.simserver import PROFILES
from tests.models.bad_road import NEXT, BadRoad

#: Of a link that was lost: what dialling may take, with a server that is there.
MARGIN = 1.0


class FetchModel(BadRoad):
    """A few fetches side by side on one connection."""

    @initialize(version=st.sampled_from(sorted(PROFILES)), seed=st.integers(0, 99))
    def begin(self, version, seed):
        self.set_out(version, seed)
        self.fetches: list[tuple[Fetch[JsMessage], float]] = []
        self.ends: dict[int, object] = {}

    # ------------------------------------------------------------------ the user

    @rule(
        bound=st.one_of(
            st.builds(lambda most: {"max_messages": most}, st.integers(1, 6)),
            st.builds(lambda most: {"max_bytes": most}, st.integers(100, 600)),
            st.builds(lambda most: {"max_messages": 3, "max_bytes": most}, st.integers(100, 600)),
        ),
        mode=st.sampled_from(FetchMode),
        timeout=st.sampled_from([0.2, 1.0, 4.0, 12.0]),
    )
    def fetch(self, bound, mode, timeout):
        if len(self.fetches) < 3:
            options = FetchOptions(mode=mode, timeout=timeout, **bound)
            made = self.connection.open(Fetch(NEXT, options), self.now)
            self.fetches.append((made, self.now + self.frozen + timeout))
            self.pair.step()

    @rule(which=st.integers(0, 2), most=st.integers(1, 6))
    def take(self, which, most):
        for made, _ in self.fetches[which : which + 1]:
            self.read(made, most)
        self.pair.step()

    @rule(which=st.integers(0, 2), how=st.sampled_from(["close", "drain", "stop"]))
    def leave(self, which, how):
        for made, _ in self.fetches[which : which + 1]:
            if how == "close":
                self.connection.close(made, self.now)
            else:
                self.connection.tell(made, StopMode[how.upper()], self.now)
        self.pair.step()

    def read(self, made: Fetch[JsMessage], most: int) -> None:
        for _ in range(most):
            try:
                item = self.connection.take(made, self.now)
            except JsprotoError:
                assert not made.got
                return
            if item is NEED_DATA or item is ENDED:
                return
            self.ack(item)

    # ------------------------------------------------------------------ the road

    @rule(seconds=st.sampled_from([0.05, 0.6, 3.0, 7.0]))
    def wait(self, seconds):
        self.pair.advance(seconds)
        self.frozen = max(0.0, self.frozen - seconds)

    @rule(seconds=st.sampled_from([0.0, 0.3]))
    def lose_the_link(self, seconds):
        self.pair.cut()
        self.pair.advance(seconds)
        self.pair.restore()
        self.pair.step()

    @rule()
    def move_the_consumer(self):
        if self.pair.cid is not None:
            self.server.step_down("S", "C", self.pair.now)
            self.pair.step()

    @rule(most=st.sampled_from([0.0, 0.4, 2.5]), mixed=st.booleans())
    def the_road_is_bad(self, most, mixed):
        self.line.late, self.line.mixed = most, mixed

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def each_ends_once_and_in_time(self):
        for made, until in getattr(self, "fetches", ()):
            if made.ended:
                assert (
                    self.ends.setdefault(made.port.number, made.reason) is made.reason is not None
                )
                assert made.pull is None or made.pull.end is not None
                assert made.pulls(self.now) == ()
            else:
                assert made.deadline is not None
                assert self.now <= until + MARGIN

    @invariant()
    def none_gives_more_than_was_asked_for(self):
        for made, _ in getattr(self, "fetches", ()):
            options = made.options
            assert options.max_messages is None or made.got <= options.max_messages
            assert made.error is None or not made.got

    @invariant()
    def what_is_over_makes_room(self):
        if hasattr(self, "fetches"):
            over = [made for made, _ in self.fetches if made.finished and not made.readable]
            self.fetches = [(made, until) for made, until in self.fetches if made not in over]

    # ------------------------------------------------------------------ the end

    def teardown(self):
        if not hasattr(self, "fetches"):
            return
        self.line.calm()
        for made, _ in self.fetches:
            self.connection.close(made, self.now)
        self.pair.advance(self.frozen + 3.0)
        info: dict[str, object] = {}
        for _ in range(40):
            last = self.connection.open(
                Fetch(NEXT, FetchOptions(max_messages=50, timeout=1.0)), self.now
            )
            self.pair.advance(1.5)
            self.read(last, 100)
            self.pair.step()
            info = self.server.request("CONSUMER.INFO.S.C", None, self.pair.now)
            if not (info["num_pending"] or info["num_ack_pending"]):
                break
        assert (info["num_pending"], info["num_ack_pending"]) == (0, 0), "stalled"
        assert self.acked == set(range(1, self.stored + 1)), "lost"
        self.pair.advance(2.0)
        assert self.connection.conversations == 0


TestFetch = FetchModel.TestCase
TestFetch.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
