"""Streams: what they store and refuse, and how stored messages are got."""
