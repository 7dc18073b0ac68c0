"""Fetch: so many messages, or bytes, by one request, with a definite end (ADR-37 "Fetch", ADR-13).

Theory. A fetch subscribes to an inbox of its own, publishes one pull, hands out what comes, and
ends exactly once, by the first of: all that was asked for, a status of its pull, missed heartbeats,
its own deadline, the loss of the link, a refusal, the user. `Fetch.reason` says which, and
`Fetch.cause` is the error behind it. Messages that came are never lost to an error: `take` raises
only if there were none.

The local deadline lies behind the server's expiry (ADR-37), so that what is sent in the last moment
still arrives. A fetch that ends before the server has said so leaves with UNSUB and a fence; what
still comes in front of the fence is given back. After a status or a full batch nothing can come any
more.

A fetch that is open for longer than ``ack_wait`` is sent its own messages again, since nobody has
settled them. They are handed out like any other delivery, and the user is told once: the second
delivery of a sequence that is not below the fetch's first can hardly be news.

Opened without a link it waits for one, as long as its time allows.

The mode `FetchMode.NO_WAIT` is sent without an expiry, else an empty stream would be waited for. At
a full ack window the server answers nothing at all to it; the local deadline, `AT_ONCE` unless told
otherwise, and UNSUB close it then.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final, cast

from jsproto.core.conversation.conversation import StopMode
from jsproto.core.state import ERROR, PLAIN, Codecs, IdentityEnum, Snapshot
from jsproto.errors.tree import ConnectionLost, InvalidConfig, JsprotoError, LinkError
from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.jetstream.errors import BadRequestStatus
from jsproto.jetstream.heartbeat import liveness_of
from jsproto.jetstream.pull.base import M, Make, PullFeed
from jsproto.jetstream.pull.existence_check import names_of
from jsproto.jetstream.pull.fetch_options import FetchMode, FetchOptions
from jsproto.jetstream.pull.request import (
    BYTES_BATCH,
    OpenPull,
    Pull,
    PullNotice,
    message_sizes,
    pin_of,
    pinned_sizes,
)
from jsproto.jetstream.status import EndReason, StatusAction, judge, pending_of
from jsproto.wire.frames import REPLY, SUBJECT, Delivery

__all__ = [
    "TRANSITIONS",
    "Fetch",
    "FetchInput",
    "FetchMode",
    "FetchOne",
    "FetchOptions",
    "FetchState",
]


#: Ends after which the server has nothing more to say, where one answer was all it had.
_ANSWERS: Final = frozenset({EndReason.FILLED, EndReason.EXPIRED, EndReason.NO_MESSAGES})


class FetchState(IdentityEnum):
    """The life of a fetch."""

    #: Not opened yet.
    NEW = "NEW"
    #: Opened without a link.
    WAITING = "WAITING"
    #: The pull is open.
    PULLING = "PULLING"
    #: Told to drain: what comes before the fence is still handed out.
    DRAINING = "DRAINING"
    #: Over for the user; what comes before the fence is given back.
    CLOSING = "CLOSING"
    #: Nothing can come any more.
    OVER = "OVER"


class FetchInput(IdentityEnum):
    """What moves a fetch."""

    #: It has a port now.
    OPENED = "OPENED"
    #: A pull went out.
    ASKED = "ASKED"
    #: The user wants only what is on its way or at hand.
    DRAINED = "DRAINED"
    #: It ended, and nothing can come any more.
    ENDED = "ENDED"
    #: It ended here first.
    LEFT = "LEFT"


TRANSITIONS: Final[Mapping[FetchState, Mapping[FetchInput, FetchState]]] = {
    FetchState.NEW: {FetchInput.OPENED: FetchState.WAITING, FetchInput.ENDED: FetchState.OVER},
    FetchState.WAITING: {FetchInput.ASKED: FetchState.PULLING, FetchInput.ENDED: FetchState.OVER},
    FetchState.PULLING: {
        FetchInput.ASKED: FetchState.PULLING,
        FetchInput.DRAINED: FetchState.DRAINING,
        FetchInput.ENDED: FetchState.OVER,
        FetchInput.LEFT: FetchState.CLOSING,
    },
    FetchState.DRAINING: {FetchInput.ENDED: FetchState.OVER, FetchInput.LEFT: FetchState.CLOSING},
    FetchState.CLOSING: {FetchInput.ENDED: FetchState.OVER},
    FetchState.OVER: {},
}


class Fetch(PullFeed[M]):
    """One request's worth of messages.

    Args:
        subject: the consumer's NEXT subject.
        options: what to fetch.
        message: makes the user's message.

    Attributes:
        reason: how it ended, ``None`` before.
        cause: the error behind the end, ``None`` if it was a good one. Raised by `take` if no
            message came.
        got: messages that came.
        size: their bytes, if bytes are bounded.
        pull: the request; a second one only if `FetchMode.DRAIN_THEN_WAIT` was told that older
            pulls come first.
        pin: the newest pin id of a pinned consumer; put it into the next fetch's options.
    """

    __slots__ = (
        "_again_from",
        "_fence",
        "_first",
        "_opened",
        "_queued",
        "_trusts",
        "_until",
        "cause",
        "got",
        "options",
        "pin",
        "pull",
        "reason",
        "size",
        "state",
    )

    STATE: ClassVar[Codecs] = {
        **PullFeed.STATE,
        "_again_from": PLAIN,
        "_fence": PLAIN,
        "_first": PLAIN,
        "_opened": PLAIN,
        "_queued": PLAIN,
        "_trusts": PLAIN,
        "_until": PLAIN,
        "cause": ERROR,
        "got": PLAIN,
        "pin": PLAIN,
        "reason": EndReason,
        "size": PLAIN,
        "state": FetchState,
    }

    def __init__(self, subject: str, options: FetchOptions, message: Make[M] | None = None) -> None:
        super().__init__(
            subject,
            liveness_of(options.heartbeat, options.heartbeat_factor),
            options.acking,
            message,
        )
        self.options = options
        self.state = FetchState.NEW
        self.reason: EndReason | None = None
        self.cause: JsprotoError | None = None
        self.got = 0
        self.size = 0
        self.pull: Pull | None = None
        self.pin = options.pin
        # Whether a pin id of a message may be the server's.
        self._trusts = options.may_pin
        self._opened = 0.0
        # The pull waits for its turn behind those of others: it can't be told again that they come
        # first.
        self._queued = False
        self._until = inf
        self._fence = 0
        # The reply subject of the first message, and from when on a message may come again for its
        # ack_wait.
        self._first = ""
        self._again_from = 0.0

    # ------------------------------------------------------------------ facts

    def opened(self, now: float) -> None:
        """Subscribe, and ask if the link is up."""
        self._configure_messages()
        self._move(FetchInput.OPENED)
        self._opened = now
        self._until = now + self.options.wait
        if self.options.one_answer:
            self.port.subscribe_for_one(self.subject)
        else:
            self.port.subscribe()
        if self.port.up:
            self._ask(now)

    def link_up(self, now: float) -> None:
        """Ask now, if it was opened without a link."""
        super().link_up(now)
        if self.state is FetchState.WAITING:
            self._ask(now)
        self._beat(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """The pull died with the link; what came so far is the result (B053)."""
        if self.state is FetchState.DRAINING:
            self._finish(EndReason.CLOSED)
        elif self.state is FetchState.PULLING:
            self._finish(EndReason.DISCONNECTED, error)
        elif self.state is FetchState.CLOSING:
            self._move(FetchInput.ENDED)

    def fenced(self, token: int, now: float) -> None:
        """Nothing that was sent before we left can come any more."""
        if token != self._fence:
            return
        if self.state is FetchState.DRAINING:
            self._finish(EndReason.CLOSED)
        elif self.state is FetchState.CLOSING:
            self._move(FetchInput.ENDED)

    def ticked(self, now: float) -> None:
        """The fetch's own time, or the server's silence, ends it."""
        self._beat(now)
        if self.state is FetchState.WAITING and now >= self._until:
            self._finish(
                EndReason.DISCONNECTED,
                ConnectionLost(
                    f"expected a link within {self.options.wait} s to pull on {self.subject}, there was none"
                ),
            )
        elif self.state is FetchState.PULLING:
            if now >= self._until:
                self._finish(EndReason.DEADLINE, left=True)
            elif self.liveness.judge(now) is not None:
                self._finish(EndReason.SILENT, self._missed(), left=True)

    def refused(self, subject: str, error: JsprotoError, now: float) -> None:
        """The server, or our own encoder, does not let the pull or the subscription through."""
        super().refused(subject, error, now)
        if not self.ended and subject in {self.subject, self.port.subject}:
            self._finish(EndReason.REFUSED, error)

    def told(self, wish: StopMode, now: float) -> None:
        """Drain: leave, and hand out what comes before the fence. Stop: a fetch asks for nothing
        new anyway.
        """
        if wish is StopMode.DRAIN and self.state is FetchState.PULLING:
            self._move(FetchInput.DRAINED)
            self.port.unsubscribe()
            self._fence = self.port.fence()
        elif wish is StopMode.DRAIN and self.state in {FetchState.NEW, FetchState.WAITING}:
            self._finish(EndReason.CLOSED)

    def closed(self, error: JsprotoError | None, now: float) -> None:
        """The user leaves: what is at hand and what still comes goes back to the server."""
        if not self.ended:
            if error is None:
                asked = self.state in {FetchState.PULLING, FetchState.DRAINING}
                self._finish(EndReason.CLOSED, left=asked)
            else:
                self._finish(
                    EndReason.DISCONNECTED if isinstance(error, LinkError) else EndReason.CLOSED,
                    error,
                )
        if error is None:
            self._abandon()
        self._let_go(error)

    # ------------------------------------------------------------------ what it shows

    @property
    def deadline(self) -> float | None:
        """When the fetch's own time or the server's silence would end it, or a beat calls for
        action.
        """
        beat = self.hands.due if self.port.up else None
        if self.state is not FetchState.PULLING and self.state is not FetchState.WAITING:
            return beat
        until = self._until
        silence = self.liveness.deadline
        if silence is not None and silence < until:
            until = silence
        if beat is not None and beat < until:
            until = beat
        return until if until < inf else None

    @property
    def finished(self) -> bool:
        """Nothing can come any more, and nothing is kept in progress; messages at hand can still be
        taken.
        """
        return self.state is FetchState.OVER and not (self.acking.keeps and self._held)

    def pulls(self, now: float) -> tuple[OpenPull, ...]:
        """The open pull as it stands, if there is one."""
        return () if self.pull is None or self.pull.end is not None else (self.pull.shown(now),)

    # ------------------------------------------------------------------ asking

    def _ask(self, now: float, *, no_wait: bool = True) -> bool:
        """Publish the request; ``False`` if there is no time left for it."""
        options = self.options
        template = options.template
        if now > self._opened or not no_wait:
            # ADR-37: expiry and margin fit into what is left; if nothing is left the deadline ends
            # it (invariant 16).
            left = options.server_wait - (now - self._opened)
            if left <= 0:
                return False
            template = options.request(left, no_wait=no_wait)
        batch = (options.max_messages or BYTES_BATCH) - self.got
        max_bytes = options.max_bytes - self.size if options.max_bytes else 0
        token = self.port.ask(self.subject, template.body(batch, max_bytes, self.pin))
        self._queued = not no_wait
        self.pull = Pull(token, batch, max_bytes, now, self._until if self._until < inf else None)
        self.liveness.promised(template.idle_heartbeat)
        self.liveness.watch(now)
        self._move(FetchInput.ASKED)
        return True

    # ------------------------------------------------------------------ what comes

    def _received(self, data: list[Delivery], now: float) -> None:
        if self.pull is None or self.state not in {FetchState.PULLING, FetchState.DRAINING}:
            self._give_back(data)
            return
        self.liveness.seen(now)
        pull = self.pull
        came = len(data)
        room = pull.batch - pull.got
        surplus: list[Delivery] = []
        if came > room:
            surplus = data[room:]
            data = data[:room]
            came = room
        self.backlog.push(data)
        self.got += came
        if self.hands.every:
            self.hands.came(came, now)
        pull.got += came
        if self._trusts:
            pin = next((pin for pin in map(pin_of, reversed(data)) if pin), self.pin)
            if pin != self.pin:
                self.pin = pin
                self.port.notify(PullNotice.PINNED, pin)
        if self.options.max_bytes:
            size = (pinned_sizes if self.options.may_pin else message_sizes)(data)
            self.size += size
            pull.size += size
        if self._first and now >= self._again_from:
            self._look_for_copies(data)
        if pull.got == pull.batch:
            # Where bytes are bounded too, the server (2.10 on) still says 409 Batch Completed.
            self._finish(
                EndReason.FILLED,
                left=bool(self.options.max_bytes) and self.state is FetchState.PULLING,
            )
        elif self.options.max_bytes and pull.owed_bytes == 0:
            self._finish(EndReason.BYTES_SPENT)
        elif not self._first:
            self._first = data[0][REPLY]
            self._again_from = now + (self.acking.wait or 0.0)
        if surplus:
            self._give_back(surplus)

    def _look_for_copies(self, data: list[Delivery]) -> None:
        """Whether messages come again that this fetch has got before; it costs two looks into a
        text for each run of messages.
        """
        new = ".{}.{}.1.".format(*names_of(self.subject))
        if new in data[0][REPLY] and new in data[-1][REPLY]:
            return
        try:
            least = AckSubject.parse(self._first).stream_sequence
            replies = [AckSubject.parse(frame[REPLY]) for frame in data]
        except InvalidAckSubject:
            return  # the message says so itself when it is asked for its metadata
        again = sum(reply.num_delivered > 1 and reply.stream_sequence >= least for reply in replies)
        if again:
            self._again_from = inf
            self.port.notify(PullNotice.REDELIVERED, again)

    def _status(self, frame: Delivery, block: bytes, status: tuple[int, str], now: float) -> None:
        pull = self.pull
        if pull is None or frame[SUBJECT] != pull.token or pull.end is not None:
            self.strays += 1
            return
        self.liveness.seen(now)
        row = judge(*status)
        if row.verdict is StatusAction.HEARTBEAT:
            return
        if row.end is None:
            self.port.notify(PullNotice.UNKNOWN_STATUS, self._error_of(row, status))
            return
        if row.verdict is StatusAction.DOES_NOT_FIT:
            pending = pending_of(block)
            whole = pending is not None and pending[1] >= pull.max_bytes
            if not self.got and (whole or pending is None):
                self._finish(EndReason.TOO_LARGE, self._error_of(row, status))
            else:
                self._finish(row.end)
        elif row.verdict is StatusAction.PULL_ENDED:
            if row.end is EndReason.REQUESTS_PENDING and self._again(pull, now):
                return
            self._finish(row.end)
        elif row.error is BadRequestStatus and self._without_pin(pull, now):
            self.port.notify(PullNotice.PIN_LOST, self._error_of(row, status))
        else:
            self._finish(row.end, self._error_of(row, status))

    def _again(self, pull: Pull, now: float) -> bool:
        """Older pulls of others come first: wait like them, if there is time to (B047)."""
        told = self.options.mode is FetchMode.DRAIN_THEN_WAIT and not self._queued
        if not told or self.state is not FetchState.PULLING or not self._ask(now, no_wait=False):
            return False
        pull.finish(EndReason.REQUESTS_PENDING)
        return True

    def _without_pin(self, pull: Pull, now: float) -> bool:
        """The server takes no pin id, so the one that was sent was a header of some publisher's:
        ask again without it.
        """
        if not self.pin or self.options.pinned or self.state is not FetchState.PULLING:
            return False
        self.pin = ""
        self._trusts = False
        if not self._ask(now):
            return False
        pull.finish(EndReason.REFUSED)
        return True

    # ------------------------------------------------------------------ ends

    def _finish(
        self, reason: EndReason, cause: JsprotoError | None = None, *, left: bool = False
    ) -> None:
        """End for the user. ``left``: the server does not know yet, so something can still come."""
        self.reason = reason
        self.cause = cause
        pull = self.pull
        if pull is not None and pull.end is None:
            pull.finish(reason)
        self.liveness.rest()
        if self.hands.every and not self.acking.keeps:
            self.hands.clear()
        if reason in _ANSWERS:
            self.port.answered()
        self.end(None if self.got else cause)
        if left and self.port.up:
            self._fence = self.port.fence()
            self._move(FetchInput.LEFT)
        else:
            self._move(FetchInput.ENDED)

    def _move(self, fact: FetchInput) -> None:
        self.state = TRANSITIONS[self.state][fact]

    # ------------------------------------------------------------------ state

    def snapshot(self) -> Snapshot:
        """Everything but the options and the message factory."""
        pull = None if self.pull is None else self.pull.snapshot()
        return {**super().snapshot(), "pull": pull}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        pull = cast("Mapping[str, object] | None", data["pull"])
        self.pull = None
        if pull is not None:
            self.pull = Pull("", 0)
            self.pull.restore(pull)


_ONE: Final = FetchOptions(max_messages=1)


class FetchOne(Fetch[M]):
    """One message: a `Fetch` of one. Without a message it ends as any fetch does; `reason` says
    how.

    Args:
        subject: the consumer's NEXT subject.
        options: as for a fetch; ``max_messages`` must be 1.
        message: makes the user's message.

    Raises:
        InvalidConfig: options for more than one message.
    """

    __slots__ = ()

    def __init__(
        self,
        subject: str,
        options: FetchOptions = _ONE,
        message: Make[M] | None = None,
    ) -> None:
        if options.max_messages != 1:
            raise InvalidConfig(
                f"expected max_messages=1 for one message, got {options.max_messages}"
            )
        super().__init__(subject, options, message)
