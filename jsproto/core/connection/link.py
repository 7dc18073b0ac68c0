"""The life of the byte stream to one server after another.

Theory. One link at a time, and one attempt after another:

    WAITING ─▶ DIALING ─▶ GREETED ─▶ [UPGRADING ─▶ SECURED] ─▶ [ASKING] ─▶ CHECKING ─▶ UP ─▶ WAITING
    ...
                                                                                      └▶ CLOSING ─▶
                                                                                      CLOSED

``GREETED`` waits for INFO on an open stream, ``UPGRADING`` for the adapter to put TLS over it,
``ASKING`` for credentials, ``CHECKING`` for the PONG behind our CONNECT: only that PONG proves that
the server let us in, at the first connect and at every reconnect alike. One deadline spans a whole
attempt, from dial to PONG, whatever phase hangs.

The table says where an input leads; the connection decides what is sent. The keepalive is
arithmetic over the moment of the last input: only what comes in proves life, writing never
postpones a PING.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from jsproto.core.state import PART, PLAIN, Codecs, IdentityEnum, Snapshottable
from jsproto.core.timers import Timers
from jsproto.errors.tree import LocalProtocolError


class LinkState(IdentityEnum):
    """Where the link is."""

    #: There is no link; the next dial has its time.
    WAITING = "WAITING"
    #: A byte stream was asked for.
    DIALING = "DIALING"
    #: The byte stream is open; INFO is waited for, and then judged.
    GREETED = "GREETED"
    #: The adapter puts TLS over the stream.
    UPGRADING = "UPGRADING"
    #: Credentials were asked for.
    ASKING = "ASKING"
    #: CONNECT and PING went out; only the PONG proves that the server let us in.
    CHECKING = "CHECKING"
    #: The server let us in.
    UP = "UP"
    #: We leave: the server may still read what was sent.
    CLOSING = "CLOSING"
    #: Over.
    CLOSED = "CLOSED"


class LinkInput(IdentityEnum):
    """What happens to it."""

    #: The time to dial has come.
    DIAL = "DIAL"
    #: The byte stream exists.
    TRANSPORT_UP = "TRANSPORT_UP"
    #: INFO came, and TLS is wished or needed.
    TLS_NEEDED = "TLS_NEEDED"
    #: The adapter shall say who we are.
    CREDENTIALS_NEEDED = "CREDENTIALS_NEEDED"
    #: CONNECT went out.
    INTRODUCED = "INTRODUCED"
    #: Its PONG came.
    VERIFIED = "VERIFIED"
    #: The stream, or the attempt at one, is over.
    LOST = "LOST"
    #: The user leaves in good order.
    CLOSE = "CLOSE"
    #: It ends at once.
    CUT = "CUT"


class LinkTimer(IdentityEnum):
    """What the link waits for, in the order in which timers of the same moment fire."""

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
#: States in which nothing new begins.
OVER: Final = frozenset({LinkState.CLOSING, LinkState.CLOSED})


class Link(Snapshottable):
    """State, timers and keepalive of the link.

    Attributes:
        last_input: when bytes came in last.
        pings_out: keepalive PINGs of this link that nothing has come in after.
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
        """Follow the table.

        Raises:
            LocalProtocolError: the input has no place in this state.
        """
        try:
            self.state = TRANSITIONS[self.state][what]
        except KeyError:
            raise LocalProtocolError(
                f"expected no {what.name} while the link is {self.state.name}"
            ) from None

    def alive(self, now: float) -> None:
        """Bytes came in."""
        self.last_input = now
        self.pings_out = 0

    def watch(self, now: float) -> None:
        """A link begins: no PING is owed, the interval starts."""
        self.alive(now)
        self.timers.set(LinkTimer.PING, now + self._interval)

    def quiet(self, now: float) -> bool | None:
        """The keepalive timer fired: ``True`` send a PING, ``False`` all is well, ``None`` the link
        is stale.
        """
        due = self.last_input + self._interval * (self.pings_out + 1)
        if due > now:
            self.timers.set(LinkTimer.PING, due)
            return False
        if self.pings_out >= self._max_out:
            return None
        self.pings_out += 1
        self.timers.set(LinkTimer.PING, now + self._interval)
        return True
