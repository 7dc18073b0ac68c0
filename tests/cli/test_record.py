"""`jsproto record` between real clients and real servers: what is recorded, what passes, and how it
ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import socket
import threading

import nats
import pytest

from jsproto.core.connection.auth import Auth
from jsproto.errors import ConnectionLost
from jsproto.trace.formats.reading import Trace
from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto_cli.main import main
from jsproto_io.blocking import connect
from tests.served import served

pytestmark = pytest.mark.live

CANARY = "cAnAry"
LISTENING = "listening on "


@pytest.fixture
def recorded(monkeypatch, capsys):
    """``recorded(words, story)`` runs the command, and beside it ``story(url)``, behind which a
    signal ends it; gives what it says at the end.
    """

    def run(words, story, number=signal.SIGINT):
        told, failures = queue.Queue(), []
        lines = []
        monkeypatch.setattr(
            "jsproto_cli.record._tell", lambda line: (lines.append(line), told.put(line))
        )

        def beside():
            try:
                first = told.get(timeout=10)
                assert first.startswith(LISTENING)
                story(first.removeprefix(LISTENING))
            except BaseException as failure:  # noqa: BLE001 - raised below
                failures.append(failure)
            finally:
                os.kill(os.getpid(), number)

        thread = threading.Thread(target=beside)
        thread.start()
        code = main(["record", *map(str, words), "--json"])
        thread.join(10)
        for failure in failures:
            raise failure
        assert code == 0
        return {**json.loads(capsys.readouterr().out), "told": lines}

    return run


def records(path):
    with path.open("rb") as file:
        return [record for _, record in Trace(file).records()]


def test_clients_of_two_makers_at_once_are_recorded_and_judged_and_replayed(
    recorded, nats_server, tmp_path
):
    async def other(url):
        nc = await nats.connect(url, name="foreign")
        sub = await nc.subscribe("tap.a")
        await nc.publish("tap.a", b"payload of a user")
        await sub.next_msg(5)
        await nc.close()

    def story(url):
        with connect(url) as nc:
            asyncio.run(other(url))
            nc.flush()

    path = tmp_path / "both.trace"
    told = recorded(["--server", nats_server.url, "-o", path], story)
    seen = records(path)

    assert (told["files"], told["connections"], told["full"]) == ([str(path)], 2, False)
    assert told["written"] == path.stat().st_size
    assert {each.conn for each in seen} == {"1", "2"}
    assert b"foreign" in b"".join(
        each.data for each in seen if isinstance(each, Sent) and each.conn == "2"
    )
    assert [each.name for each in seen if isinstance(each, Happened) and each.conn == "1"] == [
        "connected",
        "client_close",
    ]
    assert "payload of a user" not in path.read_text()
    assert main(["replay", str(path)]) == 0
    assert main(["lint", str(path)]) == 0


def test_a_folder_gets_a_file_for_each_connection_and_they_share_the_room(
    recorded, nats_server, tmp_path
):
    def story(url):
        for _ in range(3):
            with connect(url) as nc:
                for _ in range(60):
                    nc.publish("tap.nobody", b"x" * 50)
                nc.flush()

    folder = tmp_path / "all"
    told = recorded(["--server", nats_server.url, "-o", f"{folder}/", "--max-bytes", "4k"], story)

    assert sorted(each.name for each in folder.iterdir()) == ["1.trace", "2.trace", "3.trace"]
    assert told["full"] is True
    assert told["written"] < 5000
    assert told["bytes"] > 3 * 60 * 50
    assert [record.name for record in records(folder / "3.trace")] == ["full"]
    assert (
        len([line for line in told["told"] if line.startswith("full: 4096 bytes are written")]) == 1
    )


def test_everything_of_users_is_kept_on_demand_and_no_secret_ever(recorded, start_server, tmp_path):
    def story(url):
        with connect(url, auth=Auth(user="u", password=CANARY)) as nc:
            nc.publish("tap.nobody", b"payload of a user")
            nc.flush()

    server = start_server(config=f"authorization {{ user: u, password: {CANARY} }}")
    path = tmp_path / "full.trace"
    recorded(["--server", server.url, "-o", path, "--payload", "full"], story, signal.SIGTERM)
    text = path.read_text()

    assert "payload of a user" in text
    assert CANARY not in text


@pytest.mark.parametrize("transport", ["tls", "tls-first"])
def test_tls_is_between_tap_and_server_and_the_client_speaks_in_clear(
    recorded, server_binary_of, transport, tmp_path
):
    def story(url):
        with connect(url) as nc:
            assert nc.info.tls_required is False
            nc.publish("tap.nobody", b"hello")
            nc.flush()

    path = tmp_path / "tls.trace"
    words = [
        "--ca",
        tmp_path / "ca.pem",
        "-o",
        path,
        *(["--tls-first"] if transport == "tls-first" else []),
    ]
    with served(server_binary_of("2.15.1"), transport, tmp_path) as there:
        recorded(["--server", there.url, *words], story)
    said = b"".join(each.data for each in records(path) if isinstance(each, Received))

    assert said.startswith(b"INFO {")
    assert b"tls_required" not in said


def test_one_client_that_reconnects_keeps_its_name(recorded, start_server, tmp_path):
    server = start_server()

    def story(url):
        with connect(url, reconnect_wait=0.01, reconnect_jitter=0.0) as nc:
            nc.reconnect()
            nc.flush()
            server.restart()
            with contextlib.suppress(ConnectionLost):  # the first word on a link that is gone
                nc.flush()
            nc.flush()

    path = tmp_path / "one.trace"
    recorded(["--server", server.url, "-o", path, "--one-client"], story)
    seen = [each for each in records(path) if isinstance(each, Happened)]

    assert {each.conn for each in seen} == {"1"}
    assert [each.name for each in seen].count("connected") == 3
    assert "eof" in [each.name for each in seen]


def test_connections_of_one_client_that_overlap_have_names_of_their_own(
    recorded, nats_server, tmp_path
):
    def story(url):
        with connect(url) as one, connect(url) as other:
            one.flush()
            other.flush()

    path = tmp_path / "one.trace"
    recorded(["--server", nats_server.url, "-o", path, "--one-client"], story)

    assert {each.conn for each in records(path)} == {"1", "2"}


def test_a_server_that_is_not_there_is_told_and_the_client_is_let_go(recorded, tmp_path):
    def story(url):
        host, port = url.removeprefix("nats://").split(":")
        with socket.create_connection((host, int(port)), 5) as stream:
            assert stream.recv(10) == b""

    with socket.create_server(("127.0.0.1", 0)) as door:
        nobody = f"127.0.0.1:{door.getsockname()[1]}"
    told = recorded(["--server", nobody, "-o", tmp_path / "a.trace"], story)

    assert told["told"][-1].startswith(
        "connection 1: the server cannot be reached: ConnectionRefusedError"
    )


def test_ctrl_c_ends_connections_that_are_open_and_the_file_is_whole(
    recorded, nats_server, tmp_path
):
    held = []

    def story(url):
        host, port = url.removeprefix("nats://").split(":")
        held.append(socket.create_connection((host, int(port)), 5))
        assert held[0].recv(5) == b"INFO "

    path = tmp_path / "open.trace"
    recorded(["--server", nats_server.url, "-o", path], story)
    held[0].close()

    assert records(path)[-1].name == "closed"


def test_who_reads_nothing_holds_nobody_up_at_the_end_and_is_not_held_in_memory(
    recorded, nats_server, tmp_path, monkeypatch
):
    monkeypatch.setattr("jsproto_cli.tap._GRACE", 0.2)
    held = []
    sent = 0

    def story(url):
        nonlocal sent
        host, port = url.removeprefix("nats://").split(":")
        held.append(socket.create_connection((host, int(port)), 5))
        held[0].sendall(b"CONNECT {}\r\nSUB tap.deaf 1\r\nPING\r\n")
        with connect(nats_server.url) as nc:
            nc.flush()
            for _ in range(500):
                nc.publish("tap.deaf", b"x" * 65_536)
                sent += 65_536
            nc.flush()

    path = tmp_path / "deaf.trace"
    told = recorded(["--server", nats_server.url, "-o", path], story)
    held[0].close()

    assert told["bytes"] < sent


def test_more_connections_than_are_carried_are_refused(
    recorded, nats_server, tmp_path, monkeypatch
):
    monkeypatch.setattr("jsproto_cli.tap._MOST_CONNECTIONS", 1)

    def story(url):
        with connect(url) as nc:
            nc.flush()
            host, port = url.removeprefix("nats://").split(":")
            with socket.create_connection((host, int(port)), 5) as stream:
                assert stream.recv(10) == b""

    told = recorded(["--server", nats_server.url, "-o", tmp_path / "a.trace"], story)

    assert (told["connections"], "refused a connection: there are 1" in told["told"]) == (1, True)


def test_without_json_one_line_says_what_there_is(nats_server, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("jsproto_cli.record._tell", lambda _: os.kill(os.getpid(), signal.SIGINT))
    path = tmp_path / "none.trace"

    assert main(["record", "--server", nats_server.url, "-o", str(path)]) == 0
    assert capsys.readouterr().out.startswith("0 connections, 0 bytes, ")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--server", "http://u:cAnAry@h"], 2, "expected one of"),
        (
            ["--server", "ws://h"],
            2,
            "expected a server without WebSocket, got ws://h:80",
        ),
        (["--server", "h", "--listen", "4222"], 2, "expected HOST:PORT, got '4222'"),
        (["--server", "h", "--max-bytes", "0k"], 2, "expected a number of bytes"),
        (["--server", "h", "--tls", "--ca", "/no/file"], 2, "expected files with certificates"),
        (
            ["--server", "h", "-o", "/no/folder/a.trace"],
            1,
            "expected a file that can be recorded to",
        ),
        (["--server", "h", "-o", "/dev/null/"], 1, "File exists"),
    ],
)
def test_wrong_words_are_said(words, code, said, capsys):
    try:
        seen = main(["record", *words])
    except SystemExit as exit_:
        seen = exit_.code
    err = capsys.readouterr().err

    assert (seen, said in err, CANARY in err) == (code, True, False), err


def test_an_address_that_is_taken_is_said(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as door:
        place = f"127.0.0.1:{door.getsockname()[1]}"
        code = main(["record", "--server", "h", "--listen", place, "-o", str(tmp_path / "a.trace")])

    assert code == 1
    assert "address already in use" in capsys.readouterr().err.lower()
