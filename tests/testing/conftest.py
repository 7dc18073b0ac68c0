"""A client of the model that speaks in lines: what the tests of the model need to read like a
protocol trace.
"""

import json

import pytest

from jsproto.testing.simserver import SimServer

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}\r\n'


class Client:
    """One connection to a model server; ``now`` moves with `wait`."""

    def __init__(self, server, now=0.0, connect=CONNECT):
        self.server = server
        self.now = now
        self.cid = server.connect(now)
        if connect:
            self.say(connect)
            self.hear()

    def say(self, data):
        data = data.encode() if isinstance(data, str) else data
        self.server.receive_data(self.cid, data, self.now)

    def pub(self, subject, payload=b"", reply="", headers=""):
        payload = payload.encode() if isinstance(payload, str) else payload
        words = f"{subject} {reply}".rstrip()
        if headers:
            block = f"NATS/1.0\r\n{headers}\r\n\r\n".encode()
            self.say(
                f"HPUB {words} {len(block)} {len(block) + len(payload)}\r\n".encode()
                + block
                + payload
                + b"\r\n"
            )
        else:
            self.say(f"PUB {words} {len(payload)}\r\n".encode() + payload + b"\r\n")
        return self

    def pull(self, reply="in.p", consumer="C", stream="S", **request):
        body = json.dumps(request) if request else ""
        return self.pub(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply)

    def wait(self, seconds):
        self.now += seconds
        self.server.handle_tick(self.now)
        return self

    def hear(self):
        """Everything since the last time, CRLF shown as ``~``, without the server's PINGs."""
        text = (
            self.server.data_to_send(self.cid)
            .decode("utf-8", "surrogateescape")
            .replace("\r\n", "~")
        )
        return text.replace("PING~", "")

    def request(self, subject, body=None):
        """The JSON answer to an API request made on this connection."""
        self.say("SUB rq.one rq1\r\n")
        self.hear()
        self.pub(
            f"$JS.API.{subject}",
            "" if body is None else body if isinstance(body, str) else json.dumps(body),
            "rq.one",
        )
        heard = self.hear()
        return json.loads(heard.split("~")[1]) if heard else None

    @property
    def closed(self):
        return self.server.closed(self.cid)


@pytest.fixture
def client_of():
    """``client_of(server)``: another connected client."""
    return Client


@pytest.fixture
def make():
    """``make(version=..., stream={...}, consumer={...}, publish=n, ...)``: a client of a fresh
    server, subscribed to ``in.>``.
    """

    def build(version="2.15.1", stream=None, consumer=None, publish=0, **options):
        server = SimServer(version=version, **options)
        client = Client(server)
        if options.get("jetstream", True):
            server.request(
                "STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"], **(stream or {})}, 0.0
            )
            if consumer is not None:
                config = {"durable_name": "C", "ack_policy": "explicit", **consumer}
                server.request(
                    "CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config}, 0.0
                )
        for number in range(publish):
            server.publish("s.a", str(number).encode(), 0.0)
        client.say("SUB in.> 1\r\n")
        client.hear()
        return client

    return build
