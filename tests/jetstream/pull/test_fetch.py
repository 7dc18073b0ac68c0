from __future__ import annotations

import json
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
)
from jsproto.jetstream import errors
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.jetstream.pull.fetch import (
    TRANSITIONS,
    Fetch,
    FetchInput,
    FetchMode,
    FetchOne,
    FetchOptions,
    FetchState,
)
from jsproto.jetstream.pull.fetch_options import AT_ONCE
from jsproto.jetstream.pull.request import PullNotice, message_size
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish, Sub, Unsub

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
LOST = ConnectionLost("the link was lost")


def started(up: bool = True, at: float = 0.0, **options: object) -> Fetch[JsMessage]:
    fetch: Fetch[JsMessage] = Fetch(NEXT, FetchOptions(**options))
    fetch.port = Port(up=up)
    fetch.opened(at)
    return fetch


def pulls(fetch: Fetch[JsMessage]) -> list[dict[str, object]]:
    return [
        json.loads(each.payload)
        for each in fetch.port.commands
        if isinstance(each, Publish) and each.subject == NEXT
    ]


def naks(fetch: Fetch[JsMessage]) -> list[str]:
    return [
        each.subject
        for each in fetch.port.commands
        if isinstance(each, Publish) and each.payload == b"-NAK"
    ]


def data(fetch: Fetch[JsMessage], *numbers: int, payload: bytes = b"x", block: bytes | None = None):
    return [
        (fetch.port.sid, "s.a", f"$JS.ACK.S.C.1.{n}.{n}.1795811553265218855.0", block, payload)
        for n in numbers
    ]


def status(
    fetch: Fetch[JsMessage], code: int, text: str = "", headers: str = "", token: str | None = None
):
    subject = token or (fetch.pull.token if fetch.pull else "_INBOX.P.1.1.0")
    block = f"NATS/1.0 {code} {text}".rstrip() + f"\r\n{headers}\r\n"
    return (fetch.port.sid, subject, "", block.encode(), b"")


def pending(messages: int, size: int = 0) -> str:
    return f"Nats-Pending-Messages: {messages}\r\nNats-Pending-Bytes: {size}\r\n"


def taken(fetch: Fetch[JsMessage]) -> list[int]:
    items = []
    while (item := fetch.take(0.0)) is not ENDED and item is not NEED_DATA:
        items.append(int(item.reply.split(".")[5]))
    return items


def fenced(fetch: Fetch[JsMessage]) -> None:
    fetch.fenced(fetch.port.fences.popleft(), 0.0)


def delivered(fetch: Fetch[JsMessage], *numbers: tuple[int, int]):
    """Messages by sequence and number of deliveries."""
    return [
        (fetch.port.sid, "s.a", f"$JS.ACK.S.C.{times}.{n}.{n}.1795811553265218855.0", None, b"x")
        for n, times in numbers
    ]


# ------------------------------------------------------------------ a fetch that outlasts ack_wait


def test_a_fetch_that_gets_its_own_messages_again_says_so_once():
    fetch = started(max_messages=9, expires=5.0)
    fetch.delivered(delivered(fetch, (4, 1), (7, 1)), 0.1)
    assert fetch.port.notices == []

    fetch.delivered(delivered(fetch, (4, 2), (7, 2), (8, 1)), 1.1)
    fetch.delivered(delivered(fetch, (4, 3), (7, 3)), 2.1)

    assert fetch.port.notices == [(PullNotice.REDELIVERED, 2)]
    assert taken(fetch) == [4, 7, 4, 7, 8, 4, 7], "each delivery is handed out"


def test_a_copy_that_fills_the_fetch_is_told_too():
    fetch = started(max_messages=2, expires=5.0)
    fetch.delivered(delivered(fetch, (4, 1)), 0.1)
    fetch.delivered(delivered(fetch, (4, 2)), 1.1)

    assert (fetch.reason, fetch.port.notices) == (EndReason.FILLED, [(PullNotice.REDELIVERED, 1)])


def test_copies_at_the_end_of_a_run_are_seen():
    fetch = started(max_messages=9, expires=5.0)
    fetch.delivered(delivered(fetch, (4, 1)), 0.1)
    fetch.delivered(delivered(fetch, (5, 1), (4, 2)), 1.1)

    assert fetch.port.notices == [(PullNotice.REDELIVERED, 1)]


@pytest.mark.parametrize("wait", [None, 5.0])
def test_what_was_with_another_reader_before_is_no_copy(wait):
    fetch = started(max_messages=9, expires=5.0, acking=AckOptions(wait=wait))
    fetch.delivered(delivered(fetch, (4, 3), (7, 1)), 0.1)
    fetch.delivered(delivered(fetch, (3, 2), (8, 1)), 1.1)
    fetch.delivered(delivered(fetch, (9, 1)), 1.2)

    assert fetch.port.notices == []


def test_nothing_comes_again_before_a_known_ack_wait_is_over():
    fetch = started(max_messages=9, expires=5.0, acking=AckOptions(wait=1.0))
    fetch.delivered(delivered(fetch, (4, 1)), 0.1)
    fetch.delivered(delivered(fetch, (5, 2)), 1.0)
    assert fetch.port.notices == []

    fetch.delivered(delivered(fetch, (4, 2)), 1.2)
    assert fetch.port.notices == [(PullNotice.REDELIVERED, 1)]


def test_a_message_that_says_nothing_readable_of_its_deliveries_is_no_copy():
    fetch = started(max_messages=9, expires=5.0)
    fetch.delivered(delivered(fetch, (4, 1)), 0.1)
    fetch.delivered([(fetch.port.sid, "s.a", "$JS.ACK.odd", None, b"x")], 1.1)

    assert fetch.port.notices == []


# ------------------------------------------------------------------ the request


def test_a_fetch_subscribes_to_its_own_inbox_and_then_asks_with_a_token_below_it():
    fetch = started(max_messages=10, expires=5.0)

    assert fetch.port.commands == [
        Sub("_INBOX.P.1.1.*", "2"),
        Publish(NEXT, b'{"batch":10,"expires":5000000000}', "_INBOX.P.1.1.1"),
    ]


def test_from_ten_seconds_on_heartbeats_are_asked_for_capped_at_half():
    assert "idle_heartbeat" not in pulls(started(max_messages=1, expires=9.9))[0]
    assert pulls(started(max_messages=1, expires=10.0))[0]["idle_heartbeat"] == 5_000_000_000
    assert pulls(started(max_messages=1))[0] == {
        "batch": 1,
        "expires": 30_000_000_000,
        "idle_heartbeat": 5_000_000_000,
    }


def test_a_fetch_by_bytes_asks_for_a_large_batch():
    assert pulls(started(max_bytes=4096, expires=1.0)) == [
        {"batch": 1_000_000, "max_bytes": 4096, "expires": 1_000_000_000}
    ]


def test_both_bounds_can_be_asked_for():
    assert pulls(started(max_messages=5, max_bytes=4096, expires=1.0))[0] == {
        "batch": 5,
        "max_bytes": 4096,
        "expires": 1_000_000_000,
    }


def test_b046_no_wait_is_sent_without_an_expiry():
    assert pulls(started(max_messages=9, mode=FetchMode.NO_WAIT, expires=3.0)) == [
        {"batch": 9, "no_wait": True}
    ]


def test_drain_then_wait_is_no_wait_with_an_expiry():
    assert pulls(started(max_messages=9, mode=FetchMode.DRAIN_THEN_WAIT, expires=3.0)) == [
        {"batch": 9, "no_wait": True, "expires": 3_000_000_000}
    ]


def test_priority_groups_are_asked_for():
    fetch = started(
        max_messages=1,
        expires=1.0,
        group="g",
        priority=2,
        min_pending=3,
        min_ack_pending=4,
        pin="abc",
    )

    assert pulls(fetch)[0] == {
        "batch": 1,
        "expires": 1_000_000_000,
        "group": "g",
        "min_pending": 3,
        "min_ack_pending": 4,
        "priority": 2,
        "id": "abc",
    }


def test_b064_the_same_options_give_the_same_request():
    options = FetchOptions(max_messages=1, expires=5.0)
    bodies = []
    for _ in range(2):
        fetch: Fetch[JsMessage] = Fetch(NEXT, options)
        fetch.port = Port()
        fetch.opened(0.0)
        bodies.append(pulls(fetch))

    assert bodies[0] == bodies[1] == [{"batch": 1, "expires": 5_000_000_000}]
    assert options == FetchOptions(max_messages=1, expires=5.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "expected max_messages or max_bytes"),
        ({"max_messages": 0}, "expected max_messages from 1"),
        ({"max_bytes": 0}, "expected max_bytes from 1"),
        ({"max_messages": 1, "group": "g", "pin": 'a","expires":1,"x":"'}, "expected a pin id"),
        ({"max_messages": 1, "group": "g", "pin": 7}, "expected a pin id"),
        ({"max_messages": 1, "expires": 0.0}, "expected expires > 0"),
        ({"max_messages": 1, "expires": float("nan")}, "expected expires > 0"),
        ({"max_messages": 1, "timeout": -1.0}, "expected timeout > 0"),
        (
            {"max_messages": 1, "timeout": 1.0, "expires": 2.0},
            "expected a timeout of at least expires",
        ),
        ({"max_messages": 1, "expires": 1.0, "idle_heartbeat": 0.9}, "at most half of expires"),
        ({"max_messages": 1, "expires": inf, "idle_heartbeat": 1.0}, "at most half of expires"),
        (
            {"max_messages": 1, "mode": FetchMode.NO_WAIT, "idle_heartbeat": 1.0},
            "at most half of expires",
        ),
    ],
)
def test_b059_options_that_can_not_work_are_refused_before_sending(options, expected):
    with pytest.raises(InvalidConfig, match=expected):
        FetchOptions(**options)


# ------------------------------------------------------------------ good ends


def test_a_full_batch_ends_the_fetch_at_once():
    fetch = started(max_messages=3)
    fetch.delivered(data(fetch, 1, 2, 3), 0.1)

    assert (fetch.reason, fetch.ended, fetch.finished, fetch.readable) == (
        EndReason.FILLED,
        True,
        True,
        3,
    )
    assert fetch.port.commands[2:] == [Unsub("2")]
    assert taken(fetch) == [1, 2, 3]
    assert fetch.take(0.1) is ENDED


def test_messages_come_in_one_list_too():
    fetch = started(max_messages=3)
    assert fetch.take_all(0.0) is NEED_DATA
    fetch.delivered(data(fetch, 1, 2), 0.1)
    fetch.delivered(data(fetch, 3), 0.1)
    items = fetch.take_all(0.1)

    assert [type(item) for item in items] == [JsMessage] * 3
    assert fetch.take_all(0.1) is ENDED


def test_an_expired_pull_gives_what_there_is_and_no_error():
    fetch = started(max_messages=5, expires=1.0)
    fetch.delivered([*data(fetch, 1, 2), status(fetch, 408, "Request Timeout", pending(3))], 1.0)

    assert taken(fetch) == [1, 2]
    assert (fetch.take(1.0), fetch.reason, fetch.cause) == (ENDED, EndReason.EXPIRED, None)
    assert fetch.finished


@pytest.mark.parametrize(
    ("code", "text", "headers", "reason"),
    [
        (404, "No Messages", "", EndReason.NO_MESSAGES),
        (408, "Request Timeout", pending(5), EndReason.EXPIRED),
    ],
)
def test_b049_a_partial_no_wait_batch_ends_well_on_old_and_new_servers(code, text, headers, reason):
    fetch = started(max_messages=10, mode=FetchMode.NO_WAIT)
    fetch.delivered(data(fetch, 1, 2, 3, 4, 5), 0.1)
    fetch.delivered([status(fetch, code, text, headers)], 0.1)

    assert (taken(fetch), fetch.reason, fetch.cause) == ([1, 2, 3, 4, 5], reason, None)


def test_b047_requests_pending_ends_a_no_wait_fetch():
    fetch = started(max_messages=5, mode=FetchMode.NO_WAIT)
    fetch.delivered([status(fetch, 408, "Requests Pending")], 0.1)

    assert (fetch.take(0.1), fetch.reason) == (ENDED, EndReason.REQUESTS_PENDING)


def test_b047_requests_pending_is_waited_for_when_there_is_time():
    fetch = started(max_messages=5, mode=FetchMode.DRAIN_THEN_WAIT, expires=3.0)
    first = fetch.pull
    fetch.delivered([status(fetch, 408, "Requests Pending")], 0.5)

    assert pulls(fetch)[1] == {"batch": 5, "expires": 2_500_000_000}
    assert first is not None
    assert first.end is EndReason.REQUESTS_PENDING
    fetch.delivered(data(fetch, 1, 2, 3, 4, 5), 1.0)
    assert (taken(fetch), fetch.reason) == ([1, 2, 3, 4, 5], EndReason.FILLED)


def test_b047_who_waits_behind_others_is_not_told_of_them_again_and_asks_in_no_loop():
    fetch = started(max_messages=5, mode=FetchMode.DRAIN_THEN_WAIT, expires=3.0)
    for _ in range(2):
        fetch.delivered([status(fetch, 408, "Requests Pending")], 0.5)

    assert (fetch.reason, len(pulls(fetch))) == (EndReason.REQUESTS_PENDING, 2)


def test_requests_pending_with_no_time_left_is_an_end():
    fetch = started(max_messages=5, mode=FetchMode.DRAIN_THEN_WAIT, expires=3.0)
    fetch.delivered([status(fetch, 408, "Requests Pending")], 3.1)

    assert (fetch.reason, len(pulls(fetch))) == (EndReason.REQUESTS_PENDING, 1)


def test_b055_never_more_than_asked_for_over_all_requests():
    fetch = started(max_messages=3)
    fetch.delivered(data(fetch, 1, 2, 3, 4, 5), 0.1)

    assert taken(fetch) == [1, 2, 3]
    assert [reply.split(".")[5] for reply in naks(fetch)] == ["4", "5"]
    assert fetch.port.notices == [(PullNotice.RETURNED, 2)]


def test_bytes_used_up_exactly_are_a_silent_end():
    fetch = started(max_bytes=242 * 2, expires=1.0)
    frame = ("2", "s.a", "$JS.ACK.S.C.1.2.2.1795811553265218855.1", None, b"x" * 200)
    fetch.delivered([frame, frame], 0.1)

    assert (fetch.reason, fetch.size, fetch.finished) == (EndReason.BYTES_SPENT, 484, True)


def test_a_message_that_does_not_fit_any_more_is_a_good_end():
    fetch = started(max_bytes=300, expires=1.0)
    fetch.delivered(data(fetch, 1, payload=b"x" * 200), 0.1)
    fetch.delivered(
        [status(fetch, 409, "Message Size Exceeds MaxBytes", pending(999_999, 58))], 0.1
    )

    assert (taken(fetch), fetch.reason, fetch.cause) == ([1], EndReason.BYTES_SPENT, None)


@pytest.mark.parametrize("headers", [pending(1_000_000, 100), ""])
def test_a_message_larger_than_the_whole_budget_is_an_error(headers):
    fetch = started(max_bytes=100, expires=1.0)
    fetch.delivered([status(fetch, 409, "Message Size Exceeds MaxBytes", headers)], 0.1)

    assert fetch.reason is EndReason.TOO_LARGE
    with pytest.raises(errors.NextMessageTooLarge):
        fetch.take(0.1)


def test_a_full_batch_with_bytes_left_waits_for_the_word_that_still_comes():
    fetch = started(max_messages=2, max_bytes=100_000, expires=1.0)
    fetch.delivered(data(fetch, 1, 2), 0.1)

    assert (fetch.reason, fetch.ended, fetch.finished) == (EndReason.FILLED, True, False)
    fetch.delivered([status(fetch, 409, "Batch Completed", pending(0, 99_000))], 0.1)
    fenced(fetch)
    assert (fetch.reason, fetch.finished) == (EndReason.FILLED, True)


def test_batch_completed_ends_a_fetch_that_counted_otherwise():
    fetch = started(max_messages=2, max_bytes=100_000, expires=1.0)
    fetch.delivered([status(fetch, 409, "Batch Completed", pending(0, 99_000))], 0.1)

    assert fetch.reason is EndReason.FILLED


def test_the_pin_id_is_kept_for_the_next_fetch_and_not_charged():
    fetch = started(max_bytes=10_000, expires=1.0, group="g")
    block = b"NATS/1.0\r\nNats-Pin-Id: wt1DeYRdH17hVMgqJTThkY\r\n\r\n"
    fetch.delivered(data(fetch, 1, block=block, payload=b"0"), 0.1)
    fetch.delivered(data(fetch, 2), 0.1)

    assert fetch.pin == "wt1DeYRdH17hVMgqJTThkY"
    assert fetch.port.notices == [(PullNotice.PINNED, "wt1DeYRdH17hVMgqJTThkY")]
    assert fetch.size == 2 * (len("s.a") + len("$JS.ACK.S.C.1.1.1.1795811553265218855.0") + 1)


# ------------------------------------------------------------------ errors


def test_b056_a_limit_exceeded_is_raised_at_once_with_the_servers_text():
    fetch = started(max_messages=10)
    fetch.delivered([status(fetch, 409, "Exceeded MaxRequestBatch of 2")], 0.1)

    with pytest.raises(errors.PullLimitExceeded) as raised:
        fetch.take(0.1)
    assert (raised.value.code, raised.value.description, raised.value.limit) == (
        409,
        "Exceeded MaxRequestBatch of 2",
        2,
    )
    assert fetch.reason is EndReason.REFUSED


@pytest.mark.parametrize(
    ("code", "text", "error", "reason"),
    [
        (409, "Consumer Deleted", errors.ConsumerDeleted, EndReason.DELETED),
        (409, "Consumer is push based", errors.ConsumerIsPush, EndReason.FATAL),
        (409, "Leadership Change", errors.LeadershipChanged, EndReason.RESET),
        (409, "Server Shutdown", errors.ServerShutdown, EndReason.RESET),
        (400, "Bad Request - heartbeat value too large", errors.BadRequestStatus, EndReason.FATAL),
        (412, "Required Api Level", errors.HigherApiLevelRequired, EndReason.FATAL),
        (423, "Nats-Pin-Id mismatch", errors.PinLost, EndReason.PIN_LOST),
        (503, "", NoResponders, EndReason.NO_RESPONDERS),
        (599, "Never Heard Of", errors.UnknownStatus, EndReason.UNKNOWN),
    ],
)
def test_a_status_that_is_an_error_is_raised_if_nothing_came(code, text, error, reason):
    fetch = started(max_messages=10)
    fetch.delivered([status(fetch, code, text)], 0.1)

    assert (fetch.reason, fetch.finished) == (reason, True)
    with pytest.raises(error):
        fetch.take(0.1)


def test_messages_at_hand_are_given_with_the_reason_and_no_error_is_raised():
    fetch = started(max_messages=10)
    fetch.delivered([*data(fetch, 1, 2), status(fetch, 409, "Consumer Deleted")], 0.1)

    assert (taken(fetch), fetch.reason, fetch.error) == ([1, 2], EndReason.DELETED, None)
    assert isinstance(fetch.cause, errors.ConsumerDeleted)


def test_an_unknown_status_below_400_is_reported_and_ends_nothing():
    fetch = started(max_messages=10)
    fetch.delivered([status(fetch, 100, "Something Else")], 0.1)

    assert not fetch.ended
    assert [kind for kind, _ in fetch.port.notices] == [PullNotice.UNKNOWN_STATUS]


def test_a_missing_permission_ends_the_fetch():
    fetch = started(max_messages=10)
    fetch.refused("something.else", PermissionViolation("no", "something.else"), 0.1)
    assert not fetch.ended
    fetch.refused(NEXT, PermissionViolation("no", NEXT), 0.1)
    fetch.refused(NEXT, PermissionViolation("again", NEXT), 0.1)

    assert fetch.reason is EndReason.REFUSED
    with pytest.raises(PermissionViolation, match="no"):
        fetch.take(0.1)


# ------------------------------------------------------------------ statuses find their own fetch


def test_b043_a_status_of_an_earlier_fetch_changes_nothing():
    fetch = started(max_messages=2)
    fetch.delivered(
        [status(fetch, 408, "Request Timeout", pending(2), token="_INBOX.P.1.1.77")], 0.1
    )

    assert (fetch.ended, fetch.strays) == (False, 1)
    fetch.delivered(data(fetch, 1, 2), 0.2)
    assert taken(fetch) == [1, 2]


def test_b044_two_fetches_have_two_inboxes_and_two_tokens():
    first = started(max_messages=1, expires=1.0)
    first.ticked(1.2)
    second: Fetch[JsMessage] = Fetch(NEXT, FetchOptions(max_messages=1, expires=5.0))
    second.port = Port(2)
    second.opened(1.3)

    assert (first.reason, first.take(1.2)) == (EndReason.DEADLINE, ENDED)
    assert first.pull is not None
    assert second.pull is not None
    assert first.pull.token != second.pull.token
    second.delivered([status(second, 408, "Request Timeout", token=first.pull.token)], 1.31)
    assert not second.ended
    second.delivered(data(second, 1), 3.0)
    assert taken(second) == [1]


def test_b050_a_status_frame_is_never_a_message():
    fetch = started(max_messages=1)
    fetch.delivered(
        [status(fetch, 408, "Request Timeout", token="_INBOX.P.1.1.9"), *data(fetch, 1)],
        0.1,
    )

    assert taken(fetch) == [1]


def test_a_stored_message_with_a_forged_status_line_is_a_message():
    fetch = started(max_messages=1)
    fetch.delivered(data(fetch, 1, block=b"NATS/1.0 404 No Messages\r\n\r\n", payload=b""), 0.1)

    assert (taken(fetch), fetch.reason) == ([1], EndReason.FILLED)


def test_frames_that_are_neither_message_nor_status_are_counted():
    fetch = started(max_messages=1)
    fetch.delivered(
        [
            (fetch.port.sid, "_INBOX.P.1.1.1", "", None, b"hello"),
            (fetch.port.sid, "x", "", b"NATS/1.0\r\n\r\n", b""),
        ],
        0.1,
    )

    assert (fetch.ended, fetch.readable, fetch.strays) == (False, 0, 2)


def test_a_status_after_the_end_changes_nothing():
    fetch = started(max_messages=1)
    frame = status(fetch, 408, "Request Timeout", pending(1))
    fetch.delivered([frame], 0.1)
    fetch.delivered([frame], 0.2)

    assert (fetch.reason, fetch.strays) == (EndReason.EXPIRED, 1)


# ------------------------------------------------------------------ time


def test_b052_the_local_deadline_lies_behind_the_servers():
    fetch = started(max_messages=1, timeout=5.0)

    assert pulls(fetch)[0]["expires"] == 4_500_000_000
    fetch.ticked(4.6)
    fetch.delivered(data(fetch, 1), 4.7)
    assert taken(fetch) == [1]


def test_b052_what_comes_after_the_end_goes_back_to_the_server():
    fetch = started(max_messages=1, timeout=5.0)
    fetch.ticked(5.0)
    assert (fetch.reason, fetch.take(5.0), fetch.finished) == (EndReason.DEADLINE, ENDED, False)
    assert fetch.port.commands[3:] == [Unsub("2"), Ping()]
    fetch.delivered(data(fetch, 1), 5.2)

    assert [reply.split(".")[5] for reply in naks(fetch)] == ["1"]
    assert (fetch.returned, fetch.finished) == (1, False)
    fetch.fenced(999, 5.3)
    assert not fetch.finished
    fenced(fetch)
    assert (fetch.finished, fetch.deadline) == (True, None)


def test_what_comes_when_it_can_not_be_given_back_is_counted():
    fetch = started(max_messages=1)
    fetch.closed(None, 0.1)
    fetch.port.up = False
    fetch.delivered(data(fetch, 1), 0.1)

    assert (fetch.strays, fetch.returned) == (1, 0)


@pytest.mark.parametrize(
    ("options", "server", "local"),
    [
        ({"expires": 1.0}, 1.0, 1.2),
        ({"expires": 30.0}, 30.0, 33.0),
        ({"expires": 100.0}, 100.0, 105.0),
        ({"timeout": 5.0}, 4.5, 5.0),
        ({"timeout": 1.0}, 0.9, 1.0),
        ({"timeout": 0.5}, 0.45, 0.5),
        ({"timeout": 0.02}, 0.01, 0.02),
        ({"timeout": 0.1}, 0.05, 0.1),
        ({"timeout": 5.0, "expires": 4.9}, 4.9, 5.0),
        ({}, 30.0, 33.0),
    ],
)
def test_both_times_are_visible(options, server, local):
    made = FetchOptions(max_messages=1, **options)

    assert (made.server_wait, made.wait) == (pytest.approx(server), pytest.approx(local))


@given(st.floats(min_value=1e-3, max_value=1e6))
def test_the_local_deadline_is_always_later_than_the_servers(seconds):
    for options in (
        FetchOptions(max_messages=1, expires=seconds),
        FetchOptions(max_messages=1, timeout=seconds),
    ):
        assert options.server_wait < options.wait


def test_b062_a_fetch_without_an_expiry_waits_for_ever():
    fetch = started(max_messages=1, expires=inf)

    assert pulls(fetch) == [{"batch": 1}]
    assert fetch.deadline is None
    fetch.ticked(1e9)
    assert not fetch.ended


def test_b062_a_very_long_expiry_is_no_past_deadline():
    fetch = started(max_messages=1, expires=1e12)

    assert pulls(fetch)[0]["expires"] == 2**63 - 1
    fetch.ticked(1.0)
    assert not fetch.ended


def test_b058_without_heartbeats_silence_ends_nothing():
    fetch = started(max_messages=1, expires=5.0, idle_heartbeat=0.0)
    fetch.ticked(4.0)
    fetch.delivered(data(fetch, 1), 4.0)

    assert taken(fetch) == [1]


def test_missed_heartbeats_end_the_fetch():
    fetch = started(max_messages=5, expires=30.0)
    fetch.delivered([status(fetch, 100, "Idle Heartbeat")], 5.0)
    assert fetch.deadline == 15.0
    fetch.ticked(15.0)

    assert (fetch.reason, fetch.finished) == (EndReason.SILENT, False)
    with pytest.raises(errors.HeartbeatsMissed, match="nothing came for 10 s"):
        fetch.take(15.0)


def test_a_heartbeat_is_no_message_and_no_end():
    fetch = started(max_messages=5)
    fetch.delivered([status(fetch, 100, "Idle Heartbeat")], 5.0)

    assert (fetch.ended, fetch.readable, fetch.got) == (False, 0, 0)


def test_a_no_wait_fetch_that_the_server_never_answers_is_closed_here():
    fetch = started(max_messages=1, mode=FetchMode.NO_WAIT, expires=2.0)
    assert fetch.deadline == pytest.approx(2.2)
    fetch.ticked(2.2)

    assert (fetch.reason, fetch.port.commands[2:]) == (EndReason.DEADLINE, [Unsub("2"), Ping()])


@given(st.floats(-1e6, 1e6))
def test_only_differences_of_time_count(start):
    fetch = started(at=start, max_messages=1, expires=8.0)

    assert fetch.deadline == pytest.approx(start + 8.8)


# ------------------------------------------------------------------ the link


def test_b053_link_loss_ends_a_fetch_at_once_with_what_came():
    fetch = started(max_messages=10)
    fetch.delivered(data(fetch, 1, 2), 0.5)
    fetch.port.up = False
    fetch.link_down(LOST, 1.0)

    assert (taken(fetch), fetch.reason, fetch.cause, fetch.finished) == (
        [1, 2],
        EndReason.DISCONNECTED,
        LOST,
        True,
    )


def test_b053_link_loss_is_an_error_if_nothing_came():
    fetch = started(max_messages=10)
    fetch.port.up = False
    fetch.link_down(LOST, 1.0)

    with pytest.raises(ConnectionLost):
        fetch.take(1.0)


def test_opened_without_a_link_it_waits_for_one_and_asks_for_the_time_that_is_left():
    fetch = started(up=False, max_messages=1, expires=10.0)
    assert (pulls(fetch), fetch.deadline) == ([], 11.0)
    fetch.ticked(5.0)
    fetch.port.up = True
    fetch.port.renew()
    fetch.link_up(6.0)

    assert pulls(fetch) == [{"batch": 1, "expires": 4_000_000_000, "idle_heartbeat": 2_000_000_000}]
    assert fetch.pull is not None
    assert fetch.pull.token.startswith("_INBOX.P.1.2.")
    fetch.link_up(6.0)
    assert len(pulls(fetch)) == 1


def test_a_link_that_comes_too_late_is_not_asked_and_the_deadline_says_so():
    fetch = started(up=False, max_messages=1, expires=1.0)
    fetch.port.up = True
    fetch.link_up(1.1)
    assert (pulls(fetch), fetch.ended) == ([], False)
    fetch.link_down(LOST, 1.15)
    fetch.ticked(1.2)

    assert fetch.reason is EndReason.DISCONNECTED
    with pytest.raises(ConnectionLost, match="expected a link within"):
        fetch.take(1.2)


def test_a_fence_that_is_lost_with_its_link_is_not_waited_for():
    fetch = started(max_messages=1)
    fetch.closed(None, 0.1)
    assert not fetch.finished
    fetch.port.up = False
    fetch.link_down(LOST, 0.2)

    assert (fetch.finished, fetch.reason) == (True, EndReason.CLOSED)


# ------------------------------------------------------------------ the user leaves


def test_b061_close_gives_back_what_was_not_taken():
    fetch = started(max_messages=6)
    fetch.delivered(data(fetch, 1, 2, 3, 4, 5), 0.1)
    fetch.take(0.1)
    fetch.take(0.1)
    fetch.port.commands.clear()
    fetch.closed(None, 0.2)

    assert fetch.port.commands[:2] == [Unsub("2"), Ping()]
    assert [reply.split(".")[5] for reply in naks(fetch)] == ["3", "4", "5"]
    assert (fetch.reason, fetch.take(0.2), fetch.finished) == (EndReason.CLOSED, ENDED, False)
    fenced(fetch)
    assert fetch.finished


def test_leaving_a_filled_fetch_early_gives_back_the_rest():
    fetch = started(max_messages=3)
    fetch.delivered(data(fetch, 1, 2, 3), 0.1)
    fetch.take(0.1)
    fetch.closed(None, 0.2)
    fetch.closed(None, 0.2)

    assert (fetch.reason, fetch.returned, fetch.readable) == (EndReason.FILLED, 2, 0)


def test_without_a_link_what_was_not_taken_stays_at_hand():
    fetch = started(max_messages=3)
    fetch.delivered(data(fetch, 1), 0.1)
    fetch.port.up = False
    fetch.link_down(LOST, 0.2)
    fetch.closed(None, 0.2)

    assert taken(fetch) == [1]


def test_a_closed_connection_is_the_error_of_a_fetch_without_messages():
    closed = ConnectionClosed("the connection was closed")
    fetch = started(max_messages=3)
    fetch.closed(closed, 0.1)
    assert (fetch.reason, fetch.cause) == (EndReason.DISCONNECTED, closed)
    with pytest.raises(ConnectionClosed):
        fetch.take(0.1)

    other = started(max_messages=3)
    other.closed(LocalProtocolError("refused"), 0.1)
    assert other.reason is EndReason.CLOSED


def test_a_fetch_that_was_never_opened_can_be_closed():
    fetch: Fetch[JsMessage] = Fetch(NEXT, FetchOptions(max_messages=1))
    fetch.closed(None, 0.0)

    assert (fetch.finished, fetch.take(0.0)) == (True, ENDED)


def test_b211_drain_hands_out_what_comes_before_the_fence():
    fetch = started(max_messages=5)
    fetch.delivered(data(fetch, 1), 0.1)
    fetch.told(StopMode.DRAIN, 0.2)
    assert fetch.port.commands[2:] == [Unsub("2"), Ping()]
    fetch.delivered(data(fetch, 2), 0.3)
    assert not fetch.ended
    fenced(fetch)

    assert (taken(fetch), fetch.reason, fetch.finished) == ([1, 2], EndReason.CLOSED, True)


def test_b209_drain_without_a_link_ends_at_once():
    fetch = started(up=False, max_messages=5)
    fetch.told(StopMode.DRAIN, 0.2)
    assert (fetch.reason, fetch.finished) == (EndReason.CLOSED, True)

    other = started(max_messages=5)
    other.told(StopMode.DRAIN, 0.2)
    other.port.up = False
    other.link_down(LOST, 0.3)
    assert (other.reason, other.finished) == (EndReason.CLOSED, True)


def test_a_drain_can_be_filled_or_cut():
    fetch = started(max_messages=1)
    fetch.told(StopMode.DRAIN, 0.2)
    fetch.delivered(data(fetch, 1), 0.3)
    fenced(fetch)
    assert (fetch.reason, fetch.finished) == (EndReason.FILLED, True)

    other = started(max_messages=1)
    other.told(StopMode.DRAIN, 0.2)
    other.closed(None, 0.3)
    other.delivered(data(other, 1), 0.3)
    assert (other.reason, other.returned, other.finished) == (EndReason.CLOSED, 1, False)


def test_stop_waits_for_the_pull_that_is_open():
    fetch = started(max_messages=2)
    fetch.told(StopMode.STOP, 0.1)
    assert not fetch.ended
    fetch.delivered(data(fetch, 1, 2), 0.3)

    assert fetch.reason is EndReason.FILLED


# ------------------------------------------------------------------ next


def test_next_is_a_fetch_of_one():
    one: FetchOne[JsMessage] = FetchOne(NEXT)
    one.port = Port()
    one.opened(0.0)
    one.delivered(data(one, 1), 0.1)

    assert taken(one) == [1]


def test_next_for_more_than_one_is_refused():
    with pytest.raises(InvalidConfig, match="expected max_messages=1"):
        FetchOne(NEXT, FetchOptions(max_messages=2))


def test_the_users_message_can_be_of_a_class_of_his_own():
    fetch: Fetch[tuple[bytes, object]] = Fetch(
        NEXT, FetchOptions(max_messages=1), lambda frame, feed: (frame[4], feed)
    )
    fetch.port = Port()
    fetch.opened(0.0)
    fetch.delivered([("2", "s", "$JS.ACK.S.C.1.1.1.1.0", None, b"body")], 0.1)

    assert fetch.take(0.1) == (b"body", fetch)


# ------------------------------------------------------------------ tables and state


def test_every_state_is_reached_and_over_is_the_only_end():
    reached = {state for moves in TRANSITIONS.values() for state in moves.values()}

    assert reached | {FetchState.NEW} == set(FetchState)
    assert [state for state, moves in TRANSITIONS.items() if not moves] == [FetchState.OVER]
    assert {fact for moves in TRANSITIONS.values() for fact in moves} == set(FetchInput)


EVENTS = st.lists(
    st.sampled_from(
        [
            "data",
            "heartbeat",
            "expired",
            "tick",
            "down",
            "drain",
            "close",
            "fence",
            "take",
            "deleted",
        ]
    ),
    max_size=8,
)


@given(EVENTS, st.sampled_from(list(FetchMode)))
def test_a_snapshot_put_back_at_every_step_changes_nothing(events, mode):
    plain = started(max_messages=4, expires=20.0, mode=mode)
    other = started(max_messages=4, expires=20.0, mode=mode)
    fences = 0
    for step, event in enumerate(events):
        now = step * 4.0
        fresh: Fetch[JsMessage] = Fetch(NEXT, other.options)
        fresh.port = other.port
        fresh.restore(other.snapshot())
        assert fresh.snapshot() == other.snapshot()
        other = fresh
        for fetch in (plain, other):
            if event == "data":
                fetch.delivered(data(fetch, step + 1, step + 2), now)
            elif event in {"heartbeat", "expired", "deleted"}:
                code, text = {
                    "heartbeat": (100, "Idle Heartbeat"),
                    "expired": (408, "Request Timeout"),
                    "deleted": (409, "Consumer Deleted"),
                }[event]
                fetch.delivered([status(fetch, code, text)], now)
            elif event == "tick":
                fetch.ticked(now)
            elif event == "down":
                fetch.port.up = False
                fetch.port.fences.clear()
                fetch.link_down(LOST, now)
            elif event == "drain":
                fetch.told(StopMode.DRAIN, now)
            elif event == "close":
                fetch.closed(None, now)
            elif event == "fence" and fetch.port.fences:
                fences += 1
                fenced(fetch)
            elif event == "take" and fetch.readable:
                fetch.take(now)
        assert plain.port.commands == other.port.commands
        assert (plain.reason, plain.deadline, plain.readable, plain.finished) == (
            other.reason,
            other.deadline,
            other.readable,
            other.finished,
        )


def test_a_fetch_that_waits_for_a_link_can_be_put_back_too():
    fetch = started(up=False, max_messages=1)
    other: Fetch[JsMessage] = Fetch(NEXT, fetch.options)
    other.port = Port(up=False)
    other.restore(fetch.snapshot())

    assert (other.pull, other.state, other.deadline) == (None, FetchState.WAITING, fetch.deadline)


def test_a_fetch_of_one_without_heartbeats_gives_up_its_interest_as_it_asks():
    one = started(max_messages=1, expires=5.0)
    more = started(max_messages=2, expires=5.0)
    beating = started(max_messages=1, expires=30.0)

    assert [Unsub("2", 1)] == [
        command for command in one.port.commands if isinstance(command, Unsub)
    ]
    assert [] == [
        command
        for each in (more, beating)
        for command in each.port.commands
        if isinstance(command, Unsub)
    ]


# ------------------------------------------------------------------ what is left of the time, and of the amount


def late(at: float, **options: object) -> Fetch[JsMessage]:
    """Opened at 100 without a link, which comes at ``at``."""
    fetch = started(up=False, at=100.0, **options)
    fetch.port.up = True
    fetch.port.commands.clear()
    fetch.link_up(at)
    return fetch


def test_a_late_link_leaves_the_rest_of_the_time():
    assert pulls(late(103.0, max_messages=1, expires=9.0))[0]["expires"] == 6_000_000_000


def test_a_link_that_comes_at_the_last_moment_is_still_asked_and_one_behind_it_is_not():
    assert pulls(late(104.5, max_messages=1, expires=5.0))[0]["expires"] == 500_000_000
    assert pulls(late(105.0, max_messages=1, expires=5.0)) == []


def test_a_late_fetch_that_shall_not_wait_still_does_not():
    fetch = late(101.0, max_messages=1, expires=5.0, mode=FetchMode.DRAIN_THEN_WAIT)

    assert pulls(fetch) == [{"batch": 1, "no_wait": True, "expires": 4_000_000_000}]


def test_a_shorter_request_promises_heartbeats_more_often():
    fetch = late(126.0, max_messages=1, expires=30.0, idle_heartbeat=5.0)
    assert pulls(fetch)[0]["idle_heartbeat"] == 2_000_000_000
    fetch.ticked(130.0)

    assert fetch.reason is EndReason.SILENT


def test_the_second_question_asks_for_what_is_still_missing():
    fetch = started(max_messages=10, max_bytes=1000, expires=9.0, mode=FetchMode.DRAIN_THEN_WAIT)
    frames = data(fetch, 1, 2, 3)
    fetch.delivered(frames, 0.0)
    size = sum(JsMessage(frame).size for frame in frames)
    fetch.delivered([status(fetch, 408, "Requests Pending")], 0.0)

    asked = pulls(fetch)[1]
    assert (asked["batch"], asked["max_bytes"]) == (7, 1000 - size)
    assert fetch.pull is not None
    assert (fetch.pull.got, fetch.pull.size, fetch.got, fetch.size) == (0, 0, 3, size)


def test_what_comes_in_several_parts_adds_up_and_only_what_is_above_goes_back():
    fetch = started(max_messages=3)
    fetch.delivered(data(fetch, 1), 0.0)
    fetch.delivered(data(fetch, 2), 0.0)
    fetch.delivered(data(fetch, 3, 4), 0.0)

    assert (fetch.got, taken(fetch)) == (3, [1, 2, 3])
    assert naks(fetch) == ["$JS.ACK.S.C.1.4.4.1795811553265218855.0"]


def test_bytes_that_come_in_several_parts_add_up():
    size = JsMessage(data(started(max_messages=1), 1)[0]).size
    fetch = started(max_bytes=2 * size)
    fetch.delivered(data(fetch, 1), 0.0)
    assert fetch.pulls(0.0)[0].owed_bytes == size
    fetch.delivered(data(fetch, 2), 0.0)

    assert (fetch.reason, fetch.size) == (EndReason.BYTES_SPENT, 2 * size)


def test_without_a_group_a_header_called_like_the_pin_is_charged():
    fetch = started(max_bytes=1000)
    frames = data(fetch, 1, block=b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n")
    fetch.delivered(frames, 0.0)

    assert fetch.size == JsMessage(frames[0]).size


# ------------------------------------------------------------------ signs of life and strange words


def test_a_message_is_a_sign_of_life():
    fetch = started(max_messages=5, idle_heartbeat=1.0)
    fetch.delivered(data(fetch, 1), 1.5)
    fetch.ticked(3.0)
    assert not fetch.ended
    fetch.ticked(3.5)

    assert fetch.reason is EndReason.SILENT


def test_the_factor_says_how_many_heartbeats_may_be_missed():
    fetch = started(max_messages=5, idle_heartbeat=1.0, heartbeat_factor=3.0)

    assert fetch.deadline == 3.0


def test_words_for_nobody_are_counted():
    fetch = started(max_messages=5)
    for _ in range(2):
        fetch.delivered([status(fetch, 408, "Request Timeout", token="_INBOX.P.1.1.99")], 0.0)

    assert fetch.strays == 2


def test_a_status_below_400_that_nobody_knows_is_told_and_ends_nothing():
    fetch = started(max_messages=5)
    fetch.delivered([status(fetch, 299, "News")], 0.0)
    ((kind, detail),) = fetch.port.notices

    assert kind is PullNotice.UNKNOWN_STATUS
    assert isinstance(detail, errors.UnknownStatus)
    assert "299 'News'" in str(detail)
    assert not fetch.ended


def test_too_large_is_only_what_the_whole_budget_can_not_hold():
    fetch = started(max_bytes=1000)
    fetch.delivered(
        [status(fetch, 409, "Message Size Exceeds MaxBytes", pending(1_000_000, 999))], 0.0
    )

    assert (fetch.reason, fetch.cause) == (EndReason.BYTES_SPENT, None)


def test_what_does_not_fit_behind_a_message_is_a_good_end_though_the_numbers_say_otherwise():
    fetch = started(max_bytes=1000)
    fetch.delivered(data(fetch, 1), 0.0)
    fetch.delivered(
        [status(fetch, 409, "Message Size Exceeds MaxBytes", pending(1_000_000, 1000))], 0.0
    )

    assert (fetch.reason, fetch.cause) == (EndReason.BYTES_SPENT, None)


def test_a_pull_that_waits_for_ever_has_no_moment_at_which_it_is_over():
    assert started(max_messages=1, expires=inf).pulls(7.0)[0].left is None
    bounded = started(max_messages=1, expires=5.0)
    assert bounded.pulls(1.0)[0].left == bounded.options.wait - 1.0


def test_one_message_is_asked_for_where_it_is_said_and_made_as_the_user_wishes():
    class Mine(JsMessage):
        pass

    one: FetchOne[Mine] = FetchOne(NEXT, message=Mine)
    one.port = Port()
    one.opened(0.0)
    assert [pull["batch"] for pull in pulls(one)] == [1]
    one.delivered(data(one, 1), 0.0)

    assert type(one.take(0.0)) is Mine


@pytest.mark.parametrize("at", [1.458556908883111, 0.123456789, 7.9999999999, 7.999999999999])
def test_a_late_link_is_asked_for_a_heartbeat_that_the_rest_of_the_time_allows(at):
    """Found by the simulator: the half of an odd number of nanoseconds is no whole one, and link up
    raised.
    """
    fetch = started(up=False, max_messages=3, expires=8.0, idle_heartbeat=4.0)
    fetch.port.up = True
    fetch.link_up(at)
    (pull,) = pulls(fetch)

    assert 2 * pull.get("idle_heartbeat", 0) <= pull["expires"] <= 8e9


# ------------------------------------------------------------------ what "at once" means, and what is nobody's


def test_not_waiting_is_bounded_by_what_at_once_means():
    fetch = started(max_messages=5, mode=FetchMode.NO_WAIT)

    assert pulls(fetch) == [{"batch": 5, "no_wait": True}]
    assert fetch.deadline is not None
    assert AT_ONCE < fetch.deadline < AT_ONCE + 1.0
    fetch.ticked(fetch.deadline)
    assert (fetch.take(9.0), fetch.reason) == (ENDED, EndReason.DEADLINE)


@pytest.mark.parametrize(("given", "seconds"), [({"timeout": 9.0}, 9.0), ({"expires": 5.0}, 5.5)])
def test_who_does_not_wait_can_still_say_how_long_an_answer_may_take(given, seconds):
    assert started(max_messages=5, mode=FetchMode.NO_WAIT, **given).deadline == seconds


@pytest.mark.parametrize(
    ("code", "reason"),
    [(404, EndReason.NO_MESSAGES), (408, EndReason.EXPIRED)],
    ids=["no messages", "expired"],
)
def test_a_status_of_a_good_end_is_one_whatever_its_text(code, reason):
    fetch = started(max_messages=5, expires=5.0)
    fetch.delivered([status(fetch, code, "Whatever A Later Server Says", pending(5))], 0.0)

    assert (fetch.take(0.0), fetch.reason, fetch.cause) == (ENDED, reason, None)


@pytest.mark.parametrize(
    "reply", ["svc.inbox.1", ">", "$JS.AC", "$JS.API.STREAM.DELETE.S", "x$JS.ACK.S.C.1.1.1.1.0"]
)
@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("feed", ["fetch", "consume"])
def test_a_frame_with_another_reply_than_that_of_a_delivery_is_nobodys(reply, others, feed):
    """It could be anybody's who knows the inbox: to acknowledge it would publish wherever he says."""
    fetch = started(max_messages=5, expires=5.0)
    if feed == "consume":
        fetch = Consume(NEXT, ConsumeOptions())
        fetch.port = Port()
        fetch.opened(0.0)
    foreign = (fetch.port.sid, "s.a", reply, None, b"x")
    frames = data(fetch, *range(1, others + 1))
    fetch.delivered([*frames[:1], foreign, *frames[1:]], 0.0)

    assert taken(fetch) == list(range(1, others + 1))
    assert fetch.strays == 1
    assert (PullNotice.STRAY, "s.a") in fetch.port.notices
    fetch.closed(None, 0.0)
    assert naks(fetch) == []


@pytest.mark.parametrize("feed", ["fetch", "consume"])
def test_messages_of_a_consumer_without_acks_are_lost_to_who_leaves_and_he_is_told(feed):
    acking = AckOptions(policy="none")
    fetch = started(max_messages=5, expires=5.0, acking=acking)
    if feed == "consume":
        fetch = Consume(NEXT, ConsumeOptions(acking=acking))
        fetch.port = Port()
        fetch.opened(0.0)
    fetch.delivered(data(fetch, 1, 2), 0.0)
    fetch.closed(None, 0.0)
    fetch.delivered(data(fetch, 3), 0.0)

    assert naks(fetch) == []
    assert [each for each in fetch.port.notices if each[0] is PullNotice.DROPPED] == [
        (PullNotice.DROPPED, 2),
        (PullNotice.DROPPED, 1),
    ]
    assert (fetch.returned, fetch.port.lost) == (0, 3)


def test_who_leaves_a_consumer_without_acks_with_nothing_at_hand_loses_nothing():
    fetch = started(max_messages=5, expires=5.0, acking=AckOptions(policy="none"))
    fetch._give_back([])

    assert [each for each in fetch.port.notices if each[0] is PullNotice.DROPPED] == []
    assert fetch.port.lost == 0


# ------------------------------------------------------------------ a pin is the server's only if the consumer pins


def test_a_fetch_whose_pin_is_not_taken_asks_again_without_it():
    fetch = started(max_messages=3, expires=5.0, group="jobs", pin="abc")
    fetch.delivered(
        [status(fetch, 400, "Bad Request - Not a Pinned Client Priority consumer")], 1.0
    )

    assert [each.get("id") for each in pulls(fetch)] == ["abc", None]
    assert pulls(fetch)[1]["expires"] == 4_000_000_000
    fetch.delivered(data(fetch, 1, 2, 3, block=b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n"), 1.0)
    assert (taken(fetch), fetch.pin, fetch.reason) == ([1, 2, 3], "", EndReason.FILLED)


@pytest.mark.parametrize("options", [{"pinned": True, "pin": "abc"}, {}])
def test_a_bad_request_is_an_error_where_it_is_not_about_a_pin(options):
    fetch = started(max_messages=3, expires=5.0, group="jobs", **options)
    fetch.delivered([status(fetch, 400, "Bad Request")], 0.0)

    with pytest.raises(errors.BadRequestStatus):
        fetch.take(0.0)


def test_a_bad_request_that_comes_when_no_time_is_left_is_the_end():
    fetch = started(max_messages=3, expires=5.0, group="jobs", pin="abc")
    fetch.delivered([status(fetch, 400, "Bad Request")], 5.1)

    with pytest.raises(errors.BadRequestStatus):
        fetch.take(5.1)


def test_a_stored_pin_is_not_believed_of_a_consumer_that_pins_nobody():
    fetch = started(max_messages=3, max_bytes=1000, expires=5.0, group="jobs", pinned=False)
    frames = data(fetch, 1, block=b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n")
    fetch.delivered(frames, 0.0)

    assert (fetch.pin, fetch.size) == ("", message_size(frames[0]))
