"""The API level that a configuration or a publish requires (ADR-44).

Theory. A server sends its API level in the account info (2.11: 1, 2.12: 2 and 3, 2.14: 4, 2.15: 5;
servers before 2.11 send none, which counts as 0). Each feature that came with a level is a row.
The client sends the required level with a configuration (:data:`REQUIRED`). A server of 2.12 or
later with a lower level then rejects the request (10185). Servers before 2.12 do not check it, and
silently drop settings that they do not know. No server rejects unknown headers of a message. In
these two cases the user should compare the levels first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from attrs import fields, frozen

from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.publishing.options import PublishOptions

#: The header of an API request with the required level.
REQUIRED: Final = "Nats-Required-Api-Level"


@final
@frozen
class Feature:
    """A setting that requires a level.

    Attributes:
        setting: its name.
        level: the required level.
        since: the first server version with this level.
        value: the only value that requires it; ``None`` for any value.
    """

    setting: str
    level: int
    since: str
    value: str | None = None

    def __str__(self) -> str:
        return f"{self.setting} (level {self.level}, server {self.since})"


STREAM_FEATURES: Final = (
    Feature("allow_msg_ttl", 1, "2.11"),
    Feature("subject_delete_marker_ttl", 1, "2.11"),
    Feature("allow_msg_counter", 2, "2.12"),
    Feature("allow_atomic", 2, "2.12"),
    Feature("allow_msg_schedules", 2, "2.12"),
    Feature("persist_mode", 2, "2.12", "async"),
    Feature("allow_batched", 4, "2.14"),
)
CONSUMER_FEATURES: Final = (
    Feature("pause_until", 1, "2.11"),
    Feature("priority_groups", 1, "2.11"),
    Feature("priority_timeout", 1, "2.11"),
    Feature("ack_policy", 4, "2.14", "flow_control"),
)
PUBLISH_FEATURES: Final = (
    Feature("expected_last_subject_sequence_subject", 1, "2.11"),
    Feature("ttl", 1, "2.11"),
    Feature("incr", 2, "2.12"),
    Feature("schedule", 2, "2.12"),
    Feature("cancel_schedule", 2, "2.12"),
    Feature("schedule repeats", 4, "2.14"),
    Feature("schedule source", 4, "2.14"),
    Feature("schedule rollup", 4, "2.14"),
)


def features(config: StreamConfig | ConsumerConfig | PublishOptions) -> tuple[Feature, ...]:
    """The features that a configuration or publish uses, in the order of the table."""
    if isinstance(config, PublishOptions):
        return tuple(row for row in PUBLISH_FEATURES if _used(row, _asked(config).get(row.setting)))
    rows = STREAM_FEATURES if isinstance(config, StreamConfig) else CONSUMER_FEATURES
    members = config.to_wire()
    return tuple(row for row in rows if _used(row, members.get(row.setting)))


def required_level(config: StreamConfig | ConsumerConfig | PublishOptions) -> int:
    """The required API level; 0 if every server will do.

    For a stream the server returns the same number in the metadata.
    """
    return max((row.level for row in features(config)), default=0)


def check_level(config: StreamConfig | ConsumerConfig | PublishOptions, level: int) -> None:
    """Check that a server's API level (`AccountInfo.api.level`) is high enough.

    Raises:
        InvalidConfig: a higher level is required; the message names the settings and the first
            server version for each.
    """
    lacking = [row for row in features(config) if row.level > level]
    if lacking:
        named = ", ".join(map(str, lacking))
        raise InvalidConfig(f"expected a server with {named}, got one with API level {level}")


def _used(row: Feature, value: object) -> bool:
    return bool(value) if row.value is None else value == row.value


def _asked(options: PublishOptions) -> Mapping[str, object]:
    """Which options are set; 0 counts as set."""
    schedule = options.schedule
    return {
        **{each.name: getattr(options, each.name) is not None for each in fields(PublishOptions)},
        "schedule repeats": schedule is not None and schedule.repeats,
        "schedule source": schedule is not None and schedule.source is not None,
        "schedule rollup": schedule is not None and schedule.rollup,
    }
