"""Operations on the group of all JetStream servers, for the system account."""

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
    from jsproto.jetstream.context.jetstream import JetStream  # noqa: TC004 - never resolved


@final
@frozen(kw_only=True)
class Meta:
    """The group of all JetStream servers of a cluster.

    Its methods need the system account. The servers do not answer other accounts, except about
    moves of their own streams. Servers before 2.10.27 and 2.11.1 do not check the account.

    Attributes:
        js: connection prefix and timeout.
    """

    js: JetStream

    def step_down(
        self,
        *,
        placement: Placement | None = None,
        wait: bool = True,
        timeout: float | timedelta | None = None,
    ) -> Procedure[str]:
        """Make the leader step down; return the new leader's name, or ``""`` without ``wait``.

        Args:
            placement: the next leader: its name as ``preferred`` (2.11), or its cluster and tags.
            wait: whether to wait for a new leader.
            timeout: seconds for the whole operation.

        Raises:
            NoResponders: the user is not of the system account.
            ConfigurationRefused: no such server.
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
        """Remove a permanently lost server from the cluster; other servers replace its replicas.

        Args:
            server: the server's name.
            peer_id: its peer id, if the name is not known any more (2.10).
            timeout: seconds.

        Raises:
            RequestTimeout: the user is not of the system account, or there is no cluster.
            JetStreamError: no such server.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.remove_server(self.js.api, server, peer_id=peer_id, timeout=seconds)
        )

    def evacuate_server(
        self, server: str = "", *, peer_id: str = "", timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Move all replicas of a server to others; the server stays in the cluster, empty (2.15).

        Args:
            server: the server's name.
            peer_id: its peer id, instead of the name.
            timeout: seconds.

        Raises:
            JetStreamError: no such server.
            RequestTimeout: the user is not of the system account, or there is no cluster.
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
        """Move a stream away from a server, or to other servers by cluster or tags.

        An account may move its own streams.

        Args:
            account: the account of the stream.
            stream: its name.
            server: the server that the stream leaves; without a name the cluster chooses it.
            cluster: the cluster that the stream moves to.
            tags: tags of the servers that the stream moves to.
            timeout: seconds.

        Raises:
            NotFound: no such account or stream.
            ConfigurationRefused: no server can take the stream.
            JetStreamError: the server is unknown, or holds no replica of the stream.
            RequestTimeout: the user is neither of the system account nor of this one, or there is
                no cluster.
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
        """Cancel the move of a stream; an account may cancel its own.

        Raises:
            NotFound: no such account or stream.
            JetStreamError: the stream is not being moved.
            RequestTimeout: the user is neither of the system account nor of this one, or there is
                no cluster.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(
            lambda: operations.cancel_move(self.js.api, account, stream, timeout=seconds)
        )

    def purge_account(
        self, account: str, *, timeout: float | timedelta | None = None
    ) -> Procedure[None]:
        """Delete all streams of an account, even if the account does not exist any more.

        Raises:
            RequestTimeout: the user is not of the system account.
        """
        seconds = seconds_of(timeout, self.js.timeout)
        return Procedure(lambda: operations.purge_account(self.js.api, account, timeout=seconds))
