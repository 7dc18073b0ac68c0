"""Read creds files and JWTs. Nothing is verified; that is the server's task.

Theory. A creds file holds two fenced blocks, in any order and with any text around them:

    -----BEGIN NATS USER JWT-----            -----BEGIN USER NKEY SEED-----
    eyJ0eXAiOiJKV1QiLCJhbGciOiJl...          SUAM...
    ------END NATS USER JWT------            ------END USER NKEY SEED------

A fence is a line that begins and ends with three dashes or more. Its text says what the block is. A
JWT is three parts of URL-safe base64 without padding. The middle part is a JSON object, its claims
(RFC 7519, and ADR-14 for those of NATS).

Every fault is one typed error. Neither its message nor its context shows anything of the file,
because all of it is secret.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import Final, cast, final

from attrs import field, frozen

from jsproto.errors.tree import InvalidCredentials
from jsproto.wire.nkey import LETTERS, KeyKind, PublicKey, Seed
from jsproto.wire.secret import RedactedSecret, as_secret

#: A creds file has a few kilobytes; a larger file is not one.
MAX_CREDS: Final = 1024 * 1024

_DASHES: Final = "---"
_JWT: Final = re.compile(r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")


@final
@frozen(kw_only=True)
class Claims:
    """The claims of a JWT.

    Attributes:
        name: the name that its issuer gave it; may be empty.
        subject: the public key that it is about (``sub``).
        issuer: the public key that signed it (``iss``).
        expires: end of its validity in seconds since 1970 (``exp``); ``None`` is never.
    """

    name: str = ""
    subject: str = ""
    issuer: str = ""
    expires: int | None = None

    @classmethod
    def read(cls, jwt: str) -> Claims:
        """Return the claims of a JWT; the signature is not checked.

        Raises:
            InvalidCredentials: the text is no JWT, or a claim does not have the form of NATS.
        """
        if not isinstance(jwt, str):
            raise InvalidCredentials(f"expected a JWT as text, got {type(jwt).__name__}")
        found = _JWT.fullmatch(jwt) if len(jwt) <= MAX_CREDS else None
        if found is None:
            raise InvalidCredentials("expected a JWT, three parts of base64 with dots between")
        claims = _json_object(found[1])
        if claims is None:
            raise InvalidCredentials(
                "expected a JSON object as claims of the JWT, got something else"
            )
        expires = claims.get("exp")
        if expires is not None and (type(expires) is not int or not 0 <= expires < 2**63):
            raise InvalidCredentials(
                "expected whole seconds since 1970 as exp of the JWT, got something else"
            )
        return cls(
            name=_text(claims, "name"),
            subject=_text(claims, "sub"),
            issuer=_text(claims, "iss"),
            expires=expires or None,
        )


@final
@frozen(kw_only=True)
class UserCreds(RedactedSecret):
    """A user's JWT, and the seed whose signature proves that the JWT is the user's."""

    jwt: str = field(converter=as_secret, repr=False)
    seed: Seed

    @classmethod
    def parse(cls, text: str | bytes) -> UserCreds:
        """Parse the text of a creds file.

        Raises:
            InvalidCredentials: it does not hold exactly one JWT and one seed of a user, or one of
                them is damaged.
        """
        blocks = _blocks(_lines(text))
        made = cls(jwt=_only(blocks, "JWT"), seed=user_seed(_only(blocks, "SEED")))
        subject = PublicKey.parse(made.claims.subject)
        if subject.kind is not KeyKind.USER:
            raise InvalidCredentials(
                f"expected the JWT of a user in the creds file, got one of kind {subject.kind.name}"
            )
        return made

    @property
    def claims(self) -> Claims:
        """The claims of the JWT."""
        return Claims.read(self.jwt)


def user_seed(given: Seed | str | bytes) -> Seed:
    """Return the seed of a user; a server accepts no other kind from a client.

    Raises:
        InvalidCredentials: the seed is damaged, or not that of a user.
    """
    seed = given if isinstance(given, Seed) else Seed.parse(given)
    if seed.kind is not KeyKind.USER:
        raise InvalidCredentials(
            f"expected the seed of a user (S{LETTERS[KeyKind.USER]}...),"
            f" got one of kind {seed.kind.name}"
        )
    return seed


def _lines(text: str | bytes) -> list[str]:
    if not isinstance(text, (str, bytes)):
        raise InvalidCredentials(f"expected a creds file as text, got {type(text).__name__}")
    if len(text) > MAX_CREDS:
        raise InvalidCredentials(f"expected a creds file of at most {MAX_CREDS} bytes, got more")
    said = _decoded(text) if isinstance(text, bytes) else text
    if said is None:
        raise InvalidCredentials("expected a creds file in UTF-8, got other bytes")
    return [line.strip() for line in said.removeprefix("\ufeff").splitlines()]


def _blocks(lines: list[str]) -> list[tuple[str, str]]:
    """Return name and content of each block; text outside of blocks is ignored."""
    found: list[tuple[str, str]] = []
    open_name: str | None = None
    held: list[str] = []
    for line in lines:
        edge, name = _fence(line)
        if not edge:
            held.append(line)
        elif open_name is None and edge == "BEGIN":
            open_name, held = name, []
        elif open_name is not None and edge == "END":
            found.append((open_name, "".join(held)))
            open_name = None
        else:
            raise InvalidCredentials(
                "expected BEGIN and END to take turns in the creds file, they do not"
            )
    if open_name is not None:
        raise InvalidCredentials(
            "expected an END after the last BEGIN of the creds file, it is missing"
        )
    return found


def _fence(line: str) -> tuple[str, str]:
    """Return ``BEGIN`` or ``END`` and the name after it, or empty texts for no fence."""
    if line.startswith(_DASHES) and line.endswith(_DASHES):
        edge, _, name = line.strip("-").strip().upper().partition(" ")
        if edge in {"BEGIN", "END"}:
            return edge, name
    return "", ""


def _only(blocks: list[tuple[str, str]], word: str) -> str:
    fitting = [held for name, held in blocks if word in name]
    if len(fitting) != 1:
        raise InvalidCredentials(
            f"expected one block with a {word} in the creds file, got {len(fitting)}"
        )
    return fitting[0]


def _text(claims: dict[str, object], name: str) -> str:
    value = claims.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidCredentials(f"expected text as {name} of the JWT, got {type(value).__name__}")
    return value


# A caught exception holds secret text, so these helpers return None and never raise inside
# `except`.


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _json_object(part: str) -> dict[str, object] | None:
    try:
        data = b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value: object = json.loads(data.decode(), parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _refused(constant: str) -> float:
    raise ValueError(constant)
