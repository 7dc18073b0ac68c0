"""The long runs in short: that they work, find nothing wrong here, and would say so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jsproto.testing.simserver.consumers.cursor import Cursor
from tests.long import differential

pytestmark = [pytest.mark.live, pytest.mark.slow]

HERE = Path(__file__).parent


def long_run(name: str, *words: str) -> tuple[int, list[dict[str, object]]]:
    command = [sys.executable, str(HERE / name), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_every_reader_of_a_push_consumer_keeps_the_rules():
    code, told = long_run("push.py", "--messages", "20000", "--size", "300")

    assert [(each["reader"], each["messages"], each["wrong"]) for each in told] == [
        (reader, 20000, {}) for reader in ("hungry", "slow", "parked", "lossy")
    ]
    assert code == 0
    assert all(each["questions"] >= 2 for each in told)


@pytest.mark.parametrize("form", ["pull", "push"])
def test_an_ordered_consumer_keeps_the_rules_while_its_consumers_and_its_server_go(form):
    words = ("--messages", "6000", "--deletions", "2", "--kills", "1", "--form", form)
    code, (told,) = long_run("ordered.py", *words)

    assert (code, told["wrong"], told["deletions"], told["kills"]) == (0, {}, 2, 1)
    assert told["messages"] >= 5900
    assert told["creates"] >= 3


def test_a_broken_rule_is_told_and_the_exit_code_is_1():
    words = ("--messages", "0", "--deletions", "100", "--kills", "0")
    code, (told,) = long_run("ordered.py", *words)

    assert (code, list(told["wrong"])) == (1, ["deletions or kills too few"])


def test_cycles_of_reconnect_fetch_and_timeout_leave_nothing_behind():
    code, told = long_run("cycles.py", "--memory", "500", "--live", "20")

    assert (code, [(each["form"], each["cycles"], each["wrong"]) for each in told]) == (
        0,
        [("memory", 500, {}), ("live", 20, {})],
    )
    assert all(
        each["ends"] == {"EXPIRED": each["cycles"], "NO_MESSAGES": each["cycles"]} for each in told
    )


def test_every_publish_through_a_window_ends_once_and_each_id_is_stored_once_while_the_server_is_killed():
    code, told = long_run("window.py", "--messages", "6000", "--plain", "3000", "--kills", "2")

    assert (code, [(each["form"], each["wrong"]) for each in told]) == (
        0,
        [("resend", {}), ("plain", {})],
    )
    assert told[0]["stored"] == 6000
    assert told[1]["ends"]["ACKED"] <= told[1]["stored"] <= 3000


def test_the_contract_can_be_checked_on_every_server_and_transport():
    words = ("--versions", "2.15.1", "--transports", "tcp", "ws", "--adapters", "blocking")
    code, told = long_run("contract.py", *words)

    assert code == 0
    assert [("2.15.1", "tcp", "blocking", None), ("2.15.1", "ws", "blocking", None)] == [
        (each["server"], each["transport"], each["adapter"], each["broken"]) for each in told
    ]


def test_a_stream_comes_back_as_it_was_though_servers_are_killed_while_it_is_saved_and_restored():
    code, (told,) = long_run("snapshot.py", "--megabytes", "20")

    assert (code, told["wrong"]) == (0, {})
    assert told["compared"] == told["messages"] == 20_000_000 // 4096 - 5


def test_a_long_trace_is_judged_whole_in_bounded_memory():
    code, told = long_run("lint.py", "--records", "120000")

    assert (code, [(each["form"], each["found"]) for each in told]) == (
        0,
        [("trace", {}), ("raw", {})],
    )
    assert all(each["records"] >= 120000 for each in told)


@pytest.mark.parametrize("client", ["nats-py", "jsproto blocking"])
def test_a_client_is_judged_through_the_tap(client):
    code, (told,) = long_run("foreign.py", "--client", client, "--scenario", "tokens")

    assert (code, told["outcome"], told["found"], told["unreadable"]) == (0, "done", {}, [])
    assert told["bytes"] > 2000


def test_no_range_is_short_where_a_replica_lags_and_some_are_without_the_proof():
    code, (told,) = long_run("ranges.py", "--reads", "40")

    assert (code, told["wrong"], told["short"]["proved"]) == (0, {}, 0)
    assert told["short"]["unproved"] > 0


def test_the_lint_finds_nothing_in_what_our_own_clients_say():
    code, told = long_run("precision.py", "--seeds", "0-3", "--live", "1")

    assert (code, [(each["form"], each["sessions"], each["found"]) for each in told]) == (
        0,
        [("machines", 4, {}), ("adapters", 4, {}), ("live", 1, {})],
    )
    assert all(each["links"] > each["sessions"] and each["frames"] > 1000 for each in told)


@pytest.mark.parametrize("server", ["2.15.1", "2.12.8"])
def test_the_model_and_a_server_answer_random_scripts_alike(server):
    code, told = long_run("differential.py", "--scripts", "20", "--seed", "40", "--server", server)

    assert (code, told[-1]["different"], told[:-1]) == (0, 0, [])
    assert told[-1]["races"] <= 4


def test_a_difference_is_told_and_the_exit_code_is_1():
    """A model of one version beside a server of another."""
    words = ("--scripts", "3", "--server", "2.15.1", "--model", "2.9.10")
    code, told = long_run("differential.py", *words)

    assert (code, told[-1]["different"]) == (1, 3)
    assert {"seed", "step", "what", "channel", "model", "real"} <= set(told[0])


def test_a_fault_of_the_model_that_looks_like_an_order_of_the_server_is_told(monkeypatch, capsys):
    """What is ahead is counted too high by the model: a real server that counts too low for a
    moment looks the same.
    """
    right = Cursor.pending.fget
    monkeypatch.setattr(Cursor, "pending", property(lambda self: right(self) + 1))

    code = differential.main(["--scripts", "4", "--server", "2.15.1"])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert (code, told[-1]["races"], told[-1]["explained"]) == (1, 0, {})
    assert told[-1]["different"] == len(told) - 1 >= 2
    assert all(each["race"] is False for each in told[:-1])


def test_every_deliberate_fault_can_still_be_made_and_one_is_found():
    code, (told,) = long_run("mutants.py", "--check")
    assert (code, told["wrong"]) == (0, [])
    assert told["faults"] >= 30
    code, (found, total) = long_run(
        "mutants.py", "--only", "silence is never an alarm", "--minutes", "1"
    )

    assert (code, found["found"], total) == (0, True, {"faults": 1, "found": 1})


def test_a_deliberate_fault_that_is_not_found_in_time_is_told():
    code, (missed, total) = long_run(
        "mutants.py", "--only", "silence is never", "--minutes", "0.005"
    )

    assert (code, missed["found"], total) == (1, False, {"faults": 1, "found": 0})
