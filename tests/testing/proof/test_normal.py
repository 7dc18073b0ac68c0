import pytest

from jsproto.testing.proof.frames import Frame
from jsproto.testing.proof.normal import normal, normal_json


def test_info_is_compared_without_what_belongs_to_one_server():
    one = Frame('INFO {"server_id":"A","max_payload":5,"client_id":7} ', b"", b"")
    other = Frame('INFO {"server_id":"B","max_payload":5,"client_id":8} ', b"", b"")
    third = Frame('INFO {"server_id":"B","max_payload":6,"client_id":8} ', b"", b"")

    assert normal(one) == normal(other) == ("INFO", {"max_payload": 5})
    assert normal(one) != normal(third)


def test_an_info_that_is_no_object_stays_what_it_is():
    assert normal(Frame("INFO 5 ", b"", b"")) == ("INFO", 5)


def test_control_frames_are_compared_as_they_are():
    assert normal(Frame("-ERR 'x'", b"", b"")) == ("CONTROL", "-ERR 'x'")


def test_the_timestamp_of_an_ack_subject_is_chance_and_its_numbers_are_not():
    delivery = Frame("MSG s.a 2 $JS.ACK.S.C.1.2.3.1800000000000000001.4 1", b"", b"x")

    assert normal(delivery) == ("2", ("MSG s.a 2 $JS.ACK.S.C.1.2.3.T.4 1", b"", b"x"))


def test_the_two_blanks_of_an_empty_reply_are_compared():
    assert normal(Frame("MSG a 1  1", b"", b"x")) != normal(Frame("MSG a 1 1", b"", b"x"))


def test_json_is_compared_as_values_without_its_size():
    one = Frame("MSG a 1 20", b"", b'{"type":"t","created":"2027-01-01T00:00:00Z"}')
    other = Frame("MSG a 1 25", b"", b'{"created":"2028-01-01T00:00:00.5Z","type":"t"}')

    assert normal(one) == normal(other) == ("1", ("MSG a 1", b"", {"type": "t", "created": "T"}))


def test_what_only_looks_like_json_is_compared_to_the_byte():
    assert normal(Frame("MSG a 1 2", b"", b"{x")) == ("1", ("MSG a 1", b"", b"{x"))


def test_headers_that_hold_a_time_or_an_id_become_words_and_their_sizes_go():
    block = b"NATS/1.0\r\nNats-Stream: S\r\nNats-Time-Stamp: 2027-01-01T00:00:00Z\r\n\r\n"

    assert normal(Frame("HMSG a 1 70 71", block, b"x")) == (
        "1",
        ("HMSG a 1", b"NATS/1.0\r\nNats-Stream: S\r\nNats-Time-Stamp: T\r\n\r\n", b"x"),
    )


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("created", "2027-01-01T00:00:00Z", "T"),
        ("created", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("id", "a" * 22, "ID"),
        ("id", "S-1", "S-1"),
        ("name", "aB3dE6gH", "EPHEMERAL"),
        ("name", "orders", "orders"),
        ("leader", "n1", "NAME"),
        ("ack_time", 5, "SPAN"),
        ("seq", 5, 5),
        ("api", {"total": 3, "errors": 1}, ["errors", "total"]),
        ("list", ["x", 1], ["x", 1]),
        ("response", '{"ts":"2027-01-01T00:00:00Z"}', '{"ts": "T"}'),
        ("request", "5", "5"),
    ],
)
def test_members_are_known_by_their_names(name, value, word):
    assert normal_json(value, name) == word
