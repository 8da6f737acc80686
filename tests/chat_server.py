"""A real HTTP server on loopback that speaks the chat completions protocol, or misbehaves as it is told."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from wire_servers import Stop

MODEL = "lab/model"


def _own_host() -> str:
    """Return a loopback address that no other run has had.

    Answers are cached by the address of their server, also over runs, and ports come again.
    """
    return ".".join(["127", *(str(1 + byte % 254) for byte in os.urandom(3))])


class ChatServer:
    """Answers with ``reply`` or by a behaviour of its own.

    Attributes:
        requests: Bodies of the questions so far.
        headers: Headers of the questions so far.
        end: Set when the test is over: behaviours that never end wait for it.
    """

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.end = Stop()
        self.models: object = {"data": [{"id": MODEL}]}
        self.behave: Callable[[Handler], None] = lambda handler: handler.say(200, completion("a red cube"))
        outer = self

        class Bound(Handler):
            server_of_test = outer

        self._server = ThreadingHTTPServer((_own_host(), 0), Bound)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def reference(self) -> str:
        return f"openai:{self.url}#{MODEL}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end.set()
        self._server.shutdown()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server_of_test: ChatServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.say(200, self.server_of_test.models)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server_of_test.requests.append(json.loads(body))
        self.server_of_test.headers.append(dict(self.headers))
        try:
            self.server_of_test.behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def say(self, status: int, value: object, **headers: str) -> None:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return


def completion(text: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
