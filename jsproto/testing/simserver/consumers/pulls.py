"""Pull requests and the queue in which they wait.

A pull is a promise of the server: so many messages, or bytes, until a moment. `parse_pull` reads
the request the way the server does (leniently: nats-server ``nextReqFromMsg``). :class:`Waiting` is
the round-robin queue: each message goes to the pull at its head, which then steps to the end
(ADR-13, nats-server ``nextWaiting`` and ``processWaiting``).

A pull whose inbox nobody listens on is not noticed when the listener goes, but when somebody looks:
at the next message, timer, request or info. Until then it keeps its place, and a new listener on
the same inbox revives it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from jsproto.testing.simserver.requests.requests import read_plainly
from jsproto.testing.simserver.values.documents import integer, text
from jsproto.testing.simserver.values.gojson import GoJsonError
from jsproto.testing.simserver.values.gotime import SECOND
from jsproto.testing.simserver.values.profile import Profile

#: Behind every priority that a request can name.
_LAST: Final = 2**31 - 1


class BadPullError(Exception):
    """The request cannot be understood; its text follows ``400 Bad Request - ``."""


class WaitingPull:
    """One waiting request. Moments are nanoseconds; 0 means never."""

    __slots__ = (
        "batch",
        "delivered",
        "expires_at",
        "formal",
        "group",
        "heartbeat",
        "heartbeat_at",
        "id",
        "max_bytes",
        "min_ack_pending",
        "min_pending",
        "no_wait",
        "priority",
        "reply",
    )

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.batch = 1
        self.max_bytes = 0
        self.expires_at = 0
        self.no_wait = False
        self.heartbeat = 0
        self.heartbeat_at = 0
        self.delivered = 0
        #: It came as JSON: only then it has a priority group.
        self.formal = False
        self.group = self.id = ""
        self.priority = _LAST
        self.min_pending = self.min_ack_pending = 0

    @property
    def pending(self) -> bytes:
        """The two headers that say what this pull still had coming."""
        return b"Nats-Pending-Messages: %d\r\nNats-Pending-Bytes: %d\r\n" % (
            self.batch,
            self.max_bytes,
        )


def parse_pull(body: bytes, reply: str, now: int, profile: Profile) -> WaitingPull:
    """Read a request: empty, a bare number, JSON, or any other text (which counts as one message).

    Raises:
        BadPullError: the JSON does not parse, has a wrong type, or asks for a heartbeat above half
            its expiry.
    """
    pull = WaitingPull(reply)
    asked = body.strip()
    if asked.startswith(b"{"):
        try:
            members = read_plainly(asked, "JSApiConsumerGetNextRequest", profile)
        except GoJsonError as error:
            raise BadPullError(str(error)) from error
        _fill(pull, members, now)
    elif asked:
        digits = asked[1:] if asked[:1] in {b"-", b"+"} else asked
        if digits.isdigit() and len(digits) < 19:
            pull.batch = int(asked)
    return pull


def _fill(pull: WaitingPull, members: Mapping[str, object], now: int) -> None:
    pull.batch = integer(members, "batch")
    pull.max_bytes = integer(members, "max_bytes")
    pull.no_wait = members.get("no_wait") is True
    pull.formal = True
    pull.group, pull.id = text(members, "group"), text(members, "id")
    pull.priority = integer(members, "priority")
    pull.min_pending, pull.min_ack_pending = (
        integer(members, name) for name in ("min_pending", "min_ack_pending")
    )
    expires = integer(members, "expires")
    heartbeat = integer(members, "idle_heartbeat")
    if expires:
        pull.expires_at = now + expires
    if heartbeat > 0:
        if 2 * heartbeat > expires:
            raise BadPullError("heartbeat value too large")
        pull.heartbeat, pull.heartbeat_at = heartbeat, now + heartbeat


class Waiting:
    """The pulls of one consumer, in the order in which they are served."""

    __slots__ = (
        "_full_at",
        "_interested",
        "_profile",
        "_swept_at",
        "last",
        "looked_at",
        "prioritized",
        "pulls",
    )

    def __init__(
        self, limit: int, profile: Profile, interested: Callable[[str], bool], now: int
    ) -> None:
        #: Those who wait; the first is served next.
        self.pulls: deque[WaitingPull] = deque()
        self._full_at = limit
        self._profile = profile
        self._interested = interested
        self._swept_at = now
        #: When somebody looked at every pull at the end and found nothing to do, and no other has
        #: come since.
        self.looked_at = -1
        #: The order is that of the priorities.
        self.prioritized = False
        #: When a pull came last, or something was delivered: what inactivity is measured from.
        self.last = now

    def __len__(self) -> int:
        return len(self.pulls)

    def __bool__(self) -> bool:
        return bool(self.pulls)

    def resize(self, limit: int) -> None:
        """A new ``max_waiting``."""
        self._full_at = limit

    @property
    def full(self) -> bool:
        """``max_waiting`` pulls are waiting."""
        return len(self.pulls) >= self._full_at

    @property
    def asked(self) -> int:
        """Messages that all waiting pulls together still want."""
        return sum(pull.batch for pull in self.pulls)

    def add(self, pull: WaitingPull, now: int) -> None:
        """A new pull takes its place."""
        self.last = now
        self.looked_at = -1
        self._line_up(pull)

    def _line_up(self, pull: WaitingPull) -> None:
        if not self.prioritized:
            self.pulls.append(pull)
            return
        place = next(
            (at for at, each in enumerate(self.pulls) if each.priority > pull.priority),
            len(self.pulls),
        )
        self.pulls.insert(place, pull)

    def stale(self, now: int) -> bool:
        """Whether a full queue may be swept now: at most once a second."""
        return now - self._swept_at > SECOND

    def serve(
        self,
        size: int,
        now: int,
        say: Callable[[str, bytes], None],
        judge: Callable[[WaitingPull], bytes | bool] | None = None,
    ) -> WaitingPull | None:
        """The pull that gets a message of ``size`` bytes, charged for it; ``None`` if nobody is
        left.

        Pulls that cannot take it (too few bytes left, expired, no listener) leave the queue here. A
        ``judge`` says ``True``: it may take the message, ``False``: another may, or the status with
        which it ends.
        """
        pulls = self.pulls
        expiry_first = self._profile.expiry_first
        passed = 0
        while pulls:
            pull = pulls[0]
            if pull.max_bytes > 0 and not expiry_first and not self._charge(pull, size, say):
                continue
            if pull.expires_at and now >= pull.expires_at:
                if self._profile.tells_expired:
                    say(pull.reply, b"NATS/1.0 408 Request Timeout\r\n" + pull.pending + b"\r\n")
                pulls.popleft()
                continue
            verdict = judge(pull) if judge is not None else True
            if verdict is False:
                pulls.rotate(-1)
                passed += 1
                if passed >= len(pulls):
                    return None
                continue
            if verdict is not True:
                say(pull.reply, verdict)
                pulls.popleft()
                continue
            if pull.max_bytes > 0 and expiry_first and not self._charge(pull, size, say):
                continue
            pulls.popleft()
            if not self._interested(pull.reply):
                continue
            pull.batch -= 1
            pull.delivered += 1
            if pull.batch > 0:
                if self.prioritized:
                    self._line_up(pull)
                else:
                    pulls.append(pull)
                if pull.heartbeat:
                    pull.heartbeat_at = now + pull.heartbeat
            return pull
        return None

    def _charge(self, pull: WaitingPull, size: int, say: Callable[[str, bytes], None]) -> bool:
        """Take ``size`` bytes from the budget that the pull at the head has; ``False``: too few are
        left, and it ends.
        """
        if size > pull.max_bytes:
            say(
                pull.reply,
                b"NATS/1.0 409 Message Size Exceeds MaxBytes\r\n" + pull.pending + b"\r\n",
            )
            self.pulls.popleft()
            return False
        pull.max_bytes -= size
        if pull.max_bytes == 0:
            pull.batch = 1
        return True

    def sweep(
        self,
        now: int,
        say: Callable[[str, bytes], None],
        beat: Callable[[str], None],
        *,
        at_end: bool,
    ) -> int:
        """Look at every pull: end what is over, drop what nobody listens to, send due heartbeats.
        Answers how many went.

        ``at_end``: the consumer has nothing more to give, which ends no_wait pulls that were given
        something, or that would wait for ever.
        """
        self._swept_at = now
        for pull in self.pulls:
            if (
                (pull.expires_at and now >= pull.expires_at)
                or (pull.heartbeat and now >= pull.heartbeat_at)
                or (pull.no_wait and at_end)
                or not self._interested(pull.reply)
            ):
                break
        else:  # nearly always
            if at_end:
                self.looked_at = now
            return 0
        before = len(self.pulls)
        kept: deque[WaitingPull] = deque()
        for pull in self.pulls:
            expired = pull.expires_at != 0 and now >= pull.expires_at
            served = at_end and pull.no_wait and (pull.delivered > 0 or self._waits_for_ever(pull))
            if expired or served:
                if served and not expired and self._profile.partial_no_wait_404:
                    say(pull.reply, b"NATS/1.0 404 No Messages\r\n\r\n")
                else:
                    say(pull.reply, b"NATS/1.0 408 Request Timeout\r\n" + pull.pending + b"\r\n")
                continue
            if not self._interested(pull.reply):
                continue
            if pull.heartbeat and now >= pull.heartbeat_at:
                beat(pull.reply)
                pull.heartbeat_at = now + pull.heartbeat
            kept.append(pull)
        self.pulls = kept
        return before - len(kept)

    def _waits_for_ever(self, pull: WaitingPull) -> bool:
        return self._profile.partial_no_wait_404 and not pull.expires_at

    def take_all(self) -> list[WaitingPull]:
        """Empty the queue and answer what was in it."""
        pulls = list(self.pulls)
        self.pulls.clear()
        return pulls

    def newest_by_reply(self) -> dict[str, WaitingPull]:
        """The youngest pull of each reply subject, in the order of the subjects' first use."""
        return {pull.reply: pull for pull in self.pulls}

    def deadline(self) -> int | None:
        """The next moment at which a pull expires or wants its heartbeat."""
        moments: list[int] = []
        for pull in self.pulls:
            if pull.expires_at:
                moments.append(pull.expires_at)
            if pull.heartbeat:
                moments.append(pull.heartbeat_at)
        return min(moments) if moments else None
