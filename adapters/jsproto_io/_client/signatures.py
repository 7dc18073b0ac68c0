"""Signatures that name every keyword, for whoever completes them: a REPL, a notebook, ``help()``.

Functions that take ``**settings: Unpack[StreamSettings]`` tell a type checker which keywords there
are, but `inspect.signature` shows only ``**settings``. Here each of them gets a ``__signature__``
with the keywords by name. The function itself stays as it is, so a call costs what it did. A
default of ``...`` means "not given".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, Final, cast, final

#: ``CO_VARKEYWORDS``: a function with ``**``.
_TAKES_MORE: Final = 0x08
_UNPACKED: Final = "Unpack["


@final
class _NotGiven:
    """Stands where the default is, which is written down where the option is explained."""

    def __repr__(self) -> str:
        return "..."


_NOT_GIVEN: Final = _NotGiven()


def show_options(function: Callable[..., object]) -> None:
    """Name the keywords of one function that takes ``**words: Unpack[Words]``."""
    plain = cast("FunctionType", function)
    shape = signature(plain)
    *others, rest = shape.parameters.values()
    name = str(rest.annotation).removeprefix(_UNPACKED).rstrip("]")
    words: Mapping[str, object] = plain.__globals__[name].__annotations__
    named = [
        Parameter(
            word,
            Parameter.KEYWORD_ONLY,
            default=_NOT_GIVEN,
            annotation=getattr(form, "__forward_arg__", form),
        )
        for word, form in words.items()
    ]
    cast("Any", plain).__signature__ = Signature(
        [*others, *named], return_annotation=shape.return_annotation
    )


def show_settings(*handles: type) -> None:
    """Name the keywords of all methods of these classes that take ``**words: Unpack[Words]``."""
    for handle in handles:
        for each in vars(handle).values():
            if isinstance(each, FunctionType) and each.__code__.co_flags & _TAKES_MORE:
                show_options(each)
