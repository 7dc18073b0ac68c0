from jsproto.trace.formats.recording import Happened, Received, Sent, Waited, Wished
from jsproto.trace.show.ladder import rungs


def test_a_rung_is_a_frame_a_command_an_event_or_a_wish_and_waiting_is_none():
    steps = [
        Happened(at=0.0, conn="a", name="connected", detail={}),
        Received(at=0.1, conn="a", data=b"PING\r\nPI"),
        Waited(at=0.2, conn="a"),
        Received(at=0.3, conn="a", data=b"NG\r\n"),
        Sent(at=0.4, conn="a", data=b"PONG\r\n"),
        Wished(at=0.5, conn="a", name="drain", detail={"seconds": 5}),
    ]

    assert [(rung.line, rung.way, rung.words) for rung in rungs(enumerate(steps, start=2))] == [
        (2, "=", "connected"),
        (3, "<", "PING"),
        (5, "<", "PING"),
        (6, ">", "PONG"),
        (7, "!", "drain seconds=5"),
    ]


def test_bytes_behind_a_new_connection_continue_nothing():
    steps = [
        Received(at=0.0, conn="a", data=b"PI"),
        Happened(at=0.0, conn="a", name="connected", detail={}),
        Received(at=0.0, conn="a", data=b"PONG\r\n"),
    ]

    assert [rung.words for rung in rungs(enumerate(steps, start=2))] == ["connected", "PONG"]
