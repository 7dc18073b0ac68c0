"""Recordings of real publishers, 2.9 to 2.15: what our machines write is what was written there,
and every answer is understood.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jsproto.core.conversation.conversation import Port, StopMode
from jsproto.core.conversation.procedure import Procedure
from jsproto.errors import StatusError
from jsproto.jetstream.api.errors import JetStreamError, RequestContext
from jsproto.jetstream.api.publishing.fast_ingest import FlowAck, FlowError, FlowGap, ingest_answer
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack
from jsproto.jetstream.api.requests.publish import publish
from jsproto.jetstream.publish.batch import BatchPublish, WholeBatch
from jsproto.jetstream.publish.fast_ingest import FastIngest, IngestFault
from jsproto.signals import ENDED
from jsproto.trace.formats.recording import Received, Sent, parse_recording
from jsproto.wire.commands import Publish
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.parser import Parser
from tests.recordings import folder

RECORDINGS = sorted(folder().glob("*/pub_*.jsonl"))
NEWEST = folder() / "2.15.1"
needs_recordings = pytest.mark.skipif(not RECORDINGS, reason="set JSPROTO_TRACES")
#: Requests and their answers that are no publishes: reading back what was stored.
API = re.compile(r"\$JS\.")
#: Recordings in which somebody else publishes.
BESIDE = {"pub_source_headers", "pub_two_streams_ack"}
PUT = re.compile(rb"^(H?PUB) ([^\r\n]+)\r\n", re.MULTILINE)


def put_by(data: bytes) -> list[Publish]:
    """The messages of one write; none of the recorded payloads looks like a command."""
    found = []
    for line in PUT.finditer(data):
        words = line[2].decode().split()
        cut = int(words[-2]) if line[1] == b"HPUB" else 0
        reply = words[1] if len(words) == (4 if cut else 3) else ""
        start = line.end()
        block = Headers.parse(data[start : start + cut]) if cut else None
        found.append(Publish(words[0], data[start + cut : start + int(words[-1])], reply, block))
    return found


class Heard:
    """A recording as pairs: what was published, and all that came on its reply subject."""

    def __init__(self, path: Path) -> None:
        self.sent: list[Publish] = []
        self.answers: dict[str, list[tuple[bytes | None, bytes]]] = {}
        parsers: dict[str, Parser] = {}
        for record in parse_recording(path.read_bytes()).records:
            if isinstance(record, Sent):
                self.sent += put_by(record.data)
            elif isinstance(record, Received):
                parser = parsers.setdefault(record.conn, Parser(any_sid=True))
                for frame in parser.feed(record.data):
                    if isinstance(frame, tuple) and len(frame) == 5:
                        _, subject, _, block, payload = frame
                        self.answers.setdefault(subject, []).append((block, payload))

    def pairs(self):
        for each in self.sent:
            if each.reply and not API.match(each.subject):
                for block, payload in self.answers.get(each.reply, []):
                    yield each, block, payload


@needs_recordings
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_answer_to_a_publish_is_an_acknowledgement_or_a_typed_error(path: Path) -> None:
    answered = 0
    classes: set[type[JetStreamError]] = set()
    for each, block, payload in Heard(path).pairs():
        answered += 1
        batch = each.headers is not None and "Nats-Batch-Id" in each.headers
        if not payload:
            assert batch or (block is not None and status_of(block) is not None)
            continue
        try:
            said = (
                ingest_answer(payload, RequestContext())
                if each.reply.endswith(".$FI")
                else pub_ack(payload, RequestContext())
            )
        except JetStreamError as error:
            classes.add(type(error))
        else:
            assert isinstance(said, (PubAck, FlowAck, FlowGap, FlowError))
    assert JetStreamError not in classes
    assert answered or path.stem in BESIDE


@needs_recordings
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_publish_with_the_recorded_headers_is_answered_as_it_was(path: Path) -> None:
    """The procedure behind `publish` is given what the recorded client sent, and what it heard."""
    for each, block, payload in Heard(path).pairs():
        if each.reply.endswith(".$FI") or (
            each.headers is not None and "Nats-Batch-Id" in each.headers
        ):
            continue
        procedure = Procedure(
            lambda each=each: publish(
                each.subject, each.payload, headers=each.headers or (), retries=0
            )
        )
        procedure.port = Port()
        procedure.opened(0.0)
        (ours,) = (command for command in procedure.port.commands if isinstance(command, Publish))
        assert (ours.subject, ours.payload, ours.headers) == (
            each.subject,
            each.payload,
            each.headers,
        )
        procedure.replied(
            int(ours.reply.rsplit(".", 1)[1]), ("1", ours.reply, "", block, payload), 0.0
        )
        assert procedure.ended
        if procedure.error is None:
            assert procedure.take(0.0) == pub_ack(payload, RequestContext())
        else:
            assert (
                payload
                or isinstance(procedure.error, StatusError)
                or (block or b"")[9:12] == b"503"
            )


@needs_recordings
@pytest.mark.parametrize("name", ["b1", "b2", "b9"])
def test_a_batch_writes_what_the_recorded_one_wrote_and_ends_as_it_did(name: str) -> None:
    heard = Heard(NEWEST / "pub_atomic_batch.jsonl")
    theirs = [
        each
        for each in heard.sent
        if each.headers is not None and each.headers.last("Nats-Batch-Id") == name
    ]
    eob = theirs[-1].headers["Nats-Batch-Commit"] == "eob"
    messages = [(each.subject, each.payload) for each in (theirs[:-1] if eob else theirs)]
    batch = BatchPublish(batch_id=name, eob=True) if eob else WholeBatch(messages, batch_id=name)
    batch.port = Port()
    batch.opened(0.0)
    if eob:
        for message in messages:
            batch.offered(message, 0.0)
        batch.told(StopMode.DRAIN, 0.0)
    answered = 0
    while not batch.ended:
        ours = [each for each in batch.port.commands if isinstance(each, Publish)]
        asking = [number for number, each in enumerate(ours) if each.reply]
        number = asking[answered]
        ((block, payload),) = heard.answers[theirs[number].reply]
        batch.replied(
            int(ours[number].reply.rsplit(".", 1)[1]), ("1", "r", "", block, payload), 0.0
        )
        answered += 1
    ours = [each for each in batch.port.commands if isinstance(each, Publish)]

    assert [(each.subject, each.payload, each.headers) for each in ours] == [
        (each.subject, each.payload, each.headers) for each in theirs
    ]
    assert batch.take(0.0).count == len(messages)


@needs_recordings
def test_an_ingest_says_what_the_recorded_one_said_and_knows_what_was_lost() -> None:
    heard = Heard(NEWEST / "pub_fast_batch.jsonl")
    theirs = [each for each in heard.sent if ".u1." in each.reply]
    ingest = FastIngest(batch_id="u1", flow=10, gaps="ok")
    ingest.port = Port()
    ingest.opened(0.0)
    for each in theirs:
        number, operation = each.reply.split(".")[-3:-1]
        if operation == "4":
            ingest.ticked(ingest.deadline)
        else:
            while ingest.sent < int(
                number
            ):  # what the recorded client left out on purpose is what is lost
                assert ingest.offered((each.subject, each.payload), 0.0)
        for block, payload in heard.answers.get(each.reply, []):
            ingest.delivered([("1", each.reply, "", block, payload)], 0.0)
    said = {
        each.reply.split(".", 5)[5] for each in ingest.port.commands if isinstance(each, Publish)
    }
    recorded = {each.reply.split(".", 3)[3] for each in theirs} - {
        "u1.10.ok.15.2.$FI"
    }  # its last message commits
    results = []
    while (item := ingest.take(0.0)) is not ENDED:
        results.append(item)

    assert recorded <= said
    fault, acked = results
    assert isinstance(fault, IngestFault)
    assert (fault.numbers, acked.batch, acked.count) == (range(12, 14), "u1", 15)
