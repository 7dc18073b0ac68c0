"""jsproto on blocking calls: ``with connect("nats://127.0.0.1:4222") as nc``. No event loop, and
hardly ever a thread.

Theory. Nothing runs but what a caller waits for: caller-driven, as `SelectorClient` says. Between
two verbs nobody reads, so a caller that computes for longer than the server's patience with
unanswered PINGs should call something now and then: else the server hangs up, and the next verb
makes a new link first. Verbs look at the socket before they begin what has an answer, before they
leave a link, and at least once in a second on their own; a verb that finds the link lost and has
something to say waits for the next one, for at most ``connect_timeout``. Or the client is made with
``pump=True``: then a thread, the `BackgroundThread`, does that for the caller, and says in time
that messages in hand are being worked on. While a snapshot is taken or a stream restored there is
such a thread in any case: the server breaks these off after seconds of silence, and disks pause for
longer.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Self, TypeVar, Unpack, final

from jsproto.core.conversation.conversation import Conversation
from jsproto.errors import BusyConversation
from jsproto_io import _sync_client
from jsproto_io._client.options import ConnectOptions, Credentials, Servers
from jsproto_io._client.signatures import show_options
from jsproto_io._sync_client import Events, Feed, Sink, SyncCoreMessage, SyncMessage
from jsproto_io._sync_client.background_thread import BackgroundThread
from jsproto_io._sync_client.base import IN_USE, NON_BLOCKING
from jsproto_io._sync_client.selector_client import SelectorClient

T = TypeVar("T")

if TYPE_CHECKING:
    from jsproto_io._sync_client import SyncConsumer, SyncJetStream, SyncStream
else:
    __getattr__ = _sync_client.__getattr__

__all__ = [
    "Client",
    "Events",
    "Feed",
    "Sink",
    "SyncConsumer",
    "SyncCoreMessage",
    "SyncJetStream",
    "SyncMessage",
    "SyncStream",
    "connect",
]


def connect(
    servers: Servers = "nats://127.0.0.1:4222",
    *,
    credentials: Credentials | None = None,
    linger: float | timedelta = 0.0,
    pump: bool = False,
    **options: Unpack[ConnectOptions],
) -> Client:
    """A client, to be entered with ``with``, or opened and closed by hand with ``open`` and
    ``close``.

    Args:
        servers: one URL, several with commas between, or a collection of URLs and `Server` values.
        credentials: asked at each handshake for the server and the nonce to sign: a source of
            `jsproto_io.credentials`, or a function of one's own.
        linger: seconds, or a `timedelta`, between two writes: publishes and acks that come sooner
            after the last one wait for company before they are given to the kernel, and whatever
            waits for the server gives them at once. With more than 0 many small writes become few;
            the first after a pause still goes at once, and a caller that computes for long in the
            middle of many sends the last of them late.
        pump: a thread keeps the connection alive while the caller computes: pings, automatic
            in-progress, reading. It begins with the first link. One caller at a time is still the
            rule.
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
    return Client(servers, credentials, options, linger=linger, pump=pump)


show_options(connect)


@final
class Client(SelectorClient):
    """One connection to one NATS system, driven by whoever waits."""

    __slots__ = ("_attended", "_keeper", "_pumps")

    def __init__(
        self,
        servers: Servers,
        credentials: Credentials | None,
        options: ConnectOptions,
        *,
        linger: float | timedelta = 0.0,
        pump: bool = False,
    ) -> None:
        super().__init__(servers, credentials, options, linger=linger)
        self._attended: set[Conversation[object]] = set()
        self._pumps = pump
        self._keeper = BackgroundThread(self) if pump else None
        if self._keeper is not None:
            self._gate = self._keeper.doors

    def __enter__(self) -> Self:
        super().__enter__()
        if (
            self._keeper is not None and self._network is None
        ):  # no time passes for a model server meanwhile
            self._keeper.start()
        return self

    def close(self) -> None:
        """End everything, wait at most ``close_timeout`` until the server has read what was sent,
        and hang up.
        """
        if self._keeper is not None:
            self._keeper.stop()
        super().close()

    def _attend(self, conversation: Conversation[T]) -> None:
        self._attended.add(conversation)
        if self._keeper is None and self._network is None:
            keeper = BackgroundThread(self)
            gate = self._gate
            if not gate.acquire(NON_BLOCKING):
                raise BusyConversation(IN_USE)
            self._keeper, self._gate = keeper, keeper.doors
            gate.release()
            keeper.start()
        if self._keeper is not None:
            self._keeper.eager = True

    def _leave(self, conversation: Conversation[T]) -> None:
        keeper = self._keeper
        self._attended.discard(conversation)
        if keeper is None or self._attended:
            return
        keeper.eager = False
        if self._pumps:
            return
        keeper.stop()
        self._keeper = None
        if self._gate is keeper.doors and keeper.doors.acquire(NON_BLOCKING):
            self._gate = threading.Lock()
            keeper.doors.release()

    def _arm(self, deadline: float | None) -> None:
        super()._arm(deadline)
        if self._keeper is not None:
            self._keeper.armed(self._deadline)
