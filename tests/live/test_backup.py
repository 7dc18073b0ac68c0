"""Backups in folders on every version: put back on another server, refused when they are not whole,
and never half done unnoticed.
"""

from __future__ import annotations

import json
import os

import pytest

from jsproto.errors import InvalidConfig, InvalidResponse, LinkError
from jsproto.jetstream.api.config.stream import StreamSource
from jsproto.jetstream.api.errors import StreamNotFound
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.ops.archive import ArchiveLook, Contents
from jsproto.ops.backup import ARCHIVES, BackupAction, InvalidBackup, RestoreConflict, RestoreFailed
from jsproto_io import backup
from jsproto_io._backup import account as account_module
from jsproto_io.backup import Phase, back_up, load_consumer, load_stream, restore, save
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live


@pytest.fixture
def account(server, start_server):
    """A client of a server with three streams: one with consumers, its mirror, and one in memory."""
    own = start_server(version=server.version)
    with connect(own.url) as nc:
        js = nc.jetstream()
        orders = js.create_stream(
            name="ORDERS", subjects=["orders.*"], description="für alle", allow_direct=True
        )
        js.create_stream(name="COPY", mirror=StreamSource(name="ORDERS"), allow_direct=True)
        memory = js.create_stream(name="MEMORY", subjects=["memory"], storage="memory")
        for number in range(500):
            js.publish(f"orders.{number % 5}", b"%d" % number * 50)
        js.publish("memory", b"x")
        new = orders.create_consumer(durable_name="NEW", ack_policy="explicit")
        for _ in range(3):
            new.next().ack_confirmed()
        memory.create_consumer(durable_name="WATCH")
        orders.create_consumer(filter_subject="orders.1")  # ephemeral
        yield nc


@pytest.fixture
def there(server, start_server):
    """A client of another server of the same version."""
    with connect(start_server(version=server.version).url) as nc:
        yield nc


def everything(nc, name: str):
    with nc.jetstream().stream(name).messages.batch() as messages:
        return [(each.seq, each.subject, each.payload, each.time) for each in messages]


def test_an_account_comes_back_on_another_server(account, there, tmp_path, until, within) -> None:
    told = []
    until(lambda: account.jetstream().stream_info("COPY").state.messages == 500, account)
    with within(60.0):
        manifest = back_up(account, tmp_path / "b", tell=told.append)
        done = restore(there, tmp_path / "b", tell=told.append)

    assert [each.name for each in manifest.streams] == ["COPY", "MEMORY", "ORDERS"]
    assert {each.stream for each in done} == {"COPY", "MEMORY", "ORDERS"}
    assert done[-1].stream == "COPY"  # who reads from others comes last
    assert everything(there, "ORDERS") == everything(account, "ORDERS")
    assert everything(there, "COPY") == everything(account, "ORDERS")
    assert "NEW" in there.jetstream().stream("ORDERS").consumer_names()
    assert there.jetstream().stream("ORDERS").consumer("NEW").info().ack_floor.stream_seq == 3
    assert there.jetstream().stream("MEMORY").consumer_names() == ("WATCH",)
    assert {each.deed for each in told} >= {"backup", "check", "restore"}
    assert [each.phase for each in told].count(Phase.DONE) == 9


def test_the_folder_is_one_that_the_nats_tool_reads(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])
    place = tmp_path / "b" / "streams" / "ORDERS"

    assert sorted(each.name for each in place.iterdir() if each.name not in ARCHIVES) == [
        "backup.json",
        "consumers",
        "stream.json",
    ]
    assert set(json.loads((place / "backup.json").read_text())) == {"config", "state"}
    assert json.loads((place / "stream.json").read_text())["description"] == "für alle"
    assert load_stream(place / "stream.json").subjects == ("orders.*",)
    assert load_consumer(place / "consumers" / "NEW.json").durable_name == "NEW"

    # What the tool has written has no manifest: a folder of streams, or of one.
    (tmp_path / "b" / "jsproto.json").unlink()
    done = restore(there, tmp_path / "b" / "streams")

    assert [(each.stream, each.deed) for each in done] == [("ORDERS", BackupAction.RESTORE)]
    there.jetstream().delete_stream("ORDERS")
    with pytest.raises(InvalidBackup, match="NOPE"):
        restore(there, place, streams=["NOPE"])


def test_without_messages_streams_are_made_empty_and_those_that_are_there_brought_up_to_date(
    account, there, tmp_path
) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS", "MEMORY"], data=False)
    there.jetstream().create_stream(name="ORDERS", subjects=["orders.*"], description="old")
    there.jetstream().publish("orders.1", b"mine")
    with pytest.raises(RestoreConflict, match="is there already"):
        restore(there, tmp_path / "b")
    assert there.jetstream().stream_names() == ("ORDERS",)

    done = restore(there, tmp_path / "b", update=True)

    assert {each.stream: (each.deed, each.consumers) for each in done} == {
        "ORDERS": (BackupAction.UPDATE, ("NEW",)),
        "MEMORY": (BackupAction.CREATE, ("WATCH",)),
    }
    info = there.jetstream().stream_info("ORDERS")
    assert (info.config.description, info.state.messages) == ("für alle", 1)


def test_messages_can_be_left_out_of_a_backup_that_has_them(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])
    done = restore(there, tmp_path / "b", data=False)

    assert [each.deed for each in done] == [BackupAction.CREATE]
    assert there.jetstream().stream_info("ORDERS").state.messages == 0


def test_a_stream_that_holds_less_than_the_backup_is_in_the_way_even_of_an_update(
    account, there, tmp_path
) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])
    there.jetstream().create_stream(name="ORDERS", subjects=["orders.*"])
    with pytest.raises(RestoreConflict, match="last sequence 0 of 500") as caught:
        restore(there, tmp_path / "b", update=True)

    assert set(caught.value.conflicts) == {"ORDERS"}


def test_an_interrupted_backup_is_never_taken_for_whole(
    account, there, server, tmp_path, within
) -> None:
    def stop(progress) -> None:
        if progress.stream == "MEMORY" and progress.phase is Phase.BEGUN:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), within(30.0):
        back_up(account, tmp_path / "b", tell=stop)
    with pytest.raises(InvalidBackup, match="interrupted"):
        restore(there, tmp_path / "b")
    with pytest.raises(InvalidConfig, match="empty folder"):
        back_up(account, tmp_path / "b")

    assert there.jetstream().stream_names() == ()


def test_what_is_damaged_is_found_before_anything_is_restored(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS", "COPY"])
    (archive,) = (
        each for each in (tmp_path / "b" / "streams" / "ORDERS").iterdir() if each.name in ARCHIVES
    )
    whole = archive.read_bytes()
    archive.write_bytes(whole[:-1] + b"?")
    with pytest.raises(InvalidBackup, match="SHA-256"):
        restore(there, tmp_path / "b")
    archive.unlink()
    with pytest.raises(InvalidBackup, match="is not there"):
        restore(there, tmp_path / "b")

    assert there.jetstream().stream_names() == ()


def test_what_the_server_refuses_is_told_and_the_others_are_there(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS", "MEMORY"], data=False)
    there.jetstream().create_stream(name="OTHER", subjects=["orders.1"])
    told = []
    with pytest.raises(RestoreFailed, match="1 are not") as caught:
        restore(there, tmp_path / "b", tell=told.append)

    assert list(caught.value.failures) == ["ORDERS"]
    assert there.jetstream().stream_names() == ("MEMORY", "OTHER")
    assert [each.stream for each in told if each.phase is Phase.FAILED] == ["ORDERS"]


def test_a_link_that_is_lost_in_the_middle_says_how_far_it_was(
    account, server, start_server, tmp_path, within
) -> None:
    back_up(account, tmp_path / "b", streams=["MEMORY", "ORDERS"], data=True)
    other = start_server(version=server.version)

    def kill(progress) -> None:
        if (progress.deed, progress.stream, progress.phase) == ("restore", "ORDERS", Phase.DATA):
            other.kill()

    with (
        connect(other.url, max_reconnects=0) as nc,
        within(30.0),
        pytest.raises(LinkError) as caught,
    ):
        restore(nc, tmp_path / "b", tell=kill)

    assert any("look whether a part of ORDERS is there" in each for each in caught.value.__notes__)


def test_a_stream_that_appears_during_the_restore_is_told_as_such_n109(
    account, there, tmp_path
) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])

    def create(progress) -> None:
        if (progress.deed, progress.phase) == ("restore", Phase.BEGUN):
            there.jetstream().create_stream(name="ORDERS", subjects=["mine"])

    with pytest.raises(
        RestoreFailed, match=r"appeared during this restore.*fewer replicas"
    ) as caught:
        restore(there, tmp_path / "b", tell=create)

    assert list(caught.value.failures) == ["ORDERS"]
    assert there.jetstream().stream_info("ORDERS").config.subjects == ("mine",)
    with pytest.raises(
        RestoreConflict, match="0 messages up to sequence 0, the backup 500 up to 500"
    ):
        restore(there, tmp_path / "b")


def test_the_number_of_replicas_can_be_another_one_n109(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS", "MEMORY"], data=True)
    for file in ("backup.json", "stream.json", "consumers/NEW.json"):
        path = tmp_path / "b" / "streams" / "ORDERS" / file
        path.write_text(path.read_text().replace('"num_replicas": 1', '"num_replicas": 3'))
    with pytest.raises(RestoreFailed, match="replicas"):  # one server cannot
        restore(there, tmp_path / "b", streams=["ORDERS"])
    with pytest.raises(InvalidConfig, match="1 to 5 replicas"):
        restore(there, tmp_path / "b", replicas=0)

    restore(there, tmp_path / "b", streams=["ORDERS"], replicas=1)
    again = restore(there, tmp_path / "b", streams=["ORDERS"], replicas=1, update=True)

    assert [each.deed for each in again] == [BackupAction.UPDATE]
    info = there.jetstream().stream_info("ORDERS")
    assert (info.config.num_replicas, info.state.messages) == (1, 500)


def test_one_bad_name_keeps_every_stream_from_being_restored_n110(account, there, tmp_path) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])
    (tmp_path / "b" / "jsproto.json").unlink()
    streams = tmp_path / "b" / "streams"
    (streams / "ZZZ").mkdir()
    for each in (streams / "ORDERS").iterdir():
        if each.is_file():
            (streams / "ZZZ" / each.name).write_bytes(each.read_bytes())
    with pytest.raises(InvalidBackup, match="got 'ORDERS'"):
        restore(there, streams)

    assert there.jetstream().stream_names() == ()


def test_a_disk_that_is_full_at_the_origin_ends_the_backup_n110(
    account, there, tmp_path, monkeypatch
) -> None:
    write = account_module.written

    def full(path, text) -> None:
        if path.name == "backup.json":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(account_module, "written", full)
    with pytest.raises(OSError, match="No space left"):
        back_up(account, tmp_path / "b", streams=["ORDERS"])
    with pytest.raises(InvalidBackup, match="interrupted"):
        restore(there, tmp_path / "b")


def test_nothing_is_done_for_a_stream_that_is_not_there(account, tmp_path) -> None:
    with pytest.raises(StreamNotFound):
        back_up(account, tmp_path / "b", streams=["ORDERS", "NOPE"])

    assert not (tmp_path / "b").exists()


def test_configurations_go_to_files_and_back(account, tmp_path) -> None:
    info = account.jetstream().stream_info("ORDERS")
    save(info.config, tmp_path / "s.json")

    assert load_stream(tmp_path / "s.json") == info.config


def test_a_snapshot_that_is_refused_ends_the_backup(account, there, tmp_path) -> None:
    def delete(progress) -> None:
        if progress.phase is Phase.BEGUN:
            account.jetstream().delete_stream(progress.stream)

    with pytest.raises(StreamNotFound):
        back_up(account, tmp_path / "b", streams=["ORDERS"], tell=delete)
    with pytest.raises(InvalidBackup, match="interrupted"):
        restore(there, tmp_path / "b")


def test_a_stream_that_is_not_what_was_saved_is_a_failure(
    account, there, tmp_path, monkeypatch
) -> None:
    back_up(account, tmp_path / "b", streams=["ORDERS"])
    monkeypatch.setattr(account_module, "unlike", lambda *_: "expected 500 messages, got 499")
    with pytest.raises(RestoreFailed, match="got 499; delete it before another restore"):
        restore(there, tmp_path / "b")


def test_what_a_cluster_cannot_say_is_not_left_out_in_silence() -> None:
    for listed in (Listing(["a"], missing=["LOST"]), Listing(["a"], offline={"LOST": "why"})):
        with pytest.raises(InvalidResponse, match="LOST"):
            backup._all_there(listed)
    with pytest.raises(InvalidResponse, match="2 more"):
        backup._all_there(Listing(["a"], total=3))


def test_an_archive_with_an_error_of_the_server_in_it_is_no_backup_n107(
    account, there, tmp_path, monkeypatch
) -> None:
    failed = Contents(form="tar", error="error reading message block")
    monkeypatch.setattr(ArchiveLook, "done", lambda _: failed)
    with pytest.raises(InvalidResponse, match=r"stream 'ORDERS'.*error reading message block"):
        back_up(account, tmp_path / "b", streams=["ORDERS"])
    with pytest.raises(InvalidBackup, match="interrupted"):
        restore(there, tmp_path / "b")
    (tmp_path / "b" / "jsproto.json").unlink()
    with pytest.raises(InvalidBackup, match="error reading message block"):
        restore(there, tmp_path / "b" / "streams")

    assert there.jetstream().stream_names() == ()


def test_messages_are_counted_where_the_archive_allows_it(account, tmp_path, since) -> None:
    unchecked = back_up(account, tmp_path / "a", streams=["ORDERS"]).streams[0]
    checked = back_up(account, tmp_path / "b", streams=["ORDERS"], check=True).streams[0]

    assert (unchecked.messages, checked.messages) == (500, 500)
    assert (unchecked.checked, checked.checked) == (since(2, 15), True)
    assert (unchecked.note, checked.note) == (None, None)


@pytest.mark.parametrize("check", [False, True])
def test_messages_that_the_server_cannot_read_make_no_complete_backup_n107(
    start_server, tmp_path, check
) -> None:
    """A block of the store is cut below a server that runs; 2.15.1 leaves out what it cannot read,
    and says nothing.
    """
    server = start_server(store=tmp_path / "store")
    with connect(server.url) as nc:
        js = nc.jetstream(timeout=10.0)
        for name, age in (("KEEPS", None), ("LOSES", 3600.0)):
            js.create_stream(name=name, subjects=[name], max_age=age)
            with js.publish_window(results=False) as window:
                for number in range(3000):
                    window.put((name, b"%d" % number * 1500))
            first = min(
                (tmp_path / "store").rglob(f"streams/{name}/msgs/*.blk"),
                key=lambda path: int(path.stem),
            )
            os.truncate(first, first.stat().st_size // 3)
        with pytest.raises(
            InvalidResponse, match=r"holds \d+ of the 3000 messages.*cannot be read"
        ):
            back_up(nc, tmp_path / "b", streams=["KEEPS"], check=check)
        manifest = back_up(nc, tmp_path / "c", streams=["LOSES"], check=check)

    (saved,) = manifest.streams
    assert 0 < saved.messages < 3000
    assert f"holds {saved.messages} of the 3000 messages" in saved.note
    assert json.loads((tmp_path / "b" / "jsproto.json").read_text())["complete"] is False
