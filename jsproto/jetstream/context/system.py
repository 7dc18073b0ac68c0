"""What the servers say of themselves, for whoever is of the system account."""

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
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - nobody resolves the field's type


@final
@frozen(kw_only=True)
class System:
    """The servers themselves. They answer the system account; of others only `user_info`.

    Every method asks all servers, or the one whose id is given as ``server``, and gives what came
    in the order of their names, each to be had as it came (``data``) or typed (``read()``): at once
    when ``expect`` servers have answered, else after ``stall`` seconds of silence.

    Attributes:
        js: whose connection and timeout are used; neither domain nor prefix plays a part.
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
        """Ask for anything, by the servers' own word for it: ``ROUTEZ``, ``LEAFZ``, ``RAFTZ`` and
        so on.

        Args:
            what: the word.
            server: the id of the only server to ask.
            options: members of the request, as the server names them; ``server_name``, ``cluster``,
                ``host``, ``domain`` and ``tags`` choose who answers.
            expect: so many servers will answer; without it, the end is judged by silence.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account, or not known to
                these servers.
            ApiError: the servers say no, all of them.
            InvalidSubject: no such word, or no id; nothing was sent.
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
        """The server in numbers; ``active_servers`` says how many there are.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
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
        """Configuration and state of the server as a whole.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
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
        """JetStream on the server: memory, storage, the group of all, and if wished accounts,
        streams and consumers.

        Args:
            server: the id of the only server to ask.
            account: only this one.
            accounts: with each account.
            streams: with each stream.
            consumers: with each consumer.
            config: with their configurations.
            leader_only: only the leader of all answers.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
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
        """Connections of clients.

        Args:
            server: the id of the only server to ask.
            account: only those of this one.
            subscriptions: with the subjects that each listens on.
            limit: most connections of one answer; 0 leaves it to the server (1024).
            offset: so many are skipped.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
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
        """Whether the server is well: ``status`` is ``ok``, or else ``error`` beside it says what
        is not.

        Args:
            server: the id of the only server to ask.
            account: whose stream.
            stream: only whether this is well.
            consumer: and this consumer of it.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
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
        """What the servers know of one account.

        Args:
            account: its name or key.
            what: ``INFO``, ``JSZ``, ``CONNZ``, ``SUBSZ`` or ``LEAFZ``.
            options: members of the request, as the server names them.
            expect: so many servers will answer.
            stall: seconds of silence after an answer.
            timeout: seconds for all.

        Raises:
            NoResponders, RequestTimeout: nobody answers: not the system account.
            ApiError: the servers say no, all of them.
            InvalidSubject: no such word, or no name; nothing was sent.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return system.ask_account(
            account, what, options=options, expect=expect, stall=stall, timeout=seconds
        )

    def user_info(
        self, *, timeout: float | timedelta | None = None
    ) -> Gather[ServerAnswer[UserInfo]]:
        """Who we are to the server: ``user``, ``account`` and ``permissions``. Every account may
        ask (2.10).

        Raises:
            NoResponders, RequestTimeout: an older server.
        """
        return system.user_info(timeout=seconds_of(timeout, self.js.timeout))
