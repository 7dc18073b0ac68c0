"""A canary in every secret that an adapter is given: it sings in no repr, no text, no pickle, and
no error or event tells it.

And no class that is added later can forget it: a field with the name of a secret must be kept as
one.
"""

from __future__ import annotations

import gc
import importlib
import logging
import pickle
import pkgutil
import traceback
import types
from base64 import b64encode

import attrs
import pytest

import jsproto
import jsproto_io
from jsproto.core.connection.auth import Auth
from jsproto.core.connection.creds import UserCreds
from jsproto.core.connection.options import Tls
from jsproto.core.connection.server_pool import Server
from jsproto.errors import InvalidConfig, JsprotoError, LocalProtocolError
from jsproto.wire.nkey import Seed
from jsproto.wire.secret import RedactedSecret, Secret, SecretBytes
from jsproto_io._client.options import options_of
from jsproto_io._layers.tls import TlsFiles
from jsproto_io.blocking import connect
from jsproto_io.contexts import Context, NatsContext
from jsproto_io.credentials import Creds, CredsFile, NkeyFile, NkeySeed, WebSocket
from jsproto_io.testing import ModelServer
from tests.accounts import USER, creds

CANARY = "cAnAry"
TOKEN = creds().splitlines()[1]
#: What must be heard nowhere: secrets as they are, and as a list of their bytes.
SONGS = (CANARY, USER.reveal(), TOKEN, str(list(USER.raw))[1:-1], repr(bytes(USER.raw))[2:-1])
NAMES = {"password", "token", "auth_token", "jwt", "signature", "sig", "seed", "creds", "secret"}


def heard(thing):
    """Every text that a thing gives away."""
    try:
        told = repr(pickle.dumps(thing))
    except Exception as error:  # noqa: BLE001 - whatever it says, it must not sing
        told = f"{error!r} {error}"
    fields = repr(attrs.asdict(thing)) if attrs.has(type(thing)) else ""
    state = repr(thing.__getstate__()) if hasattr(thing, "__getstate__") else ""
    return "\n".join(
        (repr(thing), str(thing), f"{[thing]} {thing}", ascii({"it": thing}), told, fields, state)
    )


def silent(thing):
    text = heard(thing)
    assert [song for song in SONGS if song in text] == []


AUTH = Auth(
    user="u", password=CANARY, token=CANARY, jwt=TOKEN, nkey="U", signature=USER.raw, nonce="n"
)
SERVERS = f"nats://u:{CANARY}@127.0.0.1:1,nats://{CANARY}@127.0.0.1:2"
HOLDERS = {
    "auth": AUTH,
    "server": Server.parse(f"nats://u:{CANARY}@h"),
    "options": options_of(SERVERS, ask=False, auth=AUTH, tls=Tls.REQUIRED),
    "connect options": {"auth": AUTH, "tls_context": TlsFiles(password=CANARY)},
    "tls": TlsFiles(password=CANARY),
    "seed": USER,
    "user creds": UserCreds(jwt=TOKEN, seed=USER),
    "creds": Creds(creds()),
    "nkey": NkeySeed(USER),
    "answer": NkeySeed(USER)(Server(host="h"), "n"),
    "context": Context(
        settings=NatsContext(
            url=SERVERS,
            user="u",
            **dict.fromkeys(("password", "token", "nkey", "user_seed"), CANARY),
        ),
        environ={"SECRET": CANARY},
    ),
    "client": connect(SERVERS, auth=AUTH),
    "client of a context": connect(
        **Context(
            settings=NatsContext(
                creds=f"data:;base64,{b64encode(creds().encode()).decode()}", token=CANARY
            )
        ).options()
    ),
    "client with credentials": connect(SERVERS, credentials=Creds(creds())),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_holds_a_secret_is_silent(name):
    silent(HOLDERS[name])


@pytest.mark.parametrize("name", [name for name, each in HOLDERS.items() if attrs.has(type(each))])
def test_what_holds_a_secret_is_not_pickled(name):
    with pytest.raises(LocalProtocolError, match="expected no secret to be pickled"):
        pickle.dumps(HOLDERS[name])


def test_a_source_with_a_file_holds_no_secret_and_travels(tmp_path):
    path = tmp_path / "me.creds"
    path.write_text(creds())
    source = CredsFile(path)
    source(Server(host="h"), "n")

    assert pickle.loads(pickle.dumps(source)) == source
    assert pickle.loads(pickle.dumps(NkeyFile(path))) == NkeyFile(path)
    silent(source)


def test_the_traceback_of_what_fails_is_silent(tmp_path):
    """All that stands behind an error, also what is not shown of it."""
    path = tmp_path / "me.creds"
    path.write_text(creds()[:-150])
    attempts = (
        lambda: Creds(creds() + creds()),
        lambda: NkeySeed(USER.reveal()[:-1] + "7"),
        lambda: Seed.parse(USER.reveal()[:-1]),
        lambda: CredsFile(path).read(),
        lambda: Server.parse(f"nats://u:{CANARY}@h:port"),
        lambda: TlsFiles(certificate=path, password=CANARY).context(),
    )
    for attempt in attempts:
        with pytest.raises(JsprotoError) as caught:
            attempt()
        error = caught.value
        shown = "".join(traceback.format_exception_only(error))
        assert [song for song in SONGS if song in shown] == []
        while error is not None:
            silent(error)
            silent(vars(error))
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("wrong", [CANARY, CANARY.encode(), [CANARY]])
def test_what_a_source_is_given_by_mistake_is_not_shown(wrong):
    for make in (Creds, NkeySeed):
        with pytest.raises(JsprotoError) as caught:
            make(wrong)
        silent(caught.value)


@pytest.mark.parametrize(
    "wrong", [creds(), USER.reveal(), TOKEN, f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n"]
)
def test_what_belongs_into_a_file_is_not_shown_when_it_is_given_as_its_name(wrong):
    for make in (
        CredsFile,
        NkeyFile,
        *(lambda it, name=name: TlsFiles(**{name: it}) for name in ("ca", "certificate", "key")),
    ):
        with pytest.raises(InvalidConfig, match="expected the name of a file") as caught:
            make(wrong)
        silent(caught.value)


def test_a_connection_that_fails_tells_no_secret(peer):
    """Wrong creds, an answer with an error, an event for everybody: nothing of them sings."""

    def refuse(line):
        line.say(b'INFO {"nonce":"abc","auth_required":true}\r\n')
        line.hear(b"PING\r\n")
        line.say(b"-ERR 'Authorization Violation'\r\n")

    there = peer(refuse, refuse)
    client = connect(
        f"nats://u:{CANARY}@127.0.0.1:{there.port}",
        credentials=Creds(creds()),
        reconnect_wait=0.01,
        reconnect_jitter=0.0,
        connect_sweeps=None,
    )
    with pytest.raises(JsprotoError) as caught:
        client.__enter__()

    silent(caught.value)
    silent(client)


# ---------------------------------------------------------------------------------------------- those that come later


def attrs_classes():
    for package in (jsproto, jsproto_io):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.startswith(("jsproto.testing", "jsproto.trace")):
                continue  # what a model server expects is made up; a trace has lost its secrets, and a token in it is a reply
            module = importlib.import_module(found.name)
            for each in vars(module).values():
                if isinstance(each, type) and attrs.has(each) and each.__module__ == found.name:
                    yield each


def test_each_field_with_the_name_of_a_secret_is_kept_as_one():
    seen = set()
    for kind in attrs_classes():
        secret = [each for each in attrs.fields(kind) if each.name in NAMES and each.type != "int"]
        kept = issubclass(kind, RedactedSecret) and not any(
            each.repr for each in secret if each.type not in {"Seed", "UserCreds"}
        )
        assert not secret or kept, (
            f"{kind.__name__} shows or pickles {[each.name for each in secret]}"
        )
        seen |= {kind.__name__} if secret else set()

    assert {"Auth", "Connect", "Creds", "NkeySeed", "Server", "TlsFiles", "UserCreds"} <= seen


# ---------------------------------------------------------------------------------------------- everything that a life is made of


def reachable(thing):
    """Every object of ours that is found from a thing, whatever holds it."""
    seen, waiting = {}, [thing]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (type, types.ModuleType, types.FunctionType)):
            continue
        seen[id(each)] = each
        waiting += gc.get_referents(each)
    ours = [
        each
        for each in seen.values()
        if type(each).__module__.startswith(("jsproto.", "jsproto_io"))
    ]
    return [
        each for each in ours if not isinstance(each, (Secret, SecretBytes))
    ]  # whose text is for the server


def test_no_object_of_a_life_sings_nor_its_log_nor_its_trace(use, tmp_path, caplog):
    """Every secret at once, on every adapter; what is reached from the client is looked at while it
    is connected and behind a lost link.
    """
    caplog.set_level(logging.DEBUG)
    found, told, trace = [], [], tmp_path / "life.trace"

    def look(nc):
        found.append({type(each).__name__ for each in reachable(nc)})
        for each in reachable(nc):
            silent(each)

    def who(server, nonce):
        return Auth(
            user="u", password=CANARY, token=CANARY, jwt=TOKEN, signature=USER.raw, nonce=nonce
        )

    with ModelServer() as hosted:
        place = hosted.url.removeprefix("nats://")
        for named in ({"auth": AUTH}, {"credentials": who}):
            use(
                [f"nats://u:{CANARY}@{place}", f"nats://{CANARY}@{place}"],
                lambda nc: nc.flush(),
                look,
                lambda nc: nc.reconnect(),
                lambda nc: nc.flush(),
                look,
                **named,
                websocket=WebSocket(headers={"Authorization": CANARY}),
                watch=lambda client, event: told.append((client, event)),
                record=str(trace.with_suffix(f".{len(found)}.trace")),
            )
        assert CANARY.encode() in hosted.heard, "the server was told"

    for names in found:
        assert {"Client", "Driver", "Options", "Recorder", "Server", "WebSocket"} <= names
    for client, event in told:
        silent(client)
        silent(event)
    said = caplog.text + "".join(each.read_text() for each in tmp_path.glob("*.trace"))
    assert [song for song in SONGS if song in said] == []
    assert len(list(tmp_path.glob("*.trace"))) == 2
