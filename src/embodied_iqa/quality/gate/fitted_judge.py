"""The judges of `embodied-iqa gate fit`: a predicted value against a threshold, guarded by statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.fitted import FittedGate, unlike
from embodied_iqa.quality.gate.image_statistics import ImageStatistics
from embodied_iqa.quality.gate.judgement import Judgement
from embodied_iqa.quality.gate.second_stage import Prediction
from embodied_iqa.quality.gate.statistics_judge import (
    StatisticsJudge,
    faults_of,
    measured_or_rejected,
    unusual,
)

Image = NDArray[np.uint8]


class Predictor(Protocol):
    """Predicts from an image what a threshold is compared with. Stateless."""

    def predict(self, view: View, rgb: Image, half: Image) -> tuple[float, float | None]:
        """Return the value (higher is worse) and, where known, the probability of a wrong motion.

        Args:
            view: The camera.
            rgb: ``(H, W, 3)`` uint8.
            half: The same at half its size, which was needed for the statistics.
        """
        ...

    def words(self, prediction: Prediction) -> str:
        """Return value and threshold in words, such as "expected loss 0.21 above 0.05"."""
        ...


class FittedJudge:
    """Holds an image whose predicted value is above the threshold of its camera.

    An image of a camera and size that was not fitted is judged by statistics alone. One that cannot be
    measured, that is unlike everything in training, or whose prediction is not a number is rejected. The
    prediction of an image whose statistics are all ordinary is limited, see `fitted.Ordinary`.

    Args:
        statistics: Of the cameras; gives the reasons in words.
        fitted: Thresholds with their predictors.
        policy: Subject that decides on the images; where a gate was fitted to it with a second stage, this
            one judges the decisions.
    """

    def __init__(
        self, statistics: StatisticsJudge, fitted: Sequence[tuple[FittedGate, Predictor]], policy: str = ""
    ) -> None:
        self._statistics = statistics
        self._policies = policies_in(policy)
        self._fitted = {gate.camera: (gate, predictor) for gate, predictor in reversed(fitted)}

    def judge(self, view: View, rgb: Image | None) -> Judgement:
        """See `ImageJudge`."""
        if rgb is None:
            return self._statistics.judge(view, None)
        found = measured_or_rejected(rgb)
        if isinstance(found, Judgement):
            return found
        measured, half = found
        calibration = self._statistics.calibration_of(view, measured)
        fitted = self._fitted.get((view, measured.width_px, measured.height_px))
        if calibration is None or fitted is None:
            return self._statistics.judge_measured(view, measured)
        gate, predictor = fitted
        faults, strange = unusual(measured, calibration), unlike(gate.seen, measured)
        if strange:
            reason = f"unlike every image of the calibration: {strange}"
            return Judgement(Verdict.REJECT, reason, measured, faults=faults)
        value, wrong_motion = predictor.predict(view, rgb, half)
        if not all(math.isfinite(number) for number in (value, wrong_motion or 0.0)):
            return Judgement(Verdict.REJECT, "the prediction is not a number", measured)
        predicted = value
        if gate.ordinary is not None and not faults:
            value, wrong_motion = gate.ordinary.limited(value, wrong_motion)
        second = gate.second if gate.policy in self._policies else None
        prediction = Prediction(value, gate.threshold if second is None else second.screen, wrong_motion)
        if value <= prediction.threshold:
            by_limit = predicted > prediction.threshold
            return Judgement(Verdict.PASS, "", measured, prediction, second=second, by_limit=by_limit)
        reason = f"{predictor.words(prediction)}: {_signs(measured, calibration)}"
        return Judgement(Verdict.HOLD, reason, measured, prediction, at_once=True, faults=faults)


def _signs(statistics: ImageStatistics, calibration: GateCalibration) -> str:
    """Return what is unusual in the image, or the statistic nearest to its bound."""
    _, words = faults_of(statistics, calibration)
    return words or f"no statistic is unusual, nearest to its bound is {calibration.nearest(statistics)}"
