from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidConfig, LocalProtocolError
from jsproto.jetstream.pull.request import (
    Pull,
    PullTemplate,
    checked_amount,
    heartbeat_within,
    message_size,
    message_sizes,
    nanoseconds,
    pin_of,
    pinned_size,
)
from jsproto.jetstream.status import EndReason

ACK = "$JS.ACK.S.C.1.2.2.1795811553265218855.1"


# ------------------------------------------------------------------ the record


def test_a_pull_owes_what_has_not_come_until_it_ends():
    pull = Pull("p", 10, 1000)
    pull.got, pull.size = 4, 300

    assert (pull.owed, pull.owed_bytes) == (6, 700)
    pull.finish(EndReason.EXPIRED)
    assert (pull.owed, pull.owed_bytes) == (0, 0)


def test_a_pull_ends_exactly_once():
    pull = Pull("p", 1)
    pull.finish(EndReason.EXPIRED)

    with pytest.raises(LocalProtocolError, match="has ended as EXPIRED"):
        pull.finish(EndReason.FILLED)


def test_a_pull_shows_what_became_of_it():
    pull = Pull("p", 10, 1000)
    plain = Pull("q", 2)
    plain.finish(EndReason.FILLED)

    assert repr(pull) == "<Pull p: 0 of 10, 0 of 1000 bytes, open>"
    assert repr(plain) == "<Pull q: 0 of 2, FILLED>"


def test_a_pull_can_be_written_down_and_put_back():
    pull = Pull("p", 10, 1000, 3.5, 40.0)
    pull.got = 2
    pull.finish(EndReason.RESET)
    other = Pull("", 0)
    other.restore(pull.snapshot())

    assert other.snapshot() == pull.snapshot()
    assert other.end is EndReason.RESET


# ------------------------------------------------------------------ the request


def test_a_body_holds_what_was_asked_for_and_nothing_else():
    assert PullTemplate().body(1) == b'{"batch":1}'
    assert PullTemplate(expires=30.0, idle_heartbeat=15.0).body(500) == (
        b'{"batch":500,"expires":30000000000,"idle_heartbeat":15000000000}'
    )


def test_every_member_of_a_request_is_json_with_the_servers_names():
    template = PullTemplate(
        expires=1.5,
        idle_heartbeat=0.5,
        no_wait=True,
        group="jobs",
        min_pending=5,
        min_ack_pending=6,
        priority=0,
    )

    assert json.loads(template.body(7, 4096, "wt1DeYRdH17hVMgqJTThkY")) == {
        "batch": 7,
        "max_bytes": 4096,
        "expires": 1_500_000_000,
        "idle_heartbeat": 500_000_000,
        "no_wait": True,
        "group": "jobs",
        "min_pending": 5,
        "min_ack_pending": 6,
        "priority": 0,
        "id": "wt1DeYRdH17hVMgqJTThkY",
    }


def test_b058_no_heartbeat_is_no_member():
    assert b"idle_heartbeat" not in PullTemplate(expires=5.0, idle_heartbeat=0.0).body(1)


def test_b062_an_expiry_that_the_wire_can_not_hold_is_cut_to_what_it_can():
    body = json.loads(PullTemplate(expires=1e12).body(1))

    assert body["expires"] == 2**63 - 1


@given(st.floats(min_value=1e-9, max_value=1e300))
def test_nanoseconds_always_fit_an_int64(seconds):
    assert 0 < nanoseconds(seconds) <= 2**63 - 1


@pytest.mark.parametrize(("expires", "heartbeat"), [(1.0, 0.9), (None, 1.0), (10.0, 5.000001)])
def test_b059_a_heartbeat_above_half_of_the_expiry_is_refused_before_sending(expires, heartbeat):
    with pytest.raises(InvalidConfig, match="at most half of expires"):
        PullTemplate(expires=expires, idle_heartbeat=heartbeat)


def test_a_heartbeat_of_exactly_half_is_taken():
    assert (
        json.loads(PullTemplate(expires=1.0, idle_heartbeat=0.5).body(1))["idle_heartbeat"]
        == 500_000_000
    )


@pytest.mark.parametrize(
    "members",
    [
        {"expires": 0.0},
        {"expires": -1.0},
        {"expires": float("nan")},
        {"expires": float("inf")},
        {"expires": 5.0, "idle_heartbeat": -1.0},
        {"expires": 5.0, "idle_heartbeat": float("nan")},
        {"group": 'a"b'},
        {"group": "a" * 17},
        {"group": "g", "min_pending": -1},
        {"group": "g", "min_ack_pending": 2**63},
        {"group": "g", "priority": 10},
        {"group": "g", "priority": -1},
        {"priority": 1},
        {"min_pending": 1},
        {"min_ack_pending": 1},
    ],
)
def test_requests_that_the_server_is_known_to_refuse_are_refused_here(members):
    with pytest.raises(InvalidConfig):
        PullTemplate(**members)


@pytest.mark.parametrize("value", [0, -1, 2**63, "5", 1.5])
def test_amounts_are_whole_numbers_that_an_int64_holds(value):
    with pytest.raises(InvalidConfig, match="expected max_bytes from 1"):
        checked_amount("max_bytes", value)


def test_an_amount_may_be_left_out():
    checked_amount("max_bytes", None)
    checked_amount("max_bytes", 2**63 - 1)


# ------------------------------------------------------------------ the messages


def test_b037_a_message_is_charged_with_subject_reply_headers_and_payload():
    assert len(ACK) == 39
    assert message_size(("2", "s.a", ACK, None, b"x" * 200)) == 242
    assert message_size(("2", "s.a", ACK, b"NATS/1.0\r\nA: b\r\n\r\n", b"x" * 200)) == 242 + 18


@given(st.text(max_size=20).filter(lambda text: text.isprintable()), st.binary(max_size=20))
def test_names_are_charged_in_bytes_of_utf_8(subject, payload):
    assert message_size(("2", subject, ACK, None, payload)) == len(subject.encode()) + 39 + len(
        payload
    )


def test_a_subject_that_is_no_utf_8_is_charged_as_it_came():
    subject = b"s.\xff".decode("utf-8", "surrogateescape")

    assert message_size(("2", subject, ACK, None, b"")) == 3 + 39


def test_b038_the_last_pin_id_counts_and_an_empty_one_does_not():
    block = b"NATS/1.0\r\nNats-Pin-Id: old\r\nNats-Pin-Id: new\r\n\r\n"

    assert pin_of(("2", "s", ACK, block, b"")) == "new"
    assert pin_of(("2", "s", ACK, b"NATS/1.0\r\nNats-Pin-Id:\r\n\r\n", b"")) == ""
    assert pin_of(("2", "s", ACK, None, b"")) == ""


def test_a_pin_id_that_could_break_a_request_is_none():
    assert pin_of(("2", "s", ACK, b'NATS/1.0\r\nNats-Pin-Id: a","x":"b\r\n\r\n', b"")) == ""


def test_the_pin_header_is_not_charged():
    plain = message_size(("2", "s", ACK, None, b"abc"))
    headed = message_size(("2", "s", ACK, b"NATS/1.0\r\nA: b\r\n\r\n", b"abc"))
    pin = b"Nats-Pin-Id: wt1DeYRdH17hVMgqJTThkY\r\n"

    assert pinned_size(("2", "s", ACK, b"NATS/1.0\r\n" + pin + b"\r\n", b"abc")) == plain
    assert pinned_size(("2", "s", ACK, b"NATS/1.0\r\nA: b\r\n" + pin + b"\r\n", b"abc")) == headed
    assert pinned_size(("2", "s", ACK, b"NATS/1.0\r\nA: b\r\n\r\n", b"abc")) == headed
    assert pinned_size(("2", "s", ACK, None, b"abc")) == plain


FRAMES = st.lists(
    st.tuples(
        st.just("2"),
        st.sampled_from(["s.a", "s.\u00e4", "s.\udce4"]),
        st.sampled_from([ACK, ACK + "\u00e4", ""]),
        st.sampled_from([None, b"", b"NATS/1.0\r\nA: b\r\n\r\n"]),
        st.binary(max_size=9),
    )
)


@given(FRAMES)
def test_many_sizes_are_the_sum_of_each(frames):
    assert message_sizes(frames) == sum(map(message_size, frames))


@pytest.mark.parametrize("expires", [6.541443091116889, 1.000000001, 3e-9, 1e-9, 30.0])
def test_a_heartbeat_fits_into_its_expiry_in_whole_nanoseconds(expires):
    """Found by the simulator: half of an odd number of nanoseconds was rounded up, and refused."""
    heartbeat = heartbeat_within(1e13, expires)

    assert 2 * round(heartbeat * 1e9) <= nanoseconds(expires)
    assert PullTemplate(expires=expires, idle_heartbeat=heartbeat).body(1)
    assert heartbeat_within(0.0, expires) == 0.0
    assert heartbeat_within(1e-9, 30.0) == 1e-9
    assert heartbeat_within(5.0, 1e12) == 5.0
