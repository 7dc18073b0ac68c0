"""The way to servers through a proxy: ``connect(url, proxy="http://user:password@proxy:3128")``,
``socks5://`` likewise, or a tunnel of one's own.

Theory. A `Tunnel` says where to dial instead of the server, and gives a `ByteFilter` that asks for
the way to it. Once that stands it changes nothing any more, and what stands over it (TLS, a
WebSocket, the connection) is as without it: names of certificates are those of the server, and the
one deadline of an attempt spans the proxy too. Every adapter dials and covers its streams in the
same place, so one tunnel serves them all.

What is said to a proxy is straight-line, so it is a generator (`Talk`), and `ProxyHandshake` is the
layer around it.

The proxy looks up the name of the server; here nobody does. It is spoken to in clear: one that
wants TLS for itself is not supported.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Generator
from ipaddress import ip_address
from typing import ClassVar, Final, Protocol, Self, TypeAlias, final

from attrs import field, frozen

from jsproto.core.connection.server_pool import Server, split_url
from jsproto.errors import ConnectFailed, InvalidConfig, LocalProtocolError
from jsproto.errors.tree import shorten
from jsproto.wire.secret import RedactedSecret, secret_text
from jsproto_io._layers.stack import ByteFilter

#: Most bytes of one word of a proxy.
MOST: Final = 65_536
_END: Final = b"\r\n\r\n"
#: What a host may hold, so that no name ends a line.
_HOST: Final = re.compile(r"[!-~]{1,255}").fullmatch
_AGREED: Final = re.compile(rb"HTTP/1\.[01] 2[0-9][0-9][ \r]").match
#: RFC 1928: how many bytes an address takes, by its kind; that of a name stands before it.
_ADDRESS: Final = {1: 4, 4: 16}
_NAME: Final = 3
#: RFC 1928: what a reply of SOCKS says.
_REPLIES: Final = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
}

#: How many of the bytes that have come are the next word of the proxy; 0 while it is not whole.
Word: TypeAlias = Callable[[bytes], int]
#: What is said to a proxy: gives what to say and which word is waited for, and is given that word.
Talk: TypeAlias = Generator[tuple[bytes, Word], bytes, None]


class Tunnel(Protocol):
    """A way to servers."""

    @property
    def entrance(self) -> Server:
        """What is dialled instead of the server; host and port are what counts."""
        ...

    def layer(self, server: Server) -> ByteFilter:
        """What asks for the way to this server, on one stream that was dialled."""
        ...


# ------------------------------------------------------------------------------------------------ proxies


@frozen
class _Proxy(RedactedSecret):
    """A proxy by its address. The password is in no ``repr`` and in no pickle."""

    SCHEME: ClassVar[str]
    PORT: ClassVar[int]

    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, converter=secret_text, repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """A proxy from ``scheme://[user:password@]host[:port]``.

        Nothing stands behind that: in a password with a slash in it a path would begin, and a host
        would be what is secret.

        Raises:
            InvalidConfig: not such a URL. The text shows nothing of it: who knows which part is the
                password?
        """
        scheme, found, rest = url.strip().partition("://")
        if not found or scheme.lower() != cls.SCHEME:
            raise InvalidConfig(f"expected a proxy as {cls.SCHEME}://host:port, got another URL")
        try:
            parts = split_url(rest)
        except InvalidConfig as error:  # which shows nothing of the URL
            raise InvalidConfig(f"expected a proxy as {cls.SCHEME}://host:port: {error}") from None
        if parts.path not in {"", "/"} or _HOST(parts.host) is None:
            raise InvalidConfig(f"expected a proxy as {cls.SCHEME}://host:port, got more than that")
        port = cls.PORT if parts.port is None else parts.port
        return cls(parts.host, port, parts.user, parts.password)

    @property
    def entrance(self) -> Server:
        """Where the proxy is."""
        return Server(host=self.host, port=self.port)

    def __str__(self) -> str:
        return f"{self.SCHEME}://{_authority(self.entrance)}"


@final
@frozen
class HttpProxy(_Proxy):
    """A proxy that opens tunnels by the method CONNECT (RFC 9110, 9.3.6); user and password go as
    Basic.
    """

    SCHEME: ClassVar[str] = "http"
    PORT: ClassVar[int] = 80

    def layer(self, server: Server) -> ByteFilter:
        """What asks for the way to a server."""
        return ProxyHandshake(self, server, self._talk(server))

    def _talk(self, server: Server) -> Talk:
        where = _authority(server)
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        if self.user is not None:
            secret = b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {secret}")
        said = yield (
            "\r\n".join([*lines, "", ""]).encode(),
            lambda held: held.find(_END) + len(_END) if _END in held else 0,
        )
        if _AGREED(said) is None:
            raise _refused(self, server, shorten(said.partition(b"\r\n")[0].decode("latin-1")))


@final
@frozen
class SocksProxy(_Proxy):
    """A proxy that speaks SOCKS 5 (RFC 1928), with user and password (RFC 1929) if it asks for
    them.
    """

    SCHEME: ClassVar[str] = "socks5"
    PORT: ClassVar[int] = 1080

    def layer(self, server: Server) -> ByteFilter:
        """What asks for the way to a server."""
        return ProxyHandshake(self, server, self._talk(server))

    def _talk(self, server: Server) -> Talk:
        methods = b"\0" if self.user is None else b"\0\2"
        said = yield bytes([5, len(methods)]) + methods, _of_size(2)
        if said[0] != 5 or said[1] not in methods:
            raise _refused(self, server, "none of our ways to log in")
        if said[1]:
            pair = b"".join(_counted(each or "") for each in (self.user, self.password))
            said = yield b"\1" + pair, _of_size(2)
            if said[1]:
                raise _refused(self, server, "a refusal of user and password")
        said = yield b"\5\1\0" + _place(server), _reply
        if said[0] != 5 or said[1]:
            raise _refused(self, server, _REPLIES.get(said[1], "no answer of SOCKS 5"))


_KINDS: Final[dict[str, type[HttpProxy | SocksProxy]]] = {
    each.SCHEME: each for each in (HttpProxy, SocksProxy)
}


def tunnel_of(given: str | Tunnel | None) -> Tunnel | None:
    """The tunnel that is meant by a URL, or the given one.

    Raises:
        InvalidConfig: a URL of no proxy that is known here.
    """
    if not isinstance(given, str):
        return given
    scheme = given.strip().partition("://")[0].lower()
    kind = _KINDS.get(scheme)
    if kind is None:
        raise InvalidConfig(
            f"expected a proxy as {' or '.join(_KINDS)}://host:port, got another URL"
        )
    return kind.parse(given)


# ------------------------------------------------------------------------------------------------ the layer


@final
class ProxyHandshake:
    """One way through a proxy to a server: until the proxy agrees it is talked to, from then on
    bytes pass as they are.
    """

    __slots__ = ("_held", "_proxy", "_say", "_server", "_talk", "_word", "stands")

    ended = False
    close_reason: Exception | None = None

    def __init__(self, proxy: object, server: Server, talk: Talk) -> None:
        self._proxy = proxy
        self._server = server
        self._talk = talk
        self._say = b""
        self._held: bytes = b""
        self._word: Word = _of_size(1)
        self.stands = False

    def __repr__(self) -> str:
        return f"<ProxyHandshake to {self._server}: {'open' if self.stands else 'not open'}>"

    def begin(self) -> None:
        """Ask for the way.

        Raises:
            InvalidConfig: a name that cannot be said to a proxy.
        """
        self._say, self._word = next(self._talk)

    def received(self, data: bytes) -> bytes:
        """What comes from the server, behind what the proxy says.

        Raises:
            ConnectFailed: the proxy does not open the way.
        """
        if self.stands:
            return data
        self._held += data
        while size := self._word(self._held):
            word, self._held = self._held[:size], self._held[size:]
            try:
                say, self._word = self._talk.send(word)
            except StopIteration:
                self.stands = True
                held, self._held = self._held, b""
                return held
            self._say += say
        if len(self._held) > MOST:
            raise _refused(self._proxy, self._server, f"more than {MOST} bytes")
        return b""

    def sent(self, data: bytes) -> bytes:
        """As it is.

        Raises:
            LocalProtocolError: there is no way yet.
        """
        if not self.stands:
            raise LocalProtocolError(
                "expected that the way through the proxy stands before anything is said"
            )
        return data

    def outgoing(self) -> bytes:
        """What is to be said to the proxy."""
        say, self._say = self._say, b""
        return say

    def close_frame(self) -> bytes:
        """Nothing: the end of the stream says it."""
        return b""

    def cut(self) -> Exception | None:
        """An end of the stream is one of the server, once there is a way to it."""
        return None if self.stands else _refused(self._proxy, self._server, "the end of the stream")


def _refused(proxy: object, server: Server, seen: str) -> ConnectFailed:
    return ConnectFailed(f"expected proxy {proxy} to open a way to {server}, got {seen}")


def _authority(server: Server) -> str:
    """Host and port as a request names them; a zone means something on this machine only."""
    host = server.host.partition("%")[0]
    if _HOST(host) is None:
        raise InvalidConfig(
            f"expected a host of printable ASCII behind a proxy, got {shorten(host)}"
        )
    return f"[{host}]:{server.port}" if ":" in host else f"{host}:{server.port}"


def _place(server: Server) -> bytes:
    """Host and port as SOCKS names them."""
    try:
        address = ip_address(server.host)
    except ValueError:
        _authority(server)
        host = bytes([_NAME]) + _counted(server.host)
    else:
        host = bytes([1 if address.version == 4 else 4]) + address.packed
    return host + server.port.to_bytes(2, "big")


def _counted(text: str) -> bytes:
    """Text behind its size."""
    data = text.encode()
    if len(data) > 255:
        raise InvalidConfig("expected at most 255 bytes for a proxy that speaks SOCKS, got more")
    return bytes([len(data)]) + data


def _of_size(size: int) -> Word:
    return lambda held: size if len(held) >= size else 0


def _reply(held: bytes) -> int:
    """A reply of SOCKS: four bytes, an address of one of three kinds, and a port."""
    if len(held) < 5:
        return 0
    size = held[4] + 1 if held[3] == _NAME else _ADDRESS.get(held[3], 0)
    whole = 4 + size + 2
    return whole if len(held) >= whole else 0
