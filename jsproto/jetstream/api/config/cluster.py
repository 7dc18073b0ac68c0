"""Which servers hold a stream or consumer, how well they are, and which ones shall hold it.

While a group is being moved, or changes its size, its state says what is wished for and how far
that is (2.15): see :class:`DesiredCluster`. Older servers show the new peers among the replicas and
nothing else.
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import final

from attrs import frozen

from jsproto.jetstream.api.codecs import AGO, FLAG, INTEGER, TEXT, TEXTS, TIME, EnumCodec, ListCodec
from jsproto.jetstream.api.config.enums import RetentionPolicy
from jsproto.jetstream.api.document import Document, Nested, member
from jsproto.jetstream.api.timestamps import Timestamp


@final
@frozen(kw_only=True, repr=False)
class Placement(Document):
    """Which servers may hold a stream."""

    cluster: str | None = member(TEXT)
    tags: Sequence[str] = member(TEXTS, ())
    preferred: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class PeerInfo(Document):
    """A follower: ``active`` is how long ago it was heard of (``None``: never), ``lag`` how many
    operations it is behind.

    Attributes:
        pending: it shall hold a part, and is not of the group yet (2.15).
    """

    name: str = member(TEXT, "")
    current: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    observer: bool | None = member(FLAG)
    offline: bool = member(FLAG, False)  # noqa: FBT003 - the same
    active: timedelta | None = member(AGO)
    lag: int = member(INTEGER, 0)
    peer: str | None = member(TEXT)
    pending: bool | None = member(FLAG)


@final
@frozen(kw_only=True, repr=False)
class DesiredOrigin(Document):
    """What a group had before it was changed, and has again if the change is cancelled (2.15)."""

    replicas: int = member(INTEGER, 0)
    placement: Placement | None = member(Nested(Placement))
    retention: RetentionPolicy | str | None = member(EnumCodec(RetentionPolicy))


@final
@frozen(kw_only=True, repr=False)
class DesiredStatus(Document):
    """What a change of a group waits for (2.15).

    Attributes:
        description: in words.
        type: in one word, such as ``catchup``, ``membership`` or ``blocked``.
        err: what went wrong, if it does not pass by itself.
    """

    description: str = member(TEXT, "")
    type: str = member(TEXT, "")
    err: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class DesiredCluster(Document):
    """Where a group is going: the servers that shall hold it, and how far that is (2.15)."""

    created: Timestamp | None = member(TIME)
    name: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    origin: DesiredOrigin | None = member(Nested(DesiredOrigin))
    status: DesiredStatus | None = member(Nested(DesiredStatus))


@final
@frozen(kw_only=True, repr=False)
class ClusterInfo(Document):
    """The group of servers behind a stream or consumer. ``leader`` is ``None`` during an election.

    Attributes:
        desired: what it is being changed to; ``None`` if it stays (2.15).
    """

    name: str | None = member(TEXT)
    raft_group: str | None = member(TEXT)
    leader: str | None = member(TEXT)
    leader_since: Timestamp | None = member(TIME)
    system_account: bool | None = member(FLAG)
    traffic_account: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    desired: DesiredCluster | None = member(Nested(DesiredCluster))
