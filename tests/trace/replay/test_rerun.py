"""Recorded sessions are run again: equal whatever was kept and however the bytes were cut, and a
planted change is found where it shows.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from math import inf
from random import Random

import pytest

from jsproto import ENDED, NEED_DATA, Headers
from jsproto.core.connection.auth import Auth
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server
from jsproto.core.conversation.conversation import StopMode
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.request_many import RequestMany, empty_payload
from jsproto.core.pubsub.subscription import Overflow, SlowConsumer, Subscription
from jsproto.errors import JsprotoError, LocalProtocolError
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.context import JetStream
from jsproto.jetstream.credit import Credit
from jsproto.jetstream.delivery.ack import ACK, NAK
from jsproto.jetstream.delivery.ack_options import AckOptions
from jsproto.jetstream.delivery.message import Settlement
from jsproto.jetstream.ordered.consumer import OrderedConsumer
from jsproto.jetstream.ordered.options import SourceKind
from jsproto.jetstream.ordered.view import View
from jsproto.jetstream.publish.window import PublishWindow
from jsproto.jetstream.pull.consume import Consume
from jsproto.jetstream.pull.consume_options import ConsumeOptions
from jsproto.jetstream.pull.fetch import FetchMode
from jsproto.jetstream.stored.direct_batch import DirectBatch
from jsproto.testing import Cutter, Pair, SimServer
from jsproto.trace.formats.reading import TraceError, read_trace
from jsproto.trace.formats.recording import Sent, Waited
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.recorder import Recorder
from jsproto.trace.record.tape import Tape
from jsproto.trace.replay.replay import Cuts
from jsproto.trace.replay.rerun import Rerun, keep_of
from jsproto.wire.commands import Publish
from tests.long.precision import Machines
from tests.trace.session import recorded

CONSUMER = {"ack_policy": "explicit", "ack_wait": 30_000_000_000, "durable_name": "C"}


class Paper:
    """What a tape has written, and where each of its writes ended."""

    def __init__(self):
        self.text = ""
        self.ends = []

    def write(self, text):
        self.text += text
        self.ends.append(len(self.text))

    def close(self):
        pass


class Play:
    """A client that is recorded, and its server."""

    def __init__(
        self, keep=Keep.LENGTH, *, server=None, auth=None, cutter=None, start=86_400.123, **options
    ):
        self.paper = Paper()
        #: Of a large message: enough for flow control, unless each is cut into a thousand pieces.
        self.size = 60_000 if cutter is None else 200
        self.server = server or SimServer(seed=1)
        words = {"servers": "nats://sim", "ping_interval": 7.0, "reconnect_wait": 0.3, **options}
        self.connection = Recorder(
            Options(**words), entropy=Random(1).randbytes, now=0.0, tape=Tape(self.paper, keep=keep)
        )
        self.pair = Pair(self.connection, self.server, cutter=cutter, auth=auth)
        self.pair.step()

    @property
    def now(self):
        return self.pair.now

    def open(self, conversation):
        self.connection.open(conversation, self.now)
        self.pair.step()
        return conversation

    def done(self, conversation):
        self.open(conversation)
        while (item := self.connection.take(conversation, self.now)) is NEED_DATA:
            self.pair.advance(0.0713)
        return item

    def taken(self, feed, most=1000, *, ack=ACK):
        found = []
        while len(found) < most:
            try:
                item = self.connection.take(feed, self.now)
            except JsprotoError:
                break
            if item is NEED_DATA or item is ENDED:
                break
            found.append(item)
            if ack is not None:
                self.connection.settle(Settlement(item, ack), self.now)
        self.pair.step()
        return found

    def publish(self, count, size=20):
        for _ in range(count):
            self.connection.send(
                Publish("s.a", b"x" * size, headers=Headers({"Who": "me"})), self.now
            )
        self.pair.step()

    def end(self):
        self.connection.close(None, self.now)
        self.pair.advance(3.0)
        return self.paper.text


def stored(play):
    """A stream with a consumer."""
    js = JetStream()
    stream = play.done(js.create_stream(name="S", subjects=["s.*"]))
    play.server.request(
        "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": CONSUMER}, play.now
    )
    return stream.consumer("C")


def rerun(text, *, cut=None):
    trace = read_trace(text.encode())
    again = Rerun(keep_of(trace.about), cut)
    again.feed(1, Waited(at=0.0, conn="a"))  # nothing came, which is no input
    for line, record in trace.records():
        again.feed(line, record)
    again.end()
    return again


def pulls(play):
    """Fetches, messages one by one, a consume, all of them with acks, over three links."""
    consumer = stored(play)
    consume = play.open(consumer.consume(10, expires=10.0, idle_heartbeat=1.0))
    play.publish(33)
    play.taken(consume, 3)
    play.taken(consume, 4, ack=NAK)
    assert play.connection.take_all(consume, play.now) is not NEED_DATA
    play.pair.advance(4.3)
    play.taken(consume)
    play.pair.drop()
    play.publish(2)
    play.pair.advance(2.1)
    play.taken(consume)
    play.connection.tell(consume, StopMode.STOP, play.now)
    play.pair.advance(11.0)
    play.taken(consume)
    for options in ({"max_messages": 5, "timeout": 1.3}, {"max_messages": 4, "mode": FetchMode.NO_WAIT},
                    {"max_bytes": 900, "max_messages": 7, "expires": 1.1}, {"max_messages": 3, "mode": FetchMode.DRAIN_THEN_WAIT, "expires": 2.2}):  # fmt: skip
        play.publish(3)
        fetch = play.open(consumer.fetch(**options))
        play.taken(fetch, 2)
        play.pair.advance(2.5)
        play.taken(fetch, ack=None)
    fetch = play.open(consumer.fetch(2, expires=inf))
    play.publish(2)
    play.taken(fetch)
    play.publish(1)
    for _ in range(4):
        play.pair.advance(0.3)
        play.open(feed := consumer.next(timeout=1.0))
        play.pair.advance(1.2)
        play.taken(feed)
    play.connection.reconnect(play.now)
    fetch = play.open(consumer.fetch(5, timeout=3.0))
    play.pair.advance(1.0)
    play.publish(1)
    play.connection.close(fetch, play.now)
    play.pair.step()
    return play.end()


def statuses(play):
    """The leader moves, and the consumer goes away under its pulls."""
    consumer = stored(play)
    consume = play.open(consumer.consume(10, expires=10.0, idle_heartbeat=1.0))
    play.publish(7)
    play.server.step_down("S", "C", play.now)
    for _ in range(4):
        play.pair.advance(0.9)
        play.taken(consume, 3)
    fetch = play.open(consumer.fetch(5, expires=10.0, idle_heartbeat=2.0))
    play.publish(9)
    play.done(consumer.delete())
    play.pair.advance(2.2)
    play.taken(fetch)
    play.taken(consume)
    fetch = play.open(consumer.fetch(5, expires=10.0))
    play.pair.advance(1.0)
    play.taken(fetch)
    return play.end()


class Deaf(SimServer):
    """Hears nothing for a while."""

    deaf = False

    def receive_data(self, cid, data, now):
        if not self.deaf:
            super().receive_data(cid, data, now)


def lost(play):
    """A server that does not answer any more, until the keepalive has enough of it."""
    consumer = stored(play)
    consume = play.open(consumer.consume(10, expires=10.0, idle_heartbeat=1.0))
    fetch = play.open(consumer.fetch(5, expires=10.0, idle_heartbeat=2.0))
    play.publish(3)
    play.server.deaf = True
    play.open(request("nobody", b"hears", timeout=1.7))
    for _ in range(90):
        play.pair.advance(0.41)
        play.taken(consume)
        play.taken(fetch)
    play.server.deaf = False
    play.pair.cut()
    play.pair.advance(3.3)
    play.publish(3)
    play.pair.restore()
    play.pair.advance(8.0)
    play.taken(consume)
    return play.end()


def core(play):
    """Subscriptions with a queue, a limit and small buffers; requests of all kinds; drains."""
    plain = play.open(Subscription("s.*", queue="q", max_messages=3, policy=Overflow.DROP_OLDEST))
    few = play.open(Subscription("s.a", limit=4))
    limited = play.open(Subscription("s.>"))
    failing = play.open(Subscription("s.*", max_messages=2, policy=Overflow.FAIL))
    play.publish(3)
    play.connection.limit(limited, 5, play.now)
    for feed in (plain, few, limited, failing):
        play.taken(feed, 2, ack=None)
    play.pair.drop()
    play.open(Flush(timeout=3.0))
    play.open(
        request("s.service", b"a question of a user", headers=Headers({"A": "b"}), timeout=2.2)
    )
    play.pair.advance(1.0)
    play.publish(4)
    with pytest.raises(JsprotoError):
        play.connection.open(request("s.service", b"x" * 1_100_000, timeout=1.0), play.now)
    with pytest.raises(JsprotoError):
        play.connection.open(RequestMany("s.service", b"x" * 1_100_000), play.now)
    with pytest.raises(JsprotoError):
        play.done(request("nobody.is.there", timeout=1.0))
    play.open(request("s.nobody.answers.for.ever", timeout=inf))
    many = play.open(RequestMany("s.service", b"who is there", stall=0.6, timeout=1.0))
    play.pair.advance(2.0)
    play.taken(many, ack=None)
    play.connection.tell(plain, StopMode.DRAIN, play.now)
    play.pair.step()
    play.publish(4)
    for feed in (plain, few, limited, failing):
        play.taken(feed, ack=None)
    last = play.open(Subscription("s.b"))
    play.connection.send(Publish("s.b", b"last"), play.now)
    play.pair.step()
    play.connection.tell(None, StopMode.DRAIN, play.now)
    play.pair.step()
    with pytest.raises(SlowConsumer):
        play.connection.take(failing, play.now)
    play.taken(last, ack=None)
    play.connection.take_all(last, play.now)
    play.pair.advance(3.0)
    return play.paper.text


def api(play):
    """Requests of the API, and publishes that are acked: procedures of one step and of many."""
    js = JetStream()
    consumer = stored(play)
    for number in range(5):
        play.done(
            js.publish("s.b", b"a payload", headers=Headers({"Who": "me"}), msg_id=f"id-{number}")
        )
    with pytest.raises(JsprotoError):
        play.done(js.publish("nobody.stores.this", b"a payload"))
    play.done(consumer.info())
    play.open(consumer.info())
    play.pair.drop()
    play.done(js.publish("s.b", b"a payload", msg_id="again"))
    play.done(consumer.delete())
    with pytest.raises(JsprotoError):
        play.done(consumer.info())
    play.open(js.publish("s.b", b"a payload"))
    return play.end()


def pushes(play):
    """Push subscriptions with flow control and in a queue, ordered consumers of both forms, over
    two links.
    """
    stored(play)
    js = JetStream()
    stream = js.stream("S")
    feeds = [
        play.open(
            js.subscribe("s.*", stream="S", flow_control=True, idle_heartbeat=timedelta(seconds=1))
        ),
        play.open(js.subscribe("s.*", stream="S", queue="workers")),
        play.open(stream.ordered(form=SourceKind.PUSH, idle_heartbeat=1.0)),
        play.open(stream.ordered(filter_subject="s.a", max_messages=20, idle_heartbeat=1.0)),
        play.open(stream.read()),
    ]
    play.pair.step()
    for _ in range(3):
        play.publish(20, play.size)
        for feed in feeds:
            play.taken(feed, ack=None)
        play.pair.advance(0.7)
    play.pair.drop()
    play.pair.advance(2.0)
    play.publish(5)
    for feed in feeds:
        play.taken(feed, ack=None)
    play.pair.advance(12.0)
    play.connection.tell(feeds[0], StopMode.DRAIN, play.now)
    play.connection.tell(feeds[1], StopMode.STOP, play.now)
    play.pair.advance(1.0)
    for feed in feeds:
        play.taken(feed, ack=None)
        play.connection.close(feed, play.now)
    play.pair.advance(1.0)
    return play.end()


STORIES = {
    "pushes": pushes,
    "pulls": pulls,
    "statuses": statuses,
    "lost": lost,
    "core": core,
    "api": api,
}


def play_of(story, keep=Keep.LENGTH, **more):
    return Play(keep, **({"server": Deaf(seed=1)} if story == "lost" else {}), **more)


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("story", STORIES)
def test_a_recorded_session_is_said_again_byte_for_byte(story, keep):
    text = STORIES[story](play_of(story, keep))
    again = rerun(text)

    if (story, keep) == ("pushes", Keep.NONE):  # where they listen need not be in such a trace
        assert (
            "the user opened a PushSubscription, which a rerun cannot create again"
            in again.stop.words
        )
        return
    assert again.stop is None, text
    assert again.frames > 15
    out = [record for _, record in read_trace(text.encode()).records() if isinstance(record, Sent)]
    assert again.frames + again.given == len(out)
    assert 0 < again.size <= sum(len(record.data) for record in out)
    assert not again.diverged


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keep", [Keep.LENGTH, Keep.FULL])
@pytest.mark.parametrize("story", STORIES)
def test_however_the_bytes_came_and_are_cut(story, keep, seed):
    text = STORIES[story](play_of(story, keep, cutter=Cutter(seed)))

    assert rerun(text).stop is None
    assert rerun(text, cut=Cuts(seed)).stop is None


@pytest.mark.parametrize("story", STORIES)
def test_a_recording_that_ends_behind_any_of_its_writes_is_said_again_up_to_there(story):
    """As where the room ends, or the process: what a machine was told stands on the tape with what
    was noted of it, or not at all.
    """
    play = play_of(story)
    text = STORIES[story](play)
    ends = play.paper.ends
    stops = [(end, stop) for end in ends if (stop := rerun(text[:end]).stop) is not None]

    assert len(ends) > 50
    assert stops == []


# ------------------------------------------------------------------------------------------------ divergences


def numbered(text, found):
    """The numbers of the lines that begin so."""
    return [number for number, line in enumerate(text.splitlines(), 1) if line.startswith(found)]


def test_a_machine_that_asks_later_is_found_at_the_first_pull_that_differs(monkeypatch):
    text = pulls(Play())
    before = ConsumeOptions.credits
    monkeypatch.setattr(
        ConsumeOptions, "credits", lambda self: (Credit(self.max_messages, 1), before(self)[1])
    )
    stop = rerun(text).stop
    second = numbered(text, "> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C")[1]

    assert (stop.line, stop.diverged) == (second, True)
    assert stop.words.startswith("expected the recorded PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.")
    assert stop.words.endswith("got nothing")
    assert int(stop.context[-1].split()[0]) < second
    assert "= taken" in "".join(stop.context)


def test_another_clock_is_found(monkeypatch):
    text = lost(play_of("lost"))
    monkeypatch.setattr("jsproto.core.connection.link.Link.quiet", lambda self, now: False)

    assert "expected the recorded" in rerun(text).stop.words


def without(text, found, at=0):
    lines = text.splitlines(keepends=True)
    del lines[numbered(text, found)[at] - 1]
    return "".join(lines)


def behind(text, found, line):
    lines = text.splitlines(keepends=True)
    lines.insert(numbered(text, found)[0], line + "\n")
    return "".join(lines)


def before(text, found, line, at=0):
    lines = text.splitlines(keepends=True)
    lines.insert(numbered(text, found)[at] - 1, line + "\n")
    return "".join(lines)


PING = "> a PING"
#: What is done to the text of a session, and what the rerun says to it.
DAMAGES = {
    "one word less": (lambda text: without(text, PING), "expected nothing more, got PING"),
    "the last word less": (lambda text: without(text, PING, -1), "expected the end of the output, got PING"),
    "one word more": (lambda text: behind(text, PING, PING + r"\r\n"), "got nothing"),
    "no entropy": (lambda text: without(text, "= a entropy", -1), "got a draw of 4 bytes"),
    "no beginning of entropy": (lambda text: without(text, "= a entropy"), "LocalProtocolError"),
    "no entropy at all": (lambda text: "\n".join(each for each in text.split("\n") if " entropy " not in each), "LocalProtocolError"),
    "more entropy": (lambda text: before(text, "= a tick", '= a entropy {"bytes": "00"}'), "expected that the machines draw the recorded entropy"),
    "no step": (lambda text: without(text, "= a step", -1), "got another step"),
    "more steps": (lambda text: before(text, "= a tick", '= a step {"number": 1, "sleep": 3}'), "expected that the machines resume procedure 1 up to {'number': 1, 'sleep': 3}"),
    "more taken": (lambda text: text.replace('"count": 1', '"count": 2'), "expected 2 items to be handed out, got 1"),
    "taken of nobody": (lambda text: before(text, "= a tick", '= a taken {"number": 99, "count": 1}'), "got none"),
    "an error taken": (lambda text: before(text, "= a taken", '= a taken {"number": 4, "count": 1}', -1), "got SlowConsumer"),
    "a verb that nobody knows": (lambda text: behind(text, PING, "! a dance"), "expected a known verb, got 'dance'"),
    "another number": (lambda text: text.replace('"number": 1, "args"', '"number": 7, "args"'), "expected"),
    "arguments of nobody": (lambda text: text.replace('"Subscription"', '"Ghost"'), "can be created again, got 'Ghost'"),
    "other arguments": (lambda text: text.replace('"policy": "DROP_OLDEST"', '"policy": "DROP_ALL"'), "expected the arguments of a Subscription"),
    "no arguments": (lambda text: text.replace('"args": {"subject": "s.a", "limit": 4}', '"args": 3'), "can be created again"),
    "a close of nobody": (lambda text: before(text, "! a drain", '! a close {"number": 99}'), None),
    "a second beginning": (lambda text: behind(text, PING, '= a begin {"start": 0}'), "expected one connection in a trace"),
    "a beginning without options": (lambda text: text.replace('"options"', '"opinions"'), "expected the options of a connection, got None"),
    "a beginning with other options": (lambda text: text.replace('["nats://sim:4222"]', "5"), "expected the options of a connection"),
    "a beginning at no time": (lambda text: text.replace('"start": 0.0', '"start": "now"'), "expected a number of seconds, got 'now'"),
    "refused, which was none": (lambda text: before(text, "= a tick", '= a refused {"of": "Flush", "number": 3, "args": {}}'), "expected that the conversation is refused"),
    "a read of no number": (lambda text: text.replace('{"frames": 2}', '{"frames": "two"}'), None),
    "arguments that are never told": (lambda text: text.replace('"stall": 0.6', '"headers": 3'), "it cannot be written"),
    "a size that nobody has": (lambda text: text.replace('"payload": 12', '"payload": 9000000000'), "expected a size"),
    "entropy that is none": (lambda text: behind(text, "= a tick", '= a entropy {"bytes": "zz"}'), "ValueError"),
    "a step of nobody": (lambda text: behind(text, "= a tick", '= a step {"number": [1]}'), "TypeError"),
    "introduced in other words": (lambda text: text.replace(r"> a CONNECT {", r"> a CONNECT 5{"), "expected the recorded CONNECT 5{"),
    "introduced in no words": (lambda text: re.sub("> a CONNECT .*", "> a CONNECT 5", text), "expected the recorded CONNECT 5"),
    "not introduced": (lambda text: behind(text, "> a CONNECT", r"> a CONNECT {}\r\n"), "got PING"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_trace_that_was_changed_is_found_out(damage):
    change, words = DAMAGES[damage]
    text = core(Play())
    changed = change(text)
    stop = rerun(changed).stop

    assert changed != text
    if words is None:
        assert stop is None
    else:
        assert words in stop.words


@pytest.mark.parametrize("story", ["core", "pulls", "pushes"])
def test_damaged_traces_are_one_stop_each_and_no_crash(story):
    chance, text = Random(7), STORIES[story](Play()).splitlines()
    found = 0
    for _ in range(50):
        lines = list(text)
        for _ in range(chance.randrange(1, 4)):
            at, other = chance.randrange(8, len(lines)), chance.randrange(8, len(lines))
            match chance.randrange(4):
                case 0:
                    del lines[at]
                case 1:
                    lines.insert(other, lines[at])
                case 2:
                    lines[at], lines[other] = lines[other], lines[at]
                case _:
                    line = lines[at]
                    place = chance.randrange(len(line))
                    lines[at] = line[:place] + chance.choice('0919{"}[,x ') + line[place + 1 :]
        try:
            again = rerun("\n".join(lines) + "\n")
        except TraceError:
            found += 1
            continue
        if again.stop is not None:
            assert again.stop.words
            found += 1

    assert found >= 30


def test_a_consumer_that_keeps_messages_in_progress_is_not_made():
    play = Play()
    play.open(Consume("$JS.API.CONSUMER.MSG.NEXT.S.C", ConsumeOptions(acking=AckOptions(wait=1.0))))
    text = play.end()

    assert rerun(text).stop is None
    assert text.count('"wait": 1.0') == 1
    again = rerun(text.replace('"wait": 1.0', '"wait": 1.0, "in_progress": true'))
    assert "keeps no messages in progress" in again.stop.words


def test_conversations_that_are_over_are_forgotten():
    play = Play()
    for _ in range(300):
        play.done(Flush())
    again = rerun(play.end())

    assert (again.stop, again.frames) == (None, 303)
    assert len(again._conversations) < 300


def test_the_session_of_all_machines_is_said_again():
    again = rerun(recorded().decode())

    assert (again.stop, again.frames > 90, again.given > 400) == (None, True, True)


def test_what_cannot_be_made_again_is_named_with_its_line():
    play = Play()
    play.open(PublishWindow())
    text = play.end()
    again = rerun(text)

    assert not again.diverged
    assert again.stop.words == "the user opened a PublishWindow, which a rerun cannot create again"
    assert text.splitlines()[again.stop.line - 1].startswith('! a open {"of": "PublishWindow"')
    assert again.frames == 2


def oddly_timed() -> RequestMany:
    """Its stall is a number of a class that JSON has no word for; nothing of ours makes such a one."""
    many = RequestMany("a", stall=5.0)
    many._stall = Fraction(5)
    return many


@pytest.mark.parametrize(
    "opened",
    [
        lambda: Consume(
            "$JS.API.CONSUMER.MSG.NEXT.S.C",
            ConsumeOptions(acking=AckOptions(wait=1.0, in_progress=True)),
        ),
        lambda: RequestMany("a", sentinel=empty_payload),
        lambda: JetStream().subscribe("s.*", stream="S", auto_ack=True),
        lambda: OrderedConsumer(ApiSubjects(), "S", Subjects()),
        lambda: RequestMany("a", headers=Headers({"A": "b"})),
        oddly_timed,
    ],
)
def test_what_holds_more_than_a_trace_can_say_cannot_be_made_again(opened):
    play = Play()
    play.open(opened())

    assert "cannot create again" in rerun(play.end()).stop.words


class Subjects(View[str]):
    """Subjects in the place of messages."""

    def see(self, msg):
        return (msg.subject,)


def test_pulls_below_another_prefix_are_named_only_where_subjects_are_kept():
    for keep in (Keep.NONE, Keep.LENGTH):
        play = Play(keep)
        play.open(Consume("acme.API.CONSUMER.MSG.NEXT.S.C", ConsumeOptions()))
        text = play.end()

        opened = next(line for line in text.splitlines() if line.startswith("! a open"))
        assert ("acme" in opened) is (keep is Keep.LENGTH)
        assert (rerun(text).stop is None) is (keep is Keep.LENGTH)


def test_a_trace_of_no_recorder_of_ours_is_not_run():
    text = without(core(Play()), "= a begin")
    again = rerun(text)

    assert (again.began, again.stop, again.frames) == (False, None, 0)


def test_credentials_tls_and_their_failures_are_told_again_and_are_in_no_trace():
    options = Options(
        servers=(
            Server(host="sim", scheme="tls", user="v", password="cAnAry"),
            Server(host="other"),
        ),
        ask_for_credentials=True,
        randomize=False,
        connect_sweeps=None,
    )
    paper = Paper()
    machine = Recorder(
        options, entropy=Random(1).randbytes, now=0.0, tape=Tape(paper, keep=Keep.FULL)
    )
    for now in (1.0, 11.0, 21.0):
        machine.handle_tick(now - 0.5)
        machine.transport_up(now)
        machine.receive_data(b'INFO {"tls_available":true,"nonce":"abc"}\r\n', now)
        machine.transport_up(now)
        machine.transport_up(now)
        if now == 11.0:
            machine.authentication_failed(OSError("cAnAry"), now)
            continue
        machine.authenticate(Auth(user="u", password="cAnAry", nonce="of another time"), now)
        machine.authenticate(Auth(user="u", password="cAnAry", nonce="abc"), now)
        assert b"cAnAry" in machine.data_to_send()
        machine.receive_data(b"PONG\r\n", now)
        machine.reconnect(now, server="nats://other")
    while machine.next_event() is not None:
        pass
    machine.data_to_send()
    again = rerun(paper.text)

    assert "cAnAry" not in paper.text
    assert again.stop is None, paper.text
    assert again.frames == 4
    assert "unauthenticated" in paper.text
    assert "secured" in paper.text
    stop = rerun(paper.text.replace('"tls_required":true', '"tls_required":false')).stop
    assert "expected the recorded CONNECT" in stop.words


def test_what_a_trace_kept_is_in_its_first_lines():
    assert [keep_of({"payload": each.value.lower()}) for each in Keep] == list(Keep)
    assert keep_of({}) is keep_of({"payload": "half"}) is Keep.FULL


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_sessions_full_of_misfortune_are_said_again(seed, monkeypatch):
    """Links lost, servers restarted, consumers deleted, answers late; what cannot be made again is
    not opened.
    """
    before = Recorder.open

    def opened(self, conversation, now):
        if isinstance(conversation, PublishWindow | DirectBatch):
            raise LocalProtocolError("not in this session")
        return before(self, conversation, now)

    monkeypatch.setattr(Recorder, "open", opened)
    text = Machines(seed, [Keep.LENGTH, Keep.HASH, Keep.FULL][seed % 3]).play()

    assert [rerun(text, cut=cut).stop for cut in (None, Cuts(seed))] == [None, None]
