"""Read many stored messages by direct get, page after page (ADR-31).

Theory. A batch request has many answers: messages, then ``204 EOB`` with the number of pending
messages. The conversation requests the next page after the last message that arrived, as long as
messages are pending and the reader takes them. It never buffers more than a page and a half. So a
truncated answer is one page and never looks like the end. The conversation ends after an EOB with
nothing pending, or when no (further) message is found.

*Consistency*: with ``multi_last`` the first page fixes the last sequence of the view
(``Nats-UpTo-Sequence``), and all further pages use it. Between two pages a newer message may
replace one. It lies after that sequence, so the older message is missing, and ``overtaken`` counts
it.

*Older servers* (before 2.11) do not know batches. They answer with the first message alone and send
no end. Such a message has no pending count, so the client recognizes them. From then on it requests
every message alone. For the last message of many subjects it uses :func:`last_of_each`.

After a lost link the client repeats the request after the last message that arrived. The mux routes
every answer, so no subscription of its own is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import ClassVar, Final, cast, final

from attrs import field, frozen

from jsproto.core.conversation.conversation import Call, Conversation
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Script, Steps
from jsproto.core.numbers import check_number, in_seconds, seconds
from jsproto.core.state import PART, PLAIN, Codecs, Snapshot
from jsproto.core.timers import Timers
from jsproto.errors.tree import (
    InvalidConfig,
    InvalidResponse,
    JsprotoError,
    NoResponders,
    RequestTimeout,
)
from jsproto.jetstream.api.envelope import to_json
from jsproto.jetstream.api.errors import MessageNotFound, RequestContext
from jsproto.jetstream.api.requests.maintenance import sequence
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT, stream_info
from jsproto.jetstream.api.requests.messages import (
    MessageSelector,
    StoredMessage,
    direct_error,
    from_direct,
    no_direct,
    number,
    stored_message,
)
from jsproto.jetstream.api.requests.paging import RACES
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.errors import BadRequestStatus
from jsproto.jetstream.status import StatusAction, StatusContext, judge
from jsproto.signals import Ended, NeedData
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import header_value
from jsproto.wire.subjects import subscription_subject

#: Most subjects that the server answers to one ``multi_last``; pages do not raise it.
MOST_SUBJECTS: Final = 1024
#: Messages of a page, and its bytes as the server counts them: subject, headers and payload.
PAGE: Final = 500
PAGE_BYTES: Final = 4 * 1024 * 1024


@final
@frozen(kw_only=True)
class BatchOptions:
    """The messages that a batch of direct gets reads, and the size of its pages.

    Attributes:
        seq: begin at this sequence.
        start_time: begin at this time; excludes ``seq``.
        next_by_subj: only subjects that match.
        multi_last: instead of all messages, the last of each subject that matches one of these.
        up_to_seq: with ``multi_last``, as the stream was when this was its last sequence.
        up_to_time: the same by a time.
        page: most messages of one answer.
        page_bytes: most bytes of one answer.
        limit: end after this number of messages, 0 for none.
        timeout: seconds within which the server must send something.

    Raises:
        InvalidConfig: options that exclude each other, or an invalid number.
        InvalidSubject: an invalid subject.
    """

    seq: int | None = None
    start_time: Timestamp | datetime | None = field(default=None)
    next_by_subj: str = ""
    multi_last: Sequence[str] = ()
    up_to_seq: int | None = None
    up_to_time: Timestamp | datetime | None = field(default=None)
    page: int = PAGE
    page_bytes: int = PAGE_BYTES
    limit: int = 0
    timeout: float = field(default=DEFAULT_TIMEOUT, converter=in_seconds)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.multi_last, str):
            raise InvalidConfig(f"expected several subjects as multi_last, got {self.multi_last!r}")
        object.__setattr__(self, "multi_last", tuple(self.multi_last))
        for name, value in (
            ("seq", self.seq),
            ("up_to_seq", self.up_to_seq),
            ("page", self.page),
            ("page_bytes", self.page_bytes),
        ):
            sequence(name, value)
        check_number("limit", self.limit, (int,))
        for name in ("start_time", "up_to_time"):
            moment: Timestamp | datetime | None = getattr(self, name)
            if moment is not None:
                object.__setattr__(self, name, Timestamp.of(moment))
        for subject in (*self.multi_last, *([self.next_by_subj] if self.next_by_subj else [])):
            subscription_subject(subject)
        seconds("timeout", self.timeout)
        self._check_together()

    def _check_together(self) -> None:
        if self.seq is not None and self.start_time is not None:
            raise InvalidConfig("expected seq or start_time, got both")
        if self.up_to_seq is not None and self.up_to_time is not None:
            raise InvalidConfig("expected up_to_seq or up_to_time, got both")
        if self.multi_last and (self.next_by_subj or self.start_time is not None):
            raise InvalidConfig("expected multi_last alone, or with seq, up_to_seq or up_to_time")
        if not self.multi_last and (self.up_to_seq is not None or self.up_to_time is not None):
            raise InvalidConfig("expected multi_last beside up_to_seq or up_to_time")

    def page_from(self, seq: int, up_to: int, left: int) -> dict[str, object]:
        """Return the fields of the request for the next page.

        Args:
            seq: its first sequence; 0 for the first page.
            up_to: the sequence that the first page fixed; 0 before.
            left: number of messages that are still wanted; 0 for all.
        """
        members: dict[str, object] = {"batch": min(self.page, left) if left else self.page}
        start = seq or self.seq
        if self.multi_last:
            members["multi_last"] = list(self.multi_last)
            if start is not None:
                members["seq"] = start
            if up_to or self.up_to_seq is not None:
                members["up_to_seq"] = up_to or self.up_to_seq
            elif self.up_to_time is not None:
                members["up_to_time"] = str(self.up_to_time)
        else:
            if self.start_time is not None and not seq:
                members["start_time"] = str(self.start_time)
            elif start is not None:
                members["seq"] = start
            # Old servers skip deleted messages only if a subject is given.
            members["next_by_subj"] = self.next_by_subj or ">"
        members["max_bytes"] = self.page_bytes
        return members


class DirectTimer(Enum):
    """The timers of a batch."""

    #: An answer is due.
    ANSWER = "ANSWER"
    #: The request is sent again after "no responders".
    RETRY = "RETRY"


class DirectBatch(Conversation[StoredMessage]):
    """Stored messages in the order of their sequences, with an end.

    Args:
        api: the subjects of the API.
        stream: the stream's name.
        options: the messages to read.

    Attributes:
        got: number of messages that arrived.
        pending: number of messages after them, as the server last reported; ``None`` for a server
            before 2.11, which does not report it.
        up_to_seq: the last sequence of the fixed view, 0 if there is none.
        overtaken: messages that were replaced between two pages, and so are missing.
        last_seq: sequence of the last message that arrived, 0 before.
    """

    __slots__ = (
        "_about",
        "_each",
        "_given",
        "_messages",
        "_page",
        "_retries",
        "_subject",
        "_together",
        "_token",
        "got",
        "last_seq",
        "options",
        "overtaken",
        "pending",
        "timers",
        "up_to_seq",
    )

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_each": PART,
        "_given": PLAIN,
        "_page": PLAIN,
        "_retries": PLAIN,
        "_together": PLAIN,
        "_token": PLAIN,
        "got": PLAIN,
        "last_seq": PLAIN,
        "overtaken": PLAIN,
        "pending": PLAIN,
        "timers": PART,
        "up_to_seq": PLAIN,
    }

    #: Seconds before a request that met no responders is repeated, and most repetitions in a row.
    RETRY_WAIT: ClassVar[float] = 0.25
    RETRIES: ClassVar[int] = 8

    def __init__(self, api: ApiSubjects, stream: str, options: BatchOptions) -> None:
        super().__init__()
        self.options = options
        self._about = RequestContext(what="batch of stored messages", stream=stream)
        self._subject = api.direct_get(stream)
        self._messages: deque[StoredMessage] = deque()
        self._token = 0
        self._page = 0
        self._retries = 0
        #: Collects the last message of each subject where the server cannot.
        self._each: Script[tuple[StoredMessage, ...]] = Script(
            lambda: last_of_each(api, stream, options)
        )
        self._together = False
        self._given = 0
        self.got = 0
        self.last_seq = 0
        self.pending: int | None = None
        self.up_to_seq = 0
        self.overtaken = 0
        self.timers = Timers(DirectTimer)

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Request the first page."""
        self.timers.set(DirectTimer.ANSWER, now + self.options.timeout)
        self._ask(now)

    def replied(self, token: int, frame: Delivery, now: float) -> None:
        """Process a message or a status; ignore answers of an earlier page."""
        if self.ended:
            return
        if self._together:
            self._each.replied(self.port, token, frame, now)
            self._judge_each()
        elif token == self._token:
            self.timers.set(DirectTimer.ANSWER, now + self.options.timeout)
            answer = Message(frame)
            try:
                found = from_direct(answer, self._about.stream)
                if found is None:
                    self._status(answer, now)
                else:
                    self._came(found, now)
            except JsprotoError as error:
                self.end(error)

    def ticked(self, now: float) -> None:
        """Process a timer: an answer is overdue, or the request is repeated."""
        if self._together:
            self._each.ticked(self.port, now)
            self._judge_each()
            return
        for name in self.timers.expired(now):
            if name is DirectTimer.RETRY:
                self._ask(now)
            else:
                wait = self.options.timeout
                text = (
                    f"{self._about}: expected an answer on {self._subject!r} within {wait} s,"
                    f" none came; {self.got} messages came before; servers before 2.10 are"
                    " silent where direct gets are not allowed"
                )
                self.end(RequestTimeout(text))

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The link is lost, and with it the open request; received messages stay."""
        self._token = 0
        if self._together:
            self._each.link_down(self.port, now)
            self._judge_each()

    def link_up(self, now: float) -> None:
        """Repeat the request, after the last message that arrived."""
        if self._together:
            self._each.link_up(self.port, now)
        else:
            self._ask(now)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """End if the server refused the request, or the subscription to the answers."""
        if self._together:
            self._each.refused(self.port, subject, error, now)
            self._judge_each()
        elif self._token and subject in {self._subject, self.port.answers}:
            self.end(error)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """End: the user closed it, or the connection is closed."""
        if self._together:
            self._each.closed(error, self.port, now)
        super().closed(error, now)

    def end(self, error: JsprotoError | None = None) -> None:
        """End, and clear the timers."""
        self._token = 0
        self.timers.clear()
        super().end(error)

    # ------------------------------------------------------------------ the user's side

    def take(self, now: float) -> StoredMessage | NeedData | Ended:
        """Return the next message; request the next page when few are left."""
        if self._messages:
            message = self._messages.popleft()
            self._ask(now)
            return message
        if self._together and self.readable:
            self._given += 1
            return self._each.result[self._given - 1]
        return self.nothing()

    @property
    def readable(self) -> int:
        """Number of available messages."""
        if self._together and self._each.done and self._each.error is None:
            return len(self._each.result) - self._given
        return len(self._messages)

    @property
    def deadline(self) -> float | None:
        """When an answer is overdue, or the request is repeated."""
        if self.ended:
            return None
        return self._each.deadline if self._together else self.timers.next()

    # ------------------------------------------------------------------ pages

    def _ask(self, now: float) -> None:
        """Request the next page, if it is wanted and no request is open."""
        options = self.options
        if self.ended or self._token or self._together:
            return
        if len(self._messages) > options.page // 2:
            self.timers.clear()  # no request is open
            return
        if not self.port.up:
            if self.deadline is None:
                self.timers.set(DirectTimer.ANSWER, now + options.timeout)
            return
        left = options.limit - self.got if options.limit else 0
        start = self.last_seq + 1 if self.last_seq else 0
        members = options.page_from(start, self.up_to_seq, left)
        self._page = 0
        self._token = self.port.call(Call(self._subject, to_json(members), None, options.timeout))
        self.timers.set(DirectTimer.ANSWER, now + options.timeout)

    def _came(self, found: StoredMessage, now: float) -> None:
        options = self.options
        if found.seq <= self.last_seq:
            raise InvalidResponse(
                f"{self._about}: expected a sequence after {self.last_seq}, got {found.seq}"
            )
        since = options.start_time
        if isinstance(since, Timestamp) and not self.got and found.time < since:
            raise InvalidResponse(
                f"{self._about}: expected a message of {since} or later, got one of {found.time}: "
                "servers before 2.11 do not know a start time"
            )
        if options.multi_last and self.pending is not None and found.num_pending is not None:
            self.overtaken += max(0, self.pending - 1 - found.num_pending)
        self.pending = found.num_pending
        self.last_seq = found.seq
        self.got += 1
        self._page += 1
        self._retries = 0
        self._messages.append(found)
        if options.limit and self.got >= options.limit:
            self.end()
        elif found.num_pending is None:
            self._token = 0
            self._ask(now)

    def _status(self, answer: Message, now: float) -> None:
        code, text = answer.status or (0, "")
        row = judge(code, text, StatusContext.DIRECT)
        if row.verdict is StatusAction.COMPLETE:
            self._page_over(answer.frame[3] or b"", now)
        elif row.verdict is StatusAction.GONE_FOR_NOW:
            self._gone(now)
        else:
            error = direct_error(answer, self._about)
            if isinstance(error, MessageNotFound):
                if self.options.multi_last and self.pending:
                    # 2.11 takes a deleted message for the last of its subject and stops when it
                    # reaches it.
                    raise InvalidResponse(
                        f"{self._about}: expected {self.pending} more messages,"
                        f" the server broke off with {code} {text}"
                    )
                self.pending = 0
                self.end()
            elif isinstance(error, BadRequestStatus) and self.options.multi_last and not self.got:
                # A server before 2.11 knows none of the fields in this request.
                self._token = 0
                self.timers.clear()
                self._together = True
                self._each.opened(self.port, now)
                self._judge_each()
            else:
                raise error

    def _page_over(self, block: bytes, now: float) -> None:
        pending = header_value(block, b"Nats-Num-Pending")
        up_to = header_value(block, b"Nats-UpTo-Sequence")
        if pending is None:
            raise InvalidResponse(
                f"{self._about}: expected an end that says what is pending, got none"
            )
        before, left = self.pending, number(pending)
        if self.options.multi_last:
            if up_to is not None:
                self.up_to_seq = number(up_to)
            if self._page:
                # The last message has the right number; in the end of a page, 2.11 counts one too
                # few.
                left = before or 0
            else:
                self.overtaken += before or 0
        self.pending = left
        if not left:
            self.end()
        elif not self._page:
            raise InvalidResponse(
                f"{self._about}: expected messages, {left} are pending, none came"
            )
        else:
            self._token = 0
            self._ask(now)

    def _gone(self, now: float) -> None:
        """Process "no responders": retry for a while, if messages arrived before."""
        self._token = 0
        self._retries += 1
        if not self.got or self._retries > self.RETRIES:
            raise NoResponders(no_direct(self._about, self._subject), self._subject)
        self.timers.clear()
        self.timers.set(DirectTimer.RETRY, now + self.RETRY_WAIT)

    def _judge_each(self) -> None:
        if self._each.done and not self.ended:
            if self._each.error is None:
                self.got = len(self._each.result)
                self.pending = 0
            self.end(self._each.error)

    # ------------------------------------------------------------------ snapshot

    def snapshot(self) -> Snapshot:
        """Return the state, and the messages that were not taken."""
        return {**super().snapshot(), "messages": [each.state for each in self._messages]}

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore the state that `snapshot` returned."""
        super().restore(data)
        states = cast(
            "list[tuple[str, str, int, str, bytes | None, bytes, int | None]]", data["messages"]
        )
        self._messages = deque(StoredMessage(*state) for state in states)


def last_of_each(
    api: ApiSubjects, stream: str, options: BatchOptions
) -> Steps[tuple[StoredMessage, ...]]:
    """Return the last message of each subject, with one request each: for servers before 2.11.

    A message that is stored meanwhile lies after the last sequence at the begin. Then the procedure
    starts again, a few times.

    Raises:
        InvalidResponse: ``up_to_seq`` or ``up_to_time`` is set, or the stream changes faster than
            it can be read.
    """
    about = RequestContext(what="last message of each subject", stream=stream)
    if options.up_to_seq is not None or options.up_to_time is not None:
        raise InvalidResponse(f"{about}: servers before 2.11 cannot look at a stream as it was")
    for _ in range(RACES):
        found = yield from _last_of_each(api, stream, options)
        if found is not None:
            return found
    raise InvalidResponse(f"{about}: the stream changed while it was read, {RACES} times")


def _last_of_each(
    api: ApiSubjects, stream: str, options: BatchOptions
) -> Steps[tuple[StoredMessage, ...] | None]:
    info = yield from stream_info(api, stream, timeout=options.timeout)
    subjects: set[str] = set()
    for pattern in options.multi_last:
        said = yield from stream_info(api, stream, subjects_filter=pattern, timeout=options.timeout)
        subjects.update(said.state.subjects)
    found: list[StoredMessage] = []
    for subject in sorted(subjects):
        which = MessageSelector(last_by_subj=subject)
        try:
            message = yield from stored_message(
                api, stream, which, direct=True, timeout=options.timeout
            )
        except MessageNotFound:
            # The message is gone now; or 2.9 and 2.11 take a deleted message for the last one.
            return None
        if message.seq > info.state.last_seq:
            return None
        if message.seq >= (options.seq or 0):
            found.append(message)
    found.sort(key=lambda each: each.seq)
    return tuple(found[: options.limit] if options.limit else found)
