"""What a nats context says, as arguments of `connect`: where, as whom, with which certificates, and
whose JetStream.

Everything is read as the CLI reads it, and what cannot be done from here is refused: to connect in
spite of it would be to connect in another way than the context says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import final

from attrs import evolve, field, frozen

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.creds import UserCreds, user_seed
from jsproto.core.connection.options import Tls
from jsproto.core.connection.server_pool import Server
from jsproto.errors import ContextUnavailable, InvalidContext, InvalidCredentials
from jsproto.jetstream.context import JetStream
from jsproto.ops.nats_context import NatsContext
from jsproto.wire.secret import RedactedSecret, as_secret
from jsproto_io._client.options import ConnectOptions, Credentials
from jsproto_io._context.references import FILE, NSC, path_of, profile_of, scheme_of, text_of
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, NkeySeed, TlsFiles
from jsproto_io.proxies import SocksProxy


class ContextOptions(ConnectOptions, total=False):
    """What `connect` of every adapter takes."""

    servers: tuple[Server, ...]
    credentials: Credentials


def arguments_of(settings: NatsContext, environ: Mapping[str, str]) -> ContextOptions:
    """The arguments.

    Raises:
        LocalProtocolError: see `jsproto_io.contexts.Context.options`.
    """
    if settings.windows_cert_store is not None:
        raise InvalidContext(
            "expected a context without windows_cert_store, which is not supported here"
        )
    settings = _looked_up(settings, environ)
    options: ContextOptions = {"servers": settings.servers}
    if settings.socks_proxy is not None:
        options["proxy"] = SocksProxy.parse(settings.socks_proxy)
    if settings.inbox_prefix is not None:
        options["inbox_prefix"] = settings.inbox_prefix
    if settings.jetstream != JetStream():
        options["jetstream"] = settings.jetstream
    if settings.tls_first:
        options["tls"] = Tls.FIRST
    if (settings.ca, settings.cert, settings.key) != (None, None, None):
        options["tls_context"] = TlsFiles(
            ca=_file(settings.ca, "ca", environ),
            certificate=_file(settings.cert, "cert", environ),
            key=_file(settings.key, "key", environ),
        )
    return _with_credentials(options, settings, environ)


@final
@frozen
class _WithToken(RedactedSecret):
    """Credentials, and a token beside them."""

    source: Credentials
    token: str = field(converter=as_secret, repr=False)

    def __call__(self, server: Server, nonce: str) -> Auth:
        return evolve(self.source(server, nonce), token=self.token)


def _looked_up(settings: NatsContext, environ: Mapping[str, str]) -> NatsContext:
    """Creds and servers as nsc knows them, where the context does not say otherwise."""
    creds = settings.creds
    wanted = creds if creds is not None and scheme_of(creds) == NSC else settings.nsc
    if wanted is None or (creds is not None and creds != wanted and settings.url is not None):
        return settings
    profile = profile_of(wanted[len(scheme_of(wanted)) :], environ)
    if creds == wanted and profile.path is None:
        raise ContextUnavailable(
            "expected that nsc knows creds for the user of a context, it names none"
        )
    if creds is None or creds == wanted:
        creds = profile.path
    return settings.edited(creds=creds, nsc=None, url=settings.url or profile.url)


def _with_credentials(
    options: ContextOptions, settings: NatsContext, environ: Mapping[str, str]
) -> ContextOptions:
    """The first kind that there is (`jsproto.ops.nats_context.KINDS`), and a token beside it."""
    token = _literal(settings.token, "token", environ)
    source: Credentials | None = None
    auth = Auth(token=token)
    if settings.user is not None:
        auth = evolve(
            auth, user=settings.user, password=_literal(settings.password, "password", environ)
        )
    elif settings.creds is not None:
        plain = scheme_of(settings.creds) in {"", FILE}
        source = (
            CredsFile(path_of(settings.creds, "creds", environ))
            if plain
            else Creds(text_of(settings.creds, "creds", environ))
        )
    elif settings.nkey is not None:
        plain = scheme_of(settings.nkey) in {"", FILE}
        source = (
            NkeyFile(path_of(settings.nkey, "nkey", environ))
            if plain
            else NkeySeed(_text(text_of(settings.nkey, "nkey", environ), "nkey"))
        )
    elif settings.user_jwt is not None:
        jwt = _literal(settings.user_jwt, "user_jwt", environ) or ""
        seed = _literal(settings.user_seed, "user_seed", environ)
        if seed is None:
            auth = evolve(auth, jwt=jwt)  # of a bearer, who need not sign
        else:
            source = Creds(UserCreds(jwt=jwt, seed=user_seed(seed)))
    if source is not None:
        options["credentials"] = source if token is None else _WithToken(source, token)
    elif auth != Auth():
        options["auth"] = auth
    return options


def _literal(value: str | None, what: str, environ: Mapping[str, str]) -> str | None:
    return None if value is None else _text(text_of(value, what, environ), what)


def _text(data: bytes, what: str) -> str:
    said = data.decode(errors="replace")
    if said.encode() != data:
        raise InvalidCredentials(f"expected the {what} of a context in UTF-8, got other bytes")
    return said


def _file(value: str | None, what: str, environ: Mapping[str, str]) -> Path | None:
    return None if value is None else path_of(value, what, environ)
