from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import AckPolicy
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.ack_options import UNKNOWN, AckOptions, ack_wait_of

KNOWN = ConsumerConfig(ack_policy="all", ack_wait=timedelta(seconds=30))


def test_without_any_knowledge_messages_are_open_and_nothing_is_looked_after():
    assert UNKNOWN.state is AckState.OPEN
    assert (UNKNOWN.every, UNKNOWN.keeps, UNKNOWN.strict) == (0.0, False, False)
    assert UNKNOWN.checked() is UNKNOWN


@pytest.mark.parametrize(
    ("policy", "state"),
    [
        (AckPolicy.NONE, AckState.MUTE),
        ("none", AckState.MUTE),
        ("all", AckState.CUMULATIVE),
        ("explicit", AckState.OPEN),
        ("flow_control", AckState.OPEN),
        (None, AckState.OPEN),
    ],
)
def test_the_ack_policy_says_how_a_message_begins(policy, state):
    assert AckOptions(policy=policy).state is state


@pytest.mark.parametrize("word", ["", "of_tomorrow"])
def test_a_policy_that_is_not_known_is_kept_if_the_server_says_it_and_refused_if_the_user_does(
    word,
):
    config = ConsumerConfig.from_wire({"ack_policy": word})

    assert UNKNOWN.within(config).state is AckState.OPEN
    with pytest.raises(InvalidConfig, match="none, all, explicit"):
        _ = AckOptions(policy=word).state


def test_a_consumer_that_is_known_adds_its_policy_and_ack_wait():
    acking = UNKNOWN.within(KNOWN)

    assert (acking.policy, acking.wait) == (AckPolicy.ALL, 30.0)
    assert acking.every == 10.0
    assert not acking.keeps


def test_what_was_said_is_kept_when_the_consumer_becomes_known():
    acking = AckOptions(policy="explicit", wait=9.0, in_progress=2.0).within(ConsumerConfig())

    assert (acking.policy, acking.wait, acking.every) == ("explicit", 9.0, 2.0)
    assert AckOptions(wait=9.0).within(KNOWN).wait == 9.0


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        (ConsumerConfig(), None),
        (ConsumerConfig(ack_wait=timedelta(0)), None),
        (ConsumerConfig(ack_wait=timedelta(seconds=5)), 5.0),
        (
            ConsumerConfig(
                ack_wait=timedelta(seconds=5), backoff=[timedelta(seconds=9), timedelta(seconds=2)]
            ),
            2.0,
        ),
    ],
)
def test_ack_wait_is_the_shortest_of_a_backoff_where_there_is_one(config, seconds):
    assert ack_wait_of(config) == seconds


def test_in_progress_goes_by_a_third_of_ack_wait_or_by_the_seconds_given():
    assert AckOptions(wait=30.0, in_progress=True).every == 10.0
    assert AckOptions(wait=30.0, in_progress=4.0).every == 4.0
    assert AckOptions(in_progress=4.0).checked().keeps


def test_a_consumer_that_wants_no_acks_is_told_nothing():
    acking = AckOptions(policy="none", wait=30.0, in_progress=True)

    assert (acking.every, acking.keeps) == (0.0, False)


@pytest.mark.parametrize(
    "wishes",
    [
        {"wait": 0.0},
        {"wait": float("inf")},
        {"in_progress": -1.0},
        {"in_progress": float("nan")},
        {"wait": 10.0, "in_progress": 5.0},
        {"nak_held": True},
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wishes):
    with pytest.raises(InvalidConfig):
        AckOptions(**wishes)


def test_in_progress_without_a_time_to_go_by_is_refused_where_it_is_used():
    wish = AckOptions(in_progress=True)

    with pytest.raises(InvalidConfig, match="ack_wait"):
        wish.checked()
    assert wish.within(KNOWN).checked().every == 10.0


def test_looks_are_never_so_close_that_a_clock_cannot_tell_them_apart():
    assert AckOptions(wait=1e-9).every == 0.001
    assert AckOptions(wait=1e-9, in_progress=True).every == 0.001
    assert AckOptions(in_progress=1e-12).every == 0.001
