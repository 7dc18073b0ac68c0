"""Shows a trace as a ladder, one line for each frame and command, or as a Mermaid diagram.

Theory. A line says what its frame is for. It shows what a pull asks for, the code and text of a
status, and the sequences of a delivery. A payload is shown by its size only. The output is text;
the caller decides its width and amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from jsproto.jetstream.delivery.ack import AckSubject, InvalidAckSubject
from jsproto.trace.formats.framing import client_reader, server_reader
from jsproto.trace.formats.recording import INNER, Happened, Received, Record, Sent, Wished
from jsproto.trace.observe.client import api_call, pull_of
from jsproto.trace.observe.ledger import seconds
from jsproto.wire.client_commands import (
    ClientCommand,
    ClientCommandParser,
    ClientVerb,
    ConnectLine,
    PubLine,
    SubLine,
    UnsubLine,
)
from jsproto.wire.frames import Control, Err, Frame, Info
from jsproto.wire.headers import status_of
from jsproto.wire.parser import Parser

_WIDTH: Final = 72


class Rung(NamedTuple):
    """A line of the ladder.

    ``way`` is ``>`` for the client, ``<`` for the server, ``!`` for a verb and ``=`` for an event.
    """

    line: int
    at: float
    conn: str
    way: str
    words: str


def rungs(records: Iterable[tuple[int, Record]]) -> Iterator[Rung]:
    """Yield the rungs of a trace in order."""
    readers: dict[str, tuple[Parser, ClientCommandParser]] = {}
    for line, record in records:
        if isinstance(record, Happened | Wished):
            if record.name == "connected":
                readers.pop(record.conn, None)
            if record.name in INNER and isinstance(record, Happened):
                continue
            way = "=" if isinstance(record, Happened) else "!"
            detail = " ".join(f"{name}={value}" for name, value in record.detail.items())
            yield Rung(line, record.at, record.conn, way, f"{record.name} {detail}".rstrip())
        elif isinstance(record, Received | Sent):
            pair = readers.get(record.conn)
            if pair is None:
                pair = readers[record.conn] = (server_reader(), client_reader())
            if isinstance(record, Received):
                for frame in pair[0].feed(record.data):
                    yield Rung(line, record.at, record.conn, "<", frame_words(frame))
            else:
                for command in pair[1].feed(record.data):
                    yield Rung(line, record.at, record.conn, ">", command_words(command))


def frame_words(frame: Frame) -> str:
    """Describe a frame of the server in one line."""
    match frame:
        case tuple():
            _, subject, reply, block, payload = frame
            status = status_of(block) if block is not None else None
            if status is not None and not reply.startswith("$JS.ACK."):
                return (
                    f"{status[0]} {status[1]}".rstrip()
                    + f" on {subject}"
                    + (f", answer on {reply}" if reply else "")
                )
            try:
                about = AckSubject.parse(reply)
            except InvalidAckSubject:
                return f"message {subject} ({len(payload)} bytes)" + (
                    f", reply {reply}" if reply else ""
                )
            return (
                f"delivery {about.consumer_sequence} of {about.stream}.{about.consumer}: "
                f"message {about.stream_sequence} on {subject} ({len(payload)} bytes), "
                f"{about.num_pending} left"
            )
        case Info():
            return f"INFO {frame.version}".rstrip() + (", lame duck" if frame.lame_duck else "")
        case Err():
            return f"-ERR {frame.text}"
        case _:
            return "+OK" if frame is Control.OK else frame.value


def command_words(command: ClientCommand) -> str:
    """Describe a command of the client in one line."""
    match command:
        case ConnectLine():
            return "CONNECT"
        case SubLine():
            return f"SUB {command.subject} as {command.sid}" + (
                f" in {command.queue}" if command.queue else ""
            )
        case UnsubLine():
            return f"UNSUB {command.sid}" + (f" after {command.limit}" if command.limit else "")
        case PubLine():
            return _publish(command)
        case ClientVerb():
            return command.value
        case _:
            return f"unreadable: {command.text or 'wrong words or sizes'}"


def _publish(command: PubLine) -> str:
    subject, payload = command.subject, command.payload
    if subject.startswith("$JS.ACK."):
        return f"{payload.decode('utf-8', 'replace') or 'ack'} to {subject}"
    verb, names = api_call(subject)
    if verb == "CONSUMER.MSG.NEXT" and len(names) > 1:
        pull = pull_of((names[0], names[1]), command.reply, payload, 0, 0)
        size = f" and {pull.max_bytes} bytes" if pull.max_bytes else ""
        return (
            f"pull {pull.batch}{size} from {names[0]}.{names[1]}, "
            f"expires {seconds(pull.expires):g} s, to {command.reply}"
        )
    if verb:
        return f"{verb} {' '.join(names)}".rstrip()
    return f"publish {subject} ({len(payload)} bytes)" + (
        f", reply {command.reply}" if command.reply else ""
    )


def visible(text: str) -> str:
    """Escape a peer's text for a terminal.

    Characters that do not print become escapes: controls, marks of direction, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def as_text(rung: Rung, width: int = _WIDTH) -> str:
    """Write a rung for a terminal."""
    arrow = {">": "──▶", "<": "◀──", "!": " ! ", "=": " = "}[rung.way]
    rung = rung._replace(conn=visible(rung.conn), words=visible(rung.words))
    words = rung.words if len(rung.words) <= width else rung.words[: width - 1] + "…"
    return f"{rung.line:>7} {rung.at:>12.6f} {rung.conn or '-':>4} {arrow} {words}"


def mermaid(ladder: Iterable[Rung]) -> Iterator[str]:
    """Write the ladder as a Mermaid ``sequenceDiagram``."""
    yield "sequenceDiagram"
    for rung in ladder:
        words = visible(rung.words).replace(";", ",").replace("#", "♯")
        conn = visible(rung.conn) or "world"
        if rung.way in "<>":
            ends = (conn, "server") if rung.way == ">" else ("server", conn)
            yield f"    {ends[0]}->>{ends[1]}: {words}"
        else:
            yield f"    Note over {conn}: {words}"
