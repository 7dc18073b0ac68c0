"""Reports: rows of what was asked, as text, as JSON and as a graph; and nothing that is missing
goes unsaid.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.requests.inventory import Inventory, inventory
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.context import JetStream
from jsproto.ops.reports import (
    REPORTS,
    cluster_report,
    consumer_report,
    replication_dot,
    replication_report,
    stream_report,
)
from jsproto.ops.tables import count_of, size_of, span_of, table_of, text_of
from tests.jetstream.api.asking import refusal, run
from tests.jetstream.context_rig import asked, opened

API = ApiSubjects()
THREE = {
    "name": "C1",
    "leader": "n1",
    "replicas": [
        {"name": "n3", "current": False, "active": 1, "lag": 7},
        {"name": "n2", "current": True, "active": 1},
        {"name": "", "current": True},
    ],
}


def stream(name: str, config: dict[str, object] | None = None, **more: object) -> StreamInfo:
    return StreamInfo.from_wire({"config": {"name": name, **(config or {})}, **more})


def consumer(name: str, config: dict[str, object] | None = None, **more: object) -> ConsumerInfo:
    return ConsumerInfo.from_wire(
        {"stream_name": "S", "name": name, "config": config or {}, **more}
    )


def of(*streams: StreamInfo, consumers: dict[str, list[ConsumerInfo]] | None = None) -> Inventory:
    found = {name: Listing(each) for name, each in (consumers or {}).items()}
    return Inventory(streams=Listing(streams), consumers=found)


# ------------------------------------------------------------------------------------------------ asking


def test_an_inventory_asks_for_streams_and_then_each_for_its_consumers() -> None:
    page = {"total": 2, "streams": [{"config": {"name": "A"}}, {"config": {"name": "B"}}]}
    found, questions = run(
        inventory(API),
        page,
        {"total": 1, "consumers": [{"stream_name": "A", "name": "C", "config": {}}]},
        {"total": 1, "consumers": None, "missing": ["D"]},
    )

    assert [subject for subject, _ in questions] == [
        "$JS.API.STREAM.LIST",
        "$JS.API.CONSUMER.LIST.A",
        "$JS.API.CONSUMER.LIST.B",
    ]
    assert [each.name for each in found.consumers["A"]] == ["C"]
    assert found.missing == ("B > D",)


def test_a_stream_that_is_gone_meanwhile_is_left_out() -> None:
    page = {"total": 2, "streams": [{"config": {"name": "A"}}, {"config": {"name": "B"}}]}
    found, _ = run(inventory(API), page, refusal(404, 10059), {"total": 0})

    assert [each.config.name for each in found.streams] == ["B"]
    assert (list(found.consumers), found.streams.complete) == (["B"], True)


def test_consumers_are_not_asked_for_if_they_are_not_wished_for() -> None:
    found, questions = run(inventory(API, with_consumers=False), {"total": 0})

    assert (len(questions), found) == (1, Inventory())
    assert asked(opened(JetStream().inventory(consumers=False)))[0] == "$JS.API.STREAM.LIST"


# ------------------------------------------------------------------------------------------------ reports


def test_streams_are_shown_with_what_they_hold_and_who_holds_them() -> None:
    state = {"messages": 12345, "bytes": 5 * 1024**2, "consumer_count": 2, "num_deleted": 3}
    lost = {"messages": 1, "lost": {"msgs": [4, 5], "bytes": 9}}
    report = stream_report(
        of(
            stream("ORDERS", {"storage": "file"}, state=state, cluster=THREE),
            stream("OLD", {"storage": "memory"}, state=lost),
        )
    )

    assert report.as_text().splitlines() == [
        "Stream  Storage  Cluster  Consumers  Messages    Bytes  Deleted  Lost  Replicas",
        "------  -------  -------  ---------  --------  -------  -------  ----  ------------",
        "ORDERS  file     C1               2    12,345  5.0 MiB        3     0  n1*, n2, n3!",
        "OLD     memory                    0         1      0 B        0     2",
        "",
        "OLD: 2 messages are lost",
    ]
    assert report.as_json()["rows"][0]["messages"] == 12345
    assert json.loads(json.dumps(report.as_json())) == report.as_json()


def test_consumers_are_shown_with_how_far_they_are() -> None:
    report = consumer_report(
        of(
            stream("S"),
            consumers={
                "S": [
                    consumer(
                        "NEW",
                        {"ack_policy": "explicit", "ack_wait": 30_000_000_000},
                        num_ack_pending=1,
                        num_redelivered=2,
                        num_pending=3000,
                        ack_floor={"stream_seq": 9},
                        paused=True,
                    ),
                    consumer("WATCH", {"deliver_subject": "d"}),
                    consumer("BOUND", {"deliver_subject": "d"}, push_bound=True),
                ]
            },
        )
    )
    first, second, third = report.rows

    assert (first.mode, first.ack_policy, first.ack_wait, first.state) == (
        "pull",
        "explicit",
        timedelta(seconds=30),
        "paused",
    )
    assert (first.ack_pending, first.redelivered, first.unprocessed, first.ack_floor) == (
        1,
        2,
        3000,
        9,
    )
    assert (second.mode, second.ack_policy, second.state, third.state) == (
        "push",
        "none",
        "idle",
        "",
    )
    assert "3,000" in report.as_text()
    assert report.as_json()["rows"][0]["ack_wait"] == 30.0


REPLICAS = of(
    stream(
        "COPY",
        {"mirror": {"name": "ORDERS", "external": {"api": "$JS.hub.API"}}},
        mirror={
            "name": "ORDERS",
            "external": {"api": "$JS.hub.API"},
            "lag": 1234,
            "active": 2_000_000_000,
            "error": {"code": 500, "description": "no\nway"},
        },
    ),
    stream(
        'A"LL',
        {
            "sources": [
                {"name": "X", "filter_subject": "x.*"},
                {
                    "name": "X",
                    "subject_transforms": [{"src": "x.y", "dest": "z"}, {"src": "x.q", "dest": ""}],
                },
                {"name": "X"},
            ]
        },
        sources=[
            {"name": "X", "filter_subject": "x.*", "lag": 1, "active": -1},
            {"name": "GONE", "lag": 5},
        ],
    ),
)


def test_replication_shows_each_way_with_what_is_known_of_it() -> None:
    report = replication_report(REPLICAS)

    assert [
        (each.stream, each.kind, each.source, each.filters, each.lag) for each in report.rows
    ] == [
        ("COPY", "mirror", "ORDERS", "", 1234),
        ('A"LL', "source", "X", "x.*", 1),
        ('A"LL', "source", "X", "x.y to z, x.q", 0),
        ('A"LL', "source", "X", "", 0),
        ('A"LL', "source", "GONE", "", 5),
    ]
    assert [span_of(each.active) for each in report.rows[:3]] == ["2s", "-", "-"]
    assert report.problems == ("COPY: mirror ORDERS: no\nway",)
    assert report.as_text().splitlines()[-1] == r"COPY: mirror ORDERS: no\nway"


def test_the_graph_has_an_arrow_for_each_way_and_names_stay_in_their_quotes() -> None:
    lines = replication_dot(replication_report(REPLICAS)).splitlines()

    assert lines[:3] == ["digraph replication {", "  rankdir=LR;", "  node [shape=box];"]
    assert lines[-1] == "}"
    assert r'  "$JS.hub.API ORDERS" [label="ORDERS\n$JS.hub.API", style=dashed];' in lines
    assert (
        r'  "$JS.hub.API ORDERS" -> "COPY" [label="mirror\nlag 1,234\nno\nway", color=red];'
        in lines
    )
    assert r'  "X" -> "A\"LL" [label="source\nx.*\nlag 1"];' in lines
    assert sum("->" in each for each in lines) == 5


def test_a_cluster_is_shown_by_server_with_groups_that_have_no_leader() -> None:
    report = cluster_report(
        of(
            stream("A", cluster=THREE),
            stream("B", cluster={"name": "C1", "replicas": [{"name": "n2", "offline": True}]}),
            stream("ALONE"),
            consumers={"A": [consumer("C", cluster=THREE)], "B": []},
        )
    )

    assert [
        (
            each.server,
            each.streams_led,
            each.streams,
            each.consumers_led,
            each.consumers,
            each.behind,
        )
        for each in report.rows
    ] == [("n1", 1, 1, 1, 1, 0), ("n2", 0, 2, 0, 1, 0), ("n3", 0, 1, 0, 1, 2)]
    assert [(each.offline, each.lag, each.cluster) for each in report.rows] == [
        (0, 0, "C1"),
        (1, 0, "C1"),
        (0, 14, "C1"),
    ]
    assert report.problems == ("B: no leader",)


def test_leaders_of_streams_and_of_consumers_are_not_exchanged_n113() -> None:
    led = {"name": "C1", "leader": "n0"}
    consumers = [consumer(f"C{number}", cluster=led) for number in range(2)]
    streams = [stream(f"S{number}", cluster=led) for number in range(5)]
    (row,) = cluster_report(of(*streams, consumers={"S0": consumers})).rows

    assert (row.server, row.streams_led, row.consumers_led) == ("n0", 5, 2)


def test_open_work_includes_what_was_handed_out_n112() -> None:
    busy = consumer("C", num_pending=0, num_ack_pending=46, num_redelivered=12)
    (row,) = consumer_report(of(stream("S"), consumers={"S": [busy]})).rows

    assert busy.open_work == 46
    assert (row.unprocessed, row.ack_pending, row.redelivered) == (0, 46, 12)


def test_a_consumer_that_is_not_there_has_no_row_and_no_number_n112() -> None:
    gone = Inventory(streams=Listing([stream("S")]), consumers={"S": Listing([], missing=["C"])})
    report = consumer_report(gone)

    assert report.rows == ()
    assert any("C" in each for each in report.problems)


def test_who_has_no_leader_is_marked() -> None:
    row = stream_report(
        of(stream("B", cluster={"replicas": [{"name": "n2", "offline": True, "current": True}]}))
    ).rows[0]

    assert (row.replicas, row.cluster) == ("no leader!, n2!", "")


@pytest.mark.parametrize("name", list(REPORTS))
def test_what_could_not_be_asked_stands_below_every_report(name) -> None:
    listed = Listing([], missing=["M"], offline={"O": "unsupported"})
    unsaid = REPORTS[name](
        Inventory(streams=listed, consumers={"S": Listing([], offline={"C": "why"})})
    )

    assert unsaid.name == name
    assert unsaid.as_text().splitlines()[2:] == [
        "M: its servers did not answer",
        "O: offline: unsupported",
        "S > C: offline: why",
    ]
    assert unsaid.as_text().splitlines()[0].startswith("No ")


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2**30, "1.0 GiB"),
        (2**63, "8.0 EiB"),
        (2**75, "32768.0 EiB"),
    ],
)
def test_sizes(size, text) -> None:
    assert size_of(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (0.0001, "0.1ms"),
        (1.5, "1.5s"),
        (59.994, "60s"),
        (60, "1m"),
        (3661, "1h1m"),
        (90_000, "1d1h"),
    ],
)
def test_durations(seconds, text) -> None:
    assert span_of(timedelta(seconds=seconds)) == text
    assert span_of(None) == "-"


def test_texts_of_a_server_do_not_move_the_cursor() -> None:
    assert text_of("a\x1b[2Jb\té\u202e") == r"a\x1b[2Jb\té\u202e"
    assert (count_of(1234567), table_of(())) == ("1,234,567", [])
