"""What differs between a configuration that is wished for and one that is there, field by field.

Theory. The server fills in what a request leaves out, adds labels of its own and writes "no limit"
as -1. So only what the wish says is compared, label by label, and 0 and -1 are the same where both
mean "no limit". Everything else that differs is a :class:`Difference`; a configuration without any
is what was wished for.

:func:`changes` looks from one configuration to the one behind it: what was set and is not any more
differs too.

The server's own labels (``_nats.``) are no settings. Nobody compares them, on either side.

Which settings of a consumer or stream an update can change at all is the server's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast, final

from attrs import frozen

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.codecs import is_label_of_server
from jsproto.jetstream.api.document import Document, table

#: Where 0 asks for what the server writes as -1.
NO_LIMIT: Final = frozenset(
    {
        "max_consumers",
        "max_msgs",
        "max_bytes",
        "max_msgs_per_subject",
        "max_msg_size",
        "max_deliver",
    }
)


@final
@frozen(kw_only=True)
class Difference:
    """One setting that is not as wished; or, of what has changed, not as it was.

    Attributes:
        setting: its name; within other documents after a dot or an index, such as
            ``sources[0].filter_subject``.
        wanted: the value that is wished for; the new one of what has changed.
        there: the value that is there, ``None`` if none is set; the old one of what has changed.
    """

    setting: str
    wanted: object
    there: object

    def __str__(self) -> str:
        return f"{self.setting}: wanted {shorten(self.wanted)}, is {shorten(self.there)}"


def differences(wanted: Document, there: Document) -> tuple[Difference, ...]:
    """Every setting of ``wanted`` that ``there`` does not have, in the order of the fields."""
    return tuple(_documents(wanted, there, ""))


def changes(old: Document, new: Document) -> tuple[Difference, ...]:
    """Every setting of ``new`` that ``old`` does not have, in the order of the fields; then what
    only ``old`` has.
    """
    came = differences(new, old)
    said = {each.setting for each in came}
    went = (
        Difference(setting=each.setting, wanted=each.there, there=each.wanted)
        for each in differences(old, new)
        if each.setting not in said
    )
    return (*came, *went)


def _documents(wanted: Document, there: Document | None, at: str) -> Iterable[Difference]:
    for name, _, _ in table(type(wanted)):
        wish: object = getattr(wanted, name)
        if wish is not None and wish not in ((), {}):
            have: object = getattr(there, name, None)
            yield from _values(wish, have, f"{at}{name}", unlimited=name in NO_LIMIT)
    for name, wish in wanted.extra.items():
        have = None if there is None else there.extra.get(name)
        if wish != have:
            yield Difference(setting=f"{at}{name}", wanted=wish, there=have)


def _values(
    wish: object, have: object, at: str, *, unlimited: bool = False
) -> Iterable[Difference]:
    if isinstance(wish, Document):
        yield from _documents(wish, have if isinstance(have, Document) else None, f"{at}.")
    elif isinstance(wish, Mapping):
        labels = cast("Mapping[str, object]", have if isinstance(have, Mapping) else {})
        for name, value in cast("Mapping[str, object]", wish).items():
            if labels.get(name) != value and not is_label_of_server(name):
                yield Difference(setting=f"{at}.{name}", wanted=value, there=labels.get(name))
    elif isinstance(wish, tuple):
        listed = cast("tuple[object, ...]", wish)
        yield from _lists(
            listed, cast("tuple[object, ...]", have if isinstance(have, tuple) else ()), at
        )
    elif (
        wish != have and (wish or have) and not (unlimited and _no_limit(wish) and _no_limit(have))
    ):
        yield Difference(setting=at, wanted=wish, there=have)


def _lists(wish: tuple[object, ...], have: tuple[object, ...], at: str) -> Iterable[Difference]:
    if len(wish) != len(have):
        yield Difference(setting=at, wanted=wish, there=have)
        return
    for number, (one, other) in enumerate(zip(wish, have, strict=True)):
        yield from _values(one, other, f"{at}[{number}]")


def _no_limit(value: object) -> bool:
    return value is None or (isinstance(value, int) and value <= 0)
