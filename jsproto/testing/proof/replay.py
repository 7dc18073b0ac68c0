"""A recording, played to the model: the same client bytes at the same times, and what comes back
otherwise.

Time moves from one record to the next; in between the model lives through its own deadlines. Frames
are noted on both sides with their times, by whom they speak to. The server's own PINGs are left
out, since it spreads them by chance, and so is what the model says where the recorder read no more.
When a frame came may differ by what a busy machine needs, and a recorder that looks at one
connection does not see what waits on another.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jsproto.testing.proof.frames import FrameReader
from jsproto.testing.proof.hidden import Hidden
from jsproto.testing.proof.ids import Ids
from jsproto.testing.proof.normal import normal
from jsproto.testing.proof.scene import Beforehand, base_of, grace_of, notes_of, server_of
from jsproto.testing.simserver import SimServer
from jsproto.testing.simserver.values.documents import integer, is_table, text
from jsproto.trace.formats.recording import Happened, Received, Record, Recording, Sent, Waited

#: Seconds by which a frame may come earlier or later than recorded.
TOLERANCE: Final = 0.08
_NOTHING: Final = Beforehand()


class FrameDifference(NamedTuple):
    """Where model and recording part.

    ``what`` is ``content``, ``time`` or ``eof``; ``recorded`` and ``modelled`` are the frames,
    ``None`` where there is none.
    """

    conn: str
    channel: str
    at: int
    what: str
    recorded: object
    modelled: object


class _Noted(NamedTuple):
    """A frame; ``since``: when the recorder began to look at its connection, where that is known."""

    at: float
    since: float
    said: object


def prove(
    recording: Recording, beforehand: Beforehand = _NOTHING
) -> tuple[list[FrameDifference], tuple[str, ...]]:
    """Where the model answers otherwise than recorded, and what it was asked for that it does not
    model.
    """
    play = _Replay(recording, beforehand)
    play.run()
    return play.differences(), play.server.not_modelled


class _Replay:
    def __init__(self, recording: Recording, beforehand: Beforehand) -> None:
        self.recording = recording
        self.base = base_of(recording)
        self.server: SimServer = server_of(recording, self.base)
        self.beforehand = beforehand
        self.hidden = Hidden(recording)
        self.ids = Ids()
        self.cids: dict[str, int] = {}
        self.readers: dict[tuple[str, str], FrameReader] = {}
        self.heard: dict[str, dict[tuple[str, str], list[_Noted]]] = {
            "recorded": {},
            "modelled": {},
        }
        self.unended: list[str] = []
        self.at = 0
        self.before = 0.0
        self.published = 0
        #: What the recorder last looked at, and since when; when it looked at each connection for
        #: the last time.
        self.looking: tuple[str, float] = ("", 0.0)
        self.ends = {record.conn: record.at for record in recording.records}
        #: Behind this record of a connection the recorder read nothing: what the server said later
        #: was never seen.
        self.read_until = {
            record.conn: at
            for at, record in enumerate(recording.records)
            if not isinstance(record, Sent)
        }

    def run(self) -> None:
        for subject, body in self.beforehand.requests:
            self.server.request(subject, dict(body) if body is not None else None, self.base)
        if self.beforehand.subjects:
            other = self.server.connect(self.base)
            subs = "".join(
                f"SUB {each} {sid}\r\n" for sid, each in enumerate(self.beforehand.subjects)
            )
            self.server.receive_data(
                other, b'CONNECT {"verbose":false}\r\n' + subs.encode(), self.base
            )
        for at, record in enumerate(self.recording.records):
            self.at = at
            self.until(record.at)
            if isinstance(record, Received | Waited) and record.conn != self.looking[0]:
                self.looking = (record.conn, self.before)
            elif not isinstance(record, Received | Waited):
                self.looking = ("", 0.0)
            self.before = record.at
            self.play(record, self.base + record.at)
            self.collect(record.at)

    def until(self, t: float) -> None:
        """Let the model live until ``t``, collecting after each of its own deadlines."""
        while (due := self.server.next_deadline()) is not None and due <= self.base + t:
            self.server.handle_tick(due)
            self.collect(due - self.base)
        self.server.handle_tick(self.base + t)
        self.collect(t)

    def play(self, record: Record, now: float) -> None:
        if isinstance(record, Sent):
            if self.beforehand.published and not self.published and b"MSG.NEXT" in record.data:
                for key in sorted(self.hidden.stored):
                    content = self.hidden.stored[key]
                    self.server.publish(content.subject, content.payload, now, block=content.block)
                    self.published += 1
            self.server.receive_data(self.cids[record.conn], self.ids.said(record.data), now)
        elif isinstance(record, Received):
            self.note("recorded", record.conn, record.data, record.at)
        elif isinstance(record, Happened):
            self.happened(record, now)

    def happened(self, record: Happened, now: float) -> None:
        detail = record.detail
        match record.name, text(detail, "what") or text(detail, "signal"):
            case "connected", _:
                self.readers["recorded", record.conn] = FrameReader()
                self.readers["modelled", record.conn] = FrameReader()
                self.cids[record.conn] = self.server.connect(now)
            case "client_close", _:
                self.server.disconnect(self.cids[record.conn], now)
            case "eof", _:
                if not self.server.closed(self.cids[record.conn]):
                    self.unended.append(record.conn)
            case "server_signal", "SIGTERM":
                self.server.shutdown(now)
            case "server_signal", "SIGKILL":
                self.server.kill(now)
            case "server_signal", "SIGUSR2":
                self.server.lame_duck(now, grace=grace_of(notes_of(self.recording)))
            case "server_started", _:
                self.server.start(now)
            case "oob", "api":
                body = detail.get("request")
                self.server.request(text(detail, "subject"), body if is_table(body) else None, now)
            case "oob", "publish":
                self.publish(
                    text(detail, "subject"), integer(detail, "count"), integer(detail, "bytes"), now
                )
            case _:
                pass

    def publish(self, pattern: str, count: int, size: int, now: float) -> None:
        """What somebody published beside the recording; ``s.0..s.9`` is one message on each of ten
        subjects.
        """
        first, dots, _ = pattern.partition("..")
        for number in range(count):
            subject = f"{first.removesuffix('0')}{number}" if dots else pattern
            stream, seq = self.server.destination(subject)
            content = self.hidden.content(stream, seq, subject, size, number)
            self.server.publish(subject, content.payload, now, block=content.block)

    def collect(self, at: float) -> None:
        for conn, cid in self.cids.items():
            self.note("modelled", conn, self.server.data_to_send(cid), at)

    def note(self, side: str, conn: str, data: bytes, at: float) -> None:
        self.ids.heard(side, data)
        for frame in self.readers[side, conn].feed(data):
            if frame.line == "PING" or (
                side == "modelled" and self.at > self.read_until.get(conn, -1)
            ):
                continue
            channel, said = normal(frame)
            self.heard[side].setdefault((conn, channel), []).append(
                _Noted(at, self.looking[1] if side == "recorded" else at, said)
            )

    def differences(self) -> list[FrameDifference]:
        """The first difference of each channel."""
        found: list[FrameDifference] = []
        recorded, modelled = self.heard["recorded"], self.heard["modelled"]
        for conn, channel in sorted({*recorded, *modelled}):
            theirs, ours = recorded.get((conn, channel), []), modelled.get((conn, channel), [])
            for at in range(max(len(theirs), len(ours))):
                real = theirs[at] if at < len(theirs) else None
                mine = ours[at] if at < len(ours) else None
                if real is None and mine is not None and mine.at > self.ends[conn] - TOLERANCE:
                    break
                if real is None or mine is None or real.said != mine.said:
                    found.append(FrameDifference(conn, channel, at, "content", real, mine))
                    break
                if abs(real.at - max(mine.at, real.since)) > TOLERANCE:
                    found.append(FrameDifference(conn, channel, at, "time", real, mine))
                    break
        found.extend(
            FrameDifference(conn, "CONTROL", -1, "eof", None, None) for conn in self.unended
        )
        return found
