"""Subjects that see a camera with a name of its user: ``front``."""

from __future__ import annotations

import numpy as np

from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

FRONT = View("front")


class FrontVlm:
    """Says how bright an image is."""

    info = SubjectInfo("front-vlm", "1", "says how bright an image is", (FRONT,))

    def answer(self, frame: Frame, task: str) -> str:
        """Return a sentence of the task and the brightness in tens."""
        return f"{task}: the {frame.view} image has brightness {round(frame.rgb.mean() / 10)}."


class FrontVla:
    """Moves as far as an image is bright."""

    info = SubjectInfo("front-vla", "1", "moves as far as an image is bright", (FRONT,))

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return one increment."""
        step = np.zeros((1, 7))
        step[0, :3] = observation.frames[FRONT].rgb.mean(axis=(0, 1)) / 1000
        return ActionChunk(ChunkStatus.ACT, step, "bright")


vlm, vla = FrontVlm, FrontVla
