"""Account information: usage and limits."""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from attrs import frozen

from jsproto.jetstream.api.codecs import FLAG, INTEGER, TEXT, MapCodec
from jsproto.jetstream.api.document import Document, Nested, mapping, member


@final
@frozen(kw_only=True, repr=False)
class AccountLimits(Document):
    """Limits of an account or tier; -1 means none."""

    max_memory: int = member(INTEGER, 0)
    max_storage: int = member(INTEGER, 0)
    max_streams: int = member(INTEGER, 0)
    max_consumers: int = member(INTEGER, 0)
    max_ack_pending: int = member(INTEGER, 0)
    memory_max_stream_bytes: int = member(INTEGER, 0)
    storage_max_stream_bytes: int = member(INTEGER, 0)
    max_bytes_required: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default


@final
@frozen(kw_only=True, repr=False)
class ApiStats(Document):
    """Usage of the API. ``level`` is 0 for servers before 2.11, which do not send it."""

    level: int = member(INTEGER, 0)
    total: int = member(INTEGER, 0)
    errors: int = member(INTEGER, 0)
    inflight: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class AccountTier(Document):
    """Usage and limits of one tier, such as R1 or R3."""

    memory: int = member(INTEGER, 0)
    storage: int = member(INTEGER, 0)
    reserved_memory: int = member(INTEGER, 0)
    reserved_storage: int = member(INTEGER, 0)
    streams: int = member(INTEGER, 0)
    consumers: int = member(INTEGER, 0)
    limits: AccountLimits = member(Nested(AccountLimits), AccountLimits())


@final
@frozen(kw_only=True, repr=False)
class AccountInfo(Document):
    """Usage and limits of an account; servers may omit any member."""

    memory: int = member(INTEGER, 0)
    storage: int = member(INTEGER, 0)
    reserved_memory: int = member(INTEGER, 0)
    reserved_storage: int = member(INTEGER, 0)
    streams: int = member(INTEGER, 0)
    consumers: int = member(INTEGER, 0)
    limits: AccountLimits = member(Nested(AccountLimits), AccountLimits())
    tiers: Mapping[str, AccountTier] = mapping(MapCodec(Nested(AccountTier)))
    domain: str | None = member(TEXT)
    api: ApiStats = member(Nested(ApiStats), ApiStats())
