"""What real servers said to the push consumers of an ordered reader, heard by our machine in the
reader's place.

A recording shows a row of consumers, ``ord1``, ``ord2``, each with an inbox of its own; ours are
told what its were told. Our machine must reset at the same places, ask for the same starts and hand
out every message of the stream once.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jsproto.jetstream.ordered.consumer import OrderedConsumer, OrderedNotice, SourceKind
from jsproto.jetstream.pull.request import PullNotice
from jsproto.trace.formats.recording import Received, Sent, Waited, parse_recording
from jsproto.wire.client_commands import ClientCommandParser, PubLine, SubLine
from jsproto.wire.commands import Publish
from jsproto.wire.frames import Delivery
from jsproto.wire.parser import Parser
from tests.jetstream.ordered_rig import DELETE, Rig
from tests.recordings import folder

PATHS = sorted(folder().glob("*/ordered_*.jsonl"))
recorded = pytest.mark.parametrize(
    "path",
    PATHS or [pytest.param(None, marks=pytest.mark.skip("set JSPROTO_TRACES"))],
    ids=(lambda path: f"{path.parent.name}/{path.stem}") if PATHS else None,
)
CONSUMER_CREATE = "$JS.API.CONSUMER.CREATE.S."
#: How many messages the reader gets, and how many came behind a gap and had to come again.
BOOKS = {
    "ordered_consumer_gone": (3, 0),
    "ordered_reset_gap": (4, 1),
    "ordered_heartbeat_gap": (1, 0),
}
FIELDS = ("deliver_policy", "opt_start_seq", "opt_start_time")


class Replay:
    """One recording, played to an ordered consumer."""

    def __init__(self, path: Path, *, restore: bool = False) -> None:
        self.rig = Rig(
            form=SourceKind.PUSH,
            pulls={
                "idle_heartbeat": 0.5,
                "expires": 1.0,
                "heartbeat_factor": 3.0,
                "retry_wait": 0.01,
            },
        )
        self.restore = restore
        self.taken: list[int] = []
        self.late = 0  # frames of an incarnation that is given up
        self.starts: list[dict[str, object]] = []
        self.theirs: dict[str, int] = {}  # sid of the recording: which of the incarnations
        self.calls: dict[str, str] = {}
        self.ours: list[tuple[str, str, str]] = []  # name, sid, deliver subject
        self.look()
        for record in parse_recording(path.read_text(encoding="utf-8")).records:
            self.rig.run_to(record.at)
            self.look()
            if isinstance(record, Sent):
                self.sent(record.data)
            elif isinstance(record, Received):
                for frame in self.parser.feed(record.data):
                    if isinstance(frame, tuple):
                        self.heard(frame)
            elif isinstance(record, Waited):
                self.rig.tick(record.at)
            self.step()

    @property
    def parser(self) -> Parser:
        if not hasattr(self, "_parser"):
            self._parser, self._reader = Parser(any_sid=True), ClientCommandParser()
        return self._parser

    def look(self) -> None:
        ordered = self.rig.ordered
        name = ordered.incarnation.name
        if name not in [each[0] for each in self.ours]:
            self.ours.append((name, ordered.port.sid, ordered.intake.deliver))

    def sent(self, data: bytes) -> None:
        assert self.parser
        for command in self._reader.feed(data):
            if isinstance(command, SubLine) and ".ord." in command.subject:
                self.theirs[command.sid] = int(command.subject.rpartition(".")[2]) - 1
            elif isinstance(command, PubLine) and command.reply:
                self.calls[command.reply] = command.subject
                if command.subject.startswith(CONSUMER_CREATE):
                    config = json.loads(command.payload)["config"]
                    self.starts.append({name: config[name] for name in FIELDS if name in config})

    def heard(self, frame: Delivery) -> None:
        sid, subject, reply, block, payload = frame
        asked = self.calls.get(subject, "")
        if asked.startswith(CONSUMER_CREATE):
            create = self.rig.creates[int(asked.rpartition("ord")[2]) - 1]
            members = json.loads(payload)
            members["name"] = create.name
            self.rig.reply(create.token, members)
        elif "CONSUMER.DELETE" in asked:
            ours = [
                each.reply
                for each in self.rig.log
                if isinstance(each, Publish) and each.subject.startswith(DELETE)
            ]
            self.rig.reply(int(ours[-1].rpartition(".")[2]), payload)
        elif sid in self.theirs:
            number = self.theirs[sid]
            name, sid, deliver = self.ours[number]
            self.late += name != self.rig.ordered.incarnation.name
            if reply.startswith("$JS.ACK."):
                tokens = reply.split(".")
                tokens[3] = name
                reply = ".".join(tokens)
            self.rig.feed((sid, deliver if ".ord." in subject else subject, reply, block, payload))

    def step(self) -> None:
        self.taken += self.rig.take()
        self.rig.look()
        self.look()
        if self.restore:
            old = self.rig.ordered
            new = OrderedConsumer(old._api, "S", old.view, old.options)
            new.port = old.port
            port = old.port.snapshot()
            new.restore(old.snapshot())
            assert (new.snapshot(), new.port.snapshot()) == (old.snapshot(), port)
            self.rig.ordered = new


@recorded
def test_the_same_starts_are_asked_for_and_every_message_is_handed_out_once(path):
    played = Replay(path)
    count, behind_gap = BOOKS[path.stem]

    assert played.rig.starts[: len(played.starts)] == played.starts
    assert played.taken == list(range(1, count + 1))
    assert played.rig.ordered.strays == behind_gap + played.late


@recorded
def test_resets_come_where_the_recorded_reader_had_to_reset(path):
    played = Replay(path)
    notices = [kind for kind in played.rig.notices if isinstance(kind, (PullNotice, OrderedNotice))]
    cause = PullNotice.HEARTBEAT_MISSED if "gone" in path.name else PullNotice.GAP

    assert played.rig.ordered.resets == 1
    assert notices[notices.index(OrderedNotice.RESET) - 1] is cause


@recorded
def test_a_snapshot_at_every_step_of_a_recording_changes_nothing(path):
    plain, restored = Replay(path), Replay(path, restore=True)

    assert plain.taken == restored.taken
    assert plain.rig.log == restored.rig.log
