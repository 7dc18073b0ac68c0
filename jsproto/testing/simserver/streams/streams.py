"""Streams: what is stored, what is refused, what falls out again.

A publish passes the :class:`~jsproto.testing.simserver.streams.publish_gate.PublishGate`, alone or
with its batch; then it is stored, the consumers are told, and old messages make place. A stream
answers a publish with the text of the acknowledgement. It knows its consumers by the few words of
:class:`~jsproto.testing.simserver.streams.followers.Follower`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from jsproto.testing.simserver.streams.batches import Batches, BatchMessage
from jsproto.testing.simserver.streams.followers import Follower
from jsproto.testing.simserver.streams.publish_gate import (
    Admitted,
    DroppedError,
    DuplicateError,
    PublishGate,
)
from jsproto.testing.simserver.streams.store import Store, Stored
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, integer, table, text, texts
from jsproto.testing.simserver.values.gotime import SECOND, go_duration, rfc3339
from jsproto.testing.simserver.values.headers import header, with_headers
from jsproto.testing.simserver.values.profile import Profile
from jsproto.testing.simserver.values.refusals import RefusedError, numbered
from jsproto.testing.simserver.values.subjects import SubjectMapping, matches

#: Members of an acknowledgement that stand before its domain.
_AT_THE_FRONT: Final = frozenset({"stream", "seq"})
#: Limits for whose sake old messages leave.
_LIMITS: Final = ("max_msgs", "max_bytes", "max_msgs_per_subject")

#: Text of an acknowledgement, or ``None`` when there is to be none.
PubAck: TypeAlias = str | None


class SimStream(Store):
    """One stream with its messages."""

    __slots__ = (
        "_ack_front",
        "_gate",
        "_limited",
        "_max_age",
        "_plain",
        "_profile",
        "_republish",
        "_retention",
        "_tell",
        "_transform",
        "_woken",
        "batches",
        "config",
        "created",
        "domain",
        "followers",
        "name",
    )

    def __init__(
        self,
        config: Table,
        profile: Profile,
        now: int,
        domain: str = "",
        *,
        tell: Callable[[str, bytes, bytes], None] | None = None,
    ) -> None:
        """A stream; ``tell`` publishes what is to be told on."""
        super().__init__(integer(config, "first_seq"), in_memory=config["storage"] == "memory")
        self.name = text(config, "name")
        self.created = now
        self.domain = domain
        self.followers: dict[str, Follower] = {}
        self._profile = profile
        self._gate = PublishGate(self, profile)
        #: Atomic batches that are open.
        self.batches = Batches(profile)
        self._transform: SubjectMapping | None = None
        self._republish: SubjectMapping | None = None
        self._tell = tell
        #: Who has to look for messages when everything else is done.
        self._woken: dict[Follower, None] = {}
        self.config: Table = {}
        self.configure(config)

    # ------------------------------------------------------------------------------------------------ what it is

    def configure(self, config: Table) -> None:
        """Take over a new configuration."""
        self.config = config
        transform, republish = (
            table(config.get("subject_transform")),
            table(config.get("republish")),
        )
        self._transform = (
            SubjectMapping(text(transform, "src"), text(transform, "dest")) if transform else None
        )
        self._republish = (
            SubjectMapping(text(republish, "src"), text(republish, "dest")) if republish else None
        )
        # What is asked for with each message.
        self._gate.configure(config)
        self._retention = text(config, "retention")
        self._max_age = integer(config, "max_age")
        self._limited = any(integer(config, name) > 0 for name in _LIMITS)
        #: A message without headers is stored as it comes.
        self._plain = not (
            self.sealed
            or transform
            or republish
            or self._retention == "interest"
            or config["discard"] == "new"
            or config.get("allow_msg_counter")
            or integer(config, "max_msg_size") >= 0
        )
        blank = " " if self._profile.blank_in_pub_ack else ""
        self._ack_front = f'{{"stream":"{self.name}",{blank}"seq":'

    @property
    def subjects(self) -> list[str]:
        """The patterns that it listens on."""
        return texts(self.config, "subjects")

    @property
    def retention(self) -> str:
        """``limits``, ``interest`` or ``workqueue``."""
        return self._retention

    @property
    def sealed(self) -> bool:
        """Nothing may change any more."""
        return bool(self.config["sealed"])

    def listens(self, subject: str) -> bool:
        """Whether a publish on ``subject`` is for this stream."""
        return any(matches(pattern, subject) for pattern in self.subjects)

    # ------------------------------------------------------------------------------------------------ publishing

    def publish_run(self, subject: str, payloads: Iterable[bytes], now: int) -> None:
        """Store, or refuse, several messages without headers that nobody wants acknowledged."""
        if not self._plain:
            for payload in payloads:
                self.publish(subject, None, payload, now)
            return
        self._gate.last_id = b""
        for payload in payloads:
            self._follow(self.put(subject, None, payload, now), now)

    def publish(self, subject: str, block: bytes | None, payload: bytes, now: int) -> PubAck:
        """Store one message, or refuse; the answer is the text of its acknowledgement."""
        try:
            ident = (
                header(block, b"Nats-Batch-Id")
                if block is not None and self._profile.counters
                else None
            )
            if block is not None and ident is not None:
                return self._batched(ident, BatchMessage(subject, block, payload), now)
            if self._transform is not None:
                subject = self._transform.apply(subject) or subject
            admitted = self._gate.admit(subject, block, payload, now)
            if self._unwanted(subject):
                return self._answer(
                    {"stream": self.name, "seq": self._skipped(subject, admitted, now)}
                )
            self._check_room(subject, admitted)
        except DroppedError:
            return None
        except DuplicateError as duplicate:
            return self._answer({"stream": self.name, "seq": duplicate.seq}, duplicate=True)
        except RefusedError as refused:
            return self.refuse(refused.refusal)
        seq = self._take(subject, admitted, now)
        if admitted.total is not None:
            return self._answer({"stream": self.name, "seq": seq, "val": admitted.total})
        return self._answer({"stream": self.name, "seq": seq})

    def refuse(self, refusal: refusals.ApiRefusal) -> PubAck:
        """Store nothing; the answer says why."""
        return self._answer({"error": refusal.body(), "stream": self.name, "seq": 0})

    def _unwanted(self, subject: str) -> bool:
        """Whether interest is what keeps messages here, and nobody has any in this one."""
        return self._retention == "interest" and not any(
            follower.filtered(subject) for follower in self.followers.values()
        )

    def _skipped(self, subject: str, admitted: Admitted, now: int) -> int:
        """Nobody is interested: the message has a sequence, which this gives, and is gone."""
        seq = self.skip(now, dated=self.config["storage"] in self._profile.dates_skipped)
        self._gate.claimed = 0
        self._gate.stored(admitted.ident, seq, now)
        if admitted.rollup:
            self._purge(subject if admitted.rollup == b"sub" else ">", 0, 1, now)
        return seq

    def _batched(self, ident: bytes, member: BatchMessage, now: int) -> PubAck:
        """A member of an atomic batch: an empty answer, or that of the whole batch."""
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        self._gate.check_size(member.block, member.payload)
        if not self.config.get("allow_atomic"):
            raise RefusedError(numbered(10174))
        members = self.batches.add(ident, member, now)
        if members is None:
            return "" if not self.config.get("no_ack") else None
        seq = 0
        admitted = self._gate.admit_batch(members, now)
        for (subject, _, _), each in zip(members, admitted, strict=True):
            moved = self._transform.apply(subject) if self._transform is not None else ""
            take = self._skipped if self._unwanted(moved or subject) else self._take
            seq = take(moved or subject, each, now)
        last = admitted[-1].total
        total = {"val": last} if last is not None else {}
        batch = {"batch": ident.decode("utf-8", "replace"), "count": len(members)}
        return self._answer({"stream": self.name, "seq": seq, **total, **batch})

    def _take(self, subject: str, admitted: Admitted, now: int) -> int:
        """Store what has passed every check, and let everything follow that follows from it."""
        before = 0 if self._republish is None else self.newest(subject)[0]
        message = self.put(subject, admitted.block, admitted.payload, now)
        seq = message.seq
        self._gate.stored(admitted.ident, seq, now)
        if admitted.ttl:
            self.lives(message, admitted.ttl)
        if self._republish is not None:
            self._tell_on(message, self._republish.apply(subject), before)
        self._follow(message, now, admitted.rollup)
        return seq

    def _follow(self, message: Stored, now: int, rollup: bytes = b"") -> None:
        """What follows from a new message: others leave, and whoever wants it comes to it."""
        for follower in self.followers.values():
            if follower.stored(message):
                self._woken[follower] = None
        if self._limited:
            self._shrink(message.subject, now)
        if rollup:
            self._purge(message.subject if rollup == b"sub" else ">", 0, 1, now)
        if self._woken:
            self._wake(now)

    def _tell_on(self, message: Stored, to: str, before: int) -> None:
        """Republish a stored message; ``before`` is the sequence that its subject had."""
        if not to or self._tell is None:
            return
        about: Table = {
            "Nats-Stream": self.name,
            "Nats-Subject": message.subject,
            "Nats-Sequence": message.seq,
            **({"Nats-Time-Stamp": rfc3339(message.time)} if self._profile.timestamps else {}),
            "Nats-Last-Sequence": before,
        }
        payload = message.payload
        if table(self.config["republish"]).get("headers_only"):
            about["Nats-Msg-Size"] = len(payload)
            payload = b""
        self._tell(to, with_headers(message.block, about), payload)

    def _check_room(self, subject: str, admitted: Admitted) -> None:
        """With discard new, what does not fit is refused, unless it replaces one of its subject."""
        if admitted.ttl is None:
            self._gate.late(admitted.ident)
            raise RefusedError(numbered(10165))
        if self.config["discard"] != "new":
            return
        size, headers = (
            len(admitted.block or b"") + len(admitted.payload),
            admitted.block is not None,
        )
        rollup = admitted.rollup
        per_subject = integer(self.config, "max_msgs_per_subject")
        known = self._subjects.get(subject)
        replaces = known is not None and 0 < per_subject <= len(known)
        if replaces and self.config.get("discard_new_per_subject") and not rollup:
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages per subject exceeded"))
        if 0 <= integer(self.config, "max_msgs") <= len(self) and not replaces:
            raise RefusedError(refusals.STORE_FAILED.about("maximum messages exceeded"))
        limit = integer(self.config, "max_bytes")
        taken = self.stored_size(subject, size, headers=headers)
        if 0 <= limit < self._bytes + taken + (not self._profile.fills_max_bytes):
            oldest = self._messages[known[0]] if known is not None and replaces else None
            if oldest is None or self.size_of(oldest) < taken:
                raise RefusedError(refusals.STORE_FAILED.about("maximum bytes exceeded"))

    def _answer(self, members: Table, *, duplicate: bool = False) -> PubAck:
        if self.config.get("no_ack"):
            return None
        if "error" in members:
            return json.dumps(members, separators=(",", ":"))
        body = f"{self._ack_front}{members['seq']}"
        if self.domain:
            blank = " " if self._profile.blank_in_pub_ack else ""
            body += f',{blank}"domain":"{self.domain}"'
        for name, value in members.items():
            if name not in _AT_THE_FRONT:
                body += f',"{name}":{json.dumps(value)}'
        return body + (',"duplicate": true}' if duplicate else "}")

    # ------------------------------------------------------------------------------------------------ the store

    def _remove(self, message: Stored, now: int, told: Stored | None = None) -> None:
        self.take(message)
        for follower in self.followers.values():
            if follower.removed(told or message, now):
                self._woken[follower] = None

    def _wake(self, now: int) -> None:
        while self._woken:
            follower = next(iter(self._woken))
            del self._woken[follower]
            follower.turned(now)

    def _shrink(self, subject: str, now: int) -> None:
        """Old messages leave until every limit holds again."""
        per_subject = integer(self.config, "max_msgs_per_subject")
        seqs = self._subjects.get(subject)
        while seqs is not None and 0 < per_subject < len(seqs):
            self._remove(self._messages[seqs[0]], now)
        if self.config["discard"] != "old":
            return
        most, size = integer(self.config, "max_msgs"), integer(self.config, "max_bytes")
        while self._messages and (0 < most < len(self._messages) or 0 < size < self._bytes):
            self._remove(self._messages[self.first], now)

    def _needed(self, message: Stored) -> bool:
        return any(follower.needs(message) for follower in self.followers.values())

    def enforce(self, now: int) -> None:
        """Limits that an update of the configuration has tightened."""
        for subject in list(self._subjects):
            self._shrink(subject, now)
        self._wake(now)

    def acknowledged(self, seq: int, now: int) -> None:
        """A consumer has done with a message; whether it leaves depends on the retention."""
        if self._retention == "limits":
            return
        message = self._messages.get(seq)
        if message is None:
            return
        if self._retention == "workqueue" or not self._needed(message):
            self._remove(message, now)
            self._wake(now)

    def unfollowed(self, now: int) -> None:
        """A consumer is gone: with interest retention, what only it waited for leaves."""
        if self._retention == "interest":
            for message in [each for each in self.after(self.first) if not self._needed(each)]:
                self._remove(message, now)
            if not self.followers:
                self.compact(self.last + 1)
            self._wake(now)

    # ------------------------------------------------------------------------------------------------ taking out

    def delete(self, seq: int, now: int) -> None:
        """Delete one message on request.

        Raises:
            RefusedError: it is not there, or the stream does not allow it.
        """
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        if self.config["deny_delete"]:
            raise RefusedError(refusals.MSG_DELETE_FAILED.about("message delete not permitted"))
        message = self._messages.get(seq)
        if message is None and not self.in_memory and not self.first <= seq <= self.last:
            words = "no message found" if seq <= self.last else "stream store EOF"
            raise RefusedError(refusals.MSG_DELETE_FAILED.about(words))
        if message is None:
            raise RefusedError(refusals.SEQUENCE_NOT_FOUND.about(seq))
        known = self.in_memory or not self._profile.deletes_blindly
        self._remove(message, now, message if known else Stored(seq, "", None, b"", 0))
        self._wake(now)

    def purge(self, pattern: str, below: int, keep: int, now: int) -> int:
        """Delete messages under ``pattern``, below a sequence (0: all) or all but the newest
        ``keep``; how many.

        Raises:
            RefusedError: the stream does not allow it.
        """
        if self.sealed:
            raise RefusedError(refusals.SEALED)
        if self.config["deny_purge"]:
            raise RefusedError(refusals.PURGE_FAILED.about("stream purge not permitted"))
        return self._purge(pattern, below, keep, now)

    def _purge(self, pattern: str, below: int, keep: int, now: int) -> int:
        """Take messages out (``PurgeEx``), and tell the consumers where the rest begins."""
        everything = pattern in {"", ">"}
        whole = not (pattern or below or keep)
        if below == 1 and everything and self.config["storage"] in self._profile.purges_below_1:
            below = 0
        found = [
            each for each in self.after(self.first) if everything or matches(pattern, each.subject)
        ]
        careful = self._profile.careful_purge
        if keep and everything and self.in_memory and not careful and keep < len(found):
            below = self.last - keep + 1
        found = (
            [each for each in found if each.seq < below]
            if below
            else found[: max(0, len(found) - keep)]
        )
        stays = False
        if everything and self.in_memory and 0 < below <= self.last:
            if self._profile.purge_needs_message and self.message(below) is None:
                raise RefusedError(refusals.NO_MESSAGE_TO_KEEP)
            stays = self._profile.purge_keeps_first and next(self.after(below), None) is None
        since = self.kept_since()
        alone = len(found) == 1 and (not everything or keep > 0)
        singly = alone if careful or not self.in_memory else not everything
        for message in found:
            self.take(message)
            if singly:
                # Stores in files do not know what it was.
                gone = (
                    message if self.in_memory else Stored(message.seq, pattern or ">", None, b"", 0)
                )
                for follower in self.followers.values():
                    follower.withdrawn(gone)
        if everything and (keep or below) and self.in_memory and not self._profile.forgets_subjects:
            self.miscount(found)
        elif everything and not below:
            self.recount()
        if stays:
            self.keeps_first(since)
        elif everything and not keep:
            self.compact(below or self.last + 1)
        begin = self.first
        if pattern:
            begin = next(
                (each.seq for each in self.after(self.first) if matches(pattern, each.subject)), 0
            )
        for follower in list(self.followers.values()):
            if found and not singly:
                follower.counted()
            if follower.purged(pattern, begin, now, whole=whole):
                self._woken[follower] = None
        self._wake(now)
        return len(found)

    # ------------------------------------------------------------------------------------------------ time

    def deadline(self) -> int | None:
        """When the oldest message gets too old, another has lived its time, or a batch was silent
        for too long.
        """
        old, silent = self.next_end(self._max_age), self.batches.deadline()
        return old if silent is None else silent if old is None else min(old, silent)

    def ticked(self, now: int) -> None:
        """Messages above ``max_age`` or beyond their own time leave; what they leave behind is a
        marker, if it is asked for.
        """
        gone = self.ended(self._max_age, now)
        for message in gone:
            self._remove(message, now)
        self._mark(gone, now)
        self.batches.ticked(now)
        self._wake(now)

    def _mark(self, gone: list[Stored], now: int) -> None:
        """Where the last message of a subject was too old, a marker says so, if that is asked for."""
        ttl = integer(self.config, "subject_delete_marker_ttl")
        if not ttl:
            return
        block = with_headers(
            None,
            {"Nats-Marker-Reason": "MaxAge", "Nats-TTL": go_duration(ttl), "Nats-Rollup": "sub"},
        )
        last = [
            each.subject
            for each in gone
            if each.subject not in self._subjects and not _is_marker(each)
        ]
        for subject in dict.fromkeys(last):
            marker = self.put(subject, block, b"", now)
            self.lives(marker, ttl // SECOND)
            self._woken.update(
                {each: None for each in self.followers.values() if each.stored(marker)}
            )


def _is_marker(message: Stored) -> bool:
    return message.block is not None and header(message.block, b"Nats-Marker-Reason") is not None
