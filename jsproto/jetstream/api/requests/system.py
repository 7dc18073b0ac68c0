"""What the servers say of themselves to the system account: requests below ``$SYS.REQ``, and their
answers.

Theory. A request to ``$SYS.REQ.SERVER.PING.<WHAT>`` is heard by every server, and each answers for
itself; below ``$SYS.REQ.SERVER.<id>`` one is meant; below ``$SYS.REQ.ACCOUNT.<account>`` it is
about one account (server/events.go). What is in an answer is the servers' business and differs
between versions: it is given as it came, and `ServerAnswer.read` gives it typed, by the documents
of `jsproto.jetstream.api.events.monitoring`. Around it stands who says it, or why not.

Other accounts than the system's meet nobody there (503), unless it is about themselves
(``$SYS.REQ.USER.INFO``).
"""

# ruff: noqa: RUF009 - a field made by `member` is attrs' own `field` with the form of the member in its metadata

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

#: One word of a request, such as ``VARZ``.
_WHAT: Final = re.compile(r"[A-Z0-9_]+").fullmatch
_NAME: Final = re.compile(r"[^\x00-\x20\x7f.*>\ud800-\udfff]+").fullmatch


@final
@frozen(kw_only=True, repr=False)
class ServerIdentity(Document):
    """Which server speaks.

    Attributes:
        id: names it in requests to it alone.
        ver: its version.
    """

    name: str = member(TEXT, "")
    id: str = member(TEXT, "")
    host: str = member(TEXT, "")
    cluster: str | None = member(TEXT)
    domain: str | None = member(TEXT)
    ver: str = member(TEXT, "")
    tags: Sequence[str] = member(TEXTS, ())
    jetstream: bool = member(FLAG, False)  # noqa: FBT003 - the form first, then the default
    flags: int | None = member(INTEGER)
    feature_flags: Mapping[str, object] | None = member(OBJECT)
    seq: int | None = member(INTEGER)
    time: Timestamp | None = member(TIME)


@final
@frozen(kw_only=True)
class ServerAnswer(Generic[DocumentT_co]):
    """What one server answered.

    Attributes:
        server: which.
        data: what was asked for, as it came; empty if there is an error.
        error: why there is no data.
    """

    form: type[DocumentT_co] = field(repr=False)
    server: ServerIdentity = field(factory=ServerIdentity)
    data: Mapping[str, object] = field(factory=dict[str, object])
    error: str = ""

    def read(self) -> DocumentT_co:
        """The data, typed; what is not known is kept in ``extra``.

        Raises:
            ApiError: there is an error instead.
            InvalidResponse: a member of another form than servers give it.
        """
        if self.error:
            raise self.refusal()
        return self.form.from_wire(self.data, f"a question to server {self.server.name!r}")

    def refusal(self) -> ApiError:
        """Its error, to be raised."""
        return ApiError(
            0, 0, f"expected data of server {self.server.name!r}, got error {shorten(self.error)}"
        )


def read_answer(message: Message, form: type[DocumentT]) -> ServerAnswer[DocumentT]:
    """The answer of one server.

    Raises:
        InvalidResponse: no JSON object, or one that no server writes: each server says who it is.
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
            f"expected the answer of a server, which says who it is, got {len(message.payload)} bytes {shorten(message.payload)}"
        )
    error = members.pop("error", None)
    if error is not None:
        return ServerAnswer(form=form, server=identity, error=_words(error))
    # ``statsz`` stands where others have ``data``; IDZ is an identity by itself.
    data = members.get("data", members.get("statsz", members))
    if not isinstance(data, Mapping):
        raise InvalidResponse(f"expected an object as data of a server, got {shorten(data)}")
    return ServerAnswer(form=form, server=identity, data=cast("Mapping[str, object]", data))


def read_answers(
    messages: Sequence[Message], form: type[DocumentT]
) -> tuple[ServerAnswer[DocumentT], ...]:
    """The answers of all that answered, in the order of their names.

    Raises:
        ApiError: there is nothing but errors; the first is told.
        InvalidResponse: what a server never says.
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
        form: the document that the answer is; a plain `Document` is one of which nothing is known.
        server: the id of the only server to ask.
        options: members of the request; ``server_name``, ``cluster``, ``host``, ``domain`` and
            ``tags`` choose who answers.
        expect: so many servers will answer; without it, the end is judged by silence.
        stall: seconds of silence after an answer.
        timeout: seconds for all.

    Raises:
        InvalidSubject: no such word, or no id.
        InvalidConfig: times that cannot be.
    """
    subject = f"$SYS.REQ.SERVER.{request_token(server, 'id of a server') if server else 'PING'}.{request_word(what)}"
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
    """Ask all servers about one account: ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ``, ``LEAFZ``; see
    :func:`ask_servers`.
    """
    subject = (
        f"$SYS.REQ.ACCOUNT.{request_token(account, 'name of an account')}.{request_word(what)}"
    )
    return _ask(subject, Document, options, expect=expect, stall=stall, timeout=timeout)


def user_info(*, timeout: float | timedelta = 5.0) -> Gather[ServerAnswer[UserInfo]]:
    """Who we are to the server, with account and permissions; every account may ask (2.10)."""
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
    """The word for what is asked for, such as ``VARZ``.

    Raises:
        InvalidSubject: it is no word of capital letters.
    """
    if not isinstance(what, str) or _WHAT(what) is None:
        raise InvalidSubject(
            f"expected one word of capital letters, such as VARZ, got {shorten(what)}"
        )
    return what


def request_token(name: str, what: str) -> str:
    """The name or id of whom a request is about.

    Raises:
        InvalidSubject: it is not one token; the error says of ``what``.
    """
    if not isinstance(name, str) or _NAME(name) is None:
        raise InvalidSubject(f"expected the {what} as one token, got {shorten(name)}")
    return name
