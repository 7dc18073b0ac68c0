"""What to fetch: options that can be checked before anything is sent.

Three modes, because ``no_wait`` and ``expires`` together mean a third thing to the server (2.9 to
2.15): what is there now, and if nothing is, wait for the first.

Two times, because the local deadline must lie behind the server's expiry (ADR-37): give the one
that you know, and the other follows with a margin.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf, isfinite
from typing import Final, TypeVar, final

from attrs import Factory, evolve, field, frozen

from jsproto.core.numbers import in_seconds, seconds_or_none
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import PriorityPolicy
from jsproto.jetstream.delivery.ack_options import UNKNOWN, AckOptions
from jsproto.jetstream.heartbeat import DEFAULT_FACTOR
from jsproto.jetstream.pull.request import (
    PullTemplate,
    checked_amount,
    checked_pin,
    heartbeat_within,
)

T = TypeVar("T")

DEFAULT_EXPIRES: Final = 30.0
#: Seconds that "at once" may take: for this long an answer is waited for where not waiting was
#: asked for. A server says nothing at all to such a request while the consumer has as many messages
#: unacknowledged as it may.
AT_ONCE: Final = 2.0
#: Fetches that wait so long ask for heartbeats unless told otherwise (ADR-37 says above 30 s; as
#: nats.go, from 10 s).
_HEARTBEAT_FROM: Final = 10.0
_HEARTBEAT: Final = 5.0


class FetchMode(Enum):
    """Whether to wait for messages that are not there yet."""

    WAIT = "WAIT"
    NO_WAIT = "NO_WAIT"
    DRAIN_THEN_WAIT = "DRAIN_THEN_WAIT"


def _margin(seconds: float) -> float:
    """How much later than the server the local deadline is (B052): a tenth, 0.2 s to 5 s."""
    return min(max(seconds / 10, 0.2), 5.0)


def _head_start(seconds: float) -> float:
    """How much earlier than the local deadline the server ends the request: a tenth, 0.05 s to 5 s,
    half of it at most.
    """
    return min(max(seconds / 10, 0.05), 5.0, seconds / 2)


def _server_wait_of(options: FetchOptions) -> float:
    """When the server ends the request, if what is given can work."""
    checked_amount("max_messages", options.max_messages)
    checked_amount("max_bytes", options.max_bytes)
    checked_pin(options.pin)
    if options.max_messages is None and options.max_bytes is None:
        raise InvalidConfig("expected max_messages or max_bytes, got neither")
    for name, value in (("expires", options.expires), ("timeout", options.timeout)):
        seconds_or_none(name, value)
    seconds_or_none("idle_heartbeat", options.idle_heartbeat, above=False)
    if (
        options.timeout is not None
        and options.expires is not None
        and options.timeout < options.expires
    ):
        raise InvalidConfig(
            f"expected a timeout of at least expires ({options.expires} s), got {options.timeout} s"
        )
    if options.expires is not None:
        return options.expires
    if options.timeout is None:
        return AT_ONCE if options.mode is FetchMode.NO_WAIT else DEFAULT_EXPIRES
    return options.timeout - _head_start(options.timeout)


def _wait_of(options: FetchOptions) -> float:
    return (
        options.server_wait + _margin(options.server_wait)
        if options.timeout is None
        else options.timeout
    )


def _heartbeat_of(options: FetchOptions) -> float:
    if options.idle_heartbeat is not None:
        return options.idle_heartbeat
    bounded = options.mode is not FetchMode.NO_WAIT and _HEARTBEAT_FROM <= options.server_wait < inf
    return heartbeat_within(_HEARTBEAT, options.server_wait) if bounded else 0.0


def _one_answer_of(options: FetchOptions) -> bool:
    waits = options.mode is FetchMode.WAIT and not options.heartbeat
    return waits and options.max_messages == 1 and options.max_bytes is None


def _template_of(options: FetchOptions) -> PullTemplate:
    return options.request(options.server_wait)


def _derived(rule: Callable[[FetchOptions], T]) -> T:
    """An attribute that follows from those above it; computed once, since a fetch for one message
    asks for all of them.
    """
    made: T = field(init=False, repr=False, eq=False, default=Factory(rule, takes_self=True))
    return made


@final
@frozen(kw_only=True)
class FetchOptions:
    """What to fetch. Never changed by a fetch; the same options give the same request (B064).

    Attributes:
        max_messages: the most messages; one of this and ``max_bytes`` is needed, with both the
            first reached counts.
        max_bytes: the most bytes, as the server counts them.
        mode: whether to wait.
        expires: seconds until the server ends the request, ``inf`` for never; if neither this nor
            ``timeout`` is given, 30, and in the mode ``NO_WAIT``, whose request has no expiry, the
            2 seconds within which an answer must come.
        timeout: seconds until the fetch ends here, whatever the server says; ``expires`` is then
            that less a margin.
        idle_heartbeat: seconds, 0 for none; left out: 5 from 10 s expiry on, else none; at most
            half of the expiry.
        heartbeat_factor: how many heartbeats of silence are an end.
        group: priority group, with ``min_pending``, ``min_ack_pending``, ``priority`` and ``pin``
            (ADR-42).
        acking: what is known of acknowledgements, and wished.
        pinned: whether the consumer pins its group to one client; ``None`` if it is not known, as
            in `ConsumeOptions`.
        server_wait: seconds until the server ends the request, ``inf`` for never.
        wait: seconds until the fetch ends here, ``inf`` for never.
        heartbeat: seconds between heartbeats, 0 for none.
        one_answer: whether one frame is all that the server will say: a message, or the status that
            there is none.
        template: the request.

    Raises:
        InvalidConfig: what can't work, before anything is sent.
    """

    max_messages: int | None = None
    max_bytes: int | None = None
    mode: FetchMode = FetchMode.WAIT
    expires: float | None = field(default=None, converter=in_seconds)
    timeout: float | None = field(default=None, converter=in_seconds)
    idle_heartbeat: float | None = field(default=None, converter=in_seconds)
    heartbeat_factor: float = DEFAULT_FACTOR
    group: str = ""
    min_pending: int = 0
    min_ack_pending: int = 0
    priority: int | None = None
    pin: str = ""
    acking: AckOptions = UNKNOWN
    pinned: bool | None = None
    server_wait: float = _derived(_server_wait_of)
    wait: float = _derived(_wait_of)
    heartbeat: float = _derived(_heartbeat_of)
    one_answer: bool = _derived(_one_answer_of)
    template: PullTemplate = _derived(_template_of)  # noqa: RUF009 - it is an attribute of attrs that this gives

    @property
    def may_pin(self) -> bool:
        """Whether the server may pin the group to one client, and so add a pin id to messages."""
        return bool(self.group) and self.pinned is not False

    def within(self, config: ConsumerConfig) -> FetchOptions:
        """These options for a consumer that is known: how it acknowledges, and whether it pins.
        What is asked for stays.
        """
        pinned = config.priority_policy == PriorityPolicy.PINNED_CLIENT
        return evolve(self, acking=self.acking.within(config), pinned=pinned)

    def request(self, seconds: float, *, no_wait: bool = True) -> PullTemplate:
        """The request with an expiry of so many seconds; ``no_wait=False`` waits even where the
        mode would not.
        """
        expires = seconds if isfinite(seconds) and self.mode is not FetchMode.NO_WAIT else None
        heartbeat = self.heartbeat
        if expires is not None and seconds < self.server_wait:
            heartbeat = heartbeat_within(heartbeat, seconds)
        return PullTemplate(
            expires=expires,
            idle_heartbeat=heartbeat,
            no_wait=no_wait and self.mode is not FetchMode.WAIT,
            group=self.group,
            min_pending=self.min_pending,
            min_ack_pending=self.min_ack_pending,
            priority=self.priority,
        )
