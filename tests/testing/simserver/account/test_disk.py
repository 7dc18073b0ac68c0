"""What the disk held: a server that returns to an earlier image of its consumers, or of everything."""

from __future__ import annotations

import pytest

from jsproto.testing.simserver import SimServer


def numbers(server: SimServer) -> tuple[object, object]:
    info = server.request("CONSUMER.INFO.S.C", None, 0.0)
    return info["num_pending"], info["num_ack_pending"]


@pytest.fixture
def client(make):
    """A client of a server with a stream that keeps what its one consumer wants."""
    return make(stream={"retention": "interest"}, consumer={})


@pytest.fixture
def server(client) -> SimServer:
    server: SimServer = client.server
    return server


def acks(client) -> list[str]:
    """The ack subjects of what came."""
    return [line.split()[3] for line in client.hear().split("~") if line.startswith("MSG s.")]


def test_a_kill_may_lose_what_a_consumer_knew_and_no_message(server, client):
    for _ in range(3):
        server.publish("s.a", b"x", 0.0)
    image = server.image(0.0, consumers_only=True)
    client.pull(batch=2)
    client.pub(acks(client)[0])
    server.publish("s.a", b"x", 0.0)
    assert numbers(server) == (2, 1)
    server.lose(image, 1.0)
    assert not server.up
    server.start(1.0)

    # The first was acknowledged and has left the stream: nobody can deliver it again.
    assert numbers(server) == (3, 0)
    assert server.jetstream.streams["S"].last == 4


def test_what_is_owed_and_gone_is_forgotten(server, client):
    server.publish("s.a", b"x", 0.0)
    client.pull(batch=1)
    image = server.image(0.0, consumers_only=True)
    assert numbers(server) == (0, 1)
    client.pub(acks(client)[0])
    server.lose(image, 1.0)
    server.start(1.0)

    assert numbers(server) == (0, 0)


def test_a_power_failure_loses_everything_since_the_last_sync(server):
    server.publish("s.a", b"kept", 0.0)
    image = server.image(0.0)
    server.publish("s.a", b"lost", 0.0)
    server.request("STREAM.CREATE.T", {"name": "T"}, 0.0)
    server.lose(image, 1.0)
    server.start(1.0)

    assert list(server.jetstream.streams) == ["S"]
    stream = server.jetstream.streams["S"]
    assert (stream.last, numbers(server)) == (1, (1, 0))
    server.publish("s.a", b"new", 1.0)
    assert (stream.last, numbers(server)) == (2, (2, 0))


@pytest.mark.parametrize("gone", ["CONSUMER.DELETE.S.C", "STREAM.DELETE.S"])
def test_what_was_deleted_or_made_anew_since_is_left_as_it_is(server, gone):
    server.publish("s.a", b"x", 0.0)
    image = server.image(0.0, consumers_only=True)
    server.request(gone, None, 1.0)
    if gone.startswith("CONSUMER"):
        config = {"durable_name": "C", "ack_policy": "explicit", "deliver_policy": "new"}
        server.request("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 1.0)
    server.lose(image, 2.0)
    server.start(2.0)

    assert ("S" in server.jetstream.streams) == gone.startswith("CONSUMER")
    assert gone.startswith("STREAM") or numbers(server) == (0, 0)


def test_a_full_disk_refuses_and_says_so(server, client):
    server.fill_disk(0.0)
    client.pub("s.a", b"x", "in.p")
    assert '"err_code":10077,"description":"no space left on device"' in client.hear()
    server.fill_disk(0.0, full=False)
    client.pub("s.a", b"x", "in.p")

    assert '{"stream":"S","seq":1}' in client.hear()
