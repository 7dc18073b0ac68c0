"""Which headers of a message are the server's: the one place that knows.

Theory. The server keeps what a publisher wrote, whatever the names are, and puts its own headers
behind it. So a name says nothing about who wrote a header, only its place does:

- An answer to a direct get ends with ``Nats-Stream``, ``Nats-Subject``, ``Nats-Sequence`` and
  ``Nats-Time-Stamp``, in a batch also with ``Nats-Num-Pending`` and ``Nats-Last-Sequence``. The
  last ``Nats-Stream`` of the block is where the server's part begins. Servers before 2.11 add no
  ``Nats-Num-Pending``: one that stands there was stored.
- A message of a pinned consumer ends with ``Nats-Pin-Id``. A consumer that pins nobody adds none,
  and the block cannot tell; the consumer's configuration can, or its refusal of the id
  (`jsproto.jetstream.pull.consume`).
- A status has no headers but the server's; it is known by its subject and its missing reply
  (`jsproto.jetstream.pull.request`).
"""

from __future__ import annotations

from typing import Final

#: The last header of a pinned consumer's message, with the id of the pin.
PIN_ID: Final = b"Nats-Pin-Id"

_FIRST: Final = b"\nNats-Stream:"


def added_by_get(block: bytes) -> bytes:
    """What the server has added to the headers of an answer to a direct get, to be read by
    `header_value`.

    A block without ``Nats-Stream`` is all the server's: a status, since each stored message is
    given its stream.
    """
    return block[max(0, block.rfind(_FIRST)) :]


def bare_block(block: bytes) -> bytes:
    """The header block of an answer to a direct get without what the server has added behind the
    stored headers.
    """
    cut = block.rfind(_FIRST)
    return block[: cut + 1] + b"\r\n" if cut >= 0 else block
