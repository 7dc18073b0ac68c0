"""What the last message of a counter says is exact."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsproto.errors import InvalidResponse
from jsproto.jetstream.api.publishing.counter import Counter
from jsproto.wire.headers import Headers


def test_value_increment_and_sources_are_read() -> None:
    headers = Headers(
        {
            "Nats-Incr": "+99999999999999999999999999",
            "Nats-Counter-Sources": '{"EU":{"hits.a":"5"},"US":{"hits.a":"-7"}}',
        }
    )

    assert Counter.read(b'{"val":"100000000000000000000000040"}', headers) == Counter(
        value=100000000000000000000000040,
        incr=99999999999999999999999999,
        sources={"EU": {"hits.a": 5}, "US": {"hits.a": -7}},
    )


def test_a_counter_without_headers_is_its_value() -> None:
    assert Counter.read(b'{"val":"-3"}') == Counter(value=-3)
    assert Counter.read(b'{"val":"3"}', Headers()) == Counter(value=3)


@pytest.mark.parametrize(
    ("payload", "headers"),
    [
        (b"", {}),
        (b"5", {}),
        (b"{}", {}),
        (b'{"val":5}', {}),
        (b'{"val":"five"}', {}),
        (b'{"val":"' + b"9" * 5000 + b'"}', {}),
        (b"[" * 100_000, {}),
        (b'{"val":"5"}', {"Nats-Incr": "much"}),
        (b'{"val":"5"}', {"Nats-Counter-Sources": "EU"}),
        (b'{"val":"5"}', {"Nats-Counter-Sources": '{"EU":5}'}),
        (b'{"val":"5"}', {"Nats-Counter-Sources": '{"EU":{"hits.a":5}}'}),
    ],
)
def test_what_is_no_counter_is_an_invalid_response(payload: bytes, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidResponse, match="expected"):
        Counter.read(payload, Headers(headers))


@given(st.binary(max_size=30), st.text(max_size=30))
def test_any_bytes_are_a_counter_or_an_invalid_response(payload: bytes, text: str) -> None:
    with contextlib.suppress(InvalidResponse):
        Counter.read(
            payload, Headers.parse(f"NATS/1.0\r\nNats-Counter-Sources: {text}\r\n\r\n".encode())
        )
