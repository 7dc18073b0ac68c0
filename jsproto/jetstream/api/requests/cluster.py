"""Requests about the servers of streams and consumers: leaders, peers, moves.

Some need the system account. A server does not answer requests without permission, not even with
an error, nor requests that it does not know. Servers before 2.10.27 and 2.11.1 do not check the
account: with them every account can use the requests of the system account. A server without a
cluster answers cluster requests with 503 (10010).

*Waiting for a new leader.* A server confirms a step-down before the election. So the client asks
for the leader again and again, within the ``timeout`` of the whole operation. The same server may
win the election: after a moment without a leader, every leader counts as new. A group of one
server elects itself. For the leader of all servers the client asks the servers (``JSZ``); only the
leader answers.

*Remove and evacuate.* A removed server leaves at once, and the group lacks one copy until another
server has caught up. An evacuated server stays until then (2.15). The server confirms both before
data is moved; `ClusterInfo.desired` shows the progress (2.15).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.procedure import Sleep, Steps, the_time
from jsproto.errors.tree import InvalidConfig, InvalidResponse, RequestTimeout
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.cluster import ClusterInfo, Placement
from jsproto.jetstream.api.envelope import to_json
from jsproto.jetstream.api.errors import RequestContext, RetryLater
from jsproto.jetstream.api.events.monitoring import Jsz, MetaGroup
from jsproto.jetstream.api.requests.manage import (
    DEFAULT_TIMEOUT,
    consumer_info,
    request,
    stream_info,
    succeed,
)
from jsproto.jetstream.api.requests.system import read_answer
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.subjects import unbroken

#: Seconds between two questions for the new leader, and the timeout of one question. During an
#: election servers do not answer all questions.
LOOK: Final = 0.2
LOOK_TIMEOUT: Final = 1.0

#: A group with a leader.
_Group: TypeAlias = ClusterInfo | MetaGroup


def step_down_stream(
    api: ApiSubjects,
    stream: str,
    *,
    placement: Placement | None = None,
    wait: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[str]:
    """Make the leader of a stream step down.

    Args:
        api: subjects of the API.
        stream: its name.
        placement: the next leader: its name as ``preferred`` (2.11), or its cluster and tags.
        wait: whether to wait for a new leader.
        timeout: seconds for the whole operation.

    Returns:
        The name of the new leader, empty without ``wait``.

    Raises:
        CannotServe: the server is in no cluster (10010).
        StreamNotFound: the stream does not exist.
        RequestTimeout: no new leader in time, or there was no leader before.
    """
    about = RequestContext(what="stream leader step-down", stream=stream)

    def look(seconds: float) -> Steps[ClusterInfo | None]:
        info = yield from stream_info(api, stream, timeout=seconds)
        return info.cluster

    return (
        yield from _step_down(
            api.stream_leader_stepdown(stream),
            about,
            AnswerType.STREAM_STEP_DOWN,
            look,
            placement,
            wait=wait,
            timeout=timeout,
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
    """Make the leader of a consumer step down; see :func:`step_down_stream`.

    Raises:
        ConsumerNotFound: the consumer does not exist.
    """
    about = RequestContext(what="consumer leader step-down", stream=stream, consumer=consumer)

    def look(seconds: float) -> Steps[ClusterInfo | None]:
        info = yield from consumer_info(api, stream, consumer, timeout=seconds)
        return info.cluster

    subject = api.consumer_leader_stepdown(stream, consumer)
    return (
        yield from _step_down(
            subject,
            about,
            AnswerType.CONSUMER_STEP_DOWN,
            look,
            placement,
            wait=wait,
            timeout=timeout,
        )
    )


def step_down_meta(
    api: ApiSubjects,
    *,
    placement: Placement | None = None,
    wait: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[str]:
    """Make the leader of all JetStream servers step down; see :func:`step_down_stream`.

    It needs the system account.

    Raises:
        NoResponders: the user is not of the system account (with ``wait``).
        ConfigurationRefused: no such server (10005; 2.11 for ``preferred``).
        RequestTimeout: the user is not of the system account, there is no cluster, or no new
            leader in time.
    """
    about = RequestContext(what="meta leader step-down")
    subject = api.meta_leader_stepdown()
    return (
        yield from _step_down(
            subject,
            about,
            AnswerType.META_STEP_DOWN,
            meta_group,
            placement,
            wait=wait,
            timeout=timeout,
        )
    )


def meta_group(timeout: float = DEFAULT_TIMEOUT) -> Steps[MetaGroup | None]:
    """The group of all JetStream servers as its leader describes it, for the system account.

    Returns:
        ``None`` without a cluster.

    Raises:
        NoResponders: the user is not of the system account.
        RequestTimeout: there is no leader.
    """
    reply = yield Call("$SYS.REQ.SERVER.PING.JSZ", to_json({"leader_only": True}), None, timeout)
    return read_answer(reply, Jsz).read().meta_cluster


def remove_peer(
    api: ApiSubjects, stream: str, peer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Remove a server from the group of a stream; another server replaces it.

    Raises:
        InvalidConfig: no server name.
        InvalidSubject: a name with blanks or control characters.
        JetStreamError: the server is not in the group (10040), or no other can replace it (10075).
    """
    about = RequestContext(what=f"remove peer {_named('peer', peer)}", stream=stream)
    yield from succeed(
        api.stream_peer_remove(stream),
        about,
        AnswerType.STREAM_REMOVE_PEER,
        body={"peer": peer},
        timeout=timeout,
    )


def evacuate_peer(
    api: ApiSubjects, stream: str, peer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Copy a server's replica to another server, then remove the first from the group (2.15).

    Raises:
        InvalidConfig: no server name.
        InvalidSubject: a name with blanks or control characters.
        JetStreamError: the server is not in the group (10040), or no other can replace it (10075).
    """
    about = RequestContext(what=f"evacuate peer {_named('peer', peer)}", stream=stream)
    subject = api.stream_peer_evacuate(stream)
    yield from succeed(
        subject,
        about,
        AnswerType.STREAM_EVACUATE_PEER,
        body={"peer": peer},
        since="2.15",
        timeout=timeout,
    )


def cancel_stream_move(
    api: ApiSubjects, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Cancel an unfinished change of a stream's group (2.15).

    Raises:
        StreamNotFound: the stream does not exist.
        JetStreamError: the group is not being changed (10129).
    """
    about = RequestContext(what="cancel move", stream=stream)
    yield from request(
        api.stream_cancel_move(stream),
        about,
        AnswerType.STREAM_CANCEL_MOVE,
        since="2.15",
        timeout=timeout,
    )


def remove_server(
    api: ApiSubjects, server: str = "", *, peer_id: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Remove a permanently lost server from the cluster; other servers replace its replicas.

    It needs the system account.

    Args:
        api: subjects of the API.
        server: the server's name.
        peer_id: its peer id, if the name is not known any more (2.10).
        timeout: seconds.

    Raises:
        JetStreamError: no such server (10044), or another is being removed (10202).
    """
    body = _server(server, peer_id)
    about = RequestContext(what=f"remove server {server or peer_id}")
    yield from succeed(
        api.server_remove(), about, AnswerType.META_REMOVE_SERVER, body=body, timeout=timeout
    )


def evacuate_server(
    api: ApiSubjects, server: str = "", *, peer_id: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Move all replicas of a server to others; the server stays in the cluster (2.15).

    It needs the system account.

    Args:
        api: subjects of the API.
        server: the server's name.
        peer_id: its peer id, instead of the name.
        timeout: seconds.

    Raises:
        JetStreamError: no such server (10044).
        RequestTimeout, JetStreamNotEnabled: servers before 2.15, which do not know this request.
    """
    body = _server(server, peer_id)
    about = RequestContext(what=f"evacuate server {server or peer_id}")
    yield from succeed(
        api.server_evacuate(),
        about,
        AnswerType.META_EVACUATE_SERVER,
        body=body,
        since="2.15",
        timeout=timeout,
    )


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
    """Move a stream away from a server, or to other servers by cluster or tags.

    It needs the account itself, or the system account.

    Args:
        api: subjects of the API.
        account: the account of the stream.
        stream: its name.
        server: the server that the stream leaves; without a name the cluster chooses it.
        cluster: the cluster that the stream moves to.
        tags: tags of the servers that the stream moves to.
        timeout: seconds.

    Raises:
        NotFound: no such account (10035), or stream.
        ConfigurationRefused: no server can take the stream (10005).
        JetStreamError: the server is unknown (10044), or holds no replica of it (10040).
    """
    wishes: dict[str, object] = {"server": server, "cluster": cluster, "tags": list(tags)}
    body = {name: wish for name, wish in wishes.items() if wish}
    about = RequestContext(what=f"move stream of account {account}", stream=stream)
    yield from request(
        api.account_stream_move(account, stream),
        about,
        AnswerType.STREAM_UPDATE,
        body=body,
        timeout=timeout,
    )


def cancel_move(
    api: ApiSubjects, account: str, stream: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Cancel the move of a stream; for the account itself or the system account.

    Raises:
        NotFound: no such account (10035), or stream.
        JetStreamError: the stream is not being moved (10129).
    """
    about = RequestContext(what=f"cancel move of a stream of account {account}", stream=stream)
    yield from request(
        api.account_stream_cancel_move(account, stream),
        about,
        AnswerType.ACCOUNT_CANCEL_MOVE,
        body={},
        timeout=timeout,
    )


def purge_account(
    api: ApiSubjects, account: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Delete all streams of an account, even a deleted one, for the system account.

    Raises:
        InvalidResponse: the server answered that it has not begun.
    """
    about = RequestContext(what=f"purge account {account}")
    members = yield from request(
        api.account_purge(account), about, AnswerType.ACCOUNT_PURGE, timeout=timeout
    )
    if members["initiated"] is not True:
        raise InvalidResponse(f"{about}: expected it to be initiated, got {members['initiated']!r}")


# ------------------------------------------------------------------ common functions


def _step_down(
    subject: str,
    about: RequestContext,
    expected: AnswerType,
    look: Callable[[float], Steps[_Group | None]],
    placement: Placement | None,
    *,
    wait: bool,
    timeout: float,
) -> Steps[str]:
    until = (yield from the_time()) + timeout
    before, _ = (yield from _led(look, until, about)) if wait else (None, False)
    yield from succeed(subject, about, expected, body=_placed(placement), timeout=timeout)
    elected = False
    while wait:
        now, missed = yield from _led(look, until, about)
        elected = elected or missed
        if now is not None and _moved(before, now, placement, elected=elected):
            return str(now.leader)
        yield Sleep(LOOK)
    return ""


def _led(
    look: Callable[[float], Steps[_Group | None]], until: float, about: RequestContext
) -> Steps[tuple[_Group | None, bool]]:
    """Wait until the group has a leader.

    Returns:
        The group, ``None`` if there is none; and whether a leader was missing at first.
    """
    missed = False
    while (left := until - (yield from the_time())) > 0:
        try:
            now = yield from look(min(left, LOOK_TIMEOUT))
        except (RetryLater, RequestTimeout):
            pass
        else:
            if now is None or now.leader:
                return now, missed
        missed = True
        yield Sleep(LOOK)
    raise RequestTimeout(f"{about}: expected a new leader in time, got none")


def _moved(
    before: _Group | None, now: _Group, placement: Placement | None, *, elected: bool
) -> bool:
    """Whether the election has finished.

    The same server may win again, if it is preferred or the only replica.
    """
    if placement is not None and placement.preferred:
        return now.leader == placement.preferred
    return elected or before is None or now.leader != before.leader or not now.replicas


def _placed(placement: Placement | None) -> Mapping[str, object] | None:
    return None if placement is None else {"placement": placement.to_wire()}


def _server(server: str, peer_id: str) -> Mapping[str, object]:
    """The members of a request that name a server."""
    for each in (server, peer_id) if server and peer_id else (server or peer_id,):
        _named("server or peer_id", each)
    return {"peer": server, "peer_id": peer_id} if peer_id else {"peer": server}


def _named(what: str, name: str) -> str:
    if not name:
        raise InvalidConfig(f"expected the name of a {what}, got none")
    return unbroken(name, what)
