"""One pull request: what it asks (ADR-37, server consumer.go ``nextReqFromMsg``), and what became
of it.

Theory. A pull is published to the consumer's NEXT subject with a reply subject of its own, its
*token*. Messages then come on their stored subjects, only the sid tells that they are ours; a
status comes on the token and names its pull.

A `Pull` is the record of one request: asked, got, owed, and exactly one `EndReason`. A
`PullTemplate` writes request bodies with the two numbers that change. `message_size` is what the
server charges for a message.

Who may be believed: a frame on our inbox is a message of the consumer only if it has a reply
subject, to which it would be acknowledged, below ``$JS.ACK.``; it is a status only if it has none
and its subject is one of our tokens. A stored message with a forged status line (servers before
2.12 keep it) has such a reply and stays a message.

Times are seconds here and integer nanoseconds on the wire, which an int64 must hold: a longer
expiry is cut to that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from math import isfinite
from typing import ClassVar, Final, NamedTuple

from jsproto.core.numbers import is_number
from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import InvalidConfig, LocalProtocolError, shorten
from jsproto.jetstream.api.timestamps import INT64_MAX
from jsproto.jetstream.server_headers import PIN_ID
from jsproto.jetstream.status import EndReason
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import EMPTY_BLOCK, header_value

#: Batch of a request that is bounded by bytes: a missing batch would mean one message (ADR-37).
BYTES_BATCH: Final = 1_000_000

_INT64_SECONDS: Final = INT64_MAX / 1e9
#: Group names (ADR-42) and pin ids need no escape in JSON.
_WORD: Final = re.compile(r"[A-Za-z0-9/_=-]{1,64}").fullmatch
_GROUP: Final = re.compile(r"[A-Za-z0-9/_=-]{1,16}").fullmatch


class PullNotice(Enum):
    """What a pulling conversation tells beside its messages; the detail is in brackets."""

    #: No frame came for longer than heartbeats allow (`HeartbeatsMissed`); once per silence.
    HEARTBEAT_MISSED = "HEARTBEAT_MISSED"
    #: The silence is over.
    RESUMED = "RESUMED"
    #: The consumer has a new leader; pulls are sent anew (`LeadershipChanged`).
    LEADERSHIP_CHANGED = "LEADERSHIP_CHANGED"
    #: The server of the consumer stops (`ServerShutdown`).
    SERVER_SHUTDOWN = "SERVER_SHUTDOWN"
    #: Nobody serves the consumer just now (`NoResponders`); once until somebody does.
    NO_RESPONDERS = "NO_RESPONDERS"
    #: A request was above a limit of the consumer (`PullLimitExceeded`).
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    #: The next message is larger than the byte budget (`NextMessageTooLarge`).
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    #: The consumer was deleted (`ConsumerDeleted`).
    CONSUMER_DELETED = "CONSUMER_DELETED"
    #: The server refuses for good (`StatusError`, `PermissionViolation`).
    REFUSED = "REFUSED"
    #: The server lets no ack through (`PermissionViolation`, which names the subject): what was
    #: settled comes again, and its message is open. Once for each link.
    ACK_REFUSED = "ACK_REFUSED"
    #: This client is the pinned one (the pin id).
    PINNED = "PINNED"
    #: Another client is pinned now (`PinLost`).
    PIN_LOST = "PIN_LOST"
    #: Deliveries are missing (`Gap`).
    GAP = "GAP"
    #: A status that this version does not know (`UnknownStatus`).
    UNKNOWN_STATUS = "UNKNOWN_STATUS"
    #: Messages wait at hand for so long that the server will deliver them again (their number).
    #: Once per spell.
    AGEING = "AGEING"
    #: A fetch gets messages again that it got before (how many came in one go): it has been open
    #: for longer than the consumer's ack_wait, or they were nak'd. Once for each fetch. Of a
    #: consumer with other readers they may have been with another one before.
    REDELIVERED = "REDELIVERED"
    #: Messages came after the end and went back to the server (their number).
    RETURNED = "RETURNED"
    #: Messages that nobody took are lost to this reader: their consumer wants no acks (their
    #: number).
    DROPPED = "DROPPED"
    #: Something came that is neither a message of a consumer nor a status (the frame's subject).
    STRAY = "STRAY"


# ------------------------------------------------------------------------------------------------ the record


class Pull(Snapshottable):
    """One request.

    Attributes:
        token: its reply subject.
        batch: messages asked for.
        max_bytes: bytes asked for, 0 if not bounded.
        issued: when it went out.
        until: when it is over even if the server says nothing; ``None`` if it waits for ever.
        got: messages that count for it. Messages do not name their pull, so the oldest open one is
            credited.
        size: their bytes, as the server counts them; only where bytes are bounded.
        end: how it ended, ``None`` while it is open.
    """

    __slots__ = ("batch", "end", "got", "issued", "max_bytes", "size", "token", "until")

    STATE: ClassVar[Codecs] = {
        "token": PLAIN,
        "batch": PLAIN,
        "max_bytes": PLAIN,
        "issued": PLAIN,
        "until": PLAIN,
        "got": PLAIN,
        "size": PLAIN,
        "end": EndReason,
    }

    def __init__(
        self,
        token: str,
        batch: int,
        max_bytes: int = 0,
        issued: float = 0.0,
        until: float | None = None,
    ) -> None:
        self.token = token
        self.batch = batch
        self.max_bytes = max_bytes
        self.issued = issued
        self.until = until
        self.got = 0
        self.size = 0
        self.end: EndReason | None = None

    @property
    def owed(self) -> int:
        """Messages that can still come for it; 0 once it has ended."""
        return 0 if self.end is not None else self.batch - self.got

    @property
    def owed_bytes(self) -> int:
        """Bytes that can still come for it; 0 once it has ended."""
        return 0 if self.end is not None else max(0, self.max_bytes - self.size)

    @property
    def full(self) -> bool:
        """Whether it has got all that it asked for, in messages or in bytes."""
        return self.got == self.batch or 0 < self.max_bytes == self.size

    def shown(self, now: float) -> OpenPull:
        """How it stands."""
        return OpenPull(
            self.token,
            self.batch,
            self.got,
            self.owed,
            self.max_bytes,
            self.owed_bytes,
            now - self.issued,
            None if self.until is None else self.until - now,
        )

    def finish(self, end: EndReason) -> None:
        """It ends, once.

        Raises:
            LocalProtocolError: it has ended before.
        """
        if self.end is not None:
            raise LocalProtocolError(
                f"expected an open pull, {self.token} has ended as {self.end.name}"
            )
        self.end = end

    def __repr__(self) -> str:
        bytes_part = f", {self.size} of {self.max_bytes} bytes" if self.max_bytes else ""
        end = "open" if self.end is None else self.end.name
        return f"<Pull {self.token}: {self.got} of {self.batch}{bytes_part}, {end}>"


class OpenPull(NamedTuple):
    """An open pull as it stands, for whoever asks why nothing comes.

    Attributes:
        token: its reply subject, on which the server says what becomes of it.
        asked: messages asked for.
        got: messages that count for it.
        owed: messages that can still come.
        max_bytes: bytes asked for, 0 if not bounded.
        owed_bytes: bytes that can still come, 0 if not bounded.
        age: seconds since it went out.
        left: seconds until it is over even if the server says nothing; ``None`` if it waits for
            ever.
    """

    token: str
    asked: int
    got: int
    owed: int
    max_bytes: int
    owed_bytes: int
    age: float
    left: float | None


# ------------------------------------------------------------------------------------------------ the request


def nanoseconds(seconds: float) -> int:
    """Seconds above 0 as the wire has them: at least one, and cut to what an int64 holds (B062)."""
    return INT64_MAX if seconds >= _INT64_SECONDS else max(1, round(seconds * 1_000_000_000))


def heartbeat_within(heartbeat: float, expires: float) -> float:
    """A heartbeat in seconds, but at most half of the expiry, in the whole nanoseconds of the wire;
    0 where none fits.

    The half of an odd number of nanoseconds is rounded up on its way there, and the server answers
    400 to more than half.
    """
    most = nanoseconds(expires) // 2
    return heartbeat if not heartbeat or nanoseconds(heartbeat) <= most else most / 1_000_000_000


class PullTemplate:
    """Writes the bodies of one kind of request.

    Args:
        expires: seconds until the server ends it, ``None`` for never.
        idle_heartbeat: seconds, 0 for none; needs an expiry of at least twice as much (else the
            server answers 400).
        no_wait: answer with what is there; with an expiry: or else wait for the first.
        group: priority group (ADR-42).
        min_pending: overflow: only while at least so many messages are pending.
        min_ack_pending: overflow: only while at least so many acks are pending.
        priority: prioritized: 0 (first) to 9.

    Raises:
        InvalidConfig: values that the server is known to refuse, or that the wire can't hold.
    """

    __slots__ = ("_head", "_tail", "expires", "idle_heartbeat")

    def __init__(
        self,
        *,
        expires: float | None = None,
        idle_heartbeat: float = 0.0,
        no_wait: bool = False,
        group: str = "",
        min_pending: int = 0,
        min_ack_pending: int = 0,
        priority: int | None = None,
    ) -> None:
        if expires is not None and not (isfinite(expires) and expires > 0):
            raise InvalidConfig(f"expected expires above 0 s, or None, got {shorten(expires)}")
        if not (isfinite(idle_heartbeat) and idle_heartbeat >= 0):
            raise InvalidConfig(
                f"expected idle_heartbeat of 0 s or more, got {shorten(idle_heartbeat)}"
            )
        if idle_heartbeat and (
            expires is None or 2 * nanoseconds(idle_heartbeat) > nanoseconds(expires)
        ):
            raise InvalidConfig(
                f"expected idle_heartbeat of at most half of expires ({expires} s), got {idle_heartbeat} s"
            )
        _checked_priority(group, min_pending, min_ack_pending, priority)
        self.expires = expires
        self.idle_heartbeat = idle_heartbeat
        members = [
            f'"expires":{nanoseconds(expires)}' if expires is not None else "",
            f'"idle_heartbeat":{nanoseconds(idle_heartbeat)}' if idle_heartbeat else "",
            '"no_wait":true' if no_wait else "",
            f'"group":"{group}"' if group else "",
            f'"min_pending":{min_pending}' if min_pending else "",
            f'"min_ack_pending":{min_ack_pending}' if min_ack_pending else "",
            f'"priority":{priority}' if priority is not None else "",
        ]
        self._tail = "".join(f",{member}" for member in members if member)

    def body(self, batch: int, max_bytes: int = 0, pin: str = "") -> bytes:
        """One request: at most ``batch`` messages and ``max_bytes`` bytes (0 for no bound), for the
        pin if there is one.
        """
        size = f',"max_bytes":{max_bytes}' if max_bytes else ""
        pinned = f',"id":"{pin}"' if pin else ""
        return f'{{"batch":{batch}{size}{self._tail}{pinned}}}'.encode()


def _checked_priority(
    group: str, min_pending: int, min_ack_pending: int, priority: int | None
) -> None:
    if group and _GROUP(group) is None:
        raise InvalidConfig(
            f"expected a group of 1 to 16 letters, digits, / _ = or - (ADR-42), got {shorten(group)}"
        )
    for name, value in (("min_pending", min_pending), ("min_ack_pending", min_ack_pending)):
        if not (is_number(value, (int,)) and 0 <= value <= INT64_MAX):
            raise InvalidConfig(f"expected {name} from 0 to {INT64_MAX}, got {shorten(value)}")
    if priority is not None and not (is_number(priority, (int,)) and 0 <= priority <= 9):
        raise InvalidConfig(f"expected a priority from 0 to 9, got {shorten(priority)}")
    if not group and (min_pending or min_ack_pending or priority is not None):
        raise InvalidConfig("expected a group with min_pending, min_ack_pending or priority")


def checked_amount(name: str, value: int | None) -> None:
    """An amount that a request can carry: ``None``, or 1 to what an int64 holds.

    Raises:
        InvalidConfig: it is none.
    """
    if value is not None and not (is_number(value, (int,)) and 1 <= value <= INT64_MAX):
        raise InvalidConfig(f"expected {name} from 1 to {INT64_MAX}, got {shorten(value)}")


# ------------------------------------------------------------------------------------------------ the messages


def message_size(frame: Delivery) -> int:
    """Bytes of a message as the server counts them: stored subject, ack reply, header block and
    payload (ADR-37).
    """
    _, subject, reply, block, payload = frame
    size = len(payload) if block is None else len(payload) + len(block)
    if subject.isascii() and reply.isascii():
        return size + len(subject) + len(reply)
    return size + len((subject + reply).encode("utf-8", "surrogateescape"))


def message_sizes(frames: Sequence[Delivery]) -> int:
    """`message_size` of many together, in a few steps for all of them."""
    subjects = "".join([frame[1] for frame in frames])
    replies = "".join([frame[2] for frame in frames])
    size = sum([len(frame[4]) for frame in frames]) + sum(
        [len(frame[3]) for frame in frames if frame[3]]
    )
    if subjects.isascii() and replies.isascii():
        return size + len(subjects) + len(replies)
    return size + sum(
        len((frame[1] + frame[2]).encode("utf-8", "surrogateescape")) for frame in frames
    )


def pin_of(frame: Delivery) -> str:
    """The pin id of a message of a pinned consumer, ``""`` if none (B038: the last one counts).

    Only for a consumer that may be pinned: any publisher can have stored such a header, see
    `jsproto.jetstream.server_headers`.
    """
    block = frame[3]
    pin = header_value(block, PIN_ID) if block is not None else None
    return pin if pin and _WORD(pin) else ""


def checked_pin(pin: str) -> None:
    """Refuse a pin id that no server gives: it would stand in the request as it is.

    Raises:
        InvalidConfig: it is none.
    """
    if pin and (not isinstance(pin, str) or _WORD(pin) is None):
        raise InvalidConfig(
            f"expected a pin id of 1 to 64 letters, digits, / _ = or -, got {shorten(pin)}"
        )


def pinned_size(frame: Delivery) -> int:
    """`message_size` without the pin header, which the server adds after it has counted (2.11 to
    2.15).
    """
    block = frame[3]
    size = message_size(frame)
    start = block.rfind(b"\n" + PIN_ID + b":") if block is not None else -1
    if block is None or start < 0:
        return size
    added = block.find(b"\n", start + 1) - start
    return size - (len(block) if len(block) - added == len(EMPTY_BLOCK) else added)


def pinned_sizes(frames: Sequence[Delivery]) -> int:
    """`pinned_size` of many together."""
    return sum(map(pinned_size, frames))
