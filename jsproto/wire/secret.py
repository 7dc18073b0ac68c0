"""Keep secrets out of ``repr``, logs, tracebacks and pickles.

Theory. A field with ``repr=False`` is a secret. So it appears in no ``repr``, in no log, and in no
traceback that shows locals. A value whose secret field is set cannot be pickled, because a pickle
may become a file, a queue entry or data on another machine. Pickling raises an error and does not
leave the secret out: a value without its secret would fail later and look like a wrong password.

Values never change, so a copy of a value is the value itself.

`attrs.asdict`, ``__getstate__`` and other code that reads fields ignore ``repr=False``. Therefore
the secret itself is marked too: `Secret` and `SecretBytes` are text and bytes whose ``repr`` is
``'***'``. `HiddenMapping` does the same for a mapping.

Users give files with secrets by their names, and file names are shown. Therefore `file_name`
refuses a name that looks like the content of such a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Self, SupportsIndex, TypeVar, cast, final

from attrs import AttrsInstance, fields

from jsproto.errors.tree import InvalidConfig, LocalProtocolError

T = TypeVar("T")

#: A shorter secret occurs in many words by chance; replacing it there would reveal it.
_LONG: Final = 4

#: Signs of a file's content: a line end, a fence of PEM or creds, the seed of an nkey, a JWT.
_CONTENT: Final = re.compile(r"[\r\n]|-----|\bS[A-Z2-7]{57}\b|\beyJ[\w-]{1,1000}\.eyJ")


class _Hidden:
    """Base of values with a hidden ``repr``, which are their own copies and cannot be pickled."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        raise LocalProtocolError(
            "expected no secret to be pickled, got one: create it again where it is needed"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@final
class Secret(_Hidden, str):
    """Text whose ``repr`` is ``'***'``. ``str`` and formatting give the text itself."""

    __slots__ = ()


@final
class SecretBytes(_Hidden, bytes):
    """Bytes whose ``repr`` is ``'***'``."""

    # ``__slots__`` cannot be empty for a subclass of ``bytes`` in every Python.


@final
class HiddenMapping(Mapping[str, T]):
    """A mapping that may hold secrets, such as an environment or unknown members.

    Its ``repr`` is ``{***}``, and it cannot be pickled.
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
    """Convert text to a `Secret`; leave other types to the validator of the field."""
    return Secret(given) if isinstance(given, str) else given


def as_secret_bytes(given: bytes) -> bytes:
    """Convert bytes to a `SecretBytes`; leave other types to the validator of the field."""
    return SecretBytes(given) if isinstance(given, bytes) else given


def secret_text(given: str | None) -> str | None:
    """Do the same as `as_secret` for a field that may be ``None``."""
    return None if given is None else as_secret(given)


def secret_bytes(given: bytes | None) -> bytes | None:
    """Do the same as `as_secret_bytes` for a field that may be ``None``."""
    return None if given is None else as_secret_bytes(given)


def secret_query(given: str | None) -> str | None:
    """Convert a path with a query to a `Secret`, because the query may hold a token."""
    return Secret(given) if isinstance(given, str) and "?" in given else given


def without(
    text: str, secrets: Iterable[str], instead: Callable[[str], str] = lambda _: "***"
) -> str:
    """Replace the secrets in a text of the server, the longest first.

    A secret of fewer than four characters is replaced only where it is a whole word.
    """
    for each in sorted(filter(None, secrets), key=len, reverse=True):
        if len(each) >= _LONG:
            text = text.replace(each, instead(each))
        else:
            shown = instead(each)
            text = re.sub(rf"(?<!\w){re.escape(each)}(?!\w)", lambda _, shown=shown: shown, text)  # type: ignore[misc]
    return text


def fits_utf8(text: str) -> bool:
    """Tell whether a text can be encoded as UTF-8, without an error that would hold the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def file_name(given: str) -> str:
    """Return the name of a file that holds a secret.

    Raises:
        InvalidConfig: the text looks like the content of such a file. The message does not show it.
    """
    if _CONTENT.search(given):
        raise InvalidConfig(
            "expected the name of a file, got what looks like its content, which is not shown"
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
                f"expected no secret to be pickled, {kind.__name__} holds {', '.join(held)}:"
                " create it again where it is needed"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
