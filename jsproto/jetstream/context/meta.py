"""All JetStream servers together, for whoever is of the system account."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, final

from attrs import frozen

from jsproto.core.conversation.procedure import Procedure
from jsproto.jetstream.api.config.cluster import Placement
from jsproto.jetstream.api.config.settings import seconds_of
from jsproto.jetstream.api.requests import cluster as operations

if TYPE_CHECKING:
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - nobody resolves the field's type


@final
@frozen(kw_only=True)
class Meta:
    """The group of all JetStream servers.

    Its verbs are for the system account; others are not answered, except about moves of their own
    streams. Servers before 2.10.27 and 2.11.1 do not look at who asks.

    Attributes:
        js: where it is.
    """

    js: JetStream

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> Procedure[str]:
        """Let the leader step down; the name of the new one, empty if that is not waited for.

        Args:
            placement: which server shall lead then: its name as ``preferred`` (2.11), or by cluster
                and tags.
            wait: for a new leader.
            timeout: seconds for all of it.

        Raises:
            NoResponders: not the system account.
            InvalidConfiguration: no such server.
            RequestTimeout: no cluster, or no new leader in time.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.step_down_meta(
                self.js.api, placement=placement, wait=wait, timeout=seconds
            )
        )

    def remove_server(
        self, server: str = "", *, peer_id: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Take a server that is gone for good out of the cluster: everything on it is placed anew.

        Args:
            server: its name.
            peer_id: its id among the peers instead, if the name is not known any more (2.10).
            timeout: seconds.

        Raises:
            RequestTimeout: not the system account, or no cluster.
            JetStreamError: no such server.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.remove_server(self.js.api, server, peer_id=peer_id, timeout=seconds)
        )

    def evacuate_server(
        self, server: str = "", *, peer_id: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Let the others take over everything that a server has; it stays in the cluster, with
        nothing on it (2.15).

        Args:
            server: its name.
            peer_id: its id among the peers instead.
            timeout: seconds.

        Raises:
            JetStreamError: no such server.
            RequestTimeout: not the system account, or no cluster.
            RequestTimeout, JetStreamNotEnabled: servers before 2.15, which do not know this
                request.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.evacuate_server(
                self.js.api, server, peer_id=peer_id, timeout=seconds
            )
        )

    def move_stream(
        self,
        account: str,
        stream: str,
        *,
        server: str = "",
        cluster: str = "",
        tags: Sequence[str] = (),
        timeout: float | timedelta | None = None,
    ) -> Procedure[None]:
        """Move a stream away from a server, or to another cluster or tags. An account may move its
        own.

        Args:
            account: whose stream.
            stream: its name.
            server: the server that it shall leave; nothing said leaves the choice to the cluster.
            cluster: the cluster that it shall move to.
            tags: tags of the servers that it shall move to.
            timeout: seconds.

        Raises:
            NotFound: no such account or stream.
            InvalidConfiguration: there is no place where it could move.
            JetStreamError: the server is not known, or has nothing of it.
            RequestTimeout: another account than the system's or its own, or no cluster.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.move_stream(
                self.js.api,
                account,
                stream,
                server=server,
                cluster=cluster,
                tags=tags,
                timeout=seconds,
            )
        )

    def cancel_move(
        self, account: str, stream: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Let a stream that is being moved stay where it was. An account may do so with its own.

        Raises:
            NotFound: no such account or stream.
            JetStreamError: it is not being moved.
            RequestTimeout: another account than the system's or its own, or no cluster.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.cancel_move(self.js.api, account, stream, timeout=seconds)
        )

    def purge_account(
        self, account: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Delete all streams of an account, whether or not it still exists.

        Raises:
            RequestTimeout: not the system account.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(lambda: operations.purge_account(self.js.api, account, timeout=seconds))
