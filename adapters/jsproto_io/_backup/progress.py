"""How far a long deed is: what `back_up` and `restore` tell while they work."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Self, TypeAlias, final

from attrs import evolve, frozen

from jsproto.core.callbacks import check_callback, check_result


class Phase(Enum):
    """How far something is."""

    BEGUN = "BEGUN"
    #: Bytes have passed.
    DATA = "DATA"
    DONE = "DONE"
    FAILED = "FAILED"


@final
@frozen(kw_only=True)
class Progress:
    """How far a backup or restore is.

    Attributes:
        deed: ``backup``, ``check``, ``restore``, ``create`` or ``update``.
        stream: of which stream.
        phase: how far it is with this one.
        number: the how many-th it is, from 1; ``of`` so many.
        bytes: that have passed so far.
        total: that will pass; of a backup it is what the stream takes on the server, which an
            archive never hits exactly.
        words: what there is to say: why it failed, or what was not saved.
    """

    deed: str
    stream: str
    phase: Phase
    number: int
    of: int
    bytes: int = 0
    total: int = 0
    words: str = ""


Tell: TypeAlias = Callable[[Progress], object]


def silent(progress: Progress) -> None:
    """Who asks for no progress hears of none."""


class ProgressReporter:
    """Tells how far it is with one stream; an error that passes by is told too.

    Attributes:
        words: what there is to say in the end.
    """

    __slots__ = ("_ask", "_progress", "words")

    def __init__(self, progress: Progress, tell: Tell) -> None:
        check_callback(tell, "tell")
        self._progress = progress
        self._ask = tell
        self.words = ""

    def passed(self, size: int) -> None:
        """So many bytes more."""
        self._progress = evolve(self._progress, phase=Phase.DATA, bytes=self._progress.bytes + size)
        self._tell(self._progress)

    def _tell(self, progress: Progress) -> None:
        check_result(self._ask(progress), "tell")

    def __enter__(self) -> Self:
        self._tell(self._progress)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        phase = Phase.DONE if error is None else Phase.FAILED
        words = self.words if error is None else str(error) or type(error).__name__
        self._tell(evolve(self._progress, phase=phase, words=words))
