"""`jsproto record`: a proxy between a client and its server that records both directions.

    jsproto record --server nats://127.0.0.1:4222 --listen 127.0.0.1:4223 -o incident.trace

The client connects to the proxy instead of the server. The command never overwrites a file: it adds
a number to the name. With a folder as ``-o`` each connection has its own file. Credentials are
never written, payloads only with ``--payload full``. Ctrl-C ends it.

Exit codes: 0 the user ended it; 1 it cannot listen on the address, or cannot create a file; 2
invalid arguments.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from argparse import ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import jsproto
from jsproto.core.connection.server_pool import Server
from jsproto.errors import InvalidConfig, JsprotoError
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.tape import MOST_WRITTEN, Room, Tape
from jsproto_cli.tap import Tap, Target
from jsproto_io._layers.tls import TlsFiles
from jsproto_io.recording import NewFile

if TYPE_CHECKING:
    import argparse

_UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``record`` to the command line."""
    words = commands.add_parser(
        "record",
        help="record the traffic between a client and its server",
        description=__doc__,
    )
    words.add_argument("--server", required=True, metavar="URL", help="the server")
    words.add_argument(
        "--listen",
        type=_place,
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="the address for the client (by default a free port)",
    )
    words.add_argument(
        "-o",
        "--output",
        default="recording.trace",
        metavar="FILE|FOLDER",
        help="the output (recording.trace)",
    )
    words.add_argument(
        "--payload",
        choices=[keep.value.lower() for keep in Keep],
        default="length",
        help="how payloads and header values are kept, and with none also subjects (length)",
    )
    words.add_argument(
        "--max-bytes",
        type=_size,
        default=MOST_WRITTEN,
        metavar="N",
        help="the most bytes to write: 500, 64k, 10m, 1g (1g)",
    )
    words.add_argument(
        "--tls", action="store_true", help="TLS between proxy and server; tls:// means the same"
    )
    words.add_argument(
        "--tls-first", action="store_true", help="start TLS before the server's first message"
    )
    words.add_argument(
        "--ca", type=Path, metavar="FILE", help="the trusted certificates; by default the system's"
    )
    words.add_argument(
        "--cert", type=Path, metavar="FILE", help="a certificate, for servers that verify clients"
    )
    words.add_argument("--key", type=Path, metavar="FILE", help="the private key of --cert")
    words.add_argument(
        "--one-client",
        action="store_true",
        help="all connections belong to one client; lint then also checks its reconnects",
    )
    words.add_argument(
        "--gossip",
        action="store_true",
        help="pass on addresses of other servers; the client may then bypass the proxy",
    )
    words.add_argument("--json", action="store_true", help="print one JSON object at the end")
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``record`` until a signal stops it."""
    try:
        target = _target(words)
    except InvalidConfig as error:
        print(error, file=sys.stderr)
        return 2
    try:
        recording = Recording(words)
        tap = asyncio.run(_recorded(target, recording, words))
    except (JsprotoError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    told = {
        "files": [str(file.path) for file in recording.files],
        "connections": tap.accepted,
        "bytes": tap.bytes,
        "written": sum(file.bytes for file in recording.files),
        "full": recording.full,
    }
    if words.json:
        print(json.dumps(told))
    else:
        places = ", ".join(str(file.path) for file in recording.files) or "no file"
        print(
            f"{tap.accepted} connections, {tap.bytes} bytes, {told['written']} written to {places}"
        )
    return 0


async def _recorded(target: Target, recording: Recording, words: argparse.Namespace) -> Tap:
    tap = Tap(target, recording.tape, one_client=words.one_client, tell=_tell)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(each, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(each, lambda _number, _frame: loop.call_soon_threadsafe(stop.set))
    host, port = words.listen
    try:
        await tap.serve(host, port, stop)
    finally:
        recording.end()
    return tap


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@final
class Recording:
    """The files of one run, and the bytes that they may hold together.

    Attributes:
        files: the created files.
    """

    def __init__(self, words: argparse.Namespace) -> None:
        path = self._path = Path(words.output)
        self._folder = words.output.endswith("/") or path.is_dir()
        self._keep = Keep(words.payload.upper())
        self._room = Room(words.max_bytes)
        self._tapes: list[Tape] = []
        self._told = False
        self.files: list[NewFile] = []
        if self._folder:
            path.mkdir(parents=True, exist_ok=True)
        else:
            self._new(path)

    @property
    def full(self) -> bool:
        """Whether the limit of bytes was reached."""
        return not self._room.left

    def tape(self, name: str) -> Tape:
        """The tape for a connection with this name."""
        if self.full and not self._told:
            self._told = True
            _tell(
                f"full: {self._room.most} bytes are written; connections continue without recording"
            )
        return self._new(self._path / f"{name}.trace") if self._folder else self._tapes[0]

    def end(self) -> None:
        """Close all files."""
        for tape in self._tapes:
            tape.end()

    def _new(self, path: Path) -> Tape:
        file = NewFile(path)
        self.files.append(file)
        about = {
            "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": f"jsproto record {jsproto.__version__}",
        }
        self._tapes.append(Tape(file, keep=self._keep, about=about, room=self._room))
        return self._tapes[-1]


# ------------------------------------------------------------------ arguments


def _target(words: argparse.Namespace) -> Target:
    server = Server.parse(words.server)
    if server.web:
        raise InvalidConfig(f"expected a server without WebSocket, got {server}")
    tls = None
    if words.tls or words.tls_first or server.tls:
        tls = TlsFiles(ca=words.ca, certificate=words.cert, key=words.key).context()
    return Target(
        host=server.host, port=server.port, tls=tls, tls_first=words.tls_first, gossip=words.gossip
    )


def _place(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not int(port) < 1 << 16:
        raise ArgumentTypeError(f"expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _size(text: str) -> int:
    unit = _UNITS.get(text[-1:].lower(), 1)
    digits = text if unit == 1 else text[:-1]
    if not digits.isdigit() or not int(digits):
        raise ArgumentTypeError(
            f"expected a number of bytes like 500, 64k, 10m or 1g, got {text!r}"
        )
    return int(digits) * unit
