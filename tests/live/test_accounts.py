"""A stream of another account is mirrored through an imported API and an imported delivery prefix, and read like any other."""

from __future__ import annotations

import pytest

from jsproto import Auth, ExternalStream, JetStreamError, NoResponders, StreamSource
from jsproto_io._server import NatsServer
from jsproto_io.blocking import connect

pytestmark = pytest.mark.live

CONFIG = """
accounts {
  OWNER {
    users [ { user: owner, password: x } ], jetstream: enabled
    exports [
      { service: "$JS.API.CONSUMER.>" }, { service: "$JS.FC.>" }, { stream: "deliver.sync.>" }
    ]
  }
  READER {
    users [ { user: reader, password: x } ], jetstream: enabled
    imports [
      { service: { account: OWNER, subject: "$JS.API.CONSUMER.>" }, to: "owner.api.CONSUMER.>" }
      { service: { account: OWNER, subject: "$JS.FC.>" } }
      { stream: { account: OWNER, subject: "deliver.sync.>" } }
    ]
  }
}
"""


@pytest.fixture(scope="module")
def accounts(one_server):
    with NatsServer(one_server.binary, config=CONFIG) as server:
        yield server


def test_a_mirror_of_a_stream_of_another_account_is_filled_and_read(accounts, until):
    with (
        connect(accounts.url, auth=Auth(user="owner", password="x")) as owner,
        connect(accounts.url, auth=Auth(user="reader", password="x")) as reader,
    ):
        owner.jetstream().create_stream(name="ORDERS", subjects=["orders.*"])
        for number in range(50):
            owner.jetstream().publish("orders.a", b"%d" % number)
        external = ExternalStream(api="owner.api", deliver="deliver.sync.mirror")
        mirror = reader.jetstream().create_stream(
            name="MIRROR", mirror=StreamSource(name="ORDERS", external=external)
        )
        until(lambda: mirror.info().state.messages == 50, owner, reader)

        with mirror.read() as messages:
            seen = [
                (message.subject, message.payload, message.metadata.stream_sequence) for message in messages
            ]

        assert seen == [("orders.a", b"%d" % number, number + 1) for number in range(50)]
        assert mirror.info().mirror.name == "ORDERS"
        with pytest.raises(NoResponders):
            reader.jetstream().publish("orders.a", b"", retries=0)


def test_a_consumer_of_another_account_is_asked_through_the_imported_api(accounts):
    with (
        connect(accounts.url, auth=Auth(user="owner", password="x")) as owner,
        connect(accounts.url, auth=Auth(user="reader", password="x")) as reader,
    ):
        stream = owner.jetstream().create_stream(name="SHARED", subjects=["shared.*"])
        stream.create_consumer(durable_name="C")

        through = reader.jetstream(prefix="owner.api").stream("SHARED").consumer("C")
        assert through.info().name == "C"
        with pytest.raises(JetStreamError):
            reader.jetstream().stream("SHARED").consumer("C").info()
