"""The API prefix of a handle: how it may be given, and that every verb goes there."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime

import pytest

from jsproto.core.conversation.conversation import Conversation
from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.context import JetStream
from jsproto.ops.nats_context import NatsContext
from jsproto.wire.commands import Publish
from tests.jetstream.context_rig import opened

LOW = JetStream(prefix="acc")
STREAM = LOW.stream("S")
CONSUMER = STREAM.consumer("C")
CALLS = {
    "info": LOW.account_info,
    "stream names": LOW.stream_names,
    "streams": LOW.streams,
    "create": lambda: LOW.create_stream(name="S", subjects=["s"]),
    "update": lambda: LOW.update_stream(name="S", subjects=["s"]),
    "stream info": STREAM.info,
    "delete": STREAM.delete,
    "purge": STREAM.purge,
    "step down": STREAM.step_down,
    "msg get": lambda: STREAM.messages.by_seq(1),
    "last": lambda: STREAM.messages.last("s"),
    "direct get": lambda: STREAM.messages.last("s", direct=True),
    "msg delete": lambda: STREAM.messages.delete(1),
    "batch get": lambda: STREAM.messages.batch(limit=2),
    "consumer create": lambda: STREAM.create_consumer(durable_name="C"),
    "consumer names": STREAM.consumer_names,
    "consumers": STREAM.consumers,
    "consumer info": CONSUMER.info,
    "consumer delete": CONSUMER.delete,
    "pause": lambda: CONSUMER.pause(datetime(2030, 1, 1, tzinfo=UTC)),
    "resume": CONSUMER.resume,
    "reset": CONSUMER.reset,
    "unpin": lambda: CONSUMER.unpin("g"),
    "next": CONSUMER.next,
    "fetch": lambda: CONSUMER.fetch(5),
    "consume": CONSUMER.consume,
    "ordered": STREAM.ordered,
    "snapshot": STREAM.snapshot,
}


def asked(conversation):
    subjects = [each.subject for each in conversation.port.commands if isinstance(each, Publish)]
    return [subject for subject in subjects if not subject.startswith("_INBOX.")]


@pytest.mark.parametrize("name", CALLS)
def test_every_verb_of_a_handle_goes_behind_its_prefix_n121(name):
    subjects = asked(opened(CALLS[name]()))

    assert subjects
    assert all(subject.startswith("acc.") for subject in subjects), subjects


def test_every_subject_of_the_api_begins_with_the_prefix_n121():
    api = ApiSubjects("acc")
    made = []
    for name, method in inspect.getmembers(api, inspect.ismethod):
        wanted = list(inspect.signature(method).parameters)
        if name.startswith("_") or name == "for_domain":
            continue
        try:
            made.append(method(*("x" if each != "seq" else 1 for each in wanted)))
        except InvalidSubject:
            made.append(method(*("x.y" for _ in wanted)))

    assert len(made) > 20
    assert all(subject.startswith("acc.") for subject in made)


@pytest.mark.parametrize("prefix", ["$JS.hub.API", "$JS.hub.API."])
def test_one_final_dot_of_a_prefix_is_left_away_n121(prefix):
    assert JetStream(prefix="$JS.hub.API") == JetStream(prefix=prefix)
    assert (
        "$JS.hub.API.INFO" == NatsContext(jetstream_api_prefix=prefix).jetstream.api.account_info()
    )
    NatsContext(jetstream_api_prefix=prefix).check()


@pytest.mark.parametrize("prefix", ["a..", ".", "..", "a.>.", "a b."])
def test_more_than_one_final_dot_is_refused_n121(prefix):
    with pytest.raises(InvalidSubject):
        JetStream(prefix=prefix)


def test_domain_and_prefix_together_are_refused_and_an_empty_text_is_none_n121():
    with pytest.raises(InvalidConfig, match="a domain or a prefix"):
        _ = NatsContext.parse(
            '{"jetstream_domain":"hub","jetstream_api_prefix":"$JS.hub.API"}'
        ).jetstream
    assert JetStream(domain="hub") == JetStream(domain="hub", prefix="")
    assert JetStream(prefix="acc") == JetStream(domain="", prefix="acc")
    assert JetStream() == JetStream(domain="", prefix="")


def test_the_calls_are_conversations():
    assert all(isinstance(make(), Conversation) for make in CALLS.values())
