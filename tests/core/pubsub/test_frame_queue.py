"""The queue of runs gives what was pushed, in order, whatever way it is taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jsproto.core.pubsub.frame_queue import FrameQueue


def frame(number: int):
    return ("1", f"s.{number}", "", None, b"")


script = st.lists(
    st.integers(1, 4) | st.sampled_from(["pop", "run", "frames", "clear", "twin"]), max_size=40
)


@given(script)
def test_it_agrees_with_a_plain_list(steps):
    backlog, plain, number = FrameQueue(), [], 0
    for step in steps:
        if isinstance(step, int):
            run = [frame(number + each) for each in range(step)]
            number += step
            backlog.push(list(run))
            plain += run
        elif step == "pop":
            assert (plain.pop(0) if plain else None) == backlog.pop()
        elif step == "run":
            assert plain == backlog.pop_run()
            plain = []
        elif step == "frames":
            assert plain == backlog.frames()
        elif step == "clear":
            backlog.clear()
            plain = []
        else:
            twin = FrameQueue()
            twin.restore(backlog.snapshot())
            backlog = twin

        assert len(plain) == len(backlog) == backlog.count
