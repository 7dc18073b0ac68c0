"""NATS JetStream as pure protocol state machines: bytes and ticks in, bytes and events out."""

from __future__ import annotations

__version__ = "0.1.0"
