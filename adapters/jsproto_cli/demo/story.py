"""The ORDERS story, without a network: what happens to each order, what is counted, and what must
come out.

A stream ORDERS keeps everything on ``ORDERS.*``. A new order arrives on ``ORDERS.received``; the
pull consumer NEW gets it, processes it and publishes it on as ``ORDERS.processed``; the pull
consumer DISPATCH gets that one and publishes ``ORDERS.completed``. Every order is acknowledged,
with two exceptions that every system meets: one cannot be worked on just now and is sent back (it
comes again), one can never be worked on and is terminated (it never comes again).

Meanwhile somebody watches. The push consumer MONITOR has no name and wants no acknowledgements: it
begins with the last message that is there, sees everything that is stored from then on, and is gone
when its watcher is. And since NEW and DISPATCH are sampled, the server reports every
acknowledgement to whoever listens to the samples.

The stage directions here are the same for every adapter, and so is the `OrderTally` that an
adapter's run fills in; it knows what must be in it at the end and says where that differs.
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

#: Pull consumer -> the one subject that it gets.
CONSUMERS: Final = {"NEW": RECEIVED, "DISPATCH": PROCESSED}
#: How many of the acknowledgements are reported, and where.
SAMPLED: Final = "100%"
SAMPLES: Final = f"$JS.EVENT.METRIC.CONSUMER.ACK.{STREAM}.*"

ORDERS: Final = 10
SENT_BACK: Final = 4
TERMINATED: Final = 7

#: What must stand in the ledger at the end.
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
    # It begins with the last message received, and sees all that is processed and completed.
    "monitored": {
        "messages": 1 + 2 * (ORDERS - 1),
        "first": ORDERS,
        "last": ORDERS + 2 * (ORDERS - 1),
    },
    "sampled": 2 * (ORDERS - 1),
    "consumers": sorted(CONSUMERS),
}


#: Consumer -> its ack floor: the number of its last delivery, and the sequence of its last message
#: in the stream. The second is a least value: nats-server 2.10 and before let the floor run on over
#: messages that the consumer's filter leaves out.
FLOORS: Final = {"NEW": (ORDERS + 1, ORDERS), "DISPATCH": (ORDERS - 1, 2 * ORDERS - 1)}


class StreamExistsAlready(JsprotoError):
    """The server has a stream ORDERS already; it is somebody's, so the story is not played there."""

    def __init__(self) -> None:
        super().__init__(
            f"expected a server without a stream {STREAM}, it has one; it was not touched"
        )


class MessageOutcome(Enum):
    """What is done with one delivery of an order."""

    ACK = "ACK"
    SEND_BACK = "SEND_BACK"
    TERMINATE = "TERMINATE"


def fate(order: int, delivery: int) -> MessageOutcome:
    """What NEW does with an order that is delivered for the ``delivery``-th time (from 1)."""
    if order == TERMINATED:
        return MessageOutcome.TERMINATE
    if order == SENT_BACK and delivery == 1:
        return MessageOutcome.SEND_BACK
    return MessageOutcome.ACK


def payload(order: int) -> bytes:
    """What an order looks like on the line."""
    return b"order %d" % order


def order_of(data: bytes) -> int:
    """The number of an order, from its payload."""
    return int(data.removeprefix(b"order "))


def message_id(order: int, step: str) -> str:
    """The id under which the stream knows this step of this order again."""
    return f"order-{order}-{step}"


@define
class OrderTally:
    """What one adapter's run of the story counted; the names are those of `EXPECTED`."""

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
        """A publish was acknowledged: as stored, or as known already."""
        if duplicate:
            self.duplicates += 1
        else:
            self.published += 1

    def delivered(self, consumer: str, delivery: int) -> None:
        """A consumer handed over a message, for the ``delivery``-th time."""
        self.received[consumer] += 1
        self.redelivered += delivery > 1

    def settled(self, consumer: str, what: MessageOutcome) -> None:
        """A delivery was answered."""
        match what:
            case MessageOutcome.ACK:
                self.acked[consumer] += 1
            case MessageOutcome.SEND_BACK:
                self.sent_back += 1
            case MessageOutcome.TERMINATE:
                self.terminated += 1

    def all_settled(self, consumer: str) -> bool:
        """Whether each order that this consumer is to get has found its end."""
        ended = self.acked[consumer] + (self.terminated if consumer == "NEW" else 0)
        return ended >= (ORDERS if consumer == "NEW" else ORDERS - 1)

    def watched(self, sequence: int) -> None:
        """MONITOR saw the message with this sequence."""
        seen = self.monitored
        seen["first"] = seen["first"] or sequence
        seen["last"] = sequence
        seen["messages"] += 1

    def all_watched(self) -> bool:
        """Whether MONITOR has seen the last message there will be."""
        return self.monitored["last"] >= self.published

    def all_sampled(self) -> bool:
        """Whether every acknowledgement was reported."""
        return self.sampled >= sum(self.acked.values())

    def standing(self, consumer: str, *, floor: tuple[int, int], unsettled: int) -> None:
        """What the server says about a consumer at the end."""
        self.ack_floor[consumer] = floor
        self.unsettled[consumer] = unsettled

    def differences(self) -> list[str]:
        """One line for each number that is not what it must be."""
        found: list[str] = []
        for name, expected in EXPECTED.items():
            seen: object = getattr(self, name)
            if seen != expected:
                found.append(f"{self.adapter}: {name} is {seen}, it must be {expected}")
        for consumer, least in FLOORS.items():
            floor = self.ack_floor.get(consumer, (0, 0))
            if floor[0] != least[0] or floor[1] < least[1]:
                found.append(
                    f"{self.adapter}: ack floor of {consumer} is {floor}, it must be {least}"
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
    """The ledgers side by side, for people."""
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
