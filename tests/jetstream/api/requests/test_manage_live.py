"""The same generators against real servers: every setting comes back, every refusal is its class."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import CurrentTime, Sleep
from jsproto.errors import InvalidResponse, NoResponders
from jsproto.jetstream.api import errors
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import (
    ConsumerLimits,
    Republish,
    StreamConfig,
    StreamSource,
    SubjectTransform,
)
from jsproto.jetstream.api.requests import manage as api
from jsproto.jetstream.api.requests.publish import publish
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.headers import status_of

pytestmark = pytest.mark.live

API = ApiSubjects()
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


class Client:
    """The smallest client that can ask one question at a time."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.lines = self.sock.makefile("rb")
        self.lines.readline()
        self.sock.sendall(
            b'CONNECT {"headers":true,"no_responders":true,"verbose":false}\r\nSUB _INBOX.live 1\r\n'
        )

    def ask(self, call: Call) -> Message | NoResponders:
        block = call.headers.encode() if call.headers is not None else b""
        size = f"{len(block)} {len(block) + len(call.payload)}" if block else f"{len(call.payload)}"
        operation = "HPUB" if block else "PUB"
        line = f"{operation} {call.subject} _INBOX.live {size}\r\n".encode()
        self.sock.sendall(line + block + call.payload + b"\r\n")
        while True:
            words = self.lines.readline().split()
            if words[0] == b"PING":
                self.sock.sendall(b"PONG\r\n")
            elif words[0] in {b"MSG", b"HMSG"}:
                data = self.lines.read(int(words[-1]) + 2)[:-2]
                cut = int(words[-2]) if words[0] == b"HMSG" else 0
                status = status_of(data[:cut]) if cut else None
                if status is not None and status[0] == 503:
                    return NoResponders("nobody", call.subject)
                return Message(("1", "_INBOX.live", "", data[:cut] if cut else None, data[cut:]))

    def run(self, steps):
        step = next(steps)
        try:
            while True:
                match step:
                    case CurrentTime():
                        step = steps.send(time.monotonic())
                    case Sleep():
                        step = steps.send(None)
                    case Call():
                        one = self.ask(step)
                        step = (
                            steps.throw(one) if isinstance(one, NoResponders) else steps.send(one)
                        )
        except StopIteration as stop:
            return stop.value

    def close(self) -> None:
        self.lines.close()
        self.sock.close()


@pytest.fixture
def client(nats_server) -> Iterator[Client]:
    one = Client(nats_server.port)
    yield one
    one.close()


STREAM_SETTINGS = {
    "description": "d",
    "retention": "interest",
    "max_consumers": 5,
    "max_msgs": 100,
    "max_bytes": 1_000_000,
    "max_age": HOUR,
    "max_msgs_per_subject": 4,
    "max_msg_size": 500,
    "discard": "new",
    "storage": "memory",
    "no_ack": True,
    "duplicate_window": SECOND,
    "sources": [StreamSource(name="B203_OTHER", filter_subject="x.>", opt_start_seq=3)],
    "compression": "s2",
    "first_seq": 7,
    "subject_transform": SubjectTransform(src="b203.a.>", dest="b203.b.>"),
    "republish": Republish(src="b203.a.>", dest="elsewhere.>", headers_only=True),
    "allow_direct": True,
    "deny_delete": True,
    "deny_purge": True,
    "allow_rollup_hdrs": True,
    "consumer_limits": ConsumerLimits(inactive_threshold=HOUR, max_ack_pending=9),
    "allow_msg_ttl": True,
    "allow_msg_counter": True,
    "allow_atomic": True,
    "allow_batched": True,
    "allow_msg_schedules": True,
    "persist_mode": "async",
    "metadata": {"k": "v"},
    "placement": Placement(tags=["ssd"]),
}
TOGETHER = {"subject_delete_marker_ttl": SECOND, "allow_msg_ttl": True, "allow_rollup_hdrs": True}
CONSUMER_SETTINGS = {
    "description": "d",
    "deliver_policy": "new",
    "ack_policy": "all",
    "ack_wait": timedelta(seconds=7),
    "max_deliver": 3,
    "backoff": [SECOND, 2 * SECOND],
    "filter_subject": "b203c.a",
    "filter_subjects": ["b203c.a", "b203c.b"],
    "replay_policy": "original",
    "sample_freq": "50",
    "max_waiting": 7,
    "max_ack_pending": 8,
    "headers_only": True,
    "max_batch": 9,
    "max_expires": HOUR,
    "max_bytes": 1_000,
    "inactive_threshold": HOUR,
    "num_replicas": 1,
    "mem_storage": True,
    "metadata": {"k": "v"},
    "pause_until": datetime(2100, 1, 1, tzinfo=UTC),
}
CONSUMERS = [
    *({name: value, "max_deliver": 3} for name, value in CONSUMER_SETTINGS.items()),
    {"deliver_policy": "last_per_subject", "filter_subject": "b203c.a"},
    {"deliver_policy": "by_start_sequence", "opt_start_seq": 5},
    {
        "deliver_policy": "by_start_time",
        "opt_start_time": datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    },
    {"priority_groups": ["g"], "priority_policy": "pinned_client", "priority_timeout": HOUR},
    {
        "deliver_subject": "ds",
        "deliver_group": "g",
        "rate_limit_bps": 1_000_000,
    },
    {"deliver_subject": "ds", "flow_control": True, "idle_heartbeat": SECOND},
]


@pytest.mark.parametrize(
    "settings", [*({name: each} for name, each in STREAM_SETTINGS.items()), TOGETHER], ids=str
)
def test_b203_every_setting_of_a_stream_comes_back_as_it_was_sent(
    client: Client, settings: dict[str, object]
) -> None:
    # A store that is just being deleted takes a new one of its name with it.
    name = "-".join(("B203", *settings))
    config = StreamConfig(name=name, subjects=["b203.>"], **settings)
    try:
        info = client.run(api.create_stream(API, config, strict=True))
    finally:
        client.run(api.delete_stream(API, name))

    assert info.did_create
    assert info.config.extra == {}


def test_b203_a_mirror_comes_back_as_it_was_sent(client: Client) -> None:
    mirror = StreamConfig(
        name="B203M", mirror=StreamSource(name="B203_OTHER"), mirror_direct=True, allow_direct=True
    )
    info = client.run(api.create_stream(API, mirror, strict=True))
    client.run(api.delete_stream(API, "B203M"))

    assert info.config.mirror == StreamSource(name="B203_OTHER")


@pytest.mark.parametrize("settings", CONSUMERS, ids=str)
def test_b203_every_setting_of_a_consumer_comes_back_as_it_was_sent(
    client: Client, settings: dict[str, object]
) -> None:
    stream = StreamConfig(name="B203C", subjects=["b203c.>"], storage="memory")
    client.run(api.create_or_update_stream(API, stream))
    config = ConsumerConfig(durable_name="C", **settings)
    try:
        info = client.run(api.create_consumer(API, "B203C", config, strict=True))
    finally:
        client.run(api.delete_stream(API, "B203C"))

    assert (info.name, info.config.extra) == ("C", {})


def test_streams_and_consumers_live_through_create_info_change_and_delete(client: Client) -> None:
    stream = StreamConfig(
        name="LIFE", subjects=["life.>"], max_age=timedelta(microseconds=123_456_789)
    )
    work = ConsumerConfig(durable_name="W", filter_subject="life.a", ack_policy="explicit")
    assert client.run(api.create_or_update_stream(API, stream)).did_create
    assert client.run(api.create_stream(API, stream)).config.max_age == stream.max_age
    assert (
        client.run(api.change_stream(API, "LIFE", {"max_msgs": 9})).config.max_age == stream.max_age
    )
    assert client.run(publish("life.a", b"x", msg_id="1")).seq == 1
    assert client.run(publish("life.a", b"x", msg_id="1")).duplicate
    assert client.run(api.create_consumer(API, "LIFE", work)).num_pending == 1
    assert client.run(api.create_or_update_consumer(API, "LIFE", work)).name == "W"
    assert (
        client.run(api.change_consumer(API, "LIFE", "W", {"max_deliver": 4})).config.max_deliver
        == 4
    )
    assert client.run(api.stream_info(API, "LIFE", subjects_filter=">")).state.subjects == {
        "life.a": 1
    }
    assert "LIFE" in client.run(api.stream_names(API))
    assert client.run(api.stream_names(API, subject="life.a")) == ("LIFE",)
    assert client.run(api.consumer_names(API, "LIFE")) == ("W",)
    assert [each.name for each in client.run(api.consumers(API, "LIFE"))] == ["W"]
    assert "LIFE" in [each.config.name for each in client.run(api.streams(API))]
    assert client.run(api.account_info(API)).streams >= 1
    client.run(api.delete_consumer(API, "LIFE", "W"))
    client.run(api.delete_stream(API, "LIFE"))


def test_each_refusal_is_its_class_and_says_what_was_asked(client: Client) -> None:
    client.run(api.create_stream(API, StreamConfig(name="NO", subjects=["no.>"])))
    durable = ConsumerConfig(durable_name="D")
    client.run(api.create_consumer(API, "NO", durable))
    cases = [
        (api.stream_info(API, "NOPE"), errors.StreamNotFound, "stream info, stream NOPE"),
        (api.consumer_info(API, "NO", "NOPE"), errors.ConsumerNotFound, "stream NO, consumer NOPE"),
        (
            api.create_stream(API, StreamConfig(name="NO", subjects=["x.>"])),
            errors.StreamExists,
            "stream NO",
        ),
        (
            api.create_stream(API, StreamConfig(name="NO2", subjects=["no.>"])),
            errors.ConfigurationRefused,
            "subjects overlap",
        ),
        (
            api.create_stream(API, StreamConfig(name="NO2", num_replicas=9)),
            errors.JetStreamError,
            "create stream, stream NO2",
        ),
        (
            api.create_consumer(API, "NO", durable.evolve(max_deliver=7)),
            errors.ConsumerExists,
            "consumer already exists",
        ),
        (
            api.update_consumer(API, "NO", ConsumerConfig(name="NEW")),
            errors.ConsumerNotFound,
            "update consumer, stream NO, consumer NEW",
        ),
        (
            api.create_stream(API, StreamConfig(name="NO2", extra={"misspelt": 1})),
            errors.InvalidRequest,
            "invalid JSON",
        ),
        (
            api.account_info(ApiSubjects.for_domain("nowhere")),
            errors.JetStreamNotEnabled,
            "got no responders",
        ),
        (
            publish("no.a", expected_last_sequence=5),
            errors.WrongLastSequence,
            "wrong last sequence",
        ),
        (
            publish("no.a", expected_stream="OTHER"),
            errors.WrongStream,
            "expected stream does not match",
        ),
        (publish("nobody.listens", retries=1), NoResponders, "stores 'nobody.listens'"),
    ]
    for steps, kind, text in cases:
        with pytest.raises(kind, match=text):
            client.run(steps)
    client.run(api.delete_stream(API, "NO"))


def test_a_server_without_jetstream_is_one_typed_error(start_server) -> None:
    server = start_server(
        config="accounts { A { users: [{user: a, password: b}] } }\nno_auth_user: a\n"
    )
    client = Client(server.port)
    try:
        with pytest.raises(errors.JetStreamNotEnabled, match="account info"):
            client.run(api.account_info(API))
    finally:
        client.close()


def test_b203_an_old_server_that_drops_a_setting_is_found_out_by_a_strict_request(
    start_server,
) -> None:
    client = Client(start_server(version="2.10.26").port)
    try:
        future = StreamConfig(name="OLD", subjects=["old.>"], allow_msg_ttl=True)
        with pytest.raises(InvalidResponse, match="allow_msg_ttl") as caught:
            client.run(api.create_stream(API, future, strict=True))
    finally:
        client.close()

    assert isinstance(caught.value, errors.ConfigIgnored)
