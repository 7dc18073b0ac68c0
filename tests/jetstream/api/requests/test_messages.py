"""One stored message: how it is asked for, both forms of the answer, and that there is none."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from jsproto.errors import (
    InvalidConfig,
    InvalidResponse,
    InvalidSubject,
    NoResponders,
    RequestTimeout,
    StatusError,
)
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.api.requests.messages import (
    MessageSelector,
    StoredMessage,
    delete_message,
    from_direct,
    number,
    stored_message,
)
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import Timestamp
from jsproto.jetstream.errors import BadRequestStatus, HigherApiLevelRequired
from tests.jetstream.api.asking import message, refusal, run

API = ApiSubjects()
GET = "$JS.API.STREAM.MSG.GET.S"
DIRECT = "$JS.API.DIRECT.GET.S"
TIME = "2026-11-27T21:01:35.358002327Z"
BLOCK = b"NATS/1.0\r\nK: v\r\nK: w\r\n\r\n"
JSON = {
    "message": {
        "subject": "s.a",
        "seq": 3,
        "hdrs": base64.b64encode(BLOCK).decode(),
        "data": base64.b64encode(b"three").decode(),
        "time": TIME,
    }
}
PLACE = f"Nats-Stream: S\r\nNats-Subject: s.a\r\nNats-Sequence: 3\r\nNats-Time-Stamp: {TIME}\r\n".encode()
ANSWER = message(b"three", b"NATS/1.0\r\nK: v\r\nK: w\r\n" + PLACE + b"\r\n")


def status(line: str) -> object:
    return message(b"", f"NATS/1.0 {line}\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("which", "body"),
    [
        (MessageSelector(seq=3), {"seq": 3}),
        (MessageSelector(last_by_subj="s.*"), {"last_by_subj": "s.*"}),
        (MessageSelector(next_by_subj="s.>"), {"next_by_subj": "s.>"}),
        (MessageSelector(next_by_subj="s.a", seq=3), {"seq": 3, "next_by_subj": "s.a"}),
        (
            MessageSelector(start_time=datetime(2020, 1, 1, tzinfo=UTC)),
            {"start_time": "2020-01-01T00:00:00Z", "next_by_subj": ">"},
        ),
    ],
)
def test_both_ways_ask_the_same_and_answer_the_same_message(
    which: MessageSelector, body: object
) -> None:
    by_api, asked = run(stored_message(API, "S", which), JSON)
    direct, asked_direct = run(stored_message(API, "S", which, direct=True), ANSWER)

    assert asked == [(GET, body)]
    assert asked_direct == [(DIRECT, body)]
    assert by_api == direct
    assert (direct.stream, direct.subject, direct.seq, direct.payload) == ("S", "s.a", 3, b"three")
    assert direct.headers.items() == (("K", "v"), ("K", "w"))
    assert direct.time == Timestamp.parse(TIME)


def test_headers_are_left_out_by_the_server_or_here_and_a_direct_get_cannot() -> None:
    plain = {"message": {name: value for name, value in JSON["message"].items() if name != "hdrs"}}
    found, asked = run(stored_message(API, "S", MessageSelector(seq=3), no_headers=True), plain)
    older, _ = run(stored_message(API, "S", MessageSelector(seq=3), no_headers=True), JSON)

    assert asked == [(GET, {"seq": 3, "no_hdr": True})]
    assert (found, older.headers.items(), older.payload) == (older, (), b"three")
    with pytest.raises(InvalidConfig, match="no_headers without direct"):
        run(stored_message(API, "S", MessageSelector(seq=3), direct=True, no_headers=True))


def test_the_last_message_of_one_subject_has_a_subject_of_its_own() -> None:
    _, asked = run(
        stored_message(API, "S", MessageSelector(last_by_subj="s.a"), direct=True), ANSWER
    )

    assert asked == [(f"{DIRECT}.s.a", None)]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"seq": 0},
        {"seq": 1, "last_by_subj": "a"},
        {"seq": 1, "start_time": Timestamp(1)},
        {"start_time": Timestamp(1), "last_by_subj": "a"},
        {"last_by_subj": "a", "next_by_subj": "a"},
        {"start_time": datetime(2020, 1, 1)},  # noqa: DTZ001 - the point
    ],
)
def test_what_the_server_would_refuse_is_refused_here(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig):
        MessageSelector(**settings)


def test_a_subject_that_is_none_is_refused_here() -> None:
    with pytest.raises(InvalidSubject):
        MessageSelector(last_by_subj="a b")


def test_that_there_is_none_is_one_error_in_both_ways() -> None:
    with pytest.raises(MessageNotFound, match="message seq 9, stream S"):
        run(
            stored_message(API, "S", MessageSelector(seq=9)),
            refusal(404, 10037, "no message found"),
        )
    with pytest.raises(MessageNotFound, match="message seq 9, stream S") as caught:
        run(
            stored_message(API, "S", MessageSelector(seq=9), direct=True),
            status("404 Message Not Found"),
        )
    assert caught.value.err_code == 10037


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status("408 Bad Request"), BadRequestStatus),
        (status("412 Required Api Level"), HigherApiLevelRequired),
        (status("500 broken"), StatusError),
        (message(b"x"), InvalidResponse),
        (message(b"x", b"NATS/1.0\r\nK: v\r\n\r\n"), InvalidResponse),
        (message(b"x", b"NATS/1.0\r\nNats-Sequence: 3\r\n\r\n"), InvalidResponse),
        (
            message(b"x", PLACE.replace(b" 3", b" x").join([b"NATS/1.0\r\n", b"\r\n"])),
            InvalidResponse,
        ),
        (NoResponders("nobody"), NoResponders),
        (RequestTimeout("silence"), RequestTimeout),
    ],
)
def test_a_direct_get_that_fails_is_typed_and_says_what_was_asked(
    answer: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"S|number"):
        run(stored_message(API, "S", MessageSelector(seq=3), direct=True), answer)


@pytest.mark.parametrize(
    "members",
    [
        {"message": []},
        {"message": {}},
        {"message": {"subject": "s", "seq": "1", "time": TIME}},
        {"message": {"subject": "s", "seq": 1, "time": TIME, "data": "%%%"}},
        {"message": {"subject": "s", "seq": 1, "time": TIME, "hdrs": 5}},
        {},
    ],
)
def test_an_answer_that_is_no_message_is_an_invalid_response(members: dict[str, object]) -> None:
    with pytest.raises(InvalidResponse, match="message seq 1"):
        run(stored_message(API, "S", MessageSelector(seq=1)), members)


def test_a_message_with_nothing_in_it_is_one() -> None:
    bare = {"message": {"subject": "s", "seq": 1, "time": TIME}}
    found, _ = run(stored_message(API, "S", MessageSelector(seq=1)), bare)

    assert (found.payload, found.headers.items()) == (b"", ())


def test_headers_of_a_republished_message_are_not_taken_for_its_place() -> None:
    """The last of each name is the server's; those that are stored stay."""
    stored = b"NATS/1.0\r\nNats-Stream: OTHER\r\nNats-Sequence: 99\r\n"
    found = from_direct(message(b"x", stored + PLACE + b"\r\n"), "S")

    assert (found.stream, found.seq) == ("S", 3)
    assert found.headers.items() == (("Nats-Stream", "OTHER"), ("Nats-Sequence", "99"))


def test_a_stored_status_line_makes_no_status_of_a_message() -> None:
    found = from_direct(message(b"", b"NATS/1.0 404 No Messages\r\n" + PLACE + b"\r\n"), "S")

    assert found.seq == 3
    assert found.headers.status == (404, "No Messages")


def test_a_place_without_the_streams_name_is_still_one() -> None:
    block = b"NATS/1.0\r\n" + PLACE.replace(b"Nats-Stream: S\r\n", b"") + b"\r\n"

    assert from_direct(message(b"", block), "S").stream == "S"


def test_an_old_server_that_ignores_the_start_time_is_found_out() -> None:
    later = MessageSelector(start_time=datetime(2027, 1, 1, tzinfo=UTC))
    for direct, answer in ((False, JSON), (True, ANSWER)):
        with pytest.raises(InvalidResponse, match=r"before 2\.11"):
            run(stored_message(API, "S", later, direct=direct), answer)


def test_deleting_leaves_the_bytes_unless_they_shall_be_erased() -> None:
    _, asked = run(delete_message(API, "S", 5), {"success": True})
    _, erased = run(delete_message(API, "S", 5, erase=True), {"success": True})

    assert asked == [("$JS.API.STREAM.MSG.DELETE.S", {"seq": 5, "no_erase": True})]
    assert erased == [("$JS.API.STREAM.MSG.DELETE.S", {"seq": 5})]
    with pytest.raises(MessageNotFound, match="delete message 5"):
        run(delete_message(API, "S", 5), refusal(400, 10043, "sequence 5 not found"))
    with pytest.raises(InvalidConfig, match="seq"):
        run(delete_message(API, "S", 0))


def test_messages_are_values_with_a_short_form() -> None:
    found, _ = run(stored_message(API, "S", MessageSelector(seq=3)), JSON)
    twin = StoredMessage(*found.state)

    assert (twin == found, hash(twin) == hash(found), twin == "else") == (True, True, False)
    assert repr(found) == "StoredMessage(stream='S', subject='s.a', seq=3, payload=b'three')"


def test_a_time_that_is_none_is_an_invalid_response() -> None:
    odd = StoredMessage("S", "s", 1, "0001-01-01T00:00:00Z", None, b"")
    with pytest.raises(InvalidResponse, match="message 1"):
        _ = odd.time


@pytest.mark.parametrize("digits", ["", "-1", "1x", "\u0663", "18446744073709551616", "1" * 21])
def test_a_number_has_64_bits(digits: str) -> None:
    with pytest.raises(InvalidResponse):
        number(digits)
