"""Files for recorders: ``connect(..., record="incident.trace")``, the same for every adapter.

Theory. What is written is decided in `jsproto.trace`; here is only the file. It is new, always:
where there is one already, the next gets a number, because nobody wants the record of an incident
gone with the restart that followed it. Text waits for company, for `_LINGER` seconds at most while
anything is recorded; in a fork it is the parent's to write. A file that cannot be written any more
is logged once and given up; the connection goes on.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from io import FileIO
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias, final

from attrs import field, frozen

import jsproto
from jsproto.errors import InvalidConfig
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.tape import MOST_WRITTEN, Room, Tape
from jsproto_io._event_logger import LOGGER

__all__ = ["Keep", "NewFile", "Record", "TraceFile", "tape_of"]

#: Seconds for which recorded text may wait in memory.
_LINGER: Final = 1.0
#: So much does not wait, in bytes.
_ENOUGH: Final = 65_536
#: Files of one name that are kept beside each other.
_MOST_FILES: Final = 1000


@final
@frozen
class TraceFile:
    """Where a connection is recorded, and what of it.

    Attributes:
        path: the file, made anew when the client is entered; where it exists, a number is added to
            its name.
        keep: what is kept of that which users wrote: nothing, lengths, digests or all. Credentials
            never are.
        most_bytes: so much is written, and no more; the last line then says so.
    """

    path: Path = field(converter=Path)
    keep: Keep = Keep.LENGTH
    most_bytes: int = field(default=MOST_WRITTEN, kw_only=True)


#: A path alone means lengths only.
Record: TypeAlias = str | Path | TraceFile


def tape_of(record: Record) -> Tape:
    """A tape that writes to a new file.

    Raises:
        InvalidConfig: the file cannot be made, or the room is less than a byte.
    """
    wish = record if isinstance(record, TraceFile) else TraceFile(record)
    room = Room(wish.most_bytes)
    return Tape(
        NewFile(wish.path),
        keep=wish.keep,
        room=room,
        about={"client": f"jsproto {jsproto.__version__}"},
    )


@final
class NewFile:
    """A file that was not there before: a sink for a tape.

    Attributes:
        path: the name that it got.
        bytes: what was given to it so far.

    Raises:
        InvalidConfig: it cannot be made.
    """

    __slots__ = ("__weakref__", "_file", "_flushed", "_process", "_waiting", "bytes", "path")

    def __init__(self, path: Path) -> None:
        file: FileIO
        self.path, file = _made(path)
        self._file: FileIO | None = file
        self._waiting = bytearray()
        self._process = os.getpid()
        self._flushed = monotonic()
        self.bytes = 0
        weakref.finalize(self, _last, file, self._waiting, self._process)

    def __repr__(self) -> str:
        return f"<NewFile {str(self.path)!r}: {self.bytes} bytes>"

    def write(self, text: str) -> None:
        """Keep the text; what cannot be kept is given up."""
        if self._file is None:
            return
        self._waiting += text.encode()
        self.bytes += len(text)
        now = monotonic()
        if len(self._waiting) > _ENOUGH or now - self._flushed > _LINGER:
            self._flushed = now
            self._flush(self._file)

    def close(self) -> None:
        """Nothing follows."""
        file = self._file
        if file is not None:
            self._flush(file)
            self._file = None
            file.close()

    def _flush(self, file: FileIO) -> None:
        try:
            _written(file, self._waiting, self._process)
        except OSError as error:
            LOGGER.warning("%s: not recorded any further: %s", self.path, error)
            self._file = None
            self._waiting.clear()
            file.close()


def _written(file: FileIO, waiting: bytearray, process: int) -> None:
    """Write what waits. In a fork it is the parent's, and stays so."""
    while waiting and os.getpid() == process:
        del waiting[: file.write(waiting)]


def _last(file: FileIO, waiting: bytearray, process: int) -> None:
    """Nobody has closed it: what waits is not lost with whoever forgot to."""
    if not file.closed:
        with suppress(OSError):
            _written(file, waiting, process)
        file.close()


def _made(path: Path) -> tuple[Path, FileIO]:
    names = chain(
        (path,), (path.with_stem(f"{path.stem}-{number}") for number in range(1, _MOST_FILES))
    )
    for name in names:
        try:
            return name, FileIO(name, "x")
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidConfig(
                f"expected a file that can be recorded to, {path}: {error.strerror}"
            ) from error
    raise InvalidConfig(f"expected fewer than {_MOST_FILES} recordings beside {path}")
