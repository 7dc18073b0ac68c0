"""From a publish to the subscriptions that want it.

The router holds the interest of all connections and moves messages to them: what clients publish,
what JetStream delivers (with the stored subject, to whoever listens on an inbox), and what the
server says itself. Of each queue group one member is chosen by the model's own generator, so the
same seed makes the same choices.
"""

from __future__ import annotations

import json
from typing import Final, Protocol

from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.gotime import rfc3339
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.subjects import NOBODY, InterestTable

_BITS: Final = 2**64 - 1
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class Lottery:
    """A linear congruential generator (Knuth's MMIX constants): the model's only source of choice."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed * 2_862_933_555_777_941_757 + 3_037_000_493) % 2**64

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        self._state = (self._state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & _BITS
        return (self._state >> 33) % limit

    def name(self, length: int) -> str:
        """Letters and digits, as in ids and names of ephemeral consumers."""
        return "".join(_BASE62[self.below(62)] for _ in range(length))

    def key(self, prefix: str) -> str:
        """56 characters that look like an nkey, beginning with ``prefix``."""
        return prefix + "".join(_BASE32[self.below(32)] for _ in range(56 - len(prefix)))


class Receiver(Protocol):
    """The connection that a subscription belongs to."""

    #: It wants its own messages back.
    echo: bool

    def deliver(
        self,
        sub: SimSubscription,
        subject: str,
        reply: str,
        block: bytes | None,
        payload: bytes,
        *,
        two_blanks: bool,
    ) -> None:
        """Write one message for ``sub``."""


class SimSubscription:
    """Interest of one connection. ``limit`` counts messages from the beginning; 0 is no limit."""

    __slots__ = ("delivered", "limit", "queue", "receiver", "sid", "subject")

    def __init__(self, receiver: Receiver, sid: str, subject: str, queue: str) -> None:
        self.receiver = receiver
        self.sid = sid
        self.subject = subject
        self.queue = queue
        self.limit = 0
        self.delivered = 0


class InterestRouter:
    """All interest of the server, and the ways to reach it."""

    __slots__ = ("_lottery", "_profile", "interest")

    def __init__(self, profile: Profile, lottery: Lottery) -> None:
        self.interest: InterestTable[SimSubscription] = InterestTable()
        self._profile = profile
        self._lottery = lottery

    def name(self, length: int) -> str:
        """An id of so many letters and digits."""
        return self._lottery.name(length)

    def bound(self, subject: str, queue: str) -> bool:
        """Whether somebody listens on exactly this subject, as a member of ``queue`` if one is
        named.
        """
        plain, groups = self.interest.match(subject)
        if not queue:
            return any(sub.subject == subject for sub in plain)
        return any(
            sub.subject == subject and sub.queue == queue for members in groups for sub in members
        )

    def interested(self, inbox: str) -> bool:
        """Whether anybody listens on ``inbox``."""
        return self.interest.match(inbox) is not NOBODY

    def publish(
        self, origin: Receiver | None, subject: str, reply: str, block: bytes | None, payload: bytes
    ) -> bool:
        """A client's message to all who want it; answers whether anybody did."""
        if (
            self.interest.match(subject) is NOBODY
        ):  # nearly always: acknowledgements, and what a stream takes
            return False
        return self._send(origin, subject, subject, reply, block, payload, two_blanks=False)

    def deliver(
        self, inbox: str, subject: str, reply: str, block: bytes | None, payload: bytes
    ) -> None:
        """A stored message, under its own subject, to whoever listens on ``inbox``."""
        self._send(None, inbox, subject, reply, block, payload, two_blanks=False)

    def say(self, inbox: str, block: bytes | None, payload: bytes = b"") -> None:
        """A status, an acknowledgement or the like: before 2.10 the server frames it with an empty
        reply.
        """
        self._send(None, inbox, inbox, "", block, payload, two_blanks=self._profile.two_blanks)

    def ask(self, inbox: str, block: bytes, reply: str) -> None:
        """A status that is to be answered."""
        self._send(None, inbox, inbox, reply, block, b"", two_blanks=False)

    def answer(self, inbox: str, body: str, *, two_blanks: bool = False) -> None:
        """An answer of the API."""
        self._send(None, inbox, inbox, "", None, body.encode(), two_blanks=two_blanks)

    def advise(
        self, subject: str, kind: str, members: Table, now: int, *, two_blanks: bool | None = None
    ) -> None:
        """An advisory or a metric; ``two_blanks`` as in `say` if it is left out."""
        if not self.interest.wants(subject):
            return
        table: Table = {
            "type": kind,
            "id": self._lottery.name(22),
            "timestamp": rfc3339(now),
            **members,
        }
        blanks = self._profile.two_blanks if two_blanks is None else two_blanks
        body = json.dumps(table, separators=(",", ":")).encode()
        self._send(None, subject, subject, "", None, body, two_blanks=blanks)

    def _send(  # noqa: PLR0917  # the parts of a message, from hand to hand
        self,
        origin: Receiver | None,
        to: str,
        subject: str,
        reply: str,
        block: bytes | None,
        payload: bytes,
        *,
        two_blanks: bool,
    ) -> bool:
        plain, groups = self.interest.match(to)
        chosen = plain if origin is None or origin.echo else _others(origin, plain)
        for members in groups:
            able = members if origin is None or origin.echo else _others(origin, members)
            if able:
                chosen = (*chosen, able[self._lottery.below(len(able))])
        for sub in chosen:
            sub.delivered += 1
            sub.receiver.deliver(sub, subject, reply, block, payload, two_blanks=two_blanks)
        return bool(chosen)


def _others(origin: Receiver, subs: tuple[SimSubscription, ...]) -> tuple[SimSubscription, ...]:
    """Without those of the sender, who does not want its own messages back."""
    return tuple(sub for sub in subs if sub.receiver is not origin)
