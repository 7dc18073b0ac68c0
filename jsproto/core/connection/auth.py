"""Credentials, and their fields in CONNECT.

The client sends all configured credentials together (for example a token and a key, for an auth
callout); the server uses what it needs. The core does not sign. The adapter or user that answers
the `Authenticate` event signs the nonce of the server's INFO and passes the raw signature. On the
wire it is URL-safe base64 without padding.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import final

from attrs import field, frozen

from jsproto.core.connection.server_pool import Server, text_of_utf8
from jsproto.errors.tree import InvalidConfig
from jsproto.wire.secret import RedactedSecret, Secret, secret_bytes, secret_text


@final
@frozen(kw_only=True)
class Auth(RedactedSecret):
    """The credentials of a client. Secrets appear in no ``repr`` and cannot be pickled.

    Attributes:
        nkey: the public key, as text.
        signature: the raw signature of the nonce.
        nonce: the nonce that was signed; the connection ignores an answer for another nonce.
            ``None`` fits every nonce.
    """

    user: str | None = field(default=None, validator=text_of_utf8)
    password: str | None = field(
        default=None, converter=secret_text, repr=False, validator=text_of_utf8
    )
    token: str | None = field(
        default=None, converter=secret_text, repr=False, validator=text_of_utf8
    )
    jwt: str | None = field(default=None, converter=secret_text, repr=False, validator=text_of_utf8)
    nkey: str | None = field(default=None, validator=text_of_utf8)
    signature: bytes | None = field(default=None, converter=secret_bytes, repr=False)
    nonce: str | None = field(default=None, converter=secret_text, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that CONNECT shows to the server, and that must appear nowhere else."""
        held = (self.password, self.token, self.jwt, self.sig)
        return tuple(Secret(each) for each in held if each is not None)

    @property
    def sig(self) -> str | None:
        """The signature as CONNECT carries it: URL-safe base64 without padding."""
        return (
            None
            if self.signature is None
            else urlsafe_b64encode(self.signature).rstrip(b"=").decode("ascii")
        )


def check_dropped(auth: Auth | None, server: Server) -> None:
    """Refuse incomplete credentials whose other part `for_server` would drop silently.

    A token alone is complete, and so is a user with a password.

    Raises:
        InvalidConfig: the message names the missing part and its place.
    """
    given = auth or Auth()
    if given.token is not None:
        return
    if given.user is None and given.password is not None:
        raise InvalidConfig("expected a user beside the password of auth, got none")
    if (
        given.user is not None
        and given.password is None
        and (server.password, server.token) != (None, None)
    ):
        held = "token" if server.password is None else "password"
        raise InvalidConfig(
            f"expected user info in auth or in the URL of {server},"
            f" got the user in auth and a {held} in the URL"
        )


def for_server(auth: Auth | None, server: Server) -> Auth:
    """Return the credentials for one server; ``auth`` has precedence over the URL's user info."""
    given = auth or Auth()
    named = given.user is not None or given.token is not None
    return Auth(
        user=given.user if named else server.user,
        password=given.password if named else server.password,
        token=given.token if named else server.token,
        jwt=given.jwt,
        nkey=given.nkey,
        signature=given.signature,
    )
