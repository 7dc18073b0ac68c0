"""What a stream would say to a message, as far as its configuration tells: before the message is
sent.

Theory. As in :mod:`checks`, each row is one way to be refused, in the order in which the server
looks (2.15), with its ``err_code``. Three rows have no number, because there the server says
nothing: a stream that acknowledges nothing, a subject that the stream does not store, so that
another one gets the message or nobody, and a time to live below that of the stream's markers, which
becomes as long as that.

Who looks is who knows the configuration: a stream's handle that has asked for it. It may have
changed since.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from jsproto.errors.tree import InvalidConfig
from jsproto.jetstream.api.config.enums import Rollup
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.patterns import collide
from jsproto.jetstream.api.publishing.options import NOTHING_ASKED, PublishOptions
from jsproto.jetstream.api.timestamps import nanoseconds
from jsproto.jetstream.api.validation.facts import Facts
from jsproto.jetstream.api.validation.rules import ConfigRule, Given, Op, RuleViolation, findings
from jsproto.wire.encoder import payload_bytes
from jsproto.wire.headers import Headers
from jsproto.wire.subjects import subject_matches


def check_publish(
    config: StreamConfig,
    subject: str,
    payload: bytes | str = b"",
    options: PublishOptions = NOTHING_ASKED,
    *,
    headers: Headers | None = None,
) -> tuple[RuleViolation, ...]:
    """What a stream of this configuration would refuse about a message; the first is what it would
    say.

    Args:
        config: the stream's configuration, as the server gave it.
        subject: where the message is published.
        payload: the message.
        options: what is asked of the stream.
        headers: the whole header block, for its size.
    """
    size = len(payload_bytes(payload)) + (0 if headers is None else len(headers.encode()))
    return tuple(findings(PUBLISH_RULES, _facts(config, subject, size, options)))


def check_window(config: StreamConfig) -> tuple[RuleViolation, ...]:
    """What a stream of this configuration would refuse about any message, or never answer."""
    return tuple(
        findings(WINDOW_RULES, {setting: getattr(config, setting) for setting in _SETTINGS})
    )


def check_batching(config: StreamConfig, *, fast: bool = False) -> tuple[RuleViolation, ...]:
    """What a stream of this configuration would refuse about any atomic batch, or any fast one."""
    facts = {
        **{setting: getattr(config, setting) for setting in _SETTINGS},
        "fast": fast,
        "atomic": not fast,
    }
    return tuple(findings(BATCH_RULES, facts))


def refuse(found: tuple[RuleViolation, ...], stream: str) -> None:
    """Raise the first of what was found.

    Raises:
        InvalidConfig: something was found.
    """
    if found:
        raise InvalidConfig(f"expected a message that stream {stream!r} takes, got {found[0]}")


def _facts(config: StreamConfig, subject: str, size: int, options: PublishOptions) -> Facts:
    subjects = tuple(config.subjects) or ((config.name,) if config.mirror is None else ())
    schedule = options.schedule
    return {
        **{setting: getattr(config, setting) for setting in _SETTINGS},
        "subject": subject,
        "elsewhere": not any(subject_matches(each, subject) for each in subjects),
        "expected_stream": options.expected_stream,
        "other stream": options.expected_stream not in {None, config.name},
        "size": size,
        "too large": config.max_msg_size is not None and 0 <= config.max_msg_size < size,
        "ttl": options.ttl is not None or (schedule is not None and schedule.ttl is not None),
        "short ttl": _below(options.ttl, config)
        or (schedule is not None and _below(schedule.ttl, config)),
        "incr": options.incr is not None,
        "schedule": schedule is not None,
        "schedule target": None if schedule is None else schedule.target,
        "target elsewhere": schedule is not None
        and not any(collide(each, schedule.target) for each in subjects),
        "schedule source": None if schedule is None else schedule.source,
        "source elsewhere": schedule is not None
        and schedule.source is not None
        and not any(collide(each, schedule.source) for each in subjects),
        "cancel_schedule": options.cancel_schedule,
        "rollup": None if options.rollup is None else str(Rollup(options.rollup)),
    }


def _below(ttl: timedelta | str | None, config: StreamConfig) -> bool:
    """Whether the stream would let a message live longer: as long as the markers that it writes
    where messages expire.

    A stream with one message for each subject leaves the time as it is (seen on 2.11.11 to 2.15.1).
    """
    least = config.subject_delete_marker_ttl
    if not isinstance(ttl, timedelta) or least is None or config.max_msgs_per_subject == 1:
        return False
    return nanoseconds(ttl) < nanoseconds(least)


def _set(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.SET, None) for name in names)


def _unset(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.UNSET, None) for name in names)


#: What of a configuration the rows look at.
_SETTINGS: Final = (
    "no_ack",
    "sealed",
    "allow_atomic",
    "allow_batched",
    "allow_msg_ttl",
    "allow_msg_counter",
    "allow_msg_schedules",
    "allow_rollup_hdrs",
    "deny_purge",
    "max_msg_size",
)

# fmt: off
WINDOW_RULES: Final = (
    ConfigRule(0, "no_ack", "the stream acknowledges nothing, so no message of a window ever ends well", _set("no_ack")),
    ConfigRule(10109, "sealed", "takes no messages any more", _set("sealed")),
)
BATCH_RULES: Final = (
    ConfigRule(0, "no_ack", "the stream acknowledges nothing, so no batch ever ends", _set("no_ack")),
    ConfigRule(10109, "sealed", "takes no messages any more", _set("sealed")),
    ConfigRule(10174, "allow_atomic", "needed by an atomic batch", _set("atomic") + _unset("allow_atomic")),
    ConfigRule(10205, "allow_batched", "needed by a fast batch", _set("fast") + _unset("allow_batched")),
)
PUBLISH_RULES: Final = (
    ConfigRule(0, "subject", "not stored by this stream", _set("elsewhere")),
    ConfigRule(0, "no_ack", "the stream acknowledges nothing; publish without waiting", _set("no_ack")),
    ConfigRule(10109, "sealed", "takes no messages any more", _set("sealed")),
    ConfigRule(10054, "size", "more bytes than max_msg_size", _set("too large")),
    ConfigRule(10168, "allow_msg_counter", "needed by incr", _set("incr") + _unset("allow_msg_counter")),
    ConfigRule(10060, "expected_stream", "another stream than this", _set("other stream")),
    ConfigRule(10166, "allow_msg_ttl", "needed by a time to live", _set("ttl") + _unset("allow_msg_ttl")),
    ConfigRule(0, "subject_delete_marker_ttl", "the stream would make a shorter time to live as long as this", _set("short ttl")),
    ConfigRule(10169, "allow_msg_counter", "takes nothing but incr", _set("allow_msg_counter") + _unset("incr")),
    ConfigRule(10188, "allow_msg_schedules", "needed by a schedule", _set("schedule") + _unset("allow_msg_schedules")),
    ConfigRule(10188, "allow_msg_schedules", "needed to cancel a schedule", _set("cancel_schedule") + _unset("allow_msg_schedules")),
    ConfigRule(10190, "schedule target", "not stored by this stream", _set("target elsewhere")),
    ConfigRule(10203, "schedule source", "not stored by this stream", _set("source elsewhere")),
    ConfigRule(10111, "allow_rollup_hdrs", "needed by rollup", _set("rollup") + _unset("allow_rollup_hdrs")),
    ConfigRule(10111, "deny_purge", "excludes rollup", _set("rollup", "deny_purge")),
)
# fmt: on
