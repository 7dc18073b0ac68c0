"""A model of nats-server, sans-I/O: bytes of several clients and ticks in, bytes out.

How the model is cut, from the wire inwards:

    line ─▶ session ─▶ routing ─▶ jetstream ─▶ streams ─▶ consumers ─▶ pulls
                                     └─▶ api ─▶ configs

`profile` holds what differs between server versions, as data. `server` is the root that owns all of
it, knows the time and is what users see. What is not modelled (several accounts, clusters, mirrors,
sources, snapshots ...) is refused on the wire with code 501 and noted in
:attr:`SimServer.not_modelled`; nothing is quietly wrong.
"""

from __future__ import annotations

from jsproto.testing.simserver.server import SimServer
from jsproto.testing.simserver.session import ClientPermissions, Login
from jsproto.testing.simserver.values.profile import PROFILES, Profile

__all__ = ["PROFILES", "ClientPermissions", "Login", "Profile", "SimServer"]
