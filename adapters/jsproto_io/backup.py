"""Backups in folders: streams of an account, with or without messages, written and put back by a blocking client.

Theory. What the folder looks like, what a complete backup is and in which order it is put back is decided in `jsproto.jetstream.backup`;
here messages pass through. An archive is hashed while it streams by, and never held in memory. Before anything is restored every digest is checked.

Both verbs wait for disks. From a program with an event loop they are called in a thread, on a connection of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from time import time_ns
from typing import Any, final

from attrs import frozen

from jsproto.errors import InvalidConfig, InvalidResponse, JsprotoError, LinkError, shorten
from jsproto.jetstream.api.consumer import ConsumerInfo
from jsproto.jetstream.api.enums import StorageType
from jsproto.jetstream.api.errors import JetStreamError
from jsproto.jetstream.api.listed import Listed
from jsproto.jetstream.api.stream import StreamInfo
from jsproto.jetstream.api.values import Timestamp
from jsproto.jetstream.backup import (
    CONFIG,
    CONSUMERS,
    FORMAT,
    MANIFEST,
    ORIGIN,
    STREAMS,
    Deed,
    Manifest,
    RestoreFailed,
    SavedStream,
    archive_name,
    as_file,
    file_name,
    planned,
    read_origin,
    unlike,
)
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.snapshot import Origin
from jsproto_io._facade_sync import SyncJetStream
from jsproto_io._folder import (
    CHUNK,
    Found,
    checked,
    consumer_of,
    found_in,
    load_consumer,
    load_stream,
    placed,
    save,
    written,
)
from jsproto_io._progress import Phase, Progress, Tell, Teller, silent
from jsproto_io._sync import SyncClient

__all__ = ["Phase", "Progress", "Restored", "back_up", "load_consumer", "load_stream", "restore", "save"]

# ------------------------------------------------------------------------------------------------ backup


def back_up(
    nc: SyncClient,
    folder: str | Path,
    *,
    js: SyncJetStream | None = None,
    streams: Iterable[str] | None = None,
    data: bool = True,
    check: bool = False,
    tell: Tell = silent,
) -> Manifest:
    """Save streams with their durable consumers in a new folder.

    Args:
        nc: whose streams.
        folder: is made; it may be there if it is empty.
        js: another domain or API prefix than the client's own.
        streams: only these; all of the account if none are named.
        data: also save messages. Older servers do not give those of streams in memory: the manifest has a note then.
        check: let the server check what it stores first, which takes longer.
        tell: is called with each `Progress`.

    Returns:
        What was saved, as it stands in the folder too.

    Raises:
        InvalidConfig: the folder is not empty; nothing was done.
        StreamNotFound: one that was named is not there; nothing was done.
        InvalidResponse: a cluster could not say all of its streams or consumers; nothing was done.
        JsprotoError: a snapshot broke; the folder says that the backup is not complete.
        OSError: what the disk says.
    """
    account = _Account(nc, js)
    infos = list(_chosen(account.js, streams))
    root = Path(folder)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if next(root.iterdir(), None) is not None:
        raise InvalidConfig(f"expected an empty folder for a backup, {str(root)!r} holds something")
    manifest = Manifest(format=FORMAT, server=nc.info.version, created=Timestamp(time_ns()))
    written(root / MANIFEST, as_file(manifest))
    (root / STREAMS).mkdir(mode=0o700)
    saved: list[SavedStream] = []
    for number, (info, consumers) in enumerate(infos, 1):
        total = info.state.bytes if data else 0
        progress = Progress(
            deed="backup",
            stream=info.config.name,
            phase=Phase.BEGUN,
            number=number,
            of=len(infos),
            total=total,
        )
        with Teller(progress, tell) as teller:
            place = root / STREAMS / file_name(info.config.name)
            entry = _configured(place, info, consumers)
            try:
                saved.append(account.take(place, entry, teller, check=check) if data else entry)
            except JetStreamError as error:
                if info.config.storage is not StorageType.MEMORY:
                    raise
                teller.words = f"messages were not saved: {error}"
                saved.append(entry.evolve(note=teller.words))
    manifest = manifest.evolve(complete=True, streams=saved)
    written(root / MANIFEST, as_file(manifest))
    return manifest


def _chosen(
    js: SyncJetStream, streams: Iterable[str] | None
) -> Iterator[tuple[StreamInfo, Sequence[ConsumerInfo]]]:
    """What is to be saved, and nothing of it is missing."""
    if streams is not None:
        for name in dict.fromkeys(streams):
            info, consumers = js.stream_info(name), js.stream(name).consumers()
            _all_there(consumers)
            yield info, consumers
        return
    there = js.inventory()
    _all_there(there.streams)
    for info in there.streams:
        consumers = there.consumers[info.config.name]
        _all_there(consumers)
        yield info, consumers


def _all_there(listed: Listed[Any]) -> None:
    if not listed.complete:
        names = ", ".join([*listed.missing, *listed.offline]) or f"{listed.total - len(listed)} more"
        raise InvalidResponse(f"expected the servers to say all that there is, missing are {shorten(names)}")


def _configured(place: Path, info: StreamInfo, consumers: Sequence[ConsumerInfo]) -> SavedStream:
    """Write the configurations of a stream and its durable consumers."""
    place.mkdir(mode=0o700)
    written(place / CONFIG, as_file(info.config))
    durable = [each for each in consumers if each.config.durable_name]
    if durable:
        (place / CONSUMERS).mkdir(mode=0o700)
    for each in durable:
        written(place / CONSUMERS / f"{file_name(each.name)}.json", as_file(each.config))
    return SavedStream(name=info.config.name, consumers=[each.name for each in durable])


# ------------------------------------------------------------------------------------------------ restore


@final
@frozen(kw_only=True)
class Restored:
    """What became of one stream.

    Attributes:
        stream: its name.
        deed: what was done.
        consumers: names of consumers that were made or brought up to date.
        words: what there is to say.
    """

    stream: str
    deed: Deed
    consumers: tuple[str, ...] = ()
    words: str = ""


def restore(
    nc: SyncClient,
    folder: str | Path,
    *,
    js: SyncJetStream | None = None,
    streams: Iterable[str] | None = None,
    data: bool = True,
    update: bool = False,
    tell: Tell = silent,
) -> tuple[Restored, ...]:
    """Put streams back out of a folder that `back_up` or the ``nats`` tool has written.

    First everything in the folder is checked, then what is on the server; only then something is done. Each stream that was restored is
    compared with what was saved.

    Args:
        nc: where to.
        folder: of a whole backup, or of one stream.
        js: another domain or API prefix than the client's own.
        streams: only these.
        data: restore messages too; else streams are made empty.
        update: bring streams that are there up to date with the saved configurations; their messages stay as they are.
        tell: is called with each `Progress`.

    Raises:
        InvalidBackup: the backup is not complete, or damaged; nothing was done.
        RestoreConflict: streams are in the way; nothing was done.
        RestoreFailed: some streams were refused or are not as they were; the others are there.
        LinkError: the link was lost in the middle; the note on it says how far it was.
        OSError: what the disk says.
    """
    account = _Account(nc, js)
    saved = found_in(Path(folder), streams)
    if not data:
        saved = [(place, entry.evolve(archive=None), config) for place, entry, config in saved]
    checked(saved, tell)
    there = account.js.inventory(consumers=False).streams
    _all_there(there)
    plan = planned(
        [(entry, config) for _, entry, config in saved],
        {each.config.name: each for each in there},
        update=update,
    )
    places = {each[1].name: each for each in saved}
    done: list[Restored] = []
    failures: dict[str, str] = {}
    for number, (entry, deed) in enumerate(plan, 1):
        progress = Progress(
            deed=deed.name.lower(),
            stream=entry.name,
            phase=Phase.BEGUN,
            number=number,
            of=len(plan),
            total=entry.size if deed is Deed.RESTORE else 0,
        )
        try:
            with Teller(progress, tell) as teller:
                done.append(account.put_back(places[entry.name], deed, teller))
        except LinkError as error:
            names = ", ".join(each.stream for each in done) or "none"
            error.add_note(
                f"restored before: {names}; look whether a part of {entry.name} is there, and delete it"
            )
            raise
        except JsprotoError as error:
            failures[entry.name] = str(error)
    if failures:
        words = "; ".join(f"{name}: {why}" for name, why in failures.items())
        raise RestoreFailed(
            f"expected {len(plan)} streams as they were, {len(failures)} are not: {words}", failures
        )
    return tuple(done)


# ------------------------------------------------------------------------------------------------ messages there and back


class _Account:
    """Where streams are taken from, or put.

    Attributes:
        js: its friendly methods.
    """

    __slots__ = ("_nc", "_pure", "js")

    def __init__(self, nc: SyncClient, js: SyncJetStream | None) -> None:
        self.js = js or nc.jetstream()
        self._nc = nc
        #: Its conversations can be looked into while they are driven.
        self._pure = JetStream(domain=self.js.domain, prefix=self.js.prefix, timeout=self.js.timeout)

    def take(self, place: Path, entry: SavedStream, teller: Teller, *, check: bool) -> SavedStream:
        """Write the archive of a stream, and what the server says beside it."""
        snapshot = self._pure.stream(entry.name).snapshot(check=check)
        digest = sha256()
        archive = place / archive_name(self._nc.info.version)
        with placed(archive) as file, self._nc.stream(snapshot) as chunks:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                teller.passed(len(chunk))
        origin = snapshot.origin or Origin({})
        state = origin.state
        written(place / ORIGIN, as_file(origin))
        return entry.evolve(
            archive=archive.name,
            size=snapshot.size,
            sha256=digest.hexdigest(),
            messages=state.messages,
            last_seq=state.last_seq,
        )

    def put_back(self, found: Found, deed: Deed, teller: Teller) -> Restored:
        """Make a stream with its consumers, or bring them up to date."""
        place, entry, config = found
        stream = self.js.stream(entry.name)
        there: Sequence[str] = ()
        if deed is Deed.RESTORE:
            self._unpack(place, entry, teller)
            there = stream.consumer_names()
        elif deed is Deed.UPDATE:
            self.js.update_stream(config)
        else:
            self.js.create_stream(config)
        wanted = [each for each in entry.consumers if each not in there]
        for name in wanted:
            stream.create_or_update_consumer(consumer_of(place, name))
        teller.words = entry.note or ""
        return Restored(stream=entry.name, deed=deed, consumers=tuple(wanted), words=teller.words)

    def _unpack(self, place: Path, entry: SavedStream, teller: Teller) -> None:
        """Make a stream of its archive, and compare it with what was saved."""
        origin = read_origin((place / ORIGIN).read_bytes(), str(place / ORIGIN))
        sink = self._nc.sink(self._pure.restore(origin))
        with (place / str(entry.archive)).open("rb") as file, sink:
            while chunk := file.read(min(CHUNK, self._nc.info.max_payload)):
                sink.put(chunk)
                teller.passed(len(chunk))
            sink.drain()
            (made,) = sink.results()
        different = unlike(origin.state, made.state, origin.config)
        if different:
            raise InvalidResponse(
                f"restored, but not as it was: {different}; delete it before another restore"
            )
