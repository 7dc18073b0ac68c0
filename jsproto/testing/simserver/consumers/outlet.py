"""What a consumer may do to the world outside, the words of its way out, and what of that world it
has to know.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.profile import Profile


class Outlet(Protocol):
    """The way out of a consumer."""

    def deliver(
        self, inbox: str, subject: str, reply: str, block: bytes | None, payload: bytes
    ) -> None:
        """Send a message with its own subject to whoever listens on ``inbox``."""

    def say(self, inbox: str, block: bytes | None, payload: bytes = b"") -> None:
        """Send something of the server's own to ``inbox``."""

    def ask(self, inbox: str, block: bytes, reply: str) -> None:
        """Send something of the server's own to ``inbox``, to be answered on ``reply``."""

    def interested(self, inbox: str) -> bool:
        """Whether anybody listens on ``inbox``."""
        ...

    def bound(self, subject: str, queue: str) -> bool:
        """Whether somebody listens on exactly this subject, as a member of ``queue`` if one is
        named.
        """
        ...

    def advise(self, subject: str, kind: str, members: Table, now: int) -> None:
        """Publish an advisory or a metric."""

    def name(self, length: int) -> str:
        """An id of so many letters and digits that nobody has."""
        ...


class Surroundings(NamedTuple):
    """The server around a consumer: its way out, the ways of its version, and the form of its
    acknowledgement subjects.

    ``v2`` is the form with ``domain`` and account in front.
    """

    outlet: Outlet
    profile: Profile
    v2: bool
    domain: str
