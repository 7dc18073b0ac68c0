"""What a recording says of its server: a model server like it, and what others did before the
recorded client came.

The recorder notes the configuration of a server that it started for one scenario, as text. The few
settings that the model knows are found in it; what it does not know makes the answers differ, which
is what the proof is for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, final

from attrs import frozen

from jsproto.testing.simserver import ClientPermissions, Login, SimServer
from jsproto.testing.simserver.values.gotime import EPOCH_NS, SECOND, parse_rfc3339
from jsproto.trace.formats.recording import Recording

_STAMP: Final = re.compile(
    rb"\$JS\.ACK\.S\.C\.1\.1\.1\.(\d{19})\.|Nats-Sequence: 1\r\nNats-Time-Stamp: ([^\r]+)\r\n"
)
_USER: Final = re.compile(r'user: (\w+), password: "?(\w+)')
_TIMEOUT: Final = re.compile(r"timeout: (\d+)")
_NUMBER: Final = r"{}: (\d+)"
_DOMAIN: Final = re.compile(r"domain: (\w+)")
_INTERVAL: Final = re.compile(r'ping_interval: "(\d+)ms')
_GRACE: Final = re.compile(r'lame_duck_grace_period: "(\d+)s')
_LIST: Final = r"{}: {{[^}}]*?{}: \[([^]]*)\]"


@final
@frozen(kw_only=True)
class Beforehand:
    """What was done on other connections and is not in the recording.

    Attributes:
        requests: API requests, each with its body, in order.
        subjects: what somebody else listened on all the time.
        published: ``True``: whatever the answers show of messages was published before the first
            pull.
    """

    requests: tuple[tuple[str, Mapping[str, object] | None], ...] = ()
    subjects: tuple[str, ...] = ()
    published: bool = False


def notes_of(recording: Recording) -> str:
    """The configuration that the recorder noted."""
    return "\n".join(recording.notes)


def base_of(recording: Recording) -> float:
    """Virtual seconds that make the model's wall clock the recorded one, where the client names
    wall-clock times.
    """
    said = b"".join(b"".join(recording.sent(conn)) for conn in recording.connections)
    if not any(word in said for word in (b"pause_until", b"start_time", b"up_to_time", b"@at ")):
        return 0.0
    heard = b"".join(b"".join(recording.received(conn)) for conn in recording.connections)
    stamp = _STAMP.search(heard)
    if stamp is None:
        return 0.0
    nanos = int(stamp[1]) if stamp[1] else parse_rfc3339(stamp[2].decode()) or EPOCH_NS
    return (nanos - EPOCH_NS) / SECOND


def grace_of(notes: str) -> float:
    """Seconds between the announcement of a lame duck and its end."""
    found = _GRACE.search(notes)
    return float(found[1]) if found is not None else 10.0


def server_of(recording: Recording, now: float) -> SimServer:
    """A model server like the recorded one."""
    notes = notes_of(recording)
    user = _USER.search(notes)
    timeout, domain, interval = (
        _TIMEOUT.search(notes),
        _DOMAIN.search(notes),
        _INTERVAL.search(notes),
    )
    return SimServer(
        version=recording.server_version,
        now=now,
        name="rec",
        auth=Login(user=user[1], password=user[2])
        if user is not None and "accounts" not in notes
        else None,
        auth_timeout=float(timeout[1]) if timeout is not None else 2.0,
        permissions=_permissions(notes),
        jetstream="jetstream: off" not in notes,
        domain=domain[1] if domain is not None else "",
        ack_v2="js_ack_fc_v2: true" in notes,
        max_payload=_number(notes, "max_payload", 1_048_576),
        max_connections=_number(notes, "max_connections", 0),
        ping_interval=int(interval[1]) / 1000 if interval is not None else 120.0,
    )


def _number(notes: str, name: str, default: int) -> int:
    found = re.search(_NUMBER.format(name), notes)
    return int(found[1]) if found is not None else default


def _permissions(notes: str) -> ClientPermissions:
    return ClientPermissions(
        publish_allow=_patterns(notes, "publish", "allow"),
        subscribe_allow=_patterns(notes, "subscribe", "allow"),
        subscribe_deny=_patterns(notes, "subscribe", "deny"),
    )


def _patterns(notes: str, verb: str, verdict: str) -> tuple[str, ...]:
    found = re.search(_LIST.format(verb, verdict), notes)
    return tuple(re.findall(r'"([^"]+)"', found[1])) if found is not None else ()
