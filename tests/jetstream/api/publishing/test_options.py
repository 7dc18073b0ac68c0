"""What a publisher asks of the stream is one value, refused where no server would take it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, InvalidHeader, InvalidSubject
from jsproto.jetstream.api.config.enums import Rollup
from jsproto.jetstream.api.publishing.options import (
    NOTHING_ASKED,
    PublishOptions,
    PublishSettings,
    asked_for,
)
from jsproto.jetstream.api.publishing.schedule import Schedule
from jsproto.wire.headers import Headers

LATER = Schedule.at(datetime(2030, 1, 1, tzinfo=UTC), "s.out", source="s.src")


def test_the_settings_by_name_are_the_fields() -> None:
    assert list(PublishSettings.__annotations__) == [each.name for each in fields(PublishOptions)]


def test_everything_that_can_be_asked_for_together_travels_in_this_order() -> None:
    asked = PublishOptions(
        msg_id="order-1",
        expected_stream="S",
        expected_last_sequence=2**64 - 1,
        expected_last_subject_sequence=0,
        expected_last_subject_sequence_subject="s.*",
        expected_last_msg_id="order-0",
        ttl=timedelta(minutes=1),
        rollup=Rollup.SUB,
        schedule=LATER,
    )

    assert asked.items() == [
        ("Nats-Msg-Id", "order-1"),
        ("Nats-Expected-Stream", "S"),
        ("Nats-Expected-Last-Sequence", "18446744073709551615"),
        ("Nats-Expected-Last-Subject-Sequence", "0"),
        ("Nats-Expected-Last-Subject-Sequence-Subject", "s.*"),
        ("Nats-Expected-Last-Msg-Id", "order-0"),
        ("Nats-TTL", "60"),
        ("Nats-Rollup", "sub"),
        ("Nats-Schedule", "@at 2030-01-01T00:00:00Z"),
        ("Nats-Schedule-Target", "s.out"),
        ("Nats-Schedule-Source", "s.src"),
    ]
    assert PublishOptions(cancel_schedule="s.a", rollup="all").items() == [
        ("Nats-Rollup", "all"),
        ("Nats-Scheduler", "s.a"),
        ("Nats-Schedule-Next", "purge"),
    ]


@pytest.mark.parametrize(
    ("incr", "text"), [(1, "+1"), (-2, "-2"), (0, "+0"), (10**30, "+1" + "0" * 30)]
)
def test_b203_an_increment_has_a_sign_and_may_be_0_or_large(incr: int, text: str) -> None:
    assert PublishOptions(incr=incr).items() == [("Nats-Incr", text)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"msg_id": ""}, "msg_id"),
        ({"msg_id": 5}, "msg_id"),
        ({"expected_last_msg_id": ""}, "expected_last_msg_id"),
        ({"ttl": timedelta(milliseconds=999)}, "10165"),
        ({"ttl": 5}, "10165"),
        ({"ttl": "5s"}, "10165"),
        ({"expected_last_sequence": -1}, "expected_last_sequence"),
        ({"expected_last_sequence": True}, "expected_last_sequence"),
        ({"expected_last_sequence": 2**64}, "expected_last_sequence"),
        ({"expected_last_subject_sequence": "1"}, "expected_last_subject_sequence"),
        ({"expected_last_subject_sequence_subject": "s.*"}, "10193"),
        ({"rollup": "some"}, "10111"),
        ({"rollup": ["sub"]}, "10111"),
        ({"incr": 1.5}, "10171"),
        ({"incr": True}, "10171"),
        ({"incr": 2**14_000}, "10171"),
        ({"incr": 1, "rollup": "sub"}, "incr without rollup, got both .10171"),
        (
            {"incr": 1, "expected_stream": "S", "expected_last_sequence": 0},
            "expected_stream, expected_last_sequence",
        ),
        ({"incr": 1, "expected_last_msg_id": "1"}, "10171"),
        ({"schedule": "@daily"}, "Schedule"),
        ({"schedule": LATER, "rollup": "all"}, "10192"),
        ({"schedule": LATER, "cancel_schedule": "s.z"}, "10212"),
    ],
)
def test_what_no_server_takes_is_refused_at_once(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        PublishOptions(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"expected_stream": "S.a"},
        {"expected_last_subject_sequence": 1, "expected_last_subject_sequence_subject": "s..a"},
        {"cancel_schedule": "s.*"},
    ],
)
def test_names_are_names(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidSubject):
        PublishOptions(**settings)


@pytest.mark.parametrize(
    ("options", "subject", "payload", "number"),
    [
        (PublishOptions(incr=1), "s.a", b"x", "10170"),
        (PublishOptions(cancel_schedule="s.a"), "s.a", b"", "10212"),
        (PublishOptions(schedule=LATER), "s.out", b"", "10190"),
        (PublishOptions(schedule=LATER), "s.src", b"", "10203"),
    ],
)
def test_subject_and_payload_are_looked_at_too(
    options, subject: str, payload: bytes, number: str
) -> None:
    with pytest.raises(InvalidConfig, match=number):
        options.check(subject, payload)


def test_what_fits_passes() -> None:
    PublishOptions(incr=1).check("s.a", b"")
    PublishOptions(cancel_schedule="s.b").check("s.a", b"x")
    PublishOptions(schedule=LATER).check("s.a", b"x")


def test_no_options_and_no_headers_are_no_block_and_own_headers_stay_as_they_are() -> None:
    own = Headers({"Trace": "1"})

    assert NOTHING_ASKED.headers() is None
    assert NOTHING_ASKED.headers({}) is None
    assert NOTHING_ASKED.headers(own) is own
    assert NOTHING_ASKED.headers({"A": ["1", "2"]}) == Headers({"A": ["1", "2"]})
    assert PublishOptions(msg_id="7").headers(own) == Headers(
        [("Trace", "1"), ("Nats-Msg-Id", "7")]
    )
    assert own == Headers({"Trace": "1"})


def test_a_header_that_is_also_an_option_is_refused_in_any_spelling() -> None:
    with pytest.raises(InvalidConfig, match="Nats-Msg-Id as an option or as a header, got both"):
        PublishOptions(msg_id="1").headers({"nats-msg-id": "2"})


def test_an_id_that_would_break_the_block_is_refused() -> None:
    with pytest.raises(InvalidHeader):
        PublishOptions(msg_id="1\r\nNats-Rollup: all").headers()


def test_options_come_as_a_value_by_name_or_both() -> None:
    value = PublishOptions(msg_id="1", ttl="never")

    assert asked_for(None, {}) is NOTHING_ASKED
    assert asked_for(value, {}) == value
    assert asked_for(None, {"msg_id": "2"}) == PublishOptions(msg_id="2")
    assert asked_for(value, {"ttl": None}) == PublishOptions(msg_id="1")
    with pytest.raises(InvalidConfig, match="settings of PublishOptions"):
        asked_for(None, {"message_id": "1"})
    with pytest.raises(InvalidConfig, match="PublishOptions or settings by name"):
        asked_for({"msg_id": "1"}, {})


@given(st.text(max_size=20))
def test_any_id_is_carried_exactly_or_refused(msg_id: str) -> None:
    try:
        block = PublishOptions(msg_id=msg_id).headers()
    except (InvalidConfig, InvalidHeader):
        return
    assert block is not None
    assert Headers.parse(block.encode()).last("Nats-Msg-Id") == msg_id
