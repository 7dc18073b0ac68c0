"""A range reader on a bare port, and a stream with a leader and a replica that may lag behind it.

The leader answers STREAM.INFO and STREAM.MSG.GET; consumers and direct gets are served by the
replica, which has seen the first ``applied`` changes of the leader. Answers to calls and frames of
the inbox lie in two queues, and a test says when which of them arrive.
"""

from __future__ import annotations

import json
from collections import deque

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ConnectionLost, JsprotoError
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.range_read.options import RangeOptions
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub, Unsub
from jsproto.wire.subjects import subject_matches

API = "$JS.API."
CREATED = "2026-11-27T21:01:15.000000001Z"
LOST = ConnectionLost("the link was lost")


class Store:
    """The messages of a stream, and the changes that made them."""

    def __init__(self) -> None:
        self.messages: dict[int, str] = {}
        self.first, self.last = 1, 0

    def change(self, kind, value) -> None:
        if kind == "add":
            self.last += 1
            self.messages[self.last] = value
        elif kind == "delete":
            self.messages.pop(value, None)
        else:  # everything before
            self.messages = {seq: subject for seq, subject in self.messages.items() if seq >= value}
            self.first = max(self.first, value)
        self.first = max(self.first, min(self.messages, default=self.last + 1))


class Made:
    """A consumer of the replica."""

    def __init__(self, name, config, inbox) -> None:
        self.name = name
        self.config = config
        self.at = config["opt_start_seq"]
        filters = config.get("filter_subjects") or [config.get("filter_subject") or ">"]
        self.filters = filters
        self.sent = 0
        self.inbox = inbox
        self.pulls: deque[list[object]] = deque()


class Rig:
    """The reader is ``reader``; what a user took is ``taken``."""

    def __init__(self, lo=1, hi=11, *, stored=None, up=True, opened=True, stream=None, **options):
        self.now = 0.0
        self.leader, self.replica = Store(), Store()
        self.changes: list[tuple[str, object]] = []
        self.applied = 0
        self.config = {"name": "S", "allow_direct": True, **(stream or {})}
        self.created = CREATED
        #: What its consumers say that they are held by.
        self.version = "2.15.1"
        self.reader = RangeReader(ApiSubjects(), "S", RangeOptions(lo=lo, hi=hi, **options))
        self.reader.port = Port(up=up)
        self.mux: deque[tuple[int, tuple]] = deque()
        self.inbox: deque[tuple] = deque()
        self.consumers: dict[str, Made] = {}
        #: The names of all that were ever made, those that are deleted too.
        self.made: list[str] = []
        self.asked: list[str] = []
        self.bodies: list[tuple[str, dict]] = []
        self.told: list[tuple[object, object]] = []
        self.taken: list[int] = []
        self.error: JsprotoError | None = None
        self.ended = False
        #: What is answered instead: subject behind the API prefix -> (error members | None for
        #: silence).
        self.instead: dict[str, object] = {}
        self.swallow = 0
        for number in range(1, (hi if stored is None else stored + 1)):
            self.add(f"s.{number % 3}")
        self.catch_up()
        if opened:
            self.open()

    def open(self) -> Rig:
        self.reader.opened(self.now)
        self.look()
        return self

    # ------------------------------------------------------------------ the stream

    @property
    def port(self) -> Port:
        return self.reader.port

    def add(self, subject="s.0") -> Rig:
        return self.change("add", subject)

    def change(self, kind, value) -> Rig:
        self.changes.append((kind, value))
        self.leader.change(kind, value)
        return self

    def catch_up(self, count=None) -> Rig:
        """The replica learns the next changes, and its consumers go on."""
        until = len(self.changes) if count is None else min(len(self.changes), self.applied + count)
        for change in self.changes[self.applied : until]:
            self.replica.change(*change)
        self.applied = until
        for consumer in self.consumers.values():
            self._serve(consumer)
        return self

    # ------------------------------------------------------------------ what the reader says

    def look(self) -> list[str]:
        """Work off what it has said; its words, by what they begin with."""
        words = []
        commands, self.port.commands = list(self.port.commands), []
        self.told += self.port.notices
        self.port.notices.clear()
        for each in commands:
            if isinstance(each, Publish):
                subject = each.subject.removeprefix(API)
                words.append(subject)
                self.bodies.append((subject, json.loads(each.payload or b"{}")))
                self._asked(subject, self.bodies[-1][1], each.reply)
            elif isinstance(each, Sub):
                words.append("SUB")
            else:
                assert isinstance(each, Unsub)
                words.append("UNSUB")
        self.asked += words
        return words

    def told_of(self, kind) -> list[object]:
        self.look()
        return [detail for told, detail in self.told if told is kind]

    def body(self, verb) -> dict:
        self.look()
        return [body for subject, body in self.bodies if subject.startswith(verb)][-1]

    def _asked(self, subject, body, reply) -> None:
        for begin, instead in self.instead.items():
            if subject.startswith(begin):
                if instead is not None:
                    self._answer(reply, instead)
                return
        if subject.startswith("STREAM.INFO"):
            state = {
                "messages": len(self.leader.messages),
                "first_seq": self.leader.first,
                "last_seq": self.leader.last,
            }
            self._answer(reply, {"config": self.config, "created": self.created, "state": state})
        elif subject.startswith("STREAM.MSG.GET"):
            self._answer(reply, self._next(body))
        elif subject.startswith("CONSUMER.CREATE"):
            consumer = Made(body["config"]["name"], body["config"], self.port.sid)
            self.consumers[consumer.name] = consumer
            self.made.append(consumer.name)
            info = {
                "stream_name": "S",
                "name": consumer.name,
                "created": CREATED,
                "config": {
                    **body["config"],
                    "metadata": {"_nats.ver": self.version} if self.version else {},
                },
                "delivered": {"consumer_seq": 0, "stream_seq": 0},
                "num_pending": len(self._left(consumer)),
            }
            self._answer(reply, info)
        elif subject.startswith("CONSUMER.DELETE"):
            there = self.consumers.pop(subject.rpartition(".")[2], None)
            error = {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
            self._answer(reply, {"success": True} if there else error)
        elif subject.startswith("CONSUMER.MSG.NEXT"):
            consumer = self.consumers.get(subject.rpartition(".")[2])
            if consumer is None:
                self.status(503, token=reply)
                return
            consumer.pulls.append([reply, body["batch"]])
            self._serve(consumer)
        else:
            assert subject.startswith("DIRECT.GET")
            self._page(body, reply)

    # ------------------------------------------------------------------ the leader

    def _answer(self, reply, members) -> None:
        token = int(reply.rpartition(".")[2])
        block = None
        if isinstance(members, bytes):
            block, body = members, b""
        else:
            body = json.dumps(members).encode()
        self.mux.append((token, ("1", reply, "", block, body)))

    def _next(self, asked) -> dict:
        for seq, subject in self.leader.messages.items():
            if seq >= asked["seq"] and subject_matches(asked["next_by_subj"], subject):
                return {"message": {"subject": subject, "seq": seq, "time": CREATED}}
        return {"error": {"code": 404, "err_code": 10037, "description": "no message found"}}

    # ------------------------------------------------------------------ the replica

    def _left(self, consumer) -> list[int]:
        return [
            seq
            for seq, subject in self.replica.messages.items()
            if seq >= consumer.at
            and any(subject_matches(each, subject) for each in consumer.filters)
        ]

    def _serve(self, consumer) -> None:
        left = self._left(consumer)
        while left and consumer.pulls:
            seq = left.pop(0)
            consumer.at = seq + 1
            consumer.sent += 1
            pull = consumer.pulls[0]
            pull[1] -= 1
            if not pull[1]:
                consumer.pulls.popleft()
            if self.swallow:
                self.swallow -= 1
                continue
            reply = f"$JS.ACK.S.{consumer.name}.1.{seq}.{consumer.sent}.{10**18 + seq}.{len(left)}"
            self.inbox.append((consumer.inbox, self.replica.messages[seq], reply, None, b"x"))

    def _page(self, asked, reply) -> None:
        sid = self.port.sid
        found = [
            (seq, subject)
            for seq, subject in self.replica.messages.items()
            if seq >= asked["seq"] and subject_matches(asked["next_by_subj"], subject)
        ]
        page = found[: asked["batch"]]
        for at, (seq, subject) in enumerate(page):
            block = (
                f"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: {subject}\r\nNats-Sequence: {seq}\r\n"
                f"Nats-Time-Stamp: {CREATED}\r\nNats-Num-Pending: {len(found) - at - 1}\r\n\r\n"
            )
            self.inbox.append((sid, reply, "", block.encode(), b"x"))
        end = (
            f"204 EOB\r\nNats-Num-Pending: {len(found) - len(page)}"
            if page
            else "404 Message Not Found"
        )
        self.inbox.append((sid, reply, "", f"NATS/1.0 {end}\r\n\r\n".encode(), b""))

    def status(self, code, text="", headers="", token="", sid="") -> Rig:
        """A word on a pull, or on a page; it waits in the inbox."""
        block = f"NATS/1.0 {code} {text}".rstrip() + f"\r\n{headers}\r\n"
        self.inbox.append((sid or self.port.sid, token or self.token, "", block.encode(), b""))
        return self

    def heartbeat(self) -> Rig:
        """Each consumer with a pull that waits says what it sent last."""
        for consumer in self.consumers.values():
            for token, _ in list(consumer.pulls)[:1]:
                said = f"Nats-Last-Consumer: {consumer.sent}\r\nNats-Last-Stream: 0\r\n"
                self.status(100, "Idle Heartbeat", said, token=token, sid=consumer.inbox)
        return self

    @property
    def token(self) -> str:
        """The last pull that was sent."""
        return [pull[0] for consumer in self.consumers.values() for pull in consumer.pulls][-1]

    @property
    def pull(self) -> str:
        """The oldest pull that is open, as the reader knows it."""
        return next(iter(self.reader._by_consumer.pulls.engine.ledger.open))

    @property
    def page(self) -> str:
        """The page that is under way, as the reader knows it."""
        return self.reader._by_direct._token

    # ------------------------------------------------------------------ what arrives

    def answer(self) -> Rig:
        """The next answer to a call arrives."""
        token, frame = self.mux.popleft()
        self.reader.replied(token, frame, self.now)
        self.look()
        return self

    def arrive(self, count=None) -> Rig:
        """The next frames of the inbox arrive, as runs of one sid."""
        count = len(self.inbox) if count is None else min(count, len(self.inbox))
        run: list[tuple] = []
        for _ in range(count):
            frame = self.inbox.popleft()
            if run and run[0][0] != frame[0]:
                self.reader.delivered(run, self.now)
                run = []
            run.append(frame)
        if run:
            self.reader.delivered(run, self.now)
        self.look()
        return self

    def feed(self, *frames) -> Rig:
        self.reader.delivered(list(frames), self.now)
        self.look()
        return self

    def settle(self) -> Rig:
        """Everything arrives that is under way."""
        self.look()
        while self.mux or self.inbox:
            if self.mux:
                self.answer()
            else:
                self.arrive()
        return self

    # ------------------------------------------------------------------ time and links

    def tick(self, now) -> Rig:
        self.now = now
        self.reader.ticked(now)
        self.look()
        return self

    def run_to(self, end, *, settle=True, beats=True) -> Rig:
        """Let time pass by its own deadlines, with heartbeats every 5 s."""
        rounds = 0
        while self.now < end:
            deadline = self.reader.deadline
            beat = (self.now // 5 + 1) * 5 if beats else end
            at = min(end, beat, end if deadline is None else max(deadline, self.now))
            if at == beat and self.port.up:
                self.now = at
                self.heartbeat()
                self.arrive()
            self.tick(at)
            if settle:
                self.settle()
            rounds += 1
            assert rounds < 20_000, "it spins"
        return self

    def down(self) -> Rig:
        self.port.up = False
        self.mux.clear()
        self.inbox.clear()
        self.reader.link_down(LOST, self.now)
        self.look()
        return self

    def up(self) -> Rig:
        self.port.up = True
        self.port.renew()
        self.reader.link_up(self.now)
        self.look()
        return self

    # ------------------------------------------------------------------ the user

    def take(self, count=10**6) -> list[int]:
        """The sequences of the next runs at hand."""
        found: list[int] = []
        for _ in range(count):
            try:
                rows = self.reader.take(self.now)
            except JsprotoError as error:
                self.error = error
                self.ended = True
                break
            if rows is NEED_DATA or rows is ENDED:
                self.ended = rows is ENDED
                break
            found += rows.sequences
        self.look()
        self.taken += found
        return found

    def close(self) -> Rig:
        self.reader.closed(None, self.now)
        self.look()
        return self
