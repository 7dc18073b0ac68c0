"""A nats context: the connection settings that the ``nats`` CLI keeps as JSON (ADR-21).

Theory. A context is one JSON object. All its members are optional, and an empty text counts as
absent. The written document has every member that ADR-21 names, so that a user sees what is
possible. After them come the unknown members, unchanged, because another version may need them.

An unusable context can be read, so that a user can repair it; `NatsContext.check` tells whether it
is usable. There are four kinds of credentials. If a context has several, the first in the order of
:data:`KINDS` counts. Secrets, and members that may hold one, appear in no ``repr``, and a context
with a secret cannot be pickled.

This module looks nothing up: an adapter resolves paths, ``env://`` and ``nsc://``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Self, SupportsIndex, cast, final

from attrs import Attribute, evolve, field, fields_dict, frozen

from jsproto.core.connection.options import servers_of
from jsproto.core.connection.server_pool import SCHEMES, Server
from jsproto.errors.tree import InvalidContext, LocalProtocolError
from jsproto.jetstream.context.jetstream import JetStream
from jsproto.wire.secret import HiddenMapping, RedactedSecret, Secret, fits_utf8
from jsproto.wire.subjects import subject_prefix

#: The server of a context that names none.
DEFAULT_URL: Final = "nats://localhost:4222"
#: A context has some hundred bytes; a larger file is not one.
MAX_CONTEXT: Final = 1024 * 1024
#: Members that decide the kind of credentials; the first that is set counts.
KINDS: Final = ("user", "creds", "nsc", "nkey", "user_jwt")


def _given(value: str | None) -> str | None:
    """Convert an empty member to ``None``, which means the same."""
    return None if value == "" else value


def _secret(value: str | None) -> str | None:
    """Convert a text to a `Secret`, and an empty one to ``None``."""
    return Secret(value) if isinstance(value, str) and value else _given(value)


@final
class _Urls(str):
    """URLs whose ``repr`` hides their user info."""

    __slots__ = ()

    def __repr__(self) -> str:
        return without_user_info(str(self))


def _urls(value: str | None) -> str | None:
    return _Urls(value) if isinstance(value, str) and value else _given(value)


def _hidden(value: Mapping[str, object] | None) -> Mapping[str, object] | None:
    return HiddenMapping(value) if isinstance(value, Mapping) else value


def _text(_self: object, attribute: Attribute[str | None], value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidContext(
            f"expected text as {attribute.name} of a context, got {type(value).__name__}"
        )
    if isinstance(value, str) and not fits_utf8(value):
        raise InvalidContext(
            f"expected text that UTF-8 can carry as {attribute.name} of a context, got other"
        )


def _flag(_self: object, attribute: Attribute[bool], value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidContext(
            f"expected true or false as {attribute.name} of a context, got {type(value).__name__}"
        )


def _texts(_self: object, attribute: Attribute[tuple[str, ...]], value: tuple[object, ...]) -> None:
    if not all(isinstance(each, str) and fits_utf8(each) for each in value):
        raise InvalidContext(f"expected texts as {attribute.name} of a context, got something else")


def _tuple(value: object) -> tuple[str, ...]:
    """Convert a list, or ``null``, to a tuple; the validator checks its items and other types."""
    if value is None:
        return ()
    return (
        tuple(cast("list[str]", value))
        if isinstance(value, (list, tuple))
        else cast("tuple[str]", (None,))
    )


def _beside(
    _self: object, attribute: Attribute[Mapping[str, object] | None], value: object
) -> None:
    """Check unknown members: JSON can hold them, and none is a known name in another case.

    The CLI would read such a name as the known member.
    """
    if value is None:
        return
    if not isinstance(value, Mapping) or not _dumpable(dict(cast("Mapping[str, object]", value))):
        raise InvalidContext(
            f"expected members of JSON as {attribute.name} of a context, got something else"
        )
    for name in cast("Mapping[str, object]", value):
        if name.lower() in _members():
            raise InvalidContext(
                f"expected the member {name.lower()!r} of a context, got it as {name!r}"
            )


def without_user_info(url: object) -> str:
    """Return a text of URLs for output, without user info and queries."""
    if not isinstance(url, str) or {"@", "?"}.isdisjoint(url):
        return repr(url)
    shown: list[str] = []
    for each in url.split(","):
        _, at, place = each.rpartition("@")
        scheme, found, rest = each.partition("://")
        if at and (not found or scheme.strip().lower() not in _SCHEMES):
            return repr("***")  # perhaps a comma in a password: hide everything
        place, asked, _ = (place if at else rest if found else each).partition("?")
        shown.append(
            f"{scheme + '://' if found else ''}{'***@' if at else ''}"
            f"{place}{'?***' if asked else ''}"
        )
    return repr(",".join(shown))


@final
@frozen(kw_only=True)
class NatsContext(RedactedSecret):
    """One context. The attributes are the members of its JSON, as ADR-21 describes them.

    Attributes:
        url: servers, separated by commas.
        creds: where a creds file is: a path, ``nsc://operator/account/user``, ``env://NAME`` or
            ``data:;base64,...``.
        nkey: the same for the seed of a user's nkey.
        nsc: a look-up by ``nsc``, for creds and servers; newer versions of the CLI write it as
            ``creds``.
        unknown: members that are not known here.

    Raises:
        InvalidContext: a member has the wrong type; the message names the member.
    """

    description: str | None = field(default=None, converter=_given, validator=_text)
    url: str | None = field(default=None, converter=_urls, validator=_text)
    socks_proxy: str | None = field(default=None, converter=_urls, validator=_text)
    token: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    user: str | None = field(default=None, converter=_given, validator=_text)
    password: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    creds: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    nkey: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    cert: str | None = field(default=None, converter=_given, validator=_text)
    key: str | None = field(default=None, converter=_given, validator=_text)
    ca: str | None = field(default=None, converter=_given, validator=_text)
    nsc: str | None = field(default=None, converter=_given, validator=_text)
    jetstream_domain: str | None = field(default=None, converter=_given, validator=_text)
    jetstream_api_prefix: str | None = field(default=None, converter=_given, validator=_text)
    jetstream_event_prefix: str | None = field(default=None, converter=_given, validator=_text)
    inbox_prefix: str | None = field(default=None, converter=_given, validator=_text)
    user_jwt: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    user_seed: str | None = field(default=None, converter=_secret, validator=_text, repr=False)
    color_scheme: str | None = field(default=None, converter=_given, validator=_text)
    tls_first: bool = field(default=False, validator=_flag)
    windows_cert_store: str | None = field(default=None, converter=_given, validator=_text)
    windows_cert_match_by: str | None = field(default=None, converter=_given, validator=_text)
    windows_cert_match: str | None = field(default=None, converter=_given, validator=_text)
    windows_ca_certs_match: tuple[str, ...] = field(default=(), converter=_tuple, validator=_texts)
    unknown: Mapping[str, object] | None = field(
        default=None, converter=_hidden, repr=False, hash=False, validator=_beside
    )

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        for name, url in (("url", self.url), ("socks_proxy", self.socks_proxy)):
            if url is not None and repr(url) != repr(str(url)):
                raise LocalProtocolError(
                    f"expected no secret to be pickled, NatsContext holds one in {name}"
                )
        return super().__reduce_ex__(protocol)

    # ------------------------------------------------------------------ the document

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Parse the JSON of a context.

        Raises:
            InvalidContext: it is no JSON object, or a member has the wrong type. The message shows
                no value.
        """
        members = json_object(text, "a context")
        known = {name: members.pop(name) for name in _members() if name in members}
        told = {name: value for name, value in known.items() if value is not None}
        return cls(**told, unknown=members or None)  # type: ignore[arg-type]  # validators judge the types

    def to_json(self) -> str:
        """Return the document in the layout of the CLI."""
        members: dict[str, object] = {
            name: getattr(self, name) if name in _NO_TEXTS else getattr(self, name) or ""
            for name in _members()
        }
        members["windows_ca_certs_match"] = list(self.windows_ca_certs_match) or None
        return _dumped({**members, **(self.unknown or {})})

    def edited(self, **members: object) -> Self:
        """Return the context with other members; an empty text or ``None`` removes one.

        Raises:
            InvalidContext: a member is unknown, or has another type.
        """
        strange = [name for name in members if name not in _members()]
        if strange:
            raise InvalidContext(f"expected members of a context, got {', '.join(strange)}")
        return evolve(self, **cast("dict[str, Any]", members))

    # ------------------------------------------------------------------ interpretation

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers to connect to.

        Raises:
            InvalidConfig: a URL is invalid.
        """
        return servers_of(self.url or DEFAULT_URL)

    @property
    def jetstream(self) -> JetStream:
        """The JetStream API in the domain, or with the API prefix, of the context.

        Raises:
            InvalidConfig: it has both.
            InvalidSubject: no subject can carry the domain or prefix.
        """
        return JetStream(domain=self.jetstream_domain, prefix=self.jetstream_api_prefix)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its credentials, without a token; the first counts."""
        return tuple(name for name in KINDS if getattr(self, name) is not None)

    def check(self) -> None:
        """Check the context as far as possible without looking anything up.

        Raises:
            InvalidContext: it has several kinds of credentials, or half of one.
            InvalidConfig: a URL is invalid, or it has both a domain and a prefix.
            InvalidSubject: no subject can carry its domain or prefix.
        """
        # With both creds and nsc, creds are the credentials, and nsc gives the servers.
        kinds = [each for each in self.kinds if each != "nsc" or self.creds is None]
        if len(kinds) > 1:
            raise InvalidContext(
                f"expected one kind of credentials in a context, got {', '.join(kinds)}"
            )
        for half, whole in (("password", "user"), ("user_seed", "user_jwt"), ("key", "cert")):
            if getattr(self, half) is not None and getattr(self, whole) is None:
                raise InvalidContext(f"expected {whole} beside {half} in a context, got none")
        _ = self.servers, self.jetstream
        if self.inbox_prefix is not None:
            subject_prefix(self.inbox_prefix)


@final
@frozen(kw_only=True)
class NscProfile:
    """The output of ``nsc generate profile`` for a user.

    Attributes:
        path: the path of the user's creds file.
        url: servers of the user's operator, separated by commas.
    """

    path: str | None = None
    url: str | None = None

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Parse the JSON of a profile.

        Raises:
            InvalidContext: it is no profile.
        """
        members = json_object(text, "the profile of nsc")
        operator = members.get("operator")
        service = (
            cast("dict[str, object]", operator).get("service")
            if isinstance(operator, dict)
            else None
        )
        places = cast("list[object]", service) if isinstance(service, list) else [service or ""]
        creds = members.get("user_creds") or ""
        if not isinstance(creds, str) or not all(isinstance(place, str) for place in places):
            raise InvalidContext("expected texts in the profile of nsc, got something else")
        return cls(
            path=creds or None, url=",".join(str(place) for place in places if place) or None
        )


def json_object(text: str | bytes, what: str) -> dict[str, object]:
    """Parse a JSON object.

    Raises:
        InvalidContext: the text is none. It may be secret, so neither the message nor the error's
            context shows it.
    """
    if not isinstance(text, (str, bytes)):
        raise InvalidContext(f"expected {what} as text, got {type(text).__name__}")
    value = _decoded(text) if len(text) <= MAX_CONTEXT else None
    if not isinstance(value, dict):
        raise InvalidContext(f"expected {what} as an object of JSON in UTF-8, got something else")
    return cast("dict[str, object]", value)


# A caught exception holds secret text, so these helpers return None and never raise inside
# `except`.


def _decoded(text: str | bytes) -> object:
    try:
        said = text.decode() if isinstance(text, bytes) else text
        value: object = json.loads(said.removeprefix("\ufeff"), parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return value


def _refused(constant: str) -> float:
    raise ValueError(constant)


def _dumpable(members: dict[str, object]) -> bool:
    try:
        return all(isinstance(name, str) for name in members) and fits_utf8(_dumped(members))
    except (TypeError, ValueError, RecursionError):
        return False


def _dumped(members: dict[str, object]) -> str:
    return json.dumps(members, indent=2, ensure_ascii=False, allow_nan=False)


_SCHEMES: Final = {*SCHEMES, "http", "socks5"}
_NO_TEXTS: Final = frozenset({"tls_first", "windows_ca_certs_match"})


def _members() -> tuple[str, ...]:
    """Return the names of the known members, in the order in which they are written."""
    return tuple(name for name in fields_dict(NatsContext) if name != "unknown")
