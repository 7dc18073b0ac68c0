"""Server addresses, and the pool that decides which server is dialled next and when.

Theory. The pool knows for each server the earliest time of its next attempt. A failed attempt moves
that time by a wait. The wait doubles from ``reconnect_wait`` to ``reconnect_wait_max``, and jitter
from the injected entropy is added. Only a verified handshake resets it. The next server is the one
whose time comes first. So a sweep over several servers needs no pause, and one server alone is not
dialled too often. The first attempt after a healthy link is immediate. The pool allows at most
`MOST_DIALS` dials in a second. A server in lame duck mode is dialled only when no other may be
dialled at that time. It is not excluded for good, because the other servers may be gone and it may
have restarted.

Gossiped addresses are bare ``host:port``. They inherit scheme and user from the configured URL. A
server that is connected through a WebSocket gossips addresses for WebSockets, so in a mixed pool
the gossip of one kind does not affect the other.

With TLS configured, addresses that arrive before TLS is up are untrusted. Host names are ignored,
because an attacker may hold a valid certificate for a name of his own. IP addresses are accepted,
because such a server must present the certificate of the configured host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import ClassVar, Final, NamedTuple, cast, final
from urllib.parse import unquote_to_bytes

from attrs import Attribute, evolve, field, frozen
from attrs.validators import optional

from jsproto.core.state import PLAIN, Codecs, Snapshot, Snapshottable
from jsproto.errors.tree import InvalidConfig, JsprotoError
from jsproto.wire.secret import RedactedSecret, fits_utf8, secret_query, secret_text

SCHEMES: Final = frozenset({"nats", "tls", "ws", "wss"})
WEB_SCHEMES: Final = frozenset({"ws", "wss"})
DEFAULT_PORT: Final = 4222
_WEB_PORTS: Final = {"ws": 80, "wss": 443}

#: Advice for a user whose password has such characters.
ENCODE: Final = (
    "in a user or password, write every / ? # % @ : , and blank percent-encoded, like %2F for /"
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*").fullmatch
_PORT: Final = re.compile(r"[0-9]{1,9}").fullmatch
_HOST_CHARACTERS: Final = re.compile(r"[^\s/?#@\[\]]+").fullmatch
_PATH: Final = re.compile(r"/[!-~]*").fullmatch
_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})").search

#: Most servers that are taken from one INFO and kept in all, because gossip is untrusted input.
MAX_PER_INFO: Final = 256
MAX_POOL: Final = 1024
#: Most dials in any `SECOND`, over all servers; a server may gossip hundreds of addresses.
MOST_DIALS: Final = 16
SECOND: Final = 1.0

Entropy = Callable[[int], bytes]


def text_of_utf8(_self: object, attribute: Attribute[str | None], value: str | None) -> None:
    """Refuse text that CONNECT cannot carry, when it is configured and not during a handshake.

    Raises:
        InvalidConfig: the message names the attribute and does not show the text.
    """
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidConfig(f"expected text as {attribute.name}, got {type(value).__name__}")
    if not fits_utf8(value):
        raise InvalidConfig(
            f"expected text that UTF-8 can carry as {attribute.name}, got other text"
        )


def url_path(_self: object, _attribute: Attribute[str | None], value: str | None) -> None:
    """Refuse a path that cannot stand in the first line of an HTTP request.

    Raises:
        InvalidConfig: the message does not show the path, whose query may hold a secret.
    """
    if value is not None and (not isinstance(value, str) or _PATH(value) is None):
        raise InvalidConfig(
            "expected a path of printable ASCII without blanks, from / on, got another"
        )


def _host_name(_self: object, attribute: Attribute[str], value: str) -> None:
    """Refuse a host that could end a line, or look like another host when it is printed."""
    if not isinstance(value, str) or not value.isprintable() or not _HOST_CHARACTERS(value):
        raise InvalidConfig(
            "expected printable characters without blanks and / ? # @ [ ]"
            f" as {attribute.name} of a server, got others"
        )


@final
@frozen(kw_only=True)
class Server(RedactedSecret):
    """One server address. Password and token appear in no ``repr``, ``str`` or pickle.

    Attributes:
        host: a name or an address without brackets; a link-local address may have ``%zone``.
        path: the path and query of the WebSocket request; ``None`` is ``/``.
        tls_name: the name that the certificate must show, if that is not ``host``. For a gossiped
            bare IP address it is the name of the configured server.

    Raises:
        InvalidConfig: a host, a path or a secret cannot be sent. The message shows nothing of them.
    """

    host: str = field(validator=_host_name)
    port: int = DEFAULT_PORT
    scheme: str = "nats"
    user: str | None = field(default=None, validator=text_of_utf8)
    password: str | None = field(
        default=None, converter=secret_text, repr=False, validator=text_of_utf8
    )
    token: str | None = field(
        default=None, converter=secret_text, repr=False, validator=text_of_utf8
    )
    path: str | None = field(default=None, converter=secret_query, validator=url_path)
    gossiped: bool = False
    tls_name: str | None = field(default=None, validator=optional(_host_name))

    @classmethod
    def parse(cls, url: str) -> Server:
        """Parse ``[scheme://][user:password@ | token@]host[:port][/path]``.

        An IPv6 address stands in brackets. A path is allowed with the scheme ``ws`` or ``wss``. In
        user info every ``/ ? # %`` must be percent-encoded.

        Raises:
            InvalidConfig: the text is no such URL. The message shows only the scheme, because any
                other part may be the password.
        """
        scheme, rest = _scheme_of(url.strip())
        parts = split_url(rest)
        pair = parts.password is not None
        return cls(
            host=parts.host,
            port=parts.port or _WEB_PORTS.get(scheme, DEFAULT_PORT),
            scheme=scheme,
            user=parts.user if pair else None,
            password=parts.password,
            token=None if pair else parts.user,
            path=_path_of(parts.path, scheme),
        )

    @property
    def tls(self) -> bool:
        """Whether the address itself asks for TLS."""
        return self.scheme in {"tls", "wss"}

    @property
    def web(self) -> bool:
        """Whether the server is reached through a WebSocket, where TLS can only come first."""
        return self.scheme in WEB_SCHEMES

    @property
    def address(self) -> tuple[str, int]:
        """Host without brackets, and port, for a dialler."""
        return (self.host, self.port)

    @property
    def name(self) -> str:
        """The name for a certificate, a WebSocket or a proxy; it has no zone."""
        return (self.tls_name or self.host).partition("%")[0]

    def __str__(self) -> str:
        host = f"[{self.host.replace('%', '%25')}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def at_addresses(server: Server, hosts: Iterable[str]) -> list[Server]:
    """Return the same server at each of its addresses, each once.

    Its certificate must still show its name.
    """
    return [
        _learned(server, (host, server.port), gossiped=server.gossiped)
        for host in dict.fromkeys(hosts)
    ]


def _learned(like: Server, address: tuple[str, int], *, gossiped: bool) -> Server:
    """Return a server known by its address only, with the settings of a configured one."""
    host, port = address
    name = like.tls_name or like.host if _bare(host) else None
    return evolve(like, host=host, port=port, gossiped=gossiped, tls_name=name)


def _bare(host: str) -> bool:
    """Tell whether ``host`` is an IP address; certificates seldom contain one."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _scheme_of(url: str) -> tuple[str, str]:
    """Return the scheme of a URL and the text after ``://``."""
    scheme, found, rest = url.partition("://")
    if not found:
        return "nats", url
    if scheme.lower() in SCHEMES:
        return scheme.lower(), rest
    seen = repr(scheme) if _SCHEME(scheme) and "@" not in rest else "something else"
    raise InvalidConfig(f"expected one of {sorted(SCHEMES)} as scheme of a server URL, got {seen}")


class UrlParts(NamedTuple):
    """The parts of a URL after ``://``: decoded user info, the host to dial, the raw path."""

    user: str | None
    password: str | None
    host: str
    port: int | None
    path: str


def split_url(rest: str) -> UrlParts:
    """Split the text after ``://`` of a URL.

    The function never guesses. With a slash in a password the host would be a part of the password,
    and a name lookup would disclose it.

    Raises:
        InvalidConfig: it can be split in several ways or in none. Neither message nor context shows
            the text.
    """
    if not rest.isprintable():
        raise InvalidConfig(
            f"expected no control or invisible characters in a URL, got some: {ENCODE}"
        )
    end = next((at for at, char in enumerate(rest) if char in "/?#"), len(rest))
    if "@" in rest[end:]:
        raise InvalidConfig(f"expected no / ? or # before the @ of a URL, got one: {ENCODE}")
    info, at, place = rest[:end].rpartition("@")
    name, colon, word = info.partition(":")
    user = _decoded(name) if at else None
    password = _decoded(word) if colon else None
    return UrlParts(user, password, *_place_of(place), rest[end:])


def _decoded(text: str) -> str:
    """Decode the user or password of a URL.

    Raises:
        InvalidConfig: it is not percent-encoded text. The message does not show it.
    """
    data = unquote_to_bytes(text) if fits_utf8(text) and _BARE_PERCENT(text) is None else None
    said = None if data is None else data.decode(errors="replace")
    if said is None or said.encode() != data:
        raise InvalidConfig(
            "expected percent-encoded UTF-8 as user info of a URL,"
            f" got a % or characters that are none: {ENCODE}"
        )
    return said


def _place_of(place: str) -> tuple[str, int | None]:
    """Return host and port of a URL."""
    if place.startswith("["):
        address, closed, behind = place[1:].partition("]")
        host = _with_zone(address)
        if not closed or host is None or behind[:1] not in {"", ":"}:
            raise InvalidConfig(
                "expected an IPv6 address in the brackets of a URL, got something else"
            )
        number = behind.removeprefix(":")
    elif place.count(":") > 1:
        raise InvalidConfig(
            "expected host:port in a URL, got more than one colon: an IPv6 address stands in"
            f" brackets, like [::1]:4222; {ENCODE}"
        )
    else:
        host, _, number = place.partition(":")
        host = host.lower()
        if not host or "%" in host:
            raise InvalidConfig("expected a host in the URL, got none")
    if not number:
        return host, None
    port = int(number) if _PORT(number) else 0
    if not 0 < port < 65_536:
        raise InvalidConfig(
            f"expected a number from 1 to 65535 as port of a URL, got another: {ENCODE}"
        )
    return host, port


def _with_zone(text: str) -> str | None:
    """Return an IPv6 address as a dialler takes it, or ``None``.

    A URL writes the zone after ``%25`` (RFC 6874); ``%`` is accepted too.
    """
    address, mark, zone = text.partition("%")
    host = f"{address.lower()}%{zone.removeprefix('25') or zone}" if mark else address.lower()
    return host if ":" in address and _bare(host) else None


def _path_of(path: str, scheme: str) -> str | None:
    """Return the path and query of a URL; ``None`` if there is none."""
    if path in {"", "/"}:
        return None
    if scheme not in WEB_SCHEMES or "#" in path:
        raise InvalidConfig(f"expected nothing after host and port of a {scheme}:// URL, got more")
    return path if path.startswith("/") else f"/{path}"


class Entry(Snapshottable):
    """One server of the pool and its history.

    Attributes:
        refused: the text of its last authorization error since it last accepted the client, or
            ``""``.
    """

    __slots__ = ("attempts", "lame", "not_before", "refused", "server", "spent")

    STATE: ClassVar[Codecs] = {
        "attempts": PLAIN,
        "lame": PLAIN,
        "not_before": PLAIN,
        "refused": PLAIN,
        "spent": PLAIN,
    }

    def __init__(self, server: Server) -> None:
        self.server = server
        self.attempts = 0
        self.refused = ""
        self.lame = False
        self.not_before = float("-inf")
        self.spent = False


@final
@frozen
class PoolChange:
    """The changes that gossip made to the pool."""

    added: tuple[Server, ...] = ()
    removed: tuple[Server, ...] = ()
    left_out: int = 0


class ServerPool(Snapshottable):
    """The servers, and the choice of the next one.

    Attributes:
        entries: in order of preference among those that may be dialled now.
        current: the server that is dialled or connected.
    """

    __slots__ = (
        "_dials",
        "_entropy",
        "_jitter",
        "_jitter_tls",
        "_wait",
        "_wait_max",
        "_waits",
        "_wanted",
        "current",
        "entries",
    )

    STATE: ClassVar[Codecs] = {"_dials": PLAIN}

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        entropy: Entropy,
        wait: float,
        wait_max: float,
        jitter: float,
        jitter_tls: float,
        randomize: bool,
        waits: Sequence[float] = (),
    ) -> None:
        self._entropy = entropy
        #: Times of the newest dials.
        self._dials: list[float] = []
        self._wait = wait
        self._wait_max = max(wait, wait_max)
        self._waits = tuple(waits)
        #: Server to dial next, overriding the normal order.
        self._wanted: Entry | None = None
        self._jitter = jitter
        self._jitter_tls = jitter_tls
        self.entries = [Entry(server) for server in servers]
        if randomize:
            self._shuffle()
        self.current = self.entries[0]

    def next(self, now: float) -> Entry | None:
        """Return the next server to dial, which may not be due yet; ``None`` if none is left."""
        if self._wanted in self.entries:
            return self._wanted
        living = [entry for entry in self.entries if not entry.spent]
        ready = [entry for entry in living if entry.not_before <= now]
        if ready:
            return min(ready, key=lambda entry: (entry.lame, entry.not_before))
        return min(living, key=lambda entry: entry.not_before, default=None)

    def want(self, server: str | Server, now: float) -> None:
        """Dial this server next and without a wait, even if all attempts at it were used up.

        Raises:
            InvalidConfig: the server is not in the pool; nothing changed.
        """
        address = (Server.parse(server) if isinstance(server, str) else server).address
        found = next((entry for entry in self.entries if entry.server.address == address), None)
        if found is None:
            raise InvalidConfig(
                f"expected one of {len(self.entries)} known servers, got {address[0]}:{address[1]}"
            )
        found.spent = False
        found.not_before = min(found.not_before, now)
        self._wanted = found

    def retry_now(self, now: float) -> None:
        """Make the next server due now."""
        self._dials.clear()
        entry = self.next(now)
        if entry is not None:
            entry.not_before = min(entry.not_before, now)

    def due(self, entry: Entry) -> float:
        """Return when ``entry`` may be dialled: after its wait, and within the dials per second."""
        if entry is self._wanted or len(self._dials) < MOST_DIALS:
            return entry.not_before
        return max(entry.not_before, self._dials[0] + SECOND)

    def dialled(self, entry: Entry, now: float) -> None:
        """Note that ``entry`` is dialled now; the next attempt at it must wait."""
        self._dials = [*self._dials[-MOST_DIALS + 1 :], now]
        self.current = entry
        self._wanted = None
        if self._waits:
            wait = self._waits[min(entry.attempts, len(self._waits) - 1)]
        else:
            wait = min(self._wait_max, self._wait * 2.0 ** min(entry.attempts, 30))
            wait += self._drawn(self._jitter_tls if entry.server.tls else self._jitter)
        entry.not_before = now + wait
        entry.attempts += 1

    def greeted(self, entry: Entry) -> None:
        """Note that ``entry`` accepted the client; its failed attempts are forgotten."""
        entry.attempts = 0
        entry.refused = ""
        entry.lame = False

    def reset_attempts(self) -> None:
        """Clear the ``spent`` flags; the limit of attempts applies to the first connect only."""
        for entry in self.entries:
            entry.spent = False

    def lost(self, entry: Entry) -> None:
        """Note that the link to ``entry`` is lost; other servers that are due come first."""
        self.entries.remove(entry)
        self.entries.append(entry)

    def merge(
        self, urls: Iterable[str], *, secured: bool = True, asked: bool = False
    ) -> PoolChange:
        """Merge gossip of an INFO: add new servers, drop gossiped ones that it lacks (ADR-40).

        Args:
            urls: the gossiped addresses.
            secured: whether TLS was up when the INFO arrived.
            asked: whether the options require TLS for every server.

        If TLS is wanted and the INFO arrived in plaintext, only IP addresses are added and no
        server is dropped.
        """
        web = self.current.server.web
        like = self._like(web=web)
        trusted = secured or not (asked or like.tls)
        known = {entry.server.address: entry for entry in self.entries}
        named: set[tuple[str, int]] = set()
        added: list[Server] = []
        left_out = 0
        for count, url in enumerate(urls):
            if count >= MAX_PER_INFO or len(known) >= MAX_POOL:
                left_out += 1
                continue
            try:
                bare = Server.parse(url)
            except JsprotoError:
                left_out += 1
                continue
            named.add(bare.address)
            if bare.address not in known and not trusted and not _bare(bare.host):
                left_out += 1
            elif bare.address not in known:
                server = _learned(like, bare.address, gossiped=True)
                known[server.address] = entry = Entry(server)
                self.entries.append(entry)
                added.append(server)
        gone = [
            entry
            for entry in self.entries
            if trusted
            and entry.server.gossiped
            and entry.server.web is web
            and entry.server.address not in named
            and entry is not self.current
        ]
        for entry in gone:
            self.entries.remove(entry)
        return PoolChange(tuple(added), tuple(entry.server for entry in gone), left_out)

    def others(self) -> bool:
        """Tell whether another server is available that is not in lame duck mode."""
        return any(
            entry is not self.current and not entry.spent and not entry.lame
            for entry in self.entries
        )

    def snapshot(self) -> Snapshot:
        """Return all entries in order, by address, and the current one."""
        return {
            **super().snapshot(),
            "entries": [
                (entry.server.address, entry.server.gossiped, entry.server.web, entry.snapshot())
                for entry in self.entries
            ],
            "current": self.current.server.address,
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Restore a snapshot; gossiped servers inherit from the configured ones again."""
        super().restore(data)
        known = {entry.server.address: entry for entry in self.entries}
        entries: list[Entry] = []
        for address, gossiped, web, state in cast(
            "list[tuple[tuple[str, int], bool, bool, Mapping[str, object]]]", data["entries"]
        ):
            entry = known.get(address) or Entry(
                _learned(self._like(web=web), address, gossiped=gossiped)
            )
            entry.restore(state)
            entries.append(entry)
        self.entries = entries
        self.current = next(entry for entry in entries if entry.server.address == data["current"])

    def _like(self, *, web: bool) -> Server:
        """Return the configured server whose settings gossiped servers inherit.

        It is the first configured server of the same kind (WebSocket or not), or one of them with
        TLS if there is one. In a mixed pool a server without TLS may so be dialled with TLS, but
        never the other way round.
        """
        configured = [entry.server for entry in self.entries if not entry.server.gossiped]
        kin = [server for server in configured if server.web is web]
        return max(kin or configured, key=lambda server: server.tls, default=self.current.server)

    def _drawn(self, most: float) -> float:
        return most * (int.from_bytes(self._entropy(4), "big") / 2**32) if most > 0 else 0.0

    def _shuffle(self) -> None:
        for last in range(len(self.entries) - 1, 0, -1):
            other = int.from_bytes(self._entropy(4), "big") % (last + 1)
            self.entries[last], self.entries[other] = self.entries[other], self.entries[last]
