"""The one facade of JetStream, as descriptions: every method gives a conversation, and none does anything.

Theory. What a user wants from JetStream is said here once, for all adapters and for whoever embeds the machines: a
`JetStream` knows the API prefix and a default timeout, a `Stream` and a `Consumer` add a name, and all three are values.
Their methods answer with

- a `Procedure`, to be run for its one result;
- a feed (`Fetch`, `Consume`), to be streamed;
- a sink (`PublishWindow`), to be filled.

The friendly methods of the adapters are generated from the signatures and docstrings in this file (ADR-37 gives them
their shape), so what is public here is public there.
"""

# ruff: noqa: SLF001 - the three handles are one facade in three classes

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, Literal, TypeVar, Unpack, cast, final

from attrs import NOTHING, field, fields, frozen

from jsproto.core.procedure import Procedure, Steps
from jsproto.errors import InvalidConfig, RequestTimeout, shorten
from jsproto.jetstream.ack import ACK, Verb
from jsproto.jetstream.ack_next import AckNext
from jsproto.jetstream.acking import UNKNOWN, Acking
from jsproto.jetstream.api import procedures
from jsproto.jetstream.api.account import AccountInfo
from jsproto.jetstream.api.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.enums import AckPolicy, ConsumerAction
from jsproto.jetstream.api.puback import PubAck
from jsproto.jetstream.api.publish import DEFAULT_RETRIES, DEFAULT_RETRY_WAIT, publish
from jsproto.jetstream.api.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.subjects import DEFAULT_PREFIX, ApiSubjects
from jsproto.jetstream.consume import Consume
from jsproto.jetstream.consume_options import ConsumeOptions, OnDeleted
from jsproto.jetstream.fetch import Fetch, Next
from jsproto.jetstream.fetch_options import FetchMode, FetchOptions
from jsproto.jetstream.message import JsMessage, confirmed
from jsproto.jetstream.settings import ConsumerSettings, StreamSettings
from jsproto.jetstream.window import PublishWindow
from jsproto.signals import Ended, NeedData
from jsproto.wire.headers import HeaderItems
from jsproto.wire.subjects import consumer_name, stream_name

DocumentT = TypeVar("DocumentT", bound=Document)


@final
@frozen(kw_only=True)
class JetStream:
    """JetStream of one account and domain.

    Args:
        domain: name of another domain than the server's own.
        prefix: the whole API prefix instead, for an API that is imported under another name.
        timeout: seconds that each request waits for its answer, unless a method is told otherwise.

    Raises:
        InvalidConfig: both a domain and a prefix, or a timeout that is not above 0.
        InvalidSubject: a domain or prefix that no subject can carry.
    """

    domain: str | None = None
    prefix: str | None = None
    timeout: float = 5.0
    api: ApiSubjects = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.domain is not None and self.prefix is not None:
            raise InvalidConfig(f"expected a domain or a prefix, got {self.domain!r} and {self.prefix!r}")
        if not self.timeout > 0:
            raise InvalidConfig(f"expected a timeout > 0 s, got {self.timeout!r}")
        api = (
            ApiSubjects.for_domain(self.domain) if self.domain else ApiSubjects(self.prefix or DEFAULT_PREFIX)
        )
        object.__setattr__(self, "api", api)

    # ------------------------------------------------------------------ publishing

    def publish(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        headers: HeaderItems = (),
        msg_id: str | None = None,
        expected_stream: str | None = None,
        expected_last_sequence: int | None = None,
        expected_last_subject_sequence: int | None = None,
        expected_last_subject_sequence_subject: str | None = None,
        expected_last_msg_id: str | None = None,
        ttl: timedelta | Literal["never"] | None = None,
        timeout: float | None = None,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float = DEFAULT_RETRY_WAIT,
    ) -> Procedure[PubAck]:
        """Publish a message and wait until a stream has stored it.

        Args:
            subject: a subject that a stream stores.
            payload: the message.
            headers: the message's own headers.
            msg_id: a second message with this id within the stream's ``duplicate_window`` is not stored again.
            expected_stream: the stream that must store it.
            expected_last_sequence: the last sequence that the stream must have.
            expected_last_subject_sequence: the last sequence that the subject must have; 0 means no message yet.
            expected_last_subject_sequence_subject: the subject, possibly with wildcards, that is meant (2.11).
            expected_last_msg_id: id of the stream's last message.
            ttl: how long the message lives, at least one second, or for ever (2.11, ADR-43).
            timeout: seconds for all attempts together.
            retries: how often it may be sent again after "nobody listens" (503, ADR-22).
            retry_wait: seconds before it is sent again.

        Raises:
            NoResponders: no stream stores this subject.
            ExpectationFailed: what was expected does not hold; the class says what.
            JetStreamError: the stream refuses the message otherwise.
            RequestTimeout: no acknowledgement came; whether the message was stored is unknown.
            Disconnected: the same, because the link was lost.
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
        """
        seconds = self._seconds(timeout)
        return Procedure(
            lambda: publish(
                subject,
                payload,
                headers=headers,
                msg_id=msg_id,
                expected_stream=expected_stream,
                expected_last_sequence=expected_last_sequence,
                expected_last_subject_sequence=expected_last_subject_sequence,
                expected_last_subject_sequence_subject=expected_last_subject_sequence_subject,
                expected_last_msg_id=expected_last_msg_id,
                ttl=ttl,
                timeout=seconds,
                retries=retries,
                retry_wait=retry_wait,
            )
        )

    def publish_window(
        self,
        *,
        max_pending: int = 1000,
        max_bytes: int = 0,
        ack_timeout: float | None = None,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float = DEFAULT_RETRY_WAIT,
        results: bool = True,
        max_results: int = 65_536,
    ) -> PublishWindow:
        """Publish many messages with up to ``max_pending`` acknowledgements under way: a sink.

        It takes `Publish` values, ``(subject, payload)`` or ``(subject, payload, headers)``, and gives a
        `PublishResult` for each.

        Args:
            max_pending: messages under way.
            max_bytes: bytes of subject, headers and payload under way; 0 for no bound.
            ack_timeout: seconds within which each message ends.
            retries: how often a message that met no responders is sent again.
            retry_wait: seconds before each of these.
            results: whether acknowledgements are handed out too, not only failures.
            max_results: how many results are kept for whoever does not take them.

        Raises:
            InvalidConfig: a bound, number or time that cannot work.
        """
        return PublishWindow(
            max_pending=max_pending,
            max_bytes=max_bytes,
            ack_timeout=self._seconds(ack_timeout),
            retries=retries,
            retry_wait=retry_wait,
            results=results,
            max_results=max_results,
        )

    def confirm(
        self, message: JsMessage, verb: Verb = ACK, *, timeout: float | None = None
    ) -> Procedure[bool]:
        """Settle a message and wait until the server says that it has (the double ack).

        ``False`` means that nothing was sent, because the message is settled already or needs no acknowledgement.

        Raises:
            RequestTimeout: no answer in time; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            Disconnected: the link was lost meanwhile.
        """
        seconds = self._seconds(timeout)
        return Procedure(lambda: confirmed(message, verb, timeout=seconds))

    # ------------------------------------------------------------------ the account

    def account_info(self, *, timeout: float | None = None) -> Procedure[AccountInfo]:
        """Usage and limits of the account.

        Raises:
            JetStreamNotEnabled: no JetStream here, or no such domain.
        """
        seconds = self._seconds(timeout)
        return Procedure(lambda: procedures.account_info(self.api, timeout=seconds))

    # ------------------------------------------------------------------ streams

    def stream(self, name: str) -> Stream:
        """A handle of a stream by its name; the server is not asked.

        Raises:
            InvalidSubject: no stream can have this name.
        """
        return Stream(js=self, name=stream_name(name))

    def create_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Make a stream; one that is there with the same configuration will do.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `StreamConfig`.

        Raises:
            StreamExists: there is one with another configuration.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        made = _configured(StreamConfig, config, settings)
        seconds = self._seconds(timeout)
        return self._stream(
            lambda: procedures.create_stream(
                self.api, made, pedantic=pedantic, strict=strict, timeout=seconds
            )
        )

    def update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Replace the configuration of a stream: what is not set goes back to the server's defaults.

        To edit what is there, use the handle's ``change``.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: no such stream.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        made = _configured(StreamConfig, config, settings)
        seconds = self._seconds(timeout)
        return self._stream(
            lambda: procedures.update_stream(
                self.api, made, pedantic=pedantic, strict=strict, timeout=seconds
            )
        )

    def create_or_update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Update a stream, or make it if it is not there.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds for each of the at most two questions.
            settings: fields of `StreamConfig`.

        Raises:
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        made = _configured(StreamConfig, config, settings)
        seconds = self._seconds(timeout)
        return self._stream(
            lambda: procedures.create_or_update_stream(
                self.api, made, pedantic=pedantic, strict=strict, timeout=seconds
            )
        )

    def stream_info(
        self,
        stream: str,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | None = None,
    ) -> Procedure[StreamInfo]:
        """Configuration and state of a stream.

        Args:
            stream: its name.
            subjects_filter: also count messages of the subjects that match, the first page of them.
            deleted_details: also list deleted sequences.
            timeout: seconds.

        Raises:
            StreamNotFound: no such stream.
        """
        seconds = self._seconds(timeout)
        return Procedure(
            lambda: procedures.stream_info(
                self.api,
                stream,
                subjects_filter=subjects_filter,
                deleted_details=deleted_details,
                timeout=seconds,
            )
        )

    def delete_stream(self, stream: str, *, timeout: float | None = None) -> Procedure[None]:
        """Delete a stream with its consumers and messages.

        Raises:
            StreamNotFound: no such stream.
        """
        seconds = self._seconds(timeout)
        return Procedure(lambda: procedures.delete_stream(self.api, stream, timeout=seconds))

    def stream_names(self, *, subject: str = "", timeout: float | None = None) -> Procedure[tuple[str, ...]]:
        """Names of all streams, or of those that store ``subject``."""
        seconds = self._seconds(timeout)
        return Procedure(lambda: procedures.stream_names(self.api, subject=subject, timeout=seconds))

    def streams(
        self, *, subject: str = "", timeout: float | None = None
    ) -> Procedure[tuple[StreamInfo, ...]]:
        """All streams, or those that store ``subject``."""
        seconds = self._seconds(timeout)
        return Procedure(lambda: procedures.streams(self.api, subject=subject, timeout=seconds))

    def _stream(self, asking: Callable[[], Steps[StreamInfo]]) -> Procedure[Stream]:
        def steps() -> Steps[Stream]:
            info = yield from asking()
            return Stream(js=self, name=info.config.name, cached=info)

        return Procedure(steps)

    def _seconds(self, timeout: float | None) -> float:
        if timeout is None:
            return self.timeout
        if not timeout > 0:
            raise InvalidConfig(f"expected a timeout > 0 s, got {timeout!r}")
        return timeout


@final
@frozen(kw_only=True)
class Stream:
    """A stream by its name.

    Attributes:
        js: where it is.
        name: its name.
        cached: what the server said when the handle was made, ``None`` if it was not asked.
    """

    js: JetStream
    name: str
    cached: StreamInfo | None = field(default=None, eq=False, repr=False)

    def info(
        self, *, subjects_filter: str = "", deleted_details: bool = False, timeout: float | None = None
    ) -> Procedure[StreamInfo]:
        """Configuration and state.

        Args:
            subjects_filter: also count messages of the subjects that match, the first page of them.
            deleted_details: also list deleted sequences.
            timeout: seconds.

        Raises:
            StreamNotFound: it is gone.
        """
        return self.js.stream_info(
            self.name, subjects_filter=subjects_filter, deleted_details=deleted_details, timeout=timeout
        )

    def change(
        self, *, timeout: float | None = None, **settings: Unpack[StreamSettings]
    ) -> Procedure[Stream]:
        """Read the configuration, change some settings, write it back with all that was read.

        Args:
            timeout: seconds for each of the two questions.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: it is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: a setting that cannot work.
        """
        js = self.js
        seconds = js._seconds(timeout)
        changes = cast("Mapping[str, object]", settings)
        return js._stream(lambda: procedures.change_stream(js.api, self.name, changes, timeout=seconds))

    def delete(self, *, timeout: float | None = None) -> Procedure[None]:
        """Delete it with its consumers and messages.

        Raises:
            StreamNotFound: it is gone already.
        """
        return self.js.delete_stream(self.name, timeout=timeout)

    # ------------------------------------------------------------------ consumers

    def consumer(self, name: str) -> Consumer:
        """A handle of a consumer by its name; the server is not asked.

        Raises:
            InvalidSubject: no consumer can have this name.
        """
        return Consumer(stream=self, name=consumer_name(name))

    def create_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
        """Make a consumer; one that is there with the same configuration will do.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`. ``ack_policy`` is explicit unless it is given; the server's own
                default is none.

        Raises:
            ConsumerExists: there is one with another configuration.
            StreamNotFound: the stream is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        return self._put(
            ConsumerAction.CREATE, config, settings, pedantic=pedantic, strict=strict, timeout=timeout
        )

    def update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
        """Replace the configuration of a consumer: what is not set goes back to the defaults (see ``create_consumer``).

        To edit what is there, use the handle's ``change``.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerDoesNotExist: there is none.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        return self._put(
            ConsumerAction.UPDATE, config, settings, pedantic=pedantic, strict=strict, timeout=timeout
        )

    def create_or_update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
        """Update a consumer, or make it if it is not there.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`.

        Raises:
            StreamNotFound: the stream is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        return self._put(
            ConsumerAction.CREATE_OR_UPDATE,
            config,
            settings,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
        )

    def consumer_names(self, *, timeout: float | None = None) -> Procedure[tuple[str, ...]]:
        """Names of all its consumers."""
        seconds = self.js._seconds(timeout)
        return Procedure(lambda: procedures.consumer_names(self.js.api, self.name, timeout=seconds))

    def consumers(self, *, timeout: float | None = None) -> Procedure[tuple[ConsumerInfo, ...]]:
        """All its consumers."""
        seconds = self.js._seconds(timeout)
        return Procedure(lambda: procedures.consumers(self.js.api, self.name, timeout=seconds))

    def _put(
        self,
        action: ConsumerAction,
        config: ConsumerConfig | None,
        settings: ConsumerSettings,
        *,
        pedantic: bool,
        strict: bool,
        timeout: float | None,
    ) -> Procedure[Consumer]:
        made = _configured(ConsumerConfig, config, settings)
        if made.ack_policy is None:
            made = made.evolve(ack_policy=AckPolicy.EXPLICIT)
        seconds = self.js._seconds(timeout)
        return self._consumer(
            lambda: procedures.create_consumer(
                self.js.api,
                self.name,
                made,
                action=action,
                pedantic=pedantic,
                strict=strict,
                timeout=seconds,
            )
        )

    def _consumer(self, asking: Callable[[], Steps[ConsumerInfo]]) -> Procedure[Consumer]:
        def steps() -> Steps[Consumer]:
            info = yield from asking()
            return Consumer(stream=self, name=info.name, cached=info)

        return Procedure(steps)


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
    _acking: Acking = field(init=False, eq=False, repr=False, default=UNKNOWN)

    def __attrs_post_init__(self) -> None:
        api = self.stream.js.api
        object.__setattr__(self, "_next", api.consumer_msg_next(self.stream.name, self.name))
        if self.cached is not None:
            object.__setattr__(self, "_acking", UNKNOWN.within(self.cached.config))

    def info(self, *, timeout: float | None = None) -> Procedure[ConsumerInfo]:
        """Configuration and progress.

        Raises:
            ConsumerNotFound: it is gone.
        """
        js = self.stream.js
        seconds = js._seconds(timeout)
        return Procedure(
            lambda: procedures.consumer_info(js.api, self.stream.name, self.name, timeout=seconds)
        )

    def change(
        self, *, timeout: float | None = None, **settings: Unpack[ConsumerSettings]
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
        seconds = js._seconds(timeout)
        changes = cast("Mapping[str, object]", settings)
        return self.stream._consumer(
            lambda: procedures.change_consumer(js.api, self.stream.name, self.name, changes, timeout=seconds)
        )

    def delete(self, *, timeout: float | None = None) -> Procedure[None]:
        """Delete it.

        Raises:
            ConsumerNotFound: it is gone already.
        """
        js = self.stream.js
        seconds = js._seconds(timeout)
        return Procedure(
            lambda: procedures.delete_consumer(js.api, self.stream.name, self.name, timeout=seconds)
        )

    # ------------------------------------------------------------------ pulling

    def fetch(
        self,
        max_messages: int | None = None,
        *,
        max_bytes: int | None = None,
        mode: FetchMode = FetchMode.WAIT,
        expires: float | None = None,
        timeout: float | None = None,
        idle_heartbeat: float | None = None,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        pin: str = "",
        acking: Acking = UNKNOWN,
    ) -> Fetch[JsMessage]:
        """So many messages, or bytes, by one request: a feed with a definite end.

        Args:
            max_messages: the most messages; one of this and ``max_bytes`` is needed, with both the first reached counts.
            max_bytes: the most bytes, as the server counts them.
            mode: whether to wait for messages that are not there yet.
            expires: seconds until the server ends the request, ``inf`` for never; 30 unless ``timeout`` is given.
            timeout: seconds until the fetch ends here, whatever the server says.
            idle_heartbeat: seconds, 0 for none; left out: 5 from 10 s expiry on, else none.
            group: priority group, with ``min_pending``, ``min_ack_pending``, ``priority`` and ``pin`` (ADR-42).
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
            Disconnected: the link was lost, and no message had come.
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
                group=group,
                min_pending=min_pending,
                min_ack_pending=min_ack_pending,
                priority=priority,
                pin=pin,
                acking=self._known(acking),
            ),
        )

    def next(
        self, *, timeout: float = 5.0, mode: FetchMode = FetchMode.WAIT, acking: Acking = UNKNOWN
    ) -> NextMessage:
        """One message.

        Args:
            timeout: seconds to wait for it.
            mode: whether to wait for a message that is not there yet.
            acking: how the message is treated while it is in hand, and what else is known of acknowledgements.

        Raises:
            RequestTimeout: there was none in time.
            StatusError: the server ended the request with an error.
            NoResponders: nobody serves the consumer.
            Disconnected: the link was lost before it came.
        """
        return NextMessage(self._next, _next_options(timeout, mode, self._known(acking)))

    def consume(
        self,
        max_messages: int | None = None,
        *,
        max_bytes: int | None = None,
        threshold_messages: int | None = None,
        threshold_bytes: int | None = None,
        within_bytes: int | None = None,
        stop_after: int | None = None,
        expires: float = 30.0,
        idle_heartbeat: float | None = None,
        on_deleted: OnDeleted = OnDeleted.END,
        watch_gaps: bool = False,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: Acking = UNKNOWN,
    ) -> Consume[JsMessage]:
        """An endless feed of its messages, which asks for more as they are taken.

        A lost link does not end it: it goes on with the next one. If the handle knows the consumer's configuration, never
        more is asked for than the consumer could deliver or would allow.

        Args:
            max_messages: the most messages asked for and buffered; 500 if neither this nor ``max_bytes`` is given.
            max_bytes: the most bytes asked for and buffered, as the server counts them; excludes ``max_messages``.
            threshold_messages: ask again when so many are left; half of ``max_messages``.
            threshold_bytes: ask again when so many are left; half of ``max_bytes``.
            within_bytes: with ``max_messages``, bounds the bytes too; ``threshold_bytes`` then belongs to it.
            stop_after: end when so many messages have come; no more are ever asked for.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; half of ``expires`` within 0.5 to 30 if left out.
            on_deleted: what to do when the consumer is deleted.
            watch_gaps: report holes in the consumer sequence; only of use to the one reader of a consumer.
            group: priority group, with ``min_pending``, ``min_ack_pending`` and ``priority`` (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            acking: how messages in hand are treated, and what else is known of acknowledgements.

        Raises:
            InvalidConfig: what cannot work, before anything is sent.
            ConsumerDeleted: it was deleted.
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
            on_deleted=on_deleted,
            watch_gaps=watch_gaps,
            group=group,
            min_pending=min_pending,
            min_ack_pending=min_ack_pending,
            priority=priority,
            acking=acking,
        )
        return Consume(
            self.next_subject, options if self.cached is None else options.within(self.cached.config)
        )

    def ack_next(
        self,
        *,
        stop_after: int | None = None,
        expires: float = 30.0,
        idle_heartbeat: float | None = None,
        on_deleted: OnDeleted = OnDeleted.END,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: Acking = UNKNOWN,
    ) -> AckNext[JsMessage]:
        """Its messages one at a time: each is put back as done, and its ack asks for the next (``+NXT``).

        For long jobs: nothing waits here while one is worked on.

        Args:
            stop_after: end when so many messages have come.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; half of ``expires`` within 0.5 to 30 if left out.
            on_deleted: what to do when the consumer is deleted.
            group: priority group, with ``min_pending``, ``min_ack_pending`` and ``priority`` (ADR-42).
            min_pending: only while at least so many messages are pending.
            min_ack_pending: only while at least so many acks are pending.
            priority: 0 (first) to 9.
            acking: how the message in hand is treated, and what else is known of acknowledgements.

        Raises:
            InvalidConfig: what cannot work, before anything is sent.
            ConsumerDeleted: it was deleted.
            StatusError: the server refuses for good.
        """
        options = ConsumeOptions(
            max_messages=1,
            stop_after=stop_after,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            on_deleted=on_deleted,
            group=group,
            min_pending=min_pending,
            min_ack_pending=min_ack_pending,
            priority=priority,
            acking=acking,
        )
        return AckNext(
            self.next_subject, options if self.cached is None else options.within(self.cached.config)
        )

    def _known(self, acking: Acking) -> Acking:
        """What is wished, and known of the consumer."""
        if acking is UNKNOWN:
            return self._acking
        return acking if self.cached is None else acking.within(self.cached.config)

    @property
    def next_subject(self) -> str:
        """Where its pulls are published."""
        return self._next


@final
class NextMessage(Next[JsMessage]):
    """A `Next` to be run for its one message: that there is none is an error."""

    __slots__ = ()

    def nothing(self) -> NeedData | Ended:
        """Raise if it ended well and yet without a message."""
        if self.ended and self.error is None and not self.got:
            why = "unknown" if self.reason is None else self.reason.name
            raise RequestTimeout(
                f"expected a message on {self.subject} within {self.options.wait:g} s, none came ({why})"
            )
        return super().nothing()


@lru_cache(maxsize=64, typed=True)
def _next_options(timeout: float, mode: FetchMode, acking: Acking) -> FetchOptions:
    """Options never change, and checking them anew for each message would cost a quarter of a `next`."""
    return FetchOptions(max_messages=1, timeout=timeout, mode=mode, acking=acking)


def _configured(kind: type[DocumentT], config: DocumentT | None, settings: Mapping[str, object]) -> DocumentT:
    """A configuration from a whole one, from settings by name, or from both.

    Raises:
        InvalidConfig: neither, no such setting, or one that is needed is missing.
    """
    if config is not None:
        return config.evolve(**settings)
    known = {each.name: each for each in fields(kind)}
    unknown = settings.keys() - known.keys()
    if unknown:
        raise InvalidConfig(f"expected settings of {kind.__name__}, seen {shorten(sorted(unknown))}")
    missing = [name for name, each in known.items() if each.default is NOTHING and name not in settings]
    if missing:
        raise InvalidConfig(f"expected {kind.__name__} with {', '.join(missing)}, it was not given")
    return kind(**cast("Mapping[str, Any]", settings))
