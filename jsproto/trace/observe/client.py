"""Reads what clients ask of JetStream as the server reads it: API subjects and pull bodies.

Theory. The server is lenient with the body of a pull. It accepts no body, a number, JSON with any
members, and any other text (nats-server consumer.go ``nextReqFromMsg``). This module accepts the
same; the judge decides what the client should have sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from jsproto.jetstream.api.timestamps import INT64_MAX
from jsproto.trace.observe.ledger import ConsumerKey, Json, SeenPull

#: Verbs of the API; names of streams and consumers follow them in the subject.
_VERBS: Final = frozenset({
    "INFO", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.INFO", "STREAM.DELETE", "STREAM.PURGE",
    "STREAM.NAMES", "STREAM.LIST", "STREAM.MSG.GET", "STREAM.MSG.DELETE", "STREAM.SNAPSHOT",
    "STREAM.RESTORE", "STREAM.PEER.REMOVE", "STREAM.PEER.EVACUATE",
    "STREAM.CANCEL_MOVE", "STREAM.LEADER.STEPDOWN",
    "CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE",
    "CONSUMER.NAMES", "CONSUMER.LIST", "CONSUMER.MSG.NEXT", "CONSUMER.PAUSE", "CONSUMER.UNPIN",
    "CONSUMER.RESET", "CONSUMER.LEADER.STEPDOWN", "DIRECT.GET",
    "META.LEADER.STEPDOWN", "SERVER.REMOVE", "SERVER.EVACUATE", "ACCOUNT.PURGE",
    "ACCOUNT.STREAM.MOVE", "ACCOUNT.STREAM.CANCEL_MOVE",
    "STREAM.TEMPLATE.CREATE", "STREAM.TEMPLATE.DELETE", "STREAM.TEMPLATE.INFO",
    "STREAM.TEMPLATE.NAMES",
})  # fmt: skip


#: Members of a pull body with their types. The server refuses a pull with another type (400).
_MEMBERS: Final[Mapping[str, type]] = {
    "batch": int, "max_bytes": int, "expires": int, "idle_heartbeat": int, "no_wait": bool,
    "group": str, "id": str,
}  # fmt: skip


def api_call(subject: str) -> tuple[str, tuple[str, ...]]:
    """Split an API subject into its verb and the names after it.

    The subject may name a domain (``$JS.<domain>.API``). The verb is ``""`` if the API has none
    like it.
    """
    tokens = subject.split(".")
    if tokens[1:2] == ["API"]:
        tokens = tokens[2:]
    elif tokens[2:3] == ["API"]:
        tokens = tokens[3:]
    else:
        return "", ()
    for count in (3, 2, 1):
        verb = ".".join(tokens[:count])
        if verb in _VERBS:
            return verb, tuple(tokens[count:])
    return "", ()


def pull_of(consumer: ConsumerKey, token: str, body: bytes, at: int, line: int) -> SeenPull:
    """Read the body of a pull as the server does.

    A body may be empty, a number, or a JSON object. Any other text asks for one message.
    """
    pull = SeenPull(consumer=consumer, token=token, body=body, at=at, line=line)
    if body.strip().isdigit() and len(body) < 16:
        pull.batch = max(1, int(body))
    members = json_object(body)
    if members is None:
        return pull
    pull.members = frozenset(members)
    pull.void = (
        any(not _fits(members.get(name), kind) for name, kind in _MEMBERS.items())
        or number(members, "expires") < 0
    )
    pull.batch = max(1, number(members, "batch"))
    pull.vague = "batch" in members and number(members, "batch") < 1
    pull.max_bytes = max(0, number(members, "max_bytes"))
    pull.expires = max(0, number(members, "expires"))
    pull.heartbeat = max(0, number(members, "idle_heartbeat"))
    pull.no_wait = members.get("no_wait") is True
    group, pin = members.get("group"), members.get("id")
    pull.group = group if isinstance(group, str) else ""
    pull.pin = pin if isinstance(pin, str) else ""
    return pull


def _fits(value: object, kind: type) -> bool:
    """Whether the server can read a member: it has the type, and an integer fits 64 bits.

    ``null`` counts as a member that is missing.
    """
    if value is None:
        return True
    if kind is int:
        return (
            isinstance(value, int)
            and not isinstance(value, bool)
            and -INT64_MAX - 1 <= value <= INT64_MAX
        )
    return isinstance(value, kind)


def json_object(data: bytes) -> Json | None:
    """Read these bytes as a JSON object; ``None`` if they are not one."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def member(body: Json, name: str) -> Json:
    """Read a member that is an object; an empty one if it is missing or of another type."""
    value = body.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def number(members: Json, name: str) -> int:
    """Read a member that is an integer of 64 bits; 0 if it is missing or of another type."""
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if -INT64_MAX <= value <= INT64_MAX else 0
