"""Which servers hold a stream or consumer, and how well they are."""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import final

from attrs import frozen

from jsproto.jetstream.api.document import Document, Nested, member
from jsproto.jetstream.api.forms import DURATION, FLAG, INTEGER, TEXT, TIME, Many
from jsproto.jetstream.api.values import Timestamp


@final
@frozen(kw_only=True, repr=False)
class PeerInfo(Document):
    """A follower: ``active`` is how long ago it was heard of, ``lag`` how many operations it is behind."""

    name: str = member(TEXT, "")
    current: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    observer: bool | None = member(FLAG)
    offline: bool = member(FLAG, False)  # noqa: FBT003 - the same
    active: timedelta | None = member(DURATION)
    lag: int = member(INTEGER, 0)
    peer: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class ClusterInfo(Document):
    """The group of servers behind a stream or consumer. ``leader`` is ``None`` during an election."""

    name: str | None = member(TEXT)
    raft_group: str | None = member(TEXT)
    leader: str | None = member(TEXT)
    leader_since: Timestamp | None = member(TIME)
    system_account: bool | None = member(FLAG)
    traffic_account: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(Many(Nested(PeerInfo)), ())
