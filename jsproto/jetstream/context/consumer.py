"""The handle of a consumer: administration, pulling, push subscription."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Unpack, cast, final

from attrs import evolve, field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.core.numbers import seconds
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors.tree import RequestTimeout
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.enums import PriorityPolicy
from jsproto.jetstream.api.config.settings import ConsumerSettings, seconds_of
from jsproto.jetstream.api.requests import cluster, maintenance, manage
from jsproto.jetstream.api.requests.maintenance import Pause
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.delivery.ack_options import UNKNOWN, AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.heartbeat import DEFAULT_FACTOR
from jsproto.jetstream.pull.ack_next import AckNext
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import ConsumeOptions, OnDeleted
from jsproto.jetstream.pull.fetch import Fetch, FetchOne
from jsproto.jetstream.pull.fetch_options import FetchMode, FetchOptions
from jsproto.jetstream.push.options import PUSH_FACTOR
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.jetstream.status import EndReason
from jsproto.signals import Ended, NeedData

if TYPE_CHECKING:
    from jsproto.jetstream.context.stream import Stream  # noqa: TC004 - never resolved


#: Default seconds to wait for one message.
_NEXT: Final = 5.0
#: End reasons by which the server answers at once that it has no message.
_AT_ONCE: Final = frozenset({EndReason.NO_MESSAGES, EndReason.REQUESTS_PENDING})


@final
@frozen(kw_only=True)
class Consumer:
    """A consumer by its name.

    Attributes:
        stream: its stream.
        name: its name.
        cached: the consumer info when the handle was made, ``None`` if it was not requested.
    """

    stream: Stream
    name: str
    cached: ConsumerInfo | None = field(default=None, eq=False, repr=False)
    _next: str = field(init=False, eq=False, repr=False)
    _acking: AckOptions = field(init=False, eq=False, repr=False, default=UNKNOWN)

    def __attrs_post_init__(self) -> None:
        api = self.stream.js.api
        object.__setattr__(self, "_next", api.consumer_msg_next(self.stream.name, self.name))
        if self.cached is not None:
            object.__setattr__(self, "_acking", UNKNOWN.within(self.cached.config))

    def info(self, *, timeout: float | timedelta | None = None) -> Procedure[ConsumerInfo]:
        """Return configuration and progress.

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: manage.consumer_info(js.api, self.stream.name, self.name, timeout=seconds)
        )

    def refresh(self, *, timeout: float | timedelta | None = None) -> Procedure[Consumer]:
        """Request the consumer info, and return a handle that knows it.

        Feeds of that handle keep within the limits of the consumer.

        Args:
            timeout: seconds.

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)

        def steps() -> Steps[Consumer]:
            info = yield from manage.consumer_info(
                js.api, self.stream.name, self.name, timeout=seconds
            )
            return evolve(self, cached=info)

        return Procedure(steps)

    def change(
        self, *, timeout: float | timedelta | None = None, **settings: Unpack[ConsumerSettings]
    ) -> Procedure[Consumer]:
        """Read the configuration, change some settings, and write all of it back.

        Args:
            timeout: seconds for each of the two requests.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerNotFound: the consumer is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: a setting that cannot work.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        changes = cast("Mapping[str, object]", settings)

        def steps() -> Steps[Consumer]:
            info = yield from manage.change_consumer(
                js.api, self.stream.name, self.name, changes, timeout=seconds
            )
            return evolve(self, cached=info)

        return Procedure(steps)

    def delete(self, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Delete the consumer.

        Raises:
            ConsumerNotFound: the consumer is gone already.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: manage.delete_consumer(js.api, self.stream.name, self.name, timeout=seconds)
        )

    def pause(
        self, until: datetime | Timestamp, *, timeout: float | timedelta | None = None
    ) -> Procedure[Pause]:
        """Pause deliveries until a time (2.11); messages delivered before stay with the readers.

        Args:
            until: when the deliveries resume.
            timeout: seconds.

        Raises:
            ConsumerNotFound: the consumer is gone.
            InvalidConfig: a ``datetime`` without a time zone.
        """
        return self._paused(Timestamp.of(until), timeout)

    def resume(self, *, timeout: float | timedelta | None = None) -> Procedure[Pause]:
        """Resume the deliveries now (2.11).

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        return self._paused(None, timeout)

    def reset(
        self, *, seq: int | None = None, timeout: float | timedelta | None = None
    ) -> Procedure[ConsumerInfo]:
        """Restart the deliveries after the ack floor, or at a sequence (2.14, ADR-60).

        The consumer sequence restarts at 1.

        Args:
            seq: the stream sequence to restart at; the deliver policy must allow it.
            timeout: seconds for each request; there is a second if the first gets no answer.

        Raises:
            ConsumerNotFound: the consumer is gone.
            ConfigurationRefused: the deliver policy does not allow the sequence.
            InvalidConfig: an invalid sequence.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        begin = maintenance.sequence("seq", seq)
        return Procedure(
            lambda: maintenance.reset_consumer(
                js.api, self.stream.name, self.name, seq=begin, timeout=seconds
            )
        )

    def unpin(self, group: str, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Unpin the client of a priority group; the next pull is pinned (2.11, ADR-42).

        Raises:
            ConsumerNotFound: the consumer is gone.
            InvalidRequest: no such group, or no client is pinned.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: maintenance.unpin_consumer(
                js.api, self.stream.name, self.name, group, timeout=seconds
            )
        )

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> Procedure[str]:
        """Make the leader step down; return the new leader's name, or ``""`` without ``wait``.

        Args:
            placement: the next leader: its name as ``preferred`` (2.11), or its cluster and tags.
            wait: whether to wait for a new leader.
            timeout: seconds for the whole operation.

        Raises:
            CannotServe: the server is in no cluster.
            ConsumerNotFound: the consumer is gone.
            RequestTimeout: no new leader in time.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: cluster.step_down_consumer(
                js.api, self.stream.name, self.name, placement=placement, wait=wait, timeout=seconds
            )
        )

    def _paused(
        self, until: Timestamp | None, timeout: float | timedelta | None
    ) -> Procedure[Pause]:
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: maintenance.pause_consumer(
                js.api, self.stream.name, self.name, until, timeout=seconds
            )
        )

    # ------------------------------------------------------------------ pulling

    def fetch(
        self,
        max_messages: int | None = None,
        *,
        max_bytes: int | None = None,
        mode: FetchMode = FetchMode.WAIT,
        expires: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
        idle_heartbeat: float | timedelta | None = None,
        heartbeat_factor: float = DEFAULT_FACTOR,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        pin: str = "",
        acking: AckOptions = UNKNOWN,
    ) -> Fetch[JsMessage]:
        """Get a number of messages or bytes by one request: a feed with a definite end.

        Args:
            max_messages: the most messages. Give this, ``max_bytes`` or both; with both, the limit
                reached first ends the fetch.
            max_bytes: the most bytes, as the server counts them.
            mode: whether to wait for messages that are not stored yet.
            expires: seconds until the server ends the request, ``inf`` for never; by default 30
                unless ``timeout`` is given. In the mode ``NO_WAIT`` the request has no expiry, and
                the client waits 2 seconds for an answer.
            timeout: seconds until the client ends the fetch, whatever the server sends.
            idle_heartbeat: seconds, 0 for none; by default 5 if the request expires after 10 s or
                more, else none.
            heartbeat_factor: missed heartbeats until the fetch ends: 2 (ADR-37), 3 in ADR-15.
            group: priority group; belongs to ``min_pending``, ``min_ack_pending``, ``priority`` and
                ``pin`` (ADR-42).
            min_pending: deliver only while at least this number of messages is pending.
            min_ack_pending: deliver only while at least this number of acks is pending.
            priority: 0 (first) to 9.
            pin: the pin id of the last message of a pinned consumer.
            acking: how the client treats delivered messages, and what the user knows about acks.

        Raises:
            InvalidConfig: arguments that cannot work; nothing was sent.
            StatusError: the server ended the request with an error before the first message.
            NoResponders: no server serves the consumer.
            HeartbeatsMissed: the server fell silent before the first message.
            ConnectionLost: the link was lost before the first message.
        """
        return Fetch(
            self.next_subject,
            FetchOptions(
                max_messages=max_messages,
                max_bytes=max_bytes,
                mode=mode,
                expires=expires,
                timeout=timeout,
                idle_heartbeat=idle_heartbeat,
                heartbeat_factor=heartbeat_factor,
                group=group,
                min_pending=min_pending,
                min_ack_pending=min_ack_pending,
                priority=priority,
                pin=pin,
                acking=self._known(acking),
                pinned=self._pins,
            ),
        )

    def next(
        self,
        *,
        timeout: float | timedelta | None = None,
        mode: FetchMode = FetchMode.WAIT,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        pin: str = "",
        acking: AckOptions = UNKNOWN,
    ) -> NextMessage:
        """Get one message.

        Args:
            timeout: seconds to wait for it; by default 5, or 2 in the mode ``NO_WAIT``. The request
                expires a little earlier, so that a message sent in the last moment still arrives.
            mode: whether to wait for a message that is not stored yet.
            group: priority group; belongs to ``min_pending``, ``min_ack_pending``, ``priority`` and
                ``pin`` (ADR-42).
            min_pending: deliver only while at least this number of messages is pending.
            min_ack_pending: deliver only while at least this number of acks is pending.
            priority: 0 (first) to 9.
            pin: the pin id of the last message of a pinned consumer.
            acking: how the client treats the delivered message, and what the user knows about acks.

        Raises:
            RequestTimeout: no message in time.
            StatusError: the server ended the request with an error.
            NoResponders: no server serves the consumer.
            ConnectionLost: the link was lost before a message came.
            InvalidConfig: arguments that cannot work; nothing was sent.
        """
        usual = timeout is None or (isinstance(timeout, float) and timeout > 0)
        options = _next_options(
            timeout if usual else seconds("timeout", cast("float | timedelta", timeout)),
            mode,
            self._known(acking),
        )
        if group or min_pending or min_ack_pending or priority is not None or pin:
            options = evolve(
                options,
                group=group,
                min_pending=min_pending,
                min_ack_pending=min_ack_pending,
                priority=priority,
                pin=pin,
                pinned=self._pins,
            )
        return NextMessage(self._next, options)

    def consume(
        self,
        max_messages: int | None = None,
        *,
        max_bytes: int | None = None,
        threshold_messages: int | None = None,
        threshold_bytes: int | None = None,
        within_bytes: int | None = None,
        stop_after: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        heartbeat_factor: float = DEFAULT_FACTOR,
        on_deleted: OnDeleted = OnDeleted.END,
        watch_gaps: bool = False,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: AckOptions = UNKNOWN,
    ) -> Consume[JsMessage]:
        """Receive messages without end: a feed that asks for more as the user takes them.

        A lost link does not end it: it continues on the next link. If the handle knows the
        consumer's configuration, the client never asks for more than the consumer could deliver or
        allows.

        Args:
            max_messages: the most messages requested and buffered; 500 if neither this nor
                ``max_bytes`` is given.
            max_bytes: the most bytes requested and buffered, as the server counts them; excludes
                ``max_messages``.
            threshold_messages: ask again at this number of messages; by default half of
                ``max_messages``.
            threshold_bytes: ask again at this number of bytes; by default half of ``max_bytes``.
            within_bytes: limits the bytes in addition to ``max_messages``; ``threshold_bytes`` then
                applies to it.
            stop_after: end after this number of messages; the client never asks for more.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; by default half of ``expires``, from 0.5 to 30.
            heartbeat_factor: missed heartbeats until an alarm: 2 (ADR-37), 3 in ADR-15.
            on_deleted: what to do when the consumer is deleted or missing: end, or wait until it is
                created.
            watch_gaps: report gaps in the consumer sequence; only for the only reader of a
                consumer.
            group: priority group; belongs to ``min_pending``, ``min_ack_pending`` and ``priority``
                (ADR-42).
            min_pending: deliver only while at least this number of messages is pending.
            min_ack_pending: deliver only while at least this number of acks is pending.
            priority: 0 (first) to 9.
            acking: how the client treats delivered messages, and what the user knows about acks.

        Raises:
            InvalidConfig: arguments that cannot work; nothing was sent.
            ConsumerDeleted: the consumer was deleted.
            ConsumerNotFound, StreamNotFound: it does not exist; the client checks this when no
                server serves a pull.
            StatusError: the server rejects a pull, and would reject each further one.
        """
        options = ConsumeOptions(
            max_messages=max_messages,
            max_bytes=max_bytes,
            threshold_messages=threshold_messages,
            threshold_bytes=threshold_bytes,
            within_bytes=within_bytes,
            stop_after=stop_after,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            heartbeat_factor=heartbeat_factor,
            on_deleted=on_deleted,
            watch_gaps=watch_gaps,
            group=group,
            min_pending=min_pending,
            min_ack_pending=min_ack_pending,
            priority=priority,
            acking=acking,
        )
        return Consume(
            self.next_subject,
            options if self.cached is None else options.within(self.cached.config),
        )

    def ack_next(
        self,
        *,
        stop_after: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        heartbeat_factor: float = DEFAULT_FACTOR,
        on_deleted: OnDeleted = OnDeleted.END,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: AckOptions = UNKNOWN,
    ) -> AckNext[JsMessage]:
        """Receive one message at a time; the ack of a message asks for the next (``+NXT``).

        For long jobs: the client buffers no message while the user processes one.

        Args:
            stop_after: end after this number of messages.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; by default half of ``expires``, from 0.5 to 30.
            heartbeat_factor: missed heartbeats until an alarm: 2 (ADR-37), 3 in ADR-15.
            on_deleted: what to do when the consumer is deleted or missing: end, or wait until it is
                created.
            group: priority group; belongs to ``min_pending``, ``min_ack_pending`` and ``priority``
                (ADR-42).
            min_pending: deliver only while at least this number of messages is pending.
            min_ack_pending: deliver only while at least this number of acks is pending.
            priority: 0 (first) to 9.
            acking: how the client treats the delivered message, and what the user knows about acks.

        Raises:
            InvalidConfig: arguments that cannot work; nothing was sent.
            ConsumerDeleted: the consumer was deleted.
            ConsumerNotFound, StreamNotFound: it does not exist; the client checks this when no
                server serves a pull.
            StatusError: the server rejects a pull, and would reject each further one.
        """
        options = ConsumeOptions(
            max_messages=1,
            stop_after=stop_after,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            heartbeat_factor=heartbeat_factor,
            on_deleted=on_deleted,
            group=group,
            min_pending=min_pending,
            min_ack_pending=min_ack_pending,
            priority=priority,
            acking=acking,
        )
        return AckNext(
            self.next_subject,
            options if self.cached is None else options.within(self.cached.config),
        )

    # ------------------------------------------------------------------ push

    def subscribe(
        self,
        *,
        queue: str = "",
        heartbeat_factor: float = PUSH_FACTOR,
        watch_gaps: bool = True,
        auto_ack: bool = False,
        raw: bool = False,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
        policy: Overflow = Overflow.DROP_NEWEST,
        timeout: float | timedelta | None = None,
    ) -> PushSubscription[JsMessage]:
        """Receive the messages of a push consumer; the consumer stays when the feed ends.

        Args:
            queue: the group that the consumer was created for; its members share the messages.
            heartbeat_factor: missed heartbeats until an alarm: 3 (ADR-15).
            watch_gaps: report gaps in the consumer sequence; never for a queue group.
            auto_ack: acknowledge each message when the reader asks for the next one.
            raw: return statuses like messages, and do not act on them.
            max_messages: the most messages buffered here while the consumer has no flow control.
            max_bytes: the most bytes of these messages.
            policy: what to do with messages beyond these limits; each is counted and reported.
            timeout: seconds for the request of the consumer info.

        Raises:
            SubscribeRefused: raised on reading: the consumer does not allow this subscription; the
                class says why.
            ConsumerNotFound: raised on reading: the consumer is gone.
            InvalidConfig, InvalidSubject: arguments that cannot work; nothing was sent.
        """
        return self.stream.js.subscribe(
            stream=self.stream.name,
            consumer=self.name,
            queue=queue,
            heartbeat_factor=heartbeat_factor,
            watch_gaps=watch_gaps,
            auto_ack=auto_ack,
            raw=raw,
            max_messages=max_messages,
            max_bytes=max_bytes,
            policy=policy,
            timeout=timeout,
        )

    def _known(self, acking: AckOptions) -> AckOptions:
        """``acking`` completed by the known configuration of the consumer."""
        if acking is UNKNOWN:
            return self._acking
        return acking if self.cached is None else acking.within(self.cached.config)

    @property
    def _pins(self) -> bool | None:
        """Whether the consumer pins clients of its groups; ``None`` if unknown."""
        if self.cached is None:
            return None
        return self.cached.config.priority_policy == PriorityPolicy.PINNED_CLIENT

    @property
    def next_subject(self) -> str:
        """The subject of its pull requests."""
        return self._next


@final
class NextMessage(FetchOne[JsMessage]):
    """A `FetchOne` for a procedure: an end without a message is an error."""

    __slots__ = ()

    def nothing(self) -> NeedData | Ended:
        """Raise `RequestTimeout` if the fetch ended normally without a message."""
        if self.ended and self.error is None and not self.got:
            why = "unknown" if self.reason is None else self.reason.name
            waited = (
                self.options.wait if self.reason is EndReason.DEADLINE else self.options.server_wait
            )
            within = "at once" if self.reason in _AT_ONCE else f"within {waited:g} s"
            raise RequestTimeout(f"expected a message on {self.subject} {within}, got none ({why})")
        return super().nothing()


@lru_cache(maxsize=64, typed=True)
def _next_options(
    timeout: float | timedelta | None, mode: FetchMode, acking: AckOptions
) -> FetchOptions:
    """The options of a `next`, cached: checking them again would cost a quarter of the call."""
    if timeout is None and mode is not FetchMode.NO_WAIT:
        timeout = _NEXT
    return FetchOptions(max_messages=1, timeout=timeout, mode=mode, acking=acking)
