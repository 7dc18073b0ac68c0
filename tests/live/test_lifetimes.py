"""What servers do by their own clock: messages replayed at the pace they came, and consumers
without a name of their own that go when nobody uses them.

The README says: "An Ephemeral Consumer exists as long as any subscription is active on its delivery
subject. It is automatically be removed, after a short grace period to handle restarts, when there
are no subscribers." The grace is ``inactive_threshold``; since then pulled ones are possible, for
which pulls are the use. A server looks at this with a timer that may be late: so nothing is said of
when it goes at the latest, but that it does.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from time import monotonic

import pytest

from jsproto.core.connection.events import Notice, NoticeKind
from jsproto.errors import PermissionViolation
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.pull.fetch_options import FetchMode
from jsproto.jetstream.push.base import PushNotice
from jsproto_io.blocking import connect
from tests.live.conftest import QUICK, turn

pytestmark = [pytest.mark.live, pytest.mark.slow]

GRACE = timedelta(seconds=1)
#: Seconds between the messages as they were published.
GAPS = (0.5, 1.0)


@pytest.fixture
def stream(nc):
    """A stream, gone with the test."""
    made = nc.jetstream(timeout=2.0).create_stream(name="LIFE", subjects=["life"], storage="memory")
    yield made
    made.delete()


@pytest.fixture
def lives(stream):
    """``lives(name)``: whether the server lists that consumer."""
    return lambda name: name in stream.consumer_names()


# ------------------------------------------------------------------------------------------------ replay


@pytest.fixture
def recorded(nc, stream):
    """The distances in seconds between three messages, as the server stored them."""
    nc.jetstream().publish("life", b"x")
    for gap in GAPS:
        turn(nc, gap)
        nc.jetstream().publish("life", b"x")
    times = [stream.messages.by_seq(seq).time for seq in (1, 2, 3)]
    return [(after.ns - before.ns) / 1e9 for before, after in pairwise(times)]


def distances(feed) -> list[float]:
    """Seconds between three messages as they come."""
    came = []
    for _ in range(3):
        assert next(feed) is not None
        came.append(monotonic())
    return [after - before for before, after in pairwise(came)]


def judge(seen: list[float], recorded: list[float], policy: str) -> None:
    if policy == "original":
        assert all(
            each > 0.75 * told for each, told in zip(seen, recorded, strict=True)
        )  # we may read late
    else:
        assert sum(seen) < sum(recorded) / 2


@pytest.mark.parametrize("policy", ["original", "instant"])
def test_pulled_messages_come_in_the_distances_that_they_were_stored_in_if_that_is_wished(
    stream, recorded, policy, within
) -> None:
    consumer = stream.create_consumer(durable_name="C", replay_policy=policy)
    with within(10.0), consumer.consume() as feed:
        judge(distances(feed), recorded, policy)


@pytest.mark.parametrize("policy", ["original", "instant"])
def test_pushed_messages_come_in_the_distances_that_they_were_stored_in_if_that_is_wished(
    nc, stream, recorded, policy, within
) -> None:
    config = ConsumerConfig(replay_policy=policy)
    with within(10.0), nc.jetstream().subscribe("life", stream="LIFE", config=config) as feed:
        judge(distances(feed), recorded, policy)


@pytest.fixture
def apart(nc, stream):
    """Two messages that lie 4 s apart: a server that replays them is silent for so long."""
    nc.jetstream().publish("life", b"1")
    turn(nc, 4.0)
    nc.jetstream().publish("life", b"2")


def replayed(nc):
    """A push subscription that is told of a silence after 0.3 s."""
    config = ConsumerConfig(replay_policy="original", idle_heartbeat=timedelta(seconds=0.1))
    return nc.jetstream().subscribe("life", stream="LIFE", config=config)


@pytest.mark.usefixtures("apart")
def test_a_push_subscription_is_told_that_its_consumer_was_deleted_in_the_silence_of_a_replay(
    nc, stream, within
):
    heard = nc.events()
    with within(10.0), replayed(nc) as feed:
        assert next(feed).payload == b"1"
        stream.consumer(feed.feed.info.name).delete()
        told = next(
            each for each in heard if isinstance(each, Notice) and each.kind is not PushNotice.BOUND
        )

    assert (told.kind, told.conversation.readable) == (PushNotice.HEARTBEAT_MISSED, 0)
    assert isinstance(told.detail, HeartbeatsMissed)


def test_a_client_that_may_not_ask_for_its_consumer_hears_a_silent_replay_to_its_end(
    start_server, within
):
    server = start_server(
        config=(
            "authorization { users: [ { user: admin, password: p }, "
            "{ user: reader, password: p, "
            'permissions { publish { deny: "$JS.API.CONSUMER.INFO.>" } } } ] }'
        )
    )
    address = server.url.removeprefix("nats://")
    with connect(f"nats://admin:p@{address}") as admin:
        admin.jetstream().create_stream(name="LIFE", subjects=["life"], storage="memory")
        admin.jetstream().publish("life", b"1")
        turn(admin, 2.0)
        admin.jetstream().publish("life", b"2")
    with connect(f"nats://reader:p@{address}") as reader:
        heard = reader.events()
        with within(10.0), replayed(reader) as feed:
            assert [next(feed).payload, next(feed).payload] == [b"1", b"2"]
            assert feed.feed.liveness.silent is False
        reader.close()
        # The server may send a heartbeat before it reads the UNSUB of the closed feed.
        told = [
            each
            for each in heard
            if isinstance(each, Notice) and each.kind is not NoticeKind.UNKNOWN_SID
        ]

    assert [each.kind for each in told] == [PushNotice.BOUND, NoticeKind.SERVER_ERROR]
    assert isinstance(told[1].detail, PermissionViolation)


def test_a_server_before_2_11_counts_a_message_that_a_replay_holds_back_as_acknowledged(
    nc, stream, since, within
) -> None:
    """Whoever makes the consumer anew behind this floor passes over a message that never went out."""
    nc.jetstream().publish("life", b"x")
    turn(nc, 3.0)
    nc.jetstream().publish("life", b"x")
    consumer = stream.create_consumer(
        durable_name="C", ack_policy="explicit", replay_policy="original"
    )
    with within(10.0), consumer.fetch(2) as feed:
        first = next(feed)
        first.ack_confirmed()
        floor = consumer.info().ack_floor.stream_seq
        second = next(feed)

    assert (first.metadata.stream_sequence, second.metadata.stream_sequence) == (1, 2)
    assert floor == (1 if since(2, 11) else 2)


# ------------------------------------------------------------------------------------------------ ephemeral consumers


def test_a_pulled_one_stays_while_somebody_pulls_and_goes_when_nobody_does(
    nc, stream, lives, until
) -> None:
    """Its grace counts from the last pull that was asked for, not from the end of the reader: it
    may go as soon as he does.
    """
    consumer = stream.create_consumer(inactive_threshold=GRACE)
    begun = monotonic()
    with consumer.consume():
        until(lambda: monotonic() - begun > 3 * GRACE.total_seconds(), nc)
        assert lives(consumer.name)
    until(lambda: not lives(consumer.name), nc, seconds=15.0)


def test_single_pulls_keep_it_too(nc, stream, lives, until) -> None:
    consumer = stream.create_consumer(inactive_threshold=GRACE)
    begun = monotonic()
    while monotonic() - begun < 3 * GRACE.total_seconds():
        with consumer.fetch(1, mode=FetchMode.NO_WAIT) as nothing:
            assert list(nothing) == []
        turn(nc, GRACE.total_seconds() / 4)
    assert lives(consumer.name)

    until(lambda: not lives(consumer.name), nc, seconds=15.0)


def test_one_that_was_never_used_goes_and_a_durable_one_does_not(nc, stream, lives, until) -> None:
    durable = stream.create_consumer(durable_name="KEPT")
    unused = stream.create_consumer(inactive_threshold=GRACE)
    until(lambda: not lives(unused.name), nc, seconds=15.0)

    assert lives(durable.name)


@pytest.fixture
def listener(server):
    """``listener()``: somebody who may come and go."""
    return lambda: connect(server.url, **QUICK)


def test_a_pushed_one_stays_while_somebody_listens_outlives_a_restart_within_its_grace_and_then_goes(
    nc, stream, listener, lives, until
) -> None:
    with listener() as other, other.subscribe("life.monitor") as heard:
        other.flush()
        consumer = stream.create_consumer(
            deliver_subject="life.monitor", inactive_threshold=3 * GRACE
        )
        nc.jetstream().publish("life", b"one")
        assert heard.next(5.0).payload == b"one"
        begun = monotonic()
        until(lambda: monotonic() - begun > 3.5 * GRACE.total_seconds(), nc)
        assert lives(consumer.name)
    turn(nc, GRACE.total_seconds())
    with listener() as again, again.subscribe("life.monitor") as heard:
        again.flush()
        nc.jetstream().publish("life", b"two")
        assert heard.next(5.0).payload == b"two"  # and not the first again: it is the same consumer
        begun = monotonic()
        until(lambda: monotonic() - begun > 3.5 * GRACE.total_seconds(), nc)
        assert lives(consumer.name)
    left = monotonic()
    until(lambda: not lives(consumer.name), nc, seconds=20.0)

    assert monotonic() - left > GRACE.total_seconds()


def test_without_a_wish_the_grace_is_five_seconds(stream) -> None:
    for how in ({}, {"deliver_subject": "life.monitor"}):
        assert stream.create_consumer(**how).info().config.inactive_threshold == timedelta(
            seconds=5
        )
