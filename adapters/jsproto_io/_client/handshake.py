"""What an adapter makes of the answers around a handshake: addresses of a server, and credentials."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine

from jsproto.core.connection.auth import Auth
from jsproto.core.connection.events import Authenticate
from jsproto.core.connection.server_pool import Server
from jsproto.errors import (
    AuthorizationFailed,
    ConnectFailed,
    InvalidCredentials,
    JsprotoError,
)
from jsproto_io._client.options import AsyncCredentials


def unresolved(server: Server, error: Exception) -> ConnectFailed:
    """What it means that a name has no address."""
    seen = "none in time" if type(error) is TimeoutError else f"{type(error).__name__}: {error}"
    return ConnectFailed(f"expected addresses of {server}, got {seen}")


def answer_of(order: Authenticate, given: object) -> Auth:
    """The answer to who was asked for credentials.

    Raises:
        InvalidCredentials: it is something else.
    """
    if isinstance(given, Auth):
        return given
    seen = type(given).__name__
    if isinstance(given, Coroutine):
        given.close()  # a blocking client cannot await it
    raise InvalidCredentials(f"expected an Auth as credentials for {order.server}, got {seen}")


def refusal_of(order: Authenticate, error: Exception) -> JsprotoError:
    """What it means that asking for credentials raised: a typed error, and no secret that was in
    it.
    """
    if isinstance(error, JsprotoError):
        return error
    return AuthorizationFailed(
        f"expected credentials for {order.server}, asking for them raised {type(error).__name__}"
    )


async def credentials_or_error(
    order: Authenticate, credentials: AsyncCredentials
) -> Auth | JsprotoError:
    """Ask for credentials; if that raises, the typed error for it."""
    try:
        given = credentials(order.server, order.nonce)
        return answer_of(order, await given if inspect.isawaitable(given) else given)
    except Exception as error:  # noqa: BLE001 - whatever the user's function raises is why there are none
        return refusal_of(order, error)
