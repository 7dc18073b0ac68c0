"""What the server refuses about a configuration, with its words.

Which configurations are refused, by which number and in which order, stands in the rules of
:mod:`jsproto.jetstream.api.validation.rules`, which real servers have confirmed one by one. What is
added here is what a client need not know: since which version a rule holds, and the text where the
number alone does not give it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.api.patterns import collide, within
from jsproto.jetstream.api.validation.facts import consumer_facts, stream_facts
from jsproto.jetstream.api.validation.rules import (
    CONSUMER_RULES,
    STREAM_RULES,
    RuleViolation,
    findings,
)
from jsproto.testing.simserver.values.documents import Table, texts
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import INVALID_CONFIG, ApiRefusal, numbered

#: Numbers that came later than 2.9.
_SINCE: Final[Mapping[int, tuple[int, int]]] = {
    10134: (2, 10),
    10136: (2, 10),
    10138: (2, 10),
    10139: (2, 10),
    10153: (2, 10),
    10159: (2, 11),
    10161: (2, 11),
    10162: (2, 11),
    10178: (2, 11),
    10157: (2, 12),
    10183: (2, 12),
    10184: (2, 12),
    10196: (2, 12),
    10197: (2, 12),
}
#: Setting and its rule: the server's text, where the number has none of its own.
_TEXTS: Final[Mapping[tuple[str, str], str]] = {
    (
        "description",
        "at most 4096 bytes",
    ): "stream description is too long, maximum allowed is 4096",
    (
        "metadata",
        "at most 128 kB of names and values",
    ): "stream metadata exceeds maximum size of 131072 bytes",
    ("num_replicas", "at most 5"): "maximum replicas is 5",
    ("max_age", "must not be negative"): "max age can not be negative",
    ("max_age", "at least 100 ms"): "max age needs to be >= 100ms",
    ("duplicate_window", "must not be negative"): "duplicates window can not be negative",
    (
        "duplicate_window",
        "must not be longer than max_age",
    ): "duplicates window can not be larger then max age",
    ("duplicate_window", "at least 100 ms"): "duplicates window needs to be >= 100ms",
    (
        "allow_rollup_hdrs",
        "a rollup purges, which deny_purge denies",
    ): "roll-ups require the purge permission",
    ("allow_msg_counter", "not with discard new"): "counter stream cannot use discard new",
    ("allow_msg_counter", "not with allow_msg_ttl"): "counter stream cannot use message TTLs",
    (
        "allow_msg_counter",
        "not with allow_msg_schedules",
    ): "counter stream cannot use message schedules",
    (
        "allow_msg_counter",
        "only with retention limits",
    ): "counter stream can only use limits retention",
    ("discard_new_per_subject", "only with discard new"): (
        "discard new per subject requires discard new policy to be set"
    ),
    ("discard_new_per_subject", "only with max_msgs_per_subject"): (
        "discard new per subject requires max msgs per subject > 0"
    ),
    (
        "subject_delete_marker_ttl",
        "at least 1 s",
    ): "subject delete marker TTL must be at least 1 second",
    (
        "subject_delete_marker_ttl",
        "must not be negative",
    ): "subject delete marker TTL must not be negative",
    ("allow_msg_schedules", "not with discard new"): "message scheduling cannot use discard new",
    (
        "persist_mode",
        "async only on file storage",
    ): "async persist mode is only supported on file storage",
    ("persist_mode", "async not with allow_atomic"): (
        "async persist mode is not supported with atomic batch publish"
    ),
    ("subjects", "expected subjects"): "invalid subject",
    ("subjects", "must not repeat"): "duplicate subjects detected",
    (
        "subjects",
        "all subjects only with no_ack",
    ): "capturing all subjects requires no-ack to be true",
    ("subjects", "API subjects only with no_ack"): (
        "subjects that overlap with jetstream api require no-ack to be true"
    ),
    ("subjects", "system subjects only with no_ack"): (
        "subjects that overlap with system api require no-ack to be true"
    ),
    ("republish.dest", "must not be stored by the stream itself"): (
        "stream configuration for republish destination forms a cycle"
    ),
    ("max_deliver", "write no limit as -1"): "max_deliver must be set to -1",
    ("max_ack_pending", "write no limit as -1"): "max_ack_pending must be set to -1",
    ("idle_heartbeat", "exactly 1 s with ack_policy flow_control"): (
        "flow control ack policy heartbeat needs to be 1s"
    ),
    ("filter_subject", "expected subjects"): "nats: invalid subject",
}
#: Subjects of the API, and what streams over them and over others of the server's own have to be,
#: where that is judged.
_API: Final = "$JS.API.>"
_OF_THE_SERVER: Final = frozenset(
    {"API subjects only with no_ack", "system subjects only with no_ack"}
)
_WITH_NO_ACK: Final = _OF_THE_SERVER | {
    "all subjects only with no_ack",
    "all subjects only with one replica",
}
#: Numbers whose text is completed by a limit.
_LIMITS: Final[Mapping[int, str]] = {10107: "4096", 10135: "128KB"}
#: What a work queue says to new consumers only.
_OF_NEW_ONES: Final = frozenset({10098, 10101})
#: Its text has changed.
_PULL_REQUIRES_ACK: Final = 10084
_START: Final = {"opt_start_seq": "start sequence", "opt_start_time": "start time"}
_UNSET: Final = {**_START, "filter_subject": "filter subject"}


def refused_stream(asked: Table, profile: Profile, *, pedantic: bool = False) -> ApiRefusal | None:
    """What the server says against a stream that is asked for, ``None`` if nothing."""
    if not asked.get("name"):
        more = r", '\', '/'" if profile.strict_json else ""
        return INVALID_CONFIG.about(
            f"stream name is required and can not contain '.', '*', '>'{more}"
        )
    config = StreamConfig.from_wire(asked)
    found = findings(STREAM_RULES, stream_facts(config), pedantic=pedantic)
    if profile.refuses_everything:
        wide = not profile.judges_wildcards and not any(
            each.startswith("$") for each in config.subjects
        )
        return _first(
            (each for each in found if not (wide and each.rule.text in _OF_THE_SERVER)),
            asked,
            profile,
        )
    if any(within(subject, _API) for subject in config.subjects):
        return INVALID_CONFIG.about("subjects overlap with jetstream api")
    return _first((each for each in found if each.rule.text not in _WITH_NO_ACK), asked, profile)


class Against(NamedTuple):
    """What the server says against a consumer: at once, and at last if it is not there yet;
    ``None`` is nothing.
    """

    at_once: ApiRefusal | None
    at_last: ApiRefusal | None


def refused_consumer(
    asked: Table, stream: Table, profile: Profile, *, pedantic: bool = False
) -> Against:
    """What the server says against a consumer that is asked for."""
    config = ConsumerConfig.from_wire(asked)
    facts = consumer_facts(config, StreamConfig.from_wire(stream))
    found = list(findings(CONSUMER_RULES, facts, pedantic=pedantic))
    return Against(
        _first((each for each in found if each.err_code not in _OF_NEW_ONES), asked, profile),
        _first((each for each in found if each.err_code in _OF_NEW_ONES), asked, profile),
    )


def _first(found: Iterable[RuleViolation], asked: Table, profile: Profile) -> ApiRefusal | None:
    for finding in found:
        if _SINCE.get(finding.err_code, (0, 0)) <= profile.number:
            if finding.err_code == _PULL_REQUIRES_ACK:
                return numbered(finding.err_code)._replace(text=profile.workqueue_ack_text)
            return numbered(finding.err_code, _text(finding, asked))
    return None


def _text(finding: RuleViolation, asked: Table) -> str:
    setting, rule = finding.setting, finding.rule.text
    policy = str(asked.get("deliver_policy", "all")).replace("_", " ")
    if finding.err_code == 10094:
        if rule.startswith("needed"):
            return f"consumer delivery policy is deliver {policy}, but optional {_UNSET[setting]} is not set"
        return f"consumer delivery policy is deliver {policy}, but optional {_START[setting]} is also set"
    if finding.err_code == 10095:
        sample = str(asked.get("sample_freq")).removesuffix("%")
        return f'strconv.Atoi: parsing "{sample}": invalid syntax'
    if (setting, rule) == ("subjects", "must not overlap"):
        subjects = texts(asked, "subjects")
        one, other = next(
            (one, other)
            for at, one in enumerate(subjects)
            for other in subjects[at + 1 :]
            if collide(one, other)
        )
        return f'subject "{one}" overlaps with "{other}"'
    return _LIMITS.get(finding.err_code) or _TEXTS.get((setting, rule), f"{setting} {rule}")
