"""Rules for a message to a stream: why the stream would reject it, found before publishing.

Theory. As in :mod:`rules`, each row is one reason for a rejection, with its ``err_code``, in the
server's order (2.15). Three rows have no number, because the server does not reject the message:
the stream sends no acknowledgements; the stream does not store the subject, so another stream or
none gets the message; the time to live is shorter than that of the stream's markers, and the
server extends it.

A caller needs the configuration: a stream handle that has requested it. The configuration may have
changed since then.
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
    """Reasons why a stream would reject a message; the first is the one that it would send.

    Args:
        config: the stream's configuration, as the server sent it.
        subject: the subject of the message.
        payload: the message.
        options: what the stream must check or do.
        headers: the whole header block, for its size.
    """
    size = len(payload_bytes(payload)) + (0 if headers is None else len(headers.encode()))
    return tuple(findings(PUBLISH_RULES, _facts(config, subject, size, options)))


def check_window(config: StreamConfig) -> tuple[RuleViolation, ...]:
    """Reasons why a stream would reject, or never acknowledge, all messages."""
    return tuple(
        findings(WINDOW_RULES, {setting: getattr(config, setting) for setting in _SETTINGS})
    )


def check_batching(config: StreamConfig, *, fast: bool = False) -> tuple[RuleViolation, ...]:
    """Reasons why a stream would reject all atomic batches, or all fast ones."""
    facts = {
        **{setting: getattr(config, setting) for setting in _SETTINGS},
        "fast": fast,
        "atomic": not fast,
    }
    return tuple(findings(BATCH_RULES, facts))


def refuse(found: tuple[RuleViolation, ...], stream: str) -> None:
    """Raise an error for the first violation.

    Raises:
        InvalidConfig: there is a violation.
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
    """Whether the stream would extend a message's time to live to that of its delete markers.

    A stream with one message for each subject does not extend it (seen on 2.11.11 to 2.15.1).
    """
    least = config.subject_delete_marker_ttl
    if not isinstance(ttl, timedelta) or least is None or config.max_msgs_per_subject == 1:
        return False
    return nanoseconds(ttl) < nanoseconds(least)


def _set(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.SET, None) for name in names)


def _unset(*names: str) -> tuple[Given, ...]:
    return tuple((name, Op.UNSET, None) for name in names)


#: Settings that the rows use.
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

WINDOW_RULES: Final = (
    ConfigRule(
        0,
        "no_ack",
        "the stream sends no acknowledgements, so no message of a window can succeed",
        _set("no_ack"),
    ),
    ConfigRule(10109, "sealed", "the stream stores no messages any more", _set("sealed")),
)
BATCH_RULES: Final = (
    ConfigRule(
        0, "no_ack", "the stream sends no acknowledgements, so no batch ends", _set("no_ack")
    ),
    ConfigRule(10109, "sealed", "the stream stores no messages any more", _set("sealed")),
    ConfigRule(
        10174, "allow_atomic", "needed by an atomic batch", _set("atomic") + _unset("allow_atomic")
    ),
    ConfigRule(
        10205, "allow_batched", "needed by a fast batch", _set("fast") + _unset("allow_batched")
    ),
)
PUBLISH_RULES: Final = (
    ConfigRule(0, "subject", "not stored by this stream", _set("elsewhere")),
    ConfigRule(
        0, "no_ack", "the stream sends no acknowledgements; publish without waiting", _set("no_ack")
    ),
    ConfigRule(10109, "sealed", "the stream stores no messages any more", _set("sealed")),
    ConfigRule(10054, "size", "more bytes than max_msg_size", _set("too large")),
    ConfigRule(
        10168, "allow_msg_counter", "needed by incr", _set("incr") + _unset("allow_msg_counter")
    ),
    ConfigRule(10060, "expected_stream", "names another stream", _set("other stream")),
    ConfigRule(
        10166, "allow_msg_ttl", "needed by a time to live", _set("ttl") + _unset("allow_msg_ttl")
    ),
    ConfigRule(
        0,
        "subject_delete_marker_ttl",
        "the stream would extend a shorter time to live to this",
        _set("short ttl"),
    ),
    ConfigRule(
        10169,
        "allow_msg_counter",
        "the stream accepts only messages with incr",
        _set("allow_msg_counter") + _unset("incr"),
    ),
    ConfigRule(
        10188,
        "allow_msg_schedules",
        "needed by a schedule",
        _set("schedule") + _unset("allow_msg_schedules"),
    ),
    ConfigRule(
        10188,
        "allow_msg_schedules",
        "needed to cancel a schedule",
        _set("cancel_schedule") + _unset("allow_msg_schedules"),
    ),
    ConfigRule(10190, "schedule target", "not stored by this stream", _set("target elsewhere")),
    ConfigRule(10203, "schedule source", "not stored by this stream", _set("source elsewhere")),
    ConfigRule(
        10111, "allow_rollup_hdrs", "needed by rollup", _set("rollup") + _unset("allow_rollup_hdrs")
    ),
    ConfigRule(10111, "deny_purge", "excludes rollup", _set("rollup", "deny_purge")),
)
