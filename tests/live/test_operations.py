"""Leaders and peers on a cluster of every version, and what a server on its own says to that."""

from __future__ import annotations

import pytest

from jsproto.errors import ApiError, RequestTimeout
from jsproto.jetstream.api.errors import Unavailable
from jsproto.jetstream.api.stream import Placement
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

#: An election takes up to 9 s, on a busy machine longer.
BOUND = 40.0


def test_leaders_step_down_and_the_new_ones_are_named(cluster, joined, stored, within) -> None:
    work = stored(joined(), stream={"num_replicas": 3}, num_replicas=3)
    with within(BOUND * 2):
        first = work.stream.info().cluster.leader
        second = work.stream.step_down(timeout=BOUND)
        other = work.consumer.info().cluster.leader
        third = work.consumer.step_down(timeout=BOUND)

        assert second in {"n1", "n2", "n3"} - {first}
        assert third in {"n1", "n2", "n3"} - {other}
        assert work.stream.info().cluster.leader == second


def test_a_leader_can_be_wished_for(cluster, joined, stored, within) -> None:
    node = next(iter(cluster.nodes.values()))
    if tuple(int(part) for part in node.version.split(".")[:2]) < (2, 11):
        return
    work = stored(joined(), stream={"num_replicas": 3})
    with within(BOUND * 2):
        wished = next(name for name in ("n1", "n2", "n3") if name != work.stream.info().cluster.leader)

        assert work.stream.step_down(placement=Placement(preferred=wished), timeout=BOUND) == wished


def test_a_peer_that_is_none_of_the_group_is_refused(cluster, joined, stored, within) -> None:
    work = stored(joined(), stream={"num_replicas": 1})
    with within(BOUND), pytest.raises(ApiError):
        work.stream.remove_peer("nobody", timeout=BOUND)


def test_a_server_on_its_own_says_so(start_server) -> None:
    server = start_server()
    with connect(server.url) as nc:
        js = nc.jetstream(timeout=0.5)
        stream = js.create_stream(name="ALONE", subjects=["alone"], storage="memory")
        consumer = stream.create_consumer(durable_name="C")
        for ask in (
            lambda: stream.step_down(wait=False),
            lambda: consumer.step_down(wait=False),
            lambda: stream.remove_peer("n1"),
        ):
            with pytest.raises(Unavailable):
                ask()
        for silent in (js.meta.step_down, lambda: js.meta.purge_account("A")):
            with pytest.raises(RequestTimeout):
                silent()
