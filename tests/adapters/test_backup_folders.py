"""What is found in a folder is checked before it is used; files are there as a whole or not at all.
Nobody is asked here.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from jsproto.ops.backup import InvalidBackup
from jsproto_io._backup.folder import found_in, placed
from jsproto_io._backup.progress import Phase
from jsproto_io.backup import _checked

ORIGIN = {"config": {"name": "S"}, "state": {"messages": 1, "last_seq": 1}}
DATA = b"archive"


@pytest.fixture
def backup(tmp_path):
    """A backup of one stream with a consumer."""
    place = tmp_path / "streams" / "S"
    (place / "consumers").mkdir(parents=True)
    (place / "stream.tar.s2").write_bytes(DATA)
    (place / "backup.json").write_text(json.dumps(ORIGIN))
    (place / "stream.json").write_text(json.dumps(ORIGIN["config"]))
    (place / "consumers" / "C.json").write_text('{"durable_name": "C"}')
    entry = {
        "name": "S",
        "consumers": ["C"],
        "archive": "stream.tar.s2",
        "size": len(DATA),
        "sha256": sha256(DATA).hexdigest(),
    }
    (tmp_path / "jsproto.json").write_text(
        json.dumps({"format": 1, "complete": True, "streams": [entry]})
    )
    return tmp_path


class Aside:
    """All of a client that a check needs."""

    def _run_in_thread(self, work):
        return work()


def checked(found, tell):
    _checked(Aside(), found, tell)


def told_of(folder):
    told = []
    checked(found_in(folder, None), told.append)
    return told


def test_a_whole_backup_is_found_and_checked(backup) -> None:
    told = told_of(backup)

    assert [(each.deed, each.stream, each.phase, each.bytes, each.total) for each in told] == [
        ("check", "S", Phase.BEGUN, 0, 7),
        ("check", "S", Phase.DATA, 7, 7),
        ("check", "S", Phase.DONE, 7, 7),
    ]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("stream.json", '{"name": "OTHER"}', "expected stream 'S'"),
        ("stream.json", "?", "JSON"),
        ("backup.json", '{"config": {"name": "OTHER"}, "state": {}}', "expected stream 'S'"),
        ("backup.json", None, "is not there"),
        ("consumers/C.json", '{"durable_name": "D"}', "expected consumer 'C'"),
        ("consumers/C.json", None, "is not there"),
        ("stream.tar.s2", "archivE", "SHA-256"),
        ("stream.tar.s2", "arch", "got 4 bytes"),
        ("stream.tar.s2", None, "is not there"),
    ],
)
def test_what_is_missing_damaged_or_at_another_place_is_refused(backup, file, text, words) -> None:
    path = backup / "streams" / "S" / file
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(InvalidBackup, match=words):
        told_of(backup)


def test_an_archive_knows_its_configuration_too(backup) -> None:
    (backup / "streams" / "S" / "stream.json").unlink()

    ((_, entry, config),) = found_in(backup, ["S"])

    assert (entry.name, config.name) == ("S", "S")

    text = (backup / "jsproto.json").read_text().replace('"stream.tar.s2"', "null")
    (backup / "jsproto.json").write_text(text)
    with pytest.raises(InvalidBackup, match=r"stream\.json"):
        found_in(backup, None)


def test_what_the_nats_tool_wrote_is_found_without_a_digest(backup) -> None:
    (backup / "jsproto.json").unlink()
    place = backup / "streams" / "S"

    for folder in (backup / "streams", place):
        ((where, entry, _),) = found_in(folder, None)

        assert (where, entry.archive, entry.size, entry.sha256) == (place, "stream.tar.s2", 7, "")

    (place / "stream.tar.s2").write_bytes(b"cut")

    assert told_of(place)[-1].phase is Phase.DONE

    (place / "stream.arc.s2").write_bytes(b"two")
    with pytest.raises(InvalidBackup, match="expected one archive"):
        found_in(place, None)


def test_a_folder_without_a_backup_is_none(tmp_path) -> None:
    with pytest.raises(InvalidBackup, match="or a manifest"):
        found_in(tmp_path, None)
    with pytest.raises(InvalidBackup, match="is none"):
        found_in(tmp_path / "nowhere", None)


def test_a_name_in_a_manifest_stays_in_the_folder(backup) -> None:
    text = (backup / "jsproto.json").read_text().replace('"name": "S"', '"name": "../../S"')
    (backup / "jsproto.json").write_text(text)
    with pytest.raises(InvalidBackup, match="%2E%2E%2F"):
        checked(found_in(backup, None), lambda _: None)


def saved_by_the_tool(folder, name):
    """What ``nats stream backup`` writes of a stream of this name into this folder."""
    folder.mkdir(parents=True)
    (folder / "stream.tar.s2").write_bytes(DATA)
    (folder / "backup.json").write_text(json.dumps({**ORIGIN, "config": {"name": name}}))


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("A.B", "A.B"),
        ("*", "*"),
        ("../x", "x"),
        ("", "x"),
        ("OTHER", "ZZZ"),
        ("A\r\nPUB x", "A\r\nPUB x"),
    ],
)
def test_a_name_that_is_none_or_not_that_of_its_folder_is_refused_with_the_others_n110(
    tmp_path, name, folder
) -> None:
    saved_by_the_tool(tmp_path / "AAA", "AAA")
    saved_by_the_tool(tmp_path / folder, name)
    for root in (tmp_path, tmp_path / folder):
        with pytest.raises(InvalidBackup) as caught:
            found_in(root, None)

        assert not {"\r", "\n"} & set(str(caught.value))


def test_a_stream_in_a_folder_of_another_name_is_believed_if_it_is_named(tmp_path) -> None:
    saved_by_the_tool(tmp_path / "monday", "ORDERS")
    with pytest.raises(InvalidBackup, match="name the stream"):
        found_in(tmp_path / "monday", None)

    ((_, entry, _),) = found_in(tmp_path / "monday", ["ORDERS"])

    assert entry.name == "ORDERS"


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "A.B"},
        {"name": "S\r\nPUB x 0"},
        {"name": "S", "consumers": ["a.b"]},
        {"name": "S", "consumers": ["a\r\nb"]},
    ],
)
def test_no_name_in_a_manifest_can_add_a_token_or_a_line(backup, entry) -> None:
    manifest = {"format": 1, "complete": True, "streams": [entry]}
    (backup / "jsproto.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidBackup) as caught:
        found_in(backup, None)

    assert not {"\r", "\n"} & set(str(caught.value))


def test_a_wanted_name_is_shown_without_its_line_breaks(backup) -> None:
    with pytest.raises(InvalidBackup, match=r"'A\\r\\nB'"):
        found_in(backup, ["A\r\nB"])


def test_a_part_of_an_interrupted_backup_is_refused_as_the_whole_is(backup, monkeypatch) -> None:
    text = (backup / "jsproto.json").read_text()
    (backup / "jsproto.json").write_text(text.replace("true", "false"))
    monkeypatch.chdir(backup / "streams" / "S")
    for root in (backup, backup / "streams", backup / "streams" / "S", Path(), Path("..")):
        with pytest.raises(InvalidBackup, match="interrupted"):
            found_in(root, None)


def test_a_part_of_a_whole_backup_is_checked_with_its_digest(backup) -> None:
    for root in (backup / "streams", backup / "streams" / "S"):
        ((_, entry, _),) = found_in(root, None)

        assert entry.sha256 == sha256(DATA).hexdigest()
    (backup / "streams" / "T").mkdir()
    with pytest.raises(InvalidBackup, match="got none"):
        found_in(backup / "streams" / "T", None)


@pytest.mark.parametrize("part", ["stream.json", "stream.tar.s2", "backup.json.part", "consumers"])
def test_a_stream_without_its_origin_is_no_reason_to_restore_the_others_in_silence(
    tmp_path, part
) -> None:
    saved_by_the_tool(tmp_path / "AAA", "AAA")
    (tmp_path / "lost+found").mkdir()
    assert len(found_in(tmp_path, None)) == 1

    (tmp_path / "BBB").mkdir()
    (tmp_path / "BBB" / part).touch()
    with pytest.raises(InvalidBackup, match=r"BBB/backup\.json' beside .* is not complete"):
        found_in(tmp_path, None)


def test_a_file_of_another_form_is_told_with_its_name_and_form(tmp_path) -> None:
    saved_by_the_tool(tmp_path / "S", "S")
    old = {"type": "stream", "time": "2020", "configuration": "e30=", "checksum": "x"}
    for members, words in ((old, "an old nats tool"), ({"x": 1}, "got 'x': this is another form")):
        (tmp_path / "S" / "backup.json").write_text(json.dumps(members))
        with pytest.raises(InvalidBackup, match=rf"'config' and 'state'.*S/backup\.json'.*{words}"):
            found_in(tmp_path, None)


def test_a_file_that_is_not_finished_is_not_at_its_place(tmp_path) -> None:
    path = tmp_path / "x"

    def broken():
        with placed(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()

    assert [each.name for each in tmp_path.iterdir()] == ["x.part"]
