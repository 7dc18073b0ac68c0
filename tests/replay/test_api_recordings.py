"""Every request to the API that was recorded, asked by our procedures: the same bytes go out, and
the answer means the same.

A recorded request is taken apart (verb, names, members) and asked again by the procedure of its
verb. It must put the same subject and the same members on the wire; then it hears what the server
said, and ends in a value or in the error of that very number. What cannot be asked with our
procedures, because they refuse it or have no word for it, is a mistake that was made on purpose:
the server refused it too, or stayed silent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from jsproto.core.conversation.conversation import Call, Port
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import CurrentTime, Sleep, Steps
from jsproto.errors import (
    ApiError,
    InvalidResponse,
    JsprotoError,
    LocalProtocolError,
    NoResponders,
    StatusError,
)
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.enums import ConsumerAction
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.requests import cluster, maintenance, manage
from jsproto.jetstream.api.requests.maintenance import Purge
from jsproto.jetstream.api.requests.messages import (
    MessageSelector,
    StoredMessage,
    delete_message,
    stored_message,
)
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.stored.direct_batch import BatchOptions, DirectBatch
from jsproto.signals import ENDED, NEED_DATA
from jsproto.trace.formats.recording import Received, Sent, parse_recording
from jsproto.wire.client_commands import ClientCommandParser, PubLine
from jsproto.wire.frames import Delivery
from jsproto.wire.headers import status_of
from jsproto.wire.parser import Parser
from tests.recordings import folder

KINDS = (
    "api",
    "direct",
    "ack",
    "pub",
    "kv",
    "objstore",
    "push",
    "ordered",
    "prio",
    "advisories",
    "snapshot",
    "seed",
)


PATHS = sorted(path for kind in KINDS for path in folder().glob(f"*/{kind}_*.jsonl"))

recorded = pytest.mark.parametrize(
    "path",
    PATHS or [pytest.param(None, marks=pytest.mark.skip("set JSPROTO_TRACES"))],
    ids=(lambda path: f"{path.parent.name}/{path.stem}") if PATHS else None,
)


class Asked(NamedTuple):
    """One recorded request and everything that came on its reply subject."""

    subject: str
    payload: bytes
    answers: list[Delivery]

    @property
    def members(self) -> dict[str, object]:
        return json.loads(self.payload) if self.payload else {}


def exchanges(path: Path) -> Iterator[Asked]:
    recording = parse_recording(path.read_text(encoding="utf-8"))
    readers: dict[str, ClientCommandParser] = {}
    parsers: dict[str, Parser] = {}
    asked: dict[str, Asked] = {}
    for record in recording.records:
        if isinstance(record, Sent):
            reader = readers.setdefault(record.conn, ClientCommandParser())
            for line in reader.feed(record.data):
                if isinstance(line, PubLine) and line.reply and line.block is None:
                    asked[line.reply] = Asked(line.subject, line.payload, [])
        elif isinstance(record, Received):
            for frame in parsers.setdefault(record.conn, Parser()).feed(record.data):
                if type(frame) is tuple and frame[1] in asked:
                    asked[frame[1]].answers.append(frame)
    yield from asked.values()


# ------------------------------------------------------------------------------------------ asked again

Ask = Callable[[ApiSubjects, list[str], dict[str, object]], Steps[object]]


def _stream(make: Callable[..., Steps[object]]) -> Ask:
    def ask(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
        pedantic = bool(body.pop("pedantic", False))
        return make(api, StreamConfig.from_wire(body), pedantic=pedantic)

    return ask


def _info(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
    return manage.stream_info(api, names[0], **body)


def _purge(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
    return maintenance.purge_stream(api, names[0], Purge(body.pop("filter", ""), **body))


def _create_consumer(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
    config = ConsumerConfig.from_wire(body["config"])
    action = ConsumerAction(body.get("action", ""))
    return manage.create_consumer(
        api,
        str(body["stream_name"]),
        config,
        action=action,
        pedantic=bool(body.get("pedantic", False)),
    )


def _pause(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
    until = Timestamp.parse(str(body["pause_until"])) if body else None
    return maintenance.pause_consumer(api, names[0], names[1], until)


def _which(body: dict[str, object]) -> MessageSelector:
    if "start_time" in body:
        body["start_time"] = Timestamp.parse(str(body["start_time"]))
    return MessageSelector(**body)


def _delete_message(api: ApiSubjects, names: list[str], body: dict[str, object]) -> Steps[object]:
    return delete_message(api, names[0], body["seq"], erase=not body.get("no_erase", False))


def _placement(body: dict[str, object]) -> Placement | None:
    return Placement.from_wire(body["placement"]) if body else None


VERBS: Mapping[str, Ask] = {
    "INFO": lambda api, names, body: manage.account_info(api),
    "STREAM.CREATE": _stream(manage.create_stream),
    "STREAM.UPDATE": _stream(manage.update_stream),
    "STREAM.INFO": _info,
    "STREAM.DELETE": lambda api, names, body: manage.delete_stream(api, names[0]),
    "STREAM.PURGE": _purge,
    "STREAM.NAMES": lambda api, names, body: manage.stream_names(api, **body),
    "STREAM.LIST": lambda api, names, body: manage.streams(api, **body),
    "STREAM.MSG.GET": lambda api, names, body: stored_message(
        api, names[0], no_headers=body.pop("no_hdr", False), which=_which(body)
    ),
    "STREAM.MSG.DELETE": _delete_message,
    "STREAM.PEER.REMOVE": lambda api, names, body: cluster.remove_peer(api, names[0], body["peer"]),
    "STREAM.LEADER.STEPDOWN": lambda api, names, body: cluster.step_down_stream(
        api, names[0], placement=_placement(body), wait=False
    ),
    "CONSUMER.CREATE": _create_consumer,
    "CONSUMER.INFO": lambda api, names, body: manage.consumer_info(api, *names),
    "CONSUMER.DELETE": lambda api, names, body: manage.delete_consumer(api, *names),
    "CONSUMER.NAMES": lambda api, names, body: manage.consumer_names(api, *names),
    "CONSUMER.LIST": lambda api, names, body: manage.consumers(api, *names),
    "CONSUMER.PAUSE": _pause,
    "CONSUMER.UNPIN": lambda api, names, body: maintenance.unpin_consumer(
        api, *names, body["group"]
    ),
    "CONSUMER.RESET": lambda api, names, body: maintenance.reset_consumer(api, *names, **body),
    "CONSUMER.LEADER.STEPDOWN": lambda api, names, body: cluster.step_down_consumer(
        api, *names, placement=_placement(body), wait=False
    ),
    "META.LEADER.STEPDOWN": lambda api, names, body: cluster.step_down_meta(api, wait=False),
    "DIRECT.GET": lambda api, names, body: stored_message(
        api,
        names[0],
        MessageSelector(last_by_subj=".".join(names[1:]))
        if len(names) > 1 and not body
        else _which(body),
        direct=True,
    ),
}
#: Verbs of the API that other machines speak, or nobody does any more.
ELSEWHERE = (
    "CONSUMER.MSG.NEXT",
    "STREAM.SNAPSHOT",
    "STREAM.RESTORE",
    "STREAM.TEMPLATE",
    "CONSUMER.DURABLE.CREATE",
)


def verb_of(subject: str) -> tuple[ApiSubjects, str, list[str]] | None:
    """The API, verb and names of a subject; ``None`` if it is none that we ask."""
    prefix, found, rest = subject.partition(".API.")
    if not found or not prefix.startswith("$JS"):
        return None
    words = rest.split(".")
    for size in (3, 2, 1):
        if ".".join(words[:size]) in VERBS:
            return ApiSubjects(f"{prefix}.API"), ".".join(words[:size]), words[size:]
    return None


def is_page(asked: Asked) -> bool:
    """Pages behind the first, and batches, are asked by machines that have tests of their own."""
    try:
        members = asked.members
    except ValueError:
        return False
    return isinstance(members, dict) and bool({"offset", "batch", "multi_last"} & members.keys())


def said(asked: Asked) -> int | None:
    """The number of the error that the server said, 0 for a status, ``None`` for no error."""
    _, _, _, block, payload = asked.answers[0]
    if not payload and block is not None and status_of(block) is not None:
        return 0
    if not payload.startswith(b"{"):
        return None
    error = json.loads(payload).get("error")
    return error["err_code"] if error else None


def first(steps: Steps[object]) -> Call:
    step = next(steps)
    while isinstance(step, CurrentTime | Sleep):
        step = steps.send(0.0)
    return step


def outcome(steps: Steps[object], asked: Asked) -> object:
    """What our procedure makes of the recorded answer; a further question of it (another page) is
    its value.
    """
    frame = asked.answers[0]
    status = None if frame[3] is None else status_of(frame[3])
    try:
        if status is not None and status[0] == 503 and not frame[4]:
            return steps.throw(NoResponders("nobody"))
        return steps.send(Message(frame))
    except StopIteration as stop:
        return stop.value
    except JsprotoError as error:
        return error


@recorded
def test_a_recorded_request_is_asked_in_the_same_words_and_its_answer_understood(
    path: Path,
) -> None:
    for asked in exchanges(path):
        found = verb_of(asked.subject)
        if found is None or is_page(asked):
            continue
        api, verb, names = found
        try:
            steps = VERBS[verb](api, list(names), asked.members)
            call = first(steps)
        except (
            LocalProtocolError,
            InvalidResponse,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            StopIteration,
        ):
            mistaken(asked)
            continue
        if (
            call.subject != asked.subject
            or (json.loads(call.payload) if call.payload else {}) != asked.members
        ):
            differs(asked, call)
            continue
        if not asked.answers:
            continue
        result = outcome(steps, asked)
        number = said(asked)
        if number is None:
            assert not isinstance(result, JsprotoError), (asked.subject, asked.payload, result)
        elif number:
            assert isinstance(result, ApiError), (asked.subject, result)
            assert result.err_code == number
        else:
            assert isinstance(result, (StatusError, NoResponders, ApiError)), (
                asked.subject,
                result,
            )


def mistaken(asked: Asked) -> None:
    """What we refuse to say the server refused too, or stayed silent; or it is a wish that we have
    no word for:
    the payload alone, without its place."""
    unspoken = ".DIRECT.GET." in asked.subject and b'"no_hdr":true' in asked.payload
    old = b'"action":"bogus"' in asked.payload  # 2.9 does not look at it

    assert not asked.answers or said(asked) is not None or unspoken or old, asked


def differs(asked: Asked, call: Call) -> None:
    """The same members on another subject of the verb; or a last message on the subject that it has
    for itself; or a
    start time with the subject that steps over deleted messages."""
    ours, theirs = json.loads(call.payload or b"{}"), asked.members
    last = theirs.get("last_by_subj")

    assert verb_of(call.subject)[1] == verb_of(asked.subject)[1]
    assert (
        ours == theirs
        or (ours == {} and call.subject == f"{asked.subject}.{last}")
        or (ours == {**theirs, "next_by_subj": ">"} and "start_time" in theirs)
    ), (asked, call)


# ------------------------------------------------------------------------------------------ batches


@recorded
def test_a_recorded_batch_is_read_as_far_as_the_server_answered(path: Path) -> None:
    for asked in exchanges(path):
        if ".DIRECT.GET." not in asked.subject or not is_page(asked) or not asked.answers:
            continue
        members = asked.members
        try:
            options = BatchOptions(
                seq=members.get("seq"),
                start_time=Timestamp.parse(members["start_time"])
                if "start_time" in members
                else None,
                next_by_subj=members.get("next_by_subj", ""),
                multi_last=members.get("multi_last", ()),
                up_to_seq=members.get("up_to_seq"),
                up_to_time=Timestamp.parse(members["up_to_time"])
                if "up_to_time" in members
                else None,
                page=members.get("batch", 500),
                page_bytes=members.get("max_bytes", 4 * 1024 * 1024),
            )
        except LocalProtocolError:
            continue
        if "last_by_subj" in members:
            continue  # no word of ours
        batch = DirectBatch(ApiSubjects(), asked.subject.rsplit(".", 1)[1], options)
        batch.port = Port()
        batch.opened(0.0)
        own = json.loads(batch.port.commands[0].payload)

        assert {name: value for name, value in members.items() if own.get(name) != value} == {}
        for frame in asked.answers:
            batch.replied(batch._token, frame, 0.0)
        got: list[StoredMessage] = []
        while batch.readable:
            message = batch.take(0.0)
            assert isinstance(message, StoredMessage)
            got.append(message)
        messages = [each for each in asked.answers if b"Nats-Sequence:" in (each[3] or b"")]

        assert [each.payload for each in got] == [each[4] for each in messages]
        assert [each.seq for each in got] == sorted(each.seq for each in got)
        if batch.ended and batch.error is None:
            assert batch.take(0.0) is ENDED
            assert not batch.pending
        elif not batch.ended:
            assert batch.take(0.0) is NEED_DATA


def test_the_recordings_ask_nearly_every_verb_in_the_very_words_of_ours() -> None:
    if not PATHS:
        pytest.skip("set JSPROTO_TRACES")
    exact = set()
    for asked in (each for path in PATHS for each in exchanges(path)):
        found = verb_of(asked.subject)
        if found is not None and asked.answers and said(asked) is None:
            exact.add(found[1])

    refused_there = {
        "META.LEADER.STEPDOWN",
        "STREAM.PEER.REMOVE",
        "STREAM.LEADER.STEPDOWN",
        "CONSUMER.LEADER.STEPDOWN",
    }
    only_in_pages_or_sealed = {"CONSUMER.NAMES", "STREAM.PURGE"}

    assert VERBS.keys() - exact <= refused_there | only_in_pages_or_sealed
