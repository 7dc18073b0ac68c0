"""The publish window: alone on a bare port, by case, by property, and against a small truth."""

import json
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    AuthorizationFailed,
    ConnectionClosed,
    ConnectionLost,
    ConversationClosed,
    InvalidConfig,
    InvalidSubject,
    LocalProtocolError,
    NoResponders,
    PayloadTooLarge,
    PermissionViolation,
    RequestTimeout,
    StatusError,
    WindowFull,
)
from jsproto.jetstream.api.errors import (
    InvalidPubAck,
    JetStreamError,
    RequestContext,
    WrongLastSequence,
)
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.publish.window import (
    _USUAL,
    Outcome,
    PublishResult,
    PublishWindow,
    WindowNotice,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub, Unsub
from jsproto.wire.headers import Headers

ACK = b'{"stream":"S","seq":1}'
NOBODY = b"NATS/1.0 503\r\n\r\n"


def opened(port=None, **options):
    window = PublishWindow(**options)
    window.port = port or Port()
    window.opened(0.0)
    window.port.commands.clear()
    return window


def publishes(window):
    """The publishes stated since the last look."""
    stated = [each for each in window.port.commands if isinstance(each, Publish)]
    window.port.commands.clear()
    return stated


def put(window, *subjects, now=0.0):
    for subject in subjects:
        assert window.offered((subject, b"x"), now) is True
    return [each.reply for each in publishes(window)]


def answer(window, *replies, body=ACK, block=None, now=0.1):
    window.delivered([(window.port.sid, reply, "", block, body) for reply in replies], now)


def results(window, now=1.0):
    taken = []
    while (result := window.take(now)) is not NEED_DATA and result is not ENDED:
        taken.append(result)
    return taken


def outcomes(window):
    return [(each.number, each.outcome.name) for each in results(window)]


def lose(window, now=0.5):
    """What the connection does when the link is lost."""
    window.port.up = False
    window.link_down(ConnectionLost("gone"), now)


def regain(window, now=1.0):
    window.port.up = True
    window.port.renew()
    window.port.commands.clear()
    window.link_up(now)


# ------------------------------------------------------------------------------------------------ publishing


def test_it_listens_before_it_publishes():
    window = PublishWindow()
    window.port = Port()
    window.opened(0.0)
    window.offered(("orders.new", b"1"), 0.0)
    interest, publish = window.port.commands

    assert interest == Sub("_INBOX.P.1.1.*", window.port.sid)
    assert publish == Publish("orders.new", b"1", "_INBOX.P.1.1.1")


def test_a_message_may_be_a_publish_or_a_tuple():
    window = opened()
    headers = Headers({"Nats-Msg-Id": "1"})
    for item in (
        Publish("a", b"1", "", headers),
        ("a", b"1", headers),
        ("a", b"1"),
        Publish("a", b"1"),
    ):
        assert window.offered(item, 0.0)

    assert [(each.subject, each.payload, each.headers) for each in publishes(window)] == [
        ("a", b"1", headers),
        ("a", b"1", headers),
        ("a", b"1", None),
        ("a", b"1", None),
    ]
    assert window.taken == window.pending == 4
    assert window.pending_bytes == 2 * (2 + len(headers.encode())) + 2 * 2


@pytest.mark.parametrize(
    "item",
    [
        None,
        b"x",
        "subject",
        ("a",),
        ("a", 5),
        (b"a", b"x"),
        ("a", b"x", {"A": "b"}),
        ("a", b"x", None, None),
        Publish("a", b"x", "_INBOX.own"),
    ],
)
def test_what_is_no_message_is_refused_and_changes_nothing(item):
    window = opened()
    with pytest.raises(LocalProtocolError, match="expected a"):
        window.offered(item, 0.0)

    assert (window.taken, window.pending, window.port.commands) == (0, 0, [])


@pytest.mark.parametrize("subject", ["", "a b", "a..b", "a.*", "a\r\nPUB x 0"])
def test_a_subject_that_cant_be_published_to_is_refused_and_changes_nothing(subject):
    window = opened()
    with pytest.raises(InvalidSubject):
        window.offered((subject, b"x"), 0.0)

    assert (window.taken, window.pending, window.port.commands) == (0, 0, [])


def test_a_full_window_takes_nothing_until_an_answer_comes():
    window = opened(max_pending=2)
    first, _ = put(window, "a", "b")
    assert window.offered(("c", b""), 0.0) is False
    assert window.room is False
    answer(window, first)

    assert window.room is True
    assert window.offered(("c", b""), 0.0) is True


def test_room_is_judged_by_the_message_that_was_refused():
    window = opened(max_bytes=10)
    (token,) = put(window, "a")
    assert window.room is True
    assert window.offered(("a", b"123456789"), 0.0) is False
    assert window.room is False
    answer(window, token)

    assert window.room is True
    assert window.offered(("a", b"123456789"), 0.0) is True


def test_without_a_link_nothing_is_taken():
    window = opened()
    lose(window)

    assert window.offered(("a", b""), 0.0) is False
    assert window.room is False
    regain(window)
    assert window.room is True


def test_a_window_opened_without_a_link_publishes_once_there_is_one():
    window = opened(Port(up=False))
    regain(window)

    assert put(window, "a") == ["_INBOX.P.1.2.1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_pending": 0},
        {"max_bytes": -1},
        {"ack_timeout": 0.0},
        {"ack_timeout": float("inf")},
        {"ack_timeout": float("nan")},
        {"retries": -1},
        {"retries": True},
        {"retry_wait": -0.1},
        {"retry_wait": float("inf")},
        {"stall_wait": -0.1},
        {"stall_wait": float("inf")},
        {"stall_wait": float("nan")},
        {"max_results": 0},
        {"max_results": 1.5},
    ],
)
def test_options_that_cant_work_are_refused(wrong):
    with pytest.raises(InvalidConfig, match="expected"):
        PublishWindow(**wrong)


# ------------------------------------------------------------------------------------------------ answers


def test_answers_in_any_order_find_their_message_by_the_reply_subject():
    window = opened()
    a, b, c = put(window, "a", "b", "c")
    answer(window, c, a)
    answer(window, b, body=b'{"stream":"S","seq":7}')

    assert [(each.number, each.subject, each.ack.seq) for each in results(window)] == [
        (3, "c", 1),
        (1, "a", 1),
        (2, "b", 7),
    ]
    assert window.counts[Outcome.ACKED] == 3
    assert window.pending == window.pending_bytes == 0


def test_a_result_shows_itself_without_its_payload():
    window = opened()
    answer(window, *put(window, "a"))
    (result,) = results(window)

    assert repr(result) == "PublishResult(1, ACKED, 'a')"
    assert result.error is None
    assert result.body == ACK


def test_take_all_hands_over_everything_at_hand():
    window = opened()
    assert window.take_all(0.0) is NEED_DATA
    assert window.take_blocked
    answer(window, *put(window, "a", "b"))
    assert window.readable == 2

    assert [each.number for each in window.take_all(0.1)] == [1, 2]
    assert window.readable == 0
    window.closed(None, 0.2)
    assert window.take_all(0.2) is ENDED


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream":"S","seq":0,"duplicate":true}',
        b'{"stream":"S","seq":5, "duplicate": true}',
        b'{"stream":"S","seq":0}',
        '{"stream":"Ströme","seq":1}'.encode(),
        b'{"seq":3,"stream":"S"}',
    ],
)
def test_b173_unusual_acknowledgements_are_acknowledgements(body):
    window = opened()
    answer(window, *put(window, "a"), body=body)
    (result,) = results(window)

    assert result.outcome is Outcome.ACKED
    assert result.ack == pub_ack(body, RequestContext())


def test_b175_an_error_beside_a_success_is_an_error():
    body = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 44"},"stream":"S","seq":0}'
    window = opened()
    answer(window, *put(window, "a"), body=body)
    (result,) = results(window)

    assert result.outcome is Outcome.REFUSED
    assert isinstance(result.error, WrongLastSequence)
    with pytest.raises(JetStreamError, match="10071"):
        _ = result.ack
    assert window.counts[Outcome.ACKED] == 0


@pytest.mark.parametrize(
    "body", [b"pong", b'{"stream":""}', b"", b"{}", b"[1]", b"\xff", b"[" * 50_000]
)
def test_b187_an_answer_that_is_no_acknowledgement_is_a_failure_with_its_bytes(body):
    window = opened()
    answer(window, *put(window, "a"), body=body)
    (result,) = results(window)

    assert result.outcome is Outcome.REFUSED
    assert result.body == body
    assert isinstance(result.error, InvalidPubAck)


def test_an_acknowledgement_with_headers_is_one():
    window = opened()
    answer(window, *put(window, "a"), block=b"NATS/1.0\r\nA: b\r\n\r\n")

    assert outcomes(window) == [(1, "ACKED")]


def test_a_status_with_a_body_is_judged_by_its_body():
    body = b'{"error":{"code":429,"err_code":10167,"description":"too many requests"},"stream":"S","seq":0}'
    window = opened()
    answer(window, *put(window, "a"), body=body, block=b"NATS/1.0 429 Too Many Requests\r\n\r\n")
    (result,) = results(window)

    assert result.outcome is Outcome.REFUSED
    assert result.error.err_code == 10167


def test_any_other_status_is_a_refusal():
    window = opened()
    answer(window, *put(window, "a"), body=b"", block=b"NATS/1.0 429 Too Many Requests\r\n\r\n")
    (result,) = results(window)

    assert result.outcome is Outcome.REFUSED
    assert isinstance(result.error, StatusError)
    assert (result.error.code, result.error.description) == (429, "Too Many Requests")


@given(st.from_regex(_USUAL.__self__, fullmatch=True))
def test_what_looks_usual_is_an_acknowledgement_to_whoever_reads_it(body):
    assert isinstance(pub_ack(body, RequestContext()), PubAck)


@given(st.text("abcXYZ_-09", min_size=1), st.integers(0, 10**19 - 1), st.sampled_from([",", ", "]))
def test_what_servers_write_looks_usual(stream, seq, comma):
    assert _USUAL(f'{{"stream":"{stream}"{comma}"seq":{seq}}}'.encode())
    assert _USUAL(f'{{"stream":"{stream}"{comma}"seq":{seq}{comma}"domain":"hub"}}'.encode())


# ------------------------------------------------------------------------------------------------ retries


def test_no_responders_is_tried_again_under_a_token_of_its_own():
    window = opened(retries=2, retry_wait=0.25)
    (first,) = put(window, "a")
    answer(window, first, body=b"", block=NOBODY, now=0.1)
    assert (window.pending, window.port.commands, window.deadline) == (1, [], 0.35)
    window.ticked(0.34)
    assert window.port.commands == []
    window.ticked(0.35)
    (again,) = publishes(window)

    assert (again.subject, again.payload) == ("a", b"x")
    assert again.reply != first
    answer(window, again.reply)
    assert outcomes(window) == [(1, "ACKED")]


def test_a_repeated_message_has_the_same_headers():
    window = opened()
    headers = Headers({"Nats-Msg-Id": "1"})
    window.offered(("a", b"x", headers), 0.0)
    (first,) = publishes(window)
    answer(window, first.reply, body=b"", block=NOBODY)
    window.ticked(1.0)

    assert publishes(window)[0].headers == headers


def test_b179_the_slot_is_freed_once_when_the_last_retry_fails():
    window = opened(max_pending=1, retries=1, retry_wait=0.25)
    (first,) = put(window, "a")
    answer(window, first, body=b"", block=NOBODY, now=0.1)
    assert window.offered(("b", b""), 0.1) is False
    window.ticked(0.35)
    second = publishes(window)[0].reply
    answer(window, second, body=b"", block=NOBODY, now=0.4)
    (result,) = results(window)

    assert (result.outcome, window.pending) == (Outcome.NO_RESPONDERS, 0)
    assert isinstance(result.error, NoResponders)
    assert result.error.subject == "a"
    assert "attempt 2" in str(result.error)
    answer(window, first, second)
    assert (window.pending, window.readable, window.late) == (0, 0, 2)
    assert window.room


def test_a_retry_that_could_only_come_too_late_is_not_tried():
    window = opened(ack_timeout=0.3, retry_wait=0.25)
    answer(window, *put(window, "a"), body=b"", block=NOBODY, now=0.1)

    assert outcomes(window) == [(1, "NO_RESPONDERS")]
    assert window.deadline is None


def test_a_retry_that_a_late_tick_finds_beyond_the_timeout_is_not_tried():
    window = opened(ack_timeout=1.0, retry_wait=0.25)
    answer(window, *put(window, "a"), body=b"", block=NOBODY, now=0.1)
    window.ticked(1.0)

    assert window.port.commands == []
    assert outcomes(window) == [(1, "NO_RESPONDERS")]


def test_all_attempts_share_one_ack_timeout():
    window = opened(ack_timeout=1.0, retry_wait=0.25)
    a, b = put(window, "a", "b")
    answer(window, a, body=b"", block=NOBODY, now=0.5)
    window.ticked(0.75)
    assert len(publishes(window)) == 1
    answer(window, b, now=0.8)
    window.ticked(0.999)
    assert outcomes(window) == [(2, "ACKED")]
    window.ticked(1.0)

    assert outcomes(window) == [(1, "TIMED_OUT")]


# ------------------------------------------------------------------------------------------------ time


def test_b176_silence_is_an_unknown_outcome_and_nothing_is_sent_again():
    window = opened(ack_timeout=1.0)
    put(window, "s.a")
    assert window.deadline == 1.0
    window.ticked(0.999)
    assert window.readable == 0
    window.ticked(1.0)
    (result,) = results(window)

    assert result.outcome is Outcome.TIMED_OUT
    assert isinstance(result.error, RequestTimeout)
    assert "unknown" in str(result.error)
    assert window.port.commands == []
    assert window.deadline is None


def test_b184_a_late_answer_changes_nothing():
    window = opened(ack_timeout=1.0)
    (token,) = put(window, "a")
    window.ticked(1.0)
    results(window)
    answer(window, token, now=1.1)

    assert (window.readable, window.pending, window.late) == (0, 0, 1)
    assert sum(window.counts.values()) == window.taken == 1


def test_the_deadline_is_the_earlier_of_timeout_and_retry():
    window = opened(ack_timeout=1.0, retry_wait=0.5)
    (first,) = put(window, "a")
    put(window, "b", now=0.2)
    answer(window, first, body=b"", block=NOBODY, now=0.3)
    assert window.deadline == 0.8
    window.ticked(0.8)

    assert window.deadline == 1.0


def test_a_retry_may_be_the_later_of_both():
    window = opened(ack_timeout=1.0, retry_wait=0.9)
    put(window, "a")
    (second,) = put(window, "b", now=0.5)
    answer(window, second, body=b"", block=NOBODY, now=0.55)

    assert window.deadline == 1.0


def test_when_only_a_retry_is_left_its_moment_is_the_deadline():
    window = opened(ack_timeout=10.0)
    (token,) = put(window, "a")
    answer(window, token, body=b"", block=NOBODY, now=0.5)
    window.ticked(0.6)

    assert window.deadline == 0.75


# ------------------------------------------------------------------------------------------------ links


def test_b178_a_lost_link_ends_every_open_message_once_and_frees_the_window():
    window = opened(max_pending=2)
    old = put(window, "a", "b")
    lose(window)
    failed = results(window)
    assert [(each.number, each.outcome.name) for each in failed] == [
        (1, "DISCONNECTED"),
        (2, "DISCONNECTED"),
    ]
    assert all(isinstance(each.error, ConnectionLost) for each in failed)
    assert window.pending == 0
    regain(window)
    (fresh,) = put(window, "c")

    assert fresh not in old
    answer(window, *old)
    assert (window.readable, window.pending, window.late) == (0, 1, 2)


def test_a_message_that_waits_for_a_retry_is_known_not_to_be_stored_when_the_link_goes():
    window = opened()
    answer(window, *put(window, "a"), body=b"", block=NOBODY)
    lose(window)

    assert outcomes(window) == [(1, "NO_RESPONDERS")]
    regain(window)
    window.ticked(9.0)
    assert window.port.commands == []


def test_b181_no_two_messages_ever_share_a_reply():
    seen = []
    window = opened(retries=3, retry_wait=0.0)
    for _ in range(3):
        tokens = put(window, "a", "a", "a")
        answer(window, tokens[0], body=b"", block=NOBODY)
        window.ticked(0.2)
        seen += [*tokens, *(each.reply for each in publishes(window))]
        lose(window)
        regain(window)
    other = opened(Port(2))
    seen += put(other, "a")

    assert len(set(seen)) == len(seen) == 13


def test_b182_any_inbox_root_works():
    window = opened(Port(inbox_root="_MY.VERY.LONG_PREFIX.P.abc"))
    (token,) = put(window, "a")
    assert token.startswith("_MY.VERY.LONG_PREFIX.P.abc.1.1.")
    answer(window, token)

    assert outcomes(window) == [(1, "ACKED")]


# ------------------------------------------------------------------------------------------------ refusals


def test_a_forbidden_subject_fails_all_its_messages_at_once():
    window = opened()
    put(window, "a", "b", "a")
    window.refused("a", PermissionViolation("no", "a", "publish"), 0.1)
    failed = results(window)

    assert [(each.number, each.outcome.name) for each in failed] == [
        (1, "FORBIDDEN"),
        (3, "FORBIDDEN"),
    ]
    assert isinstance(failed[0].error, PermissionViolation)
    assert failed[0].error.subject == "a"
    assert window.pending == 1


def test_b185_what_cant_be_sent_fails_alone():
    window = opened()
    put(window, "a", "a")
    window.refused("a", PayloadTooLarge("expected at most 100 bytes"), 0.1)
    (result,) = results(window)

    assert (result.number, result.outcome) == (2, Outcome.INVALID)
    assert isinstance(result.error, PayloadTooLarge)
    assert window.pending == 1


def test_a_refusal_that_concerns_somebody_else_changes_nothing():
    window = opened()
    put(window, "a")
    window.refused("b", PermissionViolation("no", "b"), 0.1)
    window.refused("b", PayloadTooLarge("no"), 0.1)

    assert (window.pending, window.readable) == (1, 0)


def test_a_forbidden_inbox_ends_the_window():
    window = opened()
    put(window, "a")
    window.refused(window.port.subject, PermissionViolation("no", "_INBOX"), 0.1)

    assert window.take(0.1).outcome is Outcome.CLOSED
    with pytest.raises(PermissionViolation):
        window.take(0.1)


# ------------------------------------------------------------------------------------------------ the end


@pytest.mark.parametrize("wish", StopMode)
def test_a_drained_window_ends_when_all_have_ended(wish):
    window = opened()
    a, b = put(window, "a", "b")
    window.told(wish, 0.1)
    assert window.room is False
    with pytest.raises(ConversationClosed):
        window.offered(("c", b""), 0.1)
    answer(window, a)
    assert not window.ended
    answer(window, b)

    assert window.ended
    assert [type(each) for each in window.port.commands] == [Unsub]
    assert outcomes(window) == [(1, "ACKED"), (2, "ACKED")]
    assert window.take(0.2) is ENDED


def test_an_idle_window_drains_at_once():
    window = opened()
    window.told(StopMode.DRAIN, 0.0)

    assert window.take(0.0) is ENDED


@pytest.mark.parametrize("how", ["timeout", "lost", "forbidden", "nobody"])
def test_every_kind_of_end_completes_a_drain(how):
    window = opened(retries=0)
    (token,) = put(window, "a")
    window.told(StopMode.DRAIN, 0.1)
    if how == "timeout":
        window.ticked(5.0)
    elif how == "lost":
        lose(window)
    elif how == "forbidden":
        window.refused("a", PermissionViolation("no", "a"), 0.2)
    else:
        answer(window, token, body=b"", block=NOBODY)

    assert window.ended
    assert window.error is None


def test_b188_closing_ends_every_message_in_the_same_step():
    window = opened(ack_timeout=60.0)
    put(window, "a")
    parked = put(window, "b")
    answer(window, *parked, body=b"", block=NOBODY)
    window.closed(ConnectionClosed("the connection was closed"), 0.2)

    assert [window.take(0.2).outcome, window.take(0.2).outcome] == [
        Outcome.CLOSED,
        Outcome.NO_RESPONDERS,
    ]
    with pytest.raises(ConnectionClosed):
        window.take(0.2)
    assert window.deadline is None
    assert window.pending == 0


def test_closing_twice_is_closing_once():
    window = opened()
    put(window, "a")
    window.closed(None, 0.1)
    window.closed(ConnectionClosed("later"), 0.2)

    assert isinstance(results(window)[0].error, ConnectionClosed)
    assert window.take(0.2) is ENDED
    with pytest.raises(ConversationClosed):
        window.offered(("a", b""), 0.3)


def test_a_window_that_an_error_has_ended_raises_it_and_each_result_tells_it():
    window = opened()
    put(window, "a")
    locked_out = AuthorizationFailed("locked out")
    window.closed(locked_out, 0.1)

    with pytest.raises(AuthorizationFailed, match="locked out"):
        window.offered(("a", b""), 0.3)
    [left] = window.take_all(0.3)
    assert (left.outcome, "(locked out)" in str(left.error)) == (Outcome.CLOSED, True)


def test_a_result_tells_what_the_link_was_lost_with():
    window = opened()
    put(window, "a")
    lose(window)

    assert "(gone)" in str(results(window)[0].error)


# ------------------------------------------------------------------------------------------------ slow and silent streams


@pytest.mark.parametrize(("depth", "rate"), [(100, 19), (1000, 50), (2, 1), (4000, 1000)])
def test_a_stream_that_is_slow_but_answers_is_not_silent(depth: int, rate: int):
    window = opened(max_pending=depth, ack_timeout=5.0, results=False)
    waiting, now = deque(), 0.0
    for second in range(60):
        for part in range(rate):
            now = second + part / rate
            while window.offered(("a", b"x"), now):
                waiting += [each.reply for each in publishes(window)]
            while window.deadline is not None and window.deadline <= now:
                window.ticked(window.deadline)
            answer(window, waiting.popleft(), now=now)

    assert window.counts[Outcome.TIMED_OUT] == window.late == 0
    assert window.counts[Outcome.ACKED] == 60 * rate


def test_the_time_runs_from_the_last_answer_to_a_message_before():
    window = opened(ack_timeout=5.0)
    a, *_ = put(window, "a", "b", "c")
    answer(window, a, now=4.0)
    window.ticked(8.999)
    assert outcomes(window) == [(1, "ACKED")]
    window.ticked(9.0)

    assert outcomes(window) == [(2, "TIMED_OUT"), (3, "TIMED_OUT")]


def test_a_message_whose_answer_is_lost_is_overdue_although_later_ones_are_answered():
    window = opened(ack_timeout=5.0, max_pending=10)
    a, _ = put(window, "a", "lost")
    answer(window, a, now=2.0)
    ended = []
    for tenth in range(21, 200):
        now = tenth / 10
        window.ticked(now)
        ended += [(number, now) for number, outcome in outcomes(window) if outcome == "TIMED_OUT"]
        answer(window, *put(window, "b", now=now), now=now)

    assert [number for number, _ in ended] == [2]
    assert 7.0 <= ended[0][1] <= 7.0 + 5.0 / 32 + 0.1


def test_one_of_two_streams_that_is_slow_is_not_silent_either():
    window = opened(ack_timeout=5.0)
    slow = put(window, *["slow"] * 10)
    for second in range(10):
        now = 3.0 * second
        answer(window, *put(window, "fast", now=now), slow[second], now=now)
        window.ticked(now + 2.9)

    assert {outcome for _, outcome in outcomes(window)} == {"ACKED"}


def test_a_refusal_is_a_word_of_the_stream_and_nobody_is_none():
    window = opened(ack_timeout=5.0, retries=0)
    a, b, _ = put(window, "a", "b", "c")
    answer(window, a, body=b'{"error":{"code":503,"err_code":10077,"description":"full"}}', now=4.0)
    answer(window, b, body=b"", block=NOBODY, now=8.0)
    window.ticked(9.0)

    assert outcomes(window)[-1] == (3, "TIMED_OUT")


# ------------------------------------------------------------------------------------------------ results


def test_without_results_only_failures_are_handed_out():
    window = opened(results=False, retries=0)
    a, b, c, d = put(window, "a", "b", "c", "d")
    answer(window, a, c)
    answer(window, d, body=b'{"stream":"S","seq":1,"duplicate":true}')
    answer(window, b, body=b"", block=NOBODY)

    assert outcomes(window) == [(2, "NO_RESPONDERS")]
    assert window.counts[Outcome.ACKED] == 3


def test_results_that_nobody_takes_are_bounded_counted_and_told_once():
    window = opened(max_results=2)
    for _ in range(2):
        answer(window, *put(window, "a", "a", "a"))

    assert window.dropped == 4
    assert window.port.notices == [(WindowNotice.RESULTS_DROPPED, 2)]
    assert [each.number for each in results(window)] == [5, 6]


def test_closing_bounds_the_results_too():
    window = opened(max_results=2)
    put(window, "a", "a", "a")
    window.closed(None, 0.1)

    assert (window.dropped, window.readable) == (1, 2)


def test_a_result_can_be_made_by_hand():
    assert PublishResult(1, Outcome.ACKED, "a", ACK).ack.stream == "S"


# ------------------------------------------------------------------------------------------------ how long it is full


def full(window, now=1.0, item=("b", b"22")):
    """An offer that is refused because the window is full."""
    assert window.offered(item, now) is False


def test_who_waits_for_room_too_long_is_woken_and_told_what_is_under_way():
    window = opened(max_pending=2, stall_wait=2.0)
    put(window, "aa", "a")
    full(window)

    assert (window.deadline, window.room) == (3.0, False)
    window.ticked(2.9)
    assert (window.deadline, window.room) == (3.0, False)
    window.ticked(3.0)
    assert (window.deadline, window.room) == (5.0, True)
    with pytest.raises(
        WindowFull, match=r"2 messages of 5 bytes under way for 2\.000 s; nothing was sent"
    ) as told:
        window.offered(("b", b"22"), 3.0)
    assert isinstance(told.value, LocalProtocolError)
    assert (told.value.pending, told.value.pending_bytes, told.value.waited) == (2, 5, 2.0)
    assert (window.taken, window.pending, window.room) == (2, 2, False)
    assert publishes(window) == []


def test_after_an_offer_that_waited_too_long_the_time_begins_anew():
    window = opened(max_pending=1, stall_wait=1.0, ack_timeout=60.0)
    put(window, "a")
    for begun in (1.0, 7.0):
        full(window, begun)
        full(window, begun + 0.9)
        with pytest.raises(WindowFull):
            window.offered(("b", b"22"), begun + 1.0)
        assert window.deadline == 60.0


def test_room_that_comes_in_time_or_too_late_for_the_wait_is_used():
    for tick in (1.5, 2.0):
        window = opened(max_pending=1, stall_wait=1.0)
        (token,) = put(window, "a")
        full(window)
        window.ticked(tick)
        answer(window, token, now=tick)

        assert window.room
        assert window.deadline is None
        put(window, "b", now=tick + 5.0)
        full(window, tick + 5.5)


def test_a_wait_is_over_when_there_was_room_though_nobody_used_it():
    window = opened(max_pending=1, stall_wait=1.0)
    put(window, "a")
    full(window, 0.5)
    lose(window, 0.6)  # it ends what is under way
    regain(window, 0.7)
    lose(window, 0.8)
    full(window, 2.0)

    assert window.deadline == 3.0
    window.ticked(3.0)
    with pytest.raises(WindowFull, match="0 messages of 0 bytes under way and no link for 1"):
        window.offered(("b", b"22"), 3.0)


def test_a_message_that_fits_ends_the_wait_of_a_larger_one():
    window = opened(max_bytes=10, stall_wait=1.0)
    put(window, "aaaaa")
    full(window, 1.0, ("b", b"large"))
    put(window, "b", now=1.5)

    assert window.deadline == 5.0
    full(window, 1.9, ("b", b"large"))
    assert window.deadline == 2.9


def test_without_any_wait_a_full_window_says_so_at_once():
    window = opened(max_pending=1, stall_wait=0.0)
    put(window, "a")
    for now in (1.0, 1.0, 2.0):
        with pytest.raises(WindowFull, match=r"for 0\.000 s"):
            window.offered(("b", b""), now)
    assert (window.deadline, window.room) == (5.0, False)


def test_without_a_bound_it_waits_as_long_as_it_takes():
    window = opened(max_pending=1, ack_timeout=1e6)
    put(window, "a")
    for now in (1.0, 1e5):
        full(window, now)
        window.ticked(now)

    assert (window.deadline, window.room) == (1e6, False)


@pytest.mark.parametrize("late", [False, True])
def test_nobody_waits_for_room_in_a_window_that_drains_or_was_closed(late):
    for end in (lambda each: each.told(StopMode.DRAIN, 2.5), lambda each: each.closed(None, 2.5)):
        window = opened(max_pending=1, stall_wait=1.0, ack_timeout=60.0)
        put(window, "a")
        full(window)
        if late:
            window.ticked(2.0)
        end(window)

        assert window.deadline in {60.0, None}
        assert not window.room
        with pytest.raises(ConversationClosed):
            window.offered(("b", b""), 9.0)


def test_the_next_attempt_comes_before_the_end_of_the_wait_or_behind_it():
    for wait, due in ((1.0, 1.35), (0.2, 1.2)):
        window = opened(max_pending=1, stall_wait=wait)
        (token,) = put(window, "a")
        full(window)
        answer(window, token, body=b"", block=NOBODY, now=1.1)

        assert window.deadline == pytest.approx(due)


def test_the_wait_for_room_goes_on_from_a_snapshot():
    for tick in (1.5, 3.0):
        window = opened(max_pending=1, stall_wait=2.0)
        put(window, "a")
        full(window)
        window.ticked(tick)
        data = window.snapshot()
        other = PublishWindow(max_pending=1, stall_wait=2.0)
        other.restore(data)

        assert other.snapshot() == data
        assert (other.deadline, other.room) == (window.deadline, window.room)
        with pytest.raises(WindowFull, match="1 messages"):
            other.offered(("b", b"22"), 3.0)


# ------------------------------------------------------------------------------------------------ snapshots


def test_a_window_goes_on_from_a_snapshot():
    window = opened(retry_wait=0.25)
    a, b, c, _ = put(window, "a", "b", "c", "d")
    answer(window, a)
    answer(window, b, body=b"", block=NOBODY, now=0.1)
    window.refused("d", PermissionViolation("no", "d"), 0.1)
    data = window.snapshot()

    other = opened(retry_wait=0.25)
    other.restore(data)

    assert other.snapshot() == data
    for each in (window, other):
        each.port.commands.clear()
        each.ticked(0.35)
        (again,) = publishes(each)
        answer(each, again.reply, c)
        each.told(StopMode.DRAIN, 0.5)
        failed = results(each)
        assert [(one.number, one.outcome.name) for one in failed] == [
            (1, "ACKED"),
            (4, "FORBIDDEN"),
            (2, "ACKED"),
            (3, "ACKED"),
        ]
        assert isinstance(failed[1].error, PermissionViolation)
        assert each.ended


# ------------------------------------------------------------------------------------------------ a small truth


class WindowAgainstTruth(RuleBasedStateMachine):
    """A server that stores, refuses, forgets or vanishes, and a list of what must have come out."""

    TIMEOUT, WAIT, RETRIES, MOST = 5.0, 1.0, 1, 3

    def __init__(self):
        super().__init__()
        self.window = self.fresh()
        self.window.port = Port()
        self.window.opened(0.0)
        self.now = 0.0
        self.links = 1
        self.wire = {}  # reply -> number, what the server of the present link has got
        self.gone = []  # replies that were answered or belong to a dead link
        self.stated = set()
        self.attempts = {}  # number -> how often it was sent
        self.deadlines = {}
        self.ended = {}  # number -> outcome as handed out
        self.expected = {}  # number -> outcome as it must be
        self.parked = {}  # number -> moment of the next attempt
        self.sync(None)

    def fresh(self):
        return PublishWindow(
            max_pending=self.MOST,
            ack_timeout=self.TIMEOUT,
            retries=self.RETRIES,
            retry_wait=self.WAIT,
        )

    def sync(self, number):
        """Read what the window states: a new message, or due attempts in their order."""
        for publish in publishes(self.window):
            assert publish.reply not in self.stated
            self.stated.add(publish.reply)
            if number is None:
                mine = json.loads(publish.payload)
                assert self.parked.pop(mine) <= self.now
            else:
                mine = number
            self.attempts[mine] = self.attempts.get(mine, 0) + 1
            self.wire[publish.reply] = mine

    def end(self, number, outcome):
        assert number not in self.expected
        self.expected[number] = outcome

    def under_way(self):
        return [number for number in self.deadlines if number not in self.expected]

    def collect(self):
        for result in results(self.window, self.now):
            assert result.number not in self.ended
            self.ended[result.number] = result.outcome
        assert self.ended == self.expected

    @rule()
    def put(self):
        number = self.window.taken + 1
        room = self.window.port.up and len(self.under_way()) < self.MOST
        assert self.window.offered(("s", json.dumps(number).encode()), self.now) == room
        assert self.window.taken == number - (not room)
        if room:
            self.deadlines[number] = self.now + self.TIMEOUT
            self.sync(number)

    @precondition(lambda self: self.wire)
    @rule(
        data=st.data(),
        kind=st.sampled_from(["nobody", "nobody", "nobody", "ack", "duplicate", "error", "junk"]),
    )
    def reply(self, data, kind):
        replies = data.draw(st.lists(st.sampled_from(sorted(self.wire)), unique=True, min_size=1))
        body, block = {
            "ack": (ACK, None),
            "duplicate": (b'{"stream":"S","seq":1,"duplicate": true}', None),
            "error": (
                b'{"error":{"code":503,"err_code":10077,"description":"x"},"stream":"S","seq":0}',
                None,
            ),
            "junk": (b"pong", None),
            "nobody": (b"", NOBODY),
        }[kind]
        answered = []
        for reply in replies:
            number = self.wire.pop(reply)
            self.gone.append(reply)
            if number in self.expected:
                continue  # timed out before: the answer is late
            if kind != "nobody":
                answered.append(number)
                self.end(number, Outcome.ACKED if kind in {"ack", "duplicate"} else Outcome.REFUSED)
            elif (
                self.attempts[number] <= self.RETRIES
                and self.now + self.WAIT < self.deadlines[number]
            ):
                self.parked[number] = self.now + self.WAIT
            else:
                self.end(number, Outcome.NO_RESPONDERS)
        answer(self.window, *replies, body=body, block=block, now=self.now)
        for number in self.under_way():
            if answered and number > min(answered):  # the stream is not silent towards those behind
                self.deadlines[number] = max(self.deadlines[number], self.now + self.TIMEOUT)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def late_answer(self, data):
        before = self.window.late
        answer(self.window, data.draw(st.sampled_from(self.gone)), now=self.now)
        assert self.window.late == before + 1

    @precondition(lambda self: self.under_way())
    @rule(step=st.sampled_from([1.0, 0.5, 0.0, 2.0, 4.0]))
    def time_passes(self, step):
        self.now += step
        for number in self.under_way():
            if self.deadlines[number] <= self.now:
                parked = self.parked.pop(number, None) is not None
                self.end(number, Outcome.NO_RESPONDERS if parked else Outcome.TIMED_OUT)
        self.window.ticked(self.now)
        self.sync(None)
        assert not [number for number, at in self.parked.items() if at <= self.now]

    @precondition(lambda self: self.window.port.up and len(self.under_way()) > 1)
    @rule()
    def link_lost(self):
        for number in self.under_way():
            self.end(
                number, Outcome.NO_RESPONDERS if number in self.parked else Outcome.DISCONNECTED
            )
        self.parked.clear()
        self.gone += self.wire
        self.wire.clear()
        lose(self.window, self.now)

    @precondition(lambda self: not self.window.port.up)
    @rule()
    def link_back(self):
        regain(self.window, self.now)

    @invariant()
    def nothing_is_lost_in_a_snapshot(self):
        data = self.window.snapshot()
        port = self.window.port
        self.window = self.fresh()
        self.window.port = port
        self.window.restore(data)
        assert self.window.snapshot() == data

    @invariant()
    def balance(self):
        self.collect()
        window = self.window
        assert window.pending == len(self.under_way()) == window.taken - sum(window.counts.values())
        assert window.pending_bytes == sum(len(f"s{number}") for number in self.under_way())
        assert window.room == (window.port.up and window.pending < self.MOST)
        assert not window.ended
        due = [self.deadlines[number] for number in self.under_way() if number not in self.parked]
        due += self.parked.values()
        if due:
            assert window.deadline is not None
            assert window.deadline <= min(due)
        else:
            assert window.deadline is None

    def teardown(self):
        self.window.told(StopMode.DRAIN, self.now)
        while self.window.deadline is not None:
            self.now = max(self.now, self.window.deadline)
            self.window.ticked(self.now)
            self.window.port.commands.clear()
        numbers = [*self.ended, *(result.number for result in results(self.window))]
        assert self.window.ended
        assert sorted(numbers) == list(range(1, self.window.taken + 1))


TestWindowAgainstTruth = WindowAgainstTruth.TestCase
TestWindowAgainstTruth.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# ------------------------------------------------------------------------------------------------ sums over all results


def test_duplicates_are_counted_whether_results_are_kept_or_not():
    for kept in (True, False):
        window = opened(results=kept)
        a, b, c = put(window, "a", "b", "c")
        answer(window, a, c)
        answer(window, b, body=b'{"stream":"S","seq":1,"duplicate":true}')

        assert 1 == window.duplicates
        assert 3 == window.counts[Outcome.ACKED]


def test_the_acknowledgement_that_came_last_is_known_without_results():
    window = opened(results=False)
    assert window.last_ack is None

    a, b, c = put(window, "a", "b", "c")
    window.delivered(
        [
            (window.port.sid, a, "", None, b'{"stream":"S","seq":7}'),
            (window.port.sid, b, "", None, b'{"stream":"S","seq":5,"duplicate":true}'),
        ],
        0.1,
    )
    assert window.last_ack == PubAck(stream="S", seq=5, duplicate=True)

    answer(
        window,
        c,
        body=b'{"error":{"code":503,"err_code":10077,"description":"full"},"stream":"S","seq":0}',
    )
    assert window.last_ack.seq == 5


def test_a_usual_acknowledgement_behind_a_duplicate_in_one_run_came_last():
    window = opened(results=False)
    a, b = put(window, "a", "b")
    window.delivered(
        [
            (window.port.sid, a, "", None, b'{"stream":"S","seq":5,"duplicate":true}'),
            (window.port.sid, b, "", None, b'{"stream":"S","seq":8}'),
        ],
        0.1,
    )

    assert window.last_ack == PubAck(stream="S", seq=8)
    restored = opened(results=False)
    restored.restore(window.snapshot())
    assert restored.last_ack == PubAck(stream="S", seq=8)
    assert restored.duplicates == 1


def test_a_duplicate_is_shown_with_each_result_n082():
    window = opened()
    a, b = put(window, "a", "a")
    answer(window, a)
    answer(window, b, body=b'{"stream":"S","seq":1,"duplicate":true}')

    assert [each.ack.duplicate for each in results(window)] == [False, True]
    assert window.duplicates == 1


@pytest.mark.parametrize("subject", ["s", "\u00e9\u00e9", "\U0001f600"])
def test_bytes_under_way_are_bytes_of_the_subject_too(subject):
    window = opened()
    put(window, subject)

    assert window.pending_bytes == len(subject.encode()) + 1
