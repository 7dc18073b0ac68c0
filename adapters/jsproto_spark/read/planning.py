"""Plans a micro-batch: its end, and its split into tasks.

Theory. The core splits a range into equal numbers of sequences. If messages were deleted, or a
filter drops many, equal ranges mean very unequal work, and a gap of a million sequences makes tasks
that find nothing. So the driver asks the stream's leader for the next message after a sequence. A
batch and each of its parts then begin at a message, and no task is planned for a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jsproto.errors import InvalidConfig
from jsproto.jetstream.api.config.enums import RetentionPolicy
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.plan import RangeFacts, RangePart
from jsproto.wire.info import release_of

#: The first server version that answers direct gets in batches.
_BATCHES: Final = (2, 11)


def way(facts: RangeFacts, wished: ReadMode, version: str) -> ReadMode:
    """How to read a range: as the option says; ``auto`` prefers direct gets for a mirror.

    A mirror's origin would have to serve the consumers otherwise.

    Args:
        facts: the stream.
        wished: the option.
        version: the server's version.

    Raises:
        InvalidConfig: the stream or the server does not support this mode.
    """
    release = release_of(version)
    batches = release is None or release >= _BATCHES
    chosen = wished
    if wished is ReadMode.AUTO and facts.mirror and facts.allow_direct and batches:
        chosen = ReadMode.DIRECT
    chosen = facts.way(chosen)
    if chosen is ReadMode.DIRECT and not batches:
        raise InvalidConfig(
            "expected a server of 2.11 or newer, which answers direct gets in batches, "
            f"got {version}"
        )
    return chosen


#: The factor by which parts become smaller if there are too few, and the most attempts.
_NARROWER: Final = 4
_TRIES: Final = 12


def holes(facts: RangeFacts) -> bool:
    """Whether sequences are missing between the first and the last message."""
    return facts.messages < facts.last_seq + 1 - facts.first_seq


def there(
    parts: tuple[RangePart, ...], least: int, after: Callable[[int], int | None]
) -> tuple[RangePart, ...]:
    """The same range in parts that each begin with a message, without parts for gaps.

    Args:
        parts: the range, split into equal widths.
        least: the wanted number of parts, if there are enough messages; the result may have up to
            four times as many.
        after: returns the first message from a sequence on, ``None`` if there is none.
    """
    if len(parts) < 2:  # the task of a single part finds its first message itself
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
    """The sequence after the stream's last."""
    return facts.last_seq + 1


def vanished(lo: int, hi: int, facts: RangeFacts, *, filtered: bool) -> int | None:
    """Detect messages of ``[lo, hi)`` that were removed.

    A stream with only the newest message of each subject removes replaced messages. A stream that
    removes acknowledged messages also removes those of other readers. With filters these cases
    cannot be told from a loss, so they do not count.

    Returns:
        The first sequence that is left, ``None`` if no message was removed.
    """
    others = filtered and facts.retention != RetentionPolicy.LIMITS
    if facts.compacts or others or lo >= facts.first_seq:
        return None
    return min(facts.first_seq, hi)


def capped(
    start: int, end: int, facts: RangeFacts, *, most_messages: int | None, most_bytes: int | None
) -> int:
    """The end of a micro-batch that begins at ``start``.

    It is at most ``end``, and includes at least one message.

    Args:
        start: the first unread sequence.
        end: the end without limits.
        facts: the stream, for its first sequence and the mean size of its messages.
        most_messages: the most sequences, counted from the first that the stream still has.
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
