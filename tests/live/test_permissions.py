"""Each use runs with the permissions that were derived for it; without any one of them it does not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import count

import attrs
import pytest

from jsproto.errors import JsprotoError, PermissionViolation
from jsproto.jetstream.api.events.advisories import ADVISORIES, METRICS
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.ops import permissions as allow
from jsproto.ops.permissions import Permissions
from jsproto.ops.sizes import stored_size
from jsproto_io.backup import back_up, restore
from jsproto_io.blocking import Client, connect

pytestmark = pytest.mark.live

API = ApiSubjects()


def publish(nc: Client) -> None:
    nc.jetstream(timeout=0.4).publish("perm.b", b"x", retries=0)


def pull(nc: Client) -> None:
    consumer = nc.jetstream(timeout=0.4).stream("PERM").consumer("WORK")
    consumer.next(timeout=0.4).ack_confirmed(timeout=0.4)


def look_up(nc: Client) -> None:
    stream = nc.jetstream(timeout=0.4).stream("PERM")
    stream.info()
    stream.messages.last("perm.a", direct=True)
    stream.messages.by_seq(1, direct=True)


def look_up_by_api(nc: Client) -> None:
    nc.jetstream(timeout=0.4).stream("PERM").messages.by_seq(1, direct=False)


def create(nc: Client) -> None:
    stream = nc.jetstream(timeout=0.4).stream("PERM")
    made = stream.create_consumer(durable_name="MADE", ack_policy="explicit")
    made.info()
    made.delete()
    stream.create_consumer(durable_name="MADE", filter_subject="perm.a").next(
        timeout=0.4
    ).ack_confirmed(timeout=0.4)


USES: dict[str, tuple[Callable[[Client], None], Permissions]] = {
    "publish": (publish, allow.publishing(["perm.b"])),
    "pull": (pull, allow.pulling(API, "PERM", "WORK")),
    "answer": (pull, allow.pulling(API, "PERM", "WORK", responses=allow.ResponseLimits())),
    "lookup": (look_up, allow.looking_up(API, "PERM")),
    "api": (look_up_by_api, allow.looking_up(API, "PERM", direct=False)),
    "create": (create, allow.pulling(API, "PERM", "MADE", create=True)),
}


def lacking(needed: Permissions) -> list[Permissions]:
    """The same, each time without one of them."""
    less = [
        attrs.evolve(needed, publish=[each for each in needed.publish if each != out])
        for out in needed.publish
    ]
    if needed.responses is not None:
        less.append(attrs.evolve(needed, responses=None))
    return less


@pytest.fixture(scope="module")
def users() -> dict[str, Permissions]:
    made = {name: needed for name, (_, needed) in USES.items()}
    for name, (_, needed) in USES.items():
        made.update({f"{name}_{number}": less for number, less in enumerate(lacking(needed))})
    return made


@pytest.fixture
def server(start_server, users):
    lines = [
        f"{{ user: {name}, password: p, {each.as_config()} }}"
        for name, each in users.items()
        if each.publish or each.responses
    ]
    nobody = json.dumps(["nothing"])
    lines += [
        f"{{ user: {name}, password: p, permissions {{ publish {{ allow: {nobody} }} }} }}"
        for name, each in users.items()
        if not each.publish and not each.responses
    ]
    config = (
        "authorization { users: [\n" + "\n".join(lines) + "\n{ user: admin, password: p }\n] }\n"
    )
    return start_server(config=config)


def test_each_use_runs_with_its_permissions_and_not_without_any(server, users, within) -> None:
    address = server.url.removeprefix("nats://")
    with connect(f"nats://admin:p@{address}") as admin:
        stream = admin.jetstream().create_stream(
            name="PERM", subjects=["perm.*"], storage="memory", allow_direct=True
        )
        stream.create_consumer(durable_name="WORK", filter_subject="perm.a")
        for _ in range(30):
            admin.jetstream().publish("perm.a", b"x")
        for name in users:
            use = USES[name.split("_")[0]][0]
            with within(20.0), connect(f"nats://{name}:p@{address}") as nc:
                if "_" not in name:
                    use(nc)
                    continue
                with pytest.raises((JsprotoError, TimeoutError)):
                    use(nc)


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_messages_take_the_room_that_was_estimated(start_server, storage: str) -> None:
    with connect(start_server().url) as nc:
        js = nc.jetstream()
        stream = js.create_stream(name="SIZE", subjects=["size.*"], storage=storage)
        js.publish("size.a", b"hello")
        js.publish("size.bcd", b"x" * 1000, headers={"K": "v"})
        expected = stored_size("size.a", b"hello", storage=storage) + stored_size(
            "size.bcd", 1000, {"K": "v"}, storage=storage
        )

        assert stream.info().state.bytes == expected


# ---------------------------------------------------------------------------------------------- backups, events, and the servers themselves

#: Each with the permissions for the account "A"; those of the system account are beside it.
OPERATING: dict[str, Permissions] = {
    "save": allow.backing_up(API, "BIG"),
    "saveall": allow.backing_up(API),
    "restore": allow.restoring(API, "BIG"),
    "restoreall": allow.restoring(API),
    "events": allow.hearing_events(),
}
ASKING = allow.asking_servers(["VARZ", "JSZ"]) | allow.asking_servers(["INFO"], accounts=["A"])


def without_one(use: str, needed: Permissions) -> dict[str, Permissions]:
    """Users of a use: the first with what it needs, the others with all but one of that."""
    deaf = [
        attrs.evolve(needed, subscribe=[each for each in needed.subscribe if each != out])
        for out in needed.subscribe
    ]
    mute = lacking(needed)
    return {use: needed} | {f"{use}_{number}": less for number, less in enumerate(mute + deaf)}


def as_users(needed: dict[str, Permissions]) -> str:
    return "\n".join(
        f"{{ user: {name}, password: p, {each.as_config()} }}" for name, each in needed.items()
    )


@pytest.fixture
def operated(start_server):
    """``operated(version, use)``: a client of the admin, how users log in, and the users of that
    use.
    """
    opened = []

    def start(version: str, *uses: str) -> tuple[Client, Callable[[str], Client], list[str]]:
        users = {
            name: each for use in uses for name, each in without_one(use, OPERATING[use]).items()
        }
        asking = without_one("ask", ASKING)
        server = start_server(
            version=version,
            config="accounts {\n"
            f"A {{ jetstream: enabled, users: [ {{ user: admin, password: p }}\n{as_users(users)} ] }}\n"
            f"SYS {{ users: [\n{as_users(asking)}\n] }}\n}}\nsystem_account: SYS\n",
        )
        address = server.url.removeprefix("nats://")

        def log_in(user: str) -> Client:
            return connect(f"nats://{user}:p@{address}", inbox_prefix="_INBOX")

        admin = log_in("admin").__enter__()
        opened.append(admin)
        return admin, log_in, list(users or asking)

    yield start
    for each in opened:
        each.close()


def fill(admin: Client, messages: int) -> None:
    stream = admin.jetstream().create_stream(name="BIG", subjects=["big"])
    for _ in range(messages):
        admin.jetstream().publish("big", os.urandom(1_000_000))
    stream.create_consumer(durable_name="C")


@pytest.mark.parametrize("version", ["2.9.10", "2.11.11", "2.15.1"])
@pytest.mark.parametrize("use", ["save", "saveall"])
def test_a_backup_runs_with_its_permissions_and_not_without_any(
    operated, version, use, tmp_path, within
) -> None:
    streams = ["BIG"] if use == "save" else None
    admin, log_in, users = operated(version, use)
    fill(admin, 12)  # more than the server sends without hearing that some of it came
    folders, said = count(), without_one(use, OPERATING[use])
    for name in users:
        with within(20.0), log_in(name) as nc:
            folder, js = tmp_path / str(next(folders)), nc.jetstream(timeout=0.4)
            if "_" not in name:
                assert [
                    each.messages for each in back_up(nc, folder, js=js, streams=streams).streams
                ] == [12]
                continue
            if version == "2.9.10" and not any(
                "SNAPSHOT.ACK" in each for each in said[name].publish
            ):
                back_up(
                    nc, folder, js=js, streams=streams
                )  # such a server waits a moment, and sends on
                continue
            with pytest.raises((JsprotoError, TimeoutError)):
                back_up(nc, folder, js=js, streams=streams)


@pytest.mark.parametrize("version", ["2.9.10", "2.11.11", "2.15.1"])
@pytest.mark.parametrize("use", ["restore", "restoreall"])
def test_a_restore_runs_with_its_permissions_and_not_without_any(
    operated, version, use, tmp_path, within
) -> None:
    admin, log_in, users = operated(version, use)
    fill(admin, 1)
    back_up(admin, tmp_path)

    def put_back(nc: Client) -> None:
        js = nc.jetstream(timeout=1.0)
        admin.jetstream().delete_stream("BIG")
        restore(nc, tmp_path, js=js)
        restore(nc, tmp_path, js=js, update=True)
        admin.jetstream().delete_stream("BIG")
        restore(nc, tmp_path, js=js, data=False)

    for name in users:
        if "BIG" not in admin.jetstream().stream_names():
            restore(admin, tmp_path)
        with within(20.0), log_in(name) as nc:
            if "_" not in name:
                put_back(nc)
                continue
            with pytest.raises((JsprotoError, TimeoutError)):
                put_back(nc)


@pytest.mark.parametrize("version", ["2.9.10", "2.11.11", "2.15.1"])
def test_events_are_heard_with_their_permissions_and_nothing_can_be_said(
    operated, version, within
) -> None:
    admin, log_in, users = operated(version, "events")
    sampled = admin.jetstream().create_stream(name="BIG", subjects=["big"], storage="memory")
    consumer = sampled.create_consumer(durable_name="C", sample_freq="100")

    def hear(nc: Client) -> None:
        with nc.subscribe(ADVISORIES) as advisories, nc.subscribe(METRICS) as metrics:
            nc.flush()
            admin.jetstream().publish("big", b"x")
            consumer.next().ack_confirmed()
            sampled.create_consumer(durable_name="NEW").delete()
            assert advisories.next(2.0) is not None
            assert metrics.next(2.0) is not None

    for name in users:
        with within(20.0), log_in(name) as nc:
            if "_" not in name:
                hear(nc)
                before = sampled.info().state.last_seq
                nc.publish("big", b"not to be said")
                nc.flush()
                assert sampled.info().state.last_seq == before
                continue
            with pytest.raises((JsprotoError, TimeoutError)):
                hear(nc)


@pytest.mark.parametrize("version", ["2.9.10", "2.11.11", "2.15.1"])
def test_servers_are_asked_with_the_permissions_for_it_and_not_without_any(
    operated, version, within
) -> None:
    _, log_in, users = operated(version)

    def ask(nc: Client) -> None:
        system = nc.jetstream(timeout=0.4).system
        (varz,) = system.varz(expect=1)
        system.varz(server=varz.server.id)
        system.jsz(expect=1)
        system.account("A", expect=1)

    for name in users:
        with within(20.0), log_in(name) as nc:
            if "_" not in name:
                ask(nc)
                continue
            with pytest.raises((JsprotoError, TimeoutError)):
                ask(nc)


# ---------------------------------------------------------------------------------------------- what is refused is said to whom it concerns

ANSWERED = {
    "request": lambda nc, js: nc.request("somebody"),
    "request_many": lambda nc, js: list(entered(nc.request_many("somebody"))),
    "publish": lambda nc, js: js.publish("heard.a", b"x"),
    "publish_once": lambda nc, js: js.publish_once("heard.a", b"x"),
    "window": lambda nc, js: left(js.publish_window(), ("heard.a", b"x")),
    "info": lambda nc, js: js.stream_info("HEARD"),
    "names": lambda nc, js: js.stream_names(),
    "by_seq": lambda nc, js: js.stream("HEARD").messages.by_seq(1),
    "next": lambda nc, js: js.stream("HEARD").consumer("C").next(),
    "fetch": lambda nc, js: list(entered(js.stream("HEARD").consumer("C").fetch(1, expires=30.0))),
    "consume": lambda nc, js: list(entered(js.stream("HEARD").consumer("C").consume())),
    "subscribe": lambda nc, js: list(entered(js.subscribe("heard.a", stream="HEARD"))),
    "ordered": lambda nc, js: list(entered(js.stream("HEARD").ordered())),
    "read_range": lambda nc, js: list(entered(js.stream("HEARD").read_range(1, 2))),
    "snapshot": lambda nc, js: list(entered(js.stream("HEARD").snapshot())),
}


def entered(feed):
    with feed:
        yield from feed


def left(window, item):
    with window:
        window.put(item)


@pytest.mark.parametrize("version", ["2.9.10", "2.15.1"])
def test_whoever_may_not_hear_answers_is_told_so_and_waits_for_no_timeout(
    start_server, within, version
):
    barred = 'permissions { subscribe { deny: ["_INBOX.>"] } }'
    server = start_server(
        version=version,
        config=f"authorization {{ users: [ {{ user: u, password: p, {barred} }}, {{ user: admin, password: p }} ] }}",
    )
    address = server.url.removeprefix("nats://")
    with connect(f"nats://admin:p@{address}") as admin:
        admin.jetstream().create_stream(name="HEARD", subjects=["heard.*"]).create_consumer(
            durable_name="C"
        )
        admin.jetstream().publish("heard.a", b"x")
    for use in ANSWERED.values():
        with (
            within(4.0),  # less than any verb waits by itself
            connect(f"nats://u:p@{address}") as nc,
            pytest.raises(PermissionViolation, match="_INBOX"),
        ):
            use(nc, nc.jetstream())
    with connect(f"nats://u:p@{address}", inbox_prefix="mine") as nc:
        assert nc.jetstream().stream_info("HEARD").state.messages >= 1


@pytest.mark.parametrize("version", ["2.9.10", "2.15.1"])
def test_a_queue_group_that_is_refused_costs_nobody_else_his_subscription(start_server, version):
    barred = r'permissions { subscribe { deny: ["a secret", "we\\ird"] } }'
    server = start_server(
        version=version,
        config=f"authorization {{ users: [ {{ user: u, password: p, {barred} }} ] }}",
    )
    with (
        connect(f"nats://u:p@{server.url.removeprefix('nats://')}") as nc,
        nc.subscribe("a") as plain,
        nc.subscribe("a", queue="open") as queued,
        nc.subscribe("a", queue="secret") as refused,
        nc.subscribe(r"we\ird") as odd,
    ):
        for each in (refused, odd):
            with pytest.raises(PermissionViolation):
                each.next(5.0)
        nc.publish("a", b"x")

        assert [each.next(5.0).payload for each in (plain, queued)] == [b"x", b"x"]
