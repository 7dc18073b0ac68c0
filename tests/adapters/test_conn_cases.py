"""Context files and slow peers as other clients met them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest

from jsproto.errors import ContextUnavailable, CredentialsUnavailable, InvalidContext
from jsproto.ops.nats_context import NatsContext
from jsproto_io import asyncio as on_asyncio
from jsproto_io import blocking
from jsproto_io.contexts import Contexts, context
from jsproto_io.credentials import CredsFile, NkeyFile
from tests.accounts import USER, creds

BOM = b"\xef\xbb\xbf"
WINDOWS = (
    '{"description":"NGS",\r\n"url":"tls://connect.example.test","token":"","user":"","password":"",\r\n'
    '"creds":"C:\\\\Users\\\\me\\\\.local\\\\x.creds","nkey":"","cert":"","key":"","ca":"","nsc":"",\r\n'
    '"jetstream_domain":"","jetstream_api_prefix":"","jetstream_event_prefix":"","inbox_prefix":"","user_jwt":""}\r\n'
)


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "nats" / "context").mkdir(parents=True)
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}


@pytest.mark.parametrize("bom", [BOM, b""])
def test_a_context_file_from_windows_n061(environ, tmp_path, bom):
    (tmp_path / "nats" / "context" / "ngs.json").write_bytes(bom + WINDOWS.encode())
    (tmp_path / "nats" / "context.txt").write_bytes(bom + b"ngs\r\n")
    found = context(environ=environ)

    assert ("ngs", "C:\\Users\\me\\.local\\x.creds") == (found.name, found.settings.creds)
    edited = found.settings.edited(description="x")
    assert edited == NatsContext.parse(edited.to_json())
    assert edited == NatsContext.parse("\ufeff" + edited.to_json())
    with pytest.raises(CredentialsUnavailable, match=r"x\.creds"):
        CredsFile(found.settings.creds).read()
    single = WINDOWS.replace("\\\\", "\\")
    with pytest.raises(InvalidContext) as caught:
        NatsContext.parse(bom + single.encode())
    assert "Users" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_byte_order_mark_in_a_file_with_a_secret_does_not_matter_n061(environ, tmp_path):
    (tmp_path / "me.creds").write_bytes(BOM + creds().replace("\n", "\r\n").encode())
    (tmp_path / "me.nk").write_bytes(BOM + USER.reveal().encode() + b"\r\n")
    (tmp_path / "password").write_bytes(BOM + b"pw\r\n")
    (tmp_path / "nats" / "context" / "x.json").write_bytes(
        BOM + json.dumps({"user": "u", "password": f"file://{tmp_path}/password"}).encode()
    )

    assert USER == CredsFile(tmp_path / "me.creds").read().seed
    assert USER == NkeyFile(tmp_path / "me.nk").read()
    assert "pw" == context("x", environ=environ).options()["auth"].password


PROFILE = '{"user_creds":"/x/usr.creds","operator":{"service":["tls://a.example.test:4222"]}}'


def test_creds_and_servers_are_looked_up_each_for_itself_n062(environ, tmp_path):
    members = {"nsc": "nsc://op/acc/usr", "creds": "/x/other.creds", "url": ""}
    (tmp_path / "nats" / "context" / "x.json").write_text(json.dumps(members))
    with pytest.raises(ContextUnavailable, match="not installed"):
        context("x", environ=environ).options()

    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nsc"
    program.write_text(f"#!/bin/sh\necho '{PROFILE}'\n")
    program.chmod(0o755)
    options = context("x", environ=environ).options()

    assert ["tls://a.example.test:4222"] == [str(each) for each in options["servers"]]
    assert CredsFile("/x/other.creds") == options["credentials"]
    saved = Contexts.of(environ).edit("x", description="new creds").settings
    assert ("nsc://op/acc/usr", None) == (saved.nsc, saved.url)


def test_a_watcher_hears_of_new_servers_and_its_exception_harms_nothing_n064(peer):
    heard = []

    def watch(_, event):
        heard.append(event)
        raise RuntimeError("of the watcher")

    def tells(line):
        line.greet(connect_urls=["127.0.0.1:1"])
        line.until_gone()

    async def main(url):
        async with on_asyncio.connect(url, watch=watch) as nc:
            return nc.connected

    there = peer(tells)
    assert asyncio.run(main(there.url))
    added = [each.detail.added for each in heard if hasattr(getattr(each, "detail", None), "added")]
    assert [["127.0.0.1"]] == [[server.host for server in change] for change in added]


def test_a_write_that_got_stuck_does_not_stop_later_ones_n067(peer):
    """The peer reads nothing until the client can write no more: behind that all frames arrive
    whole and in order.
    """
    payload = bytes(500_000)
    stuck = threading.Event()
    got = bytearray()

    def slow(line):
        line.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        line.greet()
        stuck.wait(20.0)
        while not got.endswith(b"PING\r\n"):
            got.extend(line.stream.recv(1 << 20))
        line.say(b"PONG\r\n")
        line.until_gone()

    there = peer(slow)
    with blocking.connect(there.url) as nc:
        for _ in range(20):
            nc.publish("a", payload)
            if nc.stats.bytes_out > 4_000_000:
                stuck.set()
        nc.publish("end", b"")
        nc.flush(timeout=20.0)

        assert (1, True) == (nc.stats.connects, nc.connected)
    assert (
        bytes(got) == (b"PUB a 500000\r\n" + payload + b"\r\n") * 20 + b"PUB end 0\r\n\r\nPING\r\n"
    )
