"""A server that plays a script: for tests of one machine against exactly these bytes.

The script is a list of two kinds of steps. An :class:`Expect` is a line that the client must say
next, written as words with ``*`` for any one word and ``...`` for any rest; a :class:`Send` is
bytes that go out as soon as it is reached. What the client says beyond the script is kept. Lines
are read by the model server's own reader, so whatever the client writes is at least grammatical.

    peer = ScriptedServer([*handshake(), Expect("SUB * 1"), Send(msg("s.a", "1", b"hello"))])
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, final

from attrs import frozen

from jsproto.errors.tree import JsprotoError, shorten
from jsproto.wire.client_commands import (
    ClientCommand,
    ClientCommandParser,
    ConnectLine,
    MalformedCommand,
    PubLine,
    SubLine,
    UnsubLine,
)

_PULL = "$JS.API.CONSUMER.MSG.NEXT."


class ScriptBroken(JsprotoError, AssertionError):
    """The client did not say what the script expects next."""


@final
@frozen
class Expect:
    """The next line of the client, as words: ``*`` is any one word, a last ``...`` any rest."""

    line: str


@final
@frozen
class Send:
    """Bytes of the server."""

    data: bytes


Step: TypeAlias = Expect | Send


class Pulled(NamedTuple):
    """A pull request that the client made; ``request`` is its JSON, empty if it had none."""

    stream: str
    consumer: str
    reply: str
    request: dict[str, object]


class ScriptedServer:
    """Plays a script to one client. Without script, or behind its end, it only listens."""

    __slots__ = ("_at", "_heard", "_out", "_pulls", "_reader", "_script")

    def __init__(self, script: Iterable[Step] = ()) -> None:
        self._script = list(script)
        self._at = 0
        self._reader = ClientCommandParser()
        self._heard: list[ClientCommand] = []
        self._pulls: list[Pulled] = []
        self._out = bytearray()
        self._play()

    def receive_data(self, data: bytes) -> None:
        """Bytes of the client.

        Raises:
            ScriptBroken: the client said something else than the script has next, or broke the
                grammar.
        """
        for command in self._reader.feed(data):
            said = line_of(command)
            if isinstance(command, MalformedCommand):
                raise ScriptBroken(
                    f"expected a line of the protocol, got one that ends with {command.text!r}"
                )
            self._heard.append(command)
            pulled = _pulled(command)
            if pulled is not None:
                self._pulls.append(pulled)
            if self._at < len(self._script):
                step = self._script[self._at]
                if isinstance(step, Expect) and not _fits(step.line, said):
                    raise ScriptBroken(
                        f"expected {step.line!r} as step {self._at}, got {shorten(said, 200)}"
                    )
                self._at += 1
                self._play()

    def data_to_send(self) -> bytes:
        """What the script has the server say, since the last call."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def say(self, data: bytes) -> None:
        """Send bytes outside the script."""
        self._out += data

    def expect(self, *steps: Step) -> None:
        """Lengthen the script."""
        self._script.extend(steps)
        self._play()

    def frames(self) -> list[ClientCommand]:
        """What the client has said since the last call."""
        heard = list(self._heard)
        self._heard.clear()
        return heard

    def lines(self) -> list[str]:
        """`frames` as text."""
        return [line_of(command) for command in self.frames()]

    def take_pulls(self) -> list[Pulled]:
        """The pull requests since the last call."""
        pulls = list(self._pulls)
        self._pulls.clear()
        return pulls

    @property
    def done(self) -> bool:
        """The script has been played to its end."""
        return self._at >= len(self._script)

    def finish(self) -> None:
        """Make sure that the client said everything that the script expects.

        Raises:
            ScriptBroken: it did not.
        """
        if not self.done:
            step = self._script[self._at]
            raise ScriptBroken(
                f"expected {getattr(step, 'line', step)!r} as step {self._at}, got nothing more"
            )

    def _play(self) -> None:
        while self._at < len(self._script):
            step = self._script[self._at]
            if isinstance(step, Expect):
                return
            self._out += step.data
            self._at += 1


# ------------------------------------------------------------------------------------------------ lines of the client


def line_of(command: ClientCommand) -> str:
    """The line of a command as text, without payload: ``PUB a.b reply 5``."""
    if isinstance(command, PubLine):
        words = [command.subject, command.reply] if command.reply else [command.subject]
        if command.block is None:
            return " ".join(["PUB", *words, str(len(command.payload))])
        sizes = [str(len(command.block)), str(len(command.block) + len(command.payload))]
        return " ".join(["HPUB", *words, *sizes])
    if isinstance(command, SubLine):
        return " ".join(
            word for word in ("SUB", command.subject, command.queue, command.sid) if word
        )
    if isinstance(command, UnsubLine):
        return f"UNSUB {command.sid} {command.limit}" if command.limit else f"UNSUB {command.sid}"
    if isinstance(command, ConnectLine):
        return "CONNECT " + command.body.decode("utf-8", "replace")
    return command.value if not isinstance(command, MalformedCommand) else f"BROKEN {command.text}"


def _fits(pattern: str, line: str) -> bool:
    wanted, seen = pattern.split(), line.split()
    if wanted[-1:] == ["..."]:
        wanted = wanted[:-1]
        seen = seen[: len(wanted)]
    return len(wanted) == len(seen) and all(
        want in {have, "*"} for want, have in zip(wanted, seen, strict=True)
    )


def _pulled(command: ClientCommand) -> Pulled | None:
    if not isinstance(command, PubLine) or not command.subject.startswith(_PULL):
        return None
    stream, _, consumer = command.subject[len(_PULL) :].partition(".")
    try:
        request: object = json.loads(command.payload) if command.payload else {}
    except ValueError:
        request = {}
    return Pulled(
        stream,
        consumer,
        command.reply,
        request if isinstance(request, dict) else {"batch": request},
    )


# ------------------------------------------------------------------------------------------------ frames of the server


def info(**members: object) -> bytes:
    """An INFO line; members that are not given have the values of a plain 2.15 server."""
    table: dict[str, object] = {
        "server_id": "NSCRIPTED",
        "server_name": "scripted",
        "version": "2.15.1",
        "proto": 1,
        "host": "127.0.0.1",
        "port": 4222,
        "headers": True,
        "max_payload": 1_048_576,
        "jetstream": True,
        "client_id": 1,
    }
    table.update(members)
    return b"INFO " + json.dumps(table, separators=(",", ":")).encode() + b" \r\n"


def handshake(**members: object) -> list[Step]:
    """The steps of a plain handshake: INFO, CONNECT, PING, PONG."""
    return [Send(info(**members)), Expect("CONNECT ..."), Expect("PING"), Send(b"PONG\r\n")]


def msg(
    subject: str, sid: str, payload: bytes = b"", *, reply: str = "", block: bytes | None = None
) -> bytes:
    """One MSG, or HMSG when there is a header block."""
    words = f"{subject} {sid} {reply} ".replace("  ", " ").encode()
    if block is None:
        return b"MSG %b%d\r\n%b\r\n" % (words, len(payload), payload)
    return b"HMSG %b%d %d\r\n%b%b\r\n" % (
        words,
        len(block),
        len(block) + len(payload),
        block,
        payload,
    )


def status(subject: str, sid: str, line: str, **headers: object) -> bytes:
    """A status frame: ``line`` is code and description, underscores in header names become dashes."""
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return msg(subject, sid, block=f"NATS/1.0 {line}\r\n{fields}\r\n".encode())
