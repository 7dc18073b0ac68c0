"""The scenarios in which clients are judged: what each is about, what lies ready, and on what
servers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.ports import free_ports


class Scenario(NamedTuple):
    """One scenario.

    Attributes:
        about: what is played.
        messages: how many lie in the stream, each of ``size`` bytes.
        consumer: whether the durable consumer ``C`` is there.
        servers: how many; more than one are a cluster.
        domain: of JetStream: acks then go to subjects of 11 tokens and more.
    """

    name: str
    about: str
    messages: int = 10
    size: int = 200
    consumer: bool = True
    servers: int = 1
    domain: str = ""

    def configs(self) -> list[str | None]:
        """The configuration of each server."""
        if self.domain:
            return [f"jetstream {{ domain: {self.domain} }}"]
        if self.servers == 1:
            return [None]
        ports = free_ports(self.servers)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        return [
            f"server_name: n{at}\ncluster {{ name: C1, listen: 127.0.0.1:{port}, routes: [{routes}] }}\n"
            for at, port in enumerate(ports)
        ]


_ALL: Final = (
    Scenario("fetch", "three batches, the last larger than what is there", messages=30),
    Scenario("consume", "a continuous feed of 100 messages", messages=100),
    Scenario(
        "heartbeat", "the server stands still for 5 s while the client waits with heartbeats of 1 s"
    ),
    Scenario("restart", "the server ends in good order while a pull waits, and is started again"),
    Scenario("leader", "the leader of the consumer steps down while a pull waits", servers=3),
    Scenario("max_messages_1", "one message at a time", messages=20),
    Scenario("byte_bounded", "pulls that are bounded by bytes", messages=100, size=200),
    Scenario("deleted", "the consumer is deleted while a pull waits"),
    Scenario(
        "flow_control", "a push consumer with flow control", messages=300, size=1000, consumer=False
    ),
    Scenario(
        "ordered", "an ordered consumer that pulls loses its consumer", messages=20, consumer=False
    ),
    Scenario(
        "ordered_push",
        "an ordered consumer that is pushed to loses its consumer",
        messages=20,
        consumer=False,
    ),
    Scenario("window", "200 publishes under way at once", messages=0),
    Scenario(
        "tokens", "every kind of ack, to subjects of 11 and more tokens", messages=10, domain="hub"
    ),
)
SCENARIOS: Final = {each.name: each for each in _ALL}
