"""The server's rules for configurations as data: what it would reject, and with which number.

Theory. Each row of :data:`STREAM_RULES`, :data:`CONSUMER_RULES` and :data:`UPDATE_RULES` is one
reason for a rejection: the setting, the ``err_code`` and the conditions, which must all hold. The
rows are in the order in which the server checks (2.15), so the first that holds is the one that
the server would send. A live test sends an example of each row to a server and gets the same
number.

A violation is advice, no verdict. The rules cannot find reasons that only the server knows: limits
of the account, subjects of other streams, the number of servers. Servers older than a rule accept
what it rejects, mostly by ignoring the setting.

Pedantic rules reject what the server would adjust without ``pedantic`` (2.11).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, TypeAlias, cast, final

from attrs import frozen

from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.error_codes import BY_ERR_CODE
from jsproto.jetstream.api.validation.facts import Facts, consumer_facts, stream_facts, update_facts

_MS: Final = 1_000_000
_S: Final = 1_000_000_000
_DESCRIPTION: Final = 4 * 1024
_METADATA: Final = 128 * 1024


class Op(Enum):
    """How a condition checks a fact."""

    #: The fact has a value: not empty, not 0, not false.
    SET = "SET"
    #: The fact has no value.
    UNSET = "UNSET"
    IS = "IS"
    IS_NOT = "IS_NOT"
    #: A number below, or above, the given one.
    BELOW = "BELOW"
    ABOVE = "ABOVE"
    #: Text with more bytes than the given number.
    LONGER = "LONGER"


#: One condition: the name of a fact, the check, and its argument.
Given: TypeAlias = tuple[str, Op, object]


@final
@frozen
class ConfigRule:
    """One reason for a rejection.

    Attributes:
        err_code: the server's number, 0 if the server does not reject but never answers.
        setting: the setting that causes it.
        text: what is wrong.
        given: the conditions, which must all hold.
        pedantic: whether it holds only with ``pedantic``.
    """

    err_code: int
    setting: str
    text: str
    given: tuple[Given, ...]
    pedantic: bool = False


@final
@frozen
class RuleViolation:
    """One reason why the server would reject a configuration.

    Attributes:
        rule: the row that holds.
        seen: the value of the setting, ``None`` if it has none.
    """

    rule: ConfigRule
    seen: object

    @property
    def err_code(self) -> int:
        """The server's error number."""
        return self.rule.err_code

    @property
    def setting(self) -> str:
        """The setting that causes the rejection."""
        return self.rule.setting

    def __str__(self) -> str:
        known = BY_ERR_CODE.get(self.err_code)
        number = "" if known is None else f" ({self.err_code} {known.constant})"
        seen = "" if self.seen is None else f" = {self.seen!r}"
        return f"{self.setting}{seen}: {self.rule.text}{number}"


def check_stream(config: StreamConfig, *, pedantic: bool = False) -> tuple[RuleViolation, ...]:
    """Reasons why a current server would reject a new stream, in the server's order."""
    return tuple(findings(STREAM_RULES, stream_facts(config), pedantic=pedantic))


def check_stream_update(
    old: StreamConfig, new: StreamConfig, *, pedantic: bool = False
) -> tuple[RuleViolation, ...]:
    """Reasons why a current server would reject an update of a stream."""
    return (
        *check_stream(new, pedantic=pedantic),
        *findings(UPDATE_RULES, update_facts(old, new), pedantic=pedantic),
    )


def check_consumer(
    config: ConsumerConfig, stream: StreamConfig | None = None, *, pedantic: bool = False
) -> tuple[RuleViolation, ...]:
    """Reasons why a current server would reject a consumer.

    With the configuration of the stream it finds more.
    """
    return tuple(findings(CONSUMER_RULES, consumer_facts(config, stream), pedantic=pedantic))


def findings(
    rules: Iterable[ConfigRule], facts: Facts, *, pedantic: bool = False
) -> Iterable[RuleViolation]:
    """The rules that the facts violate, in the order of the rules."""
    for rule in rules:
        if (pedantic or not rule.pedantic) and all(_holds(given, facts) for given in rule.given):
            yield RuleViolation(rule, facts.get(rule.setting))


def _holds(given: Given, facts: Facts) -> bool:
    name, op, value = given
    seen = facts.get(name)
    match op:
        case Op.SET:
            return bool(seen)
        case Op.UNSET:
            return not seen
        case Op.IS:
            return seen == value
        case Op.IS_NOT:
            return name in facts and seen != value
        case Op.BELOW:
            return isinstance(seen, int) and seen < cast("int", value)
        case Op.ABOVE:
            return isinstance(seen, int) and seen > cast("int", value)
        case _:
            return isinstance(seen, str) and len(seen.encode()) > cast("int", value)


# ------------------------------------------------------------------ shorthand for rows


def _set(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.SET, None) for name in names)


def _unset(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.UNSET, None) for name in names)


def _is(name: str, value: object) -> tuple[Given, ...]:
    return ((name, Op.IS, value),)


def _is_not(name: str, value: object) -> tuple[Given, ...]:
    return ((name, Op.IS_NOT, value),)


def _below(name: str, value: int) -> tuple[Given, ...]:
    return ((name, Op.BELOW, value),)


def _above(name: str, value: int) -> tuple[Given, ...]:
    return ((name, Op.ABOVE, value),)


def _longer(name: str, value: int) -> tuple[Given, ...]:
    return ((name, Op.LONGER, value),)


_MIRROR: Final = _set("mirror")
_COUNTER: Final = _set("allow_msg_counter")
_PUSH: Final = _set("deliver_subject")
_PULL: Final = _unset("deliver_subject")
_FC_ACKS: Final = _is("ack_policy", "flow_control")
_WORKQUEUE: Final = _is("stream.retention", "workqueue")
_NO_GROUPS: Final = _is("priority_policy", "none")
_GROUPS: Final = _is_not("priority_policy", "none")

STREAM_RULES: Final = (
    ConfigRule(10052, "description", "at most 4096 bytes", _longer("description", _DESCRIPTION)),
    ConfigRule(
        10052, "metadata", "at most 128 kB of names and values", _above("metadata size", _METADATA)
    ),
    ConfigRule(10052, "num_replicas", "at most 5", _above("num_replicas", 5)),
    ConfigRule(10133, "num_replicas", "must not be negative", _below("num_replicas", 0)),
    ConfigRule(10157, "max_msgs", "write no limit as -1", _below("max_msgs", -1), pedantic=True),
    ConfigRule(
        10157,
        "max_msgs_per_subject",
        "write no limit as -1",
        _below("max_msgs_per_subject", -1),
        pedantic=True,
    ),
    ConfigRule(10157, "max_bytes", "write no limit as -1", _below("max_bytes", -1), pedantic=True),
    ConfigRule(
        10157, "max_msg_size", "write no limit as -1", _below("max_msg_size", -1), pedantic=True
    ),
    ConfigRule(
        10157, "max_consumers", "write no limit as -1", _below("max_consumers", -1), pedantic=True
    ),
    ConfigRule(10052, "max_age", "must not be negative", _below("max_age", 0)),
    ConfigRule(10052, "max_age", "at least 100 ms", _set("max_age") + _below("max_age", 100 * _MS)),
    ConfigRule(10052, "duplicate_window", "must not be negative", _below("duplicate_window", 0)),
    ConfigRule(
        10052,
        "duplicate_window",
        "must not be longer than max_age",
        _set("duplicate_window beyond max_age"),
    ),
    ConfigRule(
        10052,
        "duplicate_window",
        "at least 100 ms",
        _above("duplicate_window", 0) + _below("duplicate_window", 100 * _MS),
    ),
    ConfigRule(
        10052,
        "allow_rollup_hdrs",
        "a rollup purges, which deny_purge denies",
        _set("allow_rollup_hdrs", "deny_purge"),
    ),
    ConfigRule(
        10052, "allow_msg_counter", "not with discard new", _COUNTER + _is("discard", "new")
    ),
    ConfigRule(
        10052, "allow_msg_counter", "not with allow_msg_ttl", _COUNTER + _set("allow_msg_ttl")
    ),
    ConfigRule(
        10052,
        "allow_msg_counter",
        "not with allow_msg_schedules",
        _COUNTER + _set("allow_msg_schedules"),
    ),
    ConfigRule(
        10052,
        "allow_msg_counter",
        "only with retention limits",
        _COUNTER + _is_not("retention", "limits"),
    ),
    ConfigRule(
        10052,
        "discard_new_per_subject",
        "only with discard new",
        _set("discard_new_per_subject") + _is_not("discard", "new"),
    ),
    ConfigRule(
        10052,
        "discard_new_per_subject",
        "only with max_msgs_per_subject",
        _set("discard_new_per_subject") + _unset("max_msgs_per_subject"),
    ),
    ConfigRule(
        10052,
        "subject_delete_marker_ttl",
        "at least 1 s",
        _above("subject_delete_marker_ttl", 0) + _below("subject_delete_marker_ttl", _S),
    ),
    ConfigRule(
        10052,
        "subject_delete_marker_ttl",
        "only with allow_msg_ttl",
        _above("subject_delete_marker_ttl", 0) + _unset("allow_msg_ttl"),
        pedantic=True,
    ),
    ConfigRule(
        10052,
        "subject_delete_marker_ttl",
        "only with allow_rollup_hdrs",
        _above("subject_delete_marker_ttl", 0) + _unset("allow_rollup_hdrs"),
        pedantic=True,
    ),
    ConfigRule(
        10052,
        "subject_delete_marker_ttl",
        "must not be negative",
        _below("subject_delete_marker_ttl", 0),
    ),
    ConfigRule(
        10052,
        "allow_msg_schedules",
        "not with discard new",
        _set("allow_msg_schedules") + _is("discard", "new"),
    ),
    ConfigRule(
        10052,
        "allow_msg_schedules",
        "only with allow_rollup_hdrs",
        _set("allow_msg_schedules") + _unset("allow_rollup_hdrs"),
        pedantic=True,
    ),
    ConfigRule(
        10052,
        "persist_mode",
        "async only on file storage",
        _is("persist_mode", "async") + _is_not("storage", "file"),
    ),
    ConfigRule(
        10052,
        "persist_mode",
        "async not with replicas",
        _is("persist_mode", "async") + _above("num_replicas", 1),
    ),
    ConfigRule(
        10052,
        "persist_mode",
        "async not with allow_atomic",
        _is("persist_mode", "async") + _set("allow_atomic"),
    ),
    ConfigRule(10143, "first_seq", "not on a mirror", _MIRROR + _set("first_seq")),
    ConfigRule(10034, "subjects", "not on a mirror", _MIRROR + _set("subjects")),
    ConfigRule(10031, "sources", "not on a mirror", _MIRROR + _set("sources")),
    ConfigRule(10173, "allow_msg_counter", "not on a mirror", _MIRROR + _COUNTER),
    ConfigRule(10198, "allow_atomic", "not on a mirror", _MIRROR + _set("allow_atomic")),
    ConfigRule(10209, "allow_batched", "not on a mirror", _MIRROR + _set("allow_batched")),
    ConfigRule(
        10186, "allow_msg_schedules", "not on a mirror", _MIRROR + _set("allow_msg_schedules")
    ),
    ConfigRule(
        10213,
        "mirror.consumer.name",
        "expected the name of a consumer",
        _set("mirror.consumer.name invalid"),
    ),
    ConfigRule(
        10213,
        "mirror.consumer.deliver_subject",
        "expected a literal subject",
        _set("mirror.consumer.deliver_subject invalid"),
    ),
    ConfigRule(
        10213,
        "mirror.consumer",
        "the consumer defines its own start",
        _set("mirror.consumer beside a start"),
    ),
    ConfigRule(
        10213,
        "mirror.consumer",
        "the consumer has its own filter",
        _set("mirror.consumer beside a filter"),
    ),
    ConfigRule(
        10150,
        "mirror.filter_subject",
        "not beside subject_transforms",
        _set("mirror.filters twice"),
    ),
    ConfigRule(
        10052,
        "subject_delete_marker_ttl",
        "not on a mirror",
        _MIRROR + _above("subject_delete_marker_ttl", 0),
    ),
    ConfigRule(
        10151,
        "mirror.subject_transforms",
        "expected a subject as src",
        _set("mirror.transform.src invalid"),
    ),
    ConfigRule(
        10154,
        "mirror.subject_transforms",
        "expected a subject as dest",
        _set("mirror.transform.dest invalid"),
    ),
    ConfigRule(
        10152, "mirror.subject_transforms", "must not overlap", _set("mirror.transforms overlap")
    ),
    ConfigRule(10142, "mirror.name", "expected the name of a stream", _set("mirror.name invalid")),
    ConfigRule(
        10187, "allow_msg_schedules", "not beside sources", _set("sources", "allow_msg_schedules")
    ),
    ConfigRule(10141, "sources.name", "expected the name of a stream", _set("source.name invalid")),
    ConfigRule(10140, "sources", "must not repeat", _set("sources twice")),
    ConfigRule(
        10144,
        "sources.filter_subject",
        "not beside subject_transforms",
        _set("source.filters twice"),
    ),
    ConfigRule(
        10145,
        "sources.subject_transforms",
        "expected a subject as src",
        _set("source.transform.src invalid"),
    ),
    ConfigRule(
        10146,
        "sources.subject_transforms",
        "expected a subject as dest",
        _set("source.transform.dest invalid"),
    ),
    ConfigRule(
        10147, "sources.subject_transforms", "must not overlap", _set("source.transforms overlap")
    ),
    ConfigRule(
        10215,
        "sources.consumer.name",
        "expected the name of a consumer",
        _set("source.consumer.name invalid"),
    ),
    ConfigRule(
        10215,
        "sources.consumer.deliver_subject",
        "expected a literal subject",
        _set("source.consumer.deliver_subject invalid"),
    ),
    ConfigRule(
        10215,
        "sources.consumer",
        "the consumer defines its own start",
        _set("source.consumer beside a start"),
    ),
    ConfigRule(
        10215,
        "sources.consumer",
        "the consumer has its own filter",
        _set("source.consumer beside a filter"),
    ),
    ConfigRule(
        10216,
        "sources.consumer",
        "two sources must not share a consumer",
        _set("source.consumer twice"),
    ),
    ConfigRule(
        10024,
        "mirror.external.deliver",
        "expected a subject without wildcards",
        _set("mirror.external.deliver invalid"),
    ),
    ConfigRule(
        10024,
        "sources.external.deliver",
        "expected a subject without wildcards",
        _set("source.external.deliver invalid"),
    ),
    ConfigRule(
        10052,
        "mirror.external.api",
        "expected a subject without wildcards",
        _set("mirror.external.api invalid"),
    ),
    ConfigRule(
        10052,
        "sources.external.api",
        "expected a subject without wildcards",
        _set("source.external.api invalid"),
    ),
    ConfigRule(
        10021, "mirror.external.api", "must not be the own API", _set("mirror.external.api own")
    ),
    ConfigRule(
        10021, "sources.external.api", "must not be the own API", _set("source.external.api own")
    ),
    ConfigRule(10052, "subjects", "expected subjects", _set("subjects invalid")),
    ConfigRule(10052, "subjects", "must not repeat", _set("subjects twice")),
    ConfigRule(
        10052,
        "subjects",
        "all subjects only with no_ack",
        _set("subjects everything") + _unset("no_ack"),
    ),
    ConfigRule(
        10052,
        "subjects",
        "all subjects only with one replica",
        _set("subjects everything", "no_ack") + _above("num_replicas", 1),
    ),
    ConfigRule(
        10052,
        "subjects",
        "API subjects only with no_ack",
        _set("subjects of the api") + _unset("no_ack"),
    ),
    ConfigRule(
        10052,
        "subjects",
        "system subjects only with no_ack",
        _set("subjects of the system") + _unset("no_ack"),
    ),
    ConfigRule(10052, "subjects", "must not overlap", _set("subjects overlap")),
    ConfigRule(10155, "subject_transform.src", "expected a subject", _set("transform.src invalid")),
    ConfigRule(
        10156, "subject_transform.dest", "expected a subject", _set("transform.dest invalid")
    ),
    ConfigRule(
        10157,
        "republish.src",
        "must name a subject",
        _set("republish") + _unset("republish.src"),
        pedantic=True,
    ),
    ConfigRule(
        10052, "republish.dest", "must not be stored by the stream itself", _set("republish cycle")
    ),
    ConfigRule(10052, "placement.preferred", "not for a new stream", _set("placement.preferred")),
)

UPDATE_RULES: Final = (
    ConfigRule(10052, "name", "cannot be changed", _set("name changed")),
    ConfigRule(10052, "storage", "cannot be changed", _set("storage changed")),
    ConfigRule(
        10052,
        "retention",
        "cannot be changed from or to workqueue",
        _set("retention changed", "a workqueue"),
    ),
    ConfigRule(10052, "sealed", "cannot be taken back", _set("sealed taken back")),
    ConfigRule(10052, "deny_delete", "cannot be taken back", _set("deny_delete taken back")),
    ConfigRule(10052, "deny_purge", "cannot be taken back", _set("deny_purge taken back")),
    ConfigRule(10055, "mirror", "cannot be changed", _set("mirror changed")),
    ConfigRule(10052, "allow_msg_ttl", "cannot be taken back", _set("allow_msg_ttl taken back")),
    ConfigRule(10052, "allow_msg_counter", "cannot be changed", _set("allow_msg_counter changed")),
    ConfigRule(
        10052, "allow_msg_schedules", "cannot be taken back", _set("allow_msg_schedules taken back")
    ),
    ConfigRule(10052, "persist_mode", "cannot be changed", _set("persist_mode changed")),
)

CONSUMER_RULES: Final = (
    ConfigRule(
        10157, "max_deliver", "write no limit as -1", _below("max_deliver", -1), pedantic=True
    ),
    ConfigRule(
        10157, "max_waiting", "must not be negative", _below("max_waiting", 0), pedantic=True
    ),
    ConfigRule(
        10157,
        "max_ack_pending",
        "write no limit as -1",
        _below("max_ack_pending", -1),
        pedantic=True,
    ),
    ConfigRule(10157, "max_batch", "must not be negative", _below("max_batch", 0), pedantic=True),
    ConfigRule(
        10157, "max_expires", "must not be negative", _below("max_expires", 0), pedantic=True
    ),
    ConfigRule(10157, "max_bytes", "must not be negative", _below("max_bytes", 0), pedantic=True),
    ConfigRule(
        10157, "idle_heartbeat", "must not be negative", _below("idle_heartbeat", 0), pedantic=True
    ),
    ConfigRule(
        10157,
        "inactive_threshold",
        "must not be negative",
        _below("inactive_threshold", 0),
        pedantic=True,
    ),
    ConfigRule(
        10157,
        "priority_timeout",
        "must not be negative",
        _below("priority_timeout", 0),
        pedantic=True,
    ),
    ConfigRule(10126, "num_replicas", "at most the stream's", _set("replicas beyond the stream's")),
    ConfigRule(10133, "num_replicas", "must not be negative", _below("num_replicas", 0)),
    ConfigRule(
        10134,
        "num_replicas",
        "must equal the stream's unless retention is limits",
        _set("replicas other than the stream's") + _is_not("stream.retention", "limits"),
    ),
    ConfigRule(10184, "backoff", "must not be negative", _set("backoff negative")),
    ConfigRule(10183, "ack_wait", "must not be negative", _below("ack_wait", 0)),
    ConfigRule(10218, "ack_policy", "flow_control only when pushed", _FC_ACKS + _PULL),
    ConfigRule(
        10219,
        "flow_control",
        "needed by ack_policy flow_control",
        _FC_ACKS + _unset("flow_control"),
        pedantic=True,
    ),
    ConfigRule(
        10052,
        "idle_heartbeat",
        "exactly 1 s with ack_policy flow_control",
        _FC_ACKS + _is_not("idle_heartbeat", _S),
        pedantic=True,
    ),
    ConfigRule(
        10220,
        "max_ack_pending",
        "needed by ack_policy flow_control",
        _FC_ACKS + _below("max_ack_pending", 0),
    ),
    ConfigRule(10221, "ack_wait", "not with ack_policy flow_control", _FC_ACKS + _set("ack_wait")),
    ConfigRule(10221, "backoff", "not with ack_policy flow_control", _FC_ACKS + _set("backoff")),
    ConfigRule(
        10222,
        "max_deliver",
        "not with ack_policy flow_control",
        _FC_ACKS + _above("max_deliver", 0),
    ),
    ConfigRule(
        10116,
        "max_deliver",
        "at least as many as backoff has steps",
        _set("backoff beyond deliveries"),
    ),
    ConfigRule(10107, "description", "at most 4096 bytes", _longer("description", _DESCRIPTION)),
    ConfigRule(
        10079,
        "deliver_subject",
        "expected a subject without wildcards",
        _set("deliver_subject wild"),
    ),
    ConfigRule(10112, "deliver_subject", "expected a subject", _set("deliver_subject invalid")),
    ConfigRule(
        10081,
        "deliver_subject",
        "must not be stored by the stream itself",
        _set("deliver_subject cycle"),
    ),
    ConfigRule(10080, "max_waiting", "only when pulled", _PUSH + _above("max_waiting", 0)),
    ConfigRule(
        10082,
        "max_ack_pending",
        "needs an ack_policy",
        _PUSH + _above("max_ack_pending", 0) + _is("ack_policy", "none"),
    ),
    ConfigRule(
        10083,
        "idle_heartbeat",
        "at least 100 ms",
        _PUSH + _above("idle_heartbeat", 0) + _below("idle_heartbeat", 100 * _MS),
    ),
    ConfigRule(
        10084,
        "ack_policy",
        "explicit on a workqueue",
        _PULL + _is("ack_policy", "none") + _WORKQUEUE,
    ),
    ConfigRule(10086, "rate_limit_bps", "only when pushed", _PULL + _above("rate_limit_bps", 0)),
    ConfigRule(10088, "idle_heartbeat", "only when pushed", _PULL + _above("idle_heartbeat", 0)),
    ConfigRule(10089, "flow_control", "only when pushed", _PULL + _set("flow_control")),
    ConfigRule(
        10115,
        "max_expires",
        "at least 1 ms",
        _PULL + _above("max_expires", 0) + _below("max_expires", _MS),
    ),
    ConfigRule(
        10121,
        "max_ack_pending",
        "at most what the stream allows",
        _set("ack pending beyond the stream's"),
    ),
    ConfigRule(
        10153,
        "inactive_threshold",
        "at most what the stream allows",
        _set("threshold beyond the stream's"),
    ),
    ConfigRule(10090, "direct", "only when pushed", _set("direct") + _PULL),
    ConfigRule(10091, "direct", "not with a durable name", _set("direct", "durable_name")),
    ConfigRule(
        10136,
        "filter_subjects",
        "not beside filter_subject",
        _set("filter_subject", "filter_subjects"),
    ),
    ConfigRule(10139, "filter_subjects", "must not be empty", _set("filters empty")),
    ConfigRule(10052, "filter_subject", "expected subjects", _set("filters invalid")),
    ConfigRule(10138, "filter_subjects", "must not overlap", _set("filters overlap")),
    ConfigRule(
        10094,
        "opt_start_seq",
        "not with deliver_policy all",
        _is("deliver_policy", "all") + _set("opt_start_seq"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "not with deliver_policy all",
        _is("deliver_policy", "all") + _set("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "opt_start_seq",
        "not with deliver_policy last",
        _is("deliver_policy", "last") + _set("opt_start_seq"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "not with deliver_policy last",
        _is("deliver_policy", "last") + _set("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "opt_start_seq",
        "not with deliver_policy last_per_subject",
        _is("deliver_policy", "last_per_subject") + _set("opt_start_seq"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "not with deliver_policy last_per_subject",
        _is("deliver_policy", "last_per_subject") + _set("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "filter_subject",
        "needed by deliver_policy last_per_subject",
        _is("deliver_policy", "last_per_subject") + _unset("filter_subject", "filter_subjects"),
    ),
    ConfigRule(
        10094,
        "opt_start_seq",
        "not with deliver_policy new",
        _is("deliver_policy", "new") + _set("opt_start_seq"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "not with deliver_policy new",
        _is("deliver_policy", "new") + _set("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "opt_start_seq",
        "needed by deliver_policy by_start_sequence",
        _is("deliver_policy", "by_start_sequence") + _unset("opt_start_seq"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "not with deliver_policy by_start_sequence",
        _is("deliver_policy", "by_start_sequence") + _set("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "opt_start_time",
        "needed by deliver_policy by_start_time",
        _is("deliver_policy", "by_start_time") + _unset("opt_start_time"),
    ),
    ConfigRule(
        10094,
        "opt_start_seq",
        "not with deliver_policy by_start_time",
        _is("deliver_policy", "by_start_time") + _set("opt_start_seq"),
    ),
    ConfigRule(10095, "sample_freq", "expected a percentage", _set("sampling invalid")),
    ConfigRule(
        10108,
        "flow_control",
        "needs idle_heartbeat",
        _set("flow_control") + _unset("idle_heartbeat"),
    ),
    ConfigRule(10132, "name", "must equal durable_name if both are given", _set("names differ")),
    ConfigRule(
        10135, "metadata", "at most 128 kB of names and values", _above("metadata size", _METADATA)
    ),
    ConfigRule(10178, "priority_policy", "only when pulled", _GROUPS + _PUSH),
    ConfigRule(
        10159, "priority_groups", "needed by priority_policy", _GROUPS + _unset("priority_groups")
    ),
    ConfigRule(10161, "priority_groups", "must not be empty", _GROUPS + _set("groups empty")),
    ConfigRule(
        10162,
        "priority_groups",
        "1 to 16 of a-z, A-Z, 0-9 and -_/=",
        _GROUPS + _set("groups invalid"),
    ),
    ConfigRule(
        10196, "priority_groups", "need a priority_policy", _NO_GROUPS + _set("priority_groups")
    ),
    ConfigRule(
        10197,
        "priority_timeout",
        "needs a priority_policy",
        _NO_GROUPS + _above("priority_timeout", 0),
    ),
    ConfigRule(
        10098,
        "ack_policy",
        "explicit on a workqueue",
        _WORKQUEUE
        + _is_not("ack_policy", "explicit")
        + _is_not("ack_policy", "flow_control")
        + _unset("direct", "sourcing"),
    ),
    ConfigRule(
        10101,
        "deliver_policy",
        "all on a workqueue",
        _WORKQUEUE + _is_not("deliver_policy", "all") + _unset("direct", "sourcing"),
    ),
)
