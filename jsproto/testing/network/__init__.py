"""Clients and the model server in virtual time, with the links between them and what can go wrong
with all of it.
"""

from __future__ import annotations

from jsproto.testing.network.host import Client, Host, User
from jsproto.testing.network.network import Network, Restless
from jsproto.testing.network.pipe import Road

__all__ = ["Client", "Host", "Network", "Restless", "Road", "User"]
