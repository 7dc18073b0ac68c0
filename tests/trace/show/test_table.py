import json
import zlib

from jsproto.trace.show.describe import Meaning
from jsproto.trace.show.subscription_status import DOWN
from jsproto.trace.show.table import BLOCK, MOST_SHOWN, MOST_WORDS, Table

PING = Meaning("ping", {})


def row(table, **values):
    table.add(
        **{
            "line": 1,
            "at": 0.0,
            "conn": "a",
            "way": "<",
            "words": "PING",
            "meaning": PING,
            **values,
        }
    )
    return table


def unpacked(table):
    return [json.loads(zlib.decompress(block)) for block in table.blocks]


def test_a_row_is_a_number_in_each_column_and_what_repeats_stands_once():
    table = Table()
    row(table, line=3, at=0.5, size=6, standing=DOWN, pull=2)
    row(
        table,
        line=4,
        at=1.25,
        conn="b",
        way=">",
        words="PONG",
        meaning=Meaning("pong", {}),
        standing=DOWN,
    )
    row(table, line=5, at=1.5)

    assert table.as_json() == {
        "rows": {
            "way": "<><",
            "line": [3, 4, 5],
            "at": [500_000, 1_250_000, 1_500_000],
            "conn": [0, 1, 0],
            "kind": [0, 1, 0],
            "words": ["PING", "PONG", "PING"],
            "size": [6, 0, 0],
            "standing": [0, 0, -1],
            "pull": [2, -1, -1],
            "pair": [-1, -1, -1],
        },
        "conns": ["a", "b"],
        "kinds": ["ping", "pong"],
        "standing": DOWN._fields,
        "standings": [DOWN],
        "block": BLOCK,
    }


def test_time_never_runs_back_and_ends_some_day():
    table = Table()
    for at in (1.0, 0.5, 1e15, 2.0):
        row(table, at=at)

    assert table.as_json()["rows"]["at"] == [10**6, 10**6, 10**15, 10**15]


def test_what_is_looked_at_row_by_row_is_packed_block_by_block():
    table = Table()
    for number in range(BLOCK + 1):
        row(table, meaning=Meaning("ping", {"number": number}), text="PING\\r\\n")

    assert len(table.blocks) == 1
    table.pack()
    table.pack()
    first, second = unpacked(table)
    assert first == [[{"number": number}, "PING\\r\\n"] for number in range(BLOCK)]
    assert second == [[{"number": BLOCK}, "PING\\r\\n"]]


def test_words_and_bytes_of_any_length_are_bounded():
    table = row(Table(), words="w" * (MOST_WORDS + 1), text="t" * (MOST_SHOWN + 1))
    table.pack()

    assert table.as_json()["rows"]["words"] == ["w" * MOST_WORDS + "…"]
    assert unpacked(table) == [[[{}, "t" * MOST_SHOWN + "…"]]]


def test_whole_numbers_that_not_every_reader_knows_exactly_are_text():
    table = row(
        Table(), meaning=Meaning("delivery", {"sequence": 2**64 - 1, "left": 2**53 - 1, "s": 1.5})
    )
    table.pack()

    assert unpacked(table)[0][0][0] == {"sequence": str(2**64 - 1), "left": 2**53 - 1, "s": 1.5}


def test_a_table_is_as_long_as_its_rows():
    assert [len(Table()), len(row(row(Table())))] == [0, 2]
