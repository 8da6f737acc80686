"""Exposure and white balance of the simulated cameras, measured when an image depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera.exposure import Exposure, ExposureState, exposure_of, settled, step


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
