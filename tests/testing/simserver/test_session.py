import pytest

from jsproto.testing.simserver import ClientPermissions, Login, SimServer


def test_a_client_is_greeted_and_told_more_after_its_first_pong(client_of):
    client = client_of(SimServer(version="2.15.1"), connect=b"")
    assert client.hear().startswith('INFO {"server_id":"N')
    client.say(b'CONNECT {"protocol":1,"verbose":false}\r\nPING\r\nPING\r\n')
    heard = client.hear()

    assert heard.startswith("PONG~INFO ")
    assert '"connect_info":true' in heard
    assert heard.endswith("~PONG~")


@pytest.mark.parametrize(("version", "protocol"), [("2.11", 1), ("2.15", 0)])
def test_no_second_info_before_2_12_and_for_protocol_0(client_of, version, protocol):
    client = client_of(
        SimServer(version=version),
        connect=b'CONNECT {"protocol":%d,"verbose":false}\r\n' % protocol,
    )
    client.say("PING\r\n")

    assert client.hear() == "PONG~"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("HELLO\r\n", "-ERR 'Unknown Protocol Operation'~"),
        ("PUB a\r\n", ""),
        ("PUB a 1048577\r\n", "-ERR 'Maximum Payload Violation'~"),
        ("CONNECT {\r\n", ""),
        ("CONNECT []\r\n", ""),
        ('CONNECT {"protocol":2}\r\n', "-ERR 'invalid client protocol'~"),
        ('CONNECT {"no_responders":true}\r\n', "-ERR 'no responders requires headers support'~"),
    ],
)
def test_what_ends_a_connection_and_with_which_words(client_of, said, heard):
    client = client_of(SimServer())
    client.say(said)

    assert client.hear() == heard
    assert client.closed
    assert client.server.close_reason(client.cid) == heard[6:-2]
    assert client.server.connections == ()


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("SUB a..b 1\r\n", "-ERR 'Invalid Subject'~"),
        (
            "PUB a _R_.x 0\r\n\r\n",
            "-ERR 'Permissions Violation for Publish with Reply of \"_R_.x\"'~",
        ),
        (
            "PUB a $JS.ACK.x 0\r\n\r\n",
            "-ERR 'Permissions Violation for Publish with Reply of \"$JS.ACK.x\"'~",
        ),
        ("PUB _GR_.a 0\r\n\r\n", "-ERR 'Permissions Violation for Publish to \"_GR_.a\"'~"),
        ("PUB $NRG.a 0\r\n\r\n", "-ERR 'Permissions Violation for Publish to \"$NRG.a\"'~"),
        ("PUB a..b 0\r\n\r\n", ""),
    ],
)
def test_what_a_connection_survives(client_of, said, heard):
    client = client_of(SimServer())
    client.say(said)

    assert client.hear() == heard
    assert not client.closed


def test_headers_need_the_option(client_of):
    plain = client_of(SimServer(), connect=b'CONNECT {"verbose":false}\r\n')
    plain.say("HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n")

    assert plain.closed


def test_a_client_without_headers_gets_the_payload_alone(client_of):
    server = SimServer()
    plain, other = client_of(server, connect=b'CONNECT {"verbose":false}\r\n'), client_of(server)
    plain.say("SUB a 1\r\n")
    plain.hear()
    other.pub("a", "x", headers="K: v")

    assert plain.hear() == "MSG a 1 1~x~"


def test_verbose_clients_hear_ok_and_pedantic_ones_about_their_subjects(client_of):
    client = client_of(SimServer(), connect=b'CONNECT {"verbose":true,"pedantic":true}\r\n')
    client.say("SUB a.> 1\r\nPUB a.* 0\r\n\r\nUNSUB 9\r\nPING\r\n")

    assert client.hear() == "+OK~+OK~-ERR 'Invalid Publish Subject'~MSG a.* 1 0~~+OK~PONG~"


def test_echo_can_be_switched_off(client_of):
    client = client_of(SimServer(), connect=b'CONNECT {"echo":false,"verbose":false}\r\n')
    client.say("SUB a 1\r\nSUB a q 2\r\n")
    client.pub("a", "x")

    assert client.hear() == ""


def test_a_subscription_ends_after_its_limit(client_of):
    client = client_of(SimServer())
    client.say("SUB a 1\r\nUNSUB 1 2\r\nSUB b 1\r\n")
    for _ in range(3):
        client.pub("a", "x")
    client.pub("b", "y")

    assert client.hear() == "MSG a 1 1~x~MSG a 1 1~x~"


def test_a_limit_that_is_passed_already_ends_at_once(client_of):
    client = client_of(SimServer())
    client.say("SUB a 1\r\n")
    client.pub("a", "x").say("UNSUB 1 1\r\nUNSUB 77\r\n")
    client.pub("a", "y")

    assert client.hear() == "MSG a 1 1~x~"


def test_a_second_connect_makes_earlier_subscriptions_deaf(client_of):
    client = client_of(SimServer())
    client.say('SUB a 1\r\nCONNECT {"verbose":false}\r\n')
    client.pub("a", "x")

    assert client.hear() == ""


def test_queue_groups_share_messages_and_the_seed_decides(client_of):
    def heard(seed):
        server = SimServer(seed=seed)
        clients = [client_of(server) for _ in range(3)]
        for client in clients[:2]:
            client.say("SUB a q 1\r\n")
        for number in range(10):
            clients[2].pub("a", str(number))
        return [client.hear() for client in clients[:2]]

    one, other = heard(1)
    assert (one + other).count("MSG") == 10
    assert one
    assert other
    assert heard(1) == [one, other]


@pytest.mark.parametrize(
    ("version", "block"), [("2.11", "NATS/1.0 503~~"), ("2.12", "NATS/1.0 503~Nats-Subject: a~~")]
)
def test_nobody_there_is_said_to_who_asked_to_be_told(make, version, block):
    client = make(version=version)
    client.pub("a", "x", "in.1")

    size = len(block.replace("~", "~~"))
    assert client.hear() == f"HMSG in.1 1 {size} {size}~{block}~"


def test_nobody_there_is_not_said_without_interest_in_the_reply(make):
    client = make()
    client.pub("a", "x", "elsewhere")

    assert client.hear() == ""


def test_nobody_there_is_not_said_to_who_did_not_ask(client_of):
    client = client_of(SimServer(), connect=b'CONNECT {"verbose":false,"headers":true}\r\n')
    client.say("SUB in 1\r\n")
    client.pub("a", "x", "in")

    assert client.hear() == ""


def test_credentials_are_checked(client_of):
    server = SimServer(auth=Login(user="u", password="p"))
    assert client_of(server, connect=b"").hear().count('"auth_required":true') == 1
    good = client_of(server, connect=b'CONNECT {"user":"u","pass":"p"}\r\n')
    bad = client_of(server, connect=b"")
    bad.say('CONNECT {"user":"u","pass":"x"}\r\n')
    early = client_of(server, connect=b"")
    early.say("PING\r\n")

    assert not good.closed
    assert bad.hear().endswith("-ERR 'Authorization Violation'~")
    assert early.hear().endswith("-ERR 'Authorization Violation'~")


def test_a_token_is_enough(client_of):
    server = SimServer(auth=Login(token="secret"))

    assert not client_of(server, connect=b'CONNECT {"auth_token":"secret"}\r\n').closed
    assert client_of(server, connect=b'CONNECT {"auth_token":5}\r\n').closed
    assert "secret" not in repr(server.auth)


def test_who_does_not_introduce_itself_is_shown_out(client_of):
    client = client_of(SimServer(auth=Login(token="t"), auth_timeout=1.0), connect=b"")
    client.hear()
    client.wait(1.0)

    assert client.hear() == "-ERR 'Authentication Timeout'~"
    assert client.closed


def test_permissions_bind_publishers_and_subscribers(client_of):
    permissions = ClientPermissions(
        publish_allow=("ok.>",),
        publish_deny=("ok.no",),
        subscribe_allow=("ok.>", "job work"),
        subscribe_deny=("ok.secret",),
    )
    client = client_of(SimServer(permissions=permissions))
    client.say(
        "PUB no 0\r\n\r\nPUB ok.no 0\r\n\r\nSUB no 1\r\nSUB ok.secret 2\r\nSUB job other 3\r\nSUB job work 4\r\nSUB ok.> 5\r\n"
    )
    assert client.hear() == (
        "-ERR 'Permissions Violation for Publish to \"no\"'~-ERR 'Permissions Violation for Publish to \"ok.no\"'~"
        "-ERR 'Permissions Violation for Subscription to \"no\"'~"
        "-ERR 'Permissions Violation for Subscription to \"ok.secret\"'~"
        '-ERR \'Permissions Violation for Subscription to "job" using queue "other"\'~'
    )
    client.say("PUB ok.secret 1\r\nx\r\nPUB ok.x 1\r\ny\r\n")

    assert client.hear() == "MSG ok.x 5 1~y~"


def test_subscriptions_and_connections_have_limits(client_of):
    server = SimServer(max_subs=1, max_connections=1)
    client = client_of(server)
    client.say("SUB a 1\r\nSUB a 1\r\nSUB b 2\r\n")
    assert client.hear() == "-ERR 'maximum subscriptions exceeded'~"
    late = client_of(server, connect=b"")

    assert late.hear().endswith("-ERR 'maximum connections exceeded'~")
    assert late.closed


def test_a_silent_client_is_pinged_and_given_up(client_of):
    server = SimServer(ping_interval=10.0, ping_max=2)
    client = client_of(server)
    heard = ""
    while not client.closed:
        server.handle_tick(server.next_deadline())
        heard += server.data_to_send(client.cid).decode()

    assert heard == "PING\r\nPING\r\n-ERR 'Stale Connection'\r\n"


def test_a_client_that_talks_is_pinged_only_once(client_of):
    client = client_of(SimServer(version="2.11", ping_interval=10.0))
    client.wait(3.0)
    client.say("PONG\r\n")
    for _ in range(10):
        client.wait(5.0)
        client.say("PING\r\n")

    assert client.hear() == "PONG~" * 10
    assert not client.closed
