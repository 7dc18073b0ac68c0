"""Facts of a configuration, flat and with the server's defaults: the input of :mod:`rules`.

A fact has a name and a value. Facts are: each setting in its form on the wire (durations in
nanoseconds), the settings of a mirror with the prefix ``mirror.``, and results that need several
settings, such as ``subjects overlap``. Some facts come from another configuration: the stream of a
consumer, or the one before an update. Their names show it. A caller without that configuration
leaves them out, and rules that need them find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig, StreamSource, SubjectTransform
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.patterns import (
    any_pair_collides,
    any_within_another,
    collide,
    literal,
    valid,
    within,
)

Facts: TypeAlias = Mapping[str, object]

#: The server's values for missing settings and for 0.
STREAM_DEFAULTS: Final[Facts] = {
    "storage": "file",
    "retention": "limits",
    "discard": "old",
    "num_replicas": 1,
    "persist_mode": "default",
}
CONSUMER_DEFAULTS: Final[Facts] = {
    "deliver_policy": "all",
    "ack_policy": "none",
    "max_deliver": -1,
    "priority_policy": "none",
    "idle_heartbeat": 0,
}

_ASSET: Final = re.compile(r"[^ \t\r\n\f.*>\\/]+").fullmatch
_GROUP: Final = re.compile(r"[a-zA-Z0-9/_=-]{1,16}").fullmatch
_CALL: Final = re.compile(r"\{\{\s*(\w+)\s*\([^()]*\)\s*\}\}").fullmatch
_FUNCTIONS: Final = frozenset(
    {
        "wildcard", "partition", "splitfromleft", "splitfromright", "slicefromleft",
        "slicefromright", "split", "left", "right", "random",
    }
)  # fmt: skip


def stream_facts(config: StreamConfig) -> Facts:
    """Facts of a stream's configuration."""
    subjects = config.subjects
    facts: dict[str, object] = {
        **_settings(config, STREAM_DEFAULTS),
        "duplicate_window beyond max_age": config.max_age is not None
        and config.duplicate_window is not None
        and 0 < config.max_age.total_seconds() < config.duplicate_window.total_seconds(),
        "metadata size": _size(config.metadata),
        "subjects invalid": not all(valid(each) for each in subjects),
        "subjects twice": len(set(subjects)) < len(subjects),
        "subjects everything": ">" in subjects,
        "subjects of the api": any(
            collide(each, space) and not within(each, "$JS.EVENT.>")
            for each in subjects
            for space in ("$JS.>", "$JSC.>", "$NRG.>")
        ),
        "subjects of the system": any(
            collide(each, "$SYS.>") and not within(each, "$SYS.ACCOUNT.>") for each in subjects
        ),
        "subjects overlap": any_pair_collides(subjects),
    }
    if config.mirror is not None:
        facts.update({f"mirror.{name}": value for name, value in _source(config.mirror).items()})
        facts["mirror.transforms overlap"] = any_pair_collides(_filters(config.mirror))
    sources = [_source(each) for each in config.sources]
    for name in sources[0] if sources else ():
        facts[f"source.{name}"] = [each[name] for each in sources if each[name]] or None
    through = [
        (each.name, None if each.external is None else each.external.api, each.consumer.name)
        for each in config.sources
        if each.consumer is not None
    ]
    facts["source.consumer twice"] = len(set(through)) < len(through)
    facts["sources twice"] = len({str(each.to_wire()) for each in config.sources}) < len(sources)
    facts["source.transforms overlap"] = any(
        any_within_another(_filters(each)) for each in config.sources
    )
    if config.subject_transform is not None:
        facts.update(
            {f"transform.{name}": bad for name, bad in _transform(config.subject_transform).items()}
        )
    if config.republish is not None:
        # A republish of everything to everything follows the stream's own transform, if that covers
        # the stream's only subject.
        moved = config.subject_transform
        follows = (
            config.republish.dest == ">"
            and config.republish.src in {None, "", ">"}
            and moved is not None
            and list(subjects) == [moved.src]
        )
        facts["republish cycle"] = not follows and any(
            collide(config.republish.dest, each) for each in subjects or (config.name,)
        )
    return facts


def consumer_facts(config: ConsumerConfig, stream: StreamConfig | None = None) -> Facts:
    """Facts of a consumer's configuration, and of its stream if that is known."""
    filters = (
        [config.filter_subject] if config.filter_subject and not config.filter_subjects else []
    ) + list(config.filter_subjects)
    settings = _settings(config, CONSUMER_DEFAULTS)
    sample = str(config.sample_freq or "").removesuffix("%")
    deliver = config.deliver_subject or ""
    facts: dict[str, object] = {
        **settings,
        "metadata size": _size(config.metadata),
        "filters invalid": not all(valid(each) for each in filters if each),
        "filters empty": "" in config.filter_subjects,
        "filters overlap": any_within_another([each for each in filters if each]),
        "backoff negative": any(each.total_seconds() < 0 for each in config.backoff),
        "backoff beyond deliveries": 0 < cast("int", settings["max_deliver"]) < len(config.backoff),
        "deliver_subject wild": bool(deliver) and not literal(deliver),
        "deliver_subject invalid": bool(deliver) and not valid(deliver),
        "sampling invalid": bool(sample) and re.fullmatch(r"\+?[0-9]+", sample) is None,
        "names differ": bool(
            config.name and config.durable_name and config.name != config.durable_name
        ),
        "groups empty": "" in config.priority_groups,
        "groups invalid": not all(_GROUP(each) for each in config.priority_groups),
    }
    if stream is not None:
        limits = stream.consumer_limits
        theirs = _settings(stream, STREAM_DEFAULTS)
        replicas = cast("int", theirs["num_replicas"])
        ours = config.num_replicas or 0
        most = 0 if limits is None else limits.max_ack_pending or 0
        longest = None if limits is None else limits.inactive_threshold
        threshold = config.inactive_threshold
        facts.update(
            {
                "stream.retention": theirs["retention"],
                "replicas beyond the stream's": ours > replicas,
                "replicas other than the stream's": ours not in {0, replicas},
                "deliver_subject cycle": any(
                    within(deliver, each) for each in stream.subjects or (stream.name,)
                )
                and bool(deliver),
                "ack pending beyond the stream's": 0 < most < (config.max_ack_pending or 0),
                "threshold beyond the stream's": longest is not None
                and threshold is not None
                and 0 < longest.total_seconds() < threshold.total_seconds(),
            }
        )
    return facts


def update_facts(old: StreamConfig, new: StreamConfig) -> Facts:
    """Facts about the changes of a stream's update."""
    before, after = _settings(old, STREAM_DEFAULTS), _settings(new, STREAM_DEFAULTS)
    facts: dict[str, object] = {
        f"{name} changed": before.get(name) != after.get(name)
        for name in ("name", "storage", "retention", "persist_mode")
    }
    for name in (
        "sealed",
        "deny_delete",
        "deny_purge",
        "allow_msg_ttl",
        "allow_msg_counter",
        "allow_msg_schedules",
    ):
        facts[f"{name} taken back"] = bool(before.get(name)) and not after.get(name)
    facts["allow_msg_counter changed"] = bool(before.get("allow_msg_counter")) != bool(
        after.get("allow_msg_counter")
    )
    facts["a workqueue"] = "workqueue" in {before["retention"], after["retention"]}
    facts["mirror changed"] = new.mirror is not None and new.mirror != old.mirror
    return facts


# ------------------------------------------------------------------------------- common functions


def _settings(config: Document, defaults: Facts) -> dict[str, object]:
    """Settings as on the wire, nested ones flat; missing ones and 0 become the default."""
    flat: dict[str, object] = dict(defaults)
    for name, value in config.to_wire().items():
        if isinstance(value, dict):
            flat[name] = True
            for inner, each in cast("dict[str, object]", value).items():
                flat[f"{name}.{inner}"] = each
        elif value or name not in defaults:
            flat[name] = value
    return flat


def _size(labels: Mapping[str, str]) -> int:
    return sum(len(name.encode()) + len(value.encode()) for name, value in labels.items())


def _source(source: StreamSource) -> dict[str, object]:
    """Facts of one mirror or source."""
    reader, external = source.consumer, source.external
    transforms = [_transform(each) for each in source.subject_transforms]
    facts: dict[str, object] = {
        "name invalid": external is None and _ASSET(source.name) is None,
        "filters twice": bool(source.filter_subject) and bool(source.subject_transforms),
        "transform.src invalid": any(each["src invalid"] for each in transforms),
        "transform.dest invalid": any(each["dest invalid"] for each in transforms),
        "consumer.name invalid": reader is not None and _ASSET(reader.name or "") is None,
        "consumer.deliver_subject invalid": reader is not None
        and not (valid(reader.deliver_subject or "") and literal(reader.deliver_subject or "")),
        "consumer beside a start": reader is not None
        and (bool(source.opt_start_seq) or source.opt_start_time is not None),
        "consumer beside a filter": reader is not None and bool(source.filter_subject),
        "external.deliver invalid": external is not None
        and bool(external.deliver)
        and not _publishable(external.deliver or ""),
        "external.api invalid": external is not None and not _publishable(external.api),
        "external.api own": external is not None and collide(external.api, "$JS.API"),
    }
    return facts


def _transform(transform: SubjectTransform) -> dict[str, object]:
    source = transform.src or ""
    return {
        "src invalid": bool(source) and not valid(source),
        "dest invalid": not _mappable(transform.dest, source),
    }


def _mappable(dest: str, source: str) -> bool:
    """Whether a destination is valid; what only the server can check counts as valid."""
    if not dest:
        return True
    words = dest.split(".")
    calls = [_CALL(each) for each in words]
    if any(call is not None and call[1].casefold() not in _FUNCTIONS for call in calls):
        return False
    plain = [each for each, call in zip(words, calls, strict=True) if call is None]
    stars = sum(each == "*" for each in (source or ">").split("."))
    return all(plain) and ">" not in plain[:-1] and (plain or [""]).count("*") <= max(stars, 0)


def _filters(source: StreamSource) -> Sequence[str]:
    return [each.src or ">" for each in source.subject_transforms]


def _publishable(subject: str) -> bool:
    return valid(subject) and literal(subject)
