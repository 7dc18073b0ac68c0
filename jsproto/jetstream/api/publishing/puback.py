"""The acknowledgement of a publish: bare JSON without a type, or an error beside zero values.

``error`` wins over everything (B175). An acknowledgement needs the name of a stream; its sequence
may be 0, as for a duplicate on an interest stream (B173). Anything else is the answer of somebody
who is no stream (B187).

Nearly all acknowledgements have one shape and are read by it, five times as fast; the rest goes the
way of all documents. A test says that both ways agree.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final, final

from attrs import field, frozen

from jsproto.errors.tree import InvalidResponse
from jsproto.jetstream.api.codecs import BIG, FLAG, INTEGER, NAME, TEXT
from jsproto.jetstream.api.document import Document, member, of
from jsproto.jetstream.api.envelope import members_or_error
from jsproto.jetstream.api.errors import InvalidPubAck, RequestContext


@final
@frozen(kw_only=True, repr=False)
class PubAck(Document):
    """A message was stored.

    Attributes:
        stream: the stream that stored it.
        seq: its sequence there, or that of the first copy if ``duplicate``.
        val: the exact value of a counter after this message (2.12, ADR-49).
        batch: id of the batch that this commits; ``count`` is its number of messages (2.12,
            ADR-50).
    """

    #: What cannot be read whole is no proof that a message was stored.
    TOLERANT: ClassVar[bool] = False

    stream: str = field(metadata=of(NAME))
    seq: int = member(INTEGER, 0)
    duplicate: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    domain: str | None = member(TEXT)
    val: int | None = member(BIG)
    batch: str | None = member(TEXT)
    count: int | None = member(INTEGER)


#: As every server writes it, with blanks or without; names with escapes go the long way.
_USUAL: Final = re.compile(
    rb'\{"stream":"([!#-\[\]-~]+)", ?"seq": ?(0|[1-9][0-9]{0,18})(, ?"duplicate": ?true)?\}'
).fullmatch

_SET: Final = object.__setattr__


def usual_ack(body: bytes) -> PubAck | None:
    """The acknowledgement if it has the usual shape, else ``None``: then :func:`pub_ack` says what
    it is.
    """
    found = _USUAL(body)
    if found is None:
        return None
    stream, seq, duplicate = found.groups()
    # What the pattern gave needs no check, so the fields are set without asking each for its form.
    ack = PubAck.__new__(PubAck)
    _SET(ack, "extra", {})
    _SET(ack, "stream", stream.decode("ascii"))
    _SET(ack, "seq", int(seq))
    _SET(ack, "duplicate", duplicate is not None)
    _SET(ack, "domain", None)
    _SET(ack, "val", None)
    _SET(ack, "batch", None)
    _SET(ack, "count", None)
    return ack


def pub_ack(body: bytes, about: RequestContext) -> PubAck:
    """The acknowledgement in the payload of a reply.

    Raises:
        JetStreamError: the stream refused the message; the class is that of the ``err_code``.
        InvalidPubAck: the answer is no acknowledgement; it holds the bytes that came.
    """
    usual = usual_ack(body)
    if usual is not None:
        return usual
    try:
        return PubAck.from_wire(members_or_error(body, about), about)
    except InvalidResponse as error:
        raise InvalidPubAck(f"expected an acknowledgement of a stream: {error}", body) from None
