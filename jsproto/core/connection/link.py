"""The state machine of the byte stream to one server after another.

Theory. There is one link at a time, and one attempt after another:

    WAITING ─▶ DIALING ─▶ GREETED ─▶ [UPGRADING ─▶ SECURED] ─▶ [ASKING] ─▶ CHECKING
    CHECKING ─▶ UP ─▶ WAITING ...
                   └▶ CLOSING ─▶ CLOSED

In ``GREETED`` the stream is open and the client waits for INFO. In ``UPGRADING`` the adapter starts
TLS on it. In ``ASKING`` the client waits for credentials. In ``CHECKING`` it waits for the PONG
after its CONNECT. Only that PONG proves that the server accepted the client, at the first connect
and at every reconnect. One deadline covers a whole attempt, from dial to PONG.

The table gives the next state; the connection decides what to send. The keepalive is computed from
the time of the last input. Only received bytes prove that the server is alive; a write never
postpones a PING.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum, Snapshottable
from jsproto.core.timers import Timers
from jsproto.errors.tree import LocalProtocolError


class LinkState(IdentityEnum):
    """The state of the link."""

    #: There is no link; the next dial is scheduled.
    WAITING = "WAITING"
    #: The adapter was asked for a byte stream.
    DIALING = "DIALING"
    #: The byte stream is open; the client waits for INFO and checks it.
    GREETED = "GREETED"
    #: The adapter starts TLS on the stream.
    UPGRADING = "UPGRADING"
    #: The client waits for credentials.
    ASKING = "ASKING"
    #: CONNECT and PING were sent; only the PONG proves that the server accepted the client.
    CHECKING = "CHECKING"
    #: The server accepted the client.
    UP = "UP"
    #: The client leaves; the server may still read what was sent.
    CLOSING = "CLOSING"
    #: The connection is over.
    CLOSED = "CLOSED"


class LinkInput(IdentityEnum):
    """The inputs of the link."""

    #: The time to dial has come.
    DIAL = "DIAL"
    #: The byte stream exists.
    TRANSPORT_UP = "TRANSPORT_UP"
    #: INFO came, and TLS is wanted or required.
    TLS_NEEDED = "TLS_NEEDED"
    #: The adapter has to provide credentials.
    CREDENTIALS_NEEDED = "CREDENTIALS_NEEDED"
    #: CONNECT was sent.
    INTRODUCED = "INTRODUCED"
    #: The PONG after CONNECT came.
    VERIFIED = "VERIFIED"
    #: The stream, or the attempt to open it, is over.
    LOST = "LOST"
    #: The user closes in good order.
    CLOSE = "CLOSE"
    #: The connection ends at once.
    CUT = "CUT"


class LinkTimer(IdentityEnum):
    """The timers of the link, in the order in which timers of the same moment fire."""

    DRAIN = "DRAIN"
    CLOSE = "CLOSE"
    ATTEMPT = "ATTEMPT"
    PING = "PING"
    DIAL = "DIAL"


_LOST_OR_CUT: Final = {LinkInput.LOST: LinkState.WAITING, LinkInput.CUT: LinkState.CLOSED}

TRANSITIONS: Final[Mapping[LinkState, Mapping[LinkInput, LinkState]]] = {
    LinkState.WAITING: {LinkInput.DIAL: LinkState.DIALING, LinkInput.CUT: LinkState.CLOSED},
    LinkState.DIALING: {LinkInput.TRANSPORT_UP: LinkState.GREETED, **_LOST_OR_CUT},
    LinkState.GREETED: {
        LinkInput.TLS_NEEDED: LinkState.UPGRADING,
        LinkInput.CREDENTIALS_NEEDED: LinkState.ASKING,
        LinkInput.INTRODUCED: LinkState.CHECKING,
        **_LOST_OR_CUT,
    },
    LinkState.UPGRADING: {
        LinkInput.CREDENTIALS_NEEDED: LinkState.ASKING,
        LinkInput.INTRODUCED: LinkState.CHECKING,
        **_LOST_OR_CUT,
    },
    LinkState.ASKING: {LinkInput.INTRODUCED: LinkState.CHECKING, **_LOST_OR_CUT},
    LinkState.CHECKING: {LinkInput.VERIFIED: LinkState.UP, **_LOST_OR_CUT},
    LinkState.UP: {LinkInput.CLOSE: LinkState.CLOSING, **_LOST_OR_CUT},
    LinkState.CLOSING: {LinkInput.LOST: LinkState.CLOSED, LinkInput.CUT: LinkState.CLOSED},
    LinkState.CLOSED: {},
}

#: States in which a byte stream exists.
OPEN: Final = frozenset(
    {
        LinkState.GREETED,
        LinkState.UPGRADING,
        LinkState.ASKING,
        LinkState.CHECKING,
        LinkState.UP,
        LinkState.CLOSING,
    }
)
#: States between dial and PONG.
ATTEMPTING: Final = frozenset(
    {
        LinkState.DIALING,
        LinkState.GREETED,
        LinkState.UPGRADING,
        LinkState.ASKING,
        LinkState.CHECKING,
    }
)
#: States in which no new conversation may begin.
OVER: Final = frozenset({LinkState.CLOSING, LinkState.CLOSED})


class Link(Snapshottable):
    """State, timers and keepalive of the link.

    Attributes:
        last_input: when the last bytes arrived.
        pings_out: keepalive PINGs since the last bytes arrived.
    """

    __slots__ = ("_interval", "_max_out", "last_input", "pings_out", "state", "timers")

    STATE: ClassVar[Codecs] = {
        "last_input": PLAIN,
        "pings_out": PLAIN,
        "state": LinkState,
        "timers": PART,
    }

    def __init__(self, *, ping_interval: float, max_pings_out: int) -> None:
        self._interval = ping_interval
        self._max_out = max_pings_out
        self.state = LinkState.WAITING
        self.timers = Timers(LinkTimer)
        self.last_input = 0.0
        self.pings_out = 0

    def move(self, what: LinkInput) -> None:
        """Move to the next state by the table.

        Raises:
            LocalProtocolError: the input is not allowed in this state.
        """
        try:
            self.state = TRANSITIONS[self.state][what]
        except KeyError:
            raise LocalProtocolError(
                f"expected no {what.name} while the link is {self.state.name}"
            ) from None

    def alive(self, now: float) -> None:
        """Bytes arrived."""
        self.last_input = now
        self.pings_out = 0

    def watch(self, now: float) -> None:
        """A link begins: no PING is outstanding, and the interval starts."""
        self.alive(now)
        self.timers.set(LinkTimer.PING, now + self._interval)

    def quiet(self, now: float) -> bool | None:
        """The keepalive timer fired: ``True``: send a PING, ``False``: wait, ``None``: stale."""
        due = self.last_input + self._interval * (self.pings_out + 1)
        if due > now:
            self.timers.set(LinkTimer.PING, due)
            return False
        if self.pings_out >= self._max_out:
            return None
        self.pings_out += 1
        self.timers.set(LinkTimer.PING, now + self._interval)
        return True
