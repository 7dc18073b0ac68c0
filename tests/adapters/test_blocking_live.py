"""The blocking adapter on a real server."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta

import pytest

from jsproto.core.connection.events import Connected
from jsproto.errors import (
    AuthorizationFailed,
    ConversationClosed,
    InvalidConfig,
    JsprotoError,
    NoResponders,
    PermissionViolation,
    RequestTimeout,
)
from jsproto.jetstream.api.errors import ConsumerNotFound, JetStreamNotEnabled, StreamNotFound
from jsproto.jetstream.publish.window import Outcome
from jsproto_io.blocking import SyncMessage, connect
from tests.adapters.conftest import until_ended

pytestmark = pytest.mark.live


@pytest.fixture
def name():
    """A name of a stream, and first token of its subjects, that no other test uses."""
    return f"T{uuid.uuid4().hex[:12]}"


def filled(js, name, count, **settings):
    """A stream with so many messages ``0``, ``1``, ... on ``<name>.a``."""
    stream = js.create_stream(name=name, subjects=[f"{name}.>"], **settings)
    with js.publish_window() as window:
        for at in range(count):
            window.put((f"{name}.a", b"%d" % at))
    return stream


# ---------------------------------------------------------------------------------------------- JetStream


def test_the_story_of_the_front_page(nats_server, name, eventually):
    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        orders = js.create_stream(name=name, subjects=[f"{name}.*"])
        js.publish(f"{name}.received", b"1", msg_id="order-1")
        work = orders.create_consumer(durable_name="NEW", filter_subject=f"{name}.received")
        with work.consume(max_messages=500) as messages:
            for msg in messages:
                assert isinstance(msg, SyncMessage)
                assert (msg.subject, msg.payload) == (f"{name}.received", b"1")
                assert msg.headers["Nats-Msg-Id"] == "order-1"
                assert msg.ack() is True
                assert msg.ack() is False
                break
        eventually(lambda: work.info().ack_floor.stream_seq == 1)

        assert work.info().num_ack_pending == 0


def test_a_message_can_be_settled_in_every_way(nats_server, name):
    with connect(nats_server.url) as nc:
        work = filled(nc.jetstream(), name, 4).create_consumer(name="C", max_deliver=5)
        deliveries = []
        with work.consume() as messages:
            for msg in messages:
                deliveries.append((msg.payload, msg.metadata.num_delivered))
                assert msg.in_progress() is True
                if msg.payload == b"0":
                    assert msg.ack() is True
                elif msg.payload == b"1" and msg.metadata.num_delivered == 1:
                    assert msg.nak() is True
                elif msg.payload == b"2" and msg.metadata.num_delivered == 1:
                    assert msg.nak(0.05) is True
                elif msg.payload == b"3":
                    assert msg.term("never") is True
                else:
                    assert msg.ack_confirmed() is True
                if len(deliveries) == 6:
                    break
        info = work.info()

        assert sorted(deliveries) == [
            (b"0", 1),
            (b"1", 1),
            (b"1", 2),
            (b"2", 1),
            (b"2", 2),
            (b"3", 1),
        ]
        assert info.ack_floor.stream_seq == 4
        assert info.num_ack_pending == 0


def test_fetch_gives_what_was_asked_for_and_ends(nats_server, name):
    with connect(nats_server.url) as nc:
        work = filled(nc.jetstream(), name, 25).create_consumer(name="C", ack_policy="none")
        got = []
        for _ in range(3):
            with work.fetch(10, timeout=1.0) as messages:
                for batch in messages.batches():
                    got += batch

        assert [msg.payload for msg in got] == [b"%d" % at for at in range(25)]


def test_next_is_one_message_or_a_timeout(nats_server, name):
    with connect(nats_server.url) as nc:
        work = filled(nc.jetstream(), name, 1).create_consumer(name="C")
        msg = work.next()

        assert (msg.payload, msg.ack()) == (b"0", True)
        with pytest.raises(RequestTimeout, match="got none"):
            work.next(timeout=0.05)


def test_a_window_gives_a_result_for_each_message_in_order(nats_server, name):
    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        js.create_stream(name=name, subjects=[f"{name}.a"])
        with js.publish_window(max_pending=10) as window:
            for at in range(100):
                window.put((f"{name}.a", b"%d" % at))
            first = next(window.results())
            window.drain()
            rest = list(window.results())

        assert [(each.number, each.ack.seq) for each in (first, *rest)] == [
            (n, n) for n in range(1, 101)
        ]
        with pytest.raises(ConversationClosed):
            window.put((f"{name}.a", b"too late"))


def test_results_can_be_waited_for_while_the_window_is_open(nats_server, name):
    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        js.create_stream(name=name, subjects=[f"{name}.a"])
        with js.publish_window() as window:
            results = window.results()
            window.put((f"{name}.a", b"1"))

            assert next(results).ack.seq == 1

            window.put((f"{name}.a", b"2"))

            assert next(results).ack.seq == 2


def test_a_window_left_with_a_failure_that_nobody_took_raises_it(nats_server, name):
    def fill(window):
        with window:
            window.put((f"{name}.a", b"stored"))
            window.put((f"{name}.b", b"no stream"))

    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        js.create_stream(name=name, subjects=[f"{name}.a"])
        window = js.publish_window(retries=0)
        with pytest.raises(NoResponders, match=rf"{name}\.b"):
            fill(window)
        outcomes = {result.subject: result.outcome for result in window.results()}

        assert outcomes == {f"{name}.a": Outcome.ACKED, f"{name}.b": Outcome.NO_RESPONDERS}


def test_a_window_left_by_an_error_closes_at_once(nats_server, name):
    def fill(window):
        with window:
            window.put((f"{name}.a", b"x"))
            raise ZeroDivisionError

    with connect(nats_server.url) as nc:
        window = nc.jetstream().publish_window()
        with pytest.raises(ZeroDivisionError):
            fill(window)

        assert window.window.ended is True
        window.close()
    window.close()


def test_bad_input_is_one_typed_error_that_says_what_was_asked(nats_server, name):
    with connect(nats_server.url) as nc:
        js = nc.jetstream()
        stream = filled(js, name, 1)
        with pytest.raises(StreamNotFound, match="NOPE"):
            js.stream("NOPE").info()
        with pytest.raises(ConsumerNotFound, match="NOPE"):
            stream.consumer("NOPE").info()
        with pytest.raises(NoResponders, match=r"no\.stream"):
            js.publish("no.stream", b"", retries=0)
        with pytest.raises(InvalidConfig):
            js.create_stream(name=name, no_such=1)
        with pytest.raises(JetStreamNotEnabled):
            nc.jetstream(domain="nowhere").account_info()


# ---------------------------------------------------------------------------------------------- core NATS


def test_requests_are_answered_through_a_queue_group_by_one_of_its_members(
    nats_server, name, eventually
):
    ready = threading.Semaphore(0)
    served = []

    def serve(who):
        with connect(nats_server.url) as nc, nc.subscribe(name, queue="workers") as messages:
            nc.flush()
            ready.release()
            for msg in messages:
                if msg.payload == b"stop":
                    return
                served.append(who)
                nc.publish(msg.reply, msg.payload.upper(), headers={"Who": who})

    threads = [threading.Thread(target=serve, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
        assert ready.acquire(timeout=10.0)
    with connect(nats_server.url) as nc:
        answers = [nc.request(name, b"x%d" % at) for at in range(20)]

        def stopped():
            nc.publish(name, b"stop")
            nc.flush()
            return not any(thread.is_alive() for thread in threads)

        eventually(stopped)

        assert [answer.payload for answer in answers] == [b"X%d" % at for at in range(20)]
        assert [answer.headers["Who"] for answer in answers] == served
        with pytest.raises(NoResponders):
            nc.request(name)


def test_a_subscription_with_a_limit_ends_by_itself(nats_server, name):
    with connect(nats_server.url) as nc, nc.subscribe(f"{name}.*", limit=3) as messages:
        for at in range(5):
            nc.publish(f"{name}.{at}", headers={"At": str(at)})
        assert nc.flush() > 0.0
        assert nc.rtt() > 0.0

        assert [msg.headers["At"] for msg in messages] == ["0", "1", "2"]


def test_a_limit_on_a_running_subscription_holds_over_a_reconnect(nats_server, name):
    with (
        connect(nats_server.url) as other,
        connect(nats_server.url) as nc,
        nc.subscribe(name) as messages,
        nc.subscribe(name) as unlimited,
    ):
        with pytest.raises(ConversationClosed):
            nc.subscribe(name).limit(1)
        nc.flush()
        for at in range(2):
            other.publish(name, b"%d" % at)

        assert [messages.next().payload for _ in range(2)] == [b"0", b"1"]

        other.flush()
        nc.reconnect()
        nc.flush()
        messages.limit(5)
        with pytest.raises(InvalidConfig):
            messages.limit(6)
        nc.flush()
        for at in range(2, 9):
            other.publish(name, b"%d" % at)

        assert [msg.payload for msg in messages] == [b"2", b"3", b"4"]
        assert [unlimited.next().payload for _ in range(9)] == [b"%d" % at for at in range(9)]


# ---------------------------------------------------------------------------------------------- being let in


ACCOUNTS = """
accounts { A { users [ { user: joe, password: right } ] }
           B { users [ { user: eve, password: right, permissions { publish { deny: "forbidden" } } } ] } }
"""


def test_wrong_credentials_and_missing_permissions_are_typed(start_server):
    server = start_server(config=ACCOUNTS)
    with pytest.raises(AuthorizationFailed):
        connect(f"nats://joe:wrong@127.0.0.1:{server.port}").__enter__()
    with (
        connect(f"nats://joe:right@127.0.0.1:{server.port}") as nc,
        pytest.raises(JetStreamNotEnabled),
    ):
        nc.jetstream().account_info()
    with connect(f"nats://eve:right@127.0.0.1:{server.port}") as nc:
        with pytest.raises(PermissionViolation, match="forbidden"):
            nc.request("forbidden")
        assert nc.flush() > 0.0


# ---------------------------------------------------------------------------------------------- a server dies


def test_a_server_killed_in_mid_consume_loses_nothing_that_it_kept(start_server, name, eventually):
    server = start_server()
    options = {"reconnect_wait": 0.02, "reconnect_wait_max": 0.1, "reconnect_jitter": 0.01}

    def stored(stream):
        try:
            return stream.info().state.messages == 1000
        except JsprotoError:
            return False

    def settled(work):
        """Some acks died with the server: those messages come again."""
        with work.fetch(100, timeout=0.2) as messages:
            for msg in messages:
                msg.ack()
        info = work.info()
        return info.num_ack_pending == 0 and info.ack_floor.stream_seq == 1100

    with connect(server.url, **options) as nc:
        js = nc.jetstream()
        stream = filled(js, name, 1000, storage="file")
        work = stream.create_consumer(durable_name="C", ack_wait=timedelta(seconds=2))
        events = nc.events()
        seen = set()
        with work.consume(max_messages=100) as messages:
            for msg in messages:
                seen.add(msg.metadata.stream_sequence)
                msg.ack()
                if len(seen) == 300 and server.pid is not None and nc.stats.connects == 1:
                    server.kill()
                    server.restart()
                    while not isinstance(event := next(events), Connected):
                        pass
                    assert event.resumed is True
                    eventually(lambda: stored(stream), within=20.0)
                    with js.publish_window(retries=20) as window:
                        for at in range(1000, 1100):
                            window.put((f"{name}.a", b"%d" % at))
                if len(seen) == 1100:
                    break
        eventually(lambda: settled(work), within=20.0)

        assert stream.info().state.messages == 1100
        assert seen == set(range(1, 1101))
        assert nc.stats.connects == 2


def test_a_connection_that_lay_idle_beyond_the_patience_of_its_server_is_as_good_as_new(
    start_server, name, eventually
):
    impatient = start_server(config='jetstream {}\ndebug: true\nping_interval: "50ms"\nping_max: 1')
    with connect(impatient.url, reconnect_wait=0.01) as nc:
        orders = filled(nc.jetstream(), name, 1)
        until_ended(nc._plug._stream)

        orders.publish(f"{name}.a", b"2")

        assert orders.info().state.messages == 2
        assert nc.stats.disconnects == 1
