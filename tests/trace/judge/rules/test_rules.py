"""Each rule of the lint: a smallest trace that breaks it, and one beside it that keeps it.

A trace is a list of steps on one link ``a``: a number moves the clock to so many seconds, bytes
with ``>`` are the client's, others the server's, a text is an event, alone or with its detail; with
``!`` it is a verb. `hello` is the handshake of a client that does everything right.
"""

import json

import pytest

from jsproto.trace.formats.recording import Happened, Received, Sent, Wished
from jsproto.trace.judge.lint import MOST_TOLD, RULES, Lint, lint

INFO = b'INFO {"server_id":"N","version":"2.15.1","max_payload":1000,"headers":true} \r\n'
OLD_INFO = INFO.replace(b"2.15.1", b"2.9.10")
CONNECT = b'>CONNECT {"headers":true,"no_responders":true}\r\n>PING\r\n'.replace(b"\r\n>", b"\r\n")
SUB = b">SUB _INBOX.p 2\r\n"
D1 = "$JS.ACK.S.C.1.1.1.1700000000000000000.3"
D2 = "$JS.ACK.S.C.1.2.2.1700000000000000000.2"


def hello(info=INFO, connect=CONNECT):
    return ["connected", info, connect, b"PONG\r\n"]


def pub(subject, body=b"", reply="", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    if headers.get("block"):
        block = headers["block"]
    elif headers:
        block = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        block = b"NATS/1.0\r\n" + block.encode() + b"\r\n"
    else:
        return f">PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"
    return (
        f">HPUB {subject} {reply} {len(block)} {len(block) + len(body)}\r\n".encode()
        + block
        + body
        + b"\r\n"
    )


def msg(subject, body=b"", reply="", sid="2"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"MSG {subject} {sid} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def status(code, subject="_INBOX.p", reply="", sid="2", **headers):
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    block = f"NATS/1.0 {code}\r\n{lines}\r\n".encode()
    return f"HMSG {subject} {sid} {reply} {len(block)} {len(block)}\r\n".encode() + block + b"\r\n"


def pull(batch=1, reply="_INBOX.p", consumer="C", **members):
    return pub(
        f"$JS.API.CONSUMER.MSG.NEXT.S.{consumer}",
        {"batch": batch, "expires": 10**10, **members},
        reply,
    )


def api(verb, body=b"", reply="_INBOX.p"):
    return pub(f"$JS.API.{verb}", body, reply)


def create(config, name="C", reply="_INBOX.p", answer=True, verb="CONSUMER.CREATE.S"):
    steps = [api(f"{verb}.{name}", {"stream_name": "S", "config": config}, reply)]
    if answer:
        body = {
            "type": "io.nats.jetstream.api.v1.consumer_create_response",
            "stream_name": "S",
            "name": name,
        }
        steps.append(msg(reply, {**body, "config": config}))
    return steps


def info(config, name="C"):
    body = {
        "type": "io.nats.jetstream.api.v1.consumer_info_response",
        "stream_name": "S",
        "name": name,
        "config": config,
    }
    return [api(f"CONSUMER.INFO.S.{name}"), msg("_INBOX.p", body)]


PUSH = {"deliver_subject": "_INBOX.d", "flow_control": True, "idle_heartbeat": 10**9}
ORDERED = {**PUSH, "ack_policy": "none", "max_deliver": 1, "mem_storage": True}
DELIVER = b">SUB _INBOX.d 3\r\n"
DELIVERED = [*hello(), SUB, pull(5), msg("s", b"x", D1)]
ASKED_FLOW = [*hello(), DELIVER, status("100 FlowControl Request", "_INBOX.d", "$JS.FC.S.C.a", "3")]
MISSING = status("100 Idle Heartbeat", "_INBOX.d", sid="3", Nats_Consumer_Stalled="$JS.FC.S.C.a")
LOOP = [*hello(), SUB, pull(10, idle_heartbeat=10**9), pull(5, idle_heartbeat=10**9)]
LEADER = status("409 Leadership Change")
LINE = b"a payload of one kind"
HIDDEN = b"." * len(LINE)


BEAT = status("100 Idle Heartbeat", "_INBOX.d", sid="3")
#: The defaults of a consume: expiry 30 s, heartbeats of half of it.
USUAL = {"expires": 30 * 10**9, "idle_heartbeat": 15 * 10**9}
WILD = b">SUB _INBOX.w.* 2\r\n"


def inboxes(*batches, kind=USUAL):
    """A reader with a new inbox for each pull: it asks for 10, and for some more each time when
    five have come.
    """
    steps = [*hello(), WILD, pull(10, reply="_INBOX.w.0", **kind)]
    for at, batch in enumerate(batches, start=1):
        steps += [step for each in range(5 * at - 4, 5 * at + 1) for step in acked(each)]
        steps.append(pull(batch, reply=f"_INBOX.w.{at}", **kind))
    return steps


def refused(code):
    """The API answers with an error."""
    return msg(
        "_INBOX.p", {"type": "x", "error": {"code": 400, "err_code": code, "description": "why"}}
    )


def ordered_gap(*then):
    def message(number):
        return msg("s", b"x", f"$JS.ACK.S.C.1.{number}.{number}.1700000000000000000.0", "3")

    return [
        *hello(),
        SUB,
        DELIVER,
        *create(ORDERED),
        message(1),
        message(3),
        *then,
        20.0,
        b"PING\r\n",
        b">PONG\r\n",
    ]


def acked(number):
    """A delivery of the pull consumer, and its ack."""
    reply = f"$JS.ACK.S.C.1.{number}.{number}.1700000000000000000.0"
    return [msg("s", b"x", reply), pub(reply, b"+ACK")]


def shrinking(*batches):
    """A reader who asks for 10, and once before all has come; then for so many each time all has
    come and is acked.
    """
    steps = [
        *hello(),
        SUB,
        pull(10),
        *acked(1),
        pull(1),
        *[step for at in range(2, 12) for step in acked(at)],
    ]
    at = 12
    for batch in batches:
        steps += [pull(batch), *[step for each in range(at, at + batch) for step in acked(each)]]
        at += batch
    return steps


def flow_taken(count, verb):
    """Two messages, a question, and its answer when so many were taken."""
    replies = [f"$JS.ACK.S.C.1.{at}.{at}.1700000000000000000.0" for at in (1, 2)]
    return [
        *hello(),
        (verb, {"of": "PushFeed", "number": 1}),
        DELIVER,
        *[msg("s", b"x", reply, "3") for reply in replies],
        status("100 FlowControl Request", "_INBOX.d", "$JS.FC.S.C.a", "3"),
        *[
            ("taken", {"of": "PushFeed", "number": 1, "count": 1, "reply": reply})
            for reply in replies[:count]
        ],
        pub("$JS.FC.S.C.a"),
    ]


def published(**headers):
    return [*hello(), pub("s", b"", **headers)]


BATCH = {"Nats_Batch_Id": "b", "Nats_Batch_Sequence": 1}

EARLY = [msg("s", b"x", f"$JS.ACK.S.C.1.{at}.{at}.1700000000000000000.0", "3") for at in (1, 2)]
HELD = msg("s", b"x", D1)
BESIDE = [
    *hello(),
    b">SUB _INBOX.w.* 2\r\n",
    *(pull(2, reply=f"_INBOX.w.{at}", idle_heartbeat=10**9) for at in range(4)),
]

# fmt: off
#: Rule -> a trace that breaks it, and one that keeps it.
CASES = {
    "connect-before-info": (["connected", CONNECT, INFO], hello()),
    "command-before-connect": (["connected", INFO, SUB, CONNECT], [*hello(), SUB]),
    "connect-twice": ([*hello(), CONNECT], [*hello(), "eof", *hello()]),
    "command-broken": ([*hello(), b">PUB s 5\r\nhello!\r\n"], [*hello(), b">PUB s 5\r\nhello\r\n"]),
    "command-refused": ([*hello(), b"-ERR 'Maximum Payload Violation'\r\n"], [*hello(), b"-ERR 'Permissions Violation for Publish to \"s\"'\r\n"]),
    "headers-off": ([*hello(connect=b">CONNECT {}\r\n"), SUB, pull()], [*hello(), SUB, pull()]),
    "hpub-without-headers": ([*hello(connect=b">CONNECT {}\r\n"), pub("s", A="b")], published(A="b")),
    "payload-too-large": ([*hello(), pub("s", b"x" * 1001)], [*hello(), pub("s", b"x" * 1000)]),
    "subject-invalid": ([*hello(), pub("a..b"), b">SUB a..b 9\r\n"], [*hello(), pub("a.b"), b">SUB a.* 9\r\n", pub("$JS.API.CONSUMER.CREATE.S.C.a.>", {}, "_INBOX.p"), pub("....")]),
    "reply-reserved": ([*hello(), pub("s", reply=D1)], [*hello(), pub("s", reply="_INBOX.p")]),
    "sid-duplicate": ([*hello(), SUB, b">SUB b 2\r\n"], [*hello(), SUB, b">UNSUB 2\r\n", b">SUB b 2\r\n"]),
    "unsub-stale": ([*hello(), SUB, "eof", *hello(), b">UNSUB 2\r\n"], [*hello(), SUB, b">UNSUB 2\r\n", b">UNSUB 2\r\n"]),
    "limit-not-reduced": (
        [*hello(), b">SUB a 2\r\n>UNSUB 2 2\r\n".replace(b"\n>", b"\n"), msg("a"), "eof", *hello(), b">SUB a 2\r\n>UNSUB 2 2\r\n".replace(b"\n>", b"\n")],
        [*hello(), b">SUB a 2\r\n>UNSUB 2 2\r\n".replace(b"\n>", b"\n"), msg("a"), "eof", *hello(), b">SUB a 2\r\n>UNSUB 2 1\r\n".replace(b"\n>", b"\n")],
    ),
    "not-resubscribed": ([*hello(), b">SUB a 2\r\n", "eof", 1.0, *hello(), 20.0, b"PING\r\n", b">PONG\r\n"], [*hello(), b">SUB a 2\r\n", "eof", 1.0, *hello(), b">SUB a 2\r\n", 20.0, b"PING\r\n", b">PONG\r\n"]),
    "ping-unanswered": ([*hello(), b"PING\r\n", 11.0, pub("s")], [*hello(), b"PING\r\n", 9.0, b">PONG\r\n", 11.0, pub("s")]),
    "pong-unasked": ([*hello(), b">PONG\r\n"], [*hello(), b"PING\r\n", b">PONG\r\n"]),
    "pull-without-reply": ([*hello(), pull(reply="")], [*hello(), SUB, pull()]),
    "pull-without-interest": ([*hello(), pull()], [*hello(), b">SUB _INBOX.* 2\r\n", pull()]),
    "pull-heard-twice": ([*hello(), SUB, b">SUB _INBOX.> 3\r\n", pull()], [*hello(), SUB, b">SUB _INBOX.q.> 3\r\n", pull()]),
    "pull-body-unknown": ([*hello(), SUB, api("CONSUMER.MSG.NEXT.S.C", b"ten")], [*hello(), SUB, api("CONSUMER.MSG.NEXT.S.C", b"10"), api("CONSUMER.MSG.NEXT.S.C")]),
    "pull-batch-below-one": ([*hello(), SUB, pull(0)], [*hello(), SUB, pull(1)]),
    "pull-bytes-without-batch": ([*hello(), SUB, api("CONSUMER.MSG.NEXT.S.C", {"max_bytes": 9})], [*hello(), SUB, pull(9, max_bytes=9)]),
    "pull-duration-invalid": ([*hello(), SUB, pull(expires=1.5)], [*hello(), SUB, pull(expires=15)]),
    "pull-heartbeat-too-long": ([*hello(), SUB, pull(idle_heartbeat=6 * 10**9)], [*hello(), SUB, pull(idle_heartbeat=5 * 10**9)]),
    "pull-without-heartbeat": ([*hello(), SUB, pull(expires=30 * 10**9)], [*hello(), SUB, pull(expires=30 * 10**9, idle_heartbeat=10**9), pull(expires=29 * 10**9)]),
    "pull-over-asks": ([*hello(), SUB, pull(10), pull(10)], [*hello(), SUB, pull(2), msg("s", b"", D1), pull(1), status("408 Request Timeout", Nats_Pending_Messages=1, Nats_Pending_Bytes=0), pull(1), 11.0, pull(2)]),
    "pull-without-group": ([*hello(), SUB, *info({"priority_groups": ["g"]}), pull()], [*hello(), SUB, *info({"priority_groups": ["g"]}), pull(group="g")]),
    "pull-of-push-consumer": ([*hello(), SUB, *info({"deliver_subject": "d"}), pull()], [*hello(), SUB, *info({}), pull()]),
    "pull-above-limit": ([*hello(), SUB, *info({"max_batch": 5}), pull(6)], [*hello(), SUB, *info({"max_batch": 5}), pull(5)]),
    "pin-stale": ([*hello(), SUB, pull(id="x"), status("423 Nats-Wrong-Pin-Id"), pull(id="x")], [*hello(), SUB, pull(id="x"), status("423 Nats-Wrong-Pin-Id"), pull()]),
    "inbox-reused": ([*hello(), SUB, pull(), "eof", *hello(), SUB, pull()], [*hello(), SUB, pull(), "eof", *hello(), b">SUB _INBOX.q 2\r\n", pull(reply="_INBOX.q")]),
    "pull-while-disconnected": (
        [*hello(), SUB, pull(10), "eof", 1.0, *hello(), b">SUB _INBOX.q 2\r\n", pull(10, reply="_INBOX.q"), pull(10, reply="_INBOX.q")],
        [*hello(), SUB, pull(10), "eof", 1.0, *hello(), b">SUB _INBOX.q 2\r\n", pull(5, reply="_INBOX.q"), pull(5, reply="_INBOX.q")],
    ),
    "pending-drifted": (shrinking(8, 6, 4), shrinking(8, 10, 8, 10, 8)),
    "pull-given-up-early": ([*hello(), SUB, pull(1), 5.0, ("client_timeout", {"waiting_for": "status"})], [*hello(), SUB, pull(1), 11.0, ("client_timeout", {"waiting_for": "status"})]),
    "pull-storm": ([*hello(), SUB, *([pull(), status("503")] * 10)], [*hello(), SUB, *([pull(), status("503")] * 5), 4.0, *([pull(), status("503")] * 5)]),
    "heartbeats-ignored": ([*LOOP, 5.0, pub("s")], [*LOOP, 3.0, status("100 Idle Heartbeat"), 5.0, pub("s"), pull(15, idle_heartbeat=10**9)]),
    "pull-stalled": ([*LOOP, LEADER, 31.0, pub("s")], [*LOOP, LEADER, 1.0, pull(10), 32.0, pub("s")]),
    "no-pull-after-reconnect": ([*LOOP, "eof", 1.0, *hello(), 32.0, pub("s")], [*LOOP, "eof", 1.0, *hello(), b">SUB _INBOX.q 4\r\n", pull(10, reply="_INBOX.q"), 32.0, pub("s")]),
    "ack-subject-malformed": ([*DELIVERED, pub("$JS.ACK.S.C.1.1.1")], [*DELIVERED, pub(D1)]),
    "ack-subject-altered": ([*DELIVERED, pub(D1[:-1] + "4")], [*DELIVERED, pub(D1), pub(D2)]),
    "ack-body-unknown": ([*DELIVERED, pub(D1, b"+ack")], [*DELIVERED, pub(D1, b"+WPI"), pub(D1, b"+TERM no")]),
    "nak-delay-unreadable": ([*DELIVERED, pub(D1, b'-NAK {"delay":1.5}')], [*DELIVERED, pub(D1, b'-NAK {"delay":15}'), pub(D2, b"-NAK 1.2s"), pub(D2, b"-NAK")]),
    "next-without-reply": ([*DELIVERED, pub(D1, b"+NXT")], [*DELIVERED, pub(D1, b"+NXT", "_INBOX.p")]),
    "term-reason-too-new": ([*hello(OLD_INFO), pub(D1, b"+TERM no")], [*hello(OLD_INFO), pub(D1, b"+TERM"), "eof", *hello(), pub(D1, b"+TERM no")]),
    "ack-twice": ([*DELIVERED, pub(D1, b"+ACK"), pub(D1)], [*DELIVERED, pub(D1, b"+WPI"), pub(D1, b"+ACK", "_INBOX.p"), pub(D1, b"+ACK"), "eof", *hello(), pub(D1, b"+ACK")]),
    "progress-after-ack": ([*DELIVERED, pub(D1), pub(D1, b"+WPI")], [*DELIVERED, pub(D1, b"+WPI"), pub(D1)]),
    "ack-of-none": ([*hello(), SUB, *info({"ack_policy": "none"}), pub(D1)], [*hello(), SUB, *info({"ack_policy": "explicit"}), pub(D1)]),
    "sub-after-create": ([*hello(), SUB, *create(PUSH), DELIVER], [*hello(), SUB, DELIVER, *create(PUSH)]),
    "deliver-group-ignored": ([*hello(), SUB, *info({"deliver_subject": "d", "deliver_group": "g"}), b">SUB d 3\r\n"], [*hello(), SUB, *info({"deliver_subject": "d", "deliver_group": "g"}), b">SUB d g 3\r\n"]),
    "flow-unanswered": ([*ASKED_FLOW, MISSING, MISSING, MISSING], [*ASKED_FLOW, MISSING, pub("$JS.FC.S.C.a"), MISSING, MISSING]),
    "flow-answered-twice": ([*ASKED_FLOW, pub("$JS.FC.S.C.a"), pub("$JS.FC.S.C.a")], [*ASKED_FLOW, pub("$JS.FC.S.C.a"), MISSING, pub("$JS.FC.S.C.a")]),
    "flow-answered-early": (flow_taken(1, "!open"), flow_taken(2, "!open")),
    "flow-answer-altered": ([*ASKED_FLOW, pub("$JS.FC.S.C.b")], [*ASKED_FLOW, pub("$JS.FC.S.C.a")]),
    "flow-answer-not-empty": ([*ASKED_FLOW, pub("$JS.FC.S.C.a", b"+ACK")], [*ASKED_FLOW, pub("$JS.FC.S.C.a")]),
    "flow-without-heartbeat": ([*hello(), SUB, DELIVER, *create({**PUSH, "idle_heartbeat": 0})], [*hello(), SUB, DELIVER, *create(PUSH)]),
    "heartbeat-of-pull-consumer": ([*hello(), SUB, *create({"idle_heartbeat": 1})], [*hello(), SUB, *create({})]),
    "heartbeat-in-group": ([*hello(), SUB, DELIVER, *create({**PUSH, "deliver_group": "g"})], [*hello(), SUB, DELIVER, *create({"deliver_subject": "_INBOX.d", "deliver_group": "g"})]),
    "start-contradicts": ([*hello(), SUB, *create({"deliver_policy": "by_start_sequence"})], [*hello(), SUB, *create({"deliver_policy": "by_start_sequence", "opt_start_seq": 1})]),
    "filter-contradicts": ([*hello(), SUB, *create({"filter_subject": "a", "filter_subjects": ["b"]})], [*hello(), SUB, *create({"filter_subject": "a"})]),
    "name-contradicts": ([*hello(), SUB, *create({"name": "D"})], [*hello(), SUB, *create({"name": "C", "durable_name": "C"})]),
    "ordered-name-reused": ([*hello(), SUB, DELIVER, *create(ORDERED), *create(ORDERED)], [*hello(), SUB, DELIVER, *create(ORDERED), *create(ORDERED, "D")]),
    "ordered-left-behind": (ordered_gap(*create(ORDERED, "D")), ordered_gap(api("CONSUMER.DELETE.S.C"), *create(ORDERED, "D"))),
    "gap-ignored": (ordered_gap(), ordered_gap(*create(ORDERED, "D"))),
    "ack-invented": ([*DELIVERED, pub(D2)], [*DELIVERED, pub(D1), pub("$JS.ACK.S.OTHER.1.9.9.1700000000000000000.0")]),
    "consumer-abandoned": (
        [*hello(), SUB, DELIVER, *create(PUSH), 5.0, b">UNSUB 3\r\n", 20.0, pub("s")],
        [*hello(), SUB, DELIVER, *create(PUSH), 5.0, b">UNSUB 3\r\n", 6.0, api("CONSUMER.DELETE.S.C"), 20.0, pub("s")],
    ),
    "pull-limit-refused": ([*hello(), SUB, pull(6), status("409 Exceeded MaxRequestBatch of 5")], [*hello(), SUB, *info({"max_batch": 5}), pull(6), status("409 Exceeded MaxRequestBatch of 5")]),
    "pull-refused": ([*hello(), SUB, pull(6), status("400 Bad Request - Priority Group missing")], [*hello(), SUB, *info({"priority_groups": ["g"]}), pull(6), status("400 Bad Request - Priority Group missing")]),
    "pull-of-push-refused": ([*hello(), SUB, pull(6), status("409 Consumer is push based")], [*hello(), SUB, *info({"deliver_subject": "d"}), pull(6), status("409 Consumer is push based")]),
    "pull-without-expiry": ([*hello(), SUB, pull(6, expires=0)], [*hello(), SUB, pull(6, expires=0, no_wait=True), api("CONSUMER.MSG.NEXT.S.C", b"6"), pull(6, expires=0, idle_heartbeat=10**9)]),
    "subject-reserved": ([*hello(), pub("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.C")], [*hello(), pub("$SYS.REQ.SERVER.PING", b"", "_INBOX.p"), pub("$KV.a.b"), pub("$O.a.C.b"), pub("$JS.SNAPSHOT.ACK.S.x"), pub("events")]),
    "request-refused": ([*hello(), SUB, api("STREAM.CREATE.S", b"{"), refused(10025)], [*hello(), SUB, api("STREAM.INFO.S"), refused(10059), *create({**PUSH, "idle_heartbeat": 0}, answer=False), refused(10108)]),
    "asked-before-pull": (
        [*LOOP, "eof", 1.0, *hello(), b">SUB _INBOX.q 4\r\n", api("CONSUMER.INFO.S.C", reply="_INBOX.q"), pull(10, reply="_INBOX.q")],
        [*LOOP, "eof", 1.0, *hello(), b">SUB _INBOX.q 4\r\n", api("CONSUMER.INFO.S.OTHER", reply="_INBOX.q"), pull(10, reply="_INBOX.q"), api("CONSUMER.INFO.S.C", reply="_INBOX.q")],
    ),
    "push-heartbeats-ignored": (
        [*hello(), SUB, DELIVER, *create(ORDERED), 2.0, BEAT, 120.0, b"PING\r\n", b">PONG\r\n"],
        [*hello(), SUB, DELIVER, *create(ORDERED), 2.0, BEAT, 7.0, BEAT, *create(ORDERED, "D"), 12.0, BEAT, b">UNSUB 3\r\n", 120.0, b"PING\r\n", b">PONG\r\n"],
    ),
    "snapshot-unanswered": ([*hello(), SUB, status("408 No Flow Response")], [*hello(), SUB, status("204")]),
    "header-damaged": ([*hello(), pub("s", block=b"NATS/1.0\r\nA: b\r\n\r\nNats-Msg-Id: 1\r\n\r\n")], published(A="b")),
    "status-forged": ([*hello(), pub("s", block=b"NATS/1.0 404\r\n\r\n")], published(A="404")),
    "header-case": (published(nats_msg_id=1), published(Nats_Msg_Id=1, A=2)),
    "msg-id-blank": (published(Nats_Msg_Id="1 "), published(Nats_Msg_Id=" 1")),
    "msg-id-reused": ([*hello(), pub("s", b"a", Nats_Msg_Id=1), pub("s", b"b", Nats_Msg_Id=1)], [*hello(), pub("s", b"a", Nats_Msg_Id=1), pub("s", b"a", Nats_Msg_Id=1), pub("t", b"b", Nats_Msg_Id=1)]),
    "publish-retried": (
        [*hello(), SUB, pub("s", LINE, "_INBOX.p"), "eof", *hello(), SUB, pub("s", LINE, "_INBOX.p")],
        [*hello(), SUB, pub("s", LINE, "_INBOX.p"), msg("_INBOX.p", {"stream": "S", "seq": 1}), pub("s", LINE, "_INBOX.p"), "eof", *hello(), SUB, pub("s", LINE, "_INBOX.p"), pub("s", HIDDEN, "_INBOX.p"), "eof", *hello(), SUB, pub("s", HIDDEN, "_INBOX.p")],
    ),
    "expectation-not-numeric": (published(Nats_Expected_Last_Sequence="x"), published(Nats_Expected_Last_Sequence=0)),
    "rollup-unknown": (published(Nats_Rollup="some"), published(Nats_Rollup="sub")),
    "ttl-unreadable": (published(Nats_TTL="10ms"), [*published(Nats_TTL="1h30m"), *published(Nats_TTL="never"), *published(Nats_TTL="10s")]),
    "increment-unreadable": (published(Nats_Incr="1"), published(Nats_Incr="+1")),
    "batch-unreadable": (published(Nats_Batch_Id="b"), [*hello(), pub("s", **BATCH)]),
    "header-reserved": (published(Nats_Stream_Source="S 1"), published(A="S 1")),
    "api-unknown": ([*hello(), SUB, api("STREAM.FOO.S")], [*hello(), SUB, api("STREAM.INFO.S"), pub("$JS.hub.API.INFO", b"", "_INBOX.p")]),
    "api-without-reply": ([*hello(), api("STREAM.INFO.S", reply="")], [*hello(), SUB, api("STREAM.INFO.S")]),
    "api-without-interest": ([*hello(), api("STREAM.INFO.S")], [*hello(), SUB, api("STREAM.INFO.S")]),
    "reply-reused": ([*hello(), SUB, api("INFO"), api("INFO")], [*hello(), SUB, api("INFO"), msg("_INBOX.p", {}), api("INFO")]),
    "offset-negative": ([*hello(), SUB, api("STREAM.NAMES", {"offset": -1})], [*hello(), SUB, api("STREAM.NAMES", {"offset": 0})]),
    "delete-with-body": ([*hello(), SUB, api("STREAM.DELETE.S", {})], [*hello(), SUB, api("STREAM.DELETE.S")]),
    "direct-get-empty": ([*hello(), SUB, api("DIRECT.GET.S", {"batch": 3})], [*hello(), SUB, api("DIRECT.GET.S", {"seq": 3}), api("DIRECT.GET.S.a.b")]),
}

#: More sides of some rules: name, a trace that breaks it, and one that keeps it.
MORE = [
    # Made and subscribed in one segment, in the wrong order.
    ("sub-after-create", [*hello(), SUB, create(PUSH)[0] + DELIVER[1:], create(PUSH)[1]], [*hello(), SUB, DELIVER + create(PUSH)[0][1:], create(PUSH)[1]]),
    ("sub-after-create", [*hello(), SUB, create(PUSH)[0], DELIVER], [*hello(), SUB, create(PUSH)[0], refused(10059), DELIVER]),
    # An ack that was answered is settled; one whose answer never came may be said again.
    ("ack-twice", [*DELIVERED, pub(D1, b"+ACK", "_INBOX.p"), msg("_INBOX.p"), pub(D1, b"+ACK", "_INBOX.p")], [*DELIVERED, pub(D1, b"+ACK", "_INBOX.p"), pub(D1, b"+ACK", "_INBOX.p")]),
    # A stream stores there, no answer came for a while, and the same goes out again without an id.
    (
        "publish-retried",
        [*hello(), SUB, pub("s", b"x", "_INBOX.p"), msg("_INBOX.p", {"stream": "S", "seq": 1}), pub("s", LINE, "_INBOX.p"), 6.0, pub("s", LINE, "_INBOX.p")],
        [*hello(), SUB, pub("s", b"x", "_INBOX.p"), msg("_INBOX.p", {"stream": "S", "seq": 1}), pub("s", LINE, "_INBOX.p"), pub("s", LINE, "_INBOX.p"), pub("t", LINE, "_INBOX.p"), 6.0, pub("t", LINE, "_INBOX.p")],
    ),
    ("consumer-abandoned", [*hello(), SUB, DELIVER, *create(PUSH), b">UNSUB 3\r\n", 20.0, pub("s")], [*hello(), SUB, *create({**PUSH, "deliver_subject": "d"}), 5.0, b">SUB d 3\r\n", b">UNSUB 3\r\n", 20.0, pub("s")]),
    ("consumer-abandoned", [*hello(), SUB, DELIVER, *create(PUSH), b">UNSUB 3\r\n", 20.0, pub("s")], [*hello(), SUB, DELIVER, *create({**PUSH, "durable_name": "C"}), b">UNSUB 3\r\n", 20.0, pub("s")]),
    ("consumer-abandoned", [*hello(), SUB, DELIVER, *create(PUSH), b">UNSUB 3\r\n", 20.0, pub("s")], [*hello(), SUB, DELIVER, *info(PUSH), b">UNSUB 3\r\n", "eof", 20.0, pub("s")]),
    ("pull-limit-refused", [*hello(), SUB, pull(6), status("409 Exceeded MaxRequestBatch of 5")], [*hello(), SUB, pull(6), status("409 Exceeded MaxWaiting")]),
    ("asked-before-pull", [*LOOP, "eof", 1.0, *hello(), b">SUB _INBOX.q 4\r\n", api("CONSUMER.INFO.S.C", reply="_INBOX.q")], [*LOOP, "eof", 1.0, *hello(), b">SUB _INBOX.q 4\r\n", 3.0, api("CONSUMER.INFO.S.C", reply="_INBOX.q")]),
    # Silence at the ratio of the defaults is silence, although the pull expires before.
    ("heartbeats-ignored", [*hello(), SUB, pull(10, **USUAL), pull(5, **USUAL), 600.0, pub("s")], [*hello(), SUB, pull(10, **USUAL), pull(5, **USUAL), 30.0, status("408 Request Timeout"), status("408 Request Timeout"), pull(10, **USUAL), 60.0, pub("s")]),
    ("heartbeats-ignored", [*inboxes(5, 5, 5, 5), 600.0, pub("s")], [*inboxes(5, 5, 5, 5), b">UNSUB 2\r\n", 600.0, pub("s")]),
    ("push-heartbeats-ignored", [*hello(), SUB, DELIVER, *create(ORDERED), 120.0, pub("s")], [*hello(), SUB, DELIVER, *create({**ORDERED, "idle_heartbeat": 30 * 10**9}), 120.0, pub("s")]),
    ("push-heartbeats-ignored", [*hello(), SUB, DELIVER, *create(ORDERED), 120.0, pub("s")], [*hello(), SUB, DELIVER, *create(PUSH), 120.0, pub("s")]),
    # A new inbox for each pull is one reader all the same, if the pulls overlap again and again.
    ("pull-over-asks", inboxes(5, 5, 5, 5, 10), inboxes(5, 5, 5, 5, 5)),
    ("pull-over-asks", inboxes(10, 10, 10, 10, 10), [*hello(), WILD, *(pull(10, reply=f"_INBOX.w.{at}", **USUAL) for at in range(4)), *[step for at in range(1, 11) for step in acked(at)], pull(10, reply="_INBOX.w.9", **USUAL)]),
    # Through the inbox of all requests too.
    ("pull-over-asks", inboxes(5, 5, 5, 5, 10), [*hello(), WILD, api("INFO", reply="_INBOX.w.i"), msg("_INBOX.w.i", {}), *inboxes(5, 5, 5, 5, 10)[len(hello()) + 1 :]]),
    ("inbox-reused", [*inboxes(5, 5, 5, 5), "eof", *hello(), WILD, *(pull(1, reply=f"_INBOX.w.{at}", **USUAL) for at in range(4, 9))], [*inboxes(5, 5, 5, 5), "eof", *hello(), b">SUB _INBOX.v.* 2\r\n", *(pull(1, reply=f"_INBOX.v.{at}", **USUAL) for at in range(4, 9))]),
    # Two consumers share an inbox; what one owes the other does not.
    ("pull-over-asks", [*hello(), SUB, pull(10), pull(10)], [*hello(), SUB, pull(10), pull(10, consumer="D")]),
    # A refusal ends the pull that deserves it.
    ("pull-over-asks", [*hello(), SUB, pull(10), pull(1.5, consumer="P"), status("400 Bad Request - json"), pull(10)], [*hello(), SUB, pull(10), status("400 Bad Request"), pull(10)]),
    # What expires before it began owes nothing.
    ("pull-over-asks", [*hello(), SUB, pull(10), pull(10)], [*hello(OLD_INFO), SUB, pull(10, expires=-1), pull(10)]),
    # What is asked for where nothing is owed bounds what is asked for beside it, and not the most
    # that ever was.
    ("pull-over-asks", [*hello(), SUB, pull(100, no_wait=True), status("404 No Messages"), pull(10, idle_heartbeat=10**9), pull(5, idle_heartbeat=10**9)], [*hello(), SUB, pull(100), status("408 Request Timeout"), pull(50), pull(50)]),
    # The server's numbers say whether something came.
    ("pull-storm", [*hello(), SUB, pull(5, "_INBOX.q"), *[step for at in range(10) for step in (pull(2, max_bytes=9), *acked(at + 1)[:1], status("409 Message Size Exceeds MaxBytes", Nats_Pending_Messages=2, Nats_Pending_Bytes=9))]], [*hello(), SUB, *[step for at in range(10) for step in (pull(2, max_bytes=9), status("409 Message Size Exceeds MaxBytes", Nats_Pending_Messages=1, Nats_Pending_Bytes=3))]]),
    ("pull-batch-below-one", [*hello(), SUB, pull("5")], [*hello(), SUB, api("CONSUMER.MSG.NEXT.S.C", b"5")]),
    ("pull-over-asks", [*hello(), SUB, pull(10, max_bytes=1000), pull(1, max_bytes=10)], [*hello(), SUB, pull(10, max_bytes=1000), msg("s", b"x" * 100, D1), pull(1, max_bytes=10)]),
    ("sub-after-create", [*hello(), SUB, *create(PUSH), 0.9, DELIVER], [*hello(), SUB, *create(PUSH), 1.1, DELIVER]),
    ("sub-after-create", [*hello(), SUB, *create(PUSH), DELIVER], [*hello(), SUB, *create({**PUSH, "deliver_subject": "d"}), b">SUB d 3\r\n"]),
    ("start-contradicts", [*hello(), SUB, *create({"opt_start_seq": 1, "opt_start_time": "2024-01-01T00:00:00Z"})], [*hello(), SUB, *create({"opt_start_time": "2024-01-01T00:00:00Z"})]),
    ("increment-unreadable", [*hello(), pub("s", b"1", Nats_Incr="+1")], [*hello(), pub("s", b"", Nats_Incr="-1")]),
    ("batch-unreadable", published(Nats_Batch_Id="b" * 65, Nats_Batch_Sequence=1), published(Nats_Batch_Id="b" * 64, Nats_Batch_Sequence=1)),
    # Who may have something at hand need not ask.
    ("heartbeats-ignored", [*LOOP, HELD, pub(D1), 5.0, pub("s")], [*LOOP, HELD, 5.0, pub("s")]),
    ("pull-stalled", [*LOOP, HELD, pub(D1, b"-NAK"), LEADER, 31.0, pub("s")], [*LOOP, HELD, LEADER, 31.0, pub("s")]),
    ("no-pull-after-reconnect", [*LOOP, HELD, pub(D1), "eof", 1.0, *hello(), 32.0, pub("s")], [*LOOP, HELD, "eof", 1.0, *hello(), 32.0, pub("s")]),
    # Pulls that overlap behind one wildcard are one reader, but not from the first time on.
    ("pull-stalled", [*BESIDE, status("409 Leadership Change", "_INBOX.w.3"), 31.0, pub("s")], [*BESIDE[:-1], status("409 Leadership Change", "_INBOX.w.2"), 31.0, pub("s")]),
    # Several readers of one consumer are no storm.
    ("pull-storm", [*hello(), SUB, *([pull(), status("503")] * 10)], [*hello(), SUB, b">SUB _INBOX.q 3\r\n", *([pull(), status("503"), pull(reply="_INBOX.q"), status("503", "_INBOX.q", sid="3")] * 6)]),
    # What came twice with one ack subject is settled twice; a second ack of one of them is not.
    ("ack-twice", [*DELIVERED, HELD, pub(D1), pub(D1), pub(D1)], [*DELIVERED, HELD, pub(D1), pub(D1)]),
    # What the user left while there was no link is not made again.
    ("not-resubscribed", [*hello(), b">SUB a 2\r\n", ("!close", {}), "eof", 1.0, *hello(), 20.0, pub("s")], [*hello(), b">SUB a 2\r\n", "eof", ("!close", {}), 1.0, *hello(), 20.0, pub("s")]),
    # Messages of an ordered consumer may come before the answer that says that it was made.
    ("gap-ignored", [*hello(), SUB, DELIVER, create(ORDERED)[0], *EARLY[1:], create(ORDERED)[1], 20.0, pub("s")], [*hello(), SUB, DELIVER, create(ORDERED)[0], *EARLY[:1], create(ORDERED)[1], *EARLY[1:], 20.0, pub("s")]),
    ("flow-answered-early", flow_taken(0, "!open"), flow_taken(0, "open")),
    # Who reads slowly cannot answer yet: what came before the question is not taken.
    ("flow-unanswered", [*flow_taken(2, "!open")[:-1], *[MISSING] * 2], [*flow_taken(1, "!open")[:-1], *[MISSING] * 5]),
    ("flow-answered-early", [*hello(), ("!open", {}), "eof", *flow_taken(1, "nothing")], [*flow_taken(2, "!open")[:-1], ("notice", {"kind": "SLOW_CONSUMER"}), pub("$JS.FC.S.C.a")]),
    ("flow-answered-early", flow_taken(1, "!open"), [*flow_taken(1, "!open")[:-1], ("notice", {"kind": "SLOW_CONSUMER"}), pub("$JS.FC.S.C.a")]),
    ("heartbeats-ignored", [*LOOP, 2.5, api("CONSUMER.INFO.S.C"), 7.0, pub("s")], [*LOOP, 2.5, api("CONSUMER.INFO.S.C"), 6.0, pub("s")]),
    ("heartbeats-ignored", [*LOOP, *[step for at in (2.0, 3.0, 4.0, 5.0) for step in (at, api("CONSUMER.INFO.S.C"))], 6.5, pub("s")], [*LOOP, 2.5, api("CONSUMER.INFO.S.C"), 6.0, pub("s")]),
    ("pull-while-disconnected", [*hello(), SUB, pull(10), "eof", *hello(), SUB, pull(10), pull(10)], [*hello(), SUB, pull(10), "eof", *hello(), SUB, pull(10), 0.2, pull(10)]),
    ("pull-while-disconnected", [*hello(), SUB, pull(10), "eof", *hello(), SUB, pull(10), pull(10)], [*hello(), SUB, pull(10), "eof", *hello(), SUB, pull(10), pull(9), pull(10, consumer="D")]),
    ("pull-given-up-early", [*hello(), SUB, pull(1), 5.0, ("client_timeout", {"waiting_for": "status"})], [*hello(), ("client_timeout", {"waiting_for": "status"}), SUB, ("client_timeout", {"waiting_for": "status"}), pull(1), ("client_timeout", {"waiting_for": "pub ack"})]),
    ("ordered-left-behind", ordered_gap(*create(ORDERED, "D")), ordered_gap(6.0, *create(ORDERED, "D"))),
    ("ordered-left-behind", ordered_gap(*create(ORDERED, "D")), ordered_gap(*create(ORDERED, "D"), "eof")),
    ("pending-drifted", shrinking(8, 6, 4), shrinking(8, 6, 10, 4)),
    # The rest of a bounded number, asked for again and again while nothing comes.
    ("pending-drifted", shrinking(8, 6, 4), [*shrinking(8), *[pull(6), status("408 Request Timeout", Nats_Pending_Messages=6, Nats_Pending_Bytes=0)] * 5]),
    # The question is known from a heartbeat alone; what was taken is not.
    ("flow-answered-early", flow_taken(1, "!open"), [("!open", {}), *hello(), ("!open", {}), DELIVER, MISSING, ("taken", {"reply": D1}), ("taken", {}), pub("$JS.FC.S.C.a")]),
    ("not-resubscribed", [*hello(), b">SUB a 2\r\n", "eof", *hello(), b"PONG\r\n", 20.0, pub("s")], [*hello(), b">SUB a 2\r\n", "eof", *hello(), b">SUB > 3\r\n", b"PONG\r\n", 20.0, pub("s")]),
]
# fmt: on


def records(steps):
    at, line = 0.0, 1
    for step in steps:
        if isinstance(step, float):
            at = step
            continue
        line += 1
        if isinstance(step, str | tuple):
            name, detail = (step, {}) if isinstance(step, str) else step
            kind = Wished if name.startswith("!") else Happened
            yield line, kind(at=at, conn="a", name=name.removeprefix("!"), detail=detail)
        elif step.startswith(b">"):
            yield line, Sent(at=at, conn="a", data=step[1:])
        else:
            yield line, Received(at=at, conn="a", data=step)


def found(steps) -> set[str]:
    return {finding.rule for finding in lint(records(steps))}


def test_every_rule_has_a_trace_that_breaks_it_and_one_that_keeps_it():
    assert sorted(CASES) == sorted(rule.name for rule in RULES)
    assert len(CASES) >= 40


@pytest.mark.parametrize("rule", CASES)
def test_the_trace_that_breaks_a_rule_is_found(rule):
    assert rule in found(CASES[rule][0])


@pytest.mark.parametrize("rule", CASES)
def test_the_trace_that_keeps_a_rule_is_not_found(rule):
    assert rule not in found(CASES[rule][1])


@pytest.mark.parametrize(("rule", "broken", "kept"), MORE)
def test_another_side_of_a_rule_is_found_where_it_is_broken_and_only_there(rule, broken, kept):
    assert (rule in found(broken), rule in found(kept)) == (True, False)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_finding_says_where_it_is_written_and_what_is_right(rule):
    finding = next(each for each in lint(records(CASES[rule.name][0])) if each.rule == rule.name)

    assert finding.clause == rule.clause
    assert finding.right == rule.right
    assert finding.right.endswith(".")
    assert finding.words
    assert finding.conn == "a"
    assert finding.line > 1


def test_what_happens_again_and_again_is_told_so_often_and_then_counted():
    judge = Lint()
    findings = [
        each
        for line, record in records([*hello(), *([b">PONG\r\n"] * 50)])
        for each in judge.feed(line, record)
    ]

    assert len(findings) == MOST_TOLD
    assert dict(judge.counted) == {"pong-unasked": 50}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        # One CONNECT without headers, many messages.
        (
            [*hello(connect=b">CONNECT {}\r\n"), SUB, *[pull()] * 12],
            ["headers-off", "pull-over-asks"],
        ),
        # One drift of one reader.
        ([*hello(), SUB, *[pull(10)] * 12], ["pull-over-asks"]),
        # One body, again and again, and what the server says to it.
        (
            [*hello(), SUB, *[pull("5"), status("400 Bad Request - json")] * 12],
            ["pull-batch-below-one", "pull-storm"],
        ),
        (
            [*hello(), SUB, *[pull(6, group="x"), status("400 Bad Request - group")] * 5],
            ["pull-refused"],
        ),
        # One reconnect after which nothing is made again.
        (
            [
                *hello(),
                *(b">SUB s.%d %d\r\n" % (at, at) for at in range(12)),
                "eof",
                1.0,
                *hello(),
                20.0,
                pub("s"),
            ],
            ["not-resubscribed"],
        ),
        ([*hello(), SUB, *info({"ack_policy": "none"}), *(pub(D1), pub(D2)) * 6], ["ack-of-none"]),
        ([*hello(), SUB, *(api("STREAM.CREATE.S", b"{"), refused(10025)) * 6], ["request-refused"]),
    ],
)
def test_one_cause_is_one_finding(steps, told):
    assert sorted(finding.rule for finding in lint(records(steps))) == told


def test_the_same_fault_on_another_link_is_another_finding():
    steps = [
        *hello(connect=b">CONNECT {}\r\n"),
        b">SUB > 2\r\n",
        *[api("STREAM.INFO.S", reply=f"_INBOX.p{at}") for at in range(3)],
        "eof",
    ]

    assert [finding.rule for finding in lint(records([*steps, *steps]))] == [
        "headers-off",
        "headers-off",
    ]
