"""What a stream would say to a message is known from its configuration, row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.stream import StreamConfig, StreamSource
from jsproto.jetstream.api.publishing.options import NOTHING_ASKED, PublishOptions
from jsproto.jetstream.api.publishing.schedule import Schedule
from jsproto.jetstream.api.validation.publish_rules import (
    BATCH_RULES,
    PUBLISH_RULES,
    WINDOW_RULES,
    check_batching,
    check_publish,
    check_window,
    refuse,
)
from jsproto.wire.headers import Headers

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


def config(**settings: object) -> StreamConfig:
    return StreamConfig(name="S", subjects=["s.>"], **settings)


SCHEDULES = config(allow_msg_schedules=True, allow_msg_ttl=True, allow_rollup_hdrs=True)


MARKERS = config(
    allow_msg_ttl=True,
    allow_msg_schedules=True,
    allow_rollup_hdrs=True,
    subject_delete_marker_ttl=timedelta(seconds=30),
)


def later(target: str = "s.out", **more: object) -> PublishOptions:
    return PublishOptions(schedule=Schedule.at(MOMENT, target, **more))


#: One message for each row, in the order of the rows.
REFUSED = [
    (config(), "t.a", b"", NOTHING_ASKED),
    (config(no_ack=True), "s.a", b"", NOTHING_ASKED),
    (config(sealed=True), "s.a", b"", NOTHING_ASKED),
    (config(max_msg_size=3), "s.a", b"four", NOTHING_ASKED),
    (config(), "s.a", b"", PublishOptions(incr=0)),
    (config(), "s.a", b"", PublishOptions(expected_stream="T")),
    (config(), "s.a", b"", PublishOptions(ttl="never")),
    (MARKERS, "s.a", b"", PublishOptions(ttl=timedelta(seconds=29))),
    (config(allow_msg_counter=True), "s.a", b"", NOTHING_ASKED),
    (config(), "s.a", b"", later()),
    (config(), "s.a", b"", PublishOptions(cancel_schedule="s.b")),
    (SCHEDULES, "s.a", b"", later("t.out")),
    (SCHEDULES, "s.a", b"", later(source="t.src")),
    (config(), "s.a", b"", PublishOptions(rollup="sub")),
    (config(allow_rollup_hdrs=True, deny_purge=True), "s.a", b"", PublishOptions(rollup="sub")),
]


@pytest.mark.parametrize(
    ("rule", "case"),
    list(zip(PUBLISH_RULES, REFUSED, strict=True)),
    ids=[f"{row.err_code} {row.text}" for row in PUBLISH_RULES],
)
def test_each_row_refuses_its_message_and_comes_first(rule, case) -> None:
    stream, subject, payload, options = case

    found = check_publish(stream, subject, payload, options)

    assert found[0].rule is rule
    with pytest.raises(InvalidConfig, match=f"stream 'S' takes, got {rule.setting}"):
        refuse(found, "S")


@pytest.mark.parametrize(
    ("stream", "options"),
    [
        (config(), NOTHING_ASKED),
        (config(max_msg_size=-1), PublishOptions(msg_id="1", expected_stream="S")),
        (config(max_msg_size=1), NOTHING_ASKED),
        (config(allow_msg_counter=True), PublishOptions(incr=-1)),
        (SCHEDULES, later(source="s.src", ttl=timedelta(seconds=5))),
        (SCHEDULES, PublishOptions(cancel_schedule="s.b")),
        (SCHEDULES, PublishOptions(rollup="all", ttl="never")),
        (StreamConfig(name="s.a"), NOTHING_ASKED),
        (MARKERS, PublishOptions(ttl=timedelta(seconds=30))),
        (MARKERS, PublishOptions(ttl="never")),
        (MARKERS, later(ttl=timedelta(minutes=1))),
    ],
)
def test_what_the_stream_takes_passes(stream, options) -> None:
    found = check_publish(stream, "s.a", b"" if options.incr is not None else b"x", options)

    assert found == ()
    refuse(found, "S")


@pytest.mark.parametrize(
    ("rule", "stream"),
    list(zip(WINDOW_RULES, [config(no_ack=True), config(sealed=True)], strict=True)),
)
def test_each_row_about_windows_refuses_its_stream(rule, stream) -> None:
    assert check_window(stream)[0].rule is rule


def test_a_stream_that_acknowledges_takes_a_window() -> None:
    assert check_window(config()) == ()


BATCHES = [
    (config(no_ack=True), False),
    (config(sealed=True), False),
    (config(allow_batched=True), False),
    (config(allow_atomic=True), True),
]


@pytest.mark.parametrize(("rule", "case"), list(zip(BATCH_RULES, BATCHES, strict=True)))
def test_each_row_about_batches_refuses_its_stream(rule, case) -> None:
    stream, fast = case

    assert check_batching(stream, fast=fast)[0].rule is rule


def test_a_stream_that_has_switched_a_kind_of_batch_on_takes_it() -> None:
    assert check_batching(config(allow_atomic=True)) == ()
    assert check_batching(config(allow_batched=True), fast=True) == ()


def test_what_a_schedule_publishes_lives_no_shorter_than_the_markers_either() -> None:
    found = check_publish(MARKERS, "s.a", b"", later(ttl=timedelta(seconds=5)))

    assert [each.setting for each in found] == ["subject_delete_marker_ttl"]


def test_where_each_subject_has_one_message_any_time_to_live_will_do() -> None:
    stream = MARKERS.evolve(max_msgs_per_subject=1)

    assert check_publish(stream, "s.a", b"", PublishOptions(ttl=timedelta(seconds=5))) == ()


def test_the_time_to_live_of_a_schedule_needs_what_any_other_needs() -> None:
    found = check_publish(config(allow_msg_schedules=True), "s.a", b"", later(ttl="never"))

    assert [each.err_code for each in found] == [10166]


def test_headers_count_in_the_size() -> None:
    headers = Headers({"A": "1"})

    assert check_publish(config(max_msg_size=23), "s.a", b"x" * 5, headers=headers) == ()
    assert [
        str(each)
        for each in check_publish(config(max_msg_size=20), "s.a", b"x" * 5, headers=headers)
    ] == ["size = 23: more bytes than max_msg_size (10054 JSStreamMessageExceedsMaximumErr)"]


def test_a_mirror_stores_no_subject_of_its_own() -> None:
    mirror = StreamConfig(name="M", mirror=StreamSource(name="S"))

    assert [str(each) for each in check_publish(mirror, "M")] == [
        "subject = 'M': not stored by this stream"
    ]
