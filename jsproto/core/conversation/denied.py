"""The subjects of publishes that the server refused.

Theory. A server does not answer a refused publish. Some time later a ``-ERR`` names its subject.
The publisher may be gone by then, or may keep nothing about its messages. Therefore the connection
notes the subject, and a publisher asks here whether its message was refused. The cost is only paid
when a publish is refused.

At most `MOST` subjects are kept. The oldest is dropped first, because it may never be asked for.
"""

from __future__ import annotations

from typing import Final

#: More than a consume buffers by default; each takes some hundred bytes.
MOST: Final = 8192


class Denied:
    """The newest subjects of refused publishes; each is kept until it was asked for."""

    __slots__ = ("_subjects",)

    def __init__(self) -> None:
        self._subjects: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._subjects)

    def __contains__(self, subject: str) -> bool:
        return subject in self._subjects

    def add(self, subject: str) -> None:
        """Note that the server refused a publish to this subject."""
        self._subjects[subject] = None
        if len(self._subjects) > MOST:
            del self._subjects[next(iter(self._subjects))]

    def take(self, subject: str) -> bool:
        """Tell whether a publish to this subject was refused since the last call."""
        return self._subjects.pop(subject, self) is None
