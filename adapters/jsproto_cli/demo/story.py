"""The ORDERS story without a network: the steps of each order, and the expected numbers.

A stream ORDERS stores everything on ``ORDERS.*``. A new order arrives on ``ORDERS.received``. The
pull consumer NEW gets it, processes it and publishes it as ``ORDERS.processed``. The pull consumer
DISPATCH gets that message and publishes ``ORDERS.completed``. Every order is acknowledged, with two
exceptions. One order cannot be processed at first and is sent back; it comes again. One order can
never be processed and is terminated; it never comes again.

The push consumer MONITOR has no name and uses no acks. It begins with the last stored message, gets
all later ones, and is deleted when its subscription ends. NEW and DISPATCH have a sample frequency,
so the server publishes a sample of every ack.

All adapters use the constants here. Each run fills in an `OrderTally`, which knows the expected
numbers and reports differences.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from attrs import Factory, define

from jsproto.errors import JsprotoError

STREAM: Final = "ORDERS"
SUBJECTS: Final = ("ORDERS.*",)
RECEIVED: Final = "ORDERS.received"
PROCESSED: Final = "ORDERS.processed"
COMPLETED: Final = "ORDERS.completed"

#: The pull consumers, and the subject of each.
CONSUMERS: Final = {"NEW": RECEIVED, "DISPATCH": PROCESSED}
#: The share of acks that the server reports, and the subject of the reports.
SAMPLED: Final = "100%"
SAMPLES: Final = f"$JS.EVENT.METRIC.CONSUMER.ACK.{STREAM}.*"

ORDERS: Final = 10
SENT_BACK: Final = 4
TERMINATED: Final = 7

#: The expected numbers at the end.
EXPECTED: Final[dict[str, object]] = {
    "published": ORDERS + 2 * (ORDERS - 1),
    "duplicates": 1,
    "received": {"NEW": ORDERS + 1, "DISPATCH": ORDERS - 1},
    "redelivered": 1,
    "acked": {"NEW": ORDERS - 1, "DISPATCH": ORDERS - 1},
    "sent_back": 1,
    "terminated": 1,
    "unsettled": {"NEW": 0, "DISPATCH": 0},
    "stored": ORDERS + 2 * (ORDERS - 1),
    # MONITOR begins with the last message received, and gets all that is processed and completed.
    "monitored": {
        "messages": 1 + 2 * (ORDERS - 1),
        "first": ORDERS,
        "last": ORDERS + 2 * (ORDERS - 1),
    },
    "sampled": 2 * (ORDERS - 1),
    "consumers": sorted(CONSUMERS),
}


#: The ack floor of each consumer: the number of its last delivery, and the stream sequence of its
#: last message. The second is a minimum: in nats-server 2.10 and older the floor also passes over
#: messages that the consumer's filter excludes.
FLOORS: Final = {"NEW": (ORDERS + 1, ORDERS), "DISPATCH": (ORDERS - 1, 2 * ORDERS - 1)}


class StreamExistsAlready(JsprotoError):
    """The server already has a stream ORDERS of another user, so the demo does not run there."""

    def __init__(self) -> None:
        super().__init__(
            f"expected a server without a stream {STREAM}, got one with it; it was not touched"
        )


class MessageOutcome(Enum):
    """The answer to one delivery of an order."""

    ACK = "ACK"
    SEND_BACK = "SEND_BACK"
    TERMINATE = "TERMINATE"


def fate(order: int, delivery: int) -> MessageOutcome:
    """The answer of NEW to delivery number ``delivery`` (from 1) of an order."""
    if order == TERMINATED:
        return MessageOutcome.TERMINATE
    if order == SENT_BACK and delivery == 1:
        return MessageOutcome.SEND_BACK
    return MessageOutcome.ACK


def payload(order: int) -> bytes:
    """The payload of an order."""
    return b"order %d" % order


def order_of(data: bytes) -> int:
    """The number of an order in its payload."""
    return int(data.removeprefix(b"order "))


def message_id(order: int, step: str) -> str:
    """The message id for a step of an order, for deduplication."""
    return f"order-{order}-{step}"


@define
class OrderTally:
    """The counts of one adapter's run; the names are those of `EXPECTED`."""

    adapter: str
    published: int = 0
    duplicates: int = 0
    received: dict[str, int] = Factory(lambda: dict.fromkeys(CONSUMERS, 0))
    redelivered: int = 0
    acked: dict[str, int] = Factory(lambda: dict.fromkeys(CONSUMERS, 0))
    sent_back: int = 0
    terminated: int = 0
    ack_floor: dict[str, tuple[int, int]] = Factory(dict[str, tuple[int, int]])
    unsettled: dict[str, int] = Factory(dict[str, int])
    stored: int = 0
    monitored: dict[str, int] = Factory(lambda: {"messages": 0, "first": 0, "last": 0})
    sampled: int = 0
    consumers: list[str] = Factory(list[str])
    seconds: float = 0.0

    def stored_one(self, *, duplicate: bool) -> None:
        """Count an acknowledged publish."""
        if duplicate:
            self.duplicates += 1
        else:
            self.published += 1

    def delivered(self, consumer: str, delivery: int) -> None:
        """Count a delivery; ``delivery`` is its number, from 1."""
        self.received[consumer] += 1
        self.redelivered += delivery > 1

    def settled(self, consumer: str, what: MessageOutcome) -> None:
        """Count an answered delivery."""
        match what:
            case MessageOutcome.ACK:
                self.acked[consumer] += 1
            case MessageOutcome.SEND_BACK:
                self.sent_back += 1
            case MessageOutcome.TERMINATE:
                self.terminated += 1

    def all_settled(self, consumer: str) -> bool:
        """Whether each order for this consumer is acknowledged or terminated."""
        ended = self.acked[consumer] + (self.terminated if consumer == "NEW" else 0)
        return ended >= (ORDERS if consumer == "NEW" else ORDERS - 1)

    def watched(self, sequence: int) -> None:
        """Record the sequence of a message that MONITOR received."""
        seen = self.monitored
        seen["first"] = seen["first"] or sequence
        seen["last"] = sequence
        seen["messages"] += 1

    def all_watched(self) -> bool:
        """Whether MONITOR has received the last message."""
        return self.monitored["last"] >= self.published

    def all_sampled(self) -> bool:
        """Whether the server has reported every ack."""
        return self.sampled >= sum(self.acked.values())

    def standing(self, consumer: str, *, floor: tuple[int, int], unsettled: int) -> None:
        """Record the server's state of a consumer at the end."""
        self.ack_floor[consumer] = floor
        self.unsettled[consumer] = unsettled

    def differences(self) -> list[str]:
        """One line for each number that is not as expected."""
        found: list[str] = []
        for name, expected in EXPECTED.items():
            seen: object = getattr(self, name)
            if seen != expected:
                found.append(f"{self.adapter}: expected {name} {expected}, got {seen}")
        for consumer, least in FLOORS.items():
            floor = self.ack_floor.get(consumer, (0, 0))
            if floor[0] != least[0] or floor[1] < least[1]:
                found.append(
                    f"{self.adapter}: expected ack floor {least} of {consumer}, got {floor}"
                )
        return found

    def as_json(self) -> dict[str, object]:
        """The numbers as plain JSON values."""
        floors = {
            name: {"consumer": floor[0], "stream": floor[1]}
            for name, floor in self.ack_floor.items()
        }
        numbers: dict[str, object] = {name: getattr(self, name) for name in EXPECTED}
        return {
            "adapter": self.adapter,
            **numbers,
            "ack_floor": floors,
            "seconds": round(self.seconds, 4),
        }


def as_text(ledgers: list[OrderTally]) -> str:
    """The tallies side by side as a text table."""
    rows: list[tuple[str, list[str]]] = [
        ("", [ledger.adapter for ledger in ledgers]),
        ("orders and steps published", [str(ledger.published) for ledger in ledgers]),
        ("published twice, stored once", [str(ledger.duplicates) for ledger in ledgers]),
    ]
    for name in CONSUMERS:
        rows.append((f"received from {name}", [str(ledger.received[name]) for ledger in ledgers]))
        rows.append((f"acked to {name}", [str(ledger.acked[name]) for ledger in ledgers]))
    rows += [
        ("sent back (nak)", [str(ledger.sent_back) for ledger in ledgers]),
        ("redelivered", [str(ledger.redelivered) for ledger in ledgers]),
        ("terminated (term)", [str(ledger.terminated) for ledger in ledgers]),
    ]
    for name in CONSUMERS:
        floors = [ledger.ack_floor.get(name, (0, 0)) for ledger in ledgers]
        rows.append(
            (
                f"ack floor of {name}",
                [f"delivery {mine}, message {theirs}" for mine, theirs in floors],
            )
        )
    seen = [ledger.monitored for ledger in ledgers]
    rows += [
        (
            "seen by MONITOR",
            [f"{each['messages']}, {each['first']} to {each['last']}" for each in seen],
        ),
        ("acks sampled", [str(ledger.sampled) for ledger in ledgers]),
        ("consumers at the end", [", ".join(ledger.consumers) for ledger in ledgers]),
    ]
    rows.append(("time", [f"{ledger.seconds * 1000:.0f} ms" for ledger in ledgers]))
    width = max(len(cell) for _, cells in rows for cell in cells)
    return "\n".join(
        f"  {label:30}" + "".join(f"  {cell:>{width}}" for cell in cells).rstrip()
        for label, cells in rows
    )
