"""Through a proxy to a real server, in every adapter and over every transport; and what a proxy may
do instead.
"""

from __future__ import annotations

import importlib
import pickle
import socket
import threading
from base64 import b64decode

import anyio
import pytest

from jsproto.core.connection.server_pool import Server
from jsproto.errors import ConnectFailed, InvalidConfig, JsprotoError, LocalProtocolError
from jsproto_io import blocking
from jsproto_io._layers.stack import StackedFilter
from jsproto_io._layers.tls import Filter, TlsFiles
from jsproto_io.proxies import MOST, HttpProxy, ProxyHandshake, SocksProxy, tunnel_of
from tests.adapters.table import ADAPTERS
from tests.served import served

PROMPT = {"close_timeout": 0.05, "connect_timeout": 3.0, "ignore_gossip": True}
CANARY = "cAnAry"
SERVER = Server(host="nats.example", port=4222)


# ------------------------------------------------------------------------------------------------ a proxy that works


class Relay:
    """A proxy on a real socket: HTTP and SOCKS 5, told apart by the first byte, with one user or
    for everybody.
    """

    def __init__(self, user=None):
        self.user = user
        self.asked = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._threads = []
        self._start(self._accept)

    def _start(self, work, *arguments):
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        while True:
            try:
                line, _ = self._door.accept()
            except OSError:
                return
            self._start(self._serve, line)

    def _serve(self, line):
        with line:
            first = line.recv(1)
            place = self._socks(line) if first == b"\5" else self._http(line, first)
            if place is None:
                return
            self.asked.append(place)
            with socket.create_connection(place) as there:
                line.sendall(
                    b"\5\0\0\1" + bytes(6)
                    if first == b"\5"
                    else b"HTTP/1.1 200 OK\r\nVia: test\r\n\r\n"
                )
                back = threading.Thread(target=_pass_on, args=(there, line), daemon=True)
                back.start()
                _pass_on(line, there)
                back.join()

    def _http(self, line, head):
        while b"\r\n\r\n" not in head:
            head += line.recv(1)
        first, *rest = head.decode().split("\r\n")
        wanted = f"{self.user[0]}:{self.user[1]}" if self.user else None
        shown = [
            each.split()[-1] for each in rest if each.startswith("Proxy-Authorization: Basic ")
        ]
        if wanted and [b64decode(each).decode() for each in shown] != [wanted]:
            line.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return None
        host, _, port = first.split(" ")[1].rpartition(":")
        return host.strip("[]"), int(port)

    def _socks(self, line):
        methods = line.recv(line.recv(1)[0])
        if self.user is None:
            line.sendall(b"\5\0")
        elif 2 not in methods:
            line.sendall(b"\5\xff")
            return None
        else:
            line.sendall(b"\5\2")
            line.recv(1)
            shown = tuple(line.recv(line.recv(1)[0]).decode() for _ in range(2))
            line.sendall(b"\1" + bytes([shown != self.user]))
            if shown != self.user:
                return None
        kind = line.recv(4)[3]
        host = (
            line.recv(line.recv(1)[0]).decode()
            if kind == 3
            else socket.inet_ntop(
                {1: socket.AF_INET, 4: socket.AF_INET6}[kind], line.recv({1: 4, 4: 16}[kind])
            )
        )
        return host, int.from_bytes(line.recv(2), "big")

    def close(self):
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for thread in self._threads:
            thread.join(5.0)

            assert not thread.is_alive()


def _pass_on(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def relay():
    made = []

    def make(user=None):
        made.append(Relay(user))
        return made[-1]

    yield make
    for each in made:
        each.close()


# ------------------------------------------------------------------------------------------------ every adapter


@pytest.fixture(scope="module", params=["tcp", "tls", "tls-first", "wss"])
def there(request, server_binary_of, tmp_path_factory):
    with served(
        server_binary_of("2.15.1"), request.param, tmp_path_factory.mktemp("proxied")
    ) as server:
        yield server


async def story(connect, url, options):
    """Publish and hear; gives what was heard and where the client is."""
    async with connect(url, **options, **PROMPT) as nc, nc.subscribe("a", limit=1) as messages:
        await nc.flush()
        await nc.publish("a", b"x")
        return [msg.payload async for msg in messages], str(nc.server)


def blocked(connect, url, options):
    with connect(url, **options, **PROMPT) as nc, nc.subscribe("a", limit=1) as messages:
        nc.publish("a", b"x")
        return [msg.payload for msg in messages], str(nc.server)


@pytest.mark.live
@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_server_is_reached_through_a_proxy(adapter, scheme, there, relay):
    module, backend = ADAPTERS[adapter]
    connect = importlib.import_module(f"jsproto_io.{module}").connect
    proxy = relay(("joe", CANARY))
    options = {**there.options, "proxy": f"{scheme}://joe:{CANARY}@127.0.0.1:{proxy.port}"}
    if backend == "blocking":
        heard, where = blocked(connect, there.url, options)
    else:
        heard, where = anyio.run(story, connect, there.url, options, backend=backend)

    assert heard == [b"x"]
    assert where == there.url
    assert proxy.asked == [("127.0.0.1", int(there.url.rpartition(":")[2]))]


@pytest.mark.live
def test_each_link_goes_through_it(nats_server, relay):
    proxy = relay()
    with blocking.connect(
        nats_server.url, proxy=f"socks5://127.0.0.1:{proxy.port}", **PROMPT
    ) as nc:
        nc.reconnect()
        nc.flush()

        assert [each for each in nc.rtts().values() if isinstance(each, JsprotoError)] == []
    assert len(proxy.asked) == 3


async def probed(connect, url, options):
    async with connect(url, **options, **PROMPT) as nc:
        return await nc.rtts()


def probed_blocking(connect, url, options):
    with connect(url, **options, **PROMPT) as nc:
        return nc.rtts()


@pytest.mark.live
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_names_are_looked_up_by_the_proxy_and_by_nobody_else(
    adapter, nats_server, relay, monkeypatch
):
    module, backend = ADAPTERS[adapter]
    connect = importlib.import_module(f"jsproto_io.{module}").connect
    proxy = relay()
    names = {"only.the.proxy.knows": "127.0.0.1"}
    dial = socket.create_connection
    monkeypatch.setattr(
        socket, "create_connection", lambda place: dial((names.get(place[0], place[0]), place[1]))
    )
    url = f"nats://only.the.proxy.knows:{nats_server.port}"
    options = {"proxy": f"http://127.0.0.1:{proxy.port}"}
    if backend == "blocking":
        found = probed_blocking(connect, url, options)
    else:
        found = anyio.run(probed, connect, url, options, backend=backend)

    assert list(found) == [url]
    assert isinstance(found[url], float), found
    assert proxy.asked == [("only.the.proxy.knows", nats_server.port)] * 2


# ------------------------------------------------------------------------------------------------ and instead


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_that_knows_another_user_is_an_error_without_a_secret(scheme, relay):
    proxy = relay(("joe", "right"))
    for user in ("", f"joe:{CANARY}@"):
        with (
            pytest.raises(
                ConnectFailed, match=f"expected proxy {scheme}://127.0.0.1:{proxy.port} to open"
            ) as caught,
            blocking.connect(
                "nats://x.invalid", proxy=f"{scheme}://{user}127.0.0.1:{proxy.port}", **PROMPT
            ),
        ):
            pass

        assert CANARY not in str(caught.value)


def test_a_proxy_that_is_not_there_is_an_error(nobody):
    place = nobody.removeprefix("nats://")
    with (
        pytest.raises(ConnectFailed, match="refused"),
        blocking.connect("nats://h", proxy=f"http://{place}", **PROMPT),
    ):
        pass


def test_a_proxy_that_says_nothing_is_left_at_the_deadline_of_the_attempt(peer):
    there = peer(lambda line: line.until_gone())
    options = {**PROMPT, "connect_timeout": 0.2}
    with (
        pytest.raises(ConnectFailed, match=r"within 0\.2 s"),
        blocking.connect("nats://h", proxy=f"http://127.0.0.1:{there.port}", **options),
    ):
        pass
    there.finish()


def test_a_proxy_that_hangs_up_is_an_error(peer):
    there = peer(lambda line: line.hear(b"\r\n\r\n"))
    with (
        pytest.raises(ConnectFailed, match="got the end of the stream"),
        blocking.connect("nats://h", proxy=f"http://127.0.0.1:{there.port}", **PROMPT),
    ):
        pass
    there.finish()


# ------------------------------------------------------------------------------------------------ word by word


def passed(tunnel, *answers, server=SERVER, step=0):
    """What is said to a proxy that answers so, cut in pieces of ``step`` bytes, and what comes out
    behind.
    """
    layer = tunnel.layer(server)
    layer.begin()
    said, out = [layer.outgoing()], b""
    for answer in answers:
        for at in range(0, len(answer), step or len(answer)):
            out += layer.received(answer[at : at + (step or len(answer))])
        said.append(layer.outgoing())
    return layer, [each for each in said if each], out


@pytest.mark.parametrize("step", [0, 1, 2, 7])
def test_http_asks_and_what_follows_the_answer_is_the_server(step):
    layer, said, out = passed(
        HttpProxy("p", 80, "joe", "secret"),
        b"HTTP/1.0 200 Connection established\r\nA: b\r\n\r\nINFO {}\r\n",
        step=step,
    )

    assert b"".join(said) == (
        b"CONNECT nats.example:4222 HTTP/1.1\r\nHost: nats.example:4222\r\n"
        b"Proxy-Authorization: Basic am9lOnNlY3JldA==\r\n\r\n"
    )
    assert (layer.stands, layer.ended, layer.close_reason, out) == (
        True,
        False,
        None,
        b"INFO {}\r\n",
    )
    assert (layer.received(b"more"), layer.sent(b"PING\r\n"), layer.close_frame(), layer.cut()) == (
        b"more",
        b"PING\r\n",
        b"",
        None,
    )


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("nats.example", b"\3\x0cnats.example"),
        ("10.0.0.1", b"\1\x0a\0\0\1"),
        ("::1", b"\4" + bytes(15) + b"\1"),
    ],
)
@pytest.mark.parametrize("bound", [b"\1" + bytes(6), b"\3\1x\0\0", b"\4" + bytes(18)])
def test_socks_asks_and_what_follows_the_answer_is_the_server(host, place, bound, step):
    layer, said, out = passed(
        SocksProxy("p", 1080, "joe", "pw"),
        b"\5\2",
        b"\1\0",
        b"\5\0\0" + bound + b"INFO {}\r\n",
        server=Server(host=host, port=4222),
        step=step,
    )

    assert b"".join(said) == b"\5\2\0\2\1\3joe\2pw\5\1\0" + place + b"\x10\x7e"
    assert (layer.stands, out) == (True, b"INFO {}\r\n")


@pytest.mark.parametrize(
    ("tunnel", "answers", "seen"),
    [
        (HttpProxy("p", 80), [b"HTTP/1.1 403 Forbidden\r\n\r\n"], "HTTP/1.1 403 Forbidden"),
        (HttpProxy("p", 80), [b"SSH-2.0-x\r\n\r\n"], "SSH-2.0-x"),
        (HttpProxy("p", 80), [b"x" * (MOST + 1)], "more than 65536 bytes"),
        (SocksProxy("p", 80), [b"\5\xff"], "none of our ways"),
        (SocksProxy("p", 80), [b"\5\2"], "none of our ways"),
        (SocksProxy("p", 80), [b"HT"], "none of our ways"),
        (SocksProxy("p", 80, "u", "p"), [b"\5\2", b"\1\1"], "a refusal of user and password"),
        (SocksProxy("p", 80), [b"\5\0", b"\5\5\0\1" + bytes(6)], "connection refused"),
        (SocksProxy("p", 80), [b"\5\0", b"\5\x63\0\1" + bytes(6)], "no answer of SOCKS 5"),
        (SocksProxy("p", 80), [b"\5\0", b"\4\0\0\1" + bytes(6)], "no answer of SOCKS 5"),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
def test_what_a_proxy_refuses_is_said(tunnel, answers, seen, step):
    with pytest.raises(
        ConnectFailed,
        match=f"expected proxy {tunnel} to open a way to nats://nats.example:4222, got .*{seen}",
    ):
        passed(tunnel, *answers, step=step or 0)


def test_nothing_is_said_before_there_is_a_way():
    layer, _, out = passed(HttpProxy("p", 80), b"HTTP/1.1 2")

    assert (layer.stands, out) == (False, b"")
    assert isinstance(layer.cut(), ConnectFailed)
    with pytest.raises(LocalProtocolError, match="the way through the proxy"):
        layer.sent(b"CONNECT {}\r\n")


@pytest.mark.parametrize("tunnel", [HttpProxy("p", 80), SocksProxy("p", 80)])
@pytest.mark.parametrize("host", ["a\r\nX: y", "a b", "ü", "x" * 300])
def test_a_name_that_cannot_be_said_is_refused_before_a_byte_exists(tunnel, host):
    with pytest.raises(InvalidConfig):
        passed(tunnel, b"\5\0", server=Server(host=host))


def test_a_password_that_socks_cannot_carry_is_refused():
    with pytest.raises(InvalidConfig, match="at most 255 bytes"):
        passed(SocksProxy("p", 80, "u", "x" * 256), b"\5\2")


def test_an_end_is_felt_by_tls_over_a_way_that_stands(tmp_path):
    way, _, _ = passed(HttpProxy("p", 80), b"HTTP/1.1 200 OK\r\n\r\n")
    over = StackedFilter(Filter(TlsFiles().context(), SERVER), way)

    assert over.cut() is not None


# ------------------------------------------------------------------------------------------------ by its URL


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://p", HttpProxy("p", 80)),
        ("http://joe:a%40b@p:3128/", HttpProxy("p", 3128, "joe", "a@b")),
        ("socks5://[::1]:1081", SocksProxy("::1", 1081)),
        (" socks5://joe@p ", SocksProxy("p", 1080, "joe")),
        ("HTTP://p:3128/", HttpProxy("p", 3128)),
        ("Socks5://p", SocksProxy("p", 1080)),
    ],
)
def test_a_proxy_is_named_by_its_url(url, proxy):
    made = tunnel_of(url)

    assert made == proxy
    assert made.entrance.address == (proxy.host, proxy.port)


@pytest.mark.parametrize(
    "url",
    [
        f"ftp://u:{CANARY}@p",
        f"http://u:{CANARY}@",
        f"http://u:{CANARY}@p:x",
        f"http://u:{CANARY}@a b",
        f"http://u:1/{CANARY}@p",
        f"http://u:1?{CANARY}@p",
        f"http://u:1#{CANARY}@p",
        f"http://p/{CANARY}",
        f"http://p?{CANARY}",
        f"http://p#{CANARY}",
        CANARY,
        "http://",
    ],
)
def test_what_is_no_proxy_is_refused_without_a_secret(url):
    with pytest.raises(InvalidConfig) as caught:
        blocking.connect("nats://h", proxy=url)

    assert CANARY not in str(caught.value)
    assert "://host:port" in str(caught.value)


def test_a_password_is_not_shown_and_not_pickled():
    for proxy in (HttpProxy("p", 80, "u", CANARY), SocksProxy("p", 80, "u", CANARY)):
        assert CANARY not in f"{proxy} {proxy!r}"
        with pytest.raises(LocalProtocolError):
            pickle.dumps(proxy)


def test_a_tunnel_of_ones_own_is_taken_as_it_is():
    class Jump:
        entrance = Server(host="jump")

        def layer(self, server):
            return ProxyHandshake(self, server, iter(()))

    jump = Jump()

    assert tunnel_of(jump) is jump
    assert tunnel_of(None) is None
