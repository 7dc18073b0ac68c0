"""No stall in 1,000 random runs: a consume of any size against the model server, over a line that
is cut at random.

A run is a seed. It draws the server's version, the bound of the consume (1 to 50 messages, or bytes
from one message up), how bytes are cut into pieces, and a few dozen things that happen: publishes,
takes, acks and naks, lost links, restarts, a moved leader, time. Then it only takes and acks, and
everything that the server has stored must come within a bounded virtual time. What is asked for
meanwhile is bounded too: a stall that is mended by asking in a loop is no better.
"""

from __future__ import annotations

from random import Random

import pytest

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.jetstream.delivery.ack import NAK
from jsproto.jetstream.delivery.message import JsMessage, Settlement
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.testing import Cutter, Pair, SimServer
from jsproto.testing.simserver import PROFILES

RUNS = 1000
SLICES = 20
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
VERSIONS = sorted(PROFILES)
ACK_WAIT = 5.0
HEARTBEAT = 0.5
#: Stored messages have at most this size as the server counts them: subject, ack reply and payload.
LARGEST = 130
#: The longest chain of misfortunes: a message given to a link that was lost at that moment, its
#: ack_wait, a pause of 8 s before the next try, a silence of two heartbeats, and an expiry on top.
WITHIN = 25.0


class Run:
    """One consume, from the first message to the last ack."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = Random(seed)
        self.server = SimServer(version=draw.choice(VERSIONS), seed=seed)
        self.server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.*"]}, 0.0)
        config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": int(ACK_WAIT * 1e9)}
        if draw.random() < 0.3:
            config["max_ack_pending"] = draw.randint(1, 20)
        self.server.request(
            "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
        )
        self.connection = Connection(Options(servers="nats://sim"), entropy=draw.randbytes, now=0.0)
        longest = draw.choice([7, 60, 500, 0])
        self.pair = Pair(
            self.connection, self.server, cutter=Cutter(seed, longest=longest) if longest else None
        )
        self.pair.step()
        if draw.random() < 0.5:
            bound = {"max_messages": draw.randint(1, 50)}
        else:
            bound = {"max_bytes": draw.randint(LARGEST, 40 * LARGEST)}
        options = ConsumeOptions(expires=draw.choice([1.0, 4.0]), idle_heartbeat=HEARTBEAT, **bound)
        self.consume: Consume[JsMessage] = self.connection.open(
            Consume(NEXT, options), self.pair.now
        )
        self.pair.step()
        self.stored = 0
        self.acked: set[int] = set()
        self.naks = 0
        self.losses = 0

    @property
    def pulls(self) -> int:
        """How many requests were sent so far."""
        ledger = self.consume.ledger
        return len(ledger.open) + sum(ledger.counts.values())

    def publish(self) -> None:
        for _ in range(self.draw.randint(1, 12)):
            self.stored += 1
            self.server.publish("s.a", b"x" * self.draw.randint(0, 40), self.pair.now)
        self.pair.step()

    def take(self, most: int, *, naks: bool) -> None:
        for _ in range(most):
            item = self.connection.take(self.consume, self.pair.now)
            if not isinstance(item, JsMessage):
                break
            if naks and self.draw.random() < 0.1:
                self.naks += 1
                self.connection.settle(Settlement(item, NAK), self.pair.now)
                continue
            self.connection.settle(item, self.pair.now)
            self.acked.add(item.metadata.stream_sequence)
            if self.draw.random() < 0.5:
                self.pair.step()
        self.pair.step()

    def misfortune(self) -> None:
        pair = self.pair
        self.losses += 1
        kind = self.draw.randrange(5)
        if kind == 0:
            pair.drop()
        elif kind == 1:
            pair.cut()
            pair.advance(self.draw.choice([0.01, 0.4, 3.0]))
            pair.restore()
        elif kind == 2:
            self.server.kill_and_restart(pair.now)
        elif kind == 3:
            self.server.shutdown(pair.now)
            pair.advance(0.1)
            self.server.start(pair.now)
        elif pair.cid is not None:
            self.server.step_down("S", "C", pair.now)
        pair.step()

    def wander(self) -> None:
        for _ in range(self.draw.randint(10, 30)):
            kind = self.draw.random()
            if kind < 0.35:
                self.publish()
            elif kind < 0.75:
                self.take(self.draw.choice([1, 1, 2, 5, 60]), naks=True)
            elif kind < 0.85:
                self.misfortune()
            else:
                self.pair.advance(self.draw.choice([0.01, 0.3, 1.1, 6.0]))

    @property
    def left(self) -> tuple[object, object]:
        """What the server still has to deliver, and to see acknowledged: an ack can be lost with
        its link.
        """
        info = self.server.request("CONSUMER.INFO.S.C", None, self.pair.now)
        return info["num_pending"], info["num_ack_pending"]

    def settle_down(self) -> None:
        """Only take and ack, until all is done or it took too long."""
        end = self.pair.now + WITHIN
        while self.left != (0, 0) and self.pair.now < end:
            self.take(1000, naks=False)
            self.pair.advance(0.25)


@pytest.mark.parametrize("part", range(SLICES))
def test_no_random_run_stalls_loses_a_message_or_asks_in_a_loop(part):
    for seed in range(part * RUNS // SLICES, (part + 1) * RUNS // SLICES):
        run = Run(seed)
        run.wander()
        run.settle_down()

        missing = set(range(1, run.stored + 1)) - run.acked
        assert not missing, f"seed {seed}: {missing} of {run.stored} did not come within {WITHIN} s"
        assert not run.consume.ended, f"seed {seed}"
        # One request per message at most, where only one fits; one per expiry or silence while
        # nothing comes; a few per loss.
        allowed = run.stored + run.naks + 2 * run.pair.now + 5 * run.losses + 10
        assert run.pulls <= allowed, f"seed {seed}: {run.pulls} requests in {run.pair.now} s"
        assert run.left == (0, 0), f"seed {seed}"
