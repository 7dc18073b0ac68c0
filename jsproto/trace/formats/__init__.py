"""Reads and writes trace files, and decides which of the recorded bytes they keep."""
