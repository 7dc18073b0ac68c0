"""A conversation without a connection of ours: the books that `Embedded` keeps, looked at from a
foreign client's side.
"""

from __future__ import annotations

import json

import pytest

from jsproto import (
    ENDED,
    NEED_DATA,
    ConnectionLost,
    InvalidSubject,
    JetStream,
    LocalProtocolError,
    Message,
    Nak,
    Next,
    Procedure,
    SourceKind,
    StopMode,
    Subscription,
)
from jsproto.core import Call
from jsproto.embed import Embedded, Fence, Publish, Sub, Unsub, acknowledgement, header_block
from jsproto.errors import ConversationClosed
from jsproto.jetstream.delivery.ack import AckFact
from jsproto.jetstream.pull.request import PullNotice
from jsproto.wire.headers import Headers

WORK = JetStream().stream("S").consumer("C")
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S.C"


def message(sid, number, payload=b"x"):
    return sid, "orders.new", f"$JS.ACK.S.C.1.{number}.{number}.0.0", None, payload


def status(sid, token, code, text, headers=None):
    return sid, token, "", header_block(headers, code, text), b""


def embedded(conversation, **options):
    return Embedded(conversation, inbox="_INBOX.x", now=0.0, **options)


def ask():
    answer = yield Call("$JS.API.INFO")
    return answer.payload


# ------------------------------------------------------------------------------------------------ opening


def test_a_pull_is_an_interest_and_a_request_below_the_clients_inbox():
    machine = embedded(WORK.fetch(2, expires=1.0))
    sub, publish = machine.commands()

    assert sub == Sub("_INBOX.x.P.1.1.*", "2")
    assert (publish.subject, publish.reply) == (NEXT, "_INBOX.x.P.1.1.1")
    assert json.loads(publish.payload)["batch"] == 2


def test_commands_are_given_out_once():
    machine = embedded(WORK.fetch(1))
    machine.commands()

    assert machine.commands() == []


@pytest.mark.parametrize("inbox", ["", "a b", "a.*", "a..b", "a\r\nPING"])
def test_an_inbox_that_is_no_plain_subject_is_refused(inbox):
    with pytest.raises(InvalidSubject):
        Embedded(WORK.fetch(1), inbox=inbox, now=0.0)


def test_a_conversation_is_embedded_once():
    fetch = WORK.fetch(1)
    embedded(fetch)

    with pytest.raises(ConversationClosed, match="opened before"):
        embedded(fetch)


def test_what_can_not_be_sent_is_refused_at_once():
    def wrong():
        yield Call("two words")

    class Refusing(Procedure):
        def opened(self, now):
            self.end(LocalProtocolError("no"))

    with pytest.raises(LocalProtocolError, match="no"):
        embedded(Refusing(wrong))


# ------------------------------------------------------------------------------------------------ what comes


def test_messages_by_sid_are_taken_and_statuses_by_token_end_the_pull():
    machine = embedded(WORK.fetch(3, expires=1.0))
    sub, publish = machine.commands()
    pending = {"Nats-Pending-Messages": "2", "Nats-Pending-Bytes": "0"}
    machine.delivered([message(sub.sid, 1, b"one")], 0.1)
    machine.delivered([status(sub.sid, publish.reply, "408", "Request Timeout", pending)], 1.0)
    taken = machine.conversation.take(1.0)

    assert taken.payload == b"one"
    assert machine.conversation.take(1.0) is ENDED
    assert machine.conversation.reason.name == "EXPIRED"


def test_what_was_taken_is_asked_for_again():
    machine = embedded(WORK.consume(max_messages=2))
    sub, _ = machine.commands()
    machine.delivered([message(sub.sid, 1), message(sub.sid, 2)], 0.1)
    machine.conversation.take_all(0.2)
    (again,) = machine.commands()

    assert again.subject == NEXT
    assert again.reply == "_INBOX.x.P.1.1.2"


def test_a_subscription_knows_how_many_messages_it_had():
    machine = embedded(Subscription("orders.*", limit=3))
    sub, unsub = machine.commands()
    machine.delivered([("2", "orders.new", "", None, b""), ("2", "orders.new", "", None, b"")], 0.1)
    machine.link_down(0.2)
    machine.link_up(0.3)

    assert (sub, unsub) == (Sub("orders.*", "2"), Unsub("2", 3))
    assert machine.commands() == [Sub("orders.*", "2"), Unsub("2", 1)]


def test_messages_of_an_inbox_that_was_given_up_still_come():
    machine = embedded(WORK.consume(max_messages=2, expires=2.0, idle_heartbeat=1.0))
    old, _ = machine.commands()
    machine.conversation.ticked(2.1)
    commands = machine.commands()
    machine.delivered([message(old.sid, 1, b"late")], 2.2)

    assert commands[:2] == [Unsub(old.sid), Sub("_INBOX.x.P.1.2.*", "3")]
    assert machine.conversation.take(2.2).payload == b"late"


# ------------------------------------------------------------------------------------------------ requests


def test_requests_are_answered_on_an_interest_of_their_own():
    machine = embedded(Procedure(ask))
    sub, call = machine.commands()
    machine.delivered([("1", call.reply, "", None, b"{}")], 0.1)

    assert sub == Sub("_INBOX.x.R.*.*", "1")
    assert call == Publish("$JS.API.INFO", b"", "_INBOX.x.R.1.1")
    assert machine.conversation.take(0.1) == b"{}"


def test_that_interest_is_stated_once_for_each_link():
    def twice():
        yield Call("a")
        return (yield from ask())

    machine = embedded(Procedure(twice))
    _, first = machine.commands()
    machine.delivered([("1", first.reply, "", None, b"")], 0.1)
    (second,) = machine.commands()

    assert (second.subject, second.reply) == ("$JS.API.INFO", "_INBOX.x.R.1.2")


@pytest.mark.parametrize("token", ["", "x", "²", "-1", "1" * 16, "2"])
def test_an_answer_to_nothing_changes_nothing(token):
    machine = embedded(Procedure(ask))
    machine.commands()
    machine.delivered([("1", f"_INBOX.x.R.1.{token}", "", None, b"forged")], 0.1)

    assert machine.conversation.take(0.1) is NEED_DATA


def test_a_request_waits_for_a_link():
    machine = embedded(Procedure(ask), up=False)
    before = machine.commands()
    machine.link_up(1.0)

    assert before == []
    assert machine.commands() == [
        Sub("_INBOX.x.R.*.*", "1"),
        Publish("$JS.API.INFO", b"", "_INBOX.x.R.1.1"),
    ]


# ------------------------------------------------------------------------------------------------ fences


def test_a_drain_ends_when_its_fence_is_answered():
    machine = embedded(WORK.consume())
    sub, _ = machine.commands()
    machine.conversation.told(StopMode.DRAIN, 0.1)
    unsub, fence = machine.commands()
    machine.delivered([message(sub.sid, 1)], 0.2)
    machine.fenced(fence.token, 0.3)

    assert unsub == Unsub(sub.sid)
    assert isinstance(fence, Fence)
    assert machine.conversation.take(0.3).payload == b"x"
    assert machine.conversation.take(0.3) is ENDED
    assert machine.conversation.finished


def test_two_fences_at_once_have_two_tokens_and_the_later_answers_both():
    heard = []

    class Careful(Procedure):
        def fenced(self, token, now):
            heard.append(token)

    machine = embedded(Careful(ask))
    port = machine.conversation.port
    tokens = [port.fence(), port.fence()]
    given = [each.token for each in machine.commands() if isinstance(each, Fence)]
    third = port.fence()
    (fence,) = machine.commands()
    machine.fenced(tokens[1], 0.1)

    assert given == tokens
    assert fence == Fence(third)
    assert heard == tokens


def test_the_fence_of_a_lost_link_says_nothing_about_the_next():
    machine = embedded(WORK.consume())
    machine.commands()
    machine.conversation.port.fence()
    (stale,) = machine.commands()
    machine.link_down(0.1)
    machine.link_up(0.2)
    machine.conversation.told(StopMode.DRAIN, 0.3)
    fresh = machine.commands()[-1]
    machine.fenced(stale.token, 0.4)
    early = machine.conversation.finished
    machine.fenced(fresh.token, 0.5)

    assert not early
    assert machine.conversation.finished


# ------------------------------------------------------------------------------------------------ links


def test_a_new_link_means_a_new_inbox_and_a_new_pull():
    machine = embedded(WORK.consume(max_messages=5))
    machine.commands()
    machine.link_down(1.0)
    machine.link_up(2.0)
    sub, publish = machine.commands()

    assert sub == Sub("_INBOX.x.P.1.2.*", "3")
    assert (publish.subject, publish.reply) == (NEXT, "_INBOX.x.P.1.2.2")


def test_commands_of_a_lost_link_are_void():
    machine = embedded(WORK.fetch(1))
    machine.link_down(1.0)

    assert machine.commands() == []
    with pytest.raises(ConnectionLost, match="lost its link"):
        machine.conversation.take(1.0)


def test_the_reason_of_a_loss_is_passed_on():
    machine = embedded(WORK.fetch(1))
    reason = ConnectionLost("the cable")
    machine.link_down(1.0, reason)

    assert machine.conversation.cause is reason


def test_what_is_stated_without_a_link_is_stated_once_when_there_is_one():
    machine = embedded(WORK.consume(), up=False)
    machine.link_up(1.0)

    assert [type(each) for each in machine.commands()] == [Sub, Publish]


def test_interest_given_up_without_a_link_is_not_stated_again():
    machine = embedded(Subscription("orders.*"))
    machine.commands()
    machine.link_down(1.0)
    machine.conversation.closed(None, 2.0)
    machine.link_up(3.0)

    assert machine.commands() == []


def test_telling_the_same_of_the_link_twice_changes_nothing():
    machine = embedded(WORK.consume())
    machine.commands()
    machine.link_up(0.5)
    while_up = machine.commands()
    machine.link_down(1.0)
    machine.link_down(1.5)
    machine.link_up(2.0)
    machine.link_up(2.5)

    assert while_up == []
    assert [type(each) for each in machine.commands()] == [Sub, Publish]


# ------------------------------------------------------------------------------------------------ words


def test_notices_are_given_out_once():
    machine = embedded(WORK.consume())
    sub, publish = machine.commands()
    machine.delivered([status(sub.sid, publish.reply, "503", "")], 0.1)
    ((kind, _),) = machine.notices()

    assert kind is PullNotice.NO_RESPONDERS
    assert machine.notices() == []


def test_an_acknowledgement_is_given_once():
    machine = embedded(WORK.fetch(1))
    machine.delivered([message("2", 7)], 0.1)
    taken = machine.conversation.take(0.1)

    assert acknowledgement(taken) == Publish("$JS.ACK.S.C.1.7.7.0.0", b"+ACK")
    assert acknowledgement(taken) is None
    assert acknowledgement(taken, Nak()) is None


def test_an_acknowledgement_that_was_not_sent_can_be_said_again():
    machine = embedded(WORK.fetch(1))
    machine.delivered([message("2", 7)], 0.1)
    taken = machine.conversation.take(0.1)
    acknowledgement(taken)
    taken.told(AckFact.UNSENT)

    assert acknowledgement(taken, Nak(1.5)).payload == b'-NAK {"delay":1500000000}'


def test_an_acknowledgement_that_is_also_a_pull_is_refused():
    machine = embedded(WORK.fetch(1))
    machine.delivered([message("2", 7)], 0.1)

    with pytest.raises(LocalProtocolError):
        acknowledgement(machine.conversation.take(0.1), Next())


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_headers_are_no_block(nothing):
    assert header_block(nothing) is None


def test_a_block_is_read_back_as_it_was_given():
    block = header_block({"A": "1", "B": ["2", "ü"]}, "408", "Request Timeout")
    headers = Headers.parse(block)

    assert headers.items() == (("A", "1"), ("B", "2"), ("B", "ü"))
    assert tuple(headers.status) == (408, "Request Timeout")
    assert headers.defects == ()


def test_a_status_alone_is_a_block():
    assert header_block({}, "503") == b"NATS/1.0 503\r\n\r\n"


def test_no_value_begins_another_header_or_ends_the_block():
    block = header_block({"A": "1\r\nForged: 2\n\r\n"}, "408", "x\r\nForged: 3")

    assert Headers.parse(block).keys() == ("A",)


def test_bytes_that_are_no_text_come_out_as_they_were():
    assert (
        header_block({"A": b"\xff".decode("utf-8", "surrogateescape")})
        == b"NATS/1.0\r\nA: \xff\r\n\r\n"
    )


def test_a_message_has_its_headers():
    machine = embedded(Subscription("orders.*"))
    machine.delivered([("2", "orders.new", "", header_block({"A": "1"}), b"")], 0.1)
    taken = machine.conversation.take(0.1)

    assert isinstance(taken, Message)
    assert taken.headers["A"] == "1"


@pytest.mark.parametrize("form", list(SourceKind))
def test_consumers_of_two_programs_have_different_names(form):
    names = set()
    for inbox in ("_INBOX.x", "_INBOX.y", "_INBOX.x.y", "_INBOX.y.x"):
        machine = Embedded(JetStream().stream("S").ordered(form=form), inbox=inbox, now=0.0)
        [create] = [each for each in machine.commands() if isinstance(each, Publish)]
        names.add(json.loads(create.payload)["config"]["name"])

    assert len(names) == 4
    assert all(len(name) > 22 and "x" not in name.split("-")[1:] for name in names)


def test_the_name_of_a_range_reader_that_is_embedded_is_its_own_too():
    names = set()
    for inbox in ("_INBOX.x", "_INBOX.y"):
        machine = Embedded(JetStream().stream("S").read_range(1, 9), inbox=inbox, now=0.0)
        state = {"messages": 8, "first_seq": 1, "last_seq": 8}
        info = {"config": {"name": "S"}, "created": "2026-11-27T21:01:15Z", "state": state}
        [look] = [each for each in machine.commands() if isinstance(each, Publish)]
        machine.delivered([("1", look.reply, "", None, json.dumps(info).encode())], 0.1)
        [create] = [each for each in machine.commands() if isinstance(each, Publish)]
        names.add(json.loads(create.payload)["config"]["name"])

    assert len(names) == 2


def test_it_shows_its_conversation():
    embedded = Embedded(Subscription("a"), inbox="_INBOX.x", now=0.0)

    assert "<Embedded <Subscription: open>>" == repr(embedded)
