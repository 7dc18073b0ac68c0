from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.delivery.ack import OPEN, SETTLED
from jsproto.jetstream.delivery.in_progress import InProgressTracker
from jsproto.jetstream.delivery.message import JsMessage


def message(number: int) -> JsMessage:
    return JsMessage(
        ("7", "s.a", f"$JS.ACK.S.C.1.{number}.{number}.1795811553265218855.0", None, b"")
    )


def number(each: JsMessage) -> int:
    return each.metadata.stream_sequence


class Desk:
    """A feed and its user, got from the part: what is at hand, in hand, and how old it is."""

    def __init__(self, every: float = 10.0) -> None:
        self.part = InProgressTracker(every)
        self.now = 0.0
        self.at_hand: list[tuple[int, float]] = []
        self.held: dict[int, tuple[JsMessage, float]] = {}
        self.count = 0

    def comes(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            self.at_hand.append((self.count, self.now))
        self.part.came(count, self.now)

    def takes(self, count: int) -> None:
        for _ in range(min(count, len(self.at_hand))):
            which, since = self.at_hand.pop(0)
            taken = message(which)
            self.held[which] = (taken, since)
            self.part.hand(taken)

    def settles(self, which: int) -> None:
        taken, _ = self.held.pop(which)
        taken.state = SETTLED

    def passes(self, seconds: float) -> set[int]:
        """Time goes by; gives for whom in-progress was said last."""
        self.now += seconds
        told: set[int] = set()
        while self.part.due is not None and self.part.due <= self.now:
            told = self.beats()
        return told

    def beats(self) -> set[int]:
        held, ripe = self.part.beat(self.now, len(self.at_hand))
        return {number(each) for each in held} | {which for which, _ in self.at_hand[:ripe]}


def test_without_a_beat_there_is_never_anything_to_do():
    part = InProgressTracker()
    part.came(3, 1.0)

    assert part.due is None
    assert part.empty


def test_the_first_message_starts_the_beat_and_the_last_one_ends_it():
    desk = Desk()
    desk.now = 5.0
    desk.comes(2)

    assert desk.part.due == 15.0

    desk.takes(2)
    desk.settles(1)
    desk.settles(2)
    desk.passes(10.0)

    assert desk.part.due is None
    assert desk.part.empty


def test_what_is_settled_before_its_second_beat_is_never_spoken_of():
    desk = Desk()
    desk.comes(1)
    desk.takes(1)

    assert desk.passes(10.0) == set()
    desk.settles(1)
    assert desk.passes(10.0) == set()


def test_what_is_held_is_told_from_the_second_beat_on_and_again_at_each():
    desk = Desk()
    desk.comes(2)
    desk.takes(2)

    assert [desk.passes(10.0) for _ in range(3)] == [set(), {1, 2}, {1, 2}]
    desk.settles(1)
    assert desk.passes(10.0) == {2}


def test_what_waits_at_hand_is_told_too_and_keeps_its_age_when_it_is_taken():
    desk = Desk()
    desk.comes(3)
    desk.passes(10.0)
    desk.takes(1)  # it was there at the beat: ripe in hand
    desk.comes(1)  # young

    assert desk.passes(10.0) == {1, 2, 3}
    desk.takes(3)
    assert desk.passes(10.0) == {1, 2, 3, 4}


def test_messages_age_when_they_wait_through_two_whole_beats():
    desk = Desk()
    desk.comes(4)
    seen = []
    for taken in (0, 1, 1, 0, 2):
        desk.takes(taken)
        desk.passes(10.0)
        seen.append(desk.part.ageing)

    assert seen == [0, 0, 2, 2, 0]


def test_beats_that_were_missed_count_as_one():
    desk = Desk()
    desk.comes(1)
    desk.takes(1)
    desk.now = 1000.0
    beats = 0
    while desk.part.due <= desk.now:
        told = desk.beats()
        beats += 1

    assert beats == 2
    assert told == {1}
    assert desk.part.due == 1010.0


def test_settled_messages_are_let_go_of_though_no_beat_comes():
    desk = Desk(every=1e9)
    desk.comes(10_000)
    for which in range(1, 10_001):
        desk.takes(1)
        if which % 1000:
            desk.settles(which)

    assert len(desk.part._held) <= 2 * 10 + 2 * 64
    assert [number(each) for each in desk.part.open] == list(range(1000, 10_001, 1000))


def test_clearing_forgets_everything():
    desk = Desk()
    desk.comes(3)
    desk.takes(1)
    desk.part.clear()

    assert (desk.part.due, desk.part.open, desk.part.empty) == (None, [], True)


def test_a_snapshot_has_the_messages_and_their_states():
    desk = Desk()
    desk.comes(3)
    desk.passes(10.0)
    desk.takes(2)
    desk.settles(2)
    other = InProgressTracker(10.0)
    other.restore(desk.part.snapshot())

    assert other.snapshot() == desk.part.snapshot()
    assert [(number(each), each.state) for each in other.open] == [(1, OPEN)]
    held, ripe = other.beat(20.0, 1)
    assert ([number(each) for each in held], ripe) == ([1], 1)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("comes"), st.integers(1, 5)),
            st.tuples(st.just("takes"), st.integers(1, 4)),
            st.tuples(st.just("settles"), st.integers(0, 30)),
            st.tuples(st.just("passes"), st.sampled_from([1.0, 4.0, 10.0, 13.0])),
        ),
        max_size=40,
    )
)
def test_nothing_open_gets_older_than_two_beats_without_a_word_and_nothing_settled_is_spoken_of(
    steps,
):
    desk = Desk()
    told_at: dict[int, float] = {}
    for what, amount in steps:
        if what != "passes":
            if what == "settles":
                if desk.held:
                    desk.settles(sorted(desk.held)[amount % len(desk.held)])
            else:
                getattr(desk, what)(amount)
            continue
        end = desk.now + amount
        while desk.part.due is not None and desk.part.due <= end:
            desk.now = max(desk.now, desk.part.due)
            told = desk.beats()
            assert told <= set(desk.held) | {which for which, _ in desk.at_hand}
            told_at.update(dict.fromkeys(told, desk.now))
            for which, since in [
                *desk.at_hand,
                *((each, since) for each, (_, since) in desk.held.items()),
            ]:
                assert desk.now - max(since, told_at.get(which, 0.0)) < 20.0
        desk.now = end
        if desk.held or desk.at_hand:
            assert desk.part.due is not None
