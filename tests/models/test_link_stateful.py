"""The link against a small truth: what the server has subscribed, what was handed over, what each
reader is owed.

Links come, break in any phase and with bytes still unsent, and come back, while a user subscribes,
publishes, asks and reads. The truth knows nothing of links: a reader is owed what the server sent
to its subscription, in order, up to its buffer; a publish that was taken reaches a server once, in
order; a request has one end. `World` adds what must hold after every step of any life.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jsproto.core.connection.link import OPEN, LinkState
from jsproto.core.conversation.conversation import StopMode
from jsproto.core.pubsub.subscription import Subscription
from tests.core.world import World

#: Messages that a subscription of a `World` keeps.
BUFFER = 5
WHICH = st.integers(0, 7)


class Links(RuleBasedStateMachine):
    """One connection, two servers, many links."""

    def __init__(self):
        super().__init__()
        self.world = World()
        self.owed = {}
        self.dropped = {}
        self.came = {}
        self.limits = {}
        self.ends = {}

    # ------------------------------------------------------------------ the road

    @initialize(first=st.booleans())
    def begins(self, first):
        if first:
            self.world.link()

    @precondition(lambda self: not self.world.connection.connected)
    @rule()
    def link_comes(self):
        self.world.link()

    @precondition(lambda self: not self.world.connection.connected)
    @rule(phase=st.integers(0, 3))
    def attempt_breaks_off(self, phase):
        """Dialling, waiting for INFO, waiting for the PONG: a handshake may end anywhere."""
        if self.world.connection.state is LinkState.WAITING:
            self.world.advance(self.world.connection.next_deadline() - self.world.now)
        for step in (self.world.transport, self.world.info)[:phase]:
            step()
        self.world.down()

    @rule()
    def link_breaks(self):
        self.world.down()

    @rule()
    def link_breaks_with_bytes_unsent(self):
        self.world.crash()

    @rule()
    def user_asks_for_another_link(self):
        self.world.reconnect()

    @rule(seconds=st.sampled_from([0.0, 0.25, 1.0, 4.0]))
    def time_passes(self, seconds):
        self.world.advance(seconds)

    # ------------------------------------------------------------------ the server

    @rule()
    def server_answers_pings(self):
        self.world.pong()

    @rule()
    def server_pings(self):
        self.world.ping()

    @rule(which=WHICH, count=st.integers(1, 7))
    def server_sends(self, which, count):
        subjects = dict(self.world.peer.subs)
        order = sorted(sid for sid, subject in subjects.items() if subject.startswith("s."))
        if not order or not self.world.connection.connected:
            return
        sid = order[which % len(order)]
        reader = self.world.opened[int(subjects[sid].removeprefix("s."))]
        data = b""
        for _ in range(count):
            if sid in self.world.peer.subs:
                self.world.count += 1
                payload = b"%d" % self.world.count
                data += self.world.peer.message(sid, payload)
                self.came[reader] += 1
                if len(self.owed[reader]) < BUFFER:
                    self.owed[reader].append(payload)
                else:
                    self.dropped[reader] += 1
        self.world.feed(data)

    @rule(which=WHICH)
    def server_answers_a_call(self, which):
        self.world.answer(which)

    # ------------------------------------------------------------------ the user

    @precondition(lambda self: len(self.world.opened) < 12)
    @rule(limit=st.integers(0, 4))
    def user_subscribes(self, limit):
        made = self.world.start_one("sub", limit)
        self.owed[made] = []
        self.dropped[made] = 0
        self.came[made] = 0
        self.limits[made] = limit

    @precondition(lambda self: len(self.world.opened) < 12)
    @rule(kind=st.sampled_from(["request", "flush", "puller"]))
    def user_asks(self, kind):
        self.world.start_one(kind)

    @rule(size=st.integers(0, 20), count=st.integers(1, 3))
    def user_publishes(self, size, count):
        self.world.send(size, count)

    @rule()
    def user_acks(self):
        self.world.settle()

    @precondition(lambda self: self.owed)
    @rule(which=WHICH, everything=st.booleans())
    def user_reads(self, which, everything):
        readers = list(self.owed)
        reader = readers[which % len(readers)]
        before = len(self.world.taken.get(reader, []))
        self.world.take(self.world.opened.index(reader), everything)
        taken = self.world.taken.get(reader, [])[before:]
        count = len(self.owed[reader]) if everything else 1
        owed, self.owed[reader] = self.owed[reader][:count], self.owed[reader][count:]

        assert owed == taken

    @rule(which=WHICH)
    def user_takes_anything(self, which):
        conversation = self.world.chosen(which)
        if conversation is not None and conversation not in self.owed:
            self.world.take(which)

    @rule(which=WHICH)
    def user_closes(self, which):
        self.world.close(which)

    @precondition(lambda self: self.owed)
    @rule(which=WHICH, count=st.integers(0, 9))
    def user_limits(self, which, count):
        """Unsubscribe after so many; what came on earlier links counts."""
        readers = list(self.owed)
        reader = readers[which % len(readers)]
        possible = 0 < count <= (self.limits[reader] or count)

        assert possible == self.world.limit(self.world.opened.index(reader), count)

        if possible and not reader.ended and reader not in self.world.told_to_end:
            self.limits[reader] = count

    @rule(which=WHICH, wish=st.sampled_from(list(StopMode)))
    def user_tells(self, which, wish):
        self.world.tell(which, wish)

    # ------------------------------------------------------------------ what holds

    @invariant()
    def every_reader_has_what_it_is_owed(self):
        for reader, owed in self.owed.items():
            assert len(owed) == reader.readable
            assert self.dropped[reader] == reader.dropped
        assert sum(self.dropped.values()) == self.world.connection.stats.dropped

    @invariant()
    def the_server_has_exactly_the_subjects_that_are_wanted(self):
        if self.world.connection.connected:
            wanted = [
                f"s.{number}"
                for number, each in enumerate(self.world.opened)
                if isinstance(each, Subscription)
                and not each.ended
                and each not in self.world.told_to_end
            ]
            subjects = [
                subject for subject in self.world.peer.subs.values() if subject.startswith("s.")
            ]

            assert sorted(wanted) == sorted(subjects)

    @invariant()
    def the_server_has_exactly_the_limits_that_are_left(self):
        if self.world.connection.connected:
            limits = {
                int(subject.removeprefix("s.")): self.world.peer.limits.get(sid, 0)
                for sid, subject in self.world.peer.subs.items()
                if subject.startswith("s.")
            }
            left = {
                number: max(0, self.limits[reader] - self.came[reader])
                for number, reader in enumerate(self.world.opened)
                if number in limits
            }

            assert left == limits

    @invariant()
    def a_limit_is_neither_exceeded_nor_outlived(self):
        for reader, limit in self.limits.items():
            if limit:
                assert self.came[reader] <= limit
                assert reader.ended or self.came[reader] < limit

    @invariant()
    def an_end_is_final(self):
        for each in self.world.opened:
            if each.ended:
                end = (type(each.error), str(each.error))

                assert end == self.ends.setdefault(each, end)

    @invariant()
    def nothing_is_sent_without_a_link(self):
        if self.world.connection.state not in OPEN:
            assert b"" == self.world.connection.data_to_send()

    def teardown(self):
        """With a link again all that was taken is handed over; then the end comes in time."""
        self.world.link()

        assert self.world.connection.connected
        assert self.world.accepted == self.world.handed

        self.world.stop(None)

        assert 0 == self.world.connection.conversations


TestLinks = Links.TestCase
TestLinks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
