"""Transports: one byte stream after another, for each way of waiting."""
