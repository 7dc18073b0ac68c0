"""Every recording of a real server, judged and replayed: what must be found is in
`spec/traces/findings.toml`, and nothing else is.

`jsproto lint --as-toml FOLDER > spec/traces/findings.toml` writes the file anew; every line that
changes is to be understood.
"""

import tomllib
from pathlib import Path

import pytest

from jsproto.trace.formats.reading import Trace, read_trace
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.formats.writing import TraceWriter
from jsproto.trace.judge.lint import Lint
from jsproto.trace.replay.replay import Replay

FINDINGS = Path(__file__).resolve().parents[2] / "spec" / "traces" / "findings.toml"


def judged(trace: Trace) -> Lint:
    judge = Lint()
    for line, record in trace.records():
        judge.feed(line, record)
    return judge


@pytest.fixture(scope="module")
def corpus(traces) -> dict[str, Path]:
    return {
        path.relative_to(traces).with_suffix("").as_posix(): path
        for path in sorted(traces.rglob("*.jsonl"))
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


@pytest.mark.slow
def test_every_recording_reads_the_same_however_it_is_cut(corpus):
    """What `jsproto replay FOLDER` does."""
    frames = 0
    for name, path in corpus.items():
        replay = Replay()
        with path.open("rb") as file:
            for line, record in Trace(file).records():
                replay.feed(line, record)
        assert [each for each in replay.unknown if each[1] == "<"] == [], name
        frames += replay.counted.total()

    assert frames > 5000


def test_a_recording_without_a_payload_of_users_is_judged_as_before(corpus):
    written, small = 0, 0
    for name, path in corpus.items():
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

    assert written > 500
    assert small > written / 2
