"""Ids for inboxes, messages and connections: 22 letters and digits, drawn from entropy that the
caller injects.

Theory. Two clients must never choose the same inbox, and nobody may guess one, so all 131 bits are
random; there is no counter that could go on in a forked process. The core has no randomness of its
own: the same entropy gives the same ids.
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
#: 256 bits for 131: no id is likelier than another by more than 2 to the power of -124, and one
#: draw is always enough.
_DRAWN: Final = 32


def nuid(entropy: Entropy) -> str:
    """A new id of 22 characters out of 62, from one draw of 32 bytes.

    Raises:
        LocalProtocolError: ``entropy`` gave another number of bytes than it was asked for.
    """
    drawn = entropy(_DRAWN)
    if len(drawn) != _DRAWN:
        raise LocalProtocolError(f"expected {_DRAWN} bytes of entropy, got {len(drawn)}")
    return _letters(int.from_bytes(drawn, "big"))


def derived(secret: str) -> str:
    """An id that is as unique as the text it is made of, and does not give it away.

    For names that others get to see, made of an inbox that they must not know.
    """
    return _letters(int.from_bytes(hashlib.sha256(secret.encode()).digest(), "big"))


def _letters(number: int) -> str:
    letters: list[str] = []
    for _ in range(LENGTH):
        number, digit = divmod(number, len(DIGITS))
        letters.append(DIGITS[digit])
    return "".join(letters)
