"""What was said on the line, and what the machines look like: recordings and diagrams, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jsproto.lazy import lazy_names

if TYPE_CHECKING:
    from jsproto.trace.formats.reading import Trace, read_trace
    from jsproto.trace.formats.recording import Recording, parse_recording
    from jsproto.trace.formats.redaction import Keep, Redactor
    from jsproto.trace.formats.writing import TraceWriter
    from jsproto.trace.judge.judge_state import kept, taken_up
    from jsproto.trace.judge.lint import Finding, Lint, lint
    from jsproto.trace.record.recorder import Recorder
    from jsproto.trace.record.tape import Room, Tape
    from jsproto.trace.replay.replay import Divergence, Replay
    from jsproto.trace.replay.rerun import Rerun
    from jsproto.trace.show.ladder import Rung, rungs
    from jsproto.trace.show.summary import Summary

__all__ = [
    "Divergence",
    "Finding",
    "Keep",
    "Lint",
    "Recorder",
    "Recording",
    "Redactor",
    "Replay",
    "Rerun",
    "Room",
    "Rung",
    "Summary",
    "Tape",
    "Trace",
    "TraceWriter",
    "kept",
    "lint",
    "parse_recording",
    "read_trace",
    "rungs",
    "taken_up",
]

_HOMES: Final = {
    "Divergence": "jsproto.trace.replay.replay",
    "Finding": "jsproto.trace.judge.lint",
    "Keep": "jsproto.trace.formats.redaction",
    "Lint": "jsproto.trace.judge.lint",
    "Recorder": "jsproto.trace.record.recorder",
    "Recording": "jsproto.trace.formats.recording",
    "Redactor": "jsproto.trace.formats.redaction",
    "Replay": "jsproto.trace.replay.replay",
    "Rerun": "jsproto.trace.replay.rerun",
    "Room": "jsproto.trace.record.tape",
    "Rung": "jsproto.trace.show.ladder",
    "Summary": "jsproto.trace.show.summary",
    "Tape": "jsproto.trace.record.tape",
    "Trace": "jsproto.trace.formats.reading",
    "TraceWriter": "jsproto.trace.formats.writing",
    "kept": "jsproto.trace.judge.judge_state",
    "lint": "jsproto.trace.judge.lint",
    "parse_recording": "jsproto.trace.formats.recording",
    "read_trace": "jsproto.trace.formats.reading",
    "rungs": "jsproto.trace.show.ladder",
    "taken_up": "jsproto.trace.judge.judge_state",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
