"""The state of a judge as bytes, and back, so that a trace can be judged piece by piece while it is
recorded.

What a judge knows is a web of records that point at each other (a pull and its subscription, a
watch and its link), so it is written as such a web, by pickle, and not as a tree. A pickle can name
anything that can be imported. So what is read back may name only classes of this package and two
plain ones, and everything else is refused before it is touched.

The bytes begin with the version of the state. State of another version is refused: its records may
lack fields, or mean something else by them. Members of enums stand in the bytes by value, and one
that is not known any more is refused like damaged bytes.
"""

from __future__ import annotations

import pickle
from typing import Any, Final, final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.trace.judge.lint import Lint

#: Counted up whenever a record in the state gains, loses or renames a field, moves, or means
#: something else by one.
VERSION: Final = 4
_MAGIC: Final = b"jsproto-judge/%d\n" % VERSION
_PLAIN: Final = frozenset({("collections", "deque"), ("collections", "Counter")})


def kept(judge: Lint) -> bytes:
    """The state of a judge as bytes. A listener that the judge was made with is not part of it."""
    return _MAGIC + pickle.dumps(judge, protocol=5)


def taken_up(data: bytes) -> Lint:
    """The judge whose state these bytes are; it continues where that one stopped.

    Raises:
        LocalProtocolError: they are of another version, no judge, or name what they must not. A
            streaming query that kept state of another version needs a new checkpoint.
    """
    if not data.startswith(_MAGIC):
        raise LocalProtocolError(
            f"expected the state of a judge in version {VERSION}, got {shorten(data[:32])}: "
            "start the query with a new checkpoint, which judges the trace from its beginning"
        )
    try:
        judge: object = _Reader(_PickleText(data, len(_MAGIC))).load()
    except LocalProtocolError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged bytes can raise whatever they like
        raise LocalProtocolError(
            f"expected the state of a judge, got {type(error).__name__}: {shorten(str(error))}"
        ) from None
    if not isinstance(judge, Lint):
        raise LocalProtocolError(
            f"expected the state of a judge, got one of {type(judge).__name__}"
        )
    judge.taken_up()
    return judge


@final
class _PickleText:
    """Bytes to be read one after the other, as pickle wants them."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def read(self, size: int) -> bytes:
        """So many bytes, or those that are left."""
        start, self._at = self._at, min(len(self._data), self._at + size)
        return self._data[start : self._at]

    def readline(self) -> bytes:
        """Up to the end of a line."""
        end = self._data.find(b"\n", self._at)
        return self.read((len(self._data) if end < 0 else end + 1) - self._at)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = (module, name) in _PLAIN or (module.startswith("jsproto.") and "." not in name)
        found: object = super().find_class(module, name) if known else None
        if not isinstance(found, type) or not f"{found.__module__}.".startswith(
            ("jsproto.", "collections.")
        ):
            raise LocalProtocolError(
                f"expected only records of jsproto in the state of a judge, got {shorten(f'{module}.{name}')}"
            )
        return found
