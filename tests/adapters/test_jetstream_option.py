"""The option ``jetstream`` of every adapter: whose JetStream it is, if nobody says otherwise."""

from __future__ import annotations

import pytest

from jsproto import InvalidConfig, JetStream, JsprotoError
from jsproto_io.blocking import connect
from jsproto_io.testing import ModelServer


def as_told(**where):
    return lambda nc: nc.jetstream(**where)


def test_jetstream_is_that_of_the_options_on_every_adapter(use):
    with ModelServer() as hosted:
        given = use(
            hosted.url,
            as_told(),
            as_told(timeout=0.5),
            as_told(domain="leaf"),
            as_told(prefix="acc.API", timeout=1.0),
            jetstream=JetStream(domain="hub", timeout=2.0),
        )
        plain = use(hosted.url, as_told(), as_told(timeout=1.0))

    assert [
        ("hub", None, 2.0),
        ("hub", None, 0.5),
        ("leaf", None, 2.0),
        (None, "acc.API", 1.0),
    ] == [(js.domain, js.prefix, js.timeout) for js in given]
    assert [(None, None, 5.0), (None, None, 1.0)] == [
        (js.domain, js.prefix, js.timeout) for js in plain
    ]


def test_a_request_goes_to_the_domain_of_the_options():
    with ModelServer() as hosted:
        nc = connect(hosted.url, jetstream=JetStream(domain="hub", timeout=0.2))
        with nc, pytest.raises(JsprotoError):
            nc.jetstream().account_info()

        assert b"PUB $JS.hub.API.INFO " in hosted.heard


def test_a_jetstream_that_is_none_is_refused():
    with pytest.raises(InvalidConfig, match="expected a JetStream as jetstream, got str"):
        connect(jetstream="hub")
