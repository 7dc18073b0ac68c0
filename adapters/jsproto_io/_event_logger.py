"""Who watches a client: the logger ``jsproto_io``, and whoever is given as ``watch``.

Theory. A watcher is called with each event of the lifecycle as it happens (`Told`), in the client's
own turn: it must not wait, and must not use the verbs of the client. What it raises goes to the log
and no further, so it cannot break a connection. Events are few, so the logger always watches;
nothing here happens for each message.

What is logged, at which level:

| level | what |
|---|---|
| ``ERROR`` | the connection is over, and nobody asked for it; a watcher has raised |
| ``WARNING`` | the link is lost; an attempt has failed; the server announces its end, or says ``-ERR``; messages are dropped, or
will not be sent; a feed stands still, because nobody serves it, heartbeats are missing, or the
server refuses |
| ``INFO`` | connected, connected again, closed |
| ``DEBUG`` | all other notices: of conversations, of the servers that are known |

A line names the client, the server and what has happened. It holds no payload and no secret: what
the peer said against the protocol is named by the class of its error only. Without a handler
nothing is printed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeAlias, cast, final

from jsproto.core.callbacks import check_callback, check_result
from jsproto.core.connection.dispatcher import Stats
from jsproto.core.connection.events import Closed, Connected, Disconnected, LameDuck
from jsproto.core.connection.server_pool import Server
from jsproto.driver import Told
from jsproto.errors import JsprotoError, RemoteProtocolError

LOGGER: Final = logging.getLogger("jsproto_io")
LOGGER.addHandler(logging.NullHandler())

#: Notices that a person should look at, as texts: a client that never pulls loads no enum of pulls.
SERIOUS: Final[frozenset[str]] = frozenset(
    {
        "NoticeKind.ATTEMPT_FAILED",
        "NoticeKind.SERVER_ERROR",
        "NoticeKind.SLOW_CONSUMER",
        "NoticeKind.UNSENT",
        "NoticeKind.DRAIN_TIMEOUT",
        # A feed that stands still, or that has lost something: whoever looks at the log is to see
        # it.
        "PullNotice.NO_RESPONDERS",
        "PullNotice.HEARTBEAT_MISSED",
        "PullNotice.CONSUMER_DELETED",
        "PullNotice.REFUSED",
        "PullNotice.ACK_REFUSED",
        "PullNotice.DROPPED",
        "PullNotice.AGEING",
        "PushNotice.HEARTBEAT_MISSED",
        "PushNotice.REFUSED",
        "PushNotice.DROPPED",
        "PushNotice.DELETE_FAILED",
    }
)


class LoggedEvent(Protocol):
    """What a watcher may ask of a client."""

    @property
    def name(self) -> str | None:
        """The name that it gives itself."""
        ...

    @property
    def server(self) -> Server:
        """The server of the present link or attempt."""
        ...

    @property
    def stats(self) -> Stats:
        """Its counters."""
        ...


Watcher: TypeAlias = Callable[[LoggedEvent, Told], None]


def watchers_of(given: Watcher | Iterable[Watcher] | None) -> tuple[Watcher, ...]:
    """One, several or none.

    Raises:
        InvalidConfig: one is no function, or a coroutine function, which nobody would await.
    """
    if given is None:
        return ()
    several = not callable(given) and isinstance(given, Iterable)
    watchers = tuple(cast("Iterable[Watcher]", given)) if several else (cast("Watcher", given),)
    for each in watchers:
        check_callback(each, "watch")
    return watchers


@final
class EventLogger:
    """Hears a client for all who watch it."""

    __slots__ = ("_client", "_watchers")

    def __init__(self, client: LoggedEvent, watchers: tuple[Watcher, ...]) -> None:
        self._client = client
        self._watchers = watchers

    @property
    def waiter(self) -> None:
        """Nobody waits."""
        return

    def hear(self, told: Told) -> None:
        """It has happened."""
        level = level_of(told)
        if LOGGER.isEnabledFor(level):
            LOGGER.log(
                level,
                "%s, %s: %s",
                self._client.name or "unnamed",
                self._client.server,
                text_of(told),
            )
        for watcher in self._watchers:
            try:
                check_result(cast("object", watcher(self._client, told)), "a watcher")
            except Exception:
                LOGGER.exception("%s: a watcher has raised", self._client.name or "unnamed")


def level_of(told: Told) -> int:
    """How serious it is."""
    if isinstance(told, Connected):
        return logging.INFO
    if isinstance(told, (Disconnected, LameDuck)):
        return logging.WARNING
    if isinstance(told, Closed):
        return logging.INFO if told.error is None else logging.ERROR
    return logging.WARNING if str(told.kind) in SERIOUS else logging.DEBUG


def text_of(told: Told) -> str:
    """What has happened, without anything that somebody else has said."""
    if isinstance(told, Connected):
        return f"connected{' again' if told.resumed else ''}, nats-server {told.info.version}"
    if isinstance(told, Disconnected):
        return f"the link is lost: {_shown(told.error)}"
    if isinstance(told, LameDuck):
        return "the server announces its end"
    if isinstance(told, Closed):
        return "closed" if told.error is None else f"closed: {_shown(told.error)}"
    whose = type(told.conversation).__name__ if told.conversation is not None else "connection"
    shown = _shown(told.detail)
    return f"{whose}: {told.kind.name}{': ' if shown else ''}{shown}"


def _shown(detail: object) -> str:
    if isinstance(detail, RemoteProtocolError):
        return type(detail).__name__  # its text quotes the peer
    if isinstance(detail, JsprotoError):
        return f"{type(detail).__name__}: {detail}"
    return str(detail) if isinstance(detail, (int, float)) else ""
