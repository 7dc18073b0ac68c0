"""Ids that a server makes and a client says back: recorded ones become the model's.

The pin of a priority group and the subject on which flow control waits for its answer are chance,
and a recorded client repeats the ones that it heard. Both sides are watched for ids of each kind;
the n-th that the recorded server made stands for the n-th of the model. They are as long as each
other, so no size changes.
"""

from __future__ import annotations

import re
from typing import Final

_KINDS: Final = (re.compile(rb"Nats-Pin-Id: (\w+)"), re.compile(rb"(\$JS\.FC\.[^\s\r]+)"))


class Ids:
    """The ids of one play."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, list[dict[bytes, None]]] = {
            side: [{} for _ in _KINDS] for side in ("recorded", "modelled")
        }

    def heard(self, side: str, data: bytes) -> None:
        """Bytes of one of the two servers."""
        for kind, pattern in enumerate(_KINDS):
            for found in pattern.findall(data):
                self._seen[side][kind].setdefault(found)

    def said(self, data: bytes) -> bytes:
        """Bytes of the client, as the model has to hear them."""
        for recorded, modelled in zip(self._seen["recorded"], self._seen["modelled"], strict=True):
            for theirs, ours in zip(recorded, modelled, strict=False):
                data = data.replace(theirs, ours)
        return data
