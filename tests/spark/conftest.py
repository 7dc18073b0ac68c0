"""One Spark session for all tests that need one, and streams with messages on a server of their
own.

A session takes seven seconds to start and half a gigabyte, so the files that ask for it are run by
one process (`xdist_group` would need another way to share the work; a file is one piece of work, so
they are few).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from jsproto_io.blocking import connect

ADAPTERS = Path(__file__).resolve().parent.parent.parent / "adapters"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Code that runs for seconds is compiled quickly and not well: half of the time of the tests was
    # the JVM's second compiler.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "20s",
    "spark.log.level": "ERROR",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
#: Workers know it from the session's environment.
PASSWORD_VARIABLE, PASSWORD = "JSPROTO_SPARK_PASSWORD", "hunter2-of-the-tests"


def java_or_skip() -> None:
    """Spark runs on Java; without one there is nothing to test."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        pytest.skip(
            "Spark needs Java 17 or newer: apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
        )


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session with two cores and three more attempts for each task."""
    java_or_skip()
    sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    path = [
        str(ADAPTERS),
        str(ADAPTERS.parent),
        *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
    ]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path))
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    folder = tmp_path_factory.mktemp("spark")
    events = folder / "events"
    events.mkdir()
    builder = sql.SparkSession.builder.master("local[2,4]").appName("jsproto tests")
    places = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.eventLog.dir": events.as_uri(),
    }
    for name, value in {**SETTINGS, **places}.items():
        builder = builder.config(name, value)
    with contextlib.chdir(folder):  # where relative paths of a query lie, and no module of ours
        handler = signal.getsignal(signal.SIGINT)
        session = builder.getOrCreate()
    signal.signal(
        signal.SIGINT, handler
    )  # Spark's own raises wherever it is, which others test for
    yield session
    session.stop()
    del os.environ[PASSWORD_VARIABLE]
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def broker(nats_server):
    """A client of the server of the whole run."""
    with connect(nats_server.url) as nc:
        yield nc
