"""Cases of other clients about publishing and asking, on every adapter: their number is in the
name.
"""

from __future__ import annotations

import os

import pytest

from jsproto.core.conversation.router import Router
from jsproto.errors import InvalidResponse, PayloadTooLarge, RequestTimeout
from jsproto.jetstream.delivery.ack import InvalidAckSubject
from jsproto.jetstream.delivery.message import JsMessage
from jsproto.wire.encoder import encode_publish
from jsproto.wire.headers import Headers
from jsproto.wire.nuid import derived, nuid
from tests.adapters.test_late_verbs import caught
from tests.forked import forked

PROCESSES, IDS = 4, 25_000

FOREIGN = [b'{"stream":"ALL","seq":7}', b"+ACK", b'{"stream":"ALL","seq":8}', b"{}", b""]
ASKED = {
    "stream_info": lambda nc: nc.jetstream().stream_info("S"),
    "delete_stream": lambda nc: nc.jetstream().delete_stream("S"),
    "delete_consumer": lambda nc: nc.jetstream().stream("S").consumer("C").delete(),
    "stream_names": lambda nc: nc.jetstream().stream_names(),
}


@pytest.mark.parametrize("body", FOREIGN)
def test_what_somebody_else_answers_to_an_api_request_is_never_success_n068(peer, use, body):
    true = b'{"type":"io.nats.jetstream.api.v1.stream_delete_response","success":true}'

    def serve(line):
        line.greet()
        for _ in ASKED:
            line.hear(b"PUB $JS.API.")
            reply = line.hear(b"\r\n").split()[1]
            for each in (body, true):
                line.say(b"MSG %b 1 %d\r\n%b\r\n" % (reply, len(each), each))
        line.until_gone()

    there = peer(serve)
    for name, error in zip(ASKED, use(there.url, *map(caught, ASKED.values())), strict=True):
        assert isinstance(error, InvalidResponse), name


@pytest.mark.parametrize("reply", ["$JS.API.STREAM.INFO.S", "_INBOX.x.1", "$JS.ACKS.1", ""])
def test_only_a_message_of_a_consumer_is_acknowledged_n068(reply):
    message = JsMessage(("1", "a", reply, None, b""))

    with pytest.raises(InvalidAckSubject):
        message.metadata  # noqa: B018 - the question is whether it raises


@pytest.mark.parametrize("headers", [{}, [], Headers(), None])
def test_no_headers_are_no_header_block_n079(peer, use, headers):
    heard = []

    def serve(line):
        line.greet()
        heard.append(line.hear(b"PUB a 1\r\nx\r\n"))
        line.until_gone()

    there = peer(serve)
    use(there.url, lambda nc: nc.publish("a", b"x", headers=headers))
    there.finish()

    assert heard == [b"PUB a 1\r\nx\r\n"]


def test_what_is_too_large_is_told_with_its_size_the_limit_and_the_subject_n080(peer, use):
    there = peer(lambda line: (line.greet(max_payload=100), line.until_gone()))
    (error,) = use(
        there.url, caught(lambda nc: nc.publish("big.one", b"x" * 138, headers={"A": "1"}))
    )
    block = len(Headers({"A": "1"}).encode())

    assert isinstance(error, PayloadTooLarge)
    assert (
        f"at most 100 bytes of headers and payload, got {138 + block} on subject 'big.one'"
        in str(error)
    )
    with pytest.raises(PayloadTooLarge, match="got 150 on subject 'big'"):
        encode_publish("big", b"x" * 150, max_payload=100)


def test_ids_that_are_made_here_are_unique_over_processes_and_starts_n082(tmp_path):
    def make(at):
        root = Router("_INBOX", nuid(os.urandom)).inbox_root
        (tmp_path / str(at)).write_text(
            "\n".join(derived(f"{root}.1.{count}") for count in range(IDS))
        )

    codes = [forked(lambda at=at: make(at)) for at in range(PROCESSES)]
    ids = [name for each in tmp_path.iterdir() for name in each.read_text().split("\n")]

    assert codes == [0] * PROCESSES
    assert len(set(ids)) == len(ids) == PROCESSES * IDS


def test_a_publish_that_never_had_a_link_says_that_nothing_was_sent(peer, use):
    def goes(line):
        line.greet()
        line.subscribed()

    there = peer(goes)
    options = {"reconnect_wait": 30.0, "reconnect_wait_max": 30.0}
    verbs = [
        lambda nc: nc.request("a", timeout=5.0),
        lambda nc: nc.jetstream().publish("a", b"x", timeout=0.1),
        lambda nc: nc.jetstream().publish_batch([("a", b"x")], timeout=0.1),
    ]
    _, *late = use(there.url, *map(caught, verbs), **options)

    for error in late:
        assert isinstance(error, RequestTimeout)
        assert error.sent is False
        assert "unknown" not in str(error)
        assert "nothing" in str(error)
