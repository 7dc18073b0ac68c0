"""Atomic batches: messages that a stream stores all together or not at all (2.12, ADR-50).

Theory. Headers of each message carry the batch id and the message's number. The stream keeps the
messages aside until one of them completes the batch. Then it checks all of them and stores or
refuses the whole batch. One answer, to that last message, gives the result. Before that, nothing of
the batch is in the stream.

*The first message* is sent alone, and the others wait for its empty answer. A stream without atomic
batches refuses it here. A server older than batches stores the message by itself and answers with a
normal acknowledgement. So at most one message is stored by such a server.

*The other messages* follow without waiting. Every `ASK_EVERY`-th asks for an answer, which is the
flow control.

*The commit* is a header of the last message. The client knows which message is the last only when
the user ends the batch. Therefore it always holds one message back. With ``eob`` it holds none
back, and the end is a message of its own, which is not stored (2.14).

*Silence.* The stream drops a batch that has received nothing for 10 s. Only an advisory reports
this. The client's clock runs from the last sent message, so it never expires after the server's. A
dropped batch is therefore not committed. A user that needs more time must collect the messages
first.

*A lost link* ends a batch. Its messages may or may not have arrived, and nothing is stored unless
the commit was sent. After a sent commit the outcome is unknown. With message ids, a second batch of
the same messages is refused (10201) if the first was stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import ClassVar, Final, cast, final

from jsproto.core.conversation.conversation import Call, Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.numbers import seconds
from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    ConnectionLost,
    InvalidConfig,
    JsprotoError,
    NoResponders,
    RequestTimeout,
    StatusError,
    shorten,
)
from jsproto.jetstream.api.errors import BatchUnsupported, InvalidPubAck, RequestContext
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.api.requests.publish import DEFAULT_RETRIES, DEFAULT_RETRY_WAIT
from jsproto.jetstream.errors import BatchAbandoned
from jsproto.jetstream.publish.batch_rules import (
    BATCH_COMMIT,
    BATCH_ID,
    BATCH_SEQUENCE,
    MOST_MESSAGES,
    BatchRules,
    batch_name,
)
from jsproto.jetstream.publish.items import Outgoing, outgoing
from jsproto.signals import Ended, NeedData
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import Headers
from jsproto.wire.nuid import derived

#: Seconds after which the server drops a batch without input (``max_batch_timeout``).
IDLE: Final = 10.0
#: Every message whose number is a multiple of ``ASK_EVERY`` asks for an answer; at most ``OWED``
#: answers may be outstanding.
ASK_EVERY: Final = 100
OWED: Final = 2


class BatchState(IdentityEnum):
    """The states of a batch."""

    #: No message was sent.
    NEW = "NEW"
    #: The first message was sent; the client waits for its answer.
    BEGINNING = "BEGINNING"
    #: The stream has accepted the first message and keeps the batch.
    OPEN = "OPEN"
    #: The last message was sent; the client waits for its answer.
    COMMITTING = "COMMITTING"
    #: The batch is stored, or not stored, or its outcome is unknown.
    OVER = "OVER"


class BatchInput(IdentityEnum):
    """The inputs of a batch."""

    #: The first of several messages was sent.
    BEGUN = "BEGUN"
    #: The stream has accepted the first message.
    ACCEPTED = "ACCEPTED"
    #: The message that completes the batch was sent.
    COMPLETED = "COMPLETED"
    #: The batch ended, with or without an error.
    ENDED = "ENDED"


TRANSITIONS: Final[Mapping[BatchState, Mapping[BatchInput, BatchState]]] = {
    BatchState.NEW: {
        BatchInput.BEGUN: BatchState.BEGINNING,
        BatchInput.COMPLETED: BatchState.COMMITTING,
        BatchInput.ENDED: BatchState.OVER,
    },
    BatchState.BEGINNING: {BatchInput.ACCEPTED: BatchState.OPEN, BatchInput.ENDED: BatchState.OVER},
    BatchState.OPEN: {
        BatchInput.COMPLETED: BatchState.COMMITTING,
        BatchInput.ENDED: BatchState.OVER,
    },
    BatchState.COMMITTING: {BatchInput.ENDED: BatchState.OVER},
    BatchState.OVER: {},
}


class BatchTimer(IdentityEnum):
    """The timers of a batch."""

    #: An answer is due.
    ANSWER = "ANSWER"
    #: The server drops a batch without input at this time.
    IDLE = "IDLE"
    #: The first message is sent again.
    RETRY = "RETRY"


class BatchPublish(Conversation[PubAck]):
    """An atomic batch: it accepts messages and has one result.

    `StopMode.DRAIN` and `StopMode.STOP` commit it; closing it abandons it.

    Args:
        batch_id: its name of at most 64 bytes; by default a new one.
        limit: most messages that the server allows.
        idle: seconds without input after which the server drops it.
        timeout: seconds to wait for an answer.
        eob: commit by a separate message, and hold no message back (2.14).
        retries: how often the first message is sent again after "no responders".
        retry_wait: seconds before each of these attempts.

    Attributes:
        sent: number of messages that were sent.

    Raises:
        InvalidConfig: an invalid name, number or time.
    """

    __slots__ = (
        "_draining",
        "_eob",
        "_first",
        "_given",
        "_id",
        "_idle",
        "_last",
        "_left",
        "_owed",
        "_result",
        "_retry_wait",
        "_rules",
        "_timeout",
        "_waiting",
        "sent",
        "state",
        "timers",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_draining": PLAIN,
        "_first": PLAIN,
        "_given": PLAIN,
        "_id": PLAIN,
        "_last": PLAIN,
        "_left": PLAIN,
        "_owed": PLAIN,
        "_rules": PART,
        "_waiting": PLAIN,
        "sent": PLAIN,
        "state": BatchState,
        "timers": PART,
    }

    def __init__(
        self,
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        idle: float | timedelta = IDLE,
        timeout: float | timedelta = 5.0,
        eob: bool = False,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
    ) -> None:
        super().__init__()
        for name, number, least in (("limit", limit, 1), ("retries", retries, 0)):
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise InvalidConfig(
                    f"expected a whole number of at least {least} as {name}, got {shorten(number)}"
                )
        self._id = "" if batch_id is None else batch_name(batch_id)
        self._idle = seconds("idle", idle, finite=True)
        self._timeout = seconds("timeout", timeout, finite=True)
        self._eob = eob
        self._retry_wait = seconds("retry_wait", retry_wait, finite=True)
        self._left = retries
        self._rules = BatchRules(limit)
        #: Messages that were accepted and not sent; without ``eob`` the last of them is held back.
        self._waiting: deque[Outgoing] = deque()
        #: The first message as it was sent, until the stream accepts it: it may have to be sent
        #: again.
        self._first: tuple[Outgoing, str] | None = None
        self._last = ""
        #: Numbers of messages whose answers are outstanding, by token.
        self._owed: dict[int, int] = {}
        self._draining = False
        self._result: PubAck | None = None
        self._given = False
        self.sent = 0
        self.state = BatchState.NEW
        self.timers = Timers(BatchTimer)

    # ------------------------------------------------------------------ properties

    @property
    def batch_id(self) -> str:
        """The id of the batch; empty before it is opened unless the user gave one."""
        return self._id

    @property
    def taken(self) -> int:
        """Number of messages that the user offered and the batch accepted."""
        return self._rules.size

    @property
    def room(self) -> bool:
        """Whether a message would be accepted."""
        return not self._draining and not self.ended and len(self._waiting) <= self._held

    @property
    def readable(self) -> int:
        """1 while the result is available, else 0."""
        return 1 if self._result is not None and not self._given else 0

    @property
    def deadline(self) -> float | None:
        """The earliest timer."""
        return self.timers.next()

    # ------------------------------------------------------------------ the user's side

    def offered(self, item: object, now: float) -> bool:
        """Accept a `Publish` without a reply, or ``(subject, payload[, headers])``.

        Raises:
            InvalidConfig: the server would refuse the batch because of this message, which is left
                out.
            InvalidSubject: the subject cannot be published to.
            LocalProtocolError: the item is no message, or has a reply.
            ConversationClosed: the batch is committed, or over.
            JsprotoError: the error that ended the batch.
        """
        subject, payload, headers = outgoing(item)
        if self._draining or self.ended:
            raise self.too_late(
                "expected a batch that takes messages, this one is committed or over"
            )
        if not self.room:
            return False
        self._rules.take(subject, headers)
        self._waiting.append((subject, payload, None if headers is None else headers.encode()))
        self._pump(now)
        return True

    def take(self, now: float) -> PubAck | NeedData | Ended:
        """Return the acknowledgement of the whole batch, once."""
        if self.readable:
            self._given = self.served = True
            return cast("PubAck", self._result)
        return self.nothing()

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Start; a batch with all its messages waits for a link at most ``timeout``."""
        self._id = self._id or derived(self.port.address())
        if self._draining and not self.port.up:
            self.timers.set(BatchTimer.ANSWER, now + self._timeout)
        self._pump(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Process an answer: the stream accepted a message, stored the batch, or refuses it."""
        number = self._owed.pop(token, None)
        if self.ended or number is None:
            return
        if self._owed:
            self.timers.set(BatchTimer.ANSWER, now + self._timeout)
        else:
            self.timers.stop(BatchTimer.ANSWER)
        message = Message(frame)
        status = message.status
        if status is not None and not message.payload:
            self._refused(status, number, now)
            return
        try:
            self._judge(message.payload, number)
        except JsprotoError as error:
            self.end(error)
        else:
            self._pump(now)

    def ticked(self, now: float) -> None:
        """Process a timer: an answer is overdue, the server drops the batch, or a retry is due."""
        for timer in self.timers.expired(now):
            if timer is BatchTimer.ANSWER:
                text = (
                    f"expected an answer to batch {self._id!r} within {self._timeout} s,"
                    f" none came; {self._known}"
                )
                self.end(RequestTimeout(text, sent=bool(self.sent)))
            elif timer is BatchTimer.IDLE:
                self.end(
                    BatchAbandoned(
                        f"expected the next message of batch {self._id!r} within {self._idle} s,"
                        f" for which the server waits, none came; {self._known}"
                    )
                )
            else:
                first, commit = cast("tuple[Outgoing, str]", self._first)
                self._send(first, 1, commit, now)

    def link_up(self, now: float) -> None:
        """A link is up: send the messages that waited for it."""
        self._pump(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost: end, because messages of the batch may be lost."""
        if not self.ended and self.state is not BatchState.NEW:
            lost = ConnectionLost(f"link lost in the middle of batch {self._id!r}; {self._known}")
            lost.__cause__ = error
            self.end(lost)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused one of the messages, or the subscription to the answers."""
        ours = self._rules.holds(subject) or subject == self.port.answers
        if not self.ended and ours and self.state is not BatchState.NEW:
            self._let_go()
            self.end(error)

    def told(self, wish: StopMode, now: float) -> None:
        """Commit the batch: the user has no more messages."""
        self._draining = True
        self._pump(now)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """Abandon the batch; if the link is up, the client makes the server drop it at once."""
        if not self.ended:
            if error is None:
                self._let_go()
            self.end(error)

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and clear timers and messages."""
        self.state = TRANSITIONS[self.state][BatchInput.ENDED]
        self.timers.clear()
        self._owed.clear()
        self._waiting.clear()
        self._first = None
        super().end(error)

    # ------------------------------------------------------------------ sending

    @property
    def _held(self) -> int:
        return 0 if self._eob else 1

    def _pump(self, now: float) -> None:
        """Send all messages that may be sent, and the commit if there are no more."""
        while len(self._waiting) > self._held and self._ready(OWED):
            self._next(now)
        if not self._draining or self.ended:
            return
        if not self.taken:
            self.end()
        elif len(self._waiting) <= self._held and self._ready(OWED + 1):
            if not self._eob:
                self._next(now, "1")
            else:
                self.state = TRANSITIONS[self.state][BatchInput.COMPLETED]
                self._send((self._last, b"", None), self.sent + 1, "eob", now)

    def _ready(self, owed: int) -> bool:
        """Tell whether a message may be sent: the first one, or others once it is accepted."""
        return (
            self.port.up
            and self.state in {BatchState.NEW, BatchState.OPEN}
            and not self.ended
            and len(self._owed) < owed
        )

    def _next(self, now: float, commit: str = "") -> None:
        message = self._waiting.popleft()
        self.sent += 1
        self._last = message[0]
        if commit:
            self.state = TRANSITIONS[self.state][BatchInput.COMPLETED]
        elif self.sent == 1:
            self.state = TRANSITIONS[self.state][BatchInput.BEGUN]
        if self.sent == 1:
            self._first = (message, commit)
        self._send(message, self.sent, commit, now)

    def _send(self, message: Outgoing, number: int, commit: str, now: float) -> None:
        subject, payload, block = message
        ours = [(BATCH_ID, self._id), (BATCH_SEQUENCE, str(number))]
        if commit:
            ours.append((BATCH_COMMIT, commit))
        headers = (Headers() if block is None else Headers.parse(block)).merged(ours)
        self.timers.set(BatchTimer.IDLE, now + self._idle)
        if number > 1 and number % ASK_EVERY and not commit:
            self.port.publish(Publish(subject, payload, "", headers))
            return
        token = self.port.call(Call(subject, payload, headers, self._timeout))
        self._owed[token] = 0 if commit else number
        self.timers.set(BatchTimer.ANSWER, now + self._timeout)
        if commit:
            self.timers.stop(BatchTimer.IDLE)

    def _let_go(self) -> None:
        """Send a message with a gap before it, so that the server drops the whole batch."""
        if self.state is BatchState.OPEN and self.port.up:
            gap = Headers([(BATCH_ID, self._id), (BATCH_SEQUENCE, str(self.sent + 2))])
            self.port.publish(Publish(self._last, b"", "", gap))

    # ------------------------------------------------------------------ judging

    def _judge(self, body: bytes, number: int) -> None:
        """Process an answer with a body, or an empty one while the batch is open."""
        self._first = None
        size = f" of {self.sent} messages" + (
            " and an end marker, which servers before 2.14.3 count as one more" if self._eob else ""
        )
        about = RequestContext(what=f"batch {self._id}{size}", subject=self._last)
        if number == 1 and not body:
            self.state = TRANSITIONS[self.state][BatchInput.ACCEPTED]
        if number and not body:
            return
        ack = pub_ack(body, about)
        if ack.batch is None:
            raise BatchUnsupported(
                "expected a server that knows atomic batches (2.12),"
                " this one has stored a message by itself:"
                f" stream {ack.stream!r}, sequence {ack.seq}",
                body,
                ack.stream,
                ack.seq,
            )
        if number or ack.batch != self._id:
            raise InvalidPubAck(
                f"expected the acknowledgement of batch {self._id!r},"
                f" got that of batch {shorten(ack.batch)}",
                body,
            )
        if ack.count != self.sent:
            raise InvalidPubAck(
                f"expected the acknowledgement of {self.sent} messages of batch {self._id!r},"
                f" got {shorten(ack.count)}; unknown if stored",
                body,
            )
        self._result = ack
        self.end()

    def _refused(self, status: tuple[int, str], number: int, now: float) -> None:
        """Process a status reply. 503 (no responders) may be temporary, so the client retries."""
        if status[0] != 503:
            self.end(StatusError(*status))
        elif self._first is not None and self._left:
            self._left -= 1
            self.timers.stop(BatchTimer.IDLE)
            self.timers.set(BatchTimer.RETRY, now + self._retry_wait)
        else:
            text = f"expected a stream that stores {self._last!r}, nobody listens there (503)"
            self.end(NoResponders(f"{text}; nothing of batch {self._id!r} is stored", self._last))

    @property
    def _known(self) -> str:
        """What the client knows about the outcome, for an error."""
        return (
            "unknown if stored"
            if self.state is BatchState.COMMITTING
            else "nothing of it is stored"
        )

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> dict[str, object]:
        """Return the state, the waiting messages, and the result."""
        return {
            **super().snapshot(),
            "result": None if self._result is None else self._result.to_wire(),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        result = data["result"]
        self._result = None if result is None else PubAck.from_wire(result)


@final
class WholeBatch(BatchPublish):
    """An atomic batch whose messages are all known: a request with one result.

    Args:
        messages: the messages in order: `Publish` values without replies, or tuples.
        batch_id: as in `BatchPublish`, like the other arguments.
        limit: the same.
        timeout: the same.
        retries: the same.
        retry_wait: the same.

    Raises:
        InvalidConfig: there are no messages, or the server would refuse the batch for one of them.
        InvalidSubject, LocalProtocolError: an item is no message.
    """

    __slots__ = ()

    def __init__(
        self,
        messages: Iterable[object],
        *,
        batch_id: str | None = None,
        limit: int = MOST_MESSAGES,
        timeout: float | timedelta = 5.0,
        retries: int = DEFAULT_RETRIES,
        retry_wait: float | timedelta = DEFAULT_RETRY_WAIT,
    ) -> None:
        super().__init__(
            batch_id=batch_id, limit=limit, timeout=timeout, retries=retries, retry_wait=retry_wait
        )
        for item in messages:
            subject, payload, headers = outgoing(item)
            self._rules.take(subject, headers)
            self._waiting.append((subject, payload, None if headers is None else headers.encode()))
        if not self._waiting:
            raise InvalidConfig("expected at least one message in a batch, got none")
        self._draining = True
