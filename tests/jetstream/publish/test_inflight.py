"""Slots, bytes and deadlines of messages under way."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto.jetstream.publish.inflight import DEADLINE, NUMBER, SIZE, InFlight
from jsproto.wire.headers import Headers


def sent(number, deadline, size=10, headers=None):
    return (number, deadline, 0, size, "s", b"", headers)


@pytest.mark.parametrize("bounds", [(0,), (-1,), (True,), (1.5,), (1, -1), (1, True), (1, "2")])
def test_bounds_that_let_nothing_through_are_refused(bounds):
    with pytest.raises(InvalidConfig, match="in flight"):
        InFlight(*bounds)


def test_messages_are_bounded_by_number():
    flight = InFlight(2)
    flight.sent("a", sent(1, 5.0))
    assert flight.fits()
    flight.sent("b", sent(2, 5.0))

    assert not flight.fits()


def test_messages_are_bounded_by_bytes_and_a_large_one_goes_alone():
    flight = InFlight(10, 100)
    assert flight.fits(1000)
    flight.sent("a", sent(1, 5.0, 60))

    assert flight.fits(40)
    assert not flight.fits(41)


def test_a_slot_is_held_until_it_is_freed():
    flight = InFlight(1)
    flight.sent("a", sent(1, 5.0))
    assert flight.answered("a") == sent(1, 5.0)
    assert not flight.fits()
    flight.freed(1, 10)

    assert flight.fits()
    assert (flight.pending, flight.bytes, flight.due) == (0, 0, None)


def test_a_token_is_answered_once():
    flight = InFlight(1)
    flight.sent("a", sent(1, 5.0))
    flight.answered("a")

    assert flight.answered("a") is None
    assert flight.answered("b") is None


def test_b181_a_token_in_use_is_refused():
    flight = InFlight(5)
    flight.sent("a", sent(1, 5.0))

    with pytest.raises(LocalProtocolError, match="token"):
        flight.sent("a", sent(2, 5.0))
    assert (flight.pending, flight.bytes) == (1, 10)


def test_nothing_is_overdue_before_its_deadline():
    flight = InFlight(5)
    flight.sent("a", sent(1, 5.0))
    flight.sent("b", sent(2, 6.0))

    assert flight.overdue(4.999) == []
    assert flight.overdue(5.0) == [sent(1, 5.0)]
    assert flight.due == 6.0
    assert flight.overdue(5.999) == []
    assert flight.overdue(100.0) == [sent(2, 6.0)]
    assert flight.due is None
    assert flight.pending == 2


def test_due_is_a_lower_bound_that_answers_dont_move_and_time_does():
    flight = InFlight(5)
    for number in range(1, 4):
        flight.sent(str(number), sent(number, float(number)))
    flight.answered("1")
    assert flight.due == 1.0

    assert flight.overdue(1.0) == []
    assert flight.due == 2.0


def test_a_message_sent_again_falls_due_at_its_old_deadline():
    flight = InFlight(5)
    for number in range(1, 4):
        flight.sent(str(number), sent(number, float(number)))
    flight.answered("2")
    assert flight.overdue(1.5) == [sent(1, 1.0)]  # the schedule of the others is made
    flight.again("2'", sent(2, 2.0))

    assert flight.due == 2.0
    assert flight.overdue(2.5) == [sent(2, 2.0)]
    assert flight.overdue(3.0) == [sent(3, 3.0)]


def test_sending_again_leaves_an_earlier_deadline_as_it_is():
    flight = InFlight(5)
    for number in range(1, 3):
        flight.sent(str(number), sent(number, float(number)))
    flight.answered("2")
    flight.again("2'", sent(2, 2.0))

    assert flight.due == 1.0
    assert flight.overdue(2.0) == [sent(1, 1.0), sent(2, 2.0)]


def test_what_was_answered_since_is_passed_over():
    flight = InFlight(5)
    for number in range(1, 4):
        flight.sent(str(number), sent(number, float(number)))
    assert flight.overdue(1.0) == [sent(1, 1.0)]  # the schedule of the others is made
    flight.answered("2")

    assert flight.overdue(2.0) == []
    assert flight.due == 3.0


def test_a_message_sent_again_may_be_the_only_one_open():
    flight = InFlight(5)
    flight.sent("1", sent(1, 1.0))
    flight.answered("1")
    assert flight.overdue(1.0) == []
    flight.again("1'", sent(1, 1.5))

    assert flight.due == 1.5


def test_a_lost_link_hands_out_what_is_open_in_the_order_of_sending():
    flight = InFlight(5)
    for number in range(1, 4):
        flight.sent(str(number), sent(number, float(number)))
    flight.answered("2")

    assert flight.lost() == [sent(1, 1.0), sent(3, 3.0)]
    assert flight.lost() == []
    assert (flight.pending, flight.due) == (3, None)


def test_words_of_the_other_side_are_kept_in_few_slots_of_time():
    flight = InFlight(5, timeout=8.0)
    for number in range(1, 4):
        flight.sent(str(number), sent(number, 8.0 + number))
    for tick in range(10_000):
        flight.heard(2, tick / 100)
    assert len(flight._heard) <= 34
    assert flight.last_word(sent(1, 9.0)) == -math.inf
    assert flight.until(sent(1, 9.0)) == 9.0
    assert flight.until(sent(2, 10.0)) == flight.until(sent(3, 11.0)) == pytest.approx(99.99 + 8.0)
    flight.heard(3, 200.0)

    assert len(flight._heard) == 1
    assert (flight.until(sent(2, 10.0)), flight.until(sent(3, 11.0))) == (10.0, 208.0)
    assert [message[NUMBER] for message in flight.overdue(200.0)] == [1, 2]


def test_a_snapshot_is_plain_and_can_be_put_back():
    flight = InFlight(5)
    flight.sent("a", sent(1, 5.0, headers=Headers({"A": "b"})))
    flight.sent("b", sent(2, 6.0))
    flight.overdue(5.0)
    flight.sent("c", sent(3, 7.0, headers=Headers({"A": "b"})))
    data = flight.snapshot()
    assert data["open"]["c"][-1] == b"NATS/1.0\r\nA: b\r\n\r\n"

    other = InFlight(5)
    other.restore(data)
    flight.answered("c")

    assert other.snapshot() == data
    assert other.open["c"][-1] == Headers({"A": "b"})
    assert other.overdue(6.0) == [sent(2, 6.0)]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "answer", "retry", "tick", "lose"]),
        st.integers(0, 6),
        st.integers(0, 30),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(STEPS, st.integers(1, 5), st.sampled_from([0, 40]))
def test_invariant_46_pending_is_sent_minus_ended_and_each_message_ends_once(
    steps, most, most_bytes
):
    """Against a list of what is under way: numbers, bytes, deadlines, ends."""
    flight = InFlight(most, most_bytes)
    truth = {}  # number -> (token, deadline, size)
    ended = []
    count = now = 0

    def end(messages):
        for message in messages:
            ended.append(message[NUMBER])
            del truth[message[NUMBER]]
            flight.freed(1, message[SIZE])

    for step, which, size in steps:
        before = flight.snapshot()
        flight = InFlight(most, most_bytes)
        flight.restore(before)
        if step == "send":
            room = len(truth) < most and (
                not most_bytes
                or not truth
                or sum(each[2] for each in truth.values()) + size <= most_bytes
            )
            assert flight.fits(size) == room
            if room:
                count += 1
                truth[count] = (f"t{count}", now + 5, size)
                flight.sent(f"t{count}", sent(count, now + 5, size))
        elif step == "tick":
            now += which
            late = flight.overdue(now)
            assert [message[NUMBER] for message in late] == sorted(
                (number for number, each in truth.items() if each[1] <= now),
                key=lambda n: (truth[n][1], truth[n][0]),
            )
            end(late)
        elif step == "lose":
            end(flight.lost())
            assert truth == {}
        elif which in truth or (truth and step == "retry"):
            number = which if which in truth else min(truth)
            token, deadline, held = truth[number]
            message = flight.answered(token)
            assert message[DEADLINE] == deadline
            if step == "answer":
                end([message])
            else:
                truth[number] = (token + "'", deadline, held)
                flight.again(token + "'", message)
        else:
            assert flight.answered(f"t{which + 1000}") is None

        assert flight.pending == len(truth) == len(flight.open) == count - len(ended)
        assert flight.bytes == sum(each[2] for each in truth.values())
        if truth:
            assert flight.due is not None
            assert flight.due <= min(each[1] for each in truth.values())
        else:
            assert flight.due is None
    assert len(ended) == len(set(ended))
