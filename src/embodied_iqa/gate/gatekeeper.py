"""The quality gate of several cameras: the one place where a picture becomes a verdict and a lease."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError
from embodied_iqa.gate.calibration import GateCalibration
from embodied_iqa.gate.judge import GateFrame, GateOptions, GateState, ImageQuality, judge_picture, step
from embodied_iqa.gate.statistics import ImageStatistics, measure
from embodied_iqa.gate.verdict import GateLease, GateMode, Verdict
from embodied_iqa.images.frame import View


class Gatekeeper:
    """Judges pictures; live, in a headless trial and in rescoring.

    Args:
        calibrations: Ordinary ranges of the cameras. A picture of a camera or size without one is rejected.
        options: Rules of the gate; may be replaced between two frames.
    """

    def __init__(self, calibrations: Sequence[GateCalibration], options: GateOptions) -> None:
        self.options = options
        self._calibrations = {
            (item.view, item.width_px, item.height_px): item for item in reversed(calibrations)
        }
        self._states: dict[View, GateState] = {}

    @property
    def measures(self) -> bool:
        """Whether pictures are measured; in mode OFF their pixels are not needed."""
        return self.options.mode is not GateMode.OFF

    def judge(
        self, view: View, stamp_ns: int, rgb: NDArray[np.uint8] | None, now_ns: int
    ) -> tuple[ImageQuality, GateLease]:
        """Judge the next picture of a camera; see `gate.judge.step` for the rules.

        Args:
            view: The camera.
            stamp_ns: When the picture was taken, ROS time.
            rgb: ``(H, W, 3)`` uint8, red first; None where it was not drawn, which mode OFF allows. In the
                other modes a picture that is missing or cannot be measured is rejected.
            now_ns: ROS time; the stamp itself when a recording is judged again.
        """
        statistics = _statistics_of(rgb) if self.measures else None
        frame = GateFrame(view, stamp_ns, now_ns, statistics)
        state = self._states.get(view, GateState())
        self._states[view], quality, lease = step(
            state, frame, self._calibration_of(view, statistics), self.options
        )
        return quality, lease

    def judge_alone(self, view: View, rgb: NDArray[np.uint8]) -> tuple[Verdict, str]:
        """Judge a picture without the frames before it; return the verdict and the reason."""
        statistics = _statistics_of(rgb)
        return judge_picture(view, statistics, self._calibration_of(view, statistics))

    def _calibration_of(self, view: View, statistics: ImageStatistics | None) -> GateCalibration | None:
        if statistics is None:
            return None
        return self._calibrations.get((view, statistics.width_px, statistics.height_px))


def _statistics_of(rgb: NDArray[np.uint8] | None) -> ImageStatistics | None:
    """Return the statistics, or None where a picture is missing or too small for them."""
    try:
        return None if rgb is None else measure(rgb)
    except InputError:
        return None
