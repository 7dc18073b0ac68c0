import re

import pytest


def numbers(heard):
    """Of each delivery: deliveries, stream sequence, consumer sequence, pending."""
    found = re.findall(r"\$JS\.ACK\.S\.C\.(\d+)\.(\d+)\.(\d+)\.\d+\.(\d+)", heard)
    return [tuple(int(each) for each in one) for one in found]


def info(client):
    return client.server.request("CONSUMER.INFO.S.C", None, client.now)


def listen(client, subject="d.x", sid="9", queue=""):
    client.say(f"SUB {subject} {queue} {sid}\r\n")
    return client.hear()


BEAT = "HMSG d.x 9 75 75~NATS/1.0 100 Idle Heartbeat~Nats-Last-Consumer: {}~Nats-Last-Stream: {}~~~"


@pytest.fixture
def pushing(make):
    """``pushing(**consumer)``: a client of a server whose consumer C pushes to d.x."""

    def build(version="2.15.1", publish=0, stream=None, **consumer):
        return make(
            version=version,
            publish=publish,
            stream=stream,
            consumer={"deliver_subject": "d.x", **consumer},
        )

    return build


def test_messages_flow_while_somebody_listens(pushing):
    client = pushing(publish=2)
    assert "push_bound" not in info(client)
    assert numbers(listen(client)) == [(1, 1, 1, 1), (1, 2, 2, 0)]
    assert info(client)["push_bound"] is True
    client.server.publish("s.a", b"x", 0.0)
    assert numbers(client.hear()) == [(1, 3, 3, 0)]

    client.say("UNSUB 9\r\n")
    client.server.publish("s.a", b"x", 0.0)
    assert client.hear() == ""
    assert "push_bound" not in info(client)
    assert numbers(listen(client, sid="10")) == [(1, 4, 4, 0)]


def test_only_exact_interest_counts(pushing):
    client = pushing(publish=1)

    assert listen(client, "d.*") == ""
    assert listen(client, "d.x", sid="8", queue="g") == ""


def test_members_of_the_deliver_group_share(pushing):
    client = pushing(deliver_group="g", publish=1)
    assert listen(client, "d.x", sid="7") == ""
    listen(client, "d.x", sid="8", queue="g")
    listen(client, "d.x", sid="9", queue="g")
    for _ in range(20):
        client.server.publish("s.a", b"x", 0.0)
    sids = re.findall(r"MSG s\.a (\d+) ", client.hear())

    assert set(sids) == {"7", "8", "9"}
    assert sids.count("7") == 20
    assert len(sids) == 40


def test_a_client_that_leaves_takes_its_interest_along(pushing, client_of):
    client = pushing()
    other = client_of(client.server)
    listen(other)
    assert info(client)["push_bound"] is True
    client.server.disconnect(other.cid, 0.0)

    assert "push_bound" not in info(client)


def test_silence_is_filled_with_heartbeats(pushing):
    client = pushing(idle_heartbeat=500_000_000, publish=1)
    listen(client)
    assert client.wait(0.4).hear() == ""
    assert client.wait(0.1).hear() == BEAT.format(1, 1)
    client.wait(0.3).server.publish("s.a", b"x", client.now)
    client.hear()
    assert client.wait(0.4).hear() == ""
    assert client.wait(0.1).hear() == BEAT.format(2, 2)


def test_the_heartbeats_clock_goes_on_while_nobody_listens(pushing):
    client = pushing(idle_heartbeat=500_000_000)
    client.wait(0.8)
    listen(client)

    assert client.wait(0.15).hear() == ""
    assert client.wait(0.05).hear() == BEAT.format(0, 0)


def test_a_heartbeat_looks_how_far_the_stream_is(pushing):
    client = pushing(idle_heartbeat=500_000_000, filter_subject="s.b")
    listen(client)
    client.server.publish("s.a", b"x", 0.0)

    assert client.wait(0.5).hear() == BEAT.format(0, 0)
    assert client.wait(0.5).hear() == BEAT.format(0, 1)


def test_flow_control_asks_at_half_the_window_and_stops_at_the_whole(pushing):
    client = pushing(flow_control=True, idle_heartbeat=10**9, ack_policy="none")
    listen(client)
    for _ in range(9):
        client.server.publish("s.a", b"x" * 300_000, 0.0)
    heard = client.hear()
    asked = re.findall(r"(\$JS\.FC\.S\.C\.\w{4}) 36 36~NATS/1\.0 100 FlowControl Request", heard)

    assert len(asked) == 1
    assert len(numbers(heard)) == 7
    assert len(numbers(heard.partition("$JS.FC")[0])) == 4
    assert f"Nats-Consumer-Stalled: {asked[0]}" in client.wait(1.0).hear()

    client.pub("$JS.FC.S.C.none")
    assert client.hear() == ""
    client.pub(asked[0])
    assert len(numbers(client.hear())) == 2


def test_an_answer_to_nobody_meets_nobody(pushing):
    client = pushing()
    client.pub("$JS.FC.S.NOPE.abcd", "", "in.1")
    client.pub("$JS.FC.S", "", "in.2")

    assert client.hear().count("NATS/1.0 503") == 2


def test_more_than_a_window_on_its_way_is_accounted_for(pushing):
    client = pushing(flow_control=True, idle_heartbeat=10**9, ack_policy="none")
    listen(client)
    for _ in range(5):
        client.server.publish("s.a", b"x" * 1_000_000, 0.0)
    asked = re.findall(r"(\$JS\.FC\.S\.C\.\w{4}) 36", client.hear())
    client.pub(asked[0])

    assert len(numbers(client.hear())) == 2


def test_answers_acknowledge_with_the_policy_flow_control(pushing):
    client = pushing(
        ack_policy="flow_control", max_ack_pending=2, stream={"retention": "workqueue"}, publish=3
    )
    heard = listen(client)
    (asked,) = re.findall(r"(\$JS\.FC\.S\.C\.\w{4}) 36", heard)
    assert len(numbers(heard)) == 2
    assert info(client)["num_ack_pending"] == 2
    client.pub(asked, headers="Nats-Last-Consumer: 2\r\nNats-Last-Stream: 2")
    assert numbers(client.hear()) == [(1, 3, 3, 0)]
    assert client.server.request("STREAM.INFO.S", None, client.now)["state"]["messages"] == 1

    beat, asking = client.wait(1.0).hear().split("HMSG")[1:]
    assert "Idle Heartbeat" in beat
    (asked,) = re.findall(r"(\$JS\.FC\.S\.C\.\w{4}) 36", asking)
    client.pub(asked)
    assert info(client)["num_ack_pending"] == 1
    client.pub("$JS.ACK.S.C.1.3.3.1.0", "", "in.1")
    assert "503" in client.hear()


def test_nobody_pulls_from_a_push_consumer(pushing):
    client = pushing()
    client.pull("")
    assert client.hear() == ""
    client.pull(batch=1)
    assert client.hear() == "HMSG in.p 1 39 39~NATS/1.0 409 Consumer is push based~~~"
    client.server.publish("s.a", b"x", 0.0)
    heard = listen(client)
    client.pub(heard.split()[3], "+NXT", "in.n")
    assert client.hear() == "HMSG in.n 1 39 39~NATS/1.0 409 Consumer is push based~~~"


def test_deletion_and_shutdown_are_not_told(pushing):
    client = pushing(idle_heartbeat=500_000_000)
    listen(client)
    client.server.request("CONSUMER.DELETE.S.C", None, client.now)

    assert client.wait(2.0).hear() == ""


def test_a_graceful_stop_does_not_wait_for_push_consumers(pushing):
    client = pushing()
    listen(client)
    client.server.shutdown(0.0)

    assert client.closed
    assert client.hear() == ""


def test_the_leader_moves_and_flow_control_begins_anew(pushing):
    client = pushing(flow_control=True, idle_heartbeat=10**9, ack_policy="none")
    listen(client)
    for _ in range(4):
        client.server.publish("s.a", b"x" * 300_000, 0.0)
    assert "$JS.FC" in client.hear()
    client.server.step_down("S", "C", 0.0)

    assert "Stalled" not in client.wait(1.0).hear()


def test_an_ephemeral_goes_when_nobody_listens_for_long_enough(pushing):
    client = pushing(inactive_threshold=10**9)
    listen(client)
    client.wait(5.0)
    assert info(client)["push_bound"] is True
    client.say("UNSUB 9\r\n")
    client.wait(0.9)
    assert "error" not in info(client)
    client.wait(0.1)
    assert info(client)["error"]["err_code"] == 10014


def test_a_restart_finds_nobody_bound(pushing, client_of):
    client = pushing(idle_heartbeat=500_000_000, publish=1)
    listen(client)
    client.server.kill_and_restart(1.0)
    back = client_of(client.server, now=1.0)
    assert "push_bound" not in back.server.request("CONSUMER.INFO.S.C", None, 1.0)
    listen(back)

    assert BEAT.format(1, 1) in back.wait(0.5).hear()


def test_the_deliver_subject_moves_when_nobody_is_bound(pushing):
    client = pushing(publish=1)
    config = {"durable_name": "C", "ack_policy": "explicit", "deliver_subject": "d.y"}
    body = {"stream_name": "S", "config": config}
    listen(client, "d.*", sid="8")
    assert client.server.request("CONSUMER.CREATE.S.C", body, 0.0)["error"]["err_code"] == 10013
    client.say("UNSUB 8\r\n")
    listen(client, "d.y", sid="9")
    assert client.server.request("CONSUMER.CREATE.S.C", body, 0.0)["push_bound"] is True

    assert numbers(client.hear()) == [(1, 1, 1, 0)]


def test_a_replay_keeps_the_original_distances_until_it_has_caught_up(make):
    client = make()
    for moment in (0.0, 1.0, 1.5):
        client.server.publish("s.a", b"x", moment)
    client.now = 10.0
    config = {"durable_name": "C", "deliver_subject": "d.x", "replay_policy": "original"}
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 10.0)
    assert numbers(listen(client)) == [(1, 1, 1, 2)]
    assert client.wait(0.9).hear() == ""
    assert numbers(client.wait(0.1).hear()) == [(1, 2, 2, 1)]
    assert numbers(client.wait(0.5).hear()) == [(1, 3, 3, 0)]
    client.server.publish("s.a", b"x", client.now)
    assert numbers(client.hear()) == [(1, 4, 4, 0)]


def test_a_replay_says_nothing_before_the_next_message_is_due(make):
    """Seen on 2.15.1, for pull consumers too: their pulls end late."""
    client = make()
    for moment in (0.0, 5.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 10.0
    config = {
        "durable_name": "C",
        "deliver_subject": "d.x",
        "replay_policy": "original",
        "idle_heartbeat": 500_000_000,
    }
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 10.0)
    listen(client)

    assert client.wait(4.9).hear() == ""
    assert numbers(client.wait(0.2).hear()) == [(1, 2, 2, 0)]
    assert "100 Idle Heartbeat" in client.wait(0.5).hear()


def test_pulls_end_late_while_a_replay_holds_a_message_back(make):
    client = make()
    for moment in (0.0, 5.0, 5.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 10.0
    config = {"durable_name": "C", "ack_policy": "none", "replay_policy": "original"}
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 10.0)
    client.pull(batch=10, expires=1_000_000_000, idle_heartbeat=300_000_000)

    assert numbers(client.hear()) == [(1, 1, 1, 2)]
    assert client.wait(4.9).hear() == ""
    late = client.wait(0.2).hear()
    assert "408 Request Timeout" in late
    assert numbers(late)[0] == (1, 2, 2, 1)


def test_a_message_that_a_replay_held_back_when_the_server_was_killed_comes_all_the_same(
    make, client_of
):
    client = make()
    for moment in (0.0, 5.0):
        client.server.publish("s.a", b"x", moment)
    client.now = 10.0
    config = {
        "durable_name": "C",
        "deliver_subject": "d.x",
        "ack_policy": "explicit",
        "replay_policy": "original",
    }
    client.server.request("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config}, 10.0)
    assert numbers(listen(client)) == [(1, 1, 1, 1)]

    client.server.kill_and_restart(11.0)
    again = client_of(client.server, now=11.0)
    heard = numbers(listen(again)) + numbers(again.wait(40.0).hear())

    assert {each[1] for each in heard} == {1, 2}


def test_a_rate_limit_lets_through_a_burst_and_then_so_many_bits_a_second(pushing):
    client = pushing(rate_limit_bps=8000, stream={"max_msg_size": 1000}, ack_policy="none")
    listen(client)
    for _ in range(3):
        client.server.publish("s.a", b"x" * 900, client.now)
    heard = client.hear()
    size = len("s.a") + len(heard.split()[3]) + 900
    assert len(numbers(heard)) == 1
    wait = (2 * size - 1000) / 1000
    assert client.wait(wait - 0.01).hear() == ""
    assert len(numbers(client.wait(0.02).hear())) == 1
    assert len(numbers(client.wait(size / 1000).hear())) == 1


def test_headers_are_all_that_comes_if_the_consumer_wants_no_more(pushing):
    client = pushing(headers_only=True, publish=1)

    assert listen(client).endswith("30 30~NATS/1.0~Nats-Msg-Size: 1~~~")
