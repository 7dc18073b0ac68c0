"""Describes one frame in detail: its kind, and the values that it holds, by name.

Theory. The ladder describes a frame in one line; this module gives the details of one frame. Names
are those of NATS, with their units, and empty values are left out. Only the frame itself is read.
The caller must know the other frames to find what it answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.status import pending_of
from jsproto.trace.observe.client import api_call, json_object, pull_of
from jsproto.trace.observe.ledger import seconds
from jsproto.wire.client_commands import (
    ClientCommand,
    ClientVerb,
    ConnectLine,
    PubLine,
    SubLine,
    UnsubLine,
)
from jsproto.wire.frames import Control, Err, Frame, Info
from jsproto.wire.headers import status_of

Value: TypeAlias = str | int | float | bool

#: Highest length of a text in a field; a subject can be as long as a line.
MOST_TEXT: Final = 1000
#: Members of CONNECT that describe the client and hold no secret.
_CONNECT: Final = (
    "name", "lang", "version", "protocol", "headers", "no_responders", "verbose", "pedantic",
    "echo",
)  # fmt: skip


class Meaning(NamedTuple):
    """A frame taken apart."""

    #: Kind of the frame, such as ``delivery``, ``pull`` or ``ack``.
    kind: str
    #: Values by name, without those that are empty, zero or false.
    fields: Mapping[str, Value]


def frame_meaning(frame: Frame) -> Meaning:
    """Describe a frame of the server."""
    match frame:
        case tuple():
            sid, subject, reply, block, payload = frame
            about = delivered_as(reply)
            if about is not None:
                return _said(
                    "delivery",
                    {
                        "subject": subject,
                        "sid": sid,
                        **_origin(about),
                        "delivered": about.num_delivered,
                        "stored": about.timestamp.isoformat(),
                        "left for the consumer": about.num_pending,
                        "payload bytes": len(payload),
                        "acks go to": reply,
                    },
                )
            status = status_of(block) if block is not None else None
            if status is None or block is None:
                said: dict[str, Value] = {"payload bytes": len(payload), "reply": reply}
                return _said("message", {"subject": subject, "sid": sid, **said})
            rest = pending_of(block)
            left: dict[str, Value] = (
                {} if rest is None else {"messages left": rest[0], "bytes left": rest[1]}
            )
            told: dict[str, Value] = {"code": status[0], "text": status[1], **left}
            return _said("status", {**told, "subject": subject, "sid": sid, "reply": reply})
        case Info():
            return _said(
                "info",
                {
                    "server": frame.server_name,
                    "version": frame.version,
                    "cluster": frame.cluster,
                    "domain": frame.domain,
                    "client id": frame.client_id,
                    "max payload": frame.max_payload,
                    "headers": frame.headers,
                    "JetStream": frame.jetstream,
                    "auth required": frame.auth_required,
                    "lame duck": frame.lame_duck,
                },
            )
        case Err():
            return _said("error", {"text": frame.text})
        case _:
            return Meaning("ok" if frame is Control.OK else frame.value.lower(), {})


def command_meaning(command: ClientCommand) -> Meaning:
    """Describe a command of the client."""
    match command:
        case ConnectLine():
            members = json_object(command.body) or {}
            return _said("connect", {name: _plain(members.get(name)) for name in _CONNECT})
        case SubLine():
            return _said(
                "subscribe",
                {"subject": command.subject, "queue": command.queue, "sid": command.sid},
            )
        case UnsubLine():
            return _said("unsubscribe", {"sid": command.sid, "after messages": command.limit})
        case PubLine():
            return _publish(command)
        case ClientVerb():
            return Meaning(command.value.lower(), {})
        case _:
            return _said("unreadable", {"text": command.text})


def _publish(command: PubLine) -> Meaning:
    subject, reply, payload = command.subject, command.reply, command.payload
    about = delivered_as(subject)
    if about is not None:
        says = payload.decode("utf-8", "replace") or "+ACK (an empty body)"
        return _said(
            "ack",
            {"says": says, **_origin(about), "delivered": about.num_delivered, "reply": reply},
        )
    if subject.startswith("$JS.FC."):
        return _said("flow control", {"answers": subject, "reply": reply})
    verb, names = api_call(subject)
    if verb == "CONSUMER.MSG.NEXT" and len(names) == 2:
        pull = pull_of((names[0], names[1]), reply, payload, 0, 0)
        return _said(
            "pull",
            {
                "stream": names[0],
                "consumer": names[1],
                "messages": pull.batch,
                "bytes": pull.max_bytes,
                "expires after s": seconds(pull.expires),
                "heartbeat every s": seconds(pull.heartbeat),
                "no wait": pull.no_wait,
                "group": pull.group,
                "pin id": pull.pin,
                "reply": reply,
            },
        )
    if verb:
        return _said("request", {"asks": verb, "of": " ".join(names), "reply": reply})
    return _said("publish", {"subject": subject, "payload bytes": len(payload), "reply": reply})


def delivered_as(subject: str) -> AckSubject | None:
    """Read the ack subject of a delivery; ``None`` if the subject is not one."""
    if not subject.startswith("$JS.ACK."):
        return None
    try:
        return AckSubject.parse(subject)
    except InvalidAckSubject:
        return None


def _origin(about: AckSubject) -> dict[str, Value]:
    return {
        "stream": about.stream,
        "consumer": about.consumer,
        "domain": about.domain,
        "stream sequence": about.stream_sequence,
        "consumer sequence": about.consumer_sequence,
    }


def _said(kind: str, fields: Mapping[str, Value]) -> Meaning:
    return Meaning(kind, {name: _short(value) for name, value in fields.items() if value})


def _short(value: Value) -> Value:
    return f"{value[:MOST_TEXT]}…" if isinstance(value, str) and len(value) > MOST_TEXT else value


def _plain(value: object) -> Value:
    """Convert a member of any type into a value for a field."""
    if value is None:
        return ""
    return value if isinstance(value, str | int | float) else json.dumps(value)
