"""An ordered consumer on a bare port, its user, and a server that answers what a test wants."""

from __future__ import annotations

import json
from typing import NamedTuple

from jsproto.core.conversation.conversation import Port
from jsproto.errors import ConnectionLost
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.jetstream.ordered.consumer import OrderedConsumer, OrderedNotice, OrderedOptions
from jsproto.jetstream.ordered.view import Messages
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish, Sub, Unsub

LOST = ConnectionLost("the link was lost")
T0 = "2026-11-27T21:01:15.000000001Z"
CREATE = "$JS.API.CONSUMER.CREATE.S."
DELETE = "$JS.API.CONSUMER.DELETE.S."
NEXT = "$JS.API.CONSUMER.MSG.NEXT.S."
INFO = "$JS.API.STREAM.INFO.S"


class Create(NamedTuple):
    name: str
    config: dict[str, object]
    body: dict[str, object]
    token: int


class Rig:
    def __init__(self, view=None, *, up=True, opened=True, pulls=None, config=None, **options):
        self.now = 0.0
        self.made = ConsumeOptions(**{"idle_heartbeat": 5.0, **(pulls or {})})
        options = OrderedOptions(
            config=ConsumerConfig(**(config or {})), pulls=self.made, **options
        )
        self.ordered = OrderedConsumer(ApiSubjects(), "S", view or Messages(), options)
        self.log: list[object] = []
        self.asked: list[Create] = []
        self.told: list[tuple[object, object]] = []
        self.cseq = 0
        self.ordered.port = Port(up=up)
        if opened:
            self.ordered.opened(self.now)
            self.look()

    # what it says

    @property
    def port(self) -> Port:
        return self.ordered.port

    def look(self) -> list[object]:
        """Commands since the last look, creations noted."""
        commands, self.port.commands = list(self.port.commands), []
        self.told += self.port.notices
        self.port.notices.clear()
        for each in commands:
            if isinstance(each, Publish) and each.subject.startswith(CREATE):
                body = json.loads(each.payload)
                token = int(each.reply.rpartition(".")[2])
                self.asked.append(Create(body["config"]["name"], body["config"], body, token))
        self.log += commands
        return commands

    def words(self) -> list[str]:
        """Commands since the last look, one word each."""
        return [word(each) for each in self.look()]

    @property
    def creates(self) -> list[Create]:
        self.look()
        return self.asked

    @property
    def starts(self) -> list[dict[str, object]]:
        """Policy and start fields of all creations."""
        wanted = {"deliver_policy", "opt_start_seq", "opt_start_time"}
        return [
            {name: value for name, value in each.config.items() if name in wanted}
            for each in self.creates
        ]

    @property
    def deleted(self) -> list[str]:
        self.look()
        subjects = [each.subject for each in self.log if isinstance(each, Publish)]
        return [each.removeprefix(DELETE) for each in subjects if each.startswith(DELETE)]

    @property
    def pulls(self) -> list[dict[str, object]]:
        self.look()
        return [
            json.loads(each.payload)
            for each in self.log
            if isinstance(each, Publish) and each.subject.startswith(NEXT)
        ]

    @property
    def notices(self) -> list[object]:
        self.look()
        return [kind for kind, _ in self.told]

    @property
    def caught(self) -> list[int]:
        """Behind which stream sequences it said that it is caught up."""
        self.look()
        return [detail for kind, detail in self.told if kind is OrderedNotice.CAUGHT_UP]

    @property
    def token(self) -> str:
        return self.ordered.intake.deliver or list(self.ordered.intake.engine.ledger.open)[-1]

    # the server

    def reply(
        self, token: int, members: dict[str, object] | bytes, block: bytes | None = None
    ) -> Rig:
        body = members if isinstance(members, bytes) else json.dumps(members).encode()
        self.ordered.replied(token, ("1", f"_INBOX.R.1.{token}", "", block, body), self.now)
        return self

    def ok(
        self,
        create: Create | None = None,
        *,
        pending=0,
        before=0,
        created=T0,
        name="",
        delivered=0,
        version="2.15.1",
    ) -> Rig:
        create = create or self.creates[-1]
        self.cseq = (
            0
            if create.config.get("deliver_subject") is None
            else self.ordered.order.guard.expected - 1
        )
        metadata = {"_nats.ver": version} if version else {}
        config = {**create.config, "metadata": {**create.config.get("metadata", {}), **metadata}}
        return self.reply(
            create.token,
            {
                "type": "io.nats.jetstream.api.v1.consumer_create_response",
                "stream_name": "S",
                "name": name or create.name,
                "created": created,
                "config": config,
                "delivered": {"consumer_seq": delivered, "stream_seq": before},
                "num_pending": pending,
            },
        )

    def error(
        self, code: int, err_code: int, text: str = "no", create: Create | None = None
    ) -> Rig:
        create = create or self.creates[-1]
        return self.reply(
            create.token, {"error": {"code": code, "err_code": err_code, "description": text}}
        )

    def nobody(self, create: Create | None = None) -> Rig:
        """503 to a creation."""
        return self.reply((create or self.creates[-1]).token, b"", b"NATS/1.0 503\r\n\r\n")

    def gone(self, count: int | None = None) -> Rig:
        """Answer all deletions that are open; each was not there any more."""
        done = 0
        while self.ordered.leftovers.names and (count is None or done < count):
            self.look()
            publish = [
                each
                for each in self.log
                if isinstance(each, Publish)
                and each.subject == DELETE + self.ordered.leftovers.names[0]
            ][-1]
            self.reply(
                int(publish.reply.rpartition(".")[2]),
                {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}},
            )
            done += 1
        return self

    @property
    def infos(self) -> list[Publish]:
        """Questions for the stream's subjects."""
        self.look()
        return [each for each in self.log if isinstance(each, Publish) and each.subject == INFO]

    @property
    def asked_info(self) -> int:
        return len(self.infos)

    @property
    def info_bodies(self) -> list[dict[str, object]]:
        return [json.loads(each.payload) for each in self.infos]

    def info(self, *subjects: str, last: int) -> Rig:
        """The stream says which subjects it has."""
        state = {
            "messages": 9,
            "first_seq": 1,
            "last_seq": last,
            "subjects": dict.fromkeys(subjects, 1),
        }
        members = {"config": {"name": "S"}, "created": T0, "state": state, "total": len(subjects)}
        return self.reply(int(self.infos[-1].reply.rpartition(".")[2]), members)

    def info_error(self) -> Rig:
        error = {"error": {"code": 503, "err_code": 10008, "description": "not available"}}
        return self.reply(int(self.infos[-1].reply.rpartition(".")[2]), error)

    def key(self, subject: str, sseq: int, *, pending=0) -> Rig:
        """A message on this subject."""
        sid, _, reply, block, payload = self.frame(sseq, pending=pending)
        return self.feed((sid, subject, reply, block, payload))

    def frame(self, sseq, cseq=None, *, pending=0, sid="", consumer="", reply=None, long=False):
        if cseq is None:
            self.cseq += 1
            cseq = self.cseq
        consumer = consumer or self.ordered.incarnation.name
        front = "_.ACCHASH." if long else ""
        newest = self.ordered.options.config.deliver_policy == "last_per_subject"
        subject = f"s.{sseq}" if newest else "s.a"  # a value for each subject
        if reply is None:
            reply = f"$JS.ACK.{front}S.{consumer}.1.{sseq}.{cseq}.1795811553265218855.{pending}"
        return (sid or self.port.sid, subject, reply, None, b"x")

    def data(self, *sseqs, pending=0, **how) -> Rig:
        last = len(sseqs) - 1
        left = [pending + (0 if how.get("flat") else last - at) for at in range(len(sseqs))]
        how.pop("flat", None)
        frames = [self.frame(each, pending=left[at], **how) for at, each in enumerate(sseqs)]
        return self.feed(*frames)

    def feed(self, *frames) -> Rig:
        self.ordered.delivered(list(frames), self.now)
        return self

    def status(self, code, text="", headers="", token="", sid="") -> Rig:
        block = f"NATS/1.0 {code} {text}".rstrip() + f"\r\n{headers}\r\n"
        return self.feed((sid or self.port.sid, token or self.token, "", block.encode(), b""))

    def heartbeat(self, last=0, **how) -> Rig:
        return self.status(
            100, "Idle Heartbeat", f"Nats-Last-Consumer: {last}\r\nNats-Last-Stream: 0\r\n", **how
        )

    def question(self, subject: str) -> Rig:
        """A flow-control request."""
        block = b"NATS/1.0 100 FlowControl Request\r\n\r\n"
        return self.feed((self.port.sid, self.ordered.intake.deliver, subject, block, b""))

    @property
    def answers(self) -> list[str]:
        """Flow-control answers so far."""
        self.look()
        subjects = [each.subject for each in self.log if isinstance(each, Publish)]
        return [each for each in subjects if each.startswith("$JS.FC.")]

    # time and links

    def at(self, now: float) -> Rig:
        self.now = now
        return self

    def tick(self, now: float | None = None) -> Rig:
        self.now = self.now if now is None else now
        self.ordered.ticked(self.now)
        return self

    def run_to(self, end: float) -> Rig:
        """Let time pass by its own deadlines, nobody answers."""
        rounds = 0
        while (deadline := self.ordered.deadline) is not None and deadline <= end:
            self.tick(max(deadline, self.now))
            rounds += 1
            assert rounds < 10_000, "it spins"
        self.now = end
        return self

    def down(self) -> Rig:
        self.port.up = False
        self.ordered.link_down(LOST, self.now)
        return self

    def up(self) -> Rig:
        self.port.up = True
        self.port.renew()
        self.ordered.link_up(self.now)
        return self

    # the user

    def take(self) -> list[int]:
        """The stream sequences at hand."""
        found = []
        while (item := self.ordered.take(self.now)) is not NEED_DATA and item is not ENDED:
            found.append(item.metadata.stream_sequence if isinstance(item, JsMessage) else item)
        return found


def word(command: object) -> str:
    if isinstance(command, Sub):
        return f"SUB {command.subject}"
    if isinstance(command, Unsub):
        return f"UNSUB {command.sid}"
    if isinstance(command, Publish):
        return command.subject.removeprefix("$JS.API.CONSUMER.").replace("MSG.", "")
    return type(command).__name__
