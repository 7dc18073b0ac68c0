"""Runs a trace again: through the parsers, and through the machines of jsproto."""
