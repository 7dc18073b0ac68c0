"""Traces of any length, made as a client would make them: somebody who reads on and on, acks what
comes, and loses the link now and then.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

_HELLO = (
    "= {conn} connected",
    '< {conn} INFO {{"server_id":"N","server_name":"one","version":"2.15.1","headers":true,"jetstream":true}} \\r\\n',
    '> {conn} CONNECT {{"lang":"python","version":"1.0","headers":true,"no_responders":true}}\\r\\nPING\\r\\n',
    "< {conn} PONG\\r\\n",
    "> {conn} SUB _INBOX.p{conn} 1\\r\\n",
)
_BATCH = 50
#: Every so many pulls the first delivery of the pull is acked twice, and the link is lost.
_TWICE, _LOST = 40, 200


def long_trace(records: int, conns: str = "ab", *, faults: bool = True) -> Iterator[str]:
    """The lines of a trace with so many records of bytes, events and verbs; with faults, a delivery
    is acked twice now and then.
    """
    yield from ("#jsproto-trace/2\n", ": server_version 2.15.1\n", ": client python 1.0\n")
    steps = [_reader(conn, faults=faults) for conn in conns]
    at = 0.0
    for number, step in zip(range(records), itertools.cycle(steps), strict=False):
        at += 0.0004 if number % 997 else 0.5
        yield f"@ {at:.6f}\n"
        yield next(step) + "\n"


def _reader(conn: str, *, faults: bool) -> Iterator[str]:
    sequence = 0
    yield f"! {conn} consume {json.dumps({'stream': 'ORDERS', 'consumer': 'C' + conn})}"
    for pulls in itertools.count():
        if pulls % _LOST == 0:
            if pulls:
                yield f"= {conn} eof"
            yield from (line.format(conn=conn) for line in _HELLO)
        body = json.dumps(
            {"batch": _BATCH, "expires": 30_000_000_000, "idle_heartbeat": 5_000_000_000}
        )
        yield f"> {conn} PUB $JS.API.CONSUMER.MSG.NEXT.ORDERS.C{conn} _INBOX.p{conn} {len(body)}\\r\\n{body}\\r\\n"
        for number in range(_BATCH):
            sequence += 1
            reply = f"$JS.ACK.ORDERS.C{conn}.1.{2 * sequence}.{sequence}.{1795813228857713434 + sequence}.7"
            order = json.dumps({"order": sequence, "state": "new", "price": sequence % 991})
            yield f"< {conn} MSG orders.eu.{sequence % 7} 1 {reply} {len(order)}\\r\\n{order}\\r\\n"
            ack = f"> {conn} PUB {reply} 4\\r\\n+ACK\\r\\n"
            yield ack
            if faults and number == 0 and pulls % _TWICE == _TWICE - 1:
                yield ack
