"""The oracle: what must hold in a simulated world, judged by the truth of the model.

The rules, each with the name under which a failure is told:

    lost        every message that a stream holds is handed out by each consumer that wants it,
    unless the server took it for settled
                when an acknowledgement of another one came, which bore its sequence before the
                stream was deleted or its disk lost; what a fetch that was given up had at hand goes
                back at once
    twice       no delivery is handed out twice: what comes again has been delivered again by the
        server
    caught up   who reads what is there is told that it was all when it was all, and however much
    others write meanwhile order       an ordered consumer hands out each message once, in order,
    without a gap counters    what a client believes to have asked for is what the server believes
    to owe outcome     every publish, request and fetch ends exactly once, in time, and says what is
    true; an answer that is none is an error stored      no message is stored twice that was
    published once end         nothing ends that had no reason to progress    within a calm
    everything that is owed arrives and is settled; nobody waits without a deadline
    silence     nobody waits in vain for what a healthy server always gives: heartbeats, and the end
        of each pull; whose consumer is
                gone hears of it
    consumers   how many consumers a reader makes and leaves on the stream is bounded, however short
    its links are frames      what a client says is bounded by what happens, and by time memory
    what a client holds in a calm does not grow residue     after its end a client is silent,
    without timers and without bytes rest        nobody talks without end at one moment
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.testing.simserver import SimServer
from jsproto.testing.simserver.consumers.consumers import SimConsumer
from jsproto.testing.simserver.consumers.pull_consumers import PullConsumer
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.wire.frames import PAYLOAD, REPLY


class RuleBroken(JsprotoError, AssertionError):
    """A rule of the oracle does not hold; ``rule`` is its name."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule


@final
class DeliveryRecord:
    """What one consumer has handed out to its users since the last calm.

    Attributes:
        owed: what a consumer that replays did not owe yet when calms were over.
    """

    __slots__ = ("_before", "_ids", "_lenient", "_name", "_seen", "owed")

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[str] = set()
        self._before: set[str] = set()
        self._ids: set[bytes] = set()
        self._lenient = False
        self.owed: list[bytes] = []

    def handed(self, items: Sequence[JsMessage]) -> None:
        """A user has been given these.

        Raises:
            RuleBroken: one of them had been handed out before.
        """
        replies = [each.frame[REPLY] for each in items]
        seen = self._seen
        before = len(seen)
        seen.update(replies)
        self._ids.update([each.frame[PAYLOAD] for each in items])
        if (
            len(seen) - before != len(replies) or not self._before.isdisjoint(replies)
        ) and not self._lenient:
            raise RuleBroken("twice", f"{self._name} handed out {replies} again")

    def forget(self) -> None:
        """The server has forgotten something (its disk did, or the consumer is a new one): it may
        number anew.
        """
        self._lenient = True

    def settled(
        self, ids: Sequence[bytes], mistaken: frozenset[bytes] = frozenset(), *, paced: bool = False
    ) -> None:
        """A calm is over: these are the messages that must have been handed out since the last one,
        but for those settled by mistake.

        A consumer that is ``paced`` still hands out what is older: it owes them at the end of a
        later calm.

        Raises:
            RuleBroken: one of them was not.
        """
        missing = [
            each for each in (*self.owed, *ids) if each not in self._ids and each not in mistaken
        ]
        self.owed = missing if paced else []
        if missing and not paced:
            raise RuleBroken(
                "lost", f"{self._name} has not handed out {missing[:5]}, {len(missing)} in all"
            )
        self._before, self._seen = self._seen, set()
        if self._lenient:
            self._before = set()
        self._ids = set()
        self._lenient = False


@final
class Truth:
    """What the model knows, and what was published."""

    __slots__ = ("_checked", "server", "stream_name")

    def __init__(self, server: SimServer, stream_name: str) -> None:
        self.server = server
        self.stream_name = stream_name
        #: How far a stream was checked, by when it was made: the disk may bring back one that was
        #: deleted.
        self._checked: dict[int, int] = {}

    @property
    def stream(self) -> SimStream | None:
        """The stream, if it is there."""
        return self.server.jetstream.streams.get(self.stream_name)

    def consumer(self, name: str) -> SimConsumer | None:
        """One of its consumers, if it is there."""
        return self.server.jetstream.consumers.get(self.stream_name, {}).get(name)

    def judge_asked(
        self, who: str, consumer: SimConsumer, asked: int, shown: Callable[[], str]
    ) -> None:
        """What a client believes to be owed is what its consumer owes. While that replays, a
        message is held that is owed by none.

        Raises:
            RuleBroken: it is not.
        """
        if (
            isinstance(consumer, PullConsumer)
            and not consumer.paced
            and asked != consumer.waiting.asked
        ):
            owes = consumer.waiting.asked
            raise RuleBroken(
                "counters",
                f"{who} believes to have asked for {asked}, the server owes {owes}: {shown()}",
            )

    def mistaken(self, consumer: str) -> frozenset[bytes]:
        """The payloads of what a consumer owed until an acknowledgement of another message came."""
        return frozenset(each.payload for each in self.server.mistaken if each.consumer == consumer)

    def forget(self) -> None:
        """The stream may have lost its end: sequences come again."""
        stream = self.stream
        if stream is not None:
            self._checked[stream.created] = min(self._checked.get(stream.created, 0), stream.last)

    def fresh(self) -> list[bytes]:
        """The payloads of all messages that are stored since the last time this was asked.

        Raises:
            RuleBroken: one is stored twice.
        """
        stream = self.stream
        if stream is None:
            return []
        payloads = [each.payload for each in stream.after(self._checked.get(stream.created, 0) + 1)]
        self._checked[stream.created] = stream.last
        if len(set(payloads)) != len(payloads):
            twice = sorted({each for each in payloads if payloads.count(each) > 1})
            raise RuleBroken("stored", f"{twice[:5]} are stored more than once")
        return payloads
