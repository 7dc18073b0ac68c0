"""Where a streaming query stands in a stream: the offset that Spark writes into its checkpoint, and the range between two.

Theory. An offset is the sequence of the next unread message. Three more facts travel with it, each for one way to lose data or to
read the wrong data:

- ``created``, when the stream was made: a stream that is deleted and made anew counts from 1 again, and the sequence alone would go
  on in the wrong one.
- ``init``, where the query began. Spark asks for the initial offset anew after a crash in the first batch, and has written only the
  end of that batch; "latest" is then later than it was. So the end knows where its range begins: where two offsets
  began at different places, the later one's beginning counts (`unread`).
- ``what``, a digest of the options that say which messages are meant, so that a restart with others is seen.

All of it is plain JSON, and says the version of its own form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, final

from attrs import evolve, frozen

from jsproto.errors import shorten
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
    """

    stream: str
    created: str
    seq: int
    init: int
    what: str

    def to_json(self) -> dict[str, object]:
        """As it stands in a checkpoint."""
        return {
            "v": _VERSION,
            "stream": self.stream,
            "created": self.created,
            "seq": self.seq,
            "init": self.init,
            "what": self.what,
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
                return cls(stream=stream, created=created, seq=seq, init=init, what=what)
            case _:
                raise ChangedQuery(
                    f"expected an offset of version {_VERSION} of the source jetstream in the checkpoint, seen {shorten(dict(data))}"
                )

    def at(self, seq: int) -> Offset:
        """The same query, at another place."""
        return evolve(self, seq=seq)


def meaning(stream: str, subjects: tuple[str, ...], domain: str | None, api_prefix: str | None) -> str:
    """A digest of the options that say which messages are meant; the order of subjects says nothing."""
    words = "\n".join([stream, domain or "", api_prefix or "", *sorted(subjects)])
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def same_query(stored: Offset, stream: str, what: str, *, allowed: bool) -> None:
    """Hold an offset of a checkpoint against the options of the query that goes on with it.

    Raises:
        ChangedQuery: it was made for other messages, and that is not allowed.
    """
    if stored.what != what and not allowed:
        raise ChangedQuery(
            f"stream {stream!r}: expected the options stream, subjects, domain and apiPrefix with which the checkpoint was made "
            f"for stream {stored.stream!r}, seen others; allow it with allowOptionChange, or take a new checkpointLocation"
        )


def unread(start: Offset, end: Offset) -> tuple[int, int]:
    """The range ``[lo, hi)`` between two offsets, empty if ``lo >= hi``.

    Where they began at different places, or in different incarnations of the stream, the end knows the beginning.
    """
    same = start.init == end.init and start.created == end.created and start.stream == end.stream
    return (start.seq if same else end.init), end.seq
