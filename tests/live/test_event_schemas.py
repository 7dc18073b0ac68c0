"""What servers tell while everything happens to a stream is valid by the schemas: each version, and
a cluster.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from jsproto.jetstream.api.events.advisories import EVENTS
from jsproto.jetstream.api.events.schemas import event_schema

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.live


def valid(events):
    """The last words of the types of some events, each of which is valid."""
    kinds = set()
    for message in events:
        event = json.loads(message.payload)
        assert event["type"] in EVENTS
        jsonschema.Draft202012Validator(event_schema(event["type"])).validate(event)
        kinds.add(event["type"].rpartition(".")[2])
    return kinds


def test_events_of_one_server(nc, since, within):
    js = nc.jetstream(timeout=5.0)
    with nc.subscribe("$JS.EVENT.>") as events, within(20.0):
        stream = js.create_stream(name="VALID", subjects=["valid"], storage="file")
        stream.change(max_msgs=100)
        for number in range(4):
            js.publish("valid", b"%d" % number)
        consumer = stream.create_consumer(
            durable_name="C", max_deliver=1, ack_wait=timedelta(milliseconds=200), sample_freq="100"
        )
        consumer.next().ack_confirmed()
        consumer.next().term("bad")
        consumer.next().nak()
        consumer.next()
        with consumer.fetch(1, timeout=1.0) as nothing:
            assert list(nothing) == []  # whoever asks makes the server look at what is overdue
        if since(2, 11):
            consumer.pause(datetime.now(UTC) + timedelta(minutes=1))
            consumer.resume()
        with stream.snapshot() as feed:
            chunks = list(feed)
            origin = feed.feed.origin
        consumer.delete()
        stream.delete()
        with js.restore(origin) as sink:
            for chunk in chunks:
                sink.put(chunk)
        js.stream("VALID").delete()
        seen = set()
        wanted = {
            "api_audit",
            "consumer_ack",
            "consumer_action",
            "max_deliver",
            "nak",
            "stream_action",
            "terminated",
        }
        wanted |= {"snapshot_create", "snapshot_complete", "restore_create", "restore_complete"}
        wanted |= {"consumer_pause"} if since(2, 11) else set()
        while not wanted <= seen:
            seen |= valid([next(events)])


def test_events_of_a_cluster(joined, within):
    nc = joined()
    js = nc.jetstream(timeout=5.0)
    with nc.subscribe("$JS.EVENT.>") as events, within(30.0):
        stream = js.create_stream(
            name="VALID3", subjects=["valid3"], num_replicas=3, storage="memory"
        )
        consumer = stream.create_consumer(durable_name="C")
        consumer.step_down()
        stream.step_down()
        seen = set()
        while not {"stream_leader_elected", "consumer_leader_elected", "stream_action"} <= seen:
            seen |= valid([next(events)])
        stream.delete()
