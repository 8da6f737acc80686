"""Listens for HTTP clients within the limits of the websocket listener: questions are POST, each in turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any, Final, TypeAlias

import h11

from embodied_iqa.models.subjects.serving.admission import Admission
from embodied_iqa.models.subjects.serving.listener import (
    HEALTH_PATH,
    ServingOptions,
    is_foreign,
    is_known,
    reporting_port,
)
from embodied_iqa.models.subjects.wire import json_arrays

_HEAD_BYTES: Final = 1 << 14
_READ_BYTES: Final = 1 << 16
_BODY_S: Final = 30.0
"""For the whole body of a question, however slow the network."""
_HANG_UP_S: Final = 5.0
"""For a client to read its last answer: closed with unread bytes of a question, it would be lost."""


@dataclass(frozen=True, slots=True)
class HttpQuestion:
    """A POST, or a GET of what the server says about itself.

    Attributes:
        method: POST or GET.
        path: Path.
        query: What follows the path after a question mark; may be empty.
        headers: By lower-case name.
        body: Content.
        address: Of the client.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    address: str


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer of JSON.

    Attributes:
        status: HTTP status.
        value: Its content: numbers, text, arrays, lists and maps.
        headers: Further headers.
    """

    status: HTTPStatus
    value: Any
    headers: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = Callable[[HttpQuestion], Coroutine[Any, Any, HttpReply]]


class _RefusedError(Exception):
    """A request that is not answered otherwise."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.reply = HttpReply(status, reason)


class HttpListener:
    """Accepts clients within limits, and asks `answer` their questions.

    Args:
        options: Where, and the limits.
        answer: Answers; whatever it raises is a bug and becomes an error of the server.
    """

    def __init__(self, options: ServingOptions, answer: Answer) -> None:
        self._options = options
        self._answer = answer
        self._clients: Admission[_Link] = Admission(
            options.most_connections, options.most_per_address, options.idle_s
        )
        self._talks: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Accept clients inside of the block; gives the port.

        Raises:
            InputError: The port cannot be listened on.
        """
        options = self._options
        with reporting_port(options):
            server = await asyncio.start_server(self._accept, options.host, options.port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for talk in self._talks:
                talk.cancel()
            await asyncio.gather(*self._talks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._talk(_Link(reader, writer)))
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)

    async def _talk(self, link: _Link) -> None:
        try:
            while await self._exchange(link):
                pass
        except (OSError, TimeoutError, h11.ProtocolError):
            pass  # it left, or sends nothing more
        except asyncio.CancelledError:
            link.abort()
            raise
        finally:
            self._clients.leave(link)
        await link.close()

    async def _exchange(self, link: _Link) -> bool:
        """Answer one request; return whether another one may follow."""
        try:
            request = await link.request(self._options.handshake_s)
            if request is None:
                return False
            self._admit(link, request)
            question = await self._question(link, request)
            reply = await self._reply(question)
        except h11.RemoteProtocolError as error:
            reply = HttpReply(HTTPStatus(error.error_status_hint), "not an HTTP request")
            await link.send(reply, last=True)
            return False
        except _RefusedError as refusal:
            await link.send(refusal.reply, last=True)
            return False
        await link.send(reply, last=not link.is_admitted)  # health checks hold no place and no connection
        self._clients.answered(link, monotonic())
        return link.next_request()

    async def _reply(self, question: HttpQuestion) -> HttpReply:
        if question.path == HEALTH_PATH:
            return HttpReply(HTTPStatus.OK, "OK")
        try:
            return await self._answer(question)
        except Exception as error:  # noqa: BLE001 - a client gets an answer, and the next one is served
            return HttpReply(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__} in the server")

    def _admit(self, link: _Link, request: h11.Request) -> None:
        """Check token and place of a client.

        Raises:
            _RefusedError: It has none.
        """
        if request.target == HEALTH_PATH.encode():
            return
        shown, hosts, origins = (_values(request, name) for name in (b"authorization", b"host", b"origin"))
        if is_foreign(hosts, origins, self._options):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "not for pages of other sites")
        if self._options.token and not is_known(shown, self._options.token):
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, "a token is needed")
        if not link.is_admitted:
            admitted, displaced = self._clients.admit(link, link.address, monotonic())
            if displaced is not None:
                displaced.abort()
            if not admitted:
                raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients")
            link.is_admitted = True
        self._clients.asked(link)

    async def _question(self, link: _Link, request: h11.Request) -> HttpQuestion:
        method = request.method.decode("latin-1")
        path, _, query = request.target.decode("latin-1").partition("?")
        if method not in {"GET", "POST"}:
            raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "a question is a POST")
        async with asyncio.timeout(_BODY_S):
            body = await link.body(self._options.most_bytes)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}
        return HttpQuestion(method, path, query, headers, body, link.address)


def _values(request: h11.Request, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in request.headers if key == name]


class _Link:
    """One connection, and where HTTP stands on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._has_begun = False
        peer = writer.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self.is_admitted = False

    async def request(self, head_s: float) -> h11.Request | None:
        """Return the head of the next request, the first within a time; None where the client has left."""
        async with asyncio.timeout(None if self._has_begun else head_s):
            event = await self._event()
        self._has_begun = True
        return event if isinstance(event, h11.Request) else None

    async def body(self, most_bytes: int) -> bytes:
        """Return the body of the request.

        Raises:
            _RefusedError: It is too long.
            ConnectionError: The client left.
        """
        parts: list[bytes] = []
        size = 0
        while isinstance(event := await self._event(), h11.Data):
            size += len(event.data)
            if size > most_bytes:
                raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most_bytes} bytes")
            parts.append(bytes(event.data))
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionResetError
        return b"".join(parts)

    async def send(self, reply: HttpReply, *, last: bool = False) -> None:
        """Send an answer, if the protocol still allows one."""
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        content = json_arrays.pack(reply.value)
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            *reply.headers.items(),
            *([("Connection", "close")] if last else []),
        ]
        response = h11.Response(status_code=reply.status, headers=headers, reason=reply.status.phrase)
        for event in (response, h11.Data(data=content), h11.EndOfMessage()):
            self._write(event)
        await self._writer.drain()

    def next_request(self) -> bool:
        """Return whether another request may follow, and make ready for it."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def abort(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """End the connection after what was sent."""
        try:
            async with asyncio.timeout(_HANG_UP_S):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                while await self._reader.read(_READ_BYTES):
                    pass
        except (OSError, TimeoutError):
            pass
        finally:
            self.abort()

    async def _event(self) -> object:
        """Return the next event of the client, or that it sends nothing more."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[]))
            self._http.receive_data(await self._reader.read(_READ_BYTES))
        return event

    def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data is not None:
            self._writer.write(data)
