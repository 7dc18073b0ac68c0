"""Every order of events up to a length, through a consume on a bare port; states that are the same
are visited once.

A state is the snapshot of the machine with its port, less what is history only: absolute times
become differences to now, names of tokens and inboxes become their order, and counters of what is
over are left out. The search is that of `tests.models.orders`; what must hold of each step are
invariants 10 to 20 of ``spec/invariants.toml``, and what timers promise.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.pull.consume import Consume, ConsumeOptions, ConsumeState
from jsproto.jetstream.pull.engine import PullEngine
from jsproto.jetstream.pull.request import Pull
from jsproto.wire.commands import Publish, Sub, Unsub
from tests.models import orders
from tests.models.orders import COMMON, NEXT, REPLY, SIZE, Point

#: A status is one of the oldest open pull.
STATUSES: Final = {**orders.STATUSES, "for good": (409, "Consumer is push based")}
ALPHABET: Final = (*STATUSES, "data", "late", "corrects", "ahead", "stray", *COMMON)

#: State that no step can see, or that is the same for all: each with its reason.
LEFT_OUT: Final = {
    "_barred": "for a notice",
    "_trusts": "no group is asked for",
    "_guard": "gaps are not watched here",
    "error": "taken as its class",
    "floor": "nothing is known of acks",
    "got": "counted only with stop_after",
    "hands": "nothing is kept in progress",
    "prolonged": "a counter",
    "returned": "a counter",
    "served": "for the connection's drain",
    "strays": "a counter",
}
LOOKED_AT: Final = {
    "_absent", "_fence", "_missing", "backlog", "ended", "take_blocked", "engine", "liveness", "pin",
    "_question", "port", "reason", "put_blocked", "state",
}  # fmt: skip
LOOKED_AT_IN_ENGINE: Final = {"_expires", "backoff", "credit", "ledger", "retry_at"}


class World(orders.World):
    """A consume in the state of a point, and what happens to it."""

    def __init__(self, options: ConsumeOptions, point: Point | None = None) -> None:
        self.consume: Consume[JsMessage] = Consume(NEXT, options)
        super().__init__(self.consume, point)

    def key(self) -> tuple[object, ...]:
        """The state, as far as anything to come depends on it."""
        consume, now = self.consume, self.now
        port, ledger, liveness, pace, budget = (
            consume.port, consume.ledger, consume.liveness, consume.engine.backoff, consume.engine.credit
        )  # fmt: skip
        fences = tuple(token == consume._fence for token in port.fences)
        accounts = tuple(
            None if each is None else (each.asked, each.level, each.limit, each.low)
            for each in (budget.messages, budget.size)
        )
        return (
            consume.state, consume.reason, consume.ended, type(consume.error), consume.take_blocked, consume.put_blocked,
            consume.pin, consume._missing, consume.engine._expires, consume.backlog.count,
            tuple(self._pull(pull) for pull in ledger.open.values()),
            tuple(self._pull(pull) for pull in ledger.filled.values()),
            accounts, budget.whole,
            liveness.heartbeat, liveness.silent, liveness.watching and round(now - liveness.since, 6),
            min(pace.failures, 2), max(0.0, round((pace.not_before or 0.0) - now, 6)),
            None if consume.engine.retry_at is None else round(consume.engine.retry_at - now, 6),
            port.up, bool(port.subject), fences, consume._absent, bool(consume._question),
        )  # fmt: skip

    def _pull(self, pull: Pull) -> tuple[object, ...]:
        # Whether it ended sooner than any delay is all that its age is good for.
        age = min(round(self.now - pull.issued, 6), 1.0)
        return (
            pull.batch,
            pull.got,
            pull.max_bytes,
            pull.size,
            age,
            round(pull.until - self.now, 6),
            pull.end,
        )

    # ------------------------------------------------------------------ what happens

    def step(self, letter: str) -> bool:
        """Let it happen; ``False`` if it can't happen now."""
        consume, port = self.consume, self.consume.port
        if letter in STATUSES:
            return self._status(letter)
        if letter == "data":
            if not consume.ledger.open:
                return False
            self._comes(port.sid)
        elif letter == "late":
            if port.generation < 2 or consume.backlog.count > 1 or not port.up:
                return False
            self._comes("given up")
        elif letter == "corrects":
            filled = list(consume.ledger.filled.values())
            if not filled or not port.up:
                return False
            self.says(filled[-1].token, 408, "Request Timeout", 1, min(SIZE, filled[-1].max_bytes))
        elif letter == "ahead":
            # The newest pull was served before the older ones: it is owed less than we think.
            pulls = list(consume.ledger.open.values())
            if len(pulls) < 2 or pulls[0].got == 0:
                return False
            size = max(0, pulls[-1].owed_bytes - SIZE)
            self.says(pulls[-1].token, 408, "Request Timeout", pulls[-1].owed - 1, size)
        elif letter == "stray":
            if not port.up:
                return False
            self.says(f"{port.subject[:-1]}999", 408, "Request Timeout", 5, 500)
        else:
            return self.common(letter)
        return True

    def _status(self, letter: str) -> bool:
        open_pulls = self.consume.ledger.open
        if not open_pulls:
            return False
        pull = next(iter(open_pulls.values()))
        self.says(
            pull.token,
            *STATUSES[letter],
            *((pull.owed, pull.owed_bytes) if letter in {"expired", "too large"} else ()),
        )
        return True

    def _comes(self, sid: str) -> None:
        self.consume.delivered([(sid, "s.a", REPLY, None, b"")], self.now)


# ------------------------------------------------------------------ what must hold


class Seen(NamedTuple):
    """What a step can be judged by."""

    state: ConsumeState
    ended: bool
    at_hand: int
    returned: int
    open: int
    over: int
    asked: tuple[int, ...]
    level: tuple[int, ...]
    deadline: float | None


def seen(world: World) -> Seen:
    consume = world.consume
    both = [
        each
        for each in (consume.engine.credit.messages, consume.engine.credit.size)
        if each is not None
    ]
    return Seen(
        consume.state,
        consume.ended,
        consume.backlog.count,
        consume.returned,
        len(consume.ledger.open),
        sum(consume.ledger.counts.values()),
        tuple(each.asked for each in both),
        tuple(each.level for each in both),
        consume.deadline,
    )


def judge_step(world: World, before: Seen, letter: str) -> None:
    consume, port = world.consume, world.consume.port
    after = seen(world)
    commands = list(port.commands)
    port.commands.clear()
    notices = list(port.notices)
    port.notices.clear()
    pulls = [each for each in commands if isinstance(each, Publish) and each.subject == NEXT]
    naks = [each for each in commands if isinstance(each, Publish) and each.payload == b"-NAK"]
    owed = sum(pull.owed for pull in consume.ledger.open.values())
    owed_bytes = sum(pull.owed_bytes for pull in consume.ledger.open.values())
    both = [
        each
        for each in (consume.engine.credit.messages, consume.engine.credit.size)
        if each is not None
    ]

    # 10: what is asked for never lifts the level above the limit.
    for credit in both:
        assert 0 <= credit.asked <= credit.limit
        assert not pulls or credit.level <= credit.limit
        assert credit.level - credit.asked >= 0
    # 11, 12: pulls owe what they were asked for, exactly that is counted, and each ends once.
    assert all(pull.owed > 0 and pull.end is None for pull in consume.ledger.open.values())
    assert all(pull.end is not None for pull in consume.ledger.filled.values())
    if consume.engine.credit.messages is not None:
        assert consume.engine.credit.messages.asked == owed
    if consume.engine.credit.size is not None:
        assert consume.engine.credit.size.asked == owed_bytes
    assert len(pulls) == after.open - before.open + after.over - before.over
    # 13: what names no pull of ours changes nothing.
    if letter == "stray":
        assert after._replace(deadline=None) == before._replace(deadline=None)
        assert not pulls
    # 14: no state without a future; what is at hand can stand for it, where only the whole may be
    # asked for.
    if (
        after.state is ConsumeState.PULLING
        and port.up
        and consume.engine.credit.request() is not None
    ):
        assert after.open or after.deadline is not None
    # 15: between a fruitless pull and the next there is a delay.
    if letter in {"gone", "refused", "moved", "unknown", "pin lost"}:
        assert not pulls
    if letter in {"moved", "for good", "denied", "connection over"}:
        assert not after.open
    # 12: a status below 400 ends nothing.
    if letter in {"heartbeat", "strange"}:
        assert (after.open, after.over, after.state) == (before.open, before.over, before.state)
    if pulls:
        assert consume.engine.backoff.opened(world.now)
        assert len(pulls) == 1
    # 18: a message is at hand, taken, or given back.
    came = letter in {"data", "late"}
    gone = (letter == "take") + after.returned - before.returned
    assert after.at_hand - before.at_hand == came - gone
    assert len(naks) == after.returned - before.returned
    # 20: who stops asks no more, and comes to an end.
    if before.state is not ConsumeState.PULLING:
        assert not pulls
    if after.ended:
        assert not after.open
        assert not port.subject
        assert consume.reason is not None
    assert after.ended or not before.ended
    # 22, 29: without a link nothing is due, and nothing that belonged to it survives.
    if not port.up:
        assert not after.open
        assert after.deadline is None
        assert all(isinstance(each, (Sub, Unsub)) for each in commands)
    # 25: a deadline is the truth: what was due is done.
    if letter.startswith("tick"):
        assert after.deadline is None or after.deadline > world.now
        assert pulls or notices or after != before


def comes_to_an_end(options: ConsumeOptions, point: Point) -> None:
    """Told to stop, it ends though nothing more is ever heard: at the latest at the liveness alarm."""
    world = World(options, point)
    until = world.now + 2 * options.heartbeat * options.heartbeat_factor
    while not world.consume.ended:
        deadline = world.consume.deadline
        assert deadline is not None
        assert deadline <= until
        world.now = max(world.now, deadline)
        world.consume.ticked(world.now)
    while world.consume.port.fences:
        world.consume.fenced(world.consume.port.fences.popleft(), world.now)
    assert world.consume.finished


def explore(options: ConsumeOptions, length: int) -> int:
    """All orders up to a length; gives the number of different states."""

    def ends(world: World, point: Point) -> None:
        if world.consume.state is ConsumeState.STOPPING and world.consume.port.up:
            comes_to_an_end(options, point)

    return orders.explore(
        begun=[("up", World(options))],
        at=lambda point: World(options, point),
        alphabet=ALPHABET,
        seen=seen,
        judge=judge_step,
        ends=ends,
        length=length,
    )


QUICK: Final = {"expires": 2.0, "idle_heartbeat": 1.0, "retry_wait": 0.5, "retry_wait_max": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "length", "least"),
    [
        ({"max_messages": 2}, 10, 3000),
        ({"max_messages": 1}, 10, 500),
        ({"max_messages": 3, "threshold_messages": 2}, 8, 2000),
        ({"max_bytes": 2 * SIZE}, 8, 1500),
        ({"max_messages": 2, "within_bytes": 2 * SIZE}, 8, 1500),
    ],
    ids=str,
)
def test_in_every_order_of_events_the_accounts_are_right_and_nothing_stalls(bounds, length, least):
    assert explore(ConsumeOptions(**bounds, **QUICK), length) >= least


def test_all_state_of_a_consume_is_looked_at_or_left_out_for_a_reason():
    assert LOOKED_AT | set(LEFT_OUT) == set(Consume.STATE)
    assert not LOOKED_AT & set(LEFT_OUT)
    assert set(PullEngine.STATE) == LOOKED_AT_IN_ENGINE
