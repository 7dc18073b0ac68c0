"""The trip of the simplest call: ``python tests/benchmarks/trip.py``.

It publishes one message with ``await js.publish()`` and counts the calls into our code, the files
that they are in, and the moves from a frame in one file to a frame in another one. The model server
runs in a thread of its own, which the counter does not see. The first publishes are not counted:
they fill caches and load modules. A generator or coroutine that goes on counts as a call.

The goal is 12 files and 40 moves. Three things stand in the way:

- Each floor and each duty has a file of its own. A publish needs the client (facade, verbs, waits,
  loop, transport), the description and its procedure, the request and its options, the connection
  with dispatcher, router, deadlines, outbound and link, and the line (subjects, encoder, parser).
  These are 20 files without a helper; fewer files would put several duties into one.
- The request is a generator in one file that the procedure in another file drives: eight moves for
  the start, the question for the time, the call and the answer.
- A pump asks the connection five things in turn (events, whether output is blocked, output, the
  deadline) and the connection asks its parts. One method that answers all of them would save about
  ten moves; the adapters call these methods, so they have to change with it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from jsproto_io.asyncio import connect
from jsproto_io.testing import ModelServer

REPOSITORY = Path(__file__).resolve().parents[2]
ROOTS = (str(REPOSITORY / "jsproto") + "/", str(REPOSITORY / "adapters/jsproto_io") + "/")
WARM_UP = 20


class Trip(NamedTuple):
    """What one publish costs: calls, and for each file how often it is entered from another one."""

    calls: int
    entered: Counter[str]

    @property
    def moves(self) -> int:
        """Calls from one file into another one; each of them also returns."""
        return self.entered.total()


async def publish_once() -> Trip:
    """The trip of one ``await js.publish()``."""
    calls = 0
    entered: Counter[str] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOTS):
            return
        calls += 1
        caller = frame.f_back
        if caller is None or caller.f_code.co_filename != name:
            entered[name.removeprefix(str(REPOSITORY) + "/")] += 1

    with ModelServer() as server:
        async with connect(server.url) as nc:
            js = nc.jetstream()
            await js.create_stream(name="S", subjects=["s.>"])
            for _ in range(WARM_UP):
                await js.publish("s.a", b"1")
            sys.setprofile(watch)
            try:
                await js.publish("s.a", b"1")
            finally:
                sys.setprofile(None)
    return Trip(calls, entered)


def measured() -> Trip:
    """The trip, in a loop of its own."""
    return asyncio.run(publish_once())


if __name__ == "__main__":
    trip = measured()
    print(f"{trip.calls} calls, {len(trip.entered)} files, {trip.moves} moves")
    for name, count in trip.entered.most_common():
        print(f"{count:4} {name}")
