"""Every recording of a real server, judged and replayed: what must be found is in `spec/traces/findings.toml`, and nothing else is.

`jsproto lint --as-toml FOLDER > spec/traces/findings.toml` writes the file anew; every line that changes is to be understood.
"""

import tomllib
from pathlib import Path

import pytest

from jsproto.trace.lint import Lint
from jsproto.trace.reading import Trace, read_trace
from jsproto.trace.recording import Happened, Received, Sent
from jsproto.trace.redaction import Keep
from jsproto.trace.replay import Divergence, Replay
from jsproto.trace.writing import TraceWriter

FINDINGS = Path(__file__).resolve().parents[2] / "spec" / "traces" / "findings.toml"


def judged(trace: Trace) -> Lint:
    judge = Lint()
    for line, record in trace.records():
        judge.feed(line, record)
    return judge


@pytest.fixture(scope="module")
def corpus(traces) -> dict[str, Path]:
    return {
        path.relative_to(traces).with_suffix("").as_posix(): path for path in sorted(traces.rglob("*.jsonl"))
    }


def test_lint_finds_in_every_recording_exactly_what_must_be_found(corpus):
    found = {}
    for name, path in corpus.items():
        with path.open("rb") as file:
            judge = judged(Trace(file))
        assert judge.observer.unreadable == [], name
        if judge.counted:
            found[name] = sorted(judge.counted)

    assert found == {
        name: rules for name, rules in tomllib.loads(FINDINGS.read_text()).items() if name in corpus
    }


def test_recordings_of_the_newest_server_read_the_same_however_they_are_cut(corpus):
    frames = 0
    for name, path in corpus.items():
        if not name.startswith("2.15.1/"):
            continue
        replay = Replay()
        with path.open("rb") as file:
            for line, record in Trace(file).records():
                replay.feed(line, record)
        assert [each for each in replay.unknown if each[1] == "<"] == [], name
        frames += replay.counted.total()

    assert frames > 1000


def test_a_recording_without_a_payload_of_users_is_judged_as_before(corpus):
    written, small = 0, 0
    for name, path in corpus.items():
        if not name.startswith("2.15.1/"):
            continue
        with path.open("rb") as file:
            records = [record for _, record in Trace(file).records()]
        before = Lint()
        for line, record in enumerate(records):
            before.feed(line, record)
        if {"command-broken", "pull-body-unknown"} & set(before.counted):
            continue  # what makes no sense is not kept
        writer = TraceWriter(Keep.LENGTH, {"scenario": path.stem})
        text = writer.head + "".join(map(writer.lines, records)) + writer.end()

        after = judged(read_trace(text.encode()))

        hidden = {"header-damaged", "status-forged"}  # values of users' headers are dots
        assert set(after.counted) - hidden == set(before.counted) - hidden, name
        written += 1
        small += len(text) < path.stat().st_size

    assert written > 100
    assert small > written / 2


def test_a_replay_counts_what_it_read_and_what_it_could_not():
    replay = Replay()
    replay.feed(2, Happened(at=0.0, conn="a", name="connected", detail={}))
    replay.feed(
        3, Received(at=0.0, conn="a", data=b"INFO {}\r\n+OK\r\nPING\r\n-ERR 'x'\r\nMSG a 1 0\r\n\r\n")
    )
    replay.feed(
        4,
        Received(
            at=0.0,
            conn="a",
            data=b"HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n" + b"MSG a 1 5000\r\n" + b"x" * 5000,
        ),
    )
    replay.feed(5, Received(at=0.0, conn="a", data=b"\r\nnonsense\r\n"))
    replay.feed(6, Received(at=0.0, conn="a", data=b"more"))
    replay.feed(7, Sent(at=0.0, conn="a", data=b"PING\r\nNONSENSE\r\n"))

    assert dict(replay.counted) == {"INFO": 1, "+OK": 1, "PING": 1, "-ERR": 1, "MSG": 2, "HMSG": 1}
    assert replay.commands == 2
    assert [(conn, way, line) for conn, way, line, _ in replay.unknown] == [("a", "<", 5), ("a", ">", 7)]


def test_a_divergence_says_where_the_readings_part(monkeypatch):
    replay = Replay()
    monkeypatch.setattr(Replay, "_random", lambda self, size: iter([size - 1]))  # one byte is lost

    with pytest.raises(Divergence, match="cut at random"):
        replay.feed(2, Received(at=0.0, conn="a", data=b"PING\r\n"))


def test_a_divergence_of_the_observer_alone_is_one_too(monkeypatch):
    replay = Replay()
    monkeypatch.setattr(Replay, "_read", lambda self, record, way, pieces: [])
    monkeypatch.setattr(Replay, "_random", lambda self, size: iter([size - 1]))

    with pytest.raises(Divergence, match="observed cut at random"):
        replay.feed(2, Sent(at=0.0, conn="a", data=b"PING\r\n"))
