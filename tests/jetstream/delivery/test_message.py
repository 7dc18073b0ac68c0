"""Deliveries, what settles them, and the double ack."""

import copy
import itertools

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import (
    ConnectionLost,
    LinkError,
    LocalProtocolError,
    NoResponders,
    OutboundFull,
    RequestTimeout,
)
from jsproto.jetstream.delivery.ack import (
    ACK,
    IN_PROGRESS,
    NAK,
    TERM,
    AckFact,
    AckState,
    InvalidAckSubject,
    Nak,
    Next,
    Term,
)
from jsproto.jetstream.delivery.message import (
    AckBatch,
    JsMessage,
    Settlement,
    confirmed,
    settlement,
)
from jsproto.jetstream.errors import AlreadySettled
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish

REPLY = "$JS.ACK.ORDERS.NEW.1.12.34.1700000000000000000.4"


def delivery(reply=REPLY, subject="orders.new", block=None, payload=b"data"):
    return JsMessage(("7", subject, reply, block, payload))


def said(once):
    """What `Connection.settle` does."""
    frames = []
    return frames[0] if once.settle_by(frames.append) else None


def plain(message):
    """A message is its plain ack."""
    return message


# ------------------------------------------------------------------------------------------------ what the server refuses


def refusable():
    """A message of a feed with a port, where refused publishes are noted."""
    feed = Procedure(lambda: iter(()))
    feed.port = Port()
    return JsMessage(("7", "orders.new", REPLY, None, b"x"), feed), feed.port.denied


@pytest.mark.parametrize("verb", [ACK, NAK, TERM])
def test_a_settlement_that_the_server_refuses_leaves_the_message_open(verb):
    message, denied = refusable()
    assert said(settlement(message, verb))
    denied.add("$JS.ACK.ORDERS.NEW.1.13.35.1700000000000000000.4")
    assert message.state is AckState.SETTLED
    denied.add(REPLY)

    assert message.state is AckState.OPEN
    assert said(settlement(message, verb))
    assert message.state is AckState.SETTLED, "it was refused once only"


@pytest.mark.parametrize(
    "verb", [plain, lambda message: AckBatch([message]), lambda message: Settlement(message, NAK)]
)
def test_what_was_refused_is_said_again_without_a_look_before(verb):
    message, denied = refusable()
    message.settle_by(lambda _: None)
    assert said(verb(message)) is None
    denied.add(REPLY)

    assert said(verb(message))
    assert said(verb(message)) is None


def test_a_message_without_a_feed_is_as_settled_as_it_says():
    message = delivery()
    message.settle_by(lambda _: None)

    assert message.state is AckState.SETTLED


# ------------------------------------------------------------------------------------------------ the message


def test_a_message_reads_its_tuple():
    feed = object()
    message = JsMessage(("7", "orders.new", REPLY, b"NATS/1.0\r\nA: b\r\n\r\n", b"x"), feed)

    assert (message.subject, message.reply, message.payload) == ("orders.new", REPLY, b"x")
    assert message.headers["A"] == "b"
    assert message.feed is feed
    assert message.state is AckState.OPEN


def test_metadata_is_what_the_reply_says_and_is_read_once():
    message = delivery()

    assert message.metadata.stream_sequence == 12
    assert message.metadata is message.metadata


def test_metadata_of_a_foreign_reply_is_an_error():
    with pytest.raises(InvalidAckSubject, match="_INBOX"):
        _ = delivery(reply="_INBOX.x").metadata


@pytest.mark.parametrize(
    ("subject", "block", "size"), [("s", None, 1), ("ü", None, 2), ("s", b"NATS/1.0\r\n\r\n", 13)]
)
def test_size_is_counted_in_bytes_as_the_server_counts(subject, block, size):
    assert delivery(subject=subject, block=block).size == size + len(REPLY) + len(b"data")


def test_b103_copies_share_one_ack_state():
    first = delivery()
    second = copy.copy(first)
    third = copy.deepcopy(first)

    frames = [said(settlement(each)) for each in (first, second, third)]

    assert frames == [b"PUB " + REPLY.encode() + b" 4\r\n+ACK\r\n", None, None]


def test_what_cant_happen_changes_nothing():
    message = delivery()

    assert message.told(AckFact.CONFIRMED) is False
    assert message.state is AckState.OPEN


# ------------------------------------------------------------------------------------------------ settling


def test_the_frame_of_a_verb_is_one_publish_on_the_reply_as_it_came():
    reply = "$JS.ACK._.h.Ströme.C.1.2.3.4.5"

    frames = [
        said(settlement(delivery(reply), ACK)),
        said(settlement(delivery(reply), Nak(1.5))),
        said(settlement(delivery(reply), IN_PROGRESS)),
        said(settlement(delivery(reply), Term("bad\r\nü"))),
        said(settlement(delivery(reply), Next(batch=2), "_INBOX.P.1.1.5")),
    ]

    name = reply.encode()
    assert frames == [
        b"PUB %b 4\r\n+ACK\r\n" % name,
        b'PUB %b 25\r\n-NAK {"delay":1500000000}\r\n' % name,
        b"PUB %b 4\r\n+WPI\r\n" % name,
        b"PUB %b 13\r\n+TERM bad\r\n\xc3\xbc\r\n" % name,
        b"PUB %b _INBOX.P.1.1.5 6\r\n+NXT 2\r\n" % name,
    ]


def test_what_could_not_be_written_leaves_the_message_open():
    def full(frame):
        raise OutboundFull(f"no room for {frame!r}")

    for state in (AckState.OPEN, AckState.CUMULATIVE):
        feed = Feed()
        message = JsMessage(delivery().frame, feed, state)
        for once in (message, AckBatch([message]), Settlement(message, NAK)):
            with pytest.raises(OutboundFull):
                once.settle_by(full)

        assert message.state is state
        assert feed.covers == []


def test_b100_progress_may_be_said_again_and_again_before_the_end_and_never_after():
    message = delivery()

    progress = [said(settlement(message, IN_PROGRESS)) for _ in range(3)]
    end = said(settlement(message))
    after = said(settlement(message, IN_PROGRESS))

    assert progress == [b"PUB " + REPLY.encode() + b" 4\r\n+WPI\r\n"] * 3
    assert end is not None
    assert after is None


VERBS = [(ACK, ""), (NAK, ""), (Nak(1), ""), (Term(), ""), (Next(), "_INBOX.x")]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(VERBS, VERBS)))
def test_a_second_terminal_verb_is_never_said(first, second):
    message = delivery()

    assert said(settlement(message, *first)) is not None
    assert said(settlement(message, *second)) is None
    assert message.state is AckState.SETTLED


@pytest.mark.parametrize(("verb", "reply"), [*VERBS, (IN_PROGRESS, "")])
def test_b104_a_delivery_of_a_consumer_without_acks_says_nothing(verb, reply):
    message = JsMessage(("7", "s", REPLY, None, b""), None, AckState.MUTE)

    assert said(settlement(message, verb, reply)) is None
    assert said(AckBatch([message])) is None


@pytest.mark.parametrize(("verb", "reply"), [*VERBS, (IN_PROGRESS, "")])
def test_a_message_without_a_reply_says_nothing(verb, reply):
    assert said(settlement(delivery(reply=""), verb, reply)) is None
    assert said(AckBatch([delivery(reply="")])) is None


def test_what_is_known_not_to_have_left_may_be_said_again():
    message = delivery()
    said(settlement(message))

    assert message.told(AckFact.UNSENT) is True
    assert said(settlement(message, NAK)) is not None


def test_a_batch_is_acked_once_each_in_order_and_without_what_is_settled():
    messages = [delivery(reply=REPLY + str(n)) for n in range(4)]
    said(settlement(messages[1], NAK))
    mute = JsMessage(messages[0].frame, None, AckState.MUTE)

    frame = said(AckBatch([*messages, messages[0], mute]))

    assert frame == b"".join(b"PUB %b%d 4\r\n+ACK\r\n" % (REPLY.encode(), n) for n in (0, 2, 3))
    assert {each.state for each in messages} == {AckState.SETTLED}
    assert mute.state is AckState.MUTE
    assert said(AckBatch(messages)) is None


def test_a_message_without_a_reply_is_not_marked_with_its_batch():
    silent = delivery(reply="")
    said(AckBatch([delivery(), silent]))

    assert silent.state is AckState.OPEN


@pytest.mark.parametrize(("verb", "reply"), [(Next(), ""), (ACK, "_INBOX.x"), (NAK, "_INBOX.x")])
def test_next_and_only_next_has_a_reply(verb, reply):
    with pytest.raises(LocalProtocolError, match="Next"):
        settlement(delivery(), verb, reply)


# ------------------------------------------------------------------------------------------------ the double ack


def asking(message, verb=ACK, timeout=1.0, *, up=True):
    procedure = Procedure(lambda: confirmed(message, verb, timeout=timeout))
    procedure.port = Port(up=up)
    procedure.opened(0.0)
    return procedure


def answer(procedure, block=None, now=0.5):
    token = int(procedure.port.commands[-1].reply.rpartition(".")[2])
    procedure.replied(token, ("1", "", "", block, b""), now)


def test_b101_true_only_on_the_answer():
    message = delivery()
    procedure = asking(message)

    (command,) = procedure.port.commands
    assert (command.subject, command.payload) == (REPLY, b"+ACK")
    assert command.reply
    assert procedure.take(0.1) is NEED_DATA
    assert message.state is AckState.ASKED
    answer(procedure)
    assert procedure.take(0.5) is True
    assert message.state is AckState.SETTLED


def test_b101_no_responders_is_an_error_and_the_delivery_is_open():
    message = delivery()
    procedure = asking(message)
    answer(procedure, b"NATS/1.0 503\r\n\r\n")

    with pytest.raises(NoResponders, match="ACK"):
        procedure.take(0.5)
    assert message.state is AckState.OPEN


def test_b101_silence_is_an_error_and_the_delivery_is_open():
    message = delivery()
    procedure = asking(message, timeout=1.0)
    procedure.ticked(1.0)

    with pytest.raises(RequestTimeout, match=r"1\.0 s"):
        procedure.take(1.0)
    assert message.state is AckState.OPEN


def test_b101_a_settled_message_is_not_asked_about_again():
    message = delivery()
    answer(asking(message))
    second = asking(message)

    assert second.port.commands == []
    assert second.take(1.0) is False
    assert second.take(1.0) is ENDED


def test_while_the_answer_is_waited_for_nothing_else_is_said():
    message = delivery()
    first = asking(message)
    second = asking(message)

    assert [said(settlement(message, verb)) for verb in (ACK, NAK, IN_PROGRESS)] == [None] * 3
    assert second.take(0.1) is False
    assert second.port.commands == []
    assert first.take(0.1) is NEED_DATA


@pytest.mark.parametrize(
    "message", [delivery(reply=""), JsMessage(("7", "s", REPLY, None, b""), None, AckState.MUTE)]
)
def test_b104_what_cant_be_acked_is_not_asked_about(message):
    procedure = asking(message)

    assert procedure.port.commands == []
    assert procedure.take(0.0) is False


def test_a_lost_link_opens_the_delivery_for_another_ack():
    message = delivery()
    procedure = asking(message, NAK)
    procedure.link_down(ConnectionLost("gone"), 0.5)

    with pytest.raises(ConnectionLost, match="unknown"):
        procedure.take(0.5)
    assert said(settlement(message)) is not None


def test_without_a_link_the_ack_waits_and_is_sent_when_there_is_one():
    message = delivery()
    procedure = asking(message, up=False)
    assert procedure.port.commands == []

    procedure.port.up = True
    procedure.link_up(0.2)

    assert [type(each) for each in procedure.port.commands] == [Publish]
    answer(procedure)
    assert procedure.take(0.5) is True


def test_an_ack_that_never_found_a_link_leaves_the_delivery_open():
    message = delivery()
    procedure = asking(message, up=False)
    procedure.ticked(1.0)

    assert procedure.port.commands == []
    assert message.state is AckState.OPEN


def test_giving_up_opens_the_delivery():
    message = delivery()
    procedure = asking(message)
    procedure.closed(None, 0.5)

    with pytest.raises(LinkError):
        procedure.take(0.5)
    assert message.state is AckState.OPEN


def test_what_is_a_pull_too_can_not_be_confirmed():
    message = delivery()
    procedure = asking(message, Next())

    with pytest.raises(LocalProtocolError, match="whose answer is empty"):
        procedure.take(0.0)
    assert procedure.port.commands == []
    assert message.state is AckState.OPEN


@pytest.mark.parametrize("state", [AckState.OPEN, AckState.CUMULATIVE])
def test_in_progress_can_be_confirmed_and_the_message_stays_as_it_is(state):
    message = delivery()
    message.state = state
    procedure = asking(message, IN_PROGRESS)

    assert procedure.port.commands[-1].payload == b"+WPI"
    assert message.state is state
    answer(procedure)
    assert procedure.take(0.5) is True
    unheard = asking(message, IN_PROGRESS, timeout=1.0)
    unheard.ticked(1.0)
    with pytest.raises(RequestTimeout):
        unheard.take(1.0)
    assert message.state is state


def test_in_progress_is_not_confirmed_behind_the_end():
    message = delivery()
    message.state = AckState.SETTLED
    procedure = asking(message, IN_PROGRESS)

    assert procedure.take(0.0) is False
    assert procedure.port.commands == []


def test_a_double_ack_goes_on_from_a_snapshot():
    message = delivery()
    procedure = asking(message)
    twin = delivery()
    copied = Procedure(lambda: confirmed(twin, timeout=1.0))
    copied.port = Port()
    copied.restore(procedure.snapshot())
    assert twin.state is AckState.ASKED

    copied.replied(1, ("1", "", "", None, b""), 0.5)

    assert copied.take(0.5) is True
    assert twin.state is AckState.SETTLED


@pytest.mark.parametrize(
    "make",
    [settlement, lambda message: AckBatch([message]), lambda message: Settlement(message, ACK)],
)
def test_a_reply_that_is_no_utf_8_goes_back_as_it_came(make):
    message = delivery(reply="$JS.ACK.\udcff.C.1.2.3.4.5")

    assert said(make(message)) == b"PUB $JS.ACK.\xff.C.1.2.3.4.5 4\r\n+ACK\r\n"
    assert message.size == len("orders.new") + len(b"$JS.ACK.\xff.C.1.2.3.4.5") + len(b"data")


def test_an_abandoned_double_ack_leaves_the_delivery_open():
    message = delivery()
    steps = confirmed(message)
    next(steps)
    assert message.state is AckState.ASKED

    steps.close()

    assert message.state is AckState.OPEN


# ------------------------------------------------------------------------------------------------ twice, and for all


class Feed:
    """What a message asks of its feed."""

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.covers: list[JsMessage] = []

    def covered(self, message: JsMessage) -> None:
        self.covers.append(message)


def cumulative(feed: Feed) -> JsMessage:
    return JsMessage(delivery().frame, feed, AckState.CUMULATIVE)


@pytest.mark.parametrize("again", [plain, lambda message: Settlement(message, NAK)])
@pytest.mark.parametrize("state", [AckState.SETTLED, AckState.ASKED])
def test_a_second_settlement_sends_nothing_and_says_that_it_is_one(again, state):
    once = again(JsMessage(delivery().frame, Feed(), state))

    assert said(once) is None
    assert once.repeated()


@pytest.mark.parametrize("again", [plain, lambda message: Settlement(message, NAK)])
def test_a_mute_message_or_one_without_reply_is_no_repetition(again):
    for message in (
        JsMessage(delivery().frame, Feed(strict=True), AckState.MUTE),
        delivery(reply=""),
    ):
        once = again(message)

        assert said(once) is None
        assert not once.repeated()


@pytest.mark.parametrize("again", [plain, lambda message: Settlement(message, NAK)])
def test_a_strict_feed_raises_at_a_second_settlement(again):
    message = JsMessage(delivery().frame, Feed(strict=True), AckState.SETTLED)

    with pytest.raises(AlreadySettled, match=r"orders.*SETTLED"):
        said(again(message))


def test_a_strict_feed_raises_at_a_second_confirmation_too():
    message = JsMessage(delivery().frame, Feed(strict=True), AckState.SETTLED)

    with pytest.raises(AlreadySettled):
        next(confirmed(message))


@pytest.mark.parametrize("state", [AckState.MUTE, AckState.SETTLED, AckState.ASKED])
def test_what_was_not_written_is_not_marked_either(state):
    feed = Feed()
    message = JsMessage(delivery().frame, feed, state)
    assert said(message) is None

    assert message.state is state
    assert feed.covers == []


def test_a_list_leaves_out_what_is_settled_without_a_word():
    message = JsMessage(delivery().frame, Feed(strict=True), AckState.SETTLED)
    once = AckBatch([message])

    assert said(once) is None
    assert not once.repeated()


@pytest.mark.parametrize(
    "make",
    [
        plain,
        lambda message: AckBatch([message]),
        lambda message: Settlement(message, ACK),
        lambda message: Settlement(message, Next(), "_INBOX.P.1.1.1"),
    ],
)
def test_the_ack_of_a_cumulative_message_is_told_to_its_feed(make):
    feed = Feed()
    message = cumulative(feed)

    assert said(make(message)) is not None
    assert message.state is AckState.SETTLED
    assert feed.covers == [message]


@pytest.mark.parametrize("verb", [NAK, TERM, IN_PROGRESS])
def test_other_verbs_of_a_cumulative_message_speak_for_itself(verb):
    feed = Feed()
    message = cumulative(feed)

    assert said(settlement(message, verb)) is not None
    assert feed.covers == []
    assert (message.state is AckState.CUMULATIVE) == (verb is IN_PROGRESS)


def test_a_confirmed_ack_of_a_cumulative_message_is_told_to_its_feed():
    feed = Feed()
    message = cumulative(feed)
    steps = confirmed(message)
    next(steps)

    assert feed.covers == []
    with pytest.raises(StopIteration):
        steps.send(Message(("1", "r", "", None, b"")))
    assert feed.covers == [message]


def test_without_a_confirmation_a_cumulative_message_is_cumulative_again():
    feed = Feed()
    message = cumulative(feed)
    steps = confirmed(message, NAK)
    next(steps)
    with pytest.raises(ConnectionLost):
        steps.throw(ConnectionLost("gone"))

    assert message.state is AckState.CUMULATIVE
    assert feed.covers == []


def test_a_confirmed_nak_of_a_cumulative_message_speaks_for_itself():
    feed = Feed()
    steps = confirmed(cumulative(feed), NAK)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(Message(("1", "r", "", None, b"")))

    assert feed.covers == []


# ---------------------------------------------------------------------------------------------- where an ack may go


@pytest.mark.parametrize("state", [AckState.OPEN, AckState.CUMULATIVE])
@pytest.mark.parametrize(
    "reply",
    [">", "*", "_INBOX.x.1", "$JS.API.STREAM.DELETE.S", "$JS.ACKS.1", "$js.ack.S.C.1.1.1.1.0"],
)
def test_nothing_is_said_to_anybody_but_a_consumer_n068(reply, state):
    message = JsMessage(("7", "s.a", reply, None, b""), Feed(), state)
    good = delivery()
    said = []
    for once in (
        message,
        Settlement(message, NAK),
        Settlement(message, IN_PROGRESS),
        AckBatch([good, message]),
    ):
        with pytest.raises(InvalidAckSubject, match="reply subject"):
            once.settle_by(said.append)
    for verb in (ACK, IN_PROGRESS):
        with pytest.raises(InvalidAckSubject):
            next(confirmed(message, verb))

    assert [] == said
    assert (state, AckState.OPEN) == (message.state, good.state)


def test_a_message_that_wants_no_ack_may_have_any_reply_subject():
    message = JsMessage(("7", "s.a", "_INBOX.x.1", None, b""), Feed(), AckState.MUTE)

    assert not message.settle_by([].append)
