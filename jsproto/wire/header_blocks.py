"""Parse the header blocks of many messages at once, column by column.

Theory. The blocks of one publisher often have the same names in the same order; only the values
differ. :func:`pairs_of_all` joins such blocks, decodes them once and splits them into lines. The
lines at one position of all blocks begin with the same name. Splitting their joined text at that
name gives all values of the column.

As in `jsproto.wire.batch_parser`, the function assumes this form and then proves it. The first and
the last line of each block must be as expected. Each split must give one value for each block. No
line end or blank may stand at a wrong place. If a check fails, each block is parsed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, cast

from jsproto.wire.headers import MOST_LINES, Pairs, is_name, pairs_of

_HEAD: Final = "NATS/1.0"
#: Fewer blocks than this are parsed one by one.
_FEW: Final = 4


def pairs_of_all(blocks: Sequence[bytes | None]) -> list[Pairs]:
    """Return the names and values of each block in order; ``None`` gives an empty tuple.

    The result for a block equals that of ``pairs_of``.
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
    """Return the pairs of blocks of one form, or ``None`` if the forms differ."""
    count = len(blocks)
    text = b"".join(blocks).decode("utf-8", "surrogateescape")
    lines = text.split("\r\n")
    # The text ends with the last block, so the split gives one more, empty piece.
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
            return None  # blanks around a value do not belong to it
        columns.append(list(zip(repeat(name), values, strict=False)))
    return list(zip(*columns, strict=True)) if columns else [()] * count
