"""Care for streams and consumers on servers of every version, through the friendly methods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsproto.errors import RequestTimeout
from jsproto.jetstream.api.config.stream import StreamSource, SubjectTransform
from jsproto.jetstream.api.errors import (
    AmbiguousSubject,
    ApiError,
    ConsumerNotFound,
    InvalidRequest,
    StreamExists,
    StreamNotFound,
    StreamSealed,
)

pytestmark = pytest.mark.live

TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def js(nc):
    return nc.jetstream(timeout=2.0)


@pytest.fixture
def filled(js):
    """A stream with three messages on each of two subjects; gone with the test."""
    made = js.create_or_update_stream(name="UP", subjects=["up.*"], storage="memory")
    for _ in range(3):
        js.publish("up.a", b"x")
        js.publish("up.b", b"x")
    yield made
    made.delete()


def left(stream):
    state = stream.info().state
    return state.first_seq, state.messages


def test_a_purge_takes_what_it_says_and_nothing_else(filled):
    assert filled.purge(seq=1) == 0
    assert filled.purge(filter_subject="up.a", seq=1) == 0
    assert filled.purge(seq=2) == 1
    assert filled.purge(filter_subject="up.b", keep=1) == 2
    assert left(filled) == (3, 3)
    assert filled.purge(filter_subject="up.a") == 2
    assert filled.purge() == 1
    assert left(filled) == (7, 0)


def test_a_sealed_stream_takes_and_gives_up_nothing(js):
    stream = js.create_stream(name="SEAL", subjects=["seal.*"], storage="memory")
    js.publish("seal.a")
    sealed = stream.seal()

    assert sealed.cached.config.sealed
    with pytest.raises(ApiError) as caught:
        sealed.purge()
    assert isinstance(caught.value, StreamSealed) or caught.value.err_code == 10110
    stream.delete()


def test_what_an_update_has_changed_is_said(js, filled):
    same = js.create_or_update_stream(filled.cached.config, compare=True)
    assert same.cached.changed == ()
    less = js.create_or_update_stream(filled.cached.config, max_msgs=70, compare=True)
    assert [str(each) for each in less.cached.changed] == ["max_msgs: wanted 70, is -1"]
    made = less.create_or_update_consumer(durable_name="SEEN", description="d", compare=True)
    assert made.cached.changed == ()
    seen = less.create_or_update_consumer(durable_name="SEEN", max_ack_pending=9, compare=True)
    assert [each.setting for each in seen.cached.changed] == ["max_ack_pending", "description"]
    seen.delete()
    js.create_or_update_stream(filled.cached.config)


def test_a_stream_is_found_copied_and_compared(js, filled):
    copied = filled.copy(name="UP2", subjects=["up2.*"], max_msgs=5)

    assert js.stream_by_subject("up.a").name == "UP"
    with pytest.raises(AmbiguousSubject):
        js.stream_by_subject(">")
    with pytest.raises(StreamNotFound):
        js.stream_by_subject("nobody.stores.this")
    assert copied.cached.config.storage == "memory"
    assert js.stream_drift(filled.cached.config) == ()
    assert [str(each) for each in js.stream_drift(copied.cached.config, max_msgs=7)] == [
        "max_msgs: wanted 7, is 5"
    ]
    with pytest.raises(StreamExists):
        filled.copy(name="UP2", subjects=["up3.*"])
    copied.delete()


def test_details_of_subjects_and_deletions_are_complete(filled):
    filled.purge(filter_subject="up.a", keep=1)
    state = filled.info(subjects_filter=">", deleted_details=True).state

    assert state.subjects == {"up.a": 1, "up.b": 3}
    assert (state.num_deleted, state.deleted) == (1, (3,))


def test_lists_of_names_and_infos_are_complete(js, filled):
    made = [filled.create_consumer(durable_name=f"C{number}").name for number in range(4)]

    assert sorted(filled.consumer_names()) == made
    assert sorted(info.name for info in filled.consumers()) == made
    assert filled.consumers().complete
    assert js.streams(subject="up.*")[0].config.name == "UP"


def test_a_consumer_rests_until_it_is_woken(filled, since):
    consumer = filled.create_consumer(durable_name="C")
    if not since(2, 11):
        with pytest.raises(RequestTimeout, match=r"before 2\.11"):
            consumer.pause(TOMORROW, timeout=0.3)
        return

    pause = consumer.pause(TOMORROW)

    assert pause.paused
    assert pause.pause_remaining > timedelta(hours=23)
    assert consumer.info().paused
    assert not consumer.resume().paused
    assert not consumer.info().paused


def test_a_consumer_begins_anew(filled, since):
    consumer = filled.create_consumer(durable_name="C")
    if not since(2, 14):
        with pytest.raises(RequestTimeout, match=r"before 2\.14"):
            consumer.reset(timeout=0.3)
        return
    for _ in range(3):
        consumer.next().ack_confirmed()

    assert consumer.info().ack_floor.stream_seq == 3
    assert consumer.reset().reset_seq == 4
    assert consumer.next().metadata.stream_sequence == 4
    assert consumer.reset(seq=2).reset_seq == 2
    assert consumer.next().metadata.stream_sequence == 2
    with pytest.raises(ConsumerNotFound):
        filled.consumer("NOPE").reset(timeout=0.3)


def test_a_pin_is_taken_away(filled, since):
    if not since(2, 11):
        with pytest.raises(RequestTimeout, match=r"before 2\.11"):
            filled.consumer("C").unpin("g", timeout=0.3)
        return
    settings = {"priority_groups": ["g"], "priority_policy": "pinned_client"}
    consumer = filled.create_consumer(durable_name="C", **settings)
    plain = filled.create_consumer(durable_name="D")
    with consumer.fetch(1, group="g") as messages:
        next(messages)

    assert consumer.info().priority_groups[0].pinned_client_id
    consumer.unpin("g")
    assert not consumer.info().priority_groups[0].pinned_client_id
    with pytest.raises(InvalidRequest):
        consumer.unpin("other")
    with pytest.raises(InvalidRequest):
        plain.unpin("g")


def test_a_configuration_that_was_read_is_written_back_whole(filled, since):
    """What the server adds of its own, down to the nanosecond, is still there after a change of
    something else.
    """
    before = filled.change(
        max_age=timedelta(microseconds=123_456_789), description="d"
    ).cached.config
    after = filled.change(description="e").cached.config

    assert after.evolve(description="d", metadata=before.metadata) == before
    assert set(before.metadata) <= set(after.metadata)


def test_mirrors_and_sources_say_where_they_read(js, filled, since):
    transform = SubjectTransform(src="up.a", dest="from.up")
    mirror = js.create_stream(
        name="UPM", mirror=StreamSource(name="UP", opt_start_seq=2), storage="memory"
    )
    source = StreamSource(
        name="UP",
        **({"subject_transforms": [transform]} if since(2, 10) else {"filter_subject": "up.a"}),
    )
    sourced = js.create_stream(name="UPS", sources=[source], storage="memory")
    info = mirror.info()

    assert (info.config.mirror.name, info.config.mirror.opt_start_seq, info.mirror.name) == (
        "UP",
        2,
        "UP",
    )
    assert js.stream_drift(name="UPS", sources=[source]) == ()
    assert sourced.info().sources[0].name == "UP"
    mirror.delete()
    sourced.delete()
