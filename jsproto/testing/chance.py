"""Chance that can be had again: numbers, choices and entropy of a simulated world, all from one
seed.

A generator is forked by name for everybody who draws (`fork`), so what one of them draws moves
nothing for the others: a world without one of its clients is the same world for the rest. It is the
generator of the model server, got from outside.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final, TypeVar, final

from jsproto.testing.simserver.account.routing import Lottery

T = TypeVar("T")

_STEPS: Final = 1 << 30


@final
class Chance:
    """A sequence of draws that follows from its seed."""

    __slots__ = ("_lottery", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lottery = Lottery(seed)

    def fork(self, name: str) -> Chance:
        """Another sequence; it follows from this one's seed and the name, not from what was drawn
        so far.
        """
        return Chance((self._seed * 1_000_003) ^ (zlib.crc32(name.encode()) << 20))

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        return self._lottery.below(limit)

    def fraction(self) -> float:
        """A number from 0 up to 1, 1 excluded."""
        return self._lottery.below(_STEPS) / _STEPS

    def between(self, low: float, high: float) -> float:
        """A number between two others."""
        return low + (high - low) * self.fraction()

    def often(self, part: float) -> bool:
        """Yes in this part of all cases."""
        return self.fraction() < part

    def choice(self, among: Sequence[T]) -> T:
        """One of them."""
        return among[self._lottery.below(len(among))]

    def entropy(self, size: int) -> bytes:
        """Bytes, as a connection asks for them."""
        return bytes(self._lottery.below(256) for _ in range(size))
