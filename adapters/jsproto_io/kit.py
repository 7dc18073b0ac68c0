"""What the adapters here are made of, for whoever writes another one: the half that does not wait,
and its verbs in both colours.

Theory. `AsyncClient` and `SelectorClient` have everything that users see: the three verbs, core
NATS, JetStream, TLS, WebSockets, proxies, credentials, events, recordings. What is missing in the
second is how to wait and how to move bytes; the first is whole, and has one place where it sleeps.

| for | take | and say |
|---|---|---|
| calls that block | `SelectorClient` | `_drive`, to wait in another way: sleep until something comes or ``_deadline`` is due, and call ``_turn(0.0)`` of whoever it came for |
| coroutines of another framework | `AsyncClient` | `_waiter`, `_woken`, `_wake`: a thing to wait on; `_schedule_flush`, `_arm`: pump soon, tick then; `_dial`, `_write`, `_hang_up`, `_authenticate`: one byte stream; `__aenter__`, `close`: the life; `_places`, `_probe`: for `rtts`; `_run_in_thread`: what waits for a disk, for backups |

Two more are there to be overridden. `_away`: whether a verb is called in the client's thread but
outside of its event loop. `_drop`: close this process's copy of a socket after a fork, without a
word to the server. ``_inlet`` is what a byte stream calls: up, data, unsent, room and lost.

`jsproto_io.testing.check_driver` says whether it is done. These names stay what they are within a
minor version; what begins with an underscore in them is for who derives from them, and for nobody
else.
"""

from __future__ import annotations

from jsproto.driver import Told
from jsproto_io._async_client.client import AsyncClient
from jsproto_io._client.options import (
    AsyncCredentials,
    ConnectOptions,
    Credentials,
    Servers,
    nobody,
)
from jsproto_io._event_logger import LoggedEvent, Watcher
from jsproto_io._sync_client.selector_client import SelectorClient
from jsproto_io._transport.backend import AddrInfo
from jsproto_io._transport.selector_socket import SelectorTransport

__all__ = [
    "AddrInfo",
    "AsyncClient",
    "AsyncCredentials",
    "ConnectOptions",
    "Credentials",
    "LoggedEvent",
    "SelectorClient",
    "SelectorTransport",
    "Servers",
    "Told",
    "Watcher",
    "nobody",
]
