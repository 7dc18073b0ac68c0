"""Check functions that a user passes in: the call itself must do the work.

The caller does not await or iterate the result. A call of a coroutine function or of a generator
function runs nothing of its body. Its result is a true object, so the caller would take the work
for done. `check_callback` refuses such functions before the first call. A lambda, a partial or a
mock hides what it calls; `check_result` refuses its first result.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator
from types import CodeType

from jsproto.errors.tree import InvalidConfig


def check_callback(function: object, role: str, *, awaits: bool = False) -> None:
    """Refuse a function that cannot do its work in a call.

    Args:
        function: the function that the user passed.
        role: the name of its parameter, for the error.
        awaits: the caller awaits the result, so a coroutine function is accepted.

    Raises:
        InvalidConfig: it is not callable, or is a coroutine function or a function with ``yield``.
    """
    if not callable(function):
        raise InvalidConfig(f"expected a function as {role}, got {type(function).__name__}")
    while isinstance(function, functools.partial):
        function = function.func
    for each in (function, type(function).__call__):
        if _gives_a_coroutine(each):
            if awaits:
                continue
            raise InvalidConfig(
                f"expected a plain function as {role},"
                " got a coroutine function: nobody awaits it here"
            )
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise InvalidConfig(
                f"expected a plain function as {role},"
                " got a function with yield: nobody iterates over it"
            )


def check_result(result: object, role: str) -> None:
    """Refuse a result that shows that the work was not done.

    A coroutine is closed, so that Python does not warn about it.

    Raises:
        InvalidConfig: the result would have to be awaited or iterated.
    """
    if result is None or isinstance(result, (bool, int, str, bytes)):
        return
    kind = type(result).__name__
    if isinstance(result, (Awaitable, Generator, AsyncIterator, map, filter)):
        if isinstance(result, (Coroutine, Generator)):
            result.close()
        raise InvalidConfig(
            f"expected {role} to do its work when it is called,"
            f" it gave a {kind} that nobody awaits here"
        )


def _gives_a_coroutine(function: object) -> bool:
    """Tell whether a call returns an awaitable.

    That is the case for ``async def`` and for a generator function marked by `types.coroutine`.
    """
    code = getattr(function, "__code__", None)
    marked = isinstance(code, CodeType) and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)
    return marked or inspect.iscoroutinefunction(function)
