"""Deletions that nobody waits for: asked for at once, again after a failure, and given up in the
end.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ConnectionClosed, LocalProtocolError, PermissionViolation
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered.cleanup import ConsumerCleanup, removal
from jsproto.wire.commands import Publish

DELETE = "$JS.API.CONSUMER.DELETE.S."
DELETED = {"success": True}
NOT_FOUND = {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
BUSY = {"error": {"code": 503, "err_code": 10008, "description": "not now"}}


class Cleaner:
    """Leftovers and their port."""

    def __init__(self, *names: str, up: bool = True) -> None:
        self.left = ConsumerCleanup(ApiSubjects(), "S", 5.0)
        self.port = Port(up=up)
        for name in names:
            self.left.add(name, self.port, 0.0)

    @property
    def asked(self) -> list[str]:
        return [
            each.subject.removeprefix(DELETE)
            for each in self.port.commands
            if isinstance(each, Publish)
        ]

    def answer(self, body: dict[str, object], now: float = 0.0, call: int = -1) -> bool:
        """An answer to one of the calls, by its place; to the last one if nothing is said."""
        call = self.port.commands[call]
        frame = ("1", call.reply, "", None, json.dumps(body).encode())
        return self.left.replied(self.port, int(call.reply.rpartition(".")[2]), frame, now)

    def refused(self, error: Exception, name: str, now: float = 0.0) -> None:
        self.left.refused(self.port, DELETE + name, error, now)

    def wait(self) -> float:
        """Let time pass up to the deadline."""
        now = self.left.deadline
        self.left.ticked(self.port, now)
        return now


# ------------------------------------------------------------------ asked for at once


def test_nothing_is_asked_where_nothing_is_left():
    cleaner = Cleaner()
    cleaner.left.ticked(cleaner.port, 1.0)
    cleaner.refused(PermissionViolation("no"), "a")

    assert (cleaner.asked, cleaner.left.deadline) == ([], None)


def test_consumers_are_deleted_at_once():
    cleaner = Cleaner("a", "b")
    assert (cleaner.asked, cleaner.left.names, cleaner.left.deadline) == (
        ["a", "b"],
        ["a", "b"],
        5.0,
    )

    assert cleaner.answer(DELETED, 1.0, call=1) is True
    assert (cleaner.asked, cleaner.left.names, cleaner.left.deadline) == (["a", "b"], ["a"], 5.0)

    assert cleaner.answer(DELETED, 2.0, call=0) is True
    assert (cleaner.left.names, cleaner.left.given_up, cleaner.left.deadline) == ([], [], None)


def test_who_was_not_there_is_gone_too_but_only_when_it_is_asked_for_in_its_turn():
    """A server works off calls beside each other, so a creation may be done after a deletion that
    was asked for at once.
    """
    cleaner = Cleaner("a", "b")
    assert cleaner.answer(NOT_FOUND, 1.0, call=1) is True
    assert cleaner.left.names == ["a", "b"]

    assert cleaner.answer(NOT_FOUND, 2.0, call=0) is True
    assert (cleaner.asked, cleaner.left.names) == (["a", "b", "b"], ["b"])
    assert cleaner.answer(NOT_FOUND, 3.0) is True
    assert (cleaner.left.names, cleaner.left.given_up) == ([], [])


def test_who_comes_next_and_is_not_answered_yet_is_asked_for_again():
    cleaner = Cleaner("a", "b")
    cleaner.answer(DELETED, 1.0, call=0)

    assert (cleaner.asked, cleaner.left.names, cleaner.left.deadline) == (
        ["a", "b", "b"],
        ["b"],
        6.0,
    )


@pytest.mark.parametrize("body", [DELETED, NOT_FOUND])
def test_an_answer_counts_however_late_it_comes(body):
    """A link on which every answer takes longer than the client waits would else never be rid of a
    consumer.
    """
    cleaner = Cleaner("a", "b")
    assert cleaner.wait() == 5.0
    assert cleaner.answer(body, 5.5, call=0) is True
    assert (cleaner.asked, cleaner.left.names) == (["a", "b", "b"], ["b"])
    assert cleaner.wait() == 10.5
    assert cleaner.answer(body, 10.6, call=2) is True

    assert (cleaner.left.names, cleaner.left.given_up, cleaner.left.deadline) == ([], [], None)
    assert cleaner.answer(body, 10.7, call=1) is False


@pytest.mark.parametrize("body", [BUSY, {"success": False}, {}])
def test_a_late_answer_that_says_nothing_of_the_consumer_changes_nothing(body):
    cleaner = Cleaner("a")
    cleaner.wait()
    assert cleaner.answer(body, 5.5) is True

    assert (cleaner.left.names, cleaner.wait(), cleaner.asked) == (["a"], 6.0, ["a", "a"])


def test_an_answer_of_a_link_that_is_lost_is_not_waited_for():
    cleaner = Cleaner("a")
    cleaner.left.link_down()

    assert cleaner.answer(DELETED, 1.0) is False
    assert cleaner.left.names == ["a"]


def test_a_name_is_deleted_once():
    cleaner = Cleaner("a", "a", "b", "b")

    assert cleaner.left.names == ["a", "b"]


def test_an_answer_that_is_not_waited_for_is_somebody_elses():
    cleaner = Cleaner()
    frame = ("1", "_INBOX.R.1.99", "", None, b"{}")
    assert cleaner.left.replied(cleaner.port, 99, frame, 0.0) is False

    cleaner.left.add("a", cleaner.port, 0.0)
    assert cleaner.left.replied(cleaner.port, 99, frame, 0.0) is False
    assert cleaner.left.names == ["a"]


# ------------------------------------------------------------------ again


def test_a_deletion_that_fails_is_tried_four_times_a_second_later_and_then_later_and_later():
    cleaner = Cleaner("a")
    moments = [0.0]
    for _ in range(3):
        assert cleaner.answer(BUSY, moments[-1]) is True
        assert cleaner.left.names == ["a"]
        moments.append(cleaner.wait())
    assert [b - a for a, b in pairwise(moments)] == [1.0, 2.0, 4.0]

    assert cleaner.answer(BUSY, 7.0) is True
    assert cleaner.asked == ["a"] * 4
    assert (cleaner.left.names, cleaner.left.given_up, cleaner.left.deadline) == ([], ["a"], None)


def test_a_deletion_that_works_at_last_is_not_given_up():
    cleaner = Cleaner("a")
    cleaner.answer(BUSY)
    cleaner.wait()
    cleaner.answer(DELETED, 1.0)

    assert (cleaner.left.names, cleaner.left.given_up) == ([], [])


def test_an_answer_that_does_not_come_is_a_failure_too_and_the_next_name_follows_the_last_attempt():
    cleaner = Cleaner("a", "b")
    moments = []
    while cleaner.left.names[0] == "a":
        moments.append(cleaner.wait())

    assert moments == [5.0, 6.0, 11.0, 13.0, 18.0, 22.0, 27.0]
    assert (cleaner.asked, cleaner.left.given_up) == (["a", "b", "a", "a", "a", "b"], ["a"])
    assert cleaner.left.deadline == 32.0


def test_time_that_has_not_come_changes_nothing():
    cleaner = Cleaner("a")
    cleaner.left.ticked(cleaner.port, 4.9)

    assert (cleaner.asked, cleaner.left.deadline) == (["a"], 5.0)


def test_the_wait_for_an_answer_is_as_long_as_was_said():
    left = ConsumerCleanup(ApiSubjects(), "S", 2.0)
    left.add("a", Port(), 1.0)

    assert left.deadline == 3.0


def test_a_deletion_that_is_forbidden_is_given_up_at_once_and_the_next_follows():
    cleaner = Cleaner("a", "b")
    cleaner.refused(PermissionViolation("no", DELETE + "a", "publish"), "a", 3.0)

    assert (cleaner.asked, cleaner.left.names, cleaner.left.given_up) == (
        ["a", "b", "b"],
        ["b"],
        ["a"],
    )
    assert cleaner.left.deadline == 8.0


def test_a_deletion_that_is_refused_otherwise_is_tried_again():
    cleaner = Cleaner("a", "b")
    cleaner.refused(LocalProtocolError("too large"), "a", 3.0)

    assert (cleaner.asked, cleaner.left.names, cleaner.left.deadline) == (
        ["a", "b"],
        ["a", "b"],
        4.0,
    )


def test_what_is_refused_to_others_is_not_ours():
    cleaner = Cleaner("a")
    cleaner.refused(PermissionViolation("no"), "other")

    assert (cleaner.left.names, cleaner.left.given_up) == (["a"], [])


# ------------------------------------------------------------------ the generator alone


def outcome(*answers: object) -> tuple[list[float], object]:
    """How long it slept in all, and whether the consumer is gone; an answer is what is thrown at
    each question.
    """
    steps = removal(ApiSubjects(), "S", "a", 5.0)
    step = next(steps)
    slept = []
    try:
        for each in answers:
            assert (step.subject, step.timeout) == (DELETE + "a", 5.0)
            step = steps.throw(each)
            if hasattr(step, "seconds"):
                slept.append(step.seconds)
                step = steps.send(None)
    except StopIteration as stop:
        return slept, stop.value
    return slept, "open"


def test_a_connection_that_closes_ends_the_attempts():
    assert outcome(ConnectionClosed("closed")) == ([], False)
    assert outcome(PermissionViolation("no")) == ([], False)


def test_behind_the_last_attempt_nothing_is_waited_for():
    assert outcome(*[LocalProtocolError("no")] * 3) == ([1.0, 2.0, 4.0], "open")
    assert outcome(*[LocalProtocolError("no")] * 4) == ([1.0, 2.0, 4.0], False)


# ------------------------------------------------------------------ links and the end


def test_without_a_link_everything_waits_for_the_next():
    cleaner = Cleaner("a", "b", up=False)
    assert (cleaner.asked, cleaner.left.deadline) == ([], None)

    cleaner.port.up = True
    cleaner.left.go_on(cleaner.port, 3.0)
    assert (cleaner.asked, cleaner.left.deadline) == (["a"], 8.0)


def test_a_deletion_that_was_under_way_when_the_link_was_lost_is_begun_anew():
    cleaner = Cleaner("a", "b")
    cleaner.port.up = False
    cleaner.left.link_down()
    assert cleaner.left.deadline is None
    cleaner.left.ticked(cleaner.port, 60.0)
    assert cleaner.asked == ["a", "b"]

    cleaner.port.up = True
    cleaner.left.go_on(cleaner.port, 61.0)
    assert (cleaner.asked, cleaner.left.names) == (["a", "b", "a"], ["a", "b"])


def test_at_the_end_of_a_connection_all_are_asked_for_at_once_and_nobody_waits():
    cleaner = Cleaner("a", "b", "c")
    cleaner.left.flush(cleaner.port)

    assert cleaner.asked == ["a", "b", "c", "a", "b", "c"]
    assert (cleaner.left.names, cleaner.left.given_up, cleaner.left.deadline) == ([], [], None)


def test_at_the_end_of_a_connection_that_is_lost_all_are_given_up():
    cleaner = Cleaner("a", "b", up=False)
    cleaner.left.flush(cleaner.port)

    assert (cleaner.asked, cleaner.left.names, cleaner.left.given_up) == ([], [], ["a", "b"])


# ------------------------------------------------------------------ snapshots


def test_a_deletion_goes_on_after_a_snapshot():
    cleaner = Cleaner("a", "b")
    cleaner.answer(BUSY, call=0)
    cleaner.wait()
    again = ConsumerCleanup(ApiSubjects(), "S", 5.0)
    again.restore(cleaner.left.snapshot())
    assert again.snapshot() == cleaner.left.snapshot()
    cleaner.left = again
    assert again.deadline == 6.0
    cleaner.answer(BUSY, 1.0)
    assert cleaner.wait() == 3.0
    cleaner.answer(DELETED, 3.0, call=1)
    assert (cleaner.asked, again.names) == (["a", "b", "a", "a"], ["a"])
    cleaner.answer(DELETED, 3.0)

    assert (cleaner.asked, again.names) == (["a", "b", "a", "a"], [])


def test_where_the_snapshot_knows_of_none_none_is_under_way():
    cleaner = Cleaner("a")
    cleaner.left.restore(ConsumerCleanup(ApiSubjects(), "S", 5.0).snapshot())

    assert (cleaner.left.names, cleaner.left.deadline) == ([], None)


def test_a_new_link_sends_all_deletions_at_once_and_then_asks_one_after_the_other():
    cleaner = Cleaner("a", "b", "c", up=False)
    cleaner.port.up = True
    cleaner.left.link_up(cleaner.port, 0.0)
    assert sorted(cleaner.asked) == ["a", "b", "c"]
    cleaner.answer({"success": True})

    assert cleaner.left.names == ["b", "c"]
    assert cleaner.asked[-1] == "b"


def test_a_new_link_with_nothing_left_asks_nothing():
    cleaner = Cleaner()
    cleaner.left.link_up(cleaner.port, 0.0)

    assert cleaner.asked == []
