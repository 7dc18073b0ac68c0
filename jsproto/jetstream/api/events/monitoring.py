"""What servers say of themselves, typed: the answers to VARZ, JSZ, CONNZ, HEALTHZ, STATSZ and
USER.INFO.

Theory. These are the documents of the server's monitoring (server/monitor.go, server/events.go, 2.9
to 2.15). They change with each version, so nothing in them is needed, and what this version does
not know is in ``extra``, at every depth. Durations are nanoseconds on the wire and ``timedelta``
here; those that a server writes as text (``rtt``, ``uptime``, ``idle``) are text.
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import final

from attrs import frozen

from jsproto.jetstream.api.codecs import (
    COUNTS,
    DURATION,
    FLAG,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    TIME,
    ListCodec,
)
from jsproto.jetstream.api.config.account import AccountLimits, ApiStats
from jsproto.jetstream.api.config.cluster import ClusterInfo, PeerInfo
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamConfig, StreamSourceInfo, StreamState
from jsproto.jetstream.api.document import Document, Nested, member
from jsproto.jetstream.api.timestamps import Timestamp

# ------------------------------------------------------------------------------------------------ JetStream


@final
@frozen(kw_only=True, repr=False)
class JsLimits(Document):
    """How JetStream is configured on a server. ``sync_interval`` is how long a file may wait to be
    synced.
    """

    max_memory: int = member(INTEGER, 0)
    max_storage: int = member(INTEGER, 0)
    store_dir: str | None = member(TEXT)
    sync_interval: timedelta | None = member(DURATION)
    sync_always: bool | None = member(FLAG)
    domain: str | None = member(TEXT)
    compress_ok: bool | None = member(FLAG)
    unique_tag: str | None = member(TEXT)
    strict: bool | None = member(FLAG)


@frozen(kw_only=True, repr=False)
class JsStats(Document):
    """Use of JetStream, on a server or by an account, in bytes and numbers."""

    memory: int = member(INTEGER, 0)
    storage: int = member(INTEGER, 0)
    reserved_memory: int = member(INTEGER, 0)
    reserved_storage: int = member(INTEGER, 0)
    accounts: int = member(INTEGER, 0)
    ha_assets: int = member(INTEGER, 0)
    api: ApiStats = member(Nested(ApiStats), ApiStats())


@final
@frozen(kw_only=True, repr=False)
class MetaGroup(Document):
    """The group of all servers with JetStream; without a cluster there is none."""

    name: str | None = member(TEXT)
    leader: str | None = member(TEXT)
    peer: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    cluster_size: int = member(INTEGER, 0)
    pending: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class JsOfServer(Document):
    """JetStream as `Varz` and `Statsz` tell it."""

    config: JsLimits | None = member(Nested(JsLimits))
    stats: JsStats | None = member(Nested(JsStats))
    meta: MetaGroup | None = member(Nested(MetaGroup))
    limits: Mapping[str, object] | None = member(OBJECT)


@final
@frozen(kw_only=True, repr=False)
class StreamDetail(Document):
    """A stream, as a server sees it; what is in it depends on what was asked for.

    Attributes:
        consumer_detail: its consumers; ``None`` if they were not asked for, which does not mean
            that there are none.
    """

    name: str = member(TEXT, "")
    created: Timestamp | None = member(TIME)
    cluster: ClusterInfo | None = member(Nested(ClusterInfo))
    config: StreamConfig | None = member(Nested(StreamConfig))
    state: StreamState | None = member(Nested(StreamState))
    consumer_detail: Sequence[ConsumerInfo] | None = member(ListCodec(Nested(ConsumerInfo)))
    mirror: StreamSourceInfo | None = member(Nested(StreamSourceInfo))
    sources: Sequence[StreamSourceInfo] = member(ListCodec(Nested(StreamSourceInfo)), ())
    stream_raft_group: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class AccountDetail(JsStats):
    """What one account has of JetStream on a server; 2**64 - 1 is "no limit" in what is reserved.

    Attributes:
        stream_detail: its streams; ``None`` if they were not asked for, which does not mean that
            there are none.
    """

    name: str = member(TEXT, "")
    id: str = member(TEXT, "")
    limits: AccountLimits | None = member(Nested(AccountLimits))
    stream_detail: Sequence[StreamDetail] | None = member(ListCodec(Nested(StreamDetail)))


@final
@frozen(kw_only=True, repr=False)
class Jsz(JsStats):
    """JetStream on a server, with accounts, streams and consumers if they were asked for.

    Attributes:
        disabled: there is no JetStream on this server.
        account_details: accounts; ``None`` if the answer has no details, because they were not
            asked for: that is not "no accounts".
        total: accounts in all, of which ``account_details`` may be a page.
    """

    server_id: str = member(TEXT, "")
    now: Timestamp | None = member(TIME)
    disabled: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    config: JsLimits | None = member(Nested(JsLimits))
    limits: Mapping[str, object] | None = member(OBJECT)
    streams: int = member(INTEGER, 0)
    consumers: int = member(INTEGER, 0)
    messages: int = member(INTEGER, 0)
    bytes: int = member(INTEGER, 0)
    meta_cluster: MetaGroup | None = member(Nested(MetaGroup))
    account_details: Sequence[AccountDetail] | None = member(ListCodec(Nested(AccountDetail)))
    total: int = member(INTEGER, 0)


# ------------------------------------------------------------------------------------------------ the server


@final
@frozen(kw_only=True, repr=False)
class Varz(Document):
    """Configuration and state of a server as a whole.

    Attributes:
        cpu: percent of one core; ``mem`` bytes in memory.
        auth_timeout: seconds, as ``tls_timeout``.
        slow_consumers: connections that were cut because they did not read.
    """

    server_id: str = member(TEXT, "")
    server_name: str = member(TEXT, "")
    version: str = member(TEXT, "")
    proto: int = member(INTEGER, 0)
    git_commit: str | None = member(TEXT)
    go: str = member(TEXT, "")
    host: str = member(TEXT, "")
    port: int = member(INTEGER, 0)
    auth_required: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    tls_required: bool = member(FLAG, False)  # noqa: FBT003 - the same
    tls_verify: bool = member(FLAG, False)  # noqa: FBT003 - the same
    ip: str | None = member(TEXT)
    connect_urls: Sequence[str] = member(TEXTS, ())
    ws_connect_urls: Sequence[str] = member(TEXTS, ())
    max_connections: int = member(INTEGER, 0)
    max_subscriptions: int = member(INTEGER, 0)
    ping_interval: timedelta | None = member(DURATION)
    ping_max: int = member(INTEGER, 0)
    http_host: str | None = member(TEXT)
    http_port: int = member(INTEGER, 0)
    http_base_path: str | None = member(TEXT)
    https_port: int = member(INTEGER, 0)
    auth_timeout: float = member(NUMBER, 0.0)
    max_control_line: int = member(INTEGER, 0)
    max_payload: int = member(INTEGER, 0)
    max_pending: int = member(INTEGER, 0)
    cluster: Mapping[str, object] | None = member(OBJECT)
    gateway: Mapping[str, object] | None = member(OBJECT)
    leaf: Mapping[str, object] | None = member(OBJECT)
    mqtt: Mapping[str, object] | None = member(OBJECT)
    websocket: Mapping[str, object] | None = member(OBJECT)
    jetstream: JsOfServer | None = member(Nested(JsOfServer))
    tls_timeout: float = member(NUMBER, 0.0)
    write_deadline: timedelta | None = member(DURATION)
    start: Timestamp | None = member(TIME)
    now: Timestamp | None = member(TIME)
    uptime: str = member(TEXT, "")
    mem: int = member(INTEGER, 0)
    cores: int = member(INTEGER, 0)
    gomaxprocs: int = member(INTEGER, 0)
    gomemlimit: int | None = member(INTEGER)
    cpu: float = member(NUMBER, 0.0)
    connections: int = member(INTEGER, 0)
    total_connections: int = member(INTEGER, 0)
    routes: int = member(INTEGER, 0)
    remotes: int = member(INTEGER, 0)
    leafnodes: int = member(INTEGER, 0)
    in_msgs: int = member(INTEGER, 0)
    out_msgs: int = member(INTEGER, 0)
    in_bytes: int = member(INTEGER, 0)
    out_bytes: int = member(INTEGER, 0)
    slow_consumers: int = member(INTEGER, 0)
    slow_consumer_stats: Mapping[str, int] | None = member(COUNTS)
    stale_connections: int | None = member(INTEGER)
    stale_connection_stats: Mapping[str, int] | None = member(COUNTS)
    stalled_clients: int | None = member(INTEGER)
    subscriptions: int = member(INTEGER, 0)
    http_req_stats: Mapping[str, int] | None = member(COUNTS)
    config_load_time: Timestamp | None = member(TIME)
    config_digest: str | None = member(TEXT)
    tags: Sequence[str] = member(TEXTS, ())
    system_account: str | None = member(TEXT)


@final
@frozen(kw_only=True, repr=False)
class Traffic(Document):
    """Messages and bytes of one direction."""

    msgs: int = member(INTEGER, 0)
    bytes: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class Statsz(Document):
    """A server in numbers. ``active_servers`` says how many there are."""

    start: Timestamp | None = member(TIME)
    mem: int = member(INTEGER, 0)
    cores: int = member(INTEGER, 0)
    gomaxprocs: int = member(INTEGER, 0)
    gomemlimit: int | None = member(INTEGER)
    cpu: float = member(NUMBER, 0.0)
    connections: int = member(INTEGER, 0)
    total_connections: int = member(INTEGER, 0)
    active_accounts: int = member(INTEGER, 0)
    subscriptions: int = member(INTEGER, 0)
    sent: Traffic = member(Nested(Traffic), Traffic())
    received: Traffic = member(Nested(Traffic), Traffic())
    slow_consumers: int = member(INTEGER, 0)
    slow_consumer_stats: Mapping[str, int] | None = member(COUNTS)
    active_servers: int = member(INTEGER, 0)
    jetstream: JsOfServer | None = member(Nested(JsOfServer))


@final
@frozen(kw_only=True, repr=False)
class HealthError(Document):
    """One thing that is not well."""

    type: str = member(TEXT, "")
    account: str | None = member(TEXT)
    stream: str | None = member(TEXT)
    consumer: str | None = member(TEXT)
    error: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class Healthz(Document):
    """Whether a server is well.

    Attributes:
        status: ``ok``, or another word; then ``error`` says what is not, or ``errors`` each thing
            if details were asked for.
        status_code: as HTTP would say it; 0 from servers before 2.10.
    """

    status: str = member(TEXT, "")
    status_code: int = member(INTEGER, 0)
    error: str | None = member(TEXT)
    errors: Sequence[HealthError] = member(ListCodec(Nested(HealthError)), ())

    @property
    def well(self) -> bool:
        """Whether it is."""
        return self.status == "ok"


# ------------------------------------------------------------------------------------------------ who is connected


@final
@frozen(kw_only=True, repr=False)
class ConnectionInfo(Document):
    """One connection.

    Attributes:
        cid: its number on that server.
        rtt: the last round trip, as text such as ``4.5ms``; ``uptime`` and ``idle`` likewise.
        stop: when it ended, of one that has; ``reason`` says why.
    """

    cid: int = member(INTEGER, 0)
    kind: str | None = member(TEXT)
    type: str | None = member(TEXT)
    ip: str = member(TEXT, "")
    port: int = member(INTEGER, 0)
    start: Timestamp | None = member(TIME)
    last_activity: Timestamp | None = member(TIME)
    stop: Timestamp | None = member(TIME)
    reason: str | None = member(TEXT)
    rtt: str | None = member(TEXT)
    uptime: str = member(TEXT, "")
    idle: str = member(TEXT, "")
    pending_bytes: int = member(INTEGER, 0)
    in_msgs: int = member(INTEGER, 0)
    out_msgs: int = member(INTEGER, 0)
    in_bytes: int = member(INTEGER, 0)
    out_bytes: int = member(INTEGER, 0)
    subscriptions: int = member(INTEGER, 0)
    name: str | None = member(TEXT)
    lang: str | None = member(TEXT)
    version: str | None = member(TEXT)
    tls_version: str | None = member(TEXT)
    tls_cipher_suite: str | None = member(TEXT)
    authorized_user: str | None = member(TEXT)
    account: str | None = member(TEXT)
    subscriptions_list: Sequence[str] = member(TEXTS, ())


@final
@frozen(kw_only=True, repr=False)
class Connz(Document):
    """Connections of clients: ``connections`` are ``num_connections`` of ``total``, from ``offset``
    on.
    """

    server_id: str = member(TEXT, "")
    now: Timestamp | None = member(TIME)
    num_connections: int = member(INTEGER, 0)
    total: int = member(INTEGER, 0)
    offset: int = member(INTEGER, 0)
    limit: int = member(INTEGER, 0)
    connections: Sequence[ConnectionInfo] = member(ListCodec(Nested(ConnectionInfo)), ())

    @property
    def next_offset(self) -> int | None:
        """The ``offset`` to ask for the next page with; ``None`` behind the last one, also if there
        are fewer by now than there were.

        Servers sort a page by what may change: keep one connection of each ``cid``, a connection
        may be seen twice.
        """
        reached = self.offset + len(self.connections)
        return reached if self.connections and reached < self.total else None


@final
@frozen(kw_only=True, repr=False)
class Subjects(Document):
    """What may be published to, or subscribed to."""

    allow: Sequence[str] = member(TEXTS, ())
    deny: Sequence[str] = member(TEXTS, ())


@final
@frozen(kw_only=True, repr=False)
class Responses(Document):
    """How often, and how long, a reply subject may be answered."""

    max: int = member(INTEGER, 0)
    ttl: timedelta | None = member(DURATION)


@final
@frozen(kw_only=True, repr=False)
class UserPermissions(Document):
    """What a user may do; a part that is not there has no restriction."""

    publish: Subjects | None = member(Nested(Subjects))
    subscribe: Subjects | None = member(Nested(Subjects))
    responses: Responses | None = member(Nested(Responses))


@final
@frozen(kw_only=True, repr=False)
class UserInfo(Document):
    """Who we are to the server. ``expires`` is how long our credentials are still good for."""

    user: str = member(TEXT, "")
    account: str = member(TEXT, "")
    permissions: UserPermissions | None = member(Nested(UserPermissions))
    expires: timedelta | None = member(DURATION)
