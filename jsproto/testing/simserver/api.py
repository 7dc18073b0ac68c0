"""The JSON API of JetStream: requests under ``$JS.API.`` and their answers.

A request is a verb of a few tokens, names behind it, and a JSON body; an answer is an envelope with a type and either the
members or an error (nats-server ``jetstream_api.go``). What the server would not answer is not answered here either: an
unknown verb and a wrong number of names meet silence. Verbs that exist and are not modelled answer with code 501.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final

from jsproto.testing.simserver import refusals
from jsproto.testing.simserver.configs import consumer_config, invalid_json, stream_config
from jsproto.testing.simserver.consumers import Consumer
from jsproto.testing.simserver.documents import Table, integer, is_list, is_table, read, table, text, texts
from jsproto.testing.simserver.gotime import ZERO_TIME, parse_rfc3339, rfc3339
from jsproto.testing.simserver.jetstream import API_PREFIX, JetStream
from jsproto.testing.simserver.refusals import RefusedError
from jsproto.testing.simserver.streams import Stored, Stream, check_subjects
from jsproto.testing.simserver.subjects import covers, matches, overlap

_TYPE: Final = "io.nats.jetstream.api.v1."
_NAMES_LIMIT: Final = 1024
_LIST_LIMIT: Final = 256
_SUBJECTS_LIMIT: Final = 100_000

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
_ZEROES: Final[Mapping[str, Table]] = {
    "STREAM.INFO": {"total": 0, "offset": 0, "limit": 0},
    "STREAM.NAMES": {"total": 0, "offset": 0, "limit": 0, "streams": None},
    "STREAM.LIST": {"total": 0, "offset": 0, "limit": 0, "streams": None},
    "STREAM.PURGE": {"purged": 0},
    "CONSUMER.NAMES": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "CONSUMER.LIST": {"total": 0, "offset": 0, "limit": 0, "consumers": []},
    "CONSUMER.PAUSE": {"paused": False, "pause_until": ZERO_TIME},
}
#: Verbs of a server that the model leaves for later, with the version that brought them.
_NOT_MODELLED: Final[Mapping[str, tuple[int, int]]] = {
    "STREAM.SNAPSHOT": (2, 9),
    "STREAM.RESTORE": (2, 9),
    "CONSUMER.UNPIN": (2, 11),
    "CONSUMER.RESET": (2, 14),
}
_CLUSTERED: Final = frozenset({"STREAM.LEADER.STEPDOWN", "STREAM.PEER.REMOVE", "CONSUMER.LEADER.STEPDOWN"})
#: Members of a consumer that an update must leave alone, with the server's words.
_FIXED: Final[Mapping[str, str]] = {
    "deliver_policy": "deliver policy",
    "opt_start_seq": "start sequence",
    "opt_start_time": "start time",
    "ack_policy": "ack policy",
    "replay_policy": "replay policy",
    "max_waiting": "max waiting",
}
_LIMITS: Final[Table] = {
    "max_memory": -1,
    "max_storage": -1,
    "max_streams": -1,
    "max_consumers": -1,
    "max_ack_pending": -1,
    "memory_max_stream_bytes": -1,
    "storage_max_stream_bytes": -1,
    "max_bytes_required": False,
}
_ACTIONS: Final = frozenset({"", "create", "update"})


class Api:
    """Answers JSON requests about one :class:`JetStream`."""

    __slots__ = ("_jetstream", "_server_name", "_verbs")

    def __init__(self, jetstream: JetStream, server_name: str) -> None:
        self._jetstream = jetstream
        self._server_name = server_name
        self._verbs: dict[str, Callable[[list[str], bytes, int], Table]] = {
            "INFO": self._account_info,
            "STREAM.CREATE": self._stream_create,
            "STREAM.UPDATE": self._stream_update,
            "STREAM.INFO": self._stream_info,
            "STREAM.NAMES": self._stream_names,
            "STREAM.LIST": self._stream_list,
            "STREAM.DELETE": self._stream_delete,
            "STREAM.PURGE": self._stream_purge,
            "STREAM.MSG.GET": self._message_get,
            "STREAM.MSG.DELETE": self._message_delete,
            "CONSUMER.CREATE": self._consumer_create,
            "CONSUMER.DURABLE.CREATE": self._consumer_durable,
            "CONSUMER.INFO": self._consumer_info,
            "CONSUMER.DELETE": self._consumer_delete,
            "CONSUMER.NAMES": self._consumer_names,
            "CONSUMER.LIST": self._consumer_list,
            "CONSUMER.PAUSE": self._consumer_pause,
        }

    def answer(self, subject: str, block: bytes | None, body: bytes, now: int) -> str | None:
        """The JSON of the answer, or ``None`` where the server stays silent."""
        jetstream = self._jetstream
        found = _verb(subject[len(API_PREFIX) :].split("."))
        if found is None or not jetstream.serving:
            return None
        verb, names = found
        if not self._exists(verb):
            return None
        jetstream.requests += 1
        answer: Table = {"type": _TYPE + VERBS[verb][1]}
        try:
            self._admit(verb, block)
            answer.update(self._verbs[verb](names, body, now))
        except RefusedError as refused:
            jetstream.errors += 1
            if refused.refusal.code == 501:
                jetstream.not_modelled.append(f"{subject}: {refused.refusal.text}")
            answer["error"] = refused.refusal.body()
            answer.update(_ZEROES.get(verb, {}))
        return _dump(answer)

    def _admit(self, verb: str, block: bytes | None) -> None:
        """What stops a request before its verb is looked at."""
        if not self._jetstream.level_suffices(block):
            raise RefusedError(refusals.REQUIRED_API_LEVEL)
        if verb in _CLUSTERED:
            raise RefusedError(refusals.CLUSTER_REQUIRED)
        if verb in _NOT_MODELLED:
            raise RefusedError(refusals.NOT_MODELLED.about(verb))

    def _exists(self, verb: str) -> bool:
        if verb == "CONSUMER.PAUSE":
            return self._jetstream.profile.pause
        return _NOT_MODELLED.get(verb, (0, 0)) <= self._jetstream.profile.number

    # ------------------------------------------------------------------------------------------------ account

    def _account_info(self, _names: list[str], _body: bytes, _now: int) -> Table:
        jetstream, profile = self._jetstream, self._jetstream.profile
        streams = jetstream.streams.values()
        info: Table = {
            "memory": sum(stream.size for stream in streams if stream.in_memory),
            "storage": sum(stream.size for stream in streams if not stream.in_memory),
        }
        if profile.reserved_in_account:
            info["reserved_memory"] = info["reserved_storage"] = 0
        info["streams"] = len(jetstream.streams)
        info["consumers"] = sum(len(consumers) for consumers in jetstream.consumers.values())
        info["limits"] = dict(_LIMITS)
        if jetstream.domain:
            info["domain"] = jetstream.domain
        api: Table = {"level": profile.api_level} if profile.api_level else {}
        api["total"], api["errors"] = jetstream.requests - 1, jetstream.errors
        info["api"] = api
        return info

    # ------------------------------------------------------------------------------------------------ streams

    def _stream(self, name: str) -> Stream:
        stream = self._jetstream.streams.get(name)
        if stream is None:
            raise RefusedError(refusals.STREAM_NOT_FOUND)
        return stream

    def _asked_stream(self, name: str, body: bytes) -> Table:
        asked = self._members(body)
        pedantic = asked.pop("pedantic", False) is True
        age = integer(asked, "max_age")
        if pedantic and 0 < age < integer(asked, "duplicate_window"):
            raise RefusedError(
                refusals.INVALID_CONFIG.about("duplicates window can not be larger then max age")
            )
        if text(asked, "name") != name:
            raise RefusedError(refusals.NAME_MISMATCH)
        config = stream_config(asked, self._jetstream.profile)
        wrong = check_subjects(texts(config, "subjects"))
        if wrong is not None:
            raise RefusedError(wrong)
        for other in self._jetstream.streams.values():
            subjects = texts(config, "subjects")
            if other.name != name and any(overlap(one, each) for one in other.subjects for each in subjects):
                raise RefusedError(refusals.SUBJECT_OVERLAP)
        return config

    def _stream_create(self, names: list[str], body: bytes, now: int) -> Table:
        config = self._asked_stream(names[0], body)
        stream = self._jetstream.streams.get(names[0])
        if stream is not None and stream.config != config:
            raise RefusedError(refusals.STREAM_EXISTS)
        if stream is None:
            stream = self._jetstream.add_stream(config, now)
        return {**self._about(stream, now), "did_create": True}

    def _stream_update(self, names: list[str], body: bytes, now: int) -> Table:
        config = self._asked_stream(names[0], body)
        stream = self._stream(names[0])
        if stream.sealed and not config["sealed"]:
            raise RefusedError(
                refusals.INVALID_CONFIG.about("stream configuration update can not unseal a sealed stream")
            )
        for member, words in (
            ("storage", "storage type"),
            ("retention", "retention policy to/from workqueue"),
        ):
            if config[member] != stream.config[member] and (
                member == "storage" or "workqueue" in {config[member], stream.retention}
            ):
                raise RefusedError(
                    refusals.INVALID_CONFIG.about(f"stream configuration update can not change {words}")
                )
        stream.configure(config)
        self._jetstream.reconfigured(stream, now)
        return self._about(stream, now)

    def _stream_info(self, names: list[str], body: bytes, now: int) -> Table:
        stream = self._stream(names[0])
        asked = self._members(body) if body else {}
        about = self._about(stream, now)
        state = table(about["state"])
        paging: Table = {"total": 0, "offset": 0, "limit": 0}
        pattern = text(asked, "subjects_filter")
        if asked.get("deleted_details") is True and (gaps := stream.gaps()):
            state["deleted"] = gaps
        if pattern and (subjects := stream.by_subject(pattern)):
            offset = min(max(integer(asked, "offset"), 0), len(subjects))
            paging = {"total": len(subjects), "offset": offset, "limit": _SUBJECTS_LIMIT}
            if page := dict(list(subjects.items())[offset : offset + _SUBJECTS_LIMIT]):
                state["subjects"] = page
        ts = {"ts": about.pop("ts")} if "ts" in about else {}
        cluster = {"cluster": {"leader": self._server_name}} if self._jetstream.profile.timestamps else {}
        return {**paging, **about, **cluster, **ts}

    def _about(self, stream: Stream, now: int, *, listed: bool = False) -> Table:
        about: Table = {
            "config": {**stream.config, **self._metadata(stream.config, listed=listed)},
            "created": rfc3339(stream.created),
            "state": stream.state(),
        }
        if self._jetstream.profile.timestamps:
            about["ts"] = rfc3339(now)
        return about

    def _metadata(self, config: Table, *, listed: bool = False) -> Table:
        """What servers from 2.11 on add about API levels; lists show only what is stored."""
        profile = self._jetstream.profile
        if not profile.asset_metadata:
            return {}
        own = dict(table(config.get("metadata")))
        own["_nats.req.level"] = "1" if config.get("pause_until") else "0"
        if not listed:
            own.update({"_nats.level": str(profile.api_level), "_nats.ver": profile.version})
        return {"metadata": dict(sorted(own.items()))}

    def _stream_names(self, _names: list[str], body: bytes, _now: int) -> Table:
        streams = [stream.name for stream in self._chosen(body)]
        return _page(streams, self._offset(body), _NAMES_LIMIT, "streams")

    def _stream_list(self, _names: list[str], body: bytes, now: int) -> Table:
        streams = [self._about(stream, now, listed=True) for stream in self._chosen(body)]
        return _page(streams, self._offset(body), _LIST_LIMIT, "streams")

    def _chosen(self, body: bytes) -> list[Stream]:
        pattern = text(self._members(body), "subject") if body else ""
        streams = [self._jetstream.streams[name] for name in sorted(self._jetstream.streams)]
        return [
            each for each in streams if not pattern or any(overlap(pattern, one) for one in each.subjects)
        ]

    def _stream_delete(self, names: list[str], body: bytes, now: int) -> Table:
        if body:
            raise RefusedError(refusals.NOT_EMPTY_REQUEST)
        self._jetstream.remove_stream(self._stream(names[0]), now)
        return {"success": True}

    def _stream_purge(self, names: list[str], body: bytes, now: int) -> Table:
        asked = self._members(body) if body else {}
        below, keep = integer(asked, "seq"), integer(asked, "keep")
        if below and keep:
            raise RefusedError(refusals.BAD_REQUEST)
        stream = self._stream(names[0])
        purged = stream.purge(text(asked, "filter"), below, keep, now)
        self._jetstream.refresh(stream)
        return {"success": True, "purged": purged}

    def _message_get(self, names: list[str], body: bytes, _now: int) -> Table:
        stream = self._stream(names[0])
        asked = self._members(body) if body else {}
        seq, newest, following = (
            integer(asked, "seq"),
            text(asked, "last_by_subj"),
            text(asked, "next_by_subj"),
        )
        if not (seq or newest or following) or (newest and (seq or following)):
            raise RefusedError(refusals.BAD_REQUEST)
        if newest:
            message = stream.last_of(newest)
        elif following:
            message = next((each for each in stream.after(seq) if matches(following, each.subject)), None)
        else:
            message = stream.message(seq)
        if message is None:
            raise RefusedError(refusals.NO_MESSAGE)
        return {"message": _stored(message)}

    def _message_delete(self, names: list[str], body: bytes, now: int) -> Table:
        stream = self._stream(names[0])
        seq = integer(self._members(body), "seq") if body else 0
        if not seq:
            raise RefusedError(refusals.BAD_REQUEST)
        stream.delete(seq, now)
        self._jetstream.refresh(stream)
        return {"success": True}

    # ------------------------------------------------------------------------------------------------ consumers

    def _consumer(self, names: list[str]) -> tuple[Stream, Consumer]:
        stream = self._stream(names[0])
        consumer = self._jetstream.consumers[stream.name].get(names[1])
        if consumer is None:
            raise RefusedError(refusals.CONSUMER_NOT_FOUND)
        return stream, consumer

    def _consumer_create(self, names: list[str], body: bytes, now: int) -> Table:
        asked, config = self._asked_consumer(names[0], body)
        if len(names) == 1:
            if text(config, "durable_name"):
                raise RefusedError(refusals.EPHEMERAL_WITH_DURABLE)
            name = text(config, "name")
        else:
            name = names[1]
            if text(config, "durable_name") not in {"", name}:
                raise RefusedError(refusals.DURABLE_NAME_MISMATCH)
            config["name"] = name
        if len(names) > 2:
            if self._jetstream.profile.multiple_filters and config.get("filter_subjects"):
                raise RefusedError(refusals.FILTERS_IN_SUBJECT)
            if text(config, "filter_subject") != ".".join(names[2:]):
                raise RefusedError(refusals.FILTER_MISMATCH)
        return self._create(self._stream(names[0]), name, asked, config, now)

    def _consumer_durable(self, names: list[str], body: bytes, now: int) -> Table:
        asked, config = self._asked_consumer(names[0], body)
        durable = text(config, "durable_name")
        if not durable:
            raise RefusedError(refusals.DURABLE_NAME_NOT_SET)
        if durable != names[1]:
            raise RefusedError(refusals.DURABLE_NAME_MISMATCH)
        if self._jetstream.profile.names_consumers:
            config["name"] = durable
        return self._create(self._stream(names[0]), durable, asked, config, now)

    def _asked_consumer(self, stream: str, body: bytes) -> tuple[Table, Table]:
        profile = self._jetstream.profile
        asked = self._members(body) if body or not profile.verbose_json_errors else {}
        action = text(asked, "action")
        if profile.consumer_action and action not in _ACTIONS:
            raise RefusedError(invalid_json(profile, f'unknown consumer action: "{action}"'))
        if text(asked, "stream_name") != stream:
            raise RefusedError(refusals.NAME_MISMATCH)
        return asked, dict(table(asked.get("config")))

    def _create(self, stream: Stream, name: str, request: Table, asked: Table, now: int) -> Table:
        action, pedantic = text(request, "action"), request.get("pedantic") is True
        jetstream, profile = self._jetstream, self._jetstream.profile
        if pedantic and integer(asked, "max_deliver") < -1:
            raise RefusedError(refusals.PEDANTIC.about("max_deliver must be set to -1"))
        config = consumer_config(asked, profile, ephemeral=not text(asked, "durable_name"))
        self._check_consumer(stream, config)
        action = action if profile.consumer_action else ""
        known = jetstream.consumers[stream.name].get(name) if name else None
        if known is not None:
            self._update(known, config, action, now)
            jetstream.refresh(stream)
            return self._consumer_about(known, now)
        if action == "update":
            raise RefusedError(refusals.CONSUMER_DOES_NOT_EXIST)
        self._check_room(stream, config)
        consumer = jetstream.add_consumer(stream, name or jetstream.lottery.name(8), config, now)
        return self._consumer_about(consumer, now)

    def _check_consumer(self, stream: Stream, config: Table) -> None:
        one, many = text(config, "filter_subject"), texts(config, "filter_subjects")
        if one and many:
            raise RefusedError(refusals.BOTH_FILTERS)
        if "" in many:
            raise RefusedError(refusals.FILTER_EMPTY)
        for at, each in enumerate(many):
            if any(overlap(each, other) for other in many[:at]):
                raise RefusedError(refusals.FILTERS_OVERLAP)
        if (
            one
            and self._jetstream.profile.filter_within_stream
            and not any(covers(each, one) for each in stream.subjects)
        ):
            raise RefusedError(refusals.FILTER_NOT_SUBSET)
        backoff, deliver = config.get("backoff"), integer(config, "max_deliver")
        if is_list(backoff) and 0 < deliver < len(backoff):
            raise RefusedError(refusals.BACKOFF_TOO_LONG)
        if stream.retention != "workqueue":
            return
        if config["ack_policy"] != "explicit":
            raise RefusedError(refusals.WORKQUEUE_ACK.about(self._jetstream.profile.workqueue_ack_text))
        if config["deliver_policy"] != "all":
            raise RefusedError(refusals.WORKQUEUE_DELIVER_ALL)

    def _check_room(self, stream: Stream, config: Table) -> None:
        """A new consumer: is there room for it, and does a work queue stay one?"""
        others = self._jetstream.consumers[stream.name].values()
        limit = integer(stream.config, "max_consumers")
        if limit < 0:
            limit = self._jetstream.profile.default_max_consumers
        if 0 <= limit <= len(others):
            raise RefusedError(refusals.MAX_CONSUMERS)
        if stream.retention != "workqueue" or not others:
            return
        filters = (
            [text(config, "filter_subject")]
            if text(config, "filter_subject")
            else texts(config, "filter_subjects")
        )
        if not filters:
            raise RefusedError(refusals.WORKQUEUE_UNFILTERED)
        for other in others:
            if any(overlap(one, each) for one in other.filters or [">"] for each in filters):
                raise RefusedError(refusals.WORKQUEUE_NOT_UNIQUE)

    def _update(self, consumer: Consumer, config: Table, action: str, now: int) -> None:
        if config == consumer.config:
            return
        if action == "create":
            raise RefusedError(refusals.CONSUMER_EXISTS)
        for member, words in _FIXED.items():
            if config.get(member) != consumer.config.get(member):
                raise RefusedError(refusals.CONSUMER_CREATE.about(f"{words} can not be updated"))
        consumer.configure(config, now)

    def _consumer_about(self, consumer: Consumer, now: int, *, listed: bool = False) -> Table:
        info = consumer.info(now)
        config = table(info["config"])
        info["config"] = {**config, **self._metadata(config, listed=listed)}
        return info

    def _consumer_info(self, names: list[str], _body: bytes, now: int) -> Table:
        stream, consumer = self._consumer(names)
        about = self._consumer_about(consumer, now)
        self._jetstream.refresh(stream)
        return about

    def _consumer_delete(self, names: list[str], _body: bytes, now: int) -> Table:
        stream, consumer = self._consumer(names)
        self._jetstream.remove_consumer(stream, consumer, now)
        self._jetstream.refresh(stream)
        return {"success": True}

    def _consumer_names(self, names: list[str], body: bytes, _now: int) -> Table:
        consumers = sorted(self._jetstream.consumers[self._stream(names[0]).name])
        return _page(consumers, self._offset(body), _NAMES_LIMIT, "consumers")

    def _consumer_list(self, names: list[str], body: bytes, now: int) -> Table:
        consumers = self._jetstream.consumers[self._stream(names[0]).name]
        infos = [self._consumer_about(consumers[name], now, listed=True) for name in sorted(consumers)]
        return _page(infos, self._offset(body), _LIST_LIMIT, "consumers")

    def _consumer_pause(self, names: list[str], body: bytes, now: int) -> Table:
        asked = self._members(body) if body else {}
        stream, consumer = self._consumer(names)
        until = parse_rfc3339(text(asked, "pause_until")) or 0
        consumer.pause(until, now)
        self._jetstream.refresh(stream)
        answer: Table = {"paused": until > now, "pause_until": rfc3339(until)}
        if until > now:
            answer["pause_remaining"] = until - now
        return answer

    # ------------------------------------------------------------------------------------------------ bodies

    def _members(self, body: bytes) -> Table:
        profile = self._jetstream.profile
        try:
            members = read(body)
        except ValueError as error:
            raise RefusedError(
                invalid_json(profile, _syntax(body, offset=profile.offset_in_json_errors))
            ) from error
        if not is_table(members):
            raise RefusedError(invalid_json(profile, "json: cannot unmarshal into Go value"))
        return members

    def _offset(self, body: bytes) -> int:
        return max(integer(self._members(body), "offset"), 0) if body else 0


def _verb(tokens: list[str]) -> tuple[str, list[str]] | None:
    """The verb that a subject names, and the names behind it; ``None`` if there is no such verb."""
    for length in (3, 2, 1):
        verb, names = ".".join(tokens[:length]), tokens[length:]
        if verb in VERBS and len(tokens) >= length:
            wanted = VERBS[verb][0]
            if len(names) == wanted or (wanted < 0 and len(names) >= 1):
                return verb, names
    return None


def _page(items: list[str] | list[Table], offset: int, limit: int, member: str) -> Table:
    offset = min(offset, len(items))
    page = items[offset : offset + limit]
    return {
        "total": len(items),
        "offset": offset,
        "limit": limit,
        member: page if page or member == "consumers" else None,
    }


def _stored(message: Stored) -> Table:
    found: Table = {"subject": message.subject, "seq": message.seq}
    if message.block:
        found["hdrs"] = base64.b64encode(message.block).decode()
    if message.payload:
        found["data"] = base64.b64encode(message.payload).decode()
    found["time"] = rfc3339(message.time)
    return found


def _syntax(body: bytes, *, offset: bool) -> str:
    """Go's words for the first thing that is wrong with a JSON text (the two cases that matter)."""
    stripped = body.strip()
    if len(stripped) > 1 and stripped[:1] == b"{" and stripped[1:2] not in {b'"', b"}"}:
        where = " at offset 2" if offset else ""
        return f"invalid character {chr(stripped[1])!r} looking for beginning of object key string{where}"
    return "unexpected end of JSON input"


def _dump(answer: Table) -> str:
    """JSON as Go writes it: compact, UTF-8, and ``<``, ``>``, ``&`` escaped."""
    body = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    return body.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
