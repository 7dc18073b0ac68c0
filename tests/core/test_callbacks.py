"""Functions of users that nobody awaits are refused if calling them would not do their work."""

from __future__ import annotations

import functools
import gc
import types
from unittest.mock import AsyncMock

import pytest

from jsproto.core.callbacks import check_callback, check_result
from jsproto.core.pubsub.request_many import RequestMany
from jsproto.errors import InvalidConfig


async def waits(*_):
    return True


def yields(*_):
    yield


async def both(*_):
    yield


@types.coroutine
def marked(*_):
    yield


class Pages:
    def __aiter__(self):
        return self

    async def __anext__(self):
        raise StopAsyncIteration


def plain(*_):
    return True


class Waiting:
    async def __call__(self, *_):
        return True

    async def method(self, *_):
        return True


COROUTINES = [
    waits,
    functools.partial(waits, 1),
    functools.partial(functools.partial(waits), 1),
    Waiting(),
    Waiting().method,
    marked,
    functools.partial(marked, 1),
]
GENERATORS = [yields, both, functools.partial(yields, 1)]


@pytest.mark.parametrize("function", [*COROUTINES, *GENERATORS])
def test_what_a_call_would_not_run_is_refused(function):
    with pytest.raises(InvalidConfig, match="expected a plain function as handler, got a "):
        check_callback(function, "handler")


@pytest.mark.parametrize("function", COROUTINES)
def test_a_coroutine_function_is_welcome_where_it_is_awaited(function):
    check_callback(function, "handler", awaits=True)


@pytest.mark.parametrize("function", GENERATORS)
def test_a_function_with_yield_is_refused_there_too(function):
    with pytest.raises(InvalidConfig, match="with yield"):
        check_callback(function, "handler", awaits=True)


@pytest.mark.parametrize(
    "function", [plain, print, lambda _: None, functools.partial(plain, 1), int, [].append]
)
def test_what_does_its_work_in_the_call_is_taken(function):
    check_callback(function, "handler")


@pytest.mark.parametrize("given", [None, 5, "print"])
def test_what_cannot_be_called_is_refused(given):
    with pytest.raises(
        InvalidConfig, match=f"expected a function as watch, got {type(given).__name__}"
    ):
        check_callback(given, "watch")


@pytest.mark.parametrize(
    "call",
    [
        waits,
        yields,
        both,
        AsyncMock(),
        marked,
        Pages,
        lambda: map(plain, [1]),
        lambda: filter(plain, [1]),
    ],
)
def test_a_result_that_nobody_awaits_is_refused_and_closed(call):
    with pytest.raises(InvalidConfig, match="nobody awaits"):
        check_result(call(), "the handler")
    gc.collect()  # a coroutine that was not closed would warn, and warnings are errors


@pytest.mark.parametrize("result", [None, True, 0, "x", b"", 1.5, [1], object()])
def test_any_other_result_is_good(result):
    check_result(result, "the handler")


@pytest.mark.parametrize("sentinel", [waits, both, Waiting()])
def test_a_sentinel_that_somebody_would_have_to_await_is_refused_before_anything_is_asked(sentinel):
    with pytest.raises(InvalidConfig, match="as sentinel"):
        RequestMany("a", sentinel=sentinel)
