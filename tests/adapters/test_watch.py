"""Who watches a client hears each event as it happens, the logger too; nobody who watches can break
it.
"""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import (
    Closed,
    Connected,
    Disconnected,
    LameDuck,
    Notice,
    NoticeKind,
)
from jsproto.core.connection.server_pool import Server
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import ConnectFailed, JsprotoError, RemoteProtocolError, ServerError
from jsproto.jetstream.pull.request import PullNotice
from jsproto.jetstream.push.base import PushNotice
from jsproto.wire.frames import Info
from jsproto_io._event_logger import SERIOUS, level_of, text_of
from jsproto_io.blocking import connect
from jsproto_io.testing import ModelServer

CANARY = "cAnAry"


def flush(nc):
    return nc.flush()


def test_a_watcher_hears_everything_on_every_adapter(use):
    heard = []
    with ModelServer() as hosted:
        use(
            hosted.url,
            flush,
            lambda nc: nc.reconnect(),
            flush,
            name="me",
            watch=lambda client, told: heard.append((client.name, str(client.server), type(told))),
        )
        whose = ("me", hosted.url)

    assert [
        (*whose, Connected),
        (*whose, Disconnected),
        (*whose, Connected),
        (*whose, Closed),
    ] == heard


def test_several_may_watch_and_one_that_fails_is_logged_and_breaks_nothing(caplog):
    heard = []

    def fail(_client, _told):
        raise ZeroDivisionError("mine")

    with (
        ModelServer() as hosted,
        connect(hosted.url, watch=(fail, lambda _, told: heard.append(told))) as nc,
    ):
        assert nc.flush() > 0.0

    assert [Connected, Closed] == [type(each) for each in heard]
    assert [("jsproto_io", "unnamed: a watcher has raised")] * 2 == [
        (each.name, each.getMessage()) for each in caplog.records if each.levelno == logging.ERROR
    ]
    assert "ZeroDivisionError: mine" in caplog.text


def test_what_happens_is_logged_with_its_level(caplog):
    caplog.set_level(logging.DEBUG, "jsproto_io")
    with ModelServer() as hosted:
        with connect(
            hosted.url, name="me", auth=Auth(user="joe", password=CANARY), reconnect_wait=0.01
        ) as nc:
            nc.publish("a", CANARY.encode())
            nc.reconnect()
            nc.flush()
        lines = [
            (each.levelname, each.getMessage())
            for each in caplog.records
            if each.name == "jsproto_io"
        ]

    place = f"me, {hosted.url}: "
    assert [
        ("INFO", f"{place}connected, nats-server {nc.info.version}"),
        ("WARNING", lines[1][1]),
        ("INFO", f"{place}connected again, nats-server {nc.info.version}"),
        ("INFO", f"{place}closed"),
    ] == lines
    assert lines[1][1].startswith(f"{place}the link is lost: ")
    assert CANARY not in caplog.text


def test_nothing_is_worded_that_nobody_wants_to_read(caplog, monkeypatch):
    caplog.set_level(logging.CRITICAL, "jsproto_io")
    monkeypatch.setattr("jsproto_io._event_logger.text_of", None)
    with ModelServer() as hosted, connect(hosted.url):
        pass

    assert [] == caplog.records


FEED = Subscription("a")
CASES = [
    (Connected(Info(version="2.9"), False), "INFO", "connected, nats-server 2.9"),
    (LameDuck(Server(host="h")), "WARNING", "the server announces its end"),
    (Disconnected(ServerError("no")), "WARNING", "the link is lost: ServerError: no"),
    (Disconnected(RemoteProtocolError(CANARY)), "WARNING", "the link is lost: RemoteProtocolError"),
    (Closed(None), "INFO", "closed"),
    (Closed(ConnectFailed("no")), "ERROR", "closed: ConnectFailed: no"),
    (Notice(FEED, NoticeKind.SLOW_CONSUMER, 7), "WARNING", "Subscription: SLOW_CONSUMER: 7"),
    (Notice(None, NoticeKind.POOL_CHANGED, object()), "DEBUG", "connection: POOL_CHANGED"),
    (
        Notice(None, NoticeKind.ATTEMPT_FAILED, JsprotoError("x")),
        "WARNING",
        "connection: ATTEMPT_FAILED: JsprotoError: x",
    ),
    (Notice(FEED, NoticeKind.UNKNOWN_SID, CANARY), "DEBUG", "Subscription: UNKNOWN_SID"),
]


@pytest.mark.parametrize(("told", "level", "text"), CASES)
def test_each_event_has_its_level_and_its_words(told, level, text):
    assert (level, text) == (logging.getLevelName(level_of(told)), text_of(told))


def test_without_a_handler_nothing_is_printed():
    code = (
        "import sys; from jsproto_io.blocking import connect\n"
        "try:\n connect('nats://127.0.0.1:1', connect_timeout=1.0).__enter__()\n"
        "except ConnectionError: pass\n"
        "assert 'opentelemetry' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert ("", "") == (done.stdout, done.stderr)


@pytest.mark.parametrize(
    "kind",
    [
        PullNotice.NO_RESPONDERS,
        PullNotice.HEARTBEAT_MISSED,
        PullNotice.CONSUMER_DELETED,
        PullNotice.REFUSED,
        PullNotice.DROPPED,
        PullNotice.AGEING,
        PushNotice.HEARTBEAT_MISSED,
        PushNotice.DROPPED,
        PushNotice.DELETE_FAILED,
    ],
)
def test_a_feed_that_stands_still_or_has_lost_something_is_a_warning(kind):
    assert level_of(Notice(None, kind, None)) == logging.WARNING


@pytest.mark.parametrize("kind", [PullNotice.RESUMED, PullNotice.PINNED, PushNotice.BOUND])
def test_what_goes_well_is_no_warning(kind):
    assert level_of(Notice(None, kind, None)) == logging.DEBUG


def test_each_notice_that_the_log_warns_of_is_one_of_the_machines():
    notices = {str(each) for kind in (NoticeKind, PullNotice, PushNotice) for each in kind}

    assert notices >= SERIOUS
