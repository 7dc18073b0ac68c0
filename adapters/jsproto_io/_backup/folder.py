"""Folders with backups: files that are there as a whole or not at all, and what is found in a
folder, checked before it is used.

A file is written beside its place, forced to the disk, and moved to its place. What is found must
be where its name belongs, and be the bytes that were written; both the folders of `back_up` and
those of the ``nats`` tool are read.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self, TypeAlias, final

from jsproto.core.numbers import is_number
from jsproto.errors import InvalidConfig
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.archive import ArchiveLook, Contents, fault_of
from jsproto.ops.backup import (
    ARCHIVES,
    CONFIG,
    CONSUMERS,
    MANIFEST,
    MAX_REPLICAS,
    ORIGIN,
    STREAMS,
    InvalidBackup,
    SavedStream,
    as_file,
    check_saved,
    file_name,
    read_consumer_file,
    read_manifest,
    read_origin,
    read_stream_file,
)

#: Bytes that are read at once, and sent as one chunk.
CHUNK: Final = 128 * 1024

#: What makes a folder that of a stream: without the file of its origin it is not complete.
_PARTS: Final = (
    CONFIG,
    CONSUMERS,
    *ARCHIVES,
    *(f"{each}.part" for each in (CONFIG, ORIGIN, *ARCHIVES)),
)

#: Where a stream lies, what the manifest says of it, and its configuration.
Found: TypeAlias = tuple[Path, SavedStream, StreamConfig]


def check_replicas(replicas: int | None) -> None:
    """Refuse replicas that no stream can have.

    Raises:
        InvalidConfig: it is no whole number of 1 to `MAX_REPLICAS`.
    """
    if replicas is not None and not (is_number(replicas, (int,)) and 1 <= replicas <= MAX_REPLICAS):
        raise InvalidConfig(
            f"expected 1 to {MAX_REPLICAS} replicas, a whole number, got {shorten(replicas)}"
        )


def written(path: Path, text: bytes) -> None:
    """Write a small file."""
    with placed(path) as file:
        file.write(text)


@contextmanager
def placed(path: Path) -> Generator[BinaryIO]:
    """A file that is at its place when all of it is on the disk, and not before."""
    beside = path.with_name(f"{path.name}.part")
    with beside.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def save(config: StreamConfig | ConsumerConfig, path: str | Path) -> None:
    """Write a configuration as the ``nats`` tool reads it (``--config``).

    Raises:
        OSError: it cannot be written.
    """
    written(Path(path), as_file(config))


def load_stream(path: str | Path) -> StreamConfig:
    """Read the configuration of a stream, by itself or out of what ``nats stream info --json`` has
    printed.

    Raises:
        InvalidBackup: it is none.
        OSError: it cannot be read.
    """
    return read_stream_file(Path(path).read_bytes(), repr(str(path)))


def load_consumer(path: str | Path) -> ConsumerConfig:
    """Read the configuration of a consumer; see `load_stream`."""
    return read_consumer_file(Path(path).read_bytes(), repr(str(path)))


def found_in(root: Path, streams: Iterable[str] | None) -> list[Found]:
    """What there is to restore, each where its name belongs.

    Raises:
        InvalidBackup: something in the folder is not complete, not at its place, or no backup at
            all.
    """
    wanted = None if streams is None else dict.fromkeys(streams)
    whole = _whole(root)
    if whole is not None:
        entries = read_manifest(_bytes(whole / MANIFEST)).streams
        found = [(whole / STREAMS / file_name(each.name), each) for each in entries]
        if root.resolve().parent == (whole / STREAMS).resolve():
            found = [(place, each) for place, each in found if place.name == root.resolve().name]
    else:
        found = [(each, _foreign(each, named=wanted or {})) for each in _foreign_places(root)]
    missing = (
        []
        if wanted is None
        else [name for name in wanted if name not in {each.name for _, each in found}]
    )
    if missing or not found:
        seen = ", ".join(shorten(each.name) for _, each in found) or "none"
        raise InvalidBackup(
            f"expected streams {', '.join(map(shorten, missing)) or 'or a manifest'} in {str(root)!r}, got {seen}"
        )
    chosen = [(place, each) for place, each in found if wanted is None or each.name in wanted]
    return [(place, each, _config(place, each)) for place, each in chosen]


def _whole(root: Path) -> Path | None:
    """The folder of a whole backup of ours: this one, or the one that it is a part of; its manifest
    knows whether it is complete.
    """
    there = root.resolve()
    places = [root, *(each.parent for each in (there, there.parent) if each.name == STREAMS)]
    return next((each for each in places if (each / MANIFEST).is_file()), None)


def _foreign_places(root: Path) -> Sequence[Path]:
    """Folders of streams, as the ``nats`` tool writes them: this one, or those in it."""
    if (root / ORIGIN).is_file():
        return [root]
    if not root.is_dir():
        raise InvalidBackup(f"expected a folder with a backup, {str(root)!r} is none")
    places = sorted(each for each in root.iterdir() if each.is_dir())
    for place in places:
        parts = [each for each in _PARTS if (place / each).exists()]
        if parts and not (place / ORIGIN).is_file():
            raise InvalidBackup(
                f"expected the file {str(place / ORIGIN)!r} beside {parts[0]}, it is not there: what is in the folder is not complete"
            )
    return [each for each in places if (each / ORIGIN).is_file()]


def _foreign(place: Path, *, named: Mapping[str, None]) -> SavedStream:
    """What the ``nats`` tool has saved of a stream; it knows no digest.

    Of one stream it writes into any folder: one of another name than the stream's is believed if
    the caller names the stream.
    """
    origin = origin_of(place)
    name, folder = origin.config.name, place.resolve().name
    if folder not in {name, file_name(name)} and name not in named:
        raise InvalidBackup(
            f"expected stream {folder!r} in the folder of that name, got {shorten(name)} in {str(place / ORIGIN)!r}; "
            f"if that is meant, name the stream (streams=, --stream)"
        )
    archives = [name for name in ARCHIVES if (place / name).is_file()]
    if len(archives) != 1:
        raise InvalidBackup(
            f"expected one archive in {str(place)!r}, got {', '.join(archives) or 'none'}"
        )
    saved = SavedStream(
        name=name,
        archive=archives[0],
        size=(place / archives[0]).stat().st_size,
        messages=origin.state.messages,
        last_seq=origin.state.last_seq,
    )
    check_saved(saved)
    return saved


def _config(place: Path, entry: SavedStream) -> StreamConfig:
    """The configuration of a stream, which must be that of the stream that it is filed under."""
    path = place / CONFIG
    if path.is_file():
        config = read_stream_file(_bytes(path), repr(str(path)))
    elif entry.archive is not None:
        path = place / ORIGIN
        config = origin_of(place).config
    else:
        raise InvalidBackup(f"expected the configuration {str(path)!r}, it is not there")
    if config.name != entry.name:
        raise InvalidBackup(f"expected stream {entry.name!r} in {str(path)!r}, got {config.name!r}")
    return config


def consumer_of(place: Path, name: str) -> ConsumerConfig:
    """The configuration of a consumer, which must be that of the consumer that it is filed under."""
    path = place / CONSUMERS / f"{file_name(name)}.json"
    config = read_consumer_file(_bytes(path), repr(str(path)))
    if config.durable_name != name:
        raise InvalidBackup(
            f"expected consumer {name!r} in {str(path)!r}, got {config.durable_name!r}"
        )
    return config


def begun(root: Path, manifest: bytes) -> None:
    """A new folder, which says that it is not complete yet.

    Raises:
        InvalidConfig: there is something in it.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if next(root.iterdir(), None) is not None:
        raise InvalidConfig(f"expected an empty folder for a backup, {str(root)!r} holds something")
    written(root / MANIFEST, manifest)
    (root / STREAMS).mkdir(mode=0o700)


def configured(place: Path, info: StreamInfo, consumers: Sequence[ConsumerInfo]) -> SavedStream:
    """Write the configurations of a stream and its durable consumers."""
    place.mkdir(mode=0o700)
    written(place / CONFIG, as_file(info.config))
    durable = [each for each in consumers if each.config.durable_name]
    if durable:
        (place / CONSUMERS).mkdir(mode=0o700)
    for each in durable:
        written(place / CONSUMERS / f"{file_name(each.name)}.json", as_file(each.config))
    return SavedStream(name=info.config.name, consumers=[each.name for each in durable])


def origin_of(place: Path) -> Origin:
    """What the server said beside an archive.

    Raises:
        InvalidBackup: that is not there, or damaged.
    """
    return read_origin(_bytes(place / ORIGIN), repr(str(place / ORIGIN)))


@final
class Archive:
    """An archive that is being written: at its place when all of it is on the disk, and not before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = sha256()
        self._look = ArchiveLook()
        self._placed = placed(path)
        self._file = self._placed.__enter__()

    def write(self, chunk: bytes) -> None:
        """Some bytes more."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self._look.feed(chunk)

    def done(self) -> tuple[str, Contents]:
        """That was all: move it to its place. Gives its SHA-256, and what was seen in it."""
        self._placed.__exit__(None, None, None)
        return self._digest.hexdigest(), self._look.done()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


@final
class Check:
    """A look at everything of one stream before it is used: every file can be read, and the archive
    is the one that was written.

    Raises:
        InvalidBackup: something is not there, or not what it was.
    """

    def __init__(self, place: Path, entry: SavedStream) -> None:
        for name in entry.consumers:
            consumer_of(place, name)
        self._entry = entry
        self._digest = sha256()
        self._size = 0
        self._path = place / str(entry.archive)
        self._look = ArchiveLook()
        self._file: BinaryIO | None = None
        if entry.archive is None:
            return
        if not self._path.is_file():
            raise InvalidBackup(f"expected the file {str(self._path)!r}, it is not there")
        self._origin = origin_of(place)
        if self._origin.config.name != entry.name:
            raise InvalidBackup(
                f"expected stream {entry.name!r} in {str(place / ORIGIN)!r}, got {self._origin.config.name!r}"
            )
        self._file = self._path.open("rb")

    def step(self) -> int:
        """How many bytes more were looked at; 0 when all of them were, and they are right."""
        if self._file is None:
            return 0
        chunk = self._file.read(CHUNK)
        self._digest.update(chunk)
        self._look.feed(chunk)
        self._size += len(chunk)
        if not chunk:
            self._compare()
        return len(chunk)

    def _compare(self) -> None:
        entry, digest = self._entry, self._digest.hexdigest()
        if self._size != entry.size or (entry.sha256 and digest != entry.sha256):
            raise InvalidBackup(
                f"expected {entry.size} bytes with SHA-256 {entry.sha256} in {str(self._path)!r}, "
                f"got {self._size} bytes with {digest}"
            )
        fault = fault_of(self._look.done(), self._origin)
        if fault:
            raise InvalidBackup(
                f"expected all of stream {entry.name!r} in {str(self._path)!r}, as its {ORIGIN} says: {fault}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidBackup(f"expected the file {str(path)!r}, it is not there") from None
