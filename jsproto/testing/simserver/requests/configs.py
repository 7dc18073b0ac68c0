"""Configurations of streams and consumers: which members exist, what they default to, what the
server answers.

Two tables are the whole theory. Each row is a member in the order in which the server writes it:
its type, its default, since when it exists, whether it is left out when it has its zero value, and
whether the model can do it. A member that the table does not know is an error on servers with
strict JSON and dropped on older ones; one that it knows but cannot model is refused, unless it has
its zero value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, integer, is_list, texts
from jsproto.testing.simserver.values.gojson import (
    Choice,
    GoList,
    Mapped,
    Moment,
    Scalar,
    Struct,
    Type,
)
from jsproto.testing.simserver.values.gotime import SECOND
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError


class ConfigMember(NamedTuple):
    """One member of a configuration."""

    name: str
    kind: Type
    default: object
    since: tuple[int, int] = (2, 9)
    omit_zero: bool = True
    modelled: bool = True


_ALWAYS: Final = False  # for the column omit_zero

_TEXT: Final = Scalar("string")
_TEXTS: Final = GoList("[]string", _TEXT)
_BOOL: Final = Scalar("bool")
_INT: Final = Scalar("int")
_INT32: Final = Scalar("int32")
_INT64: Final = Scalar("int64")
_UINT64: Final = Scalar("uint64")
_SPAN: Final = Scalar("time.Duration")
_SPANS: Final = GoList("[]time.Duration", _SPAN)
_MOMENT: Final = Moment()
_LABELS: Final = Mapped()
_MOVED: Final = Struct("SubjectTransformConfig", {"src": _TEXT, "dest": _TEXT})
_ELSEWHERE: Final = Struct("ExternalStream", {"api": _TEXT, "deliver": _TEXT})
_SOURCE: Final = Struct(
    "StreamSource",
    {
        "name": _TEXT,
        "opt_start_seq": _UINT64,
        "opt_start_time": _MOMENT,
        "filter_subject": _TEXT,
        "subject_transforms": GoList("[]server.SubjectTransformConfig", _MOVED),
        "external": _ELSEWHERE,
    },
)
_PLACEMENT: Final = Struct("Placement", {"cluster": _TEXT, "tags": _TEXTS, "preferred": _TEXT})
_REPUBLISH: Final = Struct("RePublish", {"src": _TEXT, "dest": _TEXT, "headers_only": _BOOL})
_CONSUMER_LIMITS: Final = Struct(
    "StreamConsumerLimits", {"inactive_threshold": _SPAN, "max_ack_pending": _INT}
)
_COMPRESSION: Final = Choice(frozenset({"none", "s2"}), "unknown compression algorithm", text=True)
_PRIORITY: Final = "unknown priority policy: {raw}"


def _one_of(*values: str, words: str = "can not unmarshal {quoted}") -> Choice:
    return Choice(frozenset(values), words)


_DELIVER: Final = _one_of(
    "all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"
)
_ACKS: Final = _one_of("none", "all", "explicit", "flow_control")
_PRIORITIES: Final = _one_of("none", "overflow", "pinned_client", "prioritized", words=_PRIORITY)

STREAM_MEMBERS: Final[tuple[ConfigMember, ...]] = (
    ConfigMember("name", _TEXT, "", omit_zero=_ALWAYS),
    ConfigMember("description", _TEXT, ""),
    ConfigMember("subjects", _TEXTS, ()),
    ConfigMember(
        "retention", _one_of("limits", "interest", "workqueue"), "limits", omit_zero=_ALWAYS
    ),
    ConfigMember("max_consumers", _INT, -1, omit_zero=_ALWAYS),
    ConfigMember("max_msgs", _INT64, -1, omit_zero=_ALWAYS),
    ConfigMember("max_bytes", _INT64, -1, omit_zero=_ALWAYS),
    ConfigMember("max_age", _SPAN, 0, omit_zero=_ALWAYS),
    ConfigMember("max_msgs_per_subject", _INT64, -1, omit_zero=_ALWAYS),
    ConfigMember("max_msg_size", _INT32, -1, omit_zero=_ALWAYS),
    ConfigMember("discard", _one_of("old", "new"), "old", omit_zero=_ALWAYS),
    ConfigMember("storage", _one_of("file", "memory"), "file", omit_zero=_ALWAYS),
    ConfigMember("num_replicas", _INT, 1, omit_zero=_ALWAYS),
    ConfigMember("no_ack", _BOOL, default=False),
    ConfigMember("duplicate_window", _SPAN, 120 * SECOND),
    ConfigMember("placement", _PLACEMENT, None, modelled=False),
    ConfigMember("mirror", _SOURCE, None, modelled=False),
    ConfigMember("sources", GoList("[]*server.StreamSource", _SOURCE), None, modelled=False),
    ConfigMember("compression", _COMPRESSION, "none", since=(2, 10), omit_zero=_ALWAYS),
    ConfigMember("first_seq", _UINT64, 0, since=(2, 10)),
    ConfigMember("subject_transform", _MOVED, None, since=(2, 10)),
    ConfigMember("republish", _REPUBLISH, None),
    ConfigMember("allow_direct", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("mirror_direct", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("sealed", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("deny_delete", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("deny_purge", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("allow_rollup_hdrs", _BOOL, default=False, omit_zero=_ALWAYS),
    ConfigMember("discard_new_per_subject", _BOOL, default=False),
    ConfigMember("consumer_limits", _CONSUMER_LIMITS, {}, since=(2, 10), omit_zero=_ALWAYS),
    ConfigMember("allow_msg_ttl", _BOOL, default=False, since=(2, 11), omit_zero=_ALWAYS),
    ConfigMember("subject_delete_marker_ttl", _SPAN, 0, since=(2, 11)),
    ConfigMember("allow_msg_counter", _BOOL, default=False, since=(2, 12)),
    ConfigMember("allow_atomic", _BOOL, default=False, since=(2, 12)),
    ConfigMember("allow_msg_schedules", _BOOL, default=False, since=(2, 12), modelled=False),
    ConfigMember(
        "persist_mode", _one_of("", "default", "async"), "", since=(2, 12), modelled=False
    ),
    ConfigMember("allow_batched", _BOOL, default=False, since=(2, 14), modelled=False),
    ConfigMember("metadata", _LABELS, None, since=(2, 10)),
)

CONSUMER_MEMBERS: Final[tuple[ConfigMember, ...]] = (
    ConfigMember("durable_name", _TEXT, ""),
    ConfigMember("name", _TEXT, ""),
    ConfigMember("description", _TEXT, ""),
    ConfigMember("deliver_policy", _DELIVER, "all", omit_zero=_ALWAYS),
    ConfigMember("opt_start_seq", _UINT64, 0),
    ConfigMember("opt_start_time", _MOMENT, ""),
    ConfigMember("ack_policy", _ACKS, "none", omit_zero=_ALWAYS),
    ConfigMember("ack_wait", _SPAN, 0),
    ConfigMember("max_deliver", _INT, -1),
    ConfigMember("backoff", _SPANS, ()),
    ConfigMember("filter_subject", _TEXT, ""),
    ConfigMember("filter_subjects", _TEXTS, (), since=(2, 10)),
    ConfigMember("replay_policy", _one_of("instant", "original"), "instant", omit_zero=_ALWAYS),
    ConfigMember("rate_limit_bps", _UINT64, 0),
    ConfigMember("sample_freq", _TEXT, ""),
    ConfigMember("max_waiting", _INT, 0),
    ConfigMember("max_ack_pending", _INT, 0),
    ConfigMember("flow_control", _BOOL, default=False),
    ConfigMember("headers_only", _BOOL, default=False),
    ConfigMember("max_batch", _INT, 0),
    ConfigMember("max_expires", _SPAN, 0),
    ConfigMember("max_bytes", _INT, 0),
    ConfigMember("deliver_subject", _TEXT, ""),
    ConfigMember("deliver_group", _TEXT, ""),
    ConfigMember("idle_heartbeat", _SPAN, 0),
    ConfigMember("inactive_threshold", _SPAN, 0),
    ConfigMember("num_replicas", _INT, 0, omit_zero=_ALWAYS),
    ConfigMember("mem_storage", _BOOL, default=False),
    ConfigMember("direct", _BOOL, default=False),
    ConfigMember("metadata", _LABELS, None, since=(2, 10)),
    ConfigMember("pause_until", _MOMENT, "", since=(2, 11)),
    ConfigMember("priority_groups", _TEXTS, (), since=(2, 11)),
    ConfigMember("priority_policy", _PRIORITIES, "", since=(2, 11)),
    ConfigMember("priority_timeout", _SPAN, 0, since=(2, 11)),
)

#: Words that came later than their member.
LATER_WORDS: Final[Mapping[str, tuple[tuple[int, int], str]]] = {
    "ack_policy": ((2, 14), "flow_control"),
    "priority_policy": ((2, 12), "prioritized"),
}

#: What a configuration asks of the server's API level (nats-server ``jetstream_versioning.go``).
LEVELS: Final[Mapping[str, int]] = {
    "allow_msg_ttl": 1,
    "subject_delete_marker_ttl": 1,
    "allow_msg_counter": 2,
    "allow_atomic": 2,
    "allow_msg_schedules": 2,
    "allow_batched": 4,
    "pause_until": 1,
    "priority_groups": 1,
    "priority_policy": 1,
    "priority_timeout": 1,
}
_VALUE_LEVELS: Final[Mapping[tuple[str, str], int]] = {
    ("persist_mode", "async"): 2,
    ("ack_policy", "flow_control"): 4,
    ("priority_policy", "none"): 0,
}

#: Limits of a stream for which 0 means none, which is written -1.
_UNLIMITED: Final = (
    "max_consumers",
    "max_msgs",
    "max_bytes",
    "max_msgs_per_subject",
    "max_msg_size",
)
_DEFAULT_ACK_WAIT: Final = 30 * SECOND
_DEFAULT_ACK_PENDING: Final = 1000
_DEFAULT_WAITING: Final = 512
_DEFAULT_INACTIVE: Final = 5 * SECOND
_DEFAULT_PIN: Final = 120 * SECOND


def stream_config(asked: Table, profile: Profile) -> Table:
    """The full configuration of a stream that somebody asked for, in wire form.

    Raises:
        RefusedError: a member is not modelled.
    """
    config = _complete(asked, STREAM_MEMBERS, profile)
    for name in _UNLIMITED:
        if config[name] == 0:
            config[name] = -1
    if config["num_replicas"] == 0:
        config["num_replicas"] = 1
    if not texts(config, "subjects"):
        config["subjects"] = [config["name"]]
    if config["sealed"]:
        config.update({"discard": "new", "deny_delete": True, "deny_purge": True})
    window, age = integer(config, "duplicate_window"), integer(config, "max_age")
    if window == 0:
        window = 120 * SECOND
    config["duplicate_window"] = min(window, age) if age else window
    return _visible(config, STREAM_MEMBERS)


def consumer_config(asked: Table, profile: Profile, *, ephemeral: bool) -> Table:
    """The full configuration of a consumer that somebody asked for, in wire form.

    Raises:
        RefusedError: a member is not modelled.
    """
    config = _complete(asked, CONSUMER_MEMBERS, profile)
    if not profile.multiple_filters:
        config.pop("filter_subjects", None)
    backoff = config["backoff"]
    pushes = bool(config["deliver_subject"])
    if config["ack_policy"] == "flow_control":
        config["flow_control"], config["idle_heartbeat"] = True, SECOND
    elif config["ack_policy"] != "none":
        config["ack_wait"] = config["ack_wait"] or _DEFAULT_ACK_WAIT
    if is_list(backoff) and backoff:
        config["ack_wait"] = backoff[0]
    if config["ack_policy"] != "none":
        config["max_ack_pending"] = config["max_ack_pending"] or _DEFAULT_ACK_PENDING
    if integer(config, "max_deliver") == 0:
        config["max_deliver"] = -1
    if not pushes:
        config["max_waiting"] = config["max_waiting"] or _DEFAULT_WAITING
    if config.get("priority_policy") == "pinned_client":
        config["priority_timeout"] = config["priority_timeout"] or _DEFAULT_PIN
    if ephemeral:
        config["inactive_threshold"] = config["inactive_threshold"] or _DEFAULT_INACTIVE
    return _visible(config, CONSUMER_MEMBERS)


def required_level(config: Table) -> int:
    """The API level that a stored configuration asks for."""
    asked = (
        _VALUE_LEVELS.get((name, str(value)), LEVELS.get(name, 0))
        for name, value in config.items()
        if value
    )
    return max(asked, default=0)


def members_of(members: tuple[ConfigMember, ...], profile: Profile) -> dict[str, Type]:
    """The members that a version knows, and how it reads them."""
    return {each.name: _at(each, profile) for each in members if each.since <= profile.number}


def _at(member: ConfigMember, profile: Profile) -> Type:
    since, later = LATER_WORDS.get(member.name, ((0, 0), ""))
    if isinstance(member.kind, Choice) and since > profile.number:
        return member.kind._replace(values=member.kind.values - {later})
    return member.kind


def _complete(asked: Table, members: tuple[ConfigMember, ...], profile: Profile) -> Table:
    config: Table = {}
    for member in members:
        if member.since > profile.number:
            continue
        value = asked.get(member.name)
        if value is None:
            config[member.name] = [] if member.default == () else member.default
            continue
        if not member.modelled and value:
            raise RefusedError(refusals.NOT_MODELLED.about(f"{member.name} {value!r}"))
        config[member.name] = value
    return config


def _visible(config: Table, members: tuple[ConfigMember, ...]) -> Table:
    hidden = {member.name for member in members if member.omit_zero}
    return {name: value for name, value in config.items() if value or name not in hidden}


def invalid_json(profile: Profile, what: str) -> refusals.ApiRefusal:
    """10025 with the details that this version tells."""
    if not profile.verbose_json_errors:
        return refusals.INVALID_JSON
    return refusals.INVALID_JSON._replace(text=f"invalid JSON: {what}")
