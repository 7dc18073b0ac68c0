"""Saves and restores the state of a judge, so that a trace can be judged piece by piece.

The state is a graph of records that refer to each other: a pull to its subscription, a check to its
link. Pickle can write such a graph. But a pickle can name anything that can be imported, so the
reader accepts only classes of this package and two plain ones. It refuses any other name before it
creates an object.

The bytes begin with the version of the state. The reader refuses another version, because its
records may lack fields or use them differently. Enum members are stored by value. An unknown value
is refused like damaged bytes.
"""

from __future__ import annotations

import pickle
from typing import Any, Final, final

from jsproto.errors.tree import LocalProtocolError, shorten
from jsproto.trace.judge.lint import Lint

#: The next number is due whenever a record in the state gains, loses, renames or moves a field, or
#: uses one differently.
VERSION: Final = 4
_MAGIC: Final = b"jsproto-judge/%d\n" % VERSION
_PLAIN: Final = frozenset({("collections", "deque"), ("collections", "Counter")})


def kept(judge: Lint) -> bytes:
    """Save the state of a judge as bytes, without the listener that the judge was created with."""
    return _MAGIC + pickle.dumps(judge, protocol=5)


def taken_up(data: bytes) -> Lint:
    """Restore a judge from its saved state; it continues where the saved one stopped.

    Raises:
        LocalProtocolError: the bytes have another version, are damaged, are not a judge, or name a
            forbidden class. A streaming query with state of another version needs a new checkpoint.
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
    except Exception as error:  # noqa: BLE001 - damaged bytes can raise any exception
        raise LocalProtocolError(
            f"expected the state of a judge, got bytes that raise {type(error).__name__}: "
            f"{shorten(str(error))}"
        ) from None
    if not isinstance(judge, Lint):
        raise LocalProtocolError(
            f"expected the state of a judge, got the state of a {type(judge).__name__}"
        )
    judge.taken_up()
    return judge


@final
class _PickleText:
    """Bytes with the two read methods that pickle needs."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes, or those that are left."""
        start, self._at = self._at, min(len(self._data), self._at + size)
        return self._data[start : self._at]

    def readline(self) -> bytes:
        """Read up to and with the next line feed."""
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
                "expected only records of jsproto in the state of a judge, "
                f"got {shorten(f'{module}.{name}')}"
            )
        return found
