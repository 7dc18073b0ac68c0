"""A range of a stream whose replica lags, whose messages are removed, and whose links are lost: all
survivors, each once.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.errors import DataLost
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.reader import RangeReader
from jsproto.jetstream.range_read.states import RangeState
from jsproto.jetstream.status import EndReason
from tests.jetstream.range_rig import Rig


class RangeModel(RuleBasedStateMachine):
    """The truth is what the leader of the stream holds."""

    @initialize(
        way=st.sampled_from([ReadMode.CONSUMER, ReadMode.DIRECT]),
        subjects=st.sampled_from([(), ("s.1",), ("s.1", "s.2"), ("s.nobody",)]),
        fail=st.booleans(),
        ends=st.sampled_from([(1, 40), (1, 41), (7, 30), (20, 21), (12, 12), (3, 5)]),
        there=st.tuples(st.sampled_from([40, 41, 45, 29, 4]), st.integers(0, 20)),
        most=st.integers(1, 9),
    )
    def begin(self, way, subjects, fail, ends, there, most):  # noqa: PLR0917 - as the strategies
        stored, lag = there
        lo, hi = ends
        hi = max(lo, min(hi, stored + 1))
        self.rig = Rig(
            lo,
            hi,
            stored=0,
            opened=False,
            way=way,
            subjects=subjects,
            fail_on_loss=fail,
            max_messages=most,
            patience=10_000.0,
        )
        self.lo, self.hi, self.fail = lo, hi, fail
        self.removed: set[int] = set()
        self.vanished: set[int] = set()
        self.passed = False
        for number in range(1, stored + 1):
            self.rig.add(f"s.{number % 3}")
        self.rig.catch_up(max(0, stored - lag))
        self.rig.reader.opened(0.0)
        self.rig.look()

    @property
    def reader(self) -> RangeReader:
        return self.rig.reader

    def wanted(self, seq):
        subjects = self.reader.options.subjects
        return self.lo <= seq < self.hi and (not subjects or f"s.{seq % 3}" in subjects)

    # ------------------------------------------------------------------ what happens

    @precondition(lambda self: self.rig.mux)
    @rule()
    def an_answer_arrives(self):
        self.rig.answer()

    @precondition(lambda self: self.rig.inbox)
    @rule(count=st.integers(1, 6))
    def frames_arrive(self, count):
        self.rig.arrive(count)

    @rule()
    def everything_arrives(self):
        self.rig.settle()

    @rule(count=st.integers(1, 4))
    def take(self, count):
        self.rig.take(count)

    @rule(count=st.integers(1, 10))
    def the_replica_learns(self, count):
        self.rig.catch_up(count)

    @rule(seconds=st.sampled_from([0.01, 0.3, 2.0, 7.0, 40.0]))
    def time_passes(self, seconds):
        self.rig.run_to(self.rig.now + seconds)

    @rule(seconds=st.sampled_from([0.3, 7.0]))
    def time_passes_without_a_word(self, seconds):
        self.rig.run_to(self.rig.now + seconds, settle=False, beats=False)

    @precondition(lambda self: self.rig.port.up)
    @rule(seconds=st.sampled_from([0.0, 3.0]))
    def the_link_is_lost(self, seconds):
        self.rig.down()
        self.rig.run_to(self.rig.now + seconds, beats=False)
        self.rig.up()

    @rule()
    def the_stream_grows(self):
        self.rig.add(f"s.{(self.rig.leader.last + 1) % 3}")

    @rule(seq=st.integers(1, 45))
    def a_message_is_deleted(self, seq):
        first = self.rig.leader.first
        self.rig.change("delete", seq)
        self.removed.add(seq)
        self.moved(first)

    @rule(seq=st.integers(1, 45))
    def the_beginning_moves(self, seq):
        first = self.rig.leader.first
        self.rig.change("purge", min(seq, self.rig.leader.last + 1))
        self.moved(first)

    def moved(self, before):
        """What lies before the beginning is gone; who had not read it has lost it."""
        first = self.rig.leader.first
        gone = set(range(before, first))
        self.vanished |= {
            seq for seq in gone - self.removed if self.wanted(seq) and seq > self.reader.last
        }
        self.removed |= gone
        self.passed = self.passed or first > self.lo

    @rule()
    def its_consumers_are_deleted(self):
        for name in list(self.rig.consumers):
            for token, _ in self.rig.consumers[name].pulls:
                self.rig.status(
                    409, "Consumer Deleted", token=token, sid=self.rig.consumers[name].inbox
                )
            del self.rig.consumers[name]

    @rule()
    def a_delivery_is_swallowed(self):
        self.rig.swallow += 1

    @rule()
    def it_is_taken_down_and_put_up_again(self):
        other = RangeReader(ApiSubjects(), "S", self.reader.options)
        data = self.reader.snapshot()
        commands, notices = self.rig.port.commands, self.rig.port.notices
        other.restore(data)
        assert other.snapshot() == data
        assert other.deadline == self.reader.deadline
        assert other.readable == self.reader.readable
        other.port.commands, other.port.notices = commands, notices
        self.rig.reader = other

    # ------------------------------------------------------------------ what holds

    @invariant()
    def what_was_taken_rises_and_was_wanted(self):
        taken = self.rig.taken

        assert taken == sorted(set(taken))
        assert all(map(self.wanted, taken))

    @invariant()
    def no_more_is_at_hand_than_was_allowed(self):
        at_hand = sum(len(run) for run in self.reader._backlog)

        assert at_hand <= 2 * self.reader.options.max_messages

    @invariant()
    def it_only_ends_for_a_reason(self):
        if self.reader.error is not None:
            assert isinstance(self.reader.error, DataLost)
            assert self.fail
            assert self.passed

    def teardown(self):
        if not hasattr(self, "rig"):
            return
        rig = self.rig
        rig.swallow = 0
        rig.catch_up()
        for _ in range(150):  # with room for one message each comes in a round of its own
            rig.settle()
            rig.take()
            if rig.ended:
                break
            rig.run_to(rig.now + 10.0)
        assert rig.ended
        lost = {seq for each in self.reader.lost for seq in range(each.first, each.until)}
        there = [seq for seq in rig.leader.messages if self.wanted(seq)]
        if rig.error is None:
            assert self.reader.reason is EndReason.FILLED
            assert set(there) <= set(rig.taken)
        assert self.vanished - set(rig.taken) <= lost or (rig.error is not None and lost)
        assert self.passed or not lost
        self.what_was_taken_rises_and_was_wanted()
        self.it_only_ends_for_a_reason()
        rig.run_to(rig.now + 60.0)
        assert rig.consumers == {}
        assert self.reader.state is RangeState.OVER
        assert self.reader.finished


TestRange = pytest.mark.slow(RangeModel.TestCase)
TestRange.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
