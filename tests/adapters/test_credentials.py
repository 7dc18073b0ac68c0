"""Creds, nkeys and signers in every adapter: against nats-server, and against a peer that counts
what it is shown.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import pickle
import subprocess
import sys
import time

import pytest

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Connected, Disconnected
from jsproto.core.connection.server_pool import Server
from jsproto.errors import (
    AuthorizationFailed,
    CredentialsUnavailable,
    InvalidConfig,
    InvalidCredentials,
    JsprotoError,
)
from jsproto.wire.nkey import KeyKind, PublicKey, Seed
from jsproto_io._auth import ed25519
from jsproto_io._auth.ed25519 import KeyPair
from jsproto_io.blocking import connect
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, NkeySeed
from tests.accounts import USER, creds, public, seed, server_config

OTHER = seed(KeyKind.USER, 4)
SERVER = Server(host="h")
NKEY_USER = f"authorization {{ users: [ {{ nkey: {public(USER)} }} ] }}"
#: What an error may never hold.
SECRETS = [USER.reveal(), OTHER.reveal(), str(list(USER.raw))[1:-1], "eyJ"]


def flush(nc):
    return nc.flush()


def silent(error, *secrets):
    """Neither it, nor what stands behind it, nor its pickle holds a secret."""
    while error is not None:
        for secret in (*SECRETS, *secrets):
            assert secret not in f"{error!r} {error} {vars(error)}"
            assert not isinstance(error, JsprotoError) or secret.encode() not in pickle.dumps(error)
        error = error.__context__


@pytest.fixture
def path(tmp_path):
    return tmp_path / "me.creds"


# ---------------------------------------------------------------------------------------------- on a real server


@pytest.mark.live
def test_an_nkey_is_enough_for_a_server_that_knows_it(use, start_server, tmp_path):
    server = start_server(config=NKEY_USER)
    file = tmp_path / "user.nk"
    file.write_text(USER.reveal() + "\n")
    sources = [NkeySeed(USER.reveal()), NkeySeed(USER), NkeyFile(file)]

    for source in sources:
        took, _, again = use(
            server.url, flush, lambda nc: nc.reconnect(), flush, credentials=source
        )

        assert took > 0.0
        assert again > 0.0


@pytest.mark.live
def test_an_nkey_that_the_server_does_not_know_is_refused(use, start_server):
    server = start_server(config=NKEY_USER)

    with pytest.raises(AuthorizationFailed, match="Authorization Violation") as caught:
        use(server.url, credentials=NkeySeed(OTHER))

    silent(caught.value)


@pytest.mark.live
def test_the_creds_of_a_user_let_him_in_and_again_after_a_lost_link(use, start_server, path):
    server = start_server(config=server_config())
    path.write_text(creds())
    for source in (CredsFile(path), CredsFile(str(path)), Creds(creds()), Creds(creds().encode())):
        took, _, again = use(
            server.url, flush, lambda nc: nc.reconnect(), flush, credentials=source
        )

        assert took > 0.0
        assert again > 0.0


@pytest.mark.live
def test_a_signer_elsewhere_needs_to_give_nothing_but_the_signature(use, start_server):
    """The key may be in a vault or a token: jsproto never sees it."""
    server = start_server(config=server_config())
    token = creds().splitlines()[1]
    asked = []

    def sign(server, nonce):
        asked.append((server.port, nonce))
        return Auth(jwt=token, signature=KeyPair(USER).sign(nonce.encode()), nonce=nonce)

    use(server.url, flush, lambda nc: nc.reconnect(), flush, credentials=sign)

    assert {port for port, _ in asked} == {server.port}
    assert len({nonce for _, nonce in asked}) == 2


@pytest.mark.live
def test_a_signer_may_be_awaited(flavour, start_server):
    server = start_server(config=NKEY_USER)
    pair = KeyPair(USER)

    async def sign(server, nonce):
        return Auth(nkey=str(pair.public), signature=pair.sign(nonce.encode()), nonce=nonce)

    async def story():
        async with flavour.connect(server.url, credentials=sign) as nc:
            return await nc.flush()

    assert flavour.play(story) > 0.0


REFUSED = {
    "expired": {"exp": int(time.time()) - 10},
    "not yet": {"nbf": int(time.time()) + 3600},
    "other account": {"issuer": seed(KeyKind.ACCOUNT, 9)},
}


@pytest.mark.live
@pytest.mark.parametrize("why", REFUSED)
def test_creds_that_do_not_count_are_refused_by_the_server(use, start_server, why):
    server = start_server(config=server_config())

    with pytest.raises(AuthorizationFailed, match="Authorization Violation") as caught:
        use(server.url, credentials=Creds(creds(**REFUSED[why])))

    silent(caught.value)


@pytest.mark.live
def test_a_revoked_user_is_refused(use, start_server):
    server = start_server(config=server_config(revocations={public(USER): int(time.time())}))

    with pytest.raises(AuthorizationFailed, match="Authorization Violation"):
        use(server.url, credentials=Creds(creds()))
    assert use(server.url, flush, credentials=Creds(creds(OTHER)))[0] > 0.0


@pytest.mark.live
def test_a_signature_of_another_key_or_another_nonce_is_refused(use, start_server):
    server = start_server(config=NKEY_USER)

    def other_key(server, nonce):
        return Auth(nkey=public(USER), signature=KeyPair(OTHER).sign(nonce.encode()))

    def other_nonce(server, nonce):
        return Auth(nkey=public(USER), signature=KeyPair(USER).sign(b"seen before"))

    for source in (other_key, other_nonce):
        with pytest.raises(AuthorizationFailed, match="Authorization Violation"):
            use(server.url, credentials=source)


@pytest.mark.live
def test_creds_that_run_out_are_read_again_B164(use, start_server, path):
    """The server puts the client out; in the file there is a new JWT by then, and everything goes
    on.
    """
    server = start_server(config=server_config())
    path.write_text(creds(exp=int(time.time()) + 2))
    events = []

    def renew(nc):
        events.append(nc.events())
        path.write_text(creds(exp=int(time.time()) + 3600))

    def until(kind):
        def wait(nc):
            if hasattr(events[0], "__anext__"):
                return later()
            return next(event for event in events[0] if isinstance(event, kind))

        async def later():
            while not isinstance(event := await anext(events[0]), kind):
                pass
            return event

        return wait

    _, lost, back, took = use(
        server.url, renew, until(Disconnected), until(Connected), flush, credentials=CredsFile(path)
    )

    assert isinstance(lost.error, AuthorizationFailed)
    assert "User Authentication Expired" in str(lost.error)
    assert back.resumed is True
    assert took > 0.0
    silent(lost.error)


@pytest.mark.live
def test_a_server_that_refuses_twice_in_a_row_is_left_alone(start_server, path):
    """The link is lost, the file holds what does not count any more: two refusals, then the end,
    whatever else is allowed.
    """
    server = start_server(config=server_config())
    path.write_text(creds())
    reads = []

    class Counting:
        def __call__(self, server, nonce):
            reads.append(nonce)
            return CredsFile(path)(server, nonce)

    with connect(
        server.url, credentials=Counting(), reconnect_wait=0.01, reconnect_jitter=0.0
    ) as nc:
        events = nc.events()
        path.write_text(creds(exp=int(time.time()) - 1))
        nc.reconnect()
        *_, closed = events

        assert isinstance(closed.error, AuthorizationFailed)
        assert len(reads) == 1 + 2


# ---------------------------------------------------------------------------------------------- on a peer that counts


def shown_to(peer, use, source, info=b'"nonce":"abc"', user_info=""):
    """The CONNECT that a source leads to."""
    heard = []

    def greet(line):
        line.say(b"INFO {%b}\r\n" % info)
        heard.append(line.hear(b"PING\r\n"))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(greet)
    use(f"nats://{user_info}127.0.0.1:{there.port}", credentials=source)
    there.finish()
    return json.loads(heard[0].split(b"\r\n")[0].removeprefix(b"CONNECT "))


def signature_of(shown):
    return base64.urlsafe_b64decode(shown["sig"] + "==")


def test_what_is_configured_goes_together_B172(peer, use):
    shown = shown_to(peer, use, NkeySeed(USER), user_info="t0ken@")

    assert (shown["nkey"], shown["auth_token"], len(shown["sig"])) == (public(USER), "t0ken", 86)
    assert signature_of(shown) == KeyPair(USER).sign(b"abc")


def test_with_a_jwt_the_key_is_in_the_jwt(peer, use):
    shown = shown_to(peer, use, Creds(creds()))

    assert shown["jwt"] == creds().splitlines()[1]
    assert "nkey" not in shown
    assert signature_of(shown) == KeyPair(USER).sign(b"abc")


@pytest.mark.parametrize("source", [Creds(creds()), NkeySeed(USER)])
def test_nothing_is_signed_where_nothing_is_to_be_signed(peer, use, source):
    shown = shown_to(peer, use, source, info=b'"headers":true')

    assert "sig" not in shown


def waiting(line):
    line.say(b'INFO {"nonce":"abc"}\r\n')
    assert line.until_gone() == b""


def test_a_missing_file_is_the_error_at_once_and_nothing_is_sent_B169(peer, use, path):
    for source in (CredsFile(path), NkeyFile(path)):
        there = peer(waiting)

        with pytest.raises(
            CredentialsUnavailable, match=r"me\.creds, it cannot be read: FileNotFound"
        ) as caught:
            use(there.url, credentials=source, connect_sweeps=None)

        assert isinstance(caught.value.__cause__, FileNotFoundError)
        silent(caught.value)


def test_an_unreadable_path_says_which(tmp_path):
    for path in (tmp_path, tmp_path / "a\0b", "~nobody-of-that-name/x"):
        with pytest.raises(CredentialsUnavailable, match="expected credentials in the file"):
            CredsFile(path).read()


def test_a_file_is_found_in_the_home_of_its_owner(path, monkeypatch):
    monkeypatch.setenv("HOME", str(path.parent))
    path.write_text(creds())

    assert CredsFile("~/me.creds").read().claims.subject == public(USER)


@pytest.mark.parametrize(
    "case",
    [
        (
            CredsFile,
            creds(key=OTHER),
            f"expected the seed of {public(USER)}, .*got that of {public(OTHER)}",
        ),
        (CredsFile, creds()[:-200], "creds file"),
        (CredsFile, creds() + " " * 2**20, "at most 1048576 bytes"),
        (CredsFile, USER.reveal(), "one block with a JWT"),
        (NkeyFile, creds(), "58 characters as the seed"),
        (NkeyFile, seed(KeyKind.ACCOUNT).reveal(), "got one of kind ACCOUNT"),
        (NkeyFile, " " * 5000 + USER.reveal(), "58 characters as the seed of an nkey, got 0"),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_sent(peer, use, path, case):
    kind, text, match = case
    there = peer(waiting)
    path.write_text(text)

    with pytest.raises(InvalidCredentials, match=match) as caught:
        use(there.url, credentials=kind(path))

    assert "me.creds" in str(caught.value)
    silent(caught.value, text[40:80].strip() or "no such text")


def test_a_file_that_is_gone_for_a_while_is_waited_for(peer, path):
    """On a reconnect it is an attempt that failed: the file may be about to be written anew."""
    path.write_text(creds())
    asked = []

    def source(server, nonce):
        asked.append(nonce)
        if nonce == "third":
            path.write_text(creds())
        return CredsFile(path)(server, nonce)

    def greet(nonce):
        def serve(line):
            line.say(b'INFO {"nonce":"%b"}\r\n' % nonce)
            line.hear(b"PING\r\n")
            line.say(b"PONG\r\n")
            line.hear(b"PING\r\n")
            path.unlink(missing_ok=True)

        return serve

    def last(line):
        line.say(b'INFO {"nonce":"third"}\r\n')
        line.hear(b"PING\r\n")
        line.say(b"PONG\r\n")
        line.until_gone()

    def refused(line):
        line.say(b'INFO {"nonce":"second"}\r\n')
        line.until_gone()

    there = peer(greet(b"first"), refused, last)
    with connect(there.url, credentials=source, reconnect_wait=0.01, reconnect_jitter=0.0) as nc:
        events = nc.events()
        with pytest.raises(JsprotoError):
            nc.flush()
        back = next(event for event in events if isinstance(event, Connected))

        assert back.resumed is True
    assert asked == ["first", "second", "third"]


@pytest.mark.parametrize("answer", [None, "SUsecret", {"user": "x"}])
def test_an_answer_that_is_no_auth_is_refused_and_not_shown(peer, use, answer):
    there = peer(waiting)

    with pytest.raises(
        InvalidCredentials, match=f"expected an Auth .*got {type(answer).__name__}"
    ) as caught:
        use(there.url, credentials=lambda server, nonce: answer)

    assert "SUsecret" not in str(caught.value)


def test_a_coroutine_function_needs_an_adapter_that_can_wait(peer):
    there = peer(waiting)

    async def ask(server, nonce):
        return Auth()

    with pytest.raises(InvalidCredentials, match="got coroutine"):
        connect(there.url, credentials=ask).__enter__()


def test_auth_and_credentials_are_not_both_given(use):
    with pytest.raises(InvalidConfig, match="expected auth or credentials, got both"):
        use("nats://h", auth=Auth(token="t"), credentials=NkeySeed(USER))


# ---------------------------------------------------------------------------------------------- the sources themselves


def test_what_is_in_memory_is_judged_at_once():
    for wrong in ("", creds()[:-200], creds().replace("SU", "SA"), None):
        with pytest.raises(InvalidCredentials) as caught:
            Creds(wrong)
        silent(caught.value)
    for wrong in ("", "SU", OTHER.reveal()[:-1], public(USER), seed(KeyKind.ACCOUNT), None):
        with pytest.raises(InvalidCredentials) as caught:
            NkeySeed(wrong)
        silent(caught.value)


def test_the_public_key_of_a_seed_can_be_had():
    assert NkeySeed(USER).public == public(USER)
    assert Creds(creds()).creds.claims.subject == public(USER)


def test_signatures_are_those_of_another_implementation():
    """RFC 8032, section 7.1, test 2."""
    raw = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    pair = KeyPair(Seed(KeyKind.USER, raw))

    assert pair.public == PublicKey(
        KeyKind.USER,
        bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"),
    )
    assert pair.sign(b"\x72").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )


def test_cryptography_will_do_in_its_place():
    """In an interpreter of its own, where there is no PyNaCl."""
    code = (
        "import sys; sys.modules['nacl'] = None\n"
        "import jsproto_io.credentials as c\n"
        "from jsproto.core.connection.server_pool import Server\n"
        f"source = c.NkeySeed({USER.reveal()!r})\n"
        "print(source.public, source(Server(host='h'), 'nonce').signature.hex())\n"
    )
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=where, check=True
    )
    ours = NkeySeed(USER)

    assert done.stdout.split() == [str(ours.public), ours(SERVER, "nonce").signature.hex()]


def test_without_pynacl_the_error_names_the_extra(monkeypatch, path):
    monkeypatch.setattr(ed25519, "INSTALLED", False)
    for make in (
        lambda: CredsFile(path),
        lambda: Creds(creds()),
        lambda: NkeyFile(path),
        lambda: NkeySeed(USER),
        lambda: KeyPair(USER),
    ):
        with pytest.raises(CredentialsUnavailable, match=r"nats-jsproto\[nkeys\]"):
            make()


def test_without_pynacl_everything_else_can_be_imported():
    code = (
        "import sys; sys.modules['nacl'] = sys.modules['cryptography'] = None\n"
        "import jsproto_io.blocking, jsproto_io.asyncio, jsproto_io.credentials as c\n"
        f"try: c.NkeySeed({USER.reveal()!r})\n"
        "except Exception as error: print(error)\n"
    )
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=where, check=True
    )

    assert done.stdout.endswith("neither is installed: install nats-jsproto[nkeys]\n")


def test_connecting_does_not_load_pynacl():
    code = "import sys, jsproto_io.blocking, jsproto_io.asyncio; print({'nacl', 'cryptography'} & set(sys.modules))"
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=where, check=True
    )

    assert done.stdout == "set()\n"


def test_each_source_is_a_function_of_server_and_nonce(path):
    path.write_text(USER.reveal())
    for source in (Creds(creds()), NkeySeed(USER), NkeyFile(path)):
        auth = source(SERVER, "n")

        assert auth.nonce == "n"
        assert not inspect.isawaitable(auth)
        assert len(auth.signature) == 64
