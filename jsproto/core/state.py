"""State that can be taken out and put back.

Every part and every conversation is plain data plus rules. A class says once, in its ``STATE``
table, which attributes are its state and how each is written down; `snapshot` reads them out as
plain versioned data, and `restore` puts them into an object that was built with the same
configuration. Restoring changes nothing that can be observed: the tests do it at every step of
every trace.

    STATE: ClassVar[Codecs] = {"asked": PLAIN, "timers": PART, "level": Level}

The codec of an attribute is one of

- `PLAIN`: numbers, text, bytes, ``None`` and lists, tuples, dicts and deques of them, copied
  deeply;
- `PART`: an object that itself is `Snapshottable`; it is restored in place, so that references to
  it stay good;
- `ERROR`: an error of our tree, or ``None``;
- an ``Enum`` class: the member's name, or ``None``.

A class with state of another shape overrides `snapshot` and `restore` and calls ``super()`` for the
rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar, Final, TypeAlias, cast

from jsproto.errors.tree import JsprotoError, LocalProtocolError, revived, shorten

#: What a snapshot is: a dict of plain values with the version under ``"v"``.
Snapshot: TypeAlias = dict[str, object]

VERSION: Final = 1


class IdentityEnum(Enum):
    """What a machine is in, what moves it, how it ended: words that tables are keyed by.

    They are hashed by identity, as they are compared; the hash of `Enum` itself is Python code.
    """

    __hash__ = object.__hash__


class StateCodec(Enum):
    """How an attribute is written down, where its own type does not say it."""

    PLAIN = "PLAIN"
    PART = "PART"
    ERROR = "ERROR"


PLAIN: Final = StateCodec.PLAIN
PART: Final = StateCodec.PART
ERROR: Final = StateCodec.ERROR

Codec: TypeAlias = StateCodec | type[Enum]
Codecs: TypeAlias = Mapping[str, Codec]


class Snapshottable:
    """Base of everything that has a snapshot. It has no attributes of its own."""

    __slots__ = ()

    #: Attribute name to codec; a subclass extends its base's table with ``{**Base.STATE, ...}``.
    STATE: ClassVar[Codecs] = {}

    def snapshot(self) -> Snapshot:
        """The state as plain versioned data, independent of this object."""
        data: Snapshot = {"v": VERSION}
        for name, codec in self.STATE.items():
            data[name] = _written(getattr(self, name), codec)
        return data

    def restore(self, data: Mapping[str, object]) -> None:
        """Put a snapshot back into an object that was built with the same configuration.

        Raises:
            LocalProtocolError: the snapshot is of another version, or lacks an attribute.
        """
        if data.get("v") != VERSION:
            raise LocalProtocolError(
                f"expected a snapshot of version {VERSION}, got {shorten(data.get('v'))}"
            )
        for name, codec in self.STATE.items():
            if name not in data:
                raise LocalProtocolError(
                    f"expected {name!r} in a snapshot of {type(self).__name__}"
                )
            value = data[name]
            if codec is PART:
                part = cast("Snapshottable", getattr(self, name))
                part.restore(cast("Mapping[str, object]", value))
            elif codec is PLAIN:
                setattr(self, name, copied(value))
            elif codec is ERROR:
                setattr(self, name, error_read(value))
            else:
                setattr(self, name, None if value is None else codec[cast("str", value)])


def _written(value: object, codec: Codec) -> object:
    if codec is PLAIN:
        return copied(value)
    if codec is PART:
        return cast("Snapshottable", value).snapshot()
    if codec is ERROR:
        return error_written(cast("JsprotoError | None", value))
    return None if value is None else cast("Enum", value).name


def copied(value: object) -> object:
    """A deep copy of plain data; containers keep their kind, leaves are immutable anyway."""
    if isinstance(value, tuple):
        return tuple(copied(each) for each in cast("tuple[object, ...]", value))
    if isinstance(value, list):
        return [copied(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: copied(each) for key, each in cast("dict[object, object]", value).items()}
    if isinstance(value, deque):
        return deque(copied(each) for each in cast("deque[object]", value))
    if isinstance(value, set):
        return set(cast("set[object]", value))
    return value


def error_written(error: JsprotoError | None) -> object:
    """An error as plain data: class name, arguments and attributes."""
    return (
        None if error is None else (type(error).__name__, error.args, copied(dict(error.__dict__)))
    )


def error_read(data: object) -> JsprotoError | None:
    """The error that `error_written` wrote, an instance of the same class."""
    if data is None:
        return None
    name, args, attributes = cast("tuple[str, tuple[object, ...], dict[str, object]]", data)
    waiting: list[type[JsprotoError]] = [JsprotoError]
    for kind in waiting:
        if kind.__name__ == name:
            return revived(kind, args, attributes)
        waiting.extend(kind.__subclasses__())
    raise LocalProtocolError(f"expected the name of an error of ours, got {shorten(name)}")
