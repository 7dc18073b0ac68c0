"""Many messages of one form at once: a whole segment is read by columns instead of line by line.

Theory. Under load a read gives hundreds of messages that differ in nothing but their words: no
headers, small payloads, all with a reply or all without. Such a segment is cut at every CR LF, so
that lines and payloads alternate; the lines are joined, decoded and cut into words together; and
each column of words (subjects, sids, replies, sizes) is one slice. No step of ours is taken for a
single message, which makes it three times as fast as the loop of the parser.

It is a guess that proves itself, or is dropped. Lines are joined by a CR, so the last word of one
and the first of the next are one text, a size and ``MSG`` with a CR between: finding every one of
them in a table of such texts, while there is no other CR and there are as many words as there must
be, says that each line has just its words and that each size is a number. And if every size is the
length of the piece behind its line, then every payload is whole and ends with CR LF, and every line
begins where the payload before it ended. Whatever does not fit (a payload with CR LF in it,
headers, a status, a PING, damage) makes no difference to anybody: the loop reads the segment, as if
nobody had guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Final

from jsproto.wire.frames import Delivery

#: A segment must be so long before guessing pays.
WORTH: Final = 2048
#: So many bytes are cut at once, into so many pieces at most: nobody can send what takes much
#: memory.
SPAN: Final = 262_144
MOST: Final = 8192
#: Sizes behind a line, with what begins the next one.
_SIZES: Final = {f"{number}\rMSG": number for number in range(2049)}
_FIRST: Final = frozenset(b"%d" % number for number in range(2049))
#: Words behind the first of a line without and with a reply.
_FORMS: Final = (3, 4)


def read(
    data: bytes, pos: int, *, max_line: int, max_payload: int, is_sid: Callable[[str], bool]
) -> tuple[list[Delivery], int] | None:
    """The messages from ``pos`` on and the position behind them, or ``None`` if what is there is
    not of this form.

    Args:
        data: a line begins at ``pos``; the last message may end outside, it is left to the caller.
        pos: where to begin.
        max_line: most bytes before an LF.
        max_payload: most bytes of a payload.
        is_sid: whether a text may be a sid.
    """
    first = data[pos : max(0, data.find(b"\r\n", pos, pos + max_line + 1))]
    width = first.count(b" ")
    if width not in _FORMS or first[first.rfind(b" ") + 1 :] not in _FIRST:
        return None  # before anything is copied
    span = data[pos : pos + SPAN]
    pieces = span.split(b"\r\n", MOST)
    count = (len(pieces) - 1) // 2
    rest = pieces[2 * count :]
    lines = pieces[0 : 2 * count : 2]
    payloads = pieces[1 : 2 * count : 2]
    joined = b"\r".join(lines)
    if joined.count(b"\r") != count - 1 or b"\n" in joined or b"\t" in joined:
        return None
    try:
        words = (joined.decode() + "\rMSG").split(" ")
        sizes = [_SIZES[text] for text in words[width::width]]
    except (UnicodeDecodeError, KeyError):
        return None
    subjects, sids = words[1::width], words[2::width]
    sound = (
        words[0] == "MSG"
        and len(words) == width * count + 1
        and sizes == list(map(len, payloads))
        and all(subjects)
        and all(map(is_sid, set(sids)))
        and max(sizes) <= max_payload
        and max(map(len, lines)) < max_line
    )
    if not sound:
        return None
    replies = words[3::width] if width == 4 else repeat("")
    behind = pos + len(span) - len(b"\r\n".join(rest))
    return list(zip(sids, subjects, replies, repeat(None), payloads)), behind
