"""Write a JetStream event as one line for users: time, kind, subject of the event, other fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from jsproto.jetstream.api.events.advisories import JetStreamEvent
from jsproto.ops.tables import text_of

#: Fields that come first, in this order; ``type``, ``id`` and ``timestamp`` are not shown as
#: fields.
_FIRST: Final = ("stream", "consumer", "server", "action")
_PLACED: Final = frozenset({"type", "id", "timestamp", *_FIRST})
#: Values that are left out; ``False`` is shown.
_NOTHING: Final = (None, "", 0)


def event_line(event: JetStreamEvent) -> str:
    """Return one line: the time, the kind, and each member as ``name=value``.

    Control characters are escaped, so nothing breaks the line.
    """
    members = event.to_wire()
    shown = [(name, members[name]) for name in _FIRST if members.get(name) not in _NOTHING]
    shown += [(name, value) for name, value in members.items() if name not in _PLACED]
    when = "" if event.timestamp is None else str(event.timestamp)
    words = [
        f"{text_of(name)}={_value(name, value)}"
        for name, value in shown
        if value is False or value not in _NOTHING
    ]
    return " ".join([when or "-", text_of(event.kind or "unknown"), *words])


def _value(name: str, value: object) -> str:
    if name == "replicas" and isinstance(value, list):
        peers = cast("list[Mapping[str, object]]", value)
        return text_of(",".join(str(each.get("name", "")) for each in peers))
    if isinstance(value, str) and value and not {" ", '"', "="} & set(value):
        return text_of(value)
    return text_of(json.dumps(value, ensure_ascii=False))
