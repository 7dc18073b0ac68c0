"""Consumers: who gets which message, and what an acknowledgement does."""
