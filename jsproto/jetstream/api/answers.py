"""The types of API answers: the ``type`` that each carries and the members that it must have.

A stream whose subjects cover the API acknowledges a request to it (servers before 2.10 allow a
stream on ``>``), and a service may listen there. So the client checks that an answer comes from
the API. Each answer of a server carries a ``type``. If it is there, it must be one of the table.
An answer without a type must have the required members. So a foreign or an empty answer raises
`jsproto.errors.InvalidResponse`, and never becomes an empty list or zeros.

Types and members are those that servers 2.9.10 to 2.15.1 sent in tests.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

TYPE: Final = "io.nats.jetstream.api.v1."


class AnswerType(Enum):
    """One kind of answer: the words of its ``type``, and the members that it always has.

    A kind without required members is recognized by its type only. Where versions differ in the
    type, there are several words.

    Attributes:
        types: the possible values of ``type``.
        needs: members that each answer has.
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
    ACCOUNT_CANCEL_MOVE = ("stream_cancel_move stream_update", ())  # 2.15, then older servers
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
