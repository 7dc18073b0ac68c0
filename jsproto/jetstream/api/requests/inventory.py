"""Lists all streams and consumers of an account, as input for reports and backups.

Streams and consumers may come and go meanwhile. If a stream is deleted before its consumers are
listed, it is left out. Streams and consumers that the cluster cannot describe stay named in the
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
        streams: the streams, ordered by name.
        consumers: the consumers of each stream, by stream name; empty if not requested.
    """

    streams: Listing[StreamInfo] = field(factory=Listing[StreamInfo])
    consumers: Mapping[str, Listing[ConsumerInfo]] = field(factory=dict[str, Listing[ConsumerInfo]])

    @property
    def missing(self) -> tuple[str, ...]:
        """Names without an answer in time of their servers; consumers as ``stream > consumer``."""
        named = (
            f"{stream} > {each}"
            for stream, listed in self.consumers.items()
            for each in listed.missing
        )
        return (*self.streams.missing, *named)

    @property
    def offline(self) -> Mapping[str, str]:
        """Names that cannot run now, with the reason (2.12); consumers as ``stream > consumer``."""
        reasons = dict(self.streams.offline)
        for stream, listed in self.consumers.items():
            reasons.update(
                {f"{stream} > {name}": reason for name, reason in listed.offline.items()}
            )
        return reasons


def inventory(
    api: ApiSubjects, *, with_consumers: bool = True, timeout: float = DEFAULT_TIMEOUT
) -> Steps[Inventory]:
    """List all streams, and all consumers of each.

    Args:
        api: subjects of the API.
        with_consumers: also list the consumers of each stream.
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
