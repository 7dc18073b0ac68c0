"""The push form of an ordered consumer."""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.errors import InvalidConfig, PermissionViolation
from jsproto.jetstream.ordered.consumer import (
    OrderedConsumer,
    OrderedNotice,
    OrderedState,
    SourceKind,
)
from jsproto.jetstream.ordered.push_source import PushSource
from jsproto.jetstream.ordered.source import OrderedSource
from jsproto.jetstream.ordered.view import View
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish
from tests.jetstream.ordered_rig import LOST, Rig

FC = "$JS.FC.S.C."
CONSUMER_INFO = "$JS.API.CONSUMER.INFO.S."


def pushed(**how) -> Rig:
    return Rig(form=SourceKind.PUSH, **how)


def clone(rig: Rig) -> None:
    old = rig.ordered
    new = OrderedConsumer(old._api, "S", old.view, old.options)
    new.port = old.port
    new.restore(old.snapshot())
    assert new.snapshot() == old.snapshot()
    rig.ordered = new


def test_the_creation_says_where_to_deliver_and_how():
    rig = pushed()
    config = rig.creates[0].config

    assert [type(each).__name__ for each in rig.log] == ["Sub", "Publish"]
    assert (
        config["deliver_subject"] == rig.port.subject == "_INBOX.P.1.1.1"
    )  # no wildcard: it would be no interest
    assert (config["flow_control"], config["idle_heartbeat"]) == (True, 5_000_000_000)
    assert (config["ack_policy"], config["max_deliver"], config["mem_storage"]) == ("none", 1, True)
    assert rig.ok().pulls == []


def test_b070_every_incarnation_delivers_to_another_subject():
    rig = pushed()
    for now in (20.0, 40.0, 60.0):
        rig.ok()
        rig.run_to(now)

    subjects = [create.config["deliver_subject"] for create in rig.creates]
    assert len(set(subjects)) == len(subjects) >= 4


def test_messages_that_come_before_the_answer_count():
    rig = pushed(until_caught_up=True)
    rig.data(1, 2, pending=1)
    assert rig.take() == [1, 2]
    assert not rig.ordered.position.caught_up
    rig.ok(pending=3)
    rig.cseq = 2
    assert not rig.ordered.ended
    rig.data(3)

    assert rig.take() == [3]
    assert rig.ordered.ended


def test_an_answer_behind_everything_that_was_there_shows_that_the_reader_is_caught_up():
    rig = pushed(until_caught_up=True)
    rig.data(1, 2, 3)
    assert not rig.ordered.ended
    rig.ok(pending=3)

    assert rig.take() == [1, 2, 3]
    assert rig.ordered.ended


def test_a_gap_before_the_answer_is_a_reset_and_the_answer_is_late():
    rig = pushed()
    first = rig.creates[0]
    rig.data(1)
    rig.at(1.0).data(4, cseq=4)
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 2}
    rig.gone().ok(first)

    assert rig.deleted == [first.name] * 2
    assert rig.ordered.state is OrderedState.CREATING


def test_b073_late_frames_of_an_earlier_incarnation_change_nothing():
    rig = pushed().ok()
    old, sid, deliver = rig.ordered.incarnation.name, rig.port.sid, rig.ordered.intake.deliver
    rig.data(11)
    rig.at(10.0).heartbeat(5)
    rig.data(15, cseq=5, sid=sid, consumer=old)
    rig.status(100, "Idle Heartbeat", "Nats-Last-Consumer: 5\r\n", sid=sid, token=deliver)
    rig.feed((sid, deliver, FC + "x", b"NATS/1.0 100 FlowControl Request\r\n\r\n", b""))
    rig.ok()
    rig.status(100, "Idle Heartbeat", "Nats-Last-Consumer: 5\r\n", token=deliver)
    rig.data(12)

    assert rig.take() == [11, 12]
    assert (len(rig.creates), rig.ordered.strays, rig.answers) == (2, 4, [])


def test_b065_silence_is_a_reset():
    rig = pushed().ok()
    rig.data(11)
    rig.take()
    rig.run_to(10.0)

    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 12}
    assert PullNotice.HEARTBEAT_MISSED in rig.notices


def test_heartbeats_keep_it_quiet():
    rig = pushed().ok()
    for second in range(4, 60, 4):
        rig.run_to(float(second))
        rig.heartbeat(0)

    assert len(rig.creates) == 1


def test_a_lost_link_is_a_reset_with_the_next():
    rig = pushed().ok()
    rig.data(1, 2)
    rig.look()
    old = rig.creates[0].name
    rig.down()
    rig.look()
    rig.up()

    assert rig.words() == [
        f"DELETE.S.{old}",
        f"SUB {rig.port.subject}",
        f"CREATE.S.{rig.creates[-1].name}",
    ]
    assert rig.starts[-1] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 3}
    assert rig.creates[-1].config["deliver_subject"].startswith("_INBOX.P.1.2.")
    assert rig.take() == [1, 2]


# ------------------------------------------------------------------ flow control


def test_a_question_is_answered_when_what_was_before_it_is_taken_and_not_earlier():
    rig = pushed().ok()
    rig.data(1, 2)
    rig.question(FC + "a")
    rig.data(3)
    assert rig.ordered.readable == 3
    rig.ordered.take(0.0)
    assert rig.answers == []
    rig.ordered.take(0.0)

    assert rig.answers == [FC + "a"]
    assert rig.take() == [3]
    assert rig.ordered.take(0.0) is NEED_DATA
    assert rig.answers == [FC + "a"]


def test_a_question_that_nothing_is_before_is_answered_at_once():
    rig = pushed().ok()
    rig.question(FC + "a")

    assert rig.answers == [FC + "a"]


def test_a_batch_ends_at_a_question():
    rig = pushed().ok()
    rig.data(1, 2)
    rig.question(FC + "a")
    rig.data(3)
    rig.question(FC + "b")

    assert len(rig.ordered.take_all(0.0)) == 2
    assert rig.answers == [FC + "a"]
    assert len(rig.ordered.take_all(0.0)) == 1
    assert rig.answers == [FC + "a", FC + "b"]


def test_questions_in_a_row_are_answered_in_a_row():
    rig = pushed().ok()
    rig.data(1)
    rig.question(FC + "a")
    rig.question(FC + "b")
    rig.take()

    assert rig.answers == [FC + "a", FC + "b"]


def test_a_heartbeat_that_misses_an_answer_is_a_question_once():
    rig = pushed().ok()
    rig.data(1)
    stalled = f"Nats-Last-Consumer: 1\r\nNats-Consumer-Stalled: {FC}a\r\n"
    rig.status(100, "Idle Heartbeat", stalled)
    rig.status(100, "Idle Heartbeat", stalled)
    rig.take()
    assert rig.answers == [FC + "a"]

    rig.look()
    rig.status(100, "Idle Heartbeat", stalled)
    rig.status(100, "Idle Heartbeat", stalled)
    assert rig.look() == [Ping()]
    rig.ordered.fenced(99, 0.0)
    rig.status(100, "Idle Heartbeat", stalled)
    assert rig.answers == [FC + "a"]
    rig.ordered.fenced(rig.port.fences.popleft(), 0.0)
    rig.status(100, "Idle Heartbeat", stalled)
    assert rig.answers == [FC + "a", FC + "a"]


def test_a_stalled_server_does_not_wait_for_messages():
    rig = pushed(until_caught_up=True).ok(pending=5)
    rig.data(1, pending=4)
    rig.status(100, "Idle Heartbeat", f"Nats-Last-Consumer: 1\r\nNats-Consumer-Stalled: {FC}a\r\n")
    assert not rig.ordered.ended
    rig.heartbeat(1)

    assert rig.ordered.ended


def test_a_server_that_limits_its_rate_shows_nothing_by_waiting():
    rig = pushed(config={"rate_limit_bps": 1000}, until_caught_up=True).ok(pending=5)
    rig.heartbeat(0)

    assert not rig.ordered.ended


def test_a_question_without_a_subject_to_answer_to_is_dropped():
    rig = pushed().ok()
    rig.question("")

    assert (rig.answers, len(rig.creates)) == ([], 1)


def test_questions_die_with_their_incarnation_and_the_messages_behind_them_do_not():
    rig = pushed().ok()
    rig.data(1)
    rig.question(FC + "a")
    rig.data(2)
    rig.question(FC + "b")
    rig.data(3)
    rig.down().up()
    rig.ok()

    assert rig.take() == [1, 2, 3]
    assert rig.answers == []
    assert rig.starts[-1]["opt_start_seq"] == 4


@pytest.mark.parametrize("wish", list(StopMode))
def test_told_to_end_it_hands_out_what_is_behind_questions_too(wish):
    rig = pushed().ok()
    rig.data(1)
    rig.question(FC + "a")
    rig.data(2)
    rig.ordered.told(wish, 0.0)

    assert rig.take() == [1, 2]
    assert rig.ordered.take(0.0) is ENDED
    assert rig.answers == []


def test_the_answers_go_on_after_a_snapshot():
    rig = pushed().ok()
    rig.data(1)
    rig.question(FC + "a")
    rig.data(2)
    rig.look()
    clone(rig)
    assert rig.take() == [1, 2]
    clone(rig)
    rig.data(3)

    assert (rig.answers, rig.take()) == ([FC + "a"], [3])


def test_a_creation_that_is_open_survives_a_snapshot_with_its_deliver_subject():
    rig = pushed()
    clone(rig)
    rig.ok()
    rig.data(1)

    assert rig.take() == [1]


class Odd(View[int]):
    """Every other message."""

    __slots__ = ()

    def see(self, msg):
        number = msg.metadata.stream_sequence
        return (number,) if number % 2 else ()

    def caught_up(self):
        return (0,)


def test_questions_are_answered_through_a_view_and_the_marker_keeps_its_place():
    rig = pushed(view=Odd()).ok(pending=3)
    rig.data(1, pending=2)
    rig.question(FC + "a")
    rig.data(2, 3)
    rig.data(4, pending=9)

    assert rig.take() == [1, 3, 0]
    assert rig.answers == [FC + "a"]
    assert rig.notices[-1] is OrderedNotice.CAUGHT_UP


def test_a_refused_creation_keeps_what_came():
    rig = pushed()
    rig.data(1)
    rig.question(FC + "a")
    rig.data(2)
    rig.error(503, 10008)
    rig.run_to(1.0)

    assert rig.take() == [1, 2]
    assert rig.answers == []
    assert rig.starts[-1]["opt_start_seq"] == 3


def test_a_status_that_nobody_knows_is_a_reset():
    rig = pushed().ok()
    rig.at(5.0).status(477, "Something new")

    assert rig.notices[-2] is PullNotice.UNKNOWN_STATUS
    rig.run_to(6.0)
    assert len(rig.creates) == 2


def test_a_silent_server_is_allowed_under_replay_original():
    rig = pushed(config={"replay_policy": "original"}).ok()
    rig.run_to(100.0)

    assert len(rig.creates) == 1


def test_under_replay_original_silence_counts_from_the_first_heartbeat_on():
    rig = pushed(config={"replay_policy": "original"}).ok()
    rig.data(1)
    rig.take()
    rig.run_to(100.0)
    rig.heartbeat(1)
    rig.run_to(109.0)
    assert len(rig.creates) == 1

    rig.run_to(110.0)
    assert PullNotice.HEARTBEAT_MISSED in rig.notices
    assert rig.starts[-1]["opt_start_seq"] == 2


def test_under_replay_original_a_heartbeat_that_misses_our_answer_promises_no_others():
    rig = pushed(config={"replay_policy": "original"}).ok()
    rig.status(100, "Idle Heartbeat", f"Nats-Last-Consumer: 0\r\nNats-Consumer-Stalled: {FC}a\r\n")
    rig.run_to(5000.0)

    assert (len(rig.creates), rig.answers) == (1, [FC + "a"])


def test_under_replay_original_each_incarnation_may_be_silent_again():
    rig = pushed(config={"replay_policy": "original"}).ok()
    rig.heartbeat(0)
    rig.run_to(10.0)
    rig.gone().ok()
    rig.run_to(5000.0)

    assert len(rig.creates) == 2


def test_under_replay_original_a_heartbeat_before_the_answer_to_the_creation_starts_the_watch():
    rig = pushed(config={"replay_policy": "original"})
    rig.at(1.0).heartbeat(0)
    rig.ok()
    rig.run_to(11.0)

    assert len(rig.creates) == 2


PACED = {"replay_policy": "original"}


def asked(rig: Rig) -> list[str]:
    """The consumers that were asked for, each time."""
    rig.look()
    subjects = [each.subject for each in rig.log if isinstance(each, Publish)]
    return [each.removeprefix(CONSUMER_INFO) for each in subjects if each.startswith(CONSUMER_INFO)]


def told(rig: Rig, answer: dict[str, object]) -> Rig:
    """The server answers the last question for a consumer."""
    rig.look()
    questions = [
        each
        for each in rig.log
        if isinstance(each, Publish) and each.subject.startswith(CONSUMER_INFO)
    ]
    return rig.reply(int(questions[-1].reply.rpartition(".")[2]), answer)


def refusal(code: int, err_code: int) -> dict[str, object]:
    return {"error": {"code": code, "err_code": err_code, "description": "no"}}


def test_in_the_silence_of_a_replay_the_server_is_asked_whether_the_consumer_is_there():
    """Beside a writer that never pauses a replay sends no heartbeat, so a deletion could go
    unnoticed for ever.
    """
    rig = pushed(config=PACED).ok()
    rig.data(1, pending=3)
    rig.take()
    rig.run_to(9.9)
    assert asked(rig) == []
    rig.at(9.9).data(2, pending=3)
    rig.take()
    rig.run_to(19.8)
    assert asked(rig) == []
    rig.run_to(20.0)
    assert asked(rig) == [rig.creates[0].name]

    told(rig, refusal(404, 10014))

    assert rig.starts[-1]["opt_start_seq"] == 3
    assert OrderedNotice.RESET in rig.notices
    assert rig.deleted == []


def test_a_consumer_that_is_there_is_asked_for_again_as_long_as_the_silence_lasts():
    rig = pushed(config=PACED).ok()
    name = rig.creates[0].name
    for turn in (1, 2, 3):
        rig.run_to(10.0 * turn)
        told(rig, {"stream_name": "S", "name": name, "config": {}})

    assert asked(rig) == [name] * 3
    assert len(rig.creates) == 1


@pytest.mark.parametrize("answer", [refusal(503, 10008), {}, {"stream": "ALL", "seq": 1}])
def test_an_answer_that_does_not_say_not_found_changes_nothing(answer):
    rig = pushed(config=PACED).ok()
    rig.run_to(10.0)
    told(rig, answer)
    rig.run_to(100.0)

    assert len(rig.creates) == 1
    assert len(asked(rig)) > 5


def test_a_question_that_is_not_answered_is_asked_again():
    rig = pushed(config=PACED).ok()
    rig.run_to(10.0)
    rig.tick(12.0)
    assert len(asked(rig)) == 1
    rig.run_to(31.0)

    assert len(asked(rig)) == 3
    assert len(rig.creates) == 1


def test_who_may_not_ask_asks_once():
    rig = pushed(config=PACED).ok()
    rig.run_to(10.0)
    subject = CONSUMER_INFO + rig.creates[0].name
    rig.ordered.refused(subject, PermissionViolation("no", subject), rig.now)
    rig.run_to(500.0)

    assert (len(asked(rig)), len(rig.creates)) == (1, 1)


def test_nobody_asks_behind_the_first_heartbeat_and_over_a_new_link_the_new_consumer_is_asked_for():
    rig = pushed(config=PACED).ok()
    rig.heartbeat(0)
    rig.run_to(9.0)
    assert asked(rig) == []
    rig.down().at(10.0).up().gone().ok()
    rig.run_to(20.0)

    assert asked(rig) == [rig.creates[-1].name]
    assert rig.creates[-1].name != rig.creates[0].name


def test_what_is_asked_in_a_replay_is_state_that_can_be_put_back():
    rig = pushed(config=PACED).ok()
    rig.run_to(10.0)
    clone(rig)
    told(rig, refusal(404, 10014))

    assert len(rig.creates) == 2


def test_an_end_while_the_question_is_open_ends_it():
    rig = pushed(config=PACED).ok()
    rig.run_to(10.0)
    rig.ordered.told(StopMode.STOP, 10.0)
    told(rig, refusal(404, 10014))

    assert len(rig.creates) == 1
    assert rig.ordered.ended


def test_closed_while_the_link_is_down_nothing_is_answered():
    rig = pushed().ok()
    rig.data(1)
    rig.question(FC + "a")
    rig.port.up = False
    rig.ordered.link_down(LOST, 0.0)

    assert rig.take() == [1]
    assert rig.answers == []


def test_the_form_decides_flow_control_and_heartbeat():
    with pytest.raises(InvalidConfig, match="flow_control"):
        pushed(config={"flow_control": True})


def test_an_intake_without_a_form_is_none():
    rig = pushed()
    intake = OrderedSource(
        rig.ordered.backlog, rig.ordered.intake.lead, rig.ordered.intake.liveness, paced=False
    )
    calls = (
        lambda: intake.begin("", 0.0),
        lambda: intake.void(None),
        lambda: intake.ask(rig.port, 0.0),
        lambda: intake.knows(()),
    )
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()
    intake.question("", rig.port, 0.0)
    intake.received([])
    intake.taken([])
    intake.fenced(1)
    intake.ticked(0.0)
    assert intake.prepare(rig.port) == ""
    assert intake.heartbeat(b"", rig.port, 0.0)
    assert intake.ended((), None, b"", 0.0)
    assert (intake.behind, intake.deadline) == (0, None)


# ------------------------------------------------------------------------------------------------ the intake alone


def alone() -> tuple[PushSource, Port]:
    intake, port = PushSource(FrameQueue(), ConsumeOptions(idle_heartbeat=5.0)), Port()
    port.subscribe("_INBOX.P.1.1.1")
    intake.prepare(port)
    intake.begin("", 1.0)
    port.commands.clear()
    return intake, port


def frame(number: int):
    return ("2", "s.a", f"$JS.ACK.S.C.1.{number}.{number}.1795811553265218855.0", None, b"x")


def test_each_take_looks_for_questions_only_while_one_waits():
    intake, port = alone()
    levels = [intake.lead.low]
    intake.keep([frame(1)])
    intake.question(FC + "a", port, 1.0)
    levels.append(intake.lead.low)
    intake.backlog.clear()
    intake.ask(port, 1.0)
    levels.append(intake.lead.low)

    assert levels[0] == levels[2] < -(2**40)
    assert levels[1] > 2**40
    assert [command.subject for command in port.commands] == [FC + "a"]


def test_of_an_incarnation_that_is_void_the_messages_stay_and_nothing_else():
    intake, port = alone()
    intake.question(FC + "a", port, 1.0)
    intake.question(FC + "a", port, 1.0)  # a doubt, and a fence
    intake.keep([frame(1)])
    intake.question(FC + "b", port, 1.0)
    intake.keep([frame(2), frame(3)])
    assert (intake.behind, intake.liveness.deadline) == (2, 11.0)
    intake.void(EndReason.RESET)

    assert (intake.subject, intake.deliver, intake.behind, intake.liveness.deadline) == (
        "",
        "",
        0,
        None,
    )
    assert [each[2].split(".")[5] for each in intake.backlog.frames()] == ["1", "2", "3"]
    assert intake.lead.low < 0
    snapshot = intake.snapshot()
    assert (snapshot["_doubt"], snapshot["flow"]["answered"], list(snapshot["flow"]["marks"])) == (
        0,
        "",
        [],
    )


def test_a_heartbeat_says_whether_the_server_waits_for_messages_or_for_us():
    intake, port = alone()

    assert intake.heartbeat(b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", port, 1.0) is True
    assert port.commands == []
    stalled = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: $JS.FC.S.C.a\r\n\r\n"
    assert intake.heartbeat(stalled, port, 1.0) is False
    assert [command.subject for command in port.commands] == [FC + "a"]


def test_a_question_without_a_place_to_answer_is_none():
    intake, port = alone()
    intake.question("", port, 1.0)

    assert (port.commands, len(intake.flow.marks)) == ([], 0)
