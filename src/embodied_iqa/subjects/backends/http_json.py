"""One HTTP request with JSON, bounded in time and size whatever the server does."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from embodied_iqa.errors import InputError, UsageError

__all__ = ["HttpAnswer", "ServerError", "request_json"]

_PIECE_BYTES: Final = 65_536
_TOO_SLOW: Final = "is too slow: no whole answer before the deadline"


class ServerError(InputError):
    """A server does not answer as it should.

    Attributes:
        may_mend_itself: Asking again may help: the server was not reached, or broke off.
    """

    def __init__(self, message: str, *, may_mend_itself: bool = False, **more: Any) -> None:
        super().__init__(message, **more)
        self.may_mend_itself = may_mend_itself


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server answered.

    Attributes:
        status: HTTP status.
        retry_after_s: When it wants to be asked again [s], or None where it does not say.
        value: Its JSON, or None where its body is none.
    """

    status: int
    retry_after_s: float | None
    value: Any


def request_json(
    url: str,
    body: object | None,
    *,
    headers: dict[str, str],
    connect_s: float,
    until_s: float,
    max_bytes: int,
) -> HttpAnswer:
    """Ask a server once; redirections are not followed, a key would go where it was not meant for.

    Args:
        url: http or https.
        body: Sent as JSON with POST; None for GET.
        headers: Beside those of JSON.
        connect_s: How long connecting may take [s].
        until_s: When the whole answer has to be here, as of `time.monotonic`.
        max_bytes: Longest body that is read.

    Raises:
        ServerError: It is not reached, too slow, floods, or speaks no HTTP.
        UsageError: The address is none.
    """
    parts = urlsplit(url)
    where = f"{parts.hostname}:{parts.port}" if parts.port else f"{parts.hostname}"
    connection = _connection(parts, min(connect_s, until_s - time.monotonic()), where)
    # a server that sends a byte now and then never lets a socket's own timeout pass
    watchdog = threading.Timer(max(0.0, until_s - time.monotonic()), _cut, [connection])
    watchdog.daemon = True
    try:
        connection.connect()
        watchdog.start()
        response = _send(connection, parts, body, headers)
        received = _read(response, max_bytes, where)
        if time.monotonic() >= until_s:  # the watchdog's cut may look like the end of an answer
            raise ServerError(f"{where} {_TOO_SLOW}")
        return _answer(response, received)
    except (OSError, http.client.HTTPException) as error:
        if time.monotonic() >= until_s:
            raise ServerError(f"{where} {_TOO_SLOW}") from None
        raise ServerError(f"{where} {_reason(error)}", may_mend_itself=True) from None
    finally:
        watchdog.cancel()
        connection.close()


def _send(
    connection: http.client.HTTPConnection, parts: Any, body: object | None, headers: dict[str, str]
) -> http.client.HTTPResponse:
    content = None if body is None else json.dumps(body).encode()
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = {"Accept": "application/json", "Content-Type": "application/json", **headers}
    connection.request("GET" if content is None else "POST", path, content, named)
    return connection.getresponse()


def _connection(parts: Any, timeout_s: float, where: str) -> http.client.HTTPConnection:
    if timeout_s <= 0:
        raise ServerError(f"{where} {_TOO_SLOW}")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout_s, context=context)
    raise UsageError("not an address of a server", expected="http:// or https://", got=parts.scheme)


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection that another thread waits for."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def _read(response: http.client.HTTPResponse, max_bytes: int, where: str) -> bytes:
    pieces, left = [], max_bytes + 1
    while left > 0 and (piece := response.read1(min(_PIECE_BYTES, left))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ServerError(f"{where} sends more than {max_bytes} bytes")
    if response.length:
        raise http.client.IncompleteRead(b"")
    return b"".join(pieces)


def _answer(response: http.client.HTTPResponse, content: bytes) -> HttpAnswer:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    wait = response.headers.get("Retry-After", "")
    return HttpAnswer(response.status, float(wait) if wait.isdecimal() else None, value)


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refuses the connection: no server listens there"
    if isinstance(error, TimeoutError):
        return "does not answer"
    if isinstance(error, socket.gaierror):
        return "is no known host"
    if isinstance(error, ssl.SSLError):
        return f"cannot be trusted: {error.reason}"
    if isinstance(error, ConnectionError | http.client.IncompleteRead | http.client.RemoteDisconnected):
        return "breaks off"
    if isinstance(error, http.client.HTTPException):
        return f"speaks no HTTP ({type(error).__name__})"
    return f"is not reached: {error}"
