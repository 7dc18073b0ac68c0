"""How far a micro-batch goes: arithmetic on what the stream says of itself. How a range is cut into tasks says the core's plan."""

from __future__ import annotations

from typing import Final

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.enums import RetentionPolicy
from jsproto.jetstream.range_options import Way
from jsproto.jetstream.range_plan import RangeFacts
from jsproto.wire.info import release_of

#: The first server that answers direct gets in batches.
_BATCHES: Final = (2, 11)


def way(facts: RangeFacts, wished: Way, version: str) -> Way:
    """How a range is read: as wished, and without a wish a mirror directly if that can be; its origin has consumers enough.

    Args:
        facts: the stream.
        wished: what the option says.
        version: the server's.

    Raises:
        InvalidConfig: it cannot be read in this way.
    """
    release = release_of(version)
    batches = release is None or release >= _BATCHES
    chosen = wished
    if wished is Way.AUTO and facts.mirror and facts.allow_direct and batches:
        chosen = Way.DIRECT
    chosen = facts.way(chosen)
    if chosen is Way.DIRECT and not batches:
        raise InvalidConfig(
            f"expected a server of 2.11 or newer, which answers direct gets in batches, seen {version}"
        )
    return chosen


def behind(facts: RangeFacts) -> int:
    """The sequence behind the stream's last."""
    return facts.last_seq + 1


def vanished(lo: int, hi: int, facts: RangeFacts, *, filtered: bool) -> int | None:
    """The first sequence that is still there, if messages of ``[lo, hi)`` before it have vanished; ``None`` if none has.

    A stream that keeps only the newest of each subject moves its beginning over what was replaced, and one that lets go of what was
    acknowledged moves it over what was meant for others; with filters nobody can tell that from a loss.
    """
    others = filtered and facts.retention != RetentionPolicy.LIMITS
    if facts.compacts or others or lo >= facts.first_seq:
        return None
    return min(facts.first_seq, hi)


def capped(
    start: int, end: int, facts: RangeFacts, *, most_messages: int | None, most_bytes: int | None
) -> int:
    """Where a micro-batch from ``start`` ends: not before it, not behind ``end``, and at least one message on.

    Args:
        start: the first sequence that is not read.
        end: the end without limits.
        facts: the stream, for its first sequence and the mean size of its messages.
        most_messages: most sequences, counted from the first that the stream still has, since nothing is read before it.
        most_bytes: about the most bytes.
    """
    begin = max(start, min(facts.first_seq, end))
    stop = end
    if most_messages is not None:
        stop = min(stop, begin + most_messages)
    if most_bytes is not None and facts.messages:
        mean = max(1, facts.bytes // facts.messages)
        stop = min(stop, begin + max(1, most_bytes // mean))
    return max(start, stop)
