"""The API level that a configuration needs, and what a server that has less would make of it (ADR-44).

Theory. A server says the level of its API in the account info (2.11: 1, 2.12: 2 and 3, 2.14: 4, 2.15: 5; before 2.11 it says
none, which is 0). Each feature that came with a level is a row. Servers before 2.12 drop settings that they do not know
without a word, so it pays to ask first.
"""

from __future__ import annotations

from typing import Final, final

from attrs import frozen

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.consumer import ConsumerConfig
from jsproto.jetstream.api.stream import StreamConfig


@final
@frozen
class Feature:
    """A setting that needs a level.

    Attributes:
        setting: its name.
        level: the level that it needs.
        since: the first server that has it.
        value: only this value needs it; ``None`` for any.
    """

    setting: str
    level: int
    since: str
    value: str | None = None


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


def features(config: StreamConfig | ConsumerConfig) -> tuple[Feature, ...]:
    """What of a configuration needs a level, in the order of the table."""
    rows = STREAM_FEATURES if isinstance(config, StreamConfig) else CONSUMER_FEATURES
    members = config.to_wire()
    return tuple(row for row in rows if _used(row, members.get(row.setting)))


def required_level(config: StreamConfig | ConsumerConfig) -> int:
    """The API level that a configuration needs; 0 if every server will do. The server says the same in the metadata."""
    return max((row.level for row in features(config)), default=0)


def check_level(config: StreamConfig | ConsumerConfig, level: int) -> None:
    """Hold a configuration against the level that a server says (`AccountInfo.api.level`).

    Raises:
        InvalidConfig: it needs more; the message names the settings and the first server that has them.
    """
    lacking = [row for row in features(config) if row.level > level]
    if lacking:
        named = ", ".join(f"{row.setting} (level {row.level}, server {row.since})" for row in lacking)
        raise InvalidConfig(f"expected a server that knows {named}, this one has API level {level}")


def _used(row: Feature, value: object) -> bool:
    return bool(value) if row.value is None else value == row.value
