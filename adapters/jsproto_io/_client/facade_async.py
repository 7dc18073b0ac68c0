"""JetStream with ``await``: written by ``_client/generate.py`` from `jsproto.jetstream.context`. Do not edit."""

# ruff: noqa: ASYNC109 - the core keeps the time

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Unpack, final

from jsproto.core.pubsub.subscription import Overflow
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.diff import Difference
from jsproto.jetstream.api.config.settings import (
    ConsumerSettings,
    OrderedSettings,
    PushSettings,
    StreamSettings,
)
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.events.advisories import MessageFate
from jsproto.jetstream.api.events.monitoring import Connz, Healthz, Jsz, Statsz, UserInfo, Varz
from jsproto.jetstream.api.publishing.fast_ingest import GapMode
from jsproto.jetstream.api.publishing.options import PublishOptions, PublishSettings
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests.inventory import Inventory
from jsproto.jetstream.api.requests.maintenance import Pause
from jsproto.jetstream.api.requests.messages import StoredMessage
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.requests.system import ServerAnswer
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.context import Consumer, JetStream, Meta, StoredMessages, Stream, System
from jsproto.jetstream.delivery.ack import ACK, Verb
from jsproto.jetstream.delivery.ack_options import UNKNOWN, AckOptions
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import SourceKind
from jsproto.jetstream.publish.batch import BatchPublish
from jsproto.jetstream.publish.exactly_once import RetryPolicy
from jsproto.jetstream.publish.fast_ingest import FastIngest, IngestResult
from jsproto.jetstream.publish.items import ToPublish
from jsproto.jetstream.publish.window import PublishResult, PublishWindow
from jsproto.jetstream.pull.ack_next import AckNext
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import OnDeleted
from jsproto.jetstream.pull.fetch import Fetch
from jsproto.jetstream.pull.fetch_options import FetchMode
from jsproto.jetstream.push.subscription import PushSubscription
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangePlan
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.range_read.rows import Rows
from jsproto.jetstream.stored.direct_batch import DirectBatch
from jsproto.jetstream.stored.snapshot import Origin, Restore, Snapshot
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto_io._client.messages import AsyncMessage

if TYPE_CHECKING:
    from jsproto_io._client.async_client import AsyncClient, Feed, Sink


@final
class AsyncJetStream:
    """JetStream of one account and domain."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: JetStream) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def domain(self) -> str | None:
        """As in `jsproto.jetstream.context.JetStream`."""
        return self._pure.domain

    @property
    def prefix(self) -> str | None:
        """As in `jsproto.jetstream.context.JetStream`."""
        return self._pure.prefix

    @property
    def timeout(self) -> float:
        """As in `jsproto.jetstream.context.JetStream`."""
        return self._pure.timeout

    async def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
        **settings: Unpack[PublishSettings],
    ) -> PubAck:
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
        described = self._pure.publish(
            subject,
            payload,
            headers=headers,
            options=options,
            timeout=timeout,
            retries=retries,
            retry_wait=retry_wait,
            **settings,
        )
        return await self._nc.run(described)

    async def publish_once(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        patience: RetryPolicy | None = None,
        **settings: Unpack[PublishSettings],
    ) -> PubAck:
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
        described = self._pure.publish_once(
            subject,
            payload,
            headers=headers,
            options=options,
            patience=patience,
            **settings,
        )
        return await self._nc.run(described)

    async def relay(
        self,
        message: JsMessage,
        subject: str,
        payload: bytes | str | None = None,
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        patience: RetryPolicy | None = None,
        **settings: Unpack[PublishSettings],
    ) -> PubAck:
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
        described = self._pure.relay(
            message,
            subject,
            payload,
            headers=headers,
            options=options,
            patience=patience,
            **settings,
        )
        return await self._nc.run(described)

    def publish_window(
        self,
        *,
        max_pending: int = 1000,
        max_bytes: int = 0,
        ack_timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
        results: bool = True,
        max_results: int = 65536,
        resend: bool = False,
        stall_wait: float | timedelta | None = None,
    ) -> Sink[PublishResult, PublishWindow, ToPublish]:
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
        described = self._pure.publish_window(
            max_pending=max_pending,
            max_bytes=max_bytes,
            ack_timeout=ack_timeout,
            retries=retries,
            retry_wait=retry_wait,
            results=results,
            max_results=max_results,
            resend=resend,
            stall_wait=stall_wait,
        )
        return self._nc.sink(described)

    async def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
    ) -> PubAck:
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
        described = self._pure.publish_batch(
            messages,
            batch_id=batch_id,
            limit=limit,
            timeout=timeout,
            retries=retries,
            retry_wait=retry_wait,
        )
        return await self._nc.run(described)

    def batch(
        self,
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        idle: float | timedelta = 10.0,
        timeout: float | timedelta | None = None,
        eob: bool = False,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
    ) -> Sink[PubAck, BatchPublish, ToPublish]:
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
        described = self._pure.batch(
            batch_id=batch_id,
            limit=limit,
            idle=idle,
            timeout=timeout,
            eob=eob,
            retries=retries,
            retry_wait=retry_wait,
        )
        return self._nc.sink(described)

    def ingest(
        self,
        *,
        gaps: GapMode | str = GapMode.FAIL,
        flow: int = 200,
        batch_id: str | None = None,
        timeout: float | timedelta | None = None,
        quiet: float | timedelta = 5.0,
    ) -> Sink[IngestResult, FastIngest, ToPublish]:
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
        described = self._pure.ingest(
            gaps=gaps,
            flow=flow,
            batch_id=batch_id,
            timeout=timeout,
            quiet=quiet,
        )
        return self._nc.sink(described)

    async def confirm(
        self,
        message: JsMessage,
        verb: Verb = ACK,
        *,
        timeout: float | timedelta | None = None,
    ) -> bool:
        """Settle a message and wait until the server says that it has (the double ack).

        ``False`` means that nothing was sent, because the message is settled already or needs no
        acknowledgement.

        Raises:
            RequestTimeout: no answer in time; the message is open again.
            NoResponders: the consumer is gone, or wants no acknowledgements.
            ConnectionLost: the link was lost meanwhile.
        """
        described = self._pure.confirm(
            message,
            verb,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def dead_letter(
        self,
        event: MessageFate,
        subject: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> PubAck:
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
        described = self._pure.dead_letter(
            event,
            subject,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def account_info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> AccountInfo:
        """Usage and limits of the account.

        Raises:
            JetStreamNotEnabled: no JetStream here, or no such domain.
        """
        described = self._pure.account_info(
            timeout=timeout,
        )
        return await self._nc.run(described)

    @property
    def meta(self) -> AsyncMeta:
        """All JetStream servers together, for whoever is of the system account."""
        return AsyncMeta(self._nc, self._pure.meta)

    @property
    def system(self) -> AsyncSystem:
        """The servers themselves, for whoever is of the system account."""
        return AsyncSystem(self._nc, self._pure.system)

    def stream(
        self,
        name: str,
    ) -> AsyncStream:
        """A handle of a stream by its name; the server is not asked.

        Raises:
            InvalidSubject: no stream can have this name.
        """
        described = self._pure.stream(
            name,
        )
        return AsyncStream(self._nc, described)

    async def create_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> AsyncStream:
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
        described = self._pure.create_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> AsyncStream:
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
        described = self._pure.update_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def create_or_update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> AsyncStream:
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
        described = self._pure.create_or_update_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            compare=compare,
            timeout=timeout,
            **settings,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def stream_info(
        self,
        stream: str,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StreamInfo:
        """Configuration and state of a stream.

        Args:
            stream: its name.
            subjects_filter: also count messages of the subjects that match.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; there is one unless more than 100,000 subjects match.

        Raises:
            StreamNotFound: no such stream.
        """
        described = self._pure.stream_info(
            stream,
            subjects_filter=subjects_filter,
            deleted_details=deleted_details,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def delete_stream(
        self,
        stream: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete a stream with its consumers and messages.

        Raises:
            StreamNotFound: no such stream.
        """
        described = self._pure.delete_stream(
            stream,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def stream_names(
        self,
        *,
        subject: str = "",
        timeout: float | timedelta | None = None,
    ) -> Listing[str]:
        """Names of all streams, or of those that store ``subject``."""
        described = self._pure.stream_names(
            subject=subject,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def streams(
        self,
        *,
        subject: str = "",
        timeout: float | timedelta | None = None,
    ) -> Listing[StreamInfo]:
        """All streams, or those that store ``subject``; what a cluster cannot say now is in
        ``missing`` or ``offline``.
        """
        described = self._pure.streams(
            subject=subject,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def inventory(
        self,
        *,
        consumers: bool = True,
        timeout: float | timedelta | None = None,
    ) -> Inventory:
        """All streams, and all consumers of each: what reports are made of.

        Args:
            consumers: also ask each stream for its consumers.
            timeout: seconds for each list, with all its pages.
        """
        described = self._pure.inventory(
            consumers=consumers,
            timeout=timeout,
        )
        return await self._nc.run(described)

    def subscribe(
        self,
        subject: str = "",
        *,
        stream: str = "",
        consumer: str = "",
        queue: str = "",
        config: ConsumerConfig | None = None,
        owner: bool | None = None,
        heartbeat_factor: float = 3.0,
        watch_gaps: bool = True,
        auto_ack: bool = False,
        raw: bool = False,
        max_messages: int = 65536,
        max_bytes: int = 67108864,
        policy: Overflow = Overflow.DROP_NEWEST,
        timeout: float | timedelta | None = None,
        **settings: Unpack[PushSettings],
    ) -> Feed[AsyncMessage, PushSubscription[JsMessage]]:
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
        described = self._pure.subscribe(
            subject,
            stream=stream,
            consumer=consumer,
            queue=queue,
            config=config,
            owner=owner,
            heartbeat_factor=heartbeat_factor,
            watch_gaps=watch_gaps,
            auto_ack=auto_ack,
            raw=raw,
            max_messages=max_messages,
            max_bytes=max_bytes,
            policy=policy,
            timeout=timeout,
            **settings,
        )
        return self._nc.stream(described)

    async def pull_subscribe(
        self,
        subject: str = "",
        *,
        stream: str = "",
        consumer: str = "",
        config: ConsumerConfig | None = None,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> AsyncConsumer:
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
        described = self._pure.pull_subscribe(
            subject,
            stream=stream,
            consumer=consumer,
            config=config,
            timeout=timeout,
            **settings,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

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
    ) -> Feed[AsyncMessage, OrderedConsumer[JsMessage]]:
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
        described = self._pure.ordered_consumer(
            stream,
            form=form,
            max_messages=max_messages,
            max_bytes=max_bytes,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            until_caught_up=until_caught_up,
            name_prefix=name_prefix,
            timeout=timeout,
            config=config,
            **settings,
        )
        return self._nc.stream(described)

    def restore(
        self,
        origin: Origin,
        *,
        patience: float | timedelta = 10.0,
    ) -> Sink[StreamInfo, Restore, bytes]:
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
        described = self._pure.restore(
            origin,
            patience=patience,
        )
        return self._nc.sink(described)

    async def stream_by_subject(
        self,
        subject: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> AsyncStream:
        """The one stream that stores a subject.

        Raises:
            StreamNotFound: no stream does.
            AmbiguousSubject: several do.
            InvalidSubject: it is none.
        """
        described = self._pure.stream_by_subject(
            subject,
            timeout=timeout,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def stream_drift(
        self,
        config: StreamConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> tuple[Difference, ...]:
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
        described = self._pure.stream_drift(
            config,
            timeout=timeout,
            **settings,
        )
        return await self._nc.run(described)


@final
class AsyncMeta:
    """The group of all JetStream servers."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: Meta) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def js(self) -> AsyncJetStream:
        """As in `jsproto.jetstream.context.Meta`."""
        return AsyncJetStream(self._nc, self._pure.js)

    async def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
        """Let the leader step down; the name of the new one, empty if that is not waited for.

        Args:
            placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster
                and tags.
            wait: for a new leader.
            timeout: seconds for all of it.

        Raises:
            NoResponders: not the system account.
            InvalidConfiguration: no such server.
            RequestTimeout: no cluster, or no new leader in time.
        """
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def remove_server(
        self,
        server: str = "",
        *,
        peer_id: str = "",
        timeout: float | timedelta | None = None,
    ) -> None:
        """Take a server that is gone for good out of the cluster: everything on it is placed anew.

        Args:
            server: its name.
            peer_id: its id among the peers instead, if the name is not known any more (2.10).
            timeout: seconds.

        Raises:
            RequestTimeout: not the system account, or no cluster.
            JetStreamError: no such server.
        """
        described = self._pure.remove_server(
            server,
            peer_id=peer_id,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def evacuate_server(
        self,
        server: str = "",
        *,
        peer_id: str = "",
        timeout: float | timedelta | None = None,
    ) -> None:
        """Let the others take over everything that a server has; it stays in the cluster, with
        nothing on it (2.15).

        Args:
            server: its name.
            peer_id: its id among the peers instead.
            timeout: seconds.

        Raises:
            JetStreamError: no such server.
            RequestTimeout: not the system account, or no cluster.
            RequestTimeout, JetStreamNotEnabled: servers before 2.15, which do not know this
                request.
        """
        described = self._pure.evacuate_server(
            server,
            peer_id=peer_id,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def move_stream(
        self,
        account: str,
        stream: str,
        *,
        server: str = "",
        cluster: str = "",
        tags: Sequence[str] = (),
        timeout: float | timedelta | None = None,
    ) -> None:
        """Move a stream away from a server, or to another cluster or tags. An account may move its
        own.

        Args:
            account: whose stream.
            stream: its name.
            server: the server that it shall leave; nothing said leaves the choice to the cluster.
            cluster: the cluster that it shall move to.
            tags: tags of the servers that it shall move to.
            timeout: seconds.

        Raises:
            NotFound: no such account or stream.
            InvalidConfiguration: there is no place where it could move.
            JetStreamError: the server is not known, or has nothing of it.
            RequestTimeout: another account than the system's or its own, or no cluster.
        """
        described = self._pure.move_stream(
            account,
            stream,
            server=server,
            cluster=cluster,
            tags=tags,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def cancel_move(
        self,
        account: str,
        stream: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Let a stream that is being moved stay where it was. An account may do so with its own.

        Raises:
            NotFound: no such account or stream.
            JetStreamError: it is not being moved.
            RequestTimeout: another account than the system's or its own, or no cluster.
        """
        described = self._pure.cancel_move(
            account,
            stream,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def purge_account(
        self,
        account: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete all streams of an account, whether or not it still exists.

        Raises:
            RequestTimeout: not the system account.
        """
        described = self._pure.purge_account(
            account,
            timeout=timeout,
        )
        return await self._nc.run(described)


@final
class AsyncSystem:
    """The servers themselves. They answer the system account; of others only `user_info`."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: System) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def js(self) -> AsyncJetStream:
        """As in `jsproto.jetstream.context.System`."""
        return AsyncJetStream(self._nc, self._pure.js)

    async def ask(
        self,
        what: str,
        *,
        server: str = "",
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Document], ...]:
        """Ask for anything, by the servers' own word for it: ``ROUTEZ``, ``LEAFZ``, ``RAFTZ`` and
        so on.

        Args:
            what: the word.
            server: the id of the only server to ask.
            options: members of the request, as the server names them; ``server_name``, ``cluster``,
                ``host``, ``domain`` and ``tags`` choose who answers.
            expect: so many servers will answer; without it, the end is judged by silence.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account, or not known to
                these servers.
            ApiError: the servers say no, all of them.
            InvalidSubject: no such word, or no id; nothing was sent.
        """
        described = self._pure.ask(
            what,
            server=server,
            options=options,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def statsz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Statsz], ...]:
        """The server in numbers; ``active_servers`` says how many there are.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
        """
        described = self._pure.statsz(
            server=server,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def varz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Varz], ...]:
        """Configuration and state of the server as a whole.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
        """
        described = self._pure.varz(
            server=server,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def jsz(
        self,
        *,
        server: str = "",
        account: str = "",
        accounts: bool = False,
        streams: bool = False,
        consumers: bool = False,
        config: bool = False,
        leader_only: bool = False,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Jsz], ...]:
        """JetStream on the server: memory, storage, the group of all, and if wished accounts,
        streams and consumers.

        Args:
            server: the id of the only server to ask.
            account: only this one.
            accounts: with each account.
            streams: with each stream.
            consumers: with each consumer.
            config: with their configurations.
            leader_only: only the leader of all answers.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
        """
        described = self._pure.jsz(
            server=server,
            account=account,
            accounts=accounts,
            streams=streams,
            consumers=consumers,
            config=config,
            leader_only=leader_only,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def connz(
        self,
        *,
        server: str = "",
        account: str = "",
        subscriptions: bool = False,
        limit: int = 0,
        offset: int = 0,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Connz], ...]:
        """Connections of clients.

        Args:
            server: the id of the only server to ask.
            account: only those of this one.
            subscriptions: with the subjects that each listens on.
            limit: most connections of one answer; 0 leaves it to the server (1024).
            offset: so many are skipped.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
        """
        described = self._pure.connz(
            server=server,
            account=account,
            subscriptions=subscriptions,
            limit=limit,
            offset=offset,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def healthz(
        self,
        *,
        server: str = "",
        account: str = "",
        stream: str = "",
        consumer: str = "",
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Healthz], ...]:
        """Whether the server is well: ``status`` is ``ok``, or else ``error`` beside it says what
        is not.

        Args:
            server: the id of the only server to ask.
            account: whose stream.
            stream: only whether this is well.
            consumer: and this consumer of it.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
            InvalidSubject: no stream or consumer can have this name.
        """
        described = self._pure.healthz(
            server=server,
            account=account,
            stream=stream,
            consumer=consumer,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def account(
        self,
        account: str,
        what: str = "INFO",
        *,
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Document], ...]:
        """What the servers know of one account.

        Args:
            account: its name or key.
            what: ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ`` or ``LEAFZ``.
            options: members of the request, as the server names them.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
            InvalidSubject: no such word, or no name; nothing was sent.
        """
        described = self._pure.account(
            account,
            what,
            options=options,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def user_info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> ServerAnswer[UserInfo]:
        """Who we are to the server: ``user``, ``account`` and ``permissions``. Every account may
        ask (2.10).

        Raises:
            NoResponders, RequestTimeout: an older server.
        """
        described = self._pure.user_info(
            timeout=timeout,
        )
        return await self._nc.run(described)


@final
class AsyncStream:
    """A stream by its name."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: Stream) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def js(self) -> AsyncJetStream:
        """As in `jsproto.jetstream.context.Stream`."""
        return AsyncJetStream(self._nc, self._pure.js)

    @property
    def name(self) -> str:
        """As in `jsproto.jetstream.context.Stream`."""
        return self._pure.name

    @property
    def cached(self) -> StreamInfo | None:
        """As in `jsproto.jetstream.context.Stream`."""
        return self._pure.cached

    async def publish(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
        **settings: Unpack[PublishSettings],
    ) -> PubAck:
        """Publish a message that this stream must store, and wait until it has.

        If the handle knows the configuration (``cached``), what the stream would refuse is refused
        here, and so is a stream that acknowledges nothing. After a change by somebody else, ask for
        a new handle.

        Args:
            subject: one of its subjects.
            payload: the message.
            headers: the message's own headers.
            options: what is asked of the stream; or its settings by name, which also edit
                ``options`` given beside them.
            timeout: seconds for all attempts together.
            retries: how often it may be sent again after "nobody listens" (503, ADR-22).
            retry_wait: seconds before it is sent again.
            settings: fields of `PublishOptions`; ``expected_stream`` is this one, but for a
                counter, which has no expectations.

        Raises:
            NoResponders: no stream stores this subject.
            ExpectationFailed: what was expected does not hold; the class says what.
            JetStreamError: the stream refuses the message otherwise.
            RequestTimeout: no acknowledgement came; whether the message was stored is unknown.
            ConnectionLost: the same, because the link was lost.
            InvalidSubject, InvalidHeader, InvalidConfig: nothing was sent.
        """
        described = self._pure.publish(
            subject,
            payload,
            headers=headers,
            options=options,
            timeout=timeout,
            retries=retries,
            retry_wait=retry_wait,
            **settings,
        )
        return await self._nc.run(described)

    def publish_window(
        self,
        *,
        max_pending: int = 1000,
        max_bytes: int = 0,
        ack_timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
        results: bool = True,
        max_results: int = 65536,
        resend: bool = False,
        stall_wait: float | timedelta | None = None,
    ) -> Sink[PublishResult, PublishWindow, ToPublish]:
        """Publish many messages to this stream with many acknowledgements under way; see
        `JetStream.publish_window`.

        If the handle knows the configuration (``cached``), a stream that acknowledges nothing is
        refused here, and so is one that is sealed. Single messages are not looked at.

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
            InvalidConfig: a bound, number or time that cannot work, or a stream that cannot;
                nothing was sent.
        """
        described = self._pure.publish_window(
            max_pending=max_pending,
            max_bytes=max_bytes,
            ack_timeout=ack_timeout,
            retries=retries,
            retry_wait=retry_wait,
            results=results,
            max_results=max_results,
            resend=resend,
            stall_wait=stall_wait,
        )
        return self._nc.sink(described)

    async def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        timeout: float | timedelta | None = None,
    ) -> PubAck:
        """Publish messages of which this stream stores all or none; see `JetStream.publish_batch`.

        If the handle knows the configuration (``cached``), a stream that takes no batches is
        refused here.

        Args:
            messages: in this order: what `compose` makes, or ``(subject, payload)``.
            batch_id: its name, of 64 bytes at most; else one is made.
            limit: how many messages the server allows in a batch.
            timeout: seconds that each answer may take.

        Raises:
            InvalidBatch: this batch cannot be; nothing was stored.
            JetStreamError: the stream refuses a message otherwise; nothing was stored.
            RequestTimeout, ConnectionLost: the error says whether nothing was stored, or that it is
                unknown.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.publish_batch(
            messages,
            batch_id=batch_id,
            limit=limit,
            timeout=timeout,
        )
        return await self._nc.run(described)

    def batch(
        self,
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        idle: float | timedelta = 10.0,
        timeout: float | timedelta | None = None,
        eob: bool = False,
    ) -> Sink[PubAck, BatchPublish, ToPublish]:
        """Gather messages of which this stream stores all or none; see `JetStream.batch`.

        If the handle knows the configuration (``cached``), a stream that takes no batches is
        refused here.

        Args:
            batch_id: its name, of 64 bytes at most; else one is made.
            limit: how many messages the server allows in a batch.
            idle: seconds of silence after which the server lets go of it.
            timeout: seconds that each answer may take.
            eob: commit by a message of its own, and hold no message back until the next (2.14).

        Raises:
            BatchAbandoned: the server has let go of it; nothing was stored.
            InvalidBatch, JetStreamError, RequestTimeout, ConnectionLost: as for `publish_batch`.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.batch(
            batch_id=batch_id,
            limit=limit,
            idle=idle,
            timeout=timeout,
            eob=eob,
        )
        return self._nc.sink(described)

    def ingest(
        self,
        *,
        gaps: GapMode | str = GapMode.FAIL,
        flow: int = 200,
        batch_id: str | None = None,
        timeout: float | timedelta | None = None,
        quiet: float | timedelta = 5.0,
    ) -> Sink[IngestResult, FastIngest, ToPublish]:
        """Publish many messages at the pace of this stream, with few answers; see
        `JetStream.ingest`.

        If the handle knows the configuration (``cached``), a stream that takes no fast batches is
        refused here.

        Args:
            gaps: ``fail``: the first fault ends it, and what is stored has no holes; ``ok``: the
                rest goes on.
            flow: how many messages may lie between two answers, at most.
            batch_id: its name, one token of at most 64 bytes; else one is made.
            timeout: seconds that an answer may take.
            quiet: seconds of silence before the stream is pinged; it lets go after 10.

        Raises:
            JetStreamError: the first message is refused.
            RequestTimeout, ConnectionLost: the error says how far it was.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.ingest(
            gaps=gaps,
            flow=flow,
            batch_id=batch_id,
            timeout=timeout,
            quiet=quiet,
        )
        return self._nc.sink(described)

    async def info(
        self,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StreamInfo:
        """Configuration and state.

        Args:
            subjects_filter: also count messages of the subjects that match.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; there is one unless more than 100,000 subjects match.

        Raises:
            StreamNotFound: it is gone.
        """
        described = self._pure.info(
            subjects_filter=subjects_filter,
            deleted_details=deleted_details,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def change(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> AsyncStream:
        """Read the configuration, change some settings, write it back with all that was read.

        Args:
            timeout: seconds for each of the two questions.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: it is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: a setting that cannot work.
        """
        described = self._pure.change(
            timeout=timeout,
            **settings,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def delete(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete it with its consumers and messages.

        Raises:
            StreamNotFound: it is gone already.
        """
        described = self._pure.delete(
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def purge(
        self,
        *,
        filter_subject: str = "",
        seq: int | None = None,
        keep: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> int:
        """Delete messages, all or some; how many there were.

        Args:
            filter_subject: only messages of the subjects that match.
            seq: only messages before this sequence; excludes ``keep``.
            keep: but for the newest so many, of all that match.
            timeout: seconds.

        Raises:
            StreamNotFound: it is gone.
            Refused: it denies that, or is sealed.
            InvalidConfig: both ``seq`` and ``keep``, or 0, which the server would take for all.
        """
        described = self._pure.purge(
            filter_subject=filter_subject,
            seq=seq,
            keep=keep,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def seal(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> AsyncStream:
        """Close it for good: nothing can be stored, deleted or changed any more.

        Raises:
            StreamNotFound: it is gone.
            InvalidConfiguration: the server says why it cannot be.
        """
        described = self._pure.seal(
            timeout=timeout,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def copy(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> AsyncStream:
        """Make another stream of its configuration, without its messages.

        Args:
            timeout: seconds for each of the two questions.
            settings: fields of `StreamConfig` that differ; ``name`` must, and ``subjects`` as no
                two streams may share any.

        Raises:
            StreamNotFound: it is gone.
            StreamExists: there is another one of the copy's name.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: a copy without a name of its own.
        """
        described = self._pure.copy(
            timeout=timeout,
            **settings,
        )
        return AsyncStream(self._nc, await self._nc.run(described))

    async def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
        """Let its leader step down; the name of the new one, empty if that is not waited for.

        Args:
            placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster
                and tags.
            wait: for a new leader.
            timeout: seconds for all of it.

        Raises:
            Unavailable: the server is in no cluster.
            StreamNotFound: it is gone.
            RequestTimeout: no new leader in time.
        """
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def remove_peer(
        self,
        peer: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Take a server out of its group at once; another takes its place.

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            Unavailable: the server is in no cluster.
            JetStreamError: the peer is none of its group, or nobody can take its place.
        """
        described = self._pure.remove_peer(
            peer,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def evacuate_peer(
        self,
        peer: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Let another server take over what one has of it; only then that one leaves the group
        (2.15).

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            Unavailable: the server is in no cluster.
            JetStreamError: the peer is none of its group, or nobody can take its place.
            RequestTimeout: servers before 2.15.
        """
        described = self._pure.evacuate_peer(
            peer,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def cancel_move(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Let its group stay as it was before a change that is still under way, such as a move
        (2.15).

        Raises:
            Unavailable: the server is in no cluster.
            StreamNotFound: it is gone.
            JetStreamError: it is not being changed.
            RequestTimeout: servers before 2.15; `Meta.cancel_move` is for all.
        """
        described = self._pure.cancel_move(
            timeout=timeout,
        )
        return await self._nc.run(described)

    def snapshot(
        self,
        *,
        consumers: bool = True,
        chunk_size: int = 0,
        window_size: int = 0,
        check: bool = False,
        patience: float | timedelta = 10.0,
        max_bytes: int = 67108864,
    ) -> Feed[bytes, Snapshot]:
        """All of it, as chunks of an archive that a server of the same or a later version can
        restore: a feed.

        Chunks are to be written somewhere, ``origin`` of the feed with them. A caller may be late:
        up to ``max_bytes`` wait for him here. Beyond that the server waits for 5 s (2 s before
        2.12) and gives up. The feed ends well when all has come, and raises if not; then what came
        is worth nothing.

        Args:
            consumers: also its consumers.
            chunk_size: bytes of a chunk, 1 kB to 1 MB; 0 leaves it to the server (128 kB).
            window_size: bytes that may be under way, up to 32 MB; 0 leaves it to the server (8 MB;
                2.12).
            check: let the server check what it stores first, which takes longer.
            patience: seconds without a sign of life.
            max_bytes: bytes of chunks that may wait here, with those that are still under way.

        Raises:
            StreamNotFound: it is gone.
            SnapshotBroken: the server broke it off.
            RequestTimeout: the server fell silent.
            ConnectionLost: the link was lost.
            InvalidConfig: sizes that cannot work.
        """
        described = self._pure.snapshot(
            consumers=consumers,
            chunk_size=chunk_size,
            window_size=window_size,
            check=check,
            patience=patience,
            max_bytes=max_bytes,
        )
        return self._nc.stream(described)

    @property
    def messages(self) -> AsyncStoredMessages:
        """The messages that it holds."""
        return AsyncStoredMessages(self._nc, self._pure.messages)

    def consumer(
        self,
        name: str,
    ) -> AsyncConsumer:
        """A handle of a consumer by its name; the server is not asked.

        So nothing is known of the consumer's ack policy, and it is taken for explicit. If it is
        none, an ack is written although nobody listens, and is ``True``: a delivery does not say
        which policy its consumer has. ``refresh`` gives a handle that knows (it asks CONSUMER.INFO
        once, which takes a right that reading does not take), and ``AckOptions(policy="none")``
        says it without asking.

        Raises:
            InvalidSubject: no consumer can have this name.
        """
        described = self._pure.consumer(
            name,
        )
        return AsyncConsumer(self._nc, described)

    async def create_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> AsyncConsumer:
        """Make a consumer; one that is there with the same configuration will do.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`. ``ack_policy`` is explicit unless it is given; the
                server's own default is none.

        Raises:
            ConsumerExists: there is one with another configuration.
            StreamNotFound: the stream is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        described = self._pure.create_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

    async def update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> AsyncConsumer:
        """Replace the configuration of a consumer: what is not set goes back to the defaults (see
        ``create_consumer``).

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
        described = self._pure.update_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

    async def create_or_update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> AsyncConsumer:
        """Update a consumer, or make it if it is not there.

        Args:
            config: what; or its settings by name, which also edit a ``config`` given beside them.
            pedantic: the server refuses what it would otherwise adjust (2.11).
            strict: refuse a server that leaves out a setting.
            compare: read it before; ``cached.changed`` of the handle says setting by setting what
                is different now.
            timeout: seconds for each question.
            settings: fields of `ConsumerConfig`.

        Raises:
            StreamNotFound: the stream is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: it cannot work; nothing was sent.
        """
        described = self._pure.create_or_update_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            compare=compare,
            timeout=timeout,
            **settings,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

    async def consumer_names(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Listing[str]:
        """Names of all its consumers."""
        described = self._pure.consumer_names(
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def consumers(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Listing[ConsumerInfo]:
        """All its consumers; what a cluster cannot say now is in ``missing`` or ``offline``."""
        described = self._pure.consumers(
            timeout=timeout,
        )
        return await self._nc.run(described)

    def ordered(
        self,
        *,
        form: SourceKind = SourceKind.PULL,
        max_messages: int | None = None,
        max_bytes: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        name_prefix: str = "",
        timeout: float | timedelta | None = None,
        config: ConsumerConfig | None = None,
        **settings: Unpack[OrderedSettings],
    ) -> Feed[AsyncMessage, OrderedConsumer[JsMessage]]:
        """Its messages, those that are there and those that will come, each once and in order.

        As ``ordered_consumer`` of `JetStream`, which explains the arguments.

        Raises:
            InvalidConfig: what no ordered consumer can have, or what cannot work; nothing was sent.
            StreamNotFound: when it is read: the stream is not there, or was deleted.
            InvalidConfiguration: when it is read: the server refuses the configuration.
        """
        described = self._pure.ordered(
            form=form,
            max_messages=max_messages,
            max_bytes=max_bytes,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            name_prefix=name_prefix,
            timeout=timeout,
            config=config,
            **settings,
        )
        return self._nc.stream(described)

    def read(
        self,
        *,
        form: SourceKind = SourceKind.PULL,
        max_messages: int | None = None,
        max_bytes: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        name_prefix: str = "",
        timeout: float | timedelta | None = None,
        config: ConsumerConfig | None = None,
        **settings: Unpack[OrderedSettings],
    ) -> Feed[AsyncMessage, OrderedConsumer[JsMessage]]:
        """Its messages that are there now, each once and in order: a feed with an end.

        As ``ordered_consumer`` of `JetStream`, which explains the arguments.

        Raises:
            InvalidConfig: what no ordered consumer can have, or what cannot work; nothing was sent.
            StreamNotFound: when it is read: the stream is not there, or was deleted.
            InvalidConfiguration: when it is read: the server refuses the configuration.
        """
        described = self._pure.read(
            form=form,
            max_messages=max_messages,
            max_bytes=max_bytes,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            name_prefix=name_prefix,
            timeout=timeout,
            config=config,
            **settings,
        )
        return self._nc.stream(described)

    def read_range(
        self,
        lo: int,
        hi: int,
        *,
        subjects: Sequence[str] = (),
        way: ReadMode = ReadMode.AUTO,
        created: Timestamp | datetime | None = None,
        fail_on_loss: bool = True,
        headers_only: bool = False,
        max_messages: int = 5000,
        max_bytes: int = 16777216,
        patience: float | timedelta = 120.0,
        name_prefix: str = "",
        timeout: float | timedelta | None = None,
    ) -> Feed[Rows, RangeReader]:
        """Its messages from one sequence to another, each once and in order, in runs (`Rows`): a
        feed with a proven end.

        Nothing is acknowledged, and no consumer is left behind. Lost links and consumers cost a
        delay and nothing else.

        Args:
            lo: the first sequence.
            hi: the first sequence behind the range; behind the last one of the stream at most.
            subjects: only messages of subjects that match one of these; none means all.
            way: by consumer or directly; `ReadMode.AUTO` is by consumer, but directly on a work
                queue.
            created: when the stream was created, if it must be that very stream.
            fail_on_loss: whether messages that were removed before they were read end it, or are
                only told.
            headers_only: whether payloads are left out: a consumer sends none, and says their size
                in a last header ``Nats-Msg-Size``; a direct get has them all the same.
            max_messages: most messages asked for and at hand.
            max_bytes: most bytes asked for and at hand, as the server counts them.
            patience: seconds without progress after which it fails.
            name_prefix: begins the names of the consumers on the server.
            timeout: seconds that one question waits for its answer.

        Raises:
            InvalidConfig: what cannot work; nothing was sent.
            StreamNotFound: when it is read: the stream is not there.
            StreamRecreated: when it is read: it is another stream than ``created`` says.
            DataLost: when it is read: messages were removed before they were read.
            DirectUnavailable: when it is read: the stream is to be read directly and does not allow
                it.
            ConfigIgnored: when it is read: the server is too old for several subjects.
            ReadStalled: when it is read: nothing came for ``patience`` seconds.
        """
        described = self._pure.read_range(
            lo,
            hi,
            subjects=subjects,
            way=way,
            created=created,
            fail_on_loss=fail_on_loss,
            headers_only=headers_only,
            max_messages=max_messages,
            max_bytes=max_bytes,
            patience=patience,
            name_prefix=name_prefix,
            timeout=timeout,
        )
        return self._nc.stream(described)

    async def plan_range(
        self,
        *,
        lo: int | None = None,
        hi: int | None = None,
        partitions: int = 1,
        max_messages: int = 0,
        way: ReadMode = ReadMode.AUTO,
        timeout: float | timedelta | None = None,
    ) -> RangePlan:
        """What it holds now, in parts to be read by `read_range`, here or elsewhere, now or again
        later.

        Args:
            lo: from this sequence on; its first if left out, and never before that.
            hi: up to this one, exclusive; behind its last if left out, and never behind that.
            partitions: at least so many parts, as far as there are sequences.
            max_messages: at most so many sequences in one part; 0 for no bound.
            way: how to read.
            timeout: seconds.

        Raises:
            StreamNotFound: it is not there.
            InvalidConfig: numbers that are none, or a way that the stream does not allow.
        """
        described = self._pure.plan_range(
            lo=lo,
            hi=hi,
            partitions=partitions,
            max_messages=max_messages,
            way=way,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def consumer_drift(
        self,
        config: ConsumerConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> tuple[Difference, ...]:
        """What an existing consumer has otherwise than wished for, setting by setting; empty if all
        is as it should be.

        Args:
            config: what is wished for; or its settings by name, which also edit a ``config`` given
                beside them.
            timeout: seconds.
            settings: fields of `ConsumerConfig`; what is not set is not compared.

        Raises:
            ConsumerNotFound: no such consumer.
            InvalidConfig: no name to compare it by.
        """
        described = self._pure.consumer_drift(
            config,
            timeout=timeout,
            **settings,
        )
        return await self._nc.run(described)


@final
class AsyncStoredMessages:
    """The messages of a stream, read and deleted by the API; to work them off, use a consumer."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: StoredMessages) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def stream(self) -> AsyncStream:
        """As in `jsproto.jetstream.context.StoredMessages`."""
        return AsyncStream(self._nc, self._pure.stream)

    @property
    def direct(self) -> bool:
        """As in `jsproto.jetstream.context.StoredMessages`."""
        return self._pure.direct

    async def by_seq(
        self,
        seq: int,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """The message of a sequence.

        Raises:
            MessageNotFound: there is none, or it was deleted.
            NoResponders: direct gets are not allowed.
            InvalidConfig: a sequence that is none, or ``no_headers`` beside ``direct``.
        """
        described = self._pure.by_seq(
            seq,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def last(
        self,
        subject: str,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """The last message of a subject, or of all subjects that match.

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidSubject: it is none.
            InvalidConfig: ``no_headers`` beside ``direct``.
        """
        described = self._pure.last(
            subject,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def next(
        self,
        subject: str = ">",
        *,
        seq: int = 1,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """The first message of the subjects that match, at or behind a sequence.

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidSubject: it is none.
            InvalidConfig: a sequence that is none, or ``no_headers`` beside ``direct``.
        """
        described = self._pure.next(
            subject,
            seq=seq,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def since(
        self,
        start_time: datetime | Timestamp,
        subject: str = ">",
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """The first message of the subjects that match, stored at an instant or after it (2.11).

        Raises:
            MessageNotFound: there is none.
            NoResponders: direct gets are not allowed.
            InvalidResponse: the server is too old to know a start time.
            InvalidSubject: it is none.
            InvalidConfig: a ``datetime`` without a time zone, or ``no_headers`` beside ``direct``.
        """
        described = self._pure.since(
            start_time,
            subject,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return await self._nc.run(described)

    def batch(
        self,
        *,
        seq: int | None = None,
        start_time: datetime | Timestamp | None = None,
        subject: str = "",
        limit: int = 0,
        page: int = 500,
        page_bytes: int = 4194304,
        timeout: float | timedelta | None = None,
    ) -> Feed[StoredMessage, DirectBatch]:
        """Many messages by direct gets, page after page until nothing is pending: a feed with an
        end (ADR-31).

        The stream must allow direct gets. Servers before 2.11 are asked for one message at a time.

        Args:
            seq: from this sequence on.
            start_time: from this instant on (2.11); excludes ``seq``.
            subject: only subjects that match.
            limit: end after so many messages, 0 for none.
            page: the most messages of one answer.
            page_bytes: the most bytes of one answer, as the server counts them.
            timeout: seconds within which the server must say something.

        Raises:
            NoResponders: no such stream, or direct gets are not allowed.
            RequestTimeout: the server fell silent; what came before is handed out first.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.batch(
            seq=seq,
            start_time=start_time,
            subject=subject,
            limit=limit,
            page=page,
            page_bytes=page_bytes,
            timeout=timeout,
        )
        return self._nc.stream(described)

    def last_of(
        self,
        subjects: Sequence[str],
        *,
        seq: int | None = None,
        up_to_seq: int | None = None,
        up_to_time: datetime | Timestamp | None = None,
        limit: int = 0,
        page: int = 500,
        page_bytes: int = 4194304,
        timeout: float | timedelta | None = None,
    ) -> Feed[StoredMessage, DirectBatch]:
        """The last message of each subject that matches, as the stream is now or was: a feed in the
        order of sequences.

        The server answers for at most 1024 subjects. Servers before 2.11 are asked for each subject
        by itself.

        Args:
            subjects: subjects, with wildcards or without.
            seq: only messages from this sequence on.
            up_to_seq: as if this were the stream's last sequence (2.11).
            up_to_time: as the stream was at an instant (2.11); excludes ``up_to_seq``.
            limit: end after so many messages, 0 for none.
            page: the most messages of one answer.
            page_bytes: the most bytes of one answer, as the server counts them.
            timeout: seconds within which the server must say something.

        Raises:
            TooManyResults: more subjects match than the server answers for; an ordered consumer
                reads them all.
            NoResponders: no such stream, or direct gets are not allowed.
            RequestTimeout: the server fell silent; what came before is handed out first.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.last_of(
            subjects,
            seq=seq,
            up_to_seq=up_to_seq,
            up_to_time=up_to_time,
            limit=limit,
            page=page,
            page_bytes=page_bytes,
            timeout=timeout,
        )
        return self._nc.stream(described)

    async def delete(
        self,
        seq: int,
        *,
        erase: bool = False,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete a message.

        Args:
            seq: its sequence.
            erase: also overwrite its bytes in the store, which takes longer.
            timeout: seconds.

        Raises:
            SequenceNotFound: no such message.
            Refused: the stream denies it, or is sealed.
            InvalidConfig: a sequence that is none.
        """
        described = self._pure.delete(
            seq,
            erase=erase,
            timeout=timeout,
        )
        return await self._nc.run(described)


@final
class AsyncConsumer:
    """A consumer by its name."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: AsyncClient, pure: Consumer) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Async{self._pure!r}"

    @property
    def stream(self) -> AsyncStream:
        """As in `jsproto.jetstream.context.Consumer`."""
        return AsyncStream(self._nc, self._pure.stream)

    @property
    def name(self) -> str:
        """As in `jsproto.jetstream.context.Consumer`."""
        return self._pure.name

    @property
    def cached(self) -> ConsumerInfo | None:
        """As in `jsproto.jetstream.context.Consumer`."""
        return self._pure.cached

    async def info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> ConsumerInfo:
        """Configuration and progress.

        Raises:
            ConsumerNotFound: it is gone.
        """
        described = self._pure.info(
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def refresh(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> AsyncConsumer:
        """A handle that knows what the server says now: its feeds keep within the limits of the
        consumer.

        Args:
            timeout: seconds.

        Raises:
            ConsumerNotFound: it is gone.
        """
        described = self._pure.refresh(
            timeout=timeout,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

    async def change(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> AsyncConsumer:
        """Read the configuration, change some settings, write it back with all that was read.

        Args:
            timeout: seconds for each of the two questions.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerNotFound: it is gone.
            InvalidConfiguration: the server says what is wrong with it.
            InvalidConfig: a setting that cannot work.
        """
        described = self._pure.change(
            timeout=timeout,
            **settings,
        )
        return AsyncConsumer(self._nc, await self._nc.run(described))

    async def delete(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete it.

        Raises:
            ConsumerNotFound: it is gone already.
        """
        described = self._pure.delete(
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def pause(
        self,
        until: datetime | Timestamp,
        *,
        timeout: float | timedelta | None = None,
    ) -> Pause:
        """Let it rest: it delivers nothing until then (2.11). What is in its readers' hands stays
        there.

        Args:
            until: the instant at which it goes on.
            timeout: seconds.

        Raises:
            ConsumerNotFound: it is gone.
            InvalidConfig: a ``datetime`` without a time zone.
        """
        described = self._pure.pause(
            until,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def resume(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Pause:
        """End its rest now (2.11).

        Raises:
            ConsumerNotFound: it is gone.
        """
        described = self._pure.resume(
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def reset(
        self,
        *,
        seq: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> ConsumerInfo:
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
        described = self._pure.reset(
            seq=seq,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def unpin(
        self,
        group: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Take a priority group from the client that it is pinned to: the next pull gets it (2.11,
        ADR-42).

        Raises:
            ConsumerNotFound: it is gone.
            InvalidRequest: no such group, or nobody is pinned.
        """
        described = self._pure.unpin(
            group,
            timeout=timeout,
        )
        return await self._nc.run(described)

    async def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
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
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return await self._nc.run(described)

    def fetch(
        self,
        max_messages: int | None = None,
        *,
        max_bytes: int | None = None,
        mode: FetchMode = FetchMode.WAIT,
        expires: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
        idle_heartbeat: float | timedelta | None = None,
        heartbeat_factor: float = 2.0,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        pin: str = "",
        acking: AckOptions = UNKNOWN,
    ) -> Feed[AsyncMessage, Fetch[JsMessage]]:
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
        described = self._pure.fetch(
            max_messages,
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
            acking=acking,
        )
        return self._nc.stream(described)

    async def next(
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
    ) -> AsyncMessage:
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
        described = self._pure.next(
            timeout=timeout,
            mode=mode,
            group=group,
            min_pending=min_pending,
            min_ack_pending=min_ack_pending,
            priority=priority,
            pin=pin,
            acking=acking,
        )
        return await self._nc.run(described)

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
        heartbeat_factor: float = 2.0,
        on_deleted: OnDeleted = OnDeleted.END,
        watch_gaps: bool = False,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: AckOptions = UNKNOWN,
    ) -> Feed[AsyncMessage, Consume[JsMessage]]:
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
        described = self._pure.consume(
            max_messages,
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
        return self._nc.stream(described)

    def ack_next(
        self,
        *,
        stop_after: int | None = None,
        expires: float | timedelta = 30.0,
        idle_heartbeat: float | timedelta | None = None,
        heartbeat_factor: float = 2.0,
        on_deleted: OnDeleted = OnDeleted.END,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
        acking: AckOptions = UNKNOWN,
    ) -> Feed[AsyncMessage, AckNext[JsMessage]]:
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
        described = self._pure.ack_next(
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
        return self._nc.stream(described)

    def subscribe(
        self,
        *,
        queue: str = "",
        heartbeat_factor: float = 3.0,
        watch_gaps: bool = True,
        auto_ack: bool = False,
        raw: bool = False,
        max_messages: int = 65536,
        max_bytes: int = 67108864,
        policy: Overflow = Overflow.DROP_NEWEST,
        timeout: float | timedelta | None = None,
    ) -> Feed[AsyncMessage, PushSubscription[JsMessage]]:
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
        described = self._pure.subscribe(
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
        return self._nc.stream(described)

    @property
    def next_subject(self) -> str:
        """Where its pulls are published."""
        return self._pure.next_subject
