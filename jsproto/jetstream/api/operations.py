"""Requests about where streams and consumers live: leaders, peers, moves. Some are for the system account alone.

Whom the server does not let ask, it does not answer, not even with an error, and so it is with verbs that it does not know.
A server on its own says 503 (10010) to what only a cluster can do.

*Waiting for a new leader.* A server agrees to step down before anybody has been elected, so the new leader is looked up until
there is one, within the ``timeout`` of the whole; a group of one has itself for a new leader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from jsproto.core.procedure import Sleep, Steps, the_time
from jsproto.errors import InvalidConfig, InvalidResponse, RequestTimeout
from jsproto.jetstream.api.cluster import ClusterInfo
from jsproto.jetstream.api.errors import Asked, RetryLater
from jsproto.jetstream.api.procedures import DEFAULT_TIMEOUT, consumer_info, request, stream_info, succeed
from jsproto.jetstream.api.stream import Placement
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.subjects import unbroken

#: Seconds between two looks for a new leader, and the most that one look takes: during an election some are not answered.
LOOK: Final = 0.2
LOOK_TIMEOUT: Final = 1.0


def step_down_stream(
    api: ApiSubjects,
    stream: str,
    *,
    placement: Placement | None = None,
    wait: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[str]:
    """Let the leader of a stream step down; the name of the new one, empty if that is not waited for.

    Args:
        api: where.
        stream: its name.
        placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster and tags.
        wait: for a new leader.
        timeout: seconds for all of it.

    Raises:
        Unavailable: the server is in no cluster (10010).
        StreamNotFound: no such stream.
        RequestTimeout: no new leader in time.
    """
    about = Asked(what="stream leader step-down", stream=stream)

    def look(seconds: float) -> Steps[ClusterInfo | None]:
        info = yield from stream_info(api, stream, timeout=seconds)
        return info.cluster

    return (
        yield from _step_down(
            api.stream_leader_stepdown(stream), about, look, placement, wait=wait, timeout=timeout
        )
    )


def step_down_consumer(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    *,
    placement: Placement | None = None,
    wait: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[str]:
    """Let the leader of a consumer step down; see :func:`step_down_stream`.

    Raises:
        ConsumerNotFound: no such consumer.
    """
    about = Asked(what="consumer leader step-down", stream=stream, consumer=consumer)

    def look(seconds: float) -> Steps[ClusterInfo | None]:
        info = yield from consumer_info(api, stream, consumer, timeout=seconds)
        return info.cluster

    subject = api.consumer_leader_stepdown(stream, consumer)
    return (yield from _step_down(subject, about, look, placement, wait=wait, timeout=timeout))


def step_down_meta(
    api: ApiSubjects, *, placement: Placement | None = None, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Let the leader of all JetStream servers step down. System account."""
    about = Asked(what="meta leader step-down")
    yield from succeed(api.meta_leader_stepdown(), about, body=_placed(placement), timeout=timeout)


def remove_peer(api: ApiSubjects, stream: str, peer: str, *, timeout: float = DEFAULT_TIMEOUT) -> Steps[None]:
    """Take a server out of the group of a stream; another takes its place where there is one.

    Raises:
        InvalidConfig: no name of a server.
        InvalidSubject: a name with blanks or control characters.
        JetStreamError: it is none of the group (10060 and its kin), or the last.
    """
    about = Asked(what=f"remove peer {_named('peer', peer)}", stream=stream)
    yield from succeed(api.stream_peer_remove(stream), about, body={"peer": peer}, timeout=timeout)


def remove_server(
    api: ApiSubjects, server: str = "", *, peer_id: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Take a server that is gone for good out of the cluster: everything on it is placed anew. System account.

    Args:
        api: where.
        server: its name.
        peer_id: its id among the peers instead, if the name is not known any more (2.10).
        timeout: seconds.
    """
    for each in (server, peer_id) if server and peer_id else (server or peer_id,):
        _named("server or peer_id", each)
    about = Asked(what=f"remove server {server or peer_id}")
    body = {"peer": server, "peer_id": peer_id} if peer_id else {"peer": server}
    yield from succeed(api.server_remove(), about, body=body, timeout=timeout)


def move_stream(
    api: ApiSubjects,
    account: str,
    stream: str,
    *,
    server: str = "",
    cluster: str = "",
    tags: Sequence[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[None]:
    """Move a stream away from a server (evacuate), or to another cluster or tags. System account.

    Args:
        api: where.
        account: whose stream.
        stream: its name.
        server: the server that it shall leave; nothing said leaves the choice to the cluster.
        cluster: the cluster that it shall move to.
        tags: tags of the servers that it shall move to.
        timeout: seconds.
    """
    wishes: dict[str, object] = {"server": server, "cluster": cluster, "tags": list(tags)}
    body = {name: wish for name, wish in wishes.items() if wish}
    about = Asked(what=f"move stream of account {account}", stream=stream)
    yield from request(api.account_stream_move(account, stream), about, body=body, timeout=timeout)


def cancel_move(
    api: ApiSubjects, account: str, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Let a stream that is being moved stay where it was. System account.

    Raises:
        JetStreamError: it is not being moved (10129).
    """
    about = Asked(what=f"cancel move of a stream of account {account}", stream=stream)
    yield from request(api.account_stream_cancel_move(account, stream), about, body={}, timeout=timeout)


def purge_account(api: ApiSubjects, account: str, *, timeout: float = DEFAULT_TIMEOUT) -> Steps[None]:
    """Delete all streams of an account, whether or not it still exists. System account.

    Raises:
        InvalidResponse: the server answered without having begun.
    """
    about = Asked(what=f"purge account {account}")
    members = yield from request(api.account_purge(account), about, needs=("initiated",), timeout=timeout)
    if members["initiated"] is not True:
        raise InvalidResponse(f"{about}: expected it to be initiated, seen {members['initiated']!r}")


# ----------------------------------------------------------------------------------------------- what they share


def _step_down(
    subject: str,
    about: Asked,
    look: Callable[[float], Steps[ClusterInfo | None]],
    placement: Placement | None,
    *,
    wait: bool,
    timeout: float,
) -> Steps[str]:
    until = (yield from the_time()) + timeout
    before = (yield from look(timeout)) if wait else None
    yield from succeed(subject, about, body=_placed(placement), timeout=timeout)
    while wait:
        left = until - (yield from the_time())
        if left <= 0:
            raise RequestTimeout(f"{about}: expected a new leader within {timeout} s, there is none")
        try:
            now = yield from look(min(left, LOOK_TIMEOUT))
        except (RetryLater, RequestTimeout):
            now = None
        if now is not None and now.leader and _moved(before, now, placement):
            return now.leader
        yield Sleep(LOOK)
    return ""


def _moved(before: ClusterInfo | None, now: ClusterInfo, placement: Placement | None) -> bool:
    """Whether somebody else leads; the old one may be elected again where he was wished for, or is alone."""
    if placement is not None and placement.preferred:
        return now.leader == placement.preferred
    return before is None or now.leader != before.leader or not now.replicas


def _placed(placement: Placement | None) -> Mapping[str, object] | None:
    return None if placement is None else {"placement": placement.to_wire()}


def _named(what: str, name: str) -> str:
    if not name:
        raise InvalidConfig(f"expected the name of a {what}, seen none")
    return unbroken(name, what)
