"""Policies behind OpenVLA's ``deploy.py`` or OpenVLA-OFT's: HTTP POST of image and instruction."""

from __future__ import annotations

from threading import Event
from typing import Any, Final

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.actions.convention import ObservationForm
from embodied_iqa.models.subjects.actions.observation import SIDE_PX, observation_for, square
from embodied_iqa.models.subjects.backends.policies import (
    chunk_from_rows,
    convention_for,
    statistics_for,
    views_for,
    with_statistics,
)
from embodied_iqa.models.subjects.reference import OPENVLA_PATH
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.models.subjects.wire.deadline import Deadline, retrying
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, ProtocolError, ServerError, one_line
from embodied_iqa.models.subjects.wire.http import HttpServer
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.tokens import token_from
from embodied_iqa.world.protocols import ActionChunk, SubjectInfo, VlaObservation

_BUSY: Final = frozenset({429, 502, 503, 504})
_UNNORM_KEYS: Final = {"openvla-bridge": "bridge_orig"}
"""Data set whose statistics a policy of a convention un-normalises with, if it knows several."""


class OpenVlaHttp:
    """A policy on OpenVLA's server. The protocol has no metadata: name and version are the user's.

    Args:
        request: Reference and options.

    Raises:
        WireError: Nobody listens there.
        UsageError: The action convention is not known.
    """

    def __init__(self, request: VlaRequest) -> None:
        server, policy, reference = request.options.server, request.options.policy, request.reference
        address, path = Address.of(reference.target)
        token = token_from(server.key_env)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = HttpServer(address, server.connect_s, server.max_answer_bytes, headers)
        self._path, self._options = path or OPENVLA_PATH, server
        self._convention = convention_for(request)
        self._statistics = statistics_for(policy, self._convention, reference.entry)
        self._unnorm_key = policy.unnorm_key or _UNNORM_KEYS.get(self._convention.name, "")
        self.info = SubjectInfo(
            name=reference.text,
            version=policy.version or with_statistics("untold", self._statistics),
            description=f"A policy that runs at {reference.target}.",
            views=views_for(request, (View.TOP,)),
            simulation_only=reference.simulation_only,
            rate_hz=self._convention.rate_hz,
            joints_of=self._convention.arm,
        )
        self._stop = Event()
        request.progress(f"connecting to {address}")
        self._http.connect(Deadline.after(server.connect_s, f"nobody answers at {address}")).close()

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Query the server for the next chunk.

        Raises:
            WireError: No usable answer in time.
            InputError: The actions do not match the convention.
        """
        deadline = Deadline.after(self._options.deadline_s, f"no answer from {self._http.address}")
        body = json_arrays.pack(self._question(observation))
        answer = retrying(lambda: self._post(body, deadline), deadline, self._options.retries, self._stop)
        rows = _rows(answer, self._options.max_answer_bytes)
        return chunk_from_rows(rows, self._convention, observation, self._statistics)

    def close(self) -> None:
        """End the pauses between attempts; no connection is kept open."""
        self._stop.set()

    def _post(self, body: bytes, deadline: Deadline) -> bytes:
        address, answer = self._http.address, self._http.request(self._path, body, deadline)
        if answer.status in _BUSY:
            raise ConnectionLostError(f"{address} is busy", got=f"HTTP {answer.status}")
        if answer.status != 200:
            raise ServerError(f"{address}{self._path} answers HTTP {answer.status}: {one_line(answer.text)}")
        return answer.body

    def _question(self, observation: VlaObservation) -> dict[str, Any]:
        views = self.info.views
        if self._convention.observation is ObservationForm.LIBERO:
            libero = observation_for(self._convention, observation, views)
            return {
                "full_image": libero["observation/image"],
                "wrist_image": libero["observation/wrist_image"],
                "state": libero["observation/state"],
                "instruction": observation.instruction,
            }
        (frame,) = observation.frames_of(views[:1])
        image = square(frame.rgb, SIDE_PX)
        question: dict[str, Any] = {"image": image, "instruction": observation.instruction}
        return {**question, "unnorm_key": self._unnorm_key} if self._unnorm_key else question


def _rows(body: bytes, most_bytes: int) -> Any:
    """Return the rows of an array, of lists of numbers or arrays, or of JSON of such in a string."""
    answer = json_arrays.unpack(body, most_bytes)
    if isinstance(answer, str):
        if not answer.lstrip().startswith(("[", "{")):
            raise ServerError(f"OpenVLA's server failed: {one_line(answer)}; its log says why")
        answer = json_arrays.unpack(answer, most_bytes)
    if isinstance(answer, list):
        try:
            answer = np.array(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProtocolError("OpenVLA's server gives no rows of numbers") from None
    if not isinstance(answer, np.ndarray):
        raise ProtocolError("OpenVLA's server gives no actions", got=type(answer).__name__)
    return answer
