"""Separates the headers that the server added from those that the publisher wrote.

Theory. The server keeps all headers of the publisher, whatever their names, and appends its own.
So the position of a header tells who wrote it; the name does not:

- An answer to a direct get ends with ``Nats-Stream``, ``Nats-Subject``, ``Nats-Sequence`` and
  ``Nats-Time-Stamp``. In a batch ``Nats-Num-Pending`` and ``Nats-Last-Sequence`` follow. The
  server's part begins at the last ``Nats-Stream``. Servers before 2.11 add no
  ``Nats-Num-Pending``; if one is there, the publisher wrote it.
- A message of a pinned consumer ends with ``Nats-Pin-Id``. A consumer without pinning adds none,
  and the header block does not show which case it is. The consumer's configuration does, or the
  server's refusal of the id (`jsproto.jetstream.pull.consume`).
- A status has only headers of the server. The client recognizes it by its subject and by its
  missing reply subject (`jsproto.jetstream.pull.request`).
"""

from __future__ import annotations

from typing import Final

#: The last header of a pinned consumer's message, with the id of the pin.
PIN_ID: Final = b"Nats-Pin-Id"

_FIRST: Final = b"\nNats-Stream:"


def added_by_get(block: bytes) -> bytes:
    """The part of a direct get's headers that the server added, for `header_value`.

    A block without ``Nats-Stream`` is a status, and all its headers are the server's. The server
    adds the stream to each stored message.
    """
    return block[max(0, block.rfind(_FIRST)) :]


def bare_block(block: bytes) -> bytes:
    """The header block of an answer to a direct get, without the headers that the server added."""
    cut = block.rfind(_FIRST)
    return block[: cut + 1] + b"\r\n" if cut >= 0 else block
