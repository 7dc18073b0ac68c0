"""A judge in the middle of a trace as bytes, and back: for whoever judges a trace while it is still being recorded.

Theory. What a judge knows is a web of records that point at each other (a pull and its subscription, a watch and its link), so it is written as
such a web, by pickle, and not as a tree. A pickle can name anything that can be imported; so what is read back may name only
classes of this package and two plain ones, and everything else is refused before it is touched.

The bytes are those of one version: a newer core judges anew, from the records, rather than with an older memory.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType, MethodType
from typing import Any, Final

from jsproto import __version__
from jsproto.errors import LocalProtocolError, shorten
from jsproto.trace.lint import Lint

_MAGIC: Final = b"jsproto-judge/1 %b\n" % __version__.encode()
_PLAIN: Final = frozenset({("collections", "deque"), ("collections", "Counter")})


def kept(judge: Lint) -> bytes:
    """What a judge knows so far; whoever else hears its facts is not part of that."""
    out = io.BytesIO(_MAGIC)
    out.seek(len(_MAGIC))
    _Writer(out, protocol=5).dump(judge)
    return out.getvalue()


def taken_up(data: bytes) -> Lint:
    """A judge that goes on where the one that these bytes were made of was.

    Raises:
        LocalProtocolError: they are of another version, no judge, or name what they must not.
    """
    if not data.startswith(_MAGIC):
        raise LocalProtocolError(
            f"expected the memory of a judge of version {__version__}, seen {shorten(data[:32])}"
        )
    try:
        judge: object = _Reader(io.BytesIO(data[len(_MAGIC) :])).load()
    except LocalProtocolError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged bytes can raise whatever they like
        raise LocalProtocolError(
            f"expected the memory of a judge, seen {type(error).__name__}: {shorten(str(error))}"
        ) from None
    if not isinstance(judge, Lint):
        raise LocalProtocolError(f"expected the memory of a judge, seen one of {type(judge).__name__}")
    judge.taken_up()
    return judge


class _Writer(pickle.Pickler):
    def persistent_id(self, obj: object) -> object:
        """Who is told is said again by `taken_up`."""
        return "tell" if isinstance(obj, MethodType | FunctionType) else None


class _Reader(pickle.Unpickler):
    def persistent_load(self, pid: object) -> object:
        return None

    def find_class(self, module: str, name: str) -> Any:
        known = (module, name) in _PLAIN or (module.startswith("jsproto.") and "." not in name)
        found: object = super().find_class(module, name) if known else None
        if not isinstance(found, type) or not f"{found.__module__}.".startswith(("jsproto.", "collections.")):
            raise LocalProtocolError(
                f"expected only records of jsproto in the memory of a judge, seen {shorten(f'{module}.{name}')}"
            )
        return found
