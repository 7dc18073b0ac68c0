"""A corpus on a real Spark: tables that do not depend on partitions, two versions of the core, and
traces that are still being recorded.
"""

import shutil
from pathlib import Path

import pytest

import jsproto
from jsproto_spark.corpus import differing, judge, load
from jsproto_spark.corpus.live import STORE, watch

from .corpora import CORPUS, DEAF, TWICE, change_one_line

pytestmark = [pytest.mark.live, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The corpus as files."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in CORPUS.items():
        (folder / f"{name}.trace").write_bytes(text)
    (folder / "notes.txt").write_text("no trace", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def corpus(spark, folder, tmp_path_factory):
    """The corpus as Parquet, one row a trace."""
    table = str(tmp_path_factory.mktemp("table") / "corpus.parquet")
    load(spark, str(folder)).write.parquet(table)
    return spark.read.parquet(table)


def names(rows):
    return sorted({Path(row["trace_id"]).stem for row in rows})


def test_planted_faults_are_found_and_partitions_change_nothing(corpus):
    ones, eights = (
        judge(corpus.repartition(count)).whole.orderBy("trace_id").collect() for count in (1, 8)
    )

    assert ones == eights
    assert len(ones) == len(CORPUS)
    assert (
        names(row for row in ones if any(each["rule"] == "ack-twice" for each in row["violations"]))
        == TWICE
    )
    assert (
        names(
            row
            for row in ones
            if any(each["rule"] == "ping-unanswered" for each in row["violations"])
        )
        == DEAF
    )
    assert names(row for row in ones if row["violations"]) == sorted([*TWICE, *DEAF])


def test_each_table_is_a_table(corpus):
    judged = judge(corpus)
    judged = type(judged)(judged.whole.cache())

    rules = {
        row["rule"]: row["count"] for row in judged.violations.groupBy("rule").count().collect()
    }
    assert rules == {"ack-twice": len(TWICE), "ping-unanswered": len(DEAF)}
    pulls = judged.pulls.selectExpr("sum(requested) as asked", "sum(delivered) as came").first()
    assert pulls["asked"] == pulls["came"] == sum(3 + number % 5 for number in range(1, 41))
    assert judged.acks.selectExpr("sum(ack)").first()[0] == pulls["came"] + len(TWICE)
    assert judged.replay.count() == len(CORPUS)
    assert judged.statuses.count() == 0
    assert judged.statuses.columns == [
        "trace_id",
        "code",
        "description",
        "client",
        "version",
        "hour",
        "n",
    ]


def test_two_versions_of_the_core_differ_in_the_traces_that_a_change_concerns(corpus, tmp_path):
    shutil.copytree(
        Path(jsproto.__file__).parent,
        tmp_path / "jsproto",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    ours, theirs = judge(corpus), judge(corpus.coalesce(1), core=str(tmp_path))
    assert differing(ours, theirs).count() == 0
    chosen = corpus.where(
        "trace_id is not null and truncated = false"
    )  # whose columns cannot be NULL
    assert differing(judge(chosen), judge(chosen, core=str(tmp_path))).count() == 0

    change_one_line(tmp_path)

    assert names(differing(ours, theirs).collect()) == TWICE


def test_traces_are_judged_while_they_come_in_and_after_a_restart(
    spark, broker, nats_server, tmp_path
):
    js = broker.jetstream()
    stream = js.create_stream(name="TRACES", subjects=["traces.*"], storage="memory")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORE)

    def publish(part):
        for name in ("trace-005", "trace-007", "trace-008"):
            text = CORPUS[name]
            half = len(text) * 2 // 3
            js.publish(f"traces.{name}", text[:half] if part == 0 else text[half:])

    def run():
        pieces = (
            spark.readStream.format("jetstream")
            .option("servers", nats_server.url)
            .option("stream", "TRACES")
            .option("startingOffsets", "earliest")
            .load()
        )
        query = (
            watch(pieces)
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "found"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(90)

    try:
        publish(0)
        run()
        assert spark.read.parquet(str(tmp_path / "found")).count() == 0
        publish(1)
        run()
        found = {
            (row["trace_id"], row["rule"])
            for row in spark.read.parquet(str(tmp_path / "found")).collect()
        }
        assert found == {("traces.trace-005", "ack-twice"), ("traces.trace-007", "ping-unanswered")}
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
        stream.delete()
