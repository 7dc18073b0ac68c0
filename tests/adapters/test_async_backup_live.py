"""Backups by clients with ``await``: there and back between two servers, each wait can be given up,
and the loop goes on meanwhile.
"""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest

from jsproto.errors import LinkError
from jsproto.ops.backup import BackupAction, InvalidBackup, RestoreFailed
from jsproto_io import blocking
from jsproto_io._testing.nats_server import NatsServer
from jsproto_io.async_backup import Phase, back_up, restore

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def two(server_binary_of):
    """Two servers; on the first a stream with a consumer and 300 messages."""
    with (
        NatsServer(server_binary_of("2.15.1")) as first,
        NatsServer(server_binary_of("2.15.1")) as second,
    ):
        with blocking.connect(first.url) as nc:
            js = nc.jetstream()
            stream = js.create_stream(name="ORDERS", subjects=["orders.*"], allow_direct=True)
            stream.create_consumer(durable_name="NEW")
            with js.publish_window() as window:
                for number in range(300):
                    window.put((f"orders.{number % 3}", b"%d" % number * 100))
        yield first, second


async def everything(nc):
    async with nc.jetstream().stream("ORDERS").messages.batch() as messages:
        return [(each.seq, each.subject, each.payload, each.time) async for each in messages]


def test_a_stream_comes_back_on_another_server(flavour, two, tmp_path):
    first, second = two
    told, here = [], threading.get_ident()

    def tell(progress):
        assert threading.get_ident() == here
        told.append((progress.deed, progress.phase))

    async def story():
        async with flavour.connect(first.url) as source, flavour.connect(second.url) as target:
            turns = 0

            async def others():
                nonlocal turns
                while True:
                    turns += 1
                    await anyio.lowlevel.checkpoint()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(others)
                manifest = await back_up(source, tmp_path / "b", tell=tell)
                (done,) = await restore(target, tmp_path / "b", tell=tell)
                tasks.cancel_scope.cancel()
            (again,) = await restore(target, tmp_path / "b", update=True)

            assert [(each.name, each.messages) for each in manifest.streams] == [("ORDERS", 300)]
            assert (done.deed, done.consumers, again.deed) == (
                BackupAction.RESTORE,
                (),
                BackupAction.UPDATE,
            )
            assert await everything(target) == await everything(source)
            assert await target.jetstream().stream("ORDERS").consumer_names() == ("NEW",)
            assert turns > 20
            await target.jetstream().delete_stream("ORDERS")

    flavour.play(story)

    assert {deed for deed, _ in told} == {"backup", "check", "restore"}
    assert [phase for _, phase in told].count(Phase.DONE) == 3


def test_a_backup_that_was_cancelled_is_never_taken_for_whole(flavour, two, tmp_path):
    first, second = two

    async def story():
        async with flavour.connect(first.url) as source, flavour.connect(second.url) as target:
            with anyio.CancelScope() as scope:
                await back_up(source, tmp_path / "b", tell=lambda _: scope.cancel())

            assert scope.cancelled_caught
            with pytest.raises(InvalidBackup, match="interrupted"):
                await restore(target, tmp_path / "b")
            assert await target.jetstream().stream_names() == ()

    flavour.play(story)


def test_without_messages_streams_are_made_empty(flavour, two, tmp_path):
    first, second = two

    async def story():
        async with flavour.connect(first.url) as source, flavour.connect(second.url) as target:
            await back_up(source, tmp_path / "b", streams=["ORDERS"], data=False)
            (done,) = await restore(target, tmp_path / "b")
            info = await target.jetstream().stream_info("ORDERS")

            assert (done.deed, done.consumers, info.state.messages) == (
                BackupAction.CREATE,
                ("NEW",),
                0,
            )
            await target.jetstream().delete_stream("ORDERS")

    flavour.play(story)


def test_what_the_server_refuses_is_told_and_what_is_damaged_is_found_before(
    flavour, two, tmp_path
):
    first, second = two
    told = []

    async def story():
        async with flavour.connect(first.url) as source, flavour.connect(second.url) as target:
            await back_up(source, tmp_path / "b")
            await target.jetstream().create_stream(name="OTHER", subjects=["orders.1"])
            with pytest.raises(RestoreFailed, match="1 are not") as caught:
                await restore(target, tmp_path / "b", data=False, tell=told.append)

            assert list(caught.value.failures) == ["ORDERS"]
            assert [each.stream for each in told if each.phase is Phase.FAILED] == ["ORDERS"]

            await target.jetstream().delete_stream("OTHER")
            (archive,) = (tmp_path / "b" / "streams" / "ORDERS").glob("stream.*.s2")
            archive.write_bytes(archive.read_bytes()[:-1] + b"?")
            with pytest.raises(InvalidBackup, match="SHA-256"):
                await restore(target, tmp_path / "b")
            assert await target.jetstream().stream_names() == ()

    flavour.play(story)


def test_a_link_that_is_lost_in_the_middle_says_how_far_it_was(
    flavour, two, tmp_path, start_server
):
    other = start_server()

    def kill(progress):
        if (progress.deed, progress.phase) == ("restore", Phase.DATA):
            other.kill()

    async def story():
        async with flavour.connect(two[0].url) as source:
            await back_up(source, tmp_path / "b")
        async with flavour.connect(other.url, max_reconnects=0) as target:
            with pytest.raises(LinkError) as caught:
                await restore(target, tmp_path / "b", tell=kill)

            assert any(
                "look whether a part of ORDERS is there" in each for each in caught.value.__notes__
            )

    flavour.play(story)
