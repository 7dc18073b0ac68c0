import base64
import json

import pytest

from jsproto.testing.proof.hidden import Content, Hidden

ACK = "$JS.ACK.S.C.1.{}.1.1800000000000000000.0"


def heard(recorded, *frames):
    return Hidden(recorded(*((0, "s2c", frame) for frame in frames)))


def hmsg(subject, reply, block, payload=b""):
    line = f"HMSG {subject} 1 {reply} {len(block)} {len(block) + len(payload)}".replace("  ", " ")
    return line.encode() + b"\r\n" + block + payload + b"\r\n"


def msg(subject, reply, payload):
    return (
        f"MSG {subject} 1 {reply} {len(payload)}".replace("  ", " ").encode()
        + b"\r\n"
        + payload
        + b"\r\n"
    )


@pytest.mark.parametrize("reply", [ACK.format(3), "$JS.ACK._.hash.S.C.1.3.1.1800000000000000000.0"])
def test_a_delivery_shows_what_was_stored(recorded, reply):
    hidden = heard(recorded, msg("s.a", reply, b"five!"))

    assert hidden.content("S", 3, "s.a", 5, 0) == Content("s.a", None, b"five!")


def test_what_headers_only_left_out_is_made_up_in_its_size(recorded):
    hidden = heard(recorded, hmsg("s.a", ACK.format(1), b"NATS/1.0\r\nNats-Msg-Size: 4\r\n\r\n"))

    assert hidden.content("S", 1, "s.a", 4, 0) == Content("s.a", None, b"xxxx")


def test_a_pin_id_was_not_published_and_a_header_was(recorded):
    block = b"NATS/1.0\r\nK: v\r\n"
    hidden = heard(recorded, hmsg("s.a", ACK.format(1), block + b"Nats-Pin-Id: abc\r\n\r\n", b"x"))

    assert hidden.content("S", 1, "s.a", 1, 0) == Content("s.a", block + b"\r\n", b"x")


def test_an_empty_block_that_was_published_stays(recorded):
    hidden = heard(recorded, hmsg("s.a", ACK.format(1), b"NATS/1.0\r\n\r\n", b"x"))

    assert hidden.content("S", 1, "s.a", 1, 0) == Content("s.a", b"NATS/1.0\r\n\r\n", b"x")


@pytest.mark.parametrize("more", [b"", b"Nats-Num-Pending: 2\r\nNats-Last-Sequence: 0\r\n"])
@pytest.mark.parametrize(
    ("own", "block"),
    [(b"", None), (b"K: v\r\n", b"NATS/1.0\r\nK: v\r\n\r\n")],
    ids=["bare", "headers"],
)
def test_a_direct_get_shows_what_was_stored(recorded, own, block, more):
    added = (
        b"Nats-Stream: S\r\nNats-Subject: s.b\r\nNats-Sequence: 7\r\nNats-Time-Stamp: T\r\n" + more
    )
    hidden = heard(recorded, hmsg("in.1", "", b"NATS/1.0\r\n" + own + added + b"\r\n", b"two"))

    assert hidden.content("S", 7, "s.b", 3, 0) == Content("s.b", block, b"two")


def test_an_answer_of_message_get_shows_what_was_stored_and_its_headers_count(recorded):
    block = b"NATS/1.0\r\nK: v\r\n\r\n"
    message = {"subject": "s.b", "seq": 2, "data": base64.b64encode(b"two").decode()}
    bare, full = (
        json.dumps({"type": "stream_msg_get_response", "message": {**message, **more}}).encode()
        for more in ({}, {"hdrs": base64.b64encode(block).decode()})
    )
    hidden = heard(recorded, msg("in.1", "", bare), msg("in.1", "", full), msg("in.1", "", bare))

    assert hidden.content("S", 2, "s.b", 3, 0) == Content("s.b", block, b"two")


def test_without_a_stream_the_messages_of_a_subject_are_taken_in_their_order(recorded):
    hidden = heard(recorded, msg("d.x", "", b"m0"), b"PONG\r\n", msg("d.x", "", b"m1"))

    assert [hidden.content("", 0, "d.x", 2, at).payload for at in range(3)] == [b"m0", b"m1", b"2."]


def test_what_nobody_saw_is_made_up_in_its_size(recorded):
    hidden = heard(recorded, msg("s.a", ACK.format(1), b"seen"))

    assert hidden.content("S", 2, "s.a", 4, 7) == Content("s.a", None, b"7...")
    assert hidden.content("S", 1, "s.b", 0, 7) == Content("s.b", None, b"")
