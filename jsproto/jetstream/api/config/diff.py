"""Compares a wanted configuration with an existing one, setting by setting.

Theory. The server fills in missing settings, adds its own labels, and writes "no limit" as -1.
So the comparison covers only settings that the wanted configuration has, label by label. 0 and -1
are equal where both mean "no limit". Each other difference is a :class:`Difference`; without any,
the existing configuration is as wanted.

:func:`changes` compares an old configuration with a new one. There a setting that was set, and is
not set any more, is a difference too.

Labels of the server (``_nats.``) are no settings; they are never compared.

Only the server knows which settings an update can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast, final

from attrs import frozen

from jsproto.errors.tree import shorten
from jsproto.jetstream.api.codecs import is_label_of_server
from jsproto.jetstream.api.document import Document, table

#: Settings where a request's 0 becomes -1 on the server.
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
    """One setting that differs.

    Attributes:
        setting: its name; for nested settings a path such as ``sources[0].filter_subject``.
        wanted: the wanted value; after a change the new value.
        there: the existing value, ``None`` if none is set; after a change the old value.
    """

    setting: str
    wanted: object
    there: object

    def __str__(self) -> str:
        return f"{self.setting}: wanted {shorten(self.wanted)}, is {shorten(self.there)}"


def differences(wanted: Document, there: Document) -> tuple[Difference, ...]:
    """All settings of ``wanted`` that differ in ``there``, in the order of the fields."""
    return tuple(_documents(wanted, there, ""))


def changes(old: Document, new: Document) -> tuple[Difference, ...]:
    """All settings of ``new`` that differ in ``old``, then those that only ``old`` has."""
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
