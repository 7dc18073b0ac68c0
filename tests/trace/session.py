"""A session in which our own machines do everything right, recorded frame by frame, and the means
to make a faulty one of it.

`recorded` plays it: a consume with acks of every kind, a push subscription with flow control, an
ordered consumer, a member of a group, a plain subscription with a maximum, publishes, requests; in
the middle the leader moves, and the link is lost. `Session` is the list of its records; its verbs
change what one party has said, by the text of a frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from attrs import evolve

from jsproto import ENDED, NEED_DATA, Headers
from jsproto.core.connection.options import Options
from jsproto.core.pubsub.subscription import Subscription
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.delivery.ack import ACK, IN_PROGRESS, NAK, Nak, Term
from jsproto.jetstream.delivery.message import JsMessage, Settlement
from jsproto.jetstream.ordered.options import SourceKind
from jsproto.testing import Pair, SimServer
from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Happened, Received, Record, Sent
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.recorder import Recorder
from jsproto.trace.record.tape import Tape

SECOND = 1_000_000_000
EXPLICIT = {"ack_policy": "explicit", "ack_wait": 30 * SECOND}
CONSUMERS = {
    "C": {**EXPLICIT, "max_batch": 100},
    "N": {"ack_policy": "none"},
    "P": {**EXPLICIT, "deliver_subject": "push.P", "flow_control": True, "idle_heartbeat": SECOND},
    "Q": {**EXPLICIT, "deliver_subject": "push.Q", "deliver_group": "workers"},
}


class _Text:
    """A sink in memory."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def close(self) -> None:
        pass


class _Play:
    """The client and the server, and what is open between them."""

    def __init__(self, sink: _Text) -> None:
        self.server = SimServer(version="2.15.1", seed=1)
        self.connection = Recorder(
            Options(servers="nats://sim", ping_interval=30.0),
            entropy=Random(1).randbytes,
            now=0.0,
            tape=Tape(sink, keep=Keep.LENGTH),
        )
        self.pair = Pair(self.connection, self.server)
        self.pair.step()

    def open(self, conversation: Any) -> Any:
        self.connection.open(conversation, self.pair.now)
        self.pair.step()
        return conversation

    def done(self, procedure: Any) -> Any:
        """The result of a procedure."""
        self.open(procedure)
        while (item := self.connection.take(procedure, self.pair.now)) is NEED_DATA:
            self.pair.advance(0.1)
        self.pair.step()
        return item

    def taken(self, feed: Any, most: int = 1000) -> list[JsMessage]:
        """What is at hand."""
        found: list[JsMessage] = []
        while len(found) < most:
            item = self.connection.take(feed, self.pair.now)
            if item is NEED_DATA or item is ENDED:
                break
            found.append(item)
        self.pair.step()
        return found

    def settled(self, messages: list[JsMessage], verb: Any = ACK) -> None:
        for message in messages:
            self.connection.settle(Settlement(message, verb), self.pair.now)
        self.pair.step()

    def published(self, count: int, size: int = 20) -> None:
        """Messages of somebody else."""
        for _ in range(count):
            self.server.publish("s.a", b"x" * size, self.pair.now)
        self.pair.step()


@cache
def recorded() -> bytes:
    """The session, as a trace."""
    sink = _Text()
    play = _Play(sink)
    js = JetStream()
    stream = play.done(js.create_stream(name="S", subjects=["s.*"], allow_direct=True))
    for name, config in CONSUMERS.items():
        play.server.request(f"CONSUMER.DURABLE.CREATE.S.{name}", {
            "stream_name": "S", "config": {**config, "durable_name": name},
        }, play.pair.now)  # fmt: skip
        play.done(stream.consumer(name).info())
    news = Subscription("news.*", limit=10)
    plain = play.open(Subscription("weather"))
    play.open(news)
    consume = play.open(stream.consumer("C").consume(10, expires=10.0, idle_heartbeat=1.0))
    pushed = play.open(js.subscribe("s.*", stream="S", consumer="P"))
    worker = play.open(js.subscribe("s.*", stream="S", consumer="Q", queue="workers"))
    ordered = play.open(stream.ordered(form=SourceKind.PUSH, idle_heartbeat=1.0))
    for number in range(6):
        play.done(
            js.publish(
                "s.b",
                b"a payload of 24 bytes...",
                headers=Headers({"Who": "me"}),
                msg_id=f"id-{number}",
            )
        )
    play.server.publish("news.today", b"nothing new", play.pair.now)
    play.published(40)
    for feed in (pushed, worker, ordered):
        play.settled(play.taken(feed))
    for verb in (
        ACK,
        ACK,
        ACK,
        NAK,
        Nak(3.0),
        Term(),
        Term("bad"),
        Term("worse"),
        IN_PROGRESS,
        ACK,
        ACK,
        ACK,
    ):
        messages = play.taken(consume, 1)
        play.settled(messages, verb)
        if verb is IN_PROGRESS:
            play.pair.advance(1.0)
            play.settled(messages)
    play.pair.advance(3.5)
    play.settled(play.taken(consume))
    for _ in range(3):  # more than half of a window, so that there is a question of flow control
        play.published(20, 60_000)
        for feed in (consume, pushed, worker, ordered):
            play.settled(play.taken(feed))
    play.done(stream.consumer_names())
    while messages := play.taken(consume):
        play.settled(messages)
    play.server.step_down("S", "C", play.pair.now)
    for _ in range(3):
        play.pair.advance(1.2)
        play.published(8)
        for feed in (consume, pushed, worker, ordered):
            play.settled(play.taken(feed))
    play.pair.drop()
    play.pair.advance(2.0)
    play.published(10)
    for _ in range(5):
        for feed in (consume, pushed, worker, ordered):
            play.settled(play.taken(feed))
        play.pair.advance(9.0)
    for feed in (consume, pushed, worker, ordered, plain, news):
        play.connection.close(feed, play.pair.now)
    play.pair.advance(1.0)
    play.done(stream.info())
    play.connection.close(None, play.pair.now)
    play.pair.advance(10.0)
    return sink.text.encode()


class Session:
    """Records that can be changed. What is looked for is a pattern in the text of one frame; the
    first that fits counts.

    Attributes:
        records: in order, with their times.
    """

    def __init__(self, trace: bytes) -> None:
        self.records: list[Record] = [record for _, record in read_trace(trace).records()]

    def at(self, pattern: str, *, way: type[Sent | Received] = Sent, behind: int = -1) -> int:
        """The place of a frame."""
        look = re.compile(pattern.encode(), re.DOTALL).search
        for place, record in enumerate(self.records):
            if place > behind and isinstance(record, way) and look(record.data):
                return place
        raise AssertionError(f"no frame of the session has {pattern} behind {behind}")

    def all(self, pattern: str) -> list[int]:
        """The places of all frames of the client that fit."""
        look = re.compile(pattern.encode(), re.DOTALL).search
        return [
            place
            for place, each in enumerate(self.records)
            if isinstance(each, Sent) and look(each.data)
        ]

    def sent(self, pattern: str, *, behind: int = -1) -> bytes:
        """What the client says."""
        record = self.records[self.at(pattern, behind=behind)]
        assert isinstance(record, Sent)
        return record.data

    def everywhere(self, old: bytes, new: bytes, *, behind: int = -1) -> Session:
        """Both parties say something otherwise."""
        self.records = [
            evolve(each, data=each.data.replace(old, new))
            if place > behind and isinstance(each, Sent | Received)
            else each
            for place, each in enumerate(self.records)
        ]
        return self

    def lost(self) -> int:
        """The place at which the link is lost."""
        return next(
            place
            for place, each in enumerate(self.records)
            if isinstance(each, Happened) and each.name == "lost"
        )

    def drop(self, pattern: str, *, behind: int = -1) -> Session:
        """The client does not say it."""
        del self.records[self.at(pattern, behind=behind)]
        return self

    def drop_all(self, pattern: str, *, behind: int = -1) -> Session:
        """The client never says it any more."""
        look = re.compile(pattern.encode(), re.DOTALL).search
        self.records = [
            each
            for place, each in enumerate(self.records)
            if place <= behind or not isinstance(each, Sent) or not look(each.data)
        ]
        return self

    def again(self, pattern: str, *, times: int = 1, behind: int = -1) -> Session:
        """The client says it once more, or more often."""
        place = self.at(pattern, behind=behind)
        self.records[place:place] = [self.records[place]] * times
        return self

    def said(
        self, *frames: bytes, after: str, way: type[Sent | Received] = Sent, behind: int = -1
    ) -> Session:
        """The client says something more; what begins with ``<`` is the server's."""
        place = self.at(after, way=way, behind=behind)
        now, conn = self.records[place].at, self.records[place].conn
        self.records[place + 1 : place + 1] = [
            Received(at=now, conn=conn, data=each[1:])
            if each.startswith(b"<")
            else Sent(at=now, conn=conn, data=each)
            for each in frames
        ]
        return self

    def changed(
        self,
        pattern: str,
        new: bytes | Callable[[bytes], bytes],
        *,
        old: str = "",
        behind: int = -1,
    ) -> Session:
        """The client says it otherwise: ``new`` in the place of ``old``, or of all; a PUB has its
        size put right.
        """
        place = self.at(pattern, behind=behind)
        record = self.records[place]
        assert isinstance(record, Sent)
        whole = new if isinstance(new, bytes) else new(record.data)
        data = re.sub(old.encode(), lambda _: whole, record.data, count=1) if old else whole
        self.records[place] = evolve(record, data=sized(data))
        return self

    def moved(self, pattern: str, before: str, *, behind: int = -1) -> Session:
        """The client says it earlier than something else."""
        place = self.at(pattern, behind=behind)
        target = self.at(before, behind=behind)
        record = self.records.pop(place)
        self.records.insert(target, evolve(record, at=self.records[target].at))
        return self


def sized(data: bytes) -> bytes:
    """A PUB with the size of its payload; anything else as it is."""
    line, _, rest = data.partition(b"\r\n")
    if not line.startswith(b"PUB ") or not rest.endswith(b"\r\n"):
        return data
    words = line.split(b" ")
    return b" ".join([*words[:-1], b"%d" % (len(rest) - 2)]) + b"\r\n" + rest


def pub(subject: str, body: bytes = b"", reply: str = "", headers: bytes = b"") -> bytes:
    """A PUB, or an HPUB with these header lines."""
    if not headers:
        return f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"
    block = b"NATS/1.0\r\n" + headers + b"\r\n"
    return (
        f"HPUB {subject} {reply} {len(block)} {len(block) + len(body)}\r\n".encode()
        + block
        + body
        + b"\r\n"
    )
