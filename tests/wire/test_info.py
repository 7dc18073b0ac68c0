import json

import pytest

from jsproto.errors import RemoteProtocolError
from jsproto.wire.frames import Info
from jsproto.wire.info import parse_info, release_of


def test_members_are_typed_and_renamed():
    info = parse_info(
        b' {"server_id":"N","server_name":"s","version":"2.15.1","proto":1,"host":"h","port":4222,"headers":true,'
        b'"jetstream":true,"max_payload":7,"client_id":18446744073709551615,"client_ip":"::1","auth_required":true,'
        b'"tls_required":true,"tls_available":true,"tls_verify":true,"nonce":"x","cluster":"c","domain":"d",'
        b'"connect_urls":["a:1","b:2"],"ldm":true,"connect_info":true,"api_lvl":5,"xkey":"k"} '
    )

    assert info == Info(
        server_id="N",
        server_name="s",
        version="2.15.1",
        proto=1,
        host="h",
        port=4222,
        headers=True,
        jetstream=True,
        max_payload=7,
        client_id=2**64 - 1,
        client_ip="::1",
        auth_required=True,
        tls_required=True,
        tls_available=True,
        tls_verify=True,
        nonce="x",
        cluster="c",
        domain="d",
        connect_urls=("a:1", "b:2"),
        lame_duck=True,
        connect_info=True,
        api_level=5,
    )
    assert info.raw["xkey"] == "k"


def test_missing_and_null_members_have_the_value_of_the_protocol():
    assert parse_info(b"{}") == Info()
    assert parse_info(b'{"connect_urls":null,"port":null,"ldm":null,"nonce":null}') == Info()
    assert parse_info(b"{}").max_payload == 1_048_576


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"null",
        b'"x"',
        b"{} {}",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":"\xff"}',
        b"[" * 50_000,
        b'{"a":' * 30_000,
        b'{"a":"\n"}',
    ],
    ids=lambda text: repr(text[:12]),
)
def test_any_fault_of_the_json_is_one_error(text):
    with pytest.raises(RemoteProtocolError, match="expected INFO with a JSON object, got"):
        parse_info(text)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("server_id", 5),
        ("version", ["2"]),
        ("headers", 1),
        ("headers", "true"),
        ("ldm", 0),
        ("port", "4222"),
        ("port", True),
        ("port", 4222.0),
        ("max_payload", -1),
        ("max_payload", 2**64),
        ("api_lvl", {}),
        ("connect_urls", "a:1"),
        ("connect_urls", ["a:1", 5]),
        ("connect_urls", {}),
    ],
)
def test_a_known_member_of_the_wrong_type_is_named(member, value):
    with pytest.raises(RemoteProtocolError, match=r"expected .* as \w+ of INFO, got"):
        parse_info(json.dumps({member: value}).encode())


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.9.10", (2, 9)),
        ("2.14.0-RC.1", (2, 14)),
        ("2.15-dev", (2, 15)),
        ("v3.0.0", (3, 0)),
        ("2.10", (2, 10)),
        ("", None),
        ("dev", None),
        ("dev.1", None),
        ("2", None),
        ("2.x", None),
        ("2.9x", None),
        ("2.\u0661", None),
        ("2." + "9" * 10, None),
    ],
)
def test_the_release_of_a_server_is_read_as_far_as_its_version_is_one(version, release):
    assert release == release_of(version)
