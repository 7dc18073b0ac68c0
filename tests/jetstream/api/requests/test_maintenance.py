"""Care for what is there: what each request asks, what comes of it, and what is refused before
anything is sent.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, InvalidSubject, RequestTimeout
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.errors import (
    AmbiguousSubject,
    ConsumerExists,
    ConsumerNotFound,
    NotAllowed,
    StreamExists,
    StreamNotFound,
    StreamSealed,
)
from jsproto.jetstream.api.requests import maintenance, manage
from jsproto.jetstream.api.requests.maintenance import Purge
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from tests.jetstream.api.asking import refusal, run

API = ApiSubjects()
PURGE = "$JS.API.STREAM.PURGE.S"
STREAM = {"config": {"name": "S", "subjects": ["s.>"], "max_msgs": -1, "new": 1}, "state": {}}
CONSUMER = {"stream_name": "S", "name": "C", "config": {"durable_name": "C", "max_deliver": -1}}


@pytest.mark.parametrize(
    ("which", "body"),
    [
        (None, None),
        (Purge(filter_subject="s.*"), {"filter": "s.*"}),
        (Purge(seq=5), {"seq": 5}),
        (Purge(filter_subject="s.a", keep=2), {"filter": "s.a", "keep": 2}),
    ],
)
def test_a_purge_says_what_it_deletes_and_answers_how_many(
    which: Purge | None, body: object
) -> None:
    purged, asked = run(maintenance.purge_stream(API, "S", which), {"success": True, "purged": 7})

    assert purged == 7
    assert asked == [(PURGE, body)]


def test_a_purge_before_sequence_one_deletes_nothing_since_old_servers_would_delete_all() -> None:
    purged, asked = run(
        maintenance.purge_stream(API, "S", Purge(filter_subject="s.a", seq=1)), STREAM
    )

    assert purged == 0
    assert asked == [("$JS.API.STREAM.INFO.S", None)]


@pytest.mark.parametrize(
    "wishes",
    [{"seq": 3, "keep": 2}, {"seq": 0}, {"keep": 0}, {"seq": -1}, {"keep": 2**64}, {"seq": True}],
)
def test_a_purge_that_would_delete_something_else_is_refused_here(wishes: dict[str, int]) -> None:
    with pytest.raises(InvalidConfig, match=r"expected (seq|keep)"):
        Purge(**wishes)


def test_a_purge_of_no_subject_is_refused_here() -> None:
    with pytest.raises(InvalidSubject):
        Purge("s..a")


def test_a_stream_that_denies_purges_says_so() -> None:
    with pytest.raises(StreamSealed, match="purge stream, stream S") as caught:
        run(
            maintenance.purge_stream(API, "S"),
            refusal(400, 10109, "invalid operation on sealed stream"),
        )

    assert isinstance(caught.value, NotAllowed)


def test_a_subject_has_exactly_one_stream_or_a_typed_error() -> None:
    name, asked = run(maintenance.stream_by_subject(API, "s.a"), {"total": 1, "streams": ["S"]})

    assert name == "S"
    assert asked == [("$JS.API.STREAM.NAMES", {"subject": "s.a"})]
    with pytest.raises(StreamNotFound, match=r"subject s\.a"):
        run(maintenance.stream_by_subject(API, "s.a"), {"total": 0, "streams": None})
    with pytest.raises(AmbiguousSubject, match="got 2 for the subject: A, B") as caught:
        run(maintenance.stream_by_subject(API, ">"), {"total": 2, "streams": ["A", "B"]})
    assert caught.value.streams == ("A", "B")
    for name in ("", "a b", "\ud800"):
        with pytest.raises(InvalidResponse, match="stream"):
            run(maintenance.stream_by_subject(API, "s.a"), {"total": 1, "streams": [name]})


def test_a_copy_has_all_settings_but_those_that_differ() -> None:
    info, asked = run(
        maintenance.copy_stream(API, "S", {"name": "T", "subjects": ["t.>"]}),
        STREAM,
        {"config": {"name": "T", "subjects": ["t.>"]}},
    )

    assert info.config.name == "T"
    assert asked[1] == (
        "$JS.API.STREAM.CREATE.T",
        {"name": "T", "subjects": ["t.>"], "max_msgs": -1, "new": 1},
    )


def test_drift_is_what_is_not_as_wished() -> None:
    stream, _ = run(maintenance.stream_drift(API, StreamConfig(name="S", max_msgs=5)), STREAM)
    consumer, asked = run(
        maintenance.consumer_drift(API, "S", ConsumerConfig(name="C", max_deliver=5)), CONSUMER
    )

    assert [each.setting for each in stream] == ["max_msgs"]
    assert [each.setting for each in consumer] == ["max_deliver"]
    assert asked == [("$JS.API.CONSUMER.INFO.S.C", None)]
    with pytest.raises(InvalidConfig, match="a name"):
        run(maintenance.consumer_drift(API, "S", ConsumerConfig()))


def test_a_consumer_rests_until_an_instant_and_is_woken_by_none() -> None:
    until = datetime(2030, 1, 1, tzinfo=UTC)
    answer = {
        "paused": True,
        "pause_until": "2030-01-01T00:00:00Z",
        "pause_remaining": 1_500_000_000,
    }
    pause, asked = run(maintenance.pause_consumer(API, "S", "C", until), answer)
    resumed, woken = run(maintenance.pause_consumer(API, "S", "C", None), {"paused": False})

    assert (pause.paused, pause.pause_until) == (True, Timestamp.of(until))
    assert pause.pause_remaining == timedelta(seconds=1.5)
    assert asked == [("$JS.API.CONSUMER.PAUSE.S.C", {"pause_until": "2030-01-01T00:00:00Z"})]
    assert (resumed.paused, woken) == (False, [("$JS.API.CONSUMER.PAUSE.S.C", None)])


def test_a_verb_that_is_not_answered_says_since_when_it_is_known() -> None:
    with pytest.raises(
        RequestTimeout, match=r"pause consumer, stream S, consumer C: .*servers before 2\.11"
    ):
        run(maintenance.pause_consumer(API, "S", "C", Timestamp(1)), RequestTimeout("none came"))


def test_a_consumer_begins_anew_at_its_ack_floor_or_a_sequence() -> None:
    info, asked = run(maintenance.reset_consumer(API, "S", "C"), {**CONSUMER, "reset_seq": 4})
    _, there = run(maintenance.reset_consumer(API, "S", "C", seq=9), CONSUMER)

    assert info.reset_seq == 4
    assert [*asked, *there] == [
        ("$JS.API.CONSUMER.RESET.S.C", None),
        ("$JS.API.CONSUMER.RESET.S.C", {"seq": 9}),
    ]
    with pytest.raises(InvalidConfig, match="seq"):
        run(maintenance.reset_consumer(API, "S", "C", seq=0))


def test_a_reset_that_is_not_answered_finds_out_whether_there_is_such_a_consumer() -> None:
    silence = RequestTimeout("none came")
    with pytest.raises(ConsumerNotFound, match="consumer C"):
        run(
            maintenance.reset_consumer(API, "S", "C"),
            silence,
            refusal(404, 10014, "consumer not found"),
        )
    with pytest.raises(RequestTimeout, match=r"servers before 2\.14"):
        run(maintenance.reset_consumer(API, "S", "C"), silence, CONSUMER)


def test_an_unpin_names_its_group() -> None:
    _, asked = run(
        maintenance.unpin_consumer(API, "S", "C", "g"),
        {"type": "io.nats.jetstream.api.v1.consumer_unpin_response"},
    )

    assert asked == [("$JS.API.CONSUMER.UNPIN.S.C", {"group": "g"})]


def test_who_makes_or_deletes_a_stream_meanwhile_is_met_by_asking_anew() -> None:
    gone, taken = refusal(404, 10059), refusal(400, 10058)
    config = StreamConfig(name="S")
    info, asked = run(manage.create_or_update_stream(API, config), gone, taken, STREAM)
    verbs = [subject.split(".")[3] for subject, _ in asked]

    assert info.config.name == "S"
    assert verbs == ["UPDATE", "CREATE", "UPDATE"]
    with pytest.raises(StreamExists):
        run(manage.create_or_update_stream(API, config), *[gone, taken] * 3)


def test_a_stream_that_is_compared_says_what_has_changed() -> None:
    config, changed = (
        StreamConfig(name="S", max_msgs=5),
        {**STREAM, "config": {"name": "S", "max_msgs": 5}},
    )
    gone, taken = refusal(404, 10059), refusal(400, 10058)
    info, asked = run(manage.create_or_update_stream(API, config, compare=True), STREAM, changed)
    same, _ = run(manage.create_or_update_stream(API, config, compare=True), changed, changed)
    made, both = run(manage.create_or_update_stream(API, config, compare=True), gone, changed)
    raced, many = run(
        manage.create_or_update_stream(API, config, compare=True),
        gone,
        taken,
        STREAM,
        gone,
        changed,
    )

    assert [subject.split(".")[3] for subject, _ in asked] == ["INFO", "UPDATE"]
    assert "max_msgs: wanted 5, is -1" in [str(each) for each in info.changed]
    assert (same.changed, made.changed, raced.changed) == ((), (), ())
    assert [subject.split(".")[3] for subject, _ in both] == ["INFO", "CREATE"]
    assert [subject.split(".")[3] for subject, _ in many] == [
        "INFO",
        "CREATE",
        "INFO",
        "UPDATE",
        "CREATE",
    ]
    assert info == same
    assert "changed" not in info.to_wire()


def test_a_consumer_that_is_compared_says_what_has_changed() -> None:
    config = ConsumerConfig(durable_name="C", max_deliver=5)
    changed = {**CONSUMER, "config": {**CONSUMER["config"], "max_deliver": 5}}
    gone, none, taken = refusal(404, 10014), refusal(400, 10149), refusal(400, 10148)

    def put(*answers: object) -> tuple[list[str], list[object]]:
        steps = manage.create_or_update_consumer(API, "S", config, compare=True)
        info, asked = run(steps, *answers)
        return [each.setting for each in info.changed], [
            (body or {}).get("action") for _, body in asked
        ]

    assert put(CONSUMER, changed) == (["max_deliver"], [None, "update"])
    assert put(changed, changed) == ([], [None, "update"])
    assert put(gone, changed) == ([], [None, "create"])
    assert put(CONSUMER, none, taken, CONSUMER, changed) == (
        ["max_deliver"],
        [None, "update", "create", None, "update"],
    )
    with pytest.raises(ConsumerExists):
        put(*[gone, taken] * 3)
    nameless = ConsumerConfig(filter_subject="s.a")
    info, asked = run(manage.create_or_update_consumer(API, "S", nameless, compare=True), CONSUMER)
    assert (info.changed, len(asked)) == ((), 1)


def test_details_of_subjects_are_read_page_by_page() -> None:
    def page(offset: int, total: int, **subjects: int) -> dict[str, object]:
        state = {"subjects": subjects, "messages": 9}
        return {**STREAM, "state": state, "total": total, "offset": offset, "limit": 2}

    info, asked = run(
        manage.stream_info(API, "S", subjects_filter=">"), page(0, 3, a=1, b=2), page(2, 3, c=3)
    )

    assert info.state.subjects == {"a": 1, "b": 2, "c": 3}
    assert asked == [
        ("$JS.API.STREAM.INFO.S", {"subjects_filter": ">"}),
        ("$JS.API.STREAM.INFO.S", {"subjects_filter": ">", "offset": 2}),
    ]


def test_details_that_end_early_do_not_look_complete() -> None:
    said = {**STREAM, "state": {"subjects": {"a": 1}}, "total": 3, "offset": 0}
    empty = {**STREAM, "total": 3, "offset": 1}
    with pytest.raises(manage.InvalidResponse, match="expected 3 subjects, got 1"):
        run(manage.stream_info(API, "S", subjects_filter=">"), said, empty)
