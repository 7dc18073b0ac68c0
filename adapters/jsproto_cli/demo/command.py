"""`jsproto demo`: play the ORDERS story on a real nats-server with each adapter.

Without ``--server`` the command starts a server on a free port with a temporary store. On another
server it never touches an existing stream ORDERS: then it does not play the story, and says so. It
deletes the stream of the story at the end.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from jsproto.errors import JsprotoError
from jsproto_cli.demo import on_asyncio, on_blocking
from jsproto_cli.demo.story import OrderTally, as_text
from jsproto_io._testing.nats_server import NatsServer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Mapping

#: The longest time for the whole demo, in seconds.
PATIENCE: Final = 120

#: For each adapter the function that plays the story: it gets the server's URL, and returns the
#: server's version and the tally.
PLAYS: Final[Mapping[str, Callable[[str], tuple[str, OrderTally]]]] = {
    "asyncio": on_asyncio.play,
    "blocking": on_blocking.play,
}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand ``demo`` to the command line."""
    words = commands.add_parser(
        "demo", help="play the ORDERS story on a real nats-server", description=__doc__
    )
    where = words.add_mutually_exclusive_group()
    where.add_argument(
        "--server", metavar="URL", help="use this running server instead of starting one"
    )
    where.add_argument("--server-binary", metavar="PATH", help="start this nats-server program")
    words.add_argument(
        "--json", action="store_true", help="print one JSON object instead, as the last line"
    )
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Run ``demo`` with every adapter; 0 if each number is as expected, else 1."""
    url: str | None = words.server
    binary: str | None = words.server_binary
    ledgers: list[OrderTally] = []
    problems: list[str] = []
    version = ""
    playing = "nats-server"
    with ExitStack() as stack:
        try:
            stack.enter_context(_bounded(PATIENCE))
            if url is None:
                url = stack.enter_context(NatsServer(binary)).url
            for playing, play in PLAYS.items():  # noqa: B007 - named in the error
                version, ledger = play(url)
                ledgers.append(ledger)
                problems += ledger.differences()
        except (JsprotoError, OSError) as error:
            problems.append(f"{playing}: {type(error).__name__}: {error}")
    if words.json:
        print(
            json.dumps(
                {
                    "demo": "ORDERS",
                    "server": version,
                    "runs": [ledger.as_json() for ledger in ledgers],
                    "problems": problems,
                    "ok": not problems,
                }
            )
        )
    else:
        _tell(version, ledgers, problems)
    return 1 if problems else 0


@contextmanager
def _bounded(seconds: int) -> Generator[None]:
    """Raise a TimeoutError inside the block after some seconds.

    Without SIGALRM (Windows) there is no limit.
    """
    if not hasattr(signal, "alarm"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _too_late(*_: object) -> NoReturn:
    raise TimeoutError("expected the story to end in time, got no end")


def _tell(version: str, ledgers: list[OrderTally], problems: list[str]) -> None:
    if ledgers:
        print(f"The ORDERS story on nats-server {version}:\n")
        print(as_text(ledgers), end="\n\n", flush=True)
    if problems:
        print("These numbers are wrong:", *problems, sep="\n  ", file=sys.stderr)
    else:
        print("All numbers are as expected.")
