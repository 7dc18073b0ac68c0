"""Rules of the core protocol: handshake, grammar, subscriptions, PING and PONG."""

from __future__ import annotations

from typing import Final

from jsproto.errors.tree import InvalidSubject
from jsproto.trace.formats.format import maybe_hidden
from jsproto.trace.judge.rules.table import ERROR, WARNING, Rule, per_link
from jsproto.trace.observe.facts import (
    ConnectSeen,
    MalformedSeen,
    PingUnanswered,
    PubSeen,
    ServerErrorSeen,
    SubscriptionNotRestored,
    SubscriptionStarted,
    SubSeen,
    UnsubSeen,
    VerbSeen,
)
from jsproto.wire.client_commands import ClientVerb
from jsproto.wire.subjects import publish_subject, subscription_subject

#: ``-ERR`` texts that report a fault of the client's commands, not of its permissions or speed.
_FAULTS: Final = (
    "unknown protocol operation",
    "maximum control line exceeded",
    "maximum payload violation",
    "invalid client protocol",
    "no responders requires headers",
)


def _before_info(fact: ConnectSeen) -> str | None:
    return "the client sent CONNECT before the server's INFO" if fact.link.info is None else None


def _before_connect(fact: PubSeen | SubSeen | UnsubSeen) -> str | None:
    early = fact.link.connect is None and fact.link.info is not None
    return "the client sent a command before CONNECT" if early else None


def _twice(fact: ConnectSeen) -> str | None:
    return "the client sent a second CONNECT on one link" if fact.link.connect is not None else None


def _broken(fact: MalformedSeen) -> str | None:
    return (
        "the server cannot read the command and closes the connection: "
        f"{fact.command.text or 'wrong words or sizes'}"
    )


def _blamed(fact: ServerErrorSeen) -> str | None:
    return (
        f"the server answers -ERR {fact.text}, and closes the connection"
        if fact.text.casefold().startswith(_FAULTS)
        else None
    )


def _no_headers(fact: PubSeen) -> str | None:
    if fact.link.headers is not False or not fact.command.subject.startswith("$JS."):
        return None
    return "the client uses JetStream on a link without headers, so no status can reach it"


def _hpub(fact: PubSeen) -> str | None:
    if fact.link.headers is not False or fact.command.block is None:
        return None
    return "HPUB on a link whose CONNECT did not turn headers on: the server closes the connection"


def _too_large(fact: PubSeen) -> str | None:
    command, info = fact.command, fact.link.info
    if info is None:
        return None
    size = len(command.payload) + len(command.block or b"")
    return (
        f"the message has {size} bytes, and the server accepts {info.max_payload}"
        if size > info.max_payload
        else None
    )


def _subject(fact: PubSeen | SubSeen) -> str | None:
    subject = fact.command.subject
    try:
        if isinstance(fact, SubSeen):
            subscription_subject(subject)
        elif not subject.startswith("$JS."):  # CREATE may end with a filter that has wildcards
            publish_subject(subject)
    except InvalidSubject as error:
        return None if maybe_hidden(subject) else str(error)
    return None


def _reserved_reply(fact: PubSeen) -> str | None:
    reply = fact.command.reply
    if not reply.startswith(("$JS.ACK.", "_R_.", "_GR_.")):
        return None
    return f"the reply subject {reply} is reserved for the server, which drops the message"


def _duplicate_sid(fact: SubscriptionStarted) -> str | None:
    if fact.taken is None:
        return None
    return (
        f"sid {fact.taken.sid} is in use since line {fact.taken.line}: "
        "the server ignores the second SUB"
    )


def _stale_unsub(fact: UnsubSeen) -> str | None:
    sid, link = fact.command.sid, fact.link
    known = sid in link.sids or "sids" in link.forgot
    return None if known else f"UNSUB of sid {sid}, which no SUB of this link has used"


def _limit(fact: UnsubSeen) -> str | None:
    command, before = fact.command, fact.link.before
    if before is None:
        return None
    old, new = before.interests.get(command.sid), fact.link.interests.get(command.sid)
    if (
        old is None
        or new is None
        or not old.got
        or not 0 < old.limit <= command.limit
        or old.subject != new.subject
    ):
        return None
    return (
        f"sid {old.sid} had {old.got} of its {old.limit} messages on the link before, "
        f"and the client sets the maximum to {command.limit} again"
    )


def _not_heard(fact: SubscriptionNotRestored) -> str | None:
    return f"the client did not restore the subscription to {fact.interest.subject} of the old link"


def _ping(fact: PingUnanswered) -> str | None:
    return f"the client sent no PONG for the PING in line {fact.line} within {fact.after:.1f} s"


def _unasked_pong(fact: VerbSeen) -> str | None:
    known = fact.link.pings or "pings" in fact.link.forgot
    return (
        "the client sent a PONG without a PING of the server"
        if fact.command is ClientVerb.PONG and not known
        else None
    )


# fmt: off
RULES: Final = (
    Rule(
        name="connect-before-info", fact=ConnectSeen, severity=ERROR, judge=_before_info,
        clause="WIRE.a5: INFO comes first",
        right="Wait for INFO: it says whether TLS is required, and it holds the nonce.",
    ),
    Rule[PubSeen | SubSeen | UnsubSeen](
        name="command-before-connect", fact=(PubSeen, SubSeen, UnsubSeen), severity=ERROR,
        judge=_before_connect, cause=per_link,
        clause="WIRE.a5: CONNECT is the client's first command",
        right="Send CONNECT first; a server with authentication closes the connection otherwise.",
    ),
    Rule(
        name="connect-twice", fact=ConnectSeen, severity=ERROR, judge=_twice,
        clause="WIRE.a9: subscriptions made before a second CONNECT are dead",
        right="Send CONNECT once for each link.",
    ),
    Rule(
        name="command-broken", fact=MalformedSeen, severity=ERROR, judge=_broken,
        clause="WIRE.a2, WIRE.a19: grammar",
        right="Announce the exact sizes, and end each payload with CR LF.",
    ),
    Rule(
        name="command-refused", fact=ServerErrorSeen, severity=ERROR, judge=_blamed,
        clause="WIRE.a18, WIRE.a19: -ERR",
        right="Keep to the grammar and to the limits of INFO; the server read nothing after the "
            "bad line.",
    ),
    Rule(
        name="headers-off", fact=PubSeen, severity=ERROR, judge=_no_headers, cause=per_link,
        clause="WIRE.a8 (ADR-4): statuses reach a link without headers as empty messages",
        right="Send CONNECT with headers: true.",
    ),
    Rule(
        name="hpub-without-headers", fact=PubSeen, severity=ERROR, judge=_hpub, cause=per_link,
        clause="WIRE.a8 (ADR-4)",
        right="Send CONNECT with headers: true before HPUB.",
    ),
    Rule(
        name="payload-too-large", fact=PubSeen, severity=ERROR, judge=_too_large,
        clause="WIRE.a18: max_payload of the newest INFO, header block included",
        right="Refuse the message before you send it.",
    ),
    Rule[PubSeen | SubSeen](
        name="subject-invalid", fact=(PubSeen, SubSeen), severity=ERROR, judge=_subject,
        clause="WIRE.a13 (ADR-6)",
        right="Refuse the subject: the server drops such a message silently, or takes a "
            "wildcard literally.",
    ),
    Rule(
        name="reply-reserved", fact=PubSeen, severity=ERROR, judge=_reserved_reply,
        clause="WIRE.e6, WIRE.a19: 'Permissions Violation for Publish with Reply'",
        right="Use a reply subject below your own inbox.",
    ),
    Rule(
        name="sid-duplicate", fact=SubscriptionStarted, severity=ERROR, judge=_duplicate_sid,
        clause="WIRE.a4: a SUB with a sid in use is ignored",
        right="Use each sid once on a link.",
    ),
    Rule(
        name="unsub-stale", fact=UnsubSeen, severity=WARNING, judge=_stale_unsub, cause=per_link,
        clause="WIRE.a12",
        right="Send no UNSUB for a subscription of an earlier link; while the link is down, "
            "only forget it.",
    ),
    Rule(
        name="limit-not-reduced", fact=UnsubSeen, severity=ERROR, judge=_limit,
        clause="WIRE.a11",
        right="After a reconnect send UNSUB with what is left of the maximum.",
    ),
    Rule(
        name="not-resubscribed", fact=SubscriptionNotRestored, severity=ERROR, judge=_not_heard,
        cause=per_link,
        clause="WIRE.a24: interest ends with its link",
        right="Send SUB for every subscription when the new link is up.",
    ),
    Rule(
        name="ping-unanswered", fact=PingUnanswered, severity=ERROR, judge=_ping,
        clause="WIRE.a7: two unanswered PINGs are a stale connection",
        right="Answer every PING at once, even if the application is slow.",
    ),
    Rule(
        name="pong-unasked", fact=VerbSeen, severity=WARNING, judge=_unasked_pong,
        clause="WIRE.a7: PONG answers PING",
        right="Send one PONG for each PING.",
    ),
)
# fmt: on
