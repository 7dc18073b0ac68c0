"""Subjects that the server let no publish through to.

Theory. A server refuses a publish behind its back: nothing is answered, and some time later a
``-ERR`` names the subject. Whoever published may be gone by then, or keep nothing about what it
sent. So the connection notes the subject, and who wants to know what became of something that it
wrote asks here. Noting costs something only where a publish is refused.

At most `MOST` are kept; the oldest gives way, since nobody may ever ask for it.
"""

from __future__ import annotations

from typing import Final

#: More than a consume has at hand by default, and some hundred bytes each.
MOST: Final = 8192


class Denied:
    """The newest subjects of refused publishes, each until somebody has asked for it."""

    __slots__ = ("_subjects",)

    def __init__(self) -> None:
        self._subjects: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._subjects)

    def __contains__(self, subject: str) -> bool:
        return subject in self._subjects

    def add(self, subject: str) -> None:
        """The server refused a publish to this subject."""
        self._subjects[subject] = None
        if len(self._subjects) > MOST:
            del self._subjects[next(iter(self._subjects))]

    def take(self, subject: str) -> bool:
        """Whether a publish to this subject was refused since this was last asked."""
        return self._subjects.pop(subject, self) is None
