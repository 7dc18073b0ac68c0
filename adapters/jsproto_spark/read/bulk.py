"""Parses the reply subjects and header blocks of a whole batch with Arrow, in a few steps.

Theory. The core parses them run by run and makes an object of each value, which Arrow then copies
into a column. If all messages of a batch have one form, the columns can be made without objects.
Reply subjects with a common prefix are a table of numbers separated by dots. Header blocks with the
same names are one text in which only the values differ.

The assumption is checked, as in `jsproto.wire.header_blocks`: without digits all lines of the table
are equal, and without values all blocks are equal. If the check fails, the result is ``None`` and
the core parses them. A result is always equal to that of the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import pyarrow as pa
from pyarrow import csv

from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.wire.headers import pairs_of

#: The numbers of a reply subject, in their order.
NUMBERS: Final = (
    "num_delivered",
    "stream_sequence",
    "consumer_sequence",
    "timestamp_ns",
    "num_pending",
)

_LINE: Final = b"....\n"
_DIGITS: Final = b"0123456789"
_READ: Final = csv.ReadOptions(use_threads=False, column_names=list(NUMBERS))
_DOTS: Final = csv.ParseOptions(delimiter=".", quote_char=False)
_TYPES: Final = csv.ConvertOptions(column_types=dict.fromkeys(NUMBERS, pa.int64()), null_values=[])

#: The largest Arrow offset.
_MOST: Final = 2**31 - 1
#: A value whose first and last byte lie between these has no blank around it, by any definition of
#: blank.
_BLANK: Final = 0x20
_ASCII: Final = 0x7F


def numbers(replies: Sequence[str]) -> pa.Table | None:
    """The columns `NUMBERS` of reply subjects; ``None`` if these differ in anything else."""
    try:
        first = AckSubject.parse(replies[0])
    except InvalidAckSubject:
        return None
    begin = replies[0].removesuffix(".".join(str(getattr(first, name)) for name in NUMBERS))
    text = "\n" + "\n".join(replies)
    table = text.replace("\n" + begin, "\n")[1:].encode()
    count = len(replies)
    alike = len(text) - 1 - len(table) == len(begin) * count
    if not alike or table.translate(None, _DIGITS) != (_LINE * count)[:-1]:
        return None
    try:
        return csv.read_csv(pa.BufferReader(table), _READ, _DOTS, _TYPES)
    except pa.ArrowInvalid:  # no number, or too large for any column of Spark
        return None


def headers(blocks: Sequence[bytes | None]) -> tuple[list[str], pa.Array] | None:
    """The header names, and the values of all blocks in order.

    Returns:
        ``None`` unless each block has the same names, and no value is empty or has a blank around
        it.
    """
    if None in blocks:
        return None
    sound = cast("Sequence[bytes]", blocks)
    names = [name for name, _ in pairs_of(sound[0])]
    begins = [f"{name}: ".encode() for name in names]
    text, count, width = b"".join(sound), len(sound), len(names) + 2
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if (
        not names
        or len(text) > _MOST
        or len(ends) != width * count
        or text.count(b"\r") != len(ends)
    ):
        return None
    lines = ends.reshape(count, width)
    behind = lines[:, -1]
    if not np.array_equal(behind, np.cumsum(list(map(len, sound)))):
        return None
    # The start of each piece of the text: the part before a value, the value, and so on up to the
    # end of the block.
    pieces = np.empty((count, 2 * len(names) + 1), np.int32)
    pieces[0, 0] = 0
    pieces[1:, 0] = behind[:-1]
    pieces[:, 1::2] = lines[:, :-2] + list(map(len, begins))
    pieces[:, 2::2] = lines[:, 1:-1] - 2
    starts, stops = pieces[:, 1::2], pieces[:, 2::2]
    if (stops <= starts).any():
        return None
    edges = data[np.concatenate([starts, stops - 1])]
    if edges.min() <= _BLANK or edges.max() >= _ASCII:
        return None
    offsets = pa.py_buffer(np.append(pieces.reshape(-1), np.int32(len(text))))
    cut = pa.Array.from_buffers(pa.binary(), pieces.size, [None, offsets, pa.py_buffer(text)])
    numbered = np.arange(pieces.size).reshape(pieces.shape)
    rest = cut.take(pa.array(numbered[:, 0::2].reshape(-1))).buffers()[2]
    size = len(text) - int((stops - starts).sum())
    if rest.slice(0, size).to_pybytes() != b"\r\n".join([b"NATS/1.0", *begins, b"\r\n"]) * count:
        return None
    try:
        return names, cut.take(pa.array(numbered[:, 1::2].reshape(-1))).cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        return None
