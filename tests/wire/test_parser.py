import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.errors import LocalProtocolError, RemoteProtocolError
from jsproto.wire.frames import Control, Err, Info
from jsproto.wire.parser import Parser

PING, PONG, OK = Control.PING, Control.PONG, Control.OK


def parsed(*chunks: bytes, **options) -> list:
    """All frames of a sound stream."""
    parser = Parser(**options)
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    assert parser.failure is None, parser.failure
    assert parser.held == 0
    return frames


def result(chunks, **options) -> tuple[list, bool]:
    parser = Parser(**options)
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    return frames, parser.failure is not None


def bytewise(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


# ------------------------------------------------------------------------------------------------ the reported bugs


def test_b124_an_empty_payload_is_complete_with_its_last_byte():
    parser = Parser()

    assert parser.feed(b"MSG foo 2 0\r\n\r") == []
    assert parser.feed(b"\n") == [("2", "foo", "", None, b"")]


MIXED = (
    b'INFO {"server_id":"x","max_payload":5} \r\n'
    b"MSG a 1 0\r\n\r\n"
    b"MSG a 1 r.x 1\r\nX\r\n"
    b"MSG a 1 20000\r\n" + bytes(range(256)) * 78 + b"\r\n" * 16 + b"\r\n"
    b"HMSG h 22 _INBOX.1 14 19\r\nNATS/1.0 1\r\n\r\n\r\n\r\nx\r\n"
    b"HMSG h 22  12 12\r\nNATS/1.0\r\n\r\n\r\n"
    b"PING\r\n+OK\r\n-ERR 'Stale Connection'\r\nPONG\r\n"
)
MIXED_FRAMES = [
    Info(server_id="x", max_payload=5),
    ("1", "a", "", None, b""),
    ("1", "a", "r.x", None, b"X"),
    ("1", "a", "", None, bytes(range(256)) * 78 + b"\r\n" * 16),
    ("22", "h", "_INBOX.1", b"NATS/1.0 1\r\n\r\n", b"\r\n\r\nx"),
    ("22", "h", "", b"NATS/1.0\r\n\r\n", b""),
    PING,
    OK,
    Err("Stale Connection"),
    PONG,
]


def test_b125_frames_and_contents_do_not_depend_on_the_cuts():
    assert parsed(MIXED) == MIXED_FRAMES
    assert parsed(*bytewise(MIXED)) == MIXED_FRAMES
    for cut in [*range(1, 300), *range(300, 20_000, 97), *range(20_000, len(MIXED))]:
        assert parsed(MIXED[:cut], MIXED[cut:]) == MIXED_FRAMES
    source = random.Random(125)
    for _ in range(100):
        cuts = sorted(source.sample(range(len(MIXED)), source.randrange(1, 40)))
        assert (
            parsed(*(MIXED[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)))
            == MIXED_FRAMES
        )


def test_b127_info_is_read_when_its_line_is_complete():
    parser = Parser()

    assert parser.feed(b'INFO {"server_id":"x",') == []
    assert parser.feed(b'"max_payload":1}\r\n') == [Info(server_id="x", max_payload=1)]


def test_b128_a_header_block_may_be_the_whole_message():
    block = b"NATS/1.0 404 No Messages\r\n\r\n"

    assert parsed(b"HMSG a 1 28 28\r\n" + block + b"\r\nMSG b 1 2\r\nok\r\n") == [
        ("1", "a", "", block, b""),
        ("1", "b", "", None, b"ok"),
    ]
    assert result([b"HMSG a 1 29 28\r\n" + block + b"\r\n"]) == ([], True)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (b"MSG _INBOX.q.1 1  3\r\n", ("1", "_INBOX.q.1", "", None, b"abc")),
        (b"MSG\t a  1\tr  3 \r\n", ("1", "a", "r", None, b"abc")),
        (b"MSG a\t1 3\r\n", ("1", "a", "", None, b"abc")),
        (b"MSG  1 2 3\r\n", ("2", "1", "", None, b"abc")),
        (b"MSG  a 1 r 3\r\n", ("1", "a", "r", None, b"abc")),
        (b"MSG a 1 3\n", ("1", "a", "", None, b"abc")),
        (b"MSG a 1 r 3\t\n", ("1", "a", "r", None, b"abc")),
        (b"HMSG a 1  0 3\r\n", ("1", "a", "", b"", b"abc")),
        (b"HMSG a 1 r  2\t3\r\n", ("1", "a", "r", b"ab", b"c")),
        (b"HMSG a 1 1  3\r\n", ("1", "a", "", b"a", b"bc")),
        (b"HMSG  a 1 1 3\r\n", ("1", "a", "", b"a", b"bc")),
    ],
)
def test_b130_any_run_of_blanks_and_tabs_separates(line, frame):
    assert parsed(line + b"abc\r\n") == [frame]
    assert parsed(*bytewise(line + b"abc\r\n")) == [frame]


@pytest.mark.parametrize(
    "line",
    [
        b"MSG a x 3", b"MSG a 1 -3", b"MSG a 1 99999999999999999999", b"MSG a 1", b"MSG a 1 0x10", b"MSG a 1 r s 3",
        b"MSG a -1 3", b"MSG a 1 +3", b"MSG a 1 3_0", b"MSG a 1 3.0", b"MSG a 1234567890123456 3", b"MSG", b"MSG ",
        b"MSG a", b"MSG a 1 r x", b"MSG a 1 0000000000000003", "MSG a 1 \u0663".encode(), "MSG a \u0661 3".encode(),
        "MSG a 1 \xb3".encode(), b"MSG a 1 3\r", b"HMSG a 1 3", b"HMSG a 1 r s 3 3", b"HMSG a 1 x 3", b"HMSG a 1 -1 3",
        b"HMSG a 1 4 3", b"HMSG a 1 r 4 3", b"HMSG a 1 r 3 x", b"HMSG a x 3 3", b"HMSG", b"MSG\xa0a 1 3",
    ],
)  # fmt: skip
def test_b131_missing_or_bad_numbers_end_the_stream(line):
    for data in ([line + b"\r\n" + b"abc\r\n"], bytewise(line + b"\r\nabc\r\n")):
        parser = Parser()
        frames = [frame for chunk in data for frame in parser.feed(chunk)]

        assert frames == []
        assert isinstance(parser.failure, RemoteProtocolError)
        assert str(parser.failure).startswith("expected ")
        assert parser.feed(b"PING\r\n") == []


def test_b131_numbers_of_1_to_15_digits_are_taken():
    assert parsed(b"MSG a 123456789012345 000000000000003\r\nabc\r\n") == [
        ("123456789012345", "a", "", None, b"abc")
    ]
    assert parsed(b"HMSG a 2000 r 002 1025\r\n" + b"x" * 1025 + b"\r\n") == [
        ("2000", "a", "r", b"xx", b"x" * 1023)
    ]


def test_b133_operations_match_without_case_and_arguments_stay():
    assert parsed(
        b"info {}\r\n", b"ping\r\n", b"Msg A 1 1\r\nx\r\n", b"+ok\r\n", b"-err 'Stale Connection'\r\n", b"pOnG\r\n",
        b"hMsG A 1 R 0 1\r\nx\r\n",
    ) == [
        Info(), PING, ("1", "A", "", None, b"x"), OK, Err("Stale Connection"), PONG, ("1", "A", "R", b"", b"x"),
    ]  # fmt: skip


def test_b134_what_follows_ping_pong_and_ok_is_ignored():
    assert parsed(b"PING x\r\nPONG  \r\n+OK done\r\nPINGxyz\r\nPONG\n+OK\n") == [
        PING,
        PONG,
        OK,
        PING,
        PONG,
        OK,
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"-ERR 'a'", "a"),
        (b"-ERR a", "a"),
        (b"-ERR 'a", "a"),
        (b"-ERR a'", "a"),
        (b"-ERR  ' a b ' ", "a b"),
        (b"-ERR ''a''", "'a'"),
        (b"-ERR", ""),
        (b"-ERR '", ""),
        (b"-ERR\t'x'", "x"),
        (b"-ERR '\xff\xc3\xa9'", "\udcff\xe9"),
    ],
)
def test_b134_one_quote_on_either_side_of_an_error_text_is_removed(line, text):
    assert parsed(line + b"\r\n") == [Err(text)]


def test_b136_arguments_are_identical_for_any_split():
    assert parsed(b"MSG subj 1 reply.to", b".me 3\r\na", b"bc\r\n") == [
        ("1", "subj", "reply.to.me", None, b"abc")
    ]


def test_b137_every_frame_of_a_segment_comes_out_behind_a_lame_duck_info():
    assert parsed(b'INFO {"ldm":true}\r\nMSG a 1 1\r\n1\r\nMSG a 1 1\r\n2\r\n') == [
        Info(lame_duck=True),
        ("1", "a", "", None, b"1"),
        ("1", "a", "", None, b"2"),
    ]


def test_b137_frames_before_damage_come_out_and_none_behind_it():
    parser = Parser()

    assert parser.feed(b"PING\r\nMSG a 1 1\r\n1\r\nBAD\r\nPING\r\n") == [
        PING,
        ("1", "a", "", None, b"1"),
    ]
    assert str(parser.failure) == "expected INFO, MSG, HMSG, PING, PONG, +OK or -ERR, got 'BAD'"
    assert parser.feed(b"PING\r\n") == []


def test_b139_a_payload_that_looks_like_protocol_is_counted():
    assert parsed(b"MSG a 1 16\r\nx\r\nPING\r\n-ERR 'y\r\n") == [
        ("1", "a", "", None, b"x\r\nPING\r\n-ERR 'y")
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"MSG a 1 2\r\nabX\r\n",
        b"MSG a 1 2\r\nab\n\r",
        b"MSG a 1 0\r\n\n\r\n",
        b"HMSG a 1 1 2\r\nab\rX",
    ],
)
def test_b139_anything_but_crlf_behind_a_payload_ends_the_stream(data):
    assert result([data]) == ([], True)
    assert result(bytewise(data)) == ([], True)
    for cut in range(1, len(data)):
        assert result([data[:cut], data[cut:]]) == ([], True)


# ------------------------------------------------------------------------------------------------ grammar


@pytest.mark.parametrize(
    "line",
    [b"", b"BAD", b"MSGX a 1 3", b"HMSGX a 1 0 3", b"HMS", b"PUB a 3", b"HTTP/1.1 400 Bad", b"\x16\x03\x01", b"+O", b" PING",
     "p\u0131ng".encode(), b"INFO", b"INFO []", b"-ER x"],
)  # fmt: skip
def test_a_line_that_is_no_operation_ends_the_stream(line):
    assert result([line + b"\r\n"]) == ([], True)
    assert result(bytewise(line + b"\r\n")) == ([], True)


@pytest.mark.parametrize(
    "subject", ["été.日本", "a\x0bb", "a\xa0b", "a\u2028b", "a\x1cb", "a\x85b", "a\udcff"]
)
def test_only_blank_and_tab_separate_whatever_else_a_publisher_wrote(subject):
    """Other spaces, and bytes that are no UTF-8, are part of a subject: a publisher must not be
    able to end our link.
    """
    data = f"MSG {subject} 1 {subject} 3\r\nabc\r\n".encode("utf-8", "surrogateescape")

    assert parsed(data) == [("1", subject, subject, None, b"abc")]
    assert parsed(*bytewise(data)) == [("1", subject, subject, None, b"abc")]


def test_a_sid_is_digits_unless_foreign_clients_are_watched():
    data = b"MSG a abc-XYZ 1\r\nx\r\nHMSG a \xc3\xbc1 r 0 1\r\nx\r\nMSG a q  1\r\nx\r\n"

    assert result([data]) == ([], True)
    assert parsed(data, any_sid=True) == [
        ("abc-XYZ", "a", "", None, b"x"),
        ("ü1", "a", "r", b"", b"x"),
        ("q", "a", "", None, b"x"),
    ]
    assert result([b"MSG a  3\r\nabc\r\n"], any_sid=True) == ([], True)


def test_a_failed_info_ends_the_stream_with_its_own_error():
    parser = Parser()

    assert parser.feed(b'PING\r\nINFO {"port":"x"}\r\nPING\r\n') == [PING]
    assert str(parser.failure) == "expected int as port of INFO, got str"


# ------------------------------------------------------------------------------------------------ bounds


def test_a_control_line_is_bounded_whole_or_in_pieces():
    for size, fails in ((8, False), (9, True)):
        line = b"PING" + b"x" * (size - 4) + b"\n"
        for chunks in ([line], bytewise(line), [line[:6], line[6:]]):
            assert result(chunks, max_control_line=8) == ([] if fails else [PING], fails)


def test_a_line_without_its_end_fails_when_it_is_too_long():
    parser = Parser(max_control_line=8)

    assert parser.feed(b"PINGxxxx") == []
    assert parser.held == 8
    assert parser.feed(b"x") == []
    assert str(parser.failure) == "expected a line of at most 8 bytes, got 9 bytes after b'PING'"


def test_info_has_a_bound_of_its_own():
    info = b'INFO {"x":"' + b"y" * 100 + b'"}\r\n'

    for chunks in ([info], bytewise(info), [info[:2], info[2:]], [info[:50], info[50:]]):
        assert len(parsed(*chunks, max_control_line=20)) == 1
        assert result(chunks, max_control_line=20, max_info=50) == ([], True)


@pytest.mark.parametrize("line", [b"MSG a 1 11\r\n", b"HMSG a 1 1 11\r\n", b"MSG a 1 r\t11\r\n"])
def test_a_payload_above_the_bound_fails_at_its_announcement(line):
    parser = Parser(max_payload=10)

    assert parser.feed(line) == []
    assert str(parser.failure) == "expected a message of at most 10 bytes, got 11 announced"


def test_the_bound_of_payloads_may_change_at_any_time():
    parser = Parser()
    parser.feed(b"MSG a 1 11\r\n")
    parser.max_payload = 10

    assert parser.feed(b"x" * 11 + b"\r\nMSG a 1 10\r\n" + b"y" * 10 + b"\r\n") == [
        ("1", "a", "", None, b"x" * 11),
        ("1", "a", "", None, b"y" * 10),
    ]
    assert parser.feed(b"MSG a 1 11\r\n") == []
    assert parser.failure is not None


def test_a_header_block_has_a_bound():
    data = b"HMSG a 1 5 5\r\n12345\r\n"

    assert len(parsed(data, max_header=5)) == 1
    for chunks in ([data], bytewise(data)):
        parser = Parser(max_header=4)
        assert [frame for chunk in chunks for frame in parser.feed(chunk)] == []
        assert str(parser.failure) == "expected a header block of at most 4 bytes, got 5 announced"


# ------------------------------------------------------------------------------------------------ pieces


@pytest.mark.parametrize("piece", [1, 7, 1000, 16_383, 16_384, 20_000, 70_000])
def test_pieces_of_any_size_make_the_same_payload(piece):
    payload = random.Random(piece).randbytes(150_000)
    data = b"HMSG a 1 100 150000\r\n" + payload + b"\r\n"

    assert parsed(*(data[i : i + piece] for i in range(0, len(data), piece))) == [
        ("1", "a", "", payload[:100], payload[100:])
    ]


def test_small_and_large_pieces_keep_their_order():
    payload = random.Random(3).randbytes(400_000)
    data = b"MSG a 1 400000\r\n" + payload + b"\r\n"
    source, chunks, at = random.Random(4), [], 0
    while at < len(data):
        size = source.choice([1, 10, 300, 5000, 17_000])
        chunks.append(data[at : at + size])
        at += size

    assert len(chunks) > 90
    assert parsed(*chunks) == [("1", "a", "", None, payload)]


def test_an_empty_read_changes_nothing():
    parser = Parser()

    assert parser.feed(b"") == []
    assert parser.feed(b"MSG a 1 2\r\na") == []
    assert parser.feed(b"") == []
    assert parser.feed(b"b\r\n") == [("1", "a", "", None, b"ab")]


# ------------------------------------------------------------------------------------------------ state


def test_restoring_a_snapshot_after_any_byte_changes_nothing():
    stream = MIXED[: MIXED.index(b"MSG a 1 20000")] + MIXED[MIXED.index(b"HMSG") :]
    whole = parsed(stream)
    for cut in range(len(stream) + 1):
        first, second = Parser(), Parser()
        frames = first.feed(stream[:cut])
        assert len(first.snapshot()["held"]) == first.held
        second.restore(first.snapshot())
        assert second.snapshot() == first.snapshot()
        assert frames + second.feed(stream[cut:]) == whole


def test_a_message_whose_announcement_was_judged_is_restored_under_other_limits():
    first, second = Parser(), Parser(max_payload=1, max_header=1)
    first.feed(b"HMSG a 1 12 14\r\nNATS")
    second.restore(first.snapshot())

    assert second.feed(b"/1.0\r\n\r\nxy\r\n") == [("1", "a", "", b"NATS/1.0\r\n\r\n", b"xy")]
    assert (second.max_payload, second.max_header) == (1, 1)


def test_a_failure_is_restored():
    first, second = Parser(), Parser()
    first.feed(b"BAD\r\n")
    second.restore(first.snapshot())

    assert str(second.failure) == str(first.failure)
    assert second.feed(b"PING\r\n") == []


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"v": 2, "held": b"", "failure": None},
        {"v": 1, "held": "", "failure": None},
        {"v": 1, "held": b"", "failure": 5},
    ],
)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(data):
    parser = Parser()
    parser.feed(b"PIN")
    with pytest.raises(LocalProtocolError, match="expected a parser snapshot of version 1"):
        parser.restore(data)

    assert parser.feed(b"G\r\n") == [PING]


# ------------------------------------------------------------------------------------------------ properties

BLANKS = st.text(" \t", min_size=1, max_size=3).map(str.encode) | st.just(b" ")
TOKEN = st.text(
    alphabet=st.characters(exclude_characters=" \t\r\n", exclude_categories=["Cs"]),
    min_size=1,
    max_size=5,
)
SID = st.integers(0, 10**15 - 1).map(str)
LINE_END = st.sampled_from([b"\r\n", b"\r\n", b"\n"])


@st.composite
def messages(draw):
    """A message in any spelling that the grammar allows, and the frame that it is."""
    subject, sid, reply, payload = (
        draw(TOKEN),
        draw(SID),
        draw(st.just("") | TOKEN),
        draw(st.binary(max_size=30)),
    )
    block = draw(st.none() | st.binary(max_size=20))
    words = [
        draw(st.sampled_from(["MSG", "msg", "MsG"] if block is None else ["HMSG", "hmsg"])),
        subject,
        sid,
    ]
    words += [reply] if reply else []
    words += [] if block is None else [str(len(block))]
    words += [str(len(payload) + len(block or b"")).zfill(draw(st.integers(1, 4)))]
    line = b"".join(draw(BLANKS) + word.encode() for word in words).lstrip()
    return (
        line
        + draw(st.sampled_from([b"", b"", b" ", b"\t "]))
        + draw(LINE_END)
        + (block or b"")
        + payload
        + b"\r\n",
        (sid, subject, reply, block, payload),
    )


OTHERS = st.sampled_from(
    [
        (b"PING\r\n", PING),
        (b"PONG\n", PONG),
        (b"+OK\r\n", OK),
        (b"-ERR 'x y'\r\n", Err("x y")),
        (b'INFO {"port":1} \r\n', Info(port=1)),
    ]
)


@st.composite
def cut(draw, data: bytes):
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@settings(max_examples=300)
@given(st.data(), st.lists(messages() | OTHERS, max_size=6))
def test_any_spelling_in_any_pieces_gives_its_frames(data, stream):
    whole = b"".join(raw for raw, _ in stream)
    frames = [frame for _, frame in stream]

    assert parsed(whole) == frames
    assert parsed(*bytewise(whole)) == frames
    assert parsed(*data.draw(cut(whole))) == frames


SCRAPS = st.sampled_from(
    [b"MSG", b"HMSG", b"PING", b"+OK", b"-ERR", b"INFO", b"{}", b" ", b"  ", b"\t", b"\r\n", b"\n", b"\r", b"a", b"1", b"2",
     b"12", b"NATS/1.0\r\n\r\n", b"x", b"\xff", b"-", b"MSG a 1 1\r\nx\r\n", b"MSG a 1 2\r\n", b"HMSG a 1 1 2\r\n"]
)  # fmt: skip


@settings(max_examples=500)
@given(st.data(), st.lists(SCRAPS, max_size=14).map(b"".join) | st.binary(max_size=60))
def test_garbage_gives_the_same_frames_and_verdict_in_any_pieces_and_never_raises(data, garbage):
    options = {"max_control_line": 24, "max_payload": 3}
    frames, failed = result([garbage], **options)

    assert result(bytewise(garbage), **options) == (frames, failed)
    assert result(data.draw(cut(garbage)), **options) == (frames, failed)


@given(st.lists(messages() | OTHERS, max_size=5), st.integers(0, 400))
def test_what_is_held_is_what_no_frame_was_made_of_2(stream, fed):
    whole = b"".join(raw for raw, _ in stream)[:fed]
    parser = Parser()
    frames = parser.feed(whole)

    assert parser.held == len(whole) - sum(len(raw) for raw, _ in stream[: len(frames)])
    assert len(frames) == len(stream) or parser.held < len(stream[len(frames)][0])
