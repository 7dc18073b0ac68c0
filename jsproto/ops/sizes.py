"""Compute the size of messages in a stream, as ``max_bytes`` and the stream's state count it.

A message on file has a record with its length (4 bytes), sequence (8), time (8), length of the
subject (2), subject, headers with their length (4) if there are any, payload and hash (8). In
memory it takes subject, headers, payload and 16 bytes. Replicas multiply the total on the servers,
but not the numbers in the state of the stream. Compression and encryption are not counted.
"""

from __future__ import annotations

from typing import Final

from jsproto.jetstream.api.config.enums import StorageType
from jsproto.wire.headers import HeaderItems, Headers

#: Bytes of a record without subject, headers and payload: on file, in memory, and the addition for
#: headers on file.
FILE_RECORD: Final = 4 + 8 + 8 + 2 + 8
MEMORY_RECORD: Final = 16
HEADER_LENGTH: Final = 4


def stored_size(
    subject: str,
    payload: int | bytes,
    headers: HeaderItems = (),
    *,
    storage: StorageType | str | None = StorageType.FILE,
) -> int:
    """Return the bytes that one message takes in a stream.

    Args:
        subject: the subject of the message.
        payload: its payload, or the payload's length.
        headers: its headers.
        storage: the storage type of the stream; ``None`` is the server's default, on file.

    Raises:
        InvalidHeader: invalid headers.
    """
    block = Headers(headers)
    head = len(block.encode()) if block.items() else 0
    size = len(subject.encode()) + head + (payload if isinstance(payload, int) else len(payload))
    if storage == StorageType.MEMORY:
        return size + MEMORY_RECORD
    return size + FILE_RECORD + (HEADER_LENGTH if head else 0)
