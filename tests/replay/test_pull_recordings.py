"""What real servers said to pulls, fed to our machines: every pull ends once, by what the server
said, and no counter drifts.

A recording shows one client's pulls. Where a pull was alone on its inbox, a `Fetch` takes its place
and hears what the server answered. Where several shared an inbox, their statuses can't be told
apart, so a `PendingPulls` follows the sum. The recordings of a small reference loop (``consume_*``)
hold its counters: a `Consume` in its place must ask for the same pulls and count the same. An ack
that is also a pull (``+NXT``) is a pull like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ConnectionLost
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions
from jsproto.jetstream.pull.fetch import Fetch, FetchMode, FetchOptions
from jsproto.jetstream.pull.pending_pulls import PendingPulls
from jsproto.jetstream.pull.request import Pull, message_size
from jsproto.jetstream.status import EndReason, Remainder, StatusAction, judge, pending_of
from jsproto.trace.formats.recording import Happened, Received, Recording, Sent, parse_recording
from jsproto.wire.client_commands import ClientCommandParser, PubLine, SubLine, UnsubLine
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import status_of
from jsproto.wire.parser import Parser
from tests.recordings import folder

Feed = TypeVar("Feed", Fetch[JsMessage], Consume[JsMessage])
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"


PATHS = sorted(
    path
    for kind in ("pull", "consume", "prio", "seed", "cluster", "ack")
    for path in folder().glob(f"*/{kind}_*.jsonl")
)
CONSUMES = [path for path in PATHS if path.name.startswith("consume_")]


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


recorded = pytest.mark.parametrize(
    "path",
    PATHS or [pytest.param(None, marks=pytest.mark.skip("set JSPROTO_TRACES"))],
    ids=label if PATHS else None,
)


# ------------------------------------------------------------------ the timeline of one connection


class Asked(NamedTuple):
    at: float
    reply: str
    body: dict[str, object]


class Heard(NamedTuple):
    at: float
    frame: Delivery


class Gone(NamedTuple):
    at: float


Step = Asked | Heard | Gone


class Line:
    """One connection: what it asked, heard and lost, and which sid an inbox belongs to."""

    def __init__(self, recording: Recording, conn: str) -> None:
        self.sids: dict[str, str] = {}
        self.steps: list[Step] = list(self._read(recording, conn))

    def _read(self, recording: Recording, conn: str) -> Iterator[Step]:
        reader, parser = ClientCommandParser(), Parser(any_sid=True)
        for record in recording.records:
            if getattr(record, "conn", conn) != conn:
                continue
            if isinstance(record, Sent):
                for command in reader.feed(record.data):
                    if isinstance(command, SubLine):
                        self.sids[command.subject] = command.sid
                    elif (
                        isinstance(command, PubLine)
                        and "CONSUMER.MSG.NEXT" in command.subject
                        and command.reply
                    ):
                        yield Asked(record.at, command.reply, body_of(command.payload))
                    elif (
                        isinstance(command, PubLine)
                        and command.subject.startswith("$JS.ACK.")
                        and command.payload.startswith(b"+NXT")
                        and command.reply
                    ):
                        yield Asked(
                            record.at, command.reply, body_of(command.payload.removeprefix(b"+NXT"))
                        )
                    elif isinstance(command, UnsubLine) and not command.limit:
                        yield Gone(record.at)
            elif isinstance(record, Received):
                for frame in parser.feed(record.data):
                    if isinstance(frame, tuple):
                        yield Heard(record.at, frame)
            elif isinstance(record, Happened) and record.name in {"eof", "client_close"}:
                yield Gone(record.at)

    def sid_of(self, reply: str) -> str:
        """The subscription that a reply subject belongs to, ``""`` if there is none."""
        for subject, sid in self.sids.items():
            if subject == reply or (
                subject.endswith((">", "*")) and reply.startswith(subject[:-1])
            ):
                return sid
        return ""


def body_of(payload: bytes) -> dict[str, object]:
    text = payload.strip()
    if text.startswith(b"{"):
        try:
            read = json.loads(text)
        except ValueError:
            return {"batch": 1, "broken": True}
        return read if isinstance(read.get("batch", 1), int) else {"batch": 1, "broken": True}
    return {"batch": int(text) if text.isdigit() else 1}


def lines_of(path: Path) -> list[Line]:
    recording = parse_recording(path.read_bytes())
    return [Line(recording, conn) for conn in recording.connections]


def seconds(body: dict[str, object], name: str) -> float:
    value = body.get(name, 0)
    return value / 1e9 if isinstance(value, int) else 0.0


# ------------------------------------------------------------------ a fetch in the place of each pull


def options_of(body: dict[str, object]) -> FetchOptions:
    """Options that stand for a recorded request; what no client of ours would send is left out."""
    expires = seconds(body, "expires")
    heartbeat = seconds(body, "idle_heartbeat")
    mode = FetchMode.WAIT
    if body.get("no_wait") is True:
        mode = FetchMode.DRAIN_THEN_WAIT if expires > 0 else FetchMode.NO_WAIT
    bounded = expires > 0 and mode is not FetchMode.NO_WAIT
    return FetchOptions(
        max_messages=max(1, int(str(body.get("batch", 1)))),
        max_bytes=int(str(body.get("max_bytes", 0))) or None,
        mode=mode,
        expires=expires if expires > 0 else inf,
        idle_heartbeat=heartbeat if bounded and 0 < heartbeat <= expires / 2 else 0.0,
        group=str(body.get("group", "")),
    )


def put_back(feed: Feed) -> Feed:
    """The same feed, taken out and put back: at every step of a recording this must change nothing."""
    other = type(feed)(feed.subject, feed.options)
    other.port = feed.port
    other.restore(feed.snapshot())
    return other


class Stand:
    """A fetch that hears what was said to a recorded pull, in its own words."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.fetch: Fetch[JsMessage] = Fetch(NEXT, options_of(asked.body))
        self.fetch.port = Port()
        self.fetch.opened(asked.at)
        self.statuses: list[tuple[int, str]] = []
        self.owed_at_end: tuple[int, int] | None = None
        self.pending: tuple[int, int] | None = None

    def hears(self, heard: Heard) -> None:
        _, subject, reply, block, payload = heard.frame
        self.fetch = put_back(self.fetch)
        pull = self.fetch.pull
        assert pull is not None
        if not reply and subject == self.asked.reply:
            subject = pull.token
            status = status_of(block or b"")
            if status is not None and judge(*status).end is not None and not self.fetch.ended:
                self.statuses.append(status)
                self.owed_at_end = (pull.owed, pull.owed_bytes)
                self.pending = pending_of(block or b"")
        self.fetch.delivered([(self.fetch.port.sid, subject, reply, block, payload)], heard.at)


def stands(line: Line) -> Iterator[Stand]:
    """A stand for each pull that was alone on its subscription; others are left out."""
    present: dict[str, Stand] = {}
    shared: set[str] = set()
    for step in line.steps:
        for stand in present.values():
            stand.fetch.ticked(step.at)
        if isinstance(step, Asked):
            sid = line.sid_of(step.reply)
            before = present.get(sid)
            if before is not None and not before.fetch.finished:
                shared.add(sid)
            elif before is not None and sid not in shared:
                yield before
            if sid and sid not in shared:
                present[sid] = Stand(step)
        elif isinstance(step, Heard):
            stand = present.get(step.frame[0])
            if stand is not None and step.frame[0] not in shared:
                stand.hears(step)
        else:
            for stand in present.values():
                stand.fetch.port.up = False
                stand.fetch.link_down(ConnectionLost("the recorded link is gone"), step.at)
    for sid, stand in present.items():
        if sid not in shared:
            yield stand


@recorded
def test_each_pull_that_was_alone_ends_as_the_server_said(path):
    for line in lines_of(path):
        for stand in stands(line):
            fetch = stand.fetch
            pull = fetch.pull
            assert pull is not None
            assert fetch.got <= pull.batch
            assert (fetch.reason is not None) == fetch.ended == (pull.end is not None)
            assert len(stand.statuses) <= 1
            for status in stand.statuses:
                row = judge(*status)
                assert fetch.reason in {row.end, EndReason.TOO_LARGE}
                assert row.verdict is not StatusAction.UNKNOWN


@recorded
def test_what_a_fetch_is_owed_is_what_the_servers_pending_headers_say(path):
    for line in lines_of(path):
        for stand in stands(line):
            status = stand.statuses[0] if stand.statuses else (0, "")
            if (
                stand.pending is None
                or "broken" in stand.asked.body
                or judge(*status).end is EndReason.RESET
            ):
                continue
            assert stand.owed_at_end is not None
            messages, size = stand.pending
            if int(str(stand.asked.body.get("batch", 1))) > 0:
                assert stand.owed_at_end[0] == messages
            if "max_bytes" in stand.asked.body:
                assert stand.owed_at_end[1] == size


@recorded
def test_a_fetch_hands_out_every_message_and_nothing_else(path):
    for line in lines_of(path):
        for stand in stands(line):
            fetch = stand.fetch
            items = fetch.backlog.frames()
            assert len(items) == fetch.got
            assert all(frame[2].startswith("$JS.ACK.") for frame in items)


def test_the_recordings_show_most_ends():
    if not PATHS:
        pytest.skip("set JSPROTO_TRACES")
    seen = {
        stand.fetch.reason for path in PATHS for line in lines_of(path) for stand in stands(line)
    }

    assert seen >= {
        None,
        EndReason.FILLED,
        EndReason.NO_MESSAGES,
        EndReason.EXPIRED,
        EndReason.BYTES_SPENT,
        EndReason.TOO_LARGE,
        EndReason.REFUSED,
        EndReason.NO_RESPONDERS,
        EndReason.DELETED,
        EndReason.FATAL,
        EndReason.RESET,
        EndReason.DISCONNECTED,
    }


# ------------------------------------------------------------------ a ledger over all pulls of a subscription


@recorded
def test_over_all_pulls_of_an_inbox_the_sum_never_goes_wrong(path):
    for line in lines_of(path):
        ledgers: dict[str, PendingPulls] = {}
        replies: dict[str, str] = {}
        for number, step in enumerate(line.steps):
            if isinstance(step, Asked):
                batch, size = (
                    max(1, int(str(step.body.get("batch", 1)))),
                    int(str(step.body.get("max_bytes", 0))),
                )
                token = f"{step.reply}#{number}"
                replies[token] = step.reply
                ledgers.setdefault(line.sid_of(step.reply), PendingPulls()).issue(
                    Pull(token, batch, size, step.at)
                )
            elif isinstance(step, Heard) and step.frame[0] in ledgers:
                follow(ledgers[step.frame[0]], step.frame, replies)
            elif isinstance(step, Gone):
                for ledger in ledgers.values():
                    ledger.end_all(EndReason.DISCONNECTED)
            for ledger in ledgers.values():
                for pull in ledger.open.values():
                    assert 0 <= pull.got < pull.batch
                    assert pull.end is None
                assert all(pull.end is not None for pull in ledger.filled.values())


def follow(ledger: PendingPulls, frame: Delivery, replies: dict[str, str]) -> None:
    """One frame for a ledger. A status on a shared inbox goes to the pull that its numbers fit,
    else to the oldest.
    """
    _, subject, reply, block, _ = frame
    if reply:
        bounded = any(pull.max_bytes for pull in ledger.open.values())
        ledger.credit(1, message_size(frame) if bounded else 0)
        return
    status = status_of(block or b"")
    named = [pull for pull in ledger.open.values() if replies[pull.token] == subject]
    if status is None or not named:
        return
    row = judge(*status)
    if row.rest is Remainder.ALL:
        for pull in named:
            ledger.settle(pull, EndReason.RESET, Remainder.OWED, None)
    elif row.end is not None:
        pending = pending_of(block or b"")
        fitting = [pull for pull in named if pending is not None and pull.owed == pending[0]]
        before = sum(pull.owed for pull in ledger.open.values())
        settled = ledger.settle((fitting or named)[0], row.end, row.rest, pending)
        after = sum(pull.owed for pull in ledger.open.values())
        assert after == max(0, before - settled.messages) or pending is None or named[0].max_bytes


# ------------------------------------------------------------------ a consume in the place of the reference loop


def expired(frame: Delivery) -> bool:
    status = None if frame[2] else status_of(frame[3] or b"")
    return status is not None and judge(*status).end is EndReason.EXPIRED


@pytest.mark.parametrize(
    "path",
    CONSUMES or [pytest.param(None, marks=pytest.mark.skip("set JSPROTO_TRACES"))],
    ids=label if CONSUMES else None,
)
def test_a_consume_asks_for_the_same_pulls_and_counts_the_same_as_the_recorded_loop(path):
    line = lines_of(path)[0]
    asked = [step for step in line.steps if isinstance(step, Asked)]
    first = asked[0].body
    by_bytes = "max_bytes" in first
    bounds = {"max_bytes": first["max_bytes"]} if by_bytes else {"max_messages": first["batch"]}
    consume: Consume[JsMessage] = Consume(
        NEXT, ConsumeOptions(expires=seconds(first, "expires"), idle_heartbeat=0.5, **bounds)
    )
    consume.port = Port()
    consume.opened(asked[0].at)
    sid = line.sid_of(asked[0].reply)
    taken = 0
    for step in line.steps:
        if not isinstance(step, Heard) or step.frame[0] != sid:
            continue
        _, subject, reply, block, payload = step.frame
        if not reply and subject == asked[0].reply:
            pulls = list(consume.ledger.open.values()) or list(consume.ledger.filled.values())
            subject = pulls[0].token if pulls else subject
        consume = put_back(consume)
        before = consume.asked
        if expired(step.frame):
            # Nothing more comes: what the server says it still owed, over all pulls, is what we
            # think it does.
            assert before == sum(
                (pending_of(each.frame[3] or b"") or (0, 0))[by_bytes]
                for each in line.steps
                if isinstance(each, Heard) and expired(each.frame)
            )
            break
        consume.delivered([(consume.port.sid, subject, reply, block, payload)], step.at)
        if reply:
            cost = message_size(step.frame) if by_bytes else 1
            assert before - consume.asked == cost
            assert isinstance(consume.take(step.at), JsMessage)
            taken += 1
    requests = [
        json.loads(each.payload)
        for each in consume.port.commands
        if isinstance(each, Publish) and each.subject == NEXT
    ]
    numbers = [(each["batch"], each.get("max_bytes")) for each in requests]
    assert numbers[: len(asked)] == [
        (step.body["batch"], step.body.get("max_bytes")) for step in asked
    ]
    assert taken == sum(
        1
        for step in line.steps
        if isinstance(step, Heard) and step.frame[0] == sid and step.frame[2]
    )


# ------------------------------------------------------------------ acks that are pulls

NEXTS = sorted(folder().glob("*/ack_nxt.jsonl"))


@pytest.mark.parametrize(
    "path",
    NEXTS or [pytest.param(None, marks=pytest.mark.skip("set JSPROTO_TRACES"))],
    ids=label if NEXTS else None,
)
def test_an_ack_that_is_also_a_pull_is_counted_as_one_in_each_of_its_forms(path):
    line = lines_of(path)[0]
    ledger = PendingPulls()
    replies: dict[str, str] = {}
    owed: list[int] = []
    for number, step in enumerate(line.steps):
        if isinstance(step, Asked):
            batch = int(str(step.body.get("batch", 1)))
            token = f"{step.reply}#{number}"
            replies[token] = step.reply
            ledger.issue(Pull(token, batch, 0, step.at))
            owed.append(batch)
        elif isinstance(step, Heard):
            follow(ledger, step.frame, replies)

    # The first is a plain pull; then +NXT alone, with a number, with JSON, with JSON close by, and
    # with broken JSON.
    assert owed == [1, 1, 2, 2, 1, 1]
    assert ledger.open == {}
    assert ledger.counts == {EndReason.FILLED: 5, EndReason.FATAL: 1}
