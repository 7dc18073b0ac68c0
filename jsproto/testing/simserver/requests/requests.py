"""The requests of the JSON API as the server reads them: a struct for each verb, and which way of
reading each has.

What a struct holds decides what is an error (`jsproto.testing.simserver.values.gojson`). Members
that the server reads and the model does not use stand here all the same, since leaving them out
would make them unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from jsproto.testing.simserver.requests.configs import (
    CONSUMER_MEMBERS,
    STREAM_MEMBERS,
    invalid_json,
    members_of,
)
from jsproto.testing.simserver.values.documents import Table, read
from jsproto.testing.simserver.values.gojson import (
    Choice,
    GoJsonError,
    GoList,
    Moment,
    Scalar,
    Struct,
    StructReader,
    Type,
)
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError

_TEXT: Final = Scalar("string")
_BOOL: Final = Scalar("bool")
_INT: Final = Scalar("int")
_UINT64: Final = Scalar("uint64")
_MOMENT: Final = Moment()
_PAGED: Final = {"offset": "ApiPagedRequest"}
_GROUP: Final = ("group", "min_pending", "min_ack_pending", "id", "priority")

#: Requests that are the same in all versions, by their short Go names.
_PLAIN: Final[Mapping[str, Struct]] = {
    each.short: each
    for each in (
        Struct(
            "JSApiStreamInfoRequest",
            {"offset": _INT, "deleted_details": _BOOL, "subjects_filter": _TEXT},
            _PAGED,
        ),
        Struct("JSApiStreamNamesRequest", {"offset": _INT, "subject": _TEXT}, _PAGED),
        Struct("JSApiStreamListRequest", {"offset": _INT, "subject": _TEXT}, _PAGED),
        Struct("JSApiConsumersRequest", {"offset": _INT}, _PAGED),
        Struct("JSApiStreamPurgeRequest", {"filter": _TEXT, "seq": _UINT64, "keep": _UINT64}),
        Struct("JSApiMsgDeleteRequest", {"seq": _UINT64, "no_erase": _BOOL}),
        Struct("JSApiConsumerPauseRequest", {"pause_until": _MOMENT}),
        Struct("JSApiConsumerUnpinRequest", {"group": _TEXT}),
        Struct("JSApiConsumerResetRequest", {"seq": _UINT64}),
    )
}


@lru_cache(maxsize=256)
def _struct(short: str, profile: Profile) -> Struct:
    if short == "StreamConfigRequest":
        members = members_of(STREAM_MEMBERS, profile)
        if profile.template_owner:
            members["template_owner"] = _TEXT
        embedded = dict.fromkeys(members, "StreamConfig")
        if profile.verbose_json_errors:
            members["pedantic"] = _BOOL
        return Struct(short, members, embedded)
    if short == "CreateConsumerRequest":
        config = Struct("ConsumerConfig", members_of(CONSUMER_MEMBERS, profile))
        asked: dict[str, Type] = {"stream_name": _TEXT, "config": config}
        if profile.consumer_action:
            action = frozenset({"", "create", "update"})
            asked["action"] = Choice(action, "unknown consumer action: {raw}")
        if profile.verbose_json_errors:
            asked["pedantic"] = _BOOL
        return Struct(short, asked)
    if short == "JSApiMsgGetRequest":
        found: dict[str, Type] = {"seq": _UINT64, "last_by_subj": _TEXT, "next_by_subj": _TEXT}
        if profile.direct_batches:
            found |= {
                "batch": _INT,
                "max_bytes": _INT,
                "start_time": _MOMENT,
                "multi_last": GoList("[]string", _TEXT),
            }
            found |= {"up_to_seq": _UINT64, "up_to_time": _MOMENT}
        if profile.direct_no_headers:
            found["no_hdr"] = _BOOL
        return Struct(short, found)
    if short == "JSApiConsumerGetNextRequest":
        return _pull(short, profile)
    return _PLAIN[short]


def _pull(short: str, profile: Profile) -> Struct:
    span, wide = Scalar("time.Duration"), Scalar("int64")
    members: dict[str, Type] = {
        "expires": span,
        "batch": _INT,
        "max_bytes": _INT,
        "no_wait": _BOOL,
        "idle_heartbeat": span,
    }
    if profile.number >= (2, 11):
        members |= {"group": _TEXT, "id": _TEXT, "min_pending": wide, "min_ack_pending": wide}
    if profile.prioritized:
        members["priority"] = _INT
    # Go 1.27 does not name the struct of this one.
    return Struct("" if profile.json_v2 else short, members, dict.fromkeys(_GROUP, "PriorityGroup"))


def asked_of(body: bytes, short: str, profile: Profile) -> Table:
    """The members of a request.

    Raises:
        RefusedError: the server cannot read it.
    """
    struct = _struct(short, profile)
    try:
        if not profile.verbose_json_errors:
            return StructReader(struct, profile).document(body)
        try:
            return StructReader(struct, profile, strictly=True).documents(body)
        except GoJsonError:
            if profile.strict_json:
                raise
            return StructReader(struct, profile).document(body)
    except GoJsonError as error:
        raise RefusedError(invalid_json(profile, str(error))) from error


def asked_if_any(body: bytes, short: str, profile: Profile) -> Table:
    """The members of a request that may say nothing: from 2.11 on one that is neither object nor
    list counts as none.

    Raises:
        RefusedError: the server cannot read it.
    """
    said = (
        body.lstrip(b" \t\r\n")[:1] in {b"{", b"["}
        if profile.verbose_json_errors
        else not is_empty(body)
    )
    return asked_of(body, short, profile) if said else {}


def asked_plainly(body: bytes, short: str, profile: Profile) -> Table:
    """The members of a request of which the server reads one document, and any members.

    Raises:
        RefusedError: the server cannot read it.
    """
    try:
        return read_plainly(body, short, profile)
    except GoJsonError as error:
        raise RefusedError(invalid_json(profile, str(error))) from error


def read_plainly(body: bytes, short: str, profile: Profile) -> Table:
    """As `asked_plainly`, for what is not answered as JSON.

    Raises:
        GoJsonError: the server cannot read it.
    """
    return StructReader(_struct(short, profile), profile).document(body)


def is_empty(body: bytes) -> bool:
    """Whether a request says nothing: no body, or an object without members."""
    try:
        return not body or read(body) == {}
    except ValueError:
        return False
