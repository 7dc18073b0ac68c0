"""Streams as documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject
from jsproto.jetstream.api.codecs import UnknownWord
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.enums import (
    DiscardPolicy,
    PersistMode,
    RetentionPolicy,
    StorageType,
    StoreCompression,
)
from jsproto.jetstream.api.config.stream import (
    ConsumerLimits,
    ExternalStream,
    Republish,
    StreamConfig,
    StreamConsumerSource,
    StreamInfo,
    StreamSource,
    StreamState,
    SubjectTransform,
)
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.api.validation.rules import check_stream

EVERY_SETTING = StreamConfig(
    name="S",
    description="d",
    subjects=["s.>"],
    retention="limits",
    max_consumers=1,
    max_msgs=2,
    max_bytes=3,
    max_age=timedelta(hours=1),
    max_msgs_per_subject=4,
    max_msg_size=5,
    discard=DiscardPolicy.NEW,
    discard_new_per_subject=True,
    storage=StorageType.MEMORY,
    num_replicas=1,
    no_ack=True,
    template_owner="t",
    duplicate_window=timedelta(minutes=1),
    placement=Placement(cluster="c", tags=["t"], preferred="p"),
    mirror=StreamSource(name="M", opt_start_time=datetime(2024, 1, 1, tzinfo=UTC)),
    sources=[
        StreamSource(
            name="A",
            opt_start_seq=9,
            filter_subject="a.>",
            subject_transforms=[SubjectTransform(src="a.>", dest="b.>")],
            external=ExternalStream(api="$JS.hub.API", deliver="d"),
            consumer=StreamConsumerSource(name="c", deliver_subject="ds"),
        )
    ],
    compression=StoreCompression.S2,
    first_seq=7,
    subject_transform=SubjectTransform(dest="x"),
    republish=Republish(src="a", dest="b", headers_only=True),
    allow_direct=True,
    mirror_direct=True,
    sealed=False,
    deny_delete=True,
    deny_purge=True,
    allow_rollup_hdrs=True,
    consumer_limits=ConsumerLimits(inactive_threshold=timedelta(seconds=1), max_ack_pending=2),
    allow_msg_ttl=True,
    subject_delete_marker_ttl=timedelta(seconds=2),
    allow_msg_counter=True,
    allow_atomic=True,
    allow_batched=True,
    allow_msg_schedules=True,
    persist_mode=PersistMode.ASYNC,
    metadata={"k": "v"},
)


def test_b203_every_setting_is_written_under_the_servers_name_for_it() -> None:
    assert EVERY_SETTING.to_wire() == {
        "name": "S",
        "description": "d",
        "subjects": ["s.>"],
        "retention": "limits",
        "max_consumers": 1,
        "max_msgs": 2,
        "max_bytes": 3,
        "max_age": 3_600_000_000_000,
        "max_msgs_per_subject": 4,
        "max_msg_size": 5,
        "discard": "new",
        "discard_new_per_subject": True,
        "storage": "memory",
        "num_replicas": 1,
        "no_ack": True,
        "template_owner": "t",
        "duplicate_window": 60_000_000_000,
        "placement": {"cluster": "c", "tags": ["t"], "preferred": "p"},
        "mirror": {"name": "M", "opt_start_time": "2024-01-01T00:00:00Z"},
        "sources": [
            {
                "name": "A",
                "opt_start_seq": 9,
                "filter_subject": "a.>",
                "subject_transforms": [{"src": "a.>", "dest": "b.>"}],
                "external": {"api": "$JS.hub.API", "deliver": "d"},
                "consumer": {"name": "c", "deliver_subject": "ds"},
            }
        ],
        "compression": "s2",
        "first_seq": 7,
        "subject_transform": {"dest": "x"},
        "republish": {"src": "a", "dest": "b", "headers_only": True},
        "allow_direct": True,
        "mirror_direct": True,
        "sealed": False,
        "deny_delete": True,
        "deny_purge": True,
        "allow_rollup_hdrs": True,
        "consumer_limits": {"inactive_threshold": 1_000_000_000, "max_ack_pending": 2},
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 2_000_000_000,
        "allow_msg_counter": True,
        "allow_atomic": True,
        "allow_batched": True,
        "allow_msg_schedules": True,
        "persist_mode": "async",
        "metadata": {"k": "v"},
    }
    assert StreamConfig.from_wire(EVERY_SETTING.to_wire()) == EVERY_SETTING


def test_a_word_that_a_newer_server_uses_is_kept_and_one_that_the_user_invents_is_refused() -> None:
    read = StreamConfig.from_wire({"name": "S", "retention": "forever", "storage": "file"})

    assert read.retention == UnknownWord("forever")
    assert read.storage is StorageType.FILE
    assert read.evolve(max_msgs=1).to_wire()["retention"] == "forever"
    with pytest.raises(
        InvalidConfig, match=r"one of interest, limits, workqueue as StreamConfig\.retention"
    ):
        StreamConfig(name="S", retention="forever")
    assert StreamConfig(name="S", retention="workqueue").retention is RetentionPolicy.WORKQUEUE


def test_b197_b199_an_empty_stream_has_no_times_and_its_numbers_are_exact() -> None:
    state = StreamState.from_wire(
        {
            "first_ts": "0001-01-01T00:00:00Z",
            "last_ts": "2024-01-01T00:00:00.000000001Z",
            "last_seq": 2**64 - 1,
        }
    )

    assert state.first_ts is None
    assert state.last_ts == Timestamp(1_704_067_200_000_000_001)
    assert state.last_seq == 2**64 - 1
    assert state.to_wire()["last_seq"] == 2**64 - 1


def test_b194_an_info_needs_a_configuration_with_a_name_and_nothing_else() -> None:
    info = StreamInfo.from_wire({"config": {"name": "S"}})

    assert (info.config.name, info.state, info.did_create, info.cluster) == (
        "S",
        StreamState(),
        False,
        None,
    )
    for body in ({}, {"config": None}, {"config": {}}, {"config": {"name": ""}}):
        with pytest.raises(InvalidResponse, match=r"as StreamInfo\.config"):
            StreamInfo.from_wire(body)


def test_a_source_in_a_domain_has_the_api_of_the_domain_and_all_settings_of_a_source() -> None:
    plain = StreamSource.in_domain("O", "hub")
    whole = StreamSource.in_domain(
        "A",
        "hub",
        deliver="d",
        opt_start_seq=9,
        opt_start_time=datetime(2024, 1, 1, tzinfo=UTC),
        filter_subject="a.>",
        subject_transforms=[SubjectTransform(src="a.>", dest="b.>")],
        consumer=StreamConsumerSource(name="c", deliver_subject="ds"),
    )

    assert plain.to_wire() == {"name": "O", "external": {"api": "$JS.hub.API"}}
    assert whole == EVERY_SETTING.sources[0].evolve(opt_start_time=whole.opt_start_time)
    assert whole.opt_start_time is not None
    mirror, sources = StreamConfig(name="S", mirror=plain), StreamConfig(name="S", sources=[plain])
    wild = mirror.evolve(mirror=StreamSource.in_domain("O", "hub", deliver="*"))
    assert (*check_stream(mirror), *check_stream(sources)) == ()
    assert [each.setting for each in check_stream(wild)] == ["mirror.external.deliver"]


@pytest.mark.parametrize("domain", ["", "a.b", "a b", "*", ">", "a\r\nb", None])
def test_the_domain_of_a_source_is_one_token(domain: str) -> None:
    with pytest.raises(InvalidSubject):
        StreamSource.in_domain("O", domain)


def test_details_of_a_stream_and_of_its_sources_are_read() -> None:
    info = StreamInfo.from_wire(
        {
            "config": {"name": "S"},
            "state": {"subjects": {"a": 2}, "deleted": [3, 4], "lost": {"msgs": [5], "bytes": 6}},
            "sources": [{"name": "A", "lag": 1, "active": -1, "error": {"code": 404}}],
            "alternates": [{"name": "S", "domain": "hub", "cluster": "C"}],
        }
    )

    assert info.state.subjects == {"a": 2}
    assert info.state.deleted == (3, 4)
    assert info.state.lost is not None
    assert info.state.lost.msgs == (5,)
    assert info.sources[0].active is None
    assert info.sources[0].error == {"code": 404}
    assert info.alternates[0].domain == "hub"
