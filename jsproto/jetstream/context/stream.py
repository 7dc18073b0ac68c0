"""A stream by its name: its care, and the consumers there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Unpack, cast, final

from attrs import evolve, field, frozen

from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.errors import InvalidConfig
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
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - nobody resolves the field's type


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
        self._batching(fast=True)
        return self.js.ingest(gaps=gaps, flow=flow, batch_id=batch_id, timeout=timeout, quiet=quiet)

    def _batching(self, *, fast: bool = False) -> None:
        if self.cached is not None:
            refuse(check_batching(self.cached.config, fast=fast), self.name)

    def _check(
        self, subject: str, payload: bytes | str, asked: PublishOptions, headers: HeaderItems
    ) -> None:
        """Refuse what the stream would, as far as it is known."""
        if self.cached is not None:
            block = asked.headers(headers)
            refuse(
                check_publish(self.cached.config, subject, payload, asked, headers=block), self.name
            )

    # ------------------------------------------------------------------ its care

    def info(
        self,
        *,
        subjects_filter: str = "",
        deleted_details: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Procedure[StreamInfo]:
        """Configuration and state.

        Args:
            subjects_filter: also count messages of the subjects that match.
            deleted_details: also list deleted sequences.
            timeout: seconds for all pages; there is one unless more than 100,000 subjects match.

        Raises:
            StreamNotFound: it is gone.
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
        seconds = seconds_of(timeout, js.timeout)
        changes = cast("Mapping[str, object]", settings)

        def steps() -> Steps[Stream]:
            info = yield from manage.change_stream(js.api, self.name, changes, timeout=seconds)
            return evolve(self, cached=info)

        return Procedure(steps)

    def delete(self, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Delete it with its consumers and messages.

        Raises:
            StreamNotFound: it is gone already.
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
        seconds = seconds_of(timeout, self.js.timeout)
        wishes = Purge(filter_subject, seq, keep)
        return Procedure(
            lambda: maintenance.purge_stream(self.js.api, self.name, wishes, timeout=seconds)
        )

    def seal(self, *, timeout: float | timedelta | None = None) -> Procedure[Stream]:
        """Close it for good: nothing can be stored, deleted or changed any more.

        Raises:
            StreamNotFound: it is gone.
            InvalidConfiguration: the server says why it cannot be.
        """
        return self.change(sealed=True, timeout=timeout)

    def copy(
        self, *, timeout: float | timedelta | None = None, **settings: Unpack[StreamSettings]
    ) -> Procedure[Stream]:
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
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        changes = cast("Mapping[str, object]", settings)
        if stream_name(settings.get("name", self.name)) == self.name:
            raise InvalidConfig(f"expected another name than {self.name!r} for a copy of it")

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
        """Take a server out of its group at once; another takes its place.

        Args:
            peer: the server's name.
            timeout: seconds.

        Raises:
            Unavailable: the server is in no cluster.
            JetStreamError: the peer is none of its group, or nobody can take its place.
        """
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(lambda: cluster.remove_peer(js.api, self.name, peer, timeout=seconds))

    def evacuate_peer(
        self, peer: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
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
        js = self.js
        seconds = seconds_of(timeout, js.timeout)
        return Procedure(lambda: cluster.evacuate_peer(js.api, self.name, peer, timeout=seconds))

    def cancel_move(self, *, timeout: float | timedelta | None = None) -> Procedure[None]:
        """Let its group stay as it was before a change that is still under way, such as a move
        (2.15).

        Raises:
            Unavailable: the server is in no cluster.
            StreamNotFound: it is gone.
            JetStreamError: it is not being changed.
            RequestTimeout: servers before 2.15; `Meta.cancel_move` is for all.
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
        """The messages that it holds."""
        known = None if self.cached is None else self.cached.config
        return StoredMessages(stream=self, direct=known is not None and bool(known.allow_direct))

    # ------------------------------------------------------------------ consumers

    def consumer(self, name: str) -> Consumer:
        """A handle of a consumer by its name; the server is not asked.

        So nothing is known of the consumer's ack policy, and it is taken for explicit. If it is
        none, an ack is written although nobody listens, and is ``True``: a delivery does not say
        which policy its consumer has. ``refresh`` gives a handle that knows (it asks CONSUMER.INFO
        once, which takes a right that reading does not take), and ``AckOptions(policy="none")``
        says it without asking.

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
        """Names of all its consumers."""
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(lambda: manage.consumer_names(self.js.api, self.name, timeout=seconds))

    def consumers(
        self, *, timeout: float | timedelta | None = None
    ) -> Procedure[Listing[ConsumerInfo]]:
        """All its consumers; what a cluster cannot say now is in ``missing`` or ``offline``."""
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
        """Its messages, those that are there and those that will come, each once and in order.

        As ``ordered_consumer`` of `JetStream`, which explains the arguments.

        Raises:
            InvalidConfig: what no ordered consumer can have, or what cannot work; nothing was sent.
            StreamNotFound: when it is read: the stream is not there, or was deleted.
            InvalidConfiguration: when it is read: the server refuses the configuration.
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
        """Its messages that are there now, each once and in order: a feed with an end.

        As ``ordered_consumer`` of `JetStream`, which explains the arguments.

        Raises:
            InvalidConfig: what no ordered consumer can have, or what cannot work; nothing was sent.
            StreamNotFound: when it is read: the stream is not there, or was deleted.
            InvalidConfiguration: when it is read: the server refuses the configuration.
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
