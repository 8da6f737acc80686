"""A server that answers as OpenVLA's deploy.py does."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np


def json_numpy(array: np.ndarray) -> dict:
    """As the package json-numpy writes it."""
    data = base64.b64encode(array.tobytes()).decode()
    return {"__numpy__": data, "dtype": array.dtype.str, "shape": list(array.shape)}


@contextmanager
def deploy(answer: Callable[[dict], object], status: int = 200) -> Iterator[tuple[int, list]]:
    """FastAPI's JSONResponse of what ``answer`` gives; the requests are kept."""
    requests: list = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, self.headers.get("Authorization"), body))
            content = json.dumps(answer(body)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
