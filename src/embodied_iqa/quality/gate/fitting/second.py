"""Fits the second stage of a gate: from the policy's own signals to the expected loss of its motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.quality.gate.fitting.check import (
    HARMFUL,
    HARMLESS,
    rounded,
    scene_frames,
    scene_means,
    share_held,
)
from embodied_iqa.quality.gate.fitting.frames import WRONG_FROM, GateFrames
from embodied_iqa.quality.gate.risk_control import Promise, control_risk
from embodied_iqa.quality.gate.second_stage import SecondStage, logistic, terms
from embodied_iqa.world.protocols import ChunkStatus

_RIDGE: Final = 1e-3
_SCREENED: Final = 0.01
"""Share of the motions that the second stage passes which the first may hold before inference."""
_COLUMNS: Final = ("reference_id", "pair_id", "task_id", "status", "seen")

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedMotions:
    """Motions that a policy decided on, one for each task of a frame.

    Attributes:
        scenes: ``(M,)`` the exchangeable unit.
        clean: ``(M,)`` whether the image is a reference.
        signals: ``(M, 3)``, see `second_stage.SIGNALS`.
        loss: ``(M,)`` what the decision score lacks of 1, in [0, 1]; 0 for a clean image.
        held: ``(M,)`` whether statistics reject the image whatever is predicted.
    """

    scenes: NDArray[np.str_]
    clean: Mask
    signals: Array
    loss: Array
    held: Mask

    def part(self, rows: Mask) -> JudgedMotions:
        """Return some of the rows."""
        return JudgedMotions(*(getattr(self, field.name)[rows] for field in fields(self)))

    def of_scenes(self, scenes: Sequence[str]) -> JudgedMotions:
        """Return the motions of some scenes."""
        return self.part(np.isin(self.scenes, list(scenes)))


def motions_of(
    store: DatabaseStore, policy: str, frames: GateFrames, predicted: tuple[Array, Array], rejected: Mask
) -> JudgedMotions | None:
    """Return the motions on the images of a gate; None where the policy reports no `seen`.

    Args:
        store: With answers and scores of the policy.
        policy: Its name.
        frames: The images.
        predicted: ``(N,)`` expected losses and ``(N,)`` probabilities of a wrong motion of the images.
        rejected: ``(N,)`` whether statistics reject an image.
    """
    place = {name: row for row, name in enumerate(frames.ids.tolist())}
    losses = _losses(store, policy)
    rows, seen, loss = [], [], []
    for part in store.annotation_parts(policy, list(_COLUMNS)):
        for reference, pair, task, status, own in zip(
            *(part[name].to_pylist() for name in _COLUMNS), strict=True
        ):
            row = place.get(reference if pair is None else pair)
            lost = 0.0 if pair is None else losses.get((pair, task))
            if row is None or status != ChunkStatus.ACT or lost is None:
                continue
            if own is None:
                return None
            rows.append(row)
            seen.append(own)
            loss.append(lost)
    if not rows:
        return None
    order = np.argsort(rows, kind="stable")
    index = np.array(rows)[order]
    signals = np.column_stack([*(one[index] for one in predicted), np.array(seen)[order]])
    return JudgedMotions(
        frames.scenes[index], frames.clean[index], signals, np.array(loss)[order], rejected[index]
    )


def fit_weights(motions: JudgedMotions) -> tuple[float, ...]:
    """Return the weights of the regression of the loss: cross entropy with a small ridge."""
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import, and not for --help

    x, y = terms(motions.signals), motions.loss

    def objective(weights: Array) -> tuple[float, Array]:
        predicted = logistic(x @ weights)
        clipped = np.clip(predicted, 1e-9, 1 - 1e-9)
        loss = -(y * np.log(clipped) + (1 - y) * np.log(1 - clipped)).mean()
        return float(loss + _RIDGE * weights @ weights), x.T @ (predicted - y) / len(y) + 2 * _RIDGE * weights

    found = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B")
    return tuple(float(f"{weight:.6g}") for weight in found.x)


def fit_second_stage(
    train: JudgedMotions, calibrate: JudgedMotions, check: JudgedMotions, promise: Promise, screen: float
) -> SecondStage | None:
    """Fit the regression, find its threshold and check it on held-out scenes.

    Args:
        train: Motions on scenes that the networks of the first stage were not trained on.
        calibrate: Motions on the scenes of the calibration.
        check: Motions on held-out scenes.
        promise: Risk that may pass, as a mean over the motions of a scene.
        screen: Threshold of the first stage where there is no second; the screen is not below it.

    Returns:
        None where no threshold keeps the promise.
    """
    weights = fit_weights(train)
    stage = SecondStage(weights, threshold=1.0, screen=screen)
    calibrated = calibrate.part(~calibrate.clean)
    expected = stage.expected(calibrated.signals)
    threshold = control_risk(scene_frames(calibrated.scenes, expected, calibrated.loss), promise)
    if not math.isfinite(threshold.value):
        return None
    passing = calibrate.signals[stage.expected(calibrate.signals) <= threshold.value, 0]
    screen = max(screen, float(np.quantile(passing, 1 - _SCREENED, method="higher")))
    stage = SecondStage(weights, threshold.value, screen, threshold.sentence_of("motion"))
    return replace(stage, check=_checked(check, stage))


def _checked(motions: JudgedMotions, stage: SecondStage) -> dict[str, float | None]:
    """Return results on held-out scenes; None where there is nothing to count.

    Shares are those of motions; `auc_wrong_motion` is that of the second stage, `auc_first_stage` that of the
    image alone, for motions that lose more than `WRONG_FROM`.
    """
    expected = stage.expected(motions.signals)
    held = motions.held | (motions.signals[:, 0] > stage.screen) | (expected > stage.threshold)
    rows = ~motions.clean
    loss, wrong = motions.loss, motions.loss > WRONG_FROM
    numbers = {
        "motions": float(rows.sum()),
        "risk": float(scene_means(motions.scenes[rows], np.where(held, 0.0, loss)[rows]).mean()),
        "risk_without_gate": float(scene_means(motions.scenes[rows], loss[rows]).mean()),
        "passed": float((~held[rows]).mean()),
        "harmless_held": share_held(held, rows & (loss <= HARMLESS)),
        "harmful_stopped": share_held(held, rows & (loss > HARMFUL)),
        "clean_held": share_held(held, motions.clean),
        "auc_wrong_motion": area_under_curve(expected[rows], wrong[rows]),
        "auc_first_stage": area_under_curve(motions.signals[rows, 1], wrong[rows]),
    }
    return rounded(numbers)


def _losses(store: DatabaseStore, policy: str) -> dict[tuple[str, str], float]:
    """Return what each decision score lacks of 1, by pair and task."""
    scores = store.scores(["subject", "pair_id", "task_id", "score"])
    scores = scores.filter(pc.equal(scores["subject"], policy))
    rows = zip(*(scores[name].to_pylist() for name in ("pair_id", "task_id", "score")), strict=True)
    return {(pair, task): 1.0 - score for pair, task, score in rows if score is not None}
