"""What the differential run excuses, and that it excuses nothing else."""

import pytest

from tests.long.beside import Difference, why, why_crashed

PULL = "Step(verb='pull', what='C1', body=b'{\"batch\": 1, \"no_wait\": true}', headers=None, number=0)"
INFO = "Step(verb='api', what='CONSUMER.INFO.S.C1', body=b'', headers=None, number=0)"
TOLD = [("HMSG in.C1.4 in.C1 28 28", b"NATS/1.0 404 No Messages\r\n\r\n", b"")]
PENDING = [("HMSG in.C1.4 in.C1 33 33", b"NATS/1.0 408 Requests Pending\r\n\r\n", b"")]


def delivery(pending, payload=b"x"):
    return (f"MSG s.a in.C1 $JS.ACK.S.C1.1.3.1.T.{pending} {len(payload)}", b"", payload)


def answer(pending, **more):
    return (
        "MSG rq.4 rq",
        b"",
        {"name": "C1", "num_pending": pending, "num_ack_pending": 1, **more},
    )


def excused(model, real, what=PULL, channel="in.C1"):
    return bool(why(Difference(4, what, channel, model, real)))


def test_a_publish_that_is_not_counted_yet_is_excused():
    assert excused([delivery(2), delivery(1)], [delivery(1), delivery(0)])
    assert excused([answer(3)], [answer(2)], INFO, "rq")
    assert excused([delivery(0)], TOLD)
    assert excused(PENDING, TOLD)


def terminated(seq, reason="Unacknowledged message was deleted"):
    return ("MSG advisory", b"", {"type": "terminated", "stream_seq": seq, "reason": reason})


def test_the_terminations_of_what_was_deleted_have_no_order_among_each_other_and_with_deliveries():
    channel = "ADVISORY.CONSUMER.MSG_TERMINATED.C1"
    one, two = terminated(1), terminated(2)

    assert excused([one, two], [two, one], INFO, channel)
    assert excused([one, two], [two], INFO, channel)
    assert not excused([one], [two], INFO, channel)
    assert not excused([one], [one, two], INFO, channel)
    assert not excused([terminated(1, "because")], [], INFO, channel)
    assert not excused([one, two], [two, one], INFO, "ADVISORY.CONSUMER.MSG_NAKED.C1")
    assert excused(
        [answer(1, ack_floor={"stream_seq": 5})], [answer(1, ack_floor={"stream_seq": 7})], INFO
    )
    assert not excused(
        [answer(1, ack_floor={"stream_seq": 5})],
        [answer(1, ack_floor={"stream_seq": 7}, num_waiting=1)],
        INFO,
    )


def test_the_last_words_of_a_deleted_stream_may_be_lost_and_only_those():
    gone = ("HMSG in.C1.4 in.C1 33 33", b"NATS/1.0 409 Consumer Deleted\r\n\r\n", b"")

    assert excused([gone, gone], [gone], "api STREAM.DELETE.S")
    assert not excused([gone], [], "api CONSUMER.DELETE.S.C1")
    assert not excused([delivery(0)], [], "api STREAM.DELETE.S")
    assert not excused([], [gone], "api STREAM.DELETE.S")


@pytest.mark.parametrize(
    ("model", "real", "what"),
    [
        pytest.param([delivery(1)], [delivery(2)], PULL, id="more is ahead than there is"),
        pytest.param([delivery(2)], [delivery(1, b"y")], PULL, id="another message"),
        pytest.param([delivery(2), delivery(1)], [delivery(1)], PULL, id="a message less"),
        pytest.param([delivery(0)], [], PULL, id="nothing at all"),
        pytest.param([], TOLD, PULL, id="told where the model says nothing"),
        pytest.param(TOLD, [delivery(0)], PULL, id="a message where there is none"),
        pytest.param([delivery(0)], TOLD, PULL.replace("true", "false"), id="told though it waits"),
        pytest.param([delivery(0)], [*TOLD, delivery(0)], PULL, id="told, and given"),
        pytest.param([answer(3)], [answer(2, num_waiting=1)], INFO, id="another number beside it"),
        pytest.param(
            [answer(3, num_redelivered=1)],
            [answer(3, num_redelivered=0)],
            INFO,
            id="not this number",
        ),
    ],
)
def test_nothing_else_is_excused(model, real, what):
    assert not excused(model, real, what)


def log(function):
    return (
        "[1] [INF] Server is ready\npanic: runtime error: invalid memory address\n\ngoroutine 7 [running]:\n"
        f"github.com/nats-io/nats-server/v2/server.{function}(0x1)\n\t/server/consumer.go:1 +0x1\n"
        "github.com/nats-io/nats-server/v2/server.(*consumer).nextWaiting(0x1)\n"
    )


def test_a_crash_is_known_by_the_function_in_which_it_happens():
    assert "no group" in why_crashed(log("(*consumer).nextWaiting"))
    assert why_crashed(log("(*consumer).loopAndGatherMsgs")) == ""
    assert why_crashed("[1] [INF] Server is ready\n") == ""
