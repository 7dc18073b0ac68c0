"""The API level that a configuration or a publish needs, and what a server that has less would make
of it (ADR-44).

Theory. A server says the level of its API in the account info (2.11: 1, 2.12: 2 and 3, 2.14: 4,
2.15: 5; before 2.11 it says none, which is 0). Each feature that came with a level is a row. A
configuration that needs one is sent with it (:data:`REQUIRED`), so a server of 2.12 or later that
has less refuses (10185), whatever else it would make of it. Servers before 2.12 do not look, and
drop settings that they do not know without a word; and no server refuses a header of a message that
it does not know. There it pays to ask first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from attrs import fields, frozen

from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.publishing.options import PublishOptions

#: The header in which a request of the API says the level that it needs.
REQUIRED: Final = "Nats-Required-Api-Level"


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
    """What of a configuration, or of the options of a publish, needs a level, in the order of the
    table.
    """
    if isinstance(config, PublishOptions):
        return tuple(row for row in PUBLISH_FEATURES if _used(row, _asked(config).get(row.setting)))
    rows = STREAM_FEATURES if isinstance(config, StreamConfig) else CONSUMER_FEATURES
    members = config.to_wire()
    return tuple(row for row in rows if _used(row, members.get(row.setting)))


def required_level(config: StreamConfig | ConsumerConfig | PublishOptions) -> int:
    """The API level that it needs; 0 if every server will do. For a stream the server says the same
    in the metadata.
    """
    return max((row.level for row in features(config)), default=0)


def check_level(config: StreamConfig | ConsumerConfig | PublishOptions, level: int) -> None:
    """Hold a configuration, or the options of a publish, against the level that a server says
    (`AccountInfo.api.level`).

    Raises:
        InvalidConfig: it needs more; the message names the settings and the first server that has
            them.
    """
    lacking = [row for row in features(config) if row.level > level]
    if lacking:
        named = ", ".join(map(str, lacking))
        raise InvalidConfig(f"expected a server that knows {named}, this one has API level {level}")


def _used(row: Feature, value: object) -> bool:
    return bool(value) if row.value is None else value == row.value


def _asked(options: PublishOptions) -> Mapping[str, object]:
    """Which options are given: a value that is 0 is given too."""
    schedule = options.schedule
    return {
        **{each.name: getattr(options, each.name) is not None for each in fields(PublishOptions)},
        "schedule repeats": schedule is not None and schedule.repeats,
        "schedule source": schedule is not None and schedule.source is not None,
        "schedule rollup": schedule is not None and schedule.rollup,
    }
