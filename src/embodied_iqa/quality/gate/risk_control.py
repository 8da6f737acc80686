"""Thresholds of a predicted loss with a promise on new scenes.

The exchangeable unit is the scene, with all its frames: frames of one scene resemble each other, and
counting them as independent breaks the promise. With ``F_i`` frames in scene ``i`` the loss that a threshold
``t`` lets pass is ``L_i(t) = 1/F_i sum_j loss_ij 1{predicted_ij <= t}``, which never falls with ``t``.

Sources: Angelopoulos et al., Conformal Risk Control (arXiv 2208.02814); Bates et al., Distribution-Free,
Risk-Controlling Prediction Sets (2101.02703); Angelopoulos et al., Learn Then Test (2110.01052); Waudby-Smith
and Ramdas, Estimating Means of Bounded Random Variables by Betting (2010.09686).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import InputError

Array = NDArray[np.float64]
_CANDIDATES: Final = 512
"""Thresholds that are tested by betting."""
_BLOCK: Final = 64
"""Thresholds whose losses of all scenes are held in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneFrames:
    """The frames of one scene.

    Attributes:
        predicted: ``(F,)`` predicted loss of each frame; any finite unit.
        loss: ``(F,)`` true loss of each frame, in [0, 1].
    """

    predicted: Array
    loss: Array


@dataclass(frozen=True, slots=True)
class Promise:
    """What a threshold shall hold on new scenes.

    Attributes:
        risk: Largest mean loss of the frames that pass, of 1 per frame.
        confidence: Probability that the mean over new scenes stays within the risk, such as 0.9; unless
            given, it holds on average over calibrations and new scenes.
    """

    risk: float = ranged(0.03, 0, 1, "()")
    confidence: float | None = ranged(None, 0, 1, "()")

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def fewest_scenes(self) -> int:
        """With fewer scenes no threshold can be promised, even where no frame loses anything."""
        if self.confidence is None:
            return math.ceil(1 / self.risk - 1 - 1e-9)
        return math.ceil(math.log(1 - self.confidence) / math.log1p(-self.risk) - 1e-9)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold with what was promised and seen.

    Attributes:
        value: Frames whose predicted loss is at most this pass; minus infinity if none may.
        promise: What it holds on new scenes.
        scenes: Number of calibration scenes.
        seen_risk: Mean loss that passes on these.
        passed: Share of their frames that pass.
    """

    value: float
    promise: Promise
    scenes: int
    seen_risk: float
    passed: float

    @property
    def sentence(self) -> str:
        """The promise for frames and its conditions in words."""
        return self.sentence_of("frame")

    def sentence_of(self, unit: str) -> str:
        """Return the promise and its conditions in words.

        Args:
            unit: What passes, as a singular noun.
        """
        risk, confidence = self.promise.risk, self.promise.confidence
        bound = f"the {unit}s that pass cost at most {risk:g} of the full loss per {unit}"
        if confidence is None:
            bound = f"On average over calibrations and new scenes {bound}"
        else:
            bound = f"With probability {confidence:g} over calibrations, {bound} on average over new scenes"
        return (
            f"{bound}, for scenes like the {self.scenes} of the calibration with the same camera, policy and "
            "mix of distortions. Nothing is promised for a single scene, a single distortion or another mix."
        )


def control_risk(scenes: Iterable[SceneFrames], promise: Promise) -> Threshold:
    """Return the largest threshold for which a promise holds.

    Without confidence: conformal risk control, ``n/(n+1) R_n(t) + 1/(n+1) <= risk``. With confidence: the
    larger of the thresholds of the Hoeffding-Bentkus bound and of the betting bound, each tested at half of
    the error probability.

    Args:
        scenes: Exchangeable scenes; their order must not depend on their losses.
        promise: What shall hold.

    Raises:
        InputError: Too few scenes, or values that are not finite or not in [0, 1].
    """
    frames = tuple(scenes)
    count = len(frames)
    _check(frames)
    if count < promise.fewest_scenes:
        raise InputError(
            f"too few scenes to promise a risk of {promise.risk:g}"
            + ("" if promise.confidence is None else f" with confidence {promise.confidence:g}"),
            expected=f"at least {promise.fewest_scenes}",
            got=count,
        )
    values, risks = _risk_curve(frames)
    curves = _curves(frames)
    if promise.confidence is None:
        held = count / (count + 1) * risks + 1 / (count + 1) <= promise.risk
        value = _last(values, held)
    else:
        error = (1 - promise.confidence) / 2
        bentkus = _last(values, p_value(risks, count, promise.risk) <= error)
        value = max(bentkus, _by_betting(curves, values, promise.risk, error))
    seen = float(np.mean(_losses_at(curves, np.array([value]))))
    return Threshold(value, promise, count, seen, float(np.mean(_joined(frames)[0] <= value)))


def p_value(means: Array, count: int, risk: float) -> Array:
    """Return the Hoeffding-Bentkus p-value of "the true mean is above `risk`".

    Args:
        means: ``(T,)`` means of ``count`` independent values in [0, 1].
        count: Number of values.
        risk: In (0, 1).
    """
    from scipy.stats import binom  # noqa: PLC0415 - slow to import, and not for --help

    below = np.minimum(means, risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(below > 0, below * np.log(below / risk), 0.0)
        second = np.where(below < 1, (1 - below) * np.log((1 - below) / (1 - risk)), 0.0)
    hoeffding = np.exp(-count * (first + second))
    bentkus = math.e * binom.cdf(np.ceil(count * means - 1e-9), count, risk)
    found: Array = np.minimum(np.minimum(hoeffding, bentkus), 1.0)
    return found


def betting_p_value(losses: Array, risk: float, error: float) -> Array:
    """Return the p-value of "the true mean is above `risk`" from the capital of a bet against it.

    Args:
        losses: ``(N, T)`` independent values in [0, 1] for each of T hypotheses, in an order that does not
            depend on them.
        risk: In (0, 1).
        error: Error probability that the stakes are tuned to; the p-value holds for any.
    """
    count, losses = len(losses), np.ascontiguousarray(losses.T)  # sums of rows are several times faster
    steps = np.arange(1, count + 1)
    means = (0.5 + losses.cumsum(axis=1)) / (1 + steps)
    variances = (0.25 + np.square(losses - means).cumsum(axis=1)) / (1 + steps)
    before = np.concatenate([np.full((len(losses), 1), 0.25), variances[:, :-1]], axis=1)
    stakes = np.minimum(1.0, np.sqrt(2 * math.log(1 / error) / (count * before)))
    capital = np.log1p(-stakes * (losses - risk)).cumsum(axis=1)
    found: Array = np.exp(-np.maximum(capital.max(axis=1), 0.0))
    return found


def _check(scenes: tuple[SceneFrames, ...]) -> None:
    for scene in scenes:
        if scene.predicted.shape != scene.loss.shape or scene.loss.ndim != 1 or not len(scene.loss):
            raise InputError(
                "a scene needs a loss for each prediction",
                expected="equal numbers, at least one",
                got=f"{scene.predicted.shape} and {scene.loss.shape}",
            )
    predicted, loss = _joined(scenes)
    if not np.isfinite(predicted).all() or not ((loss >= 0) & (loss <= 1)).all():
        raise InputError("wrong values of a scene", expected="finite predictions, losses in [0, 1]")


def _joined(scenes: tuple[SceneFrames, ...]) -> tuple[Array, Array]:
    """Return the predictions and losses of all frames, scene after scene."""
    if not scenes:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([one.predicted for one in scenes]), np.concatenate([one.loss for one in scenes])


def _risk_curve(frames: tuple[SceneFrames, ...]) -> tuple[Array, Array]:
    """Return the distinct predictions, ascending, and the mean loss that passes at each."""
    predicted, loss = _joined(frames)
    lengths = np.array([len(scene.loss) for scene in frames])
    parts = loss / np.repeat(lengths * len(frames), lengths)
    values, index = np.unique(predicted, return_inverse=True)
    return values, np.bincount(index, parts, len(values)).cumsum()


def _last(values: Array, held: NDArray[np.bool_]) -> float:
    """Return the last value before the first that does not hold; minus infinity if there is none."""
    count = len(held) if held.all() else int(np.argmin(held))
    return float(values[count - 1]) if count else -math.inf


def _by_betting(curves: _Curves, values: Array, risk: float, error: float) -> float:
    """Test candidates from the smallest on, until one fails (fixed-sequence testing)."""
    at = np.unique(np.linspace(0, len(values) - 1, min(_CANDIDATES, len(values))).round().astype(np.int64))
    best = -math.inf
    for first in range(0, len(at), _BLOCK):
        block = values[at[first : first + _BLOCK]]
        held = betting_p_value(_losses_at(curves, block), risk, error) <= error
        best = max(best, _last(block, held))
        if not held.all():
            break
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
    """What passes of each scene.

    Attributes:
        predicted: ``(N, F)`` predictions of each scene, ascending; infinite behind those of a shorter one.
        losses: ``(N, F + 1)`` the loss that the first 0, 1, 2, ... of them pass.
    """

    predicted: Array
    losses: Array


def _curves(frames: tuple[SceneFrames, ...]) -> _Curves:
    longest = max(len(scene.loss) for scene in frames)
    predicted, loss = np.full((len(frames), longest), np.inf), np.zeros((len(frames), longest))
    lengths = np.array([[len(scene.loss)] for scene in frames])
    exists = np.arange(longest) < lengths
    predicted[exists], loss[exists] = _joined(frames)
    order = np.argsort(predicted, axis=1, kind="stable")
    sums = np.zeros((len(frames), longest + 1))
    np.cumsum(np.take_along_axis(loss, order, 1), axis=1, out=sums[:, 1:])
    return _Curves(np.take_along_axis(predicted, order, 1), sums / lengths)


def _losses_at(curves: _Curves, thresholds: Array) -> Array:
    """Return ``(N, T)`` loss of each scene that passes at each threshold, ascending."""
    count, width = len(curves.losses), len(thresholds) + 1
    first = thresholds.searchsorted(curves.predicted) + width * np.arange(count)[:, None]
    passed = np.bincount(first.ravel(), minlength=count * width).reshape(count, width)[:, :-1]
    found: Array = np.take_along_axis(curves.losses, passed.cumsum(axis=1), 1)
    return found
