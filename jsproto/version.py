"""The version of this distribution; the one place that says it. Servers show it of each connection."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
