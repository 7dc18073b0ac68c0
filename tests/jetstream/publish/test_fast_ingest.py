"""A fast batch goes at the pace of the stream, knows what is missing, and goes on over a lost link."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    ConversationClosed,
    InvalidConfig,
    InvalidSubject,
    JsprotoError,
    LinkError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import (
    BatchUnsupported,
    InvalidBatch,
    InvalidPubAck,
    StreamFull,
    WrongLastSequence,
)
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.errors import MessagesLost
from jsproto.jetstream.publish import fast_ingest
from jsproto.jetstream.publish.fast_ingest import (
    QUIET,
    FastIngest,
    IngestFault,
    IngestNotice,
    IngestState,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub
from jsproto.wire.headers import Headers

UNKNOWN = {
    "error": {"code": 400, "err_code": 10208, "description": "unknown"},
    "stream": "S",
    "seq": 0,
}


def begun(of: FastIngest, *, up: bool = True) -> FastIngest:
    of.port = Port(up=up)
    of.opened(0.0)
    return of


def fast(**options: object) -> FastIngest:
    return begun(FastIngest(**{"batch_id": "b", "flow": 10, **options}))


def sent(of: FastIngest) -> list[Publish]:
    return [each for each in of.port.commands if isinstance(each, Publish)]


def words(of: FastIngest, since: int = 0) -> list[str]:
    """What the reply subjects say behind the inbox."""
    return [each.reply.split(".", 5)[5] for each in sent(of)[since:]]


def say(
    of: FastIngest, members: object, now: float = 0.0, *, at: int = -1, block: bytes | None = None
) -> None:
    """The stream answers on the reply subject of a message."""
    payload = members if isinstance(members, bytes) else json.dumps(members).encode()
    of.delivered([(of.port.sid, sent(of)[at].reply, "", block, payload)], now)


def ack(seq: int, msgs: int = 2) -> dict[str, object]:
    return {"type": "ack", "seq": seq, "msgs": msgs}


def gap(last_seq: int, seq: int) -> dict[str, object]:
    return {"type": "gap", "last_seq": last_seq, "seq": seq}


def err(seq: int) -> dict[str, object]:
    return {
        "type": "err",
        "seq": seq,
        "error": {"code": 400, "err_code": 10071, "description": "wrong"},
    }


def whole(count: int) -> dict[str, object]:
    return {"stream": "S", "seq": 99, "batch": "b", "count": count}


def put(of: FastIngest, amount: int, now: float = 0.0) -> None:
    for _ in range(amount):
        assert of.offered(("s.a", b"x"), now)


def opened(**options: object) -> FastIngest:
    """One message sent, and the stream wants an answer for every two."""
    of = fast(**options)
    put(of, 1)
    say(of, ack(0))
    return of


def results(of: FastIngest) -> list[object]:
    taken = []
    while (item := of.take(0.0)) is not ENDED:
        assert item is not NEED_DATA
        taken.append(item)
    return taken


# ---------------------------------------------------------------------------------------------- the good road


def test_everything_is_said_in_the_reply_subject() -> None:
    of = opened()
    put(of, 1)
    of.told(StopMode.DRAIN, 0.0)

    assert words(of) == ["b.10.fail.1.0.$FI", "b.10.fail.2.1.$FI", "b.10.fail.3.3.$FI"]
    assert [(each.subject, each.payload) for each in sent(of)] == [
        ("s.a", b"x"),
        ("s.a", b"x"),
        ("s.a", b""),
    ]
    subscribed = next(each for each in of.port.commands if isinstance(each, Sub))
    assert all(each.reply.startswith(subscribed.subject.removesuffix(">")) for each in sent(of))


def test_headers_and_other_subjects_go_along() -> None:
    of = opened(gaps="ok")
    headers = Headers({"A": "1"})
    of.offered(Publish("s.b", b"y", "", headers), 0.0)

    assert sent(of)[1].headers is headers
    assert words(of, 1) == ["b.10.ok.2.1.$FI"]


def test_the_first_is_alone_and_then_twice_the_flow_may_be_under_way() -> None:
    of = fast()
    put(of, 1)
    assert not of.offered(("s.a", b"x"), 0.0)
    say(of, ack(0, 3))
    put(of, 5)
    assert not of.room
    say(of, ack(3, 3))
    put(of, 3)
    assert not of.room
    say(of, ack(3, 1))
    assert not of.room
    say(of, ack(9, 5))
    put(of, 10)

    assert of.sent == 19
    assert of.acked == 9


def test_an_old_or_overlong_answer_moves_nothing_back_or_beyond() -> None:
    of = opened()
    put(of, 3)
    say(of, ack(4))
    say(of, ack(2))
    assert of.acked == 4
    say(of, ack(1000))

    assert of.acked == 4


def test_the_acknowledgement_of_the_whole_is_the_last_result() -> None:
    of = opened()
    put(of, 2)
    of.told(StopMode.DRAIN, 0.0)
    say(of, ack(2))
    assert of.take(0.0) is NEED_DATA
    say(of, whole(3))

    assert results(of) == [PubAck(stream="S", seq=99, batch="b", count=3)]
    assert of.acked == of.sent == 3
    assert of.deadline is None


def test_none_is_no_batch() -> None:
    of = fast()
    of.told(StopMode.DRAIN, 0.0)

    assert sent(of) == []
    assert results(of) == []


def test_told_to_end_before_the_first_answer_it_waits_for_it() -> None:
    of = fast()
    put(of, 1)
    of.told(StopMode.DRAIN, 0.0)
    assert len(sent(of)) == 1
    say(of, ack(0))

    assert words(of, 1) == ["b.10.fail.2.3.$FI"]


def test_an_id_is_made_where_none_is_given() -> None:
    one, other = begun(FastIngest()), FastIngest()
    other.port = Port(2)
    other.opened(0.0)

    assert len(one.batch_id) == 22
    assert one.batch_id != other.batch_id


# ---------------------------------------------------------------------------------------------- faults


def test_in_mode_ok_faults_are_told_and_the_rest_goes_on() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    say(of, gap(2, 4))
    say(of, err(4))
    assert of.state is IngestState.OPEN
    say(of, ack(4))
    of.told(StopMode.DRAIN, 0.0)
    say(of, whole(4))

    lost, refused, acked = results(of)
    assert (lost.numbers, refused.numbers, acked.count) == (range(2, 4), range(4, 5), 4)
    assert isinstance(lost.error, MessagesLost)
    assert isinstance(refused.error, WrongLastSequence)


def test_in_mode_fail_the_first_fault_ends_it_and_what_is_behind_is_told_too() -> None:
    of = opened()
    put(of, 3)
    say(of, err(2))
    with pytest.raises(ConversationClosed, match="wrong") as caught:
        of.offered(("s.a", b"x"), 0.0)
    assert isinstance(caught.value.__cause__, WrongLastSequence)
    assert len(sent(of)) == 4
    say(of, ack(1))
    assert of.state is IngestState.COMMITTING
    say(of, whole(1))

    assert [(each.first, each.last) for each in results(of) if isinstance(each, IngestFault)] == [
        (2, 2),
        (3, 4),
    ]
    with pytest.raises(ConversationClosed, match="wrong") as caught:
        of.offered(("s.a", b"x"), 0.0)
    assert isinstance(caught.value.__cause__, WrongLastSequence)


def test_a_gap_in_mode_fail_is_the_same() -> None:
    of = opened()
    put(of, 3)
    say(of, gap(2, 4))
    say(of, whole(1))

    assert [(each.first, each.last) for each in results(of)[:-1]] == [(2, 3), (4, 4)]


def test_a_gap_stops_the_sender_at_once_in_mode_fail_and_is_told_in_mode_ok_n076() -> None:
    of = fast(flow=200)
    put(of, 1)
    say(of, ack(0, 100))
    put(of, 199)
    assert not of.room
    say(of, gap(121, 131))

    assert of.room  # whoever waits for room is woken
    with pytest.raises(ConversationClosed, match="121 to 130 never came") as caught:
        of.offered(("s.a", b"x"), 0.0)
    assert isinstance(caught.value.__cause__, MessagesLost)
    assert len(sent(of)) == 200
    say(of, whole(120))
    assert [(each.first, each.last) for each in results(of)[:-1]] == [(121, 130), (131, 200)]
    assert of.acked == 120
    going = fast(flow=200, gaps="ok")
    put(going, 1)
    say(going, ack(0, 200))
    put(going, 199)
    say(going, gap(121, 131))
    put(going, 1)
    fault = going.take(0.0)
    assert isinstance(fault, IngestFault)
    assert (fault.numbers, going.acked) == (range(121, 131), 0)


def test_whoever_offers_to_a_batch_that_the_stream_has_ended_by_itself_hears_why() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    say(of, whole(2))

    with pytest.raises(ConversationClosed, match="ended the batch before 3 to 4"):
        of.offered(("s.a", b"x"), 0.0)


@pytest.mark.parametrize("count", [None, 5, -1])
def test_the_last_answer_says_how_far_the_batch_was_dealt_with(count: int | None) -> None:
    of = opened()
    put(of, 3)
    of.told(StopMode.DRAIN, 0.0)
    say(of, {"stream": "S", "seq": 9, "batch": "b", **({} if count is None else {"count": count})})

    with pytest.raises(InvalidPubAck, match=f"of 4, got {count}"):
        of.take(0.0)


@pytest.mark.parametrize(
    ("count", "acked", "faults"),
    [(2, 2, [(3, 4)]), (4, 4, []), (9, 4, []), (None, 0, []), ("x", 0, [])],
)
def test_the_count_beside_the_refusal_of_a_batch_is_kept(
    count: object, acked: int, faults: list[tuple[int, int]]
) -> None:
    of = opened()
    put(of, 3)
    said = {
        "error": {"code": 503, "err_code": 10077, "description": "full"},
        "stream": "S",
        "seq": 2,
        "batch": "b",
    }
    say(of, said if count is None else {**said, "count": count})

    assert of.acked == acked
    seen = [cast("IngestFault", of.take(0.0)) for _ in range(of.readable)]
    assert [(each.first, each.last) for each in seen] == faults
    with pytest.raises(StreamFull):
        of.take(0.0)


def test_an_answer_before_the_first_message_is_none() -> None:
    of = fast()
    of.delivered([(of.port.sid, "x.b.10.ok.1.0.$FI", "", None, json.dumps(ack(1)).encode())], 0.0)

    with pytest.raises(InvalidPubAck, match="before the first message"):
        of.offered(("s.a", b"x"), 0.0)


def test_a_batch_that_the_stream_ends_by_itself_says_what_is_behind() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    say(of, whole(2))

    (behind, acked) = results(of)
    assert (behind.numbers, acked.count) == (range(3, 5), 2)


def test_faults_that_nobody_takes_are_bounded_and_counted(monkeypatch) -> None:
    monkeypatch.setattr(fast_ingest, "MOST_RESULTS", 2)
    of = opened(gaps="ok")
    put(of, 3)
    for number in (1, 2, 3, 4):
        say(of, err(number))

    assert of.dropped == 2
    assert of.readable == 2
    assert of.port.notices == [(IngestNotice.RESULTS_DROPPED, 2)]


def test_refused_messages_are_under_way_no_more_although_nothing_is_acknowledged() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    assert not of.room
    for number in range(1, 200):
        say(of, err(number))
        assert of.room
        put(of, of.room)

    assert of.acked == 0
    assert of.sent == 203


def test_messages_that_never_came_are_under_way_no_more() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    say(of, gap(2, 4))
    put(of, 3)
    assert not of.room
    say(of, gap(4, 7))
    put(of, 3)

    assert of.acked == 0


def test_faults_that_were_lost_with_a_link_hold_no_place_once_a_ping_is_answered() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    down(of)
    up(of)
    say(of, ack(0), at=1)
    assert not of.room  # an answer that was on its way says nothing of those behind it
    say(of, ack(0))
    put(of, 4)

    assert (of.acked, of.sent) == (0, 8)


@pytest.mark.parametrize("number", ["x", "9" * 6000, ""])
def test_a_reply_subject_that_is_no_ping_of_ours_settles_nothing(number: str) -> None:
    of = opened(gaps="ok")
    put(of, 3)
    subject = sent(of)[0].reply.split(".b.", maxsplit=1)[0] + f".b.10.ok.{number}.4.$FI"
    of.delivered([(of.port.sid, subject, "", None, json.dumps(ack(0)).encode())], 0.0)

    assert not of.room
    assert of.state is IngestState.OPEN


@pytest.mark.parametrize(
    "members", [gap(0, 1), gap(5, 9), gap(2, 2), err(0), err(3), b"pong", {"type": "x"}]
)
def test_an_answer_about_what_was_not_sent_is_no_answer(members: object) -> None:
    of = opened()
    put(of, 1)
    say(of, members)

    with pytest.raises(InvalidPubAck):
        of.take(0.0)


# ---------------------------------------------------------------------------------------------- refusals


def test_a_server_without_fast_batches_has_stored_one_message_and_that_is_told() -> None:
    of = fast()
    put(of, 1)
    say(of, {"stream": "S", "seq": 7})

    with pytest.raises(
        BatchUnsupported, match=r"fast batches \(2\.14\).*stream 'S', sequence 7"
    ) as caught:
        of.take(0.0)
    assert (caught.value.stream, caught.value.seq) == ("S", 7)


def test_the_acknowledgement_of_another_batch_is_none() -> None:
    of = opened()
    say(of, {"stream": "S", "seq": 7, "batch": "c", "count": 1})

    with pytest.raises(InvalidPubAck, match="batch 'b', got that of batch 'c'"):
        of.take(0.0)


@pytest.mark.parametrize("code", [10205, 10207, 10211, 10208])
def test_a_refusal_of_the_batch_is_its_typed_error(code: int) -> None:
    of = fast()
    put(of, 1)
    say(
        of, {"error": {"code": 400, "err_code": code, "description": "no"}, "stream": "S", "seq": 0}
    )

    with pytest.raises(JsprotoError) as caught:
        of.take(0.0)
    assert caught.value.err_code == code
    with pytest.raises(type(caught.value)):
        of.offered(("s.a", b"x"), 0.0)


def test_nobody_and_other_statuses_are_told() -> None:
    nobody, other = fast(), opened()
    put(nobody, 1)
    say(nobody, b"", block=b"NATS/1.0 503\r\n\r\n")
    say(other, b"", block=b"NATS/1.0 429 Too Many\r\n\r\n")

    with pytest.raises(NoResponders, match=r"stores 's\.a'"):
        nobody.take(0.0)
    with pytest.raises(StatusError):
        other.take(0.0)


def test_what_comes_behind_the_end_is_not_looked_at() -> None:
    of = opened()
    reply = sent(of)[0].reply
    body = json.dumps(whole(1)).encode()
    of.delivered(
        [(of.port.sid, reply, "", None, body), (of.port.sid, reply, "", None, b"pong")], 0.0
    )
    of.delivered([(of.port.sid, reply, "", None, b"pong")], 0.0)

    assert len(results(of)) == 1


def test_a_refused_subject_ends_it_and_another_does_not() -> None:
    publish, answers = opened(), opened()
    publish.refused("t.x", PermissionViolation("no", "t.x"), 0.0)
    assert not publish.ended
    publish.refused("s.a", PermissionViolation("no", "s.a"), 0.0)
    answers.refused(answers.port.subject, PermissionViolation("no"), 0.0)
    answers.refused("s.a", PermissionViolation("no"), 0.0)

    for of in (publish, answers):
        with pytest.raises(PermissionViolation):
            of.take(0.0)


@pytest.mark.parametrize(
    "options",
    [
        {"gaps": "maybe"},
        {"flow": 0},
        {"flow": 65_536},
        {"flow": True},
        {"timeout": 0.0},
        {"quiet": float("inf")},
        {"batch_id": "a.b"},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig, match="expected"):
        FastIngest(**options)


def test_what_is_no_message_is_refused() -> None:
    of = fast()
    with pytest.raises(InvalidSubject):
        of.offered(("s.*", b""), 0.0)
    assert of.sent == 0


# ---------------------------------------------------------------------------------------------- time


def test_silence_is_broken_by_a_ping_and_a_ping_without_answer_is_the_end() -> None:
    of = opened(timeout=2.0)
    assert of.deadline == QUIET
    put(of, 1, 1.0)
    assert of.deadline == QUIET
    of.ticked(QUIET)
    assert words(of, 2) == ["b.10.fail.2.4.$FI"]
    say(of, ack(0), 6.5)
    assert of.deadline == 6.5 + QUIET
    of.ticked(11.5)
    of.ticked(13.5)

    with pytest.raises(
        RequestTimeout,
        match=r"0 messages were dealt with, the outcome of the 2 after them is unknown",
    ):
        of.take(13.5)


@pytest.mark.parametrize(
    ("timeout", "pause"), [(10.0, 5.5), (5.0, 1.0), (5.0, 4.9), (7.0, 5.0), (60.0, 6.0)]
)
def test_a_stream_that_is_silent_is_noticed_however_often_messages_are_put(
    timeout: float, pause: float
) -> None:
    of = opened(timeout=timeout, flow=500)
    say(of, ack(0, 500))
    now = 0.0
    while not of.ended and now < 600.0:
        now += pause
        while of.deadline is not None and of.deadline <= now:
            of.ticked(of.deadline)
        if not of.ended:
            put(of, 1, now)

    assert isinstance(of.error, RequestTimeout)
    assert now < QUIET + timeout + pause


def test_pings_go_on_while_their_answer_is_waited_for_so_the_stream_does_not_forget_the_batch() -> (
    None
):
    of = opened(timeout=30.0)
    while not of.ended:
        of.ticked(of.deadline)

    assert len(words(of, 1)) == 6
    assert set(words(of, 1)) == {"b.10.fail.1.4.$FI"}


def test_stalls_end_when_the_stream_wants_more_or_a_ping_finds_a_lost_answer_n077() -> None:
    of = opened(gaps="ok", flow=100)
    say(of, ack(0, 100))
    put(of, 199)
    assert not of.room
    say(of, ack(100, 50))
    assert not of.room
    say(of, ack(150, 50))
    put(of, 50)
    assert not of.room
    of.ticked(QUIET)
    say(
        of, ack(150, 50), QUIET
    )  # the answer to the ping: what it does not acknowledge it had refused, and that was lost
    assert of.room
    assert {word.rsplit(".", 2)[0] for word in words(of)} == {
        f"b.100.ok.{number}" for number in range(1, 251)
    }
    silent = opened(timeout=3.0, flow=100)
    silent.ticked(QUIET)
    silent.ticked(QUIET + 3.0)

    assert isinstance(silent.error, RequestTimeout)


def test_the_end_of_a_batch_by_the_stream_is_followed_by_no_ping() -> None:
    of = opened(timeout=8.0)
    put(of, 3)
    say(of, err(2), 1.0)
    assert of.deadline == 9.0
    of.ticked(9.0)

    assert len(sent(of)) == 4


def test_the_first_answer_and_the_last_are_waited_for_so_long() -> None:
    first, last = fast(timeout=2.0), opened(timeout=2.0)
    put(first, 1)
    last.told(StopMode.DRAIN, 1.0)
    say(last, ack(1), 1.5)
    assert last.deadline == 3.5
    first.ticked(2.0)
    last.ticked(3.5)

    with pytest.raises(RequestTimeout, match="outcome of the 1 after them"):
        first.take(2.0)
    with pytest.raises(RequestTimeout, match="all 1 messages were dealt with"):
        last.take(3.5)


# ---------------------------------------------------------------------------------------------- the link


def down(of: FastIngest) -> None:
    of.port.up = False
    of.link_down(LinkError("gone"), 1.0)


def up(of: FastIngest) -> None:
    of.port.up = True
    of.link_up(2.0)


def test_over_a_lost_link_the_stream_is_asked_whether_anything_is_missing_and_it_goes_on() -> None:
    of = opened(gaps="ok")
    put(of, 3)
    down(of)
    assert of.deadline is None
    assert not of.offered(("s.a", b"x"), 1.0)
    up(of)
    assert words(of, 4) == ["b.10.ok.4.4.$FI"]
    say(of, ack(2), at=1)
    assert not of.room
    say(of, gap(3, 5))
    say(of, ack(4))
    put(of, 1)

    assert words(of, 5) == ["b.10.ok.5.1.$FI"]
    assert [(each.first, each.last) for each in of._results] == [(3, 4)]


def test_in_mode_fail_what_was_lost_with_the_link_ends_it_with_the_number_that_is_stored() -> None:
    of = opened()
    put(of, 3)
    down(of)
    up(of)
    say(of, gap(3, 5))
    say(of, whole(2))

    (lost, acked) = results(of)
    assert (lost.numbers, acked.count) == (range(3, 5), 2)


def test_a_second_loss_while_asking_asks_again() -> None:
    of = opened()
    for _ in range(2):
        down(of)
        up(of)

    assert words(of, 1) == ["b.10.fail.1.4.$FI"] * 2


def test_a_batch_that_the_stream_has_forgotten_meanwhile_says_how_far_it_was() -> None:
    of = opened()
    put(of, 3)
    say(of, ack(2))
    down(of)
    up(of)
    say(of, UNKNOWN)

    with pytest.raises(
        ConnectionLost,
        match=r"forgotten since; 2 messages were dealt with, the outcome of the 2 after them",
    ) as caught:
        of.take(2.0)
    assert isinstance(caught.value.__cause__, InvalidBatch)


def test_the_end_is_said_again_on_the_next_link() -> None:
    of = opened()
    of.told(StopMode.DRAIN, 0.0)
    down(of)
    up(of)

    assert words(of, 1) == ["b.10.fail.2.3.$FI"] * 2
    say(of, whole(1))
    assert len(results(of)) == 1


def test_told_to_end_while_the_link_is_down_it_ends_when_the_stream_has_answered() -> None:
    of = opened()
    down(of)
    of.told(StopMode.DRAIN, 1.0)
    up(of)
    say(of, ack(1))

    assert words(of, 1) == ["b.10.fail.1.4.$FI", "b.10.fail.2.3.$FI"]


def test_of_a_first_message_nobody_knows() -> None:
    of = fast()
    put(of, 1)
    down(of)

    with pytest.raises(
        ConnectionLost,
        match="at the beginning of fast batch 'b'; 0 messages were dealt with, the outcome of the 1",
    ):
        of.take(1.0)
    down(of)


def test_a_link_that_is_lost_before_anything_was_sent_does_not_matter() -> None:
    of = begun(FastIngest(batch_id="b"), up=False)
    of.link_down(LinkError("gone"), 0.0)
    assert not of.offered(("s.a", b"x"), 0.0)
    up(of)
    put(of, 1)
    say(of, UNKNOWN)

    with pytest.raises(InvalidBatch):
        of.take(2.0)


def test_whoever_closes_it_tells_the_stream_that_was_all() -> None:
    of, offline, closing, new = opened(), opened(), opened(), fast()
    offline.port.up = False
    for each in (of, offline, new):
        each.closed(None, 0.0)
    of.closed(None, 0.0)
    closing.closed(ConnectionClosed("closed"), 0.0)

    assert words(of, 1) == ["b.10.fail.2.3.$FI"]
    assert [len(sent(each)) for each in (offline, closing, new)] == [1, 1, 0]
    with pytest.raises(ConnectionClosed):
        closing.take(0.0)


def test_a_snapshot_holds_faults_and_the_acknowledgement() -> None:
    of = opened(gaps="ok")
    put(of, 1)
    say(of, err(2))
    say(of, whole(2))
    again = fast(gaps="ok")
    again.restore(of.snapshot())

    (fault, acked) = results(again)
    assert (fault.numbers, type(fault.error), acked) == (
        range(2, 3),
        WrongLastSequence,
        results(of)[1],
    )


# ---------------------------------------------------------------------------------------------- whatever happens


def bodies() -> st.SearchStrategy[object]:
    numbers = st.integers(0, 8)
    return st.one_of(
        st.builds(ack, numbers, st.integers(0, 3)),
        st.builds(gap, numbers, numbers),
        st.builds(err, numbers),
        st.builds(whole, numbers),
        st.sampled_from([UNKNOWN, b"pong", {"stream": "S", "seq": 1}]),
    )


STEP = st.one_of(
    st.tuples(st.just("put"), st.none()),
    st.tuples(st.just("say"), bodies()),
    st.tuples(st.just("tick"), st.sampled_from([0.1, 2.0, 6.0])),
    st.tuples(st.sampled_from(["down", "up", "drain", "close"]), st.none()),
)


@given(st.lists(STEP, max_size=20), st.sampled_from(["ok", "fail"]))
def test_whatever_happens_numbers_are_in_order_and_no_more_is_under_way_than_allowed(
    steps, gaps: str
) -> None:
    of = fast(gaps=gaps)
    now = 0.0
    for what, detail in steps:
        match what:
            case "put":
                try:
                    of.offered(("s.a", b"x"), now)
                except JsprotoError:
                    assert of.ended or of._draining
            case "say":
                if sent(of):
                    say(of, detail, now)
            case "tick":
                now += detail
                of.ticked(now)
            case "down":
                down(of)
            case "up":
                up(of)
            case "drain":
                of.told(StopMode.DRAIN, now)
            case _:
                of.closed(None, now)
        assert 0 <= of.acked <= of.sent
        again = fast(gaps=gaps)
        again.restore(of.snapshot())
        assert again.snapshot() == of.snapshot()
    numbers = [
        int(each.reply.split(".")[-3])
        for each in sent(of)
        if each.reply.split(".")[-2] in {"0", "1"}
    ]

    assert numbers == list(range(1, of.sent + 1))
    assert of.ended == (of.state is IngestState.OVER)
    assert all(each.numbers for each in of._results if isinstance(each, IngestFault))
