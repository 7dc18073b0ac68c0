import json

import pytest

from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto.trace.formats.redaction import Keep
from jsproto.trace.record.tap import InfoFilter, Tapped
from jsproto.trace.record.tape import Tape

INFO = b'INFO {"server_id":"N","connect_urls":["b:4222"],"tls_required":true,"ws_connect_urls":["b:80"],"max_payload":9} \r\n'
PLAIN = b'INFO {"server_id":"N","max_payload":9}\r\n'
TRAFFIC = (
    INFO
    + b"PONG\r\nMSG a 1 7\r\nINFO {}\r\n"
    + b"HMSG a 1 12 14\r\nNATS/1.0\r\n\r\nxy\r\n"
    + INFO
    + b"PING\r\n-ERR 'Stale Connection'\r\n"
)


class Paper:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def close(self):
        pass

    def records(self):
        return [record for _, record in read_trace(self.text.encode()).records()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_every_info_is_written_anew_and_all_else_passes_however_it_is_cut(size):
    through = InfoFilter(ends_tls=True)
    given = b"".join(through.feed(TRAFFIC[at : at + size]) for at in range(0, len(TRAFFIC), size))

    assert given == TRAFFIC.replace(INFO, PLAIN)
    assert through.rest() == b""


def test_what_is_to_be_passed_on_is_passed_on_as_it_was():
    assert InfoFilter(gossip=True).feed(TRAFFIC) == TRAFFIC
    told = json.loads(InfoFilter().feed(INFO)[4:])
    assert told == {"server_id": "N", "tls_required": True, "max_payload": 9}


@pytest.mark.parametrize(
    "line",
    [b"INFO {\r\n", b"INFO []\r\n", b"INFO " + b"[" * 100_000 + b"\r\n", b'INFO {"a":1}\r\n'],
)
def test_an_info_that_says_nothing_to_be_left_out_passes(line):
    assert InfoFilter(ends_tls=True).feed(line + INFO) == line + PLAIN


def test_payloads_and_senseless_bytes_pass_at_once_and_a_half_line_waits_for_the_end():
    through = InfoFilter()

    assert through.feed(b"MSG a 1 1000\r\nhel") == b"MSG a 1 1000\r\nhel"
    assert through.feed(b"x" * 999 + b"INF") == b"x" * 999
    assert through.rest() == b"INF"
    assert through.feed(b"GET / HTTP/1.1\r\n" + INFO) == b"GET / HTTP/1.1\r\n" + INFO
    assert through.feed(INFO) == INFO


def test_a_line_without_an_end_is_passed_on_before_it_takes_all_memory():
    through = InfoFilter()

    assert through.feed(b"INFO " + b" " * 600_000) == b""
    assert len(through.feed(b" " * 600_000)) == 1_200_005
    assert through.feed(INFO) == INFO


def test_the_trace_has_what_the_client_was_given_and_all_that_it_said():
    paper = Paper()
    tapped = Tapped(Tape(paper, keep=Keep.FULL), "1", 0.0, gossip=False, ends_tls=True)

    assert tapped.from_server(INFO, 0.5) == PLAIN
    assert tapped.from_client(b"PING\r\n", 0.75) == b"PING\r\n"
    assert tapped.from_server(b"PO", 1.0) == b""
    assert tapped.ended("eof", 2.0) == b"PO"
    assert tapped.bytes == len(INFO) + 8
    assert paper.records() == [
        Happened(at=0.0, name="connected", conn="1", detail={}),
        Received(at=0.5, conn="1", data=PLAIN),
        Sent(at=0.75, conn="1", data=b"PING\r\n"),
        Received(at=2.0, conn="1", data=b"PO"),
        Happened(at=2.0, name="eof", conn="1", detail={}),
    ]
