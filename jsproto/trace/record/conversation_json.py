"""Conversations as JSON: what they were opened with, so that a rerun opens the same
(`jsproto.trace.replay.rerun`).

Theory. The arguments of a conversation are plain values and frozen options, so a table says all:
which classes there are, and of each the names of its arguments, which are its attributes too, with
or without an underscore. Options are written as what differs from their defaults, and no secret is
among them. What a user wrote is written as its size alone, for a machine does nothing else with it.
A procedure has no arguments that could be written; what it asks for is told step by step by the
recorder.

What is not in the table, or was given a function, cannot be made again.
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

#: How an argument is written: as itself, by its name, member by member, or by its size; ``None``
#: where only nothing can be.
Way = type[object] | None


class ConversationKind(NamedTuple):
    """How one class of conversations is made: its name in Python, and its arguments."""

    make: Callable[..., Conversation[Any]]
    arguments: Mapping[str, Way]


#: Classes by their name in recordings. A procedure is a special case: it is made of its steps.
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

#: What is left out of the arguments.
_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    name: {each: parameter.default for each, parameter in signature(kind.make).parameters.items()}
    for name, kind in KINDS.items()
}
#: Options within options, where the default does not show the class.
_PARTS: Final[Mapping[str, type[object]]] = {
    "settings": ConsumerConfig,
    "config": ConsumerConfig,
    "pulls": ConsumeOptions,
}
#: Options of a connection that a trace has no business with.
_SECRET: Final = frozenset({"auth", "servers"})
_OWN: Final = ("$JS.", "$SYS.", "_INBOX.")


def described(conversation: Conversation[Any], keep: Keep) -> dict[str, object] | None:
    """The arguments of a conversation that is about to be opened; ``None`` if it could not be made
    again of them.
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
    """Whether all that it does follows from its arguments, its bytes and what is taken of it, and
    where it asks may be told.
    """
    told = keep is not Keep.NONE
    match conversation:
        case PullFeed():  # whether a message is in the user's hands is not in the trace
            return not conversation.acking.keeps and (told or conversation.subject.startswith(_OWN))
        case PushSubscription():
            return not conversation.options.auto_ack and told
        case OrderedConsumer():
            return told and type(conversation.view) is Messages
        case _:
            return True


def _carried(value: object) -> bool:
    """Whether JSON can carry it: numbers may be of any class."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def made_again(name: str, arguments: object) -> Conversation[Any]:
    """A conversation of the class and the arguments that `described` gave.

    Raises:
        LocalProtocolError: nobody makes such a class, or not with these arguments.
    """
    kind = KINDS.get(name)
    if kind is None or not isinstance(arguments, dict):
        raise LocalProtocolError(
            f"expected a conversation that can be made again, got {shorten(name)}"
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
            f"expected the arguments of a {name}, got {shorten(given)}: {error}"
        ) from None
    if isinstance(made, PullFeed) and made.acking.keeps:
        raise LocalProtocolError(
            f"expected a {name} that keeps no messages in progress, got {shorten(given)}"
        )
    return made


def options_written(options: Options) -> dict[str, object]:
    """Options of a connection, without secrets."""
    return {**_members(options, _SECRET), "servers": [str(each) for each in options.servers]}


def options_made(written: object) -> Options:
    """The options that `options_written` wrote.

    Raises:
        LocalProtocolError: they are none.
    """
    if not isinstance(written, dict):
        raise LocalProtocolError(f"expected the options of a connection, got {shorten(written)}")
    try:
        return _made(Options, cast("dict[str, object]", written))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise LocalProtocolError(f"expected the options of a connection: {error}") from None


# ------------------------------------------------------------------------------------------------ steps of procedures


def step_written(number: int, step: Step | None, keep: Keep) -> dict[str, object]:
    """What the procedure of this number waits for, ``None`` for nothing any more."""
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
    """A number of seconds as `step_written` wrote it.

    Raises:
        LocalProtocolError: it is none.
    """
    if isinstance(value, int | float):
        return float(value)
    if value == "inf":
        return inf
    raise LocalProtocolError(f"expected a number of seconds, got {shorten(value)}")


# ------------------------------------------------------------------------------------------------ values


def _subject(subject: str, keep: Keep) -> str:
    """Where a request goes: one of the same length, where the subject is not to be kept."""
    own = keep is not Keep.NONE or subject.startswith(_OWN)
    return subject if own else "x" * len(subject.encode())


def blank(size: object) -> bytes:
    """As many bytes as a user wrote.

    Raises:
        LocalProtocolError: no size, or one that no server takes.
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
    """What differs from the defaults."""
    members: dict[str, object] = {}
    for each in fields(cast("Any", type(value))):
        member: object = getattr(value, each.name)
        if each.init and each.name not in without and member != each.default:
            members[each.name] = _written(member)
    return members


def _read(way: Way, value: object) -> object:
    if way is None:
        raise ValueError("nothing can be told of it")
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
