"""Files for recorders: ``connect(..., record="incident.trace")``, the same for every adapter.

Theory. What is written is decided in `jsproto.trace`; here is only the file. It is new, always: where there is one already, the next gets a
number, because nobody wants the record of an incident gone with the restart that followed it. Text waits for company, for `_LINGER`
seconds at most while anything is recorded. A file that cannot be written any more is logged once and given up; the connection goes on.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias, final

from attrs import field, frozen

import jsproto
from jsproto.errors import InvalidConfig
from jsproto.trace.redaction import Keep
from jsproto.trace.tape import MOST_WRITTEN, Room, Tape
from jsproto_io._watch import LOGGER

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["Keep", "NewFile", "Record", "TraceFile", "tape_of"]

#: Seconds for which recorded text may wait in memory.
_LINGER: Final = 1.0
#: Files of one name that are kept beside each other.
_MOST_FILES: Final = 1000


@final
@frozen
class TraceFile:
    """Where a connection is recorded, and what of it.

    Attributes:
        path: the file, made anew when the client is entered; where it exists, a number is added to its name.
        keep: what is kept of that which users wrote: nothing, lengths, digests or all. Credentials never are.
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
        NewFile(wish.path), keep=wish.keep, room=room, about={"client": f"jsproto {jsproto.__version__}"}
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

    __slots__ = ("_file", "_flushed", "bytes", "path")

    def __init__(self, path: Path) -> None:
        self._file: TextIO | None
        self.path, self._file = _made(path)
        self._flushed = monotonic()
        self.bytes = 0

    def write(self, text: str) -> None:
        """Keep the text; what cannot be kept is given up."""
        if self._file is None:
            return
        self.bytes += len(text)
        try:
            self._file.write(text)
            now = monotonic()
            if now - self._flushed > _LINGER:
                self._flushed = now
                self._file.flush()
        except OSError as error:
            self._gone(self._file, error)

    def close(self) -> None:
        """Nothing follows."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self._gone(file, error)

    def _gone(self, file: TextIO, error: OSError) -> None:
        self._file = None
        LOGGER.warning("%s: not recorded any further: %s", self.path, error)
        with suppress(OSError):
            file.close()


def _made(path: Path) -> tuple[Path, TextIO]:
    names = chain((path,), (path.with_stem(f"{path.stem}-{number}") for number in range(1, _MOST_FILES)))
    for name in names:
        try:
            return name, name.open("x", encoding="utf-8", newline="\n")
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidConfig(
                f"expected a file that can be recorded to, {path}: {error.strerror}"
            ) from error
    raise InvalidConfig(f"expected fewer than {_MOST_FILES} recordings beside {path}")
