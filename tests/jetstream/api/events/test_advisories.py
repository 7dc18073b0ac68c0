"""Every event that was recorded is typed and survives; unknown ones are kept; dead letters say
where they came from.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.api.events import advisories as told
from jsproto.jetstream.api.events.advisories import (
    EVENTS,
    JetStreamEvent,
    MessageFate,
    modern_subject,
    read_event,
)
from jsproto.jetstream.api.requests.dead_letters import dead_letter
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from tests.jetstream.api.asking import message, refusal, run
from tests.jetstream.api.events.recorded import recorded_events

ADVISORY = "io.nats.jetstream.advisory.v1."
TIME = "2026-11-27T21:01:35.5Z"


@pytest.fixture(scope="module")
def recorded(traces: Path) -> list[tuple[str, bytes]]:
    return recorded_events(traces)


def test_every_recorded_event_is_typed_and_nothing_of_it_is_lost(
    recorded: list[tuple[str, bytes]],
) -> None:
    kinds = set()
    for subject, body in recorded:
        event = read_event(body)
        kinds.add(event.type)

        assert type(event) is EVENTS[event.type]
        assert event.extra == {}
        said = json.loads(body)
        assert {
            name: value for name, value in event.to_wire().items() if value or name in said
        } == said
        assert modern_subject(subject) == subject
    assert len(kinds) >= 8


def test_an_event_of_tomorrow_is_kept_whole() -> None:
    members = {"type": f"{ADVISORY}of_tomorrow", "id": "x", "timestamp": TIME, "what": {"ever": 1}}
    event = read_event(json.dumps(members).encode())

    assert type(event) is JetStreamEvent
    assert (event.kind, event.timestamp) == ("of_tomorrow", Timestamp.parse(TIME))
    assert event.to_wire() == members


def test_each_class_reads_what_the_server_says_in_it() -> None:
    fate = read_event(
        b'{"type":"%sterminated","stream":"S","consumer":"C","stream_seq":5,"deliveries":2,"reason":"bad"}'
        % ADVISORY.encode()
    )
    sample = read_event(
        b'{"type":"io.nats.jetstream.metric.v1.consumer_ack","stream":"S","ack_time":1500000000}'
    )
    leader = read_event(
        b'{"type":"%sstream_leader_elected","stream":"S","leader":"n1","replicas":[{"name":"n1"}]}'
        % ADVISORY.encode()
    )

    assert isinstance(fate, MessageFate)
    assert (fate.stream, fate.stream_seq, fate.deliveries, fate.reason) == ("S", 5, 2, "bad")
    assert isinstance(sample, told.AckSample)
    assert sample.ack_time == timedelta(seconds=1.5)
    assert isinstance(leader, told.LeaderElected)
    assert [peer.name for peer in leader.replicas] == ["n1"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"type":"%smax_deliver","stream_seq":"x"}' % ADVISORY.encode()]
)
def test_what_is_no_event_is_an_invalid_response(body: bytes) -> None:
    with pytest.raises(InvalidResponse, match="event"):
        read_event(body)


def test_a_type_that_is_no_text_is_an_invalid_response() -> None:
    with pytest.raises(InvalidResponse, match="type"):
        read_event(b'{"type":5}')


def test_old_subjects_are_known_by_their_new_names() -> None:
    assert (
        modern_subject("$JS.EVENT.METRIC.CONSUMER_ACK.S.C") == "$JS.EVENT.METRIC.CONSUMER.ACK.S.C"
    )
    assert (
        modern_subject("$JS.EVENT.ADVISORY.MAX_DELIVERIES")
        == "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"
    )
    assert modern_subject("$JS.EVENT.METRIC.CONSUMER_ACKS") == "$JS.EVENT.METRIC.CONSUMER_ACKS"


FATE = MessageFate(
    type=f"{ADVISORY}terminated",
    stream="S",
    consumer="C",
    stream_seq=5,
    deliveries=3,
    reason="no\r\nuse",
)
STORED = {
    "message": {
        "subject": "s.a",
        "seq": 5,
        "time": TIME,
        "data": "e30=",
        "hdrs": "TkFUUy8xLjANCks6IHYNCk5hdHMtTXNnLUlkOiAxDQpOYXRzLVRUTDogNQ0KDQo=",
    }
}


def test_a_dead_letter_has_its_message_and_says_where_it_came_from() -> None:
    steps = dead_letter(ApiSubjects(), FATE, "dead.s")
    call = next(steps)
    assert (call.subject, json.loads(call.payload)) == ("$JS.API.STREAM.MSG.GET.S", {"seq": 5})

    step = steps.send(message(json.dumps(STORED).encode()))
    while not hasattr(step, "subject"):
        step = steps.send(0.0)

    assert (step.subject, step.payload) == ("dead.s", b"{}")
    assert dict(step.headers.items()) == {
        "K": "v",
        "Dead-Letter-Reason": "terminated: no use",
        "Dead-Letter-Stream": "S",
        "Dead-Letter-Consumer": "C",
        "Dead-Letter-Sequence": "5",
        "Dead-Letter-Subject": "s.a",
        "Dead-Letter-Deliveries": "3",
        "Nats-Msg-Id": "dead.S.C.5",
    }


def test_a_dead_letter_that_cannot_be_is_an_error() -> None:
    with pytest.raises(MessageNotFound):
        run(dead_letter(ApiSubjects(), FATE, "dead.s"), refusal(404, 10037))
    with pytest.raises(InvalidConfig, match="own"):
        run(dead_letter(ApiSubjects(), FATE, "s.a"), STORED)
    with pytest.raises(InvalidConfig, match="about a message"):
        run(dead_letter(ApiSubjects(), FATE.evolve(stream_seq=0), "dead.s"))
    ack = {"stream": "DEAD", "seq": 1}
    letter, _ = run(dead_letter(ApiSubjects(), FATE.evolve(reason=None), "dead.s"), STORED, ack)
    assert letter.stream == "DEAD"
