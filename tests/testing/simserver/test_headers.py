import pytest

from jsproto.testing.simserver.headers import header, with_headers

BLOCK = b"NATS/1.0\r\nName:  value \r\nEmpty: \r\nname: other\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "value"), [(b"Name", b"value "), (b"name", b"other"), (b"Empty", None), (b"Na", None)]
)
def test_a_header_is_looked_up_byte_for_byte(name, value):
    assert header(BLOCK, name) == value


def test_headers_are_added_at_the_end():
    assert with_headers(None, {"A": 1}) == b"NATS/1.0\r\nA: 1\r\n\r\n"
    assert with_headers(b"NATS/1.0\r\nK: v\r\n\r\n", {"A": 1, "B": "x"}) == (
        b"NATS/1.0\r\nK: v\r\nA: 1\r\nB: x\r\n\r\n"
    )
