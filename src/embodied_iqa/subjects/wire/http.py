"""One HTTP request with a deadline for the whole of it and a limit on the answer."""

from __future__ import annotations

import http.client
import io
from collections.abc import Mapping
from typing import Any, cast

from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError, one_line
from embodied_iqa.subjects.wire.sockets import Address, TimedSocket

__all__ = ["post"]

_CHUNK_BYTES = 1 << 16
_BUSY = {429, 502, 503, 504}


def post(
    address: Address,
    path: str,
    body: bytes,
    deadline: Deadline,
    *,
    most_bytes: int,
    headers: Mapping[str, str],
) -> bytes:
    """Send ``body`` as JSON and return the body of the answer.

    Each request has a connection of its own, so that a late answer can never be taken for the next one.

    Raises:
        ConnectionLostError: Nobody listens, the connection broke, or the server is busy.
        DeadlineError: The whole answer did not come in time, however fast its parts drip.
        ProtocolError: The answer is no HTTP, or longer than ``most_bytes``.
        ServerError: The server answers with an error status.
    """
    link = TimedSocket.connect(address, deadline)
    try:
        link.send(_request(address, path, body, headers), deadline)
        response = http.client.HTTPResponse(cast("Any", _Incoming(link, deadline)), method="POST")
        response.begin()
        answer = _read(response, most_bytes)
    except (http.client.HTTPException, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise ProtocolError(f"{address} gives no HTTP answer: {one_line(reason)}") from None
    finally:
        link.close()
    if response.status in _BUSY:
        raise ConnectionLostError(f"{address} is busy", got=f"HTTP {response.status}")
    if response.status != http.client.OK:
        said = one_line(answer[:_CHUNK_BYTES].decode("utf-8", "replace"))
        raise ServerError(f"{address}{path} answers HTTP {response.status}: {said}")
    return answer


def _request(address: Address, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {address}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if any("\r" in line or "\n" in line for line in lines):
        raise ProtocolError("a header holds a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def _read(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read(_CHUNK_BYTES):
        size += len(part)
        if size > most_bytes:
            raise ProtocolError("an HTTP answer is too long", expected=f"at most {most_bytes} bytes")
        parts.append(part)
    if response.length:
        raise ConnectionLostError("an HTTP answer was cut short", expected=f"{response.length} more bytes")
    return b"".join(parts)


class _Incoming(io.RawIOBase):
    """The readable side of a socket, in the shape that `http.client` takes."""

    def __init__(self, link: TimedSocket, deadline: Deadline) -> None:
        super().__init__()
        self._link = link
        self._deadline = deadline
        self._rest = memoryview(b"")

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return itself with a buffer."""
        return io.BufferedReader(self, _CHUNK_BYTES)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what has come."""
        if not self._rest:
            self._rest = memoryview(self._link.receive(self._deadline))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
