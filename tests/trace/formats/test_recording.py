import json
import zlib
from base64 import b64encode

import pytest

from jsproto.errors import LocalProtocolError
from jsproto.trace.formats.recording import (
    Happened,
    Received,
    SeenStatus,
    Sent,
    Waited,
    parse_recording,
)

META = {
    "schema": "jsproto-trace/1",
    "scenario": "core_x",
    "server_version": "2.15.1",
    "description": "what was played",
    "expected": ["this", "that"],
    "observed": {
        "s2c_ops": {"INFO": 1, "-ERR": 1},
        "statuses": [{"conn": "a", "code": 404, "desc": " No ", "headers": {"X": "y"}}],
        "errors": ["-ERR 'x'"],
        "eof_seen_on": ["a"],
    },
    "connections": ["a", "b"],
    "recv_size": {"a": 65536},
}
LONG = b"0123456789" * 300


def lines(*records: dict, **changes) -> str:
    return "\n".join(json.dumps(line) for line in ({**META, **changes}, *records))


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def test_each_kind_of_line_becomes_its_record():
    recording = parse_recording(
        lines(
            {"t": 0.5, "dir": "event", "name": "connected", "conn": "a"},
            {
                "t": 0.6,
                "dir": "s2c",
                "conn": "a",
                "b64": b64(b"INFO {}\r\n"),
                "text": "INFO {}\r\n",
            },
            {"t": 0.7, "dir": "c2s", "conn": "a", "b64": b64(b"PING\r\n"), "note": "why"},
            {"t": 0.8, "dir": "c2s", "conn": "b", "b64": b64(b"PONG\r\n")},
            {"t": 0.9, "dir": "s2c", "conn": "a", "z64": b64(zlib.compress(LONG)), "len": 3000},
            {"t": 1.0, "dir": "tick", "conn": "a"},
            {"t": 1.1, "dir": "event", "name": "oob", "subject": "s", "count": 3},
        )
    )

    assert recording.records == (
        Happened(at=0.5, name="connected", conn="a", detail={}),
        Received(at=0.6, conn="a", data=b"INFO {}\r\n"),
        Sent(at=0.7, conn="a", data=b"PING\r\n", note="why"),
        Sent(at=0.8, conn="b", data=b"PONG\r\n"),
        Received(at=0.9, conn="a", data=LONG),
        Waited(at=1.0, conn="a"),
        Happened(at=1.1, name="oob", conn="", detail={"subject": "s", "count": 3}),
    )
    assert recording.received("a") == (b"INFO {}\r\n", LONG)
    assert recording.received("b") == ()
    assert recording.sent("a") == (b"PING\r\n",)


def test_the_first_line_says_what_was_played_and_counted():
    recording = parse_recording(lines().encode())

    assert (recording.scenario, recording.server_version) == ("core_x", "2.15.1")
    assert recording.description == "what was played"
    assert recording.expected == ("this", "that")
    assert recording.connections == ("a", "b")
    assert recording.observed.operations == {"INFO": 1, "-ERR": 1}
    assert recording.observed.statuses == (
        SeenStatus(conn="a", code=404, description=" No ", headers={"X": "y"}),
    )
    assert recording.observed.errors == ("-ERR 'x'",)
    assert recording.observed.eof_seen_on == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 of a recording: expected schema jsproto-trace/1, got None"),
        ("{", "line 1 of a recording: Expecting property name"),
        ("[]", "line 1 of a recording: expected an object as line, got"),
        ("[" * 100_000, "line 1 of a recording: maximum recursion"),
        (
            lines(schema="other/1"),
            "line 1 of a recording: expected schema jsproto-trace/1, got 'other/1'",
        ),
        (lines(observed=None), "expected an object as observed, got None"),
        (lines(expected="x"), "expected a list as expected, got 'x'"),
        (lines(expected=[5]), "expected str as expected, got 5"),
        (lines(scenario=5), "expected str as scenario, got 5"),
        (lines({"dir": "tick"}), "line 2 of a recording: expected float as t, got None"),
        (
            lines({"t": 1.0, "dir": "up"}),
            "line 2 of a recording: expected dir s2c, c2s, tick or event, got 'up'",
        ),
        (
            lines({"t": float("nan"), "dir": "tick"}),
            "line 2 of a recording: expected seconds as t, got nan",
        ),
        (
            lines({"t": float("inf"), "dir": "tick"}),
            "line 2 of a recording: expected seconds as t, got inf",
        ),
        (lines({"t": 1.0, "dir": "s2c"}), "line 2 of a recording: expected str as b64, got None"),
        (lines({"t": 1.0, "dir": "s2c", "b64": "?"}), "line 2 of a recording: "),
        (
            lines({"t": 1.0, "dir": "s2c", "z64": b64(b"not zlib"), "len": 5}),
            "line 2 of a recording: Error -",
        ),
        (
            lines({"t": 1.0, "dir": "s2c", "z64": b64(zlib.compress(LONG)), "len": 5}),
            "line 2 of a recording: expected z64 of 5 bytes, got another size",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_line(text, message):
    with pytest.raises(LocalProtocolError) as caught:
        parse_recording(text)

    assert (
        str(caught.value)
        .removeprefix("line 1 of a recording: ")
        .startswith(message.removeprefix("line 1 of a recording: "))
    )
