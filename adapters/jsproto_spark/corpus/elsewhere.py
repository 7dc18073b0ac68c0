"""Another version of the core, asked in a process of its own.

Theory. Two versions of one package do not live in one interpreter. So a task starts a second Python
whose path begins with the other version, and speaks Arrow with it: batches of traces go to its
standard input, batches of tables come from its standard output. Run as a program, this file is that
second side.

The end of a pipe looks the same whether the writer was done or has failed. So an end is believed
only if everything else agrees: the writing thread has no error, the process ended with 0, and there
is one row for each trace that was given.

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
    """What the version of ``jsproto`` below the folder ``core`` makes of traces.

    Raises:
        RuntimeError: there is none, or it did not judge every trace; the message is the last line
            that it said.
        Exception: what the traces raise while they are read.
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
        ],  # -P: not what lies in the working directory
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
            out.close()  # so nobody waits until its output is read
        except BaseException:
            other.kill()  # its pipes end, and so do those who use them
            raise
        finally:
            giving.join()
            hearing.join()
        code = other.wait()
        if code:
            words = said[-1].decode(errors="replace").strip() if said else f"it ended with {code}"
            raise RuntimeError(
                f"expected the version in {core} to judge the traces, it did not: {words}"
            ) from giving.error
        if giving.error is not None:
            raise giving.error
        if wrong is not None or came != giving.given:
            raise RuntimeError(
                f"expected the version in {core} to judge {giving.given} traces, got {came} judged: it ended too early"
            ) from wrong


class _Giving(Thread):
    """Gives the other process all traces, and then the end.

    Attributes:
        given: so many traces were given.
        error: why it stopped before the end, ``None`` if it did not.
    """

    def __init__(self, pipe: IO[bytes], traces: Iterable[pa.RecordBatch]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._traces = traces
        self.given = 0
        self.error: Exception | None = None

    def run(self) -> None:
        """Give all of them."""
        try:
            with self._pipe:
                self._give(iter(self._traces))
        except Exception as error:  # noqa: BLE001 - whoever reads the answers raises it
            self.error = error

    def _give(self, traces: Iterator[pa.RecordBatch]) -> None:
        first = next(traces, None)
        # Spark says of a column whether it can be NULL, and a filter changes that. So the first
        # batch knows the schema.
        with pa.ipc.new_stream(
            self._pipe, rows.SCHEMA if first is None else first.schema
        ) as stream:
            for batch in () if first is None else chain((first,), traces):
                stream.write_batch(batch)
                self.given += batch.num_rows


def main() -> None:
    """The second side."""
    with (
        pa.ipc.open_stream(sys.stdin.buffer) as coming,
        pa.ipc.new_stream(sys.stdout.buffer, batches.JUDGED) as going,
    ):
        for batch in batches.judged_batches(coming):
            going.write_batch(batch)


if __name__ == "__main__":
    main()
