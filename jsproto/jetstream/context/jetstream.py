"""The facade of one account and domain: publishing, account information, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Unpack, final

from attrs import field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.core.numbers import in_seconds, seconds
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.diff import Difference
from jsproto.jetstream.api.config.settings import (
    ConsumerSettings,
    OrderedSettings,
    PushSettings,
    StreamSettings,
    configured,
    seconds_of,
)
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.events.advisories import MessageFate
from jsproto.jetstream.api.publishing.fast_ingest import GapMode
from jsproto.jetstream.api.publishing.options import PublishOptions, PublishSettings
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests import maintenance, manage
from jsproto.jetstream.api.requests.dead_letters import dead_letter
from jsproto.jetstream.api.requests.inventory import Inventory, inventory
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.requests.publish import DEFAULT_RETRIES, DEFAULT_RETRY_WAIT, publish
from jsproto.jetstream.api.subjects import DEFAULT_PREFIX, ApiSubjects
from jsproto.jetstream.context.consumer import Consumer
from jsproto.jetstream.context.meta import Meta
from jsproto.jetstream.context.stream import Stream
from jsproto.jetstream.context.system import System
from jsproto.jetstream.delivery.ack import ACK, Verb
from jsproto.jetstream.delivery.message import JsMessage, confirmed
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import HEARTBEAT, OrderedOptions, SourceKind
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.publish.batch import IDLE, BatchPublish, WholeBatch
from jsproto.jetstream.publish.batch_rules import MOST_MESSAGES
from jsproto.jetstream.publish.exactly_once import RetryPolicy, publish_once, relayed
from jsproto.jetstream.publish.fast_ingest import FLOW, QUIET, FastIngest
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.push.options import PUSH_FACTOR, PushOptions
from jsproto.jetstream.push.subscribe import Subscribe, bind_pull
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.jetstream.stored.snapshot import PATIENCE, Origin, Restore
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto.wire.subjects import publish_subject, stream_name, subscription_subject


def _given(value: str | None) -> str | None:
    return None if value == "" else value


def _without_dot(value: str | None) -> str | None:
    return _given(value.removesuffix(".") if isinstance(value, str) and value != "." else value)


@final
@frozen(kw_only=True)
class JetStream:
    """JetStream of one account and domain.

    Args:
        domain: name of another domain than the server's own; an empty text means none.
        prefix: the whole API prefix, for an API that is imported under another name. An empty text
            means none. One final dot, which other tools write, is removed.
        timeout: default seconds that each request waits for its answer.

    Raises:
        InvalidConfig: both a domain and a prefix, or a timeout that is not above 0.
        InvalidSubject: a domain or prefix that no subject can carry.
    """

    domain: str | None = field(default=None, converter=_given)
    prefix: str | None = field(default=None, converter=_without_dot)
    timeout: float = field(default=5.0, converter=in_seconds)
    api: ApiSubjects = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.domain is not None and self.prefix is not None:
            raise InvalidConfig(
                f"expected a domain or a prefix, got {self.domain!r} and {self.prefix!r}"
            )
        seconds("timeout", self.timeout)
        api = (
            ApiSubjects.for_domain(self.domain)
            if self.domain
            else ApiSubjects(self.prefix or DEFAULT_PREFIX)
        )
        object.__setattr__(self, "api", api)

    # ------------------------------------------------------------------ publishing

    def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        timeout: float | timedelta | None = None,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
        **settings: Unpack[PublishSettings],
    ) -> Procedure[PubAck]:
        """Publish a message and wait until a stream has stored it.

        Args:
            subject: a subject that a stream stores.
            payload: the message.
            headers: the message's own headers.
            options: what the stream must check or do; ``settings`` replace its fields, or stand
                alone.
            timeout: seconds for all attempts together.
            retries: number of further attempts after a 503 "no responders" (ADR-22).
            retry_wait: seconds between two attempts.
            settings: fields of `PublishOptions`: ``msg_id``, expectations, ``ttl``, ``rollup``,
                ``incr``, ``schedule``.

        Raises:
            NoResponders: no stream stores this subject.
            ExpectationFailed: an expectation does not hold; the class says which.
            JetStreamError: the stream rejects the message for another reason.
            RequestTimeout: no acknowledgement came; the message may be stored or not.
            ConnectionLost: the link was lost; the message may be stored or not.
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(
            lambda: publish(
                subject,
                payload,
                headers=headers,
                options=options,
                timeout=seconds,
                retries=retries,
                retry_wait=retry_wait,
                **settings,
            )
        )

    def publish_once(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        patience: RetryPolicy | None = None,
        **settings: Unpack[PublishSettings],
    ) -> Procedure[PubAck]:
        """Publish a message, and repeat it until it is known to be stored; it is stored once.

        Args:
            subject: a subject that a stream stores.
            payload: the message.
            headers: the message's own headers.
            options: what the stream must check or do; ``settings`` replace its fields, or stand
                alone. If ``msg_id`` is missing, the client generates one.
            patience: how long to try; less than the stream's ``duplicate_window``.
            settings: fields of `PublishOptions`.

        Raises:
            NoResponders: no stream stores this subject; nothing was stored.
            JetStreamError: the stream rejects the message; nothing was stored.
            RequestTimeout: the outcome is unknown; the error names the message id for another
                attempt.
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
        """
        return Procedure(
            lambda: publish_once(
                subject, payload, headers=headers, options=options, patience=patience, **settings
            )
        )

    def relay(
        self,
        message: JsMessage,
        subject: str,
        payload: bytes | str | None = None,
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        patience: RetryPolicy | None = None,
        **settings: Unpack[PublishSettings],
    ) -> Procedure[PubAck]:
        """Publish the successor of a message exactly once, then acknowledge the message.

        The call waits until the server has confirmed the acknowledgement.

        Args:
            message: the message that a consumer delivered.
            subject: the subject of the successor.
            payload: the successor's payload; by default that of ``message``.
            headers: the successor's headers; those of ``message`` are not copied.
            options: what the stream must check or do. Without a ``msg_id`` the client makes one
                from the message's stream position and ``subject``.
            patience: how long to try, for publishing and acknowledging.
            settings: fields of `PublishOptions`.

        Raises:
            NoResponders: no stream stores this subject; or the successor is stored, and the
                consumer is gone.
            JetStreamError: the stream rejects the successor; the message is not acknowledged.
            RequestTimeout: the successor may be stored or not, or the message acknowledged or not;
                without an ack the server delivers it again.
            InvalidAckSubject: the message does not come from a consumer.
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
        """
        return Procedure(
            lambda: relayed(
                message,
                subject,
                payload,
                headers=headers,
                options=options,
                patience=patience,
                **settings,
            )
        )

    def publish_window(
        self,
        *,
        max_pending: int = 1000,
        max_bytes: int = 0,
        ack_timeout: float | timedelta | None = None,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
        results: bool = True,
        max_results: int = 65_536,
        resend: bool = False,
        stall_wait: float | timedelta | None = None,
    ) -> PublishWindow:
        """Publish many messages, up to ``max_pending`` of them without an acknowledgement: a sink.

        It takes `Publish` values, ``(subject, payload)`` or ``(subject, payload, headers)``, and
        returns a `PublishResult` for each.

        Args:
            max_pending: the most messages without an acknowledgement.
            max_bytes: the most bytes of subjects, headers and payloads without an acknowledgement;
                0 for no limit.
            ack_timeout: seconds after which a message without an acknowledgement fails. The time
                starts when it is sent, and restarts with each answer to an earlier message.
            retries: number of further attempts after "no responders", for each message.
            retry_wait: seconds before each of these attempts.
            results: whether acknowledgements are returned too, not only failures.
            max_results: the most results that are kept until the user takes them.
            resend: send a message with a ``msg_id`` again within its ``ack_timeout``: after a lost
                link, and when no answer comes for a second.
            stall_wait: seconds that a message waits for room before `WindowFull` is raised; 0
                raises at once, ``None`` waits without limit.

        Raises:
            InvalidConfig: a limit, number or time that cannot work.
        """
        return PublishWindow(
            max_pending=max_pending,
            max_bytes=max_bytes,
            ack_timeout=seconds_of(ack_timeout, self.timeout, "ack_timeout"),
            retries=retries,
            retry_wait=retry_wait,
            results=results,
            max_results=max_results,
            resend=resend,
            stall_wait=stall_wait,
        )

    def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        timeout: float | timedelta | None = None,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
    ) -> WholeBatch:
        """Publish messages as one atomic batch: the stream stores all or none (2.12, ADR-50).

        The stream must have ``allow_atomic``.

        Args:
            messages: the messages in order, made by `compose` or as ``(subject, payload)``.
            batch_id: name of the batch, at most 64 bytes; generated by default.
            limit: the most messages that the server allows in a batch.
            timeout: seconds to wait for each answer.
            retries: number of further attempts for the first message after "no responders".
            retry_wait: seconds before each of these attempts.

        Raises:
            InvalidBatch: the stream rejects batches, or this one; nothing was stored.
            ExpectationFailed: an expectation of a message does not hold; nothing was stored.
            JetStreamError: the stream rejects a message for another reason; nothing was stored.
            NoResponders: no stream stores the first subject.
            BatchUnsupported: the server does not know batches, and has stored the first message as
                a single one.
            RequestTimeout, ConnectionLost: the error says whether nothing was stored or the outcome
                is unknown.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        return WholeBatch(
            messages,
            batch_id=batch_id,
            limit=limit,
            timeout=seconds_of(timeout, self.timeout),
            retries=retries,
            retry_wait=retry_wait,
        )

    def batch(
        self,
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        idle: float | timedelta = IDLE,
        timeout: float | timedelta | None = None,
        eob: bool = False,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
    ) -> BatchPublish:
        """Collect messages into an atomic batch: the stream stores all or none (2.12, ADR-50).

        A sink: leaving its block commits the batch, leaving it by an exception drops it. It takes
        what `compose` makes, ``(subject, payload)`` or ``(subject, payload, headers)``. Its one
        result is the acknowledgement. The server drops a batch after 10 s without a message.

        Args:
            batch_id: name of the batch, at most 64 bytes; generated by default.
            limit: the most messages that the server allows in a batch.
            idle: seconds without a message after which the server drops the batch.
            timeout: seconds to wait for each answer.
            eob: commit with a separate message, so that no message is held back until the next
                (2.14).
            retries: number of further attempts for the first message after "no responders".
            retry_wait: seconds before each of these attempts.

        Raises:
            BatchAbandoned: the server has dropped the batch; nothing was stored.
            InvalidBatch, ExpectationFailed, JetStreamError: as for `publish_batch`.
            NoResponders, BatchUnsupported, RequestTimeout, ConnectionLost: as for `publish_batch`.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        return BatchPublish(
            batch_id=batch_id,
            limit=limit,
            idle=idle,
            timeout=seconds_of(timeout, self.timeout),
            eob=eob,
            retries=retries,
            retry_wait=retry_wait,
        )

    def ingest(
        self,
        *,
        gaps: GapMode | str = GapMode.FAIL,
        flow: int = FLOW,
        batch_id: str | None = None,
        timeout: float | timedelta | None = None,
        quiet: float | timedelta = QUIET,
    ) -> FastIngest:
        """Publish many messages as fast as the stream stores them (2.14, ADR-50): a sink.

        The stream must have ``allow_batched``; it answers only now and then. The sink takes what
        `compose` makes, ``(subject, payload)`` or ``(subject, payload, headers)``. The stream
        stores each message separately. Results are an `IngestFault` for each message that is not
        stored, and at the end one acknowledgement for all.

        Args:
            gaps: ``fail``: the first fault ends the batch, and what is stored has no gaps; ``ok``:
                the rest continues.
            flow: the most messages between two answers.
            batch_id: name of the batch, one token of at most 64 bytes; generated by default.
            timeout: seconds to wait for an answer.
            quiet: seconds of silence before the client pings the stream, which drops the batch
                after 10 s.

        Raises:
            InvalidBatch: the stream rejects fast batches.
            JetStreamError: the stream rejects the first message.
            NoResponders: no stream stores the subject.
            BatchUnsupported: the server does not know fast batches, and has stored the first
                message as a single one.
            RequestTimeout, ConnectionLost: the error says how many messages are stored.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        return FastIngest(
            gaps=gaps,
            flow=flow,
            batch_id=batch_id,
            timeout=seconds_of(timeout, self.timeout),
            quiet=quiet,
        )

    def confirm(
        self, message: JsMessage, verb: Verb = ACK, *, timeout: float | timedelta | None = None
    ) -> Procedure[bool]:
        """Settle a message and wait for the server's confirmation (double ack).

        ``False`` means that nothing was sent: the message is settled already or needs no ack.

        Raises:
            RequestTimeout: no confirmation in time; the message can be settled again.
            NoResponders: the consumer is gone, or uses no acks.
            ConnectionLost: the link was lost before the confirmation.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: confirmed(message, verb, timeout=seconds))

    def dead_letter(
        self, event: MessageFate, subject: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[PubAck]:
        """Publish the message that an advisory names as a dead letter; headers say whence and why.

        Args:
            event: a `MessageFate` from `read_event`, of ``MAX_DELIVERIES`` or ``MSG_TERMINATED``.
            subject: the subject of dead letters.
            timeout: seconds for each of the two requests.

        Raises:
            MessageNotFound: the stream does not hold the message any more.
            NoResponders: no stream stores ``subject``.
            InvalidConfig: the message itself came from ``subject``, so it would circulate forever.
            InvalidSubject: ``subject`` is invalid; nothing was sent.
        """
        publish_subject(subject)
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: dead_letter(self.api, event, subject, timeout=seconds))

    # ------------------------------------------------------------------ the account

    def account_info(self, *, timeout: float | timedelta | None = None) -> Procedure[AccountInfo]:
        """Return usage and limits of the account.

        Raises:
            JetStreamNotEnabled: JetStream is off, or the domain does not exist.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.account_info(self.api, timeout=seconds))

    @property
    def meta(self) -> Meta:
        """Operations on the group of all JetStream servers, for the system account."""
        return Meta(js=self)

    @property
    def system(self) -> System:
        """Requests to the servers themselves, for the system account."""
        return System(js=self)

    # ------------------------------------------------------------------ streams

    def stream(self, name: str) -> Stream:
        """Return a handle of a stream by its name, without a request to the server.

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
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Create a stream; succeeds too if it exists with the same configuration.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            timeout: seconds.
            settings: fields of `StreamConfig`.

        Raises:
            StreamExists: the stream exists with another configuration.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        made = configured(StreamConfig, config, settings)
        seconds = seconds_of(timeout, self.timeout)
        return self._stream(
            lambda: manage.create_stream(
                self.api, made, pedantic=pedantic, strict=strict, timeout=seconds
            )
        )

    def update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Replace the configuration of a stream; missing settings get the server's defaults.

        To edit single settings, use ``change`` of the handle.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            timeout: seconds.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: the stream does not exist.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        made = configured(StreamConfig, config, settings)
        seconds = seconds_of(timeout, self.timeout)
        return self._stream(
            lambda: manage.update_stream(
                self.api, made, pedantic=pedantic, strict=strict, timeout=seconds
            )
        )

    def create_or_update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[Stream]:
        """Update a stream, or create it if it does not exist.

        Other clients may do the same at the same time.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            compare: read the old configuration first; ``cached.changed`` of the handle then lists
                the settings that changed.
            timeout: seconds for each request.
            settings: fields of `StreamConfig`.

        Raises:
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        made = configured(StreamConfig, config, settings)
        seconds = seconds_of(timeout, self.timeout)
        return self._stream(
            lambda: manage.create_or_update_stream(
                self.api, made, pedantic=pedantic, strict=strict, compare=compare, timeout=seconds
            )
        )

    def stream_info(
        self,
        stream: str,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StreamInfo]:
        """Return configuration and state of a stream.

        Args:
            stream: its name.
            subjects_filter: also count the messages of each matching subject.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; more than 100,000 matching subjects need several.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(
            lambda: manage.stream_info(
                self.api,
                stream,
                subjects_filter=subjects_filter,
                deleted_details=deleted_details,
                timeout=seconds,
            )
        )

    def delete_stream(
        self, stream: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Delete a stream with its consumers and messages.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.delete_stream(self.api, stream, timeout=seconds))

    def stream_names(
        self, *, subject: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[Listing[str]]:
        """Return the names of all streams, or of those that store ``subject``."""
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.stream_names(self.api, subject=subject, timeout=seconds))

    def streams(
        self, *, subject: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[Listing[StreamInfo]]:
        """Return all streams, or those that store ``subject``.

        Streams whose state the cluster cannot tell now are in ``missing`` or ``offline``.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.streams(self.api, subject=subject, timeout=seconds))

    def inventory(
        self, *, consumers: bool = True, timeout: float | timedelta | None = None
    ) -> Procedure[Inventory]:
        """Return all streams and all consumers of each, the input of reports.

        Args:
            consumers: also list the consumers of each stream.
            timeout: seconds for each list, with all its pages.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: inventory(self.api, with_consumers=consumers, timeout=seconds))

    # ------------------------------------------------------------------ subscribing

    def subscribe(
        self,
        subject: str = "",
        *,
        stream: str = "",
        consumer: str = "",
        queue: str = "",
        config: ConsumerConfig | None = None,
        owner: bool | None = None,
        heartbeat_factor: float = PUSH_FACTOR,
        watch_gaps: bool = True,
        auto_ack: bool = False,
        raw: bool = False,
        max_messages: int = 65_536,
        max_bytes: int = 64 * 1024 * 1024,
        policy: Overflow = Overflow.DROP_NEWEST,
        timeout: float | timedelta | None = None,
        **settings: Unpack[PushSettings],
    ) -> PushSubscription[JsMessage]:
        """Receive the messages of a push consumer; opening the feed finds or creates the consumer.

        If ``stream`` is missing, the client finds the stream by the subject. A consumer given by
        ``consumer`` must exist. A consumer given by settings is created if it does not exist; if it
        exists, its configuration must match.

        Args:
            subject: the subject to receive; the consumer filters by it.
            stream: name of the stream.
            consumer: name of an existing consumer.
            queue: the group whose members share the messages; also the durable's name if none is
                given.
            config: the consumer to create or to compare with; ``settings`` replace its fields, or
                stand alone.
            owner: whether a consumer created here is deleted at the end; by default only if the
                user gave it no name.
            heartbeat_factor: missed heartbeats until an alarm: 3 (ADR-15).
            watch_gaps: report gaps in the consumer sequence; never for a queue group.
            auto_ack: acknowledge each message when the reader asks for the next one.
            raw: return statuses like messages, and do not act on them.
            max_messages: the most messages buffered here while the consumer has no flow control.
            max_bytes: the most bytes of these messages.
            policy: what to do with messages beyond these limits; each is counted and reported.
            timeout: seconds for each request.
            settings: fields of `ConsumerConfig`. The default ``ack_policy`` is explicit.

        Raises:
            SubscribeRefused: the arguments cannot work; the class says why. Reading the feed raises
                it too, if the existing consumer does not fit.
            InvalidConfig, InvalidSubject: the arguments cannot work; nothing was sent.
            JetStreamError: raised on reading: the server rejects a request.
        """
        return PushSubscription(
            self.api,
            Subscribe(
                subject=subject,
                stream=stream,
                consumer=consumer,
                queue=queue,
                settings=configured(ConsumerConfig, config, settings),
                owner=owner,
            ),
            PushOptions(
                heartbeat_factor=heartbeat_factor,
                watch_gaps=watch_gaps,
                auto_ack=auto_ack,
                raw=raw,
                max_messages=max_messages,
                max_bytes=max_bytes,
                policy=policy,
            ),
            timeout=seconds_of(timeout, self.timeout),
        )

    def pull_subscribe(
        self,
        subject: str = "",
        *,
        stream: str = "",
        consumer: str = "",
        config: ConsumerConfig | None = None,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
        """Find or create a pull consumer, and return a handle to fetch and consume from.

        If ``stream`` is missing, the client finds the stream by the subject. A consumer given by
        ``consumer`` is assumed to exist, even if the server does not answer. A consumer given by
        settings is created if it does not exist. A consumer created here is not deleted.

        Args:
            subject: the subject to receive; the consumer filters by it.
            stream: name of the stream.
            consumer: name of an existing consumer.
            config: the consumer to create or to compare with; ``settings`` replace its fields, or
                stand alone.
            timeout: seconds for each request.
            settings: fields of `ConsumerConfig`. The default ``ack_policy`` is explicit.

        Raises:
            SubscribeRefused: the arguments cannot work, or the existing consumer does not fit; the
                class says why.
            InvalidConfig, InvalidSubject: the arguments cannot work; nothing was sent.
            JetStreamError: the server rejects a request.
        """
        asked = Subscribe(
            subject=subject,
            stream=stream,
            consumer=consumer,
            settings=configured(ConsumerConfig, config, settings),
            pull=True,
        )
        seconds = seconds_of(timeout, self.timeout)

        def steps() -> Steps[Consumer]:
            bound = yield from bind_pull(self.api, asked, timeout=seconds)
            return Consumer(
                stream=self.stream(bound.stream), name=bound.consumer, cached=bound.info
            )

        return Procedure(steps)

    # ------------------------------------------------------------------ reading in order

    def ordered_consumer(
        self,
        stream: str,
        *,
        form: SourceKind = SourceKind.PULL,
        max_messages: int | None = None,
        max_bytes: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        until_caught_up: bool = False,
        name_prefix: str = "",
        timeout: float | timedelta | None = None,
        config: ConsumerConfig | None = None,
        **settings: Unpack[OrderedSettings],
    ) -> OrderedConsumer[JsMessage]:
        """Read every message of a stream once and in order, in spite of failures.

        The client replaces a lost consumer, and resumes after lost servers and links. It
        acknowledges nothing, and leaves no consumer on the server.

        Args:
            stream: its name.
            form: whether the client pulls the messages, or the server pushes them with flow
                control.
            max_messages: the most messages requested and buffered by pulls; 500 if neither this nor
                ``max_bytes`` is given.
            max_bytes: the most bytes requested and buffered by pulls.
            expires: seconds until the server ends one pull; from 1.
            idle_heartbeat: seconds; by default 5, or half of ``expires`` if that is less.
            until_caught_up: end when the user has taken all messages that existed at the start.
            name_prefix: prefix of the consumers' names on the server.
            timeout: seconds to wait for the answer to a creation or deletion.
            config: what to read; ``settings`` replace its fields, or stand alone.
            settings: fields of `ConsumerConfig`: filters, start, replay.

        Raises:
            InvalidConfig: a setting that ordered consumers cannot have or that cannot work; nothing
                was sent.
            InvalidSubject: no stream can have this name.
            StreamNotFound: raised on reading: the stream does not exist, or was deleted.
            ConfigurationRefused: raised on reading: the server rejects the configuration.
        """
        each = seconds("expires", expires)
        heartbeat = min(HEARTBEAT, each / 2) if idle_heartbeat is None else idle_heartbeat
        options = OrderedOptions(
            config=configured(ConsumerConfig, config, settings),
            pulls=ConsumeOptions(
                max_messages=max_messages,
                max_bytes=max_bytes,
                expires=each,
                idle_heartbeat=heartbeat,
            ),
            form=form,
            until_caught_up=until_caught_up,
            create_timeout=seconds_of(timeout, self.timeout),
            name_prefix=name_prefix,
        )
        return OrderedConsumer(self.api, stream, Messages(), options)

    def restore(self, origin: Origin, *, patience: float | timedelta = PATIENCE) -> Restore:
        """Create a stream from the chunks of a snapshot: a sink; draining it returns the stream.

        The stream does not exist until the sink is drained. A failure before that leaves nothing on
        the server, unless the server is killed during the restore; then it may keep a part (2.15).

        The server gives up after 5 s without a chunk. So the client holds the last bytes of each
        chunk of 4 kB or more, and sends them one by one while the caller pauses. Have the first
        chunk ready when you open the sink.

        A server may still be deleting the files of a stream of that name that was deleted just
        before (2.15). Then the restore fails (10062); repeat it.

        Args:
            origin: the stream's configuration and state from the snapshot, or from the CLI's
                ``backup.json``.
            patience: seconds to wait without an answer of the server.

        Raises:
            StreamExists: a stream of that name exists.
            JetStreamError: the server rejects the restore.
            RequestTimeout: the server fell silent; the message says whether the stream may exist.
            ConnectionLost: the link was lost; check whether the server has a part of the stream.
            InvalidResponse: an origin without configuration or state.
        """
        return Restore(self.api, origin, patience=patience)

    def stream_by_subject(
        self, subject: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[Stream]:
        """Return the stream that stores a subject.

        Raises:
            StreamNotFound: no stream stores it.
            AmbiguousSubject: several streams store it.
            InvalidSubject: the subject is invalid.
        """
        seconds = seconds_of(timeout, self.timeout)
        subscription_subject(subject)

        def steps() -> Steps[Stream]:
            name = yield from maintenance.stream_by_subject(self.api, subject, timeout=seconds)
            return Stream(js=self, name=name)

        return Procedure(steps)

    def stream_drift(
        self,
        config: StreamConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> Procedure[tuple[Difference, ...]]:
        """Compare an existing stream with a configuration, and return the settings that differ.

        Args:
            config: the configuration to compare with; ``settings`` replace its fields, or stand
                alone.
            timeout: seconds.
            settings: fields of `StreamConfig`; missing settings are not compared.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        wanted = configured(StreamConfig, config, settings)
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: maintenance.stream_drift(self.api, wanted, timeout=seconds))

    def _stream(self, asking: Callable[[], Steps[StreamInfo]]) -> Procedure[Stream]:
        def steps() -> Steps[Stream]:
            info = yield from asking()
            return Stream(js=self, name=info.config.name, cached=info)

        return Procedure(steps)
