"""Every API document that a real server of 2.9 to 2.15 was recorded to say is known to us, and
survives us.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jsproto.errors import InvalidResponse
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.config.account import AccountInfo
from jsproto.jetstream.api.config.consumer import ConsumerConfig, ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo, StreamState
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.envelope import answer, members_or_error, parse_object, to_json
from jsproto.jetstream.api.errors import InvalidPubAck, JetStreamError, RequestContext
from jsproto.jetstream.api.publishing.puback import PubAck, pub_ack

PREFIX = "io.nats.jetstream.api.v1."
ZERO = "0001-01-01T00:00:00Z"

#: Which document an answer of each type is, and below which members more of them lie.
INFOS: dict[str, type[Document]] = {
    "account_info_response": AccountInfo,
    "stream_create_response": StreamInfo,
    "stream_update_response": StreamInfo,
    "stream_info_response": StreamInfo,
    "consumer_create_response": ConsumerInfo,
    "consumer_info_response": ConsumerInfo,
    "consumer_reset_response": ConsumerInfo,
}
LISTS: dict[str, tuple[str, type[Document]]] = {
    "stream_list_response": ("streams", StreamInfo),
    "consumer_list_response": ("consumers", ConsumerInfo),
}
#: Answers that have no document of their own here, with every member that was ever seen in them.
PLAIN: dict[str, set[str]] = {
    "consumer_delete_response": {"success"},
    "consumer_leader_stepdown_response": {"success"},
    "consumer_names_response": {"total", "offset", "limit", "consumers"},
    "consumer_pause_response": {"paused", "pause_until", "pause_remaining"},
    "consumer_unpin_response": set(),
    "stream_delete_response": {"success"},
    "stream_leader_stepdown_response": set(),
    "stream_msg_delete_response": {"success"},
    "stream_msg_get_response": {"message"},
    "stream_names_response": {"total", "offset", "limit", "streams"},
    "stream_purge_response": {"success", "purged"},
    "stream_remove_peer_response": set(),
    "stream_restore_response": {"deliver_subject"},
    "stream_template_create_response": {"config", "streams"},
    "stream_template_names_response": {"total", "offset", "limit", "streams"},
    "system_response": set(),
}


def stream_of(path: Path, direction: str) -> Iterator[bytes]:
    """All bytes of one direction, one connection after the other."""
    parts: dict[object, list[bytes]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("dir") == direction:
                packed = record.get("z64")
                chunk = (
                    zlib.decompress(base64.b64decode(packed))
                    if packed
                    else base64.b64decode(record["b64"])
                )
                parts.setdefault(record["conn"], []).append(chunk)
    yield from (b"".join(chunks) for chunks in parts.values())


def payloads(data: bytes, operations: tuple[bytes, bytes]) -> Iterator[tuple[str, bytes]]:
    """Subject and payload of every complete message frame; a test's own small reader, lines are
    skipped.
    """
    plain, headed = operations
    at = 0
    while (end := data.find(b"\r\n", at)) >= 0:
        words = data[at:end].split()
        at = end + 2
        operation = words[0].upper() if words else b""
        if operation not in operations or not words[-1].isdigit():
            continue
        block = int(words[-2]) if operation == headed else 0
        size = int(words[-1])
        yield words[1].decode("utf-8", "replace"), data[at + block : at + size]
        at += size + 2
    assert plain != headed


@pytest.fixture(scope="module")
def answers(traces: Path) -> list[bytes]:
    """Every JSON object that a server sent as a payload, once."""
    found: dict[bytes, None] = {}
    for path in sorted(traces.glob("*/*.jsonl")):
        for data in stream_of(path, "s2c"):
            for _, body in payloads(data, (b"MSG", b"HMSG")):
                if body.startswith(b"{"):
                    found[body] = None
    return list(found)


@pytest.fixture(scope="module")
def requests(traces: Path) -> list[tuple[str, bytes]]:
    """Every JSON object that the recorded client sent to the API, once."""
    found: dict[tuple[str, bytes], None] = {}
    for path in sorted(traces.glob("*/*.jsonl")):
        for data in stream_of(path, "c2s"):
            for subject, body in payloads(data, (b"PUB", b"HPUB")):
                if body.startswith(b"{") and ".API." in subject:
                    found[subject, body] = None
    return list(found)


def typed(answers: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for body in answers:
        kind = json.loads(body).get("type")
        if isinstance(kind, str) and kind.startswith(PREFIX):
            yield kind.removeprefix(PREFIX), body


def read_as(kind: str, body: bytes) -> dict[str, object]:
    """The members of an answer, as the answer of the kind that it says it is; stream templates are
    none of ours.
    """
    of = {each.removeprefix(PREFIX): expected for expected in AnswerType for each in expected.types}
    about = RequestContext(what=kind)
    return answer(body, about, of[kind]) if kind in of else members_or_error(body, about)


def documents(answers: list[bytes]) -> Iterator[tuple[Document, dict[str, object]]]:
    """Every document with the JSON that it was read from."""
    for kind, body in typed(answers):
        try:
            members = read_as(kind, body)
        except JetStreamError:
            continue
        if kind in INFOS:
            yield INFOS[kind].from_wire(members), members
        elif kind in LISTS:
            name, entry = LISTS[kind]
            for each in members[name]:
                yield entry.from_wire(each), each
        elif kind == "stream_snapshot_response":
            yield StreamConfig.from_wire(members["config"]), members["config"]
            yield StreamState.from_wire(members["state"]), members["state"]


def unknown(document: Document, at: str) -> Iterator[str]:
    """Paths of members that were kept without being known, at any depth."""
    yield from (f"{at}.{name}" for name in document.extra)
    for name in getattr(document, "__slots__", ()):
        value = getattr(document, name, None)
        parts = (
            value
            if isinstance(value, tuple)
            else value.values()
            if isinstance(value, dict)
            else (value,)
        )
        for part in parts:
            if isinstance(part, Document):
                yield from unknown(part, f"{at}.{name}")


def timeless(value: object) -> object:
    """JSON without Go's zero times and without what is empty: both mean "not set"."""
    if isinstance(value, dict):
        kept = {
            name: timeless(each) for name, each in value.items() if each not in (None, ZERO, [])
        }
        return {name: each for name, each in kept.items() if each is not None}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def test_the_recordings_hold_enough_to_prove_anything(answers: list[bytes]) -> None:
    kinds = {kind for kind, _ in typed(answers)}

    assert kinds >= {*INFOS, *LISTS, "stream_snapshot_response"}
    assert len(answers) > 500


def test_no_member_of_any_recorded_document_is_unknown(answers: list[bytes]) -> None:
    strangers = {
        path
        for document, _ in documents(answers)
        for path in unknown(document, type(document).__name__)
    }

    assert strangers == set()


def test_every_type_of_answer_is_a_document_or_on_the_list_of_plain_ones(
    answers: list[bytes],
) -> None:
    strangers: dict[str, set[str]] = {}
    for kind, body in typed(answers):
        if kind in INFOS or kind in LISTS or kind == "stream_snapshot_response":
            continue
        members = set(json.loads(body)) - {"type", "error"}
        if members - PLAIN.get(kind, set()) or kind not in PLAIN:
            strangers.setdefault(kind, set()).update(members)

    assert strangers == {}


def test_every_recorded_configuration_is_written_as_the_very_document_it_was_read_from(
    answers: list[bytes],
) -> None:
    configs = 0
    for document, members in documents(answers):
        if isinstance(document, (StreamInfo, ConsumerInfo)):
            configs += 1

            assert json.loads(to_json(document.config.to_wire())) == members["config"]
    assert configs > 200


def test_every_recorded_info_survives_reading_and_writing(answers: list[bytes]) -> None:
    for document, members in documents(answers):
        again = type(document).from_wire(parse_object(to_json(document.to_wire())))

        assert again == document
        written = timeless(document.to_wire())
        for name, value in timeless(members).items():
            assert written[name] == value or isinstance(value, dict), name


def test_every_recorded_error_answer_raises_its_class_and_no_success_does(
    answers: list[bytes],
) -> None:
    errors = 0
    for kind, body in typed(answers):
        error = json.loads(body).get("error")
        if error is None:
            assert isinstance(read_as(kind, body), dict)
        else:
            errors += 1
            with pytest.raises(JetStreamError) as caught:
                read_as(kind, body)
            assert (caught.value.code, caught.value.err_code) == (error["code"], error["err_code"])
            assert caught.value.constant.startswith("JS")
            assert kind in str(caught.value)
    assert errors > 50


def test_every_recorded_publish_acknowledgement_is_read_and_every_refusal_raised(
    answers: list[bytes],
) -> None:
    read = refused = 0
    for body in answers:
        members = json.loads(body)
        if "type" in members or "seq" not in members or "stream" not in members:
            continue
        if members.get("error") is None:
            read += 1
            ack = pub_ack(body, RequestContext())

            assert ack.to_wire() == {"duplicate": False, **members}
            assert ack == PubAck.from_wire(members)
        else:
            refused += 1
            with pytest.raises(JetStreamError):
                pub_ack(body, RequestContext())
    assert read > 40
    assert refused > 10


def test_every_other_recorded_object_is_no_acknowledgement(answers: list[bytes]) -> None:
    for body in answers:
        members = json.loads(body)
        if members.get("error") is None and not members.get("stream"):
            with pytest.raises(InvalidPubAck) as caught:
                pub_ack(body, RequestContext())
            assert caught.value.body == body


def test_every_recorded_request_for_a_stream_or_consumer_is_read_or_refused_for_a_reason(
    requests: list[tuple[str, bytes]],
) -> None:
    refused: set[str] = set()
    strangers: set[str] = set()
    read = 0
    for subject, body in requests:
        try:
            members = parse_object(body)
        except InvalidResponse:
            continue
        members.pop("pedantic", None)
        if ".STREAM.CREATE." in subject or ".STREAM.UPDATE." in subject:
            kind: type[Document] = StreamConfig
        elif ".CONSUMER." in subject and ("CREATE" in subject):
            kind, members = ConsumerConfig, members.get("config", {})
        else:
            continue
        try:
            document = kind.from_wire(members)
        except InvalidResponse as error:
            refused.add(str(error))
            continue
        read += 1
        strangers |= set(unknown(document, kind.__name__))
        assert timeless(document.to_wire()) == timeless(members)

    assert read > 40
    assert refused == EXPECTED_REFUSALS
    assert strangers == EXPECTED_STRANGERS


#: What the recorded client asked for on purpose to see it refused.
EXPECTED_REFUSALS: set[str] = set()
EXPECTED_STRANGERS: set[str] = {"ConsumerConfig.unknown"}
