"""Header blocks as the server reads and writes them: bytes that it looks into and never parses as a
whole.
"""

from __future__ import annotations

from collections.abc import Mapping


def header(block: bytes, name: bytes) -> bytes | None:
    """A header as the server looks it up, byte for byte.

    The name stands right behind CRLF and right before the colon; leading blanks of the value are
    skipped, trailing ones kept; an empty value is no value.
    """
    at = block.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    value = block[start : block.find(b"\r\n", start)].lstrip(b" ")
    return value or None


def number(block: bytes, name: bytes) -> int | None:
    """A header that is a number, ``None`` if it is none."""
    value = header(block, name)
    return int(value) if value is not None and value.isdigit() and len(value) < 20 else None


def with_headers(block: bytes | None, members: Mapping[str, object]) -> bytes:
    """A block with more headers at its end; ``None`` is no block yet (nats-server ``genHeader``)."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in members.items())
    front = block[:-2] if block else b"NATS/1.0\r\n"
    return front + lines.encode("utf-8", "surrogateescape") + b"\r\n"
