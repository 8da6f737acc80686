"""A policy that moves as far as the image is bright, and refuses where it sees no contrast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

LEAST_CONTRAST = 4.0
CERTAIN_CONTRAST = 64.0


class BrightVla:
    """Gray levels become centimetres."""

    info = SubjectInfo("bright-vla", "1", "moves as far as the image is bright", (View.TOP,))

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return one increment."""
        rgb = observation.frames[View.TOP].rgb.astype(np.float64)
        seen = float(np.clip(rgb.std() / CERTAIN_CONTRAST, 0.0, 1.0))
        if rgb.std() < LEAST_CONTRAST:
            return ActionChunk.still(ChunkStatus.NO_TARGET, "sees nothing", seen)
        step = np.zeros((1, 7))
        step[0, :3] = rgb.mean(axis=(0, 1)) / 1000
        return ActionChunk(ChunkStatus.ACT, step, "bright", seen=seen)

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return ``(50, 96)``, the mean of red everywhere."""
        return np.full((50, 96), frame.rgb[..., 0].mean(), np.float32)


def make() -> BrightVla:
    """Return the policy; the factory of `python:gate_policy:make`."""
    return BrightVla()
