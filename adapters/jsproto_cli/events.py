"""`jsproto events`: print JetStream's advisories and metrics live, one line each, until Ctrl-C.

The server publishes an event once and does not store it, so earlier events are not shown.

Exit codes: 0 the command ended as requested; 1 an error occurred, or events were dropped because
they came faster than the command could print them.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from jsproto.core.pubsub.subscription import Subscription
from jsproto.errors import InvalidResponse
from jsproto.jetstream.api.events.advisories import ADVISORIES, METRICS, StreamEvent, read_event
from jsproto.ops.event_lines import event_line
from jsproto.ops.tables import text_of
from jsproto_cli.link import add_link, linked, told

if TYPE_CHECKING:
    import argparse

    from jsproto.core.conversation.message import Message


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``events`` to the command line."""
    words = commands.add_parser("events", help="live advisories of JetStream", description=__doc__)
    kinds = words.add_mutually_exclusive_group()
    kinds.add_argument(
        "--advisories", action="store_const", dest="subject", const=ADVISORIES, help="no metrics"
    )
    kinds.add_argument(
        "--metrics", action="store_const", dest="subject", const=METRICS, help="only metrics"
    )
    kinds.add_argument(
        "--subject", help="subscribe to this subject, for example another account's imported events"
    )
    words.add_argument("--stream", metavar="NAME", help="only events about this stream")
    words.add_argument("--count", type=int, default=0, metavar="N", help="end after N events")
    words.add_argument("--json", action="store_true", help="print one JSON object for each event")
    add_link(words)
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``events``; 0 if no event was lost."""
    return told(lambda: _listened(words))


def _listened(words: argparse.Namespace) -> int:
    subscription = Subscription(words.subject or "$JS.EVENT.>")
    with suppress(KeyboardInterrupt):  # the normal end
        _print_all(words, subscription)
    if subscription.dropped:
        print(f"{subscription.dropped} events came too fast and were dropped", file=sys.stderr)
    return int(subscription.dropped > 0)


def _print_all(words: argparse.Namespace, subscription: Subscription) -> None:
    left = words.count
    with linked(words) as nc, nc.stream(subscription) as events:
        nc.flush()
        print("listening", file=sys.stderr, flush=True)
        while left or not words.count:
            line = _line(next(events), words.stream, as_json=words.json)
            if line is not None:
                print(line, flush=True)
                left -= 1


def _line(message: Message, stream: str | None, *, as_json: bool) -> str | None:
    """The line for an event; ``None`` if it is about another stream."""
    try:
        event = read_event(message.payload)
    except InvalidResponse as error:
        if as_json:
            return json.dumps({"subject": message.subject, "unreadable": str(error)})
        return text_of(f"- unreadable subject={message.subject} {error}")
    if stream is not None and not (isinstance(event, StreamEvent) and event.stream == stream):
        return None
    if as_json:
        return json.dumps({"subject": message.subject, "event": event.to_wire()})
    return event_line(event)
