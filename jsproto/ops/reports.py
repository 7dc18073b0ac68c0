"""Reports about JetStream of an account, as rows of data, a text table, or a graph.

Theory. A report is made from an `Inventory`, without further requests. Its rows are plain values.
Each field of a row is a column and carries its heading and its format. So text and JSON always
agree, and a user can make another table from the rows. Missing information is named below every
table, so an incomplete report never looks complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from enum import Enum
from typing import Final, Generic, TypeVar, final

from attrs import field, frozen

from jsproto.jetstream.api.config.cluster import ClusterInfo
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamInfo, StreamSource, StreamSourceInfo
from jsproto.jetstream.api.requests.inventory import Inventory
from jsproto.ops.tables import (
    column,
    count_of,
    row_as_json,
    size_of,
    span_of,
    table_of,
    text_of,
)

# ------------------------------------------------------------------------------------ rows


@final
@frozen(kw_only=True)
class StreamRow:
    """A stream: its content and its servers.

    In ``replicas`` the leader has a ``*``, and a replica that is behind or offline has a ``!``.
    """

    stream: str = field(metadata=column("Stream"))
    storage: str = field(metadata=column("Storage"))
    cluster: str = field(metadata=column("Cluster"))
    consumers: int = field(metadata=column("Consumers", count_of))
    messages: int = field(metadata=column("Messages", count_of))
    bytes: int = field(metadata=column("Bytes", size_of))
    deleted: int = field(metadata=column("Deleted", count_of))
    lost: int = field(metadata=column("Lost", count_of))
    replicas: str = field(metadata=column("Replicas"))


@final
@frozen(kw_only=True)
class ConsumerRow:
    """A consumer: its progress and its open messages."""

    stream: str = field(metadata=column("Stream"))
    consumer: str = field(metadata=column("Consumer"))
    mode: str = field(metadata=column("Mode"))
    ack_policy: str = field(metadata=column("Ack"))
    ack_wait: timedelta | None = field(metadata=column("Ack wait", span_of))
    ack_pending: int = field(metadata=column("Ack pending", count_of))
    redelivered: int = field(metadata=column("Redelivered", count_of))
    unprocessed: int = field(metadata=column("Unprocessed", count_of))
    ack_floor: int = field(metadata=column("Ack floor", count_of))
    state: str = field(metadata=column("State"))
    replicas: str = field(metadata=column("Replicas"))


@final
@frozen(kw_only=True)
class ReplicationRow:
    """One connection from stream to stream.

    ``active`` is the time since the last contact, ``None`` if there was none yet.
    """

    stream: str = field(metadata=column("Stream"))
    kind: str = field(metadata=column("Kind"))
    source: str = field(metadata=column("Source"))
    api: str = field(metadata=column("API prefix"))
    filters: str = field(metadata=column("Filters"))
    active: timedelta | None = field(metadata=column("Active", span_of))
    lag: int = field(metadata=column("Lag", count_of))
    error: str = field(metadata=column("Error"))


@final
@frozen(kw_only=True)
class ServerRow:
    """A server: the groups that it leads and follows, and how many are behind or offline."""

    server: str = field(metadata=column("Server"))
    cluster: str = field(metadata=column("Cluster"))
    streams_led: int = field(metadata=column("Streams led", count_of))
    streams: int = field(metadata=column("Streams", count_of))
    consumers_led: int = field(metadata=column("Consumers led", count_of))
    consumers: int = field(metadata=column("Consumers", count_of))
    behind: int = field(metadata=column("Behind", count_of))
    offline: int = field(metadata=column("Offline", count_of))
    lag: int = field(metadata=column("Lag", count_of))


Row = StreamRow | ConsumerRow | ReplicationRow | ServerRow
RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)


@final
@frozen(kw_only=True)
class Report(Generic[RowT_co]):
    """Rows with a name; a type checker knows their class.

    Attributes:
        name: ``streams``, ``consumers``, ``replication`` or ``cluster``.
        rows: rows of one class.
        problems: sentences about problems, such as groups without a leader and servers without an
            answer.
    """

    name: str
    rows: tuple[RowT_co, ...]
    problems: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the report for `json`; durations are seconds."""
        return {
            "report": self.name,
            "rows": [row_as_json(row) for row in self.rows],
            "problems": list(self.problems),
        }

    def as_text(self) -> str:
        """Return a table with headings, numbers to the right, then the problems and a line end."""
        lines = table_of(self.rows) or [f"No {_EMPTY[self.name]}."]
        if self.problems:
            lines += ["", *(text_of(each) for each in self.problems)]
        return "\n".join(lines) + "\n"


_EMPTY: Final = {
    "streams": "streams",
    "consumers": "consumers",
    "replication": "mirrors and sources",
    "cluster": "cluster",
}


# ------------------------------------------------------------------------------------ reports


def stream_report(inventory: Inventory) -> Report[StreamRow]:
    """Return the report of what each stream holds, and on which servers."""
    rows = tuple(_stream_row(each) for each in inventory.streams)
    lost = [f"{each.stream}: {each.lost:,} messages are lost" for each in rows if each.lost]
    return Report(name="streams", rows=rows, problems=(*lost, *_unsaid(inventory)))


def consumer_report(inventory: Inventory) -> Report[ConsumerRow]:
    """Return the report of the progress of each consumer."""
    rows = tuple(_consumer_row(each) for listed in inventory.consumers.values() for each in listed)
    return Report(name="consumers", rows=rows, problems=_unsaid(inventory))


def replication_report(inventory: Inventory) -> Report[ReplicationRow]:
    """Return the report of every mirror and source: its origin and its lag."""
    rows = tuple(row for each in inventory.streams for row in _replication_rows(each))
    failed = [
        f"{each.stream}: {each.kind} {each.source}: {each.error}" for each in rows if each.error
    ]
    return Report(name="replication", rows=rows, problems=(*failed, *_unsaid(inventory)))


def cluster_report(inventory: Inventory) -> Report[ServerRow]:
    """Return the report of the servers, and of groups without a leader; empty for one server."""
    servers: dict[str, dict[str, int]] = {}
    clusters: dict[str, str] = {}
    problems: list[str] = []
    groups = [("streams", each.config.name, each.cluster) for each in inventory.streams]
    for stream, listed in inventory.consumers.items():
        groups += [("consumers", f"{stream} > {each.name}", each.cluster) for each in listed]
    for kind, name, group in groups:
        if group is None:
            continue
        if not group.leader:
            problems.append(f"{name}: no leader")
        for server, counts in _members(kind, group):
            clusters[server] = group.name or ""
            before = servers.setdefault(server, dict.fromkeys(_COUNTS, 0))
            for count, number in counts.items():
                before[count] += number
    rows = tuple(
        ServerRow(server=server, cluster=clusters[server], **counts)
        for server, counts in sorted(servers.items())
    )
    return Report(name="cluster", rows=rows, problems=(*problems, *_unsaid(inventory)))


#: All reports by name.
REPORTS: Final[Mapping[str, Callable[[Inventory], Report[Row]]]] = {
    "streams": stream_report,
    "consumers": consumer_report,
    "replication": replication_report,
    "cluster": cluster_report,
}

_COUNTS: Final = (
    "streams_led",
    "streams",
    "consumers_led",
    "consumers",
    "behind",
    "offline",
    "lag",
)


def _members(kind: str, group: ClusterInfo) -> Iterable[tuple[str, dict[str, int]]]:
    if group.leader:
        yield group.leader, {kind: 1, f"{kind}_led": 1}
    for peer in group.replicas:
        if peer.name:
            behind = not peer.current and not peer.offline
            yield (
                peer.name,
                {kind: 1, "behind": int(behind), "offline": int(peer.offline), "lag": peer.lag},
            )


def _stream_row(info: StreamInfo) -> StreamRow:
    state = info.state
    return StreamRow(
        stream=info.config.name,
        storage=_word(info.config.storage, "file"),
        cluster=_cluster(info.cluster),
        consumers=state.consumer_count,
        messages=state.messages,
        bytes=state.bytes,
        deleted=state.num_deleted,
        lost=0 if state.lost is None else len(state.lost.msgs),
        replicas=_replicas(info.cluster),
    )


def _consumer_row(info: ConsumerInfo) -> ConsumerRow:
    config = info.config
    push = bool(config.deliver_subject)
    state = "paused" if info.paused else ("idle" if push and not info.push_bound else "")
    return ConsumerRow(
        stream=info.stream_name,
        consumer=info.name,
        mode="push" if push else "pull",
        ack_policy=_word(config.ack_policy, "none"),
        ack_wait=config.ack_wait,
        ack_pending=info.num_ack_pending,
        redelivered=info.num_redelivered,
        unprocessed=info.num_pending,
        ack_floor=info.ack_floor.stream_seq,
        state=state,
        replicas=_replicas(info.cluster),
    )


def _replication_rows(info: StreamInfo) -> Iterable[ReplicationRow]:
    """Yield a row for each configured mirror and source, with its state, then for other states."""
    name, config = info.config.name, info.config
    wanted = [] if config.mirror is None else [("mirror", config.mirror)]
    wanted += [("source", each) for each in config.sources]
    known = [] if info.mirror is None else [("mirror", info.mirror)]
    known += [("source", each) for each in info.sources]
    for kind, source in wanted:
        mine = next((each for each in known if _same(kind, source, *each)), None)
        if mine is not None:
            known.remove(mine)
        yield _replication_row(name, kind, source, None if mine is None else mine[1])
    for kind, state in known:
        yield _replication_row(name, kind, state, state)


def _same(kind: str, source: StreamSource, other: str, state: StreamSourceInfo) -> bool:
    return (kind, source.name, _filters(source), _api(source)) == (
        other,
        state.name,
        _filters(state),
        _api(state),
    )


def _replication_row(
    stream: str, kind: str, source: StreamSource | StreamSourceInfo, state: StreamSourceInfo | None
) -> ReplicationRow:
    error: Mapping[str, object] = state.error if state is not None else {}
    return ReplicationRow(
        stream=stream,
        kind=kind,
        source=source.name,
        api=_api(source),
        filters=_filters(source),
        active=None if state is None else state.active,
        lag=0 if state is None else state.lag,
        error=str(error.get("description", "") or (error or "")),
    )


def _api(source: StreamSource | StreamSourceInfo) -> str:
    return "" if source.external is None else source.external.api


def _filters(source: StreamSource | StreamSourceInfo) -> str:
    moved = [
        f"{each.src or '>'} to {each.dest}" if each.dest else each.src or ">"
        for each in source.subject_transforms
    ]
    return ", ".join([source.filter_subject] if source.filter_subject else moved)


def _cluster(group: ClusterInfo | None) -> str:
    return "" if group is None else group.name or ""


def _replicas(group: ClusterInfo | None) -> str:
    if group is None:
        return ""
    leader = [f"{group.leader}*"] if group.leader else ["no leader!"]
    peers = [
        f"{each.name}{'' if each.current and not each.offline else '!'}"
        for each in group.replicas
        if each.name
    ]
    return ", ".join(leader + sorted(peers))


def _word(value: object, default: str) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value or default)


def _unsaid(inventory: Inventory) -> tuple[str, ...]:
    missing = (f"{name}: its servers did not answer" for name in inventory.missing)
    return (*missing, *(f"{name}: offline: {reason}" for name, reason in inventory.offline.items()))


# ------------------------------------------------------------------------------------ the graph


def replication_dot(report: Report[Row]) -> str:
    """Return a replication report as a graph in the language DOT of Graphviz.

    Arrows point in the direction of the messages. A stream with another API prefix is a box of its
    own with dashed lines.
    """
    rows = [each for each in report.rows if isinstance(each, ReplicationRow)]
    lines = ["digraph replication {", "  rankdir=LR;", "  node [shape=box];"]
    names = {(each.stream, "") for each in rows} | {(each.source, each.api) for each in rows}
    for name, api in sorted(names):
        label = f"{name}\n{api}" if api else name
        style = ", style=dashed" if api else ""
        lines.append(f"  {_node(name, api)} [label={_quoted(label)}{style}];")
    for each in rows:
        parts = [each.kind, each.filters, f"lag {each.lag:,}", each.error]
        label = "\n".join(part for part in parts if part)
        colour = ", color=red" if each.error else ""
        lines.append(
            f"  {_node(each.source, each.api)} -> {_node(each.stream, '')}"
            f" [label={_quoted(label)}{colour}];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _node(name: str, api: str) -> str:
    return _quoted(f"{api} {name}" if api else name)


def _quoted(text: str) -> str:
    """Return a text as a DOT string; no character in it can end the string early."""
    inner = "\\n".join(
        text_of(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")
    )
    return f'"{inner}"'
