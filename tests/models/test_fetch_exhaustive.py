"""Every order of events up to a length of 8, through a fetch on a bare port; states that are the
same are visited once.

The search is that of `tests.models.orders`: a state is the snapshot less what is history only, and
what must hold is said of each step.
"""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

import pytest

from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.fetch import Fetch, FetchMode, FetchOptions, FetchState
from jsproto.wire.commands import Publish, Sub, Unsub
from tests.models import orders
from tests.models.orders import COMMON, NEXT, REPLY, SIZE, Point

ASKING: Final = {FetchState.PULLING, FetchState.WAITING}

STATUSES: Final = {
    **orders.STATUSES,
    "others first": (408, "Requests Pending"),
    "completed": (409, "Batch Completed"),
}
HARMLESS: Final = {"heartbeat", "strange", "stray"}
ALPHABET: Final = (*STATUSES, "data", "many", "stray", *COMMON)

#: State that no step can see, or that is the same for all: each with its reason.
LEFT_OUT: Final = {
    "_again_from": "for a notice", "_barred": "for a notice", "_first": "for a notice", "_trusts": "no group is asked for",
    "_opened": "taken as a difference", "cause": "taken as its class", "error": "taken as its class", "floor": "nothing is known of acks",
    "hands": "nothing is kept in progress", "prolonged": "a counter", "returned": "a counter", "served": "for the connection's drain",
    "strays": "a counter",
}  # fmt: skip
LOOKED_AT: Final = {
    "_fence", "_queued", "_until", "backlog", "ended", "got", "take_blocked", "liveness", "pin", "port", "reason", "put_blocked", "size", "state",
}  # fmt: skip


class World(orders.World):
    """A fetch in the state of a point, and what happens to it."""

    def __init__(
        self, options: FetchOptions, point: Point | None = None, *, up: bool = True
    ) -> None:
        self.fetch: Fetch[JsMessage] = Fetch(NEXT, options)
        super().__init__(self.fetch, point, up=up)

    def key(self) -> tuple[object, ...]:
        """The state, as far as anything to come depends on it."""
        fetch, port, pull, live = self.fetch, self.fetch.port, self.fetch.pull, self.fetch.liveness
        return (
            fetch.state, fetch.reason, fetch.ended, type(fetch.error), type(fetch.cause), fetch.take_blocked, fetch.put_blocked, fetch.pin,
            fetch.got, fetch.size, fetch.backlog.count, round(self.now - fetch._opened, 6), round(fetch._until - self.now, 6),
            pull and (pull.batch, pull.got, pull.max_bytes, pull.size, pull.end, round(self.now - pull.issued, 6)),
            live.heartbeat, live.silent, live.watching and round(self.now - live.since, 6),
            fetch._queued, port.up, bool(port.subject), tuple(token == fetch._fence for token in port.fences),
        )  # fmt: skip

    # ------------------------------------------------------------------ what happens

    def step(self, letter: str) -> bool:
        """Let it happen; ``False`` if it can't happen now."""
        fetch, port, pull = self.fetch, self.fetch.port, self.fetch.pull
        if letter in STATUSES:
            if pull is None or not port.up:
                return False
            numbers = (
                (pull.owed, pull.owed_bytes)
                if letter in {"expired", "too large", "completed"}
                else ()
            )
            self.says(pull.token, *STATUSES[letter], *numbers)
        elif letter in {"data", "many"}:
            if not port.up or fetch.backlog.count > 3:
                return False
            frame = (port.sid, "s.a", REPLY, None, b"")
            fetch.delivered([frame] * (5 if letter == "many" else 1), self.now)
        elif letter == "stray":
            if not port.up:
                return False
            self.says(f"{port.stem}999", 408, "Request Timeout", 5, 500)
        else:
            return self.common(letter)
        return True


# ------------------------------------------------------------------ what must hold


class Seen(NamedTuple):
    """What a step can be judged by."""

    state: FetchState
    ended: bool
    reason: object
    at_hand: int
    returned: int
    strays: int
    got: int
    asked: int


def seen(world: World) -> Seen:
    fetch, pull = world.fetch, world.fetch.pull
    asked = 0 if pull is None else int(pull.token.rpartition(".")[2])
    return Seen(
        fetch.state,
        fetch.ended,
        fetch.reason,
        fetch.backlog.count,
        fetch.returned,
        fetch.strays,
        fetch.got,
        asked,
    )


def judge_step(world: World, before: Seen, letter: str) -> None:
    fetch, port, pull = world.fetch, world.fetch.port, world.fetch.pull
    after = seen(world)
    commands = list(port.commands)
    port.commands.clear()
    port.notices.clear()
    pulls = [each for each in commands if isinstance(each, Publish) and each.subject == NEXT]
    naks = [each for each in commands if isinstance(each, Publish) and each.payload == b"-NAK"]

    # 12, 19: it ends once, its pull with it, and never without a reason.
    assert after.ended == (after.reason is not None)
    assert not before.ended or (after.ended, after.reason) == (True, before.reason)
    if after.ended:
        assert pull is None or pull.end is not None
        assert not port.subject
        assert fetch.error is None or not fetch.got
    # 13, 16 of a status: what names no pull of ours, and what ends none, changes nothing.
    if letter in HARMLESS:
        assert after._replace(strays=0) == before._replace(strays=0)
    # 15: it asks again once at most: when others came first, and then not in a loop.
    assert len(pulls) <= 1
    if pulls:
        assert letter in {"up", "others first"}
        assert after.asked <= (2 if letter == "others first" else 1) + (
            before.state is FetchState.WAITING
        )
    # 17: never more than the batch.
    assert fetch.options.max_messages is None or fetch.got <= fetch.options.max_messages
    # 18: a message is at hand, taken, given back, or counted where nobody can be told.
    came = {"data": 1, "many": 5}.get(letter, 0)
    gone = (letter == "take") + after.returned - before.returned
    lost = after.strays - before.strays if came else 0
    assert after.at_hand - before.at_hand == came - gone - lost
    assert len(naks) == after.returned - before.returned
    # 14, 25: while it asks there is a deadline, and a tick there does something.
    if after.state in ASKING and fetch.options.wait < inf:
        assert fetch.deadline is not None
    if letter.startswith("tick"):
        assert fetch.deadline is None or fetch.deadline > world.now
    # 20, 29: without a link nothing is said, and nothing that belonged to it survives.
    if not port.up:
        assert after.state is not FetchState.PULLING
        assert all(isinstance(each, (Sub, Unsub)) for each in commands)
    if before.ended:
        assert not pulls


def ends_in_time(options: FetchOptions, point: Point) -> None:
    """Though nothing more is ever heard it ends within its time."""
    world = World(options, point)
    while not world.fetch.ended:
        deadline = world.fetch.deadline
        assert deadline is not None
        assert deadline <= options.wait
        world.now = max(world.now, deadline)
        world.fetch.ticked(world.now)


def explore(options: FetchOptions, length: int) -> int:
    """All orders up to a length, opened with a link and without; gives the number of different
    states.
    """

    def ends(world: World, point: Point) -> None:
        if world.fetch.state in ASKING:
            ends_in_time(options, point)

    begun = [("up", World(options)), ("down", World(options, up=False))]
    return orders.explore(
        begun=begun,
        at=lambda point: World(options, point),
        alphabet=ALPHABET,
        seen=seen,
        judge=judge_step,
        ends=ends,
        length=length,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"max_messages": 1, "expires": 2.0}, 70),
        ({"max_messages": 3, "expires": 2.0, "idle_heartbeat": 1.0}, 100),
        ({"max_messages": 3, "expires": 2.0, "mode": FetchMode.NO_WAIT}, 100),
        ({"max_messages": 3, "expires": 2.0, "mode": FetchMode.DRAIN_THEN_WAIT}, 100),
        ({"max_bytes": 3 * SIZE, "expires": 2.0}, 100),
        ({"max_messages": 3, "max_bytes": 2 * SIZE, "expires": 2.0, "idle_heartbeat": 0.5}, 100),
    ],
    ids=str,
)
def test_in_every_order_of_events_a_fetch_ends_once_in_time_and_loses_nothing(options, least):
    assert explore(FetchOptions(**options), 8) >= least


def test_all_state_of_a_fetch_is_looked_at_or_left_out_for_a_reason():
    assert LOOKED_AT | set(LEFT_OUT) == set(Fetch.STATE)
    assert not LOOKED_AT & set(LEFT_OUT)
