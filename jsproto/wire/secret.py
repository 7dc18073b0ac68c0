"""What may hold a secret, and how it is kept from being shown or sent along.

Theory. One mark serves both: a field with ``repr=False`` is a secret. It is in no ``repr``, so in
no log and no traceback that shows locals, and a value in which one is set is not pickled: a pickle
is a file, a queue or another machine, and whoever wants credentials there gives them there. It is
refused rather than left out, since a value without its secret would fail far away and look like a
wrong password.

Values never change, so a copy of one is the value itself.

`attrs.asdict`, ``__getstate__`` and whatever else reads the fields of a value do not ask for that
mark. So the secret itself is marked too: `Secret` and `SecretBytes` are text and bytes in every
way, but what they show of themselves is ``'***'``. `HiddenMapping` does the same for a mapping.

Files with secrets are given by their names, and names are shown. So a name that is itself what
stands in such a file is refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Self, SupportsIndex, TypeVar, cast, final

from attrs import AttrsInstance, fields

from jsproto.errors.tree import InvalidConfig, LocalProtocolError

T = TypeVar("T")

#: A shorter secret than this stands in many words by chance, and what is missing there would tell
#: it.
_LONG: Final = 4

#: Lines, a fence of PEM or creds, the seed of an nkey, a JWT.
_CONTENT: Final = re.compile(r"[\r\n]|-----|\bS[A-Z2-7]{57}\b|\beyJ[\w-]{1,1000}\.eyJ")


class _Hidden:
    """What shows nothing of itself, is its own copy, and is not pickled."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        raise LocalProtocolError(
            "expected no secret to be pickled, got one: make it anew where it is needed"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@final
class Secret(_Hidden, str):
    """Text whose ``repr`` is ``'***'``. ``str`` and formats give the text, for whoever has to send
    it.
    """

    __slots__ = ()


@final
class SecretBytes(_Hidden, bytes):
    """The same for bytes."""

    # ``__slots__`` can't be empty for a subclass of ``bytes`` in every Python.


@final
class HiddenMapping(Mapping[str, T]):
    """A mapping that may hold secrets: an environment, members that are not known. Only its keys
    are ever asked for by name.
    """

    __slots__ = ("_given",)

    def __init__(self, given: Mapping[str, T]) -> None:
        self._given = given

    def __getitem__(self, name: str) -> T:
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return "{***}"

    def __getstate__(self) -> object:
        raise LocalProtocolError(
            "expected no secret to be pickled, got a mapping that may hold some"
        )


def as_secret(given: str) -> str:
    """Converter of a field: text becomes a `Secret`; a validator judges what is no text."""
    return Secret(given) if isinstance(given, str) else given


def as_secret_bytes(given: bytes) -> bytes:
    """The same for bytes."""
    return SecretBytes(given) if isinstance(given, bytes) else given


def secret_text(given: str | None) -> str | None:
    """`as_secret` for a field that may hold nothing."""
    return None if given is None else as_secret(given)


def secret_bytes(given: bytes | None) -> bytes | None:
    """`as_secret_bytes` for a field that may hold nothing."""
    return None if given is None else as_secret_bytes(given)


def secret_query(given: str | None) -> str | None:
    """Converter of a path: one with a query is a `Secret`, since a token may stand there."""
    return Secret(given) if isinstance(given, str) and "?" in given else given


def without(
    text: str, secrets: Iterable[str], instead: Callable[[str], str] = lambda _: "***"
) -> str:
    """A text of the peer without our secrets, the longest first. A short one is taken out only
    where it is a word of its own.
    """
    for each in sorted(filter(None, secrets), key=len, reverse=True):
        if len(each) >= _LONG:
            text = text.replace(each, instead(each))
        else:
            shown = instead(each)
            text = re.sub(rf"(?<!\w){re.escape(each)}(?!\w)", lambda _, shown=shown: shown, text)  # type: ignore[misc]
    return text


def fits_utf8(text: str) -> bool:
    """Whether UTF-8 can carry it. An error to catch would hold the whole text, so there is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def file_name(given: str) -> str:
    """The name of a file that holds a secret.

    Raises:
        InvalidConfig: it is what stands in such a file, by mistake; nothing of it is shown.
    """
    if _CONTENT.search(given):
        raise InvalidConfig(
            "expected the name of a file, got what belongs into one, which is not shown"
        )
    return given


class RedactedSecret:
    """Base of frozen attrs classes with secrets among their fields."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        kind = type(self)
        values = {
            each: getattr(self, each.name) for each in fields(cast("type[AttrsInstance]", kind))
        }
        held = [
            each.name
            for each, value in values.items()
            if isinstance(value, _Hidden) or (each.repr is False and value is not None)
        ]
        if held:
            raise LocalProtocolError(
                f"expected no secret to be pickled, {kind.__name__} holds {', '.join(held)}: make it anew where it is needed"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
