"""The facade of stored messages: each description asks its question, directly if the stream allows
it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from jsproto.errors import InvalidConfig, InvalidSubject
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.context import JetStream, Stream
from tests.jetstream.context_rig import answer, asked, opened

API, DIRECT = "$JS.API.STREAM.MSG.GET.S", "$JS.API.DIRECT.GET.S"


def known(**settings):
    return Stream(
        js=JetStream(), name="S", cached=StreamInfo(config=StreamConfig(name="S", **settings))
    ).messages


@pytest.fixture
def messages():
    return JetStream().stream("S").messages


def test_a_message_is_asked_for_directly_if_the_stream_is_known_to_allow_it(messages):
    assert not messages.direct
    assert not known().direct
    assert known(allow_direct=True).direct
    assert not known(mirror_direct=True).direct  # it answers for its origin
    assert asked(opened(messages.by_seq(3)))[0] == API
    assert asked(opened(messages.by_seq(3, direct=True)))[0] == DIRECT
    assert asked(opened(known(allow_direct=True).by_seq(3)))[0] == DIRECT
    assert asked(opened(known(allow_direct=True).by_seq(3, direct=False)))[0] == API


def test_a_message_without_its_headers_is_asked_of_the_api(messages):
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    direct = known(allow_direct=True)

    for ask in (
        direct.by_seq(3, no_headers=True),
        direct.last("s.a", direct=False, no_headers=True),
        direct.next(no_headers=True),
        messages.since(moment, no_headers=True),
    ):
        subject, body = asked(opened(ask))
        assert (subject, body["no_hdr"]) == (API, True)


def test_each_question_says_which_message_is_meant(messages):
    moment = datetime(2020, 1, 1, tzinfo=UTC)

    assert asked(opened(messages.by_seq(3)))[1] == {"seq": 3}
    assert asked(opened(messages.last("s.a")))[1] == {"last_by_subj": "s.a"}
    assert asked(opened(messages.next("s.*", seq=4)))[1] == {"next_by_subj": "s.*", "seq": 4}
    assert asked(opened(messages.since(moment)))[1] == {
        "start_time": "2020-01-01T00:00:00Z",
        "next_by_subj": ">",
    }


def test_a_message_is_deleted(messages):
    delete = opened(messages.delete(3))

    assert asked(delete) == ("$JS.API.STREAM.MSG.DELETE.S", {"seq": 3, "no_erase": True})
    assert answer(delete, {"success": True}) is None


def test_batches_say_what_they_read(messages):
    batch = opened(messages.batch(seq=2, subject="s.*", limit=5))
    last = opened(messages.last_of(["s.a", "s.b"], up_to_seq=9, page=7))

    assert json.loads(batch.port.commands[0].payload) == {
        "batch": 5,
        "seq": 2,
        "next_by_subj": "s.*",
        "max_bytes": 4194304,
    }
    assert json.loads(last.port.commands[0].payload) == {
        "batch": 7,
        "multi_last": ["s.a", "s.b"],
        "up_to_seq": 9,
        "max_bytes": 4194304,
    }
    assert batch.options.timeout == 5.0


@pytest.mark.parametrize(
    ("describe", "error"),
    [
        (lambda messages: messages.by_seq(0), InvalidConfig),
        (lambda messages: messages.delete(-1), InvalidConfig),
        (lambda messages: messages.by_seq(1, direct=True, no_headers=True), InvalidConfig),
        (lambda messages: messages.last("a b"), InvalidSubject),
        (lambda messages: messages.batch(page=0), InvalidConfig),
        (lambda messages: messages.last_of("s.a"), InvalidConfig),
        (lambda messages: messages.batch(timeout=0.0), InvalidConfig),
    ],
)
def test_what_cannot_work_is_refused_before_anybody_is_asked(messages, describe, error):
    with pytest.raises(error):
        describe(messages)
