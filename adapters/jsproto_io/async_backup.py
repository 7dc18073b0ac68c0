"""Backups in folders: streams of an account, with or without messages, written and put back by a
client with ``await``.

Theory. What the folder looks like, what a complete backup is and in which order it is put back is
decided in `jsproto.ops.backup`; here messages pass through. An archive is hashed while it streams
by, and never held in memory. Before anything is restored every digest is checked.

Both verbs wait for disks. What touches one is done aside, in a thread where there is an event loop;
``tell`` is called by the caller's own task. `jsproto_io.backup` is the same for a blocking client,
written from this file by ``_client/generate.py``.
"""

# ruff: noqa: SLF001 - how something is done aside is the client's own business

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from time import time_ns
from typing import Any

from jsproto.errors import InvalidResponse, JsprotoError, LinkError
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.enums import StorageType
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import JetStreamError
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.ops.backup import (
    FORMAT,
    MANIFEST,
    STREAMS,
    BackupAction,
    Manifest,
    RestoreFailed,
    SavedStream,
    as_file,
    file_name,
    planned,
)
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.facade import AsyncJetStream
from jsproto_io._backup.async_account import Account
from jsproto_io._backup.folder import (
    Check,
    Found,
    begun,
    check_replicas,
    configured,
    found_in,
    load_consumer,
    load_stream,
    save,
    written,
)
from jsproto_io._backup.progress import Phase, Progress, ProgressReporter, Tell, silent
from jsproto_io._backup.restored import Restored

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


async def back_up(
    nc: AsyncClient,
    folder: str | Path,
    *,
    js: AsyncJetStream | None = None,
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
    account = Account(nc, js)
    infos = await _chosen(account.js, streams)
    root = Path(folder)
    manifest = Manifest(format=FORMAT, server=nc.info.version, created=Timestamp(time_ns()))
    await nc._run_in_thread(partial(begun, root, as_file(manifest)))
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
            entry = await nc._run_in_thread(partial(configured, place, info, consumers))
            try:
                if data:
                    entry = await account.take(place, entry, teller, check=check)
            except JetStreamError as error:
                if info.config.storage is not StorageType.MEMORY:
                    raise
                teller.words = f"messages were not saved: {error}"
                entry = entry.evolve(note=teller.words)
            saved.append(entry)
    manifest = manifest.evolve(complete=True, streams=saved)
    await nc._run_in_thread(partial(written, root / MANIFEST, as_file(manifest)))
    return manifest


async def _chosen(
    js: AsyncJetStream, streams: Iterable[str] | None
) -> list[tuple[StreamInfo, Listing[ConsumerInfo]]]:
    """What is to be saved, and nothing of it is missing."""
    chosen: list[tuple[StreamInfo, Listing[ConsumerInfo]]] = []
    if streams is None:
        there = await js.inventory()
        _all_there(there.streams)
        chosen.extend((info, there.consumers[info.config.name]) for info in there.streams)
    else:
        for name in dict.fromkeys(streams):
            info = await js.stream_info(name)
            chosen.append((info, await js.stream(name).consumers()))
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


async def restore(
    nc: AsyncClient,
    folder: str | Path,
    *,
    js: AsyncJetStream | None = None,
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
    account = Account(nc, js, replicas)
    saved = await nc._run_in_thread(partial(found_in, Path(folder), streams))
    if not data:
        saved = [(place, entry.evolve(archive=None), config) for place, entry, config in saved]
    await _checked(nc, saved, tell)
    inventory = await account.js.inventory(consumers=False)
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
                done.append(await account.put_back(places[entry.name], deed, teller))
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


async def _checked(nc: AsyncClient, saved: Sequence[Found], tell: Tell) -> None:
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
            check = await nc._run_in_thread(partial(Check, place, entry))
            with check:
                while size := await nc._run_in_thread(check.step):
                    teller.passed(size)


# ------------------------------------------------------------------------------------------------ messages there and back
