"""The judge that compares the statistics of an image with the ordinary ranges of its camera."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError, first_line, nearest
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Fault, shortened
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic, measure_halving
from embodied_iqa.quality.gate.judgement import Judgement


class StatisticsJudge:
    """Holds what is unusual, whether or not it harms.

    Args:
        calibrations: Ordinary ranges of the cameras; the first of a camera and size counts. An image of a
            camera or size without one is rejected.
    """

    def __init__(self, calibrations: Sequence[GateCalibration]) -> None:
        self._calibrations = {
            (item.view, item.width_px, item.height_px): item for item in reversed(calibrations)
        }
        self._views = tuple(dict.fromkeys(item.view for item in calibrations))

    def calibration_of(self, view: View, statistics: ImageStatistics) -> GateCalibration | None:
        """Return the calibration of a camera at the size of an image, None where there is none."""
        return self._calibrations.get((view, statistics.width_px, statistics.height_px))

    def judge(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        """See `ImageJudge`."""
        if rgb is None:
            return Judgement(Verdict.REJECT, "the image cannot be measured: there is none")
        found = measured_or_rejected(rgb)
        return found if isinstance(found, Judgement) else self.judge_measured(view, found[0])

    def judge_measured(self, view: View, statistics: ImageStatistics) -> Judgement:
        """Judge an image by its statistics."""
        calibration = self.calibration_of(view, statistics)
        verdict, reason = judge_image(view, statistics, calibration)
        if calibration is None and self._views and view not in self._views:
            reason += _instead_of(view, self._views)
        faults = () if verdict is Verdict.PASS else unusual(statistics, calibration)
        return Judgement(verdict, reason, statistics, faults=faults)


def _instead_of(view: View, known: Sequence[View]) -> str:
    """Return which cameras are calibrated, in words, and which of them may have been meant."""
    close = nearest(view, known)
    return (f"; did you mean {close}?" if close else "") + f"; available: {', '.join(known)}"


def measured_or_rejected(
    rgb: NDArray[np.uint8],
) -> tuple[ImageStatistics, NDArray[np.uint8]] | Judgement:
    """Return the statistics and the image at half its size; of what cannot be measured the judgement."""
    try:
        return measure_halving(rgb)
    except InputError as error:
        return Judgement(Verdict.REJECT, first_line(error))


def judge_image(
    view: View, statistics: ImageStatistics, calibration: GateCalibration | None
) -> tuple[Verdict, str]:
    """Judge an image alone, without the frames before it.

    Returns:
        The verdict, and the reason: up to three faults in words, the worst first; empty for PASS. An image
        within the range of a tolerated disturbance passes.
    """
    size = f"{statistics.width_px}x{statistics.height_px}"
    if calibration is None:
        return Verdict.REJECT, f"the {view} camera is not calibrated at {size} (embodied-iqa gate calibrate)"
    usual = f"{calibration.width_px}x{calibration.height_px}"
    if size != usual or calibration.view != view:
        return Verdict.REJECT, (
            f"the {view} camera's image is {size}, "
            f"the calibration is of the {calibration.view} camera at {usual}"
        )
    verdict, words = faults_of(statistics, calibration)
    if verdict is not Verdict.PASS and calibration.tolerates(statistics):
        return Verdict.PASS, ""
    return verdict, words


def faults_of(statistics: ImageStatistics, calibration: GateCalibration) -> tuple[Verdict, str]:
    """Return the worst verdict on a statistic, and up to three faults in words, the worst first."""
    faults = [
        (severity, calibration.bounds[statistic].explain(statistic, statistics.value(statistic)))
        for statistic in Statistic
        if (severity := calibration.bounds[statistic].judge(statistics.value(statistic))) is not Verdict.PASS
    ]
    faults.sort(key=lambda fault: -fault[0])
    worst = max((severity for severity, _ in faults), default=Verdict.PASS)
    return worst, shortened([words for _, words in faults])


def unusual(statistics: ImageStatistics, calibration: GateCalibration | None) -> tuple[Fault, ...]:
    """Return the statistics beyond their soft bounds; none without a calibration."""
    if calibration is None:
        return ()
    return tuple(
        Fault(statistic, value, bounds.soft_low, bounds.soft_high)
        for statistic, bounds in calibration.bounds.items()
        if not bounds.soft_low <= (value := statistics.value(statistic)) <= bounds.soft_high
    )
