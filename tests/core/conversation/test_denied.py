from __future__ import annotations

from jsproto.core.conversation.denied import MOST, Denied


def test_a_refused_subject_is_told_once_for_each_refusal():
    denied = Denied()
    denied.add("a")
    denied.add("a")

    assert [denied.take("a"), denied.take("a"), denied.take("b")] == [True, False, False]


def test_only_the_newest_are_kept():
    denied = Denied()
    for number in range(MOST + 2):
        denied.add(str(number))

    assert len(denied) == MOST
    assert [denied.take("1"), denied.take("2"), denied.take(str(MOST + 1))] == [False, True, True]
