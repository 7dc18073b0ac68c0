"""Recordings keep the names that classes had when the first recordings were made."""

from __future__ import annotations

import pytest

from jsproto import Fetch, JetStreamError, StreamNotFound, errors
from jsproto.jetstream.api.errors import RequestContext, api_error
from jsproto.jetstream.pull.fetch import FetchOne
from jsproto.trace.formats.written_names import MERGED, WRITTEN, written_error, written_name

ABOUT = RequestContext(what="look up")


@pytest.mark.parametrize("name", sorted(set(WRITTEN) - {"FetchOne"}))
def test_an_error_with_a_new_name_is_written_by_its_old_one(name):
    kind = getattr(errors, name)

    assert written_name(kind) == WRITTEN[name]
    assert not hasattr(errors, WRITTEN[name])


def test_a_conversation_is_written_by_its_first_name():
    assert written_name(FetchOne) == "Next"
    assert written_name(Fetch) == "Fetch"


@pytest.mark.parametrize(("code", "name"), MERGED.items())
def test_errors_that_became_one_class_are_written_by_their_number(code, name):
    error = api_error({"code": 400, "err_code": code, "description": "not found"}, ABOUT)

    assert isinstance(error, JetStreamError)
    assert written_error(error) == name


def test_an_error_that_was_never_renamed_is_written_as_it_is():
    assert written_error(StreamNotFound(404, 10059, "stream not found", ABOUT)) == "StreamNotFound"
    assert written_error(ValueError("no")) == "ValueError"
