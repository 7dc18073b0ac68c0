"""Whether the consumer that is pulled from is there at all.

Theory. A pull that nobody serves is answered 503, before 2.10 not at all. That may pass, as while a
leader is elected, or it may mean that there is no such consumer or stream. The API knows which, so
it is asked, with the subject of the pull alone: it holds the API's prefix, the stream and the
consumer. Only "not found" counts as an answer; any other leaves things as they were, and who may
not ask learns no more than before (reading needs no right to ask, ADR-37).
"""

from __future__ import annotations

from typing import Final

from jsproto.errors.tree import JsprotoError
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.envelope import answer
from jsproto.jetstream.api.errors import (
    ConsumerNotFound,
    JetStreamError,
    RequestContext,
    StreamNotFound,
)

_NEXT: Final = "CONSUMER.MSG.NEXT."


def info_subject(subject: str) -> str:
    """Where to ask for the consumer that is pulled from by this NEXT subject; empty if it is no
    such subject.
    """
    prefix, _, names = subject.rpartition(_NEXT)
    return f"{prefix}CONSUMER.INFO.{names}" if prefix else ""


def names_of(subject: str) -> tuple[str, str]:
    """The stream and the consumer that are pulled from by this NEXT subject; empty if it is no such
    subject.
    """
    _, found, names = subject.rpartition(_NEXT)
    stream, _, consumer = names.partition(".") if found else ("", "", "")
    return stream, consumer


def absence(body: bytes, subject: str, inactive_threshold: float) -> JetStreamError | None:
    """The error if the answer says that there is no such consumer or stream, else ``None``.

    Args:
        body: the answer to a question on `info_subject`.
        subject: the NEXT subject.
        inactive_threshold: the consumer's in seconds, 0 if it is not known or there is none.
    """
    stream, consumer = names_of(subject)
    about = RequestContext(what="a pull", stream=stream, consumer=consumer)
    try:
        answer(body, about, AnswerType.CONSUMER_INFO)
    except ConsumerNotFound as error:
        known = f" ({inactive_threshold:g} s)" if inactive_threshold else ""
        text = f"{error.description}; it was never made, or deleted, or nobody pulled for its inactive_threshold{known}"
        return ConsumerNotFound(error.code, error.err_code, text, about)
    except StreamNotFound as error:
        return error
    except JsprotoError:
        pass
    return None
