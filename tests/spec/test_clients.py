"""``spec/clients.md`` is what was played and judged: each finding has its trace, which says so by
itself, and its text; ours have none.
"""

from __future__ import annotations

import pytest

from jsproto.trace.formats.reading import Trace
from jsproto.trace.replay.replay import Replay
from tests.long.clients.scenarios import SCENARIOS
from tests.spec.judge import OURS, PAGE, TRACES, judged, page, reports, results, trace_of

PLAYED = results()
FOUND = [each for each in PLAYED if each.found]


def test_the_page_is_made_of_what_was_kept():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_client_has_played_every_scenario_or_says_why_not():
    clients = {each.client for each in PLAYED}
    foreign = {client for client in clients if not client.startswith(OURS)}

    assert foreign == {"nats-py", "natsrpy", "nats.js"}
    assert len(clients - foreign) == 4
    assert len(SCENARIOS) >= 12
    for client in clients:
        assert {each.scenario for each in PLAYED if each.client == client} == set(SCENARIOS), client
    assert all(each.outcome == "done" or each.lacks for each in PLAYED)


def test_our_adapters_have_no_finding_and_lack_nothing():
    assert [
        each for each in PLAYED if each.client.startswith(OURS) and (each.found or each.lacks)
    ] == []


@pytest.mark.parametrize("played", FOUND, ids=lambda each: f"{each.client} {each.scenario}")
def test_a_trace_of_a_finding_shows_exactly_what_was_found_and_no_payload(played):
    path = trace_of(played)
    replay = Replay()
    with path.open("rb") as file:
        for line, record in Trace(file).records():
            replay.feed(line, record)

    assert sorted({each.rule for each in judged(path)}) == sorted(played.found)
    assert [each for each in replay.unknown if each[1] == "<"] == []
    assert path.stat().st_size < 20_000
    assert "x" * 20 not in path.read_text()


def test_there_is_no_trace_and_no_text_without_a_finding():
    assert sorted(TRACES.rglob("*.trace")) == sorted(map(trace_of, FOUND))
    assert set(reports()) == {(each.client, rule) for each in FOUND for rule in each.found}
