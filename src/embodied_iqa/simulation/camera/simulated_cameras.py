"""The simulated cameras: rendered pictures as they are (ideal), or as a D455 delivers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame, View
from embodied_iqa.lazy import load
from embodied_iqa.scenes.snapshot import WorldSnapshot
from embodied_iqa.simulation.camera import CameraModel
from embodied_iqa.simulation.camera.development import picture_of
from embodied_iqa.simulation.camera.exposure import Exposure, ExposureState, exposure_of, settled, step
from embodied_iqa.simulation.camera.sensor import linear_table
from embodied_iqa.simulation.renderer import SceneRenderer
from embodied_iqa.units import SECOND_NS

_METERED_EVERY: Final = 3
"""Pictures from one measurement of the light to the next."""
_METERING_PX: Final = 8
"""The light is measured in every so manieth pixel of a row and a column."""
_BLOCK_PX: Final = 4
"""Pixels of a block have one motion."""
_STILL_PX: Final = 0.25
"""A shorter motion is not visible."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """All that a picture depends on: it can be drawn at any time, in any order.

    Attributes:
        snapshot: The world; its time is the stamp of the picture.
        before: The world at the picture before; None for the first one.
        exposures: Settings of each camera; empty for ideal ones.
    """

    snapshot: WorldSnapshot
    before: WorldSnapshot | None = None
    exposures: dict[View, Exposure] = field(default_factory=dict)


class SimulatedCameras:
    """The cameras of one cell. The controls of exposure and white balance see every third picture.

    Args:
        renderer: Of the scene.
        model: The camera model.
        views: The cameras.
    """

    def __init__(self, renderer: SceneRenderer, model: CameraModel, views: Sequence[View]) -> None:
        self.renderer = renderer
        self._model = model
        self._views = tuple(views)
        self.reset()

    def reset(self) -> None:
        """Start anew: the controls settle on the next picture, and nothing has moved before it."""
        self._states: dict[View, ExposureState] = {}
        self._last: Shot | None = None
        self._metered: dict[View, Frame] = {}
        self._taken = 0

    def take(self, snapshot: WorldSnapshot) -> Shot:
        """Take a picture with every camera; stamps do not decrease; the same stamp is the same picture."""
        if self._model is CameraModel.IDEAL:
            return Shot(snapshot)
        last = self._last
        if last is not None and last.snapshot.time_ns == snapshot.time_ns:
            return last
        if not self._states:
            self._states = {
                view: settled(self._light(view, snapshot), snapshot.time_ns) for view in self._views
            }
        exposures = {view: exposure_of(state) for view, state in self._states.items()}
        self._taken += 1
        if self._taken % _METERED_EVERY == 0:
            for view, state in self._states.items():
                self._states[view] = step(state, self._light(view, snapshot), snapshot.time_ns)
        self._metered = {
            view: frame for view, frame in self._metered.items() if frame.stamp_ns == snapshot.time_ns
        }
        self._last = Shot(snapshot, None if last is None else last.snapshot, exposures)
        return self._last

    def frame(self, view: View, shot: Shot) -> Frame:
        """Return the picture of a camera."""
        known = self._metered.get(view) if shot is self._last else None  # drawn already, to measure the light
        frame = known or self.renderer.frame(view, shot.snapshot)
        if self._model is CameraModel.IDEAL:
            return frame
        exposure = shot.exposures[view]
        rgb = frame.rgb if shot.before is None else self._smeared(frame, shot.before, shot.snapshot, exposure)
        return delivered(replace(frame, rgb=rgb), self.renderer.scene.seed, exposure)

    def _light(self, view: View, snapshot: WorldSnapshot) -> NDArray[np.float64]:
        self._metered[view] = self.renderer.frame(view, snapshot)
        return mean_light(self._metered[view].rgb)

    def _smeared(
        self, frame: Frame, before: WorldSnapshot, now: WorldSnapshot, exposure: Exposure
    ) -> NDArray[np.uint8]:
        """Return the picture with the motion during its exposure, the speed that of the time before it."""
        if np.array_equal(before.qpos, now.qpos):
            return frame.rgb
        share = exposure.time_s * SECOND_NS / (now.time_ns - before.time_ns)
        shifts_px = np.float32(share) * self.renderer.motion_px(frame.view, before, now, _BLOCK_PX)
        if float(np.abs(shifts_px).max()) < _STILL_PX:
            return frame.rgb
        smeared: NDArray[np.uint8] = load("embodied_iqa.simulation.camera.kernels:smear")(
            frame.rgb, shifts_px
        )
        return smeared


def mean_light(rgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return ``(3,)``, the mean linear light of a picture, as the controls measure it."""
    offset = _METERING_PX // 2
    light: NDArray[np.float64] = linear_table()[rgb[offset::_METERING_PX, offset::_METERING_PX]].mean(
        (0, 1), dtype=np.float64
    )
    return light


def delivered(frame: Frame, seed: int, exposure: Exposure | None = None) -> Frame:
    """Return a rendered frame as a D455 delivers it.

    Args:
        frame: Rendered.
        seed: Of the noise, with view and stamp.
        exposure: Settings; None for those on which the controls settle for this picture.
    """
    if exposure is None:
        exposure = exposure_of(settled(mean_light(frame.rgb), frame.stamp_ns))
    noise_seed = (seed, list(View).index(frame.view), frame.stamp_ns)
    return replace(frame, rgb=picture_of(frame.rgb, frame.view, exposure, noise_seed))
