"""A client that the server has locked out: each verb that comes too late says why, on every
adapter.
"""

from __future__ import annotations

import inspect

import pytest

from jsproto.errors import AuthorizationFailed, ConversationClosed, JsprotoError


def lets_in(line):
    line.greet()
    line.subscribed()  # and goes


def locks_out(line):
    line.say(b'INFO {"max_payload":1048576,"headers":true}\r\n')
    line.hear(b"PING\r\n")
    line.say(b"-ERR 'Authorization Violation'\r\n")
    line.until_gone()


def caught(call):
    """A verb that gives the error which it raises."""

    async def awaited(result):
        try:
            return await result
        except JsprotoError as error:
            return error

    def verb(nc):
        try:
            result = call(nc)
        except JsprotoError as error:
            return error
        return awaited(result) if inspect.isawaitable(result) else result

    return verb


async def _first_awaited(feed):
    async with feed:
        return await anext(feed)


def _first(feed):
    with feed:
        return next(feed)


def first(nc):
    """The next item of a new subscription."""
    feed = nc.subscribe("a")
    return _first_awaited(feed) if hasattr(feed, "__aenter__") else _first(feed)


LATE = {
    "publish": lambda nc: nc.publish("a", b"1"),
    "request": lambda nc: nc.request("a", b"1"),
    "subscribe": first,
    "flush": lambda nc: nc.flush(),
    "publish to a stream": lambda nc: nc.jetstream().publish("a", b"1"),
    "ask the API": lambda nc: nc.jetstream().account_info(),
}


def test_a_client_that_was_locked_out_says_so_whatever_it_is_asked_for(peer, use):
    there = peer(lets_in, locks_out, locks_out)
    ended, *late = use(there.url, caught(first), *map(caught, LATE.values()))

    assert isinstance(ended, AuthorizationFailed)
    for name, error in zip(LATE, late, strict=True):
        assert isinstance(error, ConversationClosed), name
        assert "Authorization Violation" in str(error), name
        assert isinstance(error.__cause__, AuthorizationFailed), name


def test_a_client_that_its_user_has_closed_gives_no_reason(peer, use):
    there = peer(lambda line: (line.greet(), line.until_gone()))
    _, late = use(there.url, lambda nc: nc.close(), caught(LATE["request"]))

    assert isinstance(late, ConversationClosed)
    assert late.__cause__ is None


@pytest.mark.parametrize("reason", [None, AuthorizationFailed("locked out")])
def test_the_reason_stands_in_the_text_so_it_is_there_after_a_copy_too(reason):
    error = ConversationClosed("expected more", reason)

    assert str(error) == ("expected more" if reason is None else "expected more: locked out")
    assert error.__cause__ is reason
