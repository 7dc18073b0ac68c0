"""Folders with backups: files that are there as a whole or not at all, and what is found in a folder, checked before it is used.

A file is written beside its place, forced to the disk, and moved to its place. What is found must be where its name belongs, and be the
bytes that were written; both the folders of `back_up` and those of the ``nats`` tool are read.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from jsproto.jetstream.api.consumer import ConsumerConfig
from jsproto.jetstream.api.stream import StreamConfig
from jsproto.jetstream.backup import (
    ARCHIVES,
    CONFIG,
    CONSUMERS,
    MANIFEST,
    ORIGIN,
    STREAMS,
    InvalidBackup,
    SavedStream,
    as_file,
    file_name,
    read_consumer_file,
    read_manifest,
    read_origin,
    read_stream_file,
)
from jsproto_io._progress import Phase, Progress, Tell, Teller

#: Bytes that are read at once, and sent as one chunk.
CHUNK: Final = 128 * 1024

#: Where a stream lies, what the manifest says of it, and its configuration.
Found: TypeAlias = tuple[Path, SavedStream, StreamConfig]


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
    """Read the configuration of a stream, by itself or out of what ``nats stream info --json`` has printed.

    Raises:
        InvalidBackup: it is none.
        OSError: it cannot be read.
    """
    return read_stream_file(Path(path).read_bytes(), str(path))


def load_consumer(path: str | Path) -> ConsumerConfig:
    """Read the configuration of a consumer; see `load_stream`."""
    return read_consumer_file(Path(path).read_bytes(), str(path))


def found_in(root: Path, streams: Iterable[str] | None) -> list[Found]:
    """What there is to restore, each where its name belongs."""
    wanted = None if streams is None else dict.fromkeys(streams)
    if (root / MANIFEST).is_file():
        entries = read_manifest(_bytes(root / MANIFEST)).streams
        found = [(root / STREAMS / file_name(each.name), each) for each in entries]
    else:
        found = [(each, _foreign(each)) for each in _foreign_places(root)]
    missing = (
        [] if wanted is None else [name for name in wanted if name not in {each.name for _, each in found}]
    )
    if missing or not found:
        seen = ", ".join(each.name for _, each in found) or "none"
        raise InvalidBackup(
            f"expected streams {', '.join(missing) or 'or a manifest'} in {str(root)!r}, seen {seen}"
        )
    chosen = [(place, each) for place, each in found if wanted is None or each.name in wanted]
    return [(place, each, _config(place, each)) for place, each in chosen]


def _foreign_places(root: Path) -> Sequence[Path]:
    """Folders of streams, as the ``nats`` tool writes them: this one, or those in it."""
    if (root / ORIGIN).is_file():
        return [root]
    if not root.is_dir():
        raise InvalidBackup(f"expected a folder with a backup, {str(root)!r} is none")
    return sorted(each.parent for each in root.glob(f"*/{ORIGIN}"))


def _foreign(place: Path) -> SavedStream:
    """What the ``nats`` tool has saved of a stream; it knows no digest."""
    origin = read_origin(_bytes(place / ORIGIN), str(place / ORIGIN))
    archives = [name for name in ARCHIVES if (place / name).is_file()]
    if len(archives) != 1:
        raise InvalidBackup(f"expected one archive in {str(place)!r}, seen {', '.join(archives) or 'none'}")
    return SavedStream(
        name=origin.config.name,
        archive=archives[0],
        size=(place / archives[0]).stat().st_size,
        messages=origin.state.messages,
        last_seq=origin.state.last_seq,
    )


def _config(place: Path, entry: SavedStream) -> StreamConfig:
    """The configuration of a stream, which must be that of the stream that it is filed under."""
    path = place / CONFIG
    if path.is_file():
        config = read_stream_file(_bytes(path), str(path))
    elif entry.archive is not None:
        path = place / ORIGIN
        config = read_origin(_bytes(path), str(path)).config
    else:
        raise InvalidBackup(f"expected the configuration {str(path)!r}, it is not there")
    if config.name != entry.name:
        raise InvalidBackup(f"expected stream {entry.name!r} in {str(path)!r}, seen {config.name!r}")
    return config


def consumer_of(place: Path, name: str) -> ConsumerConfig:
    """The configuration of a consumer, which must be that of the consumer that it is filed under."""
    path = place / CONSUMERS / f"{file_name(name)}.json"
    config = read_consumer_file(_bytes(path), str(path))
    if config.durable_name != name:
        raise InvalidBackup(f"expected consumer {name!r} in {str(path)!r}, seen {config.durable_name!r}")
    return config


def checked(saved: Sequence[Found], tell: Tell) -> None:
    """Every archive is the one that was written, and every file can be read, before one of them is used."""
    for number, (place, entry, _) in enumerate(saved, 1):
        progress = Progress(
            deed="check",
            stream=entry.name,
            phase=Phase.BEGUN,
            number=number,
            of=len(saved),
            total=entry.size,
        )
        with Teller(progress, tell) as teller:
            for name in entry.consumers:
                consumer_of(place, name)
            if entry.archive is not None:
                _compared(place, entry, teller)


def _compared(place: Path, entry: SavedStream, teller: Teller) -> None:
    path = place / str(entry.archive)
    if not path.is_file():
        raise InvalidBackup(f"expected the file {str(path)!r}, it is not there")
    origin = read_origin(_bytes(place / ORIGIN), str(place / ORIGIN))
    if origin.config.name != entry.name:
        raise InvalidBackup(
            f"expected stream {entry.name!r} in {str(place / ORIGIN)!r}, seen {origin.config.name!r}"
        )
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            teller.passed(len(chunk))
    if size != entry.size or (entry.sha256 and digest.hexdigest() != entry.sha256):
        raise InvalidBackup(
            f"expected {entry.size} bytes with SHA-256 {entry.sha256} in {str(path)!r}, seen {size} bytes with {digest.hexdigest()}"
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidBackup(f"expected the file {str(path)!r}, it is not there") from None
