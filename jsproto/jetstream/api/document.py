"""What all API documents have in common: one table per class, one reader and one writer for all of
them.

Theory. A document is a frozen attrs class whose fields *are* its table: the field's name is the
wire's member name, and the field carries a :class:`Codec`, which knows the member's form on the
wire. Nothing else is written per field.

- Reading is tolerant: ``null``, missing and empty are the same for what is optional; members that
  this version does not know are kept in ``extra`` and written back, so an update never sends less
  than was read (B191, B202).
- Writing is strict: only members that are set, under the server's own names, durations as integers
  of nanoseconds. "Set" is "not ``None``"; an empty list or mapping says the same as none and is not
  written (B203).
- A value of the wrong form is ``InvalidConfig`` when the user gave it, at the moment of
  construction. When the server sent it, it costs that member and not the whole document: the member
  is not set, and its value is kept in ``extra`` and written back. Where nobody could tell "not set"
  from a number or flag that the server said, and where a member is needed, it is
  ``InvalidResponse``. Each error names the member.

Documents never change; :meth:`Document.evolve` makes an edited copy.
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
    """Metadata of a field without which there is no document: ``name: str =
    field(metadata=of(NAME))``.
    """
    return {_CODEC: codec}


@overload
def member(codec: Codec[T]) -> T | None: ...
@overload
def member(codec: Codec[T], default: D) -> T | D: ...
def member(codec: Codec[T], default: object = None) -> object:
    """An optional field of a document, ``None`` or ``default`` when it is not set."""
    return field(default=default, metadata={_CODEC: codec})


def mapping(codec: Codec[Mapping[str, T]]) -> Mapping[str, T]:
    """An optional field that maps names; empty when it is not set."""
    made: Mapping[str, T] = field(factory=dict[str, T], metadata={_CODEC: codec})
    return made


#: Defaults that say "not set", beside ``None``.
_NOTHING_SET: Final[tuple[object, ...]] = ((), {})
Row: TypeAlias = tuple[str, Codec[object], object]


@frozen(kw_only=True, repr=False)
class Document:
    """A JSON object of the API as a value.

    Attributes:
        extra: members that came and that this version does not know, or whose value is of another
            form than the API says. They are written back, unless they are set meanwhile.
    """

    #: Whether a member that cannot be read is left out, rather than the whole document refused.
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
        """The document of JSON members.

        Raises:
            InvalidResponse: a member that is needed is missing or unreadable, or a number or flag
                is of another form.
        """
        try:
            return cls.read(members)
        except CodecError as misfit:
            asked = f" in the answer to {about}" if str(about) else ""
            raise InvalidResponse(_sentence(cls, misfit) + asked) from None

    def to_wire(self) -> dict[str, object]:
        """The members that are set, ready for JSON; a new dict each time."""
        members: dict[str, object] = {}
        for name, codec, _ in table(type(self)):
            value: object = getattr(self, name)
            if _is_set(value):
                members[name] = codec.write(value)
        members.update(self.extra)
        return members

    def evolve(self, **changes: object) -> Self:
        """A copy with other values; ``None`` takes a setting back.

        Raises:
            InvalidConfig: no such setting, or a value of the wrong form.
        """
        known = {each.name for each in fields(type(self))}
        unknown = sorted(changes.keys() - known)
        if unknown:
            raise InvalidConfig(
                f"expected settings of {type(self).__name__}, got {shorten(unknown)}{meant(unknown, known)}"
            )
        return evolve(self, **cast("dict[str, Any]", changes))

    @classmethod
    def read(cls, members: object) -> Self:
        """As :meth:`from_wire`, for documents within documents; raises :class:`CodecError`."""
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
        """Names of members that came with a value of another form than the API says, those of
        documents within with a dot.
        """
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
        """The document as JSON Schema (2020-12): the known members; others may be there too."""
        needed = [name for name, _, empty in table(cls) if empty is NOTHING]
        return {"type": "object", "properties": cls.properties(), "required": needed}

    @classmethod
    def properties(cls) -> dict[str, object]:
        """What JSON Schema says of each known member."""
        return {name: codec.schema() for name, codec, _ in table(cls)}

    def __repr__(self) -> str:
        shown = ((each.name, getattr(self, each.name)) for each in fields(type(self)))
        said = (f"{name}={value!r}" for name, value in shown if _is_set(value))
        return f"{type(self).__name__}({', '.join(said)})"


def _is_set(value: object) -> bool:
    return value is not None and not (isinstance(value, (tuple, dict)) and not value)


def _sentence(document: type[Document], misfit: CodecError) -> str:
    return f"expected {misfit.expected} as {document.__name__}{misfit.path}, got {described(misfit.seen)}"


_TABLES: Final[dict[type[object], tuple[Row, ...]]] = {}


def table(document: type[Document]) -> tuple[Row, ...]:
    """The table of a class of documents: name of the member, its form, what it is when not set
    (``NOTHING``: needed).
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
    """A document within a document."""

    def __init__(self, document: type[DocumentT]) -> None:
        self._document = document

    def read(self, value: object) -> DocumentT:
        """By the other document's table."""
        return self._document.read(value)

    def accept(self, value: object) -> DocumentT:
        """An instance of the class."""
        if isinstance(value, self._document):
            return value
        raise CodecError(f"a {self._document.__name__}", value)

    def write(self, value: DocumentT) -> dict[str, object]:
        """By the other document's table."""
        return value.to_wire()

    def schema(self) -> dict[str, object]:
        """By the other document's table."""
        return self._document.schema()


def unechoed(sent: Document, returned: Document) -> tuple[str, ...]:
    """Names of settings that were sent and did not come back with the same value, nested ones with
    a dot (B203).

    A server that does not know a setting drops it without a word before 2.12, so an echo is the
    only proof.
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
