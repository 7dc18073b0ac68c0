"""The pulls of an ordered consumer alone: a bare port, messages and statuses in, requests out."""

from __future__ import annotations

import json
from random import Random

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.pubsub.frame_queue import FrameQueue
from jsproto.jetstream.ordered.pull_source import PullSource
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.request import message_size
from jsproto.jetstream.status import EndReason, StatusContext, judge
from jsproto.wire.commands import Publish

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
EXPIRED, PENDING, NONE = (408, "Request Timeout"), (408, "Requests Pending"), (404, "No Messages")
TOO_LARGE = (409, "Message Size Exceeds MaxBytes")


class Asker:
    """Pulls, their port, and what they asked."""

    def __init__(self, *, paced: bool = False, **options: object) -> None:
        self.pulls = PullSource(
            FrameQueue(), ConsumeOptions(**{"idle_heartbeat": 5.0, **options}), paced=paced
        )
        self.port = Port()
        self.port.subscribe()
        self.port.commands.clear()
        self.pulls.begin(NEXT, 0.0)

    def ask(self, now: float = 0.0) -> Asker:
        self.pulls.ask(self.port, now)
        return self

    @property
    def asked(self) -> list[dict[str, int]]:
        return [json.loads(each.payload) for each in self.port.commands]

    @property
    def tokens(self) -> list[str]:
        return list(self.pulls.engine.ledger.open)

    def received(self, count: int) -> list[tuple[object, ...]]:
        came = frames(count)
        self.pulls.received(came)
        return came

    def ended(
        self, status: tuple[int, str], now: float, token: str = "", headers: str = ""
    ) -> bool:
        block = f"NATS/1.0 {status[0]} {status[1]}\r\n{headers}\r\n".encode()
        frame = (self.port.sid, token or self.tokens[0], "", block, b"")
        return self.pulls.ended(frame, judge(*status, StatusContext.PULL), block, now)


def frames(count: int):
    """Messages of one size."""
    numbers = range(101, 101 + count)
    return [
        ("2", "s.a", f"$JS.ACK.S.C.1.{n}.{n}.1795811553265218855.0", None, b"x") for n in numbers
    ]


SIZE = message_size(frames(1)[0])


# ------------------------------------------------------------------ asking


def test_a_request_has_a_token_below_the_inbox_and_statuses_name_it():
    asker = Asker(max_messages=4).ask()
    (request,) = asker.port.commands

    assert isinstance(request, Publish)
    assert (request.subject, request.reply) == (NEXT, "_INBOX.P.1.1.1")
    assert asker.tokens == ["_INBOX.P.1.1.1"]
    assert asker.pulls.knows(("2", "_INBOX.P.1.1.1", "", b"", b""))
    assert not asker.pulls.knows(("2", "_INBOX.P.1.1.2", "", b"", b""))


def test_messages_come_only_when_they_are_asked_for():
    assert (PullSource.place, PullSource.early) == (StatusContext.PULL, False)
    assert Asker().pulls.prepare(Port()) == ""


@pytest.mark.parametrize(
    ("expires", "over"), [(5.0, 6.0), (10.0, 11.0), (30.0, 33.0), (100.0, 105.0)]
)
def test_a_pull_is_over_a_tenth_behind_its_expiry_but_not_less_than_a_second_or_more_than_five(
    expires, over
):
    asker = Asker(expires=expires, idle_heartbeat=1.0).ask(2.0)

    assert asker.pulls.deadline == 2.0 + over


def test_nobody_is_asked_before_an_incarnation_is_there():
    asker = Asker()
    asker.pulls.void(EndReason.RESET)

    assert asker.ask().asked == []


def test_what_was_received_and_not_taken_is_not_asked_for_again():
    asker = Asker(max_messages=10).ask()
    came = asker.received(4)
    asker.pulls.taken(came[:3])
    asker.ended(EXPIRED, 30.0)
    asker.ask(30.0)

    assert [each["batch"] for each in asker.asked] == [10, 9]


def test_an_incarnation_that_is_lost_owes_nothing_and_has_no_deadline():
    asker = Asker(max_messages=10).ask()
    asker.received(4)
    asker.ended(NONE, 0.0)
    asker.ask()
    asker.pulls.ask(asker.port, 0.25)
    asker.received(1)
    asker.pulls.void(EndReason.DISCONNECTED)

    assert (asker.pulls.subject, asker.tokens, asker.pulls.deadline) == ("", [], None)
    assert asker.pulls.engine.ledger.counts == {EndReason.NO_MESSAGES: 1, EndReason.DISCONNECTED: 1}
    assert (asker.pulls.lead.asked, asker.pulls.lead.buffered) == (0, 5)
    assert asker.pulls.liveness.deadline is None


def test_a_delay_is_of_the_incarnation_that_cost_it():
    asker = Asker().ask()
    asker.ended(NONE, 0.0)
    asker.ask()
    assert (len(asker.asked), asker.pulls.deadline) == (1, 0.25)

    asker.pulls.void(EndReason.RESET)
    assert asker.pulls.deadline is None
    asker.pulls.begin(NEXT, 0.0)
    assert len(asker.ask().asked) == 2


def test_what_is_kept_is_at_hand_behind_what_was_there():
    asker = Asker()
    came = frames(3)
    asker.pulls.keep(came[:1])
    asker.pulls.keep(came[1:])

    assert asker.pulls.backlog.frames() == came


def test_a_new_incarnation_is_asked_for_a_part_although_the_last_was_to_be_asked_for_all():
    asker = Asker(max_bytes=4 * SIZE).ask()
    came = asker.received(2)
    asker.ended(EXPIRED, 30.0)
    asker.pulls.taken(came[:1])
    asker.ask(30.0)
    asker.ended(TOO_LARGE, 30.0)
    asker.ask(60.0)
    assert len(asker.asked) == 2

    asker.pulls.void(EndReason.RESET)
    asker.pulls.begin(NEXT, 60.0)
    asker.ask(60.0)
    assert [each["max_bytes"] for each in asker.asked] == [4 * SIZE, 3 * SIZE, 3 * SIZE]


# ------------------------------------------------------------------ delays


def delays(asker: Asker, count: int, now: float = 0.0) -> list[float]:
    """How long each of so many pulls in a row that end at once keeps the next waiting."""
    waits = []
    for _ in range(count):
        asker.ask(now)
        asker.ended(NONE, now)
        asker.ask(now)
        waits.append(asker.pulls.deadline - now)
        now = asker.pulls.deadline
        asker.pulls.ticked(now)
        assert asker.pulls.deadline is None
    return waits


def test_pulls_that_bring_nothing_are_asked_again_later_and_later():
    assert delays(Asker(), 7) == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def test_where_nothing_is_to_be_asked_nothing_is_waited_for():
    asker = Asker(max_messages=4).ask()
    asker.received(3)
    asker.ended(NONE, 0.0)
    asker.ask()

    assert (len(asker.asked), asker.pulls.deadline) == (1, None)


def test_a_heartbeat_shows_that_pulls_are_taken_and_the_next_delay_is_short():
    asker = Asker()
    delays(asker, 3)
    asker.ask(2.0).pulls.heartbeat(b"", asker.port, 2.0)
    asker.ended(NONE, 2.0)
    asker.ask(2.0)

    assert asker.pulls.deadline == 2.25


def test_a_message_shows_that_pulls_are_taken_and_the_next_delay_is_short():
    asker = Asker(max_messages=4)
    delays(asker, 3)
    asker.ask(2.0).pulls.taken(asker.received(1))
    asker.ended(NONE, 2.0)

    assert delays(asker, 1, 2.0) == [0.25]


def test_a_pull_waits_after_a_heartbeat_as_before():
    asker = Asker().ask()

    assert asker.pulls.heartbeat(b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", asker.port, 1.0) is True
    assert len(asker.tokens) == 1


def test_a_pull_that_brought_something_costs_no_delay():
    asker = Asker(max_messages=4).ask()
    asker.pulls.taken(asker.received(1))

    assert asker.ended(NONE, 0.0) is True
    assert len(asker.ask().asked) == 2


def test_a_pull_that_brought_nothing_until_its_time_was_up_costs_no_delay():
    asker = Asker().ask()

    assert asker.ended(EXPIRED, 30.0) is True
    assert len(asker.ask(30.0).asked) == 2


# ------------------------------------------------------------------ accounts


def owes(asker: Asker) -> list[int]:
    return [pull.owed for pull in asker.pulls.engine.ledger.open.values()]


def two(**options: object) -> Asker:
    """Two open pulls: of 10 messages asked for 6 came and were taken, and so many were asked for
    again.
    """
    asker = Asker(max_messages=10, **options).ask()
    asker.pulls.taken(asker.received(6))
    asker.ask(1.0)
    assert owes(asker) == [4, 6]
    return asker


def test_a_status_ends_its_pull_and_what_that_owed_is_asked_for_again():
    asker = two()
    asker.ended(EXPIRED, 30.0)
    assert (owes(asker), asker.pulls.lead.level) == ([6], 6)
    assert asker.pulls.engine.ledger.counts == {EndReason.EXPIRED: 1}
    assert asker.pulls.liveness.deadline is not None

    asker.ended(EXPIRED, 31.0)
    assert (owes(asker), asker.pulls.lead.level) == ([], 0)
    assert asker.pulls.liveness.deadline is None


@pytest.mark.parametrize(
    ("status", "headers"),
    [(PENDING, ""), (EXPIRED, "Nats-Pending-Messages: 10\r\nNats-Pending-Bytes: 0\r\n")],
)
def test_a_status_that_says_that_its_pull_got_nothing_shifts_what_was_credited_to_it(
    status, headers
):
    asker = two()
    asker.ended(status, 1.0, headers=headers)

    assert owes(asker) == []
    assert (asker.pulls.lead.level, asker.pulls.lead.asked) == (0, 0)


def test_a_pull_that_is_overdue_is_told_and_whoever_hears_it_ends_them_all():
    asker = two()

    assert [asker.pulls.ticked(now) for now in (32.9, 33.0)] == [False, True]
    assert owes(asker) == [4, 6]
    asker.pulls.void(EndReason.RESET)
    assert (owes(asker), asker.pulls.lead.asked, asker.pulls.deadline) == ([], 0, None)


def test_where_messages_are_bounded_a_message_counts_for_one_and_its_bytes_for_nothing():
    by_messages, by_bytes = Asker(max_messages=10), Asker(max_bytes=1000)

    assert (by_messages.pulls.by_messages, by_bytes.pulls.by_messages) == (True, False)
    assert by_messages.pulls.engine.size(frames(3)) == 0
    assert by_bytes.pulls.engine.size(frames(3)) == 3 * SIZE


def test_a_pull_whose_bytes_have_come_is_over():
    asker = Asker(max_bytes=3 * SIZE).ask()
    asker.received(2)
    assert len(asker.tokens) == 1
    asker.received(1)

    assert asker.tokens == []
    assert asker.pulls.engine.ledger.counts == {EndReason.BYTES_SPENT: 1}
    assert (asker.pulls.lead.asked, asker.pulls.lead.buffered) == (0, 3 * SIZE)


def test_bytes_that_a_full_pull_leaves_over_are_asked_for_again():
    asker = Asker(max_messages=2, within_bytes=10 * SIZE, threshold_bytes=9 * SIZE).ask()
    asker.pulls.taken(asker.received(1))
    asker.ask(1.0)
    assert asker.asked[1]["batch"] == 1
    assert asker.asked[1]["max_bytes"] == SIZE
    asker.received(1)

    assert asker.tokens == ["_INBOX.P.1.1.2"]
    assert asker.pulls.lead.asked == SIZE


def test_a_message_that_a_part_of_the_bytes_does_not_hold_is_asked_for_with_all_of_them():
    asker = Asker(max_bytes=4 * SIZE).ask()
    came = asker.received(2)
    asker.ended(EXPIRED, 30.0)
    asker.pulls.taken(came[:1])
    asker.ask(31.0)
    assert asker.asked[-1]["max_bytes"] == 3 * SIZE

    assert asker.ended(TOO_LARGE, 31.0) is True
    asker.ask(40.0)
    assert len(asker.asked) == 2
    asker.pulls.taken(came[1:])
    asker.ask(40.0)
    assert asker.asked[-1]["max_bytes"] == 4 * SIZE


def test_a_message_that_all_of_the_bytes_do_not_hold_is_said_and_asked_for_later():
    asker = Asker(max_bytes=4 * SIZE).ask()

    assert asker.ended(TOO_LARGE, 0.0) is False
    asker.ask()
    assert (len(asker.asked), asker.pulls.deadline) == (1, 0.25)


# ------------------------------------------------------------------ silence


def test_a_pull_that_is_filled_promises_no_heartbeats():
    asker = Asker(max_messages=2).ask()
    asker.received(1)
    assert asker.pulls.liveness.deadline == 10.0
    asker.received(1)

    assert (asker.tokens, asker.pulls.liveness.deadline) == ([], None)


def test_heartbeats_are_watched_from_each_request_on_unless_the_server_keeps_the_pace():
    asker, paced = Asker(), Asker(paced=True)
    assert asker.pulls.liveness.deadline is None

    assert asker.ask(3.0).pulls.liveness.deadline == 13.0
    assert paced.ask(3.0).pulls.liveness.deadline is None


# ------------------------------------------------------------------ a line that is stuck


class Stuck:
    """A server without heartbeats that serves pulls in turn, behind a line on which nothing moves
    for some time, both ways.

    Attributes:
        open: its pulls: token, messages owed, when it ends.
        resets: how often a pull was overdue, and with the next incarnation another inbox.
    """

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.bound = self.draw.choice([2, 4, 7])
        self.asker = Asker(max_messages=self.bound, expires=4.0, idle_heartbeat=1.0).ask()
        self.now = 0.0
        self.resets = 0
        self.open: list[list] = []
        self.there: list[Publish] = []
        self.back: list[tuple[str, int]] = []

    def step(self, *, stuck: bool) -> None:
        """Some time passes; what is on the line arrives, unless it is stuck."""
        pulls = self.asker.pulls
        self.now += self.draw.choice([0.1, 0.3, 1.0])
        self.there += self.asker.port.commands
        self.asker.port.commands.clear()
        if not stuck:
            self.open += [
                [each.reply, json.loads(each.payload)["batch"], self.now + 4.0]
                for each in self.there
            ]
            self.there.clear()
        self.back += [(token, owed) for token, owed, end in self.open if end <= self.now]
        self.open = [each for each in self.open if each[2] > self.now]
        for _ in range(self.draw.choice([0, 0, 1, 2, 5])):
            if self.open:
                self.back.append(("", 1))
                self.open[0][1] -= 1
                self.open = [each for each in self.open if each[1]]
        if not stuck:
            for token, owed in self.back:
                if not token:
                    pulls.taken(self.asker.received(1))
                elif pulls.knows((self.asker.port.sid, token, "", b"", b"")):
                    pending = f"Nats-Pending-Messages: {owed}\r\nNats-Pending-Bytes: 0\r\n"
                    self.asker.ended(EXPIRED, self.now, token, pending)
            self.back.clear()
        if pulls.ticked(self.now):
            self.resets += 1
            pulls.void(EndReason.RESET)
            for line in (self.open, self.there, self.back):
                line.clear()  # of a consumer that is gone, for an inbox that nobody has
            pulls.begin(NEXT, self.now)
        self.asker.ask(self.now)


def test_pulls_that_are_overdue_behind_a_stuck_line_never_wait_in_vain():
    resets = 0
    for seed in range(60):
        world = Stuck(seed)
        stuck = False
        for _ in range(250):
            stuck = world.draw.random() < (0.94 if stuck else 0.15)
            world.step(stuck=stuck)
        for _ in range(150):
            world.step(stuck=False)
            sent = [json.loads(each.payload)["batch"] for each in world.asker.port.commands]
            assert world.open or sent or not world.asker.tokens
        resets += world.resets

        assert (
            sum(each[1] for each in world.open) + sum(sent)
            == world.asker.pulls.lead.asked
            <= world.bound
        )
    assert resets > 500
