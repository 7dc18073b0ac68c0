"""``spec/acks.toml`` says what the machines read and write, and what the lint holds clients to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_type_hints

import pytest

from jsproto.jetstream.delivery.ack import (
    ACK,
    IN_PROGRESS,
    NAK,
    TERM,
    AckSubject,
    InvalidAckSubject,
    Nak,
    Next,
    Term,
)
from jsproto.trace.judge.lint import RULES
from jsproto.trace.observe.facts import Acked
from jsproto.trace.observe.ledger import SeenDelivery, SeenLink
from jsproto.wire.client_commands import PubLine

SPEC = tomllib.loads((Path(__file__).resolve().parents[2] / "spec/acks.toml").read_text())
JUDGE = {rule.name: rule.judge for rule in RULES if rule.fact is Acked}


def said(body: bytes, *, settled: bool = False) -> Acked:
    delivery = SeenDelivery(("S", "C"), 2)
    link = SeenLink(conn="a", at=0.0, number=0)
    if settled:
        delivery.settled, delivery.link = b"+ACK", link
    return Acked(link, PubLine("$JS.ACK.S.C.1.1.1.1.0", "", None, body), delivery, None, None)


@pytest.mark.parametrize("example", SPEC["example"], ids=lambda each: each["subject"])
def test_each_example_is_read_as_it_says(example):
    read = AckSubject.parse(example["subject"])
    fields = {"domain": "", "account_hash": "", **example}
    del fields["subject"]

    assert {name: getattr(read, name) for name in fields} == fields


@pytest.mark.parametrize("example", SPEC["invalid"], ids=lambda each: each["why"])
def test_each_invalid_example_is_refused(example):
    with pytest.raises(InvalidAckSubject):
        AckSubject.parse(example["subject"])


def test_the_forms_are_those_of_the_examples():
    short, long = SPEC["form"]

    assert len(short["fields"]) == short["tokens"] == 9
    assert len(long["fields"]) == long["tokens"] == 11
    assert [field for field in long["fields"] if field not in {"domain", "account_hash"}] == short[
        "fields"
    ]
    assert set(long["fields"][2:]) == set(AckSubject._fields) - {"tail"}
    assert set(SPEC["numbers"]["fields"]) == {
        name for name, kind in get_type_hints(AckSubject).items() if kind is int
    }
    assert SPEC["numbers"]["most"] == 2**64 - 1


def test_what_is_written_is_a_body_of_the_table():
    exact = {row["bytes"].encode() for row in SPEC["body"] if row["match"] == "exact"}
    beginnings = tuple(row["bytes"].encode() for row in SPEC["body"] if row["match"] == "beginning")

    for verb in (ACK, NAK, Nak(1.5), IN_PROGRESS, TERM, Term("reason"), Next(batch=2)):
        assert verb.payload() in exact or verb.payload().startswith(beginnings)


@pytest.mark.parametrize("row", SPEC["body"], ids=lambda each: each["bytes"] or "empty")
def test_each_body_is_known_to_the_lint_and_settles_as_it_says(row):
    body = row["bytes"].encode()

    assert JUDGE["ack-body-unknown"](said(body)) is None
    assert (JUDGE["ack-twice"](said(body, settled=True)) is not None) == row["settles"]


@pytest.mark.parametrize("row", SPEC["ignored"], ids=lambda each: each["bytes"])
def test_each_ignored_body_is_found_by_the_lint(row):
    assert JUDGE["ack-body-unknown"](said(row["bytes"].encode())) is not None
