"""The one place that signs: Ed25519 by PyNaCl, which the extra ``nkeys`` brings, or by
cryptography, where that is installed instead.

Both make the same signatures. Nothing else imports them. Whoever has no use for keys need not have
either, so that both are missing is said when credentials are made that need one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from jsproto.errors import CredentialsUnavailable
from jsproto.wire.nkey import PublicKey, Seed

_NACL: Final = importlib.util.find_spec("nacl") is not None
_CRYPTOGRAPHY: Final = importlib.util.find_spec("cryptography") is not None
INSTALLED: Final = _NACL or _CRYPTOGRAPHY

if TYPE_CHECKING or _NACL:
    from nacl.signing import SigningKey
if TYPE_CHECKING or (_CRYPTOGRAPHY and not _NACL):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def check_signing() -> None:
    """Say it early if nothing here could sign.

    Raises:
        CredentialsUnavailable: neither PyNaCl nor cryptography is installed.
    """
    if not INSTALLED:
        raise CredentialsUnavailable(
            "expected PyNaCl or cryptography, which sign with nkeys, neither is installed: install nats-jsproto[nkeys]"
        )


@final
class KeyPair:
    """What a seed makes.

    Attributes:
        public: the public key.
        sign: gives the signature of some data, 64 raw bytes.
    """

    __slots__ = ("public", "sign")

    def __init__(self, seed: Seed) -> None:
        check_signing()
        public, self.sign = _by_nacl(seed.raw) if _NACL else _by_cryptography(seed.raw)
        self.public = PublicKey(seed.kind, public)


def _by_nacl(raw: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    key = SigningKey(raw)
    return bytes(key.verify_key), lambda data: key.sign(data).signature


def _by_cryptography(raw: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    key = Ed25519PrivateKey.from_private_bytes(raw)
    return key.public_key().public_bytes_raw(), key.sign
