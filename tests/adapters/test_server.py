"""A nats-server as a value: ready when it says so, kept over a kill, gone when it is done."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jsproto_io._testing import nats_server
from jsproto_io._testing.nats_server import LaunchFailed, NatsServer, server_binary

pytestmark = pytest.mark.live


WRITES_AN_EMPTY_PORTS_FILE = """
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--ports_file_dir") + 1])
(folder / f"nats-server_{os.getpid()}.ports").write_text("")
print("no port", flush=True)
time.sleep(0.2)
"""


def first_line(server: NatsServer) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as peer:
        return peer.recv(65536)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def script(folder: Path, text: str) -> Path:
    path = folder / "nats-server"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("version", ["2.9.10", "2.14.0", "2.15.1"])
def test_a_started_server_is_of_the_version_asked_for_and_has_jetstream(start_server, version):
    server = start_server(version)

    assert server.version == version
    assert b'"jetstream":true' in first_line(server)
    assert server.url == f"nats://127.0.0.1:{server.port}"


def test_a_server_can_be_started_without_jetstream(start_server):
    assert b'"jetstream":true' not in first_line(start_server(jetstream=False))


def test_a_configuration_is_used(start_server):
    server = start_server(config='server_name: "orders-1"\nmax_payload: 4096\n')

    assert b'"server_name":"orders-1"' in first_line(server)
    assert b'"max_payload":4096' in first_line(server)


def test_a_restart_keeps_port_and_store(start_server):
    server = start_server()
    port, pid = server.port, server.pid
    server.kill()
    dead = server.pid
    server.restart()

    assert dead is None
    assert server.port == port
    assert server.pid != pid
    assert server.log.count("Server is ready") == 2


def test_a_restart_ends_a_server_that_still_runs_in_good_order(start_server):
    server = start_server()
    server.restart()

    assert server.log.count("Server Exiting..") == 1
    assert server.log.count("Server is ready") == 2


def test_a_store_that_was_given_is_kept(tmp_path):
    with NatsServer(store=tmp_path) as server:
        folder = server._here

    assert (tmp_path / "jetstream").is_dir()
    assert not folder.exists()


def test_lame_duck_is_what_the_log_says(start_server, eventually):
    server = start_server()
    server.lame_duck()

    assert eventually(lambda: "lame duck mode" in server.log.lower())

    server.kill()  # it would take its ten seconds of grace


def test_leaving_the_block_ends_the_process():
    with NatsServer() as server:
        pid = server.pid
        inner = server.__enter__().pid  # entering a server that runs already starts no second one

    assert inner == pid
    assert server.pid is None
    assert not alive(pid)


def test_a_server_that_is_dropped_is_not_left_behind():
    server = NatsServer().start()
    pid = server.pid
    del server

    assert not alive(pid)


def test_an_interpreter_that_exits_leaves_no_server_behind():
    code = "from jsproto_io._testing.nats_server import NatsServer\nserver = NatsServer().start()\nprint(server.pid)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert not alive(int(done.stdout))


def test_a_server_that_announces_no_port_yet_is_waited_for(tmp_path):
    server = NatsServer(script(tmp_path, WRITES_AN_EMPTY_PORTS_FILE), patience=2.0)

    with pytest.raises(LaunchFailed, match=r"ended with 0: .*no port"):
        server.start()


def test_ending_what_never_ran_does_nothing():
    server = NatsServer()
    server.kill()
    server.stop()
    server.close()

    assert server.pid is None
    assert server.log == ""


def test_the_port_is_unknown_before_the_first_start():
    with pytest.raises(LaunchFailed, match="has been started"):
        NatsServer().port  # noqa: B018  reading it is the point


def test_a_running_server_is_not_started_twice(start_server):
    with pytest.raises(LaunchFailed, match="runs as process"):
        start_server().start()


def test_lame_duck_needs_a_running_server():
    with pytest.raises(LaunchFailed, match="running server"):
        NatsServer().lame_duck()


def test_a_bad_configuration_says_what_the_server_said():
    with pytest.raises(LaunchFailed, match=r"ended with 1: .*server\.conf:1"):
        NatsServer(config="max_payload: nonsense\n").start()


def test_a_program_that_never_listens_is_killed_after_the_patience(tmp_path):
    server = NatsServer(script(tmp_path, "import time; time.sleep(60)"), patience=0.2)

    with pytest.raises(LaunchFailed, match=r"ready within 0\.2 s"):
        server.start()

    assert server.pid is None


def test_a_server_that_ignores_sigterm_is_killed_after_the_patience(start_server):
    server = start_server()
    server._patience = 0.1
    os.kill(server.pid, signal.SIGSTOP)  # a stopped process handles no signal but SIGKILL
    server.stop()

    assert server.pid is None


def test_a_peer_that_hangs_up_or_is_not_there_has_no_first_line():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(5)
        with ThreadPoolExecutor(1) as pool:
            heard = pool.submit(nats_server._first_line, port)
            listener.accept()[0].close()

    assert heard.result(timeout=5) == b""
    assert nats_server._first_line(port) == b""


def test_a_program_that_is_not_there_names_the_places_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(nats_server.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(nats_server.metadata, "files", lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(LaunchFailed, match=str(tmp_path)):
        server_binary()
    with pytest.raises(LaunchFailed, match="no-such-program"):
        server_binary("no-such-program")


def test_the_program_is_found_on_the_path_where_there_is_no_wheel(tmp_path, monkeypatch):
    def absent(name):
        raise nats_server.metadata.PackageNotFoundError(name)

    here = script(tmp_path, "pass")
    monkeypatch.setattr(nats_server.sysconfig, "get_path", lambda _: "/nowhere")
    monkeypatch.setattr(nats_server.metadata, "files", absent)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert server_binary() == here
