"""Three readings of one trace in step: what they count, what they cannot read, and where they part."""

import pytest

from jsproto.trace.formats.recording import Happened, Received, Sent, Waited
from jsproto.trace.replay.replay import Cuts, Divergence, Replay


def test_a_replay_counts_what_it_read_and_what_it_could_not():
    replay = Replay()
    replay.feed(2, Happened(at=0.0, conn="a", name="connected", detail={}))
    replay.feed(
        3,
        Received(at=0.0, conn="a", data=b"INFO {}\r\n+OK\r\nPING\r\n-ERR 'x'\r\nMSG a 1 0\r\n\r\n"),
    )
    replay.feed(
        4,
        Received(
            at=0.0,
            conn="a",
            data=b"HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n" + b"MSG a 1 5000\r\n" + b"x" * 5000,
        ),
    )
    replay.feed(5, Received(at=0.0, conn="a", data=b"\r\nnonsense\r\n"))
    replay.feed(6, Received(at=0.0, conn="a", data=b"more"))
    replay.feed(7, Sent(at=0.0, conn="a", data=b"PING\r\nNONSENSE\r\n"))

    assert dict(replay.counted) == {"INFO": 1, "+OK": 1, "PING": 1, "-ERR": 1, "MSG": 2, "HMSG": 1}
    assert replay.commands == 2
    assert [(conn, way, line) for conn, way, line, _ in replay.unknown] == [
        ("a", "<", 5),
        ("a", ">", 7),
    ]


def test_a_divergence_says_where_the_readings_part(monkeypatch):
    replay = Replay()
    monkeypatch.setattr(Cuts, "__call__", lambda self, size: iter([size - 1]))  # one byte is lost

    with pytest.raises(Divergence, match="cut at random"):
        replay.feed(2, Received(at=0.0, conn="a", data=b"PING\r\n"))


def test_a_divergence_of_the_observer_alone_is_one_too(monkeypatch):
    replay = Replay()
    monkeypatch.setattr(Replay, "_read", lambda self, record, way, pieces: [])
    monkeypatch.setattr(Cuts, "__call__", lambda self, size: iter([size - 1]))

    with pytest.raises(Divergence, match="observed cut at random"):
        replay.feed(2, Sent(at=0.0, conn="a", data=b"PING\r\n"))


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 2047, 2048, 2049, 9000])
def test_a_piece_of_any_size_is_cut_without_loss(size):
    replay = Replay()
    frame = b"MSG a 1 %d\r\n" % size + b"x" * size + b"\r\n"

    replay.feed(2, Received(at=0.0, conn="a", data=frame))
    replay.feed(3, Waited(at=1.0, conn="a"))
    replay.feed(4, Received(at=2.0, conn="a", data=b"PONG\r\n"))

    assert dict(replay.counted) == {"MSG": 1, "PONG": 1}


HELLO = [
    Happened(at=0.0, conn="a", name="connected", detail={}),
    Received(at=0.0, conn="a", data=b'INFO {"version":"2.15.1"} \r\n'),
]


@pytest.mark.parametrize(
    "bad", [b"NOSENSE\r\n", b"MSG a\r\n", b"HMSG s 1 99 5\r\nhello\r\n", b"MSG s 1 2\r\nhello\r\n"]
)
@pytest.mark.parametrize("end", ["client_close", "lost", "eof", "connected"])
def test_a_link_that_ends_in_a_malformed_frame_was_read_to_its_end(bad, end):
    """Whoever spoke there hung up for this frame; nothing behind it is missing."""
    replay = Replay()
    for line, record in enumerate([*HELLO, Received(at=1.0, conn="a", data=bad)], start=1):
        replay.feed(line, record)
    assert [each[:3] for each in replay.lost] == [("a", "<", 3)]

    replay.feed(4, Happened(at=2.0, conn="a", name=end, detail={}))

    assert replay.lost == []
    assert [each[:3] for each in replay.unknown] == [("a", "<", 3)]


def test_what_comes_behind_a_malformed_frame_is_lost_and_so_is_that_of_a_later_link():
    replay = Replay()
    records = [
        *HELLO,
        Received(at=1.0, conn="a", data=b"NOSENSE\r\n"),
        Happened(at=1.0, conn="a", name="lost", detail={}),
        *HELLO,
        Received(at=1.0, conn="a", data=b"NOSENSE AGAIN\r\n"),
        Received(at=1.0, conn="a", data=b"PING\r\n"),
        Happened(at=1.0, conn="a", name="lost", detail={}),
    ]
    for line, record in enumerate(records, start=1):
        replay.feed(line, record)

    assert [each[:3] for each in replay.unknown] == [("a", "<", 3), ("a", "<", 7)]
    assert [each[:3] for each in replay.lost] == [("a", "<", 7)]
