"""A sink in the hands of a blocking caller. Made by ``_client/generate.py`` from `jsproto_io._async_client.sink`: do not edit."""

# ruff: noqa: SLF001 - client and handles are one thing in several modules

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast, final

from jsproto.core.conversation.conversation import StopMode
from jsproto.errors import JsprotoError
from jsproto.signals import ENDED, NEED_DATA
from jsproto_io._sync_client.items import SinkItems
from jsproto_io._sync_client.waits import putting, taking
from jsproto_io._client.conversations import failure_of
from jsproto_io._client.type_parameters import ConversationT_co, ItemT_contra, written

T_co = TypeVar("T_co", covariant=True)


@final
class Sink(SinkItems[T_co, ItemT_contra], Generic[T_co, ConversationT_co, ItemT_contra]):
    """A conversation that takes items and gives results. Leaving it well drains it, leaving by an
    error closes it.

    ``Sink[PublishResult]`` is enough to write where a function takes one. The second parameter is
    the type of ``window``, the third what `put` takes.
    """

    __slots__ = ()

    if not TYPE_CHECKING:
        __class_getitem__ = written

    def __repr__(self) -> str:
        return f"<Sink of {self._window!r}>"

    @property
    def window(self) -> ConversationT_co:
        """The conversation, for what it shows beyond its results."""
        return cast("ConversationT_co", self._window)

    def __enter__(self) -> Self:
        client = self._client
        with client._guard:
            self._seat = client._opened(self._window, client._now())
            self._put = client._connection.put
            client._pump()
        client._enter(self._window, reads=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drain.

        Raises:
            JsprotoError: the first failure among the results that were not taken.
        """
        if kind is not None:
            self.close()
            return
        client = self._client
        try:
            self.drain()
        except BaseException:
            with contextlib.suppress(JsprotoError):  # what ended the drain is what is raised
                self.close()
            raise
        client._leave(self._window)
        with client._guard:
            while (
                items := client._driver.take_all(self._window, client._now())
            ) is not ENDED and items is not NEED_DATA:
                self._rest.extend(items)
        for failure in filter(None, map(failure_of, self._rest)):
            raise failure

    def results(self) -> Iterator[T_co]:
        """The results so far and to come, until the sink is drained or closed."""
        client = self._client
        while True:
            while self._rest:
                yield self._rest.popleft()
            with client._guard:
                while (items := client._driver.take_all(self._window, client._now())) is NEED_DATA:
                    taking(client, self._seat)
                if items is not ENDED:
                    self._rest.extend(items)  # before anything that an exception can come out of
                client._wrote()
            if items is ENDED:
                return

    def drain(self) -> None:
        """Take no further items, and wait until every one has its result."""
        client = self._client
        with client._guard:
            client._connection.tell(self._window, StopMode.DRAIN, client._now())
            while client._driver.ending(self._window):
                putting(client, self._seat)

    def close(self) -> None:
        """End it now; what has no result yet ends with an unknown outcome."""
        self._client._finish(self._window)
