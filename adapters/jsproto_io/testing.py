"""Proof that an adapter keeps the contract: ``check_driver(connect, backend="trio")``.

Theory. An adapter has no choice in what NATS means, only in how it waits, so one set of checks fits
all (`_contract`). Each check has a model server of its own on a real socket (`_hosted`), and after
it nothing may be left: no task, no thread, no open file. Or it has a real server behind a relay
(`_relayed`), and leaves out what only a model can be made to do.

An adapter with ``await`` is run by anyio on asyncio or trio; a check cancels it at its first wait,
its second, and so on, until it is through. On asyncio that is done twice: as a scope does it, and
as a task that is cancelled just when it was to be woken. An adapter without ``await`` is given the
form of one that never waits.

    check_driver(connect, backend="asyncio")      # or "trio"; or "blocking" for one without await
    check_driver(connect, backend="trio", server="nats://127.0.0.1:4222")
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, final

import anyio

from jsproto_io._testing.contract import CONTRACT as _CONTRACT
from jsproto_io._testing.contract_cancel import CANCELLED
from jsproto_io._testing.harness import PROMPT, Clause, PromiseBroken
from jsproto_io._testing.model_server import ModelServer
from jsproto_io._testing.relay import ServerRelay

__all__ = ["CONTRACT", "Backend", "Clause", "ModelServer", "PromiseBroken", "check_driver"]

Backend: TypeAlias = Literal["asyncio", "trio", "blocking"]
#: What one check may take, in seconds.
_PATIENCE: Final = 60.0


#: Everything that is promised.
CONTRACT: Final = (*_CONTRACT, *CANCELLED)


def check_driver(
    connect: Callable[..., Any],
    *,
    backend: Backend,
    only: str = "",
    web: bool = False,
    server: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Check an adapter against the whole contract, one clause after the other, and stop at the
    first that it breaks.

    Args:
        connect: makes a client from URLs and options, as `jsproto_io.asyncio.connect` does.
        backend: what it runs on.
        only: check the clauses with this text in their name.
        web: through a WebSocket; takes the extra ``ws``.
        server: the URL of a running nats-server with JetStream instead of the model server, of any
            scheme. Nobody else may use it: its stream ``S`` is deleted. Certificates must show
            127.0.0.1. Clauses with ``model`` are left out.
        options: what a client needs to connect to it, as ``tls_context``.

    Raises:
        Broken: which clause is broken, and how.
    """

    def host() -> ModelServer | ServerRelay:
        return ModelServer(web=web) if server is None else ServerRelay(server, options)

    for clause in CONTRACT:
        fits = clause.needs in {"", "a thread" if backend == "blocking" else "tasks"}
        if only in clause.name and fits and not (server is not None and clause.model):
            for native in (
                (False, True) if clause.needs == "tasks" and backend == "asyncio" else (False,)
            ):
                _check(connect, clause, backend, host, native=native)


def _check(
    connect: Callable[..., Any],
    clause: Clause,
    backend: Backend,
    host: Callable[[], ModelServer | ServerRelay],
    *,
    native: bool,
) -> None:
    threads, files = threading.active_count(), _files()
    with host() as hosted:
        try:
            rig = _Rig(connect, hosted, waits=backend != "blocking", native=native)
            if backend == "blocking":
                _at_once(clause.check(rig))
            else:
                anyio.run(rig.play, clause.check, backend=backend)
        except Exception as error:
            raise PromiseBroken(
                f"expected that {clause.name}: {type(error).__name__}: {error}"
            ) from error
    if threading.active_count() > threads:
        raise PromiseBroken(
            f"expected no thread to be left, {threading.enumerate()} are, after: {clause.name}"
        )
    if _files() > files:
        raise PromiseBroken(f"expected {files} open files, {_files()} are, after: {clause.name}")


def _files() -> int:
    """How many files are open, where the system tells."""
    folder = Path("/dev/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0  # noqa: PTH208 - it counts itself, every time


def _at_once(story: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits, within bounds where there are signals."""
    with contextlib.ExitStack() as bounds:
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
            before = signal.signal(signal.SIGALRM, _too_long)
            bounds.callback(signal.signal, signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
            bounds.callback(signal.setitimer, signal.ITIMER_REAL, 0)
        _to_its_end(story)


def _to_its_end(story: Coroutine[Any, Any, None]) -> None:
    try:
        story.send(None)
    except StopIteration:
        return
    finally:
        story.close()
    raise PromiseBroken("expected an adapter without await, it waits for an event loop")


def _too_long(_number: int, _frame: object) -> None:
    raise TimeoutError(f"not done after {_PATIENCE} s")


@final
class _Rig:
    """What the checks use; see `jsproto_io._testing.harness.Harness`."""

    def __init__(
        self,
        connect: Callable[..., Any],
        hosted: ModelServer | ServerRelay,
        *,
        waits: bool,
        native: bool,
    ) -> None:
        self.hosted = hosted
        self._connect = connect
        self._waits = waits
        self._native = native

    def connect(self, *urls: str, **options: object) -> Any:
        """A client."""
        client = self._connect(
            list(urls) or self.hosted.url, **{**PROMPT, **self.hosted.options, **options}
        )
        return client if self._waits else _Awaited(client)

    async def play(self, check: Callable[[Self], Awaitable[None]]) -> None:
        """One check, within bounds; no task may be left."""
        before = {task.id for task in anyio.get_running_tasks()}
        with anyio.fail_after(_PATIENCE):
            await check(self)
        left = [task for task in anyio.get_running_tasks() if task.id not in before]
        if left:
            raise PromiseBroken(f"expected no task to be left, {left} are")

    async def together(self, *stories: Callable[[], Awaitable[object]]) -> None:
        """Several tasks."""
        async with anyio.create_task_group() as tasks:
            for story in stories:
                tasks.start_soon(_told, story)

    async def cut_short(self, story: Awaitable[object], at: int) -> bool:
        """Cancel a story at its ``at``-th wait; ``True`` if it was over before."""
        if self._native:
            return await _natively(story, at)
        with anyio.CancelScope() as scope:
            await _Counted(story, at, scope.cancel)
        return not scope.cancel_called

    async def pause(self) -> None:
        """Let others go on."""
        if self._waits:
            await anyio.sleep(0.005)
        else:
            threading.Event().wait(0.005)


async def _told(story: Callable[[], Awaitable[object]]) -> None:
    await story()


async def _natively(story: Awaitable[object], at: int) -> bool:
    """As a task of asyncio is cancelled that was to be woken in the same turn of the loop: the
    exception comes instead.
    """
    cancelled = False

    def cancel() -> None:
        nonlocal cancelled
        cancelled = True
        raise asyncio.CancelledError

    try:
        await _Counted(story, at, cancel, late=True)
    except asyncio.CancelledError:
        if not cancelled:
            raise
        return False
    if cancelled:
        raise PromiseBroken("expected the cancellation to be raised, it was swallowed")
    return True


@final
class _Counted:
    """Awaits something else, and counts its waits: ``act`` at the ``at``-th, when it begins or,
    ``late``, when it is over.
    """

    def __init__(
        self, story: Awaitable[object], at: int, act: Callable[[], None], *, late: bool = False
    ) -> None:
        self._steps: Generator[Any, Any, object] = story.__await__()
        self._at = at
        self._act = act
        self._late = late

    def __await__(self) -> Generator[Any, Any, object]:
        count = 0
        answer: object = None
        failure: BaseException | None = None
        while True:
            try:
                asked = self._steps.send(answer) if failure is None else self._steps.throw(failure)
            except StopIteration as end:
                return end.value
            count += 1
            answer = failure = None
            try:
                if count == self._at and not self._late:
                    self._act()
                answer = yield asked
                if count == self._at and self._late:
                    self._act()
            except BaseException as error:  # noqa: BLE001 - it is the story's
                failure = error


@final
class _Awaited:
    """A thing without ``await`` in the form of one that never waits."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._thing, name)
        if not inspect.ismethod(member):
            return member
        if name in {"stream", "sink", "events", "results"}:

            def opened(*args: object) -> _Awaited:
                return _Awaited(member(*args))

            return opened

        async def verb(*args: object, **options: object) -> Any:
            return member(*args, **options)

        return verb

    async def __aenter__(self) -> Self:
        self._thing.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thing.__exit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        for item in self._thing:
            return item
        raise StopAsyncIteration
