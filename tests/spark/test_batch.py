"""Batch reads without Spark: the range that a plan fixes, and what filters leave of it, against a
real server.
"""

import pickle
from datetime import timedelta

import pytest
from attrs import evolve
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from jsproto.errors import ConnectionLost
from jsproto.jetstream.api.config.stream import StreamConfig, StreamSource
from jsproto.jetstream.api.validation.rules import check_consumer
from jsproto.jetstream.errors import DataLost
from jsproto.jetstream.range_read.options import RangeOptions, ReadMode
from jsproto.jetstream.range_read.rows import StoredRows
from jsproto_io.blocking import connect
from jsproto_spark.connections import client
from jsproto_spark.errors import InvalidOption, Unreadable
from jsproto_spark.options import Use, settings_of
from jsproto_spark.read import arrow, range_scan
from jsproto_spark.read.batch import BatchReader
from jsproto_spark.read.range_scan import RangeScan
from jsproto_spark.source import JetStreamSource
from tests.spark.feeding import PAYLOADS, SEQUENCES, fill, new_stream, options, read
from tests.spark.naive_tasks import ConsumerReading, FirstRows, LeavingReading, OneLinkReading
from tests.spark.traps import outcome, trap

pytestmark = pytest.mark.live

TEXTS_BY_NAME = MapType(StringType(), ArrayType(StringType()))


def reader(nc, stream, schema=SEQUENCES, *, kind=RangeScan, **given):
    made = JetStreamSource(options(nc, stream, **given)).reader(schema)
    made.reading = kind(made.reading.settings, schema)
    return made


def rows(nc, stream, *, kind=RangeScan, **given):
    made = reader(nc, stream, kind=kind, **given)
    return read(made, made.partitions())


def test_a_batch_is_all_there_is_by_default(broker):
    assert list(range(1, 101)) == rows(broker, new_stream(broker, 100))
    assert [] == rows(broker, new_stream(broker))


def test_it_begins_and_ends_where_the_options_say(broker):
    stream = new_stream(broker, 100)
    at = {seq: stream.messages.by_seq(seq).time for seq in (31, 61)}

    assert list(range(11, 21)) == rows(broker, stream, startingOffsets="11", endingOffsets="21")
    assert list(range(31, 61)) == rows(
        broker, stream, startingTimestamp=str(at[31]), endingTimestamp=str(at[61])
    )
    assert [] == rows(broker, stream, startingOffsets="latest")
    assert list(range(91, 101)) == rows(broker, stream, startingOffsets="91", endingOffsets="5000")
    assert list(range(91, 101)) == rows(
        broker, stream, startingOffsets="91", endingTimestamp="2100-01-01T00:00:00Z"
    )
    with pytest.raises(Unreadable, match="startingOffsetsByTimestampStrategy"):
        rows(broker, stream, startingTimestamp="2100-01-01T00:00:00Z")


def test_payloads_that_no_column_wants_are_not_even_sent(broker):
    # Acceptance 11: for .schema("sequence BIGINT") no payload is copied; by consumer none leaves
    # the server.
    stream = new_stream(broker)
    whole = 40 * 50_000
    for _ in range(40):
        broker.jetstream().publish(f"{stream.name}.a", b"x" * 50_000)

    def came(schema):
        made = reader(broker, stream, schema, readMode="consumer")
        link = client(made.reading.settings.where, 5.0)
        parts = made.partitions()
        before = link.stats.bytes_in
        assert list(range(1, 41)) == read(made, parts)
        return link.stats.bytes_in - before

    assert came(SEQUENCES) < whole / 10
    assert came(PAYLOADS) > whole


@pytest.mark.parametrize("mode", ["consumer", "direct"])
def test_headers_that_no_column_wants_are_not_parsed(broker, monkeypatch, mode):
    # Acceptance 11, by the core's own count. Headers of several forms, which it parses itself if it
    # is asked.
    stream = new_stream(broker)
    for number in range(20):
        broker.jetstream().publish(f"{stream.name}.a", headers={f"Name-{number}": "value"})
    runs = []

    def noted(feed, *rest):
        return arrow.batches((runs.append(rows) or rows for rows in feed), *rest)

    monkeypatch.setattr(range_scan, "batches", noted)

    def parsed(schema):
        runs.clear()
        made = reader(broker, stream, schema, readMode=mode)
        assert list(range(1, 21)) == read(made, made.partitions())
        return {what for rows in runs for what in rows.parsed}

    assert "headers" not in parsed(SEQUENCES)
    assert "headers" in parsed(StructType([*SEQUENCES, StructField("headers", TEXTS_BY_NAME)]))


def test_only_the_subjects_of_the_options_are_read(broker):
    stream = new_stream(broker, 9)

    assert [1, 3, 4, 6, 7, 9] == rows(broker, stream, subjects=f"{stream.name}.0,{stream.name}.2")


def test_a_plan_is_fixed_and_travels(broker):
    stream = new_stream(broker, 100)
    made = reader(broker, stream, minPartitions="4")
    parts = pickle.loads(pickle.dumps(made.partitions()))
    fill(broker, stream, 50)

    assert list(range(1, 101)) == read(pickle.loads(pickle.dumps(made)), parts)
    assert 4 == len(parts)


def test_a_part_that_is_not_ours_is_no_empty_one(broker):
    made = reader(broker, new_stream(broker, 3))

    assert [] == list(made.read(InputPartition(None)))  # Spark's own, for an empty plan
    with pytest.raises(Unreadable, match="driver and executors need the same version"):
        list(made.read(InputPartition((1, 4))))


@pytest.mark.parametrize("mode", ["consumer", "direct"])
def test_both_ways_of_reading_give_the_same(broker, mode):
    stream = new_stream(broker, 100)
    made = reader(broker, stream, readMode=mode)
    [part] = made.partitions()

    assert ReadMode[mode.upper()] is part.way
    assert list(range(1, 101)) == read(made, [part])


@trap("4.3", ours=(RangeScan, list(range(1, 20_001))), naive=(OneLinkReading, ConnectionLost))
def test_a_task_goes_on_behind_a_server_that_is_started_again(
    start_server, monkeypatch, kind, seen
):
    monkeypatch.setattr(
        arrow, "BATCH", 500
    )  # so that most of it has not come when the first rows are given
    server = start_server()
    with connect(server.url) as nc:
        stream = new_stream(nc, 20_000, storage="file")
        made = reader(nc, stream, kind=kind)
        [part] = made.partitions()

    def sequences():
        taken = []
        for number, batch in enumerate(made.read(part)):
            taken += batch.column("sequence").to_pylist()
            if number == 0:
                server.kill()
                server.restart()
        return taken

    assert seen == outcome(sequences)


@trap("4.4", ours=(RangeScan, list(range(1, 51))), naive=(ConsumerReading, Unreadable))
def test_a_work_queue_is_not_read_by_a_consumer(broker, kind, seen):
    # One that acknowledges nothing is refused there (10084), and one that does would take the
    # messages.
    assert seen == outcome(
        lambda: rows(broker, new_stream(broker, 50, retention="workqueue"), kind=kind)
    )


@trap("4.4", ours=({}, []), naive=({"num_replicas": 1}, [10134]))
def test_a_consumer_of_an_interest_stream_has_as_many_replicas_as_the_stream(kind, seen):
    config = evolve(RangeOptions(lo=1, hi=2).shared, **kind)
    found = check_consumer(config, StreamConfig(name="S", retention="interest", num_replicas=3))

    assert seen == [each.err_code for each in found]


def test_a_work_queue_is_read_by_direct_gets_and_nothing_is_taken_from_it(broker):
    stream = new_stream(broker, 50, retention="workqueue")

    assert list(range(1, 51)) == rows(broker, stream)
    assert (50, 0) == (stream.info().state.messages, stream.info().state.consumer_count)
    with pytest.raises(Unreadable, match="see option readMode"):
        rows(broker, stream, readMode="consumer")


def test_an_interest_stream_is_read_by_consumer_whatever_its_replicas(broker):
    stream = new_stream(broker, retention="interest")
    stream.create_consumer(durable_name="keeps")
    fill(broker, stream, 50)

    assert list(range(1, 51)) == rows(broker, stream)


def test_direct_gets_that_are_not_allowed_are_one_line_that_names_the_option(broker):
    stream = new_stream(broker, 1, allow_direct=False)
    with pytest.raises(Unreadable, match="see option readMode") as caught:
        rows(broker, stream, readMode="direct")

    assert stream.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("allowed", [True, False])
def test_a_mirror_is_read_directly_only_if_it_answers_for_itself(broker, allowed, eventually):
    # The mirror of a stream with direct gets has mirror_direct, by which it answers for its origin
    # and not for itself.
    origin = new_stream(broker, 30)
    made = broker.jetstream().create_stream(
        name=origin.name + "M",
        mirror=StreamSource(name=origin.name),
        storage="memory",
        allow_direct=allowed,
    )
    mirror = broker.jetstream().stream(made.name)
    eventually(lambda: mirror.info().state.last_seq == 30)

    assert mirror.info().config.mirror_direct
    plan = reader(broker, mirror)
    [part] = plan.partitions()
    assert part.way is (ReadMode.DIRECT if allowed else ReadMode.CONSUMER)
    assert list(range(1, 31)) == read(plan, [part])
    assert list(range(1, 31)) == rows(broker, mirror, readMode="consumer")
    assert 7 == made.messages.by_seq(7).seq  # the handle knows the stream, so it may ask directly
    if allowed:
        assert list(range(1, 31)) == rows(broker, mirror, readMode="direct")
    else:
        with pytest.raises(Unreadable, match=r"see option readMode.*allow_direct"):
            reader(broker, mirror, readMode="direct").partitions()


def test_direct_gets_in_batches_are_not_asked_of_an_older_server(start_server):
    with connect(start_server(version="2.10.26").url) as nc:
        stream = new_stream(nc, 3)

        assert [1, 2, 3] == rows(nc, stream)
        with pytest.raises(
            Unreadable, match=r"see option readMode.*expected a server of 2\.11 or newer"
        ):
            reader(nc, stream, readMode="direct").partitions()


@pytest.mark.parametrize("subjects", ["{0}.0;{0}.1", "{0}.1,elsewhere.>", "{0}"])
def test_a_subject_under_which_nothing_can_be_is_refused_when_the_range_is_planned(
    broker, subjects
):
    # A semicolon instead of a comma read nothing, and that without a word.
    stream = new_stream(broker, 9)
    with pytest.raises(
        Unreadable, match="see option subjects: expected subjects of the stream, which stores"
    ) as caught:
        reader(broker, stream, subjects=subjects.format(stream.name)).partitions()
    assert "separated by commas" in str(caught.value)


def test_a_subject_with_a_semicolon_is_refused_even_where_the_stream_takes_it_unless_it_is_there(
    broker,
):
    stream = new_stream(broker, 3)
    odd = f"{stream.name}.a;b"
    with pytest.raises(Unreadable, match="separated by commas"):
        rows(broker, stream, subjects=odd)
    fill(broker, stream, 2, odd)

    assert [4, 5] == rows(broker, stream, subjects=odd)


def test_a_subject_that_the_stream_does_not_take_any_more_is_read_as_long_as_it_is_there(broker):
    stream = new_stream(broker, 9)
    stream.change(subjects=[f"{stream.name}.new"])

    assert [1, 4, 7] == rows(broker, stream, subjects=f"{stream.name}.0")
    assert [] == rows(broker, stream, subjects=f"{stream.name}.new")


def test_no_task_is_planned_for_a_hole(broker):
    stream = new_stream(broker, 2)
    stream.purge()
    fill(broker, stream, 2000)
    for seq in range(5, 2001):
        stream.messages.delete(seq, erase=False)
    plan = reader(broker, stream, maxRecordsPerPartition="100")

    assert 2 == len(plan.partitions())
    assert [3, 4, 2001, 2002] == read(plan, plan.partitions())


def test_no_task_is_planned_for_what_the_subjects_leave_out(broker):
    stream = new_stream(broker, 600)
    fill(broker, stream, 2, f"{stream.name}.rare")
    plan = reader(broker, stream, subjects=f"{stream.name}.rare", minPartitions="20")

    assert [601, 602] == read(plan, plan.partitions())
    assert 2 == len(plan.partitions())


def test_a_start_behind_the_end_of_the_stream_is_named_for_what_it_is(broker):
    stream = new_stream(broker, 10)

    assert [] == rows(broker, stream, startingOffsets="11")
    with pytest.raises(
        Unreadable, match=r"see option startingOffsets: expected a sequence up to 11, .* got 500"
    ):
        rows(broker, stream, startingOffsets="500")
    assert [] == rows(broker, stream, startingOffsets="500", failOnDataLoss="false")


def test_what_is_missing_is_told_where_it_is_no_error(broker, caplog):
    # A writer at full speed moved the beginning of the stream on between plan and tasks, and all
    # batches were empty without a word.
    stream = new_stream(broker, 100)
    plan = reader(broker, stream, failOnDataLoss="false", minPartitions="2")
    [first, second] = plan.partitions()
    stream.purge(seq=31)

    assert list(range(31, 51)) == read(plan, [first])
    assert "messages from sequence 1 to 30 were removed before they were read" in caplog.text
    stream.purge(seq=101)
    assert [] == read(plan, [second])
    assert "messages from sequence 51 to 100 were removed" in caplog.text
    caplog.clear()
    assert [] == reader(broker, stream, startingOffsets="21", failOnDataLoss="false").partitions()
    assert "messages from sequence 21 to 100 were removed" in caplog.text


def test_a_beginning_that_is_gone_is_a_loss_unless_it_is_allowed(broker):
    stream = new_stream(broker, 100)
    stream.purge(seq=51)
    with pytest.raises(DataLost, match="failOnDataLoss"):
        rows(broker, stream, startingOffsets="1")

    assert list(range(51, 101)) == rows(broker, stream, startingOffsets="1", failOnDataLoss="false")
    assert list(range(51, 101)) == rows(broker, stream)


def test_at_the_beginning_a_deletion_is_the_same_as_a_purge_and_the_error_says_so(broker):
    deleted, purged = new_stream(broker, 100), new_stream(broker, 100)
    for seq in (1, 2):
        deleted.messages.delete(seq)
    purged.purge(seq=3)
    states = [each.info(deleted_details=True).state for each in (deleted, purged)]
    assert states[0].evolve(bytes=0, first_ts=None, last_ts=None) == states[1].evolve(
        bytes=0, first_ts=None, last_ts=None
    )

    with pytest.raises(
        DataLost, match=r"single deletes; the server does not tell which.* earliest"
    ):
        rows(broker, deleted, startingOffsets="1")
    assert list(range(3, 101)) == rows(broker, deleted, startingOffsets="earliest")
    assert list(range(3, 101)) == rows(broker, deleted, startingOffsets="3")
    deleted.messages.delete(50)
    assert [*range(3, 50), *range(51, 101)] == rows(broker, deleted, startingOffsets="3")


@trap(
    "4.9",
    ours=(StoredRows, ([1], [(("Nats-Sequence", "77"), ("A", "1"))])),
    naive=(FirstRows, ([77], [(("A", "1"),)])),
)
def test_a_header_that_is_called_like_one_that_a_direct_get_appends_stays_what_it_is(
    broker, kind, seen
):
    stream = new_stream(broker)
    broker.jetstream().publish(f"{stream.name}.a", headers=[("Nats-Sequence", "77"), ("A", "1")])
    with stream.read_range(1, 2, way=ReadMode.DIRECT) as runs:
        [run] = runs
    again = kind(stream.name, run.frames)

    assert seen == (again.sequences, again.headers)


@trap("4.11", ours=(RangeScan, 0), naive=(LeavingReading, 1))
def test_a_task_of_which_nobody_wants_more_leaves_no_consumer_behind(
    broker, eventually, kind, seen
):
    stream = new_stream(broker, 20_000)
    made = reader(broker, stream, kind=kind)
    [part] = made.partitions()
    halfway = made.read(part)
    next(halfway)
    halfway.close()  # what a limit or a cancelled task comes to

    assert eventually(
        lambda: stream.info().state.consumer_count == seen
    )  # the deletion is not waited for


def test_no_consumer_is_left_behind_however_a_task_ends(broker, eventually):
    stream = new_stream(broker, 20_000)
    made = reader(broker, stream)
    [part] = made.partitions()
    halfway = made.read(part)
    next(halfway)
    assert 1 == stream.info().state.consumer_count
    halfway.close()  # what a limit or a cancelled task comes to
    assert eventually(
        lambda: stream.info().state.consumer_count == 0
    )  # the deletion is not waited for

    failing = made.read(part)
    next(failing)
    with pytest.raises(KeyError):
        failing.throw(KeyError("in the sink"))
    assert eventually(lambda: stream.info().state.consumer_count == 0)

    assert list(range(1, 20_001)) == read(made, [part])
    assert eventually(lambda: stream.info().state.consumer_count == 0)


# ------------------------------------------------------------------------------------------------ filters


def pushed(nc, stream, *filters, **given):
    made = reader(nc, stream, pushdown="true", **given)
    assert list(filters) == made.pushFilters(
        list(filters)
    )  # all are given back: Spark filters again
    return read(made, made.partitions())


def test_only_the_class_for_it_has_push_filters(broker):
    # With pushFilters merely defined and Spark's setting off, as it is by default, every query
    # fails.
    stream = new_stream(broker)

    assert "pushFilters" not in vars(BatchReader)
    assert isinstance(reader(broker, stream), BatchReader)
    assert "pushFilters" in vars(type(reader(broker, stream, pushdown="true")))
    with pytest.raises(InvalidOption, match="option pushdown with batch read"):
        settings_of(options(broker, stream, pushdown="true"), Use.STREAM_READ)


def test_filters_by_sequence_time_and_subject_narrow_what_is_read(broker):
    stream = new_stream(broker, 90)
    at = stream.messages.by_seq(40).time.datetime

    assert list(range(41, 50)) == pushed(
        broker, stream, GreaterThan(("sequence",), 40), LessThan(("sequence",), 50)
    )
    assert [2, 5, 8] == pushed(
        broker, stream, EqualTo(("subject",), f"{stream.name}.1"), LessThanOrEqual(("sequence",), 9)
    )
    since = pushed(broker, stream, GreaterThanOrEqual(("timestamp",), at))
    assert 40 in since
    assert 1 not in since
    until = pushed(broker, stream, LessThan(("timestamp",), at))
    assert until == list(range(1, len(until) + 1))
    assert len(until) < 41


def test_filters_that_nothing_can_pass_read_nothing(broker):
    stream = new_stream(broker, 30)

    assert [] == pushed(broker, stream, GreaterThan(("sequence",), 30))
    assert [] == pushed(
        broker, stream, EqualTo(("subject",), "elsewhere"), subjects=f"{stream.name}.*"
    )
    later = stream.messages.by_seq(30).time.datetime + timedelta(days=1)
    assert [] == pushed(broker, stream, GreaterThan(("timestamp",), later))


def test_what_is_negated_or_unknown_narrows_nothing(broker):
    stream = new_stream(broker, 30)

    assert list(range(1, 31)) == pushed(
        broker,
        stream,
        Not(EqualTo(("sequence",), 3)),
        EqualTo(("payload",), b"1"),
        In(("stream",), ("x",)),
    )
