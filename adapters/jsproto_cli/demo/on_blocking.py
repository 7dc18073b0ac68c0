"""The ORDERS story on the blocking adapter, written as a user of jsproto would write it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from jsproto.jetstream.api.errors import StreamNotFound
from jsproto_cli.demo.story import (
    COMPLETED,
    CONSUMERS,
    ORDERS,
    PROCESSED,
    RECEIVED,
    SAMPLED,
    SAMPLES,
    STREAM,
    SUBJECTS,
    MessageOutcome,
    OrderTally,
    StreamExistsAlready,
    fate,
    message_id,
    order_of,
    payload,
)
from jsproto_io.blocking import connect

if TYPE_CHECKING:
    from jsproto_io.blocking import SyncConsumer, SyncJetStream, SyncStream

#: Seconds within which the server has processed every ack.
SETTLED: Final = 5.0
#: The most attempts to get an empty stream.
TRIES: Final = 20


def play(url: str) -> tuple[str, OrderTally]:
    """Play the story on a server; returns the server's version and the tally."""
    begun = time.monotonic()
    ledger = OrderTally("blocking")
    with connect(url) as nc:
        js = nc.jetstream()
        _refuse_existing(js)
        orders = _empty_stream(js)
        try:
            with nc.subscribe(SAMPLES) as samples:
                _story(js, orders, ledger)
                while not ledger.all_sampled():
                    samples.next(SETTLED)
                    ledger.sampled += 1
        finally:
            orders.delete()
        version = nc.info.version
    ledger.seconds = time.monotonic() - begun
    return version, ledger


def _refuse_existing(js: SyncJetStream) -> None:
    try:
        js.stream_info(STREAM)
    except StreamNotFound:
        return
    raise StreamExistsAlready


def _empty_stream(js: SyncJetStream) -> SyncStream:
    """Create the stream, again and again until it is empty.

    A server that is still deleting an old stream may return that one.
    """
    orders = js.create_stream(name=STREAM, subjects=SUBJECTS)
    for _ in range(TRIES):
        info = orders.info()
        if not info.state.messages:
            break
        orders.delete()
        orders = js.create_stream(name=STREAM, subjects=SUBJECTS)
    return orders


def _story(js: SyncJetStream, orders: SyncStream, ledger: OrderTally) -> None:
    new = orders.create_consumer(
        durable_name="NEW", filter_subject=CONSUMERS["NEW"], sample_freq=SAMPLED
    )
    dispatch = orders.create_consumer(
        durable_name="DISPATCH", filter_subject=CONSUMERS["DISPATCH"], sample_freq=SAMPLED
    )

    for order in [*range(1, ORDERS + 1), 1]:  # the first is sent twice; its id marks the duplicate
        ack = js.publish(RECEIVED, payload(order), msg_id=message_id(order, "received"))
        ledger.stored_one(duplicate=ack.duplicate)

    watching = js.subscribe(
        "ORDERS.*", ack_policy="none", deliver_policy="last", sample_freq=SAMPLED
    )
    with watching as monitor:  # MONITOR: the server pushes all later messages to it
        monitor.ready()

        with new.consume(max_messages=ORDERS) as messages:
            for msg in messages:
                order, delivery = order_of(msg.payload), msg.metadata.num_delivered
                ledger.delivered("NEW", delivery)
                what = fate(order, delivery)
                if what is MessageOutcome.ACK:
                    ack = js.publish(PROCESSED, msg.payload, msg_id=message_id(order, "processed"))
                    ledger.stored_one(duplicate=ack.duplicate)
                    msg.ack()
                elif what is MessageOutcome.SEND_BACK:
                    msg.nak()
                else:
                    msg.term()
                ledger.settled("NEW", what)
                if ledger.all_settled("NEW"):
                    break

        with dispatch.fetch(ORDERS - 1) as messages:
            for msg in messages:
                ledger.delivered("DISPATCH", msg.metadata.num_delivered)
                ack = js.publish(
                    COMPLETED, msg.payload, msg_id=message_id(order_of(msg.payload), "completed")
                )
                ledger.stored_one(duplicate=ack.duplicate)
                msg.ack()
                ledger.settled("DISPATCH", MessageOutcome.ACK)

        while not ledger.all_watched():
            msg = monitor.next(SETTLED)
            ledger.watched(msg.metadata.stream_sequence)
        monitor.unsubscribe()

    for consumer in (new, dispatch):
        _look(consumer, ledger)
    info = orders.info()
    ledger.stored = info.state.messages
    ledger.consumers = sorted(orders.consumer_names())


def _look(consumer: SyncConsumer, ledger: OrderTally) -> None:
    """Read the consumer's state at the end.

    The server processes acks asynchronously, so this asks until none is pending.
    """
    deadline = time.monotonic() + SETTLED
    info = consumer.info()
    while info.num_ack_pending and time.monotonic() < deadline:
        info = consumer.info()
    floor = (info.ack_floor.consumer_seq, info.ack_floor.stream_seq)
    ledger.standing(info.name, floor=floor, unsettled=info.num_ack_pending + info.num_pending)
