"""One question, many answers, alone."""

from __future__ import annotations

import pytest

from jsproto.core.conversation import Call, Port, Wish
from jsproto.core.gather import STALL, Gather
from jsproto.errors import (
    ConnectionClosed,
    Disconnected,
    InvalidConfig,
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import ENDED, NEED_DATA

NOBODY = b"NATS/1.0 503\r\n\r\n"


def payloads(messages):
    return [each.payload for each in messages]


def asking(*, up: bool = True, read=payloads, **options: object) -> Gather:
    gather = Gather(Call("who", b"?", None, 5.0), read, **options)
    gather.port = Port(up=up)
    gather.opened(0.0)
    return gather


def answered(gather: Gather, payload: bytes, now: float, token: int = 1, block: bytes | None = None) -> None:
    gather.replied(token, ("1", "r", "", block, payload), now)


def test_it_asks_once_and_ends_when_nobody_more_answers() -> None:
    gather = asking()
    answered(gather, b"a", 1.0)
    answered(gather, b"b", 1.2)
    gather.ticked(1.2 + STALL - 0.01)

    assert [(each.subject, each.payload) for each in gather.port.commands] == [("who", b"?")]
    assert (gather.take(1.4), gather.count, gather.deadline) == (NEED_DATA, 2, 1.2 + STALL)

    gather.ticked(1.2 + STALL)

    assert (gather.readable, gather.take(2.0), gather.take(2.0)) == (1, [b"a", b"b"], ENDED)
    assert (gather.readable, gather.deadline) == (0, None)


def test_it_ends_at_once_when_all_are_there() -> None:
    gather = asking(expect=2)
    answered(gather, b"a", 1.0)
    answered(gather, b"b", 1.0)
    answered(gather, b"late", 1.0)

    assert gather.take(1.0) == [b"a", b"b"]


def test_it_ends_when_the_time_is_up_with_what_came() -> None:
    gather = asking(stall=60.0)
    answered(gather, b"a", 1.0)
    gather.ticked(4.9)

    assert not gather.ended

    gather.ticked(5.0)

    assert gather.take(5.0) == [b"a"]


def test_nobody_at_all_is_an_error() -> None:
    silent, empty = asking(), asking()
    silent.ticked(5.0)
    silent.ticked(6.0)
    answered(empty, b"", 1.0, block=NOBODY)

    with pytest.raises(RequestTimeout, match=r"within 5\.0 s, none came"):
        silent.take(5.0)
    with pytest.raises(NoResponders, match="nobody listens there"):
        empty.take(1.0)


def test_answers_to_other_questions_are_none() -> None:
    gather = asking()
    answered(gather, b"x", 1.0, token=7)

    assert gather.count == 0


def test_headers_of_an_answer_are_kept() -> None:
    gather = asking(read=lambda messages: messages[0].headers["K"], expect=1)
    answered(gather, b"", 1.0, block=b"NATS/1.0\r\nK: v\r\n\r\n")

    assert gather.take(1.0) == "v"


def test_without_a_link_it_waits_for_one_and_a_link_lost_later_ends_it() -> None:
    gather = asking(up=False)
    gather.link_down(Disconnected("x"), 0.5)

    assert (gather.port.commands, gather.ended) == ([], False)

    gather.port.up = True
    gather.link_up(1.0)
    gather.link_up(1.0)
    answered(gather, b"a", 1.1)
    gather.link_down(Disconnected("x"), 1.2)
    gather.link_down(Disconnected("x"), 1.2)

    assert len(gather.port.commands) == 1
    with pytest.raises(Disconnected, match="1 had come"):
        gather.take(1.3)


def test_a_refusal_ends_it_if_it_is_about_the_question() -> None:
    gather = asking()
    gather.refused("who", PermissionViolation("x", "who", "subscription"), 1.0)
    gather.refused("else", PermissionViolation("x", "else", "publish"), 1.0)

    assert not gather.ended

    gather.refused("who", PermissionViolation("x", "who", "publish"), 1.0)

    with pytest.raises(PermissionViolation):
        gather.take(1.0)


def test_what_cannot_be_read_is_an_error() -> None:
    def read(messages):
        raise InvalidResponse("no")

    gather = asking(read=read, expect=1)
    answered(gather, b"a", 1.0)

    with pytest.raises(InvalidResponse):
        gather.take(1.0)


def test_a_drain_does_not_end_it_and_a_close_does() -> None:
    gather = asking()
    gather.told(Wish.DRAIN, 1.0)

    assert not gather.ended

    gather.closed(ConnectionClosed("x"), 1.0)

    with pytest.raises(ConnectionClosed):
        gather.take(1.0)


def test_it_can_be_taken_out_and_put_back_in_the_middle() -> None:
    gather = asking()
    answered(gather, b"a", 1.0)
    twin = Gather(Call("who", b"?", None, 5.0), payloads)
    twin.restore(gather.snapshot())
    answered(twin, b"b", 1.1)
    twin.ticked(2.0)

    assert twin.take(2.0) == [b"a", b"b"]


@pytest.mark.parametrize("options", [{"expect": -1}, {"stall": 0.0}])
def test_what_cannot_work_is_refused(options) -> None:
    with pytest.raises(InvalidConfig):
        Gather(Call("who"), payloads, **options)


def test_times_and_subjects_are_checked_too() -> None:
    with pytest.raises(InvalidConfig):
        Gather(Call("who", timeout=0.0), payloads)
    with pytest.raises(InvalidSubject):
        Gather(Call("who.*"), payloads)
