"""Who waits for a conversation to begin or to end is woken once for each stage, and by nothing
else.
"""

from __future__ import annotations

from jsproto.core.connection.events import Ready
from jsproto.core.conversation.conversation import Conversation, Stage


class Slow(Conversation[bytes]):
    """Has begun with the first message that comes."""

    def __init__(self):
        super().__init__()
        self.begun = False

    def opened(self, now):
        self.port.subscribe("slow")

    def delivered(self, run, now):
        self.begun = True

    @property
    def stage(self):
        return super().stage if self.begun or self.ended else Stage.BEGINNING


MESSAGE = b"MSG slow 2 1\r\nx\r\n"


def test_the_stages_of_a_conversation_that_begins_at_once(wire):
    w = wire().up()
    plain: Conversation[bytes] = w.open(Conversation())

    assert plain.stage is Stage.GOING
    w.close(plain)
    assert plain.stage is Stage.ENDED


def test_each_stage_that_is_watched_wakes_once(wire):
    w = wire().up()
    slow = w.open(Slow())
    w.all_told()
    slow.watched = slow.stage
    w.feed(b"PING\r\n")
    assert w.all_told() == []
    w.feed(MESSAGE)
    assert w.all_told() == [Ready(slow)]
    w.feed(MESSAGE)
    assert w.all_told() == []
    slow.watched = slow.stage
    w.feed(MESSAGE)
    assert w.all_told() == []
    w.close(slow)
    assert w.all_told() == [Ready(slow)]


def test_nobody_who_does_not_watch_is_woken(wire):
    w = wire().up()
    slow = w.open(Slow())
    w.all_told()
    w.feed(MESSAGE)
    w.close(slow)

    assert w.all_told() == []
