"""Ctrl-C ends a program on any adapter: the client is closed, the server sees it go, no thread is
left and nothing is printed by us.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import anyio
import pytest

from jsproto import Auth
from jsproto_io import anyio as on_anyio
from jsproto_io import trio as on_trio
from jsproto_io._testing.model_server import ModelServer

WAITING = """
import sys, threading
from jsproto_io.{adapter} import connect

clients = []

async def main():
    async with connect(sys.argv[1]) as nc, nc.subscribe("a") as messages:
        clients.append(nc)
        await nc.flush()
        print("ready", flush=True)
        await messages.next(None)

def run():
    {run}

try:
    run()
except KeyboardInterrupt:
    print("interrupted", clients[0].closed, threading.active_count())
"""
RUNS = {
    "asyncio": ("asyncio", "import asyncio; asyncio.run(main())"),
    "trio": ("trio", "import trio; trio.run(main)"),
    "anyio-asyncio": ("anyio", "import anyio; anyio.run(main)"),
    "anyio-trio": ("anyio", "import anyio; anyio.run(main, backend='trio')"),
    "blocking": ("blocking", "main()"),
    "blocking-pumped": ("blocking", "main(pump=True)"),
}


def program(name: str) -> str:
    adapter, run = RUNS[name]
    text = WAITING.format(adapter=adapter, run=run)
    if adapter == "blocking":
        text = text.replace("async def main()", "def main(**options)").replace(
            "argv[1])", "argv[1], **options)"
        )
        text = text.replace("async with", "with").replace("await ", "")
    return text


@pytest.mark.parametrize("name", RUNS)
def test_ctrl_c_ends_the_program_and_closes_the_client(name):
    with ModelServer() as hosted:
        command = [sys.executable, "-c", program(name), hosted.url]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout.readline() == "ready\n", child.stderr.read()
            child.send_signal(signal.SIGINT)
            said, complained = child.communicate(timeout=30)

        assert (said, complained, child.returncode) == ("interrupted True 1\n", "", 0)
        assert hosted.accepted == 1


@pytest.mark.parametrize("connect", [on_trio.connect, on_anyio.connect])
def test_ctrl_c_in_a_task_of_ours_is_raised_in_the_main_task_and_in_no_group(connect):
    def who(_server, _nonce):
        signal.raise_signal(signal.SIGINT)
        return Auth(user="joe", password="secret")

    async def main(url):
        async with connect(url, credentials=who):
            await anyio.sleep(30)

    with ModelServer() as hosted, pytest.raises(KeyboardInterrupt):
        anyio.run(main, hosted.url, backend="trio")
