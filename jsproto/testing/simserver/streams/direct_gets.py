"""Direct gets: stored messages straight from a stream, without JSON in the answer (ADR-31).

A request names a sequence, the last or the next message of a subject, a time, or (from 2.11 on) a
batch of messages, or the last ones of many subjects. Each message comes on the reply subject with
its stream, subject, sequence and time as headers; a batch ends with ``204 EOB``. Whatever is wrong
is a status (nats-server ``processDirectGetRequest``, ``getDirectRequest``, ``getDirectMulti``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from jsproto.testing.simserver.requests.requests import read_plainly
from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values.documents import Table, integer, text, texts
from jsproto.testing.simserver.values.gojson import GoJsonError
from jsproto.testing.simserver.values.gotime import parse_rfc3339, rfc3339
from jsproto.testing.simserver.values.headers import with_headers
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.subjects import matches

#: Subjects whose last messages one request may ask for.
_MOST_SUBJECTS: Final = 1024
#: Bytes that one request may ask for if it names no limit (server option ``max_pending``).
_MOST_BYTES: Final = 67_108_864


class DirectGet:
    """One request about one stream; ``say`` takes header block and payload of each answer."""

    __slots__ = ("_asked", "_profile", "_say", "_stream")

    def __init__(
        self, stream: SimStream, profile: Profile, say: Callable[[bytes | None, bytes], None]
    ) -> None:
        self._stream = stream
        self._profile = profile
        self._say = say
        self._asked: Table = {}

    def answer(self, body: bytes) -> None:
        """A request with a body that says what is wanted."""
        if not body:
            self._status("408 Empty Request")
        elif self._read(body):
            wanted = ("seq", "last_by_subj", "next_by_subj", "multi_last", "start_time")
            if not any(self._asked.get(name) for name in wanted):
                self._status("408 Empty Request")
            elif self._conflicting():
                self._status("408 Bad Request")
            elif self._asked.get("multi_last"):
                self._many()
            else:
                self._some()

    def answer_last(self, key: str, body: bytes) -> None:
        """A request whose subject names the subject; the body may say nothing that asks for
        another.
        """
        if body and not self._read(body):
            return
        others = (
            "last_by_subj",
            "next_by_subj",
            "multi_last",
            "seq",
            "batch",
            "start_time",
            "up_to_seq",
            "up_to_time",
        )
        if any(self._asked.get(name) for name in others):
            self._status("408 Bad Request")
            return
        self._asked["last_by_subj"] = key
        self._some()

    # ------------------------------------------------------------------------------------------------ the request

    def _read(self, body: bytes) -> bool:
        try:
            self._asked = read_plainly(body, "JSApiMsgGetRequest", self._profile)
        except GoJsonError:
            self._status("408 Malformed Request")
            return False
        return True

    def _conflicting(self) -> bool:
        asked = self._asked
        seq, last, following, many, start = (
            bool(asked.get(name))
            for name in ("seq", "last_by_subj", "next_by_subj", "multi_last", "start_time")
        )
        return (
            (last and (seq or start or following or many or bool(asked.get("batch"))))
            or (seq and start)
            or (following and many)
            or bool(asked.get("up_to_seq") and asked.get("up_to_time"))
        )

    # ------------------------------------------------------------------------------------------------ the answer

    def _some(self) -> None:
        """One message, or a batch of messages in a row."""
        asked, stream = self._asked, self._stream
        seq, pattern = integer(asked, "seq"), text(asked, "next_by_subj")
        if asked.get("start_time"):
            seq = stream.seq_at(parse_rfc3339(text(asked, "start_time")) or 0)
        batch = integer(asked, "batch")
        matching = (
            each for each in stream.after(seq) if not pattern or matches(pattern, each.subject)
        )
        if not batch:
            newest = text(asked, "last_by_subj")
            if newest:
                message = stream.last_of(newest)
            elif pattern:
                message = next(matching, None)
            else:
                message = stream.message(seq)
            if message is None:
                self._status("404 Message Not Found")
            else:
                self._tell(message, {})
            return
        messages = list(matching)
        if not messages:
            self._status("404 Message Not Found")
            return
        pending, last = self._run(
            messages[:batch], len(messages), counts_itself=self._profile.direct_counts_itself
        )
        self._end({"Nats-Num-Pending": pending, "Nats-Last-Sequence": last})

    def _many(self) -> None:
        """The last messages of many subjects, in the order of their sequences."""
        asked, stream = self._asked, self._stream
        end = integer(asked, "up_to_seq") or stream.last
        if asked.get("up_to_time"):
            end = stream.seq_at(parse_rfc3339(text(asked, "up_to_time")) or 0) - 1
        seqs = stream.newest_per_subject(texts(asked, "multi_last"), end)
        seqs = [seq for seq in seqs if seq >= integer(asked, "seq")] if end >= stream.first else []
        if len(seqs) > _MOST_SUBJECTS:
            self._status("413 Too Many Results")
            return
        if not seqs:
            self._status("404 No Results")
            return
        found = (stream.message(seq) for seq in seqs[: integer(asked, "batch") or None])
        pending, last = self._run([each for each in found if each is not None], len(seqs))
        pending = max(0, pending - self._profile.direct_counts_itself)
        self._end(
            {"Nats-Num-Pending": pending, "Nats-Last-Sequence": last, "Nats-UpTo-Sequence": end}
        )

    def _run(
        self, messages: list[Stored], pending: int, *, counts_itself: bool = False
    ) -> tuple[int, int]:
        """Messages of a batch, as far as its bytes reach; answers how many are still pending, and
        the last sequence.
        """
        last, room = 0, integer(self._asked, "max_bytes") or _MOST_BYTES
        for message in messages:
            pending -= 1
            self._tell(
                message, {"Nats-Num-Pending": pending + counts_itself, "Nats-Last-Sequence": last}
            )
            last = message.seq
            room -= _size(message)
            if room <= 0:
                break
        return pending, last

    def _tell(self, message: Stored, numbers: Mapping[str, object]) -> None:
        if self._asked.get("no_hdr") is True:
            self._say(None, message.payload)
            return
        about = {
            "Nats-Stream": self._stream.name,
            "Nats-Subject": message.subject,
            "Nats-Sequence": message.seq,
            "Nats-Time-Stamp": rfc3339(message.time),
            **numbers,
        }
        self._say(with_headers(message.block, about), message.payload)

    def _end(self, numbers: Mapping[str, object]) -> None:
        self._say(with_headers(b"NATS/1.0 204 EOB\r\n\r\n", numbers), b"")

    def _status(self, line: str) -> None:
        self._say(f"NATS/1.0 {line}\r\n\r\n".encode(), b"")


def _size(message: Stored) -> int:
    return message.subject_size + len(message.block or b"") + len(message.payload)
