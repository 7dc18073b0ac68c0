"""Snapshot and restore: chunks in order, answers when they come, and every way in which it can end."""

from __future__ import annotations

import json

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    ConversationClosed,
    InvalidConfig,
    InvalidResponse,
    LocalProtocolError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import AlreadyExists, InvalidRequest, StreamNotFound
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.errors import SnapshotBroken
from jsproto.jetstream.stored.snapshot import (
    PATIENCE,
    PAUSE,
    RESERVE,
    WINDOW,
    Origin,
    Restore,
    Snapshot,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub

API = ApiSubjects()
SAID = {"config": {"name": "S", "subjects": ["s"]}, "state": {"messages": 5}}
NO_STREAM = {"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}
NOBODY = b"NATS/1.0 503\r\n\r\n"


def opened(conversation, *, up: bool = True):
    conversation.port = Port(up=up)
    conversation.opened(0.0)
    return conversation


def replied(
    conversation, token: int, members: object = None, block: bytes | None = None, now: float = 0.0
) -> None:
    payload = (
        b""
        if members is None
        else members
        if isinstance(members, bytes)
        else json.dumps(members).encode()
    )
    conversation.replied(token, ("1", "r", "", block, payload), now)


def snapshot(**options: object) -> Snapshot:
    return opened(Snapshot(API, "S", **options))


def chunk(
    feed: Snapshot, payload: bytes, reply: str = "", block: bytes | None = None, now: float = 0.0
) -> None:
    feed.delivered([(feed.port.sid, feed.port.subject, reply, block, payload)], now)


def acked(conversation) -> list[str]:
    return [
        each.subject
        for each in conversation.port.commands
        if isinstance(each, Publish) and not each.payload
    ]


# ---------------------------------------------------------------------------------------------- snapshot


def test_a_snapshot_listens_on_a_subject_of_its_own_and_asks_for_it() -> None:
    feed = snapshot(consumers=False, chunk_size=2048, window_size=4096, check=True)
    sub, ask = feed.port.commands

    assert isinstance(sub, Sub)
    assert "*" not in sub.subject
    assert ask.subject == "$JS.API.STREAM.SNAPSHOT.S"
    assert json.loads(ask.payload) == {
        "deliver_subject": sub.subject,
        "no_consumers": True,
        "chunk_size": 2048,
        "window_size": 4096,
        "jsck": True,
    }
    assert json.loads(snapshot().port.commands[1].payload).keys() == {"deliver_subject"}


@pytest.mark.parametrize("end", [None, b"NATS/1.0 204\r\n\r\n"])
def test_chunks_are_answered_when_they_come_and_the_end_ends_it(end: bytes | None) -> None:
    feed = snapshot()
    replied(feed, feed._call, SAID)
    chunk(feed, b"one", "ack.1")
    assert acked(feed) == ["ack.1"]
    chunk(feed, b"two", "ack.2")
    chunk(feed, b"rest")
    assert (acked(feed), feed.readable) == (["ack.1", "ack.2"], 3)

    assert feed.take(0.0) == b"one"
    assert acked(feed) == ["ack.1", "ack.2"]
    chunk(feed, b"", "", end)

    assert [feed.take(0.0), feed.take(0.0), feed.take(0.0)] == [b"two", b"rest", ENDED]
    assert (feed.complete, feed.chunks, feed.size) == (True, 3, 10)
    assert (feed.origin.config.name, feed.origin.state.messages) == ("S", 5)


def test_above_the_bound_each_chunk_that_is_taken_answers_one_that_waits_n106() -> None:
    feed = snapshot(window_size=4096, max_bytes=4096 + 5)
    for number in range(4):
        chunk(feed, b"abc", f"ack.{number}")
    assert acked(feed) == ["ack.0"]  # with the second one 6 bytes wait

    for number in range(3):
        feed.take(0.0)

        assert acked(feed) == [f"ack.{each}" for each in range(number + 2)]
    feed.take(0.0)
    assert len(acked(feed)) == 4


def test_without_room_a_chunk_is_answered_when_it_is_taken() -> None:
    feed = snapshot(max_bytes=0)
    chunk(feed, b"one", "ack.1")
    assert acked(feed) == []
    feed.take(0.0)
    assert acked(feed) == ["ack.1"]


def test_a_server_that_gave_up_on_a_slow_writer_is_told_as_such_n106() -> None:
    feed, quick = snapshot(), snapshot()
    for each in (feed, quick):
        chunk(each, b"one", "ack.1", now=1.0)
        chunk(each, b"three", "ack.2", now=1.0)
    assert [quick.take(1.0), quick.take(1.0)] == [b"one", b"three"]
    for each in (feed, quick):
        chunk(each, b"", "", b"NATS/1.0 408 No Flow Response\r\n\r\n", now=7.5)

    with pytest.raises(
        SnapshotBroken, match=r"8 bytes wait for the writer, who took nothing for 6\.5 s.*No Flow"
    ):
        feed.take(7.5)
    with pytest.raises(SnapshotBroken, match="expected snapshot, stream S to be served"):
        quick.take(7.5)


def test_the_answer_may_come_behind_the_end_and_is_waited_for() -> None:
    late, refused, silent = snapshot(), snapshot(), snapshot(patience=2.0)
    for feed in (late, refused, silent):
        chunk(feed, b"x", "r.1")
        chunk(feed, b"")

        assert feed.take(0.0) == b"x"
        assert feed.take(0.0) is NEED_DATA
        assert not feed.complete

    replied(late, late._call, SAID)
    replied(refused, refused._call, NO_STREAM)
    silent.ticked(2.0)

    assert (late.complete, late.origin.state.messages, late.take(0.0)) == (True, 5, ENDED)
    for feed, error in ((refused, StreamNotFound), (silent, RequestTimeout)):
        assert not feed.complete
        with pytest.raises(error):
            feed.take(2.0)


def test_an_empty_message_that_wants_an_answer_is_neither_chunk_nor_end() -> None:
    feed = snapshot()
    chunk(feed, b"", "somewhere")

    assert (feed.ended, feed.chunks) == (False, 0)


def test_the_answer_may_come_behind_the_first_chunk() -> None:
    feed = snapshot()
    chunk(feed, b"one", "ack.1")
    assert feed.take(0.0) == b"one"
    replied(feed, feed._call, SAID)
    replied(feed, 999, NO_STREAM)

    assert feed.origin is not None
    assert feed.take(0.0) is NEED_DATA


@pytest.mark.parametrize(
    ("status", "text"),
    [(b"408 No Flow Response", "No Flow Response"), (b"500 broken", "broken"), (b"499 ?", "499")],
)
def test_a_snapshot_that_breaks_is_worth_nothing(status: bytes, text: str) -> None:
    feed = snapshot()
    chunk(feed, b"one", "ack.1")
    chunk(feed, b"", "", b"NATS/1.0 " + status + b"\r\n\r\n")
    chunk(feed, b"late", "ack.2")

    with pytest.raises(Exception, match=text):
        feed.take(0.0)
    assert feed.readable == 0
    assert not feed.complete


def test_each_way_to_end_is_an_error_of_its_own() -> None:
    refused, nobody, odd, lost, denied, unheard, closed = (snapshot() for _ in range(7))
    replied(refused, refused._call, NO_STREAM)
    replied(nobody, nobody._call, block=NOBODY)
    replied(odd, odd._call, {"config": {}})
    lost.link_down(ConnectionLost("gone"), 0.0)
    denied.refused("other", PermissionViolation("no"), 0.0)
    denied.refused("$JS.API.STREAM.SNAPSHOT.S", PermissionViolation("no"), 0.0)
    unheard.refused(unheard.port.answers, PermissionViolation("no"), 0.0)
    closed.closed(ConnectionClosed("over"), 0.0)
    chunk(closed, b"late")
    replied(closed, closed._call, SAID)
    for feed, error in (
        (refused, StreamNotFound),
        (nobody, NoResponders),
        (odd, InvalidResponse),
        (lost, ConnectionLost),
        (denied, PermissionViolation),
        (unheard, PermissionViolation),
        (closed, ConnectionClosed),
    ):
        with pytest.raises(error):
            feed.take(0.0)
    broken = snapshot()
    chunk(broken, b"", "", b"NATS/1.0 408 No Interest\r\n\r\n")
    with pytest.raises(SnapshotBroken):
        broken.take(0.0)


def test_silence_is_an_error_unless_it_is_we_who_keep_the_server_waiting() -> None:
    feed = snapshot(patience=3.0)
    assert feed.deadline == 3.0
    chunk(feed, b"one", "ack.1", now=1.0)
    feed.ticked(2.0)
    feed.ticked(4.0)
    assert feed.deadline == 7.0
    assert feed.take(5.0) == b"one"
    feed.ticked(8.0)

    with pytest.raises(RequestTimeout, match="3 bytes came before and are worth nothing"):
        feed.take(8.0)
    assert feed.deadline is None


def test_without_a_link_it_asks_when_there_is_one() -> None:
    feed = opened(Snapshot(API, "S"), up=False)
    feed.link_down(ConnectionLost("none"), 0.0)
    assert [type(each) for each in feed.port.commands] == [Sub]
    feed.port.up = True
    feed.link_up(0.0)
    feed.link_up(0.0)

    assert [type(each) for each in feed.port.commands] == [Sub, Publish]


def test_the_state_of_a_snapshot_can_be_put_back() -> None:
    feed = snapshot()
    twin = Snapshot(API, "S")
    twin.restore(feed.snapshot())
    assert twin.origin is None

    replied(feed, feed._call, SAID)
    chunk(feed, b"one", "ack.1")
    twin = Snapshot(API, "S")
    twin.restore(feed.snapshot())

    assert twin.take(0.0) == b"one"
    assert twin.origin == feed.origin


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 5},
        {"chunk_size": 2**21},
        {"window_size": 1},
        {"window_size": 2**26},
        {"patience": 0.0},
        {"max_bytes": -1},
    ],
)
def test_sizes_that_cannot_work_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig):
        Snapshot(API, "S", **options)


# ---------------------------------------------------------------------------------------------- restore

ORIGIN = Origin(SAID)
MADE = {"config": {"name": "S"}, "state": {"messages": 5}}


def restore(**options: object) -> Restore:
    sink = opened(Restore(API, ORIGIN, **options))
    replied(sink, sink._call, {"deliver_subject": "$JS.SNAPSHOT.RESTORE.S.x"})
    return sink


def answered(sink: Restore) -> None:
    """Each chunk that is under way is answered."""
    for token in sorted(sink._flight):
        replied(sink, token)


def test_a_restore_says_what_it_brings_and_sends_chunks_where_it_is_told() -> None:
    sink = restore()
    assert sink.port.commands[0].subject == "$JS.API.STREAM.RESTORE.S"
    assert json.loads(sink.port.commands[0].payload) == SAID

    assert sink.offered(b"one", 0.0)
    assert sink.offered(bytearray(b"two"), 0.0)
    assert [(each.subject, each.payload) for each in sink.port.commands[1:]] == [
        ("$JS.SNAPSHOT.RESTORE.S.x", b"one"),
        ("$JS.SNAPSHOT.RESTORE.S.x", b"two"),
    ]
    sink.told(StopMode.DRAIN, 0.0)
    assert sink._finish == 0  # chunks are under way
    answered(sink)
    assert sink.port.commands[-1].payload == b""
    replied(sink, sink._finish, MADE)

    assert sink.take(0.0).config.name == "S"
    assert sink.take(0.0) is ENDED
    assert (sink.sent, sink.size, sink.deadline) == (2, 6, None)


def test_a_window_of_chunks_is_under_way_and_no_more() -> None:
    early = opened(Restore(API, ORIGIN))
    assert not early.offered(b"x", 0.0)  # the server has not said where to

    sink = restore()
    for _ in range(WINDOW):
        assert sink.offered(b"x", 0.0)
    assert not sink.offered(b"x", 0.0)
    assert (sink.room, sink.put_blocked) == (False, True)
    answered(sink)
    assert sink.room


def test_only_chunks_are_taken_and_only_until_the_drain() -> None:
    sink = restore()
    for item in (b"", "text", None):
        with pytest.raises(LocalProtocolError, match="chunk"):
            sink.offered(item, 0.0)
    sink.told(StopMode.DRAIN, 0.0)
    with pytest.raises(ConversationClosed):
        sink.offered(b"x", 0.0)


def test_a_drain_before_the_server_said_where_to_waits_for_it() -> None:
    sink = opened(Restore(API, ORIGIN))
    sink.told(StopMode.DRAIN, 0.0)
    assert sink._finish == 0
    replied(sink, sink._call, {"deliver_subject": "to.there"})

    assert (sink.port.commands[-1].subject, sink.port.commands[-1].payload) == ("to.there", b"")


def test_each_way_to_fail_is_said_and_given_to_who_puts() -> None:
    exists, nobody, nowhere, bad, unmade, lost, denied, unheard = (
        opened(Restore(API, ORIGIN)),
        opened(Restore(API, ORIGIN)),
        opened(Restore(API, ORIGIN)),
        restore(),
        restore(),
        restore(),
        restore(),
        restore(),
    )
    replied(
        exists, exists._call, {"error": {"code": 400, "err_code": 10130, "description": "exists"}}
    )
    replied(nobody, nobody._call, block=NOBODY)
    replied(nowhere, nowhere._call, {"deliver_subject": 5})
    bad.offered(b"x", 0.0)
    replied(
        bad,
        next(iter(bad._flight)),
        {"error": {"code": 400, "err_code": 10003, "description": "bad"}},
    )
    unmade.told(StopMode.DRAIN, 0.0)
    replied(
        unmade, unmade._finish, {"error": {"code": 400, "err_code": 10003, "description": "bad"}}
    )
    lost.link_down(ConnectionLost("gone"), 0.0)
    denied.refused("other", PermissionViolation("no"), 0.0)
    denied.refused("$JS.SNAPSHOT.RESTORE.S.x", PermissionViolation("no"), 0.0)
    unheard.refused(unheard.port.answers, PermissionViolation("no"), 0.0)
    for sink, error in (
        (exists, AlreadyExists),
        (nobody, NoResponders),
        (nowhere, InvalidResponse),
        (bad, InvalidRequest),
        (unmade, InvalidRequest),
        (lost, ConnectionLost),
        (denied, PermissionViolation),
        (unheard, PermissionViolation),
    ):
        replied(sink, 1, MADE)  # late
        with pytest.raises(error):
            sink.offered(b"x", 0.0)
        with pytest.raises(error):
            sink.take(0.0)


def test_a_chunk_is_answered_by_an_empty_message_and_by_nothing_else() -> None:
    sink = restore()
    answered(sink)
    assert sink.offered(b"one", 0.0)

    replied(sink, next(iter(sink._flight)), {"stream": "ALL", "seq": 7})

    with pytest.raises(InvalidResponse, match="expected an empty answer to a chunk"):
        sink.take(0.0)


def test_a_lost_link_says_what_may_be_left() -> None:
    sink = restore()
    sink.offered(b"xy", 0.0)
    sink.link_down(ConnectionLost("gone"), 0.0)

    with pytest.raises(
        ConnectionLost, match=r"restore, stream S: link lost after 2 bytes.*may hold a part"
    ):
        sink.take(0.0)


def test_an_answer_to_nothing_changes_nothing() -> None:
    sink = restore()
    replied(sink, 999, {"error": {"code": 1}})

    assert sink.take(0.0) is NEED_DATA


def test_a_server_that_owes_an_answer_and_is_silent_ends_it() -> None:
    sink = restore()
    sink.ticked(PATIENCE)
    assert not sink.ended  # it is the user who takes his time
    sink.offered(b"x", 11.0)
    sink.ticked(11.0 + PATIENCE)

    with pytest.raises(RequestTimeout, match="1 bytes were sent, and no stream was made"):
        sink.take(30.0)


def payloads(sink: Restore) -> list[bytes]:
    """What was sent to the subject of the chunks."""
    return [each.payload for each in sink.port.commands[1:]]


def test_while_the_user_pauses_the_server_hears_a_byte_now_and_then() -> None:
    sink = restore()
    data = bytes(range(256)) * 40
    sink.offered(data, 0.0)
    assert payloads(sink) == [data[:-RESERVE]]  # the rest waits for a pause
    answered(sink)
    for moment in (PAUSE, 2 * PAUSE, 3 * PAUSE):
        sink.ticked(moment - 0.1)
        sink.ticked(moment)
        answered(sink)
    assert [len(each) for each in payloads(sink)[1:]] == [1, 1, 1]

    sink.offered(data, 7.0)
    sink.offered(b"small", 7.0)
    assert sink.deadline == 7.0 + PATIENCE  # nothing is held back, the server owes answers
    answered(sink)
    sink.offered(data, 8.0)
    sink.told(StopMode.DRAIN, 8.0)
    answered(sink)

    assert payloads(sink)[-1] == b""
    assert b"".join(payloads(sink)) == data + data + b"small" + data
    assert sink.size == 3 * len(data) + 5


def test_a_pause_that_outlasts_what_was_held_back_sends_nothing_more() -> None:
    sink = restore()
    sink.offered(b"x" * 4 * RESERVE + b"y", 0.0)
    now = 0.0
    while (moment := sink.deadline) is not None and moment < 1e6:
        answered(sink)
        now = moment
        sink.ticked(now)

    assert sink.size == 4 * RESERVE + 1
    assert now > RESERVE * PAUSE


def test_unpacking_may_take_longer_than_an_answer_and_its_end_is_not_guessed() -> None:
    sink = restore(patience=3.0)
    for _ in range(40):
        sink.offered(b"x" * 2**18, 0.0)
        answered(sink)
    sink.told(StopMode.DRAIN, 0.0)
    answered(sink)
    assert sink.deadline == pytest.approx(13.0)  # 10 MB more than the patience
    sink.ticked(13.0)

    with pytest.raises(RequestTimeout, match="look whether it, or a part of it, is there"):
        sink.take(13.0)


def test_without_a_link_a_restore_asks_when_there_is_one() -> None:
    sink = opened(Restore(API, ORIGIN), up=False)
    sink.link_down(ConnectionLost("none"), 0.0)
    assert sink.port.commands == []
    sink.port.up = True
    sink.link_up(0.0)
    sink.link_up(0.0)

    assert len(sink.port.commands) == 1


def test_the_state_of_a_restore_can_be_put_back() -> None:
    sink = restore()
    sink.offered(b"x", 0.0)
    twin = Restore(API, ORIGIN)
    twin.restore(sink.snapshot())
    assert (twin.sent, twin._flight, twin.take(0.0)) == (1, sink._flight, NEED_DATA)

    answered(sink)
    sink.told(StopMode.DRAIN, 0.0)
    replied(sink, sink._finish, MADE)
    twin = Restore(API, ORIGIN)
    twin.restore(sink.snapshot())

    assert twin.take(0.0).config.name == "S"


def test_an_origin_can_have_another_number_of_replicas() -> None:
    other = ORIGIN.replicated(3)

    assert (other.config.num_replicas, other.config.subjects, other.state) == (
        3,
        ("s",),
        ORIGIN.state,
    )
    assert ORIGIN.config.num_replicas is None


def test_an_origin_needs_configuration_and_state() -> None:
    for members in ({}, {"config": {"name": "S"}}, {"config": {}, "state": {}}):
        with pytest.raises(InvalidResponse):
            Restore(API, Origin(members))
    with pytest.raises(InvalidConfig, match="patience"):
        Restore(API, ORIGIN, patience=0.0)
