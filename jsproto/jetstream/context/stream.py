"""The handle of a stream: publishing, administration, consumers, reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Unpack, cast, final

from attrs import evolve, field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.diff import Difference
from jsproto.jetstream.api.config.enums import AckPolicy, ConsumerAction
from jsproto.jetstream.api.config.settings import (
    ConsumerSettings,
    OrderedSettings,
    StreamSettings,
    configured,
    seconds_of,
)
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.publishing.fast_ingest import GapMode
from jsproto.jetstream.api.publishing.options import PublishOptions, PublishSettings, asked_for
from jsproto.jetstream.api.publishing.puback import PubAck
from jsproto.jetstream.api.requests import cluster, maintenance, manage
from jsproto.jetstream.api.requests.maintenance import Purge
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.requests.publish import DEFAULT_RETRIES, DEFAULT_RETRY_WAIT, publish
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.api.validation.publish_rules import (
    check_batching,
    check_publish,
    check_window,
    refuse,
)
from jsproto.jetstream.context.consumer import Consumer
from jsproto.jetstream.context.messages import StoredMessages
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import SourceKind
from jsproto.jetstream.publish.batch import IDLE, BatchPublish, WholeBatch
from jsproto.jetstream.publish.batch_rules import MOST_MESSAGES
from jsproto.jetstream.publish.fast_ingest import FLOW, QUIET, FastIngest
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.range_read.options import BYTES, MESSAGES, RangeOptions, ReadMode
from jsproto.jetstream.range_read.options import PATIENCE as STALLED_AFTER
from jsproto.jetstream.range_read.plan import RangeFacts, RangePlan, plan_of
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.stored.snapshot import MAX_BYTES, PATIENCE, Snapshot
from jsproto.wire.commands import Publish
from jsproto.wire.headers import HeaderItems
from jsproto.wire.subjects import consumer_name, stream_name

if TYPE_CHECKING:
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - never resolved


@final
@frozen(kw_only=True)
class Stream:
    """A stream by its name.

    Attributes:
        js: API prefix and default timeout.
        name: its name.
        cached: the stream info when the handle was made, ``None`` if it was not requested.
    """

    js: JetStream
    name: str
    cached: StreamInfo | None = field(default=None, eq=False, repr=False)

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

        def steps() -> Steps[PubAck]:
            asked = asked_for(options, cast("Mapping[str, object]", settings))
            if asked.expected_stream is None and asked.incr is None:
                asked = evolve(asked, expected_stream=self.name)
            self._check(subject, payload, asked, headers)
            seconds = seconds_of(timeout, self.js.timeout)
            return publish(
                subject,
                payload,
                headers=headers,
                options=asked,
                timeout=seconds,
                retries=retries,
                retry_wait=retry_wait,
            )

        return Procedure(steps)

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
        if self.cached is not None:
            refuse(check_window(self.cached.config), self.name)
        return self.js.publish_window(
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

    def publish_batch(
        self,
        messages: Iterable[Publish | tuple[str, bytes]],
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        timeout: float | timedelta | None = None,
    ) -> WholeBatch:
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
        self._batching()
        return self.js.publish_batch(messages, batch_id=batch_id, limit=limit, timeout=timeout)

    def batch(
        self,
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        idle: float | timedelta = IDLE,
        timeout: float | timedelta | None = None,
        eob: bool = False,
    ) -> BatchPublish:
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
        self._batching()
        return self.js.batch(batch_id=batch_id, limit=limit, idle=idle, timeout=timeout, eob=eob)

    def ingest(
        self,
        *,
        gaps: GapMode | str = GapMode.FAIL,
        flow: int = FLOW,
        batch_id: str | None = None,
        timeout: float | timedelta | None = None,
        quiet: float | timedelta = QUIET,
    ) -> FastIngest:
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
        self._batching(fast=True)
        return self.js.ingest(gaps=gaps, flow=flow, batch_id=batch_id, timeout=timeout, quiet=quiet)

    def _batching(self, *, fast: bool = False) -> None:
        if self.cached is not None:
            refuse(check_batching(self.cached.config, fast=fast), self.name)

    def _check(
        self, subject: str, payload: bytes | str, asked: PublishOptions, headers: HeaderItems
    ) -> None:
        """Reject what the stream would reject, if its configuration is known."""
        if self.cached is not None:
            block = asked.headers(headers)
            refuse(
                check_publish(self.cached.config, subject, payload, asked, headers=block), self.name
            )

    # ------------------------------------------------------------------ administration

    def info(
        self,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StreamInfo]:
        """Return configuration and state.

        Args:
            subjects_filter: also count the messages of each matching subject.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; more than 100,000 matching subjects need several.

        Raises:
            StreamNotFound: the stream is gone.
        """
        return self.js.stream_info(
            self.name,
            subjects_filter=subjects_filter,
            deleted_details=deleted_details,
            timeout=timeout,
        )

    def change(
        self, *, timeout: float | timedelta | None = None, **settings: Unpack[StreamSettings]
    ) -> Procedure[Stream]:
        """Read the configuration, change some settings, and write all of it back.

        Args:
            timeout: seconds for each of the two requests.
            settings: fields of `StreamConfig`.

        Raises:
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server rejects the configuration; the text says why.
            InvalidConfig: a setting that cannot work.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        changes = cast("Mapping[str, object]", settings)

        def steps() -> Steps[Stream]:
            info = yield from manage.change_stream(js.api, self.name, changes, timeout=seconds)
            return evolve(self, cached=info)

        return Procedure(steps)

    def delete(self, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Delete the stream with its consumers and messages.

        Raises:
            StreamNotFound: the stream is gone already.
        """
        return self.js.delete_stream(self.name, timeout=timeout)

    def purge(
        self,
        *,
        filter_subject: str = "",
        seq: int | None = None,
        keep: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> Procedure[int]:
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
        seconds = seconds_of(timeout, self.js.timeout)
        wishes = Purge(filter_subject, seq, keep)
        return Procedure(
            lambda: maintenance.purge_stream(self.js.api, self.name, wishes, timeout=seconds)
        )

    def seal(self, *, timeout: float | timedelta | None = None) -> Procedure[Stream]:
        """Seal the stream for good: nothing can be stored, deleted or changed any more.

        Raises:
            StreamNotFound: the stream is gone.
            ConfigurationRefused: the server cannot seal it; the text says why.
        """
        return self.change(sealed=True, timeout=timeout)

    def copy(
        self, *, timeout: float | timedelta | None = None, **settings: Unpack[StreamSettings]
    ) -> Procedure[Stream]:
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
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        changes = cast("Mapping[str, object]", settings)
        if stream_name(settings.get("name", self.name)) == self.name:
            raise InvalidConfig(f"expected another name for the copy, got {self.name!r}")

        def steps() -> Steps[Stream]:
            info = yield from maintenance.copy_stream(js.api, self.name, changes, timeout=seconds)
            return evolve(self, name=info.config.name, cached=info)

        return Procedure(steps)

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
            StreamNotFound: the stream is gone.
            RequestTimeout: no new leader in time.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(
            lambda: cluster.step_down_stream(
                js.api, self.name, placement=placement, wait=wait, timeout=seconds
            )
        )

    def remove_peer(
        self, peer: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Remove a server from the stream's group at once; another server replaces it.

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            CannotServe: the server is in no cluster.
            JetStreamError: the server is not in the group, or no other can replace it.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(lambda: cluster.remove_peer(js.api, self.name, peer, timeout=seconds))

    def evacuate_peer(
        self, peer: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Copy a server's replica to another server, then remove the first from the group (2.15).

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            CannotServe: the server is in no cluster.
            JetStreamError: the server is not in the group, or no other can replace it.
            RequestTimeout: servers before 2.15.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(lambda: cluster.evacuate_peer(js.api, self.name, peer, timeout=seconds))

    def cancel_move(self, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Cancel an unfinished change of the stream's group, such as a move (2.15).

        Raises:
            CannotServe: the server is in no cluster.
            StreamNotFound: the stream is gone.
            JetStreamError: the group is not being changed.
            RequestTimeout: servers before 2.15; `Meta.cancel_move` works with all versions.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(lambda: cluster.cancel_stream_move(js.api, self.name, timeout=seconds))

    def snapshot(
        self,
        *,
        consumers: bool = True,
        chunk_size: int = 0,
        window_size: int = 0,
        check: bool = False,
        patience: float | timedelta = PATIENCE,
        max_bytes: int = MAX_BYTES,
    ) -> Snapshot:
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
        return Snapshot(
            self.js.api,
            self.name,
            consumers=consumers,
            chunk_size=chunk_size,
            window_size=window_size,
            check=check,
            patience=patience,
            max_bytes=max_bytes,
        )

    @property
    def messages(self) -> StoredMessages:
        """The handle of its stored messages."""
        known = None if self.cached is None else self.cached.config
        return StoredMessages(stream=self, direct=known is not None and bool(known.allow_direct))

    # ------------------------------------------------------------------ consumers

    def consumer(self, name: str) -> Consumer:
        """Return a handle of a consumer by its name, without a request to the server.

        So the handle does not know the consumer's ack policy, and assumes explicit. If the policy
        is none, the client sends an ack that no server reads, and the call returns ``True``: a
        delivery does not show the policy. ``refresh`` returns a handle that knows it. That sends a
        CONSUMER.INFO request, which needs a permission that reading does not need.
        ``AckOptions(policy="none")`` sets the policy without a request.

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
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
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
        return self._put(
            ConsumerAction.CREATE,
            config,
            settings,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
        )

    def update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
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
        return self._put(
            ConsumerAction.UPDATE,
            config,
            settings,
            pedantic=pedantic,
            strict=strict,
            timeout=timeout,
        )

    def create_or_update_consumer(
        self,
        config: ConsumerConfig | None = None,
        *,
        pedantic: bool = False,
        strict: bool = False,
        compare: bool = False,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[Consumer]:
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
        made, seconds = self._wished(config, settings), seconds_of(timeout, self.js.timeout)
        return self._consumer(
            lambda: manage.create_or_update_consumer(
                self.js.api,
                self.name,
                made,
                pedantic=pedantic,
                strict=strict,
                compare=compare,
                timeout=seconds,
            )
        )

    def consumer_names(
        self, *, timeout: float | timedelta | None = None
    ) -> Procedure[Listing[str]]:
        """Return the names of all consumers of the stream."""
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(lambda: manage.consumer_names(self.js.api, self.name, timeout=seconds))

    def consumers(
        self, *, timeout: float | timedelta | None = None
    ) -> Procedure[Listing[ConsumerInfo]]:
        """Return all consumers of the stream.

        Consumers whose state the cluster cannot tell now are in ``missing`` or ``offline``.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(lambda: manage.consumers(self.js.api, self.name, timeout=seconds))

    # ------------------------------------------------------------------ reading in order

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
    ) -> OrderedConsumer[JsMessage]:
        """Read the stored messages, then the new ones, each once and in order.

        `JetStream.ordered_consumer` explains the arguments.

        Raises:
            InvalidConfig: a setting that ordered consumers cannot have or that cannot work; nothing
                was sent.
            StreamNotFound: raised on reading: the stream does not exist, or was deleted.
            ConfigurationRefused: raised on reading: the server rejects the configuration.
        """
        return self.js.ordered_consumer(
            self.name,
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
    ) -> OrderedConsumer[JsMessage]:
        """Read the messages that are stored now, each once and in order: a feed that ends.

        `JetStream.ordered_consumer` explains the arguments.

        Raises:
            InvalidConfig: a setting that ordered consumers cannot have or that cannot work; nothing
                was sent.
            StreamNotFound: raised on reading: the stream does not exist, or was deleted.
            ConfigurationRefused: raised on reading: the server rejects the configuration.
        """
        return self.js.ordered_consumer(
            self.name,
            form=form,
            max_messages=max_messages,
            max_bytes=max_bytes,
            expires=expires,
            idle_heartbeat=idle_heartbeat,
            until_caught_up=True,
            name_prefix=name_prefix,
            timeout=timeout,
            config=config,
            **settings,
        )

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
        max_messages: int = MESSAGES,
        max_bytes: int = BYTES,
        patience: float | timedelta = STALLED_AFTER,
        name_prefix: str = "",
        timeout: float | timedelta | None = None,
    ) -> RangeReader:
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
        options = RangeOptions(
            lo=lo,
            hi=hi,
            subjects=subjects,
            way=way,
            created=created,
            fail_on_loss=fail_on_loss,
            headers_only=headers_only,
            max_messages=max_messages,
            max_bytes=max_bytes,
            patience=patience,
            create_timeout=seconds_of(timeout, self.js.timeout),
            name_prefix=name_prefix,
        )
        return RangeReader(self.js.api, self.name, options)

    def plan_range(
        self,
        *,
        lo: int | None = None,
        hi: int | None = None,
        partitions: int = 1,
        max_messages: int = 0,
        way: ReadMode = ReadMode.AUTO,
        timeout: float | timedelta | None = None,
    ) -> Procedure[RangePlan]:
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
        seconds = seconds_of(timeout, self.js.timeout)

        def steps() -> Steps[RangePlan]:
            info = yield from manage.stream_info(self.js.api, self.name, timeout=seconds)
            return plan_of(
                RangeFacts.of(info),
                lo=lo,
                hi=hi,
                partitions=partitions,
                max_messages=max_messages,
                way=way,
            )

        return Procedure(steps)

    def consumer_drift(
        self,
        config: ConsumerConfig | None = None,
        *,
        timeout: float | timedelta | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> Procedure[tuple[Difference, ...]]:
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
        wanted = configured(ConsumerConfig, config, settings)
        seconds = seconds_of(timeout, self.js.timeout)
        maintenance.named(wanted)
        return Procedure(
            lambda: maintenance.consumer_drift(self.js.api, self.name, wanted, timeout=seconds)
        )

    def _put(
        self,
        action: ConsumerAction,
        config: ConsumerConfig | None,
        settings: ConsumerSettings,
        *,
        pedantic: bool,
        strict: bool,
        timeout: float | timedelta | None,
    ) -> Procedure[Consumer]:
        made, seconds = self._wished(config, settings), seconds_of(timeout, self.js.timeout)
        return self._consumer(
            lambda: manage.create_consumer(
                self.js.api,
                self.name,
                made,
                action=action,
                pedantic=pedantic,
                strict=strict,
                timeout=seconds,
            )
        )

    @staticmethod
    def _wished(config: ConsumerConfig | None, settings: ConsumerSettings) -> ConsumerConfig:
        made = configured(ConsumerConfig, config, settings)
        return made if made.ack_policy is not None else made.evolve(ack_policy=AckPolicy.EXPLICIT)

    def _consumer(self, asking: Callable[[], Steps[ConsumerInfo]]) -> Procedure[Consumer]:
        def steps() -> Steps[Consumer]:
            info = yield from asking()
            return Consumer(stream=self, name=info.name, cached=info)

        return Procedure(steps)
