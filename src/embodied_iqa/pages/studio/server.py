"""Serves the studio until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from embodied_iqa.base.deadline import end_within
from embodied_iqa.base.errors import UsageError
from embodied_iqa.pages.studio.app import create_app
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import TOKEN_PARAMETER, Address

_MOST_REQUESTS: Final = 100
_ACCEPTED_S: Final = 0.05
_LAST_ANSWER_S: Final = 5
_LAST_THREAD_S: Final = 10.0
_TOKEN_BYTES: Final = 24


class _Server(uvicorn.Server):  # type: ignore[misc,unused-ignore]
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down; a connection that is just being accepted is ended with the others.

        uvicorn ends the connections that it knows, and waits its whole time for one that it hears of later.
        """
        for server in self.servers:
            server.close()
        await asyncio.sleep(_ACCEPTED_S)
        await super().shutdown(sockets)


def new_token() -> str:
    """Return a fresh token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def serve(studio: Studio, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve a studio until SIGINT or SIGTERM; answers that are being made have some seconds.

    Call it in the main thread, as the last thing that a process does: the signals stay handled, and the
    process ends with code 1 where a thread does not end in time.

    Args:
        studio: What it shows; its token must be set for addresses that other machines reach.
        host: Name or number of the interface.
        port: TCP port; 0 for any free one.
        started: Called with the URL, token included, when the studio listens.

    Raises:
        UsageError: The address cannot be used, or lacks a token.
    """
    if not Address(host, port).is_loopback and not studio.token:
        raise UsageError(f"{host} can be reached by other machines", expected="a token")
    listener = _listener(host, port)
    address = Address(host, listener.getsockname()[1])
    config = uvicorn.Config(
        create_app(studio, address),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_REQUESTS,
        timeout_graceful_shutdown=_LAST_ANSWER_S,
    )
    server = _Server(config)
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises the signals that it caught once more at its end, for the handlers before its own
        signal.signal(number, server.handle_exit)
    with listener:
        started(url_of(address, studio.token))
        server.run(sockets=[listener])
    end_within(_LAST_THREAD_S)


def url_of(address: Address, token: str) -> str:
    """Return the URL of the first page, with the token."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"http://{host}:{address.port}/" + (f"?{TOKEN_PARAMETER}={token}" if token else "")


def _listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot listen on {host}:{port}: {reason}", expected="a free port") from None
    listener.listen(_MOST_REQUESTS)
    return listener
