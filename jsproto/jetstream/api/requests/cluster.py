"""Requests about where streams and consumers live: leaders, peers, moves. Some are for the system
account alone.

Whom the server does not let ask, it does not answer, not even with an error, and so it is with
verbs that it does not know. Servers before 2.10.27 and 2.11.1 do not look at who asks: there every
account can do to others what is the system account's. A server on its own says 503 (10010) to what
only a cluster can do.

*Waiting for a new leader.* A server agrees to step down before anybody has been elected, so the new
leader is looked up until there is one, within the ``timeout`` of the whole. The old one may be
elected again: behind a moment without any leader, whoever leads is new. A group of one has itself
for a new leader. Who leads all servers is asked of the servers themselves (``JSZ``): only the
leader answers that.

*Remove and evacuate.* Who is removed is out at once, and the group is one copy short until another
has caught up. Who is evacuated stays until then (2.15). Both are agreed to before anything is
moved: `ClusterInfo.desired` says how far it is (2.15).
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

#: Seconds between two looks for a new leader, and the most that one look takes: during an election
#: some are not answered.
LOOK: Final = 0.2
LOOK_TIMEOUT: Final = 1.0

#: A group that somebody leads.
_Group: TypeAlias = ClusterInfo | MetaGroup


def step_down_stream(
    api: ApiSubjects,
    stream: str,
    *,
    placement: Placement | None = None,
    wait: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[str]:
    """Let the leader of a stream step down; the name of the new one, empty if that is not waited
    for.

    Args:
        api: where.
        stream: its name.
        placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster and
            tags.
        wait: for a new leader.
        timeout: seconds for all of it.

    Raises:
        Unavailable: the server is in no cluster (10010).
        StreamNotFound: no such stream.
        RequestTimeout: no new leader in time, or nobody led.
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
    """Let the leader of a consumer step down; see :func:`step_down_stream`.

    Raises:
        ConsumerNotFound: no such consumer.
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
    """Let the leader of all JetStream servers step down; see :func:`step_down_stream`. System
    account.

    Raises:
        NoResponders: not the system account, if the new leader is to be waited for.
        InvalidConfiguration: no such server (10005; 2.11 for ``preferred``).
        RequestTimeout: not the system account, no cluster, or no new leader in time.
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
    """The group of all JetStream servers, as its leader describes it; ``None`` if there is no
    cluster. System account.

    Raises:
        NoResponders: not the system account.
        RequestTimeout: nobody leads.
    """
    reply = yield Call("$SYS.REQ.SERVER.PING.JSZ", to_json({"leader_only": True}), None, timeout)
    return read_answer(reply, Jsz).read().meta_cluster


def remove_peer(
    api: ApiSubjects, stream: str, peer: str, *, timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Take a server out of the group of a stream; another takes its place.

    Raises:
        InvalidConfig: no name of a server.
        InvalidSubject: a name with blanks or control characters.
        JetStreamError: it is none of the group (10040), or nobody can take its place (10075).
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
    """Let another server take over what one has of a stream; only then it leaves the group (2.15).

    Raises:
        InvalidConfig: no name of a server.
        InvalidSubject: a name with blanks or control characters.
        JetStreamError: it is none of the group (10040), or nobody can take its place (10075).
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
    """Let a stream whose group is being changed stay as it was (2.15).

    Raises:
        StreamNotFound: no such stream.
        JetStreamError: it is not being changed (10129).
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
    """Take a server that is gone for good out of the cluster: everything on it is placed anew.
    System account.

    Args:
        api: where.
        server: its name.
        peer_id: its id among the peers instead, if the name is not known any more (2.10).
        timeout: seconds.

    Raises:
        JetStreamError: no such server (10044), or another is just being removed (10202).
    """
    body = _server(server, peer_id)
    about = RequestContext(what=f"remove server {server or peer_id}")
    yield from succeed(
        api.server_remove(), about, AnswerType.META_REMOVE_SERVER, body=body, timeout=timeout
    )


def evacuate_server(
    api: ApiSubjects, server: str = "", *, peer_id: str = "", timeout: float = DEFAULT_TIMEOUT
) -> Steps[None]:
    """Let the others take over everything that a server has; it stays in the cluster (2.15). System
    account.

    Args:
        api: where.
        server: its name.
        peer_id: its id among the peers instead.
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
    """Move a stream away from a server, or to another cluster or tags. The account itself, or the
    system account.

    Args:
        api: where.
        account: whose stream.
        stream: its name.
        server: the server that it shall leave; nothing said leaves the choice to the cluster.
        cluster: the cluster that it shall move to.
        tags: tags of the servers that it shall move to.
        timeout: seconds.

    Raises:
        NotFound: no such account (10035), or stream.
        InvalidConfiguration: there is no place where it could move (10005).
        JetStreamError: the server is not known (10044), or has nothing of it (10040).
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
    """Let a stream that is being moved stay where it was. The account itself, or the system
    account.

    Raises:
        NotFound: no such account (10035), or stream.
        JetStreamError: it is not being moved (10129).
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
    """Delete all streams of an account, whether or not it still exists. System account.

    Raises:
        InvalidResponse: the server answered without having begun.
    """
    about = RequestContext(what=f"purge account {account}")
    members = yield from request(
        api.account_purge(account), about, AnswerType.ACCOUNT_PURGE, timeout=timeout
    )
    if members["initiated"] is not True:
        raise InvalidResponse(f"{about}: expected it to be initiated, got {members['initiated']!r}")


# ----------------------------------------------------------------------------------------------- what they share


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
    """The group with a leader, ``None`` where there is no group; and whether somebody who leads was
    missed at first.
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
    raise RequestTimeout(f"{about}: expected a new leader in time, there is none")


def _moved(
    before: _Group | None, now: _Group, placement: Placement | None, *, elected: bool
) -> bool:
    """Whether the leader is one who was elected since; he may be the old one, who may be wished for
    or alone, too.
    """
    if placement is not None and placement.preferred:
        return now.leader == placement.preferred
    return elected or before is None or now.leader != before.leader or not now.replicas


def _placed(placement: Placement | None) -> Mapping[str, object] | None:
    return None if placement is None else {"placement": placement.to_wire()}


def _server(server: str, peer_id: str) -> Mapping[str, object]:
    """Which server is meant."""
    for each in (server, peer_id) if server and peer_id else (server or peer_id,):
        _named("server or peer_id", each)
    return {"peer": server, "peer_id": peer_id} if peer_id else {"peer": server}


def _named(what: str, name: str) -> str:
    if not name:
        raise InvalidConfig(f"expected the name of a {what}, got none")
    return unbroken(name, what)
