"""One question, many answers, one result, alone. When the answers end is told in the tests of
`RequestMany`.
"""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.pubsub.request_all import STALL, Gather
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidResponse,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish

NOBODY = b"NATS/1.0 503\r\n\r\n"


def payloads(messages):
    return [each.payload for each in messages]


def made(read=payloads, **options: object) -> Gather:
    return Gather(RequestMany("who", b"?", stall=STALL, **options), read)


def asking(*, up: bool = True, **options: object) -> Gather:
    gather = made(**options)
    gather.port = Port(up=up)
    gather.opened(0.0)
    return gather


def answered(
    gather: Gather, *payloads: bytes, now: float = 1.0, block: bytes | None = None
) -> None:
    gather.delivered([(gather.port.sid, "r", "", block, each) for each in payloads], now)


def questions(gather: Gather) -> list[tuple[str, bytes]]:
    return [
        (each.subject, each.payload) for each in gather.port.commands if isinstance(each, Publish)
    ]


def test_it_asks_once_and_ends_when_nobody_more_answers() -> None:
    gather = asking()
    answered(gather, b"a")
    answered(gather, b"b", now=1.2)
    gather.ticked(1.2 + STALL - 0.01)

    assert questions(gather) == [("who", b"?")]
    assert (gather.take(1.4), gather.deadline, gather.readable) == (NEED_DATA, 1.2 + STALL, 0)

    gather.ticked(1.2 + STALL)

    assert (gather.readable, gather.take(2.0), gather.take(2.0)) == (1, [b"a", b"b"], ENDED)
    assert (gather.readable, gather.deadline) == (0, None)


def test_it_ends_at_once_when_all_are_there() -> None:
    gather = asking(count=2)
    answered(gather, b"a", b"b", b"late")

    assert gather.take(1.0) == [b"a", b"b"]


def test_nobody_at_all_is_an_error() -> None:
    silent, empty = asking(), asking()
    silent.ticked(5.0)
    answered(empty, b"", block=NOBODY)

    with pytest.raises(RequestTimeout):
        silent.take(5.0)
    with pytest.raises(NoResponders):
        empty.take(1.0)


def test_without_a_link_it_waits_for_one_and_a_link_lost_later_ends_it() -> None:
    gather = asking(up=False)
    gather.link_down(ConnectionLost("x"), 0.5)

    assert (questions(gather), gather.ended) == ([], False)

    gather.port.up = True
    gather.link_up(1.0)
    answered(gather, b"a", now=1.1)
    gather.link_down(ConnectionLost("x"), 1.2)

    assert len(questions(gather)) == 1
    with pytest.raises(ConnectionLost, match="1 had come"):
        gather.take(1.3)


def test_a_refusal_ends_it() -> None:
    gather = asking()
    gather.refused("who", PermissionViolation("x", "who", "publish"), 1.0)

    with pytest.raises(PermissionViolation):
        gather.take(1.0)


def test_what_cannot_be_read_is_an_error() -> None:
    def read(messages):
        raise InvalidResponse("no")

    gather = asking(read=read, count=1)
    answered(gather, b"a")

    with pytest.raises(InvalidResponse):
        gather.take(1.0)


def test_a_drain_does_not_end_it_and_a_close_does() -> None:
    given_up, cut = asking(), asking()
    for gather in (given_up, cut):
        answered(gather, b"a")
        gather.told(StopMode.DRAIN, 1.0)

        assert not gather.ended

    given_up.closed(None, 1.0)
    given_up.closed(None, 1.0)
    cut.closed(ConnectionLost("gone"), 1.0)

    with pytest.raises(ConnectionClosed):
        given_up.take(1.0)
    with pytest.raises(ConnectionLost, match="gone"):
        cut.take(1.0)


def test_it_can_be_taken_out_and_put_back_in_the_middle() -> None:
    gather = asking()
    answered(gather, b"a")
    twin = made()
    twin.restore(gather.snapshot())
    answered(twin, b"b", now=1.1)
    twin.ticked(2.0)

    assert twin.take(2.0) == [b"a", b"b"]
