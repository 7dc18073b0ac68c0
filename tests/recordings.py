"""Where the recordings of real servers are: beside the repository, or where JSPROTO_TRACES says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def folder() -> Path:
    """The folder with one folder for each version of the server."""
    wished = os.environ.get("JSPROTO_TRACES")
    return Path(wished) if wished else Path(__file__).resolve().parents[2] / "shared" / "traces"


#: Every recording there is, in order; none where there are no recordings.
RECORDINGS = sorted(folder().glob("*/*.jsonl"))
needs_recordings = pytest.mark.skipif(not RECORDINGS, reason="set JSPROTO_TRACES")


def name_of(path: Path) -> str:
    """What a test of one recording is called."""
    return f"{path.parent.name}-{path.stem}"
