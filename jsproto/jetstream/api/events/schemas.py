"""JSON Schemas of all known events, for programs that check or store events or generate code.

Theory. A schema is made from the class of the event, so there is only one table of members. Only
the required members are added: those that the server writes without ``omitempty``
(server/jetstream_events.go). Unknown members of newer servers are allowed at every depth.
``spec/schemas`` holds all schemas as files. Tests check recorded and live events against them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Final

from jsproto.errors.tree import InvalidConfig, shorten
from jsproto.jetstream.api.events.advisories import EVENTS

#: The dialect of JSON Schema.
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
#: Members of every event.
_ALWAYS: Final = ("type", "id", "timestamp")
_OF_CONSUMER: Final = ("stream", "consumer")
_FATE: Final = (*_OF_CONSUMER, "stream_seq", "deliveries")
_SERVER: Final = ("server", "server_id")

#: Further required members for each type.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "api_audit": ("server", "client", "subject", "response"),
    "api_limit_reached": ("server", "dropped"),
    "consumer_ack": (*_FATE, "consumer_seq", "ack_time"),
    "consumer_action": (*_OF_CONSUMER, "action"),
    "consumer_group_pinned": (*_OF_CONSUMER, "group", "pinned_id"),
    "consumer_group_unpinned": (*_OF_CONSUMER, "group", "reason"),
    "consumer_leader_elected": (*_OF_CONSUMER, "leader", "replicas"),
    "consumer_pause": (*_OF_CONSUMER, "paused"),
    "consumer_quorum_lost": (*_OF_CONSUMER, "replicas"),
    "domain_leader_elected": ("leader", "replicas", "cluster"),
    "max_deliver": _FATE,
    "meta_rescue": (),
    "nak": (*_FATE, "consumer_seq"),
    "restore_complete": ("stream", "start", "end", "bytes", "client"),
    "restore_create": ("stream", "client"),
    "server_out_of_space": _SERVER,
    "server_removed": (*_SERVER, "cluster"),
    "snapshot_complete": ("stream", "start", "end", "client"),
    "snapshot_create": ("stream", "state", "client"),
    "stream_action": ("stream", "action"),
    "stream_batch_abandoned": ("stream", "batch", "reason"),
    "stream_leader_elected": ("stream", "leader", "replicas"),
    "stream_quorum_lost": ("stream", "replicas"),
    "terminated": (*_FATE, "consumer_seq"),
}


def event_schema(kind: str) -> dict[str, object]:
    """The schema of one event type, such as ``io.nats.jetstream.advisory.v1.max_deliver``.

    Each call returns a new dict.

    Raises:
        InvalidConfig: an unknown type.
    """
    event = EVENTS.get(kind)
    if event is None:
        raise InvalidConfig(
            f"expected one of the {len(EVENTS)} types of events, got {shorten(kind)}"
        )
    return {
        "$schema": DIALECT,
        "title": kind,
        "description": (inspect.getdoc(event) or "").partition("\n")[0],
        "type": "object",
        "properties": {**event.properties(), "type": {"const": kind}},
        "required": [*_ALWAYS, *NEEDED[kind.rpartition(".")[2]]],
    }
