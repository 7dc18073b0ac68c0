import json
import re

import pytest


@pytest.fixture
def stored(make):
    """A server with s.a, s.b, s.c, s.a, s.b, s.c stored, one second apart, and direct gets allowed."""

    def build(version="2.15.1", **stream):
        client = make(version=version, stream={"allow_direct": True, **stream})
        for number in range(6):
            client.now = float(number)
            client.pub(f"s.{'abc'[number % 3]}", str(number))
        return client

    return build


def got(client, body=None, key=""):
    client.pub(f"$JS.API.DIRECT.GET.S{key}", json.dumps(body) if body is not None else "", "in.d")
    return client.hear()


def seqs(heard):
    return [int(each) for each in re.findall(r"Nats-Sequence: (\d+)", heard)]


def pending(heard):
    return [int(each) for each in re.findall(r"Nats-Num-Pending: (\d+)", heard)]


@pytest.mark.parametrize(
    ("body", "seq"),
    [
        ({"seq": 2}, 2),
        ({"last_by_subj": "s.a"}, 4),
        ({"last_by_subj": "s.*"}, 6),
        ({"next_by_subj": "s.b"}, 2),
        ({"seq": 3, "next_by_subj": "s.b"}, 5),
        ({"start_time": "2027-01-15T08:00:02Z"}, 3),
        ({"seq": 2, "batch": 0}, 2),
    ],
)
def test_one_message(stored, body, seq):
    heard = got(stored(), body)

    assert seqs(heard) == [seq]
    assert (
        f"~Nats-Stream: S~Nats-Subject: s.{'abc'[(seq - 1) % 3]}~Nats-Sequence: {seq}~Nats-Time-Stamp: "
        in heard
    )
    assert heard.endswith(f"~{seq - 1}~")


def test_the_subject_can_stand_in_the_subject(stored):
    client = stored()

    assert seqs(got(client, key=".s.a")) == [4]
    assert seqs(got(client, {"no_hdr": False}, key=".s.b")) == [5]
    assert "408 Bad Request" in got(client, {"seq": 1}, key=".s.a")
    assert "404 Message Not Found" in got(client, key=".s.none")


def test_the_payload_alone(stored):
    assert got(stored(), {"seq": 1, "no_hdr": True}) == "MSG in.d 1 1~0~"
    assert seqs(got(stored("2.11.11"), {"seq": 1, "no_hdr": True})) == [1]


def test_the_api_leaves_out_headers_too_where_it_knows_how(stored):
    for version, left in (("2.15.1", False), ("2.11.11", True)):
        server = stored(version).server
        server.publish("s.a", b"x", 9.0, block=b"NATS/1.0\r\nK: v\r\n\r\n")
        last = {"last_by_subj": "s.a"}
        assert "hdrs" in server.request("STREAM.MSG.GET.S", last, 9.0)["message"]
        assert (
            "hdrs" in server.request("STREAM.MSG.GET.S", {**last, "no_hdr": True}, 9.0)["message"]
        ) is left


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (None, "408 Empty Request"),
        ({}, "408 Empty Request"),
        ({"batch": 3}, "408 Empty Request"),
        ({"seq": 1, "last_by_subj": "s.a"}, "408 Bad Request"),
        ({"seq": 1, "start_time": "2027-01-15T08:00:02Z"}, "408 Bad Request"),
        ({"last_by_subj": "s.a", "batch": 2}, "408 Bad Request"),
        ({"next_by_subj": "s.a", "multi_last": ["s.a"]}, "408 Bad Request"),
        (
            {"multi_last": ["s.a"], "up_to_seq": 1, "up_to_time": "2027-01-15T08:00:02Z"},
            "408 Bad Request",
        ),
        ({"seq": 99}, "404 Message Not Found"),
        ({"multi_last": ["none"]}, "404 No Results"),
        ({"multi_last": ["s.>"], "up_to_time": "2020-01-01T00:00:00Z"}, "404 No Results"),
    ],
)
def test_what_is_wrong_is_a_status(stored, body, status):
    assert f"NATS/1.0 {status}~~" in got(stored(), body)


@pytest.mark.parametrize("key", ["", ".s.a"])
def test_what_is_no_json_is_malformed(stored, key):
    client = stored()
    client.pub(f"$JS.API.DIRECT.GET.S{key}", "{bad", "in.d")
    client.pub(f"$JS.API.DIRECT.GET.S{key}", "[1]", "in.d")

    assert client.hear().count("408 Malformed Request") == 2


def test_nobody_is_asked_without_a_reply_and_nobody_serves_a_stream_that_does_not_allow_it(
    make, stored
):
    client = stored()
    client.pub("$JS.API.DIRECT.GET.S", '{"seq":1}')
    assert client.hear() == ""
    assert "503" in got(make(), {"seq": 1})


def test_a_level_that_is_too_high_is_told(stored):
    client = stored()
    client.pub("$JS.API.DIRECT.GET.S", '{"seq":1}', "in.d", "Nats-Required-Api-Level: 99")

    assert "412 Required Api Level" in client.hear()


@pytest.mark.parametrize(
    ("body", "found", "left"),
    [
        ({"batch": 2, "seq": 1}, [1, 2], [5, 4, 4]),
        ({"batch": 9, "next_by_subj": "s.a"}, [1, 4], [1, 0, 0]),
        ({"batch": 9, "seq": 1, "max_bytes": 5}, [1, 2], [5, 4, 4]),
        ({"batch": 1, "start_time": "2027-01-15T08:00:04Z"}, [5], [1, 1]),
    ],
)
def test_a_batch_ends_with_its_end(stored, body, found, left):
    heard = got(stored(), body)

    assert (seqs(heard), pending(heard)) == (found, left)
    assert (
        f"NATS/1.0 204 EOB~Nats-Num-Pending: {left[-1]}~Nats-Last-Sequence: {found[-1]}~~~" in heard
    )


def test_2_11_counts_the_message_itself(stored):
    client = stored("2.11.11")

    assert pending(got(client, {"batch": 2, "seq": 1})) == [6, 5, 4]
    assert pending(got(client, {"multi_last": ["s.>"], "batch": 2})) == [2, 1, 0]


def test_before_2_11_a_batch_is_one_message(stored):
    heard = got(stored("2.10.26"), {"batch": 2, "seq": 1})

    assert (seqs(heard), pending(heard)) == ([1], [])


@pytest.mark.parametrize(
    ("body", "found", "end"),
    [
        ({"multi_last": ["s.>"]}, [4, 5, 6], 6),
        ({"multi_last": ["s.a", "s.c"]}, [4, 6], 6),
        ({"multi_last": ["s.>"], "batch": 2}, [4, 5], 6),
        ({"multi_last": ["s.>"], "up_to_seq": 4}, [2, 3, 4], 4),
        ({"multi_last": ["s.>"], "up_to_time": "2027-01-15T08:00:03Z"}, [1, 2, 3], 3),
        ({"multi_last": ["s.>"], "seq": 5}, [5, 6], 6),
        ({"multi_last": ["s.>"], "max_bytes": 1}, [4], 6),
    ],
)
def test_the_last_messages_of_many_subjects(stored, body, found, end):
    heard = got(stored(), body)

    assert seqs(heard) == found
    assert f"~Nats-Last-Sequence: {found[-1]}~Nats-UpTo-Sequence: {end}~~~" in heard


def test_too_many_subjects_are_refused(make):
    client = make(stream={"allow_direct": True})
    for number in range(1025):
        client.server.publish(f"s.{number}", b"", 0.0)

    assert "413 Too Many Results" in got(client, {"multi_last": ["s.>"]})
