"""WebSockets in every adapter: against nats-server, in clear and over TLS, and against peers that
are not what they say.
"""

from __future__ import annotations

import importlib
import ssl

import anyio
import pytest
import trustme
from websockets.frames import Close, Frame, Opcode

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Connected, Disconnected
from jsproto.core.connection.options import Tls
from jsproto.errors import (
    AuthorizationFailed,
    ConnectFailed,
    LinkError,
    TlsFailed,
    TlsUnavailable,
    WebSocketFailed,
)
from jsproto_io._layers.websocket_server import Answerer
from jsproto_io.blocking import connect
from jsproto_io.credentials import TlsFiles, WebSocket
from jsproto_io.testing import CONTRACT, ModelServer, check_driver
from tests.ports import free_ports

CA = trustme.CA()
SECRET = Auth(user="joe", password="canary")


def flush(nc):
    return nc.flush()


def trusting():
    context = ssl.create_default_context()
    CA.configure_trust(context)
    return context


@pytest.fixture(params=["ws", "wss"])
def web(request, start_server, tmp_path):
    """``(server, url, options)`` of a nats-server with a WebSocket, in clear and over TLS."""
    [port] = free_ports(1)
    security = "no_tls: true"
    options = {}
    if request.param == "wss":
        certificate = CA.issue_cert("localhost", "127.0.0.1")
        certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
        (tmp_path / "cert.pem").write_bytes(
            b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
        )
        security = f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}'
        options["tls_context"] = trusting()
    server = start_server(
        config=f'websocket {{ listen: "127.0.0.1:{port}", {security} }}\n'
        "authorization { user: joe, password: canary }"
    )
    return server, f"{request.param}://localhost:{port}", options


# ---------------------------------------------------------------------------------------------- on a real server


@pytest.mark.live
def test_a_consume_goes_on_over_a_restart_of_the_server(flavour, web):
    server, url, options = web

    async def story():
        async with flavour.connect(
            url, auth=SECRET, reconnect_wait=0.05, reconnect_jitter_tls=0.0, **options
        ) as nc:
            js = nc.jetstream()
            stream = await js.create_stream(name="S", subjects=["s.>"])
            consumer = await stream.create_consumer(durable_name="c")
            async with consumer.consume() as messages:
                for at in range(10):
                    await js.publish("s.a", b"%d" % at * 1000)
                for at in range(10):
                    message = await messages.next()
                    assert b"%d" % at * 1000 == message.payload
                    await message.ack_confirmed()
                events = nc.events()
                await anyio.to_thread.run_sync(server.restart)
                async for event in events:
                    if isinstance(event, Connected):
                        break
                await js.publish("s.a", b"after")
                message = await messages.next(15.0)
                assert b"after" == message.payload
                await message.ack_confirmed()

    flavour.play(story)


@pytest.mark.live
def test_a_blocking_consume_goes_on_over_a_restart_of_the_server(web):
    server, url, options = web
    with connect(url, auth=SECRET, reconnect_wait=0.05, reconnect_jitter_tls=0.0, **options) as nc:
        js = nc.jetstream()
        consumer = js.create_stream(name="S", subjects=["s.>"]).create_consumer(durable_name="c")
        with consumer.consume() as messages:
            js.publish("s.a", b"before")
            message = messages.next()
            assert message.ack_confirmed()
            events = nc.events()
            server.restart()
            next(event for event in events if isinstance(event, Connected))
            js.publish("s.a", b"after")

            assert b"after" == messages.next(15.0).payload


@pytest.mark.live
def test_large_messages_pass_whole_and_many_at_once(web):
    _, url, options = web
    with connect(url, auth=SECRET, **options) as nc, nc.subscribe("a") as messages:
        payloads = [bytes([at]) * 300_000 for at in range(20)] + [b"%d" % at for at in range(2000)]
        for payload in payloads:
            nc.publish("a", payload)

        assert payloads == [next(messages).payload for _ in payloads]


@pytest.mark.live
def test_credentials_are_judged_through_a_web_socket_too(use, web):
    _, url, options = web

    with pytest.raises(AuthorizationFailed):
        use(url, flush, auth=Auth(user="joe", password="wrong"), **options)


@pytest.mark.live
def test_a_web_socket_in_clear_is_none_where_tls_is_wished(use, web):
    _, url, _ = web
    if url.startswith("ws:"):
        for options in ({"tls": Tls.REQUIRED}, {"tls": Tls.FIRST}, {"tls_context": trusting()}):
            with pytest.raises(TlsFailed):
                use(url, flush, auth=SECRET, **options)
    else:
        with pytest.raises(TlsFailed, match="certificate"):
            use(url, flush, auth=SECRET)
        with pytest.raises(LinkError):
            use(url.replace("wss:", "ws:"), flush, auth=SECRET)


@pytest.mark.live
def test_both_kinds_of_ports_may_be_in_one_pool(use, web):
    server, url, options = web
    if "tls_context" in options:
        options["tls"] = Tls.IF_ASKED

    def again(nc):
        return nc.reconnect()

    took = use([url, server.url], flush, again, flush, again, flush, auth=SECRET, **options)

    assert all(each > 0.0 for each in took[::2])


# ---------------------------------------------------------------------------------------------- on peers


def test_a_server_that_is_no_web_socket_is_one_typed_error(use, peer):
    def forbid(line):
        line.hear(b"\r\n\r\n")
        line.say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000\r\n\r\n")
        line.until_gone()

    there = peer(forbid)
    with pytest.raises(WebSocketFailed, match="403 Forbidden"):
        use(there.url.replace("nats", "ws"), flush)


def test_path_and_headers_reach_the_proxy(use, peer):
    heard = []

    def look(line):
        heard.append(line.hear(b"\r\n\r\n"))

    there = peer(look)
    with pytest.raises(LinkError):
        use(
            there.url.replace("nats", "ws"),
            flush,
            websocket=WebSocket(path="/nats", headers={"X-Key": "1"}),
        )

    assert heard[0].startswith(b"GET /nats HTTP/1.1\r\n")
    assert b"\r\nX-Key: 1\r\n" in heard[0]


def test_a_peer_that_goes_in_mid_handshake_is_an_error(use, peer):
    there = peer(lambda line: line.hear(b"\r\n\r\n"))

    with pytest.raises(WebSocketFailed, match="mid-handshake"):
        use(there.url.replace("nats", "ws"), flush)


def test_a_peer_that_is_silent_in_mid_handshake_fails_within_the_connect_timeout(use, deaf):
    with pytest.raises(ConnectFailed, match="within"):
        use(deaf.replace("nats", "ws"), flush, connect_timeout=0.2)


def opened(line, *, info=True):
    """The handshake of the WebSocket; gives the server's layer."""
    layer = Answerer()
    layer.received(line.hear(b"\r\n\r\n"))
    line.say(layer.outgoing())
    if info:
        line.say(layer.sent(b'INFO {"max_payload":1048576,"headers":true}\r\n'))
    return layer


def heard(line, layer, mark):
    """What the client says, until it has said ``mark``."""
    said = b""
    while mark not in said:
        said += layer.received(line.stream.recv(65536))
    return said


def greeted(line):
    layer = opened(line)
    heard(line, layer, b"PING\r\n")
    line.say(layer.sent(b"PONG\r\n"))
    return layer


def answered(line):
    layer = greeted(line)
    heard(line, layer, b"PING\r\n")
    line.say(layer.sent(b"PONG\r\n"))
    line.until_gone()


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (Frame(Opcode.TEXT, b"PING\r\n").serialize(mask=False), "binary"),
        (b"\x82\x7f" + (1 << 50).to_bytes(8, "big"), "1125899906842624"),
        (
            Frame(Opcode.CLOSE, Close(1008, "too slow").serialize()).serialize(mask=False),
            "1008: 'too slow'",
        ),
        (b"", "without a close frame"),
    ],
)
def test_what_breaks_the_rules_ends_the_link_with_one_error_and_the_next_is_dialled(
    use, peer, fault, match
):
    def harm(line):
        heard(line, greeted(line), b"PUB go")
        line.say(fault)
        if fault:
            line.until_gone()

    there = peer(harm, answered)

    def story(nc):
        events = nc.events()
        if hasattr(events, "__aiter__"):
            return awaited(nc, events)
        nc.publish("go")
        return until_connected(iter(events))

    async def awaited(nc, events):
        await nc.publish("go")
        seen = []
        async for event in events:
            seen.append(event)
            if isinstance(event, Connected):
                break
        return seen

    def until_connected(events):
        seen = []
        for event in events:
            seen.append(event)
            if isinstance(event, Connected):
                break
        return seen

    seen, rtt = use(there.url.replace("nats", "ws"), story, flush)
    lost = [event for event in seen if isinstance(event, Disconnected)]

    assert rtt > 0.0
    assert 1 == len(lost)
    assert match in str(lost[0].error)


def test_a_refusal_and_a_close_in_the_same_bytes_cost_the_next_server_nothing(use, peer):
    def refuse(line):
        layer = opened(line)
        heard(line, layer, b"PING\r\n")
        line.say(layer.sent(b"-ERR 'Authorization Violation'\r\n") + layer.close_frame())
        line.until_gone()

    first, second = peer(refuse), peer(answered)
    urls = [each.url.replace("nats", "ws") for each in (first, second)]

    took = use(urls, flush, auth=SECRET, randomize=False)

    assert took[0] > 0.0


def test_an_info_in_clear_where_tls_stands_below_gets_no_secret(use, peer):
    heard = []

    def speak(line):
        line.say(b'INFO {"max_payload":1048576}\r\n')
        heard.append(line.until_gone())

    for options in ({}, {"tls_context": TlsFiles()}, {"tls": Tls.IF_OFFERED}):
        there = peer(speak)
        with pytest.raises((TlsFailed, ConnectFailed)):
            use(there.url.replace("nats", "wss"), flush, auth=SECRET, **options)
        there.finish()

    assert 3 == len(heard)
    assert not [each for each in heard if b"CONNECT" in each or b"canary" in each or b"GET" in each]


def test_a_plain_server_in_the_pool_of_a_secure_one_is_no_way_around_tls(use, peer):
    def speak(line):
        line.say(b'INFO {"max_payload":1048576}\r\n')
        line.until_gone()

    there = peer(speak)
    with pytest.raises(TlsUnavailable):
        use(there.url, flush, auth=SECRET, tls_context=trusting())


# ---------------------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize("clause", CONTRACT, ids=lambda clause: clause.name.replace(" ", "_"))
@pytest.mark.parametrize(
    "adapter", [("asyncio", "asyncio"), ("trio", "trio"), ("blocking", "blocking")]
)
def test_the_contract_through_a_web_socket(adapter, clause):
    module, backend = adapter
    check_driver(
        importlib.import_module(f"jsproto_io.{module}").connect,
        backend=backend,
        only=clause.name,
        web=True,
    )


def test_the_model_server_speaks_through_a_web_socket():
    with ModelServer(web=True) as hosted, connect(hosted.url) as nc:
        hosted.say(b"PING\r\n")
        nc.flush()

        assert hosted.url.startswith("ws://")
        assert hosted.heard.startswith(b"CONNECT {")


@pytest.mark.live
def test_a_server_learned_over_a_web_socket_is_reached_over_one(use, start_server):
    routes = free_ports(2)
    doors = free_ports(2)
    urls = ", ".join(f"nats://127.0.0.1:{port}" for port in routes)
    servers = [
        start_server(
            jetstream=False,
            config=f'websocket {{ listen: "127.0.0.1:{door}", no_tls: true }}\n'
            f'cluster {{ name: c, listen: "127.0.0.1:{route}", routes: [ {urls} ] }}',
        )
        for door, route in zip(doors, routes, strict=True)
    ]

    def known(nc):
        return [str(server) for server in nc._connection.servers]

    async def both(nc):
        while len(known(nc)) < 2:
            await nc.flush()
        servers[0].kill()
        while str(nc.server) != f"ws://127.0.0.1:{doors[1]}":  # noqa: ASYNC110 - it may come before anybody listens
            await anyio.sleep(0.01)

    def blocking(nc):
        while len(known(nc)) < 2:
            nc.flush()
        events = nc.events()
        servers[0].kill()
        while not isinstance(next(events), Connected):
            pass

    def story(nc):
        return both(nc) if hasattr(nc, "__aenter__") else blocking(nc)

    _, there, rtt = use(f"ws://127.0.0.1:{doors[0]}", story, lambda nc: nc.server, flush)

    assert f"ws://127.0.0.1:{doors[1]}" == str(there)
    assert there.gossiped
    assert rtt > 0.0
