"""Stop a streaming query in the middle and start it again; every message arrives once.

    python docs/examples/spark_restart.py
    python docs/examples/spark_restart.py --messages 200000

The program starts nats-server (extra ``demo``), fills a stream, and runs a query from the stream
into Parquet files. It stops the query halfway, publishes half as many messages again, and starts
the same query, which continues from its checkpoint.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.blocking import connect


def fill(url: str, first: int, messages: int) -> None:
    """Publish messages that are numbered from ``first`` on."""
    with (
        connect(url) as nc,
        nc.jetstream().publish_window(max_pending=4000, results=False) as window,
    ):
        for number in range(first, first + messages):
            window.put((f"readings.{number % 3}", b"%d" % number))


def started(spark: SparkSession, url: str, folder: Path, **trigger: object):
    """Start the query; called again, it continues from its checkpoint."""
    readings = (
        spark.readStream.format("jetstream")
        .options(
            servers=url, stream="READINGS", startingOffsets="earliest", maxMessagesPerTrigger="5000"
        )
        .load()
    )
    return (
        readings.select(
            "sequence", "subject", F.col("payload").cast("string").cast("int").alias("number")
        )
        .writeStream.format("parquet")
        .option("path", str(folder / "readings"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**trigger)
        .start()
    )


def counted(spark: SparkSession, folder: Path) -> tuple[int, int, int]:
    """Count rows and distinct sequences in the files, and sum up the numbers."""
    seen = spark.read.parquet(str(folder / "readings")).agg(
        F.count("*"), F.countDistinct("sequence"), F.sum("number")
    )
    return tuple(seen.first())


def main(messages: int) -> int:
    """Fill the stream, run, stop, fill, run again, count."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    with tempfile.TemporaryDirectory() as place, NatsServer() as server:
        folder = Path(place)
        with connect(server.url) as nc:
            nc.jetstream().create_stream(name="READINGS", subjects=["readings.*"])
        fill(server.url, 0, messages)
        query = started(spark, server.url, folder, processingTime="0 seconds")
        while query.isActive and not (
            query.lastProgress and query.lastProgress["sink"]["numOutputRows"]
        ):
            time.sleep(0.05)
        query.stop()
        print(f"stopped behind {counted(spark, folder)[0]} of {messages} messages")
        fill(server.url, messages, messages // 2)
        started(spark, server.url, folder, availableNow=True).awaitTermination()
        rows, distinct, total = counted(spark, folder)
    everything = messages + messages // 2
    print(f"{rows} rows, {distinct} different, of {everything} messages; sum {total}")
    spark.stop()
    return 0 if (rows, distinct, total) == (everything, everything, sum(range(everything))) else 1


if __name__ == "__main__":
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--messages", type=int, default=20_000)
    sys.exit(main(words.parse_args().messages))
