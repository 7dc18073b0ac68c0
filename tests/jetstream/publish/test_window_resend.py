"""A window over lost links: with an id a message is sent again, and what is said of it later is
believed only if it is an ack.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    LinkError,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.requests.publish import compose
from jsproto.jetstream.publish.window import Outcome, PublishWindow
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub
from jsproto.wire.headers import Headers

ACK = b'{"stream":"S","seq":1}'
WRONG = b'{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"S","seq":0}'
NOBODY = b"NATS/1.0 503\r\n\r\n"


def opened(**options: object) -> PublishWindow:
    window = PublishWindow(**{"resend": True, **options})
    window.port = Port()
    window.opened(0.0)
    return window


def named(name: str, subject: str = "s.a") -> Publish:
    return compose(subject, b"x", msg_id=name)


def sent(window: PublishWindow) -> list[str]:
    """Ids of what was sent since the last look, ``-`` where there is none."""
    stated = [each for each in window.port.commands if isinstance(each, Publish)]
    window.port.commands.clear()
    return ["-" if each.headers is None else each.headers["Nats-Msg-Id"] for each in stated]


def answer(
    window: PublishWindow,
    *,
    at: int = -1,
    body: bytes = ACK,
    block: bytes | None = None,
    now: float = 0.1,
) -> None:
    token = [token for token in window._flight.open if token.startswith("_INBOX")][at]
    window.delivered([(window.port.sid, token, "", block, b"" if block else body)], now)


def down(window: PublishWindow, now: float = 0.5) -> None:
    window.port.up = False
    window.link_down(LinkError("gone"), now)


def up(window: PublishWindow, now: float = 1.0) -> None:
    window.port.up = True
    window.port.renew()
    window.link_up(now)


def outcomes(window: PublishWindow) -> list[tuple[int, str]]:
    taken = []
    while (result := window.take(9.0)) is not NEED_DATA and result is not ENDED:
        taken.append((result.number, result.outcome.name))
    return taken


def test_what_has_an_id_is_sent_again_on_the_next_link_and_what_has_none_ends_unknown() -> None:
    window = opened()
    for item in (named("1"), ("s.a", b"x"), named("3")):
        window.offered(item, 0.0)
    assert sent(window) == ["1", "-", "3"]
    down(window)
    assert outcomes(window) == [(2, "DISCONNECTED")]
    assert window.pending == 2
    up(window)
    assert isinstance(window.port.commands[0], Sub)
    assert sent(window) == ["1", "3"]
    answer(window, at=0)
    answer(window, body=b'{"stream":"S","seq":1,"duplicate":true}')

    assert outcomes(window) == [(1, "ACKED"), (3, "ACKED")]
    assert window.pending == 0


def test_without_the_wish_every_open_message_ends() -> None:
    window = opened(resend=False)
    window.offered(named("1"), 0.0)
    sent(window)
    down(window)
    up(window)

    assert sent(window) == []
    assert outcomes(window) == [(1, "DISCONNECTED")]


def test_slots_are_held_while_the_link_is_down() -> None:
    window = opened(max_pending=1)
    window.offered(named("1"), 0.0)
    down(window)
    up(window)

    assert not window.offered(named("2"), 1.0)
    answer(window)
    assert window.offered(named("2"), 1.0)


def test_the_ack_timeout_is_that_of_all_links_together() -> None:
    window = opened(ack_timeout=2.0)
    window.offered(named("1"), 0.0)
    down(window)
    assert window.deadline == 2.0
    window.ticked(2.0)
    up(window, 3.0)

    assert outcomes(window) == [(1, "TIMED_OUT")]
    assert sent(window) == ["1"]


def test_what_met_nobody_is_sent_again_too_with_an_id_or_without() -> None:
    window = opened(retry_wait=1.0)
    window.offered(("s.a", b"x"), 0.0)
    answer(window, block=NOBODY)
    sent(window)
    down(window)
    up(window)
    assert sent(window) == ["-"]
    answer(window, body=WRONG, now=1.1)

    assert outcomes(window) == [(1, "REFUSED")]


@pytest.mark.parametrize("how", ["refused", "nobody", "forbidden"])
def test_a_no_to_the_second_attempt_says_nothing_of_the_first(how: str) -> None:
    window = opened(retries=0)
    window.offered(named("1"), 0.0)
    down(window)
    up(window)
    match how:
        case "refused":
            answer(window, body=WRONG)
        case "nobody":
            answer(window, block=NOBODY)
        case _:
            window.refused("s.a", PermissionViolation("no", "s.a"), 1.0)
    result = window.take(2.0)

    assert result.outcome is Outcome.DISCONNECTED
    with pytest.raises(ConnectionLost, match=r"sent again in vain: .*; unknown if stored"):
        _ = result.ack
    assert window.counts[Outcome.DISCONNECTED] == 1


def test_doubt_stays_with_a_message_over_more_links_and_goes_with_it() -> None:
    window = opened(retry_wait=1.0)
    for name in "12":
        window.offered(named(name), 0.0)
    down(window)
    up(window)
    answer(window, at=1)
    answer(window, block=NOBODY)
    down(window)
    assert list(window._doubtful) == [1]
    up(window)
    answer(window, body=WRONG)
    down(window)

    assert window._doubtful == {}
    assert outcomes(window) == [(2, "ACKED"), (1, "DISCONNECTED")]


def test_an_id_in_another_spelling_is_refused_where_messages_are_sent_again_by_id() -> None:
    misspelt = Publish("s.a", b"x", "", Headers({"nats-msg-id": "1"}))
    window = opened()
    with pytest.raises(InvalidConfig, match="without an id"):
        window.offered(misspelt, 0.0)
    assert window.taken == 0
    assert opened(resend=False).offered(misspelt, 0.0)


def test_an_empty_id_is_none() -> None:
    window = opened()
    window.offered(Publish("s.a", b"x", "", Headers({"Nats-Msg-Id": ""})), 0.0)
    down(window)

    assert outcomes(window) == [(1, "DISCONNECTED")]


def test_a_drain_waits_for_what_waits_for_a_link() -> None:
    window = opened()
    window.offered(named("1"), 0.0)
    window.told(StopMode.DRAIN, 0.0)
    down(window)
    assert not window.ended
    up(window)
    answer(window)

    assert window.ended
    assert outcomes(window) == [(1, "ACKED")]


def test_closing_ends_what_waits_for_a_link() -> None:
    window = opened()
    window.offered(named("1"), 0.0)
    down(window)
    window.closed(ConnectionClosed("closed"), 1.0)

    assert window.pending == 0
    assert window.counts[Outcome.CLOSED] == 1


def test_a_snapshot_taken_without_a_link_sends_again() -> None:
    window = opened()
    window.offered(named("1"), 0.0)
    down(window)
    again = PublishWindow(resend=True)
    again.restore(window.snapshot())
    up(again)
    assert sent(again) == ["1"]
    answer(again, body=WRONG)

    assert outcomes(again) == [(1, "DISCONNECTED")]


# ------------------------------------------------------------------------------------------------ silence on one link


def tick(window: PublishWindow, until: float) -> None:
    """Let time pass, tick by tick."""
    while window.deadline is not None and window.deadline <= until:
        window.ticked(window.deadline)


def test_what_has_an_id_is_sent_again_when_no_word_comes_within_its_ack_timeout() -> None:
    window = opened(ack_timeout=10.0)
    for item in (named("1"), ("s.a", b"x"), named("3")):
        window.offered(item, 0.0)
    first = {each.reply for each in window.port.commands if isinstance(each, Publish)}
    assert sent(window) == ["1", "-", "3"]
    tick(window, 0.99)
    assert sent(window) == []
    tick(window, 1.0)
    assert {each.reply for each in window.port.commands if isinstance(each, Publish)} < first
    assert sent(window) == ["1", "3"]
    tick(window, 9.99)
    assert sent(window) == ["1", "3"] * 8
    tick(window, 10.0)

    assert outcomes(window) == [(1, "TIMED_OUT"), (2, "TIMED_OUT"), (3, "TIMED_OUT")]
    assert window.deadline is None


def test_a_short_ack_timeout_has_room_for_attempts_too() -> None:
    window = opened(ack_timeout=2.0)
    window.offered(named("1"), 0.0)
    tick(window, 1.99)

    assert sent(window) == ["1"] * 4


def test_without_the_wish_nothing_is_sent_again_on_the_same_link() -> None:
    window = opened(resend=False)
    window.offered(named("1"), 0.0)
    tick(window, 4.9)

    assert sent(window) == ["1"]


def test_whichever_answer_comes_first_counts_and_the_other_is_late() -> None:
    window = opened(ack_timeout=10.0)
    window.offered(named("1"), 0.0)
    tick(window, 1.0)
    answer(window, now=1.1)
    assert outcomes(window) == [(1, "ACKED")]
    window.delivered([(window.port.sid, "_INBOX.P.1.1.1", "", None, ACK)], 1.2)

    assert (window.late, window.duplicates) == (1, 0)


def test_what_is_sent_again_in_silence_is_paced_and_follows_the_answers_when_they_come() -> None:
    window = opened(ack_timeout=60.0, max_pending=1000)
    for number in range(1000):
        window.offered(named(str(number)), 0.0)
    sent(window)
    tick(window, 10.5)
    assert len(sent(window)) == 10 * 16
    tick(window, 11.0)
    sizes = []
    while asked := [each.reply for each in window.port.commands if isinstance(each, Publish)]:
        window.port.commands.clear()
        sizes.append(len(asked))
        window.delivered([(window.port.sid, token, "", None, ACK) for token in asked], 11.01)

    assert sizes == [16, 32, 64, 128, 256, 504]
    assert window.pending == 0


def test_a_stream_that_is_slow_but_answers_hears_nothing_twice() -> None:
    window = opened(ack_timeout=5.0, max_pending=100)
    for number in range(100):
        window.offered(named(str(number)), 0.0)
    for number in range(100):
        now = (number + 1) / 19
        tick(window, now)
        answer(window, at=0, now=now)

    assert len(sent(window)) == 100
    assert {how for _, how in outcomes(window)} == {"ACKED"}


def test_a_lost_message_is_sent_again_although_later_ones_are_answered() -> None:
    window = opened(ack_timeout=10.0)
    window.offered(named("lost"), 0.0)
    for tenth in range(1, 15):
        now = tenth / 10
        tick(window, now)
        window.offered(named(str(tenth)), now)
        answer(window, now=now)

    assert sent(window).count("lost") == 2


def test_a_drain_over_a_leader_that_died_ends_soon_after_the_next_one_is_there() -> None:
    window = opened(ack_timeout=60.0, max_pending=500)
    for number in range(500):
        window.offered(named(str(number)), 0.0)
    window.told(StopMode.DRAIN, 0.0)
    sent(window)
    now = 0.0
    while not window.ended and now < 60.0:
        now += 0.01
        tick(window, now)
        asked = [each.reply for each in window.port.commands if isinstance(each, Publish)]
        window.port.commands.clear()
        if asked and now > 3.5:
            window.delivered([(window.port.sid, reply, "", None, ACK) for reply in asked], now)

    assert now < 5.0
    assert window.counts[Outcome.ACKED] == 500


@pytest.mark.parametrize("how", ["refused", "forbidden"])
def test_a_no_to_what_was_sent_again_in_silence_says_nothing_of_the_first(how: str) -> None:
    window = opened(ack_timeout=10.0)
    window.offered(named("1"), 0.0)
    tick(window, 1.0)
    if how == "refused":
        answer(window, body=WRONG, now=1.1)
    else:
        window.refused("s.a", PermissionViolation("no", "s.a"), 1.1)
    result = window.take(2.0)

    assert result.outcome is Outcome.TIMED_OUT
    with pytest.raises(
        RequestTimeout, match=r"silence before .*sent again in vain: .*; unknown if stored"
    ):
        _ = result.ack


def test_a_message_in_doubt_that_meets_nobody_is_tried_until_its_time_is_up() -> None:
    window = opened(ack_timeout=4.0, retry_wait=0.5)
    window.offered(named("1"), 0.0)
    tick(window, 1.0)
    for half in range(2, 8):
        assert sent(window)
        answer(window, block=NOBODY, now=half / 2)
        tick(window, half / 2 + 0.5)

    assert outcomes(window) == [(1, "TIMED_OUT")]


def test_what_is_answered_before_its_turn_is_not_sent_again() -> None:
    window = opened(ack_timeout=60.0, max_pending=40)
    for number in range(40):
        window.offered(named(str(number)), 0.0)
    sent(window)
    tick(window, 1.0)
    assert len(sent(window)) == 16
    answer(window, at=16, body=WRONG, now=1.1)
    tick(window, 2.2)

    assert sent(window)[0] == "17"


def test_what_waits_to_be_sent_again_is_forgotten_with_the_link_and_kept_in_a_snapshot() -> None:
    window = opened(ack_timeout=60.0, max_pending=40)
    for number in range(40):
        window.offered(named(str(number)), 0.0)
    sent(window)
    tick(window, 1.0)
    assert len(sent(window)) == 16
    again = PublishWindow(resend=True, ack_timeout=60.0, max_pending=40)
    again.restore(window.snapshot())
    tick(again, 2.0)
    assert sent(again) == sent(window) + [str(number) for number in range(16, 32)]
    down(window)
    assert window.deadline == 60.0
    up(window, 2.0)
    assert len(sent(window)) == 40
    tick(window, 2.99)

    assert sent(window) == []


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["put", "name", "down", "up", "ack", "nobody", "refuse", "tick"]),
        ),
        max_size=30,
    )
)
def test_whatever_happens_every_message_ends_once_and_no_doubtful_one_is_called_certain(
    steps: list[str],
) -> None:
    window = opened(max_pending=4, retry_wait=0.2, ack_timeout=3.0)
    now = 0.0
    crossed: set[int] = set()
    for number, step in enumerate(steps):
        now += 0.1
        tokens = [token for token in window._flight.open if token.startswith("_INBOX")]
        match step:
            case "put":
                window.offered(("s.a", b"x"), now)
            case "name":
                window.offered(named(str(number)), now)
            case "down" if window.port.up:
                crossed |= {message[0] for message in window._flight.open.values()}
                down(window, now)
            case "up" if not window.port.up:
                up(window, now)
            case "ack" if tokens:
                answer(window, at=0, now=now)
            case "nobody" if tokens:
                answer(window, at=0, block=NOBODY, now=now)
            case "refuse" if tokens:
                answer(window, at=0, body=WRONG, now=now)
            case _:
                now += 1.0
                window.ticked(now)
    window.closed(None, now)
    ended = outcomes(window)

    assert sorted(number for number, _ in ended) == list(range(1, window.taken + 1))
    assert {how for number, how in ended if number in crossed} <= {
        "ACKED",
        "DISCONNECTED",
        "TIMED_OUT",
        "CLOSED",
    }
    assert window.pending == window.pending_bytes == 0
