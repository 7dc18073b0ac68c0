from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, Stage, StopMode
from jsproto.errors import (
    ConnectionClosed,
    InvalidConfig,
    InvalidResponse,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import (
    ConfigurationRefused,
    JetStreamError,
    JetStreamNotEnabled,
    RetryLater,
    StreamNotFound,
)
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.errors import HeartbeatsMissed
from jsproto.jetstream.gaps import Gap
from jsproto.jetstream.ordered.cleanup import ATTEMPTS
from jsproto.jetstream.ordered.consumer import (
    TRANSITIONS,
    OrderedConsumer,
    OrderedInput,
    OrderedNotice,
    OrderedState,
    SourceKind,
)
from jsproto.jetstream.ordered.view import Messages, View
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from tests.jetstream.ordered_rig import CREATE, INFO, NEXT, T0, Rig

# ------------------------------------------------------------------ asking


def test_who_waits_is_told_when_the_first_incarnation_is_there():
    rig = Rig(opened=False)
    seen = [rig.ordered.stage]
    rig.ordered.opened(0.0)
    seen.append(rig.ordered.stage)
    rig.ok()
    seen.append(rig.ordered.stage)
    rig.down()
    seen.append(rig.ordered.stage)
    rig.ordered.closed(None, rig.now)
    seen.append(rig.ordered.stage)

    assert seen == [Stage.BEGINNING, Stage.BEGINNING, Stage.GOING, Stage.GOING, Stage.ENDED]


def test_the_inbox_stands_before_the_creation_and_the_pull_follows_its_answer():
    rig = Rig()

    assert [type(each).__name__ for each in rig.log] == ["Sub", "Publish"]
    assert rig.words() == []

    rig.ok()

    assert rig.words() == [f"NEXT.S.{rig.creates[0].name}"]
    assert rig.pulls == [{"batch": 500, "expires": 30_000_000_000, "idle_heartbeat": 5_000_000_000}]


def test_the_first_creation_says_what_an_ordered_consumer_is():
    create = Rig().creates[0]

    assert create.body["action"] == "create"
    assert create.config == {
        "name": create.name,
        "deliver_policy": "all",
        "ack_policy": "none",
        "ack_wait": 79_200_000_000_000,
        "max_deliver": 1,
        "inactive_threshold": 300_000_000_000,
        "num_replicas": 1,
        "mem_storage": True,
    }


def test_names_are_made_of_the_address_of_the_inbox():
    rig = Rig(name_prefix="watch-")

    assert rig.creates[0].name == "watch-8S8g6aVhigSYlICZC8RwNb-1-1"
    assert rig.port.subject == "_INBOX.P.1.1.*"


def test_messages_are_handed_out_once_in_order_and_mute():
    rig = Rig().ok(pending=3)
    rig.data(4, 7, 9)

    items = rig.ordered.take_all(rig.now)

    assert [item.metadata.stream_sequence for item in items] == [4, 7, 9]
    assert {item.state for item in items} == {AckState.MUTE}
    assert rig.ordered.take(rig.now) is NEED_DATA
    assert rig.ordered.take_all(rig.now) is NEED_DATA


def test_taking_gives_credit_for_the_next_pull():
    rig = Rig(pulls={"max_messages": 4}).ok()
    rig.data(1, 2, 3)
    assert [pull["batch"] for pull in rig.pulls] == [4]

    rig.ordered.take(0.0)
    rig.ordered.take(0.0)

    assert [pull["batch"] for pull in rig.pulls] == [4, 2]


def test_a_batch_taken_gives_credit_too():
    rig = Rig(pulls={"max_messages": 4}).ok()
    rig.data(1, 2, 3)

    assert len(rig.ordered.take_all(0.0)) == 3
    assert [pull["batch"] for pull in rig.pulls] == [4, 3]


def test_bytes_can_be_bounded():
    rig = Rig(pulls={"max_bytes": 1000}).ok()
    assert rig.pulls[-1]["max_bytes"] == 1000
    rig.data(*range(1, 13))
    size = sum(item.size for item in rig.ordered.take_all(0.0))

    assert rig.pulls[-1]["max_bytes"] == size

    rig.data(13)
    rig.ordered.take(0.0)
    assert rig.ordered.intake.lead.buffered == 0


def test_a_message_larger_than_the_byte_budget_is_told_and_asked_for_again_with_a_delay():
    rig = Rig(pulls={"max_bytes": 1000}).ok()
    pending = "Nats-Pending-Messages: 1000000\r\nNats-Pending-Bytes: 1000\r\n"
    rig.status(409, "Message Size Exceeds MaxBytes", pending)

    assert PullNotice.MESSAGE_TOO_LARGE in rig.notices
    assert len(rig.pulls) == 1

    rig.run_to(0.3)
    assert len(rig.pulls) == 2


def test_a_part_of_the_byte_budget_that_is_too_small_is_no_complaint():
    rig = Rig(pulls={"max_bytes": 1000}).ok()
    rig.data(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    rig.status(
        409,
        "Message Size Exceeds MaxBytes",
        "Nats-Pending-Messages: 9\r\nNats-Pending-Bytes: 100\r\n",
    )
    rig.ordered.take_all(0.0)

    assert rig.pulls[-1]["max_bytes"] == 1000
    assert PullNotice.MESSAGE_TOO_LARGE not in rig.notices


def test_a_pull_that_ran_out_of_time_is_followed_by_the_next():
    rig = Rig().ok()
    rig.at(30.0).status(
        408, "Request Timeout", "Nats-Pending-Messages: 500\r\nNats-Pending-Bytes: 0\r\n"
    )

    assert [pull["batch"] for pull in rig.pulls] == [500, 500]


def test_pulls_that_end_at_once_are_paced():
    rig = Rig().ok()
    for _ in range(5):
        if rig.ordered.intake.engine.ledger.open:
            rig.status(404, "No Messages")
    assert len(rig.pulls) == 1

    rig.run_to(0.25)
    assert len(rig.pulls) == 2


def test_a_pull_without_an_end_is_overdue_however_alive_the_server_is():
    rig = Rig(pulls={"idle_heartbeat": 5.0}).ok()
    for second in range(4, 33, 4):
        rig.at(second)
        if rig.ordered.intake.engine.ledger.open:
            rig.heartbeat()
    rig.at(32.9).heartbeat()
    rig.run_to(32.9)
    assert len(rig.creates) == 1
    rig.run_to(33.0)
    assert len(rig.creates) == 2
    rig.ok()

    assert len(rig.pulls) == 2


def test_a_pull_that_is_filled_promises_nothing_more():
    rig = Rig(pulls={"max_messages": 1}).ok()
    assert rig.ordered.deadline == 10.0
    rig.data(1)

    assert rig.ordered.deadline is None
    assert rig.take() == [1]
    assert [pull["batch"] for pull in rig.pulls] == [1, 1]


def test_a_status_of_a_pull_that_has_ended_changes_nothing():
    rig = Rig().ok()
    token = rig.token
    rig.at(30.0).status(408, "Request Timeout", token=token)
    rig.status(409, "Consumer Deleted", token=token)
    rig.feed((rig.port.sid, rig.token, "", None, b"word"))

    assert (rig.ordered.strays, len(rig.creates)) == (2, 1)


def test_an_unknown_status_below_400_is_told_and_changes_nothing():
    rig = Rig().ok()
    rig.status(199, "Something")

    assert rig.notices[-1] is PullNotice.UNKNOWN_STATUS
    assert len(rig.creates) == 1


def test_a_part_of_the_byte_budget_that_holds_no_message_is_asked_for_as_a_whole_later():
    rig = Rig(pulls={"max_bytes": 1000}).ok()
    rig.data(*range(1, 13))
    rig.ordered.take_all(0.0)
    first, second = rig.ordered.intake.engine.ledger.open.values()
    whole = "Nats-Pending-Messages: 999988\r\nNats-Pending-Bytes: 428\r\n"
    rig.status(409, "Message Size Exceeds MaxBytes", whole, token=first.token)
    part = f"Nats-Pending-Messages: 1000000\r\nNats-Pending-Bytes: {second.max_bytes}\r\n"
    rig.status(409, "Message Size Exceeds MaxBytes", part, token=second.token)

    assert second.max_bytes < 1000
    assert [pull["max_bytes"] for pull in rig.pulls] == [1000, second.max_bytes, 1000]
    assert PullNotice.MESSAGE_TOO_LARGE not in rig.notices


def test_a_status_between_messages_is_heard_in_its_place():
    rig = Rig(pulls={"max_messages": 4}).ok()
    frames = [rig.frame(1), rig.frame(2)]
    expired = (rig.port.sid, rig.token, "", b"NATS/1.0 408 Request Timeout\r\n\r\n", b"")
    rig.at(30.0).feed(*frames, expired)

    assert rig.take() == [1, 2]
    assert [pull["batch"] for pull in rig.pulls] == [4, 2, 2]


def test_a_silence_that_goes_on_is_told_once():
    rig = Rig().ok()
    rig.run_to(10.0)
    rig.ok()
    rig.run_to(20.0)

    assert len(rig.creates) == 3
    assert rig.notices.count(PullNotice.HEARTBEAT_MISSED) == 1


# ------------------------------------------------------------------ resets


def reset_words(rig: Rig, old: str, sid: str) -> list[str]:
    new = rig.ordered.incarnation.name
    return [f"UNSUB {sid}", f"SUB {rig.port.subject}", f"DELETE.S.{old}", f"CREATE.S.{new}"]


def test_a_reset_is_one_group_of_commands():
    rig = Rig().ok()
    rig.data(1)
    rig.look()
    old, sid = rig.ordered.incarnation.name, rig.port.sid
    rig.at(10.0).data(5, cseq=3)

    assert rig.words() == reset_words(rig, old, sid)
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}
    assert rig.notices[-2:] == [PullNotice.GAP, OrderedNotice.RESET]
    assert rig.told[-2][1] == Gap(2, 3)


def test_a_pull_that_is_overdue_makes_a_reset_for_what_it_owes_would_be_taken_for_that_of_others():
    rig = Rig(pulls={"max_messages": 4, "expires": 5.0, "idle_heartbeat": 2.5}).ok()
    rig.at(2.0).data(1, 2)
    assert rig.take() == [1, 2]
    assert [pull["batch"] for pull in rig.pulls] == [4, 2]
    rig.at(5.9).data(3)
    rig.look()
    old, sid, late = rig.ordered.incarnation.name, rig.port.sid, rig.frame(4)
    rig.run_to(6.0)

    assert rig.words() == reset_words(rig, old, sid)
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 4}
    assert PullNotice.HEARTBEAT_MISSED not in rig.notices
    rig.feed(late).ok()
    assert (rig.take(), rig.ordered.strays) == ([3], 1)
    assert rig.pulls[-1]["batch"] == 3  # one was at hand


def test_b065_missed_heartbeats_make_it_come_back():
    rig = Rig().ok()
    rig.data(11)
    assert rig.take() == [11]
    rig.run_to(10.0)

    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 12}
    kinds = rig.notices
    assert kinds.index(PullNotice.HEARTBEAT_MISSED) < kinds.index(OrderedNotice.RESET)
    assert isinstance(rig.told[kinds.index(PullNotice.HEARTBEAT_MISSED)][1], HeartbeatsMissed)

    rig.ok()
    rig.data(12)
    assert PullNotice.RESUMED in rig.notices
    assert rig.take() == [12]


@pytest.mark.parametrize(
    "event",
    [
        lambda rig: rig.data(9, cseq=7),
        lambda rig: rig.heartbeat(5),
        lambda rig: rig.status(409, "Consumer Deleted"),
        lambda rig: rig.status(409, "Leadership Change"),
        lambda rig: rig.status(409, "Server Shutdown"),
        lambda rig: rig.status(503),
        lambda rig: rig.status(400, "Bad Request"),
        lambda rig: rig.status(423, "Nats-Pin-Id mismatch"),
        lambda rig: rig.status(409, "Exceeded MaxRequestBatch of 5"),
        lambda rig: rig.status(477, "Something new"),
        lambda rig: rig.down().up(),
        lambda rig: rig.tick(),
        lambda rig: rig.ordered.refused(
            rig.ordered.intake.subject, PermissionViolation("no"), rig.now
        ),
    ],
)
def test_b065_whatever_is_lost_comes_back_behind_the_last_message(event):
    rig = Rig().ok()
    rig.data(11)
    rig.take()
    rig.at(20.0)
    event(rig)
    rig.run_to(rig.now + 1.0)

    assert rig.starts[1:] == [{"deliver_policy": "by_start_sequence", "opt_start_seq": 12}]
    rig.ok()
    rig.data(12)
    assert rig.take() == [12]


def test_b067_a_resume_by_sequence_has_no_start_time():
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    rig = Rig(config={"deliver_policy": "by_start_time", "opt_start_time": moment}).ok()
    rig.data(40)
    rig.at(5.0).data(43, cseq=3)

    assert rig.starts == [
        {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00Z"},
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 41},
    ]


@pytest.mark.parametrize(
    ("config", "start"),
    [
        ({}, {"deliver_policy": "all"}),
        ({"deliver_policy": "last_per_subject"}, {"deliver_policy": "last_per_subject"}),
        (
            {"deliver_policy": "by_start_sequence", "opt_start_seq": 7},
            {"deliver_policy": "by_start_sequence", "opt_start_seq": 7},
        ),
        (
            {"deliver_policy": "by_start_time", "opt_start_time": datetime(2024, 1, 1, tzinfo=UTC)},
            {"deliver_policy": "by_start_time", "opt_start_time": "2024-01-01T00:00:00Z"},
        ),
    ],
)
@pytest.mark.parametrize("pending", [0, 3])
def test_b068_a_reset_before_the_first_message_keeps_the_original_start(config, start, pending):
    rig = Rig(config=config).ok(pending=pending, before=50)
    rig.down().up()

    assert rig.starts == [start, start]


def test_b070_every_incarnation_has_a_name_and_an_inbox_of_its_own():
    rig = Rig()
    inboxes = [rig.port.subject]
    for now in (10.0, 20.0, 30.0):
        rig.ok().at(now).status(409, "Consumer Deleted")
        inboxes.append(rig.port.subject)

    assert len({create.name for create in rig.creates}) == 4
    assert len(set(inboxes)) == 4


def test_b071_a_reset_starts_the_alarm_anew_with_the_answer():
    rig = Rig().ok()
    rig.run_to(10.0)
    assert len(rig.creates) == 2
    rig.at(10.5).ok()
    rig.run_to(14.0)
    rig.at(15.0).heartbeat(0)
    rig.run_to(24.9)

    assert len(rig.creates) == 2


def test_b073_late_frames_of_an_earlier_incarnation_change_nothing():
    rig = Rig().ok()
    old, sid = rig.ordered.incarnation.name, rig.port.sid
    rig.data(11)
    rig.take()
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.data(15, cseq=5, sid=sid, consumer=old)
    rig.status(409, "Consumer Deleted", sid=sid, token="_INBOX.P.1.1.9")
    assert rig.take() == []

    rig.ok()
    rig.data(15, cseq=5, sid=sid, consumer=old)
    rig.data(12, cseq=1)

    assert rig.take() == [12]
    assert (len(rig.creates), rig.ordered.strays, rig.ordered.resets) == (2, 3, 1)


def test_a_message_of_another_consumer_on_the_present_inbox_is_nobodys():
    rig = Rig().ok()
    rig.feed(
        rig.frame(1, 1),
        rig.frame(9, 9, consumer="other"),
        rig.frame(9, 9, reply="my.reply"),
        rig.frame(2, 2),
        rig.frame(0, 0, reply="mine"),
    )

    assert rig.take() == [1, 2]
    assert (len(rig.creates), rig.ordered.strays) == (1, 3)

    rig.feed(rig.frame(3, 3, consumer="other"))
    rig.feed(rig.frame(3, 3, reply="mine"))
    assert (rig.take(), rig.ordered.strays, rig.ordered.intake.liveness.since) == ([], 5, 0.0)


def test_what_came_in_order_before_a_gap_is_handed_out_and_what_is_behind_it_comes_again():
    rig = Rig().ok()
    rig.at(10.0).feed(rig.frame(1, 1), rig.frame(2, 2), rig.frame(4, 4), rig.frame(5, 5))

    assert rig.take() == [1, 2]
    assert rig.starts[-1]["opt_start_seq"] == 3
    assert rig.ordered.strays == 2


def test_a_delivery_that_comes_twice_is_a_gap_too():
    rig = Rig().ok()
    rig.data(1, 2)
    rig.at(10.0).data(2, cseq=2)

    assert rig.take() == [1, 2]
    assert rig.starts[-1]["opt_start_seq"] == 3


def test_a_heartbeat_behind_what_it_names_is_no_gap():
    rig = Rig().ok()
    rig.feed(rig.frame(1, 1), rig.frame(2, 2))
    rig.heartbeat(2)

    assert len(rig.creates) == 1

    rig.at(5.0).heartbeat(3)
    assert len(rig.creates) == 2


@pytest.mark.parametrize(
    "said", ["", "Nats-Last-Consumer: many\r\n", f"Nats-Last-Consumer: {'9' * 30}\r\n"]
)
def test_a_heartbeat_that_names_nothing_is_a_sign_of_life_only(said):
    rig = Rig().ok(pending=1)
    rig.at(9.0).status(100, "Idle Heartbeat", said)
    rig.run_to(18.0)

    assert len(rig.creates) == 1
    assert not rig.ordered.position.caught_up


def test_b074_nobody_there_is_a_reset_and_a_creation_that_nobody_answers_is_paced():
    rig = Rig().ok()
    rig.data(11)
    rig.at(5.0).status(503)
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 12}
    assert isinstance(rig.told[-2][1], NoResponders)

    moments = []
    for _ in range(8):
        rig.gone().nobody()
        moments.append(rig.ordered.deadline - rig.now)
        rig.run_to(rig.ordered.deadline)

    assert moments == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert not rig.ordered.ended


def test_b076_the_first_creation_is_tried_so_often_and_fails():
    rig = Rig(first_attempts=30)
    for _ in range(29):
        rig.nobody()
        rig.run_to(rig.ordered.deadline)
    assert not rig.ordered.ended
    rig.nobody()

    assert rig.ordered.ended
    rig.run_to(1000.0)
    assert len(rig.creates) == 30
    assert rig.ordered.finished
    with pytest.raises(JetStreamNotEnabled):
        rig.ordered.take(rig.now)


def test_b076_an_attempt_without_an_answer_counts_as_well():
    rig = Rig(first_attempts=3)
    rig.run_to(40.0)

    assert len(rig.creates) == 3
    with pytest.raises(RequestTimeout):
        rig.ordered.take(rig.now)
    assert {each.name for each in rig.creates} == set(rig.deleted)
    assert rig.deleted.count(rig.creates[0].name) > 1


def test_b077_the_position_only_moves_forward():
    rig = Rig().ok()
    rig.data(1, 2)
    rig.at(30.0).status(408, "Request Timeout")
    rig.at(60.0).status(408, "Request Timeout")
    rig.status(409, "Consumer Deleted")

    assert rig.starts[-1]["opt_start_seq"] == 3
    rig.ok().status(408, "Request Timeout")
    rig.at(90.0).status(409, "Consumer Deleted", token=rig.ordered.port.subject)
    rig.down().up()
    assert rig.starts[-1]["opt_start_seq"] == 3


def test_b079_each_incarnation_begins_with_delivery_one():
    rig = Rig().ok()
    rig.data(1, 2, 3, 4, 5)
    rig.at(5.0).status(409, "Consumer Deleted")
    rig.ok()
    rig.data(6, cseq=1)

    assert rig.take() == [1, 2, 3, 4, 5, 6]
    assert len(rig.creates) == 2


def test_b080_what_is_at_hand_is_handed_out_before_silence_is_judged():
    rig = Rig().ok()
    rig.data(11, 12)
    rig.run_to(60.0)
    assert len(rig.creates) == 1
    assert PullNotice.HEARTBEAT_MISSED not in rig.notices

    assert rig.take() == [11, 12]
    assert rig.starts[-1]["opt_start_seq"] == 13
    assert rig.notices.count(PullNotice.HEARTBEAT_MISSED) == 1
    rig.ok()
    rig.data(13)
    assert rig.take() == [13]


@pytest.mark.parametrize("seen", ["plain", "batch", "view"])
def test_b080_silence_is_judged_with_the_last_message_however_it_is_taken(seen):
    rig = Rig(Keys() if seen == "view" else None).ok(pending=9)
    rig.data(11, 12, pending=7)
    rig.run_to(60.0)
    if seen == "batch":
        rig.ordered.take_all(60.0)
    else:
        rig.ordered.take(60.0)
        assert len(rig.creates) == (2 if seen == "view" else 1)
        rig.ordered.take(60.0)

    assert rig.starts[-1]["opt_start_seq"] == 13


def test_b080_a_frame_ends_a_silence_that_was_not_judged_yet():
    rig = Rig().ok()
    rig.data(11)
    rig.run_to(15.0)
    rig.at(16.0).heartbeat(1)
    assert rig.take() == [11]
    rig.run_to(25.9)

    assert len(rig.creates) == 1


def test_b082_a_creation_that_fails_is_tried_again_for_ever():
    rig = Rig().ok()
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.run_to(1000.0)

    assert not rig.ordered.ended
    assert 50 < len(rig.creates) < 100


@pytest.mark.parametrize(
    ("code", "err_code", "kind"),
    [
        (503, 10008, RetryLater),
        (503, 10023, RetryLater),
        (400, 10026, JetStreamError),
        (500, 0, JetStreamError),
    ],
)
def test_b082_whatever_refusal_may_pass_is_no_end(code, err_code, kind):
    rig = Rig().ok()
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.error(code, err_code)

    assert rig.notices[-1] is OrderedNotice.CREATE_FAILED
    assert isinstance(rig.told[-1][1], kind)
    rig.run_to(11.0)
    assert len(rig.creates) == 3


def test_b082_a_missing_permission_after_the_first_success_is_no_end():
    rig = Rig().ok()
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.ordered.refused(CREATE + rig.creates[-1].name, PermissionViolation("no"), 10.0)
    rig.run_to(11.0)

    assert len(rig.creates) == 3


def test_b083_an_answer_to_an_incarnation_that_was_given_up_is_not_adopted():
    rig = Rig().ok()
    rig.at(10.0).status(409, "Consumer Deleted")
    second = rig.creates[-1]
    rig.run_to(15.3)
    third = rig.creates[-1]
    assert third.name != second.name
    rig.gone()
    before = rig.deleted.count(second.name)

    rig.ok(second)
    assert rig.ordered.state is OrderedState.CREATING
    assert rig.ordered.incarnation.name == third.name
    assert rig.deleted.count(second.name) == before + 1

    rig.ok(third)
    assert rig.ordered.state is OrderedState.READING
    assert rig.ordered.intake.subject == NEXT + third.name


def test_b083_an_answer_that_names_another_consumer_is_none():
    rig = Rig().ok(name="other")

    assert rig.notices[-1] is OrderedNotice.CREATE_FAILED
    assert isinstance(rig.told[-1][1], InvalidResponse)
    assert rig.deleted == [rig.creates[0].name]


def test_answers_that_mean_nothing_are_dropped():
    rig = Rig().ok()
    rig.reply(99, b"gibberish")
    rig.ok(rig.creates[0])

    assert (rig.deleted, rig.ordered.state) == ([], OrderedState.READING)


def test_b085_settings_stay_through_resets():
    config = {
        "replay_policy": "original",
        "headers_only": True,
        "filter_subjects": ["s.a", "s.b"],
        "inactive_threshold": timedelta(seconds=30),
        "metadata": {"k": "v"},
        "description": "watch",
    }
    rig = Rig(config=config).ok()
    rig.data(3)
    rig.down().up()
    first, second = (dict(create.config) for create in rig.creates)
    for name in ("name", "deliver_policy", "opt_start_seq"):
        first.pop(name, None)
        second.pop(name, None)

    assert first == second
    assert first["filter_subjects"] == ["s.a", "s.b"]
    assert first["inactive_threshold"] == 30_000_000_000
    assert first["metadata"] == {"k": "v"}


@pytest.mark.parametrize("policy", ["new", "last"])
@pytest.mark.parametrize(
    ("before", "start"),
    [
        (50, {"deliver_policy": "by_start_sequence", "opt_start_seq": 51}),
        (0, {"deliver_policy": "by_start_time", "opt_start_time": T0}),
    ],
)
def test_b086_new_only_is_anchored_where_the_first_incarnation_began(policy, before, start):
    rig = Rig(config={"deliver_policy": policy}).ok(before=before)
    rig.down().up()
    rig.ok(before=60, created="2027-01-01T00:00:00Z")
    rig.down().up()

    assert rig.starts == [{"deliver_policy": policy}, start, start]
    rig.ok(pending=2)
    rig.data(51, 52)
    assert rig.take() == [51, 52]


def test_b086_last_of_a_stream_with_one_message_is_asked_for_again():
    rig = Rig(config={"deliver_policy": "last"}).ok(before=0, pending=1)
    rig.down().up()

    assert rig.starts[-1] == {"deliver_policy": "last"}


def test_b086_a_creation_without_an_answer_is_no_anchor():
    rig = Rig(config={"deliver_policy": "new"})
    rig.run_to(6.0)
    assert rig.starts == [{"deliver_policy": "new"}] * 2
    rig.ok(before=0, created=None)
    rig.down().up()

    assert rig.starts[-1] == {"deliver_policy": "new"}


def test_b088_the_next_incarnation_starts_one_behind_the_last_message():
    rig = Rig().ok()
    rig.data(5, 6, 7)
    rig.at(5.0).status(409, "Leadership Change")
    old = rig.creates[0].name
    rig.run_to(6.0)

    assert rig.starts[-1]["opt_start_seq"] == 8
    assert rig.deleted == [old]
    rig.ok()
    rig.data(8)
    assert rig.take() == [5, 6, 7, 8]


@pytest.mark.parametrize("up", [True, False])
def test_b089_a_closed_connection_ends_it_without_another_creation(up):
    rig = Rig().ok()
    rig.data(1)
    rig.look()
    if not up:
        rig.down()
    rig.ordered.closed(ConnectionClosed("closed"), 1.0)
    rig.run_to(100.0)

    assert len(rig.creates) == 1
    assert rig.ordered.reason is EndReason.DISCONNECTED
    assert rig.ordered.finished
    assert rig.ordered.take(1.0).metadata.stream_sequence == 1
    with pytest.raises(ConnectionClosed):
        rig.ordered.take(1.0)
    assert rig.deleted == ([rig.creates[0].name] * 2 if up else [])
    assert (OrderedNotice.LEFT_BEHIND in rig.notices) is not up


def test_b089_a_closed_connection_during_a_creation_asks_for_its_deletion():
    rig = Rig()
    rig.ordered.closed(ConnectionClosed("closed"), 1.0)

    assert set(rig.deleted) == {rig.creates[0].name}
    assert rig.ordered.finished
    rig.ordered.closed(ConnectionClosed("closed"), 1.0)
    assert rig.ordered.finished


def test_b089_closed_before_it_was_opened_is_over():
    rig = Rig(opened=False)
    rig.ordered.closed(ConnectionClosed("closed"), 0.0)

    assert rig.ordered.state is OrderedState.OVER
    with pytest.raises(ConnectionClosed):
        rig.ordered.take(0.0)


def test_resets_in_a_row_are_paced_and_a_long_life_clears_that():
    rig = Rig()
    moments = [rig.now]
    for _ in range(7):
        rig.ok().status(409, "Consumer Deleted")
        if len(rig.creates) == len(moments):
            rig.run_to(rig.ordered.deadline)
        moments.append(rig.now)
    assert [b - a for a, b in pairwise(moments)] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]

    rig.ok().at(rig.now + 60.0).status(409, "Consumer Deleted")
    assert len(rig.creates) == 9
    rig.ok().status(409, "Consumer Deleted")
    assert rig.ordered.deadline == rig.now + 0.25


def test_while_the_next_attempt_has_its_time_there_is_no_interest_and_nothing_is_heard():
    rig = Rig().ok()
    rig.data(1)
    sid = rig.port.sid
    rig.status(409, "Leadership Change")
    assert rig.words()[-2:] == [f"UNSUB {sid}", f"DELETE.S.{rig.creates[0].name}"]

    rig.data(2, sid=sid)
    rig.status(409, "Consumer Deleted", sid=sid, token="_INBOX.P.1.1.1")
    assert (rig.take(), rig.ordered.strays) == ([1], 2)
    rig.run_to(1.0)
    assert len(rig.creates) == 2


# ------------------------------------------------------------------ links


def test_a_lost_link_is_followed_by_one_creation_on_the_inbox_that_the_connection_renewed():
    rig = Rig().ok()
    rig.data(3)
    old = rig.creates[0].name
    rig.look()
    rig.down()
    assert rig.words() == []
    rig.run_to(100.0)
    rig.up()

    assert rig.words() == [
        f"SUB {rig.port.subject}",
        f"DELETE.S.{old}",
        f"CREATE.S.{rig.ordered.incarnation.name}",
    ]
    assert rig.take() == [3]


def test_a_link_lost_during_a_creation_leaves_a_consumer_that_may_be_there():
    rig = Rig()
    rig.down().up()

    assert rig.deleted == [rig.creates[0].name]
    assert len(rig.creates) == 2
    rig.ok(rig.creates[0])
    assert rig.ordered.state is OrderedState.CREATING


def test_opened_without_a_link_it_waits_for_one():
    rig = Rig(up=False)
    assert (rig.creates, rig.ordered.deadline) == ([], None)
    rig.up()

    assert len(rig.creates) == 1
    assert rig.port.subject == "_INBOX.P.1.1.*"


def test_a_link_lost_while_waiting_for_an_attempt_tries_at_once_with_the_next():
    rig = Rig().ok().status(409, "Leadership Change")
    assert len(rig.creates) == 1
    rig.down()
    assert rig.ordered.deadline is None
    rig.up()

    assert len(rig.creates) == 2


def test_the_pace_is_forgotten_with_a_new_link():
    rig = Rig()
    for _ in range(6):
        rig.nobody()
        rig.run_to(rig.ordered.deadline)
    rig.down().up()
    rig.gone().nobody()

    assert rig.ordered.deadline == rig.now + 0.25


# ------------------------------------------------------------------ the ends


def test_it_ends_when_the_stream_is_gone():
    rig = Rig().ok()
    rig.data(1)
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.error(404, 10059, "stream not found")

    assert rig.ordered.take(rig.now).metadata.stream_sequence == 1
    with pytest.raises(StreamNotFound):
        rig.ordered.take(rig.now)
    assert (rig.ordered.reason, rig.ordered.finished) == (EndReason.FATAL, True)


def test_it_ends_when_the_server_refuses_the_configuration():
    rig = Rig().error(400, 10084, "workqueue stream requires explicit ack")

    with pytest.raises(ConfigurationRefused):
        rig.ordered.take(rig.now)
    assert rig.ordered.reason is EndReason.REFUSED


def test_without_permission_to_create_it_fails_at_once():
    rig = Rig()
    rig.ordered.refused(CREATE + rig.creates[0].name, PermissionViolation("no"), 0.0)

    with pytest.raises(PermissionViolation):
        rig.ordered.take(0.0)


def test_a_creation_that_can_not_be_sent_fails_at_once():
    rig = Rig()
    rig.ordered.refused(CREATE + rig.creates[0].name, LocalProtocolError("too large"), 0.0)

    with pytest.raises(LocalProtocolError):
        rig.ordered.take(0.0)


@pytest.mark.parametrize("when", ["creating", "reading"])
def test_without_permission_to_its_inbox_or_its_pulls_it_fails_if_nothing_ever_came(when):
    rig = Rig()
    subject = rig.port.subject
    if when == "reading":
        rig.ok()
        subject = rig.ordered.intake.subject
    rig.ordered.refused(subject, PermissionViolation("no", subject, "subscription"), 0.0)

    with pytest.raises(PermissionViolation):
        rig.ordered.take(0.0)
    assert rig.notices[-1] is PullNotice.REFUSED
    if when == "creating":
        assert not rig.ordered.finished
        rig.ok()
    rig.gone()
    assert rig.ordered.finished


def test_an_inbox_refused_later_is_noticed_by_silence():
    rig = Rig().ok()
    rig.data(1)
    rig.at(5.0).status(409, "Consumer Deleted")
    rig.ordered.refused(rig.port.subject, PermissionViolation("no"), 5.0)

    assert rig.ordered.state is OrderedState.CREATING


def test_refusals_of_others_are_not_ours():
    rig = Rig()
    rig.ordered.refused("elsewhere", PermissionViolation("no"), 0.0)
    rig.ordered.refused("", PermissionViolation("no"), 0.0)
    rig.ok()
    rig.ordered.refused("elsewhere", PermissionViolation("no"), 0.0)

    assert rig.ordered.state is OrderedState.READING


@pytest.mark.parametrize("wish", list(StopMode))
def test_told_to_stop_or_drain_it_hands_out_what_is_at_hand_and_deletes_its_consumer(wish):
    rig = Rig().ok()
    rig.data(1, 2)
    rig.look()
    rig.ordered.told(wish, 1.0)

    assert rig.words() == ["UNSUB 2", f"DELETE.S.{rig.creates[0].name}"]
    assert rig.ordered.ended
    assert not rig.ordered.finished
    assert rig.take() == [1, 2]
    assert rig.ordered.take(1.0) is ENDED
    rig.gone()
    assert (rig.ordered.finished, rig.ordered.reason) == (True, EndReason.CLOSED)
    rig.ordered.told(wish, 1.0)
    assert rig.ordered.state is OrderedState.OVER


def test_closed_by_the_user_it_hands_out_nothing_more():
    rig = Rig().ok()
    rig.data(1, 2)
    rig.ordered.closed(None, 1.0)
    rig.data(3)

    assert rig.take() == []
    assert rig.ordered.take(1.0) is ENDED
    rig.ordered.closed(None, 1.0)
    rig.gone()
    assert rig.ordered.finished


def test_closed_during_a_creation_it_stays_until_the_consumer_that_was_made_is_deleted():
    rig = Rig()
    rig.ordered.closed(None, 1.0)
    assert (rig.deleted, rig.ordered.finished) == ([], False)
    rig.ok()

    assert rig.deleted == [rig.creates[0].name]
    rig.gone()
    assert rig.ordered.finished


def test_closed_during_a_creation_that_nobody_answers_it_deletes_all_the_same():
    rig = Rig()
    rig.ordered.closed(None, 1.0)
    rig.run_to(5.0)

    assert rig.deleted == [rig.creates[0].name]


def test_closed_during_a_creation_that_is_refused_it_is_over():
    rig = Rig()
    rig.ordered.closed(None, 1.0)
    rig.error(500, 10023)

    assert (rig.deleted, rig.ordered.finished) == ([], True)


def test_closed_without_a_link_it_deletes_with_the_next():
    rig = Rig().ok().down()
    rig.ordered.closed(None, 1.0)
    assert not rig.ordered.finished
    rig.up()

    assert rig.deleted == [rig.creates[0].name]
    assert len(rig.creates) == 1
    rig.gone()
    assert rig.ordered.finished


def test_a_link_lost_while_closing_is_waited_for():
    rig = Rig()
    rig.ordered.closed(None, 1.0)
    rig.down().up()
    assert rig.deleted == [rig.creates[0].name]
    rig.down().up()
    rig.gone()

    assert rig.ordered.finished


def test_closed_before_anything_was_asked_it_is_over_at_once():
    rig = Rig(up=False)
    rig.ordered.closed(None, 1.0)

    assert rig.ordered.finished


def test_a_late_answer_while_closing_is_followed_by_a_deletion():
    rig = Rig()
    rig.run_to(5.3)
    first, second = rig.creates
    rig.ordered.closed(None, 6.0)
    rig.ok(second)
    rig.ok(first)
    rig.gone()

    assert {first.name, second.name} <= set(rig.deleted)
    assert rig.ordered.finished


def test_consumers_that_can_not_be_deleted_are_named_at_the_end():
    rig = Rig().ok()
    rig.ordered.closed(None, 0.0)
    rig.run_to(60.0)

    assert rig.ordered.finished
    assert rig.deleted == [rig.creates[0].name] * ATTEMPTS
    assert rig.told[-1] == (OrderedNotice.LEFT_BEHIND, (rig.creates[0].name,))


def test_a_deletion_that_may_not_be_asked_for_is_given_up():
    rig = Rig().ok()
    rig.ordered.closed(None, 0.0)
    subject = f"$JS.API.CONSUMER.DELETE.S.{rig.creates[0].name}"
    rig.ordered.refused(subject, PermissionViolation("no", subject), 0.0)

    assert rig.ordered.finished
    assert rig.notices[-1] is OrderedNotice.LEFT_BEHIND


def test_deletions_go_out_at_once_and_success_is_success():
    rig = Rig().ok()
    rig.ordered.leftovers.add("other", rig.port, 0.0)
    rig.ordered.leftovers.add("other", rig.port, 0.0)
    rig.ordered.closed(None, 0.0)
    assert rig.deleted == ["other", rig.creates[0].name]
    assert not rig.ordered.finished
    first = next(each for each in rig.log if getattr(each, "subject", "").endswith(".other"))
    rig.reply(int(first.reply.rpartition(".")[2]), {"success": True})
    assert not rig.ordered.finished
    rig.gone()

    assert rig.ordered.finished


# ------------------------------------------------------------------ caught up


def test_a_finite_read_ends_when_everything_that_was_there_was_handed_out():
    rig = Rig(until_caught_up=True).ok(pending=3)
    rig.data(1, 2, pending=1)
    assert not rig.ordered.ended
    rig.data(3)

    assert rig.ordered.ended
    assert rig.take() == [1, 2, 3]
    assert rig.ordered.take(0.0) is ENDED
    assert rig.ordered.reason is EndReason.FILLED
    rig.gone()
    assert rig.ordered.finished


def test_a_finite_read_of_an_empty_stream_ends_at_once():
    rig = Rig(until_caught_up=True).ok(pending=0)

    assert rig.ordered.take(0.0) is ENDED
    assert rig.pulls == []


def test_a_finite_read_goes_on_through_a_reset():
    rig = Rig(until_caught_up=True).ok(pending=3)
    rig.data(1, pending=2)
    rig.at(10.0).data(3, cseq=3)
    rig.ok(pending=2)
    rig.data(2, 3)

    assert rig.take() == [1, 2, 3]
    assert rig.ordered.ended


def test_a_gap_behind_the_end_of_a_finite_read_is_no_reset():
    rig = Rig(until_caught_up=True).ok(pending=1)
    rig.at(5.0).feed(rig.frame(1, 1), rig.frame(9, 9))

    assert rig.take() == [1]
    assert len(rig.creates) == 1


@pytest.mark.parametrize("policy", ["all", "last_per_subject"])
def test_b220_one_message_that_leaves_nothing_is_no_proof(policy):
    rig = Rig(config={"deliver_policy": policy}).ok(pending=3)
    rig.data(1, pending=0)
    assert not rig.ordered.position.caught_up
    rig.data(2, pending=10)
    assert not rig.ordered.position.caught_up
    for sequence in range(3, 13):
        rig.data(sequence, pending=12 - sequence)

    assert rig.notices.count(OrderedNotice.CAUGHT_UP) == 1
    assert rig.caught == [{"all": 3, "last_per_subject": 12}[policy]]
    rig.data(13, pending=0)
    assert rig.notices.count(OrderedNotice.CAUGHT_UP) == 1


def test_a_writer_that_never_pauses_does_not_put_the_end_off():
    rig = Rig(until_caught_up=True).ok(pending=3)
    rig.data(1, 2, pending=40)
    assert not rig.ordered.ended
    rig.data(3, pending=80)

    assert rig.take() == [1, 2, 3]
    assert rig.ordered.take(0.0) is ENDED


def test_what_is_behind_the_messages_of_the_beginning_is_not_theirs_however_it_comes():
    rig = Rig(Keys()).ok(pending=3)
    rig.data(2, 4, 6, 8, pending=5)
    assert rig.take() == ["2a", "2b", "4a", "4b", "6a", "6b", ".", "8a", "8b"]

    rig = Rig(until_caught_up=True).ok(pending=3)
    rig.data(1, 2, 3, 4, 5, pending=5)
    assert (rig.take(), rig.ordered.ended, rig.ordered.strays) == ([1, 2, 3], True, 2)


def test_a_reset_puts_the_end_off_by_what_was_stored_until_then_and_by_no_more():
    rig = Rig(until_caught_up=True).ok(pending=5)
    rig.data(1, 2, pending=20)
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.gone().ok(pending=4)
    rig.data(3, 4, 5, pending=100)
    assert not rig.ordered.ended
    rig.data(6, pending=200)

    assert rig.take() == [1, 2, 3, 4, 5, 6]
    assert rig.ordered.ended


# ------------------------------------------------------------------ caught up beside a writer, by subject


def listing(**how):
    return Rig(
        Keyed(), config={"deliver_policy": "last_per_subject", **how.pop("config", {})}, **how
    )


class Keyed(View[tuple[str, int]]):
    """Subject and sequence; a full stop behind those that were there."""

    __slots__ = ()

    def see(self, msg):
        return ((msg.subject, msg.metadata.stream_sequence),)

    def caught_up(self):
        return (".",)

    @property
    def done(self):
        return False


def test_the_end_of_a_listing_comes_when_each_subject_was_seen_n001():
    rig = listing(until_caught_up=True).ok(pending=3)
    rig.key("k1", 11, pending=3).key("k2", 12, pending=4)
    assert rig.asked_info == 0
    rig.key("k1", 14, pending=4)
    assert (rig.asked_info, rig.ordered.ended) == (1, False)
    rig.info("k1", "k2", "k3", last=16)
    assert not rig.ordered.ended
    rig.key("k3", 15, pending=5)

    assert rig.take() == [("k1", 11), ("k2", 12), ("k1", 14), ("k3", 15), "."]
    assert rig.ordered.take(0.0) is ENDED


def test_a_listing_that_has_seen_all_ends_with_the_answer():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=3).key("k2", 12, pending=4).key("k2", 13, pending=4)
    rig.info("k1", "k2", last=20)

    assert rig.caught == [13]
    rig.key("k1", 14, pending=9)
    assert (rig.asked_info, rig.ordered.census.seen) == (1, set())


def test_a_listing_without_a_writer_asks_nothing():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=1).key("k2", 12, pending=0)

    assert rig.notices == [OrderedNotice.CAUGHT_UP]
    assert rig.asked_info == 0


def test_subjects_that_are_new_do_not_put_the_end_of_a_listing_off():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=5).key("k4", 13, pending=5)
    rig.info("k1", "k2", "k4", last=16)
    rig.at(2.0).key("k5", 16, pending=5)
    rig.info("k1", "k2", "k4", "k5", "k6", last=20)
    rig.at(4.0).key("k2", 17, pending=5)

    assert rig.caught == [17]
    assert rig.asked_info == 2


def test_a_subject_that_is_removed_is_missed_by_nobody():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=5).key("k1", 13, pending=5)
    rig.info("k1", "k2", last=16)
    rig.at(0.5).key("k1", 16, pending=5)
    assert rig.asked_info == 1  # not again so soon
    rig.at(1.0).key("k1", 18, pending=5)
    rig.info("k1", last=18)

    assert rig.caught == [18]


@pytest.mark.parametrize("how", ["denied", "silent", "error", "unknown"])
def test_a_stream_that_does_not_say_its_subjects_ends_a_listing_by_what_was_ahead(how):
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=5).key("k1", 13, pending=3)
    if how == "denied":
        denied = PermissionViolation("no", operation="publish", subject=INFO)
        rig.ordered.refused(INFO, denied, rig.now)
    elif how == "silent":
        rig.tick(5.0)
    elif how == "error":
        rig.info_error()
    else:
        rig.info(last=16)
    rig.key("k1", 14, pending=30).key("k2", 15, pending=40)
    assert not rig.ordered.position.caught_up
    rig.key("k1", 16, pending=50)

    assert rig.caught == [16]
    assert rig.asked_info == 1


def test_a_question_for_subjects_is_asked_again_after_a_lost_link():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=5).key("k1", 13, pending=5)
    assert rig.ordered.deadline == 5.0
    rig.down().up()
    rig.ok(pending=2)
    rig.key("k1", 14, pending=5).key("k2", 15, pending=5)
    rig.info("k1", "k2", last=30)

    assert rig.caught == [15]
    assert rig.asked_info == 2


def test_a_listing_with_several_filters_asks_for_each():
    rig = listing(config={"filter_subjects": ["k.a", "k.b"]}).ok(pending=2)
    rig.key("k.a", 11, pending=5).key("k.a", 13, pending=5)
    rig.info("k.a", last=20)
    assert not rig.ordered.position.caught_up
    rig.info("k.b", last=20)
    assert not rig.ordered.position.caught_up
    rig.key("k.b", 15, pending=5)

    assert rig.caught == [15]
    assert [body["subjects_filter"] for body in rig.info_bodies] == ["k.a", "k.b"]


@pytest.mark.parametrize("form", list(SourceKind))
def test_a_question_for_subjects_goes_on_after_a_snapshot(form):
    rig = listing(form=form).ok(pending=2)
    rig.key("k1", 11, pending=5).key("k1", 13, pending=5)
    old = rig.ordered
    rig.look()
    for _ in range(2):
        new = OrderedConsumer(ApiSubjects(), "S", Keyed(), old.options)
        new.port = old.port
        new.restore(old.snapshot())
        assert new.snapshot() == old.snapshot()
        rig.ordered = new
        if new.census.missing is None:
            rig.info("k1", "k2", last=20)
            old = new
    rig.key("k2", 15, pending=5)

    assert rig.caught == [15]


def test_a_subject_that_the_writer_replaces_is_seen_although_a_message_leaves_nothing():
    rig = listing().ok(pending=2)
    rig.key("k1", 11, pending=5).key("k1", 13, pending=0)
    rig.info("k1", "k2", last=14)
    assert rig.caught == []
    rig.key("k2", 14, pending=0)

    assert rig.caught == [14]


def test_a_listing_that_ends_asks_no_more():
    rig = listing().ok(pending=1)
    rig.key("k1", 11, pending=5)
    rig.ordered.told(StopMode.DRAIN, rig.now)
    rig.info("k1", last=20)

    assert OrderedNotice.CAUGHT_UP not in rig.notices
    assert rig.take() == [("k1", 11)]


def test_a_pushed_listing_that_came_before_its_creation_was_answered_asks_then():
    rig = listing(form=SourceKind.PUSH)
    rig.key("k1", 11, pending=5).key("k2", 12, pending=6)
    assert rig.asked_info == 0
    rig.ok(pending=2)
    rig.info("k1", "k2", last=20)

    assert rig.caught == [12]


def test_a_push_consumer_that_has_delivered_before_it_answers_counts_that():
    rig = Rig(form=SourceKind.PUSH, until_caught_up=True)
    rig.data(1, pending=2)
    rig.ok(pending=2, before=1, delivered=1)
    assert not rig.ordered.ended
    rig.cseq = 1
    rig.data(2, 3, pending=9)

    assert (rig.take(), rig.ordered.ended) == ([1, 2, 3], True)


@pytest.mark.parametrize("form", list(SourceKind))
def test_an_empty_beginning_is_over_at_once_and_the_reader_is_not_n010(form):
    rig = Rig(Keys(), form=form).ok(pending=0)
    assert rig.take() == ["."]
    for second in range(4, 64, 4):
        rig.at(float(second)).heartbeat(0)
        rig.tick()
        if form is SourceKind.PULL and second % 28 == 0:
            rig.status(408, "Request Timeout")
    assert not rig.ordered.ended
    rig.data(2)

    assert rig.take() == ["2a", "2b"]
    assert len(rig.creates) == 1


@pytest.mark.parametrize("quiet", ["heartbeat", "expired"])
def test_b220_a_server_that_waits_shows_that_what_is_missing_is_gone(quiet):
    rig = Rig(until_caught_up=True).ok(pending=3)
    rig.data(1, pending=2)
    rig.at(30.0)
    if quiet == "heartbeat":
        rig.heartbeat(1)
    else:
        rig.status(408, "Request Timeout")

    assert rig.take() == [1]
    assert rig.ordered.ended


def test_b220_a_server_that_paces_its_messages_shows_nothing_by_waiting():
    rig = Rig(config={"replay_policy": "original"}, until_caught_up=True).ok(pending=3)
    rig.at(30.0).heartbeat(0)
    rig.status(408, "Request Timeout")

    assert not rig.ordered.ended


def test_a_server_that_paces_its_messages_may_be_silent():
    rig = Rig(config={"replay_policy": "original"}).ok(pending=3)
    rig.data(1)
    rig.run_to(32.9)

    assert len(rig.creates) == 1


def test_a_server_whose_replay_is_over_may_be_silent_no_more():
    rig = Rig(config={"replay_policy": "original"}).ok(pending=1)
    rig.at(20.0).heartbeat(0)
    rig.run_to(29.9)
    assert len(rig.creates) == 1

    rig.run_to(30.0)
    assert PullNotice.HEARTBEAT_MISSED in rig.notices
    assert len(rig.creates) == 2


class Keys(View[str]):
    """Letters of even messages, a full stop behind those that were there."""

    __slots__ = ("seen", "stop_at")

    def __init__(self, stop_at=0):
        self.seen = 0
        self.stop_at = stop_at

    def see(self, msg):
        self.seen += 1
        number = msg.metadata.stream_sequence
        return (f"{number}a", f"{number}b") if number % 2 == 0 else ()

    def caught_up(self):
        return (".",)

    @property
    def done(self):
        return 0 < self.stop_at <= self.seen

    def snapshot(self):
        return {"seen": self.seen}

    def restore(self, data):
        self.seen = data["seen"]


def test_a_view_makes_none_one_or_several_items_of_a_message():
    rig = Rig(Keys()).ok(pending=3)
    rig.data(1, 2, 3)
    rig.data(4)

    assert rig.ordered.readable == 5
    assert rig.take() == ["2a", "2b", ".", "4a", "4b"]
    assert rig.ordered.take(0.0) is NEED_DATA


def test_a_batch_of_items_is_everything_that_the_view_makes():
    rig = Rig(Keys()).ok(pending=2)
    rig.data(1, 2)
    assert rig.ordered.take(0.0) == "2a"

    assert rig.ordered.take_all(0.0) == ["2b", "."]
    assert rig.ordered.take_all(0.0) is NEED_DATA


def test_b221_the_marker_comes_at_once_where_nothing_is():
    rig = Rig(Keys()).ok(pending=0)

    assert rig.take() == ["."]


def test_b221_the_marker_comes_although_the_view_hides_every_message():
    rig = Rig(Keys()).ok(pending=2)
    rig.data(1, 3)

    assert rig.take() == ["."]


def test_a_view_that_has_seen_enough_ends_it_and_the_rest_is_forgotten():
    rig = Rig(Keys(stop_at=2)).ok(pending=9)
    rig.data(1, 2, 3, 4, pending=5)

    assert rig.take() == ["2a", "2b"]
    assert rig.ordered.take(0.0) is ENDED
    assert rig.ordered.reason is EndReason.FILLED
    rig.gone()
    assert rig.ordered.finished


def test_a_view_that_has_seen_enough_behind_the_end_forgets_the_rest_too():
    rig = Rig(Keys(stop_at=2), until_caught_up=True).ok(pending=4)
    rig.data(1, 2, 3, 4)

    assert rig.take() == ["2a", "2b"]
    assert rig.ordered.take(0.0) is ENDED


def test_a_view_that_wants_nothing_asks_for_nothing():
    rig = Rig(opened=False)
    view = Keys(stop_at=1)
    view.seen = 1
    rig.ordered = OrderedConsumer(ApiSubjects(), "S", view)
    rig.ordered.port = Port()
    rig.ordered.opened(0.0)

    assert rig.creates == []
    assert rig.ordered.finished


def test_a_view_through_which_nothing_is_seen_is_none():
    with pytest.raises(NotImplementedError):
        View().see(None)
    assert (list(View().caught_up()), View().done) == ([], False)
    assert Messages().see("message") == ("message",)


def test_b226_the_first_values_are_not_repeated_when_they_are_asked_for_again():
    rig = Rig(config={"deliver_policy": "last_per_subject"}).ok(pending=4)
    rig.data(10, 11, pending=2)
    rig.at(10.0).status(409, "Consumer Deleted")
    assert rig.starts[-1] == {"deliver_policy": "last_per_subject"}
    rig.ok(pending=3)
    rig.data(10, 12, 13)

    assert rig.take() == [10, 11, 12, 13]
    assert rig.ordered.repeated == 1
    assert rig.ordered.position.caught_up
    assert rig.ordered.intake.lead.buffered == 0

    rig.at(20.0).status(409, "Consumer Deleted")
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 14}


def test_b226_values_that_are_all_known_count_for_being_caught_up():
    rig = Rig(config={"deliver_policy": "last_per_subject"}, until_caught_up=True).ok(pending=3)
    rig.data(10, 11, pending=1)
    rig.at(10.0).status(409, "Consumer Deleted")
    rig.ok(pending=2)
    rig.data(10, 11)

    assert rig.take() == [10, 11]
    assert rig.ordered.ended


def test_b227_time_in_between_is_counted_once():
    rig = Rig(until_caught_up=True, pulls={"idle_heartbeat": 5.0}).ok(pending=9)
    for second in range(1, 10):
        rig.run_to(float(second))
        rig.data(second, pending=9 - second)

    assert rig.take() == list(range(1, 10))
    assert (rig.ordered.ended, rig.ordered.resets) == (True, 0)


def test_ack_subjects_of_eleven_tokens_are_read():
    rig = Rig().ok(pending=2)
    rig.data(5, 6, long=True)
    rig.at(10.0).data(9, cseq=9, long=True)

    assert rig.take() == [5, 6]
    assert rig.starts[-1]["opt_start_seq"] == 7


# ------------------------------------------------------------------ what the user is given


class Seen(View[JsMessage]):
    """The messages themselves, through a view."""

    __slots__ = ()

    def see(self, msg):
        return (msg,)


@pytest.mark.parametrize("view", [Messages, Seen])
def test_each_message_is_mute_and_knows_the_feed_that_it_came_through(view):
    rig = Rig(view()).ok()
    rig.data(1, 2, 3)
    one, rest = rig.ordered.take(0.0), rig.ordered.take_all(0.0)

    assert [each.feed for each in (one, *rest)] == [rig.ordered] * 3
    assert {each.state for each in (one, *rest)} == {AckState.MUTE}


def test_an_adapters_messages_are_made_of_frame_feed_and_state():
    rig = Rig().ok()
    rig.ordered.message = lambda *made: made
    rig.data(1)
    frame, feed, state = rig.ordered.take(0.0)

    assert (frame[1], feed, state) == ("s.a", rig.ordered, AckState.MUTE)


def test_what_a_view_has_seen_makes_room_for_more():
    rig = Rig(Keys(), pulls={"max_messages": 4}).ok(pending=9)
    rig.data(1, 2, 3, pending=6)
    rig.at(7.0).ordered.take_all(7.0)

    assert [pull["batch"] for pull in rig.pulls] == [4, 2]
    assert rig.ordered.intake.lead.level == 3
    assert max(pull.until for pull in rig.ordered.intake.engine.ledger.open.values()) == 40.0


def test_items_that_were_made_and_not_taken_are_at_hand():
    rig = Rig(Keys()).ok(pending=9)
    rig.data(2, 4, pending=7)
    assert rig.ordered.readable == 2

    assert rig.ordered.take(0.0) == "2a"
    assert rig.ordered.readable == 2


def test_who_leaves_is_given_no_item_that_was_made_before():
    rig = Rig(Keys()).ok(pending=9)
    rig.data(2, pending=8)
    rig.ordered.take(0.0)
    rig.ordered.closed(None, 1.0)

    assert (rig.ordered.take(1.0), rig.ordered.readable, rig.ordered.reason) == (
        ENDED,
        0,
        EndReason.CLOSED,
    )


def test_a_view_that_wants_nothing_has_all_it_wants():
    view = Keys(stop_at=1)
    view.seen = 1
    rig = Rig(view)

    assert (rig.ordered.reason, rig.ordered.take(0.0)) == (EndReason.FILLED, ENDED)


# ------------------------------------------------------------------ what the user is told

CONSUMER_INFO = "$JS.API.CONSUMER.INFO.S."
ABOUT = "an ordered consumer on $JS.API.CONSUMER.MSG.NEXT.S.8S8g6aVhigSYlICZC8RwNb-1-1"
SERVED = f"expected {ABOUT} to be served, got"


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (
            (409, "Consumer Deleted"),
            PullNotice.CONSUMER_DELETED,
            f"{SERVED} 409 'Consumer Deleted'",
        ),
        (
            (409, "Leadership Change"),
            PullNotice.LEADERSHIP_CHANGED,
            f"{SERVED} 409 'Leadership Change'",
        ),
        ((409, "Server Shutdown"), PullNotice.SERVER_SHUTDOWN, f"{SERVED} 409 'Server Shutdown'"),
        ((400, "Bad Request"), PullNotice.REFUSED, f"{SERVED} 400 'Bad Request'"),
        ((477, "Something new"), PullNotice.UNKNOWN_STATUS, f"{SERVED} 477 'Something new'"),
        (
            (503, ""),
            PullNotice.NO_RESPONDERS,
            "expected a consumer to serve $JS.API.CONSUMER.MSG.NEXT.S.8S8g6aVhigSYlICZC8RwNb-1-1, got 503",
        ),
    ],
)
def test_a_status_that_costs_the_incarnation_is_told_and_then_the_reset_with_the_last_sequence(
    status, kind, said
):
    rig = Rig().ok(pending=9)
    rig.data(11, pending=8)
    rig.at(20.0).status(*status)
    rig.look()
    (first, error), second = rig.told[-2:]

    assert (first, str(error)) == (kind, said)
    assert second == (OrderedNotice.RESET, 11)


def test_nobody_there_names_the_subject_that_was_asked():
    rig = Rig().ok(pending=9).status(503)
    rig.look()

    assert rig.told[0][1].subject == f"{NEXT}8S8g6aVhigSYlICZC8RwNb-1-1"


def test_a_status_that_costs_nothing_is_told_as_an_error():
    rig = Rig(pulls={"max_bytes": 1000}).ok(pending=9).status(199, "Something")
    rig.status(
        409,
        "Message Size Exceeds MaxBytes",
        "Nats-Pending-Messages: 1000000\r\nNats-Pending-Bytes: 1000\r\n",
    )
    rig.look()

    assert [(kind, str(error)) for kind, error in rig.told] == [
        (PullNotice.UNKNOWN_STATUS, f"{SERVED} 199 'Something'"),
        (PullNotice.MESSAGE_TOO_LARGE, f"{SERVED} 409 'Message Size Exceeds MaxBytes'"),
    ]


def test_a_silence_is_told_with_what_was_expected():
    rig = Rig().ok(pending=9)
    rig.run_to(10.0)
    rig.look()

    assert (
        str(rig.told[0][1]) == f"expected a heartbeat every 5 s for {ABOUT}, nothing came for 10 s"
    )


def test_a_gap_that_a_heartbeat_names_is_told():
    rig = Rig().ok(pending=9)
    rig.at(1.0).heartbeat(3)
    rig.look()

    assert rig.told == [(PullNotice.GAP, Gap(1, 4)), (OrderedNotice.RESET, 0)]


def test_headers_without_a_status_are_no_word_of_the_server():
    rig = Rig().ok()
    rig.feed((rig.port.sid, rig.token, "", b"NATS/1.0\r\nA: b\r\n\r\n", b""))

    assert (rig.ordered.strays, rig.ordered.state) == (1, OrderedState.READING)


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_refusal_is_told_with_its_error(when):
    rig = Rig().ok(pending=9)
    error = PermissionViolation("no", rig.ordered.intake.subject, "publish")
    if when == "later":
        rig.data(1, pending=8)
    rig.at(20.0).ordered.refused(rig.ordered.intake.subject, error, 20.0)
    rig.look()

    told = dict(rig.told)
    assert told[PullNotice.REFUSED] is error
    assert rig.ordered.reason is (EndReason.REFUSED if when == "first" else None)


def test_resets_and_what_came_again_are_counted():
    rig = Rig(config={"deliver_policy": "last_per_subject"}).ok(pending=9)
    rig.data(10, 11, pending=7)
    for now in (20.0, 40.0):
        rig.at(now).status(409, "Consumer Deleted")
        rig.ok(pending=9)
        rig.data(10, 11, pending=7)

    assert (rig.ordered.resets, rig.ordered.repeated) == (2, 4)


# ------------------------------------------------------------------ moments


@pytest.mark.parametrize(
    ("event", "later"),
    [
        (lambda rig: rig.status(409, "Consumer Deleted"), False),
        (lambda rig: rig.status(503), False),
        (lambda rig: rig.data(9, cseq=7), False),
        (lambda rig: rig.status(409, "Leadership Change"), True),
        (lambda rig: rig.status(400, "Bad Request"), True),
        (
            lambda rig: rig.ordered.refused(
                rig.ordered.intake.subject, PermissionViolation("no"), 20.0
            ),
            True,
        ),
    ],
)
def test_who_is_gone_is_replaced_at_once_and_who_moves_or_refuses_after_a_delay(event, later):
    rig = Rig().ok()
    rig.data(1)
    rig.at(20.0)
    event(rig)

    assert len(rig.creates) == (1 if later else 2)
    if later:
        assert rig.ordered._timers.next() == 20.25
        rig.run_to(20.25)
        assert len(rig.creates) == 2


def test_whatever_is_due_first_is_the_deadline():
    rig = Rig().ok()
    rig.at(20.0).status(409, "Consumer Deleted")
    rig.ok()

    assert (rig.ordered.leftovers.deadline, rig.ordered.intake.liveness.deadline) == (None, 30.0)
    rig.at(21.0).status(503)
    rig.run_to(21.25)
    rig.ok()
    assert rig.ordered.deadline == rig.ordered.leftovers.deadline == 26.0


def test_told_to_stop_while_an_attempt_has_its_time_it_makes_none():
    rig = Rig().ok().status(409, "Leadership Change")
    rig.ordered.told(StopMode.STOP, 0.1)
    rig.gone()
    assert (rig.ordered.finished, rig.ordered.deadline) == (True, None)
    rig.tick(10.0)

    assert len(rig.creates) == 1


def test_while_messages_are_at_hand_nothing_is_asked_of_a_server_that_is_silent():
    rig = Rig().ok()
    rig.data(11)
    rig.tick(10.0)
    rig.tick(40.0)
    assert (len(rig.pulls), len(rig.creates)) == (1, 1)

    assert rig.take() == [11]
    assert len(rig.creates) == 2


def test_bytes_that_a_full_pull_leaves_over_are_asked_for_when_it_is_full():
    rig = Rig(pulls={"max_messages": 4, "within_bytes": 1000}).ok()
    rig.data(1, 2)
    assert rig.take() == [1, 2]
    assert len(rig.pulls) == 1
    rig.at(3.0).data(3, 4)

    assert [pull["batch"] for pull in rig.pulls] == [4, 2]
    assert rig.ordered.intake.engine.ledger.deadline == 36.0


def test_a_gap_before_a_status_of_the_same_run_is_dated():
    rig = Rig().ok()
    expired = (rig.port.sid, rig.token, "", b"NATS/1.0 408 Request Timeout\r\n\r\n", b"")
    rig.at(20.0).feed(rig.frame(5, 3), expired)

    assert (len(rig.creates), rig.ordered.strays) == (2, 2)
    assert rig.ordered.incarnation.since == 20.0


def test_messages_around_a_status_of_the_same_run_are_all_heard():
    rig = Rig().ok()
    beat = (rig.port.sid, rig.token, "", b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", b"")
    rig.feed(rig.frame(1), beat, rig.frame(2), beat, rig.frame(3))

    assert rig.take() == [1, 2, 3]


# ------------------------------------------------------------------ whose it is


@pytest.mark.parametrize("form", list(SourceKind))
def test_on_the_old_inbox_nothing_is_heard_while_the_next_attempt_has_its_time(form):
    rig = Rig(form=form).ok()
    rig.data(1)
    rig.ordered._reset(rig.now, later=True)
    assert rig.ordered.state is OrderedState.WAITING
    rig.data(2)

    assert (rig.take(), rig.ordered.strays) == ([1], 1)


def test_before_a_creation_is_answered_only_what_is_pushed_can_come():
    pulled, pushed = Rig(), Rig(form=SourceKind.PUSH)
    for rig in (pulled, pushed):
        rig.data(1)

    assert (pulled.take(), pulled.ordered.strays) == ([], 1)
    assert (pushed.take(), pushed.ordered.strays) == ([1], 0)


def test_what_the_last_incarnation_was_to_bring_says_nothing_about_the_next():
    rig = Rig(form=SourceKind.PUSH, until_caught_up=True).ok(pending=1)
    rig.at(20.0).down().up()
    rig.data(1, cseq=1, pending=0)
    assert not rig.ordered.ended
    rig.ok(pending=2)
    rig.data(2, cseq=2, pending=0)

    assert rig.take() == [1, 2]
    assert rig.ordered.ended


def test_an_answer_that_names_another_consumer_does_not_make_it_ours():
    rig = Rig().ok(name="other")

    assert rig.ordered.leftovers.names == [rig.creates[0].name]


@pytest.mark.parametrize("ended", [True, False])
def test_an_answer_that_names_nobody_deletes_nobody(ended):
    rig = Rig().ok()
    if ended:
        rig.ordered.closed(None, 1.0)
    rig.reply(99, b"gibberish")

    assert rig.ordered.leftovers.names == ([rig.creates[0].name] if ended else [])


def test_a_configuration_that_can_not_be_written_ends_it_at_once():
    rig = Rig(config={"metadata": {"label": "\ud800"}})

    assert (rig.creates, rig.ordered.finished, rig.ordered.reason) == ([], True, EndReason.REFUSED)
    with pytest.raises(InvalidConfig):
        rig.ordered.take(0.0)


# ------------------------------------------------------------------ the table


def test_the_table_names_every_state_and_all_states_can_be_reached():
    assert set(TRANSITIONS) == set(OrderedState)
    reached = {OrderedState.NEW}
    for _ in OrderedState:
        reached |= {state for each in reached for state in TRANSITIONS[each].values()}
    assert reached == set(OrderedState)
    assert {fact for row in TRANSITIONS.values() for fact in row} == set(OrderedInput)


# ------------------------------------------------------------------ properties and state


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.integers(1, 4)),
        st.tuples(st.just("gap"), st.integers(1, 3)),
        st.tuples(st.just("old"), st.just(0)),
        st.tuples(
            st.just("status"),
            st.sampled_from(
                [
                    (409, "Consumer Deleted"),
                    (409, "Leadership Change"),
                    (409, "Server Shutdown"),
                    (503, ""),
                    (408, "Request Timeout"),
                    (404, "No Messages"),
                    (100, "Idle Heartbeat"),
                    (400, "Bad Request"),
                    (409, "Exceeded MaxWaiting"),
                    (599, "Odd"),
                ]
            ),
        ),
        st.tuples(st.just("refuse"), st.sampled_from([0, 10008, 10026])),
        st.tuples(st.just("nobody"), st.just(0)),
        st.tuples(st.just("link"), st.just(0)),
        st.tuples(st.just("time"), st.floats(0.0, 20.0)),
        st.tuples(st.just("ok"), st.just(0)),
        st.tuples(st.just("take"), st.integers(1, 5)),
        st.tuples(st.just("again"), st.just(0)),
    ),
    max_size=40,
)


def clone(rig: Rig) -> None:
    """Take the state out and put it into a new machine, which goes on instead."""
    old = rig.ordered
    new = OrderedConsumer(ApiSubjects(), "S", Messages(), old.options)
    data = old.snapshot()
    new.port = Port()
    new.port._sids = old.port._sids
    new.restore(data)
    new.port.commands = old.port.commands
    new.port.notices = old.port.notices
    assert new.snapshot() == data
    rig.ordered = new


@settings(max_examples=150)
@given(
    events=EVENTS,
    policy=st.sampled_from(["all", "last_per_subject"]),
    form=st.sampled_from(SourceKind),
)
def test_invariants_35_to_39_hold_whatever_happens(events, policy, form):
    rig = Rig(form=form, config={"deliver_policy": policy}, pulls={"max_messages": 8})
    questions = 0
    rig.ok(pending=100)
    ordered = rig.ordered
    stream = 0  # the last sequence that the present incarnation delivered
    taken: list[int] = []
    incarnation = ordered.incarnation.name
    asked = [(0.0, 1)]

    for kind, value in events:
        ordered = rig.ordered
        before = ordered.resets
        reading = ordered.state is OrderedState.READING
        if incarnation != ordered.incarnation.name:
            incarnation = ordered.incarnation.name
            rig.cseq = 0
        stream = ordered.position.last
        if kind == "data" and reading:
            rig.data(*range(stream + 1, stream + 1 + value), pending=7)
            assert ordered.resets == before
        elif kind == "gap" and reading:
            rig.data(stream + 5, cseq=rig.cseq + 1 + value)
            assert ordered.resets == before + 1
        elif kind == "old":
            rig.data(stream + 1, cseq=1, sid="1")
            rig.status(409, "Consumer Deleted", sid="1", token="_INBOX.P.1.1.1")
            rig.reply(77, b"{}")
            assert (ordered.resets, ordered.state is OrderedState.READING) == (before, reading)
        elif kind == "status" and reading and form is SourceKind.PUSH:
            questions += 1
            rig.question(f"$JS.FC.S.C.{questions}")
        elif kind == "status" and reading and ordered.intake.engine.ledger.open:
            rig.status(*value)
        elif kind == "refuse" and ordered.state is OrderedState.CREATING:
            rig.error(503, value)
        elif kind == "nobody" and ordered.state is OrderedState.CREATING:
            rig.nobody()
        elif kind == "link":
            rig.down().up()
        elif kind == "time":
            rig.run_to(rig.now + value)
        elif kind == "ok" and ordered.state is OrderedState.CREATING:
            rig.ok(pending=100)
        elif kind == "take":
            for _ in range(value):
                item = ordered.take(rig.now)
                if item is not NEED_DATA:
                    taken.append(item.metadata.stream_sequence)
        elif kind == "again":
            rig.look()
            clone(rig)
            ordered = rig.ordered

        rig.look()
        assert not ordered.ended  # 38
        assert (
            form is SourceKind.PUSH
            or ordered.intake.lead.level <= 8
            or not ordered.intake.lead.asked
        )
        assert len(rig.answers) == len(set(rig.answers)) <= questions
        assert taken == sorted(set(taken))  # 35
        assert ordered.deadline is not None or ordered.readable  # there is always a future
        if len(rig.asked) > asked[-1][1]:
            asked.append((rig.now, len(rig.asked)))

    creates = rig.creates
    assert len({create.name for create in creates}) == len(creates)
    for create in creates[1:]:  # 37
        start = {name for name in ("opt_start_seq", "opt_start_time") if name in create.config}
        if create.config["deliver_policy"] == policy:
            assert start == set()
        else:
            assert start == {"opt_start_seq"}


def test_a_snapshot_at_every_step_changes_nothing():
    def play(keep: bool) -> tuple[list[object], list[int]]:
        rig = Rig(pulls={"max_messages": 8})
        taken: list[int] = []

        def step(action) -> None:
            action()
            taken.extend(rig.take())
            rig.look()
            if keep:
                clone(rig)

        step(lambda: rig.ok(pending=3))
        step(lambda: rig.data(1, 2))
        step(lambda: rig.data(5, cseq=5))
        step(lambda: rig.run_to(1.0))
        step(lambda: rig.ok(pending=3))
        step(lambda: rig.data(3, 4, 5))
        step(lambda: rig.run_to(20.0))
        step(lambda: rig.run_to(40.0))
        step(rig.down)
        step(rig.up)
        step(rig.ok)
        step(lambda: rig.data(6))
        step(lambda: rig.ordered.closed(None, rig.now))
        step(lambda: rig.run_to(60.0))
        step(lambda: rig.run_to(90.0))
        return rig.log, taken

    plain, restored = play(keep=False), play(keep=True)

    assert plain == restored
    assert plain[1] == [1, 2, 3, 4, 5, 6]


def test_an_anchor_survives_a_snapshot():
    rig = Rig(config={"deliver_policy": "new"}).ok(before=50)
    rig.look()
    clone(rig)
    rig.down().up()

    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 51}


def test_the_snapshot_of_an_open_deletion_goes_on():
    rig = Rig().ok()
    rig.ordered.closed(None, 0.0)
    rig.look()
    clone(rig)
    rig.gone()

    assert rig.ordered.finished
    assert json.dumps(rig.ordered.snapshot(), default=str)


# ------------------------------------------------------------------ several filters

TWO = {"filter_subjects": ["k.a", "k.b"]}


def filters(rig: Rig) -> list[object]:
    return [
        create.config.get("filter_subjects") or create.config.get("filter_subject")
        for create in rig.creates
    ]


@pytest.mark.parametrize("version", ["", "2.11.11", "2.14.6", "2.9", "2", "x.y", "2.99999999999"])
def test_a_server_that_may_pass_over_messages_of_several_filters_is_asked_with_one_n088(version):
    rig = Rig(config=TWO).ok(pending=3, version=version)
    first, second = rig.creates
    assert filters(rig) == [["k.a", "k.b"], "k.*"]
    assert first.name in rig.deleted
    assert rig.pulls == []
    rig.gone().ok(second, pending=3, version=version)
    rig.key("k.a", 1, pending=2).key("k.c", 2, pending=1).key("k.b", 3, pending=0)

    assert rig.take() == [1, 3]
    assert rig.caught == [3]
    assert (rig.ordered.resets, rig.ordered.intake.lead.buffered) == (0, 0)
    rig.at(20.0).status(409, "Consumer Deleted")
    assert filters(rig)[2:] == ["k.*"]


@pytest.mark.parametrize("version", ["2.15.0", "2.15.1-beta.2", "2.16.3", "3.0.0"])
def test_a_server_that_passes_over_nothing_keeps_several_filters(version):
    rig = Rig(config=TWO).ok(pending=1, version=version)
    rig.key("k.a", 1)

    assert (filters(rig), rig.take()) == ([["k.a", "k.b"]], [1])


def test_a_server_that_leaves_several_filters_out_is_asked_for_everything():
    rig = Rig(config=TWO)
    create = rig.creates[0]
    del create.config["filter_subjects"]
    rig.ok(create, version="")

    assert filters(rig)[1:] == [">"]


def test_what_nobody_wants_makes_room_for_more_at_once():
    rig = Rig(config=TWO, pulls={"max_messages": 2}).ok(version="")
    rig.gone().ok(pending=9, version="")
    rig.key("k.c", 1, pending=8).key("k.c", 2, pending=7)

    assert [pull["batch"] for pull in rig.pulls] == [2, 1, 1]
    assert rig.ordered.readable == 0


def test_the_last_message_of_several_filters_is_found_with_all_of_them():
    rig = Rig(config={**TWO, "deliver_policy": "last"}).ok(pending=1, before=6, version="")

    assert filters(rig) == [["k.a", "k.b"], "k.*"]
    assert rig.starts[1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 7}


def test_an_empty_beginning_of_several_filters_ends_a_finite_read_without_another_consumer():
    rig = Rig(config=TWO, until_caught_up=True).ok(pending=0, version="")

    assert rig.take() == []
    assert rig.ordered.ended
    assert len(rig.creates) == 1


def test_a_pushed_reader_of_several_filters_is_made_anew_as_well():
    rig = Rig(config=TWO, form=SourceKind.PUSH).ok(pending=3, version="2.10.26")
    assert filters(rig) == [["k.a", "k.b"], "k.*"]
    rig.gone().ok(pending=3, version="2.10.26")
    rig.key("k.c", 1, pending=2).key("k.b", 2, pending=1)

    assert rig.take() == [2]


def test_one_filter_that_stands_for_several_survives_a_snapshot():
    rig = Rig(config=TWO).ok(version="")
    new = OrderedConsumer(ApiSubjects(), "S", Messages(), rig.ordered.options)
    new.port = rig.ordered.port
    new.restore(rig.ordered.snapshot())
    rig.ordered = new
    rig.gone().ok(pending=2, version="")
    rig.key("k.c", 1, pending=1).key("k.a", 2)

    assert rig.take() == [2]


# ------------------------------------------------------------------ links that come and go


@pytest.mark.parametrize("form", list(SourceKind))
def test_links_that_are_shorter_than_an_answer_make_few_consumers_and_leave_none(form):
    rig = Rig(form=form)
    for number in range(1, 40):
        rig.at(number * 0.05).down()
        rig.at(number * 0.05 + 0.02).up()
        rig.look()
    assert len(rig.creates) <= 8
    sent = rig.deleted[-len(rig.ordered.leftovers.names) :]
    assert set(sent) == set(rig.ordered.leftovers.names) == {each.name for each in rig.creates}

    rig.run_to(rig.now + 8.0)
    rig.gone()
    last = rig.creates[-1]
    rig.ok(last)
    assert rig.ordered.leftovers.names == []
    rig.data(1)
    assert rig.take() == [1]


def test_a_link_that_lasts_is_followed_by_a_consumer_at_once():
    rig = Rig().ok()
    for number in range(1, 30):
        rig.at(number * 10.0).down().up()
        assert len(rig.creates) == number + 1
        rig.gone().ok()


def test_what_waits_behind_short_links_listens_to_nothing():
    rig = Rig().ok()
    for _ in range(3):
        rig.down().up()
    rig.gone()
    assert (len(rig.creates), rig.port.subject, rig.ordered.deadline) == (3, "", 0.25)
    rig.run_to(0.25)

    assert rig.ordered.state is OrderedState.CREATING
    assert rig.port.subject


# ------------------------------------------------------------------ the silence of a replay, pulled


def test_under_replay_original_no_pull_is_overdue_and_the_consumer_is_asked_for():
    """A server that holds a message back answers no pull meanwhile, not even one that has expired."""
    rig = Rig(
        config={"replay_policy": "original"}, pulls={"expires": 2.0, "idle_heartbeat": 1.0}
    ).ok(pending=3)
    rig.data(1, pending=2)
    rig.take()
    rig.run_to(9.9)
    rig.look()
    questions = [each for each in rig.log if getattr(each, "subject", "").startswith(CONSUMER_INFO)]

    assert len(rig.creates) == 1
    assert [each.subject for each in questions] == [CONSUMER_INFO + rig.creates[0].name] * len(
        questions
    )
    assert questions
    rig.status(408, "Request Timeout", "Nats-Pending-Messages: 9\r\nNats-Pending-Bytes: 0\r\n")
    rig.data(2, pending=1)
    assert (rig.take(), len(rig.creates)) == ([2], 1)


def test_a_heartbeat_of_a_server_that_holds_a_message_does_not_end_the_replay():
    """CONSUMER.INFO, whoever asks, brings a heartbeat that is due to a pull: seen on 2.9.10,
    2.10.26 and 2.14.0.
    """
    rig = Rig(config={"replay_policy": "original"}).ok(pending=2)
    rig.data(1, pending=1)
    rig.take()
    rig.at(8.0).status(100, "Idle Heartbeat", "Nats-Last-Consumer: 1\r\nNats-Last-Stream: 2\r\n")
    rig.run_to(60.0)
    assert len(rig.creates) == 1

    rig.data(2)
    rig.take()
    rig.status(100, "Idle Heartbeat", "Nats-Last-Consumer: 2\r\nNats-Last-Stream: 2\r\n")
    rig.tick(rig.ordered.deadline)
    assert len(rig.creates) == 2


def questions(rig):
    rig.look()
    return [each for each in rig.log if getattr(each, "subject", "").startswith(CONSUMER_INFO)]


def tell(rig, times=1, *, waiting=0, reached=1):
    """Let time pass until the next question, and answer it."""
    for _ in range(times):
        before = len(questions(rig))
        while len(questions(rig)) == before:
            rig.tick(rig.ordered.deadline)
        members = {
            "type": "io.nats.jetstream.api.v1.consumer_info_response",
            "stream_name": "S",
            "name": rig.creates[-1].name,
            "delivered": {"consumer_seq": 1, "stream_seq": reached},
            "num_waiting": waiting,
        }
        rig.reply(int(questions(rig)[-1].reply.rpartition(".")[2]), members)
    return rig


def replaying(**pulls):
    """A reader whose pull expires after 2 s, and is overdue after 3 s; it asks after 2 s of
    silence.
    """
    made = {"max_messages": 10, "expires": 2.0, "idle_heartbeat": 1.0, **pulls}
    rig = Rig(config={"replay_policy": "original"}, pulls=made).ok(pending=3)
    rig.data(1, pending=2)
    rig.take()
    return rig


def test_a_pull_that_2_9_drops_in_a_replay_without_a_word_is_made_again():
    """Found by ``jsproto simulate --seeds 22029 --hours 2 --works ordered``; seen on 2.9.10."""
    rig = tell(replaying())
    assert rig.pulls == [{"batch": 10, "expires": 2 * 10**9, "idle_heartbeat": 10**9}]
    tell(rig)

    assert [each["batch"] for each in rig.pulls] == [10, 10]
    assert len(rig.creates) == 1
    rig.data(2, pending=1)
    assert rig.take() == [2]
    assert rig.ordered.intake.lead.asked == 9


@pytest.mark.parametrize(
    "between",
    [
        lambda rig: tell(rig, waiting=1),
        lambda rig: rig.data(2, pending=1),
    ],
)
def test_two_answers_in_a_row_must_say_that_no_pull_waits(between):
    rig = tell(replaying())
    between(rig)
    rig.take()
    tell(rig, reached=2)

    assert (len(rig.pulls), len(rig.creates)) == (1, 1)


def test_a_pull_whose_time_is_not_over_may_be_on_its_way():
    rig = tell(replaying(expires=30.0), times=5)

    assert (len(rig.pulls), len(rig.creates)) == (1, 1)


@pytest.mark.parametrize(
    ("pulls", "creates"), [({"max_messages": 10}, 2), ({"max_messages": 1}, 1)]
)
def test_a_message_that_is_held_may_be_the_last_of_a_pull_and_no_more(pulls, creates):
    rig = tell(replaying(**pulls), times=2, reached=5)
    assert len(rig.creates) == creates


def test_nobody_knows_whether_the_bytes_of_a_pull_were_enough_for_more_than_what_is_held():
    rig = tell(replaying(max_messages=None, max_bytes=5000), times=3, reached=5)
    assert (len(rig.pulls), len(rig.creates)) == (1, 1)


def test_no_pull_waits_where_the_server_pushes():
    rig = Rig(form=SourceKind.PUSH, config={"replay_policy": "original"}).ok(pending=3)
    rig.data(1, pending=2)
    rig.take()
    tell(rig, times=3)

    assert len(rig.creates) == 1


def test_a_consumer_that_is_gone_in_the_silence_of_a_replay_is_made_anew_for_pulls_too():
    rig = Rig(config={"replay_policy": "original"}).ok(pending=3)
    rig.data(1, pending=2)
    rig.take()
    while not (
        asked := [
            each for each in rig.log if getattr(each, "subject", "").startswith(CONSUMER_INFO)
        ]
    ):
        rig.tick(rig.ordered.deadline)
        rig.look()
    rig.reply(
        int(asked[-1].reply.rpartition(".")[2]),
        {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}},
    )

    assert rig.starts[-1]["opt_start_seq"] == 2
