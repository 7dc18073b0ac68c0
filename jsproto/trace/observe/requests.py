"""Follows requests to the JetStream API and their answers, from which consumers become known."""

from __future__ import annotations

from typing import Final, NamedTuple, cast, final

from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.client import json_object, member, number
from jsproto.trace.observe.facts import (
    ApiErrorSeen,
    ApiRequestSeen,
    ConsumerLeaked,
    ConsumerRequested,
    OldConsumerKept,
    PushSilence,
)
from jsproto.trace.observe.ledger import (
    MOST_BODY,
    SECOND,
    ConsumerKey,
    Json,
    SeenConsumer,
    SeenLink,
    SeenRequest,
    SeenSubscription,
    bound,
    seconds,
)
from jsproto.wire.client_commands import PubLine

_CREATING: Final = frozenset({"CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE"})
_DESCRIBING: Final = frozenset({"CONSUMER.INFO", "CONSUMER.RESET"})


#: Heartbeats of silence after which the client of an ordered consumer must have acted; ADR-15
#: raises the alarm after three.
SILENT_BEATS: Final = 6
#: A consumer and a subscription that a client makes within this time belong together.
AT_ONCE: Final = 2 * SECOND
#: An ordered consumer that is created within this time after a gap replaces the one with the gap.
AFTER_GAP: Final = 5 * SECOND
#: Time in which the client must delete the replaced consumer.
DELETE_PATIENCE: Final = 10 * SECOND


class _Delete(NamedTuple):
    """Check that the client deletes the consumer that it has replaced."""

    link: SeenLink
    earlier: SeenConsumer

    @property
    def fact(self) -> str:
        return OldConsumerKept.__name__

    def look(self, books: TraceContext, now: int) -> None:
        if self.link.up and not self.earlier.deleted:
            books.tell(OldConsumerKept(self.link, self.earlier))


class _Abandoned(NamedTuple):
    """Check that the client deletes the consumer of a subscription that it has ended."""

    link: SeenLink
    consumer: SeenConsumer

    @property
    def fact(self) -> str:
        return ConsumerLeaked.__name__

    def look(self, books: TraceContext, now: int) -> None:
        if self.link.up and not self.consumer.deleted:
            books.tell(ConsumerLeaked(self.link, self.consumer))


class _PushLife(NamedTuple):
    """Check that a silent ordered consumer makes the client create it again.

    The consumer has heartbeats configured, and may miss `SILENT_BEATS` of them.
    """

    link: SeenLink
    interest: SeenSubscription
    consumer: SeenConsumer
    beat: int
    creates: int

    @property
    def fact(self) -> str:
        return PushSilence.__name__

    def look(self, books: TraceContext, now: int) -> None:
        link, interest, consumer, beat, creates = self
        if not (link.up and interest.active) or consumer.deleted or link.creates != creates:
            return
        patience = SILENT_BEATS * beat
        since = link.consumer_info_seen(consumer.key, max(interest.sign, consumer.at))
        if books.now - since < patience:
            books.watch(since + patience, self)
        else:
            books.tell(PushSilence(link, consumer, seconds(now - since)))


@final
class Requests:
    """Follows the requests of all links."""

    __slots__ = ("_books", "_delivering", "_ordered")

    def __init__(self, books: TraceContext) -> None:
        self._books = books
        #: The newest consumer of an ordered consumer, by stream and connection; then push consumers
        #: by their deliver subject.
        self._ordered: dict[tuple[str, str], SeenConsumer] = {}
        self._delivering: dict[str, SeenConsumer] = {}

    def ask(self, link: SeenLink, command: PubLine, verb: str, names: tuple[str, ...]) -> None:
        """Read a request of the client to the API."""
        body = json_object(command.payload)
        request = SeenRequest(
            subject=command.subject,
            verb=verb,
            names=names,
            reply=command.reply,
            payload=command.payload,
            body=body,
            at=self._books.now,
            line=self._books.line,
        )
        waiting = link.requests.get(command.reply) if command.reply else None
        self._books.tell(ApiRequestSeen(link, request, waiting))
        if verb in _CREATING and body is not None:
            self._create(link, request, body)
        if verb == "CONSUMER.DELETE" and len(names) == 2:
            consumer = self._books.consumers.get((names[0], names[1]))
            if consumer is not None:
                consumer.deleted = True
        if len(request.payload) > MOST_BODY:
            request.payload, request.body = request.payload[:MOST_BODY], None
        if command.reply:
            link.requests[command.reply] = request
            bound(link.requests, self._books.most)

    def _create(self, link: SeenLink, request: SeenRequest, body: Json) -> None:
        config = member(body, "config")
        deliver = config.get("deliver_subject")
        heard = (
            not isinstance(deliver, str)
            or bool(link.interest_in(deliver))
            or "interests" in link.forgot
        )
        link.creates += 1
        earlier = self._ordered.get((request.names[0] if request.names else "", link.conn))
        request.heard = heard
        if not heard and isinstance(deliver, str):
            link.unheard[deliver] = request
            bound(link.unheard, self._books.most)
        self._books.tell(ConsumerRequested(link, request, config, earlier))
        if len(request.names) > 1:
            self._asked(request, config)
        gap = None if earlier is None else earlier.gap
        if earlier is not None and gap is not None and self._books.now - gap <= AFTER_GAP:
            self._books.watch(self._books.now + DELETE_PATIENCE, _Delete(link, earlier))

    def _asked(self, request: SeenRequest, config: Json) -> None:
        """Note an ordered consumer at its request: messages may come before the API's answer."""
        key = (request.names[0], request.names[1])
        asked = SeenConsumer(key=key, config=config, at=request.at, line=request.line, expected=1)
        if asked.ordered:
            self._books.consumers[key] = asked
            bound(self._books.consumers)

    def answer(self, link: SeenLink, request: SeenRequest, payload: bytes) -> None:
        """Read an answer of the API."""
        body = json_object(payload)
        if body is None:
            return
        error = member(body, "error")
        if error:
            code = error.get("err_code")
            text = str(error.get("description", ""))
            self._books.tell(
                ApiErrorSeen(link, request, code if isinstance(code, int) else 0, text)
            )
        elif request.verb in _CREATING or request.verb in _DESCRIBING:
            stream, name, config = body.get("stream_name"), body.get("name"), body.get("config")
            if isinstance(stream, str) and isinstance(name, str) and isinstance(config, dict):
                self._described(link, request, (stream, name), cast("Json", config))

    def _described(
        self, link: SeenLink, request: SeenRequest, key: ConsumerKey, config: Json
    ) -> None:
        known = self._books.consumers.get(key)
        if known is not None and request.verb == "CONSUMER.INFO":
            known.config = config
            return
        new = request.verb in _CREATING
        asked = known if known is not None and known.line == request.line else None
        consumer = self._books.consumers[key] = SeenConsumer(
            key=key,
            config=config,
            at=self._books.now,
            line=self._books.line,
            expected=int(new and len(request.names) > 1) if asked is None else asked.expected,
            gap=None if asked is None else asked.gap,
            unheard_by=None if request.heard else link,
            made_by=link if new else None,
        )
        if new and consumer.ordered:
            self._ordered[key[0], link.conn] = consumer
        deliver = config.get("deliver_subject")
        if isinstance(deliver, str) and deliver:
            self._delivering[deliver] = consumer
            beat, heard = number(config, "idle_heartbeat"), link.interest_in(deliver)
            if new and consumer.ordered and beat > 0 and heard:
                life = _PushLife(link, heard[0], consumer, beat, link.creates)
                self._books.watch(self._books.now + SILENT_BEATS * beat, life)
        bound(self._books.consumers)
        bound(self._ordered)
        bound(self._delivering)

    def ended(self, link: SeenLink, interest: SeenSubscription) -> None:
        """Expect that the client deletes the consumer of a subscription that it ends.

        This concerns a consumer that the client created at about the time of the subscription.
        """
        made = self.delivering_to(interest.subject)
        if made is None or made.made_by is not link or made.config.get("durable_name"):
            return
        if abs(made.at - interest.since) <= AT_ONCE:
            self._books.watch(self._books.now + DELETE_PATIENCE, _Abandoned(link, made))

    def delivering_to(self, subject: str) -> SeenConsumer | None:
        """Find the push consumer that delivers to this subject; ``None`` if it was deleted."""
        made = self._delivering.get(subject)
        return None if made is None or made.deleted else made
