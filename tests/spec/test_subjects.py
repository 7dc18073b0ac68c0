"""``spec/subjects.toml`` says what the code writes and reads, and what the recordings show."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.trace.formats.reading import Trace
from jsproto.trace.observe import client
from jsproto.trace.observe.observer import Observer
from jsproto.trace.observe.requests import Requests

SPEC = tomllib.loads((Path(__file__).resolve().parents[2] / "spec/subjects.toml").read_text())
CALLS = SPEC["call"]
WRITTEN = [row for row in CALLS if "method" in row]
NAMES = {
    "stream": "S",
    "consumer": "C",
    "filter": "orders.new",
    "subject": "orders.new",
    "account": "A",
    "template": "T",
}

each_call = pytest.mark.parametrize("row", CALLS, ids=[row["call"] for row in CALLS])


def placed(form: str) -> tuple[str, str, list[str]]:
    """The subject of a form, its verb and its names, with a name in each place."""
    verb = form.partition(".<")[0]
    names = [NAMES[each] for each in re.findall(r"<([a-z]+)>", form)]
    return ".".join(["$JS.API", verb, *names]), verb, names


@each_call
def test_each_call_is_read_as_that_call(row):
    subject, verb, names = placed(row["call"])

    assert client.api_call(subject) == (verb, tuple(".".join(names).split(".")) if names else ())


@pytest.mark.parametrize("row", WRITTEN, ids=[row["call"] for row in WRITTEN])
def test_each_call_is_written_as_that_call(row):
    subject, _, names = placed(row["call"])

    assert getattr(ApiSubjects(), row["method"])(*names) == subject


def test_no_call_that_the_code_writes_or_reads_is_missing():
    methods = {
        name for name, _ in inspect.getmembers(ApiSubjects, inspect.isfunction) if name[0] != "_"
    }

    assert methods == {row["method"] for row in WRITTEN}
    assert {placed(row["call"])[1] for row in CALLS} == client._VERBS


def test_answers_have_the_types_that_were_recorded(traces, monkeypatch):
    known = {}
    for row in CALLS:
        known.setdefault(placed(row["call"])[1], set()).add(row.get("answer", ""))
    seen, strange = set(), set()

    def answer(self, link, request, payload):
        body = client.json_object(payload) or {}
        kind = str(body.get("type", "")).removeprefix("io.nats.jetstream.api.v1.")
        if kind:
            seen.add(kind)
            if kind not in known.get(request.verb, ()) and kind != "system_response":
                strange.add((request.verb, kind))

    monkeypatch.setattr(Requests, "answer", answer)
    for path in traces.rglob("*.jsonl"):
        observer = Observer(lambda fact: None)
        with path.open("rb") as file:
            for line, record in Trace(file).records():
                observer.feed(line, record)

    assert strange == set()
    assert len(seen) > 20


@each_call
def test_every_call_says_all_that_the_file_promises(row):
    assert (
        {"call", "body"}
        <= set(row)
        <= {"call", "method", "body", "answer", "since", "until", "note"}
    )
    assert "answer" in row or "note" in row  # what is answered that is no object
    assert (
        "method" in row or "until" in row
    )  # what jsproto does not ask is what servers have given up
    assert all(row.values())


def test_every_other_subject_says_all_that_the_file_promises():
    assert len(SPEC["subject"]) > 4
    assert all(set(row) == {"form", "what"} and all(row.values()) for row in SPEC["subject"])
