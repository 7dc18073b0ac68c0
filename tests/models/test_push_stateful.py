"""A push subscription against a small truth of its server: windows, questions, stalls, heartbeats,
lost links.

The truth sends numbered messages of one byte each and lets at most a window of them go unanswered,
as the server does. What the subscription hands out, answers and tells is compared with what was
sent, after every step.
"""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import ConnectionLost
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.push.base import PushNotice
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import PushState, PushSubscription
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish

API = ApiSubjects()
WINDOW = 6
HEARTBEAT = 1.0
#: What can happen, as often as it shall.
ACTIONS = [
    *("deliver", "feed", "take") * 6,
    *("heartbeat", "wait", "write_down_and_put_back", "link_up") * 2,
    *("lose_the_answers", "lose_a_question", "link_down", "drain"),
]


class Pushed(RuleBasedStateMachine):
    """The truth beside the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.sent = 0  # deliveries of the consumer so far
        self.fed: list[int] = []  # those that reached the machine
        self.seen: list[int] = []  # those that the user took
        self.lost = 0
        self.unanswered = 0  # deliveries since the last answer
        self.question = ""
        self.questions = 0
        self.before: dict[str, int] = {}  # question: deliveries that reached the machine before it
        self.answers: dict[str, int] = {}
        self.excused: set[str] = set()  # questions whose answers were lost, or that had no link
        self.asked: set[str] = set()  # questions that reached the machine
        self.flight: list[
            tuple[str, str, str, bytes | None, bytes] | int
        ] = []  # frames, and PONGs by their tokens
        self.in_hand: list[object] = []
        self.deaf = False  # the server does not get to hear the answers

    @initialize(acks=st.booleans())
    def bind(self, acks: bool) -> None:
        self.acks = acks
        self.sub = PushSubscription(API, Subscribe(stream="S", consumer="C"), PushOptions())
        self.sub.port = Port()
        self.sub.opened(0.0)
        config = {
            "ack_policy": "flow_control" if acks else "none",
            "deliver_subject": "d.x",
            "flow_control": True,
            "idle_heartbeat": int(HEARTBEAT * 1e9),
        }
        body = {"stream_name": "S", "name": "C", "config": config}
        self.sub.replied(1, ("1", "_INBOX.R.1.1", "", None, json.dumps(body).encode()), 0.0)
        self.sub.port.commands.clear()
        self.sub.port.notices.clear()

    @rule(action=st.sampled_from(ACTIONS), count=st.integers(1, 5))
    def act(self, action: str, count: int) -> None:
        """One rule for all: Hypothesis leaves out whole rules in a run, and without deliveries
        there is nothing to see.
        """
        getattr(self, action)(count)

    # ------------------------------------------------------------------ the server

    @property
    def up(self) -> bool:
        return self.sub.port.up

    def live(self) -> bool:
        return self.sub.state is PushState.BOUND

    def deliver(self, count: int) -> None:
        if not (self.up and self.live()):
            return
        for _ in range(count):
            if self.unanswered >= WINDOW:
                return
            self.sent += 1
            self.unanswered += 1
            reply = f"$JS.ACK.S.C.1.{self.sent}.{self.sent}.1.0"
            self.flight.append((self.sub.port.sid, "s.a", reply, None, b"x"))
            if self.unanswered > WINDOW // 2 and not self.question:
                self.questions += 1
                self.question = f"$JS.FC.{self.questions}"
                self._control("100 FlowControl Request", self.question)

    def heartbeat(self, count: int = 1) -> None:
        """Nothing goes until the heartbeat is due, and some are lost."""
        if not (self.up and self.live()):
            return
        self.feed_all()
        self.now += HEARTBEAT
        stalled = f"Nats-Consumer-Stalled: {self.question}\r\n" if self.question else ""
        headers = f"Nats-Last-Consumer: {self.sent}\r\nNats-Last-Stream: {self.sent}\r\n{stalled}"
        if count < 5:
            self._control("100 Idle Heartbeat", "", headers)

    def _control(self, text: str, reply: str, headers: str = "") -> None:
        block = f"NATS/1.0 {text}\r\n{headers}\r\n".encode()
        self.flight.append((self.sub.port.sid, "d.x", reply, block, b""))

    def lose_the_answers(self, count: int) -> None:
        self.deaf = count > 3

    def lose_a_question(self, count: int) -> None:
        """The next frame, if it is a question, gets lost inside the server."""
        if (
            self.flight
            and isinstance(self.flight[0], tuple)
            and self.flight[0][2].startswith("$JS.FC.")
        ):
            self.excused.add(self.flight.pop(0)[2])

    def feed(self, count: int) -> None:
        run: list[tuple[str, str, str, bytes | None, bytes]] = []
        while self.flight and isinstance(self.flight[0], tuple) and len(run) < count:
            run.append(self.flight.pop(0))
        for frame in run:
            number = self._number(frame)
            if number:
                self.fed.append(number)
            else:
                self._met(frame)
        if run:
            self.sub.delivered(run, self.now)
            self.hear()
        if self.flight and isinstance(self.flight[0], int):
            self.sub.port.fences.popleft()
            self.sub.fenced(self.flight.pop(0), self.now)
            self.hear()

    def _met(self, frame) -> None:
        block = frame[3].decode()
        stalled = block.partition("Nats-Consumer-Stalled: ")[2].split("\r\n")[0]
        for subject in filter(None, (frame[2], stalled)):
            self.asked.add(subject)
            self.before.setdefault(subject, len(self.fed))

    @staticmethod
    def _number(frame) -> int:
        return (
            int(frame[2].split(".")[6])
            if isinstance(frame, tuple) and frame[2].startswith("$JS.ACK")
            else 0
        )

    def feed_all(self) -> None:
        while self.flight:
            self.feed(8)

    # ------------------------------------------------------------------ the user

    def take(self, count: int) -> None:
        everything = count == 5
        took = self.sub.take_all(self.now) if everything else self.sub.take(self.now)
        self.in_hand = []
        if took is not ENDED and took is not NEED_DATA:
            self.in_hand = took if everything else [took]
            self.seen += [message.metadata.consumer_sequence for message in self.in_hand]
        self.hear()

    def drain(self, count: int) -> None:
        if self.live() and self.sent > 20 and count == 5:
            self.sub.told(StopMode.DRAIN, self.now)
        self.hear()

    # ------------------------------------------------------------------ the road

    def link_down(self, count: int) -> None:
        if not self.up or count < 3:
            return
        self.lost += sum(1 for frame in self.flight if self._number(frame))
        self.flight.clear()
        self.sub.port.up = False
        self.sub.port.fences.clear()
        self.sub.link_down(ConnectionLost("lost"), self.now)
        self.hear()

    def link_up(self, count: int = 1) -> None:
        if self.up:
            return
        self.sub.port.up = True
        self.sub.link_up(self.now)
        self.hear()

    def wait(self, count: int) -> None:
        self.now += count * 0.18
        self.sub.ticked(self.now)
        self.hear()

    def write_down_and_put_back(self, count: int) -> None:
        twin = PushSubscription(API, self.sub.asked, self.sub.options)
        twin.port = Port()
        twin.restore(self.sub.snapshot())
        assert twin.snapshot() == self.sub.snapshot()
        self.sub = twin

    def hear(self) -> None:
        """What the machine said."""
        commands, self.sub.port.commands = self.sub.port.commands, []
        for command in commands:
            if isinstance(command, Publish) and command.subject.startswith("$JS.FC."):
                subject = command.subject
                # INV 42: never before everything in front of it was taken (or, where it
                # acknowledges, was done with).
                held = len(self.in_hand) if self.acks else 0
                assert self.before[subject] <= len(self.seen) - held
                self.answers[subject] = self.answers.get(subject, 0) + 1
                if self.acks and command.headers is not None:
                    last = int(command.headers["Nats-Last-Consumer"])
                    assert last not in [each.metadata.consumer_sequence for each in self.in_hand]
                if self.deaf:
                    self.excused.add(subject)
                elif subject == self.question:
                    self.question = ""
                    self.unanswered = 0
            elif isinstance(command, Ping):
                fenced = sum(isinstance(each, int) for each in self.flight)
                self.flight.append(self.sub.port.fences[fenced])
        if not self.up:
            self.excused.update(self.asked)

    # ------------------------------------------------------------------ what must always hold

    @invariant()
    def everything_once_and_in_order(self) -> None:
        assert self.seen == self.fed[: len(self.seen)]
        assert self.sub.readable == len(self.fed) - len(self.seen)

    @invariant()
    def every_question_is_answered_in_the_first_step_in_which_it_may_be(self) -> None:
        if not hasattr(self, "sub") or self.sub.ended:
            return
        for subject in self.asked - self.excused:
            may = self.before[subject] <= len(self.seen) and not (self.acks and self.in_hand)
            assert self.answers.get(subject, 0) == (1 if may or self.answers.get(subject) else 0)

    @invariant()
    def gaps_are_what_was_lost(self) -> None:
        if hasattr(self, "sub") and not self.flight and self.up and self.live():
            gaps = [d for kind, d in self.sub.port.notices if kind is PushNotice.GAP]
            assert sum(gap.missing for gap in gaps) <= self.lost

    @invariant()
    def the_server_is_never_stalled_for_good(self) -> None:
        """INV 14 for a push: a window that is full has a question, which waits, is on its way, or
        was lost and will be repeated.
        """
        if hasattr(self, "sub"):
            assert self.unanswered <= WINDOW
            assert self.unanswered <= WINDOW // 2 or self.question

    def teardown(self) -> None:
        """Whatever happened, a reader that goes on reading gets everything that the server still
        has to say.
        """
        if not hasattr(self, "sub") or not self.live():
            return
        if not self.up:
            self.link_up()
        self.deaf = False
        goal = self.sent + 3 * WINDOW
        for _ in range(200):
            self.heartbeat()
            self.feed_all()
            while self.sub.take_all(self.now) is not NEED_DATA:
                pass
            self.seen, self.fed = [], []
            self.before = dict.fromkeys(self.before, 0)
            self.in_hand = []
            self.hear()
            if self.sent >= goal:
                return
            self.deliver(5)
        raise AssertionError(f"expected deliveries up to {goal}, stalled at {self.sent}")


TestPushed = Pushed.TestCase
TestPushed.settings = settings(max_examples=50, stateful_step_count=60, deadline=None)
