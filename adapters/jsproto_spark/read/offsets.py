"""Offsets of a streaming query, which Spark writes into its checkpoint, and ranges between them.

Theory. An offset is the sequence of the next unread message. It also contains other facts, each
against one way to lose data or to read the wrong data:

- ``created``, the creation time of the stream. A stream that is deleted and created again counts
  from 1; with the sequence alone the query would continue in the wrong stream.
- ``init``, where the query began. After a crash in the first batch Spark asks for the initial
  offset again, but has written only the end of that batch; "latest" is later by then. So the end
  contains the beginning: if two offsets have different beginnings, that of the later one counts
  (`unread`).
- ``what``, a digest of the options that select messages, to detect a restart with other options.
  ``asked`` holds these options, so that an error can name the difference.
- ``owner``, the name of a query that releases what it has read. Spark does not tell a source the
  place of its checkpoint. So the checkpoint itself holds the name: a query that continues from it
  has the same name, and a query with another checkpoint has another one.

An offset is plain JSON, and contains the version of its format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, cast, final

from attrs import evolve, field, frozen

from jsproto.errors.tree import shorten
from jsproto_spark.errors import ChangedQuery

_VERSION: Final = 1


@final
@frozen(kw_only=True)
class Offset:
    """A position in a stream.

    Attributes:
        stream: its name.
        created: its creation time, as the server writes it.
        seq: the next unread sequence.
        init: the sequence at which the query began.
        what: see `meaning`.
        asked: see `asked_for`; empty in a checkpoint of an older version.
        owner: the name of a query that releases what it has read, ``""`` for others.
    """

    stream: str
    created: str
    seq: int
    init: int
    what: str
    asked: Mapping[str, object] = field(factory=dict[str, object])
    owner: str = ""

    def to_json(self) -> dict[str, object]:
        """The JSON object for a checkpoint."""
        return {
            "v": _VERSION,
            "stream": self.stream,
            "created": self.created,
            "seq": self.seq,
            "init": self.init,
            "what": self.what,
            **({"asked": dict(self.asked)} if self.asked else {}),
            **({"owner": self.owner} if self.owner else {}),
        }

    @classmethod
    def parse(cls, data: Mapping[str, object]) -> Offset:
        """Parse the offset of a checkpoint.

        Raises:
            ChangedQuery: it is no offset of this source, or has a newer format.
        """
        match data:
            case {
                "v": 1,
                "stream": str(stream),
                "created": str(created),
                "seq": int(seq),
                "init": int(init),
                "what": str(what),
            }:
                asked, owner = data.get("asked"), data.get("owner")
                return cls(
                    stream=stream,
                    created=created,
                    seq=seq,
                    init=init,
                    what=what,
                    asked=cast("dict[str, object]", asked) if isinstance(asked, dict) else {},
                    owner=owner if isinstance(owner, str) else "",
                )
            case _:
                raise ChangedQuery(
                    f"expected an offset of version {_VERSION} of the source jetstream in the "
                    f"checkpoint, got {shorten(dict(data))}"
                )

    def at(self, seq: int) -> Offset:
        """The same query at another position."""
        return evolve(self, seq=seq)


def meaning(
    stream: str, subjects: tuple[str, ...], domain: str | None, api_prefix: str | None
) -> str:
    """A digest of the options that select messages; the order of subjects does not matter."""
    words = "\n".join([stream, domain or "", api_prefix or "", *sorted(subjects)])
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def asked_for(
    stream: str, subjects: tuple[str, ...], domain: str | None, api_prefix: str | None
) -> dict[str, object]:
    """The options in the digest of `meaning`, by their names."""
    return {
        "stream": stream,
        "subjects": ", ".join(sorted(subjects)),
        "domain": domain or "",
        "apiPrefix": api_prefix or "",
    }


def same_query(
    stored: Offset,
    stream: str,
    what: str,
    *,
    allowed: bool,
    asked: Mapping[str, object] | None = None,
) -> None:
    """Compare the offset of a checkpoint with the options of the query that continues from it.

    Args:
        stored: the offset.
        stream: the stream of the query.
        what: its `meaning`.
        allowed: whether other options are allowed.
        asked: its options, see `asked_for`.

    Raises:
        ChangedQuery: the offset was made with other options; the text names those that differ.
    """
    if stored.what == what or allowed:
        return
    now: dict[str, Any] = {"stream": stream, **(asked or {})}
    then: dict[str, Any] = {"stream": stored.stream, **stored.asked}
    changed = [
        f"{name} was {shorten(then[name])}, is {shorten(value)}"
        for name, value in now.items()
        if name in then and then[name] != value
    ]
    known = "; ".join(changed) or "the checkpoint does not contain which of them differs"
    raise ChangedQuery(
        f"stream {stream!r}: expected the options stream, subjects, domain and apiPrefix of the "
        f"checkpoint for stream {stored.stream!r}, got others: {known}; allow it with "
        "allowOptionChange, or use a new checkpointLocation"
    )


def unread(start: Offset, end: Offset) -> tuple[int, int]:
    """The range ``[lo, hi)`` between two offsets, empty if ``lo >= hi``.

    If the offsets have different beginnings, or mean different streams of one name, the beginning
    in the end counts.
    """
    same = start.init == end.init and start.created == end.created and start.stream == end.stream
    return (start.seq if same else end.init), end.seq
