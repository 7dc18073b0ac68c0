"""Recordings of real push consumers, 2.9 to 2.15, through a push subscription: what it hands out,
answers and tells.

A recording's client listened on ``push.x`` and the consumer was made beside it; here the
subscription binds to that consumer with the configuration that was asked for, and hears the frames
of that client's sids at the recorded times.
"""

from __future__ import annotations

import json

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.message import Message
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.ack import AckState
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.push.base import PushNotice, PushProgress
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe, ensure
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.signals import ENDED, NEED_DATA
from jsproto.trace.formats.recording import Happened, Received, Recording, parse_recording
from jsproto.wire.commands import Ping, Publish
from jsproto.wire.parser import Parser
from tests.recordings import folder

API = ApiSubjects()
DELIVER = "push.x"


VERSIONS = sorted(path.name for path in folder().glob("*") if path.is_dir())


@pytest.fixture(params=VERSIONS or [pytest.param("", marks=pytest.mark.skip("set JSPROTO_TRACES"))])
def recording(request):
    """``recording(name)`` of one server version; skips where that version has none."""

    def of(name: str) -> Recording:
        path = folder() / request.param / f"{name}.jsonl"
        if not path.is_file():
            pytest.skip(f"{request.param} has no {name}")
        return parse_recording(path.read_bytes())

    return of


class Play:
    """One recording, heard by one subscription.

    Args:
        one: the recording.
        sid: the sid of the recorded client.
        eager: whether the reader takes everything at once, or nothing before the end.
        single: whether frames come one by one, or as they were received.
        copied: whether the subscription is written down and put back after every step.
        config: what to change in the consumer's configuration.
    """

    def __init__(self, one: Recording, *, sid: str = "2", eager: bool = True, single: bool = False, copied: bool = False, **config: object):  # fmt: skip
        self.messages: list[JsMessage] = []
        self.answers: list[tuple[str, dict[str, str]]] = []
        self.told: list[tuple[object, float]] = []
        self.copied = copied
        parser = Parser(any_sid=True)
        self.sub = self._fresh()
        for record in one.records:
            self._until(record.at)
            if isinstance(record, Happened) and str(record.detail.get("subject", "")).startswith(
                "CONSUMER.DURABLE"
            ):
                self._bind({**record.detail["request"]["config"], **config}, record.at)
            elif isinstance(record, Received):
                frames = [
                    f for f in parser.feed(record.data) if isinstance(f, tuple) and f[0] == sid
                ]
                run = [(self.sub.port.sid, *frame[1:]) for frame in frames]
                for part in [[frame] for frame in run] if single else [run] if run else []:
                    self.sub.delivered(part, record.at)
                    self._step(record.at)
                    if eager:
                        self.take(record.at)
        self.now = one.records[-1].at

    @staticmethod
    def _fresh() -> PushSubscription[JsMessage]:
        sub: PushSubscription[JsMessage] = PushSubscription(
            API, Subscribe(stream="S", consumer="C")
        )
        sub.port = Port()
        return sub

    def _bind(self, config: dict[str, object], now: float) -> None:
        group = str(config.get("deliver_group", ""))
        self.sub = PushSubscription(
            API, Subscribe(stream="S", consumer="C", queue=group), PushOptions()
        )
        self.sub.port = Port()
        self.sub.opened(now)
        body = {"stream_name": "S", "name": "C", "config": config}
        self.sub.replied(1, ("1", "_INBOX.R.1.1", "", None, json.dumps(body).encode()), now)
        self.sub.port.commands.clear()
        self.sub.port.notices.clear()

    def _until(self, now: float) -> None:
        while (deadline := self.sub.deadline) is not None and deadline <= now:
            self.sub.ticked(deadline)
            self._step(deadline)

    def take(self, now: float | None = None) -> None:
        """Take one by one until nothing is there."""
        at = self.now if now is None else now
        while (item := self.sub.take(at)) is not NEED_DATA and item is not ENDED:
            self.messages.append(item)
            self._step(at)

    def _step(self, now: float) -> None:
        for command in self.sub.port.commands:
            if command == Ping():
                continue  # a doubt about an answer; the recorded server never heard the question
            assert isinstance(command, Publish)
            self.answers.append((command.subject, dict((command.headers or {}).items())))
        self.sub.port.commands.clear()
        self.told += [(kind, now) for kind, _ in self.sub.port.notices]
        self.sub.port.notices.clear()
        if self.copied:
            twin: PushSubscription[JsMessage] = PushSubscription(
                API, self.sub.asked, self.sub.options
            )
            twin.port = Port()
            twin.restore(self.sub.snapshot())
            self.sub = twin

    @property
    def numbers(self) -> list[int]:
        return [message.metadata.consumer_sequence for message in self.messages]


def test_heartbeats_say_how_far_the_server_is_and_are_seen_by_nobody(recording):
    play = Play(recording("push_basic_heartbeat"))

    assert play.numbers == [1, 2, 3, 4]
    assert {message.subject for message in play.messages} == {"s.a"}
    assert play.sub.position == PushProgress(4, 4)
    assert (play.told, play.answers) == ([], [])


def test_heartbeats_of_a_filtered_consumer_move_the_stream_sequence_and_are_no_gap(recording):
    play = Play(recording("push_heartbeat_filtered"))

    assert play.numbers == [1]
    assert play.sub.position == PushProgress(1, 4)
    assert play.told == []


def test_nobody_says_that_the_consumer_was_deleted_but_three_heartbeats_later_there_is_the_alarm(
    recording,
):
    play = Play(recording("push_consumer_deleted"))

    ((kind, at),) = play.told
    assert kind is PushNotice.HEARTBEAT_MISSED
    assert 2.0 <= at <= 2.1


def test_members_of_a_group_share_the_messages_and_see_no_gaps(recording):
    plays = [Play(recording("push_deliver_group"), sid=sid) for sid in ("2", "3")]

    assert sorted(plays[0].numbers + plays[1].numbers) == [1, 2, 3, 4, 5, 6]
    assert [play.told for play in plays] == [[], []]


def test_a_name_in_use_is_looked_up_as_a_lost_race(recording):
    one = recording("push_duplicate_bind")
    frames = [
        f for f in Parser(any_sid=True).feed(b"".join(one.received("a"))) if isinstance(f, tuple)
    ]
    asked = Subscribe(stream="S", settings=ConsumerConfig(durable_name="C"))
    steps = ensure(API, asked, "S", "push.y")
    next(steps)

    assert steps.send(Message(frames[0])).subject == "$JS.API.CONSUMER.INFO.S.C"


def test_stream_sequences_that_jump_are_no_gap_and_ack_none_is_mute(recording):
    play = Play(recording("push_last_per_subject"))

    assert play.numbers == [1, 2, 3]
    assert [message.metadata.stream_sequence for message in play.messages] == [3, 4, 5]
    assert [message.metadata.num_pending for message in play.messages] == [2, 1, 0]
    assert {message.state for message in play.messages} == {AckState.MUTE}
    assert play.told == []


def test_a_consumer_without_heartbeats_may_take_its_time(recording):
    play = Play(recording("push_rate_limit"))

    assert play.numbers == [1, 2, 3, 4, 5, 6]
    assert play.told == []


def test_replay_original_is_quiet_even_where_heartbeats_were_promised(recording):
    one = recording("push_replay_original")

    assert Play(one, idle_heartbeat=50_000_000).told == []
    assert Play(one, idle_heartbeat=50_000_000, replay_policy="instant").told != []
    assert Play(one).numbers == [1, 2, 3, 4]


def asked_in(one: Recording) -> list[str]:
    return [
        str(status.headers.get("Nats-Consumer-Stalled", "")) for status in one.observed.statuses
    ]


def test_a_reader_that_keeps_up_answers_each_question_as_it_comes(recording):
    one = recording("push_flow_control_stalled")
    play = Play(one)
    questions = list(dict.fromkeys(filter(None, asked_in(one))))

    assert play.numbers == list(range(1, 61))
    # The recorded client did not answer, so heartbeats insist; without proof that ours were lost
    # nothing is said twice.
    assert [subject for subject, _ in play.answers] == questions
    assert play.told == []


def test_a_reader_that_takes_nothing_answers_nothing_and_each_question_once_when_it_gets_there(
    recording,
):
    one = recording("push_flow_control_stalled")
    play = Play(one, eager=False)
    assert play.answers == []
    play.take()

    assert play.numbers == list(range(1, 61))
    assert [subject for subject, _ in play.answers] == list(
        dict.fromkeys(filter(None, asked_in(one)))
    )


def test_where_the_answer_acknowledges_it_says_what_the_recorded_client_said(recording):
    play = Play(recording("push_ack_flow_control"))

    assert [headers for _, headers in play.answers] == [
        {"Nats-Last-Consumer": "3", "Nats-Last-Stream": "3"},
        {"Nats-Last-Consumer": "5", "Nats-Last-Stream": "5"},
    ]
    assert {message.state for message in play.messages} == {AckState.MUTE}


@pytest.mark.parametrize(
    "name",
    ["push_basic_heartbeat", "push_heartbeat_filtered", "push_consumer_deleted", "push_deliver_group",
     "push_last_per_subject", "push_rate_limit", "push_replay_original", "push_flow_control_stalled", "push_ack_flow_control"],
)  # fmt: skip
@pytest.mark.parametrize("eager", [True, False])
def test_frames_one_by_one_and_copies_after_every_step_change_nothing(recording, name, eager):
    one = recording(name)
    plays = [Play(one, eager=eager), Play(one, eager=eager, single=True, copied=True)]
    for play in plays:
        play.take()
    first, second = (
        (p.numbers, p.answers, p.told, p.sub.position, p.sub.dropped, p.sub.strays) for p in plays
    )

    assert first == second
