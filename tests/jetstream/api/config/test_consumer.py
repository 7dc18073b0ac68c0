"""Consumers as documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo, SequencePair

EVERY_SETTING = ConsumerConfig(
    durable_name="C",
    name="C",
    description="d",
    deliver_policy="by_start_time",
    opt_start_seq=1,
    opt_start_time=datetime(2024, 1, 1, tzinfo=UTC),
    ack_policy="explicit",
    ack_wait=timedelta(seconds=30),
    max_deliver=3,
    backoff=[timedelta(seconds=1), timedelta(seconds=2)],
    filter_subject="a",
    replay_policy="instant",
    rate_limit_bps=10,
    sample_freq="50",
    max_waiting=512,
    max_ack_pending=1000,
    flow_control=True,
    headers_only=True,
    max_batch=10,
    max_expires=timedelta(seconds=5),
    max_bytes=1024,
    deliver_subject="ds",
    deliver_group="dg",
    idle_heartbeat=timedelta(seconds=5),
    inactive_threshold=timedelta(minutes=5),
    num_replicas=1,
    mem_storage=True,
    direct=True,
    sourcing=True,
    metadata={"k": "v"},
    pause_until=datetime(2024, 1, 2, tzinfo=UTC),
    priority_groups=["g"],
    priority_policy="pinned_client",
    priority_timeout=timedelta(seconds=9),
)


def test_b203_every_setting_is_written_under_the_servers_name_for_it() -> None:
    assert EVERY_SETTING.to_wire() == {
        "durable_name": "C",
        "name": "C",
        "description": "d",
        "deliver_policy": "by_start_time",
        "opt_start_seq": 1,
        "opt_start_time": "2024-01-01T00:00:00Z",
        "ack_policy": "explicit",
        "ack_wait": 30_000_000_000,
        "max_deliver": 3,
        "backoff": [1_000_000_000, 2_000_000_000],
        "filter_subject": "a",
        "replay_policy": "instant",
        "rate_limit_bps": 10,
        "sample_freq": "50",
        "max_waiting": 512,
        "max_ack_pending": 1000,
        "flow_control": True,
        "headers_only": True,
        "max_batch": 10,
        "max_expires": 5_000_000_000,
        "max_bytes": 1024,
        "deliver_subject": "ds",
        "deliver_group": "dg",
        "idle_heartbeat": 5_000_000_000,
        "inactive_threshold": 300_000_000_000,
        "num_replicas": 1,
        "mem_storage": True,
        "direct": True,
        "sourcing": True,
        "metadata": {"k": "v"},
        "pause_until": "2024-01-02T00:00:00Z",
        "priority_groups": ["g"],
        "priority_policy": "pinned_client",
        "priority_timeout": 9_000_000_000,
    }
    assert ConsumerConfig.from_wire(EVERY_SETTING.to_wire()) == EVERY_SETTING


@pytest.mark.parametrize(
    ("wire", "text", "percent"),
    [
        ("100", "100", 100),
        ("100%", "100%", 100),
        (100, "100", 100),
        ("often", "often", None),
        ("", "", None),
        ("1000", "1000", None),
    ],
)
def test_b196_a_sample_frequency_is_text_with_or_without_a_percent_sign(
    wire: object, text: str, percent: int | None
) -> None:
    config = ConsumerConfig.from_wire({"sample_freq": wire})

    assert config.sample_percent == percent
    assert config.to_wire() == {"sample_freq": text}
    assert ConsumerConfig(sample_freq=7).to_wire() == {"sample_freq": "7"}
    assert ConsumerConfig().sample_percent is None


def test_b208_one_filter_or_several_but_not_both() -> None:
    several = ConsumerConfig(filter_subjects=["a.1", "a.2"])

    assert several.checked().to_wire() == {"filter_subjects": ["a.1", "a.2"]}
    with pytest.raises(InvalidConfig, match="filter_subject or filter_subjects, got both"):
        several.evolve(filter_subject="a.>").checked()


def test_two_names_must_be_one() -> None:
    assert ConsumerConfig(name="C", durable_name="C").checked().name == "C"
    with pytest.raises(InvalidConfig, match="name and durable_name to be equal"):
        ConsumerConfig(name="C", durable_name="D").checked()


def test_b194_an_info_needs_its_two_names_and_nothing_else() -> None:
    info = ConsumerInfo.from_wire({"stream_name": "S", "name": "C"})

    assert (info.config, info.delivered, info.num_pending, info.paused) == (
        ConsumerConfig(),
        SequencePair(),
        0,
        False,
    )
    for body in ({"name": "C"}, {"stream_name": "S"}, {"stream_name": "S", "name": ""}):
        with pytest.raises(InvalidResponse, match=r"as ConsumerInfo\.(stream_)?name"):
            ConsumerInfo.from_wire(body)


def test_priority_groups_and_their_holders_are_read() -> None:
    info = ConsumerInfo.from_wire(
        {
            "stream_name": "S",
            "name": "C",
            "priority_groups": [
                {"group": "g", "pinned_client_id": "id", "pinned_ts": "2024-01-01T00:00:00Z"}
            ],
        }
    )

    assert info.priority_groups[0].pinned_client_id == "id"
    assert info.priority_groups[0].pinned_ts is not None
    assert info.priority_groups[0].pinned_ts.datetime == datetime(2024, 1, 1, tzinfo=UTC)
