"""One life of a connection, and what must hold in it after every step.

A `World` plays the transport, the server, the clock and the user of one `Connection`, writes down
all that comes out, and checks after every step what must hold at all times. Its `Peer` is a truth
of its own: it reads the client's bytes with a few lines of its own and knows what is subscribed on
the present link.
"""

from __future__ import annotations

import json

from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import (
    Closed,
    Connected,
    Dial,
    Disconnected,
    HangUp,
    Notice,
    NoticeKind,
    Ready,
)
from jsproto.core.connection.link import ATTEMPTING, OPEN, LinkState
from jsproto.core.connection.options import Options
from jsproto.core.conversation.conversation import Conversation, StopMode
from jsproto.core.pubsub.request import Flush, request
from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import (
    ConversationClosed,
    JsprotoError,
    LocalProtocolError,
    OutboundFull,
    PayloadTooLarge,
)
from jsproto.signals import ENDED, NEED_DATA
from jsproto.wire.commands import Publish

#: All times are dyadic, so that they add up exactly whatever the clock started with.
OPTIONS = {
    "servers": ("nats://a:1", "nats://b:2"),
    "randomize": False,
    "reconnect_jitter": 0.125,
    "reconnect_wait": 0.25,
    "reconnect_wait_max": 1.0,
    "connect_sweeps": None,
    "connect_timeout": 2.0,
    "ping_interval": 4.0,
    "max_pings_out": 1,
    "drain_timeout": 8.0,
    "close_timeout": 0.5,
    "max_backlog": 100,
    "outbound_high": 60,
    "outbound_low": 30,
}

MUX = ".*.*"
#: What a client says beside messages.
COMMANDS = ("CONNECT", "SUB", "UNSUB", "PING", "PONG")


class Puller(Conversation[bytes]):
    """Asks once on every link, from a fresh inbox, and hands payloads out."""

    def __init__(self):
        super().__init__()
        self.items = []

    def opened(self, now):
        self.port.subscribe()
        if self.port.up:
            self.link_up(now)

    def link_up(self, now):
        self.port.ask("pull", b"")

    def delivered(self, run, now):
        self.items += [frame[4] for frame in run]

    def take(self, now):
        return self.items.pop(0) if self.items else self.nothing()

    @property
    def readable(self):
        return len(self.items)


class Ack:
    """Something that may be written once."""

    def __init__(self, frame):
        self._frame = frame
        self.done = False

    def __repr__(self):
        return f"Ack({self._frame!r})"

    def settle_by(self, write):
        if self.done:
            return False
        write(self._frame)
        self.done = True
        return True

    def repeated(self):
        return self.done


class Peer:
    """One link as the server sees it.

    Attributes:
        subs: subject by sid, of what is subscribed now; ``limits`` are the messages left of those
            that have a limit, ``sent`` the messages that went to each on this link.
        said: what the client said since this was last emptied: ``(command or subject, detail)``.
        calls: ``(subject, reply)`` of every publish with a reply.
        unanswered: PINGs without a PONG.
        full: it said that it takes no more subscriptions, and did not say which it refused.
    """

    def __init__(self, sids):
        self.rest = b""
        self.subs = {}
        self.limits = {}
        self.full = False
        self.sent = {}
        self.unanswered = 0
        self.said = []
        self.calls = []
        self.sids = sids
        self.max_payload = 0

    def hears(self, data):
        self.rest += data
        while b"\r\n" in self.rest:
            line, _, rest = self.rest.partition(b"\r\n")
            words = line.decode().split(" ")
            if words[0] == "PUB":
                size = int(words[-1])

                assert b"\r\n" == rest[size : size + 2]
                assert size <= (self.max_payload or size)

                self.said.append((words[1], rest[:size]))
                self.calls += [(words[1], words[2])] if len(words) == 4 else []
                rest = rest[size + 2 :]
            else:
                self.obeys(words)
            self.rest = rest

    def obeys(self, words):
        command, sid = words[0], words[-1]
        if command == "SUB":
            # The mux is asked for again where its SUB may have been the one that was refused.
            assert sid not in self.subs or (self.full and words[1].endswith(MUX))
            assert words[1] == self.sids.setdefault(
                sid, words[1]
            )  # a sid never means anything else

            self.subs[sid] = words[1]
        elif command == "UNSUB" and len(words) == 3:
            sid = words[1]

            assert sid in self.subs

            self.limits[sid] = int(words[2]) - self.sent.get(sid, 0)

            assert self.limits[sid] > 0

        elif command == "UNSUB":
            assert sid in self.subs

            del self.subs[sid]
            self.limits.pop(sid, None)
        elif command == "PING":
            self.unanswered += 1
        else:
            assert command in ("CONNECT", "PONG")
        self.said.append((command, sid))

    def message(self, sid, payload, subject=None):
        """The bytes of a message; a limited subscription is over with its last."""
        subject = subject or self.subs[sid]
        self.sent[sid] = self.sent.get(sid, 0) + 1
        if sid in self.limits:
            self.limits[sid] -= 1
            if not self.limits[sid]:
                del self.subs[sid], self.limits[sid]
        return f"MSG {subject} {sid} {len(payload)}\r\n".encode() + payload + b"\r\n"


class World:
    """One life. Steps are methods; each drains the outputs and checks.

    Attributes:
        opened: all conversations, in order; ``waiting`` are those that were told NEED_DATA and not
            woken since.
        accepted: user publishes that ``send`` and ``settle`` took; ``handed`` those that reached a
            server.
        transcript: everything that came out, with times counted from the start.
        taken: payloads by conversation.
    """

    def __init__(self, *, start=0.0, cuts=0, **options):
        self.start = self.now = start
        self.cuts = cuts
        self.count = 0
        self.options = Options(**{**OPTIONS, **options})
        self.connection = Connection(self.options, entropy=self.entropy, now=start)
        self.sids = {}
        self.tokens = set()
        self.peer = Peer(self.sids)
        self.dialled = self.linked = self.closed = self.write_blocked = self.hurried = False
        self.draining = self.left_out = False
        self.dial_time = start
        self.last_dial = {}
        self.opened = []
        self.told_to_end = set()
        self.waiting = set()
        self.accepted = []
        self.handed = []
        self.published = 0
        self.transcript = []
        self.taken = {}
        self.pump()

    def entropy(self, count):
        """Different each time, and dyadic as a fraction."""
        self.count += 1
        return bytes([self.count * 37 % 256]) + bytes(count - 1)

    # ------------------------------------------------------------------ outputs

    def named(self, event):
        """An event as a value without addresses in memory."""
        if not isinstance(event, (Ready, Notice)):
            return repr(event)
        number = None if event.conversation is None else self.opened.index(event.conversation)
        return (number, repr(event.detail), event.kind) if isinstance(event, Notice) else number

    def pump(self):
        """Drain the outputs. Answers whether anything came out."""
        events = []
        while (event := self.connection.next_event()) is not None:
            events.append(event)
        data = self.connection.data_to_send()
        deadline = self.connection.next_deadline()
        deadline = None if deadline is None else deadline - self.start
        self.transcript.append(([self.named(event) for event in events], data, deadline))

        assert not (self.closed and (events or data))  # nothing follows the end

        if data:
            self.heard(data, restored=any(isinstance(event, Connected) for event in events))
        for event in events:
            self.judge(event)
        self.check()
        return bool(events or data)

    def heard(self, data, *, restored):
        assert self.dialled

        calls = len(self.peer.calls)
        self.peer.hears(data)
        said, self.peer.said = self.peer.said, []
        self.published += sum(what not in COMMANDS for what, _ in said)
        self.handed += [payload for subject, payload in said if subject == "user"]
        for _, reply in self.peer.calls[calls:]:
            assert reply not in self.tokens  # no reply subject is used twice

            self.tokens.add(reply)
        if (
            restored
        ):  # subscriptions, then who asks again, then what was kept, then the fences behind it
            order = {"SUB": 0, "UNSUB": 0, "pull": 1, "svc": 1, "user": 2, "PING": 3}
            ranks = [
                order[what] for what, detail in said if (what, detail) != ("SUB", "1")
            ]  # the mux: when needed

            assert sorted(ranks) == ranks

    def judge(self, event):
        """The order of events."""
        assert not self.closed

        if isinstance(event, Dial):
            assert not self.dialled

            server = str(event.server)
            pause = self.now - self.last_dial.get(server, float("-inf"))

            assert self.hurried or pause >= self.options.reconnect_wait

            self.hurried = False
            self.dialled = True
            self.last_dial[server] = self.dial_time = self.now
        elif isinstance(event, HangUp):
            assert self.dialled

            self.dialled = False
        elif isinstance(event, Connected):
            assert self.dialled
            assert not self.linked

            self.linked = True
        elif isinstance(event, Disconnected):
            assert self.linked

            self.linked = False
        elif isinstance(event, Closed):
            assert not self.dialled

            self.closed = True
        elif isinstance(event, Notice):
            self.left_out = self.left_out or event.kind is NoticeKind.UNSENT
        elif isinstance(event, Ready) and event.conversation is None:
            assert self.write_blocked

            self.write_blocked = False
        elif isinstance(event, Ready):
            assert event.conversation in self.waiting

            self.waiting.discard(event.conversation)

    def check(self):
        """What holds after every step."""
        connection = self.connection
        live = [each for each in self.opened if not each.ended]

        assert self.closed == connection.closed
        assert self.dialled == (connection.state in OPEN or connection.state is LinkState.DIALING)
        assert [] == [
            each for each in self.waiting if each.readable or each.ended
        ]  # who waits waits for something
        assert self.write_blocked == connection.write_blocked
        assert self.published == connection.stats.messages_out
        assert len(live) == connection.conversations
        assert self.handed == [
            each for each in self.accepted if each in set(self.handed)
        ]  # in order, at most once
        if connection.state in ATTEMPTING:
            assert self.now - self.dial_time <= self.options.connect_timeout
        if connection.connected:
            assert self.left_out or self.handed == self.accepted

            feeds = [each for each in live if isinstance(each, (Subscription, Puller))]
            wanted = [each for each in feeds if each not in self.told_to_end]
            subjects = [subject for subject in self.peer.subs.values() if not subject.endswith(MUX)]

            assert len(subjects) == len(wanted)
            assert len(self.peer.subs) - len(subjects) <= 1
        if self.closed:
            assert [] == live
            assert connection.next_deadline() is None

    # ------------------------------------------------------------------ time

    def advance(self, seconds):
        """Let time pass; at every deadline something must come of it."""
        end = self.now + seconds
        while (due := self.connection.next_deadline()) is not None and due <= end:
            self.now = max(due, self.now)
            self.connection.handle_tick(self.now)
            came = self.pump()
            after = self.connection.next_deadline()

            assert came or after is None or after > self.now
        self.now = end
        self.connection.handle_tick(end)
        self.pump()

    def early(self):
        """A spurious tick changes nothing."""
        before = self.connection.next_deadline()
        if before is None or before > self.now:
            self.connection.handle_tick(self.now)

            assert not self.pump()
            assert before == self.connection.next_deadline()

    # ------------------------------------------------------------------ the road and the server

    def feed(self, data):
        step = self.cuts or len(data) or 1
        for at in range(0, len(data), step):
            self.connection.receive_data(data[at : at + step], self.now)
        self.pump()

    def transport(self):
        if self.connection.state is LinkState.DIALING:
            self.peer = Peer(self.sids)
            self.connection.transport_up(self.now)
            self.pump()

    def info(self, max_payload=1000, **more):
        if self.connection.state in OPEN:
            self.peer.max_payload = max_payload
            self.feed(
                b"INFO " + json.dumps({"max_payload": max_payload, **more}).encode() + b"\r\n"
            )

    def pong(self):
        count, self.peer.unanswered = self.peer.unanswered, 0
        if count and self.connection.state in OPEN:
            self.feed(b"PONG\r\n" * count)

    def ping(self):
        if self.connection.state in OPEN:
            self.feed(b"PING\r\n")

            assert b"PONG\r\n" in self.transcript[-1][1] or self.connection.state not in OPEN

    def link(self):
        """Whatever it takes to have a link, if one can be had."""
        for _ in range(20):
            if (
                self.connection.connected
                or self.connection.state is LinkState.CLOSING
                or self.closed
            ):
                return
            if self.connection.state is LinkState.WAITING:
                self.advance(self.connection.next_deadline() - self.now)
            self.transport()
            if self.connection.state is LinkState.GREETED:
                self.info()
            self.pong()

    def down(self):
        if self.dialled:
            self.dialled = False
            self.connection.transport_down(None, self.now)
            self.pump()

    def crash(self):
        """The link is lost before the transport has taken what was written since."""
        if self.connection.connected:
            self.write()
            self.dialled = False
            self.connection.transport_down(ConnectionResetError("reset"), self.now)
            self.pump()

    def error(self, text):
        if self.connection.state in OPEN:
            self.peer.full = self.peer.full or text == "maximum subscriptions exceeded"
            self.feed(f"-ERR '{text}'\r\n".encode())

    def say(self, which, count=1):
        """Messages of one subscription of the server. Answers their payloads."""
        sids = sorted(sid for sid, subject in self.peer.subs.items() if not subject.endswith(MUX))
        said = []
        if self.connection.connected and sids:
            sid = sids[which % len(sids)]
            data = b""
            while sid in self.peer.subs and len(said) < count:
                self.count += 1
                said.append(b"%d" % self.count)
                data += self.peer.message(sid, said[-1])
            self.feed(data)
        return said

    def stray(self):
        """A message for a subscription that nobody has."""
        if self.connection.state in OPEN:
            self.feed(b"MSG gone 999999 1\r\nx\r\n")

    def answer(self, which):
        """An answer to one of the calls of this link, perhaps its second."""
        calls = [reply for subject, reply in self.peer.calls if subject == "svc"]
        if self.connection.connected and calls:
            self.feed(self.peer.message("1", b"answer", calls[which % len(calls)]))

    # ------------------------------------------------------------------ the user

    def start_one(self, kind, limit=0):
        """Open a conversation, if the connection takes one."""
        name = f"s.{len(self.opened)}"
        made = {
            "sub": lambda: Subscription(name, limit=limit, max_messages=5),
            "request": lambda: request("svc", b"?", timeout=3.0),
            "flush": lambda: Flush(3.0),
            "puller": Puller,
        }[kind]()
        self.opened.append(made)
        try:
            self.connection.open(made, self.now)
        except ConversationClosed:
            self.opened.pop()

            assert self.connection.state in (LinkState.CLOSING, LinkState.CLOSED)

            made = None
        if self.draining and made is not None:
            self.told_to_end.add(made)
        self.pump()
        return made

    def chosen(self, which):
        return self.opened[which % len(self.opened)] if self.opened else None

    def take(self, which, everything=False):
        """Take an item or all of them from one conversation."""
        conversation = self.chosen(which)
        if conversation is None:
            return
        verb = self.connection.take_all if everything else self.connection.take
        try:
            item = verb(conversation, self.now)
        except JsprotoError:
            assert conversation.error is not None
            assert not conversation.readable
        else:
            if item is NEED_DATA:
                assert not conversation.ended

                self.waiting.add(conversation)
            elif item is ENDED:
                assert conversation.ended
            else:
                items = item if isinstance(item, list) else [item]
                self.taken.setdefault(conversation, []).extend(
                    getattr(each, "payload", each) for each in items
                )
        self.pump()

    def close(self, which=None):
        conversation = None if which is None else self.chosen(which)
        if which is None or conversation is not None:
            self.connection.close(conversation, self.now)
            self.pump()
        if conversation is not None:
            assert conversation.ended

    def tell(self, which, wish):
        conversation = None if which is None else self.chosen(which)
        if conversation is not None:
            self.told_to_end.add(conversation)
            self.connection.tell(conversation, wish, self.now)
        elif which is None:
            self.draining = True
            self.told_to_end.update(self.opened)
            self.connection.tell(None, wish, self.now)
        self.pump()

    def limit(self, which, count):
        """Limit a conversation that runs. Answers whether that was taken."""
        try:
            self.connection.limit(self.opened[which], count, self.now)
        except LocalProtocolError:
            return False
        finally:
            self.pump()
        return True

    def write(self, size=3):
        """Publish fire and forget, without draining the outputs."""
        payload = b"%d." % len(self.accepted) + bytes(size)
        try:
            if self.connection.send(Publish("user", payload), self.now):
                self.accepted.append(payload)
            else:
                self.write_blocked = True
        except ConversationClosed:
            assert self.connection.state in (LinkState.CLOSING, LinkState.CLOSED)
        except PayloadTooLarge:
            assert len(payload) > self.connection.info.max_payload

    def send(self, size=3, count=1):
        for _ in range(count):
            self.write(size)
        self.pump()

    def settle(self):
        payload = b"%d.ack" % len(self.accepted)
        ack = Ack(b"PUB user %d\r\n%b\r\n" % (len(payload), payload))
        try:
            assert self.connection.settle(ack, self.now)
        except (ConversationClosed, OutboundFull):
            assert not ack.done
        else:
            assert not self.connection.settle(ack, self.now)

            self.accepted.append(payload)
        self.pump()

    def unsent(self, count):
        self.connection.transport_unsent(count, self.now)
        self.pump()

    def reconnect(self):
        self.hurried = self.hurried or self.connection.state is LinkState.WAITING
        self.connection.reconnect(self.now)
        self.pump()

    def stop(self, how=StopMode.DRAIN):
        """End the connection in one way or the other, and give it the time that it may take."""
        if how is None:
            self.close()
            self.advance(self.options.close_timeout)
        else:
            self.tell(None, how)
            self.advance(self.options.drain_timeout + self.options.close_timeout)

        assert self.closed
