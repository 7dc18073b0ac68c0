"""What the answer to each request of the JSON API looks like: its ``type``, and the members without
which it is none.

Somebody else may answer a request. A stream whose subjects cover the API acknowledges it (servers
before 2.10 let a stream be made on ``>``), and a service may listen there. Each answer of a server
carries a ``type``. A type that is there must be the one in the table. An answer without a type must
show the members that prove what it is. So a foreign or an empty answer is `jsproto.errors.InvalidResponse`
and never an empty list or zeros.

`type` and members were seen on servers 2.9.10 to 2.15.1.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

TYPE: Final = "io.nats.jetstream.api.v1."


class AnswerType(Enum):
    """One kind of answer: the words in its ``type``, and members that it always has, which prove it
    if it has no type.

    A kind without any members is proven by its type alone. Where versions disagree about the type,
    there are several words.

    Attributes:
        types: values of ``type``, any of which fits.
        needs: members that are there in each answer.
    """

    ACCOUNT_INFO = ("account_info", ("memory", "storage", "streams", "consumers"))
    ACCOUNT_PURGE = ("account_purge", ("initiated",))
    STREAM_CREATE = ("stream_create", ("config",))
    STREAM_UPDATE = ("stream_update", ("config",))
    STREAM_INFO = ("stream_info", ("config",))
    STREAM_DELETE = ("stream_delete", ("success",))
    STREAM_PURGE = ("stream_purge", ("success",))
    STREAM_NAMES = ("stream_names", ("total",))
    STREAM_LIST = ("stream_list", ("total",))
    STREAM_MSG_GET = ("stream_msg_get", ("message",))
    STREAM_MSG_DELETE = ("stream_msg_delete", ("success",))
    STREAM_SNAPSHOT = ("stream_snapshot", ("config", "state"))
    STREAM_RESTORE = ("stream_restore", ("deliver_subject",))
    STREAM_STEP_DOWN = ("stream_leader_stepdown", ("success",))
    STREAM_REMOVE_PEER = ("stream_remove_peer", ("success",))
    STREAM_EVACUATE_PEER = ("stream_evacuate_peer", ("success",))
    STREAM_CANCEL_MOVE = ("stream_cancel_move", ())
    ACCOUNT_CANCEL_MOVE = ("stream_cancel_move stream_update", ())  # 2.15, before
    CONSUMER_CREATE = ("consumer_create", ("stream_name", "name"))
    CONSUMER_INFO = ("consumer_info", ("stream_name", "name"))
    CONSUMER_RESET = ("consumer_reset", ("stream_name", "name"))
    CONSUMER_DELETE = ("consumer_delete", ("success",))
    CONSUMER_NAMES = ("consumer_names", ("total",))
    CONSUMER_LIST = ("consumer_list", ("total",))
    CONSUMER_PAUSE = ("consumer_pause", ("paused",))
    CONSUMER_UNPIN = ("consumer_unpin", ())
    CONSUMER_STEP_DOWN = ("consumer_leader_stepdown", ("success",))
    META_STEP_DOWN = ("meta_leader_stepdown", ("success",))
    META_REMOVE_SERVER = ("meta_server_remove", ("success",))
    META_EVACUATE_SERVER = ("meta_server_evacuate", ("success",))

    def __init__(self, words: str, needs: tuple[str, ...]) -> None:
        self.types: tuple[str, ...] = tuple(f"{TYPE}{word}_response" for word in words.split())
        self.needs = needs
