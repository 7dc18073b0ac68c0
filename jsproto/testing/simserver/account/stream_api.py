"""The verbs of the JSON API about streams and their messages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final

from jsproto.jetstream.api.patterns import collide
from jsproto.testing.simserver.account.jetstream import SimJetStream
from jsproto.testing.simserver.requests.checks import refused_stream
from jsproto.testing.simserver.requests.configs import stream_config
from jsproto.testing.simserver.requests.envelope import (
    LIST_LIMIT,
    NAMES_LIMIT,
    SUBJECTS_LIMIT,
    metadata_of,
    page_of,
)
from jsproto.testing.simserver.requests.requests import asked_if_any, asked_of, is_empty
from jsproto.testing.simserver.streams.store import Stored
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, integer, table, text, texts
from jsproto.testing.simserver.values.gotime import rfc3339
from jsproto.testing.simserver.values.refusals import RefusedError
from jsproto.testing.simserver.values.subjects import matches

#: What a get of the API does not take: it answers with one message.
_SEVERAL: Final = ("batch", "max_bytes", "multi_last", "start_time")


class StreamApi:
    """Answers requests about streams."""

    __slots__ = ("_jetstream", "_server_name", "verbs")

    def __init__(self, jetstream: SimJetStream, server_name: str) -> None:
        self._jetstream = jetstream
        self._server_name = server_name
        self.verbs: Mapping[str, Callable[[list[str], bytes, int], Table]] = {
            "STREAM.CREATE": self._stream_create,
            "STREAM.UPDATE": self._stream_update,
            "STREAM.INFO": self._stream_info,
            "STREAM.NAMES": self._stream_names,
            "STREAM.LIST": self._stream_list,
            "STREAM.DELETE": self._stream_delete,
            "STREAM.PURGE": self._stream_purge,
            "STREAM.MSG.GET": self._message_get,
            "STREAM.MSG.DELETE": self._message_delete,
        }

    def _asked_stream(self, name: str, body: bytes, *, update: bool = False) -> Table:
        profile = self._jetstream.profile
        asked = asked_of(body, "StreamConfigRequest", profile)
        pedantic = asked.pop("pedantic", False) is True
        if not update and text(asked, "name") != name:
            raise RefusedError(refusals.NAME_MISMATCH)
        config = stream_config(asked, profile)
        refusal = refused_stream(asked, profile, pedantic=pedantic)
        if refusal is not None:
            raise RefusedError(refusal)
        if text(asked, "name") != name:
            raise RefusedError(refusals.NAME_MISMATCH)
        known = self._jetstream.stream(name) if update else self._jetstream.streams.get(name)
        if text(asked, "template_owner"):
            raise RefusedError(
                refusals.NOT_OF_TEMPLATE if known is None or update else refusals.STREAM_EXISTS
            )
        if integer(config, "num_replicas") > 1:
            raise RefusedError(refusals.REPLICAS_NOT_SUPPORTED)
        for other in self._jetstream.streams.values():
            subjects = texts(config, "subjects")
            if other.name != name and any(
                collide(one, each) for one in other.subjects for each in subjects
            ):
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
        config = self._asked_stream(names[0], body, update=True)
        stream = self._jetstream.stream(names[0])
        if stream.sealed and not config["sealed"]:
            raise RefusedError(
                refusals.INVALID_CONFIG.about(
                    "stream configuration update can not unseal a sealed stream"
                )
            )
        for member, words in (
            ("storage", "storage type"),
            ("retention", "retention policy to/from workqueue"),
        ):
            if config[member] != stream.config[member] and (
                member == "storage" or "workqueue" in {config[member], stream.retention}
            ):
                raise RefusedError(
                    refusals.INVALID_CONFIG.about(
                        f"stream configuration update can not change {words}"
                    )
                )
        stream.configure(config)
        self._jetstream.reconfigured(stream, now)
        return self._about(stream, now)

    def _stream_info(self, names: list[str], body: bytes, now: int) -> Table:
        asked = asked_if_any(body, "JSApiStreamInfoRequest", self._jetstream.profile)
        stream = self._jetstream.stream(names[0])
        about = self._about(stream, now)
        state = table(about["state"])
        paging: Table = {"total": 0, "offset": 0, "limit": 0}
        pattern = text(asked, "subjects_filter")
        if asked.get("deleted_details") is True:
            state.pop("num_deleted", None)
            if gaps := stream.gaps():
                state |= {"num_deleted": len(gaps), "deleted": gaps}
        if pattern and (subjects := stream.by_subject(pattern)):
            offset = min(max(integer(asked, "offset"), 0), len(subjects))
            paging = {"total": len(subjects), "offset": offset, "limit": SUBJECTS_LIMIT}
            if page := dict(list(subjects.items())[offset : offset + SUBJECTS_LIMIT]):
                state["subjects"] = page
        ts = {"ts": about.pop("ts")} if "ts" in about else {}
        cluster = (
            {"cluster": {"leader": self._server_name}} if self._jetstream.profile.timestamps else {}
        )
        return {**paging, **about, **cluster, **ts}

    def _about(self, stream: SimStream, now: int, *, listed: bool = False) -> Table:
        about: Table = {
            "config": {
                **stream.config,
                **metadata_of(stream.config, self._jetstream.profile, listed=listed),
            },
            "created": rfc3339(stream.created),
            "state": {**stream.state(), "consumer_count": len(stream.followers)},
        }
        if self._jetstream.profile.timestamps:
            about["ts"] = rfc3339(now)
        return about

    def _stream_names(self, _names: list[str], body: bytes, _now: int) -> Table:
        asked = asked_if_any(body, "JSApiStreamNamesRequest", self._jetstream.profile)
        streams = [stream.name for stream in self._chosen(asked)]
        return page_of(streams, integer(asked, "offset"), NAMES_LIMIT, "streams")

    def _stream_list(self, _names: list[str], body: bytes, now: int) -> Table:
        asked = asked_if_any(body, "JSApiStreamListRequest", self._jetstream.profile)
        streams = [self._about(stream, now, listed=True) for stream in self._chosen(asked)]
        return page_of(streams, integer(asked, "offset"), LIST_LIMIT, "streams")

    def _chosen(self, asked: Table) -> list[SimStream]:
        pattern = text(asked, "subject")
        streams = [self._jetstream.streams[name] for name in sorted(self._jetstream.streams)]
        return [
            each
            for each in streams
            if not pattern or any(collide(pattern, one) for one in each.subjects)
        ]

    def _stream_delete(self, names: list[str], body: bytes, now: int) -> Table:
        if not is_empty(body):
            raise RefusedError(refusals.NOT_EMPTY_REQUEST)
        self._jetstream.remove_stream(self._jetstream.stream(names[0]), now)
        return {"success": True}

    def _stream_purge(self, names: list[str], body: bytes, now: int) -> Table:
        asked = asked_if_any(body, "JSApiStreamPurgeRequest", self._jetstream.profile)
        below, keep = integer(asked, "seq"), integer(asked, "keep")
        if below and keep:
            raise RefusedError(refusals.BAD_REQUEST)
        stream = self._jetstream.stream(names[0])
        purged = stream.purge(text(asked, "filter"), below, keep, now)
        self._jetstream.refresh(stream)
        return {"success": True, "purged": purged}

    def _message_get(self, names: list[str], body: bytes, _now: int) -> Table:
        if is_empty(body):
            raise RefusedError(refusals.BAD_REQUEST)
        asked = asked_of(body, "JSApiMsgGetRequest", self._jetstream.profile)
        seq, newest, following = (
            integer(asked, "seq"),
            text(asked, "last_by_subj"),
            text(asked, "next_by_subj"),
        )
        several = any(asked.get(name) for name in _SEVERAL)
        if not (seq or newest or following) or (newest and (seq or following)) or several:
            raise RefusedError(refusals.BAD_REQUEST)
        stream = self._jetstream.stream(names[0])
        if newest:
            message = stream.last_of(newest)
        elif following:
            message = next(
                (each for each in stream.after(seq) if matches(following, each.subject)), None
            )
        else:
            message = stream.message(seq)
        if message is None:
            raise RefusedError(refusals.NO_MESSAGE)
        found = _stored(message)
        if asked.get("no_hdr") is True and self._jetstream.profile.direct_no_headers:
            found.pop("hdrs", None)
        return {"message": found}

    def _message_delete(self, names: list[str], body: bytes, now: int) -> Table:
        if is_empty(body):
            raise RefusedError(refusals.BAD_REQUEST)
        seq = integer(asked_of(body, "JSApiMsgDeleteRequest", self._jetstream.profile), "seq")
        stream = self._jetstream.stream(names[0])
        stream.delete(seq, now)
        self._jetstream.refresh(stream)
        return {"success": True}


def _stored(message: Stored) -> Table:
    found: Table = {"subject": message.subject, "seq": message.seq}
    if message.block:
        found["hdrs"] = base64.b64encode(message.block).decode()
    if message.payload:
        found["data"] = base64.b64encode(message.payload).decode()
    found["time"] = rfc3339(message.time)
    return found
