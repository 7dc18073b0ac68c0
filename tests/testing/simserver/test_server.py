import pytest

from jsproto.errors import LocalProtocolError
from jsproto.testing.simserver import SimServer


def test_the_same_inputs_give_the_same_bytes(make):
    def run(seed):
        client = make(seed=seed, consumer={}, publish=3)
        client.pull(batch=5, expires=10**9)
        client.wait(2.0)
        return client.server.data_to_send(client.cid)

    assert run(1) == run(1)


def test_the_seed_gives_the_ids(client_of):
    first, second = (client_of(SimServer(seed=seed), connect=b"").hear() for seed in (1, 2))

    assert first != second


def test_it_makes_no_difference_how_often_the_server_is_ticked(make):
    often, seldom = (make(consumer={"ack_wait": 10**9}, publish=2) for _ in range(2))
    for client in (often, seldom):
        client.pull(batch=100, expires=5 * 10**9, idle_heartbeat=10**9)
    for _ in range(80):
        often.wait(0.0625)
    seldom.wait(5.0)

    assert often.hear() == seldom.hear()


def test_time_never_runs_backwards(make):
    client = make(consumer={})
    client.wait(10.0)
    client.now = 1.0
    client.pull(batch=1, expires=10**9)
    assert client.hear() == ""
    client.now = 11.0
    client.wait(0.1)

    assert "408 Request Timeout" in client.hear()


def test_the_deadline_is_the_moment_of_the_next_deed(make):
    client = make(consumer={})
    client.pull(batch=1, expires=10**9)

    assert client.server.next_deadline() == 1.0
    client.wait(1.0)
    assert "408" in client.hear()
    assert client.server.next_deadline() > 1.0


def test_a_lost_links_pull_is_served_when_its_inbox_is_heard_again(make, client_of):
    client = make(consumer={})
    client.pull(batch=5, expires=60 * 10**9)
    client.server.disconnect(client.cid, client.now)
    assert client.closed
    other = client_of(client.server)
    other.say("SUB in.p 1\r\n")
    client.server.publish("s.a", b"x", 0.0)

    assert "MSG s.a 1 $JS.ACK.S.C.1.1.1." in other.hear()


def test_a_lost_links_pull_is_dropped_when_nobody_hears_it(make, client_of):
    client = make(consumer={})
    client.pull(batch=5, expires=60 * 10**9)
    client.server.disconnect(client.cid, client.now)
    client.server.publish("s.a", b"x", 0.0)
    other = client_of(client.server)
    other.say("SUB in.p 1\r\n")

    assert other.hear() == ""
    assert client.server.request("CONSUMER.INFO.S.C", None, 0.0)["num_pending"] == 1


def test_a_leader_that_moves_ends_pulls_once_for_each_inbox(make):
    client = make(consumer={})
    for reply in ("in.1", "in.2", "in.1"):
        client.pull(reply, batch=1, expires=10**9)
    client.server.step_down("S", "C", 0.0)

    assert client.hear().count("409 Leadership Change~~") == 2
    client.wait(2.0)
    assert client.hear() == ""
    with pytest.raises(LocalProtocolError, match="S > X"):
        client.server.step_down("S", "X", 2.0)


def test_a_graceful_stop_says_so_to_pulls_and_ends_the_streams_soon_after(make):
    client = make(consumer={})
    client.pull("in.1", batch=5, expires=10**9)
    client.pull("in.1", batch=7, expires=10**9)
    client.server.shutdown(0.0)

    assert client.hear().count("409 Server Shutdown~Nats-Pending-Messages: 7~") == 1
    assert not client.closed
    client.wait(0.05)
    assert client.closed


def test_a_stop_without_pulls_is_at_once_and_who_dials_then_is_refused(make, client_of):
    client = make(consumer={})
    client.server.shutdown(0.0)
    late = client_of(client.server, connect=b"")

    assert client.closed
    assert late.closed
    assert late.hear() == ""
    with pytest.raises(LocalProtocolError, match="answered"):
        client.server.request("STREAM.INFO.S", None, 0.0)
    client.server.publish("s.a", b"x", 0.0)
    late.say("PING\r\n")
    assert late.hear() == ""


def test_a_kill_keeps_what_is_in_files(make, client_of):
    client = make(stream={"storage": "file"}, consumer={"ack_wait": 10**9}, publish=3)
    client.server.request(
        "STREAM.CREATE.M", {"name": "M", "subjects": ["m"], "storage": "memory"}, 0.0
    )
    client.server.request(
        "CONSUMER.CREATE.S.MEM",
        {"stream_name": "S", "config": {"durable_name": "MEM", "mem_storage": True}},
        0.0,
    )
    client.server.request(
        "CONSUMER.CREATE.M.X", {"stream_name": "M", "config": {"durable_name": "X"}}, 0.0
    )
    client.pull(batch=2, expires=60 * 10**9).pull("in.q", consumer="X", stream="M", batch=1)
    client.server.kill_and_restart(0.5)
    assert client.closed
    back = client_of(client.server, now=0.5)
    back.say("SUB in.> 1\r\n")

    assert client.server.request("STREAM.NAMES", None, 0.5)["streams"] == ["S"]
    assert client.server.request("CONSUMER.NAMES.S", None, 0.5)["consumers"] == ["C"]
    info = client.server.request("CONSUMER.INFO.S.C", None, 0.5)
    assert (info["num_ack_pending"], info["num_waiting"], info["num_pending"]) == (2, 0, 1)
    back.pull(batch=5, expires=60 * 10**9)
    back.wait(1.0)
    assert back.hear().count("$JS.ACK.S.C.2.") == 2


def test_starting_a_server_that_is_up_changes_nothing(make):
    client = make()
    client.server.start(0.0)

    assert not client.closed


def test_a_lame_duck_says_so_and_then_goes(make, client_of):
    client = make(consumer={}, publish=1)
    client.pull(batch=5, expires=60 * 10**9)
    client.hear()
    client.server.lame_duck(0.0, grace=2.0)
    assert '"ldm":true' in client.hear()
    assert client_of(client.server, connect=b"").closed
    client.pull("in.q", batch=1).pub("$JS.API.STREAM.INFO.S", "", "in.i").pub("s.a", "x", "in.a")
    heard = client.hear()
    assert heard.count("503") == 2
    client.wait(2.0)
    assert client.closed
    client.server.start(2.0)
    assert not client_of(client.server, now=2.0).closed


def test_on_2_9_a_lame_duck_still_serves(make):
    client = make(version="2.9", consumer={})
    client.server.lame_duck(0.0)
    client.hear()
    client.pub("s.a", "x", "in.1")

    assert client.hear() == 'MSG in.1 1  23~{"stream":"S", "seq":1}~'


def test_a_server_without_jetstream_answers_503(make):
    client = make(jetstream=False)
    client.pub("$JS.API.INFO", "", "in.1")

    assert "503" in client.hear()


def test_a_domain_is_part_of_the_api_and_of_acknowledgements(make):
    client = make(domain="hub", connect_urls=("a:1",))
    client.pub("$JS.hub.API.STREAM.NAMES", "", "in.1").pub("$JS.API.STREAM.NAMES", "", "in.2")
    assert client.hear().count('"streams":["S"]') == 2
    client.pub("$JS.other.API.INFO", "", "in.3").pub("s.a", "x", "in.4")

    heard = client.hear()
    assert "503" in heard
    assert '{"stream":"S","seq":1,"domain":"hub"}' in heard
    assert client.server.request("INFO", None, 0.0)["domain"] == "hub"


def test_unknown_connections_are_an_error_of_the_test():
    with pytest.raises(LocalProtocolError, match="got 7"):
        SimServer().data_to_send(7)


def test_an_unanswered_request_is_an_error_of_the_test():
    with pytest.raises(LocalProtocolError, match="FOO"):
        SimServer().request("STREAM.FOO", None, 0.0)


@pytest.mark.parametrize(("version", "silent"), [("2.9", True), ("2.15", False)])
def test_a_pull_for_nobody_is_silence_on_2_9_and_503_later(make, version, silent):
    client = make(version=version)
    client.pull(consumer="NOPE", batch=1)
    client.pub("$JS.API.DIRECT.GET.S", "{}", "in.d")

    assert (client.hear() == "") is silent


def test_a_connection_that_is_long_gone_is_forgotten():
    server = SimServer()
    cids = []
    for now in range(100):
        cids.append(server.connect(float(now)))
        server.disconnect(cids[-1], float(now))

    assert server.closed(cids[-1])
    with pytest.raises(LocalProtocolError, match="not long gone"):
        server.closed(cids[0])


def test_several_messages_from_the_side_are_like_each_of_them(make):
    client = make(consumer={})
    client.pull(batch=3)
    client.server.publish_run("s.a", [b"1", b"2"], 0.0)
    assert client.hear().count("MSG s.a") == 2
    client.server.kill(0.0)
    client.server.publish_run("s.a", [b"3"], 0.0)

    assert client.server.jetstream.streams["S"].last == 2


@pytest.mark.parametrize(
    "verb", ["INFO", "STREAM.NAMES", "STREAM.LIST", "CONSUMER.NAMES.S", "CONSUMER.LIST.S"]
)
def test_somebody_else_may_answer_listings_and_nothing_else(make, verb):
    client = make()
    client.server.usurper = b"{}"

    assert client.request(verb) == {}
    assert client.request("STREAM.INFO.S")["config"]["name"] == "S"


@pytest.mark.parametrize("given", [{}, {"max_control_line": 20_000}])
def test_how_long_a_line_of_a_client_may_be_is_an_option_as_it_is_on_a_real_server(
    client_of, given
):
    subject = "a" * 9000
    client = client_of(SimServer(**given))
    client.hear()
    client.say(f"SUB > 1\r\nPUB {subject} 1\r\nx\r\n")

    assert (f"MSG {subject} 1 1" in client.hear()) == bool(given)
    assert client.closed == (not given)
