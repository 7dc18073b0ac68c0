"""The base class of all API documents: one table per class, one reader and one writer for all.

Theory. A document is a frozen attrs class, and its fields are its table: the field's name is the
name on the wire, and the field's metadata holds a :class:`Codec`. A field needs nothing else.

- Reading is tolerant. For an optional member, ``null``, missing and empty are the same. Unknown
  members are kept in ``extra`` and written back, so an update never loses settings that this
  version does not know.
- Writing is strict. It writes only members that are set, under the server's names, durations as
  integer nanoseconds. "Set" means "not ``None``". An empty list or mapping is not written, because
  it means the same as none.
- If the user gives a value of the wrong form, the constructor raises ``InvalidConfig``. If the
  server sends one, only that member is lost: it is not set, and its value is kept in ``extra`` and
  written back. Two kinds of members raise ``InvalidResponse`` instead: required members, and
  numbers or flags whose default a reader could not tell from a sent value. Each error names the
  member.

Documents are immutable; :meth:`Document.evolve` makes a changed copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Generic, Self, TypeAlias, TypeVar, cast, final, overload

from attrs import NOTHING, evolve, field, fields, frozen

from jsproto.core.wording import meant
from jsproto.errors.tree import InvalidConfig, InvalidResponse, shorten
from jsproto.jetstream.api.codecs import Codec, CodecError, comparable, within
from jsproto.jetstream.api.errors import described

T = TypeVar("T")
D = TypeVar("D")
_CODEC: Final = "codec"


def of(codec: Codec[T]) -> dict[str, object]:
    """Metadata of a required field: ``name: str = field(metadata=of(NAME))``."""
    return {_CODEC: codec}


@overload
def member(codec: Codec[T]) -> T | None: ...
@overload
def member(codec: Codec[T], default: D) -> T | D: ...
def member(codec: Codec[T], default: object = None) -> object:
    """An optional field of a document; ``None`` or ``default`` if it is not set."""
    return field(default=default, metadata={_CODEC: codec})


def mapping(codec: Codec[Mapping[str, T]]) -> Mapping[str, T]:
    """An optional field that maps names; empty if it is not set."""
    made: Mapping[str, T] = field(factory=dict[str, T], metadata={_CODEC: codec})
    return made


#: Defaults that mean "not set", besides ``None``.
_NOTHING_SET: Final[tuple[object, ...]] = ((), {})
Row: TypeAlias = tuple[str, Codec[object], object]


@frozen(kw_only=True, repr=False)
class Document:
    """A JSON object of the API as a value.

    Attributes:
        extra: received members that this version does not know, or whose value has the wrong
            form. They are written back unless the user sets them.
    """

    #: Whether an unreadable member is skipped; otherwise the whole document is rejected.
    TOLERANT: ClassVar[bool] = True

    extra: Mapping[str, object] = field(factory=dict[str, object])

    def __attrs_post_init__(self) -> None:
        for name, codec, empty in table(type(self)):
            value: object = getattr(self, name)
            if value is None and empty is None:
                continue
            try:
                accepted = codec.accept(empty if value is None and empty is not NOTHING else value)
            except CodecError as misfit:
                raise InvalidConfig(_sentence(type(self), within(f".{name}", misfit))) from None
            if accepted is not value:
                object.__setattr__(self, name, accepted)
        object.__setattr__(self, "extra", self._other_members())

    @classmethod
    def from_wire(cls, members: object, about: object = "") -> Self:
        """Make a document from JSON members.

        Raises:
            InvalidResponse: a required member is missing or unreadable, or a number or flag has the
                wrong form.
        """
        try:
            return cls.read(members)
        except CodecError as misfit:
            asked = f" in the answer to {about}" if str(about) else ""
            raise InvalidResponse(_sentence(cls, misfit) + asked) from None

    def to_wire(self) -> dict[str, object]:
        """The members that are set, ready for JSON, as a new dict."""
        members: dict[str, object] = {}
        for name, codec, _ in table(type(self)):
            value: object = getattr(self, name)
            if _is_set(value):
                members[name] = codec.write(value)
        members.update(self.extra)
        return members

    def evolve(self, **changes: object) -> Self:
        """A copy with other values; ``None`` unsets a setting.

        Raises:
            InvalidConfig: no such setting, or a value of the wrong form.
        """
        known = {each.name for each in fields(type(self))}
        unknown = sorted(changes.keys() - known)
        if unknown:
            raise InvalidConfig(
                f"expected settings of {type(self).__name__}, "
                f"got {shorten(unknown)}{meant(unknown, known)}"
            )
        return evolve(self, **cast("dict[str, Any]", changes))

    @classmethod
    def read(cls, members: object) -> Self:
        """Like :meth:`from_wire`, for nested documents; raises :class:`CodecError`."""
        if not isinstance(members, Mapping):
            raise CodecError("an object", members)
        rest = dict(cast("Mapping[str, object]", members))
        values: dict[str, Any] = {}
        for name, codec, empty in table(cls):
            raw = rest.pop(name, None)
            if raw is None:
                if empty is NOTHING:
                    raise CodecError("a value", raw, f".{name}")
                continue
            try:
                value = codec.read(raw)
            except CodecError as misfit:
                if not cls.TOLERANT or (empty is not None and empty not in _NOTHING_SET):
                    raise within(f".{name}", misfit) from None
                rest[name] = raw
                continue
            if value is not None:
                values[name] = value
        return cls(extra=rest, **values)

    def unread(self) -> tuple[str, ...]:
        """Names of received members whose value has the wrong form; nested ones with a dot."""
        names: list[str] = []
        for name, _, _ in table(type(self)):
            value: object = getattr(self, name)
            if name in self.extra:
                names.append(name)
            for each in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                if isinstance(each, Document):
                    names += [f"{name}.{inner}" for inner in each.unread()]
        return tuple(names)

    def _other_members(self) -> dict[str, object]:
        extra: object = self.extra
        if not isinstance(extra, Mapping):
            raise InvalidConfig(
                f"expected a mapping as {type(self).__name__}.extra, got {shorten(extra)}"
            )
        others = dict(extra)
        for name, codec, _ in table(type(self)):
            if name not in others:
                continue
            with contextlib.suppress(CodecError):
                codec.read(others[name])
                raise InvalidConfig(
                    f"expected unknown members in {type(self).__name__}.extra, got {name!r}"
                )
            if _is_set(getattr(self, name)):
                del others[name]
        return others

    @classmethod
    def schema(cls) -> dict[str, object]:
        """The known members as JSON Schema (2020-12); other members are allowed."""
        needed = [name for name, _, empty in table(cls) if empty is NOTHING]
        return {"type": "object", "properties": cls.properties(), "required": needed}

    @classmethod
    def properties(cls) -> dict[str, object]:
        """The JSON Schema of each known member."""
        return {name: codec.schema() for name, codec, _ in table(cls)}

    def __repr__(self) -> str:
        shown = ((each.name, getattr(self, each.name)) for each in fields(type(self)))
        said = (f"{name}={value!r}" for name, value in shown if _is_set(value))
        return f"{type(self).__name__}({', '.join(said)})"


def _is_set(value: object) -> bool:
    return value is not None and not (isinstance(value, (tuple, dict)) and not value)


def _sentence(document: type[Document], misfit: CodecError) -> str:
    return (
        f"expected {misfit.expected} as {document.__name__}{misfit.path}, "
        f"got {described(misfit.seen)}"
    )


_TABLES: Final[dict[type[object], tuple[Row, ...]]] = {}


def table(document: type[Document]) -> tuple[Row, ...]:
    """The table of a document class: each member's name, its codec, and its default.

    The default is ``NOTHING`` for a required member.
    """
    rows = _TABLES.get(document)
    if rows is None:
        rows = _TABLES[document] = tuple(
            (each.name, cast("Codec[object]", each.metadata[_CODEC]), _empty(each.default))
            for each in fields(document)
            if _CODEC in each.metadata
        )
    return rows


def _empty(default: object) -> object:
    made = cast("Callable[[], object] | None", getattr(default, "factory", None))
    return default if made is None else made()


DocumentT = TypeVar("DocumentT", bound=Document)


@final
class Nested(Codec[DocumentT], Generic[DocumentT]):
    """A document nested in a document."""

    def __init__(self, document: type[DocumentT]) -> None:
        self._document = document

    def read(self, value: object) -> DocumentT:
        """Read it by the nested class."""
        return self._document.read(value)

    def accept(self, value: object) -> DocumentT:
        """An instance of the nested class."""
        if isinstance(value, self._document):
            return value
        raise CodecError(f"a {self._document.__name__}", value)

    def write(self, value: DocumentT) -> dict[str, object]:
        """Write it by the nested class."""
        return value.to_wire()

    def schema(self) -> dict[str, object]:
        """The schema of the nested class."""
        return self._document.schema()


def unechoed(sent: Document, returned: Document) -> tuple[str, ...]:
    """Names of settings that the server did not return with the value sent; nested with a dot.

    Servers before 2.12 silently drop settings that they do not know. So only the returned
    configuration proves that a setting was accepted.
    """
    return tuple(_unlike(comparable(sent.to_wire()), comparable(returned.to_wire()), ""))


def _unlike(sent: Mapping[str, object], returned: Mapping[str, object], at: str) -> Iterable[str]:
    for name, value in sent.items():
        back = returned.get(name)
        if isinstance(value, dict) and isinstance(back, dict):
            yield from _unlike(
                cast("dict[str, object]", value), cast("dict[str, object]", back), f"{at}{name}."
            )
        elif value != back and (value or back):
            yield f"{at}{name}"
