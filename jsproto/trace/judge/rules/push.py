"""Rules of push and ordered consumers: flow control, the order of SUB and CREATE, and gaps (ADR-15,
ADR-17).
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

#: Heartbeats that miss an answer: two of them are what a client is given for everything (ADR-37).
MISSED: Final = 2
#: Who makes an inbox's consumer and listens within so much time does both for one purpose.
AT_ONCE: Final = SECOND


def _late(fact: SubscriptionStarted) -> str | None:
    consumer = fact.consumer
    if fact.early is not None and fact.interest.subject.startswith("_INBOX."):
        return f"{fact.interest.subject} is listened to only behind the request in line {fact.early.line} to deliver there"
    if (
        consumer is None
        or consumer.unheard_by is not fact.link
        or not fact.interest.subject.startswith("_INBOX.")
    ):
        return None
    if fact.interest.sign - consumer.at > AT_ONCE:
        return None
    return f"{fact.interest.subject} is listened to only after {consumer.key[1]} was made to deliver there"


def _group(fact: SubscriptionStarted) -> str | None:
    group = fact.consumer.config.get("deliver_group") if fact.consumer is not None else None
    if isinstance(group, str) and group and group != fact.interest.queue:
        return f"the consumer delivers to the group {group}, and the subscription is not in it"
    return None


def _unanswered(fact: FlowMissed) -> str | None:
    if fact.mark.missed != MISSED or fact.mark.answers:
        return None
    return (
        f"{MISSED} heartbeats say that delivery stands still until {fact.mark.subject} is answered"
    )


def _twice(fact: FlowAnswered) -> str | None:
    if fact.mark is None or not fact.mark.answers or fact.mark.missed:
        return None
    return f"{fact.mark.subject} was answered already, and no heartbeat missed it"


def _early(fact: FlowAnswered) -> str | None:
    if not fact.untaken:
        return None
    return (
        f"{fact.untaken} messages that came before the question were not taken when it was answered"
    )


def _left_behind(fact: OldConsumerKept) -> str | None:
    return f"{fact.consumer.key[1]} was replaced because of a gap, lives on, and was not deleted"


def _foreign(fact: FlowAnswered) -> str | None:
    known = fact.mark is not None or "marks" in fact.link.forgot
    return None if known else f"{fact.command.subject} was never asked for on this link"


def _body(fact: FlowAnswered) -> str | None:
    return (
        f"an answer of {len(fact.command.payload)} bytes, and it must be empty"
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
    return "flow control and heartbeats in the configuration are for push consumers, and the server refuses them"


def _queue(fact: ConsumerRequested) -> str | None:
    config = fact.config
    if config.get("deliver_group") and (
        config.get("flow_control") is True or number(config, "idle_heartbeat")
    ):
        return "heartbeats or flow control for a group: each member sees only some of them"
    return None


def _starts(fact: ConsumerRequested) -> str | None:
    config, policy = fact.config, fact.config.get("deliver_policy")
    if config.get("opt_start_seq") and config.get("opt_start_time"):
        return "two starting points in one configuration"
    if policy == "by_start_sequence" and number(config, "opt_start_seq") < 1:
        return "by_start_sequence needs a sequence of at least 1"
    return None


def _filters(fact: ConsumerRequested) -> str | None:
    if fact.config.get("filter_subject") and fact.config.get("filter_subjects"):
        return "filter_subject and filter_subjects in one configuration"
    return None


def _name(fact: ConsumerRequested) -> str | None:
    named = fact.request.names[1] if len(fact.request.names) > 1 else ""
    for member in ("name", "durable_name"):
        value = fact.config.get(member)
        if named and isinstance(value, str) and value and value != named:
            return f"the subject says {named}, {member} says {value[:60]}"
    return None


def _again(fact: ConsumerRequested) -> str | None:
    named = fact.request.names[1] if len(fact.request.names) > 1 else ""
    if fact.earlier is None or not named or fact.earlier.key[1] != named:
        return None
    return f"{named} was the name of the incarnation before, of which late messages may still come"


def _gap(fact: GapNotRecovered) -> str | None:
    return f"delivery {fact.expected} of {fact.consumer.key[1]} never came, {fact.seen} did, and nothing was done about it"


def _abandoned(fact: ConsumerLeaked) -> str | None:
    return f"the subscription of {fact.consumer.key[1]} has ended, and the consumer that was made for it lives on"


def _silence(fact: PushSilence) -> str | None:
    beat = seconds(number(fact.consumer.config, "idle_heartbeat"))
    return f"nothing came for {fact.after:.1f} s from {fact.consumer.key[1]}, with heartbeats of {beat:g} s, and it is still waited for"


def _snapshot(fact: SnapshotStalled) -> str | None:
    return f"the server gave the snapshot on link {fact.link.conn} up: its chunks were not acknowledged"


# fmt: off
RULES: Final = (
    Rule(name="sub-after-create", fact=SubscriptionStarted, severity=WARNING, judge=_late,
        clause="ADR-15.18: subscribe before creating", right="SUB the deliver subject, then CREATE."),
    Rule(name="deliver-group-ignored", fact=SubscriptionStarted, severity=ERROR, judge=_group,
        clause="ADR-15.11, WIRE.f4: deliver_group (B095)", right="SUB with the group as queue."),
    Rule(name="flow-unanswered", fact=FlowMissed, severity=WARNING, judge=_unanswered,
        clause="ADR-15.49, WIRE.f2: flow control, Nats-Consumer-Stalled", right="Answer once what came before the question was taken."),
    Rule(name="flow-answered-twice", fact=FlowAnswered, severity=ERROR, judge=_twice,
        clause="ADR-15.50: flow control", right="Answer each subject once, and again only if a heartbeat misses it."),
    Rule(name="flow-answered-early", fact=FlowAnswered, severity=WARNING, judge=_early,
        clause="ADR-15.45: answered when everything before it was taken", right="Answer when the messages before the question were taken, not when they came."),
    Rule(name="flow-answer-altered", fact=FlowAnswered, severity=ERROR, judge=_foreign,
        clause="ADR-15.45, ADR-15.47: flow control", right="Answer on the reply subject as it came."),
    Rule(name="flow-answer-not-empty", fact=FlowAnswered, severity=WARNING, judge=_body,
        clause="ADR-15.45: flow control", right="Answer with an empty message."),
    Rule(name="flow-without-heartbeat", fact=ConsumerRequested, severity=ERROR, judge=_no_beats,
        clause="ADR-15.48, WIRE.f5: 10108 (B097)", right="Ask for idle heartbeats with flow control."),
    Rule(name="heartbeat-of-pull-consumer", fact=ConsumerRequested, severity=ERROR, judge=_pull_beats,
        clause="WIRE.f5: 10088, 10089", right="Ask for heartbeats in each pull."),
    Rule(name="heartbeat-in-group", fact=ConsumerRequested, severity=ERROR, judge=_queue,
        clause="ADR-15.2: queue groups (B094)", right="Refuse the combination."),
    Rule(name="start-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_starts,
        clause="README.11 (ADR-17; B067, B068)", right="Name one starting point, from 1."),
    Rule(name="filter-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_filters,
        clause="WIRE.f5: 10136 (B208)", right="Send one of the two."),
    Rule(name="name-contradicts", fact=ConsumerRequested, severity=ERROR, judge=_name,
        clause="WIRE.g7: the subject wins, or 10017", right="Say one name."),
    Rule(name="ordered-name-reused", fact=ConsumerRequested, severity=ERROR, judge=_again,
        clause="WIRE.f6 (ADR-17; B070)", right="Give every incarnation a new name."),
    Rule(name="ordered-left-behind", fact=OldConsumerKept, severity=WARNING, judge=_left_behind,
        clause="ADR-15.22: who made a consumer deletes it (ADR-17)", right="Delete the consumer before when a new one is made; its inactive threshold is for clients that die."),
    Rule(name="gap-ignored", fact=GapNotRecovered, severity=ERROR, judge=_gap,
        clause="ADR-15.44, WIRE.f7 (ADR-17): a gap is a reset", right="Make the consumer anew behind the last good message."),
    Rule(name="consumer-abandoned", fact=ConsumerLeaked, severity=WARNING, judge=_abandoned,
        clause="ADR-15.55: unsubscribing deletes the consumer that the subscription has made", right="Delete the consumer when its subscription ends."),
    Rule(name="push-heartbeats-ignored", fact=PushSilence, severity=ERROR, judge=_silence,
        clause="ADR-15.40, ADR-15.41, WIRE.f7 (ADR-17): missed heartbeats", right="Make the ordered consumer anew, behind the last good message, when heartbeats are missed."),
    Rule(name="snapshot-unanswered", fact=SnapshotStalled, severity=ERROR, judge=_snapshot,
        clause="WIRE.j1: 408 No Flow Response from 2.12 on", right="Acknowledge each chunk on its reply subject."),
)
# fmt: on
