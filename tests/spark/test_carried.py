"""The source that brings its code: in processes that have nothing of jsproto it plans, reads and
writes as everywhere.
"""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import BinaryType, StructField, StructType

import pyspark_jsproto
from jsproto_spark import code_shipping
from jsproto_spark.options import Use, settings_of
from jsproto_spark.read.batch import BatchReader
from jsproto_spark.source import JetStreamSource
from tests.spark.feeding import SEQUENCES, STREAMS, new_stream, options

ROWS = StructType([StructField("payload", BinaryType())])

#: A process beside the driver: it is given the source's class and its options, plans, and gives on
#: what others need.
PLANNER = """
import pickle, sys
from importlib.util import find_spec
assert not any(map(find_spec, ("jsproto", "jsproto_io", "jsproto_spark", "pyspark_jsproto", "attr")))
kind, (schema, rows, options) = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)
source = kind({**options, "startingOffsets": "earliest"})
assert "sequence" in source.schema()
reader = source.reader(schema)
given = source, schema, reader, reader.partitions(), kind({**options, "subject": options["stream"] + ".new"}).writer(rows, False)
from pyspark import cloudpickle
cloudpickle.dump(given, sys.stdout.buffer)
"""
#: An executor, and the process of a streaming query too.
WORKER = """
import pickle, sys
from importlib.util import find_spec
assert not any(map(find_spec, ("jsproto", "jsproto_io", "jsproto_spark", "pyspark_jsproto", "attr")))
source, schema, reader, parts, writer = pickle.load(sys.stdin.buffer)
import pyarrow as pa
seen = [seq for part in parts for batch in reader.read(part) for seq in batch.column(0).to_pylist()]
written = writer.write(iter([pa.record_batch({"payload": [b"x", b"y"]})]))
if sys.argv[1:]:
    query = source.streamReader(schema)
    begin = query.initialOffset()
    end = query.latestOffset(begin, query.getDefaultReadLimit())
    seen += [seq for part in query.partitions(begin, end) for batch in query.read(part) for seq in batch.column(0).to_pylist()]
from pyspark import cloudpickle
cloudpickle.dump((seen, written), sys.stdout.buffer)
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """What runs Python where Spark and Arrow can be imported, and neither jsproto nor attrs."""
    folder = tmp_path_factory.mktemp("libraries")
    for each in (
        Path(pyspark.__file__).parent.parent,
        Path(find_spec("pyarrow").origin).parent.parent,
    ):
        for path in each.iterdir():
            if "jsproto" not in path.name and not path.name.startswith("attr"):
                link = folder / path.name
                link.exists() or link.symlink_to(path)

    def run(code, given, *words):
        done = subprocess.run(
            [sys.executable, "-S", "-W", "ignore", "-c", code, *words],
            input=given,
            capture_output=True,
            check=False,
            timeout=120,
            cwd=folder,
            env={"PYTHONPATH": str(folder)},
        )
        assert not done.returncode, done.stderr.decode()
        return done.stdout

    return run


#: An executor that has no jsproto and was given none.
FOREIGN = """
import pickle, sys
try:
    pickle.load(sys.stdin.buffer)
except ModuleNotFoundError as error:
    print(error.name, error, error.__cause__, error.__suppress_context__)
"""


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    monkeypatch.setattr(code_shipping, "given", None)


@pytest.fixture
def given(monkeypatch):
    """The code, as in a process that was given it."""
    code = code_shipping.Code(b"what is packed")
    monkeypatch.setattr(code_shipping, "given", code)
    return code


@pytest.fixture(scope="module")
def kind():
    """The class that a session is given, pickled."""
    found = []
    session = SimpleNamespace(
        dataSource=SimpleNamespace(register=lambda kind: found.append(cloudpickle.dumps(kind)))
    )
    assert "jetstream-carried" == pyspark_jsproto.carry(session)
    return found[0]


@pytest.mark.live
def test_processes_without_jsproto_plan_read_and_write_with_the_code_that_comes_with_the_source(
    broker, bare, kind
):
    stream = new_stream(broker, 3)
    words = ["stream"] if STREAMS else []
    planned = bare(PLANNER, kind + pickle.dumps((SEQUENCES, ROWS, options(broker, stream))))
    seen, written = pickle.loads(bare(WORKER, planned, *words))

    assert [1, 2, 3, *([1, 2, 3, 4, 5] if STREAMS else [])] == seen
    assert (2, 0, 5) == (written.rows, written.duplicates, written.last)
    assert 5 == stream.info().state.messages


@pytest.mark.parametrize("use", ["reader", "writer"])
def test_a_process_without_jsproto_says_what_can_be_done(broker, bare, use):
    source = JetStreamSource(
        options(broker, new_stream(broker, 1), **({"subject": "a"} if use == "writer" else {}))
    )
    made = source.reader(SEQUENCES) if use == "reader" else source.writer(ROWS, overwrite=False)
    said = bare(FOREIGN, cloudpickle.dumps(made)).decode()

    assert said.startswith("jsproto")
    for word in (
        "PYSPARK_PYTHON",
        "pyspark_jsproto.carry(spark)",
        "--py-files",
        "PYSPARK_DRIVER_PYTHON",
        sys.executable,
    ):
        assert word in said
    assert type(pickle.loads(cloudpickle.dumps(made))) is type(made)
    assert type(pickle.loads(pickle.dumps(made))) is type(made)


def test_what_a_session_is_given_leaves_the_other_source_as_it_is(kind):
    assert "jetstream-carried" == pickle.loads(kind).name()
    assert len(cloudpickle.dumps(pyspark_jsproto.DefaultSource)) < 100


def test_it_stays_below_what_spark_would_send_in_another_way(kind):
    # Spark broadcasts a function of more than a megabyte, which not every process of a source can
    # receive.
    assert len(kind) < 2**20


def imported(path, text):
    """The modules of our packages that a module imports, wherever in it; not what only type
    checkers import.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        yield from (name for name in names if name.partition(".")[0] in code_shipping.PACKAGES)


def test_whatever_is_packed_finds_what_it_imports():
    texts = code_shipping.json.loads(code_shipping.bz2.decompress(code_shipping.packed().packed))
    modules = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in texts
    }
    missing = {
        (path, name)
        for path, text in texts.items()
        for name in imported(path, text)
        if name not in modules and find_spec_or_none(name) is not None
    }

    assert not missing


def find_spec_or_none(name):
    """The module of this name, ``None`` if it is a name within one."""
    try:
        return find_spec(name)
    except ModuleNotFoundError:
        return None


def test_the_page_says_how_large_the_code_is(kind):
    page = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    [said] = re.findall(r"about (\d+) KiB of compressed code", page)
    [also] = re.findall(
        r"about (\d+) KiB of compressed code", " ".join(pyspark_jsproto.carry.__doc__.split())
    )

    assert said == also
    assert 0.9 < len(kind) / 1024 / int(said) < 1.1


def test_a_reader_takes_the_code_with_it_where_it_came_with_code_and_nowhere_else(
    given, monkeypatch
):
    reader = BatchReader(settings_of({"stream": "S"}, Use.BATCH_READ), SEQUENCES)
    heavy = cloudpickle.dumps(reader)
    again = pickle.loads(heavy)
    monkeypatch.setattr(code_shipping, "given", None)
    light = cloudpickle.dumps(reader)

    assert given.packed in heavy
    assert heavy.index(given.packed) < heavy.index(b"BatchReader")
    assert type(again) is BatchReader
    assert again.reading.settings == reader.reading.settings
    assert given.packed not in light


def test_where_jsproto_is_installed_that_one_is_used(given, monkeypatch):
    path = list(sys.meta_path)
    monkeypatch.setattr(code_shipping, "given", None)
    code = pickle.loads(cloudpickle.dumps(given))

    assert path == sys.meta_path
    assert code is code_shipping.given
    assert code.packed == given.packed
    assert code_shipping.opened(b"another") is code


def test_what_is_packed_is_found_and_shows_its_lines(monkeypatch):
    texts = {
        "p/__init__.py": "from p import q\n",
        "p/q.py": "def fail():\n    raise KeyError('here')\n",
    }
    packed = code_shipping.bz2.compress(code_shipping.json.dumps(texts).encode())
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, code_shipping.PickledCode(packed)])
    for name in ("p", "p.q"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import p  # noqa: PLC0415 - it is nowhere else

    assert find_spec("p.nothing") is None
    with pytest.raises(KeyError) as caught:
        p.q.fail()
    assert "raise KeyError('here')" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert "p/q.py" == p.q.__file__
