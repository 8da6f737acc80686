"""The live page of one gate: images, verdicts, reasons, predicted loss of the last minute."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.models.subjects.wire.deadline import Deadline
from embodied_iqa.models.subjects.wire.errors import ProtocolError
from embodied_iqa.models.subjects.wire.http import HttpServer
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import NotFoundError
from embodied_iqa.runs.graph.gate_watching_process import GateWatchingProcess

_LIVE_PATH: Final = "/gate/live"
_ANSWER_S: Final = 5.0
_MOST_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class GatePlace:
    """A proxy whose gate is shown.

    Attributes:
        address: Host and port.
        token: Of its clients; may be empty.
    """

    address: Address
    token: str = ""

    @classmethod
    def of(cls, text: str, token: str = "") -> GatePlace:
        """Return the place of ``http://HOST:PORT``.

        Raises:
            UsageError: Another form.
        """
        try:
            parts = urlsplit(text)
            usable = parts.scheme == "http" and bool(parts.hostname) and parts.port is not None
        except ValueError:
            usable = False
        if not usable or "@" in text or parts.path.strip("/") or parts.query:
            shown = None if "@" in text else text  # it may hold a password
            expected = "http://HOST:PORT of a gate proxy, or the name of a gate node, such as /gate"
            raise UsageError("wrong --live-gate", expected=expected, got=shown)
        return cls(Address.of(text)[0], token)

    def snapshot(self) -> dict[str, Any]:
        """Return what the proxy shows of its gate.

        Raises:
            WireError: It does not answer, or it is no gate proxy.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        server = HttpServer(self.address, _ANSWER_S, _MOST_BYTES, headers)
        deadline = Deadline.after(_ANSWER_S, f"no answer from {self.address}")
        answer = server.request(_LIVE_PATH, None, deadline)
        if answer.status != HTTPStatus.OK:
            raise ProtocolError(f"no gate proxy at {self.address}", got=f"HTTP {answer.status}")
        content = json_arrays.unpack(answer.body, _MOST_BYTES)
        if not isinstance(content, dict) or "cameras" not in content:
            raise ProtocolError(f"no gate proxy at {self.address}")
        return content


def gate_of(text: str, token: str = "") -> GatePlace | GateWatchingProcess:
    """Return the gate of ``http://HOST:PORT``, or the node of a name such as ``/gate``.

    Raises:
        UsageError: Another form, or a token for a node.
    """
    if not text.startswith("/"):
        return GatePlace.of(text, token)
    if token:
        raise UsageError("--gate-token-env is for a gate proxy", got=text)
    process = GateWatchingProcess(text)
    atexit.register(process.close)
    return process


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def page(request: Request) -> Response:
        return studio.page(request, "studio_gate.html.j2", gate=_place(studio))

    def live(_request: Request) -> Response:
        try:
            content = json_arrays.pack(_place(studio).snapshot())  # in ASCII: keys of clients are any text
            return Response(content, media_type="application/json")
        except InputError as error:
            return JSONResponse({"silent": str(error)})

    return [Route("/gate", page), Route("/gate/live", live)]


def _place(studio: Studio) -> GatePlace | GateWatchingProcess:
    if not isinstance(studio.gate, GatePlace | GateWatchingProcess):
        raise NotFoundError(
            "no gate is shown here; expected `studio --live-gate`, with http://HOST:PORT or /gate"
        )
    return studio.gate
