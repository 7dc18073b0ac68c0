"""How much room messages take in a stream, by the server's own count: what ``max_bytes`` bounds and
the state says.

A message on file takes a record of its length (4 bytes), sequence (8), time (8), length of the
subject (2), subject, headers with their length (4) if there are any, payload and hash (8). In
memory it takes subject, headers, payload and 16 bytes. Replicas multiply what servers hold
together, not what the state of the stream says. Compression and encryption are not counted.
"""

from __future__ import annotations

from typing import Final

from jsproto.jetstream.api.config.enums import StorageType
from jsproto.wire.headers import HeaderItems, Headers

#: Bytes of a record beside subject, headers and payload: on file, in memory, and what headers add
#: on file.
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
    """Bytes that one message takes in a stream.

    Args:
        subject: the subject that it is stored under.
        payload: its payload, or how long that is.
        headers: its headers.
        storage: where it is kept; nothing said is the server's default, on file.

    Raises:
        InvalidHeader: headers that are none.
    """
    block = Headers(headers)
    head = len(block.encode()) if block.items() else 0
    size = len(subject.encode()) + head + (payload if isinstance(payload, int) else len(payload))
    if storage == StorageType.MEMORY:
        return size + MEMORY_RECORD
    return size + FILE_RECORD + (HEADER_LENGTH if head else 0)
