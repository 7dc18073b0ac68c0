"""What servers tell of themselves on every version, and a dead letter from the message to its new
place.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.jetstream.api.events.advisories import (
    ADVISORIES,
    METRICS,
    AckSample,
    MessageFate,
    StreamAction,
    read_event,
)

pytestmark = pytest.mark.live


@pytest.fixture
def js(nc):
    return nc.jetstream(timeout=2.0)


def test_a_message_that_nobody_could_work_off_becomes_a_dead_letter(nc, js, within) -> None:
    with nc.subscribe(ADVISORIES) as events, within(15.0):
        work = js.create_stream(name="DLQ_WORK", subjects=["dlq.work"], storage="memory")
        dead = js.create_stream(name="DLQ_DEAD", subjects=["dlq.dead"], storage="memory")
        js.publish("dlq.work", b"bad", headers={"K": "v"})
        consumer = work.create_consumer(
            durable_name="C", max_deliver=1, ack_wait=timedelta(milliseconds=200)
        )
        consumer.next()
        with consumer.fetch(1, timeout=1.0) as nothing:
            assert list(nothing) == []  # whoever asks makes the server look at what is overdue
        heard = []
        for message in events:
            heard.append(read_event(message.payload))
            if isinstance(heard[-1], MessageFate):
                break
        fate = heard[-1]

        assert any(isinstance(each, StreamAction) and each.stream == "DLQ_WORK" for each in heard)
        assert (fate.kind, fate.stream, fate.consumer, fate.stream_seq) == (
            "max_deliver",
            "DLQ_WORK",
            "C",
            1,
        )
        first = js.dead_letter(fate, "dlq.dead")
        again = js.dead_letter(fate, "dlq.dead")
        letter = dead.messages.by_seq(1)

        assert (first.seq, again.duplicate) == (1, True)
        assert (letter.payload, letter.headers["K"]) == (b"bad", "v")
        assert letter.headers["Dead-Letter-Subject"] == "dlq.work"
    work.delete()
    dead.delete()


def test_a_sampled_ack_says_how_long_it_took(nc, js, within) -> None:
    with nc.subscribe(METRICS) as events, within(10.0):
        stream = js.create_stream(name="SAMPLED", subjects=["sampled"], storage="memory")
        js.publish("sampled", b"x")
        stream.create_consumer(durable_name="C", sample_freq="100").next().ack_confirmed()
        sample = read_event(next(events).payload)

        assert isinstance(sample, AckSample)
        assert (sample.stream, sample.stream_seq, sample.deliveries) == ("SAMPLED", 1, 1)
        assert timedelta() < sample.ack_time < timedelta(seconds=5)
    stream.delete()
