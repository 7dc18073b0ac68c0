"""The adapter on our own parts: short, complete, and all of its clients are alive while one of them
waits.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import pytest

from jsproto import Subscription
from jsproto_io.testing import CONTRACT, ModelServer, check_driver
from tests.served import served

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "loop_adapter.py"


def _example():
    spec = importlib.util.spec_from_file_location("loop_adapter", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ADAPTER = _example()
KEPT = [clause for clause in CONTRACT if clause.needs != "tasks"]
PROMPT = {"close_timeout": 0.1, "reconnect_wait": 0.01, "reconnect_jitter": 0.0}


@pytest.fixture
def loop():
    loop = ADAPTER.Loop()
    yield loop
    left = (loop.clients, dict(loop.selector.get_map()))
    loop.selector.close()

    assert left == (set(), {}), "nobody is left to turn for"


@pytest.fixture
def connect(loop):
    return functools.partial(ADAPTER.connect, loop=loop)


def test_it_is_short():
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 80
    assert not any("jsproto_io._" in line for line in lines)


@pytest.mark.parametrize("clause", KEPT, ids=lambda clause: clause.name.replace(" ", "_"))
def test_it_keeps_the_contract(clause, connect):
    check_driver(connect, backend="blocking", only=clause.name)


@pytest.mark.live
@pytest.mark.parametrize(
    ("transport", "version"), [("tcp", "2.15.1"), ("tls", "2.9.10"), ("wss", "2.14.0")]
)
def test_it_keeps_it_on_a_real_server_too(transport, version, connect, server_binary_of, tmp_path):
    with served(server_binary_of(version), transport, tmp_path) as there:
        check_driver(connect, backend="blocking", server=there.url, options=there.options)


def test_the_others_are_alive_while_one_waits(connect):
    with ModelServer() as hosted:
        quick = {"ping_interval": 0.05, "max_pings_out": 1, **PROMPT}
        with (
            connect(hosted.url, **quick) as nc,
            connect(hosted.url, **quick) as other,
            other.stream(Subscription("a")) as heard,
            nc.stream(Subscription("b")) as waiting,
        ):
            other.flush()
            pings = other.stats.pings_out
            nc.publish("a", b"1")
            with pytest.raises(TimeoutError):
                waiting.next(0.3)  # six times as long as the other may be silent

            assert heard.feed.readable == 1
            assert other.stats.pings_out > pings
            assert (other.connected, other.stats.disconnects) == (True, 0)


def test_a_client_that_cannot_connect_leaves_the_loop(connect, loop):
    with ModelServer() as hosted:
        gone = hosted.url
    with pytest.raises(ConnectionError), connect(gone, **PROMPT):
        pass

    assert loop.clients == set()


def test_it_can_look_at_each_address_of_a_server(connect):
    with ModelServer() as hosted, connect(hosted.url, **PROMPT) as nc:
        (seen,) = nc.rtts(5.0).values()

        assert seen > 0.0
