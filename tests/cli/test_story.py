"""The ORDERS story without a network: fates, the ledger, and what it finds when a number is off."""

from __future__ import annotations

from itertools import pairwise

import pytest

from jsproto_cli.demo import story
from jsproto_cli.demo.story import FLOORS, ORDERS, SENT_BACK, TERMINATED, MessageOutcome, OrderTally


def played() -> OrderTally:
    """What a flawless adapter writes down."""
    ledger = OrderTally("perfect")
    for _ in range(ORDERS):
        ledger.stored_one(duplicate=False)
    ledger.stored_one(duplicate=True)
    deliveries = [(order, 1) for order in range(1, ORDERS + 1)] + [(SENT_BACK, 2)]
    for consumer in story.CONSUMERS:
        for order, delivery in deliveries:
            ledger.delivered(consumer, delivery)
            what = story.fate(order, delivery) if consumer == "NEW" else MessageOutcome.ACK
            if what is MessageOutcome.ACK:
                ledger.stored_one(duplicate=False)
            ledger.settled(consumer, what)
        deliveries = [(order, 1) for order in range(1, ORDERS + 1) if order != TERMINATED]
        ledger.standing(consumer, floor=FLOORS[consumer], unsettled=0)
    ledger.stored = ledger.published
    for sequence in range(ORDERS, ledger.published + 1):
        ledger.watched(sequence)
    ledger.sampled = sum(ledger.acked.values())
    ledger.consumers = ["DISPATCH", "NEW"]
    return ledger


def test_a_flawless_run_has_no_differences():
    assert played().differences() == []


def test_one_order_is_sent_back_once_and_one_is_terminated():
    fates = {order: story.fate(order, 1) for order in range(1, ORDERS + 1)}

    assert [order for order, what in fates.items() if what is not MessageOutcome.ACK] == [
        SENT_BACK,
        TERMINATED,
    ]
    assert story.fate(SENT_BACK, 2) is MessageOutcome.ACK
    assert story.fate(TERMINATED, 2) is MessageOutcome.TERMINATE


def test_an_order_is_found_again_in_its_payload():
    assert [story.order_of(story.payload(order)) for order in range(1, 12)] == list(range(1, 12))


def test_each_step_of_each_order_has_an_id_of_its_own():
    ids = [
        story.message_id(order, step)
        for order in range(1, ORDERS + 1)
        for step in ("received", "processed")
    ]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("published", 27, "perfect: expected published 28, got 27"),
        ("redelivered", 0, "perfect: expected redelivered 1, got 0"),
        (
            "acked",
            {"NEW": 9, "DISPATCH": 8},
            "perfect: expected acked {'NEW': 9, 'DISPATCH': 9}, got {'NEW': 9, 'DISPATCH': 8}",
        ),
        ("sampled", 17, "perfect: expected sampled 18, got 17"),
        (
            "consumers",
            ["C", "DISPATCH", "NEW"],
            "perfect: expected consumers ['DISPATCH', 'NEW'], got ['C', 'DISPATCH', 'NEW']",
        ),
        (
            "monitored",
            {"messages": 18, "first": 11, "last": 28},
            "expected monitored {'messages': 19, 'first': 10, 'last': 28}, got {'messages': 18, 'first': 11,",
        ),
        (
            "ack_floor",
            {"NEW": (11, 10), "DISPATCH": (8, 19)},
            "expected ack floor (9, 19) of DISPATCH, got (8, 19)",
        ),
        (
            "ack_floor",
            {"NEW": (11, 9), "DISPATCH": (9, 19)},
            "expected ack floor (11, 10) of NEW, got (11, 9)",
        ),
    ],
)
def test_a_number_that_is_off_is_named_with_what_it_must_be(attribute, value, text):
    ledger = played()
    setattr(ledger, attribute, value)

    assert len(ledger.differences()) == 1
    assert text in ledger.differences()[0]


def test_a_floor_that_runs_on_over_foreign_messages_is_no_difference():
    ledger = played()
    ledger.standing(
        "NEW", floor=(11, 18), unsettled=0
    )  # nats-server 2.9.10 says 18 where 2.14 says 10

    assert ledger.differences() == []


def test_a_run_that_saw_nothing_differs_in_every_number():
    assert len(OrderTally("blind").differences()) == len(story.EXPECTED) + len(FLOORS)


def test_new_is_done_when_the_last_order_is_acked_or_terminated():
    ledger = OrderTally("x")
    seen = [ledger.all_settled("NEW")]
    for _ in range(ORDERS - 1):
        ledger.settled("NEW", MessageOutcome.ACK)
        seen.append(ledger.all_settled("NEW"))
    ledger.settled("NEW", MessageOutcome.SEND_BACK)
    seen.append(ledger.all_settled("NEW"))
    ledger.settled("NEW", MessageOutcome.TERMINATE)
    seen.append(ledger.all_settled("NEW"))

    assert seen == [False] * (ORDERS + 1) + [True]
    assert not ledger.all_settled("DISPATCH")


def test_the_watcher_is_done_with_the_last_message_and_the_samples_with_the_last_ack():
    ledger = played()
    seen = [(ledger.all_watched(), ledger.all_sampled())]
    ledger.monitored["last"] -= 1
    ledger.sampled -= 1
    seen.append((ledger.all_watched(), ledger.all_sampled()))

    assert seen == [(True, True), (False, False)]


def test_the_numbers_as_json_carry_both_ack_floors():
    numbers = played().as_json()

    assert numbers["adapter"] == "perfect"
    assert numbers["ack_floor"] == {
        "NEW": {"consumer": 11, "stream": 10},
        "DISPATCH": {"consumer": 9, "stream": 19},
    }
    assert set(story.EXPECTED) < set(numbers)


def test_the_text_puts_the_adapters_side_by_side():
    lines = story.as_text([played(), OrderTally("blind")]).splitlines()

    assert lines[0].split() == ["perfect", "blind"]
    assert all(len(later) == len(earlier) for earlier, later in pairwise(lines[:4]))
    assert any(line.split() == ["redelivered", "1", "0"] for line in lines)
