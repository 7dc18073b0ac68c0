"""Where we may connect to: servers, and the pool that decides who is next and when.

Theory. Each server of the pool knows the earliest moment at which it may be dialled again. An
attempt moves that moment on by a wait that doubles from ``reconnect_wait`` to
``reconnect_wait_max`` while attempts fail, plus jitter from injected entropy; only a verified
handshake resets it. The next server is the one whose moment comes first, so a sweep over several
servers needs no pause, one server alone is never hammered, and the first attempt after a healthy
link is immediate. Over all of them there are at most `MOST_DIALS` in a second. A server in lame
duck mode is taken when nobody else may be dialled at that moment: never for ever, since the one
that took its place may be gone, and it may be back itself.

Servers learned by gossip inherit what the configured URL said about security and user: they are
bare ``host:port``. What is told over a WebSocket are addresses for WebSockets, so in a mixed pool
each kind speaks of its own only. What is told in clear where TLS was asked for may be anybody's: of
that a name is not taken, since its owner may well have a certificate for it, but a bare IP address
is, since it must show the certificate of the configured server.
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

#: What helps whoever has a password with such characters in it.
ENCODE: Final = (
    "in a user or password, write every / ? # % @ : , and blank percent-encoded, like %2F for /"
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*").fullmatch
_PORT: Final = re.compile(r"[0-9]{1,9}").fullmatch
_HOST_CHARACTERS: Final = re.compile(r"[^\s/?#@\[\]]+").fullmatch
_PATH: Final = re.compile(r"/[!-~]*").fullmatch
_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})").search

#: Gossip is input from outside: so many servers are taken from one INFO, and so many in all.
MAX_PER_INFO: Final = 256
MAX_POOL: Final = 1024
#: So many dials, to whomever, in any `SECOND`: a server may tell of hundreds.
MOST_DIALS: Final = 16
SECOND: Final = 1.0

Entropy = Callable[[int], bytes]


def text_of_utf8(_self: object, attribute: Attribute[str | None], value: str | None) -> None:
    """Refuse text that CONNECT can't carry, when it is configured and not in the middle of a
    handshake.

    Raises:
        InvalidConfig: it names the attribute and not the text.
    """
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidConfig(f"expected text as {attribute.name}, got {type(value).__name__}")
    if not fits_utf8(value):
        raise InvalidConfig(f"expected text that UTF-8 can carry as {attribute.name}, got other")


def url_path(_self: object, _attribute: Attribute[str | None], value: str | None) -> None:
    """Refuse what can't stand in the first line of an HTTP request.

    Raises:
        InvalidConfig: it shows nothing of the path, whose query may hold a secret.
    """
    if value is not None and (not isinstance(value, str) or _PATH(value) is None):
        raise InvalidConfig(
            "expected a path of printable ASCII without blanks, from / on, got another"
        )


def _host_name(_self: object, attribute: Attribute[str], value: str) -> None:
    """Refuse a host that could end a line, or look like another one where it is printed."""
    if not isinstance(value, str) or not value.isprintable() or not _HOST_CHARACTERS(value):
        raise InvalidConfig(
            f"expected printable characters without blanks and / ? # @ [ ] as {attribute.name} of a server, got others"
        )


@final
@frozen(kw_only=True)
class Server(RedactedSecret):
    """One server address. The password and token of its URL appear in no ``repr``, not in ``str``
    and in no pickle.

    Attributes:
        host: a name or an address as a dialler takes it: without brackets, with ``%zone`` if a
            link-local address has one.
        path: what is asked for if the server is spoken to through a WebSocket, with its query;
            ``None`` is ``/``.
        tls_name: the name that its certificate must show, if that is not ``host``: a server that
            was learned by gossip as a bare IP address is known by the name of the configured one.

    Raises:
        InvalidConfig: a host, a path or a secret that cannot be sent; the text shows nothing of
            them.
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
        """A server from ``[scheme://][user:password@ | token@]host[:port][/path]``; IPv6 addresses
        stand in brackets.

        A path may stand behind a server with the scheme ``ws`` or ``wss``. In user info every ``/ ?
        # %`` is percent-encoded.

        Raises:
            InvalidConfig: not such a URL. The text shows nothing of it but the scheme: who knows
                which part is the password?
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
        """Whether the stream is one over a WebSocket, where TLS stands before the first word or not
        at all.
        """
        return self.scheme in WEB_SCHEMES

    @property
    def address(self) -> tuple[str, int]:
        """Host without brackets and port: what a dialler wants."""
        return (self.host, self.port)

    @property
    def name(self) -> str:
        """What the server is called where others read it: by its certificate, a WebSocket or a
        proxy. A zone means nothing there.
        """
        return (self.tls_name or self.host).partition("%")[0]

    def __str__(self) -> str:
        host = f"[{self.host.replace('%', '%25')}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def at_addresses(server: Server, hosts: Iterable[str]) -> list[Server]:
    """The same server at each of the addresses that its name stands for, each once; its certificate
    still shows its name.
    """
    return [
        _learned(server, (host, server.port), gossiped=server.gossiped)
        for host in dict.fromkeys(hosts)
    ]


def _learned(like: Server, address: tuple[str, int], *, gossiped: bool) -> Server:
    """A server that is known by its address only, in the manner of another one."""
    host, port = address
    name = like.tls_name or like.host if _bare(host) else None
    return evolve(like, host=host, port=port, gossiped=gossiped, tls_name=name)


def _bare(host: str) -> bool:
    """Whether it is an IP address, which certificates seldom show, and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _scheme_of(url: str) -> tuple[str, str]:
    """The scheme and what stands behind it."""
    scheme, found, rest = url.partition("://")
    if not found:
        return "nats", url
    if scheme.lower() in SCHEMES:
        return scheme.lower(), rest
    seen = repr(scheme) if _SCHEME(scheme) and "@" not in rest else "something else"
    raise InvalidConfig(f"expected one of {sorted(SCHEMES)} as scheme of a server URL, got {seen}")


class UrlParts(NamedTuple):
    """What stands behind ``://``: user info decoded, the host as it is dialled, the path as it
    stands there.
    """

    user: str | None
    password: str | None
    host: str
    port: int | None
    path: str


def split_url(rest: str) -> UrlParts:
    """The parts of a URL, from what stands behind ``://``.

    Nothing is guessed: with a slash in a password the host would be a part of it, which would be
    looked up and so be told to others.

    Raises:
        InvalidConfig: it can't be split in one way only. The text, and what stands behind the
            error, show nothing of it.
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
    """User or password of a URL.

    Raises:
        InvalidConfig: not percent-encoded text; nothing of it is shown.
    """
    data = unquote_to_bytes(text) if fits_utf8(text) and _BARE_PERCENT(text) is None else None
    said = None if data is None else data.decode(errors="replace")
    if said is None or said.encode() != data:
        raise InvalidConfig(
            f"expected percent-encoded UTF-8 as user info of a URL, got a % or characters that are none: {ENCODE}"
        )
    return said


def _place_of(place: str) -> tuple[str, int | None]:
    """Host and port."""
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
            "expected host:port in a URL, got more than one colon: an IPv6 address stands in brackets, "
            f"like [::1]:4222; {ENCODE}"
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
    """An IPv6 address as it is dialled, ``None`` if it is none: the zone of a URL stands behind
    ``%25`` (RFC 6874), or ``%``.
    """
    address, mark, zone = text.partition("%")
    host = f"{address.lower()}%{zone.removeprefix('25') or zone}" if mark else address.lower()
    return host if ":" in address and _bare(host) else None


def _path_of(path: str, scheme: str) -> str | None:
    """What stands behind host and port; ``None`` if that says nothing."""
    if path in {"", "/"}:
        return None
    if scheme not in WEB_SCHEMES or "#" in path:
        raise InvalidConfig(f"expected nothing behind host and port of a {scheme}:// URL, got more")
    return path if path.startswith("/") else f"/{path}"


class Entry(Snapshottable):
    """One server of the pool and what is known of it.

    Attributes:
        refused: how it refused our credentials last, since it let us in; empty if it did not.
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
    """What gossip changed."""

    added: tuple[Server, ...] = ()
    removed: tuple[Server, ...] = ()
    left_out: int = 0


class ServerPool(Snapshottable):
    """The servers, who is next and when.

    Attributes:
        entries: in order of preference among those that may be dialled now.
        current: the one that is being dialled or connected.
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
        #: When the newest dials were.
        self._dials: list[float] = []
        self._wait = wait
        self._wait_max = max(wait, wait_max)
        self._waits = tuple(waits)
        #: Who is dialled next, whatever else would be said for others.
        self._wanted: Entry | None = None
        self._jitter = jitter
        self._jitter_tls = jitter_tls
        self.entries = [Entry(server) for server in servers]
        if randomize:
            self._shuffle()
        self.current = self.entries[0]

    def next(self, now: float) -> Entry | None:
        """Who is dialled next, perhaps not at once; ``None`` if nobody is left."""
        if self._wanted in self.entries:
            return self._wanted
        living = [entry for entry in self.entries if not entry.spent]
        ready = [entry for entry in living if entry.not_before <= now]
        if ready:
            return min(ready, key=lambda entry: (entry.lame, entry.not_before))
        return min(living, key=lambda entry: entry.not_before, default=None)

    def want(self, server: str | Server, now: float) -> None:
        """Dial this server next, and without waiting, though it was given up.

        Raises:
            InvalidConfig: it is none of the pool; nothing changed.
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
        """Whoever is next need not wait any longer."""
        self._dials.clear()
        entry = self.next(now)
        if entry is not None:
            entry.not_before = min(entry.not_before, now)

    def due(self, entry: Entry) -> float:
        """When ``entry`` may be dialled: not before its own moment, and not as one too many in a
        second.
        """
        if entry is self._wanted or len(self._dials) < MOST_DIALS:
            return entry.not_before
        return max(entry.not_before, self._dials[0] + SECOND)

    def dialled(self, entry: Entry, now: float) -> None:
        """``entry`` is being dialled: the next attempt at it must wait."""
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
        """``entry`` has let us in: what it failed before is forgotten."""
        entry.attempts = 0
        entry.refused = ""
        entry.lame = False

    def reset_attempts(self) -> None:
        """Nobody is given up any more: the sweeps of the first connect are over and say nothing of
        later ones.
        """
        for entry in self.entries:
            entry.spent = False

    def lost(self, entry: Entry) -> None:
        """The link to ``entry`` is lost: others that may be dialled come first."""
        self.entries.remove(entry)
        self.entries.append(entry)

    def merge(
        self, urls: Iterable[str], *, secured: bool = True, asked: bool = False
    ) -> PoolChange:
        """Take over what an INFO gossips: add what is new, drop gossiped servers that it names no
        more (ADR-40).

        One that came in clear (not ``secured``) adds bare IP addresses only, and drops nobody,
        where TLS is ``asked`` for everywhere, or of such servers as these.
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
        """Whether there is a server beside the current one that is not in lame duck mode."""
        return any(
            entry is not self.current and not entry.spent and not entry.lame
            for entry in self.entries
        )

    def snapshot(self) -> Snapshot:
        """All entries in order, by address, and which is current."""
        return {
            **super().snapshot(),
            "entries": [
                (entry.server.address, entry.server.gossiped, entry.server.web, entry.snapshot())
                for entry in self.entries
            ],
            "current": self.current.server.address,
        }

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave; gossiped servers inherit from the configured ones again."""
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
        """Whom servers that were told of take after: the first configured one of their kind, or of
        those one with TLS if any is.

        In a mixed pool that may be too careful for a plain server, never too careless for one with
        TLS.
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
