"""One incarnation of a reader that goes on behind lost consumers: a name, an inbox, a start, and
the creation that is asked for (INVARIANTS 36).

Theory. The name is made of the address of the inbox, which is never given twice: its root is the
connection's own, or that of the client that embeds us, and the port counts behind it. So no name is
ever used twice (B070), by no two programs, and no entropy is needed here. Whoever lists consumers
must not learn the inbox from it, so the root is not shown as it is (`derived`). An answer counts
only if it is for this very name; one that comes later is for an incarnation that was given up, and
its consumer must go (B083).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, cast

from jsproto.core.conversation.conversation import Port
from jsproto.core.conversation.procedure import Script
from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.errors.tree import InvalidResponse, JsprotoError
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.enums import ConsumerAction
from jsproto.jetstream.api.envelope import answer
from jsproto.jetstream.api.errors import RequestContext
from jsproto.jetstream.api.requests.manage import create_consumer
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.ordered.resume_point import StartPoint
from jsproto.jetstream.ordered.several_filters import cover, passes_over, wanted
from jsproto.wire.frames import PAYLOAD, Delivery
from jsproto.wire.nuid import derived


class EphemeralConfig(Protocol):
    """What all incarnations of one reader have in common: options of it."""

    @property
    def shared(self) -> ConsumerConfig:
        """The configuration, without a name and a start."""
        ...

    @property
    def start(self) -> StartPoint:
        """Where the first begins."""
        ...

    @property
    def name_prefix(self) -> str:
        """What their names begin with."""
        ...

    @property
    def create_timeout(self) -> float:
        """Seconds that a creation waits for its answer."""
        ...


class EphemeralConsumer(Snapshottable):
    """The present one.

    Attributes:
        name: its name, ``""`` before the first.
        script: its creation while that is open.
        filter: the one filter that stands for several, ``""`` while all are asked for as they are.
        since: when it was asked for, and then when the server had made it.
        made: the server has made one, this or an earlier one.
        count: how many creations were sent.
    """

    __slots__ = (
        "_api",
        "_deliver",
        "_generation",
        "_options",
        "_start",
        "_stream",
        "count",
        "filter",
        "made",
        "name",
        "script",
        "since",
    )

    STATE: ClassVar[Codecs] = {
        "_deliver": PLAIN,
        "_generation": PLAIN,
        "_start": PLAIN,
        "count": PLAIN,
        "filter": PLAIN,
        "made": PLAIN,
        "name": PLAIN,
        "since": PLAIN,
    }

    def __init__(self, api: ApiSubjects, stream: str, options: EphemeralConfig) -> None:
        self._api = api
        self._stream = stream
        self._options = options
        self._deliver = ""
        self._generation: int = 0
        self._start: tuple[str, int | None, int | None] = options.start
        self.name = ""
        self.filter = ""
        self.script: Script[ConsumerInfo] | None = None
        self.since = 0.0
        self.made = False
        self.count = 0

    @property
    def deadline(self) -> float | None:
        """When the answer is overdue."""
        return None if self.script is None else self.script.deadline

    def inbox(self, port: Port, *, literal: bool) -> None:
        """A fresh inbox that no incarnation had, and the name that goes with it.

        Args:
            port: may have one already, renewed by the connection.
            literal: of one subject, which the server delivers to. (It takes no wildcard for
                interest.)
        """
        if literal:
            port.subscribe(port.address())
        elif not port.subject or port.generation == self._generation:
            port.subscribe()
        self._generation = port.generation
        root, number, generation, _ = port.subject.rsplit(".", 3)
        self.name = f"{self._options.name_prefix}{derived(root)}-{number}-{generation}"

    def ask(self, port: Port, start: StartPoint, deliver: str, now: float) -> None:
        """Ask for the next one, which delivers to ``deliver`` or, if that is ``""``, waits for
        pulls.
        """
        self._start = start
        self._deliver = deliver
        self.since = now
        self.count += 1
        self.script = self._creation()
        self.script.opened(port, now)

    def outcome(self, now: float) -> ConsumerInfo | JsprotoError | None:
        """How the creation ended, told once; ``None`` while it is open."""
        script = self.script
        if script is None or not script.done:
            return None
        self.script = None
        if script.error is not None:
            return script.error
        info = script.result
        if info.name != self.name:
            return InvalidResponse(
                f"expected the consumer {self.name} to be created, the server has made {info.name}"
            )
        self.since = now
        self.made = True
        return info

    def unsound(self, info: ConsumerInfo) -> bool:
        """Whether this one may be moved over messages that it has not delivered; then the next has
        one filter for several.
        """
        subjects = self._options.shared.filter_subjects
        if self.filter or len(subjects) < 2 or not passes_over(info):
            return False
        # Servers before 2.10 leave several filters out, and refuse one that their stream's subjects
        # are not within.
        self.filter = cover(subjects) if info.config.filter_subjects else ">"
        return True

    def wanted(self, frames: list[Delivery]) -> tuple[list[Delivery], list[Delivery]]:
        """Which of its messages the reader wants, and which came only because one filter stands for
        several.
        """
        return wanted(frames, self._options.shared.filter_subjects) if self.filter else (frames, [])

    def late(self, frame: Delivery) -> str:
        """The name in an answer that nobody waits for, if it says that a consumer was made; else
        ``""``.
        """
        about = RequestContext()  # of an error that nobody sees
        try:
            return ConsumerInfo.from_wire(
                answer(frame[PAYLOAD], about, AnswerType.CONSUMER_CREATE), about
            ).name
        except JsprotoError:
            return ""

    def _creation(self) -> Script[ConsumerInfo]:
        options = self._options
        config = StartPoint(*self._start).into(options.shared, self.name)
        if self.filter:
            config = config.evolve(filter_subject=self.filter, filter_subjects=())
        if self._deliver:
            config = config.evolve(deliver_subject=self._deliver)
        return Script(
            lambda: create_consumer(
                self._api,
                self._stream,
                config,
                action=ConsumerAction.CREATE,
                timeout=options.create_timeout,
            )
        )

    def snapshot(self) -> Snapshot:
        """How far the creation is."""
        return {
            **super().snapshot(),
            "script": None if self.script is None else self.script.snapshot(),
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self.script = None
        if data["script"] is not None:
            self.script = self._creation()
            self.script.restore(cast("Mapping[str, object]", data["script"]))
