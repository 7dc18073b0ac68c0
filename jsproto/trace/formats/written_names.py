"""The names of classes in recordings.

A recording names the class of each conversation and of each error. Recordings outlive the code, so
these names are frozen: when a class gets a better name, the recording keeps the old one. The table
lists the classes whose two names differ.
"""

from __future__ import annotations

from typing import Final

#: Name of the class in the code -> name in recordings.
WRITTEN: Final = {"ConnectionLost": "Disconnected", "FetchOne": "Next"}


def written_name(kind: type[object]) -> str:
    """Name of a class in recordings."""
    return WRITTEN.get(kind.__name__, kind.__name__)
