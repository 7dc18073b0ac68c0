"""Consumers of ours that nobody needs any more: each is deleted on the server, without anybody
waiting for it.

Theory. An ordered consumer leaves one behind with every reset, and most of them are gone already.
Still each is deleted: the client asks for it at once, and "not found" is as good as "deleted". Then
it sees to the answers one after the other, by the generator that deletes any consumer: it asks
again with a growing delay, and leaves a consumer that is not deleted after `ATTEMPTS` to the
server, which forgets one that nobody uses after its ``inactive_threshold``; ``given_up`` names
those.

A "not found" to the first question proves nothing where another follows: a server works off calls
beside each other, and may make the consumer only then. Beside that an answer counts however late it
comes. A link that takes longer for it than the client waits would otherwise delete one consumer in
many seconds, while the reader on the same link makes one in every second. While the link is down
everything waits, and a new link sends all deletions at once, since it may be too short for even one
answer.
"""

from __future__ import annotations

from typing import ClassVar, Final

from jsproto.core.conversation.conversation import Call, Port
from jsproto.core.conversation.procedure import Script, Sleep, Steps
from jsproto.core.state import PLAIN, Codecs
from jsproto.errors.tree import ConnectionClosed, JsprotoError, PermissionViolation
from jsproto.jetstream.api.answers import AnswerType
from jsproto.jetstream.api.envelope import answer
from jsproto.jetstream.api.errors import NotFound, RequestContext
from jsproto.jetstream.api.requests.manage import delete_consumer
from jsproto.jetstream.api.subjects import ApiSubjects
from jsproto.jetstream.delivery.api_question import ApiQuestion
from jsproto.wire.frames import PAYLOAD, Delivery

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


def gone(frame: Delivery, *, absent: bool) -> bool:
    """Whether an answer to a deletion says that the consumer is gone; ``absent``: also where it was
    not found.
    """
    try:
        return (
            answer(frame[PAYLOAD], RequestContext(), AnswerType.CONSUMER_DELETE)["success"] is True
        )
    except NotFound:
        return absent
    except JsprotoError:
        return False


class ConsumerCleanup(ApiQuestion[bool]):
    """Names to be deleted. The question is the deletion of the first name. Each name
    was asked for once; the first is asked for again until it is answered.

    Attributes:
        names: those that are not known to be gone, oldest first.
        given_up: those that could not be deleted.
    """

    __slots__ = ("_api", "_asked", "_stream", "_timeout", "given_up", "names")

    STATE: ClassVar[Codecs] = {"_asked": PLAIN, "given_up": PLAIN, "names": PLAIN}

    def __init__(self, api: ApiSubjects, stream: str, timeout: float) -> None:
        super().__init__()
        self._api = api
        self._stream = stream
        self._timeout = timeout
        # The name behind each call on this link whose answer has not come, and whether "not found"
        # proves that it is gone.
        self._asked: dict[int, tuple[str, bool]] = {}
        self.names: list[str] = []
        self.given_up: list[str] = []

    # ------------------------------------------------------------------ facts

    def add(self, name: str, port: Port, now: float) -> None:
        """A consumer is not needed any more."""
        if name not in self.names:
            self.names.append(name)
            if self._script is not None:
                self._send(name, port)
        self.go_on(port, now)

    def go_on(self, port: Port, now: float) -> None:
        """See to the next, if none is under way and the link is up. A removal begins with a wait,
        so none is over at once.
        """
        if self._script is None and self.names and port.up:
            self._ask(port, now)
        if self._script is not None and self._script.token:
            self._asked[self._script.token] = (self.names[0], True)

    def replied(self, port: Port, token: int, frame: Delivery, now: float) -> bool:
        """An answer came, in time or late. Whether it is one to a deletion."""
        name, absent = self._asked.pop(token, ("", False))
        if not name:
            return False
        script = self._script
        if script is not None and token == script.token:
            script.replied(port, token, frame, now)
            self._judge()
        elif gone(frame, absent=absent):
            if name == self.names[0]:
                self._script = None
            self._forget(name)
        self.go_on(port, now)
        return True

    def ticked(self, port: Port, now: float) -> None:
        """Time has passed."""
        super().ticked(port, now)
        self.go_on(port, now)

    def link_down(self) -> None:
        """The link is lost: the first of them is begun anew with the next."""
        self._script = None
        self._asked.clear()

    def link_up(self, port: Port, now: float) -> None:
        """A new link, perhaps a short one: ask for all deletions at once, and see to the answers
        one after the other.
        """
        for name in self.names[1:]:
            self._send(name, port)
        self.go_on(port, now)

    def refused(self, port: Port, subject: str, error: JsprotoError, now: float) -> None:
        """The server does not let a deletion through."""
        super().refused(port, subject, error, now)
        self.go_on(port, now)

    def flush(self, port: Port) -> None:
        """The connection ends: ask for all that is left at once (again, which does no harm); nobody
        will hear the answers.
        """
        if port.up:
            for name in self.names:
                self._send(name, port)
        else:
            self.given_up += self.names
        self._script = None
        self.names.clear()
        self._asked.clear()

    # ------------------------------------------------------------------ inside

    def _send(self, name: str, port: Port) -> None:
        """Ask for a deletion at once. The server may still be at work on the creation, so "not
        found" proves nothing yet.
        """
        token = port.call(Call(self._api.consumer_delete(self._stream, name)))
        self._asked[token] = (name, False)

    def _asking(self) -> Script[bool]:
        name = self.names[0]
        return Script(lambda: removal(self._api, self._stream, name, self._timeout))

    def _judged(self, outcome: Script[bool]) -> None:
        name = self.names[0]
        if not outcome.result:
            self.given_up.append(name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        """A name is done with, and so are the calls about it."""
        self.names.remove(name)
        self._asked = {token: about for token, about in self._asked.items() if about[0] != name}
