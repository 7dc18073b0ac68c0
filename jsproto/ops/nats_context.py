"""A nats context: how to connect, in the JSON that the ``nats`` CLI keeps for it (ADR-21).

Theory. A context is one object of JSON with members that are all optional; an empty text is one
that was not given. What is written has every member that ADR-21 names, so that people see what
there is, and behind them those that are not known here, as they came: another version may live by
them.

A context is read although it could not be used, so that it can be mended; `NatsContext.check` says
whether it can. Credentials are one of four kinds, and if there are more the first of them counts,
in the order of :data:`KINDS`. Secrets, and what may hold one, are in no ``repr``, and a context
with one is not pickled.

Nothing is looked up here: paths, ``env://`` and ``nsc://`` are the part of an adapter.
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

#: Where a context connects that names no server.
DEFAULT_URL: Final = "nats://localhost:4222"
#: A context is some hundred bytes; more than this is another file.
MAX_CONTEXT: Final = 1024 * 1024
#: Kinds of credentials: which of them a context has is told by these members, and the first counts.
KINDS: Final = ("user", "creds", "nsc", "nkey", "user_jwt")


def _given(value: str | None) -> str | None:
    """An empty member says the same as none."""
    return None if value == "" else value


def _secret(value: str | None) -> str | None:
    """The same for what is secret."""
    return Secret(value) if isinstance(value, str) and value else _given(value)


@final
class _Urls(str):
    """URLs, which are shown without their user info."""

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
    """A list; ``null`` is an empty one. The validator judges what is in it, and what is none."""
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
    """Members that are not known must be able to be written, and be no misspelt ones: the CLI would
    read those.
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
    """A text of URLs as it may be shown: without user info, and without queries."""
    if not isinstance(url, str) or {"@", "?"}.isdisjoint(url):
        return repr(url)
    shown: list[str] = []
    for each in url.split(","):
        _, at, place = each.rpartition("@")
        scheme, found, rest = each.partition("://")
        if at and (not found or scheme.strip().lower() not in _SCHEMES):
            return repr("***")  # a comma in a password, perhaps: nothing says what of it is one
        place, asked, _ = (place if at else rest if found else each).partition("?")
        shown.append(
            f"{scheme + '://' if found else ''}{'***@' if at else ''}{place}{'?***' if asked else ''}"
        )
    return repr(",".join(shown))


@final
@frozen(kw_only=True)
class NatsContext(RedactedSecret):
    """What one context says. The attributes are the members of its JSON; what they mean is said by
    ADR-21.

    Attributes:
        url: servers, with commas between.
        creds: where a creds file is: a path, ``nsc://operator/account/user``, ``env://NAME`` or
            ``data:;base64,...``.
        nkey: the same for the seed of a user's nkey.
        nsc: a look-up by ``nsc``, for creds and servers; newer versions of the CLI write it as
            ``creds``.
        unknown: members that are not known here.

    Raises:
        InvalidContext: a member that is no text where one is expected; it names the member.
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
        """The context with this JSON.

        Raises:
            InvalidContext: no object of JSON, or a member of the wrong type; nothing of its values
                is shown.
        """
        members = json_object(text, "a context")
        known = {name: members.pop(name) for name in _members() if name in members}
        told = {name: value for name, value in known.items() if value is not None}
        return cls(**told, unknown=members or None)  # type: ignore[arg-type]  # validators judge the types

    def to_json(self) -> str:
        """The document, as the CLI lays it out."""
        members: dict[str, object] = {
            name: getattr(self, name) if name in _NO_TEXTS else getattr(self, name) or ""
            for name in _members()
        }
        members["windows_ca_certs_match"] = list(self.windows_ca_certs_match) or None
        return _dumped({**members, **(self.unknown or {})})

    def edited(self, **members: object) -> Self:
        """The same with other members; an empty text, or ``None``, takes one away.

        Raises:
            InvalidContext: a member that is not known, or of another type.
        """
        strange = [name for name in members if name not in _members()]
        if strange:
            raise InvalidContext(f"expected members of a context, got {', '.join(strange)}")
        return evolve(self, **cast("dict[str, Any]", members))

    # ------------------------------------------------------------------ what it means

    @property
    def servers(self) -> tuple[Server, ...]:
        """Where to connect.

        Raises:
            InvalidConfig: a URL that is none.
        """
        return servers_of(self.url or DEFAULT_URL)

    @property
    def jetstream(self) -> JetStream:
        """JetStream in the domain, or behind the API prefix, that it names.

        Raises:
            InvalidConfig: it names both.
            InvalidSubject: it names one that no subject can carry.
        """
        return JetStream(domain=self.jetstream_domain, prefix=self.jetstream_api_prefix)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds of credentials it has, beside a token; the first counts."""
        return tuple(name for name in KINDS if getattr(self, name) is not None)

    def check(self) -> None:
        """Say what cannot work, as far as that is known without looking anything up.

        Raises:
            InvalidContext: several kinds of credentials, or half of one.
            InvalidConfig: a URL that is none; a domain beside a prefix.
            InvalidSubject: a domain or a prefix that no subject can carry.
        """
        # creds beside nsc: those are creds, and nsc says where to connect.
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
    """What ``nsc generate profile`` says of a user.

    Attributes:
        path: that of his creds file.
        url: servers of his operator, with commas between.
    """

    path: str | None = None
    url: str | None = None

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """What this JSON says.

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
    """An object of JSON.

    Raises:
        InvalidContext: it is none. What it is may be secret, so it is not shown, here or in the
            context of the error.
    """
    if not isinstance(text, (str, bytes)):
        raise InvalidContext(f"expected {what} as text, got {type(text).__name__}")
    value = _decoded(text) if len(text) <= MAX_CONTEXT else None
    if not isinstance(value, dict):
        raise InvalidContext(f"expected {what} as an object of JSON in UTF-8, got something else")
    return cast("dict[str, object]", value)


# What this catches holds what was read, so nothing may be raised while it is being handled.


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
    """The members that are known, in the order in which they are written."""
    return tuple(name for name in fields_dict(NatsContext) if name != "unknown")
