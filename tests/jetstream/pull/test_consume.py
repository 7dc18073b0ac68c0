from __future__ import annotations

import json
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
)
from jsproto.jetstream import errors
from jsproto.jetstream.api import errors as api_errors
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.gaps import Gap
from jsproto.jetstream.pull.consume import (
    TRANSITIONS,
    Consume,
    ConsumeInput,
    ConsumeOptions,
    ConsumeState,
    OnDeleted,
)
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Ping, Publish, Sub, Unsub

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
INFO = "$JS.API.CONSUMER.INFO.S.C"
LOST = ConnectionLost("the link was lost")


class Rig:
    """A consume on a bare port, its user, and the server's side of the conversation."""

    def __init__(self, up: bool = True, opened: bool = True, **options: object) -> None:
        self.now = 0.0
        self.sequence = 0
        self.consume: Consume[JsMessage] = Consume(NEXT, ConsumeOptions(**options))
        if opened:
            self.consume.port = Port(up=up)
            self.consume.opened(self.now)

    # what it says

    @property
    def port(self) -> Port:
        return self.consume.port

    def said(self) -> list[object]:
        commands = list(self.port.commands)
        self.port.commands.clear()
        return commands

    def pulls(self) -> list[dict[str, object]]:
        """Requests since the last look."""
        return [json.loads(each.payload) for each in self.published()]

    def published(self) -> list[Publish]:
        return [each for each in self.said() if isinstance(each, Publish) and each.subject == NEXT]

    def notices(self) -> list[PullNotice]:
        kinds = [kind for kind, _ in self.port.notices]
        self.port.notices.clear()
        return kinds

    @property
    def token(self) -> str:
        """The newest open pull."""
        return list(self.consume.ledger.open)[-1]

    # what happens to it

    def at(self, now: float) -> Rig:
        self.now = now
        return self

    def data(
        self, count: int = 1, *, sid: str = "", size: int = 0, block: bytes | None = None
    ) -> None:
        frames = []
        for _ in range(count):
            self.sequence += 1
            reply = f"$JS.ACK.S.C.1.{self.sequence}.{self.sequence}.1795811553265218855.0"
            frame = (sid or self.port.sid, "s.a", reply, block, b"")
            if size:
                frame = (*frame[:4], b"x" * (size - len(reply) - 3))
            frames.append(frame)
        self.consume.delivered(frames, self.now)

    def frame(self, code: int, text: str = "", headers: str = "", token: str = "", sid: str = ""):
        block = f"NATS/1.0 {code} {text}".rstrip() + f"\r\n{headers}\r\n"
        return (sid or self.port.sid, token or self.token, "", block.encode(), b"")

    def status(
        self, code: int, text: str = "", headers: str = "", token: str = "", sid: str = ""
    ) -> None:
        self.consume.delivered([self.frame(code, text, headers, token, sid)], self.now)

    def heartbeat(self, token: str = "") -> None:
        self.status(
            100, "Idle Heartbeat", "Nats-Last-Consumer: 0\r\nNats-Last-Stream: 0\r\n", token
        )

    def tick(self, now: float | None = None) -> None:
        self.now = self.now if now is None else now
        self.consume.ticked(self.now)

    def run_to(self, end: float, answer=None) -> int:
        """Let time pass by its own deadlines; each pull is answered at once. Gives the number of
        pulls.
        """
        count = 0
        while True:
            for publish in self.published():
                count += 1
                if answer is not None:
                    answer(publish.reply)
            deadline = self.consume.deadline
            if deadline is None or deadline > end:
                self.now = end
                return count
            assert deadline >= self.now
            self.tick(deadline)

    def take(self, count: int = 1) -> list[int]:
        items = [self.consume.take(self.now) for _ in range(count)]
        return [int(item.reply.split(".")[5]) for item in items if isinstance(item, JsMessage)]

    def down(self, now: float | None = None) -> None:
        self.now = self.now if now is None else now
        self.port.up = False
        self.port.fences.clear()
        self.consume.link_down(LOST, self.now)

    def up(self, now: float | None = None) -> None:
        self.now = self.now if now is None else now
        self.port.up = True
        self.port.renew()
        self.consume.link_up(self.now)

    def fence(self) -> None:
        self.consume.fenced(self.port.fences.popleft(), self.now)


def pending(messages: int, size: int = 0) -> str:
    return f"Nats-Pending-Messages: {messages}\r\nNats-Pending-Bytes: {size}\r\n"


# ------------------------------------------------------------------ asking


def test_the_defaults_are_those_of_the_adr():
    rig = Rig()

    assert rig.said() == [
        Sub("_INBOX.P.1.1.*", "2"),
        Publish(
            NEXT,
            b'{"batch":500,"expires":30000000000,"idle_heartbeat":15000000000}',
            "_INBOX.P.1.1.1",
        ),
    ]


def test_b001_with_one_message_each_message_taken_yields_exactly_one_pull():
    rig = Rig(max_messages=1)
    assert [pull["batch"] for pull in rig.pulls()] == [1]
    for _ in range(5):
        rig.data()
        assert rig.pulls() == []
        rig.take()
        assert [pull["batch"] for pull in rig.pulls()] == [1]


def test_b002_one_pull_for_the_difference_when_the_level_is_low():
    rig = Rig(max_messages=10, threshold_messages=5)
    assert [pull["batch"] for pull in rig.pulls()] == [10]
    rig.data(4)
    rig.take(4)
    assert rig.pulls() == []
    rig.data(2)
    rig.take(2)
    batches = [pull["batch"] for pull in rig.pulls()]
    assert batches == [5]
    assert rig.consume.asked == 9
    rig.data(1)
    rig.take(1)
    assert rig.pulls() == []


def test_taking_everything_at_once_by_bytes_asks_once():
    rig = Rig(max_bytes=1000)
    rig.pulls()
    rig.data(3, size=200)

    assert len(rig.consume.take_all(0.0)) == 3
    assert [pull["max_bytes"] for pull in rig.pulls()] == [600]


def test_arrival_alone_asks_for_nothing():
    rig = Rig(max_messages=10)
    rig.pulls()
    rig.data(10)

    assert (rig.pulls(), rig.consume.asked, rig.consume.readable) == ([], 0, 10)


def test_b035_a_reader_that_takes_nothing_is_bounded_by_what_was_asked():
    rig = Rig(max_messages=5)
    rig.pulls()
    rig.data(5)

    assert rig.run_to(100.0) == 0
    assert rig.consume.readable == 5
    assert rig.consume.deadline is None


def test_taking_everything_at_once_asks_once():
    rig = Rig(max_messages=10)
    rig.pulls()
    rig.data(4)
    rig.data(5)
    items = rig.consume.take_all(0.0)

    assert len(items) == 9
    assert [pull["batch"] for pull in rig.pulls()] == [9]
    assert rig.consume.take_all(0.0) is NEED_DATA


@given(
    st.integers(1, 40),
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=30),
)
def test_asked_and_buffered_never_exceed_the_maximum_and_it_never_stalls(maximum, low, rounds):
    rig = Rig(max_messages=maximum, threshold_messages=min(low, maximum))
    for arriving, taking in rounds:
        rig.data(min(arriving, rig.consume.asked)) if rig.consume.asked else None
        rig.take(taking)
        assert rig.consume.asked + rig.consume.readable <= maximum
        assert rig.consume.asked + rig.consume.readable > 0
        assert sum(pull.owed for pull in rig.consume.ledger.open.values()) == rig.consume.asked


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_messages": 1, "max_bytes": 1}, "got both"),
        ({"max_bytes": 1, "within_bytes": 1}, "got both"),
        ({"max_messages": 0}, "expected max_messages from 1"),
        (
            {"max_messages": 10, "threshold_messages": 11},
            "expected a threshold from 0 to the limit 10",
        ),
        ({"max_bytes": 10, "threshold_bytes": -1}, "expected threshold_bytes >= 0"),
        ({"expires": 0.9}, "expected a finite expires >= 1,"),
        ({"expires": inf}, "expected a finite expires >= 1,"),
        ({"expires": 30.0, "idle_heartbeat": 0.4}, "expected idle_heartbeat from 0.5"),
        ({"expires": 30.0, "idle_heartbeat": 16.0}, "at most half of expires"),
        ({"expires": 100.0, "idle_heartbeat": 31.0}, "expected idle_heartbeat from 0.5"),
        ({"heartbeat_factor": 0.0}, "expected a heartbeat_factor"),
        ({"retry_wait": 0.0}, "expected .*retry_wait"),
        ({"retry_wait": 9.0}, "expected .*retry_wait"),
        ({"priority": 1}, "expected a group"),
    ],
)
def test_options_that_can_not_work_are_refused_before_sending(options, expected):
    with pytest.raises(InvalidConfig, match=expected):
        ConsumeOptions(**options)


@pytest.mark.parametrize(
    ("expires", "heartbeat"), [(1.0, 0.5), (2.0, 1.0), (30.0, 15.0), (100.0, 30.0)]
)
def test_heartbeats_are_half_of_the_expiry_within_bounds(expires, heartbeat):
    assert ConsumeOptions(expires=expires).heartbeat == heartbeat


def test_priorities_are_asked_for_in_every_pull():
    rig = Rig(max_messages=1, group="g", priority=3, min_pending=2, min_ack_pending=1)
    pull = rig.pulls()[0]

    assert (pull["group"], pull["priority"], pull["min_pending"], pull["min_ack_pending"]) == (
        "g",
        3,
        2,
        1,
    )


# ------------------------------------------------------------------ bytes


def test_b002_by_bytes_every_pull_asks_for_the_full_message_cap():
    rig = Rig(max_bytes=1000)
    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(1_000_000, 1000)]
    rig.data(2, size=300)
    rig.take(2)

    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(1_000_000, 600)]


def test_b037_bytes_are_charged_as_the_server_charges_them():
    rig = Rig(max_bytes=300)
    frame = (rig.port.sid, "s.a", "$JS.ACK.S.C.1.2.2.1795811553265218855.1", None, b"x" * 200)
    rig.consume.delivered([frame], 0.0)

    assert rig.consume.asked == 300 - 242 == 58


def test_b023_a_message_larger_than_the_budget_is_said_and_paced():
    rig = Rig(max_bytes=100)
    count = rig.run_to(
        2.0,
        lambda token: rig.status(
            409, "Message Size Exceeds MaxBytes", pending(1_000_000, 100), token
        ),
    )

    assert 2 <= count <= 5
    assert set(rig.notices()) == {PullNotice.MESSAGE_TOO_LARGE}
    assert rig.consume.asked == 0


def test_a_message_larger_than_a_part_of_the_budget_makes_the_next_pull_ask_for_all_of_it():
    rig = Rig(max_bytes=1000)
    rig.pulls()
    rig.data(6, size=100)
    rig.status(409, "Message Size Exceeds MaxBytes", pending(1, 400))
    rig.take(1)
    assert [pull["max_bytes"] for pull in rig.pulls()] == [500]
    rig.status(409, "Message Size Exceeds MaxBytes", pending(1_000_000, 500))
    rig.take(4)
    assert (rig.pulls(), rig.notices()) == ([], [])
    rig.take(1)
    assert [pull["max_bytes"] for pull in rig.pulls()] == [1000]
    rig.data(1, size=900)
    assert rig.take(1) == [7]


def test_b028_batch_completed_settles_the_rest_of_the_request():
    rig = Rig(max_messages=10, within_bytes=1000)
    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(10, 1000)]
    token = rig.token
    rig.data(4, size=250)
    rig.status(409, "Batch Completed", pending(6, 0), token)
    assert rig.consume.asked == 0
    rig.take(4)

    assert (sum(pull["max_bytes"] for pull in rig.pulls()), rig.consume.asked) == (1000, 1000)


def test_within_bytes_the_message_bound_caps_the_batch():
    rig = Rig(max_messages=4, within_bytes=10_000)
    rig.pulls()
    rig.data(4, size=100)
    assert rig.pulls() == []
    rig.take(1)
    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(1, 9700)]


def test_within_bytes_nothing_is_asked_while_all_messages_are_asked_for():
    rig = Rig(max_messages=2, within_bytes=10_000, threshold_bytes=9_999)
    rig.pulls()
    rig.data(1, size=100)
    rig.take(1)
    assert [pull["batch"] for pull in rig.pulls()] == [1]
    rig.consume.delivered([(rig.port.sid, "s.a", "$JS.ACK.S.C.1.9.9.1.0", None, b"")], 0.0)
    rig.data(1, size=100)
    assert (rig.consume.readable, rig.pulls()) == (2, [])


@given(st.integers(100, 5000), st.lists(st.integers(50, 90), min_size=1, max_size=60))
def test_any_byte_budget_of_at_least_a_message_goes_on_for_ever(budget, sizes):
    """Against a server that serves the oldest pull first and refuses what does not fit."""
    rig = Rig(max_bytes=budget)
    waiting: list[list[int]] = []  # batch and bytes of each pull
    tokens: list[str] = []

    def serve() -> None:
        for publish in rig.published():
            body = json.loads(publish.payload)
            waiting.append([body["batch"], body["max_bytes"]])
            tokens.append(publish.reply)

    for size in sizes:
        for _ in range(50):
            serve()
            if waiting and waiting[0][1] >= size:
                break
            if waiting:
                batch, left = waiting.pop(0)
                rig.status(
                    409, "Message Size Exceeds MaxBytes", pending(batch, left), tokens.pop(0)
                )
            else:
                assert rig.consume.readable, "nothing asked and nothing to take"
                rig.take(1)
        rig.data(1, size=size)
        waiting[0][0] -= 1
        waiting[0][1] -= size
        if not waiting[0][1]:
            waiting.pop(0)
            tokens.pop(0)
        assert rig.consume.asked == sum(left for _, left in waiting)
        assert rig.consume.engine.credit.lead.level <= budget
    rig.take(rig.consume.readable)
    serve()

    assert rig.consume.asked > 0
    assert PullNotice.MESSAGE_TOO_LARGE not in rig.notices()


# ------------------------------------------------------------------ statuses


def test_b016_a_heartbeat_changes_no_counter_and_is_no_message():
    rig = Rig(max_messages=3)
    rig.pulls()
    rig.heartbeat()

    assert (rig.consume.asked, rig.consume.readable, rig.pulls()) == (3, 0, [])


def test_b004_a_new_leader_ends_every_pull_and_a_fresh_one_goes_out_soon():
    rig = Rig(max_messages=10, idle_heartbeat=5.0)
    first = rig.token
    rig.said()
    rig.status(409, "Leadership Change")
    assert rig.notices() == [PullNotice.LEADERSHIP_CHANGED]
    assert rig.said() == [Unsub("2"), Sub("_INBOX.P.1.2.*", "3")]
    deadline = rig.consume.deadline
    assert deadline is not None
    assert deadline <= 1.0
    rig.tick(deadline)

    published = rig.published()
    assert [json.loads(each.payload)["batch"] for each in published] == [10]
    assert published[0].reply != first
    assert not rig.consume.ended


def test_a_server_that_stops_is_told_apart_from_a_new_leader():
    rig = Rig()
    rig.status(409, "Server Shutdown", pending(3))

    assert rig.notices() == [PullNotice.SERVER_SHUTDOWN]
    assert rig.consume.asked == 0


def test_b005_without_responders_the_retries_are_paced_and_said_once():
    rig = Rig(max_messages=10)
    count = rig.run_to(3.0, lambda token: rig.status(503, "", f"Nats-Subject: {NEXT}\r\n", token))

    assert 2 <= count <= 5
    assert rig.notices() == [PullNotice.NO_RESPONDERS]
    assert not rig.consume.ended


def test_no_responders_are_said_again_when_somebody_had_been_there_in_between():
    rig = Rig(max_messages=10)
    rig.status(503)
    rig.tick(0.25)
    rig.heartbeat()
    rig.status(503)

    assert rig.notices() == [PullNotice.NO_RESPONDERS, PullNotice.NO_RESPONDERS]
    assert rig.consume.deadline == 0.5


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (503, ""),
        (409, "Exceeded MaxWaiting"),
        (409, "Exceeded MaxRequestBatch of 10"),
        (408, "Request Timeout"),
        (404, "No Messages"),
        (409, "Leadership Change"),
        (409, "Server Shutdown"),
        (423, "Nats-Pin-Id mismatch"),
        (599, "What"),
    ],
)
def test_b025_no_status_whatever_makes_a_hot_loop(code, text):
    rig = Rig(max_messages=10)
    count = rig.run_to(10.0, lambda token: rig.status(code, text, "", token))

    assert 3 <= count <= 10


def test_b025_a_bad_request_ends_the_consume_with_the_servers_text():
    rig = Rig(max_messages=10)
    rig.said()
    rig.status(400, "Bad Request - heartbeat value too large")

    assert rig.said() == [Unsub("2"), Ping()]
    with pytest.raises(errors.BadRequestStatus, match="heartbeat value too large"):
        rig.consume.take(0.0)
    assert (rig.consume.reason, rig.notices()) == (EndReason.FATAL, [PullNotice.REFUSED])
    assert rig.run_to(100.0) == 0


def test_b026_a_deleted_consumer_ends_the_consume_by_default():
    rig = Rig(max_messages=10)
    rig.data(2)
    rig.status(409, "Consumer Deleted")

    assert (rig.notices(), rig.consume.ended) == ([PullNotice.CONSUMER_DELETED], True)
    assert rig.take(2) == [1, 2]
    with pytest.raises(errors.ConsumerDeleted):
        rig.consume.take(0.0)
    assert rig.run_to(100.0) == 1  # the one before


def test_b026_a_deleted_consumer_can_be_waited_for():
    rig = Rig(max_messages=10, on_deleted=OnDeleted.RETRY)
    rig.said()
    rig.status(409, "Consumer Deleted")
    assert (rig.notices(), rig.pulls()) == ([PullNotice.CONSUMER_DELETED], [])
    assert rig.consume.deadline == 1.0
    rig.tick(1.0)
    assert len(rig.pulls()) == 1
    rig.status(503)
    rig.run_to(1.4)
    assert rig.pulls() == []
    rig.tick(1.5)
    rig.status(503)
    assert rig.consume.deadline == 2.5


def test_a_push_consumer_can_not_be_consumed():
    rig = Rig()
    rig.status(409, "Consumer is push based")

    with pytest.raises(errors.ConsumerIsPush):
        rig.consume.take(0.0)


def test_b029_a_full_waiting_queue_settles_the_request_and_is_retried_after_a_short_delay():
    rig = Rig(max_messages=10)
    rig.said()
    rig.status(409, "Exceeded MaxWaiting")

    assert (rig.consume.asked, rig.pulls(), rig.notices()) == (0, [], [PullNotice.LIMIT_EXCEEDED])
    assert rig.consume.deadline == 0.25
    rig.tick(0.25)
    assert [pull["batch"] for pull in rig.pulls()] == [10]


def test_b056_a_batch_above_the_consumers_limit_is_not_asked_for_again():
    rig = Rig(max_messages=10)
    rig.said()
    rig.status(409, "Exceeded MaxRequestBatch of 2")
    rig.tick(0.25)

    assert [pull["batch"] for pull in rig.pulls()] == [2]
    rig.data(2)
    rig.take(1)
    assert [pull["batch"] for pull in rig.pulls()] == [1]


def test_bytes_above_the_consumers_limit_are_not_asked_for_again():
    rig = Rig(max_bytes=1000)
    rig.said()
    rig.status(409, "Exceeded MaxRequestMaxBytes of 300")
    rig.tick(0.25)

    assert [pull["max_bytes"] for pull in rig.pulls()] == [300]


def test_an_expiry_above_the_consumers_limit_is_not_asked_for_again():
    rig = Rig(max_messages=1)
    rig.said()
    rig.status(409, "Exceeded MaxRequestExpires of 5s")
    rig.tick(0.25)

    assert rig.pulls() == [{"batch": 1, "expires": 5_000_000_000, "idle_heartbeat": 2_500_000_000}]
    assert rig.consume.deadline == 5.25
    again: Consume[JsMessage] = Consume(NEXT, rig.consume.options)
    again.port = rig.port
    again.restore(rig.consume.snapshot())
    again.delivered([rig.frame(408, "Request Timeout", pending(1))], 6.0)
    assert rig.pulls() == [{"batch": 1, "expires": 5_000_000_000, "idle_heartbeat": 2_500_000_000}]


def test_a_limit_that_the_request_does_not_have_is_only_said():
    rig = Rig(max_messages=10)
    for text in (
        "Exceeded MaxRequestBatch",
        "Exceeded MaxRequestMaxBytes of 5",
        "Exceeded MaxRequestExpires of 50s",
    ):
        rig.status(409, text)
        deadline = rig.consume.deadline
        assert deadline is not None
        rig.said()
        rig.tick(deadline)
        assert rig.pulls() == [
            {"batch": 10, "expires": 30_000_000_000, "idle_heartbeat": 15_000_000_000}
        ]

    by_bytes = Rig(max_bytes=1000)
    by_bytes.said()
    by_bytes.status(409, "Exceeded MaxRequestBatch of 10")
    by_bytes.tick(0.25)
    assert by_bytes.pulls()[0]["max_bytes"] == 1000


def test_an_unknown_status_is_reported_and_ends_its_pull_only_from_400_on():
    rig = Rig(max_messages=10)
    rig.status(100, "Something")
    assert (rig.notices(), rig.consume.asked) == ([PullNotice.UNKNOWN_STATUS], 10)
    rig.status(455, "Something")
    assert (rig.notices(), rig.consume.asked) == ([PullNotice.UNKNOWN_STATUS], 0)


def test_an_expired_pull_is_replaced_at_once():
    rig = Rig(max_messages=10)
    rig.said()
    rig.at(30.0).status(408, "Request Timeout", pending(10))

    assert [pull["batch"] for pull in rig.pulls()] == [10]
    assert rig.notices() == []


def test_a_status_acts_only_on_the_pull_that_it_names():
    rig = Rig(max_messages=10)
    first = rig.token
    rig.data(6)
    rig.take(6)
    assert rig.consume.asked == 9
    rig.said()
    rig.status(408, "Request Timeout", pending(4), first)
    assert [pull["batch"] for pull in rig.pulls()] == [5]
    before = rig.consume.engine.ledger.snapshot()
    rig.status(408, "Request Timeout", pending(4), first)
    rig.status(408, "Request Timeout", pending(4), "_INBOX.P.1.1.999")

    assert (rig.consume.asked, rig.consume.strays, rig.pulls()) == (10, 2, [])
    assert rig.consume.engine.ledger.snapshot() == before


def test_statuses_of_an_inbox_that_was_given_up_change_nothing():
    rig = Rig(max_messages=10)
    first, sid = rig.token, rig.port.sid
    rig.status(409, "Leadership Change")
    rig.notices()
    rig.tick(0.25)
    rig.status(409, "Leadership Change", "", first, sid)
    rig.status(100, "Idle Heartbeat", "", first, sid)

    assert (rig.consume.asked, rig.notices(), rig.consume.strays) == (10, [], 2)


def test_messages_of_an_inbox_that_was_given_up_are_the_users_but_nobodys_debt():
    rig = Rig(max_messages=10)
    sid = rig.port.sid
    rig.status(409, "Leadership Change")
    rig.tick(0.25)
    rig.data(3, sid=sid)

    assert (rig.consume.asked, rig.take(3)) == (10, [1, 2, 3])


def test_what_follows_a_reset_in_the_same_run_is_of_the_old_inbox():
    rig = Rig(max_messages=10)
    ack = "$JS.ACK.S.C.1.{0}.{0}.1.0"
    sid = rig.port.sid
    rig.consume.delivered(
        [
            (sid, "s.a", ack.format(1), None, b""),
            rig.frame(409, "Leadership Change"),
            (sid, "s.a", ack.format(2), None, b""),
        ],
        0.0,
    )
    rig.tick(0.25)

    assert (rig.consume.asked, rig.take(2)) == (8, [1, 2])


def test_a_stored_message_with_a_forged_status_line_is_a_message():
    rig = Rig(max_messages=2)
    rig.data(1, block=b"NATS/1.0 409 Consumer Deleted\r\n\r\n")

    assert (rig.consume.ended, rig.take(1)) == (False, [1])


# ------------------------------------------------------------------ priority groups


def test_b038_the_pin_id_goes_into_the_next_pull_and_is_dropped_when_it_is_lost():
    rig = Rig(max_messages=1, group="g")
    assert "id" not in rig.pulls()[0]
    rig.data(1, block=b"NATS/1.0\r\nNats-Pin-Id: old\r\nNats-Pin-Id: new\r\n\r\n")
    rig.take(1)
    assert rig.pulls()[0]["id"] == "new"
    assert rig.port.notices == [(PullNotice.PINNED, "new")]
    rig.data(1, block=b"NATS/1.0\r\nNats-Pin-Id: new\r\n\r\n")
    rig.take(1)
    rig.said()
    rig.notices()
    rig.status(423, "Nats-Wrong-Pin-Id", pending(1))
    assert rig.notices() == [PullNotice.PIN_LOST]
    rig.tick(0.25)
    assert "id" not in rig.pulls()[0]


def test_the_pin_header_is_not_charged_to_a_byte_budget():
    rig = Rig(max_bytes=10_000, group="g")
    rig.data(1, block=b"NATS/1.0\r\nNats-Pin-Id: wt1DeYRdH17hVMgqJTThkY\r\n\r\n")
    size = len("s.a") + len("$JS.ACK.S.C.1.1.1.1795811553265218855.0")

    assert rig.consume.asked == 10_000 - size
    rig.take(1)
    assert rig.consume.readable == 0


# ------------------------------------------------------------------ silence


def test_b014_an_alarm_at_two_heartbeats_with_a_fresh_pull_at_once():
    rig = Rig(max_messages=10, idle_heartbeat=5.0)
    rig.said()
    rig.tick(9.99)
    assert (rig.notices(), rig.said()) == ([], [])
    rig.tick(10.0)

    assert rig.notices() == [PullNotice.HEARTBEAT_MISSED]
    commands = rig.said()
    assert commands[:2] == [Unsub("2"), Sub("_INBOX.P.1.2.*", "3")]
    # Whether the consumer is there at all is asked too, since old servers are silent about one that
    # is not.
    assert [each.subject for each in commands[2:]] == [INFO, NEXT]


def test_b013_every_frame_restarts_the_window():
    rig = Rig(idle_heartbeat=5.0)
    for now in (5.0, 10.0, 15.0, 20.0, 25.0):
        rig.at(now).heartbeat()
        rig.tick()
    rig.tick(29.0)

    assert rig.notices() == []


def test_b010_the_alarm_comes_back_over_a_lost_link():
    rig = Rig(idle_heartbeat=5.0)
    assert len(rig.pulls()) == 1
    rig.tick(10.0)
    assert len(rig.pulls()) == 1
    rig.down(11.0)
    rig.tick(20.0)
    assert rig.pulls() == []
    rig.up(25.0)
    assert len(rig.pulls()) == 1
    rig.tick(35.0)
    assert len(rig.pulls()) == 1
    rig.tick(45.0)
    assert len(rig.pulls()) == 1


def test_b017_one_notice_for_each_silence_and_one_pull_for_each_period():
    rig = Rig(idle_heartbeat=1.0)
    rig.said()
    pulls = 0
    for now in (2.0, 4.0, 6.0, 8.0):
        rig.tick(now)
        pulls += len(rig.pulls())
    assert (rig.notices(), pulls) == ([PullNotice.HEARTBEAT_MISSED], 4)
    rig.at(9.0).data()
    assert rig.notices() == [PullNotice.RESUMED]
    rig.tick(11.0)
    assert rig.notices() == [PullNotice.HEARTBEAT_MISSED]


def test_b011_a_slow_reader_is_no_silence():
    rig = Rig(max_messages=1, idle_heartbeat=1.0)
    rig.data()
    rig.said()
    rig.take()
    rig.at(10.0).heartbeat()
    rig.tick(10.0)

    assert (rig.notices(), len(rig.pulls())) == ([], 1)


def test_b011_with_a_full_buffer_nobody_has_promised_heartbeats():
    rig = Rig(max_messages=1, idle_heartbeat=1.0)
    rig.data()
    rig.said()
    rig.tick(1000.0)

    assert (rig.notices(), rig.said()) == ([], [])


def test_b040_on_a_dead_link_an_alarm_sends_nothing_and_ends_nothing():
    rig = Rig(idle_heartbeat=1.0)
    rig.said()
    rig.down(0.5)
    for now in (2.0, 4.0, 6.0):
        rig.tick(now)
    assert (rig.said(), rig.consume.ended, rig.consume.deadline) == ([], False, None)
    rig.up(7.0)

    commands = rig.said()
    assert [type(command) for command in commands] == [Sub, Publish]


def test_after_a_silence_with_enough_at_hand_nothing_is_asked():
    rig = Rig(max_messages=10, threshold_messages=2, idle_heartbeat=1.0)
    rig.data(5)
    rig.said()
    rig.tick(2.0)
    assert rig.pulls() == []
    rig.take(3)
    assert [pull["batch"] for pull in rig.pulls()] == [8]


def test_a_pull_whose_end_was_never_told_is_over_at_its_own_deadline():
    rig = Rig(max_messages=10, expires=10.0)
    rig.said()
    for now in range(0, 12, 4):
        rig.at(float(now)).heartbeat()
    rig.tick(11.0)

    assert [pull["batch"] for pull in rig.pulls()] == [10]
    assert rig.consume.ledger.counts == {EndReason.DEADLINE: 1}


# ------------------------------------------------------------------ the link


def test_b007_a_new_link_gets_the_interest_first_and_then_one_pull_for_the_full_need():
    rig = Rig(max_messages=10)
    rig.said()
    rig.down(1.0)
    assert rig.consume.asked == 0
    rig.up(2.0)

    assert rig.said() == [
        Sub("_INBOX.P.1.2.*", "3"),
        Publish(
            NEXT,
            b'{"batch":10,"expires":30000000000,"idle_heartbeat":15000000000}',
            "_INBOX.P.1.2.2",
        ),
    ]
    assert rig.consume.asked == 10


def test_b008_link_loss_ends_open_pulls_whatever_their_expiry():
    rig = Rig(max_messages=1, expires=3600.0)
    rig.said()
    rig.down(0.1)
    rig.up(0.2)

    assert len(rig.pulls()) == 1


def test_b034_a_need_that_arises_without_a_link_is_met_with_the_next():
    rig = Rig(max_messages=4)
    rig.data(4)
    rig.said()
    rig.down(1.0)
    assert (rig.take(4), rig.said(), rig.consume.asked) == ([1, 2, 3, 4], [], 0)
    rig.up(2.0)
    assert [pull["batch"] for pull in rig.pulls()] == [4]


def test_opened_without_a_link_it_pulls_with_the_first():
    rig = Rig(up=False)
    assert rig.said() == [Sub("_INBOX.P.1.1.*", "2")]
    rig.up(1.0)

    assert len(rig.pulls()) == 1


def test_a_delay_does_not_survive_a_new_link():
    rig = Rig(max_messages=10)
    for _ in range(4):
        rig.status(503)
        deadline = rig.consume.deadline
        assert deadline is not None
        rig.tick(deadline)
    rig.said()
    rig.status(503)
    rig.down()
    rig.up()

    assert len(rig.pulls()) == 1


def test_b034_a_missing_permission_ends_the_consume():
    rig = Rig()
    rig.said()
    error = PermissionViolation("no", NEXT)
    rig.consume.refused("$JS.ACK.S.C.1.1.1.1.1", error, 0.1)
    assert not rig.consume.ended
    rig.consume.refused(NEXT, error, 0.1)
    rig.consume.refused(NEXT, error, 0.2)

    assert (rig.notices(), rig.said(), rig.consume.reason) == (
        [PullNotice.ACK_REFUSED, PullNotice.REFUSED],
        [Unsub("2"), Ping()],
        EndReason.REFUSED,
    )
    with pytest.raises(PermissionViolation):
        rig.consume.take(0.1)


def test_that_acks_are_refused_is_told_once_for_each_link():
    rig = Rig()
    error = PermissionViolation("no")
    for number in (1, 2):
        rig.consume.refused(f"$JS.ACK.S.C.1.{number}.{number}.1.1", error, 0.1)
    assert rig.notices() == [PullNotice.ACK_REFUSED]
    rig.down()
    rig.up()
    rig.consume.refused("$JS.ACK.S.C.1.3.3.1.1", error, 0.2)

    assert rig.notices() == [PullNotice.ACK_REFUSED]


@pytest.mark.parametrize(
    "subject", ["$JS.ACK.S.D.1.1.1.1.1", "$JS.ACK.R.C.1.1.1.1.1", "$JS.ACK.S.C", "orders.C", ""]
)
def test_what_is_refused_to_others_is_not_told(subject):
    rig = Rig()
    rig.consume.refused(subject, PermissionViolation("no"), 0.1)

    assert rig.notices() == []


def test_an_inbox_that_may_not_be_subscribed_ends_the_consume():
    rig = Rig()
    rig.consume.refused("_INBOX.P.1.1.*", PermissionViolation("no"), 0.1)

    assert rig.consume.reason is EndReason.REFUSED


# ------------------------------------------------------------------ gaps


def test_gaps_in_the_consumer_sequence_are_a_notice_if_asked_for():
    rig = Rig(watch_gaps=True)
    rig.data(3)
    rig.sequence += 2
    rig.data(1)
    assert rig.port.notices == [(PullNotice.GAP, Gap(4, 6))]
    rig.notices()
    rig.status(100, "Idle Heartbeat", "Nats-Last-Consumer: 9\r\nNats-Last-Stream: 9\r\n")
    assert rig.port.notices == [(PullNotice.GAP, Gap(7, 10))]


@pytest.mark.parametrize(
    "header", ["", "Nats-Last-Consumer: x\r\n", "Nats-Last-Consumer: " + "9" * 30 + "\r\n"]
)
def test_a_heartbeat_without_a_number_is_no_gap(header):
    rig = Rig(watch_gaps=True)
    rig.status(100, "Idle Heartbeat", header)

    assert rig.notices() == []


def test_a_reply_that_is_no_ack_subject_is_no_gap():
    rig = Rig(watch_gaps=True)
    rig.consume.delivered([(rig.port.sid, "s.a", "$JS.ACK.some.reply", None, b"")], 0.0)

    assert (rig.notices(), rig.consume.readable) == ([], 1)


def test_a_fresh_inbox_is_no_gap():
    rig = Rig(watch_gaps=True)
    rig.data(3)
    rig.sequence += 5
    rig.status(409, "Leadership Change")
    rig.notices()
    rig.tick(0.25)
    rig.data(1)

    assert rig.notices() == []


# ------------------------------------------------------------------ ends


def test_b019_close_wakes_the_reader_within_the_same_step():
    rig = Rig()
    rig.said()
    assert rig.consume.take(0.0) is NEED_DATA
    rig.consume.closed(None, 0.0)

    assert rig.consume.take(0.0) is ENDED
    assert rig.said() == [Unsub("2"), Ping()]
    assert rig.run_to(100.0) == 0


def test_b019_close_gives_back_what_was_not_taken_and_what_still_comes():
    rig = Rig()
    rig.data(2)
    rig.take(1)
    rig.said()
    rig.consume.closed(None, 0.0)
    rig.data(1)
    naks = [each.subject.split(".")[5] for each in rig.said() if isinstance(each, Publish)]

    assert (naks, rig.consume.returned, rig.consume.finished) == (["2", "3"], 2, False)
    rig.fence()
    assert rig.consume.finished


def test_b020_ends_may_come_in_any_order_and_count_once():
    rig = Rig()
    rig.status(409, "Consumer Deleted")
    rig.said()
    rig.consume.told(StopMode.STOP, 0.0)
    rig.consume.told(StopMode.DRAIN, 0.0)
    rig.consume.closed(None, 0.0)
    rig.consume.closed(None, 0.0)

    assert (rig.said(), rig.consume.reason) == ([], EndReason.DELETED)
    with pytest.raises(errors.ConsumerDeleted):
        rig.consume.take(0.0)


def test_b022_a_drain_hands_out_what_is_there_and_then_ends():
    rig = Rig(max_messages=10)
    rig.data(3)
    rig.said()
    rig.consume.told(StopMode.DRAIN, 0.0)
    assert rig.said() == [Unsub("2"), Ping()]
    rig.data(1)
    assert rig.consume.deadline is None
    rig.tick(100.0)
    assert (rig.take(1), rig.said()) == ([1], [])
    rig.fence()
    assert (rig.take(3), rig.consume.take(0.0), rig.consume.reason) == (
        [2, 3, 4],
        ENDED,
        EndReason.CLOSED,
    )
    assert rig.said() == []


def test_b209_a_drain_without_a_link_ends_when_the_buffer_is_taken():
    rig = Rig()
    rig.data(1)
    rig.down(1.0)
    rig.consume.told(StopMode.DRAIN, 1.0)
    assert (rig.take(1), rig.consume.take(1.0), rig.consume.finished) == ([1], ENDED, True)

    other = Rig()
    other.consume.told(StopMode.DRAIN, 0.0)
    other.down(1.0)
    assert (other.consume.take(1.0), other.consume.finished) == (ENDED, True)


def test_a_drain_can_be_cut_short():
    rig = Rig()
    rig.consume.told(StopMode.DRAIN, 0.0)
    rig.consume.told(StopMode.DRAIN, 0.0)
    rig.consume.closed(None, 0.0)
    rig.fence()
    assert not rig.consume.finished
    last = rig.port.fences[0]
    rig.fence()
    rig.consume.fenced(last, 0.0)

    assert rig.consume.finished


def test_what_comes_when_it_can_not_be_given_back_is_counted():
    rig = Rig()
    rig.consume.closed(None, 0.0)
    rig.down()
    rig.data(2)

    assert (rig.consume.strays, rig.consume.returned) == (2, 0)


def test_b041_a_stop_ends_when_the_open_pull_has_ended():
    rig = Rig(max_messages=3, expires=5.0)
    rig.data(1)
    rig.consume.told(StopMode.STOP, 0.0)
    assert not rig.consume.ended
    rig.take(1)
    rig.status(408, "Request Timeout", pending(2))

    assert (rig.consume.ended, rig.consume.reason) == (True, EndReason.CLOSED)
    assert rig.run_to(100.0) == 1  # the first
    rig.fence()
    assert rig.consume.finished


def test_b041_a_stop_ends_no_later_than_the_alarm():
    rig = Rig(max_messages=3, expires=5.0)
    rig.said()
    rig.consume.told(StopMode.STOP, 0.0)
    assert rig.consume.deadline == 5.0
    rig.tick(5.0)

    assert (rig.consume.ended, rig.pulls()) == (True, [])


def test_a_stop_ends_with_the_last_message_that_was_asked_for():
    rig = Rig(max_messages=3)
    rig.consume.told(StopMode.STOP, 0.0)
    rig.data(3)

    assert rig.consume.ended
    assert rig.take(3) == [1, 2, 3]


def test_a_stop_with_nothing_open_ends_at_once():
    rig = Rig(max_messages=3)
    rig.data(3)
    rig.consume.told(StopMode.STOP, 0.0)

    assert (rig.consume.ended, rig.take(3), rig.consume.take(0.0)) == (True, [1, 2, 3], ENDED)


def test_a_stop_ends_with_the_link():
    rig = Rig(max_messages=3)
    rig.consume.told(StopMode.STOP, 0.0)
    rig.consume.told(StopMode.STOP, 0.0)
    rig.down(0.1)

    assert (rig.consume.ended, rig.consume.finished) == (True, True)


def test_a_stop_can_become_a_drain():
    rig = Rig(max_messages=3)
    rig.consume.told(StopMode.STOP, 0.0)
    rig.consume.told(StopMode.DRAIN, 0.0)
    rig.fence()

    assert (rig.consume.ended, rig.consume.finished) == (True, True)


def test_a_close_behind_a_lost_link_needs_no_fence():
    rig = Rig()
    rig.consume.closed(None, 0.0)
    rig.down(0.1)

    assert rig.consume.finished


def test_a_fence_of_somebody_else_ends_nothing():
    rig = Rig()
    rig.consume.fenced(77, 0.0)
    rig.consume.told(StopMode.DRAIN, 0.0)
    rig.consume.fenced(77, 0.0)

    assert not rig.consume.ended


def test_a_consume_that_was_never_opened_can_be_ended():
    for end in (lambda c: c.closed(None, 0.0), lambda c: c.told(StopMode.DRAIN, 0.0)):
        consume = Rig(opened=False).consume
        end(consume)
        assert (consume.finished, consume.take(0.0)) == (True, ENDED)


def test_a_closed_connection_is_the_error_behind_the_last_message():
    rig = Rig()
    rig.data(1)
    rig.consume.closed(ConnectionClosed("closed"), 0.0)
    assert (rig.take(1), rig.consume.reason) == ([1], EndReason.DISCONNECTED)
    with pytest.raises(ConnectionClosed):
        rig.consume.take(0.0)

    other = Rig()
    other.consume.closed(LocalProtocolError("no"), 0.0)
    assert other.consume.reason is EndReason.CLOSED


def test_the_users_message_can_be_of_a_class_of_his_own():
    consume: Consume[tuple[bytes, object]] = Consume(
        NEXT, message=lambda frame, feed: (frame[4], feed)
    )
    consume.port = Port()
    consume.opened(0.0)
    consume.delivered(
        [
            ("2", "s", "$JS.ACK.S.C.1.1.1.1.0", None, b"a"),
            ("2", "s", "$JS.ACK.S.C.1.2.2.1.0", None, b"b"),
        ],
        0.0,
    )

    assert consume.take(0.0) == (b"a", consume)
    assert consume.take_all(0.0) == [(b"b", consume)]


# ------------------------------------------------------------------ tables and state


@pytest.mark.parametrize("said", [(409, "Leadership Change"), (503, "")])
def test_what_the_server_says_to_one_that_has_ended_sets_no_time_that_nobody_acts_on(said):
    rig = Rig(max_messages=2)
    rig.consume.told(StopMode.STOP, 0.0)
    rig.status(*said)
    rig.tick(60.0)

    assert rig.consume.deadline is None


def test_every_state_is_reached_and_over_is_the_only_end():
    reached = {state for moves in TRANSITIONS.values() for state in moves.values()}

    assert reached | {ConsumeState.NEW} == set(ConsumeState)
    assert [state for state, moves in TRANSITIONS.items() if not moves] == [ConsumeState.OVER]
    assert {fact for moves in TRANSITIONS.values() for fact in moves} == set(ConsumeInput)


STATUSES = {
    "heartbeat": (100, "Idle Heartbeat", ""),
    "expired": (408, "Request Timeout", pending(1, 1)),
    "deleted": (409, "Consumer Deleted", ""),
    "moved": (409, "Leadership Change", ""),
    "gone": (503, "", ""),
    "refused": (409, "Exceeded MaxRequestExpires of 2s", ""),
    "large": (409, "Message Size Exceeds MaxBytes", pending(5, 50)),
}
EVENTS = st.lists(
    st.sampled_from(
        [
            "data",
            "data",
            "take",
            "all",
            "tick",
            "down",
            "up",
            "drain",
            "stop",
            "close",
            "fence",
            *STATUSES,
        ]
    ),
    max_size=12,
)
OPTIONS = st.sampled_from(
    [
        {"max_messages": 3},
        {"max_bytes": 400},
        {"max_messages": 5, "within_bytes": 300, "watch_gaps": True},
        {
            "max_messages": 3,
            "stop_after": 5,
            "acking": AckOptions(policy="all", wait=3.0, in_progress=True),
        },
    ]
)


@given(EVENTS, OPTIONS)
def test_a_snapshot_put_back_at_every_step_changes_nothing(events, options):
    rigs = [Rig(**options), Rig(**options)]
    for step, event in enumerate(events):
        old = rigs[1].consume
        fresh: Consume[JsMessage] = Consume(NEXT, old.options)
        fresh.port = old.port
        fresh.restore(old.snapshot())
        assert fresh.snapshot() == old.snapshot()
        rigs[1].consume = fresh
        for rig in rigs:
            rig.now = step * 0.7
            if event == "data":
                rig.data(2, size=60)
            elif event == "take" and rig.consume.readable:
                rig.take(1)
            elif event == "all" and rig.consume.readable:
                rig.consume.take_all(rig.now)
            elif event == "tick":
                rig.tick()
            elif event == "down" and rig.port.up:
                rig.down()
            elif event == "up" and not rig.port.up:
                rig.up()
            elif event in {"drain", "stop"}:
                rig.consume.told(StopMode[event.upper()], rig.now)
            elif event == "close":
                rig.consume.closed(None, rig.now)
            elif event == "fence" and rig.port.fences:
                rig.fence()
            elif event in STATUSES and rig.consume.ledger.open:
                rig.status(*STATUSES[event])
        assert rigs[0].said() == rigs[1].said()
        assert [rigs[0].consume.deadline, rigs[0].consume.asked] == [
            rigs[1].consume.deadline,
            rigs[1].consume.asked,
        ]
        assert rigs[0].notices() == rigs[1].notices()


# ------------------------------------------------------------------ stop after so many


def test_no_more_than_wished_is_ever_asked_for_and_the_end_comes_with_the_last_one():
    rig = Rig(max_messages=4, stop_after=6)

    assert [each["batch"] for each in rig.pulls()] == [4]
    rig.data(4)
    assert rig.take(4) == [1, 2, 3, 4]
    assert [each["batch"] for each in rig.pulls()] == [2]
    rig.data(2)
    assert (rig.consume.ended, rig.consume.reason) == (True, EndReason.FILLED)
    assert rig.take(2) == [5, 6]
    assert rig.consume.take(rig.now) is ENDED
    rig.fence()
    assert rig.consume.finished


def test_what_an_expired_pull_did_not_bring_is_asked_for_again():
    rig = Rig(max_messages=10, stop_after=6)
    rig.data(2)
    rig.pulls()
    rig.status(408, "Request Timeout", pending(4))
    rig.run_to(10.0)
    rig.take(2)
    rig.tick(20.0)

    assert [pull.owed for pull in rig.consume.pulls(20.0)] == [4]


def test_by_bytes_the_wish_bounds_the_batch():
    rig = Rig(max_bytes=10_000, stop_after=3)

    assert [(each["batch"], each["max_bytes"]) for each in rig.pulls()] == [(3, 10_000)]
    rig.data(2, size=100)
    rig.take(2)
    rig.data(1, size=100)
    assert rig.consume.reason is EndReason.FILLED


def test_what_comes_beyond_the_wish_goes_back():
    rig = Rig(max_messages=4, stop_after=4)
    old = rig.port.sid
    rig.pulls()
    rig.down()
    rig.up()
    rig.data(3, sid=old)
    rig.data(3)
    naks = [
        each.subject for each in rig.said() if isinstance(each, Publish) and each.payload == b"-NAK"
    ]

    assert [int(each.split(".")[5]) for each in naks] == [5, 6]
    assert rig.take(4) == [1, 2, 3, 4]
    assert rig.consume.take(rig.now) is ENDED


def test_told_to_stop_it_ends_once_though_the_last_message_comes_then():
    rig = Rig(max_messages=2, stop_after=2)
    rig.consume.told(StopMode.STOP, rig.now)
    rig.data(2)

    assert (rig.consume.ended, rig.consume.reason) == (True, EndReason.CLOSED)
    assert rig.take(2) == [1, 2]


# ------------------------------------------------------------------ each number by itself


@pytest.mark.parametrize(
    ("expires", "until"), [(1.0, 2.0), (20.0, 22.0), (30.0, 33.0), (60.0, 65.0)]
)
def test_a_pull_is_over_a_tenth_of_its_expiry_later_but_not_less_than_one_nor_more_than_five_seconds(
    expires, until
):
    rig = Rig(max_messages=1, expires=expires)

    assert [pull.left for pull in rig.consume.pulls(0.0)] == [until]


def test_the_factor_says_how_many_heartbeats_may_be_missed():
    rig = Rig(max_messages=1, expires=30.0, idle_heartbeat=2.0, heartbeat_factor=3.0)

    assert rig.consume.deadline == 6.0


def test_no_pin_is_known_at_first():
    assert Rig(group="g").consume.pin == ""


def test_a_level_that_falls_exactly_to_the_threshold_asks_whoever_takes():
    rig = Rig(max_messages=10, threshold_messages=5)
    rig.pulls()
    rig.data(5)
    rig.consume.take_all(0.0)

    assert [pull["batch"] for pull in rig.pulls()] == [5]


def test_taking_everything_at_once_gives_back_messages_and_bytes_where_both_are_bounded():
    rig = Rig(max_messages=4, within_bytes=1000)
    rig.pulls()
    rig.data(3, size=200)
    rig.consume.take_all(0.0)

    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(3, 600)]


def test_without_a_group_a_header_called_like_the_pin_is_charged():
    rig = Rig(max_bytes=1000)
    block = b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n"
    rig.data(1, block=block)
    message = rig.consume.take(0.0)

    assert isinstance(message, JsMessage)
    assert rig.consume.asked == 1000 - message.size


def test_a_delay_of_the_lost_link_wakes_nobody_on_the_next():
    rig = Rig(max_messages=1, expires=30.0)
    rig.status(503)
    assert rig.consume.deadline == 0.25
    rig.down()
    rig.up()

    assert rig.consume.deadline == 30.0


def test_a_new_link_is_no_gap():
    rig = Rig(max_messages=10, watch_gaps=True)
    rig.data(2)
    rig.down()
    rig.sequence += 5  # somebody else had these
    rig.up()
    rig.data(1)

    assert PullNotice.GAP not in rig.notices()


def test_on_a_new_link_a_part_of_the_budget_may_be_asked_for_again():
    rig = Rig(max_bytes=1000)
    rig.pulls()
    rig.data(2, size=300)
    rig.take()
    rig.status(409, "Message Size Exceeds MaxBytes", pending(999_998, 400))
    (part,) = rig.published()
    rig.status(409, "Message Size Exceeds MaxBytes", pending(1_000_000, 700), token=part.reply)
    assert rig.pulls() == []
    rig.down()
    rig.up()

    assert [pull["max_bytes"] for pull in rig.pulls()] == [700]


def test_bytes_that_a_silent_pull_did_not_bring_are_asked_for_again():
    rig = Rig(max_bytes=1000, expires=30.0, idle_heartbeat=10.0)
    rig.pulls()
    for now in (10.0, 20.0, 30.0):
        rig.at(now).heartbeat()
    rig.tick(33.0)

    assert [pull["max_bytes"] for pull in rig.pulls()] == [1000]
    assert rig.consume.ledger.counts == {EndReason.DEADLINE: 1}


def test_a_refusal_is_told_with_its_error():
    rig = Rig()
    error = PermissionViolation("no", NEXT, "publish")
    rig.consume.refused(NEXT, error, 0.0)

    assert rig.port.notices == [(PullNotice.REFUSED, error)]


@pytest.mark.parametrize("way", ["fence", "down", "unopened", "without a link"])
def test_a_drain_ends_as_closed_by_the_user_on_every_way(way):
    rig = Rig(opened=way != "unopened")
    if way == "without a link":
        rig.down()
    rig.consume.told(StopMode.DRAIN, 0.0)
    if way == "fence":
        rig.fence()
    elif way == "down":
        rig.down()

    assert rig.consume.reason is EndReason.CLOSED


def test_a_drain_ends_the_open_pulls_at_once_and_waits_for_no_deadline():
    rig = Rig(max_messages=10)
    rig.status(503)
    rig.consume.told(StopMode.DRAIN, 0.0)
    assert (rig.consume.pulls(0.0), rig.consume.deadline) == ((), None)
    other = Rig(max_messages=10)
    other.consume.told(StopMode.DRAIN, 0.0)

    assert (other.consume.pulls(0.0), other.consume.deadline) == ((), None)
    assert other.consume.ledger.counts == {EndReason.CLOSED: 1}


def test_a_stop_waits_for_open_pulls_and_for_no_delay():
    rig = Rig(max_messages=10, threshold_messages=8, expires=30.0)
    first = rig.token
    rig.data(2)
    rig.take(2)
    rig.status(503)
    assert rig.consume.deadline == 0.25
    rig.consume.told(StopMode.STOP, 0.0)

    assert list(rig.consume.ledger.open) == [first]
    assert rig.consume.deadline == 30.0


def test_the_last_message_that_is_wished_for_is_asked_for_alone():
    rig = Rig(max_messages=2, stop_after=3)
    assert [pull["batch"] for pull in rig.pulls()] == [2]
    rig.data(2)
    rig.take(2)

    assert [pull["batch"] for pull in rig.pulls()] == [1]


def test_bytes_of_an_inbox_that_was_given_up_leave_less_to_ask_for():
    rig = Rig(max_bytes=1000)
    old = rig.port.sid
    rig.status(409, "Leadership Change")
    rig.data(1, size=400, sid=old)
    rig.said()
    rig.tick(rig.consume.deadline)

    assert [pull["max_bytes"] for pull in rig.pulls()] == [600]


def test_after_a_message_the_first_delay_is_short_again():
    rig = Rig(max_messages=2)
    for delay in (0.25, 0.5):
        rig.status(503)
        assert rig.consume.deadline == rig.now + delay
        rig.tick(rig.consume.deadline)
    rig.data(1)
    rig.status(503)

    assert rig.consume.deadline == rig.now + 0.25


def test_nobody_there_is_said_again_after_a_message():
    rig = Rig(max_messages=2)
    rig.status(503)
    assert rig.notices() == [PullNotice.NO_RESPONDERS]
    rig.tick(rig.consume.deadline)
    rig.data(1)
    rig.status(503)

    assert rig.notices() == [PullNotice.NO_RESPONDERS]


def test_a_byte_budget_that_is_used_up_exactly_ends_its_pull_without_a_word():
    rig = Rig(max_bytes=1000)
    rig.data(2, size=500)

    assert rig.consume.pulls(0.0) == ()
    assert rig.consume.ledger.counts == {EndReason.BYTES_SPENT: 1}


def test_a_full_batch_gives_back_the_bytes_that_it_left_over_though_another_pull_is_open():
    rig = Rig(max_messages=4, within_bytes=1000, threshold_bytes=900)
    rig.data(1, size=200)
    rig.take()
    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(4, 1000), (1, 200)]
    rig.data(3, size=100)

    assert rig.consume.asked == 200


def test_what_a_full_batch_left_over_is_asked_for_as_it_comes():
    rig = Rig(max_messages=4, within_bytes=1000)
    rig.data(3, size=60)
    rig.take(2)
    assert len(rig.pulls()) == 1
    rig.data(1, size=60)

    assert [(pull["batch"], pull["max_bytes"]) for pull in rig.pulls()] == [(2, 880)]


def test_a_pin_is_told_once_and_kept_over_messages_that_name_none():
    rig = Rig(max_messages=10, group="g")
    rig.data(1)
    assert (rig.consume.pin, rig.notices()) == ("", [])
    for block in (
        b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n",
        b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n",
        None,
    ):
        rig.data(1, block=block)

    assert (rig.consume.pin, rig.notices()) == ("abc", [PullNotice.PINNED])


def test_a_word_on_an_inbox_that_was_given_up_is_no_sign_of_life():
    rig = Rig(max_messages=10, expires=30.0, idle_heartbeat=1.0)
    old, token = rig.port.sid, rig.token
    rig.tick(2.0)
    rig.notices()
    rig.at(3.0).status(100, "Idle Heartbeat", sid=old, token=token)

    assert (rig.notices(), rig.consume.strays) == ([], 1)
    assert rig.consume.deadline == 4.0


def test_a_status_below_400_that_nobody_knows_is_told_with_what_it_says():
    rig = Rig()
    rig.status(299, "News")
    ((kind, detail),) = rig.port.notices

    assert kind is PullNotice.UNKNOWN_STATUS
    assert isinstance(detail, errors.UnknownStatus)
    assert "299 'News'" in str(detail)


def test_a_number_that_no_sequence_can_be_is_no_gap():
    rig = Rig(max_messages=10, watch_gaps=True)
    rig.data(1)
    rig.status(100, "Idle Heartbeat", f"Nats-Last-Consumer: {'9' * 20}\r\n")
    assert rig.notices() == []
    rig.status(100, "Idle Heartbeat", f"Nats-Last-Consumer: {'9' * 19}\r\n")

    assert rig.notices() == [PullNotice.GAP]


@pytest.mark.parametrize(
    ("code", "text", "kind", "error"),
    [
        (400, "Bad Request - oh", PullNotice.REFUSED, errors.BadRequestStatus),
        (409, "Consumer Deleted", PullNotice.CONSUMER_DELETED, errors.ConsumerDeleted),
        (409, "Leadership Change", PullNotice.LEADERSHIP_CHANGED, errors.LeadershipChanged),
        (409, "Server Shutdown", PullNotice.SERVER_SHUTDOWN, errors.ServerShutdown),
        (503, "", PullNotice.NO_RESPONDERS, NoResponders),
        (409, "Exceeded MaxWaiting", PullNotice.LIMIT_EXCEEDED, errors.PullLimitExceeded),
        (423, "Nats-Wrong-Pin-Id", PullNotice.PIN_LOST, errors.PinLost),
        (499, "News", PullNotice.UNKNOWN_STATUS, errors.UnknownStatus),
    ],
)
def test_every_bad_end_is_told_with_an_error_that_names_the_consumer(code, text, kind, error):
    rig = Rig()
    rig.status(code, text)
    ((told, detail),) = rig.port.notices

    assert (told, type(detail)) == (kind, error)
    assert NEXT in str(detail)


def test_a_message_that_is_too_large_is_told_with_an_error_that_names_the_consumer():
    rig = Rig(max_bytes=100)
    rig.status(409, "Message Size Exceeds MaxBytes", pending(1_000_000, 100))
    ((told, detail),) = rig.port.notices

    assert (told, type(detail)) == (PullNotice.MESSAGE_TOO_LARGE, errors.NextMessageTooLarge)
    assert NEXT in str(detail)


def test_a_deleted_consumer_that_is_waited_for_is_told_with_an_error():
    rig = Rig(on_deleted=OnDeleted.RETRY)
    rig.status(409, "Consumer Deleted")
    ((told, detail),) = rig.port.notices

    assert (told, type(detail)) == (PullNotice.CONSUMER_DELETED, errors.ConsumerDeleted)
    assert rig.consume.deadline == 1.0


def test_silence_is_told_with_an_error_that_says_how_long_it_was():
    rig = Rig(expires=30.0, idle_heartbeat=1.5)
    rig.tick(3.0)
    ((told, detail),) = rig.port.notices

    assert told is PullNotice.HEARTBEAT_MISSED
    assert (
        str(detail)
        == f"expected a heartbeat every 1.5 s for a pull on {NEXT}, nothing came for 3 s"
    )


def test_a_server_that_named_a_limit_twice_is_believed_both_times_but_never_upwards():
    rig = Rig(max_messages=100, expires=30.0)
    for limit in (10, 50, 5):
        rig.status(409, f"Exceeded MaxRequestBatch of {limit}")
        rig.tick(rig.consume.deadline)

    assert [pull["batch"] for pull in rig.pulls()] == [100, 10, 10, 5]


def test_a_limit_of_nothing_is_no_limit():
    rig = Rig(max_messages=100)
    rig.status(409, "Exceeded MaxRequestExpires of 0s")
    rig.tick(rig.consume.deadline)

    assert [pull["expires"] for pull in rig.pulls()] == [30_000_000_000, 30_000_000_000]


def two_pulls() -> tuple[Rig, str]:
    """Ten were asked for, two came and were taken, and two more were asked for; with the token of
    the first pull.
    """
    rig = Rig(max_messages=10, threshold_messages=8)
    first = rig.token
    rig.data(2)
    rig.take(2)
    assert [pull["batch"] for pull in rig.pulls()] == [10, 2]
    return rig, first


def test_the_numbers_of_a_status_say_what_will_not_come_whatever_was_credited():
    rig, first = two_pulls()
    rig.status(408, "Request Timeout", pending(4), token=first)

    assert [pull["batch"] for pull in rig.pulls()] == [4]
    assert [pull.owed for pull in rig.consume.pulls(0.0)] == [2, 4]


def test_a_request_that_was_never_begun_is_settled_whole_and_what_was_credited_to_it_belongs_to_others():
    rig, first = two_pulls()
    rig.status(409, "Exceeded MaxWaiting", token=first)

    assert (rig.consume.asked, rig.consume.pulls(0.0)) == (0, ())
    assert rig.consume.deadline == 0.25


def test_a_request_that_came_to_nothing_is_settled_by_what_it_still_owed():
    rig, first = two_pulls()
    rig.status(404, "No Messages", token=first)

    assert [pull["batch"] for pull in rig.pulls()] == [8]
    assert [pull.owed for pull in rig.consume.pulls(0.0)] == [2, 8]


@pytest.mark.parametrize(
    ("code", "text", "headers"),
    [
        (408, "Request Timeout", pending(500)),
        (409, "Message Size Exceeds MaxBytes", pending(1_000_000, 100)),
    ],
)
def test_whoever_ends_a_pull_was_there_and_his_absence_is_said_anew(code, text, headers):
    rig = Rig(max_bytes=100)
    rig.status(503)
    rig.tick(rig.consume.deadline)
    rig.status(code, text, headers)
    if not rig.consume.pulls(rig.now):
        rig.tick(rig.consume.deadline)
    rig.notices()
    rig.status(503)

    assert rig.notices() == [PullNotice.NO_RESPONDERS]


def test_pulls_that_silence_ended_are_counted_as_that():
    rig = Rig(expires=30.0, idle_heartbeat=1.0)
    rig.tick(2.0)

    assert rig.consume.ledger.counts == {EndReason.SILENT: 1}


def test_a_lost_pin_leaves_none():
    rig = Rig(max_messages=10, group="g")
    rig.data(1, block=b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n")
    rig.status(423, "Nats-Wrong-Pin-Id")

    assert rig.consume.pin == ""


def test_asking_again_into_silence_postpones_no_alarm():
    """Found by the simulator: two pulls in turns, each asked anew when it was overdue, and nobody
    heard of the silence.
    """
    rig = Rig(
        max_messages=2, threshold_messages=1, expires=5.0, idle_heartbeat=2.5, heartbeat_factor=2.4
    )
    rig.at(3.0).data(1)
    rig.consume.take(3.0)
    rig.said()
    rig.tick(8.99)
    assert rig.notices() == []
    rig.tick(9.0)

    assert rig.notices() == [PullNotice.HEARTBEAT_MISSED]
    assert any(isinstance(each, Sub) for each in rig.said())


def test_a_pull_that_is_overdue_and_after_which_nothing_came_takes_its_inbox_with_it():
    """Found by the simulator: its message was on its way, was credited to another pull, and one too
    many was open for ever.
    """
    rig = Rig(max_messages=1, expires=5.0, idle_heartbeat=2.5, heartbeat_factor=3.0)
    rig.said()
    before = rig.port.sid
    rig.tick(5.99)
    assert rig.said() == []
    rig.tick(6.0)

    assert rig.port.sid != before
    assert [type(each) for each in rig.said()] == [Unsub, Sub, Publish]
    assert rig.consume.ledger.counts == {EndReason.DEADLINE: 1}
    rig.data(1, sid=before)
    assert (rig.consume.asked, rig.consume.readable) == (1, 1)


def test_a_pull_that_is_overdue_takes_its_inbox_with_it_though_something_came_since():
    """Found by the simulator: what it still owed had gone into a partition and was credited to the
    pull behind it, for ever.
    """
    rig = Rig(
        max_messages=4, threshold_messages=2, expires=5.0, idle_heartbeat=2.5, heartbeat_factor=3.0
    )
    before = rig.port.sid
    rig.at(3.0).data(2)
    rig.take(2)
    rig.said()
    rig.tick(6.0)

    assert rig.port.sid != before
    assert [type(each) for each in rig.said()] == [Unsub, Sub, Publish]
    rig.at(7.0).data(2, sid=before)
    assert (rig.consume.asked, rig.consume.readable) == (4, 2)


def test_a_fresh_inbox_for_an_overdue_pull_postpones_no_alarm():
    rig = Rig(max_messages=1, expires=5.0, idle_heartbeat=2.5, heartbeat_factor=4.0)
    for now in (6.0, 9.99):
        rig.tick(now)
        assert rig.notices() == []
    rig.tick(10.0)

    assert rig.notices() == [PullNotice.HEARTBEAT_MISSED]
    assert rig.consume.ledger.counts == {EndReason.DEADLINE: 1, EndReason.SILENT: 1}


# ------------------------------------------------------------------ a consumer that is not there


def gone(err_code=10014, description="consumer not found"):
    error = {"code": 404, "err_code": err_code, "description": description}
    return json.dumps(
        {"type": "io.nats.jetstream.api.v1.consumer_info_response", "error": error}
    ).encode()


def asked(rig):
    """The reply subjects of the questions whether the consumer is there, since the last look."""
    return [each.reply for each in rig.said() if isinstance(each, Publish) and each.subject == INFO]


def answered(rig, reply, body, block=None):
    rig.consume.replied(int(reply.rpartition(".")[2]), ("1", reply, "", block, body), rig.now)


@pytest.mark.parametrize(
    ("err_code", "kind"), [(10014, api_errors.ConsumerNotFound), (10059, api_errors.StreamNotFound)]
)
def test_a_consumer_that_is_not_there_ends_it_with_a_typed_error(err_code, kind):
    rig = Rig()
    rig.status(503)
    [reply] = asked(rig)
    answered(rig, reply, gone(err_code))

    assert rig.notices() == [PullNotice.NO_RESPONDERS, PullNotice.CONSUMER_DELETED]
    assert rig.consume.reason is EndReason.DELETED
    with pytest.raises(kind):
        rig.consume.take(rig.now)


def test_the_error_names_what_removes_a_consumer_that_nobody_pulls_from():
    rig = Rig(inactive_threshold=2.0)
    rig.status(503)
    answered(rig, asked(rig)[0], gone())

    with pytest.raises(
        api_errors.ConsumerNotFound,
        match=r"consumer not found; .*inactive_threshold \(2 s\).*stream S, consumer C",
    ):
        rig.consume.take(rig.now)


@pytest.mark.parametrize(
    ("body", "block"),
    [
        (
            b'{"type":"io.nats.jetstream.api.v1.consumer_info_response","stream_name":"S","name":"C","config":{}}',
            None,
        ),
        (
            b'{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}',
            None,
        ),
        (b"", b"NATS/1.0 503\r\n\r\n"),
        (b"not JSON", None),
    ],
)
def test_any_other_answer_changes_nothing(body, block):
    rig = Rig()
    rig.status(503)
    [reply] = asked(rig)
    answered(rig, reply, body, block)

    assert not rig.consume.ended
    rig.tick(rig.consume.deadline)
    assert len(rig.pulls()) == 1


def test_who_waits_for_a_consumer_is_told_once_and_goes_on_when_it_is_there():
    rig = Rig(on_deleted=OnDeleted.RETRY)
    for _ in range(3):
        rig.status(503)
        answered(rig, asked(rig)[0], gone())
        rig.tick(rig.consume.deadline)
        assert rig.consume.deadline is not None
    assert rig.notices() == [PullNotice.NO_RESPONDERS, PullNotice.CONSUMER_DELETED]
    rig.data()
    rig.status(503)
    answered(rig, asked(rig)[0], gone())

    assert rig.notices() == [PullNotice.NO_RESPONDERS, PullNotice.CONSUMER_DELETED]


def test_an_answer_to_an_older_question_or_behind_the_end_says_nothing():
    rig = Rig()
    rig.status(503)
    [first] = asked(rig)
    rig.tick(rig.consume.deadline)
    rig.status(503)
    [second] = asked(rig)
    answered(rig, first, gone())
    assert not rig.consume.ended
    rig.consume.told(StopMode.DRAIN, rig.now)
    answered(rig, second, gone())

    assert (rig.consume.state, rig.consume.error) == (ConsumeState.DRAINING, None)


def test_silence_is_asked_about_once():
    rig = Rig(expires=30.0, idle_heartbeat=5.0)
    rig.tick(10.0)

    assert len(asked(rig)) == 1
    rig.tick(20.0)
    assert asked(rig) == []


@pytest.mark.parametrize("subject", ["some.other.subject", "CONSUMER.MSG.NEXT.S.C"])
def test_a_subject_that_names_no_consumer_is_not_asked_about(subject):
    consume = Consume(subject, ConsumeOptions())
    consume.port = Port()
    consume.opened(0.0)
    token = next(iter(consume.ledger.open))
    consume.delivered([(consume.port.sid, token, "", b"NATS/1.0 503\r\n\r\n", b"")], 0.0)

    assert [each.subject for each in consume.port.commands if isinstance(each, Publish)] == [
        subject
    ]


# ------------------------------------------------------------------ a pin is the server's only if the consumer pins

STORED = b"NATS/1.0\r\nNats-Pin-Id: abc\r\n\r\n"


def ids(pulls):
    return [each.get("id") for each in pulls]


def test_a_pin_that_the_server_does_not_take_is_forgotten_for_good():
    rig = Rig(max_messages=4, group="jobs")
    rig.data(2, block=STORED)
    for _ in range(2):
        rig.consume.take(0.0)
    rig.data(2, block=STORED)
    assert ids(rig.pulls())[-1] == "abc"
    rig.notices()
    rig.status(400, "Bad Request - Not a Pinned Client Priority consumer")

    assert rig.notices() == [PullNotice.PIN_LOST]
    for _ in range(2):
        rig.consume.take(0.0)
    rig.data(4, block=STORED)
    for _ in range(4):
        rig.consume.take(0.0)
    assert set(ids(rig.pulls())) == {None}
    assert (rig.consume.pin, rig.consume.ended) == ("", False)


def test_a_bad_request_without_a_pin_is_still_the_end():
    rig = Rig(group="jobs")
    rig.status(400, "Bad Request")

    assert rig.consume.ended


@pytest.mark.parametrize(("pinned", "pin"), [(False, ""), (True, "abc"), (None, "abc")])
def test_what_is_known_of_the_consumer_decides_about_its_pins(pinned, pin):
    rig = Rig(group="jobs", pinned=pinned)
    rig.data(block=STORED)

    assert rig.consume.pin == pin


def test_a_pinned_consumer_that_refuses_ends_it():
    rig = Rig(max_messages=4, group="jobs", pinned=True)
    rig.data(block=STORED)
    rig.status(400, "Bad Request")

    assert rig.consume.ended


def test_a_stored_pin_counts_among_the_bytes_of_a_consumer_that_pins_nobody():
    rig = Rig(max_bytes=10_000, group="jobs", pinned=False)
    plain = Rig(max_bytes=10_000, group="jobs", pinned=True)
    for each in (rig, plain):
        each.data(block=STORED)

    assert plain.consume.asked - rig.consume.asked == len(STORED)
