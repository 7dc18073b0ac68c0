"""A backup of streams as a folder: names, texts, the manifest, and the plan of a restore. Who reads
and writes files is elsewhere.

Theory. A folder holds

    jsproto.json                            the manifest: what is here, and whether it is all
    streams/ORDERS/backup.json              configuration and state, as the server said them beside
    the archive streams/ORDERS/stream.arc.s2            the archive (``stream.tar.s2`` of servers
    before 2.15) streams/ORDERS/stream.json              the configuration, as ``nats stream add
    --config`` reads it streams/ORDERS/consumers/NEW.json       a durable consumer's, as ``nats
    consumer add --config`` reads it

so that ``nats account restore FOLDER/streams`` and ``nats stream restore FOLDER/streams/ORDERS``
understand it, and what they have written is understood here.

*The manifest is written twice*: first saying that it is not complete, and in the end, when every
file is where it belongs, saying that it is, with the SHA-256 of each archive. What was interrupted
can so never be taken for whole.

*Names become files.* Names of streams and consumers hold no dot and no slash (the server refuses
them), and whatever else a file system could take for something of its own is escaped, so no name
leads out of the folder. The way back is not trusted: the name stands in the file, and the file must
be where that name belongs.

*A restore is planned before anything is changed.* A stream that is there already is in the way,
unless it shall be brought up to date; and if it holds less than the backup, it may be what an
interrupted restore has left, and is in the way in any case.
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

#: Version of the form of the folder.
FORMAT: Final = 1
#: Replicas of a stream that servers know at most.
MAX_REPLICAS: Final = 5
MANIFEST: Final = "jsproto.json"
STREAMS: Final = "streams"
ORIGIN: Final = "backup.json"
CONFIG: Final = "stream.json"
CONSUMERS: Final = "consumers"
#: How an archive is called, the newest form first.
ARCHIVES: Final = ("stream.arc.s2", "stream.tar.s2")

#: What can be done about a stream whose name is in use.
WAYS_OUT: Final = (
    "update=True (--update) brings its configuration up to date and leaves its messages, or delete it first, "
    "or restore into another account or domain, where the name is free"
)
_MEMBERS: Final = 8

_UNSAFE: Final = re.compile(r"[^\w=@+ -]|^[ -]| $", re.ASCII)
#: Names that one file system or another keeps for itself.
_KEPT: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])$", re.IGNORECASE).match


class InvalidBackup(LocalProtocolError, ValueError):
    """A backup that is not complete, damaged, or none at all. Nothing was restored."""


class RestoreConflict(LocalProtocolError):
    """Streams are in the way of a restore. Nothing was changed.

    Attributes:
        conflicts: for each of these streams, why.
    """

    def __init__(self, message: str, conflicts: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.conflicts = dict(conflicts or {})


class RestoreFailed(LocalProtocolError):
    """Some streams were not restored as they were; the others are there.

    Attributes:
        failures: for each of these streams, why.
    """

    def __init__(self, message: str, failures: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.failures = dict(failures or {})


# ------------------------------------------------------------------------------------------------ the manifest


@final
@frozen(kw_only=True, repr=False)
class SavedStream(Document):
    """What was saved of a stream.

    Attributes:
        name: of the stream.
        consumers: names of its durable consumers.
        archive: name of the file with its messages; ``None`` if they were not saved.
        size: bytes of the archive.
        sha256: its digest, in hexadecimal.
        messages: how many are in it.
        last_seq: sequence of the last message.
        checked: all messages are in the archive: they were counted here, or the server checked what
            it stores.
        note: why messages were not saved, if that was wished for, or why there are fewer than the
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
    """What a folder holds.

    Attributes:
        format: version of the form of the folder.
        complete: everything is there.
        server: version of the server that it is of.
        created: when.
        streams: what was saved.
    """

    format: int = member(INTEGER, 0)
    complete: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    server: str = member(TEXT, "")
    created: Timestamp | None = member(TIME)
    streams: Sequence[SavedStream] = member(ListCodec(Nested(SavedStream)), ())


def read_manifest(text: bytes) -> Manifest:
    """The manifest of a backup that is complete.

    Raises:
        InvalidBackup: it is none, of a form that is not known here, or the backup was interrupted.
    """
    manifest = _read(Manifest, text, MANIFEST)
    if manifest.format != FORMAT:
        raise InvalidBackup(f"expected a backup of format {FORMAT}, got {manifest.format}")
    if not manifest.complete:
        raise InvalidBackup(
            "expected a complete backup: this one was interrupted, what there is of it is not all"
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
    """See that names out of a file can be used: in subjects, in paths and in what people read.

    Raises:
        InvalidBackup: a name is none of a stream, a consumer or an archive.
    """
    try:
        stream_name(saved.name)
        for each in saved.consumers:
            consumer_name(each)
    except InvalidSubject as error:
        raise InvalidBackup(
            f"expected names of a stream and its consumers for the folder {shorten(file_name(saved.name))}: {error}"
        ) from None
    if saved.archive is not None and saved.archive not in ARCHIVES:
        raise InvalidBackup(
            f"expected an archive {' or '.join(ARCHIVES)}, got {shorten(saved.archive)}"
        )


# ------------------------------------------------------------------------------------------------ names and texts


def file_name(name: str) -> str:
    """A name of a stream or consumer as the name of a file: the same for almost all, and never a
    way out of a folder.
    """
    escaped = _UNSAFE.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode(errors="surrogatepass")),
        name,
    )
    return f"%{ord(escaped[0]):02X}{escaped[1:]}" if _KEPT(escaped) else escaped


def archive_name(version: str) -> str:
    """What the archive of a server of this version is called."""
    release = release_of(version)
    return ARCHIVES[0] if release is not None and release >= (2, 15) else ARCHIVES[1]


def as_file(document: Document | Origin) -> bytes:
    """A document as a file for people and for the ``nats`` tool: JSON with a line for each member."""
    members = document.members if isinstance(document, Origin) else document.to_wire()
    return (json.dumps(members, indent=2, ensure_ascii=False) + "\n").encode()


def read_stream_file(text: bytes, about: str = CONFIG) -> StreamConfig:
    """The configuration of a stream from a file: by itself, or within what ``nats stream info
    --json`` prints.

    Raises:
        InvalidBackup: it is none; ``about`` names the file.
    """
    return _read(StreamConfig, text, about, within="config")


def read_consumer_file(text: bytes, about: str = "a consumer's file") -> ConsumerConfig:
    """The configuration of a consumer from a file; see :func:`read_stream_file`."""
    return _read(ConsumerConfig, text, about, within="config")


def read_origin(text: bytes, about: str = ORIGIN) -> Origin:
    """What stands beside an archive.

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
                f"expected the members 'config' and 'state' of a snapshot in {about}, got {seen}: this is {form}"
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


# ------------------------------------------------------------------------------------------------ the plan of a restore


class BackupAction(Enum):
    """What a restore does with a stream."""

    #: Make it of its archive.
    RESTORE = "RESTORE"
    #: Make it of its configuration, without messages.
    CREATE = "CREATE"
    #: Bring the configuration of the one that is there up to date.
    UPDATE = "UPDATE"


def planned(
    saved: Iterable[tuple[SavedStream, StreamConfig]],
    there: Mapping[str, StreamInfo],
    *,
    update: bool,
) -> tuple[tuple[SavedStream, BackupAction], ...]:
    """What to do, in order: streams that others read from come first.

    Args:
        saved: what was saved, with the configurations.
        there: the streams that there are, by name.
        update: bring those that are there up to date.

    Raises:
        RestoreConflict: streams are in the way.
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
                f"holds less than the backup (last sequence {info.state.last_seq} of {each.last_seq}): {_counts(each, info)}; "
                f"it may be what an interrupted restore has left; delete it and restore anew"
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
    """What to say of a stream that was not there when a restore began, and was in the way when its
    turn came.
    """
    return (
        f"{shorten(name)} appeared during this restore: it was not there when it began. It may hold a part of the backup, or be "
        f"somebody else's: look at it, delete it and restore anew; where a cluster's disks are slow, with fewer replicas"
    )


def unlike(expected: StreamState, seen: StreamState, config: StreamConfig) -> str:
    """In what a restored stream is not what was saved; empty if it is.

    Messages that have grown too old since then are gone at once, and are not missed.
    """
    if seen.last_seq != expected.last_seq:
        return f"expected last sequence {expected.last_seq}, got {seen.last_seq}"
    aged = (
        config.max_age is not None and config.max_age.total_seconds() > 0
    ) or config.allow_msg_ttl
    if seen.messages != expected.messages and not (aged and seen.messages < expected.messages):
        return f"expected {expected.messages} messages, got {seen.messages}"
    return ""
