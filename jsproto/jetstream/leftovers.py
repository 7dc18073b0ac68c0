"""Consumers of ours that nobody needs any more: each is deleted on the server, without anybody waiting for it.

Theory. An ordered consumer leaves one behind with every reset, and most of them are gone already. Still each is deleted, by
the generator that deletes any consumer, one after the other; "not found" is as good as "deleted". A deletion that fails is
tried again with a growing delay; who is not deleted after `ATTEMPTS` is left to the server, which forgets a consumer that
nobody uses after its ``inactive_threshold``, and counted in ``given_up``. While the link is down everything waits. A new link may be too
short for even one answer, so on it all deletions are sent at once, and then each is asked for again until it is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, cast

from jsproto.core.conversation import Call, Port
from jsproto.core.procedure import Script, Sleep, Steps
from jsproto.core.state import PLAIN, Codecs, Snapshot, Stateful
from jsproto.errors import ConnectionClosed, JsprotoError, PermissionViolation
from jsproto.jetstream.api.errors import NotFound
from jsproto.jetstream.api.procedures import delete_consumer
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.wire.frames import Delivery

ATTEMPTS: Final = 4
#: Seconds before the second attempt; doubles.
_DELAY: Final = 1.0


def removal(api: ApiSubjects, stream: str, consumer: str, timeout: float) -> Steps[bool]:
    """Delete a consumer, however often that takes within reason; whether it is gone."""
    delay = _DELAY
    for left in reversed(range(ATTEMPTS)):
        try:
            yield from delete_consumer(api, stream, consumer, timeout=timeout)
        except NotFound:
            return True
        except (ConnectionClosed, PermissionViolation):
            return False
        except JsprotoError:
            if left:
                yield Sleep(delay)
                delay *= 2
        else:
            return True
    return False


class Leftovers(Stateful):
    """Names to be deleted, the first of them under way.

    Attributes:
        names: those that are not known to be gone, oldest first.
        given_up: those that could not be deleted.
    """

    __slots__ = ("_api", "_script", "_stream", "_timeout", "given_up", "names")

    STATE: ClassVar[Codecs] = {"given_up": PLAIN, "names": PLAIN}

    def __init__(self, api: ApiSubjects, stream: str, timeout: float) -> None:
        self._api = api
        self._stream = stream
        self._timeout = timeout
        self._script: Script[bool] | None = None
        self.names: list[str] = []
        self.given_up: list[str] = []

    @property
    def deadline(self) -> float | None:
        """When `ticked` can change something."""
        return None if self._script is None else self._script.deadline

    # ------------------------------------------------------------------ facts

    def add(self, name: str, port: Port, now: float) -> None:
        """A consumer is not needed any more."""
        if name not in self.names:
            self.names.append(name)
        self.go_on(port, now)

    def go_on(self, port: Port, now: float) -> None:
        """Delete the next, if none is under way and the link is up. A removal begins with a wait, so none is over at once."""
        if self._script is None and self.names and port.up:
            self._script = self._removal()
            self._script.opened(port, now)

    def replied(self, port: Port, token: int, frame: Delivery, now: float) -> bool:
        """An answer came. Whether it was waited for here."""
        script = self._script
        if script is None:
            return False
        before = script.waiting
        script.replied(port, token, frame, now)
        self._judge()
        waited = script.waiting is not before
        self.go_on(port, now)
        return waited

    def ticked(self, port: Port, now: float) -> None:
        """Time has passed."""
        if self._script is not None:
            self._script.ticked(port, now)
            self._judge()
        self.go_on(port, now)

    def link_down(self) -> None:
        """The link is lost: the first of them is begun anew with the next."""
        self._script = None

    def link_up(self, port: Port, now: float) -> None:
        """A new link, perhaps a short one: ask for all deletions at once, and see to the answers one after the other."""
        for name in self.names[1:]:
            self._send(name, port)
        self.go_on(port, now)

    def refused(self, port: Port, subject: str, error: JsprotoError, now: float) -> None:
        """The server does not let a deletion through."""
        if self._script is not None:
            self._script.refused(port, subject, error, now)
            self._judge()
        self.go_on(port, now)

    def flush(self, port: Port) -> None:
        """The connection ends: ask for all that is left at once (again, which does no harm); nobody will hear the answers."""
        if port.up:
            for name in self.names:
                self._send(name, port)
        else:
            self.given_up += self.names
        self._script = None
        self.names.clear()

    # ------------------------------------------------------------------ inside

    def _send(self, name: str, port: Port) -> None:
        """Ask for a deletion; nobody waits for the answer."""
        port.call(Call(self._api.consumer_delete(self._stream, name)))

    def _removal(self) -> Script[bool]:
        name = self.names[0]
        return Script(lambda: removal(self._api, self._stream, name, self._timeout))

    def _judge(self) -> None:
        script = self._script
        if script is not None and script.done:
            name = self.names.pop(0)
            if not script.result:
                self.given_up.append(name)
            self._script = None

    def snapshot(self) -> Snapshot:
        """The names, and how far the first deletion is."""
        return {**super().snapshot(), "script": None if self._script is None else self._script.snapshot()}

    def restore(self, data: Mapping[str, object]) -> None:
        """Put back what `snapshot` gave."""
        super().restore(data)
        self._script = None
        if data["script"] is not None:
            self._script = self._removal()
            self._script.restore(cast("Mapping[str, object]", data["script"]))
