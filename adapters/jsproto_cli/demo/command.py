"""`jsproto demo`: the ORDERS story on a real nats-server, with each adapter in turn, and what came
of it.

The server is started here, on a free port with a temporary store, unless one is named. On a server
that is somebody's, a stream ORDERS that exists is never touched: the story is not played, and the
text says so. The stream that the story makes is deleted at its end.
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

#: Nobody waits longer than this for all of it, in seconds.
PATIENCE: Final = 120

#: Name of the adapter -> the story played through it: server URL in, the server's version and the
#: ledger out.
PLAYS: Final[Mapping[str, Callable[[str], tuple[str, OrderTally]]]] = {
    "asyncio": on_asyncio.play,
    "blocking": on_blocking.play,
}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Give the command line its subcommand ``demo``."""
    words = commands.add_parser(
        "demo", help="play the ORDERS story on a real nats-server", description=__doc__
    )
    where = words.add_mutually_exclusive_group()
    where.add_argument(
        "--server", metavar="URL", help="use this running server instead of starting one"
    )
    where.add_argument("--server-binary", metavar="PATH", help="start this nats-server program")
    words.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line instead"
    )
    words.set_defaults(command=run)


def run(words: argparse.Namespace) -> int:
    """Play the story with every adapter; 0 if each number is what it must be, else 1."""
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
            for playing, play in PLAYS.items():  # noqa: B007  told when it fails
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
    """Whatever happens in here ends after so many seconds, by a TimeoutError in the middle of it;
    unbounded where there is no alarm.
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
    raise TimeoutError("expected the story to be over by now, it is not")


def _tell(version: str, ledgers: list[OrderTally], problems: list[str]) -> None:
    if ledgers:
        print(f"The ORDERS story on nats-server {version}:\n")
        print(as_text(ledgers), end="\n\n", flush=True)
    if problems:
        print("This is not as it must be:", *problems, sep="\n  ", file=sys.stderr)
    else:
        print("All of it is as it must be.")
