"""This project, on blocking sockets, where acks and publishes may wait a millisecond for company."""

from __future__ import annotations

from peers import jsproto_blocking


class Peer(jsproto_blocking.Peer):
    LINGER = 0.001
