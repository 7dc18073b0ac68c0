"""The diagrams in ``spec/machines`` are those of the tables, and the tables are whole."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from jsproto.trace.show.diagram import beginnings

REPOSITORY = Path(__file__).resolve().parents[2]


def _draw():
    spec = importlib.util.spec_from_file_location("draw", Path(__file__).with_name("draw.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


draw = _draw()
MACHINES = draw.machines()
AGAIN = "run python tests/spec/draw.py"

each_machine = pytest.mark.parametrize(("name", "module"), MACHINES.items(), ids=MACHINES)


def _page(name: str) -> Path:
    page = draw.FOLDER / f"{name}.md"
    assert page.is_file(), f"{page.relative_to(REPOSITORY)} is missing: {AGAIN}"
    return page


def test_the_machines_that_everything_stands_on_are_found():
    assert {"connection_link", "delivery_ack", "pull_consume", "pull_fetch"} <= set(MACHINES)


def test_a_module_that_only_uses_a_table_is_no_machine():
    assert "delivery_message" not in MACHINES


def test_there_is_no_page_without_a_machine():
    assert {page.stem for page in draw.FOLDER.iterdir()} == set(MACHINES)


#: A page opens with few words: the diagram and the tables say the rest.
MOST_WORDS = 100


@each_machine
def test_each_diagram_is_what_the_table_draws(name, module):
    assert draw.halves(_page(name))[1] == draw.drawn(module), AGAIN


@each_machine
def test_each_page_opens_with_a_title_and_a_few_sentences(name, module):
    title, _, theory = draw.halves(_page(name))[0].partition("\n\n")
    sentences = re.findall(r"[^.]+\.(?=\s|$)", theory)

    assert re.fullmatch(r"# \S.*", title)
    assert len(sentences) >= 2
    assert len(theory.split()) <= MOST_WORDS


@each_machine
def test_each_state_is_a_row_and_each_row_leads_to_states(name, module):
    table = module.TRANSITIONS
    states = type(next(iter(table)))
    reached = {to for ways in table.values() for to in ways.values()}

    assert list(table) == list(states)
    assert reached <= set(states)


@each_machine
def test_each_input_leads_somewhere(name, module):
    used = {what for ways in module.TRANSITIONS.values() for what in ways}
    inputs = {member for what in used for member in type(what)}

    assert used == inputs


@each_machine
def test_each_state_can_be_reached(name, module):
    table = module.TRANSITIONS
    reached = set()
    ahead = beginnings(table)
    while ahead:
        state = ahead.pop()
        if state not in reached:
            reached.add(state)
            ahead += table[state].values()

    assert reached == set(table)


@each_machine
def test_each_state_and_input_says_what_it_is(name, module):
    said = draw.meanings(module)
    members = {
        *module.TRANSITIONS,
        *(what for ways in module.TRANSITIONS.values() for what in ways),
    }
    silent = {str(member) for member in members} - set(said)

    assert silent == set(), "write a #: comment before each of these"
