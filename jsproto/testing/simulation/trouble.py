"""Faults, done to a network: each row of the table in `jsproto.testing.simulation.faults` is one
case here.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Protocol, final

from jsproto.testing.network import Network, Road
from jsproto.testing.network.cable import Cable
from jsproto.testing.simserver.account.disk import Image
from jsproto.testing.simserver.values.documents import integer
from jsproto.testing.simserver.values.gotime import rfc3339, to_nanos
from jsproto.testing.simulation.faults import Fault
from jsproto.testing.simulation.worker import Household

#: A clogged road holds so many bytes.
_CLOGGED: Final = 64
#: So many seconds of a calm a consumer that was taken away from its listener stays away: long
#: enough for any heartbeat to be missed.
_AWAY: Final = 30.0
#: What somebody else says where an answer of the API is waited for: nothing, a text, an empty
#: document, the acknowledgement of a stream that stores every subject, the answer to another
#: question, and the right type without what belongs to it.
FOREIGN: Final = (
    b"",
    b"hello",
    b"{}",
    b'{"stream":"EVERYTHING", "seq":7}',
    b'{"type":"io.nats.jetstream.api.v1.stream_delete_response","success":true}',
    b'{"type":"io.nats.jetstream.api.v1.consumer_info_response"}',
    b"[]",
    b"null",
)


class Place(Protocol):
    """The world that trouble comes to."""

    network: Network
    households: list[Household]
    consumers: dict[str, dict[str, object]]
    stream_name: str
    calm: bool
    #: Consumers that were taken away from their listeners, and are not made anew before a while of
    #: calm is over.
    away: set[str]

    def furnish(self) -> None:
        """Make the stream and the consumers that are missing."""

    def bereave(self) -> None:
        """The stream, or a consumer, is not what it was."""

    def taken_away(self, consumer: str) -> None:
        """A consumer that pushes is gone, and nobody tells its listener."""

    def given_back(self) -> None:
        """Those consumers have been away for long enough in a calm: everybody must have noticed."""

    def forgotten(self, *, whole: bool) -> None:
        """The disk has lost something: of the consumers, or of everything."""


@final
class Trouble:
    """Does faults to a place, and heals it.

    Attributes:
        counts: how often each kind was done.
        recent: the kinds that were done since the last calm.
    """

    __slots__ = ("_calm_road", "_place", "counts", "recent")

    def __init__(self, place: Place) -> None:
        self._place = place
        self._calm_road = place.network.road
        self.counts: Counter[str] = Counter()
        self.recent: set[str] = set()

    def plan(self, fault: Fault) -> None:
        """Do it when its time comes. What the disk holds is looked at earlier, where it is that
        which comes back.
        """
        network = self._place.network
        if fault.kind in {"kill", "power"} and fault.size >= 0.001:
            only = fault.kind == "kill"
            images: list[Image] = []
            network.at(
                max(fault.at - fault.size, 0.0),
                lambda: images.append(network.server.image(network.now, consumers_only=only)),
            )
            network.at(fault.at, lambda: self._lose(fault, images))
        else:
            network.at(fault.at, lambda: self.do(fault))

    def do(self, fault: Fault) -> None:
        """One fault, now."""
        place = self._place
        network, server = place.network, place.network.server
        if fault.host >= len(network.hosts):
            return
        host, household = network.hosts[fault.host], place.households[fault.host]
        now, span, size = network.now, fault.span, fault.size
        self._note(fault)
        match fault.kind:
            case "reset":
                network.cut(host, error=ConnectionResetError("connection reset by peer"))
            case "eof":
                network.cut(host)
            case "partition":
                network.hold(host, span)
            case "deaf":
                network.hold(host, span, up=False)
            case "mute":
                network.hold(host, span, down=False)
            case "strand":
                network.strand(host)
            case "refuse":
                network.refuse(span)
                network.cut(host)
            case "slow":
                self._travel(Road(latency=size, jitter=size), span)
            case "pieces":
                self._travel(Road(longest=max(1, round(size))), span)
            case "gather":
                self._travel(Road(tick=size), span)
            case "clog":
                self._travel(Road(window=_CLOGGED, latency=0.05), span)
            case "jump":
                network.jump(host, size)
            case "back":
                network.jump(host, -size)
            case "starve":
                household.starving = True
                network.starve(host, span)
                network.at(now + span, lambda: self._fed(fault.host))
            case "freeze":
                network.freeze(host, span)
            case "lazy":
                household.lazy_until = max(household.lazy_until, now + host.shift + span)
            case "kill":
                network.kill()
                self._start_after(span)
            case "stop":
                server.shutdown(now)
                self._start_after(span)
            case "lame_duck":
                server.lame_duck(now, grace=size)
                self._start_after(size + span)
            case "flap":
                self._flap(fault, now + span)
            case "brief":
                self._travel(Road(latency=0.6 * size), span)
                self._flap(fault, now + span)
            case "slow_consumer":
                network.cut_slow(host)
            case "foreign":
                self._usurp(size, span)
            case "disk_full":
                server.fill_disk(now)
                network.at(now + span, lambda: server.fill_disk(network.now, full=False))
            case _:
                self._administer(fault)

    def _administer(self, fault: Fault) -> None:
        """What somebody does by the API, if the server answers."""
        place = self._place
        network, server, stream = place.network, place.network.server, place.stream_name
        names = sorted(server.jetstream.consumers.get(stream, {}))
        ours = [name for name in names if name in place.consumers]
        if not server.up or not server.jetstream.serving:
            return
        if fault.kind == "remove":
            self._remove(names)
            return
        if not ours:
            return
        now = network.now
        name = ours[fault.host % len(ours)]
        match fault.kind:
            case "step_down":
                for each in names:
                    server.step_down(stream, each, now)
            case "delete_consumer":
                self._delete(name)
                place.bereave()
                network.at(now + fault.span, place.furnish)
            case "delete_stream":
                self._rewound(0)
                server.request(f"STREAM.DELETE.{stream}", None, now)
                place.bereave()
                network.at(now + fault.span, place.furnish)
            case "purge":
                server.request(f"STREAM.PURGE.{stream}", None, now)
            case _:
                if server.profile.pause:
                    until = rfc3339(to_nanos(now + fault.span))
                    server.request(f"CONSUMER.PAUSE.{stream}.{name}", {"pause_until": until}, now)

    def _rewound(self, last: int) -> None:
        """The stream goes on behind this sequence: whoever is made anew begins there at the latest,
        and in a new stream at its beginning.
        """
        for config in self._place.consumers.values():
            if not last:
                config.pop("deliver_policy", None)
                config.pop("opt_start_seq", None)
            elif last < integer(config, "opt_start_seq"):
                config["opt_start_seq"] = last + 1

    def heal(self) -> None:
        """The storm is over: everything works again."""
        place = self._place
        network, server = place.network, place.network.server
        server.start(network.now)
        server.fill_disk(network.now, full=False)
        server.usurper = None
        network.travel(self._calm_road)
        network.heal()
        for at, household in enumerate(place.households):
            household.lazy_until = float("-inf")
            self._fed(at)
        place.furnish()
        if server.profile.pause:
            for name in place.consumers:
                server.request(
                    f"CONSUMER.PAUSE.{place.stream_name}.{name}",
                    {"pause_until": rfc3339(0)},
                    network.now,
                )
        if place.away:
            network.at(network.now + _AWAY, place.given_back)

    def _flap(self, fault: Fault, end: float) -> None:
        """Every link of this client breaks some time after it has come up, until ``end`` or the
        next calm.
        """
        network, life = self._place.network, fault.size
        host, household = network.hosts[fault.host], self._place.households[fault.host]
        up: tuple[Cable | None, float] = (None, 0.0)

        def look() -> None:
            nonlocal up
            now = network.now
            if now >= end or self._place.calm:
                return
            if not household.connection.connected:
                up = (None, now)
            elif host.cable is not up[0]:
                up = (host.cable, now)
            elif now >= up[1] + life:
                network.cut(host, error=ConnectionResetError("connection reset by peer"))
            network.at(now + life / 2, look)

        look()

    def _usurp(self, which: float, span: float) -> None:
        """Somebody else answers the listings of the API for a while; the answers of the server do
        not come.
        """
        network = self._place.network
        said = FOREIGN[int(which * len(FOREIGN)) % len(FOREIGN)]
        network.server.usurper = said

        def back() -> None:
            if network.server.usurper is said:
                network.server.usurper = None

        network.at(network.now + span, back)

    def _remove(self, names: list[str]) -> None:
        """Consumers that readers made for themselves are deleted, and those that push; nobody who
        listens is told.
        """
        place = self._place
        server, now = place.network.server, place.network.now
        for name in names:
            if name not in place.consumers:
                server.request(f"CONSUMER.DELETE.{place.stream_name}.{name}", None, now)
            elif "deliver_subject" in place.consumers.get(name, {}):
                self._delete(name)
                place.taken_away(name)

    def _delete(self, name: str) -> None:
        """Delete a consumer. Whoever makes it anew has it begin behind what was settled, so that no
        message is passed over.
        """
        place = self._place
        server, now = place.network.server, place.network.now
        start = server.jetstream.consumers[place.stream_name][name].settled_to + 1
        place.consumers[name].update(deliver_policy="by_start_sequence", opt_start_seq=start)
        server.request(f"CONSUMER.DELETE.{place.stream_name}.{name}", None, now)

    def _note(self, fault: Fault) -> None:
        self.counts[fault.kind] += 1
        self.recent.add(fault.kind)

    def _fed(self, host: int) -> None:
        network = self._place.network
        self._place.households[host].starving = network.hosts[host].starved_until > network.now

    def _travel(self, road: Road, span: float) -> None:
        network = self._place.network
        network.travel(road)

        def back() -> None:
            if network.road is road:
                network.travel(self._calm_road)

        network.at(network.now + span, back)

    def _start_after(self, span: float) -> None:
        network = self._place.network
        network.at(network.now + span, self._start)

    def _start(self) -> None:
        network = self._place.network
        network.server.start(network.now)
        self._place.furnish()

    def _lose(self, fault: Fault, images: list[Image]) -> None:
        place = self._place
        self._note(fault)
        place.network.lose(images.pop())
        stream = place.network.server.jetstream.streams.get(place.stream_name)
        self._rewound(0 if stream is None else stream.last)
        place.forgotten(whole=fault.kind == "power")
        self._start_after(fault.span)
