"""Failure detectors within conformal bands, and the gate's judges, on the same runs at one rate of alarms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.analysis.correlation import area_under_curve
from embodied_iqa.data.analysis.resampling import drawn_rows, interval_of
from embodied_iqa.quality.gate.fitting.check import share_held
from embodied_iqa.runs.peers.scores import (
    Score,
    action_entropy,
    fit_classifier,
    fit_consistency,
    fit_density,
    fit_distillation,
)
from embodied_iqa.runs.peers.signals import COSTS, Signals

_SMALLEST: Final = 0.1
"""Smallest modulation, as a part of its mean over time: few runs may agree by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionalBand:
    """Centre and modulation of a score over time.

    Attributes:
        centre: ``(T,)`` mean of clean runs.
        modulation: ``(T,)`` deviation of clean runs, above 0.
    """

    centre: Array
    modulation: Array

    @classmethod
    def of(cls, clean: Sequence[Array]) -> FunctionalBand:
        """Return the band of the scores of clean runs; as long as the shortest one."""
        length = min(map(len, clean))
        scores = np.array([one[:length] for one in clean])
        deviation = scores.std(axis=0)
        floor = max(_SMALLEST * float(deviation.mean()), 1e-9)
        return cls(scores.mean(axis=0), np.maximum(deviation, floor))

    def margins(self, score: Array) -> Array:
        """Return ``(T,)`` how far a score is above the centre, in modulations."""
        length = min(len(score), len(self.centre))
        found: Array = (score[:length] - self.centre[:length]) / self.modulation[:length]
        return found


def conformal_bound(highest: Array, rate: float) -> float:
    """Return the bound that a new clean run exceeds with at most a probability.

    Args:
        highest: ``(N,)`` highest margin of each clean run of a calibration, exchangeable with the new one.
        rate: The probability.

    Returns:
        The ``ceil((N + 1) (1 - rate))``-th smallest; infinity where the runs are too few.
    """
    rank = math.ceil((len(highest) + 1) * (1 - rate) - 1e-9)
    return math.inf if rank > len(highest) else float(np.sort(highest)[max(rank, 1) - 1])


_FOLDS: Final = 5
_DRAWS: Final = 500

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRun:
    """A run without a gate, and what detectors see of it.

    Attributes:
        signals: What they see.
        scene: The exchangeable unit.
        clean: Whether its images are undistorted.
        wrong: Whether a wrong motion was carried out.
        failed: Whether the task was not done.
    """

    signals: Signals
    scene: str
    clean: bool
    wrong: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class DetectorResult:
    """A detector on runs of scenes that it was not fitted or calibrated on; None: nothing to count.

    Attributes:
        name: Of the detector.
        runs: Number of runs.
        wrong: Runs with a wrong motion.
        auc: Area under the curve of its highest score in a run: wrong motion against all other runs.
        auc_low: Lower end of its 95 % interval, from drawing scenes.
        auc_high: Upper end.
        auc_distorted: The same among distorted runs: tells harm from distortion.
        auc_first: The same for its score on the first image, before the arm moves.
        auc_failed: Area under the curve for runs that do not succeed.
        clean_alarms: Share of clean runs with an alarm.
        harmless_alarms: Share of distorted runs without a wrong motion with an alarm.
        stopped: Share of runs with a wrong motion with an alarm.
        stopped_at_first: Share of these with an alarm on the first image.
        detection_s: Median time from the start of the run to the alarm, of wrong motions with an alarm [s].
        cost_ms: Time for an image beyond that of the policy's own decision [ms].
    """

    name: str
    runs: int
    wrong: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    auc_distorted: float | None
    auc_first: float | None
    auc_failed: float | None
    clean_alarms: float | None
    harmless_alarms: float | None
    stopped: float | None
    stopped_at_first: float | None
    detection_s: float | None
    cost_ms: float


@dataclass(frozen=True, slots=True, eq=False)
class _Margins:
    """Scores of all runs by time, the bound of each run, and the cost of an image [ms]."""

    margins: Sequence[Array]
    bounds: Array
    cost_ms: float


Fit: TypeAlias = Callable[[Sequence[WatchedRun]], tuple[Score, ...]]
"""Returns scores of which the lowest margin counts: an alarm needs all of them."""


def _clean(runs: Sequence[WatchedRun]) -> list[Signals]:
    return [run.signals for run in runs if run.clean]


def _safe(runs: Sequence[WatchedRun]) -> tuple[Score, ...]:
    failed = np.array([run.wrong or run.failed for run in runs])
    return (fit_classifier([run.signals for run in runs], failed),)


DETECTORS: Final[dict[str, tuple[Fit, tuple[str, ...]]]] = {
    "SAFE-like": (_safe, ("features",)),
    "FIPER-like": (lambda runs: (fit_distillation(_clean(runs)), action_entropy), ("features", "copies")),
    "FAIL-Detect-like": (lambda runs: (fit_density(_clean(runs)),), ("features",)),
    "STAC-like": (lambda runs: (fit_consistency(_clean(runs)),), ("copies",)),
}
"""Peers by name: their fit, and the parts of `COSTS` that they need."""
JUDGES: Final[dict[str, tuple[Score, str]]] = {
    "statistics": (lambda run: run.statistics, "statistics"),
    "learned, expected loss": (lambda run: run.learned, "learned"),
    "learned, wrong motion": (lambda run: run.wrong_motion, "learned"),
}
"""Judges of the gate by name; their values are not modulated, because they do not depend on the time."""


def compare_detectors(
    runs: Sequence[WatchedRun], *, rate: float = 0.05, seed: int = 0
) -> list[DetectorResult]:
    """Judge all detectors by cross validation over scenes.

    In turn, a fifth of the scenes is judged by detectors that were fitted on two other fifths; the clean runs
    of another fifth give centre and modulation of the band, those of the last one its bound.

    Args:
        runs: Of one policy; every scene with a clean run.
        rate: Share of clean runs that may have an alarm.
        seed: Of the folds and draws.

    Raises:
        InputError: Fewer scenes than folds.
    """
    scenes = sorted({run.scene for run in runs})
    if len(scenes) < _FOLDS:
        raise InputError(
            "too few scenes to compare detectors", expected=f"at least {_FOLDS}", got=len(scenes)
        )
    order = np.random.default_rng(seed).permutation(len(scenes))
    fold_of = {scenes[at]: place % _FOLDS for place, at in enumerate(order)}
    folds = [[run for run in runs if fold_of[run.scene] == fold] for fold in range(_FOLDS)]
    judged = [run for fold in folds for run in fold]
    results = []
    for name, (fit, parts) in DETECTORS.items():
        margins, bounds, scoring_ms = _cross_fitted(folds, fit, rate)
        cost = _cost_ms(judged, parts) + scoring_ms
        results.append(_result(name, judged, _Margins(margins, bounds, cost), seed))
    for name, (score, part) in JUDGES.items():
        margins = [score(run.signals) for run in judged]
        bounds = np.repeat([_flat(folds, k, score, rate) for k in range(_FOLDS)], [len(f) for f in folds])
        results.append(_result(name, judged, _Margins(margins, bounds, _cost_ms(judged, (part,))), seed))
    return results


def _fold(folds: Sequence[Sequence[WatchedRun]], judged: int, *steps: int) -> list[WatchedRun]:
    """Return the runs of the folds that are some steps after the judged one."""
    return [run for step in steps for run in folds[(judged + step) % _FOLDS]]


def _cross_fitted(
    folds: Sequence[Sequence[WatchedRun]], fit: Fit, rate: float
) -> tuple[list[Array], Array, float]:
    """Return the margins of all runs, the bound of each, and the time of scoring an image [ms]."""
    margins: list[Array] = []
    bounds: list[float] = []
    images, spent_s = 0, 0.0
    for k, fold in enumerate(folds):
        scores = fit(_fold(folds, k, 3, 4))
        bands = [FunctionalBand.of([score(run) for run in _clean(_fold(folds, k, 2))]) for score in scores]
        calibration = [_margins(run, scores, bands).max() for run in _clean(_fold(folds, k, 1))]
        bound = conformal_bound(np.array(calibration), rate)
        begin = time.perf_counter()
        margins += [_margins(run.signals, scores, bands) for run in fold]
        spent_s += time.perf_counter() - begin
        images += sum(len(run.signals) for run in fold)
        bounds += [bound] * len(fold)
    return margins, np.array(bounds), 1e3 * spent_s / max(images, 1)


def _margins(run: Signals, scores: Sequence[Score], bands: Sequence[FunctionalBand]) -> Array:
    """Return ``(T,)``, the lowest margin of all scores."""
    found: Array = np.min(
        [band.margins(score(run)) for score, band in zip(scores, bands, strict=True)], axis=0
    )
    return found


def _flat(folds: Sequence[Sequence[WatchedRun]], judged: int, score: Score, rate: float) -> float:
    highest = [score(run).max() for run in _clean(_fold(folds, judged, 1))]
    return conformal_bound(np.array(highest), rate)


def _cost_ms(runs: Sequence[WatchedRun], parts: Sequence[str]) -> float:
    costs = np.median([run.signals.cost_ms for run in runs], axis=0)
    return float(sum(costs[COSTS.index(part)] for part in parts))


def _result(name: str, runs: Sequence[WatchedRun], alarms: _Margins, seed: int) -> DetectorResult:
    margins, bounds = alarms.margins, alarms.bounds
    highest, first = (np.array(values) for values in zip(*((m.max(), m[0]) for m in margins), strict=True))
    clean, wrong, failed = (np.array([getattr(run, n) for run in runs]) for n in ("clean", "wrong", "failed"))
    alarm = highest > bounds
    delays = [
        run.signals.time_s[int(np.argmax(own > bound))]
        for run, own, bound, rings in zip(runs, margins, bounds, alarm, strict=True)
        if rings and run.wrong
    ]
    low, high = _interval(np.array([run.scene for run in runs]), highest, wrong, seed)
    return DetectorResult(
        name=name,
        runs=len(runs),
        wrong=int(wrong.sum()),
        auc=_known(area_under_curve(highest, wrong)),
        auc_low=_known(low),
        auc_high=_known(high),
        auc_distorted=_known(area_under_curve(highest[~clean], wrong[~clean])),
        auc_first=_known(area_under_curve(first, wrong)),
        auc_failed=_known(area_under_curve(highest, failed)),
        clean_alarms=_known(share_held(alarm, clean)),
        harmless_alarms=_known(share_held(alarm, ~clean & ~wrong)),
        stopped=_known(share_held(alarm, wrong)),
        stopped_at_first=_known(share_held(first > bounds, wrong)),
        detection_s=float(np.median(delays)) if delays else None,
        cost_ms=alarms.cost_ms,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(scenes: NDArray[np.str_], values: Array, positive: Mask, seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the area under the curve from drawing scenes."""
    rows = [np.flatnonzero(scenes == name) for name in np.unique(scenes)]
    draws = (
        np.concatenate([rows[k] for k in drawn]) for drawn in drawn_rows(len(rows), draws=_DRAWS, seed=seed)
    )
    return interval_of(np.array([area_under_curve(values[draw], positive[draw]) for draw in draws]))
