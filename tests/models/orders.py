"""Every order of events through one pulling feed on a bare port: the letters that all such feeds
have, and the search itself.

A state is the snapshot of the machine with its port; what makes two of them the same is said by the
feed's own world (`World.key`). From each state every letter of the alphabet is tried, and what must
hold is said of each step, by comparing what was with what is, so that nothing has to be remembered
about the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from jsproto.core.conversation.conversation import Port, Sids, StopMode
from jsproto.errors import ConnectionClosed, ConnectionLost, PermissionViolation
from jsproto.jetstream.delivery.message import JsMessage

NEXT: Final = "$JS.API.CONSUMER.MSG.NEXT.S.C"
REPLY: Final = "$JS.ACK.S.C.1.1.1.1795811553265218855.0"
SIZE: Final = len(REPLY) + len("s.a")
LOST: Final = ConnectionLost("the link was lost")

#: Letters that are a status of an open pull: code and text; the headers are what it owes.
STATUSES: Final = {
    "heartbeat": (100, "Idle Heartbeat"),
    "expired": (408, "Request Timeout"),
    "empty": (404, "No Messages"),
    "moved": (409, "Leadership Change"),
    "refused": (409, "Exceeded MaxWaiting"),
    "gone": (503, ""),
    "deleted": (409, "Consumer Deleted"),
    "unknown": (499, "Something New"),
    "too large": (409, "Message Size Exceeds MaxBytes"),
    "pin lost": (423, "Nats-Pin-Id mismatch"),
    "strange": (100, "Something New"),
}
#: Letters that mean the same to every feed: see `World.common`.
COMMON: Final = (
    "take", "tick", "tick late", "down", "up", "fence", "stop", "drain", "close", "denied", "connection over",
)  # fmt: skip


class Point(NamedTuple):
    """A state that was reached: how to get it back, and the way there."""

    snapshot: Mapping[str, object]
    now: float
    way: tuple[str, ...]


class World:
    """A feed in the state of a point, or just opened, and what happens to it."""

    def __init__(self, feed: Any, point: Point | None, *, up: bool = True) -> None:
        self.feed = feed
        self.now = 0.0
        if point is None:
            feed.port = Port(up=up)
            feed.opened(0.0)
            feed.port.commands.clear()
            return
        feed.port = Port(sids=Sids(1 + point.snapshot["port"]["generation"]))
        feed.restore(point.snapshot)
        self.now = point.now

    def key(self) -> tuple[object, ...]:
        """The state, as far as anything to come depends on it."""
        raise NotImplementedError

    def step(self, letter: str) -> bool:
        """Let it happen; ``False`` if it can't happen now."""
        raise NotImplementedError

    def common(self, letter: str) -> bool:
        """One of `COMMON`."""
        feed, port = self.feed, self.feed.port
        if letter == "take":
            if not feed.backlog.count:
                return False
            assert isinstance(feed.take(self.now), JsMessage)
        elif letter in {"tick", "tick late"}:
            deadline = feed.deadline
            if deadline is None:
                return False
            self.now = max(self.now, deadline) + (0.7 if letter == "tick late" else 0.0)
            feed.ticked(self.now)
        elif letter == "down":
            if not port.up:
                return False
            port.up = False
            port.fences.clear()
            feed.link_down(LOST, self.now)
        elif letter == "up":
            if port.up:
                return False
            port.up = True
            port.renew()
            feed.link_up(self.now)
        elif letter == "fence":
            if not port.fences:
                return False
            feed.fenced(port.fences.popleft(), self.now)
        elif letter == "close":
            feed.closed(None, self.now)
        elif letter == "denied":
            feed.refused(NEXT, PermissionViolation("no", NEXT), self.now)
        elif letter == "connection over":
            port.up = False
            port.fences.clear()
            feed.closed(ConnectionClosed("over"), self.now)
        else:
            feed.told(StopMode[letter.upper()], self.now)
        return True

    def says(self, token: str, code: int, text: str, messages: int = -1, size: int = 0) -> None:
        """A status, with what is pending if that is 0 or more."""
        headers = (
            f"Nats-Pending-Messages: {messages}\r\nNats-Pending-Bytes: {size}\r\n"
            if messages >= 0
            else ""
        )
        block = f"NATS/1.0 {code} {text}".rstrip() + f"\r\n{headers}\r\n"
        self.feed.delivered([(self.feed.port.sid, token, "", block.encode(), b"")], self.now)


def explore(
    *,
    begun: Iterable[tuple[str, World]],
    at: Callable[[Point], World],
    alphabet: Iterable[str],
    seen: Callable[[Any], Any],
    judge: Callable[[Any, Any, str], None],
    ends: Callable[[Any, Point], None],
    length: int,
) -> int:
    """All orders up to a length; gives the number of different states.

    Args:
        begun: the worlds from which it begins, each with what its beginning is called.
        at: the world at a point.
        alphabet: what may happen.
        seen: what a step can be judged by, before and after.
        judge: says what must hold of a step: the world, what was seen before, the letter.
        ends: is given each new state, to say what must hold of everything that could follow.
        length: most letters.
    """
    known: set[tuple[object, ...]] = set()
    frontier: list[Point] = []
    for name, world in begun:
        known.add(world.key())
        frontier.append(Point(world.feed.snapshot(), world.now, (name,)))
    for _ in range(length):
        reached: list[Point] = []
        for point in frontier:
            for letter in alphabet:
                world = at(point)
                before = seen(world)
                try:
                    if not world.step(letter):
                        continue
                    judge(world, before, letter)
                    key = world.key()
                    if key in known:
                        continue
                    known.add(key)
                    fresh = Point(world.feed.snapshot(), world.now, (*point.way, letter))
                    ends(world, fresh)
                except Exception as error:
                    error.add_note(f"after {' '.join((*point.way, letter))!r}")
                    raise
                reached.append(fresh)
        frontier = reached
    return len(known)
