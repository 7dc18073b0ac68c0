"""Reading a range directly: batches of direct gets, page after page, which any replica of the
stream may answer (ADR-31).

Theory. A page is one question to an inbox of our own, and its answers are frames on the question's
token: messages, each with its place in headers behind its own, then ``204 EOB``; or ``404`` if
there is none. One page is under way at a time, and only if what is at hand leaves room for it, so
no more than the bounds is ever held. A page that ends with nothing pending, or a 404, is told as
`QUIET`: another replica may know better.

A server before 2.11 answers the first message alone and does not say what is pending; that gives it
away, and ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.message import Message
from jsproto.core.state import PLAIN, Codecs
from jsproto.errors.tree import InvalidResponse, JsprotoError, NoResponders, RequestTimeout
from jsproto.jetstream.api.envelope import to_json
from jsproto.jetstream.api.errors import MessageNotFound, RequestContext
from jsproto.jetstream.api.requests.messages import direct_error, number
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.errors import DirectUnavailable
from jsproto.jetstream.pull.request import message_sizes
from jsproto.jetstream.range_read.options import RangeOptions
from jsproto.jetstream.range_read.progress import RangeProgress
from jsproto.jetstream.range_read.rows import StoredRows, place_of
from jsproto.jetstream.range_read.source import RangeSource, SourceEvent
from jsproto.jetstream.server_headers import added_by_get
from jsproto.jetstream.status import StatusAction, StatusContext, judge
from jsproto.wire.frames import BLOCK, SUBJECT, Delivery
from jsproto.wire.headers import header_value, status_of
from jsproto.wire.subjects import subject_matches


class DirectGetSource(RangeSource):
    """Pages of direct gets.

    Attributes:
        count: messages at hand, and their bytes as ``size``.
        size: see ``count``.
    """

    __slots__ = ("_about", "_options", "_subject", "_token", "_until", "_wanting", "count", "size")

    STATE: ClassVar[Codecs] = {
        **RangeSource.STATE,
        "_token": PLAIN,
        "_until": PLAIN,
        "_wanting": PLAIN,
        "count": PLAIN,
        "size": PLAIN,
    }

    rows = StoredRows

    def __init__(
        self, api: ApiSubjects, stream: str, options: RangeOptions, track: RangeProgress
    ) -> None:
        super().__init__(track)
        self._about = RequestContext(what="direct read of a range", stream=stream)
        self._subject = api.direct_get(stream)
        self._options = options
        self._token = ""
        self._until = 0.0
        # The next page is due as soon as there is room.
        self._wanting = False
        self.count = 0
        self.size = 0

    # ------------------------------------------------------------------ life

    def begin(self, port: Port, now: float) -> None:
        """Listen on a fresh inbox, and ask for the first page."""
        port.subscribe()
        self._wanting = True
        self._ask(port, now)

    def again(self, port: Port, now: float) -> None:
        """Ask for the next page; perhaps somebody else answers."""
        self._wanting = True
        self._ask(port, now)

    def leave(self, port: Port, now: float) -> None:
        """What was asked is of no use."""
        self._token = ""
        self._wanting = False

    def link_down(self, port: Port, now: float) -> None:
        """What was asked is lost."""
        self.leave(port, now)

    def _ask(self, port: Port, now: float) -> None:
        """Ask for the next page, if it is wished for, nothing is under way and there is room."""
        options = self._options
        room = self.count <= options.max_messages // 2 and self.size <= options.max_bytes // 2
        if not self._wanting or self._token or not room:
            return
        subjects = options.subjects
        members: dict[str, object] = {
            "seq": self.track.next,
            "next_by_subj": subjects[0] if len(subjects) == 1 else ">",
            "batch": min(self.track.left, max(1, options.max_messages // 2)),
            "max_bytes": max(1, options.max_bytes // 2),
        }
        self._wanting = False
        self._token = port.ask(self._subject, to_json(members))
        self._until = now + options.create_timeout

    # ------------------------------------------------------------------ answers

    def delivered(self, run: Sequence[Delivery], port: Port, now: float, *, closed: bool) -> None:
        """Messages and the end of a page."""
        page: list[Delivery] = []
        places: list[int] = []
        try:
            for frame in run:
                if closed or not self._token or frame[SUBJECT] != self._token:
                    self.strays += 1
                    continue
                self._until = now + self._options.create_timeout
                block = frame[BLOCK]
                place = (
                    None if block is None else header_value(added_by_get(block), b"Nats-Sequence")
                )
                if place is not None:
                    page.append(frame)
                    places.append(number(place))
                    continue
                self._keep(page, places)
                page, places = [], []
                self._said(frame)
            self._keep(page, places)
        except JsprotoError as error:
            self._token = ""
            self.happened.append((SourceEvent.FATAL, error))
        self._ask(port, now)

    def _keep(self, page: list[Delivery], places: list[int]) -> None:
        """Messages for the reader, each with its sequence, up to the end of the range."""
        if not page:
            return
        track = self.track
        for before, place in zip([track.last, *places], places, strict=False):
            if place <= before:
                raise InvalidResponse(
                    f"{self._about}: expected a sequence behind {before}, got {place}"
                )
        if header_value(added_by_get(page[-1][BLOCK] or b""), b"Nats-Num-Pending") is None:
            raise DirectUnavailable(
                f"{self._about}: expected an answer that says what is pending, got none: "
                "servers before 2.11 do not answer direct gets in batches"
            )
        inside = sum(place < track.hi for place in places)
        if inside:
            track.received(places[0], places[inside - 1], inside, places[:inside])
            frames = self._matching(page[:inside])
            self.count += len(frames)
            self.size += message_sizes(frames)
            self.happened.append((SourceEvent.ROWS, frames))
        if inside < len(page):
            track.passed()
        if track.complete:
            self._token = ""

    def _matching(self, page: list[Delivery]) -> list[Delivery]:
        """Of several subjects none can be left to the server."""
        subjects = self._options.subjects
        if len(subjects) < 2:
            return page
        return [
            frame
            for frame in page
            if any(
                subject_matches(each, place_of(frame[BLOCK], b"Nats-Subject")) for each in subjects
            )
        ]

    def _said(self, frame: Delivery) -> None:
        """A status: the end of a page, or why there is none."""
        if not self._token:
            self.strays += 1
            return
        self._token = ""
        answer = Message(frame)
        block = frame[BLOCK] or b""
        row = judge(*(status_of(block) or (0, "")), StatusContext.DIRECT)
        if row.verdict is StatusAction.COMPLETE:
            pending = header_value(block, b"Nats-Num-Pending")
            if pending is not None and number(pending):
                self._wanting = True
            else:
                self.happened.append((SourceEvent.QUIET, None))
            return
        if row.verdict is StatusAction.GONE_FOR_NOW:
            text = f"{self._about}: expected an answer on {self._subject!r}, nobody listens"
            self.happened.append((SourceEvent.LOST, NoResponders(text, self._subject)))
            return
        error = direct_error(answer, self._about)
        if isinstance(error, MessageNotFound):
            self.happened.append((SourceEvent.QUIET, None))
        else:
            raise error

    def taken(self, frames: Sequence[Delivery], port: Port, now: float) -> None:
        """There is room for more."""
        self.count -= len(frames)
        self.size -= message_sizes(frames)
        self._ask(port, now)

    # ------------------------------------------------------------------ time and refusals

    def ticked(self, port: Port, now: float, *, at_hand: bool) -> None:
        """The server is silent for too long."""
        if self._token and self._until <= now:
            self._token = ""
            text = (
                f"{self._about}: expected an answer on {self._subject!r} within "
                f"{self._options.create_timeout:g} s, none came"
            )
            self.happened.append((SourceEvent.LOST, RequestTimeout(text)))

    def refused(self, subject: str, error: JsprotoError, port: Port, now: float) -> None:
        """Direct gets are not permitted, or there is no inbox."""
        if subject and subject in {self._subject, port.subject}:
            self.happened.append((SourceEvent.FATAL, error))

    @property
    def deadline(self) -> float | None:
        """When the server's silence is long enough."""
        return self._until if self._token else None
