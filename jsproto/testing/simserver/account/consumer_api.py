"""The verbs of the JSON API about consumers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from jsproto.jetstream.api.patterns import collide, within
from jsproto.testing.simserver.account.jetstream import SimJetStream
from jsproto.testing.simserver.consumers.consumers import SimConsumer
from jsproto.testing.simserver.consumers.pull_consumers import PullConsumer
from jsproto.testing.simserver.requests.checks import refused_consumer
from jsproto.testing.simserver.requests.configs import consumer_config, invalid_json
from jsproto.testing.simserver.requests.envelope import (
    LIST_LIMIT,
    NAMES_LIMIT,
    UnheardError,
    metadata_of,
    page_of,
)
from jsproto.testing.simserver.requests.requests import (
    asked_if_any,
    asked_of,
    asked_plainly,
    is_empty,
)
from jsproto.testing.simserver.streams.streams import SimStream
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table, integer, integers, table, text, texts
from jsproto.testing.simserver.values.gotime import parse_rfc3339, rfc3339
from jsproto.testing.simserver.values.refusals import RefusedError

#: Members of a consumer that an update must leave alone, with the server's words.
#: What is wrong with where a consumer begins, and with its samples, comes behind its filter.
_BEHIND_FILTER: Final = frozenset({10094, 10095})
_FIXED: Final[Mapping[str, str]] = {
    "deliver_policy": "deliver policy",
    "mem_storage": "storage type",
    "opt_start_seq": "start sequence",
    "opt_start_time": "start time",
    "ack_policy": "ack policy",
    "replay_policy": "replay policy",
    "idle_heartbeat": "heart beats",
    "flow_control": "flow control",
}


class ConsumerApi:
    """Answers requests about consumers."""

    __slots__ = ("_jetstream", "verbs")

    def __init__(self, jetstream: SimJetStream) -> None:
        self._jetstream = jetstream
        self.verbs: Mapping[str, Callable[[list[str], bytes, int], Table]] = {
            "CONSUMER.CREATE": self._consumer_create,
            "CONSUMER.DURABLE.CREATE": self._consumer_durable,
            "CONSUMER.INFO": self._consumer_info,
            "CONSUMER.DELETE": self._consumer_delete,
            "CONSUMER.NAMES": self._consumer_names,
            "CONSUMER.LIST": self._consumer_list,
            "CONSUMER.PAUSE": self._consumer_pause,
            "CONSUMER.UNPIN": self._consumer_unpin,
            "CONSUMER.RESET": self._consumer_reset,
        }

    def _consumer(self, names: list[str]) -> tuple[SimStream, SimConsumer]:
        stream = self._jetstream.stream(names[0])
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
        return self._create(self._jetstream.stream(names[0]), name, asked, config, now)

    def _consumer_durable(self, names: list[str], body: bytes, now: int) -> Table:
        asked, config = self._asked_consumer(names[0], body)
        durable = text(config, "durable_name")
        if not durable:
            raise RefusedError(refusals.DURABLE_NAME_NOT_SET)
        if durable != names[1]:
            raise RefusedError(refusals.DURABLE_NAME_MISMATCH)
        if self._jetstream.profile.names_consumers:
            config["name"] = durable
        return self._create(self._jetstream.stream(names[0]), durable, asked, config, now)

    def _asked_consumer(self, stream: str, body: bytes) -> tuple[Table, Table]:
        asked = asked_of(body, "CreateConsumerRequest", self._jetstream.profile)
        if text(asked, "stream_name") != stream:
            raise RefusedError(refusals.NAME_MISMATCH)
        return asked, dict(table(asked.get("config")))

    def _create(
        self, stream: SimStream, name: str, request: Table, asked: Table, now: int
    ) -> Table:
        action, pedantic = text(request, "action"), request.get("pedantic") is True
        jetstream, profile = self._jetstream, self._jetstream.profile
        config = consumer_config(asked, profile, ephemeral=not text(asked, "durable_name"))
        known = jetstream.consumers[stream.name].get(name) if name else None
        against = refused_consumer(asked, stream.config, profile, pedantic=pedantic)
        steps = len(integers(config, "backoff"))
        if steps and profile.strict_backoff and integer(config, "max_deliver") <= steps:
            raise RefusedError(refusals.BACKOFF_TOO_LONG)
        if integer(config, "num_replicas") > 1:
            raise RefusedError(refusals.REPLICAS_NOT_SUPPORTED)
        if against.at_once is not None and against.at_once.err_code not in _BEHIND_FILTER:
            raise RefusedError(against.at_once)
        self._check_filter(stream, config)
        if against.at_once is not None:
            raise RefusedError(against.at_once)
        action = action if profile.consumer_action else ""
        if known is not None:
            # Who wants another pause has a request of its own for it.
            config.pop("pause_until", None)
            if "pause_until" in known.config:
                config["pause_until"] = known.config["pause_until"]
            turns = self._update(stream, known, config, action, now)
            about = self._consumer_about(known, now)
            if turns:
                jetstream.started(stream, known, now)
            return about
        if action == "update":
            raise RefusedError(refusals.CONSUMER_DOES_NOT_EXIST)
        self._check_room(stream, config)
        late = against.at_last
        if late is not None and (profile.workqueue_delivers_first or late.err_code == 10098):
            raise RefusedError(late)
        self._check_workqueue(stream, config)
        if late is not None:
            raise RefusedError(late)
        consumer = jetstream.add_consumer(stream, name or jetstream.lottery.name(8), config, now)
        about = self._consumer_about(consumer, now)
        jetstream.started(stream, consumer, now)
        return about

    def _check_filter(self, stream: SimStream, config: Table) -> None:
        one = text(config, "filter_subject")
        judged = self._jetstream.profile.filter_within_stream
        if (
            one
            and judged
            and not any(within(one, each) or within(each, one) for each in stream.subjects)
        ):
            raise RefusedError(refusals.FILTER_NOT_SUBSET)

    def _check_room(self, stream: SimStream, config: Table) -> None:
        """A new consumer: is there room for it?"""
        others = self._jetstream.consumers[stream.name].values()
        limit = integer(stream.config, "max_consumers")
        if limit < 0:
            limit = self._jetstream.profile.default_max_consumers
        if 0 <= limit <= len(others):
            raise RefusedError(refusals.MAX_CONSUMERS)

    def _check_workqueue(self, stream: SimStream, config: Table) -> None:
        """Whether a work queue stays one."""
        others = self._jetstream.consumers[stream.name].values()
        if stream.retention != "workqueue" or not others:
            return
        if not _filters(config):
            raise RefusedError(refusals.WORKQUEUE_UNFILTERED)
        self._check_unique(stream, config)

    def _check_unique(self, stream: SimStream, config: Table, name: str = "") -> None:
        filters = _filters(config)
        for other in self._jetstream.consumers[stream.name].values():
            theirs = _filters(other.config) or [">"]
            if other.name != name and any(collide(one, each) for one in theirs for each in filters):
                raise RefusedError(refusals.WORKQUEUE_NOT_UNIQUE)

    def _update(
        self, stream: SimStream, consumer: SimConsumer, config: Table, action: str, now: int
    ) -> bool:
        """Update a consumer; answers whether it then looks for messages."""
        if config == consumer.config:
            return False
        if action == "create":
            raise RefusedError(refusals.CONSUMER_EXISTS)
        if stream.retention == "workqueue":
            self._check_unique(stream, config, consumer.name)
        for member, words in _FIXED.items():
            if member == "mem_storage" and not self._jetstream.profile.fixed_storage:
                continue
            if config.get(member) != consumer.config.get(member):
                raise RefusedError(refusals.CONSUMER_CREATE.about(f"{words} can not be updated"))
        same_waiting = config.get("max_waiting") == consumer.config.get("max_waiting")
        if not same_waiting and self._jetstream.profile.waiting_first:
            raise RefusedError(refusals.CONSUMER_CREATE.about("max waiting can not be updated"))
        before, after = (text(each, "deliver_subject") for each in (consumer.config, config))
        if before != after:
            if not before or not after:
                kinds = "push consumer to pull" if before else "pull consumer to push"
                raise RefusedError(refusals.CONSUMER_CREATE.about(f"can not update {kinds} based"))
            if self._jetstream.router.interested(before):
                raise RefusedError(refusals.CONSUMER_NAME_EXISTS)
        if not same_waiting:
            raise RefusedError(refusals.CONSUMER_CREATE.about("max waiting can not be updated"))
        return self._jetstream.reconfigured_consumer(stream, consumer, config, now)

    def _consumer_about(self, consumer: SimConsumer, now: int, *, listed: bool = False) -> Table:
        info = consumer.info(now)
        config = table(info["config"])
        info["config"] = {**config, **metadata_of(config, self._jetstream.profile, listed=listed)}
        return info

    def _consumer_info(self, names: list[str], body: bytes, now: int) -> Table:
        if not is_empty(body):
            raise RefusedError(refusals.NOT_EMPTY_REQUEST)
        stream, consumer = self._consumer(names)
        about = self._consumer_about(consumer, now)
        self._jetstream.refresh(stream)
        return about

    def _consumer_delete(self, names: list[str], body: bytes, now: int) -> Table:
        if not is_empty(body):
            raise RefusedError(refusals.NOT_EMPTY_REQUEST)
        stream, consumer = self._consumer(names)
        self._jetstream.remove_consumer(stream, consumer, now)
        self._jetstream.refresh(stream)
        return {"success": True}

    def _consumer_names(self, names: list[str], body: bytes, _now: int) -> Table:
        asked = asked_if_any(body, "JSApiConsumersRequest", self._jetstream.profile)
        consumers = sorted(self._jetstream.consumers[self._jetstream.stream(names[0]).name])
        return page_of(consumers, integer(asked, "offset"), NAMES_LIMIT, "consumers")

    def _consumer_list(self, names: list[str], body: bytes, now: int) -> Table:
        asked = asked_if_any(body, "JSApiConsumersRequest", self._jetstream.profile)
        consumers = self._jetstream.consumers[self._jetstream.stream(names[0]).name]
        infos = [
            self._consumer_about(consumers[name], now, listed=True) for name in sorted(consumers)
        ]
        return page_of(infos, integer(asked, "offset"), LIST_LIMIT, "consumers")

    def _consumer_pause(self, names: list[str], body: bytes, now: int) -> Table:
        asked = asked_if_any(body, "JSApiConsumerPauseRequest", self._jetstream.profile)
        stream, consumer = self._consumer(names)
        until = parse_rfc3339(text(asked, "pause_until")) or 0
        consumer.pause(until, now)
        self._jetstream.refresh(stream)
        answer: Table = {"paused": until > now, "pause_until": rfc3339(until)}
        if until > now:
            answer["pause_remaining"] = until - now
        return answer

    def _consumer_unpin(self, names: list[str], body: bytes, now: int) -> Table:
        profile = self._jetstream.profile
        group = text(asked_plainly(body, "JSApiConsumerUnpinRequest", profile), "group")
        if not group:
            raise RefusedError(invalid_json(profile, "consumer group not specified"))
        stream, consumer = self._consumer(names)
        if (
            not isinstance(consumer, PullConsumer)
            or group not in consumer.groups
            or not consumer.pins
        ):
            raise RefusedError(refusals.NO_SUCH_GROUP)
        consumer.unpin(group, now)
        self._jetstream.refresh(stream)
        return {}

    def _consumer_reset(self, names: list[str], body: bytes, now: int) -> Table:
        # The consumer itself listens here: who asks for one that is not there hears nothing.
        consumer = self._jetstream.consumers.get(names[0], {}).get(names[1])
        if consumer is None:
            raise UnheardError
        profile = self._jetstream.profile
        asked = asked_plainly(body, "JSApiConsumerResetRequest", profile) if body else {}
        try:
            seq = consumer.reset(integer(asked, "seq"))
        except ValueError as error:
            raise RefusedError(refusals.INVALID_RESET.about(error)) from error
        about = self._consumer_about(consumer, now)
        self._jetstream.started(self._jetstream.streams[names[0]], consumer, now)
        return {**about, "reset_seq": seq}


def _filters(config: Table) -> list[str]:
    """The subjects that a consumer asks for; none: all."""
    one = text(config, "filter_subject")
    return [one] if one else texts(config, "filter_subjects")
