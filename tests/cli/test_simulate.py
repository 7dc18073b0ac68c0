"""`jsproto simulate`: many worlds, stopped and gone on with, and failures as traces."""

from __future__ import annotations

import json
import signal

import pytest

from jsproto.jetstream.pull.consume import Consume
from jsproto.trace.formats.reading import Trace
from jsproto_cli import simulate
from jsproto_cli.main import main


@pytest.fixture(autouse=True)
def own_signals():
    """`main` takes SIGTERM for its process; give it back."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_worlds_are_lived_through_and_summed_up(capsys):
    assert main(["simulate", "--seeds", "3-4", "--hours", "0.01"]) == 0
    seen = capsys.readouterr()

    assert "2 worlds, " in seen.out
    assert "in each minute of CPU" in seen.out
    assert seen.out.endswith("every rule held\n")
    assert "1 of 2 worlds" in seen.err


def test_the_same_seeds_say_the_same_in_json(capsys):
    words = ["simulate", "--seeds", "3-4", "--hours", "0.01", "--works", "fetch,window", "--json"]
    assert main(words) == main(words) == 0
    one, two, total, *again = told(capsys)

    assert [one["digest"], two["digest"]] == [each["digest"] for each in again[:2]]
    assert (one["seed"], one["works"], one["failure"]) == (3, "fetch,window", "")
    assert (total["worlds"], total["failures"]) == (2, [])


def test_one_consumer_is_measured(capsys):
    assert main(["simulate", "--measure", "--seeds", "1", "--hours", "0.01", "--json"]) == 0
    world, total = told(capsys)

    assert world["works"] == "steady"
    assert world["handed"] > 9 * 60
    assert total["consumer_hours_per_cpu_minute"] > 0


def test_a_run_that_was_stopped_goes_on(capsys, tmp_path, monkeypatch):
    state = tmp_path / "state.jsonl"
    words = ["simulate", "--seeds", "3-5", "--hours", "0.01", "--state", str(state)]
    lived, count = simulate._lived, iter(range(9))

    def stopped(scenario):
        if next(count) == 2:
            raise KeyboardInterrupt
        return lived(scenario)

    monkeypatch.setattr(simulate, "_lived", stopped)
    assert main(words) == 0
    assert "the same command continues from here" in capsys.readouterr().err
    assert len(state.read_text().splitlines()) == 2
    assert main(words) == 0
    assert next(count) == 4  # the third was tried twice, the others were not lived through again
    assert "3 worlds" in capsys.readouterr().out
    assert main([*words[:3], "--hours", "0.02", *words[5:], "--seeds", "3"]) == 0
    assert next(count) == 6  # another length is another world


def test_a_failure_is_written_as_a_trace_and_can_be_had_again(capsys, tmp_path, monkeypatch):
    def raises(self, now):
        raise ZeroDivisionError

    monkeypatch.setattr(Consume, "link_up", raises)
    words = [
        "--seeds",
        "3",
        "--hours",
        "0.05",
        "--works",
        "consume",
        "--failures",
        str(tmp_path / "f"),
    ]
    assert main(["simulate", *words]) == 1
    seen = capsys.readouterr().out
    path = tmp_path / "f" / "seed-3.trace"
    assert "seed 3: ZeroDivisionError" in seen
    assert str(path) in seen
    assert "broken rules: seeds [3]" in seen
    with path.open("rb") as file:
        assert len(list(Trace(file).records())) > 3
    assert main(["simulate", "--replay", str(path)]) == 1
    assert "seed 3: ZeroDivisionError" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["simulate", "--replay", str(path), "--json"]) == 0
    assert told(capsys)[0]["failure"] == ""


def test_words_that_make_no_sense_are_refused(capsys, tmp_path):
    assert main(["simulate", "--works", "sleep"]) == 2
    assert "expected workloads of" in capsys.readouterr().err
    (tmp_path / "no.trace").write_text("#jsproto-trace/2\n")
    assert main(["simulate", "--replay", str(tmp_path / "no.trace")]) == 2
    assert "expected the text of a scenario" in capsys.readouterr().err
    (tmp_path / "damaged.trace").write_bytes(b"#jsproto-trace/2\n: scenario \xff\n")
    assert main(["simulate", "--replay", str(tmp_path / "damaged.trace")]) == 2
    assert f"{tmp_path}/damaged.trace: expected the text of a scenario" in capsys.readouterr().err
    (tmp_path / "late.trace").write_bytes(b"#jsproto-trace/2\n= - oob {}\n: scenario {}\n")
    assert main(["simulate", "--replay", str(tmp_path / "late.trace")]) == 2
    assert "got ''" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["simulate", "--seeds", "a-b"])


@pytest.mark.parametrize(
    "text", ['{"seed": 1', "[1]", "{}", '{"seed": "x"}', "\xff", "[" * 100_000]
)
def test_a_state_that_cannot_be_read_is_told_with_its_line(capsys, tmp_path, text):
    path = tmp_path / "state"
    path.write_text('{"seed": 0, "hours": 9}\n' + text, encoding="latin-1")

    assert main(["simulate", "--seeds", "1", "--state", str(path)]) == 2

    assert (
        f"{path}: expected a world as --state writes it in line 2, got " in capsys.readouterr().err
    )


def test_a_state_that_cannot_be_written_is_told_before_a_world_is_lived(capsys, tmp_path):
    assert main(["simulate", "--seeds", "1", "--state", str(tmp_path / "none" / "state")]) == 2
    assert capsys.readouterr().err == f"{tmp_path}/none/state: No such file or directory\n"
