"""The second stage of the gate: after inference, the policy's own signals decide on its motion.

What an image costs depends on the task as well, which the first stage does not know. A policy that reports
how probable it is that it sees its target says more. The two are joined by a logistic regression, whose
threshold is calibrated as that of the first stage, see `risk_control`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View

SIGNALS: Final = 3
"""Expected loss and probability of a wrong motion by the first stage, probability that the target is seen."""
_DIGITS: Final = 6
_CLIP: Final = 1e-3

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a judge predicts of an image.

    Attributes:
        value: Expected loss of the policy in [0, 1], or the value of a metric with the sign that makes
            higher worse.
        threshold: Images with a higher value are held.
        wrong_motion: Probability that the policy acts and ends elsewhere, in [0, 1]; None where the judge
            does not predict it. A refusal is not a wrong motion: it moves nothing.
    """

    value: float
    threshold: float
    wrong_motion: float | None = None


@dataclass(frozen=True, slots=True)
class SecondStage:
    """What `embodied-iqa gate fit` found for decisions of a policy on images of one camera.

    Attributes:
        weights: ``(10,)`` of the terms of `terms`.
        threshold: Motions with a higher expected loss are held.
        screen: Images with a higher value of the first stage are held before inference: the second stage
            would hold nearly all motions on them.
        promise: What the threshold holds, in words.
        check: Results on held-out scenes.
    """

    weights: tuple[float, ...]
    threshold: float
    screen: float
    promise: str = ""
    check: dict[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = (*self.weights, self.threshold, self.screen)
        if len(self.weights) != len(terms(np.zeros((1, SIGNALS)))[0]) or not all(map(math.isfinite, numbers)):
            raise InputError("the second stage is damaged", expected="finite weights and thresholds")

    def expected(self, signals: Array) -> Array:
        """Return ``(N,)`` expected losses by wrong motion, in [0, 1].

        Args:
            signals: ``(N, 3)``, see `SIGNALS`.
        """
        found: Array = np.round(logistic(terms(signals) @ np.array(self.weights)), _DIGITS)
        return found


@dataclass(frozen=True, slots=True)
class GateDecision:
    """A decision to judge.

    Attributes:
        view: First camera of the policy.
        stamp_ns: Of the frame that it decided on.
        sequence: Counts the decisions.
        seen: Probability in [0, 1] that the frame shows what the task names, by the policy; None where it
            reports none.
    """

    view: View
    stamp_ns: int
    sequence: int
    seen: float | None


def judge_decision(
    stage: SecondStage, prediction: Prediction | None, decision: GateDecision
) -> tuple[Verdict, str]:
    """Return the verdict on a motion, and why it does not pass.

    Args:
        stage: Of the camera and the policy.
        prediction: Of the first stage for the frame; None where it predicted nothing.
        decision: The decision.
    """
    if prediction is None or prediction.wrong_motion is None:
        return Verdict.REJECT, "nothing is predicted of the frame of this decision"
    if decision.seen is None or not 0.0 <= decision.seen <= 1.0:
        return Verdict.REJECT, "the policy does not report whether it sees its target"
    signals = np.array([[prediction.value, prediction.wrong_motion, decision.seen]])
    value = float(stage.expected(signals)[0])
    if value <= stage.threshold:
        return Verdict.PASS, ""
    return Verdict.HOLD, (
        f"expected loss of this motion {value:.3f} above {stage.threshold:.3f}: the policy sees its target "
        f"with probability {decision.seen:.2f}, expected loss of the image {prediction.value:.3f}"
    )


def terms(signals: Array) -> Array:
    """Return ``(N, 10)`` terms of the regression: 1, the logits of the signals, and their products."""
    clipped = np.clip(signals, _CLIP, 1 - _CLIP)
    logits = np.log(clipped / (1 - clipped))
    pairs = [logits[:, i] * logits[:, j] for i in range(SIGNALS) for j in range(i, SIGNALS)]
    return np.column_stack([np.ones(len(logits)), logits, *pairs])


def logistic(values: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` without overflow."""
    found: Array = 0.5 * (1.0 + np.tanh(0.5 * values))
    return found
