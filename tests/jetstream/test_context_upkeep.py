"""The facade's care for streams and consumers: each description asks its verb, and refuses at once
what cannot work.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.context import JetStream
from jsproto.signals import NEED_DATA
from tests.jetstream.context_rig import CONSUMER_INFO, STREAM_INFO, answer, asked, opened


@pytest.fixture
def js():
    return JetStream()


@pytest.fixture
def stream(js):
    return js.stream("S")


@pytest.fixture
def consumer(stream):
    return stream.consumer("C")


def test_a_purge_answers_how_many_messages_there_were(stream):
    purge = opened(stream.purge(filter_subject="s.a", keep=3))

    assert asked(purge) == ("$JS.API.STREAM.PURGE.S", {"filter": "s.a", "keep": 3})
    assert answer(purge, {"success": True, "purged": 4}) == 4


def test_sealing_is_a_change_of_what_was_read(stream):
    seal = opened(stream.seal())

    assert answer(seal, STREAM_INFO) is NEED_DATA
    assert asked(seal)[1] == {**STREAM_INFO["config"], "sealed": True}


def test_a_copy_is_the_handle_of_another_stream(js, stream):
    copy = opened(stream.copy(name="T", subjects=["t.>"]))
    answer(copy, STREAM_INFO)

    assert asked(copy) == ("$JS.API.STREAM.CREATE.T", {"name": "T", "subjects": ["t.>"]})
    assert answer(copy, {**STREAM_INFO, "config": {"name": "T", "subjects": ["t.>"]}}) == js.stream(
        "T"
    )


def test_a_stream_is_found_by_its_subject(js):
    found = opened(js.stream_by_subject("s.a"))

    assert asked(found) == ("$JS.API.STREAM.NAMES", {"subject": "s.a"})
    assert answer(found, {"total": 1, "streams": ["S"]}) == js.stream("S")


def test_drift_compares_what_is_wished_for_with_what_is_there(js, stream):
    drift = opened(js.stream_drift(name="S", max_msgs=5))
    consumers = opened(stream.consumer_drift(ConsumerConfig(durable_name="C"), max_deliver=3))

    assert [each.setting for each in answer(drift, STREAM_INFO)] == ["max_msgs"]
    assert [each.setting for each in answer(consumers, CONSUMER_INFO)] == ["max_deliver"]
    assert (
        answer(opened(js.stream_drift(StreamConfig(name="S", subjects=["s.>"]))), STREAM_INFO) == ()
    )


def test_a_consumer_rests_and_goes_on(consumer):
    pause = opened(consumer.pause(datetime(2030, 1, 1, tzinfo=UTC)))
    resume = opened(consumer.resume())

    assert asked(pause) == ("$JS.API.CONSUMER.PAUSE.S.C", {"pause_until": "2030-01-01T00:00:00Z"})
    assert answer(pause, {"paused": True}).paused
    assert asked(resume) == ("$JS.API.CONSUMER.PAUSE.S.C", None)
    assert not answer(resume, {"paused": False}).paused


def test_a_consumer_is_reset_and_unpinned(consumer):
    reset = opened(consumer.reset(seq=5))
    unpin = opened(consumer.unpin("g"))

    assert asked(reset) == ("$JS.API.CONSUMER.RESET.S.C", {"seq": 5})
    assert answer(reset, {**CONSUMER_INFO, "reset_seq": 5}).reset_seq == 5
    assert asked(unpin) == ("$JS.API.CONSUMER.UNPIN.S.C", {"group": "g"})
    assert answer(unpin, {"type": "io.nats.jetstream.api.v1.consumer_unpin_response"}) is None


@pytest.mark.parametrize(
    ("describe", "error"),
    [
        (lambda stream: stream.purge(seq=1, keep=1), InvalidConfig),
        (lambda stream: stream.purge(filter_subject="a..b"), InvalidSubject),
        (lambda stream: stream.copy(subjects=["t"]), InvalidConfig),
        (lambda stream: stream.copy(name="a.b"), InvalidSubject),
        (lambda stream: stream.consumer_drift(max_deliver=1), InvalidConfig),
        (lambda stream: stream.js.stream_by_subject("a..b"), InvalidSubject),
        (lambda stream: stream.consumer("C").pause(datetime(2030, 1, 1)), InvalidConfig),  # noqa: DTZ001 - the point
        (lambda stream: stream.consumer("C").reset(seq=0), InvalidConfig),
    ],
)
def test_what_cannot_work_is_refused_before_anybody_is_asked(stream, describe, error):
    with pytest.raises(error):
        describe(stream)
