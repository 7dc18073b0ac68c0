"""The columns of a schema: any of the table, in any order, each with its own type."""

import re

import pytest

from jsproto_spark.errors import InvalidColumns, InvalidOption
from jsproto_spark.read.columns import (
    COLUMNS,
    MAP,
    PAIRS,
    AskedColumns,
    Fact,
    chosen,
    default_columns,
    places_only,
)


def facts(*asked, headers=None):
    return [column.fact for column in chosen(asked, "S", headers)]


def test_without_a_schema_there_are_the_six_of_the_documentation():
    assert [column.name for column in default_columns("map")] == [
        "subject", "sequence", "timestamp", "payload", "headers", "stream",
    ]  # fmt: skip
    assert {column.type for column in default_columns("array")} >= {PAIRS}
    assert "headers" not in [column.name for column in default_columns("none")]


def test_any_subset_in_any_order_is_taken():
    assert [Fact.PAYLOAD, Fact.SEQUENCE] == facts(
        AskedColumns("payload", "binary"), AskedColumns("sequence", "bigint")
    )
    assert len(COLUMNS) - 1 == len(
        facts(*(AskedColumns(each.name, each.type) for each in COLUMNS if each.type != PAIRS))
    )


def test_the_type_of_headers_says_their_form():
    assert [Fact.HEADERS_MAP] == facts(AskedColumns("headers", MAP))
    assert [Fact.HEADERS_PAIRS] == facts(AskedColumns("headers", PAIRS), headers="array")
    with pytest.raises(InvalidOption, match="headersFormat"):
        facts(AskedColumns("headers", MAP), headers="array")
    assert [Fact.SEQUENCE] == facts(AskedColumns("sequence", "bigint"), headers="array")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "expected at least one column"),
        ([AskedColumns("Payload", "binary")], "expected columns among subject, sequence"),
        ([AskedColumns("payload", "string")], "expected column payload as binary, got string"),
        (
            [AskedColumns("headers", "map<string,string>")],
            "map<string,array<string>> or array<struct",
        ),
        ([AskedColumns("size", "int"), AskedColumns("size", "int")], "expected column size once"),
        ([AskedColumns("headers", MAP, nullable=False)], "may be NULL"),
        ([AskedColumns("reply", "string", nullable=False)], "may be NULL"),
    ],
    ids=["none", "case", "type", "type of headers", "twice", "headers", "reply"],
)
def test_another_schema_is_refused_with_what_there_is(asked, said):
    with pytest.raises(InvalidColumns, match=re.escape(said)) as caught:
        facts(*asked)

    assert "stream 'S'" in str(caught.value)


def test_not_null_is_taken_where_there_is_always_something():
    assert [Fact.SEQUENCE] == facts(AskedColumns("sequence", "bigint", nullable=False))


def test_only_what_is_in_a_message_needs_its_content():
    content = {"payload", "headers", "headers_raw", "size"}

    assert content == {column.name for column in COLUMNS if not places_only([column])}
    assert not places_only(COLUMNS)
