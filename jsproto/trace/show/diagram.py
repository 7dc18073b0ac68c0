"""Draws diagrams of state machines from the tables that the machines follow.

Theory. A table maps each state to its inputs, and each input to the next state. A machine begins in
the first state, or in a state that no other state leads to. A state without inputs is an end.
Inputs between the same two states share one arrow, so the picture stays small.

The output is text. `mermaid` gives the picture in Mermaid's language, `tables` the words
as Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeAlias, TypeVar

S = TypeVar("S", bound=Enum)
W = TypeVar("W", bound=Enum)

#: For each state, its inputs and the state that each leads to.
Transitions: TypeAlias = Mapping[S, Mapping[W, S]]


def beginnings(table: Transitions[S, W]) -> list[S]:
    """List the states where a machine can begin: the first, and those that no other leads to."""
    reached = {to for state, ways in table.items() for to in ways.values() if to is not state}
    return [state for at, state in enumerate(table) if not at or state not in reached]


def endings(table: Transitions[S, W]) -> list[S]:
    """List the states without inputs."""
    return [state for state, ways in table.items() if not ways]


def mermaid(table: Transitions[S, W]) -> str:
    """Draw the table as a Mermaid ``stateDiagram-v2``."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state.name}" for state in beginnings(table)]
    for state, ways in table.items():
        arrows: dict[S, list[str]] = {}
        for what, to in ways.items():
            arrows.setdefault(to, []).append(what.name)
        lines += [
            f"    {state.name} --> {to.name}: {', '.join(names)}" for to, names in arrows.items()
        ]
    lines += [f"    {state.name} --> [*]" for state in endings(table)]
    return "\n".join(lines) + "\n"


def tables(table: Transitions[S, W], meanings: Mapping[str, str]) -> str:
    """Write states and inputs as two Markdown tables.

    ``meanings`` maps ``Enum.MEMBER`` to its description.
    """
    nouns = [(f"`{state.name}`", meanings.get(_name(state), "")) for state in table]
    inputs: dict[W, dict[S, list[str]]] = {}
    for state, ways in table.items():
        for what, to in ways.items():
            inputs.setdefault(what, {}).setdefault(to, []).append(f"`{state.name}`")
    rows = [
        (
            f"`{what.name}`",
            meanings.get(_name(what), ""),
            "<br>".join(f"{', '.join(states)} → `{to.name}`" for to, states in leads.items()),
        )
        for what, leads in inputs.items()
    ]
    return (
        markdown(("state", "meaning"), nouns) + "\n" + markdown(("input", "meaning", "leads"), rows)
    )


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {_cells(line)} |\n" for line in lines)


def _cells(line: Sequence[str]) -> str:
    return " | ".join(cell.replace("|", "\\|") for cell in line)


def _name(member: Enum) -> str:
    return f"{type(member).__name__}.{member.name}"
