"""The streams of one account, on their way into a folder and out of it: one stream at a time."""

# ruff: noqa: SLF001 - how something is done aside is the client's own business

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jsproto.errors import InvalidResponse
from jsproto.errors.tree import shorten
from jsproto.jetstream.api.errors import StreamExists
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.archive import fault_of, may_shrink, missing_in
from jsproto.ops.backup import (
    ORIGIN,
    BackupAction,
    RestoreConflict,
    SavedStream,
    appeared,
    archive_name,
    as_file,
    unlike,
)
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._async_client.facade import AsyncJetStream
from jsproto_io._backup.folder import (
    CHUNK,
    Archive,
    Found,
    consumer_of,
    origin_of,
    written,
)
from jsproto_io._backup.progress import ProgressReporter
from jsproto_io._backup.restored import Restored


class Account:
    """Where streams are taken from, or put.

    Attributes:
        js: its friendly methods.
    """

    __slots__ = ("_nc", "_pure", "_replicas", "js")

    def __init__(
        self, nc: AsyncClient, js: AsyncJetStream | None, replicas: int | None = None
    ) -> None:
        self.js = js or nc.jetstream()
        self._nc = nc
        self._replicas = replicas
        #: Its conversations can be looked into while they are driven.
        self._pure = JetStream(
            domain=self.js.domain, prefix=self.js.prefix, timeout=self.js.timeout
        )

    async def take(
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
        archive = await aside(partial(Archive, place / name))
        with archive:
            async with self._nc.stream(snapshot) as chunks:
                async for chunk in chunks:
                    await aside(partial(archive.write, chunk))
                    teller.passed(len(chunk))
            digest, contents = await aside(archive.done)
        origin = snapshot.origin or Origin({})
        await aside(partial(written, place / ORIGIN, as_file(origin)))
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

    async def put_back(
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
                await self._unpack(place, entry, teller)
            except StreamExists as error:
                raise RestoreConflict(appeared(entry.name), {entry.name: str(error)}) from error
            there = await stream.consumer_names()
        elif deed is BackupAction.UPDATE:
            await self.js.update_stream(config)
        else:
            await self.js.create_stream(config)
        wanted = [each for each in entry.consumers if each not in there]
        for name in wanted:
            consumer = await self._nc._run_in_thread(partial(consumer_of, place, name))
            if self._replicas is not None and (consumer.num_replicas or 0) > self._replicas:
                consumer = consumer.evolve(num_replicas=self._replicas)
            await stream.create_or_update_consumer(consumer)
        teller.words = entry.note or ""
        return Restored(stream=entry.name, deed=deed, consumers=tuple(wanted), words=teller.words)

    async def _unpack(self, place: Path, entry: SavedStream, teller: ProgressReporter) -> None:
        """Make a stream of its archive, and compare it with what was saved."""
        aside = self._nc._run_in_thread
        origin = await aside(partial(origin_of, place))
        if self._replicas is not None:
            origin = origin.replicated(self._replicas)
        archive = place / str(entry.archive)
        file = await aside(lambda: archive.open("rb"))
        different = "no word of it"
        with file:
            more = partial(file.read, min(CHUNK, self._nc.info.max_payload))
            chunk = await aside(more)  # before the server waits for it
            sink = self._nc.sink(self._pure.restore(origin))
            async with sink:
                while chunk:
                    await sink.put(chunk)
                    teller.passed(len(chunk))
                    chunk = await aside(more)
                await sink.drain()
                async for made in sink.results():
                    expected = origin.state.evolve(messages=entry.messages)
                    different = unlike(expected, made.state, origin.config)
        if different:
            raise InvalidResponse(
                f"restored, but not as it was: {different}; delete it before another restore"
            )
