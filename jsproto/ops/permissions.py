"""The permissions that a use of JetStream needs, derived from its subjects.

Theory. Everything that a client does is a publish on a subject or a subscription to one, and the
server permits either by subject. So what a use needs can be written down before it runs: the
requests on the subjects of the API, the inbox on which the answers come, the acks. Uses add up with
``|``; the result can be shown as the server's configuration has it.

An ack is a reply to a message that was received. With ``responses`` the server permits a reply to
whoever received the message and to nobody else, so no subject of acks has to be opened: only the
receiver can ack. Replies expire; a message that is worked on for longer than ``expires`` cannot be
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

#: Inboxes of a client that was not told otherwise.
INBOX: Final = "_INBOX.>"


@final
@frozen
class ResponseLimits:
    """Replies to received messages: the most for each, and for how long. -1 is no bound."""

    max: int = -1
    expires: timedelta = timedelta(minutes=2)


def _tidy(subjects: Iterable[str]) -> tuple[str, ...]:
    """Each once, and none that another covers."""
    known = tuple(dict.fromkeys(subjects))
    return tuple(
        each for each in known if not any(each != other and within(each, other) for other in known)
    )


@final
@frozen(kw_only=True)
class Permissions:
    """What a client must be allowed to do.

    Attributes:
        publish: subjects to publish on.
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
        """The block ``permissions`` of a user in the server's configuration.

        To the server an empty list of what is allowed is no bound, so where nothing is needed
        everything is denied.
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
    """To publish on subjects of streams and hear the acknowledgements."""
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
    """To read a pull consumer and acknowledge its messages.

    Args:
        api: where.
        stream: its stream.
        consumer: its name.
        create: also to create, update, look up and delete it.
        responses: acks by response permission instead of the subject of its acks.
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
    """To receive a push consumer, acknowledge its messages and answer its flow control; see
    :func:`pulling`.
    """
    needed = [f"$JS.FC.{stream_name(stream)}.{consumer_name(consumer)}.>"]
    if create:
        needed += _caring(api, stream, consumer)
    if responses is None:
        needed.append(acks(stream, consumer))
    return Permissions(publish=needed, subscribe=(deliver_subject, inbox), responses=responses)


def ordered(api: ApiSubjects, stream: str, *, inbox: str = INBOX) -> Permissions:
    """To read a stream by ordered consumers, pulled or pushed, which have names of their own.

    With deliver policy ``last_per_subject`` the stream is asked for its subjects, if others write
    while the first values come.
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
    """To read stored messages of a stream, directly or by the API."""
    if not direct:
        return Permissions(publish=(api.stream_msg_get(stream),), subscribe=(inbox,))
    asked = api.direct_get(stream)
    return Permissions(publish=(asked, f"{asked}.>", api.stream_info(stream)), subscribe=(inbox,))


def administering(api: ApiSubjects, *, inbox: str = INBOX) -> Permissions:
    """To do everything that the API offers."""
    return Permissions(publish=(f"{api.prefix}.>",), subscribe=(inbox,))


def backing_up(api: ApiSubjects, stream: str | None = None, *, inbox: str = INBOX) -> Permissions:
    """To save a stream with its consumers and messages, or without a stream all of the account.

    Without the word that a chunk has come, newer servers end a snapshot that is larger than their
    window (8 MB).
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
    """To put back what was saved of a stream, or without a stream of any: with messages, without,
    and over one that is there.
    """
    name = "*" if stream is None else stream_name(stream)
    made = [f"{api.prefix}.STREAM.{verb}.{name}" for verb in ("RESTORE", "CREATE", "UPDATE")]
    consumers = (f"{api.prefix}.CONSUMER.NAMES.{name}", f"{api.prefix}.CONSUMER.CREATE.{name}.>")
    return Permissions(
        publish=(api.stream_list(), *made, *consumers, f"$JS.SNAPSHOT.RESTORE.{name}.*"),
        subscribe=(inbox,),
    )


def hearing_events() -> Permissions:
    """To hear what the servers tell of an account's streams and consumers: advisories and metrics.
    Nothing is asked.
    """
    return Permissions(subscribe=(ADVISORIES, METRICS))


def asking_servers(
    words: Iterable[str], *, accounts: Iterable[str] = (), inbox: str = INBOX
) -> Permissions:
    """To ask the servers, as a user of the system account.

    Args:
        words: what is asked for, such as ``VARZ``: of all servers, or of one by its id, which
            changes with each start.
        accounts: what is asked for is known of these accounts instead, by name or key.
        inbox: inboxes of the client.

    Raises:
        InvalidSubject: no such word, or no name of an account.
    """
    known = [request_token(each, "name of an account") for each in accounts]
    whom = [f"ACCOUNT.{each}" for each in known] or ["SERVER.*"]
    asked = [request_word(each) for each in words]
    return Permissions(
        publish=[f"$SYS.REQ.{one}.{word}" for one in whom for word in asked], subscribe=(inbox,)
    )


def acks(stream: str, consumer: str) -> str:
    """Where acks of a consumer go. With domains, or the longer form of 2.14, tokens come before the
    stream: use responses.
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
