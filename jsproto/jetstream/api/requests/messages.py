"""Stored messages, and requests for one by sequence, subject or time (ADR-31).

Theory. There are two requests. The API request works with every stream; the leader answers with
JSON. A *direct* get must be allowed by the stream. It returns the message itself, with its position
in headers after the stored ones. Any replica may answer it, so it is cheaper, but a replica can
lag a little. Both return a :class:`StoredMessage`, or raise :class:`MessageNotFound`.

The API's answer can omit the stored headers (``no_hdr``, 2.12). An answer to a direct get would
omit the message's position as well, and contain the payload only (seen on 2.15.1). So the client
then uses the API.

An answer is a message if it contains its sequence. A status line alone proves nothing: servers
before 2.12 store a status line that a publisher wrote.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final, cast, final

from attrs import field, frozen

from jsproto.core.conversation.conversation import Call
from jsproto.core.conversation.message import Message, payload_shown
from jsproto.core.conversation.procedure import Steps
from jsproto.errors.tree import (
    InvalidConfig,
    InvalidResponse,
    JsprotoError,
    NoResponders,
    RequestTimeout,
    shorten,
)
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.envelope import to_json
from jsproto.jetstream.api.errors import MessageNotFound, RequestContext, described
from jsproto.jetstream.api.requests.maintenance import sequence
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT, request, succeed
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.api.timestamps import UINT64_MAX, Timestamp
from jsproto.jetstream.errors import DirectGetFoundNothing
from jsproto.jetstream.server_headers import added_by_get, bare_block
from jsproto.jetstream.status import StatusContext, judge, status_error
from jsproto.wire.headers import Headers, header_value
from jsproto.wire.subjects import publish_subject, subscription_subject

#: The headers of a message without any.
_NONE: Final = Headers()


@final
class StoredMessage:
    """A message of a stream, read-only by agreement.

    Attributes:
        stream: the stream that holds it.
        subject: its subject.
        seq: its sequence.
        payload: its bytes.
        num_pending: number of messages after it in the answer of a batch, ``None`` outside of a
            batch.
    """

    __slots__ = (
        "_block",
        "_headers",
        "_time",
        "num_pending",
        "payload",
        "seq",
        "stream",
        "subject",
    )

    def __init__(  # noqa: PLR0917 - as in `state`
        self,
        stream: str,
        subject: str,
        seq: int,
        time: str,
        block: bytes | None,
        payload: bytes,
        num_pending: int | None = None,
    ) -> None:
        self.stream = stream
        self.subject = subject
        self.seq = seq
        self.payload = payload
        self.num_pending = num_pending
        self._time = time
        self._block = block
        self._headers: Headers | None = None

    @property
    def state(self) -> tuple[str, str, int, str, bytes | None, bytes, int | None]:
        """Its contents as plain data: ``StoredMessage(*state)`` makes an equal message."""
        return (
            self.stream,
            self.subject,
            self.seq,
            self._time,
            self._block,
            self.payload,
            self.num_pending,
        )

    @property
    def headers(self) -> Headers:
        """The stored headers, without those that the answer added."""
        if self._headers is None:
            self._headers = _NONE if self._block is None else Headers.parse(self._block)
        return self._headers

    @property
    def time(self) -> Timestamp:
        """When it was stored.

        Raises:
            InvalidResponse: the server sent no valid time.
        """
        time = Timestamp.parse(self._time)
        if time is None:
            raise InvalidResponse(
                f"expected the time of message {self.seq}, got {shorten(self._time)}"
            )
        return time

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredMessage):
            return NotImplemented
        return self._all() == other._all()

    def __hash__(self) -> int:
        return hash((self.stream, self.seq))

    def __repr__(self) -> str:
        return (
            f"StoredMessage(stream={self.stream!r}, subject={self.subject!r}, seq={self.seq}, "
            f"{payload_shown(self.payload)})"
        )

    def _all(self) -> tuple[object, ...]:
        return (self.stream, self.subject, self.seq, self.time, self.headers, self.payload)


@final
@frozen(kw_only=True)
class MessageSelector:
    """Which message to get: by one of these, or by a subject and a sequence or time to start from.

    Attributes:
        seq: the message with this sequence; with ``next_by_subj`` the first from it on.
        last_by_subj: the last message of a subject; with wildcards, of all that match.
        next_by_subj: the first message of the subjects that match.
        start_time: the first message at this time or later (2.11).

    Raises:
        InvalidConfig: none of them, or a combination that is not allowed (10003).
        InvalidSubject: an invalid subject.
    """

    seq: int | None = None
    last_by_subj: str = ""
    next_by_subj: str = ""
    start_time: Timestamp | datetime | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        sequence("seq", self.seq)
        for subject in (self.last_by_subj, self.next_by_subj):
            if subject:
                subscription_subject(subject)
        if self.start_time is not None:
            object.__setattr__(self, "start_time", Timestamp.of(self.start_time))
        starts = [self.seq is not None, self.start_time is not None, bool(self.last_by_subj)]
        if sum(starts) > 1 or (self.last_by_subj and self.next_by_subj):
            raise InvalidConfig(
                "expected a sequence, a time or the last of a subject, "
                f"got several: {self!r} (10003)"
            )
        if not any(starts) and not self.next_by_subj:
            raise InvalidConfig(
                "expected a sequence, a subject or a time to select a message, got none (10003)"
            )

    def to_wire(self) -> dict[str, object]:
        """The members of the request.

        A time always comes with a subject: then the server skips a deleted message at that place.
        """
        members: dict[str, object] = {}
        if self.seq is not None:
            members["seq"] = self.seq
        if self.last_by_subj:
            members["last_by_subj"] = self.last_by_subj
        if self.start_time is not None:
            members["start_time"] = str(self.start_time)
        if self.next_by_subj or self.start_time is not None:
            members["next_by_subj"] = self.next_by_subj or ">"
        return members

    def __str__(self) -> str:
        return " ".join(f"{name} {value}" for name, value in self.to_wire().items())


def stored_message(
    api: ApiSubjects,
    stream: str,
    which: MessageSelector,
    *,
    direct: bool = False,
    no_headers: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[StoredMessage]:
    """Get one message of a stream.

    Args:
        api: subjects of the API.
        stream: its name.
        which: which message.
        direct: use a direct get; the stream must allow it.
        no_headers: omit the stored headers (2.12). Older servers send them, and the client drops
            them.
        timeout: seconds.

    Raises:
        MessageNotFound: no such message.
        StreamNotFound: the stream does not exist; a direct get cannot detect this.
        NoResponders: the stream does not exist, or does not allow direct gets. Servers before
            2.10 do not answer instead.
        InvalidResponse: the answer is no message, or the server does not know a start time.
        InvalidConfig: ``no_headers`` together with ``direct``.
    """
    headerless(direct=direct, no_headers=no_headers)
    about = RequestContext(what=f"message {which}", stream=stream)
    if direct:
        found = yield from _direct(api, about, which, timeout)
    else:
        found = yield from _by_api(api, about, which, timeout, no_headers=no_headers)
    since = which.start_time
    if isinstance(since, Timestamp) and found.time < since:
        raise InvalidResponse(
            f"{about}: expected a message since {since}, got message {found.seq} of {found.time}; "
            "servers before 2.11 do not know a start time"
        )
    return found


def headerless(*, direct: bool | None, no_headers: bool) -> None:
    """Reject ``no_headers`` together with ``direct``.

    Raises:
        InvalidConfig: both are set; the answer would lack subject, sequence and time.
    """
    if direct and no_headers:
        raise InvalidConfig(
            "expected no_headers without direct, got both: "
            "a direct get has the message's position in headers"
        )


def delete_message(
    api: ApiSubjects,
    stream: str,
    seq: int,
    *,
    erase: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Steps[None]:
    """Delete one message.

    Args:
        api: subjects of the API.
        stream: its name.
        seq: the sequence of the message.
        erase: also overwrite its bytes in the store, which takes longer.
        timeout: seconds.
    """
    sequence("seq", seq)
    about = RequestContext(what=f"{'erase' if erase else 'delete'} message {seq}", stream=stream)
    body: dict[str, object] = {"seq": seq} if erase else {"seq": seq, "no_erase": True}
    yield from succeed(
        api.stream_msg_delete(stream),
        about,
        AnswerType.STREAM_MSG_DELETE,
        body=body,
        timeout=timeout,
    )


# ------------------------------------------------------------------ the two requests


def _by_api(
    api: ApiSubjects,
    about: RequestContext,
    which: MessageSelector,
    timeout: float,
    *,
    no_headers: bool,
) -> Steps[StoredMessage]:
    subject = api.stream_msg_get(about.stream)
    body = {**which.to_wire(), "no_hdr": True} if no_headers else which.to_wire()
    members = yield from request(
        subject, about, AnswerType.STREAM_MSG_GET, body=body, timeout=timeout
    )
    return from_members(members["message"], about, headers=not no_headers)


def _direct(
    api: ApiSubjects, about: RequestContext, which: MessageSelector, timeout: float
) -> Steps[StoredMessage]:
    subject, payload = direct_request(api, about.stream, which)
    try:
        reply = yield Call(subject, payload, None, timeout)
    except NoResponders as error:
        raise NoResponders(no_direct(about, subject), subject) from error
    except RequestTimeout as error:
        raise RequestTimeout(
            f"{about}: {error}; servers before 2.10 do not answer if there is no message"
        ) from error
    found = from_direct(reply, about.stream)
    if found is None:
        raise direct_error(reply, about)
    return found


def direct_request(api: ApiSubjects, stream: str, which: MessageSelector) -> tuple[str, bytes]:
    """Subject and payload of a direct get.

    The last message of one subject has its own request subject, so that permissions can allow
    single subjects.
    """
    if which.last_by_subj and not {"*", ">"} & set(which.last_by_subj.split(".")):
        return api.direct_get_last(stream, publish_subject(which.last_by_subj)), b""
    return api.direct_get(stream), to_json(which.to_wire())


def no_direct(about: RequestContext, subject: str) -> str:
    """The error text for a direct get without responders."""
    return (
        f"{about}: expected an answer on {subject!r}, got no responders: "
        "no such stream, or it does not allow direct gets"
    )


def direct_error(reply: Message, about: RequestContext) -> JsprotoError:
    """The error for an answer to a direct get that is no message."""
    if reply.status is None:
        return InvalidResponse(
            f"{about}: expected a stored message, got {len(reply.payload)} bytes without its place"
        )
    code, text = reply.status
    error = status_error(judge(code, text, StatusContext.DIRECT), code, text, str(about))
    return (
        MessageNotFound(code, 10037, text, about)
        if isinstance(error, DirectGetFoundNothing)
        else error
    )


# ------------------------------------------------------------------ reading


def from_direct(reply: Message, stream: str) -> StoredMessage | None:
    """The message in an answer to a direct get, ``None`` if it has no sequence.

    Raises:
        InvalidResponse: subject, sequence or time is invalid or missing.
    """
    block = reply.frame[3]
    ours = b"" if block is None else added_by_get(block)
    said = header_value(ours, b"Nats-Sequence")
    if block is None or said is None:
        return None
    subject = header_value(ours, b"Nats-Subject")
    time = header_value(ours, b"Nats-Time-Stamp")
    pending = header_value(ours, b"Nats-Num-Pending")
    if not subject or time is None:
        raise InvalidResponse(
            f"expected subject and time of message {shorten(said)} of stream {stream}, "
            f"got {shorten(block)}"
        )
    return StoredMessage(
        stream=header_value(ours, b"Nats-Stream") or stream,
        subject=subject,
        seq=number(said),
        time=time,
        block=bare_block(block),
        payload=reply.payload,
        num_pending=None if pending is None else number(pending),
    )


def from_members(members: object, about: RequestContext, *, headers: bool = True) -> StoredMessage:
    """The message in an answer of the API, with or without its headers.

    Raises:
        InvalidResponse: the answer contains no valid message.
    """
    if not isinstance(members, Mapping):
        raise InvalidResponse(f"{about}: expected a message, got {described(members)}")
    said = cast("Mapping[str, object]", members)
    subject, seq, time = said.get("subject"), said.get("seq"), said.get("time")
    if not isinstance(subject, str) or not isinstance(time, str) or not isinstance(seq, int):
        raise InvalidResponse(
            f"{about}: expected subject, sequence and time, got {shorten(sorted(said))}"
        )
    block = _bytes(said.get("hdrs"), about) if headers else b""
    return StoredMessage(
        stream=about.stream,
        subject=subject,
        seq=seq,
        time=time,
        block=block or None,
        payload=_bytes(said.get("data"), about),
    )


def number(digits: str) -> int:
    """Parse a sequence or count in a header.

    Raises:
        InvalidResponse: it is no number of 64 bits.
    """
    if digits.isascii() and digits.isdigit() and len(digits) <= 20 and int(digits) <= UINT64_MAX:
        return int(digits)
    raise InvalidResponse(f"expected a number of 64 bits, got {shorten(digits)}")


def _bytes(said: object, about: RequestContext) -> bytes:
    if said is None:
        return b""
    if isinstance(said, str):
        with contextlib.suppress(ValueError):
            return base64.b64decode(said, validate=True)
    raise InvalidResponse(f"{about}: expected base64, got {described(said)}")
