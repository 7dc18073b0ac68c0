"""A push subscription alone: a bare port, answers and frames in, commands, notices and messages
out.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from jsproto.core.connection.events import NoticeKind
from jsproto.core.conversation.conversation import Port, Stage, StopMode
from jsproto.core.pubsub.subscription import Overflow, SlowConsumer
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    LocalProtocolError,
    PermissionViolation,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api import errors
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import HeartbeatsMissed, UnknownStatus
from jsproto.jetstream.gaps import Gap
from jsproto.jetstream.push import subscribe_checks as refused
from jsproto.jetstream.push.base import PushFeed, PushNotice, PushProgress
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import TRANSITIONS, PushInput, PushState, PushSubscription
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish, Sub, Unsub
from jsproto.wire.headers import Headers

API = ApiSubjects()
LOST = ConnectionLost("the link was lost")
SECOND = timedelta(seconds=1)
INFO, CREATE, DELETE = (
    "$JS.API.CONSUMER.INFO.S.C",
    "$JS.API.CONSUMER.CREATE.S",
    "$JS.API.CONSUMER.DELETE.S.C",
)
EXISTS = {"error": {"code": 400, "err_code": 10148, "description": "consumer already exists"}}
GONE = {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
MUX = "_INBOX.R.1."


def info(name: str = "C", *, bound: bool = False, **config: object) -> dict[str, object]:
    settings = {
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "deliver_subject": "d.x",
        **config,
    }
    return {"stream_name": "S", "name": name, "config": settings, "push_bound": bound}


def new(
    *, up: bool = True, options: PushOptions | None = None, **asked: object
) -> PushSubscription[JsMessage]:
    sub: PushSubscription[JsMessage] = PushSubscription(
        API, Subscribe(stream="S", **asked), options
    )
    sub.port = Port(up=up)
    return sub


def answer(sub: PushSubscription[JsMessage], body: dict[str, object], now: float = 0.0) -> None:
    """Answer the newest question."""
    call = next(
        c for c in reversed(sub.port.commands) if isinstance(c, Publish) and c.reply.startswith(MUX)
    )
    sub.replied(
        int(call.reply.removeprefix(MUX)),
        ("1", call.reply, "", None, json.dumps(body).encode()),
        now,
    )


def bound(
    options: PushOptions | None = None, queue: str = "", **config: object
) -> PushSubscription[JsMessage]:
    """Bound to the consumer C, which was there and delivers to d.x."""
    sub = new(options=options, consumer="C", queue=queue)
    sub.opened(0.0)
    answer(sub, info(**config))
    sub.port.commands.clear()
    sub.port.notices.clear()
    return sub


def made(options: PushOptions | None = None, **config: object) -> PushSubscription[JsMessage]:
    """Bound to a consumer that it has made itself, and owns."""
    sub = new(options=options, subject="s.a")
    sub.opened(0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1", **config))
    sub.port.commands.clear()
    sub.port.notices.clear()
    return sub


def data(sub: PushFeed[JsMessage], *numbers: int, block: bytes | None = None, subject: str = "s.a"):
    return [
        (sub.port.sid, subject, f"$JS.ACK.S.C.1.{n + 100}.{n}.1795811553265218855.0", block, b"x")
        for n in numbers
    ]


def status(sub: PushSubscription[JsMessage], text: str, reply: str = "", headers: str = ""):
    block = f"NATS/1.0 {text}".rstrip() + f"\r\n{headers}\r\n"
    return (sub.port.sid, sub._deliver, reply, block.encode(), b"")


def heartbeat(sub: PushSubscription[JsMessage], consumer: int, stream: int = 0, stalled: str = ""):
    headers = f"Nats-Last-Consumer: {consumer}\r\nNats-Last-Stream: {stream}\r\n"
    return status(
        sub,
        "100 Idle Heartbeat",
        "",
        headers + (f"Nats-Consumer-Stalled: {stalled}\r\n" if stalled else ""),
    )


def flow(sub: PushSubscription[JsMessage], subject: str = "$JS.FC.S.C.a"):
    return status(sub, "100 FlowControl Request", subject)


def answers(sub: PushFeed[JsMessage]) -> list[str]:
    return [
        c.subject
        for c in sub.port.commands
        if isinstance(c, Publish) and c.subject.startswith("$JS.FC")
    ]


def said(sub: PushFeed[JsMessage], payload: bytes) -> list[int]:
    """Consumer sequences of the deliveries for which this was said."""
    return [
        int(c.subject.split(".")[6])
        for c in sub.port.commands
        if isinstance(c, Publish) and c.payload == payload
    ]


def kinds(sub: PushFeed[JsMessage]) -> list[object]:
    return [kind for kind, _ in sub.port.notices]


def detail(sub: PushFeed[JsMessage], wanted: object) -> object:
    return next(detail for kind, detail in sub.port.notices if kind is wanted)


def number(message: JsMessage) -> int:
    return message.metadata.consumer_sequence


def taken(sub: PushFeed[JsMessage], now: float = 0.0) -> list[int]:
    numbers = []
    while (item := sub.take(now)) is not ENDED and item is not NEED_DATA:
        numbers.append(number(item))
    return numbers


def fenced(sub: PushSubscription[JsMessage]) -> None:
    sub.fenced(sub.port.fences.popleft(), 0.0)


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    "given", [{"heartbeat_factor": 0.5}, {"max_messages": 0}, {"max_bytes": -1}]
)
def test_options_that_cannot_work_are_refused(given):
    with pytest.raises(InvalidConfig):
        PushOptions(**given)


# ------------------------------------------------------------------ the workflow


def test_the_interest_is_stated_before_the_consumer_is_made():
    sub = new(subject="s.a")
    sub.opened(0.0)

    sub_command, create = sub.port.commands
    assert sub_command == Sub("_INBOX.P.1.1.1", "2")
    assert create.subject == CREATE
    assert json.loads(create.payload)["config"]["deliver_subject"] == "_INBOX.P.1.1.1"
    assert sub.state is PushState.CREATING


def test_the_stream_is_asked_for_first():
    sub = PushSubscription(API, Subscribe(subject="s.a"))
    sub.port = Port()
    sub.opened(0.0)
    assert [c.subject for c in sub.port.commands] == ["$JS.API.STREAM.NAMES"]
    answer(sub, {"streams": ["S"], "total": 1})

    assert [type(c) for c in sub.port.commands] == [Publish, Sub, Publish]


def test_a_deliver_subject_and_a_queue_that_are_asked_for_are_listened_on():
    sub = new(subject="s.a", queue="C", settings=ConsumerConfig(deliver_subject="mine"))
    sub.opened(0.0)
    answer(sub, GONE)

    assert sub.port.commands[1] == Sub("mine", "2", "C")


def test_B095_a_consumer_with_a_group_is_listened_to_in_it():
    sub = bound_queue = new(consumer="C", queue="g")
    sub.opened(0.0)
    answer(sub, info(deliver_group="g"))

    assert bound_queue.port.commands[-1] == Sub("d.x", "2", "g")


def test_a_consumer_that_is_there_is_listened_to_and_told_of():
    sub = new(consumer="C")
    sub.opened(0.0)
    answer(sub, info())

    assert [c for c in sub.port.commands if isinstance(c, Sub)] == [Sub("d.x", "2")]
    assert sub.state is PushState.BOUND
    assert (sub.info.name, sub.created, sub.owned) == ("C", False, False)
    assert detail(sub, PushNotice.BOUND) == sub.info


def test_before_it_is_bound_nothing_is_known_of_the_consumer():
    sub = new(subject="s.a")
    sub.opened(0.0)

    assert (sub.info, sub.created) == (None, False)
    assert new(consumer="C").info is None
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))
    assert (sub.info.name, sub.created, sub.owned) == ("C", True, True)


def test_who_is_told_to_stop_answers_no_question_again():
    sub = made(flow_control=True, idle_heartbeat=1_000_000_000)
    sub.delivered([flow(sub)], 1.0)
    before = answers(sub)
    sub.told(StopMode.STOP, 1.0)
    sub.delivered([heartbeat(sub, 0, stalled="$JS.FC.S.C.a"), flow(sub, "$JS.FC.S.C.b")], 1.1)

    assert sub.state is PushState.DELETING
    assert answers(sub) == before == ["$JS.FC.S.C.a"]


def test_who_waits_is_told_when_it_is_bound_and_how_it_ended():
    sub = new(subject="s.a")
    seen = [(sub.stage, sub.reason)]
    sub.opened(0.0)
    seen.append((sub.stage, sub.reason))
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))
    seen.append((sub.stage, sub.reason))
    sub.closed(None, 1.0)
    seen.append((sub.stage, sub.reason))

    assert seen == [
        (Stage.BEGINNING, None),
        (Stage.BEGINNING, None),
        (Stage.GOING, None),
        (Stage.ENDED, EndReason.CLOSED),
    ]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(LOST, EndReason.DISCONNECTED), (StatusError(409, "Bad"), EndReason.FATAL)],
)
def test_what_it_ended_with_is_the_reason(error, reason):
    sub = bound()
    sub.failed(error, 1.0)

    assert (sub.stage, sub.reason) == (Stage.ENDED, reason)


def test_messages_before_the_create_answer_are_kept():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.delivered(data(sub, 1, 2), 0.0)
    assert (sub.readable, sub.take(0.0)) == (0, NEED_DATA)
    sub.delivered([*data(sub, 3), flow(sub)], 0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1", flow_control=True, idle_heartbeat=10**9))

    assert answers(sub) == []
    assert taken(sub) == [1, 2, 3]
    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_what_is_kept_before_the_create_answer_is_bounded():
    sub = new(subject="s.a", options=PushOptions(max_messages=2))
    sub.opened(0.0)
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    sub.delivered(data(sub, 4), 0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))

    assert taken(sub) == [1, 2]
    assert sub.dropped == 2
    assert kinds(sub)[:2] == [NoticeKind.SLOW_CONSUMER] * 2


def test_after_a_lost_race_a_queue_moves_to_the_consumers_deliver_subject():
    sub = new(subject="s.a", queue="C")
    sub.opened(0.0)
    answer(sub, GONE)
    own = sub.port.sid
    sub.delivered(data(sub, 1), 0.0)
    answer(sub, EXISTS)
    answer(sub, info(deliver_subject="theirs", deliver_group="C", bound=True))

    assert sub.port.commands[-2:] == [Unsub(own), Sub("theirs", "3", "C")]
    assert (sub.created, sub.owned, sub.state) == (False, False, PushState.BOUND)
    assert (taken(sub), sub.strays) == ([], 1)
    sub.delivered(data(sub, 7), 0.0)
    assert taken(sub) == [7]


def test_after_a_lost_race_for_the_same_deliver_subject_the_interest_stays():
    sub = new(subject="s.a", queue="C", settings=ConsumerConfig(deliver_subject="same"))
    sub.opened(0.0)
    answer(sub, GONE)
    answer(sub, EXISTS)
    answer(sub, info(deliver_subject="same", deliver_group="C"))

    assert [c for c in sub.port.commands if isinstance(c, (Sub, Unsub))] == [Sub("same", "2", "C")]


def test_a_lost_race_without_a_queue_ends_with_the_error():
    sub = new(settings=ConsumerConfig(durable_name="C"))
    sub.opened(0.0)
    answer(sub, GONE)
    answer(sub, EXISTS)
    answer(sub, info(durable_name="C", bound=True))

    with pytest.raises(refused.DuplicateSubscription):
        sub.take(0.0)
    assert (sub.state, sub.port.subject) == (PushState.OVER, "")


def test_a_check_that_fails_ends_it_before_any_interest():
    sub = new(consumer="C")
    sub.opened(0.0)
    answer(sub, info(bound=True))

    with pytest.raises(refused.DuplicateSubscription):
        sub.take(0.0)
    assert (sub.finished, sub.deadline) == (True, None)
    assert not [c for c in sub.port.commands if isinstance(c, Sub)]


def test_a_create_that_the_server_refuses_ends_it():
    sub = new(subject="s.a")
    sub.opened(0.0)
    answer(sub, {"error": {"code": 400, "err_code": 10081, "description": "forms a cycle"}})

    with pytest.raises(errors.ConfigurationRefused):
        sub.take(0.0)
    assert sub.port.commands[-1] == Unsub("2")


def test_a_question_that_is_not_answered_ends_it():
    sub = new(consumer="C")
    sub.opened(0.0)
    assert sub.deadline == 5.0
    sub.ticked(5.0)

    with pytest.raises(RequestTimeout):
        sub.take(5.0)


def test_a_deliver_subject_that_no_sub_can_carry_ends_it():
    sub = new(consumer="C")
    sub.opened(0.0)
    answer(sub, info(deliver_subject="d x"))

    with pytest.raises(LocalProtocolError):
        sub.take(0.0)
    assert sub.finished


def test_without_a_link_the_workflow_waits_for_one():
    sub = new(up=False, subject="s.a")
    sub.opened(0.0)
    assert [type(c) for c in sub.port.commands] == [Sub]
    sub.port.up = True
    sub.link_up(1.0)

    assert [c.subject for c in sub.port.commands[1:]] == [CREATE]


def test_a_link_that_is_lost_under_a_question_ends_it():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.port.up = False
    sub.link_down(LOST, 1.0)

    with pytest.raises(ConnectionLost):
        sub.take(1.0)


def test_a_subscription_that_the_account_may_not_have_ends_it():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.refused("_INBOX.P.1.1.1", PermissionViolation("no", "_INBOX.P.1.1.1", "subscription"), 0.0)

    with pytest.raises(PermissionViolation):
        sub.take(0.0)
    assert sub.state is PushState.LEAVING
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))
    assert sub.port.commands[-1].subject == DELETE
    answer(sub, {"success": True})
    assert sub.finished


def test_a_question_that_is_refused_ends_it():
    sub = new(consumer="C")
    sub.opened(0.0)
    sub.refused(INFO, PermissionViolation("no", INFO, "publish"), 0.0)

    with pytest.raises(PermissionViolation):
        sub.take(0.0)


# ------------------------------------------------------------------ messages


def test_B098_a_message_shows_its_own_subject():
    sub = bound()
    sub.delivered(data(sub, 1, subject="orders.new"), 0.0)

    assert sub.take(0.0).subject == "orders.new"


def test_messages_are_taken_one_by_one_or_all_at_once():
    sub = bound()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.delivered(data(sub, 3), 0.0)

    assert sub.readable == 3
    assert number(sub.take(0.0)) == 1
    assert [number(each) for each in sub.take_all(0.0)] == [2, 3]
    assert sub.take_all(0.0) is NEED_DATA
    assert sub.take_blocked


@pytest.mark.parametrize("policy", ["none", "flow_control"])
def test_where_single_acks_mean_nothing_messages_are_mute(policy):
    sub = bound(ack_policy=policy)
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    one = sub.take(0.0)

    assert one.state is AckState.MUTE
    assert {each.state for each in sub.take_all(0.0)} == {AckState.MUTE}
    assert not one.settle_by(lambda _: None)


@pytest.mark.parametrize("policy", ["explicit", "all"])
def test_where_single_acks_count_messages_are_open(policy):
    sub = bound(ack_policy=policy)
    sub.delivered(data(sub, 1), 0.0)

    assert sub.take(0.0).state is AckState.OPEN


def test_a_forged_status_line_makes_no_status_of_a_stored_message():
    sub = bound()
    sub.delivered(data(sub, 1, block=b"NATS/1.0 100 FlowControl Request\r\n\r\n"), 0.0)
    sub.delivered(data(sub, 2, block=b"NATS/1.0 409 Consumer Deleted\r\n\r\n"), 0.0)

    assert taken(sub) == [1, 2]
    assert answers(sub) == []


def test_what_comes_on_the_deliver_subject_without_a_status_is_a_message_only_with_an_ack_subject():
    sub = bound()
    sub.delivered([(sub.port.sid, "d.x", "", None, b"hello")], 0.0)
    sub.delivered([(sub.port.sid, "d.x", "", b"NATS/1.0\r\nA: b\r\n\r\n", b"hello")], 0.0)
    sub.delivered(data(sub, 5, subject="d.x"), 0.0)

    assert taken(sub) == [5]
    assert (sub.strays, kinds(sub)) == (2, [PushNotice.STRAY] * 2)


def test_frames_of_another_sid_change_nothing():
    sub = bound(idle_heartbeat=10**9)
    sub.delivered([("99", *data(sub, 1)[0][1:])], 2.0)

    assert (sub.readable, sub.strays, sub.liveness.since) == (0, 1, 0.0)


# ------------------------------------------------------------------ bounds


def test_without_flow_control_the_newest_give_way_and_it_is_told_once():
    sub = bound(PushOptions(max_messages=2))
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    sub.delivered(data(sub, 4, 5), 0.0)

    assert taken(sub) == [1, 2]
    assert sub.dropped == 3
    assert [(NoticeKind.SLOW_CONSUMER, 1)] == sub.port.notices
    sub.delivered(data(sub, 6), 0.0)
    sub.delivered(data(sub, 7, 8), 0.0)
    assert kinds(sub).count(NoticeKind.SLOW_CONSUMER) == 2


def test_the_oldest_can_give_way_instead():
    sub = bound(PushOptions(max_messages=2, policy=Overflow.DROP_OLDEST))
    sub.delivered(data(sub, 1, 2, 3), 0.0)

    assert taken(sub) == [2, 3]


def test_it_can_end_instead_behind_what_is_at_hand():
    sub = bound(PushOptions(max_messages=2, policy=Overflow.FAIL))
    sub.delivered(data(sub, 1, 2, 3), 0.0)

    assert [number(sub.take(0.0)) for _ in range(2)] == [1, 2]
    with pytest.raises(SlowConsumer, match="at most 2 messages"):
        sub.take(0.0)


def test_with_flow_control_the_server_is_the_bound():
    sub = bound(PushOptions(max_messages=2), flow_control=True, idle_heartbeat=10**9)
    sub.delivered(data(sub, *range(1, 6)), 0.0)

    assert taken(sub) == [1, 2, 3, 4, 5]
    assert sub.dropped == 0


# ------------------------------------------------------------------ flow control


def flowing(options: PushOptions | None = None, **config: object) -> PushSubscription[JsMessage]:
    return bound(options, flow_control=True, idle_heartbeat=1_000_000_000, **config)


def test_B091_a_request_is_answered_when_everything_before_it_was_taken():
    sub = flowing()
    sub.delivered([*data(sub, 1, 2, 3), flow(sub), *data(sub, 4)], 0.0)

    assert [number(sub.take(0.0)) for _ in range(2)] == [1, 2]
    assert answers(sub) == []
    assert number(sub.take(0.0)) == 3
    assert answers(sub) == ["$JS.FC.S.C.a"]
    assert taken(sub) == [4]
    assert answers(sub) == ["$JS.FC.S.C.a"]
    assert sub.port.commands == [Publish("$JS.FC.S.C.a", b"", "", None)]


def test_B091_a_request_behind_what_was_taken_is_answered_at_once():
    sub = flowing()
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    taken(sub)
    sub.delivered([flow(sub)], 0.0)

    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_a_hungry_reader_is_no_reason_to_wait():
    sub = flowing()
    assert sub.take(0.0) is NEED_DATA
    sub.delivered([flow(sub, "$JS.FC.a"), flow(sub, "$JS.FC.b"), *data(sub, 1)], 0.0)

    assert answers(sub) == ["$JS.FC.a", "$JS.FC.b"]
    assert sub.readable == 1


def test_taking_all_ends_at_a_request():
    sub = flowing()
    sub.delivered(
        [
            *data(sub, 1, 2),
            flow(sub, "$JS.FC.a"),
            *data(sub, 3),
            flow(sub, "$JS.FC.b"),
            *data(sub, 4),
        ],
        0.0,
    )

    assert sub.readable == 4
    assert [number(each) for each in sub.take_all(0.0)] == [1, 2]
    assert answers(sub) == ["$JS.FC.a"]
    assert [number(each) for each in sub.take_all(0.0)] == [3]
    assert answers(sub) == ["$JS.FC.a", "$JS.FC.b"]
    assert [number(each) for each in sub.take_all(0.0)] == [4]


def test_the_next_message_comes_in_the_same_take_that_meets_the_request():
    sub = flowing()
    sub.delivered([*data(sub, 1), flow(sub), *data(sub, 2)], 0.0)

    assert (number(sub.take(0.0)), number(sub.take(0.0))) == (1, 2)


def test_the_subject_is_opaque():
    sub = flowing()
    sub.delivered([flow(sub, "anything.at.all")], 0.0)

    assert sub.port.commands == [Publish("anything.at.all")]


def test_a_request_without_a_reply_subject_is_a_stray():
    sub = flowing()
    sub.delivered([flow(sub, "")], 0.0)

    assert (sub.strays, sub.port.commands) == (1, [])


def test_a_stalled_header_is_answered_like_a_request_and_once():
    sub = flowing()
    sub.delivered([*data(sub, 1, 2), heartbeat(sub, 2, stalled="$JS.FC.lost")], 1.0)
    assert answers(sub) == []
    assert number(sub.take(1.0)) == 1
    assert answers(sub) == []
    sub.take(1.0)
    sub.delivered([heartbeat(sub, 2, stalled="$JS.FC.lost")], 1.5)

    assert answers(sub) == ["$JS.FC.lost"]


def test_request_and_stalled_headers_of_one_subject_are_one_question():
    sub = flowing()
    sub.delivered([*data(sub, 1), flow(sub), heartbeat(sub, 1, stalled="$JS.FC.S.C.a")], 0.0)
    sub.delivered([heartbeat(sub, 1, stalled="$JS.FC.S.C.a")], 1.0)
    taken(sub, 1.1)
    sub.delivered([heartbeat(sub, 1, stalled="$JS.FC.S.C.a")], 1.2)

    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_an_answer_that_was_lost_is_given_again_when_heartbeats_insist_behind_a_fence():
    sub = flowing()
    missed = heartbeat(sub, 0, stalled="$JS.FC.S.C.a")
    sub.delivered([flow(sub), missed, missed], 0.0)
    assert sub.port.commands == [Publish("$JS.FC.S.C.a"), Ping()]
    sub.fenced(99, 0.5)
    sub.delivered([missed], 0.5)
    assert answers(sub) == ["$JS.FC.S.C.a"]
    fenced(sub)
    sub.delivered([missed], 1.0)

    assert answers(sub) == ["$JS.FC.S.C.a"] * 2


def test_without_a_link_a_doubt_cannot_be_settled():
    sub = flowing()
    sub.delivered([flow(sub)], 0.0)
    sub.port.up = False
    sub.delivered([heartbeat(sub, 0, stalled="$JS.FC.S.C.a")], 0.0)

    assert Ping() not in sub.port.commands


def test_a_request_that_is_reached_without_a_link_is_left_to_the_next_heartbeats():
    sub = flowing()
    sub.delivered([*data(sub, 1), flow(sub)], 0.0)
    sub.port.up = False
    sub.link_down(LOST, 0.1)
    taken(sub)
    sub.port.up = True
    sub.link_up(0.2)
    assert answers(sub) == []
    sub.delivered([heartbeat(sub, 1, stalled="$JS.FC.S.C.a")], 0.3)

    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_what_was_answered_on_a_lost_link_is_answered_again_at_once_when_missed():
    sub = flowing()
    sub.delivered([flow(sub)], 0.0)
    sub.link_down(LOST, 0.1)
    sub.link_up(0.2)
    sub.delivered([heartbeat(sub, 0, stalled="$JS.FC.S.C.a")], 0.3)

    assert answers(sub) == ["$JS.FC.S.C.a"] * 2


def test_an_answer_that_the_server_refuses_is_told():
    sub = flowing()
    sub.delivered([flow(sub)], 0.0)
    no = PermissionViolation("no", "$JS.FC.S.C.a", "publish")
    sub.refused("other", no, 0.0)
    sub.refused("$JS.FC.S.C.a", no, 0.0)

    assert sub.port.notices == [(PushNotice.REFUSED, no)]
    assert not sub.ended


# ------------------------------------------------------------------ ack policy flow_control


def acking(policy: PushOptions | None = None) -> PushSubscription[JsMessage]:
    return flowing(policy, ack_policy="flow_control", max_ack_pending=3)


def ack_headers(sub: PushFeed[JsMessage]) -> list[tuple[str, ...] | None]:
    return [
        None if c.headers is None else tuple(value for _, value in c.headers.items())
        for c in sub.port.commands
        if isinstance(c, Publish)
    ]


def test_where_the_answer_acknowledges_it_waits_until_the_reader_comes_back():
    sub = acking()
    sub.delivered([*data(sub, 1, 2), flow(sub), *data(sub, 3)], 0.0)
    sub.take(0.0)
    sub.take(0.0)
    assert answers(sub) == []
    assert (sub.readable, number(sub.take(0.0))) == (1, 3)

    assert sub.port.commands == [
        Publish(
            "$JS.FC.S.C.a",
            b"",
            "",
            Headers([("Nats-Last-Consumer", "2"), ("Nats-Last-Stream", "102")]),
        )
    ]


def test_where_the_answer_acknowledges_a_hungry_reader_is_done_with_everything():
    sub = acking()
    sub.delivered(data(sub, 1), 0.0)
    assert taken(sub) == [1]
    sub.delivered([flow(sub)], 0.0)

    assert ack_headers(sub) == [("1", "101")]


def test_where_the_answer_acknowledges_and_nothing_was_taken_it_says_nothing():
    sub = acking()
    sub.delivered([flow(sub)], 0.0)

    assert ack_headers(sub) == [None]


def test_where_the_answer_acknowledges_a_whole_run_is_done_when_the_next_is_asked_for():
    sub = acking()
    sub.delivered([*data(sub, 1, 2, 3), flow(sub)], 0.0)
    assert len(sub.take_all(0.0)) == 3
    assert answers(sub) == []
    assert sub.take_all(0.0) is NEED_DATA

    assert ack_headers(sub) == [("3", "103")]


def test_a_message_without_a_readable_ack_subject_is_not_acknowledged_by_the_answer():
    sub = acking()
    sub.delivered([(sub.port.sid, "s.a", "$JS.ACK.odd", None, b"")], 0.0)
    sub.take(0.0)
    sub.take(0.0)
    sub.delivered([flow(sub)], 0.0)

    assert ack_headers(sub) == [None]


def test_auto_ack_is_nothing_where_the_answer_acknowledges():
    sub = acking(PushOptions(auto_ack=True))
    sub.delivered(data(sub, 1), 0.0)
    taken(sub)

    assert sub.port.commands == []


# ------------------------------------------------------------------ heartbeats


def test_B092_the_consumers_own_settings_count():
    sub = bound(flow_control=True, idle_heartbeat=1_000_000_000)
    sub.delivered([flow(sub)], 0.0)
    assert answers(sub) == ["$JS.FC.S.C.a"]
    sub.ticked(3.0)

    assert isinstance(detail(sub, PushNotice.HEARTBEAT_MISSED), HeartbeatsMissed)


def test_three_heartbeats_may_be_missed_or_as_many_as_is_said():
    assert bound(idle_heartbeat=10**9).deadline == 3.0
    assert bound(PushOptions(heartbeat_factor=2.0), idle_heartbeat=10**9).deadline == 2.0
    assert bound().deadline is None


def test_the_alarm_is_told_once_a_silence_and_its_end_too():
    sub = bound(idle_heartbeat=10**9)
    sub.ticked(2.9)
    assert kinds(sub) == []
    sub.ticked(3.0)
    sub.ticked(6.0)
    assert kinds(sub) == [PushNotice.HEARTBEAT_MISSED]
    sub.delivered([heartbeat(sub, 0)], 7.0)
    sub.ticked(10.0)

    assert kinds(sub) == [
        PushNotice.HEARTBEAT_MISSED,
        PushNotice.RESUMED,
        PushNotice.HEARTBEAT_MISSED,
    ]


def test_any_frame_is_a_sign_of_life():
    sub = bound(idle_heartbeat=10**9)
    sub.delivered(data(sub, 1), 2.5)

    assert sub.deadline == 5.5


def test_there_is_no_alarm_while_the_link_is_down_and_a_fresh_window_with_the_next():
    sub = bound(idle_heartbeat=10**9)
    sub.port.up = False
    sub.link_down(LOST, 1.0)
    sub.ticked(100.0)
    assert (sub.deadline, kinds(sub)) == (None, [])
    sub.port.up = True
    sub.link_up(100.0)

    assert sub.deadline == 103.0


def test_a_first_heartbeat_behind_the_end_of_the_interest_begins_no_watch():
    sub = bound(idle_heartbeat=10**9, replay_policy="original")
    sub.delivered(data(sub, 1), 1.0)
    sub.told(StopMode.DRAIN, 1.0)
    sub.delivered([heartbeat(sub, 1)], 1.1)

    assert (sub.state, sub.deadline) == (PushState.DRAINING, None)


def test_replay_original_is_quiet_until_the_first_heartbeat():
    sub = bound(idle_heartbeat=10**9, replay_policy="original")
    sub.delivered(data(sub, 1), 1.0)
    sub.ticked(100.0)
    assert kinds(sub) == []
    sub.delivered([heartbeat(sub, 1)], 200.0)
    assert sub.deadline == 203.0
    sub.link_down(LOST, 201.0)
    sub.link_up(202.0)
    sub.ticked(300.0)

    assert kinds(sub) == []


# ------------------------------------------------------------------ asked in a replay's silence


def asked(sub: PushFeed[JsMessage]) -> int:
    """How often it has asked for its consumer."""
    return sum(isinstance(each, Publish) and each.subject == INFO for each in sub.port.commands)


def replaying(**config: object) -> PushSubscription[JsMessage]:
    """Bound to a consumer that replays at the original pace; it may be silent for 3 s."""
    return bound(idle_heartbeat=10**9, replay_policy="original", **config)


def silent(sub: PushSubscription[JsMessage], now: float) -> PushSubscription[JsMessage]:
    """It asks at this moment, and not before."""
    before = asked(sub)
    sub.ticked(now - 0.1)
    assert (sub.deadline, asked(sub)) == (now, before)
    sub.ticked(now)
    assert asked(sub) == before + 1
    return sub


@pytest.mark.parametrize(("code", "err_code"), [(404, 10014), (404, 10059)])
def test_a_consumer_that_is_deleted_in_the_silence_of_a_replay_is_told_as_missed_heartbeats(
    code, err_code
):
    sub = replaying()
    sub.delivered(data(sub, 1), 1.0)
    silent(sub, 4.0)
    answer(sub, {"error": {"code": code, "err_code": err_code, "description": "not found"}}, 4.1)

    assert kinds(sub) == [PushNotice.HEARTBEAT_MISSED]
    assert isinstance(detail(sub, PushNotice.HEARTBEAT_MISSED), HeartbeatsMissed)
    assert (sub.ended, sub.state, sub.liveness.silent) == (False, PushState.BOUND, True)
    assert taken(sub) == [1]


def test_a_deleted_consumer_is_told_once_for_each_silence_and_asked_for_again_after_it():
    sub = silent(replaying(), 3.0)
    answer(sub, GONE, 3.1)
    sub.ticked(100.0)
    assert (sub.deadline, asked(sub)) == (None, 1)
    sub.port.up = False
    sub.link_down(LOST, 101.0)
    sub.port.up = True
    sub.link_up(110.0)
    silent(sub, 113.0)
    answer(sub, GONE, 113.1)
    assert kinds(sub) == [PushNotice.HEARTBEAT_MISSED]
    sub.delivered(data(sub, 1), 120.0)
    silent(sub, 123.0)
    answer(sub, GONE, 123.1)

    assert kinds(sub) == [
        PushNotice.HEARTBEAT_MISSED,
        PushNotice.RESUMED,
        PushNotice.HEARTBEAT_MISSED,
    ]


def test_a_consumer_that_is_there_is_asked_for_again_after_each_period_of_silence():
    sub = silent(replaying(), 3.0)
    assert sub.deadline == 8.0
    answer(sub, info(replay_policy="original"), 3.1)
    silent(sub, 6.0)
    answer(sub, info(replay_policy="original"), 6.1)
    sub.delivered(data(sub, 1), 7.5)
    silent(sub, 10.5)

    assert kinds(sub) == []


@pytest.mark.parametrize("operation", ["publish", "subscription"])
def test_a_client_that_may_not_ask_for_its_consumer_stops_asking_until_the_next_link(operation):
    sub = silent(replaying(), 3.0)
    subject = INFO if operation == "publish" else sub.port.answers
    sub.refused(subject, PermissionViolation("not allowed", subject, operation), 3.1)
    sub.ticked(100.0)
    assert (sub.deadline, asked(sub), kinds(sub), sub.ended) == (None, 1, [], False)
    sub.link_down(LOST, 101.0)
    sub.link_up(102.0)

    silent(sub, 105.0)


def test_a_question_that_is_not_answered_is_no_error_and_is_asked_again():
    """A leaf node answers 503 while its hub is away, and the hub can delete a consumer."""
    sub = silent(replaying(), 3.0)
    question = sub.port.commands[-1]
    sub.replied(
        int(question.reply.removeprefix(MUX)),
        ("1", question.reply, "", b"NATS/1.0 503\r\n\r\n", b""),
        3.1,
    )
    silent(sub, 6.0)
    sub.ticked(11.0)
    assert (kinds(sub), sub.ended, asked(sub)) == ([], False, 3)
    answer(sub, GONE, 11.1)

    assert kinds(sub) == [PushNotice.HEARTBEAT_MISSED]


def test_heartbeats_end_the_questions_and_an_answer_that_is_late_changes_nothing():
    sub = silent(replaying(), 3.0)
    sub.delivered([heartbeat(sub, 0)], 3.1)
    answer(sub, GONE, 3.2)

    assert (kinds(sub), sub.liveness.silent, sub.deadline) == ([], False, 6.1)


def test_a_heartbeat_that_names_a_missed_answer_comes_in_the_middle_of_a_replay_too():
    sub = replaying(flow_control=True)
    sub.delivered([flow(sub)], 1.0)
    sub.delivered([heartbeat(sub, 0, stalled="$JS.FC.S.C.a")], 1.1)
    assert sub.liveness.deadline is None

    silent(sub, 4.1)


@pytest.mark.parametrize(
    "sub",
    [
        bound(replay_policy="original"),
        bound(PushOptions(raw=True), idle_heartbeat=10**9, replay_policy="original"),
    ],
    ids=["no heartbeats", "raw"],
)
def test_where_no_heartbeats_are_judged_nothing_is_asked(sub):
    sub.ticked(100.0)

    assert (sub.deadline, asked(sub)) == (None, 0)


@pytest.mark.parametrize("wish", list(StopMode))
def test_who_leaves_a_replay_asks_no_more_and_no_answer_counts(wish):
    sub = silent(replaying(), 3.0)
    sub.told(wish, 3.1)
    answer(sub, GONE, 3.2)
    sub.ticked(100.0)

    assert (asked(sub), kinds(sub), sub.deadline) == (1, [], None)


def test_a_question_about_a_replay_is_put_back_with_the_rest():
    sub = silent(replaying(), 3.0)
    again = new(consumer="C")
    again.restore(sub.snapshot())
    again.port.commands = list(sub.port.commands)
    answer(again, GONE, 3.1)

    assert kinds(again) == [PushNotice.HEARTBEAT_MISSED]


def test_a_heartbeat_says_how_far_the_server_is():
    sub = bound(idle_heartbeat=10**9)
    assert sub.position is None
    sub.delivered([heartbeat(sub, 3, 17)], 0.0)
    assert sub.position == PushProgress(consumer=3, stream=17)
    sub.delivered([status(sub, "100 Idle Heartbeat")], 0.0)
    sub.delivered([status(sub, "100 Idle Heartbeat", "", "Nats-Last-Consumer: x\r\n")], 0.0)
    assert sub.position == PushProgress(3, 17)


# ------------------------------------------------------------------ gaps


def test_a_gap_between_messages_is_told_and_ends_nothing():
    sub = bound()
    sub.delivered(data(sub, 5, 6), 0.0)
    sub.delivered(data(sub, 9), 0.0)

    assert sub.port.notices == [(PushNotice.GAP, Gap(7, 9))]
    assert taken(sub) == [5, 6, 9]


def test_a_gap_is_seen_at_a_heartbeat_after_the_messages_before_it():
    sub = bound(idle_heartbeat=10**9)
    sub.delivered([*data(sub, 1), heartbeat(sub, 1)], 0.0)
    assert kinds(sub) == []
    sub.delivered([heartbeat(sub, 3)], 0.0)
    sub.delivered([heartbeat(sub, 3)], 0.0)

    assert sub.port.notices == [(PushNotice.GAP, Gap(2, 4))]


def test_a_consumer_that_we_made_begins_with_one():
    sub = made()
    sub.delivered(data(sub, 2), 0.0)

    assert sub.port.notices == [(PushNotice.GAP, Gap(1, 2))]


def test_gaps_are_not_watched_in_a_queue_group_or_where_nobody_wants_to_know():
    queue = bound(queue="g", deliver_group="g")
    unwatched = bound(PushOptions(watch_gaps=False))
    for sub in (queue, unwatched):
        sub.delivered([*data(sub, 1, 5), heartbeat(sub, 9)], 0.0)

    assert kinds(queue) + kinds(unwatched) == []


def test_a_reply_subject_that_cannot_be_read_is_no_gap():
    sub = bound()
    sub.delivered([*data(sub, 1), (sub.port.sid, "s.a", "$JS.ACK.odd", None, b"")], 0.0)

    assert kinds(sub) == []


# ------------------------------------------------------------------ statuses


def test_INV43_control_frames_reach_no_user_and_count_in_no_bound():
    sub = bound(PushOptions(max_messages=1))
    sub.delivered(
        [heartbeat(sub, 0), status(sub, "100 Something New"), heartbeat(sub, 0), *data(sub, 1)], 0.0
    )

    assert (sub.readable, sub.dropped, taken(sub)) == (1, 0, [1])


def test_an_unknown_status_below_400_is_told():
    sub = bound()
    sub.delivered([status(sub, "299 Whatever")], 0.0)

    assert isinstance(detail(sub, PushNotice.UNKNOWN_STATUS), UnknownStatus)
    assert not sub.ended


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("409 Consumer is push based", StatusError),
        ("503", StatusError),
        ("477 Whatever", UnknownStatus),
    ],
)
def test_409_503_and_unknown_statuses_are_raised_behind_what_is_at_hand(text, kind):
    sub = bound()
    sub.delivered([*data(sub, 1), status(sub, text), *data(sub, 2)], 0.0)

    assert number(sub.take(0.0)) == 1
    with pytest.raises(kind, match=f"the subscription on d.x to be served, got {text[:3]}"):
        sub.take(0.0)
    assert said(sub, b"-NAK") == [2]


def test_in_raw_mode_statuses_are_the_users_and_nothing_is_done_about_them():
    sub = bound(PushOptions(raw=True), flow_control=True, idle_heartbeat=10**9)
    sub.delivered(
        [
            *data(sub, 1),
            flow(sub),
            heartbeat(sub, 9, stalled="$JS.FC.x"),
            status(sub, "409 Odd"),
            *data(sub, 5),
        ],
        0.0,
    )
    frames = [sub.take(0.0) for _ in range(5)]
    sub.ticked(100.0)

    assert [m.status for m in frames] == [
        None,
        (100, "FlowControl Request"),
        (100, "Idle Heartbeat"),
        (409, "Odd"),
        None,
    ]
    assert frames[1].reply == "$JS.FC.S.C.a"
    assert (sub.port.commands, sub.port.notices, sub.ended) == ([], [], False)


# ------------------------------------------------------------------ auto ack


def auto(**config: object) -> PushSubscription[JsMessage]:
    return bound(PushOptions(auto_ack=True), **config)


def test_auto_ack_acknowledges_what_was_taken_when_the_reader_comes_back():
    sub = auto()
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    first = sub.take(0.0)
    assert said(sub, b"+ACK") == []
    sub.take(0.0)
    assert (said(sub, b"+ACK"), first.state) == ([1], AckState.SETTLED)
    sub.take_all(0.0)
    sub.take_all(0.0)

    assert said(sub, b"+ACK") == [1, 2, 3]


def test_auto_ack_leaves_alone_what_the_reader_settled():
    sub = auto()
    sub.delivered(data(sub, 1), 0.0)
    sub.take(0.0).settle_by(lambda _: None)
    sub.take(0.0)

    assert sub.port.commands == []


def test_auto_ack_says_nothing_for_a_consumer_that_wants_no_acks():
    sub = auto(ack_policy="none")
    sub.delivered(data(sub, 1), 0.0)
    taken(sub)

    assert sub.port.commands == []


def test_auto_ack_waits_for_a_link_and_never_acknowledges_what_is_in_hand():
    sub = auto()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.take(0.0)
    sub.port.up = False
    sub.link_down(LOST, 0.0)
    sub.take(0.0)
    assert sub.port.commands == []
    sub.port.up = True
    sub.link_up(1.0)

    assert said(sub, b"+ACK") == [1]


def test_auto_ack_acknowledges_the_last_one_when_it_is_told_to_stop():
    sub = auto()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.take(0.0)
    sub.told(StopMode.STOP, 0.0)

    assert (said(sub, b"+ACK"), said(sub, b"-NAK")) == ([1], [2])


def test_auto_ack_acknowledges_nothing_when_the_reader_just_leaves():
    sub = auto()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.take(0.0)
    sub.closed(None, 0.0)

    assert (said(sub, b"+ACK"), said(sub, b"-NAK")) == ([], [2])


# ------------------------------------------------------------------ drain


def test_a_drain_hands_out_what_is_there_and_what_comes_before_the_fence():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    assert sub.port.commands == [Unsub("2"), Ping()]
    sub.delivered(data(sub, 2), 0.0)
    assert taken(sub) == [1, 2]
    assert not sub.ended
    fenced(sub)

    assert (sub.ended, sub.take(0.0), sub.finished) == (True, ENDED, True)


def test_a_drain_goes_on_behind_the_fence_until_everything_was_handed_out():
    sub = bound()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    fenced(sub)
    assert not sub.ended

    assert taken(sub) == [1, 2]
    assert sub.finished


def test_a_drain_deletes_the_consumer_that_we_own_when_the_reader_comes_back_for_more():
    sub = made()
    sub.delivered(data(sub, 1), 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    fenced(sub)
    sub.take(0.0)
    assert [c for c in sub.port.commands if isinstance(c, Publish)] == []
    assert sub.take(0.0) is ENDED
    assert sub.port.commands[-1].subject == DELETE
    assert not sub.finished
    answer(sub, {"success": True})

    assert (sub.finished, kinds(sub)) == (True, [])


def test_a_drain_waits_for_a_message_in_hand_only_while_it_is_open():
    acked, waiting = made(), made()
    for sub in (acked, waiting):
        sub.delivered(data(sub, 1), 0.0)
        message = sub.take(0.0)
        if sub is acked:
            message.settle_by(lambda _: None)
        sub.told(StopMode.DRAIN, 0.0)
        fenced(sub)

    assert (acked.ended, waiting.ended) == (True, False)


def test_a_delete_that_fails_after_a_drain_is_a_notice():
    sub = made()
    sub.told(StopMode.DRAIN, 0.0)
    fenced(sub)
    assert sub.take(0.0) is ENDED
    answer(sub, GONE)

    assert isinstance(detail(sub, PushNotice.DELETE_FAILED), errors.ConsumerNotFound)
    assert (sub.finished, sub.take(0.0)) == (True, ENDED)


def test_a_drain_without_a_link_hands_out_what_is_there():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.port.up = False
    sub.link_down(LOST, 0.0)
    sub.told(StopMode.DRAIN, 0.0)

    assert (taken(sub), sub.finished) == ([1], True)


def test_a_link_that_is_lost_in_a_drain_stands_for_the_fence():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    sub.port.up = False
    sub.link_down(LOST, 0.0)

    assert (taken(sub), sub.finished) == ([1], True)


def test_flow_control_is_answered_while_draining():
    sub = flowing()
    sub.delivered([*data(sub, 1), flow(sub)], 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    taken(sub)

    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_a_foreign_fence_is_nothing():
    sub = bound()
    sub.told(StopMode.DRAIN, 0.0)
    sub.fenced(77, 0.0)

    assert not sub.ended


# ------------------------------------------------------------------ stop


def test_a_stop_ends_at_once_where_nothing_is_ours_and_gives_back_what_is_at_hand():
    sub = bound()
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.take(0.0)
    sub.told(StopMode.STOP, 0.0)

    assert sub.port.commands == [
        Unsub("2"),
        Ping(),
        *(Publish(f[2], b"-NAK") for f in data(sub, 2)),
    ]
    assert (sub.take(0.0), sub.finished, sub.returned) == (ENDED, False, 1)
    sub.delivered(data(sub, 3), 0.0)
    assert said(sub, b"-NAK") == [2, 3]
    fenced(sub)
    assert sub.finished


def test_a_stop_deletes_what_we_own_and_ends_with_the_answer():
    sub = made()
    sub.delivered(data(sub, 1), 0.0)
    sub.told(StopMode.STOP, 0.0)
    assert sub.port.commands[-1].subject == DELETE
    assert (sub.ended, sub.take(0.0)) == (False, NEED_DATA)
    assert (sub.dropped, kinds(sub)) == (1, [PushNotice.DROPPED])
    answer(sub, {"success": True})
    assert (sub.take(0.0), sub.finished) == (ENDED, False)
    fenced(sub)

    assert sub.finished


def test_a_stop_raises_the_error_of_the_delete_and_tells_it_nowhere_else():
    sub = made()
    sub.told(StopMode.STOP, 0.0)
    fenced(sub)
    answer(sub, GONE)

    with pytest.raises(errors.ConsumerNotFound):
        sub.take(0.0)
    assert (kinds(sub), sub.finished) == ([], True)


def test_a_stop_whose_delete_is_not_answered_ends_with_the_timeout():
    sub = made()
    sub.told(StopMode.STOP, 1.0)
    assert sub.deadline == 6.0
    sub.ticked(6.0)

    with pytest.raises(RequestTimeout):
        sub.take(6.0)


def test_a_stop_follows_a_drain():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.told(StopMode.DRAIN, 0.0)
    sub.told(StopMode.STOP, 0.0)

    assert (sub.ended, said(sub, b"-NAK")) == (True, [1])


def test_a_stop_in_a_drain_deletes_what_we_own():
    sub = made()
    sub.told(StopMode.DRAIN, 0.0)
    sub.told(StopMode.STOP, 0.0)

    assert [type(c) for c in sub.port.commands] == [Unsub, Ping, Publish]
    assert sub.port.commands[-1].subject == DELETE


def test_messages_of_a_consumer_without_acks_cannot_go_back_and_it_is_told():
    sub = bound(ack_policy="none")
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.told(StopMode.STOP, 0.0)

    assert sub.port.notices == [(PushNotice.DROPPED, 2)]
    assert (sub.dropped, sub.returned) == (2, 0)


def test_a_stop_before_the_consumer_is_known_asks_for_nothing_more():
    sub = new(consumer="C")
    sub.opened(0.0)
    sub.told(StopMode.STOP, 0.0)
    answer(sub, info())

    assert (sub.take(0.0), sub.finished) == (ENDED, True)
    assert not [c for c in sub.port.commands if isinstance(c, Sub)]


def test_a_stop_while_the_consumer_is_made_deletes_it_when_it_is():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.told(StopMode.STOP, 0.0)
    assert not sub.ended
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))
    assert sub.port.commands[-1].subject == DELETE
    answer(sub, {"success": True})

    assert sub.take(0.0) is ENDED


def test_a_consumer_with_a_name_of_ours_stays_unless_we_say_that_we_own_it():
    for owner, goes in ((None, False), (True, True)):
        sub = new(settings=ConsumerConfig(durable_name="C"), owner=owner)
        sub.opened(0.0)
        answer(sub, GONE)
        answer(sub, info(deliver_subject="_INBOX.P.1.1.1", durable_name="C"))
        sub.told(StopMode.STOP, 0.0)

        assert (DELETE in [c.subject for c in sub.port.commands if isinstance(c, Publish)]) is goes


def test_a_consumer_that_was_there_is_never_deleted():
    sub = new(consumer="C", owner=True)
    sub.opened(0.0)
    answer(sub, info())
    sub.told(StopMode.STOP, 0.0)

    assert sub.ended


# ------------------------------------------------------------------ close


def test_closing_ends_at_once_and_deletes_behind_the_back():
    sub = made()
    sub.delivered(data(sub, 1), 0.0)
    sub.closed(None, 0.0)
    assert (sub.take(0.0), sub.finished) == (ENDED, False)
    fenced(sub)
    assert not sub.finished
    answer(sub, GONE)

    assert sub.finished
    assert isinstance(detail(sub, PushNotice.DELETE_FAILED), errors.ConsumerNotFound)


def test_closing_gives_back_what_is_at_hand_and_what_comes_before_the_fence():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.closed(None, 0.0)
    sub.delivered(data(sub, 2), 0.0)
    sub.closed(None, 0.0)

    assert said(sub, b"-NAK") == [1, 2]
    fenced(sub)
    assert sub.finished


def test_closing_while_the_consumer_is_made_still_deletes_it():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.delivered(data(sub, 1), 0.0)
    sub.closed(None, 0.0)
    assert (sub.ended, sub.finished, said(sub, b"-NAK")) == (True, False, [1])
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))
    assert sub.port.commands[-1].subject == DELETE
    answer(sub, {"success": True})

    assert sub.finished


def test_closing_while_a_create_waits_for_a_link_sends_none():
    sub = new(up=False, subject="s.a")
    sub.opened(0.0)
    sub.closed(None, 0.0)

    assert sub.finished


def test_closing_while_the_delete_is_waited_for_makes_its_failure_a_notice():
    sub = made()
    sub.told(StopMode.STOP, 0.0)
    sub.closed(None, 0.0)
    assert sub.take(0.0) is ENDED
    fenced(sub)
    answer(sub, GONE)

    assert kinds(sub) == [PushNotice.DELETE_FAILED]


def test_without_a_link_what_is_at_hand_stays_at_hand():
    sub = bound()
    sub.delivered(data(sub, 1), 0.0)
    sub.port.up = False
    sub.link_down(LOST, 0.0)
    sub.closed(None, 0.0)

    assert (taken(sub), sub.finished) == ([1], True)


def test_a_connection_that_closes_sends_the_delete_and_waits_for_nothing():
    sub = made()
    sub.delivered(data(sub, 1), 0.0)
    sub.closed(ConnectionClosed("closed"), 0.0)

    assert sub.port.commands[0].subject == DELETE
    assert number(sub.take(0.0)) == 1
    with pytest.raises(ConnectionClosed):
        sub.take(0.0)
    assert (sub.finished, sub.deadline) == (True, None)
    sub.closed(ConnectionClosed("closed"), 0.0)
    assert len([c for c in sub.port.commands if isinstance(c, Publish)]) == 1


def test_a_connection_that_closes_behind_a_leaving_subscription_ends_it():
    sub = made()
    sub.closed(None, 0.0)
    sub.closed(ConnectionClosed("closed"), 0.0)

    assert (sub.finished, sub.take(0.0)) == (True, ENDED)


def test_what_ended_hears_nothing_more():
    sub = bound()
    sub.closed(None, 0.0)
    fenced(sub)
    sub.told(StopMode.DRAIN, 0.0)
    sub.told(StopMode.STOP, 0.0)
    sub.failed(LOST, 0.0)
    sub.link_up(0.0)
    sub.ticked(99.0)

    assert (sub.state, sub.error, sub.deadline) == (PushState.OVER, None, None)


def test_that_acks_are_refused_is_told_once_for_each_link():
    sub = made()
    no = PermissionViolation("no", "$JS.ACK.S.C.1.1.1.1.1", "publish")
    for subject in ("$JS.ACK.S.OTHER.1.1.1.1.1", "$JS.ACK.S.C.1.1.1.1.1", "$JS.ACK.S.C.1.2.2.1.1"):
        sub.refused(subject, no, 1.0)
    assert (kinds(sub), sub.ended) == ([PushNotice.REFUSED], False)
    sub.link_up(2.0)
    sub.refused("$JS.ACK.S.C.1.3.3.1.1", no, 2.0)

    assert kinds(sub) == [PushNotice.REFUSED] * 2


def test_acks_that_are_refused_before_it_is_bound_are_of_others():
    sub = new(consumer="C")
    sub.opened(0.0)
    sub.refused("$JS.ACK.S.C.1.1.1.1.1", PermissionViolation("no"), 0.0)

    assert kinds(sub) == []


def test_the_subscription_that_is_refused_later_ends_it():
    sub = bound()
    sub.refused("d.x", PermissionViolation("no", "d.x", "subscription"), 0.0)

    with pytest.raises(PermissionViolation):
        sub.take(0.0)


# ------------------------------------------------------------------ tables and state


def test_every_state_leads_somewhere_and_over_is_the_end():
    assert set(TRANSITIONS) == set(PushState)
    assert [state for state, row in TRANSITIONS.items() if not row] == [PushState.OVER]
    assert {fact for row in TRANSITIONS.values() for fact in row} == set(PushInput)


def restored(sub: PushSubscription[JsMessage]) -> PushSubscription[JsMessage]:
    twin: PushSubscription[JsMessage] = PushSubscription(API, sub.asked, sub.options)
    twin.port = Port()
    twin.restore(sub.snapshot())
    assert twin.snapshot() == sub.snapshot()
    return twin


def test_a_snapshot_at_every_step_changes_nothing():
    def walk(step) -> tuple[object, ...]:
        sub = new(subject="s.a", options=PushOptions(auto_ack=True))
        sub.opened(0.0)
        question = sub.port.commands[-1]
        sub = step(sub)
        sub.delivered(data(sub, 1), 0.0)
        sub = step(sub)
        sub.port.commands = [question]
        answer(sub, info(deliver_subject="_INBOX.P.1.1.1", idle_heartbeat=10**9, flow_control=True))
        sub = step(sub)
        sub.delivered([*data(sub, 2), flow(sub), *data(sub, 3), heartbeat(sub, 3, 103)], 0.0)
        sub = step(sub)
        numbers = [number(sub.take(0.0))]
        sub = step(sub)
        numbers.append(number(sub.take(0.0)))
        sub.port.up = False
        numbers.append(number(sub.take(0.0)))
        sub = step(sub)
        sub.port.up = True
        sub.link_up(0.0)
        sub = step(sub)
        sub.told(StopMode.STOP, 0.0)
        question = sub.port.commands[-1]
        sub = step(sub)
        sub.port.commands = [question]
        answer(sub, {"success": True})
        sub = step(sub)
        return numbers, sub.position, sub.take(0.0), sub.snapshot()

    assert walk(lambda sub: sub) == walk(restored)


def test_a_base_alone_does_not_know_how_to_end():
    feed: PushFeed[JsMessage] = PushFeed(PushOptions())

    assert feed.take(0.0) is NEED_DATA
    with pytest.raises(NotImplementedError):
        feed.failed(LOST, 0.0)


def test_clearing_gives_what_was_at_hand_and_the_same_feed_reads_from_another_consumer():
    sub = flowing()
    sub.delivered([*data(sub, 1), flow(sub), *data(sub, 2)], 0.0)
    old = sub.port.sid
    left = sub.clear()
    sub.port.subscribe("d.y")
    sub.expect("d.y", 1)
    sub.agreed(ConsumerConfig(ack_policy="none", idle_heartbeat=SECOND, deliver_subject="d.y"))
    sub.watch(5.0)
    sub.delivered([(old, *data(sub, 2)[0][1:])], 5.0)
    sub.delivered(data(sub, 1), 5.0)

    assert [int(frame[2].split(".")[6]) for frame in left] == [1, 2]
    assert (sub.strays, taken(sub), sub.deadline, kinds(sub)) == (1, [1], 8.0, [])


def test_what_is_cleared_gives_its_messages_and_knows_nothing_of_the_consumer_any_more():
    sub = bound(PushOptions(auto_ack=True), flow_control=True, idle_heartbeat=1_000_000_000)
    sub.delivered([flow(sub), *data(sub, 1, 2, 3)], 1.0)
    taken(sub)
    sub.delivered([*data(sub, 4), flow(sub, "$JS.FC.S.C.b"), *data(sub, 5)], 1.0)
    first = sub.take(1.0)
    sub.port.up = False
    sub.came_back()
    sub.delivered([*data(sub, 6)], 1.0)
    assert number(first) == 4
    assert sub.snapshot()["owed"] != []
    assert sub.liveness.deadline is not None
    left = sub.clear()

    assert [each[2].split(".")[6] for each in left] == ["5", "6"]
    assert (sub.at_hand(), sub.readable, sub.liveness.deadline) == ([], 0, None)
    snapshot = sub.snapshot()
    assert (snapshot["held"], snapshot["owed"], snapshot["flow"]["answered"]) == ([], [], "")


def test_each_message_knows_the_feed_that_it_came_through():
    sub = bound()
    sub.delivered(data(sub, 1, 2, 3), 1.0)
    one, rest = sub.take(1.0), sub.take_all(1.0)

    assert [each.feed for each in (one, *rest)] == [sub] * 3


def test_every_question_waits_as_long_as_the_subscription_was_told():
    sub: PushSubscription[JsMessage] = PushSubscription(
        API, Subscribe(subject="s.a"), timeout=7.0, message=lambda frame, feed: (frame, feed)
    )
    sub.port = Port()
    sub.opened(1.0)
    seen = [sub.deadline]
    answer(sub, {"streams": ["S"], "total": 1, "offset": 0, "limit": 1024}, 2.0)
    seen.append(sub.deadline)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"), 3.0)
    sub.delivered(data(sub, 1), 3.0)
    assert sub.take(3.0)[1] is sub
    sub.told(StopMode.STOP, 4.0)
    seen.append(sub.deadline)

    assert seen == [8.0, 9.0, 11.0]


def test_an_answer_that_the_server_refuses_is_told_and_the_question_may_come_again():
    sub = made(flow_control=True, idle_heartbeat=1_000_000_000)
    sub.delivered([flow(sub)], 1.0)
    sub.refused("somewhere.else", LocalProtocolError("no"), 1.0)
    assert (sub.flow.answered, kinds(sub)) == ("$JS.FC.S.C.a", [])
    sub.refused("$JS.FC.S.C.a", LocalProtocolError("no"), 1.0)
    assert (sub.flow.answered, kinds(sub), sub.ended) == ("", [PushNotice.REFUSED], False)


def test_what_goes_back_is_counted_and_told_each_time():
    sub = bound()
    sub.told(StopMode.DRAIN, 1.0)
    sub.delivered(data(sub, 1, 2), 1.0)
    sub.closed(None, 1.0)
    first = (sub.returned, detail(sub, PushNotice.RETURNED))
    sub.port.notices.clear()
    sub.delivered(data(sub, 3), 1.1)

    assert first == (2, 2)
    assert (sub.returned, detail(sub, PushNotice.RETURNED)) == (3, 1)


# ------------------------------------------------------------------ how it leaves


def deletes(sub: PushSubscription[JsMessage]) -> list[str]:
    return [
        c.subject for c in sub.port.commands if isinstance(c, Publish) and ".DELETE." in c.subject
    ]


def test_a_connection_that_closes_deletes_what_is_owned_and_nothing_else():
    owned, found, asked, lost = made(), bound(), made(), made()
    asked.told(StopMode.STOP, 1.0)
    asked.port.commands.clear()
    lost.port.up = False
    for sub in (owned, found, asked, lost):
        sub.closed(ConnectionClosed("closed"), 1.0)

    assert [deletes(sub) for sub in (owned, found, asked, lost)] == [[DELETE], [], [], []]
    assert {sub.deadline for sub in (owned, found, asked, lost)} == {None}
    assert {sub.liveness.watching for sub in (owned, found, asked, lost)} == {False}


def test_a_connection_that_closes_behind_the_answer_to_the_delete_asks_for_no_other():
    sub = made()
    sub.told(StopMode.DRAIN, 1.0)
    sub.take(1.0)
    fenced(sub)
    sub.port.commands.clear()
    sub.closed(ConnectionClosed("closed"), 1.0)

    assert deletes(sub) == []


@pytest.mark.parametrize(
    "end",
    [
        lambda sub: sub.failed(StatusError(409, "Bad"), 4.0),
        lambda sub: sub.delivered([status(sub, "409 Bad")], 4.0),
        lambda sub: sub.refused(
            sub.port.subject, PermissionViolation("no", sub.port.subject, "subscription"), 4.0
        ),
        lambda sub: sub.closed(None, 4.0),
    ],
)
def test_the_delete_of_what_is_owned_waits_for_its_answer_from_the_end_on(end):
    sub = made()
    end(sub)

    assert deletes(sub) == [DELETE]
    assert (sub.ended, sub.state, sub.deadline) == (True, PushState.LEAVING, 9.0)


def test_interest_that_is_refused_to_others_is_not_ours():
    sub = bound()
    sub.refused("other", PermissionViolation("no", "other", "subscription"), 1.0)
    assert not sub.ended
    sub.refused(sub.port.subject, PermissionViolation("no", sub.port.subject, "publish"), 1.0)
    sub.refused(
        sub.port.subject, PermissionViolation("no", sub.port.subject, "subscription", "group"), 1.0
    )

    assert (sub.ended, kinds(sub)) == (False, [])


def test_what_gave_way_before_the_answer_is_told_by_its_number():
    sub = new(subject="s.a", options=PushOptions(max_messages=2))
    sub.opened(0.0)
    sub.delivered(data(sub, 1, 2), 0.0)
    assert sub.port.notices == []
    sub.delivered(data(sub, 3, 4, 5), 0.0)
    sub.delivered(data(sub, 6), 0.0)

    assert sub.port.notices == [(NoticeKind.SLOW_CONSUMER, 3), (NoticeKind.SLOW_CONSUMER, 1)]
    assert sub.dropped == 4


def test_what_nobody_can_take_is_counted_each_time():
    sub = bound(ack_policy="none")
    sub.delivered(data(sub, 1, 2), 1.0)
    sub.closed(None, 1.0)
    sub.delivered(data(sub, 3), 1.0)
    sub.closed(None, 1.0)

    assert (sub.dropped, sub.returned) == (3, 0)
    assert [count for kind, count in sub.port.notices if kind is PushNotice.DROPPED] == [2, 1]


@pytest.mark.parametrize(("policy", "dropped", "returned"), [("none", 2, 0), ("explicit", 0, 2)])
def test_messages_before_the_answer_go_back_once_where_they_can_be_acknowledged(
    policy, dropped, returned
):
    sub = new(settings=ConsumerConfig(durable_name="C", ack_policy=policy))
    sub.opened(0.0)
    answer(sub, GONE)
    sub.delivered(data(sub, 1, 2), 0.0)
    sub.closed(None, 1.0)
    sub.closed(None, 1.0)

    assert (sub.dropped, sub.returned) == (dropped, returned)


def test_a_gap_among_what_came_before_the_answer_is_told():
    sub = new(subject="s.a")
    sub.opened(0.0)
    sub.delivered(data(sub, 2), 0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))

    assert detail(sub, PushNotice.GAP) == Gap(1, 2)


# ------------------------------------------------------------------ before the answer to CREATE, as afterwards


def test_heartbeats_before_the_answer_take_no_place():
    sub = new(
        subject="s.a",
        options=PushOptions(max_messages=2),
        settings=ConsumerConfig(idle_heartbeat=SECOND),
    )
    sub.opened(0.0)
    for number in (1, 2):
        sub.delivered([heartbeat(sub, number - 1)] * 5, 0.0)
        sub.delivered(data(sub, number), 0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1", idle_heartbeat=1_000_000_000))

    assert (taken(sub), sub.dropped) == ([1, 2], 0)


def test_with_flow_control_nothing_is_bounded_before_the_answer():
    config = ConsumerConfig(idle_heartbeat=SECOND, flow_control=True)
    sub = new(subject="s.a", options=PushOptions(max_messages=2), settings=config)
    sub.opened(0.0)
    sub.delivered(data(sub, *range(1, 11)), 0.0)
    sub.delivered([flow(sub)], 0.0)
    answer(
        sub, info(deliver_subject="_INBOX.P.1.1.1", flow_control=True, idle_heartbeat=1_000_000_000)
    )

    assert (taken(sub), sub.dropped) == (list(range(1, 11)), 0)
    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_the_oldest_give_way_before_the_answer_too_if_that_is_the_policy():
    options = PushOptions(max_messages=2, policy=Overflow.DROP_OLDEST)
    sub = new(subject="s.a", options=options)
    sub.opened(0.0)
    sub.delivered(data(sub, 1, 2, 3), 0.0)
    sub.delivered(data(sub, 4), 0.0)
    answer(sub, info(deliver_subject="_INBOX.P.1.1.1"))

    assert (taken(sub), sub.dropped) == ([3, 4], 2)


def test_too_many_before_the_answer_are_an_error_if_that_is_the_policy():
    sub = new(subject="s.a", options=PushOptions(max_messages=2, policy=Overflow.FAIL))
    sub.opened(0.0)
    sub.delivered(data(sub, 1, 2, 3), 0.0)

    assert sub.ended
    with pytest.raises(SlowConsumer):
        sub.take(0.0)


def test_raw_every_frame_counts_before_the_answer():
    sub = new(
        subject="s.a",
        options=PushOptions(max_messages=2, raw=True),
        settings=ConsumerConfig(idle_heartbeat=SECOND),
    )
    sub.opened(0.0)
    sub.delivered([heartbeat(sub, 0)] * 3, 0.0)

    assert sub.dropped == 1


@pytest.mark.parametrize(
    "text", ["100 FlowControl Request", "100", "100 Whatever", "100 Idle Heartbeat"]
)
def test_a_100_with_a_reply_is_answered_whatever_its_text(text):
    sub = bound(flow_control=True, idle_heartbeat=1_000_000_000)
    sub.delivered([status(sub, text, "$JS.FC.S.C.a")], 0.0)

    assert answers(sub) == ["$JS.FC.S.C.a"]


def test_a_stored_status_line_is_a_message_on_the_deliver_subject_too():
    sub = bound()
    block = b"NATS/1.0 100 FlowControl Request\r\n\r\n"
    sub.delivered(data(sub, 1, block=block, subject=sub._deliver), 0.0)

    assert (taken(sub), answers(sub)) == ([1], [])
