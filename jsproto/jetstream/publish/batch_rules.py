"""The rules for the messages of an atomic batch (2.12, ADR-50).

Theory. The server checks a batch when it is committed. It refuses the whole batch with the error
code of the first fault. The client checks everything that it can know from the batch alone when the
user offers a message. It refuses the message with the same code, and the batch continues without
it.

    10199   more messages than a batch may have
    10177   Nats-Expected-Last-Msg-Id, which no batch may use
    10201   an id that another message of the batch has
    10164   an expected last sequence of the stream on another message than the first,
            or of a subject that the batch has written to
    10111   a rollup of a subject that the batch has written to,
            or of the stream on another message than the first
"""

from __future__ import annotations

from typing import ClassVar, Final

from jsproto.core.state import PLAIN, Codecs, Snapshottable
from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.config.enums import Rollup
from jsproto.jetstream.api.publishing.options import (
    EXPECTED_LAST_MSG_ID,
    EXPECTED_LAST_SEQUENCE,
    EXPECTED_LAST_SUBJECT_SEQUENCE,
    EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT,
    ROLLUP,
    message_id,
)
from jsproto.wire.headers import Headers

BATCH_ID: Final = "Nats-Batch-Id"
BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
BATCH_COMMIT: Final = "Nats-Batch-Commit"
#: Most messages of one batch, unless the server is configured otherwise (``max_batch_size``).
MOST_MESSAGES: Final = 1000
_LONGEST_ID: Final = 64

_OURS: Final = {name.casefold() for name in (BATCH_ID, BATCH_SEQUENCE, BATCH_COMMIT)}
_NOTHING: Final = Headers()


def batch_name(batch_id: str) -> str:
    """Check the id of a batch by the rules of the server (10179).

    Raises:
        InvalidConfig: it is empty or too long.
        InvalidHeader: no header can carry it.
    """
    if (
        not isinstance(batch_id, str)
        or not 0 < len(batch_id.encode("utf-8", "replace")) <= _LONGEST_ID
    ):
        raise InvalidConfig(
            f"expected text of 1 to {_LONGEST_ID} bytes as batch_id,"
            f" got {shorten(batch_id)} (10179)"
        )
    Headers([(BATCH_ID, batch_id)])
    return batch_id


class BatchRules(Snapshottable):
    """The subjects and ids of a batch so far.

    Args:
        limit: most messages of the batch.

    Attributes:
        size: number of its messages.
    """

    __slots__ = ("_ids", "_limit", "_subjects", "size")

    STATE: ClassVar[Codecs] = {"_ids": PLAIN, "_subjects": PLAIN, "size": PLAIN}

    def __init__(self, limit: int = MOST_MESSAGES) -> None:
        self._limit = limit
        self._ids: dict[str, None] = {}
        self._subjects: dict[str, None] = {}
        self.size = 0

    def holds(self, subject: str) -> bool:
        """Tell whether the batch has a message with this subject."""
        return subject in self._subjects

    def take(self, subject: str, headers: Headers | None) -> None:
        """Check and note the next message.

        Raises:
            InvalidConfig: the server would refuse the batch because of it; nothing was noted.
        """
        if self.size >= self._limit:
            raise InvalidConfig(
                f"expected at most {self._limit} messages in a batch, this is one more (10199)"
            )
        asked = headers or _NOTHING
        ours = [name for name in asked if name.casefold() in _OURS]
        if ours:
            raise InvalidConfig(f"expected a message without {ours[0]}, which the batch writes")
        if asked.last(EXPECTED_LAST_MSG_ID) is not None:
            raise InvalidConfig(
                f"expected a message without {EXPECTED_LAST_MSG_ID} in a batch (10177)"
            )
        msg_id = message_id(asked)
        if msg_id in self._ids:
            raise InvalidConfig(
                "expected an id that no other message of the batch has,"
                f" got {shorten(msg_id)} (10201)"
            )
        self._expected(subject, asked)
        self._rolled_up(subject, asked.last(ROLLUP))
        self.size += 1
        self._subjects[subject] = None
        if msg_id is not None:
            self._ids[msg_id] = None

    def _expected(self, subject: str, asked: Headers) -> None:
        if self.size and asked.last(EXPECTED_LAST_SEQUENCE) is not None:
            raise InvalidConfig(
                f"expected {EXPECTED_LAST_SEQUENCE} on the first message of a batch only (10164)"
            )
        meant = asked.last(EXPECTED_LAST_SUBJECT_SEQUENCE_SUBJECT) or subject
        if asked.last(EXPECTED_LAST_SUBJECT_SEQUENCE) is not None and meant in self._subjects:
            raise InvalidConfig(
                f"expected no {EXPECTED_LAST_SUBJECT_SEQUENCE} of a subject that the batch"
                f" has written to, got {shorten(meant)} (10164)"
            )

    def _rolled_up(self, subject: str, rollup: str | None) -> None:
        if rollup is None:
            return
        whole = rollup.lower() == Rollup.ALL
        if self.size if whole else subject in self._subjects:
            raise InvalidConfig(
                f"expected {ROLLUP} {rollup!r} on the first message of a"
                f" batch{'' if whole else ' on its subject'} only (10111)"
            )
