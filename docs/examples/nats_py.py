"""A pull consumer of jsproto in a nats-py connection: nats-py keeps the connection, jsproto pulls."""

import asyncio
from contextlib import suppress
from functools import partial

import nats

from jsproto import ENDED, NEED_DATA, JetStream, Publish
from jsproto.embed import ACK, Embedded, Sub, Unsub, acknowledgement, header_block


class Feed:  # one conversation on a nats-py connection, such as a fetch; iterate over it
    def __init__(self, nc, conversation):
        self.nc, self.conversation, self.loop = nc, conversation, asyncio.get_running_loop()
        self.machine = Embedded(
            conversation, inbox=nc.new_inbox(), now=self.loop.time(), up=nc.is_connected
        )
        self.commands, self.subscriptions, self.changed = [], {}, asyncio.Event()
        self.worker, self.timer = self.loop.create_task(self.work()), self.loop.call_soon(self.turn)

    def tell(self, fact, *said):
        fact(*said, self.loop.time())
        self.turn()
        self.changed.set()

    def turn(self):  # after each input: give commands to a worker, the deadline to the event loop
        self.commands += self.machine.commands()
        if self.commands and self.worker.done():
            self.worker = self.loop.create_task(self.work())
        self.timer.cancel()
        if (deadline := self.conversation.deadline) is not None:
            self.timer = self.loop.call_at(deadline, self.tell, self.conversation.ticked)

    async def work(self):
        while self.commands:
            command = self.commands.pop(0)
            with suppress(nats.errors.Error):  # the connection is lost: link_down follows
                if isinstance(command, Publish):
                    await self.nc.publish(command.subject, command.payload, command.reply)
                elif isinstance(command, Sub):
                    heard = partial(self.heard, command.sid)
                    self.subscriptions[command.sid] = await self.nc.subscribe(
                        command.subject, cb=heard
                    )
                elif isinstance(command, Unsub):
                    await self.subscriptions.pop(command.sid).drain()
                else:  # a Fence
                    await self.nc.flush()
                    self.tell(self.machine.fenced, command.token)

    async def heard(self, sid, msg):
        head = dict(msg.headers or {})
        status = () if msg.reply else (head.pop("Status", ""), head.pop("Description", ""))
        frame = (sid, msg.subject, msg.reply, header_block(head, *status), msg.data)
        self.tell(self.machine.delivered, [frame])

    async def link_down(
        self,
    ):  # for nats-py's disconnected_cb: no command of this link may reach the next one
        self.worker.cancel()
        self.commands.clear()
        with suppress(nats.errors.Error):
            while self.subscriptions:
                await self.subscriptions.popitem()[1].unsubscribe()
        self.tell(self.machine.link_down)

    async def link_up(self):  # for nats-py's reconnected_cb
        self.tell(self.machine.link_up)

    async def __aiter__(self):
        while (item := self.conversation.take(self.loop.time())) is not ENDED:
            self.turn()  # taking may request more
            if item is not NEED_DATA:
                yield item
            else:
                self.changed.clear()
                await self.changed.wait()

    async def ack(self, message, verb=ACK):
        if (said := acknowledgement(message, verb)) is not None:
            await self.nc.publish(said.subject, said.payload)

    async def close(self):  # return waiting and late messages to the server
        self.tell(self.conversation.closed, None)
        await asyncio.wait([self.worker])


async def main(url="nats://127.0.0.1:4222"):
    nc = nats.NATS()
    orders = Feed(nc, JetStream().stream("ORDERS").consumer("NEW").consume(max_messages=100))
    await nc.connect(url, disconnected_cb=orders.link_down, reconnected_cb=orders.link_up)
    await orders.link_up()
    async for msg in orders:
        print(msg.subject, msg.payload.decode())
        await orders.ack(msg)
        if msg.metadata.num_pending == 0:
            break
    await orders.close()
    await nc.close()


if __name__ == "__main__":
    asyncio.run(main())
