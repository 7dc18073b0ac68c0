"""Where a streaming query stands in a stream: the offset that Spark writes into its checkpoint, and
the range between two.

Theory. An offset is the sequence of the next unread message. Three more facts travel with it, each
for one way to lose data or to read the wrong data:

- ``created``, when the stream was made: a stream that is deleted and made anew counts from 1 again,
  and the sequence alone would go on in the wrong one.
- ``init``, where the query began. Spark asks for the initial offset anew after a crash in the first
  batch, and has written only the end of that batch; "latest" is then later than it was. So the end
  knows where its range begins: where two offsets began at different places, the later one's
  beginning counts (`unread`).
- ``what``, a digest of the options that say which messages are meant, so that a restart with others
  is seen; and these options themselves, ``asked``, so that an error can name the difference.
- ``owner``, the name of a query that releases what it has read. Spark never tells a source where
  its checkpoint is, so the checkpoint itself holds the name: a query that goes on from it has the
  same name, and a query with another checkpoint has another one.

All of it is plain JSON, and says the version of its own form.
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
    """A place in a stream.

    Attributes:
        stream: its name.
        created: when it was made, as the server writes it.
        seq: the next sequence that is not read.
        init: the sequence at which the query began.
        what: see `meaning`.
        asked: see `asked_for`; empty in a checkpoint of an older version.
        owner: the name of a query that releases what it has read, ``""`` for one that does not.
    """

    stream: str
    created: str
    seq: int
    init: int
    what: str
    asked: Mapping[str, object] = field(factory=dict[str, object])
    owner: str = ""

    def to_json(self) -> dict[str, object]:
        """As it stands in a checkpoint."""
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
        """The offset that a checkpoint holds.

        Raises:
            ChangedQuery: it is none of this source, or of a newer form.
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
                    f"expected an offset of version {_VERSION} of the source jetstream in the checkpoint, got {shorten(dict(data))}"
                )

    def at(self, seq: int) -> Offset:
        """The same query, at another place."""
        return evolve(self, seq=seq)


def meaning(
    stream: str, subjects: tuple[str, ...], domain: str | None, api_prefix: str | None
) -> str:
    """A digest of the options that say which messages are meant; the order of subjects says
    nothing.
    """
    words = "\n".join([stream, domain or "", api_prefix or "", *sorted(subjects)])
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def asked_for(
    stream: str, subjects: tuple[str, ...], domain: str | None, api_prefix: str | None
) -> dict[str, object]:
    """The options that `meaning` is a digest of, by their names."""
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
    """Hold an offset of a checkpoint against the options of the query that goes on with it.

    Args:
        stored: the offset.
        stream: the stream of the query.
        what: its `meaning`.
        allowed: whether another meaning is allowed.
        asked: its options, see `asked_for`.

    Raises:
        ChangedQuery: it was made for other messages, and that is not allowed; the text names what
            differs.
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
    known = "; ".join(changed) or "which of them differs is not in the checkpoint"
    raise ChangedQuery(
        f"stream {stream!r}: expected the options stream, subjects, domain and apiPrefix with which the checkpoint was made "
        f"for stream {stored.stream!r}, got others: {known}; allow it with allowOptionChange, or take a new checkpointLocation"
    )


def unread(start: Offset, end: Offset) -> tuple[int, int]:
    """The range ``[lo, hi)`` between two offsets, empty if ``lo >= hi``.

    Where they began at different places, or in different incarnations of the stream, the end knows
    the beginning.
    """
    same = start.init == end.init and start.created == end.created and start.stream == end.stream
    return (start.seq if same else end.init), end.seq
