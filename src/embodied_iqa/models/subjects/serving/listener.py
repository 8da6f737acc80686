"""Listens for websocket clients: admission, tokens, limits and the health check."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http
import logging
import math
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from ipaddress import ip_address
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.serving.admission import Admission

HEALTH_PATH: Final = "/healthz"
_BUSY: Final = http.HTTPStatus.SERVICE_UNAVAILABLE
_HANG_UP_S: Final = 1.0
"""For closing the connection of a client that may not be reading."""


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Address and limits of a server.

    Attributes:
        host: Interface; others than loopback need a token.
        port: TCP port, 0 for any free one.
        token: Token of the clients; empty for none.
        most_waiting: Most questions in the queue; further ones are refused at once.
        most_at_once: Most questions answered at once.
        most_connections: Most connections; further ones are refused with HTTP 503.
        most_per_address: Most connections of one address.
        handshake_s: Longest time from a connection to its request [s].
        idle_s: Time without a question after which a connection is closed if another client needs it [s].
        most_bytes: Longest message [byte].
        deadline_s: Longest time from a question to its answer; the longest that a client can be set to wait.
    """

    host: str = "127.0.0.1"
    port: int = ranged(8000, 0, 65535)
    token: str = ""
    most_waiting: int = ranged(16, 1, math.inf)
    most_at_once: int = ranged(8, 1, math.inf)
    most_connections: int = 64
    most_per_address: int = 32
    handshake_s: float = 5.0
    idle_s: float = 10.0
    most_bytes: int = 64 << 20
    deadline_s: float = 3600.0

    def __post_init__(self) -> None:
        if not self.token and not _is_loopback(self.host):
            raise UsageError(
                f"a server on {self.host} can be reached by others",
                expected="a token (--token-env NAME), or the host 127.0.0.1",
            )
        check_ranges(self)


class Listener:
    """Accepts clients within limits, and follows them until they leave.

    Args:
        options: Where, and the limits.
        converse: Talks with a client that was admitted; ends when the client leaves.
        is_healthy: Whether questions are answered, for the health check.
        pages: JSON that clients with the token may GET, by path; made of the address's query, in a thread.
    """

    def __init__(
        self,
        options: ServingOptions,
        converse: Callable[[ServerConnection], Coroutine[Any, Any, None]],
        is_healthy: Callable[[], bool],
        pages: Mapping[str, Callable[[str], str]] | None = None,
    ) -> None:
        self._options = options
        self._converse = converse
        self._is_healthy = is_healthy
        self._pages = pages or {}
        self._clients: Admission[ServerConnection] = Admission(
            options.most_connections, options.most_per_address, options.idle_s
        )
        self._talks: dict[ServerConnection, asyncio.Event] = {}
        self._farewells: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Accept clients inside of the block; gives the port.

        Raises:
            InputError: The port cannot be listened on.
        """
        options = self._options
        quiet = logging.getLogger("embodied_iqa.serving")
        quiet.setLevel(logging.CRITICAL)  # no traceback when a client disconnects
        with reporting_port(options):
            server: Server = await serve(
                self._talk,
                options.host,
                options.port,
                compression=None,
                max_size=options.most_bytes,
                max_queue=2,
                open_timeout=options.handshake_s,
                close_timeout=_HANG_UP_S,
                process_request=self._admit,
                logger=quiet,
            )
        try:
            yield next(iter(server.sockets)).getsockname()[1]
        finally:
            server.close()
            await server.wait_closed()

    def asked(self, connection: ServerConnection) -> None:
        """Note a question: its client keeps its place until the answer."""
        self._clients.asked(connection)

    def answered(self, connection: ServerConnection) -> None:
        """Note an answer."""
        self._clients.answered(connection, monotonic())

    async def _talk(self, connection: ServerConnection) -> None:
        ended = self._talks[connection] = asyncio.Event()
        try:
            with contextlib.suppress(ConnectionClosed):
                await self._converse(connection)
        finally:
            del self._talks[connection]
            ended.set()

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer health checks; refuse clients without a token or beyond the limit; None admits."""
        if request.path == HEALTH_PATH:
            healthy = self._is_healthy()
            return connection.respond(*((http.HTTPStatus.OK, "OK\n") if healthy else (_BUSY, "stopped\n")))
        shown = request.headers.get_all("Authorization")
        if self._options.token and not is_known(shown, self._options.token):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a token is needed\n")
        path, _, query = request.path.partition("?")
        if path in self._pages:
            hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
            if is_foreign(hosts, origins, self._options):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "not for pages of other sites\n")
            page = connection.respond(http.HTTPStatus.OK, await asyncio.to_thread(self._pages[path], query))
            del page.headers["Content-Type"]
            page.headers["Content-Type"] = "application/json"
            return page
        address = str(connection.remote_address[0])
        admitted, displaced = self._clients.admit(connection, address, monotonic())
        if not admitted:
            return connection.respond(_BUSY, "too many clients\n")
        self._do(self._follow(connection))
        if displaced is not None:
            self._do(displaced.close(CloseCode.TRY_AGAIN_LATER, "idle, and another client needs the place"))
        return None

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)

    async def _follow(self, connection: ServerConnection) -> None:
        """Free the place of a client that leaves, also during its handshake.

        Its conversation ends first: who gets the place finds no question of it in the queue.
        """
        await connection.wait_closed()
        if connection in self._talks:
            await self._talks[connection].wait()
        self._clients.leave(connection)


@contextlib.contextmanager
def reporting_port(options: ServingOptions) -> Iterator[None]:
    """Report a port that cannot be listened on in the block.

    Raises:
        InputError: As said.
    """
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot listen on {options.host}:{options.port}: {reason}") from None


class StoppableServer(ABC):
    """Serves in a block, or until a signal."""

    @abstractmethod
    def listening(self) -> AbstractAsyncContextManager[int]:
        """Serve inside of the block; gives the port.

        Raises:
            InputError: The port cannot be listened on.
        """

    def run(self, ready: Callable[[int], None]) -> None:
        """Serve until SIGINT or SIGTERM.

        Args:
            ready: Called with the port once clients are welcome.

        Raises:
            InputError: The port cannot be listened on.
        """
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: Callable[[int], None]) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        async with self.listening() as port:
            ready(port)
            await stop.wait()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_foreign(hosts: Sequence[str], origins: Sequence[str], options: ServingOptions) -> bool:
    """Return whether a browser asks for a page of another site; with a token, such a page does not have it.

    Args:
        hosts: Headers ``Host``: a name of its own that leads to this machine is that of another site.
        origins: Headers ``Origin``, which only browsers send.
        options: Of the server.
    """
    if options.token:
        return False
    try:
        names = [urlsplit(f"//{host}").hostname or "" for host in hosts]
    except ValueError:
        return True
    return bool(origins) or not all(map(_is_loopback, names))


def is_known(shown: list[str], token: str) -> bool:
    """Return whether one of the shown headers ``Authorization`` holds the token."""
    words = [word.removeprefix("Api-Key ").removeprefix("Bearer ").encode() for word in shown]
    matches = [hmac.compare_digest(word, token.encode()) for word in words]  # each one: time tells nothing
    return any(matches)
