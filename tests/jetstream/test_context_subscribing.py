"""What the facade says of push subscriptions, pull subscriptions and ordered consumers:
descriptions, and what they ask first.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.core.conversation.conversation import Stage
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.config import settings
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy, DeliverPolicy
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.ordered.consumer import OrderedConsumer, SourceKind
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscribe_checks import NoSubject, PullAckPolicy, QueueWithHeartbeat
from jsproto.jetstream.push.subscription import PushSubscription
from tests.jetstream.context_rig import CONSUMER_INFO, answer, asked, opened


@pytest.fixture
def js():
    return JetStream(timeout=3.0)


# ---------------------------------------------------------------------------------------------- settings by name


@pytest.mark.parametrize(
    ("named", "foreign"),
    [
        (
            settings.PushSettings,
            {"filter_subject", "deliver_group", "max_bytes", "max_waiting", "priority_groups"},
        ),
        (
            settings.OrderedSettings,
            {"name", "durable_name", "ack_policy", "deliver_subject", "max_bytes"},
        ),
    ],
)
def test_settings_of_one_kind_of_consumer_are_some_of_all(named, foreign):
    every = settings.ConsumerSettings.__annotations__
    given = named.__annotations__

    assert {name: every[name] for name in given} == given
    assert foreign & given.keys() == set()


# ---------------------------------------------------------------------------------------------- push


def test_a_push_subscription_carries_what_is_asked_and_how_it_is_read(js):
    sub = js.subscribe(
        "s.a",
        queue="q",
        owner=True,
        heartbeat_factor=2.0,
        watch_gaps=False,
        auto_ack=True,
        raw=True,
        max_messages=7,
        max_bytes=70,
        policy=Overflow.FAIL,
        ack_policy=AckPolicy.ALL,
    )

    assert isinstance(sub, PushSubscription)
    assert sub.asked == Subscribe(
        subject="s.a", queue="q", owner=True, settings=ConsumerConfig(ack_policy="all")
    )
    assert sub.options == PushOptions(
        heartbeat_factor=2.0,
        watch_gaps=False,
        auto_ack=True,
        raw=True,
        max_messages=7,
        max_bytes=70,
        policy=Overflow.FAIL,
    )
    assert sub.timeout == 3.0
    assert js.subscribe("s.a", timeout=1.0).timeout == 1.0


def test_a_subscription_that_says_nothing_of_the_consumer_compares_nothing(js):
    assert js.subscribe("s.a").asked.config == ConsumerConfig()
    assert js.subscribe("s.a", config=ConsumerConfig(name="x"), max_deliver=2).asked.settings == (
        ConsumerConfig(name="x", max_deliver=2)
    )


def test_a_push_consumer_is_subscribed_to_by_its_handle(js):
    sub = js.stream("S").consumer("C").subscribe(queue="q", timeout=2.0)

    assert sub.asked == Subscribe(stream="S", consumer="C", queue="q", settings=ConsumerConfig())
    assert sub.timeout == 2.0
    assert asked(opened(sub)) == ("$JS.API.CONSUMER.INFO.S.C", None)
    assert sub.stage is Stage.BEGINNING


def test_what_cannot_be_subscribed_to_is_refused_before_anything_is_sent(js):
    with pytest.raises(NoSubject):
        js.subscribe()
    with pytest.raises(QueueWithHeartbeat):
        js.subscribe("s.a", queue="q", idle_heartbeat=timedelta(seconds=1))
    with pytest.raises(PullAckPolicy):
        js.pull_subscribe("s.a", ack_policy="none")
    with pytest.raises(InvalidConfig, match="timeout"):
        js.subscribe("s.a", timeout=0)


# ---------------------------------------------------------------------------------------------- the pull form


def test_a_pull_subscription_gives_a_handle_that_knows_its_consumer(js):
    found = opened(js.pull_subscribe("s.a", stream="S", durable_name="C", timeout=2.0))

    assert asked(found) == ("$JS.API.CONSUMER.INFO.S.C", None)
    assert found.deadline == 2.0
    handle = answer(found, CONSUMER_INFO)
    assert (handle.stream.name, handle.name, handle.cached.name) == ("S", "C", "C")
    assert handle.stream.js is js


# ---------------------------------------------------------------------------------------------- ordered


def test_an_ordered_consumer_carries_what_is_read_and_how(js):
    feed = js.ordered_consumer(
        "S",
        form=SourceKind.PUSH,
        max_messages=9,
        expires=4.0,
        until_caught_up=True,
        name_prefix="watch",
        timeout=1.0,
        deliver_policy=DeliverPolicy.NEW,
    )
    options = feed.options

    assert isinstance(feed, OrderedConsumer)
    assert (feed.stream, options.form, options.until_caught_up, options.name_prefix) == (
        "S",
        SourceKind.PUSH,
        True,
        "watch",
    )
    assert (options.pulls.max_messages, options.pulls.expires, options.pulls.heartbeat) == (
        9,
        4.0,
        2.0,
    )
    assert (options.config, options.create_timeout) == (ConsumerConfig(deliver_policy="new"), 1.0)


def test_a_heartbeat_of_five_seconds_is_usual_and_another_may_be_said(js):
    assert js.ordered_consumer("S").options.pulls.heartbeat == 5.0
    assert js.ordered_consumer("S", idle_heartbeat=1.0).options.pulls.heartbeat == 1.0
    assert js.ordered_consumer("S", max_bytes=1000).options.pulls.max_bytes == 1000


def test_a_stream_is_read_on_and_on_or_to_its_present_end(js):
    stream = js.stream("S")
    config = ConsumerConfig(filter_subject="s.a")
    endless, finite = stream.ordered(config=config), stream.read(headers_only=True)

    assert (endless.options.until_caught_up, finite.options.until_caught_up) == (False, True)
    assert endless.options.config == config
    assert finite.options.config == ConsumerConfig(headers_only=True)
    assert endless.options.create_timeout == finite.options.create_timeout == 3.0


def test_what_no_ordered_consumer_can_have_is_refused_before_anything_is_sent(js):
    with pytest.raises(InvalidConfig, match="durable_name"):
        js.stream("S").ordered(config=ConsumerConfig(durable_name="x"))
    with pytest.raises(InvalidSubject):
        js.ordered_consumer("no.stream")
