"""Nkeys: Ed25519 keys as text, in the format of nats-server and its tools.

Theory. The text of a key is base32 without padding of a prefix, 32 raw bytes and a CRC-16 (XMODEM,
low byte first). The prefix makes the first letter: ``U`` for a user, ``A`` for an account. A seed
has two prefixes of five bits each in two bytes: ``S``, and the prefix of its public key. So
``SU...`` is the seed of a user. A public key has 56 characters. A seed has 58; its last two bits
have no meaning and must be zero, so that each key has one text only.

This module computes no signatures; a signer takes the raw seed. Sources: nkeys ``README.md`` and
``strkey.go``.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from binascii import crc_hqx
from collections.abc import Mapping
from enum import Enum
from typing import Final, final

from attrs import Attribute, field, frozen

from jsproto.errors.tree import InvalidCredentials
from jsproto.wire.secret import RedactedSecret, as_secret_bytes


class KeyKind(Enum):
    """The kind of party that owns a key."""

    ACCOUNT = "ACCOUNT"
    CLUSTER = "CLUSTER"
    CURVE = "CURVE"
    OPERATOR = "OPERATOR"
    SERVER = "SERVER"
    USER = "USER"


#: The first letter of a key's text, which its five-bit prefix encodes.
LETTERS: Final[Mapping[KeyKind, str]] = {
    KeyKind.ACCOUNT: "A",
    KeyKind.CLUSTER: "C",
    KeyKind.CURVE: "X",
    KeyKind.OPERATOR: "O",
    KeyKind.SERVER: "N",
    KeyKind.USER: "U",
}

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PREFIXES: Final[Mapping[KeyKind, int]] = {
    kind: _ALPHABET.index(letter.encode()) for kind, letter in LETTERS.items()
}
_KINDS: Final = {prefix: kind for kind, prefix in _PREFIXES.items()}
_SEED: Final = _ALPHABET.index(b"S")

RAW: Final = 32
PUBLIC_LENGTH: Final = 56
SEED_LENGTH: Final = 58


def _raw(_self: object, _attribute: Attribute[bytes], value: bytes) -> None:
    if not isinstance(value, bytes) or len(value) != RAW:
        raise InvalidCredentials(f"expected {RAW} raw bytes of a key, got {_size(value)}")


@final
@frozen
class PublicKey:
    """A public key. ``str`` gives its text, which is public too.

    Raises:
        InvalidCredentials: ``raw`` is not 32 bytes.
    """

    kind: KeyKind
    raw: bytes = field(validator=_raw)

    @classmethod
    def parse(cls, text: str | bytes) -> PublicKey:
        """Parse the text of a public key.

        Raises:
            InvalidCredentials: the text is not a public key.
        """
        data = _decoded(text, PUBLIC_LENGTH, "a public nkey")
        prefix, rest = divmod(data[0], 8)
        if prefix not in _KINDS or rest:
            raise InvalidCredentials(f"expected a public nkey that begins with one of {_letters()}")
        return cls(_KINDS[prefix], data[1:])

    def __str__(self) -> str:
        return _encoded(bytes((_PREFIXES[self.kind] << 3,)) + self.raw)


@final
@frozen
class Seed(RedactedSecret):
    """A seed, which determines the whole key pair. Only `reveal` shows it.

    Raises:
        InvalidCredentials: ``raw`` is not 32 bytes.
    """

    kind: KeyKind
    raw: bytes = field(converter=as_secret_bytes, repr=False, validator=_raw)

    @classmethod
    def parse(cls, text: str | bytes) -> Seed:
        """Parse the text of a seed.

        Raises:
            InvalidCredentials: the text is not a seed. The message shows nothing of the text.
        """
        data = _decoded(text, SEED_LENGTH, "the seed of an nkey")
        both = data[0] << 8 | data[1]
        prefix, rest = (both >> 6) & 31, both & 63
        if both >> 11 != _SEED or rest or prefix not in _KINDS:
            raise InvalidCredentials(
                f"expected the seed of an nkey, which begins with S and one of {_letters()}"
            )
        return cls(_KINDS[prefix], data[2:])

    def reveal(self) -> str:
        """Return the text of the seed. Write it only to a file that nobody else can read."""
        both = _SEED << 11 | _PREFIXES[self.kind] << 6
        return _encoded(both.to_bytes(2, "big") + self.raw)


def _encoded(data: bytes) -> str:
    return b32encode(data + crc_hqx(data, 0).to_bytes(2, "little")).rstrip(b"=").decode("ascii")


def _decoded(text: str | bytes, length: int, what: str) -> bytes:
    """Return prefix and raw bytes. No error shows the text, not even as its context."""
    if not isinstance(text, (str, bytes)):
        raise InvalidCredentials(f"expected {what} as text, got {type(text).__name__}")
    said = text.encode("ascii", "replace") if isinstance(text, str) else text
    if len(said) != length:
        raise InvalidCredentials(f"expected {length} characters as {what}, got {len(said)}")
    if said.translate(None, _ALPHABET):
        raise InvalidCredentials(f"expected only A to Z and 2 to 7 in {what}, got other characters")
    data = b32decode(said + b"=" * (-length % 8))
    if b32encode(data).rstrip(b"=") != said:
        raise InvalidCredentials(f"expected zeros in the last bits of {what}, got others")
    if crc_hqx(data[:-2], 0) != int.from_bytes(data[-2:], "little"):
        raise InvalidCredentials(
            f"expected a checksum that fits {what}, got another: a character is wrong"
        )
    return data[:-2]


def _letters() -> str:
    return ", ".join(sorted(LETTERS.values()))


def _size(value: object) -> str:
    return str(len(value)) if isinstance(value, bytes) else type(value).__name__
