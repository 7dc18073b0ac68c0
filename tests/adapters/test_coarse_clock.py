"""Round trips on an event loop that reads its clock once a turn, in coarse steps, as uvloop does."""

from __future__ import annotations

import asyncio
import math

import pytest

from jsproto_io import anyio as on_anyio
from jsproto_io import asyncio as on_asyncio
from jsproto_io.testing import ModelServer


class Coarse(asyncio.SelectorEventLoop):
    """A loop whose clock moves once in a thousand seconds."""

    def time(self):
        return math.floor(super().time() / 1000) * 1000.0


def uvloop():
    return pytest.importorskip("uvloop").new_event_loop()


@pytest.mark.parametrize("loop", [Coarse, uvloop])
@pytest.mark.parametrize("adapter", [on_asyncio, on_anyio])
def test_a_round_trip_takes_time_on_a_loop_with_a_coarse_clock(adapter, loop):
    async def story(url):
        async with adapter.connect(url) as nc:
            return [await nc.rtt(), await nc.flush()]

    with ModelServer() as server, asyncio.Runner(loop_factory=loop) as runner:
        trips = runner.run(story(server.url))

    assert all(0 < each < 60 for each in trips)
