from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsproto.wire.client_commands import (
    ClientCommandParser,
    ClientVerb,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)
from tests.pieces import copied

SESSION = (
    b'CONNECT {"a":1}\r\nPING\r\nsub\tg.one\t7\r\nSuB   g.*   q1   abc-XYZ \r\npub g.one 5\r\nhello\r\n'
    b"PUB\tg.one\tr.eply  0\r\n\r\nHPUB g r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nHPUB g 0 2\r\nhi\r\nUNSUB 7 3\nunsub 8\r\n"
    b"PUB g.two 3\r\nabc\r\nPUB g.two r 0\r\n\r\nPUB g.\xc3\xb6 2\r\n\r\n\r\n"
    b"PINGxyz\r\nPONG\r\n+OK\r\n-ERR 'x'\r\nUNSUB 7 x\r\n"
)
COMMANDS = [
    ConnectLine(b'{"a":1}'),
    ClientVerb.PING,
    SubLine("g.one", "", "7"),
    SubLine("g.*", "q1", "abc-XYZ"),
    PubLine("g.one", "", None, b"hello"),
    PubLine("g.one", "r.eply", None, b""),
    PubLine("g", "r", b"NATS/1.0\r\n\r\n", b"hi"),
    PubLine("g", "", b"", b"hi"),
    UnsubLine("7", 3),
    UnsubLine("8", 0),
    PubLine("g.two", "", None, b"abc"),
    PubLine("g.two", "r", None, b""),
    PubLine("g.ö", "", None, b"\r\n"),
    ClientVerb.PING,
    ClientVerb.PONG,
    ClientVerb.NOTHING,
    ClientVerb.NOTHING,
    UnsubLine("7", 0),
]


def test_a_session_reads_whole_and_byte_by_byte_alike():
    whole, pieces = ClientCommandParser(), ClientCommandParser()

    assert whole.feed(SESSION) == COMMANDS
    assert [
        each for at in range(len(SESSION)) for each in pieces.feed(SESSION[at : at + 1])
    ] == COMMANDS
    assert pieces.held == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(SESSION)), max_size=6))
def test_cuts_change_nothing(cuts):
    reader, edges = ClientCommandParser(), [0, *sorted(cuts), len(SESSION)]
    pieces = [SESSION[start:end] for start, end in pairwise(edges)]

    assert [each for piece in pieces for each in reader.feed(piece)] == COMMANDS


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HELLO\r\n", "Unknown Protocol Operation"),
        (b"HE", "Unknown Protocol Operation"),
        (b"PU a 1", "Unknown Protocol Operation"),
        (b"PUB a 2\r\nhello\r\n", "Unknown Protocol Operation"),
        (b"PUB a 2\r\nhi\n", "Unknown Protocol Operation"),
        (b"SUB " + b"a" * 5000 + b" 1\r\n", "maximum control line exceeded"),
        (b"SUB " + b"a" * 5000, "maximum control line exceeded"),
        (b"PUB a 1048577\r\n", "Maximum Payload Violation"),
        (b"PUB a\r\n", ""),
        (b"PUB a b c 1\r\n", ""),
        (b"PUB a -1\r\n", ""),
        (b"PUB a 99999999999\r\n", ""),
        (b"HPUB a 5 3\r\n", ""),
        (b"SUB a\r\n", ""),
        (b"UNSUB\r\n", ""),
    ],
)
def test_what_breaks_the_grammar_ends_the_reader(said, text):
    reader = ClientCommandParser()

    assert reader.feed(b"PING\r\n" + said) == [ClientVerb.PING, MalformedCommand(text)]
    assert reader.feed(b"PING\r\n") == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_garbage_is_commands_or_one_end(data):
    commands = ClientCommandParser().feed(data)

    assert sum(isinstance(each, MalformedCommand) for each in commands) <= 1
    assert not any(isinstance(each, MalformedCommand) for each in commands[:-1])


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(SESSION) - 1),
    st.sampled_from([b"", b"x", b"\r", b"\n", b" "]),
    st.integers(0, 2),
)
def test_a_damaged_session_ends_at_the_same_place_whole_and_byte_by_byte(at, put, gone):
    said = SESSION[:at] + put + SESSION[at + gone :]
    whole, pieces = ClientCommandParser(), ClientCommandParser()

    assert [each for i in range(len(said)) for each in pieces.feed(said[i : i + 1])] == whole.feed(
        said
    )
    assert pieces.held == whole.held


@pytest.mark.parametrize(
    "said", [b"PUB a 5\r\nhell\r\n", b"HPUB a 2 5\r\nhell\r\n", b"PUB a 5\r\nhellox"]
)
def test_the_end_of_a_payload_at_the_wrong_place_is_seen_with_its_first_byte(said):
    reader = ClientCommandParser()
    found = [each for at in range(len(said)) for each in reader.feed(said[at : at + 1])]

    assert found == [MalformedCommand("Unknown Protocol Operation")]


@pytest.mark.parametrize("piece", [1448, 65_536])
def test_a_large_payload_in_small_pieces_is_copied_a_few_times_and_not_once_for_each(piece):
    size = 4 << 20
    reader = ClientCommandParser(max_payload=size)
    taken, found = copied(reader.feed, b"PUB a %d\r\n" % size + bytes(size) + b"\r\n", piece)

    assert found == [PubLine("a", "", None, bytes(size))]
    assert reader.held == 0
    assert taken < 4 * size
