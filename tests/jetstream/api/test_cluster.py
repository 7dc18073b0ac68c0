"""The servers behind a stream."""

from __future__ import annotations

from datetime import timedelta

from jsproto.jetstream.api.cluster import ClusterInfo


def test_a_group_without_a_leader_and_a_peer_that_nobody_has_heard_of_are_read() -> None:
    cluster = ClusterInfo.from_wire(
        {
            "name": "C",
            "replicas": [{"name": "n1", "current": True, "active": 5_000, "peer": "p", "lag": 2}, {}],
        }
    )

    assert cluster.leader is None
    assert cluster.replicas[0].active == timedelta(microseconds=5)
    assert (cluster.replicas[0].lag, cluster.replicas[0].offline) == (2, False)
    assert cluster.replicas[1].name == ""
