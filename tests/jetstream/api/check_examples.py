"""An example for each rule of `jsproto.jetstream.api.validation.rules`: what the server refuses for
that reason first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.stream import (
    ConsumerLimits,
    ExternalStream,
    Republish,
    StreamConsumerSource,
    StreamSource,
    SubjectTransform,
)

MS, S = timedelta(milliseconds=1), timedelta(seconds=1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = "x" * 5000
HUGE = {"k": "x" * 140_000}


def mirror(**settings: object) -> dict[str, object]:
    return {"subjects": (), "mirror": StreamSource(**{"name": "ORIGIN", **settings})}


def sources(*each: dict[str, object]) -> dict[str, object]:
    return {"sources": [StreamSource(**{"name": "ORIGIN", **settings}) for settings in each]}


def moved(*pairs: tuple[str, str]) -> list[SubjectTransform]:
    return [SubjectTransform(src=src, dest=dest) for src, dest in pairs]


READER = {"name": "READER", "deliver_subject": "deliver.here"}


def reader(**settings: object) -> StreamConsumerSource:
    return StreamConsumerSource(**{**READER, **settings})


BAD_SRC, BAD_DEST, LAPPING = (
    moved(("a..b", "c")),
    moved(("a.*", "b.{{nope(1)}}")),
    moved(("a.>", "b.>"), ("a.x", "c")),
)
TTL = {"allow_msg_ttl": True, "allow_rollup_hdrs": True}

#: (setting, text) to settings of a stream named CHECK with the subject ``check.>``.
STREAMS: dict[tuple[str, str], dict[str, object]] = {
    ("description", "at most 4096 bytes"): {"description": LONG},
    ("metadata", "at most 128 kB of names and values"): {"metadata": HUGE},
    ("num_replicas", "at most 5"): {"num_replicas": 6},
    ("num_replicas", "must not be negative"): {"num_replicas": -1},
    ("max_msgs", "write no limit as -1"): {"max_msgs": -2},
    ("max_msgs_per_subject", "write no limit as -1"): {"max_msgs_per_subject": -2},
    ("max_bytes", "write no limit as -1"): {"max_bytes": -2},
    ("max_msg_size", "write no limit as -1"): {"max_msg_size": -2},
    ("max_consumers", "write no limit as -1"): {"max_consumers": -2},
    ("max_age", "must not be negative"): {"max_age": -S},
    ("max_age", "at least 100 ms"): {"max_age": MS},
    ("duplicate_window", "must not be negative"): {"duplicate_window": -S},
    ("duplicate_window", "must not be longer than max_age"): {
        "duplicate_window": 2 * S,
        "max_age": S,
    },
    ("duplicate_window", "at least 100 ms"): {"duplicate_window": MS},
    ("allow_rollup_hdrs", "a rollup purges, which deny_purge denies"): {
        "allow_rollup_hdrs": True,
        "deny_purge": True,
    },
    ("allow_msg_counter", "not with discard new"): {"allow_msg_counter": True, "discard": "new"},
    ("allow_msg_counter", "not with allow_msg_ttl"): {
        "allow_msg_counter": True,
        "allow_msg_ttl": True,
    },
    ("allow_msg_counter", "not with allow_msg_schedules"): {
        "allow_msg_counter": True,
        "allow_msg_schedules": True,
    },
    ("allow_msg_counter", "only with retention limits"): {
        "allow_msg_counter": True,
        "retention": "interest",
    },
    ("discard_new_per_subject", "only with discard new"): {
        "discard_new_per_subject": True,
        "max_msgs_per_subject": 1,
    },
    ("discard_new_per_subject", "only with max_msgs_per_subject"): {
        "discard_new_per_subject": True,
        "discard": "new",
    },
    ("subject_delete_marker_ttl", "at least 1 s"): {"subject_delete_marker_ttl": MS, **TTL},
    ("subject_delete_marker_ttl", "only with allow_msg_ttl"): {
        "subject_delete_marker_ttl": S,
        "allow_rollup_hdrs": True,
    },
    ("subject_delete_marker_ttl", "only with allow_rollup_hdrs"): {
        "subject_delete_marker_ttl": S,
        "allow_msg_ttl": True,
    },
    ("subject_delete_marker_ttl", "must not be negative"): {"subject_delete_marker_ttl": -S},
    ("allow_msg_schedules", "not with discard new"): {
        "allow_msg_schedules": True,
        "discard": "new",
    },
    ("allow_msg_schedules", "only with allow_rollup_hdrs"): {"allow_msg_schedules": True},
    ("persist_mode", "async only on file storage"): {"persist_mode": "async", "storage": "memory"},
    ("persist_mode", "async not with replicas"): {"persist_mode": "async", "num_replicas": 3},
    ("persist_mode", "async not with allow_atomic"): {
        "persist_mode": "async",
        "allow_atomic": True,
    },
    ("first_seq", "not on a mirror"): {**mirror(), "first_seq": 5},
    ("subjects", "not on a mirror"): {**mirror(), "subjects": ["a"]},
    ("sources", "not on a mirror"): {**mirror(), **sources({"name": "OTHER"})},
    ("allow_msg_counter", "not on a mirror"): {**mirror(), "allow_msg_counter": True},
    ("allow_atomic", "not on a mirror"): {**mirror(), "allow_atomic": True},
    ("allow_batched", "not on a mirror"): {**mirror(), "allow_batched": True},
    ("allow_msg_schedules", "not on a mirror"): {**mirror(), "allow_msg_schedules": True},
    ("mirror.consumer.name", "expected the name of a consumer"): mirror(
        consumer=reader(name="a.b")
    ),
    ("mirror.consumer.deliver_subject", "expected a literal subject"): mirror(
        consumer=reader(deliver_subject="a.*")
    ),
    ("mirror.consumer", "the consumer defines its own start"): mirror(
        consumer=reader(), opt_start_seq=5
    ),
    ("mirror.consumer", "the consumer has its own filter"): mirror(
        consumer=reader(), filter_subject="a"
    ),
    ("mirror.filter_subject", "not beside subject_transforms"): mirror(
        filter_subject="a", subject_transforms=moved(("a", "b"))
    ),
    ("subject_delete_marker_ttl", "not on a mirror"): {
        **mirror(),
        "subject_delete_marker_ttl": S,
        **TTL,
    },
    ("mirror.subject_transforms", "expected a subject as src"): mirror(subject_transforms=BAD_SRC),
    ("mirror.subject_transforms", "expected a subject as dest"): mirror(
        subject_transforms=BAD_DEST
    ),
    ("mirror.subject_transforms", "must not overlap"): mirror(subject_transforms=LAPPING),
    ("mirror.name", "expected the name of a stream"): mirror(name="a.b"),
    ("allow_msg_schedules", "not beside sources"): {
        **sources({}),
        "allow_msg_schedules": True,
        "allow_rollup_hdrs": True,
    },
    ("sources.name", "expected the name of a stream"): sources({"name": "a.b"}),
    ("sources", "must not repeat"): sources({}, {}),
    ("sources.filter_subject", "not beside subject_transforms"): sources(
        {"filter_subject": "a", "subject_transforms": moved(("a", "b"))}
    ),
    ("sources.subject_transforms", "expected a subject as src"): sources(
        {"subject_transforms": BAD_SRC}
    ),
    ("sources.subject_transforms", "expected a subject as dest"): sources(
        {"subject_transforms": BAD_DEST}
    ),
    ("sources.subject_transforms", "must not overlap"): sources({"subject_transforms": LAPPING}),
    ("sources.consumer.name", "expected the name of a consumer"): sources(
        {"consumer": reader(name="a.b")}
    ),
    ("sources.consumer.deliver_subject", "expected a literal subject"): sources(
        {"consumer": reader(deliver_subject="a.*")}
    ),
    ("sources.consumer", "the consumer defines its own start"): sources(
        {"consumer": reader(), "opt_start_seq": 5}
    ),
    ("sources.consumer", "the consumer has its own filter"): sources(
        {"consumer": reader(), "filter_subject": "a"}
    ),
    ("sources.consumer", "two sources must not share a consumer"): sources(
        {"consumer": reader()}, {"consumer": reader(), "subject_transforms": moved(("a", "b"))}
    ),
    ("mirror.external.deliver", "expected a subject without wildcards"): mirror(
        external=ExternalStream(api="other.api", deliver="a.*")
    ),
    ("sources.external.deliver", "expected a subject without wildcards"): sources(
        {"external": ExternalStream(api="other.api", deliver="a.*")}
    ),
    ("mirror.external.api", "expected a subject without wildcards"): mirror(
        external=ExternalStream(api="other.*")
    ),
    ("sources.external.api", "expected a subject without wildcards"): sources(
        {"external": ExternalStream(api="other.*")}
    ),
    ("mirror.external.api", "must not be the own API"): mirror(
        external=ExternalStream(api="$JS.API")
    ),
    ("sources.external.api", "must not be the own API"): sources(
        {"external": ExternalStream(api="$JS.API")}
    ),
    ("subjects", "expected subjects"): {"subjects": ["a..b"]},
    ("subjects", "must not repeat"): {"subjects": ["check.a", "check.a"]},
    ("subjects", "all subjects only with no_ack"): {"subjects": [">"]},
    ("subjects", "all subjects only with one replica"): {
        "subjects": [">"],
        "no_ack": True,
        "num_replicas": 3,
    },
    ("subjects", "API subjects only with no_ack"): {"subjects": ["$JS.>"]},
    ("subjects", "system subjects only with no_ack"): {"subjects": ["$SYS.>"]},
    ("subjects", "must not overlap"): {"subjects": ["check.*", "check.a"]},
    ("subject_transform.src", "expected a subject"): {
        "subject_transform": SubjectTransform(src="a..b", dest="c")
    },
    ("subject_transform.dest", "expected a subject"): {
        "subject_transform": SubjectTransform(src="check.*", dest="c.{{nope(1)}}")
    },
    ("republish.src", "must name a subject"): {"republish": Republish(dest="elsewhere.>")},
    ("republish.dest", "must not be stored by the stream itself"): {
        "republish": Republish(src="check.>", dest="check.>")
    },
    ("placement.preferred", "not for a new stream"): {"placement": Placement(preferred="n1")},
}

#: (setting, text) to what the stream was, and what it shall become.
UPDATES: dict[tuple[str, str], tuple[dict[str, object], dict[str, object]]] = {
    ("storage", "cannot be changed"): ({"storage": "memory"}, {"storage": "file"}),
    ("retention", "cannot be changed from or to workqueue"): ({}, {"retention": "workqueue"}),
    ("sealed", "cannot be taken back"): ({"sealed": True}, {}),
    ("deny_delete", "cannot be taken back"): ({"deny_delete": True}, {}),
    ("deny_purge", "cannot be taken back"): ({"deny_purge": True}, {}),
    ("mirror", "cannot be changed"): (mirror(), mirror(filter_subject="a")),
    ("allow_msg_ttl", "cannot be taken back"): ({"allow_msg_ttl": True}, {}),
    ("allow_msg_counter", "cannot be changed"): ({}, {"allow_msg_counter": True}),
    ("allow_msg_schedules", "cannot be taken back"): (
        {"allow_msg_schedules": True, "allow_rollup_hdrs": True},
        {"allow_rollup_hdrs": True},
    ),
    ("persist_mode", "cannot be changed"): ({}, {"persist_mode": "async"}),
}

PUSH = {"deliver_subject": "deliver.there"}
FC = {
    **PUSH,
    "ack_policy": "flow_control",
    "flow_control": True,
    "idle_heartbeat": S,
    "max_ack_pending": 10,
}
LIMITED = {"consumer_limits": ConsumerLimits(max_ack_pending=5, inactive_threshold=10 * S)}
QUEUE = {"retention": "workqueue"}
PINNED = {"priority_policy": "pinned_client"}


def without(settings: dict[str, object], *names: str, **more: object) -> dict[str, object]:
    return {**{name: value for name, value in settings.items() if name not in names}, **more}


#: (setting, text) to settings of a consumer named C, and of its stream.
CONSUMERS: dict[tuple[str, str], tuple[dict[str, object], dict[str, object]]] = {
    ("max_deliver", "write no limit as -1"): ({"max_deliver": -2}, {}),
    ("max_waiting", "must not be negative"): ({"max_waiting": -1}, {}),
    ("max_ack_pending", "write no limit as -1"): ({"max_ack_pending": -2}, {}),
    ("max_batch", "must not be negative"): ({"max_batch": -1}, {}),
    ("max_expires", "must not be negative"): ({"max_expires": -S}, {}),
    ("max_bytes", "must not be negative"): ({"max_bytes": -1}, {}),
    ("idle_heartbeat", "must not be negative"): ({**PUSH, "idle_heartbeat": -S}, {}),
    ("inactive_threshold", "must not be negative"): ({"inactive_threshold": -S}, {}),
    ("priority_timeout", "must not be negative"): ({"priority_timeout": -S}, {}),
    ("num_replicas", "at most the stream's"): ({"num_replicas": 3}, {}),
    ("num_replicas", "must not be negative"): ({"num_replicas": -1}, {}),
    ("num_replicas", "must equal the stream's unless retention is limits"): (
        {"num_replicas": 1},
        {"retention": "interest", "num_replicas": 3},
    ),
    ("backoff", "must not be negative"): ({"backoff": [-S], "ack_policy": "explicit"}, {}),
    ("ack_wait", "must not be negative"): ({"ack_wait": -S, "ack_policy": "explicit"}, {}),
    ("ack_policy", "flow_control only when pushed"): (without(FC, "deliver_subject"), {}),
    ("flow_control", "needed by ack_policy flow_control"): (without(FC, "flow_control"), {}),
    ("idle_heartbeat", "exactly 1 s with ack_policy flow_control"): (
        {**FC, "idle_heartbeat": 2 * S},
        {},
    ),
    ("max_ack_pending", "needed by ack_policy flow_control"): ({**FC, "max_ack_pending": -1}, {}),
    ("ack_wait", "not with ack_policy flow_control"): ({**FC, "ack_wait": S}, {}),
    ("backoff", "not with ack_policy flow_control"): ({**FC, "backoff": [S]}, {}),
    ("max_deliver", "not with ack_policy flow_control"): ({**FC, "max_deliver": 3}, {}),
    ("max_deliver", "at least as many as backoff has steps"): (
        {"backoff": [S, S, S], "max_deliver": 2, "ack_policy": "explicit"},
        {},
    ),
    ("description", "at most 4096 bytes"): ({"description": LONG}, {}),
    ("deliver_subject", "expected a subject without wildcards"): ({"deliver_subject": "a.*"}, {}),
    ("deliver_subject", "expected a subject"): ({"deliver_subject": "a..b"}, {}),
    ("deliver_subject", "must not be stored by the stream itself"): (
        {"deliver_subject": "check.a"},
        {},
    ),
    ("max_waiting", "only when pulled"): ({**PUSH, "max_waiting": 5}, {}),
    ("max_ack_pending", "needs an ack_policy"): ({**PUSH, "max_ack_pending": 5}, {}),
    ("idle_heartbeat", "at least 100 ms"): ({**PUSH, "idle_heartbeat": MS}, {}),
    ("ack_policy", "explicit on a workqueue"): ({"ack_policy": "none"}, QUEUE),
    ("rate_limit_bps", "only when pushed"): ({"rate_limit_bps": 1000}, {}),
    ("idle_heartbeat", "only when pushed"): ({"idle_heartbeat": S}, {}),
    ("flow_control", "only when pushed"): ({"flow_control": True}, {}),
    ("max_expires", "at least 1 ms"): ({"max_expires": timedelta(microseconds=5)}, {}),
    ("max_ack_pending", "at most what the stream allows"): (
        {"max_ack_pending": 9, "ack_policy": "explicit"},
        LIMITED,
    ),
    ("inactive_threshold", "at most what the stream allows"): (
        {"inactive_threshold": 20 * S},
        LIMITED,
    ),
    ("direct", "only when pushed"): ({"direct": True}, {}),
    ("direct", "not with a durable name"): ({**PUSH, "direct": True, "durable_name": "C"}, {}),
    ("filter_subjects", "not beside filter_subject"): (
        {"filter_subject": "check.a", "filter_subjects": ["check.b"]},
        {},
    ),
    ("filter_subjects", "must not be empty"): ({"filter_subjects": [""]}, {}),
    ("filter_subject", "expected subjects"): ({"filter_subjects": ["check..a"]}, {}),
    ("filter_subjects", "must not overlap"): ({"filter_subjects": ["check.*", "check.a"]}, {}),
    ("opt_start_seq", "not with deliver_policy all"): ({"opt_start_seq": 5}, {}),
    ("opt_start_time", "not with deliver_policy all"): ({"opt_start_time": NOW}, {}),
    ("opt_start_seq", "not with deliver_policy last"): (
        {"deliver_policy": "last", "opt_start_seq": 5},
        {},
    ),
    ("opt_start_time", "not with deliver_policy last"): (
        {"deliver_policy": "last", "opt_start_time": NOW},
        {},
    ),
    ("opt_start_seq", "not with deliver_policy last_per_subject"): (
        {"deliver_policy": "last_per_subject", "opt_start_seq": 5, "filter_subject": "check.a"},
        {},
    ),
    ("opt_start_time", "not with deliver_policy last_per_subject"): (
        {"deliver_policy": "last_per_subject", "opt_start_time": NOW, "filter_subject": "check.a"},
        {},
    ),
    ("filter_subject", "needed by deliver_policy last_per_subject"): (
        {"deliver_policy": "last_per_subject"},
        {},
    ),
    ("opt_start_seq", "not with deliver_policy new"): (
        {"deliver_policy": "new", "opt_start_seq": 5},
        {},
    ),
    ("opt_start_time", "not with deliver_policy new"): (
        {"deliver_policy": "new", "opt_start_time": NOW},
        {},
    ),
    ("opt_start_seq", "needed by deliver_policy by_start_sequence"): (
        {"deliver_policy": "by_start_sequence"},
        {},
    ),
    ("opt_start_time", "not with deliver_policy by_start_sequence"): (
        {"deliver_policy": "by_start_sequence", "opt_start_seq": 5, "opt_start_time": NOW},
        {},
    ),
    ("opt_start_time", "needed by deliver_policy by_start_time"): (
        {"deliver_policy": "by_start_time"},
        {},
    ),
    ("opt_start_seq", "not with deliver_policy by_start_time"): (
        {"deliver_policy": "by_start_time", "opt_start_seq": 5, "opt_start_time": NOW},
        {},
    ),
    ("sample_freq", "expected a percentage"): ({"sample_freq": "often"}, {}),
    ("flow_control", "needs idle_heartbeat"): ({**PUSH, "flow_control": True}, {}),
    ("name", "must equal durable_name if both are given"): ({"name": "D", "durable_name": "C"}, {}),
    ("metadata", "at most 128 kB of names and values"): ({"metadata": HUGE}, {}),
    ("priority_policy", "only when pulled"): ({**PUSH, **PINNED, "priority_groups": ["g"]}, {}),
    ("priority_groups", "needed by priority_policy"): (PINNED, {}),
    ("priority_groups", "must not be empty"): ({**PINNED, "priority_groups": [""]}, {}),
    ("priority_groups", "1 to 16 of a-z, A-Z, 0-9 and -_/="): (
        {**PINNED, "priority_groups": ["a b"]},
        {},
    ),
    ("priority_groups", "need a priority_policy"): ({"priority_groups": ["g"]}, {}),
    ("priority_timeout", "needs a priority_policy"): ({"priority_timeout": S}, {}),
    ("deliver_policy", "all on a workqueue"): (
        {"deliver_policy": "new", "ack_policy": "explicit"},
        QUEUE,
    ),
}
#: A workqueue refuses twice over ack policies: whoever is pulled without, and every one that is not
#: explicit.
WORKQUEUE_ALL = ({"ack_policy": "all"}, QUEUE)
#: What one server cannot be made to say: replicas need a cluster, and the name in a subject wins
#: over the one in the body.
NOT_SENT = {
    ("name", "cannot be changed"),
    ("name", "must equal durable_name if both are given"),
    ("num_replicas", "at most the stream's"),
    ("num_replicas", "must equal the stream's unless retention is limits"),
}
