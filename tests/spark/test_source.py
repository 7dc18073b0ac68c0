"""The data source by its name: what Spark finds, what it pays for that, and what it gets for each
use.
"""

import subprocess
import sys

import pytest
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import BinaryType, StructField, StructType

import pyspark_jsproto
from jsproto_spark import source
from jsproto_spark.errors import InvalidOption, Unreadable
from jsproto_spark.read.batch import BatchReader, PushdownReader
from jsproto_spark.write.writer import BatchWriter, StreamWriter
from tests.spark.feeding import SEQUENCES, new_stream, options

ROWS = StructType([StructField("payload", BinaryType())])


def made(**given):
    return pyspark_jsproto.DefaultSource({"stream": "S", **given})


def test_it_is_what_spark_looks_for():
    assert issubclass(pyspark_jsproto.DefaultSource, DataSource)
    assert "jetstream" == pyspark_jsproto.DefaultSource.name() == source.JetStreamSource.name()


def test_a_session_that_does_not_use_it_imports_nothing_of_ours():
    code = "import sys, pyspark_jsproto; print([name for name in sys.modules if name.split('.')[0] in ('jsproto', 'jsproto_io', 'pyarrow')])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert "[]" == done.stdout.strip()


def test_without_a_schema_the_columns_follow_the_options():
    assert "headers map<string,array<string>>, stream string" in made().schema()
    assert "headers array<struct<name:string,value:string>>" in made(headersFormat="array").schema()
    assert "headers" not in made(headersFormat="none").schema()
    assert "headers" not in made(includeHeaders="false").schema()


def test_what_is_wrong_with_an_option_is_said_when_it_is_made_and_the_rest_with_its_use():
    with pytest.raises(InvalidOption, match="'foo'"):
        made(foo="1")
    with pytest.raises(InvalidOption, match="option window with batch write, stream write"):
        made(window="5").reader(SEQUENCES)


def test_each_use_has_its_reader_and_a_plan_opens_nothing():
    assert type(made().reader(SEQUENCES)) is BatchReader
    assert type(made(pushdown="true").reader(SEQUENCES)) is PushdownReader


def test_an_old_spark_reads_no_streams_and_says_so(monkeypatch):
    monkeypatch.setattr(source, "StreamReader", None)
    with pytest.raises(
        Unreadable, match=r"stream 'S': expected Spark 4\.2 or newer for a stream read"
    ):
        made().streamReader(SEQUENCES)


@pytest.mark.live
def test_each_write_has_its_writer(broker):
    found = pyspark_jsproto.DefaultSource(options(broker, new_stream(broker), subject="a"))

    assert type(found.writer(ROWS, overwrite=False)) is BatchWriter
    assert type(found.streamWriter(ROWS, overwrite=False)) is StreamWriter


@pytest.mark.skipif(source.StreamReader is None, reason="streams need Spark 4.2")
def test_a_stream_has_its_reader():
    assert type(made().streamReader(SEQUENCES)) is source.StreamReader
