"""Rules of pull consumers: the body of a pull, how much to ask for, and when to pull again.

Their sources are ADR-13 and ADR-37.
"""

from __future__ import annotations

from typing import Final

from jsproto.jetstream.api.timestamps import INT64_MAX
from jsproto.jetstream.errors import BadRequestStatus, ConsumerIsPush
from jsproto.jetstream.status import Limit
from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule, per_link
from jsproto.trace.observe.client import json_object, number
from jsproto.trace.observe.facts import NoPull, PullAbandoned, PullEnded, PullIssued, Silence
from jsproto.trace.observe.ledger import SECOND, seconds

#: Pulls of this expiry need heartbeats; without them a client notices a lost pull only at its end.
LONG: Final = 30 * SECOND
#: Refused pulls within three seconds that count as a storm.
STORM: Final = 10
#: Pulls in a row that ask for less than they could. One may be the rest of a bounded number.
#: Several show that the client miscounts its open pulls.
SHRUNK: Final = 3


def _no_reply(fact: PullIssued) -> str | None:
    return None if fact.pull.token else "the server ignores a pull without a reply subject"


def _no_interest(fact: PullIssued) -> str | None:
    if fact.pull.token and not fact.interests and "interests" not in fact.link.forgot:
        return (
            f"the link has no subscription for {fact.pull.token}, "
            "so the server drops the pull without a status"
        )
    return None


def _heard_twice(fact: PullIssued) -> str | None:
    single = [each for each in fact.interests if not each.queue]
    if len(single) < 2:
        return None
    return (
        f"sids {single[0].sid} and {single[1].sid} both match {fact.pull.token}: "
        "every message comes twice"
    )


def _body(fact: PullIssued) -> str | None:
    text = fact.pull.body.strip()
    if not text or fact.pull.members is not None or text.isdigit():
        return None
    return (
        f"{fact.pull.body[:40]!r} is not a pull request: "
        "the server reads it as one message, or answers 400"
    )


def _batch(fact: PullIssued) -> str | None:
    members = fact.pull.members
    if members is None or "batch" not in members:
        return None
    batch = (json_object(fact.pull.body) or {}).get("batch")
    if batch is not None and (not isinstance(batch, int) or isinstance(batch, bool)):
        return f"expected a whole number as batch, got {batch!r:.40}: the server answers 400"
    return "the server reads a batch below 1 as 1" if batch is None or batch < 1 else None


def _bytes_without_batch(fact: PullIssued) -> str | None:
    if fact.pull.max_bytes and fact.pull.members is not None and "batch" not in fact.pull.members:
        return (
            f"the pull asks for {fact.pull.max_bytes} bytes without a batch: one message will come"
        )
    return None


def _durations(fact: PullIssued) -> str | None:
    body = json_object(fact.pull.body) or {}
    for name in ("expires", "idle_heartbeat"):
        value = body.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= INT64_MAX:
            return f"expected a whole number of nanoseconds as {name}, got {value!r:.40}"
    return None


def _beats(fact: PullIssued) -> str | None:
    pull = fact.pull
    if pull.heartbeat and 2 * pull.heartbeat > pull.expires:
        return (
            f"heartbeats of {seconds(pull.heartbeat):g} s need an expiry of twice that, "
            f"got {seconds(pull.expires):g} s: the server answers 400"
        )
    return None


def _no_beats(fact: PullIssued) -> str | None:
    if fact.pull.expires >= LONG and not fact.pull.heartbeat:
        return (
            f"the pull waits {seconds(fact.pull.expires):g} s without heartbeats, "
            "so the client notices a lost pull only then"
        )
    return None


def _over(fact: PullIssued) -> str | None:
    pull = fact.pull
    if len(fact.interests) != 1 or pull.no_wait or not fact.owed or not fact.most:
        return None  # if two subscriptions match the inbox, their messages cannot be told apart
    most, most_bytes = fact.most, fact.most_bytes
    if pull.max_bytes and most_bytes:
        if fact.owed_bytes + pull.max_bytes <= most_bytes:
            return None
        return (
            f"earlier pulls may still bring {fact.owed_bytes} bytes, and {pull.max_bytes} more "
            f"exceed the {most_bytes} that the client requests when no pull is open"
        )
    if fact.owed + pull.batch <= most or pull.max_bytes or most_bytes:
        return None
    return (
        f"earlier pulls may still bring {fact.owed} messages, and {pull.batch} more exceed "
        f"the {most} that the client requests when no pull is open"
    )


def _group(fact: PullIssued) -> str | None:
    groups = fact.consumer.config.get("priority_groups") if fact.consumer is not None else None
    if isinstance(groups, list) and groups and fact.pull.members and not fact.pull.group:
        return "the consumer has priority groups, and the pull names none: the server answers 400"
    return None


def _push(fact: PullIssued) -> str | None:
    if fact.consumer is not None and fact.consumer.config.get("deliver_subject"):
        return f"{fact.consumer.key[1]} is a push consumer"
    return None


def _limits(fact: PullIssued) -> str | None:
    if fact.consumer is None:
        return None
    config, pull = fact.consumer.config, fact.pull
    asked = {"max_batch": pull.batch, "max_bytes": pull.max_bytes, "max_expires": pull.expires}
    for name, value in asked.items():
        limit = number(config, name)
        if 0 < limit < value:
            return f"the pull asks for {value}, above the consumer's {name} of {limit}"
    return None


def _pin(fact: PullIssued) -> str | None:
    if fact.pull.pin and fact.pull.pin == fact.refused_pin:
        return f"the server refused the pin id {fact.pull.pin[:40]}, and the client sends it again"
    return None


def _old_inbox(fact: PullIssued) -> str | None:
    if not fact.survivors:
        return None
    lines = ", ".join(str(each.line) for each in fact.survivors[:5])
    owed = sum(each.left for each in fact.survivors)
    return (
        "the server may still serve pulls of the lost link into this inbox, "
        f"{owed} messages in all: line {lines}"
    )


def _duplicate_pull(fact: PullIssued) -> str | None:
    if fact.twin is None:
        return None
    return (
        f"the client sent the same pull in line {fact.twin.line}, before anything came "
        "on the new link: it buffered one of them while it had no link"
    )


def _drifted(fact: PullIssued) -> str | None:
    if fact.shrunk != SHRUNK:
        return None
    return (
        f"no pull is open and no message waits, but the client asks for {fact.pull.batch} "
        f"instead of {fact.most}, for the {SHRUNK}. time in a row: it miscounts its open pulls"
    )


def _given_up(fact: PullAbandoned) -> str | None:
    return (
        f"the client stopped waiting for the pull in line {fact.pull.line}, "
        f"{fact.left:.1f} s early: messages that the server still sends for it are lost"
    )


def _request_burst(fact: PullEnded) -> str | None:
    if fact.refusals != STORM:
        return None
    return (
        f"the server refused {STORM} pulls within 3 s ({fact.pull.status}), "
        "and the client repeated each at once"
    )


def _limit_refused(fact: PullEnded) -> str | None:
    if fact.row.limit is None or fact.row.limit is Limit.MAX_WAITING:
        return None
    return f"the server refused the pull in line {fact.pull.line}: {fact.pull.status}"


def _push_refused(fact: PullEnded) -> str | None:
    if fact.row.error is not ConsumerIsPush:
        return None
    return f"the server refused the pull in line {fact.pull.line}: {fact.pull.status}"


def _bad(fact: PullEnded) -> str | None:
    if fact.row.error is not BadRequestStatus:
        return None
    return f"the server refused the pull in line {fact.pull.line}: {fact.pull.status}"


def _no_expiry(fact: PullIssued) -> str | None:
    pull = fact.pull
    if pull.members is None or pull.expires or pull.no_wait or pull.void:
        return None
    return "the pull has no expiry: it never ends, and the client cannot notice that it was lost"


def _consumer_of(fact: PullIssued | PullEnded) -> object:
    return fact.pull.consumer


def _reader_of(fact: PullIssued) -> object:
    return fact.pull.consumer, fact.interests[0].sid


def _body_of(fact: PullIssued) -> object:
    return fact.pull.body[:200]


def _line_of(fact: PullIssued | PullEnded) -> int:
    return fact.pull.line


def _silence(fact: Silence) -> str | None:
    return (
        f"nothing came for {fact.after:.1f} s, with heartbeats of "
        f"{seconds(fact.pull.heartbeat):g} s, and the client still waits for the pull in "
        f"line {fact.pull.line}"
    )


def _stall(fact: NoPull) -> str | None:
    if fact.because != "status":
        return None
    return (
        f"the pull in line {fact.pull.line} ended with {fact.pull.status}, "
        "and the client did not pull again"
    )


def _no_repull(fact: NoPull) -> str | None:
    if fact.because != "reconnect":
        return None
    return (
        f"the pull in line {fact.pull.line} was lost with its link, "
        "and the client did not pull on the new one"
    )


# fmt: off
RULES: Final = (
    Rule(
        name="pull-without-reply", fact=PullIssued, severity=ERROR, judge=_no_reply,
        clause="ADR-13.1, WIRE.c6",
        right="Send every pull with a reply subject.",
    ),
    Rule(
        name="pull-without-interest", fact=PullIssued, severity=ERROR, judge=_no_interest,
        clause="ADR-13.9, WIRE.c6: a pull whose inbox lost interest is dropped",
        right="SUB the inbox before the pull, and keep it until the pull has ended.",
    ),
    Rule(
        name="pull-heard-twice", fact=PullIssued, severity=ERROR, judge=_heard_twice,
        cause=_reader_of,
        clause="WIRE.k2, ADR-13.20: each matching subscription gets a copy",
        right="Keep the inboxes of requests and of pulls apart.",
    ),
    Rule(
        name="pull-body-unknown", fact=PullIssued, severity=ERROR, judge=_body, cause=_body_of,
        clause="ADR-13.4, WIRE.c1; server: consumer.go nextReqFromMsg",
        right="Send nothing, a number, or a JSON object.",
    ),
    Rule(
        name="pull-batch-below-one", fact=PullIssued, severity=ERROR, judge=_batch, cause=_body_of,
        clause="ADR-13.5, WIRE.c2",
        right="Ask for at least one message.",
    ),
    Rule(
        name="pull-bytes-without-batch", fact=PullIssued, severity=ERROR,
        judge=_bytes_without_batch, cause=_body_of,
        clause="ADR-37.14, WIRE.c2: byte bounded pulls ask for a large batch",
        right="Send a batch with max_bytes.",
    ),
    Rule(
        name="pull-duration-invalid", fact=PullIssued, severity=ERROR, judge=_durations,
        cause=_body_of,
        clause="ADR-13.6, WIRE.c3: durations are nanoseconds",
        right="Send whole nanoseconds that are not negative and fit an int64.",
    ),
    Rule(
        name="pull-heartbeat-too-long", fact=PullIssued, severity=ERROR, judge=_beats,
        cause=_body_of,
        clause="WIRE.c4: 400 heartbeat value too large",
        right="Ask for heartbeats of at most half the expiry.",
    ),
    Rule(
        name="pull-without-heartbeat", fact=PullIssued, severity=WARNING, judge=_no_beats,
        cause=_consumer_of,
        clause="ADR-37.9: idle_heartbeat of pulls over 30 s",
        right="Ask for heartbeats, and act when two are missing.",
    ),
    Rule(
        name="pull-over-asks", fact=PullIssued, severity=WARNING, judge=_over, cause=_reader_of,
        clause="ADR-37.21: what is requested and buffered never exceeds the limits",
        right="Ask only for as much as the user took; let a pull end before the next full one.",
    ),
    Rule(
        name="pull-without-group", fact=PullIssued, severity=ERROR, judge=_group,
        cause=_consumer_of,
        clause="WIRE.c11 (ADR-42)",
        right="Name the group in every pull.",
    ),
    Rule(
        name="pull-of-push-consumer", fact=PullIssued, severity=ERROR, judge=_push,
        cause=_consumer_of,
        clause="ADR-37.30, WIRE.c12: 409 Consumer is push based",
        right="Check deliver_subject before the first pull.",
    ),
    Rule(
        name="pull-above-limit", fact=PullIssued, severity=ERROR, judge=_limits, cause=_consumer_of,
        clause="ADR-37.31, WIRE.c12: 409 Exceeded MaxRequest...",
        right="Keep to the limits of the consumer's configuration.",
    ),
    Rule(
        name="pull-limit-refused", fact=PullEnded, severity=ERROR, judge=_limit_refused,
        cause=_consumer_of, proof=_line_of,
        clause="ADR-37.31, WIRE.c12: 409 Exceeded MaxRequest...",
        right="Keep to the limits of the consumer's configuration.",
    ),
    Rule(
        name="pull-refused", fact=PullEnded, severity=ERROR, judge=_bad, cause=_consumer_of,
        proof=_line_of,
        clause="WIRE.c1, WIRE.c4, WIRE.c11: 400 Bad Request",
        right="Send a body that the server accepts; it refuses the same one again.",
    ),
    Rule(
        name="pull-of-push-refused", fact=PullEnded, severity=ERROR, judge=_push_refused,
        cause=_consumer_of, proof=_line_of,
        clause="ADR-37.30, WIRE.c12: 409 Consumer is push based",
        right="Check deliver_subject before the first pull.",
    ),
    Rule(
        name="pin-stale", fact=PullIssued, severity=ERROR, judge=_pin,
        clause="WIRE.b9 (ADR-42): 423",
        right="Forget the pin id when the server refuses it.",
    ),
    Rule(
        name="inbox-reused", fact=PullIssued, severity=WARNING, judge=_old_inbox, cause=_reader_of,
        clause="WIRE.k1: a pull outlives its link",
        right="Use a new inbox after every reconnect.",
    ),
    Rule(
        name="pull-while-disconnected", fact=PullIssued, severity=WARNING, judge=_duplicate_pull,
        clause="ADR-37.41, ADR-37.42: no pull without a link, one pull on a new link",
        right="Buffer no pull while the link is down; send one when the new link is up.",
    ),
    Rule(
        name="pending-drifted", fact=PullIssued, severity=WARNING, judge=_drifted,
        clause="ADR-37.24: a status releases what will not come",
        right="Subtract Nats-Pending-Messages and Nats-Pending-Bytes of each status from what "
            "your open pulls may bring.",
    ),
    Rule(
        name="pull-given-up-early", fact=PullAbandoned, severity=WARNING, judge=_given_up,
        clause="ADR-37.5, ADR-13.14: the client waits longer than the server",
        right="Wait for the status that ends a pull, and a little longer than its expiry.",
    ),
    Rule(
        name="pull-storm", fact=PullEnded, severity=ERROR, judge=_request_burst,
        clause="ADR-37.36, WIRE.b5",
        right="Wait longer after each refusal; stop if another pull cannot help.",
    ),
    Rule(
        name="heartbeats-ignored", fact=Silence, severity=ERROR, judge=_silence,
        clause="ADR-37.38: two missed heartbeats",
        right="Pull again, or stop, when two heartbeats are missing.",
    ),
    Rule(
        name="pull-stalled", fact=NoPull, severity=ERROR, judge=_stall,
        clause="ADR-37.36, WIRE.b3, WIRE.b4: 409 Leadership Change and Server Shutdown end every "
            "pull",
        right="Pull again after a short pause.",
    ),
    Rule(
        name="no-pull-after-reconnect", fact=NoPull, severity=ERROR, judge=_no_repull,
        cause=per_link,
        clause="ADR-37.42",
        right="Pull again when the new link is up.",
    ),
    Rule(
        name="pull-without-expiry", fact=PullIssued, severity=WARNING, judge=_no_expiry,
        cause=_consumer_of, proof=_line_of,
        clause="ADR-13.6: a pull without an expiry never ends",
        right="Send an expiry, and pull again after it.",
    ),
)
# fmt: on
