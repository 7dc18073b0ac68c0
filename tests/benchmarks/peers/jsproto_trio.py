"""This project, driven by trio."""

from __future__ import annotations

from peers import jsproto_anyio

from jsproto_io.trio import connect


class Peer(jsproto_anyio.Peer):
    LOOP = "trio"
    connect = staticmethod(connect)
