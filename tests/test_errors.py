"""Errors say what was expected and seen, and stand where their culprit is."""

from __future__ import annotations

import pytest

from jsproto import errors
from jsproto.errors import ApiError, JsprotoError, StatusError
from jsproto.errors.tree import shorten
from jsproto.signals import ENDED, NEED_DATA


@pytest.mark.parametrize("seen", ["x" * 1000, b"x" * 1000, list(range(1000)), 5, "short"])
def test_what_was_seen_is_shortened(seen):
    assert len(shorten(seen)) <= 80
    assert shorten("short") == "'short'"


def test_builtin_bases_let_except_read_naturally():
    assert issubclass(errors.RequestTimeout, TimeoutError)
    assert issubclass(errors.ConnectionLost, ConnectionError)
    assert issubclass(errors.InvalidSubject, ValueError)


def test_every_error_has_one_culprit():
    branches = (
        errors.LocalProtocolError,
        errors.RemoteProtocolError,
        errors.LinkError,
        errors.ServerError,
    )
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, JsprotoError) and each is not JsprotoError:
            assert 1 == sum(issubclass(each, branch) for branch in branches)


def test_an_api_error_says_code_and_question():
    error = ApiError(404, 10059, "stream not found", "stream 'S'")

    assert "stream not found [code 404, err_code 10059] (stream 'S')" == str(error)
    assert "no description [code 0, err_code 0]" == str(ApiError(0, 0, ""))


def test_a_status_error_says_the_status():
    error = StatusError(409, "Consumer Deleted")

    assert "server answered with status 409 Consumer Deleted" == str(error)
    assert (409, "Consumer Deleted") == (error.code, error.description)
    assert "own words" == str(StatusError(409, "x", "own words"))


def test_signals_show_their_name():
    assert "NEED_DATA ENDED" == f"{NEED_DATA!r} {ENDED!r}"
