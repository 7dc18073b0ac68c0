"""The words of `tests/run.py`: what is run for them, and what is refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "run.py"


@pytest.fixture
def run(monkeypatch):
    spec = importlib.util.spec_from_file_location("run_of_the_suite", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.begun = []
    monkeypatch.setattr(module, "check", lambda name, scratch: module.begun.append(name) or True)
    monkeypatch.setattr(
        module, "tests", lambda words: module.begun.append(("tests", *words)) or (True, "9 passed")
    )
    monkeypatch.setattr(module, "coverage", lambda: module.begun.append("coverage") or True)
    return module


@pytest.mark.parametrize(
    ("words", "begun"),
    [
        ([], ["format", "lint", "types", "pyright", "docs", ("tests",), "coverage"]),
        (["lint", "types"], ["lint", "types"]),
        (["--", "-k", "parser"], [("tests", "-k", "parser")]),
        (["lint", "tests", "--", "-x"], ["lint", ("tests", "-x")]),
        (["tests"], [("tests",), "coverage"]),
    ],
)
def test_words_behind_two_dashes_are_pytests(run, words, begun):
    assert (0, begun) == (run.main(words), run.begun)


def test_that_only_tests_run_is_said(run, capsys):
    run.main(["--", "-x"])

    assert "only tests" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_names_every_check_and_runs_none(run, capsys, word):
    assert (0, []) == (run.main([word]), run.begun)
    assert "The names: format, lint, types, pyright, docs, tests, quick." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["lnt"],
            "expected names of checks, got 'lnt'; there are: format, lint, types, pyright, docs, tests",
        ),
        (["lint", "--", "-x"], "expected the name tests before --"),
    ],
)
def test_words_that_would_be_ignored_are_refused(run, capsys, words, said):
    assert (2, []) == (run.main(words), run.begun)
    assert said in capsys.readouterr().out
