"""Everything that an account has in JetStream, asked for in one go: what reports and backups are
made of.

Streams and consumers come and go while they are listed. A stream that is gone when its consumers
are asked for is left out, as if it had gone before; what a cluster cannot say stays named in the
lists (:class:`Listing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from attrs import field, frozen

from jsproto.core.conversation.procedure import Steps
from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.jetstream.api.config.stream import StreamInfo
from jsproto.jetstream.api.errors import StreamNotFound
from jsproto.jetstream.api.requests.manage import DEFAULT_TIMEOUT, consumers, streams
from jsproto.jetstream.api.requests.paging import Listing
from jsproto.jetstream.api.subjects import ApiSubjects


@final
@frozen(kw_only=True)
class Inventory:
    """The streams of an account and their consumers.

    Attributes:
        streams: in the order of their names.
        consumers: of each stream, by its name; empty if they were not asked for.
    """

    streams: Listing[StreamInfo] = field(factory=Listing[StreamInfo])
    consumers: Mapping[str, Listing[ConsumerInfo]] = field(factory=dict[str, Listing[ConsumerInfo]])

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of what is there, but whose servers did not say more in time; consumers as ``stream
        > consumer``.
        """
        named = (
            f"{stream} > {each}"
            for stream, listed in self.consumers.items()
            for each in listed.missing
        )
        return (*self.streams.missing, *named)

    @property
    def offline(self) -> Mapping[str, str]:
        """Names of what cannot run now, each with the reason (2.12); consumers as ``stream >
        consumer``.
        """
        reasons = dict(self.streams.offline)
        for stream, listed in self.consumers.items():
            reasons.update(
                {f"{stream} > {name}": reason for name, reason in listed.offline.items()}
            )
        return reasons


def inventory(
    api: ApiSubjects, *, with_consumers: bool = True, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Inventory]:
    """All streams, and all consumers of each.

    Args:
        api: where.
        with_consumers: also ask each stream for its consumers.
        timeout: seconds for each list, with all its pages.
    """
    listed = yield from streams(api, timeout=timeout)
    if not with_consumers:
        return Inventory(streams=listed)
    there: list[StreamInfo] = []
    found: dict[str, Listing[ConsumerInfo]] = {}
    for info in listed:
        name = info.config.name
        try:
            found[name] = yield from consumers(api, name, timeout=timeout)
        except StreamNotFound:
            continue
        there.append(info)
    gone = len(listed) - len(there)
    kept = Listing(there, total=listed.total - gone, missing=listed.missing, offline=listed.offline)
    return Inventory(streams=kept, consumers=found)
