"""Client of OpenVLA's servers: HTTP POST of JSON with arrays. The protocol has no metadata."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from threading import Event
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError, one_line
from embodied_iqa.models.subjects.wire.http import HttpServer
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address

OPENVLA_PATH: Final = "/act"
"""Where OpenVLA's servers take questions, if an address names no path."""

_BUSY: Final = frozenset({429, 502, 503, 504})


class OpenVlaClient:
    """Asks one server; each question has a connection of its own, so threads may share it.

    Args:
        address: The server.
        path: Where it takes questions; empty for `OPENVLA_PATH`.
        limits: Limits of a question.
        token: Sent as ``Authorization: Bearer``; may be empty.
        clock: Of the deadlines.
    """

    def __init__(
        self, address: Address, path: str, limits: WireLimits, token: str = "", clock: Clock = MONOTONIC
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = HttpServer(address, limits.connect_s, limits.most_bytes, headers)
        self._path = path or OPENVLA_PATH
        self._limits = limits
        self._clock = clock
        self._stop = Event()

    def connect(self) -> None:
        """Check that somebody listens.

        Raises:
            WireError: Nobody does.
        """
        self._http.connect(self._deadline(self._limits.connect_s, "nobody answers at")).close()

    def check(self, answer_s: float) -> None:
        """Check that the server has the path, without a question.

        Raises:
            InputError: It has not, or nobody answers.
        """
        address = self._http.address
        status = self._http.request(self._path, None, self._deadline(answer_s, "no answer from")).status
        if status == HTTPStatus.NOT_FOUND:
            raise InputError(f"{address} has no {self._path}", got=f"HTTP {status}")

    def ask(self, question: Mapping[str, Any]) -> Any:
        """Send an observation and return the answer, see `actions_of`.

        Raises:
            WireError: No answer in time, an invalid one, or one that reports a failure.
        """
        body = json_arrays.pack(dict(question))
        deadline = self._deadline(self._limits.answer_s, "no answer from")
        retries = 0 if self._limits.asks_once else self._limits.retries
        answer = retrying(lambda: self._post(body, deadline), deadline, retries, self._stop)
        value = json_arrays.unpack(answer, self._limits.most_bytes)
        if isinstance(value, str):
            if not value.lstrip().startswith(("[", "{")):
                raise ServerError(f"OpenVLA's server failed: {one_line(value)}; its log says why")
            value = json_arrays.unpack(value, self._limits.most_bytes)
        return value

    def close(self) -> None:
        """End the pauses between attempts; no connection is kept open."""
        self._stop.set()

    def _deadline(self, seconds: float, what: str) -> Deadline:
        return Deadline.after(seconds, f"{what} {self._http.address}", self._clock)

    def _post(self, body: bytes, deadline: Deadline) -> bytes:
        address, answer = self._http.address, self._http.request(self._path, body, deadline)
        if answer.status in _BUSY:
            raise ConnectionLostError(f"{address} is busy", got=f"HTTP {answer.status}")
        if answer.status != HTTPStatus.OK:
            raise ServerError(f"{address}{self._path} answers HTTP {answer.status}: {one_line(answer.text)}")
        return answer.body


def actions_of(answer: object) -> NDArray[Any]:
    """Return the numbers of an answer: an array, or lists of numbers or of arrays.

    Raises:
        ProtocolError: It holds no rows of numbers.
    """
    if isinstance(answer, list):
        try:
            answer = np.array(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProtocolError("OpenVLA's server gives no rows of numbers") from None
    if not isinstance(answer, np.ndarray):
        raise ProtocolError("OpenVLA's server gives no actions", got=type(answer).__name__)
    return answer
