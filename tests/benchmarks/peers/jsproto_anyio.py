"""This project, driven by anyio on asyncio: the coroutines are those of asyncio, the connecting is
not.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from peers import jsproto_asyncio

from jsproto_io.anyio import connect


class Peer(jsproto_asyncio.Peer):
    NESTED = True
    connect = staticmethod(connect)

    async def open(self, url):
        self._open = AsyncExitStack()
        self._nc = await self._open.enter_async_context(self.connect(url))
        self._js = self._nc.jetstream()

    async def close(self):
        await self._open.aclose()
