"""The source and the sink on a real Spark and a real server: one session, one file, so that it
starts once.
"""

# ruff: noqa: PLR0917 - fixtures are asked for by name

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StringType

from jsproto_io.blocking import connect
from tests.docs.test_snippets import check_page
from tests.spark import attempts
from tests.spark.conftest import PASSWORD, PASSWORD_VARIABLE, SETTINGS
from tests.spark.feeding import STREAMS, fill, new_stream, options
from tests.spark.naive_source import NaiveSource
from tests.spark.traps import trap

streams = pytest.mark.skipif(not STREAMS, reason="streams need Spark 4.2")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"

pytestmark = [pytest.mark.live, pytest.mark.slow]


def reading(spark, nc, stream, form="jetstream", /, **given):
    reader = spark.read.format(form)
    for name, value in options(nc, stream, **given).items():
        reader = reader.option(name, value)
    return reader


def streaming(spark, nc, stream, form="jetstream", /, **given):
    reader = spark.readStream.format(form)
    for name, value in options(nc, stream, **given).items():
        reader = reader.option(name, value)
    return reader.load()


class Table:
    """A sink that keeps the rows of each micro-batch under its number, so that one that is run
    again replaces itself.
    """

    def __init__(self):
        self.batches = {}
        self.fail_in = set()

    def __call__(self, frame, number):
        rows = sorted(row.sequence for row in frame.select("sequence").collect())
        if number in self.fail_in:
            raise ValueError(f"no batch {number}")
        self.batches[number] = rows

    @property
    def rows(self):
        return [seq for number in sorted(self.batches) for seq in self.batches[number]]


def started(frame, table, checkpoint, **trigger):
    return (
        frame.writeStream.foreachBatch(table)
        .option("checkpointLocation", str(checkpoint))
        .trigger(**trigger or {"availableNow": True})
        .start()
    )


def ran(frame, table, checkpoint):
    query = started(frame, table, checkpoint)
    assert query.awaitTermination(90)
    return query


def stream_of(nc, stream):
    return nc.jetstream().stream(stream.name)


def ids_in(stream):
    """The id of each message that is stored, in their order; ``None`` without one."""
    last = stream.info().state.last_seq
    with stream.read_range(1, last + 1) as runs:
        return [dict(pairs).get("Nats-Msg-Id") for rows in runs for pairs in rows.headers]


def consumers(stream):
    return stream.info().state.consumer_count


# ------------------------------------------------------------------------------------------------ batch


def test_the_format_is_found_by_its_name_and_reads_all_of_a_stream(spark, broker):
    stream = new_stream(broker, 3000)
    frame = reading(spark, broker, stream, minPartitions="2").load()
    [seen] = (
        frame.withColumn("part", F.spark_partition_id())
        .agg(
            F.count("*"),
            F.countDistinct("sequence"),
            F.sum("sequence"),
            F.countDistinct("subject"),
            F.min("stream"),
            F.countDistinct("part"),
        )
        .collect()
    )

    assert (3000, 3000, 3000 * 3001 // 2, 3, stream.name, 2) == tuple(seen)
    assert ["subject", "sequence", "timestamp", "payload", "headers", "stream"] == frame.columns


def test_a_dataframe_keeps_its_plan_and_a_new_load_sees_what_came(spark, broker):
    stream = new_stream(broker, 1000)
    reader = reading(spark, broker, stream)
    frame = reader.load()

    assert 1000 == frame.count()
    fill(broker, stream, 500)
    assert 1000 == frame.count()
    assert 1500 == reader.load().count()


def test_every_column_can_be_had_in_any_order_by_a_schema(spark, broker):
    stream = new_stream(broker)
    broker.jetstream().publish(
        f"{stream.name}.a", b"\x00\xff", headers=[("B", "2"), ("A", "1"), ("B", "3")]
    )
    schema = (
        "size INT, headers ARRAY<STRUCT<name: STRING, value: STRING>>, timestamp_ns BIGINT, timestamp TIMESTAMP, payload BINARY, "
        "pending BIGINT, delivered INT, consumer_sequence BIGINT, consumer STRING, reply STRING, domain STRING, stream STRING, "
        "subject STRING, sequence BIGINT, headers_raw BINARY"
    )
    [row] = reading(spark, broker, stream).schema(schema).load().collect()
    [direct] = reading(spark, broker, stream, readMode="direct").schema(schema).load().collect()

    assert b"\x00\xff" == row.payload
    assert [("B", "2"), ("A", "1"), ("B", "3")] == [tuple(pair) for pair in row.headers]
    assert row.timestamp_ns // 1000 == int(row.timestamp.timestamp() * 1e6 + 0.5)
    assert (0, 1, 1, 1) == (row.pending, row.delivered, row.consumer_sequence, row.sequence)
    assert row.consumer.startswith("spark-")
    assert (row.payload, row.headers, row.headers_raw, row.timestamp_ns) == (
        direct.payload,
        direct.headers,
        direct.headers_raw,
        direct.timestamp_ns,
    )
    assert (None, None, None) == (direct.consumer, direct.reply, direct.pending)


@pytest.fixture
def _naive(spark):
    """The naive source is known by its name too."""
    spark.dataSource.register(NaiveSource)


@pytest.mark.usefixtures("_naive")
@trap("4.10", ours=("jetstream", 3), naive=("naive", 1))
def test_an_option_is_found_in_whatever_case_it_comes(spark, broker, kind, seen):
    frame = reading(spark, broker, new_stream(broker, 30), kind, minPartitions="3").load()

    assert seen == frame.select(F.spark_partition_id()).distinct().count()


@pytest.mark.usefixtures("_naive")
@trap("4.11", ours=("jetstream", 0), naive=("naive", 1))
def test_a_limit_leaves_no_consumer_behind(spark, broker, eventually, kind, seen):
    stream = new_stream(broker, 50_000)

    assert 10 == len(reading(spark, broker, stream, kind).load().limit(10).collect())
    assert eventually(
        lambda: consumers(stream) == seen, within=20
    )  # the worker deletes it behind the answer


def test_filters_are_pushed_only_if_both_sides_are_asked(spark, broker):
    stream = new_stream(broker, 5000)
    wanted = F.col("sequence").between(4001, 4100)
    off = reading(spark, broker, stream).load()
    on = reading(spark, broker, stream, pushdown="true").load()

    assert 100 == off.where(wanted).count()
    with pytest.raises(PySparkException, match=r"filterPushdown\.enabled"):
        on.where(wanted).count()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        assert 100 == on.where(wanted).count()
        assert (
            20 == on.where(F.col("subject") == f"{stream.name}.1").where("sequence > 4940").count()
        )
        [first] = on.where("sequence = 17").select("timestamp").collect()
        assert 17 in [
            row.sequence for row in on.where(F.col("timestamp") == F.lit(first.timestamp)).collect()
        ]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_what_is_wrong_is_one_line_with_stream_and_option(spark, broker):
    stream = new_stream(broker, 1)
    cases = [
        ({"foo": "1"}, "expected a known option, got 'foo'"),
        ({"minPartitions": "many"}, "option minPartitions: expected a whole number"),
        (
            {"startingOffsets": "1", "startingTimestamp": "1"},
            "startingOffsets and startingTimestamp",
        ),
        ({"stream": "NOPE"}, "see option stream: StreamNotFound"),
        ({"readMode": "direct"}, "see option readMode"),
        (
            {"servers": "nats://127.0.0.1:1", "requestTimeout": "1s"},
            "see option servers: ConnectFailed",
        ),
        ({"domain": "nowhere"}, "see option servers, domain, apiPrefix: JetStreamNotEnabled"),
        ({"tlsCaFile": "no.pem"}, "see option tlsCaFile, tlsCertFile, tlsKeyFile: InvalidConfig"),
    ]
    stream.change(allow_direct=False)
    for given, said in cases:
        with pytest.raises(PySparkException) as caught:
            reading(spark, broker, stream, **given).load().count()
        line = next(line for line in str(caught.value).splitlines() if said in line)
        assert repr(given.get("stream", stream.name)) in line


def test_a_table_is_told_to_be_a_view(spark, broker):
    stream = new_stream(broker, 3)
    given = ", ".join(f"{name} '{value}'" for name, value in options(broker, stream).items())
    with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE plain USING jetstream OPTIONS ({given})")
    spark.sql(f"CREATE TABLE named (sequence BIGINT) USING jetstream OPTIONS ({given})")
    try:
        with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW"):
            spark.sql("SELECT * FROM named").count()
    finally:
        spark.sql("DROP TABLE named")
    spark.sql(f"CREATE TEMPORARY VIEW here (sequence BIGINT) USING jetstream OPTIONS ({given})")

    assert [1, 2, 3] == [
        row.sequence for row in spark.sql("SELECT * FROM here ORDER BY sequence").collect()
    ]
    spark.catalog.dropTempView("here")


#: Three users with one password: who may do all, who may make no consumer, who may publish nothing
#: but questions.
USERS = f"""authorization {{ users: [
    {{ user: me, password: "{PASSWORD}" }},
    {{ user: reader, password: "{PASSWORD}", permissions {{ publish {{ deny: ["$JS.API.CONSUMER.CREATE.>"] }} }} }},
    {{ user: writer, password: "{PASSWORD}", permissions {{ publish {{ allow: ["$JS.API.>"] }} }} }} ] }}"""


def test_a_secret_is_in_no_plan_no_event_and_no_error(spark, start_server, tmp_path, capfd):
    server = start_server(config=USERS)
    with connect(server.url.replace("//", f"//me:{PASSWORD}@")) as nc:
        stream = new_stream(nc, 10)

    def where(**other):
        given = {
            "servers": server.url,
            "stream": stream.name,
            "user": "me",
            "passwordEnv": PASSWORD_VARIABLE,
        }
        return {**given, **other}

    def read(**other):
        return spark.read.format("jetstream").options(**where(**other)).load()

    def streamed(**other):
        ran(
            spark.readStream.format("jetstream").options(**where(**other)).load(),
            Table(),
            tmp_path / "c",
        )

    def written(**other):
        rows = spark.range(1).selectExpr("CAST(id AS STRING) AS payload")
        rows.write.format("jetstream").options(**where(subject=f"{stream.name}.a", **other)).mode(
            "append"
        ).save()

    assert 10 == read().count()
    read().explain("extended")
    refused = "see option credentialsFile, credentialsEnv, nkeySeedFile, user, passwordEnv, tokenEnv: AuthorizationFailed"
    denied = "see option user, credentialsFile, inboxPrefix: PermissionViolation"
    errors = []
    for work, said in [
        (lambda: read(user="you").count(), refused),
        (lambda: read(user="reader").count(), denied),
        *([(lambda: streamed(user="you"), refused)] if STREAMS else []),
        (lambda: written(user="you"), refused),
        (lambda: written(user="writer"), denied),
        (lambda: read(passwordEnv=PASSWORD).count(), "option passwordEnv: expected the name of"),
        (
            lambda: read(nkeySeedFile=f"-----{PASSWORD}").count(),
            "option nkeySeedFile: expected the name of a file",
        ),
        (lambda: read(password=PASSWORD).count(), "got 'password'"),
    ]:
        with pytest.raises(PySparkException) as caught:
            work()
        errors.append(str(caught.value))
        line = next(line for line in errors[-1].splitlines() if said in line)
        assert repr(stream.name) in line
    shown = capfd.readouterr().out
    [events] = Path(spark.conf.get("spark.eventLog.dir").removeprefix("file://")).iterdir()

    assert "BatchScan jetstream" in shown
    for text in (shown, events.read_text(encoding="utf-8"), *errors):
        assert "hunter2" not in text


# ------------------------------------------------------------------------------------------------ processes

#: A source of one row, in a module of its own.
MODULE = """
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

class Source(DataSource):
    @classmethod
    def name(cls):
        return "{name}"

    def schema(self):
        return "sequence BIGINT"

    def reader(self, schema):
        return Batch()

    def streamReader(self, schema):
        return Stream()

class Batch(DataSourceReader):
    def read(self, partition):
        yield (1,)

class Stream(DataSourceStreamReader):
    def initialOffset(self):
        return {{"seq": 1}}

    def latestOffset(self, start, limit):
        return {{"seq": 2}}

    def partitions(self, start, end):
        return [InputPartition(0)]

    def read(self, partition):
        yield (1,)
"""
MISSING = "ModuleNotFoundError"


@pytest.fixture
def known(spark, tmp_path, monkeypatch):
    """``known("py-file")`` is the name of a format whose class Spark's processes find, or not, as
    it says.
    """

    def make(way):
        if way == "installed":
            return "jetstream"
        path = tmp_path / f"one{uuid.uuid4().hex}.py"
        path.write_text(MODULE.format(name=path.stem), encoding="utf-8")
        if way == "py-file":
            spark.sparkContext.addPyFile(str(path))
        else:
            monkeypatch.syspath_prepend(tmp_path)
        spark.dataSource.register(importlib.import_module(path.stem).Source)
        return path.stem

    return make


def came(rows):
    """What a query gives, or why it fails: the one word, if that is it."""
    try:
        return rows()
    except PySparkException as error:
        return MISSING if MISSING in str(error) else str(error)


@streams
@trap("4.6", ours=("installed", (1, [1])), py_file=("py-file", (1, MISSING)))
def test_a_streaming_source_is_found_where_it_is_installed(
    spark, broker, tmp_path, known, kind, seen
):
    # A fault of Spark: batches do find py-files. When this fails docs/spark.md must change.
    stream, form, table = new_stream(broker, 1), known(kind), Table()
    given = {**options(broker, stream), "startingOffsets": "earliest"}
    live = spark.readStream.format(form).options(**given).load()

    assert seen == (
        reading(spark, broker, stream, form).load().count(),
        came(lambda: ran(live, table, tmp_path / "c") and table.rows),
    )


@trap("4.7", ours=("installed", 1), on_the_driver=("on the driver", MISSING))
def test_a_class_of_a_module_is_found_where_it_is_installed(spark, broker, known, kind, seen):
    form = known(kind)

    assert seen == came(lambda: reading(spark, broker, new_stream(broker, 1), form).load().count())


def in_this_session(spark):
    return attempts.tried(spark.sparkContext)


def on_a_plain_master(spark):
    settings = [f"{name}={value}" for name, value in SETTINGS.items() if "eventLog" not in name]
    command = [sys.executable, attempts.__file__, "local[2]", *settings]
    return int(
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    )


@trap("4.3", ours=(in_this_session, 4), plain=(on_a_plain_master, 1))
def test_a_task_is_tried_again_only_where_the_master_says_so(spark, kind, seen):
    # What these tests say of tasks that fail they say of a session with four attempts; plain
    # local[2] has one.
    assert seen == kind(spark)


# ------------------------------------------------------------------------------------------------ streaming


@streams
def test_a_second_query_with_another_checkpoint_is_refused_and_the_first_goes_on_n103(
    spark, broker, tmp_path
):
    stream = new_stream(broker, retention="interest")
    how = {
        "startingOffsets": "earliest",
        "releaseMode": "cursor",
        "cursor": "one",
        "releaseOn": "nextPlan",
    }
    stream.create_consumer(durable_name="one", ack_policy="all")
    fill(broker, stream, 30)
    first, second = Table(), Table()
    ran(streaming(spark, broker, stream, **how), first, tmp_path / "first")
    fill(broker, stream, 20)
    with pytest.raises(PySparkException, match="see option takeOver: expected no other query"):
        ran(streaming(spark, broker, stream, **how), second, tmp_path / "second")
    ran(streaming(spark, broker, stream, **how), first, tmp_path / "first")

    assert list(range(1, 51)) == first.rows
    assert [] == second.rows
    assert 0 == stream.info().state.messages


@streams
@trap("4.2", ours=("nextPlan", 0), by_commit=("commit", 200))
def test_the_last_batch_of_a_run_is_never_committed(spark, broker, tmp_path, kind, seen):
    stream = new_stream(broker, 600, retention="workqueue")
    given = {"startingOffsets": "earliest", "maxMessagesPerTrigger": "400", "releaseMode": "purge"}
    table = Table()
    ran(streaming(spark, broker, stream, releaseOn=kind, **given), table, tmp_path / "c")

    assert list(range(1, 601)) == table.rows
    assert seen == stream.info().state.messages


@streams
@trap("4.1", ours=("ours", [11]), naive=("naive", []))
def test_the_initial_offset_is_asked_for_again(spark, broker, tmp_path, eventually, kind, seen):
    from tests.spark.meanwhile import MeanwhileSource  # noqa: PLC0415 - Spark 4.1 has not what it needs

    spark.dataSource.register(MeanwhileSource)
    frame = streaming(spark, broker, new_stream(broker, 10), "meanwhile", reader=kind)
    table = Table()
    query = started(frame, table, tmp_path / "c", processingTime="100 milliseconds")
    try:
        eventually(lambda: 0 in table.batches, within=60)
    finally:
        query.stop()

    assert seen == table.batches[0]


@streams
def test_latest_loses_nothing_between_the_two_calls_of_initial_offset(
    spark, broker, tmp_path, eventually
):
    # 4.1: Spark asks for the initial offset, waits for data, and asks again when it plans the first
    # batch.
    stream = new_stream(broker, 500)
    table = Table()
    query = started(
        streaming(spark, broker, stream), table, tmp_path / "c", processingTime="100 milliseconds"
    )
    try:
        eventually(lambda: query.lastProgress, within=60)
        fill(broker, stream, 500)
        eventually(lambda: len(table.rows) >= 500, within=60)
        # what `reportLatestOffset` says is in the progress, where the lag is read
        eventually(
            lambda: '"seq": 1001' in query.lastProgress["sources"][0]["latestOffset"], within=60
        )
    finally:
        query.stop()

    assert list(range(501, 1001)) == table.rows


@streams
def test_latest_loses_nothing_by_a_crash_in_the_first_batch(spark, broker, tmp_path, eventually):
    stream = new_stream(broker, 100)
    table = Table()
    table.fail_in = {0}
    frame = streaming(spark, broker, stream)
    query = started(frame, table, tmp_path / "c", processingTime="100 milliseconds")
    eventually(lambda: query.lastProgress or not query.isActive, within=60)
    fill(broker, stream, 200)
    with pytest.raises(PySparkException, match="no batch 0"):
        query.awaitTermination(60)
    fill(broker, stream, 100)  # while it is down
    table.fail_in = set()
    ran(frame, table, tmp_path / "c")

    assert list(range(101, 401)) == table.rows


@streams
def test_available_now_ends_though_a_writer_publishes_and_a_restart_goes_on(
    spark, broker, tmp_path
):
    stream = new_stream(broker, 2000)
    frame = streaming(
        spark, broker, stream, startingOffsets="earliest", maxMessagesPerTrigger="900"
    )
    table = Table()
    over = threading.Event()

    def publish():
        with connect(f"nats://{broker.server.host}:{broker.server.port}") as nc:
            while not over.is_set() and stream_of(nc, stream).info().state.last_seq < 40_000:
                if table.batches:
                    fill(nc, stream, 1000)

    writer = threading.Thread(target=publish)
    writer.start()
    try:
        query = ran(frame, table, tmp_path / "c")
    finally:
        over.set()
        writer.join()
    assert list(range(1, 2001)) == table.rows
    assert stream.info().state.last_seq > 2000
    assert [900, 900, 200] == [len(rows) for _, rows in sorted(table.batches.items())]
    assert [900, 900, 200] == [
        rows for each in query.recentProgress if (rows := each["numInputRows"])
    ]
    ran(streaming(spark, broker, stream, startingOffsets="earliest"), table, tmp_path / "c")
    assert list(range(1, stream.info().state.last_seq + 1)) == table.rows


@streams
@pytest.mark.parametrize("kind", ["interest", "workqueue"])
def test_a_stream_that_is_released_is_empty_behind_a_run(spark, broker, tmp_path, kind):
    stream = new_stream(broker, retention=kind)
    how = (
        {"releaseMode": "cursor", "cursor": "spark"}
        if kind == "interest"
        else {"releaseMode": "purge"}
    )
    frame = streaming(
        spark,
        broker,
        stream,
        startingOffsets="earliest",
        maxMessagesPerTrigger="400",
        releaseOn="nextPlan",
        **how,
    )
    table = Table()
    if kind == "interest":
        stream.create_consumer(durable_name="spark", ack_policy="all")
    fill(broker, stream, 1000)
    table.fail_in = {1}
    with pytest.raises(PySparkException, match="no batch 1"):
        ran(frame, table, tmp_path / "c")
    assert 401 == stream.info().state.first_seq  # what was not committed is kept, all of it
    table.fail_in = set()
    ran(frame, table, tmp_path / "c")

    assert list(range(1, 1001)) == table.rows
    assert 0 == stream.info().state.messages


@streams
def test_a_query_that_is_stopped_in_mid_read_leaves_no_consumer_behind(
    spark, broker, tmp_path, eventually
):
    stream = new_stream(broker, 20_000)

    @F.udf(StringType())
    def slow(payload):
        time.sleep(0.001)
        return "x"

    frame = streaming(spark, broker, stream, startingOffsets="earliest").select(
        slow("payload"), "sequence"
    )
    query = started(frame, Table(), tmp_path / "c", processingTime="1 second")
    eventually(lambda: consumers(stream) > 0, within=60)
    query.stop()

    assert eventually(lambda: consumers(stream) == 0, within=70)  # the server's own net is 60 s


# ------------------------------------------------------------------------------------------------ writing


def test_what_is_read_can_be_written(spark, broker):
    source, target = new_stream(broker, 2000), new_stream(broker)
    frame = reading(spark, broker, source, minPartitions="2").load()
    (
        frame.select(
            F.lit(f"{target.name}.copy").alias("subject"),
            "payload",
            "headers",
            F.concat_ws("-", "stream", "sequence").alias("msg_id"),
        )
        .write.format("jetstream")
        .options(**options(broker, target))
        .mode("append")
        .save()
    )

    assert 2000 == target.info().state.messages
    assert {f"{source.name}-{seq}" for seq in range(1, 2001)} == set(ids_in(target))
    written = reading(spark, broker, target).load()
    assert [
        sorted(row.payload for row in each.select("payload").collect()) for each in (written, frame)
    ] == [sorted(b"%d" % number for number in range(2000))] * 2


@pytest.mark.parametrize("ids", [True, False])
def test_a_task_that_is_killed_while_it_writes_stores_each_row_once_if_it_has_an_id(
    spark, broker, tmp_path, ids
):
    target = new_stream(broker)
    mark = tmp_path / "died"

    where, name = f"nats://{broker.server.host}:{broker.server.port}", target.name

    def die_once(frames):
        """The last stage before the sink: its process is gone as soon as some rows are stored, in
        the first attempt.
        """
        for number, frame in enumerate(frames):
            yield frame
            if number >= 3 and not mark.exists():
                with connect(where) as nc:
                    for _ in range(3000):
                        if nc.jetstream().stream(name).info().state.messages:
                            break
                        time.sleep(0.01)
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    try:
        frame = spark.range(0, 5000, 1, 1).select(
            F.lit(f"{target.name}.a").alias("subject"),
            F.lpad(F.col("id").cast("string"), 300, "x").cast("binary").alias("payload"),
            F.col("id").cast("string").alias("msg_id"),
        )
        rows = frame.mapInPandas(die_once, frame.schema)
        rows = rows if ids else rows.drop("msg_id")
        rows.write.format("jetstream").options(**options(broker, target)).mode("append").save()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")

    assert mark.exists()
    stored = target.info().state.messages
    if ids:
        assert 5000 == stored
        assert {str(number) for number in range(5000)} == set(ids_in(target))
    else:
        assert 5000 < stored


@streams
@pytest.mark.parametrize("ids", [True, False])
def test_a_micro_batch_that_is_written_again_is_a_duplicate_if_its_rows_have_ids(
    spark, broker, tmp_path, ids
):
    source, target = new_stream(broker, 1000), new_stream(broker)
    frame = streaming(spark, broker, source, startingOffsets="earliest", minPartitions="2")
    rows = frame.select(F.lit(f"{target.name}.a").alias("subject"), "payload")

    def run():
        query = (
            rows.writeStream.format("jetstream")
            .options(**options(broker, target, autoMsgId=str(ids).lower()))
            .option("checkpointLocation", str(tmp_path / "c"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(90)

    run()
    assert 1000 == target.info().state.messages
    for path in (tmp_path / "c" / "commits").iterdir():
        path.unlink()  # as if the driver had died before it logged the commit
    run()

    assert (1000 if ids else 2000) == target.info().state.messages
    assert len(set(ids_in(target))) == (1000 if ids else 1)


# ------------------------------------------------------------------------------------------------ documentation


@streams
def test_each_snippet_of_the_page_runs_and_prints_what_it_says(spark, start_server, tmp_path):
    check_page(PAGE, start_server, tmp_path)
