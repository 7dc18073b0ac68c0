"""A name that is looked up in a thread, for whoever blocks and has a deadline all the same.

Theory. A resolver asks servers, has its own patience, and can't be told to stop. So an address that
is written out is found at once, and a name is looked up by a thread that nobody has to wait for:
its end can be selected for, and who gives the name up leaves it to itself. A thread that has found
something is over when that is taken; one that is left alone ends when its resolver does, and holds
up nobody who leaves.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Sequence
from typing import final

from jsproto_io._transport.backend import AddrInfo


def written_out(host: str, port: int) -> Sequence[AddrInfo] | None:
    """What a host that is an address stands for, without asking anybody; ``None`` if it is a name.

    Raises:
        ValueError: a name that no resolver takes.
    """
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return None


def looked_up(host: str, port: int, patience: float) -> Sequence[AddrInfo]:
    """The addresses of a host, waited for at most so many seconds.

    Raises:
        OSError, ValueError: there are none, or none in time.
    """
    found = written_out(host, port)
    if found is not None:
        return found
    lookup = Lookup(host, port)
    try:
        if not select.select([lookup], [], [], patience)[0]:
            raise TimeoutError
        return lookup.found()
    finally:
        lookup.leave()


@final
class Lookup:
    """One name that is being looked up. It can be selected for, and is readable when something is
    found.
    """

    __slots__ = ("_ours", "_result", "_theirs", "_thread")

    def __init__(self, host: str, port: int) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._result: Sequence[AddrInfo] | Exception = ()
        self._thread = threading.Thread(
            target=self._look, args=(host, port), name="jsproto resolver", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError as error:
            self._theirs.close()
            self._ours.close()
            raise OSError(f"expected a thread that looks up {host}: {error}") from error

    def fileno(self) -> int:
        """A descriptor that is readable when something is found."""
        return self._ours.fileno()

    def found(self) -> Sequence[AddrInfo]:
        """What was found.

        Raises:
            OSError, ValueError: why nothing was.
        """
        self._thread.join()  # it has nothing left to do
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def leave(self) -> None:
        """Nobody waits for it any more. In the child of a fork, where there is no such thread, its
        descriptor is closed too.
        """
        self._ours.close()
        if not self._thread.is_alive():
            self._theirs.close()

    def _look(self, host: str, port: int) -> None:
        try:
            self._result = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where it is waited for
            self._result = error
        with self._theirs, contextlib.suppress(OSError):  # it was left
            self._theirs.shutdown(socket.SHUT_WR)  # and not only closed: a fork may have a copy
