"""The level that a configuration needs, and what a server that has less is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.settings import ConsumerSettings, StreamSettings
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.publishing.options import PublishOptions
from jsproto.jetstream.api.publishing.schedule import Schedule
from jsproto.jetstream.api.validation.api_level import (
    CONSUMER_FEATURES,
    STREAM_FEATURES,
    check_level,
    features,
    required_level,
)

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
CONFIGS = [
    (StreamConfig(name="S"), 0),
    (StreamConfig(name="S", persist_mode="default", allow_msg_ttl=False), 0),
    (StreamConfig(name="S", allow_msg_ttl=True), 1),
    (StreamConfig(name="S", subject_delete_marker_ttl=timedelta(seconds=1)), 1),
    (StreamConfig(name="S", allow_msg_counter=True), 2),
    (StreamConfig(name="S", persist_mode="async", allow_msg_ttl=True), 2),
    (StreamConfig(name="S", allow_batched=True, allow_atomic=True), 4),
    (ConsumerConfig(ack_policy="explicit"), 0),
    (ConsumerConfig(pause_until=datetime(2030, 1, 1, tzinfo=UTC)), 1),
    (ConsumerConfig(priority_groups=["g"], priority_policy="overflow"), 1),
    (ConsumerConfig(ack_policy="flow_control"), 4),
    (PublishOptions(msg_id="1", expected_last_subject_sequence=0), 0),
    (
        PublishOptions(
            expected_last_subject_sequence=0, expected_last_subject_sequence_subject="s.*"
        ),
        1,
    ),
    (PublishOptions(ttl="never"), 1),
    (PublishOptions(incr=0), 2),
    (PublishOptions(cancel_schedule="s.a"), 2),
    (PublishOptions(schedule=Schedule.at(MOMENT, "s.b")), 2),
    (PublishOptions(schedule=Schedule.at(MOMENT, "s.b", source="s.c")), 4),
    (PublishOptions(schedule=Schedule.at(MOMENT, "s.b", rollup=True)), 4),
    (PublishOptions(schedule=Schedule.cron("@daily", "s.b")), 4),
]


@pytest.mark.parametrize(("config", "level"), CONFIGS, ids=str)
def test_a_configuration_needs_the_highest_level_of_its_features(config, level: int) -> None:
    assert required_level(config) == level
    check_level(config, level)
    if level:
        with pytest.raises(InvalidConfig, match=f"got one with API level {level - 1}"):
            check_level(config, level - 1)


def test_what_is_lacking_is_named_with_the_server_that_has_it() -> None:
    config = StreamConfig(name="S", allow_batched=True, allow_msg_ttl=True)
    with pytest.raises(
        InvalidConfig,
        match=r"with allow_batched \(level 4, server 2\.14\), got one with API level 1",
    ):
        check_level(config, 1)


def test_features_are_settings_that_exist() -> None:
    assert {row.setting for row in STREAM_FEATURES} <= StreamSettings.__annotations__.keys()
    assert {row.setting for row in CONSUMER_FEATURES} <= ConsumerSettings.__annotations__.keys()
    assert [row.setting for row in features(StreamConfig(name="S", allow_atomic=True))] == [
        "allow_atomic"
    ]
