"""Streams with messages for tests of the source, and tasks that are read as Spark reads them."""

from __future__ import annotations

import uuid

import pyspark
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

#: Sources in Python have limits, and so streams, since Spark 4.2; `tests/long/spark_versions.py`
#: runs these tests on older ones too.
STREAMS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)
#: Only what tests of ranges look at.
SEQUENCES = StructType([StructField("sequence", LongType())])
PAYLOADS = StructType([StructField("sequence", LongType()), StructField("payload", BinaryType())])


def new_stream(nc, messages=0, **config):
    """A stream of its own name with so many messages of a few bytes; the subject is ``<name>.<k>``
    with k from 0 to 2.
    """
    name = "T" + uuid.uuid4().hex[:12]
    stream = nc.jetstream().create_stream(
        **{
            "name": name,
            "subjects": [f"{name}.>"],
            "storage": "memory",
            "allow_direct": True,
            **config,
        }
    )
    fill(nc, stream, messages)
    return stream


def fill(nc, stream, messages, subject=None):
    """Publish so many messages more."""
    with nc.jetstream().publish_window(max_pending=2000, results=False) as window:
        for number in range(messages):
            window.put((subject or f"{stream.name}.{number % 3}", b"%d" % number))


def options(nc, stream, /, **given):
    return {"servers": f"nats://{nc.server.host}:{nc.server.port}", "stream": stream.name, **given}


def read(reader, parts):
    """The sequences that the tasks of a plan give."""
    return [
        seq
        for part in parts or [InputPartition(None)]
        for batch in reader.read(part)
        for seq in batch.column("sequence").to_pylist()
    ]
