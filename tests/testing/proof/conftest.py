"""Recordings that a test makes itself: a meta line and records, as the recorder writes them."""

import base64
import json

import pytest

from jsproto.trace.formats.recording import parse_recording


@pytest.fixture
def recorded():
    """``recorded((0.1, "c2s", b"PING"), (0.2, "event", {"name": "eof"}), ...)``: a recording of
    connection ``a``.
    """

    def build(*lines, version="2.15.1", notes=()):
        meta = {
            "schema": "jsproto-trace/1",
            "scenario": "made",
            "server_version": version,
            "description": "",
            "expected": [],
            "observed": {"s2c_ops": {}, "statuses": [], "errors": [], "eof_seen_on": []},
            "connections": ["a"],
            "notes": list(notes),
        }
        records = [
            {"t": float(at), "dir": kind, "conn": "a", "b64": base64.b64encode(said).decode()}
            if isinstance(said, bytes)
            else {"t": float(at), "dir": kind, "conn": "a", **said}
            for at, kind, said in lines
        ]
        return parse_recording("\n".join(json.dumps(each) for each in [meta, *records]))

    return build
