"""Under gevent the blocking client lets other greenlets run while it waits, for the resolver too; where gevent is not installed there is nothing to see."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from jsproto_io._hosted import Hosted

PROGRAM = """
from gevent import monkey

monkey.patch_all()
import sys

import gevent
import gevent.event

from jsproto_io.blocking import connect

URL = sys.argv[1]
heard, turns, subscribed = [], [], gevent.event.Event()


def read():
    with connect(URL) as nc, nc.subscribe("a", limit=3) as messages:
        nc.flush()
        subscribed.set()
        heard.extend(msg.payload for msg in messages)


def write():
    subscribed.wait()
    with connect(URL, pump=True) as nc:
        for number in range(3):
            gevent.sleep(0.05)
            nc.publish("a", b"%d" % number)


def others():
    while len(heard) < 3:
        turns.append(1)
        gevent.sleep(0.005)


gevent.joinall([gevent.spawn(each) for each in (read, write, others)], raise_error=True)
print(heard, len(turns) > 3)
"""


@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="gevent is not installed")
def test_a_greenlet_that_waits_lets_others_run():
    with Hosted() as hosted:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, hosted.url.replace("127.0.0.1", "localhost")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert (done.stdout, done.stderr) == ("[b'0', b'1', b'2'] True\n", "")
