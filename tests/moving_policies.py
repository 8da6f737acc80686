"""Policies of two steps along x, whose decision depends on the image in a known way."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, VlaObservation
from trial_recording import PixelVla

STEP_M, GRIPPER, DIM = 0.01, 0.5, 158.0
NO_TARGET = ActionChunk(ChunkStatus.NO_TARGET, np.empty((0, 7)), "no target")


class _AlongX(PixelVla):
    def __init__(self) -> None:
        super().__init__((View.TOP,))

    def step_m(self, rgb: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> float:
        raise NotImplementedError

    def act(self, observation: VlaObservation) -> ActionChunk:
        rows = np.zeros((2, 7))
        rows[:, 0], rows[:, 6] = self.step_m(observation.frames[View.TOP].rgb), GRIPPER
        return ActionChunk(ChunkStatus.ACT, rows, "along x")


class Follows(_AlongX):
    """Does what was recorded; on images other than the clean ones it moves three times as far."""

    def __init__(self, clean: AbstractSet[bytes]) -> None:
        super().__init__()
        self._clean = clean

    def step_m(self, rgb: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> float:
        return STEP_M if rgb.tobytes() in self._clean else 3 * STEP_M


class Refuses(Follows):
    """Sees no target on images other than the clean ones, and none on one of those."""

    def __init__(self, clean: AbstractSet[bytes], hidden: bytes) -> None:
        super().__init__(clean)
        self._hidden = hidden

    def act(self, observation: VlaObservation) -> ActionChunk:
        seen = observation.frames[View.TOP].rgb.tobytes()
        return super().act(observation) if seen in self._clean - {self._hidden} else NO_TARGET


class Bright(_AlongX):
    """Moves as far as the image is bright."""

    def step_m(self, rgb: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> float:
        return float(rgb.mean()) / 1e4


class Dim(Bright):
    """Sees no target on a bright image."""

    def act(self, observation: VlaObservation) -> ActionChunk:
        return super().act(observation) if observation.frames[View.TOP].rgb.mean() < DIM else NO_TARGET
