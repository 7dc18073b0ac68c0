"""JetStream of one account and domain: publishing, and the streams there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Unpack, final

from attrs import field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.core.numbers import in_seconds, seconds
from jsproto.core.pubsub.subscription import Overflow
from jsproto.errors import InvalidConfig
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
        domain: name of another domain than the server's own; an empty text is none.
        prefix: the whole API prefix instead, for an API that is imported under another name; an
            empty text is none, and one final dot, which other tools write, is left away.
        timeout: seconds that each request waits for its answer, unless a method is told otherwise.

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
            options: what is asked of the stream; or its settings by name, which also edit
                ``options`` given beside them.
            timeout: seconds for all attempts together.
            retries: how often it may be sent again after "nobody listens" (503, ADR-22).
            retry_wait: seconds before it is sent again.
            settings: fields of `PublishOptions`: ``msg_id``, expectations, ``ttl``, ``rollup``,
                ``incr``, ``schedule``.

        Raises:
            NoResponders: no stream stores this subject.
            ExpectationFailed: what was expected does not hold; the class says what.
            JetStreamError: the stream refuses the message otherwise.
            RequestTimeout: no acknowledgement came; whether the message was stored is unknown.
            ConnectionLost: the same, because the link was lost.
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
        """Publish, and send the same again until it is known to be stored; it is stored once.

        Args:
            subject: a subject that a stream stores.
            payload: the message.
            headers: the message's own headers.
            options: what is asked of the stream; or its settings by name. Without a ``msg_id`` one
                is made.
            patience: how long to try; less than the stream's ``duplicate_window``.
            settings: fields of `PublishOptions`.

        Raises:
            NoResponders: no stream stores this subject; nothing was stored.
            JetStreamError: the stream refuses it; nothing was stored.
            RequestTimeout: the outcome is still unknown; the error names the id with which to go
                on.
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
        """Publish what a message has led to, exactly once, then settle the message and wait until
        the server says that it has.

        Args:
            message: what a consumer delivered.
            subject: where its successor is stored.
            payload: of the successor; the message's own if none is given.
            headers: of the successor; the message's are not taken along.
            options: what is asked of the stream. Without a ``msg_id`` it is made of the message's
                place and of ``subject``.
            patience: how long to try, for both.
            settings: fields of `PublishOptions`.

        Raises:
            NoResponders: no stream stores this subject; or the successor is stored, and the
                consumer is gone.
            JetStreamError: the stream refuses it; the message is open.
            RequestTimeout: it is not known whether the successor is stored, or the message settled;
                it comes again.
            InvalidAckSubject: the message is not of a consumer.
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
        """Publish many messages with up to ``max_pending`` acknowledgements under way: a sink.

        It takes `Publish` values, ``(subject, payload)`` or ``(subject, payload, headers)``, and
        gives a `PublishResult` for each.

        Args:
            max_pending: messages under way.
            max_bytes: bytes of subject, headers and payload under way; 0 for no bound.
            ack_timeout: seconds of silence after which a message ends: counted from its sending,
                and anew from each answer to a message that was sent before it.
            retries: how often a message that met no responders is sent again.
            retry_wait: seconds before each of these.
            results: whether acknowledgements are handed out too, not only failures.
            max_results: how many results are kept for whoever does not take them.
            resend: send messages that have an id again within their ``ack_timeout``, after a lost
                link and when no answer comes for a second.
            stall_wait: seconds that a message waits for room before `WindowFull` is raised; 0: not
                at all, ``None``: as long as it takes.

        Raises:
            InvalidConfig: a bound, number or time that cannot work.
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
        """Publish messages of which a stream stores all or none (2.12, ADR-50); the stream must
        have ``allow_atomic``.

        Args:
            messages: in this order: what `compose` makes, or ``(subject, payload)``.
            batch_id: its name, of 64 bytes at most; else one is made.
            limit: how many messages the server allows in a batch.
            timeout: seconds that each answer may take.
            retries: how often the first message is sent again that met no responders.
            retry_wait: seconds before it is.

        Raises:
            InvalidBatch: the stream does not take batches, or not this one; nothing was stored.
            ExpectationFailed: what a message expected does not hold; nothing was stored.
            JetStreamError: the stream refuses a message otherwise; nothing was stored.
            NoResponders: no stream stores the first subject.
            BatchUnsupported: the server knows no batches, and has stored the first message by
                itself.
            RequestTimeout, ConnectionLost: the error says whether nothing was stored, or that it is
                unknown.
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
        """Gather messages of which a stream stores all or none (2.12, ADR-50): a sink, committed
        when it is left well.

        It takes what `compose` makes, ``(subject, payload)`` or ``(subject, payload, headers)``;
        its one result is the acknowledgement. Left by an error, it is dropped. Between two messages
        may pass 10 s, then the server lets go of it.

        Args:
            batch_id: its name, of 64 bytes at most; else one is made.
            limit: how many messages the server allows in a batch.
            idle: seconds of silence after which the server lets go of it.
            timeout: seconds that each answer may take.
            eob: commit by a message of its own, and hold no message back until the next (2.14).
            retries: how often the first message is sent again that met no responders.
            retry_wait: seconds before it is.

        Raises:
            BatchAbandoned: the server has let go of it; nothing was stored.
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
        """Publish many messages at the pace of the stream, with few answers (2.14, ADR-50): a sink.

        It takes what `compose` makes, ``(subject, payload)`` or ``(subject, payload, headers)``.
        Each is stored by itself; results are `IngestFault` for what is not stored, and at last the
        acknowledgement of the whole. The stream must have ``allow_batched``.

        Args:
            gaps: ``fail``: the first fault ends it, and what is stored has no holes; ``ok``: the
                rest goes on.
            flow: how many messages may lie between two answers, at most.
            batch_id: its name, one token of at most 64 bytes; else one is made.
            timeout: seconds that an answer may take.
            quiet: seconds of silence before the stream is pinged; it lets go after 10.

        Raises:
            InvalidBatch: the stream does not take fast batches.
            JetStreamError: the first message is refused.
            NoResponders: no stream stores the subject.
            BatchUnsupported: the server knows no fast batches, and has stored the first message by
                itself.
            RequestTimeout, ConnectionLost: the error says how far it was.
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
        """Settle a message and wait until the server says that it has (the double ack).

        ``False`` means that nothing was sent, because the message is settled already or needs no
        acknowledgement.

        Raises:
            RequestTimeout: no answer in time; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            ConnectionLost: the link was lost meanwhile.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: confirmed(message, verb, timeout=seconds))

    def dead_letter(
        self, event: MessageFate, subject: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[PubAck]:
        """Publish the message that an advisory is about as a dead letter, with where it came from
        and why in headers.

        Args:
            event: a `MessageFate` that `read_event` read, of ``MAX_DELIVERIES`` or
                ``MSG_TERMINATED``.
            subject: where dead letters are stored.
            timeout: seconds for each of the two questions.

        Raises:
            MessageNotFound: it is not in its stream any more.
            NoResponders: no stream stores ``subject``.
            InvalidConfig: the message came from there, so it would go round and round.
            InvalidSubject: nothing can be published there; nobody was asked.
        """
        publish_subject(subject)
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: dead_letter(self.api, event, subject, timeout=seconds))

    # ------------------------------------------------------------------ the account

    def account_info(self, *, timeout: float | timedelta | None = None) -> Procedure[AccountInfo]:
        """Usage and limits of the account.

        Raises:
            JetStreamNotEnabled: no JetStream here, or no such domain.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.account_info(self.api, timeout=seconds))

    @property
    def meta(self) -> Meta:
        """All JetStream servers together, for whoever is of the system account."""
        return Meta(js=self)

    @property
    def system(self) -> System:
        """The servers themselves, for whoever is of the system account."""
        return System(js=self)

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
        timeout: float | timedelta | None = None,
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
        """Replace the configuration of a stream: what is not set goes back to the server's
        defaults.

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
        """Update a stream, or make it if it is not there. Somebody else may do the same at the same
        time.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            compare: read it before; ``cached.changed`` of the handle says setting by setting what
                is different now.
            timeout: seconds for each question.
            settings: fields of `StreamConfig`.

        Raises:
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
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
        """Configuration and state of a stream.

        Args:
            stream: its name.
            subjects_filter: also count messages of the subjects that match.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; there is one unless more than 100,000 subjects match.

        Raises:
            StreamNotFound: no such stream.
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
            StreamNotFound: no such stream.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.delete_stream(self.api, stream, timeout=seconds))

    def stream_names(
        self, *, subject: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[Listing[str]]:
        """Names of all streams, or of those that store ``subject``."""
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.stream_names(self.api, subject=subject, timeout=seconds))

    def streams(
        self, *, subject: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[Listing[StreamInfo]]:
        """All streams, or those that store ``subject``; what a cluster cannot say now is in
        ``missing`` or ``offline``.
        """
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: manage.streams(self.api, subject=subject, timeout=seconds))

    def inventory(
        self, *, consumers: bool = True, timeout: float | timedelta | None = None
    ) -> Procedure[Inventory]:
        """All streams, and all consumers of each: what reports are made of.

        Args:
            consumers: also ask each stream for its consumers.
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
        """What a push consumer sends: it is found, or made, when the feed is opened.

        The stream is found by the subject if it is not named. A consumer that is named must be
        there; one that is only described is made if it is not there, and must be as described if it
        is.

        Args:
            subject: what to receive; the consumer filters by it.
            stream: the stream, if it is known.
            consumer: an existing consumer to bind to.
            queue: share the messages with the other members of this group; the durable's name if
                none is named.
            config: the consumer to make, or to compare with; or its settings by name, which also
                edit a ``config``.
            owner: whether a consumer that is made here is deleted at the end; left out: if we gave
                it no name.
            heartbeat_factor: how many heartbeats of silence are an alarm: 3 (ADR-15).
            watch_gaps: report holes in the consumer sequence; a queue group is never watched.
            auto_ack: acknowledge each message when the reader comes back for the next one.
            raw: hand out statuses like messages and act upon none of them.
            max_messages: most messages that may wait here while the consumer has no flow control.
            max_bytes: most bytes of them.
            policy: what happens to messages that do not fit; each is counted, and told.
            timeout: seconds for each question of the workflow.
            settings: fields of `ConsumerConfig`. ``ack_policy`` is explicit unless it is given.

        Raises:
            SubscribeRefused: it cannot work as asked; the class says why. When the feed is read,
                too: what was found.
            InvalidConfig, InvalidSubject: it cannot work; nothing was sent.
            JetStreamError: when the feed is read: the server refuses.
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
        """Find a pull consumer, or make it: a handle to fetch and consume from.

        The stream is found by the subject if it is not named. A consumer that is named is taken to
        be there even if the server does not tell; one that is only described is made if it is not
        there. What is made here stays.

        Args:
            subject: what to receive; the consumer filters by it.
            stream: the stream, if it is known.
            consumer: an existing consumer to bind to.
            config: the consumer to make, or to compare with; or its settings by name, which also
                edit a ``config``.
            timeout: seconds for each question of the workflow.
            settings: fields of `ConsumerConfig`. ``ack_policy`` is explicit unless it is given.

        Raises:
            SubscribeRefused: it cannot work as asked, or what was found is another one; the class
                says why.
            InvalidConfig, InvalidSubject: it cannot work; nothing was sent.
            JetStreamError: the server refuses.
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
        """Every message of a stream once and in order, whatever happens to consumers, servers and
        links.

        Nothing is acknowledged, and no consumer is left behind.

        Args:
            stream: its name.
            form: whether to ask for messages, or to be pushed to with flow control.
            max_messages: most messages asked for and buffered, if it asks; 500 if neither this nor
                ``max_bytes`` is given.
            max_bytes: most bytes asked for and buffered, if it asks.
            expires: seconds until the server ends one request; from 1.
            idle_heartbeat: seconds; 5, or half of ``expires`` where that is less.
            until_caught_up: end when everything that was there at the beginning has been handed
                out.
            name_prefix: begins the names of the consumers on the server.
            timeout: seconds that a creation or deletion waits for its answer.
            config: what to read; or its settings by name, which also edit a ``config`` given beside
                them.
            settings: fields of `ConsumerConfig`: filters, start, replay.

        Raises:
            InvalidConfig: what no ordered consumer can have, or what cannot work; nothing was sent.
            InvalidSubject: no stream can have this name.
            StreamNotFound: when it is read: the stream is not there, or was deleted.
            InvalidConfiguration: when it is read: the server refuses the configuration.
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
        """Make a stream of the chunks of a snapshot: a sink, whose result is the stream once it is
        drained.

        Until it is drained there is no stream, and what goes wrong before leaves nothing behind;
        only a server that is killed in the middle may hold a part of it afterwards (2.15). The
        server gives up after 5 s without a chunk, so the last bytes of each chunk of 4 kB and more
        are held back and sent one by one while the caller pauses; have the first chunk at hand when
        the sink is opened. On the server where a stream of that name was deleted a moment ago, its
        files may still be on their way out (2.15): the restore then fails (10062), and the next one
        will do.

        Args:
            origin: what the snapshot said of the stream; also what the CLI's ``backup.json`` holds.
            patience: seconds without a sign of life.

        Raises:
            StreamExists: there is a stream of that name.
            JetStreamError: the server does not take it.
            RequestTimeout: the server fell silent; the message says whether a stream may have been
                made.
            ConnectionLost: the link was lost; look whether a part of the stream is there.
            InvalidResponse: an origin without configuration or state.
        """
        return Restore(self.api, origin, patience=patience)

    def stream_by_subject(
        self, subject: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[Stream]:
        """The one stream that stores a subject.

        Raises:
            StreamNotFound: no stream does.
            AmbiguousSubject: several do.
            InvalidSubject: it is none.
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
        """What an existing stream has otherwise than wished for, setting by setting; empty if all
        is as it should be.

        Args:
            config: what is wished for; or its settings by name, which also edit a ``config`` given
                beside them.
            timeout: seconds.
            settings: fields of `StreamConfig`; what is not set is not compared.

        Raises:
            StreamNotFound: no such stream.
        """
        wanted = configured(StreamConfig, config, settings)
        seconds = seconds_of(timeout, self.timeout)
        return Procedure(lambda: maintenance.stream_drift(self.api, wanted, timeout=seconds))

    def _stream(self, asking: Callable[[], Steps[StreamInfo]]) -> Procedure[Stream]:
        def steps() -> Steps[Stream]:
            info = yield from asking()
            return Stream(js=self, name=info.config.name, cached=info)

        return Procedure(steps)
