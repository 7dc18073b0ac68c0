"""A file that is malformed, broken off or made to do harm is one error with its line, and nothing
else: nothing hangs, nothing else is raised.

Two files are damaged, a trace of our own and a raw recording: bytes are changed, taken out, put in
twice, cut off, and lines are shuffled; then fragments are put in that mean something to one of the
two formats, or to what reads the bytes in them.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.trace.formats.reading import TraceError, read_trace
from jsproto.trace.formats.recording import SCHEMA, Received, Sent
from jsproto.trace.judge.lint import Lint
from jsproto.trace.replay.replay import Replay
from jsproto.trace.show.ladder import rungs
from jsproto.trace.show.summary import Summary
from tests.trace.session import Session, recorded

BOMB = base64.b64encode(zlib.compress(bytes(80_000_000)))
#: Pieces that mean something somewhere.
FRAGMENTS = [
    b"\n", b"\r\n", b"\x00", b"\xff\xfe", b"\\", b"\\{", b"\\{999999999}", b"\\{-1}", b"\\x", b"{", b"}", b"[" * 5000, b'"',
    b"@ ", b"@ 1e308\n", b"@ -1\n", b"@ nan\n", b"= a connected\n", b"= a eof\n", b"< a ", b"> a ", b"! a close\n", b"#jsproto-trace/2\n",
    b"< a MSG s 1 " + b"9" * 400 + b"\\r\\n\n", b"< a INFO {\\r\\n\n", b"> a PUB s 99999999999\\r\\n\n", b"> a CONNECT " + b"[" * 4000 + b"\\r\\n\n",
    b"> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C r 30\\r\\n" + b'{"batch":' + b"9" * 20 + b"}\\r\\n\n",
    b"> a PUB $JS.ACK.S.C.1.1.1.1.1.1.1.1.1.1.1 4\\r\\n+ACK\\r\\n\n", b"< a HMSG s 1 99 9\\r\\n\n",
    b'{"t":0,"dir":"s2c","conn":"a","b64":"%%"}\n', b'{"t":"x","dir":"s2c"}\n', b'{"t":1e999,"dir":"tick","conn":"a"}\n',
    b'{"t":0,"dir":"c2s","conn":"a","len":-1,"z64":"eJw="}\n', b'{"t":0,"dir":"c2s","conn":{},"b64":""}\n',
    b'{"t":0,"dir":"event","name":"connected","conn":"a","deep":' + b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"}\n",
    b'{"t":0,"dir":"s2c","conn":"a","len":80000000,"z64":"' + BOMB + b'"}\n',
]  # fmt: skip


@cache
def raw() -> bytes:
    """The first part of the session as a raw recording."""
    lines = [json.dumps({"schema": SCHEMA, "scenario": "session"})]
    for record in Session(recorded()).records[:200]:
        if isinstance(record, Received | Sent):
            way = "s2c" if isinstance(record, Received) else "c2s"
            data = base64.b64encode(record.data).decode()
            lines.append(json.dumps({"t": record.at, "conn": record.conn, "dir": way, "b64": data}))
    return ("\n".join(lines) + "\n").encode()


@cache
def own() -> bytes:
    """The first part of the session."""
    return b"".join(recorded().splitlines(keepends=True)[:300])


#: Where an edit is done, counted round and round the file, and how many bytes it is about.
PLACES, SIZES = st.integers(0, 1_000_000), st.sampled_from([0, 1, 2, 30, 3000])
EDITS = st.one_of(
    st.tuples(st.just("take"), PLACES, SIZES),
    st.tuples(st.just("double"), PLACES, SIZES),
    st.tuples(st.just("cut"), PLACES),
    st.tuples(st.just("put"), PLACES, st.integers(0, len(FRAGMENTS) - 1)),
    st.tuples(st.just("noise"), PLACES, SIZES, st.binary(max_size=20)),
    st.tuples(st.just("shuffle"), st.integers(0, 1000)),
)
#: One of the two files and what is done to it: a plan and not the bytes, for a failure shows what
#: was drawn.
PLANS = st.tuples(
    st.sampled_from(["own", "raw"]), st.lists(EDITS, min_size=1, max_size=6).map(tuple)
)


def damaged(plan: tuple[str, tuple[tuple, ...]]) -> bytes:
    """The file of a plan after all its edits."""
    whole, edits = plan
    data = {"own": own, "raw": raw}[whole]()
    for deed, where, *more in edits:
        at = where % (len(data) + 1)
        match deed, more:
            case "take", [size]:
                data = data[:at] + data[at + size :]
            case "double", [size]:
                data = data[: at + size] + data[at:]
            case "cut", []:
                data = data[:at]
            case "put", [number]:
                data = data[:at] + FRAGMENTS[number] + data[at:]
            case "noise", [size, noise]:
                data = data[:at] + noise + data[at + size :]
            case _:
                lines = data.splitlines(keepends=True)
                Random(where).shuffle(lines)
                data = b"".join(lines)
    return data


def read(data: bytes) -> int | None:
    """The line of the error, ``None`` if there is none; everything that reads traces has read it."""
    lint, summary, replay = Lint(), Summary(), Replay()
    try:
        for line, record in read_trace(data).records():
            lint.feed(line, record)
            summary.feed(line, record)
            replay.feed(line, record)
    except TraceError as error:
        return error.line
    json.dumps(summary.as_json())
    return None


@given(PLANS)
@settings(max_examples=150, deadline=None)
def test_a_damaged_file_is_read_or_is_one_error_with_its_line(plan):
    data = damaged(plan)
    line = read(data)

    assert line is None or 1 <= line <= max(1, data.count(b"\n") + 1)


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda each: each[:24].decode("latin-1"))
@pytest.mark.parametrize("whole", [own, raw])
def test_a_fragment_between_two_lines_is_read_or_is_an_error_in_its_line(whole, fragment):
    lines = whole().splitlines(keepends=True)
    data = b"".join([*lines[:50], fragment, *lines[50:]])

    assert read(data) in {None, 51, 52}


@given(PLANS)
@settings(max_examples=50, deadline=None)
def test_the_ladder_of_a_damaged_file_has_an_end(plan):
    data = damaged(plan)
    try:
        steps = sum(1 for _ in rungs(read_trace(data).records()))
    except TraceError:
        return
    assert steps <= data.count(b"\\n") + data.count(b"\n") * 40


@pytest.mark.parametrize("whole", [own, raw])
def test_a_file_that_breaks_off_says_in_which_line(whole):
    data = whole()
    for at in range(1, len(data), 997):
        end = data[:at].endswith(b"\n")
        cut = data[:at]

        assert read(cut) == (None if end else cut.count(b"\n") + 1)


def test_the_command_line_says_file_and_line_and_nothing_else(tmp_path):
    path = tmp_path / "bad.trace"
    path.write_bytes(own() + b"< a \\q\n")
    command = [
        sys.executable,
        "-c",
        "import sys; from jsproto_cli.main import main; sys.exit(main())",
    ]

    for verb in ("lint", "replay", "inspect", "ladder"):
        done = subprocess.run(
            [*command, verb, str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        said = [line for line in (done.stdout + done.stderr).splitlines() if "line 301" in line]
        assert done.returncode == 1, verb
        assert "Traceback" not in done.stderr
        assert said[0].startswith(f"{path}, line 301: expected printable ASCII"), verb
