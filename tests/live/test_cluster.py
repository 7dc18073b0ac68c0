"""Three servers on loopback: a consume outlives the end of its consumer's leader, whether it steps
down or is killed.
"""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

import json
from datetime import timedelta
from time import monotonic

import pytest
from attrs import evolve

from jsproto.api import compose
from jsproto.core.connection.events import Disconnected, LameDuck, Notice
from jsproto.jetstream.api.errors import JetStreamError
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.range_read.options import RangeOptions
from tests.live.conftest import NOT_YET

pytestmark = pytest.mark.live

ACK_WAIT = timedelta(seconds=3)
#: A killed leader is missed after an election timeout of up to 9 s, on a busy machine later.
BOUND = 60.0


@pytest.fixture
def replicated(joined, stored):
    """A stream and a consumer on all three servers, and 20 messages in it."""

    def make():
        orders = stored(joined(), stream={"num_replicas": 3}, ack_wait=ACK_WAIT, num_replicas=3)
        orders.publish(20)
        return orders

    return make


def leader(orders):
    """The name of the server that leads the consumer, if there is one just now."""
    try:
        cluster = orders.consumer.info(timeout=1.0).cluster
    except NOT_YET:
        return ""
    return (cluster.leader if cluster else "") or ""


def test_the_leader_steps_down(cluster, replicated, books, until, calm):
    orders = replicated()
    nc = orders.nc
    kept = books(orders)
    with orders.consumer.consume(10, expires=5.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 20)
        kept.settle(messages)
        began = monotonic()
        for _ in range(2):
            before = until(lambda: leader(orders), nc, seconds=BOUND)
            subject = f"$JS.API.CONSUMER.LEADER.STEPDOWN.{orders.name}.C"
            assert json.loads(nc.request(subject).payload)["success"]
            kept.until(PullNotice.LEADERSHIP_CHANGED, seconds=BOUND, fresh=True)
            until(lambda old=before: leader(orders) not in {"", old}, nc, seconds=BOUND)
            orders.publish(5)
            kept.settle(messages, seconds=BOUND)
        calm(cluster.taps.values(), began)

    kept.check()


def test_the_server_of_the_leader_is_killed(cluster, replicated, joined, books, until, calm):
    orders = replicated()
    led = until(lambda: leader(orders), orders.nc, seconds=BOUND)
    others = [name for name in cluster.nodes if name != led]
    near, far = orders.through(joined(led, *others)), orders.through(joined(*others))
    kept, lost = books(far), books(near)
    quick = {"expires": 5.0, "idle_heartbeat": 0.5}
    with far.consumer.consume(10, **quick) as here, near.consumer.consume(10, **quick) as there:
        held = []

        def read():
            for feed in (here, there):
                for _ in range(feed.feed.readable):
                    message = kept.note(next(feed))
                    if len(held) < 5:
                        held.append(message)
                    else:
                        message.ack()
            return far.left()

        until(lambda: read() == (0, 5), far.nc, near.nc)
        began = monotonic()
        cluster.nodes[led].kill()
        lost.until(Disconnected, seconds=BOUND)  # whose server it was
        kept.until(PullNotice.HEARTBEAT_MISSED, seconds=BOUND)  # whose server it was not
        far.publish(10, seconds=BOUND)
        for message in held:
            message.ack()
        until(lambda: read() == (0, 0), far.nc, near.nc, seconds=BOUND)
        kept.until(PullNotice.RESUMED, seconds=BOUND)  # all may have come on the other line
        calm(cluster.taps.values(), began)

    kept.check()


def test_a_window_that_sends_again_is_done_soon_after_the_leader_was_killed(
    cluster, replicated, joined, until
):
    orders = replicated()

    def stored():
        try:
            return far.stream.info(timeout=1.0).state.messages
        except NOT_YET:
            return -1

    led = orders.stream.info().cluster.leader
    far = orders.through(joined(*[name for name in cluster.nodes if name != led]))
    with far.nc.jetstream().publish_window(
        resend=True, ack_timeout=600.0, max_pending=500, retries=400
    ) as window:
        for number in range(2000):
            if number == 1000:
                cluster.nodes[led].kill()
                killed = monotonic()
            window.put(compose(far.subject, b"%d" % number, msg_id=f"again-{number}"))
        window.drain()
        results = list(window.results())

    assert monotonic() - killed < 300.0  # election and all: the ack timeout is never waited for
    assert {each.outcome.name for each in results} == {"ACKED"}
    until(lambda: stored() == 2020, far.nc, seconds=BOUND)


def test_the_server_of_the_leader_is_a_lame_duck(cluster, replicated, joined, books, until, calm):
    orders = replicated()
    led = until(lambda: leader(orders), orders.nc, seconds=BOUND)
    others = [name for name in cluster.nodes if name != led]
    near = orders.through(joined(led, *others))
    kept = books(near)
    with near.consumer.consume(10, expires=5.0, idle_heartbeat=0.5) as messages:
        kept.take(messages, 20)
        kept.settle(messages)
        began = monotonic()
        cluster.nodes[led].lame_duck()
        try:
            kept.until(LameDuck, seconds=BOUND)
            near.publish(10, seconds=BOUND)
            kept.settle(messages, seconds=BOUND)
            until(lambda: leader(near) not in {"", led}, near.nc, seconds=BOUND)
        finally:
            cluster.nodes[led].kill()  # else it would stay a lame duck for half a minute
        near.publish(5, seconds=BOUND)
        kept.settle(messages, seconds=BOUND)
        calm(cluster.taps.values(), began)

    assert {each.kind for each in kept.heard if isinstance(each, Notice)} <= {
        PullNotice.LEADERSHIP_CHANGED,
        PullNotice.HEARTBEAT_MISSED,
        PullNotice.RESUMED,
        PullNotice.NO_RESPONDERS,
    }
    kept.check()


@pytest.mark.parametrize("retention", ["limits", "interest"])
def test_a_range_ends_where_the_leader_says(joined, stored, retention):
    """A replica that lags proves nothing, and the server chooses the replicas of consumers."""
    nc = joined()
    orders = stored(nc, stream={"num_replicas": 3, "retention": retention}, num_replicas=3)
    read = []
    for _ in range(5):
        orders.publish(20)
        plan = orders.stream.plan_range(lo=orders.stored - 19)
        with orders.stream.read_range(plan.lo, plan.hi, created=plan.facts.created) as runs:
            read += [sequence for rows in runs for sequence in rows.sequences]

    assert read == list(range(1, orders.stored + 1))


def test_a_range_of_an_interest_stream_is_read_by_a_consumer_with_the_replicas_of_the_stream(
    joined, stored
):
    orders = stored(joined(), stream={"num_replicas": 3, "retention": "interest"}, num_replicas=3)
    orders.publish(20)
    with orders.stream.read_range(1, 21) as runs:
        assert list(range(1, 21)) == [seq for rows in runs for seq in rows.sequences]

    if orders.nc.info.version != "2.9.10":  # which takes it
        naive = evolve(RangeOptions(lo=1, hi=21).shared, num_replicas=1)
        with pytest.raises(JetStreamError) as caught:
            orders.stream.create_consumer(naive)
        assert caught.value.err_code == 10134
