"""The JSON API of JetStream: requests under ``$JS.API.`` and their answers.

What the server would not answer is not answered here either: an unknown verb and a wrong number of
names meet silence. Verbs that exist and are not modelled answer with code 501. The verbs about
streams and about consumers are parts of their own; the account's is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jsproto.testing.simserver.account.consumer_api import ConsumerApi
from jsproto.testing.simserver.account.jetstream import API_PREFIX, SimJetStream
from jsproto.testing.simserver.account.stream_api import StreamApi
from jsproto.testing.simserver.requests.envelope import (
    CLUSTERED,
    NOT_MODELLED,
    SAID_BY_CONSUMERS,
    SINCE,
    TYPE,
    VERBS,
    ZEROES,
    ApiAnswer,
    UnheardError,
    dump,
    verb_of,
)
from jsproto.testing.simserver.values import refusals
from jsproto.testing.simserver.values.documents import Table
from jsproto.testing.simserver.values.refusals import RefusedError

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


class Api:
    """Answers JSON requests about one :class:`SimJetStream`."""

    __slots__ = ("_jetstream", "_verbs")

    def __init__(self, jetstream: SimJetStream, server_name: str) -> None:
        self._jetstream = jetstream
        self._verbs: dict[str, Callable[[list[str], bytes, int], Table]] = {
            "INFO": self._account_info,
            **StreamApi(jetstream, server_name).verbs,
            **ConsumerApi(jetstream).verbs,
        }

    def answer(self, subject: str, block: bytes | None, body: bytes, now: int) -> ApiAnswer | None:
        """The answer, or ``None`` where the server stays silent."""
        jetstream = self._jetstream
        found = verb_of(subject[len(API_PREFIX) :].split("."))
        if found is None or not jetstream.serving:
            return None
        verb, names = found
        if SINCE.get(verb, (0, 0)) > jetstream.profile.number:
            return None
        jetstream.requests += 1
        answer: Table = {"type": TYPE + VERBS[verb][1]}
        try:
            self._admit(verb, block)
            answer.update(self._verbs[verb](names, body, now))
        except UnheardError:
            return None
        except RefusedError as refused:
            jetstream.errors += 1
            if refused.refusal.code == 501:
                jetstream.not_modelled.append(f"{subject}: {refused.refusal.text}")
            answer["error"] = refused.refusal.body()
            answer.update(ZEROES.get(verb, {}))
        return ApiAnswer(dump(answer), two_blanks=verb in SAID_BY_CONSUMERS)

    def _admit(self, verb: str, block: bytes | None) -> None:
        """What stops a request before its verb is looked at."""
        if not self._jetstream.level_suffices(block):
            raise RefusedError(refusals.REQUIRED_API_LEVEL)
        if verb in CLUSTERED:
            raise RefusedError(refusals.CLUSTER_REQUIRED)
        if verb in NOT_MODELLED:
            raise RefusedError(refusals.NOT_MODELLED.about(verb))

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
