"""The server says the same number as the offline rule, for every rule; and what is not found fault
with, it takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta

import pytest

from jsproto.core.conversation.procedure import Procedure
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.errors import JetStreamError, RequestContext, StreamNotFound
from jsproto.jetstream.api.requests.manage import request
from jsproto.jetstream.api.validation.api_level import check_level, required_level
from jsproto.jetstream.api.validation.error_setting import blamed
from jsproto.jetstream.api.validation.rules import (
    CONSUMER_RULES,
    STREAM_RULES,
    UPDATE_RULES,
    ConfigRule,
    check_consumer,
    check_stream,
    check_stream_update,
)
from jsproto_io.blocking import Client, connect
from tests.jetstream.api import check_examples as examples

pytestmark = pytest.mark.live


def named(rule: ConfigRule) -> str:
    return f"{rule.setting}: {rule.text}"


@pytest.fixture(scope="module")
def nc(nats_server) -> Iterator[Client]:
    with connect(nats_server.url) as client:
        yield client


@pytest.fixture(autouse=True)
def gone(nc: Client) -> Iterator[None]:
    yield
    with contextlib.suppress(StreamNotFound):
        nc.jetstream().delete_stream("CHECK")


def stream(**settings: object) -> StreamConfig:
    return StreamConfig(
        **{"name": "CHECK", "subjects": ["check.>"], "storage": "memory", **settings}
    )


def ask(nc: Client, verb: str, body: dict[str, object], *, pedantic: bool) -> dict[str, object]:
    """The configuration as it is, past everything that would hold it up here."""
    sent = {**body, "pedantic": True} if pedantic else body
    expected = next(each for each in AnswerType if each.name == "_".join(verb.split(".")[:2]))
    return nc.run(
        Procedure(
            lambda: request(f"$JS.API.{verb}", RequestContext(what=verb), expected, body=sent)
        )
    )


@pytest.mark.parametrize("rule", STREAM_RULES, ids=named)
def test_a_stream_is_refused_with_the_number_of_its_rule(nc: Client, rule: ConfigRule) -> None:
    config = stream(**examples.STREAMS[rule.setting, rule.text])
    with pytest.raises(JetStreamError) as caught:
        ask(nc, "STREAM.CREATE.CHECK", config.to_wire(), pedantic=rule.pedantic)

    assert (caught.value.err_code, named(rule)) == (rule.err_code, named(rule))
    assert (
        blamed(caught.value, check_stream(config, pedantic=rule.pedantic)).setting == rule.setting
    )


@pytest.mark.parametrize(
    "rule",
    [each for each in UPDATE_RULES if (each.setting, each.text) not in examples.NOT_SENT],
    ids=named,
)
def test_an_update_is_refused_with_the_number_of_its_rule(nc: Client, rule: ConfigRule) -> None:
    before, after = examples.UPDATES[rule.setting, rule.text]
    if before.get("sealed"):
        nc.jetstream().create_stream(stream())
        nc.jetstream().stream("CHECK").seal()
    else:
        nc.jetstream().create_stream(stream(**before))
    with pytest.raises(JetStreamError) as caught:
        ask(nc, "STREAM.UPDATE.CHECK", stream(**after).to_wire(), pedantic=rule.pedantic)

    assert caught.value.err_code == rule.err_code
    assert (
        blamed(caught.value, check_stream_update(stream(**before), stream(**after))).setting
        == rule.setting
    )


@pytest.mark.parametrize(
    "rule",
    [each for each in CONSUMER_RULES if (each.setting, each.text) not in examples.NOT_SENT],
    ids=named,
)
def test_a_consumer_is_refused_with_the_number_of_its_rule(nc: Client, rule: ConfigRule) -> None:
    settings, of = examples.CONSUMERS[rule.setting, rule.text]
    if rule.err_code == 10098:
        settings, of = examples.WORKQUEUE_ALL
    nc.jetstream().create_stream(stream(**of))
    body = {"stream_name": "CHECK", "config": ConsumerConfig(**settings).to_wire()}
    with pytest.raises(JetStreamError) as caught:
        ask(nc, "CONSUMER.CREATE.CHECK.C", body, pedantic=rule.pedantic)

    assert caught.value.err_code == rule.err_code
    found = check_consumer(ConsumerConfig(**settings), pedantic=rule.pedantic)
    assert blamed(caught.value, found).setting == rule.setting


def test_a_refusal_names_the_setting_whoever_asked(nc: Client) -> None:
    js = nc.jetstream()
    made = js.create_stream(stream(storage="memory"))
    for setting, ask_for in (
        ("num_replicas", lambda: js.create_stream(stream(name="OTHER", num_replicas=3))),
        ("subjects", lambda: js.create_stream(stream(name="OTHER"))),
        ("max_age", lambda: js.update_stream(stream(max_age=timedelta(milliseconds=1)))),
        ("storage", lambda: made.change(storage="file")),
        ("deliver_subject", lambda: made.create_consumer(name="C", deliver_subject="a.*")),
        ("misspelt", lambda: js.create_stream(stream(name="OTHER", extra={"misspelt": 1}))),
    ):
        with pytest.raises(JetStreamError, match=f"setting {setting}") as caught:
            ask_for()
        assert caught.value.setting == setting


def test_the_server_says_the_level_that_was_told_beforehand(nc: Client) -> None:
    js = nc.jetstream()
    for settings in ({}, {"allow_msg_ttl": True}, {"allow_atomic": True}, {"allow_batched": True}):
        config = stream(**settings)
        made = js.create_stream(config)

        assert made.cached.config.metadata["_nats.req.level"] == str(required_level(config))
        made.delete()
    made = js.create_stream(stream())
    for settings in (
        {},
        {"priority_groups": ["g"], "priority_policy": "overflow"},
        {**examples.FC},
    ):
        consumer = ConsumerConfig(name="C", **settings)
        info = made.create_or_update_consumer(consumer).cached

        assert info.config.metadata["_nats.req.level"] == str(required_level(consumer))
        made.consumer("C").delete()
    check_level(stream(allow_batched=True), js.account_info().api.level)
