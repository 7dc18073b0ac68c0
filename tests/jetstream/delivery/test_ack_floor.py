from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.delivery.ack import CUMULATIVE, NAK, OPEN, SETTLED, Next
from jsproto.jetstream.delivery.ack_floor import AckFloor
from jsproto.jetstream.delivery.message import AckBatch, JsMessage, Settlement


class Feed:
    """What a message asks of its feed."""

    strict = False

    def __init__(self) -> None:
        self.floor = AckFloor()
        self.count = 0

    def covered(self, message: JsMessage) -> None:
        self.floor.ack(message)

    def hand(self, sequence: int) -> JsMessage:
        self.count += 1
        reply = f"$JS.ACK.S.C.1.{sequence}.{self.count}.1795811553265218855.0"
        message = JsMessage(("7", "s.a", reply, None, b""), self, CUMULATIVE)
        self.floor.hand(message)
        return message


def ack(message: JsMessage) -> bool:
    return message.settle_by(lambda _: None)


def sequences(messages) -> list[int]:
    return [each.metadata.stream_sequence for each in messages]


def test_an_ack_settles_everything_before_it_without_a_word():
    feed = Feed()
    messages = [feed.hand(sequence) for sequence in (2, 5, 6, 9)]

    assert ack(messages[2])
    assert [each.state for each in messages] == [SETTLED, SETTLED, SETTLED, CUMULATIVE]
    assert [ack(each) for each in messages] == [False, False, False, True]
    assert (feed.floor.stream_sequence, feed.floor.consumer_sequence) == (9, 4)
    assert (feed.floor.acked, feed.floor.covered) == (2, 2)


def test_what_is_above_the_floor_and_not_settled_is_pending():
    feed = Feed()
    messages = [feed.hand(sequence) for sequence in (4, 2, 3, 1)]
    ack(messages[1])

    assert sequences(feed.floor.pending) == [3, 4]


def test_a_late_delivery_below_the_floor_is_settled_already():
    feed = Feed()
    ack(feed.hand(7))
    late = feed.hand(3)

    assert late.state is SETTLED
    assert not ack(late)
    assert feed.floor.stream_sequence == 7


def test_an_ack_below_the_floor_lifts_nothing():
    feed = Feed()
    low = feed.hand(3)
    feed.floor.ack(feed.hand(7))
    feed.floor.ack(low)

    assert (feed.floor.stream_sequence, feed.floor.acked) == (7, 2)


def test_a_nak_speaks_for_its_own_message_only():
    feed = Feed()
    first, second = feed.hand(1), feed.hand(2)
    once = Settlement(second, NAK)
    assert once.settle_by(lambda _: None)

    assert (first.state, second.state) == (CUMULATIVE, SETTLED)
    assert feed.floor.stream_sequence == 0
    assert sequences(feed.floor.pending) == [1]


def test_an_ack_that_is_also_a_pull_settles_what_is_before_it():
    feed = Feed()
    first, second = feed.hand(1), feed.hand(2)
    once = Settlement(second, Next(), "_INBOX.P.1.1.1")
    assert once.settle_by(lambda _: None)

    assert (first.state, second.state) == (SETTLED, SETTLED)


def test_a_list_of_messages_is_acked_by_its_last_one():
    feed, other = Feed(), Feed()
    messages = [feed.hand(1), feed.hand(3), feed.hand(2), other.hand(1)]
    plain = JsMessage(("7", "s.a", "$JS.ACK.S.D.1.1.1.1.0", None, b""))
    once = AckBatch([*messages, plain])
    said = []
    assert once.settle_by(said.append)

    (frame,) = said
    assert frame.count(b"+ACK") == 3
    assert b"$JS.ACK.S.C.1.3.2." in frame
    assert {each.state for each in (*messages, plain)} == {SETTLED}
    assert not once.settle_by(said.append)


def test_a_message_whose_reply_says_nothing_stands_for_itself():
    feed = Feed()
    message = JsMessage(("7", "s.a", "somewhere", None, b""), feed, CUMULATIVE)
    feed.floor.hand(message)

    assert message.state is OPEN
    assert feed.floor.pending == ()


def test_naks_without_any_ack_leave_nothing_behind():
    feed = Feed()
    for sequence in range(1, 5_001):
        once = Settlement(feed.hand(sequence), NAK)
        assert once.settle_by(lambda _: None)

    assert len(feed.floor._pending) <= 2 * 64
    assert feed.floor.pending == ()


def test_a_snapshot_has_the_floor_and_what_is_above_it():
    feed = Feed()
    messages = [feed.hand(sequence) for sequence in (1, 2, 3, 4)]
    ack(messages[1])
    other = AckFloor()
    other.restore(feed.floor.snapshot())

    assert other.snapshot() == feed.floor.snapshot()
    assert sequences(other.pending) == [3, 4]

    other.adopt({messages[2].reply: messages[2]})
    assert other.pending[0] is messages[2]
    assert other.pending[1] is not messages[3]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 30)), max_size=60))
def test_floor_acked_and_pending_are_what_a_list_of_all_messages_says(steps):
    feed = Feed()
    handed: list[JsMessage] = []
    floor = 0
    for deliver, which in steps:
        if deliver or not handed:
            handed.append(feed.hand(which))
        else:
            message = handed[which % len(handed)]
            sequence = message.metadata.stream_sequence
            assert ack(message) == (sequence > floor)
            floor = max(floor, sequence)
        above = sorted(
            each.metadata.stream_sequence
            for each in handed
            if each.metadata.stream_sequence > floor
        )
        assert feed.floor.stream_sequence == floor
        assert sequences(feed.floor.pending) == above
        assert all(
            (each.state is SETTLED) == (each.metadata.stream_sequence <= floor) for each in handed
        )
