"""The scenarios with our blocking adapter: `python ours_blocking.py URL SCENARIO`. Its thread keeps
the connection alive in between.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import timedelta

from talk import ask_and_wait, done

from jsproto.errors import RequestTimeout
from jsproto.jetstream.errors import ConsumerDeleted
from jsproto.jetstream.ordered.options import SourceKind
from jsproto_io.blocking import connect

QUICK = {"expires": 5.0, "idle_heartbeat": 1.0}


def connected(url):
    return connect(
        url,
        name="jsproto blocking",
        pump=True,
        reconnect_wait=0.2,
        reconnect_jitter=0.0,
        max_reconnects=None,
    )


def taken(messages, wanted, patience=60.0):
    for _ in range(wanted):
        messages.next(patience).ack()


def consumer_of(nc):
    return nc.jetstream().stream("S").consumer("C")


def fetch(url):
    with connected(url) as nc:
        for batch, expires in ((10, 5.0), (10, 5.0), (20, 2.0)):
            with consumer_of(nc).fetch(batch, expires=expires) as messages:
                for msg in messages:
                    msg.ack()


def consume(url):
    with connected(url) as nc, consumer_of(nc).consume(50, **QUICK) as messages:
        taken(messages, 100)


def while_consuming(url, what):
    with connected(url) as nc, consumer_of(nc).consume(10, **QUICK) as messages:
        taken(messages, 10)
        ask_and_wait(what)
        ask_and_wait("publish")
        taken(messages, 10)


def heartbeat(url):
    while_consuming(url, "freeze")


def restart(url):
    while_consuming(url, "restart")


def leader(url):
    while_consuming(url, "stepdown")


def max_messages_1(url):
    with connected(url) as nc, consumer_of(nc).consume(1, **QUICK) as messages:
        taken(messages, 20)


def byte_bounded(url):
    with connected(url) as nc:
        with consumer_of(nc).fetch(max_bytes=1500, expires=2.0) as messages:
            for msg in messages:
                msg.ack()
        with consumer_of(nc).consume(max_bytes=3000, **QUICK) as messages:
            taken(messages, 30)


def deleted(url):
    with connected(url) as nc, consumer_of(nc).consume(10, **QUICK) as messages:
        taken(messages, 10)
        ask_and_wait("delete")
        with suppress(StopIteration, RequestTimeout, ConsumerDeleted):
            taken(messages, 1, patience=8.0)


def flow_control(url):
    settings = {
        "flow_control": True,
        "idle_heartbeat": timedelta(seconds=1),
        "max_ack_pending": 1000,
    }
    with connected(url) as nc, nc.jetstream().subscribe("s.>", stream="S", **settings) as messages:
        taken(messages, 300)
        with suppress(RequestTimeout):
            messages.next(2.5)


def ordered_as(url, form):
    options = QUICK if form is SourceKind.PULL else {}
    with (
        connected(url) as nc,
        nc.jetstream().ordered_consumer("S", form=form, **options) as messages,
    ):
        for at in range(110):
            if at == 20:
                ask_and_wait("delete all")
                ask_and_wait("publish")
            messages.next(30)


def ordered(url):
    ordered_as(url, SourceKind.PULL)


def ordered_push(url):
    ordered_as(url, SourceKind.PUSH)


def window(url):
    with connected(url) as nc, nc.jetstream().publish_window() as sink:
        for _ in range(200):
            sink.put(("s.w", b"x" * 20))


def tokens(url):
    with connected(url) as nc:
        with consumer_of(nc).fetch(10, expires=5.0) as messages:
            msgs = list(messages)
        msgs[0].ack()
        msgs[1].nak()
        msgs[2].in_progress()
        msgs[2].ack_confirmed()
        msgs[3].term("not wanted")
        msgs[4].nak(1.0)
        for msg in msgs[5:]:
            msg.ack()


NAMES = (
    *(
        fetch,
        consume,
        heartbeat,
        restart,
        leader,
        max_messages_1,
        byte_bounded,
        deleted,
        flow_control,
    ),
    *(ordered, ordered_push, window, tokens),
)

if __name__ == "__main__":
    {each.__name__: each for each in NAMES}[sys.argv[2]](sys.argv[1])
    done()
