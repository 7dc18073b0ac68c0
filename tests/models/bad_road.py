"""One connection to the model server over a bad road, for machines that pull from one consumer:
what happens to all of them alike.

The server restarts, the client's clock leaps, messages are published from the side; how late
statuses come and whether frames change places is the machine's own to say, by its ``line``. The
truth is the server's: what it has stored must be acknowledged in the end.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.testing import Cutter, Pair, SimServer
from tests.models.unruly import Leaping, Unruly

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
ACK_WAIT = 5.0


class BadRoad(RuleBasedStateMachine):
    """A stream S, its consumer C, and a client of ours.

    Attributes:
        stored: how many messages were published.
        acked: sequences that were acknowledged.
        frozen: seconds for which the client's clock still stands still, behind a leap back.
    """

    def set_out(self, version: str, seed: int) -> None:
        """Make server, consumer and connection; a machine does it first."""
        self.server = SimServer(version=version, seed=seed)
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": int(ACK_WAIT * 1e9)}
        self.server.request(
            "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
        )
        self.connection = Connection(
            Options(servers="nats://sim"), entropy=Random(seed).randbytes, now=0.0
        )
        self.client, self.line = Leaping(self.connection), Unruly(self.server, seed)
        self.pair = Pair(self.client, self.line, cutter=Cutter(seed, longest=300))
        self.pair.step()
        self.frozen = 0.0
        self.stored = 0
        self.acked: set[int] = set()

    @property
    def now(self) -> float:
        """What the client's clock says."""
        return self.pair.now + self.client.leapt

    def ack(self, item: JsMessage) -> None:
        self.acked.add(item.metadata.stream_sequence)
        self.connection.settle(item, self.now)

    @rule(count=st.integers(1, 20), size=st.integers(0, 60))
    def publish(self, count, size):
        for _ in range(count):
            self.stored += 1
            self.server.publish("s.a", b"x" * size, self.pair.now)
        self.pair.step()

    @rule()
    def restart_the_server(self):
        self.server.kill_and_restart(self.pair.now)
        self.pair.step()

    @rule(seconds=st.sampled_from([-3.0, -0.4, 0.4, 6.0, 3600.0]))
    def the_clock_leaps(self, seconds):
        # Behind a leap back the clock counts as standing still until it is where it was.
        self.frozen = max(0.0, self.frozen - seconds)
        self.client.leap(seconds)
        self.pair.advance(0.0)
