"""Core NATS request and flush."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from jsproto.core.conversation.conversation import Call, Conversation, StopMode
from jsproto.core.conversation.message import Message
from jsproto.core.conversation.procedure import Procedure, Steps
from jsproto.core.numbers import seconds
from jsproto.core.state import PLAIN, Codecs
from jsproto.errors.tree import ConnectionLost, JsprotoError, RequestTimeout
from jsproto.signals import Ended, NeedData
from jsproto.wire.headers import Headers


def asking(
    subject: str, payload: bytes | str, headers: Headers | None, timeout: float
) -> Steps[Message]:
    """Send one request and return its answer unchanged."""
    return (yield Call(subject, payload, headers, timeout))


def request(
    subject: str,
    payload: bytes | str = b"",
    *,
    headers: Headers | None = None,
    timeout: float | timedelta = 5.0,
) -> Procedure[Message]:
    """Send a request on ``subject`` and wait at most ``timeout`` seconds for one answer.

    The procedure raises `NoResponders` if no client subscribes to the subject, `RequestTimeout`,
    `ConnectionLost` if the link is lost before the answer, and `PermissionViolation` if the user
    may not publish there.
    """
    within = seconds("timeout", timeout)
    return Procedure(lambda: asking(subject, payload, headers, within))


class Flush(Conversation[float]):
    """Wait until the server has read everything sent before; the result is the round trip time.

    The result is in seconds. While the link is down, the flush waits for the next link and follows
    the kept publishes. If the link is lost while the flush waits for its PONG, it fails, because
    earlier publishes may be lost too.
    """

    __slots__ = ("_deadline", "_rtt", "_since", "_timeout", "_token")

    AFTER_BACKLOG: ClassVar[bool] = True

    STATE: ClassVar[Codecs] = {
        **Conversation.STATE,
        "_deadline": PLAIN,
        "_rtt": PLAIN,
        "_since": PLAIN,
        "_token": PLAIN,
    }

    def __init__(self, timeout: float | timedelta = 10.0) -> None:
        super().__init__()
        self._timeout = seconds("timeout", timeout)
        self._deadline: float | None = None
        self._since = 0.0
        self._token = 0
        self._rtt: float | None = None

    def opened(self, now: float) -> None:
        """Send the PING, if the link is up."""
        self._deadline = now + self._timeout
        if self.port.up:
            self._send(now)

    def link_up(self, now: float) -> None:
        """Send the PING that waited for the link."""
        self._send(now)

    def link_down(self, error: JsprotoError, now: float) -> None:
        """Fail, because publishes sent before may be lost."""
        if self._token:
            self.end(ConnectionLost("link lost before the server had read everything"))

    def fenced(self, token: int, now: float) -> None:
        """The PONG arrived: the server has read everything."""
        self._rtt = now - self._since
        self.end()

    def told(self, wish: StopMode, now: float) -> None:
        """Do nothing: an open flush is finished in every stop mode."""

    def ticked(self, now: float) -> None:
        """Fail if the timeout has passed."""
        if self._deadline is not None and now >= self._deadline and not self.ended:
            self.end(RequestTimeout(f"expected a PONG within {self._timeout} s, none came"))

    def take(self, now: float) -> float | NeedData | Ended:
        """Return the round trip time in seconds, once."""
        if self._rtt is not None:
            rtt, self._rtt = self._rtt, None
            self.served = True  # the caller has the one result and does not wait for ENDED
            return rtt
        return self.nothing()

    @property
    def readable(self) -> int:
        """1 while the result is available, else 0."""
        return 0 if self._rtt is None else 1

    @property
    def deadline(self) -> float | None:
        """When the flush times out."""
        return None if self.ended else self._deadline

    def _send(self, now: float) -> None:
        self._since = now
        self._token = self.port.fence()
