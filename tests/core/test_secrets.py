"""A canary in every secret sings in no repr, no text of an error, no pickle and no snapshot, only
in the bytes of CONNECT.
"""

from __future__ import annotations

import copy
import pickle
import time

import pytest

from jsproto.core.connection.auth import Auth, for_server
from jsproto.core.connection.connection import Connection
from jsproto.core.connection.creds import UserCreds
from jsproto.core.connection.events import Authenticate, Dial, Notice
from jsproto.core.connection.options import Options
from jsproto.core.connection.server_pool import Server, ServerPool
from jsproto.errors import JsprotoError, LocalProtocolError
from jsproto.wire.commands import Connect
from jsproto.wire.encoder import encode
from jsproto.wire.nkey import KeyKind, Seed
from jsproto.wire.secret import HiddenMapping, Secret, SecretBytes, file_name

CANARY = "cAnAry"
AUTH = Auth(
    user="u",
    password=CANARY,
    token=CANARY,
    jwt=CANARY,
    nkey="UPUBLIC",
    signature=CANARY.encode(),
    nonce=CANARY,
)
#: As it is, as base64 of the signature, and as a dumped list of bytes would show it.
SONGS = (CANARY, AUTH.sig, str(list(CANARY.encode()))[1:-1])
URL = f"nats://u:{CANARY}@a:4222,nats://{CANARY}@b:4222"


def pickled(thing):
    """Its pickle, or why there is none."""
    try:
        return pickle.dumps(thing)
    except Exception as error:  # noqa: BLE001 - whatever it says, it must not sing
        return f"{error!r} {error}".encode()


def silent(*things):
    for thing in things:
        for text in (repr(thing), str(thing), f"{thing}", ascii(thing)):
            assert not [song for song in SONGS if song in text]
        assert not [song for song in SONGS if song.encode() in pickled(thing)]
        if isinstance(thing, BaseException):
            silent(*thing.args, vars(thing), *getattr(thing, "__notes__", ()))
            if thing.__cause__ is not None:
                silent(thing.__cause__)
            if thing.__context__ is not None and not thing.__suppress_context__:
                silent(thing.__context__)


def events(connection):
    found = []
    while (event := connection.next_event()) is not None:
        found.append(event)
    return found


def test_configuration_and_commands_are_silent():
    options = Options(servers=URL, auth=AUTH)
    connect = Connect(
        user="u",
        password=CANARY,
        auth_token=CANARY,
        jwt=CANARY,
        nkey="UPUBLIC",
        sig=AUTH.sig,
        name="n",
    )

    silent(
        AUTH,
        for_server(AUTH, options.servers[0]),
        for_server(None, options.servers[0]),
        connect,
        options,
    )
    silent(*options.servers, [options], {"auth": AUTH}, Authenticate(options.servers[0], CANARY))
    assert CANARY.encode() in encode(connect)


@pytest.mark.parametrize(
    "url",
    [
        f"nats://u:{CANARY}@",
        f"nats://u:{CANARY}@:4222",
        f"nats://u:{CANARY}@h:port",
        f"nats://u:{CANARY}@h:0",
        f"nats://u:{CANARY}@h:99999",
        f"nats://u:{CANARY}@[::1",
        f"nats://u:{CANARY}@h h",
        f"nats://u:{CANARY}/x@h",
        f"nats://u:1/{CANARY}@h",
        f"nats://u:1?{CANARY}@h",
        f"nats://u:1#{CANARY}@h",
        f"nats://u:a@{CANARY}@h:x",
        f"http://u:{CANARY}@h",
    ],
)
def test_a_refused_url_is_silent(url):
    with pytest.raises(JsprotoError) as raised:
        Options(servers=url)

    silent(raised.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Auth(password=f"{CANARY}\ud800"),
        lambda: Auth(jwt=CANARY.encode()),
        lambda: Server(host="h", token=f"{CANARY}\ud800"),
        lambda: encode(Connect(password=f"{CANARY}\ud800")),
    ],
)
def test_refused_credentials_are_silent(wrong):
    with pytest.raises(JsprotoError) as raised:
        wrong()

    silent(raised.value)


@pytest.mark.parametrize(
    "holds",
    [
        AUTH,
        Options(auth=Auth(token=CANARY)),
        Options(servers=f"nats://u:{CANARY}@a"),
        Dial(Server.parse(f"nats://{CANARY}@a")),
        Connect(jwt=CANARY),
        UserCreds(jwt=CANARY, seed=Seed(KeyKind.USER, bytes(32))),
    ],
)
def test_what_holds_a_secret_is_not_pickled_and_says_what_to_do(holds):
    with pytest.raises(LocalProtocolError, match="create it again where it is needed"):
        pickle.dumps([holds])


def test_what_holds_none_is_pickled():
    for thing in (
        Auth(user="u"),
        Options(servers="nats://a:1,b:2"),
        Dial(Server(host="h")),
        Connect(name="n"),
    ):
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_a_whole_life_with_secrets_is_silent(info):
    """Static credentials, a refusal, gossip, garbage and an end: only CONNECT tells."""
    connection = Connection(
        Options(servers=URL, auth=AUTH, randomize=False), entropy=bytes, now=0.0
    )
    seen, sent = [], []
    for answer in (
        b"PONG\r\n" + info(connect_urls=["c:1"]) + b"-ERR 'Stale Connection'\r\n",
        b"-ERR 'Authorization Violation'\r\n",
        b"nonsense\r\n",
        b"PONG\r\nMSG a b c d e\r\n",
    ):
        while connection.next_deadline() is not None and connection.state.name == "WAITING":
            connection.handle_tick(connection.next_deadline())
        connection.transport_up(0.0)
        connection.receive_data(info(), 0.0)
        sent.append(connection.data_to_send())
        for line in answer.splitlines(keepends=True):
            connection.receive_data(line, 0.0)
        seen += events(connection)
        silent(connection, connection.server, connection.servers, connection.stats)
    connection.transport_down(OSError("gone"), 0.0)
    connection.close(None, 0.0)
    seen += events(connection)

    silent(*seen, *(event.detail for event in seen if isinstance(event, Notice)))
    silent(*(getattr(event, "error", None) for event in seen))
    assert all(CANARY.encode() in data for data in sent)


def test_a_failing_credential_source_may_say_what_it_likes_but_we_do_not_repeat_it(info):
    connection = Connection(Options(ask_for_credentials=True), entropy=bytes, now=0.0)
    connection.transport_up(0.0)
    connection.receive_data(info(), 0.0)
    connection.authentication_failed(ValueError(f"bad seed {CANARY}"), 0.0)
    *_, closed = events(connection)

    assert not [song for song in SONGS if song in repr(closed) + str(closed.error)]


def test_the_snapshot_of_the_pool_names_addresses_only():
    options = Options(servers=URL)
    pool = ServerPool(
        options.servers,
        entropy=bytes,
        wait=1.0,
        wait_max=1.0,
        jitter=0.0,
        jitter_tls=0.0,
        randomize=False,
    )
    pool.merge(["c:1"])

    silent(pool, pool.snapshot(), *pool.entries)
    assert CANARY.encode() not in pickle.dumps(pool.snapshot())


@pytest.mark.parametrize("secret", [Secret(CANARY), SecretBytes(CANARY.encode())])
def test_a_secret_is_text_that_shows_nothing_of_itself(secret):
    assert copy.copy(secret) is secret
    assert copy.deepcopy(secret) is secret
    assert "'***' {'a': '***'}" == f"{secret!r} { {'a': secret} }"
    assert secret in {CANARY, CANARY.encode()}
    with pytest.raises(LocalProtocolError, match="pickled"):
        pickle.dumps([secret])


def test_a_hidden_mapping_is_one_that_shows_nothing_of_itself():
    hidden = HiddenMapping({"a": CANARY})

    assert ({"a": CANARY}, 1, "{***}") == (dict(hidden), len(hidden), repr(hidden))
    with pytest.raises(LocalProtocolError, match="pickled"):
        pickle.dumps(hidden)


def test_a_holder_of_secrets_is_its_own_copy():
    assert AUTH is copy.copy(AUTH)
    assert AUTH is copy.deepcopy(AUTH)


def test_a_long_name_of_a_file_is_looked_through_in_one_pass():
    name = "eyJ-" * 100_000
    begun = time.process_time()

    assert name == file_name(name)
    assert time.process_time() - begun < 20.0  # to look from each piece to the end takes minutes
