"""Delays before a client asks again after a request that brought nothing.

Theory. The server can refuse a request at once. A client that repeats it at once sends requests
as fast as the link carries them: one public report counts 24,955 pulls in two seconds. So the
client waits between a fruitless pull and the next. The delay doubles with each failure up to a
cap. It falls back to the first value when data or a heartbeat shows that the server takes pulls.

A pull that expired is no failure: the client may ask again at once. If the pull ended sooner than
the delay, the client waits for the rest of the delay.

On a new link the client may ask at once. But when links break quickly, each new link would allow
another request at once. `ShortLinks` counts them: after three short links in a row the client
waits.

`Backoff.not_before` stays when the delay falls back. Data of one pull must not allow fast repeats
of another.
"""

from __future__ import annotations

from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs, Snapshottable

#: The client waits from this number of short links in a row on.
_DELAYED: Final = 3


class Backoff(Snapshottable):
    """The delay between fruitless requests.

    Args:
        first: seconds to wait after the first failure.
        most: the longest delay, in seconds.

    Attributes:
        failures: number of failures in a row.
        not_before: the client sends no request before this time; ``None`` if it may ask now.
    """

    __slots__ = ("failures", "first", "most", "not_before")

    STATE: ClassVar[Codecs] = {"failures": PLAIN, "not_before": PLAIN}

    def __init__(self, first: float, most: float) -> None:
        self.first = first
        self.most = most
        self.failures = 0
        self.not_before: float | None = None

    @property
    def delay(self) -> float:
        """The delay in seconds after the next failure."""
        return min(self.most, self.first * 2.0 ** min(self.failures, 32))

    def failed(self, now: float, at_least: float = 0.0) -> float:
        """Record a failed request; return the time before which the client sends no other."""
        return self._wait(now + max(self.delay, at_least))

    def record_empty(self, issued: float, now: float) -> float | None:
        """Record a request that ended normally without a message.

        Args:
            issued: when the client sent the request.
            now: the current time.

        Returns:
            The time before which the client sends no other request, ``None`` if it may ask now.
        """
        at = issued + self.delay
        if at <= now:
            self.failures = 0
            return None
        return self._wait(at)

    def reset_delay(self) -> None:
        """Reset the delay, because the server takes pulls again."""
        self.failures = 0

    def opened(self, now: float) -> bool:
        """Whether the client may send a request now."""
        return self.not_before is None or now >= self.not_before

    def restart(self) -> None:
        """Forget all failures, because a new link is up."""
        self.failures = 0
        self.not_before = None

    def _wait(self, at: float) -> float:
        self.failures += 1
        self.not_before = at if self.not_before is None else max(at, self.not_before)
        return self.not_before


class ShortLinks(Snapshottable):
    """The delay before the first request on a link that follows several short links.

    Args:
        first: seconds between two first requests after three short links in a row; doubles with
            each further one.
        most: the longest delay, in seconds; a link that lasts this long is not short.

    Attributes:
        count: number of short links in a row.
    """

    __slots__ = ("_first", "_most", "count")

    STATE: ClassVar[Codecs] = {"count": PLAIN}

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self.count = 0

    def lost(self, begun: float, now: float) -> None:
        """Record the end of a link; ``begun`` is when the client first asked on it."""
        self.count = 0 if now - begun >= self._most else self.count + 1

    def wait(self, begun: float, now: float) -> float | None:
        """The time before which the client must not begin on the new link.

        Args:
            begun: when the client began on the previous link.
            now: the current time.

        Returns:
            That time, or ``None`` if the client may begin now.
        """
        if self.count < _DELAYED:
            return None
        at = begun + min(self._most, self._first * 2.0 ** min(self.count - _DELAYED, 32))
        return at if at > now else None
