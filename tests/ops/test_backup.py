"""Backups as folders, without a file: names, texts, the manifest, and what a restore would do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.api.config.consumer import ConsumerConfig
from jsproto.jetstream.api.config.stream import StreamConfig, StreamInfo, StreamState
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.backup import (
    BackupAction,
    InvalidBackup,
    Manifest,
    RestoreConflict,
    SavedStream,
    appeared,
    archive_name,
    as_file,
    file_name,
    planned,
    read_consumer_file,
    read_manifest,
    read_origin,
    read_stream_file,
    unlike,
)


def manifest(**members: object) -> bytes:
    return json.dumps(
        {"format": 1, "complete": True, "streams": [{"name": "S"}], **members}
    ).encode()


def saved(name: str, **members: object) -> SavedStream:
    return SavedStream(name=name, **members)


def config(name: str, **settings: object) -> StreamConfig:
    return StreamConfig.from_wire({"name": name, **settings})


def there(name: str, last_seq: int = 0) -> dict[str, StreamInfo]:
    return {name: StreamInfo(config=config(name), state=StreamState(last_seq=last_seq))}


# ------------------------------------------------------------------------------------------------ names and texts


@pytest.mark.parametrize("name", ["ORDERS", "KV_my-bucket", "a=b", "OBJ_x+1", "a b"])
def test_names_that_harm_nobody_stay_as_they_are(name) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("a\\b", "a%5Cb"),
        ("a:b", "a%3Ab"),
        ("100%", "100%25"),
        ("é", "%C3%A9"),
        ("-rf", "%2Drf"),
        (" x ", "%20x%20"),
        ("CON", "%43ON"),
        ("con", "%63on"),
        ("com1", "%63om1"),
        ("nul\x00", "nul%00"),
    ],
)
def test_names_that_a_file_system_could_misunderstand_are_escaped(name, file) -> None:
    assert file_name(name) == file


@given(st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=2, unique=True))
def test_no_name_leads_out_and_no_two_names_meet(names) -> None:
    try:
        files = [file_name(each) for each in names]
    except UnicodeEncodeError:
        return  # a lone surrogate: no name of a stream can have it

    assert files[0] != files[1]
    for each in files:
        assert each
        assert each.isascii()
        assert not {"/", "\\", ".", "\x00", ":"} & set(each)


@pytest.mark.parametrize(
    ("version", "name"),
    [("2.15.1", "stream.arc.s2"), ("2.15.0-RC.1", "stream.arc.s2"), ("3.0.0", "stream.arc.s2")]
    + [(each, "stream.tar.s2") for each in ("2.14.3", "2.9.10", "", "dev")],
)
def test_an_archive_is_called_as_the_nats_tool_calls_it(version, name) -> None:
    assert archive_name(version) == name


def test_configurations_survive_their_files_with_what_we_do_not_know() -> None:
    stream = config("S", subjects=["s.*"], max_age=5, description="für", new_setting={"x": 1})
    consumer = ConsumerConfig(durable_name="C", ack_policy="explicit")

    assert read_stream_file(as_file(stream)) == stream
    assert read_consumer_file(as_file(consumer)) == consumer
    assert "für" in as_file(stream).decode()
    assert as_file(stream).endswith(b"}\n")


def test_a_configuration_is_found_in_what_the_tool_prints_of_a_stream() -> None:
    printed = json.dumps({"config": {"name": "S"}, "state": {}}).encode()

    assert read_stream_file(printed).name == "S"
    assert read_origin(printed).state == StreamState()
    assert json.loads(as_file(Origin({"config": {"name": "S"}}))) == {"config": {"name": "S"}}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_stream_file, b"no json"),
        (read_stream_file, b"{}"),
        (read_stream_file, b'{"name": 3}'),
        (read_consumer_file, b"[]"),
        (read_origin, b"?"),
        (read_origin, b'{"config": {"name": "S"}, "state": 3}'),
        (read_origin, b'{"state": {}}'),
        (read_manifest, b""),
        (read_manifest, manifest(format=2)),
        (read_manifest, manifest(complete=False)),
        (read_manifest, manifest(streams=[{"name": "S", "archive": "../../etc/passwd"}])),
        (read_manifest, manifest(streams=[{"name": "S"}, {"name": "S"}])),
        (read_manifest, manifest(streams=[{"name": "\ud800"}])),
        (read_manifest, manifest(streams=[{"name": "S", "consumers": [">"]}])),
        (read_origin, b"{}"),
        (read_origin, b'{"config": {"name": ""}, "state": {}}'),
    ],
)
def test_what_is_no_backup_is_refused(read, text) -> None:
    with pytest.raises(InvalidBackup):
        read(text)


def test_a_manifest_survives_its_file() -> None:
    whole = Manifest(format=1, complete=True, streams=[saved("S", archive="stream.tar.s2", size=7)])

    assert read_manifest(as_file(whole)) == whole


# ------------------------------------------------------------------------------------------------ the plan


def test_streams_that_others_read_from_come_first() -> None:
    plan = planned(
        [
            (saved("A", archive="stream.arc.s2"), config("A", mirror={"name": "C"})),
            (saved("B"), config("B", sources=[{"name": "C"}])),
            (saved("C"), config("C")),
        ],
        {},
        update=False,
    )

    assert [(each.name, deed) for each, deed in plan] == [
        ("C", BackupAction.CREATE),
        ("A", BackupAction.RESTORE),
        ("B", BackupAction.CREATE),
    ]


def test_what_is_there_is_in_the_way_or_brought_up_to_date() -> None:
    wanted = [(saved("S", archive="stream.arc.s2", last_seq=5), config("S"))]
    with pytest.raises(RestoreConflict, match="'S' is there already"):
        planned(wanted, there("S", 5), update=False)

    assert planned(wanted, there("S", 5), update=True) == ((wanted[0][0], BackupAction.UPDATE),)


def test_what_is_in_the_way_is_compared_with_the_backup_and_the_ways_out_are_named_n109() -> None:
    wanted = [(saved("S", archive="stream.arc.s2", messages=3, last_seq=5), config("S"))]
    more = {"S": StreamInfo(config=config("S"), state=StreamState(messages=7, last_seq=9))}
    with pytest.raises(RestoreConflict) as caught:
        planned(wanted, more, update=False)
    why = caught.value.conflicts["S"]

    assert "it holds 7 messages up to sequence 9, the backup 3 up to 5" in why
    assert all(
        way in why for way in ("update=True", "delete it first", "another account or domain")
    )

    assert r"'A\nB' appeared during this restore" in appeared("A\nB")
    with pytest.raises(RestoreConflict, match="up to sequence 9, the backup none"):
        planned([(saved("S"), config("S"))], more, update=False)


@pytest.mark.parametrize("update", [True, False])
def test_what_an_interrupted_restore_has_left_is_in_the_way_in_any_case(update) -> None:
    wanted = [(saved("S", archive="stream.arc.s2", last_seq=5), config("S"))]
    with pytest.raises(RestoreConflict, match="last sequence 4 of 5") as caught:
        planned(wanted, there("S", 4), update=update)

    assert list(caught.value.conflicts) == ["S"]
    assert RestoreConflict("x").conflicts == {}


@pytest.mark.parametrize(
    ("seen", "settings", "words"),
    [
        ({"messages": 5, "last_seq": 9}, {}, ""),
        ({"messages": 5, "last_seq": 8}, {}, "expected last sequence 9, got 8"),
        ({"messages": 4, "last_seq": 9}, {}, "expected 5 messages, got 4"),
        ({"messages": 4, "last_seq": 9}, {"max_age": 1}, ""),
        ({"messages": 6, "last_seq": 9}, {"max_age": 1}, "expected 5 messages, got 6"),
        ({"messages": 4, "last_seq": 9}, {"allow_msg_ttl": True}, ""),
    ],
)
def test_a_restored_stream_is_compared_and_only_age_excuses(seen, settings, words) -> None:
    state = StreamState(messages=5, last_seq=9)

    assert unlike(state, StreamState(**seen), config("S", **settings)) == words
