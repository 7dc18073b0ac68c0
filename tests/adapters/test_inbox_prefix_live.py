"""A custom inbox prefix is honoured on every path: the account may subscribe to nothing else, and
nothing is refused.
"""

from __future__ import annotations

import pytest

from jsproto import PermissionViolation, SourceKind
from jsproto.core.connection.events import Connected, Notice, NoticeKind
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

CONFIG = """
authorization { users: [
    { user: joe, password: pw, permissions: { subscribe: ["_I.me.>", "open.>"] } }
    { user: eve, password: pw }
] }
"""


def until_connected(events):
    told = []
    for each in events:
        told.append(each)
        if isinstance(each, Connected):
            break
    return told


def test_every_path_stays_below_the_prefix(start_server):
    server = start_server(config=CONFIG)
    url = server.url.replace("//", "//joe:pw@")
    with connect(url, inbox_prefix="_I.me", reconnect_wait=0.01, reconnect_jitter=0.0) as nc:
        events = nc.events()
        told = []
        js = nc.jetstream()
        stream = js.create_stream(name="S", subjects=["s.>"], allow_direct=True)
        for at in range(20):
            js.publish("s.a", b"%d" % at)
        with js.publish_window() as window:
            for at in range(20, 40):
                window.put(("s.a", b"%d" % at))
        work = stream.create_consumer(durable_name="w")

        assert b"0" == work.next().payload
        with work.fetch(5) as messages:
            assert [True] * 5 == [message.ack_confirmed() for message in messages]
        with work.consume() as messages:
            assert b"6" == messages.next().payload
            nc.reconnect()
            told += until_connected(events)
            assert messages.next(10.0).ack_confirmed()
        with stream.ordered() as messages:
            assert b"0" == messages.next().payload
        with stream.ordered(form=SourceKind.PUSH) as messages:
            assert b"0" == messages.next().payload
        with js.subscribe("s.>") as messages:
            assert b"0" == messages.next().payload
        assert b"0" == stream.messages.by_seq(1).payload
        with stream.messages.batch(limit=3) as messages:
            assert [b"0", b"1", b"2"] == [message.payload for message in messages]
        # With consumers 2.15.1 may fail over one that was just deleted.
        with stream.snapshot(consumers=False) as chunks:
            assert sum(len(chunk) for chunk in chunks) > 0
        assert nc.flush() > 0.0
        with nc.subscribe("open.q") as questions:
            nc.flush()
            with nc.request_many("open.q", count=1) as answers:
                question = questions.next()
                nc.publish(question.reply, b"yes")
                assert b"yes" == answers.next().payload
                assert question.reply.startswith("_I.me.")
    told += list(events)

    assert [] == [
        each for each in told if isinstance(each, Notice) and each.kind is NoticeKind.SERVER_ERROR
    ]


def test_without_the_prefix_the_account_could_not_do_it(start_server):
    server = start_server(config=CONFIG)
    with (
        connect(server.url.replace("//", "//joe:pw@")) as nc,
        pytest.raises(PermissionViolation),
        nc.request_many("open.q", count=1) as answers,
    ):
        answers.next()
