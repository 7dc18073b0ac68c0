"""JetStream of one account: the streams, their consumers, and which subject reaches what.

Six kinds of subject end here: pulls, acknowledgements, answers to flow control, the JSON API,
direct gets and whatever the streams listen on. `accept` takes a published message and answers
whether anything of JetStream listened there: if nothing did, and no client either, the publisher
hears 503.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Final

from jsproto.core.connection.deadlines import DeadlineHeap
from jsproto.jetstream.api.patterns import collide
from jsproto.testing.simserver.account.routing import InterestRouter, Lottery
from jsproto.testing.simserver.consumers.acks import PREFIX as ACK_PREFIX
from jsproto.testing.simserver.consumers.acks import Mistaken, parse_ack_subject
from jsproto.testing.simserver.consumers.consumers import SimConsumer
from jsproto.testing.simserver.consumers.outlet import Surroundings
from jsproto.testing.simserver.consumers.pull_consumers import PullConsumer
from jsproto.testing.simserver.consumers.push_consumers import FLOW_PREFIX, PushConsumer
from jsproto.testing.simserver.streams.direct_gets import DirectGet
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, text
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError

API_PREFIX: Final = "$JS.API."
#: In front of every subject of JetStream's own.
_OWN: Final = "$JS."
_PULL: Final = "CONSUMER.MSG.NEXT."
_DIRECT: Final = "DIRECT.GET."
_REMEMBERED: Final = 4096


class SimJetStream:
    """Streams and consumers of the one account that the model has."""

    __slots__ = (
        "_agenda",
        "_by_key",
        "_keys",
        "_moved",
        "_next_key",
        "_now",
        "_pushed",
        "_reach",
        "_takes_own",
        "consumers",
        "disk_full",
        "domain",
        "errors",
        "lottery",
        "made",
        "mistaken",
        "not_modelled",
        "profile",
        "requests",
        "router",
        "serving",
        "streams",
        "v2",
    )

    def __init__(
        self,
        profile: Profile,
        router: InterestRouter,
        lottery: Lottery,
        *,
        domain: str = "",
        v2: bool = False,
    ) -> None:
        self.profile = profile
        self.router = router
        self.lottery = lottery
        self.domain = domain
        self.v2 = v2 and profile.ack_v2
        self.streams: dict[str, SimStream] = {}
        self.consumers: dict[str, dict[str, SimConsumer]] = {}
        #: ``False`` while the server is a lame duck whose JetStream has gone already.
        self.serving = True
        #: Nothing can be stored.
        self.disk_full = False
        self.requests = 0
        self.errors = 0
        #: What clients asked for and the model cannot do.
        self.not_modelled: list[str] = []
        #: What was settled by acknowledgements of other messages.
        self.mistaken: list[Mistaken] = []
        #: The newest consumers that were made: when, and their names.
        self.made: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._reach: dict[str, SimStream | None] = {}
        #: Some stream may listen to subjects of the server's own.
        self._takes_own = False
        #: Whose deadlines have to be planned anew: streams with all of their consumers, or a
        #: consumer.
        self._moved: dict[SimStream | SimConsumer, None] = {}
        #: Push consumers by their deliver subject, ``None`` when somebody has to look again.
        self._pushed: dict[str, list[tuple[SimStream, PushConsumer]]] | None = {}
        self._agenda = DeadlineHeap()
        self._keys: dict[SimStream | SimConsumer, int] = {}
        self._by_key: dict[int, SimStream | SimConsumer] = {}
        self._next_key = 0
        self._now = 0

    # ------------------------------------------------------------------------------------------------ streams

    def add_stream(self, config: Table, now: int) -> SimStream:
        """A new stream under a checked configuration."""
        stream = SimStream(config, self.profile, now, self.domain, tell=self._told)
        self.streams[stream.name] = stream
        self.consumers[stream.name] = {}
        self._listen_anew()
        return stream

    def reconfigured(self, stream: SimStream, now: int) -> None:
        """A stream has a new configuration."""
        self._listen_anew()
        stream.enforce(now)
        self.refresh(stream)

    def remove_stream(self, stream: SimStream, now: int) -> None:
        """Delete a stream with its consumers; their pulls end with 409 Consumer Deleted."""
        for consumer in list(self.consumers[stream.name].values()):
            self.remove_consumer(stream, consumer, now, settle=False)
        del self.streams[stream.name], self.consumers[stream.name]
        self._unplan(stream)
        self._listen_anew()

    def stream(self, name: str) -> SimStream:
        """The stream of this name.

        Raises:
            RefusedError: there is none.
        """
        stream = self.streams.get(name)
        if stream is None:
            raise RefusedError(refusals.STREAM_NOT_FOUND)
        return stream

    def _listen_anew(self) -> None:
        """Streams came, went, or listen elsewhere."""
        self._reach.clear()
        self._takes_own = any(
            collide(f"{_OWN}>", subject)
            for stream in self.streams.values()
            for subject in stream.subjects
        )

    def reaches(self, subject: str) -> SimStream | None:
        """The stream that listens on ``subject``."""
        reach = self._reach
        if subject in reach:
            return reach[subject]
        if len(reach) >= _REMEMBERED:
            reach.clear()
        found = next((stream for stream in self.streams.values() if stream.listens(subject)), None)
        reach[subject] = found
        return found

    # ------------------------------------------------------------------------------------------------ consumers

    def add_consumer(self, stream: SimStream, name: str, config: Table, now: int) -> SimConsumer:
        """A new consumer under a checked configuration; it delivers nothing before it is `started`."""
        kind = PushConsumer if text(config, "deliver_subject") else PullConsumer
        around = Surroundings(self.router, self.profile, v2=self.v2, domain=self.domain)
        consumer = kind(name, config, stream, around, now)
        self.consumers[stream.name][name] = consumer
        stream.followers[name] = consumer
        self.made.append((now, name))
        self._pushed = None
        return consumer

    def started(self, stream: SimStream, consumer: SimConsumer, now: int) -> None:
        """A consumer begins, or looks for messages anew."""
        consumer.turned(now)
        self.refresh(stream)

    def interest_changed(self, subject: str, now: int) -> None:
        """Somebody came to listen on ``subject``, or went: push consumers want to know."""
        if self._pushed is None:
            self._pushed = {}
            for name, consumers in self.consumers.items():
                for consumer in consumers.values():
                    if isinstance(consumer, PushConsumer):
                        known = self._pushed.setdefault(
                            text(consumer.config, "deliver_subject"), []
                        )
                        known.append((self.streams[name], consumer))
        for stream, consumer in self._pushed.get(subject, ()):
            consumer.interest_changed(now)
            self.refresh(stream)

    def reconfigured_consumer(
        self, stream: SimStream, consumer: SimConsumer, config: Table, now: int
    ) -> bool:
        """A consumer has a new configuration; answers whether it then looks for messages."""
        self._pushed = None
        turns = consumer.configure(config, now)
        self.refresh(stream)
        return turns

    def replace_consumer(self, stream: SimStream, consumer: SimConsumer, now: int) -> None:
        """A consumer is as it was at some time before: the server was down, and this is what its
        disk held.
        """
        self._unplan(self.consumers[stream.name][consumer.name])
        self._pushed = None
        self.consumers[stream.name][consumer.name] = consumer
        stream.followers[consumer.name] = consumer
        consumer.restarted(now)
        self.refresh(stream)

    def remove_consumer(
        self, stream: SimStream, consumer: SimConsumer, now: int, *, settle: bool = True
    ) -> None:
        """Delete a consumer; its pulls end with 409 Consumer Deleted."""
        del self.consumers[stream.name][consumer.name]
        del stream.followers[consumer.name]
        self._pushed = None
        self._unplan(consumer)
        consumer.ended()
        if settle:
            stream.unfollowed(now)

    # ------------------------------------------------------------------------------------------------ messages

    def accept(
        self, subject: str, reply: str, block: bytes | None, payload: bytes, now: int
    ) -> bool:
        """A message was published: take what is for JetStream. Answers whether anything here
        listened.

        JSON requests are not taken here: their interest is, their answer comes from the API. A
        stream that listens to one of the server's own subjects stores what comes there too, and
        acknowledges it as anything else (in the server either may come first).
        """
        self._now = now
        if not subject.startswith(_OWN):
            return self._stored(subject, reply, block, payload, now)
        heard = self._takes_own and self._stored(subject, reply, block, payload, now)
        if subject.startswith(ACK_PREFIX):
            return self._acked(subject, payload, reply, now) or heard
        if subject.startswith(FLOW_PREFIX):
            return self._flowed(subject, block, now) or heard
        if subject.startswith(API_PREFIX):
            return self._asked(subject, block, payload, reply, now) or heard
        return heard

    def _stored(
        self, subject: str, reply: str, block: bytes | None, payload: bytes, now: int
    ) -> bool:
        """Give a message to the stream that listens there. Answers whether one does."""
        stream = self.reaches(subject) if self.serving else None
        if stream is None:
            return False
        if self.disk_full:
            answer = stream.refuse(refusals.STORE_FAILED.about("no space left on device"))
        else:
            answer = stream.publish(subject, block, payload, now)
        if answer and '"code":501' in answer:
            self.not_modelled.append(f"publish on {subject}: {answer}")
        if reply and answer is not None:
            self.router.say(reply, None, answer.encode())
        self._settled(stream, now)
        return True

    def accept_run(self, subject: str, payloads: Iterable[bytes], now: int) -> None:
        """Several messages without headers that nobody wants answered."""
        stored = self.serving and not self.disk_full and not subject.startswith(_OWN)
        stream = self.reaches(subject) if stored else None
        if stream is None:
            for payload in payloads:
                self.accept(subject, "", None, payload, now)
            return
        self._now = now
        stream.publish_run(subject, payloads, now)
        self._settled(stream, now)

    def _told(self, subject: str, block: bytes, payload: bytes) -> None:
        """A stream tells on what it has stored, as a client would publish it."""
        self.router.say(subject, block, payload)
        self.accept(subject, "", block, payload, self._now)

    def _settled(self, stream: SimStream, now: int) -> None:
        """A stream has changed: tell which batches it has abandoned, and plan anew."""
        abandoned = stream.batches.abandoned
        if abandoned:
            for ident, reason in abandoned:
                self.router.advise(
                    f"$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.{stream.name}",
                    "io.nats.jetstream.advisory.v1.stream_batch_abandoned",
                    {"stream": stream.name, "batch": ident, "reason": reason},
                    now,
                    two_blanks=True,
                )
            abandoned.clear()
        self.refresh(stream)

    def _acked(self, subject: str, payload: bytes, reply: str, now: int) -> bool:
        address = parse_ack_subject(subject, v2=self.v2, domain=self.domain)
        if address is None or address.stream not in self.consumers or not self.serving:
            return False
        consumer = self.consumers[address.stream].get(address.consumer)
        if consumer is None or not consumer.hears_acks:
            return False
        seq = address.stream_seq
        message = consumer.stream.message(seq)
        another = message is not None and message.time != address.time and consumer.owes(seq)
        consumer.acked(address, payload, reply, now)
        if message is not None and another and not consumer.owes(seq):
            self.mistaken.append(Mistaken(address.stream, address.consumer, seq, message.payload))
        self._turned(consumer)
        return True

    def _flowed(self, subject: str, block: bytes | None, now: int) -> bool:
        tokens = subject.split(".")
        consumer = self.consumers.get(tokens[-3], {}).get(tokens[-2]) if len(tokens) >= 5 else None
        if not isinstance(consumer, PushConsumer) or not self.serving:
            return False
        consumer.answered(subject, block, now)
        self._turned(consumer)
        return True

    def _asked(
        self, subject: str, block: bytes | None, payload: bytes, reply: str, now: int
    ) -> bool:
        verb = subject[len(API_PREFIX) :]
        if verb.startswith(_PULL):
            return self._pulled(verb[len(_PULL) :].split("."), block, payload, reply, now)
        if verb.startswith(_DIRECT):
            return self._direct(verb[len(_DIRECT) :], block, payload, reply)
        return True

    def _pulled(
        self, names: list[str], block: bytes | None, payload: bytes, reply: str, now: int
    ) -> bool:
        consumer = (
            self.consumers.get(names[0], {}).get(names[1])
            if len(names) == 2 and self.serving
            else None
        )
        if consumer is None:
            return self.profile.silent_unknown_pull
        if reply and not self.level_suffices(block):
            self.router.say(reply, b"NATS/1.0 412 Required Api Level\r\n\r\n")
            return True
        if reply:
            consumer.pulled(payload, reply, now)
        self._turned(consumer)
        return True

    def _direct(self, names: str, block: bytes | None, payload: bytes, reply: str) -> bool:
        name, _, key = names.partition(".")
        stream = self.streams.get(name) if self.serving else None
        if stream is None or not stream.config["allow_direct"]:
            return self.profile.silent_unknown_pull
        if not reply:
            return True
        if not self.level_suffices(block):
            self.router.say(reply, b"NATS/1.0 412 Required Api Level\r\n\r\n")
            return True
        request = DirectGet(stream, self.profile, partial(self.router.say, reply))
        if key:
            request.answer_last(key, payload)
        else:
            request.answer(payload)
        return True

    def level_suffices(self, block: bytes | None) -> bool:
        """Whether the server's API level is at least what the header of a request asks for."""
        if not self.profile.required_api_level or block is None:
            return True
        at = block.find(b"\r\nNats-Required-Api-Level:")
        if at < 0:
            return True
        asked = block[at + 26 : block.find(b"\r\n", at + 2)].strip()
        return asked.isdigit() and len(asked) < 10 and int(asked) <= self.profile.api_level

    # ------------------------------------------------------------------------------------------------ time

    def refresh(self, stream: SimStream) -> None:
        """The deadlines of this stream and its consumers may have moved: they are planned anew
        before anybody looks.
        """
        self._moved[stream] = None

    def _turned(self, consumer: SimConsumer) -> None:
        """The deadlines of this consumer may have moved, and, where messages leave that are done
        with, those of its stream.
        """
        stream = consumer.stream
        self._moved[consumer if stream.retention == "limits" else stream] = None

    def _replan(self) -> None:
        for owner in self._moved:
            if isinstance(owner, SimStream):
                if self.streams.get(owner.name) is owner:
                    self._plan(owner)
                    for consumer in self.consumers[owner.name].values():
                        self._plan(consumer)
            elif owner.stream.followers.get(owner.name) is owner:
                self._plan(owner)
        self._moved.clear()

    def deadline(self) -> int | None:
        """The next moment at which something may be due, in nanoseconds."""
        if self._moved:
            self._replan()
        at = self._agenda.next()
        return int(at) if at is not None else None

    def ticked(self, now: int) -> None:
        """Do everything that is due."""
        while True:
            self._replan()
            key = self._agenda.due(now)
            if key is None:
                return
            owner = self._by_key[key]
            if isinstance(owner, SimStream):
                owner.ticked(now)
                self._settled(owner, now)
                continue
            if owner.ticked(now):
                self.remove_consumer(owner.stream, owner, now)
                self.refresh(owner.stream)
            else:
                self._turned(owner)

    def _plan(self, owner: SimStream | SimConsumer) -> None:
        key = self._keys.get(owner)
        at = owner.deadline()
        if key is None:
            if at is None:
                return
            key = self._next_key
            self._next_key += 1
            self._keys[owner] = key
            self._by_key[key] = owner
        self._agenda.put(key, at)

    def _unplan(self, owner: SimStream | SimConsumer) -> None:
        key = self._keys.pop(owner, None)
        if key is not None:
            self._agenda.put(key, None)
            del self._by_key[key]

    # ------------------------------------------------------------------------------------------------ faults

    def stopped(self) -> bool:
        """The server stops gracefully: pulls hear 409 Server Shutdown. Answers whether there were
        any.
        """
        told = False
        for consumers in self.consumers.values():
            for consumer in consumers.values():
                told |= consumer.stopped()
        self.serving = False
        return told

    def take_back(
        self, streams: dict[str, SimStream], consumers: dict[str, dict[str, SimConsumer]]
    ) -> None:
        """What the disk holds of streams and consumers, once all that were there are removed."""
        self._pushed = None
        self.streams.update(streams)
        self.consumers.update(consumers)
        self._listen_anew()
        for stream in streams.values():
            self.refresh(stream)

    def restarted(self, now: int) -> None:
        """Come back from the files: what was in memory is gone, no pull survives."""
        self.serving = True
        for stream in [each for each in self.streams.values() if each.in_memory]:
            for consumer in self.consumers[stream.name].values():
                consumer.forsaken()
            self.remove_stream(stream, now)
        for name, stream in self.streams.items():
            for consumer in list(self.consumers[name].values()):
                consumer.restarted(now)
                if consumer.in_memory:
                    self.remove_consumer(stream, consumer, now)
            self.refresh(stream)
