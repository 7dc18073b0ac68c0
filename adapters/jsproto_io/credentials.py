"""Where credentials come from: creds files, JWTs and nkeys, for ``connect(..., credentials=...)``
of every adapter.

    connect(url, credentials=CredsFile("~/.nkeys/creds/me.creds"))

Theory. A source is asked at each handshake, with the server and the nonce of its INFO, and answers
with an `Auth` for that nonce. Those with a file read it each time, so credentials can be renewed in
place, and the client that is put out because its JWT ran out comes back with the new one. A file is
a few kilobytes on a disk at hand: it is read without ceremony, in an event loop too. Whatever takes
longer is a callable of one's own, which asyncio, trio and anyio may await.

What is wrong is said as early as it can be known: in memory when the source is made, in a file when
it is read. Errors name the file and hold nothing of it. A server without a nonce verifies no key,
so nothing is signed for it.

`TlsFiles`, the certificates, are given as ``tls_context``; `WebSocket`, path and headers for a
proxy, as ``websocket``.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar, final

from attrs import field, frozen

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.creds import MAX_CREDS, Claims, UserCreds, user_seed
from jsproto.core.connection.server_pool import Server
from jsproto.errors import CredentialsUnavailable, InvalidCredentials
from jsproto.wire.nkey import Seed
from jsproto.wire.secret import RedactedSecret, file_name
from jsproto_io._auth.ed25519 import KeyPair, check_signing
from jsproto_io._layers.tls import TlsFiles
from jsproto_io._layers.websocket_options import WebSocket

__all__ = [
    "Claims",
    "Creds",
    "CredsFile",
    "NkeyFile",
    "NkeySeed",
    "TlsFiles",
    "UserCreds",
    "WebSocket",
]

T = TypeVar("T")

#: A seed and a line end; more than this is another file.
_MAX_SEED: Final = 4096


def _creds(given: UserCreds | str | bytes) -> UserCreds:
    return given if isinstance(given, UserCreds) else UserCreds.parse(given)


def _path(given: str | Path) -> Path:
    return Path(file_name(str(given)))


@final
@frozen
class CredsFile:
    """A creds file, as ``nsc generate creds`` writes it: a user's JWT and seed. It is read again at
    each handshake.

    Raises:
        CredentialsUnavailable: PyNaCl (extra ``nkeys``) is not installed.
        InvalidConfig: its text was given in place of its name.
    """

    path: Path = field(converter=_path)

    def __attrs_post_init__(self) -> None:
        check_signing()

    def read(self) -> UserCreds:
        """What it says now.

        Raises:
            CredentialsUnavailable: it cannot be read; the cause says why.
            InvalidCredentials: it is damaged.
        """
        return _read(self.path, MAX_CREDS, UserCreds.parse)

    def __call__(self, server: Server, nonce: str) -> Auth:
        """The answer for one handshake."""
        return _shown(self.read(), nonce, str(self.path))


@final
@frozen
class Creds(RedactedSecret):
    """The text of a creds file that is in memory, from an environment variable or a vault.

    Raises:
        InvalidCredentials: it is damaged.
        CredentialsUnavailable: PyNaCl (extra ``nkeys``) is not installed.
    """

    creds: UserCreds = field(repr=False, converter=_creds)

    def __attrs_post_init__(self) -> None:
        check_signing()

    def __call__(self, server: Server, nonce: str) -> Auth:
        """The answer for one handshake."""
        return _shown(self.creds, nonce, "the creds")


@final
@frozen
class NkeySeed(RedactedSecret):
    """The seed of a user's nkey (``SU...``), for a server that knows its public key.

    Raises:
        InvalidCredentials: it is damaged, or the seed of somebody else than a user.
        CredentialsUnavailable: PyNaCl (extra ``nkeys``) is not installed.
    """

    seed: Seed = field(repr=False, converter=user_seed)

    def __attrs_post_init__(self) -> None:
        check_signing()

    @property
    def public(self) -> str:
        """The public key, as the server's configuration names it."""
        return str(KeyPair(self.seed).public)

    def __call__(self, server: Server, nonce: str) -> Auth:
        """The answer for one handshake."""
        return _signed(self.seed, nonce)


@final
@frozen
class NkeyFile:
    """A file with nothing but the seed of a user's nkey. It is read again at each handshake.

    Raises:
        CredentialsUnavailable: PyNaCl (extra ``nkeys``) is not installed.
        InvalidConfig: the seed was given in place of its name.
    """

    path: Path = field(converter=_path)

    def __attrs_post_init__(self) -> None:
        check_signing()

    def read(self) -> Seed:
        """What it says now.

        Raises:
            CredentialsUnavailable: it cannot be read; the cause says why.
            InvalidCredentials: it is damaged, or the seed of somebody else than a user.
        """
        return _read(self.path, _MAX_SEED, lambda data: user_seed(data.strip()))

    def __call__(self, server: Server, nonce: str) -> Auth:
        """The answer for one handshake."""
        return _signed(self.read(), nonce)


def _read(path: Path, most: int, parse: Callable[[bytes], T]) -> T:
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(most + 1)  # one more, so that who parses it sees that it is too long
    except (OSError, RuntimeError, ValueError) as error:  # an unknown home, a path with a NUL
        raise CredentialsUnavailable(
            f"expected credentials in the file {path}, it cannot be read: {type(error).__name__}"
        ) from error
    try:
        return parse(data.removeprefix(BOM_UTF8))
    except InvalidCredentials as error:
        raise InvalidCredentials(f"{error} (in the file {path})") from None


def _signed(seed: Seed, nonce: str) -> Auth:
    pair = KeyPair(seed)
    return Auth(
        nkey=str(pair.public), signature=pair.sign(nonce.encode()) if nonce else None, nonce=nonce
    )


def _shown(creds: UserCreds, nonce: str, what: str) -> Auth:
    pair = KeyPair(creds.seed)
    subject = creds.claims.subject
    if subject != str(pair.public):
        raise InvalidCredentials(
            f"expected the seed of {subject}, whom the JWT in {what} is about, got that of {pair.public}"
        )
    return Auth(jwt=creds.jwt, signature=pair.sign(nonce.encode()) if nonce else None, nonce=nonce)
