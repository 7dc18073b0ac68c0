"""The story is told once: the blocking play is the asyncio play without its awaits."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace

from jsproto_cli.demo import on_asyncio, on_blocking
from jsproto_cli.demo.story import OrderTally


def without_colour(function) -> list[str]:
    """The words of a function without what only its colour says."""
    text = re.sub(r"\b(async|await)\s+", "", inspect.getsource(function))
    text = re.sub(r"\b(Async|Sync)(?=[A-Z])", "", text)
    return re.findall(r"[\w.]+|[^\w\s,]", text)  # a comma may be the formatter's


def functions(module) -> dict[str, object]:
    return {
        name: thing
        for name, thing in vars(module).items()
        if inspect.isfunction(thing)
        and thing.__module__ == module.__name__
        and not name.endswith("play")
    }


def test_both_plays_have_the_same_functions():
    assert set(functions(on_asyncio)) == set(functions(on_blocking)) != set()


def test_each_function_differs_by_its_awaits_only():
    blocking = functions(on_blocking)
    differing = [
        name
        for name, function in functions(on_asyncio).items()
        if without_colour(function) != without_colour(blocking[name])
    ]

    assert differing == []


class Comes:
    """A stream that comes back with its old messages so many times after it was deleted."""

    def __init__(self, old: int) -> None:
        self.old = old
        self.made = 0
        self.deleted = 0

    def create_stream(self, **_):
        self.made += 1
        return self

    def info(self):
        return SimpleNamespace(state=SimpleNamespace(messages=max(0, self.old - self.deleted)))

    def delete(self):
        self.deleted += 1


def test_a_stream_that_comes_back_with_old_messages_is_made_anew_until_it_is_empty():
    js = Comes(old=3)
    on_blocking._empty_stream(js)

    assert (js.made, js.deleted) == (4, 3)


def test_a_stream_that_never_comes_empty_is_taken_as_it_is_after_some_tries():
    js = Comes(old=1000)
    on_blocking._empty_stream(js)

    assert js.deleted == on_blocking.TRIES


def test_acks_that_the_server_never_works_off_are_told_after_a_while(monkeypatch):
    monkeypatch.setattr(on_blocking, "SETTLED", 0.05)
    floor = SimpleNamespace(consumer_seq=10, stream_seq=9)
    info = SimpleNamespace(name="NEW", num_ack_pending=1, num_pending=2, ack_floor=floor)
    ledger = OrderTally("blocking")
    on_blocking._look(SimpleNamespace(info=lambda: info), ledger)

    assert ledger.unsettled == {"NEW": 3}
    assert ledger.ack_floor == {"NEW": (10, 9)}
