"""The websocket server: openpi's protocol, with limits."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from time import monotonic
from typing import Any, Final, Protocol, TypeAlias

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError
from embodied_iqa.models.subjects.inference import InferenceQueue, Outcome, OutcomeKind
from embodied_iqa.models.subjects.serving.admission import Admission
from embodied_iqa.models.subjects.wire.errors import one_line
from embodied_iqa.models.subjects.wire.msgpack_arrays import pack, unpack

HEALTH_PATH: Final = "/healthz"
_BUSY: Final = http.HTTPStatus.SERVICE_UNAVAILABLE
_LAST_ANSWER_S: Final = 5.0
_HANG_UP_S: Final = 1.0
"""For closing the connection of a client that may not be reading."""


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Address and limits of a server.

    Attributes:
        host: Name or number of the interface; other than loopback needs a token.
        port: TCP port; 0 for any free one.
        token: Token of the clients; empty for none.
        most_waiting: Most questions in the queue; further ones are refused at once.
        most_at_once: Most questions in a batch.
        most_connections: Most connections; further ones are refused with HTTP 503.
        most_per_address: Most connections of one address.
        handshake_s: Longest time from a connection to its request [s].
        idle_s: Time without a question after which a connection is closed if another client needs it [s].
        most_bytes: Longest message [byte].
        deadline_s: Longest time from a question to its answer; the longest that a client can be set to wait.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    most_waiting: int = 16
    most_at_once: int = 8
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
                expected="a token (--token-env NAME), or --host 127.0.0.1",
            )
        if not 0 <= self.port < 65536:
            raise UsageError("wrong port", expected="0 to 65535", got=self.port)


class Servable(Protocol):
    """Answers messages: one at a time, or several at once."""

    @property
    def identity(self) -> dict[str, Any]:
        """Name, version and revision: in every answer."""
        ...

    @property
    def metadata(self) -> dict[str, Any]:
        """First message to a client."""
        ...

    @property
    def batches(self) -> bool:
        """Whether several questions at once are faster than one after the other."""
        ...

    def understand(self, message: Mapping[str, Any], /) -> Any:
        """Parse a question, quickly.

        Raises:
            InputError: The message is not a question.
        """
        ...

    def answer(self, questions: Sequence[Any], /) -> Sequence[dict[str, Any]]:
        """Answer questions, one answer each."""
        ...


class BusyError(InputError):
    """Too many questions are waiting."""


_Queue: TypeAlias = InferenceQueue[Any, dict[str, Any]]


class PolicyServer:
    """Serves one subject until it is stopped.

    Args:
        subject: The subject.
        options: Where, and the limits.
    """

    def __init__(self, subject: Servable, options: ServingOptions) -> None:
        self._subject = subject
        self._options = options
        self._queue: _Queue | None = None
        self._clients: Admission[ServerConnection] = Admission(
            options.most_connections, options.most_per_address, options.idle_s
        )
        self._farewells: set[asyncio.Task[None]] = set()

    def run(self, ready: Callable[[int], None]) -> None:
        """Serve until SIGINT or SIGTERM.

        Args:
            ready: Called with the port once clients are welcome.

        Raises:
            InputError: The port cannot be listened on.
        """
        asyncio.run(self._run(ready))

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Serve inside of the block; gives the port."""
        options = self._options
        quiet = logging.getLogger("embodied_iqa.serving")
        quiet.setLevel(logging.CRITICAL)  # no traceback when a client disconnects
        self._queue = InferenceQueue(
            "serving",
            self._subject.answer,
            limit=options.most_waiting,
            batch=options.most_at_once if self._subject.batches else 1,
        )
        try:
            server: Server = await serve(
                self._converse,
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
        except OSError as error:
            self._queue.close(0.0)
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot listen on {options.host}:{options.port}: {reason}") from None
        try:
            yield next(iter(server.sockets)).getsockname()[1]
        finally:
            server.close()
            await server.wait_closed()
            await asyncio.to_thread(self._queue.close, _LAST_ANSWER_S)

    async def _run(self, ready: Callable[[int], None]) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        async with self.listening() as port:
            ready(port)
            await stop.wait()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer health checks; refuse clients without a token or beyond the limit; None admits."""
        if request.path == HEALTH_PATH:
            healthy = self._queue is not None and self._queue.is_alive
            return connection.respond(*((http.HTTPStatus.OK, "OK\n") if healthy else (_BUSY, "stopped\n")))
        shown = request.headers.get_all("Authorization")
        if self._options.token and not _is_known(shown, self._options.token):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a token is needed\n")
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
        """Free the place of a client that leaves, also during its handshake."""
        await connection.wait_closed()
        self._clients.leave(connection)

    async def _converse(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            await connection.send(pack(self._subject.metadata))
            async for message in connection:
                self._clients.asked(connection)
                answer = await self._reply(message, connection)
                if answer is None:
                    return
                await connection.send(answer)
                self._clients.answered(connection, monotonic())

    async def _reply(self, message: str | bytes, connection: ServerConnection) -> bytes | str | None:
        """Return the answer, a line of text where there is none, or None where the client has left."""
        try:
            content = self._content(message)
            answer = await self._ask(self._subject.understand(content), connection)
            if answer is None:
                return None
            return pack({**answer, **({"request": content["request"]} if "request" in content else {})})
        except EmbodiedIqaError as error:
            return f"{type(error).__name__}: {one_line(str(error))}"
        except Exception as error:  # noqa: BLE001 - a subject may be third-party code
            return f"{type(error).__name__}: {one_line(str(error))}"

    async def _ask(self, question: Any, connection: ServerConnection) -> dict[str, Any] | None:
        if self._queue is None:
            return None
        asked = self._queue.submit(question, deadline_s=self._options.deadline_s)
        result: asyncio.Future[Any] = asyncio.wrap_future(asked)
        left: asyncio.Future[Any] = asyncio.ensure_future(connection.wait_closed())
        try:
            await asyncio.wait({result, left}, return_when=asyncio.FIRST_COMPLETED)
            return self._labelled(result.result()) if result.done() else None
        except asyncio.CancelledError:
            return None
        finally:
            left.cancel()
            asked.cancel()  # at once; through `result` it would take another turn of the loop
            result.cancel()

    def _labelled(self, outcome: Outcome[dict[str, Any]]) -> dict[str, Any]:
        """Return the answer with identity and timing, or raise why there is none."""
        if outcome.kind is OutcomeKind.REFUSED:
            raise BusyError(f"busy: {self._options.most_waiting} questions wait already, ask again later")
        if outcome.result is None:
            raise outcome.error or InputError(outcome.reason)
        timing = {
            "infer_ms": outcome.model_ms,
            "wait_ms": outcome.latency_ms - outcome.model_ms,
            "batch": outcome.batch,
        }
        return {**outcome.result, **self._subject.identity, "server_timing": timing}

    def _content(self, message: str | bytes) -> dict[str, Any]:
        if isinstance(message, str):
            raise InputError("a question is a binary message")
        content = unpack(message, self._options.most_bytes)
        if not isinstance(content, dict):
            raise InputError("a question is a map", got=type(content).__name__)
        request = content.get("request", 0)
        if not isinstance(request, int):
            raise InputError("the number of a request is not an integer", got=type(request).__name__)
        return content


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_known(shown: list[str], token: str) -> bool:
    words = [word.removeprefix("Api-Key ").removeprefix("Bearer ").encode() for word in shown]
    matches = [hmac.compare_digest(word, token.encode()) for word in words]  # each one: time tells nothing
    return any(matches)
