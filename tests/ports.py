"""Ports for servers that must be told theirs before they listen: routes of a cluster, doors of a
WebSocket.

Theory. A port that the system hands out and that is let go again may be handed out once more, to
the next server or client that asks for any. So these lie below those that a system hands out by
itself (from 32768 on with Linux, from 49152 on elsewhere), and each process begins to look at a
place of its own.
"""

from __future__ import annotations

import contextlib
import random
import socket

#: From and to; nothing well known listens here.
_LOW, _HIGH = 15_000, 32_000
_DRAW = random.Random()  # seeded by the system, so two processes draw differently


def free_ports(amount: int) -> list[int]:
    """So many ports on which nobody listens, and of which nobody is handed one."""
    ports: list[int] = []
    while len(ports) < amount:
        port = _DRAW.randrange(_LOW, _HIGH)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port not in ports:
                ports.append(port)
    return ports
