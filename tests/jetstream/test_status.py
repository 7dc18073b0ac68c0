from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import StatusError
from jsproto.jetstream import errors
from jsproto.jetstream.status import (
    ROWS,
    EndReason,
    Limit,
    Remainder,
    StatusAction,
    StatusContext,
    as_toml,
    judge,
    limit_of,
    pending_of,
    status_error,
)

SPEC = Path(__file__).resolve().parents[2] / "spec" / "statuses.toml"


def test_the_spec_is_drawn_from_the_table():
    assert SPEC.read_text(encoding="utf-8") == as_toml()


def test_the_spec_is_toml_with_one_table_per_row():
    read = tomllib.loads(as_toml())["status"]

    assert [(each["place"], each["code"], each["text"]) for each in read] == [
        (row.place.value, row.code, row.text) for row in ROWS
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place.value} {row.code} {row.text}")
def test_every_row_is_found_by_its_own_code_and_text(row):
    assert judge(row.code, row.text, row.place) is row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place.value} {row.code} {row.text}")
def test_a_row_is_found_in_any_case_of_letters_and_with_text_behind(row):
    assert judge(row.code, row.text.upper() + " (why)", row.place) is row


@pytest.mark.parametrize(
    ("code", "text", "verdict", "end", "rest"),
    [
        (100, "Idle Heartbeat", StatusAction.HEARTBEAT, None, Remainder.NONE),
        (404, "No Messages", StatusAction.PULL_ENDED, EndReason.NO_MESSAGES, Remainder.OWED),
        (408, "Request Timeout", StatusAction.PULL_ENDED, EndReason.EXPIRED, Remainder.OWED),
        (
            408,
            "Requests Pending",
            StatusAction.PULL_ENDED,
            EndReason.REQUESTS_PENDING,
            Remainder.WHOLE,
        ),
        (408, "Interest Expired", StatusAction.PULL_ENDED, EndReason.EXPIRED, Remainder.OWED),
        (
            409,
            "Message Size Exceeds MaxBytes",
            StatusAction.DOES_NOT_FIT,
            EndReason.BYTES_SPENT,
            Remainder.OWED,
        ),
        (409, "Batch Completed", StatusAction.PULL_ENDED, EndReason.FILLED, Remainder.OWED),
        (
            409,
            "Exceeded MaxRequestBatch of 2",
            StatusAction.PULL_REFUSED,
            EndReason.REFUSED,
            Remainder.WHOLE,
        ),
        (
            409,
            "Exceeded MaxRequestExpires of 5s",
            StatusAction.PULL_REFUSED,
            EndReason.REFUSED,
            Remainder.WHOLE,
        ),
        (
            409,
            "Exceeded MaxRequestMaxBytes of 100",
            StatusAction.PULL_REFUSED,
            EndReason.REFUSED,
            Remainder.WHOLE,
        ),
        (409, "Exceeded MaxWaiting", StatusAction.PULL_REFUSED, EndReason.REFUSED, Remainder.WHOLE),
        (
            409,
            "Exceeded SomethingNew of 3",
            StatusAction.PULL_REFUSED,
            EndReason.REFUSED,
            Remainder.WHOLE,
        ),
        (409, "Consumer is push based", StatusAction.FATAL, EndReason.FATAL, Remainder.ALL),
        (409, "Consumer Deleted", StatusAction.DELETED, EndReason.DELETED, Remainder.ALL),
        (409, "Leadership Change", StatusAction.RESET, EndReason.RESET, Remainder.ALL),
        (409, "Server Shutdown", StatusAction.RESET, EndReason.RESET, Remainder.ALL),
        (
            400,
            "Bad Request - heartbeat value too large",
            StatusAction.FATAL,
            EndReason.FATAL,
            Remainder.WHOLE,
        ),
        (412, "Required Api Level", StatusAction.FATAL, EndReason.FATAL, Remainder.WHOLE),
        (423, "Nats-Pin-Id mismatch", StatusAction.PIN_LOST, EndReason.PIN_LOST, Remainder.WHOLE),
        (423, "Nats-Wrong-Pin-Id", StatusAction.PIN_LOST, EndReason.PIN_LOST, Remainder.OWED),
        (423, "", StatusAction.PIN_LOST, EndReason.PIN_LOST, Remainder.OWED),
        (503, "", StatusAction.GONE_FOR_NOW, EndReason.NO_RESPONDERS, Remainder.WHOLE),
        (503, "No Responders", StatusAction.GONE_FOR_NOW, EndReason.NO_RESPONDERS, Remainder.WHOLE),
    ],
)
def test_the_statuses_of_a_pull_are_judged_as_the_wire_has_them(code, text, verdict, end, rest):
    row = judge(code, text)

    assert (row.verdict, row.end, row.rest) == (verdict, end, rest)


@pytest.mark.parametrize(
    ("place", "code", "text", "verdict"),
    [
        (StatusContext.PUSH, 100, "FlowControl Request", StatusAction.FLOW_CONTROL),
        (StatusContext.DIRECT, 204, "EOB", StatusAction.COMPLETE),
        (StatusContext.DIRECT, 404, "Message Not Found", StatusAction.FAILED),
        (StatusContext.DIRECT, 404, "No Results", StatusAction.FAILED),
        (StatusContext.DIRECT, 408, "Empty Request", StatusAction.FAILED),
        (StatusContext.DIRECT, 413, "Too Many Results", StatusAction.FAILED),
        (StatusContext.SNAPSHOT, 204, "", StatusAction.COMPLETE),
        (StatusContext.SNAPSHOT, 408, "No Flow Response", StatusAction.FAILED),
        (StatusContext.SNAPSHOT, 500, "broken", StatusAction.FAILED),
        (StatusContext.PUBLISH, 429, "Too Many Requests", StatusAction.FAILED),
        (StatusContext.PUBLISH, 503, "", StatusAction.GONE_FOR_NOW),
    ],
)
def test_the_same_code_means_what_it_means_in_its_place(place, code, text, verdict):
    assert judge(code, text, place).verdict is verdict


@given(st.integers(100, 399), st.text(max_size=20))
def test_an_unknown_status_below_400_ends_nothing(code, text):
    row = judge(code, text)

    assert row.end is None
    assert row.verdict in {StatusAction.HEARTBEAT, StatusAction.STRANGE}


@given(st.integers(400, 999), st.text(max_size=20))
def test_any_status_from_400_on_ends_its_pull(code, text):
    assert judge(code, text).end is not None


def test_an_unknown_status_is_kept_as_it_came():
    row = judge(499, "Something New")

    assert (row.verdict, row.code, row.text, row.error) == (
        StatusAction.UNKNOWN,
        499,
        "Something New",
        errors.UnknownStatus,
    )


def test_an_error_has_the_class_of_its_row_and_says_what_the_server_said():
    row = judge(409, "Consumer Deleted")
    error = status_error(row, 409, "Consumer Deleted", "a pull on S.C")

    assert type(error) is errors.ConsumerDeleted
    assert (error.code, error.description) == (409, "Consumer Deleted")
    assert str(error) == "expected a pull on S.C to be served, got 409 'Consumer Deleted'"


def test_a_row_without_a_class_makes_a_plain_status_error():
    error = status_error(judge(404, "No Messages"), 404, "No Messages")

    assert type(error) is StatusError
    assert str(error) == "server answered with status 404 No Messages"


def test_a_refused_limit_is_parsed_out_of_the_text():
    text = "Exceeded MaxRequestBatch of 20"
    error = status_error(judge(409, text), 409, text)

    assert isinstance(error, errors.PullLimitExceeded)
    assert (error.limit, judge(409, text).limit) == (20, Limit.BATCH)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Exceeded MaxRequestBatch of 2", 2),
        ("Exceeded MaxRequestExpires of 5s", 5.0),
        ("Exceeded MaxRequestExpires of 1m0s", 60.0),
        ("Exceeded MaxRequestExpires of 1h2m3.5s", 3723.5),
        ("Exceeded MaxRequestExpires of 250ms", 0.25),
        ("Exceeded MaxWaiting", None),
        ("Exceeded MaxRequestBatch of many", None),
        ("Exceeded MaxRequestBatch of " + "9" * 50, None),
    ],
)
def test_limits_are_numbers_or_go_durations(text, limit):
    assert limit_of(text) == limit


def test_pending_headers_are_read_and_never_negative():
    block = b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\nNats-Pending-Bytes: -1\r\n\r\n"

    assert pending_of(block) == (3, 0)


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        b"Nats-Pending-Messages: 3\r\n",
        b"Nats-Pending-Bytes: 3\r\n",
        b"Nats-Pending-Messages: x\r\nNats-Pending-Bytes: 3\r\n",
        b"Nats-Pending-Messages: " + b"1" * 40 + b"\r\nNats-Pending-Bytes: 3\r\n",
    ],
)
def test_pending_headers_that_are_missing_or_damaged_are_none(headers):
    assert pending_of(b"NATS/1.0 408 Request Timeout\r\n" + headers + b"\r\n") is None
