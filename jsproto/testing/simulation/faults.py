"""What can go wrong in a simulated world, as a table, and how it is done to a network.

Each row is a kind of fault: how often it is drawn, how long it lasts, and a size whose meaning is its own. A fault is a row
that was drawn: when, to which client, for how long. What lasts is over at the next calm at the latest.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from attrs import frozen

from jsproto.testing.chance import Chance


class Kind(NamedTuple):
    """A kind of fault: ``span`` in seconds and ``size``, each from and to."""

    name: str
    weight: int
    span: tuple[float, float] = (0.0, 0.0)
    size: tuple[float, float] = (0.0, 0.0)


#: The numbers in RELIABILITY 4.3 are behind each row.
FAULTS: Final[tuple[Kind, ...]] = (
    # of a link
    Kind("reset", 8),  # 4, 5: at any byte, both ways
    Kind("eof", 6),  # 4
    Kind("partition", 5, (0.5, 40.0)),  # 6
    Kind("deaf", 4, (0.5, 40.0)),  # 7: nothing comes in
    Kind("mute", 4, (0.5, 40.0)),  # 7: nothing goes out
    Kind("strand", 4),  # 6: half-open
    Kind("refuse", 4, (0.5, 30.0)),  # nobody answers dials
    Kind("slow", 4, (5.0, 60.0), (0.02, 1.0)),  # 8: size is the latency
    Kind("pieces", 4, (5.0, 60.0), (1.0, 200.0)),  # 1: size is the longest read
    Kind("gather", 4, (5.0, 60.0), (0.05, 0.5)),  # 2: size is the tick
    Kind("clog", 3, (5.0, 60.0)),  # 3: next to nothing is taken
    # of a client's process
    Kind("jump", 2, (0.0, 0.0), (0.5, 4_233_600.0)),  # 19: forwards, up to 49 days
    Kind("back", 2, (0.0, 0.0), (0.01, 5.0)),  # 19: backwards
    Kind("starve", 4, (0.5, 60.0)),  # 20
    Kind("freeze", 4, (0.5, 60.0)),  # 20
    Kind("lazy", 6, (0.5, 60.0)),  # 21: the application takes nothing
    # of the server
    Kind(
        "kill", 6, (0.05, 20.0), (0.0, 1.0)
    ),  # 13: size is how much older the consumers' state is, in seconds
    Kind("power", 1, (0.5, 20.0), (0.0, 120.0)),  # 13, 43: size is the age of the last sync, in seconds
    Kind("stop", 4, (0.1, 20.0)),  # 14
    Kind("lame_duck", 3, (0.5, 20.0), (0.5, 10.0)),  # 14: size is the grace
    Kind("step_down", 6),  # 15
    Kind("delete_consumer", 3, (0.0, 10.0)),  # 16
    Kind("delete_stream", 1, (0.0, 10.0)),  # 16
    Kind("purge", 2),  # 16
    Kind("pause", 3, (0.5, 30.0)),  # 16
    Kind("slow_consumer", 3),  # 22
    Kind("disk_full", 3, (0.5, 20.0)),  # 36
)

#: Faults with draws of their own, so that a seed without them is what it was before there were any.
MORE_FAULTS: Final[tuple[Kind, ...]] = (
    Kind("flap", 4, (2.0, 40.0), (0.05, 2.0)),  # of a link: size is how long each one lives
    Kind("brief", 4, (5.0, 60.0), (0.05, 1.0)),  # the same, and no answer comes as fast as that
    Kind(
        "remove", 4, (1.0, 30.0)
    ),  # of the server: a consumer that readers made themselves, or one that pushes
    Kind("foreign", 3, (0.5, 20.0), (0.0, 1.0)),  # somebody else answers the API: size says what
)


@final
@frozen(kw_only=True)
class Fault:
    """One fault: ``at`` and ``span`` in seconds, ``host`` the number of a client, where it is about one."""

    kind: str
    at: float
    host: int
    span: float
    size: float


def drawn_fault(kind: Kind, at: float, host: int, chance: Chance) -> Fault:
    """A fault of this kind. Spans and sizes are drawn evenly over their magnitudes, so short ones are not rare."""
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
