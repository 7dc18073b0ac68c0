"""TLS in every adapter: against nats-server, and against peers that are not what they say."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import threading

import pytest
import trustme

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Connected, Disconnected
from jsproto.core.connection.options import Tls
from jsproto.core.connection.server_pool import Server, ServerPool
from jsproto.errors import ConnectFailed, InvalidConfig, LinkError, TlsFailed, TlsUnavailable
from jsproto_io._layers.tls import Filter, TlsFiles
from jsproto_io.blocking import connect
from tests.ports import free_ports

PROMPT = {
    "reconnect_wait": 0.01,
    "reconnect_wait_max": 0.05,
    "reconnect_jitter": 0.0,
    "reconnect_jitter_tls": 0.0,
}
SECRET = Auth(user="joe", password="canary")
CA = trustme.CA()


def flush(nc):
    return nc.flush()


def trusting(ca=CA):
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return context


def files_of(folder, certificate, ca=CA):
    ca.cert_pem.write_to_path(folder / "ca.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(
        b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    )
    return folder


def config(folder, first=False, more="", verify=False):
    return f"""
    authorization {{ user: joe, password: canary }}
    tls {{ cert_file: "{folder}/cert.pem", key_file: "{folder}/key.pem", timeout: 5
          {"ca_file: " + chr(34) + str(folder) + "/ca.pem" + chr(34) + ", verify: true" if verify else ""}
          {"handshake_first: 300ms" if first else ""} }}
    {more}
    """


@pytest.fixture
def folder(tmp_path):
    return files_of(tmp_path, CA.issue_cert("localhost", "127.0.0.1"))


# ---------------------------------------------------------------------------------------------- on a real server


@pytest.mark.live
@pytest.mark.parametrize("scheme", ["nats", "tls"])
def test_a_server_that_requires_tls_gets_it(use, start_server, folder, scheme):
    server = start_server(config=config(folder))
    url = f"{scheme}://localhost:{server.port}"

    assert use(url, flush, flush, auth=SECRET, tls_context=trusting())[0] > 0.0


@pytest.mark.live
def test_tls_may_stand_before_the_first_word(use, start_server, folder):
    server = start_server(config=config(folder, first=True))
    files = TlsFiles(ca=folder / "ca.pem")

    assert (
        use(
            f"nats://localhost:{server.port}", flush, tls=Tls.FIRST, auth=SECRET, tls_context=files
        )[0]
        > 0.0
    )


@pytest.mark.live
def test_a_certificate_of_our_own_is_shown(use, start_server, folder, tmp_path):
    server = start_server(config=config(folder, verify=True))
    ours = tmp_path / "ours"
    ours.mkdir()
    files_of(ours, CA.issue_cert("client.example.com"))
    files = TlsFiles(ca=ours / "ca.pem", certificate=ours / "cert.pem", key=ours / "key.pem")

    assert use(f"nats://localhost:{server.port}", flush, auth=SECRET, tls_context=files)[0] > 0.0
    with pytest.raises((LinkError,)):
        use(
            f"nats://localhost:{server.port}",
            flush,
            auth=SECRET,
            tls_context=TlsFiles(ca=ours / "ca.pem"),
        )


@pytest.mark.live
def test_a_link_that_is_lost_comes_back_with_tls(use, start_server, folder):
    server = start_server(config=config(folder))

    def again(nc):
        return nc.reconnect()

    def publish(nc):
        return nc.publish("a", b"kept until the second link stands")

    took = use(
        f"nats://localhost:{server.port}",
        flush,
        again,
        publish,
        auth=SECRET,
        tls_context=trusting(),
    )

    assert took[0] > 0.0


@pytest.mark.live
def test_large_messages_pass_through_tls_whole(start_server, folder):

    server = start_server(config=config(folder))
    with (
        connect(f"nats://localhost:{server.port}", auth=SECRET, tls_context=trusting()) as nc,
        nc.subscribe("a") as messages,
    ):
        payloads = [bytes([at]) * 300_000 for at in range(20)]
        for payload in payloads:
            nc.publish("a", payload)

        assert [next(messages).payload for _ in payloads] == payloads


@pytest.mark.live
def test_a_certificate_that_is_not_good_here_is_refused(use, start_server, tmp_path):
    now = dt.datetime.now(dt.UTC)
    cases = [
        (
            CA.issue_cert("other.example.com"),
            trusting(),
            "[Hh]ostname mismatch|IP address mismatch|not valid for",
        ),
        (CA.issue_cert("localhost", not_after=now - dt.timedelta(days=1)), trusting(), "expired"),
        (CA.issue_cert("localhost"), trusting(trustme.CA()), "unable to get|self.signed|verify"),
        (CA.issue_cert("localhost"), None, "unable to get|self.signed|verify"),
    ]
    for number, (certificate, context, match) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        server = start_server(config=config(files_of(folder, certificate)))
        options = {} if context is None else {"tls_context": context}

        with pytest.raises(TlsFailed, match=match) as caught:
            use(f"tls://localhost:{server.port}", flush, auth=SECRET, **options)

        assert "canary" not in str(caught.value)


@pytest.mark.live
@pytest.mark.parametrize("version", ["2.15.1", "2.9.10"])
def test_a_server_that_is_named_is_learned_behind_tls_only(
    start_server, folder, eventually, version
):
    route = f"127.0.0.1:{free_ports(1)[0]}"
    named = 'client_advertise: "named.test:1"\ncluster {{ name: C, listen: "{}", routes: ["nats://{}"] }}'
    first = start_server(
        version, config=config(folder, more=named.format(route, "127.0.0.1:1")), jetstream=False
    )
    start_server(version, config=named.format("127.0.0.1:-1", route), jetstream=False)

    def known(scheme, **options):
        url = f"{scheme}://localhost:{first.port}"
        with connect(url, auth=SECRET, tls_context=trusting(), **options) as nc:
            nc.flush()
            return {server.host for server in nc._connection.servers}

    eventually(lambda: known("nats", tls=Tls.IF_OFFERED) == {"localhost", "named.test"})

    assert known("tls") == {"localhost"} | ({"named.test"} if version == "2.15.1" else set())


# ---------------------------------------------------------------------------------------------- on a peer that lies


class Liar:
    """A peer that keeps everything that it hears in clear."""

    def __init__(self, story):
        self.heard = bytearray()
        self.failures = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self._door.settimeout(5.0)
        self.port = self._door.getsockname()[1]
        self._story = story
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while True:
                stream, _ = self._door.accept()
                with stream:
                    stream.settimeout(5.0)
                    self._story(self, stream)
        except (OSError, ValueError):
            pass

    def close(self):
        self._door.shutdown(socket.SHUT_RDWR)  # wakes who waits for a client
        self._door.close()
        self._thread.join(6)

    def listen(self, stream):
        with contextlib.suppress(OSError):
            while data := stream.recv(65536):
                self.heard += data


@pytest.fixture
def liar():
    made = []

    def make(story):
        made.append(Liar(story))
        return made[-1]

    yield make
    for each in made:
        each.close()


INFO = b'INFO {"max_payload":1048576,"headers":true%b}\r\n'
REQUIRED = INFO % b',"tls_required":true'


def test_an_info_that_denies_tls_gets_no_secret(use, liar):
    def deny(peer, stream):
        stream.sendall(INFO % b"")
        peer.listen(stream)

    there = liar(deny)
    for options in ({"tls": Tls.REQUIRED}, {"tls_context": trusting()}):
        with pytest.raises(TlsUnavailable):
            use(f"nats://127.0.0.1:{there.port}", flush, auth=SECRET, **options)
    with pytest.raises(TlsUnavailable):
        use(f"tls://127.0.0.1:{there.port}", flush, auth=SECRET)

    assert bytes(there.heard) == b""


def test_an_info_in_clear_leads_no_secret_to_a_server_that_it_names(use, liar):
    def lie(peer, stream):
        stream.sendall(REQUIRED[:-3] + b',"connect_urls":["localhost:%d"]}\r\n' % peer.port)
        peer.heard += stream.recv(65536)

    there = liar(lie)
    with pytest.raises(LinkError) as caught:
        use(
            f"tls://127.0.0.1:{there.port}",
            flush,
            auth=SECRET,
            tls_context=trusting(),
            connect_sweeps=2,
        )

    assert f"tls://127.0.0.1:{there.port}" in str(caught.value)
    assert "localhost" not in str(caught.value)
    assert b"canary" not in there.heard


def test_an_info_in_clear_where_tls_comes_first_gets_no_secret(use, liar):
    def speak(peer, stream):
        stream.sendall(INFO % b"")
        peer.listen(stream)

    there = liar(speak)
    with pytest.raises((TlsFailed, ConnectFailed)):
        use(
            f"nats://127.0.0.1:{there.port}",
            flush,
            auth=SECRET,
            tls=Tls.FIRST,
            tls_context=trusting(),
        )

    assert b"CONNECT" not in there.heard
    assert b"canary" not in there.heard


def test_a_stream_that_ends_in_mid_handshake_is_an_error(use, liar):
    def cut(peer, stream):
        stream.sendall(REQUIRED)
        peer.heard += stream.recv(65536)

    there = liar(cut)
    with pytest.raises(LinkError, match=r"mid-handshake|reset"):
        use(f"nats://127.0.0.1:{there.port}", flush, auth=SECRET, tls_context=trusting())

    assert there.heard.startswith(b"\x16\x03")
    assert b"canary" not in there.heard


def test_a_peer_that_is_silent_in_mid_handshake_fails_within_the_connect_timeout(use, liar):
    def wait(peer, stream):
        stream.sendall(REQUIRED)
        peer.listen(stream)

    there = liar(wait)
    with pytest.raises(ConnectFailed, match="UPGRADING"):
        use(
            f"nats://127.0.0.1:{there.port}",
            flush,
            auth=SECRET,
            tls_context=trusting(),
            connect_timeout=0.2,
        )


def greeted(stream):
    """TLS and the handshake of NATS behind it, from the server's side."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert("127.0.0.1").configure_cert(context)
    stream.sendall(REQUIRED)
    secure = context.wrap_socket(stream, server_side=True, suppress_ragged_eofs=True)
    shown = b""
    try:
        while b"PING\r\n" not in shown:
            if not (data := secure.recv(65536)):
                raise OSError("the client went")  # noqa: TRY301 - one way out for both ends
            shown += data
        secure.sendall(b"PONG\r\n")
    except OSError:
        secure.close()
        raise
    return secure, shown


@pytest.mark.parametrize("polite", [True, False])
def test_a_missing_close_notify_is_told_apart(polite, liar):

    go = threading.Event()

    def end(peer, stream):
        secure, _ = greeted(stream)
        go.wait(5)
        with contextlib.suppress(OSError):
            if polite:
                secure.settimeout(0.2)
                secure.unwrap()
        secure.close()

    there = liar(end)
    with connect(f"nats://127.0.0.1:{there.port}", tls_context=trusting(), **PROMPT) as nc:
        events = nc.events()
        go.set()
        told = next(event for event in events if isinstance(event, Disconnected))
        resumed = next(event for event in events if isinstance(event, Connected))

    assert ("close_notify" in str(told.error)) is not polite
    assert resumed.resumed is True


def test_what_is_damaged_ends_the_link(liar):

    go = threading.Event()

    def damage(peer, stream):
        secure, _ = greeted(stream)
        go.wait(5)
        raw = socket.socket(fileno=secure.detach())
        raw.sendall(b"\x17\x03\x03\x00\x05hello")
        peer.listen(raw)
        raw.close()

    there = liar(damage)
    with connect(f"nats://127.0.0.1:{there.port}", tls_context=trusting(), **PROMPT) as nc:
        events = nc.events()
        go.set()
        told = next(event for event in events if isinstance(event, Disconnected))

        assert isinstance(told.error, TlsFailed)


# ---------------------------------------------------------------------------------------------- files, names, the filter


def test_files_that_cannot_be_used_are_refused_at_once_and_show_no_password(tmp_path, folder):

    (tmp_path / "junk.pem").write_text("junk")
    for files in (
        TlsFiles(ca=tmp_path / "missing.pem"),
        TlsFiles(ca=tmp_path / "junk.pem"),
        TlsFiles(certificate=tmp_path / "junk.pem", password="canary"),
        TlsFiles(key=folder / "key.pem"),
    ):
        with pytest.raises(InvalidConfig) as caught:
            connect(tls_context=files)
        assert "canary" not in str(caught.value) + repr(files)


def test_a_name_that_no_certificate_can_show_is_an_error(liar):

    def ask(peer, stream):
        stream.sendall(REQUIRED)
        peer.listen(stream)

    there = liar(ask)
    with (
        pytest.raises(TlsFailed),
        connect(Server(host="127.0.0.1", port=there.port, tls_name=".x"), tls_context=trusting()),
    ):
        pass


def test_nothing_is_said_before_tls_stands():
    tls = Filter(trusting(), Server(host="localhost"))
    tls.begin()

    assert tls.outgoing().startswith(b"\x16\x03")
    with pytest.raises(Exception, match="expected that TLS stands"):
        tls.sent(b"CONNECT {}")
    assert tls.close_frame() == b""


def test_a_server_learned_by_its_address_must_show_the_name_of_the_configured_one():
    pool = ServerPool(
        [Server.parse("tls://nats.example.com")],
        entropy=bytes,
        wait=1.0,
        wait_max=1.0,
        jitter=0.0,
        jitter_tls=0.0,
        randomize=False,
    )
    pool.merge(["10.0.0.2:4222", "[::1]:4222", "other.example.com:4222"])

    assert [(entry.server.host, entry.server.tls_name) for entry in pool.entries] == [
        ("nats.example.com", None),
        ("10.0.0.2", "nats.example.com"),
        ("::1", "nats.example.com"),
        ("other.example.com", None),
    ]
