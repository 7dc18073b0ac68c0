"""The answers to VARZ, JSZ, CONNZ, HEALTHZ, STATSZ and USER.INFO as typed documents.

Theory. These are the documents of the server's monitoring (server/monitor.go, server/events.go,
2.9 to 2.15). They change with each version. So no member is required, and unknown members are in
``extra``, at every depth. Durations are nanoseconds on the wire and ``timedelta`` here. Durations
that the server writes as text (``rtt``, ``uptime``, ``idle``) stay text.
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

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

# ------------------------------------------------------------------ JetStream


@final
@frozen(kw_only=True, repr=False)
class JsLimits(Document):
    """The JetStream configuration of a server.

    Attributes:
        sync_interval: the longest time until a file is synced.
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
    """Usage of JetStream, on a server or by an account, in bytes and counts."""

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
    """The group of all JetStream servers; only in a cluster."""

    name: str | None = member(TEXT)
    leader: str | None = member(TEXT)
    peer: str | None = member(TEXT)
    replicas: Sequence[PeerInfo] = member(ListCodec(Nested(PeerInfo)), ())
    cluster_size: int = member(INTEGER, 0)
    pending: int = member(INTEGER, 0)


@final
@frozen(kw_only=True, repr=False)
class JsOfServer(Document):
    """JetStream in `Varz` and `Statsz`."""

    config: JsLimits | None = member(Nested(JsLimits))
    stats: JsStats | None = member(Nested(JsStats))
    meta: MetaGroup | None = member(Nested(MetaGroup))
    limits: Mapping[str, object] | None = member(OBJECT)


@final
@frozen(kw_only=True, repr=False)
class StreamDetail(Document):
    """A stream as a server sees it; the request decides which members are set.

    Attributes:
        consumer_detail: its consumers; ``None`` if they were not requested, not if there are
            none.
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
    """JetStream of one account on a server; a reservation of 2**64 - 1 means "no limit".

    Attributes:
        stream_detail: its streams; ``None`` if they were not requested, not if there are none.
    """

    name: str = member(TEXT, "")
    id: str = member(TEXT, "")
    limits: AccountLimits | None = member(Nested(AccountLimits))
    stream_detail: Sequence[StreamDetail] | None = member(ListCodec(Nested(StreamDetail)))


@final
@frozen(kw_only=True, repr=False)
class Jsz(JsStats):
    """JetStream on a server, with accounts, streams and consumers on request.

    Attributes:
        disabled: JetStream is off on this server.
        account_details: accounts; ``None`` if they were not requested, not if there are none.
        total: total number of accounts; ``account_details`` may be one page of them.
    """

    server_id: str = member(TEXT, "")
    now: Timestamp | None = member(TIME)
    disabled: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    config: JsLimits | None = member(Nested(JsLimits))
    limits: Mapping[str, object] | None = member(OBJECT)
    streams: int = member(INTEGER, 0)
    consumers: int = member(INTEGER, 0)
    messages: int = member(INTEGER, 0)
    bytes: int = member(INTEGER, 0)
    meta_cluster: MetaGroup | None = member(Nested(MetaGroup))
    account_details: Sequence[AccountDetail] | None = member(ListCodec(Nested(AccountDetail)))
    total: int = member(INTEGER, 0)


# ------------------------------------------------------------------ servers


@final
@frozen(kw_only=True, repr=False)
class Varz(Document):
    """General configuration and state of a server.

    Attributes:
        cpu: percent of one core.
        mem: bytes of memory.
        auth_timeout: seconds, like ``tls_timeout``.
        slow_consumers: connections that the server closed because they did not read.
    """

    server_id: str = member(TEXT, "")
    server_name: str = member(TEXT, "")
    version: str = member(TEXT, "")
    proto: int = member(INTEGER, 0)
    git_commit: str | None = member(TEXT)
    go: str = member(TEXT, "")
    host: str = member(TEXT, "")
    port: int = member(INTEGER, 0)
    auth_required: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
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
    """Statistics of a server; ``active_servers`` is the number of servers."""

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
    """One health problem."""

    type: str = member(TEXT, "")
    account: str | None = member(TEXT)
    stream: str | None = member(TEXT)
    consumer: str | None = member(TEXT)
    error: str = member(TEXT, "")


@final
@frozen(kw_only=True, repr=False)
class Healthz(Document):
    """The health of a server.

    Attributes:
        status: ``ok``, or another word; then ``error`` says what is wrong, or ``errors`` lists
            all problems if details were requested.
        status_code: the HTTP status code; 0 from servers before 2.10.
    """

    status: str = member(TEXT, "")
    status_code: int = member(INTEGER, 0)
    error: str | None = member(TEXT)
    errors: Sequence[HealthError] = member(ListCodec(Nested(HealthError)), ())

    @property
    def well(self) -> bool:
        """Whether the server is healthy."""
        return self.status == "ok"


# ------------------------------------------------------------------ connections


@final
@frozen(kw_only=True, repr=False)
class ConnectionInfo(Document):
    """One client connection.

    Attributes:
        cid: its number on that server.
        rtt: the last round trip as text such as ``4.5ms``; ``uptime`` and ``idle`` likewise.
        stop: when it ended, if it has; ``reason`` says why.
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
    """Client connections: one page of ``total``, with ``num_connections`` from ``offset`` on."""

    server_id: str = member(TEXT, "")
    now: Timestamp | None = member(TIME)
    num_connections: int = member(INTEGER, 0)
    total: int = member(INTEGER, 0)
    offset: int = member(INTEGER, 0)
    limit: int = member(INTEGER, 0)
    connections: Sequence[ConnectionInfo] = member(ListCodec(Nested(ConnectionInfo)), ())

    @property
    def next_offset(self) -> int | None:
        """The ``offset`` of the next page; ``None`` after the last page.

        Servers sort pages by values that change, so a connection may appear twice. Keep one
        connection of each ``cid``.
        """
        reached = self.offset + len(self.connections)
        return reached if self.connections and reached < self.total else None


@final
@frozen(kw_only=True, repr=False)
class Subjects(Document):
    """Subjects for publishing or subscribing."""

    allow: Sequence[str] = member(TEXTS, ())
    deny: Sequence[str] = member(TEXTS, ())


@final
@frozen(kw_only=True, repr=False)
class Responses(Document):
    """How often, and for how long, a client may answer on a reply subject."""

    max: int = member(INTEGER, 0)
    ttl: timedelta | None = member(DURATION)


@final
@frozen(kw_only=True, repr=False)
class UserPermissions(Document):
    """The permissions of a user; a missing part has no restriction."""

    publish: Subjects | None = member(Nested(Subjects))
    subscribe: Subjects | None = member(Nested(Subjects))
    responses: Responses | None = member(Nested(Responses))


@final
@frozen(kw_only=True, repr=False)
class UserInfo(Document):
    """The user of this connection; ``expires`` is the remaining lifetime of its credentials."""

    user: str = member(TEXT, "")
    account: str = member(TEXT, "")
    permissions: UserPermissions | None = member(Nested(UserPermissions))
    expires: timedelta | None = member(DURATION)
