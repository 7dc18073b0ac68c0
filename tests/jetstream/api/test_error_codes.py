"""The table of error codes is the server's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jsproto.jetstream.api.error_codes import BY_ERR_CODE, ERROR_CODES


def test_every_number_and_every_constant_is_there_once() -> None:
    assert len(ERROR_CODES) == 226
    assert len({row.err_code for row in ERROR_CODES}) == 226
    assert len({row.constant for row in ERROR_CODES}) == 226
    assert BY_ERR_CODE[10059].constant == "JSStreamNotFoundErr"
    assert BY_ERR_CODE[10059].code == 404


def test_every_row_has_an_http_like_code_and_a_text() -> None:
    odd = [
        row
        for row in ERROR_CODES
        if not (400 <= row.code <= 503 and row.description and row.constant.startswith("JS"))
    ]

    assert odd == []


def test_the_table_equals_the_list_of_the_server_where_that_is_at_hand(traces: Path) -> None:
    source = traces.parent / "errors.json"
    if not source.is_file():
        pytest.skip("no list of the server here")
    rows = [
        (row["err_code"], row["constant"], row["code"], row["description"])
        for row in json.loads(source.read_text())
    ]

    assert [tuple(row) for row in ERROR_CODES] == rows
