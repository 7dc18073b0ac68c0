"""The switchboard: lines to a model server, a clock that leaps, and the verbs that break things."""

from __future__ import annotations

import json
import math

import pytest

from jsproto.errors import LocalProtocolError
from jsproto.testing import Clock, SimServer, Switchboard

HELLO = b'CONNECT {"verbose":false,"headers":true,"protocol":1}\r\nPING\r\n'


class Caller:
    """One line, with its bell."""

    def __init__(self, board, *, hello=True):
        self.rung = 0
        self.line = board.dial(self.ring)
        if hello:
            self.line.write(HELLO)
            self.heard()

    def ring(self):
        self.rung += 1

    def heard(self):
        return self.line.read()


@pytest.fixture
def board():
    return Switchboard()


def consumer_of(board):
    board.request("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["ORDERS.*"]})
    board.request(
        "CONSUMER.DURABLE.CREATE.ORDERS.NEW",
        {"stream_name": "ORDERS", "config": {"durable_name": "NEW", "ack_policy": "explicit"}},
    )


def test_who_dials_hears_the_server_at_once(board):
    caller = Caller(board, hello=False)

    assert caller.rung > 0
    assert caller.heard().startswith(b"INFO ")
    assert (1, 1) == (board.accepted, board.connected)


def test_what_one_line_says_comes_to_another_without_time_passing(board):
    one, other = Caller(board), Caller(board)
    other.line.write(b"SUB a 1\r\n")

    one.line.write(b"PUB a 2\r\nhi\r\n")

    assert b"MSG a 1 2\r\nhi\r\n" == other.heard()
    assert board.clock.now == 0.0


def test_time_leaps_to_whatever_is_due_first(board):
    Caller(board)
    due = board.due()

    assert board.leap(due - 1.0)
    assert due - 1.0 == board.clock.now
    assert board.leap(due + 1_000.0)
    assert due == board.clock.now


def test_where_nothing_will_ever_happen_no_leap_is_made(board):
    assert not board.leap(None)
    assert not board.leap(math.inf)
    assert board.clock.now == 0.0


def test_a_test_that_never_ends_is_told_so_and_may_still_clean_up():
    board = Switchboard(limit=60.0, clock=Clock(100.0))

    with pytest.raises(LocalProtocolError, match="before virtual second 160,"):
        board.leap(161.0)
    assert board.clock.now == 100.0
    assert board.leap(161.0)


def test_a_server_that_is_down_refuses_until_it_starts(board):
    caller = Caller(board)
    board.kill()

    assert caller.line.ended
    assert caller.line.error is None
    with pytest.raises(ConnectionRefusedError):
        Caller(board)
    board.start()
    Caller(board)
    assert board.connected == 1


def test_a_restart_ends_every_line_and_keeps_what_is_on_disk(board):
    consumer_of(board)
    board.publish("ORDERS.a", b"x")
    caller = Caller(board)

    board.restart()

    assert caller.line.ended
    assert board.request("STREAM.INFO.ORDERS")["state"]["messages"] == 1


def test_who_is_refused_with_a_word_hears_that_word():
    board = Switchboard(SimServer(max_connections=1))
    Caller(board)
    refused = Caller(board, hello=False)

    assert b"-ERR 'maximum connections exceeded'\r\n" in refused.heard()
    assert refused.line.ended
    assert (1, 1) == (board.accepted, board.connected)


def test_a_cut_is_a_reset_and_the_next_dial_succeeds(board):
    caller = Caller(board)
    before = caller.rung

    board.cut()

    assert caller.line.ended
    assert isinstance(caller.line.error, ConnectionResetError)
    assert caller.rung == before + 1
    assert board.model.connections == ()
    Caller(board)


def test_a_line_that_has_ended_swallows_what_is_written_and_is_left_in_silence(board):
    caller = Caller(board)
    board.cut()

    caller.line.write(b"PING\r\n")
    caller.line.hang_up()

    assert caller.heard() == b""


def test_who_hangs_up_is_heard_to_the_end(board):
    one, other = Caller(board), Caller(board)
    other.line.write(b"SUB a 1\r\n")
    board.freeze()
    one.line.write(b"PUB a 2\r\nhi\r\n")
    one.line.hang_up()
    one.line.hang_up()
    board.thaw()

    assert b"MSG a 1 2\r\nhi\r\n" == other.heard()
    assert board.connected == 1


def test_a_server_that_hung_up_is_not_told_anything_more(board):
    caller = Caller(board)
    board.freeze()
    caller.line.write(b"PING\r\n")
    board.kill()
    caller.line.hang_up()
    assert board.connected == 0

    other = Switchboard()
    caller = Caller(other)
    other.freeze()
    caller.line.write(b"PING\r\n")
    other.kill()
    other.thaw()
    assert caller.line.ended
    assert caller.heard() == b""


def test_a_frozen_server_holds_everything_until_it_thaws(board):
    caller = Caller(board)
    board.freeze(1.0)
    caller.line.write(b"PING\r\n")

    assert caller.heard() == b""
    assert board.due() == 1.0
    assert board.leap(9.0)
    assert board.clock.now == 1.0
    assert caller.heard() == b"PONG\r\n"


def test_a_server_that_is_frozen_for_good_has_nothing_due_and_thaws_on_demand(board):
    caller = Caller(board)
    board.freeze()
    caller.line.write(b"PING\r\n")

    assert board.due() is None
    assert board.clock.now == 0.0
    board.thaw()
    assert caller.heard() == b"PONG\r\n"


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_frost_of_less_than_no_time_is_refused(board, seconds):
    with pytest.raises(LocalProtocolError, match="0 or more seconds"):
        board.freeze(seconds)


def test_while_time_passes_the_server_lives(board):
    caller = Caller(board)

    board.advance(board.due())

    assert caller.heard() == b"PING\r\n"


def test_a_graceful_stop_and_a_lame_duck_end_the_lines_in_their_time(board):
    stopped = Caller(board)
    board.shutdown()
    assert stopped.line.ended
    board.start()

    duck = Caller(board)
    board.lame_duck(3.0)
    assert b'"ldm":true' in duck.heard()
    assert not duck.line.ended
    with pytest.raises(ConnectionRefusedError):
        Caller(board)
    board.advance(3.0)
    assert duck.line.ended


def test_a_stray_word_reaches_everybody(board):
    callers = [Caller(board), Caller(board)]

    board.say(b"-ERR 'nonsense'\r\n")

    assert [b"-ERR 'nonsense'\r\n"] * 2 == [caller.heard() for caller in callers]


def waiting_pull(board):
    """A caller whose pull waits at a new consumer."""
    consumer_of(board)
    caller = Caller(board)
    ask = json.dumps({"batch": 1, "expires": 30_000_000_000}).encode()
    caller.line.write(
        b"SUB in 1\r\nPUB $JS.API.CONSUMER.MSG.NEXT.ORDERS.NEW in %d\r\n%b\r\n" % (len(ask), ask)
    )
    return caller


def test_somebody_deletes_the_consumer_of_a_waiting_pull(board):
    caller = waiting_pull(board)

    board.delete_consumer("ORDERS", "NEW")

    assert b"409 Consumer Deleted" in caller.heard()


def test_the_leader_of_a_consumer_moves(board):
    caller = waiting_pull(board)

    board.step_down("ORDERS", "NEW")

    assert b"409 Leadership Change" in caller.heard()


def test_what_the_server_refuses_from_the_side_is_an_error(board):
    consumer_of(board)
    board.delete_stream("ORDERS")

    with pytest.raises(LocalProtocolError, match="stream not found"):
        board.delete_stream("ORDERS")


def test_what_is_beyond_the_model_is_listed(board):
    assert board.not_modelled == ()
