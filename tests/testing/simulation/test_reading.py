"""What is asked of a reader when its link is there again."""

from types import SimpleNamespace

import pytest

from jsproto.jetstream.pull.consume import ConsumeState
from jsproto.testing.simulation import RuleBroken
from jsproto.testing.simulation.reading import Consumes


def reader(*, up: bool):
    feed = SimpleNamespace(
        ended=False,
        readable=0,
        state=ConsumeState.PULLING,
        port=SimpleNamespace(up=up),
        ledger=SimpleNamespace(open={}),
    )
    return SimpleNamespace(feed=feed, name="W0", shown=lambda: "nothing open")


def test_who_has_nothing_at_hand_and_asks_for_nothing_on_a_new_link_breaks_a_rule():
    with pytest.raises(RuleBroken, match="W0 asks for nothing on a new link"):
        Consumes.linked(reader(up=True), 1.0)


def test_a_link_that_is_gone_again_at_once_asks_nothing_of_anybody():
    """Found by ``jsproto simulate --works consume --seeds 71 --hours 2.1``."""
    Consumes.linked(reader(up=False), 1.0)
