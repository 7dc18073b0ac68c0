"""A range reader: looks at the stream, reads, has the end proven, tells what is lost, and leaves
nothing behind.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.conversation.conversation import Stage, StopMode
from jsproto.errors import (
    ConnectionClosed,
    ConnectionLost,
    InvalidSubject,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import (
    ConfigIgnored,
    ConfigurationRefused,
    JetStreamNotEnabled,
    StreamNotFound,
)
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.errors import (
    BadRequestStatus,
    ConsumerIsPush,
    DataLost,
    DirectUnavailable,
    HeartbeatsMissed,
    NextMessageTooLarge,
    ReadStalled,
    StreamRecreated,
)
from jsproto.jetstream.range_read.options import RangeOptions, ReadMode
from jsproto.jetstream.range_read.progress import LostRange
from jsproto.jetstream.range_read.reader import PATIENCE_WITH_LAG, RangeReader
from jsproto.jetstream.range_read.rows import DeliveredRows, StoredRows
from jsproto.jetstream.range_read.source import RangeSource
from jsproto.jetstream.range_read.states import RangeNotice, RangeState
from jsproto.jetstream.status import EndReason
from jsproto.signals import ENDED, NEED_DATA
from tests.jetstream.range_rig import CREATED, LOST, Rig

EACH_WAY = pytest.mark.parametrize("way", [ReadMode.CONSUMER, ReadMode.DIRECT])
NO_STREAM = {"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}
NO_JETSTREAM = {"error": {"code": 503, "err_code": 10076, "description": "JetStream not enabled"}}
NOBODY = b"NATS/1.0 503\r\n\r\n"


def verbs(rig):
    """What was asked so far, by verb."""
    return [word.partition(".S")[0] for word in rig.asked]


# ------------------------------------------------------------------------------------------------ the usual


@EACH_WAY
def test_everything_of_the_range_comes_once_and_the_end_is_told(way):
    rig = Rig(3, 8, stored=20, way=way).settle()

    assert rig.take() == [3, 4, 5, 6, 7]
    assert rig.ended
    assert rig.reader.reason is EndReason.FILLED
    assert rig.reader.state is RangeState.OVER
    assert rig.reader.finished
    assert rig.reader.last == 7
    assert len(rig.made) == (1 if way is ReadMode.CONSUMER else 0)
    assert rig.consumers == {}


def test_by_consumer_one_is_made_asked_and_deleted():
    rig = Rig(3, 8, stored=20, name_prefix="spark-").settle()

    assert verbs(rig) == [
        "STREAM.INFO",
        "SUB",
        "CONSUMER.CREATE",
        "CONSUMER.MSG.NEXT",
        "STREAM.INFO",
        "UNSUB",
        "CONSUMER.DELETE",
    ]
    config = rig.body("CONSUMER.CREATE")["config"]
    assert config["name"].startswith("spark-")
    assert [config["name"]] == rig.made
    assert rig.asked[-1] == f"CONSUMER.DELETE.S.{config['name']}"
    assert rig.consumers == {}
    assert (config["deliver_policy"], config["opt_start_seq"]) == ("by_start_sequence", 3)
    assert rig.body("CONSUMER.MSG.NEXT")["batch"] == 5


def test_directly_nothing_is_made():
    rig = Rig(3, 8, stored=20, way=ReadMode.DIRECT, subjects=["s.1"]).settle()

    assert rig.take() == [4, 7]
    assert verbs(rig) == ["STREAM.INFO", "SUB", "DIRECT.GET", "STREAM.INFO", "UNSUB"]
    assert rig.body("DIRECT.GET") == {
        "seq": 3,
        "next_by_subj": "s.1",
        "batch": 5,
        "max_bytes": 8 * 1024 * 1024,
    }


def test_an_item_is_a_run_of_its_way():
    by_consumer, direct = Rig(1, 4).settle(), Rig(1, 4, way=ReadMode.DIRECT).settle()
    rows, others = by_consumer.reader.take(0.0), direct.reader.take(0.0)

    assert isinstance(rows, DeliveredRows)
    assert isinstance(others, StoredRows)
    assert rows.timestamps == [10**18 + 1, 10**18 + 2, 10**18 + 3]
    assert others.timestamps == [Timestamp.parse(CREATED).ns] * 3


def test_a_work_queue_is_read_directly_and_everything_else_by_consumer():
    assert Rig(stream={"retention": "workqueue"}).settle().reader.way is ReadMode.DIRECT
    assert Rig(stream={"retention": "interest"}).settle().reader.way is ReadMode.CONSUMER
    assert Rig().settle().reader.way is ReadMode.CONSUMER


def test_an_empty_range_asks_nobody():
    rig = Rig(5, 5, stored=9)

    assert rig.asked == []
    assert rig.take() == []
    assert rig.ended
    assert rig.reader.reason is EndReason.FILLED


@EACH_WAY
def test_of_several_subjects_all_come(way):
    rig = Rig(1, 10, way=way, subjects=["s.1", "s.2"]).settle()

    assert rig.take() == [1, 2, 4, 5, 7, 8]
    assert rig.ended


@EACH_WAY
def test_it_begins_when_the_leader_has_said_what_the_stream_is(way):
    rig = Rig(way=way)

    assert rig.reader.stage is Stage.BEGINNING
    rig.answer()
    assert rig.reader.stage is Stage.GOING
    rig.settle()
    assert rig.reader.stage is Stage.ENDED


def test_no_stream_can_have_this_name():
    with pytest.raises(InvalidSubject):
        RangeReader(ApiSubjects(), "a.b", RangeOptions(lo=1, hi=2))


def test_what_it_asks_of_a_way_is_written_down():
    base = RangeSource(Rig().reader.track)
    calls = [
        lambda: base.begin(None, 0.0),
        lambda: base.again(None, 0.0),
        lambda: base.leave(None, 0.0),
        lambda: base.delivered((), None, 0.0, closed=False),
        lambda: base.taken((), None, 0.0),
        lambda: base.ticked(None, 0.0, at_hand=False),
        lambda: base.link_down(None, 0.0),
        lambda: base.refused("", LOST, None, 0.0),
        lambda: base.deadline,
    ]

    for call in calls:
        with pytest.raises(NotImplementedError):
            call()
    assert base.resting
    assert base.given_up == ()


@given(
    st.sampled_from([ReadMode.CONSUMER, ReadMode.DIRECT]),
    st.sets(st.integers(1, 40), max_size=9),
    st.lists(st.integers(1, 41), max_size=4),
    st.sampled_from([(), ("s.1",), ("s.0", "s.2")]),
)
def test_read_again_in_other_parts_it_is_the_same(way, deleted, cuts, subjects):
    """Reading again gives the same messages, in any parts, and after the stream has grown."""
    edges = [1, *sorted(cuts), 41]
    read = []
    for lo, hi in pairwise(edges):
        rig = Rig(lo, hi, stored=40 + lo, way=way, subjects=subjects, opened=False, max_messages=7)
        for seq in deleted:
            rig.change("delete", seq)
        rig.catch_up().open().settle()
        while not rig.ended:
            rig.take()
            rig.settle()
        assert rig.error is None or isinstance(rig.error, DataLost)
        assert (rig.error is not None) == (lo < hi and lo < rig.leader.first)
        read += rig.taken

    wanted = [
        seq
        for seq in range(1, 41)
        if seq not in deleted and (not subjects or f"s.{seq % 3}" in subjects)
    ]
    first = min((seq for seq in range(1, 41) if seq not in deleted), default=41)
    if first == 1:
        assert read == wanted


# ------------------------------------------------------------------------------------------------ bounds


@EACH_WAY
def test_no_more_is_asked_for_than_there_is_room_for(way):
    rig = Rig(1, 101, way=way, max_messages=10).settle()
    held = []
    while not rig.ended:
        held.append(sum(map(len, rig.reader._backlog)))
        rig.take(1)
        rig.settle()

    assert rig.taken == list(range(1, 101))
    assert max(held) <= 15


def test_never_more_than_can_lie_before_the_end_is_asked_for():
    rig = Rig(1, 31, stored=100, max_messages=10).settle()
    while not rig.ended:
        rig.take(1)
        rig.settle()
    asked = [
        body["batch"] for subject, body in rig.bodies if subject.startswith("CONSUMER.MSG.NEXT")
    ]

    assert rig.taken == list(range(1, 31))
    assert sum(asked) == 30


@EACH_WAY
def test_bytes_bound_what_is_asked_for(way):
    rig = Rig(1, 100, way=way, max_bytes=1000)
    rig.settle()

    verb = "DIRECT.GET" if way is ReadMode.DIRECT else "CONSUMER.MSG.NEXT"
    assert rig.body(verb)["max_bytes"] == (500 if way is ReadMode.DIRECT else 1000)


def test_a_message_that_is_larger_than_all_that_may_be_asked_for_ends_it():
    rig = Rig(max_bytes=1000).answer().answer()
    rig.inbox.clear()
    rig.status(
        409,
        "Message Size Exceeds MaxBytes",
        "Nats-Pending-Messages: 10\r\nNats-Pending-Bytes: 1000\r\n",
        token=rig.pull,
    ).arrive()
    rig.take()

    assert isinstance(rig.error, NextMessageTooLarge)


# ------------------------------------------------------------------------------------------------ the end is proven


@EACH_WAY
def test_no_more_pending_is_no_proof(way):
    """A replica that lags says that nothing is left, although the leader has more."""
    rig = Rig(1, 11, way=way, opened=False)
    rig.replica.change("purge", 11)
    rig.replica.messages = {seq: f"s.{seq % 3}" for seq in range(1, 7)}
    rig.open().settle()

    assert rig.take() == [1, 2, 3, 4, 5, 6]
    assert not rig.ended
    assert rig.reader.state is RangeState.READING
    assert rig.told_of(RangeNotice.BEHIND) == [7]
    assert rig.body("STREAM.MSG.GET") == {"seq": 7, "next_by_subj": ">"}

    rig.replica.messages = dict(rig.leader.messages)
    rig.catch_up()
    rig.run_to(1.0)
    assert rig.take() == [7, 8, 9, 10]
    assert rig.ended
    assert rig.reader.resets == 0


@EACH_WAY
def test_who_lags_for_too_long_is_left(way):
    rig = Rig(1, 11, way=way, opened=False)
    rig.replica.messages = {1: "s.1"}
    rig.open().settle()
    rig.take()
    rig.run_to(PATIENCE_WITH_LAG + 1.5)

    assert rig.told_of(RangeNotice.RESET) == [1]
    assert rig.reader.resets == 1
    rig.replica.messages = dict(rig.leader.messages)
    rig.catch_up()
    rig.run_to(30.0)
    assert rig.take() == list(range(2, 11))
    assert rig.ended


def test_a_lag_is_looked_at_again_and_again_but_not_at_line_rate():
    rig = Rig(1, 11, opened=False)
    rig.replica.messages = {1: "s.1"}
    rig.open().settle()
    rig.take()
    rig.run_to(5.0)

    assert 5 <= verbs(rig).count("STREAM.MSG.GET") <= 12


@EACH_WAY
def test_the_leader_who_has_nothing_more_proves_the_end(way):
    rig = Rig(1, 11, way=way, opened=False)
    for seq in (9, 10):
        rig.change("delete", seq)
    rig.catch_up()
    rig.open().settle()

    assert rig.take() == list(range(1, 9))
    assert rig.ended
    assert rig.reader.lost == []
    assert "STREAM.MSG.GET" in verbs(rig)


@EACH_WAY
def test_the_leader_who_has_more_only_behind_the_range_proves_the_end(way):
    rig = Rig(1, 11, stored=10, way=way, opened=False)
    rig.change("delete", 10)
    rig.add("s.0")
    rig.applied = len(rig.changes)
    rig.replica.change("delete", 10)
    rig.open().settle()

    assert rig.take() == list(range(1, 10))
    assert rig.ended


def test_each_subject_is_asked_for_until_one_has_more():
    rig = Rig(1, 11, subjects=["s.none", "s.1", "s.2"], opened=False)
    rig.replica.messages = {}
    rig.open().settle()
    asked = [body for subject, body in rig.bodies if subject.startswith("STREAM.MSG.GET")]

    assert [each["next_by_subj"] for each in asked] == ["s.none", "s.1"]


def test_a_message_behind_the_range_ends_it_without_a_question_for_more():
    rig = Rig(1, 6, stored=20, subjects=["s.2"]).settle()

    assert rig.take() == [2, 5]
    rig = Rig(1, 5, stored=20, subjects=["s.2"], opened=False)
    rig.open().settle()
    assert rig.take() == [2]
    assert rig.ended
    assert "STREAM.MSG.GET" not in verbs(rig)


@EACH_WAY
def test_what_comes_while_the_leader_is_asked_counts(way):
    rig = Rig(1, 11, way=way, opened=False)
    rig.replica.messages = {seq: f"s.{seq % 3}" for seq in range(1, 7)}
    rig.open()
    rig.answer()
    if way is ReadMode.CONSUMER:
        rig.answer()
    rig.arrive()
    assert rig.reader.state is RangeState.PROVING

    rig.replica.messages = dict(rig.leader.messages)
    rig.catch_up()
    rig.arrive()
    rig.settle().run_to(1.0)

    assert rig.take() == list(range(1, 11))
    assert rig.ended


def test_a_hole_that_shows_while_the_leader_is_asked_is_looked_at_too():
    rig = Rig(1, 11, opened=False)
    rig.replica.messages = {1: "s.1"}
    rig.open()
    rig.answer().answer().arrive()
    assert rig.reader.state is RangeState.PROVING
    rig.change("purge", 5)  # behind the question that is open now
    answers = list(rig.mux)
    rig.replica.messages = {seq: f"s.{seq % 3}" for seq in range(5, 11)}
    rig.catch_up()
    rig.arrive()
    rig.mux.clear()
    rig.mux.extend(answers)
    rig.settle()
    rig.take()

    assert isinstance(rig.error, DataLost)
    assert rig.reader.lost == [LostRange(2, 5)]


def test_a_heartbeat_says_that_nothing_is_left_to_wait_for():
    """The last message said that some are left, which were deleted since."""
    rig = Rig(1, 11).answer().answer()
    reply = rig.inbox[4][2].rpartition(".")[0] + ".6"
    frames = [*list(rig.inbox)[:4], (*rig.inbox[4][:2], reply, None, b"x")]
    rig.inbox.clear()
    rig.feed(*frames)
    for consumer in rig.consumers.values():
        consumer.sent = 5
        consumer.pulls.append([rig.pull, 5])
    for seq in range(6, 11):
        rig.change("delete", seq)
    assert rig.reader.state is RangeState.READING

    rig.heartbeat().settle()

    assert rig.take() == [1, 2, 3, 4, 5]
    assert rig.ended


# ------------------------------------------------------------------------------------------------ what is lost


@EACH_WAY
def test_messages_that_were_removed_before_they_were_read_are_lost(way):
    rig = Rig(1, 11, way=way, opened=False)
    rig.change("purge", 4)
    rig.catch_up()
    rig.open().settle()
    rig.take()

    assert isinstance(rig.error, DataLost)
    assert (rig.error.stream, rig.error.first, rig.error.until) == ("S", 1, 4)
    assert "expected the messages of stream S from 1 on" in str(rig.error)
    assert rig.reader.reason is EndReason.FATAL
    assert rig.consumers == {}


@EACH_WAY
def test_if_that_is_no_failure_it_is_told_and_the_survivors_come_once(way):
    rig = Rig(1, 11, way=way, opened=False, fail_on_loss=False)
    rig.change("purge", 4)
    rig.catch_up()
    rig.open().settle()

    assert rig.take() == list(range(4, 11))
    assert rig.reader.lost == [LostRange(1, 4)]
    assert rig.told_of(RangeNotice.LOST) == [LostRange(1, 4)]
    assert rig.ended
    assert rig.error is None


@EACH_WAY
def test_a_range_that_is_gone_altogether(way):
    rig = Rig(1, 11, stored=20, way=way, opened=False, fail_on_loss=False)
    rig.change("purge", 15)
    rig.open().settle()

    assert rig.take() == []
    assert rig.ended
    assert rig.reader.lost == [LostRange(1, 11)]


@EACH_WAY
def test_an_empty_stream_has_lost_everything(way):
    rig = Rig(1, 11, way=way, opened=False, fail_on_loss=False)
    rig.change("purge", 11)
    rig.open().settle()
    rig.take()

    assert rig.reader.lost == [LostRange(1, 11)]


@EACH_WAY
def test_messages_that_were_deleted_one_by_one_are_no_loss(way):
    """Single messages were deleted between others, the last one included."""
    rig = Rig(1, 11, way=way, opened=False)
    for seq in (3, 4, 10):
        rig.change("delete", seq)
    rig.catch_up()
    rig.open().settle()

    assert rig.take() == [1, 2, 5, 6, 7, 8, 9]
    assert rig.ended
    assert rig.reader.lost == []


def test_a_removal_on_the_way_is_seen_on_the_way():
    rig = Rig(1, 101, max_messages=10).settle()
    rig.change("purge", 51).catch_up()
    rig.take()
    rig.settle()
    rig.take()

    assert isinstance(rig.error, DataLost)
    assert rig.reader.lost == [LostRange(11, 51)]
    assert rig.taken[:10] == list(range(1, 11))


def test_what_is_removed_after_it_was_read_is_no_loss():
    rig = Rig(1, 101, max_messages=10).settle()
    while not rig.ended:
        rig.change("purge", max(1, rig.reader.last))
        rig.take(1)
        rig.settle()

    assert rig.error is None
    assert rig.taken == list(range(1, 101))


def test_holes_are_looked_at_on_the_way_now_and_then():
    rig = Rig(1, 301, max_messages=10, subjects=["s.1"]).settle()
    while not rig.ended:
        rig.take(1)
        rig.settle()
        rig.run_to(rig.now + 0.1)

    assert rig.taken == list(range(1, 301, 3))
    looks = verbs(rig).count("STREAM.INFO")
    assert 4 <= looks <= 3 + rig.now / 0.5


def test_a_look_on_the_way_that_fails_costs_nothing():
    rig = Rig(1, 61, max_messages=10, subjects=["s.1"])
    rig.instead["STREAM.INFO"] = None
    rig.answer()
    rig.settle()
    assert rig.reader.state is RangeState.READING
    rig.run_to(6.0)

    assert rig.reader.state is RangeState.READING
    assert rig.told == []
    rig.instead.clear()
    while not rig.ended:
        rig.take(1)
        rig.settle()
        rig.run_to(rig.now + 1.0)
    assert rig.taken == list(range(1, 61, 3))


@EACH_WAY
def test_a_stream_that_was_made_again_is_another_one(way):
    rig = Rig(1, 11, way=way, created=Timestamp.parse(CREATED)).settle()
    assert rig.take() == list(range(1, 11))

    rig = Rig(1, 11, way=way, created=Timestamp(17), fail_on_loss=False).settle()
    rig.take()

    assert isinstance(rig.error, StreamRecreated)
    assert rig.error.stream == "S"
    assert (rig.error.expected, rig.error.seen) == (str(Timestamp(17)), CREATED)


def test_a_stream_that_is_made_again_on_the_way_is_another_one():
    rig = Rig(1, 11, created=Timestamp.parse(CREATED)).answer()
    rig.created = "2027-01-01T00:00:00Z"
    rig.settle()
    rig.take()

    assert isinstance(rig.error, StreamRecreated)


# ------------------------------------------------------------------------------------------------ what fails


@EACH_WAY
def test_a_lost_link_costs_nothing_but_time(way):
    rig = Rig(1, 11, way=way, max_messages=4).settle()
    rig.down()
    assert rig.reader.state is RangeState.WAITING
    assert not rig.asked[-1].startswith("STREAM")
    rig.up().settle()
    while not rig.ended:
        rig.take(1)
        rig.settle()

    assert rig.taken == list(range(1, 11))
    rig.settle()
    assert rig.consumers == {}


@pytest.mark.parametrize("steps", range(6))
@EACH_WAY
def test_a_link_can_be_lost_at_any_moment(way, steps):
    rig = Rig(1, 11, way=way)
    for _ in range(steps):
        if rig.mux:
            rig.answer()
        elif rig.inbox:
            rig.arrive(3)
    rig.down().run_to(rig.now + 1.0, beats=False)
    rig.up().settle()

    assert rig.take() == list(range(1, 11))
    assert rig.ended
    rig.run_to(rig.now + 30.0)
    assert rig.consumers == {}
    assert rig.reader.finished


@EACH_WAY
def test_it_can_be_opened_without_a_link(way):
    rig = Rig(1, 11, way=way, up=False)
    assert rig.asked == []
    rig.up().settle()

    assert rig.take() == list(range(1, 11))


def test_a_missing_message_is_read_again_with_another_consumer():
    rig = Rig(1, 11, opened=False)
    rig.open()
    rig.answer()
    rig.swallow = 1
    rig.answer()
    rig.settle()
    assert rig.take() == []
    assert rig.told_of(RangeNotice.RESET) == [0]
    rig.run_to(1.0)

    assert rig.take() == list(range(1, 11))
    rig.settle()
    assert rig.consumers == {}


def test_a_heartbeat_names_a_message_that_never_came():
    rig = Rig(1, 11, subjects=["s.1"], opened=False, max_messages=4)
    rig.open()
    rig.answer().answer()
    rig.inbox.pop()
    rig.arrive()
    assert rig.reader.state is RangeState.READING
    next(iter(rig.consumers.values())).pulls.append([rig.pull, 1])
    rig.heartbeat().arrive()
    assert rig.told_of(RangeNotice.RESET) == [7]
    rig.run_to(2.0)
    while not rig.ended:
        rig.take(1)
        rig.settle()

    assert rig.taken == [1, 4, 7, 10]


@pytest.mark.parametrize(
    ("status", "delay"),
    [
        ((409, "Consumer Deleted"), 0.0),
        ((409, "Leadership Change"), 0.0),
        ((409, "Server Shutdown"), 0.0),
    ],
)
def test_a_consumer_that_is_gone_is_replaced_at_once(status, delay):
    rig = Rig(1, 11, max_messages=4).answer().answer()
    rig.arrive(2)
    rig.inbox.clear()
    rig.status(*status, token=rig.pull).arrive()
    rig.run_to(delay)
    rig.settle()
    while not rig.ended:
        rig.take(1)
        rig.settle()

    assert rig.taken == list(range(1, 11))
    assert rig.now == delay
    assert rig.consumers == {}


def test_but_not_at_line_rate():
    rig = Rig(1, 11)
    for _ in range(20):
        rig.run_to(rig.now + 0.01, settle=False)
        while rig.mux:
            rig.answer()
        rig.inbox.clear()
        opened = [*rig.reader._by_consumer.pulls.engine.ledger.open]
        if opened:
            rig.status(409, "Consumer Deleted", token=opened[0]).arrive()

    assert verbs(rig).count("CONSUMER.CREATE") <= 3


@pytest.mark.parametrize(
    ("status", "expected"),
    [((409, "Consumer is push based"), ConsumerIsPush), ((400, "Bad Request"), BadRequestStatus)],
)
def test_what_cannot_get_better_ends_it(status, expected):
    rig = Rig(1, 11).answer().answer()
    rig.inbox.clear()
    rig.status(*status, token=rig.pull).arrive()
    rig.take()

    assert isinstance(rig.error, expected)
    rig.settle()
    assert rig.consumers == {}


def test_a_consumer_that_nobody_serves_is_replaced_later():
    rig = Rig(1, 11).answer().answer()
    rig.inbox.clear()
    rig.status(503, token=rig.pull).arrive()

    assert isinstance(rig.told_of(RangeNotice.FAILED)[0], NoResponders)
    assert rig.reader.state is RangeState.WAITING
    rig.run_to(1.0)
    assert rig.take() == list(range(1, 11))


def test_a_pull_that_ends_is_asked_again():
    rig = Rig(1, 11, stored=0, opened=False)
    for seq in range(1, 11):
        rig.add(f"s.{seq % 3}")
    rig.open().settle()
    token = rig.pull
    next(iter(rig.consumers.values())).pulls.clear()
    rig.now = 31.0
    rig.status(
        408,
        "Request Timeout",
        "Nats-Pending-Messages: 10\r\nNats-Pending-Bytes: 0\r\n",
        token=token,
    )
    rig.arrive()

    assert verbs(rig).count("CONSUMER.MSG.NEXT") == 2
    rig.status(199, "Something", token=rig.pull).arrive()
    assert rig.reader._by_consumer.strays == 1
    rig.status(408, "Request Timeout", token="_INBOX.nobody").arrive()
    rig.feed((rig.port.sid, "s.a", "", None, b""))
    assert rig.reader._by_consumer.strays == 3


def test_silence_is_an_end_but_not_while_something_is_at_hand():
    rig = Rig(1, 31, max_messages=10).settle()
    rig.run_to(100.0, beats=False)
    assert rig.reader.resets == 0
    assert rig.take() == list(range(1, 11))

    rig = Rig(1, 31, max_messages=10).answer().answer()
    rig.inbox.pop()
    rig.arrive()
    rig.run_to(29.0, settle=False, beats=False)
    assert rig.told == []
    rig.take()
    rig.run_to(31.0, settle=False, beats=False)
    assert isinstance(rig.told_of(RangeNotice.FAILED)[0], HeartbeatsMissed)
    rig = Rig(1, 31, max_messages=10).answer().answer()
    rig.inbox.clear()
    rig.run_to(11.0, settle=False, beats=False)
    failed = rig.told_of(RangeNotice.FAILED)

    assert isinstance(failed[0], HeartbeatsMissed)
    while not rig.ended:
        rig.run_to(rig.now + 1.0)
        rig.take(1)
    assert rig.taken[-1] == 30


def test_a_pull_that_is_overdue_is_an_end_for_what_it_owes_would_be_taken_for_that_of_others():
    rig = Rig(1, 31, max_messages=10).answer().answer()
    sid = rig.port.sid
    late = rig.inbox.popleft()
    rig.inbox.clear()
    rig.reader._by_consumer.pulls.liveness.rest()  # heartbeats come, and say nothing
    rig.run_to(32.9, settle=False, beats=False)
    assert rig.reader.resets == 0
    rig.run_to(33.0, settle=False, beats=False)

    assert (rig.reader.resets, rig.told_of(RangeNotice.FAILED)) == (1, [])
    rig.feed(late)
    assert (rig.take(), rig.reader._by_consumer.strays) == ([], 1)
    while not rig.ended:
        rig.run_to(rig.now + 1.0)
        rig.take(1)
    assert rig.taken == list(range(1, 31))
    assert rig.port.sid != sid


@EACH_WAY
def test_an_answer_that_does_not_come_is_asked_for_again(way):
    rig = Rig(1, 11, way=way)
    rig.mux.clear()
    rig.run_to(5.5)

    assert isinstance(rig.told_of(RangeNotice.FAILED)[0], RequestTimeout)
    rig.run_to(10.0)
    assert rig.take() == list(range(1, 11))


def test_a_creation_that_is_not_answered_is_undone():
    rig = Rig(1, 11).answer()
    [first] = rig.consumers
    rig.mux.clear()
    rig.run_to(4.9)
    assert f"CONSUMER.DELETE.S.{first}" not in rig.asked
    rig.run_to(10.0)

    assert f"CONSUMER.DELETE.S.{first}" in rig.asked
    assert rig.take() == list(range(1, 11))
    rig.settle()
    assert len(rig.made) == 2
    assert rig.consumers == {}


def test_a_creation_that_is_answered_too_late_is_undone():
    rig = Rig(1, 11)
    rig.answer()
    late = rig.mux.popleft()
    name = next(iter(rig.consumers))
    rig.down().up()
    rig.settle()
    rig.take()
    rig.asked.clear()
    rig.reader.replied(*late, rig.now)
    rig.look()

    assert f"CONSUMER.DELETE.S.{name}" in rig.asked


def test_the_present_consumer_answers_twice_and_stays():
    rig = Rig(1, 101, max_messages=10)
    rig.answer()
    again = rig.mux[0]
    rig.settle()
    rig.reader.replied(*again, rig.now)
    rig.look()

    assert not [word for word in rig.asked if word.startswith("CONSUMER.DELETE")]


def test_a_creation_that_fails_is_tried_again():
    rig = Rig(1, 11)
    rig.instead["CONSUMER.CREATE"] = {
        "error": {"code": 500, "err_code": 10023, "description": "later"}
    }
    rig.settle()
    assert rig.reader.state is RangeState.WAITING
    rig.run_to(3.0)
    rig.instead.clear()
    rig.run_to(20.0)

    assert rig.take() == list(range(1, 11))
    assert rig.reader.resets >= 2


REFUSED = {
    "error": {
        "code": 400,
        "err_code": 10084,
        "description": "consumer in pull mode requires ack policy",
    }
}


def test_a_server_that_leaves_out_the_filters_is_too_old():
    rig = Rig(1, 11, subjects=["s.1", "s.2"]).answer()
    token, frame = rig.mux.popleft()
    said = json.loads(frame[4])
    del said["config"]["filter_subjects"]
    rig.reader.replied(token, (*frame[:4], json.dumps(said).encode()), 0.0)
    rig.settle()
    rig.take()

    assert isinstance(rig.error, ConfigIgnored)
    assert rig.taken == []
    assert rig.consumers == {}


def test_a_consumer_that_the_server_refuses_ends_it():
    rig = Rig(1, 11)
    rig.instead["CONSUMER.CREATE"] = REFUSED
    rig.settle()
    rig.take()

    assert isinstance(rig.error, ConfigurationRefused)
    assert rig.reader.finished


@EACH_WAY
@pytest.mark.parametrize(
    ("answer", "expected", "seconds", "times"),
    [
        (NO_STREAM, StreamNotFound, 0.0, 1),
        (NOBODY, JetStreamNotEnabled, 10.0, 4),
        (NO_JETSTREAM, JetStreamNotEnabled, 10.0, 4),
    ],
)
def test_a_stream_that_is_not_there(way, answer, expected, seconds, times):
    rig = Rig(1, 11, way=way, opened=False)
    rig.instead["STREAM.INFO"] = answer
    rig.open().settle().run_to(seconds)
    rig.take()

    assert isinstance(rig.error, expected)
    assert rig.reader.finished
    assert rig.now <= 10.0
    assert verbs(rig) == ["STREAM.INFO"] * times


def test_nobody_for_a_while_is_no_end_once_the_stream_was_there():
    rig = Rig(1, 101, max_messages=10).settle()
    rig.down()
    rig.instead["STREAM.INFO"] = NOBODY
    rig.up().settle().run_to(60.0)
    assert not rig.reader.ended
    rig.instead.clear()
    while not rig.ended:
        rig.run_to(rig.now + 1.0)
        rig.take(1)

    assert rig.taken == list(range(1, 101))


def test_without_progress_it_fails():
    rig = Rig(1, 101, max_messages=10, patience=20.0).settle()
    rig.run_to(300.0)
    assert not rig.reader.ended  # the user takes nothing
    rig.down()
    rig.take()
    rig.run_to(330.0, beats=False)
    rig.take()

    assert isinstance(rig.error, ReadStalled)
    assert isinstance(rig.error, TimeoutError)
    assert (rig.error.stream, rig.error.position) == ("S", 10)
    assert "(WAITING)" in str(rig.error)


def test_who_lags_for_ever_is_no_progress():
    rig = Rig(1, 11, opened=False, patience=60.0)
    rig.replica.messages = {1: "s.1"}
    rig.open().settle()
    rig.take()
    rig.run_to(61.0)
    rig.take()

    assert isinstance(rig.error, ReadStalled)
    rig.settle()
    assert rig.consumers == {}


@EACH_WAY
def test_what_is_at_hand_comes_before_the_error(way):
    rig = Rig(1, 101, max_messages=10, way=way).settle()
    rig.down()
    rig.instead["STREAM.INFO"] = NO_STREAM
    rig.up().settle()

    assert rig.take()[:5] == [1, 2, 3, 4, 5]
    assert isinstance(rig.error, StreamNotFound)


# ------------------------------------------------------------------------------------------------ refusals


def denied(subject, operation="publish"):
    return PermissionViolation(f"no {operation} to {subject}", subject, operation)


@pytest.mark.parametrize(
    "verb", ["STREAM.INFO", "CONSUMER.CREATE", "CONSUMER.MSG.NEXT", "DIRECT.GET"]
)
def test_what_is_not_permitted_ends_it(verb):
    rig = Rig(
        1, 11, way=ReadMode.DIRECT if verb == "DIRECT.GET" else ReadMode.CONSUMER, opened=False
    )
    rig.instead[verb] = None
    rig.open().settle()
    subject = "$JS.API." + next(word for word in rig.asked if word.startswith(verb))
    rig.reader.refused("$JS.API.SOMETHING.ELSE", denied("else"), rig.now)
    assert not rig.reader.ended
    rig.reader.refused(subject, denied(subject), rig.now)
    rig.settle()
    rig.take()

    assert isinstance(rig.error, PermissionViolation)
    assert rig.consumers == {}


def test_who_may_make_no_consumers_reads_directly_if_that_is_allowed():
    rig = Rig(1, 11).answer()
    rig.mux.clear()
    rig.consumers.clear()
    rig.reader.refused(
        "$JS.API.CONSUMER.CREATE.S." + rig.reader._by_consumer.incarnation.name, denied("it"), 0.0
    )
    rig.settle()

    assert rig.reader.way is ReadMode.DIRECT
    assert rig.take() == list(range(1, 11))
    assert rig.ended
    assert isinstance(rig.told_of(RangeNotice.FAILED)[0], PermissionViolation)


@pytest.mark.parametrize(
    "how",
    [{"way": ReadMode.CONSUMER}, {"stream": {"allow_direct": False}}],
    ids=["not wished", "not allowed"],
)
def test_but_not_else(how):
    rig = Rig(1, 11, **how).answer()
    rig.mux.clear()
    rig.consumers.clear()
    rig.reader.refused(
        "$JS.API.CONSUMER.CREATE.S." + rig.reader._by_consumer.incarnation.name, denied("it"), 0.0
    )
    rig.take()

    assert isinstance(rig.error, PermissionViolation)
    assert rig.reader.finished


@EACH_WAY
def test_an_inbox_that_is_not_permitted_ends_it(way):
    rig = Rig(1, 11, way=way).answer()
    rig.mux.clear()
    rig.inbox.clear()
    inbox = rig.port.subject
    rig.reader.refused(inbox, denied(inbox, "subscription"), rig.now)
    rig.take()

    assert isinstance(rig.error, PermissionViolation)


def test_a_deletion_that_is_not_permitted_is_told():
    rig = Rig(1, 11).settle()
    rig = Rig(1, 11)
    rig.instead["CONSUMER.DELETE"] = None
    rig.settle()
    assert rig.reader.state is RangeState.CLOSING
    subject = "$JS.API." + next(word for word in rig.asked if word.startswith("CONSUMER.DELETE"))
    rig.reader.refused(subject, denied(subject), rig.now)
    rig.look()

    assert rig.reader.finished
    assert rig.told_of(RangeNotice.LEFT_BEHIND) == [(subject.rpartition(".")[2],)]


# ------------------------------------------------------------------------------------------------ ends


@EACH_WAY
def test_leaving_it_early_leaves_nothing_behind(way):
    rig = Rig(1, 1001, way=way, max_messages=10).settle()
    assert len(rig.take(1)) > 0
    rig.close()

    assert rig.reader.reason is EndReason.CLOSED
    assert rig.reader.take(rig.now) is ENDED
    rig.settle()
    assert rig.consumers == {}
    assert rig.reader.finished


@pytest.mark.parametrize("steps", range(5))
def test_it_can_be_left_at_any_moment(steps):
    rig = Rig(1, 11)
    for _ in range(steps):
        if rig.mux:
            rig.answer()
        else:
            rig.arrive(3)
    rig.close()
    rig.run_to(20.0)

    assert rig.reader.finished
    assert rig.consumers == {}


@pytest.mark.parametrize("wish", list(StopMode))
def test_told_to_stop_it_gives_what_is_at_hand(wish):
    rig = Rig(1, 101, max_messages=10).settle()
    rig.reader.told(wish, rig.now)
    rig.reader.told(wish, rig.now)
    rig.look()

    assert rig.take() == list(range(1, 11))
    assert rig.ended
    rig.settle()
    assert rig.consumers == {}


def test_a_connection_that_is_closed_says_goodbye():
    rig = Rig(1, 101, max_messages=10).settle()
    rig.reader.closed(ConnectionClosed("over"), rig.now)
    words = rig.look()
    rig.reader.closed(ConnectionClosed("over"), rig.now)

    assert any(word.startswith("CONSUMER.DELETE") for word in words)
    assert rig.reader.finished
    assert rig.reader.reason is EndReason.DISCONNECTED
    assert rig.take() == list(range(1, 11))
    assert isinstance(rig.error, ConnectionClosed)


def test_a_connection_that_is_closed_without_a_link_leaves_a_name():
    rig = Rig(1, 101, max_messages=10).settle()
    name = next(iter(rig.consumers))
    rig.down()
    rig.reader.closed(ConnectionLost("over"), rig.now)
    rig.look()

    assert rig.told_of(RangeNotice.LEFT_BEHIND) == [(name,)]
    assert rig.reader.finished


def test_directly_there_is_no_goodbye_to_say():
    rig = Rig(1, 101, max_messages=10, way=ReadMode.DIRECT).settle()
    rig.reader.closed(ConnectionClosed("over"), rig.now)

    assert rig.reader.finished


@EACH_WAY
def test_what_comes_after_the_end_changes_nothing(way):
    rig = Rig(1, 11, way=way).answer()
    if way is ReadMode.CONSUMER:
        rig.answer()
    frames = list(rig.inbox)
    rig.close()
    rig.feed(*frames)
    rig.tick(1.0)

    assert rig.take() == []
    assert rig.reader._reading.strays >= len(frames)


def test_frames_of_an_earlier_consumer_change_nothing():
    rig = Rig(1, 101, max_messages=10).answer().answer()
    old = list(rig.inbox)
    rig.down().up()
    rig.settle()
    rig.feed(*old)

    assert rig.take() == list(range(1, 11))
    assert rig.reader._by_consumer.strays == len(old)


def test_what_comes_behind_a_missing_message_waits_for_the_next_consumer():
    """A word of the server between them makes no difference."""
    rig = Rig(1, 101, max_messages=10).answer().answer()
    frames = list(rig.inbox)
    rig.inbox.clear()
    token = rig.pull
    beat = (
        rig.port.sid,
        token,
        "",
        b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 5\r\n\r\n",
        b"",
    )
    rig.feed(frames[0], frames[2], beat, frames[3], beat, frames[4])

    assert rig.take() == [1]
    assert rig.reader.resets == 1
    rig.run_to(2.0)
    while not rig.ended:
        rig.take(1)
        rig.settle()
    assert rig.taken == list(range(1, 101))


def test_messages_and_words_may_come_in_one_run():
    rig = Rig(1, 101, max_messages=10).answer().answer()
    frames = list(rig.inbox)
    rig.inbox.clear()
    beat = (
        rig.port.sid,
        rig.pull,
        "",
        b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 5\r\n\r\n",
        b"",
    )
    rig.feed(*frames[:5], beat, *frames[5:])
    rig.run_to(1.0)

    assert rig.take() == list(range(1, 11))


def test_a_consumer_that_is_lost_behind_the_last_message_is_no_loss():
    rig = Rig(1, 5, stored=20, subjects=["s.2"]).answer().answer()
    while len(rig.inbox) > 2:
        rig.inbox.pop()
    rig.status(409, "Consumer Deleted", token=rig.pull)
    rig.arrive().settle()

    assert rig.take() == [2]
    assert rig.ended
    assert rig.reader.resets == 0


def test_a_run_may_lie_behind_the_range_altogether():
    rig = Rig(1, 5, stored=20, subjects=["s.2"]).answer().answer()
    rig.arrive(1).arrive(1)

    assert rig.reader.state is RangeState.PROVING
    rig.settle()
    assert rig.take() == [2]


def test_a_deletion_may_be_answered_while_the_next_consumer_is_made():
    rig = Rig(1, 101, max_messages=10).answer().answer()
    rig.inbox.clear()
    rig.status(409, "Leadership Change", token=rig.pull).arrive()
    deletion, looked = rig.mux
    rig.mux.clear()
    rig.mux.append(looked)
    rig.answer()
    rig.mux.appendleft(deletion)
    rig.settle()

    assert rig.take() == list(range(1, 11))
    assert len(rig.consumers) == 1


def test_a_pull_that_ends_early_is_asked_again():
    rig = Rig(1, 101, max_messages=10).answer().answer()
    frames = list(rig.inbox)[:8]
    rig.inbox.clear()
    rig.feed(*frames)
    said = "Nats-Pending-Messages: 2\r\nNats-Pending-Bytes: 1\r\n"
    rig.status(409, "Message Size Exceeds MaxBytes", said, token=rig.pull).arrive()
    rig.take()

    assert rig.taken == list(range(1, 9))
    assert verbs(rig).count("CONSUMER.MSG.NEXT") == 2


def test_a_link_may_be_lost_twice_and_at_the_end():
    rig = Rig(1, 11)
    rig.down().down().up().settle()
    assert rig.take() == list(range(1, 11))

    rig = Rig(1, 11)
    rig.instead["CONSUMER.DELETE"] = None
    rig.settle()
    assert rig.reader.state is RangeState.CLOSING
    rig.down()
    rig.instead.clear()
    rig.up().settle()
    assert rig.reader.finished
    assert rig.consumers == {}


def test_who_catches_up_while_the_leader_is_asked_is_asked_again_soon():
    rig = Rig(1, 11, opened=False)
    rig.replica.messages = {seq: f"s.{seq % 3}" for seq in range(1, 4)}
    rig.open().answer().answer().arrive()
    assert rig.reader.state is RangeState.PROVING
    rig.replica.messages = {seq: f"s.{seq % 3}" for seq in range(1, 7)}
    rig.catch_up()
    rig.arrive().settle()

    assert rig.told_of(RangeNotice.BEHIND)[0] == 4
    assert rig.reader.last == 6
    assert rig.reader.deadline <= rig.now + 0.05


def test_repeated_messages_come_once():
    rig = Rig(1, 101, max_messages=10).answer().answer()
    first = list(rig.inbox)[:3]
    rig.arrive(3)
    _, subject, reply, block, payload = first[-1]
    tokens = reply.split(".")
    tokens[6] = "4"  # the consumer's next delivery brings the same message again
    rig.inbox.clear()
    rig.feed(
        (rig.port.sid, subject, ".".join(tokens), block, payload),
        (rig.port.sid, "s", "$JS.ACK", None, b""),
    )

    assert rig.take() == [1, 2, 3]
    assert rig.reader._by_consumer.strays == 1


def test_a_message_that_does_not_say_where_it_stands_is_the_users_to_hear_of():
    rig = Rig(1, 11, stored=12, subjects=["s.1", "s.2"]).answer().answer()
    frames = list(rig.inbox)
    frames[1] = (*frames[1][:2], "$JS.ACK.broken", None, b"x")
    rig.inbox.clear()
    rig.feed(*frames)

    assert rig.reader.readable == 1
    assert rig.reader.track.last == 10


def test_a_snapshot_at_every_moment_goes_on_in_the_same_way():
    for way in (ReadMode.CONSUMER, ReadMode.DIRECT):
        rig = Rig(1, 31, way=way, max_messages=8, subjects=["s.1"])
        for _ in range(40):
            other = RangeReader(ApiSubjects(), "S", rig.reader.options)
            data = rig.reader.snapshot()
            other.restore(data)
            assert other.snapshot() == data
            assert other.deadline == rig.reader.deadline
            other.port.commands = rig.port.commands
            rig.reader = other
            rig.look()
            if rig.mux:
                rig.answer()
            elif rig.inbox:
                rig.arrive(2)
            else:
                rig.take(1)

        assert rig.taken == list(range(1, 31, 3))
        assert rig.reader.finished


# ------------------------------------------------------------------------------------------------ directly


def test_a_stream_that_does_not_allow_it():
    rig = Rig(1, 11, way=ReadMode.DIRECT, stream={"allow_direct": False}).settle()
    rig.take()

    assert isinstance(rig.error, DirectUnavailable)
    assert "allow_direct" in str(rig.error)


def test_a_server_that_is_too_old():
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    token = rig.inbox[0][1]
    rig.inbox.clear()
    block = f"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s.1\r\nNats-Sequence: 1\r\nNats-Time-Stamp: {CREATED}\r\n\r\n"
    rig.feed((rig.port.sid, token, "", block.encode(), b"x"))
    rig.take()

    assert isinstance(rig.error, DirectUnavailable)
    assert "2.11" in str(rig.error)


def page(rig, *sequences, pending=5, token=None):
    rig.inbox.clear()
    token = token or rig.page
    for seq in sequences:
        block = (
            f"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s.1\r\nNats-Sequence: {seq}\r\n"
            f"Nats-Time-Stamp: {CREATED}\r\nNats-Num-Pending: {pending}\r\n\r\n"
        )
        rig.inbox.append((rig.port.sid, token, "", block.encode(), b"x"))
    return rig


def test_sequences_that_do_not_rise_are_no_answer():
    rig = page(Rig(1, 11, way=ReadMode.DIRECT).answer(), 1, 3, 3).arrive()
    rig.take()

    assert "behind 3, got 3" in str(rig.error)


def test_messages_behind_the_range_end_it():
    rig = page(
        Rig(1, 11, stored=30, way=ReadMode.DIRECT, subjects=["s.1"]).answer(), 1, 13
    ).arrive()
    assert rig.reader.state is RangeState.PROVING
    rig.settle()

    assert rig.take() == [1]
    rig = page(Rig(1, 11, stored=30, way=ReadMode.DIRECT, subjects=["s.1"]).answer(), 13).arrive()
    rig.settle()
    assert rig.take() == []
    assert rig.ended


def test_the_end_of_a_page_comes_after_the_last_message_of_the_range():
    rig = Rig(1, 4, stored=9, way=ReadMode.DIRECT).settle()

    assert rig.take() == [1, 2, 3]
    assert rig.reader._by_direct.strays == 1


def test_a_page_that_says_nothing_of_what_is_left_is_the_last_of_that_replica():
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    page(rig, 1, 2).status(204, "EOB", token=rig.page).arrive()

    assert rig.reader.state is RangeState.PROVING


@pytest.mark.parametrize(
    ("status", "kind"), [((503, ""), NoResponders), ((408, "Bad Request"), BadRequestStatus)]
)
def test_what_a_direct_get_is_refused_with(status, kind):
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    rig.inbox.clear()
    rig.status(*status, token=rig.page).arrive()

    if kind is BadRequestStatus:
        rig.take()
        assert isinstance(rig.error, BadRequestStatus)
    else:
        assert isinstance(rig.told_of(RangeNotice.FAILED)[0], NoResponders)
        rig.run_to(1.0)
        assert rig.take() == list(range(1, 11))


def test_an_answer_without_a_status_and_a_place_is_none():
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    token = rig.page
    rig.feed((rig.port.sid, token, "", None, b"x"))
    rig.take()

    assert "without its place" in str(rig.error)


def test_silence_to_a_page_is_asked_again():
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    rig.inbox.clear()

    assert rig.reader.deadline == 5.0  # nothing else would wake it
    rig.run_to(5.1, settle=False)

    assert isinstance(rig.told_of(RangeNotice.FAILED)[0], RequestTimeout)
    rig.run_to(10.0)
    assert rig.take() == list(range(1, 11))


def test_frames_of_another_page_change_nothing():
    rig = Rig(1, 11, way=ReadMode.DIRECT).answer()
    page(rig, 1, token="_INBOX.other").arrive()

    assert rig.reader.readable == 0
    assert rig.reader._by_direct.strays == 1


@pytest.mark.parametrize("version", ["", "2.14.6"])
def test_several_subjects_are_read_with_one_filter_from_a_server_that_may_pass_over_messages_n088(
    version,
):
    rig = Rig(1, 10, subjects=["s.1", "s.2"], opened=False, max_messages=3)
    rig.version = version
    rig.open().settle()
    while not rig.ended:
        rig.take()
        rig.settle()

    assert rig.taken == [1, 2, 4, 5, 7, 8]
    assert [
        body["config"].get("filter_subject") for verb, body in rig.bodies if "CREATE" in verb
    ] == [
        None,
        "s.*",
    ]
    assert (rig.reader.reason, rig.consumers) == (EndReason.FILLED, {})


@pytest.mark.parametrize("way", [ReadMode.CONSUMER, ReadMode.DIRECT])
def test_messages_that_nobody_wants_are_progress(way):
    rig = Rig(
        1,
        41,
        way=way,
        subjects=["s.1", "s.9"],
        stored=0,
        opened=False,
        max_messages=2,
        patience=10.0,
    )
    rig.version = ""
    for _ in range(60):
        rig.add("s.0")
    rig.catch_up()
    rig.open()
    moves = 0
    while not rig.reader.ended:
        if rig.mux:
            rig.answer()
        elif rig.inbox:
            rig.arrive(1)
        else:
            break
        moves += 1
        rig.now += 1.0
        rig.reader.ticked(rig.now)
        rig.look()
    rig.take()

    assert (rig.error, rig.reader.reason) == (None, EndReason.FILLED)
    assert moves > 20


def test_of_a_page_on_several_subjects_only_some_messages_may_be_wanted():
    rig = Rig(1, 4, stored=9, way=ReadMode.DIRECT, subjects=["s.7", "s.8"]).settle()

    assert rig.take() == []
    assert rig.ended


def test_taking_nothing_asks_nothing():
    rig = Rig(1, 11)
    assert rig.reader.take(0.0) is NEED_DATA
    assert json.dumps(rig.asked) == '["STREAM.INFO.S"]'
