"""Runs of messages as Arrow batches, equal in schema to what Spark makes of its own types."""

import inspect
from itertools import combinations

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from jsproto.jetstream.range_read.rows import DeliveredRows, StoredRows
from jsproto_spark.read import arrow, bulk
from jsproto_spark.read.arrow import BATCH, arrow_schema, asked, batches, record_batch
from jsproto_spark.read.columns import COLUMNS, MAP, PAIRS, Fact, chosen

SPARK_TYPES = {
    "string": StringType(),
    "bigint": LongType(),
    "int": IntegerType(),
    "binary": BinaryType(),
    "timestamp": TimestampType(),
    MAP: MapType(StringType(), ArrayType(StringType())),
    PAIRS: ArrayType(
        StructType([StructField("name", StringType()), StructField("value", StringType())])
    ),
}


def schema_of(*names, pairs=False, nullable=True):
    columns = [
        column
        for name in names
        for column in COLUMNS
        if column.name == name and (name != "headers" or (column.type == PAIRS) == pairs)
    ]
    return StructType(
        [StructField(each.name, SPARK_TYPES[each.type], nullable) for each in columns]
    )


def made(held, *names, pairs=False):
    schema = schema_of(*names, pairs=pairs)
    columns = chosen(asked(schema), "S", None)
    return record_batch(held, columns, arrow_schema(columns, schema)).to_pydict()


def delivered(*messages, start=1):
    """Messages ``(subject, block, payload)`` as a consumer delivers them."""
    frames = [
        (
            1,
            subject,
            f"$JS.ACK.S.c.1.{seq}.{seq + 10}.{1_700_000_000_000_001_999 + seq}.{7 - seq}",
            block,
            payload,
        )
        for seq, (subject, block, payload) in enumerate(messages, start)
    ]
    return DeliveredRows("S", frames)


def block(*pairs):
    return "NATS/1.0\r\n{}\r\n".format(
        "".join(f"{name}: {value}\r\n" for name, value in pairs)
    ).encode()


def sparks_own(schema):
    """Spark's Arrow schema; its arguments are not those of the version before."""
    wanted = inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if "timezone" in wanted else {}))


NAMES = list(dict.fromkeys(column.name for column in COLUMNS))


@pytest.mark.parametrize("size", [1, 2, len(NAMES)])
@pytest.mark.parametrize("pairs", [False, True])
def test_the_schema_is_exactly_sparks_for_every_choice_of_columns(size, pairs):
    for names in combinations(NAMES, size):
        schema = schema_of(*names, pairs=pairs)
        columns = chosen(asked(schema), "S", None)

        assert arrow_schema(columns, schema).equals(sparks_own(schema), check_metadata=True)


def test_not_null_stays_not_null():
    schema = schema_of("sequence", "payload", nullable=False)
    columns = chosen(asked(schema), "S", None)

    assert arrow_schema(columns, schema).equals(sparks_own(schema))
    assert not arrow_schema(columns, schema).field("sequence").nullable


def test_what_a_delivery_says_fills_the_columns():
    rows = delivered(("a.b", block(("A", "1")), b"\x00\xff"), ("c", None, b""))
    seen = made(
        [rows],
        "subject",
        "sequence",
        "timestamp_ns",
        "payload",
        "stream",
        "consumer",
        "consumer_sequence",
        "delivered",
        "pending",
        "size",
        "domain",
        "headers_raw",
    )

    assert {
        "subject": ["a.b", "c"],
        "sequence": [1, 2],
        "timestamp_ns": [1_700_000_000_000_002_000, 1_700_000_000_000_002_001],
        "payload": [b"\x00\xff", b""],
        "stream": ["S", "S"],
        "consumer": ["c", "c"],
        "consumer_sequence": [11, 12],
        "delivered": [1, 1],
        "pending": [6, 5],
        "size": [3 + 18 + 2, 1],
        "domain": [None, None],
        "headers_raw": [block(("A", "1")), None],
    } == seen


def test_a_time_is_cut_to_its_microsecond():
    [moment] = made([delivered(("a", None, b""))], "timestamp")["timestamp"]

    assert 2 == moment.microsecond  # 2,000 ns and a little
    assert 1_700_000_000 == int(moment.timestamp())


def test_the_map_has_all_values_of_a_name_and_null_where_there_are_no_headers():
    rows = delivered(
        ("a", None, b""),
        ("a", block(("A", "1"), ("B", "2")), b""),
        ("a", block(("A", "1"), ("B", "2"), ("A", "3")), b""),
        ("a", b"NATS/1.0\r\n\r\n", b""),
        ("a", block(("C", "4")), b""),
    )

    assert [
        None,
        [("A", ["1"]), ("B", ["2"])],
        [("A", ["1", "3"]), ("B", ["2"])],
        None,
        [("C", ["4"])],
    ] == made([rows], "headers")["headers"]


def test_pairs_keep_order_case_and_repetitions():
    rows = delivered(("a", block(("b", "2"), ("A", "1"), ("b", "3")), b""), ("a", None, b""))
    seen = made([rows], "headers", pairs=True)["headers"]

    assert [[("b", "2"), ("A", "1"), ("b", "3")], None] == [
        each and [(pair["name"], pair["value"]) for pair in each] for each in seen
    ]


def test_bytes_that_are_no_text_are_shown_and_kept_raw():
    raw = b"NATS/1.0\r\nA: \xff\r\n\r\n"
    rows = delivered(("a\udcff", raw, b""))
    seen = made([rows], "subject", "headers", "headers_raw", "size")

    assert "a\ufffd" == seen["subject"][0]
    assert [("A", ["\ufffd"])] == seen["headers"][0]
    assert raw == seen["headers_raw"][0]
    assert 2 + len(raw) == seen["size"][0]


def test_a_direct_get_tells_no_delivery_and_what_it_appends_is_no_header():
    # 4.9: the answer's own headers stand behind the stored ones; a republished message has the same
    # names itself.
    stored = block(("Nats-Sequence", "77"), ("A", "1"))
    frame = (
        1,
        "_INBOX.x",
        "",
        stored[:-2]
        + b"Nats-Stream: S\r\nNats-Subject: a.b\r\nNats-Sequence: 5\r\nNats-Time-Stamp: 2026-01-01T00:00:00Z\r\n\r\n",
        b"x",
    )
    seen = made(
        [StoredRows("S", [frame])],
        "subject",
        "sequence",
        "headers",
        "headers_raw",
        "consumer",
        "delivered",
        "pending",
        "reply",
        "consumer_sequence",
    )

    assert {
        "subject": ["a.b"],
        "sequence": [5],
        "headers": [[("Nats-Sequence", ["77"]), ("A", ["1"])]],
        "headers_raw": [stored],
        "consumer": [None],
        "delivered": [None],
        "pending": [None],
        "reply": [None],
        "consumer_sequence": [None],
    } == seen


def test_runs_of_two_consumers_say_both():
    first, second = (
        delivered(("a", None, b"")),
        delivered(("a", None, b""), ("a", None, b""), start=2),
    )
    second.frames = [
        (*frame[:2], frame[2].replace(".c.", ".d."), *frame[3:]) for frame in second.frames
    ]

    assert ["c", "d", "d"] == made([first, second], "consumer")["consumer"]


def test_what_no_column_wants_is_never_read(monkeypatch):
    asked_for = []

    def noting(name, whole):
        def read(given):
            asked_for.append(name)
            return whole(given)

        return read

    for name in ("numbers", "headers"):
        monkeypatch.setattr(bulk, name, noting(name, getattr(bulk, name)))
    rows = delivered(("a", block(("A", "1")), b""))
    made([rows], "payload", "subject", "stream", "headers_raw")
    assert ([], frozenset()) == (asked_for, rows.parsed)

    made(
        [rows], "sequence", "timestamp"
    )  # acceptance 11: no header parsed for .schema("sequence BIGINT")
    assert (["numbers"], frozenset()) == (asked_for, rows.parsed)

    made([rows], "headers")
    assert (["numbers", "headers"], frozenset()) == (asked_for, rows.parsed)


def test_what_is_not_of_one_form_is_read_by_the_core():
    rows = delivered(("a", block(("A", "1")), b""), ("a", None, b""))
    rows.frames = [
        (*rows.frames[0][:2], rows.frames[0][2].replace(".c.", ".d."), *rows.frames[0][3:]),
        rows.frames[1],
    ]

    assert {"sequence": [1, 2], "headers": [[("A", ["1"])], None]} == made(
        [rows], "sequence", "headers"
    )
    assert frozenset({"places", "headers"}) == rows.parsed


def test_large_messages_make_small_batches(monkeypatch):
    monkeypatch.setattr(arrow, "BYTES", 1000)
    runs = [delivered(*[("a", None, b"x" * 300)] * 2, start=1 + 2 * number) for number in range(5)]
    schema = schema_of("sequence")
    columns = chosen(asked(schema), "S", None)

    assert [4, 4, 2] == [
        batch.num_rows for batch in batches(iter(runs), columns, arrow_schema(columns, schema))
    ]


def test_short_runs_are_put_together_and_nothing_is_held_back():
    runs = [delivered(*[("a", None, b"")] * 3000, start=1 + 3000 * number) for number in range(5)]
    schema = schema_of("sequence")
    columns = chosen(asked(schema), "S", None)
    sizes = [
        batch.num_rows for batch in batches(iter(runs), columns, arrow_schema(columns, schema))
    ]

    assert [12_000, 3000] == sizes
    assert BATCH <= sizes[0]
    assert [] == list(batches(iter([]), columns, arrow_schema(columns, schema)))
    assert isinstance(arrow_schema(columns, schema), pa.Schema)


FACTS_WITH_COLUMNS = {column.fact for column in COLUMNS}


def test_every_fact_has_a_column():
    assert set(Fact) == FACTS_WITH_COLUMNS
