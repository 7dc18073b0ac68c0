"""Monitoring requests below ``$SYS.REQ``, for the system account, and their answers.

Theory. Every server receives a request to ``$SYS.REQ.SERVER.PING.<WHAT>``, and each answers
separately. A request below ``$SYS.REQ.SERVER.<id>`` goes to one server. A request below
``$SYS.REQ.ACCOUNT.<account>`` is about one account (server/events.go). The data of an answer
differs between versions. A `ServerAnswer` keeps it as received; `ServerAnswer.read` returns it
typed, by the documents of `jsproto.jetstream.api.events.monitoring`. The envelope names the server,
or contains an error.

Other accounts get no responders there (503), except for requests about themselves
(``$SYS.REQ.USER.INFO``).
"""

# ruff: noqa: RUF009 - `member` returns an attrs `field` with the codec in its metadata

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, Generic, TypeVar, cast, final

from attrs import field, frozen

from jsproto.core.conversation.message import Message
from jsproto.core.numbers import check_number
from jsproto.core.pubsub.request_all import STALL, Gather
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.errors.tree import ApiError, InvalidResponse, InvalidSubject, StatusError, shorten
from jsproto.jetstream.api.codecs import FLAG, INTEGER, OBJECT, TEXT, TEXTS, TIME
from jsproto.jetstream.api.document import Document, member
from jsproto.jetstream.api.envelope import parse_object, to_json
from jsproto.jetstream.api.events.monitoring import UserInfo
from jsproto.jetstream.api.timestamps import Timestamp

DocumentT = TypeVar("DocumentT", bound=Document)
DocumentT_co = TypeVar("DocumentT_co", bound=Document, covariant=True)

#: The name of a request, such as ``VARZ``.
_WHAT: Final = re.compile(r"[A-Z0-9_]+").fullmatch
_NAME: Final = re.compile(r"[^\x00-\x20\x7f.*>\ud800-\udfff]+").fullmatch


@final
@frozen(kw_only=True, repr=False)
class ServerIdentity(Document):
    """The server that sent an answer.

    Attributes:
        id: the id for requests to this server only.
        ver: its version.
    """

    name: str = member(TEXT, "")
    id: str = member(TEXT, "")
    host: str = member(TEXT, "")
    cluster: str | None = member(TEXT)
    domain: str | None = member(TEXT)
    ver: str = member(TEXT, "")
    tags: Sequence[str] = member(TEXTS, ())
    jetstream: bool = member(FLAG, False)  # noqa: FBT003 - the codec, then the default
    flags: int | None = member(INTEGER)
    feature_flags: Mapping[str, object] | None = member(OBJECT)
    seq: int | None = member(INTEGER)
    time: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True)
class ServerAnswer(Generic[DocumentT_co]):
    """The answer of one server.

    Attributes:
        server: the server.
        data: the received data; empty if there is an error.
        error: why there is no data.
    """

    form: type[DocumentT_co] = field(repr=False)
    server: ServerIdentity = field(factory=ServerIdentity)
    data: Mapping[str, object] = field(factory=dict[str, object])
    error: str = ""

    def read(self) -> DocumentT_co:
        """The data, typed; unknown members are in ``extra``.

        Raises:
            ApiError: the answer is an error.
            InvalidResponse: a member has the wrong form.
        """
        if self.error:
            raise self.refusal()
        return self.form.from_wire(self.data, f"a question to server {self.server.name!r}")

    def refusal(self) -> ApiError:
        """Its error, as an exception."""
        return ApiError(
            0, 0, f"expected data of server {self.server.name!r}, got error {shorten(self.error)}"
        )


def read_answer(message: Message, form: type[DocumentT]) -> ServerAnswer[DocumentT]:
    """Parse the answer of one server.

    Raises:
        InvalidResponse: no JSON object, or an answer that names no server.
        StatusError: a status instead of an answer.
    """
    if message.status is not None and not message.payload:
        code, text = message.status
        raise StatusError(
            code, text, f"expected an answer of a server, got status {code} {text}".rstrip()
        )
    members = parse_object(message.payload, "a request to the system account")
    server = members.pop("server", None)
    named = {each: members.get(each, "") for each in ("name", "id", "host")}
    identity = ServerIdentity.from_wire(named if server is None else server, "a system request")
    if not identity.id and (server is None or not identity.name):
        raise InvalidResponse(
            f"expected an answer that names its server, "
            f"got {len(message.payload)} bytes {shorten(message.payload)}"
        )
    error = members.pop("error", None)
    if error is not None:
        return ServerAnswer(form=form, server=identity, error=_words(error))
    # ``statsz`` replaces ``data``; the answer to IDZ is the identity itself.
    data = members.get("data", members.get("statsz", members))
    if not isinstance(data, Mapping):
        raise InvalidResponse(f"expected an object as data of a server, got {shorten(data)}")
    return ServerAnswer(form=form, server=identity, data=cast("Mapping[str, object]", data))


def read_answers(
    messages: Sequence[Message], form: type[DocumentT]
) -> tuple[ServerAnswer[DocumentT], ...]:
    """Parse the answers of all servers, ordered by server name.

    Raises:
        ApiError: all answers are errors; it is the first one.
        InvalidResponse: an answer that no server sends.
    """
    answers = sorted(
        (read_answer(each, form) for each in messages), key=lambda each: each.server.name
    )
    if all(each.error for each in answers):
        raise answers[0].refusal()
    return tuple(answers)


def ask_servers(
    what: str,
    form: type[DocumentT],
    *,
    server: str = "",
    options: Mapping[str, object] | None = None,
    expect: int = 0,
    stall: float | timedelta = STALL,
    timeout: float | timedelta = 5.0,
) -> Gather[tuple[ServerAnswer[DocumentT], ...]]:
    """Ask all servers, or one.

    Args:
        what: ``VARZ``, ``JSZ``, ``CONNZ``, ``HEALTHZ`` and so on.
        form: the document class of the data; `Document` if there is none.
        server: the id of the only server to ask.
        options: members of the request; ``server_name``, ``cluster``, ``host``, ``domain`` and
            ``tags`` select the servers that answer.
        expect: number of servers that will answer; without it, silence ends the call.
        stall: seconds of silence after an answer.
        timeout: seconds for the whole call.

    Raises:
        InvalidSubject: an invalid name or id.
        InvalidConfig: invalid times.
    """
    subject = (
        f"$SYS.REQ.SERVER.{request_token(server, 'id of a server') if server else 'PING'}"
        f".{request_word(what)}"
    )
    return _ask(
        subject, form, options, expect=1 if server else expect, stall=stall, timeout=timeout
    )


def ask_account(
    account: str,
    what: str,
    *,
    options: Mapping[str, object] | None = None,
    expect: int = 0,
    stall: float | timedelta = STALL,
    timeout: float | timedelta = 5.0,
) -> Gather[tuple[ServerAnswer[Document], ...]]:
    """Ask all servers about one account; see :func:`ask_servers`.

    The requests are ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ`` and ``LEAFZ``.
    """
    subject = (
        f"$SYS.REQ.ACCOUNT.{request_token(account, 'name of an account')}.{request_word(what)}"
    )
    return _ask(subject, Document, options, expect=expect, stall=stall, timeout=timeout)


def user_info(*, timeout: float | timedelta = 5.0) -> Gather[ServerAnswer[UserInfo]]:
    """Ask for this connection's user, account and permissions; any account may ask (2.10)."""
    many = RequestMany("$SYS.REQ.USER.INFO", count=1, timeout=timeout)
    return Gather(many, lambda messages: read_answers(messages, UserInfo)[0])


def _ask(
    subject: str,
    form: type[DocumentT],
    options: Mapping[str, object] | None,
    *,
    expect: int,
    stall: float | timedelta,
    timeout: float | timedelta,
) -> Gather[tuple[ServerAnswer[DocumentT], ...]]:
    payload = to_json(options) if options else b""
    check_number("expect", expect, (int,))
    many = RequestMany(subject, payload, count=expect, stall=stall, timeout=timeout)
    return Gather(many, lambda messages: read_answers(messages, form))


def _words(error: object) -> str:
    if isinstance(error, Mapping):
        said = cast("Mapping[str, object]", error)
        return f"{said.get('description', '')} ({said.get('code', 0)})"
    return str(error)


def request_word(what: str) -> str:
    """Check the name of a request, such as ``VARZ``.

    Raises:
        InvalidSubject: it is no word of capital letters.
    """
    if not isinstance(what, str) or _WHAT(what) is None:
        raise InvalidSubject(
            f"expected one word of capital letters, such as VARZ, got {shorten(what)}"
        )
    return what


def request_token(name: str, what: str) -> str:
    """Check the name or id that a request is about.

    Raises:
        InvalidSubject: it is not one token; the error contains ``what``.
    """
    if not isinstance(name, str) or _NAME(name) is None:
        raise InvalidSubject(f"expected the {what} as one token, got {shorten(name)}")
    return name
