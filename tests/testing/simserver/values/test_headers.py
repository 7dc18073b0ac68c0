import pytest

from jsproto.testing.simserver.values.headers import header, number, with_headers

BLOCK = b"NATS/1.0\r\nName:  value \r\nEmpty: \r\nname: other\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "value"), [(b"Name", b"value "), (b"name", b"other"), (b"Empty", None), (b"Na", None)]
)
def test_a_header_is_looked_up_byte_for_byte(name, value):
    assert header(BLOCK, name) == value


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("7", 7),
        ("0", 0),
        ("", None),
        ("-1", None),
        ("7 ", None),
        ("9" * 19, int("9" * 19)),
        ("9" * 20, None),
    ],
)
def test_a_header_is_a_number_or_none(value, seen):
    assert number(f"NATS/1.0\r\nSeq: {value}\r\n\r\n".encode(), b"Seq") == seen
    assert number(BLOCK, b"Seq") is None


def test_headers_are_added_at_the_end():
    assert with_headers(None, {"A": 1}) == b"NATS/1.0\r\nA: 1\r\n\r\n"
    assert with_headers(b"NATS/1.0\r\nK: v\r\n\r\n", {"A": 1, "B": "x"}) == (
        b"NATS/1.0\r\nK: v\r\nA: 1\r\nB: x\r\n\r\n"
    )
