"""Ninety faults, each sown into a session of our own that has none: the right rule finds it, and no
other does.

A row is a name, the rule, and what is changed in the session (`tests.trace.session`). Where a fault
has consequences that are faults of their own, `BESIDE` names the rules that find these.
"""

from __future__ import annotations

import pytest

from jsproto.trace.formats.recording import Happened, Received
from jsproto.trace.judge.lint import RULES, Lint
from tests.trace.session import Session, pub, recorded

PULL = r"MSG\.NEXT\.S\.C"
ACK = r"PUB \$JS\.ACK\.S\.C\.\S+ 4\r\n\+ACK"
FLOW = r"PUB \$JS\.FC\.S\.P"
CREATE = r"CONSUMER\.CREATE"


# ------------------------------------------------------------------------------------------------ what is sown


def status(text: bytes, to: bytes, sid: bytes = b"99") -> bytes:
    """A status of the server."""
    block = b"NATS/1.0 %b\r\n\r\n" % text
    return b"<HMSG %b %b %d %d\r\n%b\r\n" % (to, sid, len(block), len(block), block)


def goes_on(session: Session, seconds: float) -> Session:
    """The link lives on for so long."""
    session.records.append(Received(at=session.records[-1].at + seconds, conn="a", data=b"+OK\r\n"))
    return session


def old_inbox(session: Session) -> Session:
    """On the new link pulls go on in the inbox of the lost one, whose last pull waits still."""
    lost = session.lost()
    old, new = (
        session.sent(rf"SUB _INBOX\S+\.8\.{number}\.\*").split(b" ")[1][:-1] for number in (2, 3)
    )
    last = max(place for place in session.all(PULL) if place < lost)
    token = session.records[last].data.split(b" ")[2]
    session.everywhere(new, old, behind=lost)
    first = session.at(PULL, behind=lost)
    return session.changed(PULL, token, old=r"_INBOX\S+", behind=first - 1)


def storm(session: Session) -> Session:
    """Nobody is there for the consumer, and the client asks again at once, ten times."""
    place = session.at(PULL, behind=session.lost())
    ask = session.records[place].data
    sid = session.sent(r"SUB _INBOX\S+\.8\.3\.").split(b" ")[2].strip()
    return session.said(
        *([status(b"503", ask.split(b" ")[2], sid), ask] * 10), after=PULL, behind=place - 1
    )


def silent(session: Session) -> Session:
    """Behind a pull nothing comes for it any more, not even the word that the leader moves, and the
    client waits on.
    """
    change, lost = session.at("Leadership", way=Received), session.lost()
    place = max(each for each in session.all(PULL) if each < change)
    session.records = [
        each
        for at, each in enumerate(session.records[:lost])
        if at <= place or not isinstance(each, Received) or each.data.split(b" ")[2:3] != [b"4"]
    ]
    session.drop_all(rf"^UNSUB 4|^SUB _INBOX\S+\.8\.2|{PULL}", behind=place)
    return goes_on(session, 3.0)


def unled(session: Session) -> Session:
    """The leader moves, and the client waits on in its inbox, for a minute."""
    change = session.at("Leadership", way=Received)
    del session.records[session.lost() :]
    session.drop_all(rf"^UNSUB 4|^SUB _INBOX\S+\.8\.2|{PULL}", behind=change)
    return goes_on(session, 60.0)


def late(session: Session) -> Session:
    """The inbox is subscribed when the consumer that delivers there was made."""
    sub = session.records.pop(session.at(r"^SUB _INBOX\S+\.11\.1\.1 "))
    session.records.insert(session.at("consumer_create_response", way=Received) + 1, sub)
    return session


def stalled(session: Session) -> Session:
    """The client never answers, and three heartbeats say so."""
    place = session.at(FLOW)
    subject = session.sent(FLOW).split(b" ")[1]
    del session.records[place:]
    beat = status(b"100 Idle Heartbeat\r\nNats-Consumer-Stalled: %b" % subject, b"push.P", b"5")[1:]
    now = session.records[-1].at
    session.records += [Received(at=now + each, conn="a", data=beat) for each in (1.0, 2.0, 3.0)]
    return session


def namesake(session: Session) -> Session:
    """The second incarnation of an ordered consumer has the name of the first."""
    lost = session.lost()
    first, second = (
        session.sent(CREATE, behind=at).split(b" ")[1].rpartition(b".")[2] for at in (-1, lost)
    )
    return session.changed(CREATE, lambda data: data.replace(second, first), behind=lost)


def gap(session: Session) -> Session:
    """A message of an ordered consumer is lost on the way, and the client goes on."""
    del session.records[session.at(r"-11-1\.1\.9\.9\.", way=Received)]
    return session


def unheard(session: Session) -> Session:
    """Behind the answer to CREATE nothing comes from an ordered consumer with heartbeats, and the
    client waits for half a minute.
    """
    del session.records[session.lost() :]
    sid = session.sent(r"^SUB _INBOX\S+\.11\.1\.1 ").split(b" ")[2].strip()
    made = session.at("consumer_create_response", way=Received, behind=session.at(CREATE))
    session.records = [
        each
        for at, each in enumerate(session.records)
        if at <= made or not isinstance(each, Received) or each.data.split(b" ")[2:3] != [sid]
    ]
    session.drop_all(r"\$JS\.FC\.S\.(?!P)")
    return goes_on(session, 30.0)


def replaced(session: Session) -> Session:
    """A message of an ordered consumer is lost, it is made anew, and the one before is never
    deleted.
    """
    del session.records[session.at(r"-11-2\.1\.\d+\.5\.", way=Received)]
    ask = session.sent(CREATE, behind=session.lost()).replace(b"-11-2", b"-11-7")
    return session.said(
        ask.replace(b".11.5 ", b".11.77 "), after=r"-11-2\.1\.\d+\.6\.", way=Received
    )


def early(session: Session) -> Session:
    """A question of flow control is answered when it comes, and not when what was before it is
    taken.
    """
    answer = session.records.pop(session.at(FLOW))
    session.records.insert(
        session.at("^HMSG push.P.*FlowControl Request", way=Received) + 1, answer
    )
    return session


def impatient(session: Session) -> Session:
    """A pull is waited for half as long as the server was told."""
    asked(session, b'{"batch":1,"expires":8000000000}')
    place = session.at(r"MSG\.NEXT\.S\.D")
    begun = session.records[place].at
    later = next(at for at, each in enumerate(session.records) if at > place and each.at > begun)
    given_up = Happened(
        at=session.records[later].at,
        conn="a",
        name="client_timeout",
        detail={"waiting_for": "status"},
    )
    session.records.insert(later + 1, given_up)
    return session


def drifted(session: Session) -> Session:
    """Of a pull that ended early the rest is taken for under way for ever, so less and less is
    asked for.
    """
    frames, number = [], 0
    for batch in (10, 1, 8, 6, 4):
        frames.append(pub("$JS.API.CONSUMER.MSG.NEXT.S.D", b'{"batch":%d}' % batch, "_INBOX.D"))
        for _ in range({10: 1, 1: 10}.get(batch, batch)):
            number += 1
            delivery = b"$JS.ACK.S.D.1.%d.%d.1800000000000000000.0" % (number, number)
            frames += [b"<MSG s.a 99 %b 1\r\nx\r\n" % delivery, pub(delivery.decode(), b"+ACK")]
    return says(session, *frames)


def hasty(session: Session) -> Session:
    """CONNECT is said before INFO."""
    connect = session.records.pop(session.at("^CONNECT"))
    session.records.insert(session.at("^INFO", way=Received), connect)
    return session


def retried(session: Session) -> Session:
    """What was published just before the link was lost is published again on the next."""
    message, lost = pub("s.y", b"a message without an id", "_INBOX.D"), session.lost()
    session.said(
        message, after=ACK, behind=max(place for place in session.all(ACK) if place < lost) - 1
    )
    return session.said(message, after="^SUB weather", behind=session.lost())


def of_2_9(session: Session) -> Session:
    """The server is an old one."""
    return session.everywhere(b"2.15.1", b"2.9.10")


def described(config: bytes) -> list[bytes]:
    """A request for a consumer, and its answer: the client knows this configuration."""
    body = (
        b'{"type":"io.nats.jetstream.api.v1.consumer_info_response","stream_name":"S","name":"D","config":%b}'
        % config
    )
    return [
        pub("$JS.API.CONSUMER.INFO.S.D", b"", "_INBOX.D"),
        b"<MSG _INBOX.D 99 %d\r\n%b\r\n" % (len(body), body),
    ]


def asked(session: Session, body: bytes, *before: bytes, to: str = "_INBOX.D") -> Session:
    """One more subscription, and a pull of one more consumer."""
    return says(session, *before, pub("$JS.API.CONSUMER.MSG.NEXT.S.D", body, to))


def refused(session: Session, text: bytes) -> Session:
    """One more pull, and what the server says to it."""
    return asked(session, b'{"batch":7,"expires":5000000000}').said(
        status(text, b"_INBOX.D"), after=r"MSG\.NEXT\.S\.D"
    )


def answer(body: bytes) -> list[bytes]:
    """The API answers."""
    return [b"<MSG _INBOX.D 99 %d\r\n%b\r\n" % (len(body), body)]


def abandoned(session: Session) -> Session:
    """One more push consumer is made and subscribed, and only the subscription ends."""
    body = b'{"stream_name":"S","name":"D","config":{"deliver_subject":"_INBOX.E"}}'
    create = pub("$JS.API.CONSUMER.CREATE.S.D", body, "_INBOX.D")
    return goes_on(
        says(session, b"SUB _INBOX.E 98\r\n", create, *answer(body), b"UNSUB 98\r\n"), 1.0
    )


def made(session: Session, config: bytes) -> Session:
    """One more consumer is asked for."""
    return says(
        session,
        pub("$JS.API.CONSUMER.CREATE.S.D", b'{"stream_name":"S","config":%b}' % config, "_INBOX.D"),
    )


def says(session: Session, *frames: bytes) -> Session:
    """Something more, on the last link."""
    return session.said(
        b"SUB _INBOX.D 99\r\n", *frames, after=r"^SUB push\.P", behind=session.lost()
    )


def published(session: Session, headers: bytes, body: bytes = b"") -> Session:
    """One more message with headers."""
    return says(session, pub("s.z", body, "", headers))


# fmt: off
FAULTS = [
    # the link
    ("CONNECT does not wait for INFO", "connect-before-info", hasty),
    ("something is said before CONNECT", "command-before-connect", lambda s: s.moved(r"^SUB weather", "^CONNECT")),
    ("CONNECT is said twice", "connect-twice", lambda s: s.said(b'CONNECT {"headers":true}\r\n', after="^SUB weather")),
    ("a payload is longer than announced", "command-broken", lambda s: s.said(b"PUB s.z 3\r\nlonger\r\n", after=r"CONSUMER\.NAMES")),
    ("the server hangs up because of a control line", "command-refused", lambda s: says(s, b"<-ERR 'maximum control line exceeded'\r\n")),
    ("CONNECT has no headers", "headers-off", lambda s: s.changed("^CONNECT", b'"headers":false', old='"headers":true')),
    ("headers are not in CONNECT, and in messages", "hpub-without-headers", lambda s: s.changed("^CONNECT", b"", old='"headers":true,')),
    ("a message is too large for the server", "payload-too-large", lambda s: says(s, pub("s.z", b"x" * 1_048_577))),
    ("a subject has an empty token", "subject-invalid", lambda s: says(s, pub("s..z"))),
    ("a wildcard is published to", "subject-invalid", lambda s: says(s, pub("s.*"))),
    ("a subscription has an empty token", "subject-invalid", lambda s: says(s, b"SUB s. 77\r\n")),
    ("an ack subject is the reply subject", "reply-reserved", lambda s: says(s, pub("s.z", b"", "$JS.ACK.S.C.1.1.1.1.0"))),
    ("a sid is given out twice", "sid-duplicate", lambda s: s.said(b"SUB elsewhere 2\r\n", after="^SUB weather")),
    ("an old link's sid is unsubscribed on the new one", "unsub-stale", lambda s: s.said(b"UNSUB 4\r\n", after="^SUB weather", behind=s.lost())),
    ("a maximum is asked for anew after a reconnect", "limit-not-reduced", lambda s: s.changed("^UNSUB 3", b"UNSUB 3 10\r\n", behind=s.lost())),
    ("a subscription is not made again", "not-resubscribed", lambda s: s.drop("^SUB weather", behind=s.lost())),
    ("a PONG is left out", "ping-unanswered", lambda s: s.drop("^PONG", behind=s.lost())),
    ("all PONGs are left out", "ping-unanswered", lambda s: s.drop_all("^PONG")),
    ("a PONG is said twice", "pong-unasked", lambda s: s.again("^PONG")),
    # pulls
    ("a pull has no reply subject", "pull-without-reply", lambda s: says(s, pub("$JS.API.CONSUMER.MSG.NEXT.S.C", b'{"batch":1}'))),
    ("nobody listens where a pull is answered", "pull-without-interest", lambda s: asked(s, b'{"batch":1}', to="_INBOX.E")),
    ("the inbox of pulls is never subscribed", "pull-without-interest", lambda s: s.drop(r"^SUB _INBOX\S+\.8\.1\.")),
    ("another subscription matches the inbox too", "pull-heard-twice", lambda s: s.said(b"SUB _INBOX.P.> 98\r\n", after=r"^SUB _INBOX\S+\.8\.1\.")),
    ("a pull is neither number nor JSON", "pull-body-unknown", lambda s: asked(s, b"please")),
    ("a batch is 0", "pull-batch-below-one", lambda s: s.changed(PULL, b'"batch":0', old='"batch":10')),
    ("bytes are asked for without a batch", "pull-bytes-without-batch", lambda s: asked(s, b'{"max_bytes":4096,"expires":1000000000}')),
    ("an expiry is below 0", "pull-duration-invalid", lambda s: asked(s, b'{"batch":1,"expires":-1}')),
    ("an expiry is seconds with a fraction", "pull-duration-invalid", lambda s: asked(s, b'{"batch":1,"expires":1.5}')),
    ("an expiry is a text", "pull-duration-invalid", lambda s: asked(s, b'{"batch":1,"expires":"5s"}')),
    ("heartbeats are asked for without an expiry", "pull-heartbeat-too-long", lambda s: asked(s, b'{"batch":1,"idle_heartbeat":1000000000}')),
    ("heartbeats of more than half the expiry", "pull-heartbeat-too-long", lambda s: s.changed(PULL, b'"idle_heartbeat":6000000000', old=r'"idle_heartbeat":\d+')),
    ("a long pull without heartbeats", "pull-without-heartbeat", lambda s: asked(s, b'{"batch":1,"expires":60000000000}')),
    ("a pull is sent twice", "pull-over-asks", lambda s: asked(s, b'{"batch":10}', pub("$JS.API.CONSUMER.MSG.NEXT.S.D", b'{"batch":10}', "_INBOX.D"))),
    ("more bytes are asked for than the budget has", "pull-over-asks", lambda s: asked(s, b'{"batch":9,"max_bytes":100,"expires":9000000000}', pub("$JS.API.CONSUMER.MSG.NEXT.S.D", b'{"batch":9,"max_bytes":1000,"expires":9000000000}', "_INBOX.D"))),
    ("a pull names no group", "pull-without-group", lambda s: asked(s, b'{"batch":1,"expires":1000000000}', *described(b'{"priority_groups":["g"],"priority_policy":"overflow"}'))),
    ("a push consumer is pulled", "pull-of-push-consumer", lambda s: asked(s, b'{"batch":1}', *described(b'{"deliver_subject":"d"}'))),
    ("a batch is above the limit of the consumer", "pull-above-limit", lambda s: asked(s, b'{"batch":11}', *described(b'{"max_batch":10}'))),
    ("an expiry is above the limit of the consumer", "pull-above-limit", lambda s: asked(s, b'{"batch":1,"expires":2000000000}', *described(b'{"max_expires":1000000000}'))),
    ("a pin id that was refused is named again", "pin-stale", lambda s: asked(s, b'{"batch":1,"group":"g","id":"old"}', pub("$JS.API.CONSUMER.MSG.NEXT.S.D", b'{"batch":1,"group":"g","id":"old"}', "_INBOX.D"), status(b"423 Nats-Pin-Id mismatch", b"_INBOX.D"))),
    ("the old inbox is used after a reconnect", "inbox-reused", old_inbox),
    ("the same again at once where nobody is there", "pull-storm", storm),
    ("missed heartbeats are not acted on", "heartbeats-ignored", silent),
    ("nothing is asked for behind a new leader", "pull-stalled", unled),
    ("nothing is asked for on the new link", "no-pull-after-reconnect", lambda s: s.drop_all(PULL, behind=s.lost())),
    ("a pull that was kept goes out beside the new one", "pull-while-disconnected", lambda s: s.again(PULL, behind=s.lost())),
    ("less and less is asked for", "pending-drifted", drifted),
    ("the client waits less long than the server", "pull-given-up-early", impatient),
    ("a limit is refused", "pull-limit-refused", lambda s: refused(s, b"409 Exceeded MaxRequestBatch of 5")),
    ("a pull is refused", "pull-refused", lambda s: refused(s, b"400 Bad Request - Priority Group missing")),
    ("the server says that the consumer is push based", "pull-of-push-refused", lambda s: refused(s, b"409 Consumer is push based")),
    ("a pull waits for ever", "pull-without-expiry", lambda s: asked(s, b'{"batch":1}')),
    ("the consumer is asked about before it is read on", "asked-before-pull", lambda s: says(s, pub("$JS.API.CONSUMER.INFO.S.C", b"", "_INBOX.D")).moved(r"^SUB _INBOX\.D 99", r"^SUB weather", behind=s.lost()).moved(r"CONSUMER\.INFO\.S\.C", r"^SUB weather", behind=s.lost())),
    # acknowledgements
    ("an ack is for a message that never came", "ack-invented", lambda s: says(s, pub("$JS.ACK.S.C.1.99999.99999.1800000000000000000.0", b"+ACK"))),
    ("an ack subject loses its end", "ack-subject-malformed", lambda s: s.changed(ACK, b" ", old=r"\.\d+ (?=4\r)")),
    ("an ack subject is written anew", "ack-subject-altered", lambda s: s.changed(ACK, b".1800000000000000001.", old=r"\.18\d+\.")),
    ("an ack has a pending number of its own", "ack-subject-altered", lambda s: s.changed(ACK, b".77 ", old=r"\.\d+ (?=4\r)")),
    ("an ack is in small letters", "ack-body-unknown", lambda s: s.changed(ACK, b"+ack", old=r"\+ACK")),
    ("an ack has a blank behind it", "ack-body-unknown", lambda s: s.changed(ACK, b"+ACK ", old=r"\+ACK")),
    ("a delay is a number of seconds", "nak-delay-unreadable", lambda s: s.changed(r"-NAK \{", b'{"delay":"3s"}', old=r"\{.*\}")),
    ("+NXT has no reply subject", "next-without-reply", lambda s: s.changed(ACK, b"+NXT", old=r"\+ACK")),
    ("a term has a reason for a server of 2.9", "term-reason-too-new", of_2_9),
    ("an ack is said twice", "ack-twice", lambda s: s.again(ACK)),
    ("a nak follows an ack", "ack-twice", lambda s: s.said(s.records[s.at(ACK)].data.replace(b"+ACK", b"-NAK"), after=ACK)),
    ("a term is followed by an ack", "ack-twice", lambda s: s.said(s.records[s.at(r"\+TERM\r")].data.replace(b" 5\r\n+TERM", b" 4\r\n+ACK"), after=r"\+TERM\r")),
    ("in-progress follows an ack", "progress-after-ack", lambda s: s.said(s.records[s.at(ACK)].data.replace(b"+ACK", b"+WPI"), after=ACK)),
    ("what wants no acks is acknowledged", "ack-of-none", lambda s: says(s, pub("$JS.ACK.S.N.1.1.1.1.0", b"+ACK"))),
    # push and ordered
    ("the inbox is subscribed behind CREATE", "sub-after-create", late),
    ("a group is not joined", "deliver-group-ignored", lambda s: s.changed(r"^SUB push\.Q", b"SUB push.Q 6\r\n")),
    ("flow control is left unanswered", "flow-unanswered", stalled),
    ("flow control is answered twice", "flow-answered-twice", lambda s: s.again(FLOW)),
    ("flow control is answered elsewhere", "flow-answer-altered", lambda s: s.changed(FLOW, b"zzzz ", old=r"\w{4} (?=0)")),
    ("the answer to flow control has a body", "flow-answer-not-empty", lambda s: s.changed(FLOW, lambda data: data.replace(b" 0\r\n\r\n", b" 2\r\nok\r\n"))),
    ("flow control is asked for without heartbeats", "flow-without-heartbeat", lambda s: made(s, b'{"name":"D","deliver_subject":"push.P","flow_control":true}')),
    ("a pull consumer is asked for with heartbeats", "heartbeat-of-pull-consumer", lambda s: made(s, b'{"name":"D","idle_heartbeat":1000000000}')),
    ("heartbeats for a group", "heartbeat-in-group", lambda s: made(s, b'{"name":"D","deliver_subject":"push.P","deliver_group":"g","idle_heartbeat":1000000000}')),
    ("two starting points", "start-contradicts", lambda s: made(s, b'{"opt_start_seq":1,"opt_start_time":"2026-01-01T00:00:00Z"}')),
    ("a start below 1", "start-contradicts", lambda s: made(s, b'{"deliver_policy":"by_start_sequence","opt_start_seq":0}')),
    ("both kinds of filter", "filter-contradicts", lambda s: made(s, b'{"filter_subject":"s.a","filter_subjects":["s.b"]}')),
    ("two names", "name-contradicts", lambda s: made(s, b'{"durable_name":"E"}')),
    ("the name of the incarnation before", "ordered-name-reused", namesake),
    ("an ordered consumer goes on behind a gap", "gap-ignored", gap),
    ("an ordered consumer is replaced and left behind", "ordered-left-behind", replaced),
    ("flow control is answered before its turn", "flow-answered-early", early),
    ("a subscription ends and its consumer stays", "consumer-abandoned", abandoned),
    ("an ordered consumer falls silent", "push-heartbeats-ignored", unheard),
    ("chunks of a snapshot are not answered", "snapshot-unanswered", lambda s: says(s, status(b"408 No Flow Response", b"_INBOX.D"))),
    # publishing
    ("a line end in a value", "header-damaged", lambda s: published(s, b"A: b\r\nc\r\n")),
    ("a status is published", "status-forged", lambda s: says(s, b"HPUB s.z 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n")),
    ("a header is in another case", "header-case", lambda s: s.changed("^HPUB s.b.*id-3", b"Nats-Msg-ID", old="Nats-Msg-Id")),
    ("a blank behind an id", "msg-id-blank", lambda s: published(s, b"Nats-Msg-Id: id-99 \r\n")),
    ("an id for another message", "msg-id-reused", lambda s: says(s, *(pub("s.z", body, "", b"Nats-Msg-Id: id-99\r\n") for body in (b"one", b"two")))),
    ("a publish of unknown outcome is sent again", "publish-retried", retried),
    ("an expectation is no number", "expectation-not-numeric", lambda s: published(s, b"Nats-Expected-Last-Sequence: last\r\n")),
    ("a rollup of something else", "rollup-unknown", lambda s: published(s, b"Nats-Rollup: subject\r\n")),
    ("a time to live below a second", "ttl-unreadable", lambda s: published(s, b"Nats-TTL: 500ms\r\n")),
    ("an increment without a sign", "increment-unreadable", lambda s: published(s, b"Nats-Incr: 1\r\n")),
    ("a batch begins with 0", "batch-unreadable", lambda s: published(s, b"Nats-Batch-Id: b\r\nNats-Batch-Sequence: 0\r\n")),
    ("a header of the server", "header-reserved", lambda s: published(s, b"Nats-Stream-Source: S 1\r\n")),
    ("an advisory is published", "subject-reserved", lambda s: says(s, pub("$JS.EVENT.ADVISORY.STREAM.CREATED.S"))),
    # the API
    ("the server cannot read a request", "request-refused", lambda s: says(s, pub("$JS.API.STREAM.CREATE.T", b"{", "_INBOX.D"), *answer(b'{"error":{"code":400,"err_code":10025,"description":"invalid JSON"}}'))),
    ("a call that the API does not have", "api-unknown", lambda s: s.changed(r"CONSUMER\.NAMES", b"CONSUMER.NAME.", old=r"CONSUMER\.NAMES\.")),
    ("a request without a reply subject", "api-without-reply", lambda s: says(s, pub("$JS.API.STREAM.INFO.S"))),
    ("nobody listens for the answer", "api-without-interest", lambda s: says(s, pub("$JS.API.STREAM.INFO.S", b"", "_INBOX.E"))),
    ("two open requests share a reply subject", "reply-reused", lambda s: says(s, *([pub("$JS.API.STREAM.INFO.S", b"", "_INBOX.D")] * 2))),
    ("an offset below 0", "offset-negative", lambda s: s.changed(r"CONSUMER\.NAMES", lambda data: data.partition(b"\r\n")[0] + b'\r\n{"offset":-1}\r\n')),
    ("a delete with a body", "delete-with-body", lambda s: s.changed(r"CONSUMER\.DELETE", lambda data: data.partition(b"\r\n")[0] + b"\r\n{}\r\n")),
    ("a direct get of nothing", "direct-get-empty", lambda s: says(s, pub("$JS.API.DIRECT.GET.S", b'{"batch":3}', "_INBOX.D"))),
]
# fmt: on

#: Rules that find what a fault brings with it.
BESIDE = {
    "a pull is sent twice": {"pull-without-expiry"},
    "a pin id that was refused is named again": {"pull-without-expiry"},
    "less and less is asked for": {"pull-without-expiry"},
    "a pull that was kept goes out beside the new one": {"pull-over-asks"},
    "CONNECT has no headers": {"hpub-without-headers"},
    "headers are not in CONNECT, and in messages": {"headers-off"},
    "an ordered consumer falls silent": {"heartbeats-ignored"},
    "nothing is asked for behind a new leader": {"push-heartbeats-ignored"},
    "a subscription is not made again": {"unsub-stale"},
    "the inbox of pulls is never subscribed": {"unsub-stale"},
}


def found(session: Session) -> set[str]:
    judge = Lint()
    for line, record in enumerate(session.records, start=2):
        judge.feed(line, record)
    return set(judge.counted)


def test_the_session_has_no_fault():
    assert found(Session(recorded())) == set()


def test_there_are_more_than_sixty_faults_and_one_for_each_rule():
    assert len(FAULTS) >= 60
    assert {rule for _, rule, _ in FAULTS} == {rule.name for rule in RULES}
    assert len({name for name, _, _ in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize(("name", "rule", "sown"), FAULTS, ids=[name for name, _, _ in FAULTS])
def test_a_fault_is_found_by_the_right_rule(name, rule, sown):
    assert found(sown(Session(recorded()))) == {rule, *BESIDE.get(name, ())}
