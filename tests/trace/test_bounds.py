"""Memory of the judge: the same for a trace of any length, whatever is in it; and what was
forgotten is never judged.

The bounds are made small here, so that every table forgets again and again.
"""

import itertools
import json

import pytest

from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Happened, Received, Sent, Wished
from jsproto.trace.judge import lint
from jsproto.trace.judge.judge_state import kept
from jsproto.trace.judge.lint import Lint
from jsproto.trace.observe import books, ledger, observer
from tests.recordings import RECORDINGS, needs_recordings
from tests.trace.plays import long_trace

INFO = b'INFO {"server_id":"N","version":"2.15.1","cluster":"c","headers":true} \r\n'
HELLO = [INFO, b'>CONNECT {"headers":true,"no_responders":true}\r\nPING\r\n', b"PONG\r\n"]


@pytest.fixture
def small(monkeypatch):
    for module, names in {
        ledger: {"MOST": 16},
        books: {"MOST": 16, "MOST_WATCHES": 16},
        observer: {
            "MOST": 16,
            "ROOM": 64,
            "MOST_PAST": 4,
            "MOST_LINKS": 4,
            "MOST_CONNS": 8,
            "MOST_PINGS": 4,
        },
    }.items():
        for name, value in names.items():
            monkeypatch.setattr(module, name, value)


def pub(subject, body=b"", reply=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f">PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def msg(subject, body=b"", reply=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"MSG {subject} 1 {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def status(line, subject):
    block = f"NATS/1.0 {line}\r\n\r\n".encode()
    return f"HMSG {subject} 1 {len(block)} {len(block)}\r\n".encode() + block + b"\r\n"


ORDERED = {"ack_policy": "none", "max_deliver": 1, "mem_storage": True}
#: What one link can be told again and again, each time with another name, so that every table
#: grows.
SHAPES = {
    "subscriptions": lambda n: [b">SUB _INBOX.%d %d\r\n" % (n, n)],
    "sids": lambda n: [b">SUB _INBOX.%d %d\r\n" % (n, n), b">UNSUB %d\r\n" % n],
    "pulls of one inbox": lambda n: [pub(f"$JS.API.CONSUMER.MSG.NEXT.S.C{n}", {"batch": 5}, "_INBOX.p")],
    "pulls in flight": lambda n: [pub("$JS.API.CONSUMER.MSG.NEXT.S.C", {"batch": 5, "expires": 10**15}, "_INBOX.p")],
    "inboxes with pulls": lambda n: [
        b">SUB _INBOX.%d %d\r\n" % (n, n),
        *[pub("$JS.API.CONSUMER.MSG.NEXT.S.C", {"batch": 5, "idle_heartbeat": 10**13}, f"_INBOX.{n}")] * 9,
    ],
    "large requests": lambda n: [pub(f"$JS.API.STREAM.CREATE.S{n}", b"x" * 9999, f"_INBOX.r.{n}")],
    "deliveries": lambda n: [msg("s", b"", f"$JS.ACK.S.C.1.{n}.{n}.1.0")],
    "redeliveries": lambda n: [msg("s", b"", f"$JS.ACK.S.C.1.{n % 40}.{n % 40}.1.{n}")],
    "ids": lambda n: [f">HPUB s _INBOX.r.{n} 30 30\r\nNATS/1.0\r\nNats-Msg-Id:{n:04}\r\n\r\n\r\n".encode()],
    "payloads": lambda n: [pub("s", b"%9999d" % n, f"_INBOX.r.{n}")],
    "consumers": lambda n: [
        pub(f"$JS.API.CONSUMER.CREATE.S.C{n}", {"config": ORDERED}, "_INBOX.r"),
        msg("_INBOX.r", {"stream_name": "S", "name": f"C{n}", "config": {**ORDERED, "deliver_subject": f"d{n}"}}),
        msg(f"d{n}", b"", f"$JS.ACK.S.C{n}.1.{n}.5.1.0"),
    ],
    "refusals": lambda n: [
        pub(f"$JS.API.CONSUMER.MSG.NEXT.S.C{n}", b"", "_INBOX.p"), status("503", "_INBOX.p"),
    ],
    "refusals of one": lambda n: [
        pub("$JS.API.CONSUMER.MSG.NEXT.S.C", b"", "_INBOX.p"), status("503", "_INBOX.p"),
    ],
    "questions": lambda n: [f"HMSG s 1 $JS.FC.S.{n:05} 36 36\r\nNATS/1.0 100 FlowControl Request\r\n\r\n\r\n".encode()],
    "pings": lambda n: [b"PING\r\n"],
    "links": lambda n: ["eof", "connected", *HELLO, b">SUB orders 1\r\n", b">SUB _INBOX.p 2\r\n"],
    "links of other names": lambda n: [str(n), "connected", *HELLO, b">SUB orders 1\r\n", b"PING\r\n", b">WHAT\r\n"],
    "links that end": lambda n: [str(n), "connected", *HELLO, b">SUB orders 1\r\n", "eof"],
    "garbage": lambda n: [str(n), "connected", b"WHAT\r\n"],
}  # fmt: skip


def steps(shape):
    yield from ["connected", *HELLO, b">SUB _INBOX.> 1\r\n"]
    for number in itertools.count(1000):
        yield from SHAPES[shape](number)


def records(steps):
    """Records of steps: bytes of the client (``>``) and of the server, events, digits for another
    connection, seconds that pass.
    """
    at, conn = 0.0, "a"
    for step in steps:
        at += step if isinstance(step, float) else 1e-4
        if step == "open":
            yield Wished(at=at, conn=conn, name=step, detail={})
        elif isinstance(step, tuple):
            yield Happened(at=at, conn=conn, name=step[0], detail={"reply": step[1]})
        elif isinstance(step, str) and step.isdigit():
            conn = step
        elif isinstance(step, str):
            yield Happened(at=at, conn=conn, name=step, detail={})
        elif isinstance(step, bytes):
            yield (
                Sent(at=at, conn=conn, data=step[1:])
                if step[:1] == b">"
                else Received(at=at, conn=conn, data=step)
            )


def weights(shape, counts):
    """How heavy the judge is after so many records, as bytes that hold all that it knows."""
    judge, found = Lint(), []
    for number, record in enumerate(itertools.islice(records(steps(shape)), max(counts) + 1)):
        if number in counts:
            found.append(len(kept(judge)))
        judge.feed(number + 1, record)
    assert "WHAT" in str(SHAPES[shape](5)) or not (
        judge.observer.unreadable or judge.counted["command-broken"]
    )
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_judge_is_no_heavier_after_a_long_trace_than_after_a_short_one(small, shape):
    early = weights(shape, range(1000, 1400, 11))
    late = weights(shape, range(4000, 4400, 11))

    assert max(late) <= 1.1 * max(early)


def findings(text):
    found = lint.lint(read_trace(text).records())
    return {(finding.rule, finding.line, finding.words) for finding in found}


@needs_recordings
@pytest.mark.parametrize("version", sorted({path.parent.name for path in RECORDINGS}))
def test_who_forgets_finds_less_and_nothing_else(request, version):
    texts = {path: path.read_bytes() for path in RECORDINGS if path.parent.name == version}
    whole = {path: findings(text) for path, text in texts.items()}
    request.getfixturevalue("small")

    assert {
        path.stem: more for path, text in texts.items() if (more := findings(text) - whole[path])
    } == {}


MANY = range(1000, 1050)
SUBS = [b">SUB _INBOX.%d %d\r\n" % (n, n) for n in MANY]
SERVICE = [b">SUB orders.%d %d\r\n" % (n, n) for n in MANY]
PUSHED = {"config": {"deliver_subject": "_INBOX.1000"}}


def loop(number, inbox):
    """Somebody who reads on and on: asks again when half has come."""

    def ask(batch):
        body = {"batch": batch, "expires": 2 * 10**10}
        return pub(f"$JS.API.CONSUMER.MSG.NEXT.S.C{number}", body, inbox)

    come = [
        f"MSG s {number} $JS.ACK.S.C{number}.1.{n}.{n}.1.0 0\r\n\r\n".encode() for n in range(1, 6)
    ]
    return [f">SUB {inbox} {number}\r\n".encode(), ask(10), *come, ask(5)]


LOOPS = [step for n in MANY for step in loop(n, f"_INBOX.{n}")]
AGAIN = [step for n in reversed(MANY) for step in loop(n, f"_INBOX.x{n}")]
#: What a client may say that remembers more than the judge.
SOUND = {
    "sids are given back": [*SUBS, *[b">UNSUB %d\r\n" % n for n in MANY]],
    "old inboxes are pulled into": [*SUBS, pub("$JS.API.CONSUMER.MSG.NEXT.S.C", {"batch": 5, "expires": 10**9}, "_INBOX.1000")],
    "old inboxes are answered in": [*SUBS, pub("$JS.API.INFO", b"", "_INBOX.1000")],
    "consumers push into old inboxes": [
        *SUBS,
        pub("$JS.API.CONSUMER.CREATE.S.C", PUSHED, "_INBOX.1049"),
        msg("_INBOX.1049", {"stream_name": "S", "name": "C", **PUSHED}),
        b">UNSUB 1000\r\n", b">SUB _INBOX.1000 2\r\n",
    ],
    "questions are answered late": [
        b">SUB s 1\r\n",
        *[SHAPES["questions"](n)[0] for n in MANY],
        *[pub(f"$JS.FC.S.{n:05}") for n in MANY],
    ],
    "questions are answered when the link is over": [
        b">SUB s 1\r\n",
        *[SHAPES["questions"](n)[0] for n in MANY],
        "eof",
        *[pub(f"$JS.FC.S.{n:05}") for n in MANY],
    ],
    "PINGs are answered late": [*[b"PING\r\n" for _ in MANY], *[b">PONG\r\n" for _ in MANY], 60.0, b"+OK\r\n"],
    "what was subscribed is so again": [*SERVICE, "eof", "connected", *HELLO, *reversed(SERVICE), 60.0, b"+OK\r\n"],
    "what was read is so again": [*LOOPS, "eof", "connected", *HELLO, *AGAIN, 31.0, b"+OK\r\n"],
    "old deliveries are settled": [
        b">SUB s 1\r\n",
        *[SHAPES["deliveries"](n)[0] for n in MANY],
        *[pub(f"$JS.ACK.S.C.1.{n}.{n}.1.0", b"+ACK") for n in MANY],
    ],
    "old deliveries are taken before a question is answered": [
        b">SUB s 1\r\n",
        "open",
        *[SHAPES["deliveries"](n)[0] for n in MANY],
        *SHAPES["questions"](1000),
        *[SHAPES["deliveries"](n + 100)[0] for n in MANY],
        *[("taken", f"$JS.ACK.S.C.1.{n}.{n}.1.0") for n in MANY],
        pub("$JS.FC.S.01000"),
    ],
    "outcomes are known": [
        b">SUB _INBOX.> 1\r\n",
        *[pub("s", b"%20d" % n, f"_INBOX.{n}") for n in MANY[:9]],
        *[step for n in MANY for step in SHAPES["ids"](n)],
        *[msg(f"_INBOX.{n}") for n in MANY[:9]],
        "eof", "connected", *HELLO, b">SUB _INBOX.> 1\r\n",
        *[pub("s", b"%20d" % n, f"_INBOX.{n}") for n in MANY[:9]],
    ],
    "links are many": [
        step
        for n in range(20)
        for step in (str(n), "connected", *HELLO, b">SUB _INBOX.p 1\r\n", pub("s", b"%20d" % (n % 12), "_INBOX.p"))
    ] + [
        step for n in range(20) for step in (str(n), pub("$JS.API.INFO", b"", "_INBOX.p"), b">UNSUB 1\r\n", b"PING\r\n")
    ],
}  # fmt: skip


@pytest.mark.parametrize("sound", SOUND)
def test_nobody_is_blamed_for_what_was_forgotten(small, sound):
    lines = enumerate(records(["connected", *HELLO, *SOUND[sound]]), start=1)

    assert list(lint.lint(lines)) == []


def test_a_long_trace_of_a_sound_client_has_no_finding_however_little_is_remembered(small):
    text = "".join(long_trace(20_000, faults=False)).encode()

    assert findings(text) == set()
