"""Under gevent the blocking client lets other greenlets run while it waits, for the resolver too;
where gevent is not installed there is nothing to see.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from jsproto_io._testing.model_server import ModelServer

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
    with ModelServer() as hosted:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, hosted.url.replace("127.0.0.1", "localhost")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert (done.stdout, done.stderr) == ("[b'0', b'1', b'2'] True\n", "")


MANY = """
from gevent import monkey

monkey.patch_all()
import sys

import gevent

from jsproto_io.blocking import connect

URL = sys.argv[1]
with connect(URL) as nc:
    stream = nc.jetstream().create_stream(name="S", subjects=["S.*"])
    for number in range(100):
        stream.create_consumer(durable_name=f"C{number}", filter_subject=f"S.{number}")


def work(number):
    with connect(URL) as nc:
        nc.jetstream().publish(f"S.{number}", b"%d" % number)
        with nc.jetstream().stream("S").consumer(f"C{number}").fetch(1, expires=20.0) as messages:
            for msg in messages:
                msg.ack_confirmed()
                return msg.payload == b"%d" % number


jobs = [gevent.spawn(work, number) for number in range(100)]
gevent.joinall(jobs, raise_error=True)
print([job.value for job in jobs].count(True))
"""


@pytest.mark.live
@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="gevent is not installed")
def test_a_hundred_greenlets_publish_and_fetch_n097(start_server):
    done = subprocess.run(
        [sys.executable, "-c", MANY, start_server().url],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )

    assert (done.stdout, done.stderr) == ("100\n", "")
