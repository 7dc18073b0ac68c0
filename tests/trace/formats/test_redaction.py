import pytest

from jsproto.trace.formats.reading import read_trace
from jsproto.trace.formats.recording import Happened, Received, Sent
from jsproto.trace.formats.redaction import Keep, Redactor
from jsproto.trace.formats.writing import TraceWriter

SECRETS = ["sEcReT", "tOkEn", "jWt", "sIg", "nKeY", "mYsTeRy"]
CONNECT = (
    b'CONNECT {"user":"sEcReT","pass":"sEcReT","auth_token":"tOkEn","jwt":"jWt","sig":"sIg","nkey":"nKeY",'
    b'"lang":"x","headers":true,"future":{"deep":"mYsTeRy"}}\r\n'
)


def shown(data: bytes, keep: Keep = Keep.LENGTH) -> list[str]:
    return Redactor(keep).feed(data)


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    "connect",
    [
        CONNECT,
        CONNECT.replace(b"CONNECT ", b"connect\t"),
        CONNECT.replace(b"CONNECT ", b"CONNECT"),
        CONNECT.replace(b'"lang"', b"lang"),
    ],
)
def test_no_secret_of_connect_is_ever_written(keep, step, connect):
    writer = TraceWriter(keep)
    text = writer.head
    for at in range(0, len(connect), step):
        text += writer.lines(Sent(at=0.0, conn="a", data=connect[at : at + step]))
    text += writer.lines(Sent(at=0.0, conn="a", data=connect[:-2]))
    text += writer.end()

    assert [secret for secret in SECRETS if secret in text] == []
    assert "CONNECT" in text
    *sent, left = [record for _, record in read_trace(text.encode()).records()]
    assert b"".join(record.data for record in sent).endswith(b"\r\n")
    assert left.name == "unfinished"


def test_connect_says_what_it_may_say():
    assert shown(b'CONNECT {"lang":"x","headers":true,"pass":"p"}\r\n') == [
        'CONNECT {"lang":"x","headers":true,"pass":"[redacted]"}\\r\\n'
    ]


def test_payloads_of_users_are_kept_as_was_asked_for():
    frame = b"MSG orders.new 2 5\r\nhello\r\n"

    assert shown(frame, Keep.NONE) == ["MSG \\{10} 2 5\\r\\n\\{5}\\r\\n"]
    assert shown(frame, Keep.LENGTH) == ["MSG orders.new 2 5\\r\\n\\{5}\\r\\n"]
    assert shown(frame, Keep.HASH) == ["MSG orders.new 2 5\\r\\n\\{5 2cf24dba5fb0a30e}\\r\\n"]
    assert shown(frame, Keep.FULL) == ["MSG orders.new 2 5\\r\\nhello\\r\\n"]
    assert shown(b"PUB a 0\r\n\r\n", Keep.HASH) == ["PUB a 0\\r\\n\\r\\n"]


@pytest.mark.parametrize(
    "frame",
    [
        b'PUB $JS.API.CONSUMER.MSG.NEXT.S.C r 11\r\n{"batch":1}\r\n',
        b"PUB $JS.ACK.S.C.1.1.1.1.0 4\r\n+ACK\r\n",
        b"HMSG _INBOX.a 2 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n",
        b"HMSG _INBOX.a 2 81 81\r\nNATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\nNats-Pending-Bytes: 0\r\n\r\n\r\n",
        b'MSG _INBOX.a 1 22\r\n{"stream":"S","seq":1}\r\n',
        b'MSG _INBOX.a 1 57\r\n{"type":"io.nats.jetstream.api.v1.consumer_info_response"}\r\n'.replace(
            b"57", b"58"
        ),
        b"SUB a 1\r\n",
        b"PING\r\n",
        b'INFO {"x":1} \r\n',
    ],
)
def test_what_is_the_protocols_own_stays(frame):
    assert "".join(shown(frame)).replace("\\r", "\r").replace("\\n", "\n").encode() == frame


def test_a_stored_message_in_an_answer_is_no_answer_of_the_protocols_own():
    frame = (
        b'MSG _INBOX.a 1 61\r\n{"type":"io.nats.jetstream.api.v1.stream_msg_get_response"   \r\n'
    )

    assert shown(frame) == ["MSG _INBOX.a 1 61\\r\\n\\{61}\\r\\n"]


def test_names_of_headers_stay_and_values_of_users_do_not():
    block = b"NATS/1.0\r\nNats-Msg-Id: 1\r\nKey: secret\r\nodd line\r\n\r\n"
    frame = b"HPUB a %d %d\r\n%bhello\r\n" % (len(block), len(block) + 5, block)

    assert shown(frame) == [
        f"HPUB a {len(block)} {len(block) + 5}\\r\\nNATS/1.0\\r\\nNats-Msg-Id: 1\\r\\nKey:\\{{7}}\\r\\n\\{{8}}\\r\\n\\r\\n\\{{5}}\\r\\n"
    ]


@pytest.mark.parametrize(
    "damage",
    [
        b"PUB a x\r\n",
        b"hello\r\n",
        b"PUB a 1\r\nsecret\r\n",
        b"PUB a\r\n",
        b"PUB a 999999999\r\n",
        b"x" * 1_048_577,
    ],
)
def test_what_makes_no_sense_is_a_length_and_so_is_everything_behind_it(damage):
    redactor = Redactor(Keep.FULL)

    assert redactor.feed(b"PING\r\n" + damage) == ["PING\\r\\n", f"\\{{{len(damage)}}}"]
    assert redactor.feed(b"PING\r\n") == ["\\{6}"]
    assert redactor.feed(b"") == []
    assert redactor.rest() == 0


def test_every_count_on_the_line_stays_true():
    writer = TraceWriter(Keep.HASH, {"server_version": "2.15.1"})
    frames = [
        b"MSG a 1 5\r\nhello\r\n",
        b"HMSG a 1 20 25\r\nNATS/1.0\r\nA: bcd\r\n\r\nhello\r\n",
        b"PING\r\n",
    ]
    text = (
        writer.head + writer.lines(Received(at=1.5, conn="a", data=b"".join(frames))) + writer.end()
    )

    assert [len(record.data) for _, record in read_trace(text.encode()).records()] == [
        len(f) for f in frames
    ]


def test_full_keeps_the_reads_of_the_server_as_they_were_cut():
    writer = TraceWriter(Keep.FULL)
    reads = [b"MSG a 1 5\r\nhe", b"llo\r\nPI", b"NG\r\n"]
    text = writer.head + "".join(
        writer.lines(Received(at=1.0, conn="a", data=read)) for read in reads
    )

    assert [record.data for _, record in read_trace(text.encode()).records()] == reads
    assert text.count("@ ") == 1


def test_a_frame_that_never_became_whole_is_a_length_at_the_end_of_its_link():
    writer = TraceWriter()
    assert writer.lines(Received(at=1.0, conn="a", data=b"MSG a 1 5\r\nhe")) == ""

    eof = writer.lines(Happened(at=2.0, conn="a", name="eof", detail={}))

    assert eof == '@ 2.000000\n= a unfinished {"way": "<", "bytes": 13}\n= a eof\n'
    assert writer.lines(Received(at=1.0, conn="a", data=b"PING\r\n")) == "< a PING\\r\\n\n"
    assert writer.end() == ""


def test_a_frame_in_many_pieces_is_shown_when_it_is_whole():
    redactor = Redactor()

    assert [redactor.feed(piece) for piece in (b"MSG a 2 9\r\n", b"hello", b"orld", b"\r\n")] == [
        [],
        [],
        [],
        ["MSG a 2 9\\r\\n\\{9}\\r\\n"],
    ]


@pytest.mark.parametrize("keep", Keep)
def test_a_refusal_that_echoes_a_secret_is_written_without_it(keep):
    writer = TraceWriter(keep)
    writer.lines(Sent(at=0.0, conn="a", data=CONNECT))
    text = "".join(
        writer.lines(
            Received(at=0.0, conn="a", data=f"-ERR 'no {each}, {each}{each}'\r\n".encode())
        )
        for each in ("sEcReT", "tOkEn", "jWt", "sIg")
    )

    assert [
        secret for secret in SECRETS if secret in text.replace("jWtjWt", "").replace("sIgsIg", "")
    ] == []
    assert 4 == text.count("-ERR")


def test_what_another_link_was_told_is_no_secret_of_this_one():
    writer = TraceWriter()
    writer.lines(Sent(at=0.0, conn="a", data=CONNECT))
    writer.lines(Happened(at=0.0, name="closed", conn="a", detail={}))

    assert "sEcReT" in writer.lines(Received(at=0.0, conn="a", data=b"-ERR 'sEcReT'\r\n"))
