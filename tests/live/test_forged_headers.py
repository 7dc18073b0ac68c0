"""Headers that the server adds elsewhere, stored by a publisher: on real servers none of them is
taken for the server's.
"""

from __future__ import annotations

import pytest

from tests.live.conftest import VERSIONS

pytestmark = pytest.mark.live

FORGED = {
    "Nats-Stream": "OTHER",
    "Nats-Subject": "other.subject",
    "Nats-Sequence": "77",
    "Nats-Time-Stamp": "2001-01-01T00:00:00Z",
    "Nats-Num-Pending": "abc",
    "Nats-Last-Sequence": "99",
    "Nats-UpTo-Sequence": "5",
    "Nats-Pin-Id": "abc",
    "Nats-Msg-Size": "1",
    "Nats-Pending-Messages": "7",
    "Nats-Pending-Bytes": "7",
    "Nats-Last-Consumer": "7",
    "Nats-Last-Stream": "7",
    "Nats-Consumer-Stalled": "$JS.API.STREAM.DELETE.S",
}


@pytest.fixture
def forged(work, nc):
    """A stream of five messages that all carry such headers."""
    orders = work(stream={"allow_direct": True})
    for number in range(5):
        nc.jetstream().publish(orders.subject, b"%d" % number, headers=FORGED)
    return orders


def test_a_direct_get_believes_the_server_alone(forged, nc):
    found = nc.jetstream().stream(forged.name).messages.by_seq(3, direct=True)

    assert (found.seq, found.stream, found.subject) == (3, forged.name, forged.subject)
    assert found.headers.items() == tuple(FORGED.items())


def test_a_batch_of_direct_gets_believes_the_server_alone(forged, nc, within):
    with within(10.0), nc.jetstream().stream(forged.name).messages.batch(seq=1) as found:
        assert [each.seq for each in found] == [1, 2, 3, 4, 5]


def test_a_pull_believes_the_server_alone(forged, within):
    with within(10.0), forged.consumer.consume(max_messages=2) as messages:
        for number in range(5):
            message = messages.next(5.0)
            assert message.payload == b"%d" % number
            message.ack()


@pytest.mark.parametrize("one_server", VERSIONS[1:], indirect=True, scope="session")
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("policy", ["overflow", "pinned_client"])
def test_a_stored_pin_is_not_taken_for_the_servers(work, nc, within, policy, known):
    orders = work(priority_groups=["A"], priority_policy=policy)
    for number in range(40):
        nc.jetstream().publish(orders.subject, b"%d" % number, headers=FORGED)
    handle = orders.consumer if known else nc.jetstream().stream(orders.name).consumer("C")
    with within(20.0), handle.consume(max_messages=5, group="A") as messages:
        for number in range(40):
            message = messages.next(10.0)
            assert message.payload == b"%d" % number
            message.ack()
        assert (messages.feed.pin not in {"", "abc"}) is (policy == "pinned_client")


@pytest.mark.parametrize("one_server", VERSIONS[1:], indirect=True, scope="session")
def test_a_fetch_with_a_stored_pin_is_served_all_the_same(work, nc, within):
    orders = work(priority_groups=["A"], priority_policy="overflow")
    nc.jetstream().publish(orders.subject, b"1", headers=FORGED)
    by_name = nc.jetstream().stream(orders.name).consumer("C")
    with within(10.0), by_name.fetch(1, group="A", pin="abc", expires=5.0) as messages:
        assert [each.payload for each in messages] == [b"1"]
