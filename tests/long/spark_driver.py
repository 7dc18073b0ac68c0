"""A Spark driver of its own, to be killed: one streaming query from a stream into Parquet files, to
its end.

    python tests/long/spark_driver.py '{"hook": ..., "out": ..., "checkpoint": ..., "options":
    {...}, "conf": {...}}'

The hook is a folder. The first task of batch n that has read something writes ``planned-<n>``
there: the end of the batch is logged then, and nothing of it is committed. While there is a file
``hold-<n>`` the task waits, so that whoever wrote it can kill this process for sure in that very
state. A file ``die-<k>`` is taken by the first task that sees it, which kills its own process.

At the end it gives one JSON line: how many rows the files hold, how many different sequences, and
their sum.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

#: Longest wait of a task that is held.
HOLD = 60.0


def hooked(folder: str):
    """A stage that does what the hook says; made here so that it travels by value."""

    def stage(batches):
        hook = Path(folder)
        number = TaskContext.get().getLocalProperty("streaming.sql.batchId")
        for batch in batches:
            (hook / f"planned-{number}").touch()
            until = time.monotonic() + HOLD
            while (hook / f"hold-{number}").exists() and time.monotonic() < until:
                time.sleep(0.01)
            for mark in sorted(hook.glob("die-*")):
                try:
                    mark.rename(mark.with_name(f"died-{mark.name.partition('-')[2]}"))
                except FileNotFoundError:  # another task was faster
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return stage


def main(words: dict[str, dict[str, str]]) -> None:
    """Run the query to its end."""
    builder = SparkSession.builder.master(str(words.get("master", "local[2,4]"))).appName(
        "to be killed"
    )
    for name, value in words.get("conf", {}).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    reader = spark.readStream.format("jetstream")
    for name, value in words["options"].items():
        reader = reader.option(name, value)
    frame = reader.schema("sequence BIGINT, payload BINARY").load()
    out = str(words["out"])
    query = (
        frame.mapInArrow(hooked(str(words["hook"])), frame.schema)
        .writeStream.format("parquet")
        .option("path", out)
        .option("checkpointLocation", str(words["checkpoint"]))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seen = spark.read.parquet(out).agg(
        F.count("*").alias("rows"),
        F.countDistinct("sequence").alias("distinct"),
        F.sum("sequence").alias("sum"),
    )
    print(json.dumps(seen.first().asDict()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
