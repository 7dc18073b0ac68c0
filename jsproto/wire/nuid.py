"""Create ids of 22 letters and digits for inboxes, messages and connections.

Theory. Two clients must never choose the same inbox, and no other party may guess one. Therefore
all 131 bits are random. There is no counter, because a forked process would continue it. The core
has no randomness of its own: the caller passes the entropy, and the same entropy gives the same
ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, TypeAlias

from jsproto.errors.tree import LocalProtocolError

#: ``entropy(n)`` gives n random bytes, as ``os.urandom`` does.
Entropy: TypeAlias = Callable[[int], bytes]

DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LENGTH: Final = 22
#: Bytes of one draw: 256 bits for an id of 131 bits. The probabilities of two ids differ by at most
#: 2 to the power of -124, and one draw is always enough.
_DRAWN: Final = 32


def nuid(entropy: Entropy) -> str:
    """Return a new id of 22 characters out of 62, from one draw of 32 bytes.

    Raises:
        LocalProtocolError: ``entropy`` returned another number of bytes than it was asked for.
    """
    drawn = entropy(_DRAWN)
    if len(drawn) != _DRAWN:
        raise LocalProtocolError(f"expected {_DRAWN} bytes of entropy, got {len(drawn)}")
    return _letters(int.from_bytes(drawn, "big"))


def derived(secret: str) -> str:
    """Return an id that is as unique as ``secret`` and does not reveal it.

    It is for names that other clients see, when they are made from an inbox that must stay secret.
    """
    return _letters(int.from_bytes(hashlib.sha256(secret.encode()).digest(), "big"))


def _letters(number: int) -> str:
    letters: list[str] = []
    for _ in range(LENGTH):
        number, digit = divmod(number, len(DIGITS))
        letters.append(DIGITS[digit])
    return "".join(letters)
