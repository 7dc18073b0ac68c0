"""Reading several subjects through one consumer, on servers that move such a consumer over messages
that it has not delivered.

Theory. When a purge, or a message with a rollup header, removes messages of one subject, servers
from 2.10 to 2.14 move each consumer that has this subject among several filters on to the first
message of it that is left (nats-server issue 8571; seen on 2.10.26 to 2.14.6, not on 2.15.0).
Messages of its other filters before that are never delivered, and no number shows it: deliveries
stay numbered in a row, and what is pending is counted anew. A consumer with one filter is moved
over nothing that it wants.

So the answer to a creation is looked at: it says the version of the server that holds the consumer.
If that is not known to be sound, another consumer is made with the one filter that covers all of
them, and what nobody wants is left out here (`wanted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jsproto.jetstream.api.config.consumer import ConsumerInfo
from jsproto.wire.frames import SUBJECT, Delivery
from jsproto.wire.subjects import subject_matches

#: The first server whose purge leaves the messages of other filters alone.
SOUND: Final = (2, 15)


def cover(subjects: Sequence[str]) -> str:
    """The narrowest subject that covers all of these."""
    rows = [subject.split(".") for subject in subjects]
    words: list[str] = []
    for column in zip(*rows, strict=False):
        if ">" in column:
            return ".".join([*words, ">"])
        words.append(column[0] if len(set(column)) == 1 else "*")
    if any(len(row) > len(words) for row in rows):
        words[-1] = ">"
    return ".".join(words)


def passes_over(info: ConsumerInfo) -> bool:
    """Whether the server may move a consumer with several filters over messages that it has not
    delivered.

    Servers say their version from 2.11 on.
    """
    version = info.config.metadata.get("_nats.ver", "").split(".")
    numbers = [
        int(each) for each in version[:2] if each.isascii() and each.isdecimal() and len(each) < 10
    ]
    return tuple(numbers) < SOUND


def wanted(
    frames: Sequence[Delivery], subjects: Sequence[str]
) -> tuple[list[Delivery], list[Delivery]]:
    """The messages that match one of these subjects, and the others."""
    ours: list[Delivery] = []
    others: list[Delivery] = []
    for frame in frames:
        fits = any(subject_matches(each, frame[SUBJECT]) for each in subjects)
        (ours if fits else others).append(frame)
    return ours, others
