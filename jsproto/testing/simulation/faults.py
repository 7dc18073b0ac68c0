"""What can go wrong in a simulated world, as a table, and how it is done to a network.

Each row is a kind of fault: how often it is drawn, how long it lasts, and a size whose meaning is
its own. A fault is a row that was drawn: when, to which client, for how long. What lasts is over at
the next calm at the latest.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from attrs import frozen

from jsproto.testing.chance import Chance


class FaultKind(NamedTuple):
    """A kind of fault: ``span`` in seconds and ``size``, each from and to."""

    name: str
    weight: int
    span: tuple[float, float] = (0.0, 0.0)
    size: tuple[float, float] = (0.0, 0.0)


#: The numbers in RELIABILITY 4.3 are behind each row.
FAULTS: Final[tuple[FaultKind, ...]] = (
    # of a link
    FaultKind("reset", 8),  # 4, 5: at any byte, both ways
    FaultKind("eof", 6),  # 4
    FaultKind("partition", 5, (0.5, 40.0)),  # 6
    FaultKind("deaf", 4, (0.5, 40.0)),  # 7: nothing comes in
    FaultKind("mute", 4, (0.5, 40.0)),  # 7: nothing goes out
    FaultKind("strand", 4),  # 6: half-open
    FaultKind("refuse", 4, (0.5, 30.0)),  # nobody answers dials
    FaultKind("slow", 4, (5.0, 60.0), (0.02, 1.0)),  # 8: size is the latency
    FaultKind("pieces", 4, (5.0, 60.0), (1.0, 200.0)),  # 1: size is the longest read
    FaultKind("gather", 4, (5.0, 60.0), (0.05, 0.5)),  # 2: size is the tick
    FaultKind("clog", 3, (5.0, 60.0)),  # 3: next to nothing is taken
    # of a client's process
    FaultKind("jump", 2, (0.0, 0.0), (0.5, 4_233_600.0)),  # 19: forwards, up to 49 days
    FaultKind("back", 2, (0.0, 0.0), (0.01, 5.0)),  # 19: backwards
    FaultKind("starve", 4, (0.5, 60.0)),  # 20
    FaultKind("freeze", 4, (0.5, 60.0)),  # 20
    FaultKind("lazy", 6, (0.5, 60.0)),  # 21: the application takes nothing
    # of the server
    FaultKind(
        "kill", 6, (0.05, 20.0), (0.0, 1.0)
    ),  # 13: size is how much older the consumers' state is, in seconds
    FaultKind(
        "power", 1, (0.5, 20.0), (0.0, 120.0)
    ),  # 13, 43: size is the age of the last sync, in seconds
    FaultKind("stop", 4, (0.1, 20.0)),  # 14
    FaultKind("lame_duck", 3, (0.5, 20.0), (0.5, 10.0)),  # 14: size is the grace
    FaultKind("step_down", 6),  # 15
    FaultKind("delete_consumer", 3, (0.0, 10.0)),  # 16
    FaultKind("delete_stream", 1, (0.0, 10.0)),  # 16
    FaultKind("purge", 2),  # 16
    FaultKind("pause", 3, (0.5, 30.0)),  # 16
    FaultKind("slow_consumer", 3),  # 22
    FaultKind("disk_full", 3, (0.5, 20.0)),  # 36
)

#: Faults with draws of their own, so that a seed without them is what it was before there were any.
MORE_FAULTS: Final[tuple[FaultKind, ...]] = (
    FaultKind("flap", 4, (2.0, 40.0), (0.05, 2.0)),  # of a link: size is how long each one lives
    FaultKind(
        "brief", 4, (5.0, 60.0), (0.05, 1.0)
    ),  # the same, and no answer comes as fast as that
    FaultKind(
        "remove", 4, (1.0, 30.0)
    ),  # of the server: a consumer that readers made themselves, or one that pushes
    FaultKind(
        "foreign", 3, (0.5, 20.0), (0.0, 1.0)
    ),  # somebody else answers the API: size says what
)


@final
@frozen(kw_only=True)
class Fault:
    """One fault: ``at`` and ``span`` in seconds, ``host`` the number of a client, where it is about
    one.
    """

    kind: str
    at: float
    host: int
    span: float
    size: float


def drawn_fault(kind: FaultKind, at: float, host: int, chance: Chance) -> Fault:
    """A fault of this kind. Spans and sizes are drawn evenly over their magnitudes, so short ones
    are not rare.
    """
    return Fault(
        kind=kind.name,
        at=round(at, 4),
        host=host,
        span=round(_magnitude(kind.span, chance), 4),
        size=round(_magnitude(kind.size, chance), 4),
    )


def _magnitude(span: tuple[float, float], chance: Chance) -> float:
    low, high = span
    part = chance.fraction()
    least = max(low, 0.001)
    return 0.0 if not high else max(low, least * (high / least) ** part)
