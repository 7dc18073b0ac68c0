"""Reports of a cluster of every version: who leads, who follows, and what is wrong while a server
is away.
"""

from __future__ import annotations

import pytest

from jsproto.ops.reports import cluster_report, consumer_report, stream_report

pytestmark = pytest.mark.live


def test_a_cluster_report_counts_leaders_and_followers_by_server(
    cluster, joined, stored, within, until
) -> None:
    nc = joined()
    work = stored(nc, stream={"num_replicas": 3}, num_replicas=3)
    work.publish(5)

    def settled():
        report = cluster_report(work.js.inventory())
        return report if len(report.rows) == 3 and not report.problems else None

    with within(40.0):
        report = until(settled, nc, seconds=30.0)
        inventory = work.js.inventory()
    mine = next(each for each in stream_report(inventory).rows if each.stream == work.name)
    (reader,) = (each for each in consumer_report(inventory).rows if each.stream == work.name)

    assert [(each.server, each.cluster) for each in report.rows] == [
        ("n1", "C1"),
        ("n2", "C1"),
        ("n3", "C1"),
    ]
    assert sum(each.streams_led for each in report.rows) == len(inventory.streams)
    assert sum(each.streams for each in report.rows) == 3 * len(inventory.streams)
    assert (mine.messages, mine.cluster, mine.replicas.count("*")) == (5, "C1", 1)
    assert {each.strip("*!") for each in mine.replicas.split(", ")} == {"n1", "n2", "n3"}
    assert (reader.consumer, reader.unprocessed) == ("C", 5)
