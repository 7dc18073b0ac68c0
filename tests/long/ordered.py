"""Many messages through one ordered consumer while its consumers are deleted and the server is
killed.

    python tests/long/ordered.py                                  1,000,000 messages, 50 deletions,
    10 kills, by pulls python tests/long/ordered.py --form push python tests/long/ordered.py
    --messages 20000 --deletions 5 --kills 2

The stream is filled as it is read, one step before the reader, so that every deletion and every
SIGKILL hits in mid-stream. In the end every stored sequence must have come once and in order, no
consumer may be left behind, and the requests to create one must have been few: in all, and in any
one second.

Gives one JSON line; the exit code is 1 if a rule was broken. It is a command and not a test because
it takes minutes; the short form is tested.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import LinkError, NoResponders, RequestTimeout, SourceKind  # noqa: E402
from jsproto.core.connection.events import Notice  # noqa: E402
from jsproto.errors import ApiError  # noqa: E402
from jsproto.events import OrderedNotice  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import Client, connect  # noqa: E402

#: A server that was just started again may say this for a while.
NOT_YET = (NoResponders, RequestTimeout, LinkError, ApiError)
QUICK = {"reconnect_wait": 0.05, "reconnect_wait_max": 0.5, "reconnect_jitter": 0.0}
#: Requests to create a consumer: so many for each deletion or kill, and so many in any one second.
PER_EVENT, PER_SECOND = 3, 8
#: So long nothing may come, in seconds.
STALL = 60.0


class Creates:
    """When consumers were asked for, and how many at most within one second."""

    def __init__(self) -> None:
        self.count = 0
        self.most = 0
        self._recent: deque[float] = deque()

    def look(self, count: int) -> None:
        """What the machine counts now; what happened since the last look is taken to have happened
        just now.
        """
        now = time.monotonic()
        self._recent.extend([now] * (count - self.count))
        self.count = count
        while self._recent and self._recent[0] < now - 1.0:
            self._recent.popleft()
        self.most = max(self.most, len(self._recent))


def patient(verb):
    """The answer, as soon as there is one."""
    while True:
        try:
            return verb()
        except NOT_YET:
            time.sleep(0.01)


def store(admin: Client, last: int) -> None:
    """So many messages that the stream's last sequence is ``last``; what a restarted server refuses
    is stored anew.
    """
    stream = admin.jetstream().stream("LONG")
    while (there := patient(stream.info).state.last_seq) < last:
        window = admin.jetstream().publish_window(max_pending=2_000, results=False)
        with contextlib.suppress(*NOT_YET), window:
            for number in range(there + 1, last + 1):
                window.put(("long.a", b"%d" % number))


def delete_consumers(admin: Client) -> int:
    """All that there are on the stream."""
    stream = admin.jetstream().stream("LONG")
    names = patient(stream.consumer_names)
    for name in names:
        with contextlib.suppress(*NOT_YET):
            stream.consumer(name).delete()
    return len(names)


def events_of(deletions: int, kills: int) -> list[str]:
    """What is to happen, in order: kills fall between deletions, evenly."""
    plan = [((each + 0.5) / deletions, "delete") for each in range(deletions)]
    plan += [((each + 0.5) / kills, "kill") for each in range(kills)]
    return [what for _, what in sorted(plan)]


def run(
    server: NatsServer, form: SourceKind, messages: int, deletions: int, kills: int
) -> dict[str, object]:
    """Read all of it; gives what was seen, and what was wrong."""
    plan = events_of(deletions, kills)
    steps = 2 * len(plan) + 10
    step = -(-messages // steps)
    messages = steps * step
    disorder = got = deleted = killed = 0
    creates = Creates()
    begun = time.monotonic()
    with connect(server.url, **QUICK) as nc, connect(server.url, **QUICK) as admin:
        stream = admin.jetstream().create_stream(name="LONG", subjects=["long.*"])
        store(admin, step)
        told = nc.events()
        feed = nc.jetstream().ordered_consumer("LONG", form=form, expires=10.0, idle_heartbeat=0.5)
        with feed as reader:
            for at in range(steps):
                if at + 2 <= steps:
                    store(admin, (at + 2) * step)
                for number in range(at * step + 1, (at + 1) * step + 1):
                    disorder += reader.next(STALL).metadata.stream_sequence != number
                    got += 1
                    creates.look(reader.feed.incarnation.count)
                if not plan:
                    continue
                if plan[0] == "kill":
                    server.kill()
                    server.restart()
                    killed += 1
                elif removed := delete_consumers(admin):
                    deleted += removed
                else:
                    continue  # the last one that went is not missed yet, what it had sent is still being read
                plan.pop(0)
            resets, repeated = reader.feed.resets, reader.feed.repeated
        nc.flush()
        took = time.monotonic() - begun
        deadline = time.monotonic() + 20.0
        while (left := patient(stream.consumer_names)) and time.monotonic() < deadline:
            nc.flush()
        stored = patient(stream.info).state
    failed = sum(
        isinstance(each, Notice) and each.kind is OrderedNotice.CREATE_FAILED for each in told
    )
    wrong = {
        "out of order": disorder,
        "stored otherwise": abs(stored.messages - messages) + abs(stored.last_seq - messages),
        "consumers left": len(left),
        "deletions or kills too few": len(plan),
        "creates too many": max(0, creates.count - 1 - PER_EVENT * (deletions + kills)),
        "creates in one second too many": max(0, creates.most - PER_SECOND),
    }
    return {
        "form": form.name,
        "messages": got,
        "deletions": deleted,
        "kills": killed,
        "seconds": round(took, 1),
        "creates": creates.count,
        "creates that failed": failed,
        "most creates in one second": creates.most,
        "resets": resets,
        "came again and were hidden": repeated,
        "wrong": {name: number for name, number in wrong.items() if number},
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--deletions", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument(
        "--form", choices=[each.name.lower() for each in SourceKind], default="pull"
    )
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args(arguments)
    with NatsServer(chosen.server_binary) as server:
        seen = run(
            server, SourceKind[chosen.form.upper()], chosen.messages, chosen.deletions, chosen.kills
        )
    print(json.dumps(seen | {"server": server.version}), flush=True)
    return 1 if seen["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
