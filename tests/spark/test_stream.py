"""The streaming reader, driven by the calls that Spark makes in their order, against a real server."""

import json
from datetime import timedelta

import pytest

from jsproto.jetstream.errors import DataLost, StreamRecreated
from jsproto_spark.errors import ChangedQuery, StreamTailLost, Unreadable
from jsproto_spark.read.stream import StreamReader
from tests.spark.feeding import fill, new_stream
from tests.spark.naive_streams import CountingReader, NaiveReader, RepairedReader
from tests.spark.querying import ALL, Query
from tests.spark.traps import outcome, trap

pytestmark = pytest.mark.live


@trap("4.1", ours=(StreamReader, range(101, 201)), naive=(NaiveReader, ()))
def test_latest_loses_nothing_that_comes_between_the_two_calls_of_initial_offset(
    broker, kind, seen
):
    # Spark asks for the initial offset before the first plan and again to run it. A naive source
    # answers the second time with where the stream ends then, and plans [201, 201).
    stream = new_stream(broker, 100)
    query = Query(broker, stream, kind=kind)
    query.initial()
    fill(broker, stream, 100)

    assert list(seen) == query.all()


@trap("4.1", ours=(StreamReader, range(101, 401)), repaired=(RepairedReader, range(301, 401)))
def test_latest_loses_nothing_by_a_crash_in_the_first_batch(broker, kind, seen):
    # A new process answers initialOffset with a later place than the end that is logged. Who only
    # keeps its answer in memory plans [401, 301), and reads none of the first batch.
    stream = new_stream(broker, 100)
    query = Query(broker, stream, kind=kind)
    query.initial()
    fill(broker, stream, 200)
    assert query.plan()
    query.run(commit=False)
    query.crash()
    fill(broker, stream, 100)

    assert list(seen) == query.all()
    assert (
        query.planned[1][0]["seq"] > query.planned[1][1]["seq"]
    )  # what Spark asked for was that very range


def test_earliest_a_sequence_and_a_time_begin_where_they_say(broker):
    stream = new_stream(broker, 50)
    moment = stream.messages.by_seq(31).time

    assert list(range(1, 51)) == Query(broker, stream, startingOffsets="earliest").all()
    assert list(range(21, 51)) == Query(broker, stream, startingOffsets="21").all()
    assert list(range(31, 51)) == Query(broker, stream, startingTimestamp=str(moment)).all()


def test_a_time_behind_the_end_is_an_error_or_the_end(broker):
    stream = new_stream(broker, 5)
    later = {"startingTimestamp": "2100-01-01T00:00:00Z"}
    query = Query(broker, stream, startingOffsetsByTimestampStrategy="latest", **later)

    assert [] == query.all()
    fill(broker, stream, 2)
    assert [6, 7] == query.all()
    with pytest.raises(
        Unreadable, match="see options startingTimestamp and startingOffsetsByTimestampStrategy"
    ):
        Query(broker, stream, **later).initial()


def test_a_micro_batch_holds_no_more_than_the_limits_say(broker):
    stream = new_stream(broker, 100)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="30")

    assert list(range(1, 101)) == query.all()
    assert [31, 61, 91, 101] == [json.loads(end)["seq"] for end in query.log]

    by_bytes = Query(broker, stream, startingOffsets="earliest", maxBytesPerTrigger="1000")
    by_bytes.all()
    assert list(range(1, 101)) == by_bytes.rows
    assert len(by_bytes.log) > 3


def test_a_trigger_that_wants_all_gets_all(broker):
    query = Query(
        broker, new_stream(broker, 100), startingOffsets="earliest", maxMessagesPerTrigger="30"
    )
    query.plan(ALL)

    assert list(range(1, 101)) == query.run()


def test_available_now_ends_at_what_was_there_and_a_restart_goes_on(broker):
    stream = new_stream(broker, 100)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="40")
    query.reader.prepareForTriggerAvailableNow()
    fill(broker, stream, 100)  # while it runs

    assert list(range(1, 101)) == query.all()
    query.crash()
    query.reader.prepareForTriggerAvailableNow()
    assert list(range(1, 201)) == query.all()


def test_a_filter_that_matches_little_makes_no_empty_batches(broker):
    stream = new_stream(broker)
    fill(broker, stream, 3, f"{stream.name}.rare")
    fill(broker, stream, 500, f"{stream.name}.common")
    fill(broker, stream, 2, f"{stream.name}.rare")
    fill(broker, stream, 500, f"{stream.name}.common")
    query = Query(
        broker,
        stream,
        startingOffsets="earliest",
        subjects=f"{stream.name}.rare",
        maxMessagesPerTrigger="10",
    )

    assert [1, 2, 3, 504, 505] == query.all()
    assert len(query.log) == 3


def test_a_hole_makes_no_empty_batches(broker):
    stream = new_stream(broker, 500)
    for seq in range(3, 500):
        stream.messages.delete(seq, erase=False)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="20")

    assert [1, 2, 500] == query.all()
    assert [21, 501] == [json.loads(end)["seq"] for end in query.log]


def test_a_start_behind_the_end_is_named_before_anything_is_planned(broker):
    stream = new_stream(broker, 10)
    with pytest.raises(
        Unreadable, match="see option startingOffsets: expected a sequence up to 11"
    ):
        Query(broker, stream, startingOffsets="500").initial()

    assert [] == Query(broker, stream, startingOffsets="11").all()


def test_a_subject_under_which_nothing_can_be_stops_a_query_before_it_begins(broker):
    stream = new_stream(broker)
    with pytest.raises(Unreadable, match="see option subjects"):
        Query(broker, stream, subjects=f"{stream.name}.0;{stream.name}.1").initial()


def test_several_tasks_read_each_message_once(broker):
    query = Query(
        broker,
        new_stream(broker, 100),
        startingOffsets="earliest",
        minPartitions="3",
        maxRecordsPerPartition="20",
    )
    query.plan()
    parts = query.reader.partitions(query.initial(), json.loads(query.log[0]))

    assert 5 == len(parts)
    assert list(range(1, 101)) == query.run()


def test_the_lag_is_what_the_stream_ends_with(broker):
    stream = new_stream(broker, 10)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="4")
    query.plan()

    assert 11 == query.reader.reportLatestOffset()["seq"]
    assert 5 == json.loads(query.log[0])["seq"]


# ------------------------------------------------------------------------------------------------ loss


@trap(
    "4.5", ours=(StreamReader, DataLost), naive=(NaiveReader, [*range(1, 501), *range(701, 1001)])
)
def test_messages_that_are_purged_unread_do_not_vanish_in_silence(broker, kind, seen):
    stream = new_stream(broker, 500)
    query = Query(broker, stream, kind=kind, startingOffsets="earliest")
    query.all()
    fill(broker, stream, 500)
    stream.purge(seq=701)

    assert seen == outcome(query.all)


def test_messages_that_vanish_before_they_are_read_are_reported(broker):
    stream = new_stream(broker, 1000)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="500")
    query.plan()
    query.run()
    stream.purge(seq=701)
    query.plan()

    with pytest.raises(DataLost, match="failOnDataLoss") as caught:
        query.run()
    assert (501, 701) == (caught.value.first, caught.value.until)


def test_without_fail_on_data_loss_each_survivor_is_read_once(broker):
    stream = new_stream(broker, 1000)
    query = Query(
        broker,
        stream,
        startingOffsets="earliest",
        maxMessagesPerTrigger="300",
        failOnDataLoss="false",
    )
    query.plan()
    query.run()
    stream.purge(seq=701)

    assert [*range(1, 301), *range(701, 1001)] == query.all()


GONE = (2, 50, 51, 100)


@pytest.mark.parametrize("strict", ["true", "false"])
@trap(
    "4.5",
    ours=(StreamReader, [seq for seq in range(1, 101) if seq not in GONE]),
    counting=(CountingReader, DataLost),
)
def test_messages_deleted_in_between_and_at_the_end_are_no_loss(broker, strict, kind, seen):
    stream = new_stream(broker, 100)
    for seq in GONE:
        stream.messages.delete(seq)
    query = Query(broker, stream, kind=kind, startingOffsets="earliest", failOnDataLoss=strict)

    assert seen == outcome(query.all)


@pytest.mark.parametrize("how", ["max_msgs", "max_age"])
def test_what_the_limits_of_the_stream_take_is_reported_too(broker, how, eventually):
    stream = new_stream(broker, 100)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="10")
    query.plan()
    query.run()
    if how == "max_msgs":
        stream.change(max_msgs=50)
    else:
        stream.change(
            max_age=timedelta(milliseconds=200), duplicate_window=timedelta(milliseconds=200)
        )
        eventually(lambda: stream.info().state.messages == 0)
    query.plan()

    with pytest.raises(DataLost, match="failOnDataLoss"):
        query.run()


def recreated(nc, stream, messages):
    stream.delete()
    again = nc.jetstream().create_stream(
        name=stream.name, subjects=[f"{stream.name}.>"], storage="memory", allow_direct=True
    )
    fill(nc, again, messages)


@trap("4.5", ours=(StreamReader, StreamRecreated), naive=(NaiveReader, list(range(1, 301))))
def test_a_stream_that_is_made_anew_is_not_the_one_that_was_read(broker, kind, seen):
    # By sequence alone the query goes on with 101..300 of another stream.
    stream = new_stream(broker, 100)
    query = Query(broker, stream, kind=kind, startingOffsets="earliest")
    query.all()
    recreated(broker, stream, 300)

    assert seen == outcome(query.all)


def test_without_fail_on_data_loss_the_new_stream_is_read_from_its_beginning(broker):
    stream = new_stream(broker, 100)
    query = Query(broker, stream, startingOffsets="earliest", failOnDataLoss="false")
    query.all()
    recreated(broker, stream, 30)

    assert [*range(1, 101), *range(1, 31)] == query.all()


def test_a_planned_batch_of_a_stream_that_is_gone_reads_nothing_of_the_new_one(broker):
    for strict in (True, False):
        stream = new_stream(broker, 100)
        query = Query(broker, stream, startingOffsets="earliest", failOnDataLoss=str(strict))
        query.plan()
        recreated(broker, stream, 100)
        if strict:
            with pytest.raises(StreamRecreated, match="failOnDataLoss"):
                query.run()
        else:
            assert [] == query.run()


def test_a_stream_that_ends_before_what_was_read_is_reported(broker):
    stream = new_stream(broker, 10)
    query = Query(broker, stream, startingOffsets="earliest")
    query.all()
    ahead = {**json.loads(query.log[-1]), "seq": 500}
    query.log[-1] = json.dumps(ahead)

    with pytest.raises(StreamTailLost, match="at least 499, which was seen before, got 10"):
        query.plan()
    query.given["failOnDataLoss"] = "false"
    query.crash()
    assert not query.plan()


def test_a_planned_batch_whose_end_the_server_has_lost_is_reported_too(broker):
    # The plan of a range is clipped to what there is, so the rows that are gone would be missing
    # without a word.
    query = Query(broker, new_stream(broker, 10), startingOffsets="earliest")
    query.plan()
    query.log[0] = json.dumps({**json.loads(query.log[0]), "seq": 16})

    with pytest.raises(StreamTailLost, match="at least 15"):
        query.run()
    query.given["failOnDataLoss"] = "false"
    query.crash()
    assert list(range(1, 11)) == query.run()


# ------------------------------------------------------------------------------------------------ restarts


def test_a_restart_with_other_subjects_is_refused_unless_it_is_allowed(broker):
    stream = new_stream(broker, 10)
    query = Query(broker, stream, startingOffsets="earliest")
    query.all()
    query.given["subjects"] = f"{stream.name}.0"
    query.crash()
    with pytest.raises(ChangedQuery, match="allowOptionChange"):
        query.plan()

    query.given["allowOptionChange"] = "true"
    query.crash()
    fill(broker, stream, 6)
    assert [11, 14] == query.all()[10:]


def test_a_replayed_batch_reads_the_same_range_in_other_parts(broker):
    stream = new_stream(broker, 100)
    query = Query(broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="60")
    query.plan()
    before = query.run(commit=False)
    query.given["minPartitions"] = "4"
    query.crash()
    fill(broker, stream, 100)

    assert before == query.run()


def test_a_reader_opens_nothing_when_it_is_made_and_stops_in_peace(broker):
    stream = new_stream(broker, 1)
    query = Query(broker, stream)
    query.given["servers"] = "nats://127.0.0.1:1"
    query.crash()  # no connection is tried: a copy of the reader is made in a planner
    query.reader.stop()
