"""Configurations of streams and consumers: which members exist, what they default to, what the server answers.

Two tables are the whole theory. Each row is a member in the order in which the server writes it: its type, its default,
since when it exists, whether it is left out when it has its zero value, and whether the model can do it. A member that
the table does not know is an error on servers with strict JSON and dropped on older ones; one that it knows but cannot
model is refused, unless it has its zero value.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from jsproto.testing.simserver import refusals
from jsproto.testing.simserver.documents import Table, integer, is_list, is_table, texts
from jsproto.testing.simserver.gotime import SECOND
from jsproto.testing.simserver.profile import Profile
from jsproto.testing.simserver.refusals import RefusedError


class Kind(Enum):
    """JSON types, with Go's names for error texts."""

    INT = "int"
    DURATION = "time.Duration"
    BOOL = "bool"
    TEXT = "string"
    TEXTS = "[]string"
    DURATIONS = "[]time.Duration"
    OBJECT = "object"
    OBJECTS = "[]object"


class Member(NamedTuple):
    """One member of a configuration."""

    name: str
    kind: Kind
    default: object
    since: tuple[int, int] = (2, 9)
    omit_zero: bool = True
    modelled: bool = True


_ALWAYS: Final = False  # for the column omit_zero

STREAM_MEMBERS: Final[tuple[Member, ...]] = (
    Member("name", Kind.TEXT, "", omit_zero=_ALWAYS),
    Member("description", Kind.TEXT, ""),
    Member("subjects", Kind.TEXTS, ()),
    Member("retention", Kind.TEXT, "limits", omit_zero=_ALWAYS),
    Member("max_consumers", Kind.INT, -1, omit_zero=_ALWAYS),
    Member("max_msgs", Kind.INT, -1, omit_zero=_ALWAYS),
    Member("max_bytes", Kind.INT, -1, omit_zero=_ALWAYS),
    Member("max_age", Kind.DURATION, 0, omit_zero=_ALWAYS),
    Member("max_msgs_per_subject", Kind.INT, -1, omit_zero=_ALWAYS),
    Member("max_msg_size", Kind.INT, -1, omit_zero=_ALWAYS),
    Member("discard", Kind.TEXT, "old", omit_zero=_ALWAYS),
    Member("storage", Kind.TEXT, "file", omit_zero=_ALWAYS),
    Member("num_replicas", Kind.INT, 1, omit_zero=_ALWAYS),
    Member("no_ack", Kind.BOOL, default=False),
    Member("duplicate_window", Kind.DURATION, 120 * SECOND),
    Member("placement", Kind.OBJECT, None, modelled=False),
    Member("mirror", Kind.OBJECT, None, modelled=False),
    Member("sources", Kind.OBJECTS, None, modelled=False),
    Member("compression", Kind.TEXT, "none", since=(2, 10), omit_zero=_ALWAYS),
    Member("first_seq", Kind.INT, 0, since=(2, 10)),
    Member("subject_transform", Kind.OBJECT, None, since=(2, 10)),
    Member("republish", Kind.OBJECT, None),
    Member("allow_direct", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("mirror_direct", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("sealed", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("deny_delete", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("deny_purge", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("allow_rollup_hdrs", Kind.BOOL, default=False, omit_zero=_ALWAYS),
    Member("discard_new_per_subject", Kind.BOOL, default=False),
    Member("consumer_limits", Kind.OBJECT, {}, since=(2, 10), omit_zero=_ALWAYS),
    Member("allow_msg_ttl", Kind.BOOL, default=False, since=(2, 11), omit_zero=_ALWAYS),
    Member("subject_delete_marker_ttl", Kind.DURATION, 0, since=(2, 11)),
    Member("allow_msg_counter", Kind.BOOL, default=False, since=(2, 12)),
    Member("allow_atomic", Kind.BOOL, default=False, since=(2, 12)),
    Member("allow_msg_schedules", Kind.BOOL, default=False, since=(2, 12), modelled=False),
    Member("persist_mode", Kind.TEXT, "", since=(2, 12), modelled=False),
    Member("allow_batched", Kind.BOOL, default=False, since=(2, 14), modelled=False),
    Member("metadata", Kind.OBJECT, None, since=(2, 10)),
)

CONSUMER_MEMBERS: Final[tuple[Member, ...]] = (
    Member("durable_name", Kind.TEXT, ""),
    Member("name", Kind.TEXT, ""),
    Member("description", Kind.TEXT, ""),
    Member("deliver_policy", Kind.TEXT, "all", omit_zero=_ALWAYS),
    Member("opt_start_seq", Kind.INT, 0),
    Member("opt_start_time", Kind.TEXT, ""),
    Member("ack_policy", Kind.TEXT, "none", omit_zero=_ALWAYS),
    Member("ack_wait", Kind.DURATION, 0),
    Member("max_deliver", Kind.INT, -1),
    Member("backoff", Kind.DURATIONS, ()),
    Member("filter_subject", Kind.TEXT, ""),
    Member("filter_subjects", Kind.TEXTS, (), since=(2, 10)),
    Member("replay_policy", Kind.TEXT, "instant", omit_zero=_ALWAYS),
    Member("rate_limit_bps", Kind.INT, 0),
    Member("sample_freq", Kind.TEXT, ""),
    Member("max_waiting", Kind.INT, 0),
    Member("max_ack_pending", Kind.INT, 0),
    Member("flow_control", Kind.BOOL, default=False),
    Member("headers_only", Kind.BOOL, default=False),
    Member("max_batch", Kind.INT, 0),
    Member("max_expires", Kind.DURATION, 0),
    Member("max_bytes", Kind.INT, 0),
    Member("deliver_subject", Kind.TEXT, ""),
    Member("deliver_group", Kind.TEXT, ""),
    Member("idle_heartbeat", Kind.DURATION, 0),
    Member("inactive_threshold", Kind.DURATION, 0),
    Member("num_replicas", Kind.INT, 0, omit_zero=_ALWAYS),
    Member("mem_storage", Kind.BOOL, default=False),
    Member("direct", Kind.BOOL, default=False),
    Member("metadata", Kind.OBJECT, None, since=(2, 10)),
    Member("pause_until", Kind.TEXT, "", since=(2, 11)),
    Member("priority_groups", Kind.TEXTS, (), since=(2, 11)),
    Member("priority_policy", Kind.TEXT, "", since=(2, 11)),
    Member("priority_timeout", Kind.DURATION, 0, since=(2, 11)),
)

#: Members whose text must be one of these.
CHOICES: Final[Mapping[str, frozenset[str]]] = {
    "retention": frozenset({"limits", "interest", "workqueue"}),
    "discard": frozenset({"old", "new"}),
    "storage": frozenset({"file", "memory"}),
    "compression": frozenset({"none", "s2"}),
    "deliver_policy": frozenset(
        {"all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"}
    ),
    "ack_policy": frozenset({"none", "all", "explicit", "flow_control"}),
    "replay_policy": frozenset({"instant", "original"}),
    "priority_policy": frozenset({"", "none", "overflow", "pinned_client", "prioritized"}),
}
#: Choices that came later than the member.
CHOICES_SINCE: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("ack_policy", "flow_control"): (2, 14),
    ("priority_policy", "prioritized"): (2, 12),
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

_NUMBERS: Final = frozenset({Kind.INT, Kind.DURATION})
#: Limits of a stream for which 0 means none, which is written -1.
_UNLIMITED: Final = ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size")
_DEFAULT_ACK_WAIT: Final = 30 * SECOND
_DEFAULT_ACK_PENDING: Final = 1000
_DEFAULT_WAITING: Final = 512
_DEFAULT_INACTIVE: Final = 5 * SECOND
_DEFAULT_PIN: Final = 120 * SECOND


def stream_config(asked: Table, profile: Profile) -> Table:
    """The full configuration of a stream that somebody asked for, in wire form.

    Raises:
        RefusedError: a member is unknown, has a wrong type, or is not modelled.
    """
    config = _complete(asked, STREAM_MEMBERS, profile)
    for name in _UNLIMITED:
        if config[name] == 0:
            config[name] = -1
    if config["num_replicas"] == 0:
        config["num_replicas"] = 1
    if integer(config, "num_replicas") > 1:
        raise RefusedError(refusals.NOT_MODELLED.about("more than one replica"))
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
        RefusedError: a member is unknown, has a wrong type, or is not modelled.
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
        _VALUE_LEVELS.get((name, str(value)), LEVELS.get(name, 0)) for name, value in config.items() if value
    )
    return max(asked, default=0)


def _complete(asked: Table, members: tuple[Member, ...], profile: Profile) -> Table:
    known = {member.name: member for member in members if member.since <= profile.number}
    for name in asked:
        if name not in known and profile.strict_json:
            raise RefusedError(invalid_json(profile, f'json: unknown field "{name}"'))
    config: Table = {}
    for member in known.values():
        value = asked.get(member.name)
        if value is None:
            config[member.name] = [] if member.default == () else member.default
            continue
        if not _fits(value, member.kind):
            raise RefusedError(
                invalid_json(profile, f"json: cannot unmarshal {member.name} of type {member.kind.value}")
            )
        _check(member, value, profile)
        config[member.name] = value
    return config


def _check(member: Member, value: object, profile: Profile) -> None:
    if not member.modelled and value:
        raise RefusedError(refusals.NOT_MODELLED.about(f"{member.name} {value!r}"))
    choices = CHOICES.get(member.name)
    if choices is None:
        return
    if value in choices and CHOICES_SINCE.get((member.name, str(value)), (0, 0)) <= profile.number:
        return
    raise RefusedError(invalid_json(profile, f"json: cannot unmarshal {member.name} {value!r}"))


def _visible(config: Table, members: tuple[Member, ...]) -> Table:
    hidden = {member.name for member in members if member.omit_zero}
    return {name: value for name, value in config.items() if value or name not in hidden}


def _fits(value: object, kind: Kind) -> bool:
    if kind in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is Kind.BOOL:
        return isinstance(value, bool)
    if kind is Kind.TEXT:
        return isinstance(value, str)
    if kind is Kind.OBJECT:
        return is_table(value)
    inner = Kind.TEXT if kind is Kind.TEXTS else Kind.DURATION if kind is Kind.DURATIONS else Kind.OBJECT
    return is_list(value) and all(_fits(each, inner) for each in value)


def invalid_json(profile: Profile, what: str) -> refusals.Refusal:
    """10025 with the details that this version tells."""
    if not profile.verbose_json_errors:
        return refusals.INVALID_JSON
    return refusals.INVALID_JSON._replace(text=f"invalid JSON: {what}")
