"""Stored messages on servers of every version: read one by one, many at once, and deleted."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest

from jsproto.errors import ApiError, InvalidResponse, NoResponders, RequestTimeout
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.errors import TooManyResults

pytestmark = pytest.mark.live

SUBJECTS = ["m.a", "m.b", "m.c"]


@pytest.fixture
def js(nc):
    return nc.jetstream(timeout=2.0)


@pytest.fixture
def stream(js):
    """Thirty messages on three subjects in turn; three are deleted."""
    made = js.create_or_update_stream(name="MSGS", subjects=["m.*"], allow_direct=True)
    for number in range(1, 31):
        js.publish(SUBJECTS[number % 3], b"%d" % number, headers={"N": str(number)})
    for number in (10, 20, 25):
        made.messages.delete(number, erase=number == 10)
    yield made
    made.delete()


def taken(feed):
    with feed as messages:
        return list(messages)


def test_both_ways_give_the_same_message(stream, since):
    messages = stream.messages
    assert messages.direct
    for ask in (
        lambda direct: messages.by_seq(5, direct=direct),
        lambda direct: messages.last("m.b", direct=direct),
        lambda direct: messages.last("m.*", direct=direct),
        lambda direct: messages.next("m.a", seq=10, direct=direct),
        lambda direct: messages.next(seq=20, direct=direct),
    ):
        assert ask(True) == ask(False)
    fifth = messages.by_seq(5)
    assert (fifth.subject, fifth.seq, fifth.payload, fifth.headers["N"]) == ("m.c", 5, b"5", "5")
    bare = messages.by_seq(5, no_headers=True)
    assert (bare.subject, bare.seq, bare.payload, bare.headers.items()) == ("m.c", 5, b"5", ())
    assert messages.next(seq=20).seq == 21
    moment = fifth.time
    if since(2, 11):
        assert messages.since(moment).seq == 5
        assert messages.since(moment, direct=False).seq == 5
    else:
        with pytest.raises((InvalidResponse, ApiError)):
            messages.since(moment, "m.*", direct=False)


def test_what_is_not_there_is_said_in_both_ways(stream):
    for direct in (True, False):
        for seq in (10, 99):
            with pytest.raises(MessageNotFound):
                stream.messages.by_seq(seq, direct=direct)
        with pytest.raises(MessageNotFound):
            stream.messages.last("m.z", direct=direct)
    with pytest.raises(ApiError):
        stream.messages.delete(10)


def test_a_stream_that_does_not_allow_it_is_said_or_silent(js, since):
    closed = js.create_stream(name="NODIRECT", subjects=["nodirect"], storage="memory")
    error = NoResponders if since(2, 10) else RequestTimeout
    with pytest.raises(error):
        closed.messages.by_seq(1, direct=True, timeout=0.5)
    with pytest.raises(error):
        taken(closed.messages.batch(timeout=0.5))
    closed.delete()


ALL = [number for number in range(1, 31) if number not in {10, 20, 25}]


def test_a_batch_reads_page_after_page_until_nothing_is_pending(stream):
    messages = stream.messages

    assert [each.seq for each in taken(messages.batch(page=4))] == ALL
    assert [each.seq for each in taken(messages.batch(page_bytes=1))] == ALL
    assert [each.seq for each in taken(messages.batch(seq=15, subject="m.a"))] == [
        15,
        18,
        21,
        24,
        27,
        30,
    ]
    assert [each.seq for each in taken(messages.batch(limit=5, page=2))] == [1, 2, 3, 4, 5]
    assert taken(messages.batch(subject="m.z")) == []
    assert taken(messages.batch(seq=1000)) == []


def test_a_batch_from_an_instant_begins_there_or_says_that_it_cannot(stream, since):
    moment = stream.messages.by_seq(26).time
    batch = stream.messages.batch(start_time=moment, page=2)
    if since(2, 11):
        assert [each.seq for each in taken(batch)] == [26, 27, 28, 29, 30]
    else:
        with pytest.raises(InvalidResponse, match=r"before 2\.11"):
            taken(batch)


def test_the_last_of_each_subject_is_read_page_after_page(stream, since):
    messages = stream.messages

    assert [each.seq for each in taken(messages.last_of(["m.*"], page=1))] == [28, 29, 30]
    assert [each.seq for each in taken(messages.last_of(["m.a", "m.c"]))] == [29, 30]
    assert [each.seq for each in taken(messages.last_of(["m.*"], limit=2))] == [28, 29]
    assert taken(messages.last_of(["m.z"])) == []
    bound = messages.last_of(["m.*"], up_to_seq=12, page=1)
    if since(2, 11):
        assert [each.seq for each in taken(bound)] == [7, 11, 12]
        before = messages.by_seq(7).time.datetime - timedelta(days=1)
        assert taken(messages.last_of(["m.*"], up_to_time=before)) == []
    else:
        with pytest.raises(InvalidResponse, match=r"before 2\.11"):
            taken(bound)


def test_pages_show_the_stream_as_it_was_at_the_first(js, stream, since):
    if not since(2, 11):
        return
    with stream.messages.last_of(["m.*"], page=1) as messages:
        first = next(messages)
        js.publish("m.c", b"newer")
        js.publish("m.d", b"new")
        rest = [each.seq for each in messages]

        assert first.seq == 28
        assert rest == [29, 30]
        assert messages.feed.up_to_seq == 30
        assert messages.feed.overtaken == 0


def test_more_subjects_than_the_server_answers_for_are_an_error(js, since):
    if not since(2, 11):
        return
    wide = js.create_stream(name="WIDE", subjects=["wide.*"], storage="memory", allow_direct=True)
    with js.publish_window() as window:
        for number in range(1025):
            window.put((f"wide.{number}", b""))
    with pytest.raises(TooManyResults):
        taken(wide.messages.last_of(["wide.*"]))
    assert len(taken(wide.messages.batch())) == 1025
    wide.delete()


def test_a_batch_survives_a_restart_of_the_server(nc, js, server, until, within):
    kept = js.create_stream(name="KEPT", subjects=["kept"], storage="file", allow_direct=True)
    for number in range(50):
        js.publish("kept", b"%d" % number)
    with within(30.0), kept.messages.batch(page=4, timeout=10.0) as messages:
        seen = [next(messages).seq for _ in range(3)]
        server.kill()
        server.start()
        seen += [each.seq for each in messages]

    assert seen == list(range(1, 51))
    with contextlib.suppress(ApiError):
        kept.delete()
