"""The facade's ways to publish: what each sends, and what is refused before."""

from __future__ import annotations

import pytest

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.context import JetStream, Stream
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.wire.headers import Headers
from tests.jetstream.context_rig import answer, opened

CONFIG = {"name": "S", "subjects": ["s.>"]}


@pytest.fixture
def js() -> JetStream:
    return JetStream()


def known(js: JetStream, **config: object) -> Stream:
    info = StreamInfo.from_wire(
        {"config": {**CONFIG, **config}, "created": "2026-01-01T00:00:00Z", "state": {}}
    )
    return Stream(js=js, name="S", cached=info)


def headers(conversation) -> tuple[tuple[str, str], ...]:
    block = conversation.port.commands[-1].headers
    return () if block is None else block.items()


def test_publish_once_makes_an_id(js):
    publish = opened(js.publish_once("s.a", b"x"))

    assert [name for name, _ in headers(publish)] == ["Nats-Msg-Id"]
    assert answer(publish, {"stream": "S", "seq": 4}).seq == 4


def test_relay_sends_under_the_id_of_the_message(js):
    message = JsMessage(("1", "orders.new", "$JS.ACK.ORDERS.NEW.1.7.9.5.0", None, b"order"))
    relay = opened(js.relay(message, "s.a"))

    assert relay.port.commands[-1].payload == b"order"
    assert headers(relay) == (("Nats-Msg-Id", "ORDERS.7.5>s.a"),)


def test_a_streams_publish_expects_that_stream(js):
    publish = opened(
        js.stream("S").publish("s.a", b"x", headers={"A": "1"}, msg_id="7", timeout=1.0)
    )

    assert headers(publish) == (("A", "1"), ("Nats-Msg-Id", "7"), ("Nats-Expected-Stream", "S"))
    assert publish.deadline == 1.0
    assert answer(publish, {"stream": "S", "seq": 4}).seq == 4


def test_a_counter_has_no_expectations(js):
    assert headers(opened(js.stream("S").publish("s.a", incr=5))) == (("Nats-Incr", "+5"),)


@pytest.mark.parametrize(
    ("config", "asked", "words"),
    [
        ({"no_ack": True}, {}, "no_ack = True: the stream sends no acknowledgements"),
        ({}, {"ttl": "never"}, "10166"),
        ({}, {"expected_stream": "T"}, "10060"),
        ({"max_msg_size": 30}, {}, "10054"),
        ({}, {"message_id": "1"}, "settings of PublishOptions"),
    ],
)
def test_what_the_stream_is_known_to_refuse_is_refused_before_it_is_sent(js, config, asked, words):
    publish = opened(known(js, **config).publish("s.a", b"x", **asked))

    assert isinstance(publish.error, InvalidConfig)
    assert words in str(publish.error)
    assert publish.port.commands == []


def test_what_fits_the_known_configuration_is_sent(js):
    publish = opened(known(js, max_msg_size=-1).publish("s.a", b"x", headers=Headers({"A": "1"})))

    assert publish.port.commands[-1].subject == "s.a"


def test_batches_are_made_with_the_times_of_the_facade():
    js = JetStream(timeout=2.0)
    whole = opened(js.publish_batch([("s.a", b"1")], batch_id="b1"))

    assert headers(whole) == (
        ("Nats-Batch-Id", "b1"),
        ("Nats-Batch-Sequence", "1"),
        ("Nats-Batch-Commit", "1"),
    )
    assert whole.deadline == 2.0
    assert js.batch(batch_id="b2", eob=True).batch_id == "b2"
    assert js.ingest(batch_id="b3", gaps="ok").batch_id == "b3"


def test_a_window_to_a_stream_that_is_known_to_acknowledge_nothing_is_refused(js):
    with pytest.raises(InvalidConfig, match="no_ack = True: the stream sends no acknowledgements"):
        known(js, no_ack=True).publish_window()


def test_a_window_to_a_stream_that_acknowledges_or_is_not_known_has_the_options_of_any_other(js):
    asked = {
        "max_pending": 2,
        "max_bytes": 3,
        "ack_timeout": 4.0,
        "retries": 5,
        "retry_wait": 6.0,
        "results": False,
        "max_results": 7,
        "resend": True,
        "stall_wait": 8.0,
    }
    names = [
        name for name in PublishWindow.__slots__ if name not in {"_flight", "_results", "_parked"}
    ]
    for stream in (known(js), js.stream("S")):
        for options in ({}, asked):
            made, other = stream.publish_window(**options), PublishWindow(**options)
            assert [getattr(made, name) for name in names] == [
                getattr(other, name) for name in names
            ]
            assert made._flight.max_messages == other._flight.max_messages
            assert made._flight.max_bytes == other._flight.max_bytes


def test_a_stream_that_is_known_to_take_no_batches_is_refused(js):
    for make in (
        known(js).batch,
        known(js).ingest,
        lambda: known(js).publish_batch([("s.a", b"")]),
    ):
        with pytest.raises(InvalidConfig, match=r"10174|10205"):
            make()


def test_a_stream_that_takes_batches_or_is_not_known_makes_them(js):
    stream = known(js, allow_atomic=True, allow_batched=True)
    for each in (stream, js.stream("S")):
        assert each.batch(limit=5).room
        assert each.publish_batch([("s.a", b"")]).taken == 1
        assert each.ingest(flow=5).sent == 0
