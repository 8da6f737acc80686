"""HTTP requests with one deadline for the whole exchange and a limit on the answer.

The client is built on `TimedSocket` instead of httpx: timeouts of httpx are per read, so that a server which
sends one byte at a time holds the caller as long as it likes; cancelled by asyncio it ends in time, but not
while a host name is looked up.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from embodied_iqa.models.subjects.wire.deadline import Deadline
from embodied_iqa.models.subjects.wire.errors import (
    ConnectionLostError,
    DeadlineError,
    ProtocolError,
    one_line,
)
from embodied_iqa.models.subjects.wire.sockets import Address, TimedSocket

_CHUNK_BYTES: Final = 1 << 16
_FEED_BYTES: Final = 1 << 14
"""Bytes parsed between two checks of the deadline: many tiny heads take long."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer of a server.

    Attributes:
        status: HTTP status.
        body: Its content.
        retry_after_s: When the server wants the next attempt [s]; 0 if it does not say.
    """

    status: int
    body: bytes
    retry_after_s: float = 0.0

    @property
    def text(self) -> str:
        """The start of the body as text, for messages."""
        return self.body[:_CHUNK_BYTES].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server and the limits of its use. Redirections are not followed: they could receive a key.

    Attributes:
        address: Host and port.
        connect_s: Longest time to connect [s].
        most_bytes: Longest body of an answer [byte].
        headers: Of every request, besides those of JSON.
    """

    address: Address
    connect_s: float
    most_bytes: int
    headers: Mapping[str, str]

    def connect(self, deadline: Deadline) -> TimedSocket:
        """Connect.

        Raises:
            ConnectionLostError: Nobody listens, or not within ``connect_s``.
            DeadlineError: The deadline passed.
        """
        connect_s, what = min(self.connect_s, deadline.left_s()), f"nobody answers at {self.address}"
        sooner = Deadline.after(connect_s, what, deadline.clock)
        try:
            return TimedSocket.connect(self.address, sooner)
        except DeadlineError as error:
            deadline.left_s()
            raise ConnectionLostError(str(error)) from None

    def request(self, path: str, body: bytes | None, deadline: Deadline) -> HttpAnswer:
        """Send JSON with POST, or GET where there is no body, and return the answer, whatever its status.

        Each request has a connection of its own, so that a late answer is never taken for the next one.

        Raises:
            ConnectionLostError: Nobody listens, or the connection broke.
            DeadlineError: The whole answer did not come in time.
            ProtocolError: The answer is not HTTP, or too long.
        """
        method = "GET" if body is None else "POST"
        link = self.connect(deadline)
        try:
            link.send(self._head(method, path, body or b"") + (body or b""), deadline)
            response = http.client.HTTPResponse(cast("Any", _Incoming(link, deadline)), method=method)
            response.begin()
            content = self._content(response)
        except (http.client.HTTPException, ValueError) as error:
            reason = one_line(str(error) or type(error).__name__)
            raise ProtocolError(f"{self.address} gives no HTTP answer: {reason}") from None
        finally:
            link.close()
        wait = response.headers.get("Retry-After", "")
        return HttpAnswer(response.status, content, float(wait) if wait.isdecimal() else 0.0)

    def _head(self, method: str, path: str, body: bytes) -> bytes:
        usual_port = 443 if self.address.secure else 80
        lines = [
            f"{method} {path or '/'} HTTP/1.1",
            f"Host: {str(self.address).removesuffix(f':{usual_port}')}",
            "Accept: application/json",
            "Accept-Encoding: identity",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        if any("\r" in line or "\n" in line for line in lines):
            raise ProtocolError("a header holds a line break")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _content(self, response: http.client.HTTPResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := response.read(_CHUNK_BYTES):
            size += len(part)
            if size > self.most_bytes:
                limit = f"at most {self.most_bytes} bytes"
                raise ProtocolError(f"{self.address} gives too long an answer", expected=limit)
            parts.append(part)
        if response.length:
            raise ConnectionLostError(
                f"{self.address} cut its answer short", expected=f"{response.length} more bytes"
            )
        return b"".join(parts)


class _Incoming(io.RawIOBase):
    """The readable side of a socket, in the form that `http.client` takes."""

    def __init__(self, link: TimedSocket, deadline: Deadline) -> None:
        super().__init__()
        self._link = link
        self._deadline = deadline
        self._rest = memoryview(b"")

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return itself with a buffer."""
        return io.BufferedReader(self, _CHUNK_BYTES)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with received bytes."""
        self._deadline.left_s()
        if not self._rest:
            self._rest = memoryview(self._link.receive(self._deadline))
        size = min(len(buffer), len(self._rest), _FEED_BYTES)
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
