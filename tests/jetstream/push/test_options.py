"""How a push subscription reads, before anybody knows its consumer."""

from __future__ import annotations

import pytest

from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors import InvalidConfig
from jsproto.jetstream.push.options import PushOptions


def frames(count: int, size: int = 1):
    return [("2", "s.a", f"$JS.ACK.S.C.1.{n}.{n}.1.0", None, b"x" * size) for n in range(count)]


def test_who_says_nothing_acknowledges_himself_sees_no_statuses_and_is_told_of_gaps():
    options = PushOptions()

    assert (options.auto_ack, options.raw, options.watch_gaps) == (False, False, True)


def test_a_buffer_holds_65536_messages_or_64_mebibytes_and_then_drops_what_comes():
    options = PushOptions()

    assert (options.max_messages, options.max_bytes) == (65_536, 67_108_864)
    assert options.policy is Overflow.DROP_NEWEST


@pytest.mark.parametrize(
    ("policy", "left"), [(Overflow.DROP_OLDEST, [1, 2]), (Overflow.DROP_NEWEST, [0, 1])]
)
def test_the_buffer_has_the_bound_in_messages_and_the_policy_that_were_said(policy, left):
    backlog = FrameQueue()
    came = frames(3)
    dropped = PushOptions(max_messages=2, policy=policy).bounds().admit(came, backlog)

    assert dropped == 1
    assert backlog.frames() == [came[n] for n in left]


def test_the_buffer_has_the_bound_in_bytes_that_was_said():
    backlog = FrameQueue()

    assert PushOptions(max_bytes=25).bounds().admit(frames(3, size=10), backlog) == 1
    assert backlog.count == 2


def test_silence_is_nothing_until_the_consumer_says_that_it_has_heartbeats_and_then_three_may_be_missed():
    liveness = PushOptions().liveness()
    liveness.watch(5.0)
    assert (liveness.heartbeat, liveness.deadline) == (0.0, None)

    liveness.promised(2.0)
    liveness.watch(5.0)
    assert liveness.deadline == 11.0


def test_the_factor_of_the_alarm_can_be_said():
    liveness = PushOptions(heartbeat_factor=2.0).liveness()
    liveness.promised(2.0)

    assert liveness.period == 4.0


@pytest.mark.parametrize(
    "given", [{"heartbeat_factor": 0.5}, {"max_messages": 0}, {"max_bytes": -1}]
)
def test_options_that_cannot_work_are_refused(given):
    with pytest.raises(InvalidConfig):
        PushOptions(**given)
