"""What a seed stands for: who does what in a simulated world, and what goes wrong there and when.

A scenario is data, drawn from its seed before anything runs, and small enough to be written into
the head of a trace. Whoever draws later (links, users) has a sequence of their own, so a scenario
with some of its parts taken out is the same world for the rest: that is what makes a failure small
enough to be read.

Time goes in turns: storms, in which faults happen, and calms behind them. At the end of each calm
everything must be as if nothing had happened.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast, final

from attrs import asdict, evolve, frozen

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.testing.chance import Chance
from jsproto.testing.simserver import PROFILES
from jsproto.testing.simulation.faults import FAULTS, MORE_FAULTS, Fault, FaultKind, drawn_fault

#: Kinds of workloads, as often as they are drawn.
KINDS: Final = (
    "consume",
    "consume",
    "consume",
    "fetch",
    "next",
    "window",
    "ordered",
    "push",
    "request",
)
#: Those that read from a consumer.
READERS: Final = frozenset(
    {"consume", "steady", "fetch", "next", "ordered", "push", "group", "read"}
)
#: Kinds of workloads that a world may hold beside those; they have draws of their own, so the rest
#: of a seed is as it was without them.
MORE_KINDS: Final = ("group", "ordered", "read", "get", "list")
#: Seconds of a storm, from and to.
STORM: Final = (60.0, 400.0)
#: Seconds of a calm; publishing from the side ends so many seconds before its end.
CALM: Final = 130.0
QUIET: Final = 70.0
#: Seconds between a calm and the next storm: judging takes its time.
PAUSE: Final = 15.0
#: Seconds between two faults, on average, from and to.
PACE: Final = (3.0, 40.0)
#: Seconds between two of the faults that are drawn apart, on average, from and to.
MORE_PACE: Final = (20.0, 200.0)
#: Parts of the messages from the side that bear headers under names of the server's own.
DRESSED: Final = (0.05, 0.5)
#: Messages a second from the side, from and to; drawn evenly over the magnitudes.
RATE: Final = (0.02, 10.0)


@final
@frozen(kw_only=True)
class Work:
    """One workload: its kind, its name, and the number of the client whose connection it uses."""

    kind: str
    name: str
    host: int


@final
@frozen(kw_only=True)
class Scenario:
    """A simulated world.

    Attributes:
        seed: where it comes from, and where users and links draw from.
        version: which server.
        seconds: how long it lasts, in virtual time.
        rate: messages a second that are published from the side.
        burst: how many of them come together.
        size: bytes of their payloads, about.
        retention: of the stream.
        dressed: which part of the messages from the side bears headers under names of the server's
            own.
        works: the workloads.
        storms: beginning and end of each storm; what is between is calm.
        faults: what goes wrong, in order.
    """

    seed: int
    version: str
    seconds: float
    rate: float
    burst: int
    size: int
    retention: str
    works: tuple[Work, ...]
    storms: tuple[tuple[float, float], ...]
    faults: tuple[Fault, ...]
    dressed: float = 0.0

    def text(self) -> str:
        """The scenario on one line, as `read` takes it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> Scenario:
        """A scenario from its text.

        Raises:
            LocalProtocolError: it is none.
        """
        try:
            members = cast("dict[str, list[dict[str, object]]]", json.loads(text))
            # Any: a member that is missing, or of another type, raises below.
            works = tuple(Work(**cast("Any", each)) for each in members.pop("works"))
            faults = tuple(Fault(**cast("Any", each)) for each in members.pop("faults"))
            storms = tuple(tuple(each) for each in members.pop("storms"))
            return cls(**members, works=works, storms=storms, faults=faults)  # type: ignore[arg-type]  # the same
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise LocalProtocolError(
                f"expected the text of a scenario, got {shorten(text)}: {error}"
            ) from None

    def without(
        self, *, faults: frozenset[int] = frozenset(), works: frozenset[int] = frozenset()
    ) -> Scenario:
        """The same world without some of its faults and workloads, by their places."""
        return evolve(
            self,
            faults=tuple(each for at, each in enumerate(self.faults) if at not in faults),
            works=tuple(each for at, each in enumerate(self.works) if at not in works),
        )


def drawn(seed: int, hours: float, kinds: tuple[str, ...] = ()) -> Scenario:
    """The scenario of a seed.

    Args:
        seed: any number.
        hours: how long, in virtual time; at least one storm with its calm is drawn.
        kinds: the workloads, each on one client of its own; drawn if none are named.
    """
    chance = Chance(seed).fork("scenario")
    version = chance.choice(sorted(PROFILES))
    works = _works(chance, kinds)
    storms = _storms(chance, hours * 3600.0)
    low, high = RATE
    hosts = 1 + max(each.host for each in works)
    more = Chance(seed).fork("more")
    dressed = round(more.between(*DRESSED), 3)
    if not kinds:
        works += tuple(
            Work(kind=more.choice(MORE_KINDS), name=f"X{at}", host=more.below(hosts))
            for at in range(more.below(3))
        )
    return Scenario(
        seed=seed,
        version=version,
        seconds=storms[-1][1] + CALM,
        rate=round(low * (high / low) ** chance.fraction(), 4),
        burst=chance.choice((1, 1, 3, 10, 40)),
        size=chance.choice((8, 20, 60, 400)),
        retention=chance.choice(("limits", "limits", "interest")),
        works=works,
        storms=storms,
        faults=_faults(chance, storms, hosts, FAULTS, PACE)
        + _faults(more, storms, hosts, MORE_FAULTS, MORE_PACE),
        dressed=dressed,
    )


def measured(seed: int, hours: float) -> Scenario:
    """What speed is measured with: all faults of the seed, and one consumer with default options at
    10 messages a second.
    """
    return evolve(drawn(seed, hours, ("steady",)), rate=10.0, burst=10, size=20, retention="limits")


def _works(chance: Chance, kinds: tuple[str, ...]) -> tuple[Work, ...]:
    if kinds:
        return tuple(Work(kind=kind, name=f"W{at}", host=at) for at, kind in enumerate(kinds))
    hosts = 1 + chance.below(3)
    chosen = [chance.choice(KINDS) for _ in range(1 + chance.below(4))]
    return tuple(
        Work(kind=kind, name=f"W{at}", host=at if at < hosts else chance.below(hosts))
        for at, kind in enumerate(chosen)
    )


def _storms(chance: Chance, seconds: float) -> tuple[tuple[float, float], ...]:
    storms: list[tuple[float, float]] = []
    at = 10.0
    while not storms or at < seconds:
        end = at + chance.between(*STORM)
        storms.append((round(at, 3), round(end, 3)))
        at = end + CALM + PAUSE
    return tuple(storms)


def _faults(
    chance: Chance,
    storms: tuple[tuple[float, float], ...],
    hosts: int,
    kinds: tuple[FaultKind, ...],
    paces: tuple[float, float],
) -> tuple[Fault, ...]:
    weights = [kind.weight for kind in kinds]
    faults: list[Fault] = []
    for begin, end in storms:
        pace = chance.between(*paces)
        at = begin
        while (at := at + chance.between(0.0, 2.0 * pace)) < end:
            place = chance.below(sum(weights))
            for kind in kinds:
                place -= kind.weight
                if place < 0:
                    faults.append(drawn_fault(kind, at, chance.below(hosts), chance))
                    break
    return tuple(faults)
