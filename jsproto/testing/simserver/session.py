"""One client connection, got from the server: handshake, options, subscriptions, pings, and what
ends it.

A session reads commands and answers what is its own business; publishes go to the :class:`Core`
that owns it. Each -ERR text stands once in a table that also says whether the connection survives
it. What the real server punishes with silence (wrong arguments, broken JSON, headers without the
option) ends the session without a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, final

from attrs import field, frozen

from jsproto.jetstream.api.patterns import literal, valid
from jsproto.testing.simserver.account.routing import SimSubscription
from jsproto.testing.simserver.values.documents import is_table, read
from jsproto.testing.simserver.values.gotime import SECOND
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.subjects import matches
from jsproto.wire.client_commands import (
    MAX_CONTROL_LINE_EXCEEDED,
    MAX_PAYLOAD_VIOLATION,
    UNKNOWN_OPERATION,
    ClientCommand,
    ClientCommandParser,
    ClientVerb,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)

#: -ERR text (its beginning) and whether the server hangs up after it.
ERRORS: Final[Mapping[str, bool]] = {
    UNKNOWN_OPERATION: True,
    MAX_CONTROL_LINE_EXCEEDED: True,
    MAX_PAYLOAD_VIOLATION: True,
    "Authorization Violation": True,
    "Authentication Timeout": True,
    "maximum connections exceeded": True,
    "Stale Connection": True,
    "invalid client protocol": True,
    "no responders requires headers support": True,
    "Permissions Violation": False,
    "maximum subscriptions exceeded": False,
    "Invalid Subject": False,
    "Invalid Publish Subject": False,
}

#: The server's round-trip probe, and the spread that it adds to it.
FIRST_PING: Final = 2 * SECOND
FIRST_PING_SPREAD: Final = 400 * 10**6


@final
@frozen(kw_only=True)
class Login:
    """Who may come in: a user with a password, or a token."""

    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def admits(self, options: Mapping[str, object]) -> bool:
        """Whether the members of a CONNECT are good enough."""
        if self.token:
            return _same(options.get("auth_token"), self.token)
        return _same(options.get("user"), self.user) and _same(options.get("pass"), self.password)


@final
@frozen(kw_only=True)
class ClientPermissions:
    """What clients may do: patterns; an empty ``allow`` allows everything that is not denied.

    A pattern of ``subscribe_allow`` may carry a queue group behind a blank: interest only as a
    member of that group.
    """

    publish_allow: tuple[str, ...] = ()
    publish_deny: tuple[str, ...] = ()
    subscribe_allow: tuple[str, ...] = ()
    subscribe_deny: tuple[str, ...] = ()

    def may_publish(self, subject: str) -> bool:
        """Whether a message may be published on ``subject``."""
        return _permitted(subject, self.publish_allow, self.publish_deny)

    def may_subscribe(self, subject: str, queue: str = "") -> bool:
        """Whether interest in ``subject``, as a member of ``queue`` if one is named, is permitted."""
        if any(matches(pattern, subject) for pattern in self.subscribe_deny):
            return False
        wanted = [pattern.partition(" ") for pattern in self.subscribe_allow]
        return not wanted or any(
            matches(pattern, subject) and group in {"", queue} for pattern, _, group in wanted
        )

    def may_receive(self, subject: str) -> bool:
        """Whether a message on ``subject`` may reach a wildcard subscription."""
        return not any(matches(pattern, subject) for pattern in self.subscribe_deny)


class Core(Protocol):
    """What a session asks of the server that owns it."""

    auth: Login | None
    auth_timeout: int
    permissions: ClientPermissions
    max_subs: int
    ping_interval: int
    ping_max: int
    profile: Profile

    def info(self, session: Session, *, after_connect: bool) -> bytes:
        """The INFO line for this session."""
        ...

    def jitter(self, spread: int) -> int:
        """A number below ``spread``."""
        ...

    def subscribed(self, sub: SimSubscription) -> None:
        """New interest."""

    def unsubscribed(self, sub: SimSubscription) -> None:
        """Interest has ended."""

    def published(self, session: Session, command: PubLine, now: int) -> bool:
        """A message that passed the session's checks; answers whether anybody listened."""
        ...


class Session:
    """The server's side of one connection."""

    __slots__ = (
        "_auth_at",
        "_core",
        "_last_in",
        "_opened",
        "_out",
        "_ping_at",
        "_pings_out",
        "_protocol",
        "_reader",
        "_reserved",
        "_rtt_known",
        "cid",
        "closed",
        "connected",
        "echo",
        "headers",
        "no_responders",
        "pedantic",
        "reason",
        "subs",
        "verbose",
    )

    def __init__(self, cid: int, core: Core, reader: ClientCommandParser, now: int) -> None:
        self.cid = cid
        self.closed = False
        #: The -ERR text that ended it, ``""`` if none did.
        self.reason = ""
        self.connected = False
        self.verbose = True
        self.pedantic = True
        self.echo = True
        self.headers = False
        self.no_responders = False
        self.subs: dict[str, SimSubscription] = {}
        self._protocol = 0
        self._opened = False
        self._core = core
        self._reader = reader
        #: Nobody may publish below these.
        self._reserved = ("_GR_.", "$NRG.") if core.profile.reserves_nrg else ("_GR_.",)
        self._out: list[bytes] = []
        self._last_in = now
        self._rtt_known = False
        self._pings_out = 0
        self._ping_at = now + FIRST_PING + core.jitter(FIRST_PING_SPREAD)
        self._auth_at = now + core.auth_timeout if core.auth is not None else None
        self._out.append(core.info(self, after_connect=False))

    # ------------------------------------------------------------------------------------------------ inputs

    def received(self, data: bytes, now: int) -> bool:
        """Bytes of the client came; answers whether they completed anything."""
        self._last_in = now
        commands = () if self.closed else self._reader.feed(data)
        for command in commands:
            if isinstance(command, PubLine) and self._auth_at is None:  # nearly always
                self._publish(command, now)
            else:
                self._apply_event(command, now)
            if self.closed:
                break
        return bool(commands)

    def ticked(self, now: int) -> None:
        """Ping, or give up on a client that does not answer or does not introduce itself."""
        if self._auth_at is not None and now >= self._auth_at:
            self.fail("Authentication Timeout")
        elif now >= self._ping_at:
            self._ping(now)

    def deadline(self) -> int | None:
        """When to tick next, in nanoseconds."""
        if self.closed:
            return None
        return self._ping_at if self._auth_at is None else min(self._ping_at, self._auth_at)

    def gone(self) -> None:
        """The connection is over, whoever ended it: its interest goes with it."""
        self.closed = True
        for sub in self.subs.values():
            self._core.unsubscribed(sub)
        self.subs.clear()

    # ------------------------------------------------------------------------------------------------ outputs

    def data_to_send(self) -> bytes:
        """Everything that the server has written since the last call."""
        if not self._out:
            return b""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def inform(self) -> None:
        """Send a fresh INFO to a client that can take it at any time."""
        if self._protocol >= 1:
            self._out.append(self._core.info(self, after_connect=False))

    def deliver(
        self,
        sub: SimSubscription,
        subject: str,
        reply: str,
        block: bytes | None,
        payload: bytes,
        *,
        two_blanks: bool,
    ) -> None:
        """Write one message for ``sub``; a client without headers gets the payload alone."""
        permissions = self._core.permissions
        if permissions.subscribe_deny and not permissions.may_receive(subject):
            return
        words = f"{subject} {sub.sid} {reply} " if reply or two_blanks else f"{subject} {sub.sid} "
        line = words.encode("utf-8", "surrogateescape")
        if block and self.headers:
            size = len(block)
            self._out.append(
                b"HMSG %b%d %d\r\n%b%b\r\n" % (line, size, size + len(payload), block, payload)
            )
        else:
            self._out.append(b"MSG %b%d\r\n%b\r\n" % (line, len(payload), payload))
        if sub.limit and sub.delivered >= sub.limit:
            self._end(sub)

    def no_responder(self, subject: str, reply: str) -> None:
        """Nobody listens on ``subject``: say so, if the client asked to be told and listens on
        ``reply`` itself.
        """
        if not (self.no_responders and self.headers and reply):
            return
        about = f"Nats-Subject: {subject}\r\n" if self._core.profile.subject_in_503 else ""
        block = f"NATS/1.0 503\r\n{about}\r\n".encode("utf-8", "surrogateescape")
        for sub in [each for each in self.subs.values() if matches(each.subject, reply)][:1]:
            sub.delivered += 1
            self.deliver(sub, reply, "", block, b"", two_blanks=False)

    def fail(self, text: str) -> None:
        """Say ``-ERR`` and, as the table has it, hang up. An empty text hangs up without a word."""
        if text:
            self._out.append(f"-ERR '{text}'\r\n".encode("utf-8", "surrogateescape"))
        if not text or next(
            (ends for start, ends in ERRORS.items() if text.startswith(start)), True
        ):
            self.reason = text
            self.gone()

    # ------------------------------------------------------------------------------------------------ commands

    def _apply_event(self, command: ClientCommand, now: int) -> None:
        if self._auth_at is not None and not isinstance(command, ConnectLine):
            self.fail("Authorization Violation")
        elif isinstance(command, PubLine):
            self._publish(command, now)
        elif isinstance(command, SubLine):
            self._subscribe(command)
        elif isinstance(command, UnsubLine):
            self._unsubscribe(command)
        elif isinstance(command, ConnectLine):
            self._connect(command)
        elif isinstance(command, MalformedCommand):
            self.fail(command.text)
        elif command is ClientVerb.PING:
            self._pinged()
        elif command is ClientVerb.PONG:
            self._pings_out = 0
            self._rtt_known = True

    def _connect(self, command: ConnectLine) -> None:
        try:
            options = read(command.body)
        except ValueError:
            options = None
        if not is_table(options):
            self.fail("")
            return
        protocol = options.get("protocol", 0)
        if protocol not in (0, 1):
            self.fail("invalid client protocol")
            return
        auth = self._core.auth
        if auth is not None and not auth.admits(options):
            self.fail("Authorization Violation")
            return
        self._auth_at = None
        self._protocol = 1 if protocol else 0
        self.verbose = options.get("verbose", True) is True
        self.pedantic = options.get("pedantic", True) is True
        self.echo = options.get("echo", True) is not False
        self.headers = options.get("headers") is True
        self.no_responders = options.get("no_responders") is True
        if self.no_responders and not self.headers:
            self.fail("no responders requires headers support")
            return
        if self.connected:
            # A second CONNECT: what was subscribed before is not delivered any more (seen on all
            # versions).
            for sub in self.subs.values():
                self._core.unsubscribed(sub)
        self.connected = True
        self._ok()

    def _pinged(self) -> None:
        self._out.append(b"PONG\r\n")
        if self.connected and not self._opened and self._protocol >= 1:
            self._opened = True
            if self._core.profile.connect_info:
                self._out.append(self._core.info(self, after_connect=True))

    def _ping(self, now: int) -> None:
        core = self._core
        self._ping_at = now + core.ping_interval
        if self._rtt_known and now - self._last_in < core.ping_interval:
            return
        if self._pings_out >= core.ping_max:
            self.fail("Stale Connection")
            return
        self._pings_out += 1
        self._out.append(b"PING\r\n")

    def _publish(self, command: PubLine, now: int) -> None:
        subject, reply, block, _ = command
        if block is not None and not self.headers:
            self.fail("")
            return
        if self.verbose:
            self._ok()
        core = self._core
        if reply and reply.startswith(("$JS.ACK.", "$GNR.", "_R_.")):
            self.fail(f'Permissions Violation for Publish with Reply of "{reply}"')
            return
        permissions = core.permissions
        bounded = permissions.publish_allow or permissions.publish_deny
        if subject.startswith(self._reserved) or (bounded and not permissions.may_publish(subject)):
            self.fail(f'Permissions Violation for Publish to "{subject}"')
            return
        if self.pedantic and not (valid(subject) and literal(subject)):
            self.fail("Invalid Publish Subject")
        if ".." in subject or subject[0] == "." or subject[-1] == ".":  # an empty token
            return
        if not core.published(self, command, now):
            self.no_responder(subject, reply)

    def _subscribe(self, command: SubLine) -> None:
        core = self._core
        if not valid(command.subject):
            self.fail("Invalid Subject")
            return
        if not core.permissions.may_subscribe(command.subject, command.queue):
            group = f' using queue "{command.queue}"' if command.queue else ""
            self.fail(f'Permissions Violation for Subscription to "{command.subject}"{group}')
            return
        if 0 < core.max_subs <= len(self.subs) and command.sid not in self.subs:
            self.fail("maximum subscriptions exceeded")
            return
        if command.sid not in self.subs:
            sub = SimSubscription(self, command.sid, command.subject, command.queue)
            self.subs[command.sid] = sub
            core.subscribed(sub)
        self._ok()

    def _unsubscribe(self, command: UnsubLine) -> None:
        sub = self.subs.get(command.sid)
        if sub is not None:
            sub.limit = command.limit
            if command.limit <= sub.delivered:
                self._end(sub)
        self._ok()

    def _end(self, sub: SimSubscription) -> None:
        self.subs.pop(sub.sid, None)
        self._core.unsubscribed(sub)

    def _ok(self) -> None:
        if self.verbose:
            self._out.append(b"+OK\r\n")


def _same(given: object, wanted: str) -> bool:
    return isinstance(given, str) and given == wanted


def _permitted(subject: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> bool:
    if any(matches(pattern, subject) for pattern in deny):
        return False
    return not allow or any(matches(pattern, subject) for pattern in allow)
