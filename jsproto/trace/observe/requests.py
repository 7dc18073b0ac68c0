"""Requests to the JetStream API and their answers: that is how consumers become known."""

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


#: Heartbeats of silence after which who reads an ordered consumer must have acted; three raise the
#: alarm (ADR-15).
SILENT_BEATS: Final = 6
#: Who makes a consumer and subscribes within so much time does both for one purpose.
AT_ONCE: Final = 2 * SECOND
#: An ordered consumer that is made anew within so much time behind a gap is so because of it.
AFTER_GAP: Final = 5 * SECOND
#: Time within which the one before is deleted then.
DELETE_PATIENCE: Final = 10 * SECOND


class _Delete(NamedTuple):
    """The consumer before is to be deleted."""

    link: SeenLink
    earlier: SeenConsumer

    @property
    def fact(self) -> str:
        return OldConsumerKept.__name__

    def look(self, books: TraceContext, now: int) -> None:
        if self.link.up and not self.earlier.deleted:
            books.tell(OldConsumerKept(self.link, self.earlier))


class _Abandoned(NamedTuple):
    """The consumer of a subscription that has ended is to be deleted."""

    link: SeenLink
    consumer: SeenConsumer

    @property
    def fact(self) -> str:
        return ConsumerLeaked.__name__

    def look(self, books: TraceContext, now: int) -> None:
        if self.link.up and not self.consumer.deleted:
            books.tell(ConsumerLeaked(self.link, self.consumer))


class _PushLife(NamedTuple):
    """An ordered consumer that promised heartbeats is to be heard within some of them, or to be
    made anew.
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
    """The requests of all links."""

    __slots__ = ("_books", "_delivering", "_ordered")

    def __init__(self, books: TraceContext) -> None:
        self._books = books
        #: The last incarnation of an ordered consumer, by stream and connection; push consumers by
        #: their deliver subject.
        self._ordered: dict[tuple[str, str], SeenConsumer] = {}
        self._delivering: dict[str, SeenConsumer] = {}

    def ask(self, link: SeenLink, command: PubLine, verb: str, names: tuple[str, ...]) -> None:
        """The client asks the API."""
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
        """An ordered consumer is known from here on: its first messages may come before the answer."""
        key = (request.names[0], request.names[1])
        asked = SeenConsumer(key=key, config=config, at=request.at, line=request.line, expected=1)
        if asked.ordered:
            self._books.consumers[key] = asked
            bound(self._books.consumers)

    def answer(self, link: SeenLink, request: SeenRequest, payload: bytes) -> None:
        """The API answers."""
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
        """The client ends a subscription: the consumer that it made for it, in the same moment, is
        to be deleted.
        """
        made = self.delivering_to(interest.subject)
        if made is None or made.made_by is not link or made.config.get("durable_name"):
            return
        if abs(made.at - interest.since) <= AT_ONCE:
            self._books.watch(self._books.now + DELETE_PATIENCE, _Abandoned(link, made))

    def delivering_to(self, subject: str) -> SeenConsumer | None:
        """The push consumer that delivers to this subject, unless it was deleted."""
        made = self._delivering.get(subject)
        return None if made is None or made.deleted else made
