"""Archives of snapshots, looked at while they pass by: both forms, errors inside, ends that are
missing, and bytes that are nothing.
"""

from __future__ import annotations

import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.jetstream.api.config.stream import StreamConfig
from jsproto.jetstream.stored.snapshot import Origin
from jsproto.ops.archive import ArchiveLook, Contents, _Block, fault_of, may_shrink, missing_in

BEGIN = b"\xff\x06\x00\x00S2sTwO"
ORIGIN = Origin({"config": {"name": "S"}, "state": {"messages": 3, "last_seq": 5}})


def framed(data: bytes, kind: int = 1, size: int = 1000) -> bytes:
    """A stream of frames; data is stored as it is."""
    frames = [data[at : at + size] for at in range(0, len(data), size)]
    return BEGIN + b"".join(
        bytes([kind]) + (len(each) + 4).to_bytes(3, "little") + b"csum" + each for each in frames
    )


def packed(*blocks: bytes) -> bytes:
    """A stream of frames that are compressed."""
    return BEGIN + b"".join(
        b"\0" + (len(each) + 4).to_bytes(3, "little") + b"csum" + each for each in blocks
    )


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def tar(*files: tuple[str, bytes], end: bool = True) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        length = archive.offset
    return out.getvalue() if end else out.getvalue()[:length]


def entry(name: str, sequence: int, payload: bytes, when: int = 0, headers: int = 0) -> bytes:
    head = b"".join(map(varint, (len(name), when, sequence, headers, len(payload) - headers)))
    return head + name.encode() + payload


def arc(messages: int, *, end: bool = True, state: object = None) -> bytes:
    told = json.dumps({"messages": messages, "last_seq": 5} if state is None else state).encode()
    out = b"NATSARC1" + entry("state.json", 0, told, 1_800_000_000_000_000_000)
    out += entry("consumers/C", 0, b"{}", 1_800_000_000_000_000_000)
    for number in range(1, messages + 1):
        out += entry(
            f"s.{number}", number, b"x" * number * 50, 1_800_000_000_000_000_000 + number, 3
        )
    return out + (b"\0" * 5 if end else b"")


def looked(data: bytes, size: int = 77) -> Contents:
    look = ArchiveLook()
    for at in range(0, len(data), size):
        look.feed(data[at : at + size])
    return look.done()


# ------------------------------------------------------------------------------------------------ what is seen

META = ("meta.inf", b'{"name": "S"}')


@pytest.mark.parametrize("size", [1, 77, 100_000])
def test_an_error_that_the_server_wrote_into_a_tar_is_seen_n107(size) -> None:
    whole = tar(META, ("meta.sum", b"1"), ("msgs/1.blk", b"m" * 5000))
    failed = tar(
        META,
        ("meta.sum", b"1"),
        ("msgs/1.blk", b"m" * 5000),
        ("errors.txt", b"error reading message block"),
    )

    assert looked(framed(whole), size) == Contents(form="tar", about={"name": "S"})
    assert looked(framed(failed), size).error == "error reading message block"
    assert fault_of(looked(framed(whole)), ORIGIN) == ""
    assert "error reading message block" in fault_of(looked(framed(failed)), ORIGIN)


def test_an_error_without_a_text_is_one_and_may_stand_anywhere_n107() -> None:
    assert looked(framed(tar(("errors.txt", b""), META))).error == "an error without a text"


@pytest.mark.parametrize("size", [1, 77, 100_000])
def test_messages_of_the_form_of_2_15_are_counted(size) -> None:
    contents = looked(framed(arc(3)), size)

    assert (contents.form, contents.complete, contents.messages) == ("arc", True, 3)
    assert contents.about == {"messages": 3, "last_seq": 5}
    assert (fault_of(contents, ORIGIN), missing_in(contents, ORIGIN)) == ("", "")


@pytest.mark.parametrize(
    "data", [arc(3, end=False), arc(3)[:-30], tar(META)[:700], arc(0, end=False)]
)
def test_an_archive_without_its_end_is_not_complete(data) -> None:
    assert fault_of(looked(framed(data)), ORIGIN) == "the end of the archive is missing"


def test_a_frame_that_is_cut_is_not_complete() -> None:
    assert not looked(framed(arc(3))[:-1]).complete
    assert not looked(framed(arc(3)) + b"\0").complete
    assert looked(
        framed(arc(3)) + b"\xfe\x02\x00\x00pp" + BEGIN
    ).complete  # padding, and a beginning once more


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (looked(framed(tar(("meta.inf", b'{"name": "T"}')))), "of the stream 'T'"),
        (looked(framed(arc(2))), "2 messages up to sequence 5"),
        (looked(framed(arc(3, state=[]))), ""),
        (looked(framed(tar(("meta.inf", b"?"), ("msgs/1.blk", b"")))), ""),
    ],
)
def test_an_archive_must_belong_to_what_lies_beside_it_n110(contents, words) -> None:
    assert contents.form
    assert words in fault_of(contents, ORIGIN)
    assert bool(words) == bool(fault_of(contents, ORIGIN))


def test_messages_that_are_missing_are_told_in_words() -> None:
    state = {"messages": 3, "last_seq": 5}

    assert "holds 1 of the 3 messages" in missing_in(looked(framed(arc(1, state=state))), ORIGIN)
    assert missing_in(Contents(form="tar"), ORIGIN) == ""


@pytest.mark.parametrize(
    ("settings", "shrinks"),
    [
        ({}, False),
        ({"max_msgs": -1, "max_bytes": 0, "retention": "limits"}, False),
        ({"max_age": 10**9}, True),
        ({"max_msgs": 5}, True),
        ({"max_msgs_per_subject": 1}, True),
        ({"retention": "workqueue"}, True),
        ({"retention": "interest"}, True),
        ({"allow_msg_ttl": True}, True),
        ({"allow_rollup_hdrs": True}, True),
    ],
)
def test_only_some_streams_lose_messages_by_themselves(settings, shrinks) -> None:
    assert may_shrink(StreamConfig.from_wire({"name": "S", **settings})) is shrinks


# ------------------------------------------------------------------------------------------------ what is not understood


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\x06",
        b"archive of another kind",
        BEGIN,
        framed(b"x" * 600),
        framed(arc(3), kind=2),
        packed(b"\x80\x80\x80\x80\x08" + b"\x00"),  # would unpack to 2 GB
        packed(b"\x10\x00a\x09\x05"),  # a copy of what is before the beginning
        packed(b"\x10\x00a\x15\x00"),  # a copy as far back as before, where there was none
        packed(b"\x02\x00a\x1e\x01\x00"),  # a copy of more than it unpacks to
        packed(b"\x10\x3cab"),  # a literal that is cut
        packed(b"\x10"),
        packed(b"\x80"),
        framed(b"NATSARC1" + b"".join(map(varint, (2**21, 1, 0, 0, 1)))),
        framed(tar(META)[:140] + b"?" * 600),
        framed(b"x" * 120 + b"0000000 1234" + b"x" * 16 + b"0000123\0" + b"y" * 500),
        framed(b"x" * 124 + b"00000000017\0" + b"x" * 12 + b"0000123\0" + b"y" * 500),
    ],
)
def test_what_is_not_understood_is_not_judged(data) -> None:
    for size in (1, 100_000):
        contents = looked(data, size)

        assert contents == Contents()
        assert (fault_of(contents, ORIGIN), missing_in(contents, ORIGIN)) == ("", "")


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data) -> None:
    looked(data)
    looked(BEGIN + data)
    looked(packed(data))
    looked(framed(b"NATSARC1" + data, size=7))


# ------------------------------------------------------------------------------------------------ compression


def test_every_kind_of_literal_and_copy_is_unpacked() -> None:
    """One block whose text is known, with each way to write a length and an offset."""
    block, text = b"", b""

    def literal(data: bytes, wide: int = 0) -> None:
        nonlocal block, text
        length = len(data) - 1
        block += (
            bytes([(59 + wide) << 2]) + length.to_bytes(wide, "little")
            if wide
            else bytes([length << 2])
        )
        block += data
        text += data

    def copied(head: bytes, offset: int, length: int) -> None:
        nonlocal block, text
        block += head
        for _ in range(length):
            text += text[-offset : len(text) - offset + 1]

    literal(b"NATSARC1")
    literal(entry("state.json", 0, b"{}")[:20])
    literal(b"z" * 70, wide=1)
    literal(b"abcdefgh" * 40, wide=2)
    literal(b"q", wide=3)
    literal(b"r", wide=4)
    copied(bytes([1 | (5 - 4) << 2 | (300 >> 8) << 5, 300 & 0xFF]), 300, 5)
    copied(bytes([2 | (40 - 1) << 2]) + (9).to_bytes(2, "little"), 9, 40)
    copied(bytes([3 | (20 - 1) << 2]) + (100).to_bytes(4, "little"), 100, 20)
    copied(bytes([1 | 2 << 2, 0]), 100, 6)
    copied(bytes([1 | 5 << 2, 0, 3]), 100, 3 + 8)
    copied(bytes([1 | 6 << 2, 0, 3, 0]), 100, 3 + 260)
    copied(bytes([1 | 7 << 2, 0, 3, 0, 0]), 100, 3 + 65540)
    copied(bytes([1 | (4 - 4) << 2, 1]), 1, 4)

    blob = text[8:]
    inside = _unpacked(varint(len(text)) + block)

    assert inside == b"NATSARC1" + blob


def _unpacked(block: bytes) -> bytes:
    found = _Block(block, packed=True)
    parts = [found.part(at, at + 999) for at in range(0, found.size, 999)]
    return b"".join(parts)


def test_a_packed_archive_is_counted() -> None:
    data = arc(3)
    block = varint(len(data)) + bytes([61 << 2]) + (len(data) - 1).to_bytes(2, "little") + data

    assert looked(packed(block)).messages == 3


def test_a_large_file_is_passed_over() -> None:
    head = bytearray(tar(("msgs/1.blk", b""))[:512])
    head[124:136] = b"\x80" + (9 * 2**30).to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)

    assert not looked(framed(bytes(head) + b"x" * 5000)).complete


def test_a_large_state_is_passed_over() -> None:
    data = (
        b"NATSARC1"
        + entry("state.json", 0, b"x" * (2**20 + 1))
        + entry("", 0, b"only a payload")
        + b"\0" * 5
    )

    assert looked(framed(data, size=2**16), 2**15) == Contents(form="arc", messages=0)
