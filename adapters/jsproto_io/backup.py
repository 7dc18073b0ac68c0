"""Backups in folders, by a blocking client. Made by ``_client/generate.py`` from `jsproto_io.async_backup`: do not edit."""

# ruff: noqa: SLF001 - how something is done aside is the client's own business

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from time import time_ns
from typing import Any, final

from attrs import frozen

from jsproto.errors import InvalidResponse, JsprotoError, LinkError
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.enums import StorageType
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import JetStreamError, StreamExists
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.archive import fault_of, may_shrink, missing_in
from jsproto.ops.backup import (
    FORMAT,
    MANIFEST,
    ORIGIN,
    STREAMS,
    BackupAction,
    Manifest,
    RestoreConflict,
    RestoreFailed,
    SavedStream,
    appeared,
    archive_name,
    as_file,
    file_name,
    planned,
    unlike,
)
from jsproto_io._sync_client.client import SyncClient
from jsproto_io._sync_client.facade import SyncJetStream
from jsproto_io._backup.folder import (
    CHUNK,
    Archive,
    Check,
    Found,
    begun,
    check_replicas,
    configured,
    consumer_of,
    found_in,
    load_consumer,
    load_stream,
    origin_of,
    save,
    written,
)
from jsproto_io._backup.progress import Phase, Progress, ProgressReporter, Tell, silent

__all__ = [
    "Phase",
    "Progress",
    "Restored",
    "back_up",
    "load_consumer",
    "load_stream",
    "restore",
    "save",
]

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
        data: also save messages. Older servers do not give those of streams in memory: the manifest
            has a note then.
        check: let the server check what it stores first, which takes longer. What came is looked at
            in any case: an archive that says that the server failed, that has no end, or that lacks
            messages of a stream which does not lose any by itself, is an error. Servers before 2.15
            send archives whose messages are not counted here: ``checked`` of a saved stream says
            so.
        tell: is called with each `Progress`, by the caller's own task: it may take long, but must
            not block an event loop.

    Returns:
        What was saved, as it stands in the folder too.

    Raises:
        InvalidConfig: the folder is not empty; nothing was done.
        StreamNotFound: one that was named is not there; nothing was done.
        InvalidResponse: a cluster could not say all of its streams or consumers; nothing was done.
            Or what came of a stream is not all of it; the folder says that the backup is not
            complete.
        JsprotoError: a snapshot broke; the folder says that the backup is not complete.
        OSError: what the disk says.
    """
    account = _Account(nc, js)
    infos = _chosen(account.js, streams)
    root = Path(folder)
    manifest = Manifest(format=FORMAT, server=nc.info.version, created=Timestamp(time_ns()))
    nc._run_in_thread(partial(begun, root, as_file(manifest)))
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
        with ProgressReporter(progress, tell) as teller:
            place = root / STREAMS / file_name(info.config.name)
            entry = nc._run_in_thread(partial(configured, place, info, consumers))
            try:
                if data:
                    entry = account.take(place, entry, teller, check=check)
            except JetStreamError as error:
                if info.config.storage is not StorageType.MEMORY:
                    raise
                teller.words = f"messages were not saved: {error}"
                entry = entry.evolve(note=teller.words)
            saved.append(entry)
    manifest = manifest.evolve(complete=True, streams=saved)
    nc._run_in_thread(partial(written, root / MANIFEST, as_file(manifest)))
    return manifest


def _chosen(
    js: SyncJetStream, streams: Iterable[str] | None
) -> list[tuple[StreamInfo, Listing[ConsumerInfo]]]:
    """What is to be saved, and nothing of it is missing."""
    chosen: list[tuple[StreamInfo, Listing[ConsumerInfo]]] = []
    if streams is None:
        there = js.inventory()
        _all_there(there.streams)
        chosen.extend((info, there.consumers[info.config.name]) for info in there.streams)
    else:
        for name in dict.fromkeys(streams):
            info = js.stream_info(name)
            chosen.append((info, js.stream(name).consumers()))
    for _, consumers in chosen:
        _all_there(consumers)
    return chosen


def _all_there(listed: Listing[Any]) -> None:
    if not listed.complete:
        names = (
            ", ".join([*listed.missing, *listed.offline]) or f"{listed.total - len(listed)} more"
        )
        raise InvalidResponse(
            f"expected the servers to say all that there is, missing are {shorten(names)}"
        )


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
    deed: BackupAction
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
    replicas: int | None = None,
    tell: Tell = silent,
) -> tuple[Restored, ...]:
    """Put streams back out of a folder that `back_up` or the ``nats`` tool has written.

    First everything in the folder is checked, then what is on the server; only then something is
    done. Each stream that was restored is compared with what was saved.

    Args:
        nc: where to.
        folder: of a whole backup, or of one stream.
        js: another domain or API prefix than the client's own.
        streams: only these.
        data: restore messages too; else streams are made empty.
        update: bring streams that are there up to date with the saved configurations; their
            messages stay as they are.
        replicas: so many of each stream, and at most so many of each consumer, instead of what was
            saved.
        tell: is called with each `Progress`.

    Raises:
        InvalidBackup: the backup is not complete, or damaged; nothing was done.
        RestoreConflict: streams are in the way; nothing was done. It says what they hold, and what
            can be done.
        InvalidConfig: replicas that cannot be; nothing was done.
        RestoreFailed: some streams were refused or are not as they were; the others are there.
        LinkError: the link was lost in the middle; the note on it says how far it was.
        OSError: what the disk says.
    """
    check_replicas(replicas)
    account = _Account(nc, js, replicas)
    saved = nc._run_in_thread(partial(found_in, Path(folder), streams))
    if not data:
        saved = [(place, entry.evolve(archive=None), config) for place, entry, config in saved]
    _checked(nc, saved, tell)
    inventory = account.js.inventory(consumers=False)
    _all_there(inventory.streams)
    plan = planned(
        [(entry, config) for _, entry, config in saved],
        {each.config.name: each for each in inventory.streams},
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
            total=entry.size if deed is BackupAction.RESTORE else 0,
        )
        try:
            with ProgressReporter(progress, tell) as teller:
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


def _checked(nc: SyncClient, saved: Sequence[Found], tell: Tell) -> None:
    """Every archive is the one that was written, and every file can be read, before one of them is
    used.
    """
    for number, (place, entry, _) in enumerate(saved, 1):
        progress = Progress(
            deed="check",
            stream=entry.name,
            phase=Phase.BEGUN,
            number=number,
            of=len(saved),
            total=entry.size,
        )
        with ProgressReporter(progress, tell) as teller:
            check = nc._run_in_thread(partial(Check, place, entry))
            with check:
                while size := nc._run_in_thread(check.step):
                    teller.passed(size)


# ------------------------------------------------------------------------------------------------ messages there and back


class _Account:
    """Where streams are taken from, or put.

    Attributes:
        js: its friendly methods.
    """

    __slots__ = ("_nc", "_pure", "_replicas", "js")

    def __init__(
        self, nc: SyncClient, js: SyncJetStream | None, replicas: int | None = None
    ) -> None:
        self.js = js or nc.jetstream()
        self._nc = nc
        self._replicas = replicas
        #: Its conversations can be looked into while they are driven.
        self._pure = JetStream(
            domain=self.js.domain, prefix=self.js.prefix, timeout=self.js.timeout
        )

    def take(
        self,
        place: Path,
        entry: SavedStream,
        teller: ProgressReporter,
        *,
        check: bool,
    ) -> SavedStream:
        """Write the archive of a stream, and what the server says beside it."""
        aside = self._nc._run_in_thread
        snapshot = self._pure.stream(entry.name).snapshot(check=check)
        name = archive_name(self._nc.info.version)
        archive = aside(partial(Archive, place / name))
        with archive:
            with self._nc.stream(snapshot) as chunks:
                for chunk in chunks:
                    aside(partial(archive.write, chunk))
                    teller.passed(len(chunk))
            digest, contents = aside(archive.done)
        origin = snapshot.origin or Origin({})
        aside(partial(written, place / ORIGIN, as_file(origin)))
        fault, missing = fault_of(contents, origin), missing_in(contents, origin)
        if missing and not fault and not may_shrink(origin.config):
            fault = f"{missing}; the others cannot be read, or were deleted meanwhile"
        if fault:
            raise InvalidResponse(
                f"expected all of stream {shorten(entry.name)} from the server: {fault}"
            )
        if missing:
            teller.words = f"{missing}: others have gone since, or cannot be read"
        counted = origin.state.messages if contents.messages is None else contents.messages
        return entry.evolve(
            archive=name,
            size=snapshot.size,
            sha256=digest,
            messages=counted,
            last_seq=origin.state.last_seq,
            checked=check or contents.messages is not None,
            note=teller.words or None,
        )

    def put_back(
        self, found: Found, deed: BackupAction, teller: ProgressReporter
    ) -> Restored:
        """Make a stream with its consumers, or bring them up to date."""
        place, entry, config = found
        if self._replicas is not None:
            config = config.evolve(num_replicas=self._replicas)
        stream = self.js.stream(entry.name)
        there: Sequence[str] = ()
        if deed is BackupAction.RESTORE:
            try:
                self._unpack(place, entry, teller)
            except StreamExists as error:
                raise RestoreConflict(appeared(entry.name), {entry.name: str(error)}) from error
            there = stream.consumer_names()
        elif deed is BackupAction.UPDATE:
            self.js.update_stream(config)
        else:
            self.js.create_stream(config)
        wanted = [each for each in entry.consumers if each not in there]
        for name in wanted:
            consumer = self._nc._run_in_thread(partial(consumer_of, place, name))
            if self._replicas is not None and (consumer.num_replicas or 0) > self._replicas:
                consumer = consumer.evolve(num_replicas=self._replicas)
            stream.create_or_update_consumer(consumer)
        teller.words = entry.note or ""
        return Restored(stream=entry.name, deed=deed, consumers=tuple(wanted), words=teller.words)

    def _unpack(self, place: Path, entry: SavedStream, teller: ProgressReporter) -> None:
        """Make a stream of its archive, and compare it with what was saved."""
        aside = self._nc._run_in_thread
        origin = aside(partial(origin_of, place))
        if self._replicas is not None:
            origin = origin.replicated(self._replicas)
        archive = place / str(entry.archive)
        file = aside(lambda: archive.open("rb"))
        different = "no word of it"
        with file:
            more = partial(file.read, min(CHUNK, self._nc.info.max_payload))
            chunk = aside(more)  # before the server waits for it
            sink = self._nc.sink(self._pure.restore(origin))
            with sink:
                while chunk:
                    sink.put(chunk)
                    teller.passed(len(chunk))
                    chunk = aside(more)
                sink.drain()
                for made in sink.results():
                    expected = origin.state.evolve(messages=entry.messages)
                    different = unlike(expected, made.state, origin.config)
        if different:
            raise InvalidResponse(
                f"restored, but not as it was: {different}; delete it before another restore"
            )
