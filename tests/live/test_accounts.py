"""A stream of another account is mirrored, and a consumer of it is pulled, through what that
account exports.
"""

from __future__ import annotations

import pytest

from jsproto import Auth, FetchMode, JetStreamError, NoResponders, StreamSource
from jsproto.api import ExternalStream
from jsproto.errors import ConsumerDeleted
from jsproto.jetstream.status import EndReason
from jsproto_io._testing.nats_server import NatsServer
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
                (message.subject, message.payload, message.metadata.stream_sequence)
                for message in messages
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


#: A consumer is exported: its pulls, whose answers are many, and its acknowledgements; nothing else
#: of the API.
EXPORTED = """
accounts {{
  OWNER {{
    users [ {{ user: owner, password: x }} ], jetstream: enabled
    exports [
      {{ service: "$JS.API.CONSUMER.MSG.NEXT.SHARED.C", response_type: stream }}, {{ service: "$JS.ACK.SHARED.C.>" }}
    ]
  }}
  READER {{
    users [ {{ user: reader, password: x, permissions: {{
      publish: ["{api}.CONSUMER.MSG.NEXT.SHARED.C", "$JS.ACK.SHARED.C.>"], subscribe: ["_INBOX.>"] }} }} ]
    imports [
      {{ service: {{ account: OWNER, subject: "$JS.API.CONSUMER.MSG.NEXT.SHARED.C" }}, to: "{api}.CONSUMER.MSG.NEXT.SHARED.C" }}
      {{ service: {{ account: OWNER, subject: "$JS.ACK.SHARED.C.>" }} }}
    ]
  }}
}}
"""


@pytest.mark.parametrize("api", ["$JS.API", "owner.api"])
def test_an_exported_consumer_is_bound_without_any_lookup(one_server, within, until, api):
    with (
        NatsServer(one_server.binary, config=EXPORTED.format(api=api)) as server,
        connect(server.url, auth=Auth(user="owner", password="x")) as owner,
        connect(server.url, auth=Auth(user="reader", password="x")) as reader,
        within(20.0),
    ):
        js = owner.jetstream()
        stream = js.create_stream(name="SHARED", subjects=["shared.*"], storage="memory")
        made = stream.create_consumer(durable_name="C")
        for number in range(30):
            js.publish("shared.a", b"%d" % number)
        consumer = reader.jetstream(prefix=api).stream("SHARED").consumer("C")

        got = [consumer.next(timeout=2.0)]
        assert got[0].ack_confirmed()
        with consumer.fetch(4, mode=FetchMode.DRAIN_THEN_WAIT, timeout=2.0) as messages:
            got += messages
        with consumer.consume(4, stop_after=20, idle_heartbeat=0.5, expires=1.0) as messages:
            got += messages
        with consumer.ack_next(stop_after=5) as messages:
            for message in messages:
                got.append(message)
                if len(got) < 30:
                    messages.put(message)

        assert [(message.subject, message.payload) for message in got] == [
            ("shared.a", b"%d" % number) for number in range(30)
        ]
        assert sum(message.ack() for message in got) == 25
        until(lambda: made.info().ack_floor.stream_seq == 30, owner, reader)
        assert made.info().num_redelivered == 0

        with consumer.consume(4, idle_heartbeat=0.5, expires=1.0) as messages:
            until(lambda: messages.feed.ledger.counts.get(EndReason.EXPIRED) == 1, owner, reader)
            assert not messages.feed.liveness.silent  # heartbeats came through the import too
        with consumer.consume(4, expires=30.0) as messages:
            until(lambda: made.info().num_waiting == 1, owner, reader)
            made.delete()  # and it tells the pull that waits, which alone can know here
            with pytest.raises(ConsumerDeleted):
                next(messages)
