import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.errors import LocalProtocolError
from jsproto.trace.formats.format import (
    FIRST_LINE,
    LineReader,
    clock_line,
    escaped,
    first_lines,
    hidden,
    record_line,
)
from jsproto.trace.formats.reading import Trace, TraceError, read_trace
from jsproto.trace.formats.recording import Happened, Received, Sent, Waited, Wished

RECORDS = [
    Happened(at=0.0, name="connected", conn="a", detail={}),
    Received(at=0.5, conn="a", data=b"INFO {} \r\n"),
    Sent(at=0.5, conn="a", data=b"PUB a 4\r\n\x00\\\t\xff\r\n"),
    Waited(at=0.75, conn="a"),
    Happened(at=1.0, name="oob", conn="", detail={"subject": "s", "count": 3}),
    Wished(at=1.0, name="fetch", conn="a", detail={"batch": 10}),
]


def text_of(records, **about) -> bytes:
    text, at = first_lines(about), 0.0
    for record in records:
        if record.at != at:
            at = record.at
            text += clock_line(at)
        text += record_line(record)
    return text.encode()


def lines(*rows: bytes) -> bytes:
    return b"\n".join([FIRST_LINE.encode(), *rows, b""])


def test_what_is_written_is_read_again():
    trace = read_trace(text_of(RECORDS, server_version="2.15.1", note=""))

    assert dict(trace.about) == {"server_version": "2.15.1", "note": ""}
    assert [record for _, record in trace.records()] == RECORDS


def test_a_trace_may_end_with_what_it_says_about_itself():
    trace = read_trace(text_of([], scenario="x"))

    assert (dict(trace.about), list(trace.records())) == ({"scenario": "x"}, [])


def test_bytes_are_shown_as_a_person_reads_them():
    assert escaped(b'PUB a 4\r\n{"\\}\t\x00\xff') == 'PUB a 4\\r\\n{"\\\\}\\t\\x00\\xff'


@given(st.binary(max_size=60))
@settings(max_examples=200)
def test_any_bytes_come_back(data):
    record = Sent(at=0.0, conn="a", data=data)

    assert [each for _, each in read_trace(text_of([record])).records()] == [record]


def test_what_was_hidden_is_read_as_so_many_dots():
    trace = read_trace(
        lines(rb"< a MSG a 1 5\r\n\{5}\r\n", rb"< a \{2 0f}\\\{1}\\{x", b"", b"# said by a person")
    )

    assert [record.data for _, record in trace.records()] == [
        b"MSG a 1 5\r\n.....\r\n",
        b"..\\.\\{x",
    ]
    assert (hidden(0), hidden(3), hidden(3, "0f")) == ("", r"\{3}", r"\{3 0f}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"? a x", "begins with @ ! < > or ="),
        (b"> a", "a connection and bytes"),
        (b"> a \x01", "printable ASCII"),
        (rb"> a \q", "printable ASCII"),
        (rb"> a \101", "printable ASCII"),
        (rb"> a \N{DIGIT ONE}", "printable ASCII"),
        (rb"> a \x4", "printable ASCII"),
        (rb"> a \{0}", "n from 1"),
        (rb"> a \{x}", "printable ASCII"),
        (rb"> a \{999999999}", "n from 1"),
        (b"@ -1", "seconds since the start"),
        (b"@ nan", "seconds since the start"),
        (b"@ 1e999", "seconds since the start"),
        (b"= a", "a connection and a name"),
        (b"= a x [1]", "a JSON object"),
        (b"= a x {", "a JSON object"),
        (b"= a x " + b"[" * 100_000, "a JSON object"),
        (b"= a\x01 x", "a name of one word"),
        (b"! a " + b"x" * 300, "a name of one word"),
    ],
)
def test_a_bad_line_is_one_error_that_names_it(row, message):
    trace = read_trace(lines(b"> a PING", row, b"> a PONG"))
    records = trace.records()
    assert next(records)[0] == 2

    with pytest.raises(TraceError, match=message) as raised:
        list(records)

    assert raised.value.line == 3


def test_time_does_not_run_back():
    with pytest.raises(TraceError, match="a time of at least 2"):
        list(read_trace(lines(b"@ 2", b"@ 1.9")).records())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file"),
        (b"hello\n", "raw recording's JSON object"),
        (b"#jsproto-trace/3\n", "version 2"),
        (b"{}\n", "schema jsproto-trace/1"),
        (b"{\n", "Expecting"),
        (b"[" * 50 + b"\n", "raw recording's JSON object"),
        (b"#jsproto-trace/2", "got the end of the file"),
        (b"#jsproto-trace/2\n: \n", "a name of one word"),
    ],
)
def test_what_is_no_trace_is_refused_at_once(data, message):
    with pytest.raises(TraceError, match=message):
        read_trace(data)


def test_a_file_that_breaks_off_is_told_and_what_was_whole_is_read():
    records = read_trace(lines(b"> a PING") + b"> a PO").records()

    assert next(records)[1].data == b"PING"
    with pytest.raises(TraceError, match="got the end of the file") as raised:
        next(records)
    assert raised.value.line == 3


def test_raw_recordings_come_through_the_same_door():
    meta = {
        "schema": "jsproto-trace/1",
        "scenario": "s",
        "server_version": "2.15.1",
        "expected": [],
    }
    raw = [
        meta,
        {"t": 0.5, "dir": "s2c", "conn": "a", "b64": "UElORw0K"},
        {"t": 0.6, "dir": "tick", "conn": "a"},
    ]
    trace = read_trace(b"".join(json.dumps(line).encode() + b"\r\n" for line in raw))

    assert trace.about["server_version"] == "2.15.1"
    assert list(trace.records()) == [
        (2, Received(at=0.5, conn="a", data=b"PING\r\n")),
        (3, Waited(at=0.6, conn="a")),
    ]


@pytest.mark.parametrize(
    "line",
    [b'{"t":0.5,"dir":"s2c","z64":"AAAA","len":1}', b"[]", b"nonsense", b"\xff", b"[" * 99_999],
)
def test_a_bad_line_of_a_raw_recording_is_the_same_error(line):
    with pytest.raises(TraceError) as raised:
        list(read_trace(b'{"schema":"jsproto-trace/1"}\n' + line + b"\n").records())

    assert raised.value.line == 2


def test_a_packed_line_cannot_unfold_beyond_its_bound():
    with pytest.raises(TraceError, match="len from 0"):
        list(
            read_trace(
                b'{"schema":"jsproto-trace/1"}\n{"t":0.1,"dir":"s2c","z64":"","len":999999999999}\n'
            ).records()
        )


def test_an_endless_line_is_refused():
    with pytest.raises(TraceError, match="at most 8388608 bytes"):
        list(read_trace(lines(b"> a " + b"x" * 9_000_000)).records())


def test_hidden_bytes_of_all_lines_together_are_bounded():
    reader = LineReader(most_hidden=9)
    assert reader.read(rb"> a \{5}").data == b"....."

    with pytest.raises(LocalProtocolError, match="at most 9 hidden bytes"):
        reader.read(rb"> a \{5}")


def test_a_long_trace_is_read_in_the_memory_of_a_line():
    def endless():
        yield FIRST_LINE.encode() + b"\n"
        for _ in range(20_000):
            yield b"> a " + b"x" * 1000 + b"\n"

    tracemalloc.start()
    count = sum(1 for _ in Trace(endless()).records())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 20_000
    assert peak < 200_000


@pytest.mark.parametrize(
    "write",
    [
        lambda: first_lines({"two words": "x"}),
        lambda: first_lines({"name": "two\nlines"}),
        lambda: first_lines({"name": " blank"}),
        lambda: record_line(Sent(at=0, conn="two words", data=b"")),
        lambda: record_line(Sent(at=0, conn="-", data=b"")),
        lambda: record_line(Happened(at=0, conn="a", name="two words", detail={})),
        lambda: record_line(Wished(at=0, conn="a", name="x", detail={"x": object()})),
        lambda: record_line(Wished(at=0, conn="a", name="x", detail={"x": float("nan")})),
    ],
)
def test_nothing_is_written_that_could_not_be_read(write):
    with pytest.raises(LocalProtocolError):
        write()


def test_any_number_of_connections_is_read():
    reader = LineReader()

    assert {reader.read(b"> c%d PING" % (number % 1500)).conn for number in range(3000)} == {
        f"c{n}" for n in range(1500)
    }
