"""`jsproto report`, `events`, `backup` and `restore` from outside, against a real server."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jsproto.errors import ConnectionLost
from jsproto.jetstream.api.config.stream import StreamSource
from jsproto_cli import backups, events
from jsproto_cli.link import told
from jsproto_cli.main import main
from jsproto_io.backup import Phase, Progress
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

COMMAND = [sys.executable, "-c", "import sys; from jsproto_cli.main import main; sys.exit(main())"]
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_signals():
    """`main` takes SIGTERM for its process; give it back."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def server(start_server):
    server = start_server()
    with connect(server.url) as nc:
        js = nc.jetstream()
        orders = js.create_stream(name="ORDERS", subjects=["orders.*"])
        js.create_stream(name="COPY", mirror=StreamSource(name="ORDERS"))
        orders.create_consumer(durable_name="NEW", ack_policy="explicit")
        for number in range(20):
            js.publish(f"orders.{number}", b"x" * 1000)
        while js.stream_info("COPY").state.messages < 20:
            nc.flush()
    return server


def command(*words: str, **options: object) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'adapters'}"}
    return subprocess.Popen([*COMMAND, *words], text=True, env=environ, **options)


# ------------------------------------------------------------------------------------------------ report


def test_reports_are_tables(server, capsys):
    codes = [
        main(["report", each, "--server", server.url])
        for each in ("streams", "consumers", "replication")
    ]
    streams, consumers, replication = capsys.readouterr().out.split("Stream  ")[1:]

    assert codes == [0, 0, 0]
    assert "ORDERS  file" in streams
    assert "ORDERS  NEW       pull  explicit" in consumers
    assert "COPY    mirror  ORDERS" in replication


@pytest.mark.parametrize("name", ["streams", "consumers", "replication", "cluster"])
def test_reports_are_json_too(server, capsys, name):
    code = main(["report", name, "--server", server.url, "--json"])
    told = json.loads(capsys.readouterr().out)

    assert (code, told["report"], told["problems"]) == (0, name, [])
    if name != "cluster":  # a server on its own says that it leads, or nothing
        assert [each["stream"] for each in told["rows"]] == {
            "streams": ["COPY", "ORDERS"],
            "consumers": ["ORDERS"],
            "replication": ["COPY"],
        }[name]


def test_replication_is_a_graph(server, capsys):
    code = main(["report", "replication", "--server", server.url, "--dot"])
    told = capsys.readouterr().out

    assert code == 0
    assert '"ORDERS" -> "COPY"' in told


def test_a_problem_is_told_and_the_exit_code_is_1(server, capsys):
    with connect(server.url) as nc:
        nc.jetstream().create_stream(name="LOST", mirror=StreamSource(name="NOWHERE"))
        while not nc.jetstream().stream_info("LOST").mirror.error:
            nc.flush()
    code = main(["report", "replication", "--server", server.url])

    assert code == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("LOST: mirror NOWHERE: ")


def test_a_server_that_is_not_there_is_one_line_and_exit_code_1(start_server, capsys, tmp_path):
    server = start_server()
    server.kill()
    words = ["--server", server.url]
    codes = [main(["report", "streams", *words]), main(["backup", str(tmp_path / "b"), *words])]
    told = capsys.readouterr()

    assert (codes, told.out) == ([1, 1], "")
    assert [line.split(":")[0] for line in told.err.splitlines()] == ["ConnectFailed"] * 2


def test_a_context_says_where_to_go(server, capsys, tmp_path, monkeypatch):
    file = tmp_path / "here.json"
    file.write_text(json.dumps({"url": server.url}))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    codes = [
        main(["report", "streams", "--context", str(file)]),
        main(
            [
                "report",
                "streams",
                "--context",
                str(file),
                "--server",
                server.url,
                "--prefix",
                "$JS.API",
            ]
        ),
    ]
    code = main(
        ["report", "streams", "--context", str(file), "--creds", str(tmp_path / "none.creds")]
    )
    told = capsys.readouterr()

    assert (codes, code) == ([0, 0], 1)
    assert told.out.count("ORDERS") == 2
    assert "none.creds" in told.err


# ------------------------------------------------------------------------------------------------ events


def test_events_are_one_line_each(server, capsys):
    def act():
        with connect(server.url) as nc:
            js = nc.jetstream()
            js.create_stream(name="OTHER", subjects=["other"])
            js.create_stream(name="E", subjects=["e"]).create_consumer(durable_name="C")

    def listened(*words: str) -> list[str]:
        actor = threading.Timer(0.5, act)
        actor.start()
        assert main(["events", "--server", server.url, *words]) == 0
        actor.join()
        with connect(server.url) as nc:
            nc.jetstream().delete_stream("OTHER")
            nc.jetstream().delete_stream("E")
        return capsys.readouterr().out.splitlines()

    lines = listened("--stream", "E", "--count", "2")
    told = [json.loads(each) for each in listened("--advisories", "--json", "--count", "3")]
    made = [each for each in told if each["event"]["type"].endswith("stream_action")]

    assert [each.split(" ", 1)[1] for each in lines] == [
        "stream_action stream=E action=create",
        "consumer_action stream=E consumer=C action=create",
    ]
    assert lines[0][:3] == "202"
    assert made[0]["event"]["stream"] == "OTHER"
    assert made[0]["subject"] == "$JS.EVENT.ADVISORY.STREAM.CREATED.OTHER"


def test_what_is_no_event_is_shown_as_that(server, capsys):
    def act():
        with connect(server.url) as nc:
            nc.publish("mine.x", b"no json \x1b[2J")

    for words in ([], ["--json"]):
        actor = threading.Timer(0.5, act)
        actor.start()

        assert (
            main(["events", "--server", server.url, "--subject", "mine.*", "--count", "1", *words])
            == 0
        )
        actor.join()

    text, as_json = capsys.readouterr().out.splitlines()

    assert text.startswith("- unreadable subject=mine.x expected a JSON object")
    assert "\x1b" not in text
    assert json.loads(as_json)["subject"] == "mine.x"


def test_ctrl_c_ends_listening_well(server):
    process = command(
        "events", "--server", server.url, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stderr.readline().startswith("listening")
    process.send_signal(signal.SIGINT)

    assert process.communicate(timeout=10) == ("", "")
    assert process.returncode == 0


def test_dropped_events_are_told(monkeypatch, capsys):
    def flood(words, subscription) -> None:
        subscription.dropped = 3

    monkeypatch.setattr(events, "_print_all", flood)

    assert main(["events"]) == 1
    assert capsys.readouterr().err == "3 events came too fast and were dropped\n"


def test_an_error_is_told_with_its_notes(capsys):
    def command() -> int:
        error = ConnectionLost("gone")
        error.add_note("restored before: none")
        raise error

    assert told(command) == 1
    assert capsys.readouterr().err == "ConnectionLost: gone\nrestored before: none\n"


# ------------------------------------------------------------------------------------------------ backup and restore


def test_an_account_goes_into_a_folder_and_onto_another_server(
    server, start_server, capsys, tmp_path
):
    other = start_server()
    folder = str(tmp_path / "b")
    saved = main(["backup", folder, "--server", server.url, "--no-progress"])
    first = capsys.readouterr()
    back = main(["restore", folder, "--server", other.url, "--no-progress"])
    second = capsys.readouterr()

    assert (saved, back) == (0, 0)
    assert first.out.startswith("2 streams, 40 messages, ")
    assert [each.split(" ")[:4] for each in first.err.splitlines()] == [
        ["[1/2]", "backup", "COPY", "begun"],
        ["[1/2]", "backup", "COPY", "done"],
        ["[2/2]", "backup", "ORDERS", "begun"],
        ["[2/2]", "backup", "ORDERS", "done"],
    ]
    assert second.out == f"2 streams from {folder}\n"
    with connect(other.url) as nc:
        assert nc.jetstream().stream_info("ORDERS").state.messages == 20

    assert main(["restore", folder, "--server", other.url]) == 1
    assert "RestoreConflict: expected no streams in the way" in capsys.readouterr().err
    assert (
        main(["restore", folder, "--server", other.url, "--update", "--json", "--stream", "ORDERS"])
        == 0
    )
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["streams"] == [
        {"stream": "ORDERS", "deed": "UPDATE", "consumers": ["NEW"]}
    ]


def test_configurations_alone_are_a_backup_too(server, capsys, tmp_path):
    code = main(
        [
            "backup",
            str(tmp_path / "b"),
            "--server",
            server.url,
            "--no-data",
            "--json",
            "--stream",
            "ORDERS",
        ]
    )
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert [(each["name"], each.get("archive")) for each in told["streams"]] == [("ORDERS", None)]
    assert told["complete"] is True


def test_streams_in_memory_on_an_old_server_are_told(start_server, capsys, tmp_path):
    old = start_server(version="2.9.10")
    with connect(old.url) as nc:
        nc.jetstream().create_stream(name="M", subjects=["m"], storage="memory")
    code = main(["backup", str(tmp_path / "b"), "--server", old.url])
    told = capsys.readouterr().out

    assert code == 0
    assert "1 streams, 0 messages" in told
    assert "M: messages were not saved: snapshot failed: no impl" in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_backup_that_is_killed_says_so_and_is_not_restored(
    start_server, tmp_path, number, capsys
):
    server = start_server()
    with connect(server.url) as nc, nc.jetstream().publish_window() as window:
        nc.jetstream().create_stream(name="BIG", subjects=["big"])
        for _ in range(400):
            window.put(("big", os.urandom(100_000)))
    folder = tmp_path / "b"
    process = command(
        "backup",
        str(folder),
        "--server",
        server.url,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stderr.readline().startswith("[1/1] backup BIG begun")
    process.send_signal(number)
    _, told = process.communicate(timeout=20)

    assert process.returncode == 130
    assert f"interrupted: the backup in {folder} is not complete" in told
    assert main(["restore", str(folder), "--server", server.url]) == 1
    assert "this one was interrupted" in capsys.readouterr().err


def test_on_a_terminal_there_is_a_bar(server, tmp_path, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv(
        "COLUMNS", "200"
    )  # a terminal without a size would be cut at 80, in the middle of what is looked for
    ours, theirs = pty.openpty()
    process = command(
        "backup", str(tmp_path / "b"), "--server", server.url, stderr=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass  # that is how a terminal ends
    os.close(ours)

    assert process.communicate(timeout=10)[0].startswith("2 streams, 40 messages")
    assert b"backup ORDERS" in shown
    assert b"done" in shown


class Bar:
    def __init__(self):
        self.calls = []

    def add_task(self, title, **fields):
        self.calls.append((title, fields))
        return 7

    def update(self, task, **fields):
        self.calls.append((task, fields))


def test_a_bar_is_full_in_the_end_whatever_was_guessed():
    bar = Bar()
    bars = backups._Bars(bar)
    told = {"deed": "backup", "stream": "S", "number": 1, "of": 2}
    bars(Progress(phase=Phase.BEGUN, total=100, **told))
    bars(Progress(phase=Phase.DATA, total=100, bytes=30, **told))
    bars(Progress(phase=Phase.DONE, total=100, bytes=60, **told))
    bars(Progress(phase=Phase.FAILED, total=100, bytes=60, words="why", **told))

    assert bar.calls == [
        ("[1/2] backup S", {"total": 100, "words": ""}),
        (7, {"completed": 30, "words": ""}),
        (7, {"completed": 60, "words": "done", "total": 60}),
        (7, {"completed": 60, "words": "why"}),
    ]
