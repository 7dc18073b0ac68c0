"""Batches of direct gets: pages follow by themselves, and a truncated answer never looks complete."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidConfig,
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.errors import TooManyResults, UnknownStatus
from jsproto.jetstream.stored.direct_batch import BatchOptions, DirectBatch
from jsproto.signals import ENDED, NEED_DATA

TIME = "2026-11-27T21:01:35.5Z"
SUBJECT = "$JS.API.DIRECT.GET.S"


class Rig:
    """A batch on a bare port, a clock, and the server's answers to whatever was asked last."""

    def __init__(self, **options: object) -> None:
        self.now = 0.0
        self.batch = DirectBatch(ApiSubjects(), "S", BatchOptions(**options))
        self.batch.port = Port()
        self.batch.opened(self.now)

    @property
    def asked(self) -> list[dict[str, object]]:
        return [json.loads(each.payload or b"{}") for each in self.batch.port.commands]

    @property
    def last(self) -> dict[str, object]:
        """The newest request, without the bounds of its page."""
        return {
            name: value
            for name, value in self.asked[-1].items()
            if name not in {"batch", "max_bytes"}
        }

    def answer(self, block: bytes, payload: bytes = b"", token: int = 0) -> None:
        frame = ("1", "_INBOX.R", "", block, payload)
        token = token or self.batch._each._token or self.batch._token
        self.batch.replied(token, frame, self.now)

    def json(self, members: dict[str, object]) -> None:
        self.batch.replied(
            self.batch._each._token, ("1", "r", "", None, json.dumps(members).encode()), self.now
        )

    def message(
        self, seq: int, pending: int | None = None, subject: str = "s.a", time: str = TIME
    ) -> None:
        place = f"Nats-Stream: S\r\nNats-Subject: {subject}\r\nNats-Sequence: {seq}\r\nNats-Time-Stamp: {time}\r\n"
        more = (
            "" if pending is None else f"Nats-Num-Pending: {pending}\r\nNats-Last-Sequence: 0\r\n"
        )
        self.answer(f"NATS/1.0\r\n{place}{more}\r\n".encode(), b"%d" % seq)

    def end(self, pending: int, up_to: int | None = None) -> None:
        more = "" if up_to is None else f"Nats-UpTo-Sequence: {up_to}\r\n"
        self.answer(
            f"NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\nNats-Last-Sequence: 9\r\n{more}\r\n".encode()
        )

    def status(self, line: str) -> None:
        self.answer(f"NATS/1.0 {line}\r\n\r\n".encode())

    def tick(self, seconds: float) -> None:
        self.now += seconds
        self.batch.ticked(self.now)

    def take(self) -> object:
        return self.batch.take(self.now)

    def taken(self) -> list[int]:
        """Sequences of everything at hand."""
        found = []
        while self.batch.readable:
            found.append(self.take().seq)
        return found

    def ended_with(self, error: type[Exception], match: str | None = None) -> None:
        self.taken()
        with pytest.raises(error, match=match):
            self.take()


# ---------------------------------------------------------------------------------------------- pages


def test_pages_follow_behind_the_last_message_until_nothing_is_pending() -> None:
    rig = Rig(page=2)
    assert rig.asked == [{"batch": 2, "next_by_subj": ">", "max_bytes": 4194304}]

    rig.message(1, 3)
    rig.message(4, 2)
    rig.end(2)
    assert len(rig.asked) == 1  # the reader has a page at hand

    assert rig.take().seq == 1
    assert rig.last == {"seq": 5, "next_by_subj": ">"}

    rig.message(5, 1)
    rig.message(6, 0)
    rig.end(0)

    assert rig.taken() == [4, 5, 6]
    assert rig.take() is ENDED
    assert (rig.batch.got, rig.batch.pending, rig.batch.deadline) == (3 + 1, 0, None)


def test_a_page_that_bytes_cut_short_is_a_page_like_others() -> None:
    rig = Rig(seq=7, next_by_subj="s.*", page=100, page_bytes=10)
    assert rig.asked == [{"batch": 100, "seq": 7, "next_by_subj": "s.*", "max_bytes": 10}]

    rig.message(8, 5)
    rig.end(5)

    assert rig.last == {"seq": 9, "next_by_subj": "s.*"}
    assert rig.take().seq == 8
    assert rig.take() is NEED_DATA


def test_a_start_time_begins_the_first_page_only() -> None:
    rig = Rig(start_time=datetime(2020, 1, 1, tzinfo=UTC), page=1)
    assert rig.last == {"start_time": "2020-01-01T00:00:00Z", "next_by_subj": ">"}

    rig.message(3, 1)
    rig.end(1)
    rig.take()

    assert rig.last == {"seq": 4, "next_by_subj": ">"}


def test_a_limit_ends_it_and_asks_for_no_more_than_is_wished() -> None:
    rig = Rig(limit=3, page=2)
    rig.message(1, 9)
    rig.message(2, 8)
    rig.end(8)
    rig.taken()
    assert rig.asked[-1]["batch"] == 1

    rig.message(3, 7)
    rig.end(7)

    assert rig.taken() == [3]
    assert rig.take() is ENDED


def test_nothing_found_is_the_end_and_no_error() -> None:
    for line in ("404 Message Not Found", "404 No Results"):
        rig = Rig()
        rig.status(line)

        assert rig.take() is ENDED


def test_messages_that_vanish_between_two_pages_are_the_end() -> None:
    rig = Rig(page=1)
    rig.message(1, 1)
    rig.end(1)
    rig.taken()
    rig.status("404 Message Not Found")

    assert rig.take() is ENDED
    assert rig.batch.overtaken == 0


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([lambda rig: rig.end(3)], "3 are pending, none came"),
        ([lambda rig: rig.answer(b"NATS/1.0 204 EOB\r\n\r\n")], "says what is pending"),
        ([lambda rig: rig.message(5, 3), lambda rig: rig.message(5, 2)], "after 5, got 5"),
        ([lambda rig: rig.answer(b"NATS/1.0\r\n\r\n", b"x")], "1 bytes without its place"),
        ([lambda rig: rig.answer(b"NATS/1.0\r\nNats-Sequence: x\r\n\r\n")], "subject and time"),
    ],
)
def test_an_answer_that_cannot_be_is_an_error_and_no_end(answers, text: str) -> None:
    rig = Rig()
    for answer in answers:
        answer(rig)

    rig.ended_with(InvalidResponse, text)


def test_what_came_before_an_error_is_handed_out_first() -> None:
    rig = Rig()
    rig.message(1, 5)
    rig.status("500 broken")

    assert rig.taken() == [1]
    rig.ended_with(StatusError, "broken")


@pytest.mark.parametrize(
    ("line", "error"), [("413 Too Many Results", TooManyResults), ("499 ?", UnknownStatus)]
)
def test_a_status_that_ends_it_is_its_error(line: str, error: type[Exception]) -> None:
    rig = Rig(multi_last=["s.>"])
    rig.status(line)

    rig.ended_with(error)


def test_b206_only_an_end_that_is_one_ends_a_batch() -> None:
    refused, cut, empty = Rig(), Rig(), Rig()
    for rig in (refused, cut):
        rig.message(1, 8)
        rig.message(2, 7)
    refused.status("413 Too Many Results")
    cut.batch.port.up = False
    cut.batch.link_down(ConnectionLost("gone"), cut.now)
    empty.status("404 Message Not Found")

    assert (refused.taken(), cut.taken()) == ([1, 2], [1, 2])
    refused.ended_with(TooManyResults)
    assert cut.take() is NEED_DATA  # it is not complete, and goes on with the next link
    cut.batch.closed(ConnectionClosed("no link any more"), cut.now)
    cut.ended_with(ConnectionClosed)
    assert empty.take() is ENDED


# ------------------------------------------------------------------------------------- as the stream was


def test_the_last_of_each_subject_stays_as_it_was_at_the_first_page() -> None:
    rig = Rig(multi_last=["s.a", "s.b"], page=1)
    assert rig.last == {"multi_last": ["s.a", "s.b"]}

    rig.message(7, 1)
    rig.end(1, up_to=9)
    rig.taken()
    assert rig.last == {"multi_last": ["s.a", "s.b"], "seq": 8, "up_to_seq": 9}

    rig.message(9, 0)
    rig.end(0, up_to=9)

    assert rig.taken() == [9]
    assert rig.take() is ENDED
    assert (rig.batch.up_to_seq, rig.batch.overtaken) == (9, 0)


def test_an_end_that_names_no_sequence_leaves_the_one_that_is_known() -> None:
    rig = Rig(multi_last=["s.a"])
    rig.message(7, 0)
    rig.end(0)

    assert rig.taken() == [7]
    assert rig.take() is ENDED
    assert rig.batch.up_to_seq == 0


def test_a_bound_of_the_users_is_kept_from_the_first_page_on() -> None:
    assert Rig(multi_last=["s"], up_to_seq=4, seq=2).last == {
        "multi_last": ["s"],
        "seq": 2,
        "up_to_seq": 4,
    }
    moment = Rig(multi_last=["s"], up_to_time=Timestamp(0), page=1)
    assert moment.last == {"multi_last": ["s"], "up_to_time": "1970-01-01T00:00:00Z"}

    moment.message(3, 1)
    moment.end(1, up_to=5)
    moment.taken()
    assert moment.last == {"multi_last": ["s"], "seq": 4, "up_to_seq": 5}


def test_messages_that_were_replaced_between_two_pages_are_counted() -> None:
    rig = Rig(multi_last=["s.*"], page=1)
    rig.message(1, 5)
    rig.end(5, up_to=9)
    rig.taken()
    rig.message(4, 2)
    rig.end(2, up_to=9)
    rig.taken()
    rig.end(0, up_to=9)

    assert rig.take() is ENDED
    assert rig.batch.overtaken == 2 + 2


def test_an_end_that_says_too_few_is_not_believed() -> None:
    """2.11.11 says one too few behind a page that is not the last."""
    rig = Rig(multi_last=["s.*"], page=1)
    rig.message(1, 1)
    rig.end(0, up_to=9)
    rig.taken()

    assert rig.last == {"multi_last": ["s.*"], "seq": 2, "up_to_seq": 9}


def test_an_answer_that_breaks_off_does_not_look_complete() -> None:
    """2.11.11 does that when it meets a deleted message that was the last of its subject."""
    rig = Rig(multi_last=["s.*"])
    rig.message(1, 2)
    rig.status("404 Message Not Found")

    rig.ended_with(InvalidResponse, "expected 2 more messages, the server broke off")


# ------------------------------------------------------------------------------------------ older servers


def test_an_old_server_is_asked_for_one_message_after_another() -> None:
    """It answers the first alone, without an end and without what is pending."""
    rig = Rig()
    rig.message(1)
    assert rig.last == {"seq": 2, "next_by_subj": ">"}

    rig.message(4)
    assert rig.last == {"seq": 5, "next_by_subj": ">"}

    rig.status("404 Message Not Found")

    assert rig.taken() == [1, 4]
    assert rig.take() is ENDED


def test_an_old_server_that_ignores_the_start_time_is_found_out() -> None:
    rig = Rig(start_time=datetime(2027, 1, 1, tzinfo=UTC))
    rig.message(1)

    rig.ended_with(InvalidResponse, r"before 2\.11")


INFO = {"config": {"name": "S"}, "state": {"last_seq": 9}}


def last_of_two(rig: Rig, first: int = 7) -> None:
    """The question is not understood; the subjects are looked up, and each is asked for."""
    if not rig.batch._together:
        rig.status("408 Empty Request")
    rig.json(INFO)
    rig.json({**INFO, "state": {"subjects": {"s.a": 3, "s.b": 1}}})
    rig.message(first)
    if first <= 9:
        rig.message(2, subject="s.b")


def test_an_old_server_is_asked_for_each_subject_by_itself() -> None:
    rig = Rig(multi_last=["s.*"])
    last_of_two(rig)

    assert [each.subject for each in rig.batch.port.commands] == [
        SUBJECT,
        "$JS.API.STREAM.INFO.S",
        "$JS.API.STREAM.INFO.S",
        f"{SUBJECT}.s.a",
        f"{SUBJECT}.s.b",
    ]
    assert (rig.batch.readable, rig.batch.got, rig.batch.pending) == (2, 2, 0)
    assert rig.taken() == [2, 7]
    assert rig.take() is ENDED


def test_bounds_hold_on_old_servers_too() -> None:
    limited, late = Rig(multi_last=["s.*"], limit=1), Rig(multi_last=["s.*"], seq=3)
    last_of_two(limited)
    last_of_two(late)

    assert (limited.taken(), late.taken()) == ([2], [7])

    bound = Rig(multi_last=["s.*"], up_to_seq=5)
    bound.status("408 Empty Request")

    bound.ended_with(InvalidResponse, r"before 2\.11 cannot look at a stream as it was")


def test_a_subject_that_has_messages_and_no_last_one_is_not_left_out() -> None:
    """It vanished meanwhile, or a deleted message is taken for its last; it is asked anew, and then
    said.
    """
    rig = Rig(multi_last=["s.*"])
    rig.status("408 Empty Request")
    for _ in range(3):
        rig.json(INFO)
        rig.json({**INFO, "state": {"subjects": {"s.a": 3}}})
        rig.status("404 Message Not Found")

    rig.ended_with(InvalidResponse, "changed while it was read")


def test_an_old_stream_that_changes_meanwhile_is_read_anew() -> None:
    rig = Rig(multi_last=["s.*"])
    last_of_two(rig, first=10)
    last_of_two(rig)

    assert rig.taken() == [2, 7]

    restless = Rig(multi_last=["s.*"])
    for _ in range(3):
        last_of_two(restless, first=10)

    restless.ended_with(InvalidResponse, "changed while it was read, 3 times")


def test_questions_of_the_old_way_end_as_questions_do() -> None:
    silent = Rig(multi_last=["s.*"])
    silent.status("408 Empty Request")
    assert silent.batch.deadline == 5.0
    silent.tick(5.0)
    silent.ended_with(RequestTimeout)

    lost = Rig(multi_last=["s.*"])
    lost.status("408 Empty Request")
    lost.batch.link_down(ConnectionLost("gone"), 0.0)
    lost.ended_with(ConnectionLost)

    closed = Rig(multi_last=["s.*"])
    closed.status("408 Empty Request")
    closed.batch.link_up(0.0)
    closed.batch.closed(ConnectionClosed("over"), 0.0)
    closed.ended_with(ConnectionClosed)

    refused = Rig(multi_last=["s.*"])
    refused.status("408 Empty Request")
    refused.batch.refused("$JS.API.STREAM.INFO.S", PermissionViolation("no"), 0.0)
    refused.ended_with(PermissionViolation)


# --------------------------------------------------------------------------------------------- the road


def test_a_lost_link_costs_no_message() -> None:
    rig = Rig()
    rig.message(1, 9)
    old = rig.batch._token
    rig.batch.port.up = False
    rig.batch.link_down(ConnectionLost("gone"), rig.now)
    rig.tick(1.0)
    rig.batch.port.up = True
    rig.batch.link_up(rig.now)
    assert rig.last == {"seq": 2, "next_by_subj": ">"}

    rig.answer(b"NATS/1.0 404 late\r\n\r\n", token=old)
    rig.message(2, 0)
    rig.end(0)

    assert rig.taken() == [1, 2]
    assert rig.take() is ENDED


def test_a_server_that_falls_silent_is_an_error_whether_or_not_there_is_a_link() -> None:
    rig = Rig(timeout=2.0)
    rig.message(1, 9)
    assert rig.batch.deadline == 2.0
    rig.tick(1.9)
    rig.message(2, 8)
    rig.tick(1.9)
    assert not rig.batch.ended
    rig.tick(0.1)
    rig.ended_with(RequestTimeout, "2 messages came before")

    unlinked = DirectBatch(ApiSubjects(), "S", BatchOptions(timeout=1.0))
    unlinked.port = Port(up=False)
    unlinked.opened(0.0)
    assert unlinked.port.commands == []
    unlinked.ticked(1.0)
    with pytest.raises(RequestTimeout):
        unlinked.take(1.0)


def test_nobody_waits_for_a_server_that_owes_nothing() -> None:
    rig = Rig(page=2)
    rig.message(1, 3)
    rig.message(2, 2)
    rig.end(2)
    assert rig.batch.deadline is None

    rig.batch.port.up = False
    rig.batch.link_down(ConnectionLost("gone"), rig.now)
    rig.now = 100.0
    rig.taken()
    assert rig.batch.deadline == 105.0


def test_nobody_there_is_an_error_at_first_and_a_pause_later() -> None:
    rig = Rig()
    rig.status("503")
    rig.ended_with(NoResponders, "does not allow direct gets")

    moved = Rig(page=1)
    moved.message(1, 3)
    moved.end(3)
    moved.taken()
    moved.status("503")
    assert moved.batch.deadline == DirectBatch.RETRY_WAIT
    moved.tick(DirectBatch.RETRY_WAIT)
    assert moved.last == {"seq": 2, "next_by_subj": ">"}
    for _ in range(DirectBatch.RETRIES):
        moved.status("503")
        moved.tick(DirectBatch.RETRY_WAIT)
    moved.ended_with(NoResponders)


def test_what_is_not_permitted_is_said() -> None:
    rig = Rig()
    rig.batch.refused("other", PermissionViolation("no"), 0.0)
    assert not rig.batch.ended
    rig.batch.refused(SUBJECT, PermissionViolation("no"), 0.0)

    rig.ended_with(PermissionViolation)


def test_where_nobody_may_hear_answers_it_ends() -> None:
    for rig in (Rig(), Rig(multi_last=["s.*"])):
        answers = rig.batch.port.answers
        rig.batch.refused(answers, PermissionViolation("no", answers, "subscription"), 0.0)

        rig.ended_with(PermissionViolation)


def test_closing_ends_it_and_what_comes_late_is_nothing() -> None:
    rig = Rig()
    rig.message(1, 9)
    token = rig.batch._token
    rig.batch.closed(None, 0.0)
    rig.answer(b"NATS/1.0 500 late\r\n\r\n", token=token)

    assert rig.taken() == [1]
    assert rig.take() is ENDED


def test_its_state_can_be_taken_out_and_put_back_at_every_step() -> None:
    def steps(rig: Rig, at: int) -> list[object]:
        acts = [
            lambda: rig.message(1, 3),
            lambda: rig.message(2, 2),
            lambda: rig.end(2),
            rig.take,
            lambda: rig.message(3, 1),
            rig.take,
            lambda: rig.end(1),
            lambda: rig.message(4, 0),
            lambda: rig.end(0),
            rig.take,
            rig.take,
            rig.take,
        ]
        seen = []
        for number, act in enumerate(acts):
            if number == at:
                data = rig.batch.snapshot()
                rig.batch = DirectBatch(ApiSubjects(), "S", rig.batch.options)
                rig.batch.restore(data)
            seen.append(act())
        return [getattr(each, "seq", each) for each in seen]

    plain = steps(Rig(page=2), -1)
    assert plain[-1] is ENDED
    for at in range(12):
        assert steps(Rig(page=2), at) == plain


# ------------------------------------------------------------------------------------------- refused here


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"seq": 0}, InvalidConfig),
        ({"page": 0}, InvalidConfig),
        ({"page_bytes": -1}, InvalidConfig),
        ({"limit": -1}, InvalidConfig),
        ({"timeout": 0.0}, InvalidConfig),
        ({"multi_last": "s.a"}, InvalidConfig),
        ({"seq": 1, "start_time": Timestamp(1)}, InvalidConfig),
        ({"multi_last": ["s"], "up_to_seq": 1, "up_to_time": Timestamp(1)}, InvalidConfig),
        ({"multi_last": ["s"], "next_by_subj": "s"}, InvalidConfig),
        ({"multi_last": ["s"], "start_time": Timestamp(1)}, InvalidConfig),
        ({"up_to_seq": 1}, InvalidConfig),
        ({"start_time": datetime(2020, 1, 1)}, InvalidConfig),  # noqa: DTZ001 - the point
        ({"multi_last": ["a", "a..b"]}, InvalidSubject),
        ({"next_by_subj": "a b"}, InvalidSubject),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(
    options, error: type[Exception]
) -> None:
    with pytest.raises(error):
        BatchOptions(**options)
