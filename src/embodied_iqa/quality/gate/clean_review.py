"""How a calibration judges the clean images that it is made of: how many pass, the worst, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.quality.gate.bounds import SYMPTOMS
from embodied_iqa.quality.gate.calibration import MIN_FRAMES, GateCalibration, Margins, calibrate
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, measure
from embodied_iqa.quality.gate.statistics_judge import judge_image, unusual
from embodied_iqa.quality.gate.tolerance import Tolerance, disturbed_by

WORST: Final = 10
SAMPLE: Final = 24
"""Images that are distorted to see whether a tolerance would help."""

_LEVELS: Final = (1, 2)
_GAUSSIAN_BLUR, _MOTION_BLUR, _DIFFUSION, _SHIFT, _SATURATION = "01", "03", "04", "05", "07"
_JPEG2000, _JPEG, _WHITE_NOISE, _COLOR_NOISE, _IMPULSES, _DENOISE = "09", "10", "12", "13", "14", "16"
_BRIGHTEN, _DARKEN, _BLOCKS_LOST, _RESOLUTION = "20", "21", "24", "27"
_QUANTIZED, _SHARPNESS, _CONTRAST = "28", "29", "30"
_CAUSES: Final = {
    "blurred": (_GAUSSIAN_BLUR, _MOTION_BLUR),
    "smoothed": (_DENOISE, _GAUSSIAN_BLUR),
    "oversharp or noisy": (_WHITE_NOISE, _SHARPNESS),
    "noisy": (_WHITE_NOISE,),
    "too dark": (_DARKEN,),
    "too bright": (_BRIGHTEN,),
    "shadows lost": (_DARKEN,),
    "highlights lost": (_BRIGHTEN,),
    "too little contrast": (_CONTRAST,),
    "too much contrast": (_CONTRAST,),
    "blocky": (_JPEG,),
    "blocky off the 8 x 8 grid": (_JPEG2000,),
    "specks": (_IMPULSES,),
    "tones missing": (_QUANTIZED,),
    "rows or columns repeated": (_RESOLUTION,),
    "blocks lost": (_BLOCKS_LOST,),
    "colours faded": (_SATURATION,),
    "colours too strong": (_SATURATION,),
    "colours smeared": (_DIFFUSION,),
    "colours noisy or shifted": (_COLOR_NOISE, _SHIFT),
}
"""Distortions that a symptom suggests; of every symptom."""


@dataclass(frozen=True, slots=True)
class CleanImage:
    """A clean image that does not pass.

    Attributes:
        index: Its place among those of the camera and size.
        verdict: HOLD or REJECT.
        reason: Its faults, in words.
        excess: How far beyond its bounds it is, see `GateCalibration.excess`.
    """

    index: int
    verdict: Verdict
    reason: str
    excess: float


@dataclass(frozen=True, slots=True)
class CleanReview:
    """The clean images of one camera and size, by their own calibration.

    Attributes:
        calibration: The calibration.
        failing: Those that do not pass, the worst first.
    """

    calibration: GateCalibration
    failing: tuple[CleanImage, ...]

    @property
    def passed(self) -> int:
        """Number of images that pass."""
        return self.calibration.n_frames - len(self.failing)

    @property
    def worst(self) -> tuple[CleanImage, ...]:
        """The ten worst."""
        return self.failing[:WORST]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A tolerance with which more of the clean images pass.

    Attributes:
        tolerance: The distortion and its level.
        passed: Number of images that would pass.
    """

    tolerance: Tolerance
    passed: int


def review(calibration: GateCalibration, clean: Sequence[ImageStatistics]) -> CleanReview:
    """Judge each image alone; a gate at work holds after several bad ones."""
    failing = []
    for index, statistics in enumerate(clean):
        verdict, reason = judge_image(calibration.view, statistics, calibration)
        if verdict is not Verdict.PASS:
            failing.append(CleanImage(index, verdict, reason, calibration.excess(statistics)))
    failing.sort(key=lambda one: (-one.verdict, -one.excess))
    return CleanReview(calibration, tuple(failing))


def suggested(
    reviewed: CleanReview,
    clean: Sequence[ImageStatistics],
    sample: Sequence[NDArray[np.uint8]],
    margins: Margins,
) -> Suggestion | None:
    """Return the tolerance that lets the most of the failing images pass; None where none helps half of them.

    Args:
        reviewed: The review.
        clean: Statistics of all images.
        sample: Some of the images, at least `MIN_FRAMES`; they are distorted on trial.
        margins: Of the calibration.
    """
    failing = [clean[one.index] for one in reviewed.failing]
    if not failing or len(sample) < MIN_FRAMES:
        return None
    calibration, best = reviewed.calibration, None
    for cause in _causes(failing, calibration):
        ranges = dict[str, list[ImageStatistics]]()
        for level in _LEVELS:
            tolerance = Tolerance(cause, level)
            ranges[tolerance.name] = [
                measure(disturbed_by(rgb, index, tolerance)) for index, rgb in enumerate(sample)
            ]
            made = calibrate(calibration.view, clean, calibration.provenance, margins, ranges)
            helped = sum(made.tolerates(one) for one in failing)
            if 2 * helped >= len(failing) and (best is None or reviewed.passed + helped > best.passed):
                best = Suggestion(tolerance, reviewed.passed + helped)
    return best


def _causes(failing: Sequence[ImageStatistics], calibration: GateCalibration) -> list[str]:
    """Return distortions that look like the faults, without repeats."""
    faults = [fault for statistics in failing for fault in unusual(statistics, calibration)]
    symptoms = (SYMPTOMS[one.statistic].low if one.is_low else SYMPTOMS[one.statistic].high for one in faults)
    return list(dict.fromkeys(cause for symptom in symptoms for cause in _CAUSES.get(symptom or "", ())))
