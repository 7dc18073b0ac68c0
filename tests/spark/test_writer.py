"""The sink without Spark: tasks that publish Arrow batches through a window, against a real server."""

import json
import logging
from datetime import timedelta

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from jsproto.errors import JsprotoError, NoResponders
from jsproto_io.blocking import connect
from jsproto_spark.errors import InvalidColumns, Unreadable
from jsproto_spark.options import Use, settings_of
from jsproto_spark.source import JetStreamSource
from jsproto_spark.write.writer import StreamWriter, Writing, Written
from tests.spark.feeding import new_stream, options
from tests.spark.naive_tasks import JsonWriting
from tests.spark.traps import outcome, trap

pytestmark = pytest.mark.live

ROWS = StructType([
    StructField("subject", StringType()), StructField("payload", BinaryType()), StructField("msg_id", StringType()),
])  # fmt: skip
PLAIN = StructType(ROWS.fields[:2])


def rows(stream, numbers, ids=True):
    columns = {
        "subject": [f"{stream.name}.a" for _ in numbers],
        "payload": [b"%d" % number for number in numbers],
        **({"msg_id": [f"id-{number}" for number in numbers]} if ids else {}),
    }
    return pa.RecordBatch.from_pydict(columns)


def writing(nc, stream, schema=ROWS, *, kind=Writing, **given):
    return kind(settings_of(options(nc, stream, **given), Use.BATCH_WRITE), schema, overwrite=False)


def held(stream):
    return stream.info().state.messages


def test_a_task_ends_when_every_row_is_acknowledged(broker):
    stream = new_stream(broker)
    done = writing(broker, stream).write(
        iter([rows(stream, range(600)), rows(stream, range(600, 1000))])
    )

    assert Written(rows=1000, duplicates=0, last=1000) == done
    assert 1000 == held(stream)
    assert ("id-7", stream.name) == tuple(
        stream.messages.by_seq(8).headers[name] for name in ("Nats-Msg-Id", "Nats-Expected-Stream")
    )


def test_a_task_that_runs_again_stores_nothing_twice_if_rows_have_ids(broker):
    stream = new_stream(broker)
    work = writing(broker, stream)
    work.write(iter([rows(stream, range(500))]))  # killed behind 500 rows, and run again

    assert Written(rows=1000, duplicates=500, last=1000) == work.write(
        iter([rows(stream, range(1000))])
    )
    assert 1000 == held(stream)


def test_without_ids_it_stores_them_again(broker):
    stream = new_stream(broker)
    work = writing(broker, stream, PLAIN)
    work.write(iter([rows(stream, range(500), ids=False)]))
    work.write(iter([rows(stream, range(1000), ids=False)]))

    assert 1500 == held(stream)


def test_behind_the_duplicate_window_ids_are_forgotten(broker, eventually):
    stream = new_stream(broker, duplicate_window=timedelta(milliseconds=100))
    work = writing(broker, stream)

    def written_twice():
        work.write(iter([rows(stream, [1])]))
        return held(stream) > 1

    assert eventually(written_twice)


def test_ids_by_place_are_the_same_when_the_same_rows_come_again(broker):
    stream = new_stream(broker)
    work = writing(broker, stream, PLAIN, autoMsgId="true")
    work.write(iter([rows(stream, range(10), ids=False)]))
    again = work.write(
        iter([rows(stream, range(4), ids=False), rows(stream, range(4, 20), ids=False)])
    )
    another = writing(broker, stream, PLAIN, autoMsgId="true").write(
        iter([rows(stream, range(10), ids=False)])
    )

    assert (20, 10) == (again.rows, again.duplicates)
    assert 0 == another.duplicates


def test_the_option_subject_is_where_all_rows_go(broker):
    stream = new_stream(broker)
    schema = StructType([StructField("payload", StringType())])
    writing(broker, stream, schema, subject=f"{stream.name}.all").write(
        iter([pa.RecordBatch.from_pydict({"payload": ["x", "y"]})])
    )

    assert {f"{stream.name}.all": 2} == dict(stream.info(subjects_filter=">").state.subjects)


NOWHERE = pa.RecordBatch.from_pydict({"subject": ["nowhere"], "payload": [b""], "msg_id": ["1"]})


@trap("4.8", ours=(Writing, Unreadable), naive=(JsonWriting, json.JSONDecodeError))
def test_an_answer_that_nobody_stores_it_is_not_read_as_one_that_somebody_does(broker, kind, seen):
    # The answer is 503 with an empty body; who parses it as JSON fails with something else.
    work = writing(broker, new_stream(broker), kind=kind)

    assert seen == outcome(lambda: work.write(iter([NOWHERE])))


def test_a_subject_that_no_stream_stores_is_a_permanent_error(broker):
    stream = new_stream(broker)
    with pytest.raises(Unreadable, match="NoResponders") as caught:
        writing(broker, stream).write(iter([NOWHERE]))

    assert f"stream '{stream.name}', see option subject, or the column" in str(caught.value)
    assert "servers" not in str(caught.value)  # which are right: the driver has asked them
    assert NoResponders.__name__ in str(caught.value)


def test_a_subject_of_another_stream_is_refused_and_nothing_is_stored(broker):
    stream, other = new_stream(broker), new_stream(broker)
    with pytest.raises(Unreadable, match="see option stream: WrongStream"):
        writing(broker, stream).write(iter([rows(other, range(3))]))

    assert 0 == held(other)


def test_a_failure_ends_the_task_before_the_next_batch(broker):
    stream = new_stream(broker, max_msgs=5, discard="new")

    def batches():
        yield rows(stream, range(100))
        yield rows(stream, range(100, 200))
        pytest.fail("a third batch was asked for")

    with pytest.raises(JsprotoError, match="StreamFull"):
        writing(broker, stream, window="10").write(batches())
    assert 5 == held(stream)


def test_a_window_that_stays_full_fails_the_task_if_that_is_asked(broker):
    stream = new_stream(broker)
    work = writing(broker, stream, window="10", stallWait="100ms")
    stream.change(no_ack=True)  # from now on nobody answers
    with pytest.raises(
        Unreadable, match="see option stallWait: WindowFull: expected room within a stall_wait"
    ):
        work.write(iter([rows(stream, range(100))]))

    assert 10 == held(stream)


@pytest.mark.parametrize("setting", ["no_ack", "sealed"])
def test_a_stream_that_acknowledges_nothing_is_refused_on_the_driver(broker, setting):
    stream = new_stream(broker)
    stream.change(**{setting: True})
    with pytest.raises(Unreadable, match=setting):
        writing(broker, stream)


def test_the_last_sequence_of_the_subject_is_checked_by_the_stream(broker):
    stream = new_stream(broker)
    schema = StructType([*PLAIN.fields, StructField("expected_last_subject_sequence", LongType())])
    batch = pa.RecordBatch.from_pydict({
        "subject": [f"{stream.name}.a"] * 2, "payload": [b""] * 2, "expected_last_subject_sequence": [0, 0],
    })  # fmt: skip
    with pytest.raises(Unreadable, match="WrongLastSequence"):
        writing(broker, stream, schema).write(iter([batch]))


def test_what_is_wrong_is_said_on_the_driver(broker):
    stream = new_stream(broker)
    source = JetStreamSource(options(broker, stream))
    with pytest.raises(Unreadable, match="expected mode append"):
        source.writer(ROWS, overwrite=True)
    with pytest.raises(InvalidColumns, match="expected a column payload"):
        source.streamWriter(StructType(ROWS.fields[:1]), overwrite=False)
    with pytest.raises(Unreadable, match="see option stream: StreamNotFound"):
        JetStreamSource({**options(broker, stream), "stream": "NOPE"}).writer(ROWS, overwrite=False)


@pytest.mark.parametrize("named", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("back", [True, False], ids=["it comes back", "it stays away"])
def test_a_task_never_reports_rows_that_no_server_has_acknowledged_n104(start_server, named, back):
    # An outage in the middle: with ids the rows are sent again and stored once, without ids the
    # task fails. Nothing is done without its ack.
    server = start_server()
    with connect(server.url) as nc:
        stream = new_stream(nc, storage="file", subjects=["N104.>"], name="N104")
        given = {} if back else {"ackTimeout": "2s", "reconnectMaxWait": "1s"}
        schema = ROWS if named else PLAIN
        work = writing(nc, stream, schema, window="50", **given)

    def batches():
        yield rows(stream, range(100), ids=named)
        server.kill()
        if back:
            server.restart()
        yield rows(stream, range(100, 300), ids=named)

    if named and back:
        done = work.write(batches())
        assert 300 == done.rows
    else:
        with pytest.raises(JsprotoError):
            work.write(batches())
        if not back:
            server.restart()
    with connect(server.url) as nc, nc.jetstream().stream("N104").read() as messages:
        stored = [json.loads(message.payload) for message in messages]
    assert stored[:50] == list(range(50))
    if named:
        assert len(stored) == len(set(stored))
    if named and back:
        assert stored == list(range(300))


def test_a_window_of_ids_that_is_too_short_is_said(broker, caplog):
    stream = new_stream(broker)
    with caplog.at_level(logging.WARNING, "jsproto_spark"):
        writing(broker, stream, msgIdColumn="msg_id", expectedOutage="1h")
    assert "remembers message ids for 120 s, expectedOutage is 3600 s" in caplog.text

    caplog.clear()
    with caplog.at_level(logging.WARNING, "jsproto_spark"):
        writing(broker, stream, msgIdColumn="msg_id", expectedOutage="1m")
    assert not caplog.text


def test_commit_and_abort_say_what_is_stored(broker, caplog):
    stream = new_stream(broker)
    writer = StreamWriter(settings_of(options(broker, stream), Use.STREAM_WRITE), ROWS)
    done = writer.write(iter([rows(stream, range(10))]))
    with caplog.at_level(logging.INFO, "jsproto_spark"):
        writer.commit([done, None], 7)
        writer.abort([done, None], 8)

    assert (
        f"micro-batch 7: 10 rows in stream '{stream.name}', 0 of them were there already"
        in caplog.text
    )
    assert "micro-batch 8 was aborted: 10 rows of 1 successful tasks" in caplog.text
