"""OpenTelemetry for a client: ``connect(url, watch=Telemetry())``. It takes the extra ``otel``,
which is the API alone.

Theory. `Telemetry` is a watcher (`jsproto_io._event_logger`): it hears the few events of the
lifecycle, never a message. What happens for each message is counted by the client anyway (`Stats`),
and read when somebody collects. So it costs a running client nothing, and one without it has never
heard of OpenTelemetry. One `Telemetry` may watch any number of clients.

| metric | kind | unit | attributes |
|---|---|---|---|
| ``nats.client.connections`` | up-down counter: links that are up | ``{connection}`` | |
| ``nats.client.connects`` | counter | ``{connect}`` | ``nats.resumed`` |
| ``nats.client.disconnects`` | counter | ``{disconnect}`` | ``error.type`` |
| ``nats.client.notices`` | counter | ``{notice}`` | ``nats.notice``, ``nats.conversation`` |
| ``nats.client.messages.received`` | observable counter | ``{message}`` | |
| ``nats.client.io`` | observable counter | ``By`` | ``network.io.direction`` |

All have ``nats.client.name`` too if the client has a name. Each event is also added to the span
that is current where it happens, if that is recording, with ``server.address`` and ``server.port``.
No attribute holds what a peer has said, a subject, or a secret.

`injected` and `extracted` carry the context of a trace in the headers of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, final

from jsproto.core.connection.events import Closed, Connected, Disconnected, LameDuck
from jsproto.driver import Told
from jsproto.wire.headers import HeaderItems, Headers
from jsproto_io._event_logger import LoggedEvent

try:
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.propagators.textmap import Getter
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "expected opentelemetry-api, it is not installed: install nats-jsproto[otel]",
        name="opentelemetry",
    ) from None

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.util.types import AttributeValue

_SCOPE: Final = "jsproto_io"
_Attributes = dict[str, "AttributeValue"]


@final
class Telemetry:
    """A watcher that tells OpenTelemetry.

    Args:
        meter_provider: where metrics go; the global one if it is not given.
    """

    def __init__(self, *, meter_provider: metrics.MeterProvider | None = None) -> None:
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._connections = meter.create_up_down_counter(
            "nats.client.connections", "{connection}", "Links that are up"
        )
        self._connects = meter.create_counter(
            "nats.client.connects", "{connect}", "Links that came up"
        )
        self._disconnects = meter.create_counter(
            "nats.client.disconnects", "{disconnect}", "Links that were lost"
        )
        self._notices = meter.create_counter("nats.client.notices", "{notice}", "Notices")
        meter.create_observable_counter(
            "nats.client.messages.received", [self._messages], "{message}", "Messages that came"
        )
        meter.create_observable_counter("nats.client.io", [self._bytes], "By", "Bytes on the wire")
        self._clients: dict[LoggedEvent, bool] = {}  # whether its link is up
        self._gone: dict[
            str | None, tuple[int, int, int]
        ] = {}  # what those counted that are over, by name

    def __repr__(self) -> str:
        return f"<Telemetry: {len(self._clients)} clients>"

    def __call__(self, client: LoggedEvent, told: Told) -> None:
        """Something has happened."""
        whose = _named(client.name)
        if isinstance(told, Connected):
            self._clients[client] = True
            self._connections.add(1, whose)
            self._connects.add(1, {**whose, "nats.resumed": told.resumed})
            _add(
                "nats.connected",
                client,
                {"nats.resumed": told.resumed, "nats.server.version": told.info.version},
            )
        elif isinstance(told, Disconnected):
            self._down(client, whose)
            failure = {"error.type": type(told.error).__name__}
            self._disconnects.add(1, {**whose, **failure})
            _add("nats.disconnected", client, failure)
        elif isinstance(told, LameDuck):
            _add("nats.lame_duck", client, {})
        elif isinstance(told, Closed):
            self._down(client, whose)
            if self._clients.pop(client, None) is not None:
                self._gone[client.name] = _sum(
                    self._gone.get(client.name, (0, 0, 0)), _counts(client)
                )
            _add(
                "nats.closed",
                client,
                {} if told.error is None else {"error.type": type(told.error).__name__},
            )
        else:
            kind: _Attributes = {"nats.notice": told.kind.name}
            if told.conversation is not None:
                kind["nats.conversation"] = type(told.conversation).__name__
            self._notices.add(1, {**whose, **kind})
            _add("nats.notice", client, kind)

    def _down(self, client: LoggedEvent, whose: Mapping[str, AttributeValue]) -> None:
        if self._clients.get(client):
            self._clients[client] = False
            self._connections.add(-1, whose)

    # ------------------------------------------------------------------ what is read when somebody collects

    def _totals(self) -> dict[str | None, tuple[int, int, int]]:
        totals = dict(self._gone)
        for client in list(self._clients):
            totals[client.name] = _sum(totals.get(client.name, (0, 0, 0)), _counts(client))
        return totals

    def _messages(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [metrics.Observation(each[0], _named(name)) for name, each in self._totals().items()]

    def _bytes(self, _options: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [
            metrics.Observation(amount, {**_named(name), "network.io.direction": way})
            for name, each in self._totals().items()
            for way, amount in (("receive", each[1]), ("transmit", each[2]))
        ]


def injected(headers: HeaderItems = (), *, context: Context | None = None) -> Headers:
    """Headers with the context of a trace added: the current one if none is given.

    Raises:
        InvalidHeader: a name or value that no header can carry.
    """
    carrier: dict[str, str] = {}
    propagate.inject(carrier, context=context)
    told = Headers(headers)
    kept = [
        (name, value)
        for name, value in told.items()
        if name.lower() not in {each.lower() for each in carrier}
    ]
    return Headers([*kept, *carrier.items()])


def extracted(headers: Headers | None, *, context: Context | None = None) -> Context:
    """The context of the trace that the headers of a message carry."""
    return propagate.extract(headers or Headers(), context=context, getter=_READ)


@final
class _Reading(Getter[Headers]):
    """Propagators know names in small letters; who has sent a message may have written them
    otherwise.
    """

    def get(self, carrier: Headers, key: str) -> list[str] | None:
        return [value for name, value in carrier.items() if name.lower() == key.lower()] or None

    def keys(self, carrier: Headers) -> list[str]:
        return list(carrier.keys())


_READ: Final = _Reading()


def _named(name: str | None) -> _Attributes:
    return {} if name is None else {"nats.client.name": name}


def _counts(client: LoggedEvent) -> tuple[int, int, int]:
    stats = client.stats
    return stats.messages_in, stats.bytes_in, stats.bytes_out


def _sum(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _add(name: str, client: LoggedEvent, attributes: Mapping[str, AttributeValue]) -> None:
    span = trace.get_current_span()
    if span.is_recording():
        server = client.server
        span.add_event(
            name,
            {
                **_named(client.name),
                "server.address": server.host,
                "server.port": server.port,
                **attributes,
            },
        )
