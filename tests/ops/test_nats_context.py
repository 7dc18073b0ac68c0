"""Contexts of the nats CLI: what is read is written again, what cannot work is said, and no secret
is shown.
"""

from __future__ import annotations

import json
import pickle

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import (
    InvalidConfig,
    InvalidContext,
    InvalidSubject,
    JsprotoError,
    LocalProtocolError,
)
from jsproto.ops.nats_context import MAX_CONTEXT, NatsContext, NscProfile, without_user_info

#: As the CLI writes one, with its members in its order.
WRITTEN = """\
{
  "description": "Example.Net Server",
  "url": "nats://nats.example.net:4222",
  "socks_proxy": "",
  "token": "",
  "user": "",
  "password": "",
  "creds": "/home/me/me.creds",
  "nkey": "",
  "cert": "",
  "key": "",
  "ca": "",
  "nsc": "",
  "jetstream_domain": "hub",
  "jetstream_api_prefix": "",
  "jetstream_event_prefix": "",
  "inbox_prefix": "_INBOX.me",
  "user_jwt": "",
  "user_seed": "",
  "color_scheme": "",
  "tls_first": false,
  "windows_cert_store": "",
  "windows_cert_match_by": "",
  "windows_cert_match": "",
  "windows_ca_certs_match": null
}"""
CANARY = "cAnAry"


def test_what_the_cli_writes_is_read_and_written_again_to_the_letter():
    context = NatsContext.parse(WRITTEN)

    assert WRITTEN == context.to_json()
    assert "Example.Net Server" == context.description
    assert context.user is None
    assert "/home/me/me.creds" == context.creds


def test_members_are_optional_and_empty_ones_are_not_given():
    for text in (
        "{}",
        '{"url": ""}',
        '{"tls_first": null, "windows_ca_certs_match": null, "user": null}',
        b"\xef\xbb\xbf{}",
    ):
        assert NatsContext() == NatsContext.parse(text)


def test_no_list_is_an_empty_one():
    assert NatsContext() == NatsContext(windows_ca_certs_match=None)
    assert ("a",) == NatsContext(windows_ca_certs_match=["a"]).windows_ca_certs_match


def test_a_context_that_names_no_server_means_the_one_of_this_machine():
    assert ["nats://localhost:4222"] == [str(each) for each in NatsContext().servers]


def test_members_that_are_not_known_are_kept():
    context = NatsContext.parse('{"url": "a", "region": {"near": ["x", 1.5, null]}}')

    assert {"region": {"near": ["x", 1.5, None]}} == attrs.evolve(context, url="b").unknown
    assert {"near": ["x", 1.5, None]} == json.loads(context.to_json())["region"]
    assert hash(context) == hash(attrs.evolve(context))


def test_an_edit_changes_what_it_names_and_nothing_else():
    context = NatsContext(url="a", user="u", unknown={"later": 1})

    assert NatsContext(url="b", token="t", unknown={"later": 1}) == context.edited(
        url="b", user="", token="t"
    )
    assert NatsContext(url="a", unknown={"later": 1}) == context.edited(user=None)
    with pytest.raises(InvalidContext, match="expected members of a context, got domain, unknown"):
        context.edited(domain="d", unknown={})
    with pytest.raises(InvalidContext, match="text as url"):
        context.edited(url=7)


TEXTS = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NAMES = [each.name for each in attrs.fields(NatsContext) if each.type == "str | None"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
CONTEXTS = st.builds(
    lambda texts, first, certs, unknown: NatsContext(
        **texts, tls_first=first, windows_ca_certs_match=certs, unknown=unknown or None
    ),
    st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS)),
    st.booleans(),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=2).map(tuple),
    st.dictionaries(st.text("xyz", min_size=1, max_size=3), JSON, max_size=2),
)


@given(CONTEXTS)
def test_what_is_written_is_read_as_it_was(context):
    assert context == NatsContext.parse(context.to_json())
    assert context == NatsContext.parse(context.to_json().encode())


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_anything_is_a_context_or_a_typed_error(text):
    error = None
    try:
        NatsContext.parse(text)
    except InvalidContext as caught:
        error = caught

    assert error is None or error.__context__ is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": NaN}',
        b"\xff",
        "[" * 100_000,
        "{" + " " * MAX_CONTEXT + "}",
        None,
    ],
)
def test_what_is_no_context_is_said_without_showing_it(text):
    with pytest.raises(InvalidContext, match="expected a context as"):
        NatsContext.parse(text)


@pytest.mark.parametrize(
    ("member", "says"),
    [
        ('"url": 4222', "text as url"),
        ('"password": ["cAnAry"]', "text as password"),
        ('"token": "\\ud800cAnAry"', "UTF-8 can carry as token"),
        ('"tls_first": "cAnAry"', "true or false as tls_first"),
        ('"windows_ca_certs_match": "cAnAry"', "texts as windows_ca_certs_match"),
        ('"windows_ca_certs_match": [1]', "texts as windows_ca_certs_match"),
        ('"URL": "x"', "'url' of a context, got it as 'URL'"),
        ('"region": "\\ud800cAnAry"', "members of JSON as unknown"),
    ],
)
def test_a_member_of_another_type_is_refused_by_name(member, says):
    with pytest.raises(InvalidContext, match=says) as caught:
        NatsContext.parse("{" + member + "}")

    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("unknown", [{"x": object()}, {"x": float("nan")}, {1: "x"}, [1]])
def test_what_could_not_be_written_is_refused(unknown):
    with pytest.raises(InvalidContext, match="members of JSON as unknown"):
        NatsContext(unknown=unknown)


# ---------------------------------------------------------------------------------------------- what it means


def test_servers_may_be_several_and_of_any_scheme():
    context = NatsContext(url="nats://a, tls://b:1 ,demo.nats.io,wss://[::1]/nats?x=1")

    assert ["nats://a:4222", "tls://b:1", "nats://demo.nats.io:4222", "wss://[::1]:443"] == [
        str(each) for each in context.servers
    ]
    assert [None, None, None, "/nats?x=1"] == [each.path for each in context.servers]
    assert [None, None] == [each.path for each in NatsContext(url="ws://a/,WSS://b").servers]


def test_each_server_has_the_path_of_its_own_url():
    context = NatsContext(url="ws://a/x,ws://b/y")
    context.check()

    assert ["/x", "/y"] == [each.path for each in context.servers]


def test_the_domain_or_the_prefix_is_that_of_jetstream():
    assert "$JS.hub.API.INFO" == NatsContext(jetstream_domain="hub").jetstream.api.account_info()
    assert (
        "acc.API.INFO" == NatsContext(jetstream_api_prefix="acc.API").jetstream.api.account_info()
    )
    assert "$JS.API.INFO" == NatsContext().jetstream.api.account_info()


@pytest.mark.parametrize(
    ("members", "error", "says"),
    [
        (
            {"user": "u", "creds": "c", "nkey": "n"},
            InvalidContext,
            "one kind of credentials in a context, got user, creds, nkey",
        ),
        ({"password": CANARY}, InvalidContext, "user beside password"),
        ({"user_seed": CANARY}, InvalidContext, "user_jwt beside user_seed"),
        ({"key": "k"}, InvalidContext, "cert beside key"),
        ({"url": f"nats://u:{CANARY}@h:x"}, InvalidConfig, "port"),
        ({"url": f"ws://u:{CANARY}@[h/x"}, InvalidConfig, "IPv6 address in the brackets"),
        (
            {"jetstream_domain": "a", "jetstream_api_prefix": "b"},
            InvalidConfig,
            "a domain or a prefix",
        ),
        ({"jetstream_domain": "a b"}, InvalidSubject, "prefix"),
        ({"inbox_prefix": "a.>"}, InvalidSubject, "prefix"),
    ],
)
def test_what_cannot_work_is_read_and_said_when_it_is_checked(members, error, says):
    context = NatsContext.parse(json.dumps(members))

    with pytest.raises(error, match=says) as caught:
        context.check()
    assert CANARY not in str(caught.value)


def test_what_can_work_passes():
    NatsContext().check()
    NatsContext(user="u", password="p", token="t", cert="c", key="k", inbox_prefix="_I.me").check()


# ---------------------------------------------------------------------------------------------- secrets


SECRET = ("token", "password", "creds", "nkey", "user_jwt", "user_seed")


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_neither_shown_nor_pickled(name):
    context = NatsContext(**{name: CANARY})

    assert CANARY not in f"{context!r} {context}"
    with pytest.raises(LocalProtocolError, match=name) as caught:
        pickle.dumps(context)
    assert CANARY not in str(caught.value)


def test_a_secret_in_a_member_that_is_not_known_is_neither_shown_nor_pickled():
    context = NatsContext(unknown={"later": CANARY})

    assert CANARY not in repr(context)
    with pytest.raises(LocalProtocolError, match="unknown"):
        pickle.dumps(context)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://u:cAnAry@h:1,tls://h", "nats://***@h:1,tls://h"),
        ("nats://cAnAry@h", "nats://***@h"),
        ("nats://u:c@nAry,cAnAry@h", "***"),
        ("cAnAry@h", "***"),
    ],
)
def test_user_info_in_a_url_is_neither_shown_nor_pickled(url, shown):
    for name in ("url", "socks_proxy"):
        context = NatsContext(**{name: url})

        assert f"{name}={shown!r}" in repr(context)
        assert CANARY not in repr(context)
        with pytest.raises(LocalProtocolError, match=name):
            pickle.dumps(context)


def test_a_context_without_secrets_travels():
    context = NatsContext(url="nats://h:1", jetstream_domain="hub", user="u")

    assert context == pickle.loads(pickle.dumps(context))
    assert "None" == without_user_info(None)


# ---------------------------------------------------------------------------------------------- nsc


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        (
            '{"user_creds": "/c", "operator": {"service": ["nats://a", "nats://b"]}}',
            NscProfile(path="/c", url="nats://a,nats://b"),
        ),
        (
            '{"user_creds": "/c", "operator": {"service": "nats://a"}, "keys": {}}',
            NscProfile(path="/c", url="nats://a"),
        ),
        ('{"operator": {"service": null}, "user_creds": null}', NscProfile()),
        ('{"operator": null}', NscProfile()),
        ("{}", NscProfile()),
    ],
)
def test_a_profile_names_creds_and_servers(text, profile):
    assert profile == NscProfile.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "[]",
        '{"user_creds": 1}',
        '{"operator": {"service": [1]}}',
        '{"operator": {"service": 1}}',
    ],
)
def test_what_is_no_profile_is_a_typed_error(text):
    with pytest.raises(JsprotoError, match="profile of nsc"):
        NscProfile.parse(text)
