"""Judges traces with another version of the core, in a separate process.

Theory. One interpreter cannot load two versions of a package. So a task starts a second Python with
the other version first in its path. It sends batches of traces to its standard input, and reads
batches of results from its standard output, both as Arrow. This file is also the program of the
second process.

A pipe ends in the same way whether the writer finished or failed. So the end counts only if all
else agrees: the writing thread has no error, the process ended with 0, and there is one row for
each trace.

    python -m jsproto_spark.corpus.elsewhere < traces.arrows > judged.arrows
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import IO, cast

import pyarrow as pa

from jsproto_spark.corpus import batches, rows

_ADAPTERS = Path(__file__).resolve().parent.parent.parent


def judged_batches(traces: Iterable[pa.RecordBatch], core: str) -> Iterator[pa.RecordBatch]:
    """Judge traces with the ``jsproto`` below the folder ``core``.

    Raises:
        RuntimeError: there is none, or it did not judge every trace; the message contains the last
            line of its error output.
        Exception: errors from reading the traces.
    """
    if not (Path(core) / "jsproto" / "__init__.py").is_file():
        raise RuntimeError(f"expected a folder with the package jsproto, got {core}")
    path = os.pathsep.join([core, str(_ADAPTERS), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "jsproto_spark.corpus.elsewhere",
        ],  # -P: do not import from the working directory
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as other:
        said: list[bytes] = []
        giving = _Giving(cast("IO[bytes]", other.stdin), traces)
        hearing = Thread(target=said.extend, args=(other.stderr,), daemon=True)
        giving.start()
        hearing.start()
        came = 0
        wrong: Exception | None = None
        out = cast("IO[bytes]", other.stdout)
        try:
            for batch in pa.ipc.open_stream(out):
                came += batch.num_rows
                yield batch
        except pa.ArrowInvalid as error:
            wrong = error
            out.close()  # the process must not wait for its output to be read
        except BaseException:
            other.kill()  # its pipes end, and so do the threads that use them
            raise
        finally:
            giving.join()
            hearing.join()
        code = other.wait()
        if code:
            words = said[-1].decode(errors="replace").strip() if said else f"it ended with {code}"
            raise RuntimeError(
                f"expected the version in {core} to judge the traces, got an error: {words}"
            ) from giving.error
        if giving.error is not None:
            raise giving.error
        if wrong is not None or came != giving.given:
            raise RuntimeError(
                f"expected the version in {core} to judge {giving.given} traces, "
                f"got {came} judged: it ended too early"
            ) from wrong


class _Giving(Thread):
    """Sends all traces to the other process, then the end.

    Attributes:
        given: number of traces sent.
        error: why it stopped early, ``None`` if it did not.
    """

    def __init__(self, pipe: IO[bytes], traces: Iterable[pa.RecordBatch]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._traces = traces
        self.given = 0
        self.error: Exception | None = None

    def run(self) -> None:
        """Send all traces."""
        try:
            with self._pipe:
                self._give(iter(self._traces))
        except Exception as error:  # noqa: BLE001 - the reader of the answers raises it
            self.error = error

    def _give(self, traces: Iterator[pa.RecordBatch]) -> None:
        first = next(traces, None)
        # Spark marks whether a column can be NULL, and a filter changes that. So the schema comes
        # from the first batch.
        with pa.ipc.new_stream(
            self._pipe, rows.SCHEMA if first is None else first.schema
        ) as stream:
            for batch in () if first is None else chain((first,), traces):
                stream.write_batch(batch)
                self.given += batch.num_rows


def main() -> None:
    """Judge traces from standard input: the second process."""
    with (
        pa.ipc.open_stream(sys.stdin.buffer) as coming,
        pa.ipc.new_stream(sys.stdout.buffer, batches.JUDGED) as going,
    ):
        for batch in batches.judged_batches(coming):
            going.write_batch(batch)


if __name__ == "__main__":
    main()
