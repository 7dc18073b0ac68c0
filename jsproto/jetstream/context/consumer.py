"""A consumer by its name: its care, and the ways to its messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Unpack, cast, final

from attrs import evolve, field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.core.numbers import seconds
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors import RequestTimeout
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
    from jsproto.jetstream.context.stream import Stream  # noqa: TC004 - nobody resolves the field's type


#: Seconds that one message is waited for.
_NEXT: Final = 5.0
#: Ends by which the server has said at once that nothing is there.
_AT_ONCE: Final = frozenset({EndReason.NO_MESSAGES, EndReason.REQUESTS_PENDING})


@final
@frozen(kw_only=True)
class Consumer:
    """A consumer by its name.

    Attributes:
        stream: its stream.
        name: its name.
        cached: what the server said when the handle was made, ``None`` if it was not asked.
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
        """Configuration and progress.

        Raises:
            ConsumerNotFound: it is gone.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: manage.consumer_info(js.api, self.stream.name, self.name, timeout=seconds)
        )

    def refresh(self, *, timeout: float | timedelta | None = None) -> Procedure[Consumer]:
        """A handle that knows what the server says now: its feeds keep within the limits of the
        consumer.

        Args:
            timeout: seconds.

        Raises:
            ConsumerNotFound: it is gone.
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
        """Read the configuration, change some settings, write it back with all that was read.

        Args:
            timeout: seconds for each of the two questions.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerNotFound: it is gone.
            InvalidConfiguration: the server says what is wrong with it.
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
        """Delete it.

        Raises:
            ConsumerNotFound: it is gone already.
        """
        js = self.stream.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: manage.delete_consumer(js.api, self.stream.name, self.name, timeout=seconds)
        )

    def pause(
        self, until: datetime | Timestamp, *, timeout: float | timedelta | None = None
    ) -> Procedure[Pause]:
        """Let it rest: it delivers nothing until then (2.11). What is in its readers' hands stays
        there.

        Args:
            until: the instant at which it goes on.
            timeout: seconds.

        Raises:
            ConsumerNotFound: it is gone.
            InvalidConfig: a ``datetime`` without a time zone.
        """
        return self._paused(Timestamp.of(until), timeout)

    def resume(self, *, timeout: float | timedelta | None = None) -> Procedure[Pause]:
        """End its rest now (2.11).

        Raises:
            ConsumerNotFound: it is gone.
        """
        return self._paused(None, timeout)

    def reset(
        self, *, seq: int | None = None, timeout: float | timedelta | None = None
    ) -> Procedure[ConsumerInfo]:
        """Begin anew behind the ack floor, or at a sequence (2.14, ADR-60). Consumer sequences
        start at 1 again.

        Args:
            seq: the stream sequence to begin at; its deliver policy must go with it.
            timeout: seconds for each question; there is a second if the first is not answered.

        Raises:
            ConsumerNotFound: it is gone.
            InvalidConfiguration: its deliver policy does not go with the sequence.
            InvalidConfig: a sequence that is none.
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
        """Take a priority group from the client that it is pinned to: the next pull gets it (2.11,
        ADR-42).

        Raises:
            ConsumerNotFound: it is gone.
            InvalidRequest: no such group, or nobody is pinned.
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
        """Let its leader step down; the name of the new one, empty if that is not waited for.

        Args:
            placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster
                and tags.
            wait: for a new leader.
            timeout: seconds for all of it.

        Raises:
            Unavailable: the server is in no cluster.
            ConsumerNotFound: it is gone.
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
        """So many messages, or bytes, by one request: a feed with a definite end.

        Args:
            max_messages: the most messages; one of this and ``max_bytes`` is needed, with both the
                first reached counts.
            max_bytes: the most bytes, as the server counts them.
            mode: whether to wait for messages that are not there yet.
            expires: seconds until the server ends the request, ``inf`` for never; 30 unless
                ``timeout`` is given. In the mode ``NO_WAIT`` the request has no expiry, and an
                answer is waited for 2 seconds.
            timeout: seconds until the fetch ends here, whatever the server says.
            idle_heartbeat: seconds, 0 for none; left out: 5 from 10 s expiry on, else none.
            heartbeat_factor: how many heartbeats of silence are an end: 2 (ADR-37), 3 in ADR-15.
            group: priority group, with ``min_pending``, ``min_ack_pending``, ``priority`` and
                ``pin`` (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            pin: the pin id of the last message of a pinned consumer.
            acking: how messages in hand are treated, and what else is known of acknowledgements.

        Raises:
            InvalidConfig: what cannot work, before anything is sent.
            StatusError: the server ended the request with an error, and no message had come.
            NoResponders: nobody serves the consumer.
            HeartbeatsMissed: the server fell silent, and no message had come.
            ConnectionLost: the link was lost, and no message had come.
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
        """One message.

        Args:
            timeout: seconds to wait for it: 5, or 2 in the mode ``NO_WAIT``, if left out. The
                server is asked for a little less, so that what it sends in the last moment still
                arrives.
            mode: whether to wait for a message that is not there yet.
            group: priority group, with ``min_pending``, ``min_ack_pending``, ``priority`` and
                ``pin`` (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            pin: the pin id of the last message of a pinned consumer.
            acking: how the message is treated while it is in hand, and what else is known of
                acknowledgements.

        Raises:
            RequestTimeout: there was none in time.
            StatusError: the server ended the request with an error.
            NoResponders: nobody serves the consumer.
            ConnectionLost: the link was lost before it came.
            InvalidConfig: what cannot work, before anything is sent.
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
        """An endless feed of its messages, which asks for more as they are taken.

        A lost link does not end it: it goes on with the next one. If the handle knows the
        consumer's configuration, never more is asked for than the consumer could deliver or would
        allow.

        Args:
            max_messages: the most messages asked for and buffered; 500 if neither this nor
                ``max_bytes`` is given.
            max_bytes: the most bytes asked for and buffered, as the server counts them; excludes
                ``max_messages``.
            threshold_messages: ask again when so many are left; half of ``max_messages``.
            threshold_bytes: ask again when so many are left; half of ``max_bytes``.
            within_bytes: with ``max_messages``, bounds the bytes too; ``threshold_bytes`` then
                belongs to it.
            stop_after: end when so many messages have come; no more are ever asked for.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; half of ``expires`` within 0.5 to 30 if left out.
            heartbeat_factor: how many heartbeats of silence are an alarm: 2 (ADR-37), 3 in ADR-15.
            on_deleted: what to do when the consumer is deleted, or is not there: end, or wait until
                somebody makes it.
            watch_gaps: report holes in the consumer sequence; only of use to the one reader of a
                consumer.
            group: priority group, with ``min_pending``, ``min_ack_pending`` and ``priority``
                (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            acking: how messages in hand are treated, and what else is known of acknowledgements.

        Raises:
            InvalidConfig: what cannot work, before anything is sent.
            ConsumerDeleted: it was deleted.
            ConsumerNotFound, StreamNotFound: there is none; asked when nobody serves a pull.
            StatusError: the server refuses for good.
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
        """Its messages one at a time: each is put back as done, and its ack asks for the next
        (``+NXT``).

        For long jobs: nothing waits here while one is worked on.

        Args:
            stop_after: end when so many messages have come.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; half of ``expires`` within 0.5 to 30 if left out.
            heartbeat_factor: how many heartbeats of silence are an alarm: 2 (ADR-37), 3 in ADR-15.
            on_deleted: what to do when the consumer is deleted, or is not there: end, or wait until
                somebody makes it.
            group: priority group, with ``min_pending``, ``min_ack_pending`` and ``priority``
                (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            acking: how the message in hand is treated, and what else is known of acknowledgements.

        Raises:
            InvalidConfig: what cannot work, before anything is sent.
            ConsumerDeleted: it was deleted.
            ConsumerNotFound, StreamNotFound: there is none; asked when nobody serves a pull.
            StatusError: the server refuses for good.
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

    # ------------------------------------------------------------------ being pushed to

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
        """What it pushes, if it is a push consumer. It stays when the feed ends.

        Args:
            queue: the group that it was made for, to share its messages with the other members.
            heartbeat_factor: how many heartbeats of silence are an alarm: 3 (ADR-15).
            watch_gaps: report holes in the consumer sequence; a queue group is never watched.
            auto_ack: acknowledge each message when the reader comes back for the next one.
            raw: hand out statuses like messages and act upon none of them.
            max_messages: most messages that may wait here while the consumer has no flow control.
            max_bytes: most bytes of them.
            policy: what happens to messages that do not fit; each is counted, and told.
            timeout: seconds for the question what it is.

        Raises:
            SubscribeRefused: when the feed is read: it cannot be subscribed to like this; the class
                says why.
            ConsumerNotFound: when the feed is read: it is gone.
            InvalidConfig, InvalidSubject: it cannot work; nothing was sent.
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
        """What is wished, and known of the consumer."""
        if acking is UNKNOWN:
            return self._acking
        return acking if self.cached is None else acking.within(self.cached.config)

    @property
    def _pins(self) -> bool | None:
        """Whether it pins its groups, if it is known."""
        if self.cached is None:
            return None
        return self.cached.config.priority_policy == PriorityPolicy.PINNED_CLIENT

    @property
    def next_subject(self) -> str:
        """Where its pulls are published."""
        return self._next


@final
class NextMessage(FetchOne[JsMessage]):
    """A `FetchOne` to be run for its one message: that there is none is an error."""

    __slots__ = ()

    def nothing(self) -> NeedData | Ended:
        """Raise if it ended well and yet without a message."""
        if self.ended and self.error is None and not self.got:
            why = "unknown" if self.reason is None else self.reason.name
            waited = (
                self.options.wait if self.reason is EndReason.DEADLINE else self.options.server_wait
            )
            within = "at once" if self.reason in _AT_ONCE else f"within {waited:g} s"
            raise RequestTimeout(
                f"expected a message on {self.subject} {within}, none came ({why})"
            )
        return super().nothing()


@lru_cache(maxsize=64, typed=True)
def _next_options(
    timeout: float | timedelta | None, mode: FetchMode, acking: AckOptions
) -> FetchOptions:
    """Options never change, and checking them anew for each message would cost a quarter of a
    `next`.
    """
    if timeout is None and mode is not FetchMode.NO_WAIT:
        timeout = _NEXT
    return FetchOptions(max_messages=1, timeout=timeout, mode=mode, acking=acking)
