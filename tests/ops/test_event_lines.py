"""An event is one line, whatever is in it."""

from __future__ import annotations

import json

import pytest

from jsproto.jetstream.api.events.advisories import read_event
from jsproto.ops.event_lines import event_line

ADVISORY = "io.nats.jetstream.advisory.v1."


@pytest.mark.parametrize(
    ("members", "line"),
    [
        (
            {
                "type": f"{ADVISORY}max_deliver",
                "id": "x",
                "timestamp": "2026-01-02T03:04:05.678Z",
                "deliveries": 3,
                "stream_seq": 9,
                "consumer": "NEW",
                "stream": "ORDERS",
            },
            "2026-01-02T03:04:05.678Z max_deliver stream=ORDERS consumer=NEW stream_seq=9 deliveries=3",
        ),
        (
            {"type": f"{ADVISORY}consumer_pause", "stream": "S", "consumer": "C", "paused": False},
            "- consumer_pause stream=S consumer=C paused=false",
        ),
        (
            {
                "type": f"{ADVISORY}stream_leader_elected",
                "stream": "S",
                "leader": "n1",
                "replicas": [{"name": "n1"}, {"name": "n2"}],
            },
            "- stream_leader_elected stream=S leader=n1 replicas=n1,n2",
        ),
        (
            {"type": f"{ADVISORY}terminated", "stream": "S", "reason": 'a "b"\nc\x1b'},
            r'- terminated stream=S reason="a \"b\"\nc\u001b"',
        ),
        (
            {"type": "new\n.kind", "stream": ["odd"], "x": {"y": 1}, "z": ""},
            '- kind stream=["odd"] x={"y": 1}',
        ),
        ({}, "- unknown"),
    ],
)
def test_each_event_is_a_line(members, line) -> None:
    assert event_line(read_event(json.dumps(members).encode())) == line
