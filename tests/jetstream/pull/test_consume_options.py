"""Options of a consume for a consumer that is known."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.fetch_options import FetchOptions


def test_a_consumer_without_limits_changes_nothing_but_what_is_known_of_acks():
    options = ConsumeOptions()
    known = options.within(ConsumerConfig(ack_policy="explicit", ack_wait=timedelta(seconds=30)))

    assert known == ConsumeOptions(acking=AckOptions(policy="explicit", wait=30.0), pinned=False)


@pytest.mark.parametrize(
    ("given", "config", "messages"),
    [
        ({}, {"max_ack_pending": 10}, 10),
        ({}, {"max_ack_pending": 1000}, 500),
        ({}, {"max_ack_pending": -1}, None),
        ({"max_messages": 2000}, {"max_ack_pending": 1000}, 1000),
        ({"max_messages": 2000}, {"max_ack_pending": 1000, "max_batch": 100}, 100),
        ({"max_messages": 5}, {"max_ack_pending": 1000, "max_batch": 100}, 5),
    ],
)
def test_never_more_messages_are_asked_for_than_the_consumer_could_deliver(given, config, messages):
    options = ConsumeOptions(**given).within(ConsumerConfig(**config))

    assert options.max_messages == messages


def test_a_threshold_never_lies_above_the_bound():
    options = ConsumeOptions(max_messages=100, threshold_messages=80).within(
        ConsumerConfig(max_ack_pending=10)
    )

    assert (options.max_messages, options.threshold_messages) == (10, 10)


def test_bytes_are_bounded_by_what_one_request_may_have():
    options = ConsumeOptions(max_bytes=10_000, threshold_bytes=9_000)

    assert options.within(ConsumerConfig(max_bytes=4_000, max_ack_pending=5)) == ConsumeOptions(
        max_bytes=4_000, threshold_bytes=4_000, pinned=False
    )
    assert options.within(ConsumerConfig(max_bytes=40_000)) == evolve(options, pinned=False)
    assert options.within(ConsumerConfig(max_bytes=-1)) == evolve(options, pinned=False)


def test_the_bytes_of_a_consume_by_messages_are_its_own_affair():
    options = ConsumeOptions(max_messages=10, within_bytes=1_000, threshold_bytes=900)

    assert options.within(ConsumerConfig(max_bytes=500)) == evolve(options, pinned=False)


def test_the_expiry_is_cut_to_what_is_allowed_and_the_heartbeat_with_it():
    options = ConsumeOptions(expires=30.0, idle_heartbeat=10.0)

    cut = options.within(ConsumerConfig(max_expires=timedelta(seconds=5)))
    assert (cut.expires, cut.heartbeat, cut.template.expires) == (5.0, 2.5, 5.0)
    assert options.within(ConsumerConfig(max_expires=timedelta(seconds=60))).expires == 30.0
    # A consume does not ask for less than a second; the server's own answer will say what it
    # allows.
    assert options.within(ConsumerConfig(max_expires=timedelta(seconds=0.5))).expires == 30.0


def test_a_fetch_asks_for_what_it_was_told_and_knows_of_acks():
    options = FetchOptions(max_messages=50).within(
        ConsumerConfig(ack_policy="none", max_ack_pending=5, max_batch=10)
    )

    assert options.max_messages == 50
    assert options.acking.policy == "none"


@pytest.mark.parametrize("value", [0, -1, 2**63])
def test_stopping_after_no_message_at_all_is_refused(value):
    with pytest.raises(InvalidConfig, match="stop_after"):
        ConsumeOptions(stop_after=value)
