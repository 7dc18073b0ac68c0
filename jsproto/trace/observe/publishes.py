"""Compares messages that clients publish with earlier ones."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, final

from jsproto.trace.formats.format import maybe_hidden
from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.facts import Published
from jsproto.trace.observe.ledger import SECOND, SeenLink, SeenPublish, bound
from jsproto.wire.client_commands import PubLine
from jsproto.wire.headers import header_value

#: If a client repeats a message after this time without an answer, the answer counts as lost.
PATIENCE: Final = SECOND


@final
class SeenPublishes:
    """Keeps the messages of all links by id, or by subject and payload if they have no id."""

    __slots__ = ("_books", "_ids", "_payloads", "_stored")

    def __init__(self, books: TraceContext) -> None:
        self._books = books
        self._ids: dict[tuple[str, str], SeenPublish] = {}
        #: Subjects on which a stream has stored a message.
        self._stored: dict[str, None] = {}
        self._payloads: dict[tuple[str, bytes], SeenPublish] = {}

    def publish(self, link: SeenLink, command: PubLine) -> None:
        """Read a message that the client publishes, and that is not for the API."""
        block = command.block or b""
        msg_id = header_value(block, b"Nats-Msg-Id") or ""
        digest = _digest(command.payload)
        sent = SeenPublish(command.subject, msg_id, digest, link, self._books.line)
        sent.at = self._books.now
        clash = unknown = None
        if msg_id:
            known = self._ids.get((command.subject, msg_id))
            clash = known if known is not None and known.digest != digest else None
            self._ids.setdefault((command.subject, msg_id), sent)
            bound(self._ids)
        elif (
            command.reply
            and len(command.payload) >= 16
            and not block
            and not maybe_hidden(command.payload)
        ):
            same = (command.subject, digest)
            earlier = self._payloads.setdefault(same, sent)
            if earlier is not sent:
                earlier.times += 1
                waited = (
                    command.subject in self._stored and self._books.now - earlier.at >= PATIENCE
                )
                lost = (
                    earlier.times == 2 and not earlier.answered and (not earlier.link.up or waited)
                )
                unknown = earlier if lost else None
            bound(self._payloads)
        self._books.tell(Published(link, command, clash, unknown))
        if command.reply:
            link.publishes[command.reply] = sent
            for _, forgotten in bound(link.publishes, self._books.most):
                forgotten.answered = True  # so that its outcome does not count as lost

    def answered(self, sent: SeenPublish, payload: bytes) -> None:
        """Note the answer to a message; the answer of a stream names the stream."""
        sent.answered = True
        if b'"stream"' in payload:
            self._stored[sent.subject] = None
            bound(self._stored)


def _digest(payload: bytes) -> bytes:
    return payload if len(payload) <= blake2b.MAX_DIGEST_SIZE else blake2b(payload).digest()
