import pytest

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Happened, Received, Sent, Wished
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.tape import Room, Tape


class Paper:
    def __init__(self):
        self.text = ""
        self.closed = 0

    def write(self, text):
        assert not self.closed
        assert text
        self.text += text

    def close(self):
        self.closed += 1

    def records(self):
        return [record for _, record in read_trace(self.text.encode()).records()]


PING = Sent(at=1.0, conn="a", data=b"PING\r\n")


def test_a_tape_writes_its_head_its_records_and_what_was_left_unfinished():
    paper = Paper()
    tape = Tape(paper, keep=Keep.HASH, about={"client": "mine"})
    tape.record(PING)
    tape.record(Received(at=2.0, conn="a", data=b"PO"))
    tape.end()
    tape.end()
    tape.record(PING)

    assert read_trace(paper.text.encode()).about == {"payload": "hash", "client": "mine"}
    assert paper.records() == [
        PING,
        Happened(at=1.0, name="unfinished", conn="a", detail={"way": "<", "bytes": 2}),
    ]
    assert (paper.closed, tape.running, tape.records) == (1, False, 2)


def test_a_tape_that_has_no_room_left_says_so_in_its_last_line_and_is_silent():
    paper = Paper()
    tape = Tape(paper, room=Room(200))
    for at in range(100):
        tape.record(Sent(at=float(at), conn="a", data=b"PING\r\n"))
    tape.end()
    *before, last = paper.records()

    assert (last.name, last.detail, paper.closed, tape.running) == (
        "full",
        {"bytes": 200},
        1,
        False,
    )
    assert 3 < len(before) < 20
    assert set(map(type, before)) == {Sent}


@pytest.mark.parametrize("most", range(60, 260, 20))
def test_records_that_belong_together_are_on_the_tape_together_or_not_at_all(most):
    paper = Paper()
    tape = Tape(paper, room=Room(most))
    note = Happened(at=1.0, name="entropy", conn="a", detail={"bytes": "00"})
    for _ in range(20):
        tape.record(PING, note)
    *before, last = paper.records()

    assert last.name == "full"
    assert before == [PING, note] * (len(before) // 2)
    assert tape.records == len(before) + 2


def test_tapes_that_share_a_room_are_full_together_and_each_file_has_its_head():
    papers = [Paper(), Paper()]
    room = Room(150)
    tapes = [Tape(paper, room=room) for paper in papers]
    for _ in range(50):
        for tape in tapes:
            tape.record(Wished(at=0.0, name="fetch", conn="a", detail={}))

    assert [paper.records()[-1].name for paper in papers] == ["full", "full"]
    assert [tape.running for tape in tapes] == [False, False]
    late = Paper()
    Tape(late, room=room).record(PING)
    assert [record.name for record in late.records()] == ["full"]


def test_what_cannot_be_a_room_or_a_head_is_refused():
    with pytest.raises(InvalidConfig, match="expected room for at least one byte, got 0"):
        Room(0)
    with pytest.raises(LocalProtocolError, match="expected a name and one line of text"):
        Tape(Paper(), about={"two words": "x"})
