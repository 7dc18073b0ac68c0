"""The headers of many messages at once: blocks of one form are read by columns instead of line by
line.

Theory. What one publisher writes looks alike: the same names in the same order, only values differ.
Such blocks are joined, decoded and cut into lines together; the lines of one place in all blocks
begin with the same name, so cutting all of them at that name gives all its values. As in
`jsproto.wire.batch_parser` it is a guess that proves itself: the first and the last line of each
block are what they must be, each cut gives as many values as there are blocks, and there is no line
end or blank where none may be. Whatever does not fit is read block by block, as if nobody had
guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, cast

from jsproto.wire.headers import MOST_LINES, Pairs, is_name, pairs_of

_HEAD: Final = "NATS/1.0"
#: So few blocks are not worth a guess.
_FEW: Final = 4


def pairs_of_all(blocks: Sequence[bytes | None]) -> list[Pairs]:
    """Names and values of each block in order: what ``pairs_of`` gives for it, and nothing for
    ``None``.
    """
    if len(blocks) >= _FEW and None not in blocks:
        found = _by_columns(cast("Sequence[bytes]", blocks))
        if found is not None:
            return found
    known: dict[bytes | None, Pairs] = {None: ()}
    pairs: list[Pairs] = []
    for block in blocks:
        if block not in known and block is not None:
            known[block] = pairs_of(block)
        pairs.append(known[block])
    return pairs


def _by_columns(blocks: Sequence[bytes]) -> list[Pairs] | None:
    """The pairs of blocks, or ``None`` if they are not of one form."""
    count = len(blocks)
    text = b"".join(blocks).decode("utf-8", "surrogateescape")
    lines = text.split("\r\n")
    # The last block ends with the text: behind its last line there is one piece more.
    width, odd = divmod(len(lines) - 1, count)
    if (
        odd
        or width < 2
        or width - 2 > MOST_LINES
        or text.count("\n") != len(lines) - 1
        or text.count("\r") != len(lines) - 1
    ):
        return None
    heads, ends = lines[0 : count * width : width], lines[width - 1 :: width]
    tails = [block[-4:] for block in blocks]
    if heads.count(_HEAD) != count or ends.count("") != count or tails.count(b"\r\n\r\n") != count:
        return None
    columns: list[Sequence[tuple[str, str]]] = []
    for at in range(1, width - 1):
        column = lines[at::width]
        name, colon, _ = column[0].partition(": ")
        begin = f"\n{name}: "
        values = ("\n" + "\n".join(column)).split(begin)[1:]
        if not colon or len(values) != count or not is_name(name):
            return None
        if list(map(str.strip, values)) != values:
            return None  # blanks around a value are no part of it
        columns.append(list(zip(repeat(name), values, strict=False)))
    return list(zip(*columns, strict=True)) if columns else [()] * count
