import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jsproto
from jsproto.errors import InvalidConfig, InvalidSubject, LocalProtocolError, PayloadTooLarge
from jsproto.wire.commands import Connect, Ping, Pong, Publish, Sub, Unsub
from jsproto.wire.encoder import (
    encode,
    encode_pub_trusted,
    encode_publish,
    encode_sub,
    encode_unsub,
)
from jsproto.wire.headers import Headers
from jsproto.wire.parser import Parser

# ------------------------------------------------------------------------------------------------ the peer's side


def read(data: bytes) -> list:
    """The commands in ``data`` as a server reads them: a line up to CR LF, words between blanks,
    counted payloads.
    """
    commands = []
    while data:
        line, data = data.split(b"\r\n", 1)
        op, _, rest = line.partition(b" ")
        words = rest.decode("utf-8", "surrogateescape").split(" ") if rest else []
        if op in {b"PUB", b"HPUB"}:
            total = int(words.pop())
            size = int(words.pop()) if op == b"HPUB" else 0
            subject, reply = words if len(words) == 2 else (*words, "")
            message, end, data = data[:total], data[total : total + 2], data[total + 2 :]
            assert (len(message), end) == (total, b"\r\n")
            headers = Headers.parse(message[:size]) if op == b"HPUB" else None
            assert headers is None or headers.defects == ()
            commands.append(Publish(subject, message[size:], reply, headers))
        elif op == b"SUB":
            subject, queue, sid = words if len(words) == 3 else (words[0], "", words[1])
            commands.append(Sub(subject, sid, queue))
        elif op == b"UNSUB":
            commands.append(Unsub(words[0], *map(int, words[1:])))
        elif op == b"CONNECT":
            commands.append(json.loads(rest))
        else:
            assert words == []
            commands.append({b"PING": Ping(), b"PONG": Pong()}[op])
    return commands


TOKEN = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" .*>"),
    min_size=1,
    max_size=6,
)
SUBJECT = st.lists(TOKEN, min_size=1, max_size=4).map(".".join)
VALUE = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=9
)
HEADERS = st.lists(
    st.tuples(st.text("Nats-Msg_Id!~", min_size=1), VALUE.map(lambda v: v.strip(" \t"))),
    min_size=1,
    max_size=4,
).map(Headers)
COMMANDS = st.one_of(
    st.builds(Publish, SUBJECT, st.binary(max_size=40), st.just("") | SUBJECT, st.none() | HEADERS),
    st.builds(Sub, SUBJECT | SUBJECT.map("{}.>".format), TOKEN, st.just("") | TOKEN),
    st.builds(Unsub, TOKEN, st.integers(0, 10**12)),
    st.builds(Ping),
    st.builds(Pong),
)


@given(st.lists(COMMANDS, max_size=5))
def test_reading_what_was_written_gives_the_commands(commands):
    assert read(b"".join(encode(command) for command in commands)) == commands


@given(SUBJECT, st.just("") | SUBJECT, st.binary(max_size=40), st.none() | HEADERS)
def test_the_parser_reads_a_publish_back_as_its_delivery(subject, reply, payload, headers):
    op, rest = encode_publish(subject, payload, reply, headers).split(b" " + subject.encode(), 1)
    delivered = op.replace(b"PUB", b"MSG") + b" " + subject.encode() + b" 7" + rest

    assert Parser().feed(delivered) == [
        ("7", subject, reply, None if headers is None else headers.encode(), payload)
    ]


# ------------------------------------------------------------------------------------------------ injection

HOSTILE = [
    "\r", "\n", "\r\n", "\n\r", "\0", " ", "\t", "\v", "\f", "\x1b", "\x7f", "\x85", "\u2028", "\xa0", "\u3000",
    "\ud800", "\udc0a", "\udc0d", "\udcff", "\ufeff", "a\r\n", "\r\na", "a\nb", "a\rb", "a b", "a\tb", "a\0b",
    "a\r\nPUB x 0\r\n\r\n", "a\nPUB x 0\n\n", "x 0\r\n\r\nSUB > 1\r\n", "a\r\n\r\n", "v\r\nNats-Msg-Id: 1", "a: b",
    "a\r\n b", "NATS/1.0 503", "> 1", "* 1", "a..b", ".", "-1", "0", "\N{GREEK SMALL LETTER ALPHA}", "\\r\\n",
    "%0d%0a", "a" * 5000, "{}", "%s%b", "'", '"', "\u010d\u010a",
]  # fmt: skip
PLACES = {
    "subject": lambda text: Publish(text, b"x"),
    "reply": lambda text: Publish("a", b"x", text),
    "payload": lambda text: Publish("a", text.encode("utf-8", "surrogatepass")),
    "header name": lambda text: Publish("a", b"x", "", Headers({text: "v"})),
    "header value": lambda text: Publish("a", b"x", "", Headers({"k": text})),
    "added header": lambda text: Publish("a", b"x", "", Headers({"k": "v"}).with_added("l", text)),
    "sub subject": lambda text: Sub(text, "1"),
    "sub queue": lambda text: Sub("a", "1", text),
    "sid": lambda text: Sub("a", text),
    "unsub sid": lambda text: Unsub(text, 1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_b115_hostile_text_is_refused_or_arrives_as_itself_in_one_frame(place, text):
    refusal, commands = None, []
    try:
        commands = [PLACES[place](text)]
        data = encode(commands[0])
    except LocalProtocolError as error:
        refusal, commands, data = error, [], b""

    assert read(data) == commands
    assert refusal is None or re.match("expected .+, got .+", str(refusal))
    assert len(str(refusal)) < 300


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize(
    "member", ["name", "user", "password", "auth_token", "jwt", "nkey", "sig", "lang", "version"]
)
def test_b115_hostile_text_in_connect_stays_inside_its_json(member, text):
    refusal = ""
    try:
        [seen] = read(encode(Connect(**{member: text})))
    except InvalidConfig as error:
        refusal, seen = str(error), {}

    assert refusal or seen[{"password": "pass"}.get(member, member)] == text
    assert text not in refusal


# ------------------------------------------------------------------------------------------------ forms


@pytest.mark.parametrize(
    ("command", "data"),
    [
        (Publish("a"), b"PUB a 0\r\n\r\n"),
        (Publish("a", b"xy", "r"), b"PUB a r 2\r\nxy\r\n"),
        (Publish("a", b"x", "", Headers()), b"PUB a 1\r\nx\r\n"),
        (
            Publish("a", b"x", "", Headers({"k": "v"})),
            b"HPUB a 18 19\r\nNATS/1.0\r\nk: v\r\n\r\nx\r\n",
        ),
        (
            Publish("a", b"", "r", Headers({"k": "v"})),
            b"HPUB a r 18 18\r\nNATS/1.0\r\nk: v\r\n\r\n\r\n",
        ),
        (
            Publish("a", b"", "", Headers.parse(b"NATS/1.0 404 No\r\n\r\n")),
            b"HPUB a 19 19\r\nNATS/1.0 404 No\r\n\r\n\r\n",
        ),
        (Sub("a.*", "1"), b"SUB a.* 1\r\n"),
        (Sub("a.>", "x-Y", "q"), b"SUB a.> q x-Y\r\n"),
        (Unsub("1"), b"UNSUB 1\r\n"),
        (Unsub("1", 5), b"UNSUB 1 5\r\n"),
        (Ping(), b"PING\r\n"),
        (Pong(), b"PONG\r\n"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, bytes) else "",
)
def test_each_command_has_one_form(command, data):
    assert encode(command) == data


def test_lengths_are_counted_in_bytes():
    assert encode_publish("é", "é".encode(), "", Headers({"k": "é"})) == (
        b"HPUB \xc3\xa9 19 21\r\nNATS/1.0\r\nk: \xc3\xa9\r\n\r\n\xc3\xa9\r\n"
    )


def test_connect_holds_what_is_set_and_always_headers_and_no_responders():
    [seen] = read(encode(Connect(name="n", version="1", echo=False)))

    assert seen == {
        "headers": True,
        "no_responders": True,
        "verbose": False,
        "pedantic": False,
        "tls_required": False,
        "name": "n",
        "lang": "python-jsproto",
        "version": "1",
        "protocol": 1,
        "echo": False,
    }


def test_b172_all_configured_credentials_go_together():
    [seen] = read(
        encode(Connect(user="u", password="p", auth_token="t", jwt="j", nkey="n", sig="s"))
    )

    assert {name: seen[name] for name in ("user", "pass", "auth_token", "jwt", "nkey", "sig")} == {
        "user": "u",
        "pass": "p",
        "auth_token": "t",
        "jwt": "j",
        "nkey": "n",
        "sig": "s",
    }


def test_no_secret_is_in_the_error_about_it():
    with pytest.raises(InvalidConfig, match="got other text in pass, sig") as caught:
        encode(Connect(user="ok", password="secret\ud800", sig="s3cret\ud800"))

    assert "ecret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "payload", [bytearray(b"ab"), memoryview(b"ab"), memoryview(b"cacb")[1::2]]
)
def test_other_kinds_of_bytes_are_copied(payload):
    assert encode_publish("a", payload) == b"PUB a 2\r\n" + bytes(payload) + b"\r\n"


def test_text_goes_out_as_utf8():
    assert encode(Publish("a", "é")) == b"PUB a 2\r\n\xc3\xa9\r\n"
    assert encode(Publish("a", "")) == b"PUB a 0\r\n\r\n"


def test_text_that_utf8_cannot_carry_is_no_payload():
    with pytest.raises(LocalProtocolError, match="a lone surrogate at character 2"):
        encode(Publish("a", "ab\udcff"))


@pytest.mark.parametrize("payload", [5, None, [1]])
def test_a_payload_is_bytes_or_text(payload):
    with pytest.raises(LocalProtocolError, match="expected bytes or text as payload, got"):
        encode_publish("a", payload)


def test_a_reply_that_was_checked_before_is_written_as_it_is():
    assert encode_publish("a", b"x", "_INBOX.q.12", checked=True) == b"PUB a _INBOX.q.12 1\r\nx\r\n"


@pytest.mark.parametrize("tail", ["1\r\nPUB b 0\r\n", "1 2", "*", "1\t", "", "-1\n"])
def test_any_other_reply_is_looked_at(tail):
    with pytest.raises(InvalidSubject):
        encode_publish("a", b"x", f"_INBOX.q.{tail}")


def test_header_block_and_payload_together_are_within_max_payload():
    command = Publish("a", b"xx", "", Headers({"k": "v"}))

    assert encode(command, max_payload=20).endswith(b"xx\r\n")
    with pytest.raises(PayloadTooLarge, match="at most 19 bytes of headers and payload, got 20"):
        encode(command, max_payload=19)
    with pytest.raises(PayloadTooLarge):
        encode(Publish("a", b"x"), max_payload=0)


@pytest.mark.parametrize(
    ("write", "longest"),
    [
        (lambda n: encode_publish("a" * n, b"x"), 4094),
        (lambda n: encode_publish("a", b"x", "r" * n), 4092),
        (lambda n: encode_sub("a" * n, "1"), 4094),
        (lambda n: encode_sub("é" * (n // 2), "1"), 4094),
        (lambda n: encode_sub("a", "1", "q" * n), 4092),
    ],
)
def test_a_control_line_has_at_most_4096_bytes_of_arguments(write, longest):
    assert len(write(longest).split(b"\r\n")[0].split(b" ", 1)[1]) == 4096
    with pytest.raises(InvalidSubject, match="fit a control line"):
        write(longest + 2)


def test_hpub_and_unsub_lines_are_judged_like_the_others():
    with pytest.raises(InvalidSubject, match="fit a control line"):
        encode_unsub("1" * 4096)
    with pytest.raises(InvalidSubject, match="fit a control line"):
        encode_publish("a" * 4090, b"x", "", Headers({"k": "v"}))


@pytest.mark.parametrize("limit", [-1, "5", None, 1.5])
def test_an_unsub_limit_is_a_count(limit):
    with pytest.raises(LocalProtocolError, match="limit of 0 or more messages"):
        encode_unsub("1", limit)


# ------------------------------------------------------------------------------------------------ trusted names


def test_an_ack_goes_to_the_very_reply_that_was_read():
    frames = Parser().feed(b"MSG a 1 $JS.ACK.\xff.\xc3\xa9 0\r\n\r\n")
    [(_, _, reply, _, _)] = frames

    assert encode_pub_trusted(reply, "", b"+ACK") == b"PUB $JS.ACK.\xff.\xc3\xa9 4\r\n+ACK\r\n"
    assert encode_pub_trusted("a", "r.1", b"+ACK") == b"PUB a r.1 4\r\n+ACK\r\n"
    assert encode_pub_trusted("a", "", b"") == b"PUB a 0\r\n\r\n"


def test_servers_are_told_which_version_this_is():
    assert b'"lang":"python-jsproto","version":"%b"' % jsproto.__version__.encode() in encode(
        Connect()
    )
