"""The one place that signs: Ed25519 by PyNaCl, which the extra ``nkeys`` brings. Nothing else imports it.

Whoever has no use for keys need not have it, so that it is missing is said when credentials are made that need it.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Final, final

from jsproto.errors import CredentialsUnavailable
from jsproto.wire.nkey import PublicKey, Seed

INSTALLED: Final = importlib.util.find_spec("nacl") is not None

if TYPE_CHECKING or INSTALLED:
    from nacl.signing import SigningKey


def check_signing() -> None:
    """Say it early if nothing here could sign.

    Raises:
        CredentialsUnavailable: PyNaCl is not installed.
    """
    if not INSTALLED:
        raise CredentialsUnavailable(
            "expected PyNaCl, which signs with nkeys, it is not installed: install nats-jsproto[nkeys]"
        )


@final
class KeyPair:
    """What a seed makes.

    Attributes:
        public: the public key.
    """

    __slots__ = ("_key", "public")

    def __init__(self, seed: Seed) -> None:
        check_signing()
        self._key = SigningKey(seed.raw)
        self.public = PublicKey(seed.kind, bytes(self._key.verify_key))

    def sign(self, data: bytes) -> bytes:
        """The signature: 64 raw bytes."""
        return self._key.sign(data).signature
