"""One incarnation alone: its name, its inbox, its creation, and how that ends."""

from __future__ import annotations

import json

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ConnectionLost, InvalidResponse, RequestTimeout
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered.ephemeral import EphemeralConsumer
from jsproto.jetstream.ordered.options import OrderedOptions, SourceKind
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.wire.commands import Sub

ALL = StartPoint("all", None, None)
CREATE = "$JS.API.CONSUMER.CREATE.S."


def new(**options: object) -> tuple[EphemeralConsumer, Port]:
    return EphemeralConsumer(ApiSubjects(), "S", OrderedOptions(**options)), Port()


def made(name: str, **config: object) -> dict[str, object]:
    return {"stream_name": "S", "name": name, "config": config}


def answer(each: EphemeralConsumer, port: Port, body: dict[str, object], now: float) -> None:
    call = port.commands[-1]
    frame = ("1", call.reply, "", None, json.dumps(body).encode())
    each.script.replied(port, int(call.reply.rpartition(".")[2]), frame, now)


def asked(port: Port) -> dict[str, object]:
    return json.loads(port.commands[-1].payload)


# ------------------------------------------------------------------ name and inbox


def test_an_inbox_for_pulls_is_all_below_a_stem():
    each, port = new()
    each.inbox(port, literal=False)

    assert port.commands == [Sub("_INBOX.P.1.1.*", "2")]
    assert each.name == "8S8g6aVhigSYlICZC8RwNb-1-1"


def test_an_inbox_to_deliver_to_is_one_subject():
    each, port = new(name_prefix="w-")
    each.inbox(port, literal=True)

    assert port.commands == [Sub("_INBOX.P.1.1.1", "2")]
    assert each.name == "w-8S8g6aVhigSYlICZC8RwNb-1-1"


@pytest.mark.parametrize("literal", [True, False])
def test_each_incarnation_has_another_inbox_and_name(literal):
    each, port = new()
    names, subjects = set(), set()
    for _ in range(3):
        each.inbox(port, literal=literal)
        names.add(each.name)
        subjects.add(port.subject)

    assert (len(names), len(subjects)) == (3, 3)


def test_an_inbox_that_the_connection_has_renewed_is_taken_as_it_is():
    each, port = new()
    each.inbox(port, literal=False)
    port.renew()
    port.commands.clear()
    each.inbox(port, literal=False)
    assert (port.commands, each.name, port.subject) == (
        [],
        "8S8g6aVhigSYlICZC8RwNb-1-2",
        "_INBOX.P.1.2.*",
    )

    each.inbox(port, literal=False)
    assert (each.name, port.subject) == ("8S8g6aVhigSYlICZC8RwNb-1-3", "_INBOX.P.1.3.*")


def test_an_inbox_that_was_given_up_is_not_taken_again():
    each, port = new()
    each.inbox(port, literal=False)
    port.unsubscribe()
    each.inbox(port, literal=False)

    assert (each.name, port.subject) == ("8S8g6aVhigSYlICZC8RwNb-1-2", "_INBOX.P.1.2.*")


# ------------------------------------------------------------------ the creation


def test_a_creation_says_name_start_and_that_no_other_is_to_be_changed():
    each, port = new(config=ConsumerConfig(filter_subject="s.a"))
    each.inbox(port, literal=False)
    each.ask(port, StartPoint("by_start_sequence", 7, None), "", 1.0)

    assert port.commands[-1].subject == f"{CREATE}8S8g6aVhigSYlICZC8RwNb-1-1.s.a"
    assert asked(port)["action"] == "create"
    config = asked(port)["config"]
    assert (config["name"], config["deliver_policy"], config["opt_start_seq"]) == (
        "8S8g6aVhigSYlICZC8RwNb-1-1",
        "by_start_sequence",
        7,
    )
    assert "deliver_subject" not in config


def test_a_creation_says_where_to_deliver():
    each, port = new(form=SourceKind.PUSH)
    each.inbox(port, literal=True)
    each.ask(port, ALL, port.subject, 1.0)

    assert asked(port)["config"]["deliver_subject"] == "_INBOX.P.1.1.1"


def test_a_creation_waits_for_its_answer_as_long_as_the_options_say():
    each, port = new(create_timeout=2.0)
    assert each.deadline is None
    each.inbox(port, literal=False)
    each.ask(port, ALL, "", 1.0)
    assert (each.deadline, each.outcome(2.9)) == (3.0, None)

    each.script.ticked(port, 3.0)
    assert isinstance(each.outcome(3.0), RequestTimeout)
    assert (each.outcome(3.0), each.deadline) == (None, None)


def test_it_lives_from_the_moment_it_was_asked_for_and_then_from_the_moment_it_was_made():
    each, port = new()
    each.inbox(port, literal=False)
    each.ask(port, ALL, "", 1.5)
    assert (each.since, each.made, each.count) == (1.5, False, 1)
    answer(each, port, made("8S8g6aVhigSYlICZC8RwNb-1-1"), 2.0)

    assert each.outcome(2.25).name == "8S8g6aVhigSYlICZC8RwNb-1-1"
    assert (each.since, each.made, each.count) == (2.25, True, 1)


def test_a_creation_that_failed_made_none_and_is_counted():
    each, port = new()
    for now in (1.0, 2.0):
        each.inbox(port, literal=False)
        each.ask(port, ALL, "", now)
        each.script.link_down(port, now + 0.5)
        assert isinstance(each.outcome(now + 0.5), ConnectionLost)

    assert (each.since, each.made, each.count) == (2.0, False, 2)


def test_an_answer_that_names_another_consumer_is_none_and_says_both_names():
    each, port = new()
    each.inbox(port, literal=False)
    each.ask(port, ALL, "", 1.0)
    answer(each, port, made("other"), 2.0)
    outcome = each.outcome(2.0)

    assert isinstance(outcome, InvalidResponse)
    assert (
        str(outcome)
        == "expected the consumer 8S8g6aVhigSYlICZC8RwNb-1-1 to be created, the server has made other"
    )
    assert (each.made, each.since) == (False, 1.0)


# ------------------------------------------------------------------ late answers


def late(body: bytes) -> str:
    return new()[0].late(("1", "_INBOX.R.1.9", "", None, body))


def test_a_late_answer_names_the_consumer_that_was_made():
    assert (
        late(json.dumps(made("8S8g6aVhigSYlICZC8RwNb-1-1")).encode())
        == "8S8g6aVhigSYlICZC8RwNb-1-1"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"gibberish",
        b"{}",
        b'{"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}',
        b'{"error": 7}',
        b'{"stream_name": "S", "name": "8S8g6aVhigSYlICZC8RwNb-1-1", "config": 7}',
    ],
)
def test_a_late_answer_that_names_none_is_nothing(body):
    assert late(body) == ""


# ------------------------------------------------------------------ snapshots


def test_a_creation_goes_on_after_a_snapshot():
    each, port = new(form=SourceKind.PUSH)
    each.inbox(port, literal=True)
    each.ask(port, StartPoint("by_start_sequence", 7, None), port.subject, 1.0)
    again, _ = new(form=SourceKind.PUSH)
    again.restore(each.snapshot())
    assert again.snapshot() == each.snapshot()
    assert again.deadline == 6.0

    answer(again, port, made("8S8g6aVhigSYlICZC8RwNb-1-1"), 2.0)
    assert again.outcome(2.0).name == "8S8g6aVhigSYlICZC8RwNb-1-1"
    assert again.snapshot()["script"] is None


def test_a_creation_that_was_not_answered_is_forgotten_where_the_snapshot_knows_of_none():
    each, port = new()
    empty = each.snapshot()
    each.inbox(port, literal=False)
    each.ask(port, ALL, "", 1.0)
    each.restore(empty)

    assert (each.script, each.name, each.count) == (None, "", 0)
