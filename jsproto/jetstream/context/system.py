"""Monitoring requests to the servers themselves, for the system account."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, final

from attrs import frozen

from jsproto.core.numbers import check_number
from jsproto.core.pubsub.request_all import STALL, Gather
from jsproto.jetstream.api.config.settings import seconds_of
from jsproto.jetstream.api.document import Document
from jsproto.jetstream.api.events.monitoring import Connz, Healthz, Jsz, Statsz, UserInfo, Varz
from jsproto.jetstream.api.requests import system
from jsproto.jetstream.api.requests.system import ServerAnswer
from jsproto.wire.subjects import consumer_name, stream_name

if TYPE_CHECKING:
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - never resolved


@final
@frozen(kw_only=True)
class System:
    """Requests to the servers. They answer the system account; other accounts only `user_info`.

    Every method asks all servers, or only the one whose id is ``server``. The result holds one
    answer per server, ordered by server name. Read an answer as JSON (``data``) or typed
    (``read()``). A call returns when ``expect`` servers have answered, else after ``stall``
    seconds of silence.

    Attributes:
        js: gives the timeout; its domain and prefix are not used.
    """

    js: JetStream

    def ask(
        self,
        what: str,
        *,
        server: str = "",
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Document], ...]]:
        """Send any monitoring request: ``ROUTEZ``, ``LEAFZ``, ``RAFTZ`` and so on.

        Args:
            what: the name of the request, as the servers know it.
            server: the id of the only server to ask.
            options: members of the request, as the server names them; ``server_name``, ``cluster``,
                ``host``, ``domain`` and ``tags`` select the servers that answer.
            expect: number of servers that will answer; without it, silence ends the call.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account,
                or the servers do not know the request.
            ApiError: all servers answered with an error.
            InvalidSubject: an invalid name or id; nothing was sent.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            what,
            Document,
            server=server,
            options=options,
            expect=expect,
            stall=stall,
            timeout=seconds,
        )

    def statsz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Statsz], ...]]:
        """Return the statistics of the servers; ``active_servers`` is the number of servers.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            "STATSZ", Statsz, server=server, expect=expect, stall=stall, timeout=seconds
        )

    def varz(
        self,
        *,
        server: str = "",
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Varz], ...]]:
        """Return the general configuration and state of the servers.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            "VARZ", Varz, server=server, expect=expect, stall=stall, timeout=seconds
        )

    def jsz(
        self,
        *,
        server: str = "",
        account: str = "",
        accounts: bool = False,
        streams: bool = False,
        consumers: bool = False,
        config: bool = False,
        leader_only: bool = False,
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Jsz], ...]]:
        """Return JetStream's memory, storage and meta group; optionally accounts and their assets.

        Args:
            server: the id of the only server to ask.
            account: only this account.
            accounts: include accounts.
            streams: include streams.
            consumers: include consumers.
            config: include configurations.
            leader_only: only the meta leader answers.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
        """
        wishes: dict[str, object] = {
            "account": account,
            "accounts": accounts,
            "streams": streams,
            "consumer": consumers,
            "config": config,
            "leader_only": leader_only,
        }
        options = {name: wish for name, wish in wishes.items() if wish}
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            "JSZ", Jsz, server=server, options=options, expect=expect, stall=stall, timeout=seconds
        )

    def connz(
        self,
        *,
        server: str = "",
        account: str = "",
        subscriptions: bool = False,
        limit: int = 0,
        offset: int = 0,
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Connz], ...]]:
        """Return the client connections of the servers.

        Args:
            server: the id of the only server to ask.
            account: only connections of this account.
            subscriptions: include the subjects that each connection subscribes to.
            limit: the most connections of one answer; 0 for the server's default (1024).
            offset: number of connections to skip.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
        """
        check_number("limit", limit, (int,))
        check_number("offset", offset, (int,))
        wishes: dict[str, object] = {
            "acc": account,
            "subscriptions": subscriptions,
            "limit": limit,
            "offset": offset,
        }
        options = {name: wish for name, wish in wishes.items() if wish}
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            "CONNZ",
            Connz,
            server=server,
            options=options,
            expect=expect,
            stall=stall,
            timeout=seconds,
        )

    def healthz(
        self,
        *,
        server: str = "",
        account: str = "",
        stream: str = "",
        consumer: str = "",
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Healthz], ...]]:
        """Return the health of the servers: ``status`` is ``ok``, or ``error`` says what is wrong.

        Args:
            server: the id of the only server to ask.
            account: the account of the stream.
            stream: check only this stream.
            consumer: check only this consumer of the stream.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
            InvalidSubject: no stream or consumer can have this name.
        """
        if stream:
            stream_name(stream)
        if consumer:
            consumer_name(consumer)
        wishes: dict[str, object] = {"account": account, "stream": stream, "consumer": consumer}
        options = {name: wish for name, wish in wishes.items() if wish}
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_servers(
            "HEALTHZ",
            Healthz,
            server=server,
            options=options,
            expect=expect,
            stall=stall,
            timeout=seconds,
        )

    def account(
        self,
        account: str,
        what: str = "INFO",
        *,
        options: Mapping[str, object] | None = None,
        expect: int = 0,
        stall: float | timedelta = STALL,
        timeout: float | timedelta | None = None,
    ) -> Gather[tuple[ServerAnswer[Document], ...]]:
        """Return information on one account.

        Args:
            account: its name or key.
            what: ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ`` or ``LEAFZ``.
            options: members of the request, as the server names them.
            expect: number of servers that will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for the whole call.

        Raises:
            NoResponders, RequestTimeout: no server answers: the user is not of the system account.
            ApiError: all servers answered with an error.
            InvalidSubject: an invalid request name or account; nothing was sent.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_account(
            account, what, options=options, expect=expect, stall=stall, timeout=seconds
        )

    def user_info(
        self, *, timeout: float | timedelta | None = None
    ) -> Gather[ServerAnswer[UserInfo]]:
        """Return user, account and permissions of this connection; any account may ask (2.10).

        Raises:
            NoResponders, RequestTimeout: a server before 2.10.
        """
        return system.user_info(timeout=seconds_of(timeout, self.js.timeout))
