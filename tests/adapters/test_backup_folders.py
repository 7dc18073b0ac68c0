"""What is found in a folder is checked before it is used; files are there as a whole or not at all. Nobody is asked here."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from jsproto.jetstream.backup import InvalidBackup
from jsproto_io._folder import found_in, placed
from jsproto_io._progress import Phase
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
    (tmp_path / "jsproto.json").write_text(json.dumps({"format": 1, "complete": True, "streams": [entry]}))
    return tmp_path


class Aside:
    """All of a client that a check needs."""

    def _aside(self, work):
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
        ("stream.tar.s2", "arch", "seen 4 bytes"),
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


def test_a_file_that_is_not_finished_is_not_at_its_place(tmp_path) -> None:
    path = tmp_path / "x"

    def broken():
        with placed(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()

    assert [each.name for each in tmp_path.iterdir()] == ["x.part"]
