import pytest

from jsproto.testing.peer import (
    Expect,
    Pulled,
    ScriptBroken,
    ScriptedServer,
    Send,
    handshake,
    info,
    msg,
    status,
)
from jsproto.wire.client_commands import ClientVerb, PubLine, SubLine


def test_the_script_speaks_first_and_answers_what_it_expects():
    peer = ScriptedServer(
        [*handshake(max_payload=10), Expect("SUB * 1"), Send(msg("s.a", "1", b"hello"))]
    )

    assert b'"max_payload":10' in peer.data_to_send()
    peer.receive_data(b"CONNECT {}\r\nPING\r\n")
    assert peer.data_to_send() == b"PONG\r\n"
    peer.receive_data(b"SUB in.x 1\r\n")
    assert peer.data_to_send() == b"MSG s.a 1 5\r\nhello\r\n"
    assert peer.done


def test_another_line_than_expected_breaks_the_script():
    peer = ScriptedServer([Expect("PING")])

    with pytest.raises(ScriptBroken, match="expected 'PING' as step 0, got 'SUB a 1'"):
        peer.receive_data(b"SUB a 1\r\n")


def test_a_line_that_is_no_line_breaks_the_script():
    with pytest.raises(ScriptBroken, match="Unknown Protocol Operation"):
        ScriptedServer().receive_data(b"HELLO\r\n")


def test_a_script_that_is_not_finished_says_what_it_waits_for():
    peer = ScriptedServer([Expect("PING"), Expect("PONG")])
    peer.receive_data(b"PING\r\n")

    with pytest.raises(ScriptBroken, match="'PONG' as step 1"):
        peer.finish()
    peer.receive_data(b"PONG\r\n")
    peer.finish()


def test_what_is_said_beyond_the_script_is_kept():
    peer = ScriptedServer()
    peer.receive_data(b"SUB a q 1\r\nPUB b 2\r\nhi\r\nPING\r\n")

    assert peer.frames() == [SubLine("a", "q", "1"), PubLine("b", "", None, b"hi"), ClientVerb.PING]
    assert peer.frames() == []


def test_lines_read_as_the_protocol_writes_them():
    peer = ScriptedServer()
    peer.receive_data(
        b"CONNECT {}\r\nUNSUB 1\r\nUNSUB 1 5\r\nHPUB a r 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
    )

    assert peer.lines() == ["CONNECT {}", "UNSUB 1", "UNSUB 1 5", "HPUB a r 12 13"]


def test_pulls_are_picked_out_with_their_request():
    peer = ScriptedServer()
    peer.receive_data(b'PUB $JS.API.CONSUMER.MSG.NEXT.S.C in.1 11\r\n{"batch":5}\r\n')
    peer.receive_data(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C in.2 0\r\n\r\n")
    peer.receive_data(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C in.3 1\r\n7\r\n")
    peer.receive_data(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C in.4 1\r\n{\r\n")

    assert peer.take_pulls() == [
        Pulled("S", "C", "in.1", {"batch": 5}),
        Pulled("S", "C", "in.2", {}),
        Pulled("S", "C", "in.3", {"batch": 7}),
        Pulled("S", "C", "in.4", {}),
    ]
    assert peer.take_pulls() == []


def test_a_script_can_grow_and_the_server_can_speak_out_of_turn():
    peer = ScriptedServer()
    peer.say(b"PING\r\n")
    peer.expect(Send(b"+OK\r\n"), Expect("PONG"))

    assert peer.data_to_send() == b"PING\r\n+OK\r\n"
    assert not peer.done


def test_expectations_can_leave_the_rest_open():
    peer = ScriptedServer([Expect("PUB a ...")])
    peer.receive_data(b"PUB a b 0\r\n\r\n")

    assert peer.done


def test_frames_of_the_server_are_built_as_the_server_builds_them():
    assert info(ldm=True).startswith(b'INFO {"server_id"')
    assert msg("a", "1", b"x", reply="r") == b"MSG a 1 r 1\r\nx\r\n"
    assert status("in.1", "1", "408 Request Timeout", Nats_Pending_Messages=3) == (
        b"HMSG in.1 1 58 58\r\nNATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 3\r\n\r\n\r\n"
    )
