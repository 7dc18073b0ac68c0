"""Tasks as one writes them first, reading and writing: they fall into the traps 4.3, 4.4,
4.8, 4.9 and 4.11 of `tests/spark/traps.py`.

They know what a server does as long as all is well: a link stands, an answer is JSON, a header is
there once, and whoever begins to read reads to the end.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pyarrow as pa

from jsproto.errors import ConnectionLost
from jsproto.jetstream.range_read.options import ReadMode
from jsproto.jetstream.range_read.rows import Rows
from jsproto.wire.headers import pairs_of
from jsproto_spark.connections import client
from jsproto_spark.read.range_scan import Part, RangeScan
from jsproto_spark.write.writer import Writing

#: What a direct get appends.
APPENDED = {
    "Nats-Stream",
    "Nats-Subject",
    "Nats-Sequence",
    "Nats-Time-Stamp",
    "Nats-Num-Pending",
    "Nats-Last-Sequence",
}


class OneLinkReading(RangeScan):
    """Ours as long as its link stands, as with a client that does not connect again; the rest is
    left to the next attempt.
    """

    def _read(self, part):
        link = client(self.settings.where, self.settings.read.read_deadline)
        for batch in super()._read(part):
            if link.stats.disconnects:
                raise ConnectionLost("the link is lost")
            yield batch


class ConsumerReading(RangeScan):
    """By consumer, whatever the stream is."""

    def parts(self, facts, lo, hi):
        """The same parts, to be read in the same way."""
        return [
            Part(part.lo, part.hi, ReadMode.CONSUMER, part.created, part.subjects)
            for part in super().parts(facts, lo, hi)
        ]


class LeavingReading(RangeScan):
    """A consumer that is deleted behind the last row, which nobody may want to see."""

    def _read(self, part):
        where = self.settings.where
        consumer = (
            client(where, 5.0)
            .jetstream()
            .stream(where.stream)
            .create_consumer(
                deliver_policy="by_start_sequence",
                opt_start_seq=part.lo,
                ack_policy="none",
                inactive_threshold=timedelta(seconds=60),
            )
        )
        left = part.hi - part.lo
        while left:
            with consumer.fetch(min(left, 500)) as messages:
                sequences = [message.metadata.stream_sequence for message in messages]
            left -= len(sequences)
            yield pa.RecordBatch.from_pydict({"sequence": sequences})
        consumer.delete()


class FirstRows(Rows):
    """A header is the first of its name, and all of the appended names are appended."""

    def _read_sequences(self):
        return [
            next(int(value) for name, value in pairs_of(block) if name == "Nats-Sequence")
            for block in self.blocks
        ]

    @property
    def headers(self):
        """What is left."""
        return [
            tuple(pair for pair in pairs_of(block) if pair[0] not in APPENDED)
            for block in self.blocks
        ]


class JsonWriting(Writing):
    """One message after the other, each with an answer that says its sequence."""

    def write(self, iterator):
        """The last sequence."""
        nc, inbox, last = client(self.settings.where, 5.0), f"_INBOX.{self.run}", 0
        for batch in iterator:
            for row in batch.to_pylist():
                with nc.subscribe(inbox, limit=1) as answers:
                    nc.publish(row["subject"], row["payload"], reply=inbox)
                    [answer] = answers
                last = json.loads(answer.payload)["seq"]
        return last
