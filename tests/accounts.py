"""An operator, an account and users with keys and JWTs of their own, as ``nsc`` would make them,
for live tests.

Everything is made from fixed seeds, so that a test says the same each time. JWTs are those of NATS,
version 2.
"""

from __future__ import annotations

import base64
import json
import time

from jsproto.wire.nkey import KeyKind, Seed
from jsproto_io._auth.ed25519 import KeyPair

# fmt: off
CORE_ONLY = {
    "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1,
}
JETSTREAM = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
# fmt: on
#: When they were all made, for this run.
ISSUED = int(time.time()) - 60
CREDS = """\
-----BEGIN NATS USER JWT-----
{}
------END NATS USER JWT------

************************* IMPORTANT *************************
NKEY Seed printed below can be used to sign and prove identity.
NKEYs are sensitive and should be treated as secrets.

-----BEGIN USER NKEY SEED-----
{}
------END USER NKEY SEED------

*************************************************************
"""


def seed(kind: KeyKind, number: int = 0) -> Seed:
    """The seed with this number."""
    return Seed(kind, bytes([number]) * 32)


def public(of: Seed) -> str:
    return str(KeyPair(of).public)


def jwt(signer: Seed, subject: Seed, nats: dict[str, object], **claims: object) -> str:
    """A JWT about ``subject``."""
    whole = {
        "jti": "x",
        "iat": ISSUED,
        "iss": public(signer),
        "sub": public(subject),
        "name": subject.kind.name.lower(),
        **claims,
        "nats": {"version": 2, **nats},
    }
    said = f"{_part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_part(whole)}"
    return f"{said}.{_base64(KeyPair(signer).sign(said.encode()))}"


def _part(value: object) -> str:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


OPERATOR = seed(KeyKind.OPERATOR)
ACCOUNT = seed(KeyKind.ACCOUNT, 1)
SYSTEM = seed(KeyKind.ACCOUNT, 2)
USER = seed(KeyKind.USER, 3)


def account_jwt(account: Seed = ACCOUNT, **nats: object) -> str:
    limits = (
        CORE_ONLY if account is SYSTEM else {**CORE_ONLY, **JETSTREAM}
    )  # none for the system account
    return jwt(OPERATOR, account, {"type": "account", "limits": limits, **nats})


def server_config(**nats: object) -> str:
    """A server that knows the operator and his account; ``nats`` goes into the JWT of the account."""
    operator = jwt(OPERATOR, OPERATOR, {"type": "operator"})
    return f"""
    operator: {operator}
    system_account: {public(SYSTEM)}
    resolver: MEMORY
    resolver_preload: {{
      {public(ACCOUNT)}: {account_jwt(**nats)}
      {public(SYSTEM)}: {account_jwt(SYSTEM)}
    }}
    """


def creds(
    user: Seed = USER, *, key: Seed | None = None, issuer: Seed = ACCOUNT, **claims: object
) -> str:
    """The text of a creds file; ``key`` is the seed in it, if that is not the user's."""
    about = {"type": "user", "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}}
    return CREDS.format(jwt(issuer, user, about, **claims), (key or user).reveal())
