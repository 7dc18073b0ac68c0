"""Requests that a server cannot read, and others at the edge, played to a real server and to the
model: both answer alike.

`tests/testing/simserver/requests/test_requests.py` holds the texts by version; random scripts are
played by `tests/long/differential.py`.
"""

import json
import time
from types import SimpleNamespace

import pytest

from jsproto.testing.simserver import SimServer
from tests.long import differential
from tests.long.scripts import ODD_BODIES, ODD_CONSUMERS, ODD_STREAMS, ODD_VERBS, Step

VERSIONS = ("2.15.1", "2.12.8", "2.11.11", "2.9.10")


def api(verb, body=b""):
    return Step("api", verb, body if isinstance(body, bytes) else json.dumps(body).encode())


def publish(subject, **headers):
    return Step(
        "publish",
        subject,
        b"x",
        {"-".join(name.split("_")): value for name, value in headers.items()} or None,
    )


@pytest.fixture(params=VERSIONS)
def differences(request, start_server):
    """Plays steps to both; what they answered differently."""
    version = request.param
    server = start_server(version)
    differential.keep(server.port)

    def play(stream, steps):
        played = differential.Play(
            SimpleNamespace(stream=stream, steps=steps), version, server.port, show=False
        )
        played.both(lambda _: differential.CONNECT + differential.opening(stream))
        found = [played.step(step, number) for number, step in enumerate(steps)]
        played.real.socket.close()
        return [each for each in found if each is not None]

    return play


@pytest.fixture
def real(request):
    """``real(server)`` connects to it, and hangs up behind the test."""

    def connect(server):
        side = differential.Real(server.port)
        request.addfinalizer(side.socket.close)
        side.say(differential.CONNECT + differential.opening("S"))
        return side

    return connect


def opened(stream, **more):
    return [
        api(
            f"STREAM.CREATE.{stream}",
            {"name": stream, "subjects": ["s.>"], "allow_direct": True, **more},
        ),
        api(
            f"CONSUMER.CREATE.{stream}.C1",
            {"stream_name": stream, "config": {"durable_name": "C1", "ack_policy": "explicit"}},
        ),
        publish("s.a"),
        publish("s.b"),
    ]


def test_a_body_that_cannot_be_read_is_refused_by_every_verb_alike(differences):
    steps = [api(verb.format("S"), body) for verb in ODD_VERBS for body in ODD_BODIES]

    assert differences("S", opened("S") + steps) == []


def test_a_pull_that_cannot_be_read_is_refused_alike(differences):
    assert differences("S", opened("S") + [Step("pull", "C1", body) for body in ODD_BODIES]) == []


def test_values_that_the_server_does_not_take_are_refused_alike(differences):
    steps = []
    for name, value in ODD_STREAMS:
        steps += [
            api("STREAM.CREATE.N", {"name": "N", "subjects": ["n.>"], name: value}),
            api("STREAM.DELETE.N"),
        ]
    for name, value in ODD_CONSUMERS:
        config = {"ack_policy": "explicit", name: value}
        steps += [
            api("CONSUMER.CREATE.S.N", {"stream_name": "S", "config": config}),
            api("CONSUMER.DELETE.S.N"),
        ]

    assert differences("S", opened("S") + steps) == []


def test_a_pull_whose_time_is_up_before_it_comes_ends_alike(differences):
    steps = []
    for members in ({}, {"no_wait": True}, {"max_bytes": 100}, {"idle_heartbeat": 1}):
        body = json.dumps({"batch": 2, "expires": -1, **members}).encode()
        steps += [
            Step("pull", "C1", body),
            publish("s.a"),
            api("CONSUMER.INFO.S.C1"),
            Step("pull", "C1", body),
        ]

    assert differences("S", opened("S") + steps) == []


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_subjects_are_counted_alike_behind_rollups_and_purges(differences, storage):
    info = api("STREAM.INFO.S", {"subjects_filter": ">"})
    steps = [publish(f"s.{name}") for name in "abcabc"]
    for taken in (
        publish("s.a", Nats_Rollup="sub"),
        publish("s.b", Nats_Rollup="all"),
        publish("s.a"),
        publish("s.c"),
        api("STREAM.PURGE.S", {"seq": 11}),
        api("STREAM.PURGE.S", {"keep": 1}),
        publish("s.d", Nats_Rollup="all"),
        api("STREAM.PURGE.S", {"seq": 100}),
        publish("s.e"),
        api("STREAM.PURGE.S"),
    ):
        steps += [taken, info]

    assert differences("S", opened("S", storage=storage, allow_rollup_hdrs=True) + steps) == []


def test_a_stream_over_the_subjects_of_the_api_acknowledges_requests_beside_the_answers(
    start_server, real
):
    """In the server either of the two may come first."""
    for version, subject in (("2.9.10", "$JS.>"), ("2.9.10", "*.>"), ("2.10.26", "*.>")):
        server = start_server(version)
        model = differential.Model(version)
        model.say(differential.CONNECT + differential.opening("S"))
        sides = [model, real(server)]
        asked = [
            api("STREAM.CREATE.S", {"name": "S", "subjects": [subject], "storage": "memory"}),
            api("STREAM.INFO.NOPE"),
        ]
        told = []
        for side in sides:
            for number, step in enumerate(asked):
                side.say(side.written(step, number, "S") + b"PING\r\n")
                if isinstance(side, differential.Real):
                    side.wait_for({"rq": [None] * (2 * number + 1)}, number + 1)
            told.append(
                sorted(
                    "error" if "error" in said.said[2] else said.said[2].get("stream", "")
                    for said in side.heard
                )
            )
        assert told[0] == told[1] == ["", "S", "error"], (version, subject)


@pytest.mark.parametrize("version", ["2.15.1", "2.9.10"])
def test_a_delivery_keeps_only_its_second_over_a_restart(start_server, real, version):
    """A delivery late in a second is due again that much earlier."""
    server = start_server(version)
    side = real(server)
    config = {"durable_name": "C1", "ack_policy": "explicit", "ack_wait": 2 * 10**9}
    for number, step in enumerate([
        api("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]}),
        api("CONSUMER.CREATE.S.C1", {"stream_name": "S", "config": config}),
        publish("s.a"),
    ]):  # fmt: skip
        side.say(side.written(step, number, "S") + b"PING\r\n")
        side.wait_for({"rq": [None] * (number + 1)}, number + 1)
    while time.time() % 1 < 0.8:  # the second of the wall clock is what is tested
        time.sleep(0.005)
    side.say(side.written(Step("pull", "C1", b"1"), 9, "S"))
    side.wait_for({"in.C1": [None]}, 0)
    delivered = time.time()
    server.restart()
    side = real(server)
    side.say(side.written(Step("pull", "C1", b'{"batch":1,"expires":5000000000}'), 10, "S"))
    while not side.channels()["in.C1"]:
        assert side.listen(6.0)

    assert 1.0 < time.time() - delivered < 1.75


def test_the_model_keeps_only_the_second_of_a_delivery_over_a_restart():
    server = SimServer(now=0.0)
    config = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": 2 * 10**9}
    server.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s"]}, 0.0)
    server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0)
    server.publish("s", b"x", 0.0)

    def pulled(now):
        cid = server.connect(now)
        server.receive_data(
            cid,
            differential.CONNECT
            + b"SUB i 1\r\n"
            + differential.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "i", b"1"),
            now,
        )
        return cid

    pulled(0.9)
    server.kill(1.0)
    server.start(1.1)
    cid = pulled(1.2)
    server.data_to_send(cid)

    server.handle_tick(1.95)
    assert b"$JS.ACK" not in server.data_to_send(cid)
    server.handle_tick(2.1)
    assert b"$JS.ACK.S.C.2" in server.data_to_send(cid)
