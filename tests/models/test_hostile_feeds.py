"""A server that says anything at all to the conversations of JetStream: nothing is raised while
reading the link.

The server answers every question with documents that are right, wrong or absurd, sends data and
statuses to the right addresses with every kind of damage, and lets links come and go. What a reader
is told is an error of our tree and never a bug of a procedure; what is opened ends with the
connection; nothing is asked in a loop.
"""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.options import Options
from jsproto.errors import JsprotoError
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.wire.commands import Publish

JS = JetStream()
EXAMPLES = 40

KINDS = {
    "consume": lambda: JS.stream("S").consumer("C").consume(max_messages=4),
    "fetch": lambda: JS.stream("S").consumer("C").fetch(3),
    "window": lambda: JS.publish_window(max_pending=2, ack_timeout=2.0),
    "push": lambda: PushSubscription(ApiSubjects(), Subscribe(subject="a", stream="S")),
    "ordered": lambda: OrderedConsumer(ApiSubjects(), "S", Messages()),
    "range": lambda: JS.stream("S").read_range(1, 9, max_messages=4),
    "range_direct": lambda: JS.stream("S").read_range(
        1, 9, max_messages=4, way=ReadMode.DIRECT, fail_on_loss=False
    ),
    "publish": lambda: JS.publish("a", b"x", timeout=2.0),
    "stream_info": lambda: JS.stream_info("S"),
    "streams": JS.streams,
    "stream_names": JS.stream_names,
    "account_info": JS.account_info,
    "create_stream": lambda: JS.create_stream(name="S", subjects=["a"]),
    "consumers": lambda: JS.stream("S").consumers(),
    "create_consumer": lambda: JS.stream("S").create_consumer(durable_name="C"),
}

#: What the members of an answer may be.
ABSURD = st.sampled_from(
    [
        None,
        True,
        -1,
        2**70,
        1e300,
        "",
        "S",
        "2020-13-45T99:00:00Z",
        [],
        [None],
        {},
        {"a": {}},
        "\ud800",
        [[]] * 3,
    ]
)
ERROR = st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from([404, 503, -1, "x", None]),
        "err_code": st.sampled_from([10014, 10059, "x", 2**70]),
    },
)
STREAM = st.fixed_dictionaries(
    {},
    optional={
        "config": st.fixed_dictionaries(
            {},
            optional={"name": st.sampled_from(["S", "", 5]), "subjects": ABSURD, "max_age": ABSURD},
        ),
        "state": st.fixed_dictionaries(
            {}, optional={"messages": ABSURD, "first_ts": ABSURD, "last_seq": ABSURD}
        ),
        "created": st.one_of(ABSURD, st.just("2026-01-01T00:00:00Z")),
    },
)
CONSUMER = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["C", "", 5, None]),
        "stream_name": st.sampled_from(["S", "", None]),
        "config": st.fixed_dictionaries(
            {},
            optional={
                "durable_name": ABSURD,
                "deliver_subject": st.sampled_from(["d", "", "a b", 5]),
                "idle_heartbeat": st.sampled_from([0, 10**9, -1, "x", 2**70]),
                "flow_control": st.sampled_from([True, False, 5]),
                "filter_subject": st.sampled_from(["a", "", 5]),
            },
        ),
        "delivered": ABSURD,
        "num_pending": ABSURD,
    },
)
BODIES = st.one_of(
    st.builds(
        lambda *parts: json.dumps(
            {key: value for part in parts for key, value in part.items()}
        ).encode(),
        st.one_of(STREAM, CONSUMER, st.just({})),
        st.fixed_dictionaries(
            {},
            optional={
                "stream": st.sampled_from(["S", "", 5, None]),
                "seq": st.sampled_from([0, 1, 2**64 - 1, 2**64, -1, "1", None]),
                "error": st.one_of(st.none(), ERROR, ABSURD),
                "type": ABSURD,
                "streams": st.one_of(ABSURD, st.lists(st.one_of(STREAM, st.just("S")), max_size=2)),
                "consumers": st.one_of(ABSURD, st.lists(CONSUMER, max_size=2)),
                "total": ABSURD,
                "offset": ABSURD,
                "success": ABSURD,
                "limits": ABSURD,
            },
        ),
    ),
    st.sampled_from(
        [b"", b"null", b"[]", b"5", b"pong", b"\xff", b'{"a":' + b"[" * 20_000, b"9" * 5000, b"{}"]
    ),
)
BLOCKS = st.one_of(
    st.sampled_from(
        [
            b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 1\r\nNats-Last-Stream: x\r\n\r\n",
            b"NATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: $JS.FC.S.C.x\r\n\r\n",
            b"NATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: a b\r\n\r\n",
            b"NATS/1.0 100 FlowControl Request\r\n\r\n",
            b"NATS/1.0 404 No Messages\r\n\r\n",
            b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 99999999999999999999999\r\nNats-Pending-Bytes: -1\r\n\r\n",
            b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: \xd9\xa3\r\n\r\n",
            b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
            b"NATS/1.0 409 Leadership Change\r\n\r\n",
            b"NATS/1.0 409 Exceeded MaxWaiting\r\n\r\n",
            b"NATS/1.0 423 Nats-Wrong-Pin-Id\r\n\r\n",
            b"NATS/1.0 503\r\n\r\n",
            b"NATS/1.0 999 What\r\n\r\n",
            b"NATS/1.0 4x4\r\n\r\n",
            b"NATS/1.0\r\nNats-Pin-Id: x\r\nno colon\r\n: y\r\n\r\n",
            b"NATS/9.9 404\r\n\r\n",
            b"NATS/1.0\r\nNats-Sequence: 3\r\nNats-Num-Pending: 1\r\n\r\n",
            b"NATS/1.0\r\nNats-Sequence: 5\r\nNats-Subject: a\r\nNats-Time-Stamp: x\r\nNats-Num-Pending: x\r\n\r\n",
            b"NATS/1.0\r\nNats-Sequence: x\r\nNats-Num-Pending: 1\r\n\r\n",
            b"NATS/1.0 204 EOB\r\nNats-Num-Pending: x\r\n\r\n",
            b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 5\r\n\r\n",
            b"",
            b"\xff\xfe\r\n",
        ]
    ),
    st.binary(max_size=20),
)
ACKS = st.sampled_from(
    [
        "",
        "$JS.ACK.S.C.1.1.1.1700000000000000000.0",
        "$JS.ACK.S.C.1.7.2.1700000000000000000.0",
        "$JS.ACK._.h.S.C.1.2.2.1700000000000000000.5",
        "$JS.ACK.S.C.x.1.1.1700000000000000000.0",
        "$JS.ACK.S.C.1.99999999999999999999999.1.1.0",
        "$JS.ACK.S",
        "$JS.FC.S.C.x",
        "r",
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("answer"), BODIES),
    st.tuples(st.just("answer"), BODIES),
    st.tuples(st.just("refuse"), BLOCKS),
    st.tuples(st.just("data"), ACKS, st.sampled_from([b"", b"x"])),
    st.tuples(st.just("data"), ACKS, st.sampled_from([b"", b"x"])),
    st.tuples(st.just("status"), BLOCKS, st.booleans(), ACKS),
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.5, 3.0, 40.0])),
    st.tuples(st.just("take")),
    st.tuples(st.just("put")),
    st.tuples(st.just("pong")),
    st.tuples(st.just("again")),
    st.tuples(
        st.just("error"),
        st.sampled_from(["$JS.API.CONSUMER.MSG.NEXT.S.C", "a", "$JS.API.STREAM.INFO.S"]),
    ),
)


class Liar:
    """A link to a server that says what it is told to."""

    def __init__(self, conversation):
        self.now = 0.0
        self.connection = Connection(Options(ping_interval=1e6), entropy=bytes, now=0.0)
        self.sids = []
        self.replies = []
        self.frames = 0
        self.link()
        self.conversation = self.connection.open(conversation, self.now)
        self.read()

    def link(self):
        while not self.connection.connected:
            if self.connection.state.name == "WAITING":
                self.now = self.connection.next_deadline()
                self.connection.handle_tick(self.now)
            self.connection.transport_up(self.now)
            self.feed(b'INFO {"headers":true,"max_payload":1000000}\r\n')
            self.feed(b"PONG\r\n")

    def feed(self, data):
        self.connection.receive_data(data, self.now)
        self.read()

    def read(self):
        data = self.connection.data_to_send()
        self.frames += data.count(b"\r\nPUB ") + data.startswith(b"PUB ")
        self.sids += re.findall(rb"^SUB \S+ (?:\S+ )?([0-9]+)\r$", data, re.MULTILINE)
        self.replies += re.findall(rb"^H?PUB \S+ (\S+) [0-9]+(?: [0-9]+)?\r$", data, re.MULTILINE)
        while (event := self.connection.next_event()) is not None:
            repr(event)

    def message(self, sid, subject, reply, block, payload):
        words = [b"MSG" if block is None else b"HMSG", subject, sid, *([reply] if reply else [])]
        block_size = [] if block is None else [b"%d" % len(block)]
        whole = (block or b"") + payload
        return b" ".join([*words, *block_size, b"%d" % len(whole)]) + b"\r\n" + whole + b"\r\n"

    def answer(self, body):
        self.feed(
            b"".join(self.message(b"1", reply, b"", None, body) for reply in self.replies[-2:])
        )

    def refuse(self, block):
        for reply in self.replies[-1:]:
            self.feed(self.message(b"1", reply, b"", block, b""))

    def data(self, ack, payload):
        for sid in self.sids[-2:]:
            self.feed(self.message(sid, b"a", ack.encode(), None, payload) * 2)

    def status(self, block, to_token, reply):
        subject = self.replies[-1] if to_token and self.replies else b"a"
        for sid in self.sids[-1:]:
            self.feed(self.message(sid, subject, reply.encode(), block, b""))

    def time(self, seconds):
        end = self.now + seconds
        before, ticks = self.frames, 0
        while (due := self.connection.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.connection.handle_tick(self.now)
            self.read()
            ticks += 1

            assert ticks < 100 + 20 * seconds  # nothing spins

        assert self.frames - before < 100 + 20 * seconds  # nothing is asked in a loop

        self.now = end

    def take(self):
        try:
            item = self.connection.take(self.conversation, self.now)
            repr(item)
        except JsprotoError as error:
            bug = error.__cause__
            ours = (
                bug is None
                or isinstance(bug, JsprotoError)
                or "expected a procedure" not in str(error)
            )

            assert ours, repr(bug)
        self.read()

    def put(self):
        if hasattr(self.conversation, "offered") and not self.conversation.ended:
            with contextlib.suppress(JsprotoError):
                self.connection.put(self.conversation, Publish("a", b"x"), self.now)
        self.read()

    def pong(self):
        self.feed(b"PONG\r\n")

    def again(self):
        self.connection.transport_down(None, self.now)
        self.read()
        self.link()

    def error(self, subject):
        self.feed(f"-ERR 'Permissions Violation for Publish to \"{subject}\"'\r\n".encode())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_server_says_is_raised_while_the_link_is_read(kind):
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.lists(STEPS, min_size=4, max_size=15))
    def lie(script):
        liar = Liar(KINDS[kind]())
        liar.put()
        for name, *arguments in script:
            getattr(liar, name)(*arguments)
        for _ in range(10):
            liar.take()
        liar.connection.close(None, liar.now)
        liar.time(1.0)

        assert liar.connection.closed
        assert liar.conversation.ended
        assert liar.connection.next_deadline() is None

        liar.take()

    lie()
