"""Time in the books: it always moves on, it is counted in whole nanoseconds, and a record costs a
bounded number of looks.
"""

import sys
from random import Random

import pytest

from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Received, Waited
from jsproto.trace.judge.lint import Lint, lint
from jsproto.trace.observe import ledger
from jsproto.trace.observe.books import TraceContext
from jsproto.trace.observe.ledger import SECOND, nanoseconds
from jsproto.trace.show.subscription_status import Standings
from jsproto.trace.show.view import Viewing

HEAD = rb"""#jsproto-trace/2
= a connected
< a INFO {"server_id":"N","version":"2.15.1","headers":true} \r\n
> a CONNECT {"headers":true,"no_responders":true}\r\nPING\r\n
< a PONG\r\n
> a SUB _INBOX.p 2\r\n
"""
BEAT = rb"< a HMSG _INBOX.p 2 32 32\r\nNATS/1.0 100 Idle Heartbeat\r\n\r\n\r\n"


def silence(heartbeat: float, signs: list[float], last: float) -> bytes:
    """Two pulls that overlap, heartbeats at some times, and then nothing until the last."""
    body = b'{"batch":10,"expires":%d,"idle_heartbeat":%d}' % (10**15, round(heartbeat * SECOND))
    pull = rb"> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p %d\r\n%b\r\n" % (len(body), body)
    lines = [HEAD.rstrip(), b"@ %.6f" % signs[0], pull, pull]
    for at in signs[1:]:
        lines += [b"@ %.6f" % at, BEAT]
    return b"\n".join([*lines, b"@ %.6f" % last, rb"> a PING\r\n", b""])


def budgeted(work, calls: int):
    """The result of some work, which may call so many functions and no more."""
    made = 0

    def count(*_):
        nonlocal made
        made += 1
        assert made < calls, "the work has no end"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work()
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("heartbeat", [0.1, 0.5, 1.0, 5.0, 15.0])
def test_a_silence_of_any_length_is_judged_and_viewed_in_bounded_work(heartbeat):
    random = Random(int(heartbeat * 10))
    for _ in range(40):
        signs = sorted(random.uniform(0, 1000) for _ in range(4))
        last = signs[-1] + random.uniform(0, 40) * heartbeat
        text = silence(heartbeat, signs, last)

        found = budgeted(lambda text=text: list(lint(read_trace(text).records())), 20_000)

        silent = any(each.rule == "heartbeats-ignored" for each in found)
        gaps = [b - a for a, b in zip(signs, [*signs[1:], last], strict=True)]
        assert silent == (max(gaps) > 4 * heartbeat), (signs, last)

        view = Viewing()

        def looked(text=text, view=view):
            for line, record in read_trace(text).records():
                view.feed(line, record)
            view.finish()

        budgeted(looked, 60_000)
        assert view.as_json("x", {})["seconds"] == pytest.approx(last, abs=1e-6)


class Again:
    """Wants to be looked at again, at a time that is over already."""

    fact = "Again"

    def __init__(self) -> None:
        self.looks = 0

    def look(self, books: TraceContext, now: int) -> None:
        self.looks += 1
        assert self.looks < 10
        if self.looks < 3:
            books.watch(books.now - 5, self)


def test_what_wants_to_be_looked_at_in_the_past_is_looked_at_later():
    books, due = TraceContext(lambda _: None), Again()
    books.watch(SECOND, due)

    books.move(1, 1.0)
    assert due.looks == 0
    books.move(2, 1.000000001)
    assert due.looks == 1
    books.move(3, 2.0)

    assert due.looks == 3


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        (0.0, 0),
        (0.1, 10**8),
        (0.3, 3 * 10**8),
        (1e-9, 1),
        (-5.0, 0),
        (1e300, 10**24),
        (1795813228.857713, 1795813228857713000),
    ],
)
def test_seconds_are_whole_nanoseconds_in_the_books(seconds, count):
    assert nanoseconds(seconds) == pytest.approx(count, abs=200)
    assert isinstance(nanoseconds(seconds), int)


def test_a_pull_is_over_behind_its_expiry_and_not_in_the_same_nanosecond():
    pull = ledger.SeenPull(
        consumer=("S", "C"),
        token="r",
        body=b"",
        at=nanoseconds(0.1),
        line=1,
        expires=nanoseconds(0.2),
    )

    assert not pull.over(nanoseconds(0.3))
    assert pull.over(nanoseconds(0.3) + 1)


def test_a_time_that_no_clock_shows_is_judged_like_the_latest_one():
    judge = Lint()
    judge.feed(1, Waited(at=1e308, conn="a"))
    judge.feed(2, Received(at=0.0, conn="a", data=b"PING\r\n"))

    assert judge.observer.links[0].at == 10**24
    assert Standings().bars == {}
