"""The events in the recordings of real servers."""

from __future__ import annotations

from pathlib import Path

from jsproto.trace.formats.recording import Received, parse_recording
from jsproto.wire.parser import Parser


def recorded_events(traces: Path) -> list[tuple[str, bytes]]:
    """Subject and body of each event, the same one once."""
    found: dict[bytes, str] = {}
    for path in sorted(traces.glob("*/*.jsonl")):
        if path.name.startswith(
            ("advisories", "ack_sampling", "pub_atomic", "prio", "pull_max_deliver", "ack_term")
        ):
            parsers: dict[str, Parser] = {}
            for record in parse_recording(path.read_text(encoding="utf-8")).records:
                if isinstance(record, Received):
                    for frame in parsers.setdefault(record.conn, Parser()).feed(record.data):
                        if type(frame) is tuple and "$JS.EVENT." in frame[1]:
                            found[frame[4]] = frame[1]
    return [(subject, body) for body, subject in found.items()]
