"""`jsproto demo` from outside: on every supported server, as text and as JSON, and when something
is wrong.
"""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest

from jsproto_cli.demo import command, story
from jsproto_cli.main import main
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def own_signals():
    """`main` takes SIGTERM for its process; give it back."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("version", ["2.9.10", "2.14.0", "2.15.1"])
def test_the_demo_passes_on_each_server_with_both_adapters(version, server_binary_of, capsys):
    code = main(["demo", "--json", "--server-binary", str(server_binary_of(version))])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])

    assert told["problems"] == []
    assert (code, told["ok"], told["server"]) == (0, True, version)
    assert [run["adapter"] for run in told["runs"]] == ["asyncio", "blocking"]
    assert [run["published"] for run in told["runs"]] == [28, 28]
    assert [run["monitored"] for run in told["runs"]] == [
        {"messages": 19, "first": 10, "last": 28}
    ] * 2
    assert [(run["sampled"], run["consumers"]) for run in told["runs"]] == [
        (18, ["DISPATCH", "NEW"])
    ] * 2


def test_the_demo_starts_a_server_by_itself_and_tells_what_happened(capsys):
    code = main(["demo"])
    told = capsys.readouterr().out

    assert code == 0
    assert "on nats-server 2." in told
    assert [line.split() for line in told.splitlines() if "redelivered" in line] == [
        ["redelivered", "1", "1"]
    ]
    assert told.splitlines()[-1] == "All numbers are as expected."


def test_the_demo_leaves_a_server_that_is_somebodys_as_it_was(start_server, capsys):
    server = start_server()
    codes = [main(["demo", "--server", server.url]) for _ in range(2)]

    assert codes == [0, 0]


def test_a_server_that_is_not_there_is_one_line_and_exit_code_1(capsys):
    code = main(["demo", "--json", "--server", "nats://127.0.0.1:1"])
    told = json.loads(capsys.readouterr().out)

    assert code == 1
    assert told["ok"] is False
    assert len(told["problems"]) == 1
    assert told["problems"][0].startswith("asyncio: ConnectFailed: ")


def test_a_server_without_jetstream_is_one_line_and_exit_code_1(start_server, capsys):
    code = main(["demo", "--server", start_server(jetstream=False).url])
    told = capsys.readouterr()

    assert code == 1
    assert told.out == ""
    assert "JetStream" in told.err


def test_a_program_that_is_not_there_is_one_line_and_exit_code_1(capsys):
    code = main(["demo", "--server-binary", "/no/such/nats-server"])

    assert code == 1
    assert "found none at /no/such/nats-server" in capsys.readouterr().err


def test_a_number_that_is_off_is_told_and_the_exit_code_is_1(monkeypatch, capsys):
    monkeypatch.setitem(story.EXPECTED, "published", 29)
    code = main(["demo"])
    told = capsys.readouterr()

    assert code == 1
    assert "asyncio: expected published 29, got 28" in told.err
    assert "blocking: expected published 29, got 28" in told.err
    assert "redelivered" in told.out


def test_a_demo_that_is_terminated_stops_its_server_on_the_way_out(monkeypatch):
    def terminated_in_the_middle(url):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("expected SIGTERM to end the command at once")

    servers = []
    monkeypatch.setattr(
        command, "NatsServer", lambda binary: servers.append(NatsServer(binary)) or servers[-1]
    )
    monkeypatch.setattr(command, "PLAYS", {"terminated": terminated_in_the_middle})
    with pytest.raises(SystemExit) as ended:
        main(["demo"])

    assert ended.value.code == 128 + signal.SIGTERM
    assert servers[0].pid is None


def test_a_story_that_does_not_end_is_told_and_the_exit_code_is_1(monkeypatch, capsys):
    monkeypatch.setattr(command, "PATIENCE", 1)
    monkeypatch.setattr(command, "PLAYS", {"endless": lambda _: threading.Event().wait()})
    code = main(["demo"])

    assert code == 1
    assert "endless: TimeoutError: expected the story to end in time" in capsys.readouterr().err


def test_a_stream_that_is_somebodys_is_not_touched(start_server, capsys):
    server = start_server()
    with connect(server.url) as nc:
        js = nc.jetstream()
        js.create_stream(name=story.STREAM, subjects=["somebodys.orders"])
        js.publish("somebodys.orders", b"precious")
        code = main(["demo", "--server", server.url])
        state = js.stream_info(story.STREAM).state

    assert code == 1
    assert "expected a server without a stream ORDERS" in capsys.readouterr().err
    assert (state.messages, state.consumer_count) == (1, 0)


def test_words_that_are_wrong_end_with_exit_code_2(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--server", "x", "--server-binary", "y"])

    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("jsproto 0.")
