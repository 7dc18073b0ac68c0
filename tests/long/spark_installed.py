"""The source far away from its repository: on an installed wheel, by value, and on py-files, each
on a cluster of processes.

    python tests/long/spark_installed.py                     all forms
    python tests/long/spark_installed.py --forms wheel       the one that users have

Each form runs a driver in a folder of its own, that holds nothing of jsproto, on
``local-cluster[2,1,1024]``: executors are processes of their own.

- *wheel*: the wheel of this tree is installed into a folder on PYTHONPATH; the format is found by
  its name; batch, stream and sink run.
- *by-value*: the driver alone can import the wheel, no other process can, of those beside the
  driver neither; `pyspark_jsproto.carry` does the rest.
- *py-files*: everything is in one zip given to ``addPyFile``. Batch works; the streaming source
  cannot import it, which is a fault of Spark 4.2 and 4.3 (trap 4.6); with `carry` it works too.
  This form fails when the fault is repaired: then the documentation must change.

Gives one JSON line for each form; the exit code is 1 if one does not behave as said here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "jsproto": ROOT,
    "jsproto_io": ROOT / "adapters",
    "jsproto_spark": ROOT / "adapters",
    "pyspark_jsproto": ROOT / "adapters",
}
MESSAGES = 3000

#: What the driver does; it stands alone.
DRIVER = """
import json, os, sys, tempfile
from importlib.util import find_spec
from pyspark.sql import SparkSession

form, url, material = sys.argv[1:]
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", "")).getOrCreate()
)
name = "jetstream"
told = {"form": form, "where": os.getcwd()}
told["executors have it"] = spark.sparkContext.range(2, numSlices=2).map(lambda _: find_spec("jsproto") is not None).collect()
if form == "by-value":
    sys.path.append(material)
    from pyspark_jsproto import carry
    name = carry(spark)
if form == "py-files":
    spark.sparkContext.addPyFile(material)
    from jsproto_spark.source import JetStreamSource
    spark.dataSource.register(JetStreamSource)
options = {"servers": url, "stream": "INSTALLED", "minPartitions": "4"}

def tried(what, run):
    try:
        told[what] = run()
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "Error" in line]
        told[what] = (lines or [type(error).__name__])[-1][-200:]

def batch():
    return spark.read.format(name).options(**options).load().count()

def ran(writer):
    query = writer.option("checkpointLocation", tempfile.mkdtemp()).trigger(availableNow=True).start()
    query.awaitTermination()

def stream():
    rows = []
    frame = spark.readStream.format(name).options(**options, startingOffsets="earliest").load()
    ran(frame.writeStream.foreachBatch(lambda batch, number: rows.extend(batch.select("sequence").collect())))
    return len(rows)

def stored():
    return spark.read.format(name).options(servers=url, stream="SINK").load().count()

def sink():
    rows = spark.range(0, 1000, 1, 4).selectExpr("'sink.a' AS subject", "CAST(id AS STRING) AS payload", "CAST(id AS STRING) AS msg_id")
    before = stored()
    rows.write.format(name).options(servers=url, stream="SINK").mode("append").save()
    return stored() - before

def stream_sink():
    before = stored()
    rows = spark.readStream.format(name).options(**options, startingOffsets="earliest").load().selectExpr("'sink.b' AS subject", "payload")
    ran(rows.writeStream.format(name).options(servers=url, stream="SINK"))
    return stored() - before

tried("batch", batch)
tried("stream", stream)
tried("sink", sink)
if form == "py-files":
    from pyspark_jsproto import carry
    name = carry(spark)
    tried("stream with carry", stream)
tried("stream sink", stream_sink)
print(json.dumps(told), flush=True)
spark.stop()
"""


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    """Its output; what it says otherwise if it fails."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("COVERAGE_", "PYTHON"))
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(
            f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def material(form: str, folder: Path) -> Path:
    """What is given to a form: a folder with the installed wheel, or a zip with everything."""
    if form != "py-files":
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT, cwd=folder)
        wheel = next((folder / "dist").glob("*.whl"))
        site = folder / "site"
        run(
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            site,
            wheel,
            cwd=folder,
        )
        return site
    copies = folder / "copies"
    for package, root in PACKAGES.items():
        shutil.copytree(
            root / package, copies / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return Path(shutil.make_archive(str(folder / "everything"), "zip", copies))


def without_ours(folder: Path) -> Path:
    """An interpreter path that has the libraries and nothing of jsproto: the environment's
    packages, linked one by one.
    """
    site = folder / "libraries"
    site.mkdir()
    for place in map(Path, sys.path):
        if place.name == "site-packages":
            for each in place.iterdir():
                if (
                    "jsproto" not in each.name
                    and not each.name.endswith(".pth")
                    and not (site / each.name).exists()
                ):
                    (site / each.name).symlink_to(each)
    return site


def told(form: str, url: str, folder: Path) -> dict[str, object]:
    """What the driver of a form says."""
    folder.mkdir()
    given = material(form, folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    script = elsewhere / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")
    path = [str(without_ours(folder)), *([str(given)] if form == "wheel" else [])]
    # Neither -I nor the editable install: only what stands on this path can be imported.
    bare = (
        shutil.which("python3", path=str(Path(sys.executable).resolve().parent)) or sys.executable
    )
    said = run(
        bare,
        script,
        form,
        url,
        str(given),
        cwd=elsewhere,
        PYTHONPATH=os.pathsep.join(path),
        PYSPARK_PYTHON=bare,
    )
    return json.loads(said.splitlines()[-1])


WORKS = {"batch": MESSAGES, "stream": MESSAGES, "sink": 1000, "stream sink": MESSAGES}
EXPECTED = {
    "wheel": {"executors have it": [True, True], **WORKS},
    "by-value": {"executors have it": [False, False], **WORKS},
    "py-files": {**WORKS, "stream": "ModuleNotFoundError", "stream with carry": MESSAGES},
}


def wrong(said: dict[str, object]) -> dict[str, object]:
    """What is not as expected."""
    return {
        what: said.get(what)
        for what, value in EXPECTED[str(said["form"])].items()
        if said.get(what) != value and not (isinstance(value, str) and value in str(said.get(what)))
    }


def main() -> int:
    """The command."""
    sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]
    from jsproto_io._testing.nats_server import NatsServer  # noqa: PLC0415 - only here, the drivers have none of it
    from jsproto_io.blocking import connect  # noqa: PLC0415 - the same

    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--forms", nargs="+", choices=sorted(EXPECTED), default=list(EXPECTED))
    forms = words.parse_args().forms
    good = True
    with tempfile.TemporaryDirectory() as folder, NatsServer() as server, connect(server.url) as nc:
        nc.jetstream().create_stream(name="INSTALLED", subjects=["installed"])
        nc.jetstream().create_stream(name="SINK", subjects=["sink.>"])
        with nc.jetstream().publish_window(max_pending=2000, results=False) as window:
            for number in range(MESSAGES):
                window.put(("installed", b"%d" % number))
        for form in forms:
            said = told(form, server.url, Path(folder) / form)
            said["wrong"] = wrong(said)
            good = good and not said["wrong"]
            print(json.dumps(said), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
