"""What users hand over to be called, where a call must do the work: nobody awaits or iterates what
it gives.

Calling a coroutine function or a generator function runs nothing of its body. Its result is true,
and it is an object, so whoever only calls it takes work for done that was never begun. Both are
refused before the first call where they can be seen, and by their first result where they cannot: a
lambda, a partial, a mock.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator
from types import CodeType

from jsproto.errors.tree import InvalidConfig


def check_callback(function: object, role: str, *, awaits: bool = False) -> None:
    """Refuse what cannot do its work in a call.

    Args:
        function: what the user gave.
        role: what it was given as, for the error.
        awaits: the caller awaits the result, so a coroutine function is welcome.

    Raises:
        InvalidConfig: it is not callable, or a coroutine function, or a function with ``yield``.
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
                f"expected a plain function as {role}, got a coroutine function: nobody awaits it here"
            )
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise InvalidConfig(
                f"expected a plain function as {role}, got a function with yield: nobody iterates over it"
            )


def check_result(result: object, role: str) -> None:
    """Refuse a result that says that the work was not done. A coroutine is closed, so that Python
    does not warn of it.

    Raises:
        InvalidConfig: it would have to be awaited, or iterated over.
    """
    if result is None or isinstance(result, (bool, int, str, bytes)):
        return
    kind = type(result).__name__
    if isinstance(result, (Awaitable, Generator, AsyncIterator, map, filter)):
        if isinstance(result, (Coroutine, Generator)):
            result.close()
        raise InvalidConfig(
            f"expected {role} to do its work when it is called, it gave a {kind} that nobody awaits here"
        )


def _gives_a_coroutine(function: object) -> bool:
    """Whether a call gives something to await: ``async def``, or a generator function that
    `types.coroutine` has marked.
    """
    code = getattr(function, "__code__", None)
    marked = isinstance(code, CodeType) and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)
    return marked or inspect.iscoroutinefunction(function)
