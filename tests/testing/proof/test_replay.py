"""Small recordings, made by the model itself: they are equal, and what is changed in them is found."""

import pytest

from jsproto.testing.proof import Beforehand, prove
from jsproto.testing.simserver import SimServer

CONNECT = b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n'
STREAM = {
    "name": "oob",
    "what": "api",
    "subject": "STREAM.CREATE.S",
    "request": {"name": "S", "subjects": ["s.>"]},
}


def info_of(**options):
    server = SimServer(name="rec", **options)
    return server.data_to_send(server.connect(0.0))


def opened(*, info=None):
    info = info_of() if info is None else info
    return (
        (0, "event", {"name": "connected"}),
        (0, "s2c", info),
        (0, "c2s", CONNECT + b"SUB in.> 1\r\n"),
    )


def said(frame):
    """A number, without what is the same in every frame of a test."""
    return None if frame is None else frame.said


def test_a_recording_of_the_model_is_equal(recorded):
    assert prove(recorded(*opened(), (0.1, "c2s", b"PING\r\n"), (0.1, "s2c", b"PONG\r\n"))) == (
        [],
        (),
    )


def test_another_frame_is_a_difference_of_its_channel(recorded):
    (found,), _ = prove(recorded(*opened(), (0.1, "c2s", b"PING\r\n"), (0.1, "s2c", b"+OK\r\n")))

    assert (found.conn, found.channel, found.at, found.what) == ("a", "CONTROL", 0, "content")
    assert (said(found.recorded), said(found.modelled)) == ("+OK", "PONG")


@pytest.mark.parametrize(
    ("lines", "recorded_frame", "modelled_frame"),
    [
        (((0.1, "c2s", b"PING\r\n"), (0.5, "tick", {})), None, "PONG"),
        (((0.1, "s2c", b"PONG\r\n"),), "PONG", None),
    ],
)
def test_a_frame_too_many_or_too_few_is_a_difference(
    recorded, lines, recorded_frame, modelled_frame
):
    (found,), _ = prove(recorded(*opened(), *lines))

    assert (said(found.recorded), said(found.modelled)) == (recorded_frame, modelled_frame)


def test_what_comes_at_the_very_end_may_have_come_too_late_for_the_recorder(recorded):
    assert prove(recorded(*opened(), (0.1, "c2s", b"PING\r\n"), (0.15, "tick", {}))) == ([], ())


def test_a_recorder_sees_late_what_came_while_it_looked_elsewhere(recorded):
    lines = (
        (0.1, "c2s", b"PING\r\n"),
        (0.3, "tick", {"conn": "b"}),
        (0.5, "tick", {"conn": "b"}),
        (0.5, "s2c", b"PONG\r\n"),
    )

    assert prove(recorded(*opened(), *lines)) == ([], ())


def test_a_client_says_back_the_ids_of_the_model(recorded):
    consumer = {"stream_name": "S", "config": {"durable_name": "C", "deliver_subject": "d.x"}}
    consumer["config"].update({"flow_control": True, "idle_heartbeat": 10**9})
    create = {
        "name": "oob",
        "what": "api",
        "subject": "CONSUMER.DURABLE.CREATE.S.C",
        "request": consumer,
    }
    publish = {"name": "oob", "what": "publish", "subject": "s.a", "count": 1, "bytes": 1_048_000}
    question = b"HMSG d.x 2 $JS.FC.S.C.%b 36 36\r\nNATS/1.0 100 FlowControl Request\r\n\r\n\r\n"
    ack = b"MSG s.a 2 $JS.ACK.S.C.1.%d.%d.1800000000100000000.0 1048000\r\n%b\r\n"
    bodies = [str(number).encode().ljust(1_048_000, b".") for number in (0, 0)]
    beat = (
        b"HMSG d.x 2 75 75\r\nNATS/1.0 100 Idle Heartbeat\r\n"
        b"Nats-Last-Consumer: 2\r\nNats-Last-Stream: 2\r\n\r\n\r\n"
    )
    lines = (
        (0.1, "event", STREAM),
        (0.1, "c2s", b"SUB d.x 2\r\n"),
        (0.1, "event", create),
        (0.1, "event", publish),
        (0.1, "event", publish),
        (0.1, "s2c", ack % (1, 1, bodies[0]) + ack % (2, 2, bodies[1]) + question % b"abcd"),
        (0.2, "c2s", b"PUB $JS.FC.S.C.abcd 0\r\n\r\n"),
        (1.1, "s2c", beat),
    )

    assert prove(recorded(*opened(), *lines)) == ([], ())


def test_what_somebody_else_listens_on_is_listened_on(recorded):
    lines = ((0.1, "c2s", b"PUB other in.1 0\r\n\r\n"), (0.5, "tick", {}))

    assert prove(recorded(*opened(), *lines), Beforehand(subjects=("other",))) == ([], ())
    assert prove(recorded(*opened(), *lines))[0] != []


def test_a_frame_at_another_time_is_a_difference(recorded):
    (found,), _ = prove(recorded(*opened(), (0.1, "c2s", b"PING\r\n"), (0.3, "s2c", b"PONG\r\n")))

    assert found.what == "time"


def test_what_the_recorder_did_not_read_is_not_compared(recorded):
    assert prove(recorded(*opened(), (0.1, "c2s", b"PING\r\n"))) == ([], ())


def test_pings_of_the_server_are_not_compared(recorded):
    assert prove(recorded(*opened(), (3.0, "tick", {}), (3.1, "tick", {}))) == ([], ())


def test_an_end_that_the_model_does_not_make_is_a_difference(recorded):
    (found,), _ = prove(recorded(*opened(), (0.1, "event", {"name": "eof"})))

    assert found.what == "eof"


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
def test_signals_end_the_connection_and_a_start_lets_clients_in_again(recorded, signal):
    lines = (
        (0.1, "event", {"name": "server_signal", "signal": signal}),
        (0.2, "event", {"name": "eof"}),
        (0.3, "event", {"name": "server_started"}),
        (0.4, "event", {"name": "connected"}),
        (0.4, "s2c", info_of()),
    )

    assert prove(recorded(*opened(), *lines)) == ([], ())


def test_a_lame_duck_ends_after_its_grace(recorded):
    lines = (
        (0.1, "event", {"name": "server_signal", "signal": "SIGUSR2"}),
        (2.2, "event", {"name": "eof"}),
    )

    assert prove(recorded(*opened(), *lines, notes=['lame_duck_grace_period: "2s"'])) == ([], ())


def test_a_client_that_left_and_events_of_the_recorder_need_no_answer(recorded):
    lines = ((0.1, "event", {"name": "client_timeout"}), (0.2, "event", {"name": "client_close"}))

    assert prove(recorded(*opened(), *lines)) == ([], ())


def test_what_others_did_is_done_and_what_they_published_is_taken_from_the_answers(recorded):
    answer = (
        b'{"type":"io.nats.jetstream.api.v1.stream_msg_get_response",'
        b'"message":{"subject":"s.a","seq":1,"data":"b25l","time":"T"}}'
    )
    lines = (
        (0.1, "event", STREAM),
        (
            0.2,
            "event",
            {"name": "oob", "what": "publish", "subject": "s.a", "count": 1, "bytes": 3},
        ),
        (0.3, "c2s", b'PUB $JS.API.STREAM.MSG.GET.S in.1 9\r\n{"seq":1}\r\n'),
        (0.3, "s2c", b"MSG in.1 1 %d\r\n%b\r\n" % (len(answer), answer)),
    )

    assert prove(recorded(*opened(), *lines)) == ([], ())


def test_one_message_on_each_of_many_subjects_is_published_out_of_one_event(recorded):
    lines = (
        (0.1, "event", STREAM),
        (0.2, "event", {"name": "oob", "what": "publish", "subject": "s.0..s.2", "count": 3}),
        (0.3, "c2s", b'PUB $JS.API.STREAM.MSG.GET.S in.1 22\r\n{"last_by_subj":"s.2"}\r\n'),
        (0.4, "tick", {}),
    )
    (found,), _ = prove(recorded(*opened(), *lines))

    assert said(found.modelled)[2]["message"]["seq"] == 3


def test_what_was_done_beforehand_is_done_before_anybody_comes(recorded):
    answer = b'{"type":"io.nats.jetstream.api.v1.stream_names_response","total":1,"offset":0,"limit":1024,"streams":["S"]}'
    lines = (
        (0.1, "c2s", b"PUB $JS.API.STREAM.NAMES in.1 0\r\n\r\n"),
        (0.1, "s2c", b"MSG in.1 1 %d\r\n%b\r\n" % (len(answer), answer)),
    )
    beforehand = Beforehand(requests=(("STREAM.CREATE.S", {"name": "S"}), ("STREAM.NAMES", None)))

    assert prove(recorded(*opened(), *lines), beforehand) == ([], ())
    assert prove(recorded(*opened(), *lines))[0] != []


def test_what_deliveries_show_was_published_before_the_first_pull(recorded):
    consumer = {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}}
    create = {
        "name": "oob",
        "what": "api",
        "subject": "CONSUMER.DURABLE.CREATE.S.C",
        "request": consumer,
    }
    pull = b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C in.p 1\r\n1\r\n"
    lines = (
        (0.1, "event", STREAM),
        (0.1, "event", create),
        (0.2, "c2s", pull),
        (0.2, "s2c", b"MSG s.a 1 $JS.ACK.S.C.1.1.1.1800000000200000000.0 4\r\nbody\r\n"),
        (0.3, "c2s", pull),
        (0.3, "tick", {}),
    )

    assert prove(recorded(*opened(), *lines), Beforehand(published=True)) == ([], ())


def test_what_is_not_modelled_is_told(recorded):
    request = {
        "name": "oob",
        "what": "api",
        "subject": "STREAM.CREATE.S",
        "request": {"name": "S", "placement": {"cluster": "X"}},
    }

    assert len(prove(recorded(*opened(), (0.1, "event", request)))[1]) == 1
