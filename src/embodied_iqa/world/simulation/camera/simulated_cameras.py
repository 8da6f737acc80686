"""The simulated cameras: rendered images as they are (ideal), or exposed and balanced as by a D455."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.lazy import load
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.simulation.camera.development import image_of
from embodied_iqa.world.simulation.camera.exposure import Exposure, ExposureState, exposure_of, settled, step
from embodied_iqa.world.simulation.camera.faults import Fault, FaultRates
from embodied_iqa.world.simulation.camera.sensor import linear_table
from embodied_iqa.world.simulation.renderer import SceneRenderer


@dataclass(slots=True, weakref_slot=True, eq=False)
class Controls:
    """Settings of every camera from one measurement to the next.

    A measurement needs a rendered image: a camera whose images nobody asks for is never measured.

    Attributes:
        light: Returns ``(3,)``, the mean linear light of a camera's image of the world.
        views: The cameras.
        snapshot: The world that the measurement sees.
        before: The settings until then; None for the first measurement, on which the controls settle, and
            when every camera has been measured.
        states: The result of each camera that has been measured.
    """

    light: Callable[[View, WorldSnapshot], NDArray[np.float64]]
    views: Sequence[View]
    snapshot: WorldSnapshot
    before: Controls | None = None
    states: dict[View, ExposureState] = field(default_factory=dict)

    def measured(self, snapshot: WorldSnapshot) -> Controls:
        """Return the settings after another measurement."""
        return Controls(self.light, self.views, snapshot, self)

    def exposure(self, view: View) -> Exposure:
        """Return the settings of a camera, after the measurements of it that are still missing."""
        missing: list[Controls] = []
        controls: Controls | None = self
        while controls is not None and view not in controls.states:
            missing.append(controls)
            controls = controls.before
        for item in reversed(missing):
            item.measure(view)
        return exposure_of(self.states[view])

    def measure(self, view: View) -> None:
        """Measure a camera; every earlier measurement of it has been made."""
        light, stamp_ns = self.light(view, self.snapshot), self.snapshot.time_ns
        if self.before is None:
            self.states[view] = settled(light, stamp_ns)
        else:
            self.states[view] = step(self.before.states[view], light, stamp_ns)
        if set(self.views) <= self.states.keys():
            self.before = None  # a session may last for hours


_METERED_EVERY: Final = 3
"""Images from one measurement of the light to the next."""
_METERING_PX: Final = 8
"""The light is measured in every so manieth pixel of a row and a column."""
_STILL_PX: Final = 0.25
"""A shorter motion is not visible."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """All that an image depends on: it can be drawn at any time, in any order.

    Attributes:
        snapshot: The world; its time is the stamp of the image.
        before: The world at the image before; None for the first one.
        controls: Settings of the cameras; None for ideal ones.
        measured: The settings after this image, where the controls see it.
        dropped: The cameras whose image never arrives.
        repeated: The cameras that deliver an earlier image again, and its shot.
    """

    snapshot: WorldSnapshot
    before: WorldSnapshot | None = None
    controls: Controls | None = None
    measured: Controls | None = None
    dropped: frozenset[View] = frozenset()
    repeated: Mapping[View, Shot] = field(default_factory=dict)


class SimulatedCameras:
    """The cameras of one cell. The controls of exposure and white balance see every third image.

    The images of a model other than ideal depend on every state taken since the last reset, and on nothing
    else: not on which of them were drawn, nor when. A missed state changes the images after it.

    Args:
        renderer: Of the scene.
        model: The camera model.
        views: The cameras.
        rates: How often images are dropped or repeated.

    Attributes:
        faults: Number of dropped and of repeated images by camera.
    """

    def __init__(
        self,
        renderer: SceneRenderer,
        model: CameraModel,
        views: Sequence[View],
        rates: FaultRates | None = None,
    ) -> None:
        self.renderer = renderer
        self._model = model
        self._views = tuple(views)
        self._rates = rates or FaultRates()
        self.faults: Counter[tuple[View, Fault]] = Counter()
        self.reset()

    def reset(self) -> None:
        """Start anew: the controls settle on the next image, and nothing has moved before it."""
        self._controls: Controls | None = None
        self._last: Shot | None = None
        self._drawn: dict[View, Frame] = {}
        self._taken = 0
        self._delivered: dict[View, Shot] = {}

    def take(self, snapshot: WorldSnapshot) -> Shot:
        """Take an image with every camera; stamps do not decrease; the same stamp is the same image."""
        last = self._last
        if last is not None and last.snapshot.time_ns == snapshot.time_ns:
            return last
        before = None if last is None else last.snapshot
        shot = Shot(snapshot, before)
        if self._model is not CameraModel.IDEAL:
            shot = self._controlled(shot)
        if not self._rates.never:
            shot = self._faulty(shot)
        if shot.controls is not None or not self._rates.never:
            self._last = shot
        return shot

    def _controlled(self, shot: Shot) -> Shot:
        """Add the settings of the cameras; the controls see the first and then every third image."""
        controls = self._controls or Controls(self._light, self._views, shot.snapshot)
        self._taken += 1
        sees = self._taken % _METERED_EVERY == 0
        measured = controls.measured(shot.snapshot) if sees else None
        self._controls = measured or controls
        return replace(shot, controls=controls, measured=measured)

    def _faulty(self, shot: Shot) -> Shot:
        """Drop and repeat images; the first ones after a reset cannot be repeated."""
        dropped, repeated = set(), {}
        for view in self._views:
            fault = self._rates.fault(self.renderer.scene.seed, view, shot.snapshot.time_ns)
            if fault is Fault.DROPPED:
                dropped.add(view)
            elif fault is Fault.REPEATED and view in self._delivered:
                repeated[view] = self._delivered[view]
            else:
                self._delivered[view] = shot
                continue
            self.faults[view, fault] += 1
        return replace(shot, dropped=frozenset(dropped), repeated=repeated)

    def frame(self, view: View, shot: Shot) -> Frame:
        """Return the image of a camera; a repeated one has the new stamp and its old pose."""
        if view in shot.repeated:
            return replace(self.frame(view, shot.repeated[view]), stamp_ns=shot.snapshot.time_ns)
        if shot.controls is None:
            return self.renderer.frame(view, shot.snapshot)
        exposure = shot.controls.exposure(view)
        frame = self._draw(view, shot.snapshot)
        if shot.measured is not None:
            shot.measured.exposure(view)  # while the image is there
        rgb = frame.rgb if shot.before is None else self._smeared(frame, shot.before, shot.snapshot, exposure)
        return delivered(replace(frame, rgb=rgb), self.renderer.scene.seed, exposure)

    def _light(self, view: View, snapshot: WorldSnapshot) -> NDArray[np.float64]:
        return mean_light(self._draw(view, snapshot).rgb)

    def _draw(self, view: View, snapshot: WorldSnapshot) -> Frame:
        """Render an image unless it is the last one of this camera."""
        frame = self._drawn.get(view)
        if frame is None or frame.stamp_ns != snapshot.time_ns:
            frame = self._drawn[view] = self.renderer.frame(view, snapshot)
        return frame

    def _smeared(
        self, frame: Frame, before: WorldSnapshot, now: WorldSnapshot, exposure: Exposure
    ) -> NDArray[np.uint8]:
        """Return the image with the motion during its exposure, the speed that of the time before it."""
        if np.array_equal(before.qpos, now.qpos):
            return frame.rgb
        share = exposure.time_s * SECOND_NS / (now.time_ns - before.time_ns)
        kernels = load("embodied_iqa.world.simulation.camera.kernels")  # numba loads slowly
        shifts_px = np.float32(share) * self.renderer.motion_px(frame.view, before, now, kernels.BLOCK_PX)
        if float(np.abs(shifts_px).max()) < _STILL_PX:
            return frame.rgb
        smeared: NDArray[np.uint8] = kernels.smear(frame.rgb, shifts_px)
        return smeared


def mean_light(rgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return ``(3,)``, the mean linear light of an image, as the controls measure it."""
    offset = _METERING_PX // 2
    light: NDArray[np.float64] = linear_table()[rgb[offset::_METERING_PX, offset::_METERING_PX]].mean(
        (0, 1), dtype=np.float64
    )
    return light


def as_delivered(frame: Frame, seed: int) -> Frame:
    """Return an image of a world at rest as the cameras of this package deliver it by default."""
    return taken(frame, DEFAULT_MODEL, seed)


def taken(frame: Frame, model: CameraModel, seed: int) -> Frame:
    """Return an image of a world at rest as a camera delivers it; arguments as in `delivered`."""
    return frame if model is CameraModel.IDEAL else delivered(frame, seed)


def delivered(frame: Frame, seed: int, exposure: Exposure | None = None) -> Frame:
    """Return a rendered frame as a D455 delivers it.

    Args:
        frame: Rendered.
        seed: Of the noise, with view and stamp.
        exposure: Settings; None for those on which the controls settle for this image.
    """
    if exposure is None:
        exposure = exposure_of(settled(mean_light(frame.rgb), frame.stamp_ns))
    noise_seed = (seed, CELL_VIEWS.index(frame.view), frame.stamp_ns)
    return replace(frame, rgb=image_of(frame.rgb, frame.view, exposure, noise_seed))
