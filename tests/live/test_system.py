"""The servers speak for themselves: one of each version, and three that all answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jsproto.errors import NoResponders, RequestTimeout
from jsproto.jetstream.api.events.monitoring import Healthz
from jsproto_io.blocking import connect
from tests.live.conftest import VERSIONS
from tests.ports import free_ports

pytestmark = pytest.mark.live

ACCOUNTS = """
accounts {
  SYS { users: [{user: sys, password: s}] }
  A { jetstream: enabled, users: [{user: a, password: a, permissions: {
    publish: {allow: ">", deny: never}, subscribe: ">", allow_responses: {max: 2, expires: "1s"}}}] }
}
system_account: SYS
"""


def lost(came, kept):
    """Members of an answer that its typed form does not give back; null, empty and "never" say
    nothing.
    """
    if isinstance(came, dict):
        for name, value in came.items():
            if value in (None, [], {}, "0001-01-01T00:00:00Z"):
                continue
            if name not in kept:
                yield name
            else:
                yield from (f"{name}.{each}" for each in lost(value, kept[name]))
    elif isinstance(came, list):
        for number, (one, other) in enumerate(zip(came, kept, strict=True)):
            yield from (f"[{number}].{each}" for each in lost(one, other))
    elif came != kept:
        yield f"{came!r} is {kept!r}"


def as_user(server, user: str, password: str) -> str:
    return server.url.replace("//", f"//{user}:{password}@")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_tells_the_system_account_about_itself_and_others_about_themselves(
    version, start_server, within
) -> None:
    server = start_server(version=version, config=ACCOUNTS)
    with connect(as_user(server, "a", "a")) as nc, within(20.0):
        js = nc.jetstream(timeout=1.0)
        js.create_stream(name="S", subjects=["s"]).create_consumer(durable_name="C")
        for refused in (js.system.varz, js.system.jsz):
            with pytest.raises((NoResponders, RequestTimeout)):
                refused()
        if not version.startswith("2.9"):
            me = js.system.user_info()
            told = me.read()
            assert (told.user, told.account) == ("a", "A")
            assert list(told.permissions.publish.deny) == ["never"]
            assert told.permissions.responses.ttl == timedelta(seconds=1)
            assert list(lost(me.data, told.to_wire())) == []
    with connect(as_user(server, "sys", "s")) as nc, within(20.0):
        system = nc.jetstream(timeout=2.0).system
        (varz,) = system.varz(expect=1)
        (jsz,) = system.jsz(
            account="A",
            accounts=True,
            streams=True,
            consumers=True,
            config=True,
            server=varz.server.id,
        )
        (connz,) = system.connz(subscriptions=True, expect=1)
        (health,) = system.healthz(account="A", stream="S", expect=1)
        (stats,) = system.statsz(expect=1)
        (account,) = system.account("A", expect=1)
        ill = system.ask("HEALTHZ", options={"account": "A", "stream": "NONE"}, expect=1)[0].data

    for answer in (varz, jsz, connz, health, stats, account):
        assert list(lost(answer.data, answer.read().to_wire())) == []
    assert (varz.read().version, varz.read().ping_interval) == (version, timedelta(minutes=2))
    (detail,) = jsz.read().account_details[0].stream_detail
    assert (detail.name, detail.config.subjects, detail.state.messages) == ("S", ("s",), 0)
    assert [each.config.durable_name for each in detail.consumer_detail] == ["C"]
    assert {each.lang for each in connz.read().connections} == {"python-jsproto"}
    assert health.read().well
    assert Healthz.from_wire(ill).well == version.startswith(
        "2.9"
    )  # which does not look at single streams
    assert stats.read().active_servers == 1
    assert (varz.server.ver, varz.data["version"]) == (version, version)
    assert jsz.data["streams"] == 1
    assert connz.data["num_connections"] == 1
    assert health.data["status"] == "ok"
    assert stats.data["active_servers"] == 1
    assert account.data["account_name"] == "A"


def test_all_servers_answer_and_their_number_or_silence_ends_it(
    start_server, eventually, within
) -> None:
    ports = free_ports(3)
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    servers = [
        start_server(
            jetstream=False,
            config=f"server_name: n{number}\n{ACCOUNTS.replace('jetstream: enabled, ', '')}"
            f"cluster {{ name: C1, listen: 127.0.0.1:{port}, routes: [{routes}] }}\n",
        )
        for number, port in enumerate(ports, 1)
    ]
    with connect(as_user(servers[0], "sys", "s")) as nc, within(40.0):
        system = nc.jetstream().system
        eventually(lambda: len(system.varz()) == 3, within=20.0)
        counted = system.ask("VARZ", expect=3, stall=30.0, timeout=30.0)
        chosen = system.ask("VARZ", options={"server_name": "n2"})
        (one,) = system.varz(server=counted[2].server.id)

    assert [each.server.name for each in counted] == ["n1", "n2", "n3"]
    assert [each.server.name for each in chosen] == ["n2"]
    assert one.server.name == "n3"
