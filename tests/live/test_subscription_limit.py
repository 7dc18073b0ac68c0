"""More subscriptions than a server takes: which one it refuses, and that the link stays; the model
server does the same.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from jsproto.errors import SubscriptionLimit
from jsproto.testing.simserver import SimServer
from jsproto_io.blocking import connect
from jsproto_io.memory import MemoryServer

LIMIT = 3


@pytest.fixture(params=["real", "model"])
def full(request, nats_server):
    """A URL of a server that takes so many subscriptions of one client."""
    if request.param == "real":
        with type(nats_server)(nats_server.binary, config=f"max_subscriptions: {LIMIT}") as own:
            yield own.url
    else:
        with MemoryServer(SimServer(max_subs=LIMIT)) as own:
            yield own.url


def test_the_newest_are_refused_and_the_link_stays(full):
    with connect(full) as nc, ExitStack() as stack:
        subs = [stack.enter_context(nc.subscribe(f"s.{number}")) for number in range(LIMIT + 2)]
        nc.flush()

        for sub in subs[LIMIT:]:
            with pytest.raises(SubscriptionLimit):
                sub.next(timeout=20.0)
        with pytest.raises(SubscriptionLimit):
            nc.request("q", b"", timeout=20.0)
        for number, sub in enumerate(subs[:LIMIT]):
            nc.publish(f"s.{number}", b"x")

            assert f"s.{number}" == sub.next(timeout=20.0).subject

        subs[0].close()
        nc.flush()
        nc.publish("s.1", b"y")

        assert b"y" == subs[1].next(timeout=20.0).payload
        assert nc.jetstream().account_info().streams == 0
        assert 0 == nc.stats.disconnects
