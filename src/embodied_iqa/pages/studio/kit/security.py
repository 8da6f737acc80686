"""Guards of every request: Host, Origin, token, CSRF, size; and the security headers of every response."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_PARAMETER: Final = "token"  # noqa: S105 - the name of a parameter
COOKIE: Final = "embodied_iqa_studio"
_READING: Final = frozenset({"GET", "HEAD"})
_LARGEST_BODY: Final = 20_000_000
_LONGEST_QUERY: Final = 8_000
_LONGEST_PATH: Final = 1_000
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; "
    "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the studio listens.

    Attributes:
        host: Name or number of the interface.
        port: TCP port.
    """

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Only this machine can reach it."""
        return self.host == "localhost" or (
            _is_number(self.host) and ipaddress.ip_address(self.host).is_loopback
        )

    def accepts(self, host: str) -> bool:
        """Return whether a Host header names this address; others are a page that rebinds its name (DNS)."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port or parts.username is not None or parts.path:
            return False
        if self.is_loopback:
            return name in {"localhost", self.host} or (_is_number(name) and Address(name, port).is_loopback)
        mine = socket.gethostname().lower()
        return _is_number(name) or name in {self.host.lower(), mine, f"{mine}.local", "localhost"}


class Guard:
    """ASGI middleware that refuses what the studio must not do.

    Args:
        app: The application.
        address: Where it listens.
        token: Secret of the requests; empty for none.
        csrf: Secret of every POST.
    """

    def __init__(self, app: App, address: Address, token: str, csrf: str) -> None:
        self._app, self._address, self._token, self._csrf = app, address, token, csrf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope) or self._login(scope)
        if refusal is None and scope["method"] == "POST":
            refusal, receive = await self._checked_post(scope, receive)
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._address.accepts(hosts[0]):
            return _refuse(HTTPStatus.MISDIRECTED_REQUEST, "another Host than the studio's")
        if method not in _READING and method != "POST":
            return _refuse(HTTPStatus.METHOD_NOT_ALLOWED, "only GET, HEAD and POST exist")
        if len(scope["query_string"]) > _LONGEST_QUERY or len(scope["path"]) > _LONGEST_PATH:
            return _refuse(HTTPStatus.REQUEST_URI_TOO_LONG, "the address is too long")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin != f"{scope['scheme']}://{hosts[0]}" and (origin is not None or method == "POST"):
            return _refuse(HTTPStatus.FORBIDDEN, "a request of another page (Origin)")
        is_link = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        if site not in {None, "same-origin", "none"} and not is_link:
            return _refuse(HTTPStatus.FORBIDDEN, "a request of another page (Sec-Fetch-Site)")
        return None

    def _login(self, scope: Scope) -> Response | None:
        """Return None where the token is right or not needed; a right one in the address becomes a cookie."""
        if not self._token:
            return None
        request = Request(scope)
        token = request.query_params.get(TOKEN_PARAMETER)
        if token is not None and _equal(token, self._token) and request.method in _READING:
            rest = [
                (key, value) for key, value in request.query_params.multi_items() if key != TOKEN_PARAMETER
            ]
            path = "/" + request.url.path.lstrip("/\\")
            answer = RedirectResponse(path + (f"?{urlencode(rest)}" if rest else ""), HTTPStatus.SEE_OTHER)
            answer.set_cookie(COOKIE, self._token, httponly=True, samesite="lax")
            return answer
        if _equal(request.cookies.get(COOKIE, ""), self._token):
            return None
        return _refuse(HTTPStatus.UNAUTHORIZED, "open the address with the token that the studio printed")

    async def _checked_post(self, scope: Scope, receive: Receive) -> tuple[Response | None, Receive]:
        """Return a refusal or None, and the body again."""
        body = await _body(receive)
        if body is None:
            return _refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too much data"), receive
        given = Headers(scope=scope).get("x-csrf-token")
        if given is None:
            try:
                form = await Request(scope, _again(body)).form()
            except (HTTPException, MultiPartException, ValueError):
                return _refuse(HTTPStatus.BAD_REQUEST, "a damaged form"), receive
            given = form.get("csrf")
            await form.close()
        if not (isinstance(given, str) and _equal(given, self._csrf)):
            return _refuse(HTTPStatus.FORBIDDEN, "reload the page: it is of an earlier start (CSRF)"), receive
        return None, _again(body)


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None where it is too large or the client left."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes) -> Receive:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse(status: HTTPStatus, reason: str) -> Response:
    return PlainTextResponse(f"{status.value} {status.phrase}: {reason}\n", status)
