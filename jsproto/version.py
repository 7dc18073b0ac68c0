"""The version of this distribution; the one place that says it. Servers show it of each connection."""

from __future__ import annotations

__version__ = "0.1.0"
