"""`jsproto record`: a tap between any client and its server, which writes down what both say.

    jsproto record --server nats://127.0.0.1:4222 --listen 127.0.0.1:4223 -o incident.trace

The client connects to the tap instead of the server. Files are always new: where there is one, the
next gets a number. With a folder as ``-o`` each connection has a file of its own. Credentials are
never written, payloads only with ``--payload full``. Ctrl-C ends it.

Exit codes: 0 it was ended; 1 the address cannot be listened on, or a file cannot be made; 2 the
words were wrong.
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
    """Give the command line its subcommand ``record``."""
    words = commands.add_parser(
        "record",
        help="stand between a client and its server, and write down what they say",
        description=__doc__,
    )
    words.add_argument("--server", required=True, metavar="URL", help="where the server is")
    words.add_argument(
        "--listen",
        type=_place,
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where the client connects (a free port)",
    )
    words.add_argument(
        "-o",
        "--output",
        default="recording.trace",
        metavar="FILE|FOLDER",
        help="where to (recording.trace)",
    )
    words.add_argument(
        "--payload",
        choices=[keep.value.lower() for keep in Keep],
        default="length",
        help="what is kept of payloads, values of headers and, with none, subjects (length)",
    )
    words.add_argument(
        "--max-bytes",
        type=_size,
        default=MOST_WRITTEN,
        metavar="N",
        help="write no more: 500, 64k, 10m, 1g (1g)",
    )
    words.add_argument(
        "--tls", action="store_true", help="TLS between tap and server; tls:// means the same"
    )
    words.add_argument(
        "--tls-first", action="store_true", help="TLS before the server's first word"
    )
    words.add_argument(
        "--ca", type=Path, metavar="FILE", help="whom to trust; the system's own if not given"
    )
    words.add_argument(
        "--cert", type=Path, metavar="FILE", help="a certificate, for servers that verify clients"
    )
    words.add_argument("--key", type=Path, metavar="FILE", help="its key")
    words.add_argument(
        "--one-client",
        action="store_true",
        help="all connections are of one client, so that what it must do on a new link is judged",
    )
    words.add_argument(
        "--gossip",
        action="store_true",
        help="tell the client of other servers; it may go there around the tap",
    )
    words.add_argument("--json", action="store_true", help="print one JSON object at the end")
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Record until told to stop."""
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
    """The files of one run, and the room that they share.

    Attributes:
        files: those that were made.
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
        """Whether something was not written because there was no room."""
        return not self._room.left

    def tape(self, name: str) -> Tape:
        """The tape for a connection of this name."""
        if self.full and not self._told:
            self._told = True
            _tell(
                f"full: {self._room.most} bytes are written; connections go on, and are not recorded"
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


# ------------------------------------------------------------------------------------------------ words


def _target(words: argparse.Namespace) -> Target:
    server = Server.parse(words.server)
    if server.web:
        raise InvalidConfig(f"expected a server that speaks without a WebSocket, got {server}")
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
