import re

import pytest

PINNED = {"priority_groups": ["g"], "priority_policy": "pinned_client", "priority_timeout": 10**9}
OVERFLOW = {"priority_groups": ["g"], "priority_policy": "overflow"}
PRIORITIZED = {"priority_groups": ["g"], "priority_policy": "prioritized"}


def pin_of(heard):
    return re.search(r"Nats-Pin-Id: (\w{22})", heard)[1]


@pytest.mark.parametrize(
    ("config", "request_", "status"),
    [
        ({}, {"min_pending": 1}, "400 Bad Request - Not a Overflow Priority consumer"),
        (
            PINNED,
            {"group": "g", "min_ack_pending": 1},
            "400 Bad Request - Not a Overflow Priority consumer",
        ),
        (
            OVERFLOW,
            {"group": "g", "id": "x"},
            "400 Bad Request - Not a Pinned Client Priority consumer",
        ),
        (
            PRIORITIZED,
            {"group": "g", "priority": 10},
            "400 Bad Request - Priority must be between 0 and 9",
        ),
        (OVERFLOW, {"batch": 1}, "400 Bad Request - Priority Group missing"),
        (OVERFLOW, {"group": "h"}, "400 Bad Request - Invalid Priority Group"),
    ],
)
def test_pulls_that_do_not_fit_the_policy_are_refused(make, config, request_, status):
    client = make(consumer=config)
    client.pull(**request_)

    assert f"NATS/1.0 {status}~" in client.hear()


@pytest.mark.parametrize("version", ["2.10.26", "2.15.1"])
def test_a_pull_that_is_no_json_has_no_group_and_waits_like_any(make, version):
    client = make(version=version, consumer=OVERFLOW if version == "2.15.1" else {}, publish=1)
    client.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "1", "in.p")

    assert "$JS.ACK.S.C.1.1.1" in client.hear()


def test_servers_without_priorities_know_no_groups(make):
    client = make(version="2.10.26", consumer={}, publish=1)
    client.pull(batch=1, group="g", min_pending=9, id="x", priority=99)

    assert "$JS.ACK.S.C.1.1.1" in client.hear()


@pytest.mark.parametrize(
    ("version", "bounds", "served"),
    [
        ("2.15.1", {"min_pending": 3}, 0),
        ("2.15.1", {"min_pending": 2}, 1),
        ("2.15.1", {"min_ack_pending": 1}, 0),
        ("2.15.1", {"min_pending": 2, "min_ack_pending": 9}, 1),
        ("2.11.11", {"min_pending": 2, "min_ack_pending": 9}, 0),
        ("2.15.1", {}, 2),
    ],
)
def test_overflow_holds_a_pull_back_until_a_bound_is_reached(make, version, bounds, served):
    client = make(version=version, consumer=OVERFLOW, publish=2)
    client.pull(batch=5, group="g", **bounds)

    assert client.hear().count("$JS.ACK") == served


def test_the_first_without_an_id_is_pinned_and_others_stand_by(make):
    client = make(consumer=PINNED, publish=3)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.*.S.C 5\r\n")
    client.pull("in.a", batch=1, group="g")
    heard = client.hear()
    pin = pin_of(heard)
    assert f'"group":"g","pinned_id":"{pin}"' in heard
    state = client.server.request("CONSUMER.INFO.S.C", None, 0.0)["priority_groups"]
    assert state == [{"group": "g", "pinned_client_id": pin, "pinned_ts": "2027-01-15T08:00:00Z"}]

    client.pull("in.b", batch=5, group="g", expires=10**10)
    assert client.hear() == ""
    client.pull("in.c", batch=1, group="g", id="other")
    assert client.hear() == "HMSG in.c 1 37 37~NATS/1.0 423 Nats-Pin-Id mismatch~~~"
    client.pull("in.a", batch=1, group="g", id=pin)
    assert pin_of(client.hear()) == pin


def test_an_unpinned_client_is_told_and_the_next_is_pinned(make):
    client = make(consumer=PINNED, publish=1)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.UNPINNED.S.C 5\r\n")
    client.pull("in.a", batch=1, group="g")
    pin = pin_of(client.hear())
    client.pull("in.a", batch=7, group="g", id=pin)
    client.pull("in.b", batch=1, group="g")
    client.server.request("CONSUMER.UNPIN.S.C", {"group": "g"}, 0.0)
    assert '"reason":"admin"' in client.hear()
    client.server.publish("s.a", b"x", 0.0, block=b"NATS/1.0\r\nK: v\r\n\r\n")
    heard = client.hear()

    assert "423 Nats-Wrong-Pin-Id~Nats-Pending-Messages: 7~Nats-Pending-Bytes: 0~~~" in heard
    assert "NATS/1.0~K: v~Nats-Pin-Id: " in heard
    assert pin_of(heard) != pin


def test_an_old_server_says_no_numbers_to_a_stale_pin(make):
    client = make(version="2.11.11", consumer=PINNED, publish=1)
    client.pull("in.a", batch=1, group="g")
    client.pull("in.a", batch=7, group="g", id=pin_of(client.hear()))
    client.server.request("CONSUMER.UNPIN.S.C", {"group": "g"}, 0.0)
    client.server.publish("s.a", b"x", 0.0)

    assert "423 Nats-Wrong-Pin-Id~~~" in client.hear()


def test_a_pin_runs_out_unless_its_client_pulls(make):
    client = make(consumer=PINNED, publish=1)
    client.say("SUB $JS.EVENT.ADVISORY.CONSUMER.UNPINNED.S.C 5\r\n")
    client.pull("in.a", batch=1, group="g")
    pin = pin_of(client.hear())
    client.wait(0.9).pull("in.a", batch=1, group="g", id=pin)
    assert client.wait(0.9).hear() == ""
    assert '"reason":"timeout"' in client.wait(0.2).hear()
    assert client.server.request("CONSUMER.INFO.S.C", None, client.now)["priority_groups"] == [
        {"group": "g", "pinned_ts": "0001-01-01T00:00:00Z"}
    ]


def test_a_pull_without_a_group_is_not_pinned(make):
    client = make(consumer=PINNED, publish=1)
    client.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "1", "in.p")

    assert re.search(r"Nats-Pin-Id: \W", client.hear())


def test_the_lowest_number_is_served_first(make):
    client = make(consumer=PRIORITIZED)
    client.pull("in.low", batch=3, group="g", priority=5)
    client.pull("in.high", batch=1, group="g", priority=1)
    client.say("SUB in.low 2\r\nSUB in.high 3\r\n")
    client.server.publish("s.a", b"x", 0.0)
    client.server.publish("s.a", b"x", 0.0)

    assert re.findall(r"MSG s\.a ([23]) ", client.hear()) == ["3", "2"]
