"""Flow control alone: what becomes a marker, what is answered, and in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.push.flow_control import FlowControl, FlowMark

A, B = "$JS.FC.S.C.aaaa", "$JS.FC._.hash.S.C.bbbb"


def frame(number: int):
    return ("2", "s.a", f"$JS.ACK.S.C.1.{number}.{number}.1.0", None, b"x")


def answered() -> FlowControl:
    flow = FlowControl()
    flow.met(A)
    flow.answer(flow.passed().subject)
    return flow


def test_a_question_is_a_marker_and_what_comes_behind_waits_there():
    flow = FlowControl()

    assert flow.met(A) is FlowMark.MARKED
    flow.hold([frame(1), frame(2)])
    flow.hold([frame(3)])
    assert flow.behind == 3
    assert flow.passed() == (A, [frame(1), frame(2), frame(3)])
    assert (flow.behind, len(flow.marks)) == (0, 0)


def test_markers_are_passed_in_order():
    flow = FlowControl()
    flow.met(A)
    flow.hold([frame(1)])
    flow.met(B)
    flow.hold([frame(2)])

    assert flow.frames() == [frame(1), frame(2)]
    assert flow.passed() == (A, [frame(1)])
    assert flow.frames() == [frame(2)]
    assert flow.passed() == (B, [frame(2)])


def test_a_subject_that_waits_is_no_second_marker():
    flow = FlowControl()
    flow.met(A)
    flow.met(B)

    assert flow.met(A) is FlowMark.KNOWN
    assert [subject for subject, _ in flow.marks] == [A, B]


def test_an_answer_that_is_missed_is_a_doubt_once():
    flow = answered()

    assert [flow.met(A), flow.met(A)] == [FlowMark.DOUBTED, FlowMark.KNOWN]
    assert flow.answers == 1


def test_an_answer_that_is_missed_although_the_server_has_read_it_was_lost_and_is_due_again():
    flow = answered()
    flow.met(A)
    flow.assured()

    assert flow.met(A) is FlowMark.MARKED
    flow.answer(flow.passed().subject)
    assert [flow.met(A), flow.met(A)] == [FlowMark.DOUBTED, FlowMark.KNOWN]


def test_a_fence_that_nobody_doubted_before_proves_nothing():
    flow = answered()
    flow.assured()

    assert flow.met(A) is FlowMark.DOUBTED


def test_another_subject_is_a_new_question():
    assert answered().met(B) is FlowMark.MARKED


def test_what_was_answered_on_a_lost_link_may_be_asked_again():
    flow = answered()
    flow.forget()

    assert flow.met(A) is FlowMark.MARKED


def test_clearing_gives_the_messages_back_and_forgets_the_markers():
    flow = FlowControl()
    flow.met(A)
    flow.hold([frame(1)])
    flow.met(B)
    flow.hold([frame(2)])

    assert flow.clear() == [frame(1), frame(2)]
    assert (flow.behind, len(flow.marks), flow.clear()) == (0, 0, [])


@given(
    st.lists(st.tuples(st.sampled_from([A, B, "x"]), st.integers(0, 3), st.booleans()), max_size=8)
)
def test_the_count_behind_is_the_number_of_frames_and_a_copy_does_the_same(steps):
    flow = FlowControl()
    for number, (subject, count, sure) in enumerate(steps):
        flow.met(subject)
        if sure:
            flow.assured()
        if flow.marks:
            flow.hold([frame(number)] * count)
        if number % 3 == 2 and flow.marks:
            flow.answer(flow.passed().subject)
        twin = FlowControl()
        twin.restore(flow.snapshot())
        assert flow.behind == len(flow.frames())
        assert twin.snapshot() == flow.snapshot()
        flow = twin


def test_at_first_nothing_was_answered_and_every_answer_counts():
    flow = FlowControl()
    assert (flow.answered, flow.answers, flow.behind) == ("", 0, 0)
    assert {name: flow.snapshot()[name] for name in ("_doubted", "_sure")} == {
        "_doubted": False,
        "_sure": False,
    }

    for number, subject in enumerate(("a", "b", "c"), 1):
        assert flow.met(subject) is FlowMark.MARKED
        flow.answer(flow.passed().subject)
        assert (flow.answered, flow.answers) == (subject, number)
