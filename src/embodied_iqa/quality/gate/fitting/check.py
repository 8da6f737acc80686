"""Results of a threshold on scenes: risk, what it stops and what it holds for nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import area_under_curve, srcc
from embodied_iqa.quality.gate.fitted import Expected, LossKind
from embodied_iqa.quality.gate.fitting.frames import GateFrames
from embodied_iqa.quality.gate.risk_control import SceneFrames, Threshold

HARMLESS: Final = 0.02
"""Frames that lose at most this are harmless: 4.9 of 5 tasks."""
HARMFUL: Final = 0.2
"""Frames that lose more than this shall be stopped: 4 of 5 tasks."""
NOTABLE: Final = 0.1
"""Loss by wrong motion above which a frame counts as a wrong motion in the area under the curve."""

_MOST_HELD: Final = 0.05
_FALSE_HOLDS: Final = 0.01
_COIN: Final = 0.5

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedFrames:
    """Frames with what a judge predicts of them.

    Attributes:
        frames: With labels.
        value: ``(N,)`` predicted value, higher is worse.
        wrong_motion: ``(N,)`` predicted probability of a wrong motion; the value where there is none.
        rejected: ``(N,)`` whether statistics reject it whatever is predicted.
    """

    frames: GateFrames
    value: Array
    wrong_motion: Array
    rejected: Mask

    def part(self, rows: Mask) -> JudgedFrames:
        """Return some of the rows."""
        return JudgedFrames(
            self.frames.part(rows), self.value[rows], self.wrong_motion[rows], self.rejected[rows]
        )

    def held(self, threshold: float) -> Mask:
        """Return ``(N,)``, whether a frame is held or rejected."""
        return self.rejected | (self.value > threshold)

    def by_scene(self, kind: LossKind) -> list[SceneFrames]:
        """Return the distorted frames of each scene."""
        rows = ~self.frames.clean
        return scene_frames(self.frames.scenes[rows], self.value[rows], self.frames.loss(kind)[rows])


def scene_frames(scenes: NDArray[np.str_], predicted: Array, loss: Array) -> list[SceneFrames]:
    """Return predictions and losses by scene."""
    return [SceneFrames(predicted[own], loss[own]) for own in (scenes == name for name in np.unique(scenes))]


def expected_of(judged: JudgedFrames, threshold: float) -> Expected:
    """Return what distorted frames look like to the judge, with the deviation between scenes."""
    judged = judged.part(~judged.frames.clean)
    value = scene_means(judged.frames.scenes, judged.value)
    held = scene_means(judged.frames.scenes, judged.held(threshold).astype(np.float64))
    return Expected(*(float(x) for x in (value.mean(), value.std(), held.mean(), held.std())))


def check_threshold(judged: JudgedFrames, threshold: float, kind: LossKind) -> dict[str, float | None]:
    """Return results by name; None where there is nothing to count.

    `risk` is the mean over scenes of the loss that passes per frame, what the promise bounds; `risk_error` is
    its standard error. Shares are those of frames: `passed`, `harmless_held`, `harmful_stopped`,
    `wrong_motions_stopped`, `rejected`, all of distorted frames, and `clean_held`.
    """
    clean, judged = judged.part(judged.frames.clean), judged.part(~judged.frames.clean)
    frames, held, loss = judged.frames, judged.held(threshold), judged.frames.loss(kind)
    risks = scene_means(frames.scenes, np.where(held, 0.0, loss))
    wrong = frames.wrong_motion_loss > NOTABLE
    order = srcc(judged.value, loss).value
    numbers = {
        "scenes": float(len(risks)),
        "frames": float(len(frames)),
        "risk": float(risks.mean()),
        "risk_error": float(risks.std(ddof=1) / np.sqrt(len(risks))) if len(risks) > 1 else np.nan,
        "risk_without_gate": float(scene_means(frames.scenes, loss).mean()),
        "passed": float((~held).mean()),
        "harmless_held": share_held(held, loss <= HARMLESS),
        "harmful_stopped": share_held(held, loss > HARMFUL),
        "wrong_motions_stopped": share_held(held, wrong),
        "clean_held": float(clean.held(threshold).mean()),
        "rejected": float(judged.rejected.mean()),
        "srcc": order,
        "auc_harmful": area_under_curve(judged.value, loss > HARMFUL),
        "auc_wrong_motion": area_under_curve(judged.wrong_motion, wrong),
    }
    return rounded(numbers)


def rounded(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Return results with four digits; None for what could not be counted."""
    return {name: round(value, 4) if math.isfinite(value) else None for name, value in numbers.items()}


def advice_of(judged: JudgedFrames, threshold: Threshold, kind: LossKind) -> str:
    """Return what would help a threshold that holds nothing, or many clean frames of the calibration.

    Where the judge predicts less loss for harmful images than for others, no threshold helps.
    A threshold holds nothing where the risk that may pass is above what is lost without a gate.
    The bound on the risk of n scenes has a term of 1 / (n + 1): few scenes promise little, whatever the judge
    predicts. The number of scenes is that at which all but one in a hundred clean frames pass.
    """
    ranked = area_under_curve(judged.value, judged.frames.loss(kind) > HARMFUL)
    risk, nothing = threshold.promise.risk, ""
    if threshold.passed >= 1.0:
        lost = f"without a gate the loss is already {threshold.seen_risk:.2g}, below the risk {risk:g}"
        nothing = f"this threshold holds no image like those of the calibration: {lost}; "
    if ranked < _COIN:
        worse = f"this judge ranks the images of the calibration worse than a coin (AUC {ranked:.2f})"
        return f"{nothing}{worse}: no threshold helps, take another judge"
    if nothing:
        return f"{nothing}a lower --risk, or the judge statistics (gate calibrate), holds more"
    clean = judged.part(judged.frames.clean)
    held = float(clean.held(threshold.value).mean())
    if held <= _MOST_HELD:
        return ""
    words = f"{held:.0%} of the clean frames of the calibration are held: "
    wished = float(np.quantile(clean.value, 1 - _FALSE_HOLDS, method="higher"))
    rows = judged.part(~judged.frames.clean)
    passing = np.where(rows.held(wished), 0.0, rows.frames.loss(kind))
    seen = float(scene_means(rows.frames.scenes, passing).mean())
    if seen >= risk:
        return f"{words}at one in a hundred the risk is {seen:.3f}; raise --risk, or train on more scenes"
    if threshold.promise.confidence is not None:
        return f"{words}raise --risk, or calibrate with more than these {threshold.scenes} scenes"
    scenes = math.ceil((1 - risk) / (risk - seen))
    return f"{words}raise --risk, or calibrate with about {scenes} scenes instead of {threshold.scenes}"


def scene_means(scenes: NDArray[np.str_], values: Array) -> Array:
    """Return the mean of each scene's frames."""
    _, index = np.unique(scenes, return_inverse=True)
    return np.bincount(index, values) / np.bincount(index)


def share_held(held: Mask, rows: Mask) -> float:
    """Return the share of some rows that is held; NaN where there are none."""
    return float(held[rows].mean()) if rows.any() else float("nan")
