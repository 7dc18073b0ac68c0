"""What OpenTelemetry is told of a client, and how a trace travels in headers."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import metrics, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from jsproto.core.connection.dispatcher import Stats
from jsproto.core.connection.events import (
    Closed,
    Connected,
    Disconnected,
    LameDuck,
    Notice,
    NoticeKind,
)
from jsproto.core.connection.server_pool import Server
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import StaleConnection
from jsproto.wire.frames import Info
from jsproto.wire.headers import Headers
from jsproto_io.blocking import connect
from jsproto_io.otel import _READ, Telemetry, extracted, injected
from jsproto_io.testing import ModelServer


class Instrument:
    def __init__(self, told):
        self.told = told

    def add(self, amount, attributes=None, context=None):
        self.told.append((amount, dict(attributes or {})))


class Meters(metrics.MeterProvider, metrics.NoOpMeter):
    """A meter that keeps what it is told: the API without an SDK."""

    def __init__(self):
        self.told, self.asked = {}, {}

    def get_meter(self, name, *args, **options):
        assert "jsproto_io" == name
        return self

    def create_counter(self, name, unit="", description=""):
        assert unit
        assert description
        return Instrument(self.told.setdefault(name, []))

    create_up_down_counter = create_counter

    def create_observable_counter(self, name, callbacks=None, unit="", description=""):
        self.asked[name] = callbacks

    def read(self, name):
        return {
            tuple(sorted(each.attributes.items())): each.value
            for callback in self.asked[name]
            for each in callback(metrics.CallbackOptions())
        }


class Client:
    def __init__(self, name, *counts):
        self.name = name
        self.server = Server(host="h", port=1, user="u", password="cAnAry")
        self.stats = Stats(
            **dict(zip(("messages_in", "bytes_in", "bytes_out"), counts, strict=False))
        )


class Span(NonRecordingSpan):
    def __init__(self, *, recording=True):
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.recording, self.events = recording, []

    def is_recording(self):
        return self.recording

    def add_event(self, name, attributes=None, timestamp=None):
        self.events.append((name, dict(attributes)))


UP = Connected(Info(version="2.15"), False)
LOST = Disconnected(StaleConnection("x"))


def test_links_are_counted_and_those_that_are_up():
    meters = Meters()
    telemetry, me = Telemetry(meter_provider=meters), Client("me")
    for told in (UP, LOST, Connected(Info(), True), LameDuck(me.server), Closed(None)):
        telemetry(me, told)
    mine = {"nats.client.name": "me"}

    assert [(1, mine), (-1, mine), (1, mine), (-1, mine)] == meters.told["nats.client.connections"]
    assert [(1, mine | {"nats.resumed": False}), (1, mine | {"nats.resumed": True})] == meters.told[
        "nats.client.connects"
    ]
    assert [(1, mine | {"error.type": "StaleConnection"})] == meters.told["nats.client.disconnects"]


def test_notices_are_counted_by_kind():
    meters = Meters()
    telemetry = Telemetry(meter_provider=meters)
    telemetry(Client(None), Notice(None, NoticeKind.SERVER_ERROR, "cAnAry"))
    telemetry(Client(None), Notice(Subscription("cAnAry"), NoticeKind.SLOW_CONSUMER, 3))

    assert [
        (1, {"nats.notice": "SERVER_ERROR"}),
        (1, {"nats.notice": "SLOW_CONSUMER", "nats.conversation": "Subscription"}),
    ] == meters.told["nats.client.notices"]


def test_messages_and_bytes_are_read_and_never_fall():
    meters = Meters()
    telemetry = Telemetry(meter_provider=meters)
    one, two, other = Client("a", 1, 10, 100), Client("a", 2, 20, 200), Client(None, 5, 50, 500)
    for each in (one, two, other):
        telemetry(each, UP)
    a = ("nats.client.name", "a")
    for _ in range(2):
        assert {(a,): 3, (): 5} == meters.read("nats.client.messages.received")
        assert {
            (a, ("network.io.direction", "receive")): 30,
            (a, ("network.io.direction", "transmit")): 300,
            (("network.io.direction", "receive"),): 50,
            (("network.io.direction", "transmit"),): 500,
        } == meters.read("nats.client.io")
        telemetry(one, Closed(None))
        telemetry(other, Closed(None))

    assert [two] == list(telemetry._clients), "those that are over are not kept"


def test_a_client_that_never_was_connected_counts_nothing():
    meters = Meters()
    Telemetry(meter_provider=meters)(Client("a", 1, 1, 1), Closed(StaleConnection("x")))

    assert {} == meters.read("nats.client.messages.received")
    assert [] == meters.told["nats.client.connections"]


def test_events_are_added_to_the_span_that_is_current():
    telemetry, span = Telemetry(meter_provider=Meters()), Span()
    with trace.use_span(span):
        for told in (
            UP,
            Notice(None, NoticeKind.UNSENT, 1),
            LOST,
            LameDuck(Server(host="x")),
            Closed(LOST.error),
            Closed(None),
        ):
            telemetry(Client("me"), told)
    here = {"nats.client.name": "me", "server.address": "h", "server.port": 1}

    assert [
        ("nats.connected", here | {"nats.resumed": False, "nats.server.version": "2.15"}),
        ("nats.notice", here | {"nats.notice": "UNSENT"}),
        ("nats.disconnected", here | {"error.type": "StaleConnection"}),
        ("nats.lame_duck", here),
        ("nats.closed", here | {"error.type": "StaleConnection"}),
        ("nats.closed", here),
    ] == span.events


def test_a_span_that_is_over_is_left_alone():
    span = Span(recording=False)
    with trace.use_span(span):
        Telemetry(meter_provider=Meters())(Client("me"), UP)

    assert [] == span.events


def test_a_client_tells_it_and_without_an_sdk_too():
    meters, span = Meters(), Span()
    with (
        ModelServer() as hosted,
        trace.use_span(span),
        connect(hosted.url, watch=[Telemetry(meter_provider=meters), Telemetry()]) as nc,
        nc.stream(Subscription("a")) as feed,
    ):
        nc.publish("a", b"1")
        next(feed)

        assert {(): 1} == meters.read("nats.client.messages.received")
        assert {(("network.io.direction", "receive"),): nc.stats.bytes_in} | {
            (("network.io.direction", "transmit"),): nc.stats.bytes_out
        } == meters.read("nats.client.io")

    assert ["nats.connected"] * 2 + ["nats.closed"] * 2 == [name for name, _ in span.events]


# ---------------------------------------------------------------------------------------------- traces in headers


SENT = SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=TraceFlags(1))
LINE = f"00-{0xABC:032x}-{0xDEF:016x}-01"


def test_the_current_trace_travels_in_headers():
    with trace.use_span(NonRecordingSpan(SENT)):
        headers = injected({"A": "1"})

    assert (("A", "1"), ("traceparent", LINE)) == headers.items()
    seen = trace.get_current_span(extracted(headers)).get_span_context()
    assert (0xABC, 0xDEF, True) == (seen.trace_id, seen.span_id, seen.is_remote)


def test_a_trace_that_was_there_is_replaced():
    context = trace.set_span_in_context(NonRecordingSpan(SENT))

    assert (("traceparent", LINE),) == injected(
        [("TraceParent", "old"), ("traceparent", "old")], context=context
    ).items()
    assert () == injected().items()


@pytest.mark.parametrize("headers", [None, Headers(), Headers({"traceparent": "damaged"})])
def test_without_a_trace_there_is_none(headers):
    assert not trace.get_current_span(extracted(headers)).get_span_context().is_valid


def test_names_are_found_however_they_are_written():
    seen = trace.get_current_span(extracted(Headers({"Traceparent": LINE}))).get_span_context()

    assert 0xABC == seen.trace_id
    assert ["A", "b"] == _READ.keys(Headers({"A": "1", "b": "2"}))


def test_without_the_api_it_says_what_to_install():
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "try: import jsproto_io.otel\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert "install nats-jsproto[otel]" in done.stdout
