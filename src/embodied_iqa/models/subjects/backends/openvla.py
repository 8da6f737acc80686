"""Policies behind OpenVLA's ``deploy.py`` or OpenVLA-OFT's: HTTP POST of image and instruction."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.actions.adapter import joints_seen
from embodied_iqa.models.subjects.actions.convention import ActionKind, ObservationForm
from embodied_iqa.models.subjects.actions.observation import policy_image, state_for
from embodied_iqa.models.subjects.actions.published_images import openvla_image
from embodied_iqa.models.subjects.backends.policies import (
    chunk_from_rows,
    convention_for,
    statistics_for,
    views_for,
    with_statistics,
)
from embodied_iqa.models.subjects.subject_options import VlaRequest
from embodied_iqa.models.subjects.wire.openvla import OpenVlaClient, actions_of
from embodied_iqa.models.subjects.wire.policy_client import WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.models.subjects.wire.tokens import token_from
from embodied_iqa.world.protocols import ActionChunk, SubjectInfo, VlaObservation

_UNNORM_KEYS: Final = {"openvla-bridge": "bridge_orig"}
"""Data set whose statistics a policy of a convention un-normalises with, if it knows several."""
_WRISTS: Final = {1: ("wrist_image",), 2: ("left_wrist_image", "right_wrist_image")}
"""Names of OpenVLA-OFT for the images at the wrist of one arm or two."""


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
        limits = WireLimits(server.connect_s, server.deadline_s, server.max_answer_bytes, server.retries)
        self._client = OpenVlaClient(address, path, limits, token_from(server.key_env))
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
        request.progress(f"connecting to {address}")
        self._client.connect()

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Query the server for the next chunk.

        Raises:
            WireError: No usable answer in time.
            InputError: The actions do not match the convention.
        """
        q_rad = joints_seen(self._convention, observation)
        rows = actions_of(self._client.ask(self._question(observation, q_rad)))
        return chunk_from_rows(rows, self._convention, observation, self._statistics, q_rad)

    def close(self) -> None:
        """End the pauses between attempts; no connection is kept open."""
        self._client.close()

    def _question(self, observation: VlaObservation, q_rad: NDArray[np.float64] | None) -> dict[str, Any]:
        """Return the question to OpenVLA's server, to OpenVLA-OFT's, or one that both understand.

        Which of the two serves a policy that commands joints is not known: OFT's adds the state.
        """
        convention, prompt = self._convention, {"instruction": observation.instruction}
        if convention.observation is ObservationForm.SINGLE:
            return prompt | self._single(observation)
        frames = observation.frames_of(self.info.views)
        images = [policy_image(observation, frame, openvla_image) for frame in frames]
        wrist = images[min(1, len(images) - 1)]
        state = state_for(convention, observation, q_rad).astype(np.float32)
        oft = {"full_image": images[0], **dict.fromkeys(_WRISTS[convention.arms], wrist), "state": state}
        is_joints = convention.kind is ActionKind.JOINTS
        return prompt | oft | (self._single(observation) if is_joints else {})

    def _single(self, observation: VlaObservation) -> dict[str, Any]:
        (frame,) = observation.frames_of(self.info.views[:1])
        image = {"image": policy_image(observation, frame, openvla_image)}
        return image | {"unnorm_key": self._unnorm_key} if self._unnorm_key else image
