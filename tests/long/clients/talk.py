"""How the program of a client talks with who judges it: it plays one scenario, and asks in between
for what it cannot do itself.

    python tests/long/clients/natspy.py URL SCENARIO

A line on standard output is a JSON object: ``{"ask": "restart"}`` waits for a line on standard
input, ``{"done": true}`` is the end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping

import anyio.to_thread


def ask_and_wait(word: str) -> None:
    """Have something done, and wait until it is."""
    print(json.dumps({"ask": word}), flush=True)
    if not sys.stdin.readline():
        raise EOFError(f"expected that {word} is done, nobody is there")


async def ask(word: str) -> None:
    """The same, while the client goes on."""
    await anyio.to_thread.run_sync(ask_and_wait, word)


def done() -> None:
    """The scenario is over."""
    print(json.dumps({"done": True}), flush=True)


async def play(scenarios: Mapping[str, Callable[[str], Awaitable[None]]]) -> None:
    """The scenario that the command line names."""
    url, name = sys.argv[1:3]
    await scenarios[name](url)
    done()
