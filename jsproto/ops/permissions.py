"""The permissions that a use of JetStream needs, derived from its subjects.

Theory. A client only publishes and subscribes, and the server permits both by subject. So the
permissions of a use can be listed before it runs: the subjects of the API, the inbox for the
answers, the acks. Two sets of permissions add up with ``|``. The result can be shown in the form of
the server's configuration.

An ack is a reply to a received message. With ``responses`` the server permits a reply only to the
client that received the message. So no subject for acks must be permitted, and only the receiver
can ack. Such a permission expires: a message that takes longer than ``expires`` cannot be
acknowledged any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, final

from attrs import field, frozen

from jsproto.jetstream.api.events.advisories import ADVISORIES, METRICS
from jsproto.jetstream.api.patterns import within
from jsproto.jetstream.api.requests.system import request_token, request_word
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.subjects import consumer_name, stream_name

#: Inboxes of a client with the default prefix.
INBOX: Final = "_INBOX.>"


@final
@frozen
class ResponseLimits:
    """Replies to received messages: most replies for each, and for how long; -1 is no limit."""

    max: int = -1
    expires: timedelta = timedelta(minutes=2)


def _tidy(subjects: Iterable[str]) -> tuple[str, ...]:
    """Return each subject once, without those that another one covers."""
    known = tuple(dict.fromkeys(subjects))
    return tuple(
        each for each in known if not any(each != other and within(each, other) for other in known)
    )


@final
@frozen(kw_only=True)
class Permissions:
    """The permissions that a client needs.

    Attributes:
        publish: subjects to publish to.
        subscribe: subjects to subscribe to.
        responses: replies to received messages, ``None`` if none are needed.
    """

    publish: Sequence[str] = field(default=(), converter=_tidy)
    subscribe: Sequence[str] = field(default=(), converter=_tidy)
    responses: ResponseLimits | None = None

    def __or__(self, other: Permissions) -> Permissions:
        return Permissions(
            publish=(*self.publish, *other.publish),
            subscribe=(*self.subscribe, *other.subscribe),
            responses=self.responses or other.responses,
        )

    def as_config(self) -> str:
        """Return the block ``permissions`` of a user in the server's configuration.

        The server takes an empty list of allowed subjects as "no limit". So where nothing is
        needed, the block denies everything.
        """
        lines = [
            "permissions {",
            f"  publish {{ {_bound(self.publish)} }}",
            f"  subscribe {{ {_bound(self.subscribe)} }}",
        ]
        if self.responses is not None:
            seconds = f"{self.responses.expires.total_seconds():g}s"
            lines.append(f'  allow_responses {{ max: {self.responses.max}, expires: "{seconds}" }}')
        return "\n".join([*lines, "}"])


def publishing(subjects: Iterable[str], *, inbox: str = INBOX) -> Permissions:
    """Permissions to publish to streams and receive the acknowledgements."""
    return Permissions(publish=tuple(subjects), subscribe=(inbox,))


def pulling(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    *,
    create: bool = False,
    responses: ResponseLimits | None = None,
    inbox: str = INBOX,
) -> Permissions:
    """Permissions to read a pull consumer and acknowledge its messages.

    Args:
        api: the subjects of the API.
        stream: its stream.
        consumer: its name.
        create: also to create, update, look up and delete it.
        responses: permit acks as replies and not by their subject.
        inbox: inboxes of the client.
    """
    needed = [api.consumer_msg_next(stream, consumer)]
    if create:
        needed += _caring(api, stream, consumer)
    if responses is None:
        needed.append(acks(stream, consumer))
    return Permissions(publish=needed, subscribe=(inbox,), responses=responses)


def pushed(
    api: ApiSubjects,
    stream: str,
    consumer: str,
    deliver_subject: str,
    *,
    create: bool = False,
    responses: ResponseLimits | None = None,
    inbox: str = INBOX,
) -> Permissions:
    """Permissions for a push consumer, its acks and flow control; see :func:`pulling`."""
    needed = [f"$JS.FC.{stream_name(stream)}.{consumer_name(consumer)}.>"]
    if create:
        needed += _caring(api, stream, consumer)
    if responses is None:
        needed.append(acks(stream, consumer))
    return Permissions(publish=needed, subscribe=(deliver_subject, inbox), responses=responses)


def ordered(api: ApiSubjects, stream: str, *, inbox: str = INBOX) -> Permissions:
    """Permissions to read a stream by ordered consumers, whose names are generated.

    With deliver policy ``last_per_subject`` the client asks for the stream's subjects, if others
    write while the first values arrive.
    """
    name = stream_name(stream)
    needed = [api.stream_info(stream)]
    needed += [
        f"{api.prefix}.CONSUMER.{verb}.{name}.>"
        for verb in ("CREATE", "INFO", "DELETE", "MSG.NEXT")
    ]
    return Permissions(
        publish=[*needed, api.consumer_create(stream), f"$JS.FC.{name}.>"], subscribe=(inbox,)
    )


def looking_up(
    api: ApiSubjects, stream: str, *, direct: bool = True, inbox: str = INBOX
) -> Permissions:
    """Permissions to read stored messages of a stream, by direct get or by the API."""
    if not direct:
        return Permissions(publish=(api.stream_msg_get(stream),), subscribe=(inbox,))
    asked = api.direct_get(stream)
    return Permissions(publish=(asked, f"{asked}.>", api.stream_info(stream)), subscribe=(inbox,))


def administering(api: ApiSubjects, *, inbox: str = INBOX) -> Permissions:
    """Permissions for the whole API."""
    return Permissions(publish=(f"{api.prefix}.>",), subscribe=(inbox,))


def backing_up(api: ApiSubjects, stream: str | None = None, *, inbox: str = INBOX) -> Permissions:
    """Permissions to back up a stream with consumers and messages; ``None``: the whole account.

    Newer servers end a snapshot that is larger than their window (8 MB) if the client does not
    acknowledge its chunks.
    """
    if stream is None:
        found = (
            api.stream_list(),
            f"{api.prefix}.CONSUMER.LIST.*",
            f"{api.prefix}.STREAM.SNAPSHOT.*",
        )
        return Permissions(publish=(*found, "$JS.SNAPSHOT.ACK.>"), subscribe=(inbox,))
    found = (api.stream_info(stream), api.consumer_list(stream), api.stream_snapshot(stream))
    return Permissions(publish=(*found, f"$JS.SNAPSHOT.ACK.{stream}.>"), subscribe=(inbox,))


def restoring(api: ApiSubjects, stream: str | None = None, *, inbox: str = INBOX) -> Permissions:
    """Permissions to restore a backup of a stream; ``None``: of any stream.

    They suffice with or without messages, and over an existing stream.
    """
    name = "*" if stream is None else stream_name(stream)
    made = [f"{api.prefix}.STREAM.{verb}.{name}" for verb in ("RESTORE", "CREATE", "UPDATE")]
    consumers = (f"{api.prefix}.CONSUMER.NAMES.{name}", f"{api.prefix}.CONSUMER.CREATE.{name}.>")
    return Permissions(
        publish=(api.stream_list(), *made, *consumers, f"$JS.SNAPSHOT.RESTORE.{name}.*"),
        subscribe=(inbox,),
    )


def hearing_events() -> Permissions:
    """Permissions to receive the advisories and metrics of an account; nothing is requested."""
    return Permissions(subscribe=(ADVISORIES, METRICS))


def asking_servers(
    words: Iterable[str], *, accounts: Iterable[str] = (), inbox: str = INBOX
) -> Permissions:
    """Permissions to send requests to the servers, as a user of the system account.

    Args:
        words: the requests, such as ``VARZ``: to all servers, or to one by its id, which changes
            with each start.
        accounts: send the requests about these accounts instead, by name or key.
        inbox: inboxes of the client.

    Raises:
        InvalidSubject: an unknown request, or an invalid account name.
    """
    known = [request_token(each, "name of an account") for each in accounts]
    whom = [f"ACCOUNT.{each}" for each in known] or ["SERVER.*"]
    asked = [request_word(each) for each in words]
    return Permissions(
        publish=[f"$SYS.REQ.{one}.{word}" for one in whom for word in asked], subscribe=(inbox,)
    )


def acks(stream: str, consumer: str) -> str:
    """Return the subject for the acks of a consumer.

    With domains, and in the longer form of 2.14, tokens come before the stream; use responses then.
    """
    return f"$JS.ACK.{stream_name(stream)}.{consumer_name(consumer)}.>"


def _bound(subjects: Sequence[str]) -> str:
    return f"allow: {json.dumps(list(subjects))}" if subjects else 'deny: ">"'


def _caring(api: ApiSubjects, stream: str, consumer: str) -> list[str]:
    created = api.consumer_create(stream, consumer)
    return [
        created,
        f"{created}.>",
        api.consumer_info(stream, consumer),
        api.consumer_delete(stream, consumer),
    ]
