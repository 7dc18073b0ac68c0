"""`spec/errors.toml` has every number of the server's table once, with the test that provokes it or
the reason why a client can't.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from jsproto.jetstream.api.error_codes import ERROR_CODES
from jsproto.jetstream.api.validation.rules import CONSUMER_RULES, STREAM_RULES, UPDATE_RULES

REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = tomllib.loads((REPOSITORY / "spec" / "errors.toml").read_text(encoding="utf-8"))["error"]


def test_every_number_of_the_server_stands_there_once_with_its_constant():
    assert [(row.err_code, row.constant) for row in ERROR_CODES] == [
        (row["err_code"], row["constant"]) for row in ROWS
    ]


def test_every_number_is_provoked_or_has_a_reason():
    assert [row for row in ROWS if ("provoked" in row) == (len(row.get("reason", "")) > 10)] == []


def test_the_test_that_is_named_provokes_the_number():
    by_rule = {str(rule.err_code) for rule in (*STREAM_RULES, *UPDATE_RULES, *CONSUMER_RULES)}
    said = {
        name: set(re.findall(r"\b1\d{4}\b", (REPOSITORY / name).read_text(encoding="utf-8")))
        for name in {row["provoked"] for row in ROWS if "provoked" in row}
    }
    said["tests/live/test_checks.py"] |= by_rule  # it goes through the rules one by one

    assert [
        row
        for row in ROWS
        if "provoked" in row and str(row["err_code"]) not in said[row["provoked"]]
    ] == []


def test_most_numbers_that_one_server_can_say_are_provoked():
    assert sum("provoked" in row for row in ROWS) >= 175
