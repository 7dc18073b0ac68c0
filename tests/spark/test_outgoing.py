"""Rows as messages: which columns a sink takes, and what each row asks of the stream."""

import re

import pytest

from jsproto.errors import InvalidHeader
from jsproto_spark.errors import InvalidColumns
from jsproto_spark.options import Use, settings_of
from jsproto_spark.read.columns import MAP, PAIRS, AskedColumns
from jsproto_spark.write.rows import outgoing

PAYLOAD = AskedColumns("payload", "binary")
SUBJECT = AskedColumns("subject", "string")


def made(*schema, **options):
    return outgoing(schema, settings_of({"stream": "S", **options}, Use.BATCH_WRITE))


def messages(out, ids=None, **columns):
    count = len(next(iter(columns.values())))
    return [
        (subject, payload, None if headers is None else headers.items())
        for subject, payload, headers in out.items(columns, count, ids)
    ]


def test_a_row_is_published_where_it_says_and_the_stream_is_expected():
    out = made(SUBJECT, PAYLOAD)

    assert [
        ("a", b"1", (("Nats-Expected-Stream", "S"),)),
        ("b", b"2", (("Nats-Expected-Stream", "S"),)),
    ] == messages(out, subject=["a", "b"], payload=[b"1", b"2"])


def test_all_rows_go_to_the_subject_of_the_option():
    [(subject, payload, _)] = messages(
        made(AskedColumns("payload", "string"), subject="a"), payload=["é"]
    )

    assert ("a", "é".encode()) == (subject, payload)


def test_bytes_are_bytes():  # a payload is never read as text
    raw = bytes.fromhex("00ff80c328")

    assert raw == messages(made(PAYLOAD, subject="a"), payload=[raw])[0][1]


def test_an_id_is_the_column_of_that_name_or_of_the_option_or_by_place():
    by_name = made(PAYLOAD, AskedColumns("msg_id", "string"), subject="a")
    by_option = made(PAYLOAD, AskedColumns("key", "bigint"), subject="a", msgIdColumn="key")
    by_place = made(PAYLOAD, subject="a", autoMsgId="true")

    assert ("Nats-Msg-Id", "x") in messages(by_name, payload=[b""], msg_id=["x"])[0][2]
    assert ("Nats-Msg-Id", "7") in messages(by_option, payload=[b""], key=[7])[0][2]
    assert ("Nats-Msg-Id", "q:0:1:0") in messages(by_place, ids=["q:0:1:0"], payload=[b""])[0][2]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (MAP, [("A", ["1", "2"]), ("B", ["3"]), ("C", None)]),
        (
            PAIRS,
            [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
        ),
    ],
)
def test_headers_are_taken_in_the_form_in_which_they_are_read(kind, value):
    out = made(PAYLOAD, AskedColumns("headers", kind), subject="a")

    assert (("A", "1"), ("A", "2"), ("B", "3"), ("Nats-Expected-Stream", "S")) == messages(
        out, payload=[b""], headers=[value]
    )[0][2]
    assert (("Nats-Expected-Stream", "S"),) == messages(out, payload=[b""], headers=[None])[0][2]


def test_a_map_of_single_values_is_taken_too():
    out = made(PAYLOAD, AskedColumns("headers", "map<string,string>"), subject="a")

    assert ("A", "1") in messages(out, payload=[b""], headers=[[("A", "1")]])[0][2]
    with pytest.raises(InvalidHeader):
        messages(out, payload=[b""], headers=[[("A:", "1")]])


def test_the_last_sequence_of_the_subject_is_expected_where_a_row_says_one():
    out = made(PAYLOAD, AskedColumns("expected_last_subject_sequence", "bigint"), subject="a")
    first, second = messages(out, payload=[b"", b""], expected_last_subject_sequence=[0, None])

    assert ("Nats-Expected-Last-Subject-Sequence", "0") in first[2]
    assert (("Nats-Expected-Stream", "S"),) == second[2]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"subject": [None], "payload": [b""], "msg_id": ["x"]}, "subject"),
        ({"subject": ["a"], "payload": [None], "msg_id": ["x"]}, "payload"),
        ({"subject": ["a"], "payload": [b""], "msg_id": [None]}, "msg_id"),
    ],
)
def test_null_is_refused_where_there_must_be_something(columns, name):
    with pytest.raises(InvalidColumns, match=f"column {name} of every row"):
        messages(made(SUBJECT, PAYLOAD, AskedColumns("msg_id", "string")), **columns)


@pytest.mark.parametrize(
    ("schema", "options", "said"),
    [
        (
            [PAYLOAD, AskedColumns("sequence", "bigint")],
            {"subject": "a"},
            "got 'sequence': select",
        ),
        (
            [AskedColumns("payload", "int")],
            {"subject": "a"},
            "column payload as binary or string, got int",
        ),
        ([SUBJECT], {}, "expected a column payload"),
        ([PAYLOAD], {}, "option subject: expected it or a column subject, got none"),
        ([PAYLOAD, SUBJECT], {"subject": "a"}, "got both"),
        (
            [PAYLOAD],
            {"subject": "a", "msgIdColumn": "key"},
            "option msgIdColumn: expected a column key",
        ),
        (
            [PAYLOAD, AskedColumns("msg_id", "string")],
            {"subject": "a", "autoMsgId": "true"},
            "option autoMsgId",
        ),
    ],
    ids=["unknown", "type", "no payload", "nowhere", "twice", "no id", "two ids"],
)
def test_what_is_wrong_with_the_columns_is_said_before_a_row_is_seen(schema, options, said):
    with pytest.raises(InvalidColumns, match=re.escape(said)) as caught:
        made(*schema, **options)

    assert "stream 'S'" in str(caught.value)
