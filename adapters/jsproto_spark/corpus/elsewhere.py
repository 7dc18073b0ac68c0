"""Another version of the core, asked in a process of its own.

Theory. Two versions of one package do not live in one interpreter. So a task starts a second Python whose path begins with the other version,
and speaks Arrow with it: batches of traces go to its standard input, batches of tables come from its standard output. Run as a program,
this file is that second side.

    python -m jsproto_spark.corpus.elsewhere < traces.arrows > judged.arrows
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, cast

import pyarrow as pa

from jsproto_spark.corpus import batches, rows

_ADAPTERS = Path(__file__).resolve().parent.parent.parent


def judged_batches(traces: Iterable[pa.RecordBatch], core: str) -> Iterator[pa.RecordBatch]:
    """What the version of ``jsproto`` below the folder ``core`` makes of traces.

    Raises:
        RuntimeError: there is none, or it could not judge; the message is the last line that it said.
    """
    if not (Path(core) / "jsproto" / "__init__.py").is_file():
        raise RuntimeError(f"expected a folder with the package jsproto, seen {core}")
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
        threads = [
            Thread(target=_give, args=(other.stdin, traces), daemon=True),
            Thread(target=said.extend, args=(other.stderr,), daemon=True),
        ]
        for each in threads:
            each.start()
        try:
            with suppress(pa.ArrowInvalid):  # it has gone without a word of Arrow
                yield from pa.ipc.open_stream(cast("IO[bytes]", other.stdout))
        except GeneratorExit:
            other.kill()  # its pipes end, and so do those who use them
            raise
        finally:
            for each in threads:
                each.join()
        if other.wait():
            words = said[-1].decode(errors="replace").strip() if said else f"it ended with {other.returncode}"
            raise RuntimeError(f"expected the version in {core} to judge the traces, it did not: {words}")


def _give(pipe: IO[bytes], traces: Iterable[pa.RecordBatch]) -> None:
    """Give it everything, and then the end; one that has gone is not spoken to."""
    with suppress(OSError), pipe, pa.ipc.new_stream(pipe, rows.SCHEMA) as stream:
        for batch in traces:
            stream.write_batch(batch)


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
