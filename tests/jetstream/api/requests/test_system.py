"""Requests to the system account: their subjects, and what servers answer."""

from __future__ import annotations

import json

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ApiError, InvalidResponse, InvalidSubject, StatusError
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.events.monitoring import Varz
from jsproto.jetstream.api.requests.system import (
    ask_account,
    ask_servers,
    read_answer,
    read_answers,
    user_info,
)
from jsproto.jetstream.context import JetStream
from jsproto.wire.commands import Publish
from tests.jetstream.api.asking import message

SYSTEM = JetStream(timeout=2.0).system


def said(members: object):
    return message(json.dumps(members).encode())


def asked(gather) -> tuple[str, object]:
    gather.port = Port()
    gather.opened(0.0)
    (command,) = (each for each in gather.port.commands if isinstance(each, Publish))
    return command.subject, json.loads(command.payload) if command.payload else None


@pytest.mark.parametrize(
    ("gather", "expected"),
    [
        (ask_servers("VARZ", Varz), ("$SYS.REQ.SERVER.PING.VARZ", None)),
        (
            ask_servers("RAFTZ", Document, server="NX", options={"a": 1}),
            ("$SYS.REQ.SERVER.NX.RAFTZ", {"a": 1}),
        ),
        (ask_account("A", "CONNZ"), ("$SYS.REQ.ACCOUNT.A.CONNZ", None)),
        (user_info(), ("$SYS.REQ.USER.INFO", None)),
        (SYSTEM.ask("IDZ"), ("$SYS.REQ.SERVER.PING.IDZ", None)),
        (SYSTEM.statsz(), ("$SYS.REQ.SERVER.PING.STATSZ", None)),
        (SYSTEM.varz(server="NX"), ("$SYS.REQ.SERVER.NX.VARZ", None)),
        (
            SYSTEM.jsz(account="A", streams=True, consumers=True, leader_only=True),
            (
                "$SYS.REQ.SERVER.PING.JSZ",
                {"account": "A", "streams": True, "consumer": True, "leader_only": True},
            ),
        ),
        (
            SYSTEM.connz(account="A", subscriptions=True, limit=5, offset=2),
            (
                "$SYS.REQ.SERVER.PING.CONNZ",
                {"acc": "A", "subscriptions": True, "limit": 5, "offset": 2},
            ),
        ),
        (
            SYSTEM.healthz(account="A", stream="S", consumer="C"),
            ("$SYS.REQ.SERVER.PING.HEALTHZ", {"account": "A", "stream": "S", "consumer": "C"}),
        ),
        (SYSTEM.account("A"), ("$SYS.REQ.ACCOUNT.A.INFO", None)),
        (SYSTEM.user_info(), ("$SYS.REQ.USER.INFO", None)),
    ],
)
def test_each_request_has_its_subject_and_its_wishes(gather, expected) -> None:
    assert asked(gather) == expected


def test_one_server_is_waited_for_no_longer_than_until_it_has_answered() -> None:
    one, all_of_them = SYSTEM.varz(server="NX"), SYSTEM.varz()
    for gather in (one, all_of_them):
        asked(gather)
        gather.delivered(
            [(gather.port.sid, "r", "", None, b'{"server":{"name":"n1"},"data":{}}')], 1.0
        )

    assert (one.ended, all_of_them.ended) == (True, False)


def test_who_we_are_is_one_answer() -> None:
    gather = user_info()
    asked(gather)
    gather.delivered(
        [(gather.port.sid, "r", "", None, b'{"server":{"name":"n1"},"data":{"user":"u"}}')], 1.0
    )

    assert gather.take(1.0).data == {"user": "u"}


def test_answers_come_by_the_names_of_their_servers() -> None:
    answers = read_answers(
        [
            said({"server": {"name": "n2", "id": "2", "new": 1}, "data": {"x": 2}}),
            said({"server": {"name": "n1", "id": "1"}, "statsz": {"x": 1}}),
            said({"server": {"name": "n3"}, "error": {"code": 400, "description": "bad"}}),
            said({"name": "n4", "id": "4", "host": "h"}),
        ],
        Document,
    )

    assert [(each.server.name, dict(each.data), each.error) for each in answers] == [
        ("n1", {"x": 1}, ""),
        ("n2", {"x": 2}, ""),
        ("n3", {}, "bad (400)"),
        ("n4", {"name": "n4", "id": "4", "host": "h"}, ""),
    ]
    assert answers[1].server.extra == {"new": 1}


def test_nothing_but_errors_is_an_error() -> None:
    with pytest.raises(ApiError, match="no such thing"):
        read_answers([said({"server": {"name": "n1"}, "error": "no such thing"})], Document)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"server":3}', b'{"data":[1]}'])
def test_what_no_server_writes_is_no_answer(body) -> None:
    with pytest.raises(InvalidResponse):
        read_answer(message(body), Document)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"stream":"S","seq":7}',
        b'{"stream_name":"S","name":"C"}',
        b'{"server":{}}',
        b'{"server":{"host":"h"},"data":{}}',
        b'{"error":"no"}',
    ],
)
def test_an_answer_that_does_not_say_which_server_it_is_from_is_no_answer(body) -> None:
    with pytest.raises(InvalidResponse, match="names its server"):
        read_answer(message(body), Document)


def test_a_status_is_no_answer() -> None:
    with pytest.raises(StatusError, match="408"):
        read_answer(message(b"", b"NATS/1.0 408 Timeout\r\n\r\n"), Document)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ask_servers("varz", Varz),
        lambda: ask_servers("VARZ", Varz, server="a.b"),
        lambda: ask_servers("VARZ\r\nPUB x 0", Varz),
        lambda: ask_account("", "INFO"),
        lambda: ask_account("A B", "INFO"),
        lambda: ask_account("*", "INFO"),
    ],
)
def test_names_stay_in_their_token(ask) -> None:
    with pytest.raises(InvalidSubject):
        ask()
