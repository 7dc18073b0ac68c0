"""Diagrams against tables that are small enough to draw by hand."""

from __future__ import annotations

from enum import Enum

from jsproto.trace.show.diagram import beginnings, endings, markdown, mermaid, tables


class Door(Enum):
    SHUT = 1
    OPEN = 2
    GONE = 3
    PAINTED = 4


class Push(Enum):
    PUSHED = 1
    SLAMMED = 2
    BURNT = 3


TABLE = {
    Door.SHUT: {Push.PUSHED: Door.OPEN, Push.BURNT: Door.GONE},
    Door.OPEN: {Push.PUSHED: Door.SHUT, Push.SLAMMED: Door.SHUT, Push.BURNT: Door.GONE},
    Door.GONE: {},
    Door.PAINTED: {Push.PUSHED: Door.PAINTED},
}


def test_a_machine_begins_in_its_first_state_and_where_no_other_leads_to():
    assert beginnings(TABLE) == [Door.SHUT, Door.PAINTED]


def test_a_state_that_takes_nothing_is_an_end():
    assert endings(TABLE) == [Door.GONE]


def test_the_diagram_has_one_arrow_for_each_pair_of_states():
    expected = """\
stateDiagram-v2
    [*] --> SHUT
    [*] --> PAINTED
    SHUT --> OPEN: PUSHED
    SHUT --> GONE: BURNT
    OPEN --> SHUT: PUSHED, SLAMMED
    OPEN --> GONE: BURNT
    PAINTED --> PAINTED: PUSHED
    GONE --> [*]
"""

    assert mermaid(TABLE) == expected


def test_the_tables_say_what_is_meant_and_where_each_input_leads():
    expected = """\
| state | meaning |
| --- | --- |
| `SHUT` | Nobody gets through. |
| `OPEN` |  |
| `GONE` |  |
| `PAINTED` |  |

| input | meaning | leads |
| --- | --- | --- |
| `PUSHED` | A hand \\| a foot. | `SHUT` → `OPEN`<br>`OPEN` → `SHUT`<br>`PAINTED` → `PAINTED` |
| `BURNT` |  | `SHUT`, `OPEN` → `GONE` |
| `SLAMMED` |  | `OPEN` → `SHUT` |
"""
    said = {
        "Door.SHUT": "Nobody gets through.",
        "Push.PUSHED": "A hand | a foot.",
        "SHUT": "of another enum",
    }

    assert tables(TABLE, said) == expected


def test_a_bar_does_not_end_a_cell():
    assert markdown(("a",), [("x|y",)]) == "| a |\n| --- |\n| x\\|y |\n"
