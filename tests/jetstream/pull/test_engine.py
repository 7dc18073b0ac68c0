"""`PullEngine`: what each event does to the credit, the open pulls, the retry delay and the watch."""

from __future__ import annotations

import json

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.engine import PullEngine
from jsproto.jetstream.pull.request import Pull, message_size
from jsproto.jetstream.status import EndReason, Limit, judge

NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"
FRAME = ("1", "s.a", "$JS.ACK.S.C.1.1.1.1.0", b"NATS/1.0\r\nNats-Pin-Id: p\r\n\r\n", b"abc")


class Rig:
    """An engine with a port that is up."""

    def __init__(self, **options: object) -> None:
        self.options = ConsumeOptions(**options)
        self.engine = PullEngine(self.options)
        self.port = Port()
        self.port.subscribe()
        self.port.commands.clear()

    def ask(self, now: float = 0.0, **more: object) -> bytes | None:
        """Ask for what the credit allows; gives the body that went out."""
        request = self.engine.credit.request()
        if request is None or not self.engine.may_ask(now):
            return None
        self.engine.ask(self.port, NEXT, request, now, **more)
        self.engine.liveness.asked(now)
        sent = self.port.commands.pop()
        assert sent.subject == NEXT
        assert sent.reply == self.pull.token
        return sent.payload

    @property
    def pull(self) -> Pull:
        return list(self.engine.ledger.open.values())[-1]


@pytest.mark.parametrize(
    ("expires", "until"), [(1.0, 2.0), (10.0, 11.0), (30.0, 33.0), (50.0, 55.0), (600.0, 605.0)]
)
def test_a_pull_is_overdue_a_tenth_of_its_expiry_later_but_within_1_to_5_s(expires, until):
    rig = Rig(expires=expires)
    rig.ask(7.0)

    assert (rig.pull.until, rig.engine.deadline) == (7.0 + until, 7.0 + until)
    assert not rig.engine.ticked(6.9 + until)
    assert rig.engine.ticked(7.0 + until)


def test_a_pull_lowers_the_credit_and_carries_what_is_put_before_and_into_its_body():
    rig = Rig(max_messages=10, group="g")
    body = rig.ask(verb=b"+NXT ", pin="p")

    assert body.startswith(b"+NXT {")
    assert json.loads(body[5:])["batch"] == 10
    assert json.loads(body[5:])["id"] == "p"
    assert (rig.engine.credit.lead.asked, rig.engine.credit.request()) == (10, None)


def test_received_says_when_pulls_have_ended_by_it_or_none_was_open():
    rig = Rig(max_messages=2)
    rig.ask()

    assert not rig.engine.received(1, 0)
    assert rig.engine.received(1, 0)
    assert rig.engine.received(1, 0)
    assert rig.engine.ledger.counts == {EndReason.FILLED: 1}


def test_a_pull_that_is_full_by_bytes_gives_back_the_messages_that_it_had_room_for():
    rig = Rig(max_messages=10, within_bytes=100)
    rig.ask()

    assert rig.engine.received(1, 100)
    assert (rig.engine.credit.messages.asked, rig.engine.credit.messages.level) == (0, 1)
    assert not rig.engine.liveness.watching


def test_messages_reset_the_growth_of_the_delay_but_not_the_delay_that_runs():
    rig = Rig(max_messages=2)
    rig.ask()
    rig.engine.backoff.failed(1.0)
    rig.engine.received(2, 0)
    rig.engine.credit.taken(2, 0)

    assert rig.engine.backoff.failures == 0
    assert rig.ask(1.1) is None
    assert rig.engine.retry_at == 1.25
    assert rig.engine.deadline == 1.25
    assert not rig.engine.ticked(1.2)
    assert rig.engine.retry_at == 1.25
    assert not rig.engine.ticked(1.25)
    assert rig.engine.deadline is None
    assert rig.ask(1.25) is not None


def test_a_restart_forgets_the_delay_and_that_only_the_whole_may_be_asked_for():
    rig = Rig(max_bytes=1000)
    rig.ask()
    rig.engine.received(1, 600)
    rig.engine.end_all(EndReason.RESET)
    assert not rig.engine.credit.did_not_fit(400)
    rig.engine.backoff.failed(0.0)
    rig.engine.credit.taken(1, 200)
    assert rig.engine.credit.request() is None
    rig.engine.restart()

    assert json.loads(rig.ask(0.0))["max_bytes"] == 600


def test_the_last_pull_that_ends_resets_the_credit_and_stops_the_watch_the_others_do_not():
    rig = Rig(max_messages=10)
    rig.ask()
    first = rig.pull
    rig.engine.received(6, 0)
    rig.engine.credit.taken(6, 0)
    rig.ask(1.0)
    row = judge(408, "Request Timeout")
    rig.engine.pull_ended(
        first, row, b"NATS/1.0 408 x\r\nNats-Pending-Messages: 4\r\nNats-Pending-Bytes: 0\r\n\r\n"
    )

    assert (rig.engine.credit.lead.asked, rig.engine.liveness.watching) == (6, True)
    rig.engine.pull_ended(rig.pull, row, b"NATS/1.0 408 x\r\n\r\n")
    assert (rig.engine.credit.lead.asked, rig.engine.liveness.watching) == (0, False)
    assert rig.engine.ledger.counts == {EndReason.EXPIRED: 2}


def test_end_all_leaves_the_retry_and_stop_does_not():
    rig = Rig(max_messages=10)
    rig.ask()
    rig.engine.retry_at = 9.0
    rig.engine.end_all(EndReason.RESET)

    assert (rig.engine.credit.lead.asked, rig.engine.liveness.watching) == (0, False)
    assert (rig.engine.ledger.open, rig.engine.deadline) == ({}, 9.0)
    rig.ask(1.0)
    rig.engine.stop(EndReason.CLOSED)
    assert rig.engine.deadline is None
    assert rig.engine.ledger.counts == {EndReason.RESET: 1, EndReason.CLOSED: 1}


def test_the_earlier_of_retry_and_overdue_is_the_deadline():
    rig = Rig(expires=10.0)
    rig.ask()
    for at, first in ((5.0, 5.0), (20.0, 11.0)):
        rig.engine.retry_at = at
        assert rig.engine.deadline == first


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({"max_messages": 100}, (20, None)),
        ({"max_bytes": 1000}, (None, 20)),
        ({"max_messages": 100, "within_bytes": 1000}, (20, 20)),
    ],
)
def test_a_limit_of_the_server_narrows_what_it_bounds_where_that_is_bounded(options, limits):
    rig = Rig(**options)
    for bound in (Limit.BATCH, Limit.MAX_BYTES, None):
        rig.engine.narrow(bound, 20.0)
    credit = rig.engine.credit

    assert tuple(each and each.limit for each in (credit.messages, credit.size)) == limits


def test_a_limit_of_the_expiry_shortens_requests_heartbeats_and_the_deadline_and_is_restored():
    rig = Rig(max_messages=4, expires=30.0)
    for no_limit in (0.0, -1.0, 30.0, 31.0):
        rig.engine.narrow(Limit.EXPIRES, no_limit)
        assert rig.engine.liveness.heartbeat == 15.0
    rig.engine.narrow(Limit.EXPIRES, 10.0)
    again = Rig(max_messages=4, expires=30.0)
    again.engine.restore(rig.engine.snapshot())

    for each in (rig, again):
        body = json.loads(each.ask())
        assert (body["expires"], body["idle_heartbeat"]) == (10_000_000_000, 5_000_000_000)
        assert each.pull.until == 11.0
    assert rig.engine.liveness.heartbeat == 5.0


def test_the_pin_header_counts_only_where_no_server_can_have_added_it():
    size = message_size(FRAME)

    assert Rig(max_messages=4).engine.size([FRAME, FRAME]) == 0
    assert Rig(max_bytes=1000).engine.size([FRAME, FRAME]) == 2 * size
    assert Rig(max_bytes=1000, group="g", pinned=False).engine.size([FRAME]) == size
    pinned = Rig(max_bytes=1000, group="g").engine.size([FRAME, FRAME])
    assert pinned == 2 * (size - len(FRAME[3]))
