"""Workers that ask the API: for stored messages, and for what there is.

What is answered is compared with what the model has. An answer that is none must be an error,
whoever gave it: nothing that was said by somebody else may be taken for "there is nothing".
"""

from __future__ import annotations

from typing import cast

from attrs import frozen

from jsproto.core.connection.connection import Connection
from jsproto.core.conversation.conversation import Conversation
from jsproto.errors.tree import InvalidResponse, JsprotoError
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.api.requests.messages import StoredMessage
from jsproto.jetstream.context.jetstream import JetStream
from jsproto.signals import ENDED
from jsproto.testing.chance import Chance
from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simulation.oracle import RuleBroken
from jsproto.testing.simulation.worker import Worker, World
from jsproto.wire.headers import Headers

#: Seconds that an answer may take.
_TIMEOUT = 2.0
#: What is asked may take several questions, and waits for a link within the time of each.
_MOST = 30.0


@frozen
class _Question:
    """What is asked now: by what, since when, and whether all was quiet then."""

    conversation: Conversation[object]
    what: str
    opened: float
    quiet: bool
    before: object


class Inquires(Worker):
    """Asks one thing after the other, and gives some up while they are under way."""

    def __init__(self, name: str, connection: Connection, world: World, chance: Chance) -> None:
        super().__init__(name, connection, world, chance)
        self.question: _Question | None = None
        self.js = JetStream(timeout=_TIMEOUT)
        self.pause = chance.choice((0.2, 2.0, 10.0))
        self.hasty = chance.often(0.3)
        self.at = chance.between(0.0, 3.0)

    def turn(self, now: float) -> None:
        """Look for answers, or ask."""
        self.woken = False
        question = self.question
        if question is None:
            if now < self.at:
                return
            question = self._ask(now)
        if self.hasty and self.chance.often(0.1):
            self.connection.close(question.conversation, now)
            self._done(now)
            return
        try:
            while isinstance(items := self.connection.take_all(question.conversation, now), list):
                for each in items:
                    self.handed += 1
                    self.answered(question, each)
        except RuleBroken:
            raise
        except JsprotoError as error:
            self.failed(question, error)
            self._done(now)
            return
        if items is ENDED:
            self.completed(question)
            self._done(now)
        elif now > question.opened + _MOST and not self.world.starving(self):
            raise RuleBroken(
                "outcome", f"{self.name}: {question.what} is beyond its time: {self.shown()}"
            )
        else:
            self.at = max(now + 0.5, question.opened + _MOST + 0.1)

    def _ask(self, now: float) -> _Question:
        conversation, what, before = self.chosen()
        quiet = self.world.quiet and self.connection.connected
        question = self.question = _Question(conversation, what, now, quiet, before)
        self.open(conversation, now)
        self.woken = False
        return question

    def _done(self, now: float) -> None:
        self.question = None
        self.at = now + self.pause * (0.5 + self.chance.fraction())

    def chosen(self) -> tuple[Conversation[object], str, object]:
        """What to ask next, what it is called, and what the model says now."""
        raise NotImplementedError

    def answered(self, question: _Question, item: object) -> None:
        """Compare an answer with the model."""
        raise NotImplementedError

    def completed(self, question: _Question) -> None:
        """It has ended well."""

    def failed(self, question: _Question, error: JsprotoError) -> None:
        """It has ended with an error: none is right while nothing is wrong.

        Raises:
            RuleBroken: nothing was wrong.
        """
        if question.quiet and self.world.quiet:
            raise RuleBroken(
                "outcome", f"{self.name}: {question.what} ended with {error!r}"
            ) from None

    def judge(self) -> None:
        """What is asked has its time, which each turn judges."""

    def left(self) -> tuple[Conversation[object], ...]:
        """What is asked now."""
        return () if self.question is None else (self.question.conversation,)


class Gets(Inquires):
    """Reads stored messages by their place: by the API and directly, one by one and in batches."""

    #: The last sequence that the present question has given.
    seen = 0

    def chosen(self) -> tuple[Conversation[object], str, object]:
        """One message, or several."""
        chance, stream = self.chance, self.world.truth.stream
        messages = self.js.stream(self.world.truth.stream_name).messages
        first, last = (1, 1) if stream is None else (stream.first, max(stream.first, stream.last))
        seq = max(
            1,
            first + chance.below(last - first + 1)
            if chance.often(0.5)
            else last - chance.below(20),
        )
        direct = chance.often(0.7)
        self.seen = 0
        asked: Conversation[StoredMessage]
        match chance.below(4):
            case 0:
                asked, what = messages.by_seq(seq, direct=direct), f"message {seq}"
            case 1:
                asked, what = messages.last("s.side", direct=direct), "the last message"
            case 2:
                asked, what = (
                    messages.next("s.*", seq=seq, direct=direct),
                    f"the next message from {seq}",
                )
            case _:
                asked, what = messages.batch(seq=seq, limit=30, page=10), f"a batch from {seq}"
        return cast("Conversation[object]", asked), f"{what}{' direct' * direct}", stream

    def answered(self, question: _Question, item: object) -> None:
        """It is what the stream has stored under this sequence."""
        found, stream = cast("StoredMessage", item), self.world.truth.stream
        if stream is None or stream is not question.before:
            return
        if found.seq <= self.seen:
            raise RuleBroken(
                "outcome",
                f"{self.name}: {question.what} gave {found.seq} behind {self.seen}: {found!r}",
            )
        self.seen = found.seq
        stored = stream.message(found.seq)
        if found.seq > stream.last or (stored is not None and not _same(stored, found)):
            raise RuleBroken(
                "outcome",
                f"{self.name}: {question.what} gave {found!r}, stored is {_shown(stored)}",
            )

    def failed(self, question: _Question, error: JsprotoError) -> None:
        """A message that is not there is no fault, and no answer is one that can't be read."""
        if isinstance(error, InvalidResponse):
            raise RuleBroken(
                "outcome", f"{self.name}: {question.what} ended with {error!r}"
            ) from None
        if not isinstance(error, MessageNotFound):
            super().failed(question, error)


class Lists(Inquires):
    """Lists what there is: streams, consumers, and the account."""

    def chosen(self) -> tuple[Conversation[object], str, object]:
        """One of the listings."""
        stream = self.js.stream(self.world.truth.stream_name)
        listings = {
            "stream names": self.js.stream_names(),
            "streams": self.js.streams(),
            "consumer names": stream.consumer_names(),
            "consumers": stream.consumers(),
            "the account": self.js.account_info(),
        }
        what = self.chance.choice(tuple(listings))
        return cast("Conversation[object]", listings[what]), what, self._there(what)

    def _there(self, what: str) -> frozenset[str]:
        """The names that the model has."""
        jetstream = self.world.truth.server.jetstream
        if "stream" in what or "account" in what:
            return frozenset(jetstream.streams)
        return frozenset(jetstream.consumers.get(self.world.truth.stream_name, ()))

    def answered(self, question: _Question, item: object) -> None:
        """What was there before and is there still has been named, and nothing that was never
        there.
        """
        before, after = cast("frozenset[str]", question.before), self._there(question.what)
        if question.what == "the account":
            told = cast("AccountInfo", item).streams
            if not min(len(before), len(after)) <= told <= max(len(before), len(after)):
                raise RuleBroken(
                    "outcome", f"{self.name}: the account has {after}, got {told} streams"
                )
            return
        names = frozenset(_name_of(each) for each in cast("tuple[object, ...]", item))
        if self.world.troubled("delete_stream", "power") or before != after:
            return
        if names != after:
            raise RuleBroken(
                "outcome", f"{self.name}: {question.what} are {sorted(after)}, got {sorted(names)}"
            )

    def failed(self, question: _Question, error: JsprotoError) -> None:
        """Somebody else may have answered; else what comes is an answer."""
        if isinstance(error, InvalidResponse) and self.world.troubled("foreign"):
            return
        if isinstance(error, InvalidResponse):
            raise RuleBroken(
                "outcome", f"{self.name}: {question.what} ended with {error!r}"
            ) from None
        super().failed(question, error)


def _name_of(entry: object) -> str:
    if isinstance(entry, StreamInfo):
        return entry.config.name
    return entry.name if isinstance(entry, ConsumerInfo) else str(entry)


def _same(stored: Stored, found: StoredMessage) -> bool:
    return (
        found.subject == stored.subject
        and found.payload == stored.payload
        and found.headers == Headers.parse(stored.block or b"")
    )


def _shown(stored: Stored | None) -> str:
    return "nothing" if stored is None else f"{stored.subject} {stored.block!r} {stored.payload!r}"
