"""Header blocks that messages of a simulated world bear: under names of the server's own, which
prove nothing when a publisher wrote them.

Messages are forwarded with their headers, mirrored by hand, or written by somebody who wants to
deceive. So a client may believe such a name only where the server says it: in its statuses, and
behind or before what was stored.
"""

from __future__ import annotations

from typing import Final

#: Names that servers give to what they say about deliveries, pulls, direct gets and republished
#: messages.
_NAMES: Final = (
    "Nats-Pin-Id",
    "Nats-Num-Pending",
    "Nats-Sequence",
    "Nats-Last-Sequence",
    "Nats-Last-Consumer",
    "Nats-Last-Stream",
    "Nats-Pending-Messages",
    "Nats-Pending-Bytes",
    "Nats-Consumer-Stalled",
    "Nats-UpTo-Sequence",
    "Nats-Stream",
    "Nats-Subject",
    "Nats-Time-Stamp",
    "Nats-Msg-Size",
    "Status",
    "Description",
)
#: What they may say: nothing, no number, numbers that are likely and that are not, and names.
_VALUES: Final = (
    "",
    "abc",
    "0",
    "1",
    "7",
    "4294967297",
    "-1",
    "S",
    "s.side",
    "2026-01-01T00:00:00Z",
)
#: Status lines; servers from 2.12 on take them out before they store a message.
_STATUSES: Final = (
    "100 Idle Heartbeat",
    "404 No Messages",
    "408 Request Timeout",
    "409 Consumer Deleted",
    "423 Nats-Wrong-Pin-Id",
    "503",
)


def _block(*lines: str, status: str = "") -> bytes:
    return "\r\n".join((f"NATS/1.0 {status}".rstrip(), *lines, "", "")).encode()


#: Each name with each value, all names together, and status lines.
STRANGE: Final[tuple[bytes, ...]] = (
    *(_block(f"{name}: {value}") for name in _NAMES for value in _VALUES),
    *(_block(*(f"{name}: {value}" for name in _NAMES)) for value in _VALUES),
    *(_block("A: b", status=status) for status in _STATUSES),
    *(
        _block("Nats-Pending-Messages: 3", "Nats-Pending-Bytes: 5", status=status)
        for status in _STATUSES
    ),
)
