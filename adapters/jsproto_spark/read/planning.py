"""How far a micro-batch goes and how it is cut into tasks: arithmetic on what the stream says of
itself.

Theory. The core's plan cuts a range by its width in sequences. Where messages were deleted, or
filters let few through, equal widths hold very unequal work, and a hole of a million sequences
makes tasks that find nothing. What is there is asked of the stream's leader, which knows the next
message behind a sequence. So a batch and each of its parts begin at a message, and nothing is
planned for a hole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.enums import RetentionPolicy
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts, RangePart
from jsproto.wire.info import release_of

#: The first server that answers direct gets in batches.
_BATCHES: Final = (2, 11)


def way(facts: RangeFacts, wished: ReadMode, version: str) -> ReadMode:
    """How a range is read: as wished, and without a wish a mirror directly if that can be; its
    origin has consumers enough.

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
    if wished is ReadMode.AUTO and facts.mirror and facts.allow_direct and batches:
        chosen = ReadMode.DIRECT
    chosen = facts.way(chosen)
    if chosen is ReadMode.DIRECT and not batches:
        raise InvalidConfig(
            f"expected a server of 2.11 or newer, which answers direct gets in batches, got {version}"
        )
    return chosen


#: How much narrower parts become if there are too few of them, and how often that is tried.
_NARROWER: Final = 4
_TRIES: Final = 12


def holes(facts: RangeFacts) -> bool:
    """Whether sequences are missing between the first and the last message."""
    return facts.messages < facts.last_seq + 1 - facts.first_seq


def there(
    parts: tuple[RangePart, ...], least: int, after: Callable[[int], int | None]
) -> tuple[RangePart, ...]:
    """The same range in parts that each begin with a message: nothing is planned for what is not
    there.

    Args:
        parts: the range, cut by width.
        least: so many parts there should be, if there are so many messages; it may be up to four
            times as many.
        after: the first message from a sequence on, ``None`` if there is none.
    """
    if len(parts) < 2:  # one part finds out by itself
        return parts
    lo, hi = parts[0].lo, parts[-1].hi
    width = max(map(len, parts))
    found = _walked(lo, hi, width, after)
    for _ in range(_TRIES):
        if not found or len(found) >= least or width == 1:
            break
        width = max(1, width // _NARROWER)
        found = _walked(found[0].lo, hi, width, after)
    return found


def _walked(
    lo: int, hi: int, width: int, after: Callable[[int], int | None]
) -> tuple[RangePart, ...]:
    found: list[RangePart] = []
    while lo < hi and (seq := after(lo)) is not None and seq < hi:
        lo = min(seq + width, hi)
        found.append(RangePart(seq, lo))
    return tuple(found)


def behind(facts: RangeFacts) -> int:
    """The sequence behind the stream's last."""
    return facts.last_seq + 1


def vanished(lo: int, hi: int, facts: RangeFacts, *, filtered: bool) -> int | None:
    """The first sequence that is still there, if messages of ``[lo, hi)`` before it have vanished;
    ``None`` if none has.

    A stream that keeps only the newest of each subject moves its beginning over what was replaced,
    and one that lets go of what was acknowledged moves it over what was meant for others; with
    filters nobody can tell that from a loss.
    """
    others = filtered and facts.retention != RetentionPolicy.LIMITS
    if facts.compacts or others or lo >= facts.first_seq:
        return None
    return min(facts.first_seq, hi)


def capped(
    start: int, end: int, facts: RangeFacts, *, most_messages: int | None, most_bytes: int | None
) -> int:
    """Where a micro-batch from ``start`` ends: not before it, not behind ``end``, and at least one
    message on.

    Args:
        start: the first sequence that is not read.
        end: the end without limits.
        facts: the stream, for its first sequence and the mean size of its messages.
        most_messages: most sequences, counted from the first that the stream still has, since
            nothing is read before it.
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
