"""Addresses and the pool."""

from __future__ import annotations

import pytest

from jsproto.core.connection.auth import Auth, for_server
from jsproto.core.connection.server_pool import MAX_POOL, Server, ServerPool, at_addresses
from jsproto.errors import InvalidConfig


def pool(*urls, randomize=False, entropy=bytes, **options):
    waits = {"wait": 1.0, "wait_max": 4.0, "jitter": 0.0, "jitter_tls": 0.0, **options}
    return ServerPool(
        [Server.parse(url) for url in urls], entropy=entropy, randomize=randomize, **waits
    )


@pytest.mark.parametrize(
    ("url", "address", "tls", "shown"),
    [
        ("a", ("a", 4222), False, "nats://a:4222"),
        ("a:1", ("a", 1), False, "nats://a:1"),
        ("nats://a", ("a", 4222), False, "nats://a:4222"),
        ("tls://a:5", ("a", 5), True, "tls://a:5"),
        ("ws://a", ("a", 80), False, "ws://a:80"),
        ("wss://a", ("a", 443), True, "wss://a:443"),
        ("nats://[2001:db8::1]:7", ("2001:db8::1", 7), False, "nats://[2001:db8::1]:7"),
        (
            "[::ffff:10.0.0.3]:4222",
            ("::ffff:10.0.0.3", 4222),
            False,
            "nats://[::ffff:10.0.0.3]:4222",
        ),
    ],
)
def test_urls_are_split_B155(url, address, tls, shown):
    server = Server.parse(url)

    assert (address, tls, shown) == (server.address, server.tls, str(server))


def test_user_info_is_a_pair_or_a_token():
    pair = Server.parse("nats://us%40er:pa%3Ass@a")
    token = Server.parse("nats://s3cr3t@a")

    assert ("us@er", "pa:ss", None) == (pair.user, pair.password, pair.token)
    assert (None, None, "s3cr3t") == (token.user, token.password, token.token)


@pytest.mark.parametrize(
    "url",
    [
        "http://a",
        "nats://",
        "nats://a:0",
        "nats://a:99999",
        "nats://me:c4n4ry@a:x",
        "nats://[::1",
        "a b",
        "",
    ],
)
def test_bad_urls_are_refused_without_their_secrets(url):
    with pytest.raises(InvalidConfig) as caught:
        Server.parse(url)

    assert "c4n4ry" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_secrets_are_not_shown():
    server = Server.parse("nats://me:c4n4ry@a")
    auth = Auth(
        user="u",
        password="c4n4ry",
        token="c4n4ry",
        jwt="c4n4ry",
        signature=b"c4n4ry",
        nonce="c4n4ry",
    )

    for shown in (
        repr(server),
        str(server),
        repr(Server.parse("c4n4ry@a")),
        repr(auth),
        repr(for_server(auth, server)),
    ):
        assert "c4n4ry" not in shown


def test_what_is_given_goes_before_what_the_url_says():
    server = Server.parse("nats://me:pw@a")

    assert ("me", "pw") == (
        for_server(None, server).user,
        for_server(Auth(jwt="j"), server).password,
    )
    assert ("you", None) == (
        for_server(Auth(user="you"), server).user,
        for_server(Auth(user="you"), server).password,
    )
    assert for_server(Auth(token="t"), server).user is None


@pytest.mark.parametrize("first", [0x00, 0xFB, 0xFF])
def test_a_signature_is_url_safe_without_padding_whatever_its_bytes_B166_B167(first):
    sig = Auth(signature=bytes([first]) + bytes(range(255, 192, -1))).sig

    assert 86 == len(sig)
    assert not set(sig) & set("+/=")
    assert Auth().sig is None


def test_a_lame_server_comes_last():
    servers = pool("a", "b")
    servers.entries[0].lame = True

    assert "b" == servers.next(0.0).server.host


def test_the_order_is_shuffled_by_entropy_only():
    def order(byte):
        return [
            entry.server.host
            for entry in pool(
                "a", "b", "c", randomize=True, entropy=lambda n: bytes([byte]) * n
            ).entries
        ]

    assert order(0) == order(0)
    assert {"a", "b", "c"} == set(order(7))
    assert order(0) != order(2)


def test_jitter_is_larger_with_tls():
    plain = pool("a", jitter=1.0, jitter_tls=2.0, entropy=lambda n: b"\x80" + bytes(n - 1))
    secure = pool("tls://a", jitter=1.0, jitter_tls=2.0, entropy=lambda n: b"\x80" + bytes(n - 1))
    for each in (plain, secure):
        each.dialled(each.entries[0], 0.0)

    assert (1.5, 2.0) == (plain.entries[0].not_before, secure.entries[0].not_before)


def test_gossip_is_capped_and_bad_entries_are_left_out():
    servers = pool("a")
    change = servers.merge(["b:1", "http://x", "a:4222"])

    assert ["b"] == [server.host for server in change.added]
    assert 1 == change.left_out

    for page in range(10):
        servers.merge(
            [f"p{page}n{number}:1" for number in range(256)]
            + [str(entry.server) for entry in servers.entries]
        )

    assert len(servers.entries) <= MAX_POOL


def test_the_current_server_is_never_pruned():
    servers = pool("a")
    servers.merge(["b:1"])
    servers.current = servers.entries[1]
    servers.merge(["c:1"])

    assert ["a", "b", "c"] == [entry.server.host for entry in servers.entries]
    assert servers.others()


def test_a_pool_of_gossip_alone_inherits_from_the_current():
    servers = pool("tls://u:p@a")
    servers.entries = [entry for entry in servers.entries if entry.server.gossiped]
    servers.merge(["b:1"])

    assert ("tls", "u") == (servers.entries[0].server.scheme, servers.entries[0].server.user)


def test_a_snapshot_brings_gossip_and_waits_back():
    servers, twin = pool("tls://u:p@a"), pool("tls://u:p@a")
    servers.merge(["b:1"])
    servers.dialled(servers.entries[1], 5.0)
    servers.lost(servers.entries[0])
    twin.restore(servers.snapshot())

    assert [str(entry.server) for entry in servers.entries] == [
        str(entry.server) for entry in twin.entries
    ]
    assert "p" == twin.current.server.password
    assert "b" == twin.current.server.host
    assert 6.0 == twin.current.not_before
    assert "'p'" not in repr(servers.snapshot())


def test_gossip_of_a_mixed_pool_never_goes_without_tls():
    servers = pool("nats://a", "tls://u:p@b")
    servers.merge(["c:1"])
    twin = pool("nats://a", "tls://u:p@b")
    twin.restore(servers.snapshot())

    for each in (servers, twin):
        assert ("tls", "u") == (each.entries[2].server.scheme, each.entries[2].server.user)


TOLD = ["evil.test:1", "10.0.0.2:1", "[::2]:1", "a:4222"]


@pytest.mark.parametrize(
    ("urls", "words", "taken"),
    [
        (["tls://a"], {"secured": False}, {"10.0.0.2": "a", "::2": "a"}),
        (["a"], {"secured": False, "asked": True}, {"10.0.0.2": "a", "::2": "a"}),
        (["a", "tls://b"], {"secured": False}, {"10.0.0.2": "b", "::2": "b"}),
        (["tls://a"], {}, {"evil.test": None, "10.0.0.2": "a", "::2": "a"}),
        (["a", "wss://b"], {"secured": False}, {"evil.test": None, "10.0.0.2": "a", "::2": "a"}),
    ],
    ids=["url", "everywhere", "mixed", "behind", "unasked"],
)
def test_a_name_told_in_clear_is_not_taken_where_tls_was_asked_for(urls, words, taken):
    servers = pool(*urls)
    change = servers.merge(TOLD, **words)

    assert taken == {server.host: server.tls_name for server in change.added}
    assert 3 - len(taken) == change.left_out


def test_what_is_told_in_clear_drops_nobody_who_was_told_of_behind_tls():
    servers = pool("tls://a")
    servers.merge(["b.test:1", "c.test:1"])
    change = servers.merge(["b.test:1"], secured=False)

    assert ((), (), 0) == (change.added, change.removed, change.left_out)
    assert ["c.test"] == [server.host for server in servers.merge(["b.test:1"]).removed]


def test_a_server_at_its_addresses_keeps_its_name_for_certificates_and_each_address_counts_once():
    server = Server.parse("tls://many.test:4223")
    found = at_addresses(server, ["10.0.0.1", "::1", "10.0.0.1"])

    assert ["tls://10.0.0.1:4223", "tls://[::1]:4223"] == [str(each) for each in found]
    assert ["many.test"] * 2 == [each.name for each in found]
