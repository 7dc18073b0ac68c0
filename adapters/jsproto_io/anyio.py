"""jsproto on anyio, with asyncio or trio below: ``async with connect("nats://127.0.0.1:4222") as
nc``.

The same words as on asyncio. What is anyio's own is said in `jsproto_io._async_client.nursery_client`:
every task lives in a nursery that ``async with`` opens and closes, cancelling ends what was
cancelled and never the connection, and the exception is always raised. So there is no ``await
connect(...)``: a nursery has a place in the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, final

import anyio
from anyio.lowlevel import current_token

from jsproto_io import _async_client
from jsproto_io._async_client import AsyncCoreMessage, AsyncMessage, Events, Feed, Sink
from jsproto_io._async_client.nursery_client import StructuredClient
from jsproto_io._client.options import AsyncCredentials, ConnectOptions, Servers
from jsproto_io._client.signatures import show_options
from jsproto_io._transport.backend import AsyncBackend

if TYPE_CHECKING:
    from jsproto_io._async_client import AsyncConsumer, AsyncJetStream, AsyncStream
else:
    __getattr__ = _async_client.__getattr__

__all__ = [
    "AsyncConsumer",
    "AsyncCoreMessage",
    "AsyncJetStream",
    "AsyncMessage",
    "AsyncStream",
    "Client",
    "Events",
    "Feed",
    "Sink",
    "connect",
]


def connect(
    servers: Servers = "nats://127.0.0.1:4222",
    *,
    credentials: AsyncCredentials | None = None,
    **options: Unpack[ConnectOptions],
) -> Client:
    """A client, to be entered with ``async with``.

    Args:
        servers: one URL, several with commas between, or a collection of URLs and `Server` values.
        credentials: asked at each handshake for the server and the nonce to sign: a source of
            `jsproto_io.credentials`, or a function of one's own, which may be a coroutine function.
        options: see `jsproto.core.connection.options.Options`.

    Raises:
        InvalidConfig: an option, a URL or a certificate that cannot work. What connecting raises
            comes when the client is entered: `ConnectFailed` (nobody there, no answer in time, or
            all servers failed), `TlsUnavailable`, `TlsFailed`, `WebSocketFailed`,
            `AuthorizationFailed` (also: asking for credentials raised), `CredentialsUnavailable`
            and `InvalidCredentials` (what was asked for them), `RemoteProtocolError` (no NATS
            server), `ServerError` (what else the server says), `ConversationClosed` (it was entered
            before).
    """
    return Client(servers, credentials, options)


show_options(connect)


@final
class Client(StructuredClient):
    """One connection to one NATS system, in a nursery of its own."""

    __slots__ = ()

    WAYS = AsyncBackend(
        event=anyio.Event,
        scope=anyio.CancelScope,
        nursery=anyio.create_task_group,
        here=current_token,
        now=anyio.current_time,
        forever=anyio.sleep_forever,
        readable=anyio.wait_readable,
        writable=anyio.wait_writable,
        places=anyio.getaddrinfo,
        aside=anyio.to_thread.run_sync,
    )
