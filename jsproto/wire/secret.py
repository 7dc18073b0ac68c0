"""What may hold a secret, and how it is kept from being shown or sent along.

Theory. One mark serves both: a field with ``repr=False`` is a secret. It is in no ``repr``, so in no log and no traceback
that shows locals, and a value in which one is set is not pickled: a pickle is a file, a queue or another machine, and
whoever wants credentials there gives them there. It is refused rather than left out, since a value without its secret
would fail far away and look like a wrong password.

Values never change, so a copy of one is the value itself.

Files with secrets are given by their names, and names are shown. So a name that is itself what stands in such a file is refused at once.
"""

from __future__ import annotations

import re
from typing import Final, Self, SupportsIndex, cast

from attrs import AttrsInstance, fields

from jsproto.errors import InvalidConfig, LocalProtocolError

#: Lines, a fence of PEM or creds, the seed of an nkey, a JWT.
_CONTENT: Final = re.compile(r"[\r\n]|-----|\bS[A-Z2-7]{57}\b|\beyJ[\w-]+\.eyJ")


def file_name(given: str) -> str:
    """The name of a file that holds a secret.

    Raises:
        InvalidConfig: it is what stands in such a file, by mistake; nothing of it is shown.
    """
    if _CONTENT.search(given):
        raise InvalidConfig("expected the name of a file, seen what belongs into one, which is not shown")
    return given


class Secretive:
    """Base of frozen attrs classes with secrets among their fields."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        kind = type(self)
        marked = (each.name for each in fields(cast("type[AttrsInstance]", kind)) if each.repr is False)
        held = [name for name in marked if getattr(self, name) is not None]
        if held:
            raise LocalProtocolError(
                f"expected no secret to be pickled, {kind.__name__} holds {', '.join(held)}: make it anew where it is needed"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
