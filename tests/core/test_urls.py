"""Server URLs: one meaning or none, and nothing of a secret in what is dialled, shown or raised."""

from __future__ import annotations

import attrs
import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.events import Authenticate, Closed, Dial
from jsproto.core.connection.options import Options, servers_of
from jsproto.core.connection.server_pool import Server, ServerPool
from jsproto.errors import InvalidConfig
from jsproto.ops.nats_context import NatsContext

CANARY = "cAnAry"


def chain(error):
    """An error, and all that stands behind it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def refused(url, read=servers_of):
    with pytest.raises(InvalidConfig) as caught:
        read(url)
    for error in chain(caught.value):
        assert CANARY not in f"{error} {error!r} {vars(error)} {error.args}"
    return str(caught.value)


@pytest.mark.parametrize("scheme", ["nats", "tls", "ws", "wss"])
@pytest.mark.parametrize(
    "rest",
    [
        f"u:{CANARY}/ss@h",
        f"u:34/{CANARY}@h",
        f"u:34?{CANARY}@h",
        f"u:34#{CANARY}@h",
        f"{CANARY}/x@h:4222",
        f"h/a@{CANARY}",
        f"u:{CANARY}%zz@h",
        f"u:{CANARY}%f@h",
        f"u:{CANARY}%@h",
        f"u:{CANARY}%ff@h",
        f"u%zz:{CANARY}@h",
        f"%ff{CANARY}@h",
        f"u:{CANARY}\tx@h",
        f"u:{CANARY}\nx@h",
        f"u:{CANARY}\x00x@h",
        f"u:{CANARY}\u202ex@h",
        f"u:{CANARY}",
        f"u:{CANARY}@h:port",
        f"u:34,{CANARY}@h",
        f"u:{CANARY},ss@h",
    ],
)
def test_user_info_that_is_not_percent_encoded_is_refused_with_a_hint(scheme, rest):
    url = f"{scheme}://{rest}"

    assert "percent-encoded" in refused(url)
    assert "percent-encoded" in refused(url, lambda text: NatsContext(url=text).servers)


@pytest.mark.parametrize("url", [f"u:{CANARY}://x@h", f"{CANARY}://@h", f"http://u:{CANARY}@h"])
def test_what_stands_in_the_place_of_a_scheme_is_not_shown_if_it_may_be_secret(url):
    assert "scheme" in refused(url)
    assert CANARY not in repr(NatsContext(url=url))


def test_every_character_can_be_percent_encoded():
    server = Server.parse("nats://us%40er:%2F%3F%23%25%40%3A%2C%20%09%0A%C3%A9@h")

    assert ("us@er", "/?#%@:, \t\n\u00e9") == (server.user, server.password)


def test_a_list_may_have_user_info_in_each_url_and_in_the_first_without_a_scheme():
    assert ["u", None] == [each.user for each in servers_of("u:p@a,b")]
    assert ["u", "v"] == [each.user for each in servers_of("u:p@a , nats://v:p@b")]
    assert "scheme with each" in refused(f"a,u:{CANARY}@b")


@pytest.mark.parametrize(
    "host",
    [
        "a\x85b",
        "a\x9bb",
        "a\u202eb",
        "a\u200bb",
        "\ufeffa",
        "a\u2028b",
        "a b",
        "a\tb",
        "a%b",
        "",
        "[x]",
        "[1.2.3.4]",
    ],
)
def test_a_host_that_could_look_like_another_is_refused(host):
    refused(f"nats://{host}:4222")
    assert not Pool_of("nats://s").merge([f"{host}:4222"]).added


@pytest.mark.parametrize("wrong", ["a\x9bb", "a\u202eb", "a\r\nb", "a/b", "u@h", "", 7])
def test_a_server_is_made_with_no_such_host_either(wrong):
    with pytest.raises(InvalidConfig, match="host of a server"):
        Server(host=wrong)
    with pytest.raises(InvalidConfig, match="tls_name of a server"):
        Server(host="h", tls_name=wrong)


def Pool_of(url):
    return ServerPool(
        servers_of(url),
        entropy=bytes,
        wait=1.0,
        wait_max=1.0,
        jitter=0.0,
        jitter_tls=0.0,
        randomize=False,
    )


# ---------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize("url", ["nats://[fe80::1%25eth0]:4222", "nats://[FE80::1%eth0]:4222"])
def test_a_zone_is_dialled_and_is_in_no_name_n059(url):
    server = Server.parse(url)

    assert ("fe80::1%eth0", 4222) == server.address
    assert "fe80::1" == server.name
    assert server == Server.parse(str(server))


@pytest.mark.parametrize("zone", ["25eth0", "eth0", "2"])
def test_a_zone_with_any_name_is_read_back(zone):
    server = Server(host=f"fe80::1%{zone}")

    assert server == Server.parse(str(server))


@pytest.mark.parametrize(
    "url", ["nats://0:0:0:0:0:0:0:1:4222", "::1", "fe80::1%eth0", "nats://2001:db8::7"]
)
def test_an_address_without_brackets_is_refused_with_a_hint_n059(url):
    assert "brackets" in refused(url)


@pytest.mark.parametrize(
    "url", ["[::1]x", "[::1", "[::1]:0", "[::1]:65536", "[fe80::1%]", "h:+1", "h:\u0661"]
)
def test_what_is_no_address_or_port_is_refused(url):
    refused(url)


def test_a_gossiped_address_is_shown_in_brackets_n059():
    change = Pool_of("nats://h").merge(["[2001:db8::7]:4222"])

    assert ["nats://[2001:db8::7]:4222"] == [str(each) for each in change.added]


# ---------------------------------------------------------------------------------------------- paths of WebSockets


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("wss://h.example.test/nats/ws?team=7", "/nats/ws?team=7"),
        ("ws://h?team=7", "/?team=7"),
        ("ws://h/", None),
        ("ws://h", None),
        ("WS://H/A", "/A"),
    ],
)
def test_the_path_of_a_url_is_that_of_the_server_n050(url, path):
    assert path == Server.parse(url).path


@pytest.mark.parametrize(
    "url", ["nats://h/a", "tls://h?a", "ws://h/#a", "ws://h/\u00e4", "ws://h/a b", "h/a"]
)
def test_a_path_that_no_request_can_carry_is_refused(url):
    refused(url)


def test_the_path_is_shown_without_its_query():
    server = Server.parse(f"wss://h/nats?token={CANARY}")

    assert CANARY not in f"{server} {server!r} {attrs.asdict(server)}"
    assert "/nats" in repr(Server.parse("wss://h/nats"))
    for url in (f"wss://h/nats?token={CANARY}", f"wss://u:{CANARY}@h/nats?token={CANARY}"):
        assert CANARY not in repr(NatsContext(url=url))


def test_a_gossiped_server_takes_over_the_path_n050():
    change = Pool_of("ws://h:8080/a").merge(["h2:8080"])

    assert [("ws", ("h2", 8080), "/a")] == [
        (each.scheme, each.address, each.path) for each in change.added
    ]


# ---------------------------------------------------------------------------------------------- user info twice


@pytest.mark.parametrize(
    ("url", "auth"),
    [
        (f"nats://u:{CANARY}@h", Auth(user="u")),
        (f"nats://{CANARY}@h", Auth(user="u")),
        ("nats://h", Auth(password=CANARY)),
        (f"nats://a,nats://u:{CANARY}@h", Auth(user="u", jwt="j")),
    ],
)
def test_a_password_that_would_not_be_sent_is_refused(url, auth):
    refused(url, lambda text: Options(servers=text, auth=auth))


def test_credentials_that_are_whole_stand_above_those_of_a_url():
    for auth in (
        None,
        Auth(jwt="j"),
        Auth(user="v", password="q"),
        Auth(user="v", password="q", token="t"),
    ):
        assert auth == Options(servers="nats://u:p@h,nats://t@h2", auth=auth).auth
    for url in ("nats://other@h", "nats://u:p@h"):
        assert Auth(token="t") == Options(servers=url, auth=Auth(token="t")).auth


def test_a_password_that_would_not_be_sent_is_refused_in_an_answer_too():
    options = Options(servers=f"nats://u:{CANARY}@h", ask_for_credentials=True)
    connection = Connection(options, entropy=bytes, now=0.0)
    connection.transport_up(0.0)
    connection.receive_data(b'INFO {"max_payload":1024}\r\n', 0.0)
    connection.authenticate(Auth(user="u"), 0.0)
    events = list(iter(connection.next_event, None))

    assert [Dial, Authenticate] == [type(each) for each in events[:2]]
    assert isinstance(events[-1], Closed)
    assert isinstance(events[-1].error, InvalidConfig)
    assert b"" == connection.data_to_send()
