"""Atomic batches: messages that are stored together or not at all (ADR-50).

Members are held aside under the batch's id, in order, until one commits; then all are checked,
against the stream and each other, and stored. A gap, a bad value or ten seconds of silence abandon
the batch, which an advisory tells (nats-server ``processJetStreamAtomicBatchMsg``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jsproto.testing.simserver.values.gotime import SECOND
from jsproto.testing.simserver.values.headers import header, number
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError, numbered

_MOST_MESSAGES: Final = 1000
_MOST_BATCHES: Final = 50
_MOST_ID: Final = 64
_SILENCE: Final = 10 * SECOND


class BatchMessage(NamedTuple):
    """One message of a batch."""

    subject: str
    block: bytes
    payload: bytes


class DroppedBatch(NamedTuple):
    """A batch that will not be: its id, and why."""

    ident: str
    reason: str


class _Batch:
    __slots__ = ("heard_at", "members")

    def __init__(self) -> None:
        self.members: list[BatchMessage] = []
        self.heard_at = 0


class Batches:
    """The batches of one stream that are open."""

    __slots__ = ("_open", "_profile", "abandoned")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._open: dict[bytes, _Batch] = {}
        #: What has to be told, and was not yet.
        self.abandoned: list[DroppedBatch] = []

    def add(self, ident: bytes, member: BatchMessage, now: int) -> list[BatchMessage] | None:
        """A member came; answers all of them if it commits.

        Raises:
            RefusedError: it does not fit; the batch, if there was one, is gone.
        """
        block = member.block
        if len(ident) > _MOST_ID:
            raise RefusedError(numbered(10179))
        seq = number(block, b"Nats-Batch-Sequence")
        if seq is None:
            raise RefusedError(numbered(10175))
        commit = header(block, b"Nats-Batch-Commit")
        at_end = commit == b"eob" and self._profile.batch_end
        size = seq - (at_end and not self._profile.batch_end_counts)
        batch = self._open.get(ident)
        if batch is None:
            if seq != 1:
                raise RefusedError(
                    numbered(10199, _MOST_MESSAGES) if size > _MOST_MESSAGES else numbered(10176)
                )
            if len(self._open) >= _MOST_BATCHES:
                raise RefusedError(numbered(10210))
            batch = self._open[ident] = _Batch()
        if commit is not None and commit != b"1" and not at_end:
            del self._open[ident]
            raise RefusedError(numbered(10200))
        batch.heard_at = now
        if seq != len(batch.members) + 1 or (seq == 1 and at_end):
            self._abandon(ident, "incomplete")
            raise RefusedError(numbered(10176))
        if size > _MOST_MESSAGES:
            self._abandon(ident, "large")
            raise RefusedError(numbered(10199, _MOST_MESSAGES))
        if not at_end:
            batch.members.append(member)
        if commit is None:
            return None
        del self._open[ident]
        return batch.members

    def _abandon(self, ident: bytes, reason: str) -> None:
        del self._open[ident]
        self.abandoned.append(DroppedBatch(ident.decode("utf-8", "replace"), reason))

    def deadline(self) -> int | None:
        """When the first batch will have been silent for too long."""
        if not self._open:
            return None
        return min(batch.heard_at + _SILENCE for batch in self._open.values())

    def ticked(self, now: int) -> None:
        """Abandon what has been silent for too long."""
        for ident in [
            ident for ident, batch in self._open.items() if batch.heard_at + _SILENCE <= now
        ]:
            self._abandon(ident, "timeout")
