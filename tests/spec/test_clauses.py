"""The clauses in ``spec/clauses``: each has its proof, and nothing that proves or judges is without
a clause.

A name that proves is a test of this repository or a scenario of the recordings. Both directions
hold: every clause names what proves it or says why nothing does, every scenario is named by a
clause, and every rule of the lint names the clauses that it judges by.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from jsproto.trace.judge.lint import RULES

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "spec" / "clauses"
SOURCES = {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}
CLAUSES = {clause["id"]: clause for source in SOURCES.values() for clause in source["clause"]}
KEPT_BACK = set(tomllib.loads((REPOSITORY / "spec/traces/kept_back.toml").read_text())["names"])
MEMBERS = {"id", "section", "says", "server", "jsproto", "notes", "tests", "traces", "unproven"}
ID = re.compile(r"\b(?:ADR-[0-9]+|README|WIRE)\.[a-k]?[0-9]+\b")

each_clause = pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES)


@cache
def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def scenarios_named(notes: str) -> set[str]:
    """Scenarios that the notes on the wire name: in brackets, where a name may be shortened to its
    end, and in the last cell of a row.
    """
    areas = "ack|advisories|api|cluster|consume|core|direct|kv|objstore|ordered|prio|pub|pull|push|seed|snapshot"
    name = re.compile(rf"(?:{areas})(?:_[a-z0-9]+)+")
    found = set()
    for inside in re.findall(r"\[([^\[\]]*)\]", notes):
        whole = ""
        for word in (each.split()[0] for each in inside.split(",") if each.strip()):
            each = whole.rpartition("_")[0] + word if word.startswith("_") else word
            if name.fullmatch(each):
                whole = whole if word.startswith("_") else each
                found.add(each)
    for row in (
        line.strip("|").rpartition("|")[2] for line in notes.splitlines() if line.startswith("|")
    ):
        found.update(
            each.strip() for each in re.split(r"[;,]", row) if name.fullmatch(each.strip())
        )
    return found


def test_clauses_are_numbered_in_their_order():
    for stem, source in SOURCES.items():
        assert source["source"].casefold() == stem
        counted = Counter()
        for clause in source["clause"]:
            letter = clause["section"][0] if stem == "wire" else ""
            counted[letter] += 1
            assert clause["id"] == f"{source['source']}.{letter}{counted[letter]}"
    assert sum(len(source["clause"]) for source in SOURCES.values()) == len(CLAUSES) > 200


@each_clause
def test_each_clause_is_a_sentence_with_its_proof_or_the_reason_why_there_is_none(clause):
    proofs = [*clause.get("tests", []), *clause.get("traces", [])]

    assert set(clause) <= MEMBERS
    assert all(
        clause[name].endswith(".")
        for name in ("says", "server", "jsproto", "unproven")
        if name in clause
    )
    assert bool(proofs) != ("unproven" in clause)
    assert len(set(proofs)) == len(proofs)


@each_clause
def test_each_test_that_a_clause_names_is_there(clause):
    for name in clause.get("tests", []):
        path, _, test = name.partition("::")

        assert test.startswith("test_"), name
        assert test in names_in(REPOSITORY / path), name


def test_each_rule_of_the_lint_names_its_clauses():
    for rule in RULES:
        named = ID.findall(rule.clause)

        assert named, rule.name
        assert set(named) <= set(CLAUSES), rule.name


def test_each_scenario_is_proof_of_a_clause_and_each_clause_names_scenarios_that_are_there(traces):
    there = {path.stem for path in traces.rglob("*.jsonl")}
    named = {name for clause in CLAUSES.values() for name in clause.get("traces", [])}

    assert named - there == set()
    assert there - named == set()


def test_a_scenario_that_is_named_anywhere_is_there_or_was_kept_back(traces):
    notes = traces.parent / "WIRE.md"
    if not notes.is_file():
        pytest.skip("the notes on the wire are not beside the recordings")
    there = {path.stem for path in traces.rglob("*.jsonl")}

    assert scenarios_named(notes.read_text()) - there == KEPT_BACK


def test_each_place_where_texts_and_servers_differ_is_noted_at_a_clause(traces):
    notes = traces.parent / "WIRE.md"
    if not notes.is_file():
        pytest.skip("the notes on the wire are not beside the recordings")
    section = notes.read_text().partition("\n# (l)")[2]
    numbers = {
        f"l.{number}" for number in re.findall(r"(?:^|\. )([0-9]{1,2})\. ", section, re.MULTILINE)
    }
    noted = {
        note
        for clause in CLAUSES.values()
        for note in clause.get("notes", [])
        if note.startswith("l.")
    }

    assert noted == numbers
