"""A million publishes through a window to a stream that syncs each write, while the server is
killed and started again.

    python tests/long/window.py                                    1,000,000 messages, 5 kills, sent
    again; then 200,000 that are not python tests/long/window.py --messages 20000 --plain 5000
    --kills 2

Twice: with an id on each message and ``resend``, where the window sends again what a lost link left
in doubt; and without both. Each publish must end exactly once, as acknowledged, refused or unknown.
In the first form whatever ended otherwise than acknowledged is published again with its id, and in
the end the stream must hold each id exactly once; in the second no message that was acknowledged
may be missing, and nothing may be there that was not published.

The store is in memory (`/dev/shm`) where there is such a place, since it is synced for each write.
Gives one JSON line for each form; the exit code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "adapters")]

from jsproto import Headers  # noqa: E402
from jsproto.jetstream.publish.window import Outcome, PublishResult  # noqa: E402
from jsproto_io._testing.nats_server import NatsServer  # noqa: E402
from jsproto_io.blocking import Client, connect  # noqa: E402

QUICK = {
    "reconnect_wait": 0.05,
    "reconnect_wait_max": 0.5,
    "reconnect_jitter": 0.0,
    "max_reconnects": None,
}
CONFIG = "jetstream { sync_interval: always }"
#: A stream that is just being found again is answered for by nobody; an outage must be shorter than
#: the duplicate window.
PATIENT = {"ack_timeout": 60.0, "retries": 1000, "retry_wait": 0.1}
UNKNOWN = {Outcome.TIMED_OUT, Outcome.DISCONNECTED, Outcome.CLOSED}
PAYLOAD = b"x" * 64


def message(number: int) -> tuple[str, bytes, Headers]:
    """With its number as id."""
    return "long.a", PAYLOAD, Headers({"Nats-Msg-Id": str(number)})


def publish(
    nc: Client, server: NatsServer, numbers: list[int], kills: int, *, resend: bool
) -> list[PublishResult]:
    """All of them through one window, with the kills evenly in between; the results in the order of
    their messages.
    """
    results: list[PublishResult] = []
    window = nc.jetstream().publish_window(
        max_pending=2_000, max_results=len(numbers) + 1, resend=resend, **PATIENT
    )
    at = {(each + 1) * len(numbers) // (kills + 1) for each in range(kills)}
    with window as sink:
        for place, number in enumerate(numbers):
            if place in at:
                server.kill()
                server.restart()
            subject, payload, headers = message(number)
            sink.put((subject, payload, headers) if resend else (subject, b"%d" % number))
        sink.drain()
        results.extend(sink.results())
    return sorted(results, key=lambda each: each.number)


def run(
    folder: str, messages: int, kills: int, binary: str | None, *, resend: bool
) -> dict[str, object]:
    """One form."""
    begun = time.monotonic()
    with (
        NatsServer(binary, config=CONFIG, store=folder) as server,
        connect(server.url, **QUICK) as nc,
    ):
        stream = nc.jetstream().create_stream(name="LONG", subjects=["long.*"], storage="file")
        numbers = list(range(messages))
        results = publish(nc, server, numbers, kills, resend=resend)
        took = time.monotonic() - begun
        ends = Counter(each.outcome.name for each in results)
        ended_once = [each.number for each in results] == list(range(1, messages + 1))
        again = 0
        while resend and (
            left := [
                numbers[each.number - 1] for each in results if each.outcome is not Outcome.ACKED
            ]
        ):
            again += len(left)
            numbers = left
            results = publish(nc, server, left, 0, resend=True)
        stored: Counter[int] = Counter()
        with stream.read(max_messages=5_000) as kept:
            for each in kept:
                stored[
                    int(each.headers["Nats-Msg-Id"] if resend and each.headers else each.payload)
                ] += 1
        acked = (
            range(messages)
            if resend
            else [each.number - 1 for each in results if each.outcome is Outcome.ACKED]
        )
        wrong = {
            "did not end once": 0 if ended_once else 1,
            "acknowledged and not stored": sum(not stored[number] for number in acked),
            "stored and never published": sum(not 0 <= number < messages for number in stored),
            "stored twice": sum(count > 1 for count in stored.values()),
            "certain and neither": sum(
                ends[each.name]
                for each in Outcome
                if each is not Outcome.ACKED and each not in UNKNOWN
            ),
        }
        return {
            "form": "resend" if resend else "plain",
            "messages": messages,
            "kills": kills,
            "seconds": round(took, 1),
            "ends": dict(ends),
            "published again by the user": again,
            "stored": sum(stored.values()),
            "wrong": {name: number for name, number in wrong.items() if number},
            "server": server.version,
        }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--plain", type=int, default=200_000, metavar="MESSAGES")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--server-binary", metavar="PATH")
    chosen = parser.parse_args(arguments)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    failed = False
    for resend, messages in ((True, chosen.messages), (False, chosen.plain)):
        with tempfile.TemporaryDirectory(prefix="jsproto-window-", dir=memory) as folder:
            seen = run(folder, messages, chosen.kills, chosen.server_binary, resend=resend)
        print(json.dumps(seen), flush=True)
        failed = failed or bool(seen["wrong"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
