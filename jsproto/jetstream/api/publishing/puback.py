"""The acknowledgement of a publish: JSON without a type, or an error beside zero values.

An ``error`` always wins. An acknowledgement needs the name of a stream. Its sequence may be 0, as
for a duplicate on an interest stream. All other bodies come from a subscriber that is no stream.

Nearly all acknowledgements have the same form. A pattern reads them, five times as fast as the
reader of all documents, which reads the rest. A test checks that both agree.
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
    """The acknowledgement of a stored message.

    Attributes:
        stream: the stream that stored it.
        seq: its sequence there; for a ``duplicate`` the sequence of the first copy.
        val: the exact value of a counter after this message (2.12, ADR-49).
        batch: id of the committed batch; ``count`` is its number of messages (2.12, ADR-50).
    """

    #: An acknowledgement with an unreadable member does not prove that a message was stored.
    TOLERANT: ClassVar[bool] = False

    stream: str = field(metadata=of(NAME))
    seq: int = member(INTEGER, 0)
    duplicate: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    domain: str | None = member(TEXT)
    val: int | None = member(BIG)
    batch: str | None = member(TEXT)
    count: int | None = member(INTEGER)


#: The form that all servers write, with or without blanks; not for names with escapes.
_USUAL: Final = re.compile(
    rb'\{"stream":"([!#-\[\]-~]+)", ?"seq": ?(0|[1-9][0-9]{0,18})(, ?"duplicate": ?true)?\}'
).fullmatch

_SET: Final = object.__setattr__


def usual_ack(body: bytes) -> PubAck | None:
    """The acknowledgement if it has the usual form, else ``None``; then use :func:`pub_ack`."""
    found = _USUAL(body)
    if found is None:
        return None
    stream, seq, duplicate = found.groups()
    # The pattern has checked the values, so the fields are set without their codecs.
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
        JetStreamError: the stream rejected the message; the ``err_code`` selects the class.
        InvalidPubAck: the answer is no acknowledgement; the error contains the bytes.
    """
    usual = usual_ack(body)
    if usual is not None:
        return usual
    try:
        return PubAck.from_wire(members_or_error(body, about), about)
    except InvalidResponse as error:
        raise InvalidPubAck(f"expected an acknowledgement of a stream: {error}", body) from None
