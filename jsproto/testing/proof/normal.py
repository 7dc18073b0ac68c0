"""Frames without what is chance: ids, server names, ports, times and timestamps become words.

What stays is compared to the byte, JSON as the values it holds. The words that vary are tables: a
member of INFO or of an answer that is not in them is compared.
"""

from __future__ import annotations

import json
import re
from typing import Final

from jsproto.testing.proof.frames import Frame
from jsproto.testing.simserver.values.documents import is_list, is_table, read
from jsproto.testing.simserver.values.gotime import ZERO_TIME

#: Members of INFO that belong to one server at one time.
INFO_VARIES: Final = frozenset(
    {
        "server_id",
        "server_name",
        "version",
        "git_commit",
        "go",
        "host",
        "port",
        "client_id",
        "client_ip",
        "xkey",
        "nonce",
        "connect_urls",
        "cluster",
    }
)
#: Members of answers that hold a time, a server's name, a key, or a span of time.
MOMENTS: Final = frozenset(
    {
        "created",
        "ts",
        "timestamp",
        "last_active",
        "time",
        "first_ts",
        "last_ts",
        "pinned_ts",
        "start",
    }
)
SPANS: Final = frozenset({"ack_time", "pause_remaining", "rtt"})
NAMES: Final = frozenset({"leader", "server", "pinned_client_id", "pinned_id"})
#: Objects whose numbers count what a server did for everybody.
COUNTS: Final = frozenset({"api"})

_ACK: Final = re.compile(r"(\$JS\.ACK\.(?:[^.]+\.){5,7})(\d{19})(\.\d+)")
_FLOW: Final = re.compile(r"(\$JS\.FC\.[^.\s]+\.[^.\s]+\.)\w+")
_EPHEMERAL: Final = re.compile("[0-9A-Za-z]{8}")
_HEADERS: Final = (
    (re.compile(rb"(Nats-Time-Stamp: )[^\r]+"), rb"\1T"),
    (re.compile(rb"(Nats-Pin-Id: )[^\r]+"), rb"\1ID"),
    (re.compile(rb"(Nats-Subject: \$JS\.ACK\.(?:[^.]+\.){5,7})(\d{19})(\.\d+)"), rb"\1T\3"),
    (re.compile(rb"(Nats-Consumer-Stalled: \$JS\.FC\.[^.\s]+\.[^.\s]+\.)\w+"), rb"\1ID"),
)


def normal(frame: Frame) -> tuple[str, object]:
    """To whom a frame speaks (a sid, ``INFO`` or ``CONTROL``), and what it says."""
    operation = frame.line.split(" ", 1)[0]
    if operation == "INFO":
        members = read(frame.line[5:])
        varies = INFO_VARIES
        return "INFO", {
            name: each for name, each in members.items() if name not in varies
        } if is_table(members) else members
    if not frame.is_message:
        return "CONTROL", frame.line
    sid = frame.line.split()[2]
    line = _FLOW.sub(r"\1ID", _ACK.sub(r"\1T\3", frame.line))
    block = frame.block
    for pattern, word in _HEADERS:
        block = pattern.sub(word, block)
    if frame.payload.startswith(b"{"):
        try:
            body = normal_json(read(frame.payload))
        except ValueError:
            body = frame.payload
        return sid, (_sizeless(line), block, body)
    if block != frame.block:
        line = _sizeless(line)
    return sid, (line, block, frame.payload)


def normal_json(value: object, name: str = "") -> object:
    """A document with its moments, spans, names and ids as words; ``name``: the member that it is
    the value of.
    """
    if is_table(value):
        if name in COUNTS:
            return sorted(value)
        return {each: normal_json(inner, each) for each, inner in value.items()}
    if is_list(value):
        return [normal_json(each, name) for each in value]
    if name in SPANS:
        return "SPAN"
    if not isinstance(value, str) or value == ZERO_TIME:
        return value
    if name in MOMENTS:
        return "T"
    if name in NAMES:
        return "NAME"
    if name == "id" and len(value) == 22:
        return "ID"
    if name == "name" and _EPHEMERAL.fullmatch(value):
        return "EPHEMERAL"
    if name in {"request", "response"} and value.startswith("{"):
        return json.dumps(normal_json(read(value)))
    return value


def _sizeless(line: str) -> str:
    """A control line without the sizes at its end."""
    return line.rsplit(" ", 2 if line.startswith("HMSG") else 1)[0]
