"""Errors of the JetStream API: one class for each answer that needs its own reaction.

Theory. The server numbers its errors (``err_code``). Texts differ between versions and are for
people. ``api_error`` turns the ``error`` member of an answer into the class of its number. Every
error contains the request: which stream, consumer or subject. A number without a class of its own
becomes a plain :class:`JetStreamError`, so ``except ApiError`` catches them all. The table at the
end assigns numbers to classes.

    ApiError
    └── JetStreamError
        ├── NotFound             StreamNotFound  ConsumerNotFound  MessageNotFound
        ├── AmbiguousSubject     raised by the client, not by a server
        ├── AlreadyExists        StreamExists  ConsumerExists
        ├── ExpectationFailed    WrongLastSequence  WrongLastMessageId  WrongStream
        ├── ResourceLimitReached  StreamFull  MessageTooLargeToStore
        ├── InvalidRequest       ConfigurationRefused  InvalidMessage  InvalidBatch
        ├── RetryLater
        ├── CannotServe          JetStreamNotEnabled
        └── NotAllowed           StreamSealed  ApiLevelTooLow
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from typing import Final, TypeAlias, cast, final

from attrs import frozen

from jsproto.errors.tree import ApiError, InvalidResponse, shorten
from jsproto.jetstream.api.error_codes import BY_ERR_CODE

_SEQUENCE: Final = re.compile(r"wrong last sequence: ([0-9]{1,20})")


@final
@frozen(kw_only=True)
class RequestContext:
    """What a request was about; every error contains it.

    Attributes:
        what: the request in words, such as "update stream".
        stream: name of the stream, empty if there is none.
        consumer: name of the consumer, empty if there is none.
        subject: subject of the message or request, empty if it adds nothing.
        setting: the setting that caused the rejection of a configuration, such as
            ``num_replicas``; empty if unknown.
    """

    what: str = ""
    stream: str = ""
    consumer: str = ""
    subject: str = ""
    setting: str = ""

    def __str__(self) -> str:
        named = (
            ("stream", self.stream),
            ("consumer", self.consumer),
            ("subject", self.subject),
            ("setting", self.setting),
        )
        return ", ".join(
            part
            for part in (self.what, *(f"{kind} {name}" for kind, name in named if name))
            if part
        )


class InvalidPubAck(InvalidResponse):
    """The answer to a publish is no acknowledgement: another subscriber answered on the subject.

    Attributes:
        body: the received bytes.
    """

    def __init__(self, message: str, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


class BatchUnsupported(InvalidPubAck):
    """The server does not know batches, and has stored the first message as a single one.

    Attributes:
        stream: the stream that stored it.
        seq: its sequence there.
    """

    def __init__(self, message: str, body: bytes = b"", stream: str = "", seq: int = 0) -> None:
        super().__init__(message, body)
        self.stream = stream
        self.seq = seq


class ConfigIgnored(InvalidResponse):
    """The server ignored settings of the request, because it is too old for them.

    Attributes:
        members: names of the settings that did not return with the value sent.
    """

    def __init__(self, message: str, members: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.members = members


class JetStreamError(ApiError):
    """An error answer of the JetStream API; also the class of errors without one of their own.

    Attributes:
        about: the request.
        constant: the server's name for the error, empty if this version of jsproto does not know
            it.
    """

    def __init__(self, code: int, err_code: int, description: str, about: RequestContext) -> None:
        super().__init__(code, err_code, description, str(about))
        self.about = about
        known = BY_ERR_CODE.get(err_code)
        self.constant = known.constant if known is not None else ""

    @property
    def stream(self) -> str:
        """The requested stream, empty if there is none."""
        return self.about.stream

    @property
    def consumer(self) -> str:
        """The requested consumer, empty if there is none."""
        return self.about.consumer

    @property
    def setting(self) -> str:
        """The setting that caused the rejection, empty if unknown."""
        return self.about.setting


class NotFound(JetStreamError):
    """The requested stream, consumer or message does not exist."""


class StreamNotFound(NotFound):
    """No such stream in this account and domain."""


class ConsumerNotFound(NotFound):
    """No such consumer of this stream."""


class MessageNotFound(NotFound):
    """No such message in the stream."""


class AmbiguousSubject(JetStreamError):
    """Several streams store a subject where one was expected; raised by the client only.

    Attributes:
        streams: their names.
    """

    def __init__(
        self,
        code: int,
        err_code: int,
        description: str,
        about: RequestContext,
        streams: tuple[str, ...] = (),
    ) -> None:
        super().__init__(code, err_code, description, about)
        self.streams = streams


class AlreadyExists(JetStreamError):
    """The name is in use."""


class StreamExists(AlreadyExists):
    """A stream of this name exists with another configuration."""


class ConsumerExists(AlreadyExists):
    """A consumer of this name exists with another configuration, or is in use."""


class ExpectationFailed(JetStreamError):
    """The stream's state differs from the publisher's expectation; nothing was stored."""


class WrongLastSequence(ExpectationFailed):
    """The last sequence, of the stream or subject, is not the expected one (10071, 10164).

    Attributes:
        sequence: the actual last sequence, ``None`` if the server did not send it (replicated
            streams).
    """

    @property
    def sequence(self) -> int | None:
        """The actual last sequence, ``None`` if the server did not send it."""
        found = _SEQUENCE.search(self.description)
        return int(found[1]) if found is not None else None


class WrongLastMessageId(ExpectationFailed):
    """The last message id is not the expected one; ``message_id`` is the actual one."""

    @property
    def message_id(self) -> str | None:
        """The actual last message id, ``None`` if the server did not send it."""
        _, said, found = self.description.partition("wrong last msg ID: ")
        return found if said else None


class WrongStream(ExpectationFailed):
    """Another stream than the expected one stores the subject."""


class ResourceLimitReached(JetStreamError):
    """A limit of the account, the server or the stream is reached."""


class StreamFull(ResourceLimitReached):
    """The stream is full and discards new messages."""


class MessageTooLargeToStore(ResourceLimitReached):
    """Headers, or headers and payload together, exceed the size limit of the stream or server."""


class InvalidRequest(JetStreamError):
    """The request is malformed."""


class ConfigurationRefused(InvalidRequest):
    """The configuration cannot work, or conflicts with existing streams or consumers."""


class InvalidMessage(InvalidRequest):
    """The headers of a message request something invalid, or not enabled for the stream."""


class InvalidBatch(InvalidRequest):
    """An atomic or fast batch is incomplete, unknown, or not allowed."""


class RetryLater(JetStreamError):
    """Repeat the request later: there is no leader yet, or another request is in progress."""


class CannotServe(JetStreamError):
    """The server cannot serve this request."""


class JetStreamNotEnabled(CannotServe):
    """JetStream is not enabled for this account, on this server, or in this domain."""


class NotAllowed(JetStreamError):
    """The request is valid and possible, but not allowed."""


class StreamSealed(NotAllowed):
    """The stream is sealed."""


class ApiLevelTooLow(NotAllowed):
    """The server does not have the API level that the request requires."""


def described(seen: object) -> str:
    """A value in words; a list or object by its size only, since a peer can send any depth."""
    if isinstance(seen, (list, tuple, Mapping)):
        return f"{type(cast('object', seen)).__name__} of {len(cast('Sized', seen))}"
    return shorten(seen)


def api_error(member: object, about: RequestContext) -> JetStreamError:
    """The typed error for the ``error`` member of an answer.

    Every part of the member is optional, and may have any type.
    """
    parts: Mapping[str, object] = (
        cast("Mapping[str, object]", member) if isinstance(member, dict) else {}
    )
    code, err_code = _number(parts.get("code")), _number(parts.get("err_code"))
    text = parts.get("description") if isinstance(member, dict) else member
    description = text if isinstance(text, str) else "" if text is None else described(text)
    return CLASS_OF.get(err_code, JetStreamError)(code, err_code, description, about)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


_Class: TypeAlias = type[JetStreamError]

#: The class of each ``err_code``; other numbers raise :class:`JetStreamError`.
CLASSES: Final[tuple[tuple[_Class, tuple[int, ...]], ...]] = (
    (StreamNotFound, (10059,)),
    (ConsumerNotFound, (10014, 10149)),
    (MessageNotFound, (10037, 10043)),
    (NotFound, (10035, 10068)),
    (StreamExists, (10058, 10130)),
    (ConsumerExists, (10013, 10105, 10148)),
    (WrongLastSequence, (10071, 10164)),
    (WrongLastMessageId, (10070,)),
    (WrongStream, (10060,)),
    (ExpectationFailed, (10063, 10180)),
    (StreamFull, (10077,)),
    (MessageTooLargeToStore, (10054, 10097)),
    (ResourceLimitReached, (10002, 10026, 10027, 10028, 10047, 10113, 10120, 10121, 10122, 10210, 10211)),
    (RetryLater, (10004, 10008, 10009, 10023, 10158, 10163, 10167)),
    (JetStreamNotEnabled, (10039, 10076)),
    (CannotServe, (10006, 10007, 10010, 10036, 10074, 10118, 10119, 10194, 10195)),
    (StreamSealed, (10109,)),
    (ApiLevelTooLow, (10185,)),
    (InvalidRequest, (10003, 10015, 10025, 10038, 10056, 10073, 10078, 10160, 10161, 10162, 10204)),
    (
        InvalidMessage,
        (10165, 10166, *range(10168, 10173), *range(10188, 10194), 10203, 10212, 10223, 10227),
    ),
    (InvalidBatch, (*range(10174, 10178), 10179, 10199, 10200, 10201, *range(10205, 10209))),
    (
        ConfigurationRefused,
        (
            10005, 10011, 10012, *range(10016, 10023), 10024, *range(10029, 10035), 10045, 10046,
            10048, 10049, 10052, 10053, 10055, 10061, 10065, 10066, 10069, *range(10079, 10096),
            *range(10098, 10104), 10106, 10107, 10108, 10112, 10114, 10115, 10116, 10123,
            *range(10125, 10129), *range(10131, 10148), *range(10150, 10158), 10159, 10173, 10178,
            *range(10181, 10185), 10186, 10187, 10196, 10197, 10198, 10209, *range(10213, 10223),
            10225,
        ),
    ),
)  # fmt: skip

CLASS_OF: Final[dict[int, _Class]] = {
    number: kind for kind, numbers in CLASSES for number in numbers
}
