"""The envelope of the JSON API: which verbs there are, and how an answer is written.

A request is a verb of a few tokens, names behind it, and a JSON body; an answer has a type and
either members or an error (nats-server ``jetstream_api.go``). What is wrong with a body is said in
Go's words, as far as the version tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from jsproto.testing.simserver.requests.configs import required_level
from jsproto.testing.simserver.values.documents import Table, table
from jsproto.testing.simserver.values.gotime import ZERO_TIME
from jsproto.testing.simserver.values.profile import Profile

TYPE: Final = "io.nats.jetstream.api.v1."
NAMES_LIMIT: Final = 1024
LIST_LIMIT: Final = 256
SUBJECTS_LIMIT: Final = 100_000

#: Verb, number of names behind it (-1: two or more), type of the answer.
VERBS: Final[Mapping[str, tuple[int, str]]] = {
    "INFO": (0, "account_info_response"),
    "STREAM.CREATE": (1, "stream_create_response"),
    "STREAM.UPDATE": (1, "stream_update_response"),
    "STREAM.INFO": (1, "stream_info_response"),
    "STREAM.NAMES": (0, "stream_names_response"),
    "STREAM.LIST": (0, "stream_list_response"),
    "STREAM.DELETE": (1, "stream_delete_response"),
    "STREAM.PURGE": (1, "stream_purge_response"),
    "STREAM.MSG.GET": (1, "stream_msg_get_response"),
    "STREAM.MSG.DELETE": (1, "stream_msg_delete_response"),
    "STREAM.LEADER.STEPDOWN": (1, "stream_leader_stepdown_response"),
    "STREAM.PEER.REMOVE": (1, "stream_remove_peer_response"),
    "STREAM.PEER.EVACUATE": (1, "stream_evacuate_peer_response"),
    "STREAM.CANCEL_MOVE": (1, "stream_cancel_move_response"),
    "STREAM.SNAPSHOT": (1, "stream_snapshot_response"),
    "STREAM.RESTORE": (1, "stream_restore_response"),
    "CONSUMER.CREATE": (-1, "consumer_create_response"),
    "CONSUMER.DURABLE.CREATE": (2, "consumer_create_response"),
    "CONSUMER.INFO": (2, "consumer_info_response"),
    "CONSUMER.DELETE": (2, "consumer_delete_response"),
    "CONSUMER.NAMES": (1, "consumer_names_response"),
    "CONSUMER.LIST": (1, "consumer_list_response"),
    "CONSUMER.PAUSE": (2, "consumer_pause_response"),
    "CONSUMER.LEADER.STEPDOWN": (2, "consumer_leader_stepdown_response"),
    "CONSUMER.UNPIN": (2, "consumer_unpin_response"),
    "CONSUMER.RESET": (2, "consumer_reset_response"),
}
#: Members that an answer has with an error, too.
ZEROES: Final[Mapping[str, Table]] = {
    "STREAM.INFO": {"total": 0, "offset": 0, "limit": 0},
    "STREAM.NAMES": {"total": 0, "offset": 0, "limit": 0, "streams": None},
    "STREAM.LIST": {"total": 0, "offset": 0, "limit": 0, "streams": []},
    "STREAM.PURGE": {"purged": 0},
    "CONSUMER.NAMES": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "CONSUMER.LIST": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "CONSUMER.RESET": {"reset_seq": 0},
    "CONSUMER.PAUSE": {"paused": False, "pause_until": ZERO_TIME},
}
#: Verbs of a server that the model leaves for later.
NOT_MODELLED: Final = frozenset({"STREAM.SNAPSHOT", "STREAM.RESTORE"})
#: Verbs that came later, with the version that brought them.
SINCE: Final[Mapping[str, tuple[int, int]]] = {
    "CONSUMER.PAUSE": (2, 11),
    "CONSUMER.UNPIN": (2, 11),
    "CONSUMER.RESET": (2, 14),
    "STREAM.PEER.EVACUATE": (2, 15),
    "STREAM.CANCEL_MOVE": (2, 15),
}
#: Verbs that consumers answer themselves, with two blanks in the frame.
SAID_BY_CONSUMERS: Final = frozenset({"CONSUMER.RESET"})
CLUSTERED: Final = frozenset(
    {
        "STREAM.LEADER.STEPDOWN",
        "STREAM.PEER.REMOVE",
        "STREAM.PEER.EVACUATE",
        "STREAM.CANCEL_MOVE",
        "CONSUMER.LEADER.STEPDOWN",
    }
)


class UnheardError(Exception):
    """Nobody listens for this request: it meets silence."""


class ApiAnswer(NamedTuple):
    """The JSON of an answer, and whether it is framed with an empty reply (two blanks in a row)."""

    body: str
    two_blanks: bool


def verb_of(tokens: list[str]) -> tuple[str, list[str]] | None:
    """The verb that a subject names, and the names behind it; ``None`` if there is no such verb."""
    for length in (3, 2, 1):
        verb, names = ".".join(tokens[:length]), tokens[length:]
        if verb in VERBS and len(tokens) >= length:
            wanted = VERBS[verb][0]
            if len(names) == wanted or (wanted < 0 and len(names) >= 1):
                return verb, names
    return None


def page_of(items: list[str] | list[Table], offset: int, limit: int, member: str) -> Table:
    """One page of a list, with the members that say which."""
    offset = min(max(offset, 0), len(items))
    page = items[offset : offset + limit]
    return {
        "total": len(items),
        "offset": offset,
        "limit": limit,
        member: page if page or limit == LIST_LIMIT or member == "consumers" else None,
    }


def dump(answer: Table) -> str:
    """JSON as Go writes it: compact, UTF-8, and ``<``, ``>``, ``&`` escaped."""
    body = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    return body.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def metadata_of(config: Table, profile: Profile, *, listed: bool = False) -> Table:
    """What servers from 2.11 on add about API levels; lists show only what is stored."""
    if not profile.asset_metadata:
        return {}
    own = dict(table(config.get("metadata")))
    own["_nats.req.level"] = str(required_level(config))
    if not listed:
        own.update({"_nats.level": str(profile.api_level), "_nats.ver": profile.version})
    return {"metadata": dict(sorted(own.items()))}
