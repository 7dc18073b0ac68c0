"""Rules of push and ordered consumers: flow control, SUB before CREATE, and gaps.

Their sources are ADR-15 and ADR-17.
"""

from __future__ import annotations

from typing import Final

from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule
from jsproto.trace.observe.client import number
from jsproto.trace.observe.facts import (
    ConsumerLeaked,
    ConsumerRequested,
    FlowAnswered,
    FlowMissed,
    GapNotRecovered,
    OldConsumerKept,
    PushSilence,
    SnapshotStalled,
    SubscriptionStarted,
)
from jsproto.trace.observe.ledger import SECOND, seconds

#: Heartbeats that report the same missing answer; ADR-37 lets a client miss two heartbeats.
MISSED: Final = 2
#: A consumer and a subscription of one inbox within this time belong together.
AT_ONCE: Final = SECOND


def _late(fact: SubscriptionStarted) -> str | None:
    consumer = fact.consumer
    if fact.early is not None and fact.interest.subject.startswith("_INBOX."):
        return (
            f"the client subscribed to {fact.interest.subject} only after the request in "
            f"line {fact.early.line} to deliver there"
        )
    if (
        consumer is None
        or consumer.unheard_by is not fact.link
        or not fact.interest.subject.startswith("_INBOX.")
    ):
        return None
    if fact.interest.sign - consumer.at > AT_ONCE:
        return None
    return (
        f"the client subscribed to {fact.interest.subject} only after {consumer.key[1]} "
        "was created to deliver there"
    )


def _group(fact: SubscriptionStarted) -> str | None:
    group = fact.consumer.config.get("deliver_group") if fact.consumer is not None else None
    if isinstance(group, str) and group and group != fact.interest.queue:
        return f"the consumer delivers to the group {group}, and the subscription is not in it"
    return None


def _unanswered(fact: FlowMissed) -> str | None:
    if fact.mark.missed != MISSED or fact.mark.answers:
        return None
    return f"{MISSED} heartbeats report that delivery waits for an answer on {fact.mark.subject}"


def _twice(fact: FlowAnswered) -> str | None:
    if fact.mark is None or not fact.mark.answers or fact.mark.missed:
        return None
    return f"the client answered {fact.mark.subject} before, and no heartbeat missed the answer"


def _early(fact: FlowAnswered) -> str | None:
    if not fact.untaken:
        return None
    return f"the client answered before the user took {fact.untaken} messages that came earlier"


def _left_behind(fact: OldConsumerKept) -> str | None:
    return f"{fact.consumer.key[1]} was replaced because of a gap, and the client did not delete it"


def _foreign(fact: FlowAnswered) -> str | None:
    known = fact.mark is not None or "marks" in fact.link.forgot
    return None if known else f"the server sent no {fact.command.subject} on this link"


def _body(fact: FlowAnswered) -> str | None:
    return (
        f"expected an empty answer, got {len(fact.command.payload)} bytes"
        if fact.command.payload
        else None
    )


def _no_beats(fact: ConsumerRequested) -> str | None:
    config = fact.config
    if config.get("flow_control") is True and not number(config, "idle_heartbeat"):
        return "flow control without idle heartbeats cannot recover, and the server refuses it"
    return None


def _pull_beats(fact: ConsumerRequested) -> str | None:
    config = fact.config
    if config.get("deliver_subject") or not (
        config.get("flow_control") is True or number(config, "idle_heartbeat")
    ):
        return None
    return (
        "flow control and heartbeats in a configuration are for push consumers, "
        "and the server refuses them here"
    )


def _queue(fact: ConsumerRequested) -> str | None:
    config = fact.config
    if config.get("deliver_group") and (
        config.get("flow_control") is True or number(config, "idle_heartbeat")
    ):
        return "heartbeats or flow control for a queue group: each member sees only some of them"
    return None


def _starts(fact: ConsumerRequested) -> str | None:
    config, policy = fact.config, fact.config.get("deliver_policy")
    if config.get("opt_start_seq") and config.get("opt_start_time"):
        return "the configuration names two starting points"
    if policy == "by_start_sequence" and number(config, "opt_start_seq") < 1:
        return "by_start_sequence needs a sequence of at least 1"
    return None


def _filters(fact: ConsumerRequested) -> str | None:
    if fact.config.get("filter_subject") and fact.config.get("filter_subjects"):
        return "the configuration has both filter_subject and filter_subjects"
    return None


def _name(fact: ConsumerRequested) -> str | None:
    named = fact.request.names[1] if len(fact.request.names) > 1 else ""
    for member in ("name", "durable_name"):
        value = fact.config.get(member)
        if named and isinstance(value, str) and value and value != named:
            return f"the subject names {named}, but {member} names {value[:60]}"
    return None


def _again(fact: ConsumerRequested) -> str | None:
    named = fact.request.names[1] if len(fact.request.names) > 1 else ""
    if fact.earlier is None or not named or fact.earlier.key[1] != named:
        return None
    return f"{named} was the name of the consumer before, whose late messages may still come"


def _gap(fact: GapNotRecovered) -> str | None:
    return (
        f"delivery {fact.expected} of {fact.consumer.key[1]} never came, {fact.seen} did, "
        "and the client did not create the consumer again"
    )


def _abandoned(fact: ConsumerLeaked) -> str | None:
    return (
        f"the client ended the subscription of {fact.consumer.key[1]}, "
        "and did not delete the consumer that it had created for it"
    )


def _silence(fact: PushSilence) -> str | None:
    beat = seconds(number(fact.consumer.config, "idle_heartbeat"))
    return (
        f"{fact.consumer.key[1]} was silent for {fact.after:.1f} s, with heartbeats of {beat:g} s, "
        "and the client still waits for it"
    )


def _snapshot(fact: SnapshotStalled) -> str | None:
    return (
        f"the server ended the snapshot on link {fact.link.conn}: "
        "the client did not acknowledge its chunks"
    )


# fmt: off
RULES: Final = (
    Rule(
        name="sub-after-create", fact=SubscriptionStarted, severity=WARNING, judge=_late,
        clause="ADR-15.18: subscribe before creating",
        right="SUB the deliver subject, then CREATE.",
    ),
    Rule(
        name="deliver-group-ignored", fact=SubscriptionStarted, severity=ERROR, judge=_group,
        clause="ADR-15.11, WIRE.f4: deliver_group",
        right="SUB with the group as queue.",
    ),
    Rule(
        name="flow-unanswered", fact=FlowMissed, severity=WARNING, judge=_unanswered,
        clause="ADR-15.49, WIRE.f2: flow control, Nats-Consumer-Stalled",
        right="Answer when the user has taken what came before the flow control request.",
    ),
    Rule(
        name="flow-answered-twice", fact=FlowAnswered, severity=ERROR, judge=_twice,
        clause="ADR-15.50: flow control",
        right="Answer each subject once, and again only if a heartbeat misses the answer.",
    ),
    Rule(
        name="flow-answered-early", fact=FlowAnswered, severity=WARNING, judge=_early,
        clause="ADR-15.45: answered when everything before it was taken",
        right="Answer when the user took the messages before the flow control request, not when "
            "they came.",
    ),
    Rule(
        name="flow-answer-altered", fact=FlowAnswered, severity=ERROR, judge=_foreign,
        clause="ADR-15.45, ADR-15.47: flow control",
        right="Answer on the reply subject as it came.",
    ),
    Rule(
        name="flow-answer-not-empty", fact=FlowAnswered, severity=WARNING, judge=_body,
        clause="ADR-15.45: flow control",
        right="Answer with an empty message.",
    ),
    Rule(
        name="flow-without-heartbeat", fact=ConsumerRequested, severity=ERROR, judge=_no_beats,
        clause="ADR-15.48, WIRE.f5: 10108",
        right="Ask for idle heartbeats with flow control.",
    ),
    Rule(
        name="heartbeat-of-pull-consumer", fact=ConsumerRequested, severity=ERROR,
        judge=_pull_beats,
        clause="WIRE.f5: 10088, 10089",
        right="Ask for heartbeats in each pull.",
    ),
    Rule(
        name="heartbeat-in-group", fact=ConsumerRequested, severity=ERROR, judge=_queue,
        clause="ADR-15.2: queue groups",
        right="Refuse the combination.",
    ),
    Rule(
        name="start-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_starts,
        clause="README.11 (ADR-17)",
        right="Name one starting point, from 1.",
    ),
    Rule(
        name="filter-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_filters,
        clause="WIRE.f5: 10136",
        right="Send one of the two.",
    ),
    Rule(
        name="name-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_name,
        clause="WIRE.g7: the subject wins, or 10017",
        right="Send the same name in the subject and in the body.",
    ),
    Rule(
        name="ordered-name-reused", fact=ConsumerRequested, severity=ERROR, judge=_again,
        clause="WIRE.f6 (ADR-17)",
        right="Use a new name each time you create the ordered consumer.",
    ),
    Rule(
        name="ordered-left-behind", fact=OldConsumerKept, severity=WARNING, judge=_left_behind,
        clause="ADR-15.22: the client that created a consumer deletes it (ADR-17)",
        right="Delete the old consumer when you create a new one; its inactive threshold is for "
            "clients that die.",
    ),
    Rule(
        name="gap-ignored", fact=GapNotRecovered, severity=ERROR, judge=_gap,
        clause="ADR-15.44, WIRE.f7 (ADR-17): a gap is a reset",
        right="Create the consumer again after the last good message.",
    ),
    Rule(
        name="consumer-abandoned", fact=ConsumerLeaked, severity=WARNING, judge=_abandoned,
        clause="ADR-15.55: unsubscribing deletes the consumer that the subscription has made",
        right="Delete the consumer when its subscription ends.",
    ),
    Rule(
        name="push-heartbeats-ignored", fact=PushSilence, severity=ERROR, judge=_silence,
        clause="ADR-15.40, ADR-15.41, WIRE.f7 (ADR-17): missed heartbeats",
        right="When heartbeats are missing, create the ordered consumer again after the last "
            "good message.",
    ),
    Rule(
        name="snapshot-unanswered", fact=SnapshotStalled, severity=ERROR, judge=_snapshot,
        clause="WIRE.j1: 408 No Flow Response from 2.12 on",
        right="Acknowledge each chunk on its reply subject.",
    ),
)
# fmt: on
