"""Reports: what an account has in JetStream, as rows of data, a text table, or a graph.

Theory. A report is made of an `Inventory`, without asking anybody. Its rows are plain values whose
fields are the table: each carries its heading and how it is shown. So text and JSON cannot say
different things, and whoever wants a table of his own has the rows. What a cluster could not say is
named below every table: a report with holes never looks complete.
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

# ------------------------------------------------------------------------------------------------ rows


@final
@frozen(kw_only=True)
class StreamRow:
    """A stream: what it holds, and who holds it. ``replicas`` names the leader with ``*``, who is
    behind or away with ``!``.
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
    """A consumer: how far it is, and what it waits for."""

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
    """One way that messages take from stream to stream. ``active`` is how long ago, ``None`` if
    there was no contact yet.
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
    """A server of a cluster: what it leads, what it follows, and of how much it is behind or away."""

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
    """Rows with a name; a type checker knows of which class they are.

    Attributes:
        name: ``streams``, ``consumers``, ``replication`` or ``cluster``.
        rows: all of one class.
        problems: sentences about what is not as it should be: groups without a leader, and what
            could not be asked.
    """

    name: str
    rows: tuple[RowT_co, ...]
    problems: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The same for `json`: durations are seconds."""
        return {
            "report": self.name,
            "rows": [row_as_json(row) for row in self.rows],
            "problems": list(self.problems),
        }

    def as_text(self) -> str:
        """A table with its headings, numbers to the right, and the problems below it; ends with a
        line break.
        """
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


# ------------------------------------------------------------------------------------------------ reports


def stream_report(inventory: Inventory) -> Report[StreamRow]:
    """What each stream holds, and who holds it."""
    rows = tuple(_stream_row(each) for each in inventory.streams)
    lost = [f"{each.stream}: {each.lost:,} messages are lost" for each in rows if each.lost]
    return Report(name="streams", rows=rows, problems=(*lost, *_unsaid(inventory)))


def consumer_report(inventory: Inventory) -> Report[ConsumerRow]:
    """How far each consumer is."""
    rows = tuple(_consumer_row(each) for listed in inventory.consumers.values() for each in listed)
    return Report(name="consumers", rows=rows, problems=_unsaid(inventory))


def replication_report(inventory: Inventory) -> Report[ReplicationRow]:
    """Every mirror and source: from where, how far behind."""
    rows = tuple(row for each in inventory.streams for row in _replication_rows(each))
    failed = [
        f"{each.stream}: {each.kind} {each.source}: {each.error}" for each in rows if each.error
    ]
    return Report(name="replication", rows=rows, problems=(*failed, *_unsaid(inventory)))


def cluster_report(inventory: Inventory) -> Report[ServerRow]:
    """Which server leads and follows how much, and which groups have no leader; empty without a
    cluster.
    """
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


#: Every report by its name.
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
    """From the configuration, with what the state says of it; a state without configuration is
    shown too.
    """
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


# ------------------------------------------------------------------------------------------------ the graph


def replication_dot(report: Report[Row]) -> str:
    """The graph of a replication report in the language DOT of Graphviz: arrows go the way that
    messages go.

    A stream behind another API prefix is a box of its own, drawn with dashes.
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
            f"  {_node(each.source, each.api)} -> {_node(each.stream, '')} [label={_quoted(label)}{colour}];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _node(name: str, api: str) -> str:
    return _quoted(f"{api} {name}" if api else name)


def _quoted(text: str) -> str:
    """A text as DOT has it: whatever is in it, it ends where we say."""
    inner = "\\n".join(
        text_of(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")
    )
    return f'"{inner}"'
