"""Contexts of the nats CLI in their folder, under the environment, and as arguments of every
adapter's connect.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import stat

import pytest
import trustme

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.options import Tls
from jsproto.core.connection.server_pool import Server
from jsproto.errors import (
    AuthorizationFailed,
    ContextUnavailable,
    InvalidConfig,
    InvalidContext,
    InvalidCredentials,
    InvalidSubject,
    JsprotoError,
)
from jsproto.jetstream.context import JetStream
from jsproto_io import contexts
from jsproto_io._context import references
from jsproto_io._context.references import text_of
from jsproto_io.blocking import connect
from jsproto_io.contexts import Context, Contexts, NatsContext, context
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, NkeySeed, TlsFiles, UserCreds
from jsproto_io.proxies import SocksProxy
from tests.accounts import USER, creds, public, server_config

HERE = Server(host="localhost")
CANARY = "cAnAry"


@pytest.fixture
def folder(tmp_path):
    """The folder of an environment that has nothing but a home."""
    return Contexts(tmp_path / "nats")


@pytest.fixture
def environ(tmp_path):
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}


@pytest.fixture
def program(environ):
    """``program(script)`` is installed as nsc."""

    def install(script):
        path = contexts.Path(environ["PATH"]) / "nsc"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return install


def options(environ, **members):
    return Context(settings=NatsContext(**members), environ=environ).options()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# ---------------------------------------------------------------------------------------------- the folder


def test_what_is_saved_is_where_the_cli_looks_for_it(folder):
    folder.save("ngs.js", NatsContext(url="nats://a:1"), select=True)

    assert '"url": "nats://a:1"' in (folder.folder / "context" / "ngs.js.json").read_text()
    assert "ngs.js" == (folder.folder / "context.txt").read_text()
    assert (
        Context(name="ngs.js", settings=NatsContext(url="nats://a:1"))
        == folder.load("ngs.js")
        == folder.selected()
    )


def test_files_are_for_their_owner_alone_and_nothing_else_is_left(folder):
    before = os.umask(0)
    try:
        for url in ("a", "b"):
            folder.save("x", NatsContext(url=url, password=CANARY, user="u"), select=True)
    finally:
        os.umask(before)
    here = folder.folder

    assert [0o600] * 3 == [
        mode(here / each) for each in ("context/x.json", "context.txt", "previous-context.txt")
    ]
    assert [0o700] * 2 == [mode(here), mode(here / "context")]
    assert ["context", "context.txt", "previous-context.txt"] == sorted(
        each.name for each in here.iterdir()
    )
    assert ["x.json"] == [each.name for each in (here / "context").iterdir()]


def test_a_save_that_fails_leaves_what_was_there(folder, monkeypatch):
    folder.save("x", NatsContext(url="a"))

    def fail(_self, _target):
        raise PermissionError("no")

    monkeypatch.setattr(contexts.Path, "replace", fail)
    with pytest.raises(
        ContextUnavailable, match=r"expected to write .*x.json, it failed: PermissionError"
    ):
        folder.save("x", NatsContext(url="b"))

    assert "a" == folder.load("x").settings.url
    assert ["x.json"] == [each.name for each in (folder.folder / "context").iterdir()]


def test_what_cannot_work_is_not_saved(folder):
    for settings, error in (
        (NatsContext(user="u", creds="c"), InvalidContext),
        (NatsContext(url="http://x"), InvalidConfig),
        (NatsContext(inbox_prefix="a b"), InvalidSubject),
    ):
        with pytest.raises(error):
            folder.save("x", settings)

    assert [] == folder.names


HOSTILE = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\0b",
    "a\nb",
    " a",
    "a\t",
    "a..b",
    "x" * 251,
    "\ud800",
    None,
    7,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leads_out_of_the_folder(folder, name):
    verbs = [
        lambda: folder.path(name),
        lambda: folder.load(name),
        lambda: folder.save(name, NatsContext()),
        lambda: folder.edit(name, url="a"),
        lambda: folder.select(name),
        lambda: folder.delete(name),
    ]
    if name == ".":
        verbs = verbs[1:2]  # "..json" is a file like any other
    for verb in verbs:
        with pytest.raises(
            (InvalidContext, ContextUnavailable), match=r"expected a name|there is none"
        ):
            verb()

    assert not folder.folder.exists()


def test_names_are_those_that_can_be_loaded(folder):
    place = folder.folder / "context"
    for name in ("b", "a.b", "c d", "é"):
        folder.save(name, NatsContext())
    (place / "empty.json").touch()
    (place / "dir.json").mkdir()
    (place / "other.txt").write_text("{}")
    (place / "a..b.json").write_text("{}")
    (place / "gone.json").symlink_to(place / "nowhere")

    assert ["a.b", "b", "c d", "é"] == folder.names
    assert [] == Contexts(folder.folder / "none").names


def test_what_is_not_there_is_said_by_its_path(folder):
    with pytest.raises(ContextUnavailable, match=r"x\.json, there is none"):
        folder.load("x")
    with pytest.raises(ContextUnavailable, match="expected a selected context"):
        folder.selected()
    with pytest.raises(ContextUnavailable, match="there is none"):
        folder.select("x")
    with pytest.raises(ContextUnavailable, match="FileNotFoundError"):
        folder.delete("x")
    assert folder.selection is None


def test_what_cannot_be_read_is_said_by_its_path(folder):
    folder.save("x", NatsContext(), select=True)
    folder.path("x").write_text('{"password": cAnAry}')
    with pytest.raises(
        InvalidContext, match=r"an object of JSON.*\(in the file .*x\.json\)"
    ) as caught:
        folder.selected()
    assert CANARY not in f"{caught.value!r} {caught.value.__context__!r}"

    folder.path("x").unlink()
    folder.path("x").mkdir()
    with pytest.raises(ContextUnavailable, match="IsADirectoryError"):
        folder.load("x")
    folder.path("y").write_bytes(b"{" + b" " * 1_100_000 + b"}")
    with pytest.raises(InvalidContext, match="an object of JSON"):
        folder.load("y")
    (folder.folder / "context.txt").write_bytes(b"\xff")
    assert folder.selection is None


def test_an_edit_changes_what_it_names_and_keeps_the_rest(folder):
    folder.save("x", NatsContext(url="a", user="u", password="p"))
    path = folder.path("x")
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": 1}))

    edited = folder.edit("x", url="b", user=None, password="", token="t")

    assert (
        NatsContext(url="b", token="t", unknown={"later": 1})
        == edited.settings
        == folder.load("x").settings
    )
    with pytest.raises(InvalidContext, match="expected members of a context, got domain, unknown"):
        folder.edit("x", domain="d", unknown={})
    with pytest.raises(InvalidContext, match="text as url"):
        folder.edit("x", url=7)


def test_selecting_remembers_what_was_selected_before_as_the_cli_does(folder):
    for name in ("a", "b"):
        folder.save(name, NatsContext(), select=True)

    assert "b" == folder.selection
    assert "a" == (folder.folder / "previous-context.txt").read_text()

    folder.unselect()
    folder.unselect()

    assert folder.selection is None


def test_the_selected_context_goes_only_if_it_is_the_last(folder):
    for name in ("a", "b"):
        folder.save(name, NatsContext(), select=True)
    with pytest.raises(InvalidContext, match="select another first"):
        folder.delete("b")
    folder.delete("a")
    folder.delete("b")

    assert ([], None) == (folder.names, folder.selection)


def test_the_folder_is_that_of_the_environment(tmp_path, monkeypatch):
    assert (
        tmp_path / "x" / "nats"
        == Contexts.of({"XDG_CONFIG_HOME": str(tmp_path / "x"), "HOME": "/h"}).folder
    )
    assert (
        contexts.Path("/h/.config/nats")
        == Contexts.of({"XDG_CONFIG_HOME": "", "HOME": "/h"}).folder
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert tmp_path / "nats" == Contexts().folder

    def nowhere():
        raise RuntimeError

    monkeypatch.setattr(contexts.Path, "home", nowhere)
    with pytest.raises(ContextUnavailable, match="home directory"):
        Contexts.of({})


# ---------------------------------------------------------------------------------------------- the environment


def test_the_selected_context_is_taken_and_a_named_one_before_it(folder, environ):
    for name in ("a", "b", "c"):
        folder.save(name, NatsContext(url=f"nats://{name}"), select=name == "a")

    assert ("a", "nats://a") == (
        context(environ=environ).name,
        context(environ=environ).settings.url,
    )
    environ["NATS_CONTEXT"] = "b"
    assert "b" == context(environ=environ).name
    assert "c" == context("c", environ=environ).name
    assert "c" == context("c", contexts=folder, environ={}).name


def test_without_any_context_there_is_still_the_environment(environ, monkeypatch):
    assert NatsContext() == context(environ=environ).settings
    environ["NATS_URL"] = "nats://x"
    assert NatsContext(url="nats://x") == context(environ=environ).settings
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert "nats://x" == context().settings.url


def test_a_name_may_be_a_file_anywhere(tmp_path, environ):
    path = tmp_path / "mine.json"
    path.write_text('{"url": "nats://m"}')

    assert ("mine", "nats://m") == (
        context(str(path), environ=environ).name,
        Context.read(path).settings.url,
    )
    with pytest.raises(InvalidContext, match="expected a name"):
        context(str(tmp_path / "other.json"), environ=environ)


@pytest.mark.parametrize("large", [False, True])
def test_what_stands_behind_file_is_in_no_error_since_it_may_be_a_secret(tmp_path, environ, large):
    secret = tmp_path / "hunter2"
    if large:
        secret.write_bytes(b"x" * 20_000_000)
    with pytest.raises((ContextUnavailable, InvalidContext), match="in the file") as caught:
        text_of(f"file://{secret}", "password", environ)

    error = caught.value
    while error is not None:
        assert "hunter2" not in f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or error.__context__


def test_a_context_that_is_not_there_is_an_error_and_not_an_empty_one(environ, folder):
    environ["NATS_CONTEXT"] = "gone"
    with pytest.raises(ContextUnavailable):
        context(environ=environ)
    folder.save("x", NatsContext(), select=True)
    folder.path("x").unlink()
    with pytest.raises(ContextUnavailable):
        context(environ={**environ, "NATS_CONTEXT": ""})


@pytest.mark.parametrize(("variable", "member"), contexts.VARIABLES.items())
def test_a_variable_stands_above_the_context(folder, environ, variable, member):
    folder.save("x", NatsContext(token="old", url="nats://old"), select=True)
    also = {"NATS_PASSWORD": "p"} if variable == "NATS_USER" else {}

    assert "new" == getattr(context(environ={**environ, variable: "new", **also}).settings, member)
    assert getattr(folder.selected().settings, member) == getattr(
        context(environ={**environ, variable: ""}).settings, member
    )


def test_a_user_without_a_password_is_a_token(environ):
    assert NatsContext(token="t") == context(environ={**environ, "NATS_USER": "t"}).settings


@pytest.mark.parametrize("none", ["none", "NONE", "-"])
def test_a_proxy_is_taken_away_by_a_word(folder, environ, none):
    folder.save("x", NatsContext(socks_proxy="socks5://p"), select=True)

    assert context(environ={**environ, "NATS_SOCKS_PROXY": none}).settings.socks_proxy is None


# ---------------------------------------------------------------------------------------------- as arguments


def test_an_empty_context_is_the_server_of_this_machine(environ):
    assert {"servers": (HERE,)} == options(environ)


def test_everything_that_is_not_a_secret_becomes_an_option(environ):
    assert {
        "servers": (Server.parse("wss://a/nats"),),
        "inbox_prefix": "_I.me",
        "jetstream": JetStream(domain="hub"),
        "tls": Tls.FIRST,
        "tls_context": TlsFiles(ca="/ca", certificate="/c", key="/k"),
    } == {
        name: evolved(value)
        for name, value in options(
            environ,
            url="wss://a/nats",
            inbox_prefix="_I.me",
            jetstream_domain="hub",
            tls_first=True,
            ca="/ca",
            cert="/c",
            key="/k",
        ).items()
    }


def evolved(value):
    if isinstance(value, TlsFiles):
        return TlsFiles(ca=str(value.ca), certificate=str(value.certificate), key=str(value.key))
    return value


def test_options_that_are_given_stand_above_those_of_the_context(environ):
    found = Context(settings=NatsContext(inbox_prefix="_I"), environ=environ).options(
        inbox_prefix="_J", name="n"
    )

    assert {"servers": (HERE,), "inbox_prefix": "_J", "name": "n"} == found


def test_paths_are_filled_in(environ, tmp_path):
    environ["WHERE"] = "/w"
    cases = {
        "~/a.creds": tmp_path / "a.creds",
        "~": tmp_path,
        "$WHERE/a": "/w/a",
        "/x/${WHERE}y$WHERE": "/x//wy/w",
        "$NOT/${NOT_EITHER}/${": "$NOT/${NOT_EITHER}/${",
        "file:///a b": "/a b",
        "~nobody-here/a": "~nobody-here/a",
        "a$": "a$",
    }
    for text, path in cases.items():
        assert contexts.Path(path) == options(environ, creds=text)["credentials"].path


def data(text):
    return f"data:application/x;base64,{base64.b64encode(text.encode()).decode()}"


TOKEN = creds().splitlines()[1]


def test_each_kind_of_credentials_becomes_what_connect_takes(environ, tmp_path):
    file = tmp_path / "x"
    file.write_text(f" {CANARY}\n")
    environ |= {"WORD": CANARY, "CREDS": creds(), "SEED": USER.reveal()}
    cases = [
        ({"user": "u", "password": CANARY}, Auth(user="u", password=CANARY)),
        (
            {"user": "u", "password": "env://WORD", "token": "t"},
            Auth(user="u", password=CANARY, token="t"),
        ),
        ({"user": "u"}, Auth(user="u")),
        ({"token": CANARY}, Auth(token=CANARY)),
        ({"token": data(CANARY)}, Auth(token=CANARY)),
        ({"token": f"file://{file}"}, Auth(token=CANARY)),
        ({"token": "ENV://WORD"}, Auth(token=CANARY)),
        ({"token": "http://not.a/reference"}, Auth(token="http://not.a/reference")),
        ({"user_jwt": TOKEN}, Auth(jwt=TOKEN)),
        ({"creds": "/c"}, CredsFile("/c")),
        ({"creds": data(creds())}, Creds(creds())),
        ({"creds": "env://CREDS"}, Creds(creds())),
        ({"nkey": "/n"}, NkeyFile("/n")),
        ({"nkey": "env://SEED"}, NkeySeed(USER)),
        ({"user_jwt": TOKEN, "user_seed": "env://SEED"}, Creds(UserCreds(jwt=TOKEN, seed=USER))),
        ({"user": "u", "creds": "/c", "nkey": "/n"}, Auth(user="u")),
        ({"creds": "/c", "nkey": "/n", "user_jwt": TOKEN}, CredsFile("/c")),
        ({"nkey": "/n", "user_jwt": TOKEN}, NkeyFile("/n")),
    ]
    for members, expected in cases:
        given = options(environ, **members)

        assert expected == given.get("auth", given.get("credentials")), members
        assert CANARY not in f"{given}"


def test_a_proxy_becomes_what_connect_takes(environ):
    assert (
        SocksProxy("p", 1080, "u", CANARY)
        == options(environ, socks_proxy=f"socks5://u:{CANARY}@p")["proxy"]
    )


def test_a_token_goes_along_with_creds(environ):
    source = options(environ, creds=data(creds()), token=CANARY)["credentials"]
    answer = source(HERE, "nonce")

    assert (CANARY, TOKEN) == (answer.token, answer.jwt)
    assert CANARY not in repr(source)


WRONG = {
    "proxy": ({"socks_proxy": f"http://u:{CANARY}@p"}, InvalidConfig, "socks5://host:port"),
    "store": ({"windows_cert_store": "user"}, InvalidContext, "without windows_cert_store"),
    "both": (
        {"jetstream_domain": "a", "jetstream_api_prefix": "b"},
        InvalidConfig,
        "a domain or a prefix",
    ),
    "domain": ({"jetstream_domain": "a.*"}, InvalidSubject, "domain"),
    "url": ({"url": f"nats://u:{CANARY}@h:x"}, InvalidConfig, "port"),
    "op": ({"creds": "op://vault/x"}, ContextUnavailable, "no op:// as creds"),
    "scheme": ({"creds": "vault://x"}, InvalidContext, "a path as creds"),
    "nul": ({"creds": "a\0b"}, InvalidContext, "a path as creds"),
    "ca": ({"ca": data("x")}, InvalidContext, "a path as ca"),
    "env": ({"token": "env://NOT_THERE"}, ContextUnavailable, "'NOT_THERE', it is not set"),
    "file": ({"token": "file:///not/there"}, ContextUnavailable, "FileNotFoundError"),
    "no comma": ({"token": f"data:;base64{CANARY}"}, InvalidContext, "data:;base64,... as token"),
    "no base64": ({"token": f"data:,{CANARY}"}, InvalidContext, "data:;base64,... as token"),
    "bad base64": (
        {"token": f"data:;base64,{CANARY}!"},
        InvalidContext,
        "data:;base64,... as token",
    ),
    "no text": ({"token": "data:;base64,/w=="}, InvalidCredentials, "token of a context in UTF-8"),
    "damaged": ({"creds": data(CANARY)}, InvalidCredentials, "one block"),
    "seed": ({"nkey": data(CANARY)}, InvalidCredentials, "seed"),
    "no nsc": ({"nsc": "nsc://o/a/u"}, ContextUnavailable, "'o/a/u', it is not installed"),
    "no user": ({"nsc": "nsc://"}, InvalidContext, "nsc://operator/account/user"),
    "a flag": ({"creds": "nsc://--help"}, InvalidContext, "nsc://operator/account/user"),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_cannot_be_done_is_refused_and_shows_no_secret(environ, why):
    members, error, says = WRONG[why]
    with pytest.raises(error, match=says) as caught:
        options(environ, **members)

    failure = caught.value
    while failure is not None:
        assert CANARY not in f"{failure!r} {vars(failure)}"
        failure = failure.__context__
    assert isinstance(caught.value, JsprotoError)


def test_a_file_that_is_too_large_is_another_file(environ, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"x" * 1_100_000)
    with pytest.raises(InvalidContext, match="at most"):
        options(environ, token=f"file://{path}")


def test_a_context_is_as_silent_as_what_it_says(environ):
    found = Context(
        name="x", settings=NatsContext(password=CANARY, user="u"), environ={"SECRET": CANARY}
    )

    assert CANARY not in repr(found)
    with pytest.raises(JsprotoError, match="expected no secret to be pickled"):
        pickle.dumps(found)
    plain = Context(name="x", settings=NatsContext(url="nats://a"))
    assert plain == pickle.loads(pickle.dumps(plain))


# ---------------------------------------------------------------------------------------------- nsc


PROFILE = '{"user_creds": "/c.creds", "operator": {"service": ["nats://a:1", "nats://b:2"]}}'
BOTH = (Server.parse("nats://a:1"), Server.parse("nats://b:2"))


def test_nsc_says_where_and_as_whom(environ, program, tmp_path):
    program(f"echo \"$@\" >> {tmp_path}/asked; echo '{PROFILE}'")
    for members in ({"nsc": "nsc://o/a/u"}, {"nsc": "o/a/u"}, {"creds": "nsc://o/a/u"}):
        assert {"servers": BOTH, "credentials": CredsFile("/c.creds")} == options(
            environ, **members
        )

    assert ["generate profile nsc://o/a/u"] * 3 == (tmp_path / "asked").read_text().splitlines()


def test_what_the_context_says_itself_comes_before_nsc(environ, program):
    program(f"echo '{PROFILE}'")
    mine = (Server.parse("nats://mine"),)

    assert {"servers": mine, "credentials": CredsFile("/c.creds")} == options(
        environ, nsc="nsc://o", url="nats://mine"
    )
    assert {"servers": BOTH, "credentials": CredsFile("/mine")} == options(
        environ, nsc="nsc://o", creds="/mine"
    )
    program("exit 1")
    assert {"servers": mine, "credentials": CredsFile("/mine")} == options(
        environ, nsc="nsc://o", url="nats://mine", creds="/mine"
    )


def test_an_operator_alone_has_servers(environ, program):
    program('echo \'{"operator": {"service": "nats://a:1"}}\'')

    assert {"servers": BOTH[:1]} == options(environ, nsc="nsc://o")
    for members in ({"creds": "nsc://o"}, {"nkey": "nsc://o/a/u"}):
        with pytest.raises(ContextUnavailable, match="names none"):
            options(environ, **members)


def test_a_seed_may_be_that_of_creds_that_nsc_knows(environ, program, tmp_path):
    (tmp_path / "seed").write_text(USER.reveal())
    program(f'echo \'{{"user_creds": "{tmp_path}/seed"}}\'')

    assert NkeySeed(USER) == options(environ, nkey="nsc://o/a/u")["credentials"]


def test_what_nsc_says_when_it_fails_is_told_and_what_it_prints_is_not(environ, program):
    program(f"echo {CANARY}; echo 'no such account' >&2; exit 3")
    with pytest.raises(ContextUnavailable, match="no such account") as caught:
        options(environ, nsc="nsc://o/a/u")
    assert CANARY not in str(caught.value)

    program(f"echo {CANARY}")
    with pytest.raises(InvalidContext, match="profile of nsc") as caught:
        options(environ, nsc="nsc://o/a/u")
    assert CANARY not in str(caught.value)


def test_nsc_is_not_waited_for_without_end(environ, program, monkeypatch):
    program("exec /bin/sleep 60")
    monkeypatch.setattr(references, "_PATIENCE", 0.05)
    with pytest.raises(ContextUnavailable, match="TimeoutExpired"):
        options(environ, nsc="nsc://o/a/u")


# ---------------------------------------------------------------------------------------------- on a real server


@pytest.mark.live
def test_a_saved_context_connects_every_adapter(use, start_server, folder, environ):
    server = start_server(
        config="authorization { user: joe, password: secret }\njetstream { domain: hub }"
    )
    folder.save(
        "x",
        NatsContext(
            url=server.url,
            user="joe",
            password="secret",
            jetstream_domain="hub",
            inbox_prefix="_MINE.joe",
        ),
        select=True,
    )
    arguments = context(environ=environ).options()
    info, prefix = use(
        arguments.pop("servers"),
        lambda nc: nc.jetstream().account_info(),
        lambda nc: nc._options.inbox_prefix,
        **arguments,
    )

    assert ("hub", "_MINE.joe") == (info.domain, prefix)


@pytest.mark.live
def test_a_wrong_domain_of_a_context_reaches_nobody(start_server, environ):
    server = start_server(config="jetstream { domain: hub }")
    given = context(environ={**environ, "NATS_URL": server.url})
    wrong = Context(settings=given.settings.edited(jetstream_domain="leaf"))
    with connect(**given.options()) as nc:
        assert "hub" == nc.jetstream().account_info().domain
    with connect(**wrong.options()) as nc, pytest.raises(JsprotoError):
        nc.jetstream(timeout=0.5).account_info()


@pytest.mark.live
def test_creds_nkeys_and_tls_of_a_context_connect(start_server, environ, tmp_path, program):
    ca = trustme.CA()
    own = ca.issue_cert("localhost")
    own.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    mine = ca.issue_cert("me@example.net")
    mine.private_key_pem.write_to_path(tmp_path / "key.pem")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    (tmp_path / "me.creds").write_text(creds())
    secured = start_server(config=server_config())
    program(
        f"echo '{json.dumps({'user_creds': '~/me.creds', 'operator': {'service': secured.url}})}'"
    )
    known = start_server(config=f"authorization {{ users: [ {{ nkey: {public(USER)} }} ] }}")
    (tmp_path / "me.nk").write_text(USER.reveal())
    first = start_server(
        config=(
            f'tls {{ cert_file: "{tmp_path}/server.pem", key_file: "{tmp_path}/server.pem", '
            f'ca_file: "{tmp_path}/ca.pem", verify: true, handshake_first: "auto" }}'
        )
    )
    for members in (
        {"url": secured.url, "creds": "~/me.creds"},
        {"nsc": "nsc://o/a/u"},
        {"url": known.url, "nkey": "$HOME/me.nk"},
        {
            "url": f"tls://localhost:{first.port}",
            "tls_first": True,
            "ca": "~/ca.pem",
            "cert": "~/cert.pem",
            "key": "~/key.pem",
        },
    ):
        with connect(**options(environ, **members)) as nc:
            assert nc.flush() > 0.0, members

    with pytest.raises(AuthorizationFailed), connect(**options(environ, url=known.url)):
        pass
