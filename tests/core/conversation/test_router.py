"""Answers find their way by address, messages by sid."""

from __future__ import annotations

import pytest

from jsproto.core.conversation.conversation import Conversation, Port
from jsproto.core.conversation.router import Router, number_of
from jsproto.core.pubsub.request import request


def conversation(number: int) -> Conversation[object]:
    made = Conversation()
    made.port = Port(number)
    return made


def test_the_address_of_an_answer_is_its_route():
    router = Router("_INBOX", "N")
    seven = conversation(7)
    router.add(seven)
    frames = [
        ("1", f"_INBOX.R.N.{tail}", "", None, b"")
        for tail in ("7.3", "8.1", "7.x", "x.1", "7.\u0663", "7." + "9" * 5000)
    ]

    assert [(seven, 3, frames[0])] == list(router.answers(frames))
    assert 5 == router.unknown


def test_mux_and_inboxes_never_match_each_other():
    router = Router("_INBOX", "N")

    assert router.mux_subject == "_INBOX.R.N.*.*"
    assert router.inbox_root == "_INBOX.P.N"
    assert not router.inbox_root.startswith(router.mux_root)


def test_what_is_forgotten_has_no_route_left():
    router = Router("_INBOX", "N")
    one, two = conversation(1), conversation(2)
    for each in (one, two):
        router.add(each)
    for sid, each in (("2", one), ("3", two), ("4", one)):
        router.route(sid, each)
    router.forget(one)

    assert {"3": two} == router.routes
    assert {2: two} == router.conversations


def test_only_present_sids_survive_a_link():
    router = Router("_INBOX", "N")
    one, two = conversation(1), conversation(2)
    one.port.subscribe("a")
    for each in (one, two):
        router.add(each)
    for sid, each in (("99", one), (one.port.sid, one), ("98", two)):
        router.route(sid, each)
    router.link_lost()

    assert {one.port.sid: one} == router.routes


@pytest.mark.parametrize("text", ["", "0", "01", "+1", "-1", " 1", "1 ", "1_0", "\u0661", "1" * 16])
def test_only_a_number_as_we_write_it_is_one(text):
    assert -1 == number_of(text)
    assert 10 == number_of("10")


@pytest.mark.parametrize("address", ["01.1", "1.01", "1.0", "1.1.", "1"])
def test_an_answer_to_an_address_that_we_did_not_write_is_nobodys(wire, address):
    w = wire().up()
    asked = w.open(request("svc"))
    root = w.lines()[1].split()[2].removesuffix("1.1")
    w.feed(f"MSG {root}{address} 1 1\r\na\r\n".encode())

    assert not asked.ended
    assert 1 == w.connection.stats.unknown_sid

    w.feed(f"MSG {root}1.1 1 1\r\nb\r\n".encode())

    assert b"b" == w.take(asked).payload
