"""The ORDERS story on the asyncio adapter, written as a user of jsproto would write it."""

from __future__ import annotations

import asyncio
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
from jsproto_io.asyncio import connect

if TYPE_CHECKING:
    from jsproto_io.asyncio import AsyncConsumer, AsyncJetStream, AsyncStream

#: Seconds within which the server has processed every ack.
SETTLED: Final = 5.0
#: The most attempts to get an empty stream.
TRIES: Final = 20


def play(url: str) -> tuple[str, OrderTally]:
    """Play the story on a server; returns the server's version and the tally."""
    return asyncio.run(_play(url))


async def _play(url: str) -> tuple[str, OrderTally]:
    begun = time.monotonic()
    ledger = OrderTally("asyncio")
    async with connect(url) as nc:
        js = nc.jetstream()
        await _refuse_existing(js)
        orders = await _empty_stream(js)
        try:
            async with nc.subscribe(SAMPLES) as samples:
                await _story(js, orders, ledger)
                while not ledger.all_sampled():
                    await samples.next(SETTLED)
                    ledger.sampled += 1
        finally:
            await orders.delete()
        version = nc.info.version
    ledger.seconds = time.monotonic() - begun
    return version, ledger


async def _refuse_existing(js: AsyncJetStream) -> None:
    try:
        await js.stream_info(STREAM)
    except StreamNotFound:
        return
    raise StreamExistsAlready


async def _empty_stream(js: AsyncJetStream) -> AsyncStream:
    """Create the stream, again and again until it is empty.

    A server that is still deleting an old stream may return that one.
    """
    orders = await js.create_stream(name=STREAM, subjects=SUBJECTS)
    for _ in range(TRIES):
        info = await orders.info()
        if not info.state.messages:
            break
        await orders.delete()
        orders = await js.create_stream(name=STREAM, subjects=SUBJECTS)
    return orders


async def _story(js: AsyncJetStream, orders: AsyncStream, ledger: OrderTally) -> None:
    new = await orders.create_consumer(
        durable_name="NEW", filter_subject=CONSUMERS["NEW"], sample_freq=SAMPLED
    )
    dispatch = await orders.create_consumer(
        durable_name="DISPATCH", filter_subject=CONSUMERS["DISPATCH"], sample_freq=SAMPLED
    )

    for order in [*range(1, ORDERS + 1), 1]:  # the first is sent twice; its id marks the duplicate
        ack = await js.publish(RECEIVED, payload(order), msg_id=message_id(order, "received"))
        ledger.stored_one(duplicate=ack.duplicate)

    watching = js.subscribe(
        "ORDERS.*", ack_policy="none", deliver_policy="last", sample_freq=SAMPLED
    )
    async with watching as monitor:  # MONITOR: the server pushes all later messages to it
        await monitor.ready()

        async with new.consume(max_messages=ORDERS) as messages:
            async for msg in messages:
                order, delivery = order_of(msg.payload), msg.metadata.num_delivered
                ledger.delivered("NEW", delivery)
                what = fate(order, delivery)
                if what is MessageOutcome.ACK:
                    ack = await js.publish(
                        PROCESSED, msg.payload, msg_id=message_id(order, "processed")
                    )
                    ledger.stored_one(duplicate=ack.duplicate)
                    await msg.ack()
                elif what is MessageOutcome.SEND_BACK:
                    await msg.nak()
                else:
                    await msg.term()
                ledger.settled("NEW", what)
                if ledger.all_settled("NEW"):
                    break

        async with dispatch.fetch(ORDERS - 1) as messages:
            async for msg in messages:
                ledger.delivered("DISPATCH", msg.metadata.num_delivered)
                ack = await js.publish(
                    COMPLETED, msg.payload, msg_id=message_id(order_of(msg.payload), "completed")
                )
                ledger.stored_one(duplicate=ack.duplicate)
                await msg.ack()
                ledger.settled("DISPATCH", MessageOutcome.ACK)

        while not ledger.all_watched():
            msg = await monitor.next(SETTLED)
            ledger.watched(msg.metadata.stream_sequence)
        await monitor.unsubscribe()

    for consumer in (new, dispatch):
        await _look(consumer, ledger)
    info = await orders.info()
    ledger.stored = info.state.messages
    ledger.consumers = sorted(await orders.consumer_names())


async def _look(consumer: AsyncConsumer, ledger: OrderTally) -> None:
    """Read the consumer's state at the end.

    The server processes acks asynchronously, so this asks until none is pending.
    """
    deadline = time.monotonic() + SETTLED
    info = await consumer.info()
    while info.num_ack_pending and time.monotonic() < deadline:
        info = await consumer.info()
    floor = (info.ack_floor.consumer_seq, info.ack_floor.stream_seq)
    ledger.standing(info.name, floor=floor, unsettled=info.num_ack_pending + info.num_pending)
