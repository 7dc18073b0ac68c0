"""The round trip to each address of each server, in every adapter."""

from __future__ import annotations

import importlib

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Closed, Connected
from jsproto.core.connection.server_pool import Server, at_addresses
from jsproto.errors import AuthorizationFailed, ConnectFailed

pytestmark = pytest.mark.live


def rtts(nc):
    return nc.rtts(1.0)


def test_each_address_has_its_own(use, nats_server, nobody, names):
    names({"many.test": ["127.0.0.1", "127.0.0.2", "127.0.0.1"]})
    port = nats_server.port
    dead = nobody.rpartition(":")[2]

    found = use(
        [f"nats://127.0.0.1:{port}", f"nats://many.test:{port}", f"nats://127.0.0.1:{dead}"],
        rtts,
        randomize=False,
    )[0]

    assert [
        f"nats://127.0.0.1:{port}",
        f"nats://127.0.0.2:{port}",
        f"nats://127.0.0.1:{dead}",
    ] == list(found)
    assert found[f"nats://127.0.0.1:{port}"] > 0.0
    assert isinstance(found[f"nats://127.0.0.1:{dead}"], ConnectFailed)


def test_a_name_without_addresses_stands_for_itself(use, nats_server):
    found = use([nats_server.url, "nats://x..y:4222"], rtts, randomize=False)[0]

    assert isinstance(found["nats://x..y:4222"], ConnectFailed)


def test_it_is_asked_with_the_credentials_of_the_client(use, start_server):
    server = start_server(config="authorization { user: joe, password: pw }")
    asked = []

    def who(there, nonce):
        asked.append(str(there))
        return Auth(user="joe", password="pw" if len(asked) < 3 else "wrong")

    first, second = use(server.url, rtts, rtts, credentials=who)

    assert first[server.url] > 0.0
    assert isinstance(second[server.url], AuthorizationFailed)
    assert use(server.url, rtts, auth=Auth(user="joe", password="pw"))[0][server.url] > 0.0


def test_who_watches_the_client_hears_nothing_of_the_looks(use, nats_server):
    heard = []
    use(nats_server.url, rtts, watch=lambda _, told: heard.append(type(told)))

    assert heard == [Connected, Closed]


def test_an_address_is_known_by_the_name_of_its_server():
    server = Server.parse("tls://u:p@a.test:1")

    found = at_addresses(server, ["10.0.0.1", "::1", "10.0.0.1"])

    assert ["tls://10.0.0.1:1", "tls://[::1]:1"] == [str(each) for each in found]
    assert {("a.test", "u", "p")} == {(each.tls_name, each.user, each.password) for each in found}


def test_blocking_goes_on_after_it(nats_server):
    with importlib.import_module("jsproto_io.blocking").connect(nats_server.url, pump=True) as nc:
        nc.rtts()

        assert nc.flush() > 0.0


@pytest.mark.parametrize("randomize", [True, False])
def test_the_addresses_of_a_name_are_tried_at_random_until_one_answers(
    use, nats_server, names, monkeypatch, randomize
):
    tried = []

    def backwards(places, count):
        tried.append([place[4][0] for place in places])
        return list(reversed(places))[:count]

    monkeypatch.setattr("jsproto_io._transport.happy_eyeballs.random.sample", backwards)
    names({"many.test": ["127.0.0.1", "127.0.0.2"]})  # the server is at the first of them

    assert (
        use(f"nats://many.test:{nats_server.port}", lambda nc: nc.flush(), randomize=randomize)[0]
        > 0.0
    )
    assert tried == ([["127.0.0.1", "127.0.0.2"]] if randomize else [])


def test_the_next_server_can_be_named(use, nats_server, start_server):
    other = start_server()
    urls = [nats_server.url, other.url]

    def named(url):
        return lambda nc: nc.reconnect(url)

    where = [lambda nc: str(nc.server), lambda nc: nc.flush()]
    first, _, _, _, second, _, _, third, _ = use(
        urls,
        *where,
        lambda _: None,
        named(other.url),
        *where,
        named(nats_server.url),
        *where,
        randomize=False,
    )

    assert [first, second, third] == [nats_server.url, other.url, nats_server.url]
