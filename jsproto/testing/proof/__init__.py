"""The proof of the model server: recordings of real servers, played to the model, and what it
answers otherwise.

A recording holds what a client said and what a server answered, byte for byte, each with its time.
`prove` says the same to a :class:`~jsproto.testing.simserver.SimServer` of the recorded version at
the recorded times and compares the frames of each subscription, and the control frames of each
connection, in order: between two subscriptions the real server promises no order, since JetStream
works beside the readers of the connections. Five parts:

- `scene`: what the recording says of its server, and what was done on other connections beforehand;
- `hidden`: the content of publishes that were not recorded, taken from the recorded answers;
- `ids`: what a client says back of what the server made up;
- `normal`: ids, names, ports, times and timestamps are chance and become words;
- `replay`: the play itself, and its differences.
"""

from __future__ import annotations

from jsproto.testing.proof.replay import FrameDifference, prove
from jsproto.testing.proof.scene import Beforehand

__all__ = ["Beforehand", "FrameDifference", "prove"]
