"""Every recording of a real server, through the parser in every way it could have been cut.

INFO is the dear part of a cut (its JSON), so its reading is remembered here; everything else is the
parser as it is.
"""

import random
import re
from collections import Counter
from functools import cache

import pytest

from jsproto.trace.formats.recording import Recording, parse_recording
from jsproto.trace.replay.replay import operation
from jsproto.wire import parser as parser_module
from jsproto.wire.frames import Err
from jsproto.wire.headers import Headers, status_of
from jsproto.wire.parser import Parser
from tests.recordings import folder

SMALL = 4096
#: Longer runs of one byte are filler of payloads; the middle of a run is fed at once.
FILLER = re.compile(rb"(.)\1{127,}", re.DOTALL)


VERSIONS = sorted(path.name for path in folder().glob("*") if path.is_dir())


@pytest.fixture(
    scope="module",
    params=VERSIONS or [pytest.param("", marks=pytest.mark.skip("set JSPROTO_TRACES"))],
)
def recordings(request) -> list[Recording]:
    """All recordings of one server version."""
    return [
        parse_recording(path.read_bytes())
        for path in sorted((folder() / request.param).glob("*.jsonl"))
    ]


@pytest.fixture(scope="module")
def streams(recordings) -> list[tuple[str, bytes, list]]:
    """Each connection's inbound bytes, whole, and their frames."""
    found = []
    for recording in recordings:
        for conn in recording.connections:
            data = b"".join(recording.received(conn))
            found.append((f"{recording.scenario} {conn}", data, parsed([data])))
    return found


@pytest.fixture(autouse=True)
def _remembered_info(monkeypatch):
    monkeypatch.setattr(parser_module, "parse_info", cache(parser_module.parse_info))


def parsed(chunks, parser=None) -> list:
    parser = parser or Parser(any_sid=True)
    frames = []
    for chunk in chunks:
        frames += parser.feed(chunk)
    assert parser.failure is None
    return frames


def pieces(data: bytes, cuts) -> list[bytes]:
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def test_frames_are_those_that_the_recorder_counted(recordings):
    for recording in recordings:
        frames = {conn: parsed(recording.received(conn)) for conn in recording.connections}
        counted = Counter(operation(frame) for delivered in frames.values() for frame in delivered)
        observed = recording.observed

        assert dict(counted) == dict(observed.operations), recording.scenario
        errors = [
            frame.text
            for delivered in frames.values()
            for frame in delivered
            if isinstance(frame, Err)
        ]
        assert errors == [error.removeprefix("-ERR ").strip("'") for error in observed.errors], (
            recording.scenario
        )
        for conn, delivered in frames.items():
            blocks = [
                frame[3] for frame in delivered if isinstance(frame, tuple) and frame[3] is not None
            ]
            read = [Headers.parse(block) for block in blocks if status_of(block)]
            seen = [status for status in observed.statuses if status.conn == conn]
            if len(observed.statuses) < 60:
                assert len(read) == len(seen), recording.scenario
            for headers, status in zip(read, seen, strict=False):
                assert headers.status == (status.code, status.description.strip()), (
                    recording.scenario
                )
                assert dict(headers) == status.headers, recording.scenario


def test_reads_as_they_came_give_the_frames_of_the_whole(recordings):
    for recording in recordings:
        for conn in recording.connections:
            chunks = recording.received(conn)
            assert parsed(chunks) == parsed([b"".join(chunks)]), recording.scenario


def test_byte_by_byte_gives_the_frames_of_the_whole(streams):
    for name, data, frames in streams:
        cuts = list(range(1, len(data)))
        if len(data) > 65_536:
            for run in reversed(list(FILLER.finditer(data))):
                cuts[run.start() + 32 : run.end() - 32] = []
        assert parsed(pieces(data, cuts)) == frames, name


def test_every_cut_in_two_of_a_small_stream_gives_the_frames_of_the_whole(streams):
    """Behind a frame the parser is as new, which is asserted, so a cut is judged on its frame and
    the one behind it.
    """
    new, judged = Parser().snapshot(), set()
    for name, data, frames in streams:
        if not 0 < len(data) <= SMALL:
            continue
        parser, ends = Parser(any_sid=True), [0]
        for end in range(1, len(data) + 1):
            if parser.feed(data[end - 1 : end]):
                ends.append(end)
                assert parser.snapshot() == new
        assert len(ends) == len(frames) + 1
        raw = [*pieces(data, ends[1:-1]), b""]
        for at, frame in enumerate(raw[:-1]):
            window, near = frame + raw[at + 1], frames[at : at + 2]
            if window in judged:
                continue
            judged.add(window)
            for cut in range(1, len(frame) + 1):
                assert parsed([window[:cut], window[cut:]]) == near, (name, at, cut)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_cut_in_two_of_a_small_file_gives_the_frames_of_the_whole(version):
    """The windows of the test above, checked the plain way: every file of up to 4 KB, cut
    everywhere.
    """
    judged = 0
    for path in sorted((folder() / version).glob("*.jsonl")):
        if path.stat().st_size > SMALL:
            continue
        recording = parse_recording(path.read_bytes())
        for conn in recording.connections:
            data = b"".join(recording.received(conn))
            frames = parsed([data])
            for cut in range(1, len(data)):
                assert parsed([data[:cut], data[cut:]]) == frames, (path.name, cut)
            judged += 1

    assert judged > 0


def test_random_cuts_of_a_large_stream_give_the_frames_of_the_whole(streams):
    source = random.Random(5)
    for name, data, frames in streams:
        if len(data) <= SMALL:
            continue
        for most in (3, 40, 400):
            cuts = sorted(source.sample(range(1, len(data)), source.randint(1, most)))
            assert parsed(pieces(data, cuts)) == frames, (name, cuts)


def test_restoring_a_snapshot_between_any_two_pieces_changes_nothing(streams):
    source = random.Random(7)
    for name, data, frames in streams:
        if not data or len(data) > 1_000_000:
            continue
        cuts = sorted(source.sample(range(len(data)), min(30, len(data))))
        parser, seen = Parser(any_sid=True), []
        for piece in pieces(data, cuts):
            other = Parser(any_sid=True)
            other.restore(parser.snapshot())
            seen += parsed([piece], other)
            parser = other
        assert seen == frames, name


def test_damaged_header_blocks_are_delivered_with_their_damage(recordings):
    odd = {
        r.scenario: parsed(r.received("a"))
        for r in recordings
        if r.scenario in {"core_headers_odd", "pull_odd_headers"}
    }

    blocks = [
        Headers.parse(frame[3]) for frame in odd["core_headers_odd"] if operation(frame) == "HMSG"
    ]
    assert [h.items() for h in blocks] == [
        (("A", "1"), ("A", "2"), ("a", "3")),
        (
            ("nAtS-mSg-iD", "spaced value"),
            ("Empty", ""),
            ("Empty2", ""),
            ("NoSpace", "v"),
            ("C", "a:b: c"),
        ),
        (),
        (),
        (),
        (),
        (("X", "y"),),
        (("Fold", "a"), ("Key With Space", "v"), ("Utf", "é\udcff")),
        (),
    ]
    assert [len(h.defects) for h in blocks] == [0, 0, 0, 0, 0, 0, 0, 2, 1]
    assert [h.status for h in blocks] == [
        None,
        None,
        None,
        None,
        (404, "No Messages"),
        (503, ""),
        (299, "Weird   spacing"),
        None,
        None,
    ]
    assert [frame[4] for frame in odd["core_headers_odd"] if isinstance(frame, tuple)][-3:] == [
        b"legacy",
        b"garbage",
        b"zero header length",
    ]

    blocks = [
        Headers.parse(frame[3]) for frame in odd["pull_odd_headers"] if operation(frame) == "HMSG"
    ]
    assert [(h.items(), [d.line for d in h.defects]) for h in blocks] == [
        (
            (("A", "1"), ("A", "2"), ("a", "3"), ("empty", ""), ("sp ", "y")),
            [b"  lead: x", b"sp :  y  "],
        ),
        ((), []),
        ((), [b"garbage without version"]),
        ((("K", "v"),), [b"nocolon"]),
        ((("LF", "only"),), [b"NATS/1.0", b"LF: only", b""]),
    ]
    assert {frame[4] for frame in odd["pull_odd_headers"] if isinstance(frame, tuple)} == {b"p"}
