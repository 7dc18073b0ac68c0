import json
import os
import subprocess
import sys

import pytest

from jsproto.core.connection.options import Options
from jsproto.core.pubsub.subscription import Subscription
from jsproto.testing import Pair, SimServer
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.judge.lint import RULES
from jsproto.trace.record.recorder import Recorder
from jsproto.trace.record.tape import Tape
from jsproto_cli.main import main
from jsproto_io.recording import NewFile

GOOD = r"""#jsproto-trace/2
: server_version 2.15.1
= a connected
< a INFO {"server_id":"N","version":"2.15.1","headers":true} \r\n
> a CONNECT {"lang":"python","headers":true,"no_responders":true}\r\nPING\r\n
< a PONG\r\n
> a SUB _INBOX.p 2\r\n
@ 0.5
! a fetch {"batch":2}
> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p 47\r\n{"batch":2,"expires":5000000000,"max_bytes":99}\r\n
< a MSG orders.new 2 $JS.ACK.S.C.1.1.1.1795813228857713434.0 5\r\n\{5}\r\n
> a PUB $JS.ACK.S.C.1.1.1.1795813228857713434.0 4\r\n+ACK\r\n
< a HMSG _INBOX.p 2 81 81\r\nNATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\nNats-Pending-Bytes: 9\r\n\r\n\r\n
"""
BAD = GOOD + "> a PUB $JS.ACK.S.C.1.1.1.1795813228857713434.0 4\\r\\n+ACK\\r\\n\n" * 2
BROKEN = GOOD + "? what\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name, text in (("good", GOOD), ("in/bad", BAD)):
        (tmp_path / f"{name}.trace").write_text(text)
    return tmp_path


def test_lint_says_one_line_for_each_file_and_a_summary(folder, capsys):
    code = main(["lint", str(folder)])

    assert capsys.readouterr().out.splitlines() == [
        f"{folder}/good.trace: the 44 of 93 rules with something to judge found nothing",
        f"{folder}/in/bad.trace: ack-twice 2",
        "2 files, 2 findings of 1 rules",
    ]
    assert code == 1


def test_lint_of_one_file_explains_what_it_found(folder, capsys):
    code = main(["lint", str(folder / "in" / "bad.trace")])
    out = capsys.readouterr().out

    assert code == 1
    assert (
        "line 14, 0.500 s, a: error ack-twice: the delivery in line 11 was settled already, by b'+ACK'"
        in out
    )
    assert "ADR-15.35: a message is acknowledged once. Ignore every ack after the first" in out


def test_lint_of_a_good_file_is_well(folder, capsys):
    assert main(["lint", str(folder / "good.trace")]) == 0
    assert capsys.readouterr().out.endswith("1 files, 0 findings of 0 rules\n")


def test_lint_in_json_is_one_object_for_each_file(folder, capsys):
    code = main(["lint", "--json", str(folder)])
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())

    assert code == 1
    assert (good["findings"], good["error"]) == ([], None)
    assert bad["counted"] == {"ack-twice": 2}
    assert {name: bad["findings"][0][name] for name in ("rule", "severity", "line", "conn")} == {
        "rule": "ack-twice",
        "severity": "error",
        "line": 14,
        "conn": "a",
    }


def test_what_lint_writes_as_toml_it_takes_as_what_must_be_found(folder, capsys):
    assert main(["lint", "--as-toml", str(folder)]) == 0
    expected = folder / "findings.toml"
    expected.write_text(capsys.readouterr().out)

    assert main(["lint", "--expect", str(expected), str(folder)]) == 0
    assert capsys.readouterr().out.endswith("0 files differ from the expectation\n")

    expected.write_text('"good" = ["ack-twice"]\n')
    assert main(["lint", "--expect", str(expected), str(folder)]) == 1
    assert "  expected ['ack-twice'], found []" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"good = [", "expected TOML in the form of `lint --as-toml`"),
        (b"'good' = ['\xff']", "expected TOML in the form of `lint --as-toml`"),
        (b"a = 1\na = 2", "expected TOML in the form of `lint --as-toml`"),
        (b"a = " + b"[" * 100_000, "expected TOML in the form of `lint --as-toml`"),
        (b"good = 'ack-twice'", "expected a list of rules for 'good', got 'ack-twice'"),
        (b"good = [1]", "expected a list of rules for 'good', got [1]"),
        (b"[good]\nx = []", "expected a list of rules for 'good'"),
        (
            b"good = ['ack-thrice']",
            "expected rules of `lint --rules` for 'good', got ['ack-thrice']",
        ),
    ],
)
def test_an_expectation_that_cannot_be_read_is_told_before_anything_is_judged(
    folder, capsys, data, said
):
    path = folder / "expected.toml"
    path.write_bytes(data)

    assert main(["lint", "--expect", str(path), str(folder)]) == 2

    out, err = capsys.readouterr()
    assert err.startswith(f"{path}: {said}")
    assert out == ""


def test_an_expectation_that_is_not_there_is_told(folder, capsys):
    assert main(["lint", "--expect", str(folder / "none.toml"), str(folder)]) == 2
    assert capsys.readouterr().err == f"{folder}/none.toml: No such file or directory\n"
    assert main(["lint", "--expect", str(folder), str(folder)]) == 2
    assert capsys.readouterr().err == f"{folder}: Is a directory\n"


def test_the_rules_are_shown_with_what_is_right(capsys):
    assert main(["lint", "--rules"]) == 0
    assert (
        "ack-twice (error)\n    ADR-15.35: a message is acknowledged once\n"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("command", ["lint", "replay"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_file_that_cannot_be_read_is_one_error_with_its_line(tmp_path, capsys, command, form):
    (tmp_path / "x.trace").write_text(BROKEN)

    assert main([command, *form, str(tmp_path)]) == 1
    assert (
        f"{tmp_path}/x.trace, line 14: expected a line that begins with" in capsys.readouterr().out
    )


@pytest.mark.parametrize("command", ["lint", "replay"])
def test_a_file_that_is_not_there_is_told(tmp_path, capsys, command):
    assert main([command, str(tmp_path / "none.trace")]) == 1
    assert f"{tmp_path}/none.trace: No such file or directory" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["lint", "replay"])
def test_a_folder_without_traces_is_a_mistake(tmp_path, capsys, command):
    assert main([command, str(tmp_path)]) == 2
    assert "at least one .jsonl or .trace file" in capsys.readouterr().err


def test_replay_counts_what_it_read(folder, capsys):
    assert main(["replay", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}/good.trace: 5 commands, 1 HMSG, 1 INFO, 1 MSG, 1 PONG",
        f"{folder}/in/bad.trace: 7 commands, 1 HMSG, 1 INFO, 1 MSG, 1 PONG",
        "2 files, 8 frames, 0 files with a fault",
    ]


def test_replay_in_json(folder, capsys):
    assert main(["replay", "--json", str(folder / "good.trace")]) == 0
    told = json.loads(capsys.readouterr().out)

    assert (told["error"], told["commands"], told["unreadable"]) == (None, 5, [])


def test_replay_names_bytes_of_a_server_that_make_no_sense(tmp_path, capsys):
    (tmp_path / "x.trace").write_text(GOOD + "< a nonsense\\r\\n\n")

    assert main(["replay", str(tmp_path)]) == 1
    assert "x.trace, line 14: expected INFO, MSG" in capsys.readouterr().out


def test_lint_does_not_call_well_what_it_could_not_read(tmp_path, capsys):
    (tmp_path / "x.trace").write_text(GOOD + "< a nonsense\\r\\n\n")

    assert main(["lint", str(tmp_path)]) == 1
    assert "x.trace, line 14: the server's bytes on a cannot be parsed" in capsys.readouterr().out


def test_replay_says_where_readings_part(folder, capsys, monkeypatch):
    monkeypatch.setattr("jsproto.trace.replay.replay.Cuts.__call__", lambda self, size: iter([1]))

    assert main(["replay", str(folder / "good.trace")]) == 1
    assert "good.trace, line 4: read cut at random gives" in capsys.readouterr().out


def test_inspect_shows_the_fate_of_each_pull(folder, capsys):
    assert main(["inspect", str(folder / "good.trace")]) == 0
    out = capsys.readouterr().out

    assert "server_version: 2.15.1" in out
    assert "asked: pull 1, ack +ACK 1" in out
    assert "link a since 0.000 s: server 2.15.1, client python" in out
    assert "pull in line 10: 1 of 2 and 99 bytes from S.C, EXPIRED (408 Request Timeout)" in out


def test_inspect_in_json(folder, capsys):
    assert main(["inspect", "--json", str(folder / "good.trace")]) == 0
    told = json.loads(capsys.readouterr().out)

    assert told["pulls"][0]["fate"] == "EXPIRED"
    assert told["links"][0]["server"] == "2.15.1"


def test_ladder_shows_each_step(folder, capsys):
    assert main(["ladder", str(folder / "good.trace")]) == 0
    lines = [line[26:] for line in capsys.readouterr().out.splitlines()]

    assert lines == [
        " =  connected",
        "◀── INFO 2.15.1",
        "──▶ CONNECT",
        "──▶ PING",
        "◀── PONG",
        "──▶ SUB _INBOX.p as 2",
        " !  fetch batch=2",
        "──▶ pull 2 and 99 bytes from S.C, expires 5 s, to _INBOX.p",
        "◀── delivery 1 of S.C: message 1 on orders.new (5 bytes), 0 left",
        "──▶ +ACK to $JS.ACK.S.C.1.1.1.1795813228857713434.0",
        "◀── 408 Request Timeout on _INBOX.p",
    ]


def test_ladder_as_a_diagram_and_in_json(folder, capsys):
    assert main(["ladder", "--mermaid", str(folder / "good.trace")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "sequenceDiagram\n    Note over a: connected\n    server->>a: INFO 2.15.1\n    a->>server: CONNECT\n"
    )

    assert main(["ladder", "--json", str(folder / "good.trace")]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == {
        "line": 3,
        "at": 0.0,
        "conn": "a",
        "way": "=",
        "words": "connected",
    }


def test_diff_shows_the_first_step_that_differs(folder, capsys):
    good, bad = str(folder / "good.trace"), str(folder / "in" / "bad.trace")

    assert main(["diff", good, good]) == 0
    assert capsys.readouterr().out == "the same 11 steps\n"
    assert main(["diff", good, bad]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-3] == f"- the end of {good}"
    assert out[-2].startswith("+      14     0.500000    a ──▶ +ACK")
    assert out[-1] == "they differ after 11 steps"


def test_diff_in_json(folder, capsys):
    good, bad = str(folder / "good.trace"), str(folder / "in" / "bad.trace")

    assert main(["diff", "--json", good, good]) == 0
    assert json.loads(capsys.readouterr().out) == {"same": True, "steps": 11}
    assert main(["diff", "--json", bad, good]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["same"], told["b"], told["a"]["way"]) == (False, None, ">")


@pytest.mark.parametrize("command", [["inspect"], ["ladder"], ["diff", "x.trace"]])
def test_what_cannot_be_shown_is_told(tmp_path, capsys, command):
    (tmp_path / "x.trace").write_text(BROKEN)
    words = [str(tmp_path / word) if word.endswith(".trace") else word for word in command]

    assert main([*words, str(tmp_path / "x.trace")]) == 1
    assert "expected a line that begins with" in capsys.readouterr().err


def test_every_kind_of_step_has_words(tmp_path, capsys):
    (tmp_path / "x.trace").write_text(
        r"""#jsproto-trace/2
= - oob {"what":"publish"}
< a +OK\r\n-ERR 'no'\r\nPING\r\nINFO {"ldm":true}\r\nMSG a 1 r 1\r\nx\r\n
< a HMSG d 1 $JS.FC.S.C.a 36 36\r\nNATS/1.0 100 FlowControl Request\r\n\r\n\r\n
> a SUB a q 1\r\nUNSUB 1 5\r\nUNSUB 1\r\nPUB $JS.ACK.x 0\r\n\r\nPUB $JS.API.INFO r 0\r\n\r\nPUB a r 1\r\nx\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\nNO\r\n
= a connected
< a INFO {}\r\n
"""
    )

    assert main(["ladder", str(tmp_path / "x.trace")]) == 0
    lines = [line[26:] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        " =  oob what=publish",
        "◀── +OK",
        "◀── -ERR no",
        "◀── PING",
        "◀── INFO, lame duck",
        "◀── message a (1 bytes), reply r",
        "◀── 100 FlowControl Request on d, answer on $JS.FC.S.C.a",
        "──▶ SUB a as 1 in q",
        "──▶ UNSUB 1 after 5",
        "──▶ UNSUB 1",
        "──▶ ack to $JS.ACK.x",
        "──▶ INFO",
        "──▶ publish a (1 bytes), reply r",
        "──▶ publish a (0 bytes)",
        "──▶ unreadable: Unknown Protocol Operation",
        " =  connected",
        "◀── INFO",
    ]

    assert main(["inspect", "--json", str(tmp_path / "x.trace")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["commands"] == {"SUB": 1, "UNSUB": 2, "PUB": 3, "HPUB": 1, "unreadable": 1}
    assert told["asked"] == {"ack": 1, "INFO": 1, "publish": 2}


def rerunnable(path, damage=lambda text: text):
    """A session of a recorder, perhaps changed."""
    file = NewFile(path)
    machine = Recorder(
        Options(servers="nats://sim"), entropy=bytes, now=0.0, tape=Tape(file, keep=Keep.FULL)
    )
    pair = Pair(machine, SimServer())
    pair.step()
    machine.open(Subscription("a"), pair.now)
    machine.close(None, pair.now)
    pair.advance(1.0)
    path.write_text(damage(path.read_text()))


def test_replay_runs_our_own_traces_again(tmp_path, capsys):
    rerunnable(tmp_path / "own.trace")

    assert main(["replay", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "  run again by our machines: " in out
    assert " bytes out in 5 frames, all equal\n" in out
    assert main(["replay", "--json", str(tmp_path)]) == 0
    again = json.loads(capsys.readouterr().out)["rerun"]
    assert (again["frames"], again["given"], again["diverged"], again["line"]) == (
        5,
        0,
        False,
        None,
    )


def test_replay_shows_where_our_machines_go_another_way(tmp_path, capsys):
    rerunnable(tmp_path / "own.trace", lambda text: text.replace("> a SUB a 2", "> a SUB b 2"))
    line = (tmp_path / "own.trace").read_text()[
        : (tmp_path / "own.trace").read_text().index("SUB b")
    ].count("\n") + 1

    assert main(["replay", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"own.trace, line {line}: run again, expected the recorded SUB b 2" in out
    assert "got SUB a 2" in out
    assert "! open" in out
    assert main(["replay", "--json", str(tmp_path)]) == 1
    assert json.loads(capsys.readouterr().out)["rerun"]["line"] == line


def test_replay_says_what_cannot_be_run_again(tmp_path, capsys):
    rerunnable(tmp_path / "own.trace", lambda text: text.replace(', "args"', ', "arguments"'))

    assert main(["replay", str(tmp_path)]) == 0
    assert (
        "all equal; then the user opened a Subscription, which a rerun cannot create again"
        in capsys.readouterr().out
    )


def test_replay_of_a_file_that_ends_in_the_middle_of_a_line_names_the_line_and_blames_no_machine(
    tmp_path, capsys
):
    def torn(text):
        return text[: text.index("= a entropy") + 20]

    rerunnable(tmp_path / "own.trace", torn)
    line = (tmp_path / "own.trace").read_text().count("\n") + 1

    assert main(["replay", "--json", str(tmp_path)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert f"own.trace, line {line}: " in told["error"]
    assert told["rerun"] is None


# Half a surrogate pair, a control sequence, a mark of direction, and another script: a peer may say
# them all.
ODD = r"\\ud800 \\u001b]0;x\\u0007 \\u202e \\u0085 \\u00e9"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(
    "words",
    [
        ["inspect"],
        ["ladder"],
        ["ladder", "--mermaid"],
        ["lint"],
        ["replay"],
        ["view"],
        ["diff"],
        ["inspect", "--json"],
    ],
)
def test_any_text_of_a_peer_prints_and_nothing_of_it_steers_the_terminal(tmp_path, words, encoding):
    trace = tmp_path / "x.trace"
    bad = "- UNKNOWN\\x1b[2J\\xed\\xa0\\x80"
    trace.write_text(
        GOOD.replace('"version":"2.15.1"', f'"version":"{ODD}","server_name":"{ODD}"').replace(
            '"lang":"python"', f'"lang":"{ODD}"'
        )
        + f"< a -ERR 'Unknown Protocol Operation {bad}'\\r\\n\n> a SUB {bad} 77\\r\\n\n",
        encoding="utf-8",
    )
    other = [str(tmp_path / "good.trace")] if words == ["diff"] else []
    (tmp_path / "good.trace").write_text(GOOD)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from jsproto_cli.main import main; raise SystemExit(main())",
            *words,
            str(trace),
            *other,
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONIOENCODING": encoding,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        check=False,
    )

    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode in {0, 1}
    told = done.stdout.decode(encoding)
    assert told
    assert all(each.isprintable() or each == "\n" for each in told)


@pytest.mark.parametrize("text", ["#jsproto-trace/2\n", GOOD.partition("> a")[0]])
def test_a_trace_in_which_no_client_speaks_is_not_called_good(tmp_path, capsys, text):
    (tmp_path / "x.trace").write_text(text)

    assert main(["lint", str(tmp_path)]) == 1
    assert (
        "x.trace: no client sends anything here, so nothing was judged" in capsys.readouterr().out
    )
    assert main(["lint", "--json", str(tmp_path)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["judged"], len(told["not_judged"])) == ([], len(RULES))


def test_lint_names_the_rules_that_had_nothing_to_judge(folder, capsys):
    assert main(["lint", "--json", str(folder / "good.trace")]) == 0
    told = json.loads(capsys.readouterr().out)

    assert {"pull-over-asks", "ack-twice", "command-broken"} & set(told["not_judged"]) == {
        "command-broken"
    }
    assert {"heartbeats-ignored", "no-pull-after-reconnect", "flow-answered-twice"} <= set(
        told["not_judged"]
    )
    assert sorted(told["judged"] + told["not_judged"]) == sorted(rule.name for rule in RULES)
