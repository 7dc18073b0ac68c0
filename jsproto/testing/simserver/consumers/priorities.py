"""Priority groups: which of the waiting pulls may take the next message (ADR-42).

Three policies. *Overflow* holds a pull back until enough messages are pending, or enough of them
unacknowledged. *Pinned client* serves one client alone: the first pull without an id is given one,
which stays until its time is up, somebody unpins it, or it names another. *Prioritized* sorts the
queue by a number from 0 to 9. The policy judges pulls one by one while the queue looks for the next
(nats-server ``nextWaiting``); the queue itself does not know why.
"""

from __future__ import annotations

from collections.abc import Callable

from jsproto.testing.simserver.consumers.advisories import Advisories
from jsproto.testing.simserver.consumers.pulls import WaitingPull
from jsproto.testing.simserver.values.documents import Table, integer, text, texts
from jsproto.testing.simserver.values.gotime import rfc3339
from jsproto.testing.simserver.values.headers import with_headers
from jsproto.testing.simserver.values.profile import Profile


class Priorities:
    """The priority policy of one consumer, and the pinned client."""

    __slots__ = (
        "_advisories",
        "_name",
        "_pin",
        "_pinned_at",
        "_profile",
        "_timeout",
        "_unpin_at",
        "groups",
        "policy",
    )

    def __init__(
        self, profile: Profile, name: Callable[[int], str], advisories: Advisories
    ) -> None:
        self._profile = profile
        self._name = name
        self._advisories = advisories
        #: ``""``: none.
        self.policy = ""
        self.groups: list[str] = []
        self._timeout = 0
        self._pin = ""
        self._pinned_at = 0
        self._unpin_at: int | None = None

    def configure(self, config: Table) -> None:
        """Take over the configuration of the consumer."""
        policy = text(config, "priority_policy")
        self.policy = "" if policy == "none" else policy
        self.groups = texts(config, "priority_groups")
        self._timeout = integer(config, "priority_timeout")

    @property
    def sorted(self) -> bool:
        """The queue is sorted by the priorities of its pulls."""
        return self.policy == "prioritized"

    @property
    def pins(self) -> bool:
        """One client alone is served."""
        return self.policy == "pinned_client"

    def state(self) -> list[Table]:
        """What a consumer info says of the groups."""
        if not self.groups:
            return []
        state: Table = {
            "group": self.groups[0],
            "pinned_ts": rfc3339(self._pinned_at if self._pin else 0),
        }
        if self._pin:
            state["pinned_client_id"] = self._pin
        return [state]

    # ------------------------------------------------------------------------------------------------ pulls

    def admit(self, pull: WaitingPull, now: int) -> tuple[list[str], bool]:
        """Check a new pull against the policy: what it is to be told, and whether it may wait all
        the same.
        """
        if not pull.formal or self._profile.number < (2, 11):
            return [], True
        told: list[str] = []
        if (pull.min_pending or pull.min_ack_pending) and self.policy != "overflow":
            told.append("400 Bad Request - Not a Overflow Priority consumer")
        if pull.id and not self.pins:
            told.append("400 Bad Request - Not a Pinned Client Priority consumer")
        if told and self._profile.bad_priority_ends:
            return told[:1], False
        refused = self._refused(pull, now)
        return ([*told, refused], False) if refused else (told, True)

    def _refused(self, pull: WaitingPull, now: int) -> str:
        if self._profile.prioritized and not 0 <= pull.priority <= 9:
            return "400 Bad Request - Priority must be between 0 and 9"
        if not self.policy:
            return ""
        if not pull.group:
            return "400 Bad Request - Priority Group missing"
        if pull.group not in self.groups:
            return "400 Bad Request - Invalid Priority Group"
        if self._pin and pull.id == self._pin:
            self._unpin_at = now + self._timeout
        elif self._pin and pull.id:
            return "423 Nats-Pin-Id mismatch"
        return ""

    def judge(
        self, pending: int, unacknowledged: int, now: int
    ) -> Callable[[WaitingPull], bytes | bool]:
        """The judge over pulls for one message, as the queue wants it; ``pending`` counts this
        message too.
        """

        def verdict(pull: WaitingPull) -> bytes | bool:
            if self.pins:
                return self._pinned(pull, now)
            return self.policy != "overflow" or self._overflows(pull, pending, unacknowledged)

        return verdict

    def _overflows(self, pull: WaitingPull, pending: int, unacknowledged: int) -> bool:
        wanted = [
            least <= seen
            for least, seen in ((pull.min_pending, pending), (pull.min_ack_pending, unacknowledged))
            if least > 0
        ]
        return (any(wanted) or not wanted) if self._profile.overflow_either else all(wanted)

    def _pinned(self, pull: WaitingPull, now: int) -> bytes | bool:
        if not self._pin and not pull.id:
            if pull.group:
                self._pin = pull.id = self._name(22)
                self._pinned_at = now
                self._unpin_at = now + self._timeout
                self._advisories.pinned(pull.group, self._pin, now)
            return True
        if pull.id == self._pin:
            return True
        return self._stale(pull) if pull.id else False

    def _stale(self, pull: WaitingPull) -> bytes:
        pending = pull.pending if self._profile.wrong_pin_headers else b""
        return b"NATS/1.0 423 Nats-Wrong-Pin-Id\r\n" + pending + b"\r\n"

    def dressed(self, block: bytes | None) -> bytes | None:
        """A header block with the id of the pin."""
        return with_headers(block, {"Nats-Pin-Id": self._pin})

    # ------------------------------------------------------------------------------------------------ the pin

    def unpin(self, group: str, reason: str, now: int) -> None:
        """Nobody is pinned any more."""
        self.forget()
        self._advisories.unpinned(group, reason, now)

    def forget(self) -> None:
        """The pin is gone, and nobody is told."""
        self._pin = ""
        self._unpin_at = None

    def deadline(self) -> int | None:
        """When the pin runs out."""
        return self._unpin_at

    def ticked(self, now: int) -> bool:
        """Whether the pin has run out now."""
        if self._unpin_at is None or self._unpin_at > now:
            return False
        self.unpin(self.groups[0], "timeout", now)
        return True
