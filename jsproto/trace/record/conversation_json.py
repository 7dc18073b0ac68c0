"""Writes the arguments of conversations as JSON, so that a rerun can open the same ones.

Theory. The arguments of a conversation are plain values and frozen options. A table lists the
classes and the names of their arguments. Each argument is also an attribute of the conversation,
with or without a leading underscore. Options are written without default values, and they hold no
secret. Payloads of the user are written as their size, because a machine uses only that.

A procedure has no arguments that can be written. Instead the recorder writes each step
(`jsproto.trace.replay.rerun` takes them again). A conversation that is not in the table, or that
holds a function, cannot be created again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from inspect import signature
from math import inf
from typing import Any, Final, NamedTuple, TypeVar, cast

from attrs import fields, has

from jsproto.core.connection.options import Options
from jsproto.core.conversation.conversation import Call, Conversation
from jsproto.core.conversation.procedure import Procedure, Step
from jsproto.core.pubsub.request import Flush
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.core.pubsub.subscription import Overflow, Subscription
from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.context.consumer import NextMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import OrderedOptions
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.base import PullFeed
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.fetch import Fetch, FetchOne
from jsproto.jetstream.pull.fetch_options import FetchOptions
from jsproto.jetstream.push.options import PushOptions
from jsproto.jetstream.push.subscribe import Subscribe
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.trace.formats.recording import MOST_BYTES
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.formats.written_names import written_name

T = TypeVar("T")

#: The type of an argument, which decides how it is written: as itself, by its name, by its members,
#: or by its size. With ``None`` only a missing argument can be written.
Way = type[object] | None


class ConversationKind(NamedTuple):
    """How to create a conversation of one class: its constructor, and its arguments."""

    make: Callable[..., Conversation[Any]]
    arguments: Mapping[str, Way]


#: Classes by their name in recordings. Procedures are missing, because steps describe them.
KINDS: Final[Mapping[str, ConversationKind]] = {
    "Subscription": ConversationKind(
        Subscription,
        {
            "subject": str,
            "queue": str,
            "limit": int,
            "max_messages": int,
            "max_bytes": int,
            "policy": Overflow,
        },
    ),
    "Flush": ConversationKind(Flush, {"timeout": float}),
    "RequestMany": ConversationKind(
        RequestMany,
        {
            "subject": str,
            "payload": bytes,
            "headers": None,
            "sentinel": None,
            "count": int,
            "stall": float,
            "timeout": float,
            "max_messages": int,
            "max_bytes": int,
        },
    ),
    "Fetch": ConversationKind(Fetch, {"subject": str, "options": FetchOptions}),
    "Next": ConversationKind(FetchOne, {"subject": str, "options": FetchOptions}),
    "NextMessage": ConversationKind(NextMessage, {"subject": str, "options": FetchOptions}),
    "Consume": ConversationKind(Consume, {"subject": str, "options": ConsumeOptions}),
    "PushSubscription": ConversationKind(
        PushSubscription,
        {"api": ApiSubjects, "asked": Subscribe, "options": PushOptions, "timeout": float},
    ),
    "OrderedConsumer": ConversationKind(
        OrderedConsumer,
        {"api": ApiSubjects, "stream": str, "view": Messages, "options": OrderedOptions},
    ),
}

#: Default values, which are not written.
_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {each: parameter.default for each, parameter in signature(kind.make).parameters.items()}
    for name, kind in KINDS.items()
}
#: Classes of nested options whose default value does not show the class.
_PARTS: Final[Mapping[str, type[object]]] = {
    "settings": ConsumerConfig,
    "config": ConsumerConfig,
    "pulls": ConsumeOptions,
}
#: Connection options that are never written whole, because they may hold secrets.
_SECRET: Final = frozenset({"auth", "servers"})
_OWN: Final = ("$JS.", "$SYS.", "_INBOX.")


def described(conversation: Conversation[Any], keep: Keep) -> dict[str, object] | None:
    """Write the arguments of a conversation that is about to open.

    The result is ``None`` if they are not enough to create the conversation again.
    """
    if type(conversation) is Procedure:
        return {}
    kind = KINDS.get(written_name(type(conversation)))
    if kind is None or type(conversation) is not kind.make or not _plain(conversation, keep):
        return None
    arguments: dict[str, object] = {}
    for name, way in kind.arguments.items():
        value: object = getattr(conversation, f"_{name}", None)
        if value is None:
            value = getattr(conversation, name, None)
        if way is None and value is not None:
            return None
        if name == "subject" and isinstance(conversation, RequestMany):
            value = _subject(str(value), keep)
        if value != _DEFAULTS[written_name(type(conversation))].get(name):
            arguments[name] = _written(value)
    return arguments if _carried(arguments) else None


def _plain(conversation: Conversation[Any], keep: Keep) -> bool:
    """Whether arguments and recorded bytes decide all that the conversation does.

    It must also be allowed to write the subjects on which the conversation sends requests.
    """
    told = keep is not Keep.NONE
    match conversation:
        case PullFeed():  # the trace does not show which messages the user still holds
            return not conversation.acking.keeps and (told or conversation.subject.startswith(_OWN))
        case PushSubscription():
            return not conversation.options.auto_ack and told
        case OrderedConsumer():
            return told and type(conversation.view) is Messages
        case _:
            return True


def _carried(value: object) -> bool:
    """Whether JSON can hold the value; a number may be of a class that JSON does not know."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def made_again(name: str, arguments: object) -> Conversation[Any]:
    """Create a conversation of the class and with the arguments that `described` wrote.

    Raises:
        LocalProtocolError: the class is not in the table, or the arguments do not fit it.
    """
    kind = KINDS.get(name)
    if kind is None or not isinstance(arguments, dict):
        raise LocalProtocolError(
            f"expected a conversation that can be created again, got {shorten(name)}"
        )
    given = cast("Mapping[str, object]", arguments)
    try:
        made = kind.make(
            **{
                each: _read(way, given[each])
                for each, way in kind.arguments.items()
                if each in given
            }
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LocalProtocolError(
            f"expected the arguments of a {name}, got {shorten(given)} ({error})"
        ) from None
    if isinstance(made, PullFeed) and made.acking.keeps:
        raise LocalProtocolError(
            f"expected a {name} that keeps no messages in progress, got {shorten(given)}"
        )
    return made


def options_written(options: Options) -> dict[str, object]:
    """Write the options of a connection without secrets."""
    return {**_members(options, _SECRET), "servers": [str(each) for each in options.servers]}


def options_made(written: object) -> Options:
    """Read the options that `options_written` wrote.

    Raises:
        LocalProtocolError: they are not the options of a connection.
    """
    if not isinstance(written, dict):
        raise LocalProtocolError(f"expected the options of a connection, got {shorten(written)}")
    try:
        return _made(Options, cast("dict[str, object]", written))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise LocalProtocolError(f"expected the options of a connection, got {error}") from None


# ------------------------------------------------------------------------------ steps of procedures


def step_written(number: int, step: Step | None, keep: Keep) -> dict[str, object]:
    """Write the step that a procedure waits for; ``None`` means that it has ended."""
    if step is None:
        return {"number": number}
    if not isinstance(step, Call):
        return {"number": number, "sleep": _written(getattr(step, "seconds", 0.0))}
    block = 0 if step.headers is None else len(step.headers.encode())
    return {
        "number": number,
        "call": _subject(step.subject, keep),
        "size": block + len(step.payload),
        "timeout": _written(step.timeout),
    }


def number_read(value: object) -> float:
    """Read a number of seconds as `step_written` wrote it.

    Raises:
        LocalProtocolError: the value is not a number.
    """
    if isinstance(value, int | float):
        return float(value)
    if value == "inf":
        return inf
    raise LocalProtocolError(f"expected a number of seconds, got {shorten(value)}")


# ------------------------------------------------------------------------------------------- values


def _subject(subject: str, keep: Keep) -> str:
    """Write the subject of a request, or ``x`` of the same length if it must not be kept."""
    own = keep is not Keep.NONE or subject.startswith(_OWN)
    return subject if own else "x" * len(subject.encode())


def blank(size: object) -> bytes:
    """Create a payload of the size that was recorded.

    Raises:
        LocalProtocolError: the value is not a size, or the size is too large.
    """
    if not (isinstance(size, int) and 0 <= size <= MOST_BYTES):
        raise LocalProtocolError(
            f"expected a size of at most {MOST_BYTES} bytes, got {shorten(size)}"
        )
    return b"." * size


def _written(value: object) -> object:
    if isinstance(value, Enum) and not isinstance(value, str):
        return value.name
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, float) and value == inf:
        return "inf"
    if isinstance(value, Document):
        return value.to_wire()
    if isinstance(value, Messages):
        return True
    if has(type(value)):
        return _members(value)
    return value


def _members(value: object, without: frozenset[str] = frozenset()) -> dict[str, object]:
    """Write the members that differ from their defaults."""
    members: dict[str, object] = {}
    for each in fields(cast("Any", type(value))):
        member: object = getattr(value, each.name)
        if each.init and each.name not in without and member != each.default:
            members[each.name] = _written(member)
    return members


def _read(way: Way, value: object) -> object:
    if way is None:
        raise ValueError("expected no such argument, it cannot be written")
    if issubclass(way, Enum):
        return way[cast("str", value)]
    if issubclass(way, bytes):
        return blank(value)
    if issubclass(way, Document):
        return way.from_wire(value)
    if issubclass(way, Messages):
        return Messages()
    return (
        _made(way, cast("Mapping[str, object]", value)) if has(way) else _number(value, way is str)
    )


def _made(kind: type[T], members: Mapping[str, object]) -> T:
    given: dict[str, object] = {}
    for each in fields(cast("Any", kind)):
        if each.init and each.name in members:
            value, default = members[each.name], cast("object", each.default)
            part = _PARTS.get(each.name, type(default))
            nested = isinstance(default, Enum) or has(part)
            given[each.name] = (
                _read(part, value) if nested else _number(value, isinstance(default, str))
            )
    return kind(**given)


def _number(value: object, text: bool) -> object:
    return inf if value == "inf" and not text else value
