"""What the leader of a stream says: the stream as it is now, and whether it has more of a range.

Theory. A replica may lag behind the leader, so what it does not have proves nothing. The leader of
the stream alone answers STREAM.MSG.GET and STREAM.INFO (SPARK 5.4). Asked for the next message from
a sequence on, it answers with one behind the range, or that there is none: then the range is at its
end. The order matters: the beginning of the stream is asked for last, so that it is not older than
what the other answers say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jsproto.core.conversation.procedure import Steps
from jsproto.jetstream.api.errors import MessageNotFound
from jsproto.jetstream.api.requests.manage import stream_info
from jsproto.jetstream.api.requests.messages import MessageSelector, stored_message
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.range_read.plan import RangeFacts


class LeaderCheck(NamedTuple):
    """What the leader said.

    Attributes:
        facts: of the stream, as it is now.
        more: a sequence of the range that it has, 0 for none, or if it was not asked.
    """

    facts: RangeFacts
    more: int


def look(
    api: ApiSubjects, stream: str, start: int, end: int, *, subjects: Sequence[str], timeout: float
) -> Steps[LeaderCheck]:
    """Ask the leader.

    Args:
        api: where.
        stream: the stream.
        start: from this sequence on.
        end: the first that is of no interest; nothing is sought if it is ``start``.
        subjects: what is of interest.
        timeout: seconds for each answer.

    Raises:
        StreamNotFound: it is not there.
    """
    more = 0
    for subject in (subjects or (">",)) if start < end else ():
        try:
            found = yield from stored_message(
                api, stream, MessageSelector(seq=start, next_by_subj=subject), timeout=timeout
            )
        except MessageNotFound:
            continue
        if found.seq < end:
            more = found.seq
            break
    info = yield from stream_info(api, stream, timeout=timeout)
    return LeaderCheck(RangeFacts.of(info), more)
