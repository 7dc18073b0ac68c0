"""The ordered consumer: every message of a stream once and in order, whatever happens to consumers
and servers.
"""
