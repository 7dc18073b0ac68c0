"""JetStream with plain calls: written by ``_client/generate.py`` from `jsproto.jetstream.context`. Do not edit."""

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
from jsproto_io._client.signatures import show_settings
from jsproto_io._sync_client.messages import SyncMessage

if TYPE_CHECKING:
    from jsproto_io._sync_client.client import SyncClient
    from jsproto_io._sync_client.feed import Feed
    from jsproto_io._sync_client.sink import Sink


@final
class SyncJetStream:
    """JetStream of one account and domain."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: JetStream) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

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

    def publish(
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
        return self._nc.run(described)

    def publish_once(
        self,
        subject: str,
        payload: bytes | str = b"",
        *,
        headers: HeaderItems = (),
        options: PublishOptions | None = None,
        patience: RetryPolicy | None = None,
        **settings: Unpack[PublishSettings],
    ) -> PubAck:
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
        described = self._pure.publish_once(
            subject,
            payload,
            headers=headers,
            options=options,
            patience=patience,
            **settings,
        )
        return self._nc.run(described)

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
    ) -> PubAck:
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
        described = self._pure.relay(
            message,
            subject,
            payload,
            headers=headers,
            options=options,
            patience=patience,
            **settings,
        )
        return self._nc.run(described)

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

    def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        timeout: float | timedelta | None = None,
        retries: int = 2,
        retry_wait: float | timedelta = 0.25,
    ) -> PubAck:
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
        described = self._pure.publish_batch(
            messages,
            batch_id=batch_id,
            limit=limit,
            timeout=timeout,
            retries=retries,
            retry_wait=retry_wait,
        )
        return self._nc.run(described)

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
        described = self._pure.ingest(
            gaps=gaps,
            flow=flow,
            batch_id=batch_id,
            timeout=timeout,
            quiet=quiet,
        )
        return self._nc.sink(described)

    def confirm(
        self,
        message: JsMessage,
        verb: Verb = ACK,
        *,
        timeout: float | timedelta | None = None,
    ) -> bool:
        """Settle a message and wait for the server's confirmation (double ack).

        ``False`` means that nothing was sent: the message is settled already or needs no ack.

        Raises:
            RequestTimeout: no confirmation in time; the message can be settled again.
            NoResponders: the consumer is gone, or uses no acks.
            ConnectionLost: the link was lost before the confirmation.
        """
        described = self._pure.confirm(
            message,
            verb,
            timeout=timeout,
        )
        return self._nc.run(described)

    def dead_letter(
        self,
        event: MessageFate,
        subject: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> PubAck:
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
        described = self._pure.dead_letter(
            event,
            subject,
            timeout=timeout,
        )
        return self._nc.run(described)

    def account_info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> AccountInfo:
        """Return usage and limits of the account.

        Raises:
            JetStreamNotEnabled: JetStream is off, or the domain does not exist.
        """
        described = self._pure.account_info(
            timeout=timeout,
        )
        return self._nc.run(described)

    @property
    def meta(self) -> SyncMeta:
        """Operations on the group of all JetStream servers, for the system account."""
        return SyncMeta(self._nc, self._pure.meta)

    @property
    def system(self) -> SyncSystem:
        """Requests to the servers themselves, for the system account."""
        return SyncSystem(self._nc, self._pure.system)

    def stream(
        self,
        name: str,
    ) -> SyncStream:
        """Return a handle of a stream by its name, without a request to the server.

        Raises:
            InvalidSubject: no stream can have this name.
        """
        described = self._pure.stream(
            name,
        )
        return SyncStream(self._nc, described)

    def create_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> SyncStream:
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
        described = self._pure.create_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> SyncStream:
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
        described = self._pure.update_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def create_or_update_stream(
        self,
        config: StreamConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> SyncStream:
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
        described = self._pure.create_or_update_stream(
            config,
            pedantic=pedantic,
            strict=strict,
            compare=compare,
            timeout=timeout,
            **settings,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def stream_info(
        self,
        stream: str,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StreamInfo:
        """Return configuration and state of a stream.

        Args:
            stream: its name.
            subjects_filter: also count the messages of each matching subject.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; more than 100,000 matching subjects need several.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        described = self._pure.stream_info(
            stream,
            subjects_filter=subjects_filter,
            deleted_details=deleted_details,
            timeout=timeout,
        )
        return self._nc.run(described)

    def delete_stream(
        self,
        stream: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete a stream with its consumers and messages.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        described = self._pure.delete_stream(
            stream,
            timeout=timeout,
        )
        return self._nc.run(described)

    def stream_names(
        self,
        *,
        subject: str = "",
        timeout: float | timedelta | None = None,
    ) -> Listing[str]:
        """Return the names of all streams, or of those that store ``subject``."""
        described = self._pure.stream_names(
            subject=subject,
            timeout=timeout,
        )
        return self._nc.run(described)

    def streams(
        self,
        *,
        subject: str = "",
        timeout: float | timedelta | None = None,
    ) -> Listing[StreamInfo]:
        """Return all streams, or those that store ``subject``.

        Streams whose state the cluster cannot tell now are in ``missing`` or ``offline``.
        """
        described = self._pure.streams(
            subject=subject,
            timeout=timeout,
        )
        return self._nc.run(described)

    def inventory(
        self,
        *,
        consumers: bool = True,
        timeout: float | timedelta | None = None,
    ) -> Inventory:
        """Return all streams and all consumers of each, the input of reports.

        Args:
            consumers: also list the consumers of each stream.
            timeout: seconds for each list, with all its pages.
        """
        described = self._pure.inventory(
            consumers=consumers,
            timeout=timeout,
        )
        return self._nc.run(described)

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
    ) -> Feed[SyncMessage, PushSubscription[JsMessage]]:
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

    def pull_subscribe(
        self,
        subject: str = "",
        *,
        stream: str = "",
        consumer: str = "",
        config: ConsumerConfig | None = None,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> SyncConsumer:
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
        described = self._pure.pull_subscribe(
            subject,
            stream=stream,
            consumer=consumer,
            config=config,
            timeout=timeout,
            **settings,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

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
    ) -> Feed[SyncMessage, OrderedConsumer[JsMessage]]:
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
        described = self._pure.restore(
            origin,
            patience=patience,
        )
        return self._nc.sink(described)

    def stream_by_subject(
        self,
        subject: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> SyncStream:
        """Return the stream that stores a subject.

        Raises:
            StreamNotFound: no stream stores it.
            AmbiguousSubject: several streams store it.
            InvalidSubject: the subject is invalid.
        """
        described = self._pure.stream_by_subject(
            subject,
            timeout=timeout,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def stream_drift(
        self,
        config: StreamConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> tuple[Difference, ...]:
        """Compare an existing stream with a configuration, and return the settings that differ.

        Args:
            config: the configuration to compare with; ``settings`` replace its fields, or stand
                alone.
            timeout: seconds.
            settings: fields of `StreamConfig`; missing settings are not compared.

        Raises:
            StreamNotFound: the stream does not exist.
        """
        described = self._pure.stream_drift(
            config,
            timeout=timeout,
            **settings,
        )
        return self._nc.run(described)


@final
class SyncMeta:
    """The group of all JetStream servers of a cluster."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: Meta) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

    @property
    def js(self) -> SyncJetStream:
        """As in `jsproto.jetstream.context.Meta`."""
        return SyncJetStream(self._nc, self._pure.js)

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
        """Make the leader step down; return the new leader's name, or ``""`` without ``wait``.

        Args:
            placement: the next leader: its name as ``preferred`` (2.11), or its cluster and tags.
            wait: whether to wait for a new leader.
            timeout: seconds for the whole operation.

        Raises:
            NoResponders: the user is not of the system account.
            ConfigurationRefused: no such server.
            RequestTimeout: no cluster, or no new leader in time.
        """
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return self._nc.run(described)

    def remove_server(
        self,
        server: str = "",
        *,
        peer_id: str = "",
        timeout: float | timedelta | None = None,
    ) -> None:
        """Remove a permanently lost server from the cluster; other servers replace its replicas.

        Args:
            server: the server's name.
            peer_id: its peer id, if the name is not known any more (2.10).
            timeout: seconds.

        Raises:
            RequestTimeout: the user is not of the system account, or there is no cluster.
            JetStreamError: no such server.
        """
        described = self._pure.remove_server(
            server,
            peer_id=peer_id,
            timeout=timeout,
        )
        return self._nc.run(described)

    def evacuate_server(
        self,
        server: str = "",
        *,
        peer_id: str = "",
        timeout: float | timedelta | None = None,
    ) -> None:
        """Move all replicas of a server to others; the server stays in the cluster, empty (2.15).

        Args:
            server: the server's name.
            peer_id: its peer id, instead of the name.
            timeout: seconds.

        Raises:
            JetStreamError: no such server.
            RequestTimeout: the user is not of the system account, or there is no cluster.
            RequestTimeout, JetStreamNotEnabled: servers before 2.15, which do not know this
                request.
        """
        described = self._pure.evacuate_server(
            server,
            peer_id=peer_id,
            timeout=timeout,
        )
        return self._nc.run(described)

    def move_stream(
        self,
        account: str,
        stream: str,
        *,
        server: str = "",
        cluster: str = "",
        tags: Sequence[str] = (),
        timeout: float | timedelta | None = None,
    ) -> None:
        """Move a stream away from a server, or to other servers by cluster or tags.

        An account may move its own streams.

        Args:
            account: the account of the stream.
            stream: its name.
            server: the server that the stream leaves; without a name the cluster chooses it.
            cluster: the cluster that the stream moves to.
            tags: tags of the servers that the stream moves to.
            timeout: seconds.

        Raises:
            NotFound: no such account or stream.
            ConfigurationRefused: no server can take the stream.
            JetStreamError: the server is unknown, or holds no replica of the stream.
            RequestTimeout: the user is neither of the system account nor of this one, or there is
                no cluster.
        """
        described = self._pure.move_stream(
            account,
            stream,
            server=server,
            cluster=cluster,
            tags=tags,
            timeout=timeout,
        )
        return self._nc.run(described)

    def cancel_move(
        self,
        account: str,
        stream: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Cancel the move of a stream; an account may cancel its own.

        Raises:
            NotFound: no such account or stream.
            JetStreamError: the stream is not being moved.
            RequestTimeout: the user is neither of the system account nor of this one, or there is
                no cluster.
        """
        described = self._pure.cancel_move(
            account,
            stream,
            timeout=timeout,
        )
        return self._nc.run(described)

    def purge_account(
        self,
        account: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete all streams of an account, even if the account does not exist any more.

        Raises:
            RequestTimeout: the user is not of the system account.
        """
        described = self._pure.purge_account(
            account,
            timeout=timeout,
        )
        return self._nc.run(described)


@final
class SyncSystem:
    """Requests to the servers. They answer the system account; other accounts only `user_info`."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: System) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

    @property
    def js(self) -> SyncJetStream:
        """As in `jsproto.jetstream.context.System`."""
        return SyncJetStream(self._nc, self._pure.js)

    def ask(
        self,
        what: str,
        *,
        server: str = "",
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Document], ...]:
        """Send any monitoring request: ``ROUTEZ``, ``LEAFZ``, ``RAFTZ`` and so on.

        Args:
            what: the name of the request, as the servers know it.
            server: the id of the only server to ask.
            options: members of the request, as the server names them; ``server_name``, ``cluster``,
                ``host``, ``domain`` and ``tags`` select the servers that answer.
            expect: number of servers that will answer; without it, silence ends the call.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account,
                or the servers do not know the request.
            ApiError: all servers answered with an error.
            InvalidSubject: an invalid name or id; nothing was sent.
        """
        described = self._pure.ask(
            what,
            server=server,
            options=options,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return self._nc.run(described)

    def statsz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Statsz], ...]:
        """Return the statistics of the servers; ``active_servers`` is the number of servers.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
        """
        described = self._pure.statsz(
            server=server,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return self._nc.run(described)

    def varz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Varz], ...]:
        """Return the general configuration and state of the servers.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
        """
        described = self._pure.varz(
            server=server,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return self._nc.run(described)

    def jsz(
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
        """Return JetStream's memory, storage and meta group; optionally accounts and their assets.

        Args:
            server: the id of the only server to ask.
            account: only this account.
            accounts: include accounts.
            streams: include streams.
            consumers: include consumers.
            config: include configurations.
            leader_only: only the meta leader answers.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
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
        return self._nc.run(described)

    def connz(
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
        """Return the client connections of the servers.

        Args:
            server: the id of the only server to ask.
            account: only connections of this account.
            subscriptions: include the subjects that each connection subscribes to.
            limit: the most connections of one answer; 0 for the server's default (1024).
            offset: number of connections to skip.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
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
        return self._nc.run(described)

    def healthz(
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
        """Return the health of the servers: ``status`` is ``ok``, or ``error`` says what is wrong.

        Args:
            server: the id of the only server to ask.
            account: the account of the stream.
            stream: check only this stream.
            consumer: check only this consumer of the stream.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
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
        return self._nc.run(described)

    def account(
        self,
        account: str,
        what: str = "INFO",
        *,
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = 0.3,
        timeout: float | timedelta | None = None,
    ) -> tuple[ServerAnswer[Document], ...]:
        """Return information on one account.

        Args:
            account: its name or key.
            what: ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ`` or ``LEAFZ``.
            options: members of the request, as the server names them.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
            InvalidSubject: an invalid request name or account; nothing was sent.
        """
        described = self._pure.account(
            account,
            what,
            options=options,
            expect=expect,
            stall=stall,
            timeout=timeout,
        )
        return self._nc.run(described)

    def user_info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> ServerAnswer[UserInfo]:
        """Return user, account and permissions of this connection; any account may ask (2.10).

        Raises:
            NoResponders, RequestTimeout: a server before 2.10.
        """
        described = self._pure.user_info(
            timeout=timeout,
        )
        return self._nc.run(described)


@final
class SyncStream:
    """A stream by its name."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: Stream) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

    @property
    def js(self) -> SyncJetStream:
        """As in `jsproto.jetstream.context.Stream`."""
        return SyncJetStream(self._nc, self._pure.js)

    @property
    def name(self) -> str:
        """As in `jsproto.jetstream.context.Stream`."""
        return self._pure.name

    @property
    def cached(self) -> StreamInfo | None:
        """As in `jsproto.jetstream.context.Stream`."""
        return self._pure.cached

    def publish(
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

        If the handle knows the configuration (``cached``), the client itself rejects what the
        stream would reject, and a stream without acknowledgements. If another client has changed
        the configuration, get a new handle.

        Args:
            subject: one of its subjects.
            payload: the message.
            headers: the message's own headers.
            options: what the stream must check or do; ``settings`` replace its fields, or stand
                alone.
            timeout: seconds for all attempts together.
            retries: number of further attempts after a 503 "no responders" (ADR-22).
            retry_wait: seconds between two attempts.
            settings: fields of `PublishOptions`; ``expected_stream`` is this stream, except for a
                counter, which has no expectations.

        Raises:
            NoResponders: no stream stores this subject.
            ExpectationFailed: an expectation does not hold; the class says which.
            JetStreamError: the stream rejects the message for another reason.
            RequestTimeout: no acknowledgement came; the message may be stored or not.
            ConnectionLost: the link was lost; the message may be stored or not.
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
        return self._nc.run(described)

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
        """Publish many messages to this stream: a sink like `JetStream.publish_window`.

        If the handle knows the configuration (``cached``), the client rejects a stream that is
        sealed or sends no acknowledgements. It does not check single messages.

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
            InvalidConfig: a limit, number or time that cannot work, or an unsuitable stream;
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

    def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        timeout: float | timedelta | None = None,
    ) -> PubAck:
        """Publish messages as one atomic batch of this stream; see `JetStream.publish_batch`.

        If the handle knows the configuration (``cached``), the client rejects a stream without
        ``allow_atomic``.

        Args:
            messages: the messages in order, made by `compose` or as ``(subject, payload)``.
            batch_id: name of the batch, at most 64 bytes; generated by default.
            limit: the most messages that the server allows in a batch.
            timeout: seconds to wait for each answer.

        Raises:
            InvalidBatch: the stream rejects this batch; nothing was stored.
            JetStreamError: the stream rejects a message for another reason; nothing was stored.
            RequestTimeout, ConnectionLost: the error says whether nothing was stored or the outcome
                is unknown.
            InvalidConfig, InvalidSubject: nothing was sent.
        """
        described = self._pure.publish_batch(
            messages,
            batch_id=batch_id,
            limit=limit,
            timeout=timeout,
        )
        return self._nc.run(described)

    def batch(
        self,
        *,
        batch_id: str | None = None,
        limit: int = 1000,
        idle: float | timedelta = 10.0,
        timeout: float | timedelta | None = None,
        eob: bool = False,
    ) -> Sink[PubAck, BatchPublish, ToPublish]:
        """Collect messages into an atomic batch of this stream; see `JetStream.batch`.

        If the handle knows the configuration (``cached``), the client rejects a stream without
        ``allow_atomic``.

        Args:
            batch_id: name of the batch, at most 64 bytes; generated by default.
            limit: the most messages that the server allows in a batch.
            idle: seconds without a message after which the server drops the batch.
            timeout: seconds to wait for each answer.
            eob: commit with a separate message, so that no message is held back until the next
                (2.14).

        Raises:
            BatchAbandoned: the server has dropped the batch; nothing was stored.
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
        """Publish many messages as fast as this stream stores them; see `JetStream.ingest`.

        If the handle knows the configuration (``cached``), the client rejects a stream without
        ``allow_batched``.

        Args:
            gaps: ``fail``: the first fault ends the batch, and what is stored has no gaps; ``ok``:
                the rest continues.
            flow: the most messages between two answers.
            batch_id: name of the batch, one token of at most 64 bytes; generated by default.
            timeout: seconds to wait for an answer.
            quiet: seconds of silence before the client pings the stream, which drops the batch
                after 10 s.

        Raises:
            JetStreamError: the stream rejects the first message.
            RequestTimeout, ConnectionLost: the error says how many messages are stored.
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

    def info(
        self,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StreamInfo:
        """Return configuration and state.

        Args:
            subjects_filter: also count the messages of each matching subject.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; more than 100,000 matching subjects need several.

        Raises:
            StreamNotFound: the stream is gone.
        """
        described = self._pure.info(
            subjects_filter=subjects_filter,
            deleted_details=deleted_details,
            timeout=timeout,
        )
        return self._nc.run(described)

    def change(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> SyncStream:
        """Read the configuration, change some settings, and write all of it back.

        Args:
            timeout: seconds for each of the two requests.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: a setting that cannot work.
        """
        described = self._pure.change(
            timeout=timeout,
            **settings,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def delete(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete the stream with its consumers and messages.

        Raises:
            StreamNotFound: the stream is gone already.
        """
        described = self._pure.delete(
            timeout=timeout,
        )
        return self._nc.run(described)

    def purge(
        self,
        *,
        filter_subject: str = "",
        seq: int | None = None,
        keep: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> int:
        """Delete all or some messages; return the number of deleted messages.

        Args:
            filter_subject: only messages of the subjects that match.
            seq: only messages before this sequence; excludes ``keep``.
            keep: number of newest matching messages to keep.
            timeout: seconds.

        Raises:
            StreamNotFound: the stream is gone.
            NotAllowed: the stream does not allow it, or is sealed.
            InvalidConfig: both ``seq`` and ``keep``, or a 0, with which the server would delete
                all.
        """
        described = self._pure.purge(
            filter_subject=filter_subject,
            seq=seq,
            keep=keep,
            timeout=timeout,
        )
        return self._nc.run(described)

    def seal(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> SyncStream:
        """Seal the stream for good: nothing can be stored, deleted or changed any more.

        Raises:
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server cannot seal it; the text says why.
        """
        described = self._pure.seal(
            timeout=timeout,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def copy(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[StreamSettings],
    ) -> SyncStream:
        """Create another stream with this configuration, without the messages.

        Args:
            timeout: seconds for each of the two requests.
            settings: fields of `StreamConfig` that differ. ``name`` must differ, and ``subjects``
                too, because streams cannot share subjects.

        Raises:
            StreamNotFound: the stream is gone.
            StreamExists: a different stream has the name of the copy.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the copy has no name of its own.
        """
        described = self._pure.copy(
            timeout=timeout,
            **settings,
        )
        return SyncStream(self._nc, self._nc.run(described))

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
        """Make the leader step down; return the new leader's name, or ``""`` without ``wait``.

        Args:
            placement: the next leader: its name as ``preferred`` (2.11), or its cluster and tags.
            wait: whether to wait for a new leader.
            timeout: seconds for the whole operation.

        Raises:
            CannotServe: the server is in no cluster.
            StreamNotFound: the stream is gone.
            RequestTimeout: no new leader in time.
        """
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return self._nc.run(described)

    def remove_peer(
        self,
        peer: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Remove a server from the stream's group at once; another server replaces it.

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            CannotServe: the server is in no cluster.
            JetStreamError: the server is not in the group, or no other can replace it.
        """
        described = self._pure.remove_peer(
            peer,
            timeout=timeout,
        )
        return self._nc.run(described)

    def evacuate_peer(
        self,
        peer: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Copy a server's replica to another server, then remove the first from the group (2.15).

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            CannotServe: the server is in no cluster.
            JetStreamError: the server is not in the group, or no other can replace it.
            RequestTimeout: servers before 2.15.
        """
        described = self._pure.evacuate_peer(
            peer,
            timeout=timeout,
        )
        return self._nc.run(described)

    def cancel_move(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Cancel an unfinished change of the stream's group, such as a move (2.15).

        Raises:
            CannotServe: the server is in no cluster.
            StreamNotFound: the stream is gone.
            JetStreamError: the group is not being changed.
            RequestTimeout: servers before 2.15; `Meta.cancel_move` works with all versions.
        """
        described = self._pure.cancel_move(
            timeout=timeout,
        )
        return self._nc.run(described)

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
        """Read the whole stream as chunks of an archive for a restore: a feed.

        A server of the same or a later version can restore the archive. The caller stores the
        chunks together with the feed's ``origin``. Up to ``max_bytes`` wait here for a slow caller.
        Beyond that the server waits for 5 s (2 s before 2.12) and gives up. The feed ends normally
        when the archive is complete. If it raises, the chunks are unusable.

        Args:
            consumers: whether to include the consumers.
            chunk_size: bytes of a chunk, 1 kB to 1 MB; 0 for the server's default (128 kB).
            window_size: the most bytes sent and not acknowledged, up to 32 MB; 0 for the server's
                default (8 MB; 2.12).
            check: whether the server first checks the stored data, which takes longer.
            patience: seconds to wait without a frame of the server.
            max_bytes: the most bytes of chunks buffered here or still on their way.

        Raises:
            StreamNotFound: the stream is gone.
            SnapshotBroken: the server ended the snapshot early.
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
    def messages(self) -> SyncStoredMessages:
        """The handle of its stored messages."""
        return SyncStoredMessages(self._nc, self._pure.messages)

    def consumer(
        self,
        name: str,
    ) -> SyncConsumer:
        """Return a handle of a consumer by its name, without a request to the server.

        So the handle does not know the consumer's ack policy, and assumes explicit. If the policy
        is none, the client sends an ack that no server reads, and the call returns ``True``: a
        delivery does not show the policy. ``refresh`` returns a handle that knows it. That sends a
        CONSUMER.INFO request, which needs a permission that reading does not need.
        ``AckOptions(policy="none")`` sets the policy without a request.

        Raises:
            InvalidSubject: no consumer can have this name.
        """
        described = self._pure.consumer(
            name,
        )
        return SyncConsumer(self._nc, described)

    def create_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> SyncConsumer:
        """Create a consumer; succeeds too if it exists with the same configuration.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`. The default ``ack_policy`` is explicit; the
                server's own default is none.

        Raises:
            ConsumerExists: the consumer exists with another configuration.
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        described = self._pure.create_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

    def update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> SyncConsumer:
        """Replace the configuration of a consumer; missing settings get the defaults.

        The defaults are those of ``create_consumer``. To edit single settings, use ``change`` of
        the handle.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            timeout: seconds.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerNotFound: the consumer does not exist.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        described = self._pure.update_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
            **settings,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

    def create_or_update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> SyncConsumer:
        """Update a consumer, or create it if it does not exist.

        Args:
            config: the configuration; ``settings`` replace its fields, or stand alone.
            pedantic: the server rejects settings that it would otherwise adjust (2.11).
            strict: raise `ConfigIgnored` if the server ignored a setting.
            compare: read the old configuration first; ``cached.changed`` of the handle then lists
                the settings that changed.
            timeout: seconds for each request.
            settings: fields of `ConsumerConfig`.

        Raises:
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: the configuration cannot work; nothing was sent.
        """
        described = self._pure.create_or_update_consumer(
            config,
            pedantic=pedantic,
            strict=strict,
            compare=compare,
            timeout=timeout,
            **settings,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

    def consumer_names(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Listing[str]:
        """Return the names of all consumers of the stream."""
        described = self._pure.consumer_names(
            timeout=timeout,
        )
        return self._nc.run(described)

    def consumers(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Listing[ConsumerInfo]:
        """Return all consumers of the stream.

        Consumers whose state the cluster cannot tell now are in ``missing`` or ``offline``.
        """
        described = self._pure.consumers(
            timeout=timeout,
        )
        return self._nc.run(described)

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
    ) -> Feed[SyncMessage, OrderedConsumer[JsMessage]]:
        """Read the stored messages, then the new ones, each once and in order.

        `JetStream.ordered_consumer` explains the arguments.

        Raises:
            InvalidConfig: a setting that ordered consumers cannot have or that cannot work; nothing
                was sent.
            StreamNotFound: raised on reading: the stream does not exist, or was deleted.
            ConfigurationRefused: raised on reading: the server rejects the configuration.
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
    ) -> Feed[SyncMessage, OrderedConsumer[JsMessage]]:
        """Read the messages that are stored now, each once and in order: a feed that ends.

        `JetStream.ordered_consumer` explains the arguments.

        Raises:
            InvalidConfig: a setting that ordered consumers cannot have or that cannot work; nothing
                was sent.
            StreamNotFound: raised on reading: the stream does not exist, or was deleted.
            ConfigurationRefused: raised on reading: the server rejects the configuration.
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
        """Read the messages of a range of sequences, each once and in order: a feed of `Rows`.

        Before it ends, the client verifies that it has all messages of the range. It acknowledges
        nothing, and leaves no consumer on the server. A lost link or consumer only causes a delay.

        Args:
            lo: the first sequence.
            hi: the first sequence after the range; at most the stream's last sequence plus one.
            subjects: only messages of subjects that match one of these; none for all.
            way: by a consumer or by direct gets. `ReadMode.AUTO` uses a consumer, but direct gets
                on a work queue.
            created: creation time of the stream, if it must be exactly that stream.
            fail_on_loss: whether the feed fails if messages were removed before they were read, or
                only reports them.
            headers_only: omit payloads. A consumer then sends the size in a last header
                ``Nats-Msg-Size``; direct gets return payloads nevertheless.
            max_messages: the most messages requested and buffered.
            max_bytes: the most bytes requested and buffered, as the server counts them.
            patience: seconds without progress after which it fails.
            name_prefix: prefix of the consumers' names on the server.
            timeout: seconds to wait for the answer to each request.

        Raises:
            InvalidConfig: arguments that cannot work; nothing was sent.
            StreamNotFound: raised on reading: the stream does not exist.
            StreamRecreated: raised on reading: the stream's creation time is not ``created``.
            DataLost: raised on reading: messages were removed before they were read.
            DirectUnavailable: raised on reading: the mode is direct gets, and the stream does not
                allow them.
            ConfigIgnored: raised on reading: the server is too old for several subjects.
            ReadStalled: raised on reading: no progress for ``patience`` seconds.
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

    def plan_range(
        self,
        *,
        lo: int | None = None,
        hi: int | None = None,
        partitions: int = 1,
        max_messages: int = 0,
        way: ReadMode = ReadMode.AUTO,
        timeout: float | timedelta | None = None,
    ) -> RangePlan:
        """Split the stored messages into ranges for `read_range`.

        The parts can be read in any process, at any time, and again.

        Args:
            lo: the first sequence; by default, and at least, the stream's first.
            hi: the first sequence after the end; by default, and at most, the stream's last plus
                one.
            partitions: the least number of parts, if there are enough sequences.
            max_messages: the most sequences in one part; 0 for no limit.
            way: how to read.
            timeout: seconds.

        Raises:
            StreamNotFound: the stream does not exist.
            InvalidConfig: invalid numbers, or a mode that the stream does not allow.
        """
        described = self._pure.plan_range(
            lo=lo,
            hi=hi,
            partitions=partitions,
            max_messages=max_messages,
            way=way,
            timeout=timeout,
        )
        return self._nc.run(described)

    def consumer_drift(
        self,
        config: ConsumerConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> tuple[Difference, ...]:
        """Compare an existing consumer with a configuration, and return the settings that differ.

        Args:
            config: the configuration to compare with; ``settings`` replace its fields, or stand
                alone.
            timeout: seconds.
            settings: fields of `ConsumerConfig`; missing settings are not compared.

        Raises:
            ConsumerNotFound: the consumer does not exist.
            InvalidConfig: the configuration has no name.
        """
        described = self._pure.consumer_drift(
            config,
            timeout=timeout,
            **settings,
        )
        return self._nc.run(described)


@final
class SyncStoredMessages:
    """The messages of a stream, read and deleted by sequence, subject or time."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: StoredMessages) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

    @property
    def stream(self) -> SyncStream:
        """As in `jsproto.jetstream.context.StoredMessages`."""
        return SyncStream(self._nc, self._pure.stream)

    @property
    def direct(self) -> bool:
        """As in `jsproto.jetstream.context.StoredMessages`."""
        return self._pure.direct

    def by_seq(
        self,
        seq: int,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """Get the message with a sequence.

        Raises:
            MessageNotFound: no such message, or it was deleted.
            NoResponders: the stream does not allow direct gets.
            InvalidConfig: an invalid sequence, or ``no_headers`` together with ``direct``.
        """
        described = self._pure.by_seq(
            seq,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return self._nc.run(described)

    def last(
        self,
        subject: str,
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """Get the last message of a subject, or of all subjects that match.

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidSubject: the subject is invalid.
            InvalidConfig: ``no_headers`` together with ``direct``.
        """
        described = self._pure.last(
            subject,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return self._nc.run(described)

    def next(
        self,
        subject: str = ">",
        *,
        seq: int = 1,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """Get the first message from a sequence on, of the subjects that match.

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidSubject: the subject is invalid.
            InvalidConfig: an invalid sequence, or ``no_headers`` together with ``direct``.
        """
        described = self._pure.next(
            subject,
            seq=seq,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return self._nc.run(described)

    def since(
        self,
        start_time: datetime | Timestamp,
        subject: str = ">",
        *,
        direct: bool | None = None,
        no_headers: bool = False,
        timeout: float | timedelta | None = None,
    ) -> StoredMessage:
        """Get the first message stored at a time or later, of the subjects that match (2.11).

        Raises:
            MessageNotFound: no such message.
            NoResponders: the stream does not allow direct gets.
            InvalidResponse: the server does not know a start time (before 2.11).
            InvalidSubject: the subject is invalid.
            InvalidConfig: a ``datetime`` without a time zone, or ``no_headers`` with ``direct``.
        """
        described = self._pure.since(
            start_time,
            subject,
            direct=direct,
            no_headers=no_headers,
            timeout=timeout,
        )
        return self._nc.run(described)

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
        """Get many messages by direct gets, page by page: a feed that ends (ADR-31).

        It ends when no message is pending. The stream must allow direct gets. From servers before
        2.11 the client gets one message at a time.

        Args:
            seq: the first sequence.
            start_time: the earliest time (2.11); excludes ``seq``.
            subject: only subjects that match.
            limit: the most messages in total, 0 for no limit.
            page: the most messages of one page.
            page_bytes: the most bytes of one page, as the server counts them.
            timeout: seconds to wait for the next frame of the server.

        Raises:
            NoResponders: the stream does not exist, or does not allow direct gets.
            RequestTimeout: the server fell silent; messages that came before are returned first.
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
        """Get the last message of each subject that matches, now or at an earlier point: a feed.

        The messages come in the order of their sequences. The server answers for at most 1024
        subjects. From servers before 2.11 the client gets each subject separately.

        Args:
            subjects: subjects, with or without wildcards.
            seq: the first sequence.
            up_to_seq: answer as if this were the stream's last sequence (2.11).
            up_to_time: answer as of this time (2.11); excludes ``up_to_seq``.
            limit: the most messages in total, 0 for no limit.
            page: the most messages of one page.
            page_bytes: the most bytes of one page, as the server counts them.
            timeout: seconds to wait for the next frame of the server.

        Raises:
            TooManyResults: more subjects match than the server answers for; an ordered consumer can
                read them all.
            NoResponders: the stream does not exist, or does not allow direct gets.
            RequestTimeout: the server fell silent; messages that came before are returned first.
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

    def delete(
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
            MessageNotFound: no such message.
            NotAllowed: the stream does not allow it, or is sealed.
            InvalidConfig: an invalid sequence.
        """
        described = self._pure.delete(
            seq,
            erase=erase,
            timeout=timeout,
        )
        return self._nc.run(described)


@final
class SyncConsumer:
    """A consumer by its name."""

    __slots__ = ("_nc", "_pure")

    def __init__(self, nc: SyncClient, pure: Consumer) -> None:
        self._nc = nc
        self._pure = pure

    def __repr__(self) -> str:
        return f"Sync{self._pure!r}"

    @property
    def stream(self) -> SyncStream:
        """As in `jsproto.jetstream.context.Consumer`."""
        return SyncStream(self._nc, self._pure.stream)

    @property
    def name(self) -> str:
        """As in `jsproto.jetstream.context.Consumer`."""
        return self._pure.name

    @property
    def cached(self) -> ConsumerInfo | None:
        """As in `jsproto.jetstream.context.Consumer`."""
        return self._pure.cached

    def info(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> ConsumerInfo:
        """Return configuration and progress.

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        described = self._pure.info(
            timeout=timeout,
        )
        return self._nc.run(described)

    def refresh(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> SyncConsumer:
        """Request the consumer info, and return a handle that knows it.

        Feeds of that handle keep within the limits of the consumer.

        Args:
            timeout: seconds.

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        described = self._pure.refresh(
            timeout=timeout,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

    def change(
        self,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> SyncConsumer:
        """Read the configuration, change some settings, and write all of it back.

        Args:
            timeout: seconds for each of the two requests.
            settings: fields of `ConsumerConfig`.

        Raises:
            ConsumerNotFound: the consumer is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: a setting that cannot work.
        """
        described = self._pure.change(
            timeout=timeout,
            **settings,
        )
        return SyncConsumer(self._nc, self._nc.run(described))

    def delete(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Delete the consumer.

        Raises:
            ConsumerNotFound: the consumer is gone already.
        """
        described = self._pure.delete(
            timeout=timeout,
        )
        return self._nc.run(described)

    def pause(
        self,
        until: datetime | Timestamp,
        *,
        timeout: float | timedelta | None = None,
    ) -> Pause:
        """Pause deliveries until a time (2.11); messages delivered before stay with the readers.

        Args:
            until: when the deliveries resume.
            timeout: seconds.

        Raises:
            ConsumerNotFound: the consumer is gone.
            InvalidConfig: a ``datetime`` without a time zone.
        """
        described = self._pure.pause(
            until,
            timeout=timeout,
        )
        return self._nc.run(described)

    def resume(
        self,
        *,
        timeout: float | timedelta | None = None,
    ) -> Pause:
        """Resume the deliveries now (2.11).

        Raises:
            ConsumerNotFound: the consumer is gone.
        """
        described = self._pure.resume(
            timeout=timeout,
        )
        return self._nc.run(described)

    def reset(
        self,
        *,
        seq: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> ConsumerInfo:
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
        described = self._pure.reset(
            seq=seq,
            timeout=timeout,
        )
        return self._nc.run(described)

    def unpin(
        self,
        group: str,
        *,
        timeout: float | timedelta | None = None,
    ) -> None:
        """Unpin the client of a priority group; the next pull is pinned (2.11, ADR-42).

        Raises:
            ConsumerNotFound: the consumer is gone.
            InvalidRequest: no such group, or no client is pinned.
        """
        described = self._pure.unpin(
            group,
            timeout=timeout,
        )
        return self._nc.run(described)

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> str:
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
        described = self._pure.step_down(
            placement=placement,
            wait=wait,
            timeout=timeout,
        )
        return self._nc.run(described)

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
    ) -> Feed[SyncMessage, Fetch[JsMessage]]:
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
    ) -> SyncMessage:
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
        return self._nc.run(described)

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
    ) -> Feed[SyncMessage, Consume[JsMessage]]:
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
    ) -> Feed[SyncMessage, AckNext[JsMessage]]:
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
    ) -> Feed[SyncMessage, PushSubscription[JsMessage]]:
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
        """The subject of its pull requests."""
        return self._pure.next_subject


show_settings(SyncJetStream, SyncStream, SyncConsumer)
