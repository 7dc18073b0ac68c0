"""The servers that hold a stream or consumer, their health, and the rules for choosing them.

While a group moves or changes its size, its state shows the goal and the progress (2.15): see
:class:`DesiredCluster`. Older servers only list the new peers among the replicas.
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

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
    """A follower of a group.

    Attributes:
        active: time since its last contact, ``None`` if there was none.
        lag: number of operations that it lags.
        pending: whether it will join the group, but has not yet (2.15).
    """

    name: str = member(TEXT, "")
    current: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    observer: bool | None = member(FLAG)
    offline: bool = member(FLAG, False)  # noqa: FBT003 - the same
    active: timedelta | None = member(AGO)
    lag: int = member(INTEGER, 0)
    peer: str | None = member(TEXT)
    pending: bool | None = member(FLAG)


@final
@frozen(kw_only=True, repr=False)
class DesiredOrigin(Document):
    """The settings of a group before a change; cancelling the change restores them (2.15)."""

    replicas: int = member(INTEGER, 0)
    placement: Placement | None = member(Nested(Placement))
    retention: RetentionPolicy | str | None = member(EnumCodec(RetentionPolicy))


@final
@frozen(kw_only=True, repr=False)
class DesiredStatus(Document):
    """What a change of a group is waiting for (2.15).

    Attributes:
        description: a description in words.
        type: one word, such as ``catchup``, ``membership`` or ``blocked``.
        err: an error that needs action, if there is one.
    """

    description: str = member(TEXT, "")
    type: str = member(TEXT, "")
    err: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class DesiredCluster(Document):
    """The goal of a change: the servers that will hold the group, and the progress (2.15)."""

    created: Timestamp | None = member(TIME)
    name: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    origin: DesiredOrigin | None = member(Nested(DesiredOrigin))
    status: DesiredStatus | None = member(Nested(DesiredStatus))


@final
@frozen(kw_only=True, repr=False)
class ClusterInfo(Document):
    """The group of servers of a stream or consumer; ``leader`` is ``None`` during an election.

    Attributes:
        desired: the goal of a running change, ``None`` without one (2.15).
    """

    name: str | None = member(TEXT)
    raft_group: str | None = member(TEXT)
    leader: str | None = member(TEXT)
    leader_since: Timestamp | None = member(TIME)
    system_account: bool | None = member(FLAG)
    traffic_account: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    desired: DesiredCluster | None = member(Nested(DesiredCluster))
