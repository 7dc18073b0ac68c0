"""Request and flush, alone."""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.pubsub.request import Flush, request
from jsproto.errors import ConnectionLost, InvalidConfig, RequestTimeout
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_timeout_is_positive(timeout):
    with pytest.raises(InvalidConfig):
        request("a", timeout=timeout)
    with pytest.raises(InvalidConfig):
        Flush(timeout)


def flush(**port):
    made = Flush(5.0)
    made.port = Port(**port)
    made.opened(1.0)
    return made


def test_a_flush_is_a_fence_and_its_round_trip():
    made = flush()
    made.told(StopMode.DRAIN, 1.0)
    made.ticked(2.0)

    assert [Ping()] == made.port.commands
    assert (6.0, 0) == (made.deadline, made.readable)
    assert NEED_DATA is made.take(2.0)

    made.fenced(1, 3.0)

    assert (None, 1) == (made.deadline, made.readable)
    assert 2.0 == made.take(3.0)
    assert ENDED is made.take(3.0)


def test_a_flush_that_waits_for_a_link_is_not_lost_with_it():
    made = flush(up=False)
    made.link_down(ConnectionLost("x"), 2.0)

    assert not made.ended

    made.port.up = True
    made.link_up(3.0)
    made.link_down(ConnectionLost("x"), 4.0)

    with pytest.raises(ConnectionLost):
        made.take(4.0)

    made.ticked(10.0)


def test_a_flush_gives_up_in_time():
    made = flush()
    made.ticked(6.0)
    made.ticked(7.0)

    with pytest.raises(RequestTimeout, match=r"5\.0 s"):
        made.take(6.0)


def test_a_restored_flush_goes_on():
    made = flush()
    twin = Flush(5.0)
    assert twin.deadline is None
    twin.port = Port()
    twin.restore(made.snapshot())
    for each in (made, twin):
        each.fenced(1, 3.0)

    assert made.take(3.0) == twin.take(3.0) == 2.0
