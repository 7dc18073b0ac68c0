"""The servers behind a stream."""

from __future__ import annotations

from datetime import timedelta

from jsproto.jetstream.api.config.cluster import ClusterInfo


def test_a_group_without_a_leader_and_a_peer_that_nobody_has_heard_of_are_read() -> None:
    cluster = ClusterInfo.from_wire(
        {
            "name": "C",
            "replicas": [
                {"name": "n1", "current": True, "active": 5_000, "peer": "p", "lag": 2},
                {},
            ],
        }
    )

    assert cluster.leader is None
    assert cluster.replicas[0].active == timedelta(microseconds=5)
    assert (cluster.replicas[0].lag, cluster.replicas[0].offline) == (2, False)
    assert cluster.replicas[1].name == ""
    assert cluster.desired is None


def test_where_a_group_is_going_is_read() -> None:
    """As 2.15.1 says it while a stream is being moved."""
    desired = {
        "created": "2026-11-28T14:33:55.304828788Z",
        "name": "C1",
        "replicas": [
            {"name": "n2", "current": False, "active": 0, "peer": "44jzkV9D", "pending": True}
        ],
        "origin": {"replicas": 1, "placement": {"cluster": "C1"}, "retention": "limits"},
        "status": {"description": "waiting for peers", "type": "catchup"},
    }
    cluster = ClusterInfo.from_wire({"name": "C1", "desired": desired})
    going = cluster.desired

    assert going is not None
    assert [(each.name, each.pending) for each in going.replicas] == [("n2", True)]
    assert going.origin is not None
    assert (going.origin.replicas, going.origin.retention) == (1, "limits")
    assert going.status is not None
    assert (going.status.type, going.status.err) == ("catchup", None)
    assert cluster.extra == going.extra == going.origin.extra == going.status.extra == {}
