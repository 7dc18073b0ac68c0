"""A backup of streams as a folder: names, texts, the manifest, and the plan of a restore.

Adapters read and write the files; this module does no I/O.

Theory. A folder holds

    jsproto.json                        the manifest: the content, and whether it is complete
    streams/ORDERS/backup.json          configuration and state, as the server sent them
    streams/ORDERS/stream.arc.s2        the archive (``stream.tar.s2`` of servers before 2.15)
    streams/ORDERS/stream.json          the configuration, for ``nats stream add --config``
    streams/ORDERS/consumers/NEW.json   a durable consumer, for ``nats consumer add --config``

so that ``nats account restore FOLDER/streams`` and ``nats stream restore FOLDER/streams/ORDERS``
accept it. This module also reads what those commands have written.

*The manifest is written twice.* The first one says that the backup is not complete. When every file
is at its place, the second one says that it is complete, and holds the SHA-256 of each archive. So
an interrupted backup cannot be mistaken for a complete one.

*Names become file names.* Names of streams and consumers hold no dot and no slash, because the
server refuses them. Every other character that a file system could interpret is escaped, so no name
leads out of the folder. A file name is not trusted when it is read: the file holds the name, and
the path must be the one for that name.

*A restore is planned before anything is changed.* An existing stream is a conflict, unless the user
wants to update it. A stream that holds less than the backup is always a conflict, because it may be
left from an interrupted restore.
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeVar, final

from attrs import field, frozen

from jsproto.errors.tree import InvalidResponse, InvalidSubject, LocalProtocolError, shorten
from jsproto.jetstream.api.codecs import FLAG, INTEGER, NAME, TEXT, TEXTS, TIME, ListCodec
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo, StreamState
from jsproto.jetstream.api.document import Document, Nested, member, of
from jsproto.jetstream.api.envelope import parse_object
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.wire.info import release_of
from jsproto.wire.subjects import consumer_name, stream_name

DocumentT = TypeVar("DocumentT", bound=Document)

#: Version of the folder's format.
FORMAT: Final = 1
#: Most replicas of a stream that servers allow.
MAX_REPLICAS: Final = 5
MANIFEST: Final = "jsproto.json"
STREAMS: Final = "streams"
ORIGIN: Final = "backup.json"
CONFIG: Final = "stream.json"
CONSUMERS: Final = "consumers"
#: File names of an archive, the newest format first.
ARCHIVES: Final = ("stream.arc.s2", "stream.tar.s2")

#: Advice about a stream whose name is in use.
WAYS_OUT: Final = (
    "update=True (--update) brings its configuration up to date and leaves its messages,"
    " or delete it first, or restore into another account or domain, where the name is free"
)
_MEMBERS: Final = 8

_UNSAFE: Final = re.compile(r"[^\w=@+ -]|^[ -]| $", re.ASCII)
#: Names that a file system reserves.
_KEPT: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])$", re.IGNORECASE).match


class InvalidBackup(LocalProtocolError, ValueError):
    """A backup is incomplete or damaged, or is no backup. Nothing was restored."""


class RestoreConflict(LocalProtocolError):
    """Existing streams conflict with a restore. Nothing was changed.

    Attributes:
        conflicts: the reason for each of these streams.
    """

    def __init__(self, message: str, conflicts: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.conflicts = dict(conflicts or {})


class RestoreFailed(LocalProtocolError):
    """Some streams were not restored exactly; the others were.

    Attributes:
        failures: the reason for each of these streams.
    """

    def __init__(self, message: str, failures: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})


# ------------------------------------------------------------------------------------ the manifest


@final
@frozen(kw_only=True, repr=False)
class SavedStream(Document):
    """One stream of a backup.

    Attributes:
        name: the name of the stream.
        consumers: names of its durable consumers.
        archive: name of the file with its messages; ``None`` if they were not saved.
        size: bytes of the archive.
        sha256: its digest, in hexadecimal.
        messages: number of messages in it.
        last_seq: sequence of the last message.
        checked: all messages are in the archive. Either the client counted them, or the server
            checked its stored data.
        note: why messages were not saved, if the user wanted that, or why there are fewer than the
            server counted.
    """

    name: str = field(metadata=of(NAME))
    consumers: Sequence[str] = member(TEXTS, ())
    archive: str | None = member(TEXT)
    size: int = member(INTEGER, 0)
    sha256: str = member(TEXT, "")
    messages: int = member(INTEGER, 0)
    last_seq: int = member(INTEGER, 0)
    checked: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    note: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class Manifest(Document):
    """The content of a backup folder.

    Attributes:
        format: version of the folder's format.
        complete: whether all files are there.
        server: version of the server.
        created: when the backup was made.
        streams: the saved streams.
    """

    format: int = member(INTEGER, 0)
    complete: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    server: str = member(TEXT, "")
    created: Timestamp | None = member(TIME)
    streams: Sequence[SavedStream] = member(ListCodec(Nested(SavedStream)), ())


def read_manifest(text: bytes) -> Manifest:
    """Parse the manifest of a complete backup.

    Raises:
        InvalidBackup: it is no manifest, has an unknown format, or the backup was interrupted.
    """
    manifest = _read(Manifest, text, MANIFEST)
    if manifest.format != FORMAT:
        raise InvalidBackup(f"expected a backup of format {FORMAT}, got {manifest.format}")
    if not manifest.complete:
        raise InvalidBackup(
            "expected a complete backup: this one was interrupted, and parts of it are missing"
        )
    for each in manifest.streams:
        check_saved(each)
    names = [each.name for each in manifest.streams]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise InvalidBackup(
            f"expected each stream once in {MANIFEST}, twice seen is {shorten(twice[0])}"
        )
    return manifest


def check_saved(saved: SavedStream) -> None:
    """Check that names from a file are safe in subjects, in paths and in output.

    Raises:
        InvalidBackup: a name is invalid for a stream, a consumer or an archive.
    """
    try:
        stream_name(saved.name)
        for each in saved.consumers:
            consumer_name(each)
    except InvalidSubject as error:
        raise InvalidBackup(
            "expected names of a stream and its consumers for the folder"
            f" {shorten(file_name(saved.name))}: {error}"
        ) from None
    if saved.archive is not None and saved.archive not in ARCHIVES:
        raise InvalidBackup(
            f"expected an archive {' or '.join(ARCHIVES)}, got {shorten(saved.archive)}"
        )


# ------------------------------------------------------------------------------------ names and
# texts


def file_name(name: str) -> str:
    """Return the file name for a stream or consumer.

    It equals the name in nearly all cases, and it never leads out of the folder.
    """
    escaped = _UNSAFE.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="surrogatepass")),
        name,
    )
    return f"%{ord(escaped[0]):02X}{escaped[1:]}" if _KEPT(escaped) else escaped


def archive_name(version: str) -> str:
    """Return the file name for the archive of a server of this version."""
    release = release_of(version)
    return ARCHIVES[0] if release is not None and release >= (2, 15) else ARCHIVES[1]


def as_file(document: Document | Origin) -> bytes:
    """Return a document as a JSON file with one line per member, for users and the nats CLI."""
    members = document.members if isinstance(document, Origin) else document.to_wire()
    return (json.dumps(members, indent=2, ensure_ascii=False) + "\n").encode()


def read_stream_file(text: bytes, about: str = CONFIG) -> StreamConfig:
    """Parse a stream configuration from a file.

    The file holds the configuration, or the output of ``nats stream info --json``.

    Raises:
        InvalidBackup: the file holds none; ``about`` names the file.
    """
    return _read(StreamConfig, text, about, within="config")


def read_consumer_file(text: bytes, about: str = "a consumer's file") -> ConsumerConfig:
    """Parse a consumer configuration from a file; see :func:`read_stream_file`."""
    return _read(ConsumerConfig, text, about, within="config")


def read_origin(text: bytes, about: str = ORIGIN) -> Origin:
    """Parse the configuration and state that are saved with an archive.

    Raises:
        InvalidBackup: configuration or state are missing; ``about`` names the file.
    """
    try:
        origin = Origin(parse_object(text, about))
        if not all(isinstance(origin.members.get(each), Mapping) for each in ("config", "state")):
            old = "configuration" in origin.members
            form = (
                "the form of an old nats tool, without messages: restore it with that tool"
                if old
                else "another form"
            )
            seen = ", ".join(shorten(each) for each in sorted(origin.members)[:_MEMBERS]) or "none"
            raise InvalidBackup(
                "expected the members 'config' and 'state' of a snapshot"
                f" in {about}, got {seen}: this is {form}"
            )
        _ = origin.config, origin.state
    except InvalidResponse as error:
        raise InvalidBackup(
            f"expected configuration and state of a stream in {about}: {error}"
        ) from None
    return origin


def _read(kind: type[DocumentT], text: bytes, about: str, within: str = "") -> DocumentT:
    try:
        members = parse_object(text, about)
        return kind.from_wire(members.get(within) or members, about)
    except InvalidResponse as error:
        raise InvalidBackup(str(error)) from None


# ------------------------------------------------------------------------------------ the plan of a
# restore


class BackupAction(Enum):
    """The actions of a restore for one stream."""

    #: Create it from its archive.
    RESTORE = "RESTORE"
    #: Create it from its configuration, without messages.
    CREATE = "CREATE"
    #: Update the configuration of the existing stream.
    UPDATE = "UPDATE"


def planned(
    saved: Iterable[tuple[SavedStream, StreamConfig]],
    there: Mapping[str, StreamInfo],
    *,
    update: bool,
) -> tuple[tuple[SavedStream, BackupAction], ...]:
    """Return the actions in order: streams that others read from come first.

    Args:
        saved: the saved streams with their configurations.
        there: the existing streams, by name.
        update: update the existing streams.

    Raises:
        RestoreConflict: existing streams conflict with the restore.
    """
    firsts: list[tuple[SavedStream, BackupAction]] = []
    readers: list[tuple[SavedStream, BackupAction]] = []
    conflicts: dict[str, str] = {}
    for each, config in saved:
        info = there.get(each.name)
        deed = (
            BackupAction.UPDATE
            if info is not None
            else BackupAction.CREATE
            if each.archive is None
            else BackupAction.RESTORE
        )
        if info is not None and each.archive is not None and info.state.last_seq < each.last_seq:
            conflicts[each.name] = (
                f"holds less than the backup (last sequence {info.state.last_seq} of"
                f" {each.last_seq}): {_counts(each, info)}; it may be what an interrupted"
                " restore has left; delete it and restore again"
            )
        elif info is not None and not update:
            conflicts[each.name] = f"is there already: {_counts(each, info)}; {WAYS_OUT}"
        (readers if config.mirror is not None or config.sources else firsts).append((each, deed))
    if conflicts:
        words = "; ".join(f"{shorten(name)} {why}" for name, why in conflicts.items())
        raise RestoreConflict(
            f"expected no streams in the way of the restore, got {words}", conflicts
        )
    return (*firsts, *readers)


def _counts(saved: SavedStream, info: StreamInfo) -> str:
    there = f"it holds {info.state.messages} messages up to sequence {info.state.last_seq}"
    if saved.archive is None:
        return f"{there}, the backup none"
    return f"{there}, the backup {saved.messages} up to {saved.last_seq}"


def appeared(name: str) -> str:
    """Return the text for a conflicting stream that did not exist when the restore began."""
    return (
        f"{shorten(name)} appeared during this restore: it was not there when it began."
        " It may hold a part of the backup, or belong to another client: look at it, delete it"
        " and restore again; where a cluster's disks are slow, with fewer replicas"
    )


def unlike(expected: StreamState, seen: StreamState, config: StreamConfig) -> str:
    """Return the difference between a saved and a restored stream; empty if there is none.

    Messages that have expired since the backup are removed at once and do not count as missing.
    """
    if seen.last_seq != expected.last_seq:
        return f"expected last sequence {expected.last_seq}, got {seen.last_seq}"
    aged = (
        config.max_age is not None and config.max_age.total_seconds() > 0
    ) or config.allow_msg_ttl
    if seen.messages != expected.messages and not (aged and seen.messages < expected.messages):
        return f"expected {expected.messages} messages, got {seen.messages}"
    return ""
