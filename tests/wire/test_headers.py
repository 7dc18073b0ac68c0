import copy
import pickle
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidHeader
from jsproto.wire.header_blocks import pairs_of_all
from jsproto.wire.headers import (
    EMPTY_BLOCK,
    MOST_LINES,
    HeaderDefect,
    Headers,
    Status,
    header_value,
    pairs_of,
    status_of,
)

NAMES = st.text(alphabet=[chr(c) for c in range(33, 127) if chr(c) != ":"], min_size=1, max_size=12)
VALUES = st.text(
    alphabet=st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20
).map(lambda text: text.strip(" \t"))
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=6)


# ------------------------------------------------------------------------------------------------ the reported bugs


def test_b112_repeated_names_keep_all_values_in_order():
    block = b"NATS/1.0\r\nhdr1: val1\r\nhdr2: val2\r\nhdr2: val3\r\n\r\n"

    headers = Headers.parse(block)

    assert headers.all("hdr2") == ["val2", "val3"]
    assert headers["hdr2"] == "val2"
    assert headers.last("hdr2") == "val3"
    assert headers.encode() == block
    assert Headers([("hdr1", "val1"), ("hdr2", "val2"), ("hdr2", "val3")]).encode() == block
    assert Headers({"hdr1": "val1", "hdr2": ["val2", "val3"]}).encode() == block


def test_b113_a_value_that_is_not_ascii_or_not_even_utf8_loses_nothing():
    headers = Headers.parse(b"NATS/1.0\r\nTest: \xc2\xa3\r\nA: 1\r\nBad: \xff\xfe\r\n\r\n")

    assert headers["Test"] == "£"
    assert headers["A"] == "1"
    assert headers["Bad"].encode("utf-8", "surrogateescape") == b"\xff\xfe"
    assert headers.defects == ()
    assert Headers(headers.items()).encode() == headers.encode()


@pytest.mark.parametrize(
    "value", ["v\r\nNats-Msg-Id: 1", "a\rb", "a\nb", "\n", "\r\n\r\nPUB x 0", "nul\0"]
)
def test_b115_a_value_with_a_line_end_or_nul_is_refused(value):
    with pytest.raises(InvalidHeader, match="no CR, LF or NUL"):
        Headers({"k": value})


@pytest.mark.parametrize(
    "name", ["bad key", "", "k:", "k\n", "k\r", "\tk", "k\0", "k\x7f", "é", " "]
)
def test_b115_a_name_that_is_no_token_is_refused(name):
    with pytest.raises(InvalidHeader, match="printable ASCII"):
        Headers({name: "v"})


def test_b116_empty_values_and_broken_lines_lose_only_themselves():
    headers = Headers.parse(b"NATS/1.0\r\nA:\r\nB:   \r\nC: x\r\n: y\r\nnocolon\r\nD: z\r\n\r\n")

    assert headers.items() == (("A", ""), ("B", ""), ("C", "x"), ("D", "z"))
    assert headers.defects == (
        HeaderDefect(b": y", "no name before the colon"),
        HeaderDefect(b"nocolon", "no colon"),
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"NATS/1.0 ", None),
        (b"NATS/1.0 4x4 Foo", None),
        (b"NATS/1.0 4040 Foo", None),
        (b"NATS/1.0 40", None),
        (b"NATS/1.0 +40", None),
        (b"NATS/1.0404", None),
        ("NATS/1.0 ٤٠٤".encode(), None),
        (b"NATS/1.0 404\tNo Messages", (404, "No Messages")),
        (b"NATS/1.0 503", (503, "")),
        (b"NATS/1.0 503 ", (503, "")),
        (b"NATS/1.0 408\xff", None),
        (b"NATS/1.0 500 \xff", (500, "\udcff")),
    ],
)
def test_b118_three_digits_make_a_status_and_nothing_else_does(line, status):
    headers = Headers.parse(line + b"\r\nA: 1\r\n\r\n")

    assert headers.status == status
    assert status_of(line + b"\r\nA: 1\r\n\r\n") == status
    assert headers["A"] == "1"


def test_b119_the_description_is_trimmed_and_apart_from_the_code():
    headers = Headers.parse(b"NATS/1.0   408   Request Timeout  \r\n\r\n")

    assert headers.status == Status(code=408, description="Request Timeout")
    assert headers.status.code == 408
    assert headers.encode() == b"NATS/1.0   408   Request Timeout  \r\n\r\n"


def test_b121_case_is_kept_and_distinguished():
    block = b"NATS/1.0\r\nfoo: 1\r\nFoo: 2\r\nNats-Pending-Messages: 3\r\n\r\n"
    headers = Headers.parse(block)

    assert headers.encode() == block
    assert (headers["foo"], headers["Foo"]) == ("1", "2")
    assert headers["Nats-Pending-Messages"] == "3"
    assert "nats-pending-messages" not in headers
    assert headers.folded("FOO") == ["1", "2"]
    assert headers.folded("none") == []


@pytest.mark.parametrize("value", ["a\tb é", "\x01", "\x7f", "日本", "a: b", "\x85\u2028", "🦀"])
def test_b122_any_character_but_line_ends_is_a_value(value):
    assert Headers.parse(Headers({"k": value}).encode())["k"] == value


# ------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    ("block", "pairs", "reasons"),
    [
        (b"", (), ["block not closed by an empty line"]),
        (b"NATS/1.0", (), ["block not closed by an empty line"]),
        (b"NATS/1.0\r\nA: 1\r\n", (("A", "1"),), ["block not closed by an empty line"]),
        (b"NATS/1.0\r\nA: 1\r\nB: 2", (("A", "1"),), ["block not closed by an empty line"]),
        (b"NATS/1.0\r\nA: 1\r\n\r\nB: 2\r\n\r\n", (("A", "1"),), ["bytes after the empty line"]),
        (b"NATS/1.0\nA: 1\r\n\r\n", (("A", "1"),), ["ends with LF alone"]),
        (b"NATS/1.0\r\nLF: only\n\n", (("LF", "only"),), ["ends with LF alone"] * 2),
        (b"NATS/1.0\r\nF: a\r\n  continued\r\n\r\n", (("F", "a"),), ["starts with a blank"]),
        (b"NATS/1.0\r\n\tlead: x\r\n\r\n", (), ["starts with a blank"]),
        (
            b"NATS/1.0\r\nsp :  y  \r\n\r\n",
            (("sp ", "y"),),
            ["name is not printable ASCII without blanks"],
        ),
        (
            "NATS/1.0\r\né: y\r\n\r\n".encode(),
            (("é", "y"),),
            ["name is not printable ASCII without blanks"],
        ),
        (b"NATS/1.0\r\nA: x\ry\r\nB: 2\r\n\r\n", (("B", "2"),), ["CR inside a line"]),
        (b"NATS/1.0\r\nA\rB: x\r\n\r\n", (), ["CR inside a line"]),
        (b"NATS/1.0\r\nA: x\0y\r\n\r\n", (("A", "x\0y"),), ["NUL in the value"]),
        (b"garbage without version\r\n\r\n", (), ["expected NATS/1.0 first"]),
        (b"A: 1\r\nB: 2\r\n\r\n", (("A", "1"), ("B", "2")), ["expected NATS/1.0 first"]),
        (b"NATS/1.1 404 x\r\nB: 2\r\n\r\n", (("B", "2"),), ["expected NATS/1.0 first"]),
        (b"nats/1.0\r\nB: 2\r\n\r\n", (("B", "2"),), ["expected NATS/1.0 first"]),
        (b"NATS/1.0 4x4 Foo\r\n\r\n", (), ["status is not three digits"]),
        (b"NATS/1.0 404 a\rb\r\n\r\n", (), ["CR inside a line"]),
        (b"NATS/1.0\r\nNoSpace:v\r\nC: a:b: c\r\n\r\n", (("NoSpace", "v"), ("C", "a:b: c")), []),
    ],
)
def test_damage_is_named_and_stays_on_its_line(block, pairs, reasons):
    headers = Headers.parse(block)

    assert headers.items() == pairs
    assert [defect.reason for defect in headers.defects] == reasons


def test_a_sound_block_is_written_back_byte_for_byte_and_a_damaged_one_anew():
    sound = b"NATS/1.0  408   Odd \r\nA:1\r\nB:  2 \r\n\r\n"
    damaged = b"NATS/1.0 408 Odd\r\nA:1\r\nnocolon\r\nB:  2 \r\n\r\n"

    assert Headers.parse(sound).encode() == sound
    assert Headers.parse(damaged).encode() == b"NATS/1.0 408 Odd\r\nA: 1\r\nB: 2\r\n\r\n"
    assert Headers.parse(damaged) == Headers.parse(Headers.parse(damaged).encode())
    assert Headers.parse(b"NATS/1.0 007\r\nx\r\n\r\n").encode() == b"NATS/1.0 007\r\n\r\n"


def test_a_block_of_nothing_but_damage_lists_64_lines_and_counts_the_rest():
    headers = Headers.parse(b"NATS/1.0\r\n" + b"x\r\n" * 100 + b"A: 1\r\n\r\n")

    assert headers.items() == (("A", "1"),)
    assert len(headers.defects) == 65
    assert headers.defects[-1] == HeaderDefect(b"", "36 more damaged lines")


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"NATS/1.0", b" 404", b"\r\n", b"\n", b"A", b":", b" "])).map(
        b"".join
    )
    | st.lists(st.sampled_from([b"A: b\r\n", b"A:b\r\n", b"A:\r\n", b"A: \r\n"])).map(
        lambda lines: b"".join([b"NATS/1.0\r\n", *lines, b"\r\n"])
    )
)
def test_reading_never_raises_and_reading_what_was_read_changes_nothing(block):
    headers = Headers.parse(block)
    again = Headers.parse(headers.encode())

    assert again == headers
    assert again.encode() == headers.encode()
    assert headers.status == status_of(block)
    if not headers.defects:
        assert headers.encode() == block
        assert Headers(headers.items()).items() == headers.items()


@given(PAIRS)
def test_what_is_built_is_read_back_and_written_back(pairs):
    built = Headers(pairs)
    read = Headers.parse(built.encode())

    assert built.items() == tuple(pairs)
    assert read == built
    assert hash(read) == hash(built)
    assert read.encode() == built.encode()
    assert read.defects == ()
    for name, _ in pairs:
        assert header_value(built.encode(), name.encode()) == read.last(name)


def test_one_value_is_found_without_reading_the_block():
    block = b"NATS/1.0 408 x\r\nA: 1\r\nXA: 2\r\nA:  3\t\r\na: 4\r\n\r\n"

    assert header_value(block, b"A") == "3"
    assert header_value(block, b"XA") == "2"
    assert header_value(block, b"B") is None
    assert header_value(b"NATS/1.0\r\nA: cut", b"A") == "cut"


# ------------------------------------------------------------------------------------------------ building


@pytest.mark.parametrize("value", [" v", "v ", "\tv", "v\t", " "])
def test_a_blank_around_a_value_is_refused_because_no_reader_gives_it_back(value):
    with pytest.raises(InvalidHeader, match="no blank around"):
        Headers({"k": value})


@pytest.mark.parametrize(
    "items",
    [{"k": 1}, {"k": b"v"}, {"k": None}, {"k": ["a", 1]}, {1: "v"}, {b"k": "v"}, [("k", 5)]],
)
def test_names_and_values_are_text(items):
    with pytest.raises(InvalidHeader, match="got"):
        Headers(items)


@pytest.mark.parametrize("items", [5, "k", b"k", ["ab"], [("a", "b", "c")], [5], None])
def test_what_is_no_mapping_and_no_pairs_is_refused(items):
    with pytest.raises(InvalidHeader, match="pairs"):
        Headers(items)


def test_pairs_come_as_tuples_or_lists_in_whatever_holds_them():
    expected = Headers([("A", "1"), ("B", "2")])

    assert expected == Headers([["A", "1"], ["B", "2"]])
    assert expected == Headers((("A", "1"), ("B", "2")))
    assert expected == Headers(pair for pair in [("A", "1"), ["B", "2"]])
    with pytest.raises(InvalidHeader, match="pairs"):
        Headers([("A", "1", "2")])


def test_text_that_utf8_cannot_carry_is_refused_and_escaped_bytes_are_not():
    with pytest.raises(InvalidHeader, match="UTF-8"):
        Headers({"k": "\ud800"})

    assert Headers({"k": "\udcff"}).encode() == b"NATS/1.0\r\nk: \xff\r\n\r\n"
    assert Headers({"k": "\udcc3\udca9"})["k"] == "é"


def test_an_empty_value_is_written_without_a_blank():
    assert Headers({"k": ""}).encode() == b"NATS/1.0\r\nk:\r\n\r\n"
    assert Headers().encode() == EMPTY_BLOCK


def test_headers_read_like_a_mapping_of_names():
    headers = Headers([("A", "1"), ("B", "2"), ("A", "3")])

    assert list(headers) == ["A", "B"]
    assert len(headers) == 2
    assert dict(headers) == {"A": "1", "B": "2"}
    assert headers.first("A") == "1"
    assert headers.first("C") is None
    assert headers.first("C", "x") == "x"
    assert (headers.get("A"), headers.get("C"), headers.get("C", "x")) == ("1", None, "x")
    assert headers.last("C") is None
    assert "A" in headers
    assert "a" not in headers
    with pytest.raises(KeyError):
        headers["C"]


def test_changed_headers_are_new_ones():
    headers = Headers([("A", "1"), ("B", "2"), ("A", "3")])

    assert headers.with_added("A", "4").all("A") == ["1", "3", "4"]
    assert headers.merged({"A": "9", "C": ["x", "y"]}).items() == (
        ("B", "2"),
        ("A", "9"),
        ("C", "x"),
        ("C", "y"),
    )
    assert headers.merged(Headers({"B": "0"})).items() == (("A", "1"), ("A", "3"), ("B", "0"))
    assert headers.items() == (("A", "1"), ("B", "2"), ("A", "3"))
    with pytest.raises(InvalidHeader):
        headers.with_added("A", "\n")
    with pytest.raises(InvalidHeader):
        headers.merged({"A": "\n"})


def test_what_is_made_from_a_block_that_was_read_takes_no_status_along():
    read = Headers.parse(b"NATS/1.0 404 No Messages\r\nA: 1\r\nnocolon\r\n\r\n")

    assert read.with_added("B", "2").encode() == b"NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n"
    assert read.with_added("B", "2").status is None
    assert read.merged({"B": "2"}).defects == ()


def test_equality_is_of_pairs_in_order_and_status():
    assert Headers({"A": "1"}) == Headers([("A", "1")])
    assert Headers([("A", "1"), ("B", "2")]) != Headers([("B", "2"), ("A", "1")])
    assert Headers.parse(b"NATS/1.0 404\r\n\r\n") != Headers()
    assert Headers() != {}


def test_headers_can_be_copied_and_sent_to_another_process():
    headers = Headers.parse(b"NATS/1.0 404 No\r\nA: 1\r\nnocolon\r\n\r\n")

    for other in (copy.deepcopy(headers), pickle.loads(pickle.dumps(headers))):
        assert other == headers
        assert other.defects == headers.defects
        assert other.encode() == headers.encode()


def test_repr_shows_pairs_status_and_damage():
    assert repr(Headers({"A": "1"})) == "<Headers [('A', '1')]>"
    assert (
        repr(Headers.parse(b"NATS/1.0 404 No\r\nx\r\n\r\n"))
        == "<Headers [] status=(404, 'No') defects=1>"
    )


#: Lines that are no header, and that begin no folded one.
BROKEN = st.sampled_from([b"nocolon", b": no name", b"::", b"\xff\xfe", b"x" * 40])


@given(
    st.lists(st.tuples(NAMES, VALUES) | BROKEN, max_size=8),
    st.sampled_from([b"", b" 404 No Messages"]),
)
def test_a_broken_line_takes_no_other_with_it_and_no_status_8(lines, status):
    raw = [line if isinstance(line, bytes) else f"{line[0]}: {line[1]}".encode() for line in lines]
    headers = Headers.parse(b"\r\n".join([b"NATS/1.0" + status, *raw, b"", b""]))

    assert headers.items() == tuple(line for line in lines if not isinstance(line, bytes))
    assert [each.line for each in headers.defects] == [
        line for line in lines if isinstance(line, bytes)
    ]
    assert headers.status == ((404, "No Messages") if status else None)


@pytest.mark.parametrize("line", [b"%x:%x\r\n", b"ab:%d\r\n", b"%d\r\n"])
def test_a_block_of_tiny_lines_takes_a_bounded_multiple_of_its_size(line):
    numbers = (number if line.count(b"%") == 1 else (number, number) for number in range(120_000))
    block = b"NATS/1.0\r\n" + b"".join(line % number for number in numbers) + b"\r\n"
    tracemalloc.start()
    read = Headers.parse(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(read.items()) <= MOST_LINES
    assert any("expected at most 10000 headers" in each.reason for each in read.defects)
    assert peak < 6 * len(block)


def test_as_many_lines_as_are_allowed_are_all_read():
    lines = b"".join(b"N-%d: v\r\n" % number for number in range(MOST_LINES))
    most = Headers.parse(b"NATS/1.0\r\n" + lines + b"\r\n")
    more = Headers.parse(b"NATS/1.0\r\n" + lines + b"End: 2\r\n\r\n")

    assert (len(most), most.defects) == (MOST_LINES, ())
    assert more.last("End") is None
    [defect] = more.defects
    assert "expected at most 10000 headers, 10 bytes were not read" == defect.reason


def test_many_blocks_with_too_many_lines_are_read_as_one_by_one():
    lines = b"".join(b"N-%d: v\r\n" % number for number in range(MOST_LINES + 1))
    block = b"NATS/1.0\r\n" + lines + b"\r\n"

    assert pairs_of_all([block] * 5) == [pairs_of(block)] * 5
